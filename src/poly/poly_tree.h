// Schedule trees without isl (private to src/poly).
#ifndef LW_POLY_POLY_TREE_H
#define LW_POLY_POLY_TREE_H

#include "poly/poly.h"

// A sequence of the children; a single child is returned as it is.
const PolyNode *poly_sequence(Arena *arena, int n, const PolyNode *const *child);
// The statements one after the other, each with the loops that the Program gives it.
const PolyNode *poly_canonical_of(Arena *arena, const PolyScop *s, int n, const int *stmt);
// A statement whose non-reduction iterators determine the written element, with its initialisation:
// a band of parallel loops with the reductions inside.
const PolyNode *poly_single(Arena *arena, const PolyScop *s, int n, const int *stmt);
// Fuses the loops that two nests can share iteration by iteration, with the nests one after the
// other inside; NULL: there are no such loops.
const PolyNode *poly_match(Arena *arena, const PolyScop *s, const PolyNode *a, const PolyNode *b);
// Initialisations run with their statement, except in loops of a reduction's iterators.
void poly_add_inits(const PolyScop *s, PolyMember *m);
// A band whose members may not be interchanged, as nested bands of one member.
const PolyNode *poly_nest(Arena *arena, const PolyNode *band);
// Normalises every band: it keeps the members that all its statements have, in the order of
// iterators, and moves other members into the children. NULL: that would change the order of
// statements.
const PolyNode *poly_tidy(Arena *arena, const PolyScop *s, const PolyNode *root);
bool poly_spans(const PolyNode *band); // does each statement have a member?
int poly_coincident(const PolyNode *root);

#endif
