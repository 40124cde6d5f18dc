# What does not change in an innermost loop is decided in front of it: the guard of an initialisation, and the flag that says
# whether results are initialised at all. No loop that adds tests anything: the first k with and without initialisation, then all
# other k, likewise.
$ loopwright show @/examples/teml/sddmm.teml --size M=64,N=512,K=32 --isa avx2 --threads 1 --stage tree
for i1 in 64 parallel
  for i3 in 32
    for i2 in 512 vector
      if -i3 >= 0
        C[i1, i2] = f64(0.0)
      C[i1, i2] += S[i1, i2]*(A[i1, i3]*B[i3, i2])
$ loopwright show @/examples/teml/sddmm.teml --size M=64,N=512,K=32 --isa avx2 --threads 1 --stage asm | awk '/^L[0-9]*:/ {tests = sums = 0} /test|imul|j[a-z]* L/ {tests++} /vfmadd/ {sums++} /j[a-z]* L/ && sums {print sums " sums, jumps and tests: " tests; sums = 0}'
128 sums, jumps and tests: 1
128 sums, jumps and tests: 1
128 sums, jumps and tests: 1
128 sums, jumps and tests: 1
$ loopwright run @/examples/teml/sddmm.teml --size M=64,N=512,K=32 --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/teml/sddmm.teml --size M=13,N=37,K=5 --isa avx2 --check | grep check
  check    right: bit for bit, against the interpreter
