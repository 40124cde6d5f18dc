// The effect of the options of lw_run on machine code.
#include "unit/check.h"

#include "loopwright.h"

#include <stdlib.h>
#include <string.h>

// A block followed by inaccessible memory.
enum { ROOM = 1 << 16 };

static void *fenced_alloc(void *user, size_t size) {
    (void)user;
    char *p = aligned_alloc(64, (size + ROOM + 63) / 64 * 64);
    if (p) memset(p + size, 0x5a, ROOM);
    return p;
}

static void fenced_free(void *user, void *p, size_t size) {
    int *broken = user;
    for (size_t i = 0; p && i < ROOM; i++)
        if (((char *)p)[size + i] != 0x5a) {
            ++*broken;
            break;
        }
    free(p);
}

static DLTensor tensor(float *data, int rank, int64_t *shape) {
    return (DLTensor){data, {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, shape, NULL, 0};
}

static lw_bound *bind(lw_context *ctx, const char *file, const char *text) {
    lw_module *mod;
    lw_bound *b = NULL;
    if (!CHECK(lw_parse(ctx, file, text, strlen(text), NULL, &mod) == LW_OK)) return NULL;
    CHECK(lw_bind_values(ctx, lw_module_function(mod, 0), NULL, 0, &b) == LW_OK);
    lw_module_free(mod);
    return b;
}

static const char sum[] = "program s { input A: f32[4, 50] output S: f32[4]\n"
                          "S: for r in 0:4, i in 0:50  S[r] +=! A[r, i]\n"
                          "S.1: for r in 0:4 post  S[r] = S[r]*2.0 }";

typedef struct Sums {
    float a[200], s[4];
    int64_t shape[2];
    DLTensor t[2];
} Sums;

static lw_status run_sums(lw_context *ctx, const lw_bound *b, Sums *x, const lw_run_options *o) {
    x->shape[0] = 4;
    x->shape[1] = 50;
    for (int i = 0; i < 200; i++) x->a[i] = 1;
    for (int i = 0; i < 4; i++) x->s[i] = (float)(100 * i);
    x->t[0] = tensor(x->a, 2, x->shape);
    x->t[1] = tensor(x->s, 1, x->shape);
    return lw_run(ctx, b, (const DLTensor *const[]){&x->t[0], &x->t[1]}, 2, o);
}

TEST(results_accumulate_and_skip_what_comes_after) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "s.lwp", sum);
    Sums x;
    for (int backend = LW_BACKEND_INTERP; backend <= LW_BACKEND_JIT; backend++) {
        lw_run_options o = {.struct_size = sizeof o, .backend = (lw_backend)backend};
        CHECK(run_sums(ctx, b, &x, &o) == LW_OK && x.s[3] == 100);
        o.accumulate = true;
        CHECK(run_sums(ctx, b, &x, &o) == LW_OK && x.s[3] == 700);
        o.skip_post = true;
        CHECK(run_sums(ctx, b, &x, &o) == LW_OK && x.s[3] == 350);
        o.accumulate = false;
        CHECK(run_sums(ctx, b, &x, &o) == LW_OK && x.s[3] == 50);
    }
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Measuring runs a kernel many times; in-outs are changed once.
TEST(measuring_changes_nothing) {
    static const char add[] = "program a { input A: f32[64] inout C: f32[64]\n"
                              "C: for i in 0:64  C[i] += A[i] }";
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "a.lwp", add);
    float a[64], c[64];
    int64_t shape[] = {64};
    for (int i = 0; i < 64; i++) a[i] = 1, c[i] = (float)i;
    DLTensor A = tensor(a, 1, shape), C = tensor(c, 1, shape);
    lw_timing t = {.struct_size = sizeof t};
    lw_run_options o = {
        .struct_size = sizeof o, .backend = LW_BACKEND_JIT, .timing = &t, .measure_seconds = 1e-3};
    CHECK(lw_run(ctx, b, (const DLTensor *const[]){&A, &C}, 2, &o) == LW_OK);
    CHECK(t.samples > 0);
    for (int i = 0; i < 64; i++) CHECK(c[i] == (float)i + 1);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Each level has separate kernels and reports the one that ran.
TEST(kernels_are_for_their_instruction_set) {
    static const char *const levels[] = {"scalar", "avx2", "avx512"};
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "s.lwp", sum);
    int best = 2; // of this machine
    Sums x;
    for (int round = 0; round < 2; round++)
        for (int i = 2; i >= 0; i--) {
            lw_timing t = {.struct_size = sizeof t};
            lw_run_options o = {
                .struct_size = sizeof o, .backend = LW_BACKEND_JIT, .timing = &t, .isa = levels[i]};
            CHECK(run_sums(ctx, b, &x, &o) == LW_OK && x.s[3] == 100);
            while (best > 0 && round == 0 && i == 2 && strcmp(t.isa, levels[best])) best--;
            CHECK_STR_EQ(t.isa, levels[i < best ? i : best]);
        }
    lw_bound_free(b);
    lw_context_free(ctx);
}

// Temporaries of every thread have room.
TEST(threads_have_memory_of_their_own) {
    static const char mm[] =
        "program mm { input A: f32[80, 64] input B: f32[64, 48]\n"
        "output C: f32[80, 48]\n"
        "C: for m in 0:80, n in 0:48, k in 0:64  C[m, n] +=! A[m, k]*B[k, n] }";
    int broken = 0;
    lw_context_options co = {
        .struct_size = sizeof co, .alloc = fenced_alloc, .free = fenced_free, .user = &broken};
    lw_context *ctx = lw_context_new(&co);
    lw_bound *b = bind(ctx, "mm.lwp", mm);
    static float a[80 * 64], bb[64 * 48], c[80 * 48];
    for (int i = 0; i < 80 * 64; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < 64 * 48; i++) bb[i] = (float)(i % 5 - 2);
    DLTensor A = tensor(a, 2, (int64_t[]){80, 64}), B = tensor(bb, 2, (int64_t[]){64, 48});
    DLTensor C = tensor(c, 2, (int64_t[]){80, 48});
    lw_run_options o = {.struct_size = sizeof o, .backend = LW_BACKEND_JIT, .threads = 5};
    o.schedule = (lw_schedule_text){"C: m/8:p n k m\n    grain 1\n    copy A at m/8 layout (k m)\n",
                                    "s.lws"};
    for (int round = 0; round < 20; round++) {
        memset(c, 0, sizeof c);
        if (!CHECK(lw_run(ctx, b, (const DLTensor *const[]){&A, &B, &C}, 3, &o) == LW_OK))
            printf("%s\n", lw_diag_text(ctx));
        for (int m = 0; m < 80; m++)
            for (int n = 0; n < 48; n++) {
                float want = 0;
                for (int k = 0; k < 64; k++) want += a[64 * m + k] * bb[48 * k + n];
                if (!CHECK(c[48 * m + n] == want)) return;
            }
    }
    lw_bound_free(b);
    lw_context_free(ctx);
    CHECK(broken == 0);
}
