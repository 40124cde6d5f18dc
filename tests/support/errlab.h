// How far a right implementation of a bound Program may be from its interpreter, element by
// element.
//
// An implementation may reassociate floating-point reductions, and its functions may differ from
// the interpreter's by 2 units in the last place in f32 and 4 in f64 (docs/arithmetic.md). All else
// is the same bit by bit: of equal operands every operation gives equal results. So a difference
// begins in a function or in a sum that rounds, and every operation passes it on, enlarged by its
// derivative and by two roundings.
#ifndef SUPPORT_ERRLAB_H
#define SUPPORT_ERRLAB_H

#include "program/program.h"

// Does the Program have anything of the kind? If not, results are equal bit by bit.
bool error_possible(const Program *p);

typedef struct ErrorBounds {
    Value **value;  // per tensor, dense: what the interpreter computes
    double **error; // per tensor, dense: 0 bit by bit; INFINITY: nothing is known
} ErrorBounds;

// views[t] for every argument, dense, as they are before the run; the interpreter takes them.
// False: what is written depends on what may differ.
bool error_bounds(Arena *arena, const Program *p, const View *views, ErrorBounds *out);

// Is `got` as near to `want` as it must be?
bool error_allows(Type type, Value got, Value want, double error);

#endif
