// Nodes that Trees share: hash-consing, as of expressions. Children come before their parents, so
// equal subtrees have equal children by pointer and a node is compared by its own fields alone.
//
// That needs equal numbers for equal indices, in whatever order lowering comes to them: in a pool
// an index is numbered by what it is for (a loop of a statement, of its initialisation, ...), so
// the loops of a statement that a Schedule leaves alone keep their numbers.
#include "tree/node_pool.h"

#include <string.h>

#include "base/map.h"

struct TreePool {
    Arena *arena;
    Set blocks, leaves, keys;
    int nindices;
};

TreePool *tree_pool(Arena *arena) {
    TreePool *pool = arena_new(arena, TreePool);
    pool->arena = arena;
    return pool;
}

Arena *pool_arena(const TreePool *pool) { return pool->arena; }
int pool_indices(const TreePool *pool) { return pool->nindices; }

// --- Numbers -----------------------------------------------------------------------------------

typedef struct NodeKey {
    IndexKey key;
    int id;
} NodeKey;

static bool same_key(const void *a, const void *b) {
    const IndexKey *x = a, *y = &((const NodeKey *)b)->key;
    return x->stmt == y->stmt && x->role == y->role && x->at == y->at && x->again == y->again;
}

int pool_index(TreePool *pool, IndexKey key) {
    uint64_t h = hash_mix((uint64_t)key.stmt << 32 | (uint64_t)key.at,
                          (uint64_t)key.role << 32 | (uint64_t)key.again);
    void **slot = set_find(pool->arena, &pool->keys, h, &key, same_key);
    if (!*slot) {
        NodeKey *k = *slot = arena_new(pool->arena, NodeKey);
        *k = (NodeKey){key, pool->nindices++};
        pool->keys.n++;
    }
    return ((NodeKey *)*slot)->id;
}

// --- Nodes -------------------------------------------------------------------------------------

// The block to find: its arrays may be on the caller's stack.
typedef struct Wanted {
    const Block *like;
    const Node *const *child;
    int nchildren;
} Wanted;

static uint64_t hash_pointers(uint64_t h, const void *at, int n) {
    return hash_bytes(h, at, (size_t)n * sizeof(void *));
}

static uint64_t hash_block(const Wanted *w) {
    const Block *b = w->like;
    uint64_t h = hash_mix((uint64_t)b->kind, (uint64_t)b->nindex);
    for (int i = 0; i < b->nindex; i++)
        h = hash_mix(h, (uint64_t)b->index[i].id << 32 ^ (uint64_t)b->index[i].extent);
    h = hash_pointers(h, b->constraint, b->nconstraints);
    h = hash_bytes(h, b->alloc, (size_t)b->nallocs * sizeof *b->alloc);
    return hash_pointers(h, w->child, w->nchildren);
}

static bool same_array(const void *a, const void *b, int n, size_t size) {
    return n == 0 || memcmp(a, b, (size_t)n * size) == 0;
}

static bool same_index(const Index *a, const Index *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].name != b[i].name || a[i].id != b[i].id || a[i].extent != b[i].extent)
            return false;
    return true;
}

static bool same_block(const void *key, const void *item) {
    const Wanted *w = key;
    const Block *a = w->like, *b = item;
    return a->kind == b->kind && a->unroll_limit == b->unroll_limit && a->grain == b->grain &&
           a->nindex == b->nindex && a->nconstraints == b->nconstraints &&
           a->nallocs == b->nallocs && w->nchildren == b->nchildren &&
           same_index(a->index, b->index, a->nindex) &&
           same_array(a->constraint, b->constraint, a->nconstraints, sizeof *a->constraint) &&
           same_array(a->alloc, b->alloc, a->nallocs, sizeof *a->alloc) &&
           same_array(w->child, b->child, w->nchildren, sizeof *w->child);
}

// Members that only hand-made blocks have are not compared: such blocks are not shared.
static bool is_plain(const Block *b) {
    bool plain = !b->nviews && !b->place.n && !b->node.tags.n && !b->name && b->node.ndeps < 0;
    for (int i = 0; i < b->nindex; i++) plain &= !b->index[i].passed && !b->index[i].tags.n;
    return plain;
}

const Block **pool_block(TreePool *pool, const Block *like, const Node *const *child,
                         int nchildren) {
    Wanted w = {like, child, nchildren};
    if (!is_plain(like)) return NULL;
    void **slot = set_find(pool->arena, &pool->blocks, hash_block(&w), &w, same_block);
    if (!*slot) pool->blocks.n++;
    return (const Block **)slot;
}

// A leaf with the number of its iterators.
typedef struct PooledNode {
    const Leaf *leaf;
    int niters;
} PooledNode;

static bool same_leaf(const void *key, const void *item) {
    const PooledNode *k = key, *other = item;
    const Leaf *a = k->leaf, *b = other->leaf;
    return a->role == b->role && a->op == b->op && a->write == b->write && a->value == b->value &&
           a->stmt == b->stmt && a->unchecked == b->unchecked && a->nontemporal == b->nontemporal &&
           a->accumulators == b->accumulators && a->ncaches == b->ncaches &&
           same_array(a->cache, b->cache, a->ncaches, sizeof *a->cache) &&
           k->niters == other->niters && !a->iter == !b->iter &&
           (!a->iter || same_array(a->iter, b->iter, k->niters, sizeof *a->iter));
}

const Leaf *pool_leaf(TreePool *pool, const Leaf *like, int niters) {
    PooledNode key = {like, niters};
    uint64_t h = hash_mix((uint64_t)(uintptr_t)like->write, (uint64_t)(uintptr_t)like->value);
    h = hash_mix(h, (uint64_t)like->stmt << 8 | (uint64_t)like->role);
    if (like->iter) h = hash_pointers(h, like->iter, niters);
    void **slot = set_find(pool->arena, &pool->leaves, h, &key, same_leaf);
    if (!*slot) {
        Leaf *leaf = arena_copy(pool->arena, like, sizeof *like);
        leaf->node.kind = NODE_LEAF;
        if (like->iter)
            leaf->iter = arena_copy(pool->arena, like->iter, (size_t)niters * sizeof *like->iter);
        PooledNode *k = arena_new(pool->arena, PooledNode);
        *k = (PooledNode){leaf, niters};
        *slot = k;
        pool->leaves.n++;
    }
    return ((PooledNode *)*slot)->leaf;
}
