// Random questions of dependence; see gendeps.h.
#include "support/gendeps.h"

#include <string.h>

#include "base/random.h"

int64_t gendeps_below(GenDeps *r, int64_t n) {
    return (int64_t)(random_next(&r->seed) % (uint64_t)n);
}

const Affine *gendeps_linear(GenDeps *r, int n, int64_t coef) {
    const Affine *a = affine_const(r->x, gendeps_below(r, 7) - 3);
    for (int i = 0; i < n; i++)
        if (gendeps_below(r, 3))
            a = affine_add(
                r->x, a,
                affine_scale(r->x, affine_iter(r->x, i), gendeps_below(r, 2 * coef + 1) - coef));
    return a;
}

static const Affine *random_simple(GenDeps *r, int n) {
    const Affine *a = gendeps_linear(r, n, gendeps_below(r, 3) ? 2 : 7);
    switch (gendeps_below(r, 12)) {
    case 0: return affine_div(r->x, a, affine_const(r->x, 2 + gendeps_below(r, 4)));
    case 1: return affine_mod(r->x, a, affine_const(r->x, 2 + gendeps_below(r, 4)));
    case 2: return affine_min(r->x, a, gendeps_linear(r, n, 2));
    case 3: return affine_max(r->x, a, affine_const(r->x, gendeps_below(r, 5)));
    case 4:
        a = affine_div(r->x, a, affine_const(r->x, 2 + gendeps_below(r, 3)));
        return affine_add(r->x, a, gendeps_linear(r, n, 2));
    default: return a;
    }
}

// Blocked layouts, clamped borders and hash-like subscripts, nested and added up.
static const Affine *random_nested(GenDeps *r, int n, int depth) {
    const Affine *a = gendeps_linear(r, n, gendeps_below(r, 3) ? 5 : 1000);
    for (int i = 0; depth && i < 3 - depth; i++) {
        const Affine *b = random_nested(r, n, depth - 1);
        const Affine *c = affine_const(r->x, 2 + gendeps_below(r, gendeps_below(r, 2) ? 5 : 500));
        switch (gendeps_below(r, 4)) {
        case 0: b = affine_div(r->x, b, c); break;
        case 1: b = affine_mod(r->x, b, c); break;
        case 2: b = affine_min(r->x, b, gendeps_linear(r, n, 9)); break;
        default: b = affine_max(r->x, b, gendeps_linear(r, n, 9)); break;
        }
        a = affine_add(r->x, a, affine_scale(r->x, b, gendeps_below(r, 7) - 3));
    }
    return a;
}

static const Affine *random_affine(GenDeps *r, int n) {
    return r->hard ? random_nested(r, n, 1 + (gendeps_below(r, 2) == 0)) : random_simple(r, n);
}

void gendeps(GenDeps *r) {
    int rank = (int)gendeps_below(r, 3);
    DepSide *side[] = {&r->q.a, &r->q.b};
    for (int s = 0; s < 2; s++) {
        r->n[s] = 1 + (int)gendeps_below(r, 3);
        for (int i = 0; i < r->n[s]; i++) {
            r->lo[s][i] = gendeps_below(r, 5) - 2;
            r->hi[s][i] = r->lo[s][i] + gendeps_below(r, r->n[s] == 3 ? 5 : 9);
        }
        for (int d = 0; d < 2; d++) r->sub[s][d] = random_affine(r, r->n[s]);
        for (int c = 0; c < 2; c++) r->constraint[s][c] = random_affine(r, r->n[s]);
        int nconstraints = gendeps_below(r, 3) ? 0 : 1 + (int)gendeps_below(r, 2);
        *side[s] = (DepSide){
            .niters = r->n[s],
            .lo = r->lo[s],
            .hi = r->hi[s],
            .nconstraints = nconstraints,
            .constraint = r->constraint[s],
            .rank = rank,
            .sub = r->sub[s],
        };
    }
    int common = r->n[0] < r->n[1] ? r->n[0] : r->n[1];
    r->q.ndirs = (int)gendeps_below(r, common + 1);
    for (int d = 0; d < r->q.ndirs; d++) r->dirs[d] = (DepDir){d, d, (DepRel)gendeps_below(r, 5)};
    r->q.dirs = r->dirs;
    for (int i = 0; i < 3; i++) {
        r->oa[i] = gendeps_below(r, 7) - 3;
        r->ob[i] = gendeps_below(r, 7) - 3;
    }
    r->order = (DepOrder){r->oa, r->ob, gendeps_below(r, 9) - 4, false};
    r->order.equal = gendeps_below(r, 4) == 0;
    r->q.norders = gendeps_below(r, 4) == 0;
    r->q.orders = &r->order;
}

static int64_t value(const Affine *a, const int64_t *at) {
    int64_t v = 0;
    if (!affine_eval(a, at, NULL, NULL, NULL, &v)) v = 0; // small numbers: never
    return v;
}

static bool exists(const DepSide *s, const int64_t *at) {
    for (int c = 0; c < s->nconstraints; c++)
        if (value(s->constraint[c], at) < 0) return false;
    for (int i = 0; i < s->niters; i++)
        if (at[i] < s->lo[i] || at[i] >= s->hi[i]) return false;
    return true;
}

static bool related(int64_t i, DepRel rel, int64_t j) {
    switch (rel) {
    case DEP_LT: return i < j;
    case DEP_LE: return i <= j;
    case DEP_EQ: return i == j;
    case DEP_GE: return i >= j;
    default: return i > j;
    }
}

static bool meets(const DepQuery *q, const int64_t *i, const int64_t *j) {
    for (int d = 0; d < q->ndirs; d++)
        if (!related(i[q->dirs[d].a], q->dirs[d].rel, j[q->dirs[d].b])) return false;
    for (int n = 0; n < q->norders; n++) {
        int64_t sum = q->orders[n].constant;
        for (int v = 0; v < q->a.niters; v++) sum += q->orders[n].a[v] * i[v];
        for (int v = 0; v < q->b.niters; v++) sum += q->orders[n].b[v] * j[v];
        if (q->orders[n].equal ? sum != 0 : sum < 0) return false;
    }
    for (int d = 0; d < q->a.rank; d++)
        if (value(q->a.sub[d], i) != value(q->b.sub[d], j)) return false;
    return true;
}

bool gendeps_holds(const DepQuery *q, const int64_t *i, const int64_t *j) {
    return exists(&q->a, i) && exists(&q->b, j) && meets(q, i, j);
}

// All iterations of a side, one after the other.
static int instances(const DepSide *s, int64_t (*out)[3]) {
    int n = 0;
    int64_t at[3] = {s->lo[0], s->niters > 1 ? s->lo[1] : 0, s->niters > 2 ? s->lo[2] : 0};
    for (int i = 0; i < s->niters; i++)
        if (s->lo[i] >= s->hi[i]) return 0;
    for (;;) {
        if (exists(s, at)) memcpy(out[n++], at, sizeof at);
        int i = s->niters - 1;
        while (i >= 0 && ++at[i] == s->hi[i]) at[i] = s->lo[i], i--;
        if (i < 0) return n;
    }
}

bool gendeps_enumerate(const DepQuery *q) {
    static int64_t a[512][3], b[512][3];
    int na = instances(&q->a, a), nb = instances(&q->b, b);
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
            if (meets(q, a[i], b[j])) return true;
    return false;
}
