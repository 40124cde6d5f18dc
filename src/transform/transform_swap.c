// Copies of a buffer for some of the statements that use it; see transform_block.h.
#include "transform/transform_block.h"

#include "transform/edit.h"
#include "transform/transform_region.h"

// T' = T, or T = T' after the statements.
static const Node *whole_copy(EditWork *w, const TreeFacts *f, const SwapHow *how, int to,
                              bool store) {
    const Buffer *b = &w->old->buffers.at[how->buffer];
    const Affine *corner[TREE_MAX_RANK];
    int64_t zero[TREE_MAX_RANK] = {0}, one[TREE_MAX_RANK];
    for (int d = 0; d < b->rank; d++) {
        corner[d] = affine_const(w->x, 0);
        one[d] = 1;
    }
    CopyPart part = {.buffer = how->buffer, .to = to, .at = zero, .size = b->size};
    part.corner = corner;
    part.step = one;
    part.store = store;
    part.op = REDUCE_ASSIGN;
    part.mover = how->mover;
    part.tag[0] = "swap";
    part.tag[1] = store ? "swap_out" : "swap_in";
    return &region_copy(w, f, &part)->node;
}

typedef struct SwapMap {
    int from, to;
} SwapMap;

static const Access *swap_access(void *user, Exprs *x, const Access *a) {
    const SwapMap *s = user;
    return a->tensor == s->from ? access_make(x, s->to, a->rank, a->sub) : a;
}

typedef struct SwapUses {
    int buffer;
    bool written, starts;
} SwapUses;

static bool see_write(void *user, const Node *node, int depth, const Block *parent) {
    SwapUses *u = user;
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (!leaf || leaf->write->tensor != u->buffer) return true;
    u->written = true;
    u->starts |= leaf->role == LEAF_INIT;
    return true;
}

static SwapUses uses_of(const Tree *t, const Node *node, int buffer) {
    SwapUses u = {.buffer = buffer};
    const Block *b = as_block(node);
    Block leaf = {.nchildren = 1, .child = &node};
    tree_walk(&(Tree){.root = b ? b : &leaf, .nargs = t->nargs}, see_write, &u);
    return u;
}

const Tree *tree_swap(const Tree *t, const SwapHow *how, const TreeEdit *e) {
    EditWork w = work_begin(t, "swap", e);
    const Block *root = t->root;
    bool before = how->buffer < t->nargs, after = before, written = false;
    if (how->buffer < 0 || how->buffer >= t->buffers.n || how->from < 0 || how->from > how->to ||
        how->to >= root->nchildren)
        return refuse(&w, "there is no such buffer or statement");
    if (!before) {
        bool here = false;
        for (int i = 0; i < root->nallocs; i++) here |= root->alloc[i] == how->buffer;
        if (!here) return refuse(&w, "it is allocated inside");
    }
    for (int i = 0; i < root->nchildren; i++) {
        bool inside = i >= how->from && i <= how->to;
        if (!inside && subtree_uses(root->child[i], how->buffer))
            *(i < how->from ? &before : &after) = true;
        SwapUses u = inside ? uses_of(t, root->child[i], how->buffer) : (SwapUses){0};
        if (u.starts && how->buffer < t->nargs) return refuse(&w, "it initialises an argument");
        written |= u.written;
    }
    if (w.t->nindices + 2 * t->buffers.at[how->buffer].rank > TREE_MAX_INDICES)
        return refuse(&w, "there are too many loops");
    TreeFacts *f = arena_new(w.arena, TreeFacts);
    facts_collect(f, w.arena, t);
    const Buffer *b = &t->buffers.at[how->buffer];
    const char *name = arena_printf(w.arena, "%s.here", b->name);
    int to = region_buffer(&w, how->buffer, name, how->place, b->size, 0);
    w.t->buffers.at[to].tags = how->tags;
    SwapMap swapped = {how->buffer, to};
    const Node **child = arena_new_n(w.arena, const Node *, root->nchildren + 2);
    int n = 0;
    for (int i = 0; i < root->nchildren; i++) {
        bool inside = i >= how->from && i <= how->to;
        if (i == how->from && before) child[n++] = whole_copy(&w, f, how, to, false);
        Rename *r = rename_new(&w, false);
        r->map = swap_access;
        r->user = &swapped;
        child[n++] = inside ? rename_node(r, root->child[i]) : root->child[i];
        if (i == how->to && written && after) child[n++] = whole_copy(&w, f, how, to, true);
    }
    Block like = region_block(&w, root, -1, to);
    w.t->root = tree_block(w.t, &like, child, n);
    w.same_order = true;
    return work_finish(&w);
}
