// Initialises `out:agg` refinements: inserts a copy of the nest of the updates in front of it,
// without the indices that do not select the element and without the constraints that use them.
//
//     block [i:4, k:8] ( in A[i, k]  out C[i]:add ) { C += A }
//     →  block [i:4] { C[i] = 0 }  block [i:4, k:8] { C[i] += A[i, k] }
#include "stripe/stripe_impl.h"

#include "base/checked.h"

typedef struct Init {
    StripeParser *p;
    int buffer;
    Range range; // of the refinement
    Reduce op;
    int nids;
    const Affine **proper; // per id inside: over indices that are not passed in
    bool *inside, *used;   // per id: of the nest; chooses the element
    const Affine **to;     // per id: its counterpart
    bool scatters;
    int updates;
    bool meets;               // two points may select the same element
    VEC(const Affine *) held; // constraints around
} Init;

static bool is_update(const Init *in, const Node *node) {
    const Leaf *l = as_leaf(node);
    return l && l->write->tensor == in->buffer && l->op == in->op && l->role != LEAF_INIT;
}

// --- Which indices -----------------------------------------------------------------------------

// Do different values of the indices select different elements? Each index must occur in one
// subscript, with a step larger than the range of those with smaller steps.
static bool injective(const Init *in, const Access *w) {
    int uses[TREE_MAX_INDICES] = {0};
    for (int d = 0; d < w->rank; d++) {
        const Affine *sub = affine_substitute(in->p->x, w->sub[d], in->proper, NULL);
        int64_t reach = 0, last = 0;
        if (!sub->linear) return false;
        for (int left = sub->n; left > 0; left--) {
            int64_t step = INT64_MAX, span;
            const Term *next = NULL;
            for (int i = 0; i < sub->n; i++) {
                int64_t k = sub->term[i].coef < 0 ? -sub->term[i].coef : sub->term[i].coef;
                bool inside = in->inside[sub->term[i].atom->index];
                if (inside && k > last && k < step) step = k, next = &sub->term[i];
            }
            if (!next) break;
            int id = next->atom->index;
            if (uses[id]++ || step <= reach || !checked_mul(step, in->p->hi[id], &span))
                return false;
            reach += span;
            last = step;
        }
        for (int i = 0; i < sub->n; i++) // equal steps are left over
            if (in->inside[sub->term[i].atom->index] && !uses[sub->term[i].atom->index])
                return false;
    }
    return true;
}

static void study(Init *in, const Node *node) {
    const Block *b = as_block(node);
    Exprs *x = in->p->x;
    if (is_update(in, node)) {
        const Access *w = as_leaf(node)->write;
        in->scatters |= w->has_read;
        in->meets |= in->updates++ > 0 || w->has_read || !injective(in, w);
        for (int d = 0; d < w->rank; d++) {
            const Affine *sub = affine_substitute(x, w->sub[d], in->proper, NULL);
            for (int id = 0; id < in->nids; id++) in->used[id] |= affine_uses_iter(sub, id);
        }
    }
    for (int i = 0; b && i < b->nindex; i++) {
        const Index *k = &b->index[i];
        in->inside[k->id] = true;
        if (k->passed) in->proper[k->id] = affine_substitute(x, k->passed, in->proper, NULL);
    }
    for (int i = 0; b && i < b->nchildren; i++) study(in, b->child[i]);
}

static const Affine *translate(const Init *in, const Affine *a) {
    Exprs *x = in->p->x;
    return affine_substitute(x, affine_substitute(x, a, in->proper, NULL), in->to, NULL);
}

static bool speaks_of_dropped(const Init *in, const Affine *a) {
    a = affine_substitute(in->p->x, a, in->proper, NULL);
    for (int id = 0; id < in->nids; id++)
        if (in->inside[id] && !in->used[id] && affine_uses_iter(a, id)) return true;
    return false;
}

// --- The nest ----------------------------------------------------------------------------------

static bool held(const Init *in, const Affine *a) {
    for (int i = 0; i < in->held.n; i++)
        if (in->held.at[i] == a) return true;
    return false;
}

static Index fresh_index(Init *in, const Index *like) {
    StripeParser *p = in->p;
    if (p->t->nindices + p->reserved >= TREE_MAX_INDICES) {
        stripe_fail(p, in->range, DIAG_STRIPE_LIMIT, TREE_MAX_INDICES, "indices");
        return *like;
    }
    Index k = tree_index(p->t, like->name, like->extent);
    p->lo[k.id] = 0;
    p->hi[k.id] = max_i64(k.extent - 1, 0);
    return k;
}

static const Node *identity(Init *in, const Access *write) {
    Tree *t = in->p->t;
    const Buffer *b = &t->buffers.at[in->buffer];
    Value v = reduce_start(b->type, in->op);
    Leaf leaf = {.node = {.range = in->range, .ndeps = -1},
                 .role = LEAF_INIT,
                 .write = write,
                 .value = expr_const(t->exprs, b->type, v),
                 .stmt = -1};
    return &tree_leaf(t, &leaf)->node;
}

// The initialisation of one update, guarded if dropped constraints kept it inside.
static const Node *init_leaf(Init *in, const Leaf *l) {
    Exprs *x = in->p->x;
    const Buffer *b = &in->p->t->buffers.at[in->buffer];
    const Affine *sub[STRIPE_MAX_RANK] = {0}, *guard[2 * STRIPE_MAX_RANK];
    int n = 0;
    for (int d = 0; d < b->rank; d++) {
        int64_t lo = 0, hi = 0;
        sub[d] = translate(in, l->write->sub[d]);
        affine_bounds(sub[d], in->p->lo, in->p->hi, &lo, &hi);
        const Affine *above = affine_sub(x, affine_const(x, b->size[d] - 1), sub[d]);
        if (lo < 0 && !held(in, sub[d])) guard[n++] = sub[d];
        if (hi >= b->size[d] && !held(in, above)) guard[n++] = above;
    }
    const Node *leaf = identity(in, access_make(x, in->buffer, b->rank, sub));
    return n ? &tree_guard(in->p->t, guard, n, leaf)->node : leaf;
}

static const Node *init_nest(Init *in, const Node *node) {
    if (is_update(in, node)) return init_leaf(in, as_leaf(node));
    const Block *b = as_block(node);
    if (!b) return NULL;
    Arena *arena = in->p->arena;
    VEC(Index) index = {0};
    VEC(const Affine *) constraint = {0};
    NodeList child = {0};
    int before = in->held.n;
    for (int i = 0; i < b->nindex; i++) {
        const Index *k = &b->index[i];
        if (k->passed || !in->used[k->id]) continue;
        Index own = fresh_index(in, k);
        if (in->p->failed) return NULL;
        in->to[k->id] = affine_iter(in->p->x, own.id);
        vec_push(arena, &index, own);
    }
    for (int i = 0; i < b->nconstraints; i++) {
        if (speaks_of_dropped(in, b->constraint[i])) continue;
        const Affine *c = translate(in, b->constraint[i]);
        vec_push(arena, &constraint, c);
        vec_push(arena, &in->held, c);
    }
    for (int i = 0; i < b->nchildren && !in->p->failed; i++) {
        const Node *c = init_nest(in, b->child[i]);
        if (c) vec_push(arena, &child, c);
    }
    in->held.n = before;
    if (child.n == 0) return NULL;
    if (index.n == 0 && constraint.n == 0 && child.n == 1) return child.at[0];
    Block like = {.node.ndeps = -1,
                  .kind = index.n && !in->meets ? b->kind : KIND_SERIAL,
                  .nindex = index.n,
                  .index = index.at,
                  .nconstraints = constraint.n,
                  .constraint = constraint.at};
    return &tree_block(in->p->t, &like, child.at, child.n)->node;
}

// A scatter may reach every element that the enclosing block sees.
static const Node *init_all(Init *in, const Refine *outer) {
    StripeParser *p = in->p;
    Index index[STRIPE_MAX_RANK];
    const Affine *sub[STRIPE_MAX_RANK];
    for (int d = 0; d < outer->rank && !p->failed; d++) {
        Index like = {.name = name_of(p->names, "x"), .extent = outer->v.size[d]};
        index[d] = fresh_index(in, &like);
        sub[d] = affine_add(p->x, outer->v.offset[d], affine_iter(p->x, index[d].id));
    }
    if (p->failed) return NULL;
    const Node *leaf = identity(in, access_make(p->x, in->buffer, outer->rank, sub));
    if (outer->rank == 0) return leaf;
    Block like = {.node.ndeps = -1, .kind = KIND_ANY, .nindex = outer->rank, .index = index};
    return &tree_block(p->t, &like, &leaf, 1)->node;
}

void stripe_init(StripeParser *p, const Block *block, const Refine *level, NodeList *out) {
    Init in = {.p = p,
               .buffer = level->v.buffer,
               .range = level->range,
               .op = level->v.agg,
               .nids = p->t->nindices};
    in.proper = arena_new_n(p->arena, const Affine *, TREE_MAX_INDICES);
    in.to = arena_new_n(p->arena, const Affine *, TREE_MAX_INDICES);
    in.inside = arena_new_n(p->arena, bool, TREE_MAX_INDICES);
    in.used = arena_new_n(p->arena, bool, TREE_MAX_INDICES);
    study(&in, &block->node);
    const Node *node = in.scatters ? init_all(&in, level->parent) : init_nest(&in, &block->node);
    if (node) vec_push(p->arena, out, node);
}
