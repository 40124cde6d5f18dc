// The cost of the tuning database.
//
//     make bench-database
//
//   compile  a product whose sizes were not seen before, compiled without a schedule: without a
//            database, with one that does not exist, and with one of a hundred kernels that holds
//            it, does not hold it, or holds sizes near it; interleaved, to compare the differences
//   write    records of a winner, and trials in batches of 64 as in a tuning, per second
#define _GNU_SOURCE
#include "api/database.h"
#include "lab/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 400, KERNELS = 100, BATCH = 64, BATCHES = 64 };

static const char text[] = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n"
                           "    C(m,n) +=! A(m,k) * B(k,n)\n}\n";
static const char schedule[] = "s0: i0/6 i1/16 i2 i0 i1:v\n";

static void die(lw_context *ctx) {
    fprintf(stderr, "%s", ctx ? lw_diag_text(ctx) : "out of memory\n");
    exit(1);
}

typedef struct Bench {
    lw_context *ctx;
    lw_module *mod;
} Bench;

static Bench open_bench(const char *database) {
    lw_context_options o = {.struct_size = sizeof o, .database = database};
    lw_parse_options tc = {.struct_size = sizeof tc, .language = LW_LANG_TC};
    Bench b = {.ctx = lw_context_new(&o)};
    if (!b.ctx || lw_parse(b.ctx, "mm.tc", text, sizeof text - 1, &tc, &b.mod)) die(b.ctx);
    return b;
}

static lw_bound *bind(Bench *b, int64_t m, int64_t n, int64_t k) {
    lw_size sizes[] = {{"M", m}, {"N", n}, {"K", k}};
    lw_bound *bound;
    if (lw_bind(b->ctx, lw_module_function(b->mod, 0), sizes, 3, &bound)) die(b->ctx);
    return bound;
}

// --- Compiling -----------------------------------------------------------------------------------

// Microseconds to compile a kernel, and the origin of its schedule.
static double compile(Bench *b, int64_t m, int64_t n, int64_t k, const char **from) {
    lw_bound *bound = bind(b, m, n, k);
    lw_compile_options o = {.struct_size = sizeof o, .threads = 1};
    lw_kernel *kernel;
    double start = lab_now();
    if (lw_compile(b->ctx, bound, &o, &kernel)) die(b->ctx);
    double us = (lab_now() - start) * 1e-3;
    *from = lw_kernel_get_info(kernel)->schedule;
    lw_kernel_free(kernel);
    lw_bound_free(bound);
    return us;
}

typedef struct Case {
    const char *what, *database;
    int64_t k; // of the product: m and n go round
    Bench bench;
    const char *from;
    double us[ROUNDS];
} Case;

static void compile_cases(const char *known) {
    static Case cases[] = {
        {.what = "no database wanted", .database = "none", .k = 40},
        {.what = "there is none", .database = "no-such-tune.db", .k = 40},
        {.what = "holds it", .database = NULL, .k = 32},
        {.what = "holds sizes near it", .database = NULL, .k = 33},
        {.what = "does not hold it", .database = NULL, .k = 200},
        {.what = "the same, none wanted", .database = "none", .k = 200},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    for (int c = 0; c < CASES; c++)
        cases[c].bench = open_bench(cases[c].database ? cases[c].database : known);
    // The first compilation of a context opens the database and has other one-time costs.
    for (int c = 0; c < CASES; c++) compile(&cases[c].bench, 3, 3, 3, &cases[c].from);
    for (int i = 0; i < ROUNDS; i++)
        for (int c = 0; c < CASES; c++) {
            int size = i % KERNELS; // a new context for every hundred, so that no kernel is cached
            Case *at = &cases[c];
            if (i && !size) {
                lw_module_free(at->bench.mod);
                lw_context_free(at->bench.ctx);
                at->bench = open_bench(at->database ? at->database : known);
                compile(&at->bench, 3, 3, 3, &at->from);
            }
            at->us[i] = compile(&at->bench, 24 + size, 32, at->k, &at->from);
        }
    printf("compile                        least     median   schedule\n");
    for (int c = 0; c < CASES; c++) {
        sort_values(cases[c].us, ROUNDS);
        printf("  %-24s %8.1f us %8.1f us   %s\n", cases[c].what, cases[c].us[0],
               cases[c].us[ROUNDS / 2], cases[c].from);
        lw_module_free(cases[c].bench.mod);
        lw_context_free(cases[c].bench.ctx);
    }
}

// --- Writing -------------------------------------------------------------------------------------

typedef struct Write {
    const lw_bound *bound;
    double us[2]; // of one record, and of all trials
    bool trials;
} Write;

static lw_status write_body(Call *call, void *arg) {
    Write *w = arg;
    const Canon *c = canon_of(call->arena, program_fork(call->arena, w->bound->program));
    Compilation compilation = compilation_of(call, w->bound, NULL);
    compilation.threads = 1;
    compilation.machine = pick_machine(call, NULL);
    DbKey key = database_key(&compilation, c);
    DbEntry e = {.schedule = schedule, .seconds = 1e-6, .verified = "exact", .chosen = 2e-6};
    double start = lab_now();
    if (!db_record(call->ctx->db, call->scratch, &key, &e)) exit(1);
    w->us[0] = (lab_now() - start) * 1e-3;
    DbTrial trials[BATCH];
    for (int i = 0; i < BATCH; i++) trials[i] = (DbTrial){schedule, "timed", 1e-6, 1e-6, 1e-6};
    start = lab_now();
    for (int i = 0; w->trials && i < BATCHES; i++)
        if (!db_trials(call->ctx->db, call->scratch, &key, trials, BATCH)) exit(1);
    w->us[1] = (lab_now() - start) * 1e-3;
    return LW_OK;
}

static void write_cases(const char *known) {
    Bench b = open_bench(known);
    double record[KERNELS];
    for (int i = 0; i < KERNELS; i++) {
        Write w = {.bound = bind(&b, 24 + i, 32, 32), .trials = i == KERNELS - 1};
        if (call_run(b.ctx, write_body, &w)) die(b.ctx);
        record[i] = w.us[0];
        lw_bound_free((lw_bound *)w.bound);
        if (w.trials)
            printf("write\n  trials in batches of %d   %8.0f a second\n", BATCH,
                   BATCH * BATCHES / w.us[1] * 1e6);
    }
    sort_values(record, KERNELS);
    printf("  a record                 %8.1f us %8.1f us median\n", record[0], record[KERNELS / 2]);
    lw_module_free(b.mod);
    lw_context_free(b.ctx);
}

int main(void) {
    char folder[] = "/tmp/lw-bench-XXXXXX", path[64], name[80];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tune.db", folder);
    write_cases(path);
    compile_cases(path);
    static const char *const more[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, more[i]);
        unlink(name);
    }
    rmdir(folder);
    return 0;
}
