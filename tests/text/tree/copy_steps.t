# A copy has the elements that subscripts may mean: every second one, from the first on that some
# read has.
--- down.tc
def down(float(C,H,W) I, float(K,C) F) -> (O) {
    O(k,h,w) +=! I(c,2*h + 1,2*w) * F(k,c) where h in 0:3, w in 0:4
}
--- down.lws
O: h k c w:v
    copy I at h layout (h c w)
$ loopwright show down.tc --size C=2,H=7,W=8,K=3 --schedule down.lws --stage tree
for h in 3
  O.I f32[1, 2, 4] 32 B
  for h.1 in 1
    for c in 2
      for w in 4
        O.I[h.1, c, w] = I[c, 2*h + 2*h.1 + 1, 2*w]
  for k in 3
    for w in 4 vector
      O[k, h, w] = 0.0
    for c in 2
      for w in 4 vector
        O[k, h, w] += O.I[0, c, w]*F[k, c]
