// Reads with subscripts made of quotients, remainders, minima and maxima, and the positions of
// their lanes.
//
// A subscript with few pieces (program/piece.h) becomes a choice between linear reads. Clamped,
// mirrored and periodic subscripts then need the same code as guards: conditions that differ
// between lanes, masked loads, and an interior without conditions (gen/interior.c).
//
//     A[(i + 1)%N]            ->   i + 1 - N >= 0 ? A[i + 1 - N] : A[i + 1]
//     A[max(i - 1, 0)]        ->   i - 1 >= 0 ? A[i - 1] : A[0]
#include "code/plan/plan.h"

#include "base/checked.h"
#include "program/piece.h"

#include <stdlib.h>

enum { MAX_PIECES = 9 };

// Gives up on sums that overflow. `before` is the previous value of the pool's flag.
static bool overflowed(Exprs *x, bool before) {
    bool now = x->overflow;
    x->overflow = before;
    return now;
}

static Pieces pieces_of(const Plan *p, int apart) {
    return (Pieces){.x = p->tree->exprs,
                    .least = p->least,
                    .most = p->most,
                    .apart = apart,
                    .quotients = MAX_PIECES};
}

// NULL: there are too many pieces, or some are not linear.
static const Expr *read_of(Pieces *s, int *left, Type type, const Access *a) {
    const Affine *sub[TREE_MAX_RANK];
    s->open = NULL;
    for (int d = 0; d < a->rank; d++) sub[d] = piece_resolve(s, a->sub[d]);
    const Affine *open = s->open ? piece_likelier(s, s->open) : NULL;
    if (!open) {
        a = access_make(s->x, a->tensor, a->rank, sub);
        return (*left)-- > 0 && access_is_linear(a) ? expr_read(s->x, type, a) : NULL;
    }
    if (s->nfacts == PIECE_FACTS || *left <= 0) return NULL;
    s->fact[s->nfacts++] = open;
    const Expr *yes = read_of(s, left, type, a);
    s->fact[s->nfacts - 1] = piece_opposite(s, open);
    const Expr *no = yes ? read_of(s, left, type, a) : NULL;
    s->nfacts--;
    if (!no) return NULL;
    const Expr *holds =
        expr_binary(s->x, OP_GE, expr_index(s->x, TYPE_I64, open), expr_int(s->x, TYPE_I64, 0));
    return expr_select(s->x, holds, yes, no);
}

// Does it only depend on loops, without reading an element?
static bool is_plain(const Plan *p, const Access *a) {
    for (int d = 0; d < a->rank; d++)
        if (!plan_is_plain(p, a->sub[d])) return false;
    return !a->has_read;
}

const Access *plan_resolve(Plan *p, const Access *a) {
    const Affine *sub[TREE_MAX_RANK];
    if (access_is_linear(a) || !is_plain(p, a)) return a;
    Pieces s = pieces_of(p, -1);
    bool before = s.x->overflow;
    s.x->overflow = false;
    for (int d = 0; d < a->rank; d++) sub[d] = piece_resolve(&s, a->sub[d]);
    return overflowed(s.x, before) ? a : access_make(s.x, a->tensor, a->rank, sub);
}

static const Expr *resolve_read(Plan *p, const Expr *e) {
    const Access *a = plan_resolve(p, e->access);
    if (!access_is_linear(a) && is_plain(p, a)) {
        Pieces s = pieces_of(p, -1);
        int left = MAX_PIECES;
        bool before = s.x->overflow;
        s.x->overflow = false;
        const Expr *pieces = read_of(&s, &left, e->type, a);
        if (!overflowed(s.x, before) && pieces) return pieces;
    }
    return a == e->access ? e : expr_read(p->tree->exprs, e->type, a);
}

// Converts a value computed from indices to an index.
static const Expr *resolve_index(Plan *p, const Expr *e) {
    if (!type_is_integer(e->type) || e->n > 2) return e;
    for (int i = 0; i < e->n; i++) {
        const Expr *arg = e->arg[i]->kind == EXPR_OP ? e->arg[i]->arg[0] : e->arg[i];
        if (arg->kind == EXPR_INDEX && !plan_is_plain(p, arg->index)) return e;
    }
    Pieces s = pieces_of(p, -1);
    bool before = s.x->overflow;
    s.x->overflow = false;
    const Expr *index = piece_index(&s, e);
    return overflowed(s.x, before) ? e : index;
}

typedef struct Limits {
    int64_t min, max;
} Limits;

static bool limits_of(ExprOp op, Limits a, Limits b, Limits *r) {
    switch (op) {
    case OP_ADD: return checked_add(a.min, b.min, &r->min) && checked_add(a.max, b.max, &r->max);
    case OP_SUB: return checked_sub(a.min, b.max, &r->min) && checked_sub(a.max, b.min, &r->max);
    case OP_MUL:
        if (b.min != b.max || b.min < 0) return false;
        return checked_mul(a.min, b.min, &r->min) && checked_mul(a.max, b.min, &r->max);
    case OP_DIV:
        if (b.min != b.max || b.min <= 0) return false;
        *r = (Limits){floor_div(a.min, b.min), floor_div(a.max, b.min)};
        return true;
    case OP_MOD:
        if (b.min != b.max || b.min <= 0) return false;
        *r = (Limits){0, b.min - 1};
        return true;
    default: return false;
    }
}

// An i64 made of indices and constants, as an i32 with the same value; NULL: the value may differ.
static const Expr *narrow(Plan *p, const Expr *e, Limits *r) {
    Exprs *x = p->tree->exprs;
    if (e->kind == EXPR_CONST) {
        *r = (Limits){e->value.i, e->value.i};
        return e->value.i == (int32_t)e->value.i ? expr_int(x, TYPE_I32, e->value.i) : NULL;
    }
    if (e->kind == EXPR_INDEX) {
        bool small = plan_is_plain(p, e->index) && code_index(p, e->index) &&
                     affine_bounds(e->index, p->least, p->most, &r->min, &r->max);
        return small ? expr_index(x, TYPE_I32, e->index) : NULL;
    }
    Limits side[2];
    if (e->kind != EXPR_OP || e->n != 2 || e->type != TYPE_I64) return NULL;
    const Expr *a = narrow(p, e->arg[0], &side[0]), *b = narrow(p, e->arg[1], &side[1]);
    if (!a || !b || !limits_of(e->op, side[0], side[1], r)) return NULL;
    return r->min >= INT32_MIN && r->max <= INT32_MAX ? expr_binary(x, e->op, a, b) : NULL;
}

// A comparison of indices in i64 that 32-bit lanes can compute: index(i)%2 == 0.
static const Expr *narrow_comparison(Plan *p, const Expr *e) {
    Limits r;
    if (e->kind != EXPR_OP || op_info[e->op].class != OP_COMPARE || e->arg[0]->type != TYPE_I64 ||
        code_condition(p, e))
        return e;
    const Expr *a = narrow(p, e->arg[0], &r), *b = a ? narrow(p, e->arg[1], &r) : NULL;
    return b ? expr_binary(p->tree->exprs, e->op, a, b) : e;
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
    if (!same) e = expr_op(p->tree->exprs, e->op, e->type, e->n, arg);
    return narrow_comparison(p, resolve_index(p, e));
}

// ---- Positions of lanes
//
// If lanes are gathered by subscripts, not by data, the W lanes along v are v = W·V + l with l < W.
// Often the terms of l separate,
//
//     A[v/2]   ->   A[8*V + l/2]      W = 16
//
// and the positions of lanes relative to the first are known: lanes are permuted from whole
// vectors. Undecided conditions are assumed to hold as they usually do, and are tested in the
// generated code.

typedef struct Places {
    Plan *p;
    Pieces s;
    Mem *m;              // the piece
    int v, vector;       // indices: of the vector loop, and of a whole vector
    int64_t width, step; // bytes from one vector to the next
    int64_t c;
    int n;
    LinTerm t[TREE_MAX_DEPTH * 2]; // the linear part, in bytes
    int64_t place[LIMIT_LANES];    // in elements
} Places;

static bool add_term(Places *q, int index, int64_t k) {
    const Plan *p = q->p;
    int loop = p->loop_of_id[index], i = 0;
    if (p->loop[loop]->extent == 1) return true;
    while (i < q->n && q->t[i].loop != loop) i++;
    if (i == TREE_MAX_DEPTH * 2) return false;
    if (i == q->n) q->t[q->n++] = (LinTerm){loop, 0};
    return checked_add(q->t[i].k, k, &q->t[i].k);
}

// A subscript in V and l, in steps of `pitch` elements: adds its linear part, and the position of
// each lane.
static bool add_places(Places *q, const Affine *a, int64_t pitch) {
    int64_t bytes, k;
    const Affine *rest = a;
    if (!checked_mul(pitch, type_info[q->m->type].bytes, &bytes)) return false;
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind != ATOM_ITER ? !piece_is_apart(&q->s, atom) : atom->index == q->s.apart) {
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
    int64_t *values = q->p->least; // the other indices do not occur any more
    for (int l = 0; l < q->width; l++) {
        values[q->s.apart] = l;
        bool fine =
            affine_eval(rest, values, NULL, NULL, NULL, &k) && checked_fma(k, pitch, &q->place[l]);
        values[q->s.apart] = 0;
        if (!fine) return false;
    }
    return true;
}

// The subscripts along v in terms of V and l, assuming that open conditions hold.
static bool settle(Places *q, const Affine **sub) {
    Exprs *x = q->s.x;
    const Access *a = q->m->access;
    const Affine **iters = arena_new_n(q->p->arena, const Affine *, q->s.apart);
    iters[q->v] = affine_add(x, affine_scale(x, affine_iter(x, q->vector), q->width),
                             affine_iter(x, q->s.apart));
    do {
        const Affine *fact = q->s.open ? piece_likelier(&q->s, q->s.open) : NULL;
        if (fact) q->s.fact[q->s.nfacts++] = fact;
        q->s.open = NULL;
        for (int d = 0; d < a->rank; d++) {
            Subst with = {.iters = iters};
            sub[d] = a->sub[d];
            if (affine_uses_iter(sub[d], q->v))
                sub[d] = piece_resolve(&q->s, affine_subst(x, sub[d], &with));
        }
    } while (q->s.open && q->s.nfacts < PIECE_FACTS);
    return !q->s.open;
}

// A fact as a function of loops; NULL: it depends on V and l separately.
static const Lin *fact_of(const Places *q, const Affine *fact) {
    const Plan *p = q->p;
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    int64_t of_lane = affine_coef(fact, q->s.apart);
    if (affine_coef(fact, q->vector) != q->width * of_lane || fact->n > TREE_MAX_DEPTH) return NULL;
    for (int i = 0; i < fact->n; i++) {
        int index = fact->term[i].atom->index;
        if (index == q->vector) continue;
        int loop = p->loop_of_id[index == q->s.apart ? q->v : index];
        if (p->loop[loop]->extent > 1) t[n++] = (LinTerm){loop, fact->term[i].coef};
    }
    const Lin *l = code_lin(p->arena, fact->constant, t, n);
    return code_is_small(p, l) ? l : NULL;
}

static bool set_conditions(Places *q) {
    q->m->cond = arena_new_n(q->p->arena, const Lin *, q->s.nfacts);
    q->m->nconds = q->s.nfacts;
    for (int i = 0; i < q->s.nfacts; i++)
        if (!(q->m->cond[i] = fact_of(q, q->s.fact[i]))) return false;
    return true;
}

int plan_windows(const int32_t *place, int lanes, int width, int32_t *start) {
    for (int n = 0; n <= MAX_WINDOWS; n++) {
        int64_t next = INT64_MAX, end = n ? (int64_t)start[n - 1] + width : INT64_MIN;
        for (int l = 0; l < lanes; l++)
            if (place[l] >= end) next = min_i64(next, place[l]);
        if (next == INT64_MAX) return n;
        start[n] = (int32_t)next;
    }
    return MAX_WINDOWS + 1;
}

static bool set_places(Places *q) {
    int64_t first = q->place[0];
    int32_t *place = arena_new_n(q->p->arena, int32_t, q->width), start[MAX_WINDOWS + 1];
    bool even = true;
    for (int l = 0; l < q->width; l++) {
        q->place[l] -= first;
        even &= q->place[l] == l * q->place[1];
        if (llabs(q->place[l]) > INT32_MAX / 512) return false;
        place[l] = (int32_t)q->place[l];
    }
    if (!checked_fma(first, type_info[q->m->type].bytes, &q->c)) return false;
    q->m->lane = type_info[q->m->type].bytes;
    if (even) q->m->lane *= q->place[1];
    if (even) return true;
    q->m->place = place;
    return plan_windows(place, (int)q->width, (int)q->width, start) <= MAX_WINDOWS;
}

static bool make_piece(Places *q) {
    Plan *p = q->p;
    const Buffer *b = &p->tree->buffers.at[q->m->buffer];
    const Affine *sub[TREE_MAX_RANK];
    if (!settle(q, sub) || !set_conditions(q)) return false;
    q->m->computed = 0;
    for (int d = 0; d < q->m->access->rank; d++)
        if (!sub[d]->linear && sub[d] == q->m->access->sub[d])
            q->m->computed |= UINT64_C(1) << d;
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
    Places q = {.p = p,
                .s = pieces_of(p, n + 1),
                .m = piece,
                .v = p->loop[leaf->simd.vloop]->id,
                .vector = n,
                .width = leaf->simd.width};
    p->most[n] = (p->loop[leaf->simd.vloop]->extent - 1) / leaf->simd.width;
    p->most[n + 1] = leaf->simd.width - 1;
    bool before = q.s.x->overflow;
    q.s.x->overflow = false;
    bool made = make_piece(&q);
    if (!overflowed(q.s.x, before) && made) m->piece = piece;
}

void plan_places(Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        PNode *n = p->leaves.at[i];
        for (int r = 0; r < n->nreads && n->simd.width > 1; r++)
            if (n->read[r].gathers) find_piece(p, n, &n->read[r]);
    }
}
