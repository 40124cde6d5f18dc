# Shared memory is a counter of the space: tiles that do not fit are excluded, and fewer of them have stages.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- at.txt
pack(C.A) = YES; home(C.A.mem) = SHARED; at(C.A.at, C.k.0) = INSIDE; at(C.A.at, C.m.0) = INSIDE; at(C.A.at, C.k.1) = OUTSIDE; at(C.A.at, C.m.1) = OUTSIDE
$ loopwright space mm.tc --size M=4096,N=4096,K=4096 --device emulate --set "$(cat at.txt); size(C.m.1) = 256" | grep '^  size(C.k.1)'
  size(C.k.1) in 1|2|4|8|16|32|64|128
$ loopwright space mm.tc --size M=4096,N=4096,K=4096 --device emulate --set "$(cat at.txt); size(C.m.1) = 256; size(C.k.1) = 128" | grep 'follows  stages(C.A.at)'
  follows  stages(C.A.at) = 1
$ loopwright space mm.tc --size M=4096,N=4096,K=4096 --device emulate --set "$(cat at.txt); size(C.m.1) = 128; size(C.k.1) = 128" | grep 'follows  stages(C.A.at)'
  follows  stages(C.A.at) = 1|2|3
