# Machine code: a schedule, its speed, another ISA level, and a subscript that leaves its tensor.
--- mm.tc
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
--- mm.lws
C: m/14 n/32 k m n:v
--- par.lws
C: m:p n k
--- g.tc
def g(float(B,D) X, int32(B) I, int E) -> (float(E,D) G) { G(I(b),d) +=! X(b,d) }
$ loopwright run mm.tc --size M=64,N=65,K=66 --schedule mm.lws --time | grep -v "^  [io]"
mm(f32(M, K) A, f32(K, N) B) -> (f32(M, N) C)
  sizes    M = 64, K = 66, N = 65
  backend  jit: 274560 iterations in {{.*}}, compiled in {{.*}}
  time     median {{.*}}, p10 {{.*}}, p90 {{.*}}: {{.*}} GFLOP/s, {{.*}} GB/s
  peak     {{[0-9.]+}} % (best {{[0-9.]+}} %) of {{.*; bound by (compute|bandwidth): compute .*, moving .*}}
           {{.*}}
$ LW_ISA=avx2 loopwright run mm.tc --size M=9,N=9,K=9 --schedule mm.lws --backend jit > avx2 && loopwright run mm.tc --size M=9,N=9,K=9 --backend tree > tree; grep -h checksum avx2 tree | uniq | wc -l
1
$ LW_ISA=neon loopwright run mm.tc --size M=2,N=2,K=2
--- stderr
error: LW_ISA is 'neon'; it can be scalar, avx2 or avx512
--- exit 1
$ LW_ISA=sm_80 loopwright show mm.tc --size M=2,N=2,K=2 --stage asm
--- stderr
error: LW_ISA is 'sm_80'; it can be scalar, avx2 or avx512
--- exit 1
$ loopwright run mm.tc --size M=2,N=2,K=2 --isa sse
--- stderr
loopwright run: --isa takes scalar, avx2 or avx512, not 'sse'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run mm.tc --size M=90,N=90,K=90 --schedule par.lws --isa avx2 --threads 3 > par && grep -c "on 3 threads" par; loopwright run mm.tc --size M=90,N=90,K=90 --isa avx2 > serial; grep -h checksum par serial | uniq | wc -l
1
1
$ LW_THREADS=2 loopwright run mm.tc --size M=90,N=90,K=90 --schedule par.lws --json | grep -o '"threads": *[0-9]*'
"threads": 2
$ LW_THREADS=many loopwright run mm.tc --size M=2,N=2,K=2 --schedule par.lws
--- stderr
error: LW_THREADS is 'many'; it must be a number of threads from 1 to 1024
--- exit 1
$ LW_PERF=maps loopwright run mm.tc --size M=2,N=2,K=2
--- stderr
error: LW_PERF is 'maps'; it can be map, jitdump, or both with a comma between
--- exit 1
$ loopwright run mm.tc --size M=2,N=2,K=2 --threads 0
--- stderr
loopwright run: --threads takes a number from 1 to 1024, not '0'
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run g.tc --size B=8,D=8,E=0
--- stderr
g.tc:1:60: error: statement 'G': subscript 1 of 'G' is I[b] = {{.*}} at b = 0, d = 0, outside [0, 0)
  def g(float(B,D) X, int32(B) I, int E) -> (float(E,D) G) { G(I(b),d) +=! X(b,d) }
                                                             ^~~~~~~~~~~~~~~~~~~~
note: I[0] is {{.*}}
note: 'G' has no elements along that dimension: no subscript is inside
--- exit 1
$ loopwright run mm.tc --size M=2,N=2,K=2 --backend interp --time > out
--- stderr
loopwright run: --time has no effect with --backend interp: it is for machine code
usage: loopwright run FILE [options]; --help explains them
--- exit 2
