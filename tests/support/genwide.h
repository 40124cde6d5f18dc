// Random Programs whose indices leave their tensors, or nearly do.
//
// Two families. *Wide* ones have affine subscripts, conditions and index values with coefficients
// up to 2^62, guarded so that performed accesses stay inside; many can overflow and are refused
// when they are bound. *Data* ones gather and scatter at the values of integer tensors of every
// type: sums, products, quotients, minima of elements, nested, under guards on data, on indices and
// on the element itself, with results that are unused or overwritten. Extents 0 and 1 are included.
#ifndef SUPPORT_GENWIDE_H
#define SUPPORT_GENWIDE_H

#include "support/proglab.h"

const char *genwide_affine(Arena *arena, uint64_t seed);
const char *genwide_data(Arena *arena, uint64_t seed);

// Data for them: tensors of integers called I or J hold indices that are mostly valid (below
// `inside`), and for some seeds negative ones, the first invalid one, the limits of the type, and
// values that wrap to a valid index in 32 or 64 bits; other inputs hold small integers.
void genwide_fill(const Program *p, const LabData *d, uint64_t seed);

#endif
