// Resolves an affine under facts and finds the first condition that they do not decide; see
// piece.h.
#include "program/piece.h"

#include "base/checked.h"

// Bounds by the extents of loops and by the facts.
static bool limits(const Pieces *s, const Affine *a, int64_t *min, int64_t *max) {
    if (!affine_bounds(a, s->least, s->most, min, max)) return false;
    for (int i = 0; i < s->nfacts; i++) {
        const Affine *apart = affine_sub(s->x, a, s->fact[i]);
        if (affine_is_const(apart)) *min = max_i64(*min, apart->constant);
        apart = affine_add(s->x, a, s->fact[i]);
        if (affine_is_const(apart)) *max = min_i64(*max, apart->constant);
    }
    return true;
}

// d, or an affine that is not negative where d is not: k - a/c >= 0 where c*k + c - 1 - a >= 0, and
// k + a/c >= 0 where c*k + a >= 0.
static const Affine *without_quotient(Pieces *s, const Affine *d) {
    for (int i = 0; i < d->n; i++) {
        const Term *t = &d->term[i];
        if (t->atom->kind != ATOM_DIV || (t->coef != 1 && t->coef != -1)) continue;
        if (!affine_is_const(t->atom->b) || t->atom->b->constant <= 0) continue;
        int64_t c = t->atom->b->constant;
        const Affine *k = affine_sub(s->x, d, affine_make(s->x, 0, t, 1));
        k = affine_add_const(s->x, affine_scale(s->x, k, c), t->coef < 0 ? c - 1 : 0);
        return affine_add(s->x, k, affine_scale(s->x, t->atom->a, t->coef));
    }
    return d;
}

// Is d >= 0 (1), or less (0; or at most 0, where 0 is the same)? -1: it varies. Then the condition
// becomes `open`, if it is linear.
static int ask(Pieces *s, const Affine *given, bool same) {
    int64_t min, max;
    const Affine *d = without_quotient(s, given);
    if (!limits(s, d, &min, &max)) return -1;
    if (min >= 0) return 1;
    if (max < 0 || (max == 0 && same && d == given)) return 0;
    if (d->linear && !s->open) s->open = d;
    return -1;
}

static const Affine *divided(Pieces *s, const Affine *a, int64_t by, bool rest);

// With g that divides `by`, a = g·A + R and 0 <= R < g: a/by = A/(by/g), a%by = g·(A%(by/g)) + R.
// NULL: there is no such g.
static const Affine *divided_apart(Pieces *s, const Affine *a, int64_t by, bool rest) {
    int64_t g = by, min, max;
    const Affine *whole = affine_const(s->x, 0), *part;
    for (int i = 0; i < a->n; i++)
        if (gcd_i64(a->term[i].coef, by) > 1) g = gcd_i64(a->term[i].coef, g);
    if (g <= 1) return NULL;
    for (int i = 0; i < a->n; i++) {
        Term t = {a->term[i].atom, a->term[i].coef / g};
        if (t.coef * g == a->term[i].coef)
            whole = affine_add(s->x, whole, affine_make(s->x, 0, &t, 1));
    }
    whole = affine_add_const(s->x, whole, floor_div(a->constant, g));
    part = affine_sub(s->x, a, affine_scale(s->x, whole, g));
    if (affine_is_const(whole) || !limits(s, part, &min, &max) || min < 0 || max >= g) return NULL;
    if (by == g) return rest ? part : whole;
    whole = divided(s, whole, by / g, rest);
    return rest ? affine_add(s->x, affine_scale(s->x, whole, g), part) : whole;
}

static const Affine *divided(Pieces *s, const Affine *a, int64_t by, bool rest) {
    const Affine *k = affine_const(s->x, by), *apart = divided_apart(s, a, by, rest);
    int64_t min, max;
    if (apart) return apart;
    const Affine *plain = rest ? affine_mod(s->x, a, k) : affine_div(s->x, a, k);
    if (!limits(s, a, &min, &max)) return plain;
    int64_t first = floor_div(min, by), last = floor_div(max, by);
    if (first == last)
        return rest ? affine_add_const(s->x, a, -first * by) : affine_const(s->x, first);
    if (last - first < s->quotients) ask(s, affine_add_const(s->x, a, -(first + 1) * by), false);
    return plain;
}

static bool is_of(const Affine *a, int index) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        bool own = atom->kind == ATOM_ITER
                       ? atom->index == index
                       : !atom->read && is_of(atom->a, index) && is_of(atom->b, index);
        if (!own) return false;
    }
    return true;
}

// Consists of one iterator alone that is kept unchanged.
bool piece_is_apart(const Pieces *s, const Atom *atom) {
    return s->apart >= 0 && !atom->read && is_of(atom->a, s->apart) && is_of(atom->b, s->apart);
}

static const Affine *resolved_atom(Pieces *s, const Atom *atom) {
    if (piece_is_apart(s, atom)) return affine_make(s->x, 0, &(Term){atom, 1}, 1);
    const Affine *a = piece_resolve(s, atom->a), *b = piece_resolve(s, atom->b);
    int truth;
    switch (atom->kind) {
    case ATOM_MIN:
        truth = ask(s, affine_sub(s->x, b, a), true);
        return truth < 0 ? affine_min(s->x, a, b) : truth ? a : b;
    case ATOM_MAX:
        truth = ask(s, affine_sub(s->x, a, b), true);
        return truth < 0 ? affine_max(s->x, a, b) : truth ? a : b;
    case ATOM_DIV:
        if (affine_is_const(b) && b->constant > 0) return divided(s, a, b->constant, false);
        return affine_div(s->x, a, b);
    case ATOM_MOD:
        if (affine_is_const(b) && b->constant > 0) return divided(s, a, b->constant, true);
        return affine_mod(s->x, a, b);
    default: return affine_mul(s->x, a, b);
    }
}

const Affine *piece_resolve(Pieces *s, const Affine *a) {
    if (a->linear) return a;
    const Affine *sum = affine_const(s->x, a->constant);
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        const Affine *one =
            atom->kind == ATOM_ITER ? affine_iter(s->x, atom->index) : resolved_atom(s, atom);
        sum = affine_add(s->x, sum, affine_scale(s->x, one, a->term[i].coef));
    }
    return sum;
}

const Affine *piece_opposite(Pieces *s, const Affine *d) {
    return affine_add_const(s->x, affine_scale(s->x, d, -1), -1);
}

const Affine *piece_likelier(Pieces *s, const Affine *d) {
    int64_t min, max;
    return limits(s, d, &min, &max) && -min > max + 1 ? piece_opposite(s, d) : d;
}

bool access_is_linear(const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (!a->sub[d]->linear) return false;
    return true;
}

// --- Values --------------------------------------------------------------------------------------

// Shifts and masks, as products, quotients and remainders.
static const Affine *bits_as_affine(Exprs *x, const Expr *e, const Affine *a, const Affine *b) {
    enum { MOST = 30 };
    if (!affine_is_const(b) || b->constant < 0 || b->constant >= (int64_t)1 << MOST) return NULL;
    int64_t k = b->constant;
    if (e->op == OP_BITAND) return k & (k + 1) ? NULL : affine_mod(x, a, affine_const(x, k + 1));
    if (k > MOST || k >= type_info[e->type].bits) return NULL;
    const Affine *power = affine_const(x, (int64_t)1 << k);
    return e->op == OP_SHL ? affine_mul(x, a, power) : affine_div(x, a, power);
}

static const Affine *op_as_affine(Exprs *x, const Expr *e, const Affine *a, const Affine *b) {
    switch (e->op) {
    case OP_ADD: return affine_add(x, a, b);
    case OP_SUB: return affine_sub(x, a, b);
    case OP_MUL: return affine_mul(x, a, b);
    case OP_DIV: return affine_div(x, a, b);
    case OP_MOD: return affine_mod(x, a, b);
    case OP_MIN: return affine_min(x, a, b);
    case OP_MAX: return affine_max(x, a, b);
    case OP_NEG: return affine_scale(x, a, -1);
    case OP_CAST: return a;
    case OP_SHL:
    case OP_SHR:
    case OP_BITAND: return bits_as_affine(x, e, a, b);
    default: return NULL;
    }
}

const Affine *expr_as_affine(Exprs *x, const Expr *e, const int64_t *lo, const int64_t *hi) {
    const Affine *a = NULL, *b = NULL;
    if (!type_is_integer(e->type) || e->type == TYPE_U64) return NULL;
    if (e->kind == EXPR_CONST) return affine_const(x, e->value.i);
    if (e->kind == EXPR_INDEX) return e->index->has_read ? NULL : e->index;
    if (e->kind != EXPR_OP || e->n > 2) return NULL;
    if (!(a = expr_as_affine(x, e->arg[0], lo, hi))) return NULL;
    if (e->n == 2 && !(b = expr_as_affine(x, e->arg[1], lo, hi))) return NULL;
    bool overflow = x->overflow, large = x->too_large;
    x->overflow = x->too_large = false;
    const Affine *r = op_as_affine(x, e, a, b);
    int64_t min, max;
    bool sound = r && !x->overflow && !x->too_large;
    if (!lo)
        sound = sound && (e->type == TYPE_I64 || !r->has_iter);
    else
        sound = sound && affine_reach(r, lo, hi) <= AFFINE_REACH &&
                affine_bounds(r, lo, hi, &min, &max) &&
                type_round(e->type, (Value){.i = min}).i == min &&
                type_round(e->type, (Value){.i = max}).i == max;
    x->overflow = overflow;
    x->too_large = large;
    return sound ? r : NULL;
}

static bool is_index(const Expr *e) {
    if (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0];
    return e->kind == EXPR_INDEX;
}

const Expr *piece_index(Pieces *s, const Expr *e) {
    bool index = false;
    if (e->kind != EXPR_OP || e->op == OP_CAST) return e;
    for (int i = 0; i < e->n; i++) {
        if (!is_index(e->arg[i]) && e->arg[i]->kind != EXPR_CONST) return e;
        index |= is_index(e->arg[i]);
    }
    const Affine *a = index ? expr_as_affine(s->x, e, s->least, s->most) : NULL;
    if (a) a = piece_resolve(s, a);
    return a && a->linear ? expr_index(s->x, e->type, a) : e;
}
