# What a scatter adds to starts from zero in lanes.
--- f.tc
def f(float(N,D) x, int(N) i) -> (float(V,D) y) { y(i(n),d) +=! x(n,d) }
$ loopwright show f.tc --size N=10,D=64,V=30 --stage tree --threads 1
for x in 30
  for x.1 in 64 vector
    y[x, x.1] = 0.0
for n in 10
  for d in 64 vector
    y[i[n], d] += x[n, d]
