// Do strided arrays share memory? Exact, in microseconds, without allocating.
//
// Bytes a + Σ s_i·x_i + p of one array and b + Σ t_j·y_j + q of the other are the same where one
// bounded linear equation has a solution. Terms whose coefficients are equal, or fill the gaps of
// larger ones, are merged (a dense array becomes one term); then the largest coefficient is tried
// value by value, the few that the range and the greatest common divisor of the others allow. Where
// dimensions nest, as they nearly always do, that is one value or two. Deciding it is NP-hard in
// the number of dimensions: strange strides may use up the budget.
#ifndef LW_RUN_OVERLAP_H
#define LW_RUN_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

enum { OVERLAP_MAX_RANK = 16 };

typedef struct Strided {
    uintptr_t at; // of element (0, 0, ...)
    int bytes;    // of an element
    int rank;
    const int64_t *size, *stride; // in elements
} Strided;

typedef enum OverlapAnswer { OVERLAP_NO, OVERLAP_YES, OVERLAP_UNDECIDED } OverlapAnswer;

// Neither may overflow: all bytes lie in the address space. `budget` is counted down, one unit per
// value that is tried, some nanoseconds each.
OverlapAnswer overlap_test(const Strided *a, const Strided *b, int64_t *budget);
// Do two elements of one array share a byte?
OverlapAnswer overlap_itself(const Strided *a, int64_t *budget);

#endif
