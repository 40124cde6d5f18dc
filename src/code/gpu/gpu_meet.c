// Reductions in which iterations of a thread loop share an element: each thread keeps a partial
// result, and the threads combine these where the loop ends.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"

static bool sums_into(const Leaf *leaf, int buffer) {
    return leaf->op != REDUCE_ASSIGN && leaf->write->tensor == buffer;
}

typedef struct Other {
    const Leaf *leaf;
    int buffer;
    bool found;
} Other;

static void see_other(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Other *o = user;
    o->found |= a->tensor == o->buffer && a != o->leaf->write;
}

// Does an index of the block select the element that the leaf writes?
static bool selects(const Leaf *leaf, const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed && b->index[i].extent > 1 &&
            access_uses_iter(leaf->write, b->index[i].id))
            return true;
    return false;
}

// Does the index of the thread loop select an element that is reduced below?
static bool selected_below(Map *m, const Block *b) {
    Leaves all = {0};
    nest_leaves(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op != REDUCE_ASSIGN && access_uses_iter(all.at[i]->write, b->index[0].id))
            return true;
    return false;
}

// The thread loops around a leaf whose iterations write different elements.
typedef struct Owners {
    int n, id[TREE_MAX_DEPTH];
} Owners;

// Collects the axes of the thread loops below over which leaves reduce together. Returns false if
// that is impossible: if another leaf accesses the same element, or the loops that stay inside
// select the element, or another thread owns it in another iteration of these loops.
static bool meeting_axes(Map *m, const Block *top, const Node *n, unsigned around, Owners *owners,
                         unsigned *out) {
    const Block *b = as_block(n);
    if (b) {
        unsigned axes = around;
        int before = owners->n;
        bool thread = b->nindex == 1 && divides(b->kind), meets = false;
        if (thread && !nest_independent(m, b, 0)) {
            if (!nest_only_reduces(m, b) || selected_below(m, b)) return false;
            GpuAxis axis;
            if (!nest_axis(b, &axis)) return false;
            axes |= 1u << axis;
            meets = true;
        }
        if (thread && !meets && b->index[0].extent > 1) owners->id[owners->n++] = b->index[0].id;
        for (int i = 0; i < b->nchildren; i++)
            if (!meeting_axes(m, top, b->child[i], axes, owners, out)) return false;
        owners->n = before;
        return true;
    }
    const Leaf *leaf = (const Leaf *)n;
    if (!around || leaf->op == REDUCE_ASSIGN) return true;
    for (int i = 0; i < owners->n; i++)
        if (!nest_apart(m, top, leaf, owners->id[i])) return false;
    Leaves all = {0};
    nest_leaves(m->arena, &top->node, &all);
    if (nest_allocates(&top->node, leaf->write->tensor)) return false;
    for (int i = 0; i < all.n; i++) {
        Other o = {leaf, leaf->write->tensor, false};
        if (all.at[i] == leaf) {
            expr_visit_accesses(leaf->value, see_other, &o);
        } else {
            o.leaf = all.at[i];
            if (sums_into(all.at[i], o.buffer) || all.at[i]->write->tensor == o.buffer)
                return false;
            expr_visit_accesses(all.at[i]->value, see_other, &o);
        }
        if (o.found) return false;
    }
    *out |= around;
    return true;
}

// No serial loop between `top` and the leaf may select the element, unless it is unrolled.
static bool fixed_below(Map *m, const Node *n, const Leaf *leaf) {
    const Block *b = as_block(n);
    if (!b) return true;
    if (b->nindex && !divides(b->kind) && selects(leaf, b) && !map_unrolls(m, b, 0)) return false;
    for (int i = 0; i < b->nchildren; i++) {
        Leaves below = {0};
        nest_leaves(m->arena, b->child[i], &below);
        for (int k = 0; k < below.n; k++)
            if (below.at[k] == leaf && !fixed_below(m, b->child[i], leaf)) return false;
    }
    return true;
}

static bool all_fixed(Map *m, const Block *b) {
    Leaves all = {0};
    nest_leaves(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op != REDUCE_ASSIGN && !fixed_below(m, &b->node, all.at[i])) return false;
    return true;
}

GpuNode *meet_loop(Map *m, const Block *b) {
    unsigned axes = 0, before = m->inside;
    if (m->plain || (m->threads & ALL_THREADS) || m->inside) return NULL;
    Owners owners = {0};
    if (!meeting_axes(m, b, &b->node, 0, &owners, &axes) || !axes || !all_fixed(m, b)) return NULL;
    GpuNode *n = map_new(m, GPU_REDUCE);
    n->meet = m->inside = axes;
    vec_push(m->arena, &n->child, map_loop(m, b, 0));
    m->inside = before;
    return n;
}
