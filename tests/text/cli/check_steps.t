# Values grow from step to step: their sums are compared bit for bit as long as they are exact in any order.
--- f.tc
def f(float(N) A, int T) -> (X) {
    U(0,i) = A(i)
    for t in 0:T { U(t+1,i) = 9 * U(t,i) + A(N-1-i) }
    X +=! U(T,i)
}
--- lcs.tc
def lcs(int(M) A, int(N) B) -> (L) {
    L(i,j) = 0 where i in 0:M+1, j in 0:1
    L(0,j) = 0 where j in 1:N+1
    for i in 0:M, j in 0:N {
        L(i+1,j+1) = A(i) == B(j) ? L(i,j) + 1 : max(L(i,j+1), L(i+1,j))
    }
}
$ loopwright run f.tc --size T=4,N=97 --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run f.tc --size T=7,N=97 --check | grep check
  check    right: up to rounding, against the interpreter
$ loopwright run lcs.tc --size M=40,N=40 --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run @/examples/tc/gru.tc --size T=16,B=4,N=128,I=64 --check | grep check
  check    right: up to rounding, against the interpreter
