// The same kernels from TC and from flat Stripe text: loops are chosen for both, so the times
// should be equal. "as written" runs the loops of the Stripe text instead.
//
//     make bench-stripe
//     build/bench/stripe [SECONDS]
//
// Rounds are interleaved; the best of their medians counts.
#include "loopwright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 8, PAGE = 4096, STAGGER = 17 * 64, ROUNDS = 5 };

typedef struct Kernel {
    const char *name, *tc, *stripe;
} Kernel;

static const Kernel kernels[] = {
    {"gemm 256x256x256",
     "def gemm(float(256,256) A, float(256,256) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }",
     "block [] ( in A[0, 0] fp32(256, 256) in B[0, 0] fp32(256, 256) out C[0, 0] fp32(256, 256) ) "
     "{\n"
     "  block [i:256, j:256, k:256] (\n"
     "    in A[i, k] fp32(1, 1) in B[k, j] fp32(1, 1) out C[i, j]:add fp32(1, 1)\n"
     "  ) { $a = load(A) $b = load(B) $c = mul($a, $b) C = store($c) }\n}\n"},
    {"gemm 256x256x256, tiled",
     "def gemm(float(256,256) A, float(256,256) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }",
     "block [] ( in A[0, 0] fp32(256, 256) in B[0, 0] fp32(256, 256) out C[0, 0] fp32(256, 256) ) "
     "{\n"
     "  block [i:16, j:8] (\n"
     "    in A[16*i, 0] fp32(16, 256) in B[0, 32*j] fp32(256, 32) out C[16*i, 32*j]:add fp32(16, "
     "32)\n"
     "  ) {\n"
     "    block [i:16, j:32, k:256] (\n"
     "      in A[i, k] fp32(1, 1) in B[k, j] fp32(1, 1) out C[i, j]:add fp32(1, 1)\n"
     "    ) { $a = load(A) $b = load(B) $c = mul($a, $b) C = store($c) }\n  }\n}\n"},
    {"conv 3x3, 32 to 32 of 32x32",
     "def conv(float(32,34,34) I, float(32,32,3,3) F) -> (O) {\n"
     "    O(k,h,w) +=! I(c,h+r,w+s) * F(k,c,r,s) }",
     "block [] ( in I[0, 0, 0] fp32(32, 34, 34) in F[0, 0, 0, 0] fp32(32, 32, 3, 3)\n"
     "    out O[0, 0, 0] fp32(32, 32, 32) ) {\n"
     "  block [k:32, h:32, w:32, c:32, r:3, s:3] (\n"
     "    in I[c, h + r, w + s] fp32(1, 1, 1) in F[k, c, r, s] fp32(1, 1, 1, 1)\n"
     "    out O[k, h, w]:add fp32(1, 1, 1)\n"
     "  ) { $i = load(I) $f = load(F) $o = mul($i, $f) O = store($o) }\n}\n"},
    {"softmax 256x512",
     "def softmax(float(256,512) A) -> (O) { m(i) max=! A(i,j)  e(i,j) = exp(A(i,j) - m(i))\n"
     "    s(i) +=! e(i,j)  O(i,j) = e(i,j) / s(i) }",
     "block [] ( in A[0, 0] fp32(256, 512) out O[0, 0] fp32(256, 512)\n"
     "    none m[0] fp32(256) none s[0] fp32(256) none e[0, 0] fp32(256, 512) ) {\n"
     "  block [i:256, j:512] ( in A[i, j] fp32(1, 1) out m[i]:max fp32(1) )\n"
     "    { $a = load(A) m = store($a) }\n"
     "  block [i:256, j:512] ( in A[i, j] fp32(1, 1) in m[i] fp32(1) out e[i, j] fp32(1, 1) )\n"
     "    { $a = load(A) $m = load(m) $d = sub($a, $m) $e = exp($d) e = store($e) }\n"
     "  block [i:256, j:512] ( in e[i, j] fp32(1, 1) out s[i]:add fp32(1) )\n"
     "    { $e = load(e) s = store($e) }\n"
     "  block [i:256, j:512] ( in e[i, j] fp32(1, 1) in s[i] fp32(1) out O[i, j] fp32(1, 1) )\n"
     "    { $e = load(e) $s = load(s) $o = div($e, $s) O = store($o) }\n}\n"},
};

typedef struct Bench {
    lw_context *ctx;
    double seconds;
} Bench;

static _Noreturn void fail(const Bench *b, const char *what) {
    fprintf(stderr, "%s:\n%s", what, lw_diag_text(b->ctx));
    exit(1);
}

static lw_bound *bind(const Bench *b, const char *name, const char *text, bool as_written) {
    lw_parse_options o = {.struct_size = sizeof o, .as_written = as_written};
    lw_module *module;
    lw_bound *bound;
    if (lw_parse(b->ctx, name, text, strlen(text), &o, &module)) fail(b, name);
    if (lw_bind(b->ctx, lw_module_function(module, 0), NULL, 0, &bound)) fail(b, name);
    return bound;
}

static void *allocate(DLTensor *t, int number) {
    size_t n = 1, offset = (size_t)number * STAGGER % PAGE;
    for (int d = 0; d < t->ndim; d++) n *= (size_t)t->shape[d];
    char *p = aligned_alloc(PAGE, (4 * n + 2 * PAGE - 1) / PAGE * PAGE);
    if (!p) abort();
    t->data = p + offset;
    for (size_t i = 0; i < n; i++) ((float *)t->data)[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    return p;
}

// Microseconds of one run.
static double measure(const Bench *b, const lw_bound *bound) {
    DLTensor copy[MOST_ARGS];
    const DLTensor *args[MOST_ARGS];
    void *block[MOST_ARGS];
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o, .timing = &timing, .threads = 1};
    const lw_function *f = lw_bound_function(bound);
    size_t n = lw_function_input_count(f) + lw_function_output_count(f);
    o.measure_seconds = b->seconds;
    for (size_t i = 0; i < n; i++) {
        copy[i] = *lw_bound_tensor(bound, i);
        block[i] = allocate(&copy[i], (int)i);
        args[i] = &copy[i];
    }
    if (lw_run(b->ctx, bound, args, n, &o)) fail(b, "running");
    for (size_t i = 0; i < n; i++) free(block[i]);
    return timing.median_us;
}

static void least(double *best, double us) {
    if (*best == 0 || us < *best) *best = us;
}

int main(int argc, char **argv) {
    Bench b = {lw_context_new(NULL), argc > 1 ? strtod(argv[1], NULL) : 0.3};
    if (!b.ctx) return 1;
    printf("%-30s %10s %10s %7s %14s\n", "", "TC us", "Stripe us", "ratio", "as written us");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const Kernel *k = &kernels[i];
        lw_bound *tc = bind(&b, "kernel.tc", k->tc, false);
        lw_bound *flat = bind(&b, "kernel.stripe", k->stripe, false);
        double us[2] = {0};
        for (int round = 0; round < ROUNDS; round++) {
            least(&us[0], measure(&b, tc));
            least(&us[1], measure(&b, flat));
        }
        double written = measure(&b, bind(&b, "kernel.stripe", k->stripe, true));
        printf("%-30s %10.2f %10.2f %7.3f %14.1f\n", k->name, us[0], us[1], us[1] / us[0], written);
    }
    lw_context_free(b.ctx);
    return 0;
}
