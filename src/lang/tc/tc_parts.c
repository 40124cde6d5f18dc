// Results with a declared shape that statements define in parts. Is every element written, and is
// every element that is read written before? Otherwise the result is in-out and starts from the
// caller's content.
//
//     KC(pos,d) = k(d)                                   a part: in-out
//     O(i) = A(i)      O(i + N) = B(i)                   all of O(2*N)
//     O(2*i) = A(i)    O(2*i + 1) = B(i)                 all of O(2*N)
//
// A part is a box of elements whose bounds are sizes and scalar arguments; in each dimension it has
// every step-th element. Dividing elements into classes by their remainders removes the steps and
// leaves boxes. Boxes cover a region if one contains its first corner and the others cover the rest
// behind it, dimension by dimension. A statement whose elements are not a box for all sizes (a
// diagonal, a stride that is an argument, a data-dependent position) adds nothing, unless its
// elements are boxes for each of the few values of an iterator. The result is plain only if all of
// it is proven to be written, for all sizes of at least 1. If a subscript is too complex (a
// product, a minimum), a warning says that this was not decided.
#include "lang/tc/tc.h"

enum { MAX_CLASSES = 256, MAX_PARTS = 64, MAX_VALUES = 32, BUDGET = 3000 };

typedef struct TcPart {
    const Affine *lo[PROGRAM_MAX_RANK], *hi[PROGRAM_MAX_RANK]; // lo <= element < hi
    int64_t step[PROGRAM_MAX_RANK];
} TcPart;

typedef struct TcParts {
    Program *p;
    Infer *facts; // about sizes
    int tensor;
    const Stmt *st;
    VEC(TcPart) part;
    bool written;   // an earlier statement writes the tensor
    bool undecided; // elements outside all parts may be written
    bool old;       // the caller's content is read
    int budget;     // number of proofs for one question
} TcParts;

static const Tensor *tensor_of(const TcParts *k) { return &k->p->tensors.at[k->tensor]; }

static bool is_at_least_0(TcParts *k, const Affine *a) {
    return k->budget-- > 0 && infer_holds(k->facts, a);
}

static bool is_le(TcParts *k, const Affine *a, const Affine *b) {
    return a == b || is_at_least_0(k, affine_sub(k->p->exprs, b, a));
}

// --- Parts of accesses ---------------------------------------------------------------------------

// A subscript as  rest + Σ coef·(iterator - its first value)  without negative coefficients.
typedef struct Linear {
    const Affine *rest;
    bool strided; // it has no such form, because a coefficient may be negative
    int n;
    const Affine *coef[PROGRAM_MAX_ITERS], *count[PROGRAM_MAX_ITERS];
} Linear;

static bool add_iterator(TcParts *k, Linear *l, const Affine *coef, const Iter *it) {
    Exprs *x = k->p->exprs;
    const Affine *last = affine_add_const(x, it->hi, -1), *first = it->lo;
    if (affine_is_const(coef) && coef->constant < 0) {
        first = last;
        coef = affine_scale(x, coef, -1);
        l->rest = affine_sub(x, l->rest, affine_mul(x, coef, first));
    } else {
        if (!is_at_least_0(k, coef)) return false;
        l->rest = affine_add(x, l->rest, affine_mul(x, coef, first));
    }
    l->coef[l->n] = coef;
    l->count[l->n++] = affine_sub(x, it->hi, it->lo);
    return true;
}

static bool linear_of(TcParts *k, const Affine *sub, Linear *l) {
    Exprs *x = k->p->exprs;
    const Affine *at[PROGRAM_MAX_ITERS], *zero = affine_const(x, 0), *sum;
    for (int i = 0; i < k->st->niters; i++) at[i] = zero;
    const Affine *rest = sum = affine_substitute(x, sub, at, NULL);
    *l = (Linear){.rest = rest};
    if (rest->has_iter) return false; // inside the subscript of a read
    for (int i = 0; i < k->st->niters; i++) {
        if (!affine_uses_iter(sub, i)) continue;
        at[i] = affine_const(x, 1);
        const Affine *coef = affine_sub(x, affine_substitute(x, sub, at, NULL), rest);
        at[i] = zero;
        sum = affine_add(x, sum, affine_mul(x, coef, affine_iter(x, i)));
        if (coef->has_iter || affine_is(coef, 0)) return false;
        if (!add_iterator(k, l, coef, &k->st->iter[i])) return !(l->strided = true);
    }
    return sum == sub;
}

static int least_coef(const Linear *l) {
    int least = -1;
    for (int i = 0; i < l->n; i++)
        if (affine_is_const(l->coef[i]) &&
            (least < 0 || l->coef[i]->constant < l->coef[least]->constant))
            least = i;
    return least;
}

static void drop(Linear *l, int i) {
    l->n--;
    l->coef[i] = l->coef[l->n];
    l->count[i] = l->count[l->n];
}

typedef enum PartKind { PART_BOX, PART_NONE, PART_UNKNOWN } PartKind;

// Does the iterator with this coefficient continue where the previous ones, up to `reach`, end?
static bool goes_on(TcParts *k, const Affine *coef, const Affine *reach, int64_t step) {
    if (coef == reach) return true;
    bool whole = step == 1 || (affine_is_const(coef) && coef->constant % step == 0);
    return whole && is_le(k, coef, reach);
}

// Every step-th element of an interval: each further iterator continues where the previous ones
// end.
static bool interval_of(TcParts *k, Linear *l, int d, TcPart *out) {
    Exprs *x = k->p->exprs;
    int i = least_coef(l);
    out->lo[d] = l->rest;
    out->hi[d] = affine_add_const(x, l->rest, 1);
    out->step[d] = 1;
    if (!l->n) return true;
    if (i < 0 || l->coef[i]->constant > MAX_CLASSES) return false;
    int64_t step = out->step[d] = l->coef[i]->constant;
    const Affine *reach = affine_scale(x, l->count[i], step);
    drop(l, i);
    while (l->n) {
        for (i = 0; i < l->n && !goes_on(k, l->coef[i], reach, step);) i++;
        if (i == l->n) return false;
        const Affine *more = affine_mul(x, l->coef[i], affine_add_const(x, l->count[i], -1));
        reach = affine_add(x, reach, more);
        drop(l, i);
    }
    out->hi[d] = affine_add_const(x, affine_add(x, l->rest, reach), 1 - step);
    return true;
}

// The quotient or remainder that the subscript consists of; NULL: it has another form.
static const Atom *lone(const Affine *sub, AtomKind kind) {
    bool one = sub->n == 1 && sub->constant == 0 && sub->term[0].coef == 1;
    return one && sub->term[0].atom->kind == kind ? sub->term[0].atom : NULL;
}

// If a takes all values of an interval, so does a/b; a%b takes all b values if the interval has
// enough.
static PartKind quotient_of(TcParts *k, const Affine *sub, int d, TcPart *out) {
    Exprs *x = k->p->exprs;
    const Atom *div = lone(sub, ATOM_DIV), *t = div ? div : lone(sub, ATOM_MOD);
    Linear l;
    if (!t || !linear_of(k, t->a, &l)) return PART_UNKNOWN;
    if (!is_at_least_0(k, affine_add_const(x, t->b, -1))) return PART_UNKNOWN;
    if (!interval_of(k, &l, d, out)) return PART_UNKNOWN;
    const Affine *most = div ? t->b : affine_const(x, 1);
    if (!is_le(k, affine_const(x, out->step[d]), most)) return PART_UNKNOWN;
    out->step[d] = 1;
    const Affine *from = out->lo[d], *to = out->hi[d];
    if (div) {
        out->lo[d] = affine_div(x, from, t->b);
        out->hi[d] = affine_add_const(x, affine_div(x, affine_add_const(x, to, -1), t->b), 1);
        return PART_BOX;
    }
    out->lo[d] = affine_const(x, 0);
    out->hi[d] = t->b;
    return is_le(k, t->b, affine_sub(x, to, from)) ? PART_BOX : PART_NONE;
}

static PartKind dimension_of(TcParts *k, const Affine *sub, int d, TcPart *out) {
    Linear l;
    if (linear_of(k, sub, &l)) return interval_of(k, &l, d, out) ? PART_BOX : PART_NONE;
    if (sub->has_read || l.strided) return PART_NONE;
    return quotient_of(k, sub, d, out);
}

// O(a/b, a%b): all rows that an interval of a fills.
static bool rows_of(TcParts *k, const Access *w, int row, int column, TcPart *out) {
    Exprs *x = k->p->exprs;
    const Atom *div = lone(w->sub[row], ATOM_DIV), *mod = lone(w->sub[column], ATOM_MOD);
    Linear l;
    if (!div || !mod || div->a != mod->a || div->b != mod->b) return false;
    if (!linear_of(k, div->a, &l) || !interval_of(k, &l, row, out) || out->step[row] != 1)
        return false;
    if (!is_at_least_0(k, affine_add_const(x, div->b, -1))) return false;
    const Affine *up = affine_add_const(x, affine_add(x, out->lo[row], div->b), -1);
    out->lo[row] = affine_div(x, up, div->b);
    out->hi[row] = affine_div(x, out->hi[row], div->b);
    out->lo[column] = affine_const(x, 0);
    out->hi[column] = div->b;
    out->step[column] = 1;
    return true;
}

static bool share_iterator(const Affine *a, const Affine *b) {
    return affine_iter_mask(a) & affine_iter_mask(b);
}

// An iterator that occurs in two dimensions writes less than a box, except for rows and columns.
static PartKind part_of(TcParts *k, const Access *a, TcPart *out) {
    PartKind kind = PART_BOX;
    bool paired[PROGRAM_MAX_RANK] = {false};
    k->budget = BUDGET;
    for (int d = 0; d < a->rank; d++)
        for (int o = 0; o < d; o++) {
            if (!share_iterator(a->sub[d], a->sub[o])) continue;
            bool taken = paired[o] || paired[d];
            bool pair = rows_of(k, a, o, d, out) || rows_of(k, a, d, o, out);
            if (taken || !pair) kind = PART_NONE;
            paired[o] = paired[d] = true;
        }
    for (int d = 0; d < a->rank; d++) {
        PartKind one =
            paired[d] && kind == PART_BOX ? PART_BOX : dimension_of(k, a->sub[d], d, out);
        if (one > kind) kind = one;
    }
    return kind;
}

// --- Covering ------------------------------------------------------------------------------------

typedef struct Boxes {
    TcParts *k;
    int n, rank;
    TcPart at[MAX_PARTS];
} Boxes;

static bool covered(Boxes *b, TcPart region, uint64_t used);

// The part of the region that `by` does not cover: in each dimension, the elements behind it.
static bool rest_covered(Boxes *b, TcPart region, int by, uint64_t used) {
    for (int d = 0; d < b->rank; d++) {
        TcPart behind = region;
        behind.lo[d] = b->at[by].hi[d];
        if (!covered(b, behind, used | UINT64_C(1) << by)) return false;
        if (!is_le(b->k, region.hi[d], b->at[by].hi[d])) region.hi[d] = b->at[by].hi[d];
    }
    return true;
}

static bool covered(Boxes *b, TcPart region, uint64_t used) {
    if (b->k->budget-- <= 0) return false;
    for (int d = 0; d < b->rank; d++)
        if (is_le(b->k, region.hi[d], region.lo[d])) return true;
    for (int i = 0; i < b->n; i++) {
        bool corner = !(used >> i & 1);
        for (int d = 0; d < b->rank && corner; d++)
            corner = is_le(b->k, b->at[i].lo[d], region.lo[d]);
        if (corner && rest_covered(b, region, i, used)) return true;
    }
    return false;
}

// ceil((a - r)/s)
static const Affine *quotient(Exprs *x, const Affine *a, int64_t r, int64_t s) {
    return s == 1 ? a : affine_div(x, affine_add_const(x, a, s - 1 - r), affine_const(x, s));
}

// The elements of a part whose remainders modulo `modulus` are `r`, numbered from 0; false if there
// are none or this is not known.
static bool class_of(Exprs *x, const TcPart *p, int rank, const int64_t *modulus, const int64_t *r,
                     TcPart *out) {
    for (int d = 0; d < rank; d++) {
        const Affine *step = affine_const(x, p->step[d]);
        const Affine *off = affine_mod(x, affine_add_const(x, p->lo[d], -r[d]), step);
        if (p->step[d] > 1 && !affine_is(off, 0)) return false;
        out->lo[d] = quotient(x, p->lo[d], r[d], modulus[d]);
        out->hi[d] = quotient(x, p->hi[d], r[d], modulus[d]);
    }
    return true;
}

// Does no element of the region have these remainders?
static bool is_off(Exprs *x, const TcPart *region, int rank, const int64_t *r) {
    for (int d = 0; d < rank; d++) {
        const Affine *step = affine_const(x, region->step[d]);
        const Affine *off = affine_mod(x, affine_add_const(x, region->lo[d], -r[d]), step);
        if (affine_is_const(off) && off->constant != 0) return true;
    }
    return false;
}

static bool class_covered(TcParts *k, const TcPart *region, const int64_t *modulus,
                          const int64_t *r) {
    Exprs *x = k->p->exprs;
    Boxes b = {.k = k, .rank = tensor_of(k)->rank};
    TcPart mine = *region;
    if (is_off(x, region, b.rank, r)) return true;
    for (int d = 0; d < b.rank; d++) {
        mine.lo[d] = quotient(x, region->lo[d], r[d], modulus[d]);
        mine.hi[d] = quotient(x, region->hi[d], r[d], modulus[d]);
    }
    for (int i = 0; i < k->part.n; i++)
        if (class_of(x, &k->part.at[i], b.rank, modulus, r, &b.at[b.n])) b.n++;
    return covered(&b, mine, 0);
}

static int64_t common_multiple(int64_t a, int64_t b) {
    int64_t m = a;
    while (m % b) m += a;
    return m;
}

static bool all_covered(TcParts *k, const TcPart *region) {
    int rank = tensor_of(k)->rank;
    int64_t modulus[PROGRAM_MAX_RANK], r[PROGRAM_MAX_RANK] = {0}, classes = 1;
    for (int d = 0; d < rank; d++) {
        modulus[d] = region->step[d];
        for (int i = 0; i < k->part.n && modulus[d] <= MAX_CLASSES; i++)
            modulus[d] = common_multiple(modulus[d], k->part.at[i].step[d]);
        classes *= modulus[d];
        if (classes > MAX_CLASSES) return !(k->undecided = true);
    }
    k->budget = BUDGET;
    for (;;) {
        if (!class_covered(k, region, modulus, r)) {
            k->undecided |= k->budget <= 0;
            return false;
        }
        int d = rank - 1;
        while (d >= 0 && ++r[d] == modulus[d]) r[d--] = 0;
        if (d < 0) return true;
    }
}

// --- Reads and statements ------------------------------------------------------------------------

static TcPart whole(const TcParts *k) {
    const Tensor *t = tensor_of(k);
    TcPart all;
    for (int d = 0; d < t->rank; d++) {
        all.lo[d] = t->origin[d];
        all.hi[d] = affine_add(k->p->exprs, t->origin[d], t->size[d]);
        all.step[d] = 1;
    }
    return all;
}

// Are these the elements that a statement defined?
static bool was_defined(const TcParts *k, const TcPart *r) {
    for (int i = 0; i < k->part.n; i++) {
        bool same = true;
        for (int d = 0; d < tensor_of(k)->rank && same; d++) {
            const TcPart *w = &k->part.at[i];
            same = w->lo[d] == r->lo[d] && w->hi[d] == r->hi[d] && w->step[d] == r->step[d];
        }
        if (same) return true;
    }
    return false;
}

static void read_part(void *user, const Access *a, bool guarded) {
    (void)guarded;
    TcParts *k = user;
    TcPart r, all;
    if (a->tensor != k->tensor || !k->written || k->old) return;
    all = whole(k);
    if (all_covered(k, &all)) return; // every element that it reads is defined
    if (part_of(k, a, &r) != PART_BOX) r = all;
    k->old = !was_defined(k, &r) && !all_covered(k, &r);
}

// An iterator of the access with few values, all of them known; -1: there is none.
static int few_values(const TcParts *k, const Access *w) {
    for (int i = 0; i < k->st->niters && !w->has_read; i++) {
        const Iter *it = &k->st->iter[i];
        bool known = affine_is_const(it->lo) && affine_is_const(it->hi);
        if (known && access_uses_iter(w, i) && it->hi->constant - it->lo->constant <= MAX_VALUES)
            return i;
    }
    return -1;
}

// A set that is not a box may be several boxes: O(20*i + j), j in 1:20, consists of 19 sets of
// every 20th element.
static PartKind add_boxes(TcParts *k, const Access *w) {
    TcPart box;
    PartKind kind = k->part.n < MAX_PARTS ? part_of(k, w, &box) : PART_UNKNOWN;
    int i = kind == PART_BOX || k->part.n == MAX_PARTS ? -1 : few_values(k, w);
    if (kind == PART_BOX && !was_defined(k, &box)) vec_push(k->p->arena, &k->part, box);
    if (i < 0) return kind;
    const Iter *it = &k->st->iter[i];
    const Affine *at[PROGRAM_MAX_ITERS] = {NULL};
    kind = PART_BOX;
    for (int64_t v = it->lo->constant; v < it->hi->constant; v++) {
        at[i] = affine_const(k->p->exprs, v);
        PartKind one = add_boxes(k, access_substitute(k->p->exprs, w, at, NULL, NULL, NULL));
        if (one > kind) kind = one;
    }
    return kind;
}

static void add_part(TcParts *k, const Stmt *st) {
    if (st->write->has_read && st->init) { // a scatter sets all elements first
        TcPart all = whole(k);
        vec_push(k->p->arena, &k->part, all);
        return;
    }
    bool constrained = !st->init && st->nconstraints;
    k->undecided |= constrained || add_boxes(k, st->write) == PART_UNKNOWN;
}

static void look_at_stmt(TcParts *k, const Stmt *st) {
    k->st = st;
    expr_visit_accesses(st->value, read_part, k);
    for (int d = 0; d < st->write->rank; d++)
        affine_visit_accesses(st->write->sub[d], read_part, k);
    if (st->op != REDUCE_ASSIGN && !st->init) read_part(k, st->write, false);
    if (st->write->tensor != k->tensor) return;
    k->written = true;
    if (!st->serial && (st->op == REDUCE_ASSIGN || st->init)) add_part(k, st);
}

// Elements that any step writes count as written; program_bind decides whether that step comes
// first.
static void look_at_group(TcParts *k, int first) {
    for (int s = first; s < group_end(k->p, first); s++) {
        const Stmt *st = k->st = &k->p->stmts.at[s];
        bool defines = st->op == REDUCE_ASSIGN || st->init;
        if (st->serial && st->write->tensor == k->tensor && defines) add_part(k, st);
    }
}

static bool is_old(TcParts *k) {
    for (int s = 0; s < k->p->stmts.n && !k->old; s++) {
        if (!k->p->stmts.at[s].joined) look_at_group(k, s);
        look_at_stmt(k, &k->p->stmts.at[s]);
    }
    if (k->old || !k->written) return k->old;
    TcPart all = whole(k);
    return !all_covered(k, &all);
}

static void warn_undecided(TcChecker *ck, const Tensor *t) {
    Diag *d = diag_report(ck->diags, t->range, DIAG_TC_PARTS_UNDECIDED, t->name);
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_PARTS_UNDECIDED_NOTE, t->name);
}

void tc_find_old_content(TcChecker *ck) {
    Program *p = ck->p;
    bool overflow = p->exprs->overflow, large = p->exprs->too_large;
    Infer *facts = infer_facts(p);
    for (int i = 0; i < ck->tens.n; i++) {
        if (ck->tens.at[i].role != ROLE_OUTPUT || !ck->tens.at[i].size) continue;
        TcParts k = {.p = p, .facts = facts, .tensor = i};
        if (!is_old(&k)) continue;
        p->tensors.at[i].role = ROLE_INOUT;
        if (k.undecided) warn_undecided(ck, &p->tensors.at[i]);
    }
    p->exprs->overflow = overflow;
    p->exprs->too_large = large;
}
