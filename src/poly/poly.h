// Proofs and polyhedral scheduling by isl, the only folder that sees it. No type of isl leaves:
// questions and results are Programs, Affines and the structs below.
//
//     deps.c, omega.c     microseconds; they decide almost everything
//     poly_test           the same question put to isl, for what they leave open
//     poly_scop           a Program as statements with domains, accesses and times
//     poly_dependences    flow, anti and output dependences of a scop
//     poly_schedule       TC's scheduler: a schedule tree
//
// isl is loaded when it is first needed. Where it is missing poly_test leaves questions open, and
// the others answer POLY_MISSING. Every call has a budget of isl's operations, so that it ends.
#ifndef LW_POLY_POLY_H
#define LW_POLY_POLY_H

#include "program/deps.h"

typedef enum PolyStatus {
    POLY_OK,
    POLY_MISSING,   // there is no isl: poly_missing() says why
    POLY_EXHAUSTED, // the budget, or the memory of isl
} PolyStatus;

// Why there is no isl, and the fix; NULL: there is.
const char *poly_missing(void);

// deps_test (program/deps.h), by isl: exact for divisions and remainders by constants, a few minima
// and maxima, and numbers of any size. `witness` is filled on DEP_YES and may be NULL. POLY_BUDGET
// operations take some ten milliseconds.
enum { POLY_BUDGET = 50000 };
DepAnswer poly_test(const DepQuery *q, DepWitness *witness);

#endif
