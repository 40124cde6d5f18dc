// The mapping of a Tree to kernels: which loops are blocks, threads, or run in every thread.
//
// A nest of the root becomes a kernel. If it has loops marked `grid` or `thread`, these are obeyed:
// the leading grid loops become blocks, thread loops inside become threads. Other loops run in
// every thread. A nest inside a block that has no thread loop is divided among all threads of the
// block if its iterations are independent, else one thread runs it. A nest without any mark is
// divided among blocks of at most PLAIN_THREADS threads along its leading independent loops; if it
// has none, one block runs it.
//
// Reductions that meet in a thread loop are partial sums, combined when the loop ends (GPU_REDUCE);
// those that meet in a grid loop run in order, on one block: a Schedule privatises them instead.
#include "code/gpu/gpu.h"

#include "base/bug.h"
#include "base/checked.h"
#include "tree/special.h"

#include <string.h>

enum {
    PLAIN_THREADS = 256,
    FEW_BLOCKS = 128, // fewer leave processors idle
    UNROLL_PLAIN = 32,
    UNROLL_MAPPED = 1024,
    COPIES_IN_FLIGHT = 16,
    ALL_THREADS = 0x38
};

typedef struct Map {
    GpuProgram *g;
    Tree *t;
    Exprs *x;
    Arena *arena;
    GpuKernel *k;
    const Affine **value;     // per index id: its value in the kernel; NULL: itself
    VEC(const Affine *) path; // guards around, substituted
    unsigned threads;         // axes of thread loops around
    bool plain;               // every thread runs what is below on its own
    bool marked;              // loops of the kernel have marks
    int *stage_of;            // per buffer: id of the loop whose iterations have stages, or -1
    int serial;               // serial loops around
    DiagList *diags;
    bool failed;
    unsigned inside; // leaves below reduce over these axes
} Map;

// --- Small things ------------------------------------------------------------------------------

static GpuNode *node_new(Map *m, GpuKind kind) {
    GpuNode *n = arena_new(m->arena, GpuNode);
    n->kind = kind;
    n->vector = 1;
    return n;
}

static const Affine *hw(Map *m, GpuAxis a) {
    if (m->k->size[a] == 1) return affine_const(m->x, 0);
    return affine_iter(m->x, m->g->hw + (int)a);
}

static const Affine *mapped(Map *m, const Affine *a) {
    return affine_substitute(m->x, a, m->value, NULL);
}

static bool axis_of(Kind k, GpuAxis *out) {
    if (k < KIND_GRID_X || k > KIND_THREAD_Z) return false;
    *out = (GpuAxis)(k - KIND_GRID_X);
    return true;
}

static bool is_thread(Kind k) { return k >= KIND_THREAD_X && k <= KIND_THREAD_Z; }
static bool is_grid(Kind k) { return k >= KIND_GRID_X && k <= KIND_GRID_Z; }

static void axes_in(const GpuProgram *g, const Affine *a, unsigned *axes);

static void axes_in_access(const GpuProgram *g, const Access *a, unsigned *axes) {
    for (int d = 0; d < a->rank; d++) axes_in(g, a->sub[d], axes);
}

static void axes_in(const GpuProgram *g, const Affine *a, unsigned *axes) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        int axis = t->index - g->hw;
        if (t->kind == ATOM_ITER && axis >= 0 && axis < GPU_AXES) *axes |= 1u << axis;
        if (t->kind == ATOM_READ) axes_in_access(g, t->read, axes);
        if (t->a) axes_in(g, t->a, axes);
        if (t->b) axes_in(g, t->b, axes);
    }
}

unsigned gpu_axes_of(const GpuProgram *g, const Affine *a) {
    unsigned axes = 0;
    axes_in(g, a, &axes);
    return axes & ~7u;
}

unsigned gpu_axes_of_access(const GpuProgram *g, const Access *a) {
    unsigned axes = 0;
    axes_in_access(g, a, &axes);
    return axes & ~7u;
}

// --- Questions about a nest --------------------------------------------------------------------

typedef VEC(const Leaf *) Leaves;

static void collect(Arena *arena, const Node *n, Leaves *out) {
    const Block *b = as_block(n);
    if (!b) vec_push(arena, out, (const Leaf *)n);
    for (int i = 0; b && i < b->nchildren; i++) collect(arena, b->child[i], out);
}

static bool has_kind(const Node *n, bool (*is)(Kind)) {
    const Block *b = as_block(n);
    if (!b) return false;
    if (b->nindex && is(b->kind)) return true;
    for (int i = 0; i < b->nchildren; i++)
        if (has_kind(b->child[i], is)) return true;
    return false;
}

static int64_t instances(const Node *n) {
    const Block *b = as_block(n);
    if (!b) return 1;
    int64_t sum = 0;
    for (int i = 0; i < b->nchildren; i++) sum += instances(b->child[i]);
    for (int i = 0; i < b->nindex; i++)
        if (!checked_mul(sum, max_i64(b->index[i].extent, 0), &sum)) return INT64_MAX;
    return sum;
}

// The code of a leaf, in multiply-adds: functions and indices from data take many instructions.
static int64_t code_of(const Expr *e) {
    enum { FUNCTION = 8, INDEX = 16 };
    if (e->kind == EXPR_READ) return e->access->has_read ? INDEX : 0;
    if (e->kind != EXPR_OP) return 0;
    int64_t sum = op_info[e->op].class == OP_MATH ? FUNCTION : 0;
    for (int i = 0; i < e->n; i++) sum += code_of(e->arg[i]);
    return sum;
}

// The leaves that one thread runs by their code, thread loops not counted.
static int64_t own_instances(const Node *n) {
    const Block *b = as_block(n);
    if (!b) {
        const Leaf *leaf = (const Leaf *)n;
        return 1 + code_of(leaf->value) + (leaf->write->has_read ? 32 : 0);
    }
    int64_t sum = 0;
    for (int i = 0; i < b->nchildren; i++) sum += own_instances(b->child[i]);
    for (int i = 0; i < b->nindex && !is_thread(b->kind); i++)
        if (!checked_mul(sum, max_i64(b->index[i].extent, 0), &sum)) return INT64_MAX;
    return sum;
}

static bool allocated_in(const Node *n, int buffer) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (allocated_in(b->child[i], buffer)) return true;
    return false;
}

// The range of values of a subscript without the term of `id`, over the indices below `b`; those
// further out count as one opaque part, `outer`. Indices that step over all values of `id` do not
// count: they are higher digits of the subscript.
typedef struct Spread {
    int64_t coef, lo, hi;
    const Affine *outer;
} Spread;

static bool index_below(const Node *n, int id, int64_t *extent) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nindex; i++)
        if (b->index[i].id == id) {
            *extent = b->index[i].passed ? -1 : b->index[i].extent;
            return true;
        }
    for (int i = 0; b && i < b->nchildren; i++)
        if (index_below(b->child[i], id, extent)) return true;
    return false;
}

static bool spread_of(Map *m, const Block *b, const Affine *sub, int id, Spread *out) {
    *out = (Spread){.lo = sub->constant, .hi = sub->constant};
    const Affine *outer = affine_const(m->x, 0);
    int64_t all = 0, own = 1;
    if (!sub->linear || !index_below(&b->node, id, &own) || own < 0) return false;
    if (!checked_mul(affine_coef(sub, id), own, &all)) return false;
    for (int i = 0; i < sub->n; i++) {
        int at = sub->term[i].atom->index;
        int64_t coef = sub->term[i].coef, extent = 0, more;
        if (at == id) {
            out->coef = coef;
        } else if (!index_below(&b->node, at, &extent)) {
            outer = affine_add(m->x, outer, affine_make(m->x, 0, &sub->term[i], 1));
        } else if (!all || coef % all) {
            if (extent < 0 || !checked_mul(coef, max_i64(extent - 1, 0), &more)) return false;
            if (!checked_add(more < 0 ? out->lo : out->hi, more, more < 0 ? &out->lo : &out->hi))
                return false;
        }
    }
    out->outer = outer;
    return true;
}

typedef struct Touches {
    Map *m;
    const Block *b;
    int id, buffer, dim;
    bool any, apart;
    Spread all;
} Touches;

static void see_touch(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Touches *t = user;
    Spread s;
    if (a->tensor != t->buffer || !t->apart) return;
    if (!spread_of(t->m, t->b, a->sub[t->dim], t->id, &s) || !s.coef) {
        t->apart = false;
    } else if (!t->any) {
        t->all = s;
        t->any = true;
    } else if (s.coef != t->all.coef || s.outer != t->all.outer) {
        t->apart = false;
    } else {
        t->all.lo = min_i64(t->all.lo, s.lo);
        t->all.hi = max_i64(t->all.hi, s.hi);
    }
}

static void visit_leaf(const Leaf *leaf, AccessVisit *fn, void *user) {
    fn(user, leaf->write, false);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], fn, user);
    expr_visit_accesses(leaf->value, fn, user);
}

// Do different values of the index always mean different elements of the buffer, in some dimension?
static bool apart(Map *m, const Block *b, const Leaves *all, int id, int buffer) {
    for (int d = 0; d < m->t->buffers.at[buffer].rank; d++) {
        Touches t = {.m = m, .b = b, .id = id, .buffer = buffer, .dim = d, .apart = true};
        for (int i = 0; i < all->n && t.apart; i++) visit_leaf(all->at[i], see_touch, &t);
        int64_t coef = t.all.coef < 0 ? -t.all.coef : t.all.coef;
        if (t.apart && t.any && t.all.hi - t.all.lo < coef) return true;
    }
    return false;
}

// Do iterations of this index touch no element that another iteration writes? If the loop is
// unordered, only reductions can meet.
static bool independent(Map *m, const Block *b, int at) {
    const Index *x = &b->index[at];
    if (x->passed) return false;
    if (x->extent <= 1) return true;
    Leaves all = {0};
    bool unordered = b->kind != KIND_SERIAL && b->kind != KIND_UNROLL;
    collect(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++) {
        const Leaf *leaf = all.at[i];
        int buffer = leaf->write->tensor;
        if (unordered && leaf->op == REDUCE_ASSIGN) continue;
        if (allocated_in(&b->node, buffer)) continue;
        if (!apart(m, b, &all, x->id, buffer)) return false;
    }
    for (int i = 0; i < b->nconstraints; i++)
        if (b->constraint[i]->has_read) return false;
    return true;
}

// Do iterations of the thread loop reduce into one element, and nothing worse?
static bool only_reduces(Map *m, const Block *b) {
    Leaves all = {0};
    collect(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++) {
        const Leaf *leaf = all.at[i];
        if (leaf->op == REDUCE_ASSIGN || allocated_in(&b->node, leaf->write->tensor)) continue;
        if (leaf->write->has_read) return false;
    }
    return true;
}

// --- Leaves ------------------------------------------------------------------------------------

// A buffer with stages has one dimension more: the number of the iteration, modulo their number.
static const Access *in_stage(void *user, Exprs *x, const Access *a) {
    Map *m = user;
    const Affine *sub[TREE_MAX_RANK];
    if (m->stage_of[a->tensor] < 0) return a;
    const Affine *loop = affine_iter(x, m->stage_of[a->tensor]);
    sub[0] = affine_mod(x, loop, affine_const(x, m->t->buffers.at[a->tensor].size[0]));
    for (int d = 0; d < a->rank; d++) sub[d + 1] = a->sub[d];
    return access_make(x, a->tensor, a->rank + 1, sub);
}

static GpuNode *map_leaf(Map *m, const Leaf *leaf) {
    GpuNode *n = node_new(m, GPU_LEAF);
    Leaf like = *leaf;
    Subst with = {.iters = m->value, .map = in_stage, .user = m};
    like.write = access_subst(m->x, leaf->write, &with);
    like.value = expr_subst(m->x, leaf->value, &with);
    n->leaf = tree_leaf(m->t, &like);
    for (int i = 0; i < m->path.n; i++) {
        vec_push(m->arena, &n->guard, m->path.at[i]);
        vec_push(m->arena, &n->where, m->path.at[i]);
    }
    if (!m->plain)
        for (int a = GPU_THREAD_X; a <= GPU_THREAD_Z; a++)
            if (m->k->size[a] > 1 && !(m->threads >> a & 1)) n->single |= 1u << a;
    n->meet = leaf->op == REDUCE_ASSIGN ? 0 : m->inside;
    return n;
}

// --- Blocks ------------------------------------------------------------------------------------

static GpuNode *map_node(Map *m, const Node *node);
static GpuNode *map_loop(Map *m, const Block *b, int at);

static GpuNode *map_children(Map *m, const Block *b) {
    if (b->nchildren == 1) return map_node(m, b->child[0]);
    GpuNode *seq = node_new(m, GPU_SEQ);
    for (int i = 0; i < b->nchildren; i++)
        vec_push(m->arena, &seq->child, map_node(m, b->child[i]));
    return seq;
}

static unsigned used_axes(const Map *m) {
    unsigned axes = 0;
    for (int a = GPU_THREAD_X; a <= GPU_THREAD_Z; a++)
        if (m->k->size[a] > 1) axes |= 1u << a;
    return axes;
}

// Is every axis decided here?
static bool one_thread(const Map *m) { return m->plain || !(used_axes(m) & ~m->threads); }

// A buffer belongs to the thread if every axis is decided where it is allocated, else to the block.
static void enter_allocs(Map *m, const Block *b) {
    for (int i = 0; i < b->nallocs; i++) {
        GpuBuffer *buffer = &m->k->buffer[b->alloc[i]];
        bool own = one_thread(m);
        buffer->space = own ? GPU_LOCAL : GPU_SHARED;
        buffer->slices = own ? 0 : m->threads & used_axes(m);
    }
}

static GpuNode *map_body(Map *m, const Block *b) {
    int before = m->path.n;
    enter_allocs(m, b);
    for (int i = 0; i < b->nconstraints; i++)
        vec_push(m->arena, &m->path, mapped(m, b->constraint[i]));
    GpuNode *n = map_children(m, b);
    m->path.n = before;
    return n;
}

static GpuNode *bind(Map *m, const Block *b, int at, const Affine *value, const Affine *guard) {
    int id = b->index[at].id, before = m->path.n;
    m->value[id] = value;
    if (guard) vec_push(m->arena, &m->path, guard);
    GpuNode *n = map_loop(m, b, at + 1);
    m->path.n = before;
    m->value[id] = NULL;
    return n;
}

static bool unrolls(Map *m, const Block *b, int at) {
    int64_t n = b->index[at].extent, limit;
    bool own = m->marked && !m->plain;
    int64_t all = own ? own_instances(&b->node) : instances(&b->node);
    if (n <= 1) return true;
    limit = b->unroll_limit ? b->unroll_limit : own ? UNROLL_MAPPED : UNROLL_PLAIN;
    if (b->kind == KIND_UNROLL || b->kind == KIND_VECTOR) limit = max_i64(limit, 64);
    return all <= limit;
}

// Are its subscripts compared with sizes when it runs?
static bool is_checked(const Map *m, const Leaf *leaf) {
    const Program *p = m->t->program;
    return p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n && p->stmts.at[leaf->stmt].unproven &&
           !leaf->unchecked;
}

// --- Asynchronous copies -------------------------------------------------------------------------

// The buffer that a nest fills by copying arguments that nothing writes; -1: there is none.
static int copied_buffer(const Map *m, const Node *n) {
    Leaves all = {0};
    collect(m->arena, n, &all);
    if (all.n != 1 || all.at[0]->op != REDUCE_ASSIGN || all.at[0]->value->kind != EXPR_READ)
        return -1;
    const Leaf *leaf = all.at[0];
    const Access *r = leaf->value->access, *w = leaf->write;
    const Program *p = m->t->program;
    if (r->tensor >= m->t->nargs || !p || r->tensor >= p->ninputs || is_checked(m, leaf)) return -1;
    if (m->t->buffers.at[r->tensor].type != m->t->buffers.at[w->tensor].type) return -1;
    return r->has_read || w->has_read || type_info[m->t->buffers.at[w->tensor].type].bytes < 4
               ? -1
               : w->tensor;
}

static bool is_staged(const Map *m, const Block *b, const Node *child) {
    int buffer = copied_buffer(m, child);
    if (buffer < 0 || !m->t->buffers.at[buffer].async) return false;
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    return false;
}

// Stages of the asynchronous copies that the body begins with; 0: none. They fill shared memory, so
// the buffers of one thread have none.
static int stages_of(const Map *m, const Block *b) {
    int stages = 0, n = 0;
    if (one_thread(m)) return 0;
    for (; n < b->nchildren && is_staged(m, b, b->child[n]); n++) {
        int s = m->t->buffers.at[copied_buffer(m, b->child[n])].stages;
        stages = n ? (int)min_i64(stages, max_i64(s, 1)) : (int)max_i64(s, 1);
    }
    for (int i = n; i < b->nchildren; i++) // all of them come first
        if (is_staged(m, b, b->child[i])) return 0;
    return n == b->nchildren ? 0 : stages;
}

static void add_stages(Map *m, const Block *b, int loop, int stages) {
    for (int i = 0; i < b->nchildren && is_staged(m, b, b->child[i]); i++) {
        int buffer = copied_buffer(m, b->child[i]);
        Buffer *of = &m->t->buffers.at[buffer];
        int64_t *size = arena_new_n(m->arena, int64_t, of->rank + 1);
        int64_t *stride = arena_new_n(m->arena, int64_t, of->rank + 1), whole = 1;
        for (int d = 0; d < of->rank; d++) {
            size[d + 1] = of->size[d];
            stride[d + 1] = of->stride[d];
            whole = max_i64(whole, of->size[d] * of->stride[d]);
        }
        size[0] = stages;
        stride[0] = ceil_div(whole, 4) * 4;
        of->size = size;
        of->stride = stride;
        of->rank++;
        m->stage_of[buffer] = loop;
        m->k->buffer[buffer].stages = stages;
    }
}

static void mark_async(GpuNode *n) {
    if (n->kind == GPU_LEAF) n->async = true;
    for (int i = 0; i < n->child.n; i++) mark_async(n->child.at[i]);
}

// A copy of the nodes at another iteration of a loop; `guard`, if not NULL, for all leaves.
static GpuNode *node_at(Map *m, const GpuNode *n, int loop, const Affine *value,
                        const Affine *guard) {
    GpuNode *c = arena_new(m->arena, GpuNode);
    *c = *n;
    c->child.at = NULL;
    c->child.n = c->child.cap = 0;
    c->guard.at = c->where.at = NULL;
    c->guard.n = c->guard.cap = c->where.n = c->where.cap = 0;
    m->value[loop] = value;
    for (int i = 0; i < n->guard.n; i++) vec_push(m->arena, &c->guard, mapped(m, n->guard.at[i]));
    for (int i = 0; i < n->where.n; i++) vec_push(m->arena, &c->where, mapped(m, n->where.at[i]));
    if (n->kind == GPU_LEAF) {
        Leaf like = *n->leaf;
        like.write = access_substitute(m->x, n->leaf->write, m->value, NULL, NULL, NULL);
        like.value = expr_substitute(m->x, n->leaf->value, m->value, NULL, NULL, NULL);
        c->leaf = tree_leaf(m->t, &like);
        if (guard) vec_push(m->arena, &c->guard, guard);
        if (guard) vec_push(m->arena, &c->where, guard);
    }
    m->value[loop] = NULL;
    for (int i = 0; i < n->child.n; i++)
        vec_push(m->arena, &c->child, node_at(m, n->child.at[i], loop, value, guard));
    return c;
}

static void push(Map *m, GpuNode *seq, GpuNode *n) { vec_push(m->arena, &seq->child, n); }

static GpuNode *waiting(Map *m, int groups) {
    GpuNode *n = node_new(m, GPU_WAIT);
    n->stages = groups;
    return n;
}

static int count_copies(const Map *m, const Block *b) {
    int n = 0;
    while (n < b->nchildren && is_staged(m, b, b->child[n])) n++;
    return n;
}

// One stage: copies, then everybody waits for them.
static GpuNode *copied_first(Map *m, const Block *b, GpuNode *loop) {
    GpuNode *body = loop->child.at[0], *seq = node_new(m, GPU_SEQ);
    int copies = count_copies(m, b);
    for (int i = 0; i < body->child.n; i++) {
        if (i < copies) mark_async(body->child.at[i]);
        push(m, seq, body->child.at[i]);
        if (i != copies - 1) continue;
        push(m, seq, node_new(m, GPU_COMMIT));
        push(m, seq, waiting(m, 0));
    }
    loop->child.at[0] = seq;
    return loop;
}

// Iteration i begins the copies of iteration i + stages - 1; one barrier per iteration tells that
// the copies for i have arrived, and that nobody reads the stage that is filled next.
static GpuNode *pipelined(Map *m, const Block *b, GpuNode *loop, int stages) {
    GpuNode *body = loop->child.at[0], *seq = node_new(m, GPU_SEQ), *all = node_new(m, GPU_SEQ);
    int copies = count_copies(m, b), ahead = stages - 1;
    for (int i = 0; i < copies; i++) mark_async(body->child.at[i]);
    if (m->serial) push(m, all, node_new(m, GPU_BARRIER));
    for (int s = 0; s < ahead; s++) {
        for (int i = 0; i < copies && s < loop->extent; i++)
            push(m, all, node_at(m, body->child.at[i], loop->id, affine_const(m->x, s), NULL));
        push(m, all, node_new(m, GPU_COMMIT));
    }
    const Affine *next = affine_add_const(m->x, affine_iter(m->x, loop->id), ahead);
    const Affine *guard = affine_sub(m->x, affine_const(m->x, loop->extent - 1), next);
    push(m, seq, waiting(m, stages - 2));
    push(m, seq, node_new(m, GPU_BARRIER));
    for (int i = 0; i < copies; i++)
        push(m, seq, node_at(m, body->child.at[i], loop->id, next, guard));
    push(m, seq, node_new(m, GPU_COMMIT));
    for (int i = copies; i < body->child.n; i++) push(m, seq, body->child.at[i]);
    loop->child.at[0] = seq;
    loop->stages = stages;
    push(m, all, loop);
    return all;
}

static GpuNode *serial(Map *m, const Block *b, int at) {
    const Index *x = &b->index[at];
    GpuNode *n = node_new(m, GPU_LOOP);
    n->name = x->name;
    n->id = x->id;
    n->extent = x->extent;
    n->unroll = unrolls(m, b, at);
    m->g->lo[x->id] = 0;
    m->g->hi[x->id] = max_i64(x->extent - 1, 0);
    int stages = at + 1 == b->nindex && !n->unroll ? stages_of(m, b) : 0;
    if (stages > 1) add_stages(m, b, x->id, stages);
    m->serial++;
    GpuNode *body = map_loop(m, b, at + 1);
    m->serial--;
    vec_push(m->arena, &n->child, body);
    if (!stages) return n;
    return stages > 1 ? pipelined(m, b, n, stages) : copied_first(m, b, n);
}

static GpuNode *thread_loop(Map *m, const Block *b, int at, GpuAxis axis) {
    unsigned before = m->threads;
    const Affine *id = hw(m, axis), *guard = NULL;
    int64_t extent = b->index[at].extent;
    if (extent < m->k->size[axis]) guard = affine_sub(m->x, affine_const(m->x, extent - 1), id);
    m->threads |= 1u << axis;
    GpuNode *n = bind(m, b, at, id, guard);
    m->threads = before;
    return n;
}

static GpuNode *map_loop(Map *m, const Block *b, int at) {
    GpuAxis axis;
    if (at == b->nindex) return map_body(m, b);
    const Index *x = &b->index[at];
    if (x->passed) return bind(m, b, at, mapped(m, x->passed), NULL);
    if (!m->plain && is_thread(b->kind) && axis_of(b->kind, &axis) && !(m->threads >> axis & 1) &&
        (independent(m, b, at) || (m->inside >> axis & 1)))
        return thread_loop(m, b, at, axis);
    return serial(m, b, at);
}

// --- Reductions of a block ---------------------------------------------------------------------

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

// Loops of the nest whose index selects the element.
static bool selects(const Leaf *leaf, const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed && b->index[i].extent > 1 &&
            access_uses_iter(leaf->write, b->index[i].id))
            return true;
    return false;
}

// Does the thread loop's index occur in an element that is reduced below?
static bool selected_below(Map *m, const Block *b) {
    Leaves all = {0};
    collect(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op != REDUCE_ASSIGN && access_uses_iter(all.at[i]->write, b->index[0].id))
            return true;
    return false;
}

// Axes of thread loops below over which leaves reduce together; false when something prevents it:
// such an element is accessed by another leaf as well, or is not fixed in the loops that stay.
static bool meeting_axes(Map *m, const Block *top, const Node *n, unsigned around, unsigned *out) {
    const Block *b = as_block(n);
    if (b) {
        unsigned axes = around;
        if (b->nindex == 1 && is_thread(b->kind) && !independent(m, b, 0)) {
            if (!only_reduces(m, b) || selected_below(m, b)) return false;
            axes |= 1u << (b->kind - KIND_GRID_X);
        }
        for (int i = 0; i < b->nchildren; i++)
            if (!meeting_axes(m, top, b->child[i], axes, out)) return false;
        return true;
    }
    const Leaf *leaf = (const Leaf *)n;
    if (!around || leaf->op == REDUCE_ASSIGN) return true;
    Leaves all = {0};
    collect(m->arena, &top->node, &all);
    if (allocated_in(&top->node, leaf->write->tensor)) return false;
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

// Serial loops that stay between `top` and the leaf must not select the element, unless unrolled.
static bool fixed_below(Map *m, const Node *n, const Leaf *leaf) {
    const Block *b = as_block(n);
    if (!b) return true;
    if (b->nindex && !is_thread(b->kind) && selects(leaf, b) && !unrolls(m, b, 0)) return false;
    for (int i = 0; i < b->nchildren; i++) {
        Leaves below = {0};
        collect(m->arena, b->child[i], &below);
        for (int k = 0; k < below.n; k++)
            if (below.at[k] == leaf && !fixed_below(m, b->child[i], leaf)) return false;
    }
    return true;
}

static bool all_fixed(Map *m, const Block *b) {
    Leaves all = {0};
    collect(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->op != REDUCE_ASSIGN && !fixed_below(m, &b->node, all.at[i])) return false;
    return true;
}

static GpuNode *reduce_loop(Map *m, const Block *b) {
    unsigned axes = 0, before = m->inside;
    if (m->plain || m->threads || m->inside) return NULL;
    if (!meeting_axes(m, b, &b->node, 0, &axes) || !axes || !all_fixed(m, b)) return NULL;
    GpuNode *n = node_new(m, GPU_REDUCE);
    n->meet = m->inside = axes;
    vec_push(m->arena, &n->child, map_loop(m, b, 0));
    m->inside = before;
    return n;
}

// --- Nests that are divided among all threads ---------------------------------------------------

// The leading independent loops of a nest.
typedef struct Band {
    int n;
    const Block *block[TREE_MAX_DEPTH];
    int at[TREE_MAX_DEPTH];
    int64_t total;
} Band;

static const Block *only_child(const Block *b) {
    return b->nchildren == 1 && !b->nallocs ? as_block(b->child[0]) : NULL;
}

static void find_band(Map *m, const Block *b, Band *out) {
    *out = (Band){.total = 1};
    for (; b; b = only_child(b)) {
        for (int i = 0; i < b->nindex; i++) {
            if (b->index[i].passed) continue;
            if (!independent(m, b, i) || out->n == TREE_MAX_DEPTH) return;
            int64_t total;
            if (!checked_mul(out->total, b->index[i].extent, &total) || total >= INT32_MAX) return;
            out->total = total;
            out->block[out->n] = b;
            out->at[out->n++] = i;
        }
    }
}

static bool in_band(const Band *band, const Block *b, int at, int *number) {
    for (int i = 0; i < band->n; i++)
        if (band->block[i] == b && band->at[i] == at) {
            *number = i;
            return true;
        }
    return false;
}

static GpuNode *band_loop(Map *m, const Band *band, const Affine *const *value, const Block *b,
                          int at);

static GpuNode *band_body(Map *m, const Band *band, const Affine *const *value, const Block *b) {
    int before = m->path.n;
    for (int i = 0; i < b->nconstraints; i++)
        vec_push(m->arena, &m->path, mapped(m, b->constraint[i]));
    enter_allocs(m, b);
    bool last = b == band->block[band->n - 1];
    GpuNode *n = last ? map_children(m, b) : band_loop(m, band, value, only_child(b), 0);
    m->path.n = before;
    return n;
}

static GpuNode *band_loop(Map *m, const Band *band, const Affine *const *value, const Block *b,
                          int at) {
    int number;
    if (at == b->nindex) return band_body(m, band, value, b);
    int id = b->index[at].id;
    if (!b->index[at].passed && !in_band(band, b, at, &number)) return serial(m, b, at);
    m->value[id] = b->index[at].passed ? mapped(m, b->index[at].passed) : value[number];
    GpuNode *n = band_loop(m, band, value, b, at + 1);
    m->value[id] = NULL;
    return n;
}

// Indices of the band from a number 0 <= linear < total / vector; the last one runs in `vector`s.
static void band_values(Map *m, const Band *band, const Affine *linear, int vector,
                        const Affine **value) {
    Exprs *x = m->x;
    for (int i = band->n - 1; i >= 0; i--) {
        int64_t extent = band->block[i]->index[band->at[i]].extent;
        int64_t by = i == band->n - 1 ? extent / vector : extent;
        bool first = i == 0;
        value[i] = first ? linear : affine_mod(x, linear, affine_const(x, by));
        linear = affine_div(x, linear, affine_const(x, by));
        if (i == band->n - 1 && vector > 1) value[i] = affine_scale(x, value[i], vector);
    }
}

// The number of a thread among those that no loop around has divided, and how many there are.
static const Affine *linear_thread(Map *m, int64_t *count) {
    const int64_t *size = m->k->size;
    const Affine *sum = affine_const(m->x, 0);
    *count = 1;
    for (int a = GPU_THREAD_X; a <= GPU_THREAD_Z; a++) {
        if (m->threads >> a & 1) continue;
        sum = affine_add(m->x, sum, affine_scale(m->x, hw(m, (GpuAxis)a), *count));
        *count *= size[a];
    }
    return sum;
}

// A nest that copies elements, contiguous on both sides along the last loop.
static const Leaf *copy_leaf(const Band *band) {
    const Block *b = band->n ? band->block[band->n - 1] : NULL;
    const Leaf *leaf = b && b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
    if (!leaf && b && b->nchildren == 1) { // a guard in between
        const Block *g = as_block(b->child[0]);
        leaf = g && !g->nindex && g->nchildren == 1 ? as_leaf(g->child[0]) : NULL;
    }
    if (!leaf || leaf->op != REDUCE_ASSIGN || leaf->value->kind != EXPR_READ) return NULL;
    return leaf;
}

// A buffer with stages has a dimension more than the accesses of the Tree.
static int64_t stride_of(const Map *m, const Access *a, int d) {
    const Buffer *b = &m->t->buffers.at[a->tensor];
    return b->stride[d + b->rank - a->rank];
}

static int64_t step_of(const Map *m, const Access *a, int id) {
    int64_t sum = 0;
    for (int d = 0; d < a->rank; d++) {
        if (!a->sub[d]->linear) return 0;
        sum += affine_coef(a->sub[d], id) * stride_of(m, a, d);
    }
    return sum;
}

// Every term but that of `id` keeps `v` elements together.
static bool keeps_vectors(const Map *m, const Access *a, int id, int v) {
    for (int d = 0; d < a->rank; d++) {
        const Affine *s = a->sub[d];
        if (s->constant * stride_of(m, a, d) % v) return false;
        for (int i = 0; i < s->n; i++)
            if (s->term[i].atom->index != id && s->term[i].coef * stride_of(m, a, d) % v)
                return false;
    }
    return true;
}

// Does a constraint cut through vectors of `v` along the index?
static bool cuts(const Affine *a, int id, int v) {
    if (!affine_uses_iter(a, id)) return false;
    if (!a->linear || affine_coef(a, id) != -1 || (a->constant + 1) % v) return true;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->index != id && a->term[i].coef % v) return true;
    return false;
}

static bool constrained(const Band *band, int id, int v) {
    for (int i = 0; i < band->n; i++)
        for (int c = 0; c < band->block[i]->nconstraints; c++)
            if (cuts(band->block[i]->constraint[c], id, v)) return true;
    const Block *g = as_block(band->block[band->n - 1]->child[0]);
    for (int c = 0; g && c < g->nconstraints; c++)
        if (cuts(g->constraint[c], id, v)) return true;
    return false;
}

static int vector_of(Map *m, const Band *band) {
    const Leaf *leaf = copy_leaf(band);
    if (!leaf || is_checked(m, leaf)) return 1;
    const Index *x = &band->block[band->n - 1]->index[band->at[band->n - 1]];
    const Access *r = leaf->value->access;
    Type type = m->t->buffers.at[r->tensor].type;
    if (type != m->t->buffers.at[leaf->write->tensor].type) return 1;
    if (step_of(m, leaf->write, x->id) != 1 || step_of(m, r, x->id) != 1) return 1;
    for (int v = 16 / type_info[type].bytes; v > 1; v /= 2) {
        if (v * type_info[type].bytes < 4) break;
        if (x->extent % v == 0 && keeps_vectors(m, leaf->write, x->id, v) &&
            keeps_vectors(m, r, x->id, v) && !constrained(band, x->id, v))
            return v;
    }
    return 1;
}

static void mark_vectors(GpuNode *n, int vector) {
    if (n->kind == GPU_LEAF) n->vector = vector;
    for (int i = 0; i < n->child.n; i++) mark_vectors(n->child.at[i], vector);
}

// `lane`: the index of the elements within a vector, or -1.
static GpuNode *band_of(Map *m, const Band *band, const Affine *linear, int64_t total, int vector,
                        int lane, const Block *b) {
    const Affine *value[TREE_MAX_DEPTH];
    int64_t lo, hi;
    int before = m->path.n;
    const Affine *guard = affine_sub(m->x, affine_const(m->x, total - 1), linear);
    if (!affine_bounds(guard, m->g->lo, m->g->hi, &lo, &hi) || lo < 0)
        vec_push(m->arena, &m->path, guard);
    band_values(m, band, linear, vector, value);
    if (lane >= 0)
        value[band->n - 1] = affine_add(m->x, value[band->n - 1], affine_iter(m->x, lane));
    GpuNode *n = band_loop(m, band, value, b, 0);
    m->path.n = before;
    if (vector > 1 && lane < 0) mark_vectors(n, vector);
    return n;
}

static int new_id(Map *m, int64_t extent) {
    int id = m->g->nids++;
    m->g->lo[id] = 0;
    m->g->hi[id] = max_i64(extent - 1, 0);
    return id;
}

// All threads of the block take turns.
static GpuNode *divide(Map *m, const Block *b, const Band *band) {
    int vector = vector_of(m, band);
    int64_t threads, total = band->total / vector;
    const Affine *own = linear_thread(m, &threads);
    int64_t rounds = ceil_div(total, threads);
    unsigned before = m->threads;
    bool plain = m->plain;
    m->threads = ALL_THREADS;
    m->plain = true;
    GpuNode *loop = node_new(m, GPU_LOOP);
    loop->name = name_of(m->t->names, "turn");
    loop->extent = rounds;
    loop->id = new_id(m, rounds);
    loop->unroll = rounds == 1 || (copy_leaf(band) && rounds <= COPIES_IN_FLIGHT);
    const Affine *turn = affine_scale(m->x, affine_iter(m->x, loop->id), threads);
    GpuNode *inner = band_of(m, band, affine_add(m->x, turn, own), total, vector, -1, b);
    m->threads = before;
    m->plain = plain;
    vec_push(m->arena, &loop->child, inner);
    loop->independent = true;
    return loop;
}

static GpuNode *map_block(Map *m, const Block *b) {
    Band band;
    if (!b->nindex) return map_body(m, b);
    GpuNode *sum = reduce_loop(m, b);
    if (sum) return sum;
    if (!m->plain && (used_axes(m) & ~m->threads) && !has_kind(&b->node, is_thread)) {
        find_band(m, b, &band);
        if (band.total > 1 && (!m->inside || copied_buffer(m, &b->node) >= 0))
            return divide(m, b, &band);
    }
    return map_loop(m, b, 0);
}

static GpuNode *map_node(Map *m, const Node *node) {
    const Block *b = as_block(node);
    return b ? map_block(m, b) : map_leaf(m, (const Leaf *)node);
}

// --- Kernels -----------------------------------------------------------------------------------

static void thread_sizes(const Node *n, int64_t *size) {
    const Block *b = as_block(n);
    if (b && b->nindex == 1 && is_thread(b->kind)) {
        int64_t *s = &size[b->kind - KIND_GRID_X];
        *s = max_i64(*s, b->index[0].extent);
    }
    for (int i = 0; b && i < b->nchildren; i++) thread_sizes(b->child[i], size);
}

static bool threads_fit(const int64_t *size) {
    return size[GPU_THREAD_X] <= GPU_MAX_THREADS && size[GPU_THREAD_Y] <= GPU_MAX_THREADS &&
           size[GPU_THREAD_Z] <= 64 &&
           size[GPU_THREAD_X] * size[GPU_THREAD_Y] * size[GPU_THREAD_Z] <= GPU_MAX_THREADS;
}

// Blocks of a nest with marks: its leading grid loops.
static GpuNode *map_grid(Map *m, const Node *node, bool *any) {
    const Block *b = as_block(node);
    GpuAxis axis;
    if (b && b->nindex == 1 && is_grid(b->kind) && axis_of(b->kind, &axis) &&
        m->k->size[axis] == 1 && !b->index[0].passed && independent(m, b, 0) &&
        b->index[0].extent <= (axis == GPU_BLOCK_X ? INT32_MAX : GPU_MAX_GRID_YZ)) {
        *any = true;
        m->k->size[axis] = max_i64(b->index[0].extent, 1);
        m->g->hi[m->g->hw + (int)axis] = m->k->size[axis] - 1;
        m->value[b->index[0].id] = hw(m, axis);
        int before = m->path.n;
        for (int i = 0; i < b->nconstraints; i++)
            vec_push(m->arena, &m->path, mapped(m, b->constraint[i]));
        enter_allocs(m, b);
        GpuNode *n = b->nchildren == 1 ? map_grid(m, b->child[0], any) : map_children(m, b);
        m->path.n = before;
        return n;
    }
    return map_node(m, node);
}

static void set_threads(Map *m, int64_t x) {
    m->k->size[GPU_THREAD_X] = x;
    for (int a = GPU_THREAD_X; a <= GPU_THREAD_Z; a++) m->g->hi[m->g->hw + a] = m->k->size[a] - 1;
}

static GpuNode *map_marked(Map *m, const Node *node) {
    bool any = false;
    thread_sizes(node, m->k->size);
    if (!threads_fit(m->k->size)) {
        const int64_t *size = m->k->size;
        long long all = (long long)(size[GPU_THREAD_X] * size[GPU_THREAD_Y] * size[GPU_THREAD_Z]);
        if (!m->failed)
            diag_report(m->diags, tree_range(m->t, node), DIAG_GPU_THREADS, all, GPU_MAX_THREADS);
        m->failed = true;
        for (int a = GPU_THREAD_X; a <= GPU_THREAD_Z; a++) m->k->size[a] = 1;
    }
    int64_t x = m->k->size[GPU_THREAD_X];
    if (gpu_threads(m->k) == 1) x = PLAIN_THREADS;
    set_threads(m, x);
    return map_grid(m, node, &any);
}

static bool constrained_by(const Node *n, int id) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nconstraints; i++)
        if (affine_uses_iter(b->constraint[i], id)) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (constrained_by(b->child[i], id)) return true;
    return false;
}

// Neighbours along the last loop of the band that one thread takes, so that it loads and stores 16
// bytes at once: every leaf writes contiguous elements, and little else happens.
static int neighbours(Map *m, const Band *band) {
    enum { LEAVES = 8, ENOUGH = 1 << 15 };
    const Block *b = band->block[band->n - 1];
    const Index *x = &b->index[band->at[band->n - 1]];
    Leaves all = {0};
    int v = 4;
    collect(m->arena, &b->node, &all);
    if (all.n > LEAVES || instances(&b->node) > LEAVES * x->extent || b->nindex > 1) return 1;
    for (int i = 0; i < band->n; i++)
        for (int c = 0; c < band->block[i]->nconstraints; c++)
            if (affine_uses_iter(band->block[i]->constraint[c], x->id)) return 1;
    if (constrained_by(&b->node, x->id)) return 1;
    for (int i = 0; i < all.n; i++) {
        if (step_of(m, all.at[i]->write, x->id) != 1 || all.at[i]->write->has_read) return 1;
        v = (int)min_i64(v, 16 / type_info[m->t->buffers.at[all.at[i]->write->tensor].type].bytes);
    }
    return v < 2 || x->extent % v || band->total / v < ENOUGH ? 1 : v;
}

static GpuNode *map_plain(Map *m, const Block *b) {
    Band band;
    find_band(m, b, &band);
    if (band.total <= 1) { // one block, whose threads share the loops inside
        set_threads(m, PLAIN_THREADS);
        return map_node(m, &b->node);
    }
    int vector = neighbours(m, &band);
    int64_t total = band.total / vector;
    int64_t threads = min_i64(PLAIN_THREADS, ceil_div(total, GPU_WARP) * GPU_WARP);
    while (threads > 2 * GPU_WARP && total < threads * FEW_BLOCKS) threads /= 2;
    threads = ceil_div(threads, GPU_WARP) * GPU_WARP;
    int64_t blocks = ceil_div(total, threads);
    m->k->size[GPU_BLOCK_X] = blocks;
    m->g->hi[m->g->hw + GPU_BLOCK_X] = blocks - 1;
    set_threads(m, threads);
    m->plain = true;
    m->threads = ALL_THREADS;
    const Affine *id = affine_scale(m->x, hw(m, GPU_BLOCK_X), threads);
    id = affine_add(m->x, id, hw(m, GPU_THREAD_X));
    GpuNode *only = vector == 1 ? band_of(m, &band, id, total, 1, -1, b) : NULL;
    if (only) only->independent = true;
    if (only) return only;
    GpuNode *lanes = node_new(m, GPU_LOOP);
    lanes->name = name_of(m->t->names, "lane");
    lanes->unroll = lanes->independent = true;
    lanes->extent = vector;
    lanes->id = new_id(m, vector);
    push(m, lanes, band_of(m, &band, id, total, vector, lanes->id, b));
    return lanes;
}

static bool is_marked(Kind k) { return is_grid(k) || is_thread(k); }

static void kernel_new(Map *m, const Node *node, const char *name) {
    GpuKernel *k = arena_new(m->arena, GpuKernel);
    const Block *b = as_block(node);
    k->name = arena_printf(m->arena, "%s_%d", name, m->g->kernel.n);
    for (int a = 0; a < GPU_AXES; a++) k->size[a] = 1;
    for (int a = 0; a < GPU_AXES; a++) m->g->lo[m->g->hw + a] = m->g->hi[m->g->hw + a] = 0;
    k->buffer = arena_new_n(m->arena, GpuBuffer, m->t->buffers.n);
    m->k = k;
    m->threads = m->inside = 0;
    m->plain = false;
    m->marked = has_kind(node, is_marked);
    m->serial = 0;
    for (int i = 0; i < m->t->buffers.n; i++) m->stage_of[i] = -1;
    if (instances(node) == 0) return;
    k->body = b && !m->marked ? map_plain(m, b) : map_marked(m, node);
    if (gpu_threads(k) == 1) set_threads(m, 1);
    vec_push(m->arena, &m->g->kernel, k);
    gpu_place(m->g, k);
    gpu_barriers(m->g, k);
}

// Blocks without indices at the top hold kernels; their guards go into each.
static void map_top(Map *m, const Node *node, const char *name) {
    const Block *b = as_block(node);
    if (!b || b->nindex) {
        kernel_new(m, node, name);
        return;
    }
    int before = m->path.n;
    for (int i = 0; i < b->nconstraints; i++) vec_push(m->arena, &m->path, b->constraint[i]);
    for (int i = 0; i < b->nchildren; i++) map_top(m, b->child[i], name);
    m->path.n = before;
}

// Rows of shared tiles get 16 bytes of padding: neighbours of a column then lie in other banks, and
// vectors stay aligned.
static void pad_tiles(Arena *arena, Tree *t) {
    enum { BANKS = 64, PADDING = 16 };
    for (int i = t->nargs; i < t->buffers.n; i++) {
        Buffer *b = &t->buffers.at[i];
        int bytes = type_info[b->type].bytes, last = b->rank - 1;
        if (b->home != HOME_SHARED || b->rank < 2 || bytes < 4 || b->stride[last] != 1) continue;
        if (b->size[last] * bytes % BANKS || b->size[last] == 0) continue;
        int64_t *stride = arena_new_n(arena, int64_t, b->rank), n = b->size[last] + PADDING / bytes;
        stride[last] = 1;
        for (int d = last - 1; d >= 0; d--) {
            stride[d] = n;
            n *= max_i64(b->size[d], 1);
        }
        b->stride = stride;
    }
}

static bool count_nodes(void *user, const Node *node, int depth, const Block *parent) {
    (void)node, (void)depth, (void)parent;
    ++*(int *)user;
    return true;
}

GpuProgram *gpu_map(Arena *arena, const Tree *t, const char *name, DiagList *diags) {
    GpuProgram *g = arena_new(arena, GpuProgram);
    g->arena = arena;
    g->tree = tree_fork(arena, tree_expand(t));
    pad_tiles(arena, g->tree);
    g->hw = g->tree->nindices;
    g->nids = g->hw + GPU_AXES;
    int room = g->nids;
    tree_walk(g->tree, count_nodes, &room); // a divided nest has an index of its own
    g->scratch_at = arena_new_n(arena, int64_t, g->tree->buffers.n);
    for (int i = 0; i < g->tree->buffers.n; i++) g->scratch_at[i] = -1;
    g->lo = arena_new_n(arena, int64_t, room);
    g->hi = arena_new_n(arena, int64_t, room);
    Map m = {.g = g, .t = g->tree, .x = g->tree->exprs, .arena = arena, .diags = diags};
    m.value = arena_new_n(arena, const Affine *, room);
    m.stage_of = arena_new_n(arena, int, g->tree->buffers.n);
    map_top(&m, &g->tree->root->node, name);
    return m.failed ? NULL : g;
}
