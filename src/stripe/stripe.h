// Stripe text: the Tree as people read and write it (docs/trees.md).
//
//     block []:1 ( // mm
//         in A[0, 0] fp32(4, 8):(8, 1)
//         out C[0, 0] fp32(4, 6):(6, 1)
//     ) {
//         0: #parallel block [i:4, j:6]:24 (
//             in A[i, 0] fp32(1, 8):(8, 1)
//             ...
//
// In the text a block sees its own indices and refinements only: a refinement's offset counts from
// its parent's, and an index from further out is passed in by name. In memory everything is
// absolute (tree.h). Printing derives what was not written; parsing adds up and keeps names, tags
// and places. print(parse(print(t))) == print(t), byte for byte.
//
// Statements. A leaf prints as its loads, intrinsics and one store; parsing folds scalars into the
// expression of the store that uses them. A load whose tensor is written before its value is used
// is kept in a buffer of one element. `out:agg` starts from the identity: parsing adds the
// initialisation and turns the refinement into `inout:agg`, so that the print shows what runs.
#ifndef LW_STRIPE_STRIPE_H
#define LW_STRIPE_STRIPE_H

#include "tree/tree.h"

void stripe_print(Text *out, const Tree *t);

// The outermost block names the tensors: the Tree's Program has them as arguments and no
// statements. NULL after an error.
Tree *stripe_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);

#endif
