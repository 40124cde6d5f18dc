# Memory of steps that read several steps back: as many as are alive at the same time. Element t of the dimension is kept at t mod K.
--- wave.tc
def wave(float(N) A, float(N) B, int T) -> (O) {
    U(0,i) = A(i)
    U(1,i) = B(i)
    for t in 2:T {
        U(t,i) = i > 0 && i < N - 1 ? U(t-1,i-1) + U(t-1,i+1) - U(t-2,i) : 0.0 where i in 0:N
    }
    O(i) = U(T-1,i)
}
--- back.tc
def back(int(N) A, int T) -> (O) {
    U(0,i) = A(i)
    U(1,i) = A(i) + 1
    U(2,i) = A(i) + 2
    for t in 3:T {
        U(t,i) = U(t-1,i) + 2 * U(t-2,i) - (i > 0 ? U(t-3,i-1) : 0)
    }
    O(i) = U(T-1,i)
}
--- four.lws
U.3: t/4 t i:v
--- tiles.lws
U.3: t/5 i/8 t i:v
    skew i by t
# An element replaces the one of two steps before, which nothing else reads.
$ loopwright show wave.tc --size N=64,T=20 --stage tree --schedule naive
U f32[2, 64] 512 B
for i in 64
  U[0, i] = A[i]
  U[1, i] = B[i]
for t in 18
  for i in 64
    U[t%2, i] = select(index(i) > i64(0) && index(i) < i64(63), U[(t + 1)%2, i - 1] + U[(t + 1)%2, i + 1] - U[t%2, i], 0.0)
for i in 64
  O[i] = U[1, i]
$ loopwright show back.tc --size N=64,T=20 --stage tree --schedule four.lws | grep 'U\[.t\|B$'
U i32[4, 64] 1024 B
      U[(t.1 + 3)%4, i] = U[(t.1 + 2)%4, i] + 2*U[(t.1 + 1)%4, i] - select(index(i) > i64(0), U[t.1%4, i - 1], 0)
$ loopwright run back.tc --size N=64,T=20 --check --schedule four.lws | grep check
  check    right: bit for bit, against the interpreter
$ loopwright show back.tc --size N=64,T=20 --stage tree --schedule tiles.lws | grep 'U\[.t\|B$'
U i32[4, 64] 1024 B
        U[(t + t.1 + 3)%4, 8*i + i.1 - 5*t - t.1] = U[(t + t.1 + 2)%4, 8*i + i.1 - 5*t - t.1] + 2*U[(t + t.1 + 1)%4, 8*i + i.1 - 5*t - t.1] - select(index(8*i + i.1 - 5*t - t.1) > i64(0), U[(t + t.1)%4, 8*i + i.1 - 5*t - t.1 - 1], 0)
$ loopwright run back.tc --size N=64,T=20 --check --schedule tiles.lws | grep check
  check    right: bit for bit, against the interpreter
--- stderr
warning: 'for i.1 in 8 vector where 8*i + i.1 - 5*t - t.1 >= 0 and 5*t + t.1 - 8*i - i.1 + 63 >= 0', line 9 of the tree: the vector loop runs as a serial one: a guard depends on it
