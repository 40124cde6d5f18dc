// Transformations of buffers; see transform.h. None of them changes the order of execution, so only
// one thing must be shown: every read finds the same value. edit.c asks the verifier; copies test
// whether their source changes.
#include "transform/edit.h"
#include "transform/transform_region.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

// Row-major strides for a buffer with these sizes.
static int new_buffer(EditWork *w, const Buffer *like, int rank, const int64_t *size) {
    Buffer b = *like;
    int64_t *stride = arena_new_n(w->arena, int64_t, rank), step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = step;
        if (!checked_mul(step, max_i64(size[d], 1), &step)) step = INT64_MAX / 2;
    }
    b.rank = rank;
    b.size = size;
    b.stride = stride;
    b.bank_dim = -1;
    return tree_buffer(w->t, &b);
}

// The change of the accesses of one buffer.
typedef struct Remap {
    int from, to;
    int rank;
    const Affine *lead[TREE_MAX_RANK]; // put in front
    int nlead;
    int take[TREE_MAX_RANK];            // dimension of the old access; -1: dropped
    const Affine *minus[TREE_MAX_RANK]; // subtracted; NULL: nothing
} Remap;

static const Access *remap_access(void *user, Exprs *x, const Access *a) {
    const Remap *m = user;
    if (a->tensor != m->from) return a;
    const Affine *sub[TREE_MAX_RANK];
    int n = 0;
    for (int i = 0; i < m->nlead; i++) sub[n++] = m->lead[i];
    for (int d = 0; d < m->rank; d++) {
        const Affine *old = a->sub[m->take[d]];
        sub[n++] = m->minus[d] ? affine_sub(x, old, m->minus[d]) : old;
    }
    return access_make(x, m->to, n, sub);
}

static Rename *remapping(EditWork *w, Remap *m) {
    Rename *r = rename_new(w, false);
    r->map = remap_access;
    r->user = m;
    return r;
}

static const Node *renamed_block(EditWork *w, Rename *r, const Block *b, const Block *like) {
    const Node **child = arena_new_n(w->arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    Block out = *like;
    out.nviews = 0; // they are derived again
    out.view = NULL;
    return &tree_block(w->t, &out, child, b->nchildren)->node;
}

static void replace_block(EditWork *w, const Block *b, const Node *made) {
    if (b == w->t->root)
        w->t->root = as_block(made);
    else
        work_replace(w, &b->node, &made, 1);
}

const Tree *tree_stage(const Tree *t, int buffer, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "stage", e);
    const Block *parent, *b = find_loop(t, loop, &parent, NULL);
    if (!b || region_home(b, buffer) != b)
        return refuse(&w, "the loop does not allocate that buffer");
    const Buffer *old = &t->buffers.at[buffer];
    if (old->rank + b->nindex > TREE_MAX_RANK) return refuse(&w, "it has too many dimensions");
    Remap m = {.from = buffer, .rank = old->rank};
    int64_t *size = arena_new_n(w.arena, int64_t, old->rank + b->nindex);
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed) continue;
        size[m.nlead] = b->index[i].extent;
        m.lead[m.nlead++] = affine_iter(w.x, b->index[i].id);
    }
    for (int d = 0; d < old->rank; d++) {
        size[m.nlead + d] = old->size[d];
        m.take[d] = d;
    }
    m.to = new_buffer(&w, old, old->rank + m.nlead, size);
    Block inner = region_block(&w, b, buffer, -1), outer = region_block(&w, parent, -1, m.to);
    const Node *made = renamed_block(&w, remapping(&w, &m), b, &inner);
    const Node **child =
        arena_copy(w.arena, parent->child, (size_t)parent->nchildren * sizeof *child);
    for (int i = 0; i < parent->nchildren; i++)
        if (child[i] == &b->node) child[i] = made;
    replace_block(&w, parent, &tree_block(w.t, &outer, child, parent->nchildren)->node);
    w.same_order = true;
    return work_finish(&w);
}

// Is subscript d of every access of the buffer just this index?
typedef struct Only {
    int buffer, dim, index;
    bool yes, any;
} Only;

static void see(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Only *o = user;
    if (a->tensor != o->buffer) return;
    o->any = true;
    o->yes &= affine_as_iter(a->sub[o->dim]) == o->index;
}

static void see_all(const Node *node, Only *o) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) {
        see(o, leaf->write, false);
        expr_visit_accesses(leaf->value, see, o);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], see, o);
    }
    for (int i = 0; b && i < b->nchildren; i++) see_all(b->child[i], o);
}

const Tree *tree_unstage(const Tree *t, int buffer, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "unstage", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (buffer < t->nargs || buffer >= t->buffers.n) return refuse(&w, "that is no allocation");
    const Block *home = region_home(t->root, buffer);
    if (!b || !home || home == b || !find_loop(&(Tree){.root = home}, loop, NULL, NULL))
        return refuse(&w, "the loop is not inside the block that allocates it");
    EditWork probe = w;
    const Node *empty = NULL;
    work_replace(&probe, &b->node, &empty, 0);
    if (subtree_uses(&probe.t->root->node, buffer))
        return refuse(&w, "it is used outside the loop");
    w.t->root = t->root;
    const Buffer *old = &t->buffers.at[buffer];
    Remap m = {.from = buffer};
    int64_t *size = arena_new_n(w.arena, int64_t, old->rank);
    for (int d = 0; d < old->rank; d++) {
        Only o = {buffer, d, -1, false, false};
        for (int i = 0; i < b->nindex && !o.yes; i++) {
            o = (Only){buffer, d, b->index[i].id, true, false};
            see_all(&b->node, &o);
        }
        if (o.yes && o.any) continue;
        size[m.rank] = old->size[d];
        m.take[m.rank++] = d;
    }
    m.to = new_buffer(&w, old, m.rank, size);
    Block inner = region_block(&w, b, -1, m.to), outer = region_block(&w, home, buffer, -1);
    work_replace(&w, &b->node, (const Node *[]){renamed_block(&w, remapping(&w, &m), b, &inner)},
                 1);
    const Block *now = region_home(w.t->root, buffer);
    replace_block(&w, now, &tree_block(w.t, &outer, now->child, now->nchildren)->node);
    w.same_order = true;
    return work_finish(&w);
}

const Tree *tree_swap_layout(const Tree *t, int buffer, int a, int b, const TreeEdit *e) {
    EditWork w = work_begin(t, "swap the layout", e);
    if (buffer < t->nargs || buffer >= t->buffers.n) return refuse(&w, "that is no allocation");
    const Buffer *old = &t->buffers.at[buffer];
    if (a < 0 || b < 0 || a >= old->rank || b >= old->rank || a == b)
        return refuse(&w, "there are no two such dimensions");
    const Block *home = region_home(t->root, buffer);
    if (!home) return refuse(&w, "nothing allocates it");
    Remap m = {.from = buffer, .rank = old->rank};
    int64_t *size = arena_new_n(w.arena, int64_t, old->rank);
    for (int d = 0; d < old->rank; d++) {
        m.take[d] = d == a ? b : d == b ? a : d;
        size[d] = old->size[m.take[d]];
    }
    m.to = new_buffer(&w, old, old->rank, size);
    Block like = region_block(&w, home, buffer, -1);
    like = region_block(&w, &like, -1, m.to);
    replace_block(&w, home, renamed_block(&w, remapping(&w, &m), home, &like));
    w.same_order = true;
    return work_finish(&w);
}

// --- Copies ------------------------------------------------------------------------------------

// The part of a subscript over indices that are not below block b, and bounds of the rest.
typedef struct Below {
    bool in[TREE_MAX_INDICES];
    int64_t lo[TREE_MAX_INDICES], hi[TREE_MAX_INDICES];
} Below;

static void mark_below(const Node *node, Below *m) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++) {
        int id = b->index[i].id;
        m->in[id] = true;
        m->hi[id] = max_i64(b->index[i].extent - 1, 0);
        if (b->index[i].passed) m->hi[id] = -1; // not known
    }
    for (int i = 0; b && i < b->nchildren; i++) mark_below(b->child[i], m);
}

typedef struct Region {
    EditWork *w;
    Below *below;
    int buffer, rank;
    const Affine *outer[TREE_MAX_RANK];
    int64_t min[TREE_MAX_RANK], max[TREE_MAX_RANK];
    bool any, ok;
} Region;

static void cover(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Region *g = user;
    if (a->tensor != g->buffer || !g->ok) return;
    for (int d = 0; d < a->rank && g->ok; d++) {
        const Affine *sub = a->sub[d], *outer = affine_const(g->w->x, 0);
        g->ok = sub->linear;
        for (int i = 0; i < sub->n && g->ok; i++) {
            int id = sub->term[i].atom->index;
            if (!g->below->in[id])
                outer =
                    affine_add(g->w->x, outer,
                               affine_scale(g->w->x, affine_iter(g->w->x, id), sub->term[i].coef));
            else if (g->below->hi[id] < 0)
                g->ok = false;
        }
        int64_t min, max;
        const Affine *inner = affine_sub(g->w->x, sub, outer);
        if (!g->ok || !affine_bounds(inner, g->below->lo, g->below->hi, &min, &max)) {
            g->ok = false;
            return;
        }
        if (!g->any) {
            g->outer[d] = outer;
            g->min[d] = min;
            g->max[d] = max;
        }
        g->ok = g->outer[d] == outer;
        g->min[d] = min_i64(g->min[d], min);
        g->max[d] = max_i64(g->max[d], max);
    }
    g->any = true;
}

static void cover_all(const Node *node, Region *g) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) {
        expr_visit_accesses(leaf->value, cover, g);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], cover, g);
    }
    for (int i = 0; b && i < b->nchildren; i++) cover_all(b->child[i], g);
}

static bool writes_to(const Node *node, int buffer) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) return leaf->write->tensor == buffer;
    for (int i = 0; b && i < b->nchildren; i++)
        if (writes_to(b->child[i], buffer)) return true;
    return false;
}

// for d0: for d1: T[d0, d1] = A[base + d], guarded where it may leave A.
static const Node *copy_nest(EditWork *w, const Region *g, int to, const int64_t *size) {
    const Buffer *from = &w->old->buffers.at[g->buffer];
    const Affine *sub[TREE_MAX_RANK], *source[TREE_MAX_RANK];
    const Affine *inside[2 * TREE_MAX_RANK];
    Index index[TREE_MAX_RANK];
    int n = 0;
    for (int d = 0; d < g->rank; d++) {
        index[d] = tree_index(w->t, name_of(w->t->names, "d"), size[d]);
        sub[d] = affine_iter(w->x, index[d].id);
        source[d] = affine_add(w->x, affine_add_const(w->x, g->outer[d], g->min[d]), sub[d]);
        if (affine_is_const(g->outer[d]) && g->min[d] >= 0 && g->max[d] < from->size[d]) continue;
        inside[n++] = source[d];
        inside[n++] = affine_add_const(w->x, affine_scale(w->x, source[d], -1), from->size[d] - 1);
    }
    Leaf leaf = {.node.ndeps = -1,
                 .op = REDUCE_ASSIGN,
                 .write = access_make(w->x, to, g->rank, sub),
                 .value =
                     expr_read(w->x, from->type, access_make(w->x, g->buffer, g->rank, source)),
                 .stmt = -1};
    const Node *node = &tree_leaf(w->t, &leaf)->node;
    if (n) node = &tree_guard(w->t, inside, n, node)->node;
    for (int d = g->rank - 1; d >= 0; d--)
        node = &tree_loop(w->t, KIND_SERIAL, index[d], &node, 1)->node;
    return node;
}

const Tree *tree_copy_input(const Tree *t, int buffer, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "copy", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b || buffer < 0 || buffer >= t->buffers.n) return refuse(&w, "there is no such loop");
    for (int i = 0; i < b->nchildren; i++)
        if (writes_to(b->child[i], buffer)) return refuse(&w, "the loop writes it");
    if (region_home(b, buffer)) return refuse(&w, "it is allocated inside");
    Region g = {.w = &w, .buffer = buffer, .rank = t->buffers.at[buffer].rank, .ok = true};
    g.below = arena_new(w.arena, Below);
    for (int i = 0; i < b->nchildren; i++) mark_below(b->child[i], g.below);
    for (int i = 0; i < b->nchildren; i++) cover_all(b->child[i], &g);
    if (!g.any || !g.ok) return refuse(&w, "the part that it reads is no box");
    if (w.t->nindices + g.rank > TREE_MAX_INDICES) return refuse(&w, "there are too many loops");
    int64_t *size = arena_new_n(w.arena, int64_t, g.rank);
    Remap m = {.from = buffer, .rank = g.rank};
    for (int d = 0; d < g.rank; d++) {
        size[d] = g.max[d] - g.min[d] + 1;
        m.take[d] = d;
        m.minus[d] = affine_add_const(w.x, g.outer[d], g.min[d]);
    }
    Buffer like = t->buffers.at[buffer];
    like.name = name_of(t->names, arena_printf(w.arena, "%s.copy", like.name));
    like.home = HOME_AUTO;
    like.tensor = -1;
    like.place = (Place){0};
    m.to = new_buffer(&w, &like, g.rank, size);
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren + 1);
    child[0] = copy_nest(&w, &g, m.to, size);
    rename_nodes(remapping(&w, &m), b->child, b->nchildren, child + 1);
    Block out = region_block(&w, b, -1, m.to);
    const Node *made = &tree_block(w.t, &out, child, b->nchildren + 1)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// How many leaves write the buffer; *one becomes the last of them.
static int writers(const Node *node, int buffer, const Leaf **one) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    int n = leaf && leaf->write->tensor == buffer;
    if (n) *one = leaf;
    for (int i = 0; b && i < b->nchildren; i++) n += writers(b->child[i], buffer, one);
    return n;
}

// The only leaf that writes a buffer, with the child of `b` that leads to it; NULL: there are more.
static const Leaf *only_writer(const Block *b, int buffer, const Node **top) {
    const Leaf *found = NULL;
    int n = 0;
    for (int i = 0; i < b->nchildren; i++) {
        int here = writers(b->child[i], buffer, &found);
        if (here) *top = b->child[i];
        n += here;
    }
    return n == 1 ? found : NULL;
}

// T[x] = A[f(x)] with plain distinct indices x: reads of T[g] become reads of A[f(g)].
typedef struct Undo {
    int from;
    int index[TREE_MAX_RANK]; // of the copy's loops, per dimension of T
    const Access *source;
    Exprs *x;
} Undo;

static const Access *undo_access(void *user, Exprs *x, const Access *a) {
    const Undo *u = user;
    const Affine *iter[TREE_MAX_INDICES] = {0}, *sub[TREE_MAX_RANK];
    if (a->tensor != u->from) return a;
    for (int d = 0; d < a->rank; d++)
        if (u->index[d] >= 0) iter[u->index[d]] = a->sub[d];
    for (int d = 0; d < u->source->rank; d++)
        sub[d] = affine_substitute(x, u->source->sub[d], iter, NULL);
    return access_make(x, u->source->tensor, u->source->rank, sub);
}

static bool leaves_only(const Node *node, const Leaf *leaf) {
    const Block *b = as_block(node);
    if (!b) return node == &leaf->node;
    return b->nchildren == 1 && leaves_only(b->child[0], leaf);
}

const Tree *tree_drop_copy(const Tree *t, int buffer, const TreeEdit *e) {
    EditWork w = work_begin(t, "drop the copy", e);
    if (buffer < t->nargs || buffer >= t->buffers.n) return refuse(&w, "that is no allocation");
    const Block *home = region_home(t->root, buffer);
    const Node *top = NULL;
    const Leaf *copy = home ? only_writer(home, buffer, &top) : NULL;
    if (!copy || copy->op != REDUCE_ASSIGN || copy->value->kind != EXPR_READ ||
        copy->value->access->has_read || copy->value->access->tensor == buffer)
        return refuse(&w, "it is not filled by one copy");
    if (!leaves_only(top, copy)) return refuse(&w, "something stands beside the copy");
    if (copy->value->type != t->buffers.at[buffer].type) return refuse(&w, "the types differ");
    Undo u = {.from = buffer, .source = copy->value->access, .x = w.x};
    for (int d = 0; d < copy->write->rank; d++) {
        u.index[d] = affine_as_iter(copy->write->sub[d]);
        for (int k = 0; k < d; k++)
            if (u.index[k] == u.index[d]) u.index[d] = -1;
        if (u.index[d] < 0 && !affine_is(copy->write->sub[d], 0))
            return refuse(&w, "its subscripts are not plain");
    }
    for (int i = 0; i < home->nchildren; i++)
        if (home->child[i] != top && writes_to(home->child[i], u.source->tensor))
            return refuse(&w, "what was copied is written again");
    Rename *r = rename_new(&w, false);
    r->map = undo_access;
    r->user = &u;
    const Node **child = arena_new_n(w.arena, const Node *, home->nchildren);
    int n = 0;
    for (int i = 0; i < home->nchildren; i++)
        if (home->child[i] != top) child[n++] = rename_node(r, home->child[i]);
    Block like = region_block(&w, home, buffer, -1);
    replace_block(&w, home, &tree_block(w.t, &like, child, n)->node);
    w.same_order = true;
    return work_finish(&w);
}
