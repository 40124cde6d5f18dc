// Milliseconds of proofs: scheduling by isl, by each strategy of fusion, and the legality of one
// transformation. And of stencils in steps, one thread: with memory for all steps, for the last
// two, with two steps in turn, and in time tiles.
//
//     make bench-proofs
//
// The bars: at most 20 ms to schedule, at most 2 ms (median) to judge; time tiles of heat2d three
// times as fast as all steps.

#include "lab/ours.h"
#include "lab/stats.h"
#include "lang/lang.h"
#include "sched/mapping.h"
#include "transform/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, BAR_SCHEDULE = 20, BAR_LEGAL = 2, BAR_TILES = 3 };

typedef struct Bench {
    Arena arena;
    Names names;
    DiagList diags;
    bool missed;
} Bench;

static const struct {
    const char *name, *text;
    int64_t size[12];
} kernels[] = {
    {"sgemm",
     "def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {\n"
     "    C(i,j) = b * C(i,j)\n    C(i,j) += a * A(i,k) * B(k,j)\n}\n",
     {1024, 1024, 1024}},
    {"softmax",
     "def softmax(float(N,D) I) -> (O) {\n    top(n) max=! I(n,d)\n"
     "    e(n,d) = exp(I(n,d) - top(n))\n    sum(n) +=! e(n,d)\n    O(n,d) = e(n,d) / sum(n)\n}\n",
     {256, 1024}},
    {"MLP3",
     "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3,\n"
     "         float(Q,P) W4, float(Q) B4) -> (O2, O3, O4) {\n"
     "    O2(b,o) +=! I(b,n) * W2(o,n)\n    O2(b,o) = O2(b,o) + B2(o)\n"
     "    O2(b,o) = fmax(O2(b,o), 0)\n    O3(b,p) +=! O2(b,o) * W3(p,o)\n"
     "    O3(b,p) = O3(b,p) + B3(p)\n    O3(b,p) = fmax(O3(b,p), 0)\n"
     "    O4(b,q) +=! O3(b,p) * W4(q,p)\n    O4(b,q) = O4(b,q) + B4(q)\n"
     "    O4(b,q) = fmax(O4(b,q), 0)\n}\n",
     {128, 128, 64, 32, 32}},
    {"three convolutions",
     "def convs(float(N,C,H,W) I, float(M,C,3,3) A, float(M,M,3,3) B, float(M,M,3,3) D) -> (Z) {\n"
     "    X(n,m,h,w) +=! I(n,c,h+r,w+s) * A(m,c,r,s)\n"
     "    Y(n,m,h,w) +=! X(n,c,h+r,w+s) * B(m,c,r,s)\n"
     "    Z(n,m,h,w) +=! Y(n,c,h+r,w+s) * D(m,c,r,s)\n}\n",
     {4, 32, 64, 64, 32}},
};

static void complain(Bench *b) {
    for (int i = 0; i < b->diags.items.n; i++) {
        Text out = {.arena = &b->arena};
        diag_print(&out, b->diags.items.at[i]);
        fputs(text_str(&out), stderr);
    }
    exit(1);
}

static const Program *program_of(Bench *b, int i) {
    Source *s = arena_new(&b->arena, Source);
    *s = (Source){kernels[i].name, kernels[i].text, (uint32_t)strlen(kernels[i].text)};
    const Module *m = tc_infer(tc_parse(&b->arena, &b->names, s, &b->diags));
    if (!m || m->programs.n != 1) complain(b);
    const Program *p = program_bind(&b->arena, m->programs.at[0], kernels[i].size, &b->diags);
    if (!p) complain(b);
    return p;
}

static void schedule(Bench *b, const char *name, const Program *p) {
    static double time[RUNS];
    printf("%-20s", name);
    for (int f = 0; f < POLY_FUSIONS; f++) {
        for (int i = 0; i < RUNS; i++) {
            Arena arena;
            arena_init(&arena, &allocator_libc);
            Mapping m = {.outer.fusion = (PolyFusion)f, .ntiles = 3, .tile = {32, 32, 32}};
            double start = lab_now();
            if (!mapping_schedule(&arena, p, &m, &b->diags)) complain(b);
            time[i] = (lab_now() - start) * 1e-6;
            arena_free(&arena);
        }
        sort_values(time, RUNS);
        b->missed |= time[RUNS / 2] > BAR_SCHEDULE;
        printf("  %s %6.2f ms", poly_fusion_name[f], time[RUNS / 2]);
    }
}

// Each loop of the naive Tree is interchanged with the one inside it, made parallel, and tiled.
static void judge(Bench *b, const Program *p) {
    static double time[1000];
    int n = 0;
    const Tree *t = tree_lower(&b->arena, p, NULL, &b->diags);
    for (int loop = 0; t && loop < t->nindices; loop++)
        for (int what = 0; what < 3 && n < 1000; what++) {
            DiagList found = {.arena = &b->arena};
            TreeEdit e = {.diags = &found};
            double start = lab_now();
            if (what == 0) tree_interchange(t, loop, &e);
            if (what == 1) tree_parallelize(t, loop, &e);
            if (what == 2) tree_tile(t, loop, 32, 32, &e);
            if (!found.items.n || found.items.at[0]->id != DIAG_EDIT_SHAPE)
                time[n++] = (lab_now() - start) * 1e-6;
        }
    if (!n) complain(b);
    sort_values(time, n);
    b->missed |= time[n / 2] > BAR_LEGAL;
    printf("   legality of %3d transformations: p50 %.3f ms, at most %.3f ms\n", n, time[n / 2],
           time[n - 1]);
}

// --- Stencils ------------------------------------------------------------------------------------

enum { WAYS = 4 };
static const struct {
    const char *name, *all, *program, *sizes, *schedule[WAYS];
    double bar; // of time tiles; 0: none
} stencils[] = {
    {"heat1d",
     "bench/heat1d.tc",
     "examples/tc/heat1d.tc",
     "N=1000000,T=100",
     {"U: i:v\nU.1: i:v\n", "U: i:v\nU.1: i:v\n", "U: i:v\nU.1: t/2 t i:v\n",
      "examples/schedules/heat1d.lws"},
     0},
    {"heat2d",
     "bench/heat2d.tc",
     "examples/tc/heat2d.tc",
     "M=1000,N=1000,T=100",
     {"U: i j:v\nU.1: i j:v\n", "U: i j:v\nU.1: i j:v\n", "U: i j:v\nU.1: t/2 t i j:v\n",
      "examples/schedules/heat2d.lws"},
     BAR_TILES},
};

// The best of a few rounds, each of which runs all ways; in processor time, as there is one thread.
static void time_tiles(Bench *b, int k) {
    Ours *o[WAYS];
    double best[WAYS] = {1e30, 1e30, 1e30, 1e30};
    for (int w = 0; w < WAYS; w++) {
        const char *program = w ? stencils[k].program : stencils[k].all;
        o[w] = ours_new(program, stencils[k].schedule[w], stencils[k].sizes, ISA_COUNT);
        if (o[w]->error) fprintf(stderr, "%s: %s\n", stencils[k].name, o[w]->error), exit(1);
        ours_call(o[w]);
    }
    for (int r = 0; r < RUNS; r++)
        for (int w = 0; w < WAYS; w++) {
            double start = lab_cpu(), time;
            ours_call(o[w]);
            time = (lab_cpu() - start) * 1e-6;
            if (time < best[w]) best[w] = time;
        }
    double ratio = best[0] / best[WAYS - 1];
    b->missed |= ratio < stencils[k].bar;
    printf(
        "%s %s: all steps %.1f ms, the last two %.1f ms, two in turn %.1f ms, time tiles %.1f ms: "
        "%.2f and %.2f times as fast as the first two\n",
        stencils[k].name, stencils[k].sizes, best[0], best[1], best[2], best[3], ratio,
        best[1] / best[3]);
    for (int w = 0; w < WAYS; w++) ours_free(o[w]);
}

int main(void) {
    Bench b = {0};
    arena_init(&b.arena, &allocator_libc);
    b.names = (Names){.arena = &b.arena};
    b.diags = (DiagList){.arena = &b.arena};
    if (poly_missing()) return fprintf(stderr, "%s\n", poly_missing()), 1;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const Program *p = program_of(&b, (int)i);
        schedule(&b, kernels[i].name, p);
        judge(&b, p);
    }
    for (int k = 0; k < (int)(sizeof stencils / sizeof *stencils); k++) time_tiles(&b, k);
    printf("%s\n", b.missed ? "a bar was missed" : "all bars are met");
    arena_free(&b.arena);
    return b.missed;
}
