# A refused step names the iterations, the kind of dependence, and steps that are legal instead; those are accepted.
--- tile.teml
D = tensor([8, 8, 8])
D = eq(D, [i1, i2 + 1, i3] -> [i1 + 1, i2, i3])
d = build(D)
e = tile(d, 4)
--- other.teml
D = tensor([8, 8, 8])
D = eq(D, [i1, i2 + 1, i3] -> [i1 + 1, i2, i3])
d = build(D)
a = tile(d, [1, 4, 4])
b = tile(d, [1, 1, 4])
c = tile(d, [1, 4, 1])
codegen(a)
$ loopwright check tile.teml
--- stderr
tile.teml:4:1: error: tile changes the result: 'D' at (i1=0, i2=1, i3=0, i1.1=0, i2.1=0, i3.1=0) would run after 'D' at (i1=0, i2=0, i3=0, i1.1=1, i2.1=3, i3.1=0), which depends on it through D[1, 4, 0] (flow dependence)
  e = tile(d, 4)
  ^~~~~~~~~~~~~~
note: the loops before and after:
  i1 (0, 6, 1)                                   i1_4 (0, 1, 1)
    i2 (0, 6, 1)                                   i2_4 (0, 1, 1)
      i3 (0, 7, 1)                                   i3_4 (0, 1, 1)
        D[i1 + 1, i2, i3] = D[i1, i2 + 1, i3]          i1 (4*i1_4, min(6, 4*i1_4 + 3), 1)
                                                         i2 (4*i2_4, min(6, 4*i2_4 + 3), 1)
                                                           i3 (4*i3_4, 4*i3_4 + 3, 1)
                                                             D[i1 + 1, i2, i3] = D[i1, i2 + 1, i3]
note: legal instead: tile(d, [1, 4, 4]); tile(d, [1, 1, 4]); tile(d, [1, 4, 1])
note: --unchecked applies the transformation all the same; --no-path chooses loops without the path
--- exit 1
$ loopwright check other.teml
a() -> (inout f64(8, 8, 8) D)
