// Index arithmetic: subscripts, bounds and sizes as Affines, all in 64 bits. An element of a tensor
// becomes a READ atom (gather). Divisors must not depend on indices. An expression without an
// affine form (a ternary, a float) is refused with a fix: compute it into an integer tensor first.
#include "lang/tc/tc.h"

#include <string.h>

// The fix: a subscript can be read from a tensor, a bound or a size cannot.
static void add_note(TcChecker *ck, Diag *d, const char *what) {
    bool subscript = !strcmp(what, "a subscript");
    diag_note(ck->diags, d, (Range){0, 0},
              subscript ? DIAG_TC_SUBSCRIPT_FORM_NOTE : DIAG_TC_INTEGERS_NOTE);
}

static const Affine *refuse(TcChecker *ck, const TcNode *n, const char *what) {
    add_note(ck, diag_report(ck->diags, n->range, DIAG_TC_SUBSCRIPT_FORM, what), what);
    return NULL;
}

static const Affine *not_integer(TcChecker *ck, const TcNode *n, const char *what,
                                 const char *type) {
    add_note(ck, diag_report(ck->diags, n->range, DIAG_TC_SUBSCRIPT_TYPE, what, type), what);
    return NULL;
}

static const Affine *expr_affine(TcChecker *ck, const Expr *e);

// Only conversions that lose no bits: data may have any value, but indices are never that large.
static const Affine *cast_affine(TcChecker *ck, const Expr *e) {
    const Expr *from = e->arg[0];
    const Affine *a = expr_affine(ck, from);
    bool kept = type_widens(from->type, e->type);
    return a && (kept || (!a->has_read && type_info[e->type].bits >= 32)) ? a : NULL;
}

// Converts a value that is only index arithmetic or an integer read to an Affine; NULL otherwise.
// Narrow arithmetic wraps, so its operands cannot be used.
static const Affine *expr_affine(TcChecker *ck, const Expr *e) {
    if (!type_is_integer(e->type)) return NULL;
    switch (e->kind) {
    case EXPR_CONST: return affine_const(ck->x, e->value.i);
    case EXPR_INDEX: return e->index;
    case EXPR_READ: return affine_read(ck->x, e->access);
    case EXPR_OP: break;
    }
    if (e->op == OP_CAST) return cast_affine(ck, e);
    if (e->n != 2 || e->type != TYPE_I64) return NULL;
    const Affine *a = expr_affine(ck, e->arg[0]);
    const Affine *b = a ? expr_affine(ck, e->arg[1]) : NULL;
    if (!b) return NULL;
    switch (e->op) {
    case OP_ADD: return affine_add(ck->x, a, b);
    case OP_SUB: return affine_sub(ck->x, a, b);
    case OP_MUL: return affine_mul(ck->x, a, b);
    case OP_MIN: return affine_min(ck->x, a, b);
    case OP_MAX: return affine_max(ck->x, a, b);
    case OP_DIV: return b->has_iter || b->has_read ? NULL : affine_div(ck->x, a, b);
    case OP_MOD: return b->has_iter || b->has_read ? NULL : affine_mod(ck->x, a, b);
    default: return NULL;
    }
}

// --- Computed subscripts -------------------------------------------------------------------------
//
//     Z(i) = X(int(F(i)))     becomes     Z_index(i) = int(F(i))     Z(i) = X(Z_index(i))
//
// Under conditions it is computed where these hold, if they only use the same indices:
//
//     i > 0 ? X(F(i-1) & 3) : 0     Z_index(i) = i > 0 ? F(i-1) & 3 : 0

static uint32_t expr_iters(const Expr *e, int niters);

static uint32_t affine_iters(const Affine *a, int niters) {
    uint32_t mask = 0;
    for (int i = 0; a->has_iter && i < niters; i++)
        if (affine_uses_iter(a, i)) mask |= UINT32_C(1) << i;
    return mask;
}

static uint32_t expr_iters(const Expr *e, int niters) {
    uint32_t mask = e->kind == EXPR_INDEX ? affine_iters(e->index, niters) : 0;
    for (int d = 0; e->kind == EXPR_READ && d < e->access->rank; d++)
        mask |= affine_iters(e->access->sub[d], niters);
    for (int i = 0; i < e->n; i++) mask |= expr_iters(e->arg[i], niters);
    return mask;
}

static void find_gather(void *user, const Access *a, bool guarded) {
    (void)guarded;
    *(bool *)user |= a->has_read;
}

// Prepends the guard, divided into its conjuncts, to the guards that a value needs. Guards on other
// indices are omitted. Returns false if the value gathers, because it may be out of range where an
// omitted guard fails.
static bool add_guard(TcChecker *ck, const Expr *e, const Expr *cond, bool holds,
                      const InferGuard **guards) {
    if (cond->kind == EXPR_OP && cond->op == (holds ? OP_AND : OP_OR))
        return add_guard(ck, e, cond->arg[0], holds, guards) &&
               add_guard(ck, e, cond->arg[1], holds, guards);
    if (expr_iters(cond, ck->iters.n) & ~expr_iters(e, ck->iters.n)) {
        bool gathers = false;
        expr_visit_accesses(e, find_gather, &gathers);
        return !gathers;
    }
    InferGuard *g = arena_new(ck->arena, InferGuard);
    *g = (InferGuard){cond, holds, *guards};
    *guards = g;
    return true;
}

// The conditions that hold where e is computed, outermost first; false: it cannot be computed
// elsewhere.
static bool guards_of(TcChecker *ck, const Expr *e, const InferGuard *g,
                      const InferGuard **guards) {
    if (!g) return true;
    return guards_of(ck, e, g->up, guards) && add_guard(ck, e, g->cond, g->holds, guards);
}

static const Expr *under_guards(TcChecker *ck, const Expr *e, const InferGuard *guards) {
    const Expr *zero = expr_int(ck->x, e->type, 0);
    for (const InferGuard *g = guards; g; g = g->up)
        e = expr_select(ck->x, g->cond, g->holds ? e : zero, g->holds ? zero : e);
    return e;
}

static const TcHoist *find_hoist(TcChecker *ck, const TcNode *n, const Expr *e,
                                 const InferGuard *guards) {
    const Expr *value = under_guards(ck, e, guards);
    for (int i = 0; i < ck->hoists.n; i++)
        if (ck->hoists.at[i].value == value) return &ck->hoists.at[i];
    TcHoist h = {.e = e, .value = value, .guards = guards, .range = n->range};
    uint32_t mask = expr_iters(e, ck->iters.n);
    if (!tc_rank_fits(ck, __builtin_popcount(mask), n->range)) return NULL;
    for (int i = 0; i < ck->iters.n; i++)
        if (mask >> i & 1) h.iter[h.n++] = i;
    Name base = ck->stmt->target[0].name;
    h.tensor = tc_temporary(ck, base, "index", e->type, h.n, n->range);
    vec_push(ck->arena, &ck->hoists, h);
    return &vec_last(&ck->hoists);
}

static const Affine *hoist(TcChecker *ck, const TcNode *n, const Expr *e,
                           const InferGuard *guards) {
    const TcHoist *h = find_hoist(ck, n, e, guards);
    const Affine *sub[PROGRAM_MAX_RANK];
    if (!h) return NULL;
    for (int d = 0; d < h->n; d++) sub[d] = affine_iter(ck->x, h->iter[d]);
    const Access *a = access_make(ck->x, h->tensor, h->n, sub);
    tc_add_read(ck, a, READ_PLAIN, n->range, NULL);
    return affine_read(ck->x, a);
}

typedef struct HoistReads {
    TcChecker *ck;
    VEC(InferRead) list;
    const InferGuard *guards;
    Range range;
} HoistReads;

static void hoist_read(void *user, const Access *a, bool guarded) {
    HoistReads *r = user;
    InferRead read = {.access = a, .guard = r->guards, .range = r->range};
    if (guarded || r->guards) read.mode = READ_GUARDED;
    vec_push(r->ck->arena, &r->list, read);
}

// Collects the reads of each guard, under the guards before it; returns the guards in the indices
// `to`.
static const InferGuard *guard_reads(HoistReads *r, const InferGuard *g, const Affine *const *to) {
    if (!g) return NULL;
    InferGuard *own = arena_new(r->ck->arena, InferGuard);
    own->up = r->guards = guard_reads(r, g->up, to);
    own->cond = expr_substitute(r->ck->x, g->cond, to, NULL, NULL, NULL);
    own->holds = g->holds;
    expr_visit_accesses(own->cond, hoist_read, r);
    return own;
}

void tc_put_hoists(TcChecker *ck) {
    for (int k = 0; k < ck->hoists.n; k++) {
        const TcHoist *h = &ck->hoists.at[k];
        const Affine *to[PROGRAM_MAX_ITERS] = {NULL}, *sub[PROGRAM_MAX_RANK];
        TcWork w = {.op = REDUCE_ASSIGN, .niters = ck->steps.n, .range = h->range};
        w.write_range = h->range;
        w.iter = tc_step_iters(ck, h->n);
        for (int i = 0; i < ck->steps.n; i++) to[i] = affine_iter(ck->x, i);
        for (int d = 0; d < h->n; d++) {
            int i = h->iter[d], at = i < ck->steps.n ? i : w.niters++;
            w.iter[at] = ck->iters.at[i];
            to[i] = sub[d] = affine_iter(ck->x, at);
        }
        w.nlhs = w.niters;
        HoistReads reads = {.ck = ck, .range = h->range};
        reads.guards = guard_reads(&reads, h->guards, to);
        w.value.e = expr_substitute(ck->x, h->value, to, NULL, NULL, NULL);
        expr_visit_accesses(expr_substitute(ck->x, h->e, to, NULL, NULL, NULL), hoist_read, &reads);
        w.reads = reads.list.at;
        w.nreads = reads.list.n;
        w.write = access_make(ck->x, h->tensor, h->n, sub);
        tc_put_work(ck, &w);
    }
}

// Converts names, reads and the like through their value, if that has an affine form.
static const Affine *through_value(TcChecker *ck, const TcNode *n, const char *what) {
    TcVal v = tc_value(ck, n);
    if (!v.e) return NULL;
    const Affine *a = expr_affine(ck, v.e);
    if (a) return a;
    Type type = tc_value_type(v);
    if (!type_is_integer(type)) return not_integer(ck, n, what, type_info[type].name);
    if (ck->no_index || ck->unread) return refuse(ck, n, what);
    const Expr *e = tc_coerce(ck, v, type);
    const InferGuard *guards = NULL;
    int known = 0;
    for (const InferGuard *g = ck->guards; g; g = g->up) known++;
    if (known < ck->guard || !guards_of(ck, e, ck->guards, &guards)) return refuse(ck, n, what);
    return hoist(ck, n, e, guards);
}

static const Affine *divide(TcChecker *ck, const TcNode *n, const Affine *a, const Affine *b) {
    if (b->has_iter || b->has_read) {
        Diag *d = diag_report(ck->diags, n->arg[1]->range, DIAG_TC_DIVISOR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIVISOR_NOTE);
        return NULL;
    }
    if (affine_is(b, 0)) {
        Diag *d = diag_report(ck->diags, n->arg[1]->range, DIAG_TC_ZERO_DIVISOR);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_DIVISOR_NOTE);
        return NULL;
    }
    return n->op == OP_DIV ? affine_div(ck->x, a, b) : affine_mod(ck->x, a, b);
}

static const Affine *arithmetic(TcChecker *ck, const TcNode *n, ExprOp op, const char *what) {
    const Affine *a = tc_affine(ck, n->arg[0], what);
    const Affine *b = n->n > 1 ? tc_affine(ck, n->arg[1], what) : a;
    if (!a || !b) return NULL;
    switch (op) {
    case OP_NEG: return affine_scale(ck->x, a, -1);
    case OP_ADD: return affine_add(ck->x, a, b);
    case OP_SUB: return affine_sub(ck->x, a, b);
    case OP_MUL: return affine_mul(ck->x, a, b);
    case OP_MIN: return affine_min(ck->x, a, b);
    case OP_MAX: return affine_max(ck->x, a, b);
    default: return divide(ck, n, a, b);
    }
}

static bool is_index_op(ExprOp op) {
    return op == OP_NEG || op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN ||
           op == OP_MAX || op == OP_DIV || op == OP_MOD;
}

const Affine *tc_affine(TcChecker *ck, const TcNode *n, const char *what) {
    if (n->kind == NODE_OP) {
        if (is_index_op((ExprOp)n->op)) return arithmetic(ck, n, (ExprOp)n->op, what);
        if (op_info[n->op].class == OP_COMPARE || op_info[n->op].class == OP_LOGIC)
            return not_integer(ck, n, what, "bool");
    }
    if (n->kind == NODE_FLOAT) return not_integer(ck, n, what, "float");
    if (n->kind == NODE_INT) return affine_const(ck->x, n->i);
    if (n->kind == NODE_CALL && !tc_find(ck, ck->frame, n->name)) {
        const TcBuiltin *b = tc_builtin(n->name, strlen(n->name));
        if (b && b->kind == BUILTIN_OP && (b->op == OP_MIN || b->op == OP_MAX) && n->n == 2)
            return arithmetic(ck, n, b->op, what);
    }
    return through_value(ck, n, what);
}

// --- Borders -------------------------------------------------------------------------------------
//
// The meaning of a read outside its tensor:
//
//     pad(A(i+k-1))      in a reduction: iterations outside are excluded (its identity counts)
//     pad(A(i+k-1), v)   v:                         inside ? A(i+k-1) : v
//     clamp(A(i+k-1))    the nearest element:       A(max(0, min(i+k-1, N-1)))
//     mirror(A(i+k-1))   reflected, the edge once:  A(min(m, P - m)), P = 2*(N-1), m = (i+k-1) % P
//
// A subscript that is a bare index with an inferred range stays inside by inference and is not
// changed.

static const TcVal poison = {.weak = WEAK_NOT};

static bool has_range(const TcChecker *ck, Name name) {
    for (int i = 0; i < ck->stmt->nwhere; i++) {
        const TcWhere *w = &ck->stmt->where[i];
        if (w->kind == WHERE_RANGE && w->name == name) return true;
    }
    return false;
}

// Is subscript d of the read an index that cannot leave the tensor? Inference keeps it inside,
// unless its range comes from a `for`, a `where`, or a declared result of another size.
static bool stays_inside(TcChecker *ck, const Access *a, int d) {
    int i = affine_as_iter(a->sub[d]);
    if (i < ck->steps.n || has_range(ck, ck->iters.at[i].name)) return false;
    const Ten *to = ck->write ? &ck->tens.at[ck->write->tensor] : NULL;
    for (int e = 0; to && to->size && e < ck->write->rank; e++)
        if (affine_as_iter(ck->write->sub[e]) == i && to->size[e] != tc_extent(ck, a->tensor, d))
            return false;
    return true;
}

// The distance from the lower edge, and from the upper edge; both are >= 0 inside.
static const Affine *above(TcChecker *ck, const Access *a, int d) {
    return affine_sub(ck->x, a->sub[d], tc_origin(ck, a->tensor, d));
}

static const Affine *last(TcChecker *ck, const Access *a, int d) {
    return affine_add_const(ck->x, tc_extent(ck, a->tensor, d), -1);
}

static const Affine *below(TcChecker *ck, const Access *a, int d) {
    return affine_sub(ck->x, last(ck, a, d), above(ck, a, d));
}

static void add_constraint(TcChecker *ck, const Affine *c) {
    for (int i = 0; i < ck->constraints.n; i++)
        if (ck->constraints.at[i] == c) return;
    vec_push(ck->arena, &ck->constraints, c);
}

// Excludes the iterations that read outside.
static bool leave_out(TcChecker *ck, const TcNode *n, const Access *a) {
    DiagId id = ck->guard ? DIAG_TC_PAD_GUARDED : DIAG_TC_PAD_COMPUTED;
    bool bad = ck->guard > 0;
    for (int d = 0; d < a->rank; d++) bad = bad || (a->sub[d]->has_read);
    if (bad) {
        Diag *diag = diag_report(ck->diags, n->range, id);
        diag_note(ck->diags, diag, (Range){0, 0}, DIAG_TC_PAD_VALUE_NOTE);
        return false;
    }
    ck->padded = n->range;
    for (int d = 0; d < a->rank; d++) {
        if (stays_inside(ck, a, d)) continue;
        add_constraint(ck, above(ck, a, d));
        add_constraint(ck, below(ck, a, d));
    }
    return true;
}

static const Expr *not_negative(TcChecker *ck, const Affine *a) {
    return expr_binary(ck->x, OP_GE, expr_index(ck->x, TYPE_I64, a), expr_int(ck->x, TYPE_I64, 0));
}

// The condition that the read is inside; NULL if it always is.
static const Expr *inside(TcChecker *ck, const Access *a) {
    const Expr *all = NULL;
    for (int d = 0; d < a->rank; d++) {
        if (stays_inside(ck, a, d)) continue;
        const Expr *one = expr_binary(ck->x, OP_AND, not_negative(ck, above(ck, a, d)),
                                      not_negative(ck, below(ck, a, d)));
        all = all ? expr_binary(ck->x, OP_AND, all, one) : one;
    }
    return all;
}

static const Affine *clamped(TcChecker *ck, const Access *a, int d) {
    const Affine *zero = affine_const(ck->x, 0), *s = above(ck, a, d);
    s = affine_max(ck->x, zero, affine_min(ck->x, s, last(ck, a, d)));
    return affine_add(ck->x, s, tc_origin(ck, a->tensor, d));
}

static const Affine *mirrored(TcChecker *ck, const Access *a, int d) {
    const Affine *period = affine_scale(ck->x, last(ck, a, d), 2);
    const Affine *m = affine_mod(ck->x, above(ck, a, d), period);
    const Affine *s = affine_min(ck->x, m, affine_sub(ck->x, period, m));
    return affine_add(ck->x, s, tc_origin(ck, a->tensor, d));
}

static const Access *moved(TcChecker *ck, const Access *a, TcBuiltinKind kind) {
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        sub[d] = stays_inside(ck, a, d)  ? a->sub[d]
                 : kind == BUILTIN_CLAMP ? clamped(ck, a, d)
                                         : mirrored(ck, a, d);
    return access_make(ck->x, a->tensor, a->rank, sub);
}

// The read that is the argument of a border function.
static const Access *border_read(TcChecker *ck, const TcNode *n, Type *type) {
    const TcNode *arg = n->arg[0];
    const Sym *s = arg->kind == NODE_CALL ? tc_find(ck, ck->frame, arg->name) : NULL;
    if (arg->kind == NODE_BAD || (s && s->kind == SYM_POISON)) return NULL;
    if (arg->kind == NODE_CALL && !s && !tc_builtin(arg->name, strlen(arg->name)) &&
        !tc_type_name(arg->name, strlen(arg->name))) {
        tc_report_undefined(ck, arg);
        return NULL;
    }
    if (!s || s->kind != SYM_TENSOR) {
        Diag *d = diag_report(ck->diags, arg->range, DIAG_TC_BORDER_READ, n->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_BORDER_READ_NOTE, n->name);
        return NULL;
    }
    const Range *subs;
    const Access *a = tc_access(ck, arg, s->tensor, &subs);
    *type = tc_tensor_type(ck, s->tensor);
    if (a) tc_add_read(ck, a, READ_PADDED, arg->range, subs);
    return *type == TYPE_NONE ? NULL : a;
}

TcVal tc_border(TcChecker *ck, const TcNode *n, TcBuiltinKind kind) {
    Type type = TYPE_NONE;
    const Access *a = border_read(ck, n, &type);
    if (kind == BUILTIN_PAD && n->n == 2) {
        ck->guard++;
        TcVal v = tc_value(ck, n->arg[1]);
        ck->guard--;
        if (!a || !v.e) return poison;
        const Expr *c = inside(ck, a);
        TcVal read = {.e = expr_read(ck->x, type, a)};
        return c ? tc_select(ck, (TcVal){.e = c}, read, v) : read;
    }
    if (!a) return poison;
    if (kind == BUILTIN_PAD) {
        if (!leave_out(ck, n, a)) return poison;
    } else {
        a = moved(ck, a, kind);
    }
    return (TcVal){.e = expr_read(ck->x, type, a)};
}
