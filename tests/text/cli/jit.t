# Machine code: a schedule, its speed, another ISA level, and a subscript that leaves its tensor.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- mm.lws
C: m/14 n/32 k m n:v
--- g.tc
def g(float(N) X, int32(M) I) -> (O) { O(i) = X(I(i)) }
$ loopwright run mm.tc --size M=64,N=65,K=66 --schedule mm.lws --time | grep -v "^  [io]"
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 64, K = 66, N = 65
  backend  jit: 274560 instances in {{.*}}, compiled in {{.*}}
  time     median {{.*}}, p10 {{.*}}, p90 {{.*}}: {{.*}} GFLOP/s, {{.*}} GB/s
           {{.*}}
$ LW_ISA=avx2 loopwright run mm.tc --size M=9,N=9,K=9 --schedule mm.lws --backend jit > avx2 && loopwright run mm.tc --size M=9,N=9,K=9 --backend tree > tree; grep -h checksum avx2 tree | uniq | wc -l
1
$ LW_ISA=neon loopwright run mm.tc --size M=2,N=2,K=2
--- stderr
error: LW_ISA is 'neon'; it can be scalar, avx2 or avx512
--- exit 1
