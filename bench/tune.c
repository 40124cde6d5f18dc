// Tuning: candidates per second, the fraction of time inside them, the quality of the result after
// one second, and tuned kernels against other libraries.
//
//     make bench-tune
//     build/bench/tune [--seconds 1] [--long 10] [--tuned 3] [--only rate,early,peers,two]
//                      [--item NAME] [--quick] [--peers build/peers]
//
// This takes about 15 minutes: one for rates, four for the first second (20 with --long 60), six
// for peers on one core and three on two; with --quick a third.
//
// Kernels run on the last core, both for tuning and for comparisons. The tuning uses the other
// cores to search and compile, as for a user. Its results are compared in interleaved rounds
// (lab/lab.h), independently of the times that it reported.
#include "lab/lab.h"
#include "lab/ours.h"
#include "lab/rivals.h"
#include "lab/table.h"
#include "loopwright.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "examples/schedules/"
#define TC    "examples/tc/"

typedef struct Item {
    const char *list, *name, *program, *sizes;
    const char *task; // of peers, or NULL
    double work;      // operations; 0: bytes of the arguments
    Bar bar;
    bool loopstack; // counts for the quality of the first second
    bool inexact;
} Item;

#define STR(x)  #x
#define CUBE(N) "M=" STR(N) ",N=" STR(N) ",K=" STR(N)
#define BEST                                                                                       \
    { BAR_PEER, 1.0, NULL, 0 }
#define TIMES(NEED, WHO)                                                                           \
    { BAR_PEER, NEED, WHO, 0 }
#define BANDWIDTH                                                                                  \
    { BAR_PEER, 1.2, NULL, 0.9 }
#define GEMM(N, LOOPSTACK)                                                                         \
    {                                                                                              \
        "gemm", #N, PLAIN "matmul.tc", CUBE(N), "gemm " #N " " #N " " #N, 2.0 * N *N *N, BEST,     \
            LOOPSTACK, false                                                                       \
    }
#define SHAPE(M, N, K)                                                                             \
    {                                                                                              \
        "gemm", #M "x" #N "x" #K, PLAIN "matmul.tc", "M=" #M ",N=" #N ",K=" #K,                    \
            "gemm " #M " " #N " " #K, 2.0 * M *N *K, BEST, false, false                            \
    }
#define MANY(NAME, PROGRAM, SIZES, TASK, WORK)                                                     \
    { "gemm", NAME, PROGRAM, SIZES, TASK, WORK, BEST, false, false }
#define BATCHES                                                                                    \
    "def bmm(float(B,N,M) X, float(B,M,K) Y) -> (Z) {\n    Z(b,n,k) +=! X(b,n,m) * Y(b,m,k)\n}\n"
// C channels at H x H pixels, in blocks.
#define CONV(C, H, CO, CI, KO, KI)                                                                 \
    {                                                                                              \
        "conv 3x3", #C "@" #H, PLAIN "conv3x3_taps.tc",                                            \
            "H=" #H ",W=" #H ",CO=" #CO ",CI=" #CI ",KO=" #KO ",KI=" #KI,                          \
            "conv 1 " #H " " #H " " #C " " #C " 3 1 1 1", 18.0 * C *C *H *H,                       \
            TIMES(0.97, "its own"), true, false                                                    \
    }
#define DEPTHWISE(C, H)                                                                            \
    {                                                                                              \
        "depthwise", #C "@" #H, PLAIN "depthwise.tc", "H=" #H ",W=" #H ",C=" #C,                   \
            "conv 1 " #H " " #H " " #C " " #C " 3 1 1 " #C, 18.0 * C *H *H, TIMES(1.1, "onednn"),  \
            true, false                                                                            \
    }
// Channels first, nothing blocked or packed: 3x3 at H x H pixels, and the groups of TC's paper.
#define FIRST_TEXT                                                                                 \
    "def conv(float(C,H,W) I, float(K,C,3,3) F) -> (O) {\n"                                        \
    "    O(k,h,w) +=! pad(I(c, h + r - 1, w + s - 1)) * F(k,c,r,s) where h in 0:H, w in 0:W\n}\n"
#define FIRST(C, H)                                                                                \
    {                                                                                              \
        "conv nchw", #C "@" #H " nchw", FIRST_TEXT, "H=" #H ",W=" #H ",C=" #C ",K=" #C,            \
            "nchw 1 " #H " " #H " " #C " " #C " 3 1 1 1", 18.0 * C *C *H *H, TIMES(1.3, "onednn"), \
            false, false                                                                           \
    }
#define GROUPS_TEXT                                                                                \
    "def gconv(float(N,G,C,H,W) I, float(G,F,C,3,3) W1) -> (O) {\n"                                \
    "    O(n,g,o,h,w) +=! I(n,g,i, h + kh, w + kw) * W1(g,o,i,kh,kw)\n}\n"
#define GROUPS(C, ALL, H)                                                                          \
    {                                                                                              \
        "grouped", "32 x 32 groups of " #C "@" #H, GROUPS_TEXT,                                    \
            "N=32,G=32,C=" #C ",F=" #C ",H=" #H ",W=" #H,                                          \
            "nchw 32 " #H " " #H " " #ALL " " #ALL " 3 1 0 32",                                    \
            18.0 * 32 * 32 * C *C *(H - 2) * (H - 2), TIMES(1.0, "onednn"), false, false           \
    }
#define ROWS(NAME, N)                                                                              \
    {                                                                                              \
        "rows", NAME " " #N, PLAIN NAME ".tc", "N=" #N ",D=" #N, NAME " " #N " " #N, 0, BANDWIDTH, \
            false, true                                                                            \
    }
#define MOVES(LIST, NAME, N, TASK)                                                                 \
    {                                                                                              \
        LIST, NAME " " #N, PLAIN NAME ".tc", "M=" #N ",N=" #N, TASK " " #N " " #N, 0, BANDWIDTH,   \
            false, true                                                                            \
    }
#define PAPER(NAME, SIZES, WORK)                                                                   \
    { "tc", NAME " " SIZES, TC NAME ".tc", SIZES, NULL, WORK, {BAR_NONE, 0, NULL, 0}, true, false }

static const Item items[] = {
    GEMM(64, true),
    GEMM(128, true),
    GEMM(256, true),
    GEMM(512, true),
    GEMM(1024, false),
    GEMM(2048, false),
    GEMM(31, false),
    GEMM(63, false),
    GEMM(100, false),
    GEMM(127, false),
    GEMM(255, false),
    SHAPE(1, 1024, 1024),
    SHAPE(8, 1024, 1024),
    SHAPE(128, 256, 32),
    MANY("128x1024x1024, B transposed", TC "tmm.tc", "M=128,N=1024,K=1024",
         "bgemm 1 128 1024 1024 1", 2.0 * 128 * 1024 * 1024),
    MANY("500 of 26x26x72", BATCHES, "B=500,N=26,K=26,M=72", "bgemm 500 26 26 72 0",
         2.0 * 500 * 26 * 26 * 72),
    MANY("500 of 26x26x72, B transposed", TC "tbmm.tc", "B=500,N=26,K=26,M=72",
         "bgemm 500 26 26 72 1", 2.0 * 500 * 26 * 26 * 72),
    CONV(64, 56, 1, 64, 1, 64),
    CONV(128, 28, 1, 128, 2, 64),
    CONV(256, 14, 1, 256, 8, 32),
    CONV(512, 7, 8, 64, 16, 32),
    FIRST(64, 56),
    FIRST(128, 28),
    FIRST(256, 14),
    FIRST(512, 7),
    GROUPS(4, 128, 56),
    GROUPS(8, 256, 28),
    GROUPS(16, 512, 14),
    GROUPS(32, 1024, 7),
    DEPTHWISE(32, 112),
    DEPTHWISE(128, 56),
    DEPTHWISE(256, 28),
    DEPTHWISE(512, 14),
    PAPER("tmm", "M=128,N=256,K=32", 2.0 * 128 * 256 * 32),
    PAPER("tmm", "M=128,N=1024,K=1024", 2.0 * 128 * 1024 * 1024),
    PAPER("tbmm", "B=500,N=26,K=26,M=72", 2.0 * 500 * 26 * 26 * 72),
    PAPER("kru", "M=256,N0=16,N1=16,N2=16,D0=32,D1=16,D2=16",
          2.0 * 256 * 16 * (16 * 16 * 16 * 2 + 16 * 16 * 32)),
    PAPER("gconv", "N=1,G=32,C=4,F=4,H=56,W=56,KH=3,KW=3,M=4", 2.0 * 32 * 4 * 4 * 54 * 54 * 9),
    PAPER("fcrelu", "B=128,I=128,O=256", 2.0 * 128 * 128 * 256),
    ROWS("softmax", 1024),
    ROWS("layernorm", 1024),
    MOVES("transpose", "transpose", 1024, "transpose"),
    MOVES("transpose", "transpose", 4096, "transpose"),
    MOVES("sums", "row_sums", 1024, "rowsum"),
    MOVES("sums", "column_sums", 1024, "colsum"),
};

typedef struct Bench {
    Lab lab;
    Table table;
    lw_context *ctx;
    const char *only, *item;
    double seconds, long_seconds, tuned_seconds;
    int seeds;   // number of tunings per rate, which is their median
    int threads; // of tuned kernels and of peers
} Bench;

static bool wanted(const Bench *b, const char *what) { return !b->only || strstr(b->only, what); }

static bool selected(const Bench *b, const Item *it) {
    return !b->item || !strcmp(b->item, it->name) || !strcmp(b->item, it->list);
}

// --- Tuning an item ------------------------------------------------------------------------------

typedef struct Found {
    lw_tune_state state;
    char *schedule; // NULL: none
} Found;

static lw_bound *bind_item(Bench *b, const Item *it) {
    lw_module *mod;
    lw_bound *bound = NULL;
    lw_size sizes[16];
    size_t n = 0;
    char text[256], *rest = text;
    snprintf(text, sizeof text, "%s", it->sizes);
    for (char *word; (word = strtok_r(rest, ",", &rest)) && n < 16;) {
        char *value = strchr(word, '=');
        *value = 0;
        sizes[n++] = (lw_size){word, atoll(value + 1)};
    }
    bool is_text = strchr(it->program, '\n');
    if (is_text ? lw_parse(b->ctx, "text.tc", it->program, strlen(it->program), NULL, &mod)
                : lw_parse_file(b->ctx, it->program, NULL, &mod))
        return NULL;
    lw_bind(b->ctx, lw_module_function(mod, 0), sizes, n, &bound);
    lw_module_free(mod);
    return bound;
}

static Found tune(Bench *b, const Item *it, double seconds, uint64_t seed) {
    Found f = {0};
    lab_pin(&b->lab, false);
    lw_bound *bound = bind_item(b, it);
    lw_tune_options o = {.struct_size = sizeof o,
                         .seconds = seconds,
                         .seed = seed,
                         .threads = b->threads,
                         .db = "none",
                         .failures = "none"};
    const lw_tune_result *r;
    if (bound && lw_tune(b->ctx, bound, &o, &r) == LW_OK) {
        f.state = *r->state;
        f.schedule = strdup(r->schedule);
    } else {
        fprintf(stderr, "%s %s: %s", it->list, it->name, lw_diag_text(b->ctx));
    }
    lw_bound_free(bound);
    lab_pin(&b->lab, true);
    return f;
}

static Ours *compiled(const Item *it, const char *schedule) {
    Ours *o = ours_new(it->program, schedule, it->sizes, ISA_AVX512);
    if (o->error) fprintf(stderr, "%s %s: %s\n", it->list, it->name, o->error);
    return o;
}

// --- Rates ---------------------------------------------------------------------------------------
// Bars: 800 trials per second at 64^3; on larger kernels 0.1 divided by the best time (at most
// 800), and 60 % of the time in candidates.

enum { MOST_SEEDS = 9 };

static void run_rate(Bench *b) {
    static const double large = 1e-4; // seconds: more than generating and compiling
    int n = 0, fast = 0, nlarge = 0, busy[2] = {0};
    printf("tuning for %.1f s, one core; medians of %d\n", b->seconds, b->seeds);
    printf("  %-28s %10s %9s %9s %9s\n", "", "best", "trials/s", "of bar", "in kernels");
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const Item *it = &items[i];
        if (!selected(b, it) || (!b->item && !it->loopstack)) continue;
        double best[MOST_SEEDS], rate[MOST_SEEDS], by_bar[MOST_SEEDS], share[MOST_SEEDS];
        int seeds = 0;
        for (int seed = 1; seed <= b->seeds; seed++) {
            Found f = tune(b, it, b->seconds, (uint64_t)seed);
            if (!f.schedule) continue;
            // The bar uses the best time of this tuning: in another one the machine may be faster.
            best[seeds] = f.state.seconds;
            rate[seeds] = (double)f.state.trials / f.state.elapsed;
            by_bar[seeds] = rate[seeds] / fmin(800, 0.1 / f.state.seconds);
            share[seeds++] = f.state.kernel_time / f.state.elapsed;
            free(f.schedule);
        }
        if (!seeds) continue;
        double often = median(by_bar, seeds), inside = median(share, seeds);
        printf("  %-28s %7.1f us %9.0f %9.2f %8.0f %%\n", it->name, median(best, seeds) * 1e6,
               median(rate, seeds), often, 100 * inside);
        fflush(stdout);
        bool is_large = median(best, seeds) >= large;
        n++, nlarge += is_large, fast += often >= 1;
        busy[is_large] += inside >= 0.6;
    }
    printf(
        "  %d of %d tried often enough; 60 %% of the time in %d of %d kernels of %.1f ms or more, "
        "in %d of %d shorter ones\n",
        fast, n, busy[1], nlarge, large * 1e3, busy[0], n - nlarge);
}

// --- The first second ----------------------------------------------------------------------------

// The speed of the result of a short tuning relative to that of a long one.
static double compare(Bench *b, const Item *it, double *gained) {
    static Trial t;
    Found early = tune(b, it, b->seconds, 1), late = tune(b, it, b->long_seconds, 2);
    double ratio = NAN;
    if (early.schedule && late.schedule) {
        Ours *a = compiled(it, early.schedule), *z = compiled(it, late.schedule);
        Ours *chosen = compiled(it, OURS_CHOSEN);
        t = (Trial){0};
        if (!a->error && !z->error && !chosen->error) {
            trial_add_kernel(&t, "early", ours_call, a);
            trial_add_kernel(&t, "late", ours_call, z);
            trial_add_kernel(&t, "chosen", ours_call, chosen);
            trial_run(&b->lab, &t);
            ratio = trial_ratio(&t, 0, 1).median;
            *gained = trial_ratio(&t, 0, 2).median;
            printf("  %-28s %8.1f %8.1f %8.1f us  %6.3f  %6.2f\n", it->name,
                   trial_median(&t, 0) / 1e3, trial_median(&t, 1) / 1e3, trial_median(&t, 2) / 1e3,
                   ratio, *gained);
            fflush(stdout);
        }
        ours_free(a);
        ours_free(z);
        ours_free(chosen);
    }
    free(early.schedule);
    free(late.schedule);
    return ratio;
}

static void run_early(Bench *b) {
    double sum = 0, gain = 0;
    int n = 0;
    printf("after %.1f s, after %.0f s, chosen without search; speed of the first by the second, "
           "and by the third\n",
           b->seconds, b->long_seconds);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        double gained = NAN, ratio;
        if (!selected(b, &items[i]) || !items[i].loopstack) continue;
        ratio = compare(b, &items[i], &gained);
        if (!(ratio > 0)) continue;
        sum += log(fmin(ratio, 1)), gain += log(gained), n++;
    }
    if (n)
        printf("  geometric mean %.3f of the speed after %.0f s (bar: 0.95; gains of the first "
               "count as 1), %.2f times what is chosen\n",
               exp(sum / n), b->long_seconds, exp(gain / n));
}

// --- Peers ---------------------------------------------------------------------------------------

// Converts filters from the peers' layout taps x C x K to our blocks KO CO taps CI KI.
static void pack_filters(const Ours *o) {
    enum { TAPS = 9 };
    const Tensor *f = &o->program->tensors.at[1];
    int64_t co = tensor_size(f, 1), ci = tensor_size(f, 4), ki = tensor_size(f, 5);
    int64_t c = co * ci, k = tensor_size(f, 0) * ki;
    float *to = o->buffer[1], *from = malloc(o->elements[1] * sizeof *from);
    memcpy(from, to, o->elements[1] * sizeof *from);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t t = 0; t < TAPS; t++)
                to[((((i / ki) * co + j / ci) * TAPS + t) * ci + j % ci) * ki + i % ki] =
                    from[(t * c + j) * k + i];
    free(from);
}

// The fraction of this machine's bandwidth if every argument moves once in `ns`.
static double of_bandwidth(Bench *b, const Ours *o, double ns) {
    const lw_machine *m;
    lw_roof roof;
    const Program *p = o->program;
    lw_timing t = {.struct_size = sizeof t, .isa = "avx512", .threads = b->threads};
    t.bytes = o->bytes;
    for (int i = p->ninputs; i < p->ninputs + p->noutputs; i++)
        t.written_bytes += (double)o->elements[i] * (double)type_info[p->tensors.at[i].type].bytes;
    if (lw_machine_get(b->ctx, NULL, &m) || lw_machine_roof(m, &t, &roof)) return NAN;
    return roof.us * 1e3 / ns;
}

static void compete(Bench *b, const Item *it, Ours *o, Row *row) {
    static Trial t;
    t = (Trial){.threads = b->threads};
    lab_pin(&b->lab, b->threads < 2);
    if (b->threads > 1) ours_threads(o, b->threads);
    float tolerance = it->inexact ? 1024 * FLT_EPSILON : 0;
    double work = it->work > 0 ? it->work : o->bytes;
    bool differs[TRIAL_ENTRIES] = {false};
    size_t n;
    const float *mine = ours_result(o, &n);
    trial_add_kernel(&t, "tuned", ours_call, o);
    rivals_add(&b->lab, &t, it->task, ISA_AVX512, NULL);
    if (!strcmp(it->list, "conv 3x3")) pack_filters(o);
    ours_call(o);
    for (int i = 1; i < t.n; i++) {
        float *x = peer_fetch(t.entry[i].peer, n);
        differs[i] = !x || !ours_close(mine, x, n, tolerance);
        free(x);
    }
    double usual = b->lab.round_ns;
    if (b->threads > 1) b->lab.round_ns *= 4; // includes waking threads
    trial_run(&b->lab, &t);
    b->lab.round_ns = usual;
    lab_pin(&b->lab, true);
    row->rate = work / trial_median(&t, 0);
    row->of_peak = it->work > 0 ? NAN : of_bandwidth(b, o, trial_median(&t, 0));
    for (int i = 1; i < t.n; i++)
        row->peer[row->npeers++] = (RowPeer){t.entry[i].name, work / trial_median(&t, i),
                                             trial_ratio(&t, 0, i), differs[i]};
}

// On one core all items, on two the products.
static void run_peers(Bench *b, int threads) {
    const char *list = NULL;
    b->threads = threads;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const Item *it = &items[i];
        if (!selected(b, it) || !it->task || (threads > 1 && strcmp(it->list, "gemm"))) continue;
        const char *to = threads > 1 ? "gemm, two cores" : it->list;
        if (list && strcmp(list, to)) table_print(stdout, &b->table, list);
        list = to;
        Row *row = table_row(&b->table, to, it->name, it->work > 0 ? "GFLOP/s" : "GB/s");
        row->bar = it->bar;
        Found f = tune(b, it, b->tuned_seconds, 1);
        Ours *o = f.schedule ? compiled(it, f.schedule) : NULL;
        if (o && !o->error)
            compete(b, it, o, row);
        else
            row->note = "not tuned";
        if (o) ours_free(o);
        free(f.schedule);
    }
    if (list) table_print(stdout, &b->table, list);
    b->threads = 1;
}

// --- The command ---------------------------------------------------------------------------------

int main(int argc, char **argv) {
    // Many short rounds: slow phases affect only some of them, and intervals are narrow.
    Bench b = {.lab = {.peers = "build/peers",
                       .rounds = 101,
                       .round_ns = 5e5,
                       .trial_ns = 4e9,
                       .patience_ns = 2e9},
               .seconds = 1,
               .threads = 1,
               .seeds = 3,
               .tuned_seconds = 3,
               .long_seconds = 10};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            b.lab.rounds = 61, b.lab.round_ns = 2e5, b.lab.trial_ns = 1e9, b.lab.patience_ns = 2e8,
            b.seeds = 1, b.tuned_seconds = 1, b.long_seconds = 3;
        else if (value && !strcmp(argv[i], "--seconds"))
            b.seconds = atof(argv[++i]);
        else if (value && !strcmp(argv[i], "--long"))
            b.long_seconds = atof(argv[++i]);
        else if (value && !strcmp(argv[i], "--tuned"))
            b.tuned_seconds = atof(argv[++i]);
        else if (value && !strcmp(argv[i], "--only"))
            b.only = argv[++i];
        else if (value && !strcmp(argv[i], "--item"))
            b.item = argv[++i];
        else if (value && !strcmp(argv[i], "--peers"))
            b.lab.peers = argv[++i];
        else
            return fprintf(stderr,
                           "usage: tune [--quick] [--seconds N] [--long N] [--tuned N] [--only "
                           "rate,early,peers,two] [--item NAME] [--peers FOLDER]\n"),
                   2;
    }
    b.ctx = lw_context_new(NULL);
    lw_machine_get(b.ctx, NULL, &(const lw_machine *){NULL}); // measures on all cores, if necessary
    lab_open(&b.lab);
    if (wanted(&b, "rate")) run_rate(&b);
    if (wanted(&b, "early")) run_early(&b);
    if (wanted(&b, "peers")) run_peers(&b, 1);
    if (wanted(&b, "two") && CPU_COUNT(&b.lab.cores) > 1) run_peers(&b, 2);
    if (wanted(&b, "peers") || wanted(&b, "two")) table_verdict(stdout, &b.table);
    lab_close(&b.lab);
    table_free(&b.table);
    lw_context_free(b.ctx);
    return 0;
}
