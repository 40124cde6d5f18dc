// Exact dependence tests between two accesses of a bound Program (or of a Tree): do an instance i
// of one statement and an instance j of another touch the same element?
//
//     DepDir inner[] = {{0, 0, DEP_EQ}, {1, 1, DEP_LT}};
//     DepQuery q = {.a = {...}, .b = {...}, .ndirs = 2, .dirs = inner};
//     switch (deps_test(scratch, &q, &witness)) ...
//
// asks for i and j within their boxes and constraints, with f(i) = g(j) in every dimension, i0 = j0
// and i1 < j1. The answer is exact for affine subscripts; division and modulo by constants, minimum
// and maximum are made linear with auxiliary variables. Constraints that cannot be made linear (a
// gather, a product of iterators) are omitted: NO is still NO then, and a YES counts only if the
// witness checks. Typical questions take about a microsecond.
#ifndef LW_PROGRAM_DEPS_H
#define LW_PROGRAM_DEPS_H

#include "program/program.h"

typedef enum DepAnswer { DEP_NO, DEP_YES, DEP_UNDECIDED } DepAnswer;

// The instances of one statement, and one access of them.
typedef struct DepSide {
    int niters;             // at most DEP_MAX_ITERS
    const int64_t *lo, *hi; // half-open box
    int nconstraints;
    const Affine *const *constraint; // each >= 0
    int rank;
    const Affine *const *sub; // the element touched; rank 0 on both sides: any instances meet
} DepSide;

typedef enum DepRel { DEP_LT, DEP_LE, DEP_EQ, DEP_GE, DEP_GT } DepRel;

// i[a] REL j[b]
typedef struct DepDir {
    int a, b;
    DepRel rel;
} DepDir;

// Σ a[k]·i[k] + Σ b[k]·j[k] + constant  >= 0 (or == 0); NULL coefficients are zeros.
typedef struct DepOrder {
    const int64_t *a, *b;
    int64_t constant;
    bool equal;
} DepOrder;

typedef struct DepQuery {
    DepSide a, b;
    int ndirs;
    const DepDir *dirs;
    int norders;
    const DepOrder *orders;
    int64_t budget; // of work; 0: DEP_BUDGET
    int64_t *pool;  // work left to a number of questions, counted down; NULL: no such limit
} DepQuery;

enum {
    DEP_BUDGET = 100000, // about a millisecond
    DEP_MAX_ITERS = 64,  // of one side; of a Tree, the loops around a leaf
};

// Two instances that meet.
typedef struct DepWitness {
    int64_t a[DEP_MAX_ITERS], b[DEP_MAX_ITERS];
    int64_t element[PROGRAM_MAX_RANK];
} DepWitness;

// `witness` is filled on DEP_YES and may be NULL. `scratch` is given back as it was.
DepAnswer deps_test(Arena *scratch, const DepQuery *q, DepWitness *witness);

// Checks the witness against constraints and subscripts of the original question; false also where
// something in it is only known at run time. Fills in the element.
bool deps_check(const DepQuery *q, DepWitness *witness);

// The side of an access in a statement of a bound Program; box and constraints are the statement's.
DepSide deps_side(Arena *arena, const Stmt *s, const Access *access);

#endif
