// A flat Tree as a Program, so that loops are chosen for it as for any other Program.
//
//     block [i:8, j:10] { #init C[i, j] = 0 }
//     block [i:8, j:10, k:12] { C[i, j] += A[i, k]*B[k, j] }
//       →  C: for i in 0:8, j in 0:10, k in 0:12  C[i, j] +=! A[i, k]*B[k, j]
//
// A Tree is flat if it decides nothing: all its loops are of kind `any`, and no place, layout,
// memory unit, tag with a meaning or buffer inside of a loop is given. Each leaf is then a
// statement over the loops around it. That is the same computation: iterations of an `any` block
// depend on each other by aggregations only (the verifier has checked this), so the children of a
// block may run one after the other, each for all iterations.
//
//   * Loops of nested blocks that only occur as digits of one index, 4*o + i with i below 4, are
//     one iterator again; constraints on one iterator become its range.
//   * An initialisation that assigns the identity to exactly the elements that the next statement
//     starts from becomes its `init`.
//   * One element that is allocated inside of loops becomes a tensor over these loops.
#ifndef LW_STRIPE_LIFT_H
#define LW_STRIPE_LIFT_H

#include "tree/tree.h"

// Why a Tree keeps its loops. Up to LIFT_LAYOUT its text decides something that choosing loops
// would undo; the later reasons are of flat Trees that are no Programs.
typedef enum LiftReason {
    LIFT_LIFTED,
    LIFT_ASKED,     // the caller asks for it
    LIFT_KIND,      // a loop has a kind
    LIFT_PLACE,     // a block or buffer has a place
    LIFT_TAG,       // a tag decides about code
    LIFT_BUFFER,    // a buffer belongs to one iteration
    LIFT_LAYOUT,    // an allocation has strides of its own
    LIFT_START,     // an argument is initialised where no statement starts from it
    LIFT_STATEMENT, // some leaf cannot be a statement of a Program
    LIFT_REASONS
} LiftReason;
extern const char *const lift_reason[LIFT_REASONS]; // "lifted", "kind", ...

typedef struct Lift {
    Program *program; // not bound; NULL: none
    LiftReason reason;
    const char *text; // the reason in words; "" where it was lifted
    Range range;      // in the Tree's source
} Lift;

// Of a verified Tree without specials. The Program is in `arena`, its arguments are the Tree's.
Lift tree_lift(Arena *arena, const Tree *t);

// The Tree with every loop `any`, for the verifier to decide whether that is legal. With `starts`
// assignments of a constant are initialisations.
const Tree *tree_unordered(Arena *arena, const Tree *t, bool starts);

#endif
