// The part of a buffer that one iteration of a block accesses, and copies of it; see
// transform_block.h.
#include "transform/transform_block.h"

#include <string.h>

#include "base/checked.h"
#include "transform/edit.h"
#include "transform/transform_region.h"

// base + [min, max] of one subscript; false: unknown.
static bool spread(TouchedBox *g, const Affine *sub, const Affine **base, int64_t *min,
                   int64_t *max) {
    Exprs *x = g->w->x;
    *base = affine_const(x, 0);
    if (!sub->linear) return false;
    for (int i = 0; i < sub->n; i++) {
        int id = sub->term[i].atom->index;
        if (!g->below[id])
            *base = affine_add(x, *base, affine_scale(x, affine_iter(x, id), sub->term[i].coef));
    }
    return affine_bounds(affine_sub(x, sub, *base), g->f->lo, g->f->hi, min, max);
}

static void include(void *user, const Access *a, bool guarded) {
    (void)guarded;
    TouchedBox *g = user;
    if (a->tensor != g->buffer || !g->ok) return;
    for (int d = 0; d < a->rank && g->ok; d++) {
        const Affine *base;
        int64_t min, max;
        g->ok = spread(g, a->sub[d], &base, &min, &max) && (!g->any || base == g->base[d]);
        if (!g->ok) return;
        for (int i = 0; i < a->sub[d]->n; i++) {
            int id = a->sub[d]->term[i].atom->index;
            if (g->below[id]) g->step[d] = gcd_i64(g->step[d], a->sub[d]->term[i].coef);
        }
        if (g->any) g->step[d] = gcd_i64(g->step[d], min - g->min[d]);
        g->base[d] = base;
        g->min[d] = g->any ? min_i64(g->min[d], min) : min;
        g->max[d] = g->any ? max_i64(g->max[d], max) : max;
    }
    g->any = true;
}

static void see_read(void *user, const Access *a, bool guarded) {
    TouchedBox *g = user;
    g->read |= a->tensor == g->buffer;
    include(user, a, guarded);
}

static void include_node(TouchedBox *g, const Node *node) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf) {
        expr_visit_accesses(leaf->value, see_read, g);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], see_read, g);
        include(g, leaf->write, false);
        if (leaf->write->tensor == g->buffer && leaf->role == LEAF_INIT)
            g->starts |= g->buffer < g->w->old->nargs;
        if (leaf->write->tensor == g->buffer && leaf->op == REDUCE_ASSIGN) g->assigned = true;
        if (leaf->write->tensor == g->buffer && leaf->op != REDUCE_ASSIGN) {
            if (g->reduced && g->op != leaf->op) g->assigned = true;
            g->reduced = true;
            g->op = leaf->op;
        }
    }
    for (int i = 0; b && i < b->nchildren; i++) include_node(g, b->child[i]);
}

static void mark(const Node *node, bool *below) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++) below[b->index[i].id] = true;
    for (int i = 0; b && i < b->nchildren; i++) mark(b->child[i], below);
}

TouchedBox region_box(EditWork *w, const TreeFacts *f, const Node *const *node, int n, int buffer) {
    bool *below = arena_new_n(w->arena, bool, w->old->nindices + 1);
    TouchedBox g = {.w = w, .f = f, .below = below, .buffer = buffer, .ok = true};
    g.rank = w->old->buffers.at[buffer].rank;
    for (int i = 0; i < n; i++) mark(node[i], below);
    for (int i = 0; i < n; i++) include_node(&g, node[i]);
    return g;
}

static TouchedBox box_of(EditWork *w, const Block *b, int buffer) {
    TreeFacts *f = arena_new(w->arena, TreeFacts);
    facts_collect(f, w->arena, w->old);
    return region_box(w, f, b->child, b->nchildren, buffer);
}

// Accesses of the old buffer become accesses of the new one, relative to the corner of the box.
typedef struct Shift {
    int from, to;
    const Affine *minus[TREE_MAX_RANK];
    int64_t step[TREE_MAX_RANK];
} Shift;

static const Access *shift_access(void *user, Exprs *x, const Access *a) {
    const Shift *s = user;
    const Affine *sub[TREE_MAX_RANK];
    if (a->tensor != s->from) return a;
    for (int d = 0; d < a->rank; d++) {
        sub[d] = affine_sub(x, a->sub[d], s->minus[d]);
        sub[d] = affine_div(x, sub[d], affine_const(x, s->step[d]));
    }
    return access_make(x, s->to, a->rank, sub);
}

int region_buffer(EditWork *w, int like, const char *name, Place place, const int64_t *size,
                  int64_t odd) {
    Buffer b = w->old->buffers.at[like];
    int64_t *stride = arena_new_n(w->arena, int64_t, b.rank), step = 1;
    for (int d = b.rank - 1; d >= 0; d--) {
        stride[d] = step;
        int64_t room = odd > 0 && size[d] >= odd && d > 0 ? size[d] | 1 : size[d];
        if (!checked_mul(step, max_i64(room, 1), &step)) step = INT64_MAX / 2;
    }
    b.name = name_of(w->t->names, name);
    b.home = HOME_AUTO;
    b.tensor = -1;
    b.size = size;
    b.stride = stride;
    b.of_view = NULL;
    b.place = place;
    b.bank_dim = -1;
    b.tags = (Tags){0};
    return tree_buffer(w->t, &b);
}

// A buffer for the box, row-major.
static int box_buffer(EditWork *w, const TouchedBox *g, const char *name, Place place, int64_t odd,
                      Shift *s) {
    int64_t *size = arena_new_n(w->arena, int64_t, g->rank);
    *s = (Shift){.from = g->buffer};
    for (int d = 0; d < g->rank; d++) {
        s->step[d] = max_i64(g->step[d], 1);
        size[d] = (g->max[d] - g->min[d]) / s->step[d] + 1;
        s->minus[d] = affine_add_const(w->x, g->base[d], g->min[d]);
    }
    return s->to = region_buffer(w, g->buffer, name, place, size, odd);
}

Block region_block(EditWork *w, const Block *b, int drop, int add) {
    Block out = *b;
    int *alloc = arena_new_n(w->arena, int, b->nallocs + 1);
    out.nallocs = 0;
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] != drop) alloc[out.nallocs++] = b->alloc[i];
    if (add >= 0) alloc[out.nallocs++] = add;
    out.alloc = alloc;
    out.nviews = 0;
    out.view = NULL;
    return out;
}

const Block *region_home(const Block *b, int buffer) {
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return b;
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]), *home = c ? region_home(c, buffer) : NULL;
        if (home) return home;
    }
    return NULL;
}

// --- Localize ------------------------------------------------------------------------------------

const Tree *tree_block_localize(const Tree *t, int loop, int buffer, const TreeEdit *e) {
    EditWork w = work_begin(t, "localize", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b || buffer < t->nargs || buffer >= t->buffers.n)
        return refuse(&w, "that is no allocation");
    const Block *home = region_home(t->root, buffer);
    if (!home || home == b || !find_loop(&(Tree){.root = home}, loop, NULL, NULL))
        return refuse(&w, "the block is not inside the one that allocates it");
    EditWork probe = work_begin(t, "localize", e);
    const Node *none = NULL;
    work_replace(&probe, &b->node, &none, 0);
    if (subtree_uses(&probe.t->root->node, buffer)) return refuse(&w, "it is used elsewhere too");
    TouchedBox g = box_of(&w, b, buffer);
    if (!g.any || !g.ok) return refuse(&w, "the part that an iteration uses is no box");
    Shift s;
    const Buffer *old = &t->buffers.at[buffer];
    int made_buffer = box_buffer(&w, &g, old->name, old->place, 0, &s);
    w.t->buffers.at[made_buffer].home = old->home;
    w.t->buffers.at[made_buffer].tensor = old->tensor;
    w.t->buffers.at[made_buffer].tags = old->tags;
    Rename *r = rename_new(&w, false);
    r->map = shift_access;
    r->user = &s;
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    Block inner = region_block(&w, b, -1, made_buffer);
    const Node *made = &tree_block(w.t, &inner, child, b->nchildren)->node;
    work_replace(&w, &b->node, &made, 1);
    const Block *now = region_home(w.t->root, buffer);
    Block outer = region_block(&w, now, buffer, -1);
    made = &tree_block(w.t, &outer, now->child, now->nchildren)->node;
    if (now == w.t->root)
        w.t->root = as_block(made);
    else
        work_replace(&w, &now->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// --- Copies --------------------------------------------------------------------------------------

typedef enum CopyKind { COPY_LOAD, COPY_STORE, COPY_START, COPY_ADD } CopyKind;

const Expr *region_start(EditWork *w, Type type, Reduce op) {
    if (op == REDUCE_ADD && type_is_float(type)) return expr_float(w->x, type, -0.0);
    return expr_const(w->x, type, reduce_start(type, op));
}

// The only block that writes a buffer, if it copies one element per iteration there; else NULL.
typedef struct CopyWriter {
    int buffer, writers;
    const Block *block;
    const Leaf *leaf;
} CopyWriter;

static bool see_writer(void *user, const Node *node, int depth, const Block *parent) {
    CopyWriter *c = user;
    const Leaf *leaf = as_leaf(node);
    (void)depth;
    if (!leaf || leaf->write->tensor != c->buffer) return true;
    c->writers++;
    c->leaf = leaf;
    c->block = parent;
    return true;
}

// Does the condition depend only on the writer's own indices and on indices around the block?
static bool is_visible(const EditWork *w, const Affine *condition, const Block *writer,
                       const Block *around) {
    for (int id = 0; id < w->old->nindices; id++) {
        if (!affine_uses_iter(condition, id)) continue;
        bool seen = false;
        for (int i = 0; i < writer->nindex; i++) seen |= writer->index[i].id == id;
        for (int i = 0; i < around->nindex; i++) seen |= around->index[i].id == id;
        const Block *b = seen ? NULL : find_loop(w->old, id, NULL, NULL);
        if (b && around->nindex)
            seen = find_loop(&(Tree){.root = b}, around->index[0].id, NULL, NULL) != NULL;
        if (!seen) return false;
    }
    return true;
}

// The conditions under which elements `far` of a copy were copied.
static void add_written(EditWork *w, const CopyPart *part, const Affine *const *far,
                        const Affine ***inside, int *n) {
    CopyWriter c = {.buffer = part->buffer};
    tree_walk(w->old, see_writer, &c);
    if (!part->around || c.writers != 1 || !c.block || !c.block->nconstraints) return;
    if (c.leaf->value->kind != EXPR_READ || c.block->kind != KIND_ANY) return;
    Rename *r = rename_new(w, false);
    for (int d = 0; d < c.leaf->write->rank; d++) {
        const Affine *sub = c.leaf->write->sub[d];
        if (sub->linear && !sub->n) continue; // a dimension of one element
        if (!sub->linear || sub->n != 1 || sub->term[0].coef != 1 || sub->constant) return;
        r->iter[sub->term[0].atom->index] = far[d];
    }
    for (int i = 0; i < c.block->nconstraints; i++)
        if (!is_visible(w, c.block->constraint[i], c.block, part->around)) return;
    const Affine **all = arena_new_n(w->arena, const Affine *, *n + c.block->nconstraints);
    for (int i = 0; i < *n; i++) all[i] = (*inside)[i];
    for (int i = 0; i < c.block->nconstraints; i++)
        all[(*n)++] = rename_affine(r, c.block->constraint[i]);
    *inside = all;
}

const Block *region_copy(EditWork *w, const TreeFacts *f, const CopyPart *part) {
    const Buffer *whole = &w->old->buffers.at[part->buffer];
    const Affine *near[TREE_MAX_RANK], *far[TREE_MAX_RANK];
    VEC(const Affine *) inside = {0};
    Index index[TREE_MAX_RANK];
    int n = 0;
    for (int d = 0; d < whole->rank; d++) {
        const Affine *at = affine_const(w->x, 0);
        if (part->size[d] > 1) {
            const char *name = arena_printf(w->arena, "d%d", d);
            index[n] = tree_index(w->t, name_of(w->t->names, name), part->size[d]);
            at = affine_iter(w->x, index[n++].id);
        }
        near[d] = affine_add_const(w->x, at, part->at[d]);
        if (part->value) continue;
        far[d] = affine_add(w->x, part->corner[d], affine_scale(w->x, at, part->step[d]));
        int64_t lo, hi;
        bool known = affine_bounds(part->corner[d], f->lo, f->hi, &lo, &hi);
        const Affine *last =
            affine_add_const(w->x, affine_scale(w->x, far[d], -1), whole->size[d] - 1);
        if (!known || lo < 0) vec_push(w->arena, &inside, far[d]);
        if (!known || hi + (part->size[d] - 1) * part->step[d] >= whole->size[d])
            vec_push(w->arena, &inside, last);
    }
    if (!part->value && !part->store) add_written(w, part, far, &inside.at, &inside.n);
    const Access *a = access_make(w->x, part->to, whole->rank, near);
    const Access *b = part->value ? NULL : access_make(w->x, part->buffer, whole->rank, far);
    Leaf leaf = {.node.ndeps = -1, .stmt = -1, .write = part->store ? b : a};
    leaf.op = part->store ? part->op : REDUCE_ASSIGN;
    leaf.value = part->value ? part->value : expr_read(w->x, whole->type, part->store ? a : b);
    Tag *tags = arena_new_n(w->arena, Tag, 2);
    for (int i = 0; i < 2; i++) tags[i].name = name_of(w->t->names, part->tag[i]);
    const Node *node = &tree_leaf(w->t, &leaf)->node;
    Block like = {.node = {.ndeps = -1, .tags = {2, tags}}, .kind = KIND_ANY, .nindex = n};
    like.index = index;
    like.constraint = inside.at;
    like.nconstraints = inside.n;
    like.place = part->mover;
    return tree_block(w->t, &like, &node, 1);
}

// The whole box of a copy.
static const Node *copy_block(EditWork *w, const TouchedBox *g, const Shift *s, CopyKind kind,
                              Place mover, const Block *around) {
    static const char *const tag[] = {"cache_load", "cache_store", "cache_init", "cache_store"};
    const Buffer *b = &w->t->buffers.at[s->to];
    CopyPart part = {.buffer = g->buffer, .to = s->to, .size = b->size, .mover = mover};
    part.around = around;
    part.corner = s->minus;
    part.step = s->step;
    part.tag[0] = "cache";
    part.tag[1] = tag[kind];
    part.store = kind == COPY_STORE || kind == COPY_ADD;
    part.op = kind == COPY_ADD ? g->op : REDUCE_ASSIGN;
    if (kind == COPY_START) part.value = region_start(w, b->type, g->op);
    int64_t zero[TREE_MAX_RANK] = {0};
    part.at = zero;
    return &region_copy(w, g->f, &part)->node;
}

// One attempt, with or without reading the old content before assignments.
static const Tree *cached(const Tree *t, const Block *b, const CacheHow *how, bool load,
                          const TreeEdit *e) {
    EditWork w = work_begin(t, "cache", e);
    TouchedBox g = box_of(&w, b, how->buffer);
    if (!g.any) return refuse(&w, "the block does not use it");
    if (!g.ok) return refuse(&w, "the part that an iteration uses is no box");
    if (g.starts) return refuse(&w, "it initialises an argument");
    if (w.t->nindices + 2 * g.rank > TREE_MAX_INDICES)
        return refuse(&w, "there are too many loops");
    bool adds = g.reduced && !g.assigned && !g.read;
    Shift s;
    const char *name = arena_printf(w.arena, "%s.copy", t->buffers.at[how->buffer].name);
    int made_buffer = box_buffer(&w, &g, name, how->place, how->odd_above, &s);
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren + 2);
    int n = 0;
    if (adds)
        child[n++] = copy_block(&w, &g, &s, COPY_START, how->mover, b);
    else if (load)
        child[n++] = copy_block(&w, &g, &s, COPY_LOAD, how->mover, b);
    Rename *r = rename_new(&w, false);
    r->map = shift_access;
    r->user = &s;
    rename_nodes(r, b->child, b->nchildren, child + n);
    n += b->nchildren;
    if (g.reduced || g.assigned)
        child[n++] = copy_block(&w, &g, &s, adds ? COPY_ADD : COPY_STORE, how->mover, b);
    Block like = region_block(&w, b, -1, made_buffer);
    const Node *made = &tree_block(w.t, &like, child, n)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

const Tree *tree_block_cache(const Tree *t, int loop, const CacheHow *how, const TreeEdit *e) {
    EditWork w = work_begin(t, "cache", e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    if (!b || how->buffer < 0 || how->buffer >= t->buffers.n)
        return refuse(&w, "there is no such block or buffer");
    if (region_home(b, how->buffer)) return refuse(&w, "it is allocated inside");
    if (b->kind == KIND_VECTOR) return refuse(&w, "it is a vector");
    TouchedBox g = box_of(&w, b, how->buffer);
    DiagList quiet = {.arena = e->diags->arena};
    TreeEdit first = {.diags = &quiet, .unchecked = e->unchecked};
    const Tree *now = g.assigned && !e->unchecked ? cached(t, b, how, false, &first) : NULL;
    return now ? now : cached(t, b, how, true, e);
}

// --- Values --------------------------------------------------------------------------------------

// The expression with reads of the buffer replaced by the stored value.
static const Expr *put_in(Exprs *x, const Expr *e, int buffer, const Expr *value) {
    const Expr *arg[8];
    bool same = true;
    if (e->kind == EXPR_READ && e->access->tensor == buffer) return value;
    if (e->kind != EXPR_OP || e->n > 8) return e;
    for (int i = 0; i < e->n; i++) {
        arg[i] = put_in(x, e->arg[i], buffer, value);
        same &= arg[i] == e->arg[i];
    }
    return same ? e : expr_op(x, e->op, e->type, e->n, arg);
}

const Tree *tree_forward(const Tree *t, const Block *b, int buffer, int store, int load,
                         const TreeEdit *e) {
    EditWork w = work_begin(t, "forward", e);
    const Leaf *from = as_leaf(b->child[store]), *to = as_leaf(b->child[load]);
    if (!from || !to) return refuse(&w, "there is no such leaf");
    Leaf leaf = *to;
    leaf.value = put_in(w.x, to->value, buffer, from->value);
    const Node **child = arena_new_n(w.arena, const Node *, b->nchildren);
    int n = 0;
    for (int i = 0; i < b->nchildren; i++)
        if (i != store) child[n++] = i == load ? &tree_leaf(w.t, &leaf)->node : b->child[i];
    Block like = region_block(&w, b, buffer, -1);
    const Node *made = &tree_block(w.t, &like, child, n)->node;
    if (b == t->root)
        w.t->root = as_block(made);
    else
        work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

// --- Layouts and places --------------------------------------------------------------------------

const Tree *tree_restride(const Tree *t, int buffer, const int *order, const TreeEdit *e) {
    EditWork w = work_begin(t, "transpose", e);
    if (buffer < t->nargs || buffer >= t->buffers.n) return refuse(&w, "that is no allocation");
    const Buffer *b = &t->buffers.at[buffer];
    int64_t *stride = arena_new_n(w.arena, int64_t, b->rank), step = 1;
    for (int i = b->rank - 1; i >= 0; i--) {
        stride[order[i]] = step;
        if (!checked_mul(step, max_i64(b->size[order[i]], 1), &step))
            return refuse(&w, "its size overflows");
    }
    Buffer *all = arena_copy(w.arena, t->buffers.at, (size_t)t->buffers.n * sizeof *all);
    all[buffer].stride = stride;
    w.t->buffers.at = all;
    w.t->buffers.cap = w.t->buffers.n;
    w.same_order = true;
    return work_finish(&w);
}

const Tree *tree_with_buffers(const Tree *t, const Buffer *like, const TreeEdit *e) {
    EditWork w = work_begin(t, "locate", e);
    Buffer *all = arena_copy(w.arena, t->buffers.at, (size_t)t->buffers.n * sizeof *all);
    for (int i = 0; i < t->buffers.n; i++) {
        all[i].place = like[i].place;
        all[i].tags = like[i].tags;
        all[i].align = like[i].align;
        all[i].bank_dim = like[i].bank_dim;
    }
    w.t->buffers.at = all;
    w.t->buffers.cap = w.t->buffers.n;
    w.same_order = true;
    return work_finish(&w);
}
