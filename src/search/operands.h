// Operands for measuring: data for every argument of a bound Program, the expected results, and
// their comparison.
//
// Data are small nonzero integers, so that sums of products are exact in any order. If the
// magnitudes of all intermediate values of a Program guarantee this, results are compared bit for
// bit; otherwise up to rounding: one unit in the last place of the largest element per term of its
// sums, each in its type. Tensors whose values are subscripts get valid indices.
//
// Integers do not suffice for every program. An exponential of 200 is infinite, one of -200 is 0,
// and so are all values computed from it, which hides wrong sums. So if results are rounded, there
// is another data set: floats between -1 and 1, smaller if many products of them are summed, so
// that sums are about 1 as well. Programs that only select elements (maxima, which are all the same
// for many small integers) have it too, compared bit for bit. Candidates are timed on the floats,
// or on a user's data, and compared on both sets if the integers leave little to compare. Rounded
// recurrences are compared on floats alone.
//
// The image of an argument is all memory from its lowest element to its highest, including the gaps
// between strides. For comparisons, images lie between guard pages; inputs are read-only. Images of
// results are compared completely, which detects writes into a gap. For timing, kernels run on
// copies in ordinary memory: masked accesses next to a guard page take microcode assists, and
// images that end at the end of a page alias, which callers do not experience.
#ifndef LW_SEARCH_OPERANDS_H
#define LW_SEARCH_OPERANDS_H

#include "program/program.h"
#include "run/child.h"

typedef struct ValueRange {
    bool used;
    int64_t lo, hi; // inclusive
} ValueRange;

typedef enum DataSet {
    DATA_WHOLE, // small integers
    DATA_REAL,  // floats, if results are rounded
    DATA_GIVEN, // a user's
    DATA_SETS,
    CHECK_SETS = DATA_GIVEN // number of data sets for comparisons
} DataSet;

typedef struct Operand {
    const char *name;
    Type type;
    Role role;
    View view;
    Guarded image;                // of a result; private to a child once it writes
    Guarded data[DATA_SETS];      // of an input, or initial content of an in-out; none: as before
    Guarded expected[CHECK_SETS]; // of a result; shared with children
    Guarded ordinary;             // copy for timing
    double tolerance;             // of the largest element; 0: bit for bit
    double largest[CHECK_SETS];   // of `expected`, computed on demand; 0: not yet
} Operand;

typedef struct Operands {
    int n, ninputs;
    Operand *at;
    void **buffer[DATA_SETS]; // as kernels take them, between guard pages
    void **ordinary;          // the same in ordinary memory, for timing
    DataSet timed;            // data set for timing
    bool exact;               // on integers
    bool real;                // there are floats too
    size_t bytes;             // of all arguments
} Operands;

// `views` gives shapes and strides (NULL stride: dense), and optionally data of inputs and in-outs
// for timing; `ranges`, per argument, may be NULL. False: no memory.
bool operands_make(Operands *o, Arena *arena, const Program *p, const View *views,
                   const ValueRange *ranges, uint64_t seed);
void operands_free(Operands *o);

// The first difference between results and reference.
typedef struct Difference {
    int result;              // the first wrong result; -1: none
    int64_t count, elements; // number of wrong elements (0: only a gap was written), and of all
    int64_t at[PROGRAM_MAX_RANK]; // the first wrong element
    double got, want;
} Difference;

// Fills results with a pattern and in-outs with their initial content.
void operands_reset(Operands *o, DataSet set);
void operands_restore(Operands *o); // only in-outs, for timing
// Call once in each process that times kernels: makes its pages of the results private.
void operands_touch(const Operands *o);
// operands_expect takes the current results as the reference; operands_agree compares with it.
void operands_expect(Operands *o, DataSet set);
bool operands_agree(Operands *o, DataSet set);
Difference operands_difference(Operands *o, DataSet set);
// Whether there is little to compare: most elements are NaN, infinite, or one of a few values.
bool operands_vague(Operands *o, DataSet set);
// Whether one result is NaN or constant almost everywhere on all of the first `sets` data sets.
bool operands_blank(Operands *o, int result, int sets);
void operands_empty_caches(const Operands *o);

#endif
