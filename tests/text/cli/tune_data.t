# Candidates are timed on data of the user's, whose shapes tell sizes as they do of run.
--- pick.tc
def pick(float(N) x, int32(M) at, float a) -> (o) { o(i) = x(at(i)) * a }
--- two.tc
def twice(float(N) A) -> (B) { B(i) = A(i) * 2 }
def sum(float(N) A) -> (s) { s +=! A(i) }
$ @/tests/npy write x.npy '<f4' 4 1 2 3 4 && @/tests/npy write at.npy '<i4' 3 0 3 1 && @/tests/npy write far.npy '<i4' 3 0 4 1
$ XDG_CACHE_HOME=%/c loopwright tune pick.tc --in x=x.npy --in at=at.npy --arg a=0.5 --trials 4 --seconds 9 --db none --quiet | head -1
pick, N = 4, M = 3
$ XDG_CACHE_HOME=%/c loopwright tune pick.tc --in x=x.npy --in at=far.npy --trials 4 --seconds 9 --db none --quiet
--- stderr
error: 'at' contains 4, but subscripts must be from 0 to 3
--- exit 1
$ loopwright tune pick.tc --in x=x.npy --in at=at.npy --size N=5
--- stderr
pick.tc:1:19: error: dimension 0 of argument 'x' is 4, but should be 5
  def pick(float(N) x, int32(M) at, float a) -> (o) { o(i) = x(at(i)) * a }
                    ^
note: it is declared as f32(N) x
note: N = 5 comes from the given sizes
--- exit 1
$ loopwright tune pick.tc --in y=x.npy
--- stderr
error: --in y: 'pick' has no input of that name; it is pick(f32(N) x, i32(M) at, f32 a) -> (f32(M) o)
--- exit 1
$ loopwright tune two.tc --in A=x.npy
--- stderr
loopwright tune: --in gives data to one function, and there are 2; --def names one
usage: loopwright tune FILE [options]; --help explains them
--- exit 2
