# The Stripe text of a Schedule for a GPU is the same kernel: indices that blocks pass on keep no loop from its blocks, clusters and threads.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- cluster.lws
C: m/8:grid.x k/64:cluster m:thread.x n k
--- lanes.lws
C: m/16:grid.y n/8:grid.z n/4:lane k n m:lane
$ loopwright show mm.tc --size M=9,N=4,K=100 --schedule cluster.lws --stage stripe > cluster.stripe; loopwright run cluster.stripe --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright show mm.tc --size M=21,N=21,K=17 --schedule lanes.lws --stage stripe > lanes.stripe; loopwright show lanes.stripe --stage ptx | grep maxntid
.maxntid 32, 1, 1
