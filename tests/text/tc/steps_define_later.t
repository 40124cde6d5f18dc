# A step may read what an earlier one wrote, also into a temporary that a later statement of the block defines, or the same: a condition keeps
# the first step from it. Which elements are defined in time is decided when sizes are bound. Literals alone give integers.
--- s.tc
def mutual(int(N) A) -> (Y) {
    for t in 0:N {
        Y(t) = A(t) + (t > 0 ? Z(t-1) : 0)
        Z(t) = Y(t) * 2
    }
}
def running(int(N,M) A) -> (O) {
    for t in 0:N {
        S(i) = t > 0 ? max(S(i), A(t,i)) : A(t,i)
        O(t,i) = S(i)
    }
}
def inner(int(N) A) -> (O) {
    for t in 0:N { Y(t) = A(t) + (t > 0 ? Y(t-1) : 0) }
    O(t) = Y(t) + 1
}
def called(int(N) A) -> (O) {
    T = mutual(A)
    O(t) = T(t)
}
def fibonacci(int N) -> (F) {
    for t in 0:N { F(t) = t < 2 ? 1 : F(t-1) + F(t-2) }
}
def halves(int N) -> (O) {
    for t in 0:N { H(t) = t < 1 ? 1 : H(t-1) * 0.5 }
    O(t) = H(t)
}
def late(int(N) A) -> (Y) {
    for t in 0:N {
        Y(t) = A(t) + Z(t)
        Z(t) = Y(t)
    }
}
$ loopwright check s.tc
mutual(i32(N) A) -> (i32(N) Y)
running(i32(N, M) A) -> (i32(N, M) O)
inner(i32(N) A) -> (i32(N) O)
called(i32(N) A) -> (i32(N) O)
fibonacci(i32 N) -> (i32(N) F)
halves(i32 N) -> (f32(N) O)
late(i32(N) A) -> (i32(N) Y)
$ for f in mutual inner called; do loopwright run s.tc --def $f --size N=5 | tail -2; done
  out      i32(5) Y: checksum 38d7f6e8410af2bc
           [3, 3, 3, 2, 8]
  out      i32(5) O: checksum c58a18b916c143a1
           [4, 1, -2, -6, -2]
  out      i32(5) O: checksum 38d7f6e8410af2bc
           [3, 3, 3, 2, 8]
$ for b in interp tree jit c; do loopwright run s.tc --def running --size N=5,M=3 --backend $b | tail -2; done
  out      i32(5, 3) O: checksum 883b66b43a63d23e
           [3, -3, -3, 3, 4, 1, ...]
  out      i32(5, 3) O: checksum 883b66b43a63d23e
           [3, -3, -3, 3, 4, 1, ...]
  out      i32(5, 3) O: checksum 883b66b43a63d23e
           [3, -3, -3, 3, 4, 1, ...]
  out      i32(5, 3) O: checksum 883b66b43a63d23e
           [3, -3, -3, 3, 4, 1, ...]
$ loopwright run s.tc --def fibonacci --size N=6 | tail -1
           [1, 1, 2, 3, 5, 8]
$ loopwright run s.tc --def halves --size N=4 | tail -1
           [1, 0.5, 0.25, 0.125]
$ loopwright run s.tc --def late --size N=5
--- stderr
s.tc:30:9: error: statement 'Y' reads Z[0] at t = 0, which no earlier statement writes
          Y(t) = A(t) + Z(t)
          ^~~~~~~~~~~~~~~~~~
s.tc:31:9: note: 'Z' at t = 0 writes it later; 'for' runs its steps in rising order
          Z(t) = Y(t)
          ^~~~~~~~~~~
s.tc:31:9: note: 'Z' is first defined here, with fewer elements than are read
          Z(t) = Y(t)
          ^~~~~~~~~~~
--- exit 1
