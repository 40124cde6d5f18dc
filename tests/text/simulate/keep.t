# Tensors that stay in the scratchpad between statements, by lifetimes: docs/passes.md. In `later` the first product is swapped out and in again.
--- two.tc
def two(float(M,K) A, float(K,N) B, float(N,P) D) -> (C) {
    T(m,n) +=! A(m,k) * B(k,n)
    C(m,p) +=! T(m,n) * D(n,p)
}
--- attention.tc
def attention(float(N,D) X, float(D,E) Wq, float(D,E) Wk, float(D,E) Wv) -> (O) {
    Q(n,e) +=! X(n,d) * Wq(d,e)
    K(n,e) +=! X(n,d) * Wk(d,e)
    S(n,m) +=! Q(n,e) * K(m,e)
    V(n,e) +=! X(n,d) * Wv(d,e)
    O(n,e) +=! S(n,m) * V(m,e)
}
--- later.tc
def later(float(N,N) A, float(N,N) B, float(M,M) G, float(M,M) H) -> (P, Q, Z) {
    T(i,j) +=! A(i,k) * B(k,j)
    P(i,j) +=! T(i,k) * A(k,j)
    U(i,j) +=! G(i,k) * H(k,j)
    V(i,j) +=! U(i,k) * G(k,j)
    W(i,j) +=! V(i,k) * U(k,j)
    Q(i,j) +=! W(i,k) * V(k,j)
    R(i,j) +=! T(i,k) * B(k,j)
    Z(i,j) +=! T(i,k) * R(k,j)
}
$ loopwright simulate two.tc --size M=64,N=64,K=128,P=64 --machine @/examples/machines/chip.lwm --check | grep 'cycles\|moved\|check'
  cycles   21152; at least 12288, bound by compute: 58.1 % of what the machine allows
  moved    131072 bytes; at least 98304
  check    executed: the same tasks, the right results
$ sed 's/inner=#tile/inner=#tile keep=yes/' @/examples/machines/chip.lwm > keep.lwm
$ loopwright simulate two.tc --size M=64,N=64,K=128,P=64 --machine keep.lwm --check | grep 'cycles\|moved\|check'
  cycles   17364; at least 12288, bound by compute: 70.8 % of what the machine allows
  moved    98304 bytes; at least 98304
  check    executed: the same tasks, the right results
$ loopwright simulate attention.tc --size N=64,D=64,E=32 --machine @/examples/machines/chip.lwm --check | grep 'cycles\|moved\|check'
  cycles   26892; at least 10240, bound by compute: 38.1 % of what the machine allows
  moved    163840 bytes; at least 49152
  check    executed: the same tasks, the right results
$ loopwright simulate attention.tc --size N=64,D=64,E=32 --machine keep.lwm --check | grep 'cycles\|moved\|check'
  cycles   14164; at least 10240, bound by compute: 72.3 % of what the machine allows
  moved    49152 bytes; at least 49152
  check    executed: the same tasks, the right results
$ loopwright passes attention.tc --size N=64,D=64,E=32 --machine keep.lwm --explain | grep 'stay\|bytes at [0-9]*$'
schedule     K stays in PAD from statement 2 to 5: 24740 cycles instead of 27588
             V stays in PAD from statement 6 to 9: 21916 cycles instead of 24740
             Q stays in PAD from statement 0 to 5: 19180 cycles instead of 21916
             S stays in PAD from statement 4 to 9: 16696 cycles instead of 19180
             X stays in PAD from statement 1 to 7, swapped in: 13588 cycles instead of 16696
             K: 8192 bytes at 32768
             V: 8192 bytes at 32768
             Q: 8192 bytes at 40960
             S: 16384 bytes at 0
             X: 16384 bytes at 16384
$ sed 's/64KiB/40KiB/' keep.lwm > small.lwm
$ loopwright passes attention.tc --size N=96,D=64,E=32 --machine small.lwm --explain | grep 'X\|S ' | grep 'stay\|stored and'
             left alone: S is stored and loaded: with it in the unit other tiles do not fit
             left alone: X is stored and loaded: with it in the unit other tiles do not fit
$ loopwright simulate attention.tc --size N=96,D=64,E=32 --machine small.lwm --check | grep 'cycles\|moved\|check'
  cycles   31704; at least 18432, bound by compute: 58.1 % of what the machine allows
  moved    184320 bytes; at least 61440
  check    executed: the same tasks, the right results
$ loopwright passes later.tc --size N=48,M=64 --machine small.lwm --explain | grep ' T stays\| T is'
             T stays in PAD from statement 0 to 3, swapped out: 34312 cycles instead of 35564
             T stays in PAD from statement 13 to 15, swapped in: 33060 cycles instead of 34312
$ loopwright simulate later.tc --size N=48,M=64 --machine small.lwm --check | grep 'cycles\|moved\|check'
  cycles   34072; at least 23296, bound by compute: 68.4 % of what the machine allows
  moved    162816 bytes; at least 86016
  check    executed: the same tasks, the right results
$ loopwright passes later.tc --size N=48,M=64 --machine small.lwm | grep ' T.here\[.*= T\[\| T\[.*= T.here\['
  T[d0, d1] = T.here[d0, d1]
  T.here[d0, d1] = T[d0, d1]
