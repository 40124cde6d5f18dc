// Is there an integer point? The Omega test (Pugh 1991) for small systems of linear equalities and
// inequalities over variables in finite intervals.
//
// Equalities are solved by substitution; variables are then eliminated one by one
// (Fourier-Motzkin). An elimination is exact over the integers when in each pair of a lower and an
// upper bound one has coefficient 1; otherwise the real shadow refutes, the dark shadow proves, and
// splinters decide what lies between. Every YES comes with a point.
//
//     Omega o;
//     omega_init(&o, arena, 2);                           // variables 0 and 1, each 0..0 so far
//     o.lo[0] = 0, o.hi[0] = 9;
//     int64_t *r = omega_row(&o, false);                  // 2*x0 - x1 - 3 >= 0
//     r[0] = 2, r[1] = -1, r[2] = -3;
//     if (omega_solve(&o, point, &budget) == OMEGA_YES) ...
#ifndef LW_PROGRAM_OMEGA_H
#define LW_PROGRAM_OMEGA_H

#include "base/arena.h"

typedef enum OmegaAnswer {
    OMEGA_NO,
    OMEGA_YES,
    OMEGA_UNDECIDED, // the budget ran out, or a coefficient left 64 bits
    OMEGA_MISS,      // inside only: a relaxed system has a point, but not one that lifts
} OmegaAnswer;

typedef struct OmegaStep OmegaStep;

typedef struct Omega {
    Arena *arena;
    int n;            // variables
    int64_t *lo, *hi; // inclusive
    bool *gone;       // eliminated
    int nrows, cap;
    int64_t *row; // nrows of n coefficients and a constant
    bool *equal;  // row == 0, else row >= 0
    bool overflow, empty;
    const OmegaStep *steps; // eliminations so far, newest first
} Omega;

void omega_init(Omega *o, Arena *arena, int n);
void omega_copy(Omega *to, const Omega *from);
int64_t *omega_row(Omega *o, bool equal); // a new row, zeroed

// Consumes the system. `budget` is counted down, about one unit per row looked at. `point` has n
// entries.
OmegaAnswer omega_solve(Omega *o, int64_t *point, int64_t *budget);

#endif
