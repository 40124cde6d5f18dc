// Makes subscripts with quotients, remainders, minima and maxima as linear as possible; also values
// computed from indices.
//
// Parts that the ranges of iterators decide disappear: with r in 0:3
//
//     A[(3*q + r)/3, (3*q + r)%3]   ->   A[q, r]
//
// The rest is piecewise linear. An affine is resolved under facts, linear functions that are not
// negative; the first condition that they do not decide is `open`. The caller adds it, or its
// opposite, to the facts and asks again, until nothing is open:
//
//     (i + 1)%N          i + 1 - N >= 0:   i + 1 - N        else   i + 1
//     max(i - 1, 0)      i - 1 >= 0:       i - 1            else   0
#ifndef LW_PROGRAM_PIECE_H
#define LW_PROGRAM_PIECE_H

#include "program/expr.h"

enum { PIECE_FACTS = 16 };

typedef struct Pieces {
    Exprs *x;
    const int64_t *least, *most; // by iterator
    int apart;                   // atoms made of this iterator alone stay as they are; -1: none
    int quotients;               // most values of a quotient that become pieces
    const Affine *fact[PIECE_FACTS];
    int nfacts;
    const Affine *open; // the first condition that is not decided, linear; NULL: none
} Pieces;

// Without reads. Sets `open` unless it is set.
const Affine *piece_resolve(Pieces *s, const Affine *a);
const Affine *piece_opposite(Pieces *s, const Affine *d); // not negative where d is
// The condition, or its opposite if that holds more often.
const Affine *piece_likelier(Pieces *s, const Affine *d);
bool piece_is_apart(const Pieces *s, const Atom *atom);

bool access_is_linear(const Access *a);

// Integer arithmetic on indices that cannot wrap where each is in lo..hi; NULL: it is more than
// that. Without lo and hi, 64-bit arithmetic on indices counts as exact.
const Affine *expr_as_affine(Exprs *x, const Expr *e, const int64_t *lo, const int64_t *hi);
// An operation on indices as one index, if that is linear: 4*(index(2*q + r)%2) as index(4*r).
// Otherwise it is returned unchanged.
const Expr *piece_index(Pieces *s, const Expr *e);

#endif
