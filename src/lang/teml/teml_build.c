// build (equation 19): converts an assignment to the perfect nest of its iterators.
//
//     C[i1, i2] = C[i1, i2] + A[i1, i3]*B[i3, i2]  for i1, i2, i3: C[i1, i2] += A*B
//     C = S*vcontract(A, B)                        for i1, i2, k: {if k = 0: C = 0; C += S*A*B}
//     C = S + vcontract(A, B)                      for i1, i2: {T = 0; for k: T += A*B; C = S + T}
//
// A contraction that is only a factor of products is summed in place, with its loops innermost; any
// other contraction gets an accumulator.
#include "lang/teml/teml.h"

typedef VEC(const Node *) Nodes;
typedef VEC(Index) Indices;

typedef struct TemlNest {
    Teml *t;
    TemlAssign *a;
    Indices path;        // the loops around the current node
    const Affine **iter; // per iterator number: its value
    VEC(int) alloc;      // accumulators
} TemlNest;

static bool reads(const Teml *t, const Expr *e, int tensor) {
    if (e->kind == EXPR_READ && e->access->tensor >= VIRTUAL)
        return reads(t, t->sums.at[e->access->tensor - VIRTUAL].body, tensor);
    bool found = e->kind == EXPR_READ && e->access->tensor == tensor;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) found |= reads(t, e->arg[i], tensor);
    return found;
}

bool teml_accumulates(const Teml *t, const TemlAssign *a, Reduce *op, const Expr **e) {
    const Expr *v = a->value;
    *op = REDUCE_ASSIGN;
    *e = v;
    if (v->kind != EXPR_OP || (v->op != OP_ADD && v->op != OP_SUB && v->op != OP_MUL)) return false;
    int old = -1;
    for (int i = v->op == OP_SUB ? 0 : 1; i >= 0; i--)
        if (v->arg[i]->kind == EXPR_READ && v->arg[i]->access == a->left) old = i;
    if (old < 0 || reads(t, v->arg[1 - old], a->tensor)) return false;
    *op = v->op == OP_MUL ? REDUCE_MUL : REDUCE_ADD;
    *e = v->op == OP_SUB ? expr_unary(t->x, OP_NEG, v->arg[1]) : v->arg[1 - old];
    return true;
}

// --- Leaves ------------------------------------------------------------------------------------

static const Affine *const *path_iters(TemlNest *n) {
    const Affine **at = arena_new_n(n->t->arena, const Affine *, n->path.n + 1);
    for (int i = 0; i < n->path.n; i++) at[i] = affine_iter(n->t->x, n->path.at[i].id);
    return at;
}

// A leaf with a unique number, which identifies it after transformations.
static const Node *make_leaf(TemlNest *n, LeafRole role, Reduce op, const Access *write,
                             const Expr *value) {
    Teml *t = n->t;
    Leaf leaf = {.node.ndeps = -1, .role = role, .op = op, .write = write, .value = value};
    leaf.stmt = t->parts->stmts.n;
    leaf.iter = path_iters(n);
    Stmt *s = program_stmt(t->parts, n->a->range);
    s->label = t->base->buffers.at[write->tensor].name;
    s->niters = n->path.n;
    return &tree_leaf(t->base, &leaf)->node;
}

static const Expr *zero(TemlNest *n, Type type) { return expr_int(n->t->x, type, 0); }

static Index push_loop(TemlNest *n, int iter, int64_t extent) {
    Teml *t = n->t;
    Index x = tree_index(t->base, t->iters.at[iter], extent);
    vec_push(t->arena, &n->path, x);
    return x;
}

// Wraps the nodes in the loops path[from ...].
static const Node *wrap(TemlNest *n, int from, const Nodes *body, bool allocates) {
    Nodes inside = *body;
    for (int i = n->path.n - 1; i >= from; i--) {
        Block b = {.node.ndeps = -1, .nindex = 1, .index = &n->path.at[i]};
        if (allocates && i == n->path.n - 1) b.nallocs = n->alloc.n, b.alloc = n->alloc.at;
        Nodes one = {0};
        vec_push(n->t->arena, &one, &tree_block(n->t->base, &b, inside.at, inside.n)->node);
        inside = one;
    }
    return inside.at[0];
}

// --- Contractions ------------------------------------------------------------------------------

static const Expr *expand(TemlNest *n, const Expr *e, bool product, Nodes *before);

// The body of a contraction at these subscripts; its reduced iterators become loops of the path.
static const Expr *inlined(TemlNest *n, const Access *a) {
    Teml *t = n->t;
    TemlSum sum = t->sums.at[a->tensor - VIRTUAL];
    const Affine **iters = arena_new_n(t->arena, const Affine *, t->iters.n + 1);
    for (int d = 0; d < sum.rank; d++) iters[sum.result[d]] = a->sub[d];
    for (int i = 0; i < sum.nreduced; i++) {
        Index x = push_loop(n, sum.reduced[i], sum.extent[i]);
        iters[sum.reduced[i]] = affine_iter(t->x, x.id);
    }
    return expr_substitute(t->x, sum.body, iters, NULL, NULL, NULL);
}

static const Expr *accumulated(TemlNest *n, const Expr *e, Nodes *before) {
    Teml *t = n->t;
    Name name = name_of(t->names, arena_printf(t->arena, "sum%d", t->base->buffers.n - t->nreal));
    Buffer like = {.name = name, .type = e->type, .home = HOME_AUTO, .tensor = -1, .bank_dim = -1};
    int buffer = tree_buffer(t->base, &like);
    vec_push(t->arena, &n->alloc, buffer);
    const Access *place = access_make(t->x, buffer, 0, NULL);
    vec_push(t->arena, before, make_leaf(n, LEAF_UPDATE, REDUCE_ASSIGN, place, zero(n, e->type)));
    int from = n->path.n;
    Nodes inside = {0};
    const Expr *body = expand(n, inlined(n, e->access), true, &inside);
    vec_push(t->arena, &inside, make_leaf(n, LEAF_UPDATE, REDUCE_ADD, place, body));
    vec_push(t->arena, before, wrap(n, from, &inside, false));
    n->path.n = from;
    return expr_read(t->x, e->type, place);
}

// The expression without contractions. Where a contraction is only a factor of products
// (`product`), its loops are added to the path; otherwise nodes that compute the sum are added to
// `before`.
static const Expr *expand(TemlNest *n, const Expr *e, bool product, Nodes *before) {
    if (e->kind == EXPR_READ && e->access->tensor >= VIRTUAL)
        return product ? expand(n, inlined(n, e->access), true, before) : accumulated(n, e, before);
    if (e->kind != EXPR_OP) return e;
    const Expr *arg[3] = {0};
    bool factor = product && (e->op == OP_MUL || e->op == OP_DIV);
    for (int i = 0; i < e->n && i < 3; i++)
        arg[i] = expand(n, e->arg[i], factor && (e->op == OP_MUL || i == 0), before);
    return expr_op(n->t->x, e->op, e->type, e->n, arg);
}

// Is there a contraction that `expand` would sum in place?
static bool has_factor(const Expr *e) {
    if (e->kind == EXPR_READ) return e->access->tensor >= VIRTUAL;
    if (e->kind != EXPR_OP || (e->op != OP_MUL && e->op != OP_DIV)) return false;
    return has_factor(e->arg[0]) || (e->op == OP_MUL && has_factor(e->arg[1]));
}

// --- Nests -------------------------------------------------------------------------------------

// C = 0, guarded to run in the first iteration of the loops path[from ...].
static const Node *first_time(TemlNest *n, int from, const Access *left, Type type) {
    Teml *t = n->t;
    const Affine **first = arena_new_n(t->arena, const Affine *, n->path.n - from + 1);
    for (int i = from; i < n->path.n; i++)
        first[i - from] = affine_scale(t->x, affine_iter(t->x, n->path.at[i].id), -1);
    const Node *leaf = make_leaf(n, LEAF_INIT, REDUCE_ASSIGN, left, zero(n, type));
    return &tree_guard(t->base, first, n->path.n - from, leaf)->node;
}

static const Node *make_nest(TemlNest *n) {
    Teml *t = n->t;
    TemlAssign *a = n->a;
    Reduce op;
    const Expr *e;
    Nodes body = {0}, before = {0};
    teml_accumulates(t, a, &op, &e);
    n->iter = arena_new_n(t->arena, const Affine *, t->iters.n + 1);
    for (int i = 0; i < a->niters; i++) {
        Index x = push_loop(n, a->iter[i], a->extent[i]);
        n->iter[a->iter[i]] = affine_iter(t->x, x.id);
    }
    const Access *left = access_substitute(t->x, a->left, n->iter, NULL, NULL, NULL);
    e = expr_substitute(t->x, e, n->iter, NULL, NULL, NULL);
    bool sums = op == REDUCE_ASSIGN && has_factor(e) && !reads(t, a->value, a->tensor);
    int outer = n->path.n;
    e = expand(n, e, sums || op == REDUCE_ADD, &before);
    if (sums) {
        vec_push(t->arena, &body, first_time(n, outer, left, e->type));
        op = REDUCE_ADD;
    }
    for (int i = 0; i < before.n; i++) vec_push(t->arena, &body, before.at[i]);
    vec_push(t->arena, &body, make_leaf(n, LEAF_UPDATE, op, left, e));
    if (n->path.n) return wrap(n, 0, &body, true);
    Block b = {.node.ndeps = -1, .nallocs = n->alloc.n, .alloc = n->alloc.at};
    if (body.n == 1) return body.at[0];
    return &tree_block(t->base, &b, body.at, body.n)->node;
}

TemlBuilt *teml_build_nest(Teml *t, TemlAssign *a) {
    if (a->built) return a->built;
    TemlNest n = {.t = t, .a = a};
    a->built = arena_new(t->arena, TemlBuilt);
    *a->built = (TemlBuilt){a, make_nest(&n)};
    return a->built;
}
