# Five programs on an array of 8 x 8 multipliers of bytes behind two SRAMs: docs/machines.md.
--- mm8.tc
def mm8(int8(M,K) A, int8(K,N) B) -> (C) {
    C(m,n) +=! int32(A(m,k)) * int32(B(k,n))
}
--- conv8.tc
def conv8(int8(H,W,C) I, int8(3,3,C,K) F) -> (O) {
    O(h,w,k) +=! int32(pad(I(h + r - 1, w + s - 1, c))) * int32(F(r,s,c,k)) where h in 0:H, w in 0:W
}
--- relu8.tc
def relu8(int32(M,N) A, int32(N) b) -> (C) {
    C(m,n) = max(A(m,n) + b(n), 0)
}
--- layer8.tc
def layer8(int8(M,K) A, int8(K,N) B, int32(N) b) -> (C) {
    T(m,n) +=! int32(A(m,k)) * int32(B(k,n))
    C(m,n) = max(T(m,n) + b(n), 0)
}
--- mv8.tc
def mv8(int8(M,K) A, int8(K) x) -> (y) {
    y(m) +=! int32(A(m,k)) * int32(x(k))
}
$ loopwright simulate mm8.tc --size M=100,N=90,K=70 --machine @/examples/machines/array8.lwm --check | grep 'cycles\|moved\|check\|note'
  cycles   20182; at least 9844, bound by compute: 48.8 % of what the machine allows
  moved    175900 bytes; at least 49300
  check    executed: the same tasks, the right results
$ loopwright simulate conv8.tc --size H=30,W=30,C=16,K=32 --machine @/examples/machines/array8.lwm --check | grep 'cycles\|moved\|check\|note'
  cycles   118364; at least 61952, bound by compute: 52.3 % of what the machine allows
  moved    833280 bytes; at least 134208
  check    executed: the same tasks, the right results
$ loopwright simulate relu8.tc --size M=100,N=64 --machine @/examples/machines/array8.lwm --check | grep 'cycles\|moved\|check\|note'
  cycles   7236; at least 6432, bound by transfers: 88.9 % of what the machine allows
  moved    103168 bytes; at least 51456
  check    executed: the same tasks, the right results
$ loopwright simulate layer8.tc --size M=64,N=96,K=128 --machine @/examples/machines/array8.lwm --check | grep 'cycles\|moved\|check\|note'
  cycles   33432; at least 12288, bound by compute: 36.8 % of what the machine allows
  moved    484480 bytes; at least 45440
  check    executed: the same tasks, the right results
$ loopwright simulate mv8.tc --size M=64,K=128 --machine @/examples/machines/array8.lwm --check | grep 'cycles\|moved\|check\|note'
  cycles   4712; at least 1072, bound by transfers: 22.8 % of what the machine allows
  moved    18944 bytes; at least 8576
  check    executed: the same tasks, the right results
