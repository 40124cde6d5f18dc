// See overlap.h.
#include "run/overlap.h"

#include <string.h>

typedef __int128 Wide;

enum { MAX_TERMS = 2 * OVERLAP_MAX_RANK };

// low <= Σ coef·x <= high with 0 <= x <= most; coefficients positive.
typedef struct OverlapEquation {
    int n;
    struct Unknown {
        Wide coef, most;
    } x[MAX_TERMS];
    Wide reach[MAX_TERMS + 1]; // largest value of the terms from here on
    Wide gcd[MAX_TERMS + 1];   // divisor of all their values; 0: the only value is 0
    Wide low, high;
} OverlapEquation;

static Wide floor_of(Wide a, Wide b) { // b > 0
    Wide q = a / b;
    return q - (a % b < 0);
}

static Wide ceil_of(Wide a, Wide b) { return -floor_of(-a, b); }

static Wide gcd_of(Wide a, Wide b) {
    while (b) {
        Wide r = a % b;
        a = b;
        b = r;
    }
    return a;
}

// --- Building ------------------------------------------------------------------------------------

// Adds k·x, 0 <= x <= most, on the left; for a negative k, x is counted from the other end.
static void add_term(OverlapEquation *e, Wide k, Wide most) {
    if (k == 0 || most <= 0) return;
    if (k < 0) {
        e->low -= k * most;
        e->high -= k * most;
        k = -k;
    }
    for (int i = 0; i < e->n; i++) {
        if (e->x[i].coef != k) continue;
        e->x[i].most += most;
        return;
    }
    int at = e->n++;
    for (; at > 0 && e->x[at - 1].coef < k; at--) e->x[at] = e->x[at - 1]; // largest first
    e->x[at] = (struct Unknown){k, most};
}

static void remove_term(OverlapEquation *e, int i) {
    memmove(&e->x[i], &e->x[i + 1], (size_t)(--e->n - i) * sizeof *e->x);
}

// 12·x + 4·y with y up to 2 or more has all multiples of 4 as values: 4·(3·x + y).
static void merge(OverlapEquation *e) {
    for (int i = e->n - 2; i >= 0; i--) {
        struct Unknown *big = &e->x[i], *small = &e->x[i + 1];
        Wide times = big->coef / small->coef;
        if (big->coef % small->coef || small->most < times - 1) continue;
        small->most += times * big->most;
        remove_term(e, i);
    }
}

static void prepare(OverlapEquation *e) {
    merge(e);
    e->reach[e->n] = e->gcd[e->n] = 0;
    for (int i = e->n - 1; i >= 0; i--) {
        e->reach[i] = e->reach[i + 1] + e->x[i].coef * e->x[i].most;
        e->gcd[i] = gcd_of(e->x[i].coef, e->gcd[i + 1]);
    }
}

// --- Solving -------------------------------------------------------------------------------------

// Does the sum of the terms from i on have a value in low..high?
static OverlapAnswer solve(const OverlapEquation *e, int i, Wide low, Wide high, int64_t *budget) {
    if (low < 0) low = 0;
    if (high > e->reach[i]) high = e->reach[i];
    if (low > high) return OVERLAP_NO;
    if (low == 0) return OVERLAP_YES;
    if (ceil_of(low, e->gcd[i]) * e->gcd[i] > high) return OVERLAP_NO;
    Wide k = e->x[i].coef, first = ceil_of(low - e->reach[i + 1], k), last = floor_of(high, k);
    if (first < 0) first = 0;
    if (last > e->x[i].most) last = e->x[i].most;
    if (i == e->n - 1) return first <= last ? OVERLAP_YES : OVERLAP_NO;
    OverlapAnswer all = OVERLAP_NO;
    for (Wide x = last; x >= first; x--) {
        if (--*budget < 0) return OVERLAP_UNDECIDED;
        OverlapAnswer one = solve(e, i + 1, low - k * x, high - k * x, budget);
        if (one == OVERLAP_YES) return one;
        if (one == OVERLAP_UNDECIDED) all = one;
    }
    return all;
}

static bool is_empty(const StridedArray *a) {
    for (int d = 0; d < a->rank; d++)
        if (a->size[d] <= 0) return true;
    return false;
}

// a + Σ s·x + p = b + Σ t·y + q with p, q inside an element: Σ s·x - Σ t·y lies in a range.
OverlapAnswer overlap_test(const StridedArray *a, const StridedArray *b, int64_t *budget) {
    if (is_empty(a) || is_empty(b)) return OVERLAP_NO;
    Wide apart = (Wide)b->at - (Wide)a->at;
    OverlapEquation e = {.low = apart - (a->bytes - 1), .high = apart + (b->bytes - 1)};
    for (int d = 0; d < a->rank; d++) add_term(&e, (Wide)a->stride[d] * a->bytes, a->size[d] - 1);
    for (int d = 0; d < b->rank; d++) add_term(&e, -(Wide)b->stride[d] * b->bytes, b->size[d] - 1);
    prepare(&e);
    return solve(&e, 0, e.low, e.high, budget);
}

// For each first dimension in which two elements differ: with a difference of 1..size-1 there, and
// any difference in the later dimensions, can they be less than an element apart?
OverlapAnswer overlap_itself(const StridedArray *a, int64_t *budget) {
    if (is_empty(a)) return OVERLAP_NO;
    OverlapAnswer all = OVERLAP_NO;
    for (int k = 0; k < a->rank; k++) {
        if (a->size[k] < 2) continue;
        Wide first = (Wide)a->stride[k] * a->bytes;
        OverlapEquation e = {.low = -first - (a->bytes - 1), .high = -first + (a->bytes - 1)};
        add_term(&e, first, a->size[k] - 2);
        for (int d = k + 1; d < a->rank; d++) {
            Wide step = (Wide)a->stride[d] * a->bytes;
            add_term(&e, step, a->size[d] - 1);
            add_term(&e, -step, a->size[d] - 1);
        }
        prepare(&e);
        OverlapAnswer one = solve(&e, 0, e.low, e.high, budget);
        if (one == OVERLAP_YES) return one;
        if (one == OVERLAP_UNDECIDED) all = one;
    }
    return all;
}
