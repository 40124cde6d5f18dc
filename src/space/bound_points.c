// How many instances a statement has under its constraints, at least.
#include "space/bound_impl.h"

#include "base/checked.h"
#include "space/cpu_impl.h"

enum { MANY_POINTS = 1 << 16 }; // under constraints that are counted one by one

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

static bool point_exists(const Stmt *s, const int64_t *at, uint32_t iters) {
    for (int k = 0; k < s->nconstraints; k++) {
        int64_t value;
        bool mine = false;
        for (int i = 0; i < s->niters && !mine; i++)
            mine = iters >> i & 1 && affine_uses_iter(s->constraint[k], i);
        if (mine && (!affine_eval(s->constraint[k], at, NULL, NULL, NULL, &value) || value < 0))
            return false;
    }
    return true;
}

// Points over some iterators, each constraint speaking of these or of others; -1: too many.
static double count_points(const Stmt *s, uint32_t iters) {
    int64_t at[PROGRAM_MAX_ITERS], points = 1, found = 0;
    for (int i = 0; i < s->niters; i++) {
        at[i] = iter_lo(&s->iter[i]);
        if (iters >> i & 1 && !checked_mul(points, iter_extent(&s->iter[i]), &points)) return -1;
    }
    if (points > MANY_POINTS) return -1;
    for (int64_t n = 0; n < points; n++) {
        int64_t rest = n;
        for (int i = 0; i < s->niters; i++) {
            if (!(iters >> i & 1)) continue;
            at[i] = iter_lo(&s->iter[i]) + rest % iter_extent(&s->iter[i]);
            rest /= iter_extent(&s->iter[i]);
        }
        found += point_exists(s, at, iters);
    }
    return (double)found;
}

// Iterators that constraints tie to `first`, directly or not.
static uint32_t tied_to(const Stmt *s, int first) {
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

// Instances; where constraints tie too many points together, those of the box.
double bound_instances(const Stmt *s, const BoundBox *box) {
    double all = 1;
    uint32_t done = 0;
    for (int i = 0; i < s->niters; i++) {
        if (done >> i & 1) continue;
        uint32_t tied = tied_to(s, i);
        double n = s->nconstraints ? count_points(s, tied) : (double)iter_extent(&s->iter[i]);
        if (n < 0) {
            n = 1;
            for (int k = 0; k < s->niters; k++)
                if (tied >> k & 1) n *= (double)bound_extent(box, k);
        }
        all *= n;
        done |= tied;
    }
    return all;
}
