#include "support/genlanes.h"

#include "base/checked.h"

typedef struct Gen {
    uint64_t state;
    Arena *arena;
    const char *type; // of all but indices
    bool is_float;
} Gen;

static int pick(Gen *g, int n) {
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static int size(Gen *g) {
    static const int sizes[] = {1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 32, 33, 37};
    return sizes[pick(g, 16)];
}

// `op=!` and a value that stays exact under it, or `=`.
static const char *update(Gen *g, bool reduces, const char *value) {
    static const char *const op[] = {"+=!", "+=!", "min=!", "max=!", "+=", "*=!"};
    if (!reduces) return arena_printf(g->arena, "= %s", value);
    int k = pick(g, 6);
    const char *one = g->is_float ? "1.0" : "1";
    if (k == 5) value = arena_printf(g->arena, "min(%s, %s(%s))", value, g->type, one);
    if (k == 5) value = arena_printf(g->arena, "max(%s, -%s(%s))", value, g->type, one);
    if (k == 5 && g->type[0] == 'u') k = 0;
    return arena_printf(g->arena, "%s %s", op[k], value);
}

// A window over a row, whose border is a condition of the program, or of the value; the element
// read moves along the lanes by 1, 2, -1, 3 or not at all.
static const char *guarded(Gen *g) {
    static const int steps[] = {1, 1, 1, 2, -1, 3, 0};
    int rows = 1 + pick(g, 4), n = size(g), s = 1 + pick(g, 3), step = steps[pick(g, 7)];
    int length = step ? 1 + (n - 1) * (step < 0 ? -step : step) : s;
    int shift = step < 0 ? (n - 1) + pick(g, 3) - 1 : pick(g, 3) - 2 + s / 2;
    length = length > 2 ? length - pick(g, 2) : length;
    const char *at = arena_printf(g->arena, "%d*j + s + %d", step, shift);
    const char *holds =
        step ? arena_printf(g->arena, "%s >= 0, %s < %d", at, at, length)
             : arena_printf(g->arena, "%s >= 0, %s < %d, j - s - 1 >= 0", at, at, length);
    const char *read = arena_printf(g->arena, "A[r, %s]", at);
    bool inside = pick(g, 2), reduces = s > 1 || pick(g, 2);
    if (!inside)
        read = arena_printf(
            g->arena, "select(index(%s) >= i64(0) && index(%s) < i64(%d)%s, %s, %s(%s))", at, at,
            length, step ? "" : " && index(j) >= i64(3)", read, g->type, g->is_float ? "2.0" : "2");
    if (pick(g, 2)) read = arena_printf(g->arena, "%s*K[s]", read);
    return arena_printf(g->arena,
                        "program g { input A: %s[%d, %d] input K: %s[%d] inout O: %s[%d, %d]\n"
                        "O: for r in 0:%d, j in 0:%d, s in 0:%d%s%s  O[r, j] %s }",
                        g->type, rows, length, g->type, s, g->type, rows, n, rows, n,
                        reduces ? s : 1, inside ? " if " : "", inside ? holds : "",
                        update(g, reduces, read));
}

static const char *gathered(Gen *g) {
    static const char *const index[] = {"i32", "i32", "i64", "u8", "i16", "i8"};
    int rows = 1 + pick(g, 4), n = size(g), table = 1 + pick(g, 60), form = pick(g, 4);
    static const char *const tables[] = {"%d", "%d, 3", "3, %d", "%d, 5"};
    static const char *const reads[] = {"T[I[j]]", "T[I[j], r % 3]", "T[r % 3, I[j]]",
                                        "T[I[j], 2] + T[I[j], 0]"};
    bool reduces = pick(g, 3) == 0;
    const char *dims = arena_printf(g->arena, tables[form], table);
    const char *write = reduces ? "O[r]" : "O[r, j]";
    const char *read =
        pick(g, 3) ? reads[form] : arena_printf(g->arena, "(%s)*B[r, j]", reads[form]);
    return arena_printf(g->arena,
                        "program t { input T: %s[%s] input I: %s[%d] input B: %s[%d, %d]\n"
                        "inout O: %s[%d%s]\nO: for r in 0:%d, j in 0:%d  %s %s }",
                        g->type, dims, index[pick(g, 6)], n, g->type, rows, n, g->type, rows,
                        reduces ? "" : arena_printf(g->arena, ", %d", n), rows, n, write,
                        update(g, reduces, read));
}

// Rows reduced along the lanes, one after the other; sometimes with a second pass that reads the
// results.
static const char *rows(Gen *g) {
    int n = 1 + pick(g, 40), m = size(g), form = pick(g, 3);
    const char *first = update(g, true, "A[r, j]");
    const char *second = update(g, true, "A[r, j]*B[j]");
    const char *text =
        arena_printf(g->arena,
                     "program r { input A: %s[%d, %d] input B: %s[%d] inout S: %s[%d] "
                     "inout P: %s[%d] output O: %s[%d, %d]\n"
                     "S: for r in 0:%d, j in 0:%d  S[r] %s\n",
                     g->type, n, m, g->type, m, g->type, n, g->type, n, g->type, n, m, n, m, first);
    if (form == 1)
        text =
            arena_printf(g->arena, "%sP: for r in 0:%d, j in 0:%d  P[r] %s\n", text, n, m, second);
    return arena_printf(g->arena, "%sO: for r in 0:%d, j in 0:%d  O[r, j] = max(A[r, j], S[r])%s }",
                        text, n, m, form == 2 ? " + A[r, j]" : "");
}

// Dot products of adjacent narrow integers, as in packed panels; sometimes of types or numbers that
// no instruction supports.
static const char *words(Gen *g) {
    static const char *const types[][2] = {{"i16", "i16"}, {"i16", "i16"}, {"u8", "i8"},
                                           {"i8", "u8"},   {"i8", "i8"},   {"i16", "i8"},
                                           {"u16", "i16"}, {"u8", "u8"}};
    static const char *const sums[] = {"i32", "i32", "i32", "u32", "i64"};
    const char *const *type = types[pick(g, 8)], *sum = sums[pick(g, 5)];
    int in_word = type[0][1] == '8' ? 4 : 2;
    if (pick(g, 6) == 0) in_word = 2 + pick(g, 3);
    int m = 1 + pick(g, 7), n = size(g), k = 1 + pick(g, 9), rows = pick(g, 3);
    const char *b = rows ? "B[k, n, p]" : "B[m, n, p]"; // a panel, or one word per result
    const char *a = arena_printf(g->arena, rows == 1 ? "A[m, %d*k + p]" : "A[m, k, p]", in_word);
    const char *dims = arena_printf(g->arena, rows == 1 ? "%d, %d" : "%d, %d, %d", m,
                                    rows == 1 ? in_word * k : k, in_word);
    return arena_printf(
        g->arena,
        "program w { input A: %s[%s] input B: %s[%d, %d, %d] inout C: %s[%d, %d]\n"
        "C: for m in 0:%d, n in 0:%d, k in 0:%d, p in 0:%d  C[m, n] %s %s(%s)*%s(%s) }",
        type[0], dims, type[1], rows ? k : m, n, in_word, sum, m, n, m, n, k, in_word,
        pick(g, 3) ? "+=!" : "+=", sum, a, sum, b);
}

// A subscript of quotients, remainders, minima and maxima of a*j + s + c, with its value at a
// point.
typedef struct Bent {
    int form, a, c, by, turn, k;
} Bent;

static int64_t bent_at(const Bent *b, int64_t j, int64_t s) {
    int64_t x = b->a * j + s + b->c, m = floor_mod(x, b->turn);
    switch (b->form) {
    case 0: return floor_div(x, b->by);
    case 1: return m;
    case 2: return max_i64(min_i64(floor_div(x, b->by), b->turn), b->k);
    case 3: return min_i64(m, b->turn - m);
    case 4: return floor_mod(floor_div(x, b->by), b->turn);
    case 5: return b->k * floor_div(x, b->by) + floor_mod(x, b->by);
    case 6: return max_i64(min_i64(x, b->turn), b->k);
    default: return x;
    }
}

static const char *bent_text(Gen *g, const Bent *b) {
    const char *x = arena_printf(g->arena, "(%d*j + s + %d)", b->a, b->c);
    const char *m = arena_printf(g->arena, "%s%%%d", x, b->turn);
    switch (b->form) {
    case 0: return arena_printf(g->arena, "%s/%d", x, b->by);
    case 1: return m;
    case 2: return arena_printf(g->arena, "max(min(%s/%d, %d), %d)", x, b->by, b->turn, b->k);
    case 3: return arena_printf(g->arena, "min(%s, %d - %s)", m, b->turn, m);
    case 4: return arena_printf(g->arena, "(%s/%d)%%%d", x, b->by, b->turn);
    case 5: return arena_printf(g->arena, "%d*(%s/%d) + %s%%%d", b->k, x, b->by, x, b->by);
    case 6: return arena_printf(g->arena, "max(min(%s, %d), %d)", x, b->turn, b->k);
    default: return x;
    }
}

// A random one over j in 0:n, s in 0:m; its values are in 0:*size.
static const char *bent(Gen *g, int n, int m, int64_t *size) {
    static const int by[] = {2, 2, 2, 3, 4, 4, 5, 8, 16, 32};
    static const int steps[] = {1, 1, 1, 1, 2, -1, 3, 0};
    Bent b = {pick(g, 8), steps[pick(g, 8)], pick(g, 9) - 4, by[pick(g, 10)], 1, pick(g, 5)};
    b.turn = pick(g, 2) ? n : 1 + pick(g, 2 * n + 4);
    if (pick(g, 3)) b.form = pick(g, 6); // other generators cover the rest
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t j = 0; j < n; j++)
        for (int64_t s = 0; s < m; s++) {
            least = min_i64(least, bent_at(&b, j, s));
            most = max_i64(most, bent_at(&b, j, s));
        }
    *size = most - least + 1;
    return arena_printf(g->arena, "%s + %lld", bent_text(g, &b), (long long)-least);
}

// Lanes whose addresses are regular but not strided, in one dimension or two.
static const char *bent_rows(Gen *g) {
    int rows = 1 + pick(g, 4), n = size(g) + (pick(g, 2) ? 32 : 0), m = 1 + pick(g, 3) / 2 * 2;
    int64_t first, last, other;
    bool reduces = m > 1 || pick(g, 4) == 0;
    const char *a = bent(g, n, m, &first), *b = bent(g, n, m, &last), *c = bent(g, n, m, &other);
    if (pick(g, 2)) b = "s", last = m;
    const char *value = arena_printf(g->arena, "A[%s, %s]", b, a);
    if (pick(g, 2)) value = arena_printf(g->arena, "%s + B[r/2, %s]", value, c);
    if (pick(g, 4) == 0)
        value = arena_printf(g->arena, "select(index(j) >= i64(%d), %s, %s(%s))", pick(g, n), value,
                             g->type, g->is_float ? "2.0" : "2");
    return arena_printf(
        g->arena,
        "program b { input A: %s[%lld, %lld] input B: %s[%d, %lld] inout O: %s[%d, %d]\n"
        "O: for r in 0:%d, j in 0:%d, s in 0:%d  O[r, j] %s }",
        g->type, (long long)last, (long long)first, g->type, (rows + 1) / 2, (long long)other,
        g->type, rows, n, rows, n, m, update(g, reduces, value));
}

// Interleaved columns of short rows: in a loop over them, or in one statement each, which may read
// columns that others wrote. Rows may have more elements than columns, except the last one.
static const char *columns(Gen *g) {
    int s = 2 + pick(g, pick(g, 3) ? 3 : 7), n = size(g) + (pick(g, 2) ? 32 : 0);
    int used = pick(g, 3) ? s : 1 + pick(g, s), stored = pick(g, 4) ? s : 1 + pick(g, s);
    const char *text = arena_printf(
        g->arena, "program c { input A: %s[%d] input B: %s[%d, %d] inout O: %s[%d, %d]\n", g->type,
        s * (n - 1) + used, g->type, n, s, g->type, n, s);
    if (pick(g, 2)) {
        const char *second =
            used == s ? arena_printf(g->arena, "A[%d*j + %d - c]", s, s - 1) : "B[j, c]";
        return arena_printf(g->arena,
                            "%sO: for j in 0:%d, c in 0:%d  O[j, c] = A[%d*j + %s]*B[j, c] + %s }",
                            text, n, stored, s, stored <= used ? "c" : "0", second);
    }
    for (int c = 0; c < stored; c++) {
        const char *read = pick(g, 3) ? arena_printf(g->arena, "B[j, %d]", pick(g, s))
                                      : arena_printf(g->arena, "O[j, %d]", pick(g, s));
        text = arena_printf(g->arena, "%sO%d: for j in 0:%d  O[j, %d] = A[%d*j + %d] - %s\n", text,
                            c, n, c, s, pick(g, used), read);
    }
    return arena_printf(g->arena, "%s}", text);
}

// A triangle or a band: terms with one or two conditions that depend on the reduction index and on
// the index of the result; a condition of the program, or of the value.
static const char *triangle(Gen *g) {
    static const char *const other[] = {"0", "0", "0", "2", "1"};
    int m = size(g), n = size(g), k = size(g) + pick(g, 3) * 32;
    const char *side[2], *holds = "", *where = "";
    for (int c = 0; c < 2; c++) {
        int step = 1 + pick(g, 4) / 3;
        const char *by = pick(g, 3) ? "i" : "j", *sign = pick(g, 2) ? "" : "-";
        side[c] = arena_printf(g->arena, "%s%d*k + %d*%s + %d", sign, step, pick(g, 5) - 2, by,
                               pick(g, 41) - 20);
    }
    bool band = pick(g, 2);
    holds = arena_printf(g->arena, "index(%s) >= i64(0)", side[0]);
    where = arena_printf(g->arena, "%s >= 0", side[0]);
    if (band) holds = arena_printf(g->arena, "%s && index(%s) > i64(-3)", holds, side[1]);
    if (band) where = arena_printf(g->arena, "%s, %s > -3", where, side[1]);
    const char *value = pick(g, 2) ? "A[i, k]*B[k, j]" : "A[i, k]";
    bool inside = pick(g, 4) == 0;
    if (!inside)
        value = arena_printf(g->arena, "select(%s, %s, %s(%s%s))", holds, value, g->type,
                             other[pick(g, 5)], g->is_float ? ".0" : "");
    return arena_printf(g->arena,
                        "program t { input A: %s[%d, %d] input B: %s[%d, %d] inout O: %s[%d, %d]\n"
                        "O: for i in 0:%d, j in 0:%d, k in 0:%d%s%s  O[i, j] %s }",
                        g->type, m, k, g->type, k, n, g->type, m, n, m, n, k, inside ? " if " : "",
                        inside ? where : "", update(g, true, value));
}

const char *genlanes_text(Arena *arena, uint64_t seed) {
    static const char *const types[] = {"f32", "f32", "f32", "f64", "f16", "bf16", "i8",
                                        "i16", "i32", "i64", "u8",  "u16", "u32",  "u64"};
    Gen g = {.state = seed, .arena = arena};
    g.type = types[pick(&g, 14)];
    g.is_float = g.type[0] == 'f' || g.type[0] == 'b';
    switch (pick(&g, 9)) {
    case 0: return guarded(&g);
    case 6: return triangle(&g);
    case 1: return gathered(&g);
    case 2: return rows(&g);
    case 3: return words(&g);
    case 4: return columns(&g);
    default: return bent_rows(&g);
    }
}
