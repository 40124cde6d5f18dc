# Inferred ranges: windows. What comes first is what has the fewest unknowns.
--- a.tc
def conv2d(float(B,IP,H,W) I, float(OP,IP,KH,KW) W1) -> (O) {
    O(b,op,h,w) +=! I(b,ip,h+kh,w+kw) * W1(op,ip,kh,kw)
}
def grad(float(N,M,OH,OW) dO, float(M,C,KH,KW) W1) -> (dI) {
    dI(n,c,h,w) +=! dO(n,m,h-kh,w-kw) * W1(m,c,kh,kw)
}
def padded(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (p, O) {
    p(n,c,h,w) = I(n,c,h-5,w-7)
    O(n,m,h,w) +=! p(n,c,2*h+kh,3*w+kw) * W1(m,c,kh,kw)
}
def skewed(float(B,IP,H,W) I, float(OP,IP,KH,KW) W1) -> (O) {
    O(b,op,h,w) +=! I(b,ip,2*h+3*w+kh,2*w+kw) * W1(op,ip,kh,kw)
}
def diagonal(float(N0,N1,N2) I) -> (O) { O(i) +=! I(j,i+j,k) }
def pool(float(N) B) -> (A) { A(i) max=! B(2*i+k) where k in 0:2 }
$ loopwright check a.tc
conv2d(f32(B, IP, H, W) I, f32(OP, IP, KH, KW) W1) -> (f32(B, OP, H - KH + 1, W - KW + 1) O)
grad(f32(N, M, OH, OW) dO, f32(M, C, KH, KW) W1) -> (f32(N, C, KH - 1:OH, KW - 1:OW) dI)
padded(f32(N, C, H, W) I, f32(M, C, KH, KW) W1) -> (f32(N, C, 5:H + 5, 7:W + 7) p, f32(N, M, 3:(H - KH + 1)/2 + 3, 3:(W - KW + 1)/3 + 3) O)
skewed(f32(B, IP, H, W) I, f32(OP, IP, KH, KW) W1) -> (f32(B, OP, (H - KH - 3*((W - KW)/2))/2 + 1, (W - KW)/2 + 1) O)
diagonal(f32(N0, N1, N2) I) -> (f32(N1 - N0 + 1) O)
pool(f32(N) B) -> (f32(N/2) A)
