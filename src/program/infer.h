// Range inference: from subscripts to iteration domains (Tensor Comprehensions, section on range inference).
//
// In: a Program whose iterators may have lo == hi == NULL (not known), and whose defined tensors may have NULL
// sizes and origins. Out: every range, size and origin filled in as Affines over parameters, and a
// Require for each leftover condition on the parameters.
//
// Rounds: every read gives 0 <= subscript < size per dimension. Ranges that a `where` gave are taken as known. In each
// round, an unknown iterator that occurs in a constraint whose other iterators are all known is bounded by that
// constraint, quantified universally over the known ones; lower bounds are clamped at 0. What holds no unknown any
// more and is not provable becomes a Require. A round that solves nothing ends in a diagnostic.
//
// Tensors defined by several statements: inferred ranges of the iterator at one position of the written tensor
// intersect over the definitions; an explicit range keeps its own domain, and the tensor is the hull.
#ifndef LW_PROGRAM_INFER_H
#define LW_PROGRAM_INFER_H

#include "program/program.h"

// How a read takes part in inference and checking.
typedef enum ReadMode {
    READ_PLAIN,   // constrains ranges; outside is an error
    READ_GUARDED, // constrains ranges, but is only checked where its guard holds (ternary branches)
    READ_PADDED,  // pad(), clamp(), mirror(): only bare iterators in a subscript constrain ranges
} ReadMode;

typedef struct InferRead {
    const Access *access; // its READ atoms are listed as reads of their own
    ReadMode mode;
    Range range;        // of the whole read
    const Range *subs; // of each subscript; NULL: use range
} InferRead;

// What inference is told about one statement; parallel to Program.stmts. Listed reads include those of `exists`
// clauses and the implicit read of an updated element. Written subscripts stand in the statement itself.
typedef struct InferStmt {
    int nreads;
    const InferRead *reads;
} InferStmt;

// False when something was reported as an error. Warnings (none needed so far) do not fail it.
bool program_infer(Program *p, const InferStmt *stmts, DiagList *diags);

#endif
