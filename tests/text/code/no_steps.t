# A vector loop over steps of which there are none.
--- f.tc
def f(float(M) A, int T) -> (X) {
    U(0,i) = A(i)
    for t in 0:T { U(t+1,i) = 3 * U(t,i) }
    X(i) = U(T,i)
}
--- f.lws
U.1: i/8 i t:v
    skew i by -t
$ loopwright run f.tc --size T=0,M=19 --schedule f.lws --check | tail -1
  check    right: bit for bit, against the interpreter
