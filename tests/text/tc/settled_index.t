# A subscript that reads data only formally, because an index has one value, is checked when sizes are bound.
--- one.tc
def one(float(N) G, int(L) J) -> (R) {
    R(b) +=! G(l*J(l) + 7) where b in 0:5, l in 0:L
}
$ loopwright check one.tc --size N=2,L=1
one(f32(N) G, i32(L) J) -> (f32(5) R)
--- stderr
one.tc:2:5: error: subscript 1 of 'G' is 7 = 7 at b = 0, l = 0, outside [0, 2)
      R(b) +=! G(l*J(l) + 7) where b in 0:5, l in 0:L
      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
note: restrict the range of an iterator, or guard the access
--- exit 1
$ loopwright check one.tc --size N=8,L=1
one(f32(N) G, i32(L) J) -> (f32(5) R)
  with N = 8, L = 1:
  in    f32(8) G
  in    i32(1) J
  out   f32(5) R
$ loopwright check one.tc --size N=0,L=2
one(f32(N) G, i32(L) J) -> (f32(5) R)
  with N = 0, L = 2:
  in    f32(0) G
  in    i32(2) J
  out   f32(5) R
