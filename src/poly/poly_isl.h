// Converts Affines to isl's quasi-affine functions (private to src/poly). The caller owns the
// objects that functions return; they do not take the spaces passed to them.
//
// isl supports divisions and remainders. A minimum or maximum becomes a choice of one operand,
// under the condition that it is the smaller (greater) one. Callers enumerate these choices,
// because isl's own piecewise functions are much slower.
#ifndef LW_POLY_POLY_ISL_H
#define LW_POLY_POLY_ISL_H

#include "poly/isl.h"
#include "program/affine.h"

// Can isl express it? It can express iterators, divisions and remainders by positive constants,
// minimum and maximum, but not gathers, products and parameters.
bool poly_is_affine(const Affine *a);

#ifdef POLY_HAS_ISL
enum { POLY_MAX_CHOICES = 12 };

// The minima and maxima of Affines of one side, and the operand chosen for each. A nested one
// precedes the one that contains it.
typedef struct PolyChoices {
    int n;
    const Atom *atom[POLY_MAX_CHOICES];
    int first[POLY_MAX_CHOICES]; // the variable of iterator 0
    bool second[POLY_MAX_CHOICES];
} PolyChoices;

// Adds the choices of `a`; false: too many.
bool poly_choices(PolyChoices *c, const Affine *a, int first);

// `a` as a function on a set space, where iterator i is variable first + i. `c` may be NULL if `a`
// has no choices.
isl_aff *poly_affine(const Isl *I, isl_space *space, const Affine *a, int first,
                     const PolyChoices *c);
isl_aff *poly_variable(const Isl *I, isl_space *space, int at);
isl_aff *poly_constant(const Isl *I, isl_space *space, int64_t value);
isl_aff *poly_scaled(const Isl *I, isl_aff *a, int64_t k); // takes a
#endif

#endif
