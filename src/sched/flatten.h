// Iterators that run through memory as one become one: the Program that a Schedule with the line
// `flatten` is about.
//
//     O[k, h, w] +=! I[c, h, w]*F[k, c]     H = W = 7     ->     O[k, h] +=! I[c, h]*F[k, c]     h
//     in 0:49
//
// so that tiles and lanes need not end where a short row ends.
#ifndef LW_SCHED_FLATTEN_H
#define LW_SCHED_FLATTEN_H

#include "program/program.h"

typedef struct Flat {
    const Program *p;       // of lower ranks; the given one when nothing runs through memory as one
    const int *const *last; // per tensor and dimension of p: the last one that it was made of
} Flat;

// Of a bound Program. An iterator that is made of several is called like the first; those with one
// value are gone where something is flattened.
Flat program_flatten(Arena *arena, const Program *p);

// Do arguments with these strides (NULL, or a NULL entry: row-major) run through memory as one?
bool flat_fits(const Flat *f, const Program *given, const int64_t *const *stride);
// Strides of the flat arguments; NULL for NULL.
const int64_t *const *flat_strides(Arena *arena, const Flat *f, const int64_t *const *stride);

#endif
