# Each element needs the one above and to the right: levels may be interchanged once the inner one runs
# ahead of the outer one, and then the inner one is parallel. The strips of a skewed loop have names of
# their own, and so have strips of equal length.
--- wave.teml
A = tensor(int, [8, 8])
B = tensor(int, [9, 9])
B = add(A, B, [[i1, i2], [i1, i2 + 1]] -> [i1 + 1, i2])
l = build(B)
k = skew(l, 1, 2)
x = interchange(k, 1, 2)
w = skew(l, 1, 2, 2)
v = interchange(w, 1, 2)
p = parallelize(v, 2)
codegen(x)
codegen(p)
--- tiled.teml
B = tensor(int, [9, 9])
B = eq(B, [i1, i2 + 1] -> [i1 + 1, i2])
l = build(B)
k = skew(l, 1, 2)
s = stripmine(k, 2, 8)
t = tile(k, [4, 8])
x = interchange(k, 1, 2)
y = skew(x, 1, 2)
u = tile(y, [4, 2])
m = stripmine(t, 4, 8)
codegen(u)
--- wrong.teml
B = tensor(int, [9, 9])
B = eq(B, [i1, i2] -> [i1, i2])
l = build(B)
k = skew(l, 2, 1)
$ loopwright show wave.teml --def x --stage tree
for i2 in 15
  for i1 in 8 where i2 - i1 >= 0 and i1 - i2 + 7 >= 0
    B[i1 + 1, i2 - i1] = A[i1, i2 - i1] + B[i1, i2 - i1 + 1]
$ loopwright show wave.teml --def p --stage tree
for i2 in 22
  for i1 in 8 parallel where i2 - 2*i1 >= 0 and 2*i1 - i2 + 7 >= 0
    B[i1 + 1, i2 - 2*i1] = A[i1, i2 - 2*i1] + B[i1, i2 - 2*i1 + 1]
$ for f in x p; do loopwright run wave.teml --def $f --check | grep check; done
  check    right: bit for bit, against the interpreter
  check    right: bit for bit, against the interpreter
$ loopwright teml wave.teml | sed -n '/^k$/,/^p$/p'
k
  i1 (0, 7, 1)
    i2 (max(0, i1), min(14, i1 + 7), 1)
      B[i1 + 1, i2 - i1] = A[i1, i2 - i1] + B[i1, i2 - i1 + 1]
x
  i2 (0, 14, 1)
    i1 (max(0, i2 - 7), min(7, i2), 1)
      B[i1 + 1, i2 - i1] = A[i1, i2 - i1] + B[i1, i2 - i1 + 1]
w
  i1 (0, 7, 1)
    i2 (max(0, 2*i1), min(21, 2*i1 + 7), 1)
      B[i1 + 1, i2 - 2*i1] = A[i1, i2 - 2*i1] + B[i1, i2 - 2*i1 + 1]
v
  i2 (0, 21, 1)
    i1 (max(0, -((1 - i2)/2) - 3), min(7, i2/2), 1)
      B[i1 + 1, i2 - 2*i1] = A[i1, i2 - 2*i1] + B[i1, i2 - 2*i1 + 1]
p
$ loopwright teml tiled.teml | sed -n '/^s$/,$p'
s
  i1 (0, 7, 1)
    i2_8 (0, 1, 1)
      i2 (max(i1, 8*i2_8), min(14, min(i1 + 7, 8*i2_8 + 7)), 1)
        B[i1 + 1, i2 - i1] = B[i1, i2 - i1 + 1]
t
  i1_4 (0, 1, 1)
    i2_8 (0, 1, 1)
      i1 (4*i1_4, 4*i1_4 + 3, 1)
        i2 (max(i1, 8*i2_8), min(i1 + 7, min(14, 8*i2_8 + 7)), 1)
          B[i1 + 1, i2 - i1] = B[i1, i2 - i1 + 1]
x
  i2 (0, 14, 1)
    i1 (max(0, i2 - 7), min(7, i2), 1)
      B[i1 + 1, i2 - i1] = B[i1, i2 - i1 + 1]
y
  i2 (0, 14, 1)
    i1 (max(i2, max(0, 2*i2 - 7)), min(i2 + 7, min(21, 2*i2)), 1)
      B[i1 - i2 + 1, 2*i2 - i1] = B[i1 - i2, 2*i2 - i1 + 1]
u
  i2_4 (0, 3, 1)
    i1_2 (0, 10, 1)
      i2 (4*i2_4, min(14, 4*i2_4 + 3), 1)
        i1 (max(i2, max(2*i2 - 7, 2*i1_2)), min(i2 + 7, min(2*i2, 2*i1_2 + 1)), 1)
          B[i1 - i2 + 1, 2*i2 - i1] = B[i1 - i2, 2*i2 - i1 + 1]
m
  i1_4 (0, 1, 1)
    i2_8 (0, 1, 1)
      i1 (4*i1_4, 4*i1_4 + 3, 1)
        i2_8.1 (0, 0, 1)
          i2 (max(i1, 8*i2_8 + 8*i2_8.1), min(i1 + 7, min(14, 8*i2_8 + 8*i2_8.1 + 7)), 1)
            B[i1 + 1, i2 - i1] = B[i1, i2 - i1 + 1]
$ loopwright run tiled.teml --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright check wrong.teml
--- stderr
wrong.teml:4:1: error: level 2 is not around level 1: skew(l, 1, 2) skews the inner level by the outer one
  k = skew(l, 2, 1)
  ^~~~~~~~~~~~~~~~~
--- exit 1
