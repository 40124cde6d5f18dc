// Questions of dependence put to isl: the points of both sides are one set, whose variables are the
// iterators of a and then those of b. Division, remainder, minimum and maximum are isl's own.
#include "poly/poly.h"

#include "base/checked.h"
#include "poly/poly_isl.h"

#ifdef POLY_HAS_ISL
typedef struct Question {
    const Isl *I;
    isl_space *space;
    const DepQuery *q;
    isl_set *points;
} Question;

static int first_of(const Question *k, int side) { return side ? k->q->a.niters : 0; }

static void add(Question *k, isl_set *more) { k->points = k->I->set_intersect(k->points, more); }

static void add_box(Question *k) {
    for (int s = 0; s < 2; s++) {
        const DepSide *side = s ? &k->q->b : &k->q->a;
        for (int i = 0; i < side->niters; i++) {
            unsigned at = (unsigned)(first_of(k, s) + i);
            isl_ctx *ctx = k->I->space_get_ctx(k->space);
            k->points = k->I->set_lower_bound_val(k->points, isl_dim_set, at,
                                                  k->I->val_int_from_si(ctx, side->lo[i]));
            k->points = k->I->set_upper_bound_val(k->points, isl_dim_set, at,
                                                  k->I->val_int_from_si(ctx, side->hi[i] - 1));
        }
    }
}

static isl_pw_aff *affine(Question *k, int side, const Affine *a) {
    return poly_affine(k->I, k->space, a, first_of(k, side));
}

static void add_side(Question *k, int s) {
    const DepSide *side = s ? &k->q->b : &k->q->a;
    for (int c = 0; c < side->nconstraints; c++)
        if (poly_is_affine(side->constraint[c]))
            add(k, k->I->pw_aff_nonneg_set(affine(k, s, side->constraint[c])));
}

static void add_meeting(Question *k) {
    for (int d = 0; d < k->q->a.rank; d++) {
        const Affine *f = k->q->a.sub[d], *g = k->q->b.sub[d];
        if (poly_is_affine(f) && poly_is_affine(g))
            add(k, k->I->pw_aff_eq_set(affine(k, 0, f), affine(k, 1, g)));
    }
}

static isl_pw_aff *iterator(Question *k, int at) { return poly_variable(k->I, k->space, at); }

static void add_dir(Question *k, const DepDir *d) {
    isl_pw_aff *i = iterator(k, d->a), *j = iterator(k, first_of(k, 1) + d->b);
    switch (d->rel) {
    case DEP_LT: add(k, k->I->pw_aff_lt_set(i, j)); return;
    case DEP_LE: add(k, k->I->pw_aff_ge_set(j, i)); return;
    case DEP_EQ: add(k, k->I->pw_aff_eq_set(i, j)); return;
    case DEP_GE: add(k, k->I->pw_aff_ge_set(i, j)); return;
    case DEP_GT: add(k, k->I->pw_aff_lt_set(j, i)); return;
    }
}

static void add_order(Question *k, const DepOrder *o) {
    isl_pw_aff *sum = poly_constant(k->I, k->space, o->constant);
    for (int s = 0; s < 2; s++) {
        const int64_t *coef = s ? o->b : o->a;
        int n = s ? k->q->b.niters : k->q->a.niters;
        for (int i = 0; coef && i < n; i++)
            if (coef[i])
                sum = k->I->pw_aff_add(sum,
                                       poly_scaled(k->I, iterator(k, first_of(k, s) + i), coef[i]));
    }
    add(k, o->equal ? k->I->pw_aff_zero_set(sum) : k->I->pw_aff_nonneg_set(sum));
}

// The coordinates of a point of a set; false: it has none that fit.
static bool read_point(Question *k, isl_point *point, DepWitness *w) {
    bool fits = true;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < (s ? k->q->b.niters : k->q->a.niters); i++) {
            isl_val *v = k->I->point_get_coordinate_val(point, isl_dim_set, first_of(k, s) + i);
            fits = fits && v && k->I->val_is_int(v) == isl_bool_true;
            (s ? w->b : w->a)[i] = fits ? k->I->val_get_num_si(v) : 0;
            k->I->val_free(v);
        }
    return fits;
}

static DepAnswer answer(Question *k, DepWitness *w) {
    add_box(k);
    for (int s = 0; s < 2; s++) add_side(k, s);
    add_meeting(k);
    for (int i = 0; i < k->q->ndirs; i++) add_dir(k, &k->q->dirs[i]);
    for (int i = 0; i < k->q->norders; i++) add_order(k, &k->q->orders[i]);
    isl_bool empty = k->I->set_is_empty(k->points);
    if (empty == isl_bool_true) return DEP_NO;
    if (empty == isl_bool_error) return DEP_UNDECIDED;
    isl_point *point = k->I->set_sample_point(k->I->set_copy(k->points));
    bool found = point && k->I->point_is_void(point) == isl_bool_false && read_point(k, point, w);
    k->I->point_free(point);
    return found && deps_check(k->q, w) ? DEP_YES : DEP_UNDECIDED;
}

DepAnswer poly_test(const DepQuery *q, DepWitness *witness) {
    Isl isl, *I = &isl;
    DepWitness own;
    isl_ctx *ctx = isl_load(I) ? isl_begin(I, POLY_BUDGET) : NULL;
    if (!ctx) return DEP_UNDECIDED;
    Question k = {.I = I, .q = q};
    k.space = I->space_set_alloc(ctx, 0, (unsigned)(q->a.niters + q->b.niters));
    k.points = I->set_universe(I->space_copy(k.space));
    DepAnswer a = answer(&k, witness ? witness : &own);
    I->set_free(k.points);
    I->space_free(k.space);
    isl_end(I, ctx);
    return a;
}
#else
DepAnswer poly_test(const DepQuery *q, DepWitness *witness) {
    (void)q, (void)witness;
    return DEP_UNDECIDED;
}
#endif
