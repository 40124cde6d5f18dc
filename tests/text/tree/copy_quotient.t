# A copy inside a loop over heads that share keys has the keys of those alone, not of all.
--- shared.tc
def shared(float(4*G,M,D) Q, float(G,N,D) K) -> (S) {
    S(h,q,k) +=! Q(h,q,d) * K(h/4,k,d)
}
--- shared.lws
S: h/4 h q k d
    copy K at h/4
$ loopwright show shared.tc --size G=3,M=2,N=5,D=6 --stage tree --schedule shared.lws
for h in 3
  S.K f32[1, 5, 6] 120 B
  for d0 in 1
    for k in 5
      for d in 6
        S.K[d0, k, d] = K[h + d0, k, d]
  for h.1 in 4
    for q in 2
      for k in 5
        S[4*h + h.1, q, k] = 0.0
        for d in 6
          S[4*h + h.1, q, k] += Q[4*h + h.1, q, d]*S.K[h.1/4, k, d]
