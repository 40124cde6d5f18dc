#include "support/shapes.h"

const Shape shapes[] = {
    {"program matmul(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
     "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n] }",
     3},
    {"program chain(M, N, K) { input A: f32[M, K] input B: f32[K, N] input b: f32[N] output O: "
     "f32[M, N]\n"
     "temp S: f32[M, K] temp C: f32[M, N]\n"
     "S: for i in 0:M, j in 0:K  S[i, j] = A[i, j] + 1.0\n"
     "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! S[m, k]*B[k, n]\n"
     "O: for x in 0:M, y in 0:N post  O[x, y] = relu(C[x, y] + b[y]) }",
     3},
    {"program conv(C, H, W) { input I: f32[C, H + 2, W + 2] input K: f32[3, C, 3, 3] output O: "
     "f32[3, H, W]\n"
     "O: for o in 0:3, h in 0:H, w in 0:W, c in 0:C, r in 0:3, s in 0:3\n"
     "  O[o, h, w] +=! I[c, h + r, w + s]*K[o, c, r, s] }",
     3},
    {"program pointwise(C, H, W) { input I: f32[C, H, W] input K: f32[3, C, 1, 1] output O: "
     "f32[3, H, W]\n"
     "O: for o in 0:3, h in 0:H, w in 0:W, c in 0:C, r in 0:1, s in 0:1\n"
     "  O[o, h, w] +=! I[c, h + r, w + s]*K[o, c, r, s] }",
     3},
    {"program flat(B, M, N) { input A: f32[B, M, 3] input W: f32[3, N] output O: f32[B, M, N]\n"
     "output S: f32[]\n"
     "temp T: f32[B, M, N]\n"
     "T: for b in 0:B, m in 0:M, n in 0:N, k in 0:3  T[b, m, n] +=! A[b, m, k]*W[k, n]\n"
     "O: for i in 0:B, j in 0:M, n in 0:N post  O[i, j, n] = relu(T[i, j, n])\n"
     "S: for i in 0:B, j in 0:M, n in 0:N  S[] +=! T[i, j, n] }",
     3},
    {"program grouped(W, G, C) { input I: f32[W, G, C] input K: f32[3, C, G, C] output O: f32[W, "
     "G, C]\n"
     "temp P: f32[W + 2, G, C]\n"
     "P: for x in 0:W + 2, g in 0:G, c in 0:C  P[x, g, c] = 0.0\n"
     "P.1: for x in 0:W, g in 0:G, c in 0:C  P[x + 1, g, c] = I[x, g, c]\n"
     "O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C\n"
     "  O[w, g, f] +=! P[w + s, g, c]*K[s, c, g, f] }",
     3},
    {"program bordered(W, G, C) { input I: f32[W, G, C] input K: f32[3, C, G, C]\n"
     "output O: f32[W, G, C]\n"
     "O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C if w + s - 1 >= 0, W - w - s >= 0\n"
     "  O[w, g, f] +=! I[w + s - 1, g, c]*K[s, c, g, f] }",
     3},
    {"program columns(M, N) { input A: f32[M, N] output O: f32[N]\n"
     "O: for n in 0:N, m in 0:M  O[n] +=! A[m, n] % 7.0 }",
     2},
    {"program columns(M, N) { input A: f64[M, N] output O: f64[N]\n"
     "O: for n in 0:N, m in 0:M  O[n] max=! A[m, n] % f64(7.0) }",
     2},
    {"program slide(K, J, E) { input A: f32[5, K] input B: f32[K + E, J] output O: f32[J, E]\n"
     "O: for j in 0:J, i in 0:E, n in 0:5, k in 0:K  O[j, i] +=! A[n, k]*B[k + i, j] }",
     3},
    {"program blur(H, W) { input A: f32[H + 2, W + 2] output O: f32[H, W]\n"
     "temp X: f32[H + 2, W] temp Y: f32[H, W]\n"
     "X: for y in 0:H + 2, x in 0:W  X[y, x] = A[y, x] + A[y, x + 1] + A[y, x + 2]\n"
     "Y: for y in 0:H, x in 0:W  Y[y, x] = X[y, x] + X[y + 1, x] + X[y + 2, x]\n"
     "O: for y in 0:H, x in 0:W  O[y, x] = Y[y, x]*0.5 }",
     2},
    {"program twice(N, M) { input A: f32[N, M] output S: f32[N] output O: f32[N, M]\n"
     "temp X: f32[N]\n"
     "X: for i in 0:N, j in 0:M  X[i] max=! A[i, j]\n"
     "S: for i in 0:N, j in 0:M  S[i] +=! A[i, j] - X[i]\n"
     "O: for i in 0:N, j in 0:M  O[i, j] = A[i, j]*S[i] - X[i] }",
     2},
    {"program shifted(N) { input A: f32[N + 4] inout B: f32[N + 4] temp T: f32[N] from [2]\n"
     "T: for i in 2:N + 2  T[i] = A[i] - A[i + 1]\n"
     "B: for i in 2:N + 2  B[i] += T[i]*3.0\n"
     "B.1: for i in 2:N + 2  B[i] = B[i] + A[i - 2] }",
     1},
    {"program gather(N, M) { input I: i32[N] input T: f32[5, M] output O: f32[N, M] output H: "
     "f32[5]\n"
     "O: for i in 0:N, j in 0:M  O[i, j] = T[I[i], j]\n"
     "H: for i in 0:N  H[I[i]] +=! 1.0 }",
     2},
    {"program triangle(N) { input L: f32[N, N] input x: f32[N] output y: f32[N] output z: f32[N]\n"
     "y: for i in 0:N, j in 0:N if i - j >= 0  y[i] +=! L[i, j]*x[j]\n"
     "z: for i in 0:N if i - 1 >= 0  z[i] = y[i] + y[i - 1]\n"
     "z.1: for i in 0:min(N, 1)  z[i] = 0.0 }",
     1},
    {"program anti(N, M) { input A: f32[N, M] output D: f32[N + M] output F: f32[M, N]\n"
     "D: for i in 0:N, j in 0:M  D[i + j] +=! A[i, j]\n"
     "F: for i in 0:M, j in 0:N  F[i, j] = A[N - 1 - j, i] + D[i + j] }",
     2},
    {"program pooled(N) { input A: i32[2*N] inout B: i32[N] temp T: i32[N, 2]\n"
     "T: for i in 0:N, j in 0:2  T[i, j] = A[2*i + j]\n"
     "B: for i in 0:N, j in 0:2  B[i] min= T[i, j]\n"
     "T.1: for i in 0:N, j in 0:2  T[i, j] = T[i, j] + B[i]\n"
     "B.1: for i in 0:N, j in 0:2  B[i] *= T[i, j] }",
     1},
    {"program square(N, K) { input A: f32[N, K] inout O: f32[N]\n"
     "O: for i in 0:N, k in 0:K  O[i] += O[i]*A[i, k] }",
     2},
    {"program concat(N, M) { input A: f32[N] input B: f32[M] output O: f32[N + M] temp T: f32[N + "
     "M]\n"
     "T: for i in 0:N  T[i] = A[i]\n"
     "T.1: for i in 0:M  T[i + N] = B[i]\n"
     "O: for i in 0:N + M  O[i] = T[N + M - 1 - i] }",
     2},
    // Temporaries that a product reads transposed and may pack: sums, post-operations, and a batch.
    {"program keys(M, N, K) {\n input X: f32[M, K]\n input W: f32[K, N]\n input Q: f32[M, N]\n "
     "temp T: f32[M, N]\n"
     " output C: f32[M, M]\n T: for m in 0:M, n in 0:N, k in 0:K\n  T[m, n] +=! X[m, k]*W[k, n]\n"
     " T.1: for m in 0:M, n in 0:N\n  T[m, n] = max(T[m, n], 0.0)\n"
     " C: for i in 0:M, j in 0:M, n in 0:N\n  C[i, j] +=! Q[i, n]*T[j, n]\n}\n",
     3},
    {"program heads(B, N, D) {\n input Q: f32[B, N, D]\n input X: f32[B, N, D]\n"
     " temp K: f32[B, N, D]\n output S: f32[B, N, N]\n"
     " K: for b in 0:B, n in 0:N, d in 0:D\n  K[b, n, d] = X[b, n, d]*2.0\n"
     " S: for b in 0:B, n in 0:N, m in 0:N, d in 0:D\n  S[b, n, m] +=! Q[b, n, d]*K[b, m, d]\n}\n",
     3},
    // Subscripts that divide an iterator of the result, or a reduction
    {"program shared(G, M, D) { input Q: f32[4*G, M, D] input K: f32[G, M, D] input V: f32[G, M, "
     "D]\n"
     "output O: f32[4*G, M, D] temp s: f32[4*G, M, M] temp t: f32[4*G, M, M]\n"
     "s: for h in 0:4*G, q in 0:M, k in 0:M, d in 0:D  s[h, q, k] +=! Q[h, q, d]*K[h/4, k, d]\n"
     "t: for h in 0:4*G, q in 0:M, k in 0:M  t[h, q, k] = relu(s[h, q, k] - 1.0)\n"
     "O: for h in 0:4*G, q in 0:M, k in 0:M, e in 0:D  O[h, q, e] +=! t[h, q, k]*V[h/4, k, e] }",
     3},
    {"program between(G, M, D) { input Q: f32[M, 6*G, D] input K: f32[M, G, D] output S: f32[6*G, "
     "M, M]\n"
     "S: for h in 0:6*G, q in 0:M, k in 0:M, d in 0:D\n"
     "  S[h, q, k] +=! Q[q, h, d]*K[k, h/6, d] }",
     3},
    {"program nested(B, M, K) { input A: f32[B, M, 2*K] input W: f32[B, 3, 2*K, M]\n"
     "input X: f32[2, K, M] output O: f32[M, 6*B, M]\n"
     "O: for m in 0:M, h in 0:6*B, n in 0:M, k in 0:2*K\n"
     "  O[m, h, n] +=! A[h/6, m, k]*W[h/6, (h/2)%3, k, n]*X[h%2, k/2, n] }",
     3},
    {"program enlarged(C, H, W) { input I: f32[C, H, W] input F: f32[5, C] output O: f32[5, 2*H, "
     "2*W]\n"
     "O: for k in 0:5, y in 0:2*H, x in 0:2*W, c in 0:C  O[k, y, x] +=! I[c, y/2, x/2]*F[k, c] }",
     3},
    {"program paired(M, N, K) { input A: f32[M, 2*K] input B: f32[K, N] input s: f32[N, K]\n"
     "output C: f32[M, N] output D: f32[M, N]\n"
     "C: for m in 0:M, n in 0:N, k in 0:2*K  C[m, n] +=! A[m, k]*B[k/2, n]\n"
     "D: for m in 0:M, n in 0:N, k in 0:2*K  D[m, n] +=! A[m, k]*s[n, k/2] }",
     3},
    // Weights of 4 bits, two in a byte
    {"program nibbles(M, N, K) { input X: f32[M, 2*K] input W: u8[N, K] output O: f32[M, N]\n"
     "O: for m in 0:M, n in 0:N, k in 0:2*K\n"
     "  O[m, n] +=! X[m, k]*f32((W[n, k/2] >> u8(i64(4)*(index(k)%i64(2)))) & u8(15)) }",
     3},
    {"program sides(M, N, K) { input X: f32[M, 2*K] input W: i8[K, N] input s: f32[N] output O: "
     "f32[M, N]\n"
     "O: for m in 0:M, n in 0:N, k in 0:2*K\n"
     "  O[m, n] +=! X[m, k]*(f32(W[k/2, n]/(i8(1) + i8(3)*i8(index(k) & i64(1)))%i8(4)) - s[n]) }",
     3},
};
const int nshapes = sizeof shapes / sizeof *shapes;
