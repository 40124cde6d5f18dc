// From dependence questions to systems of integers.
//
// Variables are i, then j, then one auxiliary for each division, modulo, minimum and maximum that
// occurs on either side:
//
//     q = floor(e/c):   0 <= e - c*q <= c - 1         e % c = e - c*q
//     m = min(e, f):    m = e <= f   or   m = f <= e          (two systems)
//
// Their bounds come from affine_bounds, so every variable is bounded and omega.c always ends.
#include "program/deps.h"

#include "base/bug.h"
#include "base/checked.h"
#include "program/omega.h"

enum { MAX_AUX = 24 };

typedef struct Aux {
    int side;
    AtomKind kind; // DIV (of a modulo, too), MIN or MAX
    const Affine *a, *b;
    int64_t lo, hi;
} Aux;

typedef struct SystemBuild {
    const DepQuery *q;
    const DepSide *side[2];
    int base[2];                                        // first variable of a side
    int64_t lo[2][DEP_MAX_ITERS], hi[2][DEP_MAX_ITERS]; // inclusive
    Aux aux[MAX_AUX];
    int naux;
    bool relaxed; // something was left out
} SystemBuild;

static int first_aux(const SystemBuild *b) { return b->base[1] + b->side[1]->niters; }

// --- Auxiliary variables -----------------------------------------------------------------------

static AtomKind aux_kind(AtomKind kind) { return kind == ATOM_MOD ? ATOM_DIV : kind; }

static int find_aux(const SystemBuild *b, int side, const Atom *t) {
    for (int i = 0; i < b->naux; i++) {
        const Aux *x = &b->aux[i];
        if (x->side == side && x->kind == aux_kind(t->kind) && x->a == t->a && x->b == t->b)
            return i;
    }
    return -1;
}

static bool aux_bounds(const SystemBuild *b, Aux *x) {
    const int64_t *lo = b->lo[x->side], *hi = b->hi[x->side];
    int64_t amin, amax, bmin, bmax;
    if (!affine_bounds(x->a, lo, hi, &amin, &amax) || !affine_bounds(x->b, lo, hi, &bmin, &bmax))
        return false;
    switch (x->kind) {
    case ATOM_DIV:
        if (bmin != bmax || bmin < 1) return false;
        x->lo = floor_div(amin, bmin);
        x->hi = floor_div(amax, bmin);
        return true;
    case ATOM_MIN:
        x->lo = min_i64(amin, bmin);
        x->hi = min_i64(amax, bmax);
        return true;
    default:
        x->lo = max_i64(amin, bmin);
        x->hi = max_i64(amax, bmax);
        return true;
    }
}

// Makes auxiliary variables for everything in `a`; false when it cannot be made linear.
static bool collect(SystemBuild *b, int side, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER) continue;
        if (t->kind == ATOM_PARAM || t->kind == ATOM_READ || t->kind == ATOM_PROD) return false;
        if (find_aux(b, side, t) >= 0) continue;
        Aux x = {.side = side, .kind = aux_kind(t->kind), .a = t->a, .b = t->b};
        if (!collect(b, side, t->a) || !collect(b, side, t->b)) return false;
        if (b->naux == MAX_AUX || !aux_bounds(b, &x)) return false;
        b->aux[b->naux++] = x;
    }
    return true;
}

// row += k * a
static bool add_affine(const SystemBuild *b, int64_t *row, int n, int side, const Affine *a,
                       int64_t k) {
    if (!checked_fma(a->constant, k, &row[n])) return false;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        int64_t coef;
        if (!checked_mul(a->term[i].coef, k, &coef)) return false;
        if (t->kind == ATOM_ITER) {
            if (!checked_add(row[b->base[side] + t->index], coef, &row[b->base[side] + t->index]))
                return false;
            continue;
        }
        int64_t *at = &row[first_aux(b) + find_aux(b, side, t)];
        if (t->kind == ATOM_MOD) { // a - b*q
            if (!add_affine(b, row, n, side, t->a, coef)) return false;
            if (!checked_mul(coef, -t->b->constant, &coef)) return false;
        }
        if (!checked_add(*at, coef, at)) return false;
    }
    return true;
}

// --- The system --------------------------------------------------------------------------------

static bool put_aux(const SystemBuild *b, Omega *o, int i) {
    const Aux *x = &b->aux[i];
    int v = first_aux(b) + i;
    o->lo[v] = x->lo;
    o->hi[v] = x->hi;
    if (x->kind != ATOM_DIV) return true; // see solve_choices
    int64_t c = x->b->constant;
    int64_t *least = omega_row(o, false); // a - c*q >= 0
    if (!add_affine(b, least, o->n, x->side, x->a, 1)) return false;
    least[v] -= c;
    int64_t *most = omega_row(o, false); // c*q + c - 1 - a >= 0
    if (!add_affine(b, most, o->n, x->side, x->a, -1)) return false;
    most[v] += c;
    return checked_add(most[o->n], c - 1, &most[o->n]);
}

static void put_dir(const SystemBuild *b, Omega *o, const DepDir *d) {
    int i = b->base[0] + d->a, j = b->base[1] + d->b;
    int64_t *row = omega_row(o, d->rel == DEP_EQ);
    int64_t up = d->rel == DEP_LT || d->rel == DEP_LE ? 1 : -1; // j - i >= 0, or i - j >= 0
    row[j] = up;
    row[i] = -up;
    if (d->rel == DEP_LT || d->rel == DEP_GT) row[o->n] = -1;
}

static void put_order(const SystemBuild *b, Omega *o, const DepOrder *order) {
    int64_t *row = omega_row(o, order->equal);
    for (int k = 0; k < b->side[0]->niters && order->a; k++) row[b->base[0] + k] = order->a[k];
    for (int k = 0; k < b->side[1]->niters && order->b; k++) row[b->base[1] + k] = order->b[k];
    row[o->n] = order->constant;
}

// Which rows there will be is known only after all affines were collected: usable[] remembers the
// outcome.
typedef struct Usable {
    bool sub[PROGRAM_MAX_RANK];
    bool *constraint[2];
} Usable;

static Usable collect_all(Arena *scratch, SystemBuild *b) {
    Usable u = {0};
    for (int d = 0; d < b->side[0]->rank; d++) {
        u.sub[d] = collect(b, 0, b->side[0]->sub[d]) && collect(b, 1, b->side[1]->sub[d]);
        b->relaxed |= !u.sub[d];
    }
    for (int s = 0; s < 2; s++) {
        u.constraint[s] = arena_new_n(scratch, bool, b->side[s]->nconstraints);
        for (int c = 0; c < b->side[s]->nconstraints; c++) {
            u.constraint[s][c] = collect(b, s, b->side[s]->constraint[c]);
            b->relaxed |= !u.constraint[s][c];
        }
    }
    return u;
}

static bool put_all(const SystemBuild *b, Omega *o, const Usable *u) {
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < b->side[s]->niters; k++) {
            o->lo[b->base[s] + k] = b->lo[s][k];
            o->hi[b->base[s] + k] = b->hi[s][k];
        }
    for (int d = 0; d < b->side[0]->rank; d++) {
        if (!u->sub[d]) continue;
        int64_t *row = omega_row(o, true);
        if (!add_affine(b, row, o->n, 0, b->side[0]->sub[d], 1)) return false;
        if (!add_affine(b, row, o->n, 1, b->side[1]->sub[d], -1)) return false;
    }
    for (int s = 0; s < 2; s++)
        for (int c = 0; c < b->side[s]->nconstraints; c++) {
            if (!u->constraint[s][c]) continue;
            int64_t *row = omega_row(o, false);
            if (!add_affine(b, row, o->n, s, b->side[s]->constraint[c], 1)) return false;
        }
    for (int i = 0; i < b->naux; i++)
        if (!put_aux(b, o, i)) return false;
    for (int i = 0; i < b->q->ndirs; i++) put_dir(b, o, &b->q->dirs[i]);
    for (int i = 0; i < b->q->norders; i++) put_order(b, o, &b->q->orders[i]);
    return true;
}

// --- Minimum and maximum -----------------------------------------------------------------------

// m is operand `which`, and that is the smaller (the greater) one.
static bool put_choice(const SystemBuild *b, Omega *o, int i, bool second) {
    const Aux *x = &b->aux[i];
    const Affine *is = second ? x->b : x->a, *other = second ? x->a : x->b;
    int64_t sign = x->kind == ATOM_MIN ? 1 : -1;
    int64_t *row = omega_row(o, true);
    row[first_aux(b) + i] = 1;
    if (!add_affine(b, row, o->n, x->side, is, -1)) return false;
    row = omega_row(o, false);
    return add_affine(b, row, o->n, x->side, other, sign) &&
           add_affine(b, row, o->n, x->side, is, -sign);
}

static OmegaAnswer solve_choices(const SystemBuild *b, Omega *o, int i, int64_t *x,
                                 int64_t *budget) {
    while (i < b->naux && b->aux[i].kind == ATOM_DIV) i++;
    if (i == b->naux) return omega_solve(o, x, budget);
    bool undecided = *budget < 0;
    for (int second = 0; second < 2 && *budget >= 0; second++) {
        ArenaMark mark = arena_mark(o->arena);
        Omega copy;
        omega_copy(&copy, o);
        OmegaAnswer answer = put_choice(b, &copy, i, second)
                                 ? solve_choices(b, &copy, i + 1, x, budget)
                                 : OMEGA_UNDECIDED;
        arena_release(o->arena, mark);
        if (answer == OMEGA_YES) return answer;
        undecided |= answer != OMEGA_NO || *budget < 0;
    }
    return undecided ? OMEGA_UNDECIDED : OMEGA_NO;
}

// --- The answer --------------------------------------------------------------------------------

// Constraints and subscripts of the question at the witness, whose element it fills in.
bool deps_check(const DepQuery *q, DepWitness *w) {
    for (int s = 0; s < 2; s++) {
        const DepSide *side = s ? &q->b : &q->a;
        for (int c = 0; c < side->nconstraints; c++) {
            const Affine *a = side->constraint[c];
            int64_t v;
            if (a->has_read || !affine_eval(a, s ? w->b : w->a, NULL, NULL, NULL, &v) || v < 0)
                return false;
        }
    }
    for (int d = 0; d < q->a.rank; d++) {
        const Affine *f = q->a.sub[d], *g = q->b.sub[d];
        int64_t v;
        if (f->has_read || g->has_read) return false;
        if (!affine_eval(f, w->a, NULL, NULL, NULL, &w->element[d])) return false;
        if (!affine_eval(g, w->b, NULL, NULL, NULL, &v) || v != w->element[d]) return false;
    }
    return true;
}

static bool check_witness(const SystemBuild *b, const int64_t *x, DepWitness *w) {
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < b->side[s]->niters; k++) (s ? w->b : w->a)[k] = x[b->base[s] + k];
    return deps_check(b->q, w);
}

// False when a box is empty.
static bool start(SystemBuild *b, const DepQuery *q) {
    b->q = q;
    b->side[0] = &q->a;
    b->side[1] = &q->b;
    b->base[0] = 0;
    b->base[1] = q->a.niters;
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < b->side[s]->niters; k++) {
            b->lo[s][k] = b->side[s]->lo[k];
            b->hi[s][k] = b->side[s]->hi[k] - 1;
            if (b->side[s]->hi[k] <= b->side[s]->lo[k]) return false;
        }
    return true;
}

static DepAnswer answer(Arena *scratch, const DepQuery *q, DepWitness *witness) {
    SystemBuild b;
    b.naux = 0;
    b.relaxed = false;
    if (!start(&b, q)) return DEP_NO;
    if (q->pool && *q->pool < 0) return DEP_UNDECIDED;
    Usable u = collect_all(scratch, &b);
    Omega o;
    omega_init(&o, scratch, first_aux(&b) + b.naux);
    if (!put_all(&b, &o, &u)) return DEP_UNDECIDED;
    int64_t *x = arena_new_n(scratch, int64_t, o.n);
    int64_t budget = q->budget ? q->budget : DEP_BUDGET;
    if (q->pool) *q->pool -= budget = min_i64(budget, *q->pool);
    OmegaAnswer a = solve_choices(&b, &o, 0, x, &budget);
    if (q->pool) *q->pool += budget; // the unspent part
    if (a == OMEGA_NO) return DEP_NO;
    if (a != OMEGA_YES) return DEP_UNDECIDED;
    bool holds = check_witness(&b, x, witness);
    if (!holds && !b.relaxed) bug("a dependence witness does not meet the question");
    return holds ? DEP_YES : DEP_UNDECIDED;
}

DepAnswer deps_test(Arena *scratch, const DepQuery *q, DepWitness *witness) {
    DepWitness own;
    if (q->a.rank != q->b.rank) bug("accesses of %d and %d dimensions", q->a.rank, q->b.rank);
    if (q->a.niters > DEP_MAX_ITERS || q->b.niters > DEP_MAX_ITERS)
        bug("a dependence over %d and %d iterators", q->a.niters, q->b.niters);
    ArenaMark mark = arena_mark(scratch);
    DepAnswer a = answer(scratch, q, witness ? witness : &own);
    arena_release(scratch, mark);
    return a;
}

DepSide deps_side(Arena *arena, const Stmt *s, const Access *access) {
    int64_t *lo = arena_new_n(arena, int64_t, 2 * s->niters), *hi = lo + s->niters;
    for (int i = 0; i < s->niters; i++) {
        lo[i] = iter_lo(&s->iter[i]);
        hi[i] = iter_hi(&s->iter[i]);
    }
    return (DepSide){
        .niters = s->niters,
        .lo = lo,
        .hi = hi,
        .nconstraints = s->nconstraints,
        .constraint = s->constraint,
        .rank = access->rank,
        .sub = access->sub,
    };
}
