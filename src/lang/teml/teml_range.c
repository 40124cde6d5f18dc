// Infers ranges of iterators, and shapes, from the indexing of tensors (equations 14, 15, 19).
//
// A subscript that is a single iterator gives its range: the size of that dimension. All such
// subscripts must agree, unless the iterator also occurs with an offset or a factor, as in [i1 +
// 1]: then the access is a stencil, and the range is the largest that stays inside everywhere. An
// iterator that only occurs in sums, such as i2 and i5 in [i1, i2 + i5], gets the largest range
// that stays inside once the other iterators of the sum are known. Ranges begin at 0.
#include "lang/teml/teml.h"

#include <string.h>

#include "base/checked.h"

int teml_rank(const Teml *t, int tensor) {
    return tensor >= VIRTUAL ? t->sums.at[tensor - VIRTUAL].rank : t->tensors.at[tensor].rank;
}

int64_t teml_size(const Teml *t, int tensor, int dim) {
    return tensor >= VIRTUAL ? t->sums.at[tensor - VIRTUAL].size[dim]
                             : t->tensors.at[tensor].size[dim];
}

const char *teml_tensor_name(const Teml *t, int tensor) {
    return tensor >= VIRTUAL ? "vcontract" : t->tensors.at[tensor].name;
}

typedef struct Ranges {
    Teml *t;
    Range at;
    TemlRange *out;
    VEC(const Access *) access;
    bool failed;
} Ranges;

static void collect(void *user, const Access *a, bool guarded) {
    Ranges *r = user;
    (void)guarded;
    for (int i = 0; i < r->access.n; i++)
        if (r->access.at[i] == a) return;
    vec_push(r->t->arena, &r->access, a);
}

static Ranges begin(Teml *t, const Access *left, const Expr *value, Range at, TemlRange *out) {
    Ranges r = {.t = t, .at = at, .out = out};
    for (int i = 0; i < t->iters.n; i++) out[i] = (TemlRange){-1, NULL};
    if (left && teml_rank(t, left->tensor) >= 0) collect(&r, left, false);
    expr_visit_accesses(value, collect, &r);
    return r;
}

static const char *dimension_text(const Ranges *r, const Access *a, int d) {
    return arena_printf(r->t->arena, "dimension %d of '%s'", d + 1,
                        teml_tensor_name(r->t, a->tensor));
}

// Does it occur in a subscript together with other terms?
static bool in_sum(const Ranges *r, int iter) {
    for (int i = 0; i < r->access.n; i++)
        for (int d = 0; d < r->access.at[i]->rank; d++) {
            const Affine *sub = r->access.at[i]->sub[d];
            if (affine_coef(sub, iter) && affine_as_iter(sub) != iter) return true;
        }
    return false;
}

static void plain(Ranges *r, const Access *a, int d) {
    int iter = affine_as_iter(a->sub[d]);
    if (iter < 0 || r->failed) return;
    int64_t size = teml_size(r->t, a->tensor, d);
    TemlRange *range = &r->out[iter];
    const char *from = dimension_text(r, a, d);
    if (range->extent < 0 || (range->extent > size && in_sum(r, iter)))
        *range = (TemlRange){size, from};
    else if (in_sum(r, iter))
        return;
    else if (range->extent != size) {
        diag_report(r->t->diags, r->at, DIAG_TEML_SHAPE, r->t->iters.at[iter],
                    (long long)range->extent, range->from, (long long)size, from);
        r->failed = true;
    }
}

static bool plain_ranges(Ranges *r) {
    for (int i = 0; i < r->access.n; i++)
        for (int d = 0; d < r->access.at[i]->rank; d++) plain(r, r->access.at[i], d);
    return !r->failed;
}

bool teml_plain_ranges(Teml *t, const Access *left, const Expr *value, Range at, TemlRange *out) {
    Ranges r = begin(t, left, value, at, out);
    return plain_ranges(&r);
}

// The least and largest value of a sum, with one iterator of unknown range at 0. Returns that
// iterator; -1: all are known, -2: more than one is unknown.
static int bounds(const Ranges *r, const Affine *a, int64_t *lo, int64_t *hi) {
    int unknown = -1;
    *lo = *hi = a->constant;
    for (int i = 0; i < a->n; i++) {
        int iter = a->term[i].atom->index;
        int64_t extent = r->out[iter].extent, far;
        if (extent < 0 && unknown >= 0) return -2;
        if (extent < 0) unknown = iter;
        if (extent < 0) continue;
        if (!checked_mul(a->term[i].coef, max_i64(extent - 1, 0), &far)) return -2;
        if (!checked_add(*lo, min_i64(far, 0), lo) || !checked_add(*hi, max_i64(far, 0), hi))
            return -2;
    }
    return unknown;
}

// Narrows the range of one iterator; true if the subscript limits it.
static bool narrow(const Ranges *r, const Access *a, int d, int iter, int64_t *extent) {
    int64_t lo, hi, size = teml_size(r->t, a->tensor, d), coef = affine_coef(a->sub[d], iter);
    if (!coef || bounds(r, a->sub[d], &lo, &hi) != iter) return false;
    int64_t last = coef > 0 ? floor_div(size - 1 - hi, coef) : floor_div(lo, -coef);
    *extent = min_i64(*extent, last + 1);
    return true;
}

static bool find_range(Ranges *r, int iter) {
    int64_t extent = INT64_MAX;
    bool found = false;
    for (int i = 0; i < r->access.n; i++)
        for (int d = 0; d < r->access.at[i]->rank; d++)
            found |= narrow(r, r->access.at[i], d, iter, &extent);
    if (!found) return false;
    r->out[iter] = (TemlRange){max_i64(extent, 0), "the subscripts"};
    if (extent < 1) {
        diag_report(r->t->diags, r->at, DIAG_TEML_EMPTY, r->t->iters.at[iter]);
        r->failed = true;
    }
    return true;
}

static bool is_used(const Ranges *r, int iter) {
    for (int i = 0; i < r->access.n; i++)
        if (access_uses_iter(r->access.at[i], iter)) return true;
    return false;
}

static void check_inside(Ranges *r, const Access *a, int d) {
    int64_t lo, hi, size = teml_size(r->t, a->tensor, d);
    if (r->failed) return;
    if (bounds(r, a->sub[d], &lo, &hi) == -1 && lo >= 0 && hi < size) return;
    Text text = {.arena = r->t->arena};
    affine_print(&text, a->sub[d], &(PrintNames){.iters = r->t->iters.at});
    teml_unquote(&text, 0);
    diag_report(r->t->diags, r->at, DIAG_TEML_OUTSIDE, text_str(&text), (long long)lo,
                (long long)hi, dimension_text(r, a, d), (long long)size);
    r->failed = true;
}

// For subscripts such as i1 + 2 and 2*i1 + 1 with known range: the last values that are inside.
static void offset_ranges(Ranges *r) {
    for (int i = 0; i < r->access.n; i++)
        for (int d = 0; d < r->access.at[i]->rank; d++) {
            const Affine *sub = r->access.at[i]->sub[d];
            if (sub->n != 1 || sub->term[0].coef < 1) continue;
            TemlRange *range = &r->out[sub->term[0].atom->index];
            int64_t size = teml_size(r->t, r->access.at[i]->tensor, d);
            int64_t last = floor_div(size - 1 - sub->constant, sub->term[0].coef);
            if (range->extent > last + 1 && last >= 0) range->extent = last + 1;
        }
}

bool teml_ranges(Teml *t, const Access *left, const Expr *value, Range at, TemlRange *out) {
    Ranges r = begin(t, left, value, at, out);
    if (!plain_ranges(&r)) return false;
    offset_ranges(&r);
    for (bool more = true; more && !r.failed;) {
        more = false;
        for (int i = 0; i < t->iters.n && !r.failed; i++)
            if (out[i].extent < 0 && is_used(&r, i)) more |= find_range(&r, i);
    }
    if (left && teml_rank(t, left->tensor) < 0) collect(&r, left, false);
    for (int i = 0; i < t->iters.n && !r.failed; i++) {
        if (out[i].extent >= 0 || !is_used(&r, i)) continue;
        diag_report(t->diags, at, DIAG_TEML_RANGE, t->iters.at[i]);
        r.failed = true;
    }
    for (int i = 0; i < r.access.n; i++)
        for (int d = 0; d < r.access.at[i]->rank && teml_rank(t, r.access.at[i]->tensor) >= 0; d++)
            check_inside(&r, r.access.at[i], d);
    return !r.failed;
}

// --- Levels ------------------------------------------------------------------------------------

// The k of ik, 0 for other names.
static int64_t level_of(Name name) {
    int64_t k = 0;
    if (name[0] != 'i' || !name[1] || name[1] == '0' || strlen(name) > 10) return 0;
    for (const char *s = name + 1; *s; s++) {
        if (*s < '0' || *s > '9') return 0;
        k = 10 * k + (*s - '0');
    }
    return k;
}

typedef struct Levels {
    int *out, n, most;
} Levels;

static void add_iters(void *user, const Access *a, bool guarded) {
    Levels *l = user;
    (void)guarded;
    for (int d = 0; d < a->rank; d++)
        for (int i = 0; i < a->sub[d]->n; i++) {
            int iter = a->sub[d]->term[i].atom->index, k = 0;
            while (k < l->n && l->out[k] != iter) k++;
            if (k == l->n && l->n < l->most) l->out[l->n++] = iter;
        }
}

int teml_levels(Teml *t, const Access *left, const Expr *value, int *out, int most) {
    Levels l = {out, 0, most};
    if (left) add_iters(&l, left, false);
    expr_visit_accesses(value, add_iters, &l);
    for (int i = 1; i < l.n; i++) { // numbered iterators first, by number; others keep their order
        int iter = out[i], k = i;
        int64_t level = level_of(t->iters.at[iter]);
        for (; k > 0 && level; k--) {
            int64_t before = level_of(t->iters.at[out[k - 1]]);
            if (before && before <= level) break;
            out[k] = out[k - 1];
        }
        out[k] = iter;
    }
    return l.n;
}
