# An update in place stays within the range that the definition before it has, although its guarded reads would reach further.
--- up.tc
def up(float(M,N) B, float(N) x) -> (T) {
    T(i,j) = x(j) where i in 0:M
    T(i,j) = T(i,j) * (i > 0 ? B(i - 1,j) : B(i,j))
}
$ loopwright check up.tc
up(f32(M, N) B, f32(N) x) -> (f32(M, N) T)
$ loopwright run up.tc --size M=4,N=3 --check --db none | tail -1
  check    right: bit for bit, against the interpreter
