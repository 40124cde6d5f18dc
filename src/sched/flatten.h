// The flat form of a Program: iterators that traverse memory contiguously are collapsed. A Schedule
// with the line `flatten` refers to it.
//
//     O[k, h, w] +=! I[c, h, w]*F[k, c]     h, w in 0:7
//  -> O[k, h] +=! I[c, h]*F[k, c]           h in 0:49
//
// Tiles and lanes then need not end where a short row ends.
#ifndef LW_SCHED_FLATTEN_H
#define LW_SCHED_FLATTEN_H

#include "program/program.h"

typedef struct Flat {
    const Program *p;       // of lower ranks; the given Program if nothing can be collapsed
    const int *const *last; // per tensor and dimension of p: the last dimension collapsed into it
} Flat;

// Takes a bound Program. A collapsed iterator has the name of the first of its parts; iterators
// with one value disappear where something is flattened.
Flat program_flatten(Arena *arena, const Program *p);

// Are the collapsed dimensions contiguous in arguments with these strides (NULL, or a NULL entry:
// row-major)?
bool flat_fits(const Flat *f, const Program *given, const int64_t *const *stride);
// Strides of the flat arguments; NULL for NULL.
const int64_t *const *flat_strides(Arena *arena, const Flat *f, const int64_t *const *stride);

#endif
