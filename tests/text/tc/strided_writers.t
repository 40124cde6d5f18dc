# Many strided definitions of a large tensor: nothing is said where all is written, and the element where it is not.
--- all.tc
def f(float(N) A) -> (O) {
    T(7*i) = A(i) where i in 0:400000
    T(7*i+1) = A(i) where i in 0:400000
    T(7*i+2) = A(i) where i in 0:400000
    T(7*i+3) = A(i) where i in 0:400000
    T(7*i+4) = A(i) where i in 0:400000
    T(7*i+5) = A(i) where i in 0:400000
    T(7*i+6) = A(i) where i in 0:400000
    O(i) = T(i)
}
--- turned.tc
def f(float(N,N) A) -> (O) {
    T(i,(i+j)%1500) = A(i,j) where i in 0:1500, j in 0:1500
    O(i,j) = T(i,j)
}
$ loopwright check all.tc --size N=400000 | tail -1
  temp  f32(2800000) T
$ grep -v '+5' all.tc > gap.tc; loopwright check gap.tc --size N=400000 2>&1 | grep error
gap.tc:8:5: error: statement 'O' reads T[5] at i = 5, which no earlier statement writes
$ loopwright check turned.tc --size N=1500 | tail -1
  temp  f32(1500, 1500) T
