// Barriers of kernels: as few as possible, and each of them necessary.
#include "unit/check.h"
#include "choose/choose_gpu.h"
#include "sched/schedule.h"
#include "support/gpulab.h"

#include <stdio.h>
#include <string.h>

// --- The fewest barriers, by brute force ---------------------------------------------------------

enum { MOST = 4 };

// Is there a barrier between child i and the next child j?
static bool separates(unsigned set, int n, int i, int j) {
    for (int p = i + 1;; p++) {
        if (set >> p % n & 1) return true;
        if (p % n == j) return false;
    }
}

static bool is_enough(unsigned set, const bool *needs, int n, bool cyclic) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (needs[i * n + j] && (cyclic || i < j) && !separates(set, n, i, j)) return false;
    return true;
}

static int fewest(const bool *needs, int n, bool cyclic) {
    int best = n;
    for (unsigned set = 0; set < 1u << n; set++)
        if (__builtin_popcount(set) < best && is_enough(set, needs, n, cyclic))
            best = __builtin_popcount(set);
    return best;
}

static bool try_needs(unsigned bits, int n, bool cyclic) {
    bool needs[MOST * MOST], pick[MOST];
    unsigned set = 0;
    for (int i = 0; i < n * n; i++) needs[i] = bits >> i & 1 && (cyclic || i / n < i % n);
    int count = gpu_fewest_barriers(needs, n, cyclic, pick);
    for (int i = 0; i < n; i++) set |= (unsigned)pick[i] << i;
    return CHECK(is_enough(set, needs, n, cyclic)) &&
           CHECK_INT_EQ(__builtin_popcount(set), count) &&
           CHECK_INT_EQ(count, fewest(needs, n, cyclic));
}

TEST(barriers_are_the_fewest) {
    for (int n = 1; n <= MOST; n++)
        for (unsigned bits = 0; bits < 1u << n * n; bits++)
            for (int cyclic = 0; cyclic < 2; cyclic++)
                if (!try_needs(bits, n, cyclic)) {
                    printf("%d children, needs %x, cyclic %d\n", n, bits, cyclic);
                    return;
                }
}

// --- Each barrier is necessary -------------------------------------------------------------------

static const char matmul[] =
    "program mm(M, N, K) {\n  input A: f32[M, K]\n  input B: f32[K, N]\n  output C: f32[M, N]\n"
    "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
static const char softmax[] =
    "program softmax(N, M) {\n  input X: f32[N, M]\n  output Y: f32[N, M]\n  temp T: f32[N]\n"
    "  temp E: f32[N, M]\n  temp S: f32[N]\n"
    "  T: for i in 0:N, j in 0:M  T[i] max=! X[i, j]\n"
    "  E: for i in 0:N, j in 0:M  E[i, j] = exp(X[i, j] - T[i])\n"
    "  S: for i in 0:N, j in 0:M  S[i] +=! E[i, j]\n"
    "  Y: for i in 0:N, j in 0:M  Y[i, j] = E[i, j]/S[i]\n}\n";
static const char transpose[] = "program transpose(M, N) { input X: f32[M, N] output Y: f32[N, M]\n"
                                "Y: for j in 0:N, i in 0:M  Y[j, i] = X[i, j] }";
static const char layers[] =
    "program layers(B, K, N, P) { input X: f32[B, K] input W: f32[N, K] input V: f32[P, N]\n"
    "temp H: f32[B, N] output O: f32[B, P]\n"
    "H: for b in 0:B, n in 0:N, k in 0:K  H[b, n] +=! X[b, k]*W[n, k]\n"
    "O: for b in 0:B, p in 0:P, n in 0:N  O[b, p] +=! H[b, n]*V[p, n] }";
static const char sums[] = "program sums(N, M) { input X: f32[N, M] output R: f32[N]\n"
                           "R: for i in 0:N, j in 0:M  R[i] +=! X[i, j] }";
static const char bmm[] =
    "program bmm(B, M, N, K) { input X: f32[B, M, K] input Y: f32[B, K, N] output Z: f32[B, M, N]\n"
    "Z: for b in 0:B, m in 0:M, n in 0:N, k in 0:K  Z[b, m, n] +=! X[b, m, k]*Y[b, k, n] }";

typedef struct Case {
    const char *text;
    int64_t sizes[4];
    const char *schedule; // NULL: the chosen one
    int least;            // barriers
} Case;

static const Case cases[] = {
    {matmul, {64, 64, 64}, NULL, 1},
    {matmul, {128, 256, 32}, NULL, 1},
    {matmul,
     {32, 32, 64},
     "C: m/16:grid.y n/16:grid.x k/16 m:thread.y n:thread.x k\n    copy A at k/16 place shared\n"
     "    copy B at k/16 place shared\n",
     2},
    {matmul,
     {32, 32, 64},
     "C: m/16:grid.y n/16:grid.x k/16 m:thread.y n:thread.x k\n"
     "    copy A at k/16 place shared stages 3 by async\n"
     "    copy B at k/16 place shared stages 3 by async\n",
     1},
    {matmul,
     {32, 32, 64},
     "C: m/16:grid.y n/16:grid.x k/32 k/16:warp m:lane n k\n    copy A at k/32 place shared\n"
     "    copy B at k/32 place shared\n",
     2},
    {softmax, {4, 2048}, NULL, 1},
    {softmax,
     {8, 96},
     "T: i:grid.x j:thread.x\nE: i:grid.x j:thread.x\nS: i:grid.x j:thread.x\n"
     "Y: i:grid.x j:thread.x\n",
     1},
    {transpose, {64, 96}, NULL, 1},
    {layers, {128, 128, 64, 32}, NULL, 1},
    {sums, {4, 5000}, NULL, 1},
    {bmm, {200, 26, 26, 72}, NULL, 1},
};

// Every barrier is taken out in turn; the emulator then finds a race.
static void try_case(GpuLab *g, const Case *c, size_t number) {
    Lab lab;
    PtxCode code;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, c->text, c->sizes);
    Source *source = arena_new(&lab.arena, Source);
    if (c->schedule) *source = (Source){"s.lws", c->schedule, (uint32_t)strlen(c->schedule)};
    const Schedule *s = !CHECK(p)     ? NULL
                        : c->schedule ? schedule_parse(&lab.arena, &lab.names, source, &lab.diags)
                                      : choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL);
    Tree *t = CHECK(s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    PtxOptions o = {.sm = 90, .machine = &gpu_machine_h200};
    static const char barrier[] = "bar.sync 0;";
    int count = 0;
    if (!CHECK(t) || !CHECK(ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags))) {
        printf("%s\n", lab_errors(&lab));
        goto end;
    }
    for (const char *at = code.text; (at = strstr(at, barrier)); at++, count++) {
        char *text = arena_copy(&lab.arena, code.text, code.size + 1);
        memset(text + (at - code.text), ' ', strlen(barrier));
        PtxCode without = code;
        without.text = text;
        LabData d = lab_data(&lab, p, 1);
        bool found = gpulab_run_code(g, &lab, t, &without, &d) == GPU_BROKEN &&
                     (strstr(g->text, "without a barrier in between") ||
                      strstr(g->text, "which a cp.async is writing"));
        if (!CHECK(found)) printf("case %zu needs no barrier %d\n%s\n", number, count, g->text);
    }
    if (!CHECK(count >= c->least)) printf("case %zu has %d barriers\n", number, count);
end:
    lab_end(&lab);
}

TEST(every_barrier_is_necessary) {
    GpuLab g;
    if (!CHECK(gpulab_open(&g))) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) try_case(&g, &cases[i], i);
    gpulab_close(&g);
}
