// Converts a graph to a Program.
//
// 1. live     find the nodes that some write needs, and count their uses
// 2. fold     an element-wise op gets no statement if its only user is a reduction (or an op folded
//             into one) over the same dimensions: it is computed inside. So is the op that a
//             reduction starts from. Nothing is computed twice, and nothing large is stored
// 3. tensors  reads, writes, then a temporary for each op and place that no write can hold;
//             a post-operation shares the tensor that it updates
// 4. stmts    node by node; a view becomes subscripts of its readers
//
// Outside its input, a view has the value of its border. In a reduction of that view alone, or in a
// sum of products with it, iterations that would read there are excluded by constraints of the
// statement. Elsewhere the read becomes select(inside, read, border).
//
// Arithmetic folded into a reduction is computed in the type in which the reduction accumulates, as
// in the comprehension language.
#include "lang/graph_impl.h"

#include <string.h>

enum { MAX_ITERS = PROGRAM_MAX_ITERS + PROGRAM_MAX_RANK };

typedef struct GraphBuild {
    Graph *g;
    Program *p;
    Exprs *x; // the Program's pool
    // Per dimension:
    const Affine **size;  // in the Program's pool
    const Affine **param; // of the dimensions that stay free
    Name *iter_name;
    // Per node:
    bool *live, *folded;
    int *uses;
    int *user;          // the last live node that uses it
    int *tensor;        // -1: none
    const int **layout; // the order of dimensions in the tensor
    ViewMapping **view; // of a view, once solved
    // Of the current statement:
    const Affine **at; // per dimension: its iterator
    int niters;
    Iter *iter;
    VEC(const Affine *) constraints;
    Range range;
} GraphBuild;

static GraphNode *node(const GraphBuild *b, int x) { return &b->g->nodes.at[x]; }

// --- 1. live, 2. fold --------------------------------------------------------------------------

static void use(GraphBuild *b, int x, int user) {
    b->live[x] = true;
    b->uses[x]++;
    if (b->user[x] < user) b->user[x] = user;
}

static bool find_live(GraphBuild *b) {
    bool writes = false;
    for (int x = b->g->nodes.n - 1; x >= 0; x--) {
        const GraphNode *n = node(b, x);
        if (n->kind == NODE_WRITE) b->live[x] = writes = true;
        if (!b->live[x]) continue;
        for (int i = 0; i < n->ninputs; i++) use(b, n->input[i], x);
        if (n->pre >= 0) use(b, n->pre, x);
    }
    if (!writes) graph_report(b->g, DIAG_GRAPH_NO_WRITE);
    return writes;
}

// The dimensions that an op iterates over: its own, then those that it reduces.
static int op_dims(const GraphBuild *b, const GraphNode *n, int *out) {
    int count = n->ndims;
    memcpy(out, n->dim, (size_t)count * sizeof(int));
    for (int i = 0; i < n->ninputs; i++) {
        const GraphNode *in = node(b, n->input[i]);
        for (int k = 0; k < in->ndims; k++) {
            bool there = false;
            for (int j = 0; j < count; j++) there |= out[j] == in->dim[k];
            if (!there && count < MAX_ITERS) out[count++] = in->dim[k];
        }
    }
    return count;
}

static bool folds(const GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    if (n->kind != NODE_OP || n->reduce != REDUCE_ASSIGN || n->post || b->uses[x] != 1)
        return false;
    const GraphNode *c = node(b, b->user[x]);
    if (c->kind != NODE_OP || c->post) return false;
    if (c->pre == x) return n->ndims == c->ndims;
    int dims[MAX_ITERS];
    bool into = c->reduce != REDUCE_ASSIGN || b->folded[b->user[x]];
    return into && n->ndims == op_dims(b, c, dims);
}

static void find_folded(GraphBuild *b) {
    for (int x = b->g->nodes.n - 1; x >= 0; x--) b->folded[x] = b->live[x] && folds(b, x);
}

// --- 3. tensors --------------------------------------------------------------------------------

// The node whose tensor holds x: x itself, or the node that a chain of post-operations updates.
static int root_of(const GraphBuild *b, int x) {
    while (node(b, x)->post) x = node(b, x)->input[0];
    return x;
}

static bool has_tensor(const GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    return b->live[x] && ((n->kind == NODE_OP && !b->folded[x]) || n->kind == NODE_PLACE);
}

static int add_tensor(GraphBuild *b, Name name, const GraphNode *n, Role role, int ndims,
                      const int *dims) {
    const Affine *size[PROGRAM_MAX_RANK];
    for (int i = 0; i < ndims; i++) size[i] = b->size[dims[i]];
    int t = program_tensor(b->p, name, n->type, role, ndims, size);
    b->p->tensors.at[t].range = n->range;
    return t;
}

static bool iter_taken(const GraphBuild *b, int before, Name name) {
    for (int d = 0; d < before; d++)
        if (b->iter_name[d] == name) return true;
    return graph_find_dim(b->g, name) >= 0;
}

// A temporary and its statement have the name of their node; a numbered node has no name.
static Name temp_name(GraphBuild *b, int x) {
    const char *label = node(b, x)->label;
    bool named = label && (*label < '0' || *label > '9');
    const char *name = named ? label : arena_printf(b->p->arena, "t%d", x);
    while (program_find_tensor(b->p, name_of(b->p->names, name)) >= 0 ||
           iter_taken(b, b->g->dims.n, name_of(b->p->names, name)))
        name = arena_printf(b->p->arena, "%s_", name);
    return name_of(b->p->names, name);
}

static bool check_posts(GraphBuild *b) {
    for (int x = 0; x < b->g->nodes.n; x++) {
        const GraphNode *n = node(b, x);
        if (!b->live[x] || !n->post || b->uses[n->input[0]] == 1) continue;
        node_report(b->g, n, DIAG_GRAPH_POST_USES);
        return false;
    }
    return true;
}

// A write becomes the storage of its operand if that has none yet and the shapes agree.
static void claim(GraphBuild *b, int w) {
    const GraphNode *n = node(b, w);
    b->tensor[w] = add_tensor(b, n->name, n, ROLE_OUTPUT, n->ndims, n->dim);
    b->layout[w] = n->dim;
    int root = root_of(b, n->input[0]);
    if (!has_tensor(b, root) || b->tensor[root] >= 0 || node(b, root)->ndims != n->ndims) return;
    b->tensor[root] = b->tensor[w];
    b->layout[root] = n->dim;
}

static void add_tensors(GraphBuild *b) {
    int n = b->g->nodes.n;
    for (int x = 0; x < n; x++) {
        const GraphNode *r = node(b, x);
        if (r->kind != NODE_READ) continue;
        b->tensor[x] = add_tensor(b, r->name, r, ROLE_INPUT, r->ndims, r->dim);
        b->layout[x] = r->dim;
    }
    for (int x = 0; x < n; x++)
        if (node(b, x)->kind == NODE_WRITE) claim(b, x);
    for (int x = 0; x < n; x++) {
        int root = root_of(b, x);
        const GraphNode *r = node(b, root);
        if (!has_tensor(b, x)) continue;
        if (b->tensor[root] < 0) {
            b->tensor[root] = add_tensor(b, temp_name(b, root), r, ROLE_TEMP, r->ndims, r->dim);
            b->layout[root] = r->dim;
        }
        b->tensor[x] = b->tensor[root];
        b->layout[x] = b->layout[root];
    }
}

// --- Statements --------------------------------------------------------------------------------

static void begin_stmt(GraphBuild *b, const GraphNode *n, int ndims, const int *dims) {
    memset(b->at, 0, (size_t)b->g->dims.n * sizeof *b->at);
    b->niters = ndims;
    b->iter = arena_new_n(b->p->arena, Iter, ndims);
    b->constraints.n = 0;
    b->range = n->range;
    for (int i = 0; i < ndims; i++) {
        b->at[dims[i]] = affine_iter(b->x, i);
        b->iter[i] = (Iter){.name = b->iter_name[dims[i]],
                            .lo = affine_const(b->x, 0),
                            .hi = b->size[dims[i]],
                            .range = n->range};
    }
}

static const Access *element(GraphBuild *b, int x, const Affine *const *at) {
    const Affine *sub[PROGRAM_MAX_RANK];
    int rank = b->p->tensors.at[b->tensor[x]].rank;
    for (int i = 0; i < rank; i++) sub[i] = at[b->layout[x][i]];
    return access_make(b->x, b->tensor[x], rank, sub);
}

static Stmt *end_stmt(GraphBuild *b, const Access *write, Reduce op, bool init, const Expr *value) {
    Stmt *s = program_stmt(b->p, b->range);
    s->write = write;
    s->op = op;
    s->init = init;
    s->niters = b->niters;
    s->iter = b->iter;
    s->nconstraints = b->constraints.n;
    size_t bytes = (size_t)b->constraints.n * sizeof(Affine *);
    s->constraint = arena_copy(b->p->arena, b->constraints.at, bytes);
    s->value = value;
    return s;
}

static const Expr *zero_of(GraphBuild *b, Type type) { return expr_int(b->x, type, 0); }

static const Expr *identity_of(GraphBuild *b, Reduce op, Type type) {
    return expr_const(b->x, type, reduce_start(type, op));
}

// --- Values ------------------------------------------------------------------------------------

// The value that replaces elements of a view with border `identity` outside its input.
typedef struct Outside {
    bool skip;     // the iteration is excluded
    bool products; // also for the operands of a product
    Reduce op;     // ASSIGN: the value is 0; otherwise the identity of this reduction
} Outside;

static const Expr *value(GraphBuild *b, int x, const Affine *const *at, Type want, Outside outside);

// Is e >= 0 for all iterations and all sizes? False if that is not obvious.
static bool evident(GraphBuild *b, const Affine *e) {
    const Affine *least = affine_const(b->x, e->constant);
    for (int i = 0; i < e->n; i++) {
        const Term *t = &e->term[i];
        if (t->atom->kind == ATOM_ITER) {
            if (t->coef > 0) continue;
            const Affine *last = affine_add_const(b->x, b->iter[t->atom->index].hi, -1);
            least = affine_add(b->x, least, affine_scale(b->x, last, t->coef));
        } else if (t->atom->has_iter) {
            return false;
        } else {
            least = affine_add(b->x, least, affine_make(b->x, 0, t, 1));
        }
    }
    return affine_is(least, 0) || index_sign(least) > 0;
}

typedef VEC(const Affine *) Guards; // each >= 0

static void add_guard(GraphBuild *b, Guards *out, const Affine *e) {
    if (!evident(b, e)) vec_push(b->p->arena, out, e);
}

static const ViewMapping *view_mapping(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x), *in = node(b, n->input[0]);
    if (!b->view[x]) {
        b->view[x] = arena_new(b->g->arena, ViewMapping);
        if (!mapping_solve(b->g, n, in->ndims, in->dim, n->ndims, n->dim, b->view[x])) return NULL;
    }
    return b->view[x];
}

static const Expr *inside_test(GraphBuild *b, const Guards *guards) {
    const Expr *all = NULL;
    for (int i = 0; i < guards->n; i++) {
        const Expr *one = expr_binary(b->x, OP_GE, expr_index(b->x, TYPE_I64, guards->at[i]),
                                      zero_of(b, TYPE_I64));
        all = all ? expr_binary(b->x, OP_AND, all, one) : one;
    }
    return all;
}

static const Expr *view_border(GraphBuild *b, const GraphNode *n, Type want, Outside outside) {
    if (n->border >= 0) return value(b, n->border, NULL, want, outside);
    if (outside.op != REDUCE_ASSIGN) return identity_of(b, outside.op, want);
    return zero_of(b, want);
}

// The conditions, each >= 0, under which the element of the view exists, and the indices of its
// input.
static Guards view_guards(GraphBuild *b, int x, const ViewMapping *m, const Affine *const *at,
                          const Affine **inner) {
    const GraphNode *n = node(b, x), *in = node(b, n->input[0]);
    Guards guards = {0};
    for (int i = 0; i < in->ndims; i++) {
        const Affine *index = affine_substitute(b->x, m->index[i], at, b->size);
        inner[in->dim[i]] = index;
        if (m->inside[i] || n->border == GRAPH_BORDER_NONE) continue;
        const Affine *last = affine_add_const(b->x, b->size[in->dim[i]], -1);
        add_guard(b, &guards, index);
        add_guard(b, &guards, affine_sub(b->x, last, index));
    }
    for (int i = 0; i < m->exact.n; i++) {
        const Affine *rest = affine_substitute(b->x, m->exact.at[i], at, b->size);
        add_guard(b, &guards, affine_scale(b->x, rest, -1));
    }
    return guards;
}

static const Expr *view_value(GraphBuild *b, int x, const Affine *const *at, Type want,
                              Outside outside) {
    const GraphNode *n = node(b, x);
    const ViewMapping *m = view_mapping(b, x);
    if (!m) return zero_of(b, want);
    const Affine **inner = arena_new_n(b->p->arena, const Affine *, b->g->dims.n);
    Guards guards = view_guards(b, x, m, at, inner);
    if (guards.n && n->border == GRAPH_BORDER_NONE) {
        node_report(b->g, n, DIAG_GRAPH_HOLES);
        return zero_of(b, want);
    }
    if (n->border == GRAPH_BORDER_IDENTITY && outside.skip) {
        for (int i = 0; i < guards.n; i++) vec_push(b->p->arena, &b->constraints, guards.at[i]);
        guards.n = 0;
    }
    if (guards.n) outside.skip = false; // views below apply only where this one is inside
    const Expr *e = value(b, n->input[0], inner, want, outside);
    if (!guards.n) return e;
    return expr_select(b->x, inside_test(b, &guards), e, view_border(b, n, want, outside));
}

static Type common_type(const GraphBuild *b, const GraphNode *n, int from) {
    Type t = TYPE_NONE;
    for (int i = from; i < n->ninputs; i++) t = type_promote(t, node(b, n->input[i])->type);
    return t;
}

// The type of the operands of an op that is computed in `want`.
static Type operand_type(const GraphBuild *b, const GraphNode *n, Type want) {
    switch (op_info[n->op].class) {
    case OP_COMPARE: return common_type(b, n, 0);
    case OP_MATH: return n->type;
    default: return want;
    }
}

static const Expr *truth(GraphBuild *b, int x, const Affine *const *at) {
    return expr_cast(b->x, TYPE_BOOL, value(b, x, at, node(b, x)->type, (Outside){0}));
}

static const Expr *joined(GraphBuild *b, ExprOp op, int n, const Expr *const *arg) {
    const Expr *e = arg[0];
    for (int i = 1; i < n; i++) e = expr_binary(b->x, op, e, arg[i]);
    return e;
}

// An element-wise op on values; more than two operands are combined pair by pair.
static const Expr *op_value(GraphBuild *b, const GraphNode *n, const Affine *const *at, Type want,
                            Outside outside) {
    if (n->op == OP_CAST) {
        const Expr *e = value(b, n->input[0], at, node(b, n->input[0])->type, (Outside){0});
        return expr_cast(b->x, want, expr_cast(b->x, n->type, e));
    }
    if (!(n->op == OP_MUL && outside.products)) outside = (Outside){0};
    const Expr *arg[GRAPH_MAX_INPUTS];
    Type type = operand_type(b, n, want);
    for (int i = 0; i < n->ninputs; i++) {
        bool logic = op_info[n->op].class == OP_LOGIC || (n->op == OP_SELECT && i == 0);
        arg[i] = logic ? truth(b, n->input[i], at) : value(b, n->input[i], at, type, outside);
    }
    const Expr *e;
    if (n->op == OP_SELECT)
        e = expr_select(b->x, arg[0], arg[1], arg[2]);
    else if (n->ninputs == op_info[n->op].arity && n->ninputs != 2)
        e = expr_op(b->x, n->op, n->type == TYPE_BOOL ? TYPE_BOOL : type, n->ninputs, arg);
    else
        e = joined(b, n->op, n->ninputs, arg);
    return expr_cast(b->x, want, e);
}

static const Expr *value(GraphBuild *b, int x, const Affine *const *at, Type want,
                         Outside outside) {
    const GraphNode *n = node(b, x);
    const Expr *e;
    if (b->tensor[x] >= 0) {
        e = expr_read(b->x, n->type, element(b, x, at));
    } else if (n->kind == NODE_CONST) {
        e = expr_const(b->x, n->type, n->value);
    } else if (n->kind == NODE_INDEX) {
        const Affine *index = affine_substitute(b->x, n->index, at, b->size);
        e = expr_cast(b->x, n->type, expr_index(b->x, TYPE_I64, index));
    } else if (n->kind == NODE_VIEW) {
        return view_value(b, x, at, want, outside);
    } else {
        return op_value(b, n, at, want, outside);
    }
    return expr_cast(b->x, want, e);
}

// --- 4. stmts ----------------------------------------------------------------------------------

static void start_reduction(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    begin_stmt(b, n, n->ndims, n->dim);
    const Expr *e = value(b, n->pre, b->at, n->type, (Outside){0});
    end_stmt(b, element(b, x, b->at), REDUCE_ASSIGN, false, e);
}

static void build_reduction(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    int dims[MAX_ITERS], ndims = op_dims(b, n, dims);
    if (n->pre >= 0) start_reduction(b, x);
    begin_stmt(b, n, ndims, dims);
    Outside outside = {.op = n->reduce};
    if (n->ninputs == 1) outside = (Outside){true, n->reduce == REDUCE_ADD, n->reduce};
    const Expr *e = value(b, n->input[0], b->at, n->type, outside);
    for (int i = 1; i < n->ninputs; i++)
        e = expr_binary(b->x, n->op, e, value(b, n->input[i], b->at, n->type, outside));
    end_stmt(b, element(b, x, b->at), n->reduce, n->pre < 0, e);
}

static void build_op(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    if (n->reduce != REDUCE_ASSIGN) {
        build_reduction(b, x);
        return;
    }
    begin_stmt(b, n, n->ndims, n->dim);
    const Expr *e = op_value(b, n, b->at, n->type, (Outside){0});
    end_stmt(b, element(b, x, b->at), REDUCE_ASSIGN, false, e)->post = n->post;
}

static void fill(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    const Expr *e = n->border >= 0               ? value(b, n->border, NULL, n->type, (Outside){0})
                    : n->reduce != REDUCE_ASSIGN ? identity_of(b, n->reduce, n->type)
                                                 : zero_of(b, n->type);
    begin_stmt(b, n, n->ndims, n->dim);
    end_stmt(b, element(b, x, b->at), REDUCE_ASSIGN, false, e);
}

static bool build_place(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    if (n->reduce != REDUCE_ASSIGN || n->border != GRAPH_BORDER_NONE) fill(b, x);
    for (int i = 0; i < n->ninputs; i++) {
        const GraphNode *in = node(b, n->input[i]);
        ViewMapping m;
        if (!mapping_solve(b->g, n, n->ndims, n->dim, in->ndims, in->dim, &m)) return false;
        begin_stmt(b, n, in->ndims, in->dim);
        const Affine **into = arena_new_n(b->p->arena, const Affine *, b->g->dims.n);
        for (int k = 0; k < n->ndims; k++)
            into[n->dim[k]] = affine_substitute(b->x, m.index[k], b->at, b->size);
        const Expr *e = value(b, n->input[i], b->at, n->type, (Outside){0});
        for (int k = 0; k < m.exact.n; k++) {
            const Affine *rest = affine_substitute(b->x, m.exact.at[k], b->at, b->size);
            vec_push(b->p->arena, &b->constraints, affine_scale(b->x, rest, -1));
        }
        end_stmt(b, element(b, x, into), n->reduce, false, e);
    }
    return true;
}

static void build_write(GraphBuild *b, int x) {
    const GraphNode *n = node(b, x);
    if (b->tensor[x] == b->tensor[n->input[0]]) return;
    begin_stmt(b, n, n->ndims, n->dim);
    const Expr *e = value(b, n->input[0], b->at, n->type, (Outside){0});
    end_stmt(b, element(b, x, b->at), REDUCE_ASSIGN, false, e);
}

static bool build_stmts(GraphBuild *b) {
    for (int x = 0; x < b->g->nodes.n && !b->g->failed; x++) {
        GraphNodeKind kind = node(b, x)->kind;
        if (kind == NODE_OP && has_tensor(b, x)) build_op(b, x);
        if (kind == NODE_PLACE && has_tensor(b, x) && !build_place(b, x)) return false;
        if (kind == NODE_WRITE) build_write(b, x);
    }
    if (!b->g->failed && (b->g->exprs->overflow || b->g->exprs->too_large))
        graph_report(b->g, DIAG_GRAPH_OVERFLOW);
    return !b->g->failed;
}

// --- Sizes and names ---------------------------------------------------------------------------

static bool dim_needed(const GraphBuild *b, int d) {
    for (int x = 0; x < b->g->nodes.n; x++) {
        const GraphNode *n = node(b, x);
        if (!b->live[x] && n->kind != NODE_READ) continue;
        if (graph_has_dim(n, d)) return true;
        if (n->kind == NODE_INDEX && index_uses(n->index, ATOM_PARAM, d)) return true;
        for (int r = 0; r < n->nrelations; r++)
            if (index_uses(n->relation[r].left, ATOM_PARAM, d) ||
                index_uses(n->relation[r].right, ATOM_PARAM, d))
                return true;
    }
    return false;
}

static bool add_sizes(GraphBuild *b) {
    Graph *g = b->g;
    for (int d = 0; d < g->dims.n; d++) {
        const Affine *size = g->dims.at[d].size;
        if (size && size == affine_param(g->exprs, d))
            b->param[d] = affine_param(b->x, program_param(b->p, g->dims.at[d].name, PARAM_SIZE));
    }
    for (int d = 0; d < g->dims.n; d++) {
        Dimension *dim = &g->dims.at[d];
        if (dim->size) {
            b->size[d] = affine_substitute(b->x, dim->size, NULL, b->param);
        } else if (dim_needed(b, d)) {
            Diag *diag = graph_report_at(g, g->source, dim->range, DIAG_GRAPH_SIZE_OPEN, dim->name);
            diag_note(g->diags, diag, (Range){0}, DIAG_GRAPH_SIZE_OPEN_NOTE, dim->name);
            return false; // one size often determines others
        }
    }
    for (int i = 0; i < g->preconditions.n; i++) {
        Require r = g->preconditions.at[i];
        r.what = affine_substitute(b->x, r.what, NULL, b->param);
        vec_push(b->p->arena, &b->p->preconditions, r);
    }
    return true;
}

// An iterator has the name of its dimension in lower case, or, if that is a dimension too, with an
// `i` in front.
static void name_iters(GraphBuild *b) {
    Graph *g = b->g;
    for (int d = 0; d < g->dims.n; d++) {
        Name name = g->dims.at[d].name;
        char *lower = arena_strndup(g->arena, name, strlen(name));
        for (char *c = lower; *c; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
        Name pick = name_of(g->names, lower);
        if (iter_taken(b, d, pick)) pick = name_of(g->names, arena_printf(g->arena, "i%s", name));
        while (iter_taken(b, d, pick))
            pick = name_of(g->names, arena_printf(g->arena, "%s_", pick));
        b->iter_name[d] = pick;
    }
}

static GraphBuild *begin(Arena *arena, Graph *g) {
    GraphBuild *b = arena_new(arena, GraphBuild);
    int d = g->dims.n, n = g->nodes.n;
    *b = (GraphBuild){.g = g,
                      .p = program_new(arena, g->names, g->name, strlen(g->name)),
                      .size = arena_new_n(arena, const Affine *, d),
                      .param = arena_new_n(arena, const Affine *, d),
                      .iter_name = arena_new_n(arena, Name, d),
                      .live = arena_new_n(arena, bool, n),
                      .folded = arena_new_n(arena, bool, n),
                      .uses = arena_new_n(arena, int, n),
                      .user = arena_new_n(arena, int, n),
                      .tensor = arena_new_n(arena, int, n),
                      .layout = arena_new_n(arena, const int *, n),
                      .view = arena_new_n(arena, ViewMapping *, n),
                      .at = arena_new_n(arena, const Affine *, d)};
    b->x = b->p->exprs;
    b->p->source = g->source;
    for (int x = 0; x < n; x++) b->tensor[x] = b->user[x] = -1;
    return b;
}

Program *graph_build(Arena *arena, Graph *g) {
    if (!graph_solve(g)) return NULL;
    GraphBuild *b = begin(arena, g);
    if (!find_live(b) || !add_sizes(b) || !check_posts(b)) return NULL;
    name_iters(b);
    find_folded(b);
    add_tensors(b);
    if (!build_stmts(b)) return NULL;
    g->diags->source = g->source;
    return program_finish(b->p, g->diags) ? b->p : NULL;
}
