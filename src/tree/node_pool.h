// Nodes that Trees share (private to src/tree; tree_pool is in tree.h).
#ifndef LW_TREE_NODE_POOL_H
#define LW_TREE_NODE_POOL_H

#include "tree/tree.h"

// The purpose of an index. `again` numbers those with the same purpose in one Tree.
typedef struct IndexKey {
    int stmt, role, at, again;
} IndexKey;

Arena *pool_arena(const TreePool *pool);
int pool_indices(const TreePool *pool);       // ids given are below this
int pool_index(TreePool *pool, IndexKey key); // its id
// The place of a block: *place is NULL when it is new, for the caller to make. NULL: not for
// sharing.
const Block **pool_block(TreePool *pool, const Block *like, const Node *const *child,
                         int nchildren);
const Leaf *pool_leaf(TreePool *pool, const Leaf *like, int niters);

#endif
