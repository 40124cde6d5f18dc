# The options with which a program is run show it, compile it and explain it too.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(m) +=! A(m,k) * x(k)
}
--- mv.lws
C: m:p k
$ loopwright run mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --isa avx2 --db none | head -1
mv(f32(M, K) A, f32(K) x) -> (f32(M) C)
$ loopwright show mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --isa avx2 --db none
for m in 2 parallel
  C[m] = 0.0
  for k in 2
    C[m] += A[m, k]*x[k]
$ loopwright show mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --stage schedule
C: m:p k
$ loopwright show mv.tc --size M=2,K=2 --threads 1 --isa scalar --db none
for m in 2
  C[m] = 0.0
  for k in 2
    C[m] += A[m, k]*x[k]
$ loopwright compile mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --isa avx2 --db none --emit obj -o mv.o
$ loopwright tune mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --isa avx2 --db none --trials 1 --quiet | head -1
mv, M = 2, K = 2
$ loopwright space mv.tc --size M=2,K=2 --schedule mv.lws --threads 2 --unchecked | head -1
space            9 objects, 27 variables, 264 bytes a candidate
