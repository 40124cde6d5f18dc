// Affines as isl's functions; see poly_isl.h.
#include "poly/poly_isl.h"

static bool atom_is_affine(const Atom *t) {
    switch (t->kind) {
    case ATOM_ITER: return true;
    case ATOM_DIV:
    case ATOM_MOD: return affine_is_const(t->b) && t->b->constant > 0 && poly_is_affine(t->a);
    case ATOM_MIN:
    case ATOM_MAX: return poly_is_affine(t->a) && poly_is_affine(t->b);
    default: return false;
    }
}

bool poly_is_affine(const Affine *a) {
    for (int i = 0; i < a->n; i++)
        if (!atom_is_affine(a->term[i].atom)) return false;
    return true;
}

#ifdef POLY_HAS_ISL
static isl_local_space *local(const Isl *I, isl_space *space) {
    return I->local_space_from_space(I->space_copy(space));
}

static isl_val *number(const Isl *I, isl_space *space, int64_t value) {
    return I->val_int_from_si(I->space_get_ctx(space), value);
}

isl_pw_aff *poly_constant(const Isl *I, isl_space *space, int64_t value) {
    return I->pw_aff_from_aff(I->aff_val_on_domain(local(I, space), number(I, space, value)));
}

isl_pw_aff *poly_variable(const Isl *I, isl_space *space, int at) {
    isl_aff *a = I->aff_var_on_domain(local(I, space), isl_dim_set, (unsigned)at);
    return I->pw_aff_from_aff(a);
}

isl_pw_aff *poly_scaled(const Isl *I, isl_pw_aff *a, int64_t k) {
    if (k == 1) return a;
    return I->pw_aff_scale_val(a, I->val_int_from_si(I->pw_aff_get_ctx(a), k));
}

static isl_pw_aff *atom(const Isl *I, isl_space *space, const Atom *t, int first) {
    if (t->kind == ATOM_ITER) return poly_variable(I, space, first + t->index);
    isl_pw_aff *a = poly_affine(I, space, t->a, first);
    if (t->kind == ATOM_MIN) return I->pw_aff_min(a, poly_affine(I, space, t->b, first));
    if (t->kind == ATOM_MAX) return I->pw_aff_max(a, poly_affine(I, space, t->b, first));
    isl_val *c = number(I, space, t->b->constant);
    if (t->kind == ATOM_MOD) return I->pw_aff_mod_val(a, c);
    return I->pw_aff_floor(I->pw_aff_scale_down_val(a, c));
}

isl_pw_aff *poly_affine(const Isl *I, isl_space *space, const Affine *a, int first) {
    isl_pw_aff *sum = poly_constant(I, space, a->constant);
    for (int i = 0; i < a->n; i++)
        sum = I->pw_aff_add(
            sum, poly_scaled(I, atom(I, space, a->term[i].atom, first), a->term[i].coef));
    return sum;
}
#endif
