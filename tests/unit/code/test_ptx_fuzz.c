// Random (program, schedule) pairs as PTX on the emulator against the interpreter, bit for
// bit on exact data and without a race. A failure is shrunk and printed as program and schedule.
#include "unit/check.h"

#include "choose/choose_gpu.h"
#include "support/gpulab.h"
#include "support/pairs.h"
#include "support/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GpuLab lab_gpu;
static int64_t declined, swizzled, staged, cached, grouped;

static const InterpFlags flag_sets[] = {{0}, {.accumulate = true}, {.skip_post = true}};

static const char *difference(Lab *lab, const Program *p, const Tree *t, uint64_t seed) {
    InterpFlags flags = flag_sets[seed % 8 < 2 ? seed % 8 + 1 : 0];
    LabData want = lab_data(lab, p, seed);
    for (int i = p->ninputs; flags.accumulate && i < want.n; i++) // garbage would round
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[i]); e++)
            lab_set(&want, i, e, (double)(e % 3));
    LabData got = lab_copy(lab, p, &want);
    if (!program_interpret(&lab->arena, p, want.view, flags, &lab->diags)) return NULL;
    GpuResult r = gpulab_run(&lab_gpu, lab, t, &got, flags);
    if (r == GPU_DECLINED) declined++;
    if (r == GPU_DECLINED) return NULL;
    if (r != GPU_OK) return lab_gpu.text;
    return lab_difference(lab, p, &got, &want);
}

static const char *pair_fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed) {
    const Tree *t = pair_lower(lab, p, s, seed);
    return t ? difference(lab, p, t, seed) : NULL;
}

static void count_storage(const Storage *s) {
    swizzled += s->swizzle > 0;
    staged += s->stages > 1;
}

static bool try_pair(Lab *lab, const Program *p, uint64_t seed) {
    GenSched g;
    Tree *t;
    const Schedule *s = pair_gpu_schedule(lab, p, seed, &g, &t);
    if (!CHECK(t)) return false;
    for (int i = 0; s && i < s->nstmts; i++) {
        count_storage(&s->stmt[i]->storage);
        cached += s->stmt[i]->ncaches;
        grouped += s->stmt[i]->groups > 0;
        for (int k = 0; k < s->stmt[i]->ncopies; k++) count_storage(&s->stmt[i]->copy[k].storage);
    }
    if (getenv("LW_FUZZ_VERBOSE")) {
        printf("seed %llu\n%s\n%s\n", (unsigned long long)seed, lab_text(lab, p),
               shrink_schedule_text(lab, s));
        fflush(stdout);
    }
    const char *what = difference(lab, p, t, seed);
    if (CHECK(!what)) return true;
    printf("%s\n", what);
    shrink_explain(lab, seed, p, s, pair_fault);
    return false;
}

// The Schedule that is chosen for GPUs instead of a random one.
static bool try_chosen(Lab *lab, const Program *p, uint64_t seed) {
    const Schedule *s = choose_gpu(&lab->arena, p, &gpu_machine_h200, NULL);
    Tree *t = CHECK(s) ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
    const char *what = CHECK(t) ? difference(lab, p, t, seed) : lab_errors(lab);
    if (!what) return true;
    printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, what, lab_text(lab, p),
           s ? shrink_schedule_text(lab, s) : "");
    CHECK(false);
    return false;
}

typedef bool Trial(Lab *lab, const Program *p, uint64_t seed);

// Tries `rounds` programs, each of a seed of its own, up to the first that fails; their number.
static int64_t try_programs(PairProgram *make, int64_t rounds, Trial *trial) {
    bool ok = true;
    int64_t n = check_long_rounds(rounds);
    for (int64_t i = 0; i < n && ok; i++) {
        Lab lab;
        lab_begin(&lab);
        uint64_t seed = (uint64_t)i + (uint64_t)check_first_seed();
        const Program *p = make(&lab, seed);
        if (CHECK(p)) ok = trial(&lab, p, seed);
        lab_end(&lab);
    }
    return n;
}

static void run_all(PairProgram *make, int64_t rounds, Trial *trial) {
    if (!CHECK(gpulab_open(&lab_gpu))) return;
    declined = swizzled = staged = cached = grouped = 0;
    int64_t n = try_programs(make, rounds, trial);
    printf("%lld pairs, %lld declined; %lld buffers are swizzled, %lld staged, %lld cached; "
           "%lld sums have groups\n",
           (long long)n, (long long)declined, (long long)swizzled, (long long)staged,
           (long long)cached, (long long)grouped);
    CHECK(trial != try_pair || n < 150 || (swizzled && staged && cached) || !check_usual_rounds());
    CHECK(declined * 20 <= n || n < 100); // too many lanes, say
    gpulab_close(&lab_gpu);
}

TEST(chosen_shapes) { run_all(pair_shape, 100, try_chosen); }
TEST(chosen_large_shapes) { run_all(pair_large_shape, 60, try_chosen); }
TEST(chosen_composed) { run_all(pair_composed, 100, try_chosen); }
TEST(chosen_random) { run_all(pair_random, 100, try_chosen); }
TEST(ptx_shapes) { run_all(pair_shape, 150, try_pair); }
TEST(ptx_random) { run_all(pair_random, 300, try_pair); }
TEST(ptx_lanes) { run_all(pair_lanes, 100, try_pair); }
TEST(ptx_composed) { run_all(pair_composed, 100, try_pair); }

// --- Clusters ------------------------------------------------------------------------------------

// Sums, products and maxima of every kind, with and without a statement behind them; the blocks of
// a cluster divide the reduction, or a loop over results.
static uint64_t choose(uint64_t *state, uint64_t n) { return check_random(state) % n; }

static const Program *cluster_program(Lab *lab, uint64_t *state, int64_t *sizes) {
    static const char *const types[] = {"f32", "f64", "i32", "i8", "u16", "f16", "i64", "bool"};
    static const char *const ops[] = {"+=!", "max=!", "min=!", "+="};
    const char *type = types[choose(state, 8)], *op = ops[choose(state, 4)];
    bool matrix = choose(state, 2), post = choose(state, 2);
    Text text = {.arena = &lab->arena};
    text_printf(&text, "program p(M, N, K) {\n  input A: %s[M, K]\n  input B: %s[K, N]\n", type,
                type);
    text_printf(&text, "  output C: %s[M, N]\n  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] %s ",
                type, op);
    text_add(&text, matrix ? "A[m, k]*B[k, n]\n" : "B[(k + m)%K, n]\n");
    if (post)
        text_printf(&text, "  C.1: for m in 0:M, n in 0:N post  C[m, n] = max(C[m, n], A[m, 0])\n");
    text_add(&text, "}\n");
    for (int i = 0; i < 3; i++) sizes[i] = 1 + (int64_t)choose(state, i < 2 ? 40 : 70);
    return lab_program(lab, text_str(&text), sizes);
}

static const char *cluster_schedule(Lab *lab, const int64_t *sizes, uint64_t *state) {
    static const char *const inner[] = {
        "n:thread.x m k", "k n:thread.x m",          "k/3:thread.y n:thread.x m k",
        "m n k",          "n/4:lane k/2:lane m n k", "k/5:warp n:lane m k"};
    Text text = {.arena = &lab->arena};
    int64_t blocks = 1 + (int64_t)choose(state, 8);
    bool results = choose(state, 6) == 0; // the cluster divides m
    int64_t step = (sizes[results ? 0 : 2] + blocks - 1) / blocks;
    text_printf(&text, "C: n/%d:grid.x ", 1 + (int)choose(state, 16));
    if (!results && choose(state, 2)) text_printf(&text, "m/%d:grid.y ", 1 + (int)choose(state, 9));
    text_printf(&text, "%s/%d:cluster ", results ? "m" : "k", (int)step);
    if (choose(state, 2)) text_printf(&text, "k/%d ", 1 + (int)choose(state, 8));
    text_add(&text, inner[choose(state, 6)]);
    return text_str(&text);
}

static bool try_cluster(uint64_t seed) {
    Lab lab;
    lab_begin(&lab);
    uint64_t state = seed;
    int64_t sizes[3];
    const Program *p = cluster_program(&lab, &state, sizes);
    const char *text = CHECK(p) ? cluster_schedule(&lab, sizes, &state) : NULL;
    const Schedule *s = text ? lab_schedule(&lab, text) : NULL;
    Tree *t = s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    const char *what = t ? difference(&lab, p, t, seed) : NULL;
    if (!CHECK(!what))
        printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, what, lab_text(&lab, p), text);
    lab_end(&lab);
    return !what;
}

TEST(ptx_clusters) {
    if (!CHECK(gpulab_open(&lab_gpu))) return;
    int64_t n = check_long_rounds(100);
    declined = 0;
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++)
        ok = try_cluster((uint64_t)i + (uint64_t)check_first_seed());
    printf("%lld clusters, %lld declined\n", (long long)n, (long long)declined);
    CHECK(declined * 2 <= n);
    gpulab_close(&lab_gpu);
}

// --- ptxas ---------------------------------------------------------------------------------------

// The text of a random pair, or of a chosen Schedule, which does not spill.
static bool assembles(Lab *lab, const Program *p, uint64_t seed, bool chosen) {
    GenSched g;
    Tree *t = NULL;
    PtxCode code;
    PtxOptions o = {.sm = seed % 2 ? 80 : 90, .machine = &gpu_machine_h200};
    char why[4096];
    const Schedule *s = chosen ? choose_gpu(&lab->arena, p, &gpu_machine_h200, NULL)
                               : pair_gpu_schedule(lab, p, seed, &g, &t);
    if (chosen) t = tree_lower(&lab->arena, p, s, &lab->diags);
    if (!CHECK(t)) return false;
    if (!ptx_make(&lab->arena, t, "k", &o, &code, &lab->diags)) return true;
    const char *arch = seed % 2 ? "sm_80" : "sm_90a";
    if (CHECK(gpulab_assembles(code.text, arch, !chosen, why, sizeof why))) return true;
    printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, why, lab_text(lab, p),
           s ? shrink_schedule_text(lab, s) : "");
    return false;
}

static bool both_assemble(Lab *lab, const Program *p, uint64_t seed) {
    return assembles(lab, p, seed, false) && assembles(lab, p, seed, true);
}

static void assemble_all(PairProgram *make, int64_t rounds) {
    if (!gpulab_has_ptxas()) {
        printf("SKIPPED: there is no ptxas; LW_PTXAS names one\n");
        return;
    }
    int64_t n = try_programs(make, rounds, both_assemble);
    printf("%lld programs assemble\n", (long long)n);
}

TEST(shapes_assemble) { assemble_all(pair_shape, 8); }
TEST(composed_assemble) { assemble_all(pair_composed, 8); }
TEST(random_assemble) { assemble_all(pair_random, 8); }
