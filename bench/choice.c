// Schedules chosen without search against tuned ones, and the time of `tune` against that of `run`,
// on random small kernels of five families.
//
//     make bench-choice
//     build/bench/choice [--kernels 200] [--seed 1] [--seconds 0.5] [--family gemm] [--worst 12]
//                        [--agree] [--isa avx2] [--from N]
//
// Each kernel is tuned for --seconds on one thread. "choice" is the time of the chosen schedule
// divided by that of the winner; its geometric mean is the speed-up that the choice leaves to the
// search. Both run in turn, after the tuning and apart from it, because a search prefers lucky
// times: the median of the ratios of 5 rounds counts, of 15 if it is above 1.05, and "spread" is
// the distance between the quartiles of these ratios. "agree" is the time of lw_run divided by
// that of the tuning, for the chosen schedule and for the winner. --agree judges this column: it
// fails if more than a twentieth of the kernels differ by more than 5 %. Such a kernel is measured
// again, at most three times, because other load on the core may slow down one of the two
// measurements.
//
// A seed gives the same kernels on every machine. Improve the choice on some seeds, and validate it
// on others.
#include "loopwright.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ARGS = 4,
    MOST_KERNELS = 10000,
    PAGE = 4096,
    STAGGER = 17 * 64,
    ROUNDS = 5,
    MOST_ROUNDS = 15
};

// --- Random kernels ------------------------------------------------------------------------------

typedef struct Random {
    uint64_t state;
} Random;

static uint64_t next(Random *r) { // splitmix64
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// Log-uniform between both ends.
static int size_between(Random *r, int lo, int hi) {
    double unit = (double)(next(r) >> 11) * 0x1p-53;
    return (int)(lo * pow((double)hi / lo, unit) + 0.5);
}

static int below(Random *r, int n) { return (int)(next(r) % (uint64_t)n); }

typedef struct Kernel {
    char text[512], sizes[64];
} Kernel;

#define TEXT(K, ...)  snprintf((K)->text, sizeof(K)->text, __VA_ARGS__)
#define SIZES(K, ...) snprintf((K)->sizes, sizeof(K)->sizes, __VA_ARGS__)

static void product(Random *r, Kernel *k, int m, int n, int depth) {
    static const char *const text[] = {
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) +=! A(m,k) * B(n,k) }",
        "def f(float(K,M) A, float(K,N) B) -> (C) { C(m,n) +=! A(k,m) * B(k,n) }",
    };
    TEXT(k, "%s", text[below(r, 4)]);
    SIZES(k, "M=%d,N=%d,K=%d", m, n, depth);
}

static void small_product(Random *r, Kernel *k) {
    int m = size_between(r, 3, 130), n = size_between(r, 3, 130);
    product(r, k, m, n, size_between(r, 3, 130));
}

// One side is a few elements, another one may be long.
static void skinny_product(Random *r, Kernel *k) {
    int size[3] = {size_between(r, 1, 8), size_between(r, 8, 400), size_between(r, 8, 1200)};
    for (int i = 2; i > 0; i--) {
        int at = below(r, i + 1), swapped = size[i];
        size[i] = size[at];
        size[at] = swapped;
    }
    product(r, k, size[0], size[1], size[2]);
}

static void transpose(Random *r, Kernel *k) {
    static const char *const text[] = {
        "def f(%s(M,N) A) -> (C) { C(n,m) = A(m,n) }",
        "def f(%s(M,N) A) -> (C) { C(n,m) = A(m,n) }",
        "def f(%s(M,N,P) A) -> (C) { C(n,m,p) = A(m,n,p) }",
        "def f(%s(M,N,P) A) -> (C) { C(p,n,m) = A(m,n,p) }",
        "def f(%s(M,N,P) A) -> (C) { C(m,p,n) = A(m,n,p) }",
    };
    static const char *const type[] = {"float", "float", "double", "int8"};
    int which = below(r, 5), three = which > 1, most = three ? 48 : 300;
    TEXT(k, text[which], type[below(r, 4)]);
    int n = SIZES(k, "M=%d,N=%d", size_between(r, 2, most), size_between(r, 2, most));
    if (three)
        snprintf(k->sizes + n, sizeof k->sizes - (size_t)n, ",P=%d", size_between(r, 2, most));
}

static void softmax(Random *r, Kernel *k) {
    static const char *const text[] = {
        "def f(float(M,N) A) -> (S) { X(m) max=! A(m,n)  E(m,n) = exp(A(m,n) - X(m))\n"
        "    D(m) +=! E(m,n)  S(m,n) = E(m,n) / D(m) }",
        "def f(float(M,N) A) -> (S) { X(n) max=! A(m,n)  E(m,n) = exp(A(m,n) - X(n))\n"
        "    D(n) +=! E(m,n)  S(m,n) = E(m,n) / D(n) }",
        "def f(float(M,N) A) -> (S) { D(m) +=! A(m,n) * A(m,n)\n"
        "    S(m,n) = A(m,n) / sqrt(D(m) + 0.00001) }",
    };
    TEXT(k, "%s", text[below(r, 3)]);
    SIZES(k, "M=%d,N=%d", size_between(r, 1, 200), size_between(r, 3, 600));
}

static void stencil(Random *r, Kernel *k) {
    static const char *const text[] = {
        "def f(float(N) A) -> (B) { B(i) = 0.25 * (A(i) + 2.0 * A(i+1) + A(i+2)) }",
        "def f(float(M,N) A) -> (B) {\n"
        "    B(i,j) = 0.2 * (A(i+1,j+1) + A(i,j+1) + A(i+2,j+1) + A(i+1,j) + A(i+1,j+2)) }",
        "def f(float(M,N) A, float(3,3) W) -> (B) { B(i,j) +=! A(i+r,j+s) * W(r,s) }",
        "def f(float(M,N,P) A) -> (B) { B(i,j,k) = 0.4 * A(i+1,j+1,k+1) +\n"
        "    0.1 * (A(i,j+1,k+1) + A(i+2,j+1,k+1) + A(i+1,j,k+1) + A(i+1,j+2,k+1) +\n"
        "           A(i+1,j+1,k) + A(i+1,j+1,k+2)) }",
    };
    int which = below(r, 4), most = which == 0 ? 4000 : which == 3 ? 64 : 300;
    TEXT(k, "%s", text[which]);
    int m = size_between(r, 4, most), n = size_between(r, 4, most), p = size_between(r, 4, most);
    if (which == 0) SIZES(k, "N=%d", n);
    if (which == 1 || which == 2) SIZES(k, "M=%d,N=%d", m, n);
    if (which == 3) SIZES(k, "M=%d,N=%d,P=%d", m, n, p);
}

typedef struct Family {
    const char *name;
    void (*make)(Random *r, Kernel *k);
} Family;

static const Family families[] = {{"gemm", small_product},
                                  {"skinny", skinny_product},
                                  {"transpose", transpose},
                                  {"softmax", softmax},
                                  {"stencil", stencil}};
enum { FAMILIES = sizeof families / sizeof *families };

// --- Measuring -----------------------------------------------------------------------------------

static const double tolerance = 1.05, again_above = 1.05, round_seconds = 0.01;

typedef struct Options {
    int kernels, from, worst;
    uint64_t seed;
    double seconds;
    const char *family, *isa;
    bool agree;
} Options;

typedef struct Row {
    int number;
    const Family *family;
    Kernel kernel;
    double chosen, tuned;        // seconds, from the tuning
    double run_chosen, run_best; // from lw_run
    double ratio, spread;        // of run_chosen to run_best
    char *schedule, *instead;    // chosen, and the winner
    bool measured;
} Row;

typedef struct Bench {
    Options o;
    lw_context *ctx;
} Bench;

static int read_sizes(const char *text, char names[][2], lw_size *out) {
    int n = 0;
    for (const char *p = text; p && *p; n++) {
        names[n][0] = *p;
        names[n][1] = 0;
        out[n] = (lw_size){names[n], strtoll(p + 2, NULL, 10)};
        p = strchr(p, ',');
        if (p) p++;
    }
    return n;
}

static const lw_bound *bind(Bench *b, const Kernel *k) {
    lw_module *module;
    char names[4][2];
    lw_size sizes[4];
    lw_bound *bound = NULL;
    if (lw_parse(b->ctx, "kernel.tc", k->text, strlen(k->text), NULL, &module)) return NULL;
    const lw_function *f = lw_module_function(module, 0);
    int n = read_sizes(k->sizes, names, sizes);
    if (lw_bind(b->ctx, f, sizes, (size_t)n, &bound)) return NULL;
    return bound;
}

// Places arguments as the command does: see cli/data.c.
static void *allocate(const DLTensor *t, int number) {
    size_t bytes = t->dtype.bits / 8u, offset = (size_t)number * STAGGER % PAGE;
    for (int d = 0; d < t->ndim; d++) bytes *= (size_t)t->shape[d];
    char *p = aligned_alloc(PAGE, (bytes + 3 * PAGE - 1) / PAGE * PAGE);
    if (!p) abort();
    memset(p, 0, (bytes + 3 * PAGE - 1) / PAGE * PAGE);
    if (t->dtype.code == kDLFloat && t->dtype.bits == 32)
        for (size_t i = 0; i < bytes / 4; i++)
            ((float *)(void *)(p + offset))[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    return p;
}

// Seconds of one call by lw_run, the median over `seconds`.
static double measure(Bench *b, const lw_bound *bound, const char *schedule, double seconds) {
    DLTensor copy[MOST_ARGS];
    const DLTensor *args[MOST_ARGS];
    void *block[MOST_ARGS];
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o,
                        .timing = &timing,
                        .threads = 1,
                        .isa = b->o.isa,
                        .measure_seconds = seconds,
                        .schedule = {.text = schedule, .name = "tuned"}};
    const lw_function *f = lw_bound_function(bound);
    size_t n = lw_function_input_count(f) + lw_function_output_count(f);
    double us = 0;
    if (n > MOST_ARGS) return 0;
    for (size_t i = 0; i < n; i++) {
        copy[i] = *lw_bound_tensor(bound, i);
        block[i] = allocate(&copy[i], (int)i);
        copy[i].data = (char *)block[i] + i * STAGGER % PAGE;
        copy[i].device = (DLDevice){kDLCPU, 0};
        args[i] = &copy[i];
    }
    if (!lw_run(b->ctx, bound, args, n, &o)) us = timing.median_us;
    for (size_t i = 0; i < n; i++) free(block[i]);
    return us * 1e-6;
}

static char *copy_text(const char *text) {
    char *p = malloc(strlen(text) + 1);
    if (!p) abort();
    strcpy(p, text);
    return p;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *v, int n, int part, int parts) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[(n - 1) * part / parts];
}

// Runs the chosen schedule and the winner in turn.
static void compare(Bench *b, const lw_bound *bound, Row *row) {
    double chosen[MOST_ROUNDS], best[MOST_ROUNDS], each[MOST_ROUNDS];
    bool same = row->schedule && strcmp(row->schedule, row->instead) == 0;
    int n = 0;
    while (n < ROUNDS || (n < MOST_ROUNDS && !same && quantile(each, n, 1, 2) > again_above)) {
        for (int i = 0; i < ROUNDS; i++, n++) {
            chosen[n] = measure(b, bound, NULL, round_seconds);
            best[n] = same ? chosen[n] : measure(b, bound, row->instead, round_seconds);
            if (chosen[n] <= 0 || best[n] <= 0) return;
            each[n] = chosen[n] / best[n];
        }
    }
    row->ratio = quantile(each, n, 1, 2);
    row->spread = quantile(each, n, 3, 4) - quantile(each, n, 1, 4);
    row->run_chosen = quantile(chosen, n, 1, 2);
    row->run_best = quantile(best, n, 1, 2);
}

static void measure_row(Bench *b, Row *row) {
    const lw_bound *bound = bind(b, &row->kernel);
    const lw_tune_result *result;
    const char *chosen;
    lw_tune_options o = {.struct_size = sizeof o,
                         .seconds = b->o.seconds,
                         .threads = 1,
                         .isa = b->o.isa,
                         .db = "none",
                         .failures = "none"};
    if (!bound) return;
    lw_show_options show = {.struct_size = sizeof show, .threads = 1, .isa = b->o.isa};
    if (!lw_bound_show_with(b->ctx, bound, LW_STAGE_SCHEDULE, &show, &chosen))
        row->schedule = copy_text(chosen);
    if (b->o.agree) row->run_chosen = measure(b, bound, NULL, 0.5);
    if (lw_tune(b->ctx, bound, &o, &result)) return;
    row->chosen = result->chosen;
    row->tuned = result->state->seconds;
    row->instead = copy_text(result->schedule);
    if (b->o.agree) {
        row->run_best = measure(b, bound, row->instead, 0.5);
        row->ratio = row->run_chosen / row->run_best;
    } else {
        compare(b, bound, row);
    }
    row->measured = row->chosen > 0 && row->tuned > 0 && row->run_best > 0;
}

static double off(const Row *r) {
    double chosen = fabs(log(r->run_chosen / r->chosen)), best = fabs(log(r->run_best / r->tuned));
    return exp(fmax(chosen, best));
}

static void measure_often(Bench *b, Row *row) {
    measure_row(b, row);
    for (int again = 0; again < 3 && b->o.agree && row->measured && off(row) > tolerance; again++) {
        Row other = {.number = row->number, .family = row->family, .kernel = row->kernel};
        measure_row(b, &other);
        if (other.measured && off(&other) < off(row)) *row = other;
    }
}

// --- Results -------------------------------------------------------------------------------------

static int by_ratio(const void *a, const void *b) {
    double x = (*(Row *const *)a)->ratio, y = (*(Row *const *)b)->ratio;
    return (x < y) - (x > y);
}

static int by_off(const void *a, const void *b) {
    double x = off(*(Row *const *)a), y = off(*(Row *const *)b);
    return (x < y) - (x > y);
}

static void print_row(const Row *r) {
    printf("%4d %-10s %-18s %9.3f %9.3f   %9.3f %9.3f %6.2f %6.2f %6.2f\n", r->number,
           r->family->name, r->kernel.sizes, r->chosen * 1e6, r->tuned * 1e6, r->run_chosen * 1e6,
           r->run_best * 1e6, r->ratio, r->spread, off(r));
}

static void print_case(const Row *r) {
    print_row(r);
    printf("%s\n", r->kernel.text);
    printf("  chosen\n%s", r->schedule ? r->schedule : "");
    printf("  tuned\n%s", r->instead);
}

static void print_head(void) {
    printf("%4s %-10s %-18s %9s %9s   %9s %9s %6s %6s %6s\n", "", "family", "sizes", "chosen us",
           "tuned us", "run us", "run us", "choice", "spread", "agree");
}

static void print_families(Row *const *rows, int n) {
    double all = 0;
    printf("\n%-12s %8s %8s %8s\n", "family", "kernels", "choice", "worst");
    for (int f = 0; f < FAMILIES; f++) {
        double sum = 0, worst = 0;
        int count = 0;
        for (int i = 0; i < n; i++) {
            if (rows[i]->family != &families[f]) continue;
            sum += log(rows[i]->ratio);
            worst = fmax(worst, rows[i]->ratio);
            count++;
        }
        all += sum;
        if (count)
            printf("%-12s %8d %8.3f %8.2f\n", families[f].name, count, exp(sum / count), worst);
    }
    if (n) printf("%-12s %8d %8.3f\n", "all", n, exp(all / n));
}

// Whether at most a twentieth of the rows disagree.
static bool judge(Row **rows, int n) {
    int beyond = 0;
    qsort(rows, (size_t)n, sizeof *rows, by_off);
    for (int i = 0; i < n; i++) beyond += off(rows[i]) > tolerance;
    printf("\nrun and tune agree within 5 %% on %d of %d kernels; at most %.2f apart\n", n - beyond,
           n, n ? off(rows[0]) : 1);
    for (int i = 0; i < beyond && i < 10; i++) print_row(rows[i]);
    return n && beyond * 20 <= n;
}

static bool number_option(const char *name, const char *value, Options *o) {
    if (strcmp(name, "--kernels") == 0)
        o->kernels = atoi(value);
    else if (strcmp(name, "--from") == 0)
        o->from = atoi(value);
    else if (strcmp(name, "--worst") == 0)
        o->worst = atoi(value);
    else if (strcmp(name, "--seed") == 0)
        o->seed = strtoull(value, NULL, 10);
    else if (strcmp(name, "--seconds") == 0)
        o->seconds = atof(value);
    else
        return false;
    return true;
}

static bool read_options(int argc, char **argv, Options *o) {
    *o = (Options){.kernels = 200, .worst = 12, .seed = 1, .seconds = 0.5};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--agree") == 0) {
            o->agree = true;
            continue;
        }
        if (strcmp(argv[i], "--family") == 0)
            o->family = value;
        else if (strcmp(argv[i], "--isa") == 0)
            o->isa = value;
        else if (!number_option(argv[i], value, o))
            return false;
        i++;
    }
    return o->kernels > 0 && o->kernels <= MOST_KERNELS;
}

int main(int argc, char **argv) {
    Bench b = {0};
    if (!read_options(argc, argv, &b.o)) {
        fprintf(stderr, "usage: choice [--kernels N] [--from N] [--seed N] [--seconds S]\n"
                        "              [--family NAME] [--isa NAME] [--worst N] [--agree]\n");
        return 2;
    }
    if (!(b.ctx = lw_context_new(NULL))) return 1;
    Row *all = calloc((size_t)b.o.kernels, sizeof *all),
        **rows = calloc((size_t)b.o.kernels, sizeof *rows);
    int n = 0;
    if (!all || !rows) return 1;
    print_head();
    for (int i = 0; i < b.o.kernels; i++) {
        Row *row = &all[i];
        Random r = {b.o.seed * 1000003 + (uint64_t)i};
        row->number = i;
        row->family = &families[i % FAMILIES];
        row->family->make(&r, &row->kernel);
        if (i < b.o.from || (b.o.family && strcmp(b.o.family, row->family->name) != 0)) continue;
        measure_often(&b, row);
        if (row->measured) {
            rows[n++] = row;
            print_row(row);
        } else {
            printf("%4d %-10s %-18s not measured: %s\n", i, row->family->name, row->kernel.sizes,
                   row->kernel.text);
        }
        fflush(stdout);
    }
    bool good = judge(rows, n);
    qsort(rows, (size_t)n, sizeof *rows, by_ratio);
    for (int i = 0; !b.o.agree && i < n && i < b.o.worst; i++) print_case(rows[i]);
    print_families(rows, n);
    lw_context_free(b.ctx);
    return b.o.agree && !good;
}
