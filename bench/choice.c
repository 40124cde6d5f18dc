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
#include "lab/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 10000, ROUNDS = 5, MOST_ROUNDS = 15 };

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
    RandomKernel kernel;
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

static double measure(Bench *b, const lw_bound *bound, const char *schedule, double seconds) {
    return kernel_seconds(b->ctx, bound, schedule, b->o.isa, seconds);
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
    const lw_bound *bound = kernel_bind(b->ctx, &row->kernel);
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
        Row other = {.number = row->number, .kernel = row->kernel};
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

static const char *family_of(const Row *r) { return kernel_family[r->kernel.family]; }

static void print_row(const Row *r) {
    printf("%4d %-10s %-18s %9.3f %9.3f   %9.3f %9.3f %6.2f %6.2f %6.2f\n", r->number, family_of(r),
           r->kernel.sizes, r->chosen * 1e6, r->tuned * 1e6, r->run_chosen * 1e6, r->run_best * 1e6,
           r->ratio, r->spread, off(r));
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
    for (int f = 0; f < KERNEL_FAMILIES; f++) {
        double sum = 0, worst = 0;
        int count = 0;
        for (int i = 0; i < n; i++) {
            if (rows[i]->kernel.family != f) continue;
            sum += log(rows[i]->ratio);
            worst = fmax(worst, rows[i]->ratio);
            count++;
        }
        all += sum;
        if (count)
            printf("%-12s %8d %8.3f %8.2f\n", kernel_family[f], count, exp(sum / count), worst);
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
        row->number = i;
        row->kernel = small_kernel(b.o.seed, i);
        if (i < b.o.from || (b.o.family && strcmp(b.o.family, family_of(row)) != 0)) continue;
        measure_often(&b, row);
        if (row->measured) {
            rows[n++] = row;
            print_row(row);
        } else {
            printf("%4d %-10s %-18s not measured: %s\n", i, family_of(row), row->kernel.sizes,
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
