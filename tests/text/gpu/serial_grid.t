# Grid loops that one block runs: a reduction, a loop inside others, a loop beside another nest. Partial results divide a reduction.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- sum.lws
C: k:grid.x m:thread.y n:thread.x
--- inside.lws
C: k m:grid.x n:thread.x
--- parts.lws
C: m n k.p
    privatise k/2
C.part: k.p:grid.x m:thread.y n:thread.x k
$ loopwright run mm.tc --size M=8,N=8,K=8 --device emulate --schedule sum.lws | grep sizes
  sizes    M = 8, K = 8, N = 8
--- stderr
mm.tc:1:45: warning: the loop over 'k' is grid.x, but one block runs all its iterations: its iterations depend on each other
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
note: 'privatise k/N' gives each block partial results of its own; the mark 'cluster' lets up to 8 blocks combine theirs
$ loopwright run mm.tc --size M=8,N=8,K=8 --device emulate --schedule inside.lws | grep sizes
  sizes    M = 8, K = 8, N = 8
--- stderr
mm.tc:1:45: warning: the loop over 'm' is grid.x, but one block runs all its iterations: other loops or nests are around or beside it
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright run mm.tc --size M=8,N=8,K=8 --device emulate --schedule parts.lws | grep sizes
  sizes    M = 8, K = 8, N = 8
$ loopwright run mm.tc --size M=9,N=7,K=11 --device emulate --schedule sum.lws --check | grep check
  check    right: bit for bit, against the interpreter
--- stderr
mm.tc:1:45: warning: the loop over 'k' is grid.x, but one block runs all its iterations: its iterations depend on each other
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
note: 'privatise k/N' gives each block partial results of its own; the mark 'cluster' lets up to 8 blocks combine theirs
