// Data-dependent indices in compiled code: one that is out of range ends the kernel with a status,
// in any lane of vectors and tails, along the vector loop or as the number of a row.
#include "unit/check.h"

#include "support/jitlab.h"
#include "sched/schedule.h"

static const char *const lanes = "program g { input T: f32[10] input I: i32[37] output O: f32[37]\n"
                                 "O: for i in 0:37 O[i] = T[I[i] + 1] }";
static const char *const wide = "program g { input T: f64[10] input I: i64[37] output O: f64[37]\n"
                                "O: for i in 0:37 O[i] = T[I[i] + 1] }";
static const char *const small = "program g { input T: i8[10] input I: i32[37] output O: i8[37]\n"
                                 "O: for i in 0:37 O[i] = T[I[i] + 1] }";
static const char *const halves =
    "program g { input T: f16[10] input I: i64[37] output O: f16[37]\n"
    "O: for i in 0:37 O[i] = T[I[i] + 1] }";
static const char *const rows = "program g { input T: f32[10, 20] input I: i32[37]\n"
                                "output O: f32[37, 20]\n"
                                "O: for i in 0:37, j in 0:20 O[i, j] = T[I[i] + 1, j] }";

// Two tensors of different sizes with one index; an index whose least value is 1, so that 0 in an
// inactive lane would be invalid.
static const char *const both = "program g { input T: f32[20] input I: i32[37] input U: f32[10]\n"
                                "output O: f32[37]\n"
                                "O: for i in 0:37 O[i] = T[I[i]] + U[I[i]] }";
static const char *const pairs = "program g { input T: f32[40, 10] input I: i32[37]\n"
                                 "output O: f32[37]\n"
                                 "O: for i in 0:37 O[i] = T[I[i], I[i]] }";
static const char *const ones = "program g { input T: f32[10] input I: i32[37] output O: f32[37]\n"
                                "O: for i in 0:37 O[i] = T[I[i] - 1] }";
static const char *const bytes = "program g { input T: f32[200] input I: i8[37] output O: f32[37]\n"
                                 "O: for i in 0:37 O[i] = T[I[i] + 100] }";
static const char *const times = "program g { input T: f32[50] input I: i64[37] output O: f32[37]\n"
                                 "O: for i in 0:37 O[i] = T[4*I[i] + 8] }";
static const char *const square =
    "program g { input T: f32[101] input I: i64[37] output O: f32[37]\n"
    "O: for i in 0:37 O[i] = T[I[i]*I[i]] }";

static JitResult run(Isa isa, const char *text, const char *order, int64_t at, double index) {
    Lab lab;
    lab_begin(&lab);
    JitResult result = JIT_DECLINED;
    Machine m;
    machine_detect(&m, isa);
    Program *p = lab_program(&lab, text, NULL);
    Source source = {"s.lws", order, (uint32_t)strlen(order)};
    Schedule *s = schedule_parse(&lab.arena, &lab.names, &source, &lab.diags);
    Tree *t = CHECK(p && s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (CHECK(t)) {
        LabData d = lab_data(&lab, p, 1);
        for (int64_t i = 0; i < 37; i++) lab_set(&d, 1, i, (double)(1 + i % 8));
        lab_set(&d, 1, at, index);
        result = jit_run(&lab, t, &m, &d, (InterpFlags){0}, 1, at & 1);
    }
    lab_end(&lab);
    return result;
}

static void try_all(const char *text, const char *order) {
    static const double bad[] = {9, -2, 1e9, -2147483648.0, 2147483647.0};
    for (Isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        if (m.isa != isa) continue;
        for (int64_t at = 0; at < 37; at++) {
            CHECK(run(isa, text, order, at, (double)(at % 9)) == JIT_OK);
            CHECK(run(isa, text, order, at, -1) == JIT_OK);
            CHECK(run(isa, text, order, at, bad[at % 5]) == JIT_STATUS);
        }
    }
}

TEST(lanes_with_a_bad_index_are_found) {
    int64_t before = jit_tricks[TRICK_GATHER];
    try_all(lanes, "O: i:v\n");
    try_all(wide, "O: i:v\n");
    try_all(small, "O: i:v\n");
    try_all(halves, "O: i:v\n");
    CHECK(jit_tricks[TRICK_GATHER] > before);
}

TEST(rows_with_a_bad_index_are_found) {
    int64_t before = jit_tricks[TRICK_ROW];
    try_all(rows, "O: i j:v\n");
    try_all(rows, "O: i/4 j i:v\n");
    CHECK(jit_tricks[TRICK_ROW] > before);
}

// One invalid index among valid ones, on every level, at every position.
static void try_one(const char *text, const char *order, double index, JitResult want) {
    for (Isa isa = ISA_AVX2; isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        for (int64_t at = 0; at < 37 && m.isa == isa; at++)
            if (!CHECK(run(isa, text, order, at, index) == want))
                printf("%s, index %g at %d\n%s\n", isa_name[isa], index, (int)at, text);
    }
}

TEST(an_index_is_checked_for_each_tensor) {
    try_one(both, "O: i:v\n", 9, JIT_OK);
    try_one(both, "O: i:v\n", 10, JIT_STATUS);
    try_one(both, "O: i\n", 10, JIT_STATUS);
    try_one(pairs, "O: i\n", 9, JIT_OK);
    try_one(pairs, "O: i\n", 10, JIT_STATUS); // in the middle of an address
    try_one(pairs, "O: i:v\n", 10, JIT_STATUS);
}

// Lanes beyond a tail hold 0, which is not a valid index here.
TEST(lanes_that_do_not_exist_are_not_checked) {
    try_one(ones, "O: i:v\n", 10, JIT_OK);
    try_one(ones, "O: i:v\n", 11, JIT_STATUS);
    try_one(ones, "O: i:v\n", 0, JIT_STATUS);
}

TEST(indices_of_a_byte_have_a_sign) {
    try_one(bytes, "O: i\n", -100, JIT_OK);
    try_one(bytes, "O: i\n", -101, JIT_STATUS);
    try_one(bytes, "O: i:v\n", -100, JIT_OK);
}

// 4 · 2^62 wraps to 0.
TEST(an_index_that_overflows_is_found) {
    try_one(times, "O: i\n", 10, JIT_OK);
    try_one(times, "O: i\n", 0x1p62, JIT_STATUS);
    try_one(times, "O: i\n", -0x1p62, JIT_STATUS);
    try_one(times, "O: i:v\n", 0x1p62, JIT_STATUS);
    try_one(square, "O: i\n", -10, JIT_OK);
    try_one(square, "O: i\n", 0x1p32, JIT_STATUS);
}

// --- index(...) under a guard --------------------------------------------------------------------

// G selects the branch with index(...); elsewhere I holds invalid indices of T.
#define GUARDED(VALUE)                                                                             \
    "program g { input T: i32[10] input I: i32[37] input G: f32[37] input H: f32[5]\n"             \
    "output O: f32[5, 37]\nO: for j in 0:5, i in 0:37 O[j, i] = " VALUE " }"
static const char *const guarded[] = {
    GUARDED("select(G[i] > 0.0, f32(index(T[I[i]] + 2*i)), -1.0)"),
    GUARDED("select(G[i] <= 0.0, -1.0, f32(index(T[I[i]])))"),
    GUARDED("f32(G[i] > 0.0 && index(T[I[i]]) > i64(0))"),
    GUARDED("f32(G[i] <= 0.0 || index(T[I[i]]) > i64(0))"),
    GUARDED("select(G[i] > 0.0, select(H[j] > 0.0, f32(index(T[I[i]])), H[j]), 0.0)"),
    GUARDED("select(G[i] > 0.0, G[i] + f32(i8(index(T[I[i]]*T[I[i]]))), H[j]*G[i])"),
    GUARDED("select(G[i] > 0.0, f32(index(max(T[I[i]], i)%7)), 0.0)"),
};
static const char *const guarded_orders[] = {"O: j i", "O: i j:v", "O: i j:u", "O: j i:v",
                                             "O: i:p j"};

typedef struct GuardedRun {
    const char *text, *order;
    Isa isa;
    int64_t at; // an invalid index where the branch is taken; -1: none
} GuardedRun;

static bool guarded_agrees(const GuardedRun *r) {
    Lab lab;
    lab_begin(&lab);
    Machine m;
    machine_detect(&m, r->isa);
    Program *p = lab_program(&lab, r->text, NULL);
    Source source = {"s.lws", r->order, (uint32_t)strlen(r->order)};
    Schedule *s = schedule_parse(&lab.arena, &lab.names, &source, &lab.diags);
    Tree *t = p && s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    bool ok = CHECK(t != NULL);
    if (!ok) printf("%s\n%s\n%s", r->text, r->order, lab_errors(&lab));
    if (t) {
        LabData start = lab_data(&lab, p, 1);
        for (int64_t i = 0; i < 37; i++) {
            bool taken = i % 3 != 1;
            lab_set(&start, 2, i, taken ? 1 : -1);
            lab_set(&start, 1, i, taken && i != r->at ? (double)(i % 10) : i % 2 ? 1e9 : -3);
        }
        for (int64_t j = 0; j < 5; j++) lab_set(&start, 3, j, j == 2 ? -1 : 1);
        LabData want = lab_copy(&lab, p, &start), got = lab_copy(&lab, p, &start);
        bool fine = program_interpret(&lab.arena, p, want.view, (InterpFlags){0}, &lab.diags);
        JitResult result = jit_run(&lab, t, &m, &got, (InterpFlags){0}, 2, r->at & 1);
        ok = CHECK_INT_EQ(result, fine ? JIT_OK : JIT_STATUS) && CHECK(fine == (r->at < 0));
        if (ok && fine) ok = CHECK(!lab_difference(&lab, p, &got, &want));
    }
    lab_end(&lab);
    return ok;
}

TEST(indices_of_branches_that_are_not_taken_are_not_read) {
    for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++)
        for (size_t k = 0; k < sizeof guarded_orders / sizeof *guarded_orders; k++)
            for (Isa isa = ISA_SCALAR; isa < ISA_COUNT; isa++) {
                static const int64_t places[] = {-1, 0, 35, 36};
                Machine m;
                if (!jit_machine(isa, &m)) continue;
                for (int a = 0; a < 4; a++) {
                    GuardedRun r = {guarded[i], guarded_orders[k], isa, places[a]};
                    if (guarded_agrees(&r)) continue;
                    printf("%s\n%s on %s, %d\n", r.text, r.order, isa_name[isa], (int)r.at);
                    return;
                }
            }
}
