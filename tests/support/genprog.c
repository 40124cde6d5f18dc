// A statement is generated in this order: iterators, the written element, the operator, the value.
// Subscripts are chosen to fit: sub_within() finds an index expression over the iterators that
// stays inside a dimension of any size. So any statement may read any tensor, and most attempts are
// well-formed.
#include "support/genprog.h"

#include "base/bug.h"
#include "base/checked.h"

#include <math.h>
#include <string.h>

enum { MAX_TENSORS = 40, MAX_RANK = 3, MAX_ITERS = 4, MAX_INSTANCES = 3000 };

typedef struct GenTensor {
    Type type;
    Role role;
    int rank;
    int64_t size[MAX_RANK], origin[MAX_RANK];
    double mag;    // largest magnitude of an element
    bool readable; // every element has a value
    bool index;    // holds subscripts: read nowhere else
    int64_t index_lo, index_hi;
} GenTensor;

typedef struct Gen {
    uint64_t state;
    Arena *arena;
    bool chains; // mostly temporaries that read each other, and inputs that are read partially
    Type main;
    GenTensor t[MAX_TENSORS];
    int nt;
    Text body;
    // The current statement:
    int niters;
    int64_t lo[MAX_ITERS], hi[MAX_ITERS];
    Text constraints;
    bool constrained, scatters;
    int target; // -1: none yet
} Gen;

// A value: its text binds as strongly as a call.
typedef struct GenValue {
    const char *s;
    Type type;
    double mag;
} GenValue;

// --- Random choices ----------------------------------------------------------------------------

static uint64_t random_bits(Gen *g) {
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int pick(Gen *g, int n) { return (int)(random_bits(g) % (uint64_t)n); }

static bool chance(Gen *g, int percent) { return pick(g, 100) < percent; }

static int64_t between(Gen *g, int64_t lo, int64_t hi) { // inclusive
    return lo + (int64_t)(random_bits(g) % (uint64_t)(hi - lo + 1));
}

static int64_t random_size(Gen *g) {
    static const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 8, 9, 11, 13, 16, 17, 23, 31, 33};
    return chance(g, 2) ? 0 : sizes[pick(g, (int)(sizeof sizes / sizeof *sizes))];
}

static Type random_type(Gen *g) {
    static const Type types[] = {TYPE_F64, TYPE_F16, TYPE_BF16, TYPE_I8,  TYPE_I16,
                                 TYPE_I32, TYPE_I64, TYPE_U8,   TYPE_U32, TYPE_BOOL};
    return chance(g, 65) ? TYPE_F32 : types[pick(g, 10)];
}

// --- Magnitudes --------------------------------------------------------------------------------

// Integers up to here are exact in the type, with room to add two of them.
static double exact_limit(Type t) {
    switch (t) {
    case TYPE_F64: return 0x1p50;
    case TYPE_F32: return 0x1p22;
    case TYPE_F16: return 0x1p10;
    case TYPE_BF16: return 0x1p7;
    default: return INFINITY; // integers wrap, exactly
    }
}

static double largest(Type t) {
    return type_is_float(t) ? exact_limit(t) : t == TYPE_BOOL ? 1 : ldexp(1, type_info[t].bits);
}

static double input_mag(Type t) { return type_info[t].class == CLASS_UINT ? 3 : 2; }

static const char *literal(Gen *g, Type t, int64_t v) {
    if (t == TYPE_BOOL) return v ? "true" : "false";
    if (type_info[t].class == CLASS_UINT && v < 0) v = -v;
    const char *name = type_info[t].name;
    return type_is_float(t) ? arena_printf(g->arena, "%s(%lld.0)", name, (long long)v)
                            : arena_printf(g->arena, "%s(%lld)", name, (long long)v);
}

// The value within -bound ... bound.
static GenValue clamp(Gen *g, GenValue v, int64_t bound) {
    if (v.mag <= (double)bound || v.type == TYPE_BOOL) return v;
    bool is_unsigned = type_info[v.type].class == CLASS_UINT;
    const char *top = arena_printf(g->arena, "min(%s, %s)", v.s, literal(g, v.type, bound));
    const char *low = literal(g, v.type, -bound);
    v.s = is_unsigned ? top : arena_printf(g->arena, "max(%s, %s)", top, low);
    v.mag = (double)bound;
    return v;
}

static GenValue fit(Gen *g, GenValue v) {
    return v.mag <= exact_limit(v.type) ? v : clamp(g, v, 2);
}

static GenValue convert(Gen *g, Type to, GenValue v) {
    if (v.type == to) return v;
    if (v.mag > exact_limit(to)) v = clamp(g, v, 7);
    double mag = to == TYPE_BOOL ? 1 : fmin(v.mag, largest(to));
    bool negative = type_info[to].class == CLASS_UINT; // -1 wraps to the largest
    return (GenValue){arena_printf(g->arena, "%s(%s)", type_info[to].name, v.s), to,
                      negative ? largest(to) : mag};
}

// --- Subscripts --------------------------------------------------------------------------------

static int new_tensor(Gen *g, Type type, Role role, int rank, const int64_t *size) {
    if (g->nt == MAX_TENSORS) return -1;
    GenTensor *t = &g->t[g->nt];
    *t = (GenTensor){.type = type, .role = role, .rank = rank, .mag = input_mag(type)};
    t->readable = role == ROLE_INPUT || role == ROLE_INOUT;
    for (int d = 0; d < rank; d++) t->size[d] = size[d];
    return g->nt++;
}

static const char *tensor_name(Gen *g, int t) { return arena_printf(g->arena, "T%d", t); }

static int64_t extent(const Gen *g, int i) { return g->hi[i] - g->lo[i]; }

static const char *plus(Gen *g, const char *a, int64_t c) {
    if (c == 0) return a;
    return arena_printf(g->arena, c < 0 ? "%s - %lld" : "%s + %lld", a,
                        (long long)(c < 0 ? -c : c));
}

// k*i, and + j unless that is i, with its smallest and its largest value.
static const char *linear(Gen *g, int64_t k, int i, int j, int64_t *least, int64_t *most) {
    int64_t ends[] = {k * g->lo[i], k * (g->hi[i] - 1)};
    const char *s = arena_printf(g->arena, "%lld*i%d", (long long)k, i);
    *least = min_i64(ends[0], ends[1]);
    *most = max_i64(ends[0], ends[1]);
    if (j == i) return s;
    *least += g->lo[j];
    *most += g->hi[j] - 1;
    return arena_printf(g->arena, "%s + i%d", s, j);
}

// k*i (+ j) shifted into [first, first + size); NULL when its span is too large.
static const char *linear_within(Gen *g, int64_t first, int64_t size) {
    int i = pick(g, g->niters), j = chance(g, 40) ? pick(g, g->niters) : i;
    int64_t k = chance(g, 65) ? 1 : chance(g, 50) ? -1 : between(g, -2, 3);
    if (k == 0) return NULL;
    int64_t least, most;
    const char *s = linear(g, k, i, j, &least, &most);
    if (most - least >= size) return NULL;
    int64_t slack = size - 1 - (most - least);
    int64_t shift = chance(g, 50) ? 0 : between(g, 0, slack);
    return plus(g, s, first - least + shift);
}

static const char *gather_within(Gen *g, int64_t first, int64_t size) {
    int i = pick(g, g->niters);
    if (g->lo[i] < 0) return NULL;
    static const Type types[] = {TYPE_I32, TYPE_I64, TYPE_U8, TYPE_I16};
    Type type = types[pick(g, 4)];
    if (first < 0 || first + size > 100) type = TYPE_I64;
    int t = new_tensor(g, type, ROLE_INPUT, 1, (int64_t[]){g->hi[i]});
    if (t < 0) return NULL;
    g->t[t].index = true;
    return arena_printf(g->arena, "T%d[i%d]", t, i);
}

// Any linear function mapped into [first, first + size): rotated, mirrored, clamped, divided; NULL
// if the result would still be too large.
static const char *bent_within(Gen *g, int64_t first, int64_t size) {
    int i = pick(g, g->niters), j = chance(g, 40) ? pick(g, g->niters) : i;
    int64_t k = chance(g, 70) ? 1 : between(g, -2, 3), c = between(g, -5, 20),
            by = between(g, 2, 5);
    int64_t least, most;
    const char *a = linear(g, k, i, j, &least, &most);
    least += c, most += c;
    a = arena_printf(g->arena, "(%s)", plus(g, a, c));
    if (chance(g, 15)) by = between(g, 6, 16);
    int64_t turn = max_i64(2 * (size - 1), 1), part = between(g, 1, size) * by;
    switch (pick(g, 6)) {
    case 0: return plus(g, arena_printf(g->arena, "%s%%%lld", a, (long long)size), first);
    case 1:
        if (floor_div(most, by) - floor_div(least, by) >= size) return NULL;
        a = arena_printf(g->arena, "%s/%lld", a, (long long)by);
        return plus(g, a, first - floor_div(least, by));
    case 2:
        if (chance(g, 30)) a = arena_printf(g->arena, "%s/%lld", a, (long long)by);
        return arena_printf(g->arena, "max(min(%s, %lld), %lld)", a, (long long)(first + size - 1),
                            (long long)first);
    case 3:
        a = arena_printf(g->arena, "%s%%%lld", a, (long long)turn);
        return plus(g, arena_printf(g->arena, "min(%s, %lld - %s)", a, (long long)turn, a), first);
    case 4:
        a = arena_printf(g->arena, "(%s/%lld)%%%lld", a, (long long)by, (long long)size);
        return plus(g, a, first);
    default:
        a = arena_printf(g->arena, "(%s%%%lld)/%lld", a, (long long)part, (long long)by);
        return plus(g, a, first);
    }
}

// An index expression that stays in [first, first + size) for every iteration.
static const char *sub_within(Gen *g, int64_t first, int64_t size) {
    for (int attempt = 0; attempt < 8 && size > 0; attempt++) {
        int kind = pick(g, 20), i = g->niters ? pick(g, g->niters) : 0;
        const char *s = NULL;
        if (g->niters == 0 || kind == 0)
            s = arena_printf(g->arena, "%lld", (long long)between(g, first, first + size - 1));
        else if (kind == 1)
            s = plus(g, arena_printf(g->arena, "i%d%%%lld", i, (long long)size), first);
        else if (kind == 2 && g->lo[i] >= 0 && (g->hi[i] - 1) / 3 < size)
            s = plus(g, arena_printf(g->arena, "i%d/3", i), first);
        else if (kind == 3)
            s = arena_printf(g->arena, "max(min(i%d, %lld), %lld)", i,
                             (long long)(first + size - 1), (long long)first);
        else if (kind == 4)
            s = gather_within(g, first, size);
        else if (kind < 9)
            s = bent_within(g, first, size);
        else
            s = linear_within(g, first, size);
        if (s) return s;
    }
    return NULL;
}

// --- Reads -------------------------------------------------------------------------------------

static GenValue value_of(Gen *g, int t, const char *subs) {
    return (GenValue){arena_printf(g->arena, "T%d[%s]", t, subs), g->t[t].type, g->t[t].mag};
}

// A tensor that exists already, if its subscripts can be made to fit.
static bool read_existing(Gen *g, GenValue *out) {
    int t = g->nt ? pick(g, g->nt) : -1;
    if (t < 0 || !g->t[t].readable || g->t[t].index || t == g->target) return false;
    Text subs = {.arena = g->arena};
    GenTensor it = g->t[t];
    for (int d = 0; d < it.rank; d++) {
        const char *s = sub_within(g, it.origin[d], it.size[d]);
        if (!s) return false;
        text_printf(&subs, "%s%s", d ? ", " : "", s);
    }
    *out = value_of(g, t, text_str(&subs));
    return true;
}

// A new input just large enough for some of the iterators, one after the other or as a window.
static bool read_new(Gen *g, GenValue *out) {
    Text subs = {.arena = g->arena};
    int64_t size[MAX_RANK];
    int rank = 0;
    for (int i = 0; i < g->niters && rank < MAX_RANK; i++) {
        int j = pick(g, g->niters);
        if (g->lo[i] < 0 || g->lo[j] < 0 || chance(g, 30)) continue;
        int64_t k = chance(g, 75) ? 1 : 2, n = k * max_i64(g->hi[i] - 1, 0) + 1;
        text_printf(&subs, rank ? ", %lld*i%d" : "%lld*i%d", (long long)k, i);
        if (i != j && chance(g, 20)) {
            text_printf(&subs, " + i%d", j);
            n += max_i64(g->hi[j] - 1, 0);
        }
        if (extent(g, i) == 0 && chance(g, 80)) n = g->hi[i];
        size[rank++] = n + (chance(g, 10) ? 1 : 0) + (g->chains && chance(g, 20) ? pick(g, 70) : 0);
    }
    Type type = chance(g, g->chains ? 50 : 80) ? g->main : random_type(g);
    Role role = chance(g, g->chains ? 25 : 8) ? ROLE_INOUT : ROLE_INPUT;
    int t = new_tensor(g, type, role, rank, size);
    if (t < 0) return false;
    *out = value_of(g, t, text_str(&subs));
    return true;
}

// i + k - c, which may be outside the tensor: a constraint or a guard restricts the read to
// iterations where it is inside.
static bool read_padded(Gen *g, GenValue *out) {
    int t = g->nt ? pick(g, g->nt) : -1, i = pick(g, g->niters), j = pick(g, g->niters);
    if (t < 0 || !g->t[t].readable || g->t[t].index || t == g->target || g->t[t].rank != 1)
        return false;
    int64_t first = g->t[t].origin[0], end = first + g->t[t].size[0], shift = between(g, -3, 2);
    const char *s = plus(g, arena_printf(g->arena, i == j ? "i%d" : "i%d + i%d", i, j), shift);
    *out = value_of(g, t, s);
    if (chance(g, 50)) {
        text_printf(&g->constraints, "%s%s >= %lld, %s < %lld", g->constrained ? ", " : " if ", s,
                    (long long)first, s, (long long)end);
        g->constrained = true;
        return true;
    }
    const char *border = literal(g, out->type, between(g, -1, 1));
    out->s =
        arena_printf(g->arena, "select(index(%s) >= i64(%lld) && index(%s) < i64(%lld), %s, %s)", s,
                     (long long)first, s, (long long)end, out->s, border);
    return true;
}

// A value computed from iterators only, in a type that may not hold it.
static GenValue of_indices(Gen *g) {
    static const Type types[] = {TYPE_I64, TYPE_I64, TYPE_I32, TYPE_I16, TYPE_U8, TYPE_I8};
    static const char *const ops[] = {"%s%%%s(%d)",   "%s/%s(%d)", "%s & %s(%d)", "%s >> %s(%d)",
                                      "%s << %s(%d)", "%s*%s(%d)", "%s - %s(%d)"};
    int i = pick(g, g->niters), j = chance(g, 40) ? pick(g, g->niters) : i;
    Type type = types[chance(g, 50) ? 0 : pick(g, 6)];
    int64_t least, most;
    const char *s = linear(g, chance(g, 70) ? 1 : between(g, -2, 3), i, j, &least, &most);
    double mag = (double)max_i64(max_i64(-least, most), 256);
    s = arena_printf(g->arena, type == TYPE_I64 ? "index(%s)" : "%s(index(%s))",
                     type == TYPE_I64 ? s : type_info[type].name, s);
    for (int n = pick(g, 3); n > 0; n--, mag *= 4) {
        int op = pick(g, 7), k = (int)between(g, 1, 4);
        if (op == 2) k = chance(g, 80) ? (1 << k) - 1 : 5;
        s = arena_printf(g->arena, "(%s)", s);
        s = arena_printf(g->arena, ops[op], s, type_info[type].name, op == 4 ? k % 3 : k);
    }
    return (GenValue){arena_printf(g->arena, "(%s)", s), type, mag};
}

static GenValue leaf(Gen *g, Type type) {
    GenValue v;
    if (g->niters && chance(g, 8)) return fit(g, convert(g, type, of_indices(g)));
    if (g->niters && chance(g, 8) && read_padded(g, &v)) return fit(g, convert(g, type, v));
    for (int attempt = 0; attempt < 4 && chance(g, g->chains ? 90 : 75); attempt++)
        if (read_existing(g, &v)) return fit(g, convert(g, type, v));
    if (!chance(g, 12) && read_new(g, &v)) return fit(g, convert(g, type, v));
    return (GenValue){literal(g, type, between(g, -2, 3)), type, 3};
}

// --- Values ------------------------------------------------------------------------------------

static GenValue value(Gen *g, Type type, int depth);

static GenValue condition(Gen *g, int depth) {
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    Type type = g->main == TYPE_BOOL ? TYPE_F32 : g->main;
    GenValue a = value(g, type, depth - 1), b = value(g, type, 0);
    return (GenValue){arena_printf(g->arena, "(%s %s %s)", a.s, compare[pick(g, 6)], b.s),
                      TYPE_BOOL, 1};
}

static GenValue unary(Gen *g, Type type, int depth) {
    static const char *const any[] = {"-(%s)", "abs(%s)", "relu(%s)"};
    static const char *const floats[] = {"floor(%s)", "trunc(%s)", "fabs(%s)", "round(%s)"};
    GenValue v = value(g, type, depth - 1);
    bool use_float = type_is_float(type) && chance(g, 40);
    const char *form = use_float ? floats[pick(g, 4)] : any[pick(g, 3)];
    const char *hole = strstr(form, "%s");
    v.s = arena_printf(g->arena, "%.*s%s)", (int)(hole - form), form, v.s);
    if (!type_is_float(type)) v.mag = largest(type);
    return v;
}

static GenValue integer_binary(Gen *g, Type type, GenValue a, GenValue b) {
    static const char *const ops[] = {"/", "%", "&", "|", "^", "<<", ">>"};
    return (GenValue){arena_printf(g->arena, "(%s %s %s)", a.s, ops[pick(g, 7)], b.s), type,
                      largest(type)};
}

static GenValue binary(Gen *g, Type type, int depth) {
    GenValue a = value(g, type, depth - 1), b = value(g, type, depth - 1), v = {.type = type};
    bool is_float = type_is_float(type);
    if (!is_float && chance(g, 25)) return integer_binary(g, type, a, b);
    switch (pick(g, is_float ? 7 : 5)) {
    case 0: v.s = "(%s + %s)", v.mag = a.mag + b.mag; break;
    case 1: v.s = "(%s - %s)", v.mag = a.mag + b.mag; break;
    case 2: v.s = "min(%s, %s)", v.mag = fmax(a.mag, b.mag); break;
    case 3: v.s = "max(%s, %s)", v.mag = fmax(a.mag, b.mag); break;
    case 5: v.s = "fmax(%s, %s)", v.mag = fmax(a.mag, b.mag); break;
    case 6: v.s = "fdim(%s, %s)", v.mag = a.mag + b.mag; break;
    default: v.s = "%s*%s", v.mag = a.mag * b.mag; break;
    }
    const char *hole = strstr(v.s, "%s"), *second = strstr(hole + 2, "%s");
    v.s = arena_printf(g->arena, "%.*s%s%.*s%s%s", (int)(hole - v.s), v.s, a.s,
                       (int)(second - hole) - 2, hole + 2, b.s, second + 2);
    if (!is_float) v.mag = largest(type);
    return v;
}

static GenValue value(Gen *g, Type type, int depth) {
    if (depth <= 0) return leaf(g, type);
    GenValue v;
    int kind = pick(g, 10);
    if (type == TYPE_BOOL) {
        v = condition(g, depth);
    } else if (kind < 6) {
        v = binary(g, type, depth);
    } else if (kind < 8) {
        v = unary(g, type, depth);
    } else if (kind == 8) {
        GenValue c = condition(g, depth - 1), a = value(g, type, depth - 1), b = leaf(g, type);
        v = (GenValue){arena_printf(g->arena, "select(%s, %s, %s)", c.s, a.s, b.s), type,
                       fmax(a.mag, b.mag)};
    } else {
        v = leaf(g, type);
    }
    return fit(g, v);
}

// --- Writes ------------------------------------------------------------------------------------

static void make_iters(Gen *g) {
    int64_t instances = 1;
    g->niters = 0;
    int want = chance(g, 4) ? 0 : 1 + pick(g, MAX_ITERS - (chance(g, 60) ? 1 : 0));
    while (g->niters < want) {
        int64_t n = random_size(g);
        const GenTensor *t = g->nt ? &g->t[pick(g, g->nt)] : NULL;
        if (t && t->rank && chance(g, 60)) n = t->size[pick(g, t->rank)];
        if (instances * n > MAX_INSTANCES) n = 1 + pick(g, 3);
        if (instances * n > MAX_INSTANCES) return;
        instances *= max_i64(n, 1);
        int i = g->niters++;
        g->lo[i] = chance(g, 88) ? 0 : between(g, -2, 3);
        g->hi[i] = g->lo[i] + n;
    }
}

typedef struct GenWrite {
    const char *subs;
    bool used[MAX_ITERS]; // iterators that the left side uses
    bool whole;           // every element of a new tensor is reached
} GenWrite;

// One subscript of a new tensor: an iterator, two flattened into one, or one split into two.
static void new_dimension(Gen *g, GenWrite *w, Text *subs, int i, GenTensor *t) {
    int j = pick(g, g->niters), d = t->rank;
    const char *comma = d ? ", " : "";
    w->used[i] = true;
    if (!w->used[j] && g->lo[i] == 0 && g->lo[j] == 0 && chance(g, 15)) {
        text_printf(subs, "%s%lld*i%d + i%d", comma, (long long)g->hi[j], i, j);
        t->size[d] = g->hi[i] * g->hi[j];
        w->used[j] = true;
    } else if (g->lo[i] == 0 && d + 2 <= MAX_RANK && chance(g, 8)) {
        int64_t k = 1 + pick(g, 5);
        text_printf(subs, "%si%d/%lld, i%d%%%lld", comma, i, (long long)k, i, (long long)k);
        t->size[d] = ceil_div(g->hi[i], k);
        t->size[d + 1] = k;
        w->whole &= g->hi[i] % k == 0;
        t->rank++;
    } else if (g->hi[i] > 0 && chance(g, 6)) { // backwards
        text_printf(subs, "%s%lld - i%d", comma, (long long)(g->hi[i] - 1), i);
        t->size[d] = extent(g, i);
    } else {
        text_printf(subs, "%si%d", comma, i);
        t->size[d] = extent(g, i);
        t->origin[d] = g->lo[i];
    }
    t->rank++;
}

static bool write_new(Gen *g, GenWrite *w) {
    GenTensor t = {0};
    Text subs = {.arena = g->arena};
    int start = g->niters ? pick(g, g->niters) : 0;
    w->whole = true;
    for (int k = 0; k < g->niters && t.rank < MAX_RANK; k++) {
        int i = (start + k) % g->niters;
        if (!w->used[i] && chance(g, 70)) new_dimension(g, w, &subs, i, &t);
    }
    Role role = chance(g, g->chains ? 80 : 35) ? ROLE_TEMP : ROLE_OUTPUT;
    Type type = chance(g, 80) ? g->main : random_type(g);
    int n = new_tensor(g, type, role, t.rank, t.size);
    if (n < 0) return false;
    memcpy(g->t[n].origin, t.origin, sizeof t.origin);
    g->target = n;
    w->subs = text_str(&subs);
    return true;
}

static bool write_existing(Gen *g, GenWrite *w) {
    int n = g->nt ? pick(g, g->nt) : -1;
    if (n < 0 || g->t[n].role == ROLE_INPUT || !g->t[n].readable) return false;
    Text subs = {.arena = g->arena};
    GenTensor t = g->t[n];
    g->target = n;
    for (int d = 0; d < t.rank; d++) {
        const char *s = sub_within(g, t.origin[d], t.size[d]);
        if (!s) return false;
        text_printf(&subs, "%s%s", d ? ", " : "", s);
    }
    w->subs = text_str(&subs);
    g->scatters = strchr(w->subs, '[') != NULL;
    for (int i = 0; i < g->niters; i++) {
        char name[8] = {'i', (char)('0' + i)};
        w->used[i] = strstr(w->subs, name) != NULL;
    }
    return true;
}

// --- Statements --------------------------------------------------------------------------------

// The largest number of iterations that may update one element.
static double meeting(const Gen *g) {
    double n = 1;
    for (int i = 0; i < g->niters; i++) n *= (double)max_i64(extent(g, i), 1);
    return n;
}

// The value, clamped so that combining it into the element stays exact.
static GenValue fit_reduction(Gen *g, Reduce op, GenValue v, double old, double *mag) {
    double n = meeting(g), limit = exact_limit(v.type);
    *mag = fmax(v.mag, old);
    if (op == REDUCE_ADD) {
        if (old + v.mag * n > limit) v = clamp(g, v, old + n <= limit ? 1 : 0);
        *mag = old + v.mag * n;
    } else if (op == REDUCE_MUL) {
        if (v.mag > 1 && old * pow(v.mag, n) > limit) v = clamp(g, v, 1);
        *mag = v.mag <= 1 ? old : old * pow(v.mag, n);
    }
    if (!type_is_float(v.type)) *mag = largest(v.type);
    return v;
}

static void print_stmt(Gen *g, const GenWrite *w, Reduce op, bool init, const char *v) {
    Text *out = &g->body;
    for (int i = 0; i < g->niters; i++)
        text_printf(out, "%s i%d in %lld:%lld", i ? "," : "    for", i, (long long)g->lo[i],
                    (long long)g->hi[i]);
    text_printf(out, "%s\n        T%d[%s] %s%s %s\n", text_str(&g->constraints), g->target, w->subs,
                reduce_name[op], init ? "!" : "", v);
}

// C[i, j] +=! A[i, k]*B[k, j] and the like, with the product at the top so that it is fused.
static GenValue contraction(Gen *g, Type type) {
    GenValue a = leaf(g, type), b = leaf(g, type);
    if (a.mag * b.mag > exact_limit(type)) a = clamp(g, a, 1), b = clamp(g, b, 2);
    return (GenValue){arena_printf(g->arena, "%s*%s", a.s, b.s), type, a.mag * b.mag};
}

static void make_stmt(Gen *g) {
    GenWrite w = {0};
    g->constraints = (Text){.arena = g->arena};
    g->constrained = g->scatters = false;
    g->target = -1;
    make_iters(g);
    bool fresh = !(chance(g, 25) && write_existing(g, &w));
    if (fresh) {
        w = (GenWrite){0};
        g->target = -1;
        if (!write_new(g, &w)) return;
    }
    GenTensor *t = &g->t[g->target];
    bool reduces = g->scatters || chance(g, 25);
    for (int i = 0; i < g->niters; i++) reduces |= !w.used[i] && extent(g, i) != 1;
    Reduce op = reduces ? (Reduce)(chance(g, 50) ? REDUCE_ADD : 1 + pick(g, 4)) : REDUCE_ASSIGN;
    bool init = op != REDUCE_ASSIGN && (fresh ? !chance(g, 10) : chance(g, 15));
    Type type = t->type;
    bool product = op == REDUCE_ADD && chance(g, 60);
    GenValue v = product ? contraction(g, type) : value(g, type, pick(g, 4));
    if (!fresh && chance(g, 40)) { // in place
        GenValue old = value_of(g, g->target, w.subs);
        v = fit(g, (GenValue){arena_printf(g->arena, "(%s + %s)", old.s, v.s), type,
                              type_is_float(type) ? v.mag + old.mag : largest(type)});
    }
    t = &g->t[g->target];
    bool from_old = op != REDUCE_ASSIGN && !init;
    if (fresh && from_old && t->role == ROLE_TEMP) t->role = ROLE_OUTPUT; // becomes in-out
    double mag = v.mag;
    // With the flag `accumulate`, an initialising reduction also starts from the previous content.
    if (op != REDUCE_ASSIGN) v = fit_reduction(g, op, v, t->mag, &mag);
    bool infinite = init && op >= REDUCE_MIN; // an empty minimum
    t->mag = fresh ? mag : fmax(mag, t->mag);
    if (fresh)
        t->readable =
            (w.whole && (init || op == REDUCE_ASSIGN) && !g->constrained && !infinite) || from_old;
    else if (infinite)
        t->readable = false;
    print_stmt(g, &w, op, init, v.s);
}

static void print_declarations(Gen *g, Text *out) {
    static const char *const role[] = {"input", "output", "inout", "temp"};
    for (int i = 0; i < g->nt; i++) {
        const GenTensor *t = &g->t[i];
        bool shifted = false;
        text_printf(out, "    %s %s: %s[", role[t->role], tensor_name(g, i),
                    type_info[t->type].name);
        for (int d = 0; d < t->rank; d++) {
            text_printf(out, "%s%lld", d ? ", " : "", (long long)t->size[d]);
            shifted |= t->origin[d] != 0;
        }
        text_add(out, "]");
        for (int d = 0; d < t->rank && shifted; d++)
            text_printf(out, "%s%lld", d ? ", " : " from [", (long long)t->origin[d]);
        text_add(out, shifted ? "]\n" : "\n");
    }
}

static const char *program_text(Arena *arena, uint64_t seed, bool chains) {
    Gen *g = arena_new(arena, Gen);
    g->arena = arena;
    g->chains = chains;
    g->state = seed;
    g->body = (Text){.arena = arena};
    g->main = random_type(g);
    int stmts = chains ? 3 + pick(g, 4) : 1 + pick(g, chance(g, 50) ? 3 : 6);
    for (int s = 0; s < stmts; s++) make_stmt(g);
    if (g->target >= 0 && g->t[g->target].role == ROLE_TEMP) g->t[g->target].role = ROLE_OUTPUT;
    Text out = {.arena = arena};
    text_add(&out, "program random {\n");
    print_declarations(g, &out);
    text_add(&out, text_str(&g->body));
    text_add(&out, "}\n");
    return text_str(&out);
}

const char *genprog_text(Arena *arena, uint64_t seed) { return program_text(arena, seed, false); }

static Program *first_bound(Lab *lab, uint64_t seed, bool chains) {
    for (uint64_t attempt = 0; attempt < 1000; attempt++) {
        int errors = lab->diags.errors;
        const char *text = program_text(&lab->arena, seed * 1000 + attempt, chains);
        Program *p = lab_program(lab, text, NULL);
        if (p) return p;
        require(lab->diags.errors > errors);
        lab->diags.items.n = lab->diags.errors = lab->diags.dropped = 0;
    }
    bug("seed %llu gives no program", (unsigned long long)seed);
}

Program *genprog(Lab *lab, uint64_t seed) { return first_bound(lab, seed, false); }

Program *genprog_chains(Lab *lab, uint64_t seed) { return first_bound(lab, seed, true); }
