# A guard that limits the index by another size: the read does not, and is checked when sizes are bound.
--- g.tc
def rope(float(S,D) Q, float(S,H) C, float(S,H) N) -> (O) {
    O(s,d) = d < H ? Q(s,d)*C(s,d) - Q(s,d + H)*N(s,d) : Q(s,d)*C(s,d - H) + Q(s,d - H)*N(s,d - H)
}
def some(float(P) B, float(N) A, int M) -> (O) { O(i) = B(i) + (i < M ? A(i) : 0.0) }
def joined(float(N) A, float(M) B, int K) -> (O) { O(i) = i < K ? A(i) : B(i - K) }
def transposed(int s, float(H) I, float(K) W) -> (O) {
    O(h) +=! h - p >= 0 && (h - p) % s == 0 && h - p < s*H ? I((h - p)/s) * W(p) : 0.0
}
def every(int s, float(P) B, float(N) A) -> (O) { O(i) = B(i) + (i % s == 0 && i < s*N ? A(i/s) : 0.0) }
$ loopwright check g.tc
rope(f32(S, D) Q, f32(S, H) C, f32(S, H) N) -> (f32(S, min(D, 2*H)) O)
some(f32(P) B, f32(N) A, i32 M) -> (f32(P) O)
joined(f32(N) A, f32(M) B, i32 K) -> (f32(K + M) O)
transposed(i32 s, f32(H) I, f32(K) W) -> (f32(K + s*H - s) O)
every(i32 s, f32(P) B, f32(N) A) -> (f32(P) O)
$ loopwright run g.tc --def rope --size S=3,D=64,H=32 --check
rope(f32(S, D) Q, f32(S, H) C, f32(S, H) N) -> (f32(S, min(D, 2*H)) O)
  sizes    S = 3, D = 64, H = 32
  check    right: bit for bit, against the interpreter
$ loopwright check g.tc --def some --size P=4,N=9,M=12
some(f32(P) B, f32(N) A, i32 M) -> (f32(P) O)
  with M = 12, P = 4, N = 9:
  in    f32(4) B
  in    f32(9) A
  out   f32(4) O
$ loopwright check g.tc --def some --size P=12,N=9,M=10
some(f32(P) B, f32(N) A, i32 M) -> (f32(P) O)
--- stderr
g.tc:4:50: error: subscript 1 of 'A' is i = 9 at i = 9, outside [0, 9)
  def some(float(P) B, float(N) A, int M) -> (O) { O(i) = B(i) + (i < M ? A(i) : 0.0) }
                                                   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
note: restrict the range of an iterator, or guard the access
--- exit 1
