# Figure 6: a virtual tensor inside an assignment.
$ loopwright teml @/examples/teml/figures/fig6.teml | sed -n '/^E/,$p'
E
  (=, •, •)
    (E, [4, 4], [i1, i2])
    (*, [4, 4], •)
      (C, [4, 4], [i1, i2])
      (+, [4, 4], •)
        (A, [4, 4], [i1, i2])
        (B, [4, 4], [i1, i2])
D
  (+, [4, 4], •)
    (A, [4, 4], [i1, i2])
    (B, [4, 4], [i1, i2])
l
  i1 (0, 3, 1)
    i2 (0, 3, 1)
      E[i1, i2] = C[i1, i2]*(A[i1, i2] + B[i1, i2])
$ loopwright compile @/examples/teml/figures/fig6.teml --emit c -o - | grep -A3 'for ('
    for (int64_t i1 = 0; i1 < 4; i1++) {
        for (int64_t i2 = 0; i2 < 4; i2++) {
            E[4*i1 + i2] = C[4*i1 + i2]*(A[4*i1 + i2] + B[4*i1 + i2]);
        }
    }
