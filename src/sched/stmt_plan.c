// The loops of one statement: extents, coefficients and constraints from the order in its section.
//
// Splits are applied one by one. An iterator has `cur` values left to divide, at distance `unit`. A
// loop `/s` has ceil(cur/s) iterations, each of which leaves s values:
//
//     blocked      coef = unit·s, leaves s values at distance unit
//     interleaved  coef = unit,   leaves s values at distance unit·ceil(cur/s)
//
// A loop that does not divide `cur` has a tail: the value so far must stay below `cur`. This
// constraint stands at the last loop of the iterator; its consequences for outer loops stand at
// those, so that blocks beyond the end are not entered. A step larger than `cur` counts as `cur`,
// so every order of every step is meaningful. Tails cost constraints, never copies of code.
#include <stdlib.h>

#include "base/bug.h"
#include "base/checked.h"
#include "sched/lower.h"

static bool is_unordered(Kind k) { return k != KIND_SERIAL && k != KIND_UNROLL; }

typedef struct Left {
    int64_t cur, unit;
    int level;
} Left;

// Appends the loop that divides the rest of its iterator by `step`.
static void add_loop(StmtPlan *plan, const Inst *inst, Left *left, int iter, const SchedLoop *as) {
    int64_t step = min_i64(as->step, max_i64(left->cur, 1));
    int64_t extent = ceil_div(left->cur, step);
    bool complete = step == 1 && (left->cur > 1 || left->level == 0);
    plan->loop[plan->n++] = (PlanLoop){
        .iter = iter,
        .level = left->level,
        .class = inst->info->facts->class[iter],
        .extent = extent,
        .coef = as->interleaved ? left->unit : left->unit * step,
        .cur = left->cur,
        .unit = left->unit,
        .step = as->step,
        .interleaved = as->interleaved,
        .kind = as->kind,
        .reduction = inst->info->s->iter[iter].reduction,
        .ragged = extent * step != left->cur,
        .complete = complete,
    };
    left->level++;
    if (as->interleaved) left->unit *= max_i64(extent, 1);
    left->cur = step;
}

// The last reduction loop above loop `i`; -1: none.
static int reduction_above(const StmtPlan *plan, int i) {
    while (--i >= 0 && !plan->loop[i].reduction) continue;
    return i;
}

// The initialisation comes before the last run of reduction loops, but outside every
// unordered one, which has no first iteration. A vector loop of a reduction belongs to the run of
// its iterator further out: the loops between are a tile of accumulators.
static void place_init(StmtPlan *plan) {
    int at = reduction_above(plan, plan->n), first = plan->n;
    for (int i = plan->n - 1; i >= 0; i--)
        if (plan->loop[i].reduction) first = i;
    int outer = at < 0 ? -1 : reduction_above(plan, at);
    if (outer >= 0 && plan->loop[at].kind == KIND_VECTOR &&
        plan->loop[outer].iter == plan->loop[at].iter)
        at = outer;
    if (at < 0) at = plan->n;
    while (at < plan->n && at > 0 && plan->loop[at - 1].reduction) at--;
    for (int i = 0; i < at; i++)
        if (plan->loop[i].reduction && is_unordered(plan->loop[i].kind)) at = i;
    plan->init_at = at;
    plan->first_reduction = first;
}

// A vector loop must be innermost: only loops of one iteration may be inside it.
static void check_vectors(Lower *l, const Inst *inst, const StmtPlan *plan,
                          const SchedStmt *sched) {
    for (int i = 0; i + 1 < plan->n; i++) {
        if (plan->loop[i].kind != KIND_VECTOR) continue;
        for (int j = i + 1; j < plan->n; j++) {
            if (plan->loop[j].extent <= 1) continue;
            int asked = i - plan->front;
            Range at =
                asked >= 0 && asked < sched->nloops ? sched->loop[asked].range : sched->range;
            const Iter *iters = inst->info->s->iter;
            const char *inner = iters[plan->loop[j].iter].name;
            Diag *d = diag_report(l->diags, at, DIAG_SCHEDULE_VECTOR_INNERMOST,
                                  iters[plan->loop[i].iter].name, inner);
            if (j - plan->front >= sched->nloops)
                diag_note(l->diags, d, (Range){0, 0}, DIAG_SCHEDULE_VECTOR_ADDED_NOTE, inner);
            l->failed = true;
            break;
        }
    }
}

static bool names_iter(const SchedStmt *sched, Name iter) {
    for (int i = 0; sched && i < sched->nloops; i++)
        if (sched->loop[i].iter == iter) return true;
    return false;
}

bool plan_make(Lower *l, const Inst *inst, StmtPlan *plan) {
    const Stmt *s = inst->info->s;
    const SchedStmt *sched = inst->info->sched;
    int asked = sched ? sched->nloops : 0;
    *plan = (StmtPlan){.loop = arena_new_n(l->arena, PlanLoop, asked + s->niters), .stage = -1};
    Left left[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) left[i] = (Left){inst->extent[i], 1, 0};
    for (int i = 0; i < s->serial; i++) { // steps that the order omits run around everything else
        SchedLoop step = {.step = 1, .kind = KIND_SERIAL};
        if (!names_iter(sched, s->iter[i].name)) add_loop(plan, inst, &left[i], i, &step);
    }
    plan->front = plan->n;
    for (int i = 0; i < asked; i++) {
        int iter = stmt_find_iter(s, sched->loop[i].iter);
        if (iter < 0) {
            Diag *d = diag_report(l->diags, sched->loop[i].range, DIAG_SCHEDULE_UNKNOWN_ITERATOR,
                                  sched->loop[i].iter, s->label);
            suggest_iter(l->diags, d, sched->loop[i].iter, s);
            l->failed = true;
            continue;
        }
        add_loop(plan, inst, &left[iter], iter, &sched->loop[i]);
    }
    for (int i = 0; i < s->niters; i++) { // loops that the order omits run innermost
        SchedLoop rest = {.step = 1, .kind = KIND_SERIAL};
        if (left[i].level == 0 || left[i].cur > 1) add_loop(plan, inst, &left[i], i, &rest);
    }
    place_init(plan);
    bool staged = sched && sched->stage >= 0;
    plan->stage = staged ? (int)max_i64(sched->stage + plan->front, inst->info->steps) : plan->n;
    if (sched && !l->failed) check_vectors(l, inst, plan, sched);
    return !l->failed;
}

const Affine *plan_value(Lower *l, const Inst *inst, int iter, const Affine *const *idx) {
    Term term[TREE_MAX_DEPTH];
    int n = 0;
    for (int i = 0; i < inst->plan.n; i++)
        if (inst->plan.loop[i].iter == iter && idx[i])
            term[n++] = (Term){idx[i]->term[0].atom, inst->plan.loop[i].coef};
    const Affine *sum = affine_make(
        l->x, affine_is_const(inst->base[iter]) ? inst->base[iter]->constant : 0, term, n);
    if (!affine_is_const(inst->base[iter])) sum = affine_add(l->x, inst->base[iter], sum);
    const Affine *skew = inst->info->skew ? inst->info->skew[iter] : NULL;
    if (!skew) return sum;
    sum = affine_add_const(l->x, sum, -skew->constant);
    for (int i = 0; i < skew->n; i++) {
        const Affine *by = plan_value(l, inst, skew->term[i].atom->index, idx);
        sum = affine_sub(l->x, sum, affine_scale(l->x, by, skew->term[i].coef));
    }
    return sum;
}

// Is `a` never negative over the ranges of all indices?
static bool never_negative(Lower *l, const Affine *a) {
    int64_t min, max;
    return affine_bounds(a, l->lo.at, l->hi.at, &min, &max) && min >= 0;
}

static void constrain(Lower *l, TreeItem *out, const Affine *a) {
    if (!never_negative(l, a)) vec_push(l->arena, &out->constraint, a);
}

// The range that the loops behind `at` add to an iterator, in its own direction or against it.
static int64_t left_over(const Inst *inst, int iter, int at) {
    int64_t most = 0;
    for (int i = at + 1; i < inst->plan.n; i++)
        if (inst->plan.loop[i].iter == iter)
            most += inst->plan.loop[i].coef * max_i64(inst->plan.loop[i].extent - 1, 0);
    return most;
}

// Is a >= 0 for all values of an index if it is so for one of them? The other terms are multiples
// of some g, and the index does not reach from one multiple to the next.
static bool holds_for_all(const Affine *a, const Affine *index, int64_t extent) {
    int64_t g = 0, k = 0;
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].atom == index->term[0].atom)
            k = a->term[i].coef;
        else
            g = gcd_i64(g, a->term[i].coef);
    }
    int64_t left = g ? floor_mod(a->constant, g) : 0, reach = llabs(k) * max_i64(extent - 1, 0);
    return g && (k > 0 ? g - left > reach : left >= reach);
}

// Skewed loops run beyond the range of their iterator. All of them are checked where its value is
// known; outer ones also skip iterations in which no value lies inside.
static void skew_constraints(Lower *l, const Inst *inst, int at, const Affine *const *idx,
                             TreeItem *out) {
    const Stmt *s = inst->info->s;
    for (int i = 0; inst->info->skew && i < s->niters; i++) {
        const Affine *skew = inst->info->skew[i];
        int by = inst->plan.loop[at].iter;
        if (!skew || (by != i && !affine_uses_iter(skew, by))) continue;
        if (!inst->extent[i]) continue; // nothing runs; others may share the loops around
        int64_t min = 0, max = left_over(inst, i, at);
        for (int k = 0; k < skew->n; k++) {
            int64_t more = skew->term[k].coef * left_over(inst, skew->term[k].atom->index, at);
            min -= max_i64(more, 0);
            max -= min_i64(more, 0);
        }
        const Affine *value = plan_value(l, inst, i, idx), *above, *below;
        above = affine_add_const(l->x, value, max - iter_lo(&s->iter[i]));
        below = affine_scale(l->x, value, -1);
        below = affine_add_const(l->x, below, iter_hi(&s->iter[i]) - 1 - min);
        bool last = !min && !max && at; // the loops around it are constrained for its best value
        if (!last || !holds_for_all(above, idx[at], inst->plan.loop[at].extent))
            constrain(l, out, above);
        if (!last || !holds_for_all(below, idx[at], inst->plan.loop[at].extent))
            constrain(l, out, below);
    }
}

// The outermost loop of a skewed iterator: it runs over a range that contains all values, which are
// checked one by one.
static bool is_widened(const Inst *inst, int at) {
    const PlanLoop *loop = &inst->plan.loop[at];
    return loop->level == 0 && inst->info->skew && inst->info->skew[loop->iter];
}

void plan_constraints(Lower *l, const Inst *inst, int at, const Affine *const *idx, TreeItem *out) {
    const PlanLoop *loop = inst->plan.loop;
    int iter = loop[at].iter;
    bool complete = loop[at].complete;
    if (!complete && loop[at].extent <= 1) return;
    for (int j = 0; j < at + complete; j++) { // cur - 1 - Σ coef/unit · index >= 0
        if (loop[j].iter != iter || !loop[j].ragged || is_widened(inst, j)) continue;
        Term term[TREE_MAX_DEPTH];
        int n = 0;
        for (int k = j; k <= at; k++)
            if (loop[k].iter == iter)
                term[n++] = (Term){idx[k]->term[0].atom, -(loop[k].coef / loop[j].unit)};
        constrain(l, out, affine_make(l->x, loop[j].cur - 1, term, n));
    }
    skew_constraints(l, inst, at, idx, out);
    if (!inst->window[iter]) return;
    const Affine *value = plan_value(l, inst, iter, idx);
    const Iter *it = &inst->info->s->iter[iter];
    if (complete) constrain(l, out, affine_add_const(l->x, value, -iter_lo(it)));
    constrain(l, out, affine_add_const(l->x, affine_scale(l->x, value, -1), iter_hi(it) - 1));
}

// The largest index at which the loops further in still start inside every division further out.
int64_t plan_last(const StmtPlan *plan, int at) {
    const PlanLoop *loop = plan->loop;
    int64_t last[TREE_MAX_DEPTH] = {0};
    for (int i = 0; i <= at; i++) {
        if (loop[i].iter != loop[at].iter) continue;
        last[i] = max_i64(loop[i].extent - 1, 0);
        int64_t sum = 0; // of the indices further out, in units of division j
        for (int j = i; j >= 0; j--) {
            if (loop[j].iter != loop[at].iter) continue;
            sum = 0;
            for (int k = j; k < i; k++)
                if (loop[k].iter == loop[at].iter) sum += loop[k].coef / loop[j].unit * last[k];
            int64_t room = loop[j].cur - 1 - sum;
            last[i] = min_i64(last[i], max_i64(room, 0) / max_i64(loop[i].coef / loop[j].unit, 1));
        }
    }
    return last[at];
}
