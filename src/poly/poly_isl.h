// Affines as isl's piecewise affine functions (private to src/poly). Functions give objects that
// the caller owns; spaces are kept.
#ifndef LW_POLY_POLY_ISL_H
#define LW_POLY_POLY_ISL_H

#include "poly/isl.h"
#include "program/affine.h"

// Whether isl can express it: iterators, divisions and remainders by positive constants, minimum
// and maximum. Gathers, products and parameters are not.
bool poly_is_affine(const Affine *a);

#ifdef POLY_HAS_ISL
// `a` with iterator i as variable first + i of a set space.
isl_pw_aff *poly_affine(const Isl *I, isl_space *space, const Affine *a, int first);
isl_pw_aff *poly_variable(const Isl *I, isl_space *space, int at);
isl_pw_aff *poly_constant(const Isl *I, isl_space *space, int64_t value);
isl_pw_aff *poly_scaled(const Isl *I, isl_pw_aff *a, int64_t k); // takes a
#endif

#endif
