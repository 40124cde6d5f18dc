// The suites: programs, sizes, and tasks of the peers. --quick omits only items that take long
// (`slow`).
//
// If a paper gives no sizes, we chose them: LoopStack names its operators but not their shapes
// (ours: the square products that its names imply, ResNet's 3 x 3 layers, MobileNet's and
// EfficientNet's depthwise ones); TeML's sddmm gives no inner size (ours: 64).
#include "command/bench.h"

const BenchSuite bench_suites[] = {
    {"gemm", "matrix products: square, odd, skinny, batched, transposed, fused", NULL},
    {"conv", "convolutions of ResNet-50 and MobileNet-v2, grouped and depthwise ones", NULL},
    {"memory", "memory-bound kernels: streams, reductions, transposes, softmax, norms, tables",
     NULL},
    {"tc", "the kernels of the Tensor Comprehensions paper, at its sizes",
     "Figures 5 and 6 of the paper are times on GPUs (M40, P100), which cannot be repeated on a "
     "CPU: "
     "the numbers next to a row are the median speed-ups of its tuned kernel there over the faster "
     "one of Caffe2 and ATen, first on the M40, then on the P100. Its tables 1LUT and 2LUT "
     "have ten million rows (2.5 GB each); here they have 100000, the default of its code. Rows "
     "without a number are kernels of the paper's code that its figures omit."},
    {"loopstack", "the twelve operators of LoopStack's tables, AVX-512 and AVX2",
     "Ours against LLVM, through Halide 14 under the same schedule, which is derived from ours, "
     "with the paper's ratios (tables 1 and 2: its AVX-512 Xeon, its AVX2 AMD). The paper names "
     "its "
     "operators but gives no sizes of convolutions: these are ResNet's 3 x 3 layers, and depthwise "
     "layers of MobileNet and EfficientNet. Its LLVM took 0.7 to 18 s to compile, Halide 14 takes "
     "a tenth of a second here, so the ratios of compile times differ from the paper's; and "
     "schedules are chosen here, while the paper averages the five best of a search."},
    {"teml", "the kernels of TeML's table 1, against sequential C",
     "The paper's figure 11 shows speed-ups over sequential C as bars, without numbers; its text "
     "gives mttkrp, 1.74 times Pluto. Here: ours against `gcc -O3 -march=native` on the loops as "
     "written, on one core; bars of several cores are omitted."},
    {"compile", "time to compile, against LIBXSMM, Halide, gcc and clang", NULL},
    {"front", "time to parse, infer and bind", NULL},
    {0},
};

// --- Programs ------------------------------------------------------------------------------------
#define MM  "def mm(float(M,K) A, float(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(k,n)\n}\n"
#define TMM "def tmm(float(M,K) A, float(N,K) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(n,k)\n}\n"
#define BMM                                                                                        \
    "def bmm(float(B,M,K) X, float(B,K,N) Y) -> (Z) {\n    Z(b,m,n) +=! X(b,m,k) * Y(b,k,n)\n}\n"
#define TBMM                                                                                       \
    "def tbmm(float(B,N,M) X, float(B,K,M) Y) -> (Z) {\n    Z(b,n,k) +=! X(b,n,m) * Y(b,k,m)\n}\n"
#define MM_BIAS_RELU                                                                               \
    "def mm_bias_relu(float(B,I) X, float(O,I) W, float(O) bias) -> (Y) {\n"                       \
    "    Y(b,o) +=! X(b,i) * W(o,i)\n    Y(b,o) = relu(Y(b,o) + bias(o))\n}\n"
#define ATTENTION                                                                                  \
    "def attention(float(B,N,D) Q, float(B,M,D) K, float(B,M,E) V) -> (O) {\n"                     \
    "    s(b,n,m) +=! Q(b,n,d) * K(b,m,d)\n"                                                       \
    "    s(b,n,m) = s(b,n,m) / sqrt(float(D))\n"                                                   \
    "    top(b,n) max=! s(b,n,m)\n"                                                                \
    "    p(b,n,m) = exp(s(b,n,m) - top(b,n))\n"                                                    \
    "    z(b,n) +=! p(b,n,m)\n"                                                                    \
    "    O(b,n,e) +=! p(b,n,m) * V(b,m,e)\n"                                                       \
    "    O(b,n,e) = O(b,n,e) / z(b,n)\n}\n"
// 3 x 3, channels last, filters in blocks of channels.
#define CONV_BLOCKED                                                                               \
    "def conv3x3(float(H,W,CO,CI) I, float(KO,CO,3,3,CI,KI) F) -> (O) {\n"                         \
    "    O(h,w,ko,ki) +=! pad(I(h + r - 1,w + s - 1,co,ci)) * F(ko,co,r,s,ci,ki)\n"                \
    "        where h in 0:H, w in 0:W\n}\n"
// The same with unpacked filters: 3 x 3 x C x K.
#define CONV_PLAIN                                                                                 \
    "def conv3x3(float(H,W,C) I, float(3,3,C,K) F) -> (O) {\n"                                     \
    "    O(h,w,k) +=! pad(I(h + r - 1,w + s - 1,c)) * F(r,s,c,k) where h in 0:H, w in 0:W\n}\n"
// With an explicit border, which Halide can express too.
#define CONV_BORDER                                                                                \
    "def conv3x3(float(H,W,C) I, float(3,3,C,K) F) -> (O) {\n"                                     \
    "    P(y,x,c) = 0.0 where y in 0:H + 2, x in 0:W + 2, c in 0:C\n"                              \
    "    P(y + 1,x + 1,c) = I(y,x,c)\n"                                                            \
    "    O(h,w,k) +=! P(h + r,w + s,c) * F(r,s,c,k) where h in 0:H, w in 0:W\n}\n"
#define CONV_POINT                                                                                 \
    "def conv1x1(float(H,W,C) I, float(C,K) F) -> (O) {\n    O(h,w,k) +=! I(h,w,c) * F(c,k)\n}\n"
#define CONV_STRIDE                                                                                \
    "def conv7x7(float(H,W,C) I, float(7,7,C,K) F) -> (O) {\n"                                     \
    "    O(h,w,k) +=! pad(I(2 * h + r - 3,2 * w + s - 3,c)) * F(r,s,c,k)\n"                        \
    "        where h in 0:(H / 2), w in 0:(W / 2)\n}\n"
// In G groups, filters 3 x 3 x C x G x F.
#define CONV_GROUPED                                                                               \
    "def grouped(float(H,W,G,C) I, float(3,3,C,G,F) K) -> (O) {\n"                                 \
    "    O(h,w,g,f) +=! pad(I(h + r - 1,w + s - 1,g,c)) * K(r,s,c,g,f)\n"                          \
    "        where h in 0:H, w in 0:W\n}\n"
#define DEPTHWISE                                                                                  \
    "def depthwise(float(H,W,C) I, float(3,3,C) K) -> (O) {\n"                                     \
    "    O(h,w,c) +=! pad(I(h + r - 1, w + s - 1, c)) * K(r,s,c) where h in 0:H, w in 0:W\n}\n"
#define DEPTHWISE2                                                                                 \
    "def depthwise2(float(H,W,C) I, float(3,3,C) K) -> (O) {\n"                                    \
    "    O(h,w,c) +=! pad(I(2 * h + r - 1, 2 * w + s - 1, c)) * K(r,s,c)\n"                        \
    "        where h in 0:(H / 2), w in 0:(W / 2)\n}\n"
#define COPY "def copy(float(N) A) -> (B) {\n    B(i) = A(i)\n}\n"
#define AXPY "def axpy(float(N) X, float(N) Y) -> (Z) {\n    Z(i) = 0.5 * X(i) + Y(i)\n}\n"
#define TRIAD                                                                                      \
    "def axpb_relu(float(N) X, float(N) Y) -> (Z) {\n    Z(i) = relu(0.5 * X(i) + Y(i))\n}\n"
#define CHAIN                                                                                      \
    "def chain(float(N) X, float(N) Y) -> (O) {\n"                                                 \
    "    A(i) = relu(X(i) * Y(i) + X(i))\n"                                                        \
    "    B(i) = fabs(0.5 * A(i) - Y(i))\n"                                                         \
    "    O(i) = B(i) * X(i) + Y(i)\n}\n"
#define ROW_SUMS    "def row_sums(float(M,N) A) -> (r) {\n    r(i) +=! A(i,j)\n}\n"
#define COLUMN_SUMS "def column_sums(float(M,N) A) -> (c) {\n    c(j) +=! A(i,j)\n}\n"
#define TRANSPOSE   "def transpose(float(M,N) A) -> (B) {\n    B(j,i) = A(i,j)\n}\n"
#define SOFTMAX                                                                                    \
    "def softmax(float(N,D) I) -> (O) {\n    top(n) max=! I(n,d)\n"                                \
    "    e(n,d) = exp(I(n,d) - top(n))\n    sum(n) +=! e(n,d)\n    O(n,d) = e(n,d) / sum(n)\n}\n"
#define LAYERNORM                                                                                  \
    "def layernorm(float(N,D) I, float(D) gamma, float(D) beta) -> (O, mean, var) {\n"             \
    "    mean(n) +=! I(n,d)\n    mean(n) = mean(n) / D\n"                                          \
    "    var(n) +=! (I(n,d) - mean(n)) * (I(n,d) - mean(n))\n    var(n) = var(n) / D\n"            \
    "    O(n,d) = (I(n,d) - mean(n)) * rsqrt(var(n) + 1e-5) * gamma(d) + beta(d)\n}\n"
#define EMBEDDING "def embedding(float(R,C) T, int32(N) I) -> (O) {\n    O(i,j) = T(I(i), j)\n}\n"
#define LUT       "def lut(float(E,D) T, int(B,L) I) -> (O) {\n    O(b,d) +=! T(I(b,l), d)\n}\n"
#define LUT2                                                                                       \
    "def lut2(float(E1,D) T1, int(B,L1) I1, float(E2,D) T2, int(B,L2) I2) -> (O1, O2) {\n"         \
    "    O1(b,d) +=! T1(I1(b,l), d)\n    O2(b,d) +=! T2(I2(b,l), d)\n}\n"
#define C3 "def c3(float(B,X) I, float(Y,X) W) -> (O) {\n    O(b,y) +=! I(b,x) * W(y,x)\n}\n"
#define MLP3                                                                                       \
    "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3,\n"             \
    "         float(Q,P) W4, float(Q) B4) -> (O4) {\n"                                             \
    "    O2(b,o) +=! I(b,n) * W2(o,n)\n    O2(b,o) = fmaxf(O2(b,o) + B2(o), 0)\n"                  \
    "    O3(b,p) +=! O2(b,o) * W3(p,o)\n    O3(b,p) = fmaxf(O3(b,p) + B3(p), 0)\n"                 \
    "    O4(b,q) +=! O3(b,p) * W4(q,p)\n    O4(b,q) = fmaxf(O4(b,q) + B4(q), 0)\n}\n"
#define KRU                                                                                        \
    "def kru(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y) {\n"   \
    "    XW2(m,n0,n1,d2) +=! X(m,n0,n1,r2) * W2(d2,r2)\n"                                          \
    "    XW1(m,n0,d1,d2) +=! XW2(m,n0,r1,d2) * W1(d1,r1)\n"                                        \
    "    Y(m,d0,d1,d2) +=! XW1(m,r0,d1,d2) * W0(d0,r0)\n}\n"
#define CONV_NCHW                                                                                  \
    "def conv(float(N,C,H,W) I, float(F,C,KH,KW) K, float(F) B) -> (O) {\n"                        \
    "    O(n,f,h,w) +=! I(n,c,h + kh,w + kw) * K(f,c,kh,kw)\n"                                     \
    "    O(n,f,h,w) = O(n,f,h,w) + B(f)\n}\n"
#define GCONV                                                                                      \
    "def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) K, float(F) B) -> (O) {\n"                   \
    "    O(n,g,f,h,w) +=! I(n,g,c,h + kh,w + kw) * K(g,f,c,kh,kw)\n"                               \
    "    O(n,g,f,h,w) = O(n,g,f,h,w) + B(f)\n}\n"
#define WAVENET                                                                                    \
    "def wavenet(int F, float(B,R,T) data, float(C,R) Wt, float(C,R) Wp, float(C) bt,\n"           \
    "            float(C,R) St, float(C,R) Sp, float(C) bs, float(R,C) Wr, float(R) br,\n"         \
    "            float(S,C) Ws, float(S) bk) -> (res, skip) {\n"                                   \
    "    f(b,c,t) +=! Wt(c,r) * data(b,r,t) + Wp(c,r) * pad(data(b,r,t - F), 0)\n"                 \
    "    g(b,c,t) +=! St(c,r) * data(b,r,t) + Sp(c,r) * pad(data(b,r,t - F), 0)\n"                 \
    "    gate(b,c,t) = tanh(f(b,c,t) + bt(c)) * sigmoid(g(b,c,t) + bs(c))\n"                       \
    "    res(b,r,t) +=! Wr(r,c) * gate(b,c,t)\n"                                                   \
    "    res(b,r,t) = res(b,r,t) + br(r) + data(b,r,t)\n"                                          \
    "    skip(b,s,t) +=! Ws(s,c) * gate(b,c,t)\n"                                                  \
    "    skip(b,s,t) = skip(b,s,t) + bk(s)\n}\n"
#define MOMENTS                                                                                    \
    "def moments(float(N,K) I) -> (mean, var) {\n    mean(n) +=! I(n,k)\n"                         \
    "    mean(n) = mean(n) / K\n    var(n) +=! I(n,k) * I(n,k)\n"                                  \
    "    var(n) = var(n) / K - mean(n) * mean(n)\n}\n"
#define GROUPNORM                                                                                  \
    "def groupnorm(float(N,G,D,H,W) I, float(G,D) gamma, float(G,D) beta) -> (O, mean, var) {\n"   \
    "    mean(n,g) +=! I(n,g,d,h,w)\n    mean(n,g) = mean(n,g) / (D * H * W)\n"                    \
    "    var(n,g) +=! (I(n,g,d,h,w) - mean(n,g)) * (I(n,g,d,h,w) - mean(n,g))\n"                   \
    "    var(n,g) = var(n,g) / (D * H * W)\n"                                                      \
    "    O(n,g,d,h,w) = gamma(g,d) * (I(n,g,d,h,w) - mean(n,g)) * rsqrt(var(n,g) + 1e-5) + "       \
    "beta(g,d)\n}\n"
// TeML's programs, in double as in the paper.
#define D_MM  "def mm(double(M,K) A, double(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(k,n)\n}\n"
#define D_TMM "def tmm(double(M,K) A, double(N,K) B) -> (C) {\n    C(m,n) +=! A(m,k) * B(n,k)\n}\n"
#define D_BMM                                                                                      \
    "def bmm(double(B,M,K) X, double(B,K,N) Y) -> (Z) {\n    Z(b,m,n) +=! X(b,m,k) * "             \
    "Y(b,k,n)\n}\n"
#define D_GCONV                                                                                    \
    "def gconv(double(N,G,C,H,W) I, double(G,F,C,KH,KW) K) -> (O) {\n"                             \
    "    O(n,g,f,h,w) +=! I(n,g,c,h + kh,w + kw) * K(g,f,c,kh,kw)\n}\n"
#define D_MTTKRP                                                                                   \
    "def mttkrp(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) {\n"                         \
    "    T(i,k,j) +=! B(i,k,l) * D(l,j)\n    A(i,j) +=! T(i,k,j) * C(k,j)\n}\n"
#define D_SDDMM                                                                                    \
    "def sddmm(double(M,N) S, double(M,K) B, double(K,N) C) -> (A) {\n"                            \
    "    T(i,j) +=! B(i,k) * C(k,j)\n    A(i,j) = S(i,j) * T(i,j)\n}\n"
#define D_INTERP                                                                                   \
    "def interp(double(N,N) A, double(E,N,N,N) u) -> (v) {\n"                                      \
    "    t(e,i,y,z) +=! A(i,x) * u(e,x,y,z)\n    s(e,i,j,z) +=! A(j,y) * t(e,i,y,z)\n"             \
    "    v(e,i,j,k) +=! A(k,z) * s(e,i,j,z)\n}\n"
#define D_HELM                                                                                     \
    "def helm(double(N,N) A, double(N,N,N) D, double(E,N,N,N) u) -> (v) {\n"                       \
    "    p(e,i,y,z) +=! A(i,x) * u(e,x,y,z)\n    q(e,i,j,z) +=! A(j,y) * p(e,i,y,z)\n"             \
    "    r(e,i,j,k) +=! A(k,z) * q(e,i,j,z)\n    w(e,i,j,k) = r(e,i,j,k) / (D(i,j,k) + 2.0)\n"     \
    "    s(e,x,j,k) +=! A(i,x) * w(e,i,j,k)\n    t(e,x,y,k) +=! A(j,y) * s(e,x,j,k)\n"             \
    "    v(e,x,y,z) +=! A(k,z) * t(e,x,y,k)\n}\n"
#define D_BLUR                                                                                     \
    "def blur(double(H,W) I) -> (O) {\n"                                                           \
    "    B(y,x) = (I(y,x) + I(y,x + 1) + I(y,x + 2)) / 3.0 where y in 0:H\n"                       \
    "    O(y,x) = (B(y,x) + B(y + 1,x) + B(y + 2,x)) / 3.0 where y in 0:(H - 2)\n}\n"
#define D_COARS                                                                                    \
    "def coars(double(H,W) X, double(H,W) Y, double(H,W) Z) -> (O) {\n"                            \
    "    O(y,x) = X(y,x) * Y(y,x) - Z(y,x) * Z(y,x)\n}\n"

// --- Items ---------------------------------------------------------------------------------------
#define STR(x) #x
#define GEMM(GROUP, N)                                                                             \
    {                                                                                              \
        .suite = "gemm", .group = GROUP, .name = STR(N), .program = MM,                            \
        .sizes = "M=" STR(N) ",N=" STR(N) ",K=" STR(N),                                            \
        .task = "gemm " STR(N) " " STR(N) " " STR(N), .slow = N > 1500                             \
    }
#define SKINNY(M, N, K)                                                                            \
    {                                                                                              \
        .suite = "gemm", .group = "skinny", .name = #M " x " #N " x " #K, .program = MM,           \
        .sizes = "M=" #M ",N=" #N ",K=" #K, .task = "gemm " #M " " #N " " #K                       \
    }
#define CONV3(C, H, CO, CI, KO, KI)                                                                \
    {                                                                                              \
        .suite = "conv", .group = "3x3, filters in blocks", .name = #C "@" #H,                     \
        .program = CONV_BLOCKED,                                                                   \
        .sizes = "H=" #H ",W=" #H ",CO=" #CO ",CI=" #CI ",KO=" #KO ",KI=" #KI,                     \
        .task = "conv 1 " #H " " #H " " #C " " #C " 3 1 1 1", .taps = 9                            \
    }
#define CONV3_PLAIN(C, H)                                                                          \
    {                                                                                              \
        .suite = "conv", .group = "3x3, plain filters", .name = #C "@" #H, .program = CONV_PLAIN,  \
        .sizes = "H=" #H ",W=" #H ",C=" #C ",K=" #C,                                               \
        .task = "conv 1 " #H " " #H " " #C " " #C " 3 1 1 1"                                       \
    }
#define POINT(GROUP, C, K, H)                                                                      \
    {                                                                                              \
        .suite = "conv", .group = GROUP, .name = #C " to " #K "@" #H, .program = CONV_POINT,       \
        .sizes = "H=" #H ",W=" #H ",C=" #C ",K=" #K,                                               \
        .task = "conv 1 " #H " " #H " " #C " " #K " 1 1 0 1"                                       \
    }
#define GROUPED(C, H, ALL)                                                                         \
    {                                                                                              \
        .suite = "conv", .group = "grouped", .name = "32 x " #C "@" #H, .program = CONV_GROUPED,   \
        .sizes = "H=" #H ",W=" #H ",G=32,C=" #C ",F=" #C,                                          \
        .task = "conv 1 " #H " " #H " " #ALL " " #ALL " 3 1 1 32"                                  \
    }
#define DEPTH_TASK(C, H) "conv 1 " #H " " #H " " #C " " #C " 3 1 1 " #C
#define DEPTH(SUITE, GROUP, NAME, C, H, TASK)                                                      \
    .suite = SUITE, .group = GROUP, .name = NAME, .program = DEPTHWISE,                            \
    .sizes = "H=" #H ",W=" #H ",C=" #C, .task = TASK
#define DEPTH2(C, H)                                                                               \
    {                                                                                              \
        .suite = "conv", .group = "depthwise", .name = #C "@" #H " stride 2",                      \
        .program = DEPTHWISE2, .sizes = "H=" #H ",W=" #H ",C=" #C,                                 \
        .task = "conv 1 " #H " " #H " " #C " " #C " 3 2 1 " #C                                     \
    }
#define STREAM(NAME, PROGRAM, TASK, N)                                                             \
    {                                                                                              \
        .suite = "memory", .group = "streams", .name = NAME " " #N, .program = PROGRAM,            \
        .sizes = "N=" #N, .task = TASK " " #N, .slow = N > 1100000, .rounded = true                \
    }
#define SQUARE(GROUP, NAME, PROGRAM, TASK, A, B, N, ROUNDED)                                       \
    {                                                                                              \
        .suite = "memory", .group = GROUP, .name = NAME " " #N, .program = PROGRAM,                \
        .sizes = A "=" #N "," B "=" #N, .task = TASK " " #N " " #N, .slow = N > 2000,              \
        .rounded = ROUNDED                                                                         \
    }
#define TC(GROUP, NAME, PROGRAM, SIZES, TASK, ...)                                                 \
    {                                                                                              \
        .suite = "tc", .group = GROUP, .name = NAME, .program = PROGRAM, .sizes = SIZES,           \
        .task = TASK, __VA_ARGS__                                                                  \
    }
#define TEML(NAME, PROGRAM, SIZES, ...)                                                            \
    {                                                                                              \
        .suite = "teml", .group = "double, one core", .name = NAME, .program = PROGRAM,            \
        .sizes = SIZES, .c = true, .rounded = true, __VA_ARGS__                                    \
    }
// The AVX2 half of the tables is not for --quick.
#define IS_AVX2(ISA) (sizeof ISA == sizeof "avx2")
#define STACK_MM(GROUP, ISA, N, PAPER)                                                             \
    {                                                                                              \
        .suite = "loopstack", .group = GROUP, .name = "MM-" #N, .program = MM,                     \
        .sizes = "M=" #N ",N=" #N ",K=" #N, .halide = true, .isa = ISA, .slow = IS_AVX2(ISA),      \
        .paper = PAPER                                                                             \
    }
#define STACK_CONV(GROUP, ISA, NUMBER, C, H, PAPER)                                                \
    {                                                                                              \
        .suite = "loopstack", .group = GROUP, .name = "CONV-" #NUMBER " (" #C "@" #H ")",          \
        .program = CONV_BORDER, .sizes = "H=" #H ",W=" #H ",C=" #C ",K=" #C, .halide = true,       \
        .isa = ISA, .slow = IS_AVX2(ISA), .paper = PAPER                                           \
    }
#define STACK_DEPTH(GROUP, ISA, NUMBER, C, H, PAPER)                                               \
    {                                                                                              \
        DEPTH("loopstack", GROUP, "DWCONV-" #NUMBER " (" #C "@" #H ")", C, H, NULL),               \
            .halide = true, .isa = ISA, .slow = IS_AVX2(ISA), .paper = PAPER                       \
    }

const BenchItem bench_items[] = {
    GEMM("square", 16),
    GEMM("square", 32),
    GEMM("square", 64),
    GEMM("square", 128),
    GEMM("square", 256),
    GEMM("square", 512),
    GEMM("square", 1024),
    GEMM("square", 2048),
    GEMM("odd", 31),
    GEMM("odd", 63),
    GEMM("odd", 100),
    GEMM("odd", 127),
    GEMM("odd", 255),
    SKINNY(1, 1024, 1024),
    SKINNY(8, 1024, 1024),
    SKINNY(1024, 8, 1024),
    SKINNY(128, 256, 32),
    SKINNY(128, 1024, 1024),
    {.suite = "gemm",
     .group = "batched",
     .name = "500 x 26 26 72",
     .program = BMM,
     .sizes = "B=500,M=26,N=26,K=72",
     .task = "bgemm 500 26 26 72 0"},
    {.suite = "gemm",
     .group = "batched",
     .name = "500 x 26 26 72, B transposed",
     .program = TBMM,
     .sizes = "B=500,N=26,K=26,M=72",
     .task = "bgemm 500 26 26 72 1"},
    {.suite = "gemm",
     .group = "batched",
     .name = "64 x 64 64 64",
     .program = BMM,
     .sizes = "B=64,M=64,N=64,K=64",
     .task = "bgemm 64 64 64 64 0"},
    {.suite = "gemm",
     .group = "transposed",
     .name = "256, B transposed",
     .program = TMM,
     .sizes = "M=256,N=256,K=256",
     .task = "bgemm 1 256 256 256 1"},
    {.suite = "gemm",
     .group = "transposed",
     .name = "128 1024 1024, B transposed",
     .program = TMM,
     .sizes = "M=128,N=1024,K=1024",
     .task = "bgemm 1 128 1024 1024 1"},
    {.suite = "gemm",
     .group = "fused",
     .name = "bias, relu 128 512 512",
     .program = MM_BIAS_RELU,
     .sizes = "B=128,I=512,O=512",
     .task = "fcrelu 128 512 512"},
    {.suite = "gemm",
     .group = "fused",
     .name = "attention 8 x 128, 64",
     .program = ATTENTION,
     .sizes = "B=8,N=128,M=128,D=64,E=64",
     .task = "attention 8 128 128 64 64",
     .rounded = true},

    {.suite = "gemm",
     .group = "two cores",
     .name = "1024",
     .program = MM,
     .sizes = "M=1024,N=1024,K=1024",
     .task = "gemm 1024 1024 1024",
     .threads = 2},

    CONV3(64, 56, 1, 64, 1, 64),
    CONV3(128, 28, 1, 128, 2, 64),
    CONV3(256, 14, 1, 256, 8, 32),
    CONV3(512, 7, 8, 64, 16, 32),
    CONV3_PLAIN(64, 56),
    CONV3_PLAIN(128, 28),
    CONV3_PLAIN(256, 14),
    CONV3_PLAIN(512, 7),
    POINT("ResNet-50 1x1", 64, 256, 56),
    POINT("ResNet-50 1x1", 256, 64, 56),
    POINT("ResNet-50 1x1", 512, 128, 28),
    POINT("ResNet-50 1x1", 1024, 256, 14),
    POINT("ResNet-50 1x1", 512, 2048, 7),
    {.suite = "conv",
     .group = "7x7 stride 2",
     .name = "3 to 64@224",
     .program = CONV_STRIDE,
     .sizes = "H=224,W=224,C=3,K=64",
     .task = "conv 1 224 224 3 64 7 2 3 1"},
    POINT("MobileNet-v2 pointwise", 32, 16, 112),
    POINT("MobileNet-v2 pointwise", 144, 24, 56),
    POINT("MobileNet-v2 pointwise", 192, 64, 28),
    POINT("MobileNet-v2 pointwise", 576, 96, 14),
    POINT("MobileNet-v2 pointwise", 960, 320, 7),
    GROUPED(4, 56, 128),
    GROUPED(8, 28, 256),
    GROUPED(16, 14, 512),
    GROUPED(32, 7, 1024),
    {DEPTH("conv", "depthwise", "32@112", 32, 112, DEPTH_TASK(32, 112))},
    {DEPTH("conv", "depthwise", "144@56", 144, 56, DEPTH_TASK(144, 56))},
    {DEPTH("conv", "depthwise", "192@28", 192, 28, DEPTH_TASK(192, 28))},
    {DEPTH("conv", "depthwise", "512@14", 512, 14, DEPTH_TASK(512, 14))},
    {DEPTH("conv", "depthwise", "960@7", 960, 7, DEPTH_TASK(960, 7))},
    DEPTH2(96, 112),
    DEPTH2(144, 56),
    {.suite = "conv",
     .group = "two cores",
     .name = "64@56",
     .program = CONV_BLOCKED,
     .sizes = "H=56,W=56,CO=1,CI=64,KO=1,KI=64",
     .task = "conv 1 56 56 64 64 3 1 1 1",
     .taps = 9,
     .threads = 2},

    STREAM("copy", COPY, "copy", 4096),
    STREAM("copy", COPY, "copy", 1048576),
    STREAM("copy", COPY, "copy", 16777216),
    STREAM("axpy", AXPY, "axpy", 4096),
    STREAM("axpy", AXPY, "axpy", 1048576),
    STREAM("axpy", AXPY, "axpy", 16777216),
    STREAM("relu(a x + y)", TRIAD, "triad", 65536),
    STREAM("relu(a x + y)", TRIAD, "triad", 16777216),
    STREAM("chain of 8", CHAIN, "chain", 65536),
    STREAM("chain of 8", CHAIN, "chain", 1048576),
    SQUARE("reductions", "row sums", ROW_SUMS, "rowsum", "M", "N", 256, true),
    SQUARE("reductions", "row sums", ROW_SUMS, "rowsum", "M", "N", 1024, true),
    SQUARE("reductions", "row sums", ROW_SUMS, "rowsum", "M", "N", 4096, true),
    SQUARE("reductions", "column sums", COLUMN_SUMS, "colsum", "M", "N", 256, true),
    SQUARE("reductions", "column sums", COLUMN_SUMS, "colsum", "M", "N", 1024, true),
    SQUARE("reductions", "column sums", COLUMN_SUMS, "colsum", "M", "N", 4096, true),
    SQUARE("transposes", "transpose", TRANSPOSE, "transpose", "M", "N", 256, false),
    SQUARE("transposes", "transpose", TRANSPOSE, "transpose", "M", "N", 1024, false),
    SQUARE("transposes", "transpose", TRANSPOSE, "transpose", "M", "N", 4096, false),
    SQUARE("rows", "softmax", SOFTMAX, "softmax", "N", "D", 256, true),
    SQUARE("rows", "softmax", SOFTMAX, "softmax", "N", "D", 1024, true),
    SQUARE("rows", "layer norm", LAYERNORM, "layernorm", "N", "D", 256, true),
    SQUARE("rows", "layer norm", LAYERNORM, "layernorm", "N", "D", 1024, true),
    {.suite = "memory",
     .group = "tables",
     .name = "embedding 4096 of 100000 x 64",
     .program = EMBEDDING,
     .sizes = "R=100000,C=64,N=4096",
     .task = "embedding 100000 64 4096",
     .moved = 4096 * (64 * 4 * 2 + 4)},

    TC("products", "tmm 128 256 32", TMM, "M=128,N=256,K=32", "bgemm 1 128 256 32 1",
       .paper = "1.21x, 1.08x"),
    TC("products", "tmm 128 1024 1024", TMM, "M=128,N=1024,K=1024", "bgemm 1 128 1024 1024 1",
       .paper = "0.39x, 0.96x"),
    TC("products", "tmm 128 16384 4096", TMM, "M=128,N=16384,K=4096", "bgemm 1 128 16384 4096 1",
       .slow = true, .paper = "0.24x, 0.29x"),
    TC("products", "tbmm 500 26 72 26", TBMM, "B=500,N=26,M=72,K=26", "bgemm 500 26 26 72 1",
       .paper = "3.44x, 3.58x"),
    TC("products", "C3 128 1000 1024", C3, "B=128,X=1000,Y=1024", "bgemm 1 128 1024 1000 1",
       .paper = "0.63x, 0.86x"),
    TC("products", "MLP1 128 2000 128", MM_BIAS_RELU, "B=128,I=2000,O=128", "fcrelu 128 2000 128",
       .paper = "0.88x, 1.23x"),
    TC("products", "MLP3 128: 128 64 32 2", MLP3, "B=128,N=128,O=64,P=32,Q=2",
       "mlp3 128 128 64 32 2", .paper = "2.25x, 2.85x"),
    TC("products", "KRU 32 32 32", KRU, "M=256,D0=16,D1=16,D2=16,N0=32,N1=32,N2=32",
       "kru 256 16 16 16 32 32 32", .slow = true),
    TC("products", "KRU 64 64 64", KRU, "M=256,D0=16,D1=16,D2=16,N0=64,N1=64,N2=64",
       "kru 256 16 16 16 64 64 64", .slow = true),
    TC("products", "KRU 64 128 128", KRU, "M=256,D0=16,D1=16,D2=16,N0=64,N1=128,N2=128",
       "kru 256 16 16 16 64 128 128", .slow = true),
    TC("convolutions", "conv 32 x 4@56", CONV_NCHW, "N=32,C=4,F=4,H=56,W=56,KH=3,KW=3",
       "convnchw 32 4 4 56 56 3"),
    TC("convolutions", "gconv 32 x 32 x 4@56", GCONV, "N=32,G=32,C=4,F=4,H=56,W=56,KH=3,KW=3",
       "gconv 32 32 4 4 56 56 3", .slow = true, .paper = "3.6x, 8.8x"),
    TC("convolutions", "gconv 32 x 32 x 8@28", GCONV, "N=32,G=32,C=8,F=8,H=28,W=28,KH=3,KW=3",
       "gconv 32 32 8 8 28 28 3", .slow = true, .paper = "3.54x, 5.36x"),
    TC("convolutions", "gconv 32 x 32 x 16@14", GCONV, "N=32,G=32,C=16,F=16,H=14,W=14,KH=3,KW=3",
       "gconv 32 32 16 16 14 14 3", .paper = "2.59x, 4.18x"),
    TC("convolutions", "gconv 32 x 32 x 32@7", GCONV, "N=32,G=32,C=32,F=32,H=7,W=7,KH=3,KW=3",
       "gconv 32 32 32 32 7 7 3", .paper = "1.46x, 1.90x"),
    TC("convolutions", "WaveNet 4000, dilation 1", WAVENET, "B=1,R=32,C=32,S=256,T=4000,F=1", NULL,
       .rounded = true, .c = true),
    TC("convolutions", "WaveNet 4000, dilation 32", WAVENET, "B=1,R=32,C=32,S=256,T=4000,F=32",
       NULL, .rounded = true, .c = true, .slow = true),
    TC("tables", "1LUT 128 x 50 of 100000 x 64", LUT, "E=100000,D=64,B=128,L=50",
       "lut 128 64 50 100000", .moved = 128 * (51 * 64 * 4 + 50 * 4), .paper = "2.05x, 2.91x"),
    TC("tables", "2LUT 128 x 50 of 100000 x 64", LUT2, "E1=100000,E2=100000,D=64,B=128,L1=50,L2=50",
       "lut2 128 64 50 100000", .moved = 2 * 128 * (51 * 64 * 4 + 50 * 4), .paper = "3.94x, 4.17x"),
    TC("norms", "moments 128 2304", MOMENTS, "N=128,K=2304", "moments 128 2304", .rounded = true),
    TC("norms", "moments 1024 36864", MOMENTS, "N=1024,K=36864", "moments 1024 36864",
       .rounded = true, .slow = true),
    TC("norms", "group norm 4 x 512, 12 x 12", GROUPNORM, "N=4,G=32,D=16,H=12,W=12",
       "groupnorm 4 32 16 12 12", .rounded = true),
    TC("norms", "group norm 32 x 512, 48 x 48", GROUPNORM, "N=32,G=32,D=16,H=48,W=48",
       "groupnorm 32 32 16 48 48", .rounded = true, .slow = true),

    STACK_CONV("AVX-512", "avx512", 1, 64, 56, "compile 1592x, speed 2.23x"),
    STACK_CONV("AVX-512", "avx512", 2, 128, 28, "compile 1642x, speed 11.4x"),
    STACK_CONV("AVX-512", "avx512", 3, 256, 14, "compile 969x, speed 1.91x"),
    STACK_CONV("AVX-512", "avx512", 4, 512, 7, "compile 751x, speed 1.47x"),
    STACK_DEPTH("AVX-512", "avx512", 1, 32, 112, "compile 37647x, speed 1.20x"),
    STACK_DEPTH("AVX-512", "avx512", 2, 144, 56, "compile 17402x, speed 1.33x"),
    STACK_DEPTH("AVX-512", "avx512", 3, 192, 28, "compile 9423x, speed 1.53x"),
    STACK_DEPTH("AVX-512", "avx512", 4, 960, 7, "compile 13159x, speed 1.27x"),
    STACK_MM("AVX-512", "avx512", 64, "compile 10667x, speed 1.30x"),
    STACK_MM("AVX-512", "avx512", 128, "compile 11379x, speed 1.10x"),
    STACK_MM("AVX-512", "avx512", 256, "compile 5999x, speed 1.07x"),
    STACK_MM("AVX-512", "avx512", 512, "compile 2751x, speed 0.99x"),
    STACK_CONV("AVX2", "avx2", 1, 64, 56, "compile 326x, speed 1.01x"),
    STACK_CONV("AVX2", "avx2", 2, 128, 28, "compile 136x, speed 1.56x"),
    STACK_CONV("AVX2", "avx2", 3, 256, 14, "compile 129x, speed 7.63x"),
    STACK_CONV("AVX2", "avx2", 4, 512, 7, "compile 21.5x, speed 27.4x"),
    STACK_DEPTH("AVX2", "avx2", 1, 32, 112, "compile 2850x, speed 1.28x"),
    STACK_DEPTH("AVX2", "avx2", 2, 144, 56, "compile 2192x, speed 1.36x"),
    STACK_DEPTH("AVX2", "avx2", 3, 192, 28, "compile 3230x, speed 1.35x"),
    STACK_DEPTH("AVX2", "avx2", 4, 960, 7, "compile 2993x, speed 1.09x"),
    STACK_MM("AVX2", "avx2", 64, "compile 1814x, speed 1.19x"),
    STACK_MM("AVX2", "avx2", 128, "compile 586x, speed 1.11x"),
    STACK_MM("AVX2", "avx2", 256, "compile 415x, speed 1.08x"),
    STACK_MM("AVX2", "avx2", 512, "compile 291x, speed 1.09x"),

    TEML("mm 256", D_MM, "M=256,N=256,K=256", .task = "einsum64 ij,jk->ik 256x256 256x256"),
    TEML("mm 512", D_MM, "M=512,N=512,K=512", .slow = true,
         .task = "einsum64 ij,jk->ik 512x512 512x512"),
    TEML("tmm 256", D_TMM, "M=256,N=256,K=256", .task = "einsum64 ij,kj->ik 256x256 256x256"),
    TEML("tmm 512", D_TMM, "M=512,N=512,K=512", .slow = true,
         .task = "einsum64 ij,kj->ik 512x512 512x512"),
    TEML("bmm 128 of 26 72 26", D_BMM, "B=128,M=26,K=72,N=26",
         .task = "einsum64 bij,bjk->bik 128x26x72 128x72x26"),
    TEML("bmm 8192 of 26 72 26", D_BMM, "B=8192,M=26,K=72,N=26", .slow = true,
         .task = "einsum64 bij,bjk->bik 8192x26x72 8192x72x26"),
    TEML("gconv 1 32 32@7", D_GCONV, "N=1,G=32,C=32,F=32,H=9,W=9,KH=3,KW=3"),
    TEML("gconv 32 32 32@7", D_GCONV, "N=32,G=32,C=32,F=32,H=9,W=9,KH=3,KW=3", .slow = true),
    TEML("mttkrp 64", D_MTTKRP, "I=64,J=64,K=64,L=64",
         .task = "einsum64 ikl,kj,lj->ij 64x64x64 64x64 64x64"),
    TEML("mttkrp 250", D_MTTKRP, "I=250,J=250,K=250,L=250", .slow = true,
         .paper = "TeML 1.74x Pluto", .task = "einsum64 ikl,kj,lj->ij 250x250x250 250x250 250x250"),
    TEML("sddmm 512, inner 64", D_SDDMM, "M=512,N=512,K=64",
         .task = "einsum64 ij,ik,kj->ij 512x512 512x64 64x512"),
    TEML("sddmm 4096, inner 64", D_SDDMM, "M=4096,N=4096,K=64", .slow = true,
         .task = "einsum64 ij,ik,kj->ij 4096x4096 4096x64 64x4096"),
    TEML("interp 2000 of 7", D_INTERP, "E=2000,N=7"),
    TEML("interp 50000 of 7", D_INTERP, "E=50000,N=7", .slow = true),
    TEML("helm 200 of 13", D_HELM, "E=200,N=13"),
    TEML("helm 5000 of 13", D_HELM, "E=5000,N=13", .slow = true),
    TEML("blur 1024", D_BLUR, "H=1024,W=1024"),
    TEML("coars 1024", D_COARS, "H=1024,W=1024"),
    TEML("coars 4096", D_COARS, "H=4096,W=4096", .slow = true),
    {0},
};
