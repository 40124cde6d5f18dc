// Range inference: from subscripts to iteration domains, after Tensor Comprehensions.
//
// In: a Program whose iterators may have lo == hi == NULL (not known), and whose defined tensors
// may have NULL sizes and origins. Out: every range, size and origin filled in as Affines over
// parameters, and a Require for each condition on the parameters that is left over.
//
// Rounds. Every read gives 0 <= subscript < size per dimension. Ranges that a `where` gave are
// known. In each round, an unknown iterator that occurs in a constraint whose other iterators are
// all known is bounded by that constraint, quantified universally over the known ones; lower bounds
// are clamped at 0. What holds no unknown any more and is not provable becomes a Require. A round
// that solves nothing ends in a diagnostic.
//
//     O(h) +=! I(h + k) * W(k)      k in 0:K, then h + K - 1 < H:  h in 0:H - K + 1, if H - K >= 0
//
// Tensors defined by several statements: inferred ranges of the iterator at one position of the
// written tensor intersect over the definitions, and a definition without a range for a position
// takes that of the others; an explicit range keeps its own domain, and the tensor is the hull. A
// tensor with a declared size gives its range to the iterators it is written with.
//
// Coefficients that are parameters (strides) are required to be at least 1. Formulas are simplified
// for statements that have an instance: where a size is 0, ranges may be larger than the rule says,
// but then no instance reads anything.
#ifndef LW_PROGRAM_INFER_H
#define LW_PROGRAM_INFER_H

#include "program/program.h"

// How a read takes part in inference and checking.
typedef enum ReadMode {
    READ_PLAIN,   // constrains ranges; outside is an error
    READ_GUARDED, // (ternary branches) constrains ranges but for what its guard implies; checked,
                  // when sizes are bound, where its guard holds
    READ_PADDED,  // pad(), clamp(), mirror(): only bare iterators in a subscript constrain ranges
} ReadMode;

// A guard of a read: `cond` evaluates to `holds`.
typedef struct InferGuard {
    const Expr *cond;
    bool holds;
    const struct InferGuard *up;
} InferGuard;

typedef struct InferRead {
    const Access *access; // its READ atoms are listed as reads of their own
    ReadMode mode;
    const InferGuard *guard; // of a guarded one: the conditions that hold; NULL: none
    Range range;             // of the whole read
    const Range *subs;       // of each subscript; NULL: use range
} InferRead;

// The input of inference about one statement; parallel to Program.stmts. Listed reads include those
// of `exists` clauses, of index tensors on either side, and the implicit read of an updated
// element. Written subscripts are in the statement itself.
typedef struct InferStmt {
    int nreads;
    const InferRead *reads;
} InferStmt;

// Parameters first ... first + n - 1 stand for sizes and origins that are to be found. A statement
// that uses one is handled after the tensor, with the extents that were found substituted.
typedef struct InferExtent {
    int tensor, dim;
    bool origin;
} InferExtent;

typedef struct InferExtents {
    int first, n;
    const InferExtent *at;
} InferExtents;

// False when something was reported as an error. Warnings do not fail it.
bool program_infer(Program *p, const InferStmt *stmts, InferExtents extents, DiagList *diags);

// The facts about the sizes of a Program whose ranges were inferred: its Requires.
typedef struct Infer Infer;
Infer *infer_facts(Program *p);
bool infer_holds(Infer *facts, const Affine *a); // a >= 0 is proved

#endif
