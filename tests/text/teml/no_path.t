# The assignments of a TeML program without its path are a Program: a Schedule is chosen, or given.
--- mm.teml
A = tensor(float, [96, 80])
B = tensor(float, [80, 72])
C = tensor(float, [96, 72])
C = contract(A, B, [2, 1])
init(C, 0)
l = build(C)
t = tile(l, 32)
codegen(t)
--- scan.teml
A = tensor([9])
A = eq(A, [i1] -> [i1 + 1])
l = build(A)
codegen(l)
$ loopwright show mm.teml --no-path --stage program
program t {
    input A: f32[96, 80]
    input B: f32[80, 72]
    output C: f32[96, 72]

    C: for i1 in 0:96, i2 in 0:72, i3 in 0:80
        C[i1, i2] +=! A[i1, i3]*B[i3, i2]
}
$ loopwright show mm.teml --no-path --stage tree --schedule naive
for i1 in 96
  for i2 in 72
    C[i1, i2] = 0.0
    for i3 in 80
      C[i1, i2] += A[i1, i3]*B[i3, i2]
$ loopwright run mm.teml --no-path --check --schedule naive | sed -n 3p
  check    right: bit for bit, against the interpreter
$ loopwright check scan.teml --no-path
--- stderr
error: the loops of 'l' cannot be chosen: the loop over 'i1' is any, but iteration (i1=1) reads A[1], which iteration (i1=0) writes (flow dependence)
--- exit 1
