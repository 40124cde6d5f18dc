// Operands for measuring: data for every argument of a bound Program, what the results should be,
// and whether they are.
//
// Data are small integers other than zero, so that sums of products come out exact whatever their
// order; where a Program shows that they do (sizes of all intermediate values are followed through
// it), results are compared bit for bit, otherwise up to rounding: so many units in the last place
// of the largest element as its sums have terms, each in the type that it is kept in. Tensors whose
// values are subscripts get values that stay inside.
//
// Not everything can be seen on such data. Sums and products take as long whatever they add up, but
// an exponential of 200 is infinite, one of -200 is 0, and so is all that follows, whatever was
// added up. So where results round there is another set of data: floats between -1 and 1, less
// where many products of them are summed up, so that sums are about 1 as well. So have programs
// that only choose among elements (maxima: of many small integers all are the same), bit for bit.
// Candidates are timed on those, or on a user's own, and compared on both where the integers leave
// little to compare.
//
// An argument is an image: all memory from its lowest element to its highest, with the gaps that
// strides leave. To be compared, images lie between guard pages; inputs cannot be written. Images
// of results are compared whole, so that writing into a gap shows. To be timed, kernels run on
// copies in ordinary memory: masked accesses beside a guard page take microcode assists, and images
// that end where a page ends alias, which no caller sees.
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
    DATA_REAL,  // floats, where results round
    DATA_GIVEN, // a user's
    DATA_SETS,
    CHECK_SETS = DATA_GIVEN // those that results are compared on
} DataSet;

typedef struct Operand {
    const char *name;
    Type type;
    Role role;
    View view;
    Guarded image;                // of a result; private: a child's own once it writes
    Guarded data[DATA_SETS];      // an input, or what an in-out starts from; none: the set before
    Guarded expected[CHECK_SETS]; // of a result; shared with children
    Guarded ordinary;             // where it lies while kernels are timed
    double tolerance;             // of the largest element; 0: bit for bit
    double largest[CHECK_SETS];   // of `expected`, once it was asked for; 0: not yet
} Operand;

typedef struct Operands {
    int n, ninputs;
    Operand *at;
    void **buffer[DATA_SETS]; // as kernels take them, between guard pages
    void **ordinary;          // the same in memory such as a caller has, to be timed on
    DataSet timed;            // that kernels are timed on
    bool exact;               // on integers
    bool real;                // there are floats too
    size_t bytes;             // of all arguments
} Operands;

// `views` gives shapes and strides (NULL stride: dense), and of inputs and in-outs data to time on,
// where there are any; `ranges`, per argument, may be NULL. False: no memory.
bool operands_make(Operands *o, Arena *arena, const Program *p, const View *views,
                   const ValueRange *ranges, uint64_t seed);
void operands_free(Operands *o);

// What is wrong with results.
typedef struct Difference {
    int result;                   // the first that is not what it should be; -1: there are none
    int64_t count, elements;      // so many of its elements; 0: only what lies between them
    int64_t at[PROGRAM_MAX_RANK]; // the first of them
    double got, want;
} Difference;

// Results to a pattern, in-outs to their first content.
void operands_reset(Operands *o, DataSet set);
void operands_restore(Operands *o); // in-outs alone, where they are timed
// Once in each process that times kernels: its pages of the results become its own.
void operands_touch(const Operands *o);
// What results hold now is what they should hold; do they?
void operands_expect(Operands *o, DataSet set);
bool operands_agree(Operands *o, DataSet set);
Difference operands_difference(Operands *o, DataSet set);
// Is there little to compare: elements that are no numbers, or are all but the same few?
bool operands_vague(Operands *o, DataSet set);
// Likewise of one result, next to nothing, on all of the first so many sets.
bool operands_blank(Operands *o, int result, int sets);
void operands_empty_caches(const Operands *o);

#endif
