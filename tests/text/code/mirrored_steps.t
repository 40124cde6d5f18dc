# Copies of a loop differ only in addresses if these are known, which those of a mirrored read are not.
--- f.tc
def f(float(M,N) A, int T) -> (X) {
    U(0,i,j) = A(i,j)
    U(1,i,j) = A(i,j) * 3
    for t in 0:T {
        U(t+2,i,j) = 7 * mirror(U(t+1,i-1,j)) where i in 0:M, j in 0:N
    }
    X(i,j) = U(T/2,i,j)
}
--- f.lws
U.2: t i j/16 j
    skew i by 3*t
    skew j by t
$ loopwright run f.tc --size T=4,M=4,N=3 --isa scalar --schedule f.lws --check | tail -1
  check    right: bit for bit, against the interpreter
