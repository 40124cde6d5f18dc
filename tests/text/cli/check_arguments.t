# --check makes its own data, but integers that are compiled in are the user's.
--- s.tc
def scale(float(N) A, int s) -> (O) { O(i) = A(i) * s }
def read(float(N) A, int() p) -> (O) { O(i) = A(i) * p }
$ loopwright run s.tc --def scale --size N=4 --arg s=3 --check
scale(f32(N) A, i32 s) -> (f32(N) O)
  sizes    s = 3, N = 4
  check    right: bit for bit, against the interpreter
$ loopwright run s.tc --def read --size N=4 --arg p=3 --check
--- stderr
loopwright run: --arg p has no effect with --check: it has data of its own
usage: loopwright run FILE [options]; --help explains them
--- exit 2
