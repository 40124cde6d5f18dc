# A program without iterations has no kernels; it leaves its results as they are.
--- none.tc
def f(float(N) A) -> (float(M) O) { O(i) += A(i) where i in 0:N }
$ loopwright run none.tc --size N=0,M=5 --device emulate --check 2>&1 | grep check
  check    right: bit for bit, against the interpreter
