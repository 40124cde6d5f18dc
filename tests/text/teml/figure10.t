# Figure 10: a nest of depth 3, its strips, and the tiles that moving strips inwards gives.
$ loopwright teml @/examples/teml/figures/fig10.teml | sed -n '/^[abct]$/,/C\[/p'
a
  i1 (0, 7, 1)
    i2 (0, 7, 1)
      i3 (0, 7, 1)
        C[i1, i2] += A[i1, i3]*B[i3, i2]
b
  i1_4 (0, 1, 1)
    i1 (4*i1_4, 4*i1_4 + 3, 1)
      i2_4 (0, 1, 1)
        i2 (4*i2_4, 4*i2_4 + 3, 1)
          i3_4 (0, 1, 1)
            i3 (4*i3_4, 4*i3_4 + 3, 1)
              C[i1, i2] += A[i1, i3]*B[i3, i2]
c
  i1_4 (0, 1, 1)
    i2_4 (0, 1, 1)
      i3_4 (0, 1, 1)
        i1 (4*i1_4, 4*i1_4 + 3, 1)
          i2 (4*i2_4, 4*i2_4 + 3, 1)
            i3 (4*i3_4, 4*i3_4 + 3, 1)
              C[i1, i2] += A[i1, i3]*B[i3, i2]
t
  i1_4 (0, 1, 1)
    i2_4 (0, 1, 1)
      i3_4 (0, 1, 1)
        i1 (4*i1_4, 4*i1_4 + 3, 1)
          i2 (4*i2_4, 4*i2_4 + 3, 1)
            i3 (4*i3_4, 4*i3_4 + 3, 1)
              C[i1, i2] += A[i1, i3]*B[i3, i2]
$ loopwright compile @/examples/teml/figures/fig10.teml --emit c -o - | grep -A7 'for ('
    for (int64_t i1 = 0; i1 < 2; i1++) {
        for (int64_t i2 = 0; i2 < 2; i2++) {
            for (int64_t i3 = 0; i3 < 2; i3++) {
                for (int64_t i1_1 = 0; i1_1 < 4; i1_1++) {
                    for (int64_t i2_1 = 0; i2_1 < 4; i2_1++) {
                        for (int64_t i3_1 = 0; i3_1 < 4; i3_1++) {
                            C[32*i1 + 4*i2 + 8*i1_1 + i2_1] = fma(A[32*i1 + 4*i3 + 8*i1_1 + i3_1], B[4*i2 + 32*i3 + i2_1 + 8*i3_1], C[32*i1 + 4*i2 + 8*i1_1 + i2_1]);
                        }
                    }
                }
            }
        }
    }
