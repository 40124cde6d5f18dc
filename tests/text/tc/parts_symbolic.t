# Which elements of a declared result are written depends on integers or data: it is in-out unless all are written at every size.
--- s.tc
def spread(float(N) A, int s) -> (float(s*N) O) { O(s*i) = A(i) }
def coarse(float(N) A) -> (float(20*N) O) { O(20*i) = A(i) }
def rows(float(N,K) A, int s) -> (float(P) O) { O(s*i + k) = A(i,k) }
def blocks(float(N,K) A) -> (float(N*K) O) { O(K*i + k) = A(i,k) }
def up3(float(H) I, float(3) W) -> (float(2*H + 1) O) { O(2*h + p) +=! I(h) * W(p) }
def up(float(H) I, float(K) W) -> (float(2*H + K - 2) O) { O(2*h + p) +=! I(h) * W(p) }
def fold(float(4*N) A) -> (float(N,4) O) { O(i/4,i%4) = A(i) }
def halves(float(2*N) A) -> (float(N) O) { O(i/2) +=! A(i) }
def read(float(N) A) -> (float(N) O, R) { O(i/2) = A(i) where i in 0:1   R(i) = O(i) }
def gaps(float(N,20) A) -> (float(20*N) O) { O(20*i) = A(i,0)   O(20*i + j) = A(i,j) where j in 1:20 }
def pixels(float(4,H,W) A) -> (float(2*H,2*W) O) { O(2*h + c/2,2*w + c%2) = A(c,h,w) }
def three(float(3) A) -> (float(3,3) O) { O(i,i) = A(i)   O(i,(i + 1)%3) = A(i)   O(i,(i + 2)%3) = A(i) }
$ loopwright check s.tc
spread(f32(N) A, i32 s) -> (inout f32(s*N) O)
coarse(f32(N) A) -> (inout f32(20*N) O)
rows(f32(N, K) A, i32 s) -> (inout f32(P) O)
blocks(f32(N, K) A) -> (f32(N*K) O)
up3(f32(H) I, f32(3) W) -> (f32(2*H + 1) O)
up(f32(H) I, f32(K) W) -> (inout f32(2*H + K - 2) O)
fold(f32(4*N) A) -> (f32(N, 4) O)
halves(f32(2*N) A) -> (f32(N) O)
read(f32(N) A) -> (inout f32(N) O, f32(N) R)
gaps(f32(N, 20) A) -> (f32(20*N) O)
pixels(f32(4, H, W) A) -> (f32(2*H, 2*W) O)
three(f32(3) A) -> (f32(3, 3) O)
