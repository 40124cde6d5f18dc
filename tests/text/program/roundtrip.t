# Program text prints as it is read, from a comprehension and from itself.
--- mv.tc
def mv(float(M,K) A, float(K) x) -> (C) {
    C(i) +=! A(i,k) * x(k)
}
--- pad.lwp
program pad(N, s: i32) { # free layout
  input A: f16[N]  output O: f32[N] from [1]
  for i in 1 : N+1, k in 0:3 if i + k >= 2, i + k - 2 < N
     O[1*i] max=! -1.0*f32(A[k + i - 2]) + f32(index((2*i)/2))
  for i in 1:N + 1 post O[i] = O[i]*sigmoid(O[i]) - -inf
}
$ loopwright show mv.tc --stage program
program mv(M, K) {
    input A: f32[M, K]
    input x: f32[K]
    output C: f32[M]

    C: for i in 0:M, k in 0:K
        C[i] +=! A[i, k]*x[k]
}
$ loopwright show pad.lwp --stage program
program pad(N, s: i32) {
    input A: f16[N]
    output O: f32[N] from [1]

    O: for i in 1:N + 1, k in 0:3 if i + k - 2 >= 0, N - i - k + 1 >= 0
        O[i] max=! -1.0*f32(A[i + k - 2]) + f32(index(i))

    O.1: for i in 1:N + 1 post
        O[i] = O[i]*sigmoid(O[i]) - -inf
}
$ loopwright show pad.lwp --stage program --size N=8,s=2 > bound.lwp && loopwright show bound.lwp --stage program
program pad {
    input A: f16[8]
    output O: f32[8] from [1]

    O: for i in 1:9, k in 0:3 if i + k - 2 >= 0, 9 - i - k >= 0
        O[i] max=! -1.0*f32(A[i + k - 2]) + f32(index(i))

    O.1: for i in 1:9 post
        O[i] = O[i]*sigmoid(O[i]) - -inf
}
$ loopwright show mv.tc --stage program > mv.lwp && loopwright show mv.lwp --stage program | diff - mv.lwp
