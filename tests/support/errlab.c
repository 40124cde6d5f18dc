#include "support/errlab.h"

#include <float.h>
#include <math.h>
#include <string.h>

// A value and the allowed difference of an implementation.
typedef struct Near {
    Value v;
    double e;
} Near;

// The terms that a reduction combines in one element, for bounds in any order.
typedef struct Total {
    double terms, size; // number, and sum of magnitudes
    double error, most; // sum of errors (for products, relative ones), and the largest
    bool exact;         // all are multiples of UNIT
} Total;

typedef struct Err {
    Arena *arena;
    const Program *p;
    Value **value;
    double **error;
    const Stmt *st;
    Value *old_value; // of the written tensor, if the statement reads it
    double *old_error;
    int64_t at[PROGRAM_MAX_ITERS];
    bool failed;
} Err;

static const double UNIT = 1.0 / 1024;

static double number(Type t, Value v) { return type_is_float(t) ? v.f : (double)v.i; }

// Half a unit in the last place, relative; and the absolute one for denormals.
static double roundoff(Type t) {
    return t == TYPE_F64 ? 0x1p-53 : t == TYPE_F16 ? 0x1p-11 : t == TYPE_BF16 ? 0x1p-8 : 0x1p-24;
}
static double smallest(Type t) {
    return t == TYPE_F64 ? 0x1p-1074 : t == TYPE_F16 ? 0x1p-24 : 0x1p-149;
}

// Both evaluations round: the error of values about v that differ by e.
static double rounded(Type t, double v, double e) {
    if (e == 0 || !type_is_float(t)) return e;
    return e + 2 * roundoff(t) * (fabs(v) + e) + smallest(t);
}

static int64_t dense(const Tensor *t, const int64_t *sub) {
    int64_t at = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t i = sub[d] - tensor_origin(t, d), n = tensor_size(t, d);
        if (i < 0 || i >= n) return -1;
        at = at * n + i;
    }
    return at;
}

static bool read_index(void *user, const Access *a, int64_t *out);

// The number of an element; -1: outside. If the index itself may differ, everything is unknown.
static int64_t locate(Err *r, const Access *a) {
    int64_t sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++)
        if (!affine_eval(a->sub[d], r->at, NULL, read_index, r, &sub[d])) return -1;
    return dense(&r->p->tensors.at[a->tensor], sub);
}

static Near load(Err *r, const Access *a) {
    int64_t i = locate(r, a);
    bool own = r->old_value && a->tensor == r->st->write->tensor;
    if (i < 0) return (Near){{.i = 0}, INFINITY}; // in a branch that may not be taken
    return own ? (Near){r->old_value[i], r->old_error[i]}
               : (Near){r->value[a->tensor][i], r->error[a->tensor][i]};
}

static bool read_index(void *user, const Access *a, int64_t *out) {
    Near x = load(user, a);
    *out = x.v.i;
    return x.e == 0;
}

// --- Functions -----------------------------------------------------------------------------------

static bool is_exact(ExprOp op) {
    return op == OP_CEIL || op == OP_FLOOR || op == OP_ROUND || op == OP_TRUNC || op == OP_FABS ||
           op == OP_SQRT || op == OP_COPYSIGN || op == OP_FMAX || op == OP_FMIN || op == OP_FMA ||
           op == OP_FDIM || op == OP_FDIVIDE || op == OP_RECIP;
}

static bool is_monotone(ExprOp op) {
    switch (op) {
    case OP_ASINH:
    case OP_ATAN:
    case OP_CBRT:
    case OP_CEIL:
    case OP_ERF:
    case OP_ERFC:
    case OP_EXP:
    case OP_EXP10:
    case OP_EXP2:
    case OP_EXPM1:
    case OP_FLOOR:
    case OP_LOG:
    case OP_LOG10:
    case OP_LOG1P:
    case OP_LOG2:
    case OP_ROUND:
    case OP_SIGMOID:
    case OP_SINH:
    case OP_SQRT:
    case OP_TANH:
    case OP_TRUNC: return true;
    default: return false;
    }
}

// The change of a monotone function within e of its argument.
static double moved(ExprOp op, double x, double e) {
    double here = op_eval(op, TYPE_F64, &(Value){.f = x}).f, most = 0;
    for (int side = -1; side <= 1; side += 2) {
        double d = fabs(op_eval(op, TYPE_F64, &(Value){.f = x + side * e}).f - here);
        if (!(d <= most)) most = d;
    }
    return most;
}

static double passed_on(ExprOp op, const Near *x) {
    double a = fabs(x[0].v.f), e = x[0].e;
    if (is_monotone(op)) return moved(op, x[0].v.f, e);
    if ((op == OP_RSQRT && x[0].v.f > e) || ((op == OP_RECIP || op == OP_RCBRT) && a > e))
        return moved(op, x[0].v.f, e);
    if (op == OP_SIN || op == OP_COS) return fmin(e, 2);
    if (op == OP_FABS) return e;
    if (op == OP_HYPOT || op == OP_FDIM) return e + x[1].e;
    if (op == OP_FMAX || op == OP_FMIN) return fmax(e, x[1].e);
    return INFINITY;
}

static double function_error(ExprOp op, Type t, const Near *x, int n, double v) {
    double e = 0, own = is_exact(op) ? 0 : t == TYPE_F64 ? 8 * roundoff(t) : 4 * roundoff(t);
    bool differ = false;
    for (int i = 0; i < n; i++) differ |= x[i].e != 0;
    for (int i = 0; i < n; i++) // it may as well be NaN
        if (!isfinite(x[i].e)) return INFINITY;
    if (differ) e = passed_on(op, x);
    if (differ && v == 0) e += smallest(t); // of either sign
    e = rounded(t, v, e);
    if (own == 0 || v == 0 || !isfinite(v)) return e; // such values agree
    return e + own * (fabs(v) + e) + 4 * smallest(t);
}

// --- Operations ----------------------------------------------------------------------------------

static double arith_error(ExprOp op, Type t, const Near *x, Value v) {
    double a = fabs(number(t, x[0].v)), b = fabs(number(t, x[1].v)), ea = x[0].e, eb = x[1].e, e;
    switch (op) {
    case OP_ADD:
    case OP_SUB: e = ea + eb; break;
    case OP_MUL: e = a * eb + b * ea + ea * eb; break;
    case OP_DIV:
        if (!type_is_float(t) || b <= eb) return INFINITY;
        e = (ea + a / b * eb) / (b - eb);
        break;
    case OP_MIN:
    case OP_MAX: return fmax(ea, eb);
    default: return INFINITY;
    }
    if (!type_is_float(t)) // nothing wraps
        return fabs(number(t, v)) + e < ldexp(1, type_info[t].bits - 1) ? e : INFINITY;
    return rounded(t, v.f, e);
}

static bool is_compare(ExprOp op) { return op >= OP_LT && op <= OP_NE; }

static double op_error(ExprOp op, Type t, const Near *x, int n, Value v) {
    double e = 0;
    for (int i = 0; i < n; i++) e += x[i].e;
    if (op_info[op].class == OP_MATH) return function_error(op, type_compute(t), x, n, v.f);
    if (e == 0) return 0;
    if (is_compare(op)) return !(fabs(number(t, x[0].v) - number(t, x[1].v)) > e);
    if (op == OP_NEG || op == OP_ABS || op == OP_RELU) return e;
    if (op == OP_NOT) return e > 0;
    return n == 2 ? arith_error(op, type_compute(t), x, v) : INFINITY;
}

static double cast_error(Type to, Type from, Near x, Value v) {
    if (x.e == 0) return 0;
    if (to == TYPE_BOOL) return !(fabs(number(from, x.v)) > x.e);
    if (type_is_float(to)) return rounded(to, v.f, x.e);
    if (!type_is_float(from) || !isfinite(x.e)) return INFINITY; // may wrap; may be NaN
    double most = 0;
    for (int side = -1; side <= 1; side += 2) {
        Value w = type_convert(to, from, (Value){.f = x.v.f + side * x.e});
        most = fmax(most, fabs((double)w.i - (double)v.i));
    }
    return most;
}

static Near value_of(Err *r, const Expr *e);

static Near logic_of(Err *r, const Expr *e) {
    Near a = value_of(r, e->arg[0]);
    bool decides = (a.v.i != 0) == (e->op == OP_OR);
    if (decides && a.e == 0) return a;
    Near b = value_of(r, e->arg[1]);
    return (Near){decides ? a.v : b.v, a.e != 0 || b.e != 0};
}

static Near choice_of(Err *r, const Expr *e) {
    Near c = value_of(r, e->arg[0]);
    Near x = value_of(r, e->arg[c.v.i ? 1 : 2]);
    if (c.e == 0) return x;
    Near y = value_of(r, e->arg[c.v.i ? 2 : 1]);
    x.e += y.e + fabs(number(e->type, x.v) - number(e->type, y.v));
    if (isnan(x.e)) x.e = INFINITY;
    return x;
}

static Near value_of(Err *r, const Expr *e) {
    Near x[4], out = {{.i = 0}, 0};
    if (e->kind == EXPR_CONST) return (Near){e->value, 0};
    if (e->kind == EXPR_READ) return load(r, e->access);
    if (e->kind == EXPR_INDEX) {
        if (!affine_eval(e->index, r->at, NULL, read_index, r, &out.v.i)) out.e = INFINITY;
        return out;
    }
    if (e->op == OP_SELECT) return choice_of(r, e);
    if (e->op == OP_AND || e->op == OP_OR) return logic_of(r, e);
    Type from = e->arg[0]->type;
    Value v[4];
    for (int i = 0; i < e->n; i++) x[i] = value_of(r, e->arg[i]), v[i] = x[i].v;
    if (e->op == OP_CAST) {
        out.v = type_convert(e->type, from, v[0]);
        out.e = cast_error(e->type, from, x[0], out.v);
    } else {
        out.v = op_eval(e->op, from, v);
        out.e = op_error(e->op, from, x, e->n, out.v);
    }
    if (isnan(out.e)) out.e = INFINITY;
    return out;
}

// --- Statements ----------------------------------------------------------------------------------

static bool is_fused(const Stmt *st) {
    return st->op == REDUCE_ADD && st->value->kind == EXPR_OP && st->value->op == OP_MUL;
}

static void add_term(Total *t, double size, double e, bool product) {
    double units = size / UNIT;
    t->terms++;
    t->exact &= units == floor(units);
    t->size += size;
    t->error += product ? (e == 0 ? 0 : e / size) : e;
    t->most = fmax(t->most, isnan(e) ? INFINITY : e);
}

// The element of type `type` with another term.
static Value combine(Err *r, Type type, Value old, Total *t) {
    static const ExprOp op[] = {
        [REDUCE_ADD] = OP_ADD, [REDUCE_MUL] = OP_MUL, [REDUCE_MIN] = OP_MIN, [REDUCE_MAX] = OP_MAX};
    const Stmt *st = r->st;
    if (is_fused(st) && type_is_float(type)) {
        Near x = value_of(r, st->value->arg[0]), y = value_of(r, st->value->arg[1]);
        double a = fabs(x.v.f), b = fabs(y.v.f);
        add_term(t, a * b, a * y.e + b * x.e + x.e * y.e, false);
        return op_eval(OP_FMA, type, (Value[]){x.v, y.v, old});
    }
    Near x = value_of(r, st->value);
    add_term(t, fabs(number(type, x.v)), x.e, st->op == REDUCE_MUL);
    return op_eval(op[st->op], type, (Value[]){old, x.v});
}

// The allowed difference of a reduction; `old` is the error of the element before it.
static double total_error(Reduce op, Type type, const Total *t, Value v, double old) {
    if (t->terms == 0) return old;
    if (op == REDUCE_MIN || op == REDUCE_MAX) {
        double most = fmax(old, t->most);
        return most == 0 || type == type_compute(type) ? most : rounded(type, v.f, most);
    }
    bool exact = t->exact && t->size / UNIT < ldexp(1, type == TYPE_F64 ? 53 : 24);
    double n = t->terms + 2, e = t->error + old;
    if (!type_is_float(type)) return e == 0 || op == REDUCE_ADD ? e : INFINITY;
    if (!(t->size + e < (type == TYPE_F64 ? DBL_MAX : FLT_MAX))) return INFINITY; // may overflow
    if (op == REDUCE_ADD) return exact ? e : rounded(type, n * (t->size + e), e + smallest(type));
    if (t->terms == 1 && e == 0) return 0;
    if (v.f == 0 && t->error == 0) return old == 0 ? 0 : INFINITY;
    if (old != 0 || !isfinite(v.f) || fabs(v.f) < 1e-30) return INFINITY;
    return fabs(v.f) * expm1(t->error + 2 * n * roundoff(type));
}

static bool exists(Err *r) {
    for (int i = 0; i < r->st->nconstraints; i++) {
        int64_t v;
        if (!affine_eval(r->st->constraint[i], r->at, NULL, read_index, r, &v)) r->failed = true;
        if (r->failed || v < 0) return false;
    }
    return true;
}

static bool first_point(Err *r, bool skip_reductions) {
    bool any = true;
    for (int i = r->st->serial; i < r->st->niters; i++) {
        const Iter *it = &r->st->iter[i];
        r->at[i] = iter_lo(it);
        any &= iter_lo(it) < iter_hi(it) || (skip_reductions && it->reduction);
    }
    return any;
}

static bool next_point(Err *r, bool skip_reductions) {
    for (int i = r->st->niters - 1; i >= r->st->serial; i--) {
        const Iter *it = &r->st->iter[i];
        if (skip_reductions && it->reduction) continue;
        if (++r->at[i] < iter_hi(it)) return true;
        r->at[i] = iter_lo(it);
    }
    return false;
}

static void initialise(Err *r, int64_t elements) {
    static const char sign[] = {'+', '+', '*', '<', '>'};
    const Access *w = r->st->write;
    Value start = type_identity(r->p->tensors.at[w->tensor].type, sign[r->st->op]);
    for (int64_t i = 0; w->has_read && i < elements; i++)
        r->value[w->tensor][i] = start, r->error[w->tensor][i] = 0;
    if (w->has_read || !first_point(r, true)) return;
    do {
        int64_t i = locate(r, w);
        if (i < 0) r->failed = true;
        if (r->failed) return;
        r->value[w->tensor][i] = start;
        r->error[w->tensor][i] = 0;
    } while (next_point(r, true));
}

static void see_own(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Err *r = user;
    if (a->tensor == r->st->write->tensor) r->old_value = r->value[a->tensor];
}

// All reads come before any write.
static void keep_old(Err *r, int64_t elements) {
    const Access *w = r->st->write;
    r->old_value = NULL;
    expr_visit_accesses(r->st->value, see_own, r);
    for (int d = 0; d < w->rank; d++) affine_visit_accesses(w->sub[d], see_own, r);
    if (!r->old_value) return;
    size_t n = (size_t)elements;
    r->old_value = arena_copy(r->arena, r->value[w->tensor], n * sizeof(Value));
    r->old_error = arena_copy(r->arena, r->error[w->tensor], n * sizeof(double));
}

static Value stored(Type t, Value v) { return type_convert(t, type_compute(t), v); }

static void assign(Err *r, Type type, int64_t i) {
    Near x = value_of(r, r->st->value);
    int w = r->st->write->tensor;
    r->value[w][i] = stored(type, x.v);
    r->error[w][i] = type == type_compute(type) ? x.e : rounded(type, number(type, x.v), x.e);
    if (isnan(r->error[w][i])) r->error[w][i] = INFINITY;
}

static void run_stmt(Err *r) {
    const Access *w = r->st->write;
    const Tensor *t = &r->p->tensors.at[w->tensor];
    int64_t elements = tensor_elements(t);
    bool reduces = r->st->op != REDUCE_ASSIGN;
    keep_old(r, elements);
    if (r->st->init && reduces) initialise(r, elements);
    Total *total = reduces ? arena_new_n(r->arena, Total, elements) : NULL;
    for (int64_t i = 0; reduces && i < elements; i++) {
        double old = fabs(number(t->type, r->value[w->tensor][i]));
        total[i] = (Total){.exact = old / UNIT == floor(old / UNIT) || isinf(old)};
        total[i].size = isinf(old) || r->st->op != REDUCE_ADD ? 0 : old;
    }
    if (!first_point(r, false)) return;
    do {
        if (!exists(r)) continue;
        int64_t i = locate(r, w);
        if (i < 0) r->failed = true;
        if (r->failed) return;
        if (reduces)
            r->value[w->tensor][i] =
                stored(t->type, combine(r, t->type, r->value[w->tensor][i], &total[i]));
        else
            assign(r, t->type, i);
    } while (!r->failed && next_point(r, false));
    for (int64_t i = 0; reduces && i < elements; i++) {
        double *e = &r->error[w->tensor][i];
        *e = total_error(r->st->op, t->type, &total[i], r->value[w->tensor][i], *e);
        if (isnan(*e)) *e = INFINITY;
    }
}

static bool may_differ(const Expr *e) {
    if (e->kind != EXPR_OP) return false;
    if (op_info[e->op].class == OP_MATH && !is_exact(e->op)) return true;
    for (int i = 0; i < e->n; i++)
        if (may_differ(e->arg[i])) return true;
    return false;
}

bool error_possible(const Program *p) {
    for (int s = 0; s < p->stmts.n; s++) {
        const Stmt *st = &p->stmts.at[s];
        bool sums = st->op == REDUCE_ADD || st->op == REDUCE_MUL;
        if (sums && type_is_float(p->tensors.at[st->write->tensor].type)) return true;
        if (may_differ(st->value)) return true;
    }
    return false;
}

// Runs statements [from, to), of which at[] holds the first `depth` serial iterators.
static void run_steps(Err *r, int from, int to, int depth) {
    for (int end; from < to && !r->failed; from = end) {
        const Stmt *first = &r->p->stmts.at[from];
        end = from + 1;
        if (first->serial == depth) {
            r->st = first;
            run_stmt(r);
            continue;
        }
        while (end < to && r->p->stmts.at[end].joined > depth) end++;
        for (int64_t v = iter_lo(&first->iter[depth]); v < iter_hi(&first->iter[depth]); v++) {
            r->at[depth] = v;
            run_steps(r, from, end, depth + 1);
        }
    }
}

bool error_bounds(Arena *arena, const Program *p, const View *views, ErrorBounds *out) {
    Err r = {.arena = arena, .p = p};
    r.value = arena_new_n(arena, Value *, p->tensors.n + 1);
    r.error = arena_new_n(arena, double *, p->tensors.n + 1);
    for (int t = 0; t < p->tensors.n; t++) {
        int64_t n = tensor_elements(&p->tensors.at[t]);
        r.value[t] = arena_new_n(arena, Value, n);
        r.error[t] = arena_new_n(arena, double, n);
        Type type = p->tensors.at[t].type;
        for (int64_t i = 0; i < n && t < p->ninputs + p->noutputs; i++)
            r.value[t][i] = type_load(type, (char *)views[t].data + i * type_info[type].bytes);
    }
    run_steps(&r, 0, p->stmts.n, 0);
    *out = (ErrorBounds){r.value, r.error};
    return !r.failed;
}

// Integers wrap: 65532 is 11 below 7 in sixteen bits.
static double distance(Type type, int64_t a, int64_t b) {
    double d = fabs((double)a - (double)b);
    return fmin(d, ldexp(1, 8 * (int)type_info[type].bytes) - d);
}

bool error_allows(Type type, Value got, Value want, double error) {
    if (!type_is_float(type)) return got.i == want.i || distance(type, got.i, want.i) <= error;
    if (isnan(got.f) || isnan(want.f)) return isnan(got.f) == isnan(want.f) || isinf(error);
    if (error == 0) return memcmp(&got.f, &want.f, sizeof got.f) == 0;
    return got.f == want.f || fabs(got.f - want.f) <= error;
}
