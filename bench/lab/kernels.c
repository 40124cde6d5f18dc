#include "lab/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 8, PAGE = 4096, STAGGER = 17 * 64 };

// --- Random kernels ------------------------------------------------------------------------------

typedef struct Random {
    uint64_t state;
} Random;

static uint64_t next(Random *r) { // splitmix64
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Log-uniform between both ends.
static int size_between(Random *r, int lo, int hi) {
    double unit = (double)(next(r) >> 11) * 0x1p-53;
    return (int)(lo * pow((double)hi / lo, unit) + 0.5);
}

static int below(Random *r, int n) { return (int)(next(r) % (uint64_t)n); }

#define TEXT(K, ...)  snprintf((K)->text, sizeof(K)->text, __VA_ARGS__)
#define SIZES(K, ...) snprintf((K)->sizes, sizeof(K)->sizes, __VA_ARGS__)

static void product(Random *r, RandomKernel *k, int m, int n, int depth) {
    static const char *const text[] = {
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }",
        "def f(float(K,M) A, float(K,N) B) -> (C) { C(m,n) +=! A(k,m) * B(k,n) }",
    };
    TEXT(k, "%s", text[below(r, 4)]);
    SIZES(k, "M=%d,N=%d,K=%d", m, n, depth);
}

static void small_product(Random *r, RandomKernel *k) {
    int m = size_between(r, 3, 130), n = size_between(r, 3, 130);
    product(r, k, m, n, size_between(r, 3, 130));
}

// One side is a few elements, another one may be long.
static void skinny_product(Random *r, RandomKernel *k) {
    int size[3] = {size_between(r, 1, 8), size_between(r, 8, 400), size_between(r, 8, 1200)};
    for (int i = 2; i > 0; i--) {
        int at = below(r, i + 1), swapped = size[i];
        size[i] = size[at];
        size[at] = swapped;
    }
    product(r, k, size[0], size[1], size[2]);
}

static void transpose(Random *r, RandomKernel *k) {
    static const char *const text[] = {
        "def f(%s(M,N) A) -> (C) { C(n,m) = A(m,n) }",
        "def f(%s(M,N) A) -> (C) { C(n,m) = A(m,n) }",
        "def f(%s(M,N,P) A) -> (C) { C(n,m,p) = A(m,n,p) }",
        "def f(%s(M,N,P) A) -> (C) { C(p,n,m) = A(m,n,p) }",
        "def f(%s(M,N,P) A) -> (C) { C(m,p,n) = A(m,n,p) }",
    };
    static const char *const type[] = {"float", "float", "double", "int8"};
    int which = below(r, 5), three = which > 1, most = three ? 48 : 300;
    TEXT(k, text[which], type[below(r, 4)]);
    int n = SIZES(k, "M=%d,N=%d", size_between(r, 2, most), size_between(r, 2, most));
    if (three)
        snprintf(k->sizes + n, sizeof k->sizes - (size_t)n, ",P=%d", size_between(r, 2, most));
}

static void softmax(Random *r, RandomKernel *k) {
    static const char *const text[] = {
        "def f(float(M,N) A) -> (S) { X(m) max=! A(m,n)  E(m,n) = exp(A(m,n) - X(m))\n"
        "    D(m) +=! E(m,n)  S(m,n) = E(m,n) / D(m) }",
        "def f(float(M,N) A) -> (S) { X(n) max=! A(m,n)  E(m,n) = exp(A(m,n) - X(n))\n"
        "    D(n) +=! E(m,n)  S(m,n) = E(m,n) / D(n) }",
        "def f(float(M,N) A) -> (S) { D(m) +=! A(m,n) * A(m,n)\n"
        "    S(m,n) = A(m,n) / sqrt(D(m) + 0.00001) }",
    };
    TEXT(k, "%s", text[below(r, 3)]);
    SIZES(k, "M=%d,N=%d", size_between(r, 1, 200), size_between(r, 3, 600));
}

static void stencil(Random *r, RandomKernel *k) {
    static const char *const text[] = {
        "def f(float(N) A) -> (B) { B(i) = 0.25 * (A(i) + 2.0 * A(i+1) + A(i+2)) }",
        "def f(float(M,N) A) -> (B) {\n"
        "    B(i,j) = 0.2 * (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) + A(i+1,j) + A(i+1,j+2)) }",
        "def f(float(M,N) A, float(3,3) W) -> (B) { B(i,j) +=! A(i+r,j+s) * W(r,s) }",
        "def f(float(M,N,P) A) -> (B) { B(i,j,k) = 0.4 * A(i+1,j+1,k+1) +\n"
        "    0.1 * (A(i,j+1,k+1) + A(i+2,j+1,k+1) + A(i+1,j,k+1) + A(i+1,j+2,k+1) +\n"
        "           A(i+1,j+1,k) + A(i+1,j+1,k+2)) }",
    };
    int which = below(r, 4), most = which == 0 ? 4000 : which == 3 ? 64 : 300;
    TEXT(k, "%s", text[which]);
    int m = size_between(r, 4, most), n = size_between(r, 4, most), p = size_between(r, 4, most);
    if (which == 0) SIZES(k, "N=%d", n);
    if (which == 1 || which == 2) SIZES(k, "M=%d,N=%d", m, n);
    if (which == 3) SIZES(k, "M=%d,N=%d,P=%d", m, n, p);
}

// --- Larger kernels ------------------------------------------------------------------------------

// Sizes are letters with the ends of their range.
typedef struct Large {
    const char *text;
    struct {
        char name;
        int lo, hi;
    } size[5];
} Large;

#define NORM_END "S(m,n) = (A(m,n) - U(m) / N) / sqrt(V(m) / N + 0.00001) }"

static const Large large[] = {
    {"def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
     {{'M', 16, 600}, {'N', 16, 600}, {'K', 16, 600}}},
    {"def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }",
     {{'M', 16, 600}, {'N', 16, 600}, {'K', 16, 600}}},
    {"def f(float(M,K) A, float(K,N) B, float(N) b) -> (C) {\n"
     "    C(m,n) +=! A(m,k) * B(k,n)  C(m,n) = fmax(C(m,n) + b(n), 0) }",
     {{'M', 16, 400}, {'N', 16, 600}, {'K', 16, 600}}},
    {"def f(double(M,K) A, double(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
     {{'M', 8, 400}, {'N', 8, 400}, {'K', 8, 400}}},
    {"def f(int8(M,K) A, int8(N,K) B) -> (C) { C(m,n) +=! int32(A(m,k)) * int32(B(n,k)) }",
     {{'M', 8, 400}, {'N', 8, 400}, {'K', 16, 600}}},
    {"def f(float(B,M,K) X, float(B,K,N) Y) -> (C) { C(b,m,n) +=! X(b,m,k) * Y(b,k,n) }",
     {{'B', 2, 64}, {'M', 4, 80}, {'N', 4, 80}, {'K', 4, 80}}},
    {"def f(float(B,Q,H,D) X, float(B,K,H,D) Y) -> (S) { S(b,h,q,k) +=! X(b,q,h,d) * Y(b,k,h,d) }",
     {{'B', 1, 4}, {'Q', 8, 100}, {'K', 8, 100}, {'H', 2, 12}, {'D', 16, 64}}},
    {"def f(float(M,K) A, float(K) x) -> (y) { y(m) +=! A(m,k) * x(k) }",
     {{'M', 32, 2000}, {'K', 32, 2000}}},
    {"def f(float(K,M) A, float(K) x) -> (y) { y(m) +=! A(k,m) * x(k) }",
     {{'M', 32, 2000}, {'K', 32, 2000}}},
    {"def f(float(C,H,W) I, float(K,C,3,3) F) -> (O) { O(k,h,w) +=! I(c,h+r,w+s) * F(k,c,r,s) }",
     {{'C', 3, 64}, {'K', 8, 64}, {'H', 8, 60}, {'W', 8, 60}}},
    {"def f(float(H,W,C) I, float(3,3,C,K) F) -> (O) { O(h,w,k) +=! I(h+r,w+s,c) * F(r,s,c,k) }",
     {{'C', 3, 64}, {'K', 8, 64}, {'H', 8, 60}, {'W', 8, 60}}},
    {"def f(float(C,H,W) I, float(C,3,3) F) -> (O) { O(c,h,w) +=! I(c,h+r,w+s) * F(c,r,s) }",
     {{'C', 4, 128}, {'H', 8, 100}, {'W', 8, 100}}},
    {"def f(float(H,W,C) I, float(3,3,C,K) F) -> (O) {\n"
     "    O(h,w,k) +=! pad(I(h+r-1,w+s-1,c)) * F(r,s,c,k) where h in 0:H, w in 0:W }",
     {{'C', 3, 256}, {'K', 8, 256}, {'H', 6, 30}, {'W', 6, 30}}},
    {"def f(float(H,W,C) I, float(3,3,C) F) -> (O) {\n"
     "    O(h,w,c) +=! pad(I(h+r-1,w+s-1,c)) * F(r,s,c) where h in 0:H, w in 0:W }",
     {{'C', 8, 512}, {'H', 6, 60}, {'W', 6, 60}}},
    {"def f(float(H,W,C) I, float(3,3,C) F) -> (O) {\n"
     "    O(h,w,c) +=! pad(I(2*h+r-1,2*w+s-1,c)) * F(r,s,c) where h in 0:H/2, w in 0:W/2 }",
     {{'C', 8, 512}, {'H', 6, 60}, {'W', 6, 60}}},
    {"def f(float(H,W,C) I, float(C,K) F) -> (O) { O(h,w,k) +=! I(h,w,c) * F(c,k) }",
     {{'C', 8, 512}, {'K', 8, 512}, {'H', 4, 30}, {'W', 4, 30}}},
    {"def f(float(H,W,G,C) I, float(3,3,C,G,F) K) -> (O) {\n"
     "    O(h,w,g,f) +=! pad(I(h+r-1,w+s-1,g,c)) * K(r,s,c,g,f) where h in 0:H, w in 0:W }",
     {{'G', 2, 32}, {'C', 2, 32}, {'F', 2, 32}, {'H', 6, 30}, {'W', 6, 30}}},
    {"def f(float(N,C,H,W) I, float(K,C,3,3) F) -> (O) {\n"
     "    O(n,k,h,w) +=! pad(I(n,c,h+r-1,w+s-1)) * F(k,c,r,s) where h in 0:H, w in 0:W }",
     {{'N', 1, 3}, {'C', 3, 64}, {'K', 8, 64}, {'H', 6, 40}, {'W', 6, 40}}},
    {"def f(float(C,H,W) I) -> (O) { O(c,h,w) max=! I(c, 2*h+r, 2*w+s) where r in 0:2, s in 0:2 }",
     {{'C', 4, 64}, {'H', 8, 100}, {'W', 8, 100}}},
    {"def f(float(M,N) A) -> (R) { R(m) +=! A(m,n) }", {{'M', 8, 2000}, {'N', 8, 2000}}},
    {"def f(float(M,N) A) -> (R) { R(n) +=! A(m,n) }", {{'M', 8, 2000}, {'N', 8, 2000}}},
    {"def f(float(M,N) A) -> (R) { R(m) max=! A(m,n) }", {{'M', 8, 2000}, {'N', 8, 2000}}},
    {"def f(float(M,N) A) -> (S) { X(m) max=! A(m,n)  E(m,n) = exp(A(m,n) - X(m))\n"
     "    D(m) +=! E(m,n)  S(m,n) = E(m,n) / D(m) }",
     {{'M', 16, 1000}, {'N', 16, 1200}}},
    {"def f(float(M,N) A) -> (S) { U(m) +=! A(m,n)\n"
     "    V(m) +=! (A(m,n) - U(m) / N) * (A(m,n) - U(m) / N)\n    " NORM_END,
     {{'M', 16, 800}, {'N', 16, 1200}}},
    {"def f(float(M,N) A, float(N) G) -> (S) { D(m) +=! A(m,n) * A(m,n)\n"
     "    S(m,n) = A(m,n) * G(n) / sqrt(D(m) / N + 0.00001) }",
     {{'M', 16, 800}, {'N', 16, 1200}}},
    {"def f(float(M,N) A) -> (C) { C(n,m) = A(m,n) }", {{'M', 16, 1200}, {'N', 16, 1200}}},
    {"def f(float(M,N,P) A) -> (C) { C(p,m,n) = A(m,n,p) }",
     {{'M', 4, 100}, {'N', 4, 100}, {'P', 4, 100}}},
    {"def f(float(N) A, float(N) B) -> (C) { C(i) = tanh(A(i)) * B(i) + 0.5 }",
     {{'N', 64, 500000}}},
    {"def f(float(N) A, float(N) B) -> (C) { C(i) = 2.0 * A(i) + B(i) }", {{'N', 64, 1000000}}},
    {"def f(float(M,N) A, float(M) b, float(N) c) -> (C) { C(m,n) = A(m,n) + b(m) * c(n) }",
     {{'M', 8, 1000}, {'N', 8, 1000}}},
    {"def f(float(M,K) A, float(N,K) B) -> (D) {\n"
     "    D(m,n) +=! (A(m,k) - B(n,k)) * (A(m,k) - B(n,k)) }",
     {{'M', 8, 300}, {'N', 8, 300}, {'K', 2, 128}}},
    {"def f(float(M,N) A) -> (B) { B(i,j) = 0.2 * (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) +\n"
     "    A(i+1,j) + A(i+1,j+2)) }",
     {{'M', 16, 1500}, {'N', 16, 1500}}},
    {"def f(float(Q,D) X, float(K,D) Y, float(K,D) Z) -> (O) {\n"
     "    S(q,k) +=! X(q,d) * Y(k,d)  M(q) max=! S(q,k)  E(q,k) = exp(S(q,k) - M(q))\n"
     "    L(q) +=! E(q,k)  O(q,d) +=! E(q,k) * Z(k,d)  O(q,d) = O(q,d) / L(q) }",
     {{'Q', 8, 200}, {'K', 8, 200}, {'D', 8, 100}}},
    {"def f(float(B,I) X, float(I,J) V, float(J,O) W) -> (Z) {\n"
     "    Y(b,j) +=! X(b,i) * V(i,j)  Y(b,j) = fmax(Y(b,j), 0)  Z(b,o) +=! Y(b,j) * W(j,o) }",
     {{'B', 4, 200}, {'I', 8, 300}, {'J', 8, 300}, {'O', 8, 300}}},
};

RandomKernel large_kernel(uint64_t seed, int number) {
    const Large *l = &large[number % (int)(sizeof large / sizeof *large)];
    RandomKernel k = {.family = KERNEL_SMALL};
    Random r = {seed * 1000033 + (uint64_t)number};
    TEXT(&k, "%s", l->text);
    for (int i = 0, at = 0; i < 5 && l->size[i].name; i++) {
        size_t room = sizeof k.sizes - (size_t)at;
        int value = size_between(&r, l->size[i].lo, l->size[i].hi);
        at += snprintf(k.sizes + at, room, "%s%c=%d", i ? "," : "", l->size[i].name, value);
    }
    return k;
}

const char *const kernel_family[KERNEL_FAMILIES] = {"gemm",    "skinny",  "transpose",
                                                    "softmax", "stencil", "large"};

RandomKernel small_kernel(uint64_t seed, int number) {
    static void (*const make[KERNEL_SMALL])(Random *, RandomKernel *) = {
        small_product, skinny_product, transpose, softmax, stencil};
    RandomKernel k = {.family = number % KERNEL_SMALL};
    Random r = {seed * 1000003 + (uint64_t)number};
    make[k.family](&r, &k);
    return k;
}

// --- Measuring -----------------------------------------------------------------------------------

static int read_sizes(const char *text, char names[][2], lw_size *out) {
    int n = 0;
    for (const char *p = text; p && *p; n++) {
        names[n][0] = *p;
        names[n][1] = 0;
        out[n] = (lw_size){names[n], strtoll(p + 2, NULL, 10)};
        p = strchr(p, ',');
        if (p) p++;
    }
    return n;
}

const lw_bound *kernel_bind(lw_context *ctx, const RandomKernel *k) {
    lw_module *module;
    char names[8][2];
    lw_size sizes[8];
    lw_bound *bound = NULL;
    if (lw_parse(ctx, "kernel.tc", k->text, strlen(k->text), NULL, &module)) return NULL;
    const lw_function *f = lw_module_function(module, 0);
    int n = read_sizes(k->sizes, names, sizes);
    if (lw_bind(ctx, f, sizes, (size_t)n, &bound)) return NULL;
    return bound;
}

// Places arguments as the command does: see cli/data.c.
static void *allocate(const DLTensor *t, int number) {
    size_t bytes = t->dtype.bits / 8u, offset = (size_t)number * STAGGER % PAGE;
    for (int d = 0; d < t->ndim; d++) bytes *= (size_t)t->shape[d];
    char *p = aligned_alloc(PAGE, (bytes + 3 * PAGE - 1) / PAGE * PAGE);
    if (!p) abort();
    memset(p, 0, (bytes + 3 * PAGE - 1) / PAGE * PAGE);
    if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)(void *)(p + offset))[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    return p;
}

double kernel_seconds(lw_context *ctx, const lw_bound *bound, const char *schedule, const char *isa,
                      double seconds) {
    DLTensor copy[MOST_ARGS];
    const DLTensor *args[MOST_ARGS];
    void *block[MOST_ARGS];
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o,
                        .timing = &timing,
                        .threads = 1,
                        .isa = isa,
                        .measure_seconds = seconds,
                        .schedule = {.text = schedule, .name = "tuned"}};
    const lw_function *f = lw_bound_function(bound);
    size_t n = lw_function_input_count(f) + lw_function_output_count(f);
    double us = 0;
    if (n > MOST_ARGS) return 0;
    for (size_t i = 0; i < n; i++) {
        copy[i] = *lw_bound_tensor(bound, i);
        block[i] = allocate(&copy[i], (int)i);
        copy[i].data = (char *)block[i] + i * STAGGER % PAGE;
        copy[i].device = (DLDevice){kDLCPU, 0};
        args[i] = &copy[i];
    }
    if (!lw_run(ctx, bound, args, n, &o)) us = timing.median_us;
    for (size_t i = 0; i < n; i++) free(block[i]);
    return us * 1e-6;
}
