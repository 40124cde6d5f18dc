// Kernels, roofs, objects: the parts of the API that concern machine code.
#include "unit/check.h"

#include "loopwright.h"

#include <string.h>

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n"
                           "}\n"
                           "def pick(float(N) x, int32(M) at) -> (o) { o(i) = x(at(i)) }\n";

static DLTensor tensor(void *data, int rank, int64_t *shape, int64_t *strides, bool integer) {
    return (DLTensor){data,  {kDLCPU, 0}, rank, {integer ? kDLInt : kDLFloat, 32, 1},
                      shape, strides,     0};
}

static lw_bound *bind(lw_context *ctx, const char *name, const int64_t *values, size_t n) {
    lw_module *mod;
    lw_bound *b = NULL;
    if (!CHECK(lw_parse(ctx, "t.tc", text, sizeof text - 1, NULL, &mod) == LW_OK)) return NULL;
    CHECK(lw_bind_values(ctx, lw_module_find(mod, name), values, n, &b) == LW_OK);
    lw_module_free(mod);
    return b;
}

TEST(kernels_outlive_everything_else) {
    lw_context *ctx = lw_context_new(NULL), *other = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){3, 4, 5}, 3);
    lw_kernel *k = NULL;
    if (!CHECK(lw_compile(ctx, b, NULL, &k) == LW_OK)) return;
    CHECK(lw_kernel_hold(k) == k);
    lw_kernel_free(k);
    lw_bound_free(b);
    lw_context_free(ctx);
    const lw_kernel_info *info = lw_kernel_get_info(k);
    CHECK_STR_EQ(info->name, "mm");
    CHECK(info->arg_count == 3 && info->code_bytes > 0 && !info->parallel);
    CHECK_F64_EQ(info->flops, 2 * 3 * 4 * 5);
    CHECK_F64_EQ(info->bytes, 4 * (12 + 20 + 15));
    CHECK_F64_EQ(info->written_bytes, 4 * 15);
    CHECK(lw_kernel_tensor(k, 3) == NULL && lw_kernel_tensor(k, 2)->shape[1] == 5);
    CHECK(lw_bound_value(lw_kernel_bound(k), 2) == 5 || lw_bound_value(lw_kernel_bound(k), 1) == 5);
    float a[12], bb[20], c[15];
    for (int i = 0; i < 12; i++) a[i] = (float)i;
    for (int i = 0; i < 20; i++) bb[i] = i % 6 == 0 ? 1 : 0;
    CHECK(lw_kernel_call(k, (void *const[]){a, bb, c}, NULL, 1) == 0);
    CHECK_F64_EQ(c[5 * 2 + 3], 11);
    DLTensor A = tensor(a, 2, (int64_t[]){3, 4}, NULL, false);
    DLTensor B = tensor(bb, 2, (int64_t[]){4, 5}, NULL, false);
    DLTensor C = tensor(c, 2, (int64_t[]){3, 5}, NULL, false);
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o, .timing = &timing, .measure_seconds = 1e-4};
    memset(c, 0, sizeof c);
    const DLTensor *args[] = {&A, &B, &C};
    CHECK(lw_kernel_run(other, k, args, 3, &o) == LW_OK);
    CHECK_F64_EQ(c[5 * 1 + 1], 5);
    CHECK(timing.samples > 0 && timing.float_bits == 32 && timing.isa);
    CHECK(timing.compile_us == 0);
    const char *report;
    CHECK(lw_kernel_show(other, k, LW_STAGE_REPORT, true, &report) == LW_OK);
    CHECK(report && report[0] == '{' && strstr(report, "\"nests\""));
    CHECK(lw_kernel_show(other, k, LW_STAGE_ASM, false, &report) == LW_OK && strstr(report, "ret"));
    CHECK(lw_kernel_show(other, k, LW_STAGE_TREE, false, &report) == LW_MISUSE);
    lw_kernel_free(k);
    lw_context_free(other);
}

TEST(kernels_are_for_their_strides) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){2, 2, 2}, 3);
    float a[] = {1, 2, 3, 4}, bb[] = {1, 0, 0, 1}, c[4];
    int64_t shape[] = {2, 2}, turned[] = {1, 2};
    DLTensor A = tensor(a, 2, shape, turned, false), B = tensor(bb, 2, shape, NULL, false);
    DLTensor C = tensor(c, 2, shape, NULL, false), dense = tensor(a, 2, shape, NULL, false);
    lw_kernel *k = NULL;
    lw_compile_options o = {.struct_size = sizeof o};
    o.args = (const DLTensor *const[]){&A, NULL, NULL};
    if (!CHECK(lw_compile(ctx, b, &o, &k) == LW_OK)) return;
    CHECK(lw_kernel_tensor(k, 0)->strides[1] == 2);
    CHECK(lw_kernel_run(ctx, k, (const DLTensor *const[]){&A, &B, &C}, 3, NULL) == LW_OK);
    CHECK(c[1] == 3 && c[2] == 2);
    CHECK(lw_kernel_run(ctx, k, (const DLTensor *const[]){&dense, &B, &C}, 3, NULL) == LW_ERROR);
    CHECK(
        strstr(lw_diag_text(ctx),
               "argument 'A' should have the strides (1, 2) that the kernel was compiled for, but "
               "has (2, 1)"));
    CHECK(strstr(lw_diag_text(ctx), "strides count elements; compile another kernel for these "));
    lw_kernel_free(k);
    k = (lw_kernel *)ctx;
    DLTensor wrong = tensor(a, 1, (int64_t[]){4}, NULL, false);
    o.args = (const DLTensor *const[]){&wrong, NULL, NULL};
    CHECK(lw_compile(ctx, b, &o, &k) == LW_ERROR && k == NULL);
    o = (lw_compile_options){.struct_size = sizeof o, .isa = "neon"};
    CHECK(lw_compile(ctx, b, &o, &k) == LW_ERROR && strstr(lw_diag_text(ctx), "neon"));
    CHECK(lw_compile(ctx, NULL, NULL, &k) == LW_MISUSE);
    CHECK(lw_compile(ctx, b, NULL, NULL) == LW_MISUSE);
    lw_bound_free(b);
    lw_context_free(ctx);
}

TEST(kernels_say_which_subscript_is_wrong) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "pick", (int64_t[]){4, 2}, 2);
    float x[] = {1, 2, 3, 4}, o[2];
    int32_t at[] = {3, 4};
    DLTensor X = tensor(x, 1, (int64_t[]){4}, NULL, false);
    DLTensor I = tensor(at, 1, (int64_t[]){2}, NULL, true);
    DLTensor O = tensor(o, 1, (int64_t[]){2}, NULL, false);
    lw_kernel *k = NULL;
    if (!CHECK(lw_compile(ctx, b, NULL, &k) == LW_OK)) return;
    CHECK(lw_kernel_call(k, (void *const[]){x, at, o}, NULL, 1) == 1000);
    CHECK(lw_kernel_run(ctx, k, (const DLTensor *const[]){&X, &I, &O}, 3, NULL) == LW_ERROR);
    CHECK(lw_diag_count(ctx) == 1);
    at[1] = 0;
    CHECK(lw_kernel_run(ctx, k, (const DLTensor *const[]){&X, &I, &O}, 3, NULL) == LW_OK);
    CHECK(o[0] == 4 && o[1] == 1);
    lw_kernel_free(k);
    lw_bound_free(b);
    lw_context_free(ctx);
}

TEST(roofs_by_hand) {
    lw_machine m = {.cores = 4, .cache = {100, 1000, 10000}};
    m.gflops[LW_ISA_AVX2][0][0] = 100, m.gflops[LW_ISA_AVX2][0][1] = 400;
    double gbps[4][3] = {{100, 50, 80}, {50, 25, 40}, {20, 10, 16}, {10, 5, 8}};
    for (int l = 0; l < 4; l++)
        for (int k = 0; k < 3; k++) m.gbps[l][k][0] = gbps[l][k], m.gbps[l][k][1] = 2 * gbps[l][k];
    lw_timing t = {.struct_size = sizeof t, .isa = "avx2", .threads = 1, .float_bits = 32};
    lw_roof r;
    t.flops = 1e6, t.bytes = 90, t.written_bytes = 30;
    CHECK(lw_machine_roof(&m, &t, &r) == LW_OK && r.compute && r.level == LW_L1);
    CHECK_F64_EQ(r.us, 10);
    t.flops = 0, t.bytes = 3e6, t.written_bytes = 1e6; // a megabyte loaded, one copied
    CHECK(lw_machine_roof(&m, &t, &r) == LW_OK && !r.compute && r.level == LW_MEMORY);
    CHECK_F64_EQ(r.us, 1e6 / 10 * 1e-3 + 2e6 / 8 * 1e-3);
    t.threads = 2;
    CHECK(lw_machine_roof(&m, &t, &r) == LW_OK); // half of what all have: as much as one
    CHECK_F64_EQ(r.us, 1e6 / 10 * 1e-3 + 2e6 / 8 * 1e-3);
    t.bytes = 150, t.written_bytes = 0; // two first-level caches hold it
    CHECK(lw_machine_roof(&m, &t, &r) == LW_OK && r.level == LW_L1);
    t.isa = "neon";
    CHECK(lw_machine_roof(&m, &t, &r) == LW_MISUSE);
    CHECK(lw_machine_roof(NULL, &t, &r) == LW_MISUSE);
}

// A run that was twice as fast as its roof doubles the rates of that roof, in the file too.
TEST(rates_rise_to_a_faster_run) {
    lw_context *ctx = lw_context_new(NULL);
    const lw_machine *m;
    lw_roof r;
    lw_machine_options o = {.struct_size = sizeof o, .file = "rates.json"};
    if (!CHECK(lw_machine_get(ctx, &o, &m) == LW_OK && m->measured)) return;
    lw_timing t = {.struct_size = sizeof t, .isa = m->isa, .threads = 1, .bytes = 4096};
    CHECK(lw_machine_roof(m, &t, &r) == LW_OK && !r.compute && r.level == LW_L1);
    double load = m->gbps[LW_L1][0][0], beyond = m->gbps[LW_L2][0][0];
    t.p10_us = r.us / 2;
    o.run = &t;
    CHECK(lw_machine_get(ctx, &o, &m) == LW_OK && !m->measured);
    CHECK(m->gbps[LW_L1][0][0] > 1.9 * load && m->gbps[LW_L1][0][0] < 2.1 * load);
    CHECK(m->gbps[LW_L1][0][1] >= m->gbps[LW_L1][0][0]);
    o.run = NULL;
    CHECK(lw_machine_get(ctx, &o, &m) == LW_OK && !m->measured);
    CHECK(lw_machine_roof(m, &t, &r) == LW_OK && r.us <= 1.001 * t.p10_us);
    CHECK(m->gbps[LW_L2][0][0] < 1.1 * beyond);
    lw_context_free(ctx);
}

TEST(objects_in_memory) {
    lw_context *ctx = lw_context_new(NULL);
    lw_bound *b = bind(ctx, "mm", (int64_t[]){3, 4, 5}, 3);
    lw_emitted e, again;
    lw_emit_options o = {.struct_size = sizeof o, .name = "for", .isa = "avx2"};
    CHECK(lw_bound_emit(ctx, b, LW_EMIT_OBJ, &o, &e) == LW_OK);
    CHECK(e.size > 64 && !memcmp(e.bytes, "\177ELF", 4));
    CHECK_STR_EQ(e.function, "for_");
    CHECK(strstr(e.header, "int for__kernel(") != NULL);
    char first[64];
    memcpy(first, e.bytes, sizeof first);
    size_t size = e.size;
    CHECK(lw_bound_emit(ctx, b, LW_EMIT_OBJ, &o, &again) == LW_OK); // the same every time
    CHECK(again.size == size && !memcmp(again.bytes, first, sizeof first));
    CHECK(lw_bound_emit(ctx, b, (lw_emit)17, &o, &e) == LW_MISUSE && e.bytes == NULL);
    lw_bound_free(b);
    lw_context_free(ctx);
}

// If needed scratch memory is missing, nothing runs.
TEST(kernels_without_their_memory_do_not_run) {
    static const char chain[] =
        "def f(float(N) x) -> (o) {\n"
        "    t(i) +=! x(j) where i in 0:N\n    o(i) +=! t(j) where i in 0:N\n}\n";
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_bound *b;
    lw_kernel *k = NULL;
    static float x[1000], o[1000];
    if (!CHECK(lw_parse(ctx, "t.tc", chain, sizeof chain - 1, NULL, &mod) == LW_OK)) return;
    CHECK(lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){1000}, 1, &b) == LW_OK);
    if (!CHECK(lw_compile(ctx, b, NULL, &k) == LW_OK)) return;
    CHECK(lw_kernel_get_info(k)->scratch > 0);
    o[0] = 7;
    CHECK(lw_kernel_call(k, (void *const[]){x, o}, NULL, 1) == -1 && o[0] == 7);
    lw_kernel_free(k);
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}

// Strides of dimensions with at most one element are ignored.
TEST(kernels_take_idle_strides) {
    lw_context *ctx = lw_context_new(NULL);
    for (int n = 0; n < 2; n++) {
        lw_bound *b = bind(ctx, "mm", (int64_t[]){n, 3, 4}, 3);
        lw_kernel *k = NULL;
        float a[12] = {1, 2, 3}, bb[12] = {0}, c[12] = {0};
        if (!CHECK(lw_compile(ctx, b, NULL, &k) == LW_OK)) return;
        DLTensor A = *lw_kernel_tensor(k, 0), B = *lw_kernel_tensor(k, 1),
                 C = *lw_kernel_tensor(k, 2);
        A.data = a, B.data = bb, C.data = c;
        int64_t sa[] = {A.shape[0] > 1 ? A.strides[0] : INT64_MAX, A.strides[1]};
        int64_t empty[] = {77, -5};
        bool none = A.shape[0] == 0 || A.shape[1] == 0;
        A.strides = none ? empty : sa;
        CHECK(lw_kernel_run(ctx, k, (const DLTensor *const[]){&A, &B, &C}, 3, NULL) == LW_OK);
        lw_kernel_free(k);
        lw_bound_free(b);
    }
    lw_context_free(ctx);
}

// Halves of one matrix do not overlap although they interleave, and undecidable strides are refused
// quickly.
TEST(arguments_share_memory_or_not) {
    static const char twice[] = "def f(float(N,M) A) -> (O) { O(i,j) = A(i,j) * 2 }\n"
                                "def g(float(2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2) A) -> (O) {\n"
                                "    O(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p) = "
                                "A(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p) }\n";
    lw_context *ctx = lw_context_new(NULL);
    lw_module *mod;
    lw_bound *b;
    static float m[64 * 64];
    if (!CHECK(lw_parse(ctx, "t.tc", twice, sizeof twice - 1, NULL, &mod) == LW_OK)) return;
    CHECK(lw_bind_values(ctx, lw_module_function(mod, 0), (int64_t[]){64, 32}, 2, &b) == LW_OK);
    DLTensor A = *lw_bound_tensor(b, 0), O = *lw_bound_tensor(b, 1);
    A.strides = O.strides = (int64_t[]){64, 1};
    A.data = m, O.data = m + 32;
    CHECK(lw_run(ctx, b, (const DLTensor *const[]){&A, &O}, 2, NULL) == LW_OK);
    O.data = m + 31;
    CHECK(lw_run(ctx, b, (const DLTensor *const[]){&A, &O}, 2, NULL) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "memory"));
    lw_bound_free(b);
    CHECK(lw_bind_values(ctx, lw_module_function(mod, 1), NULL, 0, &b) == LW_OK);
    A = *lw_bound_tensor(b, 0), O = *lw_bound_tensor(b, 1);
    static float in[1 << 16];
    int64_t odd[16];
    for (int d = 0; d < 16; d++) odd[d] = ((int64_t)1 << 38) + 1 + 2 * d * d * d;
    A.data = in, O.data = m, O.strides = odd;
    CHECK(lw_run(ctx, b, (const DLTensor *const[]){&A, &O}, 2, NULL) == LW_ERROR);
    CHECK(strstr(lw_diag_text(ctx), "share memory, because of their strides"));
    lw_bound_free(b);
    lw_module_free(mod);
    lw_context_free(ctx);
}
