// The spaces of the paper's kernels. `make bench-space`.
//
// Telamon's Table 2: the number of implementations and dead ends, and the cost of a decision. Its
// Table 3: the number of nodes at depth 10 of the decision tree that remain after pruning those
// whose bound is above the best known time; and Section 5.5, the same with the decisions in reverse
// order, at the first depth with more than 100,000 nodes. Numbers of nodes are Knuth's estimates.
// `--gpu` is the same for the space and the bound of a GPU, with times measured on an H200.
#include "lab/ours.h"
#include "lab/stats.h"
#include "space/bound.h"
#include "space/gpu_bound.h"
#include "space/space_gpu.h"
#include "support/proglab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MATMUL(a)                                                                                  \
    "program mm(M, N, K) {\n    input A: f32[" a                                                   \
    "]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"                                         \
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! "

static const struct {
    const char *name, *text;
    int64_t size[3];
    const char *paper_size, *paper_dead;
} kernels[] = {
    {"axpy 2^26",
     "program axpy(N, P, Q) {\n    input a: f32[]\n    input x: f32[N]\n    input y: f32[N]\n"
     "    output z: f32[N]\n    z: for i in 0:N\n        z[i] = a[]*x[i] + y[i]\n}\n",
     {1 << 26, 0, 0},
     "1.1e11",
     "0.1"},
    {"matmul 256x256x32", MATMUL("M, K") "A[m, k]*B[k, n]\n}\n", {256, 256, 32}, "1.8e21", "14"},
    {"matmul 1024^3", MATMUL("M, K") "A[m, k]*B[k, n]\n}\n", {1024, 1024, 1024}, "3.5e21", "2.8"},
    {"strided matmul",
     MATMUL("M, K, 32") "A[m, k, 0]*B[k, n]\n}\n",
     {1024, 1024, 1024},
     "6.0e20",
     "2.3"},
};

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

enum { MANY = 50000 };

// Times copying a candidate and making one decision, over random descents.
static void time_decisions(Arena *arena, const Space *s, double *p50, double *p99) {
    SpaceWork *w = space_work(arena, s);
    Cand *c = space_cand(arena, s), *d = space_cand(arena, s);
    double *ns = arena_new_n(arena, double, MANY);
    uint64_t state = 1;
    for (int n = 0; n < MANY;) {
        space_copy(s, c, s->root);
        for (int var; n < MANY && (var = space_open(s, c, 0)) >= 0;) {
            uint64_t bits = space_domain(s, c, var);
            for (int skip = (int)(next(&state) % (uint64_t)__builtin_popcountll(bits)); skip;
                 skip--)
                bits &= bits - 1;
            double start = lab_now();
            space_copy(s, d, c);
            bool alive = space_keep(w, d, var, bits & -bits);
            ns[n++] = lab_now() - start;
            if (!alive) break;
            space_copy(s, c, d);
        }
    }
    sort_values(ns, MANY);
    *p50 = ns[MANY / 2];
    *p99 = ns[MANY / 100 * 99];
}

static CpuSpace *make_space(Lab *lab, const Program *p, bool gpu) {
    CpuOptions o = {.threads = 2};
    machine_detect(&o.machine, ISA_COUNT);
    return gpu ? gpu_space(&lab->arena, p, &gpu_machine_h200, NULL, &lab->diags)
               : cpu_space(&lab->arena, p, &o, &lab->diags);
}

static void show_sizes(bool gpu) {
    printf("Table 2\n%-20s %22s %8s %18s %8s %8s %8s %10s\n", "kernel", "implementations",
           "(paper)", "dead ends %", "(paper)", "p50 ns", "p99 ns", "build us");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, kernels[i].text, kernels[i].size);
        if (!p) {
            fputs(lab_errors(&lab), stderr);
            return;
        }
        double start = lab_now();
        CpuSpace *cs = make_space(&lab, p, gpu);
        double build = (lab_now() - start) / 1e3, p50, p99;
        SpaceWork *w = space_work(&lab.arena, cs->space);
        SpaceEstimate k = space_knuth(w, &lab.arena, cs->space->root, 5000, 1);
        SpaceEstimate c = space_chen(w, &lab.arena, cs->space->root, 100, 1);
        SpaceEstimate best = c.half_width * k.mean < k.half_width * c.mean ? c : k;
        SpaceEstimate d = space_dead_ends(w, &lab.arena, cs->space->root, 5000, 1);
        time_decisions(&lab.arena, cs->space, &p50, &p99);
        printf("%-20s %10.2g ± %9.1g %8s %10.2f ± %5.2f %8s %8.0f %8.0f %10.0f\n", kernels[i].name,
               best.mean, best.half_width, kernels[i].paper_size, 100 * d.mean, 100 * d.half_width,
               kernels[i].paper_dead, p50, p99, build);
        lab_end(&lab);
    }
}

// --- Table 3 -------------------------------------------------------------------------------------

#define EXAMPLES "examples/schedules/"
#define STRIDED                                                                                    \
    "def strided(float(M,K,32) A, float(K,N) B) -> (C) {\n    C(m,n) +=! A(m,k,0) * B(k,n)\n}\n"
#define PACKED                                                                                     \
    "C: k/256 n/256 m/6 n/64 k m n:v\n    copy A at k/256 layout (m/6 k m)\n"                      \
    "    copy B at n/256 layout (n/64 k n) align 64\nC.B: k n/64 n:v\n"

static const struct {
    const char *name, *program, *schedule, *sizes, *paper;
} cuts[] = {
    {"axpy 2^26", EXAMPLES "axpy.tc", EXAMPLES "axpy_nt.lws", "N=67108864", "0.14"},
    {"matmul 256x256x32", EXAMPLES "matmul.tc", EXAMPLES "gemm_avx512.lws", "M=256,N=256,K=32",
     "15.0"},
    {"matmul 1024^3", EXAMPLES "matmul.tc", EXAMPLES "gemm_packed.lws", "M=1024,N=1024,K=1024",
     "4.2"},
    {"strided matmul", STRIDED, PACKED, "M=1024,N=1024,K=1024", "6.62"},
};

// Processor time, since a call may be longer than a time slice; and the lower quartile, since that
// time is not exact.
static double best_seconds(const char *program, const char *schedule, const char *sizes) {
    enum { CALLS = 400 };
    Ours *o = ours_new(program, schedule, sizes, ISA_COUNT);
    double ns[CALLS], end = lab_now() + 1.5e9;
    int n = 0;
    if (o->error) fprintf(stderr, "%s\n", o->error);
    while (!o->error && n < CALLS && (n < 4 || lab_now() < end)) {
        double start = lab_cpu();
        ours_call(o);
        ns[n++] = lab_cpu() - start;
    }
    sort_values(ns, n);
    ours_free(o);
    return n ? ns[n / 4] * 1e-9 : INFINITY;
}

enum { DEEPEST = 64, SAMPLES = 3000, ENOUGH = 100000 };

typedef struct Nodes {
    double all[DEEPEST + 1], left[DEEPEST + 1]; // by depth
    double leaves, leaves_left; // all leaves, and those below remaining nodes of depth 10
} Nodes;

static int next_open(const Space *s, const Cand *c, bool reverse) {
    int var = space_open(s, c, 0);
    for (int v = var; reverse && v >= 0; v = space_open(s, c, v + 1)) var = v;
    return var;
}

// One descent; a node is weighted by the number of nodes that it represents.
static void descend(Arena *arena, const BoundModel *b, const Space *s, SpaceWork *w, double cut,
                    bool reverse, uint64_t *state, Nodes *n) {
    ArenaMark mark = arena_mark(arena);
    Cand *c = space_cand(arena, s), *child = space_cand(arena, s), *chosen = space_cand(arena, s);
    space_copy(s, c, s->root);
    double weight = 1;
    bool left = true, kept = true;
    int depth = 0;
    for (int var; (var = next_open(s, c, reverse)) >= 0; depth++) {
        int live = 0;
        if (depth <= DEEPEST) left = left && bound_seconds(b, c, NULL) <= cut;
        if (depth <= 10) kept = left;
        if (depth <= DEEPEST) n->all[depth] += weight, n->left[depth] += left ? weight : 0;
        for (uint64_t dom = space_domain(s, c, var); dom; dom &= dom - 1) {
            space_copy(s, child, c);
            if (!space_keep(w, child, var, dom & -dom)) continue;
            live++;
            if (next(state) % (uint64_t)live == 0) space_copy(s, chosen, child);
        }
        weight *= live;
        if (!live) break;
        space_copy(s, c, chosen);
    }
    for (int d = depth; d <= DEEPEST; d++) { // a leaf counts at all further depths
        left = left && bound_seconds(b, c, NULL) <= cut;
        if (d <= 10) kept = left;
        n->all[d] += weight, n->left[d] += left ? weight : 0;
    }
    n->leaves += weight;
    n->leaves_left += kept ? weight : 0;
    arena_release(arena, mark);
}

static int first_depth(const Nodes *n) {
    int d = 0;
    while (d < DEEPEST && n->all[d] / SAMPLES < ENOUGH) d++;
    return d;
}

static void show_cut(size_t at, const Rates *rates) {
    double best = fmin(best_seconds(cuts[at].program, cuts[at].schedule, cuts[at].sizes),
                       best_seconds(cuts[at].program, OURS_CHOSEN, cuts[at].sizes));
    Ours *o = ours_new(cuts[at].program, NULL, cuts[at].sizes, ISA_COUNT);
    o->machine.rates = rates;
    CpuOptions options = {.machine = o->machine, .threads = 1};
    CpuSpace *cs = cpu_space(&o->arena, o->program, &options, &o->diags);
    BoundModel *b = bound_new(&o->arena, cs, &(BoundOptions){.machine = &o->machine, .threads = 1});
    SpaceWork *w = space_work(&o->arena, cs->space);
    Nodes n[2] = {{{0}, {0}, 0, 0}, {{0}, {0}, 0, 0}};
    uint64_t state = 1;
    for (int reverse = 0; reverse < 2; reverse++)
        for (int i = 0; i < SAMPLES; i++)
            descend(&o->arena, b, cs->space, w, best, reverse, &state, &n[reverse]);
    int d[2] = {first_depth(&n[0]), first_depth(&n[1])};
    printf("%-20s %9.3f %9.3f %9.1e %9.1e %8.2f %7s", cuts[at].name, best * 1e3,
           bound_seconds(b, cs->space->root, NULL) * 1e3, n[0].leaves / SAMPLES,
           n[0].leaves_left / SAMPLES, 100 * n[0].left[10] / n[0].all[10], cuts[at].paper);
    for (int k = 0; k < 2; k++)
        printf("  %3d %9.1e %9.1f", d[k], n[k].all[d[k]] / SAMPLES,
               n[k].all[d[k]] / fmax(n[k].left[d[k]], 1));
    printf("\n");
    fflush(stdout);
    ours_free(o);
}

static void show_cuts(void) {
    Rates rates;
    if (!ours_rates(&rates, 4)) return;
    printf(
        "\nTable 3 and Section 5.5: one core; nodes left at depth 10; and by what factor the cut "
        "makes a level smaller\n");
    printf("%-20s %9s %9s %9s %9s %8s %7s  %23s  %23s\n", "kernel", "best ms", "bound ms", "leaves",
           "with cut", "left %", "(paper)", "depth     nodes  by", "reverse   nodes  by");
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) show_cut(i, &rates);
    printf(
        "(paper, matmul 1024^3: 24 times fewer at depth 10, 1.8 times at depth 16 in reverse)\n"
        "The paper's spaces are of a GPU, ours of this CPU, so sizes are to be compared in order "
        "of "
        "magnitude; its speed-ups over cuBLAS and its four hours of search cannot be repeated here "
        "(`make bench-tune` has ours over libraries of a CPU).\n");
}

// The best times of `tune --device cuda:0` on an H200.
static const struct {
    const char *name;
    int64_t size[3];
    double best_us;
    const char *paper;
} gpu_cuts[] = {
    {"matmul 128x256x32", {128, 256, 32}, 1.3, "15.0 (256x256x32)"},
    {"matmul 256^3", {256, 256, 256}, 3.1, "-"},
    {"matmul 1024^3", {1024, 1024, 1024}, 58.1, "4.2"},
};

static void show_gpu_cut(size_t at) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, kernels[2].text, gpu_cuts[at].size);
    CpuSpace *cs = make_space(&lab, p, true);
    Machine m = {.gpu = &gpu_machine_h200};
    BoundModel *b = gpu_bound_new(&lab.arena, cs, &(BoundOptions){.machine = &m});
    SpaceWork *w = space_work(&lab.arena, cs->space);
    Nodes n[2] = {{{0}, {0}, 0, 0}, {{0}, {0}, 0, 0}};
    uint64_t state = 1;
    for (int reverse = 0; reverse < 2; reverse++)
        for (int i = 0; i < SAMPLES; i++)
            descend(&lab.arena, b, cs->space, w, gpu_cuts[at].best_us * 1e-6, reverse, &state,
                    &n[reverse]);
    int d[2] = {first_depth(&n[0]), first_depth(&n[1])};
    printf("%-20s %9.2f %9.2f %9.1e %9.1e %8.2f %8.2f %18s", gpu_cuts[at].name,
           gpu_cuts[at].best_us, bound_seconds(b, cs->space->root, NULL) * 1e6,
           n[0].leaves / SAMPLES, n[0].leaves_left / SAMPLES, 100 * n[0].left[10] / n[0].all[10],
           100 * n[0].left[DEEPEST] / n[0].all[DEEPEST], gpu_cuts[at].paper);
    for (int k = 0; k < 2; k++)
        printf("  %3d %9.1e %9.1f", d[k], n[k].all[d[k]] / SAMPLES,
               n[k].all[d[k]] / fmax(n[k].left[d[k]], 1));
    printf("\n");
    lab_end(&lab);
}

static void show_gpu(void) {
    show_sizes(true);
    printf("\nTable 3 and Section 5.5: an H200; nodes left at depth 10 and at the end; and by what "
           "factor the cut makes a level smaller\n%-20s %9s %9s %9s %9s %8s %8s %18s  %23s  %23s\n",
           "kernel", "best us", "bound us", "leaves", "with cut", "left %", "at last", "(paper)",
           "depth     nodes  by", "reverse   nodes  by");
    for (size_t i = 0; i < sizeof gpu_cuts / sizeof *gpu_cuts; i++) show_gpu_cut(i);
    printf(
        "(paper, matmul 1024^3: 24 times fewer at depth 10, 1.8 times at depth 16 in reverse)\n");
}

int main(int argc, char **argv) {
    bool sizes = argc < 2 || strcmp(argv[1], "--cuts") != 0;
    if (argc > 1 && strcmp(argv[1], "--gpu") == 0) return show_gpu(), 0;
    if (sizes) show_sizes(false);
    show_cuts();
    return 0;
}
