// Checks the lower bound on a described machine: implementations of a Program are compiled for it,
// executed here instruction by instruction (support/stepper.h), compared with the interpreter bit
// by bit, and simulated with the numbers of its family. None may take less time than its bound.
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
    const Decision *decided; // its decisions
    LabData want;            // results of the interpreter
    Steps steps;
} BoundLab;

typedef enum BoundVerdict {
    BOUND_HELD,
    BOUND_DECLINED, // does not compile, or is too long to be executed step by step
    BOUND_WRONG,    // its result differs from the interpreter's
    BOUND_ABOVE     // faster than its bound
} BoundVerdict;

// False: this machine does not have the family's instructions, or there is no Space.
bool boundlab_open(BoundLab *x, Lab *lab, const Program *p, const Family *f);
// A random implementation in `c`; half of them near the chosen one. False: a dead end.
bool boundlab_sample(BoundLab *x, uint64_t *random);
// Checks the candidate in `c`, or a schedule. Prints errors. *gap: its time divided by its bound,
// if that is more than the nanosecond of a call.
BoundVerdict boundlab_try(BoundLab *x, const Schedule *schedule, double *gap);

#endif
