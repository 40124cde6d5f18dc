// Kernels for x86-64 under the schedules of examples/schedules, one core, against what this machine
// can do at most and against other libraries, all in one run.
//
//     make bench-setup bench-x86
//     build/bench/x86 [--quick] [--only gemm,conv] [--item 64] [--json FILE] [--peers build/peers]
//
// Rates are medians over interleaved rounds. `of peak`: a round's rate by the largest of the
// multiply-add loop before it, the one behind it, and any peer in that round; the median of those.
// For memory-bound kernels a hand-written loop with the same streams takes the place of peak.
#include "lab/ours.h"
#include "lab/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Item {
    const char *list, *name;
    const char *program, *schedule, *sizes; // files under examples/schedules
    const char *task;                       // what peers are asked
    const char *limit;                      // what peers/limits is asked; NULL: multiply-adds
    double work; // of the task: flops or bytes; 0: as the Tree counts, or all arguments
    Isa isa;
    Bar bar;
} Item;

// --- The items -----------------------------------------------------------------------------------
#define STR(x) #x
#define GEMM(LIST, N, SCHEDULE, ISA, ...)                                                          \
    {                                                                                              \
        LIST, STR(N), "matmul.tc", SCHEDULE, "M=" STR(N) ",N=" STR(N) ",K=" STR(N),                \
            "gemm " STR(N) " " STR(N) " " STR(N), NULL, 2.0 * N *N *N, ISA, {                      \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define GEMM512(N, SCHEDULE, NEED) GEMM("gemm", N, SCHEDULE, ISA_AVX512, BAR_LIMIT, NEED, NULL)
#define GEMM256(N, SCHEDULE)       GEMM("gemm avx2", N, SCHEDULE, ISA_AVX2, BAR_LIMIT, 0.92, NULL)
#define GEMM_ODD(N, SCHEDULE)      GEMM("gemm odd", N, SCHEDULE, ISA_AVX512, BAR_PEER, 1, "libxsmm")

static const Item items[] = {
    GEMM512(64, "gemm.lws", 0.95),     GEMM512(128, "gemm.lws", 0.95),
    GEMM512(256, "gemm.lws", 0.95),    GEMM512(512, "gemm.lws", 0.95),
    GEMM512(1024, "matmul.lws", 0.90), GEMM512(2048, "matmul.lws", 0.90),
    GEMM_ODD(31, "gemm.lws"),          GEMM_ODD(63, "gemm.lws"),
    GEMM_ODD(100, "gemm.lws"),         GEMM_ODD(127, "gemm.lws"),
    GEMM_ODD(255, "gemm.lws"),         GEMM256(64, "gemm.lws"),
    GEMM256(128, "gemm.lws"),          GEMM256(256, "gemm.lws"),
    GEMM256(512, "gemm.lws"),
};

// --- The peers -----------------------------------------------------------------------------------
// At their best: OpenBLAS and BLIS do not know every processor by itself, oneDNN 2.6 dies where it
// finds AMX. `how` is what the task gets behind it; entries differ in `env` to be processes of
// their own.
typedef struct Rival {
    const char *name, *program, *ops, *how, *env[ISA_COUNT];
} Rival;

static const Rival rivals[] = {
    {"openblas",
     "openblas",
     "gemm",
     "",
     {[ISA_AVX2] = "OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell",
      [ISA_AVX512] = "OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=SkylakeX"}},
    {"blis",
     "blis",
     "gemm",
     "",
     {[ISA_AVX2] = "BLIS_NUM_THREADS=1 BLIS_ARCH_TYPE=3",
      [ISA_AVX512] = "BLIS_NUM_THREADS=1 BLIS_ARCH_TYPE=0"}},
    {"libxsmm",
     "libxsmm",
     "gemm",
     "",
     {[ISA_AVX2] = "LIBXSMM_TARGET=hsw", [ISA_AVX512] = "LIBXSMM_TARGET=clx"}},
    {"onednn",
     "onednn",
     "gemm",
     " 0",
     {[ISA_AVX2] = "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2",
      [ISA_AVX512] = "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX512_CORE"}},
    {"dnn pack",
     "onednn",
     "gemm",
     " 1",
     {[ISA_AVX2] = "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX2 ROW=1",
      [ISA_AVX512] = "OMP_NUM_THREADS=1 ONEDNN_MAX_CPU_ISA=AVX512_CORE ROW=1"}},
};

static bool has_word(const char *words, const char *word, size_t n) {
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++)
        if ((at == words || at[-1] == ',' || at[-1] == ' ') &&
            (at[n] == 0 || at[n] == ',' || at[n] == ' '))
            return true;
    return false;
}

// --- One item ------------------------------------------------------------------------------------
typedef struct Bench {
    Lab lab;
    Table table;
    const char *only, *item, *json;
} Bench;

// Sums of products of the operands are exact, so every order of them gives the same bits.
static bool same(const float *x, const float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return false;
    return true;
}

static void add_rivals(Bench *b, const Item *it, Trial *t) {
    char task[LAB_LINE];
    size_t n = strcspn(it->task, " ");
    char op[32] = {0};
    memcpy(op, it->task, n < sizeof op ? n : 0);
    for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
        const Rival *r = &rivals[i];
        if (!has_word(r->ops, op, n) || !r->env[it->isa]) continue;
        snprintf(task, sizeof task, "%s%s", it->task, r->how);
        trial_add_peer(t, lab_peer(&b->lab, r->program, r->env[it->isa]), r->name, task);
    }
}

enum { FMA_LOOPS = 10000, FMA_CHAINS = 24 }; // as in peers/limits.c

static int add_limit(Bench *b, const Item *it, Trial *t) {
    const char *fma = it->isa == ISA_AVX2 ? "fma 256 1" : "fma 512 1";
    return trial_add_peer(t, lab_peer(&b->lab, "limits", ""), "limit", it->limit ? it->limit : fma);
}

// What the machine could do around round r, in units of work per ns.
static double limit_rate(const Trial *t, int limit, const Item *it, double work, int r) {
    double flops = 2.0 * FMA_LOOPS * FMA_CHAINS * (it->isa == ISA_AVX2 ? 8 : 16);
    double done = it->limit ? work : flops, best = 0;
    const double *ns = t->entry[limit].ns;
    best = done / ns[r];
    if (r + 1 < t->rounds) best = fmax(best, done / ns[r + 1]);
    for (int i = 1; i < t->n; i++)
        if (i != limit && !t->entry[i].failed) best = fmax(best, work / t->entry[i].ns[r]);
    return best;
}

static double of_peak(const Trial *t, int limit, const Item *it, double work) {
    double x[TRIAL_ROUNDS];
    if (limit < 0 || t->entry[limit].failed) return NAN;
    for (int r = 0; r < t->rounds; r++)
        x[r] = work / t->entry[0].ns[r] / limit_rate(t, limit, it, work, r);
    return estimate(x, t->rounds).median;
}

static void fill_row(Row *row, const Trial *t, int limit, const bool *differs, const Item *it,
                     double work) {
    row->bar = it->bar;
    row->rate = work / trial_median(t, 0);
    row->of_peak = of_peak(t, limit, it, work);
    for (int i = 1; i < t->n; i++)
        if (i != limit)
            row->peer[row->npeers++] = (RowPeer){t->entry[i].name, work / trial_median(t, i),
                                                 trial_ratio(t, 0, i), differs[i]};
}

static void run_item(Bench *b, const Item *it) {
    char program[256], schedule[256];
    snprintf(program, sizeof program, "examples/schedules/%s", it->program);
    snprintf(schedule, sizeof schedule, "examples/schedules/%s", it->schedule);
    Row *row = table_row(&b->table, it->list, it->name, it->limit ? "GB/s" : "GFLOP/s");
    Ours *o = ours_new(program, schedule, it->sizes, it->isa);
    if (o->error) {
        fprintf(stderr, "%s\n", o->error);
        row->note = "does not compile";
        row->bar = it->bar;
        ours_free(o);
        return;
    }
    static Trial t;
    t = (Trial){0};
    bool differs[TRIAL_ENTRIES] = {false};
    size_t n;
    const float *mine = ours_result(o, &n);
    trial_add_kernel(&t, "ours", ours_call, o);
    add_rivals(b, it, &t);
    ours_call(o);
    for (int i = 1; i < t.n; i++) {
        float *x = peer_fetch(t.entry[i].peer, n);
        differs[i] = !x || !same(mine, x, n);
        free(x);
    }
    int limit = add_limit(b, it, &t);
    Lab lab = b->lab;
    if (it->work > 5e9) lab.rounds = lab.rounds / 3 | 1;
    trial_run(&lab, &t);
    fill_row(row, &t, limit, differs, it, it->work);
    ours_free(o);
}

// --- The command ---------------------------------------------------------------------------------

static bool wanted(const Bench *b, const Item *it) {
    size_t n = strcspn(it->list, " ");
    char first[32] = {0};
    memcpy(first, it->list, n < sizeof first ? n : 0);
    return (!b->only || has_word(b->only, first, n)) && (!b->item || !strcmp(b->item, it->name));
}

static void run_lists(Bench *b) {
    size_t count = sizeof items / sizeof *items;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(b, &items[i])) continue;
        run_item(b, &items[i]);
        if (i + 1 == count || strcmp(items[i].list, items[i + 1].list) || b->item)
            table_print(stdout, &b->table, items[i].list);
    }
}

static void describe(const Bench *b, const Machine *m) {
    printf("%s, %s, core %d\n", m->cpu, isa_name[m->isa], b->lab.core);
    for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
        LabPeer *p = lab_peer((Lab *)&b->lab, rivals[i].program, rivals[i].env[ISA_AVX512]);
        printf("  %-9s %s\n", rivals[i].name, p ? p->title : "absent");
    }
}

static bool options(Bench *b, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--quick"))
            b->lab.rounds = 9, b->lab.round_ns = 1e6;
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
    Bench b = {.lab = {.peers = "build/peers", .rounds = 31, .round_ns = 2e6}};
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
    FILE *json = b.json ? fopen(b.json, "w") : NULL;
    if (json) table_json(json, &b.table, machine.cpu), fclose(json);
    lab_close(&b.lab);
    table_free(&b.table);
    return 0;
}
