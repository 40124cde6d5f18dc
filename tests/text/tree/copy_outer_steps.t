# A copy at an outer loop of steps is made in front of the inner ones: what no step changes, and what
# only the outer steps change. What the inner steps change is refused there.
--- two.tc
def two(float(T,U,N) X, float(N) a) -> (float(T,N) B) {
    S(0,i) = a(i)
    for t in 0:T {
        for u in 0:U {
            D(t,u,i) = (u > 0 ? D(t,u-1,N-1-i) : 1.0) + X(t,u,i)
            E(t,u,i) = D(t,u,i) * S(t,i)
        }
        S(t+1,i) = 0.5 * S(t,i) + E(t,U-1,i)
    }
    B(t,i) = S(t+1,i) where t in 0:T
}
--- outer.lws
D: t u i
    copy X at t
E: t u i
    copy S at t
--- changed.lws
E: t u i
    copy D at t
$ loopwright show two.tc --size N=16,T=4,U=3 --schedule outer.lws --stage tree
S f32[5, 16] 320 B
for i in 16
  S[0, i] = a[i]
for t in 4
  D f32[1, 3, 16] 192 B
  E f32[1, 3, 16] 192 B
  D.X f32[1, 3, 16] 192 B
  E.S f32[1, 16, 1] 64 B
  for d0 in 1
    for d1 in 3
      for i in 16
        D.X[d0, d1, i] = X[t + d0, d1, i]
  for t.1 in 1
    for d0 in 1
      for i in 16
        E.S[d0, i, t.1] = S[t + d0, i]
  for u in 3
    for i in 16
      D[0, u, i] = select(index(u) > i64(0), D[0, u - 1, 15 - i], 1.0) + D.X[0, u, i]
    for i in 16
      E[0, u, i] = D[0, u, i]*E.S[0, i, 0]
  for i in 16
    S[t + 1, i] = 0.5*S[t, i] + E[0, 2, i]
for t in 4
  for i in 16
    B[t, i] = S[t + 1, i]
$ loopwright run two.tc --size N=16,T=4,U=3 --schedule outer.lws --check | grep check
  check    right: up to rounding, against the interpreter
$ loopwright show two.tc --size N=16,T=4,U=3 --schedule changed.lws --stage tree
--- stderr
changed.lws:2:15: error: 'E.D' cannot be computed at a loop of its readers: other steps read or define it, too
      copy D at t
                ^
--- exit 1
