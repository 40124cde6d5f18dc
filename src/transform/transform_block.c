// Transformations of blocks with several indices; see transform_block.h. This file only rewrites;
// edit.c decides legality.
#include "transform/transform_block.h"

#include <string.h>

#include "base/checked.h"
#include "transform/edit.h"
#include "verify/verify.h"

static bool room_for(const EditWork *w, int more) {
    return w->t->nindices + more <= TREE_MAX_INDICES;
}

static Tags with_tags(EditWork *w, Tags a, Tags b) {
    Tag *tag = arena_new_n(w->arena, Tag, a.n + b.n);
    int n = 0;
    for (int i = 0; i < a.n; i++) {
        bool again = false;
        for (int k = 0; k < b.n; k++) again |= b.at[k].name == a.at[i].name;
        if (!again) tag[n++] = a.at[i];
    }
    for (int i = 0; i < b.n; i++) tag[n++] = b.at[i];
    return (Tags){n, tag};
}

static bool any_passed(const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].passed) return true;
    return false;
}

static int position(const Block *b, int index) {
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].id == index) return i;
    return -1;
}

// --- Tiles ---------------------------------------------------------------------------------------

// An index that is divided: its two halves, and the old one as a function of them.
static void divide(EditWork *w, Rename *r, Index old, const TileHow *how, int64_t size, Index *o,
                   Index *i) {
    int64_t parts = ceil_div(old.extent, size);
    *o = tree_index(w->t, old.name, parts);
    *i = tree_index(w->t, old.name, size);
    o->tags = i->tags = old.tags;
    const Affine *x = affine_iter(w->x, o->id), *y = affine_iter(w->x, i->id);
    r->iter[old.id] = how->interleaved ? affine_add(w->x, x, affine_scale(w->x, y, parts))
                                       : affine_add(w->x, affine_scale(w->x, x, size), y);
}

const Tree *tree_block_tile(const Tree *t, int loop, const TileHow *how, int *outer, int *inner,
                            const TreeEdit *e) {
    EditWork w = work_begin(t, "tile", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b) return refuse(&w, "there is no such block");
    if (any_passed(b)) return refuse(&w, "an index is passed in");
    if (b->kind == KIND_VECTOR) return refuse(&w, "it is a vector");
    if (!room_for(&w, 2 * b->nindex)) return refuse(&w, "there are too many loops");
    Rename *r = rename_new(&w, false);
    Index *out = arena_new_n(w.arena, Index, b->nindex),
          *in = arena_new_n(w.arena, Index, b->nindex);
    const Affine **tail = arena_new_n(w.arena, const Affine *, b->nindex);
    int nout = 0, nin = 0, ntails = 0;
    for (int i = 0; i < b->nindex; i++) {
        Index x = b->index[i];
        int64_t size = how->size[i];
        if (size < 1 || size > max_i64(x.extent, 1)) return refuse(&w, "a tile does not fit");
        if (size == x.extent)
            in[nin++] = x;
        else if (size == 1)
            out[nout++] = x;
        else {
            divide(&w, r, x, how, size, &out[nout++], &in[nin++]);
            if (x.extent % size != 0)
                tail[ntails++] =
                    affine_add_const(w.x, affine_scale(w.x, r->iter[x.id], -1), x.extent - 1);
        }
    }
    if (!nout || !nin) return refuse(&w, "the tile is all of the block, or one iteration");
    Block inside = rename_block(r, b), outside = {.node = b->node, .name = b->name};
    const Affine **constraint = arena_new_n(w.arena, const Affine *, b->nconstraints + ntails);
    for (int c = 0; c < b->nconstraints; c++) constraint[c] = inside.constraint[c];
    for (int c = 0; c < ntails; c++) constraint[b->nconstraints + c] = tail[c];
    inside.constraint = constraint;
    inside.nconstraints += ntails;
    inside.nindex = nin;
    inside.index = in;
    inside.nviews = 0;
    inside.node.tags = with_tags(&w, b->node.tags, how->inner);
    outside.node.tags = how->outer;
    outside.node.ndeps = -1;
    outside.kind = b->kind;
    outside.grain = b->grain;
    outside.nindex = nout;
    outside.index = out;
    if (b->kind != KIND_SERIAL && b->kind != KIND_UNROLL) inside.kind = KIND_ANY;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    const Node *body = &tree_block(w.t, &inside, child, b->nchildren)->node;
    const Node *made = &tree_block(w.t, &outside, &body, 1)->node;
    work_replace(&w, &b->node, &made, 1);
    if (outer) *outer = out[0].id;
    if (inner) *inner = in[0].id;
    return work_finish(&w);
}

// --- Nests ---------------------------------------------------------------------------------------

// The first group after which all indices of `a` that belong to `b` are available.
static int depth_of(const Block *b, const Affine *a, const BlockGroup *group, int n) {
    int depth = 0;
    for (int g = 0; g < n; g++)
        for (int k = 0; k < group[g].n; k++)
            if (position(b, group[g].id[k]) >= 0 && affine_uses_iter(a, group[g].id[k])) depth = g;
    return depth;
}

static bool covers(const Block *b, const BlockGroup *group, int n) {
    int count = 0;
    for (int g = 0; g < n; g++) count += group[g].n;
    for (int i = 0; i < b->nindex; i++) {
        int times = 0;
        for (int g = 0; g < n; g++)
            for (int k = 0; k < group[g].n; k++) times += group[g].id[k] == b->index[i].id;
        if (times != 1) return false;
    }
    return count == b->nindex;
}

const Tree *tree_block_nest(const Tree *t, int loop, const BlockGroup *group, int n,
                            const TreeEdit *e) {
    EditWork w = work_begin(t, "nest", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b || n < 1) return refuse(&w, "there is no such block");
    if (any_passed(b)) return refuse(&w, "an index is passed in");
    if (!covers(b, group, n)) return refuse(&w, "the groups are not a partition of its indices");
    const Node *const *child = b->child;
    int nchildren = b->nchildren;
    const Node *made = NULL;
    for (int g = n - 1; g >= 0; g--) {
        Block like = {.node.ndeps = -1, .kind = group[g].kind};
        Index *index = arena_new_n(w.arena, Index, group[g].n);
        const Affine **constraint = arena_new_n(w.arena, const Affine *, b->nconstraints);
        for (int k = 0; k < group[g].n; k++) index[k] = b->index[position(b, group[g].id[k])];
        for (int c = 0; c < b->nconstraints; c++)
            if (depth_of(b, b->constraint[c], group, n) == g)
                constraint[like.nconstraints++] = b->constraint[c];
        like.nindex = group[g].n;
        like.index = index;
        like.constraint = constraint;
        if (g == 0) {
            like.node = b->node;
            like.name = b->name;
            like.grain = b->grain;
        }
        if (g == n - 1) {
            like.nallocs = b->nallocs;
            like.alloc = b->alloc;
            like.place = b->place;
        }
        made = &tree_block(w.t, &like, child, nchildren)->node;
        child = arena_copy(w.arena, &made, sizeof made);
        nchildren = 1;
    }
    work_replace(&w, &b->node, &made, 1);
    return work_finish(&w);
}

// --- Fusion --------------------------------------------------------------------------------------

// The block without the indices that became common; NULL, with its children, when nothing is left
// of it.
static void rest_of(EditWork *w, const Block *like, const int *gone, int ngone,
                    const Node *const *child, int nchildren, const Node **out, int *n) {
    Block rest = *like;
    Index *index = arena_new_n(w->arena, Index, like->nindex);
    rest.nindex = 0;
    for (int i = 0; i < like->nindex; i++) {
        bool common = false;
        for (int k = 0; k < ngone; k++) common |= gone[k] == like->index[i].id;
        if (!common) index[rest.nindex++] = like->index[i];
    }
    rest.index = index;
    rest.nviews = 0;
    rest.view = NULL;
    rest.node.ndeps = -1;
    if (rest.nindex || rest.nconstraints || rest.nallocs)
        out[(*n)++] = &tree_block(w->t, &rest, child, nchildren)->node;
    else
        for (int i = 0; i < nchildren; i++) out[(*n)++] = child[i];
}

// Removes from both lists the constraints that they share and that only use common indices.
static int share_constraints(EditWork *w, const Block *like, Block *a, Block *b,
                             const Affine ***common) {
    const Affine **ca = arena_new_n(w->arena, const Affine *, a->nconstraints);
    const Affine **cb = arena_copy(w->arena, b->constraint, sizeof *cb * (size_t)b->nconstraints);
    int na = 0, n = 0;
    *common = arena_new_n(w->arena, const Affine *, a->nconstraints);
    for (int i = 0; i < a->nconstraints; i++) {
        const Affine *c = a->constraint[i];
        int k = 0;
        bool inner = false;
        for (int j = 0; j < a->nindex; j++)
            inner |= position(like, a->index[j].id) < 0 && affine_uses_iter(c, a->index[j].id);
        while (k < b->nconstraints && cb[k] != c) k++;
        if (inner || k == b->nconstraints) {
            ca[na++] = c;
            continue;
        }
        (*common)[n++] = c;
        for (b->nconstraints--; k < b->nconstraints; k++) cb[k] = cb[k + 1];
    }
    a->constraint = ca;
    a->nconstraints = na;
    b->constraint = cb;
    return n;
}

const Tree *tree_block_fuse(const Tree *t, int loop, int with, int n, const int *a, const int *b,
                            Tags tags, const TreeEdit *e) {
    EditWork w = work_begin(t, "fuse", e);
    const Block *parent, *other;
    int at, next;
    const Block *p = find_loop(t, loop, &parent, &at), *q = find_loop(t, with, &other, &next);
    if (!p || !q || parent != other || next != at + 1)
        return refuse(&w, "the second block does not follow the first one");
    if (p->kind != q->kind) return refuse(&w, "the kinds differ");
    if (any_passed(p) || any_passed(q)) return refuse(&w, "an index is passed in");
    if (n < 1) return refuse(&w, "they share no index");
    if (p->place.n || q->place.n) return refuse(&w, "one of them has a place");
    Rename *r = rename_new(&w, false);
    Index *index = arena_new_n(w.arena, Index, n);
    for (int k = 0; k < n; k++) {
        int i = position(p, a[k]), j = position(q, b[k]);
        if (i < 0 || j < 0) return refuse(&w, "there is no such index");
        if (p->index[i].extent != q->index[j].extent) return refuse(&w, "the extents differ");
        index[k] = p->index[i];
        r->iter[b[k]] = affine_iter(w.x, a[k]);
    }
    Block out = {.node = p->node, .kind = p->kind, .name = p->name, .nindex = n, .index = index};
    Block first = *p, second = rename_block(r, q);
    const Affine **common;
    out.node.tags = with_tags(&w, with_tags(&w, p->node.tags, q->node.tags), tags);
    out.node.ndeps = -1;
    out.nconstraints = share_constraints(&w, &out, &first, &second, &common);
    out.constraint = common;
    const Node **moved = arena_new_n(w.arena, const Node *, q->nchildren);
    const Node **child = arena_new_n(w.arena, const Node *, p->nchildren + q->nchildren);
    rename_nodes(r, q->child, q->nchildren, moved);
    int count = 0;
    rest_of(&w, &first, a, n, p->child, p->nchildren, child, &count);
    rest_of(&w, &second, b, n, moved, q->nchildren, child, &count);
    const Node **rest = arena_new_n(w.arena, const Node *, parent->nchildren);
    int k = 0;
    for (int i = 0; i < parent->nchildren; i++)
        if (i != next)
            rest[k++] = i == at ? &tree_block(w.t, &out, child, count)->node : parent->child[i];
    const Node *made = &tree_block(w.t, parent, rest, k)->node;
    if (parent == t->root)
        w.t->root = as_block(made);
    else
        work_replace(&w, &parent->node, &made, 1);
    return work_finish(&w);
}

// --- Parts of a range ----------------------------------------------------------------------------

// The block with index number `at` counted from `first`: `n` iterations, a fresh copy of its
// content.
static const Node *part_of(EditWork *w, const Block *b, int at, int64_t first, int64_t n,
                           int *index) {
    Rename *r = rename_new(w, true);
    int id = b->index[at].id;
    Index own = tree_index(w->t, b->index[at].name, n);
    own.tags = b->index[at].tags;
    Block plain = {.node.ndeps = -1, .nallocs = b->nallocs, .alloc = b->alloc};
    Index *list = arena_copy(w->arena, b->index, (size_t)b->nindex * sizeof *list);
    for (int i = 0; i < b->nindex; i++) {
        if (i == at) continue;
        list[i].id = tree_index(w->t, list[i].name, list[i].extent).id;
        r->iter[b->index[i].id] = affine_iter(w->x, list[i].id);
    }
    list[at] = own;
    r->iter[id] = n == 1 ? affine_const(w->x, first)
                         : affine_add_const(w->x, affine_iter(w->x, own.id), first);
    const Block *body =
        as_block(rename_node(r, &tree_block(w->t, &plain, b->child, b->nchildren)->node));
    Block like = rename_block(r, b);
    like.index = list;
    like.alloc = body->alloc;
    like.nviews = 0;
    like.view = NULL;
    like.node.ndeps = -1;
    if (n == 1) {
        for (int i = at; i + 1 < b->nindex; i++) list[i] = list[i + 1];
        like.nindex--;
    }
    if (index) *index = n == 1 ? -1 : own.id;
    return &tree_block(w->t, &like, body->child, body->nchildren)->node;
}

const Tree *tree_block_peel(const Tree *t, int index, int64_t n, int *second, const TreeEdit *e) {
    EditWork w = work_begin(t, "peel", e);
    const Block *b = find_loop(t, index, NULL, NULL);
    if (!b || any_passed(b)) return refuse(&w, "there is no such block");
    int at = position(b, index);
    int64_t extent = b->index[at].extent;
    if (n < 1 || n >= extent) return refuse(&w, "one part would be empty");
    if (!room_for(&w, count_indices(&b->node))) return refuse(&w, "there are too many loops");
    Block head = *b;
    Index *list = arena_copy(w.arena, b->index, (size_t)b->nindex * sizeof *list);
    list[at].extent = n;
    head.index = list;
    head.nviews = 0;
    head.view = NULL;
    head.node.ndeps = -1;
    const Node *made[] = {&tree_block(w.t, &head, b->child, b->nchildren)->node,
                          part_of(&w, b, at, n, extent - n, second)};
    work_replace(&w, &b->node, made, 2);
    w.same_order = kind_is_unordered(b->kind) ? false : at == 0;
    return work_finish(&w);
}

const Tree *tree_block_unroll(const Tree *t, int index, const TreeEdit *e) {
    EditWork w = work_begin(t, "unroll", e);
    const Block *b = find_loop(t, index, NULL, NULL);
    if (!b || any_passed(b)) return refuse(&w, "there is no such block");
    int at = position(b, index);
    int64_t extent = b->index[at].extent;
    if (extent > TREE_MAX_UNROLL) return refuse(&w, "it has too many iterations");
    if (!room_for(&w, (int)extent * count_indices(&b->node)))
        return refuse(&w, "there are too many loops");
    const Node **made = arena_new_n(w.arena, const Node *, extent + 1);
    for (int64_t i = 0; i < extent; i++) made[i] = part_of(&w, b, at, i, 1, NULL);
    work_replace(&w, &b->node, made, (int)extent);
    return work_finish(&w);
}

// --- Attributes ----------------------------------------------------------------------------------

const Tree *tree_block_like(const Tree *t, int loop, const Block *like, const char *verb,
                            const TreeEdit *e) {
    EditWork w = work_begin(t, verb, e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b || b->nindex != like->nindex) return refuse(&w, "there is no such block");
    Block out = *b;
    out.node.tags = like->node.tags;
    out.name = like->name;
    out.place = like->place;
    out.kind = like->kind;
    out.nconstraints = like->nconstraints;
    out.constraint = like->constraint;
    out.index = like->index;
    const Node *made = &tree_block(w.t, &out, b->child, b->nchildren)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = !kind_is_unordered(b->kind) || kind_is_unordered(like->kind);
    return work_finish(&w);
}

const Tree *tree_block_remove(const Tree *t, int loop, const char *verb, const TreeEdit *e) {
    EditWork w = work_begin(t, verb, e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b) return refuse(&w, "there is no such block");
    const Node *none = NULL;
    work_replace(&w, &b->node, &none, 0);
    w.same_order = true;
    return work_finish(&w);
}
