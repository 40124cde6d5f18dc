# --check of the loops of a machine description: on the device, compared as elsewhere. In
# scatter.lwp a scatter that never runs still initialises its temporary.
--- norm.tc
def f(float(B,N) X, float(N) g) -> (Y) {
    mu(b) +=! X(b,n) / N
    v(b) +=! (X(b,n) - mu(b)) * (X(b,n) - mu(b))
    Y(b,n) = (X(b,n) - mu(b)) * rsqrt(v(b) / N + 1e-5) * g(n)
}
--- gamma.tc
def f(double(N) A) -> (O) { O(i) = lgamma(A(i)) + j0(A(i)) }
--- scatter.lwp
program scatter {
    input I: i64[5]
    input A: f32[5]
    output O: f32[2]
    temp T: f32[6]

    T: for i in 0:3, j in 0:2
        T[2*i + j] = A[j]

    T.1: for i in 0:5, k in 0:0
        T[I[i]] +=! A[k]

    O: for j in 0:2
        O[j] = A[j]
}
$ for m in avx512 avx2 neon; do for n in 257 300; do loopwright run norm.tc --size B=3,N=$n --machine $m --seed 2 --check | tail -1; done; done
  check    right: up to rounding, against the interpreter
  check    right: up to rounding, against the interpreter
  check    right: up to rounding, against the interpreter
  check    right: up to rounding, against the interpreter
  check    right: up to rounding, against the interpreter
  check    right: up to rounding, against the interpreter
$ loopwright passes norm.tc --size B=64,N=1024 --machine avx512
for b in 64 parallel
  mu f32[1] 4 B
  v f32[1] 4 B
  mu[0] = 0.0
  for n in 8
    for n.1 in 128 vector
      mu[0] += X[b, 128*n + n.1]/1024.0
  v[0] = 0.0
  for n in 8
    for n.1 in 128 vector
      v[0] += (X[b, 128*n + n.1] - mu[0])*(X[b, 128*n + n.1] - mu[0])
  for n in 8
    for n.1 in 128 vector
      Y[b, 128*n + n.1] = (X[b, 128*n + n.1] - mu[0])*rsqrt(v[0]/1024.0 + 0.00001)*g[128*n + n.1]
$ loopwright run norm.tc --size B=3,N=300 --machine nvidia-sm90 --device emulate --check | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright run gamma.tc --size N=100 --machine nvidia-sm90 --device emulate --check 2>&1 | tail -1
  check    right: up to rounding, against the interpreter
$ loopwright run gamma.tc --size N=100 --machine avx2 --device cuda:77 --check 2>&1 | grep -c "error: device 'cuda:77'"
1
$ loopwright show scatter.lwp --stage tree --schedule naive
T f32[6] 24 B
for i in 3
  for j in 2
    T[2*i + j] = A[j]
for x in 6 vector
  T[x] = 0.0
for j in 2
  O[j] = A[j]
$ loopwright run scatter.lwp --machine avx2 --check | tail -1
  check    right: bit for bit, against the interpreter
