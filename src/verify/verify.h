// The verifier: is a Tree well-formed, and does every order of its unordered blocks give the same
// result?
//
// Refused, each with a witness (index points and the element they meet in):
//
//   * an unordered block (any, parallel, vector, grid, thread) in which an element is assigned by
//     two iterations, an iteration reads what another writes, iterations combine into an element
//     with two operators, or a dependence other than an aggregation is carried (Stripe's
//     Definition 2; a reduction into one element is fine, the back-end privatises)
//   * an access outside its buffer, or outside the view that a block around it declares; a view
//     outside its parent's where accesses happen; a write through `in`, a read through `out`
//   * an allocation, or an output, that is read before it is written
//   * with a Program: an order that runs a sink before its source
//   * indices out of scope or not affine, buffers out of scope, ranges and sizes that overflow
//
// Questions go to program/deps.c after cheap exits: buffers that are only read, reductions by one
// operator, subscripts that determine a shared index. An undecided question is "not proven".
#ifndef LW_VERIFY_VERIFY_H
#define LW_VERIFY_VERIFY_H

#include "tree/tree.h"

typedef enum VerifyAnswer {
    VERIFY_OK,
    VERIFY_UNPROVEN, // no fault was found, but a question stayed undecided
    VERIFY_REFUSED,
} VerifyAnswer;

typedef struct Verify {
    bool unchecked;    // unproven accesses pass, and are not reported
    bool near;         // notes name the nearest legal kinds of loops, each judged
    int64_t questions; // counted up: questions that cheap exits did not answer,
    int64_t undecided; // and those that nothing answered
} Verify;

// Specials are verified by their expansion. `scratch` is given back as it was; `v` may be NULL.
// Reports one diagnostic per kind of fault and leaf.
VerifyAnswer tree_verify(Arena *scratch, const Tree *t, Verify *v, DiagList *diags);

#endif
