# The systolic array and the vector core of docs/machines.md: products, a convolution with a border, attention.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- conv.tc
def conv(float(H,W,C) I, float(3,3,C,K) F) -> (O) {
    O(h,w,k) +=! pad(I(h + r - 1, w + s - 1, c)) * F(r,s,c,k) where h in 0:H, w in 0:W
}
--- attention.tc
def attention(float(N,D) Q, float(M,D) K, float(M,E) V) -> (O) {
    s(n,m) +=! Q(n,d) * K(m,d)
    top(n) max=! s(n,m)
    p(n,m) = exp(s(n,m) - top(n))
    z(n) +=! p(n,m)
    O(n,e) +=! p(n,m) * V(m,e)
    O(n,e) = O(n,e) / z(n)
}
$ for m in systolic rvv; do loopwright simulate mm.tc --size M=100,N=96,K=64 --machine @/examples/machines/$m.lwm --check | grep 'cycles\|check'; done
  cycles   3739; at least 2768, bound by transfers: 74.0 % of what the machine allows
  check    executed: the same tasks, the right results
  cycles   45996; at least 38400, bound by compute: 83.5 % of what the machine allows
  check    executed: the same tasks, the right results
$ for m in systolic rvv; do loopwright simulate conv.tc --size H=10,W=10,C=32,K=32 --machine @/examples/machines/$m.lwm --check | grep 'cycles\|check'; done
  cycles   5103; at least 1952, bound by transfers: 38.3 % of what the machine allows
  check    executed: the same tasks, the right results
  cycles   62470; at least 50176, bound by compute: 80.3 % of what the machine allows
  check    executed: the same tasks, the right results
$ for m in systolic rvv; do loopwright simulate attention.tc --size N=16,M=32,D=16,E=16 --machine @/examples/machines/$m.lwm --check | grep 'cycles\|check'; done
  cycles   2146; at least 192, bound by transfers: 8.9 % of what the machine allows
  check    executed: the same tasks, the right results
  cycles   7352; at least 768, bound by transfers: 10.4 % of what the machine allows
  check    executed: the same tasks, the right results
