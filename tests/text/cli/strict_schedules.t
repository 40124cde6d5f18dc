# Warnings of a Schedule: run --check shows them as run does, and --strict makes them errors.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- l2.lws
C: k m n
    cache A l2
$ loopwright run mm.tc --size M=3,N=4,K=5 --schedule l2.lws --check
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 3, K = 5, N = 4
  check    right: bit for bit, against the interpreter
--- stderr
mm.tc:1:45: warning: 'cache' has no effect: only GPUs have cache operators
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright run mm.tc --size M=3,N=4,K=5 --schedule l2.lws --check --strict
--- stderr
mm.tc:1:45: warning: 'cache' has no effect: only GPUs have cache operators
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
error: --strict makes warnings errors
--- exit 1
$ loopwright run mm.tc --size M=3,N=4,K=5 --schedule l2.lws --strict 2>&1 | tail -1
error: --strict makes warnings errors
