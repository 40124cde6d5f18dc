# Two paths from one assignment are two functions; the value that both start from stays as it was.
--- mv.teml
A = tensor(float, [5, 6])
x = tensor(float, [6])
y = tensor(float, [5])
y = contract(A, x, [2, 1])
init(y, 0)
l = build(y)
strips = stripmine(l, 2, 4)
columns = interchange(l, 1, 2)
codegen(strips)
codegen(columns)
$ loopwright check mv.teml
strips(f32(5, 6) A, f32(6) x) -> (f32(5) y)
columns(f32(5, 6) A, f32(6) x) -> (f32(5) y)
$ loopwright show mv.teml --def strips
for i1 in 5 vector
  y[i1] = 0.0
for i1 in 5
  for i2 in 2
    for i2.1 in 4 where 5 - 4*i2 - i2.1 >= 0
      y[i1] += A[i1, 4*i2 + i2.1]*x[4*i2 + i2.1]
$ loopwright show mv.teml --def columns
for i1 in 5 vector
  y[i1] = 0.0
for i2 in 6
  for i1 in 5
    y[i1] += A[i1, i2]*x[i2]
$ loopwright run mv.teml --def strips --check
strips(f32(5, 6) A, f32(6) x) -> (f32(5) y)
  sizes    no sizes
  check    right: bit for bit, against the interpreter
$ loopwright run mv.teml --def columns --backend interp | grep checksum
  out      f32(5) y: checksum 929845422ad234e9
$ loopwright run mv.teml --def columns --backend c | grep checksum
  out      f32(5) y: checksum 929845422ad234e9
$ loopwright show mv.teml --def strips --stage program
--- stderr
error: this TeML program decides its own loops: it has no statements that could be shown or scheduled
note: its stages are tree and stripe, and the back-ends that take Trees run it
--- exit 1
