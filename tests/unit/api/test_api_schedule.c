// Schedules through the C API: showing loops, running them from several threads at once, and
// errors.
#include "unit/check.h"
#include "loopwright.h"

#include <pthread.h>

static const char mv_text[] = "def mv(float(M,K) A, float(K) x) -> (C) {\n"
                              "    C(m) +=! A(m,k) * x(k)\n"
                              "}\n";

typedef struct Mv {
    lw_context *ctx;
    lw_module *mod;
    lw_bound *bound;
} Mv;

static bool open_mv(Mv *mv) {
    mv->ctx = lw_context_new(NULL);
    lw_parse(mv->ctx, "mv.tc", mv_text, strlen(mv_text), NULL, &mv->mod);
    const lw_size sizes[] = {{"M", 5}, {"K", 3}};
    return CHECK_INT_EQ(lw_bind(mv->ctx, lw_module_function(mv->mod, 0), sizes, 2, &mv->bound),
                        LW_OK);
}

static void close_mv(Mv *mv) {
    lw_bound_free(mv->bound);
    lw_module_free(mv->mod);
    lw_context_free(mv->ctx);
}

TEST(trees_are_shown_under_a_schedule) {
    Mv mv;
    const char *text;
    if (!open_mv(&mv)) return;
    CHECK_INT_EQ(lw_bound_show(mv.ctx, mv.bound, LW_STAGE_SCHEDULE, &text), LW_OK);
    char chosen[64];
    snprintf(chosen, sizeof chosen, "%s", text);
    lw_show_options o = {.struct_size = sizeof o, .schedule = {chosen, "chosen.lws"}};
    CHECK_INT_EQ(lw_bound_show_with(mv.ctx, mv.bound, LW_STAGE_SCHEDULE, &o, &text), LW_OK);
    CHECK_STR_EQ(text, chosen); // what is shown reads back
    o.schedule = (lw_schedule_text){"C: k:u m:v\n", "mv.lws"};
    CHECK_INT_EQ(lw_bound_show_with(mv.ctx, mv.bound, LW_STAGE_TREE, &o, &text), LW_OK);
    CHECK_STR_EQ(text, "for m in 5 vector\n"
                       "  C[m] = 0.0\n"
                       "for k in 3 unroll\n"
                       "  for m in 5 vector\n"
                       "    C[m] += A[m, k]*x[k]\n");
    o.schedule.text = "C: k:u q\n";
    CHECK_INT_EQ(lw_bound_show_with(mv.ctx, mv.bound, LW_STAGE_TREE, &o, &text), LW_ERROR);
    CHECK(text == NULL);
    CHECK_STR_EQ(lw_diag_text(mv.ctx), "mv.lws:1:8: error: no iterator 'q' in statement 'C'\n"
                                       "  C: k:u q\n"
                                       "         ^\n"
                                       "note: there are 'm' and 'k'\n");
    CHECK_INT_EQ(lw_bound_show_with(mv.ctx, mv.bound, (lw_stage)99, &o, &text), LW_MISUSE);
    CHECK_INT_EQ(lw_bound_show_with(mv.ctx, NULL, LW_STAGE_TREE, &o, &text), LW_MISUSE);
    close_mv(&mv);
}

static lw_status run_mv(const Mv *mv, lw_backend backend, const char *schedule, float *c) {
    float a[15], x[3] = {1, 2, 3};
    for (int i = 0; i < 15; i++) a[i] = (float)i;
    int64_t shape_a[] = {5, 3}, shape_x[] = {3}, shape_c[] = {5};
    DLDataType f32 = {kDLFloat, 32, 1};
    DLTensor ta = {.data = a, .device = {kDLCPU, 0}, .ndim = 2, .dtype = f32, .shape = shape_a};
    DLTensor tx = {.data = x, .device = {kDLCPU, 0}, .ndim = 1, .dtype = f32, .shape = shape_x};
    DLTensor tc = {.data = c, .device = {kDLCPU, 0}, .ndim = 1, .dtype = f32, .shape = shape_c};
    const DLTensor *args[] = {&ta, &tx, &tc};
    lw_run_options o = {.struct_size = sizeof o, .backend = backend};
    o.schedule.text = schedule;
    return lw_run(mv->ctx, mv->bound, args, 3, &o);
}

static void *run_many(void *user) {
    static const char *const schedules[] = {NULL, "C: m/2:p k m\n",
                                            "C: k m/3 m:v\n    copy A at m/3\n"};
    for (int i = 0; i < 60; i++) {
        float c[5] = {0};
        if (!CHECK_INT_EQ(run_mv(user, LW_BACKEND_TREE, schedules[i % 3], c), LW_OK)) break;
        for (int m = 0; m < 5; m++) CHECK_F64_EQ(c[m], 18 * m + 8);
    }
    return NULL;
}

TEST(schedules_run_in_many_threads) {
    Mv mv;
    pthread_t thread[4];
    if (!open_mv(&mv)) return;
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, run_many, &mv);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    close_mv(&mv);
}

TEST(a_schedule_needs_a_backend_with_loops) {
    Mv mv;
    float c[5] = {0};
    if (!open_mv(&mv)) return;
    CHECK_INT_EQ(run_mv(&mv, LW_BACKEND_DEFAULT, "C: k m\n", c), LW_OK);
    CHECK_F64_EQ(c[4], 80);
    CHECK_INT_EQ(run_mv(&mv, LW_BACKEND_INTERP, "C: k m\n", c), LW_ERROR);
    CHECK_STR_EQ(lw_diag_text(mv.ctx), "error: the back-end 'interp' has no loops to schedule\n");
    close_mv(&mv);
}

// A 1 x 1 convolution with rows of three: flattened if its arguments have no gaps, and right on
// every back-end in either case.
TEST(flat_schedules_need_arguments_without_gaps) {
    static const char text[] = "def pw(float(C,H,W) I, float(K,C) F) -> (O) {\n"
                               "    O(k,h,w) +=! I(c,h,w) * F(k,c)\n"
                               "}\n";
    enum { C = 5, K = 4, H = 3, W = 3, GAP = 2, SPAN = C * H * (W + GAP) };
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_bound *b;
    const lw_size sizes[] = {{"C", C}, {"H", H}, {"W", W}, {"K", K}};
    CHECK_INT_EQ(lw_parse(ctx, "pw.tc", text, strlen(text), NULL, &mod), LW_OK);
    CHECK_INT_EQ(lw_bind(ctx, lw_module_function(mod, 0), sizes, 4, &b), LW_OK);
    float image[SPAN], filter[K * C], out[2][K * H * W];
    for (int i = 0; i < SPAN; i++) image[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * C; i++) filter[i] = (float)(i % 5 - 2);
    DLTensor I = *lw_bound_tensor(b, 0), F = *lw_bound_tensor(b, 1), O = *lw_bound_tensor(b, 2);
    I.data = image, F.data = filter;
    for (int gap = 0; gap <= 1; gap++) {
        int64_t strides[] = {H * (W + GAP), W + GAP, 1};
        I.strides = gap ? strides : NULL;
        for (int run = 0; run < 3; run++) {
            static const lw_backend backend[] = {LW_BACKEND_INTERP, LW_BACKEND_TREE,
                                                 LW_BACKEND_JIT};
            lw_run_options o = {.struct_size = sizeof o, .backend = backend[run]};
            O.data = out[run > 0];
            memset(O.data, 0x55, sizeof out[0]);
            const DLTensor *args[] = {&I, &F, &O};
            CHECK_INT_EQ(lw_run(ctx, b, args, 3, &o), LW_OK);
            CHECK(run == 0 || !memcmp(out[0], out[1], sizeof out[0]));
        }
        lw_run_options given = {.struct_size = sizeof given, .schedule = {"flatten\n", "s.lws"}};
        const DLTensor *args[] = {&I, &F, &O};
        CHECK_INT_EQ(lw_run(ctx, b, args, 3, &given), gap ? LW_ERROR : LW_OK);
        if (gap)
            CHECK_STR_EQ(lw_diag_text(ctx), "s.lws:1:1: error: an argument of 'pw' is not "
                                            "contiguous in memory, so it cannot be flattened\n  "
                                            "flatten\n  ^~~~~~~\n");
    }
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}
