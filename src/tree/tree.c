// Trees: constructors and the walk. Everything is copied into the Tree's arena and never changed
// again.
#include "tree/tree.h"

#include <string.h>

#include "base/bug.h"
#include "tree/node_pool.h"

const char *const kind_name[KIND_COUNT] = {
    [KIND_SERIAL] = "serial",     [KIND_ANY] = "any",           [KIND_PARALLEL] = "parallel",
    [KIND_UNROLL] = "unroll",     [KIND_VECTOR] = "vector",     [KIND_GRID_X] = "grid.x",
    [KIND_GRID_Y] = "grid.y",     [KIND_GRID_Z] = "grid.z",     [KIND_THREAD_X] = "thread.x",
    [KIND_THREAD_Y] = "thread.y", [KIND_THREAD_Z] = "thread.z", [KIND_WARP] = "warp",
    [KIND_LANE] = "lane",         [KIND_CLUSTER] = "cluster",
};

const char *const home_name[HOME_COUNT] = {
    [HOME_ARGUMENT] = "",         [HOME_AUTO] = "",
    [HOME_STACK] = "stack",       [HOME_SCRATCH] = "scratch",
    [HOME_REGISTER] = "register", [HOME_SHARED] = "shared",
};

const char *const load_cache_name[LOAD_CACHE_COUNT] = {"", "readonly", "l1", "l2", "streaming"};

Tree *tree_new(Arena *arena, Exprs *exprs, Names *names) {
    Tree *t = arena_new(arena, Tree);
    t->arena = arena;
    t->exprs = exprs;
    t->names = names;
    return t;
}

// NULL stays NULL, so that "not given" survives the copy.
static const void *copied(Arena *arena, const void *from, int n, size_t size) {
    return from && n > 0 ? arena_copy(arena, from, (size_t)n * size) : NULL;
}

int tree_buffer(Tree *t, const Buffer *b) {
    Buffer c = *b;
    c.size = copied(t->arena, b->size, b->rank, sizeof *b->size);
    c.stride = copied(t->arena, b->stride, b->rank, sizeof *b->stride);
    vec_push(t->arena, &t->buffers, c);
    return t->buffers.n - 1;
}

const int64_t *buffer_strides(Arena *arena, const Buffer *b, const View *view) {
    if (!b->of_view || !view->stride) return view->stride;
    int64_t *stride = arena_new_n(arena, int64_t, b->rank + 1);
    for (int d = 0; d < b->rank; d++) stride[d] = view->stride[b->of_view[d]];
    return stride;
}

void argument_print(Text *out, const Tree *t, int argument) {
    const Buffer *b = &t->buffers.at[argument];
    const Tensor *given = b->of_view ? &t->given->tensors.at[argument] : NULL;
    text_printf(out, "%s[", type_info[b->type].name);
    for (int d = 0; d < (given ? given->rank : b->rank); d++)
        text_printf(out, "%s%lld", d ? ", " : "",
                    (long long)(given ? tensor_size(given, d) : b->size[d]));
    text_char(out, ']');
}

// The stride of a dimension with one element means nothing; a caller may have left anything there.
static void drop_idle_strides(Arena *arena, Buffer *b) {
    const int64_t far = (int64_t)1 << 48;
    for (int d = 0; b->stride && d < b->rank; d++) {
        if (b->size[d] > 1 || (b->stride[d] > -far && b->stride[d] < far)) continue;
        int64_t *stride = arena_copy(arena, b->stride, (size_t)b->rank * sizeof *stride);
        stride[d] = 0;
        b->stride = stride;
    }
}

Tree *tree_for_views(Arena *arena, const Tree *t, const View *views) {
    Tree *mine = arena_copy(arena, t, sizeof *t);
    mine->buffers.at =
        arena_copy(arena, t->buffers.at, (size_t)t->buffers.n * sizeof *t->buffers.at);
    mine->buffers.cap = t->buffers.n;
    for (int i = 0; views && i < t->nargs; i++) {
        mine->buffers.at[i].stride = buffer_strides(arena, &mine->buffers.at[i], &views[i]);
        drop_idle_strides(arena, &mine->buffers.at[i]);
    }
    return mine;
}

Tree *tree_fork(Arena *arena, const Tree *t) {
    Tree *own = tree_for_views(arena, t, NULL);
    own->arena = arena;
    own->pool = NULL;
    own->exprs = exprs_fork(arena, t->exprs);
    own->names = names_fork(arena, t->names);
    return own;
}

Index tree_index(Tree *t, Name name, int64_t extent) {
    require(t->nindices < TREE_MAX_INDICES);
    return (Index){.name = name, .id = t->nindices++, .extent = extent};
}

const Block *tree_block(Tree *t, const Block *like, const Node *const *children, int nchildren) {
    const Block **place = t->pool ? pool_block(t->pool, like, children, nchildren) : NULL;
    if (place && *place) return *place;
    Block *b = arena_copy(t->arena, like, sizeof *like);
    b->node.kind = NODE_BLOCK;
    b->index = copied(t->arena, like->index, like->nindex, sizeof *like->index);
    b->constraint =
        copied(t->arena, like->constraint, like->nconstraints, sizeof *like->constraint);
    b->alloc = copied(t->arena, like->alloc, like->nallocs, sizeof *like->alloc);
    b->view = copied(t->arena, like->view, like->nviews, sizeof *like->view);
    b->child = copied(t->arena, children, nchildren, sizeof *children);
    b->nchildren = nchildren;
    if (place) *place = b;
    return b;
}

const Block *tree_loop(Tree *t, Kind kind, Index index, const Node *const *children,
                       int nchildren) {
    Block b = {.node.ndeps = -1, .kind = kind, .nindex = 1, .index = &index};
    return tree_block(t, &b, children, nchildren);
}

const Block *tree_guard(Tree *t, const Affine *const *constraints, int n, const Node *child) {
    Block b = {.node.ndeps = -1, .nconstraints = n, .constraint = constraints};
    return tree_block(t, &b, &child, 1);
}

const Leaf *tree_leaf(Tree *t, const Leaf *like) {
    Leaf *l = arena_copy(t->arena, like, sizeof *like);
    l->node.kind = NODE_LEAF;
    return l;
}

Range tree_range(const Tree *t, const Node *node) {
    const Leaf *leaf = node ? as_leaf(node) : NULL;
    if (node && node->range.to) return node->range;
    if (!leaf || leaf->stmt < 0 || !t->program || leaf->stmt >= t->program->stmts.n)
        return (Range){0, 0};
    return t->program->stmts.at[leaf->stmt].range;
}

Range tree_access_range(const Tree *t, const Leaf *leaf, const Access *access) {
    Range at = tree_range(t, &leaf->node);
    const LoadPlace *found = NULL;
    for (int i = 0; i < t->loads.n; i++) {
        const LoadPlace *p = &t->loads.at[i];
        if (p->access != access || access == leaf->write || p->range.from > at.from) continue;
        if (!found || p->range.from > found->range.from) found = p;
    }
    return found ? found->range : at;
}

// --- Reach -------------------------------------------------------------------------------------

typedef struct Reach {
    int64_t *lo, *hi; // per index id
    bool ok;
} Reach;

static void reach_affine(Reach *r, const Affine *a) {
    r->ok &= affine_reach(a, r->lo, r->hi) <= AFFINE_REACH_TREE;
}

static void reach_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    for (int d = 0; d < a->rank; d++) reach_affine(user, a->sub[d]);
}

static void reach_indices(Reach *r, const Expr *e) {
    if (e->kind == EXPR_INDEX) reach_affine(r, e->index);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) reach_indices(r, e->arg[i]);
}

static bool reach_node(void *user, const Node *node, int depth, const Block *parent) {
    Reach *r = user;
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nindex && r->ok; i++) {
        const Index *x = &b->index[i];
        r->hi[x->id] = x->extent > 0 ? x->extent - 1 : 0;
        if (!x->passed) continue;
        reach_affine(r, x->passed);
        r->ok = r->ok && affine_bounds(x->passed, r->lo, r->hi, &r->lo[x->id], &r->hi[x->id]);
    }
    for (int i = 0; b && i < b->nconstraints; i++) reach_affine(r, b->constraint[i]);
    if (leaf) {
        reach_access(r, leaf->write, false);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], reach_access, r);
        expr_visit_accesses(leaf->value, reach_access, r);
        reach_indices(r, leaf->value);
    }
    return r->ok;
}

bool tree_reaches(Arena *scratch, const Tree *t) {
    Reach r = {arena_new_n(scratch, int64_t, t->nindices),
               arena_new_n(scratch, int64_t, t->nindices), true};
    tree_walk(t, reach_node, &r);
    return r.ok;
}

// --- Walking -----------------------------------------------------------------------------------

static void walk(const Node *node, int depth, const Block *parent, TreeVisit *fn, void *user) {
    if (!fn(user, node, depth, parent)) return;
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nchildren; i++) walk(b->child[i], depth + 1, b, fn, user);
}

void tree_walk(const Tree *t, TreeVisit *fn, void *user) {
    if (t->root) walk(&t->root->node, 0, NULL, fn, user);
}
