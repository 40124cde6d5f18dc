// Finds idle guards, which need not be tested. In a tile that extends beyond the result, threads
// compute elements that do not exist. Such an element is in a register, and the guard on its store
// prevents it from reaching memory:
//
//     if (m < M && n < N) sum += A[m][k]*B[k][n]        sum += A[m][k]*B[k][n]
//     ...                                          ->   ...
//     if (m < M && n < N) C[m][n] = sum                 if (m < M && n < N) C[m][n] = sum
//
// A guard of a computation is idle if it also guards the store of every element that is computed
// below it, and if the computation is harmless for any operands: it reads shared memory and
// registers inside their buffers, and only adds and multiplies. Border tiles then have the same
// straight-line code as full tiles; only their copies and stores have guards.
#include "code/ptx/ptx_impl.h"

enum { ANSWERS = 256 };

// What is known about a guard without unrolled loops. Instances have few different ones.
typedef struct KnownGuard {
    const Affine *guard;
    bool holds;
} KnownGuard;

typedef struct IdleSearch {
    KernelWriter *w;
    KeepsGuard *keeps;
    void *user;
    VEC(IdleGuard) pair; // guards that may be idle, with their nodes
    VEC(bool) refuted;   // per pair: the guard is not idle
    VEC(int) path;       // pairs of the surrounding nodes
    KnownGuard *answer;  // by the hash of the guard
    bool *matters;       // per id: an unrolled loop whose iterations may differ
    bool last;           // of the other loops, see the last iteration
    const GpuNode *leaf; // the last one that may_run was asked about, and its answer
    bool may;
} IdleSearch;

bool guard_is_idle(const KernelWriter *w, const GpuNode *n, const Affine *a) {
    for (int i = 0; i < w->idle.n; i++)
        if (w->idle.at[i].node == n && w->idle.at[i].guard == a) return true;
    return false;
}

static bool is_inside(const KernelWriter *w, const Access *a) {
    const Buffer *b = &w->t->buffers.at[a->tensor];
    for (int d = 0; d < a->rank; d++) {
        int64_t lo, hi;
        if (!affine_bounds(a->sub[d], w->g->lo, w->g->hi, &lo, &hi) || lo < 0 || hi >= b->size[d])
            return false;
    }
    return !a->has_read;
}

static bool may_read(const KernelWriter *w, const Access *a) {
    GpuSpace space = w->k->buffer[a->tensor].space;
    return (space == GPU_SHARED || space == GPU_REGISTER) && is_inside(w, a);
}

// Sums and products of floats: an undefined operand only makes the result undefined.
static bool is_harmless(const KernelWriter *w, const Expr *e) {
    if (e->kind == EXPR_CONST) return true;
    if (e->kind == EXPR_READ) return may_read(w, e->access);
    if (e->kind != EXPR_OP || !type_is_float(e->type)) return false;
    if (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_MUL && e->op != OP_CAST) return false;
    for (int i = 0; i < e->n; i++)
        if (!type_is_float(e->arg[i]->type) || !is_harmless(w, e->arg[i])) return false;
    return true;
}

static bool may_run(const KernelWriter *w, const GpuNode *n) {
    return !n->single && !n->async && n->vector == 1 && is_harmless(w, n->leaf->value);
}

static bool holds(IdleSearch *d, const Affine *guard) {
    KnownGuard *k = &d->answer[hash_mix(0, (uint64_t)(uintptr_t)guard) % ANSWERS];
    if (k->guard != guard) *k = (KnownGuard){guard, guard_known(d->w, guard) == ANSWER_YES};
    return k->holds;
}

static void see_leaf(IdleSearch *d, const GpuNode *n) {
    KernelWriter *w = d->w;
    if (leaf_skipped(w, n->leaf)) return;
    if (d->leaf != n) {
        d->leaf = n;
        d->may = may_run(w, n);
    }
    for (int i = 0; i < d->path.n; i++) {
        int k = d->path.at[i];
        if (d->refuted.at[k]) continue;
        const Affine *a = affine_fixed(w, d->pair.at[k].guard);
        if (holds(d, a)) continue; // of this instance
        d->refuted.at[k] = !d->may || !d->keeps(w, n, a, d->user);
    }
}

static bool find_pairs(IdleSearch *d, const GpuNode *n) {
    bool plain = n->kind <= GPU_LEAF;
    int first = d->pair.n;
    for (int i = 0; i < n->guard.n; i++)
        if (!guard_always(d->w, n->guard.at[i]))
            vec_push(d->w->arena, &d->pair, ((IdleGuard){n, n->guard.at[i]}));
    int last = d->pair.n;
    for (int i = 0; i < n->child.n; i++) plain &= find_pairs(d, n->child.at[i]);
    while (d->refuted.n < d->pair.n) vec_push(d->w->arena, &d->refuted, false);
    // Not if there is a barrier or another wait below.
    for (int k = first; k < last; k++) d->refuted.at[k] |= !plain;
    return plain;
}

// Does the loop's index occur in a guard, or in an element that is written below?
static bool loop_matters(const IdleSearch *d, const GpuNode *n, int id) {
    for (int k = 0; k < d->pair.n; k++)
        if (!d->refuted.at[k] && affine_uses_iter(d->pair.at[k].guard, id)) return true;
    if (n->kind == GPU_LEAF && access_uses_iter(n->leaf->write, id)) return true;
    for (int i = 0; i < n->child.n; i++)
        if (loop_matters(d, n->child.at[i], id)) return true;
    return false;
}

static void find_loops(IdleSearch *d, const GpuNode *n) {
    if (n->kind == GPU_LOOP && n->unroll) d->matters[n->id] = loop_matters(d, n, n->id);
    for (int i = 0; i < n->child.n; i++) find_loops(d, n->child.at[i]);
}

// Visits every instance of the leaves below, with the guards around it.
static void see_instances(IdleSearch *d, const GpuNode *n) {
    KernelWriter *w = d->w;
    int before = d->path.n;
    for (int k = 0; k < d->pair.n; k++)
        if (d->pair.at[k].node == n && !d->refuted.at[k]) vec_push(w->arena, &d->path, k);
    if (n->kind == GPU_LEAF && d->path.n) see_leaf(d, n);
    bool unrolled = n->kind == GPU_LOOP && n->unroll;
    bool all = unrolled && d->matters[n->id];
    int64_t first = unrolled && !all && d->last ? n->extent - 1 : 0;
    int64_t end = all ? n->extent : first + 1;
    for (int64_t t = first; t < end; t++) {
        if (unrolled) index_set(w, n->id, t);
        for (int i = 0; i < n->child.n; i++) see_instances(d, n->child.at[i]);
    }
    d->path.n = before;
}

void idle_find(KernelWriter *w, const GpuNode *root, KeepsGuard *keeps, void *user) {
    IdleSearch d = {.w = w, .keeps = keeps, .user = user};
    for (int i = 0; i < root->child.n; i++) find_pairs(&d, root->child.at[i]);
    if (!d.pair.n) return;
    d.answer = arena_new_n(w->arena, KnownGuard, ANSWERS);
    d.matters = arena_new_n(w->arena, bool, w->g->nids);
    // The first and the last instances alone refute most guards.
    for (int i = 0; i < root->child.n; i++) see_instances(&d, root->child.at[i]);
    d.last = true;
    for (int i = 0; i < root->child.n; i++) see_instances(&d, root->child.at[i]);
    d.last = false;
    for (int i = 0; i < root->child.n; i++) find_loops(&d, root->child.at[i]);
    for (int i = 0; i < root->child.n; i++) see_instances(&d, root->child.at[i]);
    for (int k = 0; k < d.pair.n; k++)
        if (!d.refuted.at[k]) vec_push(w->arena, &w->idle, d.pair.at[k]);
}
