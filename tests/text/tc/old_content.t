# A result with a declared shape of which a part is defined and more is read starts from the caller's content: a cache of keys.
--- kv.tc
def kv(float(D) k, float(D) q, int pos) -> (float(S,D) KC, O) {
    KC(pos,d) = k(d)
    O(t) +=! q(d) * KC(t,d)
}
def halves(float(N) A, float(N) B) -> (float(2*N) O) {
    O(i) = A(i) where i in 0:N
    O(i + N) = B(i) where i in 0:N
    O(i) = relu(O(i))
}
def row(float(N) A) -> (float(2,N) O, S) {
    O(1,i) = A(i)
    S +=! O(1,i)
}
$ loopwright check kv.tc
kv(f32(D) k, f32(D) q, i32 pos) -> (inout f32(S, D) KC, f32(S) O)
halves(f32(N) A, f32(N) B) -> (f32(2*N) O)
row(f32(N) A) -> (inout f32(2, N) O, f32 S)
