// One item: compiled, checked, measured together with its peers.
#include "command/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

BenchRow *bench_row(Bench *b, const BenchItem *item) {
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        BenchRow *row = cli_alloc((size_t)b->cap * sizeof *row);
        if (b->n) memcpy(row, b->row, (size_t)b->n * sizeof *row);
        free(b->row);
        b->row = row;
    }
    BenchRow *r = &b->row[b->n++];
    *r = (BenchRow){.item = item, .cold_ns = NAN, .of_peak = NAN, .compile_us = NAN};
    r->ns = (Estimate){NAN, NAN, NAN};
    r->best_ns = r->roof_ns = NAN;
    return r;
}

const BenchPeer *bench_best(const BenchRow *r) {
    const BenchPeer *best = NULL;
    for (int i = 0; i < r->npeers; i++) {
        const BenchPeer *p = &r->peer[i];
        if (p->differs || p->other || !isfinite(p->ratio.median)) continue;
        if (!best || p->ratio.median < best->ratio.median) best = p;
    }
    return best;
}

// --- Peers ---------------------------------------------------------------------------------------

// A filter that peers take as taps x C x K, in our blocks: KO CO taps CI KI.
static void pack_filters(BenchKernel *k, int taps) {
    const int64_t *f = lw_bound_tensor(k->bound, 1)->shape;
    int64_t co = f[1], ci = f[4], ki = f[5], channels = co * ci, filters = f[0] * ki;
    float *to = k->buffer[1], *from = cli_alloc(k->bytes[1]);
    memcpy(from, to, k->bytes[1]);
    for (int64_t i = 0; i < filters; i++)
        for (int64_t j = 0; j < channels; j++)
            for (int64_t t = 0; t < taps; t++)
                to[((((i / ki) * co + j / ci) * taps + t) * ci + j % ci) * ki + i % ki] =
                    from[(t * channels + j) * filters + i];
    free(from);
}

static int isa_of(const Bench *b, const BenchItem *item) {
    const char *isa = item->isa ? item->isa : b->cli->isa ? b->cli->isa : b->machine->isa;
    return !strcmp(isa, "avx512") ? RIVAL_AVX512 : RIVAL_AVX2;
}

static bool peer_wanted(const Bench *b, const char *name) {
    return !b->only_peers || rival_word(b->only_peers, name, strlen(name));
}

static void add_c(Bench *b, BenchKernel *k, Trial *t) {
    static const struct {
        const char *name, *env, *schedule, *file;
    } all[] = {
        {"gcc, as written", "CC=gcc CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd", "",
         "written"},
        {"gcc, our loops", "CC=gcc CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd ROW=1",
         NULL, "chosen"},
        {"clang, our loops",
         "CC=clang CFLAGS=-O3,-march=native,-ffp-contract=off,-fopenmp-simd ROW=1", NULL, "chosen"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *who = strncmp(all[i].name, "gcc", 3) ? "clang" : "gcc";
        if (!peer_wanted(b, who) || (b->quick && *who == 'c' && !b->only_peers)) continue;
        LabPeer *p = lab_peer(&b->lab, "cc", all[i].env);
        char *path = p ? bench_kernel_c(k, all[i].schedule, all[i].file) : NULL;
        char *task = path ? cli_printf("c %s", path) : NULL;
        if (task) trial_ask_peer(t, p, all[i].name, task);
        free(path);
        free(task);
    }
}

static const char *halide_env(const Bench *b, const BenchItem *item) {
    return isa_of(b, item) == RIVAL_AVX512
               ? "HL_NUM_THREADS=1"
               : "HL_NUM_THREADS=1 HL_JIT_TARGET=x86-64-linux-avx-avx2-f16c-fma-sse41";
}

// Halide with the loops of our schedule. The row names the parts that Halide cannot express.
static void add_halide(Bench *b, BenchKernel *k, Trial *t, BenchRow *r) {
    char line[LAB_LINE], answer[LAB_LINE];
    LabPeer *p = lab_peer(&b->lab, "halide_same", halide_env(b, r->item));
    if (!p || !peer_wanted(b, "halide")) return;
    char *path = bench_kernel_texts(k, r->item->isa);
    snprintf(line, sizeof line, "same %s", path ? path : "");
    int i = path ? trial_add_peer(t, p, "halide", line) : -1;
    if (i >= 0 && peer_ask(t->entry[i].peer, "compiled", answer)) r->halide_us = atof(answer) / 1e3;
    snprintf(line, sizeof line, "task compile-same %s", path ? path : "");
    if (path && i < 0 && peer_ask(p, line, answer) && strcmp(answer, "ok"))
        r->remark = cli_printf("Halide %s", answer + 3);
    free(path);
}

// The same program with the loops that are chosen, where passes of a machine make ours.
static void add_chosen(Bench *b, BenchJob *j, BenchRow *r) {
    BenchKernel *k = &j->chosen;
    if (!b->cli->machine || !peer_wanted(b, "chosen")) return;
    bench_kernel_open_with(k, b, j->item, NULL);
    if (k->error) r->note = cli_printf("as chosen: %s", k->error);
    if (r->note) return;
    int i = trial_add_kernel(j->trial, "chosen", bench_kernel_call, k);
    j->trial->entry[i].flush = bench_kernel_flush;
    j->trial->entry[i].wall = j->item->threads > 1;
    if (j->item->taps) pack_filters(k, j->item->taps);
}

// --- Limits of the machine -----------------------------------------------------------------------

bool bench_roof(const Bench *b, const BenchKernel *k, double bytes, lw_roof *roof) {
    const DLTensor *out = lw_bound_tensor(k->bound, (size_t)k->inputs);
    lw_timing t = {.struct_size = sizeof t, .backend = LW_BACKEND_JIT, .threads = k->threads};
    t.flops = k->info->flops, t.int_ops = k->info->int_ops, t.bytes = bytes;
    t.written_bytes = k->info->written_bytes;
    t.isa = k->info->isa, t.code_bytes = k->info->code_bytes;
    t.float_bits = out->dtype.code == kDLFloat ? out->dtype.bits : 32;
    return lw_machine_roof(b->machine, &t, roof) == LW_OK && roof->us > 0;
}

enum { FMA_LOOPS = 10000, FMA_CHAINS = 24 }; // as in peers/limits.c

// A loop of multiply-adds, or one that streams as many bytes, as the last entries of the trial. The
// number of the first; *work is what one call does.
static int add_limits(Bench *b, const BenchKernel *k, const BenchRow *r, Trial *t, double *work) {
    int first = t->n;
    char task[64];
    if (r->compute) {
        bool wide = isa_of(b, r->item) == RIVAL_AVX512;
        bool full = lw_bound_tensor(k->bound, (size_t)k->inputs)->dtype.bits == 64;
        *work = 2.0 * FMA_LOOPS * FMA_CHAINS * (wide ? 16 : 8) / (full ? 2 : 1);
        int threads = r->item->threads == 2 ? 2 : 1;
        *work *= threads;
        snprintf(task, sizeof task, "fma %d %d %d", wide ? 512 : 256, threads, threads > 1);
        trial_add_peer(t, lab_peer(&b->lab, "limits", threads > 1 ? "ROW=free" : ""), "limit",
                       task);
        return first;
    }
    // Half of a copy is read; kernels that mostly read are compared with a loop that only reads.
    bool reads = k->info->written_bytes * 4 < r->bytes;
    int64_t n = (int64_t)(r->bytes / (reads ? 4 : 8)) / 64 * 64;
    if (n < 64) n = 64;
    *work = (double)n * (reads ? 4 : 8);
    for (int past = 0; past < (reads ? 1 : 2); past++) {
        snprintf(task, sizeof task, "%s %lld %d", reads ? "read" : "copy", (long long)n, past);
        trial_add_peer(t, lab_peer(&b->lab, "limits", past ? "ROW=1" : ""), "limit", task);
    }
    return first;
}

// The fraction of the highest rate of the limits, which have rounds before and after ours, and of
// peers that did all of the work, each in the fastest tenth of its rounds.
static double of_peak(const Trial *t, const BenchRow *r, int first, double limit, double work) {
    double least = NAN;
    if (first == t->n) return r->roof_ns / r->ns.median;
    for (int i = 1; i < t->n; i++) {
        bool peer = i < first;
        if (peer && (r->peer[i - 1].other || r->peer[i - 1].differs)) continue;
        double done = peer ? work : limit;
        least = fmin(least, trial_fast(t, i) / trial_fast(t, 0) * work / done);
    }
    return least;
}

// --- Checking ------------------------------------------------------------------------------------

static bool reference(Bench *b, BenchKernel *k, BenchRow *r, lw_backend backend) {
    void *out = NULL;
    (void)b;
    bool ran = bench_kernel_refer(k, backend, &out);
    bool same = ran && bench_kernel_same(k, out, r->item->rounded || backend == LW_BACKEND_C);
    free(out);
    r->wrong = ran && !same;
    if (r->wrong) r->note = cli_printf("WRONG: differs from %s", lw_backend_name(backend));
    if (same) r->check = cli_printf("%s", lw_backend_name(backend));
    return ran;
}

static bool same_result(const BenchKernel *k, const Entry *e, bool rounded) {
    if (e->peer) {
        float *x = peer_fetch(e->peer, (k->bytes[k->inputs] + 3) / 4);
        bool same = x && bench_kernel_same(k, x, rounded);
        free(x);
        return same;
    }
    const BenchKernel *other = e->self; // another kernel of this program
    e->call(e->self);
    return bench_kernel_same(k, other->buffer[k->inputs], rounded);
}

// The result must equal that of the reference interpreter; if that would take too long, that of an
// independent library, or of C compiled from the loops as written.
static void check(Bench *b, BenchKernel *k, Trial *t, BenchRow *r, bool *differs) {
    const char *agrees = NULL;
    bench_kernel_call(k);
    for (int i = 1; i < t->n; i++) {
        differs[i] = !same_result(k, &t->entry[i], r->item->rounded);
        if (!differs[i] && !agrees) agrees = t->entry[i].name;
    }
    double most = b->quick ? 1e6 : 4e7;
    if ((double)lw_bound_instances(k->bound) <= most && reference(b, k, r, LW_BACKEND_INTERP))
        return;
    if (agrees)
        r->check = cli_printf("%s", agrees);
    else if (!reference(b, k, r, LW_BACKEND_C))
        r->check = cli_printf("nobody");
}

// --- One item ------------------------------------------------------------------------------------

static char *sizes_text(const lw_bound *bound) {
    char *text = cli_values_text(bound);
    char *to = text;
    for (char *c = text; *c; c++)
        if (*c != ' ') *to++ = *c;
    *to = 0;
    return text;
}

static void describe(BenchKernel *k, BenchRow *r) {
    const char *text;
    r->sizes = sizes_text(k->bound);
    lw_show_options o = {.struct_size = sizeof o, .isa = r->item->isa, .threads = k->threads};
    o.schedule.text = k->given;
    if (!lw_bound_show_with(k->ctx, k->bound, LW_STAGE_SCHEDULE, &o, &text))
        r->schedule = bench_text(text);
    r->tuned = cli_tuned(k->info->schedule);
    r->flops = k->info->flops, r->int_ops = k->info->int_ops, r->bytes = k->info->bytes;
    if (r->item->moved > 0) r->bytes = r->item->moved;
    r->instances = (double)lw_bound_instances(k->bound);
    r->code_bytes = (double)k->info->code_bytes;
    r->compile_us = k->info->compile_us;
}

static void finish(Bench *b, BenchJob *j, BenchRow *r) {
    const Trial *t = j->trial;
    (void)b;
    r->ns = trial_time(t, 0);
    r->best_ns = trial_best(t, 0);
    r->cold_ns = trial_cold(t, 0);
    for (int i = 1; i < j->limits; i++) {
        BenchPeer *p = &r->peer[r->npeers++];
        *p = (BenchPeer){.name = t->entry[i].name, .ns = trial_median(t, i)};
        p->cold_ns = trial_cold(t, i);
        p->ratio = trial_ratio(t, 0, i);
        p->differs = j->differs[i];
        p->other = !strcmp(p->name, "winograd");
        if (!strcmp(p->name, "halide")) p->compile_us = r->halide_us;
    }
    r->of_peak = of_peak(t, r, j->limits, j->limit, r->compute ? r->flops : r->bytes);
    if (j->n) r->compile_us = median(j->us, j->n);
}

static void roof_of(const Bench *b, const BenchKernel *k, BenchRow *r) {
    static const char *const level[] = {"L1", "L2", "L3", "memory"};
    lw_roof roof = {0};
    bool roofed = bench_roof(b, k, r->bytes, &roof);
    r->compute = roofed && roof.compute;
    r->level = roofed ? level[roof.level] : "";
    r->roof_ns = roofed ? roof.us * 1e3 : NAN;
}

static void open_kernel(Bench *b, BenchJob *j, BenchRow *r) {
    const BenchItem *item = j->item;
    BenchKernel *k = &j->kernel;
    Trial *t = j->trial;
    if (item->threads > 1 && CPU_COUNT(&b->lab.cores) < item->threads)
        r->note = cli_printf("it may use one core only");
    else
        bench_kernel_open(k, b, item);
    if (k->error) r->note = cli_printf("%s", k->error);
    if (r->note) {
        r->sizes = cli_printf("%s", item->sizes ? item->sizes : "");
        return;
    }
    describe(k, r);
    trial_add_kernel(t, "ours", bench_kernel_call, k);
    t->entry[0].flush = bench_kernel_flush;
    t->entry[0].wall = item->threads > 1;
    if (item->task) rivals_add(&b->lab, t, item->task, isa_of(b, item), b->only_peers);
    if (item->c) add_c(b, k, t);
    trial_gather(t);
    if (item->halide) add_halide(b, k, t, r);
    if (item->taps) pack_filters(k, item->taps);
    add_chosen(b, j, r);
    if (r->note) return;
    check(b, k, t, r, j->differs);
    if (r->note) return;
    roof_of(b, k, r);
    j->limits = add_limits(b, k, r, t, &j->limit);
}

// Compile time is also sampled in every pass, because the speed of the machine varies.
static void sample(Bench *b, BenchJob *j) {
    for (int i = 0; i < 3; i++) {
        double us = j->item->program ? bench_compile_us(b, j->item, j->kernel.given)
                                     : bench_file_compile_us(b);
        if (i && isfinite(us)) bench_note(j, us); // the first one warms up
    }
}

const BenchKind bench_kernels = {open_kernel, sample, finish};
