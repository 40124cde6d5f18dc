# Tuning searches the values of parameters; a combination that is refused counts, and --size fixes.
--- t.teml
param N = 24
param R = 1 in [1, 2, 9]
param V = 4 in [4, 8]
A = tensor(float, [N, N])
B = tensor(float, [N, N])
B = eq(A, [i1, i2] -> [i2, i1])
l = build(B)
s = stripmine(l, R, V)
codegen(s)
$ loopwright tune t.teml --threads 1
s(f32(24, 24) A) -> (f32(24, 24) B)
  holes    R of 1, 2, 9; V of 4, 8
  tried    6 of 6 combinations in {{[0-9.]+}} s, 2 refused, first: t.teml:8:18: error: there is no level 9: 'l' has 2 levels (equation 20)
  best     R = {{[12]}}, V = {{[48]}}: {{.*}} us, {{.*}}the values of the text{{.*}}
  use      --size R={{[12]}},V={{[48]}}
$ loopwright tune t.teml --threads 1 --size R=2,V=8
--- stderr
error: every parameter with a list of values is fixed by --size
--- exit 1
$ loopwright tune t.teml --threads 1 --size R=9
--- stderr
t.teml:8:18: error: there is no level 9: 'l' has 2 levels (equation 20)
  s = stripmine(l, R, V)
                   ^
--- exit 1
$ loopwright check t.teml --size N=32,V=8
s(f32(32, 32) A) -> (f32(32, 32) B)
$ loopwright check t.teml --size N=32,N=8
--- stderr
loopwright check: --size: 'N' is given twice
usage: loopwright check FILE [options]; --help explains them
--- exit 2
$ loopwright tune t.teml --strategy beam
--- stderr
loopwright tune: --strategy has no effect on the parameters of a TeML program
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
