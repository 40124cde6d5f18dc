// Transformations of loops; transform.h says what each does and when it is legal. This file only
// rewrites; edit.c decides legality.
#include "transform/edit.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

static bool spreads(Kind k) { return k != KIND_VECTOR && k != KIND_UNROLL; }

static bool room_for(const EditWork *w, int more) {
    return w->t->nindices + more <= TREE_MAX_INDICES;
}

static const Affine *iter(const EditWork *w, Index i) { return affine_iter(w->x, i.id); }

// --- Split and merge ---------------------------------------------------------------------------

const Tree *tree_split(const Tree *t, int loop, int64_t inner, bool interleaved,
                       const TreeEdit *e) {
    EditWork w = work_begin(t, "split", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b) return refuse(&w, "there is no such loop");
    int at = 0;
    while (b->index[at].id != loop) at++;
    int64_t extent = b->index[at].extent;
    if (b->index[at].passed) return refuse(&w, "its index is passed in");
    if (inner < 1 || inner > max_i64(extent, 1)) return refuse(&w, "the inner extent does not fit");
    if (!room_for(&w, 2)) return refuse(&w, "there are too many loops");
    int64_t parts = ceil_div(extent, inner);
    Index *index = arena_copy(w.arena, b->index, (size_t)b->nindex * sizeof *index);
    Index o = tree_index(w.t, b->index[at].name, parts), i = tree_index(w.t, o.name, inner);
    index[at] = o;
    Rename *r = rename_new(&w, false);
    r->iter[loop] = interleaved
                        ? affine_add(w.x, iter(&w, o), affine_scale(w.x, iter(&w, i), parts))
                        : affine_add(w.x, affine_scale(w.x, iter(&w, o), inner), iter(&w, i));
    const Affine *tail = affine_add_const(w.x, affine_scale(w.x, r->iter[loop], -1), extent - 1);
    Block in = rename_block(r, b);
    const Affine **constraint = arena_new_n(w.arena, const Affine *, b->nconstraints + 1);
    for (int c = 0; c < b->nconstraints; c++) constraint[c] = in.constraint[c];
    if (parts * inner != extent) constraint[in.nconstraints++] = tail;
    in.constraint = constraint;
    in.nindex = 1;
    in.index = &i;
    if (spreads(b->kind)) in.kind = KIND_SERIAL;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    const Node *body = &tree_block(w.t, &in, child, b->nchildren)->node;
    Block out = {.node = b->node, .name = b->name, .nindex = b->nindex, .index = index};
    out.kind = spreads(b->kind) ? b->kind : KIND_SERIAL;
    out.grain = b->grain;
    const Node *made = &tree_block(w.t, &out, &body, 1)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = !interleaved && at == b->nindex - 1;
    return work_finish(&w);
}

static bool contains(const Block *b, const Block *inner) {
    bool found = b == inner;
    for (int i = 0; i < b->nchildren && !found; i++)
        found = as_block(b->child[i]) && contains(as_block(b->child[i]), inner);
    return found;
}

// The extent of a loop, and the first value of factor·by, if they are small.
static bool skewed_extent(int64_t extent, int64_t by, int64_t factor, int64_t *wide,
                          int64_t *first) {
    int64_t most;
    if (!checked_mul(factor, max_i64(by - 1, 0), &most)) return false;
    *first = min_i64(most, 0);
    return checked_add(extent, most < 0 ? -most : most, wide) && *wide <= INT32_MAX;
}

const Tree *tree_skew(const Tree *t, int loop, int by, int64_t factor, const TreeEdit *e) {
    EditWork w = work_begin(t, "skew", e);
    const Block *b = find_loop(t, loop, NULL, NULL), *outer = find_loop(t, by, NULL, NULL);
    if (!b || !outer) return refuse(&w, "there is no such loop");
    if (b == outer || !contains(outer, b)) return refuse(&w, "the other loop is not around it");
    int at = 0, of = 0;
    while (b->index[at].id != loop) at++;
    while (outer->index[of].id != by) of++;
    if (b->index[at].passed || outer->index[of].passed) return refuse(&w, "its index is passed in");
    int64_t extent = b->index[at].extent, wide, first;
    if (extent < 1 || !skewed_extent(extent, outer->index[of].extent, factor, &wide, &first))
        return refuse(&w, "the loop would be too long");
    if (!room_for(&w, 1)) return refuse(&w, "there are too many loops");
    Index *index = arena_copy(w.arena, b->index, (size_t)b->nindex * sizeof *index);
    index[at] = tree_index(w.t, b->index[at].name, wide);
    Rename *r = rename_new(&w, false);
    const Affine *ahead = affine_scale(w.x, affine_iter(w.x, by), factor);
    const Affine *value = affine_sub(w.x, iter(&w, index[at]), ahead);
    r->iter[loop] = value = affine_add_const(w.x, value, first);
    Block out = rename_block(r, b);
    const Affine **constraint = arena_new_n(w.arena, const Affine *, b->nconstraints + 2);
    for (int c = 0; c < b->nconstraints; c++) constraint[c] = out.constraint[c];
    constraint[out.nconstraints++] = value;
    constraint[out.nconstraints++] =
        affine_add_const(w.x, affine_scale(w.x, value, -1), extent - 1);
    out.constraint = constraint;
    out.index = index;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    const Node *made = &tree_block(w.t, &out, child, b->nchildren)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// The loop directly inside, without siblings.
static const Block *only_child(const Block *b) {
    const Block *c = b->nchildren == 1 ? as_block(b->child[0]) : NULL;
    return is_single(c) ? c : NULL;
}

const Tree *tree_merge(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "merge", e);
    const Block *b = find_loop(t, loop, NULL, NULL), *c = b ? only_child(b) : NULL;
    if (!is_single(b) || !c) return refuse(&w, "no loop stands alone inside it");
    if (b->nallocs) return refuse(&w, "the outer loop allocates");
    int64_t inner = c->index[0].extent, extent;
    if (!checked_mul(b->index[0].extent, inner, &extent)) return refuse(&w, "the range overflows");
    if (!room_for(&w, 1)) return refuse(&w, "there are too many loops");
    Index i = tree_index(w.t, b->index[0].name, extent);
    Rename *r = rename_new(&w, false); // o = i/N, and the inner one i - N*o: N*o + inner gives i
    const Affine *o =
        inner > 1 ? affine_div(w.x, iter(&w, i), affine_const(w.x, inner)) : iter(&w, i);
    r->iter[loop] = o;
    r->iter[c->index[0].id] = affine_sub(w.x, iter(&w, i), affine_scale(w.x, o, max_i64(inner, 1)));
    Block out = rename_block(r, c);
    Block outer = rename_block(r, b);
    const Affine **constraint =
        arena_new_n(w.arena, const Affine *, b->nconstraints + c->nconstraints);
    for (int k = 0; k < b->nconstraints; k++) constraint[k] = outer.constraint[k];
    for (int k = 0; k < c->nconstraints; k++) constraint[b->nconstraints + k] = out.constraint[k];
    out.constraint = constraint;
    out.nconstraints = b->nconstraints + c->nconstraints;
    out.index = &i;
    out.kind = b->kind == c->kind ? b->kind : KIND_SERIAL;
    const Node **child = arena_new_n(w.arena, const Node *, c->nchildren);
    rename_nodes(r, c->child, c->nchildren, child);
    const Node *made = &tree_block(w.t, &out, child, c->nchildren)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// --- Order of loops and of statements ----------------------------------------------------------

const Tree *tree_interchange(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "interchange", e);
    const Block *b = find_loop(t, loop, NULL, NULL), *c = b ? only_child(b) : NULL;
    if (!is_single(b) || !c) return refuse(&w, "no loop stands alone inside it");
    if (b->nallocs) return refuse(&w, "the outer loop allocates");
    const Affine **in = arena_new_n(w.arena, const Affine *, b->nconstraints + c->nconstraints);
    const Affine **out = arena_new_n(w.arena, const Affine *, c->nconstraints);
    Block inner = *b, outer = *c;
    inner.nconstraints = outer.nconstraints = 0;
    for (int i = 0; i < b->nconstraints; i++) in[inner.nconstraints++] = b->constraint[i];
    for (int i = 0; i < c->nconstraints; i++) {
        if (block_uses(b, c->constraint[i]))
            in[inner.nconstraints++] = c->constraint[i];
        else
            out[outer.nconstraints++] = c->constraint[i];
    }
    inner.constraint = in;
    inner.nallocs = c->nallocs;
    inner.alloc = c->alloc;
    inner.nviews = c->nviews; // they use both indices, so they stay innermost
    inner.view = c->view;
    outer.constraint = out;
    outer.nallocs = outer.nviews = 0;
    const Node *body = &tree_block(w.t, &inner, c->child, c->nchildren)->node;
    const Node *made = &tree_block(w.t, &outer, &body, 1)->node;
    work_replace(&w, &b->node, &made, 1);
    return work_finish(&w);
}

// The parent of a node and its position.
typedef struct NodeSpot {
    const Node *node;
    const Block *parent;
    int at;
} NodeSpot;

static bool find_leaf(const Block *b, int *n, NodeSpot *out) {
    for (int i = 0; i < b->nchildren; i++) {
        if (as_leaf(b->child[i]) && (*n)-- == 0) {
            *out = (NodeSpot){b->child[i], b, i};
            return true;
        }
        const Block *c = as_block(b->child[i]);
        if (c && find_leaf(c, n, out)) return true;
    }
    return false;
}

static bool spot_of(const Tree *t, TreeRef ref, NodeSpot *out) {
    if (ref.loop < 0) return find_leaf(t->root, &ref.leaf, out);
    const Block *b = find_loop(t, ref.loop, &out->parent, &out->at);
    out->node = b ? &b->node : NULL;
    return b;
}

static void with_children(EditWork *w, const Block *b, const Node *const *child, int n) {
    const Node *made = &tree_block(w->t, b, child, n)->node;
    if (b == w->old->root)
        w->t->root = as_block(made);
    else
        work_replace(w, &b->node, &made, 1);
}

const Tree *tree_move(const Tree *t, TreeRef node, int by, const TreeEdit *e) {
    EditWork w = work_begin(t, "move", e);
    NodeSpot s;
    if (!spot_of(t, node, &s)) return refuse(&w, "there is no such node");
    int other = s.at + by;
    if ((by != 1 && by != -1) || other < 0 || other >= s.parent->nchildren)
        return refuse(&w, "there is nothing beside it");
    const Node **child =
        arena_copy(w.arena, s.parent->child, (size_t)s.parent->nchildren * sizeof *child);
    child[s.at] = s.parent->child[other];
    child[other] = s.node;
    with_children(&w, s.parent, child, s.parent->nchildren);
    return work_finish(&w);
}

const Tree *tree_sink(const Tree *t, int leaf, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "sink", e);
    const Block *parent;
    int at;
    const Block *b = find_loop(t, loop, &parent, &at);
    NodeSpot s;
    if (!is_single(b)) return refuse(&w, why_not_single(b));
    if (!spot_of(t, (TreeRef){-1, leaf}, &s)) return refuse(&w, "there is no such node");
    bool front = s.at == at - 1;
    if (s.parent != parent || (!front && s.at != at + 1))
        return refuse(&w, "the leaf does not stand beside the loop");
    if (b->index[0].extent < 1 || b->nconstraints)
        return refuse(&w, "the loop may have no iterations");
    const Affine *i = iter(&w, b->index[0]);
    const Affine *guard =
        front ? affine_scale(w.x, i, -1) : affine_add_const(w.x, i, 1 - b->index[0].extent);
    const Node *inside = &tree_guard(w.t, &guard, 1, s.node)->node;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren + 1);
    memcpy(child + front, b->child, (size_t)b->nchildren * sizeof *child);
    child[front ? 0 : b->nchildren] = inside;
    const Node *made = &tree_block(w.t, b, child, b->nchildren + 1)->node;
    const Node **rest = arena_new_n(w.arena, const Node *, parent->nchildren);
    int n = 0;
    for (int k = 0; k < parent->nchildren; k++)
        if (k != s.at) rest[n++] = k == at ? made : parent->child[k];
    with_children(&w, parent, rest, n);
    return work_finish(&w);
}

// --- Fusion and distribution -------------------------------------------------------------------

static const Node *guarded(EditWork *w, const Block *b, const Node *const *child, int n) {
    Block like = {.node.ndeps = -1, .nconstraints = b->nconstraints, .constraint = b->constraint};
    return &tree_block(w->t, &like, child, n)->node;
}

static bool same_constraints(const Block *a, const Block *b) {
    if (a->nconstraints != b->nconstraints) return false;
    for (int i = 0; i < a->nconstraints; i++)
        if (a->constraint[i] != b->constraint[i]) return false;
    return true;
}

const Tree *tree_fuse(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "fuse", e);
    const Block *parent;
    int at;
    const Block *a = find_loop(t, loop, &parent, &at);
    const Block *b = a && at + 1 < parent->nchildren ? as_block(parent->child[at + 1]) : NULL;
    if (!is_single(a) || !is_single(b)) return refuse(&w, "no loop follows it");
    if (a->index[0].extent != b->index[0].extent) return refuse(&w, "the extents differ");
    if (a->kind != b->kind) return refuse(&w, "the kinds differ");
    Rename *r = rename_new(&w, false);
    r->iter[b->index[0].id] = iter(&w, a->index[0]);
    Block second = rename_block(r, b), out = *a;
    const Node **child = arena_new_n(w.arena, const Node *, a->nchildren + b->nchildren);
    int *alloc = arena_new_n(w.arena, int, a->nallocs + b->nallocs), n = a->nchildren;
    memcpy(child, a->child, (size_t)n * sizeof *child);
    rename_nodes(r, b->child, b->nchildren, child + n);
    for (int i = 0; i < a->nallocs; i++) alloc[i] = a->alloc[i];
    for (int i = 0; i < b->nallocs; i++) alloc[a->nallocs + i] = b->alloc[i];
    out.alloc = alloc;
    out.nallocs += b->nallocs;
    out.nviews = 0;
    out.view = NULL;
    n += b->nchildren;
    if (!same_constraints(a, &second)) {
        const Node *half[] = {guarded(&w, a, child, a->nchildren),
                              guarded(&w, &second, child + a->nchildren, b->nchildren)};
        child[0] = half[0];
        child[1] = half[1];
        n = 2;
        out.nconstraints = 0;
    }
    const Node **rest = arena_new_n(w.arena, const Node *, parent->nchildren);
    int k = 0;
    for (int i = 0; i < parent->nchildren; i++)
        if (i != at + 1)
            rest[k++] = i == at ? &tree_block(w.t, &out, child, n)->node : parent->child[i];
    with_children(&w, parent, rest, k);
    return work_finish(&w);
}

const Tree *tree_distribute(const Tree *t, int loop, int at, const TreeEdit *e) {
    EditWork w = work_begin(t, "distribute", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!is_single(b)) return refuse(&w, why_not_single(b));
    if (at < 1 || at >= b->nchildren) return refuse(&w, "one half would be empty");
    if (!room_for(&w, 1)) return refuse(&w, "there are too many loops");
    Block half[2] = {*b, *b};
    int *alloc[2];
    for (int h = 0; h < 2; h++) {
        alloc[h] = arena_new_n(w.arena, int, b->nallocs);
        half[h].nallocs = 0;
        half[h].alloc = alloc[h];
        half[h].nviews = 0;
        half[h].view = NULL;
    }
    for (int i = 0; i < b->nallocs; i++) {
        bool used[2] = {false, false};
        for (int c = 0; c < b->nchildren; c++)
            used[c >= at] |= subtree_uses(b->child[c], b->alloc[i]);
        if (used[0] && used[1]) return refuse(&w, "both halves use what an iteration allocates");
        alloc[used[1]][half[used[1]].nallocs++] = b->alloc[i];
    }
    Index second = tree_index(w.t, b->index[0].name, b->index[0].extent);
    Rename *r = rename_new(&w, false);
    r->iter[loop] = iter(&w, second);
    Block moved = rename_block(r, &half[1]);
    moved.index = &second;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    rename_nodes(r, b->child + at, b->nchildren - at, child);
    const Node *made[] = {&tree_block(w.t, &half[0], b->child, at)->node,
                          &tree_block(w.t, &moved, child, b->nchildren - at)->node};
    work_replace(&w, &b->node, made, 2);
    return work_finish(&w);
}

// --- Unrolling and peeling ---------------------------------------------------------------------

// One iteration as separate nodes; false when its constraints exclude it.
static bool unrolled(EditWork *w, const Block *b, int64_t value, const Node **out) {
    Rename *r = rename_new(w, value > 0);
    r->iter[b->index[0].id] = affine_const(w->x, value);
    Block body = rename_block(r, b);
    const Affine **constraint = arena_new_n(w->arena, const Affine *, b->nconstraints);
    int n = 0;
    for (int c = 0; c < b->nconstraints; c++) {
        if (!affine_is_const(body.constraint[c]))
            constraint[n++] = body.constraint[c];
        else if (body.constraint[c]->constant < 0)
            return false;
    }
    Block like = {.node.ndeps = -1, .constraint = constraint, .nconstraints = n};
    like.nallocs = b->nallocs;
    Block plain = *b; // carries the allocations
    plain.nindex = 0;
    plain.nconstraints = 0;
    plain.nviews = 0;
    const Node *copy = rename_node(r, &tree_block(w->t, &plain, b->child, b->nchildren)->node);
    const Block *c = as_block(copy);
    like.alloc = c->alloc;
    *out = &tree_block(w->t, &like, c->child, c->nchildren)->node;
    return true;
}

const Tree *tree_unroll(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "unroll", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!is_single(b)) return refuse(&w, why_not_single(b));
    int64_t extent = b->index[0].extent;
    if (extent > TREE_MAX_UNROLL) return refuse(&w, "it has too many iterations");
    if (!room_for(&w, (int)extent * count_indices(&b->node)))
        return refuse(&w, "there are too many loops");
    const Node **made = arena_new_n(w.arena, const Node *, (int)extent *(b->nchildren + 1));
    int n = 0;
    for (int64_t i = 0; i < extent; i++) {
        const Node *copy;
        if (!unrolled(&w, b, i, &copy)) continue;
        const Block *c = as_block(copy);
        if (c->nconstraints || c->nallocs)
            made[n++] = copy;
        else
            for (int k = 0; k < c->nchildren; k++) made[n++] = c->child[k];
    }
    work_replace(&w, &b->node, made, n);
    w.same_order = !kind_is_unordered(b->kind);
    return work_finish(&w);
}

const Tree *tree_unroll_and_jam(const Tree *t, int loop, int64_t factor, const TreeEdit *e) {
    int inner = t->nindices + 1;
    const Tree *now = tree_split(t, loop, factor, false, e);
    const Block *b = now ? find_loop(now, inner, NULL, NULL) : NULL;
    while (b && b->nchildren == 1 && only_child(b)) {
        now = tree_interchange(now, inner, e);
        b = now ? find_loop(now, inner, NULL, NULL) : NULL;
    }
    return b ? tree_unroll(now, inner, e) : NULL;
}

const Tree *tree_peel(const Tree *t, int loop, int64_t n, const TreeEdit *e) {
    EditWork w = work_begin(t, "peel", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!is_single(b)) return refuse(&w, why_not_single(b));
    if (n < 1 || n >= b->index[0].extent) return refuse(&w, "one part would be empty");
    if (!room_for(&w, 1 + count_indices(&b->node))) return refuse(&w, "there are too many loops");
    Index first = b->index[0], own = tree_index(w.t, first.name, first.extent - n);
    Rename *second = rename_new(&w, true);
    second->iter[loop] = affine_add_const(w.x, iter(&w, own), n);
    Block plain = *b;
    plain.nindex = 0;
    plain.nconstraints = 0;
    plain.nviews = 0;
    const Block *body =
        as_block(rename_node(second, &tree_block(w.t, &plain, b->child, b->nchildren)->node));
    Block tail = rename_block(second, b);
    tail.index = &own;
    tail.nindex = 1;
    tail.alloc = body->alloc;
    tail.nviews = 0;
    tail.view = NULL;
    Block head = *b;
    first.extent = n;
    head.index = &first;
    const Node *made[] = {&tree_block(w.t, &head, b->child, b->nchildren)->node,
                          &tree_block(w.t, &tail, body->child, body->nchildren)->node};
    work_replace(&w, &b->node, made, 2);
    w.same_order = !kind_is_unordered(b->kind);
    return work_finish(&w);
}

// --- Kinds -------------------------------------------------------------------------------------

static bool loops_inside(const Block *b) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        for (int k = 0; c && k < c->nindex; k++)
            if (!c->index[k].passed && c->index[k].extent > 1) return true;
        if (c && loops_inside(c)) return true;
    }
    return false;
}

static bool has_kind(const Node *node, Kind kind, const Block *but) {
    const Block *b = as_block(node);
    if (!b) return false;
    if (b != but && b->nindex && b->kind == kind) return true;
    for (int i = 0; i < b->nchildren; i++)
        if (has_kind(b->child[i], kind, but)) return true;
    return false;
}

static bool kind_around(const Block *b, int loop, Kind kind) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if (!c || !find_loop(&(Tree){.root = c}, loop, NULL, NULL)) continue;
        return (c->nindex && c->kind == kind) || kind_around(c, loop, kind);
    }
    return false;
}

static const Tree *set_kind(EditWork *w, int loop, Kind kind) {
    const Block *b = find_loop(w->old, loop, NULL, NULL);
    if (!b) return refuse(w, "there is no such loop");
    if (kind == KIND_VECTOR && loops_inside(b)) return refuse(w, "other loops run inside it");
    bool axis = kind >= KIND_GRID_X;
    if (axis && (has_kind(&b->node, kind, b) || kind_around(w->old->root, loop, kind)))
        return refuse(w, "that axis is taken on the way");
    Block like = *b;
    like.kind = kind;
    const Node *made = &tree_block(w->t, &like, b->child, b->nchildren)->node;
    work_replace(w, &b->node, &made, 1);
    w->same_order = !kind_is_unordered(b->kind) || kind_is_unordered(kind);
    return work_finish(w);
}

const Tree *tree_vectorize(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "vectorize", e);
    return set_kind(&w, loop, KIND_VECTOR);
}

const Tree *tree_parallelize(const Tree *t, int loop, const TreeEdit *e) {
    EditWork w = work_begin(t, "parallelize", e);
    return set_kind(&w, loop, KIND_PARALLEL);
}

const Tree *tree_bind(const Tree *t, int loop, Kind axis, const TreeEdit *e) {
    EditWork w = work_begin(t, "bind", e);
    if (axis < KIND_GRID_X || axis >= KIND_COUNT) return refuse(&w, "that is no axis of a grid");
    return set_kind(&w, loop, axis);
}

const Tree *tree_annotate(const Tree *t, int loop, Kind kind, const TreeEdit *e) {
    EditWork w = work_begin(t, "annotate", e);
    return set_kind(&w, loop, kind);
}

const Tree *tree_tag(const Tree *t, int loop, Tag tag, const TreeEdit *e) {
    EditWork w = work_begin(t, "tag", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b) return refuse(&w, "there is no such loop");
    Tag *tags = arena_new_n(w.arena, Tag, b->node.tags.n + 1);
    Block like = *b;
    int n = 0;
    for (int i = 0; i < b->node.tags.n; i++)
        if (b->node.tags.at[i].name != tag.name) tags[n++] = b->node.tags.at[i];
    tags[n++] = tag;
    like.node.tags = (Tags){n, tags};
    const Node *made = &tree_block(w.t, &like, b->child, b->nchildren)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// --- Tiles -------------------------------------------------------------------------------------

const Tree *tree_tile(const Tree *t, int loop, int64_t outer, int64_t inner, const TreeEdit *e) {
    const Block *b = find_loop(t, loop, NULL, NULL), *c = b ? only_child(b) : NULL;
    if (!is_single(b) || !c) {
        EditWork w = work_begin(t, "tile", e);
        return refuse(&w, "no loop stands alone inside it");
    }
    int second = c->index[0].id, in = t->nindices + 1;
    const Tree *now = tree_split(t, loop, outer, false, e);
    if (now) now = tree_split(now, second, inner, false, e);
    return now ? tree_interchange(now, in, e) : NULL;
}
