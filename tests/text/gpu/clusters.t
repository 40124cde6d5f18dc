# The blocks of a cluster divide a sum, and combine their partial results through shared memory.
--- mm.tc
def mm(float(M,K) A, float(K,N) B, float(N) b) -> (C) {
    C(m,n) +=! A(m,k) * B(k,n)
    C(m,n) = max(C(m,n) + b(n), 0.0)
}
--- mm.lws
C: m/16:grid.y n/32:grid.x k/64:cluster k/16 m/4:thread.y k n:thread.x m
    copy A at k/16 place shared stages 3 by async
    copy B at k/16 place shared stages 3 by async
$ loopwright show mm.tc --size M=40,N=70,K=200 --schedule mm.lws --stage ptx --target sm_90 | grep -c "reqnctapercluster 4, 1, 1\|mapa\|ld.shared::cluster\|barrier.cluster"
49
$ loopwright run mm.tc --size M=40,N=70,K=200 --schedule mm.lws --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright run mm.tc --size M=40,N=70,K=200 --schedule mm.lws --seed 1 --device emulate | grep -c checksum
1
$ loopwright run mm.tc --size M=40,N=70,K=250 --schedule mm.lws --device emulate --check | tail -1
  check    right: bit for bit, against the interpreter
$ loopwright show mm.tc --size M=40,N=70,K=200 --schedule mm.lws --stage ptx --target sm_80
--- stderr
mm.tc:2:5: error: clusters of blocks need --target sm_90 or later, not sm_80
      C(m,n) +=! A(m,k) * B(k,n)
      ^~~~~~~~~~~~~~~~~~~~~~~~~~
--- exit 1
