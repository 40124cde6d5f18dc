// The allowed difference between a right implementation of a bound Program and the interpreter, per
// element.
//
// An implementation may reassociate floating-point reductions, and its functions may differ from
// the interpreter's by 2 units in the last place in f32 and 4 in f64 (docs/arithmetic.md). All else
// is equal bit by bit: every operation gives equal results for equal operands. So a difference
// originates in a function or in a sum that rounds, and every operation propagates it, scaled by
// its derivative, plus two roundings.
#ifndef SUPPORT_ERRLAB_H
#define SUPPORT_ERRLAB_H

#include "program/program.h"

// Whether results may differ at all. If not, they are equal bit by bit.
bool error_possible(const Program *p);

typedef struct ErrorBounds {
    Value **value;  // per tensor, dense: the interpreter's values
    double **error; // per tensor, dense: 0: equal bits; INFINITY: unknown
} ErrorBounds;

// views[t] for every argument, dense, with the contents before the run. False: the written elements
// depend on values that may differ.
bool error_bounds(Arena *arena, const Program *p, const View *views, ErrorBounds *out);

// Whether `got` is within `error` of `want`.
bool error_allows(Type type, Value got, Value want, double error);

#endif
