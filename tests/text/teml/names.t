# Each loop of a nest has a name of its own, also if loops of two nests with other names are fused, or if a strip is skewed by
# the loop over strips around it.
--- names.teml
A = tensor([4, 6])
B = tensor([6, 4])
C = tensor([6])
D = tensor([6])
B = eq(A, [i1, i2] -> [i2, i1])
D = eq(C, [i1] -> [i1])
b = build(B)
d = build(D)
x = interchange(b, 1, 2)
f = fuse_outer(d, x, 1)
t = tile(b, 1)
s = skew(t, 1, 3, 2)
codegen(f)
codegen(s)
$ loopwright teml names.teml | sed -n '/^f$/,$p'
f
  i1 (0, 5, 1)
    D[i1] = C[i1]
    i1.1 (0, 3, 1)
      B[i1, i1.1] = A[i1.1, i1]
t
  i1_1 (0, 3, 1)
    i2_1 (0, 5, 1)
      i1 (i1_1, i1_1, 1)
        i2 (i2_1, i2_1, 1)
          B[i2, i1] = A[i1, i2]
s
  i1 (0, 3, 1)
    i2_1 (0, 5, 1)
      i1.1 (max(-i1, i1), min(6 - i1, i1), 1)
        i2 (i2_1, i2_1, 1)
          B[i2, i1.1] = A[i1.1, i2]
