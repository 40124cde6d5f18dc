# D belongs to a step of t. Computed where an inner step reads it, it would see the Q of that step.
--- inner.tc
def inner(float(T,U,N) X, float(N) q) -> (float(N) Q, float(T,U,N) R) {
    Q(i) = q(i)
    for t in 0:T {
        D(t,i) = 2.0 * Q(i)
        for u in 0:U {
            R(t,u,i) = D(t,i) + X(t,u,i)
            Q(i) = Q(i) + R(t,u,i)
        }
    }
}
--- inner.lws
D:
    at u
$ loopwright run inner.tc --size T=3,U=3,N=8 --schedule inner.lws --check
--- stderr
inner.lws:2:8: error: 'D' cannot be computed where 'R' reads it: its operand 'Q' has changed by then
      at u
         ^
--- exit 1
