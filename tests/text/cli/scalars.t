# Scalar arguments as numbers, as rank-0 files, and as sizes; in-out results and their old content.
--- axpy.tc
def axpy(float a, float(N) x) -> (y) {
    y(i) += a * x(i)
}
--- stride.tc
def stride(int32 s, int32(N) x) -> (y) {
    y(i) = x(s * i) where i in 0:3
}
$ @/tests/npy write x.npy '<f4' 3 1 2 3 && @/tests/npy write y.npy '<f4' 3 10 20 30 && @/tests/npy write a.npy '<f4' - 2.5
$ @/tests/npy write s.npy '<i8' - 2 && @/tests/npy write i.npy '<i4' 6 0 1 2 3 4 5
$ loopwright run axpy.tc --in x=x.npy --arg a=2.5 2>/dev/null | tail -1
           [2.5, 5, 7.5]
$ loopwright run axpy.tc --in x=x.npy --in a=a.npy --in y=y.npy 2>/dev/null | tail -1
           [12.5, 25, 37.5]
$ loopwright run axpy.tc --in x=x.npy --arg a=two
--- stderr
axpy.tc:2:10: warning: '+=' updates the old content of 'y', which becomes an in-out argument
      y(i) += a * x(i)
           ^~
note: write '+=!' to start from the identity
loopwright run: --arg a=two: not a value of type f32
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run axpy.tc --in x=x.npy --arg x=1
--- stderr
axpy.tc:2:10: warning: '+=' updates the old content of 'y', which becomes an in-out argument
      y(i) += a * x(i)
           ^~
note: write '+=!' to start from the identity
error: --arg x: it is not a scalar but f32(N) x; use --in x=FILE.npy
--- exit 1
$ loopwright run axpy.tc --in x=x.npy --arg b=1
--- stderr
axpy.tc:2:10: warning: '+=' updates the old content of 'y', which becomes an in-out argument
      y(i) += a * x(i)
           ^~
note: write '+=!' to start from the identity
error: --arg b: 'axpy' has no scalar argument of that name; it is axpy(f32 a, f32(N) x) -> (inout f32(N) y)
--- exit 1
$ loopwright run axpy.tc --in x=x.npy --arg a=1 --in a=a.npy
--- stderr
axpy.tc:2:10: warning: '+=' updates the old content of 'y', which becomes an in-out argument
      y(i) += a * x(i)
           ^~
note: write '+=!' to start from the identity
loopwright run: 'a' is given twice
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run stride.tc --in x=i.npy --arg s=2 | tail -1
           [0, 2, 4]
$ loopwright run stride.tc --in x=i.npy --size s=1 | tail -1
           [0, 1, 2]
$ loopwright run stride.tc --in x=i.npy --in s=s.npy | tail -1
           [0, 2, 4]
$ loopwright run stride.tc --in x=i.npy --in s=a.npy
--- stderr
error: 'a.npy' gives 's', which is an integer: it should hold one integer
--- exit 1
$ loopwright run stride.tc --in x=i.npy --arg s=2.5
--- stderr
loopwright run: --arg s=2.5: 's' is an integer
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright run stride.tc --in x=i.npy --arg s=3
--- stderr
stride.tc:2:14: error: N - 2*s - 1 >= 0 must hold with s = 3, N = 6, but it is -1
      y(i) = x(s * i) where i in 0:3
               ^~~~~
note: so that subscript 's * i' of 'x' stays below N
--- exit 1
