// Asynchronous copies: buffers with several stages, which are filled some iterations before their
// use.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"

const Leaf *stage_leaf(const Map *m, const Node *n) {
    Leaves all = {0};
    nest_leaves(m->arena, n, &all);
    const Leaf *leaf = all.n == 1 ? all.at[0] : NULL;
    if (!leaf || leaf->op != REDUCE_ASSIGN || leaf->value->kind != EXPR_READ) return NULL;
    bool plain = !leaf->value->access->has_read && !leaf->write->has_read;
    return plain && !map_checks(m, leaf) ? leaf : NULL;
}

static bool kernel_writes(const Map *m, int buffer) {
    Leaves all = {0};
    nest_leaves(m->arena, m->k->nest, &all);
    for (int i = 0; i < all.n; i++)
        if (all.at[i]->write->tensor == buffer) return true;
    return false;
}

// The buffer that a nest fills with elements that the kernel never writes; -1: the nest does
// something else.
static int stage_buffer(const Map *m, const Node *n) {
    const Leaf *leaf = stage_leaf(m, n);
    if (!leaf) return -1;
    int from = leaf->value->access->tensor, to = leaf->write->tensor;
    bool input = m->t->program && from < m->t->program->ninputs;
    if (!input && kernel_writes(m, from)) return -1;
    return m->t->buffers.at[from].type == m->t->buffers.at[to].type ? to : -1;
}

static bool is_staged(const Map *m, const Block *b, const Node *child) {
    int buffer = stage_buffer(m, child);
    const Buffer *of = buffer < 0 ? NULL : &m->t->buffers.at[buffer];
    if (!of || !of->async || type_info[of->type].bytes < 4) return false;
    for (int i = 0; i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    return false;
}

// The stages of the asynchronous copies at the start of the body; 0: none. Such copies fill shared
// memory, so buffers of a single thread have no stages.
int stage_count(const Map *m, const Block *b) {
    int stages = 0, n = 0;
    if (map_one_thread(m)) return 0;
    for (; n < b->nchildren && is_staged(m, b, b->child[n]); n++) {
        int s = m->t->buffers.at[stage_buffer(m, b->child[n])].stages;
        stages = n ? (int)min_i64(stages, max_i64(s, 1)) : (int)max_i64(s, 1);
    }
    for (int i = n; i < b->nchildren; i++) // the copies must come first
        if (is_staged(m, b, b->child[i])) return 0;
    return n == b->nchildren ? 0 : stages;
}

void stage_add(Map *m, const Block *b, int loop, int stages) {
    for (int i = 0; i < b->nchildren && is_staged(m, b, b->child[i]); i++) {
        int buffer = stage_buffer(m, b->child[i]);
        if (m->stage_of[buffer] == loop) continue; // several copies fill it
        Buffer *of = &m->t->buffers.at[buffer];
        int64_t *size = arena_new_n(m->arena, int64_t, of->rank + 1);
        int64_t *stride = arena_new_n(m->arena, int64_t, of->rank + 1), whole = 1;
        for (int d = 0; d < of->rank; d++) {
            size[d + 1] = of->size[d];
            stride[d + 1] = of->stride[d];
            whole = max_i64(whole, of->size[d] * of->stride[d]);
        }
        size[0] = stages;
        int64_t unit = swizzle_unit(gpu_swizzle(of, 0)) / type_info[of->type].bytes;
        unit = max_i64(unit, 4);
        stride[0] = ceil_div(whole, unit) * unit;
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

// A copy of the nodes in which the loop's index has this value. `guard`, if not NULL, is added to
// all leaves.
static GpuNode *node_at(Map *m, const GpuNode *n, int loop, const Affine *value,
                        const Affine *guard) {
    GpuNode *c = arena_new(m->arena, GpuNode);
    *c = *n;
    c->child.at = NULL;
    c->child.n = c->child.cap = 0;
    c->guard.at = c->where.at = NULL;
    c->guard.n = c->guard.cap = c->where.n = c->where.cap = 0;
    m->value[loop] = value;
    for (int i = 0; i < n->guard.n; i++)
        vec_push(m->arena, &c->guard, map_affine(m, n->guard.at[i]));
    for (int i = 0; i < n->where.n; i++)
        vec_push(m->arena, &c->where, map_affine(m, n->where.at[i]));
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

static GpuNode *waiting(Map *m, int groups) {
    GpuNode *n = map_new(m, GPU_WAIT);
    n->stages = groups;
    return n;
}

static int count_copies(const Map *m, const Block *b) {
    int n = 0;
    while (n < b->nchildren && is_staged(m, b, b->child[n])) n++;
    return n;
}

// One stage: the iteration starts its copies, and all threads wait for them.
GpuNode *stage_first(Map *m, const Block *b, GpuNode *loop) {
    GpuNode *body = loop->child.at[0], *seq = map_new(m, GPU_SEQ);
    int copies = count_copies(m, b);
    for (int i = 0; i < body->child.n; i++) {
        if (i < copies) mark_async(body->child.at[i]);
        map_push(m, seq, body->child.at[i]);
        if (i != copies - 1) continue;
        map_push(m, seq, map_new(m, GPU_COMMIT));
        map_push(m, seq, waiting(m, 0));
    }
    loop->child.at[0] = seq;
    return loop;
}

// Iteration i starts the copies of iteration i + stages - 1. One barrier per iteration ensures that
// the copies for i have arrived, and that no thread still reads the stage that is filled next.
GpuNode *stage_pipeline(Map *m, const Block *b, GpuNode *loop, int stages) {
    GpuNode *body = loop->child.at[0], *seq = map_new(m, GPU_SEQ), *all = map_new(m, GPU_SEQ);
    int copies = count_copies(m, b), ahead = stages - 1;
    for (int i = 0; i < copies; i++) mark_async(body->child.at[i]);
    if (m->serial) map_push(m, all, map_new(m, GPU_BARRIER));
    for (int s = 0; s < ahead; s++) {
        for (int i = 0; i < copies && s < loop->extent; i++)
            map_push(m, all, node_at(m, body->child.at[i], loop->id, affine_const(m->x, s), NULL));
        map_push(m, all, map_new(m, GPU_COMMIT));
    }
    const Affine *next = affine_add_const(m->x, affine_iter(m->x, loop->id), ahead);
    const Affine *guard = affine_sub(m->x, affine_const(m->x, loop->extent - 1), next);
    map_push(m, seq, waiting(m, stages - 2));
    map_push(m, seq, map_new(m, GPU_BARRIER));
    for (int i = 0; i < copies; i++)
        map_push(m, seq, node_at(m, body->child.at[i], loop->id, next, guard));
    map_push(m, seq, map_new(m, GPU_COMMIT));
    for (int i = copies; i < body->child.n; i++) map_push(m, seq, body->child.at[i]);
    loop->child.at[0] = seq;
    loop->stages = stages;
    map_push(m, all, loop);
    return all;
}
