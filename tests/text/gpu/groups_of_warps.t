# The word `groups` is a loop over warps. All threads copy the tiles of a sum that groups of warps divide, also of elements too small for asynchronous copies.
--- mm.tc
def mm(half(M,K) A, half(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- mm.lws
C: m/16:grid.y n/32:grid.x k/64 k/8:warp m/16:warp n/32:warp k m/8:lane n/8:lane m/4:lane n/4:lane m n
    copy A at k/64 place shared
    copy B at k/64 place shared
$ loopwright show mm.tc --size M=16,N=128,K=128 --schedule mm.lws --stage ptx | awk 'END { print NR < 1000 ? "short" : NR }'
short
$ loopwright run mm.tc --size M=16,N=128,K=128 --schedule mm.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
--- groups.lws
C: m/16:grid.y n/32:grid.x k/64 m/16:warp n/32:warp k m/8:lane n/8:lane m/4:lane n/4:lane m n
    copy A at k/64 place shared
    copy B at k/64 place shared
    groups 8
$ loopwright show mm.tc --size M=16,N=128,K=128 --schedule groups.lws --stage schedule | diff - groups.lws
$ for s in mm groups; do loopwright show mm.tc --size M=16,N=128,K=128 --schedule $s.lws --stage ptx | grep -v '^//' > $s.ptx; done; cmp mm.ptx groups.ptx
$ for s in mm groups; do loopwright space mm.tc --size M=16,N=128,K=128 --schedule $s.lws --device emulate --complete > $s.out; done; cmp mm.out groups.out
$ loopwright show @/examples/tc/attention.tc --size B=33,N=16,M=128,D=33,E=16 --stage ptx | awk '/^.*copy .* by async$/ { n++ } END { print n, NR < 4000 ? "short" : NR }'
4 short
