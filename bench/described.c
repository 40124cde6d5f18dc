// The lower bound on described machines: implementations of random programs for every family.
// Their code is executed here instruction by instruction and simulated with the family's numbers
// (tests/support/boundlab.h): none may be faster than its bound, or wrong.
//
//     make bench-bound
//     build/bench/described [--count 20000] [--seed 1] [--seconds S] [--machine zen4]
//
// Every machine gets an equal share of the count and of the seconds, and a line. A program takes
// the machine of its seed: `--machine zen4 --seed S --count 1` repeats what a failure names.
#include "support/boundlab.h"
#include "support/genprog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Options {
    int count;
    uint64_t seed;
    double seconds; // 0: no limit
    const char *machine;
    bool live;
} Options;

typedef struct Tally {
    int tried, declined, bad;
    double closest;
} Tally;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count(Tally *t, BoundVerdict v, double gap) {
    t->tried += v != BOUND_DECLINED;
    t->declined += v == BOUND_DECLINED;
    t->bad += v == BOUND_WRONG || v == BOUND_ABOVE;
    if (v != BOUND_DECLINED && gap < t->closest) t->closest = gap;
}

// The chosen and some random implementations of one random program. False: this machine does not
// have the family's instructions, or the program has no Space.
static bool run_program(Tally *t, const Family *f, uint64_t seed) {
    enum { EACH = 10 };
    Lab lab;
    BoundLab x;
    lab_begin(&lab);
    const Program *p = genprog(&lab, seed);
    bool open = p && boundlab_open(&x, &lab, p, f);
    int bad = t->bad;
    for (int i = 0; open && i <= EACH; i++) {
        uint64_t random = seed * EACH + (uint64_t)i;
        double gap = INFINITY;
        if (i && !boundlab_sample(&x, &random)) continue;
        BoundVerdict v = boundlab_try(&x, i ? NULL : x.chosen, &gap);
        count(t, v, gap);
    }
    if (t->bad > bad) printf("%s: seed %llu\n\n", f->name, (unsigned long long)seed);
    lab_end(&lab);
    return open;
}

// The seed of a program determines its machine.
static void run_machine(const Options *o, int family, int share, double seconds, Tally *all) {
    enum { MANY_DECLINED = 50 };
    const Family *f = family_at(family);
    uint64_t families = (uint64_t)family_count(), seed = o->seed;
    while (seed % families != (uint64_t)family) seed++;
    Tally t = {.closest = INFINITY};
    double start = now();
    for (int closed = 0; t.tried < share && closed < MANY_DECLINED; seed += families) {
        if (seconds > 0 && now() - start > seconds) break;
        closed = run_program(&t, f, seed) ? 0 : closed + 1;
        if (o->live) fprintf(stderr, "\r  %s: %d of %d \033[K", f->name, t.tried, share);
    }
    if (o->live) fprintf(stderr, "\r\033[K");
    printf("%-16s %6d held, %4d declined, %2d faster than their bound or wrong, closest %.3f, "
           "%.1f s\n",
           f->name, t.tried - t.bad, t.declined, t.bad, t.closest, now() - start);
    fflush(stdout);
    all->tried += t.tried;
    all->declined += t.declined;
    all->bad += t.bad;
    all->closest = fmin(all->closest, t.closest);
}

static bool read_options(int argc, char **argv, Options *o) {
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--count"))
            o->count = atoi(value);
        else if (!strcmp(argv[i], "--seed"))
            o->seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "--seconds"))
            o->seconds = atof(value);
        else if (!strcmp(argv[i], "--machine"))
            o->machine = value;
        else
            return false;
    }
    return o->count > 0 && (!o->machine || family_by_name(o->machine));
}

int main(int argc, char **argv) {
    Options o = {.count = 20000, .seed = 1, .live = isatty(STDERR_FILENO)};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: described [--count N] [--seed N] [--seconds S] [--machine NAME]\n");
        return 2;
    }
    Tally all = {.closest = INFINITY};
    int machines = o.machine ? 1 : family_count(), share = (o.count + machines - 1) / machines;
    for (int i = 0; i < family_count(); i++)
        if (!o.machine || !strcmp(o.machine, family_at(i)->name))
            run_machine(&o, i, share, o.seconds / machines, &all);
    printf("%d implementations on %d described machines, %d declined, %d faster than their bound "
           "or wrong; the closest %.3f times its bound\n",
           all.tried, machines, all.declined, all.bad, all.closest);
    return all.bad > 0;
}
