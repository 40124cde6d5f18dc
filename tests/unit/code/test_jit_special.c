// NaN, infinities, zeros of both signs, denormals and the largest values in every lane of whole
// vectors and tails, against the interpreter: bit for bit, any NaN for any NaN. test_jit_ops tries
// every operation once on many values; here few operations meet each special value in each place,
// where a mask, an identity of a masked lane or a wrong order of operands shows.
#include "unit/check.h"

#include <math.h>

#include "support/jitlab.h"
#include "sched/schedule.h"

enum {
    MOST = 35, // two vectors of 16 lanes and a tail; more than four of 8
    SPECIALS = 9,
    FILLS = 3,
};

static const Type types[] = {TYPE_F32, TYPE_F64, TYPE_F16, TYPE_BF16};

// Special value `i` of a type. `unit` is its smallest denormal, `normal - unit` the largest.
static double special(Type t, int i) {
    static const struct {
        double unit, normal, largest;
    } of[TYPE_COUNT] = {[TYPE_F32] = {0x1p-149, 0x1p-126, 0x1.fffffep127},
                        [TYPE_F64] = {0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023},
                        [TYPE_F16] = {0x1p-24, 0x1p-14, 0x1.ffcp15},
                        [TYPE_BF16] = {0x1p-133, 0x1p-126, 0x1.fep127}};
    const double values[SPECIALS] = {
        NAN,           INFINITY,      -INFINITY, 0, -0.0, of[t].unit, of[t].unit - of[t].normal,
        of[t].largest, -of[t].largest};
    return values[i];
}

static Tree *lower(Lab *lab, const Program *p, const char *schedule) {
    Source source = {"schedule", schedule, (uint32_t)strlen(schedule)};
    Schedule *s = schedule_parse(&lab->arena, &lab->names, &source, &lab->diags);
    return p && s ? tree_lower(&lab->arena, p, s, &lab->diags) : NULL;
}

static bool compare(Lab *lab, const Program *p, const char *schedule, const LabData *start,
                    const LabData *want) {
    Tree *t = lower(lab, p, schedule);
    if (!CHECK(t)) {
        printf("%s\n%s\n", lab_text(lab, p), lab_errors(lab));
        return false;
    }
    for (Isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        if (m.isa != isa) continue;
        for (int low = 0; low < 2; low++) {
            LabData got = lab_copy(lab, p, start);
            if (!CHECK(jit_run(lab, t, &m, &got, (InterpFlags){0}, 1, low) == JIT_OK)) return false;
            const char *d = lab_difference(lab, p, &got, want);
            if (CHECK(!d)) continue;
            printf("%s\n%s%s: %s\n", lab_text(lab, p), schedule, isa_name[isa], d);
            return false;
        }
    }
    return true;
}

// --- Pointwise ---------------------------------------------------------------------------------

// Row r holds pair r of specials in lane 0, and the following pairs in the following lanes: after
// all rows every lane has seen every pair. "R" stands for the type.
static bool try_pointwise(Type type, int n) {
    static const char *const to_type[] = {"R",    "R",    "R",    "R",   "R",  "R",   "R",   "bool",
                                          "bool", "bool", "bool", "i32", "u8", "i64", "f16", "f64"};
    static const char *const value[] = {"A[r, i] + B[r, i]",
                                        "A[r, i] - B[r, i]",
                                        "A[r, i] * B[r, i]",
                                        "A[r, i] / B[r, i]",
                                        "min(A[r, i], B[r, i])",
                                        "max(A[r, i], B[r, i])",
                                        "select(A[r, i] < B[r, i], B[r, i], -A[r, i])",
                                        "A[r, i] < B[r, i]",
                                        "A[r, i] >= B[r, i]",
                                        "A[r, i] == B[r, i]",
                                        "A[r, i] != B[r, i]",
                                        "i32(A[r, i])",
                                        "u8(A[r, i])",
                                        "i64(A[r, i])",
                                        "f16(A[r, i])",
                                        "f64(A[r, i])"};
    enum { OUTPUTS = sizeof value / sizeof *value, ROWS = SPECIALS * SPECIALS };
    Lab lab;
    lab_begin(&lab);
    Text text = {.arena = &lab.arena}, schedule = {.arena = &lab.arena};
    const char *name = type_info[type].name;
    text_printf(&text, "program f { input A: %s[%d, %d] input B: %s[%d, %d]\n", name, ROWS, n, name,
                ROWS, n);
    for (int o = 0; o < OUTPUTS; o++)
        text_printf(&text, "output C%d: %s[%d, %d]\n", o, *to_type[o] == 'R' ? name : to_type[o],
                    ROWS, n);
    for (int o = 0; o < OUTPUTS; o++) {
        text_printf(&text, "C%d: for r in 0:%d, i in 0:%d  C%d[r, i] = %s\n", o, ROWS, n, o,
                    value[o]);
        text_printf(&schedule, "C%d: r i:v\n", o);
    }
    text_add(&text, "}");
    const Program *p = lab_program(&lab, text_str(&text), NULL);
    bool ok = CHECK(p);
    if (!ok) printf("%s\n", lab_errors(&lab));
    if (ok) {
        LabData start = lab_data(&lab, p, 1);
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < n; i++) {
                int pair = (r + i) % ROWS;
                lab_set(&start, 0, r * n + i, special(type, pair % SPECIALS));
                lab_set(&start, 1, r * n + i, special(type, pair / SPECIALS));
            }
        LabData want = lab_copy(&lab, p, &start);
        ok = CHECK(lab_run(&lab, p, &want)) && compare(&lab, p, text_str(&schedule), &start, &want);
    }
    lab_end(&lab);
    return ok;
}

TEST(special_values_in_every_lane_of_operations) {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int n = 1; n <= MOST; n++)
            if (!try_pointwise(types[t], n)) return;
}

// --- Reductions --------------------------------------------------------------------------------

// Zeros of either sign, or small fractions (powers of two in B): with one special value among them
// every sum and product is the same in any order, for they are exact, or stay below half a unit of
// the largest value (16 in f16), or above twice any denormal.
static double fill(int which, int tensor, int i) {
    if (which < 2) return which ? -0.0 : 0;
    return tensor ? (i % 8 ? 1 : 2) : (i % 3 + 1) / 8.0;
}

// Row (place, special, fill) of A, B and, transposed, T has one special value among n. W has none:
// the product of two denormals is lost or not, depending on what it is added to.
static void fill_rows(const LabData *d, Type type, int n) {
    int64_t row = 0;
    for (int i = 0; i < n; i++) lab_set(d, 3, i, fill(2, 1, i));
    for (int place = 0; place < n; place++)
        for (int s = 0; s < SPECIALS; s++)
            for (int f = 0; f < FILLS; f++, row++)
                for (int i = 0; i < n; i++) {
                    double x = special(type, s);
                    lab_set(d, 0, row * n + i, i == place ? x : fill(f, 0, i));
                    lab_set(d, 1, row * n + i, i == place ? x : fill(f, 1, i));
                    lab_set(d, 2, i * n * SPECIALS * FILLS + row, i == place ? x : fill(f, 0, i));
                }
}

// Along the vector loop, and across it: lanes of T are rows of A.
static bool try_reductions(Type type, int n) {
    Lab lab;
    lab_begin(&lab);
    const char *name = type_info[type].name;
    int rows = n * SPECIALS * FILLS;
    static const char *const form =
        "program f(R, N) { input A: %1$s[R, N] input B: %1$s[R, N] input T: %1$s[N, R]\n"
        "input W: %1$s[N]\n"
        "output S: %1$s[R] output P: %1$s[R] output L: %1$s[R] output G: %1$s[R] output D: "
        "%1$s[R]\n"
        "output X: %1$s[R] output Y: %1$s[R]\n"
        "S: for r in 0:R, i in 0:N  S[r] +=! A[r, i]\n"
        "P: for r in 0:R, i in 0:N  P[r] *=! B[r, i]\n"
        "L: for r in 0:R, i in 0:N  L[r] min=! A[r, i]\n"
        "G: for r in 0:R, i in 0:N  G[r] max=! A[r, i]\n"
        "D: for r in 0:R, i in 0:N  D[r] +=! A[r, i]*W[i]\n"
        "X: for r in 0:R, i in 0:N  X[r] min=! T[i, r]\n"
        "Y: for r in 0:R, i in 0:N  Y[r] +=! T[i, r] }";
    const char *text = arena_printf(&lab.arena, form, name);
    const Program *p = lab_program(&lab, text, (int64_t[]){rows, n});
    bool ok = CHECK(p);
    if (!ok) printf("%s\n", lab_errors(&lab));
    if (ok) {
        LabData start = lab_data(&lab, p, 1);
        fill_rows(&start, type, n);
        LabData want = lab_copy(&lab, p, &start);
        ok = CHECK(lab_run(&lab, p, &want)) &&
             compare(&lab, p,
                     "S: r i:v\nP: r i:v\nL: r i:v\nG: r i:v\nD: r i:v\nX: i r:v\nY: i r:v\n",
                     &start, &want);
    }
    lab_end(&lab);
    return ok;
}

TEST(special_values_in_every_lane_of_reductions) {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int n = 1; n <= MOST; n++)
            if (!try_reductions(types[t], n)) return;
}

// --- Past the caches -----------------------------------------------------------------------------

// Backwards, from and to every alignment: vectors whole, in pieces and by ordinary stores.
TEST(results_go_backwards_past_the_caches) {
    for (int64_t n = 16; n <= 2 * MOST; n++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab,
                                       "program back(N) { input A: f32[N] output C: f32[2, N]\n"
                                       "C: for m in 0:2, i in 0:N  C[m, N - 1 - i] = A[i] }",
                                       &n);
        LabData start = lab_data(&lab, p, (uint64_t)n), want = lab_copy(&lab, p, &start);
        bool ok = CHECK(lab_run(&lab, p, &want)) &&
                  compare(&lab, p, "C: m i:v\n    nontemporal\n", &start, &want);
        lab_end(&lab);
        if (!ok) return;
    }
}
