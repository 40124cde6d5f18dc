// Random questions of dependence over small boxes, and their answers by enumeration.
//
//     GenDeps r = {.seed = 7, .x = exprs};
//     gendeps(&r);                        // r.q is a question
//     bool want = gendeps_enumerate(&r.q);
#ifndef LW_SUPPORT_GENDEPS_H
#define LW_SUPPORT_GENDEPS_H

#include "program/deps.h"

typedef struct GenDeps {
    uint64_t seed;
    Exprs *x;
    bool hard; // nested divisions, remainders, minima and maxima with large numbers
    int64_t lo[2][3], hi[2][3];
    int n[2];
    const Affine *sub[2][2], *constraint[2][2];
    DepDir dirs[3];
    int64_t oa[3], ob[3];
    DepOrder order;
    DepQuery q;
} GenDeps;

void gendeps(GenDeps *r);
int64_t gendeps_below(GenDeps *r, int64_t n); // a random number
const Affine *gendeps_linear(GenDeps *r, int n, int64_t coef);
bool gendeps_enumerate(const DepQuery *q);
// Whether both iterations exist and answer the question.
bool gendeps_holds(const DepQuery *q, const int64_t *i, const int64_t *j);

#endif
