// Affine arithmetic: interning, simplifying constructors, substitution, evaluation, bounds.
//
// Every constructor collects a Sum (constant and sorted terms, on the stack) and interns it. Atoms
// are interned on their own. Order is by structure (atom_compare): ITER by index, PARAM by index,
// then DIV, MOD, MIN, MAX, READ and PROD by their operands; so two texts of one expression meet in
// one node.
#include "program/affine.h"

#include "base/bug.h"
#include "base/checked.h"
#include "program/expr.h"

#include <string.h>

// --- Order -------------------------------------------------------------------------------------

#define COMPARE(a, b)                                                                              \
    if ((a) != (b)) return (a) < (b) ? -1 : 1

static int access_compare(const Access *a, const Access *b) {
    if (a == b) return 0;
    COMPARE(a->tensor, b->tensor);
    COMPARE(a->rank, b->rank);
    for (int d = 0; d < a->rank; d++) {
        int c = affine_compare(a->sub[d], b->sub[d]);
        if (c) return c;
    }
    return 0;
}

int atom_compare(const Atom *a, const Atom *b) {
    if (a == b) return 0;
    COMPARE(a->kind, b->kind);
    if (a->kind <= ATOM_PARAM) {
        COMPARE(a->index, b->index);
        return 0;
    }
    if (a->kind == ATOM_READ) return access_compare(a->read, b->read);
    int c = affine_compare(a->a, b->a);
    return c ? c : affine_compare(a->b, b->b);
}

int affine_compare(const Affine *a, const Affine *b) {
    if (a == b) return 0;
    for (int i = 0; i < a->n && i < b->n; i++) {
        int c = atom_compare(a->term[i].atom, b->term[i].atom);
        if (c) return c;
        COMPARE(a->term[i].coef, b->term[i].coef);
    }
    COMPARE(a->n, b->n);
    COMPARE(a->constant, b->constant);
    return 0;
}

// --- Interning ---------------------------------------------------------------------------------

// A sum being built.
typedef struct Sum {
    int64_t constant;
    int n;
    bool overflow, too_large;
    Term term[AFFINE_MAX_TERMS];
} Sum;

static bool same_sum(const void *key, const void *item) {
    const Sum *s = key;
    const Affine *a = item;
    return s->constant == a->constant && s->n == a->n &&
           !memcmp(s->term, a->term, (size_t)s->n * sizeof(Term));
}

static Affine *new_affine(Exprs *x, const Sum *s) {
    Affine *a = arena_alloc(x->arena, sizeof(Affine) + (size_t)s->n * sizeof(Term));
    a->constant = s->constant;
    a->n = s->n;
    a->linear = true;
    a->weight = 1;
    memcpy(a->term, s->term, (size_t)s->n * sizeof(Term));
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        a->linear &= t->kind == ATOM_ITER;
        a->has_iter |= t->has_iter;
        a->has_param |= t->has_param;
        a->has_read |= t->has_read;
        if (t->depth + 1 > a->depth) a->depth = t->depth + 1;
        a->weight += t->weight;
    }
    return a;
}

static const Affine *finish(Exprs *x, Sum *s) {
    x->overflow |= s->overflow;
    x->too_large |= s->too_large;
    if (s->overflow || s->too_large) *s = (Sum){.n = 0};
    uint64_t h = hash_mix(0x41, (uint64_t)s->constant);
    int weight = 1;
    for (int i = 0; i < s->n; i++) {
        h = hash_mix(h, (uint64_t)s->term[i].atom->id);
        h = hash_mix(h, (uint64_t)s->term[i].coef);
        weight += s->term[i].atom->weight;
        if (weight > EXPRS_MAX_WEIGHT) {
            x->too_large = true;
            return affine_const(x, 0);
        }
    }
    void **slot = set_find(x->arena, &x->affines, h, s, same_sum);
    if (!*slot) *slot = new_affine(x, s), x->affines.n++;
    return *slot;
}

static bool same_atom(const void *key, const void *item) {
    const Atom *a = key, *b = item;
    return a->kind == b->kind && a->index == b->index && a->a == b->a && a->b == b->b &&
           a->read == b->read;
}

// Properties that follow from the kind and the operands.
static void fill_atom(const Exprs *x, Atom *t) {
    t->weight = 1;
    t->has_iter = t->kind == ATOM_ITER;
    t->has_param = t->kind == ATOM_PARAM;
    t->has_read = t->kind == ATOM_READ ||
                  (t->kind == ATOM_ITER && x->first_element && t->index >= x->first_element);
    if (t->a) {
        t->depth = 1 + (t->a->depth > t->b->depth ? t->a->depth : t->b->depth);
        t->weight += t->a->weight + t->b->weight;
        t->has_iter |= t->a->has_iter || t->b->has_iter;
        t->has_param |= t->a->has_param || t->b->has_param;
        t->has_read |= t->a->has_read || t->b->has_read;
    } else if (t->read) {
        t->depth = 1 + t->read->depth;
        t->weight += t->read->weight;
        t->has_iter |= t->read->has_iter;
        t->has_param |= t->read->has_param;
    }
}

// NULL when the atom would be too large.
static const Atom *intern_atom(Exprs *x, Atom key) {
    fill_atom(x, &key);
    if (key.depth > EXPRS_MAX_DEPTH || key.weight > EXPRS_MAX_WEIGHT) return NULL;
    uint64_t h = hash_mix((uint64_t)key.kind, (uint64_t)key.index);
    h = hash_mix(h, (uint64_t)(uintptr_t)key.a);
    h = hash_mix(h, (uint64_t)(uintptr_t)key.b);
    h = hash_mix(h, (uint64_t)(uintptr_t)key.read);
    void **slot = set_find(x->arena, &x->atoms, h, &key, same_atom);
    if (!*slot) {
        Atom *a = arena_new(x->arena, Atom);
        *a = key;
        a->id = x->natoms++;
        *slot = a;
        x->atoms.n++;
    }
    return *slot;
}

// --- Sums --------------------------------------------------------------------------------------

static void sum_term(Sum *s, const Atom *atom, int64_t coef) {
    int at = s->n;
    int c = -1;
    while (at > 0 && (c = atom_compare(s->term[at - 1].atom, atom)) > 0) at--;
    if (at > 0 && c == 0) {
        Term *t = &s->term[at - 1];
        s->overflow |= !checked_add(t->coef, coef, &t->coef);
        if (t->coef == 0) memmove(t, t + 1, (size_t)(--s->n - (at - 1)) * sizeof(Term));
        return;
    }
    if (coef == 0) return;
    if (s->n == AFFINE_MAX_TERMS) {
        s->too_large = true;
        return;
    }
    memmove(&s->term[at + 1], &s->term[at], (size_t)(s->n++ - at) * sizeof(Term));
    s->term[at] = (Term){atom, coef};
}

// s += k * a
static void sum_affine(Sum *s, const Affine *a, int64_t k) {
    if (k == 0) return;
    s->overflow |= !checked_fma(a->constant, k, &s->constant);
    for (int i = 0; i < a->n; i++) {
        int64_t coef;
        s->overflow |= !checked_mul(a->term[i].coef, k, &coef);
        sum_term(s, a->term[i].atom, coef);
    }
}

static void sum_init(Sum *s, int64_t constant) {
    s->constant = constant;
    s->n = 0;
    s->overflow = s->too_large = false;
}

// --- Constructors ------------------------------------------------------------------------------

const Affine *affine_const(Exprs *x, int64_t c) {
    enum { SMALL = sizeof x->small / sizeof *x->small };
    const Affine **known = c >= -1 && c < SMALL - 1 ? &x->small[c + 1] : NULL;
    if (known && *known) return *known;
    Sum s;
    sum_init(&s, c);
    const Affine *a = finish(x, &s);
    if (known) *known = a;
    return a;
}

static const Affine *of_atom(Exprs *x, Atom key) {
    Sum s;
    sum_init(&s, 0);
    const Atom *atom = intern_atom(x, key);
    s.too_large = !atom;
    if (atom) s.term[s.n++] = (Term){atom, 1};
    return finish(x, &s);
}

const Affine *affine_iter(Exprs *x, int index) {
    enum { FIRST = sizeof x->iter / sizeof *x->iter };
    const Affine **known = index < FIRST ? &x->iter[index] : NULL;
    if (known && *known) return *known;
    const Affine *a = of_atom(x, (Atom){.kind = ATOM_ITER, .index = index});
    if (known) *known = a;
    return a;
}

const Affine *affine_param(Exprs *x, int index) {
    const Affine **known = index < 16 ? &x->param[index] : NULL;
    if (known && *known) return *known;
    const Affine *a = of_atom(x, (Atom){.kind = ATOM_PARAM, .index = index});
    if (known) *known = a;
    return a;
}

const Affine *affine_read(Exprs *x, const Access *read) {
    return of_atom(x, (Atom){.kind = ATOM_READ, .read = read});
}

const Affine *affine_add(Exprs *x, const Affine *a, const Affine *b) {
    if (affine_is(a, 0)) return b;
    if (affine_is(b, 0)) return a;
    Sum s;
    sum_init(&s, 0);
    sum_affine(&s, a, 1);
    sum_affine(&s, b, 1);
    return finish(x, &s);
}

const Affine *affine_sub(Exprs *x, const Affine *a, const Affine *b) {
    Sum s;
    sum_init(&s, 0);
    sum_affine(&s, a, 1);
    sum_affine(&s, b, -1);
    return finish(x, &s);
}

const Affine *affine_scale(Exprs *x, const Affine *a, int64_t k) {
    if (k == 1) return a;
    Sum s;
    sum_init(&s, 0);
    sum_affine(&s, a, k);
    return finish(x, &s);
}

const Affine *affine_add_const(Exprs *x, const Affine *a, int64_t k) {
    if (k == 0) return a;
    Sum s;
    sum_init(&s, k);
    sum_affine(&s, a, 1);
    return finish(x, &s);
}

const Affine *affine_make(Exprs *x, int64_t constant, const Term *terms, int n) {
    Sum s;
    sum_init(&s, constant);
    for (int i = 0; i < n; i++) sum_term(&s, terms[i].atom, terms[i].coef);
    return finish(x, &s);
}

// A binary atom. MIN, MAX and PROD commute: their operands are put in order.
static const Affine *binary(Exprs *x, AtomKind kind, const Affine *a, const Affine *b) {
    bool commutes = kind == ATOM_MIN || kind == ATOM_MAX || kind == ATOM_PROD;
    if (commutes && affine_compare(a, b) > 0) {
        const Affine *t = a;
        a = b;
        b = t;
    }
    return of_atom(x, (Atom){.kind = kind, .a = a, .b = b});
}

// The product of two atoms. A product of several is kept as a chain x*(y*(z*...)), factors in
// order.
static const Affine *atom_product(Exprs *x, const Atom *p, const Atom *q) {
    const Affine *a = affine_make(x, 0, &(Term){p, 1}, 1);
    const Affine *b = affine_make(x, 0, &(Term){q, 1}, 1);
    bool p_chain = p->kind == ATOM_PROD && p->a->n == 1 && p->a->term[0].atom->kind != ATOM_PROD;
    bool q_chain = q->kind == ATOM_PROD && q->a->n == 1 && q->a->term[0].atom->kind != ATOM_PROD;
    if (p_chain && (!q_chain || affine_compare(p->a, q->a) <= 0))
        return binary(x, ATOM_PROD, p->a, affine_mul(x, p->b, b));
    if (q_chain && affine_compare(q->a, a) < 0)
        return binary(x, ATOM_PROD, q->a, affine_mul(x, q->b, a));
    return binary(x, ATOM_PROD, a, b);
}

// Elements of tensors have any value, so arithmetic on them may overflow, and then the run fails.
// Loops put sums of their own iterators in the place of an iterator. Where that would move terms
// across an operation, it would change what overflows: operands with elements stay as they are.
const Affine *affine_mul(Exprs *x, const Affine *a, const Affine *b) {
    if (affine_is_const(a)) return affine_scale(x, b, a->constant);
    if (affine_is_const(b)) return affine_scale(x, a, b->constant);
    bool opaque = (a->has_read && b->has_iter && b->n + (b->constant != 0) > 1) ||
                  (b->has_read && a->has_iter && a->n + (a->constant != 0) > 1);
    if (opaque) return binary(x, ATOM_PROD, a, b);
    if ((a->n + 1) * (b->n + 1) > AFFINE_MAX_TERMS) return binary(x, ATOM_PROD, a, b);
    Sum s;
    sum_init(&s, 0);
    s.overflow = !checked_mul(a->constant, b->constant, &s.constant);
    for (int i = 0; i < a->n; i++) {
        int64_t ca = a->term[i].coef, k;
        s.overflow |= !checked_mul(ca, b->constant, &k);
        sum_term(&s, a->term[i].atom, k);
        for (int j = 0; j < b->n; j++) {
            s.overflow |= !checked_mul(ca, b->term[j].coef, &k);
            sum_affine(&s, atom_product(x, a->term[i].atom, b->term[j].atom), k);
        }
    }
    for (int j = 0; j < b->n; j++) {
        int64_t k;
        s.overflow |= !checked_mul(b->term[j].coef, a->constant, &k);
        sum_term(&s, b->term[j].atom, k);
    }
    return finish(x, &s);
}

// floor((whole·k + rest) / k) = whole + floor(rest / k): moves the multiples of k > 0 out of `a`.
static void split_by(const Affine *a, int64_t k, Sum *whole, Sum *rest) {
    sum_init(whole, floor_div(a->constant, k));
    sum_init(rest, floor_mod(a->constant, k));
    for (int i = 0; i < a->n; i++) {
        bool divides = a->term[i].coef % k == 0;
        int64_t coef = divides ? a->term[i].coef / k : a->term[i].coef;
        sum_term(divides ? whole : rest, a->term[i].atom, coef);
    }
}

// floor(rest / k), where no term is divisible by k: divides by the common divisor of all
// coefficients and k, and merges floor((floor(y / m) + r) / k) = floor((y + r·m) / (k·m)).
static const Affine *div_rest(Exprs *x, Sum *rest, int64_t k) {
    if (rest->n == 0) return affine_const(x, 0); // 0 <= constant < k
    int64_t g = k;
    for (int i = 0; i < rest->n; i++) g = gcd_i64(g, rest->term[i].coef);
    for (int i = 0; i < rest->n; i++) rest->term[i].coef /= g;
    rest->constant = floor_div(rest->constant, g);
    k /= g;
    const Affine *a = finish(x, rest);
    const Atom *t = a->n == 1 && a->term[0].coef == 1 ? a->term[0].atom : NULL;
    int64_t m = t && t->kind == ATOM_DIV && affine_is_const(t->b) ? t->b->constant : 0, km, rm;
    if (m > 0 && checked_mul(k, m, &km) && checked_mul(a->constant, m, &rm))
        return affine_div(x, affine_add_const(x, t->a, rm), affine_const(x, km));
    return binary(x, ATOM_DIV, a, affine_const(x, k));
}

const Affine *affine_div(Exprs *x, const Affine *a, const Affine *b) {
    if (affine_is(a, 0) || affine_is(b, 0)) return affine_const(x, 0);
    if (!affine_is_const(b)) return binary(x, ATOM_DIV, a, b);
    int64_t k = b->constant;
    if (k == 1) return a;
    if (k < 0) return affine_div(x, affine_scale(x, a, -1), affine_scale(x, b, -1));
    if (a->has_read) return binary(x, ATOM_DIV, a, b);
    Sum whole, rest;
    split_by(a, k, &whole, &rest);
    if (rest.n == 0) return finish(x, &whole);
    if (whole.n == 0 && whole.constant == 0) return div_rest(x, &rest, k);
    return affine_add(x, finish(x, &whole), div_rest(x, &rest, k));
}

const Affine *affine_mod(Exprs *x, const Affine *a, const Affine *b) {
    if (affine_is(a, 0)) return a;
    if (!affine_is_const(b)) return binary(x, ATOM_MOD, a, b);
    int64_t k = b->constant;
    if (k == 0 || k == 1 || k == -1) return affine_const(x, 0);
    if (affine_is_const(a)) return affine_const(x, floor_mod(a->constant, k));
    if (k < 0) { // a % -k = -(-a % k)
        const Affine *m = affine_mod(x, affine_scale(x, a, -1), affine_scale(x, b, -1));
        return affine_scale(x, m, -1);
    }
    if (a->has_read) return binary(x, ATOM_MOD, a, b);
    Sum rest; // coefficients modulo k; they keep their sign, so i - 1 stays i - 1
    sum_init(&rest, a->constant % k);
    for (int i = 0; i < a->n; i++) sum_term(&rest, a->term[i].atom, a->term[i].coef % k);
    if (rest.n == 0) return affine_const(x, floor_mod(rest.constant, k));
    return binary(x, ATOM_MOD, finish(x, &rest), b);
}

// a - b when that is a constant.
static bool constant_difference(const Affine *a, const Affine *b, int64_t *out) {
    if (a->n != b->n || memcmp(a->term, b->term, (size_t)a->n * sizeof(Term))) return false;
    return checked_sub(a->constant, b->constant, out);
}

const Affine *affine_min(Exprs *x, const Affine *a, const Affine *b) {
    int64_t d;
    if (constant_difference(a, b, &d)) return d <= 0 ? a : b;
    return binary(x, ATOM_MIN, a, b);
}

const Affine *affine_max(Exprs *x, const Affine *a, const Affine *b) {
    int64_t d;
    if (constant_difference(a, b, &d)) return d >= 0 ? a : b;
    return binary(x, ATOM_MAX, a, b);
}

// --- Questions ---------------------------------------------------------------------------------

int64_t affine_coef(const Affine *a, int index) {
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER && a->term[i].atom->index == index)
            return a->term[i].coef;
    return 0;
}

static bool atom_uses_iter(const Atom *t, int index) {
    if (t->kind == ATOM_ITER) return t->index == index;
    if (t->kind == ATOM_PARAM) return false;
    if (t->kind != ATOM_READ) return affine_uses_iter(t->a, index) || affine_uses_iter(t->b, index);
    for (int d = 0; d < t->read->rank; d++)
        if (affine_uses_iter(t->read->sub[d], index)) return true;
    return false;
}

bool affine_uses_iter(const Affine *a, int index) {
    if (!a->has_iter) return false;
    for (int i = 0; i < a->n; i++)
        if (atom_uses_iter(a->term[i].atom, index)) return true;
    return false;
}

uint32_t affine_iter_mask(const Affine *a) {
    uint32_t mask = 0;
    if (!a->has_iter) return 0;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER)
            mask |= UINT32_C(1) << t->index;
        else if (t->a && t->has_iter)
            mask |= affine_iter_mask(t->a) | affine_iter_mask(t->b);
    }
    return mask;
}

int affine_as_iter(const Affine *a) {
    bool bare = a->n == 1 && a->constant == 0 && a->term[0].coef == 1;
    return bare && a->term[0].atom->kind == ATOM_ITER ? a->term[0].atom->index : -1;
}

// --- Substitution ------------------------------------------------------------------------------

static const Affine *rebuild(Exprs *x, AtomKind kind, const Affine *a, const Affine *b) {
    switch (kind) {
    case ATOM_DIV: return affine_div(x, a, b);
    case ATOM_MOD: return affine_mod(x, a, b);
    case ATOM_MIN: return affine_min(x, a, b);
    case ATOM_MAX: return affine_max(x, a, b);
    case ATOM_PROD: return affine_mul(x, a, b);
    default: bug("atom kind %d has no operands", kind);
    }
}

// The replacement of the atom; NULL: it stays.
static const Affine *subst_atom(Exprs *x, const Atom *t, const Subst *s) {
    const Affine *to = NULL;
    switch (t->kind) {
    case ATOM_ITER:
        if (s->iters) to = s->iters[t->index];
        return to || !s->import ? to : affine_iter(x, t->index);
    case ATOM_PARAM:
        if (s->params) to = s->params[t->index];
        return to || !s->import ? to : affine_param(x, t->index);
    case ATOM_READ: {
        const Access *r = access_subst(x, t->read, s);
        return r == t->read ? NULL : affine_read(x, r);
    }
    default: {
        const Affine *a = affine_subst(x, t->a, s), *b = affine_subst(x, t->b, s);
        return a == t->a && b == t->b ? NULL : rebuild(x, t->kind, a, b);
    }
    }
}

const Affine *affine_subst(Exprs *x, const Affine *a, const Subst *s) {
    bool touched = s->import || (s->iters && a->has_iter) || (s->params && a->has_param) ||
                   (s->map && a->has_read);
    if (!touched) return a;
    if (a->n == 1 && a->constant == 0 && a->term[0].coef == 1) { // most are one atom
        const Affine *to = subst_atom(x, a->term[0].atom, s);
        return to ? to : a;
    }
    Sum sum;
    sum_init(&sum, a->constant);
    for (int i = 0; i < a->n; i++) {
        const Affine *to = subst_atom(x, a->term[i].atom, s);
        if (to)
            sum_affine(&sum, to, a->term[i].coef);
        else
            sum_term(&sum, a->term[i].atom, a->term[i].coef);
    }
    return finish(x, &sum);
}

const Affine *affine_substitute(Exprs *x, const Affine *a, const Affine *const *iters,
                                const Affine *const *params) {
    return affine_subst(x, a, &(Subst){.iters = iters, .params = params});
}

// --- Evaluation --------------------------------------------------------------------------------

static bool eval_atom(const Atom *t, const int64_t *iters, const int64_t *params, AffineRead *read,
                      void *user, int64_t *out) {
    switch (t->kind) {
    case ATOM_ITER: *out = iters[t->index]; return true;
    case ATOM_PARAM: *out = params[t->index]; return true;
    case ATOM_READ:
        if (!read) bug("a read is evaluated where none can be");
        return read(user, t->read, out);
    default: break;
    }
    int64_t a, b;
    if (!affine_eval(t->a, iters, params, read, user, &a)) return false;
    if (!affine_eval(t->b, iters, params, read, user, &b)) return false;
    switch (t->kind) {
    case ATOM_DIV: *out = floor_div(a, b); return !(a == INT64_MIN && b == -1);
    case ATOM_MOD: *out = floor_mod(a, b); return true;
    case ATOM_MIN: *out = min_i64(a, b); return true;
    case ATOM_MAX: *out = max_i64(a, b); return true;
    default: return checked_mul(a, b, out);
    }
}

bool affine_eval(const Affine *a, const int64_t *iters, const int64_t *params, AffineRead *read,
                 void *user, int64_t *out) {
    int64_t sum = 0, known = a->constant;
    for (int i = 0; i < a->n; i++) {
        int64_t v;
        bool iter = a->term[i].atom->kind == ATOM_ITER;
        if (!eval_atom(a->term[i].atom, iters, params, read, user, &v)) return false;
        if (!checked_fma(a->term[i].coef, v, iter ? &known : &sum)) return false;
    }
    return checked_add(sum, known, out);
}

// --- Bounds ------------------------------------------------------------------------------------

typedef struct Interval {
    int64_t min, max;
} Interval;

static bool corners(Interval a, Interval b, bool op(int64_t, int64_t, int64_t *), Interval *out) {
    int64_t v[4];
    if (!op(a.min, b.min, &v[0]) || !op(a.min, b.max, &v[1]) || !op(a.max, b.min, &v[2]) ||
        !op(a.max, b.max, &v[3]))
        return false;
    out->min = min_i64(min_i64(v[0], v[1]), min_i64(v[2], v[3]));
    out->max = max_i64(max_i64(v[0], v[1]), max_i64(v[2], v[3]));
    return true;
}

static bool divide(int64_t a, int64_t b, int64_t *out) {
    *out = floor_div(a, b);
    return true;
}

// If the divisor may be 0 or negative: the quotient is no larger in magnitude than the dividend.
static bool div_bounds(Interval a, Interval b, Interval *out) {
    if (b.min > 0) return corners(a, b, divide, out);
    int64_t below, above;
    if (!checked_sub(0, a.min, &below) || !checked_sub(0, a.max, &above)) return false;
    int64_t m = max_i64(max_i64(a.max, below), 0);
    *out = (Interval){-m, m};
    return true;
}

static bool mod_bounds(Interval a, Interval b, Interval *out) {
    if (b.min == b.max && b.min > 0 && floor_div(a.min, b.min) == floor_div(a.max, b.min))
        *out = (Interval){floor_mod(a.min, b.min), floor_mod(a.max, b.min)};
    else if (b.min == INT64_MIN)
        return false;
    else
        *out = (Interval){min_i64(b.min + 1, 0), max_i64(b.max - 1, 0)};
    return true;
}

static bool atom_bounds(const Atom *t, const int64_t *lo, const int64_t *hi, Interval *out) {
    if (t->kind == ATOM_ITER) {
        *out = (Interval){lo[t->index], hi[t->index]};
        return true;
    }
    if (t->kind == ATOM_PARAM || t->kind == ATOM_READ) return false;
    Interval a, b;
    if (!affine_bounds(t->a, lo, hi, &a.min, &a.max)) return false;
    if (!affine_bounds(t->b, lo, hi, &b.min, &b.max)) return false;
    switch (t->kind) {
    case ATOM_DIV: return div_bounds(a, b, out);
    case ATOM_MOD: return mod_bounds(a, b, out);
    case ATOM_MIN: *out = (Interval){min_i64(a.min, b.min), min_i64(a.max, b.max)}; return true;
    case ATOM_MAX: *out = (Interval){max_i64(a.min, b.min), max_i64(a.max, b.max)}; return true;
    default: return corners(a, b, checked_mul, out);
    }
}

bool affine_bounds(const Affine *a, const int64_t *lo, const int64_t *hi, int64_t *min,
                   int64_t *max) {
    int64_t below = a->constant, above = a->constant;
    for (int i = 0; i < a->n; i++) {
        int64_t k = a->term[i].coef;
        Interval v;
        if (!atom_bounds(a->term[i].atom, lo, hi, &v)) return false;
        if (!checked_fma(k, k > 0 ? v.min : v.max, &below)) return false;
        if (!checked_fma(k, k > 0 ? v.max : v.min, &above)) return false;
    }
    *min = below;
    *max = above;
    return true;
}

// --- Reach -------------------------------------------------------------------------------------

static int64_t magnitude(int64_t v) { return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v; }

static int64_t atom_reach(const Atom *t, const int64_t *lo, const int64_t *hi) {
    if (t->kind == ATOM_READ) return 0;
    if (t->kind == ATOM_PARAM) return INT64_MAX;
    if (t->kind == ATOM_ITER) return max_i64(magnitude(lo[t->index]), magnitude(hi[t->index]));
    int64_t a = affine_reach(t->a, lo, hi), b = affine_reach(t->b, lo, hi), product;
    if (t->kind != ATOM_PROD) return max_i64(a, b);
    return checked_mul(a, b, &product) ? max_i64(product, max_i64(a, b)) : INT64_MAX;
}

int64_t affine_reach(const Affine *a, const int64_t *lo, const int64_t *hi) {
    int64_t reach = magnitude(a->constant);
    for (int i = 0; i < a->n; i++) {
        int64_t k = magnitude(a->term[i].coef), far = atom_reach(a->term[i].atom, lo, hi);
        if (!checked_fma(k, far, &reach)) return INT64_MAX;
    }
    return reach;
}
