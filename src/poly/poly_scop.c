// Programs as polyhedra: domains, accesses and conflicts as sets and maps of isl; see poly.h.
#include "poly/poly_scop.h"

#include <stdio.h>

const char *const poly_dep_name[POLY_DEP_KINDS] = {"flow", "anti", "output"};

static int init_iters(Arena *arena, const Stmt *s, bool injective, int **out) {
    int n = 0;
    *out = arena_new_n(arena, int, s->niters + 1);
    for (int i = 0; i < s->niters && injective; i++)
        if (!s->iter[i].reduction) (*out)[n++] = i;
    return n;
}

PolyScop *poly_scop(Arena *arena, const Program *p) {
    PolyScop *s = arena_new(arena, PolyScop);
    *s = (PolyScop){.p = p, .facts = program_facts(arena, p)};
    s->stmt = arena_new_n(arena, PolyStmt, 2 * p->stmts.n + 1);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        int *iter;
        if (s->facts->stmt[i].initialises) {
            int n = init_iters(arena, st, s->facts->stmt[i].injective, &iter);
            const char *label = arena_printf(arena, "%s.init", st->label);
            s->stmt[s->n++] = (PolyStmt){st, i, true, label, n, iter};
        }
        iter = arena_new_n(arena, int, st->niters + 1);
        for (int k = 0; k < st->niters; k++) iter[k] = k;
        s->stmt[s->n++] = (PolyStmt){st, i, false, st->label, st->niters, iter};
    }
    return s;
}

#ifdef POLY_HAS_ISL
// Can isl express the subscript, and does it only use iterators of this statement?
static bool expressible(const PolyStmt *s, const Affine *a) {
    PolyChoices none = {0};
    if (!poly_is_affine(a) || !poly_choices(&none, a, 0) || none.n) return false;
    for (int i = 0; i < s->s->niters; i++) {
        bool own = false;
        for (int k = 0; k < s->niters; k++) own |= s->iter[k] == i;
        if (!own && affine_uses_iter(a, i)) return false;
    }
    return true;
}

isl_space *scop_space(const PolyIsl *x, int stmt) {
    char name[16];
    snprintf(name, sizeof name, "S%d", stmt);
    isl_space *space = x->I->space_set_alloc(x->ctx, 0, (unsigned)x->s->stmt[stmt].s->niters);
    return x->I->space_set_tuple_name(space, isl_dim_set, name);
}

// An initialisation has the dimensions of its statement; those of reductions are 0.
isl_set *scop_domain(const PolyIsl *x, int stmt) {
    const Isl *I = x->I;
    const PolyStmt *s = &x->s->stmt[stmt];
    isl_space *space = scop_space(x, stmt);
    isl_set *domain = I->set_universe(I->space_copy(space));
    for (int i = 0; i < s->s->niters; i++) {
        bool own = false;
        for (int k = 0; k < s->niters; k++) own |= s->iter[k] == i;
        int64_t lo = iter_lo(&s->s->iter[i]), hi = iter_hi(&s->s->iter[i]) - 1;
        isl_val *least = I->val_int_from_si(x->ctx, lo);
        isl_val *most = I->val_int_from_si(x->ctx, own ? hi : lo);
        domain = I->set_lower_bound_val(domain, isl_dim_set, (unsigned)i, least);
        domain = I->set_upper_bound_val(domain, isl_dim_set, (unsigned)i, most);
    }
    for (int c = 0; c < s->s->nconstraints && !s->init; c++) {
        if (!expressible(s, s->s->constraint[c])) continue;
        isl_aff *a = poly_affine(I, space, s->s->constraint[c], 0, NULL);
        isl_basic_set *holds = I->aff_ge_basic_set(a, poly_constant(I, space, 0));
        domain = I->set_intersect(domain, I->set_from_basic_set(holds));
    }
    I->space_free(space);
    return domain;
}

// S[i] -> T[f(i)]. A subscript that isl cannot express may be any index.
isl_map *scop_access(const PolyIsl *x, int stmt, const Access *a, bool *may) {
    const Isl *I = x->I;
    isl_space *space = scop_space(x, stmt);
    isl_set *domain = scop_domain(x, stmt);
    isl_set *nothing = I->set_universe(I->space_set_alloc(x->ctx, 0, 0));
    isl_map *map = I->map_from_domain_and_range(I->set_copy(domain), nothing);
    *may = false;
    for (int d = 0; d < a->rank; d++) {
        bool known = expressible(&x->s->stmt[stmt], a->sub[d]);
        *may |= !known;
        isl_map *one;
        if (known) {
            one = I->map_from_aff(poly_affine(I, space, a->sub[d], 0, NULL));
        } else {
            isl_set *any = I->set_universe(I->space_set_alloc(x->ctx, 0, 1));
            one = I->map_from_domain_and_range(I->set_copy(domain), any);
        }
        map = I->map_flat_range_product(map, one);
    }
    char name[24];
    snprintf(name, sizeof name, "T%d", a->tensor);
    I->set_free(domain);
    I->space_free(space);
    return I->map_set_tuple_name(map, isl_dim_out, name);
}

int scop_accesses(const PolyScop *s, int stmt) {
    return s->stmt[stmt].init ? 1 : 1 + s->facts->stmt[s->stmt[stmt].stmt].nreads;
}

const Access *scop_access_at(const PolyScop *s, int stmt, int i) {
    const PolyStmt *st = &s->stmt[stmt];
    return i ? s->facts->stmt[st->stmt].read[i - 1] : st->s->write;
}

// Does the statement combine values into the element, so that its write is not an assignment?
bool scop_reduces(const PolyStmt *s) { return !s->init && s->s->op != REDUCE_ASSIGN; }

// Pairs of instances of `a` and `b` that access the same element.
static isl_map *meeting(const PolyIsl *x, int a, const Access *f, int b, const Access *g) {
    bool may;
    isl_map *first = scop_access(x, a, f, &may), *second = scop_access(x, b, g, &may);
    return x->I->map_apply_range(first, x->I->map_reverse(second));
}

isl_map *scop_conflicts(const PolyIsl *x, int a, int b) {
    isl_map *all = NULL;
    for (int i = 0; i < scop_accesses(x->s, a); i++)
        for (int j = 0; j < scop_accesses(x->s, b); j++) {
            const Access *f = scop_access_at(x->s, a, i), *g = scop_access_at(x->s, b, j);
            if (f->tensor != g->tensor || (i && j)) continue;
            isl_map *more = meeting(x, a, f, b, g);
            all = all ? x->I->map_union(all, more) : more;
        }
    return all;
}

isl_map *scop_earlier(const PolyIsl *x, int stmt, isl_map *pairs) {
    isl_map *all = NULL;
    for (int level = 0; level < x->s->stmt[stmt].s->serial; level++) {
        isl_map *more = x->I->map_copy(pairs);
        for (int i = 0; i < level; i++)
            more = x->I->map_equate(more, isl_dim_in, i, isl_dim_out, i);
        more = x->I->map_order_lt(more, isl_dim_in, level, isl_dim_out, level);
        all = all ? x->I->map_union(all, more) : more;
    }
    x->I->map_free(pairs);
    return all;
}

isl_map *scop_in_steps(const PolyIsl *x, int stmt) {
    isl_map *pairs = scop_conflicts(x, stmt, stmt);
    return pairs ? scop_earlier(x, stmt, pairs) : NULL;
}

// For a reduction whose other iterators determine the element: all single steps of a reduction
// iterator. An affine function that is constant along these steps is constant on all updates of an
// element.
isl_map *scop_steps(const PolyIsl *x, int stmt) {
    const Isl *I = x->I;
    const Stmt *st = x->s->stmt[stmt].s;
    isl_space *space = scop_space(x, stmt);
    isl_map *all = NULL;
    for (int k = 0; k < st->niters; k++) {
        if (!st->iter[k].reduction || iter_extent(&st->iter[k]) < 2) continue;
        isl_set *nothing = I->set_universe(I->space_set_alloc(x->ctx, 0, 0));
        isl_map *step = I->map_from_domain_and_range(scop_domain(x, stmt), nothing);
        for (int i = 0; i < st->niters; i++) {
            isl_aff *next = poly_variable(I, space, i);
            if (i == k) next = I->aff_add_constant_si(next, 1);
            step = I->map_flat_range_product(step, I->map_from_aff(next));
        }
        step = I->map_set_tuple_id(step, isl_dim_out, I->space_get_tuple_id(space, isl_dim_set));
        step = I->map_intersect_range(step, scop_domain(x, stmt));
        all = all ? I->map_union(all, step) : step;
    }
    I->space_free(space);
    return all;
}
#endif
