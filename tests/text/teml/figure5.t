# Figure 5: @C. The store leaves C alone, D is its assignment; the C text of the figure swaps iterators.
$ loopwright teml @/examples/teml/figures/fig5.teml
A
  (A, [4, 4], ε)
B
  (B, [4, 4], ε)
C
  (C, [4, 4], ε)
D
  (=, •, •)
    (C, [4, 4], [i1, i2])
    (+, [4, 4], •)
      (A, [4, 4], [i1, i2])
      (B, [4, 4], [i1, i2])
l
  i1 (0, 3, 1)
    i2 (0, 3, 1)
      C[i1, i2] = A[i1, i2] + B[i1, i2]
$ loopwright compile @/examples/teml/figures/fig5.teml --emit c -o - | grep -A3 'for ('
    for (int64_t i1 = 0; i1 < 4; i1++) {
        for (int64_t i2 = 0; i2 < 4; i2++) {
            C[4*i1 + i2] = A[4*i1 + i2] + B[4*i1 + i2];
        }
    }
