# Inferred ranges: explicit ones, several definitions, leftover conditions.
--- a.tc
def inner(float(N,M) I) -> (O) { O(i,j) = I(i,j) where i in 3:N-1 }
def given() -> (O) { O(i,j) = 3 where i in 4:8, j in 3:20 }
def ten(float(N,M) I) -> (O) { O(i,j) = I(10+i-j,i+j) where i in 0:10 }
def fits(float(10,19,10) I) -> (O) { O(i,j) = I(i,i+j,j) }
def may_fit(float(A) a, float(C) c, float(D) d) -> (O) { O(i,j) = a(i)*c(i+j)*d(j) }
def joined(float(N) A, float(M) B) -> (O) { O(i) = A(i)  O(i) = O(i) + B(i) }
def hull(float(N) A) -> (P) {
    P(i) = 0.0 where i in 0:N+2
    P(i) = A(i-1) where i in 1:N+1
}
def gather(float(J) B, int32(I) C) -> (A) { A(i) = B(C(i)) }
def like(float(N,M) A) -> (O) { O(i,j) = 0.0 where exists A(i,j) }
def softmax(float(N,D) I) -> (m, e, s, O) {
    m(n) max=! I(n,d)
    e(n,d) = exp(I(n,d) - m(n))
    s(n) +=! e(n,d)
    O(n,d) = e(n,d) / s(n)
}
$ loopwright check a.tc
inner(f32(N, M) I) -> (f32(3:N - 1, M) O)
given() -> (i32(4:8, 3:20) O)
ten(f32(N, M) I) -> (f32(10, max(0, 20 - N):min(11, M - 9)) O)
fits(f32(10, 19, 10) I) -> (f32(10, 10) O)
may_fit(f32(A) a, f32(C) c, f32(D) d) -> (f32(A, D) O)
joined(f32(N) A, f32(M) B) -> (f32(min(N, M)) O)
hull(f32(N) A) -> (f32(N + 2) P)
gather(f32(J) B, i32(I) C) -> (f32(I) A)
like(f32(N, M) A) -> (f32(N, M) O)
softmax(f32(N, D) I) -> (f32(N) m, f32(N, D) e, f32(N) s, f32(N, D) O)
--- stderr
a.tc:6:74: warning: 'i' runs as far as the smaller of N and M
  def joined(float(N) A, float(M) B) -> (O) { O(i) = A(i)  O(i) = O(i) + B(i) }
                                                                           ^
a.tc:6:54: note: 'i' is below N: subscript 'i' of 'A' stays below N
  def joined(float(N) A, float(M) B) -> (O) { O(i) = A(i)  O(i) = O(i) + B(i) }
                                                       ^
note: if they are the same size, use one name; otherwise write 'where i in 0:min(N, M)'
