// Random Programs whose indices leave their tensors, or nearly do.
//
// Two families. *Wide* ones have affine subscripts, conditions and index values with coefficients
// up to 2^62, guarded so that what is performed stays inside; many reach too far and are refused
// when they are bound. *Data* ones gather and scatter at what integer tensors of every type hold:
// sums, products, quotients, minima of elements, nested, behind guards on data, on indices and on
// the element itself, with results that nobody reads or that are overwritten. Extents 0 and 1 are
// mixed in.
#ifndef SUPPORT_GENWIDE_H
#define SUPPORT_GENWIDE_H

#include "support/proglab.h"

const char *genwide_affine(Arena *arena, uint64_t seed);
const char *genwide_data(Arena *arena, uint64_t seed);

// Data for them: tensors of integers called I or J hold indices that mostly lie inside (below
// `inside`), and for some seeds negative ones, the next outside, the limits of the type, and what
// wraps to something inside in 32 or 64 bits; other inputs hold small integers.
void genwide_fill(const Program *p, const LabData *d, uint64_t seed);

#endif
