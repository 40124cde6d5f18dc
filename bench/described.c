// The lower bound on described machines: implementations of random programs for every family.
// Their code is executed here instruction by instruction and simulated with the family's numbers
// (tests/support/boundlab.h): none may be faster than its bound, or wrong.
//
//     build/bench/described [20000] [SEED]
#include "support/boundlab.h"
#include "support/genprog.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Tally {
    int tried, declined, bad;
    double closest;
} Tally;

// Some implementations of one random program, on one family.
static void run_program(Tally *t, uint64_t seed) {
    enum { EACH = 10 };
    Lab lab;
    BoundLab x;
    lab_begin(&lab);
    const Program *p = genprog(&lab, seed);
    const Family *f = family_at((int)(seed % (uint64_t)family_count()));
    if (p && boundlab_open(&x, &lab, p, f))
        for (int i = 0; i <= EACH; i++) {
            double gap = INFINITY;
            if (i && !boundlab_sample(&x, &seed)) continue;
            BoundVerdict v = boundlab_try(&x, i ? NULL : x.chosen, &gap);
            t->tried += v != BOUND_DECLINED;
            t->declined += v == BOUND_DECLINED;
            t->bad += v == BOUND_WRONG || v == BOUND_ABOVE;
            if (v == BOUND_HELD) t->closest = fmin(t->closest, gap);
        }
    lab_end(&lab);
}

int main(int argc, char **argv) {
    Tally t = {.closest = INFINITY};
    int wanted = argc > 1 ? atoi(argv[1]) : 20000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (; t.tried < wanted; seed++) run_program(&t, seed);
    printf("%d implementations on %d described machines, %d declined, %d faster than their bound "
           "or wrong; the closest %.3f times its bound\n",
           t.tried, family_count(), t.declined, t.bad, t.closest);
    return t.bad > 0;
}
