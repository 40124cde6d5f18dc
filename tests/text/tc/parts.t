# A declared result that statements define in part is in-out: the rest keeps the caller's content. One that they define whole is not.
--- p.tc
def app(float(D) k, int() pos) -> (float(S,D) KC) { KC(pos,d) = k(d) }
def step(float(D) k, float(D) q, int() pos) -> (float(T,D) KC, A) {
    KC = app(k, pos)
    A(t) +=! q(d) * KC(t,d)
}
def quarters(float(N,N) A) -> (float(2*N,2*N) O) {
    O(i,j) = A(i,j) where i in 0:N, j in 0:N
    O(i+N,j) = A(i,j) where j in 0:N
    O(i,j+N) = A(i,j) where i in 0:N
    O(i+N,j+N) = A(i,j)
    O(i,j) = O(i,j) * 2.0 where i in 0:2*N, j in 0:2*N
}
def even(float(N) A) -> (float(2*N) O) { O(2*i) = A(i)  O(i) += 1.0 where i in 0:2*N }
def both(float(N) A) -> (float(2*N) O) { O(2*i) = A(i)  O(2*i+1) = A(i)  O(i) += 1.0 where i in 0:2*N }
def flat(float(N,M) A) -> (float(N*M) O) { O(M*i+j) = A(i,j) }
def shuffle(float(2,2,N,M) A) -> (float(2*N,2*M) O) { O(2*i+a,2*j+b) = A(a,b,i,j) }
def reverse(float(N) A) -> (float(N) O) { O(N-1-i) = A(i) }
def diagonal(float(N) A) -> (float(N,N) O) { O(i,i) = A(i) }
--- big.tc
def big(float(N) A) -> (float(20) O) { O(i) = A(i) }
$ loopwright check p.tc
app(f32(D) k, i32() pos) -> (inout f32(S, D) KC)
step(f32(D) k, f32(D) q, i32() pos) -> (inout f32(T, D) KC, f32(T) A)
quarters(f32(N, N) A) -> (f32(2*N, 2*N) O)
even(f32(N) A) -> (inout f32(2*N) O)
both(f32(N) A) -> (f32(2*N) O)
flat(f32(N, M) A) -> (f32(N*M) O)
shuffle(f32(2, 2, N, M) A) -> (f32(2*N, 2*M) O)
reverse(f32(N) A) -> (f32(N) O)
diagonal(f32(N) A) -> (inout f32(N, N) O)
$ loopwright run p.tc --def app --size S=3,D=1,pos=1
--- stderr
loopwright run: --size pos: 'pos' is read at run time; give it with --arg pos=1
usage: loopwright run FILE [options]; --help explains them
--- exit 2
$ loopwright check big.tc --size N=10
big(f32(N) A) -> (f32(20) O)
--- stderr
big.tc:1:49: error: N - 20 >= 0 must hold with N = 10, but it is -10
  def big(float(N) A) -> (float(20) O) { O(i) = A(i) }
                                                  ^
note: so that subscript 'i' of 'A' stays below N; 'i' runs over 0:20, the declared size of 'O': give less with a 'where'
--- exit 1
