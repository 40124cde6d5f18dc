// Dependence tests: cases known by hand, and agreement with enumeration on random small questions.
#include "unit/check.h"

#include "base/checked.h"
#include "program/deps.h"
#include "program/omega.h"
#include "support/gendeps.h"

#include <time.h>

static Arena arena;
static Exprs *x;

static void begin(void) {
    arena_init(&arena, &allocator_libc);
    x = arena_new(&arena, Exprs);
    exprs_init(x, &arena);
}

static void end(void) { arena_free(&arena); }

static const Affine *k(int64_t c) { return affine_const(x, c); }
static const Affine *it(int i) { return affine_iter(x, i); }
static const Affine *add(const Affine *a, const Affine *b) { return affine_add(x, a, b); }
static const Affine *mul(int64_t c, const Affine *a) { return affine_scale(x, a, c); }

static const int64_t zeros[8] = {0};

// --- By hand -----------------------------------------------------------------------------------

// For one statement over n iterations that writes f(i) and reads g(i): whether a later iteration
// reads an element that an earlier one wrote.
static DepAnswer flow(int64_t n, const Affine *f, const Affine *g, DepWitness *w) {
    DepDir later = {0, 0, DEP_LT};
    DepQuery q = {
        .a = {.niters = 1, .lo = zeros, .hi = &n, .rank = 1, .sub = &f},
        .b = {.niters = 1, .lo = zeros, .hi = &n, .rank = 1, .sub = &g},
        .ndirs = 1,
        .dirs = &later,
    };
    return deps_test(&arena, &q, w);
}

TEST(deps_one_loop) {
    begin();
    DepWitness w;
    CHECK(flow(10, it(0), it(0), &w) == DEP_NO);
    CHECK(flow(10, it(0), add(it(0), k(-1)), &w) == DEP_YES); // A[i] = A[i-1]
    CHECK(w.b[0] == w.a[0] + 1 && w.element[0] == w.a[0]);
    CHECK(flow(10, it(0), add(it(0), k(1)), &w) == DEP_NO);
    CHECK(flow(10, it(0), add(it(0), k(-9)), &w) == DEP_YES);
    CHECK(w.a[0] == 0 && w.b[0] == 9);
    CHECK(flow(10, it(0), add(it(0), k(-10)), &w) == DEP_NO);
    CHECK(flow(1000000, mul(2, it(0)), add(mul(2, it(0)), k(1)), &w) == DEP_NO); // parity
    CHECK(flow(1000000, mul(4, it(0)), add(mul(6, it(0)), k(1)), &w) == DEP_NO);
    CHECK(flow(1000000, mul(4, it(0)), add(mul(6, it(0)), k(-200)), &w) == DEP_YES);
    CHECK(flow(100, it(0), add(mul(-1, it(0)), k(99)), &w) == DEP_YES); // reversal
    CHECK(flow(1, it(0), it(0), NULL) == DEP_NO);
    CHECK(flow(0, k(0), k(0), NULL) == DEP_NO);
    CHECK(flow(2, k(0), k(0), NULL) == DEP_YES);
    end();
}

TEST(deps_divisions) {
    begin();
    DepWitness w;
    const Affine *half = affine_div(x, it(0), k(2)), *third = affine_mod(x, it(0), k(3));
    CHECK(flow(10, half, half, &w) == DEP_YES); // 0 and 1 share element 0
    CHECK(w.a[0] / 2 == w.b[0] / 2 && w.a[0] < w.b[0]);
    CHECK(flow(3, third, third, &w) == DEP_NO);
    CHECK(flow(4, third, third, &w) == DEP_YES);
    CHECK(w.a[0] == 0 && w.b[0] == 3);
    CHECK(flow(1000, mul(2, half), add(mul(2, half), k(1)), &w) == DEP_NO);
    // i = 2*(i/2) + i%2: the same element only for the same i
    const Affine *both = add(mul(2, half), affine_mod(x, it(0), k(2)));
    CHECK(flow(100000, both, both, &w) == DEP_NO);
    end();
}

TEST(deps_minimum_and_maximum) {
    begin();
    DepWitness w;
    const Affine *clamped = affine_max(x, affine_min(x, add(it(0), k(-1)), k(8)), k(0));
    CHECK(flow(10, it(0), clamped, &w) == DEP_YES);
    CHECK(flow(10, add(it(0), k(20)), clamped, &w) == DEP_NO);
    CHECK(flow(2, it(0), affine_max(x, it(0), k(1)), &w) == DEP_NO);
    end();
}

TEST(deps_gathers_are_undecided) {
    begin();
    const Affine *sub = it(0);
    const Affine *gather = affine_read(x, access_make(x, 0, 1, &sub));
    CHECK(flow(10, it(0), gather, NULL) == DEP_UNDECIDED);
    int64_t n = 10;
    const Affine *f[] = {gather, mul(2, it(0))}, *g[] = {it(0), add(mul(2, it(0)), k(1))};
    DepQuery q = {
        .a = {.niters = 1, .lo = zeros, .hi = &n, .rank = 2, .sub = f},
        .b = {.niters = 1, .lo = zeros, .hi = &n, .rank = 2, .sub = g},
    };
    CHECK(deps_test(&arena, &q, NULL) == DEP_NO); // the other dimension decides
    end();
}

// A product of iterators is ignored; the witness may still be valid.
TEST(deps_products) {
    begin();
    int64_t n[] = {10, 10};
    const Affine *f[] = {affine_mul(x, it(0), it(1)), it(0)};
    DepWitness w;
    DepQuery q = {
        .a = {.niters = 2, .lo = zeros, .hi = n, .rank = 2, .sub = f},
        .b = {.niters = 2, .lo = zeros, .hi = n, .rank = 2, .sub = f},
    };
    CHECK(deps_test(&arena, &q, &w) == DEP_YES);
    CHECK(w.a[0] * w.a[1] == w.b[0] * w.b[1]);
    end();
}

// C[i,j] += A[i,k]*B[k,j] is carried by k only; skewed and tiled accesses of large boxes.
TEST(deps_of_a_contraction) {
    begin();
    int64_t n[] = {1024, 1024, 1024};
    const Affine *c[] = {it(0), it(1)};
    DepSide side = {.niters = 3, .lo = zeros, .hi = n, .rank = 2, .sub = c};
    for (int level = 0; level < 3; level++) {
        DepDir dirs[] = {{0, 0, DEP_EQ}, {1, 1, DEP_EQ}, {2, 2, DEP_EQ}};
        dirs[level].rel = DEP_LT;
        DepQuery q = {.a = side, .b = side, .ndirs = level + 1, .dirs = dirs};
        CHECK(deps_test(&arena, &q, NULL) == (level == 2 ? DEP_YES : DEP_NO));
    }
    // 32*io + ii == 32*jo + ji with io < jo: tiles do not overlap
    int64_t m[] = {32, 32};
    const Affine *tile[] = {add(mul(32, it(0)), it(1))};
    DepSide t = {.niters = 2, .lo = zeros, .hi = m, .rank = 1, .sub = tile};
    DepDir less = {0, 0, DEP_LT};
    DepQuery q = {.a = t, .b = t, .ndirs = 1, .dirs = &less};
    CHECK(deps_test(&arena, &q, NULL) == DEP_NO);
    m[1] = 33; // overlapping tiles do
    CHECK(deps_test(&arena, &q, NULL) == DEP_YES);
    end();
}

TEST(deps_orders) {
    begin();
    int64_t n[] = {10, 10}, a[] = {1, 1}, b[] = {-1, -1};
    const Affine *f[] = {add(it(0), it(1))};
    DepSide s = {.niters = 2, .lo = zeros, .hi = n, .rank = 1, .sub = f};
    DepOrder wave = {a, b, -1, false}; // i0 + i1 - j0 - j1 - 1 >= 0 contradicts the equality
    DepQuery q = {.a = s, .b = s, .norders = 1, .orders = &wave};
    CHECK(deps_test(&arena, &q, NULL) == DEP_NO);
    wave.constant = 0;
    CHECK(deps_test(&arena, &q, NULL) == DEP_YES);
    wave.equal = true;
    wave.constant = -3;
    CHECK(deps_test(&arena, &q, NULL) == DEP_NO);
    end();
}

// --- Agreement with enumeration ----------------------------------------------------------------

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

// Larger boxes and coefficients, without order: whether the two sets of elements intersect.
static int64_t elements(const DepSide *s, int64_t (*out)[2]) {
    int64_t n = 0, at[2];
    for (at[0] = s->lo[0]; at[0] < s->hi[0]; at[0]++)
        for (at[1] = s->lo[1]; at[1] < s->hi[1]; at[1]++, n++)
            for (int d = 0; d < 2; d++)
                CHECK(affine_eval(s->sub[d], at, NULL, NULL, NULL, &out[n][d]));
    return n;
}

static int compare_elements(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(int64_t));
}

TEST(deps_agree_on_larger_boxes) {
    static int64_t a[64 * 64][2], b[64 * 64][2];
    int64_t rounds = check_rounds(4000), yes = 0;
    for (int64_t n = 0; n < rounds; n++) {
        begin();
        GenDeps r = {.seed = (uint64_t)n, .x = x};
        DepSide *side[] = {&r.q.a, &r.q.b};
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < 2; i++) {
                r.lo[s][i] = gendeps_below(&r, 5) - 2;
                r.hi[s][i] = r.lo[s][i] + 1 + gendeps_below(&r, 40);
                r.sub[s][i] = gendeps_linear(&r, 2, 15);
                r.sub[s][i] = add(r.sub[s][i], k(gendeps_below(&r, 200) - 100));
                if (gendeps_below(&r, 6) == 0)
                    r.sub[s][i] = affine_div(x, r.sub[s][i], k(2 + gendeps_below(&r, 5)));
            }
            *side[s] =
                (DepSide){.niters = 2, .lo = r.lo[s], .hi = r.hi[s], .rank = 2, .sub = r.sub[s]};
        }
        int64_t na = elements(&r.q.a, a), nb = elements(&r.q.b, b);
        qsort(b, (size_t)nb, sizeof b[0], compare_elements);
        bool want = false;
        for (int64_t i = 0; i < na && !want; i++)
            want = bsearch(a[i], b, (size_t)nb, sizeof b[0], compare_elements);
        yes += want;
        if (!CHECK_INT_EQ(deps_test(&arena, &r.q, NULL), want ? DEP_YES : DEP_NO))
            printf("  in question %" PRId64 "\n", n);
        end();
    }
    CHECK(yes > rounds / 20 && yes < rounds);
}

// Prints the speed for information; this is not a test.
TEST(deps_time_of_a_contraction) {
    begin();
    int64_t n[] = {1024, 1024, 1024};
    const Affine *c[] = {it(0), it(1)};
    DepSide side = {.niters = 3, .lo = zeros, .hi = n, .rank = 2, .sub = c};
    DepDir dirs[] = {{0, 0, DEP_EQ}, {1, 1, DEP_EQ}, {2, 2, DEP_LT}};
    DepQuery q = {.a = side, .b = side, .ndirs = 3, .dirs = dirs};
    int64_t rounds = check_rounds(20000);
    double t = now_ns();
    for (int64_t i = 0; i < rounds; i++) CHECK(deps_test(&arena, &q, NULL) == DEP_YES);
    printf("  %.0f ns\n", (now_ns() - t) / (double)rounds);
    end();
}

TEST(deps_agree_with_enumeration) {
    int64_t rounds = check_rounds(60000), count[3] = {0};
    double spent = 0, worst = 0;
    for (int64_t n = 0; n < rounds; n++) {
        begin();
        GenDeps r = {.seed = (uint64_t)n, .x = x};
        gendeps(&r);
        DepWitness w;
        double t = now_ns();
        DepAnswer got = deps_test(&arena, &r.q, &w);
        t = now_ns() - t;
        spent += t;
        if (t > worst) worst = t;
        count[got]++;
        if (got == DEP_UNDECIDED) {
            end();
            continue;
        }
        bool want = gendeps_enumerate(&r.q), ok = CHECK((got == DEP_YES) == want);
        if (got == DEP_YES) ok &= CHECK(gendeps_holds(&r.q, w.a, w.b));
        if (!ok) printf("  in question %" PRId64 "\n", n);
        end();
    }
    printf("  %" PRId64 " yes, %" PRId64 " no, %" PRId64
           " undecided (%.3f %%); %.0f ns each, %.0f us at "
           "most\n",
           count[DEP_YES], count[DEP_NO], count[DEP_UNDECIDED],
           100.0 * (double)count[DEP_UNDECIDED] / (double)rounds, spent / (double)rounds,
           worst / 1000);
    CHECK(count[DEP_UNDECIDED] * 1000 <= rounds);
    CHECK(count[DEP_YES] > rounds / 10 && count[DEP_NO] > rounds / 10);
}
