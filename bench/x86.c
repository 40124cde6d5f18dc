// Kernels for x86-64 under the schedules of examples/schedules, on one core, against the limits of
// this machine and against other libraries, all in one run.
//
//     make bench-setup bench-x86
//     build/bench/x86 [--quick] [--only gemm,conv] [--item 64] [--json FILE] [--peers build/peers]
//
// Rates are medians over interleaved rounds. `of peak` divides by the highest rate of a
// multiply-add loop, which runs before and after the kernel, and of all peers, each in the fastest
// tenth of its rounds. For memory-bound kernels, the limit is a hand-written loop with the same
// streams.
#include "lab/ours.h"
#include "lab/rivals.h"
#include "lab/table.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES "examples/schedules/"

typedef struct Item {
    const char *list, *name;
    const char *program, *schedule, *sizes; // files under examples/schedules
    const char *task;                       // task of the peers; NULL: none
    const char *limit;                      // task of peers/limits; NULL: multiply-adds
    double work;                            // flops; 0: bytes of all arguments
    double done;                            // flops that peers must perform; 0: `work`
    Isa isa;
    Bar bar;
    bool inexact; // sums of rounded values: compared up to the error of a sum of 1024
    int pack;     // operand 1 is a filter in blocks: that many taps
} Item;

// --- The items -----------------------------------------------------------------------------------
#define STR(x)     #x
#define CUBE(N)    "M=" STR(N) ",N=" STR(N) ",K=" STR(N)
#define CUBE_OF(N) STR(N) " " STR(N) " " STR(N)
#define LIMIT(NEED)                                                                                \
    { BAR_LIMIT, NEED, NULL, 0 }
#define PEER(NEED, WHO)                                                                            \
    { BAR_PEER, NEED, WHO, 0 }
#define GEMM(LIST, N, SCHEDULE, ISA, BAR)                                                          \
    {                                                                                              \
        LIST, #N, "matmul.tc", SCHEDULE, CUBE(N), "gemm " CUBE_OF(N), NULL, 2.0 * N *N *N, 0, ISA, \
            BAR, false, 0                                                                          \
    }
#define GEMM512(N, S, NEED) GEMM("gemm", N, S, ISA_AVX512, LIMIT(NEED))
#define GEMM256(N, S)       GEMM("gemm avx2", N, S, ISA_AVX2, LIMIT(0.92))
#define GEMM_ODD(N, S)      GEMM("gemm odd", N, S, ISA_AVX512, PEER(1, "libxsmm"))
// C channels at H x H pixels, in blocks. Taps in the border need not be computed but are counted,
// as is usual; `done`, the work of a peer as a measure of the machine, does not include them.
#define CONV(C, H, CO, CI, KO, KI, SCHEDULE)                                                       \
    {                                                                                              \
        "conv 3x3", #C "@" #H, "conv3x3_taps.tc", SCHEDULE,                                        \
            "H=" #H ",W=" #H ",CO=" #CO ",CI=" #CI ",KO=" #KO ",KI=" #KI,                          \
            "conv 1 " #H " " #H " " #C " " #C " 3 1 1 1", NULL, 18.0 * C *C *H *H,                 \
            2.0 * C *C *(3 * H - 2) * (3 * H - 2), ISA_AVX512, LIMIT(0.92), false, 9               \
    }
#define DEPTHWISE(C, H)                                                                            \
    {                                                                                              \
        "depthwise", #C "@" #H, "depthwise.tc", "depthwise.lws", "H=" #H ",W=" #H ",C=" #C,        \
            "conv 1 " #H " " #H " " #C " " #C " 3 1 1 " #C, NULL, 18.0 * C *H *H,                  \
            2.0 * C *(3 * H - 2) * (3 * H - 2), ISA_AVX512, PEER(1, "onednn"), false, 0            \
    }
#define STREAM(NAME, N, SCHEDULE, LOOP)                                                            \
    {                                                                                              \
        "memory", NAME " " #N, NAME ".tc", SCHEDULE, "N=" #N, NULL, LOOP " " #N, 0, 0, ISA_AVX512, \
            LIMIT(0.9), false, 0                                                                   \
    }
#define SUMS(NAME, N, TOTAL, TASK)                                                                 \
    {                                                                                              \
        "memory", NAME " " #N, NAME ".tc", NAME ".lws", "M=" #N ",N=" #N, TASK " " #N " " #N,      \
            "read " #TOTAL, 0, 0, ISA_AVX512, LIMIT(0.9), true, 0                                  \
    }
#define TRANSPOSE(N)                                                                               \
    {                                                                                              \
        "transpose", #N, "transpose.tc", "transpose.lws", "M=" #N ",N=" #N,                        \
            "transpose " #N " " #N, "none", 0, 0, ISA_AVX512, PEER(1.5, "onednn"), false, 0        \
    }
#define ROWS(NAME, N)                                                                              \
    {                                                                                              \
        "rows", NAME " " #N, NAME ".tc", NAME ".lws", "N=" #N ",D=" #N, NAME " " #N " " #N,        \
            "none", 0, 0, ISA_AVX512, PEER(1, "onednn"), true, 0                                   \
    }

static const Item items[] = {
    GEMM512(64, "gemm_avx512.lws", 0.95),
    GEMM512(128, "gemm_rows.lws", 0.95),
    GEMM512(256, "gemm_rows.lws", 0.95),
    GEMM512(512, "gemm_packed.lws", 0.95),
    GEMM512(1024, "gemm_large.lws", 0.90),
    GEMM512(2048, "gemm_large.lws", 0.90),
    GEMM_ODD(31, "gemm_odd.lws"),
    GEMM_ODD(63, "gemm_avx512.lws"),
    GEMM_ODD(100, "gemm_avx512.lws"),
    GEMM_ODD(127, "gemm_panel.lws"),
    GEMM_ODD(255, "gemm_panel.lws"),
    GEMM256(64, "gemm_avx2.lws"),
    GEMM256(128, "gemm_avx2.lws"),
    GEMM256(256, "gemm_avx2_packed.lws"),
    GEMM256(512, "gemm_avx2_packed.lws"),
    CONV(64, 56, 1, 64, 1, 64, "conv3x3_taps_w6.lws"),
    CONV(128, 28, 1, 128, 2, 64, "conv3x3_taps_w6.lws"),
    CONV(256, 14, 1, 256, 8, 32, "conv3x3_taps_w14.lws"),
    CONV(512, 7, 8, 64, 16, 32, "conv3x3_taps_h2w7.lws"),
    DEPTHWISE(32, 112),
    DEPTHWISE(256, 28),
    DEPTHWISE(512, 14),
    STREAM("copy", 4096, "copy.lws", "copy"),
    STREAM("copy", 65536, "copy.lws", "copy"),
    STREAM("copy", 1048576, "copy_nt.lws", "copy"),
    STREAM("copy", 16777216, "copy_nt.lws", "copy"),
    STREAM("axpy", 4096, "axpy.lws", "triad"),
    STREAM("axpy", 65536, "axpy.lws", "triad"),
    STREAM("axpy", 1048576, "axpy_nt.lws", "triad"),
    STREAM("axpy", 16777216, "axpy_nt.lws", "triad"),
    STREAM("axpb_relu", 4096, "axpb_relu.lws", "triad"),
    STREAM("axpb_relu", 65536, "axpb_relu.lws", "triad"),
    STREAM("axpb_relu", 1048576, "axpb_relu_nt.lws", "triad"),
    STREAM("axpb_relu", 16777216, "axpb_relu_nt.lws", "triad"),
    SUMS("row_sums", 64, 4096, "rowsum"),
    SUMS("row_sums", 256, 65536, "rowsum"),
    SUMS("row_sums", 1024, 1048576, "rowsum"),
    SUMS("row_sums", 4096, 16777216, "rowsum"),
    SUMS("column_sums", 64, 4096, "colsum"),
    SUMS("column_sums", 256, 65536, "colsum"),
    SUMS("column_sums", 1024, 1048576, "colsum"),
    SUMS("column_sums", 4096, 16777216, "colsum"),
    TRANSPOSE(1024),
    TRANSPOSE(4096),
    ROWS("softmax", 1024),
    ROWS("layernorm", 1024),
};

// --- One item ------------------------------------------------------------------------------------
typedef struct Bench {
    Lab lab;
    Table table;
    const char *only, *item, *json;
} Bench;

// Sums of products of the operands are exact, so every order gives the same bits. Rounded values
// may differ by the rounding error of a sum of 1024 terms.
static float tolerance(const Item *it) { return it->inexact ? 1024 * FLT_EPSILON : 0; }

// Converts filters from the peers' layout taps x C x K to our blocks KO CO taps CI KI.
static void pack_filters(const Ours *o, int taps) {
    const Tensor *f = &o->program->tensors.at[1];
    int64_t ko = tensor_size(f, 0), co = tensor_size(f, 1), ci = tensor_size(f, 4);
    int64_t ki = tensor_size(f, 5), c = co * ci, k = ko * ki;
    float *to = o->buffer[1], *from = malloc(o->elements[1] * sizeof *from);
    memcpy(from, to, o->elements[1] * sizeof *from);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t t = 0; t < taps; t++)
                to[((((i / ki) * co + j / ci) * taps + t) * ci + j % ci) * ki + i % ki] =
                    from[(t * c + j) * k + i];
    free(from);
}

enum { FMA_LOOPS = 10000, FMA_CHAINS = 24 }; // as in peers/limits.c

// Adds the limits of the machine: multiply-adds, or the streams of the item by ordinary and by
// non-temporal stores. These entries come after all others, from the returned number on.
static int add_limits(Bench *b, const Item *it, Trial *t) {
    char task[LAB_LINE];
    int first = t->n;
    if (!it->limit) {
        const char *fma = it->isa == ISA_AVX2 ? "fma 256 1" : "fma 512 1";
        trial_add_peer(t, lab_peer(&b->lab, "limits", ""), "limit", fma);
    } else {
        snprintf(task, sizeof task, "%s 0", it->limit);
        trial_add_peer(t, lab_peer(&b->lab, "limits", ""), "limit", task);
        snprintf(task, sizeof task, "%s 1", it->limit);
        trial_add_peer(t, lab_peer(&b->lab, "limits", "ROW=1"), "limit", task);
    }
    return first;
}

// Our rate divided by the highest rate of a multiply-add loop, which has rounds before and after
// ours, and of peers that did all of the work. Each in the fastest tenth of its rounds: other load
// slows them down by different amounts.
static double of_peak(const Trial *t, int first, const Item *it, double work) {
    double flops = 2.0 * FMA_LOOPS * FMA_CHAINS * (it->isa == ISA_AVX2 ? 8 : 16);
    double least = NAN;
    for (int i = 1; i < t->n; i++) {
        double done = i < first && it->done > 0 ? it->done : work;
        if (i >= first && !it->limit) done = flops;
        if (first == t->n || !strcmp(t->entry[i].name, "winograd")) continue;
        least = fmin(least, trial_fast(t, i) / trial_fast(t, 0) * work / done);
    }
    return least;
}

static void fill_row(Row *row, const Trial *t, int first, const bool *differs, const Item *it,
                     double work) {
    row->rate = work / trial_median(t, 0);
    row->of_peak = of_peak(t, first, it, work);
    for (int i = 1; i < first; i++)
        row->peer[row->npeers++] = (RowPeer){t->entry[i].name, work / trial_median(t, i),
                                             trial_ratio(t, 0, i), differs[i]};
}

static void compete(Bench *b, const Item *it, Ours *o, Row *row) {
    static Trial t;
    t = (Trial){0};
    bool differs[TRIAL_ENTRIES] = {false};
    size_t n;
    const float *mine = ours_result(o, &n);
    trial_add_kernel(&t, "ours", ours_call, o);
    if (it->task) rivals_add(&b->lab, &t, it->task, (int)it->isa, NULL);
    if (it->pack) pack_filters(o, it->pack);
    ours_call(o);
    for (int i = 1; i < t.n; i++) {
        float *x = peer_fetch(t.entry[i].peer, n);
        differs[i] = !x || !ours_close(mine, x, n, tolerance(it));
        free(x);
    }
    if (t.n == 1 && n <= 1 << 20 && !ours_check(o, tolerance(it))) row->note = "WRONG";
    int first = add_limits(b, it, &t);
    int rounds = b->lab.rounds;
    if (it->work > 5e9) b->lab.rounds = rounds / 5 | 1;
    trial_run(&b->lab, &t);
    b->lab.rounds = rounds;
    fill_row(row, &t, first, differs, it, it->work > 0 ? it->work : o->bytes);
}

static void run_item(Bench *b, const Item *it) {
    char program[256], schedule[256];
    snprintf(program, sizeof program, EXAMPLES "%s", it->program);
    snprintf(schedule, sizeof schedule, EXAMPLES "%s", it->schedule);
    Row *row = table_row(&b->table, it->list, it->name, it->work > 0 ? "GFLOP/s" : "GB/s");
    row->bar = it->bar;
    Ours *o = ours_new(program, schedule, it->sizes, it->isa);
    if (o->error)
        fprintf(stderr, "%s %s: %s\n", it->list, it->name, o->error), row->note = "not compiled";
    else
        compete(b, it, o, row);
    ours_free(o);
}

// --- Two threads ---------------------------------------------------------------------------------
// The speed-up by a second thread, relative to that of a loop of multiply-adds.

static double scaling(const Trial *t) {
    double x[TRIAL_ROUNDS];
    for (int r = 0; r < t->rounds; r++) {
        const Entry *e = t->entry;
        x[r] = (e[0].ns[r] / e[1].ns[r]) / (2 * e[2].ns[r] / e[3].ns[r]);
    }
    return estimate(x, t->rounds).median;
}

static void two_threads(Bench *b, const Item *it) {
    static Trial t;
    t = (Trial){.threads = 2};
    Row *row = table_row(&b->table, it->list, it->name, "GFLOP/s");
    row->bar = it->bar;
    char program[256], schedule[256];
    snprintf(program, sizeof program, EXAMPLES "%s", it->program);
    snprintf(schedule, sizeof schedule, EXAMPLES "%s", it->schedule);
    lab_pin(&b->lab, false);
    Ours *o = ours_new(program, schedule, it->sizes, it->isa);
    row->note = o->error ? "not compiled" : pool_processors() < 2 ? "there is one core" : NULL;
    Ours one;
    if (!row->note) {
        ours_threads(o, 2);
        one = *o; // the same kernel and buffers
        one.env.threads = 1;
        trial_add_kernel(&t, "one", ours_call, &one);
        trial_add_kernel(&t, "ours", ours_call, o);
        trial_add_peer(&t, lab_peer(&b->lab, "limits", "ROW=free1"), "limit", "fma 512 1 1");
        trial_add_peer(&t, lab_peer(&b->lab, "limits", "ROW=free2"), "limit", "fma 512 2 1");
        trial_run(&b->lab, &t);
        row->rate = it->work / trial_median(&t, 1);
        if (t.n == 4) row->of_peak = scaling(&t);
    }
    ours_free(o);
    lab_pin(&b->lab, true);
}

static void run_threads(Bench *b) {
    static const Item both[] = {
        {"threads", "GEMM 1024, two", "matmul.tc", "gemm_parallel.lws", CUBE(1024), NULL, NULL,
         2.0 * 1024 * 1024 * 1024, 0, ISA_AVX512, LIMIT(0.95), false, 0},
        {"threads", "64@56, two", "conv3x3.tc", "conv3x3_parallel.lws",
         "H=56,W=56,CO=1,CI=64,KO=1,KI=64", NULL, NULL, 18.0 * 64 * 64 * 56 * 56, 0, ISA_AVX512,
         LIMIT(0.95), false, 0},
    };
    for (int i = 0; i < 2; i++) two_threads(b, &both[i]);
    table_print(stdout, &b->table, "threads");
}

// --- Data-dependent indices ----------------------------------------------------------------------
// With and without checks of indices, and by a loop in C without checks.

typedef struct ByHand {
    const float *table;
    const int32_t *at;
    float *out;
    size_t n, width;
} ByHand;

static void gather_by_hand(void *user) {
    const ByHand *h = user;
    for (size_t i = 0; i < h->n; i++)
        if (h->width == 1)
            h->out[i] = h->table[h->at[i]];
        else
            memcpy(h->out + i * h->width, h->table + (size_t)h->at[i] * h->width,
                   h->width * sizeof(float));
}

static void gathers(Bench *b, const char *name, const char *program, const char *sizes) {
    char path[256];
    static Trial t;
    t = (Trial){0};
    snprintf(path, sizeof path, EXAMPLES "%s", program);
    Row *row = table_row(&b->table, "gather", name, "GB/s");
    Ours *o = ours_new(path, OURS_CHOSEN, sizes, ISA_AVX512);
    Ours *free_of = ours_new(path, OURS_CHOSEN, sizes, ISA_AVX512);
    row->note = o->error || free_of->error || !ours_vouch(free_of) ? "not compiled" : NULL;
    if (!row->note) {
        ByHand hand = {o->buffer[0], o->buffer[1], calloc(o->elements[2], 4), o->elements[1],
                       o->elements[2] / o->elements[1]};
        trial_add_kernel(&t, "ours", ours_call, o);
        trial_add_kernel(&t, "unchecked", ours_call, free_of);
        trial_add_kernel(&t, "C loop", gather_by_hand, &hand);
        trial_run(&b->lab, &t);
        double moved = 4.0 * (double)(2 * o->elements[2] + o->elements[1]);
        row->rate = moved / trial_median(&t, 0);
        for (int i = 1; i < t.n; i++)
            row->peer[row->npeers++] = (RowPeer){t.entry[i].name, moved / trial_median(&t, i),
                                                 trial_ratio(&t, 0, i), false};
        if (!ours_check(o, 0) || !ours_check(free_of, 0)) row->note = "WRONG";
        free(hand.out);
    }
    ours_free(o);
    ours_free(free_of);
}

static void run_gathers(Bench *b) {
    gathers(b, "elements, 16 KiB", "gather.tc", "R=4096,N=4096");
    gathers(b, "elements, 4 MiB", "gather.tc", "R=1048576,N=65536");
    gathers(b, "rows of 16", "embedding.tc", "R=1000,C=16,N=1000");
    gathers(b, "rows of 64", "embedding.tc", "R=1000,C=64,N=1000");
    gathers(b, "rows of 256", "embedding.tc", "R=10000,C=256,N=1000");
    table_print(stdout, &b->table, "gather");
}

// --- Compile time --------------------------------------------------------------------------------
// From a bound Program and a parsed Schedule to a callable pointer, in microseconds.

static double compile_us(Ours *o, int times) {
    double x[64];
    for (int i = 0; i < times; i++) x[i] = ours_compile(o) / 1e3;
    sort_values(x, times);
    return x[times / 2];
}

// Every shape by the same schedule, each compiled three times.
static void compile_shapes(Bench *b) {
    static const int side[] = {1, 2, 3, 4, 5, 8, 13, 16, 23, 32, 48, 64};
    enum { SIDES = sizeof side / sizeof *side, SHAPES = SIDES * SIDES * SIDES };
    static double us[SHAPES];
    for (int i = 0; i < SHAPES; i++) {
        char sizes[64];
        snprintf(sizes, sizeof sizes, "M=%d,N=%d,K=%d", side[i / SIDES / SIDES],
                 side[i / SIDES % SIDES], side[i % SIDES]);
        Ours *o = ours_new(EXAMPLES "matmul.tc", EXAMPLES "gemm_avx512.lws", sizes, ISA_AVX512);
        us[i] = o->error ? NAN : compile_us(o, 3);
        ours_free(o);
    }
    sort_values(us, SHAPES);
    Row *row = table_row(&b->table, "compile", "1728 GEMM shapes, p50", "us");
    row->rate = quantile(us, SHAPES, 0.5);
    row->bar = (Bar){.kind = BAR_MOST, .need = 30};
    row = table_row(&b->table, "compile", "1728 GEMM shapes, p99", "us");
    row->rate = quantile(us, SHAPES, 0.99);
    row->bar = (Bar){.kind = BAR_MOST, .need = 150};
}

static void compile_call(void *ours) { ours_compile(ours); }

// One kernel, `task` being the same one for peers that compile.
static void compile_one(Bench *b, const Item *it, const char *name, const char *task, Bar bar) {
    char program[256], schedule[256];
    snprintf(program, sizeof program, EXAMPLES "%s", it->program);
    snprintf(schedule, sizeof schedule, EXAMPLES "%s", it->schedule);
    static Trial t;
    t = (Trial){0};
    Row *row = table_row(&b->table, "compile", name, "us");
    Ours *o = ours_new(program, schedule, it->sizes, it->isa);
    trial_add_kernel(&t, "ours", compile_call, o);
    if (task) {
        trial_add_peer(&t, lab_peer(&b->lab, "libxsmm", "LIBXSMM_TARGET=clx"), "libxsmm", task);
        trial_add_peer(&t, lab_peer(&b->lab, "halide", "HL_NUM_THREADS=1"), "halide", task);
    }
    int rounds = b->lab.rounds;
    if (task) b->lab.rounds = rounds / 8 | 1;
    row->bar = bar;
    if (o->error) {
        row->note = "not compiled";
    } else {
        trial_run(&b->lab, &t);
        row->rate = trial_median(&t, 0) / 1e3;
        for (int i = 1; i < t.n; i++)
            row->peer[row->npeers++] =
                (RowPeer){t.entry[i].name, trial_median(&t, i) / 1e3, trial_ratio(&t, 0, i), false};
    }
    ours_free(o);
}

static void run_compile(Bench *b) {
    static const Item tiny = GEMM("", 64, "gemm_avx512.lws", ISA_AVX512, LIMIT(1));
    static const Item deep = GEMM("", 512, "matmul.lws", ISA_AVX512, LIMIT(1));
    static const Item wide = GEMM("", 512, "gemm_packed.lws", ISA_AVX512, LIMIT(1));
    static const Item both = {.program = "conv3x3.tc",
                              .schedule = "conv3x3_w6.lws",
                              .sizes = "H=28,W=28,CO=1,CI=128,KO=2,KI=64",
                              .isa = ISA_AVX512};
    static const Bar most = {BAR_MOST, 300, NULL, 0}, halide = {BAR_PEER, 100, "halide", 0};
    compile_shapes(b);
    compile_one(b, &tiny, "GEMM 64", "compile-gemm 64 64 64", (Bar){BAR_NONE, 0, NULL, 0});
    compile_one(b, &deep, "GEMM 512, three levels", NULL, most);
    compile_one(b, &wide, "GEMM 512, packed", "compile-gemm 512 512 512", halide);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (!strcmp(items[i].program, "conv3x3_taps.tc"))
            compile_one(b, &items[i], items[i].name, NULL, most);
    compile_one(b, &both, "128@28, by Halide too", "compile-conv 28 128 128", halide);
    table_print(stdout, &b->table, "compile");
}

// --- The command ---------------------------------------------------------------------------------

static bool wanted(const Bench *b, const Item *it) {
    size_t n = strcspn(it->list, " ");
    char first[32] = {0};
    memcpy(first, it->list, n < sizeof first ? n : 0);
    return (!b->only || rival_word(b->only, first, n)) && (!b->item || !strcmp(b->item, it->name));
}

static void run_lists(Bench *b) {
    size_t count = sizeof items / sizeof *items;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(b, &items[i])) continue;
        run_item(b, &items[i]);
        if (i + 1 == count || strcmp(items[i].list, items[i + 1].list) || b->item)
            table_print(stdout, &b->table, items[i].list);
    }
    if ((!b->only || rival_word(b->only, "gather", 6)) && !b->item) run_gathers(b);
    if ((!b->only || rival_word(b->only, "threads", 7)) && !b->item) run_threads(b);
    if ((!b->only || rival_word(b->only, "compile", 7)) && !b->item) run_compile(b);
}

static void describe(const Bench *b, const Machine *m) {
    printf("%s, %s, core %d\n", m->cpu, isa_name[m->isa], b->lab.core);
    for (const Rival *r = rivals; r->name; r++) {
        LabPeer *p = lab_peer((Lab *)&b->lab, r->program, r->env[ISA_AVX512]);
        printf("  %-9s %s\n", r->name, p ? p->title : "absent");
    }
}

static bool options(Bench *b, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            b->lab.rounds = 9, b->lab.round_ns = 1e6, b->lab.patience_ns = 1e9;
        else if (!value)
            return false;
        else if (!strcmp(argv[i], "--only"))
            b->only = argv[++i];
        else if (!strcmp(argv[i], "--item"))
            b->item = argv[++i];
        else if (!strcmp(argv[i], "--json"))
            b->json = argv[++i];
        else if (!strcmp(argv[i], "--peers"))
            b->lab.peers = argv[++i];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    Bench b = {.lab = {.peers = "build/peers", .rounds = 61, .round_ns = 1e6, .patience_ns = 5e9}};
    if (!options(&b, argc, argv)) {
        fprintf(stderr, "usage: x86 [--quick] [--only LIST,...] [--item NAME] [--json FILE]"
                        " [--peers FOLDER]\n");
        return 2;
    }
    Machine machine;
    machine_detect(&machine, ISA_COUNT);
    lab_open(&b.lab);
    describe(&b, &machine);
    run_lists(&b);
    table_verdict(stdout, &b.table);
    printf("  %ld rounds, %ld repeated because the core was shared; never quiet enough: %d rows\n",
           (long)b.lab.rounds_run, (long)b.lab.repeated, b.lab.noisy);
    FILE *json = b.json ? fopen(b.json, "w") : NULL;
    if (json) table_json(json, &b.table, machine.cpu), fclose(json);
    lab_close(&b.lab);
    table_free(&b.table);
    return 0;
}
