# A parameter of a function that is assigned stands for its new value; `@p:` writes the caller's tensor.
--- path.teml
def path(l, v) {
    l = tile(l, v)
    for k in [1, 2] { l = parallelize(l, k) }
    l = vectorize(l, 4)
    return l
}
def smooth(from, to) {
    r = @to: add(from, from, [[i1], [i1 + 1]] -> [i1])
    l = build(r)
    return l
}
A = tensor([16, 16])
B = tensor([16, 16])
B = entrywise_mul(A, A)
b = build(B)
b = path(b, 8)
codegen(b)
X = tensor([20])
Y = tensor([19])
Z = tensor([18])
y = smooth(X, Y)
z = smooth(Y, Z)
codegen(y, z)
$ loopwright teml path.teml | sed -n '/^b$/,/^path/p'
b
  i1_8 (0, 1, 1) parallel
    i2_8 (0, 1, 1) parallel
      i1 (8*i1_8, 8*i1_8 + 7, 1)
        i2 (8*i2_8, 8*i2_8 + 7, 1) vector
          B[i1, i2] = A[i1, i2]*A[i1, i2]
path.l
$ loopwright check path.teml
b(f64(16, 16) A) -> (f64(16, 16) B)
z(f64(20) X) -> (f64(19) Y, f64(18) Z)
$ loopwright run path.teml --def b --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run path.teml --def z --check | grep check
  check    right: bit for bit, against the interpreter
