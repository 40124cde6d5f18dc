// Affines: one node per value, simplification, printing, and agreement of every rewrite with
// evaluation.
#include "unit/check.h"

#include "base/checked.h"
#include "program/expr.h"

static Arena arena;
static Exprs pool, *x = &pool;
static const Affine *i, *j, *n;

static void begin(void) {
    arena_init(&arena, &allocator_libc);
    exprs_init(x, &arena);
    i = affine_iter(x, 0);
    j = affine_iter(x, 1);
    n = affine_param(x, 0);
}

static const Affine *k(int64_t c) { return affine_const(x, c); }

static const char *show(const Affine *a) {
    Text t = {.arena = &arena};
    Name iters[] = {"i", "j", "k", "l"}, params[] = {"N", "M", "2S"}, tensors[] = {"T", "U"};
    PrintNames names = {iters, params, tensors};
    affine_print(&t, a, &names);
    return text_str(&t);
}

TEST(sums_have_one_node) {
    begin();
    const Affine *a = affine_add(x, affine_scale(x, i, 2), affine_add_const(x, j, -1));
    const Affine *b = affine_sub(x, affine_add(x, affine_add(x, j, i), i), k(1));
    CHECK(a == b);
    CHECK(affine_sub(x, a, b) == k(0));
    CHECK(affine_coef(a, 0) == 2 && affine_coef(a, 1) == 1 && affine_coef(a, 7) == 0);
    CHECK(affine_as_iter(i) == 0 && affine_as_iter(a) == -1);
    CHECK(a->linear && !a->has_param && a->has_iter);
    CHECK_STR_EQ(show(a), "2*i + j - 1");
    arena_free(&arena);
}

TEST(order_does_not_depend_on_history) {
    begin();
    const Affine *p = affine_mul(x, affine_div(x, j, n), affine_mod(x, i, k(3)));
    Exprs other;
    exprs_init(&other, &arena);
    const Affine *m = affine_mod(&other, affine_iter(&other, 0), affine_const(&other, 3));
    const Affine *d = affine_div(&other, affine_iter(&other, 1), affine_param(&other, 0));
    CHECK_STR_EQ(show(p), show(affine_mul(&other, d, m)));
    CHECK_STR_EQ(show(p), show(affine_mul(&other, m, d)));
    arena_free(&arena);
}

TEST(division_takes_out_what_divides) {
    begin();
    const Affine *six_i = affine_scale(x, i, 6);
    CHECK(affine_div(x, six_i, k(3)) == affine_scale(x, i, 2));
    CHECK_STR_EQ(show(affine_div(x, affine_add(x, six_i, j), k(3))), "2*i + j/3");
    CHECK_STR_EQ(show(affine_div(x, affine_add_const(x, six_i, 2), k(4))), "(3*i + 1)/2");
    CHECK_STR_EQ(show(affine_div(x, affine_div(x, i, k(2)), k(3))), "i/6");
    CHECK_STR_EQ(show(affine_div(x, affine_add_const(x, affine_div(x, i, k(2)), 1), k(3))),
                 "(i + 2)/6");
    CHECK(affine_div(x, i, k(1)) == i);
    CHECK(affine_div(x, i, k(0)) == k(0));
    CHECK_STR_EQ(show(affine_div(x, i, k(-2))), "-i/2");
    CHECK_STR_EQ(show(affine_scale(x, affine_div(x, i, k(2)), -1)), "-(i/2)");
    CHECK_STR_EQ(show(affine_sub(x, j, affine_div(x, i, k(2)))), "j - i/2");
    CHECK_STR_EQ(show(affine_mod(x, affine_add_const(x, affine_scale(x, i, 7), -8), k(7))), "6");
    CHECK_STR_EQ(show(affine_mod(x, affine_add_const(x, i, -1), k(7))), "(i - 1)%7");
    arena_free(&arena);
}

TEST(products_distribute) {
    begin();
    const Affine *a = affine_mul(x, affine_add_const(x, i, 1), n);
    CHECK_STR_EQ(show(a), "N + i*N");
    CHECK(affine_mul(x, n, affine_add_const(x, i, 1)) == a);
    const Affine *ijn = affine_mul(x, i, affine_mul(x, j, n));
    CHECK(affine_mul(x, affine_mul(x, n, i), j) == ijn);
    CHECK_STR_EQ(show(affine_scale(x, ijn, -3)), "-3*i*j*N");
    arena_free(&arena);
}

TEST(printing_prefers_a_positive_start) {
    begin();
    CHECK_STR_EQ(show(affine_sub(x, k(3), i)), "3 - i");
    CHECK_STR_EQ(show(affine_sub(x, n, i)), "N - i");
    CHECK_STR_EQ(show(affine_sub(x, k(-3), i)), "-i - 3");
    CHECK_STR_EQ(show(k(INT64_MIN)), "-9223372036854775808");
    CHECK_STR_EQ(show(affine_add_const(x, i, INT64_MIN)), "i + -9223372036854775808");
    CHECK_STR_EQ(show(affine_min(x, n, i)), "min(i, N)");
    CHECK_STR_EQ(show(affine_param(x, 2)), "`2S`");
    const Affine *sub[] = {i, affine_add(x, j, n)};
    CHECK_STR_EQ(show(affine_read(x, access_make(x, 1, 2, sub))), "U[i, j + N]");
    arena_free(&arena);
}

TEST(minima_of_comparable_values_decide) {
    begin();
    CHECK(affine_min(x, i, affine_add_const(x, i, 1)) == i);
    CHECK(affine_max(x, i, affine_add_const(x, i, 1)) == affine_add_const(x, i, 1));
    CHECK(affine_max(x, i, j) == affine_max(x, j, i));
    arena_free(&arena);
}

TEST(overflow_sets_the_flag) {
    begin();
    CHECK(affine_add_const(x, k(INT64_MAX), 1) == k(0));
    CHECK(x->overflow);
    x->overflow = false;
    affine_scale(x, affine_scale(x, i, INT64_MAX), 2);
    CHECK(x->overflow);
    x->overflow = false;
    int64_t v, big[] = {INT64_MAX, INT64_MAX};
    CHECK(!affine_eval(affine_add(x, i, j), big, NULL, NULL, NULL, &v));
    CHECK(!x->overflow);
    arena_free(&arena);
}

TEST(limits_set_the_flag) {
    begin();
    const Affine *a = i;
    for (int d = 0; d < 2 * EXPRS_MAX_DEPTH && !x->too_large; d++)
        a = affine_max(x, affine_mod(x, a, n), j);
    CHECK(x->too_large);
    x->too_large = false;
    a = k(0);
    for (int d = 0; d <= AFFINE_MAX_TERMS && !x->too_large; d++) {
        CHECK_INT_EQ(a->n, d);
        a = affine_add(x, a, affine_iter(x, d));
    }
    CHECK(x->too_large);
    x->too_large = false;
    a = i;
    for (int d = 0; d < 60 && !x->too_large; d++)
        a = affine_max(x, affine_mod(x, a, n), affine_div(x, a, n));
    CHECK(x->too_large);
    arena_free(&arena);
}

// --- Random affines against a second, naive evaluation -----------------------------------------

typedef struct Made {
    const Affine *a;
    int64_t at[8]; // its value at eight points
} Made;

static int64_t points[8][2], param_values[8];

static Made make(uint64_t *seed, int depth) {
    uint64_t r = check_random(seed);
    Made m = {0}, p = {0}, q = {0};
    int64_t c = (int64_t)(r >> 32) % 9 - 4;
    int what = (int)(r % (depth ? 11 : 4));
    if (what >= 4) p = make(seed, depth - 1);
    if (what >= 6) q = make(seed, depth - 1);
    switch (what) {
    case 0: m.a = k(c); break;
    case 1: m.a = i; break;
    case 2: m.a = j; break;
    case 3: m.a = n; break;
    case 4: m.a = affine_div(x, p.a, k(c)); break;
    case 5: m.a = affine_mod(x, p.a, k(c)); break;
    case 6: m.a = affine_add(x, p.a, q.a); break;
    case 7: m.a = affine_sub(x, p.a, q.a); break;
    case 8: m.a = affine_mul(x, p.a, q.a); break;
    case 9: m.a = affine_min(x, p.a, q.a); break;
    default: m.a = affine_max(x, p.a, q.a); break;
    }
    for (int e = 0; e < 8; e++) {
        int64_t v = what < 4 ? 0 : p.at[e], w = what < 6 ? 0 : q.at[e];
        int64_t leaf[] = {c, points[e][0], points[e][1], param_values[e]};
        int64_t all[] = {floor_div(v, c), floor_mod(v, c), v + w,        v - w,
                         v * w,           min_i64(v, w),   max_i64(v, w)};
        m.at[e] = what < 4 ? leaf[what] : all[what - 4];
    }
    return m;
}

static void check_made(const Made *m) {
    int64_t lo[] = {INT64_MAX, INT64_MAX}, hi[] = {INT64_MIN, INT64_MIN}, min, max;
    for (int e = 0; e < 8; e++) {
        int64_t v = 0;
        CHECK(affine_eval(m->a, points[e], &param_values[e], NULL, NULL, &v));
        CHECK_INT_EQ(v, m->at[e]);
        for (int d = 0; d < 2; d++) {
            lo[d] = min_i64(lo[d], points[e][d]);
            hi[d] = max_i64(hi[d], points[e][d]);
        }
        const Affine *subst[] = {k(points[e][0]), k(points[e][1])}, *par[] = {k(param_values[e])};
        CHECK(affine_substitute(x, m->a, subst, par) == k(m->at[e]));
    }
    const Affine *par[] = {k(param_values[0])};
    const Affine *bound = affine_substitute(x, m->a, NULL, par);
    CHECK(!bound->has_param);
    if (!affine_bounds(bound, lo, hi, &min, &max)) return;
    for (int e = 0; e < 8; e++)
        if (param_values[e] == param_values[0]) CHECK(min <= m->at[e] && m->at[e] <= max);
}

TEST(rewrites_agree_with_evaluation) {
    uint64_t seed = 1;
    for (int64_t round = check_rounds(20000); round > 0; round--) {
        begin();
        for (int e = 0; e < 8; e++) {
            for (int d = 0; d < 2; d++) points[e][d] = (int64_t)(check_random(&seed) % 17) - 8;
            param_values[e] = (int64_t)(check_random(&seed) % 7) - 3;
        }
        Made m = make(&seed, 4);
        if (!x->overflow && !x->too_large) check_made(&m);
        arena_free(&arena);
    }
}
