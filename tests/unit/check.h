// check.h: everything a unit test needs. One test program is one file tests/unit/test_NAME.c:
//
//     #include "unit/check.h"
//     #include "base/arena.h"
//
//     TEST(arena_gives_aligned_memory) {
//         ...
//         CHECK(((uintptr_t)p & 15) == 0);
//         CHECK_INT_EQ(arena_used(a), 64);
//     }
//
// Tests register themselves before main and run in the order of the file. A failed check is
// reported and the test continues; each check is an expression whose value is whether it held, so
// that a test can stop: `if (!CHECK(p)) return;`.
//
// Arguments select the tests whose name contains one of them. Randomised tests take their number
// of rounds from check_rounds(), so that slow builds can divide it (LW_FUZZ_SCALE). LW_CHECK_STOP
// ends the program at the first check that fails.
//
// tests/run reads the lines `run NAME`, `ok NAME`, `FAIL NAME` and the last, `N passed, N failed`.
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CheckTest {
    const char *name;
    void (*run)(void);
    struct CheckTest *next;
} CheckTest;

static CheckTest *check_first, **check_last = &check_first;
static int check_failures; // of the running test; updated atomically, checks may run in threads

enum { CHECK_REPORTED_FAILURES = 10 };

static inline void check_register(CheckTest *test) {
    *check_last = test;
    check_last = &test->next;
}

#define TEST(NAME)                                                                                 \
    static void test_##NAME(void);                                                                 \
    __attribute__((constructor)) static void check_register_##NAME(void) {                         \
        static CheckTest test = {#NAME, test_##NAME, NULL};                                        \
        check_register(&test);                                                                     \
    }                                                                                              \
    static void test_##NAME(void)

// Counts one failure; true when it should still be reported.
static inline bool check_fail(const char *file, int line) {
    int count = __atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED);
    if (count == CHECK_REPORTED_FAILURES + 1) printf("  ... and more\n");
    if (count <= CHECK_REPORTED_FAILURES) printf("%s:%d: ", file, line);
    if (getenv("LW_CHECK_STOP")) {
        printf("failed\n");
        fflush(stdout);
        _Exit(1);
    }
    return count <= CHECK_REPORTED_FAILURES;
}

static inline bool check_true(bool ok, const char *text, const char *file, int line) {
    if (!ok && check_fail(file, line)) printf("CHECK(%s) failed\n", text);
    return ok;
}

static inline bool check_int_eq(intmax_t got, intmax_t want, const char *text, const char *file,
                                int line) {
    if (got != want && check_fail(file, line))
        printf("%s is %" PRIdMAX ", want %" PRIdMAX "\n", text, got, want);
    return got == want;
}

// Exact: any NaN equals any NaN, and -0 differs from +0.
static inline bool check_f64_eq(double got, double want, const char *text, const char *file,
                                int line) {
    bool ok = (got != got && want != want) || memcmp(&got, &want, sizeof got) == 0;
    if (!ok && check_fail(file, line)) printf("%s is %.17g, want %.17g\n", text, got, want);
    return ok;
}

static inline bool check_str_eq(const char *got, const char *want, const char *text,
                                const char *file, int line) {
    bool ok = got && want ? strcmp(got, want) == 0 : got == want;
    if (!ok && check_fail(file, line))
        printf("%s is\n  \"%s\"\nwant\n  \"%s\"\n", text, got ? got : "(null)",
               want ? want : "(null)");
    return ok;
}

#define CHECK(EXPR) check_true(!!(EXPR), #EXPR, __FILE__, __LINE__)
#define CHECK_INT_EQ(GOT, WANT)                                                                    \
    check_int_eq((intmax_t)(GOT), (intmax_t)(WANT), #GOT, __FILE__, __LINE__)
#define CHECK_F64_EQ(GOT, WANT) check_f64_eq((GOT), (WANT), #GOT, __FILE__, __LINE__)
#define CHECK_STR_EQ(GOT, WANT) check_str_eq((GOT), (WANT), #GOT, __FILE__, __LINE__)

static inline uint64_t check_env(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

// The number of rounds of a randomised test whose full count is `full`; at least one.
static inline int64_t check_rounds(int64_t full) {
    int64_t scale = (int64_t)check_env("LW_FUZZ_SCALE", 1);
    if (scale < 1) scale = 1;
    return full / scale > 0 ? full / scale : 1;
}

// The same for a test that `make fuzz` runs longer: LW_FUZZ_TIMES multiplies its rounds, and they
// start at LW_FUZZ_SEED.
static inline int64_t check_long_rounds(int64_t full) {
    return check_rounds(full) * (int64_t)check_env("LW_FUZZ_TIMES", 1);
}
static inline uint64_t check_first_seed(void) { return check_env("LW_FUZZ_SEED", 1); }

// Are all rounds of `make test` among these? What seldom occurs is known to occur in them; with
// other seeds or fewer rounds, chance decides.
static inline bool check_usual_rounds(void) {
    return check_first_seed() == 1 && check_env("LW_FUZZ_SCALE", 1) <= 1;
}

// A small reproducible random source (splitmix64): the seed is the bug report.
static inline uint64_t check_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline bool check_selected(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i])) return true;
    return argc < 2;
}

#ifndef CHECK_NO_MAIN
int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    setenv("LW_DB", "none", 0); // ignore the user's tuning database
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (CheckTest *test = check_first; test; test = test->next) {
        if (!check_selected(test->name, argc, argv)) continue;
        printf("run %s\n", test->name);
        check_failures = 0;
        test->run();
        printf("%s %s\n", check_failures ? "FAIL" : "ok", test->name);
        *(check_failures ? &failed : &passed) += 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
#endif

#endif
