// Affines as isl's quasi-affine functions (private to src/poly). Functions give objects that the
// caller owns; spaces are kept.
//
// isl has divisions and remainders. A minimum or maximum is a choice of one operand, under the
// condition that it is the smaller (the greater) one: whoever needs them decides each atom in turn,
// which isl's own piecewise functions do much more slowly.
#ifndef LW_POLY_POLY_ISL_H
#define LW_POLY_POLY_ISL_H

#include "poly/isl.h"
#include "program/affine.h"

// Whether isl can express it: iterators, divisions and remainders by positive constants, minimum
// and maximum. Gathers, products and parameters are not.
bool poly_is_affine(const Affine *a);

#ifdef POLY_HAS_ISL
enum { POLY_MAX_CHOICES = 12 };

// The minima and maxima of Affines of one side, operands in front of what they are part of, and
// which operand each one is.
typedef struct PolyChoices {
    int n;
    const Atom *atom[POLY_MAX_CHOICES];
    int first[POLY_MAX_CHOICES]; // variable of iterator 0
    bool second[POLY_MAX_CHOICES];
} PolyChoices;

// Adds those of `a`; false: too many.
bool poly_choices(PolyChoices *c, const Affine *a, int first);

// `a` with iterator i as variable first + i of a set space; `c` may be NULL if it has no choices.
isl_aff *poly_affine(const Isl *I, isl_space *space, const Affine *a, int first,
                     const PolyChoices *c);
isl_aff *poly_variable(const Isl *I, isl_space *space, int at);
isl_aff *poly_constant(const Isl *I, isl_space *space, int64_t value);
isl_aff *poly_scaled(const Isl *I, isl_aff *a, int64_t k); // takes a
#endif

#endif
