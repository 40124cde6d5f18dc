# Guards on the subscripts themselves: a transposed convolution has its full output, and no weight is left out.
--- t.tc
def one(float(H) I, float(K) W) -> (O) {
    O(h) +=! (h-p >= 0 && (h-p) % 2 == 0 && (h-p)/2 < H) ? I((h-p)/2) * W(p) : 0.0
}
def full(float(H) I, float(K) W) -> (O) { O(h) +=! (h >= p && h - p < H) ? I(h - p) * W(p) : 0.0 }
def two(float(C,H,V) I, float(C,K,KH,KW) W) -> (O) {
    O(k,h,w) +=! (h < p || w < q || (h-p) % 2 != 0 || (w-q) % 2 != 0 || h-p >= 2*H || (w-q)/2 >= V)
        ? 0.0 : I(c, (h-p)/2, (w-q)/2) * W(c,k,p,q)
}
def stride(float(H) I, float(K) W, int S) -> (O) {
    O(h) +=! (h-p >= 0 && (h-p) % S == 0 && (h-p)/S < H) ? I((h-p)/S) * W(p) : 0.0
}
def cropped(float(H) I, float(K) W) -> (O) {
    O(h) +=! (h+1-p >= 0 && (h+1-p) % 2 == 0 && (h+1-p)/2 < H) ? I((h+1-p)/2) * W(p) : 0.0 where h in 0:2*H
}
def either(float(N) A, float(M) B) -> (O) { O(i) = (i < N ? A(i) : 0.0) + (i < M ? B(i) : 0.0) }
def open(float(H) I, float(K) W) -> (O) { O(h) +=! (h-p >= 0) ? I((h-p)/2) * W(p) : 0.0 }
$ loopwright check t.tc
one(f32(H) I, f32(K) W) -> (f32(2*H + K - 2) O)
full(f32(H) I, f32(K) W) -> (f32(H + K - 1) O)
two(f32(C, H, V) I, f32(C, K, KH, KW) W) -> (f32(K, 2*H + KH - 2, 2*V + KW - 2) O)
stride(f32(H) I, f32(K) W, i32 S) -> (f32(K + S*H - S) O)
cropped(f32(H) I, f32(K) W) -> (f32(2*H) O)
either(f32(N) A, f32(M) B) -> (f32(max(N, M)) O)
open(f32(H) I, f32(K) W) -> (f32(2*H) O)
