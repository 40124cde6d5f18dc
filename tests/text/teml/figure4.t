# Figure 4: a transposition by eq; the store, the loops and C. B is not declared there.
$ loopwright teml @/examples/teml/figures/fig4.teml 2>/dev/null
A
  (A, [3, 4], ε)
B
  (=, •, •)
    (B, [4, 3], [i2, i1])
    (A, [3, 4], [i1, i2])
l
  i1 (0, 2, 1)
    i2 (0, 3, 1)
      B[i2, i1] = A[i1, i2]
$ loopwright compile @/examples/teml/figures/fig4.teml --emit c -o - 2>/dev/null | grep -A4 'for ('
    for (int64_t i1 = 0; i1 < 3; i1++) {
        for (int64_t i2 = 0; i2 < 4; i2++) {
            B[i1 + 3*i2] = A[4*i1 + i2];
        }
    }
}
