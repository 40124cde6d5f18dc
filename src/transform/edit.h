// The functions under transformations (private to src/transform): finding nodes, rebuilding Trees,
// and the one test of legality.
#ifndef LW_TRANSFORM_EDIT_H
#define LW_TRANSFORM_EDIT_H

#include "tree/tree_facts.h"
#include "transform/transform.h"

// The origin of a leaf of the new Tree: the old leaf, and the values of old indices there.
typedef struct Origin {
    const Leaf *leaf, *old;
    const Affine **value; // per old index id; NULL: the index itself
} Origin;

typedef struct EditWork {
    const Tree *old;
    Tree *t; // the new Tree, under construction
    Arena *arena;
    Exprs *x;
    const TreeEdit *e;
    const char *verb; // "split": for refusals
    VEC(Origin) origin;
    bool same_order; // the order of iterations does not change
    bool by_iters;   // leaves are identified by their statements and iterators, not by `origin`
    const TreeFacts *now; // of the new Tree, while it is checked
} EditWork;

EditWork work_begin(const Tree *t, const char *verb, const TreeEdit *e);
// Reports that the shape of the Tree does not allow it; returns NULL.
const Tree *refuse(const EditWork *w, const char *why);

// Changes of a subtree: replaced indices, renamed buffers, rewritten accesses.
typedef struct Rename {
    EditWork *w;
    const Affine **iter; // per old index id: its replacement; NULL: unchanged
    bool fresh;          // indices and allocations inside get new numbers
    int *buffer;         // per old buffer: its new number; NULL: all unchanged
    AccessMap *map;      // applied last; NULL: none
    void *user;
    const Affine **kept; // a copy of `iter` as it was at the last leaf; NULL: none yet
} Rename;

Rename *rename_new(EditWork *w, bool fresh);
const Affine *rename_affine(Rename *r, const Affine *a);
const Node *rename_node(Rename *r, const Node *node);
void rename_nodes(Rename *r, const Node *const *child, int n, const Node **out);
// A block like `b` with renamed constraints, views and place; the caller sets children and indices.
Block rename_block(Rename *r, const Block *b);

// Replaces `target`, wherever it is, by `with`. The root stays.
void work_replace(EditWork *w, const Node *target, const Node *const *with, int n);
// Checks and returns the new Tree; NULL when it is refused.
const Tree *work_finish(EditWork *w);

const Block *find_loop(const Tree *t, int loop, const Block **parent, int *at);
bool subtree_uses(const Node *node, int buffer);
int count_indices(const Node *node);
bool is_single(const Block *b); // one index, not passed in
const char *why_not_single(const Block *b);
bool block_uses(const Block *b, const Affine *a);

#endif
