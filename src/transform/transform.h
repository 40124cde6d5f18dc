// Transformations of Trees: pure functions from a Tree to a new one that shares the unchanged
// parts, or to a refusal. Dependences decide legality, never patterns: a refusal names the two
// statement instances and the element on which they conflict. If a proof fails, the transformation
// is refused as "not proven". With `unchecked` only the shape is checked.
//
// References survive edits. A loop is named by the id of (one of) its indices. Ids are never
// reused, so a loop that a transformation does not change keeps its name; tree_nindices before a
// split is the id of the new outer loop, and the next id is that of the inner loop. A leaf is named
// by its number in pre-order; tree_follow finds it again.
//
// The comment of each function shows the Tree before and after, and says when it is legal. Every
// Tree that passes the verifier is a valid input, and every result passes it.
//
// Used by TeML's front-end (lang/teml), by passes (transform_block.h has blocks of several indices)
// and by tests.
#ifndef LW_TRANSFORM_TRANSFORM_H
#define LW_TRANSFORM_TRANSFORM_H

#include "tree/tree.h"

typedef struct TreeEdit {
    DiagList *diags; // refusals go here
    bool unchecked;
    struct Witness *witness; // verify/legal.h: of a refusal by dependences; may be NULL
    // For temporary data of the checks; NULL: the Tree's arena, until that is released.
    Arena *scratch;
    // Transform_script.h: the action at which a script stopped; may be NULL.
    struct TreeRefusal *refusal;
} TreeEdit;

// A node: the block that has index `loop`, or with loop < 0 leaf number `leaf`.
typedef struct TreeRef {
    int loop, leaf;
} TreeRef;

// --- Loops, transform.c ------------------------------------------------------------------------

// for i in 10: S(i)  ->  for i in 3: for i in 4 where 9 - 4*i - i' >= 0: S(4*i + i')
// Interleaved: S(i + 3*i'). Blocked splits are always legal; interleaved ones when no dependence is
// reversed.
const Tree *tree_split(const Tree *t, int loop, int64_t inner, bool interleaved, const TreeEdit *e);
// for i in 3: for j in 4: S(i, j)  ->  for i in 12: S(i/4, i%4)
// Always legal. The loops nest without anything between, and the outer one allocates nothing.
const Tree *tree_merge(const Tree *t, int loop, const TreeEdit *e);
// for i: for j: S(i, j)  ->  for j: for i: S(i, j)
// Legal when no dependence has direction (<, >).
const Tree *tree_interchange(const Tree *t, int loop, const TreeEdit *e);
// A; B  ->  B; A, for a node and its next (by = 1) or previous (by = -1) sibling, which may be
// loops. Legal when no instance of one depends on an instance of the other.
const Tree *tree_move(const Tree *t, TreeRef node, int by, const TreeEdit *e);
// A; for i in N: B(i)  ->  for i in N: { if i = 0: A; B(i) }
// and after a loop with "last"; `node` is a leaf next to the loop. Legal when instances of B that A
// now precedes do not depend on it, and N > 0.
const Tree *tree_sink(const Tree *t, int leaf, int loop, const TreeEdit *e);
// for i: A(i); for j: B(j)  ->  for i: { A(i); B(i) }
// Legal when B(i) depends on no A(i') with i' > i. Equal extents and kinds.
const Tree *tree_fuse(const Tree *t, int loop, const TreeEdit *e);
// for i: { A(i); B(i) }  ->  for i: A(i); for i: B(i), cut in front of child number `at`.
// Legal when A(i') depends on no B(i) with i < i'. Buffers that both halves use are staged first.
const Tree *tree_distribute(const Tree *t, int loop, int at, const TreeEdit *e);
// for i in 3: S(i)  ->  S(0); S(1); S(2)
// Always legal; at most TREE_MAX_UNROLL iterations.
enum { TREE_MAX_UNROLL = 64 };
const Tree *tree_unroll(const Tree *t, int loop, const TreeEdit *e);
// for i: for j: S(i, j)  ->  for i in N/2: for j: { S(2*i, j); S(2*i + 1, j) }
// Legal when the loop may move inside those below it.
const Tree *tree_unroll_and_jam(const Tree *t, int loop, int64_t factor, const TreeEdit *e);
// for i: S(i)  ->  for i vector: S(i). Legal when iterations are independent (Definition 2, see
// verify.h); the loops inside may only have one iteration. Likewise for parallel loops, and for
// grid and thread axes, each of which may occur once on a path.
const Tree *tree_vectorize(const Tree *t, int loop, const TreeEdit *e);
const Tree *tree_parallelize(const Tree *t, int loop, const TreeEdit *e);
const Tree *tree_bind(const Tree *t, int loop, Kind axis, const TreeEdit *e);
// for i: S(i)  ->  for i any: S(i), and any other kind; legal when that kind is. With a tag: #name.
const Tree *tree_annotate(const Tree *t, int loop, Kind kind, const TreeEdit *e);
const Tree *tree_tag(const Tree *t, int loop, Tag tag, const TreeEdit *e);
// for i: for j: S(i, j)  ->  for i/a: for j/b: for i: for j: S. Legal when the loops may
// interchange.
const Tree *tree_tile(const Tree *t, int loop, int64_t outer, int64_t inner, const TreeEdit *e);
// for i in M: for j in N: S(i, j)
//     ->  for i in M: for j in N + 2*(M - 1) where 0 <= j - 2*i < N: S(i, j - 2*i)
// Skews `loop` by `factor` times the surrounding loop `by`. Always legal; it makes interchange,
// tiling and parallel loops legal that were not.
const Tree *tree_skew(const Tree *t, int loop, int by, int64_t factor, const TreeEdit *e);
// for i in 10: S(i)  ->  for i in 8: S(i); for i in 2: S(i + 8), after `n` iterations. Always
// legal.
const Tree *tree_peel(const Tree *t, int loop, int64_t n, const TreeEdit *e);

// Does `t`, the result of any number of steps from `reference`, keep the order of all conflicting
// accesses? Both belong to one pool; each leaf's statement number is unique in `reference`, and its
// iterators are the loops around it there. Refusals name `verb`. The verifier judges unordered
// loops.
bool tree_agrees(const Tree *reference, const Tree *t, const char *verb, const TreeEdit *e);

// --- Buffers, transform_buffer.c ---------------------------------------------------------------

// for i: { T[4]; .. T[x] .. }  ->  T[N, 4]; for i: .. T[i, x] ..   (less reuse, more memory)
// Always legal: each iteration of `loop` gets elements of its own.
const Tree *tree_stage(const Tree *t, int buffer, int loop, const TreeEdit *e);
// T[N, 4]; for i: .. T[i, x] ..  ->  for i: { T[4]; .. T[x] .. }
// Legal when no iteration reads an element that another wrote.
const Tree *tree_unstage(const Tree *t, int buffer, int loop, const TreeEdit *e);
// for i: { .. A[4*i + j] .. }  ->  for i: { A'[4]; for d: A'[d] = A[4*i + d]; .. A'[j] .. }
// Legal when no iteration of the loop writes an element of A that it reads.
const Tree *tree_copy_input(const Tree *t, int buffer, int loop, const TreeEdit *e);
// The reverse: reads of the copy become reads of the original. Legal when the original has not
// changed meanwhile.
const Tree *tree_drop_copy(const Tree *t, int buffer, const TreeEdit *e);
// T[N, M]  ->  T[M, N], in the allocation and in every access. Always legal for allocations.
const Tree *tree_swap_layout(const Tree *t, int buffer, int a, int b, const TreeEdit *e);

// --- Positions, transform_cursor.c -------------------------------------------------------------

int tree_leaves(const Tree *t);                        // number of leaves
const Leaf *tree_leaf_at(const Tree *t, int n);        // NULL: none
const Block *tree_loop_at(const Tree *t, int loop);    // NULL: none
const Block *tree_parent_of(const Tree *t, TreeRef r); // NULL: the root, or not there
// The leaf of `to` that leaf number `leaf` of `from` has become: of the same statement and role, at
// the same place among those; -1: gone.
int tree_follow(const Tree *from, int leaf, const Tree *to);
// The block as a separate Tree: indices around it have the values `at[id]` (NULL: 0), buffers
// allocated around it become arguments.
const Tree *tree_subtree(const Tree *t, int loop, const int64_t *at);

// LoopTool's cursor: a Tree and a loop in it. Each action returns a new cursor, or the old one (==)
// when it is refused or has nothing to do.
typedef struct TreeCursor {
    const Tree *t;
    int loop;
} TreeCursor;
TreeCursor cursor_up(TreeCursor c);                      // to the loop around it
TreeCursor cursor_down(TreeCursor c);                    // to the first loop inside
TreeCursor cursor_next(TreeCursor c);                    // to the next loop in pre-order
TreeCursor cursor_swap(TreeCursor c, const TreeEdit *e); // interchange with the loop inside
TreeCursor cursor_split(TreeCursor c, int64_t inner, const TreeEdit *e); // stays on the outer one
TreeCursor cursor_merge(TreeCursor c, const TreeEdit *e);                // with the loop inside
TreeCursor cursor_annotate(TreeCursor c, Kind kind, const TreeEdit *e);

#endif
