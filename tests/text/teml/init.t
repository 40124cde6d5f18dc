# init: one number for all, or elements in row order; what is only read then is no argument.
--- init.teml
A = tensor([2, 3])
W = tensor([2, 2])
B = tensor([2, 3])
init(W, [1, 2, 0, -1.5])
init(B, 7)
B = contract(W, A, [2, 1])
l = build(B)
$ loopwright check init.teml
init(f64(2, 3) A) -> (f64(2, 3) B)
$ loopwright show init.teml
W f64[2, 2] 32 B
W[0, 0] = f64(1.0)
W[0, 1] = f64(2.0)
W[1, 0] = f64(0.0)
W[1, 1] = f64(-1.5)
for i1 in 2
  for i2 in 3 vector
    B[i1, i2] = f64(7.0)
for i1 in 2
  for i2 in 3
    for i3 in 2
      B[i1, i2] += W[i1, i3]*A[i3, i2]
$ loopwright run init.teml --check
init(f64(2, 3) A) -> (f64(2, 3) B)
  sizes    no sizes
  check    right: bit for bit, against the interpreter
