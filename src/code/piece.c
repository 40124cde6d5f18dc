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

#include <stdlib.h>

enum { MAX_PIECES = 9, MAX_FACTS = 16 };

typedef struct Pieces {
    Plan *p;
    Exprs *x;
    const Affine *fact[MAX_FACTS];
    int nfacts;
    const Affine *open; // the first condition that is not decided
    int left;           // pieces that may still be made
    int lane;           // index of the lane; -1: there is none
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
    if (last - first < MAX_PIECES) ask(s, affine_add_const(s->x, a, -(first + 1) * by));
    return plain;
}

static const Affine *resolved(Pieces *s, const Affine *a);

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

// Made of the lane alone (plan_places): it is known for each.
static bool is_of_lane(const Pieces *s, const Atom *atom) {
    return s->lane >= 0 && !atom->read && is_of(atom->a, s->lane) && is_of(atom->b, s->lane);
}

static const Affine *resolved_atom(Pieces *s, const Atom *atom) {
    if (is_of_lane(s, atom)) return affine_make(s->x, 0, &(Term){atom, 1}, 1);
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
    const Affine *d = affine_add_const(s->x, open, FAULT(piece_too_long));
    const Expr *holds =
        expr_binary(s->x, OP_GE, expr_index(s->x, TYPE_I64, d), expr_int(s->x, TYPE_I64, 0));
    return expr_select(s->x, holds, yes, no);
}

// Of the loops alone, and nothing is read to find the place.
static bool is_plain(const Plan *p, const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (!plan_is_plain(p, a->sub[d])) return false;
    return !a->has_read;
}

const Access *plan_resolve(Plan *p, const Access *a) {
    const Affine *sub[PROGRAM_MAX_RANK];
    if (is_linear(a) || !is_plain(p, a)) return a;
    Pieces s = {.p = p, .x = p->tree->exprs, .lane = -1};
    for (int d = 0; d < a->rank; d++) sub[d] = resolved(&s, a->sub[d]);
    return access_make(s.x, a->tensor, a->rank, sub);
}

static const Expr *resolve_read(Plan *p, const Expr *e) {
    const Access *a = plan_resolve(p, e->access);
    if (!is_linear(a) && is_plain(p, a)) {
        Pieces s = {.p = p, .x = p->tree->exprs, .left = MAX_PIECES, .lane = -1};
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

// ---- Places of lanes
//
// Where lanes are gathered by subscripts, not by data, W lanes along v are those of v = W·V + l
// with l < W. Often l then stands by itself,
//
//     A[v/2]   ->   A[8*V + l/2]      W = 16
//
// and lanes have known places from the first: they are picked out of whole vectors. Conditions that
// are not decided are taken to hold as they mostly do, and tested where the code is made.

typedef struct Places {
    Pieces s;
    Mem *m;              // the piece
    int v, vector;       // indices: of the vector loop, and of a whole vector
    int64_t width, step; // bytes from one vector to the next
    int64_t c;
    int n;
    LinTerm t[TREE_MAX_DEPTH * 2]; // the linear part, in bytes
    int64_t place[16];             // in elements
} Places;

static bool add_term(Places *q, int index, int64_t k) {
    const Plan *p = q->s.p;
    int loop = p->loop_of_id[index], i = 0;
    if (p->loop[loop]->extent == 1) return true;
    while (i < q->n && q->t[i].loop != loop) i++;
    if (i == TREE_MAX_DEPTH * 2) return false;
    if (i == q->n) q->t[q->n++] = (LinTerm){loop, 0};
    return checked_add(q->t[i].k, k, &q->t[i].k);
}

// A subscript over V and l, in steps of `pitch` elements: what is linear, and the rest of each
// lane.
static bool add_places(Places *q, const Affine *a, int64_t pitch) {
    int64_t bytes, k;
    const Affine *rest = a;
    if (!checked_mul(pitch, type_info[q->m->type].bytes, &bytes)) return false;
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind != ATOM_ITER ? !is_of_lane(&q->s, atom) : atom->index == q->s.lane) {
            if (atom->kind != ATOM_ITER) return false;
            continue;
        }
        if (atom->kind != ATOM_ITER) continue;
        if (!checked_mul(a->term[i].coef, bytes, &k)) return false;
        if (atom->index == q->vector ? !checked_add(q->step, k, &q->step)
                                     : !add_term(q, atom->index, k))
            return false;
        rest = affine_sub(q->s.x, rest, affine_make(q->s.x, 0, &a->term[i], 1));
    }
    int64_t *values = q->s.p->least; // of other indices nothing is left
    for (int l = 0; l < q->width; l++) {
        values[q->s.lane] = l;
        bool fine =
            affine_eval(rest, values, NULL, NULL, NULL, &k) && checked_fma(k, pitch, &q->place[l]);
        values[q->s.lane] = 0;
        if (!fine) return false;
    }
    return true;
}

// The subscripts along v over V and l, with conditions that are open taken to hold.
static bool settle(Places *q, const Affine **sub) {
    Exprs *x = q->s.x;
    const Access *a = q->m->access;
    const Affine **iters = arena_new_n(q->s.p->arena, const Affine *, q->s.lane);
    iters[q->v] = affine_add(x, affine_scale(x, affine_iter(x, q->vector), q->width),
                             affine_iter(x, q->s.lane));
    do {
        const Affine *fact = q->s.open ? likelier(&q->s, q->s.open) : NULL;
        if (fact) q->s.fact[q->s.nfacts++] = fact;
        q->s.open = NULL;
        for (int d = 0; d < a->rank; d++) {
            Subst with = {.iters = iters};
            sub[d] = a->sub[d];
            if (affine_uses_iter(sub[d], q->v))
                sub[d] = resolved(&q->s, affine_subst(x, sub[d], &with));
        }
    } while (q->s.open && q->s.nfacts < MAX_FACTS);
    return !q->s.open;
}

// A fact as a function of loops; NULL: of V and l apart.
static const Lin *fact_of(const Places *q, const Affine *fact) {
    const Plan *p = q->s.p;
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    int64_t of_lane = affine_coef(fact, q->s.lane);
    if (affine_coef(fact, q->vector) != q->width * of_lane || fact->n > TREE_MAX_DEPTH) return NULL;
    for (int i = 0; i < fact->n; i++) {
        int index = fact->term[i].atom->index;
        if (index == q->vector) continue;
        int loop = p->loop_of_id[index == q->s.lane ? q->v : index];
        if (p->loop[loop]->extent > 1) t[n++] = (LinTerm){loop, fact->term[i].coef};
    }
    const Lin *l = code_lin(p->arena, fact->constant, t, n);
    return code_is_small(p, l) ? l : NULL;
}

static bool set_conditions(Places *q) {
    q->m->cond = arena_new_n(q->s.p->arena, const Lin *, q->s.nfacts);
    q->m->nconds = FAULT(place_without_condition) ? 0 : q->s.nfacts;
    for (int i = 0; i < q->s.nfacts; i++)
        if (!(q->m->cond[i] = fact_of(q, q->s.fact[i]))) return false;
    return true;
}

static bool set_places(Places *q) {
    enum { VECTORS = 4 }; // that lanes are picked from
    int64_t first = q->place[0], least = 0, most = 0;
    bool even = true;
    for (int l = 0; l < q->width; l++) {
        q->place[l] -= first;
        even &= q->place[l] == l * q->place[1];
        least = min_i64(least, q->place[l]);
        most = max_i64(most, q->place[l]);
    }
    if (!checked_fma(first, type_info[q->m->type].bytes, &q->c)) return false;
    if (even && llabs(q->place[1]) <= INT32_MAX / 512) {
        q->m->lane = q->place[1] * type_info[q->m->type].bytes;
        return true;
    }
    if (most - least >= VECTORS * q->width) return false;
    int16_t *place = arena_new_n(q->s.p->arena, int16_t, q->width);
    for (int l = 0; l < q->width; l++) place[l] = (int16_t)q->place[l];
    q->m->place = place;
    q->m->lane = type_info[q->m->type].bytes;
    return true;
}

static bool make_piece(Places *q) {
    Plan *p = q->s.p;
    const Buffer *b = &p->tree->buffers.at[q->m->buffer];
    const Affine *sub[PROGRAM_MAX_RANK];
    if (!settle(q, sub) || !set_conditions(q)) return false;
    q->m->computed = 0;
    for (int d = 0; d < q->m->access->rank; d++)
        if (!sub[d]->linear && sub[d] == q->m->access->sub[d])
            q->m->computed |= 1u << d;
        else if (!add_places(q, sub[d], b->stride[d]))
            return false;
    if (q->step % q->width || !add_term(q, q->v, q->step / q->width)) return false;
    if (!set_places(q)) return false;
    q->m->part = code_lin(p->arena, q->c, q->t, q->n);
    q->m->off = q->m->computed ? NULL : q->m->part;
    q->m->gathers = false;
    return true;
}

static void find_piece(Plan *p, PNode *leaf, Mem *m) {
    int n = p->tree->nindices;
    if (!is_plain(p, m->access)) return;
    Mem *piece = arena_copy(p->arena, m, sizeof *m);
    Places q = {.s = {.p = p, .x = p->tree->exprs, .lane = n + 1},
                .m = piece,
                .v = p->loop[leaf->vloop]->id,
                .vector = n,
                .width = leaf->width};
    p->most[n] = (p->loop[leaf->vloop]->extent - 1) / leaf->width;
    p->most[n + 1] = leaf->width - 1;
    if (make_piece(&q)) m->piece = piece;
}

void plan_places(Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        PNode *n = p->leaves.at[i];
        for (int r = 0; r < n->nreads && n->width > 1; r++)
            if (n->read[r].gathers) find_piece(p, n, &n->read[r]);
    }
}
