# A path that would change the result is refused; the assignments run without it.
--- f.teml
A = tensor([8, 8])
B = tensor([8, 8])
C = tensor([8, 8])
B = eq(A, [i1, i2] -> [i1, i2])
C = eq(B, [i2, i1] -> [i1, i2])
b = build(B)
c = build(C)
f = fuse_outer(b, c, 1)
codegen(f)
$ loopwright run f.teml
--- stderr
f.teml:8:1: error: fuse_outer changes the result: 'B' at (i1=1, i2=0) would run after 'C' at (i1=0, i2=1), which depends on it through B[1, 0] (flow dependence)
  f = fuse_outer(b, c, 1)
  ^~~~~~~~~~~~~~~~~~~~~~~
note: the loops before and after:
  i1 (0, 7, 1)                 i1 (0, 7, 1)
    i2 (0, 7, 1)                 i2 (0, 7, 1)
      B[i1, i2] = A[i1, i2]        B[i1, i2] = A[i1, i2]
  i1 (0, 7, 1)                   i2 (0, 7, 1)
    i2 (0, 7, 1)                   C[i1, i2] = B[i2, i1]
      C[i1, i2] = B[i2, i1]
note: --unchecked applies the transformation all the same; --no-path chooses loops without the path
--- exit 1
$ loopwright run f.teml --no-path --check
f(f64(8, 8) A) -> (f64(8, 8) B, f64(8, 8) C)
  sizes    no sizes
  check    right: bit for bit, against the interpreter
