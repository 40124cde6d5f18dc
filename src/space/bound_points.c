// A lower bound on the number of instances of a statement under its constraints.
#include "space/bound_impl.h"

#include "base/checked.h"
#include "program/points.h"
#include "space/cpu_impl.h"

int64_t bound_extent(const BoundBox *x, int i) { return x->hi[i] - x->lo[i] + 1; }

// Shrinks the range of one iterator so that the constraint holds in more points; takes the iterator
// that loses the fewest values. False: all have one value.
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

// Counts the instances; if constraints connect too many points, those of the box.
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
