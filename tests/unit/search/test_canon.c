// Programs and Schedules in canonical names: which are equal, and that the inverse is exact.
#include "unit/check.h"

#include "search/canon.h"
#include "support/genprog.h"
#include "support/gensched.h"
#include "support/proglab.h"

#include <math.h>

static const char matmul[] =
    "program mm(M, N, K) {\n"
    "    input A: f32[M, K]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n";
static const char renamed[] =
    "program product(X, Y, Z) {\n"
    "    input left: f32[X, Z]\n    input right: f32[Z, Y]\n    output `for`: f32[X, Y]\n"
    "    here: for i in 0:X, j in 0:Y, sum in 0:Z\n"
    "        `for`[i, j] +=! left[i, sum]*right[sum, j]\n}\n";

static const Canon *canon(Lab *lab, const char *text, int64_t m, int64_t n, int64_t k) {
    const Program *bound = lab_program(lab, text, (int64_t[]){m, n, k});
    return canon_of(&lab->arena, lab_program(lab, lab_text(lab, bound), NULL));
}

static const char *text_of(Lab *lab, const Schedule *s) {
    Text out = {.arena = &lab->arena};
    if (!s) return NULL;
    schedule_print(&out, s);
    return text_str(&out);
}

TEST(canon_names_do_not_matter) {
    Lab lab;
    lab_begin(&lab);
    const Canon *a = canon(&lab, matmul, 64, 48, 32), *b = canon(&lab, renamed, 64, 48, 32);
    CHECK_STR_EQ(canon_text(&lab.arena, a), "program f {\n"
                                            "    input t0: f32[64, 32]\n"
                                            "    input t1: f32[32, 48]\n"
                                            "    output t2: f32[64, 48]\n"
                                            "\n"
                                            "    s0: for i0 in 0:64, i1 in 0:48, i2 in 0:32\n"
                                            "        t2[i0, i1] +=! t0[i0, i2]*t1[i2, i1]\n"
                                            "}\n");
    CHECK_STR_EQ(canon_text(&lab.arena, b), canon_text(&lab.arena, a));
    CHECK_STR_EQ(canon_sizes(&lab.arena, b), "64,48,32");
    const Canon *c = canon(&lab, matmul, 65, 48, 32);
    CHECK(strcmp(canon_text(&lab.arena, a), canon_text(&lab.arena, c)) != 0);
    CHECK_STR_EQ(canon_family(&lab.arena, a), canon_family(&lab.arena, c));
    lab_end(&lab);
}

// Loops that two statements share by name alone stay shared.
TEST(canon_keeps_what_is_equal) {
    Lab lab;
    lab_begin(&lab);
    const char *one = "program f { output A: f32[4] output B: f32[4]\n"
                      "A: for i in 0:4 A[i] = 1.0\nB: for i in 0:4 B[i] = 2.0 }";
    const char *two = "program f { output A: f32[4] output B: f32[4]\n"
                      "A: for i in 0:4 A[i] = 1.0\nB: for j in 0:4 B[j] = 2.0 }";
    const Canon *a = canon_of(&lab.arena, lab_program(&lab, one, NULL));
    const Canon *b = canon_of(&lab.arena, lab_program(&lab, two, NULL));
    CHECK(strcmp(canon_text(&lab.arena, a), canon_text(&lab.arena, b)) != 0);
    lab_end(&lab);
}

TEST(canon_schedules_travel_between_names) {
    Lab lab;
    lab_begin(&lab);
    const Canon *a = canon(&lab, matmul, 64, 48, 32), *b = canon(&lab, renamed, 64, 48, 32);
    const Schedule *s = lab_schedule(&lab, "C: m/16:p n/8 k/4 m k n:v\n"
                                           "    copy A at k/4 layout (m/4 k m 0) align 64\n"
                                           "    prefetch B at k distance 2 level 1\n"
                                           "    accumulators 2\n");
    const char *stored = canon_schedule_text(&lab.arena, a, s);
    CHECK_STR_EQ(stored, "s0: i0/16:p i1/8 i2/4 i0 i2 i1:v\n"
                         "    copy t0 at i2/4 layout (i0/4 i2 i0 0) align 64\n"
                         "    prefetch t1 at i2 distance 2 level 1\n"
                         "    accumulators 2\n");
    CHECK_STR_EQ(text_of(&lab, canon_schedule_parse(&lab.arena, a, stored, &lab.diags)),
                 text_of(&lab, s));
    CHECK_STR_EQ(text_of(&lab, canon_schedule_parse(&lab.arena, b, stored, &lab.diags)),
                 "here: i/16:p j/8 sum/4 i sum j:v\n"
                 "    copy left at sum/4 layout (i/4 sum i 0) align 64\n"
                 "    prefetch right at sum distance 2 level 1\n"
                 "    accumulators 2\n");
    CHECK(!canon_schedule(&lab.arena, a, lab_schedule(&lab, "D: m\n")));
    CHECK(!canon_schedule_parse(&lab.arena, a, "s0: i0 i3\n", &lab.diags));
    CHECK(!canon_schedule_parse(&lab.arena, a, "s0: i0 /\n", &lab.diags));
    lab_end(&lab);
}

TEST(canon_adapts_steps_to_sizes) {
    Lab lab;
    lab_begin(&lab);
    const Schedule *s = lab_schedule(&lab, "C: m/48:p n/64 k/96 m/6 n/16 k m n:v\n"
                                           "    copy B at k/96 layout (n/16 k n)\n");
    const char *tuned = "96,128,192";
    struct {
        int64_t m, n, k;
        const char *want;
    } of[] = {
        // 36 is the multiple of 6 next to 48 that divides 180, 80 that of 16 next to 96
        {96, 128, 192,
         "C: m/48:p n/64 k/96 m/6 n/16 k m n:v\n    copy B at k/96 layout (n/16 k "
         "n)\n"},
        {180, 128, 240,
         "C: m/36:p n/64 k/80 m/6 n/16 k m n:v\n    copy B at k/80 layout (n/16 k "
         "n)\n"},
        {97, 127, 191,
         "C: m/48:p n/64 k/96 m/6 n/16 k m n:v\n    copy B at k/96 layout (n/16 k "
         "n)\n"},
        {48, 64, 96,
         "C: m/48:p n/64 k/96 m/6 n/16 k m n:v\n    copy B at k/96 layout (n/16 k "
         "n)\n"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const Canon *c = canon(&lab, matmul, of[i].m, of[i].n, of[i].k);
        const Schedule *fit = canon_adapt(&lab.arena, c, s, tuned);
        CHECK_STR_EQ(text_of(&lab, fit), of[i].want);
        CHECK(fit && tree_lower(&lab.arena, canon_program(c), fit, &lab.diags));
    }
    const Canon *far = canon(&lab, matmul, 200, 128, 192), *c = canon(&lab, matmul, 96, 64, 192);
    CHECK(isinf(canon_distance(far, tuned)));
    CHECK(!canon_adapt(&lab.arena, far, s, tuned));
    CHECK_F64_EQ(canon_distance(c, tuned), 1);
    static const char *const bad[] = {
        "",      "96",       "96,64,192,1", "96,64,192;",
        "a,b,c", "96,64,-1", "96,,192",     "99999999999999999999,64,192"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(isinf(canon_distance(c, bad[i])));
    lab_end(&lab);
}

TEST(canon_same_inside_is_the_same_tile) {
    static const struct {
        const char *schedule;
        int64_t m, n, k;
        bool same;
    } of[] = {
        {"C: m/6 k m n:v\n", 96, 128, 192, true},
        {"C: m/6 k m n:v\n", 120, 128, 192, true}, // more tiles
        {"C: m/6 k m n:v\n", 97, 128, 100, true},  // and shorter sums
        {"C: m/6 k m n:v\n", 96, 112, 192, false}, // another number of vectors
        {"C: n/64 m/6 k m n:v\n", 96, 192, 192, true},
        {"C: n/64 m/6 k m n:v\n", 96, 160, 192, false}, // 64 would become 80
        {"C: m k n\n", 96, 128, 150, true},
        {"C: m k n\n", 96, 100, 192, false}, // inside of a reduction
        {"C: m k n\n", 100, 128, 192, true},
        {"C: m/6 k\n", 96, 100, 192, false}, // not said
        {"C: m:u n k\n", 90, 128, 192, false},
        {"C: m n k\n", 300, 128, 192, false}, // too far
        {"", 96, 128, 192, true},
        {"", 97, 128, 192, false},
    };
    Lab lab;
    lab_begin(&lab);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const Canon *c = canon(&lab, matmul, of[i].m, of[i].n, of[i].k);
        const Schedule *s = lab_schedule(&lab, of[i].schedule);
        if (!CHECK(canon_same_inside(&lab.arena, c, s, "96,128,192") == of[i].same))
            printf("%zu: %s", i, of[i].schedule);
    }
    lab_end(&lab);
}

// A Program's canonical text is its own canonical text; every Schedule is restored exactly, and a
// stored Schedule also applies to the canonical Program.
TEST(canon_random) {
    GenSched g = {.state = 7};
    int64_t lowered = 0, rounds = check_rounds(3000);
    for (int64_t i = 0; i < rounds; i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = genprog(&lab, (uint64_t)i);
        p = lab_program(&lab, lab_text(&lab, p), NULL);
        const Canon *c = canon_of(&lab.arena, p);
        const char *text = canon_text(&lab.arena, c);
        const Program *again = lab_program(&lab, text, NULL);
        if (!CHECK(again)) printf("seed %lld\n%s%s", (long long)i, text, lab_errors(&lab));
        if (!again) break;
        const Canon *twice = canon_of(&lab.arena, again);
        CHECK_STR_EQ(canon_text(&lab.arena, twice), text);
        CHECK_STR_EQ(canon_family(&lab.arena, twice), canon_family(&lab.arena, c));
        CHECK_F64_EQ(canon_distance(c, canon_sizes(&lab.arena, twice)), 0);
        const Schedule *s = gen_schedule(&g, &lab.arena, p);
        const char *stored = canon_schedule_text(&lab.arena, c, s);
        if (!CHECK(stored)) printf("seed %lld\n%s", (long long)i, text_of(&lab, s));
        if (!stored) break;
        const Schedule *back = canon_schedule_parse(&lab.arena, c, stored, &lab.diags);
        CHECK_STR_EQ(text_of(&lab, back), text_of(&lab, s));
        const Schedule *same = canon_schedule_parse(&lab.arena, twice, stored, &lab.diags);
        const Tree *a = tree_lower(&lab.arena, p, s, &lab.diags);
        const Tree *b = same ? tree_lower(&lab.arena, again, same, &lab.diags) : NULL;
        CHECK_INT_EQ(a != NULL, b != NULL);
        lowered += a != NULL;
        lab_end(&lab);
    }
    CHECK(lowered > rounds / 2);
}
