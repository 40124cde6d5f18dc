// The Omega test. Pugh, The Omega Test: a fast and practical integer programming algorithm for
// dependence analysis, 1991.
//
// A system is a matrix of rows over all variables, with a bound on either side of each variable.
// The loop of omega_solve simplifies (common divisors, bounds from rows, rows from bounds), takes
// an equality away by substitution or else a variable by elimination, and ends when no row is left.
// Each step is recorded so that a point of what is left can be lifted back. Only inexact
// eliminations branch, on copies.
#include "program/omega.h"

#include "base/checked.h"

#include <string.h>

enum { MAX_ROWS = 512, MAX_SPLINTERS = 1 << 14 };

// How an eliminated variable gets its value back, once those that were left have theirs.
struct OmegaStep {
    const OmegaStep *next;
    int var;
    int nrows; // 0: var = row; else var lies between lo, hi and what these inequalities say
    const int64_t *row;
    int64_t lo, hi;
};

// --- Rows --------------------------------------------------------------------------------------

void omega_init(Omega *o, Arena *arena, int n) {
    *o = (Omega){.arena = arena, .n = n};
    o->lo = arena_new_n(arena, int64_t, 2 * n);
    o->hi = o->lo + n;
    o->gone = arena_new_n(arena, bool, n);
}

static void reserve_rows(Omega *o, int cap) {
    size_t stride = (size_t)o->n + 1;
    int64_t *row = arena_new_n(o->arena, int64_t, (size_t)cap * stride);
    bool *equal = arena_new_n(o->arena, bool, cap);
    if (o->nrows) {
        memcpy(row, o->row, (size_t)o->nrows * stride * sizeof *row);
        memcpy(equal, o->equal, (size_t)o->nrows * sizeof *equal);
    }
    o->row = row;
    o->equal = equal;
    o->cap = cap;
}

void omega_copy(Omega *to, const Omega *from) {
    size_t n = (size_t)from->n;
    omega_init(to, from->arena, from->n);
    memcpy(to->lo, from->lo, 2 * n * sizeof *to->lo);
    memcpy(to->gone, from->gone, n * sizeof *to->gone);
    to->row = from->row;
    to->equal = from->equal;
    to->nrows = from->nrows;
    to->steps = from->steps;
    to->overflow = from->overflow;
    reserve_rows(to, from->nrows + 8);
}

static int64_t *row_at(const Omega *o, int r) { return o->row + (size_t)r * ((size_t)o->n + 1); }

int64_t *omega_row(Omega *o, bool equal) {
    if (o->nrows == o->cap) reserve_rows(o, o->cap ? 2 * o->cap : 8);
    int64_t *row = row_at(o, o->nrows);
    memset(row, 0, ((size_t)o->n + 1) * sizeof *row);
    o->equal[o->nrows++] = equal;
    return row;
}

static void drop_row(Omega *o, int r) {
    int last = --o->nrows;
    if (r == last) return;
    memcpy(row_at(o, r), row_at(o, last), ((size_t)o->n + 1) * sizeof *o->row);
    o->equal[r] = o->equal[last];
}

// row += k * from
static void add_row(Omega *o, int64_t *row, const int64_t *from, int64_t k) {
    for (int v = 0; v <= o->n; v++)
        if (from[v] && (!checked_fma(k, from[v], &row[v]) || row[v] == INT64_MIN))
            o->overflow = true;
}

// --- Simplifying -------------------------------------------------------------------------------

typedef __int128 Wide; // sums of products of a coefficient and a bound

static Wide wide_floor(Wide a, int64_t b) { // b > 0
    Wide q = a / b;
    return q - (a % b < 0);
}

// The result of inspecting one row.
typedef struct OmegaLook {
    Wide min, max;
    int count, var; // variables in it; the last one
    int64_t gcd;
} OmegaLook;

// Puts in variables that have one value only, and adds up.
static OmegaLook look(Omega *o, int64_t *row) {
    OmegaLook k = {0};
    for (int v = 0; v < o->n; v++) {
        if (!row[v]) continue;
        if (o->lo[v] == o->hi[v]) {
            if (!checked_fma(row[v], o->lo[v], &row[o->n])) o->overflow = true;
            row[v] = 0;
            continue;
        }
        bool up = row[v] > 0;
        k.min += (Wide)row[v] * (up ? o->lo[v] : o->hi[v]);
        k.max += (Wide)row[v] * (up ? o->hi[v] : o->lo[v]);
        k.gcd = k.gcd == 1 ? 1 : gcd_i64(row[v], k.gcd);
        k.count++;
        k.var = v;
    }
    k.min += row[o->n];
    k.max += row[o->n];
    return k;
}

static bool raise_lo(Omega *o, int v, Wide to, bool *changed) {
    if (to <= o->lo[v]) return true;
    if (to > o->hi[v]) return false;
    o->lo[v] = (int64_t)to;
    return *changed = true;
}

static bool lower_hi(Omega *o, int v, Wide to, bool *changed) {
    if (to >= o->hi[v]) return true;
    if (to < o->lo[v]) return false;
    o->hi[v] = (int64_t)to;
    return *changed = true;
}

// c*x + others >= 0 with others at most `rest`.
static bool tighten(Omega *o, int v, int64_t c, Wide rest, bool *changed) {
    if (c > 0) return raise_lo(o, v, -wide_floor(rest, c), changed);
    return lower_hi(o, v, wide_floor(rest, -c), changed);
}

static bool tighten_row(Omega *o, const int64_t *row, bool equal, const OmegaLook *k,
                        bool *changed) {
    for (int v = 0; v < o->n; v++) {
        int64_t c = row[v];
        if (!c || c == INT64_MIN) continue;
        Wide most = (Wide)c * (c > 0 ? o->hi[v] : o->lo[v]);
        Wide least = (Wide)c * (c > 0 ? o->lo[v] : o->hi[v]);
        // Bounds that this row moved before only moved inwards: the sums are still safe.
        if (!tighten(o, v, c, k->max - most, changed)) return false;
        if (equal && !tighten(o, v, -c, -(k->min - least), changed)) return false;
    }
    return true;
}

// False when the row cannot hold; *keep tells whether it still says something.
static bool simplify_row(Omega *o, int r, bool *keep, bool *changed) {
    int64_t *row = row_at(o, r);
    bool equal = o->equal[r];
    OmegaLook k = look(o, row);
    *keep = false;
    if (k.max < 0 || (equal && k.min > 0)) return false;
    if (k.count == 0 || (!equal && k.min >= 0)) return true;
    if (k.gcd > 1) {
        if (equal && row[o->n] % k.gcd) return false;
        for (int v = 0; v < o->n; v++) row[v] /= k.gcd;
        row[o->n] = floor_div(row[o->n], k.gcd);
        k = look(o, row);
        if (k.max < 0) return false;
    }
    *keep = k.count > 1;
    return tighten_row(o, row, equal, &k, changed);
}

static bool simplify(Omega *o, int64_t *budget) {
    bool changed = true;
    for (int pass = 0; changed && pass < 4; pass++) {
        changed = false;
        *budget -= o->nrows;
        for (int r = 0; r < o->nrows;) {
            bool keep;
            if (!simplify_row(o, r, &keep, &changed)) return false;
            if (keep)
                r++;
            else
                drop_row(o, r);
        }
    }
    return true;
}

// --- Equalities --------------------------------------------------------------------------------

static void push_step(Omega *o, OmegaStep step) {
    OmegaStep *s = arena_new(o->arena, OmegaStep);
    *s = step;
    s->next = o->steps;
    o->steps = s;
}

// lo <= ±y + k <= hi as bounds of y; false when `is` is nothing as simple.
static bool pass_on_bounds(Omega *o, const int64_t *is, int64_t lo, int64_t hi) {
    int y = -1;
    bool changed;
    for (int q = 0; q < o->n; q++) {
        if (!is[q]) continue;
        if (y >= 0 || (is[q] != 1 && is[q] != -1)) return false;
        y = q;
    }
    if (y < 0) return false;
    Wide least = (Wide)lo - is[o->n], most = (Wide)hi - is[o->n];
    if (!raise_lo(o, y, is[y] > 0 ? least : -most, &changed) ||
        !lower_hi(o, y, is[y] > 0 ? most : -least, &changed))
        o->empty = true;
    return true;
}

// Puts `is` in for variable v; when `is` mentions v, that is a new variable in its place.
static void substitute(Omega *o, int v, const int64_t *is) {
    size_t bytes = ((size_t)o->n + 1) * sizeof *is;
    push_step(o, (OmegaStep){.var = v, .row = is});
    for (int r = 0; r < o->nrows; r++) {
        int64_t *row = row_at(o, r), c = row[v];
        if (!c) continue;
        row[v] = 0;
        add_row(o, row, is, c);
    }
    int64_t lo = o->lo[v], hi = o->hi[v];
    o->gone[v] = !is[v];
    if (o->gone[v]) o->lo[v] = o->hi[v] = 0;
    if (o->gone[v] && pass_on_bounds(o, is, lo, hi)) return;
    int64_t *above = omega_row(o, false); // is - lo >= 0
    memcpy(above, is, bytes);
    if (!checked_sub(above[o->n], lo, &above[o->n])) o->overflow = true;
    int64_t *below = omega_row(o, false); // hi - is >= 0
    add_row(o, below, is, -1);
    if (!checked_add(below[o->n], hi, &below[o->n])) o->overflow = true;
}

// The equality with the smallest coefficient, and that variable.
static int pick_equality(const Omega *o, int *var) {
    int best = -1;
    int64_t least = INT64_MAX;
    for (int r = 0; r < o->nrows && least > 1; r++) {
        if (!o->equal[r]) continue;
        const int64_t *row = row_at(o, r);
        for (int v = 0; v < o->n; v++) {
            int64_t size = row[v] < 0 ? -row[v] : row[v];
            if (size == 0 || size >= least) continue;
            least = size;
            best = r;
            *var = v;
        }
    }
    return best;
}

// With a unit coefficient the variable goes. Otherwise  a*x + Σ b*y + k = 0  becomes, with
// x' = x + Σ round(b/a)*y,  a*x' + Σ (b - a*round(b/a))*y + k = 0: coefficients at least halve.
static void eliminate_equality(Omega *o, int r, int v) {
    int64_t *row = row_at(o, r), a = row[v];
    int64_t *is = arena_new_n(o->arena, int64_t, o->n + 1);
    if (a == 1 || a == -1) {
        add_row(o, is, row, -a);
        is[v] = 0;
        drop_row(o, r);
        substitute(o, v, is);
        return;
    }
    Wide min = o->lo[v], max = o->hi[v]; // of x'
    for (int q = 0; q < o->n; q++) {
        if (q == v || !row[q]) continue;
        int64_t f = floor_div(row[q], a), rest = row[q] - f * a;
        if (2 * (Wide)(rest < 0 ? -rest : rest) > (a < 0 ? -(Wide)a : a)) f++;
        is[q] = -f;
        min += (Wide)f * (f > 0 ? o->lo[q] : o->hi[q]);
        max += (Wide)f * (f > 0 ? o->hi[q] : o->lo[q]);
    }
    is[v] = 1;
    substitute(o, v, is);
    if (min < INT64_MIN / 4 || max > INT64_MAX / 4) o->overflow = true;
    o->lo[v] = (int64_t)min;
    o->hi[v] = (int64_t)max;
}

// --- Inequalities ------------------------------------------------------------------------------

typedef struct BoundCount {
    int lower, upper;
    int64_t lower_max, upper_max; // largest coefficients, as absolute values
} BoundCount;

static bool inexact(const BoundCount *c) { return c->lower_max > 1 && c->upper_max > 1; }

static BoundCount count_rows(const Omega *o, int v) {
    BoundCount c = {0};
    for (int r = 0; r < o->nrows; r++) {
        int64_t k = row_at(o, r)[v];
        if (k > 0) c.lower++, c.lower_max = max_i64(c.lower_max, k);
        if (k < 0) c.upper++, c.upper_max = max_i64(c.upper_max, -k);
    }
    return c;
}

// The variable whose elimination is exact and makes the fewest rows; inexact ones last.
static int pick_variable(const Omega *o, BoundCount *count) {
    int best = -1;
    int64_t least = INT64_MAX;
    for (int v = 0; v < o->n; v++) {
        if (o->gone[v] || o->lo[v] == o->hi[v]) continue;
        BoundCount c = count_rows(o, v);
        if (c.lower + c.upper == 0) continue;
        int64_t cost = (int64_t)c.lower * c.upper;
        if (inexact(&c))
            cost += min_i64(c.lower_max, 1 << 20) * min_i64(c.upper_max, 1 << 20) << 16;
        if (cost >= least) continue;
        least = cost;
        best = v;
        *count = c;
    }
    return best;
}

// The rows with v, kept for the way back, and left out of the system.
static int64_t *take_rows(Omega *o, int v, int n) {
    size_t stride = (size_t)o->n + 1;
    int64_t *taken = arena_new_n(o->arena, int64_t, (size_t)n * stride);
    int at = 0;
    for (int r = 0; r < o->nrows;) {
        if (!row_at(o, r)[v]) {
            r++;
            continue;
        }
        memcpy(taken + stride * (size_t)at++, row_at(o, r), stride * sizeof *taken);
        drop_row(o, r);
    }
    return taken;
}

// Row with v put at one of its ends.
static void put_end(Omega *o, const int64_t *from, int v, int64_t end) {
    int64_t *row = omega_row(o, false);
    memcpy(row, from, ((size_t)o->n + 1) * sizeof *row);
    row[v] = 0;
    if (!checked_fma(from[v], end, &row[o->n])) o->overflow = true;
}

// b*lower + a*upper >= (dark ? (a-1)*(b-1) : 0)
static void put_pair(Omega *o, const int64_t *lower, const int64_t *upper, int v, bool dark) {
    int64_t a = lower[v], b = -upper[v], slack;
    int64_t *row = omega_row(o, false);
    add_row(o, row, lower, b);
    add_row(o, row, upper, a);
    row[v] = 0;
    if (!dark) return;
    if (!checked_mul(a - 1, b - 1, &slack) || !checked_sub(row[o->n], slack, &row[o->n]))
        o->overflow = true;
}

static void eliminate(Omega *o, int v, const BoundCount *c, bool dark) {
    size_t stride = (size_t)o->n + 1;
    int n = c->lower + c->upper;
    int64_t *rows = take_rows(o, v, n);
    push_step(o, (OmegaStep){.var = v, .nrows = n, .row = rows, .lo = o->lo[v], .hi = o->hi[v]});
    for (int i = 0; i < n; i++) {
        const int64_t *row = rows + stride * (size_t)i;
        put_end(o, row, v, row[v] > 0 ? o->hi[v] : o->lo[v]);
        if (row[v] < 0) continue;
        for (int j = 0; j < n; j++) {
            const int64_t *other = rows + stride * (size_t)j;
            if (other[v] < 0) put_pair(o, row, other, v, dark);
        }
    }
    o->gone[v] = true;
    o->lo[v] = o->hi[v] = 0;
}

// --- The way back ------------------------------------------------------------------------------

static bool value_of(const Omega *o, const int64_t *row, const int64_t *x, Wide *out) {
    *out = row[o->n];
    for (int v = 0; v < o->n; v++) *out += (Wide)row[v] * x[v];
    return *out >= INT64_MIN && *out <= INT64_MAX;
}

static bool lift_step(const Omega *o, const OmegaStep *s, int64_t *x) {
    Wide lo = s->lo, hi = s->hi, rest;
    if (s->nrows == 0) {
        if (!value_of(o, s->row, x, &rest)) return false;
        x[s->var] = (int64_t)rest;
        return true;
    }
    x[s->var] = 0;
    for (int i = 0; i < s->nrows; i++) {
        const int64_t *row = s->row + ((size_t)o->n + 1) * (size_t)i;
        int64_t c = row[s->var];
        if (!value_of(o, row, x, &rest)) return false;
        Wide bound = c > 0 ? -wide_floor(rest, c) : wide_floor(rest, -c);
        if (c > 0 && bound > lo) lo = bound;
        if (c < 0 && bound < hi) hi = bound;
    }
    x[s->var] = (int64_t)lo;
    return lo <= hi;
}

static OmegaAnswer lift(const Omega *o, int64_t *x) {
    for (int v = 0; v < o->n; v++) x[v] = o->gone[v] ? 0 : o->lo[v];
    for (const OmegaStep *s = o->steps; s; s = s->next)
        if (!lift_step(o, s, x)) return OMEGA_MISS;
    return OMEGA_YES;
}

// --- The search --------------------------------------------------------------------------------

static OmegaAnswer shadow(const Omega *o, int v, const BoundCount *c, bool dark, int64_t *x,
                          int64_t *budget) {
    ArenaMark mark = arena_mark(o->arena);
    Omega copy;
    omega_copy(&copy, o);
    eliminate(&copy, v, c, dark);
    OmegaAnswer answer = omega_solve(&copy, x, budget);
    arena_release(o->arena, mark);
    return answer;
}

// One part of the points: those where `row` == 0 or, without a row, where v is `value`.
static OmegaAnswer part(const Omega *o, const int64_t *row, int v, int64_t value, int64_t *x,
                        int64_t *budget) {
    ArenaMark mark = arena_mark(o->arena);
    Omega copy;
    omega_copy(&copy, o);
    if (row) {
        int64_t *to = omega_row(&copy, true);
        memcpy(to, row, ((size_t)o->n + 1) * sizeof *row);
        if (!checked_sub(to[o->n], value, &to[o->n])) copy.overflow = true;
    } else {
        copy.lo[v] = copy.hi[v] = value;
    }
    OmegaAnswer answer = omega_solve(&copy, x, budget);
    arena_release(o->arena, mark);
    return answer;
}

// The number of splinters above the lower bound with coefficient a.
static int64_t splinters_of(int64_t a, int64_t b) { return a > 1 ? (a * b - a - b) / b + 1 : 0; }

// A point outside of the dark shadow lies close above some lower bound, which is tried step by
// step; or all values of v are, when they are fewer.
static OmegaAnswer splinters(const Omega *o, int v, const BoundCount *c, int64_t *x,
                             int64_t *budget) {
    OmegaAnswer result = OMEGA_NO;
    int64_t b = c->upper_max, total = 0;
    if (c->lower_max > 1 << 20 || b > 1 << 20) return OMEGA_UNDECIDED;
    for (int r = 0; r < o->nrows; r++) total += splinters_of(row_at(o, r)[v], b);
    bool values = (Wide)o->hi[v] - o->lo[v] < total;
    if (!values && total > MAX_SPLINTERS) return OMEGA_UNDECIDED;
    for (int r = 0; r < (values ? 1 : o->nrows); r++) {
        const int64_t *row = values ? NULL : row_at(o, r);
        int64_t first = values ? o->lo[v] : 0;
        int64_t last = values ? o->hi[v] : splinters_of(row[v], b) - 1;
        for (int64_t k = first; k <= last; k++) {
            OmegaAnswer answer = part(o, row, v, k, x, budget);
            if (answer == OMEGA_YES || answer == OMEGA_UNDECIDED) return answer;
            if (answer == OMEGA_MISS) result = OMEGA_MISS;
        }
    }
    return result;
}

static OmegaAnswer split(const Omega *o, int v, const BoundCount *c, int64_t *x, int64_t *budget) {
    OmegaAnswer real = shadow(o, v, c, false, x, budget);
    if (real != OMEGA_MISS) return real;
    OmegaAnswer dark = shadow(o, v, c, true, x, budget);
    if (dark == OMEGA_YES || dark == OMEGA_UNDECIDED) return dark;
    OmegaAnswer rest = splinters(o, v, c, x, budget);
    return rest == OMEGA_NO ? dark : rest;
}

OmegaAnswer omega_solve(Omega *o, int64_t *point, int64_t *budget) {
    for (int v = 0; v < o->n; v++)
        if (o->lo[v] > o->hi[v]) return OMEGA_NO;
    for (;;) {
        bool possible = simplify(o, budget) && !o->empty;
        if (o->overflow || *budget < 0 || o->nrows > MAX_ROWS) return OMEGA_UNDECIDED;
        if (!possible) return OMEGA_NO;
        if (o->nrows == 0) return lift(o, point);
        int v = 0, r = pick_equality(o, &v);
        if (r >= 0) {
            do eliminate_equality(o, r, v);
            while ((r = pick_equality(o, &v)) >= 0 &&
                   (row_at(o, r)[v] == 1 || row_at(o, r)[v] == -1));
            continue;
        }
        BoundCount c = {0};
        v = pick_variable(o, &c);
        if (v < 0) continue; // every variable has one value by now
        if (inexact(&c)) return split(o, v, &c, point, budget);
        eliminate(o, v, &c, false);
    }
}
