// Do strided arrays share memory? Exact, in microseconds, without allocating.
//
// Bytes a + Σ s_i·x_i + p of one array and b + Σ t_j·y_j + q of the other coincide if a bounded
// linear equation has a solution. Terms whose coefficients are equal, or fill the gaps of larger
// ones, are merged (a dense array becomes one term). Then the values of the variable with the
// largest coefficient are tried, as far as the range and the greatest common divisor of the others
// allow them. If dimensions nest, as they nearly always do, that is one value or two. The problem
// is NP-hard in the number of dimensions: unusual strides may exhaust the budget.
#ifndef LW_RUN_OVERLAP_H
#define LW_RUN_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

enum { OVERLAP_MAX_RANK = 16 };

typedef struct StridedArray {
    uintptr_t at; // of element (0, 0, ...)
    int bytes;    // of an element
    int rank;
    const int64_t *size, *stride; // in elements
} StridedArray;

typedef enum OverlapAnswer { OVERLAP_NO, OVERLAP_YES, OVERLAP_UNDECIDED } OverlapAnswer;

// Neither array may overflow: all bytes lie in the address space. `budget` is decremented for every
// value tried, which takes some nanoseconds.
OverlapAnswer overlap_test(const StridedArray *a, const StridedArray *b, int64_t *budget);
// Do two elements of one array share a byte?
OverlapAnswer overlap_itself(const StridedArray *a, int64_t *budget);

#endif
