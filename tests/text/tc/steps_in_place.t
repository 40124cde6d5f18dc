# A statement that adds to an element initialises it first: it must not do so in the place of the element that it then reads. So U keeps all of its
# steps, whereas V, whose elements are assigned once, needs memory for one.
--- grow.tc
def grow(int(N) A, int T) -> (O, P) {
    U(0,i) = A(i)
    V(0,i) = A(i)
    for t in 0:T {
        U(t+1,i) +=! U(t,i) * A(i)
        V(t+1,i) = V(t,i) * A(i)
    }
    O(i) = U(T,i)
    P(i) = V(T,i)
}
$ loopwright show grow.tc --size T=3,N=4 --schedule naive --stage tree
U i32[4, 4] 64 B
V i32[1, 4] 16 B
for i in 4
  U[0, i] = A[i]
  V[0, i] = A[i]
for t in 3
  for i in 4
    U[t + 1, i] = 0
    U[t + 1, i] += U[t, i]*A[i]
    V[0, i] = V[0, i]*A[i]
for i in 4
  O[i] = U[3, i]
  P[i] = V[0, i]
$ loopwright run grow.tc --size T=3,N=4 --schedule naive --check | grep check
  check    right: bit for bit, against the interpreter
$ loopwright run grow.tc --size T=3,N=4 --check | grep check
  check    right: bit for bit, against the interpreter
