// PTX kernels on the emulator against the interpreter, and through ptxas.
#include "unit/check.h"
#include "choose/choose_gpu.h"
#include "sched/schedule.h"
#include "support/errlab.h"
#include "support/gpulab.h"
#include "support/pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Equal bits and no fault on the emulator. Gives the code.
static bool same(GpuLab *g, Lab *lab, const Program *p, const char *schedule, PtxCode *code) {
    const char *d = gpulab_difference(g, lab, p, schedule, code);
    if (!CHECK(d == NULL)) fprintf(stderr, "%s\n", d);
    return d == NULL;
}

static const char matmul[] =
    "program mm(M, N, K) {\n  input A: f32[M, K]\n  input B: f32[K, N]\n  output C: f32[M, N]\n"
    "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";

static void try_matmul(const char *schedule, int64_t m, int64_t n, int64_t k) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){m, n, k});
    if (CHECK(p != NULL)) same(&g, &lab, p, schedule, &code);
    lab_end(&lab);
    gpulab_close(&g);
}

TEST(plain_matmul) { try_matmul(NULL, 5, 7, 9); }

static void try_program(const char *text, const int64_t *sizes, const char *schedule) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    if (CHECK(p != NULL)) same(&g, &lab, p, schedule, &code);
    lab_end(&lab);
    gpulab_close(&g);
}

TEST(windows) {
    try_program(
        "program concat { input A: f32[3] input B: f32[7] output O: f32[10] temp T: f32[10]\n"
        "T: for i in 0:3\n T[i] = A[i]\n T.1: for i in 0:7\n T[i + 3] = B[i]\n"
        "O: for i in 0:10\n O[i] = T[9 - i] }",
        NULL, "T:\n    at i/3\n    copy A at i\nO: i/3\n");
}

TEST(tiled_matmul) {
    const char *s = "C: m/16:grid.y n/32:grid.x k/8 m/2:thread.y k n/4:thread.x m n\n"
                    "    copy A at k/8 place shared stages 3 by async\n"
                    "    copy B at k/8 place shared stages 3 by async\n";
    try_matmul(s, 32, 64, 64);
    try_matmul(s, 35, 70, 61);
    try_matmul(s, 16, 32, 8);
}

TEST(groups_in_k) {
    const char *s = "C: m/16:grid.y n/32:grid.x k/32:thread.z k/8 m/4:thread.y k n/4:thread.x m n\n"
                    "    copy A at k/8 place shared stages 2 by async\n"
                    "    copy B at k/8 place shared stages 2 by async\n";
    try_matmul(s, 32, 64, 64);
    try_matmul(s, 35, 72, 100);
}

// The blocks of a cluster divide k; with a post-operation, in f64, with groups of threads, and with
// a tail.
TEST(clusters_divide_k) {
    const char *s = "C: m/16:grid.y n/32:grid.x k/32:cluster k/8 m/2:thread.y k n/4:thread.x m n\n"
                    "    copy A at k/8 place shared stages 3 by async\n"
                    "    copy B at k/8 place shared stages 3 by async\n";
    try_matmul(s, 32, 64, 64);
    try_matmul(s, 35, 70, 101);
    try_matmul(s, 16, 32, 256);
    try_matmul("C: m/8:grid.y n/32:grid.x k/20:cluster k/5:thread.z m:thread.y n:thread.x k\n", 20,
               40, 61);
    try_matmul("C: k/11:cluster m n k\n", 5, 6, 33);
    try_program("program p(M, K) { input A: f64[M, K] output O: f64[M]\n"
                "O: for i in 0:M, k in 0:K  O[i] +=! A[i, k]\n"
                "O.1: for i in 0:M post  O[i] = relu(O[i]) }",
                (int64_t[]){7, 300}, "O: i:grid.x k/100:cluster k:thread.x\n");
}

// Blocks of a cluster that write different elements do not meet.
TEST(clusters_of_independent_blocks) {
    try_matmul("C: m/16:grid.y n/8:cluster k m:thread.y n:thread.x\n", 20, 40, 9);
    try_program("program p(M, N) { input A: f32[M, N] output O: f32[M, N]\n"
                "O: for i in 0:M, j in 0:N  O[i, j] = A[i, j]*2.0 }",
                (int64_t[]){6, 50}, "O: i:grid.x j/10:cluster j:thread.x\n");
}

static void refuse_cluster(const char *text, const char *schedule, int sm, const char *why) {
    Lab lab;
    PtxCode code;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, (int64_t[]){40, 40});
    Tree *t = CHECK(p) ? tree_lower(&lab.arena, p, lab_schedule(&lab, schedule), &lab.diags) : NULL;
    PtxOptions o = {.sm = sm, .machine = &gpu_machine_h200};
    CHECK(t && !ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags));
    if (!CHECK(strstr(lab_errors(&lab), why))) printf("%s\n", lab_errors(&lab));
    lab_end(&lab);
}

TEST(impossible_clusters_are_refused) {
    const char *sum = "program p(M, K) { input A: f32[M, K] output O: f32[M]\n"
                      "O: for i in 0:M, k in 0:K  O[i] +=! A[i, k] }";
    refuse_cluster(sum, "O: i:grid.x k/20:cluster k\n", 80, "need --target sm_90");
    refuse_cluster(sum, "O: i:grid.x k/4:cluster k\n", 90,
                   "the loop marked 'cluster' has 10 iterations; a cluster has at most 8 blocks");
    refuse_cluster("program p(M, K) { input A: f32[M, K] output O: f32[M, 7]\n"
                   "O: for i in 0:M, k in 0:K  O[i, k%7] max=! A[i, k] }",
                   "O: i:grid.x k/10:cluster k\n", 90, "depend on each other");
    refuse_cluster("program p(M, K) { input A: f32[M, K] output O: f32[M] temp T: f32[M, K]\n"
                   "T: for i in 0:M, k in 0:K  T[i, k] = A[i, k]*2.0\n"
                   "O: for i in 0:M, k in 0:K  O[i] +=! T[i, 39 - k] }",
                   "T: i:grid.x k/10:cluster k\nO: i:grid.x k\n", 90,
                   "the blocks of a cluster need each other's values of 'T'");
    refuse_cluster("program p(M, K) { input A: f32[M, K] output O: f32[M] temp T: f32[M, K]\n"
                   "T: for i in 0:M, k in 0:K  T[i, k] = A[i, k]*2.0\n"
                   "O: for i in 0:M, k in 0:K  O[i] +=! T[i, 39 - k] }",
                   "T: i:grid.x k/20:cluster k\n    at i\nO: i:grid.x k/20:cluster k\n", 90,
                   "at most one loop");
}

// Any bits of a lane belong to any loop, and groups of warps divide each staged tile.
TEST(warps_and_lanes) {
    const char *s = "C: m/32:grid.y n/64:grid.x k/16 k/8:warp m/16:warp n/32:warp k m/8:lane "
                    "n/8:lane m/4:lane n/4:lane m n\n"
                    "    copy A at k/16 layout (k m) place shared stages 3 by async\n"
                    "    copy B at k/16 place shared stages 3 by async\nC.A: m/4 k/8 m k\n";
    try_matmul(s, 64, 64, 64);
    try_matmul(s, 37, 70, 41);
    try_matmul("C: k/3:warp m/4:lane k:lane n/2:lane m n\n", 9, 6, 17);
}

TEST(rows) {
    const char *text = "program softmax(N, M) { input X: f32[N, M] output Y: f32[N, M]\n"
                       "temp T: f32[N] temp E: f32[N, M] temp S: f32[N]\n"
                       "T: for r in 0:N, c in 0:M  T[r] max=! X[r, c]\n"
                       "E: for r in 0:N, c in 0:M  E[r, c] = X[r, c] - T[r]\n"
                       "S: for r in 0:N, c in 0:M  S[r] +=! E[r, c]\n"
                       "Y: for r in 0:N, c in 0:M  Y[r, c] = E[r, c] + S[r] }";
    const char *s = "T: r:grid.x c/256 c/4:thread.x c\nE: r:grid.x c/256 c/4:thread.x c\n"
                    "S: r:grid.x c/256 c/4:thread.x c\nY: r:grid.x c/256 c/4:thread.x c\n";
    try_program(text, (int64_t[]){3, 512}, s);
    try_program(text, (int64_t[]){3, 501}, s);
    try_program(text, (int64_t[]){5, 7}, NULL);
}

static const char softmax[] = "program softmax(N, M) { input X: f32[N, M] output Y: f32[N, M]\n"
                              "temp T: f32[N] temp E: f32[N, M] temp S: f32[N]\n"
                              "T: for r in 0:N, c in 0:M  T[r] max=! X[r, c]\n"
                              "E: for r in 0:N, c in 0:M  E[r, c] = exp(X[r, c] - T[r])\n"
                              "S: for r in 0:N, c in 0:M  S[r] +=! E[r, c]\n"
                              "Y: for r in 0:N, c in 0:M  Y[r, c] = E[r, c]/S[r] }";

static const char angles[] = "program angles(N) { input X: f64[N] output Y: f64[N]\n"
                             "Y: for i in 0:N  Y[i] = sin(X[i]) + X[i]%f64(3.0) }";

// One block of 256 threads: the assembler unrolls its loops, and has registers for that.
static const char lonely[] =
    "program lonely { input A: f32[5, 3] input W: f32[3, 7] output O: f32[5, 7] output S: f32[]\n"
    "temp T: f32[5, 7]\n"
    "T: for i in 0:5, j in 0:7, k in 0:3  T[i, j] +=! A[i, k]*W[k, j]\n"
    "O: for i in 0:5, j in 0:7 post  O[i, j] = relu(T[i, j])\n"
    "S: for i in 0:5, j in 0:7  S[] +=! T[i, j] }";

// Threads with an array of 272 elements each: they stay in local memory.
static const char arrays[] =
    "program arrays { input Q: f32[3, 34, 8] input X: f32[3, 34, 8] output S: f32[3, 34, 34]\n"
    "temp K: f32[3, 34, 8]\n"
    "K: for b in 0:3, n in 0:34, d in 0:8  K[b, n, d] = X[b, n, d]*2.0\n"
    "S: for b in 0:3, n in 0:34, m in 0:34, d in 0:8  S[b, n, m] +=! Q[b, n, d]*K[b, m, d] }";

// One thread runs both loops.
static const char alone[] = "program alone { input A: f32[] output O: f32[11, 3]\n"
                            "O: for i in 0:16, j in 0:33  O[j/3, j%3] min=! A[] }";

// ptxas accepts the text for both architectures, without spills.
static void assembles(const char *text, const int64_t *sizes) {
    static const char *const arch[] = {"sm_80", "sm_90a"};
    Lab lab;
    PtxCode code;
    PtxOptions o = {.machine = &gpu_machine_h200};
    char why[4096];
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    const Schedule *s = CHECK(p) ? choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL) : NULL;
    Tree *t = CHECK(s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (CHECK(t) && CHECK(ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags)))
        for (int i = 0; i < 2; i++)
            if (!CHECK(gpulab_assembles(code.text, arch[i], false, why, sizeof why)))
                printf("%s\n", why);
    lab_end(&lab);
}

TEST(texts_assemble_without_spills) {
    if (!gpulab_has_ptxas()) {
        printf("SKIPPED: there is no ptxas; LW_PTXAS names one\n");
        return;
    }
    assembles(matmul, (int64_t[]){1024, 1024, 1024});
    assembles(matmul, (int64_t[]){100, 70, 130});
    assembles(softmax, (int64_t[]){4096, 4096});
    assembles(angles, (int64_t[]){1000});
    assembles(lonely, NULL);
    assembles(arrays, NULL);
    assembles(alone, NULL);
}

// --- Counts --------------------------------------------------------------------------------------

static const char transpose[] = "program transpose(M, N) { input X: f32[M, N] output Y: f32[N, M]\n"
                                "Y: for j in 0:N, i in 0:M  Y[j, i] = X[i, j] }";

// Runs a Schedule (NULL: the chosen one) on the emulator, which counts.
static DeviceCounts counts_of(const char *text, const int64_t *sizes, const char *schedule) {
    GpuLab g;
    Lab lab;
    DeviceCounts c = {0};
    if (!CHECK(gpulab_open(&g))) return c;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    const Schedule *s = !CHECK(p)  ? NULL
                        : schedule ? lab_schedule(&lab, schedule)
                                   : choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL);
    Tree *t = CHECK(s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (CHECK(t)) {
        LabData d = lab_data(&lab, p, 1);
        CHECK(gpulab_run(&g, &lab, t, &d, (InterpFlags){0}) == GPU_OK);
        c = g.counts;
    }
    lab_end(&lab);
    gpulab_close(&g);
    return c;
}

TEST(kernels_have_no_bank_conflicts) {
    static const struct {
        const char *text;
        int64_t sizes[3];
        const char *schedule;
    } cases[] = {
        {matmul, {128, 256, 32}, NULL},
        {matmul, {128, 128, 128}, NULL},
        {matmul,
         {64, 128, 32},
         "C: m/64:grid.y n/128:grid.x k/16 k/8:warp m/32:warp n/64:warp k n/32 m/16:lane n/8:lane "
         "m/8:lane n/4:lane m n\n    copy A at k/16 layout (k m) place shared stages 2 by async\n"
         "    copy B at k/16 place shared stages 2 by async\nC.A: m/4 k/8 m k\n"},
        {transpose, {128, 96}, NULL},
        {softmax, {40, 512}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        DeviceCounts c = counts_of(cases[i].text, cases[i].sizes, cases[i].schedule);
        CHECK(c.shared_ideal > 0);
        if (!CHECK_INT_EQ(c.shared_wavefronts, c.shared_ideal)) printf("case %zu\n", i);
    }
}

// The sum of a block of 392 threads: each stores a word and loads the result, and one warp loads
// all words. Warps of a whole block exchange one word each.
TEST(threads_of_a_block_combine_in_few_wavefronts) {
    const char *text = "program p(M, N, K) { input X: f32[M, N, K] output S: f32[M]\n"
                       "  S: for m in 0:M, n in 0:N, k in 0:K  S[m] +=! X[m, n, k] }";
    const char *axes = "S: m:grid.x n/2 n:thread.y k/4:thread.x k\n";
    DeviceCounts c = counts_of(text, (int64_t[]){3, 8, 784}, axes);
    CHECK_INT_EQ(c.shared_wavefronts, 3 * (13 + 13 + 1 + 13));
    CHECK_INT_EQ(c.shared_wavefronts, c.shared_ideal);
    c = counts_of(text, (int64_t[]){3, 8, 768}, axes);
    CHECK_INT_EQ(c.shared_wavefronts, 3 * (12 + 12 * 12));
}

// The estimate of a kernel of one thread does not assume the blocks of the kernel behind it.
TEST(cycles_are_those_of_each_kernel) {
    const char *text = "program p(N) { input X: f32[N] output R: f32[] output Y: f32[N]\n"
                       "  R: for i in 0:N  R[] +=! X[i]\n"
                       "  Y: for i in 0:N  Y[i] = X[i]*R[] }";
    DeviceCounts c = counts_of(text, (int64_t[]){4096}, "R: i\nY: i/64:grid.x i:thread.x\n");
    CHECK(c.cycles > 4 * 4096 && c.cycles < 400 * 4096);
}

static const char halves[] =
    "program halves(M, N, K) { input A: f16[M, K] input B: f16[N, K] output C: f32[M, N]\n"
    "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! f32(A[m, k])*f32(B[n, k]) }";
static const char bytes[] = "program bytes(M, N) { input X: i8[M, N] output Y: i8[N, M]\n"
                            "Y: for j in 0:N, i in 0:M  Y[j, i] = X[i, j] }";
static const char dots[] = "program dots(M, N, K) { input A: f32[M, K] input B: f32[N, K] output "
                           "C: f32[M, N]\nC: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, "
                           "k]*B[n, k] }";

// Wavefronts without and with `swizzle 128` on every copy: the first numbers are what was counted.
TEST(swizzles_remove_bank_conflicts) {
    static const struct {
        const char *text;
        int64_t sizes[3];
        const char *schedule; // with %s where the word stands
        int64_t plain, swizzled;
    } cases[] = {
        {halves,
         {128, 128, 128},
         "C: m/16:grid.y n/32:grid.x k/64 k/16:warp k m/8:lane n%%8:lane m/4:lane n%%4:lane m n\n"
         "    copy A at k/64 place shared%s\n    copy B at k/64 place shared%s\n",
         209920,
         62464},
        {bytes,
         {128, 128},
         "Y: j/32:grid.y i/32:grid.x j/4:thread.y i:thread.x j\n"
         "    copy X at i/32 place shared%s\n",
         4224,
         2176},
        {dots, // padding and swizzle have none
         {64, 128, 64},
         "C: m/64:grid.y n/128:grid.x k/32 k/16:thread.z m/8:thread.y k n%%8:thread.x m n\n"
         "    copy A at k/32 place shared%s stages 2 by async\n"
         "    copy B at k/32 place shared%s stages 2 by async\n",
         4992,
         4992},
        {transpose,
         {128, 96},
         "Y: j/32:grid.y i/32:grid.x j/4:thread.y i:thread.x j\n"
         "    copy X at i/32 place shared%s\n",
         768,
         768},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int z = 0; z < 2; z++) {
            char schedule[512];
            const char *word = z ? " swizzle 128" : "";
            snprintf(schedule, sizeof schedule, cases[i].schedule, word, word);
            DeviceCounts c = counts_of(cases[i].text, cases[i].sizes, schedule);
            int64_t want = z ? cases[i].swizzled : cases[i].plain;
            if (!CHECK_INT_EQ(c.shared_wavefronts, want)) printf("case %zu\n", i);
        }
}

// --- Functions ---------------------------------------------------------------------------------

// Numbers of every size, and special ones.
static double argument(uint64_t *state, int i, bool wide) {
    static const double special[] = {0,     -0.0, 1,    -1,       0.5,       -0.5, 2,   -2,
                                     1e-40, 3e38, 100,  INFINITY, -INFINITY, NAN,  1e6, 0.25,
                                     3,     -3,   1.25, 5,        -2.5,      7,    8,   -30};
    static const double wide_special[] = {5e-324, 1e-310, 1e308, -1e308, 709.5, 710.2, -745.1};
    enum { SPECIAL = sizeof special / sizeof *special };
    if (i < SPECIAL) return special[i];
    if (wide && i < SPECIAL + 7) return wide_special[i - SPECIAL];
    double x = (double)(int64_t)check_random(state) * 0x1p-63;
    static const double scale[] = {1, 10, 1e-3, 40, 1e3, 4, 1e8, 1e30};
    x *= scale[i % 8];
    if (wide && i % 16 == 15) x *= 1e200;
    return wide ? x : (float)x;
}

static int64_t ordered(double x, bool wide) {
    int64_t bits;
    int32_t half;
    float f = (float)x;
    memcpy(&bits, &x, 8);
    memcpy(&half, &f, 4);
    if (wide) return bits < 0 ? -(bits & INT64_MAX) : bits;
    return half < 0 ? -(int64_t)(half & INT32_MAX) : half;
}

// docs/arithmetic.md, of f64: 8 units in the last place of the larger of the result and this
// number.
static double least_size(ExprOp op, double x) {
    if (op == OP_TGAMMA) return 0;
    if (op == OP_LGAMMA) return x < 0 ? 1 : 0;
    return x == 0 || isinf(x) ? 0 : sqrt(2 / (3.14159265358979324 * fabs(x)));
}

static bool is_special(ExprOp op) {
    return op == OP_TGAMMA || op == OP_LGAMMA || op == OP_J0 || op == OP_J1 || op == OP_Y0 ||
           op == OP_Y1;
}

// To as many units in the last place as docs/arithmetic.md allows; some C libraries' cbrt is wrong
// by so many itself.
static bool close_enough(ExprOp op, double x, double got, double want, bool wide) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (wide && is_special(op) && got != want && isfinite(got) && isfinite(want)) {
        int e;
        frexp(fmax(fabs(want), least_size(op, x)), &e);
        return fabs(got - want) <= 8 * ldexp(1, e < -1021 ? -1074 : e - 53);
    }
    int64_t d = ordered(got, wide) - ordered(want, wide), most = wide ? 4 : 2;
    if (wide && (op == OP_CBRT || op == OP_RCBRT)) most = 6;
    return d >= -most && d <= most;
}

static const Program *function_program(Lab *lab, ExprOp op, const char *type, int n) {
    static const char *const names[] = {"A", "B", "C", "D"};
    Text text = {.arena = &lab->arena};
    int arity = op_info[op].arity;
    text_add(&text, "program f {\n");
    for (int k = 0; k < arity; k++) text_printf(&text, "input %s: %s[%d]\n", names[k], type, n);
    text_printf(&text, "output Y: %s[%d]\nY: for i in 0:%d  Y[i] = %s(", type, n, n,
                op_info[op].name);
    for (int k = 0; k < arity; k++) text_printf(&text, "%s%s[i]", k ? ", " : "", names[k]);
    text_add(&text, ") }");
    return lab_program(lab, text_str(&text), NULL);
}

// A function against the arithmetic that defines it.
static void try_function(GpuLab *g, ExprOp op, Type type) {
    bool wide = type == TYPE_F64;
    Lab lab;
    lab_begin(&lab);
    int arity = op_info[op].arity, n = (int)check_long_rounds(320);
    const Program *p = function_program(&lab, op, wide ? "f64" : "f32", n);
    Tree *t = p ? tree_lower(&lab.arena, p, NULL, &lab.diags) : NULL;
    PtxCode code;
    PtxOptions o = {.machine = &gpu_machine_h200};
    bool has = CHECK(t && ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags));
    LabData d = lab_data(&lab, p, 1);
    uint64_t state = (uint64_t)op + check_first_seed();
    for (int k = 0; has && k < arity; k++)
        for (int i = 0; i < n; i++) lab_set(&d, k, i, argument(&state, (i + 5 * k) % n, wide));
    bool ran = has && CHECK(gpulab_run_code(g, &lab, t, &code, &d) == GPU_OK);
    if (has && !ran) printf("%s: %s\n", op_info[op].name, g->text);
    for (int i = 0; ran && i < n; i++) {
        Value v[4];
        for (int k = 0; k < arity; k++) v[k].f = lab_value(&d, k, i);
        double want = op_eval(op, type, v).f, got = lab_value(&d, arity, i);
        if (!CHECK(close_enough(op, v[0].f, got, want, wide)))
            printf("%s(%a, %a) = %a, want %a\n", op_info[op].name, v[0].f, arity > 1 ? v[1].f : 0,
                   got, want);
    }
    lab_end(&lab);
}

TEST(functions_of_f32_are_right_to_two_units) {
    GpuLab g;
    if (!CHECK(gpulab_open(&g))) return;
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].class == OP_MATH) try_function(&g, (ExprOp)op, TYPE_F32);
    gpulab_close(&g);
}

TEST(functions_of_f64_are_right_to_four_units) {
    GpuLab g;
    if (!CHECK(gpulab_open(&g))) return;
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].class == OP_MATH) try_function(&g, (ExprOp)op, TYPE_F64);
    gpulab_close(&g);
}

// A value that was assigned before a loop is stored although the loop's guards exclude the element.
TEST(guards_of_a_loop_keep_what_was_assigned) {
    try_program("program p { input A: f32[17] output T: f32[17, 2]\n"
                "T: for k in 2:5, i in 0:17, j in 0:2 if i + j - 1 >= 0\n T[i, j] +=! A[j/3] }",
                NULL, "T: j\n");
}

// A value that waits to be stored is stored before a branch that may read it.
TEST(branches_read_what_was_assigned) {
    try_program("program p { input A: f32[1, 13] input B: f32[15] input D: f32[31]\n"
                "output O: f32[3, 248] temp T: f32[1]\n"
                "T: for i in 0:1, k in 0:1\n T[i] *=! A[i, 2*k]\n"
                "O: for i in 0:31, k in 0:3, j in 0:8\n O[k, i + 31*j] = "
                "select(A[0, max(0, min(12, (i + k)/2))] <= B[2*j], D[i], T[(j - 1)%2/2]) }",
                NULL, "T:\n    at j/2\nO: i j/3 j/2\n");
}

// A loop that keeps an element of a row in a register loads it after the row is stored.
TEST(loops_read_what_was_assigned) {
    try_program("program p { input A: u8[7, 23] input B: u8[2] output O: u8[7, 23]\n"
                "O: for i in 0:7, j in 0:23  O[i, j] = A[i, j]\n"
                "O.1: for k in 0:23, i in 0:7, h in 0:2  O[i, i] += B[h] }",
                NULL, "O: i j\nO.1: i k h\n");
}

// A reduction over thread.x that number 0 of thread.y runs is stored by that thread alone.
TEST(one_thread_stores_a_reduction) {
    try_program("program p(M, N) { input A: i32[M, N] output O: i32[M]\n"
                "O: for i in 0:M, j in 0:N  O[i] +=! A[i, j] }",
                (int64_t[]){256, 16},
                "O: j/4:thread.y i j:thread.x\n    copy A at i place shared\n");
    try_program("program p(M, N, K) { input A: i32[M, N] input B: i32[K, N] output O: i32[M, K]\n"
                "O: for i in 0:M, k in 0:K, j in 0:N  O[i, k] +=! A[i, j]*B[k, j] }",
                (int64_t[]){17, 16, 17},
                "O: j/4:thread.y i k j:thread.x\n    copy B at i place shared\n");
}

// Asynchronous copies fill shared memory: a buffer of one thread, and one that shared memory has no
// room for, are filled through registers.
TEST(asynchronous_copies_fill_shared_memory) {
    try_matmul("C: n/16:thread.x n k m\n    copy B at n place shared by async\n", 33, 64, 2);
    try_matmul("C: n/16:thread.x n k m\n    copy B at n place shared stages 2 by async\n", 9, 64,
               2);
    try_matmul("C: k/512 m:thread.x n k\n    copy B at k/512 place shared by async\n", 2, 120, 600);
    try_matmul("C: k/512 m:thread.x n k\n    copy B at k/512 place shared stages 2 by async\n", 2,
               60, 600);
}

// An offset of more than 24 bits is added in a register.
TEST(far_elements) {
    try_program(
        "program p { input A: f32[8, 999] output T: f32[]\n"
        "T: for k in 0:32\n T[] min=! select(index(7 - 999*k) >= i64(0), A[999*k, k], 1.0) }",
        NULL, NULL);
    try_program("program p { input A: f32[8, 999] output T: f32[]\n"
                "T: for k in 0:32\n T[] min=! select(index(k - 31) >= i64(0), A[999*k - 30969, k], "
                "1.0) }",
                NULL, NULL);
}

// Threads fill a buffer in turns, [2*turn + t], and read neighbours, [2*t + i]: digits of the same
// sizes that belong to different threads, so that a barrier is needed.
TEST(barriers_between_turns_and_neighbours) {
    const char *text = "program p(M, K) { input A: i32[M, K] input B: i32[M, K] output C: i32[]\n"
                       "C: for m in 0:M, k in 0:K  C[] +=! A[m, k]*B[m, k] }";
    try_program(text, (int64_t[]){3, 16},
                "C: m/4 k/16 k m/2:thread.z m\n    copy A at k place shared\n"
                "    copy B at m place shared\n");
    try_program(
        text, (int64_t[]){33, 1},
        "C: m/4 m/2:thread.y k m:thread.z\n    copy A at m/4 place shared stages 2 by async\n"
        "    copy B at m/4 place shared stages 2 by async\n");
}

// More results of reductions over threads than shared memory has room for.
TEST(reductions_use_slots_again) {
    try_matmul("C: k/16:thread.x m/8:thread.y k/2:thread.z m n k\n", 64, 64, 17);
    try_matmul("C: k/16 k/5:thread.z n:thread.y k:thread.x m\n    copy A at k place shared\n", 64,
               40, 33);
}

// Many results in rows of many threads.
TEST(reductions_of_long_rows) {
    try_matmul("C: n/16 k:thread.y m n\n    copy B at k place shared by async\n", 33, 33, 64);
}

// A reduction beside threads that reduce together keeps its own operation and start.
TEST(a_reduction_beside_threads_that_meet) {
    const char *text = "program p {\n  input A: i32[4, 4]\n  output O: i32[]\n  temp T: i32[4]\n"
                       "  T: for j in 0:4, i in 0:4  T[j] max=! A[i, j]\n"
                       "  O: for i in 0:4, j in 0:4  O[] min=! max(T[j], 0) + A[i, j]\n}\n";
    try_program(text, NULL,
                "T: j i\n    at j/4\n    place shared\nO: j/4 i/4 j:thread.x i:thread.y\n");
}

// The guard of an unrolled value says nothing about the element that it is added to.
TEST(guards_of_unrolled_values_that_meet) {
    const char *text = "program p(W, G, C) {\n  input I: f32[W, G, C]\n  input K: f32[3, C, G, C]\n"
                       "  output O: f32[W, G, C]\n"
                       "  O: for w in 0:W, g in 0:G, f in 0:C, s in 0:3, c in 0:C\n"
                       "      if w + s - 1 >= 0, W - w - s >= 0\n"
                       "      O[w, g, f] +=! I[w + s - 1, g, c]*K[s, c, g, f]\n}\n";
    try_program(text, (int64_t[]){5, 7, 6},
                "O: w%4:grid.z g/2 w c:thread.y f g s:u\n    unroll 128\n");
}

static int count_of(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

// Tiles that stick out of the result compute what nobody stores: their multiply-adds have no
// guards, with and without groups of warps that divide the sum. 33 = 2*16 + 1.
TEST(border_tiles_compute_without_guards) {
    static const char *const schedules[] = {
        "C: m/16:grid.y n/16:grid.x k/8 m/4:thread.y k n/4:thread.x m n\n"
        "    copy A at k/8 place shared\n    copy B at k/8 place shared\n",
        "C: m/16:grid.y n/16:grid.x k/8 k/4:warp k m/8:lane n/8:lane m/4:lane n/4:lane m n\n"
        "    copy A at k/8 place shared\n    copy B at k/8 place shared\n",
    };
    for (int i = 0; i < 2; i++) {
        GpuLab g;
        Lab lab;
        PtxCode full, border;
        if (!CHECK(gpulab_open(&g))) return;
        lab_begin(&lab);
        const Program *even = lab_program(&lab, matmul, (int64_t[]){32, 32, 16});
        const Program *odd = lab_program(&lab, matmul, (int64_t[]){33, 35, 16});
        if (CHECK(even && odd) && same(&g, &lab, even, schedules[i], &full) &&
            same(&g, &lab, odd, schedules[i], &border))
            CHECK_INT_EQ(count_of(border.text, "fma.rn"), 2 * count_of(full.text, "fma.rn"));
        // A branch for each copy and store, none for each product.
        CHECK(count_of(border.text, " bra") < 2 * count_of(full.text, " bra") + 40);
        lab_end(&lab);
        gpulab_close(&g);
    }
}

// The program under the Schedule is right, and its text has so many of each word.
typedef struct WordCount {
    const char *word;
    int n;
} WordCount;

static void try_counted(const char *text, const int64_t *sizes, const char *schedule,
                        const WordCount *want) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    if (CHECK(p) && same(&g, &lab, p, schedule, &code))
        for (; want->word; want++)
            if (!CHECK_INT_EQ(count_of(code.text, want->word), want->n)) printf("%s\n", want->word);
    lab_end(&lab);
    gpulab_close(&g);
}

// Equal divisions of unrolled iterations are one instruction.
TEST(equal_operations_are_computed_once) {
    const char *text = "program p(N) { input X: f32[N, 8] input S: f32[N] output Y: f32[N, 8]\n"
                       "  Y: for i in 0:N, j in 0:8  Y[i, j] = X[i, j]*(f32(1.0)/S[i]) }";
    try_counted(text, (int64_t[]){40}, "Y: i:thread.x j:u\n",
                (WordCount[]){{"div.rn", 1}, {"rcp.rn", 0}, {0}});
}

// Tiles at the border of a result whose k is divided among warps compute elements that do not exist
// rather than ask: some of their columns always exist, and their guards are no guards of stores.
TEST(border_tiles_of_groups_ask_at_copies_and_stores_only) {
    Lab lab;
    PtxCode code;
    PtxOptions o = {.machine = &gpu_machine_h200};
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){1000, 1000, 1024});
    const Schedule *s = CHECK(p) ? choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL) : NULL;
    Tree *t = CHECK(s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (CHECK(t) && CHECK(ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags)))
        CHECK(count_of(code.text, " bra ") < 120);
    lab_end(&lab);
}

// --- Rows of tables ------------------------------------------------------------------------------

TEST(rows_of_tables_are_found_once_and_loaded_as_vectors) {
    const char *text = "program p(B) { input T: f32[9, 8] input I: i32[B] output O: f32[B, 8]\n"
                       "  O: for b in 0:B, d in 0:8  O[b, d] = T[I[b], d] }";
    try_counted(text, (int64_t[]){20}, "O: b:thread.y d/4:thread.x d\n",
                (WordCount[]){{"ld.global.nc.v4", 1}, {"setp.ge.u64", 1}, {"red.global", 1}, {0}});
    try_counted(text, (int64_t[]){20}, "O: b/2:thread.y b d:u\n",
                (WordCount[]){{"ld.global.nc.v4", 4}, {"setp.ge.u64", 2}, {0}});
}

TEST(rows_are_chosen_by_rows) {
    try_counted("program p(B) { input T: f32[9, 4] input J: i32[7] input I: i32[B]\n"
                "  output O: f32[B, 4]\n"
                "  O: for b in 0:B, d in 0:4  O[b, d] = T[J[I[b]], d] + T[J[I[b]], 3 - d] }",
                (int64_t[]){20}, "O: b:thread.y d:u\n",
                (WordCount[]){{"ld.global.nc.v4", 1}, {"setp.ge.u64", 2}, {0}});
}

// Results that bypass the cache are stored as vectors.
TEST(nontemporal_stores_are_vectors) {
    try_counted("program p(B) { input T: f32[9, 8] input I: i32[B] output O: f32[B, 8]\n"
                "  O: for b in 0:B, d in 0:8  O[b, d] = T[I[b], d] }",
                (int64_t[]){20}, "O: b:thread.y d/4:thread.x d\n    nontemporal\n",
                (WordCount[]){{"st.global.cs.v4", 1}, {0}});
}

// The kernel writes the indices, or the table: every element is found for itself.
TEST(rows_of_what_is_written_are_not_kept) {
    try_counted("program p(B) { input T: f32[9, 4] inout I: i32[B] output O: f32[B, 4]\n"
                "  I: for b in 0:B  I[b] = (I[b] + 1)%9\n"
                "  O: for b in 0:B, d in 0:4  O[b, d] = T[I[b], d] }",
                (int64_t[]){20}, "I: b:thread.x\nO: b:thread.x d:u\n",
                (WordCount[]){{"ld.global.nc.v4", 0}, {0}});
}

// --- Reductions over threads ---------------------------------------------------------------------

// Sums begin with a constant in a register: nothing is written before, nor read.
TEST(reductions_begin_in_registers) {
    const char *text = "program p(N, K) { input A: f32[N, K] output S: f32[N]\n"
                       "  S: for i in 0:N, k in 0:K  S[i] +=! A[i, k] }";
    const WordCount fresh[] = {{"ld.global.b32", 0}, {"st.global", 1}, {"bar.sync", 1}, {0}};
    try_counted(text, (int64_t[]){5, 256}, "S: i:grid.x k/256 k/4:thread.x k\n", fresh);
    // The loop around is a part of the sum.
    try_program(text, (int64_t[]){5, 512}, "S: k/256 i k/4:thread.x k\n");
}

// Elements that are not summed up have their first value, too.
TEST(reductions_of_some_elements_begin_in_memory) {
    try_program("program p { input A: f32[9, 64] output S: f32[9]\n"
                "  S: for i in 0:9, k in 0:64 if i - 3 >= 0  S[i] +=! A[i, k] }",
                NULL, "S: i k:thread.x\n");
    try_program("program p { input A: f32[9, 64] output S: f32[20]\n"
                "  S: for i in 0:9, k in 0:64  S[2*i] +=! A[i, k] }",
                NULL, "S: i k:thread.x\n");
}

// The loops of a staged copy may have any order and division.
TEST(staged_copies_have_loops_of_their_own) {
    try_program(
        "program conv { input I: f32[5, 7, 5] input K: f32[3, 5, 3, 3] output O: f32[3, 5, 3]\n"
        "  O: for o in 0:3, h in 0:5, w in 0:3, c in 0:5, r in 0:3, s in 0:3\n"
        "      O[o, h, w] +=! I[c, h + r, w + s]*K[o, c, r, s] }",
        NULL,
        "O: s r | h c/2 w/3 o c:any w:v\n    copy I at r place shared stages 3 by async\n"
        "O.I: d1/3 d1/2 c/3 c/4 c d2 d1:v |\n");
}

TEST(several_copies_fill_a_staged_buffer) {
    try_program("program concat { input A: f32[38] input B: f32[1] output O: f32[39]\n"
                "  temp T: f32[39]\n"
                "  T: for i in 0:38  T[i] = A[i]\n"
                "  T.1: for i in 0:1  T[i + 38] = B[i]\n"
                "  O: for i in 0:19  O[i] = T[38 - i] }",
                NULL, "T:\n    at i/9\n    stages 2\n    by async\nO: i/9 i/2\n");
}

// Rows that several statements read are loaded once, over the barriers of their reductions.
TEST(rows_are_loaded_once) {
    try_counted("program p(N, M) { input X: f32[N, M] output Y: f32[N, M] temp T: f32[N]\n"
                "  T: for i in 0:N, j in 0:M  T[i] +=! X[i, j]\n"
                "  Y: for i in 0:N, j in 0:M  Y[i, j] = X[i, j] - T[i] }",
                (int64_t[]){3, 512},
                "T: i:grid.x j/256 j/4:thread.x j\nY: i:grid.x j/256 j/4:thread.x j\n",
                (WordCount[]){{"ld.global", 2}, {0}});
}

// Quotients inside of tanh and sigmoid are normal numbers: they need no slow path.
TEST(functions_divide_by_estimates) {
    try_counted("program p(N) { input X: f32[N] output Y: f32[N]\n"
                "  Y: for i in 0:N  Y[i] = tanh(X[i]) }",
                (int64_t[]){40}, "Y: i:thread.x\n",
                (WordCount[]){{"div.rn", 0}, {"rcp.approx.ftz.f32", 1}, {0}});
}

// The operand of exp is clamped without comparisons; one is left, of the smallest results.
TEST(functions_clamp_without_comparisons) {
    try_counted("program p(N) { input X: f32[N] output Y: f32[N]\n"
                "  Y: for i in 0:N  Y[i] = exp(X[i]) }",
                (int64_t[]){32}, "Y: i:thread.x\n",
                (WordCount[]){{"min.NaN", 1}, {"max.NaN", 1}, {"setp", 1}, {0}});
}

// A row with a tail: one test guards the vector of the last iteration; vectors of the others stay
// in registers although that test follows them.
TEST(rows_with_a_tail_are_loaded_as_vectors) {
    const char *text = "program p(N, M) { input X: f32[N, M] output Y: f32[N, M] temp T: f32[N]\n"
                       "  T: for i in 0:N, j in 0:M  T[i] +=! X[i, j]\n"
                       "  Y: for i in 0:N, j in 0:M  Y[i, j] = X[i, j] - T[i] }";
    const char *schedule = "T: i:grid.x j/256 j/4:thread.x j\nY: i:grid.x j/256 j/4:thread.x j\n";
    try_counted(text, (int64_t[]){3, 520}, schedule,
                (WordCount[]){{"ld.global.nc.v4", 4}, {"ld.global.nc.b32", 0}, {"setp", 4}, {0}});
    try_program(text, (int64_t[]){3, 523}, schedule);
    try_program(text, (int64_t[]){2, 1033}, schedule);
}
