// Schedule trees without isl (private to src/poly).
#ifndef LW_POLY_POLY_TREE_H
#define LW_POLY_POLY_TREE_H

#include "poly/poly.h"

// Children in turn; of one, that one.
const PolyNode *poly_sequence(Arena *arena, int n, const PolyNode *const *child);
// Some statements with the loops that the Program gives them, one after the other.
const PolyNode *poly_canonical_of(Arena *arena, const PolyScop *s, int n, const int *stmt);
// A statement whose elements its iterators determine, reductions apart, with its initialisation: a
// band of parallel loops, and inside it the reductions.
const PolyNode *poly_single(Arena *arena, const PolyScop *s, int n, const int *stmt);
// Two nests in the loops that they can share iteration by iteration, one after the other inside;
// NULL: there are none.
const PolyNode *poly_match(Arena *arena, const PolyScop *s, const PolyNode *a, const PolyNode *b);
// Initialisations run where their statement does, unless that is a reduction's iterator.
void poly_add_inits(const PolyScop *s, PolyMember *m);
// A band whose members may not be interchanged, as nested ones.
const PolyNode *poly_nest(Arena *arena, const PolyNode *band);
// Every band with members that all its statements have, in the order of iterators; other members
// move into the children. NULL: that would change the order of statements.
const PolyNode *poly_tidy(Arena *arena, const PolyScop *s, const PolyNode *root);
bool poly_spans(const PolyNode *band); // each statement has a member
int poly_coincident(const PolyNode *root);

#endif
