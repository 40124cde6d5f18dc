// The lower bound against code, on a described machine: implementations of a Program are compiled
// for it, run here instruction by instruction (support/stepper.h), compared with the interpreter
// bit by bit, and played on the numbers of its family. None takes less than its bound.
#ifndef SUPPORT_BOUNDLAB_H
#define SUPPORT_BOUNDLAB_H

#include "space/bound.h"
#include "support/proglab.h"
#include "support/stepper.h"

typedef struct BoundLab {
    Lab *lab;
    const Program *program;
    Machine machine;
    Rates rates;
    const CpuSpace *cs;
    const BoundModel *model;
    SpaceWork *work;
    Cand *c;
    const Schedule *chosen; // without search
    int nchosen;
    const Decision *decided; // by it
    LabData want;            // results of the interpreter
    Steps steps;
} BoundLab;

typedef enum BoundVerdict {
    BOUND_HELD,
    BOUND_DECLINED, // does not compile, or runs for too long to be stepped through
    BOUND_WRONG,    // its result is not the interpreter's
    BOUND_ABOVE     // faster than its bound
} BoundVerdict;

// False: this machine does not have the family's instructions, or there is no Space.
bool boundlab_open(BoundLab *x, Lab *lab, const Program *p, const Family *f);
// A random implementation in `c`; half of them near the chosen one. False: a dead end.
bool boundlab_sample(BoundLab *x, uint64_t *random);
// The candidate in `c`; NULL schedule: as it says. What went wrong is printed. *gap: its time by
// its bound.
BoundVerdict boundlab_try(BoundLab *x, const Schedule *schedule, double *gap);

#endif
