// Facts that guards imply about the subscripts behind them.
//
// A guard becomes facts, affines that are not negative wherever the read is performed:
//
//     h - p >= 0 && (h - p) % 2 == 0 && (h - p)/2 < H ? I((h - p)/2) * W(p) : 0
//
//     h - p >= 0      H - 1 - (h - p)/2 >= 0      2*((h - p)/2) = h - p
//
// Divisions and remainders also enter as inequalities: floor(a/b) lies between (a - b + 1)/b and
// a/b, and is (a - r)/b where a % b is known to be r. The prover of infer_prove.c combines the
// facts with the ranges of the iterators. A side of a subscript that is implied bounds nothing.
//
// An iterator without other bounds runs as far as some guarded read may be performed, for some
// values of the other iterators: above, h < 2*H + K - 2.
#include "program/infer_impl.h"

#include "program/piece.h"

enum { MAX_FACTS = 64 };

// a % b is r.
typedef struct Remainder {
    const Affine *mod, *r;
} Remainder;

typedef struct GuardFacts {
    Infer *in;
    const InferWork *w;
    int n, nremainders, napart;
    const Affine *at[MAX_FACTS];
    Remainder remainder[MAX_FACTS];
    const Affine *apart[MAX_FACTS]; // not 0
} GuardFacts;

// Facts are optional: one that overflows is omitted.
static const Affine *exact(Exprs *x, const Affine *a) {
    bool ok = !x->overflow && !x->too_large;
    x->overflow = x->too_large = false;
    return ok ? a : NULL;
}

// --- Facts of conditions -------------------------------------------------------------------------

static void add_fact(GuardFacts *f, const Affine *a) {
    if (exact(f->in->x, a) && f->n < MAX_FACTS) f->at[f->n++] = a;
}

// x is 0. A remainder is taken out of it.
static void add_zero(GuardFacts *f, const Affine *x) {
    Exprs *e = f->in->x;
    add_fact(f, x);
    add_fact(f, affine_scale(e, x, -1));
    for (int i = 0; i < x->n && f->nremainders < MAX_FACTS; i++) {
        Term t = x->term[i];
        if (t.atom->kind != ATOM_MOD || (t.coef != 1 && t.coef != -1)) continue;
        const Affine *mod = affine_make(e, 0, &(Term){t.atom, 1}, 1);
        const Affine *rest = affine_sub(e, x, affine_scale(e, mod, t.coef));
        const Affine *r = exact(e, affine_scale(e, rest, -t.coef));
        if (r) f->remainder[f->nremainders++] = (Remainder){mod, r};
    }
}

static void learn_compare(GuardFacts *f, const Expr *e, bool holds) {
    Exprs *x = f->in->x;
    const Affine *a = expr_as_affine(x, e->arg[0], NULL, NULL);
    const Affine *b = expr_as_affine(x, e->arg[1], NULL, NULL);
    if (!exact(x, a) || !exact(x, b)) return;
    const Affine *up = affine_sub(x, a, b), *down = affine_sub(x, b, a); // a >= b, a <= b
    if (!exact(x, up)) return;
    switch (e->op) {
    case OP_LT: add_fact(f, holds ? affine_add_const(x, down, -1) : up); break;
    case OP_LE: add_fact(f, holds ? down : affine_add_const(x, up, -1)); break;
    case OP_GT: add_fact(f, holds ? affine_add_const(x, up, -1) : down); break;
    case OP_GE: add_fact(f, holds ? up : affine_add_const(x, down, -1)); break;
    default:
        if ((e->op == OP_EQ) == holds)
            add_zero(f, up);
        else if (f->napart < MAX_FACTS)
            f->apart[f->napart++] = up;
    }
}

static void learn(GuardFacts *f, const Expr *e, bool holds) {
    if (e->kind != EXPR_OP) return;
    if (e->op == OP_NOT)
        learn(f, e->arg[0], !holds);
    else if ((e->op == OP_AND && holds) || (e->op == OP_OR && !holds))
        learn(f, e->arg[0], holds), learn(f, e->arg[1], holds);
    else if (op_info[e->op].class == OP_COMPARE && e->arg[0]->type != TYPE_BOOL)
        learn_compare(f, e, holds);
}

// --- Divisions and remainders --------------------------------------------------------------------

static bool is_positive(const GuardFacts *f, const Affine *a) {
    return infer_proves(f->in, f->w, affine_add_const(f->in->x, a, -1));
}

// a % b where it is known; NULL: it is not.
static const Affine *remainder_of(const GuardFacts *f, const Atom *div) {
    const Affine *mod = affine_mod(f->in->x, div->a, div->b);
    if (affine_is_const(mod)) return mod;
    for (int i = 0; i < f->nremainders; i++)
        if (f->remainder[i].mod == mod) return f->remainder[i].r;
    return NULL;
}

// k*floor(a/b) + rest >= 0, times b, without the division: implied by the fact, or, with `need`,
// something that implies it (the same, for a k of 1 or -1).
static const Affine *without_div(const GuardFacts *f, Term t, const Affine *rest, bool need) {
    Exprs *x = f->in->x;
    const Affine *r = remainder_of(f, t.atom), *a = t.atom->a;
    const Affine *last = affine_add_const(x, t.atom->b, -1);
    bool one = t.coef == 1 || t.coef == -1;
    if (r)
        a = affine_sub(x, a, r);
    else if (!need || one ? t.coef < 0 : t.coef > 0) // at least a - b + 1
        a = affine_sub(x, a, last);
    return affine_add(x, affine_scale(x, a, t.coef), affine_mul(x, t.atom->b, rest));
}

// The same inequality with its first division or remainder taken out; NULL: it has none.
static const Affine *simpler(const GuardFacts *f, const Affine *a, bool need) {
    Exprs *x = f->in->x;
    for (int i = 0; i < a->n; i++) {
        Term t = a->term[i];
        if (t.atom->kind != ATOM_DIV && t.atom->kind != ATOM_MOD) continue;
        if (!t.atom->has_iter || !is_positive(f, t.atom->b)) continue;
        const Affine *rest = affine_sub(x, a, affine_make(x, 0, &t, 1));
        if (t.atom->kind == ATOM_DIV) return exact(x, without_div(f, t, rest, need));
        const Affine *whole = affine_mul(x, t.atom->b, affine_div(x, t.atom->a, t.atom->b));
        const Affine *mod = affine_sub(x, t.atom->a, whole);
        return exact(x, affine_add(x, rest, affine_scale(x, mod, t.coef)));
    }
    return NULL;
}

static void add_simpler(GuardFacts *f) {
    for (int i = 0; i < f->n; i++) {
        const Affine *a = simpler(f, f->at[i], false);
        bool known = !a;
        for (int k = 0; k < f->n && !known; k++) known = f->at[k] == a;
        if (!known) add_fact(f, a);
    }
}

static void find_facts(GuardFacts *f, Infer *in, const InferWork *w, const InferGuard *guard) {
    *f = (GuardFacts){.in = in, .w = w};
    for (const InferGuard *g = guard; g; g = g->up) learn(f, g->cond, g->holds);
}

// Unknown iterators start at 0 or later.
static void add_ranges(GuardFacts *f) {
    Exprs *x = f->in->x;
    for (int i = 0; i < f->w->stmt->niters; i++) {
        bool known = !(f->w->unknown >> i & 1);
        const Var *v = &f->w->var[i];
        const Affine *at = affine_iter(x, i);
        add_fact(f, known ? affine_sub(x, at, v->lo) : at);
        if (known) add_fact(f, affine_add_const(x, affine_sub(x, v->hi, at), -1));
    }
}

// --- What is left to ask for ---------------------------------------------------------------------

static bool follows_by(const GuardFacts *f, const Affine *need) {
    for (int depth = 0; need && depth < 4; depth++) {
        if (infer_proves_with(f->in, f->w, need, f->at, f->n)) return true;
        need = simpler(f, need, true);
    }
    return false;
}

// A remainder may hide what is known of the quotient: floor(e/s) < H follows from e < s*H, and from
// e <= s*(H - 1) only where e is known to be a multiple of s.
static bool follows(const GuardFacts *f, const Affine *need) {
    GuardFacts plain = *f;
    plain.nremainders = 0;
    return follows_by(f, need) || (f->nremainders && follows_by(&plain, need));
}

// x - 1 >= 0 is wanted and x is not 0: x >= 0 is enough.
static const Affine *use_apart(const GuardFacts *f, const Affine *need) {
    Exprs *x = f->in->x;
    for (int i = 0; i < f->napart; i++)
        for (int64_t sign = -1; sign <= 1; sign += 2) {
            const Affine *one = affine_add_const(x, affine_scale(x, f->apart[i], sign), -1);
            if (need == one) return affine_add_const(x, one, 1);
        }
    return need;
}

static int64_t coef_of(const Affine *a, int v) {
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER && a->term[i].atom->index == v)
            return a->term[i].coef;
    return 0;
}

// Whether the guard itself limits v on the side that `need` limits, so that what is left to hold
// is about sizes alone: under  d < D2  the subscript  d + D2  is inside Q(D) if 2*D2 <= D, whatever
// the range of d.
static bool guard_limits(const GuardFacts *f, const Affine *need, int v) {
    Exprs *x = f->in->x;
    int64_t k = coef_of(need, v);
    for (int i = 0; i < f->n && k != 0 && k != INT64_MIN; i++) {
        int64_t by = coef_of(f->at[i], v);
        if (by == 0 || (k < 0) != (by < 0) || k % by != 0) continue;
        const Affine *left = exact(x, affine_sub(x, need, affine_scale(x, f->at[i], k / by)));
        if (left && !left->has_iter && !left->has_read) return true;
    }
    return false;
}

const Affine *infer_beyond_guards(Infer *in, const InferWork *w, const Cons *c, int v,
                                  const Affine *need) {
    GuardFacts f;
    if (in->x->overflow || in->x->too_large) return need;
    find_facts(&f, in, w, c->read->guard);
    if (guard_limits(&f, need, v)) return NULL;
    need = use_apart(&f, need);
    add_simpler(&f);
    add_ranges(&f);
    if (follows(&f, need)) need = NULL;
    exact(in->x, need);
    return need;
}

// --- Iterators that only guarded reads speak of --------------------------------------------------

// How far v may go where the read is performed; no bounds when nothing limits it.
static Bounds reach_of_read(Infer *in, InferWork *w, int r, int v) {
    GuardFacts f;
    Bounds upper = {0};
    find_facts(&f, in, w, w->info->reads[r].guard);
    Cons *from = NULL;
    for (int c = 0; c < w->ncons; c++) {
        Cons *cons = &w->cons[c];
        if (cons->read != &w->info->reads[r] || !(cons->iters >> v & 1)) continue;
        add_fact(&f, affine_add_const(in->x, affine_sub(in->x, cons->hi, cons->sub), -1));
        from = cons;
    }
    if (!from) return upper;
    add_simpler(&f);
    for (int i = 0; i < f.n; i++) {
        uint32_t open = affine_iter_mask(f.at[i]) & w->unknown;
        if (open == UINT32_C(1) << v) infer_solve_some(in, w, from, v, f.at[i], &upper);
    }
    return upper;
}

static bool reach_of(Infer *in, InferWork *w, int v) {
    Var all = {.state = VAR_UNKNOWN};
    vec_push(in->arena, &all.lower, ((Bound){in->zero, NULL}));
    for (int r = 0; r < w->info->nreads; r++) {
        if (w->info->reads[r].mode != READ_GUARDED || !w->included[r]) continue;
        Var one = {.lower = all.lower, .upper = reach_of_read(in, w, r, v)};
        if (!one.upper.n) continue;
        infer_settle(in, w, &one);
        const Affine *hi = all.hi ? infer_hull_hi(in, all.hi, one.hi) : one.hi;
        all.hi = hi;
        all.upper.n = 0;
        vec_push(in->arena, &all.upper, ((Bound){hi, one.upper.at[0].from}));
    }
    if (!all.hi) return false;
    infer_settle(in, w, &all);
    w->var[v] = all;
    return true;
}

bool infer_reach_guarded(Infer *in, InferWork *w) {
    uint32_t solved = 0;
    for (int v = 0; v < w->stmt->niters; v++)
        if (w->unknown >> v & 1 && reach_of(in, w, v)) solved |= UINT32_C(1) << v;
    w->unknown &= ~solved;
    return solved;
}
