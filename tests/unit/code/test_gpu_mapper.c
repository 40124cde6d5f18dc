// The cases of TC's mapper tests (test_tc_mapper, test_tc_mapper_bugs, test_cuda_mapper) as
// Schedules on the emulator. Others are elsewhere: barriers in test_gpu_barriers.c, promotion to
// shared memory in text/gpu/promotion.t, tables in test_ptx.c.
#include "unit/check.h"
#include "poly/poly.h"
#include "sched/mapping.h"
#include "support/gpulab.h"
#include "support/pairs.h"
#include "support/shrink.h"

#include <stdio.h>
#include <string.h>

typedef struct WordCount {
    const char *word;
    int n;
} WordCount;

static int count_of(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

// The results under the Schedule are the interpreter's, and the text has so many of each word.
static bool try_counted(const char *text, const int64_t *sizes, const char *schedule,
                        const WordCount *want) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return false;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    if (!p) printf("%s\n", lab_errors(&lab));
    const char *d = CHECK(p) ? gpulab_difference(&g, &lab, p, schedule, &code) : "no program";
    bool right = CHECK(d == NULL);
    if (!right) printf("%s\nunder:\n%s", d, schedule);
    for (; right && want && want->word; want++)
        if (!CHECK_INT_EQ(count_of(code.text, want->word), want->n)) printf("%s\n", want->word);
    lab_end(&lab);
    gpulab_close(&g);
    return right;
}

static bool try_program(const char *text, const int64_t *sizes, const char *schedule) {
    return try_counted(text, sizes, schedule, NULL);
}

// --- Reductions ----------------------------------------------------------------------------------

static const char sums[] = "program sums(M, N) { input A: f32[M, N] output O: f32[M]\n"
                           "  O: for i in 0:M, j in 0:N  O[i] +=! A[i, j] }";

// Blocks of y rows, whose threads along x divide each sum: y and x need be no powers of two, and
// need not divide the sizes.
TEST(reductions_in_blocks_of_any_shape) {
    static const int shape[][2] = {{4, 7},  {4, 11}, {4, 15}, {4, 17},  {4, 24}, {5, 11}, {5, 17},
                                   {6, 24}, {7, 7},  {7, 32}, {7, 128}, {1, 32}, {8, 32}, {2, 512}};
    static const int64_t size[][2] = {{12, 12}, {12, 30}, {100, 16}, {21, 121}, {1, 512}, {45, 1}};
    char schedule[128];
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
            snprintf(schedule, sizeof schedule, "O: i/%d:grid.x i:thread.y j/%d j:thread.x\n",
                     shape[i][0], shape[i][1]);
            if (!try_program(sums, size[k], schedule)) return;
        }
}

// Statements before, between and after two reductions of one kernel, each with fewer loops, in
// blocks of 32, 512 and 1,000 threads.
TEST(statements_around_reductions) {
    const char *text = "program p(M, N) { input A: f32[M, N] input B: f32[M] output O: f32[M, N]\n"
                       "  temp U: f32[M] temp S: f32[M] temp V: f32[M] temp R: f32[M]\n"
                       "  U: for i in 0:M  U[i] = B[i]*2.0\n"
                       "  S: for i in 0:M, j in 0:N  S[i] +=! A[i, j] + U[i]\n"
                       "  V: for i in 0:M  V[i] = S[i] - B[i]\n"
                       "  R: for i in 0:M, j in 0:N  R[i] max=! A[i, j] + V[i]\n"
                       "  O: for i in 0:M, j in 0:N  O[i, j] = A[i, j] + R[i] }";
    static const int threads[] = {32, 512, 1000};
    char schedule[256];
    for (int i = 0; i < 3; i++) {
        int t = threads[i];
        snprintf(schedule, sizeof schedule,
                 "U: i:grid.x\nS: i:grid.x j/%d j:thread.x\nV: i:grid.x\n"
                 "R: i:grid.x j/%d j:thread.x\nO: i:grid.x j/%d j:thread.x\n",
                 t, t, t);
        try_program(text, (int64_t[]){3, 1100}, schedule);
        try_program(text, (int64_t[]){2, 31}, schedule);
    }
}

// --- Threads -------------------------------------------------------------------------------------

// A statement of one kernel with fewer thread loops, or fewer iterations, than another updates each
// element once: numbers of threads that it does not have are 0.
TEST(missing_threads_have_number_zero) {
    const char *text = "program p(G, M, N) { input A: f32[G, M, N] inout S: f32[G, N]\n"
                       "  output C: f32[G, M, N]\n"
                       "  C: for g in 0:G, i in 0:M, j in 0:N  C[g, i, j] = A[g, i, j] + 1.0\n"
                       "  S: for g in 0:G, j in 0:N  S[g, j] += C[g, 0, j] }";
    const char *rest[] = {"S: g:grid.x j:thread.x\n", "S: g:grid.x j:thread.y\n", "S: g:grid.x j\n",
                          "S: g:grid.x j/2:thread.y j\n"};
    char schedule[128];
    for (int i = 0; i < 4; i++) {
        snprintf(schedule, sizeof schedule, "C: g:grid.x i:thread.y j:thread.x\n%s", rest[i]);
        try_program(text, (int64_t[]){3, 5, 7}, schedule);
    }
}

static const char matmul[] =
    "program mm(M, N, K) {\n  input A: f32[M, K]\n  input B: f32[K, N]\n  output C: f32[M, N]\n"
    "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";

// Loops that barriers divide have more iterations than some threads have work: all threads reach
// each barrier.
TEST(idle_threads_reach_barriers) {
    const char *s = "C: m/48:grid.x k/8 m:thread.x k n\n    copy A at k/8 place shared\n"
                    "    copy B at k/8 place shared\n";
    try_program(matmul, (int64_t[]){40, 5, 19}, s);
    try_program(matmul, (int64_t[]){50, 3, 8}, s);
    try_program(matmul, (int64_t[]){7, 9, 33},
                "C: m/4:grid.y n/4:grid.x k/5:thread.z k m:thread.y n:thread.x\n"
                "    copy A at k/5 place shared\n");
}

// One block, one thread, one iteration, and none.
TEST(single_and_no_iterations) {
    const char *s = "C: m/16:grid.y n/16:grid.x m:thread.y n:thread.x k\n";
    try_program(matmul, (int64_t[]){1, 1, 1}, s);
    try_program(matmul, (int64_t[]){1, 1, 1}, "C: m n k\n");
    try_program(matmul, (int64_t[]){4, 4, 0}, s);
    try_program(matmul, (int64_t[]){0, 4, 4}, s);
    try_program("program p { input A: f32[] output O: f32[]\n  O: O[] = A[] }", NULL, "");
}

// --- Memory --------------------------------------------------------------------------------------

// Results of unrolled loops stay in registers from their initial values to the end of the sum: a
// thread loads the bias once, stores its two results once, and does not load them. Otherwise they
// are in memory.
TEST(sums_onto_a_bias_stay_in_registers) {
    const char *text = "program p(M, N, K) {\n  input A: f32[M, K]\n  input B: f32[K, N]\n"
                       "  input b: f32[N]\n  output C: f32[M, N]\n"
                       "  C: for m in 0:M, n in 0:N  C[m, n] = b[n]\n"
                       "  C.1: for m in 0:M, n in 0:N, k in 0:K  C[m, n] += A[m, k]*B[k, n]\n}\n";
    const char *s = "C: m/16:grid.y n/16:grid.x m/2:thread.y n:thread.x m\n"
                    "C.1: m/16:grid.y n/16:grid.x m/2:thread.y n:thread.x k/4 k m\n";
    try_counted(text, (int64_t[]){32, 32, 64}, s,
                (WordCount[]){{"st.global", 2}, {"ld.global.b32", 0}, {".entry", 1}, {0}});
}

// Inputs are loaded through the read-only cache, and what the kernel stores is not.
TEST(inputs_use_the_readonly_cache) {
    try_counted("program p(N) { input A: f32[N] inout B: f32[N] output C: f32[N]\n"
                "  B: for i in 0:N  B[i] += A[i]\n  C: for i in 0:N  C[i] = A[i]*2.0 }",
                (int64_t[]){64}, "B: i/32:grid.x i:thread.x\nC: i/32:grid.x i:thread.x\n",
                (WordCount[]){{"ld.global.nc", 1}, {"ld.global.b32", 1}, {0}});
}

// --- Programs ------------------------------------------------------------------------------------

TEST(products_of_several_dimensions) {
    try_program("program tensordot(N, P, Q, R, W) {\n  input X: f32[N, P, Q, W]\n"
                "  input Y: f32[N, Q, R, W]\n  output O: f32[N, P, R, W]\n"
                "  O: for n in 0:N, p in 0:P, r in 0:R, w in 0:W, q in 0:Q\n"
                "      O[n, p, r, w] +=! X[n, p, q, w]*Y[n, q, r, w]\n}\n",
                (int64_t[]){2, 5, 4, 3, 7},
                "O: n:grid.y p/2:grid.x p:thread.z r:thread.y w:thread.x q\n");
    try_program(
        "program hadamard(N, W) { input A: f32[N, W] input B: f32[N, W] input C: f32[N, W]\n"
        "  output O: f32[N, W]\n"
        "  O: for n in 0:N, w in 0:W  O[n, w] = A[n, w]*B[n, w]*C[n, w] }",
        (int64_t[]){9, 40}, "O: n/4:grid.y w/32:grid.x n:thread.y w:thread.x\n");
    try_program("program bmm(B, M, N, K) {\n  input X: f32[B, M, K]\n  input Y: f32[B, K, N]\n"
                "  output Z: f32[B, M, N]\n"
                "  Z: for b in 0:B, m in 0:M, n in 0:N, k in 0:K\n"
                "      Z[b, m, n] +=! X[b, m, k]*Y[b, k, n]\n}\n",
                (int64_t[]){3, 10, 11, 12},
                "Z: b:grid.z m/8:grid.y n/8:grid.x m:thread.y n:thread.x k/4 k\n"
                "    copy X at k/4 place shared\n    copy Y at k/4 place shared\n");
}

// Subscripts with nested sums, remainders of constants, and ranges that begin in the middle.
TEST(subscripts_of_all_kinds) {
    try_program("program flipped(X) { input I: f32[X] input K: f32[2*X - 1] output O: f32[X]\n"
                "  O: for x in 0:X, p in 0:X  O[x] +=! I[p]*K[X - 1 + x - p] }",
                (int64_t[]){13},
                "O: x/4:grid.x x:thread.x p/8 p\n    copy K at p/8 place shared\n");
    try_program("program strided(N) { input A: f32[N] output O: f32[N] inout B: f32[N]\n"
                "  O: for i in 0:N  O[i] = A[i%3] + A[3*i%N]\n"
                "  B: for i in 0:N if i%3 - 1 >= 0  B[i] += O[i] }",
                (int64_t[]){20}, "O: i/8:grid.x i:thread.x\nB: i/8:grid.x i:thread.x\n");
    try_program("program shifted(N) { input A: f32[N + 4] output O: f32[N]\n"
                "  O: for i in 0:N, k in 1:4  O[i] max=! A[i + k] }",
                (int64_t[]){37}, "O: i/16:grid.x i:thread.x k\n    copy A at i/16 place shared\n");
}

// --- Mapping options -----------------------------------------------------------------------------

static Mapping any_mapping(uint64_t seed) {
    uint64_t state = seed * 37;
    Mapping m = {.outer.fusion = (PolyFusion)(check_random(&state) % POLY_FUSIONS), .marks = true};
    m.inner = (PolyFusion)(check_random(&state) % POLY_FUSIONS);
    m.ntiles = (int)(check_random(&state) % 4);
    for (int i = 0; i < m.ntiles; i++) m.tile[i] = (int64_t)(check_random(&state) % 9);
    m.unroll = (int64_t)(check_random(&state) % 9);
    m.outermost = check_random(&state) % 4 == 0;
    m.shared = check_random(&state) % 2;
    m.nblocks = (int)(check_random(&state) % 4);
    m.nthreads = 1 + (int)(check_random(&state) % 3);
    for (int i = 0; i < MAPPING_AXES; i++) {
        m.block[i] = 1 + (int64_t)(check_random(&state) % 5);
        m.thread[i] = 1 + (int64_t)(check_random(&state) % 9);
    }
    return m;
}

typedef struct Totals {
    int64_t programs, blocks, threads, cyclic, shared;
} Totals;

static void count(const Schedule *s, Totals *t) {
    for (int i = 0; i < s->nstmts; i++) {
        for (int k = 0; k < s->stmt[i]->nloops; k++) {
            Kind kind = s->stmt[i]->loop[k].kind;
            t->blocks += kind >= KIND_GRID_X && kind <= KIND_GRID_Z;
            t->threads += kind >= KIND_THREAD_X && kind <= KIND_THREAD_Z;
            t->cyclic += s->stmt[i]->loop[k].interleaved;
        }
        for (int k = 0; k < s->stmt[i]->ncopies; k++)
            t->shared += s->stmt[i]->copy[k].storage.home == HOME_SHARED;
    }
}

static const char *try_mapping(GpuLab *g, Lab *lab, const Program *p, uint64_t seed,
                               const Schedule **s, Totals *totals) {
    Mapping m = any_mapping(seed);
    DiagList found = {.arena = &lab->arena};
    *s = mapping_schedule(&lab->arena, p, &m, &found);
    if (!*s) return "no Schedule";
    Tree *t = tree_lower(&lab->arena, p, *s, &found);
    if (!t) return found.items.at[0]->text;
    count(*s, totals);
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    if (!program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags)) return NULL;
    GpuResult r = gpulab_run(g, lab, t, &got, (InterpFlags){0});
    if (r == GPU_DECLINED)
        return NULL; // one statement has more threads than another leaves room for
    return r == GPU_OK ? lab_difference(lab, p, &got, &want) : g->text;
}

// Random programs under random options of TC.
TEST(mapping_options_of_random_programs) {
    static PairProgram *const make[] = {pair_shape, pair_random, pair_composed};
    GpuLab g;
    Totals totals = {0};
    if (!CHECK(gpulab_open(&g))) return;
    int64_t n = poly_missing() ? 0 : check_long_rounds(150);
    for (int64_t i = 0; i < n; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        const Schedule *s = NULL;
        Lab lab;
        lab_begin(&lab);
        const Program *p = make[seed % 3](&lab, seed);
        const char *what = CHECK(p) ? try_mapping(&g, &lab, p, seed, &s, &totals) : NULL;
        totals.programs++;
        bool ok = CHECK(!what);
        if (!ok)
            printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, what, lab_text(&lab, p),
                   s ? shrink_schedule_text(&lab, s) : "");
        lab_end(&lab);
        if (!ok) break;
    }
    gpulab_close(&g);
    printf("%lld programs, %lld loops of blocks, %lld of threads, %lld cyclic, %lld copies\n",
           (long long)totals.programs, (long long)totals.blocks, (long long)totals.threads,
           (long long)totals.cyclic, (long long)totals.shared);
    CHECK(n < 100 || (totals.blocks && totals.threads && totals.cyclic && totals.shared));
}
