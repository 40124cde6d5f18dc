// The suites that measure compile and parse times. Contexts are long-lived, as in a program that
// compiles many kernels; every program gets a unique name, so that no kernel is cached.
#include "command/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- One compilation -----------------------------------------------------------------------------

typedef struct Step {
    double front, compile; // us: text to bound, bound to kernel
} Step;

static bool once(lw_context *ctx, const BenchItem *item, const char *schedule, Step *s) {
    static int serial;
    BenchKernel k = {.ctx = ctx, .shared = true, .serial = ++serial};
    lw_compile_options o = {.struct_size = sizeof o, .isa = item->isa, .schedule.text = schedule};
    o.threads = item->threads ? item->threads : 1;
    double begin = lab_cpu();
    bool ok = bench_kernel_bind(&k, item);
    double bound = lab_cpu();
    ok = ok && lw_compile(k.ctx, k.bound, &o, &k.kernel) == LW_OK;
    *s = (Step){(bound - begin) / 1e3, (lab_cpu() - bound) / 1e3};
    bench_kernel_close(&k);
    return ok;
}

double bench_compile_us(const Bench *b, const BenchItem *item, const char *schedule) {
    Step s;
    return once(b->compiler, item, schedule, &s) ? s.compile : (double)NAN;
}

// A round that measures several times itself, records them, and returns their median in ns.
typedef struct Self {
    Bench *b;
    BenchJob *j;
} Self;

static void begin(Bench *b, BenchJob *j, BenchRow *r, double (*round)(void *)) {
    Self *self = cli_alloc(sizeof *self);
    *self = (Self){b, j};
    j->limits = trial_add_kernel(j->trial, "ours", NULL, self) + 1;
    j->trial->entry[0].round = round;
    r->sizes = cli_printf("%s", j->item->sizes ? j->item->sizes : "");
}

static double median_since(const BenchJob *j, int first) {
    double x[256];
    int n = j->n - first < 256 ? j->n - first : 256;
    memcpy(x, j->us + first, (size_t)n * sizeof *x);
    return n ? 1e3 * median(x, n) : (double)NAN;
}

static void finish_times(Bench *b, BenchJob *j, BenchRow *r) {
    (void)b;
    r->ns = trial_time(j->trial, 0);
    r->best_ns = trial_best(j->trial, 0);
    median(j->us, j->n); // sorts
    r->times = j->us, r->ntimes = j->n;
    j->us = NULL;
    free(j->trial->entry[0].self);
}

// --- Many shapes ---------------------------------------------------------------------------------

static double shapes_round(void *self) {
    static const int side[] = {1, 2, 3, 4, 5, 8, 13, 16, 23, 32, 48, 64};
    enum { SIDES = sizeof side / sizeof *side, SHAPES = SIDES * SIDES * SIDES, STEP = 13 };
    const Self *me = self;
    BenchItem one = {.program = bench_items[0].program};
    int first = me->j->n, from = me->j->trial->rounds % STEP; // others each time
    for (int i = from; i < SHAPES; i += STEP) {
        char sizes[64];
        Step s;
        snprintf(sizes, sizeof sizes, "M=%d,N=%d,K=%d", side[i / SIDES / SIDES],
                 side[i / SIDES % SIDES], side[i % SIDES]);
        one.sizes = sizes;
        if (once(me->b->compiler, &one, NULL, &s)) bench_note(me->j, s.compile);
    }
    return median_since(me->j, first);
}

static void open_shapes(Bench *b, BenchJob *j, BenchRow *r) { begin(b, j, r, shapes_round); }

// --- Against others ------------------------------------------------------------------------------

static bool wanted(const Bench *b, const char *name) {
    return !b->only_peers || rival_word(b->only_peers, name, strlen(name));
}

static void add_compilers(Bench *b, BenchKernel *k, Trial *t) {
    static const char *const env[] = {
        "CC=gcc CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd COMPILE=1",
        "CC=clang CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd COMPILE=1"};
    static const char *const name[] = {"gcc", "clang"};
    for (int i = 0; i < (b->quick ? 1 : 2); i++) {
        if (!wanted(b, name[i])) continue;
        LabPeer *p = lab_peer(&b->lab, "cc", env[i]);
        char *path = p ? bench_kernel_c(k, NULL, "chosen") : NULL;
        char *task = path ? cli_printf("compile-c %s", path) : NULL;
        if (task) trial_ask_peer(t, p, name[i], task);
        free(path);
        free(task);
    }
}

// Text to kernel; the time after the front-end is recorded separately.
static double compile_round(void *self) {
    const Self *me = self;
    double all[5];
    int n = 0;
    Step s;
    for (int i = 0; i < 6; i++)
        if (once(me->b->compiler, me->j->item, NULL, &s) && i) // the first one warms up
            all[n++] = (s.front + s.compile) * 1e3, bench_note(me->j, s.compile);
    return median(all, n);
}

static void open_compile(Bench *b, BenchJob *j, BenchRow *r) {
    const BenchItem *item = j->item;
    bench_kernel_open(&j->kernel, b, item);
    if (j->kernel.error) {
        r->note = cli_printf("%s", j->kernel.error);
        return;
    }
    begin(b, j, r, compile_round);
    r->code_bytes = (double)j->kernel.info->code_bytes;
    if (item->task) rivals_add(&b->lab, j->trial, item->task, RIVAL_AVX512, b->only_peers);
    if (item->c || !b->quick) add_compilers(b, &j->kernel, j->trial);
    trial_gather(j->trial);
}

static void finish_compile(Bench *b, BenchJob *j, BenchRow *r) {
    const Trial *t = j->trial;
    (void)b;
    r->ns = trial_time(t, 0);
    r->best_ns = trial_best(t, 0);
    r->compile_us = median(j->us, j->n);
    for (int i = 1; i < t->n; i++) {
        r->peer[r->npeers++] = (BenchPeer){.name = t->entry[i].name,
                                           .ns = trial_median(t, i),
                                           .cold_ns = NAN,
                                           .ratio = trial_ratio(t, 0, i)};
    }
    free(t->entry[0].self);
}

// --- The front-end -------------------------------------------------------------------------------

static double front_round(void *self) {
    const Self *me = self;
    int first = me->j->n, times = me->b->quick ? 17 : 91;
    for (int i = 0; i < times; i++) {
        BenchKernel kernel = {.ctx = me->b->compiler, .shared = true};
        double start = lab_cpu();
        bool ok = bench_kernel_bind(&kernel, me->j->item);
        double end = lab_cpu();
        if (ok) bench_note(me->j, (end - start) / 1e3);
        bench_kernel_close(&kernel);
    }
    return median_since(me->j, first);
}

static void open_front(Bench *b, BenchJob *j, BenchRow *r) { begin(b, j, r, front_round); }

const BenchKind bench_shapes = {open_shapes, NULL, finish_times};
const BenchKind bench_compiles = {open_compile, NULL, finish_compile};
const BenchKind bench_fronts = {open_front, NULL, finish_times};

// --- Which ---------------------------------------------------------------------------------------

static const BenchItem *compile_item(int number) {
    static const struct {
        const char *suite, *name, *task;
        bool slow; // too slow for C compilers under --quick
    } all[] = {{"gemm", "64", "compile-gemm 64 64 64", false},
               {"gemm", "512", "compile-gemm 512 512 512", true},
               {"conv", "128@28", "compile-conv 28 128 128", true},
               {"conv", "512@7", NULL, false},
               {"memory", "softmax 1024", NULL, false},
               {"gemm", "attention 8 x 128, 64", NULL, true},
               {"tc", "MLP3 128: 128 64 32 2", NULL, false}};
    enum { ALL = sizeof all / sizeof *all };
    static BenchItem item[ALL];
    static char name[ALL][64];
    if (number >= ALL) return NULL;
    BenchItem *i = &item[number];
    *i = *bench_find(all[number].suite, all[number].name);
    snprintf(name[number], sizeof name[number], "%s %s", all[number].suite, i->name);
    i->suite = "compile", i->group = "text to kernel", i->name = name[number];
    i->task = all[number].task, i->paper = NULL, i->c = !all[number].slow;
    return i;
}

// The programs of the suite `tc`.
static const BenchItem *front_item(int number) {
    enum { MOST = 32 };
    static BenchItem item[MOST];
    int n = 0;
    for (const BenchItem *i = bench_items; i->suite && n < MOST; i++) {
        if (strcmp(i->suite, "tc") || i->slow || n++ != number) continue;
        item[number] = *i;
        item[number].suite = "front", item[number].group = "text to bound program";
        item[number].paper = NULL;
        return &item[number];
    }
    return NULL;
}

const BenchItem *bench_time_item(int number, const BenchKind **kind) {
    static const BenchItem all = {.suite = "compile",
                                  .group = "all shapes",
                                  .name = "1728 GEMM shapes",
                                  .sizes = "every 13th"};
    int compiles = 0;
    *kind = &bench_shapes;
    if (number == 0) return &all;
    while (compile_item(compiles)) compiles++;
    *kind = number <= compiles ? &bench_compiles : &bench_fronts;
    return number <= compiles ? compile_item(number - 1) : front_item(number - 1 - compiles);
}
