// The shape of a Tree: indices in scope and affine, ranges and sizes that fit, buffers in scope.
// The rest of the verifier relies on it.
#include "verify/verify_impl.h"

#include "base/checked.h"

typedef struct VerifyShape {
    Verifier *v;
    const Tree *t;
    bool *scope; // per index id
    bool *live;  // per buffer
    int64_t *lo, *hi;
    int depth, nindex;
    int inputs; // arguments that are only read
    bool ok;
    const Node *node;          // the current one
    const Index *const *known; // per index id, to name it
} VerifyShape;

static void fault(VerifyShape *s, DiagId id, const char *a, long long b) {
    diag_report(s->v->diags, tree_range(s->t, s->node), id, a, b);
    s->v->refused = true;
    s->ok = false;
}

static void check_affine(VerifyShape *s, const Affine *a);

static void check_access(VerifyShape *s, const Access *a) {
    if (a->tensor < 0 || a->tensor >= s->t->buffers.n) {
        fault(s, DIAG_TREE_NO_BUFFER, "a leaf", a->tensor);
        return;
    }
    const Buffer *b = &s->t->buffers.at[a->tensor];
    if (!s->live[a->tensor]) fault(s, DIAG_TREE_BUFFER_SCOPE, b->name, a->tensor);
    if (a->rank != b->rank) fault(s, DIAG_TREE_RANK, b->name, a->rank);
    for (int d = 0; d < a->rank; d++) check_affine(s, a->sub[d]);
}

static bool divides(const Atom *t) { return affine_is_const(t->b) && t->b->constant >= 1; }

static void check_atom(VerifyShape *s, const Atom *t) {
    switch (t->kind) {
    case ATOM_ITER:
        if (t->index < 0 || t->index >= s->t->nindices || !s->scope[t->index])
            fault(s, DIAG_TREE_INDEX_SCOPE, "an affine", t->index);
        return;
    case ATOM_READ: check_access(s, t->read); return;
    case ATOM_DIV:
    case ATOM_MOD:
        if (!divides(t)) not_proven(s->v, s->node, "an index divides by what is not a constant");
        break;
    case ATOM_PARAM: fault(s, DIAG_TREE_NOT_AFFINE, "a size that is not bound", t->index); return;
    case ATOM_PROD: not_proven(s->v, s->node, "an index is a product of indices"); break;
    default: break;
    }
    check_affine(s, t->a);
    check_affine(s, t->b);
}

static void check_affine(VerifyShape *s, const Affine *a) {
    for (int i = 0; i < a->n && s->ok; i++) check_atom(s, a->term[i].atom);
    if (!s->ok || affine_reach(a, s->lo, s->hi) <= AFFINE_REACH_TREE) return;
    fault(s, DIAG_TREE_OVERFLOW, "an index expression", 56);
}

static void check_expr(VerifyShape *s, const Expr *e) {
    if (e->kind == EXPR_READ) check_access(s, e->access);
    if (e->kind == EXPR_INDEX) check_affine(s, e->index);
    for (int i = 0; e->kind == EXPR_OP && i < e->n && s->ok; i++) check_expr(s, e->arg[i]);
}

static void check_index(VerifyShape *s, const Index *x) {
    const char *name = x->name ? x->name : "i";
    if (x->id < 0 || x->id >= s->t->nindices || s->scope[x->id])
        fault(s, DIAG_TREE_INDEX_TWICE, name, x->id);
    else if (x->extent < 0 || (x->passed && x->extent != 1))
        fault(s, DIAG_TREE_EXTENT, name, (long long)x->extent);
    if (!s->ok) return;
    s->lo[x->id] = 0;
    s->hi[x->id] = max_i64(x->extent - 1, 0);
    if (x->passed) {
        check_affine(s, x->passed);
        if (!s->ok) return;
        if (x->passed->has_read) fault(s, DIAG_TREE_NOT_AFFINE, name, x->id);
        if (s->ok) affine_bounds(x->passed, s->lo, s->hi, &s->lo[x->id], &s->hi[x->id]);
    }
    s->scope[x->id] = true;
}

// Bytes and distances fit.
static void check_buffer(VerifyShape *s, const Buffer *b) {
    int64_t bytes = type_info[b->type].bytes, reach = 0;
    bool fits = true;
    for (int d = 0; d < b->rank && fits; d++) {
        fits = b->size[d] >= 0 && checked_mul(bytes, b->size[d], &bytes);
        if (b->stride && fits) fits = checked_fma(max_i64(b->size[d] - 1, 0), b->stride[d], &reach);
    }
    if (!fits) fault(s, DIAG_TREE_OVERFLOW, b->name, 64);
}

static void check_views(VerifyShape *s, const Block *b) {
    for (int i = 0; i < b->nviews && s->ok; i++) {
        const BlockView *view = &b->view[i];
        if (view->buffer < 0 || view->buffer >= s->t->buffers.n) {
            fault(s, DIAG_TREE_NO_BUFFER, "a view", view->buffer);
            return;
        }
        const Buffer *buffer = &s->t->buffers.at[view->buffer];
        if (view->dir != VIEW_NONE && !s->live[view->buffer])
            fault(s, DIAG_TREE_BUFFER_SCOPE, buffer->name, view->buffer);
        for (int d = 0; d < buffer->rank && view->offset && s->ok; d++)
            check_affine(s, view->offset[d]);
    }
}

static void check_node(VerifyShape *s, const Node *node);

static void check_block(VerifyShape *s, const Block *b) {
    int proper = 0; // an index that is passed in is not a loop
    for (int i = 0; i < b->nindex; i++) proper += !b->index[i].passed;
    if (++s->depth > 2 * TREE_MAX_DEPTH || s->nindex + proper > TREE_MAX_DEPTH)
        fault(s, DIAG_TREE_TOO_DEEP, "blocks", TREE_MAX_DEPTH);
    s->nindex += proper;
    int entered = 0;
    while (entered < b->nindex && s->ok) check_index(s, &b->index[entered++]);
    for (int i = 0; i < b->nallocs && s->ok; i++) {
        int n = b->alloc[i];
        if (n < s->t->nargs || n >= s->t->buffers.n)
            fault(s, DIAG_TREE_NO_BUFFER, "an allocation", n);
        else if (s->live[n])
            fault(s, DIAG_TREE_BUFFER_TWICE, s->t->buffers.at[n].name, n);
        else
            s->live[n] = true;
    }
    for (int c = 0; c < b->nconstraints && s->ok; c++) check_affine(s, b->constraint[c]);
    check_views(s, b);
    for (int i = 0; i < b->nchildren && s->ok; i++) check_node(s, b->child[i]);
    for (int i = 0; i < b->nallocs && s->ok; i++) s->live[b->alloc[i]] = false;
    for (int i = 0; i < entered && s->ok; i++) s->scope[b->index[i].id] = false;
    s->nindex -= proper;
    s->depth--;
}

static void check_node(VerifyShape *s, const Node *node) {
    const Leaf *leaf = as_leaf(node);
    s->node = node;
    if (!leaf) {
        check_block(s, (const Block *)node);
        return;
    }
    check_access(s, leaf->write);
    if (s->ok && leaf->write->tensor < s->inputs)
        fault(s, DIAG_TREE_WRITES_INPUT, s->t->buffers.at[leaf->write->tensor].name,
              leaf->write->tensor);
    if (s->ok) check_expr(s, leaf->value);
}

bool verify_shape(Verifier *v, const Tree *t) {
    Arena *arena = v->f.arena;
    VerifyShape s = {.v = v, .t = t, .ok = true};
    if (t->program) s.inputs = t->program->ninputs;
    s.scope = arena_new_n(arena, bool, t->nindices);
    s.live = arena_new_n(arena, bool, t->buffers.n);
    s.lo = arena_new_n(arena, int64_t, 2 * t->nindices);
    s.hi = s.lo + t->nindices;
    for (int i = 0; i < t->nargs; i++) s.live[i] = true;
    for (int i = 0; i < t->buffers.n && s.ok; i++) check_buffer(&s, &t->buffers.at[i]);
    if (s.ok) check_node(&s, &t->root->node);
    return s.ok;
}
