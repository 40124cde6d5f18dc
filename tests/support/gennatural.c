// In a shape's text
//
//     $T $U    an element type of the shape's class, and another one
//     $R       a reduction that starts from its identity
//     $f{x}    a function of x: of floats or of integers, as $T is
//
// Classes: f floats, i integers, a either, p either with indices that may be -1, h floats of 32 and
// 64 bits. Sizes: named ones are in a range, "K:1-5"; the others are around the edges of tiles,
// including 0 and 1.
#include "support/gennatural.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_bits(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

typedef struct Shape {
    const char *name;
    char class;
    const char *text, *sizes;
} Shape;

#define DEF1 "def k($T(M,N) A) -> (O) { "
#define DEF2 "def k($T(M,N) A, $T(M,N) B) -> (O) { "

static const Shape shapes[] = {
    // Reductions and maps.
    {"row reduction", 'a', DEF1 "O(i) $R $f{A(i,j)} }", ""},
    {"column reduction", 'a', DEF1 "O(j) $R $f{A(i,j)} }", ""},
    {"row reduction of two", 'a', DEF2 "O(i) $R $f{A(i,j)} * B(i,j) }", ""},
    {"column reduction of two", 'a', DEF2 "O(j) $R $f{A(i,j)} + $f{B(i,j)} }", ""},
    {"column products", 'a', DEF2 "O(j) +=! $f{A(i,j)} * $f{B(i,j)} }", ""},
    {"reduction to one", 'a', DEF2 "O $R $f{A(i,j)} * $f{B(i,j)} }", ""},
    {"two reductions", 'a', DEF1 "O(i) $R $f{A(i,j)}\n P(j) $R $f{A(i,j)} }", ""},
    {"map", 'a', "def k($T(M,N) A, $T(M) s, $T(N) t) -> (O) { O(i,j) = $f{A(i,j)} * s(i) + t(j) }",
     ""},
    {"turned map", 'a', DEF1 "O(j,i) = $f{A(i,j)} }", ""},
    {"casts", 'a', "def k($T(M,N) A) -> (O) { O(i,j) = $U(A(i,j)) }", ""},
    {"column of casts", 'a', "def k($T(M,N) A) -> (O) { O(j) $R $U($f{A(i,j)}) }", ""},
    {"reduction of a difference", 'a', DEF1 "t(i) $R A(i,j)\n O(i,j) = $f{A(i,j) - t(i)} }", ""},
    {"three dimensions", 'a', "def k($T(M,N,K) A) -> (O) { O(i,k) $R $f{A(i,j,k)} }", "K:0-17"},
    {"middle and last", 'a', "def k($T(M,N,K) A) -> (O) { O(i) $R $f{A(i,j,k)} }", "K:1-9"},
    {"turned in three", 'a', "def k($T(M,N,K) A) -> (O) { O(k,i,j) = A(i,j,k) }", "K:0-19"},
    {"polynomial", 'h',
     "def k($T(N) x, $T(5) c) -> (O) {\n"
     " O(i) = (((c(4) * x(i) + c(3)) * x(i) + c(2)) * x(i) + c(1)) * x(i) + c(0) }",
     ""},
    // Normalisations.
    {"softmax", 'f',
     DEF1 "m(i) max=! A(i,j)\n e(i,j) = exp(A(i,j) - m(i))\n z(i) +=! e(i,j)\n"
          " O(i,j) = e(i,j) / z(i) }",
     "N:1-130"},
    {"softmax of columns", 'f',
     DEF1 "m(j) max=! A(i,j)\n z(j) +=! exp(A(i,j) - m(j))\n O(i,j) = exp(A(i,j) - m(j)) / z(j) }",
     "M:1-130"},
    {"logsumexp of columns", 'f',
     DEF1 "m(j) max=! A(i,j)\n z(j) +=! exp(A(i,j) - m(j))\n O(j) = log(z(j)) + m(j) }", "M:1-130"},
    {"layer norm", 'h',
     "def k($T(M,N) A, $T(N) g, $T(N) b) -> (O) {\n s(i) +=! A(i,j)\n m(i) = s(i) / $T(N)\n"
     " v(i) +=! (A(i,j) - m(i)) * (A(i,j) - m(i))\n"
     " O(i,j) = (A(i,j) - m(i)) / sqrt(v(i) / $T(N) + 0.5) * g(j) + b(j) }",
     "N:1-130"},
    {"rms norm", 'f',
     "def k($T(M,N) A, $T(N) g) -> (O) {\n s(i) +=! A(i,j) * A(i,j)\n"
     " O(i,j) = A(i,j) * rsqrt(s(i) / $T(N) + 0.25) * g(j) }",
     "N:1-130"},
    {"column variance", 'h',
     DEF1 "m(j) +=! A(i,j)\n v(j) +=! (A(i,j) - m(j) / $T(M)) * (A(i,j) - m(j) / $T(M))\n"
          " O(j) = sqrt(v(j) + 1.0) }",
     "M:1-130"},
    {"group norm", 'h',
     "def k($T(M,G,D) A) -> (O) {\n s(m,g) +=! A(m,g,d)\n q(m,g) +=! A(m,g,d) * A(m,g,d)\n"
     " O(m,g,d) = (A(m,g,d) - s(m,g) / $T(D)) / sqrt(q(m,g) / $T(D) + 8.0) }",
     "M:1-5,G:1-9,D:1-70"},
    {"cosine", 'h',
     DEF2 "d(i) +=! A(i,j) * B(i,j)\n a(i) +=! A(i,j) * A(i,j)\n b(i) +=! B(i,j) * B(i,j)\n"
          " O(i) = d(i) / sqrt(a(i) * b(i) + 1.0) }",
     ""},
    {"cross entropy", 'h',
     "def k($T(M,N) A, int(M) Y) -> (O) {\n m(i) max=! A(i,j)\n z(i) +=! exp(A(i,j) - m(i))\n"
     " O(i) = log(z(i)) + m(i) - A(i,Y(i)) }",
     "N:1-130"},
    // Attention.
    {"attention", 'h',
     "def k($T(M,D) Q, $T(N,D) K, $T(N,E) V) -> (O) {\n s(i,j) +=! Q(i,d) * K(j,d)\n"
     " m(i) max=! s(i,j)\n p(i,j) = exp(s(i,j) * 0.125 - m(i) * 0.125)\n z(i) +=! p(i,j)\n"
     " a(i,e) +=! p(i,j) * V(j,e)\n O(i,e) = a(i,e) / z(i) }",
     "M:1-20,N:1-40,D:1-17,E:1-20"},
    {"causal attention", 'h',
     "def k($T(M,D) Q, $T(M,D) K, $T(M,E) V) -> (O) {\n s(i,j) +=! Q(i,d) * K(j,d)\n"
     " t(i,j) = j <= i ? s(i,j) : -10000.0\n m(i) max=! t(i,j)\n"
     " p(i,j) = exp(t(i,j) * 0.125 - m(i) * 0.125)\n z(i) +=! p(i,j)\n"
     " O(i,e) +=! p(i,j) / z(i) * V(j,e) }",
     "M:1-36,D:1-17,E:1-20"},
    {"rope interleaved", 'h',
     "def k($T(M,2*D) X, $T(M,D) c, $T(M,D) s) -> (O) {\n"
     " O(t,2*d) = X(t,2*d) * c(t,d) - X(t,2*d+1) * s(t,d)\n"
     " O(t,2*d+1) = X(t,2*d) * s(t,d) + X(t,2*d+1) * c(t,d) }",
     "M:1-50,D:1-66"},
    {"rope of halves", 'f',
     "def k($T(M,2*D) X, $T(M,D) c, $T(M,D) s) -> (O) {\n"
     " O(t,d) = X(t,d) * c(t,d) - X(t,d+D) * s(t,d) where d in 0:D\n"
     " O(t,d+D) = X(t,d) * s(t,d) + X(t,d+D) * c(t,d) where d in 0:D }",
     "M:1-50,D:1-66"},
    {"rope by a guard", 'f',
     "def k($T(M,2*D) X, $T(M,D) c, $T(M,D) s) -> (O) {\n"
     " O(t,d) = d < D ? X(t,d)*c(t,d) - X(t,d+D)*s(t,d)"
     " : X(t,d)*c(t,d-D) + X(t,d-D)*s(t,d-D) }",
     "M:1-50,D:1-66"},
    {"joined at a size", 'a',
     "def k($T(M,N) A, $T(M,D) B) -> (O) {\n O(i,j) = j < N ? A(i,j) : B(i,j - N) }",
     "M:1-30,D:1-66"},
    // Recurrences.
    {"running sum", 'a',
     "def k($T(M,N) A) -> ($T(M,N) O) {\n O(0,i) = A(0,i)\n"
     " for t in 1:M { O(t,i) = max(O(t-1,i) - A(t,i), A(t,i)) } }",
     "M:1-20"},
    {"running sum along rows", 'i',
     "def k($T(M,N) A) -> ($T(M,N) O) {\n O(i,0) = A(i,0)\n"
     " for t in 1:N { O(i,t) = O(i,t-1) + A(i,t) } }",
     "N:1-30"},
    {"gated recurrence", 'h',
     "def k($T(M,N) A, $T(M,N) X) -> (O) {\n H(0,i) = $T(0) where i in 0:N\n for t in 0:M {\n"
     "  H(t+1,i) = sigmoid(A(t,i)) * H(t,i) + X(t,i)\n  O(t) +=! H(t+1,i) * X(t,i) } }",
     "M:1-9"},
    {"recurrent layer", 'h',
     "def k($T(M,B,N) X, $T(N,N) W, $T(B,N) h) -> (H) {\n H(0,b,n) = h(b,n)\n for t in 0:M {\n"
     "  G(t,b,n) +=! H(t,b,j) * W(j,n)\n  H(t+1,b,n) = tanh(G(t,b,n) * 0.125 + X(t,b,n)) } }",
     "M:1-5,B:1-7,N:1-40"},
    {"steps in place", 'i',
     "def k($T(N) A, $T(M,N) X) -> (O, S) {\n O(i) = A(i)\n S = $T(0)\n for t in 0:M {\n"
     "  S max=! O(i)\n  O(i) = O(i) + S * X(t,i) } }",
     "M:1-9,N:1-70"},
    {"table of distances", 'i',
     "def k($T(M) A, $T(N) B) -> (O) {\n O(i,0) = $T(i) where i in 0:M+1\n"
     " O(0,j) = $T(j) where j in 1:N+1\n for i in 0:M, j in 0:N {\n"
     "  O(i+1,j+1) = min(min(O(i,j+1), O(i+1,j)) + 1, O(i,j) + (A(i) == B(j) ? 0 : 1)) } }",
     "M:1-20,N:1-20"},
    {"smoothing in time", 'h',
     "def k($T(N) A, int M) -> (O) {\n U(0,i) = A(i)\n for t in 0:M {\n"
     "  U(t+1,i) = i > 0 && i < N - 1 ? (U(t,i-1) + U(t,i+1)) * 0.5 : U(t,i) where i in 0:N }\n"
     " O(i) = U(M,i) }",
     "M:0-9"},
    // Products.
    {"gemm", 'a', "def k($T(M,K) A, $T(K,N) B) -> (O) { O(i,j) +=! A(i,k) * B(k,j) }", ""},
    {"gemm and bias", 'h',
     "def k($T(M,K) A, $T(K,N) B, $T(N) c) -> (O) {\n t(i,j) +=! A(i,k) * B(k,j)\n"
     " O(i,j) = $f{(t(i,j) + c(j))} }",
     ""},
    {"gemm of turned", 'a', "def k($T(K,M) A, $T(N,K) B) -> (O) { O(i,j) +=! A(k,i) * B(j,k) }",
     ""},
    {"reduction of pairs", 'a',
     "def k($T(M,K) A, $T(N,K) B) -> (O) { O(i,j) $R $f{(A(i,k) - B(j,k))} }", "K:0-20"},
    {"batched gemm", 'a',
     "def k($T(B,M,K) X, $T(B,K,N) Y) -> (O) { O(b,i,j) +=! X(b,i,k) * Y(b,k,j) }", "B:1-5"},
    {"gemv", 'a',
     "def k($T(M,K) A, $T(K) x, $T(M) y) -> (O) {\n t(i) +=! A(i,k) * x(k)\n"
     " O(i) = t(i) + y(i) }",
     ""},
    {"gemv turned", 'a', "def k($T(K,M) A, $T(K) x) -> (O) { O(i) +=! A(k,i) * x(k) }", ""},
    {"outer product", 'a', "def k($T(M) x, $T(N) y) -> (O) { O(i,j) = $f{x(i)} * y(j) }", ""},
    {"four indices", 'a',
     "def k($T(M,B,D) X, $T(B,N,D) Y) -> (O) { O(a,c) +=! X(a,b,d) * Y(b,c,d) }", "B:1-6,D:1-9"},
    {"chain of products", 'h',
     "def k($T(M,K) A, $T(K,L) B, $T(L,N) C) -> (O) {\n t(i,l) +=! A(i,k) * B(k,l)\n"
     " O(i,j) +=! t(i,l) * C(l,j) }",
     "K:1-20,L:1-20"},
    {"kronecker", 'a',
     "def k($T(M,N) A, $T(P,Q) B) -> (O) { O(P*i + p, Q*j + q) = A(i,j) * B(p,q) }",
     "M:1-20,N:1-20,P:1-5,Q:1-7"},
    {"trace and diagonal", 'a', "def k($T(N,N) A) -> (t, d) { t +=! A(i,i)\n d(i) = A(i,i) }", ""},
    {"gram", 'a', "def k($T(M,N) A) -> (O) { O(i,j) +=! A(k,i) * A(k,j) }", "N:1-40"},
    {"one tap of a window", 'a',
     "def k($T(M,K) A, $T(P,N) B) -> (O) { O(j,i) +=! A(n,k) * B(k + i,j) }", "M:1-9,K:1-9,P:9-12"},
    // Convolutions and stencils.
    {"conv1d", 'a', "def k($T(N) x, $T(K) w) -> (O) { O(i) +=! x(i + k) * w(k) }", "N:9-130,K:1-9"},
    {"conv2d padded", 'h',
     "def k($T(C,H,W) X, $T(F,C,3,3) V) -> (O) {\n"
     " O(f,h,w) +=! pad(X(c, h + p - 1, w + q - 1)) * V(f,c,p,q) where h in 0:H, w in 0:W\n"
     " O(f,h,w) = $f{O(f,h,w)} }",
     "C:1-4,F:1-5,H:1-17,W:1-40"},
    {"conv2d strided", 'a',
     "def k(int s, $T(C,H,W) X, $T(F,C,3,3) V) -> (O) {\n"
     " O(f,h,w) +=! X(c, s*h + p, s*w + q) * V(f,c,p,q) }",
     "s:1-3,C:1-3,F:1-5,H:3-20,W:3-40"},
    {"depthwise", 'h',
     "def k($T(C,H,W) X, $T(C,3,3) V) -> (O) { O(c,h,w) +=! X(c,h+p,w+q) * V(c,p,q) }",
     "C:1-5,H:3-20,W:3-66"},
    {"dilated", 'a', "def k($T(M,N) X, $T(M,3) V) -> (O) { O(i) +=! X(m,i + 2*q) * V(m,q) }",
     "M:1-20,N:5-130"},
    {"channels last", 'h',
     "def k($T(H,W,C) X, $T(3,3,C,F) V) -> (O) { O(h,w,f) +=! X(h+p,w+q,c) * V(p,q,c,f) }",
     "H:3-9,W:3-20,C:1-6,F:1-33"},
    {"pooling", 'a',
     "def k($T(C,H,W) X) -> (O) { O(c,h,w) $R X(c, 2*h + p, 2*w + q) where p in 0:2, q in 0:2 }",
     "C:1-6,H:2-40,W:2-66"},
    {"windows", 'a',
     "def k($T(C,H,W) X) -> (O) {\n O(c,h,w) $R $f{X(c, h + p, w + q)}"
     " where p in 0:3, q in 0:3, h in 0:H - 2, w in 0:W - 2 }",
     "C:1-4,H:3-20,W:3-40"},
    {"padded pooling", 'a',
     "def k($T(C,H,W) X) -> (O) {\n O(c,h,w) $R pad(X(c, 2*h + p - 1, 2*w + q - 1))"
     " where p in 0:3, q in 0:3, h in 0:H/2, w in 0:W/2 }",
     "C:1-4,H:2-20,W:2-66"},
    {"five points", 'h',
     "def k($T(M,N) A) -> (O) {\n O(i,j) = A(i,j) * 0.5 + (clamp(A(i-1,j)) + clamp(A(i+1,j)) +"
     " clamp(A(i,j-1)) + clamp(A(i,j+1))) * 0.125 where i in 0:M, j in 0:N }",
     ""},
    {"inner stencil", 'a',
     "def k($T(M,N) A) -> (O) { O(i,j) = A(i,j) + A(i+2,j+1) - $f{A(i+1,j)} * A(i+1,j+2) }",
     "M:3-130,N:3-130"},
    {"heat", 'h',
     "def k($T(M,N,K) A) -> (O) { O(i,j,k) = A(i+1,j+1,k+1) * 0.5 + (A(i,j+1,k+1) +"
     " A(i+2,j+1,k+1) + A(i+1,j,k+1) + A(i+1,j+2,k+1) + A(i+1,j+1,k) + A(i+1,j+1,k+2)) * 0.0625 }",
     "M:3-12,N:3-20,K:3-40"},
    {"mirrored", 'a',
     "def k($T(N) x, $T(5) w) -> (O) { O(i) +=! mirror(x(i + k - 2)) * w(k) where i in 0:N }",
     "N:3-130"},
    {"separable blur", 'h',
     "def k($T(M,N) A) -> (O) {\n t(i,j) = A(i,j) + A(i,j+1) + A(i,j+2)\n"
     " O(i,j) = t(i,j) + t(i+1,j) + t(i+2,j) }",
     "M:3-100,N:3-130"},
    // Scans, guards, positions.
    {"running sum", 'a', "def k($T(N) x) -> (Y) { Y(t) +=! s <= t ? x(s) : 0 where t in 0:N }", ""},
    {"running extreme", 'a',
     "def k($T(M,N) A) -> (Y) { Y(i,t) max=! s <= t ? A(i,s) : A(i,0) where t in 0:N }",
     "M:1-9,N:1-60"},
    {"triangle", 'a', DEF1 "O(i) +=! j <= i ? $f{A(i,j)} : 0 where i in 0:M, j in 0:N }", ""},
    {"difference with an edge", 'a',
     "def k($T(N) x) -> (O) { O(i) = i > 0 ? x(i) - x(i - 1) : x(i) where i in 0:N }", "N:1-130"},
    {"argmax", 'a', DEF1 "t(i) max=! A(i,j)\n O(i) max=! A(i,j) == t(i) ? j : -1 }", ""},
    {"argmin of columns", 'a', DEF1 "t(j) min=! A(i,j)\n O(j) min=! A(i,j) == t(j) ? i : 1000 }",
     ""},
    {"counts", 'a', DEF1 "O(j) +=! A(i,j) > 1 ? 1 : 0 }", ""},
    {"one hot", 'i',
     "def k(int(M) I, $T(M) x) -> (O) { O(j) +=! I(i) == j ? x(i) : 0 where j in 0:7 }", ""},
    {"any", 'a', DEF1 "O(i) max=! A(i,j) > 1 }", ""},
    {"positions as values", 'a', DEF1 "O(i,j) = A(i,j) * $T(i + 2*j) }", ""},
    {"select by mask", 'a',
     "def k($T(M,N) A, bool(M,N) m) -> (O) { O(j) $R m(i,j) ? A(i,j) : $T(1) }", ""},
    // Gathers and scatters.
    {"embedding", 'a', "def k(int(M) I, $T(V,D) E) -> (O) { O(m,d) = E(I(m),d) }", "V:1-40,D:0-70"},
    {"padded embedding", 'p',
     "def k(int(M) I, $T(V,D) E) -> (O) { O(m,d) = I(m) >= 0 ? E(I(m),d) : 0 }", "V:1-40,D:0-70"},
    {"padded bag", 'p',
     "def k(int(M,L) I, $T(V,D) E) -> (O) { O(m,d) +=! I(m,l) >= 0 ? E(I(m,l),d) : 0 }",
     "V:1-40,D:0-70"},
    {"padded lookup", 'p',
     "def k(int(M,L) I, $T(V) E) -> (O) { O(m,l) = I(m,l) < 0 ? 1 : E(I(m,l)) }", "V:1-40"},
    {"embedding bag", 'a', "def k(int(M,L) I, $T(V,D) E) -> (O) { O(m,d) +=! E(I(m,l),d) }",
     "M:1-20,L:0-9,V:1-40,D:0-70"},
    {"gather of lanes", 'a', "def k(int(M,N) I, $T(V) x) -> (O) { O(i,j) = x(I(i,j)) }", "V:1-40"},
    {"clamped lookup", 'a',
     "def k(int(M,N) I, $T(V) x) -> (O) { O(i,j) = x(max(0, min(I(i,j) + 1, V - 1))) }", "V:1-40"},
    {"wrapped lookup", 'a',
     "def k(int(M,N) I, $T(V) x) -> (O) { O(i,j) = x((I(i,j) + j) % V) + x(I(i,j) % V) }",
     "V:1-40"},
    {"bilinear lookup", 'h',
     "def k(int(M) Y, int(N) X, $T(V,W) A, $T(N) f) -> (O) {\n"
     " O(i,j) = A(min(Y(i), V - 1), min(X(j), W - 1)) * f(j) +\n"
     "  A(min(Y(i) + 1, V - 1), min(X(j) + 1, W - 1)) * ($T(1) - f(j)) }",
     "V:1-40,W:1-40"},
    {"sum of clamped lookups", 'h',
     "def k(int(M,N) I, $T(V) x) -> (O) { O(i) +=! x(min(I(i,j)/2 + 1, V - 1)) }", "V:1-40"},
    {"gathered product", 'h',
     "def k(int(M,N) I, $T(M,N) A, $T(V) x) -> (O) { O(i) +=! A(i,j) * x(I(i,j)) }", "V:1-40"},
    {"histogram", 'i', "def k(int(N) I, int K) -> (int(K) H) { H(I(i)) +=! 1 }", "K:1-20"},
    {"scatter of rows", 'a',
     "def k(int(M) I, $T(M,D) X, int K) -> ($T(K,D) O) { O(I(i),d) max=! X(i,d) }",
     "K:1-20,D:0-40"},
    {"sum of buckets", 'i',
     "def k(int(M) I, $T(M,N) X, int K) -> (O) { O(kk,j) +=! I(i) == kk ? X(i,j) : 0"
     " where kk in 0:K }",
     "K:1-5,M:0-40"},
    // Quantised.
    {"int8 gemm", 'i',
     "def k(int8(M,K) A, int8(K,N) B, float(N) s) -> (O) {\n"
     " t(i,j) +=! int(A(i,k)) * int(B(k,j))\n O(i,j) = float(t(i,j)) * s(j) }",
     ""},
    {"u8 by i8", 'i',
     "def k(uint8(M,K) A, int8(N,K) B) -> (O) { O(i,j) +=! int(A(i,k)) * int(B(j,k)) }", ""},
    {"scales of blocks", 'i',
     "def k(int8(M,K) W, float(M,K/8+1) S, float(K) x) -> (O) {\n"
     " O(m) +=! float(W(m,k)) * S(m,k/8) * x(k) }",
     ""},
    {"requantise", 'i',
     "def k(int(M,N) A, float(N) s) -> (O) {\n"
     " O(i,j) = int8(max(min(round(float(A(i,j)) * s(j)), 127.0), -128.0)) }",
     ""},
    {"bits", 'i', DEF1 "O(j) $R ((A(i,j) & 51) ^ (A(i,j) >> 2)) | (A(i,j) << 1) }", ""},
    {"nibbles", 'i',
     "def k(uint8(M,K) W, float(2*K) x) -> (O) {\n"
     " O(m) +=! float((W(m,k) >> (4 * uint8(b))) & 15) * x(2*k + b) where b in 0:2 }",
     ""},
    // Updates, parts, calls.
    {"in place", 'a', DEF1 "O(i,j) = $f{A(i,j)}\n O(i,j) = max(O(i,j), 1) }", ""},
    {"accumulate", 'a', "def k($T(M,N) A) -> ($T(N) O) { O(j) += A(i,j)\n O(j) = O(j) + O(j) }",
     ""},
    {"accumulate products", 'h',
     "def k($T(M,K) A, $T(K,N) B) -> ($T(M,N) O) { O(i,j) += A(i,k) * B(k,j) }", ""},
    {"two parts", 'a',
     "def k($T(N) x, $T(N) y) -> (O) {\n O(i) = $f{x(i)} where i in 0:N/2\n"
     " O(i) = y(i) + 1 where i in N/2:N }",
     "N:2-130"},
    {"parts of a row", 'a',
     "def k($T(M,N) A, $T(M,N) B) -> (O) {\n O(i,j) = A(i,j) where i in 0:M, j in 0:N\n"
     " O(i,j + N) = $f{B(i,j)} where i in 0:M, j in 0:N }",
     "M:1-130,N:1-66"},
    {"join", 'a', "def k($T(M,N) A, $T(M,P) B) -> (O) { O = concat(A, B) }", "P:1-40"},
    {"even and odd", 'a',
     "def k($T(2*N) x) -> (O) {\n O(2*i) = x(2*i) + x(2*i+1)\n O(2*i+1) = x(2*i) - x(2*i+1) }",
     "N:1-80"},
    {"butterfly", 'h',
     "def k($T(2*N) a, $T(2*N) b, $T(N) c, $T(N) s) -> (p, q) {\n"
     " p(i) = a(i) + (a(i+N) * c(i) - b(i+N) * s(i)) where i in 0:N\n"
     " p(i+N) = a(i) - (a(i+N) * c(i) - b(i+N) * s(i)) where i in 0:N\n"
     " q(i) = b(i) + (a(i+N) * s(i) + b(i+N) * c(i)) where i in 0:N\n"
     " q(i+N) = b(i) - (a(i+N) * s(i) + b(i+N) * c(i)) where i in 0:N }",
     "N:1-80"},
    {"fourier", 'h',
     "def k($T(N) x) -> (r) { r(f) +=! x(n) * cos(6.25 * $T(f * n % N) / $T(N)) where f in 0:N }",
     "N:1-40"},
    {"backwards", 'a', "def k($T(M,N) A) -> (O) { O(i,j) = A(i, N - 1 - j) }", "N:1-130"},
    {"toeplitz", 'a',
     "def k($T(2*N) c, $T(N) x) -> (O) { O(i) +=! c(i - j + N) * x(j) where i in 0:N }", "N:1-90"},
    {"upsample", 'a',
     "def k($T(M,N) A) -> (O) { O(i,j) = A(i/2, j/2) where i in 0:2*M, j in 0:2*N }",
     "M:1-40,N:1-40"},
    {"pixel shuffle", 'a',
     "def k($T(C,H,W) A) -> (O) {\n"
     " O(h,w) = A(2*(h % 2) + w % 2, h/2, w/2) where h in 0:2*H, w in 0:2*W }",
     "C:4-4,H:1-20,W:1-40"},
    {"transposed convolution", 'a',
     "def k($T(C,H,W) I, $T(C,F,K,3) K) -> (O) {\n"
     " O(f,y,x) +=! (y - i) % 3 == 0 && (x - j) % 2 == 0 && y >= i && x >= j && y - i < 3*H &&\n"
     "   x - j < 2*W ? I(c, (y - i)/3, (x - j)/2) * K(c,f,i,j) : $T(0)\n"
     "   where y in 0:3*H, x in 0:2*W }",
     "C:1-5,F:1-9,H:1-6,W:1-20,K:1-4"},
    {"calls", 'h',
     "def act($T(M,N) A) -> (B) { B(i,j) = $f{A(i,j)} }\n"
     "def sum($T(M,N) A) -> (s) { s(j) +=! A(i,j) }\n"
     "def k($T(M,N) A) -> (O) { T = act(A)\n O = sum(T) }",
     ""},
    {"calls with origins", 'h',
     "def blur($T(N) x) -> (y) { y(i) = x(i-1) + x(i) + x(i+1) }\n"
     "def twice($T(N) x) -> (y) { y(i) = $f{x(i)} * 2.0 }\n"
     "def k($T(N) x) -> (O) { t = blur(x)\n O = twice(t) }",
     "N:3-130"},
};

const int natural_shapes = sizeof shapes / sizeof *shapes;
const char *natural_name(int shape) { return shapes[shape].name; }

#define DRAW(LIST, STATE) (LIST)[random_bits(STATE) % (sizeof(LIST) / sizeof *(LIST))]

static const char *const floats[] = {"float", "float", "double", "half", "bfloat16"};
static const char *const wide[] = {"float", "float", "double"};
static const char *const integers[] = {"int",    "int64", "int16",  "int8",
                                       "uint32", "uint8", "uint16", "uint64"};
static const char *const reductions[] = {"+=!", "+=!", "max=!", "min=!"};

static const char *const float_functions[] = {
    "$",
    "exp($)",
    "tanh($)",
    "sin($)",
    "cos($)",
    "log(abs($) + 1.0)",
    "sqrt(abs($))",
    "erf($)",
    "sigmoid($)",
    "floor($)",
    "$ % 3.0",
    "abs($)",
    "max($, 0.0)",
    "$ * $",
    "1.0 / (1.0 + exp(0.0 - $))",
    "($ > 0.5 ? $ : 0.0 - $)",
    "@(int($ * 4.0))",
    "@(int64($ * 4.0))",
    "@(uint8($))",
    "rsqrt(abs($) + 1.0)",
    "pow(abs($) + 0.5, 1.5)",
    "exp2($)",
    "atan($)",
    "trunc($)",
    "cbrt($)",
    "log1p(abs($))",
    "expm1($)",
    "0.5 * $ * (1.0 + erf($ * 0.75))",
    "hypot($, 1.0)",
    "round($ * 2.0)",
    "log2(abs($) + 0.25)",
    "sinh($)",
    "($ * 0.25 - 1.5) / (abs($) + 1.0)",
};
static const char *const integer_functions[] = {
    "$",
    "$ / 3",
    "$ % 7",
    "abs($)",
    "($ & 15)",
    "($ << 2)",
    "($ >> 1)",
    "$ * $",
    "max($, 2)",
    "$ * 3",
    "($ > 1 ? $ : $ / 2)",
    "int($) * 5",
    "int64($) * 3",
    "$ / (abs($) + 1)",
    "$ % (($ & 7) + 1)",
    "int(float($) * 0.5)",
    "uint32($) / 7",
    "((($ << 3) / 7) * $)",
    "float($) * 0.25",
    "min($, 9)",
    "int(sqrt(float($ & 63)))",
};

typedef struct Writer {
    char *text;
    size_t room, n;
    const char *type, *other;
    bool integer;
} Writer;

static void put(Writer *w, const char *text, size_t n) {
    if (w->n + n + 1 > w->room) abort();
    memcpy(w->text + w->n, text, n);
    w->n += n;
    w->text[w->n] = 0;
}

static void expand(Writer *w, const char *from, const char *to, uint64_t *state);

// A function of the text between braces: $ is that text, @ the type.
static void apply(Writer *w, const char *from, const char *to, uint64_t *state) {
    const char *f = w->integer ? DRAW(integer_functions, state) : DRAW(float_functions, state);
    for (; *f; f++)
        if (*f == '$')
            expand(w, from, to, state);
        else if (*f == '@')
            put(w, w->type, strlen(w->type));
        else
            put(w, f, 1);
}

static void expand(Writer *w, const char *from, const char *to, uint64_t *state) {
    for (const char *p = from; p < to; p++) {
        if (*p != '$') {
            put(w, p, 1);
            continue;
        }
        const char *word = NULL, *end = p + 2;
        p++;
        if (*p == 'T') word = w->type;
        if (*p == 'U') word = w->other;
        if (*p == 'R') word = DRAW(reductions, state);
        if (word) put(w, word, strlen(word));
        if (*p != 'f') continue;
        for (int depth = 1; depth; depth += (end[1] == '{') - (end[1] == '}'), end++) {}
        apply(w, p + 2, end, state);
        p = end;
    }
}

void natural_draw(Natural *out, uint64_t *state) {
    int i = (int)(random_bits(state) % (uint64_t)natural_shapes);
    const Shape *s = &shapes[i];
    bool either = s->class == 'a' || s->class == 'p';
    bool integer = s->class == 'i' || (either && random_bits(state) % 2);
    Writer w = {.text = out->text, .room = sizeof out->text, .integer = integer};
    w.type = integer           ? DRAW(integers, state)
             : s->class == 'h' ? DRAW(wide, state)
                               : DRAW(floats, state);
    w.other = random_bits(state) % 2 ? DRAW(integers, state) : DRAW(floats, state);
    out->shape = i;
    out->name = s->name;
    out->sizes = s->sizes;
    out->padded = s->class == 'p';
    expand(&w, s->text, s->text + strlen(s->text), state);
}

static bool range_of(const Natural *n, const char *param, int64_t *lo, int64_t *hi) {
    size_t len = strlen(param);
    for (const char *p = n->sizes; *p; p += strcspn(p, ","), p += *p == ',') {
        if (strncmp(p, param, len) || p[len] != ':') continue;
        char *end;
        *lo = strtoll(p + len + 1, &end, 10);
        *hi = strtoll(end + 1, NULL, 10);
        return true;
    }
    return false;
}

// Sizes at which tiles, vectors and unrolled loops end.
static int64_t edge(uint64_t *state) {
    static const int64_t base[] = {2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    uint64_t r = random_bits(state);
    if (r % 16 == 0) return (int64_t)(r / 16 % 2);
    if (r % 64 == 1) return (int64_t)(r / 64 % 1100);
    if (r % 4 == 0) return (int64_t)(r / 4 % 131);
    return base[r / 4 % 11] + (int64_t)(r / 64 % 3) - 1;
}

int64_t natural_size(const Natural *n, const char *param, uint64_t *state) {
    int64_t lo, hi, v = edge(state);
    if (!range_of(n, param, &lo, &hi)) return v;
    for (int i = 0; i < 4 && (v < lo || v > hi); i++) v = edge(state);
    return v < lo || v > hi ? lo + (int64_t)(random_bits(state) % (uint64_t)(hi - lo + 1)) : v;
}

int64_t natural_least(const Natural *n, const char *param) {
    int64_t lo = 1, hi;
    range_of(n, param, &lo, &hi);
    return lo;
}
