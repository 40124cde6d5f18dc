# Statements that run step by step, from TC to program text and back, to loops, and on every back-end.
--- two.tc
def two(int(T,N) X, int(N,N) W) -> (int(T,N) H, S) {
    H(0,i) = X(0,i)
    S = 0
    for t in 1:T {
        G(t,i) +=! H(t-1,k) * W(k,i)
        H(t,i) = max(G(t,i), X(t,i))
        S += H(t,i)
    }
}
--- table.tc
def table(int(M) A, int(N) B) -> (L) {
    L(i,0) = 0 where i in 0:M+1
    L(0,j) = 0 where j in 1:N+1
    for i in 0:M, j in 0:N {
        L(i+1,j+1) = A(i) == B(j) ? L(i,j) + 1 : max(L(i,j+1), L(i+1,j))
    }
}
--- inside.tc
def doubled(float(N) A) -> (B) { B(t) = A(t) + A(t) }
def twice(float(N) A, int T) -> (O) {
    O(i) = A(i)
    for t in 0:T {
        P = doubled(O)
        O(i) = P(i) - float(t)
    }
}
--- order.lws
H.1: i t
--- at.lws
U.1:
    at i
$ loopwright show two.tc --stage program > two.lwp; cat two.lwp
program two(T, N) {
    input X: i32[T, N]
    input W: i32[N, N]
    output H: i32[T, N]
    output S: i32[]
    temp G: i32[T - 1, N] from [1, 0]
    require T - 1 >= 0 "the range 1:T of 't' is not negative"

    H: for i in 0:N
        H[0, i] = X[0, i]

    S:
        S[] = 0

    for t in 1:T {
        G: for i in 0:N, k in 0:N
            G[t, i] +=! H[t - 1, k]*W[k, i]

        H.1: for i in 0:N
            H[t, i] = max(G[t, i], X[t, i])

        S.1: for i in 0:N
            S[] += H[t, i]
    }
}
$ loopwright show two.lwp --stage program | cmp - two.lwp
$ loopwright show two.tc --size T=5,N=8 --stage tree --schedule naive
for i in 8
  H[0, i] = X[0, i]
S[] = 0
for t in 4
  for i in 8
    G i32[1, 1] 4 B
    G[0, 0] = 0
    for k in 8
      G[0, 0] += H[t, k]*W[k, i]
    H[t + 1, i] = max(G[0, 0], X[t + 1, i])
    S[] += H[t + 1, i]
$ for b in interp tree c jit; do loopwright run two.tc --size T=5,N=8 --backend $b | grep out; done
  out      i32(5, 8) H: checksum 3128136f6b9ada27
  out      i32 S: checksum 948b676035409765
  out      i32(5, 8) H: checksum 3128136f6b9ada27
  out      i32 S: checksum 948b676035409765
  out      i32(5, 8) H: checksum 3128136f6b9ada27
  out      i32 S: checksum 948b676035409765
  out      i32(5, 8) H: checksum 3128136f6b9ada27
  out      i32 S: checksum 948b676035409765
$ for b in interp tree c jit; do loopwright run table.tc --size M=9,N=7 --backend $b | grep out; done
  out      i32(10, 8) L: checksum b150c2526ddd5997
  out      i32(10, 8) L: checksum b150c2526ddd5997
  out      i32(10, 8) L: checksum b150c2526ddd5997
  out      i32(10, 8) L: checksum b150c2526ddd5997
$ loopwright run inside.tc --def twice --size N=3,T=4 --backend interp | grep sizes
  sizes    T = 4, N = 3
$ loopwright show two.tc --size T=5,N=8 --stage tree --schedule order.lws
--- stderr
order.lws:1:6: error: the loop 'i' would run 'G' at t = 2, i = 0, k = 1 before 'H.1' at t = 1, i = 1: both access 'H'
  H.1: i t
       ^
--- exit 1
$ loopwright show @/examples/tc/heat1d.tc --size N=8,T=3 --stage tree --schedule at.lws
--- stderr
at.lws:2:8: error: 'U.1' cannot be computed at a loop of its readers: other steps read or define it, too
      at i
         ^
--- exit 1
$ loopwright space two.tc --size T=5,N=8 --device emulate | grep '^space'
space {{.*}}
$ loopwright tune two.tc --size T=5,N=8 --device emulate --trials 20 --db none | grep -c estimate
1
