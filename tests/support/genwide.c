#include "support/genwide.h"

typedef struct Gen {
    uint64_t state;
    Arena *arena;
    const char *type; // of values
    bool is_float;
    int n, m, d, v; // rows, indices of a row, depth, entries of the table
} Gen;

static uint64_t draw(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int pick(Gen *g, int n) { return (int)(draw(&g->state) % (uint64_t)n); }

#define ONE_OF(g, list) (list)[pick(g, (int)(sizeof(list) / sizeof *(list)))]
#define TEXT(...)       arena_printf(g->arena, __VA_ARGS__)

static int size(Gen *g) {
    static const int sizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 33};
    return ONE_OF(g, sizes);
}

static Gen begin(Arena *arena, uint64_t seed) {
    static const char *const types[] = {"f32", "f32", "f64", "i32", "i64", "u8", "i16", "f16"};
    Gen g = {.state = seed, .arena = arena};
    g.type = ONE_OF(&g, types);
    g.is_float = g.type[0] == 'f';
    g.n = size(&g);
    g.m = size(&g);
    g.d = size(&g);
    g.v = pick(&g, 12) ? 1 + pick(&g, 20) : 0;
    return g;
}

static const char *constant(Gen *g, int k) {
    return g->is_float ? TEXT("%s(%d.0)", g->type, k) : TEXT("%s(%d)", g->type, k);
}

// --- Wide ----------------------------------------------------------------------------------------

static int64_t coefficient(Gen *g) {
    static const int shifts[] = {0, 1, 8, 16, 30, 31, 32, 33, 40, 44, 45, 46, 47, 48, 61, 62};
    int64_t k = (int64_t)((uint64_t)1 << ONE_OF(g, shifts));
    if (pick(g, 3) == 0) k += pick(g, 7) - 3;
    return pick(g, 3) ? k : -k;
}

// A subscript with few small values and otherwise very large ones.
static const char *far_index(Gen *g) {
    long long k = (long long)coefficient(g),
              c = pick(g, 4) ? pick(g, 5) - 2 : (long long)coefficient(g);
    switch (pick(g, 6)) {
    case 0: return TEXT("%lld*(h/2) + g + %lld", k, c);
    case 1: return TEXT("%lld*(h%%3) + g", k);
    case 2: return TEXT("%lld*h + %lld*g", k, c);
    case 3: return TEXT("max(%lld*h, g) + %d", k, pick(g, 3));
    default: return TEXT("%lld*h + g + %lld", k, c);
    }
}

// The index as a value: an index expression, or 64-bit arithmetic.
static const char *far_value(Gen *g, const char *at) {
    if (pick(g, 3)) return TEXT("index(%s)", at);
    return TEXT("(i64(%lld)*index(h) + index(g))", (long long)coefficient(g));
}

const char *genwide_affine(Arena *arena, uint64_t seed) {
    Gen gen = begin(arena, seed), *g = &gen;
    int rows = size(g), cols = size(g), length = 1 + pick(g, 40);
    const char *at = far_index(g), *seven = constant(g, 7);
    const char *head = TEXT(
        "program w { input X: %s[%d] inout O: %s[%d, %d] inout P: %s[%d] inout Q: i64[%d, %d]\n",
        g->type, length, g->type, rows, cols, g->type, length, rows, cols);
    const char *loops = TEXT("for %s", pick(g, 2) ? TEXT("g in 0:%d, h in 0:%d", rows, cols)
                                                  : TEXT("h in 0:%d, g in 0:%d", cols, rows));
    const char *inside = TEXT("if %s >= 0, %d - (%s) >= 0", at, length - 1, at);
    const char *holds = TEXT("%s >= i64(0) && index(%s) < i64(%d)", far_value(g, at), at, length);
    switch (pick(g, 5)) {
    case 0: return TEXT("%sO: %s %s O[g, h] max= X[%s] }", head, loops, inside, at);
    case 1: return TEXT("%sP: %s %s P[%s] max= O[g, h] }", head, loops, inside, at);
    case 2:
        return TEXT("%sO: %s O[g, h] = select(index(%s) >= i64(0) && %s, X[%s], %s) }", head, loops,
                    at, holds, at, seven);
    case 3:
        return TEXT("%sQ: %s Q[g, h] = index(%s)%s }", head, loops, at,
                    pick(g, 2) ? "" : TEXT(" + %s/i64(%d)", far_value(g, at), 1 + pick(g, 9)));
    default:
        return TEXT("%sQ: %s Q[g, h] = select(%s >= i64(%d), %s, index(g - h)) }", head, loops,
                    far_value(g, at), pick(g, 9) - 4, far_value(g, at));
    }
}

// --- Data ----------------------------------------------------------------------------------------

static const char *const index_types[] = {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"};

// An element of I (n x m) or J (m), over iterators b, l.
static const char *element(Gen *g) {
    static const char *const reads[] = {"I[b, l]", "I[b, l]", "I[b, l]", "J[l]", "I[b, 0]"};
    return ONE_OF(g, reads);
}

static const char *subscript(Gen *g) {
    const char *e = element(g), *f = element(g);
    long long wide = (long long)coefficient(g);
    int low = pick(g, 3) - 1, high = g->v - 1 - pick(g, 2);
    switch (pick(g, 22)) {
    case 0:
    case 1: return TEXT("%s + %d", e, 1 + pick(g, 3));
    case 2: return TEXT("%s - %d", e, 1 + pick(g, 3));
    case 3: return TEXT("%d*%s + %d", 2 + pick(g, 3), e, pick(g, 4));
    case 4: return TEXT("%lld*%s + %d", wide, e, pick(g, 3));
    case 5: return TEXT("%s + %s", e, f);
    case 6: return TEXT("%s - %s", e, f);
    case 7: return g->v ? TEXT("(%s + l)%%%d", e, g->v) : e;
    case 8: return TEXT("%s/2", e);
    case 9: return TEXT("min(%s, %d)", e, g->v - 1);
    case 10: return TEXT("max(%s, 0)", e);
    case 11: return TEXT("%s*l", e);
    case 12: return TEXT("%s + l - 1", e);
    // Operations on sums, which lanes of 4 bytes must not let wrap.
    case 13: return TEXT("min(max(%s + %d, %d), %d)", e, pick(g, 5) - 2, low, high);
    case 14: return TEXT("max(%d, min(l - %s, %d))", low, e, high);
    case 15: return TEXT("min(%s/%d + l, %d)", e, 1 + pick(g, 5), high);
    case 16: return TEXT("max(min(%d*%s - l, %d), %d)", pick(g, 7) - 3, e, high, low);
    case 17: return g->v ? TEXT("min(%s%%%d + 1, %d)", e, 1 + pick(g, g->v), high) : e;
    case 18: return TEXT("min(max(%s, 0) + max(%s, 0), %d)", e, f, high);
    default: return e;
    }
}

static const char *guard(Gen *g, const char *index_type) {
    switch (pick(g, 9)) {
    case 0: return TEXT("I[b, l] >= %s(0)", index_type);
    case 1: return TEXT("I[b, l] >= %s(0) && I[b, l] < %s(%d)", index_type, index_type, g->v);
    case 2: return "A[b, l] > 0.0";
    case 3: return "index(l) >= i64(1)";
    case 4: return TEXT("!(I[b, l] == %s(3)) && A[b, 0] >= 0.0", index_type);
    case 5: return TEXT("A[b, l] < 0.0 || I[b, l] < %s(%d)", index_type, g->v);
    case 6: return "index(b + l)%i64(2) == i64(0)";
    default: return NULL;
    }
}

static const char *gathered(Gen *g, const char *index_type) {
    const char *s = subscript(g);
    const char *read = pick(g, 3)   ? TEXT("E[%s, x]", s)
                       : pick(g, 2) ? TEXT("F[x, %s]", s)
                                    : TEXT("G[%s]", s);
    if (pick(g, 10) == 0) read = TEXT("G[J[%s]]", "I[b, l]");
    const char *when = guard(g, index_type);
    if (pick(g, 6) == 0) read = TEXT("%s*%s", read, constant(g, 0));
    if (!when) return read;
    return pick(g, 4) ? TEXT("select(%s, %s, %s)", when, read, constant(g, 0))
                      : TEXT("select(%s, %s, %s)", when, constant(g, 1), read);
}

const char *genwide_data(Arena *arena, uint64_t seed) {
    Gen gen = begin(arena, seed), *g = &gen;
    const char *it = ONE_OF(g, index_types), *jt = ONE_OF(g, index_types);
    const char *head = TEXT(
        "program d { input A: f32[%d, %d] input I: %s[%d, %d] input J: %s[%d] input E: %s[%d, %d]\n"
        "input F: %s[%d, %d] input G: %s[%d] inout O: %s[%d, %d, %d] inout S: %s[%d] inout R: "
        "%s[%d, %d]\n",
        g->n, g->m, it, g->n, g->m, jt, g->m, g->type, g->v, g->d, g->type, g->d, g->v, g->type,
        g->v, g->type, g->n, g->m, g->d, g->type, g->v, g->type, g->n, g->d);
    const char *all = pick(g, 2) ? TEXT("b in 0:%d, l in 0:%d, x in 0:%d", g->n, g->m, g->d)
                                 : TEXT("x in 0:%d, b in 0:%d, l in 0:%d", g->d, g->n, g->m);
    const char *value = gathered(g, it);
    switch (pick(g, 7)) {
    case 0: return TEXT("%sR: for %s R[b, x] max=! %s }", head, all, value);
    case 1: return TEXT("%sR: for %s R[b, x] +=! %s }", head, all, value);
    case 2: return TEXT("%sS: for %s S[%s] max= O[b, l, x] }", head, all, subscript(g));
    case 3: // a part of the result is read, or nothing
        return TEXT("%stemp t: %s[%d, %d, %d]\nt: for %s t[b, l, x] = %s\n"
                    "R: for b in 0:%d, x in 0:%d if x - %d >= 0  R[b, x] = %s }",
                    head, g->type, g->n, g->m, g->d, all, value, g->n, g->d, pick(g, 3),
                    g->m ? TEXT("t[b, %d, x]", pick(g, g->m)) : constant(g, 2));
    case 4: // overwritten
        return TEXT("%sO: for %s O[b, l, x] = %s\nO.1: for %s O[b, l, x] = %s }", head, all, value,
                    all, constant(g, 5));
    case 5: // overwritten, by indices that were just computed
        return TEXT("%stemp K: %s[%d, %d]\nK: for b in 0:%d, l in 0:%d K[b, l] = I[b, l]\n"
                    "O: for b in 0:%d, l in 0:%d O[b, l, 0] = G[K[b, l]]\n"
                    "O.1: for b in 0:%d, l in 0:%d O[b, l, 0] = %s }",
                    head, it, g->n, g->m, g->n, g->m, g->n, g->m, g->n, g->m, constant(g, 5));
    default: return TEXT("%sO: for %s O[b, l, x] = %s }", head, all, value);
    }
}

// --- Contents ------------------------------------------------------------------------------------

// The number of entries of the table, the limit of valid indices.
static int64_t entries(const Program *p) {
    for (int i = 0; i < p->tensors.n; i++)
        if (p->tensors.at[i].name[0] == 'G' && !p->tensors.at[i].name[1])
            return tensor_size(&p->tensors.at[i], 0);
    return 1;
}

static int64_t bad_index(uint64_t *state, int64_t v) {
    static const int64_t far[] = {INT64_MAX,     INT64_MIN,         (int64_t)1 << 63 >> 1,
                                  UINT32_MAX,    (int64_t)1 << 32,  INT32_MIN,
                                  INT32_MAX,     (int64_t)1 << 62,  ((int64_t)1 << 61) + 1,
                                  INT64_MIN / 2, INT64_MAX / 3 + 1, -2};
    uint64_t r = draw(state);
    if (r % 3 == 0) return -1;
    if (r % 3 == 1) return v + (int64_t)(r / 3 % 2);
    return far[r / 3 % (sizeof far / sizeof *far)];
}

void genwide_fill(const Program *p, const LabData *d, uint64_t seed) {
    uint64_t state = seed ^ UINT64_C(0x5bd1e995);
    int64_t v = entries(p);
    int rate = (int)(draw(&state) % 4); // 0: all are valid
    for (int i = 0; i < p->ninputs; i++) {
        const Tensor *t = &p->tensors.at[i];
        bool index = (t->name[0] == 'I' || t->name[0] == 'J') && !t->name[1];
        for (int64_t e = 0; index && e < tensor_elements(t); e++) {
            uint64_t r = draw(&state);
            int64_t k = v > 0 ? (int64_t)(r % (uint64_t)v) / (int64_t)(1 + r / 64 % 4) : 0;
            if (rate && r / 1024 % (rate == 1 ? 4 : 40) == 0) k = bad_index(&state, v);
            Value value = type_round(t->type, (Value){.i = k});
            type_store(t->type, (char *)d->view[i].data + e * type_info[t->type].bytes, value);
        }
    }
}
