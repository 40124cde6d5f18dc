// The GPU space: every full candidate is a Schedule that lowers, verifies, compiles to PTX and
// computes on the emulator, without a race, what the Program says.
#include "unit/check.h"

#include "choose/choose_gpu.h"
#include "space/gpu_bound.h"
#include "space/space_gpu.h"
#include "support/gpulab.h"
#include "support/pairs.h"
#include "support/shrink.h"
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static GpuLab gpu;

typedef struct Totals {
    int64_t programs, full, dead, declined;
    int64_t blocks, threads, shared, async, staged, parts, merged, interleaved, swizzled, warps,
        lanes, clusters, cached;
} Totals;

static void count(const Schedule *s, Totals *t) {
    for (int i = 0; i < s->nstmts; i++) {
        const SchedStmt *x = s->stmt[i];
        t->parts += x->privatise.iter != NULL;
        t->cached += x->ncaches;
        for (int k = 0; k < x->nloops; k++) {
            Kind kind = x->loop[k].kind;
            t->blocks += kind >= KIND_GRID_X && kind <= KIND_GRID_Z;
            t->threads += kind >= KIND_THREAD_X && kind <= KIND_THREAD_Z;
            t->interleaved += x->loop[k].interleaved;
            t->warps += kind == KIND_WARP;
            t->lanes += kind == KIND_LANE;
            t->clusters += kind == KIND_CLUSTER;
        }
        for (int k = 0; k < x->ncopies; k++) {
            t->shared += x->copy[k].storage.home == HOME_SHARED;
            t->async += x->copy[k].storage.async;
            t->staged += x->copy[k].storage.stages > 1;
            t->swizzled += x->copy[k].storage.swizzle > 0;
        }
    }
}

// NULL: the candidate computes what the interpreter does.
static const char *fault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed, Totals *t) {
    DiagList diags = {.arena = &lab->arena};
    const Tree *tree = tree_lower(&lab->arena, p, s, &diags);
    if (!tree) return diags.items.n ? diags.items.at[0]->text : "it does not lower";
    if (tree_verify(&lab->arena, tree, NULL, &diags) == VERIFY_REFUSED)
        return "the verifier refuses it";
    LabData want = lab_data(lab, p, seed), got = lab_copy(lab, p, &want);
    if (!program_interpret(&lab->arena, p, want.view, (InterpFlags){0}, &lab->diags)) return NULL;
    GpuResult r = gpulab_run(&gpu, lab, tree, &got, (InterpFlags){0});
    if (r == GPU_DECLINED) t->declined++;
    bool known = strstr(gpu.text, "is not available") || strstr(gpu.text, "values in sequence");
    if (r == GPU_DECLINED) return known ? NULL : gpu.text;
    return r == GPU_OK ? lab_difference(lab, p, &got, &want) : gpu.text;
}

static bool try_candidates(Lab *lab, const Program *p, uint64_t seed, int n, Totals *t) {
    CpuSpace *cs = gpu_space(&lab->arena, p, &gpu_machine_h200, NULL, &lab->diags);
    if (!CHECK(cs) || !CHECK(!space_dead(cs->space, cs->space->root))) {
        printf("seed %llu\n%s\n", (unsigned long long)seed, lab_text(lab, p));
        return false;
    }
    t->programs++;
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    Machine machine = {.gpu = &gpu_machine_h200};
    BoundModel *b = gpu_bound_new(&lab->arena, cs, &(BoundOptions){.machine = &machine});
    double least = bound_seconds(b, cs->space->root, NULL);
    for (int i = 0; i < n; i++) {
        uint64_t state = seed * 1000 + (uint64_t)i;
        space_copy(cs->space, c, cs->space->root);
        if (!space_complete(w, c, &state)) {
            t->dead++;
            continue;
        }
        t->full++;
        CHECK(bound_seconds(b, c, NULL) >= least * (1 - 1e-12));
        const Schedule *s = cpu_schedule(&lab->arena, cs, c);
        if (getenv("LW_FUZZ_VERBOSE")) {
            printf("seed %llu, candidate %d\n%s\n%s\n", (unsigned long long)seed, i,
                   lab_text(lab, p), shrink_schedule_text(lab, s));
            fflush(stdout);
        }
        count(s, t);
        const char *wrong = fault(lab, p, s, seed, t);
        if (CHECK(!wrong)) continue;
        printf("seed %llu, candidate %d: %s\n%s\n%s\n", (unsigned long long)seed, i, wrong,
               lab_text(lab, p), shrink_schedule_text(lab, s));
        return false;
    }
    return true;
}

static void candidates_of(PairProgram *make, int64_t rounds) {
    Totals t = {0};
    if (!CHECK(gpulab_open(&gpu))) return;
    int64_t n = check_long_rounds(rounds);
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = make(&lab, seed);
        ok = CHECK(p) && try_candidates(&lab, p, seed, 2, &t);
        lab_end(&lab);
    }
    gpulab_close(&gpu);
    printf(
        "%lld programs, %lld candidates, %lld dead ends, %lld declined; blocks %lld threads %lld "
        "shared %lld async %lld staged %lld swizzled %lld warps %lld lanes %lld parts %lld "
        "interleaved %lld clusters %lld cached %lld\n",
        (long long)t.programs, (long long)t.full, (long long)t.dead, (long long)t.declined,
        (long long)t.blocks, (long long)t.threads, (long long)t.shared, (long long)t.async,
        (long long)t.staged, (long long)t.swizzled, (long long)t.warps, (long long)t.lanes,
        (long long)t.parts, (long long)t.interleaved, (long long)t.clusters, (long long)t.cached);
    CHECK(t.dead * 3 < t.full || !ok);
    CHECK(t.declined * 20 <= t.full || !ok); // functions that GPUs do not have
    if (!ok || !check_usual_rounds()) return;
    CHECK(t.blocks && t.threads && t.shared && t.swizzled && t.parts && t.lanes && t.cached);
    CHECK(n < 1000 || (t.async && t.staged)); // about one candidate in fifty
}

TEST(candidates_of_known_shapes) { candidates_of(pair_shape, 100); }
TEST(candidates_of_large_shapes) { candidates_of(pair_large_shape, 60); }
TEST(candidates_of_random_programs) { candidates_of(pair_random, 100); }
TEST(candidates_of_composed_programs) { candidates_of(pair_composed, 60); }
TEST(candidates_of_steps) { candidates_of(pair_steps, 100); }

// Lowering refuses partial results of the first sum, whose place is only known to be inside by its
// values; and to inline b with a, since b would check the indices of a but is not always read.
static const char *const careful[] = {
    "program mirrored {\n"
    "    input T1: f32[7]\n"
    "    input T2: f32[4, 7, 7]\n"
    "    input T4: f32[7, 7]\n"
    "    output T0: f32[4, 7]\n"
    "    output T3: f32[49]\n"
    "    T0: for i0 in 0:4, i1 in 0:7\n"
    "        T0[i0, i1] = T1[i1]\n"
    "    T0.1: for i0 in 0:4, i1 in 0:4, i2 in 0:7\n"
    "        T0[min(6 - (i0 + 4)%6, (i0 + 4)%6), i0] += T1[i0] - T2[i0, 2*i1, i2]\n"
    "    T3: for i0 in 0:7, i1 in 0:7, i2 in 0:7\n"
    "        T3[i1 + 7*i2] +=! T4[i1, i2]*T0[i2/3, 6 - i1]\n"
    "}\n",
    "program gathered {\n"
    "    input I: i32[8]\n"
    "    input x: f32[17]\n"
    "    output O: f32[8, 17]\n"
    "    temp a: f32[8]\n"
    "    temp b: f32[8, 17]\n"
    "    a: for i in 0:8\n"
    "        a[i] = x[I[i]] + 1.0\n"
    "    b: for i in 0:8, j in 0:17\n"
    "        b[i, j] = a[i] - x[j]\n"
    "    O: for i in 0:8, j in 0:17\n"
    "        O[i, j] = select(x[j] > 0.5, b[i, j], a[i])\n"
    "}\n"};

TEST(candidates_are_what_lowering_takes) {
    if (!CHECK(gpulab_open(&gpu))) return;
    for (size_t i = 0; i < sizeof careful / sizeof *careful; i++) {
        Totals t = {0};
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, careful[i], NULL);
        if (CHECK(p)) CHECK(try_candidates(&lab, p, 60861136, 24, &t) && t.full);
        lab_end(&lab);
    }
    gpulab_close(&gpu);
}

// Most decisions of a chosen Schedule, others at random: its lanes, stages, swizzles and copies
// with loops of their own in other combinations.
static bool try_neighbour(Lab *lab, const Program *p, uint64_t seed, Totals *t) {
    const Schedule *chosen = choose_gpu(&lab->arena, p, &gpu_machine_h200, NULL);
    CpuSpace *cs = gpu_space(&lab->arena, p, &gpu_machine_h200, chosen, &lab->diags);
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    uint64_t state = seed;
    int n;
    Decision *d = cpu_read(&lab->arena, cs, chosen, &lab->diags, &n);
    if (!CHECK(d)) return false;
    space_copy(cs->space, c, cs->space->root);
    for (int i = 0; i < n; i++)
        if (check_random(&state) % 8 && !space_apply(w, c, &d[i], 1)) return CHECK(false);
    if (!space_complete(w, c, &state)) {
        t->dead++;
        return true;
    }
    t->full++;
    const Schedule *s = cpu_schedule(&lab->arena, cs, c);
    count(s, t);
    const char *wrong = fault(lab, p, s, seed, t);
    if (CHECK(!wrong)) return true;
    printf("seed %llu: %s\n%s\n%s\n", (unsigned long long)seed, wrong, lab_text(lab, p),
           shrink_schedule_text(lab, s));
    return false;
}

TEST(neighbours_of_chosen_schedules) {
    static const char *const texts[] = {
        "program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n",
        "program dots(M, N, K) { input A: f16[M, K] input B: f16[N, K] output C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! f32(A[m, k])*f32(B[n, k])\n}\n",
        "program layer(M, N, K) { input A: f32[M, K] input B: f32[N, K] input b: f32[N] output "
        "O: f32[M, N] temp C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k]\n"
        "    O: for m in 0:M, n in 0:N  O[m, n] = max(C[m, n] + b[n], 0.0)\n}\n",
        "program turn(M, N, K) { input A: i8[M, N] output C: i8[N, M]\n"
        "    C: for n in 0:N, m in 0:M  C[n, m] = A[m, n]\n}\n",
    };
    static const int64_t sizes[][3] = {{32, 64, 32}, {33, 47, 40}, {64, 32, 20}};
    Totals t = {0};
    bool ok = CHECK(gpulab_open(&gpu));
    int64_t n = check_long_rounds(60);
    for (int64_t i = 0; i < n && ok; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i;
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, texts[seed % 4], sizes[seed / 4 % 3]);
        ok = CHECK(p) && try_neighbour(&lab, p, seed, &t);
        lab_end(&lab);
    }
    gpulab_close(&gpu);
    printf("%lld candidates, %lld dead ends; async %lld staged %lld swizzled %lld lanes %lld\n",
           (long long)t.full, (long long)t.dead, (long long)t.async, (long long)t.staged,
           (long long)t.swizzled, (long long)t.lanes);
    CHECK(n < 60 || t.dead * 3 < t.full);
    CHECK((t.async && t.staged && t.swizzled && t.lanes) || !check_usual_rounds());
}

static const char *tree_text(Lab *lab, const Program *p, const Schedule *s) {
    Text out = {.arena = &lab->arena};
    const Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    if (t) tree_show(&out, t, false);
    return t ? text_str(&out) : lab_errors(lab);
}

// --- The bound -----------------------------------------------------------------------------------

// A decision never lowers it.
TEST(bound_is_monotone) {
    for (uint64_t seed = 1; seed <= (uint64_t)check_rounds(60); seed++) {
        Lab lab;
        lab_begin(&lab);
        static PairProgram *const make[] = {pair_large_shape, pair_random, pair_steps};
        const Program *p = make[seed % 3](&lab, seed);
        CpuSpace *cs = p ? gpu_space(&lab.arena, p, &gpu_machine_h200, NULL, &lab.diags) : NULL;
        Machine m = {.gpu = &gpu_machine_h200};
        BoundModel *b = cs ? gpu_bound_new(&lab.arena, cs, &(BoundOptions){.machine = &m}) : NULL;
        SpaceWork *w = b ? space_work(&lab.arena, cs->space) : NULL;
        Cand *c = b ? space_cand(&lab.arena, cs->space) : NULL;
        uint64_t state = seed;
        if (b) space_copy(cs->space, c, cs->space->root);
        double before = b ? bound_seconds(b, c, NULL) : 0;
        for (int var; b && !space_dead(cs->space, c) && (var = space_open(cs->space, c, 0)) >= 0;) {
            uint64_t dom = space_domain(cs->space, c, var);
            uint64_t one = dom;
            for (int skip = (int)(check_random(&state) % (uint64_t)__builtin_popcountll(dom)); skip;
                 skip--)
                one &= one - 1;
            if (!space_keep(w, c, var, one & -one)) break;
            double now = bound_seconds(b, c, NULL);
            if (!CHECK(now >= before * (1 - 1e-12)))
                printf("seed %llu: %g after %g\n", (unsigned long long)seed, now, before);
            before = now;
        }
        lab_end(&lab);
    }
}

// The bound counts no more work than the emulator: multiply-adds, and bytes of arguments.
TEST(bound_is_below_counts) {
    static const char text[] =
        "program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    static const int64_t size[] = {24, 32, 16};
    const GpuMachine *m = &gpu_machine_h200;
    if (!CHECK(gpulab_open(&gpu))) return;
    for (uint64_t seed = 1; seed <= (uint64_t)check_rounds(40); seed++) {
        Lab lab;
        Totals t = {0};
        lab_begin(&lab);
        const Program *p = lab_program(&lab, text, size);
        CpuSpace *cs = gpu_space(&lab.arena, p, &gpu_machine_h200, NULL, &lab.diags);
        Machine machine = {.gpu = m};
        BoundModel *b = gpu_bound_new(&lab.arena, cs, &(BoundOptions){.machine = &machine});
        Cand *c = space_cand(&lab.arena, cs->space);
        uint64_t state = seed;
        BoundTerm term[BOUND_KINDS];
        space_copy(cs->space, c, cs->space->root);
        if (space_complete(space_work(&lab.arena, cs->space), c, &state)) {
            bound_seconds(b, c, term);
            CHECK(!fault(&lab, p, cpu_schedule(&lab.arena, cs, c), seed, &t));
            const DeviceCounts *n = &gpu.counts;
            double cycle = 1e-9 / m->ghz, alone = (double)n->lane_instructions * cycle;
            // All lanes of one thread at a time take at least as long as any mapping.
            CHECK(term[BOUND_COMPUTE].seconds <= alone);
            CHECK(term[BOUND_CHAIN].seconds <= alone * m->arithmetic);
            double sectors = 32.0 * (double)(n->load_sectors + n->store_sectors);
            CHECK(term[BOUND_L2].seconds * m->l2_read / cycle <= sectors); // on one processor
        }
        lab_end(&lab);
    }
    gpulab_close(&gpu);
}

// On one processor: sectors that the bound counts from addresses, and elements from registers, are
// no more than those that the emulator counts, where nothing is copied.
TEST(loads_are_below_counts) {
    static const char *const texts[] = {
        "program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n",
        "program mmt(M, N, K) { input A: f64[M, K] input B: f64[N, K] output C: f64[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k]\n}\n",
        "program turn(M, N, K) { input A: f32[M, N] input v: f32[N] output C: f32[N, M]\n"
        "    C: for n in 0:N, m in 0:M  C[n, m] = A[m, n]*v[n]\n}\n",
        "program scan(M, N, K) { input A: f32[M, N] input W: f32[N, N] output C: f32[M, N]\n"
        "    temp S: f32[N]\n    C: for n in 0:N  C[0, n] = A[0, n]\n"
        "    for m in 1:M {\n        S: for n in 0:N, k in 0:N  S[n] max=! W[n, k]*C[m - 1, k]\n"
        "        C.1: for n in 0:N  C[m, n] = A[m, n] + S[n]\n    }\n}\n",
    };
    static const int64_t size[] = {24, 32, 16};
    GpuMachine one = gpu_machine_h200;
    Machine machine = {.gpu = &one};
    int tried = 0, tight = 0;
    one.processors = 1;
    if (!CHECK(gpulab_open(&gpu))) return;
    for (uint64_t seed = 1; seed <= (uint64_t)check_long_rounds(300); seed++) {
        Lab lab;
        Totals t = {0};
        lab_begin(&lab);
        const Program *p = lab_program(&lab, texts[seed % 4], size);
        CpuSpace *cs = gpu_space(&lab.arena, p, &gpu_machine_h200, NULL, &lab.diags);
        BoundModel *b = gpu_bound_new(&lab.arena, cs, &(BoundOptions){.machine = &machine});
        Cand *c = space_cand(&lab.arena, cs->space);
        uint64_t state = seed;
        BoundTerm term[BOUND_KINDS];
        space_copy(cs->space, c, cs->space->root);
        bool full = space_complete(space_work(&lab.arena, cs->space), c, &state);
        const Schedule *s = full ? cpu_schedule(&lab.arena, cs, c) : NULL;
        bool plain = s != NULL;
        for (int i = 0; plain && i < s->nstmts; i++)
            plain = !s->stmt[i]->ncopies && !s->stmt[i]->privatise.iter;
        if (plain) {
            bound_seconds(b, c, term);
            CHECK(!fault(&lab, p, s, seed, &t));
            const DeviceCounts *n = &gpu.counts;
            double cycle = 1e-9 / one.ghz, much = 1 + 1e-9,
                   cycles = term[BOUND_LOAD].seconds / cycle;
            // Sectors, and 16 bytes for each lane of a warp, even if all are the same.
            double most = (double)n->load_sectors / 4 + (double)n->load_bytes / 512 +
                          (double)n->shared_wavefronts;
            bool below = CHECK(cycles <= most * much);
            below &= CHECK(term[BOUND_STORE].seconds / cycle <=
                           much * ((double)n->store_sectors / 4 + (double)n->store_bytes / 512));
            below &= CHECK(term[BOUND_ISSUE].seconds / cycle <= much * (double)n->instructions);
            if (!below)
                printf("seed %llu: %g, counted %g\n%s\n", (unsigned long long)seed, cycles, most,
                       shrink_schedule_text(&lab, s));
            tried++;
            tight += cycles > most / 2;
        }
        lab_end(&lab);
    }
    gpulab_close(&gpu);
    printf("%d candidates, %d bounds within a factor of 2 of the count\n", tried, tight);
    CHECK(tried > 5 || !check_usual_rounds());
}

// On one processor: cycles of loads in the bound of these decisions, and those that the emulator
// counts.
static bool loads_are_below(Lab *lab, const Program *p, const CpuSpace *cs, const Cand *c,
                            uint64_t seed, double *share) {
    GpuMachine one = gpu_machine_h200;
    Machine machine = {.gpu = &one};
    Totals t = {0};
    BoundTerm term[BOUND_KINDS];
    one.processors = 1;
    BoundModel *b = gpu_bound_new(&lab->arena, cs, &(BoundOptions){.machine = &machine});
    const Schedule *s = cpu_schedule(&lab->arena, cs, c);
    bound_seconds(b, c, term);
    const char *wrong = fault(lab, p, s, seed, &t);
    if (!CHECK(!wrong)) printf("%s\n", wrong);
    const DeviceCounts *n = &gpu.counts;
    double cycles = term[BOUND_LOAD].seconds * one.ghz * 1e9;
    double most =
        (double)n->load_sectors / 4 + (double)n->load_bytes / 512 + (double)n->shared_wavefronts;
    *share = cycles / most;
    if (CHECK(cycles <= most * (1 + 1e-9))) return true;
    printf("seed %llu: %g cycles, %g counted\n%s\n%s\n", (unsigned long long)seed, cycles, most,
           lab_text(lab, p), shrink_schedule_text(lab, s));
    return false;
}

// Copies of which lanes read whole columns: without a swizzle or padding in one bank. The last
// Schedule has no copies: its threads divide n/4, which is not unrolled, instead of the sum.
static const struct {
    const char *text, *schedule;
    double share; // of the counted cycles, at least: others belong to stores of the copies
    int64_t size[3];
} copies[] = {
    {"program dots(M, N, K) { input A: f16[M, K] input B: f16[N, K] output C: f32[M, N]\n"
     "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! f32(A[m, k])*f32(B[n, k])\n}\n",
     "C: m/32:grid.x n/32:grid.y k/64 m:thread.y n:thread.x k\n"
     "    copy A at k/64 place shared\n    copy B at k/64 place shared\n",
     0.9,
     {64, 64, 64}},
    {"program turn(M, N, K) { input A: f64[M, N] output C: f64[N, M]\n"
     "    C: for n in 0:N, m in 0:M  C[n, m] = A[m, n]\n}\n",
     "C: n/8:grid.y m/32:grid.x n:thread.y m:thread.x\n    copy A at m/32 place shared\n",
     0.15,
     {64, 64, 64}},
    {"program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
     "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n",
     "C: m/32:grid.y n/8:grid.x k/32 n:thread.y k m:thread.x\n"
     "    copy A at k/32 place shared\n    copy B at k/32 place shared\n",
     0.5,
     {64, 64, 64}},
    {"program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
     "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n",
     "C: m:grid.y k/2:thread.y n/4 k n:u\n    unroll 1\n",
     0,
     {33, 40, 20}},
};

TEST(conflicts_of_copies_are_counted) {
    if (!CHECK(gpulab_open(&gpu))) return;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        Lab lab;
        double share = 0;
        int n;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, copies[i].text, copies[i].size);
        const Schedule *s = CHECK(p) ? lab_schedule(&lab, copies[i].schedule) : NULL;
        CpuSpace *cs = s ? gpu_space(&lab.arena, p, &gpu_machine_h200, s, &lab.diags) : NULL;
        Decision *d = CHECK(cs) ? cpu_read(&lab.arena, cs, s, &lab.diags, &n) : NULL;
        Cand *c = d ? space_cand(&lab.arena, cs->space) : NULL;
        if (c) space_copy(cs->space, c, cs->space->root);
        if (CHECK(c) && CHECK(space_apply(space_work(&lab.arena, cs->space), c, d, n)) &&
            loads_are_below(&lab, p, cs, c, i, &share) && !CHECK(share >= copies[i].share))
            printf("%s: %g\n", copies[i].schedule, share);
        lab_end(&lab);
    }
    gpulab_close(&gpu);
}

// Copies of random implementations near those schedules and the chosen ones.
TEST(loads_of_copies_are_below_counts) {
    int64_t n = check_long_rounds(90), tried = 0;
    int close = 0;
    if (!CHECK(gpulab_open(&gpu))) return;
    for (int64_t i = 0; i < n; i++) {
        uint64_t seed = check_first_seed() + (uint64_t)i, state = seed;
        Lab lab;
        double share = 0;
        int nd;
        lab_begin(&lab);
        const Program *p =
            lab_program(&lab, copies[seed % 3].text,
                        seed % 5 ? (int64_t[]){64, 32, 48} : (int64_t[]){33, 40, 20});
        const Schedule *s = seed % 2 ? lab_schedule(&lab, copies[seed % 3].schedule)
                                     : choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL);
        CpuSpace *cs = gpu_space(&lab.arena, p, &gpu_machine_h200, s, &lab.diags);
        SpaceWork *w = space_work(&lab.arena, cs->space);
        Cand *c = space_cand(&lab.arena, cs->space);
        Decision *d = cpu_read(&lab.arena, cs, s, &lab.diags, &nd);
        space_copy(cs->space, c, cs->space->root);
        for (int k = 0; d && k < nd; k++)
            if (check_random(&state) % 12 && !space_apply(w, c, &d[k], 1)) break;
        bool full = CHECK(d) && space_complete(w, c, &state);
        bool ok = !full || loads_are_below(&lab, p, cs, c, seed, &share);
        tried += full;
        close += share > 0.5;
        lab_end(&lab);
        if (!ok) break;
    }
    gpulab_close(&gpu);
    printf("%lld candidates, %d bounds within a factor of 2 of the count\n", (long long)tried,
           close);
    CHECK(tried * 2 > n);
}

TEST(occupancy) {
    CHECK_INT_EQ(gpu_resident_blocks(&gpu_machine_h200, 128, 168, 0), 3);
    CHECK_INT_EQ(gpu_resident_blocks(&gpu_machine_h200, 256, 128, 50000), 2);
    CHECK_INT_EQ(gpu_resident_blocks(&gpu_machine_h200, 1024, 32, 0), 2);
    CHECK_INT_EQ(gpu_resident_blocks(&gpu_machine_h200, 32, 0, 0), 32);
}

// What is chosen without search is in the space: it reads as decisions, and back.
static const char *reread(Lab *lab, const Program *p, const Schedule *s) {
    DiagList diags = {.arena = &lab->arena};
    CpuSpace *cs = gpu_space(&lab->arena, p, &gpu_machine_h200, s, &diags);
    if (!cs) return "there is no space";
    SpaceWork *w = space_work(&lab->arena, cs->space);
    Cand *c = space_cand(&lab->arena, cs->space);
    int n;
    Decision *d = cpu_read(&lab->arena, cs, s, &diags, &n);
    space_copy(cs->space, c, cs->space->root);
    if (!d || !space_apply(w, c, d, n)) return "it contradicts itself";
    if (diags.items.n) return diags.items.at[0]->text;
    if (!space_full(cs->space, c)) return "decisions stay open";
    return tree_text(lab, p, cpu_schedule(&lab->arena, cs, c));
}

TEST(chosen_schedules_are_candidates) {
    static const struct {
        const char *text, *shape;
        int64_t size[3];
    } cases[] = {
        {"program mm(M, N, K) { input A: f32[M, K] input B: f32[N, K] output C: f32[M, N]\n"
         "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k]\n}\n",
         "transposed",
         {128, 128, 600}},
        {"program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
         "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n",
         "lanes, and a copy with loops of its own",
         {1024, 1024, 1024}},
        {"program mm(M, N, K) { input A: f16[M, K] input B: f16[N, K] output C: f32[M, N]\n"
         "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! f32(A[m, k])*f32(B[n, k])\n}\n",
         "lanes that lie apart",
         {128, 128, 128}},
        {"program rows(M, N, K) { input A: f32[M, N] output S: f32[M] output C: f32[M, N]\n"
         "    S: for m in 0:M, n in 0:N  S[m] max=! A[m, n]\n"
         "    C: for m in 0:M, n in 0:N  C[m, n] = A[m, n] - S[m]\n}\n",
         "rows",
         {300, 1000, 1}},
        {"program bytes(M, N, K) { input A: i8[M, N] output C: i8[N, M]\n"
         "    C: for n in 0:N, m in 0:M  C[n, m] = A[m, n]\n}\n",
         "swizzled",
         {256, 128, 1}},
        {"program turn(M, N, K) { input A: f32[M, N] output C: f32[N, M]\n"
         "    C: for n in 0:N, m in 0:M  C[n, m] = A[m, n]\n}\n",
         "turn",
         {256, 128, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, cases[i].text, cases[i].size);
        if (CHECK(p)) {
            const Schedule *s = choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL);
            const char *was = tree_text(&lab, p, s), *is = reread(&lab, p, s);
            if (!CHECK_STR_EQ(is, was)) printf("%s\n", cases[i].shape);
        } else {
            printf("%s", lab_errors(&lab));
        }
        lab_end(&lab);
    }
}

// The operators of loads: of asynchronous copies, of elements, of partial results.
TEST(caches_are_decisions) {
    static const char mm[] =
        "program mm(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
        "    C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    static const char *const texts[] = {
        "C: m/16:grid.y n/16:grid.x k/16 m:thread.y k n:thread.x\n"
        "    copy A at k/16 place shared by async\n    cache A l1\n    cache B streaming\n",
        "C: m n k.p\n    privatise k/16\n    copy A at n/16 place shared\n    cache A l2\n"
        "C.part: k.p:grid.x m n/16 k n:thread.x\n    cache B l1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, mm, (int64_t[]){64, 32, 48});
        const Schedule *s = p ? lab_schedule(&lab, texts[i]) : NULL;
        if (CHECK(s)) CHECK_STR_EQ(reread(&lab, p, s), tree_text(&lab, p, s));
        lab_end(&lab);
    }
}
