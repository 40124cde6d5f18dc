// This machine's numbers through the API, and the file that keeps what was measured.
//
// The file is one JSON object: $XDG_CACHE_HOME/loopwright/machine-CPU-CORES.json, or below
// $HOME/.cache. A process that may use fewer cores has a file of its own.
// One function describes its text; it runs over the text to write and again to read, so that a file
// is either exactly what this version writes for this processor, or ignored with a warning.
#define _GNU_SOURCE
#include "api/rates.h"
#include "api/cache_file.h"
#include "api/pipeline.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// --- The text ------------------------------------------------------------------------------------

typedef struct Form {
    Text out;       // when writing
    const char *in; // when reading: what is left of the text; NULL when it is not as it should be
    bool reading;
} Form;

static void literal(Form *f, const char *s) {
    size_t n = strlen(s);
    if (!f->reading)
        text_add_n(&f->out, s, n);
    else if (f->in)
        f->in = strncmp(f->in, s, n) == 0 ? f->in + n : NULL;
}

// A rate with two decimals; one that is read must be finite and not negative.
static void number(Form *f, double *value) {
    if (!f->reading) {
        text_float(&f->out, round(*value * 100) / 100, false);
        return;
    }
    if (!f->in) return;
    size_t n = strspn(f->in, "0123456789.e+-");
    bool ok = n && text_parse_float(f->in, n, false, value) && isfinite(*value) && *value >= 0;
    f->in = ok ? f->in + n : NULL;
}

static void pair(Form *f, const char *key, double value[2]) {
    literal(f, key);
    number(f, &value[0]);
    literal(f, ", ");
    number(f, &value[1]);
    literal(f, "]");
}

static void members(Form *f, const char *const *name, double *value, int n) {
    for (int i = 0; i < n; i++) {
        literal(f, i ? ", \"" : "\"");
        literal(f, name[i]);
        literal(f, "\": ");
        number(f, &value[i]);
    }
}

// The start of an object, behind the end of another one.
static void key(Form *f, const char *before, const char *name) {
    literal(f, before);
    literal(f, "    \"");
    literal(f, name);
    literal(f, "\": {");
}

// The instruction set of each width, in the order of the widths, is a key.
static void rates_form(Form *f, const char *const *isa, Rates *r) {
    static const char *const level[] = {"L1", "L2", "L3", "memory"};
    literal(f, "  \"gflops\": {\n");
    for (int i = 0; i < WIDTH_COUNT; i++) {
        key(f, i ? "},\n" : "", isa[i]);
        pair(f, "\"f32\": [", r->fma[i][0]);
        pair(f, ", \"f64\": [", r->fma[i][1]);
    }
    literal(f, "}\n  },\n  \"gbps\": {\n");
    for (int i = 0; i < LEVEL_COUNT; i++) {
        key(f, i ? "},\n" : "", level[i]);
        pair(f, "\"load\": [", r->move[i][MOVE_LOAD]);
        pair(f, ", \"store\": [", r->move[i][MOVE_STORE]);
        pair(f, ", \"copy\": [", r->move[i][MOVE_COPY]);
    }
    literal(f, "}\n  },\n  \"ghz\": ");
    number(f, &r->ghz);
    literal(f, ",\n  \"gops\": {\n");
    for (int i = WIDTH_HALF; i < WIDTH_COUNT; i++) {
        key(f, i == WIDTH_HALF ? "" : "},\n", isa[i]);
        members(f, work_name, r->work[i], WORK_COUNT);
    }
    literal(f, "}\n  },\n  \"latency_ps\": {");
    members(f, latency_name, r->latency, LATENCY_COUNT);
    literal(f, "}\n}\n");
}

static void machine_form(Form *f, Arena *arena, const Machine *m, Rates *r) {
    Text head = {.arena = arena};
    text_add(&head, "{\n  \"format\": 2,\n  \"cpu\": \"");
    text_json(&head, m->cpu);
    text_printf(&head, "\",\n  \"isa\": \"%s\",\n  \"cores\": %d,\n", machine_isa(m), r->cores);
    text_printf(&head, "  \"cache\": [%lld, %lld, %lld],\n", (long long)m->cache[1],
                (long long)m->cache[2], (long long)m->cache[3]);
    literal(f, text_str(&head));
    rates_form(f, m->target->isa, r);
}

static const char *write_form(Arena *arena, const Machine *m, Rates *r) {
    Form f = {.out = {.arena = arena}};
    machine_form(&f, arena, m, r);
    return text_str(&f.out);
}

static bool read_form(Arena *arena, const char *text, const Machine *m, Rates *r) {
    Form f = {.in = text, .reading = true};
    machine_form(&f, arena, m, r);
    return f.in && !*f.in;
}

// --- The file ------------------------------------------------------------------------------------

// NULL when there is nowhere to keep it.
static const char *cache_path(Arena *arena, const Machine *m) {
    return cache_file(arena, arena_printf(arena, "machine-%s-%d.json", cache_slug(arena, m->cpu),
                                          measure_cores()));
}

// --- The call ------------------------------------------------------------------------------------

typedef struct MachineCall {
    lw_machine_options options;
    Rates rates;
    const lw_machine *out;
} MachineCall;

static lw_machine *describe(Arena *arena, const Machine *m, Rates *r) {
    lw_machine *out = arena_new(arena, lw_machine);
    *out = (lw_machine){.cpu = arena_strndup(arena, m->cpu, strlen(m->cpu)),
                        .isa = machine_isa(m),
                        .cores = r->cores,
                        .cache = {m->cache[1], m->cache[2], m->cache[3]},
                        .json = write_form(arena, m, r)};
    memcpy(out->gflops, r->fma, sizeof out->gflops);
    memcpy(out->gbps, r->move, sizeof out->gbps);
    return out;
}

typedef enum KeptRates { KEPT_NONE, KEPT_BAD, KEPT_RATES } KeptRates;

// The file's measurements of this machine; text goes to the arena.
static KeptRates read_kept(Arena *arena, const char *path, const Machine *m, Rates *r) {
    const char *text;
    *r = (Rates){.cores = measure_cores()};
    static const char earlier[] = "{\n  \"format\": 1,"; // before pipes were measured
    if (!path || !cache_read(arena, path, &text)) return KEPT_NONE;
    if (!strncmp(text, earlier, strlen(earlier))) return KEPT_NONE;
    return read_form(arena, text, m, r) ? KEPT_RATES : KEPT_BAD;
}

// Of a machine that is described there is nothing to measure.
static bool is_described(Call *call, Rates *r) {
    if (call->ctx->pretended) family_rates(call->ctx->pretended, r);
    return call->ctx->pretended != NULL;
}

bool measure_kept(Call *call, Machine *m) {
    Arena *arena = call->arena;
    Rates *r = arena_new(arena, Rates);
    m->rates = r;
    if (is_described(call, r)) return true;
    bool kept = read_kept(arena, cache_path(arena, m), m, r) == KEPT_RATES;
    m->rates = kept ? r : NULL;
    return kept;
}

bool measure_known(Call *call, Machine *m) {
    if (measure_kept(call, m)) return true;
    const Target *host = target_host();
    Machine whole;
    host->detect(&whole, host->nisas);
    Rates *r = arena_new(call->arena, Rates);
    if (!measure_rates(call, &whole, r)) return false;
    const char *path = cache_path(call->arena, &whole);
    if (path) cache_write(call->scratch, path, write_form(call->arena, &whole, r));
    m->rates = r;
    return true;
}

void rates_improve(Rates *r, const Rates *kept) {
    double *to = &r->fma[0][0][0];
    const double *from = &kept->fma[0][0][0];
    for (size_t i = 0; i < sizeof r->fma / sizeof *to; i++) to[i] = fmax(to[i], from[i]);
    to = &r->move[0][0][0];
    from = &kept->move[0][0][0];
    for (size_t i = 0; i < sizeof r->move / sizeof *to; i++) to[i] = fmax(to[i], from[i]);
    to = &r->work[0][0];
    from = &kept->work[0][0];
    for (size_t i = 0; i < sizeof r->work / sizeof *to; i++) to[i] = fmax(to[i], from[i]);
    r->ghz = fmax(r->ghz, kept->ghz);
    for (int i = 0; i < LATENCY_COUNT; i++)
        if (kept->latency[i] > 0 && !(r->latency[i] > 0 && r->latency[i] < kept->latency[i]))
            r->latency[i] = kept->latency[i];
}

static void raise_pair(double rate[2], bool all, double ratio) {
    rate[all] *= ratio;
    if (!all && rate[CORES_ALL] > 0) rate[CORES_ALL] = fmax(rate[CORES_ALL], rate[CORES_ONE]);
}

// A run that was faster than its roof was itself a measurement: the rates of that roof rise to it.
static bool rates_raise(Rates *r, const lw_machine *m, const lw_timing *run) {
    lw_roof roof;
    lw_timing t;
    if (!options_copy(&t, sizeof t, run)) return false;
    if (lw_machine_roof(m, &t, &roof) != LW_OK || roof.partly) return false;
    if (t.p10_us <= 0 || roof.us <= t.p10_us) return false;
    double ratio = roof.us / t.p10_us;
    bool all = t.threads > 1 && m->cores > 1;
    if (roof.compute)
        raise_pair(r->fma[target_isa(target_host(), t.isa)][t.float_bits > 32], all, ratio);
    for (int k = 0; k < 3 && !roof.compute; k++) raise_pair(r->move[roof.level][k], all, ratio);
    return true;
}

static lw_status machine_body(Call *call, void *args) {
    MachineCall *c = args;
    Machine m;
    if (!machine_named(call)) return LW_ERROR;
    detect_machine(call->ctx, &m, target_host()->nisas);
    Rates r = {.cores = measure_cores()};
    if (is_described(call, &r)) {
        c->out = describe(call->arena, &m, &r);
        c->rates = r;
        return LW_OK;
    }
    const char *path = c->options.file ? c->options.file : cache_path(call->arena, &m);
    if (path && !*path) path = NULL;
    KeptRates kept = c->options.remeasure ? KEPT_NONE : read_kept(call->arena, path, &m, &r);
    if (kept == KEPT_BAD) diag_report(call->diags, (Range){0, 0}, DIAG_MACHINE_FILE, path);
    bool better = c->options.improve && kept == KEPT_RATES, measure = better || kept != KEPT_RATES;
    Rates before = r;
    if (measure && !measure_rates(call, &m, &r)) arena_out_of_memory(call->arena);
    if (better) rates_improve(&r, &before);
    lw_machine *out = describe(call->arena, &m, &r);
    bool raised = c->options.run && rates_raise(&r, out, c->options.run);
    if (raised) out = describe(call->arena, &m, &r);
    out->measured = measure;
    out->file = path;
    if ((measure || raised) && path && !cache_write(call->scratch, path, out->json)) {
        diag_report(call->diags, (Range){0, 0}, DIAG_MACHINE_KEEP, path, strerror(errno));
        out->file = NULL;
    }
    c->out = out;
    c->rates = r;
    return LW_OK;
}

const lw_machine *machine_rated(Call *call, Machine *m, bool again, const lw_timing *run) {
    MachineCall c = {.options.improve = again, .options.run = run};
    if (machine_body(call, &c) != LW_OK) return NULL;
    m->rates = arena_copy(call->arena, &c.rates, sizeof c.rates);
    return c.out;
}

lw_status lw_machine_get(lw_context *ctx, const lw_machine_options *options,
                         const lw_machine **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    MachineCall c = {0};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    lw_status status = call_run(ctx, machine_body, &c);
    if (status == LW_OK) *out = c.out;
    return status;
}

// --- Roofs ---------------------------------------------------------------------------------------

// Rates for a number of cores, from those of one and of all.
static double rate_of(const double rate[2], int threads, int cores) {
    if (threads <= 1 || cores <= 1) return rate[CORES_ONE];
    double all = rate[CORES_ALL];
    return threads >= cores ? all : all * threads / cores;
}

// The innermost level that holds the bytes. Each thread has its own caches, except the last level.
static lw_level level_of(const lw_machine *m, double bytes, int threads) {
    if (m->cache[0] && bytes <= (double)m->cache[0] * threads) return LW_L1;
    if (m->cache[1] && bytes <= (double)m->cache[1] * threads) return LW_L2;
    return m->cache[2] && bytes <= (double)m->cache[2] ? LW_L3 : LW_MEMORY;
}

// Pairs of a load and a store run at the rate of copies, the rest at its own rate.
static double move_us(const double rate[3][2], double in, double out, int threads, int cores) {
    double pairs = in < out ? in : out, us = 0;
    double part[3] = {in - pairs, out - pairs, 2 * pairs};
    for (int k = 0; k < 3; k++) {
        double gbps = rate_of(rate[k], threads, cores);
        if (part[k] > 0 && gbps > 0) us += part[k] / gbps * 1e-3;
    }
    return us;
}

lw_status lw_machine_roof(const lw_machine *m, const lw_timing *timing, lw_roof *out) {
    lw_timing t;
    if (!m || !timing || !out || !options_copy(&t, sizeof t, timing)) return LW_MISUSE;
    int isa = t.isa ? target_isa(target_host(), t.isa) : -1,
        threads = t.threads < 1 ? 1 : t.threads;
    double floats = t.float_bits ? t.flops - t.int_ops : 0;
    *out = (lw_roof){.level = level_of(m, t.bytes, threads), .partly = t.flops > 2 * floats};
    if (isa < 0) return LW_MISUSE;
    double peak = 0;
    if (floats > 0) peak = rate_of(m->gflops[isa][t.float_bits > 32], threads, m->cores);
    if (peak > 0) out->compute_us = floats / peak * 1e-3;
    out->memory_us =
        move_us(m->gbps[out->level], t.bytes - t.written_bytes, t.written_bytes, threads, m->cores);
    out->compute = out->compute_us > out->memory_us;
    out->us = out->compute ? out->compute_us : out->memory_us;
    out->peak = out->compute ? peak : out->us > 0 ? t.bytes / out->us * 1e-3 : 0;
    return LW_OK;
}
