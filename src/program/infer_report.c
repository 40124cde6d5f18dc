// Reports of inference: remaining conditions (Requires), empty ranges, subscripts that leave their
// tensor, iterators without bounds.
//
// A condition  what >= 0  is dropped when it is proved, an error at once when its contrary is, and
// a Require otherwise, taken apart into its simplest pieces: a minimum on the safe side becomes two
// conditions, floor(a/b) >= 0 becomes a >= 0, common factors go.
#include "program/infer_impl.h"

#include "base/checked.h"
#include "base/nearest.h"

#include <string.h>

// --- Texts -------------------------------------------------------------------------------------

static Name *tensor_names(Infer *in) {
    if (in->tensors) return in->tensors;
    in->tensors = arena_new_n(in->arena, Name, in->p->tensors.n);
    for (int t = 0; t < in->p->tensors.n; t++) in->tensors[t] = in->p->tensors.at[t].name;
    return in->tensors;
}

static Name *param_names(Infer *in) {
    if (in->params) return in->params;
    in->params = arena_new_n(in->arena, Name, in->p->params.n);
    for (int i = 0; i < in->p->params.n; i++) in->params[i] = in->p->params.at[i].name;
    return in->params;
}

static const char *show(Infer *in, const InferWork *w, const Affine *a) {
    Name iters[PROGRAM_MAX_ITERS];
    for (int i = 0; i < w->stmt->niters; i++) iters[i] = w->stmt->iter[i].name;
    Text text = {.arena = in->arena};
    affine_print(&text, a, &(PrintNames){iters, param_names(in), tensor_names(in)});
    return text_str(&text);
}

static Name tensor_name(Infer *in, int t) { return in->p->tensors.at[t].name; }

static Range cons_range(const Cons *c) {
    if (!c->read) return c->w->stmt->range;
    return c->read->subs ? c->read->subs[c->dim] : c->read->range;
}

// A subscript as its author wrote it, when that is known and fits in a line.
static const char *show_sub(Infer *in, const Cons *c) {
    Range r = c->read && c->read->subs ? c->read->subs[c->dim] : (Range){0, 0};
    const Source *source = in->diags->source;
    uint32_t len = r.to - r.from;
    if (!source || r.to > source->len || len == 0 || len > 60 ||
        memchr(source->text + r.from, '\n', len))
        return show(in, c->w, c->sub);
    return arena_strndup(in->arena, source->text + r.from, len);
}

const Affine *infer_put_in(Infer *in, const Affine *a) {
    return a->has_param && in->extents.n ? affine_substitute(in->x, a, NULL, in->found) : a;
}

const Affine *tensor_lo(Infer *in, int t, int d) {
    const Tensor *tensor = &in->p->tensors.at[t];
    return tensor->origin && tensor->origin[d] ? infer_put_in(in, tensor->origin[d]) : in->zero;
}

const Affine *tensor_hi(Infer *in, int t, int d) {
    const Affine *size = infer_put_in(in, in->p->tensors.at[t].size[d]);
    return affine_add(in->x, tensor_lo(in, t, d), size);
}

// --- Requires ----------------------------------------------------------------------------------

static bool same_pointer(const void *key, const void *item) { return key == item; }

// Divides by the common factor of the terms; the constant rounds down, as  2N - 3 >= 0  is  N - 2
// >= 0.
static const Affine *reduce(Infer *in, const Affine *a) {
    int64_t g = 0;
    for (int i = 0; i < a->n; i++)
        for (int64_t b = a->term[i].coef; b;) {
            int64_t r = g % b;
            g = b;
            b = r;
        }
    if (g < 0) g = -g;
    return g > 1 ? affine_div(in->x, a, affine_const(in->x, g)) : a;
}

// k*floor(x/b) + c >= 0 as a condition on x; NULL when `a` is nothing of that form.
static const Affine *without_div(Infer *in, const Affine *a) {
    Exprs *x = in->x;
    if (a->n != 1 || a->term[0].atom->kind != ATOM_DIV || a->term[0].coef == INT64_MIN) return NULL;
    const Atom *t = a->term[0].atom;
    int64_t k = a->term[0].coef;
    if (k > 0) { // floor(x/b) >= m
        const Affine *m = affine_const(x, -floor_div(a->constant, k));
        return affine_sub(x, t->a, affine_mul(x, t->b, m));
    }
    const Affine *m = affine_const(x, floor_div(a->constant, -k)); // floor(x/b) <= m
    const Affine *last = affine_add_const(x, affine_add(x, affine_mul(x, t->b, m), t->b), -1);
    return affine_sub(x, last, t->a);
}

static const Affine *replace(Infer *in, const Affine *a, int at, const Affine *by) {
    Exprs *x = in->x;
    const Affine *rest = affine_sub(x, a, affine_make(x, 0, &a->term[at], 1));
    return affine_add(x, rest, affine_scale(x, by, a->term[at].coef));
}

static void add_require(Infer *in, const InferWork *w, const Affine *what, const char *why,
                        Range range, int depth) {
    for (int i = 0; i < what->n && depth > 0; i++) {
        const Atom *t = what->term[i].atom;
        bool both = (t->kind == ATOM_MIN && what->term[i].coef > 0) ||
                    (t->kind == ATOM_MAX && what->term[i].coef < 0);
        if (!both) continue;
        add_require(in, w, replace(in, what, i, t->a), why, range, depth - 1);
        add_require(in, w, replace(in, what, i, t->b), why, range, depth - 1);
        return;
    }
    const Affine *simpler = depth > 0 ? without_div(in, what) : NULL;
    if (simpler) return add_require(in, w, simpler, why, range, depth - 1);
    what = reduce(in, what);
    if (infer_proves(in, w, what)) return;
    uint64_t hash = hash_mix(1, (uint64_t)(uintptr_t)what);
    void **slot = set_find(in->arena, &in->required, hash, what, same_pointer);
    if (*slot) return;
    *slot = (void *)(uintptr_t)what;
    in->required.n++;
    const CallSite *call = w ? w->stmt->call : NULL;
    vec_push(in->arena, &in->p->preconditions,
             ((Require){.what = what, .why = why, .range = range, .call = call}));
}

enum { PIECES = 6 };

void infer_require_positive(Infer *in, const InferWork *w, const Affine *a, const Cons *c) {
    const Affine *what = affine_add_const(in->x, a, -1);
    const char *why =
        arena_printf(in->arena, "'%s' is at least 1 in subscript '%s' of '%s'", show(in, w, a),
                     show_sub(in, c), tensor_name(in, c->access->tensor));
    add_require(in, w, what, why, cons_range(c), 0);
    vec_push(in->arena, &in->known, what);
    if (a->n == 1 && a->term[0].coef == 1 && a->term[0].atom->kind == ATOM_PARAM) {
        int64_t *lo = &in->param_lo[a->term[0].atom->index];
        *lo = max_i64(*lo, 1 - a->constant);
    }
}

static bool never(Infer *in, const InferWork *w, const Affine *what) {
    return infer_proves(in, w, affine_add_const(in->x, affine_scale(in->x, what, -1), -1));
}

// Does w read a tensor that is empty whatever the sizes are? Then its ranges may be empty too, and
// it has no instance.
static bool reads_empty(const Infer *in, const InferWork *w) {
    for (int r = 0; r < w->info->nreads; r++) {
        const Tensor *t = &in->p->tensors.at[w->info->reads[r].access->tensor];
        for (int d = 0; d < t->rank; d++)
            if (t->size && t->size[d] && affine_is(t->size[d], 0)) return true;
    }
    return false;
}

// --- Ranges ------------------------------------------------------------------------------------

static void note_bound(Infer *in, const InferWork *w, Diag *diag, int v, const Bound *b,
                       bool upper) {
    Name name = w->stmt->iter[v].name;
    const char *at = show(in, w, b->at);
    if (!b->from) {
        diag_note(in->diags, diag, w->stmt->iter[v].range, DIAG_INFER_STARTS, name, at);
        return;
    }
    const Cons *c = b->from;
    DiagId id = upper ? DIAG_INFER_BELOW : DIAG_INFER_AT_LEAST;
    diag_note(in->diags, diag, cons_range(c), id, name, at, show_sub(in, c),
              tensor_name(in, c->access->tensor), show(in, w, upper ? c->hi : c->lo));
}

static void report_empty(Infer *in, const InferWork *w, int v, const Bound *l, const Bound *u) {
    Name name = w->stmt->iter[v].name;
    if (u->from && u->from->reported) return;
    if (u->from) u->from->reported = true;
    Range range = u->from ? cons_range(u->from) : w->stmt->iter[v].range;
    Diag *diag = diag_report(in->diags, range, DIAG_INFER_EMPTY, name, show(in, w, l->at), name,
                             show(in, w, u->at));
    note_bound(in, w, diag, v, l, false);
    note_bound(in, w, diag, v, u, true);
    diag_note(in->diags, diag, (Range){0, 0}, DIAG_INFER_EMPTY_OUT);
}

// A bound may come from another definition of the same tensor; what holds where that one has an
// instance will do.
static void check_range(Infer *in, const InferWork *w, int v, const Bound *l, const Bound *u) {
    const Cons *c = u->from ? u->from : l->from;
    const InferWork *source = c ? c->w : w;
    if (c && l->at == c->lo && u->at == c->hi && !affine_is_const(c->hi)) return; // all of a tensor
    const Affine *what = affine_sub(in->x, u->at, l->at);
    if (!reads_empty(in, source)) what = affine_add_const(in->x, what, -1);
    if (infer_proves(in, source, what)) return;
    if (l->from && l->from->w != source && infer_proves(in, l->from->w, what)) return;
    if (never(in, source, what)) return report_empty(in, w, v, l, u);
    if (!c) return;
    const char *why =
        arena_printf(in->arena, "the range of '%s' is not empty (subscript '%s' of '%s')",
                     w->stmt->iter[v].name, show_sub(in, c), tensor_name(in, c->access->tensor));
    add_require(in, source, what, why, cons_range(c), PIECES);
}

static void check_given(Infer *in, const InferWork *w, int v) {
    const Var *var = &w->var[v];
    const Affine *what = affine_sub(in->x, var->hi, var->lo);
    if (infer_proves(in, NULL, what)) return;
    const char *why =
        arena_printf(in->arena, "the range %s:%s of '%s' is not negative", show(in, w, var->lo),
                     show(in, w, var->hi), w->stmt->iter[v].name);
    add_require(in, NULL, what, why, w->stmt->iter[v].range, PIECES);
}

static bool is_size(const Infer *in, const Affine *a) {
    return a->n == 1 && a->constant == 0 && a->term[0].coef == 1 &&
           a->term[0].atom->kind == ATOM_PARAM &&
           in->p->params.at[a->term[0].atom->index].kind == PARAM_SIZE;
}

// A(i) + B(i) of N and of M elements runs to the smaller size. Usually one size was meant, and a
// part would be omitted silently.
static void warn_sizes(Infer *in, const InferWork *w, int v) {
    const Bounds *upper = &w->var[v].upper;
    const Bound *first = NULL;
    for (int u = 0; u < upper->n; u++) {
        const Bound *b = &upper->at[u];
        const Cons *c = b->from;
        if (!c || c->mode != READ_PLAIN || affine_as_iter(c->sub) < 0 || !is_size(in, b->at))
            continue;
        if (!first) {
            first = b;
            continue;
        }
        if (diag_was_reported(in->diags, cons_range(c), DIAG_INFER_TWO_SIZES)) return;
        Name name = w->stmt->iter[v].name;
        const char *one = show(in, w, first->at), *other = show(in, w, b->at);
        Diag *d = diag_report(in->diags, cons_range(c), DIAG_INFER_TWO_SIZES, name, one, other);
        note_bound(in, w, d, v, first, true);
        diag_note(in->diags, d, (Range){0, 0}, DIAG_INFER_TWO_SIZES_OUT, name, one, other);
        return;
    }
}

// --- What a range leaves out ---------------------------------------------------------------------

// The reads of one dimension of a tensor at v + first ... v + last: they reach all of it unless
// something else ends the range of v before.
typedef struct Whole {
    const Cons *read;
    int64_t first, last;
} Whole;

// v + k
static bool is_shift(Infer *in, const Affine *sub, int v, int64_t *k) {
    const Affine *rest = affine_sub(in->x, sub, affine_iter(in->x, v));
    *k = rest->constant;
    return affine_is_const(rest);
}

static bool same_place(const Cons *a, const Cons *b) {
    return a->access->tensor == b->access->tensor && a->dim == b->dim;
}

// The dimension that c reads, if v moves all reads of it and none stands under a guard. Each
// dimension comes once, with its first read.
static bool find_whole(Infer *in, const InferWork *w, int v, const Cons *c, Whole *out) {
    *out = (Whole){c, 0, 0};
    if (!c->read || c->access->tensor == w->stmt->write->tensor) return false;
    for (int i = 0; i < w->ncons; i++) {
        const Cons *other = &w->cons[i];
        int64_t k;
        if (!other->read || !same_place(c, other)) continue;
        if (other < c || other->mode != READ_PLAIN || !is_shift(in, other->sub, v, &k))
            return false;
        out->first = other == c ? k : min_i64(out->first, k);
        out->last = other == c ? k : max_i64(out->last, k);
    }
    return true;
}

// Is the tensor that ends the range read at several places around v? A stencil omits a border of
// other tensors on purpose.
static bool is_stencil(Infer *in, const Cons *c) {
    for (int i = 0; i < c->w->ncons; i++) {
        const Cons *other = &c->w->cons[i];
        if (!other->read || !c->read || !same_place(c, other) || c->sub == other->sub) continue;
        if (affine_is_const(affine_sub(in->x, c->sub, other->sub))) return true;
    }
    return false;
}

static bool may_narrow(Infer *in, int v, const Bound *b, const Whole *whole) {
    const Cons *c = b->from;
    if (!c || c->access->tensor == whole->read->access->tensor) return false; // a diagonal
    int64_t step = affine_coef(c->sub, v);
    if (c->mode == READ_PLAIN && (step == 1 || step == -1)) {
        // a computed tensor may be short because a stencil made it
        bool input = in->p->tensors.at[c->access->tensor].role == ROLE_INPUT;
        if ((c->read && !input) || is_stencil(in, c)) return false;
    }
    bool bare = affine_as_iter(c->sub) == v && whole->first == 0 && whole->last == 0;
    return !bare || !is_size(in, c->hi) || !is_size(in, whole->read->hi); // else warn_sizes
}

static void expect(Infer *in, const InferWork *w, int v, const Cons *c, const Whole *whole,
                   const Affine *what) {
    if (infer_proves(in, w, what)) return;
    Name name = w->stmt->iter[v].name, tensor = tensor_name(in, whole->read->access->tensor);
    const char *why =
        c ? arena_printf(in->arena, "subscript '%s' of '%s' keeps '%s' from reaching all of '%s'",
                         show_sub(in, c), tensor_name(in, c->access->tensor), name, tensor)
          : arena_printf(in->arena,
                         "the declared size of '%s' keeps '%s' from reaching all of '%s'",
                         tensor_name(in, w->stmt->write->tensor), name, tensor);
    Range range = cons_range(c ? c : whole->read);
    Require r = {.what = what, .why = why, .range = range, .call = w->stmt->call};
    r.warn = true;
    r.about = 1 + (int)(w - in->work) * PROGRAM_MAX_ITERS + v;
    vec_push(in->arena, &in->p->preconditions, r);
}

static void expect_whole(Infer *in, const InferWork *w, int v, const Whole *whole) {
    const Var *var = &w->var[v];
    Exprs *x = in->x;
    const Affine *hi = affine_add_const(x, whole->read->hi, -whole->last);
    const Affine *lo = affine_add_const(x, whole->read->lo, -whole->first);
    lo = infer_proves(in, w, lo) ? lo : affine_max(x, lo, in->zero);
    if (var->declared) expect(in, w, v, NULL, whole, affine_sub(x, var->hi, hi));
    if (var->declared) expect(in, w, v, NULL, whole, affine_sub(x, lo, var->lo));
    if (var->state != VAR_INFERRED) return;
    for (int u = 0; u < var->upper.n; u++)
        if (may_narrow(in, v, &var->upper.at[u], whole))
            expect(in, w, v, var->upper.at[u].from, whole, affine_sub(x, var->upper.at[u].at, hi));
    for (int l = 0; l < var->lower.n; l++)
        if (may_narrow(in, v, &var->lower.at[l], whole))
            expect(in, w, v, var->lower.at[l].from, whole, affine_sub(x, lo, var->lower.at[l].at));
}

// How much is omitted is known once sizes are bound: a condition, and a warning then.
static void expect_all(Infer *in, const InferWork *w, int v) {
    Whole whole;
    if (w->var[v].state == VAR_GIVEN && !w->var[v].declared) return;
    for (int i = 0; i < w->ncons; i++)
        if (w->cons[i].iters >> v & 1 && find_whole(in, w, v, &w->cons[i], &whole))
            expect_whole(in, w, v, &whole);
}

void infer_check_ranges(Infer *in, InferWork *w) {
    for (int v = 0; v < w->stmt->niters; v++) {
        Var *var = &w->var[v];
        if (!in->failed) expect_all(in, w, v);
        if (var->state == VAR_GIVEN) {
            check_given(in, w, v);
            continue;
        }
        for (int l = 0; l < var->lower.n; l++)
            for (int u = 0; u < var->upper.n; u++)
                check_range(in, w, v, &var->lower.at[l], &var->upper.at[u]);
        if (!in->failed) warn_sizes(in, w, v);
    }
}

bool infer_check_where(Infer *in, const InferWork *w) {
    bool ok = true;
    for (int i = 0; i < w->stmt->niters; i++) {
        const Iter *it = &w->stmt->iter[i];
        if (!it->hi) continue;
        if (it->lo->has_iter || it->hi->has_iter || it->lo->has_read || it->hi->has_read) {
            Diag *d = diag_report(in->diags, it->range, DIAG_INFER_NOT_BOX, show(in, w, it->lo),
                                  show(in, w, it->hi), it->name);
            diag_note(in->diags, d, (Range){0, 0}, DIAG_INFER_NOT_BOX_OUT, it->name);
            ok = false;
        } else if (affine_is_const(it->lo) && affine_is_const(it->hi) &&
                   it->lo->constant >= it->hi->constant) {
            Diag *d = diag_report(in->diags, it->range, DIAG_INFER_WHERE_EMPTY, show(in, w, it->lo),
                                  show(in, w, it->hi), it->name);
            diag_note(in->diags, d, (Range){0, 0}, DIAG_INFER_WHERE_OUT);
            ok = false;
        }
    }
    return ok;
}

// --- Accesses ----------------------------------------------------------------------------------

// The origin of a range that is not written where it is used.
static const char *because_declared(Infer *in, const InferWork *w, int v) {
    if (!w->var[v].declared) return "";
    return arena_printf(in->arena, ", the declared size of '%s'",
                        tensor_name(in, w->stmt->write->tensor));
}

// The same for the first such iterator of a constraint, with the way out.
static const char *blame_declared(Infer *in, const InferWork *w, const Cons *c) {
    for (int v = 0; v < w->stmt->niters; v++)
        if (c->iters >> v & 1 && w->var[v].declared)
            return arena_printf(in->arena, "; '%s' runs over %s:%s%s: give less with a 'where'",
                                w->stmt->iter[v].name, show(in, w, w->var[v].lo),
                                show(in, w, w->var[v].hi), because_declared(in, w, v));
    return "";
}

// The loop of steps that writes, behind the element that it reads, the same tensor; NULL: none.
static Name steps_behind(const InferWork *w, const Cons *c) {
    if (c->access->tensor != w->stmt->write->tensor) return NULL;
    for (int v = 0; v < w->stmt->serial; v++)
        if (c->iters >> v & 1 && c->sub->constant < 0) return w->stmt->iter[v].name;
    return NULL;
}

static void report_outside(Infer *in, const InferWork *w, Cons *c, const Affine *reached) {
    if (c->reported) return;
    for (int i = 0; i < w->ncons; i++) // the same element read twice is one mistake
        w->cons[i].reported |= w->cons[i].access == c->access && w->cons[i].dim == c->dim;
    Name tensor = tensor_name(in, c->access->tensor);
    Diag *diag = diag_report(in->diags, cons_range(c), DIAG_INFER_OUTSIDE, show_sub(in, c), tensor,
                             show(in, w, reached), show(in, w, c->lo), show(in, w, c->hi));
    for (int v = 0; v < w->stmt->niters; v++) {
        if (!(c->iters >> v & 1)) continue;
        diag_note(in->diags, diag, w->stmt->iter[v].range, DIAG_INFER_RANGES, w->stmt->iter[v].name,
                  show(in, w, w->var[v].lo), show(in, w, w->var[v].hi), because_declared(in, w, v));
    }
    Name steps = steps_behind(w, c);
    if (steps)
        diag_note(in->diags, diag, (Range){0, 0}, DIAG_INFER_OUTSIDE_FIRST, tensor, steps);
    else
        diag_note(in->diags, diag, (Range){0, 0},
                  c->iters ? DIAG_INFER_OUTSIDE_OUT : DIAG_INFER_OUTSIDE_FIXED, tensor);
    if (!steps && c->iters && c->read && c->sub->constant)
        diag_note(in->diags, diag, (Range){0, 0}, DIAG_INFER_OUTSIDE_BORDER, tensor, tensor,
                  tensor);
}

static void check_side(Infer *in, const InferWork *w, Cons *c, bool upper) {
    bool exact;
    const Affine *reached = infer_bound(in, w, c->sub, upper, &exact);
    if (!reached) return; // read from a tensor: checked when it runs
    const Affine *what = upper ? affine_add_const(in->x, affine_sub(in->x, c->hi, reached), -1)
                               : affine_sub(in->x, reached, c->lo);
    if (infer_proves(in, w, what) || !exact)
        return; // inexact ones are enumerated when sizes are bound
    if (never(in, w, what)) return report_outside(in, w, c, reached);
    const char *why = arena_printf(in->arena,
                                   upper ? "subscript '%s' of '%s' stays below %s%s"
                                         : "subscript '%s' of '%s' is at least %s%s",
                                   show_sub(in, c), tensor_name(in, c->access->tensor),
                                   show(in, w, upper ? c->hi : c->lo), blame_declared(in, w, c));
    int first = in->p->preconditions.n;
    add_require(in, w, what, why, cons_range(c), PIECES);
    for (int i = first; i < in->p->preconditions.n; i++)
        in->p->preconditions.at[i].stmt = 1 + (int)(w - in->work);
}

void infer_check_accesses(Infer *in, InferWork *w) {
    if (reads_empty(in, w)) return;
    for (int i = 0; i < w->ncons; i++) {
        Cons *c = &w->cons[i];
        if (c->mode != READ_PLAIN) continue;
        int v = affine_as_iter(c->sub);
        if (v >= 0 && w->var[v].lo == c->lo && w->var[v].hi == c->hi) continue;
        if (!c->low_done) check_side(in, w, c, false);
        if (!c->high_done) check_side(in, w, c, true);
    }
}

// --- Iterators without range -------------------------------------------------------------------

// "'i', 'j' and 'k'"
static const char *list_iters(Infer *in, const InferWork *w, uint32_t iters) {
    Text text = {.arena = in->arena};
    int left = __builtin_popcount(iters);
    for (int v = 0; v < w->stmt->niters; v++) {
        if (!(iters >> v & 1)) continue;
        text_printf(&text, "'%s'%s", w->stmt->iter[v].name,
                    left > 2    ? ", "
                    : left == 2 ? " and "
                                : "");
        left--;
    }
    return text_str(&text);
}

// The one to suggest a range for: a window (an iterator that is not written) before others.
static int suggest(const InferWork *w, uint32_t iters) {
    uint32_t windows = iters;
    for (int d = 0; d < w->stmt->write->rank; d++)
        windows &= ~affine_iter_mask(w->stmt->write->sub[d]);
    return __builtin_ctz(windows ? windows : iters);
}

// How far a written iterator could run: the size of the tensor that it subscripts, though that does
// not bound it (padded reads leave their tensor). NULL when there is no such size.
static const char *fitting_size(Infer *in, const InferWork *w, int v) {
    for (int r = 0; r < w->info->nreads; r++) {
        const Access *a = w->info->reads[r].access;
        for (int d = 0; in->shape[a->tensor].ranged && d < a->rank; d++) {
            const Affine *hi = tensor_hi(in, a->tensor, d);
            int64_t step = affine_coef(a->sub[d], v);
            if (step < 1 || hi->n != 1 || hi->constant || hi->term[0].atom->kind != ATOM_PARAM)
                continue;
            const char *size = show(in, w, hi);
            return step == 1 ? size : arena_printf(in->arena, "%s/%lld", size, (long long)step);
        }
    }
    return NULL;
}

static void note_where(Infer *in, const InferWork *w, Diag *d, uint32_t iters, const Cons *c) {
    int v = suggest(w, iters);
    bool size = c && c->hi->n == 1 && c->hi->term[0].atom->kind == ATOM_PARAM;
    bool window = true;
    for (int i = 0; i < w->stmt->write->rank; i++)
        window &= !affine_uses_iter(w->stmt->write->sub[i], v);
    const char *fits = window ? NULL : fitting_size(in, w, v);
    const char *end = size ? show(in, w, c->hi) : window ? "3" : fits ? fits : "10";
    DiagId id = iters & (iters - 1) ? DIAG_INFER_WHERE_ONE : DIAG_INFER_WHERE;
    diag_note(in->diags, d, (Range){0, 0}, id, w->stmt->iter[v].name, end);
}

// In no subscript at all: perhaps it was meant as a scalar.
static bool is_lonely(const InferWork *w, int v) {
    for (int d = 0; d < w->stmt->write->rank; d++)
        if (affine_uses_iter(w->stmt->write->sub[d], v)) return false;
    for (int r = 0; r < w->info->nreads; r++)
        for (int d = 0; d < w->info->reads[r].access->rank; d++)
            if (affine_uses_iter(w->info->reads[r].access->sub[d], v)) return false;
    return true;
}

// Parameters, then tensors without dimensions.
static const char *nth_scalar(const void *of, size_t i) {
    const Program *p = of;
    if (i < (size_t)p->params.n) return p->params.at[i].name;
    i -= (size_t)p->params.n;
    for (int t = 0; t < p->tensors.n; t++)
        if (p->tensors.at[t].rank == 0 && i-- == 0) return p->tensors.at[t].name;
    return NULL;
}

static void report_one(Infer *in, const InferWork *w, int v, const Cons *c) {
    const Iter *it = &w->stmt->iter[v];
    Diag *d = c ? diag_report(in->diags, cons_range(c), DIAG_INFER_NO_LIMIT, it->name,
                              show_sub(in, c), tensor_name(in, c->access->tensor))
                : diag_report(in->diags, it->range, DIAG_INFER_UNBOUNDED, it->name);
    const char *near = is_lonely(w, v) ? nearest(it->name, nth_scalar, in->p) : NULL;
    if (near) {
        diag_note(in->diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
        return;
    }
    if (is_lonely(w, v))
        diag_note(in->diags, d, (Range){0, 0}, DIAG_INFER_SCALAR, it->name, it->name);
    note_where(in, w, d, UINT32_C(1) << v, c);
}

// One diagnostic for each connected set of iterators.
void infer_report_unknown(Infer *in, const InferWork *w) {
    uint32_t left = w->unknown;
    for (int v = 0; v < w->stmt->niters; v++) {
        if (!(left >> v & 1)) continue;
        uint32_t set = UINT32_C(1) << v, before = 0;
        const Cons *alone = NULL, *shared = NULL;
        while (set != before) {
            before = set;
            for (int i = 0; i < w->ncons; i++) {
                uint32_t open = w->cons[i].iters & w->unknown;
                if (!(open & set)) continue;
                set |= open;
                if (open & (open - 1))
                    shared = shared ? shared : &w->cons[i];
                else
                    alone = alone ? alone : &w->cons[i];
            }
        }
        left &= ~set;
        if (!shared) {
            report_one(in, w, v, alone);
            continue;
        }
        Diag *d =
            diag_report(in->diags, cons_range(shared), DIAG_INFER_AMBIGUOUS, list_iters(in, w, set),
                        show_sub(in, shared), tensor_name(in, shared->access->tensor));
        note_where(in, w, d, set, NULL);
    }
}

void infer_report_size(Infer *in, const InferWork *w, int d) {
    Name tensor = tensor_name(in, w->stmt->write->tensor);
    Diag *diag = diag_report(in->diags, w->stmt->range, DIAG_INFER_SIZE, d, tensor,
                             show(in, w, w->stmt->write->sub[d]));
    diag_note(in->diags, diag, (Range){0, 0}, DIAG_INFER_SIZE_OUT, tensor);
}
