// Asks isl whether a dependence exists. The points of both sides form one set, whose variables are
// the iterators of a followed by those of b. Each way to choose the operands of minima and maxima
// gives a separate set; if a choice leaves no point, the choices that extend it are skipped.
#include "poly/poly.h"

#include "base/checked.h"
#include "poly/poly_isl.h"

#ifdef POLY_HAS_ISL
typedef struct Question {
    const Isl *I;
    isl_space *space;
    const DepQuery *q;
    PolyChoices choice;
    DepWitness *w;
} Question;

static int first_of(const Question *k, int side) { return side ? k->q->a.niters : 0; }
static const DepSide *side_of(const Question *k, int s) { return s ? &k->q->b : &k->q->a; }

static bool subscript_counts(const Question *k, int d) {
    return poly_is_affine(k->q->a.sub[d]) && poly_is_affine(k->q->b.sub[d]);
}

static bool collect_choices(Question *k) {
    bool fit = true;
    for (int s = 0; s < 2; s++) {
        const DepSide *side = side_of(k, s);
        for (int c = 0; c < side->nconstraints && fit; c++)
            if (poly_is_affine(side->constraint[c]))
                fit = poly_choices(&k->choice, side->constraint[c], first_of(k, s));
        for (int d = 0; d < side->rank && fit; d++)
            if (subscript_counts(k, d))
                fit = poly_choices(&k->choice, side->sub[d], first_of(k, s));
    }
    return fit;
}

static isl_aff *affine(const Question *k, int first, const Affine *a) {
    return poly_affine(k->I, k->space, a, first, &k->choice);
}

static isl_basic_set *add(const Question *k, isl_basic_set *points, isl_basic_set *more) {
    return k->I->basic_set_intersect(points, more);
}

// a >= b, or with `by` a >= b + by
static isl_basic_set *at_least(const Question *k, isl_aff *a, isl_aff *b, int by) {
    return k->I->aff_ge_basic_set(a, by ? k->I->aff_add_constant_si(b, by) : b);
}

static isl_basic_set *nonnegative(const Question *k, isl_aff *a) {
    return at_least(k, a, poly_constant(k->I, k->space, 0), 0);
}

static isl_basic_set *box(const Question *k) {
    isl_basic_set *points = k->I->basic_set_universe(k->I->space_copy(k->space));
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < side_of(k, s)->niters; i++) {
            isl_aff *low = poly_constant(k->I, k->space, side_of(k, s)->lo[i]);
            isl_aff *high = poly_constant(k->I, k->space, side_of(k, s)->hi[i]);
            isl_aff *at = poly_variable(k->I, k->space, first_of(k, s) + i);
            points = add(k, points, at_least(k, k->I->aff_copy(at), low, 0));
            points = add(k, points, at_least(k, high, at, 1));
        }
    return points;
}

static isl_basic_set *add_side(const Question *k, isl_basic_set *points, int s) {
    const DepSide *side = side_of(k, s);
    for (int c = 0; c < side->nconstraints; c++)
        if (poly_is_affine(side->constraint[c]))
            points = add(k, points, nonnegative(k, affine(k, first_of(k, s), side->constraint[c])));
    return points;
}

static isl_basic_set *add_meeting(const Question *k, isl_basic_set *points) {
    for (int d = 0; d < k->q->a.rank; d++)
        if (subscript_counts(k, d))
            points = add(k, points,
                         k->I->aff_eq_basic_set(affine(k, 0, k->q->a.sub[d]),
                                                affine(k, first_of(k, 1), k->q->b.sub[d])));
    return points;
}

static isl_basic_set *direction(const Question *k, const DepDir *d) {
    isl_aff *i = poly_variable(k->I, k->space, d->a);
    isl_aff *j = poly_variable(k->I, k->space, first_of(k, 1) + d->b);
    switch (d->rel) {
    case DEP_LT: return at_least(k, j, i, 1);
    case DEP_LE: return at_least(k, j, i, 0);
    case DEP_EQ: return k->I->aff_eq_basic_set(i, j);
    case DEP_GE: return at_least(k, i, j, 0);
    default: return at_least(k, i, j, 1);
    }
}

static isl_basic_set *order(const Question *k, const DepOrder *o) {
    isl_aff *sum = poly_constant(k->I, k->space, o->constant);
    for (int s = 0; s < 2; s++) {
        const int64_t *coef = s ? o->b : o->a;
        for (int i = 0; coef && i < side_of(k, s)->niters; i++) {
            if (!coef[i]) continue;
            isl_aff *at = poly_variable(k->I, k->space, first_of(k, s) + i);
            sum = k->I->aff_add(sum, poly_scaled(k->I, at, coef[i]));
        }
    }
    return o->equal ? k->I->aff_zero_basic_set(sum) : nonnegative(k, sum);
}

// The coordinates of a point of a set; false: they do not fit.
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

// Is there a point, now that every choice is made? Takes the set.
static DepAnswer decide(Question *k, isl_basic_set *points) {
    for (int s = 0; s < 2; s++) points = add_side(k, points, s);
    points = add_meeting(k, points);
    for (int i = 0; i < k->q->ndirs; i++) points = add(k, points, direction(k, &k->q->dirs[i]));
    for (int i = 0; i < k->q->norders; i++) points = add(k, points, order(k, &k->q->orders[i]));
    isl_point *point = k->I->basic_set_sample_point(points);
    isl_bool none = point ? k->I->point_is_void(point) : isl_bool_error;
    bool found = none == isl_bool_false && read_point(k, point, k->w);
    k->I->point_free(point);
    if (none == isl_bool_true) return DEP_NO;
    return found && deps_check(k->q, k->w) ? DEP_YES : DEP_UNDECIDED;
}

// The condition that the chosen operand is the smaller (greater) one.
static isl_basic_set *chosen(const Question *k, int i) {
    const Atom *t = k->choice.atom[i];
    bool second = k->choice.second[i], least = t->kind == ATOM_MIN;
    isl_aff *is = affine(k, k->choice.first[i], second ? t->b : t->a);
    isl_aff *other = affine(k, k->choice.first[i], second ? t->a : t->b);
    return least ? at_least(k, other, is, 0) : at_least(k, is, other, 0);
}

// Takes the set.
static DepAnswer choose(Question *k, isl_basic_set *points, int i) {
    if (i == k->choice.n) return decide(k, points);
    DepAnswer answer = DEP_NO;
    for (int second = 0; second < 2 && answer != DEP_YES; second++) {
        k->choice.second[i] = second;
        isl_basic_set *less = add(k, k->I->basic_set_copy(points), chosen(k, i));
        isl_bool empty = k->I->basic_set_is_empty(less);
        DepAnswer found = empty == isl_bool_false ? choose(k, less, i + 1) : DEP_NO;
        if (empty != isl_bool_false) k->I->basic_set_free(less);
        if (empty == isl_bool_error) found = DEP_UNDECIDED;
        if (found != DEP_NO) answer = found;
    }
    k->I->basic_set_free(points);
    return answer;
}

DepAnswer poly_test(const DepQuery *q, DepWitness *witness) {
    Isl isl, *I = &isl;
    DepWitness own;
    Question k = {.I = I, .q = q, .w = witness ? witness : &own};
    if (!collect_choices(&k) || !isl_load(I)) return DEP_UNDECIDED;
    isl_ctx *ctx = isl_begin(I, POLY_BUDGET);
    if (!ctx) return DEP_UNDECIDED;
    k.space = I->space_set_alloc(ctx, 0, (unsigned)(q->a.niters + q->b.niters));
    DepAnswer a = choose(&k, box(&k), 0);
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
