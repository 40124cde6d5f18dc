// Reductions over threads that need no initial values in memory. Threads combine their partial
// results in registers, so the first value of an element is a constant there:
//
//     init C[m, n] = 0                             reduce C[m, n] = 0 + A[m, k]*B[k, n]
//     barrier                              ->
//     reduce C[m, n] += A[m, k]*B[k, n]
//
// This saves a barrier and a round trip to memory. It is legal if the statement has no other leaves
// in the kernel that write the buffer, if nothing touches the buffer in between, if every
// loop around them selects other elements, and if the statement writes every element that it
// initialises: its subscripts are different iterators over whole dimensions, and it has no
// constraints.
#include "code/gpu/gpu_impl.h"

typedef struct BufferUse {
    int buffer, stmt;
    int n;        // leaves of the statement that write it
    bool touched; // read, or written
} BufferUse;

static void see_touch(void *user, const Access *a, bool guarded) {
    (void)guarded;
    BufferUse *w = user;
    w->touched |= a->tensor == w->buffer;
}

static void count_writers(const GpuNode *n, BufferUse *w) {
    for (int i = 0; i < n->child.n; i++) count_writers(n->child.at[i], w);
    if (n->kind != GPU_LEAF) return;
    const Access *to = n->leaf->write;
    w->n += to->tensor == w->buffer && n->leaf->stmt == w->stmt;
    w->touched |= to->tensor == w->buffer;
    for (int d = 0; d < to->rank; d++) affine_visit_accesses(to->sub[d], see_touch, w);
    expr_visit_accesses(n->leaf->value, see_touch, w);
}

static bool touches(const GpuNode *n, int buffer) {
    BufferUse w = {.buffer = buffer};
    count_writers(n, &w);
    return w.touched;
}

// The leaf below that initialises elements, if it is the only one; else NULL.
static const GpuNode *only_init(const GpuNode *n) {
    while (n->kind != GPU_LEAF) {
        if (n->kind > GPU_LEAF || n->child.n != 1) return NULL;
        n = n->child.at[0];
    }
    const Leaf *leaf = n->leaf;
    return leaf->role == LEAF_INIT && leaf->op == REDUCE_ASSIGN && leaf->value->kind == EXPR_CONST
               ? n
               : NULL;
}

static GpuNode *meeting_leaf(GpuNode *n, int buffer, int stmt) {
    if (n->kind == GPU_LEAF)
        return n->meet && n->leaf->op != REDUCE_ASSIGN && n->leaf->write->tensor == buffer &&
                       n->leaf->stmt == stmt
                   ? n
                   : NULL;
    GpuNode *found = NULL;
    for (int i = 0; i < n->child.n && !found; i++)
        found = meeting_leaf(n->child.at[i], buffer, stmt);
    return found;
}

// Does the statement write every element of the tensor? Its buffer may be smaller: the part of one
// block.
static bool writes_all(const Map *m, const Leaf *leaf) {
    const Program *p = m->t->program;
    if (!p || leaf->stmt < 0 || leaf->stmt >= p->stmts.n) return false;
    const Stmt *s = &p->stmts.at[leaf->stmt];
    const Access *to = s->write;
    uint64_t seen = 0;
    if (s->nconstraints || s->unproven || to->tensor != leaf->write->tensor) return false;
    for (int d = 0; d < to->rank; d++) {
        const Affine *a = to->sub[d];
        if (a->n != 1 || a->constant || a->term[0].coef != 1 || a->term[0].atom->kind != ATOM_ITER)
            return false;
        int i = a->term[0].atom->index;
        const Iter *x = &s->iter[i];
        if (i >= 64 || seen >> i & 1 || x->reduction || !affine_is(x->lo, 0) ||
            iter_extent(x) != tensor_size(&p->tensors.at[to->tensor], d))
            return false;
        seen |= UINT64_C(1) << i;
    }
    return true;
}

// The reduction behind child i of the sequence that may begin with the value of this leaf.
static GpuNode *reduction_of(const Map *m, const GpuNode *seq, int i, const GpuNode *init) {
    const Leaf *leaf = init->leaf;
    int buffer = leaf->write->tensor;
    BufferUse all = {.buffer = buffer, .stmt = leaf->stmt};
    for (i++; i < seq->child.n && !touches(seq->child.at[i], buffer); i++) {}
    if (i == seq->child.n || seq->child.at[i]->kind != GPU_REDUCE) return NULL;
    GpuNode *reduction = meeting_leaf(seq->child.at[i], buffer, leaf->stmt);
    count_writers(m->k->body, &all);
    bool is_bool = m->t->buffers.at[buffer].type == TYPE_BOOL;
    return reduction && all.n == 2 && !is_bool && writes_all(m, leaf) ? reduction : NULL;
}

// Does every loop around select other elements? One that does not is a part of the sum.
typedef struct LoopsAround {
    int id;
    const struct LoopsAround *outer;
} LoopsAround;

static bool all_select(const LoopsAround *loops, const Access *to) {
    for (; loops; loops = loops->outer)
        if (!access_uses_iter(to, loops->id)) return false;
    return true;
}

static void begin_fresh(Map *m, GpuNode *n, const LoopsAround *outer) {
    LoopsAround here = {n->id, outer};
    const LoopsAround *loops = n->kind == GPU_LOOP ? &here : outer;
    for (int i = 0; i < n->child.n; i++) {
        GpuNode *c = n->child.at[i];
        const GpuNode *init = only_init(c);
        GpuNode *reduction = init ? reduction_of(m, n, i, init) : NULL;
        if (!reduction || !all_select(loops, init->leaf->write)) {
            begin_fresh(m, c, loops);
            continue;
        }
        reduction->first = init->leaf->value;
        for (int k = i; k + 1 < n->child.n; k++) n->child.at[k] = n->child.at[k + 1];
        n->child.n--;
        i--;
    }
}

void gpu_fresh(Map *m) { begin_fresh(m, m->k->body, NULL); }
