# `Z = f(Z)` writes over Z where f makes its result from it element by element; elsewhere Z means another tensor.
--- over.teml
def turn(X) {
    Y = transpose(X, [[1, 2]])
    return Y
}
def scaled(X, s) {
    X = mul(X, s, [[i1, i2], [i2]] -> [i1, i2])
    return X
}
def back(X, s) {
    Y = mul(X, s, [[i2, i1], [i2]] -> [i1, i2])
    return Y
}
Z = tensor([4, 4])
W = tensor([4, 4])
V = tensor([4, 4])
s = tensor([4])
Z = turn(Z)
W = scaled(W, s)
V = back(V, s)
a = build(Z)
b = build(W)
c = build(V)
codegen(a)
codegen(b)
codegen(c)
$ loopwright check over.teml
a(f64(4, 4) Z) -> (f64(4, 4) turn.Y)
b(f64(4) s) -> (inout f64(4, 4) W)
c(f64(4, 4) V, f64(4) s) -> (f64(4, 4) back.Y)
--- stderr
over.teml:2:5: warning: 'turn.Y' is not declared; it gets the shape of what is assigned to it
      Y = transpose(X, [[1, 2]])
      ^
note: declare it before: turn.Y = tensor([4, 4])
over.teml:17:1: note: in 'turn', called here
  Z = turn(Z)
  ^~~~~~~~~~~
over.teml:17:1: warning: 'Z' means the tensor 'turn.Y' from here on: 'turn' needs its argument while it writes the result
  Z = turn(Z)
  ^~~~~~~~~~~
over.teml:17:1: note: in 'turn', called here
  Z = turn(Z)
  ^~~~~~~~~~~
over.teml:10:5: warning: 'back.Y' is not declared; it gets the shape of what is assigned to it
      Y = mul(X, s, [[i2, i1], [i2]] -> [i1, i2])
      ^
note: declare it before: back.Y = tensor([4, 4])
over.teml:19:1: note: in 'back', called here
  V = back(V, s)
  ^~~~~~~~~~~~~~
over.teml:19:1: warning: 'V' means the tensor 'back.Y' from here on: 'back' needs its argument while it writes the result
  V = back(V, s)
  ^~~~~~~~~~~~~~
over.teml:19:1: note: in 'back', called here
  V = back(V, s)
  ^~~~~~~~~~~~~~
$ loopwright run over.teml --def a --check 2>&1 | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run over.teml --def b --check 2>&1 | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run over.teml --def c --check 2>&1 | grep check
  check    right: bit for bit, against the interpreter
