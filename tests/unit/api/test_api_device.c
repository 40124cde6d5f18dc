// lw_run on devices: the emulator gives the results of the processor, whatever the strides, and
// explains wrong indices; devices and arguments that do not fit are errors.
#include "unit/check.h"

#include "loopwright.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct Fixture {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
} Fixture;

static bool open_text(Fixture *f, const char *text, const lw_size *sizes, size_t n) {
    f->ctx = lw_context_new(NULL);
    f->mod = NULL;
    f->bound = NULL;
    bool ok = lw_parse(f->ctx, "t.tc", text, strlen(text), NULL, &f->mod) == LW_OK &&
              lw_bind(f->ctx, lw_module_function(f->mod, 0), sizes, n, &f->bound) == LW_OK;
    if (!ok) printf("  %s\n", lw_diag_text(f->ctx));
    return CHECK(ok);
}

static void close_text(Fixture *f) {
    lw_bound_free(f->bound);
    lw_module_free(f->mod);
    lw_context_free(f->ctx);
}

static DLTensor tensor(void *data, int rank, int64_t *shape, int64_t *strides) {
    DLTensor t = {.data = data,
                  .device = {kDLCPU, 0},
                  .ndim = rank,
                  .dtype = {kDLFloat, 32, 1},
                  .shape = shape,
                  .strides = strides};
    return t;
}

static const char mv[] = "def mv(float(M,K) A, float(K) x) -> (C) { C(m) +=! A(m,k) * x(k) }";

TEST(api_device_runs_strided_arguments) {
    Fixture f;
    if (!open_text(&f, mv, (lw_size[]){{"M", 2}, {"K", 3}}, 2)) return;
    // A is transposed, x goes backwards, C has gaps.
    float a[3][2] = {{1, 4}, {2, 5}, {3, 6}}, x[3] = {2, 0, 1}, c[4] = {-1, -1, -1, -1};
    DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2});
    DLTensor X = tensor(x + 2, 1, (int64_t[]){3}, (int64_t[]){-1});
    DLTensor C = tensor(c, 1, (int64_t[]){2}, (int64_t[]){2});
    lw_timing t = {.struct_size = sizeof t};
    lw_run_options o = {.struct_size = sizeof o, .device = "emulate", .timing = &t};
    for (int round = 0; round < 3; round++) {
        c[0] = c[2] = 0;
        lw_status status = lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &X, &C}, 3, &o);
        if (!CHECK(status == LW_OK)) printf("  %s\n", lw_diag_text(f.ctx));
        CHECK_F64_EQ(c[0], 7);
        CHECK_F64_EQ(c[2], 16);
        CHECK(c[1] == -1 && c[3] == -1);
        CHECK(t.backend == LW_BACKEND_GPU);
        CHECK((t.compile_us > 0) == (round == 0)); // kept
    }
    o.accumulate = true;
    CHECK(lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &X, &C}, 3, &o) == LW_OK);
    CHECK(c[0] == 14 && c[2] == 32);
    o.accumulate = false;
    o.schedule = (lw_schedule_text){.name = "s", .text = "C: k m\n"};
    CHECK(lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &X, &C}, 3, &o) == LW_OK);
    CHECK(c[0] == 7 && c[2] == 16 && !strcmp(t.schedule, "given"));
    close_text(&f);
}

TEST(api_device_explains_wrong_indices) {
    static const char text[] = "def g(float(N) A, int32(M) I) -> (B) { B(i) = A(I(i)) }";
    Fixture f;
    if (!open_text(&f, text, (lw_size[]){{"N", 4}, {"M", 3}}, 2)) return;
    float a[4] = {10, 20, 30, 40}, b[3];
    int32_t index[3] = {3, 0, 2};
    DLTensor A = tensor(a, 1, (int64_t[]){4}, NULL), B = tensor(b, 1, (int64_t[]){3}, NULL);
    DLTensor I = tensor(index, 1, (int64_t[]){3}, NULL);
    I.dtype = (DLDataType){kDLInt, 32, 1};
    lw_run_options o = {.struct_size = sizeof o, .device = "emulate"};
    CHECK(lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &I, &B}, 3, &o) == LW_OK);
    CHECK(b[0] == 40 && b[1] == 10 && b[2] == 30);
    index[1] = 4;
    CHECK(lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &I, &B}, 3, &o) == LW_ERROR);
    CHECK(strstr(lw_diag_text(f.ctx), "outside [0, 4)"));
    index[1] = 1;
    CHECK(lw_run(f.ctx, f.bound, (const DLTensor *[]){&A, &I, &B}, 3, &o) == LW_OK);
    close_text(&f);
}

TEST(api_device_errors_name_the_device) {
    Fixture f;
    if (!open_text(&f, mv, (lw_size[]){{"M", 2}, {"K", 3}}, 2)) return;
    float a[6] = {0}, x[3] = {0}, c[2];
    DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, NULL), X = tensor(x, 1, (int64_t[]){3}, NULL);
    DLTensor C = tensor(c, 1, (int64_t[]){2}, NULL);
    const DLTensor *args[] = {&A, &X, &C};
    lw_run_options o = {.struct_size = sizeof o, .device = "tpu"};
    CHECK(lw_run(f.ctx, f.bound, args, 3, &o) == LW_ERROR);
    CHECK(strstr(lw_diag_text(f.ctx), "device 'tpu': no device is called 'tpu'"));
    o.device = "emulate";
    o.backend = LW_BACKEND_JIT;
    CHECK(lw_run(f.ctx, f.bound, args, 3, &o) == LW_MISUSE);
    o.backend = LW_BACKEND_GPU;
    A.device = (DLDevice){kDLCUDA, 0};
    CHECK(lw_run(f.ctx, f.bound, args, 3, &o) == LW_ERROR);
    CHECK(strstr(lw_diag_text(f.ctx), "argument 'A' is not in host memory"));
    const lw_device *d;
    CHECK(lw_device_get(f.ctx, "emulate", NULL, &d) == LW_OK && d->processors == 132);
    CHECK(lw_device_get(f.ctx, NULL, NULL, &d) == LW_MISUSE && !d);
    close_text(&f);
}

static void *run_many(void *arg) {
    Fixture *f = arg;
    for (int i = 0; i < 50; i++) {
        float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, x[3] = {1, 0, (float)i}, c[2];
        DLTensor A = tensor(a, 2, (int64_t[]){2, 3}, NULL);
        DLTensor X = tensor(x, 1, (int64_t[]){3}, NULL), C = tensor(c, 1, (int64_t[]){2}, NULL);
        lw_run_options o = {.struct_size = sizeof o, .device = "emulate"};
        CHECK(lw_run(f->ctx, f->bound, (const DLTensor *[]){&A, &X, &C}, 3, &o) == LW_OK);
        CHECK(c[0] == 1 + 3 * (float)i && c[1] == 4 + 6 * (float)i);
    }
    return NULL;
}

TEST(api_device_serves_many_threads) {
    Fixture f;
    pthread_t thread[4];
    if (!open_text(&f, mv, (lw_size[]){{"M", 2}, {"K", 3}}, 2)) return;
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, run_many, &f);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    close_text(&f);
}

// More programs than a context keeps.
TEST(api_device_gives_up_old_programs) {
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod = NULL;
    CHECK(lw_parse(ctx, "t.tc", mv, strlen(mv), NULL, &mod) == LW_OK);
    for (int64_t k = 1; k <= 80; k++) {
        lw_bound *b = NULL;
        float a[80], x[80], c[1];
        for (int i = 0; i < k; i++) a[i] = x[i] = 1;
        DLTensor A = tensor(a, 2, (int64_t[]){1, k}, NULL), X = tensor(x, 1, (int64_t[]){k}, NULL);
        DLTensor C = tensor(c, 1, (int64_t[]){1}, NULL);
        lw_run_options o = {.struct_size = sizeof o, .device = "emulate"};
        lw_bind(ctx, lw_module_function(mod, 0), (lw_size[]){{"M", 1}, {"K", k}}, 2, &b);
        CHECK(lw_run(ctx, b, (const DLTensor *[]){&A, &X, &C}, 3, &o) == LW_OK);
        CHECK_F64_EQ(c[0], (double)k);
        lw_bound_free(b);
    }
    lw_module_free(mod);
    lw_context_free(ctx);
}
