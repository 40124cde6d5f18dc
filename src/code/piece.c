// Subscripts made of quotients, remainders, minima and maxima, as linear as they can be.
//
// What the extents of the loops decide goes away: with r in 0:3
//
//     A[(3*q + r)/3, (3*q + r)%3]   ->   A[q, r]
//
// and what has few pieces becomes a choice between linear reads, so that clamped, mirrored and
// periodic subscripts need nothing that a guard does not need: conditions that differ from lane to
// lane, loads under masks, and an interior without any (x86/interior.c).
//
//     A[(i + 1)%N]            ->   i + 1 - N >= 0 ? A[i + 1 - N] : A[i + 1]
//     A[max(i - 1, 0)]        ->   i - 1 >= 0 ? A[i - 1] : A[0]
//
// A read is resolved under facts, linear functions that are not negative: the first condition that
// they do not decide is asked, and the two branches are resolved with the answer.
#include "code/plan.h"

#include "base/checked.h"
#include "base/fault.h"

enum { MAX_PIECES = 9, MAX_FACTS = 16 };

typedef struct Pieces {
    Plan *p;
    Exprs *x;
    const Affine *fact[MAX_FACTS];
    int nfacts;
    const Affine *open; // the first condition that is not decided
    int left;           // pieces that may still be made
} Pieces;

// Bounds by the extents of loops and by the facts.
static bool limits(const Pieces *s, const Affine *a, int64_t *min, int64_t *max) {
    if (!affine_bounds(a, s->p->least, s->p->most, min, max)) return false;
    for (int i = 0; i < s->nfacts; i++) {
        const Affine *apart = affine_sub(s->x, a, s->fact[i]);
        if (affine_is_const(apart)) *min = max_i64(*min, apart->constant);
        apart = affine_add(s->x, a, s->fact[i]);
        if (affine_is_const(apart)) *max = min_i64(*max, apart->constant);
    }
    return true;
}

// d, or what is not negative where d is not: k - a/c >= 0 where c*k + c - 1 - a >= 0, and
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

// Is d >= 0? -1: here and there. Then it is asked, if it is linear.
static int ask(Pieces *s, const Affine *d) {
    int64_t min, max;
    d = without_quotient(s, d);
    if (!limits(s, d, &min, &max)) return -1;
    if (min >= 0) return 1;
    if (max < 0) return 0;
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
    if (last - first < MAX_PIECES)
        ask(s, affine_add_const(s->x, a, -(first + 1) * by - FAULT(piece_too_long)));
    return plain;
}

static const Affine *resolved(Pieces *s, const Affine *a);

static const Affine *resolved_atom(Pieces *s, const Atom *atom) {
    const Affine *a = resolved(s, atom->a), *b = resolved(s, atom->b);
    int truth;
    switch (atom->kind) {
    case ATOM_MIN:
        truth = ask(s, affine_sub(s->x, b, a));
        return truth < 0 ? affine_min(s->x, a, b) : truth ? a : b;
    case ATOM_MAX:
        truth = ask(s, affine_sub(s->x, a, b));
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

static const Affine *resolved(Pieces *s, const Affine *a) {
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

static const Affine *opposite(Pieces *s, const Affine *d) {
    return affine_add_const(s->x, affine_scale(s->x, d, -1), -1);
}

// The condition, or its opposite if that holds more often: there is the interior.
static const Affine *likelier(Pieces *s, const Affine *d) {
    int64_t min, max;
    return limits(s, d, &min, &max) && -min > max + 1 ? opposite(s, d) : d;
}

static bool is_linear(const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (!a->sub[d]->linear) return false;
    return true;
}

// NULL: there are too many pieces, or some are not linear.
static const Expr *read_of(Pieces *s, Type type, const Access *a) {
    const Affine *sub[PROGRAM_MAX_RANK];
    s->open = NULL;
    for (int d = 0; d < a->rank; d++) sub[d] = resolved(s, a->sub[d]);
    const Affine *open = s->open ? likelier(s, s->open) : NULL;
    if (!open) {
        a = access_make(s->x, a->tensor, a->rank, sub);
        return s->left-- > 0 && is_linear(a) ? expr_read(s->x, type, a) : NULL;
    }
    if (s->nfacts == MAX_FACTS || s->left <= 0) return NULL;
    s->fact[s->nfacts++] = open;
    const Expr *yes = read_of(s, type, a);
    s->fact[s->nfacts - 1] = opposite(s, open);
    const Expr *no = yes ? read_of(s, type, a) : NULL;
    s->nfacts--;
    if (!no) return NULL;
    const Expr *holds =
        expr_binary(s->x, OP_GE, expr_index(s->x, TYPE_I64, open), expr_int(s->x, TYPE_I64, 0));
    return expr_select(s->x, holds, yes, no);
}

// Of the loops alone, and nothing is read to find the place.
static bool is_plain(const Plan *p, const Access *a) {
    for (int i = 0; i < p->tree->nindices; i++)
        for (int d = 0; p->passed[i] && d < a->rank; d++)
            if (affine_uses_iter(a->sub[d], i)) return false;
    return !a->has_read;
}

const Access *plan_resolve(Plan *p, const Access *a) {
    const Affine *sub[PROGRAM_MAX_RANK];
    if (is_linear(a) || !is_plain(p, a)) return a;
    Pieces s = {.p = p, .x = p->tree->exprs};
    for (int d = 0; d < a->rank; d++) sub[d] = resolved(&s, a->sub[d]);
    return access_make(s.x, a->tensor, a->rank, sub);
}

static const Expr *resolve_read(Plan *p, const Expr *e) {
    const Access *a = plan_resolve(p, e->access);
    if (!is_linear(a) && is_plain(p, a)) {
        Pieces s = {.p = p, .x = p->tree->exprs, .left = MAX_PIECES};
        const Expr *pieces = read_of(&s, e->type, a);
        if (pieces) return pieces;
    }
    return a == e->access ? e : expr_read(p->tree->exprs, e->type, a);
}

const Expr *plan_pieces(Plan *p, const Expr *e) {
    if (e->kind == EXPR_READ) return resolve_read(p, e);
    if (e->kind != EXPR_OP) return e;
    const Expr *arg[4];
    bool same = true;
    for (int i = 0; i < e->n; i++) {
        arg[i] = plan_pieces(p, e->arg[i]);
        same &= arg[i] == e->arg[i];
    }
    return same ? e : expr_op(p->tree->exprs, e->op, e->type, e->n, arg);
}
