// Operands for measuring: data for every argument of a bound Program, what the results should be,
// and whether they are.
//
// Data are small integers other than zero, so that sums of products come out exact whatever their
// order; where a Program shows that they do (sizes of all intermediate values are followed through
// it), results are compared bit for bit, otherwise up to rounding: so many units in the last place
// of the largest element as its longest sum has terms. Tensors whose values are subscripts get
// values that stay inside.
//
// Times are not to depend on such data. Sums and products take as long whatever they add up, but an
// exponential of 200 is infinite, and the rest of the program computes with that. So where results
// round, candidates are timed on other data than they are checked on: floats between -1 and 1, less
// where many products of them are summed up, so that sums are about 1 as well; or on a user's own.
//
// An argument is an image: all memory from its lowest element to its highest, with the gaps that
// strides leave. Each image lies between guard pages; inputs cannot be written. Images of results
// are compared whole, so that writing into a gap shows.
#ifndef LW_SEARCH_OPERANDS_H
#define LW_SEARCH_OPERANDS_H

#include "program/program.h"
#include "run/child.h"

typedef struct ValueRange {
    bool used;
    int64_t lo, hi; // inclusive
} ValueRange;

typedef struct Operand {
    const char *name;
    Type type;
    Role role;
    View view;        // of the image
    Guarded image;    // private: a child's own once it writes
    Guarded initial;  // of an in-out: what it starts from
    Guarded timing;   // of both, what it is timed on instead; none: the same
    Guarded expected; // of a result; shared with children
    double tolerance; // of the largest element; 0: bit for bit
    double largest;   // of `expected`, once it was asked for; 0: not yet
} Operand;

typedef struct Operands {
    int n, ninputs;
    Operand *at;
    void **buffer; // as kernels take them: to check their results,
    void **timed;  // and to time them
    bool apart;    // those two differ in what they hold
    bool exact;
    size_t bytes; // of all images
} Operands;

// `views` gives shapes and strides (NULL stride: dense), and of inputs and in-outs data to time on,
// where there are any; `ranges`, per argument, may be NULL. False: no memory.
bool operands_make(Operands *o, Arena *arena, const Program *p, const View *views,
                   const ValueRange *ranges, uint64_t seed);
void operands_free(Operands *o);

void operands_reset(Operands *o);   // results to a pattern, in-outs to their first content
void operands_restore(Operands *o); // in-outs alone, to what they are timed on
void operands_expect(Operands *o);  // what results hold now is what they should hold
bool operands_agree(Operands *o);   // do they?
void operands_empty_caches(const Operands *o);

#endif
