// The meaning of Trees: the interpreter that runs them.
#ifndef LW_TREE_TREE_INTERP_H
#define LW_TREE_TREE_INTERP_H

#include "tree/tree.h"

// Runs a Tree, serial blocks in index order. views[b] for every argument buffer b < nargs, in the
// caller's strides. Every access is checked against its buffer; a gather out of range is reported
// like program_interpret does, anything else outside is our bug. Honours `accumulate`
// (initialisations of arguments are left out) and `skip_post`.
bool tree_interpret(Arena *scratch, const Tree *t, const View *views, InterpFlags flags,
                    DiagList *diags);

// Functions that are called as a Tree runs: `enter` when an iteration of a block begins, `leaf`
// when an instance of a leaf begins, `access` when it reads or writes element `number` (row-major)
// of a buffer (a reduction only writes). `begin` and `end`, which may be NULL, are called before
// and after all iterations of a block, and before and after a leaf.
typedef struct TreeMoment {
    int depth; // blocks around the leaf
    const Block *const *path;
    const int *child;     // child number child[i] of path[i] leads on
    const int64_t *value; // per index id
} TreeMoment;
typedef struct TreeObserver {
    void *user;
    void (*enter)(void *user, const Block *b);
    void (*leaf)(void *user, const Leaf *leaf, const TreeMoment *now);
    void (*access)(void *user, int buffer, int64_t number, bool write, const int64_t *value);
    void (*begin)(void *user, const Node *node, const int64_t *value);
    void (*end)(void *user, const Node *node);
} TreeObserver;
bool tree_interpret_observed(Arena *scratch, const Tree *t, const View *views, InterpFlags flags,
                             const TreeObserver *observer, DiagList *diags);

#endif
