// How many instances a statement has under its constraints, at least.
#include "space/bound_impl.h"

#include "base/checked.h"
#include "program/points.h"
#include "space/cpu_impl.h"

int64_t bound_extent(const BoundBox *x, int i) { return x->hi[i] - x->lo[i] + 1; }

// Makes one iterator's range smaller so that the constraint comes closer to holding everywhere;
// the one with the fewest values goes first. False: all have one value.
static bool shrink(const Stmt *s, BoundBox *x, const Affine *constraint) {
    int best = -1;
    for (int i = 0; i < s->niters; i++)
        if (bound_extent(x, i) > 1 && affine_uses_iter(constraint, i) &&
            (best < 0 || bound_extent(x, i) < bound_extent(x, best)))
            best = i;
    if (best < 0) return false;
    int64_t coef = affine_coef(constraint, best);
    if (coef > 0)
        x->lo[best]++;
    else if (coef < 0)
        x->hi[best]--;
    else
        x->lo[best] = x->hi[best] = x->lo[best] + bound_extent(x, best) / 2;
    return true;
}

// A box of points that all exist; false: none was found.
bool bound_inner_box(const Stmt *s, BoundBox *x) {
    int budget = 4096;
    for (int i = 0; i < s->niters; i++) {
        x->lo[i] = iter_lo(&s->iter[i]);
        x->hi[i] = iter_hi(&s->iter[i]) - 1;
        if (x->hi[i] < x->lo[i]) return false;
    }
    for (int k = 0; k < s->nconstraints; k++) {
        int64_t min, max;
        for (;; budget--) {
            if (!affine_bounds(s->constraint[k], x->lo, x->hi, &min, &max)) return false;
            if (min >= 0) break;
            if (max < 0 || budget <= 0 || !shrink(s, x, s->constraint[k])) return false;
        }
    }
    return true;
}

// --- What may be skipped -------------------------------------------------------------------------
//
// `C[i, j] += select(k <= i, A[i, k]*B[k, j], 0.0)`: where the condition fails nothing need be done
// but once (code/gen/cut.c). So conditions of indices count as constraints.

// a - b - strict, of indices and constants; NULL: they are something else.
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

Stmt bound_sure_part(Arena *arena, Exprs *x, const Stmt *s) {
    enum { MOST = 8 };
    Stmt sure = *s;
    const Expr *v = s->value;
    if (s->op == REDUCE_ASSIGN || v->kind != EXPR_OP || v->op != OP_SELECT ||
        v->arg[2]->kind != EXPR_CONST)
        return sure;
    sure.constraint = arena_new_n(arena, const Affine *, s->nconstraints + MOST);
    for (int i = 0; i < s->nconstraints; i++) sure.constraint[i] = s->constraint[i];
    add_conditions(x, v->arg[0], &sure, s->nconstraints + MOST);
    return sure;
}

// Instances; where constraints tie too many points together, those of the box.
double bound_instances(const Stmt *s, const BoundBox *box) {
    double all = 1;
    uint32_t done = 0;
    for (int i = 0; i < s->niters; i++) {
        if (done >> i & 1) continue;
        uint32_t tied = points_tied(s, i);
        bool exact = true;
        double n = points_count(s, tied, &exact);
        if (!exact) {
            n = 1;
            for (int k = 0; k < s->niters; k++)
                if (tied >> k & 1) n *= (double)bound_extent(box, k);
        }
        all *= n;
        done |= tied;
    }
    return all;
}
