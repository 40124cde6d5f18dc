// Fits the numbers of machine/machine_cost.def to this machine, by the times of chosen Schedules.
//
//     build/bench/fit [--kernels 600] [--large 200] [--seed 101] [--sweeps 3] [--only NAME]
//     build/bench/fit --save FILE       the chosen Schedules
//     build/bench/fit --against FILE    times the chosen Schedules in turn with those of a file
//
// Each row that was timed or set is tried with values around its own. A value that changes the
// choice for some random kernels (of bench/choice.c, and --large ones) is kept if these become
// faster by more than the noise. The rows that differ from the table are printed in the end. Fit on
// some seeds and validate with build/bench/choice on others.
//
// A Schedule is timed once per kernel, in turn with the Schedule that the table chooses, so that
// slow phases of the machine affect both.
#include "lab/kernels.h"
#include "lab/stats.h"

#include "choose/choose.h"
#include "lang/lang.h"
#include "machine/machine_cost.h"
#include "target/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- The numbers ---------------------------------------------------------------------------------

enum { FIT_TIMED = 1, FIT_SET = 1, FIT_COUNTED = 0, FIT_VENDOR = 0 };
#define TIMED   FIT_TIMED
#define SET     FIT_SET
#define COUNTED FIT_COUNTED
#define VENDOR  FIT_VENDOR

typedef struct Number {
    const char *name;
    size_t at;
    bool whole, fits; // an integer; it is fitted
} Number;

static const Number numbers[] = {
#define IS_INT(type) _Generic((type)0, int : true, default : false)
#define COST(type, name, scalar, avx2, avx512, zen4, zen5, unit, source, text)                     \
    {#name, offsetof(MachineCost, name), IS_INT(type), source && strncmp(#name, "bound_", 6) != 0},
#include "machine/machine_cost.def"
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double get(const MachineCost *c, const Number *n) {
    const char *p = (const char *)c + n->at;
    int whole;
    double real;
    if (!n->whole) return memcpy(&real, p, sizeof real), real;
    return memcpy(&whole, p, sizeof whole), whole;
}

static void put(MachineCost *c, const Number *n, double value) {
    char *p = (char *)c + n->at;
    int whole = (int)lrint(value);
    memcpy(p, n->whole ? (const void *)&whole : (const void *)&value,
           n->whole ? sizeof whole : sizeof value);
}

// Values to try around v; returns how many.
enum { MOST_VALUES = 12 };
static int values_around(const Number *n, double v, double out[MOST_VALUES]) {
    static const double factor[] = {0.5, 0.7, 0.85, 1.18, 1.4, 2};
    int count = 0;
    if (n->whole) {
        double some[] = {v - 2, v - 1, v + 1, v + 2, floor(v / 2), v * 2, v * 3, 0};
        for (int i = 0; i < 8; i++) {
            bool seen = some[i] < (v > 2 ? 1 : 0) || some[i] == v;
            for (int k = 0; k < count; k++) seen |= out[k] == some[i];
            if (!seen) out[count++] = some[i];
        }
        return count;
    }
    if (v == 0) {
        static const double some[] = {0.25, 0.5, 1, 2, 4};
        for (int i = 0; i < 5; i++) out[count++] = some[i];
        return count;
    }
    for (int i = 0; i < 6; i++) out[count++] = v * factor[i];
    return count;
}

// --- Kernels -------------------------------------------------------------------------------------

typedef struct Timed {
    char *text;
    double ratio; // of its time to that of the first Schedule
} Timed;

typedef struct Row {
    RandomKernel kernel;
    const Program *program;
    const lw_bound *bound;
    int n, cap, now; // schedules seen; the one of the present numbers
    Timed *timed;
} Row;

typedef struct Fit {
    Arena arena, work;
    Names names;
    DiagList diags;
    Machine machine;
    MachineCost cost;
    lw_context *ctx;
    int n;
    Row *row;
    long measured;
} Fit;

static int64_t size_of(const char *sizes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && at[n] == '=') return atoll(at + n + 1);
    return -1;
}

static const Program *parse(Fit *f, const RandomKernel *k) {
    int64_t value[PROGRAM_MAX_PARAMS];
    Source *s = arena_new(&f->arena, Source);
    *s = (Source){"kernel.tc", k->text, (uint32_t)strlen(k->text)};
    const Module *m = tc_infer(tc_parse(&f->arena, &f->names, s, &f->diags));
    if (!m || !m->programs.n) return NULL;
    const Program *p = m->programs.at[0];
    for (int i = 0; i < p->params.n; i++) value[i] = size_of(k->sizes, p->params.at[i].name);
    return program_bind(&f->arena, p, value, &f->diags);
}

// The Schedule chosen with these numbers, in f->work.
static const char *choose(Fit *f, const Row *r, const MachineCost *cost) {
    f->machine.cost = cost;
    const ChooseOptions o = {.machine = &f->machine, .serial = true};
    Text text = {.arena = &f->work};
    schedule_print(&text, choose_schedule(&f->work, r->program, &o));
    return text_str(&text);
}

static int find(const Row *r, const char *text) {
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->timed[i].text, text)) return i;
    return -1;
}

// Times a Schedule in turn with the first one of the kernel.
static double time_one(Fit *f, const Row *r, const char *text) {
    enum { ROUNDS = 5 };
    double ratio[ROUNDS];
    if (!r->n) return 1;
    for (int i = 0; i < ROUNDS; i++) {
        double first = kernel_seconds(f->ctx, r->bound, r->timed[0].text, NULL, 0.004);
        double other = kernel_seconds(f->ctx, r->bound, text, NULL, 0.004);
        ratio[i] = first > 0 && other > 0 ? other / first : 100;
    }
    f->measured++;
    return median(ratio, ROUNDS);
}

static int add(Fit *f, Row *r, const char *text) {
    double ratio = time_one(f, r, text);
    if (r->n == r->cap) {
        r->cap = r->cap * 2 + 4;
        r->timed = realloc(r->timed, (size_t)r->cap * sizeof *r->timed);
        if (!r->timed) abort();
    }
    r->timed[r->n] = (Timed){strdup(text), ratio};
    return r->n++;
}

// --- Fitting -------------------------------------------------------------------------------------

// The gain of a value: the sum of logarithms; *changed: kernels whose Schedule differs.
static double gain_of(Fit *f, const MachineCost *cost, int *next, int *changed) {
    double gain = 0;
    *changed = 0;
    for (int i = 0; i < f->n; i++) {
        Row *r = &f->row[i];
        ArenaMark mark = arena_mark(&f->work);
        const char *text = choose(f, r, cost);
        int at = find(r, text);
        if (at < 0) at = add(f, r, text);
        arena_release(&f->work, mark);
        next[i] = at;
        if (at == r->now) continue;
        ++*changed;
        gain += log(r->timed[r->now].ratio / r->timed[at].ratio);
    }
    return gain;
}

static bool try_number(Fit *f, const Number *n, int *next) {
    double value[MOST_VALUES], best = 0, most = 0;
    int count = values_around(n, get(&f->cost, n), value), changed;
    for (int i = 0; i < count; i++) {
        MachineCost cost = f->cost;
        put(&cost, n, value[i]);
        double gain = gain_of(f, &cost, next, &changed);
        double noise = 0.01 * sqrt(changed) + 0.03;
        if (gain > noise && gain > most) best = value[i], most = gain;
    }
    if (most <= 0) return false;
    printf("%-28s %8g -> %-8g gains %.3f", n->name, get(&f->cost, n), best, most);
    put(&f->cost, n, best);
    gain_of(f, &f->cost, next, &changed);
    printf(" on %d kernels, %ld timed\n", changed, f->measured);
    fflush(stdout);
    for (int i = 0; i < f->n; i++) f->row[i].now = next[i];
    return true;
}

static void report(const Fit *f, const MachineCost *from) {
    double sum[KERNEL_FAMILIES] = {0}, all = 0;
    int count[KERNEL_FAMILIES] = {0};
    for (int i = 0; i < f->n; i++) {
        const Row *r = &f->row[i];
        sum[r->kernel.family] += log(r->timed[r->now].ratio);
        count[r->kernel.family]++;
        all += log(r->timed[r->now].ratio);
    }
    for (int k = 0; k < KERNEL_FAMILIES; k++)
        printf("%-12s %.3f of the time\n", kernel_family[k], exp(sum[k] / fmax(count[k], 1)));
    printf("%-12s %.3f of the time\n", "all", exp(all / f->n));
    for (int i = 0; i < NUMBERS; i++)
        if (get(&f->cost, &numbers[i]) != get(from, &numbers[i]))
            printf("  %-28s %8g   %g\n", numbers[i].name, get(&f->cost, &numbers[i]),
                   get(from, &numbers[i]));
}

// --- Two commits ---------------------------------------------------------------------------------

static void save(const Fit *f, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return;
    for (int i = 0; i < f->n; i++) fprintf(file, "%s%c", f->row[i].timed[0].text, 0);
    fclose(file);
}

static bool against(Fit *f, const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    if (!file) return false;
    for (int i = 0; i < f->n; i++) {
        Row *r = &f->row[i];
        if (getdelim(&text, &room, 0, file) < 0) return false;
        if (strcmp(text, r->timed[0].text) == 0) continue;
        r->now = add(f, r, text);
        double ratio = r->timed[r->now].ratio;
        printf("%5.3f %s %s\n%s\nbefore\n%snow\n%s", ratio, kernel_family[r->kernel.family],
               r->kernel.sizes, r->kernel.text, text, r->timed[0].text);
    }
    free(text);
    return true;
}

int main(int argc, char **argv) {
    static Fit f;
    const char *save_as = NULL, *compare = NULL;
    int kernels = 600, large = 200, sweeps = 3;
    uint64_t seed = 101;
    const char *only = NULL, *family = NULL;
    Isa cap = ISA_COUNT;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--kernels")) kernels = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--seed")) seed = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--large")) large = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--sweeps")) sweeps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--only")) only = argv[i + 1];
        if (!strcmp(argv[i], "--family")) family = argv[i + 1];
        if (!strcmp(argv[i], "--isa") && !strcmp(argv[i + 1], "avx2")) cap = ISA_AVX2;
        if (!strcmp(argv[i], "--save")) save_as = argv[i + 1];
        if (!strcmp(argv[i], "--against")) compare = argv[i + 1];
    }
    arena_init(&f.arena, &allocator_libc);
    arena_init(&f.work, &allocator_libc);
    f.names = (Names){.arena = &f.arena};
    f.diags = (DiagList){.arena = &f.arena};
    machine_detect(&f.machine, ISA_COUNT);
    if (family && family_by_name(family)) machine_pretend(&f.machine, family_by_name(family), cap);
    f.machine.target = &target_x86;
    f.cost = *machine_cost(&f.machine);
    const MachineCost from = f.cost;
    f.ctx = lw_context_new(NULL);
    f.row = calloc((size_t)kernels, sizeof *f.row);
    int *next = calloc((size_t)kernels, sizeof *next);
    if (!f.ctx || !f.row || !next) return 1;
    for (int i = 0; i < kernels; i++) {
        Row *r = &f.row[f.n];
        r->kernel = i < kernels - large ? small_kernel(seed, i) : large_kernel(seed, i);
        r->program = parse(&f, &r->kernel);
        r->bound = kernel_bind(f.ctx, &r->kernel);
        if (!r->program || !r->bound) continue;
        r->now = add(&f, r, choose(&f, r, &f.cost));
        f.n++;
    }
    printf("%d kernels\n", f.n);
    if (save_as) return save(&f, save_as), 0;
    if (compare) return against(&f, compare) ? report(&f, &from), 0 : 1;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        bool any = false;
        for (int i = 0; i < NUMBERS; i++)
            if (numbers[i].fits && (!only || strstr(numbers[i].name, only)))
                any |= try_number(&f, &numbers[i], next);
        report(&f, &from);
        fflush(stdout);
        if (!any) break;
    }
    return 0;
}
