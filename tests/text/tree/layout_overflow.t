# Blocks are stored whole: rounding both dimensions up takes this temporary past 64 bits.
--- big.tc
def big(i8(N,N) A) -> (O) {
    T(i,j) = A(i,j)
    O(i) +=! T(i,j)
}
--- big.lws
T: j i
    layout (i/2147483648 j/2147483648 i j)
$ loopwright show big.tc --stage tree --schedule big.lws --size N=2147483649
--- stderr
error: the size of a buffer overflows 64 bits
--- exit 1
