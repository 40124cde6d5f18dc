// Transformations of blocks with several indices, for Stripe's passes. As in transform.h, they are
// pure functions to a new Tree, which dependences or the verifier may refuse. A block is named by
// the id of any of its indices.
#ifndef LW_TRANSFORM_TRANSFORM_BLOCK_H
#define LW_TRANSFORM_TRANSFORM_BLOCK_H

#include "transform/transform.h"

// Names and places of a block and its two halves.
typedef struct TileHow {
    const int64_t *size; // per index of the block; 1 <= size <= extent
    bool interleaved;    // tile number + size of the grid * position, not size * number + position
    Tags outer, inner;   // added to the tags of the block; `outer` gets none of the old ones
} TileHow;
// for [i:10, j:6]: S  ->  for [i:3, j:3]: for [i':4, j':2] where 9 - 4*i - i' >= 0: S
// An index whose tile is whole, or 1, stays one index; the tile keeps the block's place. *outer and
// *inner (may be NULL) receive an index of either block. Legal when the tiles may run one after
// another.
const Tree *tree_block_tile(const Tree *t, int loop, const TileHow *how, int *outer, int *inner,
                            const TreeEdit *e);

// A part of a block's indices, and the kind of the block that gets them.
typedef struct BlockGroup {
    int n;
    const int *id;
    Kind kind;
} BlockGroup;
// for [i, j, k]: S  ->  for [k]: for [i, j]: S, every index in one group, outermost first.
// Constraints move as far out as their indices allow. Legal when the new order is legal.
const Tree *tree_block_nest(const Tree *t, int loop, const BlockGroup *group, int n,
                            const TreeEdit *e);

// for [i:8, j]: A; for [k, m:8]: B  ->  for [i:8]: { for [j]: A; for [k]: B(m = i) }
// `loop` is a block and `with` the next one; a[k] and b[k] become one index. Constraints that both
// have on these indices move to the common block, which has the tags of both.
const Tree *tree_block_fuse(const Tree *t, int loop, int with, int n, const int *a, const int *b,
                            Tags tags, const TreeEdit *e);

// for [i:10, j]: S(i)  ->  for [i:8, j]: S(i); for [i:2, j]: S(i + 8), after n iterations of an
// index; *second (may be NULL) becomes that index in the second block.
const Tree *tree_block_peel(const Tree *t, int index, int64_t n, int *second, const TreeEdit *e);

// for [i:2, j]: S(i)  ->  for [j]: S(0); for [j]: S(1). At most TREE_MAX_UNROLL copies.
const Tree *tree_block_unroll(const Tree *t, int index, const TreeEdit *e);

// The block with the tags, place, kind, constraints and tags of indices of `like`; children stay.
// The caller guarantees that dropped constraints are redundant; the kind is checked.
const Tree *tree_block_like(const Tree *t, int loop, const Block *like, const char *verb,
                            const TreeEdit *e);
// The Tree without the block.
const Tree *tree_block_remove(const Tree *t, int loop, const char *verb, const TreeEdit *e);

// for i:8: { A(i); for j: B(i, j) }  ->  for [i:8]: A; for [i:8, j]: B
// Every leaf below the root gets one block of its own, of kind `any` where its iterations are
// independent, otherwise serial as before. Nests that allocate, or whose statements depend on each
// other through their loops, stay as they are.
const Tree *tree_flatten(const Tree *t, const TreeEdit *e);

// for [i:1, j:4] { for []: S }  ->  for [j:4]: S
// Drops indices of one iteration and blocks without effect. `keep` (may be NULL) tells which of
// these blocks stay.
const Tree *tree_prune(const Tree *t, bool (*keep)(const Block *b), const TreeEdit *e);

// The Tree without lists of dependences, whose numbers would be wrong for another order or other
// statements; `t` itself if it has none.
const Tree *tree_without_deps(const Tree *t);

// --- Buffers, transform_region.c -----------------------------------------------------------------

// T[100]; for [i:25]: .. T[4*i + j] ..  ->  for [i:25]: { T[4]; .. T[j] .. }
// The allocation belongs to a block around, and only this one uses it. Legal when no iteration
// reads an element that another wrote.
const Tree *tree_block_localize(const Tree *t, int loop, int buffer, const TreeEdit *e);

typedef struct CacheHow {
    int buffer;
    Place place;       // of the copy
    Place mover;       // of the blocks that copy
    int64_t odd_above; // > 0: a copy's dimensions of at least this size become odd (bank conflicts)
} CacheHow;
// for [i:25]: { .. A[4*i + j] .. C[i] += .. }  ->
// for [i:25]: { A'[4]; for [x:4]: A'[x] = A[4*i + x]; .. A'[j] .. }
// Reads copy in, assignments copy out, a reduction starts from its identity and is added at the
// end; several accesses share the box around them (the halo). Refused where the box depends on more
// than the indices around the children.
const Tree *tree_block_cache(const Tree *t, int loop, const CacheHow *how, const TreeEdit *e);

typedef struct SwapHow {
    int buffer;   // an argument, or an allocation of the root
    int from, to; // statements of the root, both inclusive
    Place place;  // of the copy
    Place mover;  // of the blocks that copy
    Tags tags;    // of the copy
} SwapHow;
// S0(T); S1(T); S2(T); S3(T)  ->  S0(T); T' = T; S1(T'); S2(T'); T = T'; S3(T)    for S1 to S2
// The copy is not filled if nothing was stored in T before, and not stored if the statements do not
// write it or no later one uses it. Refused if they initialise an argument.
const Tree *tree_swap(const Tree *t, const SwapHow *how, const TreeEdit *e);

typedef struct PadHow {
    const int64_t *extent; // per index of the block its new range, not below the old one
    Place place;           // of the copies
    Place mover;           // of the blocks that copy
} PadHow;
// for [i:10, k:6]: C[i] += A[i, k]*x[k]  ->
// A'[12, 8] = A, else -0; x'[8] = x, else 1; C'[12] = 0; for [i:12, k:8]: C'[i] += A'[i, k]*x'[k];
// for [i:10]: C[i] += C'[i]
// For a block of one statement. Legal when every iteration beyond the old ranges writes outside the
// old results, or combines the reduction's identity with a result, exactly. Constants around the
// copies ensure this; see transform_pad.c.
const Tree *tree_block_pad(const Tree *t, int loop, const PadHow *how, const TreeEdit *e);

// T[0] = A[i] + 1; C[i] = T[0]*2  ->  C[i] = (A[i] + 1)*2
// `b` allocates the buffer of one element; its children `store` and `load` are the leaves that
// assign it and read it. The caller guarantees that the value is the same there.
const Tree *tree_forward(const Tree *t, const Block *b, int buffer, int store, int load,
                         const TreeEdit *e);

// T[8, 6]:(6, 1)  ->  T[8, 6]:(1, 8), the same subscripts: order[0] is the dimension of the largest
// stride. Allocations only.
const Tree *tree_restride(const Tree *t, int buffer, const int *order, const TreeEdit *e);
// Every buffer with the place, tags, alignment and banks of `like[buffer]`.
const Tree *tree_with_buffers(const Tree *t, const Buffer *like, const TreeEdit *e);

#endif
