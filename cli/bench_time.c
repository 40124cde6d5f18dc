// The suites whose measure is time: to compile, and to parse. Contexts are long-lived, as in a
// program that compiles many kernels; every program gets a name of its own, so that none is found
// compiled.
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// --- One compilation -----------------------------------------------------------------------------

typedef struct Step {
    double front, compile; // us: text to bound, bound to kernel
} Step;

static bool once(lw_context *ctx, const BenchItem *item, Step *s) {
    static int serial;
    BenchKernel k = {.ctx = ctx, .shared = true, .serial = ++serial};
    lw_compile_options o = {.struct_size = sizeof o, .isa = item->isa, .threads = 1};
    double begin = lab_cpu();
    bool ok = bench_kernel_bind(&k, item);
    double bound = lab_cpu();
    ok = ok && lw_compile(k.ctx, k.bound, &o, &k.kernel) == LW_OK;
    *s = (Step){(bound - begin) / 1e3, (lab_cpu() - bound) / 1e3};
    bench_kernel_close(&k);
    return ok;
}

double bench_compile_us(const Bench *b, const BenchItem *item, int times) {
    double x[64];
    int n = 0;
    Step s;
    for (int i = 0; i <= times && i < 64; i++)
        if (once(b->compiler, item, &s) && i) x[n++] = s.compile; // the first one warms up
    return estimate(x, n).median;
}

// --- Distributions -------------------------------------------------------------------------------

static void take_down(BenchRow *r, double *us, int n) {
    qsort(us, (size_t)n, sizeof *us, by_value);
    r->times = us, r->ntimes = n;
    double *copy = cli_alloc((size_t)(n + 1) * sizeof *copy);
    for (int i = 0; i < n; i++) copy[i] = us[i] * 1e3;
    r->ns = estimate(copy, n);
    r->best_ns = n ? copy[0] : NAN;
    free(copy);
}

static void shapes(Bench *b) {
    static const int side[] = {1, 2, 3, 4, 5, 8, 13, 16, 23, 32, 48, 64};
    enum { SIDES = sizeof side / sizeof *side, SHAPES = SIDES * SIDES * SIDES };
    static BenchItem all = {.suite = "compile", .group = "all shapes", .name = "1728 GEMM shapes"};
    int step = b->quick ? 13 : 1, n = 0;
    double *us = cli_alloc(SHAPES * sizeof *us);
    BenchItem one = {.program = bench_items[0].program};
    for (int i = 0; i < SHAPES; i += step) {
        char sizes[64];
        Step s;
        snprintf(sizes, sizeof sizes, "M=%d,N=%d,K=%d", side[i / SIDES / SIDES],
                 side[i / SIDES % SIDES], side[i % SIDES]);
        one.sizes = sizes;
        if (once(b->compiler, &one, &s)) us[n++] = s.compile;
    }
    BenchRow *r = bench_row(b, &all);
    r->sizes = cli_printf("%d of them", n);
    take_down(r, us, n);
}

// --- Against others ------------------------------------------------------------------------------

// The median time that a peer needs for a task, us: what takes long is asked a few times, one call
// each, what does not in rounds of many. NAN: it is absent or does not do it.
static double peer_us(const Bench *b, LabPeer *p, const char *task) {
    char line[LAB_LINE], answer[LAB_LINE];
    double x[9], most = b->quick ? 1 : 5;
    int n = 0;
    snprintf(line, sizeof line, "task %s", task);
    if (!p || !peer_ask(p, line, answer) || strcmp(answer, "ok")) return NAN;
    if (!peer_ask(p, "cold", answer)) return NAN;
    bool slow = atof(answer) > 5e6;
    if (!slow) peer_ask(p, "calls 1e6", answer);
    while (n < (slow ? most : 9) && peer_ask(p, slow ? "cold" : "round", answer))
        x[n++] = atof(answer) / 1e3;
    return estimate(x, n).median;
}

static void add(BenchRow *r, const char *name, double us) {
    if (!isfinite(us)) return;
    BenchPeer *p = &r->peer[r->npeers++];
    *p = (BenchPeer){.name = name, .ns = us * 1e3, .cold_ns = NAN};
    p->ratio = (Estimate){p->ns / r->ns.median, p->ns / r->ns.high, p->ns / r->ns.low};
}

static bool wanted(const Bench *b, const char *name) {
    return !b->only_peers || rival_word(b->only_peers, name, strlen(name));
}

static void add_compilers(Bench *b, BenchKernel *k, BenchRow *r) {
    static const char *const env[] = {
        "CC=gcc CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd COMPILE=1",
        "CC=clang CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd COMPILE=1"};
    static const char *const name[] = {"gcc", "clang"};
    for (int i = 0; i < (b->quick ? 1 : 2); i++) {
        if (!wanted(b, name[i])) continue;
        LabPeer *p = lab_peer(&b->lab, "cc", env[i]);
        char *path = p ? bench_kernel_c(k, NULL, "chosen") : NULL;
        char *task = path ? cli_printf("compile-c %s", path) : NULL;
        if (task) add(r, name[i], peer_us(b, p, task));
        free(path);
        free(task);
    }
}

static void add_jits(Bench *b, BenchRow *r, const char *task) {
    for (const Rival *v = rivals; v->name; v++)
        if (rival_word(v->ops, task, strcspn(task, " ")) && wanted(b, v->name))
            add(r, v->name, peer_us(b, lab_peer(&b->lab, v->program, v->env[RIVAL_AVX512]), task));
}

static void against(Bench *b, const BenchItem *item) {
    BenchKernel k;
    BenchRow *r = bench_row(b, item);
    bench_kernel_open(&k, b, item);
    if (k.error) {
        r->note = cli_printf("%s", k.error);
        bench_kernel_close(&k);
        return;
    }
    double all[32], alone[32];
    int n = 0;
    Step s;
    for (int i = 0; i < 22; i++)
        if (once(b->compiler, item, &s) && i) // the first one warms up
            all[n] = (s.front + s.compile) * 1e3, alone[n++] = s.compile;
    r->ns = estimate(all, n);
    r->best_ns = n ? all[0] : (double)NAN;
    r->compile_us = estimate(alone, n).median;
    r->sizes = cli_printf("%s", item->sizes);
    r->code_bytes = (double)k.info->code_bytes;
    if (item->task) add_jits(b, r, item->task);
    add_compilers(b, &k, r);
    bench_kernel_close(&k);
}

void bench_compile(Bench *b) {
    static const struct {
        const char *suite, *name, *task;
    } all[] = {{"gemm", "64", "compile-gemm 64 64 64"},
               {"gemm", "512", "compile-gemm 512 512 512"},
               {"conv", "128@28", "compile-conv 28 128 128"},
               {"conv", "512@14", NULL},
               {"memory", "softmax 1024", NULL},
               {"gemm", "attention 8 x 128, 64", NULL},
               {"tc", "MLP3 128: 128 64 32 2", NULL}};
    static BenchItem item[sizeof all / sizeof *all];
    shapes(b);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        item[i] = *bench_find(all[i].suite, all[i].name);
        item[i].suite = "compile", item[i].group = "text to kernel";
        item[i].name = cli_printf("%s %s", all[i].suite, all[i].name);
        item[i].task = all[i].task, item[i].paper = NULL;
        against(b, &item[i]);
    }
}

// --- The front-end -------------------------------------------------------------------------------

void bench_front(Bench *b) {
    static BenchItem item[32];
    int n = 0, times = b->quick ? 101 : 1001;
    for (const BenchItem *i = bench_items; i->suite && n < 32; i++) {
        if (strcmp(i->suite, "tc") || i->slow) continue;
        double *us = cli_alloc((size_t)times * sizeof *us);
        int got = 0;
        for (int k = 0; k < times; k++) {
            BenchKernel kernel = {.ctx = b->compiler, .shared = true};
            double begin = lab_cpu();
            bool ok = bench_kernel_bind(&kernel, i);
            double end = lab_cpu();
            if (ok) us[got++] = (end - begin) / 1e3;
            bench_kernel_close(&kernel);
        }
        item[n] = *i;
        item[n].suite = "front", item[n].group = "text to bound program", item[n].paper = NULL;
        BenchRow *r = bench_row(b, &item[n++]);
        r->sizes = cli_printf("%s", i->sizes);
        take_down(r, us, got);
    }
}
