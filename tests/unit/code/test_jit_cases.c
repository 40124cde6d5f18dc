// Pairs of program and schedule that exercise particular decisions of the code generator, on data
// that reveals errors: sums that round, signed zeros, reads that a guard must prevent, elements
// that several reads share. Random pairs (test_jit_fuzz) produce such combinations rarely or never.
//
// Each runs as compiled code with a high and a low unroll limit, with guards inside loops and as
// loop limits, on every ISA level of this machine, against the interpreter, bit for bit, with
// buffers against guard pages on either side. And it runs interpreted, for instruction sets of
// other widths (support/microlab.h).
#include "unit/check.h"

#include "support/jitlab.h"
#include "support/microlab.h"
#include "sched/schedule.h"

typedef enum Fill {
    EXACT,    // small integers
    GOES_ON,  // the same; sums continue from the previous content
    ROUGH,    // values whose sums round
    MINUS,    // -0 throughout
    ALL_BITS, // of integers; floats are exact
} Fill;

typedef struct Case {
    const char *program, *schedule;
    Fill fill;
} Case;

static uint64_t mix(uint64_t i) {
    i *= UINT64_C(0x9e3779b97f4a7c15);
    return i ^ i >> 29;
}

// Indices are called I.
static bool is_index(const Program *p, int tensor) {
    return !strcmp(p->tensors.at[tensor].name, "I");
}

static void fill(const Program *p, const LabData *d, Fill how) {
    for (int t = 0; t < d->n; t++) {
        Type type = p->tensors.at[t].type;
        if (p->tensors.at[t].role == ROLE_OUTPUT || how == EXACT || how == GOES_ON) continue;
        if (how != ALL_BITS && !type_is_float(type)) continue;
        for (int64_t e = 0; e < tensor_elements(&p->tensors.at[t]); e++) {
            int64_t bits = (int64_t)mix((uint64_t)(e + 97 * t));
            char *at = (char *)d->view[t].data + e * type_info[type].bytes;
            if (how == MINUS)
                lab_set(d, t, e, -0.0);
            else if (how == ROUGH)
                lab_set(d, t, e, (double)(bits % 100003) / 4099);
            else if (type_is_integer(type) && !is_index(p, t))
                type_store(type, at, type_round(type, (Value){.i = bits}));
        }
    }
}

static bool run_on(Lab *lab, const Program *p, const Tree *t, InterpFlags flags,
                   const LabData *start, const LabData *want, Isa isa, int turn) {
    Machine m;
    machine_detect(&m, isa);
    if (m.isa != isa) return true;
    if (turn & 2) m.unroll_limit = 8;
    LabData got = lab_copy(lab, p, start);
    if (!CHECK(jit_run(lab, t, &m, &got, flags, 1, turn & 1) == JIT_OK)) return false;
    const char *d = lab_difference(lab, p, &got, want);
    if (!CHECK(!d)) printf("%s, turn %d: %s\n", isa_name[isa], turn, d);
    return !d;
}

static bool run_interpreted(Lab *lab, const Program *p, const Tree *t, InterpFlags flags,
                            const LabData *start, const LabData *want, int number) {
    MicroTarget target = micro_target(number, (uint64_t)number);
    LabData got = lab_copy(lab, p, start);
    MicroResult r = micro_run(lab, t, &target, &got, flags, 1, number & 1);
    const char *d = r == MICRO_OK ? lab_difference(lab, p, &got, want) : "it did not run";
    if (!CHECK(!d)) printf("%s: %s\n", micro_target_text(&lab->arena, &target), d);
    return !d;
}

static bool run_case(const Case *c) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, c->program, NULL);
    Source src = {"s.lws", c->schedule, (uint32_t)strlen(c->schedule)};
    const Schedule *s = p ? schedule_parse(&lab.arena, p->names, &src, &lab.diags) : NULL;
    Tree *t = s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    bool ok = CHECK(t);
    if (ok) {
        LabData start = lab_data(&lab, p, 7);
        fill(p, &start, c->fill);
        LabData want = lab_copy(&lab, p, &start);
        InterpFlags flags = {.accumulate = c->fill == GOES_ON};
        ok = CHECK(program_interpret(&lab.arena, p, want.view, flags, &lab.diags));
        for (Isa isa = ISA_SCALAR; isa < ISA_COUNT && ok; isa++)
            for (int turn = 0; turn < 4 && ok; turn++)
                ok = run_on(&lab, p, t, flags, &start, &want, isa, turn);
        for (int i = 0; i < MICRO_TARGETS && ok; i++)
            ok = run_interpreted(&lab, p, t, flags, &start, &want, i);
        jit_bound_loops(t);
        for (Isa isa = ISA_SCALAR; isa < ISA_COUNT && ok; isa++)
            for (int turn = 0; turn < 4 && ok; turn++)
                ok = run_on(&lab, p, t, flags, &start, &want, isa, turn);
    }
    if (!ok) printf("%s\n%s\n%s", c->program, c->schedule, lab_errors(&lab));
    lab_end(&lab);
    return ok;
}

static void run_all(const Case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) run_case(&cases[i]);
}

#define RUN(CASES) run_all(CASES, sizeof CASES / sizeof *CASES)

// --- Loop-invariant values ---------------------------------------------------------------------

// Hoisted values take many registers, but none of those of the sums.
TEST(sums_stay_while_others_are_made) {
    static const Case cases[] = {
        {"program w { input T: f32[2] input V: f32[3] output S: i32[]\n"
         "S: for i in 0:16, k in 0:2  S[] +=! i32(T[0])*i32(V[k]) }",
         "", EXACT},
        {"program w { input T: f32[2] input V: f32[3] output S: u32[]\n"
         "S: for i in 0:16, k in 0:3  S[] +=! u32(T[1])*u32(V[k]) }",
         "", EXACT},
        {"program w { input A: f32[5] output C: f32[2] temp T: f32[]\n"
         "T: for i in 0:5  T[] +=! A[i]\nC: for i in 0:1  C[i] +=! T[]\n"
         "T.1: for i in 0:2, j in 0:11, k in 0:4  T[] += f32(index(k))\n"
         "C.1: for i in 1:2  C[i] +=! T[] }",
         "T: i:v\nT.1: j k i:v", EXACT},
        // the lanes of one sum in two loops, half as many in the second
        {"program w { input A: f32[3, 480] input B: f64[3, 480] output S: f32[3]\n"
         "S: for j in 0:3, i in 0:480  S[j] +=! A[j, i]\n"
         "S.1: for j in 0:3, i in 0:480  S[j] += f32(B[j, i]) }",
         "S: j i:v\nS.1: j i:v", EXACT},
    };
    RUN(cases);
}

// Reversed lanes are read again if a write hits any of them, including the last ones.
TEST(backward_lanes_are_read_again) {
    static const Case cases[] = {
        {"program b { input B: f32[4] output O: f32[8] output P: f32[8] inout T: f32[8]\n"
         "O: for i in 0:8  O[i] = T[7 - i]\nT: for i in 0:4  T[i] = B[i]\n"
         "P: for i in 0:8  P[i] = T[7 - i] }",
         "O: i:v\nT: i:v\nP: i:v", EXACT},
        {"program b { input B: f32[4] output O: f32[8] output P: f32[4] inout T: f32[8]\n"
         "P: for i in 0:4  P[i] = T[i]\nT: for i in 0:8  T[7 - i] = T[7 - i] + 1.0\n"
         "O: for i in 0:4  O[i] = T[i]\nO.1: for i in 4:8  O[i] = P[i - 4] }",
         "P: i:v\nT: i:v\nO: i:v\nO.1: i:v", EXACT},
    };
    RUN(cases);
}

// An element at an index that the same copies overwrite: each copy recomputes its address.
TEST(addresses_follow_their_indices) {
    static const Case cases[] = {
        {"program a { input I: u8[40] input E: f32[4] output O: f32[40] temp J: u8[40]\n"
         "J: for i in 0:40  J[i] = I[i]\nO: for i in 0:40  O[i] = E[J[i]] }",
         "J: i\nO: i", EXACT},
        {"program a { input I: u8[40] input E: f32[4, 9] output O: f32[40, 9] temp J: u8[40]\n"
         "J: for i in 0:40  J[i] = I[i]\n"
         "O: for i in 0:40, j in 0:9  O[i, j] = E[J[i], j] }",
         "J: i/4 i:u\nO: i/4 i:u j:v", EXACT},
    };
    RUN(cases);
}

// Values that a loop keeps in registers survive code after the first segment of its body, which
// exists if the number of copies is not a multiple of the accumulators.
TEST(loops_hold_their_constants) {
    static const char *const type[] = {"f32", "f64"};
    char program[256];
    for (int i = 0; i < 24; i++) {
        snprintf(program, sizeof program,
                 "program c { input A: %s[%d, %d] output O: %s[%d]\n"
                 "O: for i in 0:%d, j in 0:%d  O[j] +=! A[i, j] %% %s(7.0) }",
                 type[i % 2], 65 + i % 3, 8 + 8 * i, type[i % 2], 8 + 8 * i, 65 + i % 3, 8 + 8 * i,
                 type[i % 2]);
        if (!run_case(&(Case){program, "O: i j:v", EXACT})) return;
        if (!run_case(&(Case){program, "O: j/24 i j:v", EXACT})) return;
    }
}

// An accumulator that no copy has updated holds the identity of the result's type, whatever the
// type of the value.
TEST(accumulators_have_the_type_of_the_result) {
    static const Case cases[] = {
        {"program p { input C: f32[11] output O: u32[7]\n"
         "O: for m in 0:7, j in 0:11, n in 0:33  O[m] max=! u32(C[j]) }",
         "O: |\n privatise n/4\nO.part: j n.p n:u m:v\n accumulators 2\n", EXACT},
        {"program p { input C: f32[11] output O: u32[7]\n"
         "O: for m in 0:7, j in 0:11, n in 0:33  O[m] min=! u32(C[j]) }",
         "O: |\n privatise n/4\nO.part: j n.p n:u m:v\n accumulators 3\n", EXACT},
        {"program p { input C: i32[11, 21] output O: u32[9]\n"
         "O: for m in 0:9, j in 0:11, n in 0:21  O[m] max=! u32(C[j, n]/3) }",
         "O: j n/5 n:u m:v\n accumulators 2\n", ALL_BITS},
    };
    RUN(cases);
}

// A split of a vector reduction that does not divide: the last iteration has fewer lanes, after a
// machine loop of whole ones, with as many copies as there are.
TEST(sums_in_lanes_end_early) {
#define DOT(M, N, K)                                                                               \
    "program d { input A: f32[" #M ", " #K "] input B: f32[" #N ", " #K "] output C: f32[" #M      \
    ", " #N "]\nC: for m in 0:" #M ", n in 0:" #N ", k in 0:" #K "  C[m, n] +=! A[m, k]*B[n, k] }"
    static const Case cases[] = {
        {DOT(5, 4, 1178), "C: m/4 k/16 m n k:v", EXACT},
        {DOT(6, 3, 331), "C: m/2 k/16 n m k:v", EXACT},
        {DOT(3, 2, 609), "C: m k/32 m n k:v", EXACT},
        {DOT(7, 5, 203), "C: m/3 k/96 k/16 m n k:v", EXACT},
        {DOT(4, 1, 1001), "C: m/4 n k/8 m k:v\n    accumulators 2", EXACT},
        {DOT(4, 4, 513), "C: k/16 m n k:v", GOES_ON},
        {"program x { input A: i32[5, 700] output C: i32[5]\n"
         "C: for m in 0:5, k in 0:700  C[m] max=! A[m, k] - i32(index(k)) }",
         "C: m/5 k/16 m k:v", ALL_BITS},
    };
#undef DOT
    RUN(cases);
}

// Below several splits of the summed index, each iteration of a reduction loop has a different
// number of lanes: its body is selected each time. Short tails split sums further than whole
// blocks.
TEST(bodies_of_sums_are_chosen_in_every_turn) {
    static const Case cases[] = {
        {"program p { input A: f32[210, 4] output S: f32[]\n"
         " S: for i in 0:210, n in 0:4 S[] +=! A[i, n] }",
         "S: n/3 i%2 n/2 i n:v", EXACT},
        {"program p { input A: f32[21, 135] output S: f32[21]\n"
         " S: for m in 0:21, n in 0:135 S[m] +=! A[m, n] }",
         "S: m/13 n/97 m/5 n/39 n/17 m n:v", EXACT},
        {"program p { input A: f32[17, 96] output S: f32[17]\n"
         " S: for m in 0:17, n in 0:96 S[m] max=! A[m, n] }",
         "S: n/61 m/4 n/23 n/9 m n:v", GOES_ON},
        {"program p { input A: f32[19, 30] input B: f32[30, 37] output C: f32[19, 37]\n"
         " C: for m in 0:19, n in 0:37, k in 0:30 C[m, n] +=! A[m, k]*B[k, n] }",
         "C: m/11 n/29 k/13 m/5 n/16 k m n:v", EXACT},
    };
    RUN(cases);
}

// Sums that do not fit in registers are loaded and stored in every iteration, although their
// addresses are loop-invariant; read-only values are loaded once.
TEST(loops_load_again_what_they_store) {
    static const Case cases[] = {
        {"program m { input A: f32[70] input B: f32[1000] output C: f32[1000]\n"
         "C: for k in 0:70, n in 0:1000  C[n] +=! A[k]*B[n] }",
         "C: k n:v", ROUGH},
        {"program m { input A: f32[70] input B: f32[66, 70] output C: f32[66]\n"
         "C: for k in 0:70, n in 0:66  C[n] +=! A[k]*B[n, k] }",
         "C: k n", ROUGH},
        {"program m { input A: f32[70] input x: f32[3] output C: f32[70] output D: f32[70]\n"
         "C: for k in 0:70  C[k] = A[k]/sqrt(x[1]*x[1] + 1.5)\n"
         "D: for k in 0:70  D[k] = C[k]*(x[0] + x[2])/sqrt(x[1]*x[1] + 1.5) }",
         "C: k:v\nD: k:v", ROUGH},
    };
    RUN(cases);
}

// A read in a branch that is inside its tensor in every iteration is performed unconditionally;
// iterations beyond the end of a split do not exist.
TEST(branches_read_what_is_there) {
    static const Case cases[] = {
        {"program c { input A: f32[37, 9] output C: f32[37, 37]\n"
         "C: for i in 0:37, j in 0:37, k in 0:9\n"
         " C[i, j] +=! select(index(j) <= index(i), A[i, k]*A[j, k], f32(0)) }",
         "C: j/16 i/5 k i j:v", EXACT},
        {"program c { input A: f32[37] output C: f32[37]\n"
         "C: for i in 0:37  C[i] = select(index(i) > i64(4), A[i], A[36 - i]) }",
         "C: i/5 i", ROUGH},
        {"program c { input A: f32[38] output C: f32[37]\n"
         "C: for i in 0:37  C[i] = select(index(i) < i64(36), A[i + 2], A[i + 1]) }",
         "C: i/16 i:v", ROUGH},
    };
    RUN(cases);
}

// --- Rounding ------------------------------------------------------------------------------------

// A sum is reordered only if the Schedule requests lanes or accumulators; products are fused;
// 16-bit floats round at every step.
TEST(sums_keep_their_order_and_rounding) {
#define SUM(TYPE)                                                                                  \
    "program s { input A: " TYPE "[5, 301] input B: " TYPE "[301] output S: " TYPE "[5]\n"         \
    "S: for r in 0:5, i in 0:301  S[r] +=! A[r, i] }"
#define DOT(TYPE)                                                                                  \
    "program d { input A: " TYPE "[5, 301] input B: " TYPE "[301] output S: " TYPE "[5]\n"         \
    "S: for r in 0:5, i in 0:301  S[r] +=! A[r, i]*B[i] }"
    static const Case cases[] = {
        {SUM("f32"), "S: r i", ROUGH},   {SUM("f64"), "S: r i", ROUGH},
        {SUM("f16"), "S: r i", ROUGH},   {SUM("bf16"), "S: r i", ROUGH},
        {SUM("f16"), "S: r i:v", ROUGH}, {SUM("bf16"), "S: r i:v", ROUGH},
        {SUM("f16"), "S: i r:v", ROUGH}, {DOT("f32"), "S: r i", ROUGH},
        {DOT("f64"), "S: r i", ROUGH},   {DOT("f16"), "S: i r:v", ROUGH},
    };
    RUN(cases);
}

// Lanes and accumulators that start from 0 would turn -0 into +0.
TEST(sums_of_minus_zero_stay_minus_zero) {
#define ZEROS(TYPE)                                                                                \
    "program z { input A: " TYPE "[3, 150] inout S: " TYPE "[3]\n"                                 \
    "S: for r in 0:3, i in 0:150  S[r] += A[r, i] }"
    static const Case cases[] = {
        {ZEROS("f32"), "S: r i:v", MINUS},
        {ZEROS("f64"), "S: r i:v", MINUS},
        {ZEROS("f32"), "S: r i", MINUS},
        {ZEROS("f32"), "S: r i:v\n    accumulators 4", MINUS},
        {ZEROS("f32"), "S: r i\n    accumulators 3", MINUS},
        {ZEROS("f32"), "S: r\n    privatise i/16\nS.part: r i.p i:v", MINUS},
    };
    RUN(cases);
}

// --- Guards, masks and tails ---------------------------------------------------------------------

// A product outside all machine loops, and then a sum inside one, into the same element: the
// accumulators are the sum's.
TEST(parts_belong_to_one_reduction) {
#define PRODUCT_THEN_SUM                                                                           \
    "program t { input A: f32[17] input B: f32[23] input C: f32[31] output S: f32[]\n"             \
    "S: for i in 0:17  S[] *=! max(A[i], -1.0)\n"                                                  \
    "S.1: for j in 0:23, k in 0:31  S[] += B[j]*C[k] }"
    static const Case cases[] = {
        {PRODUCT_THEN_SUM, "S: i\n    accumulators 8\nS.1: k j\n    accumulators 2", EXACT},
        {PRODUCT_THEN_SUM, "S: i/7 i:u\n    accumulators 2\nS.1: k/7 k:u j:v\n    accumulators 2",
         EXACT},
        {PRODUCT_THEN_SUM, "S: i:v\n    accumulators 4\nS.1: k j:v\n    accumulators 4", EXACT},
    };
    RUN(cases);
}

// A sum in lanes is stored before another reduction continues from it.
TEST(sums_go_on_from_the_last_one) {
#define AGAIN(RANGE)                                                                               \
    "program t { input A: f64[4, 9] inout S: f32[]\n"                                              \
    "S: for i in " RANGE "  S[] += f32(A[0, i])\nS.1: for i in 0:2  S[] +=! f32(A[3, i]) }"
    static const Case cases[] = {{AGAIN("2:4"), "S: i:v\nS.1: i:v", GOES_ON},
                                 {AGAIN("3:5"), "S: i:v\nS.1: i:v", GOES_ON},
                                 {AGAIN("5:7"), "S: i:u\nS.1: i:v", GOES_ON}};
    RUN(cases);
}

// A read that only some iterations perform is outside its buffer in the others.
TEST(guarded_reads_stay_inside) {
#define NEXT(TYPE)                                                                                 \
    "program n { input A: " TYPE "[37] output O: " TYPE "[37]\n"                                   \
    "O: for i in 0:37  O[i] = select(index(i) < i64(36), A[i + 1], " TYPE "(7)) }"
#define BEFORE                                                                                     \
    "program b { input A: f32[37] output O: f32[37]\n"                                             \
    "O: for i in 0:37  O[i] = select(index(i) >= i64(1), A[i - 1], f32(7)) }"
#define SHORT /* the guard holds in lanes that do not exist */                                     \
    "program h { input A: f32[13] output O: f32[13]\n"                                             \
    "O: for i in 0:13  O[i] = select(index(i) >= i64(1), A[i - 1], f32(7)) }"
#define BOTH /* rows and lanes have an interior each; lanes end inside a vector of every width */  \
    "program b { input A: f32[9, 256] output O: f32[9, 256]\n"                                     \
    "O: for m in 0:9, i in 0:256  O[m, i] = select(index(m) >= i64(1) && index(i) < i64(255), "    \
    "A[m - 1, i + 1], f32(7)) }"
#define EITHER                                                                                     \
    "program e { input A: i32[37] output O: bool[37] output P: bool[37]\n"                         \
    "O: for i in 0:37  O[i] = index(i) >= i64(36) || A[i + 1] > i32(0)\n"                          \
    "P: for i in 0:37  P[i] = index(i) < i64(36) && A[i + 1] > i32(0) }"
    static const Case cases[] = {
        {NEXT("f32"), "O: i:v", EXACT},
        {NEXT("f32"), "O: i", EXACT},
        {NEXT("f64"), "O: i:v", EXACT},
        {NEXT("i8"), "O: i:v", ALL_BITS},
        {NEXT("u16"), "O: i:v", EXACT},
        {NEXT("f16"), "O: i:v", EXACT},
        {NEXT("bf16"), "O: i:v", EXACT},
        {BEFORE, "O: i:v", EXACT},
        {BEFORE, "O: i", EXACT},
        {SHORT, "O: i:v", EXACT},
        {BOTH, "O: m i:v", EXACT},
        {EITHER, "O: i:v\nP: i:v", EXACT},
        {EITHER, "O: i\nP: i", EXACT},
        {"program g { input T: i32[8] output S: i32[1]\n"
         "S: for i in 0:9, j in 0:1, k in 0:8  S[j] +=! T[(i + k)/2] }",
         "S: i/4 i k/3 k:v", EXACT},
    };
    RUN(cases);
#define APART(TYPE) /* lanes apart, backwards, and one element for all of them */                  \
    "program a { input A: " TYPE "[71] output O: " TYPE "[37] output P: " TYPE "[37]\n"            \
    "output Q: " TYPE "[37]\n"                                                                     \
    "O: for i in 0:37  O[i] = select(index(i) < i64(35), A[2*i + 2], " TYPE "(7))\n"               \
    "P: for i in 0:37  P[i] = select(index(i) < i64(36), A[35 - i], " TYPE "(7))\n"                \
    "Q: for i in 0:37, k in 0:3  Q[i] max=! select(index(i) > i64(4) && index(k) < i64(2), A[k + " \
    "69], A[k]) }"
    static const Case apart[] = {
        {APART("f32"), "O: i:v\nP: i:v\nQ: k i:v", EXACT},
        {APART("f64"), "O: i:v\nP: i:v\nQ: k i:v", EXACT},
        {APART("i8"), "O: i:v\nP: i:v\nQ: k i:v", ALL_BITS},
        {APART("u16"), "O: i:v\nP: i:v\nQ: k i:v", ALL_BITS},
        {APART("bf16"), "O: i:v\nP: i:v\nQ: k i:v", EXACT},
        {APART("bool"), "O: i:v\nP: i:v\nQ: k i:v", EXACT},
    };
    RUN(apart);
#define EDGED(TYPE, STEP, END) /* lanes a few elements apart: the border of a strided window */    \
    "program w { input A: " TYPE "[" END "] output O: " TYPE "[23] output P: " TYPE "[7]\n"        \
    "O: for i in 0:23, k in 0:3 if " STEP "*i + k - 1 >= 0, " END " - " STEP "*i - k >= 0\n"       \
    "    O[i] max=! A[" STEP "*i + k - 1]\n"                                                       \
    "P: for i in 0:7, k in 0:3 if " STEP "*i + k - 1 >= 0\n"                                       \
    "    P[i] +=! A[" STEP "*i + k - 1] }"
    static const Case edged[] = {
        {EDGED("f32", "2", "45"), "O: k i:v\nP: k i:v", EXACT},
        {EDGED("f32", "2", "46"), "O: i/16 k i:v\nP: i k", EXACT},
        {EDGED("f32", "3", "68"), "O: k i:v\nP: k i:v", EXACT},
        {EDGED("f32", "4", "90"), "O: i/8 k i:v\nP: k i:v", EXACT},
        {EDGED("f64", "2", "44"), "O: k i:v\nP: k i:v", EXACT},
        {EDGED("i32", "3", "67"), "O: i/20 k i:v\nP: k i:v", EXACT},
    };
    RUN(edged);
#define RAGGED /* the border of a window, in tiles that do not divide */                           \
    "program b { input A: f32[21, 37] input K: f32[3, 3] output O: f32[21, 37]\n"                  \
    "O: for h in 0:21, w in 0:37, r in 0:3, s in 0:3\n"                                            \
    "        if h + r - 1 >= 0, 21 - h - r >= 0, w + s - 1 >= 0, 37 - w - s >= 0\n"                \
    "    O[h, w] +=! A[h + r - 1, w + s - 1]*K[r, s] }"
    static const Case border[] = {
        {RAGGED, "O: h/4 w/16 s r h w:v", EXACT},
        {RAGGED, "O: h/8 s r h w:v", EXACT},
        {RAGGED, "O: w/32 h r s w:v", EXACT},
    };
    RUN(border);
}

// Quotients round down for either sign; so do those by powers of two.
TEST(wide_integers_are_divided) {
#define DIVIDED(TYPE, BY)                                                                          \
    "program d { input A: " TYPE "[37] output O: " TYPE "[37] output P: " TYPE "[37]\n"            \
    "O: for i in 0:37  O[i] = A[i] / " TYPE "(" BY ")\n"                                           \
    "P: for i in 0:37  P[i] = A[i] % " TYPE "(" BY ") }"
    static const Case cases[] = {
        {DIVIDED("i64", "8"), "O: i:v\nP: i:v", ALL_BITS},
        {DIVIDED("i64", "1099511627776"), "O: i:v\nP: i:v", ALL_BITS},
        {DIVIDED("i64", "7"), "O: i:v\nP: i:v", ALL_BITS},
        {DIVIDED("u64", "16"), "O: i:v\nP: i:v", ALL_BITS},
    };
    RUN(cases);
}

// A guarded value of other iterators: one element for all lanes, or adjacent ones.
TEST(guarded_computed_reads_are_shared) {
#define SHARED                                                                                     \
    "program s { input A: f32[9, 37] output O: f32[16, 37] output P: f32[16, 37]\n"                \
    "O: for y in 0:16, x in 0:37  O[y, x] = select(index(y - 3) % i64(2) == i64(0) && "            \
    "index(y - 3) >= i64(0), A[(y - 3)/2, x], f32(7))\n"                                           \
    "P: for y in 0:16, x in 0:37  P[y, x] = select(index(y - 3) % i64(2) == i64(0) && "            \
    "index(y - 3) >= i64(0), A[(y - 3)/2, (y + 1)/2], f32(7)) }"
    static const Case cases[] = {
        {SHARED, "O: y x:v\nP: y x:v", EXACT},
        {SHARED, "O: y:p x:v\nP: y:p x:v", EXACT},
    };
    RUN(cases);
}

// Elements in lanes where a guard is false keep their bits.
TEST(guarded_writes_leave_the_rest_alone) {
#define BAND(TYPE)                                                                                 \
    "program b { input A: " TYPE "[37] output O: " TYPE "[37] output P: " TYPE "[23, 37]\n"        \
    "O: for i in 0:37 if i - 3 >= 0, 30 - i >= 0  O[i] = A[i]\n"                                   \
    "P: for i in 0:23, j in 0:37 if j - i >= 0  P[i, j] = A[j] }"
#define BANDS(TYPE)                                                                                \
    {BAND(TYPE), "O: i:v\nP: i j:v", EXACT}, { BAND(TYPE), "O: i/16:p i:v\nP: i:p j:v", EXACT }
    static const Case cases[] = {BANDS("f32"), BANDS("f64"), BANDS("bool"), BANDS("i8"),
                                 BANDS("u16"), BANDS("f16"), BANDS("bf16")};
    RUN(cases);
}

// Gathered elements of 1 and 2 bytes, including the first and the last of their table, in tables
// down to a single element.
TEST(narrow_tables_are_read_to_their_end) {
#define TABLE(TYPE, SIZE, INDEX)                                                                   \
    "program t { input T: " TYPE "[" SIZE "] input I: " INDEX "[45] output O: " TYPE "[45]\n"      \
    "output P: " TYPE "[45]\n"                                                                     \
    "O: for i in 0:45  O[i] = T[I[i]]\n"                                                           \
    "P: for i in 0:45  P[i] = T[max(min(2*i - 3, " SIZE " - 1), 0)] }"
#define SIZES(TYPE, INDEX)                                                                         \
    {TABLE(TYPE, "1", INDEX), "O: i:v\nP: i:v", ALL_BITS},                                         \
        {TABLE(TYPE, "2", INDEX), "O: i:v\nP: i:v", ALL_BITS},                                     \
        {TABLE(TYPE, "3", INDEX), "O: i:v\nP: i:v", ALL_BITS},                                     \
        {TABLE(TYPE, "4", INDEX), "O: i:v\nP: i:v", ALL_BITS},                                     \
        {TABLE(TYPE, "5", INDEX), "O: i:v\nP: i:v", ALL_BITS}, {                                   \
        TABLE(TYPE, "50", INDEX), "O: i:v\nP: i:v", ALL_BITS                                       \
    }
    static const Case cases[] = {SIZES("i8", "i32"),  SIZES("u8", "i64"),  SIZES("i16", "u8"),
                                 SIZES("u16", "i32"), SIZES("f16", "i32"), SIZES("bf16", "i64"),
                                 SIZES("bool", "i32")};
#define WIDE(TYPE)                                                                                 \
    "program w { input T: " TYPE "[50] input I: i32[45] output O: i64[45]\n"                       \
    "O: for i in 0:45  O[i] = i64(T[I[i]]) }"
    static const Case wide[] = {{WIDE("i8"), "O: i:v", ALL_BITS},
                                {WIDE("u8"), "O: i:v", ALL_BITS},
                                {WIDE("i16"), "O: i:v", ALL_BITS},
                                {WIDE("u16"), "O: i:v", ALL_BITS}};
    int64_t before = jit_tricks[TRICK_GATHER];
    RUN(cases);
    RUN(wide);
    CHECK(jit_tricks[TRICK_GATHER] > before);
}

// The number of bits that an index says, within the width of the type and beyond it.
TEST(shifts_by_an_index_count_modulo_the_width) {
#define SHIFTS(TYPE, BITS)                                                                         \
    {                                                                                              \
        "program s { input A: " TYPE "[45] output O: " TYPE "[45] output P: " TYPE "[45]\n"        \
        "O: for i in 0:45, b in 0:" BITS "  O[i] +=! (A[i] >> " TYPE "(index(b))) & " TYPE "(1)\n" \
        "P: for i in 0:45, b in 0:" BITS "  P[i] +=! A[i] << " TYPE "(index(b + i)) }",            \
            "O: i/32 b i:v\nP: i/32 b i:v", ALL_BITS                                               \
    }
    static const Case cases[] = {SHIFTS("i32", "32"), SHIFTS("u32", "70"), SHIFTS("i64", "64"),
                                 SHIFTS("i64", "90"), SHIFTS("u64", "64"), SHIFTS("i8", "8"),
                                 SHIFTS("u8", "19"),  SHIFTS("i16", "16"), SHIFTS("u16", "40")};
    RUN(cases);
}

// A table that is read at products of indices, as a discrete Fourier transform reads its roots.
TEST(products_in_subscripts_are_gathered) {
#define ROOTS(TYPE, STEP)                                                                          \
    "program d { input X: " TYPE "[37] input C: " TYPE "[64] output R: " TYPE "[45]\n"             \
    "output S: " TYPE "[9, 45]\n"                                                                  \
    "R: for k in 0:45, n in 0:37  R[k] +=! X[n]*C[" STEP "*k*n % 61]\n"                            \
    "S: for i in 0:9, j in 0:45  S[i, j] = C[max((j - 20)*(i - 4), 0) % 64] }"
#define ROOT_CASES(TYPE)                                                                           \
    {ROOTS(TYPE, "1"), "R: n k:v\nS: i j:v", EXACT},                                               \
        {ROOTS(TYPE, "1"), "R: k n:v\nS: j i:v", EXACT}, {                                         \
        ROOTS(TYPE, "997"), "R: k/16 n k:v\nS: i j:v", EXACT                                       \
    }
    static const Case cases[] = {ROOT_CASES("f32"), ROOT_CASES("i64"), ROOT_CASES("i32")};
    int64_t before = jit_tricks[TRICK_GATHER];
    RUN(cases);
    CHECK(jit_tricks[TRICK_GATHER] > before);
}

// Pieces of a periodic subscript that are pages away where they do not hold.
TEST(pieces_far_away_are_not_touched) {
#define AROUND(TYPE, SIZE)                                                                         \
    {                                                                                              \
        "program a { input A: " TYPE "[" SIZE "] output O: " TYPE "[4, " SIZE "]\n"                \
        "O: for i in 0:4, j in 0:" SIZE "  O[i, j] = A[(3*j + i) % " SIZE "] }",                   \
            "O: i j:v", ALL_BITS                                                                   \
    }
    static const Case cases[] = {AROUND("f32", "1100"), AROUND("i64", "700"), AROUND("u8", "5000"),
                                 AROUND("f32", "37")};
    int64_t before = jit_tricks[TRICK_SKIP];
    RUN(cases);
    CHECK(jit_tricks[TRICK_SKIP] > before);
}

// Recurrences, whose elements stay in registers from one step to the next unless something else
// writes them.
TEST(recurrences_stay_in_registers) {
#define STEPS(TYPE, BODY)                                                                          \
    "program s { input A: " TYPE "[204] input B: " TYPE "[204] output O: " TYPE "[407]\n"          \
    "O: for i in 0:407  O[i] = A[i/2]\nfor t in 2:101 { O.1: " BODY " } }"
#define STEPPED_ROWS(TYPE, BODY)                                                                   \
    "program r { input A: " TYPE "[37, 101] output O: " TYPE "[37, 101]\n"                         \
    "O: for i in 0:37, j in 0:101  O[i, j] = A[i, j]\n"                                            \
    "for t in 1:101 { O.1: for i in 0:37  " BODY " } }"
#define CARRIED(TYPE)                                                                              \
    {STEPS(TYPE, "O[t] = O[t - 1] + A[t]"), "O: i\nO.1: t", ALL_BITS},                             \
        {STEPS(TYPE, "O[t] = O[t - 1] - O[t - 2] + A[t]"), "O: i\nO.1: t", ALL_BITS},              \
        {STEPS(TYPE, "O[2*t] = O[2*t - 2] + A[t]*B[t]"), "O: i\nO.1: t", ALL_BITS},                \
        {STEPS(TYPE, "O[t] = O[t - 1] + A[t]\nO.2: O[t + 1] = O[t] - B[t]"), "O: i\nO.1: t",       \
         ALL_BITS},                                                                                \
        {STEPS(TYPE, "O[t] = O[t - 1] + A[t]\nO.2: O[101 - t] = O[t] - B[t]"), "O: i\nO.1: t",     \
         ALL_BITS},                                                                                \
        {STEPS(TYPE, "O[5] = O[5] + A[t]*O[t - 1]"), "O: i\nO.1: t", ALL_BITS},                    \
        {STEPS(TYPE, "for i in 0:2  O[2*t + i] = O[2*t + i - 2] + A[t]"), "O: i\nO.1: t i:u",      \
         ALL_BITS},                                                                                \
        {STEPS(TYPE, "for i in 0:3  O[3*t + i] = O[3*t + i - 3] + A[t + i]"), "O: i\nO.1: t i:v",  \
         ALL_BITS},                                                                                \
        {STEPPED_ROWS(TYPE, "O[i, t] = O[i, t - 1] + A[i, t]"), "O: i j:v\nO.1: i/16 t i:v",       \
         ALL_BITS},                                                                                \
        {STEPPED_ROWS(TYPE, "O[i, t] = O[i, t - 1] + A[i, t]"), "O: i j:v\nO.1: i t", ALL_BITS}, { \
        STEPPED_ROWS(TYPE, "O[i, t] = O[i, t - 1] + O[i, 100 - t]"), "O: i j:v\nO.1: i t",         \
            ALL_BITS                                                                               \
    }
    static const Case cases[] = {CARRIED("f32"), CARRIED("f64"), CARRIED("i32"),
                                 CARRIED("i64"), CARRIED("u8"),  CARRIED("f16")};
    static const Case parted[] = {
        {"program p { input T1: f32[61] input T3: i64[31] input T0: f32[31] output T2: f32[]\n"
         "T2: for i0 in 0:31  T2[] +=! max(T1[i0 + 10], T0[T3[i0]]) - T1[37 - i0] }",
         "T2: i0%13 i0/9\n    copy T3 at i0", EXACT},
        {"program p { input T1: f32[61] input T3: i64[31] input T0: f32[31] output T2: f32[]\n"
         "T2: for i0 in 0:31  T2[] +=! fdim(max(T1[i0 + 10], T0[T3[i0]]), round(T1[37 - i0])) }",
         "T2: i0%13 i0/9\n    copy T3 at i0", EXACT}};
    RUN(parted); // the body has several parts, which the generator decides one by one
    int64_t before = jit_tricks[TRICK_CARRY];
    RUN(cases);
    CHECK(jit_tricks[TRICK_CARRY] > before);
}

// Bits counted by adding neighbours: one instruction, unless a constant differs or the result of a
// step is needed.
TEST(bits_are_counted) {
#define COUNT_BITS(T, SUM, M3, MF, M1, SHIFT)                                                      \
    "program p { input X: " T "[53] temp a: " T "[53] temp b: " T "[53] output O: " T "[53]\n"     \
    "a: for i in 0:53  a[i] = " SUM "\n"                                                           \
    "b: for i in 0:53  b[i] = (a[i] & " T "(" M3 ")) + (a[i] >> " T "(2) & " T "(" M3 "))\n"       \
    "O: for i in 0:53  O[i] = (b[i] + (b[i] >> " T "(4)) & " T "(" MF "))*" T "(" M1 ") >> " T     \
    "(" SHIFT ") }"
#define TAKEN(T, M5) "X[i] - (X[i] >> " T "(1) & " T "(" M5 "))"
#define ADDED(T, M5) "(X[i] & " T "(" M5 ")) + (X[i] >> " T "(1) & " T "(" M5 "))"
#define WORD(SUM, M3, SHIFT)                                                                       \
    COUNT_BITS("u32", SUM, M3, "252645135", "16843009", SHIFT), "a: i:v\nb: i:v\nO: i:v", ALL_BITS
#define LONG(SUM)                                                                                  \
    COUNT_BITS("u64", SUM, "3689348814741910323", "1085102592571150095", "72340172838076673",      \
               "56"),                                                                              \
        "a: i:v\nb: i:v\nO: i:v", ALL_BITS
    static const Case cases[] = {
        {WORD(TAKEN("u32", "1431655765"), "858993459", "24")},
        {WORD(ADDED("u32", "1431655765"), "858993459", "24")},
        {WORD(TAKEN("u32", "1431655764"), "858993459", "24")},
        {WORD(TAKEN("u32", "1431655765"), "858993458", "24")},
        {WORD(TAKEN("u32", "1431655765"), "858993459", "23")},
        {LONG(TAKEN("u64", "6148914691236517205"))},
        {LONG(ADDED("u64", "6148914691236517205"))},
        {"program p { input X: u32[53] output a: u32[53] temp b: u32[53] output O: u32[53]\n"
         "a: for i in 0:53  a[i] = X[i] - (X[i] >> u32(1) & u32(1431655765))\n"
         "b: for i in 0:53  b[i] = (a[i] & u32(858993459)) + (a[i] >> u32(2) & u32(858993459))\n"
         "O: for i in 0:53  O[i] = (b[i] + (b[i] >> u32(4)) & u32(252645135))*u32(16843009) >> "
         "u32(24) }",
         "a: i:v\nb: i:v\nO: i:v", ALL_BITS},
    };
    RUN(cases);
}

// Upper and lower limits that depend on outer loops, one or several at a time.
TEST(loops_with_limits_run_where_they_may) {
#define UPPER                                                                                      \
    "program u { input A: i32[40, 40] output O: i32[40]\n"                                         \
    "O: for i in 0:40, j in 0:40 if j - i >= 0  O[i] +=! A[i, j] }"
#define HALF                                                                                       \
    "program h { input A: i32[9, 9] output O: i32[9]\n"                                            \
    "O: for i in 0:9, j in 0:9 if 2*i - j - 1 >= 0  O[i] +=! A[i, j] }"
#define DIAMOND                                                                                    \
    "program d { input A: i32[300, 6] output O: i32[300]\n"                                        \
    "O: for i in 0:300, j in 0:6 if i - 2*j >= 0, 297 - i - j >= 0  O[i] +=! A[i, j] }"
#define THIRDS                                                                                     \
    "program t { input A: i32[100, 37] output O: i32[1]\n"                                         \
    "O: for k in 0:100, i in 0:37 if k % 3 - 1 >= 0  O[0] +=! A[k, i] }"
#define ENDS /* a window that ends later than its reader */                                        \
    "program w { input A: i32[44] temp T: i32[40] output O: i32[37]\n"                             \
    "T: for x in 0:40  T[x] = A[x]*3\nO: for y in 0:37  O[y] = T[y + 1] }"
#define TWICE /* lanes are folded on one way and not on the other */                               \
    "program t { input A: i32[300, 20] input B: i32[50, 37] output S: i32[50]\n"                   \
    "S: for r in 0:50, k in 0:300, i in 0:20  S[r] +=! A[k, i]\n"                                  \
    "S.1: for r in 0:50, j in 0:37 if r % 3 - 1 >= 0  S[r] += B[r, j] }"
    static const Case cases[] = {
        {TWICE, "S: r k i:v\nS.1: r j:v", EXACT},
        {UPPER, "O: i j", EXACT},
        {UPPER, "O: i j:v", EXACT},
        {UPPER, "O: j i", EXACT},
        {UPPER, "O: i/8 j i", EXACT},
        {HALF, "O: j i", EXACT},
        {HALF, "O: i j", EXACT},
        {HALF, "O: j i:v", EXACT},
        {DIAMOND, "O: i j", EXACT},
        {DIAMOND, "O: i j:u", EXACT},
        {DIAMOND, "O: j i:v", EXACT},
        {THIRDS, "O: k i:v", EXACT},
        {THIRDS, "O: k i", EXACT},
        {THIRDS, "O: i k", EXACT},
        {ENDS, "T: x\n    at y/8\nO: y/8 y", EXACT},
        {ENDS, "T: x:v\n    at y/8\nO: y/8 y:v", EXACT},
    };
    RUN(cases);
}

// Windows over a border, whose conditions are invariant in the loop over channels and are tested
// before it: at the first tile, at the last one, at both, and in tails.
TEST(conditions_are_decided_in_front_of_loops) {
#define WINDOW(W, LAST) /* LAST: the condition on the right */                                     \
    "program w { input I: f32[" #W ", 40] input F: f32[3, 40, 16] output O: f32[" #W ", 16]\n"     \
    "O: for w in 0:" #W ", k in 0:16, s in 0:3, c in 0:40 if w + s - 1 >= 0, " LAST                \
    "    O[w, k] +=! I[w + s - 1, c]*F[s, c, k] }"
#define IMAGE                                                                                      \
    "program i { input I: f32[7, 11, 24] input F: f32[3, 3, 24, 16] output O: f32[7, 11, 16]\n"    \
    "O: for h in 0:7, w in 0:11, k in 0:16, r in 0:3, s in 0:3, c in 0:24\n"                       \
    "    if h + r - 1 >= 0, 7 - h - r >= 0, w + s - 1 >= 0, 11 - w - s >= 0\n"                     \
    "    O[h, w, k] +=! I[h + r - 1, w + s - 1, c]*F[r, s, c, k] }"
#define SHORT_SUM /* no loop over channels: tests are left out where all of them hold */           \
    "program e { input I: f32[40, 16] input F: f32[3, 16] output O: f32[40, 16]\n"                 \
    "O: for w in 0:40, k in 0:16, s in 0:3 if w + s - 1 >= 0, 40 - w - s >= 0\n"                   \
    "    O[w, k] +=! I[w + s - 1, k]*F[s, k] }"
    static const Case cases[] = {
        {WINDOW(14, "14 - w - s >= 0"), "O: w/4 s:u c w k:v", EXACT},
        {WINDOW(14, "14 - w - s >= 0"), "O: w/4 s c w k:v", EXACT},
        {WINDOW(13, "13 - w - s >= 0"), "O: w/4 s:u c w k:v", EXACT},
        {WINDOW(13, "13 - w - s >= 0"), "O: w/6 w/3 s c w k:v", EXACT},
        {WINDOW(12, "12 - w - s >= 0"), "O: w/3 s c w k:v", EXACT},
        {WINDOW(12, "12 - w - s >= 0"), "O: w/12 s:u c w k:v", EXACT},
        {WINDOW(12, "12 - w - s >= 0, 5 - w + 2*s >= 0"), "O: w/6 s c w k:v", EXACT},
        {WINDOW(12, "12 - w - s >= 0, 2*c - w - s >= 0"), "O: w/4 s c w k:v", EXACT},
        {IMAGE, "O: h w/4 r s:u c w k:v", EXACT},
        {IMAGE, "O: h/2 w/3 r s c h w k:v", EXACT},
        {IMAGE, "O: h/2 w/11 r s:u c h w k:v", EXACT},
        {IMAGE, "O: h/3 w/4 r:u s:u c h w k:v", EXACT},
        {IMAGE, "O: h:p w/4 s c r w k:v", EXACT},
        {SHORT_SUM, "O: w/4 s w k:v", EXACT},
        {SHORT_SUM, "O: w s k:v", EXACT},
        {SHORT_SUM, "O: w/3 w s k:v", EXACT},
    };
    RUN(cases);
}

// Most tiles of a padded convolution are inside the image and need no test; those at its edges do,
// and so do all tiles if two loops determine the condition together.
TEST(borders_are_tested_at_the_edges) {
#define BORDER(TYPE, S, H, W)                                                                      \
    "program b { input I: " TYPE "[" #H ", " #W ", 3] input K: " TYPE "[3, 5, 3, 7]\n"             \
    "output O: " TYPE "[(" #H " - 1)/" #S " + 1, (" #W " - 1)/" #S " + 1, 7]\n"                    \
    "O: for h in 0:(" #H " - 1)/" #S " + 1, w in 0:(" #W " - 1)/" #S " + 1, f in 0:7,"             \
    " x in 0:3, y in 0:5, c in 0:3 if " #S "*h + x - 1 >= 0, " #H " - " #S "*h - x >= 0,"          \
    " " #S "*w + y - 2 >= 0, 1 + " #W " - " #S "*w - y >= 0\n"                                     \
    "O[h, w, f] +=! I[" #S "*h + x - 1, " #S "*w + y - 2, c]*K[x, y, c, f] }"
    static const Case cases[] = {
        {BORDER("i32", 1, 9, 40), "O: h w/4 x c y w f:v", EXACT},
        {BORDER("i32", 1, 9, 41), "O: h w/4 x c y w f:v", EXACT},
        {BORDER("i32", 2, 12, 40), "O: h w/5 x c y w f:v", EXACT},
        {BORDER("i32", 2, 11, 39), "O: w/3 h/2 x c y h w f:v", EXACT},
        {BORDER("i32", 3, 20, 50), "O: h w/2:u x c y w f:v", EXACT},
        {BORDER("i32", 1, 12, 40), "O: f h/3 y c x h w:v", EXACT},
        {BORDER("i32", 2, 12, 70), "O: f h w/8 y x c w:v", EXACT},
        {BORDER("i32", 1, 40, 37), "O: h/8 w/8 h/2 w/4 x c y h w f:v", EXACT},
    };
    RUN(cases);
}

// A loop is split where conditions start and stop holding: triangles and bands of all kinds, empty
// sums, and values that are assigned where the conditions do not hold.
TEST(triangles_are_cut) {
#define TRIANGLE(TYPE, COND, ELSE)                                                                 \
    "program t { input A: " TYPE "[67, 67] input B: " TYPE "[67, 19] output C: " TYPE "[67, 19]\n" \
    "C: for i in 0:67, j in 0:19, k in 0:67\n"                                                     \
    "    C[i, j] +=! select(" COND ", A[i, k]*B[k, j], " TYPE "(" ELSE ")) }"
#define UNDER  "index(k) <= index(i)"
#define OVER   "index(2*k) > index(i + 3)"
#define BANDED "index(k) >= index(i - 5) && index(k) < index(i + 7)"
#define SELDOM "index(k) >= index(i + 9) && index(k) < index(70 - i)"
    static const Case cases[] = {
        {TRIANGLE("f32", UNDER, "0"), "C: i/2 k i j:v", EXACT},
        {TRIANGLE("f32", OVER, "0"), "C: i/2 k i j:v", EXACT},
        {TRIANGLE("f32", BANDED, "0"), "C: i/4 k i j:v", EXACT},
        {TRIANGLE("f64", SELDOM, "0"), "C: i k j:v", EXACT},
        {TRIANGLE("f32", UNDER, "0"), "C: i/3 k i j", EXACT},
        {TRIANGLE("f32", UNDER, "0"), "C: j k i:v", EXACT},
        {TRIANGLE("f32", OVER, "0"), "C: j i/16 k i:v", EXACT},
        {TRIANGLE("f32", BANDED, "0"), "C: i j k:v", EXACT},
        {TRIANGLE("i32", UNDER, "0"), "C: i j k:v", EXACT},
        {TRIANGLE("f32", OVER, "3"), "C: i/2 k i j:v", EXACT},
        {TRIANGLE("f32", UNDER, "0"), "C: i k j:v", MINUS},
    };
    RUN(cases);
#define ROWS(OP, COND, ELSE) /* long rows, in lanes */                                             \
    "program r { input A: f32[35, 611] inout S: f32[35] output T: f32[35, 611]\n"                  \
    "S: for i in 0:35, k in 0:611  S[i] " OP " select(" COND ", A[i, k], f32(" ELSE "))\n"         \
    "T: for i in 0:35, k in 0:611  T[i, k] = select(" COND ", A[i, k]*A[i, k], f32(7)) }"
    static const Case rows[] = {
        {ROWS("+=", "index(k) <= index(17*i)", "0"), "S: i k:v\nT: i k:v", EXACT},
        {ROWS("+=", "index(k) <= index(17*i - 40)", "0"), "S: i k:v\nT: i k:v", MINUS},
        {ROWS("max=", "index(k) >= index(40*i)", "-3"), "S: i k:v\nT: i k:v", EXACT},
        {ROWS("+=", "index(k) >= index(9*i) && index(k) < index(9*i + 99)", "0"),
         "S: i k:v\nT: i k:v", EXACT},
        {ROWS("*=", "index(k) < index(i - 30)", "1"), "S: i k\nT: i k", EXACT},
        {ROWS("+=", "index(k) < index(i - 40)", "-0.0"), "S: i k:v\nT: i k:v", MINUS},
    };
    RUN(rows);
#define DOMAIN(COND) /* the same as limits of loops */                                             \
    "program d { input A: f32[67, 67] input B: f32[67, 19] output C: f32[67, 19]\n"                \
    "C: for i in 0:67, j in 0:19, k in 0:67 if " COND "\n"                                         \
    "    C[i, j] +=! A[i, k]*B[k, j] }"
    static const Case domains[] = {
        {DOMAIN("i - k >= 0"), "C: i/2 k i j:v", EXACT},
        {DOMAIN("i - k >= 0"), "C: j k i:v", EXACT},
        {DOMAIN("k - i - 3 >= 0"), "C: i/4 k i j:v", EXACT},
        {DOMAIN("k - i + 4 >= 0, i - k + 6 >= 0"), "C: i/4 k i j:v", EXACT},
        {DOMAIN("i - k >= 0"), "C: i j k:v", EXACT},
    };
    RUN(domains);
#define FEW(N, COND) /* the loop around is copied, too: each copy has its own limits */            \
    "program f { input T: f32[" #N "] input X: f32[" #N "] output R: f32[]\n"                      \
    "R: for j in 0:" #N ", k in 0:" #N " if " COND "  R[] +=! T[k]*X[j] }"
    static const Case few[] = {
        {FEW(17, "j - k >= 0"), "R: j k", EXACT},
        {FEW(19, "j - k >= 0"), "R: j k", EXACT},
        {FEW(24, "k - j >= 0"), "R: j k", EXACT},
        {FEW(31, "k - j + 3 >= 0, j - k + 5 >= 0"), "R: j k", EXACT},
        {FEW(19, "18 - j - k >= 0"), "R: j k", EXACT},
    };
    RUN(few);
#define PEELED(COND) /* few values of the condition's sum, which differs from lane to lane */      \
    "program f { input A: f32[2, 2051] inout O: f32[2]\n"                                          \
    "O: for i in 0:2, k in 0:2051  O[i] += select(index(" COND ") >= i64(0), A[i, k], 1.0) }"
    static const Case peeled[] = {
        {PEELED("2*i - k - 1"), "O: i k:v", EXACT},  {PEELED("2*i - k + 60"), "O: i k:v", EXACT},
        {PEELED("k - 2*i - 1"), "O: i k:v", EXACT},  {PEELED("k - 2*i - 60"), "O: i k:v", EXACT},
        {PEELED("3*k - i - 5"), "O: i k:v", EXACT},  {PEELED("i - 3*k + 200"), "O: i k:v", EXACT},
        {PEELED("k + i - 2000"), "O: i k:v", EXACT}, {PEELED("2000 - k - i"), "O: i k:v", EXACT},
    };
    RUN(peeled);
}

// --- Elements and their registers ----------------------------------------------------------------

TEST(tiles_begin_with_what_is_there) {
#define COUNT                                                                                      \
    "program c { inout C: i32[37]\n"                                                               \
    "C: for i in 0:37, k in 0:1000  C[i] += 3 }"
#define PLUS                                                                                       \
    "program p { input A: f32[500, 37] inout C: f32[3, 37]\n"                                      \
    "C: for r in 0:3, i in 0:37, k in 0:500  C[r, i] += A[k, i] }"
#define TWO /* the first update does not read, but it needs what is there */                       \
    "program t { input A: i32[500, 16] inout C: i32[16]\n"                                         \
    "C: for i in 0:16  C[i] += 3\nC.1: for i in 0:16, k in 0:500  C[i] += A[k, i] }"
    static const Case cases[] = {
        {TWO, "C: i:v\nC.1: k i:v", EXACT}, {TWO, "C: i\nC.1: i k", EXACT},
        {COUNT, "C: k i:v", EXACT},         {COUNT, "C: i k", EXACT},
        {COUNT, "C: i/16 k i:v", EXACT},    {PLUS, "C: r k i:v", EXACT},
        {PLUS, "C: r i/16 k i:v", EXACT},   {PLUS, "C: i/8 k r i:v", EXACT},
        {PLUS, "C: r k/7 i/5 k i", EXACT},
    };
    RUN(cases);
}

// Two reads of one tensor that access the same element in one copy of a loop body only.
TEST(reads_that_meet_once) {
#define DOUBLE                                                                                     \
    "program d { input A: i32[24, 40] output C: i32[40]\n"                                         \
    "C: for n in 0:40, k in 0:12  C[n] +=! A[k, n]*A[2*k, n] }"
#define SQUARE                                                                                     \
    "program s { input A: i32[12, 12] output C: i32[12, 12]\n"                                     \
    "C: for m in 0:12, n in 0:12, k in 0:12  C[m, n] +=! A[m, k]*A[k, n] }"
#define CHAIN                                                                                      \
    "program p { input A: f32[24] output P: f32[1]\n"                                              \
    "P: for i in 0:24  P[0] +=! A[i] }"
#define CONV                                                                                       \
    "program c { input I: i32[70, 10, 40] input K: i32[70, 3, 3] output O: i32[8, 38]\n"           \
    "O: for h in 0:8, w in 0:38, c in 0:70, r in 0:3, s in 0:3\n"                                  \
    "  O[h, w] +=! I[c, h + r, w + s]*K[c, r, s] }"
    static const Case cases[] = {
        {CHAIN, "P: i/4 i", EXACT},          {CHAIN, "P: i/6 i/2 i", EXACT},
        {CONV, "O: h c r s w:v", EXACT},     {CONV, "O: h/4 c r s h w:v", EXACT},
        {CONV, "O: h/2 c r s h w:v", EXACT}, {DOUBLE, "C: k n:v", EXACT},
        {DOUBLE, "C: n k", EXACT},           {DOUBLE, "C: n/16 k n:v", EXACT},
        {SQUARE, "C: m n k", EXACT},         {SQUARE, "C: m/3 n/4 k m n", EXACT},
    };
    RUN(cases);
}

// A value that is needed after its memory was overwritten, with every register in use in between.
TEST(values_outlive_their_memory) {
#define SWAP                                                                                       \
    "program x { inout A: f32[70] input B: f32[70] output C: f32[70] temp X: f32[70]\n"            \
    "X: for i in 0:70  X[i] = A[i]\n"                                                              \
    "A: for i in 0:70  A[i] = max(trunc(sin(B[i])*tanh(B[i])*exp(B[i])*f32(100)), B[i])\n"         \
    "C: for i in 0:70  C[i] = X[i] + X[i]*B[i] }"
    static const Case cases[] = {
        {SWAP, "X: i\nA: i\nC: i", EXACT},
        {SWAP, "X: i:v\nA: i:v\nC: i:v", EXACT},
        {SWAP, "X: i/8 i:u\nA: i/8 i:u\nC: i/8 i:u", EXACT},
    };
    RUN(cases);
}

// --- Strided lanes -------------------------------------------------------------------------------

TEST(lanes_apart_of_every_type) {
#define TURNED(TYPE, TO)                                                                           \
    "program t { input A: " TYPE "[37, 6] output O: " TO "[6, 37]\n"                               \
    "O: for r in 0:6, i in 0:37  O[r, i] = " TO "(A[i, r]) }"
#define BACK(TYPE)                                                                                 \
    "program b { input A: " TYPE "[37, 3] output O: " TYPE "[3, 37]\n"                             \
    "O: for r in 0:3, i in 0:37  O[r, i] = A[36 - i, r] }"
    static const Case cases[] = {
        {TURNED("i8", "i32"), "O: r i:v", ALL_BITS},
        {TURNED("u8", "i32"), "O: r i:v", ALL_BITS},
        {TURNED("i16", "i32"), "O: r i:v", ALL_BITS},
        {TURNED("u16", "i32"), "O: r i:v", ALL_BITS},
        {TURNED("i32", "i64"), "O: r i:v", ALL_BITS},
        {TURNED("u32", "i64"), "O: r i:v", ALL_BITS},
        {TURNED("f16", "f32"), "O: r i:v", ROUGH},
        {TURNED("bf16", "f32"), "O: r i:v", ROUGH},
        {TURNED("bool", "i32"), "O: r i:v", EXACT},
        {TURNED("i8", "i8"), "O: i r:v", ALL_BITS},
        {TURNED("i16", "i16"), "O: i r:v", ALL_BITS},
        {TURNED("f16", "f16"), "O: i r:v", ROUGH},
        {TURNED("bf16", "bf16"), "O: i r:v", ROUGH},
        {TURNED("f64", "f64"), "O: i r:v", ROUGH},
        {TURNED("i64", "i64"), "O: i/8 r i:v", ALL_BITS},
        {BACK("i8"), "O: r i:v", ALL_BITS},
        {BACK("f64"), "O: r i:v", ROUGH},
    };
    RUN(cases);
}

// Lanes with a small stride are permuted from whole vectors, which must not extend beyond the last
// element.
TEST(lanes_near_each_other) {
#define NEAR(TYPE, S, N)                                                                           \
    "program n { input A: " TYPE "[" #S "*" #N " - " #S " + 1] output O: " TYPE "[" #N "]\n"       \
    "O: for i in 0:" #N "  O[i] = A[" #S "*i] }"
#define EACH(S)                                                                                    \
    {NEAR("i32", S, 3), "O: i:v", ALL_BITS}, {NEAR("i32", S, 5), "O: i:v", ALL_BITS},              \
        {NEAR("i32", S, 9), "O: i:v", ALL_BITS}, {NEAR("i32", S, 16), "O: i:v", ALL_BITS},         \
        {NEAR("i32", S, 29), "O: i:v", ALL_BITS}, {NEAR("i32", S, 150), "O: i:v", ALL_BITS},       \
        {NEAR("i64", S, 3), "O: i:v", ALL_BITS}, {NEAR("i64", S, 6), "O: i:v", ALL_BITS},          \
        {NEAR("f64", S, 43), "O: i:v", ROUGH}, {                                                   \
        NEAR("i16", S, 43), "O: i:v", ALL_BITS                                                     \
    }
    static const Case cases[] = {EACH(2), EACH(3), EACH(4), EACH(5)};
    RUN(cases);
}

// Interleaved columns of short rows share whole vectors; no other elements are written, and nothing
// beyond the last one is read.
TEST(columns_are_combed) {
#define COMB(TYPE, S, N) /* all columns, the other way round */                                    \
    "program c { input A: " TYPE "[" #N ", " #S "] output O: " TYPE "[" #N ", " #S "]\n"           \
    "O: for i in 0:" #N ", c in 0:" #S "  O[i, c] = A[i, " #S " - 1 - c] }"
#define SOME(TYPE, S, N) /* two columns of more; the second row begins there too */                \
    "program s { input A: " TYPE "[" #S "*" #N " - " #S " + 2] inout O: " TYPE "[" #N ", " #S      \
    "]\nO: for i in 0:" #N ", c in 0:2  O[i, c] = A[" #S "*i + c] }"
#define INTO(TYPE, S, N) /* of a column each */                                                    \
    "program i { input A: " TYPE "[" #S ", " #N "] output O: " TYPE "[" #N ", " #S "]\n"           \
    "O: for i in 0:" #N ", c in 0:" #S "  O[i, c] = A[c, i] }"
#define COMBED(S)                                                                                  \
    {COMB("i32", S, 2), "O: c i:v", ALL_BITS}, {COMB("i32", S, 5), "O: c i:v", ALL_BITS},          \
        {COMB("i32", S, 16), "O: c i:v", ALL_BITS}, {COMB("i32", S, 31), "O: c i:v", ALL_BITS},    \
        {COMB("i32", S, 100), "O: i/16 c i:v", ALL_BITS}, {SOME("i32", S, 7), "O: c i:v", EXACT},  \
        {SOME("i32", S, 13), "O: c i:v", EXACT}, {SOME("i32", S, 37), "O: c i:v", EXACT},          \
        {COMB("f64", S, 13), "O: c i:v", ROUGH}, {SOME("i64", S, 13), "O: c i:v", ALL_BITS},       \
        {COMB("u8", S, 37), "O: c i:v", ALL_BITS}, {COMB("i16", S, 23), "O: c i:v", ALL_BITS},     \
        {COMB("f16", S, 37), "O: c i:v", ROUGH}, {COMB("bf16", S, 11), "O: c i:v", ROUGH},         \
        {COMB("bool", S, 19), "O: c i:v", EXACT}, {INTO("i32", S, 21), "O: c i:v", ALL_BITS}, {    \
        INTO("i64", S, 21), "O: c i:v\n  nontemporal", ALL_BITS                                    \
    }
    static const Case cases[] = {COMBED(2), COMBED(3), COMBED(4), COMBED(5),
                                 COMBED(6), COMBED(7), COMBED(8)};
    int64_t before = jit_tricks[TRICK_DEINTERLEAVE];
    RUN(cases);
    CHECK(jit_tricks[TRICK_DEINTERLEAVE] > before);
}

// Rows that are transposed together must have the same kind and must not change in between.
TEST(turned_blocks_keep_their_order) {
#define STREAMS                                                                                    \
    "program s { input A: i32[16, 900] output O: i32[8, 16]\n"                                     \
    "O: for i in 0:8, j in 0:16, k in 0:400  O[i, j] +=! A[j, i + k]*A[j, i + 2*k + 8] }"
#define SHIFT                                                                                      \
    "program h { input B: i32[33, 6] output A: i32[33, 6] output C: i32[32, 6]\n"                  \
    "A: for i in 0:6, j in 0:33  A[j, i] = B[j, i]*3\n"                                            \
    "C: for i in 0:6, j in 0:32  C[j, i] = A[j + 1, i] - A[j, i] }"
#define MESHED /* stores that are four columns side by side, and of which two write over two */    \
    "program b { input I: f32[10, 2] output P: f32[12, 2]\n"                                       \
    "P: for x in 0:12, g in 0:2  P[x, g] = 0.0\n"                                                  \
    "P.1: for x in 0:10, g in 0:2  P[x + 1, g] = I[x, g] }"
    static const Case cases[] = {
        {MESHED, "P: g x:v\nP.1: g x:v", EXACT}, {STREAMS, "O: k i j:v", EXACT},
        {STREAMS, "O: i/4 k i j:v", EXACT},      {SHIFT, "A: i j:v\nC: i j:v", EXACT},
        {SHIFT, "A: j i:v\nC: j i:v", EXACT},
    };
    RUN(cases);
}

// Empty blocks of a split: their code is planned like that of others.
TEST(tails_may_be_empty) {
    static const Case cases[] = {
        {"program t { input A: i64[5, 101] input B: i64[101, 15] inout O: i64[5, 15]\n"
         "O: for i in 0:5, j in 0:15, k in 0:101 if -i - 2*k - 19 >= 0, 2*k - 2*j + 15 >= 0\n"
         "  O[i, j] +=! A[i, k]*B[k, j] }",
         "O: k j/5 i/7:u j/4 j i%6 i:v", EXACT},
        {"program t { input A: f32[5, 101] input B: f32[101, 15] inout O: f32[5, 15]\n"
         "O: for i in 0:5, j in 0:15, k in 0:101 if 2*k - 2*j + 15 >= 0\n"
         "  O[i, j] +=! A[i, k]*B[k, j] }",
         "O: k j/5 i/7:u j/4 j i%6 i:v", EXACT},
    };
    RUN(cases);
}

// Several rows shorter than a vector in one vector: lanes of a row share elements, permuted from
// whole vectors or loaded one by one.
TEST(rows_share_a_vector) {
#define GROUPS(TYPE, G, C, F)                                                                      \
    "program g { input P: " TYPE "[6, " #G ", " #C "] input K: " TYPE "[3, " #C ", " #G ", " #F    \
    "] output O: " TYPE "[4, " #G ", " #F "]\n"                                                    \
    "O: for w in 0:4, g in 0:" #G ", f in 0:" #F ", s in 0:3, c in 0:" #C "\n"                     \
    "  O[w, g, f] +=! P[w + s, g, c]*K[s, c, g, f] }"
#define PADDED(TYPE, G, C, F)                                                                      \
    "program p { input I: " TYPE "[5, " #G ", " #C "] input K: " TYPE "[3, " #C ", " #G ", " #F    \
    "] output O: " TYPE "[5, " #G ", " #F "]\n"                                                    \
    "O: for w in 0:5, g in 0:" #G ", f in 0:" #F ", s in 0:3, c in 0:" #C                          \
    " if w + s - 1 >= 0, 5 - w - s >= 0\n"                                                         \
    "  O[w, g, f] +=! I[w + s - 1, g, c]*K[s, c, g, f] }"
#define SCALED(TYPE, N, M)                                                                         \
    "program s { input A: " TYPE "[" #N "] input X: " TYPE "[" #N ", " #M "] output O: " TYPE      \
    "[" #N ", " #M "]\n"                                                                           \
    "O: for i in 0:" #N ", j in 0:" #M "  O[i, j] = A[i]*X[i, j] - A[i] }"
    static const Case cases[] = {
        {GROUPS("f32", 8, 4, 4), "O: g/4 c s w g f:v", EXACT},
        {GROUPS("f32", 8, 4, 4), "O: w s c g f:v", EXACT},
        {GROUPS("f32", 12, 4, 4), "O: w s c g f:v", EXACT},
        {GROUPS("f32", 7, 4, 4), "O: s w c g f:v", EXACT},
        {GROUPS("f32", 7, 4, 4), "O: g/4 s w c g f:v", EXACT},
        {GROUPS("f32", 16, 2, 2), "O: g/8 c s w g f:v", EXACT},
        {GROUPS("f32", 6, 8, 8), "O: g/2 w c s g f:v", EXACT},
        {GROUPS("f32", 8, 3, 4), "O: g/4 w c s g f:v", EXACT},
        {GROUPS("f32", 8, 6, 4), "O: g/4 c s w g f:v", EXACT},
        {GROUPS("f32", 8, 40, 4), "O: g/4 w s c g f:v", EXACT},
        {GROUPS("f32", 8, 40, 8), "O: g/2 w s c g f:v", EXACT},
        {GROUPS("f64", 6, 4, 4), "O: g/2 c s w g f:v", EXACT},
        {GROUPS("f64", 12, 2, 2), "O: g/4 c s w g f:v", EXACT},
        {GROUPS("f64", 5, 3, 2), "O: w c s g f:v", EXACT},
        {GROUPS("i32", 8, 4, 4), "O: g/4 c s w g f:v", ALL_BITS},
        {GROUPS("i64", 6, 4, 4), "O: w c s g f:v", ALL_BITS},
        {GROUPS("i8", 8, 4, 4), "O: g/4 c s w g f:v", ALL_BITS},
        {GROUPS("f16", 8, 4, 4), "O: w c s g f:v", EXACT},
        {GROUPS("bf16", 8, 8, 8), "O: w c s g f:v", EXACT},
        {PADDED("f32", 8, 4, 4), "O: g/4 c s w g f:v", EXACT},
        {PADDED("f32", 8, 4, 4), "O: g/4 w/3 s c w g f:v", EXACT},
        {PADDED("f32", 7, 3, 4), "O: w s c g f:v", EXACT},
        {PADDED("f64", 6, 4, 4), "O: g/2 w c s g f:v", EXACT},
        {PADDED("i16", 8, 5, 4), "O: g/4 w s c g f:v", ALL_BITS},
        {SCALED("f32", 9, 4), "O: i j:v", ROUGH},
        {SCALED("f64", 100, 2), "O: i j:v", ROUGH},
        {SCALED("i16", 33, 8), "O: i j:v", ALL_BITS},
        {SCALED("f32", 64, 8), "O: i/8 i j:v", ROUGH},
        {"program r { input A: f32[9] input X: f32[9, 4] output O: f32[9, 4]\n"
         "O: for i in 0:9, j in 0:4  O[i, j] = A[8 - i]*X[i, j] }",
         "O: i j:v", ROUGH},
        {"program u { input A: f32[9, 4] inout X: f32[9, 4]\n"
         "X: for i in 0:9, j in 0:4  X[i, j] += A[i, 2]*X[i, j] }",
         "X: i j:v", ROUGH},
    };
    RUN(cases);
}

// --- Types ---------------------------------------------------------------------------------------

// Narrow values must be wrapped before they are widened; bool is 0 or 1 after any reduction.
TEST(narrow_values_are_wrapped) {
#define WRAP(FROM, BY)                                                                             \
    "program w { input A: " FROM "[37] output O: i64[37]\n"                                        \
    "O: for i in 0:37  O[i] = i64(" BY "(A[i]))*i64(3) + i64(" BY "(A[i]) / " BY "(3)) }"
#define BOOLS                                                                                      \
    "program b { input A: bool[6, 37] output L: bool[6] output G: bool[6] output O: bool[37]\n"    \
    "L: for r in 0:6, i in 0:37  L[r] min=! A[r, i]\n"                                             \
    "G: for r in 0:6, i in 0:37  G[r] *=! A[0, i] || A[r, i]\n"                                    \
    "O: for i in 0:37, r in 0:0  O[i] min=! A[r, i] }"
    static const Case cases[] = {
        {WRAP("i32", "i8"), "O: i:v", ALL_BITS},      {WRAP("i32", "u8"), "O: i:v", ALL_BITS},
        {WRAP("i64", "i16"), "O: i:v", ALL_BITS},     {WRAP("i64", "u32"), "O: i:v", ALL_BITS},
        {WRAP("i16", "i8"), "O: i:v", ALL_BITS},      {WRAP("u16", "i8"), "O: i:v", ALL_BITS},
        {BOOLS, "L: r i:v\nG: r i:v\nO: i:v", EXACT}, {BOOLS, "L: i r:v\nG: i r:v\nO: i", EXACT},
        {BOOLS, "L: r i\nG: r i\nO: i:v", EXACT},
    };
    RUN(cases);
}

// --- Statements ----------------------------------------------------------------------------------

// Statements under Schedules whose effect random ones rarely reveal.
TEST(statements_find_what_they_need) {
#define POST /* doubling twice would show */                                                       \
    "program p { input A: i32[6, 20] output C: i32[6]\n"                                           \
    "C: for m in 0:6, k in 0:20  C[m] +=! A[m, k]\n"                                               \
    "C.1: for m in 0:6 post  C[m] = C[m]*2 + 1 }"
#define WINDOWS /* U and O need different parts of T in one loop */                                \
    "program w { input A: i32[44] temp T: i32[44] temp U: i32[40] output O: i32[40]\n"             \
    "T: for x in 0:44  T[x] = A[x]*3\n"                                                            \
    "U: for x in 0:40  U[x] = T[x] - T[x + 3]\n"                                                   \
    "O: for y in 0:40  O[y] = T[y + 1] + T[y + 3]*U[y] }"
#define INLINE                                                                                     \
    "program i { input A: i32[40] temp T: i32[42] output O: i32[38]\n"                             \
    "T: for i in 0:40  T[i + 2] = A[i]*3\n"                                                        \
    "O: for j in 0:38  O[j] = T[j + 2] - T[j + 4]*A[j] }"
    static const Case cases[] = {
        {POST, "C: k/4 m k\nC.1: m\n    after C", EXACT},
        {POST, "C: m k\nC.1: m\n    after C", EXACT},
        {POST, "C: k m:v\nC.1: m:v\n    after C", EXACT},
        {WINDOWS, "T: x\n    at y/8\nU: x\n    at y/8\nO: y/8 y", EXACT},
        {WINDOWS, "T: x\n    at y\nU: x\n    at y\nO: y", EXACT},
        {WINDOWS, "T: x:v\n    at y/16\nU: x:v\n    at y/16\nO: y/16 y:v", EXACT},
        {INLINE, "T: i\n    inline\nO: j:v", EXACT},
        {INLINE, "T: i\n    inline\nO: j", EXACT},
    };
    RUN(cases);
}

// An element that is always initialised and conditionally updated is always stored.
TEST(tiles_store_what_is_initialised) {
    static const Case cases[] = {
        {"program w { input I: f32[6, 3] output O: f32[6]\n"
         "O: for w in 0:6, s in 0:3, c in 0:3 if w + s - 1 >= 0, 6 - w - s >= 0\n"
         "    O[w] +=! I[w + s - 1, c] }",
         "O:\n    privatise s\nO.part: w/5\n", EXACT},
        {"program w { input I: f32[60, 9] output O: f32[60]\n"
         "O: for w in 0:60, s in 0:5, c in 0:9 if w + s - 2 >= 0, 61 - w - s >= 0\n"
         "    O[w] +=! I[w + s - 2, c] }",
         "O:\n    privatise s\nO.part: w/7\n", EXACT},
    };
    RUN(cases);
}

// An element outside of the domain keeps its bytes, of any type.
TEST(tiles_leave_other_elements_alone) {
    static const Case cases[] = {
        {"program b { input A: bool[9, 4] output O: bool[3, 2]\n"
         "O: for i in 0:5, k in 0:4  O[i/2, i%2] min=! A[i, k] }",
         "O: i/2\n", EXACT},
        {"program h { input A: bf16[9, 4] output O: bf16[8]\n"
         "O: for i in 0:5, k in 0:4  O[i] max=! A[i, k] }",
         "O: i/2\n", EXACT},
        {"program t { input A: bool[40, 40] output O: bool[40]\n"
         "O: for i in 0:40, k in 0:40 if i - k >= 0  O[i] max= A[i, k] }",
         "O: i/4 k i\n", EXACT},
        {"program s { input A: bool[5] input B: f32[] output O: bool[2, 4, 11]\n"
         "O: for i in 0:2, j in 0:1 if i + j - 1 >= 0\n"
         "    O[i, j, 0] = f32(A[j + 1])*f32(A[i + j - 1]) < B[] }",
         "O: i:v\n", EXACT},
    };
    RUN(cases);
}

// A read of an element of the tile under another condition than the one it is loaded under: in the
// last iteration, H[t, 0] lies where H[t + 1, -2] would.
TEST(tiles_are_read_where_they_exist) {
    static const Case cases[] = {
        {"program k { input X: f32[5, 2] input A: f32[3, 2] output B: f32[2] output H: f32[4, 2]\n"
         "temp G: f32[4, 2]\n"
         "G: for i in 0:1  G[0, i] = X[0, i]\n"
         "H: for i in 0:1  H[0, i] = X[0, i]\n"
         "for t in 0:3 {\n"
         "H.1: for i in 0:1, k in 0:2  H[t + 1, i] max=! A[t, k]\n"
         "G.1: for i in 0:1  G[t + 1, i] = H[t, i] }\n"
         "B: for i in 0:1  B[i] = G[3, i] }",
         "H.1: t/4 t k\n    skew i by t\nG.1: t/4\n    skew i by t\n", ROUGH},
    };
    RUN(cases);
}

// The product with the previous H is dead, and not the first use of that load.
TEST(dead_operations_use_nothing) {
    static const Case cases[] = {
        {"program k { input X: i32[6, 1] output B: i32[1]\n"
         "temp G: i32[5, 1] temp H: i32[5, 1] temp L: i32[1]\n"
         "G: for i in 0:1  G[0, i] = X[5, i]\n"
         "H: for i in 0:1  H[0, i] = X[5, i]\n"
         "for t in 0:4 {\n"
         "L.1: for i in 0:1  L[i] = H[t, i]*G[t, i]\n"
         "L.2: for i in 0:1  L[i] = G[t, max(0, i - 1)]*X[t + 1, i]\n"
         "G.1: for i in 0:1\n"
         "    G[t + 1, i] = select(index(t) > i64(3), G[t, max(0, i - 1)], H[t, i])\n"
         "H.1: for i in 0:1  H[t + 1, i] = select(index(t) > i64(1), G[t, i], L[i]) }\n"
         "B: for i in 0:1  B[i] = G[4, i] }",
         "", ALL_BITS},
    };
    RUN(cases);
}
