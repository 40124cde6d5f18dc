# Each element needs the one above and to the right: levels may be interchanged once the inner one runs
# ahead of the outer one, and then the inner one is parallel.
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
$ loopwright check wrong.teml
--- stderr
wrong.teml:4:1: error: cannot skew: the other loop is not around it
  k = skew(l, 2, 1)
  ^~~~~~~~~~~~~~~~~
--- exit 1
