# Inferred signatures; with sizes, shapes as numbers.
--- conv.tc
def conv(float(N,C,H) I, float(O,C,KH) W) -> (R) {
    R(n,o,h) +=! I(n,c,h + kh) * W(o,c,kh)
}
def inner(float(N) A) -> (B) {
    B(i) = A(i-1) + A(i+1) where i in 1:N-1
}
--- warn.tc
def f(float(N,M) A) -> (B) {
    B(i) += A(i,j)
}
$ loopwright check conv.tc
conv(f32(N, C, H) I, f32(O, C, KH) W) -> (f32(N, O, H - KH + 1) R)
inner(f32(N) A) -> (f32(1:N - 1) B)
$ loopwright check conv.tc --size N=10
conv(f32(N, C, H) I, f32(O, C, KH) W) -> (f32(N, O, H - KH + 1) R)
inner(f32(N) A) -> (f32(1:N - 1) B)
  with N = 10:
  in    f32(10) A
  out   f32(1:9) B
$ loopwright check conv.tc --def conv --size N=1,C=3,H=8,O=4,KH=3
conv(f32(N, C, H) I, f32(O, C, KH) W) -> (f32(N, O, H - KH + 1) R)
  with N = 1, C = 3, H = 8, O = 4, KH = 3:
  in    f32(1, 3, 8) I
  in    f32(4, 3, 3) W
  out   f32(1, 4, 6) R
$ loopwright check conv.tc --def conv --size N=1,C=3,H=8
conv(f32(N, C, H) I, f32(O, C, KH) W) -> (f32(N, O, H - KH + 1) R)
--- stderr
error: 'conv' needs a value for O, KH
note: give values by name; on the command line, for example, --size O=8,KH=8
--- exit 1
$ loopwright check conv.tc --def conv --size N=1,C=3,H=2,O=4,KH=3
conv(f32(N, C, H) I, f32(O, C, KH) W) -> (f32(N, O, H - KH + 1) R)
--- stderr
conv.tc:2:24: error: H - KH >= 0 must hold with H = 2, KH = 3, but it is -1
      R(n,o,h) +=! I(n,c,h + kh) * W(o,c,kh)
                         ^~~~~~
note: so that the range of 'h' is not empty (subscript 'h + kh' of 'I')
--- exit 1
$ loopwright check conv.tc --def cnov
--- stderr
error: no function 'cnov' in 'conv.tc'; did you mean 'conv'?
--- exit 1
$ loopwright check conv.tc --def nothing
--- stderr
error: no function 'nothing' in 'conv.tc'; it has conv, inner
--- exit 1
$ loopwright check conv.tc --size kh=4
--- stderr
error: no function of 'conv.tc' has a size 'kh'; did you mean 'KH'?
--- exit 1
$ loopwright check conv.tc --size Q=4
--- stderr
error: no function of 'conv.tc' has a size or scalar argument 'Q'
--- exit 1
$ loopwright check conv.tc --def inner --json --size N=6
{"command": "check", "file": "conv.tc", "functions": [{"def": "inner", "signature": "inner(f32(N) A) -> (f32(1:N - 1) B)", "params": [{"name": "N", "kind": "size", "dtype": "i64"}], "tensors": [{"name": "A", "role": "input", "dtype": "f32", "size": ["N"], "origin": ["0"]}, {"name": "B", "role": "output", "dtype": "f32", "size": ["N - 2"], "origin": ["1"]}], "sizes": {"N": 6}, "shapes": [{"name": "A", "shape": [6], "dtype": "f32"}, {"name": "B", "shape": [4], "dtype": "f32", "origin": [1]}]}], "diagnostics": [], "ok": true}
$ loopwright check warn.tc
f(f32(N, M) A) -> (inout f32(N) B)
--- stderr
warn.tc:2:10: warning: '+=' updates the old content of 'B', which becomes an in-out argument
      B(i) += A(i,j)
           ^~
note: write '+=!' to start from the identity
$ loopwright check warn.tc --strict
--- stderr
warn.tc:2:10: error: '+=' updates the old content of 'B', which becomes an in-out argument
      B(i) += A(i,j)
           ^~
note: write '+=!' to start from the identity
--- exit 1
