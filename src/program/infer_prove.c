// Is an affine expression of the parameters never negative?
//
// A small, incomplete prover, made for typical sizes. The expression is kept as a short sum
// (LinearForm) outside of the pool, so that failed attempts leave nothing behind. In order:
//   1. add up the least value of every term: sizes are at least 0, or 1 where an instance exists;
//   2. a term of unlimited negative reach is cancelled by a fact that has it too: H - KH >= 0;
//   3. min and max become their operands: both, or either one;
//   4. b*floor(a/b) lies between a - b + 1 and a.
// Every attempt costs one unit of a budget; an exhausted budget means "not proved".
#include "program/infer_impl.h"

#include "base/checked.h"

enum { LIN_MAX = 24, BUDGET = 200, DEPTH = 5, RECENT_REQUIRES = 16 };

typedef struct LinearForm {
    int64_t constant;
    int n;
    bool lost; // overflow or too many terms: proves nothing
    Term term[LIN_MAX];
} LinearForm;

typedef struct Prover {
    Infer *in;
    const InferWork *w;
    int budget;
} Prover;

static void lin_term(LinearForm *l, const Atom *atom, int64_t coef) {
    for (int i = 0; i < l->n; i++)
        if (l->term[i].atom == atom) {
            l->lost |= !checked_add(l->term[i].coef, coef, &l->term[i].coef);
            if (l->term[i].coef == 0) l->term[i] = l->term[--l->n];
            return;
        }
    if (coef == 0) return;
    if (l->n == LIN_MAX)
        l->lost = true;
    else
        l->term[l->n++] = (Term){atom, coef};
}

static void lin_add(LinearForm *l, const Affine *a, int64_t k) {
    l->lost |= !checked_fma(a->constant, k, &l->constant);
    for (int i = 0; i < a->n; i++) {
        int64_t coef;
        l->lost |= !checked_mul(a->term[i].coef, k, &coef);
        lin_term(l, a->term[i].atom, coef);
    }
}

static void lin_scale(LinearForm *l, int64_t k) {
    l->lost |= !checked_mul(l->constant, k, &l->constant);
    for (int i = 0; i < l->n; i++) l->lost |= !checked_mul(l->term[i].coef, k, &l->term[i].coef);
}

// --- Least and greatest values -----------------------------------------------------------------

static bool limit_terms(Prover *pr, int64_t constant, const Term *t, int n, bool upper,
                        int64_t *out);

static bool limit(Prover *pr, const Affine *a, bool upper, int64_t *out) {
    return limit_terms(pr, a->constant, a->term, a->n, upper, out);
}

static bool limit_param(Prover *pr, int p, bool upper, int64_t *out) {
    if (upper) return false;
    *out = pr->in->param_lo[p];
    if (pr->w && pr->in->param_one[p] == pr->in->stamp) *out = max_i64(*out, 1);
    return *out != INT64_MIN;
}

// floor(a/b) for b >= 1: towards 0 as b grows, but never across -1 | 0.
static bool limit_div(Prover *pr, const Atom *t, bool upper, int64_t *out) {
    int64_t a, b;
    if (!limit(pr, t->a, upper, &a) || !limit(pr, t->b, false, &b) || b < 1) return false;
    if (affine_is_const(t->b))
        *out = floor_div(a, b);
    else if (upper)
        *out = a >= 0 ? floor_div(a, b) : -1;
    else
        *out = a >= 0 ? 0 : floor_div(a, b);
    return true;
}

static bool limit_mod(Prover *pr, const Atom *t, bool upper, int64_t *out) {
    int64_t b;
    if (!limit(pr, t->b, false, &b) || b < 1) return false;
    if (!upper) return *out = 0, true;
    return limit(pr, t->b, true, &b) && checked_sub(b, 1, out);
}

static bool limit_choice(Prover *pr, const Atom *t, bool upper, int64_t *out) {
    int64_t a, b;
    bool has_a = limit(pr, t->a, upper, &a), has_b = limit(pr, t->b, upper, &b);
    bool min = t->kind == ATOM_MIN;
    if (has_a && has_b)
        *out = min ? min_i64(a, b) : max_i64(a, b);
    else if (min == upper && (has_a || has_b)) // one operand is enough
        *out = has_a ? a : b;
    else
        return false;
    return true;
}

static bool limit_atom(Prover *pr, const Atom *t, bool upper, int64_t *out) {
    if (--pr->budget < 0) return false;
    int64_t a, b;
    switch (t->kind) {
    case ATOM_PARAM: return limit_param(pr, t->index, upper, out);
    case ATOM_DIV: return limit_div(pr, t, upper, out);
    case ATOM_MOD: return limit_mod(pr, t, upper, out);
    case ATOM_MIN:
    case ATOM_MAX: return limit_choice(pr, t, upper, out);
    case ATOM_PROD:
        if (upper || !limit(pr, t->a, false, &a) || !limit(pr, t->b, false, &b)) return false;
        return a >= 0 && b >= 0 && checked_mul(a, b, out);
    default: return false;
    }
}

static bool limit_terms(Prover *pr, int64_t constant, const Term *t, int n, bool upper,
                        int64_t *out) {
    *out = constant;
    for (int i = 0; i < n; i++) {
        int64_t v;
        if (!limit_atom(pr, t[i].atom, upper == (t[i].coef > 0), &v)) return false;
        if (!checked_fma(t[i].coef, v, out)) return false;
    }
    return true;
}

// --- The search --------------------------------------------------------------------------------

static bool prove(Prover *pr, const LinearForm *l, int depth);

static bool prove_without(Prover *pr, const LinearForm *l, int at, const Affine *instead,
                          int depth) {
    LinearForm m = *l;
    int64_t coef = m.term[at].coef;
    m.term[at] = m.term[--m.n];
    lin_add(&m, instead, coef);
    return prove(pr, &m, depth);
}

// l - k*fact, with k > 0 chosen to get rid of `term`, or of its negative part.
static bool prove_with(Prover *pr, const LinearForm *l, Term term, const Affine *fact, int depth) {
    for (int i = 0; i < fact->n; i++) {
        int64_t d = fact->term[i].coef;
        if (fact->term[i].atom != term.atom) continue;
        if ((d < 0) != (term.coef < 0) || d == INT64_MIN) return false;
        int64_t k = term.coef / d;
        if (term.coef < 0)
            k += term.coef % d != 0;
        else if (k == 0)
            return false;
        LinearForm m = *l;
        lin_add(&m, fact, -k);
        return prove(pr, &m, depth);
    }
    return false;
}

static bool prove_with_any(Prover *pr, const LinearForm *l, Term term, int depth) {
    Infer *in = pr->in;
    for (int f = 0; f < in->known.n; f++)
        if (prove_with(pr, l, term, in->known.at[f], depth)) return true;
    if (!pr->w) return false;
    for (int f = 0; f < in->assumed.n; f++)
        if (prove_with(pr, l, term, in->assumed.at[f], depth)) return true;
    int n = in->p->preconditions.n;
    for (int f = n > RECENT_REQUIRES ? n - RECENT_REQUIRES : 0; f < n; f++)
        if (!in->p->preconditions.at[f].warn &&
            prove_with(pr, l, term, in->p->preconditions.at[f].what, depth))
            return true;
    return false;
}

// Facts for the first unbounded term; when all are bounded, for any term.
static bool prove_by_facts(Prover *pr, const LinearForm *l, int depth) {
    int64_t v;
    for (int i = 0; i < l->n; i++)
        if (!limit_atom(pr, l->term[i].atom, l->term[i].coef < 0, &v))
            return prove_with_any(pr, l, l->term[i], depth);
    for (int i = 0; i < l->n; i++)
        if (prove_with_any(pr, l, l->term[i], depth)) return true;
    return false;
}

// Splits the first min or max; relaxes the first division.
static bool prove_by_parts(Prover *pr, const LinearForm *l, int depth) {
    for (int i = 0; i < l->n; i++) {
        const Atom *t = l->term[i].atom;
        if (t->kind != ATOM_MIN && t->kind != ATOM_MAX) continue;
        bool both = (t->kind == ATOM_MIN) == (l->term[i].coef > 0);
        bool first = prove_without(pr, l, i, t->a, depth);
        if (first != both) return first;
        return prove_without(pr, l, i, t->b, depth);
    }
    for (int i = 0; i < l->n; i++) {
        const Atom *t = l->term[i].atom;
        int64_t coef = l->term[i].coef;
        if (t->kind != ATOM_DIV || !affine_is_const(t->b) || t->b->constant < 2) continue;
        int64_t b = t->b->constant;
        LinearForm m = *l; // b*l >= 0 follows from b*l >= -(b-1), l being an integer
        m.term[i] = m.term[--m.n];
        lin_scale(&m, b);
        lin_add(&m, t->a, coef);
        if (coef > 0) m.lost |= !checked_fma(coef, 1 - b, &m.constant);
        m.lost |= !checked_add(m.constant, b - 1, &m.constant);
        return prove(pr, &m, depth);
    }
    return false;
}

static bool prove(Prover *pr, const LinearForm *l, int depth) {
    if (l->lost || --pr->budget < 0) return false;
    int64_t least;
    if (limit_terms(pr, l->constant, l->term, l->n, false, &least) && least >= 0) return true;
    if (l->n == 0 || depth == 0) return false;
    return prove_by_facts(pr, l, depth - 1) || prove_by_parts(pr, l, depth - 1);
}

// --- Facts of a statement ----------------------------------------------------------------------

void infer_init_facts(Infer *in) {
    Program *p = in->p;
    in->param_lo = arena_new_n(in->arena, int64_t, p->params.n);
    in->param_one = arena_new_n(in->arena, int, p->params.n);
    for (int i = 0; i < p->params.n; i++)
        in->param_lo[i] = p->params.at[i].kind == PARAM_SIZE ? 0 : INT64_MIN;
}

static void assume_at_least_one(Infer *in, const Affine *a) {
    bool param = a->n == 1 && a->constant == 0 && a->term[0].coef == 1 &&
                 a->term[0].atom->kind == ATOM_PARAM;
    if (param)
        in->param_one[a->term[0].atom->index] = in->stamp;
    else if (a->n > 0 && !a->has_iter && !a->has_read)
        vec_push(in->arena, &in->assumed, affine_add_const(in->x, a, -1));
}

// Where w has an instance, no tensor it reads and none of its given ranges is empty.
void infer_assume(Infer *in, const InferWork *w) {
    if (in->assuming == w) return;
    in->assuming = w;
    in->assumed.n = 0;
    in->stamp++;
    for (int r = 0; r < w->info->nreads; r++) {
        const InferRead *read = &w->info->reads[r];
        int t = read->access->tensor;
        if (!in->shape[t].ranged) continue;
        const Tensor *tensor = &in->p->tensors.at[t];
        for (int d = 0; d < tensor->rank; d++) {
            bool padded = read->mode == READ_PADDED && affine_as_iter(read->access->sub[d]) < 0;
            if (!padded) assume_at_least_one(in, tensor->size[d]);
            const Affine *origin = tensor_lo(in, t, d);
            if (origin->n > 0 && in->shape[t].clamped && in->shape[t].clamped[d])
                vec_push(in->arena, &in->assumed, origin);
        }
    }
    for (int i = 0; i < w->stmt->niters; i++)
        if (w->var[i].state == VAR_GIVEN)
            assume_at_least_one(in, affine_sub(in->x, w->var[i].hi, w->var[i].lo));
}

bool infer_proves(Infer *in, const InferWork *w, const Affine *a) {
    if (affine_is_const(a)) return a->constant >= 0;
    if (a->has_read || a->has_iter) return false;
    if (w) infer_assume(in, w);
    Prover pr = {in, w, BUDGET};
    LinearForm l = {.n = 0};
    lin_add(&l, a, 1);
    return prove(&pr, &l, DEPTH);
}

bool infer_proves_le(Infer *in, const InferWork *w, const Affine *a, const Affine *b) {
    if (a == b) return true;
    if (a->has_read || b->has_read || a->has_iter || b->has_iter) return false;
    if (w) infer_assume(in, w);
    Prover pr = {in, w, BUDGET};
    LinearForm l = {.n = 0};
    lin_add(&l, b, 1);
    lin_add(&l, a, -1);
    return prove(&pr, &l, DEPTH);
}

bool infer_proves_with(Infer *in, const InferWork *w, const Affine *a, const Affine *const *fact,
                       int n) {
    if (a->has_read) return false;
    infer_assume(in, w);
    int before = in->assumed.n;
    for (int i = 0; i < n; i++) vec_push(in->arena, &in->assumed, fact[i]);
    Prover pr = {in, w, BUDGET};
    LinearForm l = {.n = 0};
    lin_add(&l, a, 1);
    bool yes = prove(&pr, &l, DEPTH);
    in->assumed.n = before;
    return yes;
}

Infer *infer_facts(Program *p) {
    Infer *in = arena_new(p->arena, Infer);
    *in = (Infer){.p = p, .x = p->exprs, .arena = p->arena};
    infer_init_facts(in);
    for (int i = 0; i < p->preconditions.n; i++)
        if (!p->preconditions.at[i].warn)
            vec_push(p->arena, &in->known, p->preconditions.at[i].what);
    return in;
}

bool infer_holds(Infer *facts, const Affine *a) { return infer_proves(facts, NULL, a); }
