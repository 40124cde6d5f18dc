// One inequality solved for one iterator, the others quantified universally.
//
//     f = C*v + rest >= 0   for all values of the known iterators
//
// is, with r the least value of rest,  v >= ceil(-r/C)  or, for negative C,  v < floor(r/-C) + 1. C
// may be symbolic (a stride that is a parameter): then its sign must be provable or becomes a
// Require. When v stands inside a division, a minimum or a maximum, that is inverted first:
//
//     floor(a/b) >= m   is  a >= b*m             min(a, b) >= m   is  a >= m and b >= m
//     floor(a/b) <= m   is  a <= b*m + b - 1     max(a, b) <= m   is  a <= m and b <= m
//
// A modulo and a value read from a tensor say nothing about v.
#include "program/infer_impl.h"

#include "base/checked.h"

#include <string.h>

// Atoms within atoms that are looked into, atoms looked at for one bound, bounds compared with each
// other.
enum { NESTING = 24, BUDGET = 512, MAX_PRUNED = 32 };

static bool holds_iter(const Atom *t, int v) {
    if (t->kind == ATOM_ITER) return t->index == v;
    if (!t->a || !t->has_iter) return false;
    return (affine_iter_mask(t->a) | affine_iter_mask(t->b)) >> v & 1;
}

// --- Least and greatest values -----------------------------------------------------------------

// A walk: `seen` are the iterators met so far. Meeting one twice means that its occurrences do not
// reach their extremes together.
typedef struct InferWalk {
    Infer *in;
    const InferWork *w;
    const Cons
        *from; // not NULL: a factor of unknown sign is required to be positive, on behalf of it
    bool exact;
    uint32_t seen;
    int depth, steps;
} InferWalk;

static const Affine *bound(InferWalk *k, const Affine *a, bool upper);

static const Affine *bound_iter(InferWalk *k, int i, bool upper) {
    uint32_t bit = UINT32_C(1) << i;
    if (k->w->unknown & bit) return NULL;
    k->exact &= !(k->seen & bit);
    k->seen |= bit;
    const Var *v = &k->w->var[i];
    return upper ? affine_add_const(k->in->x, v->hi, -1) : v->lo;
}

static bool positive(InferWalk *k, const Affine *a) {
    return infer_proves(k->in, k->w, affine_add_const(k->in->x, a, -1));
}

// Both ends of a; either may come out NULL.
static void both_ends(InferWalk *k, const Affine *a, const Affine **lo, const Affine **hi) {
    uint32_t seen = k->seen;
    *lo = bound(k, a, false);
    k->seen = seen;
    *hi = bound(k, a, true);
}

static const Affine *bound_mod(InferWalk *k, const Atom *t, bool upper) {
    Exprs *x = k->in->x;
    if (t->b->has_iter || t->b->has_read || !positive(k, t->b)) return NULL;
    const Affine *last = affine_add_const(x, t->b, -1), *lo, *hi;
    both_ends(k, t->a, &lo, &hi);
    if (lo && hi && infer_proves(k->in, k->w, lo) && infer_proves_le(k->in, k->w, hi, last))
        return upper ? hi : lo; // the modulo does nothing
    k->exact = false;
    return upper ? last : affine_const(x, 0);
}

// min(a, b) is least where a or b is; its greatest value is at most that of either.
static const Affine *bound_choice(InferWalk *k, const Atom *t, bool upper) {
    uint32_t before = k->seen;
    const Affine *a = bound(k, t->a, upper);
    uint32_t seen_a = k->seen;
    k->seen = before;
    const Affine *b = bound(k, t->b, upper);
    bool min = t->kind == ATOM_MIN;
    if (min == upper) {
        k->exact &= a && b && !((seen_a ^ before) & (k->seen ^ before));
        if (!a || !b) return a ? a : b;
    }
    k->seen |= seen_a;
    if (!a || !b) return NULL;
    return min ? affine_min(k->in->x, a, b) : affine_max(k->in->x, a, b);
}

static const Affine *bound_prod(InferWalk *k, const Atom *t, bool upper) {
    Infer *in = k->in;
    Exprs *x = in->x;
    const Affine *p = t->a, *q = t->b, *lo, *hi;
    if (p->has_iter || p->has_read) p = t->b, q = t->a;
    if (p->has_iter || p->has_read) { // two unknown factors: when neither is negative
        const Affine *plo, *phi;
        both_ends(k, p, &plo, &phi);
        uint32_t seen = k->seen;
        both_ends(k, q, &lo, &hi);
        k->exact &= !(seen & affine_iter_mask(q));
        if (!plo || !phi || !lo || !hi) return NULL;
        if (!infer_proves(in, k->w, plo) || !infer_proves(in, k->w, lo)) return NULL;
        return upper ? affine_mul(x, phi, hi) : affine_mul(x, plo, lo);
    }
    both_ends(k, q, &lo, &hi);
    if (!lo || !hi) return NULL;
    bool positive_p = infer_proves(in, k->w, p);
    if (!positive_p && k->from && p->term[0].coef > 0) {
        infer_require_positive(in, k->w, p, k->from);
        positive_p = true;
    }
    if (positive_p) return affine_mul(x, p, upper ? hi : lo);
    const Affine *a = affine_mul(x, p, lo), *b = affine_mul(x, p, hi);
    return upper ? affine_max(x, a, b) : affine_min(x, a, b);
}

static const Affine *bound_div(InferWalk *k, const Atom *t, bool upper) {
    if (t->b->has_iter || t->b->has_read || !positive(k, t->b)) return NULL;
    const Affine *a = bound(k, t->a, upper);
    return a ? affine_div(k->in->x, a, t->b) : NULL;
}

static const Affine *bound_atom(InferWalk *k, const Atom *t, bool upper) {
    if (++k->steps > BUDGET || k->depth > NESTING) return NULL;
    switch (t->kind) {
    case ATOM_ITER: return bound_iter(k, t->index, upper);
    case ATOM_DIV: return bound_div(k, t, upper);
    case ATOM_MOD: return bound_mod(k, t, upper);
    case ATOM_MIN:
    case ATOM_MAX: return bound_choice(k, t, upper);
    case ATOM_PROD: return bound_prod(k, t, upper);
    default: return NULL;
    }
}

// The terms that are not constant over the iterators replaced by their least or greatest value.
static const Affine *bound_terms(InferWalk *k, int64_t constant, const Term *term, int n,
                                 bool upper) {
    Exprs *x = k->in->x;
    Term plain[AFFINE_MAX_TERMS];
    plain[0] = (Term){NULL, 0};
    int nplain = 0;
    const Affine *sum = NULL;
    k->depth++;
    for (int i = 0; i < n; i++) {
        const Atom *t = term[i].atom;
        if (!t->has_iter && !t->has_read) {
            plain[nplain++] = term[i];
            continue;
        }
        const Affine *a = bound_atom(k, t, upper == (term[i].coef > 0));
        if (!a) return k->depth--, NULL;
        a = affine_scale(x, a, term[i].coef);
        sum = sum ? affine_add(x, sum, a) : a;
    }
    k->depth--;
    const Affine *rest = affine_make(x, constant, plain, nplain);
    return sum ? affine_add(x, sum, rest) : rest;
}

static const Affine *bound(InferWalk *k, const Affine *a, bool upper) {
    if (!a->has_iter && !a->has_read) return a;
    return bound_terms(k, a->constant, a->term, a->n, upper);
}

const Affine *infer_bound(Infer *in, const InferWork *w, const Affine *a, bool upper, bool *exact) {
    InferWalk k = {.in = in, .w = w, .exact = true};
    const Affine *b = bound(&k, a, upper);
    *exact = k.exact;
    return b;
}

// --- Bounds of one iterator --------------------------------------------------------------------

// Adds a bound; of two that differ by a constant only the tighter one stays.
static void add_bound(Infer *in, Bounds *list, const Affine *at, Cons *from, bool upper) {
    for (int i = 0; i < list->n; i++) {
        const Affine *old = list->at[i].at;
        if (old->n != at->n || memcmp(old->term, at->term, (size_t)at->n * sizeof(Term))) continue;
        bool tighter = upper ? at->constant < old->constant : at->constant > old->constant;
        if (tighter) list->at[i] = (Bound){at, from};
        return;
    }
    vec_push(in->arena, list, ((Bound){at, from}));
}

// Drops every bound that some other one implies.
static void prune(Infer *in, const InferWork *w, Bounds *list, bool upper) {
    if (list->n > MAX_PRUNED) return;
    for (int i = 0; i < list->n && list->n > 1; i++) {
        bool implied = false;
        for (int j = 0; j < list->n && !implied; j++) {
            const Affine *mine = list->at[i].at, *other = list->at[j].at;
            if (i == j) continue;
            implied =
                upper ? infer_proves_le(in, w, other, mine) : infer_proves_le(in, w, mine, other);
        }
        if (!implied) continue;
        for (int j = i + 1; j < list->n; j++) list->at[j - 1] = list->at[j];
        list->n--;
        i--;
    }
}

// The same on a copy, knowing also that the range itself is not empty. That assumption is required
// later, of all bounds.
static Bounds prune_more(Infer *in, const InferWork *w, const Var *var, bool upper) {
    const Bounds *from = upper ? &var->upper : &var->lower;
    if (from->n < 2 || !w) return *from;
    Bounds list = {0};
    vec_reserve(in->arena, &list, from->n);
    for (int i = 0; i < from->n; i++) list.at[list.n++] = from->at[i];
    infer_assume(in, w);
    int before = in->assumed.n;
    for (int l = 0; l < var->lower.n; l++)
        for (int u = 0; u < var->upper.n; u++) {
            const Affine *extent = affine_sub(in->x, var->upper.at[u].at, var->lower.at[l].at);
            if (!affine_is_const(extent))
                vec_push(in->arena, &in->assumed, affine_add_const(in->x, extent, -1));
        }
    prune(in, w, &list, upper);
    in->assumed.n = before;
    return list;
}

void infer_settle(Infer *in, const InferWork *w, Var *var) {
    prune(in, w, &var->lower, false);
    prune(in, w, &var->upper, true);
    Bounds lower = prune_more(in, w, var, false), upper = prune_more(in, w, var, true);
    var->lo = lower.at[0].at;
    for (int i = 1; i < lower.n; i++) var->lo = affine_max(in->x, var->lo, lower.at[i].at);
    var->hi = upper.at[0].at;
    for (int i = 1; i < upper.n; i++) var->hi = affine_min(in->x, var->hi, upper.at[i].at);
    var->state = VAR_INFERRED;
}

// --- Solving -----------------------------------------------------------------------------------

typedef struct InferSolve {
    Infer *in;
    InferWork *w;
    Cons *from;
    int v;
    int depth;
    bool some; // for some values of the known iterators rather than for all
} InferSolve;

static bool solve(InferSolve *s, const Affine *f);

static const Affine *neg(InferSolve *s, const Affine *a) { return affine_scale(s->in->x, a, -1); }

// ceil(a / k), k > 0
static const Affine *ceil_of(InferSolve *s, const Affine *a, int64_t k) {
    Exprs *x = s->in->x;
    return affine_div(x, affine_add_const(x, a, k - 1), affine_const(x, k));
}

static const Affine *floor_of(InferSolve *s, const Affine *a, int64_t k) {
    return affine_div(s->in->x, a, affine_const(s->in->x, k));
}

static void at_least(InferSolve *s, const Affine *at) {
    add_bound(s->in, &s->w->var[s->v].lower, at, s->from, false);
}

static void at_most(InferSolve *s, const Affine *at) {
    add_bound(s->in, &s->w->var[s->v].upper, affine_add_const(s->in->x, at, 1), s->from, true);
}

// The factor of v in a chain of products; NULL when v is not a plain factor there, or the others
// are not constant over the iterators.
static const Affine *cofactor(InferSolve *s, const Affine *a) {
    if (affine_as_iter(a) == s->v) return affine_const(s->in->x, 1);
    if (a->n != 1 || a->constant != 0 || a->term[0].atom->kind != ATOM_PROD) return NULL;
    const Atom *t = a->term[0].atom;
    bool first = holds_iter(t, s->v) && affine_iter_mask(t->a) >> s->v & 1;
    const Affine *with = first ? t->a : t->b, *other = first ? t->b : t->a;
    if (other->has_iter || other->has_read || ++s->depth > NESTING) return NULL;
    const Affine *inner = cofactor(s, with);
    if (!inner) return NULL;
    const Affine *product = affine_mul(s->in->x, inner, other);
    return affine_scale(s->in->x, product, a->term[0].coef);
}

// C*v + low >= 0
static bool solve_linear(InferSolve *s, const Affine *c, const Affine *low) {
    Infer *in = s->in;
    if (affine_is_const(c)) {
        int64_t k = c->constant;
        if (k > 0) at_least(s, ceil_of(s, neg(s, low), k));
        if (k < 0 && k != INT64_MIN) at_most(s, floor_of(s, low, -k));
        return k != 0 && k != INT64_MIN;
    }
    bool up = infer_proves(in, s->w, affine_add_const(in->x, c, -1));
    bool down = !up && infer_proves(in, s->w, affine_add_const(in->x, neg(s, c), -1));
    if (!up && !down) {
        up = c->term[0].coef > 0;
        infer_require_positive(in, s->w, up ? c : neg(s, c), s->from);
    }
    if (up)
        at_least(s, neg(s, affine_div(in->x, low, c)));
    else
        at_most(s, affine_div(in->x, low, neg(s, c)));
    return true;
}

// a >= m or a <= m, for an operand a of the atom that contains v.
static bool compare(InferSolve *s, const Affine *a, bool at_most_m, const Affine *m) {
    Exprs *x = s->in->x;
    return solve(s, at_most_m ? affine_sub(x, m, a) : affine_sub(x, a, m));
}

static bool solve_div(InferSolve *s, const Atom *t, bool at_most_m, const Affine *m) {
    Infer *in = s->in;
    Exprs *x = in->x;
    if (t->b->has_iter || t->b->has_read) return false;
    if (!infer_proves(in, s->w, affine_add_const(x, t->b, -1))) {
        if (affine_is_const(t->b)) return false;
        infer_require_positive(in, s->w, t->b, s->from);
    }
    const Affine *bm = affine_mul(x, t->b, m);
    if (at_most_m) bm = affine_add_const(x, affine_add(x, bm, t->b), -1);
    return compare(s, t->a, at_most_m, bm);
}

// An operand without v: does it satisfy the comparison by itself?
static bool free_operand(InferSolve *s, const Affine *a, bool at_most_m, const Affine *m) {
    bool exact;
    const Affine *worst = infer_bound(s->in, s->w, a, at_most_m, &exact);
    if (!worst || s->some) return false;
    return at_most_m ? infer_proves_le(s->in, s->w, worst, m)
                     : infer_proves_le(s->in, s->w, m, worst);
}

static bool solve_choice(InferSolve *s, const Atom *t, bool at_most_m, const Affine *m) {
    bool in_a = affine_iter_mask(t->a) >> s->v & 1, in_b = affine_iter_mask(t->b) >> s->v & 1;
    bool both = (t->kind == ATOM_MAX) == at_most_m; // else either one will do
    if (both) {
        bool a = in_a ? compare(s, t->a, at_most_m, m) : free_operand(s, t->a, at_most_m, m);
        bool b = in_b ? compare(s, t->b, at_most_m, m) : free_operand(s, t->b, at_most_m, m);
        return a && b;
    }
    if (in_a && in_b) return false;
    if (free_operand(s, in_a ? t->b : t->a, at_most_m, m)) return true;
    return s->in->guess && !s->some && compare(s, in_a ? t->a : t->b, at_most_m, m);
}

// k*atom + low >= 0
static bool solve_atom(InferSolve *s, Term term, const Affine *low) {
    if (term.coef == INT64_MIN) return false;
    bool at_most_m = term.coef < 0;
    const Affine *m = at_most_m ? floor_of(s, low, -term.coef) : ceil_of(s, neg(s, low), term.coef);
    switch (term.atom->kind) {
    case ATOM_DIV: return solve_div(s, term.atom, at_most_m, m);
    case ATOM_MIN:
    case ATOM_MAX: return solve_choice(s, term.atom, at_most_m, m);
    default: return false;
    }
}

// v in one division and beside it:  k*floor(a/b) + c*v = k*floor((a + b*(c/k)*v)/b)  when k divides
// c.
static bool join(InferSolve *s, const Affine *f, const Term *with, int n) {
    Exprs *x = s->in->x;
    int d = with[0].atom->kind == ATOM_DIV ? 0 : 1;
    if (n != 2 || with[d].atom->kind != ATOM_DIV || with[!d].atom->kind != ATOM_ITER) return false;
    Term div = with[d], iter = with[!d];
    if (iter.coef % div.coef != 0) return false;
    const Affine *v = affine_make(x, 0, &(Term){iter.atom, iter.coef / div.coef}, 1);
    const Affine *inside = affine_add(x, div.atom->a, affine_mul(x, v, div.atom->b));
    const Affine *both = affine_make(x, 0, with, 2);
    // affine_div would take the multiple out again: build the inverted form at once.
    const Affine *rest = affine_sub(x, f, both);
    bool exact;
    const Affine *low = infer_bound(s->in, s->w, rest, s->some, &exact);
    if (!low || div.coef == INT64_MIN || !affine_is_const(div.atom->b)) return false;
    bool at_most_m = div.coef < 0;
    const Affine *m = at_most_m ? floor_of(s, low, -div.coef) : ceil_of(s, neg(s, low), div.coef);
    const Affine *bm = affine_mul(x, div.atom->b, m);
    if (at_most_m) bm = affine_add_const(x, affine_add(x, bm, div.atom->b), -1);
    return compare(s, inside, at_most_m, bm);
}

static bool solve(InferSolve *s, const Affine *f) {
    Term with[AFFINE_MAX_TERMS], rest[AFFINE_MAX_TERMS];
    int nwith = 0, nrest = 0;
    if (s->depth++ > NESTING) return false;
    const Affine *c = affine_const(s->in->x, 0);
    for (int i = 0; i < f->n; i++) {
        if (!holds_iter(f->term[i].atom, s->v)) {
            rest[nrest++] = f->term[i];
            continue;
        }
        with[nwith++] = f->term[i];
        if (!c) continue;
        if (f->term[i].atom->kind == ATOM_ITER) {
            c = affine_add_const(s->in->x, c, f->term[i].coef);
            continue;
        }
        const Affine *k = cofactor(s, affine_make(s->in->x, 0, &f->term[i], 1));
        c = k ? affine_add(s->in->x, c, k) : NULL;
    }
    if (!c && nwith > 1) return join(s, f, with, nwith);
    InferWalk k = {.in = s->in, .w = s->w, .from = s->from, .exact = true};
    const Affine *low = bound_terms(&k, f->constant, rest, nrest, s->some);
    if (!low) return false;
    return c ? solve_linear(s, c, low) : solve_atom(s, with[0], low);
}

// --- All of it -----------------------------------------------------------------------------------

void infer_solve_some(Infer *in, InferWork *w, Cons *from, int v, const Affine *f, Bounds *upper) {
    Var before = w->var[v];
    InferSolve s = {.in = in, .w = w, .from = from, .v = v, .some = true};
    w->var[v] = (Var){.upper = *upper};
    solve(&s, f);
    *upper = w->var[v].upper;
    w->var[v] = before;
}

// A factor that is a parameter has to be positive even where the guard leaves nothing to solve.
static void require_divisors(InferSolve *s, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        bool symbolic = t->kind == ATOM_DIV && !t->b->has_iter && !t->b->has_read;
        if (symbolic && !infer_proves(s->in, s->w, affine_add_const(s->in->x, t->b, -1)) &&
            !affine_is_const(t->b))
            infer_require_positive(s->in, s->w, t->b, s->from);
    }
}

void infer_solve(Infer *in, InferWork *w, Cons *c, int v, bool *low, bool *high) {
    InferSolve s = {.in = in, .w = w, .from = c, .v = v};
    if (c->mode == READ_GUARDED && c->read->guard) {
        require_divisors(&s, c->sub);
        const Affine *above = infer_beyond_guards(in, w, c, v, affine_sub(in->x, c->sub, c->lo));
        const Affine *below = affine_add_const(in->x, affine_sub(in->x, c->hi, c->sub), -1);
        below = infer_beyond_guards(in, w, c, v, below);
        *low = !above || solve(&s, above);
        s.depth = 0;
        *high = !below || solve(&s, below);
        return;
    }
    if (affine_as_iter(c->sub) == v) {
        at_least(&s, c->lo);
        add_bound(in, &w->var[v].upper, c->hi, c, true);
        *low = *high = true;
        return;
    }
    *low = solve(&s, affine_sub(in->x, c->sub, c->lo));
    s.depth = 0;
    *high = solve(&s, affine_add_const(in->x, affine_sub(in->x, c->hi, c->sub), -1));
}
