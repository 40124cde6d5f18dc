A scatter without iterations initialises its whole tensor, which may then be read.
--- h.tc
def h(int(N) A, float(N) B) -> (float(5) T, S) {
    T(A(a)) +=! B(a)
    S +=! T(a)
}
$ loopwright run h.tc --size N=0 --db none | tail -3
           [0, 0, 0, 0, 0]
  out      f32 S: checksum 4d25767f9dce13f5
           0
