# Cache operators of loads: of a copy, of a register tile, of asynchronous copies, where they are impossible; as decisions of the space; none in TeML paths.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- mm.lws
C: m/16:grid.y n/16:grid.x k/16 m:thread.y k n:thread.x
    copy A at k/16 place shared
    cache A l2
    cache B streaming
--- async.lws
C: m/16:grid.y n/16:grid.x k/16 m:thread.y k n:thread.x
    copy A at k/16 place shared by async
    copy B at k/16 place shared by async
    cache A l1
    cache B l2
--- plain.lws
C: m n k
    cache A l1
--- two.lwp
program two(M) {
    input A: f32[M]
    output T: f32[M]
    output O: f32[M]
    T: for m in 0:M   T[m] = A[m]*2.0
    O: for m in 0:M   O[m] = T[m] + 1.0
}
--- two.lws
T: m:grid.x
O: m:grid.x
    cache T readonly
$ loopwright show mm.tc --size M=32,N=32,K=32 --schedule mm.lws --stage ptx | grep -o 'ld.global[a-z.0-9]*' | sort | uniq -c
      2 ld.global.cg.v4.b32
     32 ld.global.cs.b32
$ loopwright run mm.tc --size M=33,N=30,K=32 --schedule mm.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright show mm.tc --size M=32,N=32,K=32 --schedule async.lws --stage ptx | grep -o 'cp.async.c[ag]' | sort | uniq -c
      1 cp.async.ca
      1 cp.async.cg
$ loopwright run mm.tc --size M=32,N=30,K=32 --schedule async.lws --device emulate --check | grep check
  check    right: bit for bit, against the interpreter
--- stderr
mm.tc:1:45: warning: 'cache B l2' has no effect: asynchronous copies of less than 16 bytes go through L1
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright run mm.tc --size M=32,N=30,K=32 --schedule async.lws --device emulate | grep sizes
  sizes    M = 32, K = 32, N = 30
--- stderr
mm.tc:1:45: warning: 'cache B l2' has no effect: asynchronous copies of less than 16 bytes go through L1
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright run mm.tc --size M=32,N=30,K=32 --schedule plain.lws | grep sizes
  sizes    M = 32, K = 32, N = 30
--- stderr
mm.tc:1:45: warning: 'cache' has no effect: only GPUs have cache operators
  def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~
$ loopwright run two.lwp --size M=40 --schedule two.lws --device emulate
--- stderr
two.lwp:6:23: error: 'T' cannot be loaded through the read-only cache: this kernel writes it, too
      O: for m in 0:M   O[m] = T[m] + 1.0
                        ^~~~~~~~~~~~~~~~~
--- exit 1
$ loopwright space mm.tc --size M=32,N=32,K=32 --device emulate | grep '  cache'
  cache(C.A.read) in READ_ONLY|L1|L2|STREAMING
  cache(C.B.read) in READ_ONLY|L1|L2|STREAMING
$ loopwright space mm.tc --size M=32,N=32,K=32 --device emulate --set 'pack(C.A) = YES; by(C.A.at) = ASYNC; pack(C.B) = NO' | grep 'follows  cache'
  follows  cache(C.A.read) = READ_ONLY|L1
  follows  cache(C.B.read) = READ_ONLY|L2|STREAMING
$ loopwright space mm.tc --size M=32,N=32,K=32 --device emulate --schedule mm.lws --complete | grep cache
    cache A l2
    cache B streaming
$ loopwright space mm.tc --size M=32,N=32,K=32 --schedule mm.lws 2>&1 | grep -c 'a cache operator cannot be expressed'
2
$ loopwright show mm.tc --size M=8,N=8,K=8 --schedule plain.lws --stage teml
--- stderr
error: no TeML path makes these loops: its loads have cache operators
--- exit 1
