// Converts Affines to functions of isl; see poly_isl.h.
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
static int find_choice(const PolyChoices *c, const Atom *t, int first) {
    for (int i = 0; i < c->n; i++)
        if (c->atom[i] == t && c->first[i] == first) return i;
    return -1;
}

bool poly_choices(PolyChoices *c, const Affine *a, int first) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER) continue;
        if (!poly_choices(c, t->a, first) || !poly_choices(c, t->b, first)) return false;
        if (t->kind == ATOM_DIV || t->kind == ATOM_MOD || find_choice(c, t, first) >= 0) continue;
        if (c->n == POLY_MAX_CHOICES) return false;
        c->atom[c->n] = t;
        c->first[c->n++] = first;
    }
    return true;
}

static isl_local_space *local(const Isl *I, isl_space *space) {
    return I->local_space_from_space(I->space_copy(space));
}

static isl_val *number(const Isl *I, isl_space *space, int64_t value) {
    return I->val_int_from_si(I->space_get_ctx(space), value);
}

isl_aff *poly_constant(const Isl *I, isl_space *space, int64_t value) {
    return I->aff_val_on_domain(local(I, space), number(I, space, value));
}

isl_aff *poly_variable(const Isl *I, isl_space *space, int at) {
    return I->aff_var_on_domain(local(I, space), isl_dim_set, (unsigned)at);
}

isl_aff *poly_scaled(const Isl *I, isl_aff *a, int64_t k) {
    if (k == 1) return a;
    return I->aff_scale_val(a, I->val_int_from_si(I->aff_get_ctx(a), k));
}

static isl_aff *atom(const Isl *I, isl_space *space, const Atom *t, int first,
                     const PolyChoices *c) {
    if (t->kind == ATOM_ITER) return poly_variable(I, space, first + t->index);
    if (t->kind == ATOM_MIN || t->kind == ATOM_MAX) {
        bool second = c->second[find_choice(c, t, first)];
        return poly_affine(I, space, second ? t->b : t->a, first, c);
    }
    isl_aff *a = poly_affine(I, space, t->a, first, c);
    isl_val *by = number(I, space, t->b->constant);
    if (t->kind == ATOM_MOD) return I->aff_mod_val(a, by);
    return I->aff_floor(I->aff_scale_down_val(a, by));
}

isl_aff *poly_affine(const Isl *I, isl_space *space, const Affine *a, int first,
                     const PolyChoices *c) {
    isl_aff *sum = poly_constant(I, space, a->constant);
    for (int i = 0; i < a->n; i++)
        sum = I->aff_add(
            sum, poly_scaled(I, atom(I, space, a->term[i].atom, first, c), a->term[i].coef));
    return sum;
}
#endif
