// Questions of dependence put to isl: agreement with enumeration, and the share that stays open.
#include "unit/check.h"

#include <inttypes.h>
#include <time.h>

#include "poly/poly.h"
#include "support/gendeps.h"

typedef struct Tally {
    int64_t asked, yes, no, open, wrong;
    double worst, spent; // microseconds
} Tally;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void count(Tally *t, const DepQuery *q, DepAnswer got, const DepWitness *w, bool want) {
    t->asked++;
    t->yes += got == DEP_YES;
    t->no += got == DEP_NO;
    t->open += got == DEP_UNDECIDED;
    bool wrong = got != DEP_UNDECIDED && (got == DEP_YES) != want;
    t->wrong += wrong || (got == DEP_YES && !gendeps_holds(q, w->a, w->b));
}

static void print(const char *who, const Tally *t) {
    printf("  %s: %" PRId64 " yes, %" PRId64 " no, %" PRId64 " open (%.3f %%); %.1f us each, %.0f "
           "us at most\n",
           who, t->yes, t->no, t->open, 100.0 * (double)t->open / (double)t->asked,
           t->spent / (double)t->asked, t->worst);
}

static DepAnswer timed(Tally *t, Arena *arena, const DepQuery *q, DepWitness *w, bool isl) {
    double start = now_us();
    DepAnswer got = isl ? poly_test(q, w) : deps_test(arena, q, w);
    double took = now_us() - start;
    t->spent += took;
    t->worst = took > t->worst ? took : t->worst;
    return got;
}

// Of each question: deps.c first, isl where it stays open, and isl alone now and then.
static void questions(int64_t rounds, bool hard, Tally *first, Tally *both, Tally *alone) {
    for (int64_t n = 0; n < rounds; n++) {
        Arena arena;
        arena_init(&arena, &allocator_libc);
        Exprs x;
        exprs_init(&x, &arena);
        GenDeps r = {.seed = check_first_seed() + (uint64_t)n, .x = &x, .hard = hard};
        gendeps(&r);
        bool want = gendeps_enumerate(&r.q);
        DepWitness w;
        DepAnswer got = timed(first, &arena, &r.q, &w, false);
        count(first, &r.q, got, &w, want);
        if (got == DEP_UNDECIDED) got = timed(both, &arena, &r.q, &w, true);
        count(both, &r.q, got, &w, want);
        if (n % 8 == 0) count(alone, &r.q, timed(alone, &arena, &r.q, &w, true), &w, want);
        if (!CHECK(!first->wrong && !both->wrong && !alone->wrong)) {
            printf("  in question %" PRId64 "\n", n);
            n = rounds;
        }
        arena_free(&arena);
    }
    print("deps.c", first);
    print("then isl", both);
    print("isl alone", alone);
}

TEST(isl_agrees_with_enumeration) {
    if (poly_missing()) return;
    Tally first = {0}, both = {0}, alone = {0};
    questions(check_long_rounds(1500), false, &first, &both, &alone);
    CHECK(!both.open && (check_long_rounds(1500) < 100 || (alone.yes && alone.no)));
}

TEST(isl_decides_what_deps_leaves_open) {
    if (poly_missing()) return;
    Tally first = {0}, both = {0}, alone = {0};
    questions(check_long_rounds(1000), true, &first, &both, &alone);
    CHECK(both.open * 2000 <= both.asked); // 0.05 %
}

TEST(gathers_stay_open) {
    Arena arena;
    arena_init(&arena, &allocator_libc);
    Exprs x;
    exprs_init(&x, &arena);
    int64_t lo = 0, hi = 10;
    const Affine *i = affine_iter(&x, 0), *gather = affine_read(&x, access_make(&x, 0, 1, &i));
    DepSide a = {.niters = 1, .lo = &lo, .hi = &hi, .rank = 1, .sub = &i};
    DepSide b = {.niters = 1, .lo = &lo, .hi = &hi, .rank = 1, .sub = &gather};
    CHECK(poly_test(&(DepQuery){.a = a, .b = b}, NULL) == DEP_UNDECIDED);
    arena_free(&arena);
}
