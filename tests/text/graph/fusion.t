# A product that only a sum uses is computed inside it; exp(A) lacks N, so it is stored.
--- fold.lwg
graph fold
dim M
dim N
dim K
%a = read A f32 [M, K]
%b = read B f32 [K, N]
%e = exp %a
%p = mul %e %b
%c = add %p [M, N]
%out = write C %c [M, N]
$ loopwright show fold.lwg --stage program
program fold(M, N, K) {
    input A: f32[M, K]
    input B: f32[K, N]
    output C: f32[M, N]
    temp e: f32[M, K]

    e: for m in 0:M, k in 0:K
        e[m, k] = exp(A[m, k])

    C: for m in 0:M, n in 0:N, k in 0:K
        C[m, n] +=! e[m, k]*B[k, n]
}
