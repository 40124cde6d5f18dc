# Diagnostics show the way out.
--- a.teml
A = tensor([8, 6])
A = tensor([6, 8])
B = tensor(real, [8])
F = tensor([8, 6])
C = contract(F, F, [1, 1])
l = stripmine(C, 1, 4)
D = tensor([8, 8])
D = eq(D, [i1, i2 + 1] -> [i1 + 1, i2])
d = build(D)
e = interchange(d, 1, 2)
--- b.teml
A = tensor([8])
B = tensor([8])
B = entrywise_add(A, A)
l = build(B)
m = stripmine(l, 1, 2)
n = stripmine(l, 1, 4)
$ loopwright check a.teml
--- stderr
a.teml:2:1: error: 'A' is declared again with another shape or type
  A = tensor([6, 8])
  ^
a.teml:1:1: note: 'A' was declared here
  A = tensor([8, 6])
  ^
a.teml:3:12: error: expected a type, found 'real'
  B = tensor(real, [8])
             ^~~~
note: the types are double float half int long byte, and sized names such as f32 and i64
a.teml:5:1: warning: 'C' is not declared; it gets the shape of what is assigned to it
  C = contract(F, F, [1, 1])
  ^
note: declare it before: C = tensor([6, 6])
a.teml:6:15: error: 'stripmine' needs a loop, but 'C' is an assignment
  l = stripmine(C, 1, 4)
                ^
note: build(C) makes a loop of it
a.teml:10:1: error: interchange changes the result: 'D' at (i2=1, i1=0) would run after 'D' at (i2=0, i1=1), which depends on it through D[1, 1] (flow dependence)
  e = interchange(d, 1, 2)
  ^~~~~~~~~~~~~~~~~~~~~~~~
note: the loops before and after:
  i1 (0, 6, 1)                         i2 (0, 6, 1)
    i2 (0, 6, 1)                         i1 (0, 6, 1)
      D[i1 + 1, i2] = D[i1, i2 + 1]        D[i1 + 1, i2] = D[i1, i2 + 1]
note: legal instead: interchange(d_skewed, 1, 2) after d_skewed = skew(d, 1, 2)
note: --unchecked applies the transformation all the same; --no-path chooses loops without the path
--- exit 1
$ loopwright check b.teml
--- stderr
b.teml:6:1: error: the assignment to 'B' would run twice
  n = stripmine(l, 1, 4)
  ^~~~~~~~~~~~~~~~~~~~~~
note: name one path per function: codegen(l1) and codegen(l2)
--- exit 1
--- outer.teml
A = tensor([8, 6])
B = tensor([6, 4])
C = tensor([8, 4])
C = contract(A, B, [2, 1])
init(C, 0)
l = build(C)
v = vectorize(l, 1)
codegen(v)
$ loopwright run outer.teml --check | grep -o 'right: bit for bit'
right: bit for bit
--- stderr
outer.teml:8:1: warning: the vector loop over 'i1' contains loops and runs serially: only innermost loops run in lanes
  codegen(v)
  ^~~~~~~~~~
$ loopwright tune outer.teml 2>&1 | tail -1
error: 'outer.teml' has nothing to tune: no 'param NAME = VALUE in [...]' lists values; --no-path tunes its assignments without the path
