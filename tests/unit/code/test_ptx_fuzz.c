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
static int64_t declined, swizzled, staged;

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
    declined = swizzled = staged = 0;
    int64_t n = try_programs(make, rounds, trial);
    printf("%lld pairs, %lld declined; %lld buffers are swizzled, %lld staged\n", (long long)n,
           (long long)declined, (long long)swizzled, (long long)staged);
    CHECK(trial != try_pair || n < 150 || (swizzled && staged));
    CHECK(declined * 20 <= n); // functions that GPUs do not have
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
