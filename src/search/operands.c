#include "search/operands.h"

#include "base/checked.h"
#include "base/map.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LARGEST = 3, PATTERN = 0xa5, LINE = 64 };

// --- Magnitudes of values ------------------------------------------------------------------------
// The largest magnitude of every tensor's elements, as long as all of them are integers, the same
// in any order of sums; INFINITY once that is unknown.

typedef struct Magnitudes {
    const Stmt *stmt;
    double *most; // per tensor
} Magnitudes;

// Integers wrap. Floats are rounded, to integers again, and in one way only.
static double held(Type t, double size) {
    if (type_is_float(t)) return size <= ldexp(1, type_info[t].bias) ? size : INFINITY;
    return size < INFINITY ? fmin(size, ldexp(1, type_info[t].bits)) : size;
}

// A sum of this magnitude is the same in any order if nothing is rounded.
static double summed(Type t, double size) {
    return type_is_float(t) && size > ldexp(1, type_info[t].precision) ? INFINITY : size;
}

static double index_size(const Magnitudes *x, const Affine *a) {
    double sum = fabs((double)a->constant);
    if (!a->linear) return INFINITY;
    for (int i = 0; i < a->n; i++) {
        const Iter *it = &x->stmt->iter[a->term[i].atom->index];
        double most = fmax(fabs((double)iter_lo(it)), fabs((double)iter_hi(it)));
        sum += fabs((double)a->term[i].coef) * most;
    }
    return sum;
}

static double const_size(const Expr *e) {
    if (!type_is_float(e->type)) return fabs((double)e->value.i);
    return e->value.f == floor(e->value.f) ? fabs(e->value.f) : INFINITY;
}

static double value_size(const Magnitudes *x, const Expr *e);

static double op_size(const Magnitudes *x, const Expr *e) {
    double a[4] = {0};
    for (int i = 0; i < e->n && i < 4; i++) {
        a[i] = value_size(x, e->arg[i]);
        if (a[i] >= INFINITY) return INFINITY;
    }
    switch (e->op) {
    case OP_ADD:
    case OP_SUB: return a[0] + a[1];
    case OP_MUL: return a[0] * a[1];
    case OP_FMA: return a[0] * a[1] + a[2];
    case OP_MIN:
    case OP_MAX:
    case OP_FMIN:
    case OP_FMAX: return fmax(a[0], a[1]);
    case OP_NEG:
    case OP_ABS:
    case OP_FABS:
    case OP_RELU:
    case OP_CEIL:
    case OP_FLOOR:
    case OP_ROUND:
    case OP_TRUNC:
    case OP_CAST: return a[0];
    case OP_SELECT: return fmax(a[1], a[2]);
    default: break;
    }
    if (op_info[e->op].class == OP_COMPARE || op_info[e->op].class == OP_LOGIC) return 1;
    return type_is_float(e->type) ? INFINITY : ldexp(1, type_info[e->type].bits);
}

static double value_size(const Magnitudes *x, const Expr *e) {
    switch (e->kind) {
    case EXPR_CONST: return const_size(e);
    case EXPR_INDEX: return index_size(x, e->index);
    case EXPR_READ: return x->most[e->access->tensor];
    case EXPR_OP: break;
    }
    Type computed = e->op == OP_CAST ? e->type : type_compute(e->type);
    return held(computed, op_size(x, e));
}

// The number of values that are combined into one element.
static double terms(const Stmt *s) {
    double n = 1;
    bool scatter = s->write->has_read;
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction || scatter)
            n *= fmax(0, (double)(iter_hi(&s->iter[i]) - iter_lo(&s->iter[i])));
    return n;
}

static void follow(Magnitudes *x, const Program *p, const Stmt *s) {
    double v = value_size(x, s->value), *most = &x->most[s->write->tensor];
    double before = s->init ? 0 : *most;
    if (s->op == REDUCE_ADD)
        v = summed(p->tensors.at[s->write->tensor].type, v * terms(s) + before);
    else if (s->op == REDUCE_MUL)
        v = v <= 1 && before <= 1 ? 1 : INFINITY;
    *most = held(p->tensors.at[s->write->tensor].type, fmax(*most, v));
}

static double unit_roundoff(Type t) {
    return type_is_float(t) ? ldexp(1, 1 - type_info[t].precision) : 0;
}

// The relative rounding error of one statement's results: proportional to the terms of a sum, in
// its type.
static double statement_rounding(const Program *p, const Stmt *s) {
    bool sums = s->op == REDUCE_ADD || s->op == REDUCE_MUL;
    return 4 * unit_roundoff(p->tensors.at[s->write->tensor].type) * (sums ? terms(s) : 1);
}

// How often a statement runs: once in each of its steps.
static double steps_of(const Stmt *s) {
    double n = 1;
    for (int i = 0; i < s->serial; i++)
        n *= fmax(0, (double)(iter_hi(&s->iter[i]) - iter_lo(&s->iter[i])));
    return n;
}

// One step of a group. `any`: what grows in it may reach any magnitude. Whether something grows.
static bool follow_step(Magnitudes *x, const Program *p, int from, int to, bool any) {
    bool grows = false;
    for (int i = from; i < to; i++) {
        const Stmt *s = x->stmt = &p->stmts.at[i];
        double *most = &x->most[s->write->tensor], before = *most;
        follow(x, p, s);
        if (*most <= before) continue;
        grows = true;
        if (any && *most < INFINITY) *most = held(p->tensors.at[s->write->tensor].type, DBL_MAX);
    }
    return grows;
}

enum { MOST_FOLLOWED = 100000 }; // steps, one by one

// All steps of a group: a step reads what those before it computed.
static void follow_group(Magnitudes *x, const Program *p, int from, int to) {
    double steps = 0;
    bool grows = true;
    for (int i = from; i < to; i++) steps = fmax(steps, steps_of(&p->stmts.at[i]));
    for (double n = 0; n < steps && grows; n++)
        grows = follow_step(x, p, from, to, n >= MOST_FOLLOWED);
}

// Whether every result is exact. *rounding is the sum of the errors of all statements.
static bool follow_sizes(Arena *arena, const Program *p, const ValueRange *ranges,
                         double *rounding) {
    Magnitudes x = {.most = arena_new_n(arena, double, p->tensors.n)};
    bool exact = true;
    int nargs = p->ninputs + p->noutputs;
    for (int i = 0; i < nargs; i++) {
        x.most[i] = p->tensors.at[i].role == ROLE_OUTPUT ? 0 : LARGEST;
        if (ranges && ranges[i].used)
            x.most[i] = fmax(fabs((double)ranges[i].lo), fabs((double)ranges[i].hi));
    }
    *rounding = 0;
    for (int i = 0; i < p->stmts.n; i++)
        *rounding += statement_rounding(p, &p->stmts.at[i]) * steps_of(&p->stmts.at[i]);
    for (int i = 0; i < p->stmts.n; i = group_end(p, i)) follow_group(&x, p, i, group_end(p, i));
    for (int i = p->ninputs; i < nargs; i++) exact &= x.most[i] < INFINITY;
    return exact;
}

// --- Choosing among elements ---------------------------------------------------------------------

static bool is_choice(const Expr *e) {
    if (e->kind == EXPR_READ || e->kind == EXPR_CONST) return true;
    if (e->kind != EXPR_OP) return false;
    bool chooses = e->op == OP_MAX || e->op == OP_MIN || e->op == OP_FMAX || e->op == OP_FMIN ||
                   e->op == OP_SELECT || e->op == OP_NEG || e->op == OP_ABS || e->op == OP_NOT ||
                   e->op == OP_AND || e->op == OP_OR || op_info[e->op].class == OP_COMPARE;
    for (int i = 0; i < e->n && chooses; i++) chooses = is_choice(e->arg[i]);
    return chooses;
}

// Maxima and minima of elements are exact whatever the elements are.
static bool only_chooses(const Program *p) {
    bool extremes = false;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        if (s->op == REDUCE_ADD || s->op == REDUCE_MUL || !is_choice(s->value)) return false;
        extremes |= s->op != REDUCE_ASSIGN;
    }
    return extremes;
}

// --- Scales of inputs ----------------------------------------------------------------------------

// The inputs that are factors of a product.
enum { FACTORS = 8 };
typedef struct Factors {
    const Program *p;
    int n, input[FACTORS];
    bool positive; // a square or a magnitude: sums of them grow with every term
} Factors;

// The number of inputs that are multiplied in an expression, without other factors; for a sum or
// difference, that of the term with the most.
static int find_factors(Factors *f, const Expr *e) {
    int degree = 0;
    if (e->kind == EXPR_READ && e->access->tensor < f->p->ninputs && f->n < FACTORS) {
        for (int i = 0; i < f->n; i++) f->positive |= f->input[i] == e->access->tensor;
        f->input[f->n++] = e->access->tensor;
        return 1;
    }
    if (e->kind != EXPR_OP) return 0;
    switch (e->op) {
    case OP_MUL:
    case OP_FMA: return find_factors(f, e->arg[0]) + find_factors(f, e->arg[1]);
    case OP_ABS:
    case OP_FABS: f->positive = true; return find_factors(f, e->arg[0]);
    case OP_CAST:
    case OP_NEG: return find_factors(f, e->arg[0]);
    case OP_ADD:
    case OP_SUB:
        degree = find_factors(f, e->arg[0]);
        int other = find_factors(f, e->arg[1]);
        return degree > other ? degree : other;
    default: return 0;
    }
}

// For each argument the magnitude of its elements for which sums of products are about as large as
// their computed factor, or as 1, so that a chain of layers stays in that range.
static const double *input_scales(Arena *arena, const Program *p) {
    int nargs = p->ninputs + p->noutputs;
    double *scale = arena_new_n(arena, double, nargs + 1);
    for (int i = 0; i < nargs; i++) scale[i] = 1;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        Factors f = {.p = p};
        if (s->op != REDUCE_ADD) continue;
        int degree = find_factors(&f, s->value);
        double growth = f.positive ? 1 : 0.5;
        double each = pow(fmax(terms(s), 1), degree ? -growth / degree : 0);
        for (int k = 0; k < f.n; k++) scale[f.input[k]] = fmin(scale[f.input[k]], each);
    }
    return scale;
}

// --- Data ----------------------------------------------------------------------------------------

static uint64_t random_next(uint64_t *state) {
    return hash_mix(*state += 0x9e3779b97f4a7c15ull, 0x2545f4914f6cdd1dull);
}

// The values of an argument.
typedef struct Filling {
    const ValueRange *range; // NULL: any
    double real;             // floats between this and its negative; 0: small integers
    uint64_t seed;
    bool steady; // floats in every data set
} Filling;

static Value random_value(Type type, const Filling *with, uint64_t *state) {
    static const int8_t some[] = {-3, -2, -1, 1, 2, 3};
    const ValueRange *range = with->range;
    uint64_t r = random_next(state) >> 16;
    int64_t v;
    if (with->real > 0 && type_is_float(type) && !(range && range->used)) {
        double unit = (double)(r >> 24) * 0x1p-23 - 1;
        return type_convert(type, TYPE_F64, (Value){.f = unit * with->real});
    }
    if (range && range->used)
        v = range->lo + (range->hi >= range->lo
                             ? (int64_t)(r % ((uint64_t)range->hi - (uint64_t)range->lo + 1))
                             : 0);
    else if (type_info[type].class == CLASS_BOOL)
        v = (int64_t)(r & 1);
    else
        v = type_info[type].class == CLASS_UINT ? (int64_t)(r % 3) + 1 : some[r % 6];
    return type_convert(type, TYPE_I64, (Value){.i = v});
}

// All elements of an image are filled, even those outside the view.
static void fill(char *data, Type type, size_t bytes, const Filling *with) {
    enum { PERIOD = 4099 }; // values repeat, because copying is faster than drawing
    uint64_t seed = with->seed;
    size_t step = (size_t)type_info[type].bytes, period = PERIOD * step;
    for (size_t i = 0; i < bytes && i < period; i += step)
        type_store(type, data + i, random_value(type, with, &seed));
    for (size_t i = period; i < bytes; i += period)
        memcpy(data + i, data, bytes - i < period ? bytes - i : period);
}

// The numbers of elements below the first one, and from the first to the last one.
static bool extent(const View *v, int64_t *below, int64_t *above) {
    int64_t dense = 1;
    *below = *above = 0;
    for (int d = v->rank - 1; d >= 0; d--) {
        int64_t stride = v->stride ? v->stride[d] : dense, last;
        if (v->size[d] == 0) return *below = 0, *above = -1, true;
        if (!checked_mul(v->size[d] - 1, stride, &last)) return false;
        if (!checked_add(last < 0 ? *below : *above, last < 0 ? -last : last,
                         last < 0 ? below : above))
            return false;
        if (!checked_mul(dense, v->size[d], &dense)) return false;
    }
    return true;
}

// One data set of an argument: a copy of the user's memory, including gaps, or random values.
static bool add_data(Operand *x, DataSet set, const char *given, size_t bytes,
                     const Filling *with) {
    Guarded *g = &x->data[set];
    if (!guarded_new(g, bytes, false)) return false;
    if (given)
        memcpy(g->data, given, bytes);
    else
        fill(g->data, x->type, bytes, with);
    guarded_protect(g);
    return true;
}

static const Guarded *content(const Operand *x, DataSet set) {
    while (set > DATA_WHOLE && !x->data[set].map) set--;
    return &x->data[set];
}

// *first: bytes from the start of the data to the first element.
static bool make(Operand *x, int number, const View *view, const Filling *with, size_t *first) {
    int64_t below, above;
    bool input = x->role == ROLE_INPUT, output = x->role == ROLE_OUTPUT;
    bool real = with->real > 0;
    x->view = *view;
    x->type = view->type;
    if (!extent(view, &below, &above)) return false;
    size_t step = (size_t)type_info[x->type].bytes, bytes = (size_t)(below + above + 1) * step;
    *first = (size_t)below * step;
    Filling whole = *with;
    if (!with->steady) whole.real = 0;
    if (!input && !guarded_new(&x->image, bytes, false)) return false;
    for (int set = 0; set <= real && !input; set++)
        if (!guarded_new(&x->expected[set], bytes, true)) return false;
    if (!ordinary_new(&x->ordinary, bytes, number)) return false;
    if (output) return true;
    if (!add_data(x, DATA_WHOLE, NULL, bytes, &whole)) return false;
    if (real && type_is_float(x->type) && !add_data(x, DATA_REAL, NULL, bytes, with)) return false;
    return !view->data || add_data(x, DATA_GIVEN, (const char *)view->data - *first, bytes, with);
}

static void begin_timing(const Operand *x, DataSet set) {
    memcpy(x->ordinary.data, content(x, set)->data, x->ordinary.bytes);
}

// A nonlinear recurrence of integers magnifies the rounding of a step in all later ones, until the
// result depends on it. Sums of floats in their range do not grow.
static bool magnifies(const Program *p, bool exact) {
    for (int i = 0; i < p->stmts.n; i++)
        if (!exact && p->stmts.at[i].serial) return true;
    return false;
}

bool operands_make(Operands *o, Arena *arena, const Program *p, const View *views,
                   const ValueRange *ranges, uint64_t seed) {
    int n = p->ninputs + p->noutputs;
    double rounded;
    *o = (Operands){.n = n, .ninputs = p->ninputs};
    o->at = arena_new_n(arena, Operand, n + 1);
    for (int set = 0; set < DATA_SETS; set++) o->buffer[set] = arena_new_n(arena, void *, n + 1);
    o->ordinary = arena_new_n(arena, void *, n + 1);
    o->exact = follow_sizes(arena, p, ranges, &rounded);
    o->real = !o->exact || only_chooses(p);
    const double *scale = input_scales(arena, p);
    for (int i = 0; i < n; i++) {
        const Tensor *t = &p->tensors.at[i];
        Operand *x = &o->at[i];
        size_t first = 0;
        x->name = t->name;
        x->role = t->role;
        Filling with = {ranges ? &ranges[i] : NULL, o->real ? scale[i] : 0, seed + (uint64_t)i,
                        magnifies(p, o->exact)};
        if (!make(x, i, &views[i], &with, &first)) return false;
        if (!o->exact && type_is_float(x->type))
            x->tolerance = 32 * unit_roundoff(x->type) + rounded;
        for (DataSet set = DATA_WHOLE; set < DATA_SETS; set++) {
            const Guarded *g = x->role == ROLE_INPUT ? content(x, set) : &x->image;
            o->buffer[set][i] = g->data + first;
            if (x->data[set].map && set > o->timed) o->timed = set;
        }
        o->ordinary[i] = x->ordinary.data + first;
        o->bytes += x->role == ROLE_INPUT ? x->data[DATA_WHOLE].bytes : x->image.bytes;
    }
    for (int i = 0; i < n; i++)
        if (o->at[i].role == ROLE_INPUT) begin_timing(&o->at[i], o->timed);
    return true;
}

void operands_free(Operands *o) {
    for (int i = 0; i < o->n; i++) {
        guarded_free(&o->at[i].image);
        guarded_free(&o->at[i].ordinary);
        for (int set = 0; set < DATA_SETS; set++) guarded_free(&o->at[i].data[set]);
        for (int set = 0; set < CHECK_SETS; set++) guarded_free(&o->at[i].expected[set]);
    }
    o->n = 0;
}

// --- Results -------------------------------------------------------------------------------------

static void begin_anew(const Operand *x, DataSet set) {
    memcpy(x->image.data, content(x, set)->data, x->image.bytes);
}

void operands_restore(Operands *o) {
    for (int i = o->ninputs; i < o->n; i++)
        if (o->at[i].role == ROLE_INOUT) begin_timing(&o->at[i], o->timed);
}

void operands_touch(const Operands *o) {
    for (int i = o->ninputs; i < o->n; i++) ordinary_touch(&o->at[i].ordinary);
}

void operands_reset(Operands *o, DataSet set) {
    for (int i = o->ninputs; i < o->n; i++) {
        Operand *x = &o->at[i];
        if (x->role == ROLE_INOUT)
            begin_anew(x, set);
        else
            memset(x->image.data, PATTERN, x->image.bytes);
    }
}

void operands_expect(Operands *o, DataSet set) {
    for (int i = o->ninputs; i < o->n; i++)
        memcpy(o->at[i].expected[set].data, o->at[i].image.data, o->at[i].image.bytes);
}

static double as_double(Type t, const char *p) {
    return type_convert(TYPE_F64, t, type_load(t, p)).f;
}

static double largest(const Operand *x, const Guarded *expected) {
    double most = 0;
    size_t step = (size_t)type_info[x->type].bytes;
    for (size_t i = 0; i < expected->bytes; i += step) {
        double v = fabs(as_double(x->type, expected->data + i));
        if (v <= DBL_MAX && v > most) most = v;
    }
    return most;
}

// The allowed difference of two elements.
static double rounding(Operand *x, DataSet set) {
    if (!(x->tolerance > 0 && type_is_float(x->type))) return 0;
    if (x->largest[set] <= 0) x->largest[set] = largest(x, &x->expected[set]);
    return x->tolerance * x->largest[set];
}

// A fast path for the common case: all elements within the limit, and none is NaN.
static bool floats_close(const float *got, const float *want, size_t n, float apart) {
    size_t far = 0;
    for (size_t i = 0; i < n; i++) far += !(fabsf(got[i] - want[i]) <= apart);
    return far == 0;
}

// Different bytes may still be equal values: both NaN, zeros of either sign, or within rounding.
static bool means_the_same(const Operand *x, const char *got, const char *want, double apart) {
    if (!memcmp(got, want, (size_t)type_info[x->type].bytes)) return true;
    double g = as_double(x->type, got), w = as_double(x->type, want);
    return type_is_float(x->type) && (g == w || fabs(g - w) <= apart || (g != g && w != w));
}

static bool close_enough(Operand *x, DataSet set) {
    const Guarded *expected = &x->expected[set];
    size_t step = (size_t)type_info[x->type].bytes;
    double apart = rounding(x, set);
    if (x->type == TYPE_F32 &&
        floats_close((const float *)x->image.data, (const float *)expected->data,
                     x->image.bytes / step, (float)apart))
        return true;
    for (size_t i = 0; i < x->image.bytes; i += step)
        if (!means_the_same(x, x->image.data + i, expected->data + i, apart)) return false;
    return true;
}

// Integers computed from rounded values, such as the position of the largest element, may differ.
static bool is_compared(const Operand *x, DataSet set) {
    return set == DATA_WHOLE || type_is_float(x->type);
}

// The first wrong result; -1: there is none.
static int find_wrong(Operands *o, DataSet set) {
    for (int i = o->ninputs; i < o->n; i++) {
        Operand *x = &o->at[i];
        if (is_compared(x, set) && memcmp(x->image.data, x->expected[set].data, x->image.bytes) &&
            !close_enough(x, set))
            return i;
    }
    return -1;
}

bool operands_agree(Operands *o, DataSet set) { return find_wrong(o, set) < 0; }

static void compare_elements(Operand *x, DataSet set, const char *first, Difference *d) {
    int64_t at[PROGRAM_MAX_RANK] = {0}, stride[PROGRAM_MAX_RANK], dense = 1;
    int rank = x->view.rank, last = rank;
    const char *got = first;
    for (int k = rank - 1; k >= 0; k--) {
        stride[k] = (x->view.stride ? x->view.stride[k] : dense) * type_info[x->type].bytes;
        dense *= x->view.size[k];
    }
    for (d->elements = 0; dense && last >= 0; d->elements++) {
        const char *want = x->expected[set].data + (got - x->image.data);
        if (!means_the_same(x, got, want, rounding(x, set)) && d->count++ == 0) {
            memcpy(d->at, at, sizeof at);
            d->got = as_double(x->type, got);
            d->want = as_double(x->type, want);
        }
        for (last = rank - 1; last >= 0; last--) {
            got += stride[last];
            if (++at[last] < x->view.size[last]) break;
            got -= at[last] * stride[last];
            at[last] = 0;
        }
    }
}

Difference operands_difference(Operands *o, DataSet set) {
    Difference d = {.result = find_wrong(o, set)};
    if (d.result >= 0) compare_elements(&o->at[d.result], set, o->buffer[set][d.result], &d);
    return d;
}

// --- Significance of a comparison ----------------------------------------------------------------

// The most frequent values, approximately, in one pass (Misra and Gries).
enum { COMMON = 3 };
typedef struct CommonValues {
    double value[COMMON], apart;
    int64_t times[COMMON];
    int n; // at most COMMON
} CommonValues;

static int find_common(const CommonValues *c, double v) {
    int i = 0;
    while (i < c->n && !(c->times[i] > 0 && fabs(c->value[i] - v) <= c->apart)) i++;
    return i;
}

static void count_common(CommonValues *c, double v) {
    int at = find_common(c, v);
    for (int i = 0; i < c->n && at == c->n; i++)
        if (c->times[i] == 0) c->value[i] = v, at = i;
    if (at < c->n) c->times[at]++;
    for (int i = 0; i < c->n && at == c->n; i++) c->times[i]--;
}

// Samples a few thousand expected elements: the next one, from *at on.
static bool next_sample(const Operand *x, const Guarded *g, size_t *at, double *v) {
    enum { SAMPLES = 4096 };
    size_t step = (size_t)type_info[x->type].bytes, n = g->bytes / step, every = n / SAMPLES | 1;
    static const unsigned char gap[8] = {PATTERN, PATTERN, PATTERN, PATTERN,
                                         PATTERN, PATTERN, PATTERN, PATTERN};
    while (*at < n && memcmp(g->data + *at * step, gap, step) == 0) *at += every;
    if (*at >= n) return false;
    *v = as_double(x->type, g->data + *at * step);
    *at += every;
    return true;
}

// The fraction of a result's elements that can reveal a wrong kernel: numbers other than the
// `common` most frequent values. For a single element: a nonzero one.
static double telling(Operand *x, DataSet set, int common) {
    const Guarded *g = &x->expected[set];
    CommonValues c = {.apart = rounding(x, set), .n = common};
    int64_t n = 0, tell = 0;
    double v;
    for (size_t at = 0; next_sample(x, g, &at, &v); n++)
        if (isfinite(v)) count_common(&c, v);
    for (size_t at = 0; next_sample(x, g, &at, &v);)
        tell += isfinite(v) && (n == 1 ? fabs(v) > c.apart : find_common(&c, v) == c.n);
    return n ? (double)tell / (double)n : 1;
}

static const double little = 0.25, next_to_nothing = 1.0 / 16;

bool operands_vague(Operands *o, DataSet set) {
    for (int i = o->ninputs; i < o->n; i++)
        if (telling(&o->at[i], set, COMMON) < little) return true;
    return false;
}

bool operands_blank(Operands *o, int result, int sets) {
    Operand *x = &o->at[result];
    for (DataSet set = DATA_WHOLE; (int)set < sets; set++)
        if (is_compared(x, set) && telling(x, set, 1) >= next_to_nothing) return false;
    return true;
}

static void empty_caches(const Guarded *g) {
    for (size_t b = 0; b < g->bytes; b += LINE) __builtin_ia32_clflush(g->data + b);
}

void operands_empty_caches(const Operands *o) {
    for (int i = 0; i < o->n; i++) empty_caches(&o->at[i].ordinary);
    __builtin_ia32_mfence();
}
