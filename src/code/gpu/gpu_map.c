// Maps a Tree to kernels: decides which loops become blocks, which become threads, and which run in
// every thread.
//
// Each nest of the root becomes a kernel. Marks `grid` and `thread` are obeyed: the leading grid
// loops become blocks, thread loops inside become threads, and other loops run in every thread. A
// nest inside a block that has no thread loop is divided among all threads of the block if its
// iterations are independent; otherwise one thread runs it. A nest without any mark is divided
// among blocks of at most PLAIN_THREADS threads along its leading independent loops; if it has
// none, one block runs it.
//
// Threads of a thread loop that reduce into the same element keep partial results, which are
// combined when the loop ends (GPU_REDUCE). If iterations of a grid loop reduce into the same
// element, one block runs them in order; a Schedule can privatise the reduction instead.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"
#include "code/c/c_impl.h"
#include "tree/special.h"

enum { UNROLL_PLAIN = 32, UNROLL_MAPPED = 1024 };

// --- Helpers -----------------------------------------------------------------------------------

GpuNode *map_new(Map *m, GpuKind kind) {
    GpuNode *n = arena_new(m->arena, GpuNode);
    n->kind = kind;
    n->vector = 1;
    return n;
}

void map_push(Map *m, GpuNode *seq, GpuNode *n) { vec_push(m->arena, &seq->child, n); }

int map_id(Map *m, int64_t extent) {
    int id = m->g->nids++;
    m->g->lo[id] = 0;
    m->g->hi[id] = max_i64(extent - 1, 0);
    return id;
}

const Affine *map_hw(Map *m, GpuAxis a) {
    if (m->k->size[a] == 1) return affine_const(m->x, 0);
    return affine_iter(m->x, m->g->hw + (int)a);
}

const Affine *map_affine(Map *m, const Affine *a) {
    return affine_substitute(m->x, a, m->value, NULL);
}

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
    return axes & ALL_THREADS;
}

unsigned gpu_axes_of_access(const GpuProgram *g, const Access *a) {
    unsigned axes = 0;
    axes_in_access(g, a, &axes);
    return axes & ALL_THREADS;
}

// --- Leaves ------------------------------------------------------------------------------------

// A buffer with stages has one more dimension, subscripted by the iteration modulo the number of
// stages.
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
    GpuNode *n = map_new(m, GPU_LEAF);
    Leaf like = *leaf;
    Subst with = {.iters = m->value, .map = in_stage, .user = m};
    like.write = access_subst(m->x, leaf->write, &with);
    like.value = expr_subst(m->x, leaf->value, &with);
    n->leaf = tree_leaf(m->t, &like);
    for (int i = 0; i < m->path.n; i++) {
        vec_push(m->arena, &n->guard, m->path.at[i]);
        vec_push(m->arena, &n->where, m->path.at[i]);
    }
    if (m->k->size[GPU_CLUSTER] > 1 && !(m->threads >> GPU_CLUSTER & 1)) {
        const Affine *first =
            affine_scale(m->x, map_hw(m, GPU_CLUSTER), -1); // the first block alone
        vec_push(m->arena, &n->guard, first);
        vec_push(m->arena, &n->where, first);
    }
    if (!m->plain)
        for (int a = GPU_THREAD_X; a < GPU_AXES; a++)
            if (m->k->size[a] > 1 && !(m->threads >> a & 1)) n->single |= 1u << a;
    n->meet = leaf->op == REDUCE_ASSIGN ? 0 : m->inside & m->threads;
    return n;
}

// --- Blocks ------------------------------------------------------------------------------------

GpuNode *map_children(Map *m, const Block *b) {
    if (b->nchildren == 1) return map_node(m, b->child[0]);
    GpuNode *seq = map_new(m, GPU_SEQ);
    for (int i = 0; i < b->nchildren; i++)
        vec_push(m->arena, &seq->child, map_node(m, b->child[i]));
    return seq;
}

unsigned map_axes(const Map *m) {
    unsigned axes = 0;
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++)
        if (m->k->size[a] > 1) axes |= 1u << a;
    return axes;
}

// Do the surrounding loops determine all thread axes?
bool map_one_thread(const Map *m) { return m->plain || !(map_axes(m) & ~m->threads); }

// A buffer is private to a thread if the loops around its allocation determine all thread axes;
// otherwise it belongs to the block.
void map_allocs(Map *m, const Block *b) {
    for (int i = 0; i < b->nallocs; i++) {
        GpuBuffer *buffer = &m->k->buffer[b->alloc[i]];
        bool own = map_one_thread(m);
        buffer->space = own ? GPU_LOCAL : GPU_SHARED;
        buffer->slices = own ? 0 : m->threads & map_axes(m);
    }
}

static int64_t magnitude(const Term *t) { return t->coef < 0 ? -t->coef : t->coef; }

// The condition without its terms below `least`, or NULL if they may decide it. The other terms are
// a multiple of `step`.
static const Affine *without_terms(const Map *m, const Affine *a, int64_t least) {
    Term kept[AFFINE_MAX_TERMS], left[AFFINE_MAX_TERMS];
    int nkept = 0, nleft = 0;
    int64_t step = 0, lo, hi;
    for (int i = 0; i < a->n; i++) {
        bool keep = magnitude(&a->term[i]) >= least;
        if (keep) step = gcd_i64(step, a->term[i].coef);
        *(keep ? &kept[nkept++] : &left[nleft++]) = a->term[i];
    }
    const Affine *small = affine_make(m->x, a->constant, left, nleft);
    if (!affine_bounds(small, m->g->lo, m->g->hi, &lo, &hi) || lo == INT64_MIN) return NULL;
    int64_t multiple = ceil_div(-hi, step);
    if (multiple != ceil_div(-lo, step)) return NULL;
    return affine_make(m->x, -multiple * step, kept, nkept);
}

// An equivalent condition of few terms. Of 31999 - 1024*j - 4*t - v >= 0 with 0 <= v < 4 the last
// term is left out, so that one test guards a vector.
static const Affine *map_guard(const Map *m, const Affine *a) {
    if (!a->linear || a->n < 2) return a;
    for (int64_t least = INT64_MAX;;) {
        int64_t next = 0;
        for (int i = 0; i < a->n; i++)
            if (magnitude(&a->term[i]) < least) next = max_i64(next, magnitude(&a->term[i]));
        if (!next) return a;
        least = next;
        const Affine *g = without_terms(m, a, least);
        if (g) return g;
    }
}

static GpuNode *map_body(Map *m, const Block *b) {
    int before = m->path.n;
    map_allocs(m, b);
    for (int i = 0; i < b->nconstraints; i++)
        vec_push(m->arena, &m->path, map_guard(m, map_affine(m, b->constraint[i])));
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

bool map_unrolls(Map *m, const Block *b, int at) {
    int64_t n = b->index[at].extent, limit;
    bool own = m->marked && !m->plain;
    int64_t all = own ? nest_own_instances(&b->node) : nest_instances(&b->node);
    if (n <= 1) return true;
    limit = b->unroll_limit ? b->unroll_limit : own ? UNROLL_MAPPED : UNROLL_PLAIN;
    if (b->kind == KIND_UNROLL || b->kind == KIND_VECTOR) limit = max_i64(limit, 64);
    // Blocks of a cluster combine registers only, so that no amount of code keeps a loop rolled.
    if (b->kind == KIND_UNROLL && m->k->size[GPU_CLUSTER] > 1 && nest_copies(&b->node) <= 64)
        return true;
    return all <= limit;
}

// Does the leaf compare subscripts with sizes at run time?
bool map_checks(const Map *m, const Leaf *leaf) {
    const Program *p = m->t->program;
    return p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n && p->stmts.at[leaf->stmt].unproven &&
           !leaf->unchecked;
}

GpuNode *map_serial(Map *m, const Block *b, int at) {
    const Index *x = &b->index[at];
    GpuNode *n = map_new(m, GPU_LOOP);
    n->name = x->name;
    n->id = x->id;
    n->extent = x->extent;
    n->unroll = map_unrolls(m, b, at);
    m->g->lo[x->id] = 0;
    m->g->hi[x->id] = max_i64(x->extent - 1, 0);
    int stages = at + 1 == b->nindex && !n->unroll ? stage_count(m, b) : 0;
    if (stages > 1) stage_add(m, b, x->id, stages);
    m->serial++;
    GpuNode *body = map_loop(m, b, at + 1);
    m->serial--;
    vec_push(m->arena, &n->child, body);
    if (!stages) return n;
    return stages > 1 ? stage_pipeline(m, b, n, stages) : stage_first(m, b, n);
}

static GpuNode *thread_loop(Map *m, const Block *b, int at, GpuAxis axis) {
    unsigned before = m->threads;
    const Affine *id = map_hw(m, axis), *guard = NULL;
    int64_t extent = b->index[at].extent;
    if (extent < m->k->size[axis]) guard = affine_sub(m->x, affine_const(m->x, extent - 1), id);
    m->threads |= 1u << axis;
    m->clustered |= axis == GPU_CLUSTER && m->k->size[axis] > 1;
    GpuNode *n = bind(m, b, at, id, guard);
    m->threads = before;
    return n;
}

GpuNode *map_loop(Map *m, const Block *b, int at) {
    GpuAxis axis;
    if (at == b->nindex) return map_body(m, b);
    const Index *x = &b->index[at];
    if (x->passed) return bind(m, b, at, map_affine(m, x->passed), NULL);
    if (!m->plain && divides(b->kind) && nest_axis(b, &axis) && !(m->threads >> axis & 1) &&
        x->extent <= m->k->size[axis] && (nest_independent(m, b, at) || (m->inside >> axis & 1)))
        return thread_loop(m, b, at, axis);
    return map_serial(m, b, at);
}

static GpuNode *map_block(Map *m, const Block *b) {
    Band band;
    if (!b->nindex) return map_body(m, b);
    GpuNode *sum = meet_loop(m, b);
    if (sum) return sum;
    if (!m->plain && (map_axes(m) & ~m->threads) && !nest_has(&b->node, is_thread)) {
        band_find(m, b, &band);
        if (band.total > 1 && (!m->inside || stage_leaf(m, &b->node)))
            return band_divide(m, b, &band);
    }
    return map_loop(m, b, 0);
}

GpuNode *map_node(Map *m, const Node *node) {
    const Block *b = as_block(node);
    GpuNode *n = b ? map_block(m, b) : map_leaf(m, (const Leaf *)node);
    if (!n->from) n->from = node;
    return n;
}

// --- Trees -------------------------------------------------------------------------------------

// Adds 16 bytes to the rows of shared tiles without a swizzle whose size is an even multiple of 16
// bytes. Neighbours of a column are then in different banks, and vectors stay aligned.
static void pad_tiles(Arena *arena, Tree *t) {
    enum { PADDING = 16 };
    for (int i = t->nargs; i < t->buffers.n; i++) {
        Buffer *b = &t->buffers.at[i];
        int bytes = type_info[b->type].bytes, last = b->rank - 1;
        if (b->home != HOME_SHARED || b->swizzle || b->rank < 2 || bytes < 4 ||
            b->stride[last] != 1)
            continue;
        if (b->size[last] * bytes % (2 * PADDING) || b->size[last] == 0) continue;
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

GpuProgram *gpu_map(Arena *arena, const Tree *t, const char *name, const GpuMachine *machine,
                    DiagList *diags) {
    GpuProgram *g = arena_new(arena, GpuProgram);
    g->arena = arena;
    g->machine = machine;
    g->name = c_identifier(arena, name);
    g->tree = tree_fork(arena, tree_expand(t));
    gpu_edges(arena, g->tree);
    pad_tiles(arena, g->tree);
    g->hw = g->tree->nindices;
    g->nids = g->hw + GPU_AXES;
    int room = g->nids;
    tree_walk(g->tree, count_nodes, &room); // each divided nest adds an index
    g->scratch_at = arena_new_n(arena, int64_t, g->tree->buffers.n);
    for (int i = 0; i < g->tree->buffers.n; i++) g->scratch_at[i] = -1;
    g->lo = arena_new_n(arena, int64_t, room);
    g->hi = arena_new_n(arena, int64_t, room);
    Map m = {.g = g, .t = g->tree, .x = g->tree->exprs, .arena = arena, .diags = diags};
    m.value = arena_new_n(arena, const Affine *, room);
    m.stage_of = arena_new_n(arena, int, g->tree->buffers.n);
    map_top(&m, &g->tree->root->node, g->name);
    return m.failed ? NULL : g;
}
