// Counting the points of a statement's domain.
//
// Iterators without a common constraint multiply. Of those with one, all but the longest are
// enumerated, and the rest of the longest is an interval: a window of 3 x 3 taps at the border of
// an image takes three steps for its rows and three for its columns. If there are too many points,
// a sample at equal distances is taken.
#include "program/points.h"

#include "base/checked.h"

enum { MANY_POINTS = 4096 };

uint32_t points_tied(const Stmt *s, int first) {
    uint32_t all = 1u << first, before = 0;
    while (all != before) {
        before = all;
        for (int k = 0; k < s->nconstraints; k++) {
            uint32_t mine = 0;
            for (int i = 0; i < s->niters; i++)
                if (affine_uses_iter(s->constraint[k], i)) mine |= 1u << i;
            if (mine & all) all |= mine;
        }
    }
    return all;
}

typedef struct Points {
    const Stmt *s;
    int n;
    const Affine *constraint[PROGRAM_MAX_ITERS * 4]; // constraints over these iterators
    int longest;                                     // not enumerated; -1: all are
    int64_t at[PROGRAM_MAX_ITERS];
} Points;

// At the point in at[]: the part of the longest iterator where all constraints hold.
static int64_t left_of(const Points *p) {
    int64_t lo = 0, hi = p->longest < 0 ? 1 : iter_extent(&p->s->iter[p->longest]);
    for (int k = 0; k < p->n && lo < hi; k++) {
        int64_t value, coef = p->longest < 0 ? 0 : affine_coef(p->constraint[k], p->longest);
        if (!affine_eval(p->constraint[k], p->at, NULL, NULL, NULL, &value)) return 0;
        if (coef > 0) lo = max_i64(lo, ceil_div(-value, coef));
        if (coef < 0) hi = min_i64(hi, floor_div(value, -coef) + 1);
        if (!coef && value < 0) return 0;
    }
    return max_i64(0, hi - lo);
}

static bool is_linear_in(const Points *p, int iter) {
    for (int k = 0; k < p->n; k++)
        if (!p->constraint[k]->linear && affine_uses_iter(p->constraint[k], iter)) return false;
    return true;
}

static void go_to(Points *p, uint32_t iters, int64_t n) {
    for (int i = 0; i < p->s->niters; i++) {
        const Iter *it = &p->s->iter[i];
        p->at[i] = iter_lo(it);
        if (!(iters >> i & 1) || i == p->longest) continue;
        p->at[i] += n % iter_extent(it);
        n /= iter_extent(it);
    }
}

double points_count(const Stmt *s, uint32_t iters, bool *exact) {
    Points p = {.s = s, .longest = -1};
    double all = 1, found = 0;
    for (int i = 0; i < s->niters; i++) {
        if (!(iters >> i & 1)) continue;
        if (iter_extent(&s->iter[i]) < 1) return 0;
        all *= (double)iter_extent(&s->iter[i]);
        for (int k = 0; k < s->nconstraints; k++) {
            bool seen = false;
            for (int j = 0; j < p.n; j++) seen |= p.constraint[j] == s->constraint[k];
            if (seen || !affine_uses_iter(s->constraint[k], i)) continue;
            if (s->constraint[k]->has_read) { // data decide
                *exact = false;
                continue;
            }
            if (p.n == (int)(sizeof p.constraint / sizeof *p.constraint))
                return *exact = false, all;
            p.constraint[p.n++] = s->constraint[k];
        }
    }
    if (!p.n) return all;
    for (int i = 0; i < s->niters; i++)
        if (iters >> i & 1 && is_linear_in(&p, i) &&
            (p.longest < 0 || iter_extent(&s->iter[i]) > iter_extent(&s->iter[p.longest])))
            p.longest = i;
    double walk = p.longest < 0 ? all : all / (double)iter_extent(&s->iter[p.longest]);
    if (walk > INT32_MAX) return *exact = false, all;
    int64_t points = (int64_t)walk, steps = min_i64(points, MANY_POINTS);
    if (steps < points) *exact = false;
    for (int64_t n = 0; n < steps; n++) {
        go_to(&p, iters, steps < points ? n * points / steps : n);
        found += (double)left_of(&p);
    }
    return found * (double)points / (double)steps;
}

double stmt_points(const Stmt *s, bool *exact) {
    double all = 1;
    uint32_t done = 0;
    for (int i = 0; i < s->niters; i++) {
        if (done >> i & 1) continue;
        uint32_t tied = points_tied(s, i);
        all *= points_count(s, tied, exact);
        done |= tied;
    }
    return all;
}

// --- Iterations that generated code skips --------------------------------------------------------
//
// `C[i, j] += select(k <= i, A[i, k]*B[k, j], 0.0)`: where the condition fails the update is needed
// once at most (code/gen/cut.c). So conditions on indices count as constraints.

// a - b - strict, over indices and constants; NULL: of another form.
static const Affine *difference(Exprs *x, const Expr *a, const Expr *b, bool strict) {
    const Affine *side[2];
    for (int i = 0; i < 2; i++) {
        const Expr *e = i ? b : a;
        bool constant = e->kind == EXPR_CONST && e->type == TYPE_I64;
        if (e->kind != EXPR_INDEX && !constant) return NULL;
        side[i] = constant ? affine_const(x, e->value.i) : e->index;
    }
    return affine_add_const(x, affine_sub(x, side[0], side[1]), -strict);
}

static void add_conditions(Exprs *x, const Expr *e, Stmt *s, int room) {
    if (e->kind != EXPR_OP) return;
    bool above = e->op == OP_GE || e->op == OP_GT, strict = e->op == OP_GT || e->op == OP_LT;
    if (e->op == OP_AND) {
        add_conditions(x, e->arg[0], s, room);
        add_conditions(x, e->arg[1], s, room);
    } else if ((above || e->op == OP_LE || e->op == OP_LT) && s->nconstraints < room) {
        const Affine *c = difference(x, e->arg[!above], e->arg[above], strict);
        if (c) s->constraint[s->nconstraints++] = c;
    }
}

bool stmt_skips(const Stmt *s) {
    const Expr *v = s->value;
    return s->op != REDUCE_ASSIGN && v->kind == EXPR_OP && v->op == OP_SELECT &&
           v->arg[2]->kind == EXPR_CONST;
}

Stmt stmt_performed(Arena *arena, Exprs *x, const Stmt *s) {
    enum { MOST = 8 };
    Stmt sure = *s;
    if (!stmt_skips(s)) return sure;
    sure.constraint = arena_new_n(arena, const Affine *, s->nconstraints + MOST);
    for (int i = 0; i < s->nconstraints; i++) sure.constraint[i] = s->constraint[i];
    add_conditions(x, s->value->arg[0], &sure, s->nconstraints + MOST);
    return sure;
}
