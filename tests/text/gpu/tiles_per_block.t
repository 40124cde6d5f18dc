# A block that runs several tiles one after the other is a Schedule, and a candidate of the space.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- several.lws
C: m/256:grid.y n/64:grid.x m/64 k/16 m/16:warp n/32:warp k m/8:lane n/8:lane m/4:lane n/4:lane m n
    copy A at k/16 place shared stages 3 by async
    copy B at k/16 place shared stages 3 by async
$ loopwright compile mm.tc --size M=4096,N=4096,K=64 --schedule several.lws --emit ptx --target sm_90 -o mm.ptx; grep -o '{"mm.*}' mm.h
{"mm_0", {64, 16, 1}, {256, 1, 1}, 28384}
$ loopwright run mm.tc --size M=300,N=130,K=50 --schedule several.lws --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright space mm.tc --size M=4096,N=4096,K=64 --schedule several.lws --device emulate | grep open
open             0 decisions
