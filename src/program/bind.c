// Binding: a Program with symbolic sizes and the values of its parameters give a Program with
// numbers.
//
// Everything is rebuilt in a separate pool with the parameters replaced, so the symbolic Program
// stays untouched and may be bound by several threads. Then these are checked, in this order and as
// long as no error is found: values of parameters, preconditions, sizes, ranges, and the statements
// themselves (check.c).
#include "program/program.h"

#include "base/bug.h"
#include "base/checked.h"
#include "program/check.h"

#include <string.h>

typedef struct Binder {
    const Program *from;
    Program *to;
    const int64_t *values;
    Subst subst;
    DiagList *diags;
    bool ok;
    int warned; // the last of Require.about
} Binder;

static void fail_overflow(Binder *b, Range range) {
    diag_report(b->diags, range, DIAG_PROGRAM_OVERFLOW);
    b->ok = false;
}

// --- Text for diagnostics ----------------------------------------------------------------------

static PrintNames param_names(const Binder *b) {
    Name *names = arena_new_n(b->diags->arena, Name, b->from->params.n);
    for (int i = 0; i < b->from->params.n; i++) names[i] = b->from->params.at[i].name;
    return (PrintNames){.params = names};
}

static const char *show(const Binder *b, const Affine *a) {
    Text t = {.arena = b->diags->arena};
    PrintNames names = param_names(b);
    affine_print(&t, a, &names);
    return text_str(&t);
}

static void mark_params(const Affine *a, bool *used) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_PARAM) used[t->index] = true;
        if (t->a) mark_params(t->a, used);
        if (t->b) mark_params(t->b, used);
    }
}

// " with H = 3, KH = 5": the values of the parameters in the affines.
static const char *show_values(const Binder *b, const Affine *a, const Affine *also) {
    bool used[PROGRAM_MAX_PARAMS] = {false}, first = true;
    Text t = {.arena = b->diags->arena};
    mark_params(a, used);
    if (also) mark_params(also, used);
    for (int i = 0; i < b->from->params.n; i++) {
        if (!used[i]) continue;
        text_printf(&t, "%s%s = %lld", first ? " with " : ", ", b->from->params.at[i].name,
                    (long long)b->values[i]);
        first = false;
    }
    return text_str(&t);
}

// --- Parameters and preconditions --------------------------------------------------------------

static void check_param(Binder *b, const Param *param, int64_t value) {
    if (param->kind == PARAM_SIZE && value < 0) {
        diag_report(b->diags, param->range, DIAG_BIND_SIZE_NEGATIVE, param->name, (long long)value);
        b->ok = false;
    }
    if (param->kind != PARAM_SCALAR) return;
    Value v = {.i = value};
    if (type_round(param->type, v).i == value && (param->type != TYPE_U64 || value >= 0)) return;
    diag_report(b->diags, param->range, DIAG_BIND_SCALAR_RANGE, param->name, (long long)value,
                type_info[param->type].name);
    b->ok = false;
}

static bool has_no_iteration(const Binder *b, const Stmt *st) {
    int64_t lo, hi;
    for (int i = 0; i < st->niters; i++)
        if (affine_eval(st->iter[i].lo, NULL, b->values, NULL, NULL, &lo) &&
            affine_eval(st->iter[i].hi, NULL, b->values, NULL, NULL, &hi) && hi <= lo)
            return true;
    return false;
}

static void check_require(Binder *b, const Require *r) {
    int64_t v;
    if (r->stmt && has_no_iteration(b, &b->from->stmts.at[r->stmt - 1])) return;
    if (!affine_eval(r->what, NULL, b->values, NULL, NULL, &v)) {
        fail_overflow(b, r->range);
    } else if (v < 0 && r->warn) {
        if (!b->ok || (r->about && r->about == b->warned)) return;
        b->warned = r->about;
        Diag *d =
            diag_report(b->diags, r->range, DIAG_BIND_NARROWED, r->why ? r->why : show(b, r->what),
                        show_values(b, r->what, NULL), -(long long)v, v == -1 ? "" : "s");
        diag_note(b->diags, d, (Range){0, 0}, DIAG_BIND_NARROWED_NOTE);
        program_note_calls(b->diags, b->diags->items.n - 1, r->call);
    } else if (v < 0) {
        Diag *d = diag_report(b->diags, r->range, DIAG_BIND_REQUIRE, show(b, r->what),
                              show_values(b, r->what, NULL), (long long)v);
        if (r->why) diag_note(b->diags, d, (Range){0, 0}, DIAG_BIND_REQUIRE_NOTE, r->why);
        program_note_calls(b->diags, b->diags->items.n - 1, r->call);
        b->ok = false;
    }
}

// Preconditions assume that there is something to read. With an empty input there may be no
// instance at all; then only the accesses that are performed are checked.
static bool has_empty_input(const Binder *b) {
    for (int t = 0; t < b->from->ninputs; t++) {
        const Tensor *tensor = &b->from->tensors.at[t];
        for (int d = 0; d < tensor->rank; d++) {
            int64_t size;
            if (affine_eval(tensor->size[d], NULL, b->values, NULL, NULL, &size) && size == 0)
                return true;
        }
    }
    return false;
}

// Does the range depend on parameters, none of which is 0?
static bool has_sizes(const Binder *b, const Affine *lo, const Affine *hi) {
    bool used[PROGRAM_MAX_PARAMS] = {false}, any = false;
    mark_params(lo, used);
    mark_params(hi, used);
    for (int i = 0; i < b->from->params.n; i++) {
        if (used[i] && b->values[i] == 0) return false;
        any |= used[i];
    }
    return any;
}

static bool is_only_definition(const Program *p, const Stmt *st) {
    for (int i = 0; i < p->stmts.n; i++)
        if (&p->stmts.at[i] != st && p->stmts.at[i].write->tensor == st->write->tensor)
            return false;
    return true;
}

// Warns about a range that is empty although no size in it is 0, once. Parts of a tensor and steps
// often are at the smallest size: Y(i) = ... where i in 1:N beside Y(0) = ...
static void warn_empty(Binder *b) {
    for (int s = 0; s < b->from->stmts.n; s++) {
        const Stmt *st = &b->from->stmts.at[s];
        for (int i = st->serial; i < st->niters; i++) {
            const Affine *lo = st->iter[i].lo, *hi = st->iter[i].hi;
            int64_t first, end;
            if (!affine_eval(lo, NULL, b->values, NULL, NULL, &first) ||
                !affine_eval(hi, NULL, b->values, NULL, NULL, &end) || first != end)
                continue;
            if (!has_sizes(b, lo, hi) || !is_only_definition(b->from, st)) return;
            diag_report(b->diags, st->iter[i].range, DIAG_BIND_EMPTY, show(b, lo), show(b, hi),
                        st->iter[i].name, show_values(b, lo, hi));
            program_note_calls(b->diags, b->diags->items.n - 1, st->call);
            return;
        }
    }
}

// --- Sizes and ranges --------------------------------------------------------------------------

// The affine in the new pool, where it must be constant; anything else is a bug.
static const Affine *bind_affine(Binder *b, const Affine *a, Range range) {
    const Affine *bound = affine_subst(b->to->exprs, a, &b->subst);
    if (b->to->exprs->overflow) {
        b->to->exprs->overflow = false;
        fail_overflow(b, range);
    }
    return bound;
}

static int64_t bind_number(Binder *b, const Affine *a, Range range, const Affine **out) {
    *out = bind_affine(b, a, range);
    if (!affine_is_const(*out)) bug("an extent depends on more than parameters");
    return (*out)->constant;
}

static void bind_tensor(Binder *b, const Tensor *from) {
    Tensor t = *from;
    int64_t bytes = type_info[t.type].bytes, last;
    bool fits = true;
    t.size = arena_new_n(b->to->arena, const Affine *, t.rank);
    t.origin = arena_new_n(b->to->arena, const Affine *, t.rank);
    for (int d = 0; d < t.rank; d++) {
        int64_t size = bind_number(b, from->size[d], t.range, &t.size[d]);
        int64_t origin = bind_number(b, from->origin[d], t.range, &t.origin[d]);
        if (size < 0) {
            diag_report(b->diags, t.range, DIAG_BIND_EXTENT_NEGATIVE, d + 1, t.name,
                        show(b, from->size[d]), (long long)size,
                        show_values(b, from->size[d], NULL));
            b->ok = false;
            size = 0;
        }
        fits = fits && checked_mul(bytes, max_i64(size, 1), &bytes) &&
               checked_add(origin, size, &last);
    }
    if (!fits) {
        diag_report(b->diags, t.range, DIAG_BIND_TENSOR_OVERFLOW, t.name);
        b->ok = false;
    }
    vec_push(b->to->arena, &b->to->tensors, t);
}

static void bind_iter(Binder *b, const Iter *from, Iter *to, Range stmt) {
    Range range = from->range.to ? from->range : stmt;
    int64_t lo = bind_number(b, from->lo, range, &to->lo);
    int64_t hi = bind_number(b, from->hi, range, &to->hi), extent;
    if (hi < lo) {
        diag_report(b->diags, range, DIAG_BIND_RANGE_EMPTY, from->name, show(b, from->lo),
                    from->name, show(b, from->hi), (long long)lo, from->name, (long long)hi,
                    show_values(b, from->lo, from->hi));
        b->ok = false;
    } else if (!checked_sub(hi, lo, &extent)) {
        fail_overflow(b, range);
    }
}

// Narrows the value of a statement with numbers to as few bits as it needs.
static const Expr *narrowed(const Program *p, const Stmt *s) {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) {
        lo[i] = iter_lo(&s->iter[i]);
        hi[i] = iter_hi(&s->iter[i]) - 1;
        if (hi[i] < lo[i]) return s->value;
    }
    return expr_narrow(p->exprs, s->value, lo, hi);
}

// A scatter initialises its whole tensor. If numbers fold its subscripts, as `H[B[i] % K]` with
// K = 1, it is no longer a scatter, and a statement that initialises the tensor precedes it:
// H[x] op=! identity, which `accumulate` skips as it would skip the initialisation of the scatter.
static void keep_whole_init(Binder *b, const Stmt *from) {
    Program *p = b->to;
    Stmt *folded = &vec_last(&p->stmts);
    if (!from->init || !from->write->has_read || folded->write->has_read) return;
    int tensor = from->write->tensor, serial = from->serial;
    const Tensor *t = &p->tensors.at[tensor];
    Stmt fill = *folded;
    fill.niters = serial + t->rank;
    fill.iter = arena_new_n(p->arena, Iter, fill.niters);
    memcpy(fill.iter, folded->iter, (size_t)serial * sizeof(Iter));
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        Name name = name_of(p->names, arena_printf(p->arena, "%s.%d", from->label, d));
        fill.iter[serial + d] = (Iter){
            .name = name, .lo = t->origin[d], .hi = affine_add(p->exprs, t->origin[d], t->size[d])};
        sub[d] = affine_iter(p->exprs, serial + d);
    }
    fill.write = access_make(p->exprs, tensor, t->rank, sub);
    fill.value = expr_const(p->exprs, t->type, reduce_start(t->type, from->op));
    fill.nconstraints = 0;
    fill.label = name_of(p->names, arena_printf(p->arena, "%s.init", from->label));
    folded->init = false;
    folded->joined = serial;
    for (int i = serial; i < folded->niters; i++)
        folded->iter[i].reduction = !access_uses_iter(folded->write, i);
    vec_push(p->arena, &p->stmts, *folded);
    p->stmts.at[p->stmts.n - 2] = fill;
}

static void bind_stmt(Binder *b, const Stmt *from) {
    Program *p = b->to;
    int first = b->diags->items.n;
    Stmt *to = program_stmt(p, from->range);
    *to = *from;
    to->iter = arena_copy(p->arena, from->iter, (size_t)from->niters * sizeof(Iter));
    for (int i = 0; i < from->niters; i++) bind_iter(b, &from->iter[i], &to->iter[i], from->range);
    to->write = access_subst(p->exprs, from->write, &b->subst);
    to->value = expr_subst(p->exprs, from->value, &b->subst);
    to->constraint = arena_new_n(p->arena, const Affine *, from->nconstraints);
    for (int c = 0; c < from->nconstraints; c++)
        to->constraint[c] = affine_subst(p->exprs, from->constraint[c], &b->subst);
    if (p->exprs->overflow) fail_overflow(b, from->range);
    if (p->exprs->too_large) diag_report(b->diags, from->range, DIAG_PROGRAM_TOO_LARGE);
    b->ok &= !p->exprs->overflow && !p->exprs->too_large;
    p->exprs->overflow = p->exprs->too_large = false;
    if (b->ok) to->value = narrowed(p, to);
    if (b->ok) keep_whole_init(b, from);
    program_note_calls(b->diags, first, from->call);
}

// --- All of it ---------------------------------------------------------------------------------

static Program *bound_shell(Arena *arena, const Program *p) {
    Program *q = arena_new(arena, Program);
    q->arena = arena;
    q->exprs = arena_new(arena, Exprs);
    exprs_init(q->exprs, arena);
    q->names = p->names;
    q->name = p->name;
    q->source = p->source;
    q->ninputs = p->ninputs;
    q->noutputs = p->noutputs;
    q->bound = true;
    vec_reserve(arena, &q->tensors, p->tensors.n);
    vec_reserve(arena, &q->stmts, p->stmts.n);
    return q;
}

Program *program_bind(Arena *arena, const Program *p, const int64_t *values, DiagList *diags) {
    const Source *outer = diags->source;
    if (p->source) diags->source = p->source;
    Program *q = bound_shell(arena, p);
    Binder b = {.from = p, .to = q, .values = values, .diags = diags, .ok = true};
    const Affine **params = arena_new_n(arena, const Affine *, p->params.n);
    for (int i = 0; i < p->params.n; i++) params[i] = affine_const(q->exprs, values[i]);
    b.subst = (Subst){.params = params, .import = true};
    for (int i = 0; i < p->params.n; i++) check_param(&b, &p->params.at[i], values[i]);
    bool sane = b.ok && !has_empty_input(&b);
    for (int i = 0; i < p->preconditions.n && sane; i++) check_require(&b, &p->preconditions.at[i]);
    if (sane && b.ok) warn_empty(&b);
    for (int i = 0; i < p->tensors.n && b.ok; i++) bind_tensor(&b, &p->tensors.at[i]);
    for (int i = 0; i < p->stmts.n && b.ok; i++) bind_stmt(&b, &p->stmts.at[i]);
    if (b.ok) b.ok = program_check(arena, q, diags);
    diags->source = outer;
    return b.ok ? q : NULL;
}
