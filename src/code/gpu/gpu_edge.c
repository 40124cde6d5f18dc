// Loop peeling without copies: code that only the first iteration runs, ahead of everything else,
// moves in front of the loop, and code that only the last iteration runs at its end moves behind
// it:
//
//     for k in 8                            C[..] = 0
//       if -k >= 0                          for k in 8
//         C[..] = 0                 ─▶        C[..] += ...
//       C[..] += ...                        C[..] = max(C[..], 0)
//       if k - 7 >= 0
//         C[..] = max(C[..], 0)
//
// The loop then has no such conditions, and reductions over its threads end with the loop.
#include "code/gpu/gpu_impl.h"

typedef struct EdgeWork {
    Arena *arena;
    Tree *t;
} EdgeWork;
typedef VEC(const Node *) Nodes;
typedef enum LoopEdge { EDGE_NONE, EDGE_FIRST, EDGE_LAST } LoopEdge;

typedef struct Meets {
    const Access *a;
    bool found;
} Meets;

static void see_same(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Meets *m = user;
    m->found |= a->tensor == m->a->tensor;
}

// Does `writer` write a buffer that `other` accesses?
static bool writes_into(Arena *arena, const Node *writer, const Node *other) {
    Leaves w = {0}, o = {0};
    nest_leaves(arena, writer, &w);
    nest_leaves(arena, other, &o);
    for (int i = 0; i < w.n; i++)
        for (int k = 0; k < o.n; k++) {
            Meets m = {w.at[i]->write, false};
            leaf_accesses(o.at[k], see_same, &m);
            if (m.found) return true;
        }
    return false;
}

typedef struct Mention {
    const Block *loop;
    bool found;
} Mention;

static void see_mention(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Mention *m = user;
    m->found |= access_uses_iter(a, m->loop->index[0].id);
    for (int i = 0; i < m->loop->nallocs; i++) m->found |= m->loop->alloc[i] == a->tensor;
}

static bool expr_mentions(const Expr *e, int id) {
    if (e->kind == EXPR_INDEX) return affine_uses_iter(e->index, id);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (expr_mentions(e->arg[i], id)) return true;
    return false;
}

// Do the constraints or passed indices of the block use the loop's index?
static bool mentions_here(const Block *b, const Block *loop) {
    int id = loop->index[0].id;
    for (int i = 0; i < b->nconstraints; i++)
        if (affine_uses_iter(b->constraint[i], id)) return true;
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].passed && affine_uses_iter(b->index[i].passed, id)) return true;
    return false;
}

// Does anything in the node use the loop's index, or a buffer that the loop allocates?
static bool mentions(const Node *n, const Block *loop) {
    const Block *b = as_block(n);
    if (!b) {
        Mention m = {loop, expr_mentions(((const Leaf *)n)->value, loop->index[0].id)};
        leaf_accesses((const Leaf *)n, see_mention, &m);
        return m.found;
    }
    if (mentions_here(b, loop)) return true;
    for (int i = 0; i < b->nchildren; i++)
        if (mentions(b->child[i], loop)) return true;
    return false;
}

// Recognises -k >= 0 (first iteration) and k - (extent - 1) >= 0 (last iteration).
static LoopEdge edge_of(const Affine *a, const Index *x) {
    if (a->n != 1 || a->term[0].atom->kind != ATOM_ITER || a->term[0].atom->index != x->id)
        return EDGE_NONE;
    if (a->term[0].coef == -1 && a->constant == 0) return EDGE_FIRST;
    return a->term[0].coef == 1 && a->constant == 1 - x->extent ? EDGE_LAST : EDGE_NONE;
}

// Is the block a guard with this single condition, whose body is independent of the loop?
static bool is_edge(const Block *b, const Block *loop, LoopEdge edge) {
    if (b->nindex || b->nallocs || b->nconstraints != 1) return false;
    if (edge_of(b->constraint[0], &loop->index[0]) != edge) return false;
    for (int i = 0; i < b->nchildren; i++)
        if (mentions(b->child[i], loop)) return false;
    return true;
}

static bool conflicts_with(EdgeWork *e, const Nodes *all, const Node *n) {
    for (int i = 0; i < all->n; i++)
        if (writes_into(e->arena, all->at[i], n) || writes_into(e->arena, n, all->at[i]))
            return true;
    return false;
}

static void take_children(EdgeWork *e, const Block *b, const Block *loop, LoopEdge edge,
                          Nodes *taken, Nodes *rest);

// Divides a node into the part that moves out of the loop and the rest. Threads have no order, so a
// loop over threads can become two loops.
static void take(EdgeWork *e, const Node *n, const Block *loop, LoopEdge edge, Nodes *taken,
                 Nodes *rest) {
    const Block *b = as_block(n);
    Nodes t = {0}, r = {0};
    if (b && is_edge(b, loop, edge)) {
        for (int i = 0; i < b->nchildren; i++) vec_push(e->arena, taken, b->child[i]);
        return;
    }
    if (b && b->nindex == 1 && divides(b->kind) && !b->nallocs && !mentions_here(b, loop))
        take_children(e, b, loop, edge, &t, &r);
    if (!t.n) {
        vec_push(e->arena, rest, n);
        return;
    }
    vec_push(e->arena, taken, &tree_block(e->t, b, t.at, t.n)->node);
    if (r.n) vec_push(e->arena, rest, &tree_block(e->t, b, r.at, r.n)->node);
}

// Visits the children starting from the edge. A part moves out only if it conflicts with none of
// the parts that stay and that it passes on its way.
static void take_children(EdgeWork *e, const Block *b, const Block *loop, LoopEdge edge,
                          Nodes *taken, Nodes *rest) {
    Nodes passed = {0}, out = {0}, stay = {0};
    bool last = edge == EDGE_LAST;
    for (int i = 0; i < b->nchildren; i++) {
        const Node *c = b->child[last ? b->nchildren - 1 - i : i];
        Nodes t = {0}, r = {0};
        take(e, c, loop, edge, &t, &r);
        for (int k = 0; k < t.n; k++)
            if (conflicts_with(e, &passed, t.at[k])) t.n = 0;
        if (!t.n) r.n = 0, vec_push(e->arena, &r, c);
        for (int k = 0; k < r.n; k++) vec_push(e->arena, &passed, r.at[k]);
        for (int k = 0; k < t.n; k++) vec_push(e->arena, &out, t.at[last ? t.n - 1 - k : k]);
        for (int k = 0; k < r.n; k++) vec_push(e->arena, &stay, r.at[last ? r.n - 1 - k : k]);
    }
    for (int i = 0; i < out.n; i++) vec_push(e->arena, taken, out.at[last ? out.n - 1 - i : i]);
    for (int i = 0; i < stay.n; i++) vec_push(e->arena, rest, stay.at[last ? stay.n - 1 - i : i]);
}

static bool runs_in_order(const Block *b) {
    return b->nindex == 1 && !b->index[0].passed && b->index[0].extent > 0 && !b->nconstraints &&
           !is_grid(b->kind) && !divides(b->kind);
}

// Appends the loop, with the parts that move before and after it.
static void add_loop(EdgeWork *e, Nodes *out, const Block *loop) {
    Nodes before = {0}, later = {0}, inside = {0}, after = {0};
    if (runs_in_order(loop)) {
        take_children(e, loop, loop, EDGE_FIRST, &before, &later);
        Block rest = *loop;
        rest.child = later.at;
        rest.nchildren = later.n;
        take_children(e, &rest, loop, EDGE_LAST, &after, &inside);
    }
    if (!inside.n || !(before.n + after.n)) {
        vec_push(e->arena, out, &loop->node);
        return;
    }
    for (int i = 0; i < before.n; i++) vec_push(e->arena, out, before.at[i]);
    vec_push(e->arena, out, &tree_block(e->t, loop, inside.at, inside.n)->node);
    for (int i = 0; i < after.n; i++) vec_push(e->arena, out, after.at[i]);
}

static const Node *rewrite(EdgeWork *e, const Node *n) {
    const Block *b = as_block(n);
    Nodes out = {0};
    if (!b) return n;
    for (int i = 0; i < b->nchildren; i++) {
        const Node *c = rewrite(e, b->child[i]);
        // The children of a block without indices may be whole kernels; these are not divided.
        if (as_block(c) && b->nindex)
            add_loop(e, &out, as_block(c));
        else
            vec_push(e->arena, &out, c);
    }
    return &tree_block(e->t, b, out.at, out.n)->node;
}

void gpu_edges(Arena *arena, Tree *t) {
    EdgeWork e = {arena, t};
    t->root = as_block(rewrite(&e, &t->root->node));
}
