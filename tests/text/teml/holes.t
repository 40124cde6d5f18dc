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
--- value.teml
param K = 2 in [2, 3]
param T = 4 in [2, 4]
c = scalar()
A = tensor([16])
B = tensor([16])
init(c, K)
B = mul(A, c, [[i1], ] -> [i1])
l = build(B)
t = stripmine(l, 1, T)
codegen(t)
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
$ loopwright tune value.teml --threads 1
t(f64(16) A) -> (f64(16) B)
  holes    K of 2, 3; T of 2, 4
  tried    4 of 4 combinations in {{[0-9.]+}} s, 2 refused, first: K = 3, T = {{[24]}} changes the assignments, and so the result; fix such a parameter by --size
  best     K = 2, T = {{[24]}}: {{.*}} us, {{.*}}the values of the text{{.*}}
  use      --size K=2,T={{[24]}}
