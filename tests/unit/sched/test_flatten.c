// Flattened programs: iterators that collapse, those that do not, and the loops of a flattened
// Schedule.
#include "unit/tree_run.h"

#include "space/cpu.h"
#include "sched/flatten.h"

static void flat_is(const char *text, const char *want) {
    TreeRun r;
    tr_begin(&r, text);
    Flat f = program_flatten(&r.arena, r.p);
    Text out = {.arena = &r.arena};
    if (f.last) program_print(&out, f.p);
    CHECK_STR_EQ(text_str(&out), want);
    tr_end(&r);
}

TEST(a_pointwise_convolution_is_a_product) {
    flat_is("program p { input I: f32[5, 3, 7] input F: f32[4, 5, 1, 1] output O: f32[4, 3, 7]\n"
            "O: for k in 0:4, h in 0:3, w in 0:7, c in 0:5, r in 0:1, s in 0:1\n"
            "    O[k, h, w] +=! I[c, h + r, w + s]*F[k, c, r, s] }",
            "program p {\n    input I: f32[5, 21]\n    input F: f32[4, 5, 1, 1]\n"
            "    output O: f32[4, 21]\n\n"
            "    O: for k in 0:4, h in 0:21, c in 0:5\n        O[k, h] +=! I[c, h]*F[k, c, 0, 0]\n"
            "}\n");
}

TEST(three_become_one_and_rows_may_begin_late) {
    flat_is("program p { input A: f32[4, 3, 7] output O: f32[4, 3, 7] output S: f32[]\n"
            "O: for a in 1:3, b in 0:3, c in 0:7  O[a, b, c] = A[a, b, c]\n"
            "S: for x in 0:4, y in 0:3, z in 0:7  S[] +=! A[x, y, z] }",
            "program p {\n    input A: f32[84]\n    output O: f32[84]\n    output S: f32[]\n\n"
            "    O: for a in 21:63\n        O[a] = A[a]\n\n"
            "    S: for x in 0:84\n        S[] +=! A[x]\n}\n");
}

// A shift, a part of a row, a transposed reader, a guard, a single row, the value of an index.
TEST(what_needs_rows_keeps_them) {
    static const char *const body[] = {
        "O: for a in 0:4, b in 0:6  O[a, b] = A[a, b + 1]",
        "O: for a in 0:4, b in 0:6  O[a, b] = A[a, b]",
        "O: for a in 0:4, b in 0:4  O[a, b] = A[b, a]",
        "O: for a in 0:4, b in 0:7 if a + b >= 3  O[a, b] = A[a, b]",
        "O: for a in 0:4, b in 0:7  O[a, b] = A[a, b]*R[a]",
        "O: for a in 0:4, b in 0:7  O[a, b] = A[a, b] + f32(index(b))",
        "O: for a in 0:4, b in 0:7  O[a, b] = A[a, b]\nR: for a in 0:4, b in 0:7  R[a] +=! A[a, b]",
    };
    for (size_t i = 0; i < sizeof body / sizeof *body; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "program p { input A: f32[4, 7] inout R: f32[4] output O: f32[4, 7]\n%s }",
                 body[i]);
        flat_is(text, "");
    }
}

TEST(strides_decide_too) {
    TreeRun r;
    tr_begin(&r, "program p { input A: f32[2, 3, 5] output O: f32[2, 3, 5]\n"
                 "O: for a in 0:2, b in 0:3, c in 0:5  O[a, b, c] = A[a, b, c] }");
    Flat f = program_flatten(&r.arena, r.p);
    const int64_t dense[] = {15, 5, 1}, apart[] = {30, 10, 2}, padded[] = {18, 6, 1};
    const int64_t *fits[] = {apart, dense}, *not [] = {dense, padded};
    CHECK(flat_fits(&f, r.p, NULL) && flat_fits(&f, r.p, fits) && !flat_fits(&f, r.p, not ));
    CHECK_INT_EQ(flat_strides(&r.arena, &f, fits)[0][0], 2);
    tr_end(&r);
}

TEST(a_flat_schedule_speaks_of_the_first) {
    TreeRun r;
    tr_begin(&r, "program p { input A: f32[2, 3, 5] output O: f32[2, 3, 5]\n"
                 "O: for a in 0:2, b in 0:3, c in 0:5  O[a, b, c] = A[a, b, c] }");
    CHECK_STR_EQ(tr_show(&r, "flatten\nO: a/16 a:v\n"),
                 "for a in 2\n  for a.1 in 16 vector where 29 - 16*a - a.1 >= 0\n"
                 "    O[16*a + a.1] = A[16*a + a.1]\n");
    tr_end(&r);
}

TEST(a_space_is_of_one_form) {
    TreeRun r;
    tr_begin(&r, "program p { input A: f32[2, 3, 5] output O: f32[2, 3, 5]\n"
                 "O: for a in 0:2, b in 0:3, c in 0:5  O[a, b, c] = A[a, b, c] }");
    for (int flatten = 0; flatten <= 1; flatten++) {
        int n;
        CpuOptions o = {.threads = 1, .flatten = flatten};
        machine_detect(&o.machine, ISA_COUNT);
        const CpuSpace *cs = cpu_space(&r.arena, r.p, &o, &r.diags);
        const Schedule *flat = tr_schedule(&r, "flatten\nO: a/16 a:v\n");
        const Schedule *plain = tr_schedule(&r, "O: a b c:v\n");
        CHECK(cpu_read(&r.arena, cs, flatten ? flat : plain, &r.diags, &n));
        CHECK_INT_EQ(r.diags.errors, flatten);
        CHECK(!cpu_read(&r.arena, cs, flatten ? plain : flat, &r.diags, &n));
        CHECK(r.diags.items.at[flatten]->id == DIAG_SPACE_FLATTEN);
    }
    tr_end(&r);
}
