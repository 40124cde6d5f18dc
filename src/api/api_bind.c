// Binding: from names or arguments to one value per parameter, and what a bound function tells of
// itself.
#include "api/pipeline.h"

#include "base/checked.h"
#include "base/nearest.h"
#include "program/check.h"
#include "tree/cost.h"

#include <string.h>

Range declared(const lw_function *f, int t) { return f->program->tensors.at[t].range; }

// --- Values from arguments -----------------------------------------------------------------------

// One value per parameter as it becomes known, and where it came from.
typedef struct Solver {
    Call *call;
    const lw_function *f;
    int64_t *value;
    const char **from; // NULL: not known yet, and the value is 0
    bool failed;
} Solver;

static const char *param_name(const Solver *s, int i) { return s->f->params[i].name; }

static void learn(Solver *s, int i, int64_t value, const char *from) {
    if (!s->from[i]) {
        s->value[i] = value;
        s->from[i] = from;
    } else if (s->value[i] != value) {
        diag_report(s->call->diags, nowhere, DIAG_SIZE_TWICE, param_name(s, i),
                    (long long)s->value[i], (long long)value);
        s->failed = true;
    }
}

static bool known(const Solver *s, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_PARAM && !s->from[atom->index]) return false;
        if (atom->a && !known(s, atom->a)) return false;
        if (atom->b && !known(s, atom->b)) return false;
    }
    return true;
}

// Solves  size = extent  where exactly one term of the size is not known, and that is k·parameter.
static void solve(Solver *s, const Affine *size, int64_t extent, const char *from) {
    const Term *open = NULL;
    for (int i = 0; i < size->n; i++) {
        const Atom *atom = size->term[i].atom;
        bool is_open = atom->kind == ATOM_PARAM && !s->from[atom->index];
        if (is_open && !open)
            open = &size->term[i];
        else if (is_open || (atom->a && !known(s, atom->a)) || (atom->b && !known(s, atom->b)))
            return;
    }
    int64_t rest;
    if (!open || !affine_eval(size, NULL, s->value, NULL, NULL, &rest)) return;
    if (!checked_sub(extent, rest, &rest) || floor_mod(rest, open->coef) != 0) return;
    learn(s, open->atom->index, floor_div(rest, open->coef), from);
}

static void check_extent(Solver *s, int t, int d, int64_t extent) {
    const Tensor *tensor = &s->f->program->tensors.at[t];
    int64_t want;
    if (!known(s, tensor->size[d]) ||
        !affine_eval(tensor->size[d], NULL, s->value, NULL, NULL, &want) || want == extent)
        return;
    Diag *diag = diag_report(s->call->diags, declared(s->f, t), DIAG_ARGUMENT_EXTENT, d,
                             tensor->name, (long long)extent, (long long)want);
    diag_note(s->call->diags, diag, nowhere, DIAG_DECLARED_AS, s->f->tensors[t].text);
    for (int i = 0; i < tensor->size[d]->n; i++) {
        const Atom *atom = tensor->size[d]->term[i].atom;
        if (atom->kind == ATOM_PARAM)
            diag_note(s->call->diags, diag, nowhere, DIAG_SIZE_FROM, param_name(s, atom->index),
                      (long long)s->value[atom->index], s->from[atom->index]);
    }
    s->failed = true;
}

// Rounds over the arguments' dimensions, since one may only be solvable once another is.
static void solve_arguments(Solver *s, const DLTensor *const *args, size_t nargs) {
    const Program *p = s->f->program;
    for (int round = 0; round <= p->params.n && !s->failed; round++)
        for (size_t t = 0; t < nargs; t++) {
            const Tensor *tensor = &p->tensors.at[t];
            for (int d = 0; args[t] && d < tensor->rank; d++)
                solve(s, tensor->size[d], args[t]->shape[d], tensor->name);
        }
    for (size_t t = 0; t < nargs; t++)
        for (int d = 0; args[t] && d < p->tensors.at[t].rank; d++)
            check_extent(s, (int)t, d, args[t]->shape[d]);
}

static bool arguments_fit(Solver *s, const DLTensor *const *args, size_t nargs) {
    const Program *p = s->f->program;
    if (nargs > (size_t)(p->ninputs + p->noutputs)) {
        diag_report(s->call->diags, nowhere, DIAG_ARGUMENT_COUNT, p->name, p->ninputs, p->noutputs,
                    (int)nargs);
        return false;
    }
    bool ok = true;
    for (size_t t = 0; t < nargs; t++) {
        const Tensor *tensor = &p->tensors.at[t];
        bool same_rank = !args[t] || args[t]->ndim == tensor->rank;
        if (!args[t] || (same_rank && (!tensor->rank || args[t]->shape))) continue;
        Range at = declared(s->f, (int)t);
        Diag *d = same_rank ? diag_report(s->call->diags, at, DIAG_ARGUMENT_NO_SHAPE, tensor->name,
                                          tensor->rank)
                            : diag_report(s->call->diags, at, DIAG_ARGUMENT_RANK, tensor->name,
                                          tensor->rank, args[t]->ndim);
        diag_note(s->call->diags, d, nowhere, DIAG_DECLARED_AS, s->f->tensors[t].text);
        ok = false;
    }
    return ok;
}

// --- Values by name ------------------------------------------------------------------------------

static const char *nth_param(const void *of, size_t i) {
    const lw_param *p = lw_function_param(of, i);
    return p ? p->name : NULL;
}

static void take_sizes(Solver *s, const lw_size *sizes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *name = sizes[i].name ? sizes[i].name : "";
        int q = lw_function_find_param(s->f, name);
        if (q >= 0) {
            learn(s, q, sizes[i].value, "the given sizes");
            continue;
        }
        Diag *d =
            diag_report(s->call->diags, nowhere, DIAG_NO_SUCH_SIZE, s->f->program->name, name);
        diag_suggest(s->call->diags, d, name, nth_param, s->f);
        s->failed = true;
    }
}

static void check_complete(Solver *s) {
    Text missing = {.arena = s->call->arena}, example = {.arena = s->call->arena};
    for (int i = 0; i < s->f->program->params.n; i++) {
        if (s->from[i]) continue;
        bool more = missing.len > 0;
        text_printf(&missing, "%s%s", more ? ", " : "", param_name(s, i));
        text_printf(&example, "%s%s=%d", more ? "," : "", param_name(s, i),
                    s->f->params[i].kind == LW_SIZE ? 8 : 1);
    }
    if (missing.len == 0) return;
    Diag *d = diag_report(s->call->diags, nowhere, DIAG_MISSING_SIZES, s->f->program->name,
                          text_str(&missing));
    diag_note(s->call->diags, d, nowhere, DIAG_GIVE_SIZES, text_str(&example));
    s->failed = true;
}

static bool solve_values(Call *call, const BindArgs *a, int64_t *value) {
    int n = a->f->program->params.n;
    Solver s = {.call = call, .f = a->f, .value = value};
    s.from = arena_new_n(call->arena, const char *, n);
    take_sizes(&s, a->sizes, a->nsizes);
    if (a->nargs && !arguments_fit(&s, a->args, a->nargs)) return false;
    if (!s.failed) solve_arguments(&s, a->args, a->nargs);
    if (!s.failed) check_complete(&s);
    return !s.failed;
}

// --- Entry points --------------------------------------------------------------------------------

lw_status bind_open(Call *call, const BindArgs *a, lw_bound **into) {
    const lw_function *f = a->f;
    call_source(call, f->module);
    call->diags->strict = f->module->strict;
    lw_bound *b = call_new(call, sizeof *b);
    atomic_init(&b->refs, 1);
    *into = b;
    b->ctx = f->module->ctx;
    b->function = f;
    b->serial = atomic_fetch_add(&b->ctx->serial, 1) + 1;
    module_hold(f->module);
    arena_init(&b->arena, &b->ctx->allocator);
    call_join(call, &b->arena);
    b->values = arena_new_n(&b->arena, int64_t, f->program->params.n);
    if (a->values)
        memcpy(b->values, a->values, sizeof(int64_t) * (size_t)f->program->params.n);
    else if (!solve_values(call, a, b->values))
        return LW_ERROR;
    Compilation c = {.call = call, .first = STEP_BIND, .bound = b};
    lw_status status = pipeline(&c, STEP_BIND);
    b->bind_us = c.us[STEP_BIND];
    return status;
}

typedef struct BindCall {
    BindArgs args;
    lw_bound *bound;
} BindCall;

static lw_status bind_body(Call *call, void *args) {
    BindCall *b = args;
    return bind_open(call, &b->args, &b->bound);
}

static lw_status bind(lw_context *ctx, BindArgs args, lw_bound **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!args.f) return call_null(ctx, "f");
    BindCall b = {.args = args};
    lw_status status = call_run(ctx, bind_body, &b);
    if (status == LW_OK)
        *out = b.bound;
    else
        lw_bound_free(b.bound);
    return status;
}

lw_status lw_bind(lw_context *ctx, const lw_function *f, const lw_size *sizes, size_t count,
                  lw_bound **out) {
    return bind(ctx, (BindArgs){.f = f, .sizes = sizes, .nsizes = sizes ? count : 0}, out);
}

lw_status lw_bind_values(lw_context *ctx, const lw_function *f, const int64_t *values, size_t count,
                         lw_bound **out) {
    static const int64_t none[1];
    if (out) *out = NULL;
    if (!f) return call_null(ctx, "f");
    if (count != lw_function_param_count(f))
        return call_misuse(ctx, "%zu values for the %zu parameters of '%s'", count,
                           lw_function_param_count(f), lw_function_name(f));
    if (count && !values) return call_null(ctx, "values");
    return bind(ctx, (BindArgs){.f = f, .values = count ? values : none}, out);
}

lw_status lw_bind_tensors(lw_context *ctx, const lw_function *f, const DLTensor *const *args,
                          size_t arg_count, const lw_size *sizes, size_t count, lw_bound **out) {
    BindArgs a = {f, args, args ? arg_count : 0, sizes, sizes ? count : 0, NULL};
    return bind(ctx, a, out);
}

typedef struct ArgumentError {
    const lw_function *f;
    const char *name, *text;
} ArgumentError;

static lw_status argument_error_body(Call *call, void *args) {
    const ArgumentError *e = args;
    const Program *p = e->f->program;
    int t = lw_function_find_tensor(e->f, e->name), q = lw_function_find_param(e->f, e->name);
    call_source(call, e->f->module);
    if (t < 0 && q < 0) return call_misused(call, "'%s' has no argument '%s'", p->name, e->name);
    Diag *d = diag_report(call->diags, t >= 0 ? declared(e->f, t) : p->params.at[q].range,
                          DIAG_ARGUMENT_OTHER, e->text);
    if (t >= 0) diag_note(call->diags, d, nowhere, DIAG_DECLARED_AS, e->f->tensors[t].text);
    return LW_ERROR;
}

lw_status lw_argument_error(lw_context *ctx, const lw_function *f, const char *name,
                            const char *text) {
    if (!f) return call_null(ctx, "f");
    if (!name || !text) return call_null(ctx, name ? "text" : "name");
    ArgumentError e = {f, name, text};
    return call_run(ctx, argument_error_body, &e);
}

void bound_hold(lw_bound *b) { atomic_fetch_add(&b->refs, 1); }

void lw_bound_free(lw_bound *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) != 1) return;
    lw_context *ctx = b->ctx;
    lw_module *mod = b->function->module;
    char *text = atomic_load(&b->text);
    if (text) ctx->allocator.free(ctx->allocator.user, text, strlen(text) + 1);
    arena_free(&b->arena);
    ctx->allocator.free(ctx->allocator.user, b, sizeof *b);
    lw_module_free(mod);
}

// --- What a bound function tells -----------------------------------------------------------------

typedef struct BoundUses {
    lw_bound *b;
    int64_t *lo, *hi; // per iterator, or per index of a Tree; inclusive
    bool narrowed;    // by a copy
} BoundUses;

// Of a tensor, or of any buffer of a Tree.
static IndexRange *range_of(const BoundUses *u, const Access *read) {
    return &u->b->ranges[read->tensor];
}

static void narrow(IndexRange *r, int64_t lo, int64_t hi) {
    r->lo = r->used ? max_i64(r->lo, lo) : lo;
    r->hi = r->used ? min_i64(r->hi, hi) : hi;
    r->used = true;
}

// Subscript  k·v + rest  of a dimension [first, last]: which v keep it inside whatever `rest` is?
// If that cannot be told, those that would do on their own.
static void use_term(const BoundUses *u, const Affine *sub, int term, int64_t first, int64_t last) {
    IndexRange *range = range_of(u, sub->term[term].atom->read);
    int64_t k = sub->term[term].coef, min = sub->constant, max = sub->constant;
    for (int i = 0; i < sub->n; i++) {
        const Atom *atom = sub->term[i].atom;
        if (i == term) continue;
        if (atom->kind != ATOM_ITER) return narrow(range, first, last);
        int64_t at_lo = sub->term[i].coef, at_hi = at_lo;
        if (!checked_mul(at_lo, u->lo[atom->index], &at_lo) ||
            !checked_mul(at_hi, u->hi[atom->index], &at_hi) ||
            !checked_add(min, min_i64(at_lo, at_hi), &min) ||
            !checked_add(max, max_i64(at_lo, at_hi), &max))
            return narrow(range, first, last);
    }
    int64_t from, to;
    if (!checked_sub(first, min, &from) || !checked_sub(last, max, &to) || from == INT64_MIN ||
        to == INT64_MIN || k == INT64_MIN)
        return narrow(range, first, last);
    if (k > 0)
        narrow(range, ceil_div(from, k), floor_div(to, k));
    else
        narrow(range, ceil_div(-to, -k), floor_div(-from, -k));
}

typedef struct Inside {
    const BoundUses *u;
    int64_t first, last;
} Inside;

static void use_inside(void *user, const Access *access, bool guarded) {
    const Inside *in = user;
    (void)guarded;
    IndexRange *range = range_of(in->u, access);
    if (!range->used) narrow(range, in->first, in->last);
}

// First and last index of a dimension; false when they do not fit in 64 bits.
static bool dimension(const lw_bound *b, int tensor, int d, int64_t *first, int64_t *last) {
    const Tree *tree = b->function->tree;
    *first = 0;
    if (tree) return checked_sub(tree->buffers.at[tensor].size[d], 1, last);
    const Tensor *t = &b->program->tensors.at[tensor];
    *first = tensor_origin(t, d);
    return checked_add(*first, tensor_size(t, d) - 1, last);
}

static void use_access(void *user, const Access *access, bool guarded) {
    const BoundUses *u = user;
    (void)guarded;
    for (int d = 0; d < access->rank; d++) {
        const Affine *sub = access->sub[d];
        int64_t first, last;
        if (!sub->has_read || !dimension(u->b, access->tensor, d, &first, &last)) continue;
        for (int i = 0; i < sub->n; i++)
            if (sub->term[i].atom->kind == ATOM_READ) use_term(u, sub, i, first, last);
        Inside in = {u, first, last}; // those inside a division, a minimum ...
        affine_visit_accesses(sub, use_inside, &in);
    }
}

// Values that are copied into a tensor of indices are indices, too.
static void use_copy(BoundUses *u, Reduce op, const Access *write, const Expr *value) {
    while (value->kind == EXPR_OP && value->op == OP_CAST) value = value->arg[0];
    const IndexRange *to = range_of(u, write);
    if (op != REDUCE_ASSIGN || value->kind != EXPR_READ || !to->used) return;
    IndexRange *from = range_of(u, value->access), before = *from;
    narrow(from, to->lo, to->hi);
    from->least = from->lo;
    u->narrowed |= !before.used || from->lo != before.lo || from->hi != before.hi;
}

// --- Padding -------------------------------------------------------------------------------------
//
// I[b] >= 0 ? E[I[b]] : 0     negative values of I are never used as subscripts, so -1 is as valid
//                             as an index, and data that are made up should have it

typedef struct IndexGuard {
    const Expr *cond;
    bool holds;
    const struct IndexGuard *up;
} IndexGuard;

static bool is_read(const Expr *e, const Access *a) {
    while (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0];
    return e->kind == EXPR_READ && e->access == a;
}

static bool is_number(const Expr *e, int64_t n) {
    return e->kind == EXPR_CONST && type_is_integer(e->type) && e->value.i == n;
}

// The least value that the condition keeps out, of those below 0: INT64_MIN, -1, or 0 for none.
static int64_t kept_out(const Expr *e, bool holds, const Access *a) {
    if (e->kind != EXPR_OP) return 0;
    if (e->op == OP_NOT) return kept_out(e->arg[0], !holds, a);
    if (e->op == (holds ? OP_AND : OP_OR))
        return min_i64(kept_out(e->arg[0], holds, a), kept_out(e->arg[1], holds, a));
    if (op_info[e->op].class != OP_COMPARE) return 0;
    bool swapped = is_read(e->arg[1], a);
    if (!swapped && !is_read(e->arg[0], a)) return 0;
    const Expr *number = e->arg[!swapped];
    ExprOp least = swapped ? OP_LE : OP_GE, above = swapped ? OP_LT : OP_GT;
    ExprOp below = swapped ? OP_GT : OP_LT, most = swapped ? OP_GE : OP_LE;
    if (is_number(number, 0) && e->op == (holds ? least : below)) return INT64_MIN;
    if (is_number(number, -1) && e->op == (holds ? above : most)) return INT64_MIN;
    return is_number(number, -1) && e->op == (holds ? OP_NE : OP_EQ) ? -1 : 0;
}

// Every read inside the subscripts of an access.
static void pad_access(const BoundUses *u, const Access *access, const IndexGuard *guards) {
    for (int d = 0; d < access->rank; d++) {
        const Affine *sub = access->sub[d];
        AccessList reads = {.arena = &u->b->arena};
        if (sub->has_read) affine_visit_accesses(sub, access_collect, &reads);
        for (int i = 0; i < reads.at.n; i++) {
            IndexRange *r = range_of(u, reads.at.at[i]);
            bool bare = sub->n == 1 && sub->constant == 0 && sub->term[0].coef == 1 &&
                        sub->term[0].atom->kind == ATOM_READ &&
                        sub->term[0].atom->read == reads.at.at[i];
            int64_t out = 0;
            for (const IndexGuard *g = guards; g && bare; g = g->up)
                out = min_i64(out, kept_out(g->cond, g->holds, reads.at.at[i]));
            r->least = max_i64(r->least, out);
        }
    }
}

static void pad_value(const BoundUses *u, const Expr *e, const IndexGuard *guards) {
    if (e->kind == EXPR_READ) pad_access(u, e->access, guards);
    if (e->kind == EXPR_INDEX) {
        AccessList reads = {.arena = &u->b->arena};
        affine_visit_accesses(e->index, access_collect, &reads);
        for (int i = 0; i < reads.at.n; i++) pad_access(u, reads.at.at[i], guards);
    }
    if (e->kind != EXPR_OP) return;
    bool lazy = e->op == OP_SELECT || e->op == OP_AND || e->op == OP_OR;
    for (int i = 0; i < e->n; i++) {
        IndexGuard g = {e->arg[0], e->op == OP_SELECT ? i == 1 : e->op == OP_AND, guards};
        pad_value(u, e->arg[i], lazy && i ? &g : guards);
    }
}

static void find_padding(const BoundUses *u) {
    const Program *p = u->b->program;
    for (int t = 0; t < p->tensors.n; t++) u->b->ranges[t].least = INT64_MIN;
    for (int i = 0; i < p->stmts.n; i++) {
        pad_value(u, p->stmts.at[i].value, NULL);
        pad_access(u, p->stmts.at[i].write, NULL);
    }
    for (int t = 0; t < p->tensors.n; t++) {
        IndexRange *r = &u->b->ranges[t];
        bool padded = r->used && r->lo == 0 && r->least < 0 &&
                      type_info[p->tensors.at[t].type].class == CLASS_INT;
        if (padded)
            r->lo = -1;
        else
            r->least = r->lo;
    }
}

static void add_instances(lw_bound *b, const Stmt *s) {
    int64_t n = 1;
    for (int i = 0; i < s->niters; i++)
        if (!checked_mul(n, max_i64(0, iter_hi(&s->iter[i]) - iter_lo(&s->iter[i])), &n))
            n = INT64_MAX;
    if (!checked_add(b->instances, n, &b->instances)) b->instances = INT64_MAX;
}

static void describe_stmts(lw_bound *b) {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
    BoundUses u = {b, lo, hi, false};
    for (int i = 0; i < b->program->stmts.n; i++) {
        const Stmt *s = &b->program->stmts.at[i];
        for (int k = 0; k < s->niters; k++) {
            lo[k] = iter_lo(&s->iter[k]);
            hi[k] = iter_hi(&s->iter[k]) - 1;
        }
        expr_visit_accesses(s->value, use_access, &u);
        use_access(&u, s->write, false);
        add_instances(b, s);
    }
    find_padding(&u);
    for (int i = b->program->stmts.n - 1; i >= 0; i--) {
        const Stmt *s = &b->program->stmts.at[i];
        use_copy(&u, s->op, s->write, s->value);
    }
}

// The leaves of a Stripe program, likewise. Blocks come before what they enclose.
static bool use_node(void *user, const Node *node, int depth, const Block *parent) {
    const BoundUses *u = user;
    const Block *block = as_block(node);
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    for (int i = 0; block && i < block->nindex; i++) {
        const Index *x = &block->index[i];
        u->lo[x->id] = 0;
        u->hi[x->id] = max_i64(x->extent - 1, 0);
        if (x->passed) affine_bounds(x->passed, u->lo, u->hi, &u->lo[x->id], &u->hi[x->id]);
    }
    if (!leaf) return true;
    expr_visit_accesses(leaf->value, use_access, user);
    use_access(user, leaf->write, false);
    return true;
}

static bool copy_node(void *user, const Node *node, int depth, const Block *parent) {
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (leaf) use_copy(user, leaf->op, leaf->write, leaf->value);
    return true;
}

enum { MOST_COPIES = 16 }; // of copies

static void describe_tree(lw_bound *b) {
    const Tree *t = b->function->tree;
    BoundUses u = {b, arena_new_n(&b->arena, int64_t, t->nindices),
                   arena_new_n(&b->arena, int64_t, t->nindices), true};
    tree_walk(t, use_node, &u);
    for (int i = 0; i < t->buffers.n; i++) b->ranges[i].least = b->ranges[i].lo;
    for (int i = 0; i < MOST_COPIES && u.narrowed; i++) {
        u.narrowed = false;
        tree_walk(t, copy_node, &u);
    }
    b->instances = tree_instances(&b->arena, t);
}

static DLTensor describe_tensor(Arena *arena, const Tensor *t, int64_t *origin) {
    int64_t *shape = arena_new_n(arena, int64_t, 2 * t->rank), *strides = shape + t->rank;
    int64_t stride = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        shape[d] = tensor_size(t, d);
        origin[d] = tensor_origin(t, d);
        strides[d] = stride;
        if (!checked_mul(stride, max_i64(1, shape[d]), &stride)) stride = 0; // no elements, then
    }
    return (DLTensor){.device = {kDLCPU, 0},
                      .ndim = t->rank,
                      .dtype = dtype_of(t->type),
                      .shape = shape,
                      .strides = strides};
}

void bound_describe(lw_bound *b) {
    int n = b->program->tensors.n;
    b->tensors = arena_new_n(&b->arena, DLTensor, n);
    b->origins = arena_new_n(&b->arena, int64_t *, n);
    int buffers = b->function->tree ? b->function->tree->buffers.n : 0;
    b->ranges = arena_new_n(&b->arena, IndexRange, n > buffers ? n : buffers);
    for (int i = 0; i < n; i++) {
        const Tensor *t = &b->program->tensors.at[i];
        b->origins[i] = arena_new_n(&b->arena, int64_t, t->rank);
        b->tensors[i] = describe_tensor(&b->arena, t, b->origins[i]);
    }
    if (b->function->tree)
        describe_tree(b);
    else
        describe_stmts(b);
}

const lw_function *lw_bound_function(const lw_bound *b) { return b ? b->function : NULL; }

int64_t lw_bound_value(const lw_bound *b, size_t param) {
    return param < lw_function_param_count(lw_bound_function(b)) ? b->values[param] : 0;
}

const DLTensor *lw_bound_tensor(const lw_bound *b, size_t i) {
    return b && i < (size_t)b->program->tensors.n ? &b->tensors[i] : NULL;
}

const int64_t *lw_bound_origin(const lw_bound *b, size_t i) {
    return b && i < (size_t)b->program->tensors.n ? b->origins[i] : NULL;
}

bool lw_bound_writes_all(const lw_bound *b, size_t i) {
    return b && i < (size_t)b->program->tensors.n && program_writes_all(b->program, (int)i);
}

bool lw_bound_index_range(const lw_bound *b, size_t i, int64_t *lo, int64_t *hi) {
    if (!b || i >= (size_t)b->program->tensors.n || !b->ranges[i].used) return false;
    *lo = b->ranges[i].lo;
    *hi = b->ranges[i].hi;
    return true;
}

int64_t lw_bound_instances(const lw_bound *b) { return b ? b->instances : 0; }
