// Machines other than this one: families are told by what CPUID says, the row for unknown ones is
// the best of all, and on each described machine what is chosen and what the space holds is
// compiled, run where the instructions are there, right, and never faster than its bound.
#include "unit/check.h"

#include "sched/schedule.h"
#include "support/boundlab.h"
#include "support/genprog.h"
#include "support/gensteps.h"

#include <math.h>
#include <string.h>

TEST(families_are_told_by_cpuid) {
    static const struct {
        const char *vendor;
        unsigned signature;
        const char *name;
    } known[] = {
        {"AuthenticAMD", 0x00a60f12, "zen4"},    // Ryzen 7000
        {"AuthenticAMD", 0x00a10f11, "zen4"},    // EPYC 9004
        {"AuthenticAMD", 0x00a20f10, "zen3"},    // Ryzen 5000
        {"AuthenticAMD", 0x00a00f11, "zen3"},    // EPYC 7003
        {"AuthenticAMD", 0x00870f10, "zen2"},    // Ryzen 3000
        {"AuthenticAMD", 0x00b40f40, "zen5"},    // Ryzen 9000
        {"AuthenticAMD", 0x00800f11, "unknown"}, // Zen 1
        {"GenuineIntel", 0x000306c3, "haswell"}, // Core 4000
        {"GenuineIntel", 0x000506e3, "skylake"}, // Core 6000
        {"GenuineIntel", 0x00050654, "skylake-server"},
        {"GenuineIntel", 0x000606a6, "icelake"},   // Xeon 8300
        {"GenuineIntel", 0x00090672, "alderlake"}, // Core 12000
        {"GenuineIntel", 0x000806f8, "sapphirerapids"},
        {"GenuineIntel", 0x000c06f2, "sapphirerapids"}, // Emerald Rapids
        {"GenuineIntel", 0x00000f43, "unknown"},        // Pentium 4
        {"CentaurHauls", 0x000006f2, "unknown"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_STR_EQ(family_of(known[i].vendor, known[i].signature)->name, known[i].name);
}

TEST(the_unknown_family_is_the_best_of_all) {
    const Family *u = family_by_name("unknown");
    for (int i = 0; i < family_count(); i++) {
        const Family *f = family_at(i);
        for (int w = 0; w < 2; w++)
            for (int k = 0; k < WORK_COUNT; k++) CHECK(u->work[w][k] >= f->work[w][k]);
        for (int wide = 0; wide < 2; wide++)
            for (int w = 0; w < 3; w++) CHECK(u->divide[wide][w] <= f->divide[wide][w]);
        for (int k = 0; k < LATENCY_COUNT; k++) CHECK(u->latency[k] <= f->latency[k]);
        CHECK(u->scalar >= f->scalar && u->issue >= f->issue);
        CHECK(u->loads >= f->loads && u->stores >= f->stores);
        CHECK(u->load_bytes >= f->load_bytes && u->store_bytes >= f->store_bytes);
        // Pipes that take several kinds of work are no fewer than those of one kind.
        for (int w = 0; w < (f->isa == ISA_AVX512 ? 2 : 1); w++) {
            CHECK(f->work[w][WORK_FLOAT] >= f->work[w][WORK_MUL]);
            CHECK(f->work[w][WORK_FLOAT] >= f->work[w][WORK_ADD]);
            for (int k = 0; k < WORK_COUNT; k++) CHECK(f->work[w][WORK_ANY] >= f->work[w][k]);
        }
    }
}

TEST(a_pretended_machine_is_its_family) {
    Machine m, host;
    machine_pretend(&m, family_by_name("zen4"), ISA_COUNT);
    CHECK(m.isa == ISA_AVX512 && m.fma_ports == 1 && m.cache[2] == 1 << 20);
    CHECK_STR_EQ(m.cpu, "described zen4");
    machine_describe(&host, ISA_AVX2);
    machine_fit(&m, &host);
    CHECK(m.isa == ISA_AVX2 && m.fma_ports == 2 && !m.has_vnni);
    machine_pretend(&m, family_by_name("haswell"), ISA_COUNT);
    CHECK(m.isa == ISA_AVX2 && m.fma_latency == 5);
}

static const struct {
    const char *name, *text;
    int64_t sizes[3];
} programs[] = {
    {"product",
     "program f(M, N, K) {\n input A: f32[M, K]\n input B: f32[K, N]\n output C: f32[M, N]\n"
     " C: for m in 0:M, n in 0:N, k in 0:K\n C[m, n] +=! A[m, k]*B[k, n]\n}\n",
     {9, 32, 10}},
    {"product of integers",
     "program f(M, N, K) {\n input A: i32[M, K]\n input B: i32[K, N]\n output C: i32[M, N]\n"
     " C: for m in 0:M, n in 0:N, k in 0:K\n C[m, n] +=! A[m, k]*B[k, n]\n}\n",
     {7, 32, 9}},
    {"product of f64",
     "program f(M, N, K) {\n input A: f64[M, K]\n input B: f64[K, N]\n output C: f64[M, N]\n"
     " C: for m in 0:M, n in 0:N, k in 0:K\n C[m, n] +=! A[m, k]*B[k, n]\n}\n",
     {7, 16, 9}},
    {"product of bytes",
     "program f(M, N, K) {\n input A: u8[M, K]\n input B: i8[K, N]\n output C: i32[M, N]\n"
     " C: for m in 0:M, n in 0:N, k in 0:K\n C[m, n] +=! i32(A[m, k])*i32(B[k, n])\n}\n",
     {6, 32, 8}},
    {"distances",
     "program f(M, N, K) {\n input A: f32[M, K]\n input B: f32[N, K]\n output C: f32[M, N]\n"
     " C: for m in 0:M, n in 0:N, k in 0:K\n C[m, n] +=! (A[m, k] - B[n, k])*(A[m, k] - B[n, "
     "k])\n}\n",
     {8, 16, 8}},
    {"polynomial",
     "program f(N) {\n input A: f32[N]\n output C: f32[N]\n C: for i in 0:N\n"
     " C[i] = (((A[i]*2.0 + 1.0)*A[i] + 3.0)*A[i] + 1.0)*A[i] + 2.0\n}\n",
     {500}},
    {"adds",
     "program f(N) {\n input A: f32[N]\n input B: f32[N]\n output C: f32[N]\n C: for i in 0:N\n"
     " C[i] = (A[i] + B[i]) + (A[i] - B[i]) + (B[i] + 1.0)\n}\n",
     {500}},
    {"sum",
     "program f(N) {\n input A: f32[N]\n output S: f32[]\n S: for i in 0:N\n S[] +=! A[i]\n}\n",
     {700}},
    {"sums of rows",
     "program f(M, N) {\n input A: f32[M, N]\n output S: f32[M]\n"
     " S: for i in 0:M, j in 0:N\n S[i] +=! A[i, j]\n}\n",
     {13, 40}},
    {"products of columns",
     "program f(M, N) {\n input A: f64[M, N]\n output S: f64[N]\n"
     " S: for i in 0:M, j in 0:N\n S[j] *=! A[i, j]\n}\n",
     {13, 40}},
    {"largest",
     "program f(M, N) {\n input A: f32[M, N]\n output S: f32[M]\n"
     " S: for i in 0:M, j in 0:N\n S[i] max=! A[i, j]\n}\n",
     {13, 40}},
    {"read twice",
     "program f(N) {\n input A: f32[N]\n output C: f32[N]\n output D: f32[N]\n temp T: f32[N]\n"
     " T: for i in 0:N\n T[i] = (A[i]*2.0 + 1.0)*A[i]\n C: for i in 0:N\n C[i] = T[i]*T[i]\n"
     " D: for i in 0:N\n D[i] = T[i] + 3.0\n}\n",
     {300}},
    {"computed twice",
     "program f(N) {\n input A: f32[N]\n output C: f32[N]\n output D: f32[N]\n"
     " C: for i in 0:N\n C[i] = (A[i]*2.0 + 1.0)*A[i]\n D: for i in 0:N\n D[i] = (A[i]*2.0 + "
     "1.0)*A[i] + 3.0\n}\n",
     {300}},
    {"neighbours",
     "program f(M, N) {\n input A: f32[M, N]\n output C: f32[M - 1, N]\n"
     " C: for i in 0:M - 1, j in 0:N\n C[i, j] = A[i, j]*A[i, j]*A[i, j] + A[i + 1, j]*A[i + 1, "
     "j]*A[i + 1, j]\n}\n",
     {12, 32}},
    {"window",
     "program f(N, K) {\n input A: i32[N + K]\n output C: i32[N]\n"
     " C: for i in 0:N, k in 0:K\n C[i] +=! A[i + k]*A[i + k]\n}\n",
     {90, 5}},
    {"window of sums",
     "program f(N, K) {\n input A: f32[N + K]\n output C: f32[N]\n"
     " C: for i in 0:N, k in 0:K\n C[i] +=! A[i + k]\n}\n",
     {40, 8}},
    {"division",
     "program f(N) {\n input A: f32[N]\n output C: f32[N]\n C: for i in 0:N\n"
     " C[i] = 4.0/(A[i]*A[i] + 1.0) + A[i]/2.0\n}\n",
     {200}},
    {"long integers",
     "program f(N) {\n input A: i64[N]\n input B: i64[N]\n output C: i64[N]\n C: for i in 0:N\n"
     " C[i] = A[i]*B[i]*i64(3) + A[i]*i64(4)\n}\n",
     {120}},
    {"halves",
     "program f(N) {\n input A: f16[N]\n input B: bf16[N]\n output C: f16[N]\n C: for i in 0:N\n"
     " C[i] = f16(f32(A[i])*2.0 + f32(B[i]))\n}\n",
     {200}},
    {"layers",
     "program f(B, H) {\n input X: f32[B, H]\n input V: f32[H, H]\n output Z: f32[B, H]\n temp Y: "
     "f32[B, H]\n"
     " Y: for b in 0:B, h in 0:H, i in 0:H\n Y[b, h] +=! X[b, i]*V[i, h]\n"
     " Z: for b in 0:B, h in 0:H\n Z[b, h] = max(Y[b, h] + 1.0, 0.0)\n}\n",
     {4, 16}},
};

typedef struct Tally {
    int64_t held, declined, wrong, above;
    double closest;
} Tally;

static bool count(Tally *t, BoundVerdict v, double gap) {
    t->held += v == BOUND_HELD;
    t->declined += v == BOUND_DECLINED;
    t->wrong += v == BOUND_WRONG;
    t->above += v == BOUND_ABOVE;
    if (v == BOUND_HELD) t->closest = fmin(t->closest, gap);
    return v <= BOUND_DECLINED;
}

// What is chosen, and some of the space.
static void try_program(const Family *f, Lab *lab, const Program *p, int samples, uint64_t seed,
                        Tally *t) {
    BoundLab x;
    double gap = INFINITY;
    if (!boundlab_open(&x, lab, p, f)) return;
    for (int i = 0; i <= samples; i++) {
        if (i && !boundlab_sample(&x, &seed)) continue;
        BoundVerdict v = boundlab_try(&x, i ? NULL : x.chosen, &gap);
        CHECK(count(t, v, gap));
    }
}

TEST(described_machines_are_right_and_never_below_their_bounds) {
    int samples = (int)check_long_rounds(4);
    for (int i = 0; i < family_count(); i++) {
        Tally t = {.closest = INFINITY};
        for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
            Lab lab;
            lab_begin(&lab);
            const Program *p = lab_program(&lab, programs[k].text, programs[k].sizes);
            if (CHECK(p))
                try_program(family_at(i), &lab, p, samples, (uint64_t)(i * 100 + (int)k), &t);
            else
                printf("%s: %s\n", programs[k].name, lab_errors(&lab));
            lab_end(&lab);
        }
        printf("  %-16s %lld held, %lld declined, closest %.3f\n", family_at(i)->name,
               (long long)t.held, (long long)t.declined, t.closest);
        CHECK_INT_EQ(t.wrong + t.above, 0);
    }
}

TEST(random_programs_are_never_below_their_bounds) {
    Tally t = {.closest = INFINITY};
    for (int64_t i = 0; i < check_long_rounds(40); i++) {
        Lab lab;
        lab_begin(&lab);
        uint64_t seed = (uint64_t)i + 1;
        const Program *p =
            i % 3 ? genprog(&lab, seed) : lab_program(&lab, gensteps_text(&lab.arena, seed), NULL);
        const Family *f = family_at((int)(i % family_count()));
        if (CHECK(p)) try_program(f, &lab, p, 2, (uint64_t)i, &t);
        lab_end(&lab);
    }
    printf("  %lld held, %lld declined, closest %.3f\n", (long long)t.held, (long long)t.declined,
           t.closest);
    CHECK_INT_EQ(t.wrong + t.above, 0);
}

// Implementations that were below their bounds: straight-line code shares what loops would repeat.
static const struct {
    const char *family, *text, *schedule;
} shared[] = {
    // The conversions of strided lanes are spilled, and both iterations of i3 reload them.
    {"haswell",
     "program f {\n input A: f32[8, 35, 5]\n inout T: i32[2, 8]\n"
     " T: for i0 in 0:8, i1 in 0:31, i2 in 2:5, i3 in 0:2\n"
     " T[i3, i0] *= max(i32(A[i0, i1 + i2, i2]), i32(A[7 - i0, i3 + 33, i3 + 3]))\n}\n",
     "T: i3 i1%6 i1:u i2:u i0:v\n    accumulators 1\n"},
    // T is computed in every iteration of i2, which are unrolled: once.
    {"sapphirerapids",
     "program f {\n input A: f32[9, 3]\n input B: f32[34, 37]\n output C: f32[3, 13]\n"
     " temp T: f32[3, 33]\n T: for i0 in 0:33, i1 in 0:9, i2 in 0:3\n"
     " T[i2, i0] +=! A[i1, i2] - B[i0, i0 + 2*i2]\n"
     " C: for i0 in 0:3, i1 in 0:13, i2 in 0:13\n"
     " C[i0, i1] *=! select(B[i1, i1] < T[2 - i0, i1], A[(i2 + 10)%8, i0], 1.0)\n}\n",
     "T: i1 i2 i0:v\n    at i2\n    layout (0 1)\n    place scratch\n    align 64\n"
     "    accumulators 4\nC: i0 i2 i1:v\n    accumulators 4\n"},
    // Lanes along i0 are transposed along i1: along i2, of one iteration, it is contiguous as well.
    {"sapphirerapids",
     "program f {\n input A: f64[5, 39]\n output T: f64[16, 39, 1]\n"
     " T: for i0 in 0:16, i1 in 0:39, i2 in 0:1\n T[i0, i1, i2] = A[i2, i0]*A[i2, i2 + 1]\n}\n",
     "T: i2 i1/33 i1/3:u i1:u i0:v\n"},
    // Lanes along i0 are transposed: 3*i1 + 4*i2 is contiguous where both are unrolled.
    {"zen5",
     "program f {\n input A: f32[23, 18, 3]\n output T: f32[23]\n"
     " T: for i0 in 0:23, i1 in 0:16, i2 in 0:3\n T[i0] +=! max(A[i0, i1 + i2, i2], 0.0)\n}\n",
     "T: i1 i2 i0:v\n"},
    // Sixteen horizontal reductions are stored as two vectors.
    {"skylake-server",
     "program f {\n input A: f32[]\n output T: f64[9, 1, 16]\n"
     " T: for i0 in 0:16, i1 in 0:5, i2 in 0:9, i3 in 0:1\n T[i2, i3, i0] +=! f64(A[])\n}\n",
     "T: i0/7 i2/3 i3 i2 i0:u i1:v\n"},
    // All sums are one.
    {"sapphirerapids",
     "program f {\n output T: f32[80]\n T: for i in 0:80, k in 0:31\n T[i] +=! 3.0\n}\n",
     "T: i/12 i:u k:v\n    accumulators 8\n"},
    // The sums do not depend on i1.
    {"zen2",
     "program f {\n input A: f32[32]\n input B: f32[32]\n inout T: f32[3]\n"
     " T: for i0 in 0:31, i1 in 0:3\n T[2 - i1] += A[i0]*B[i0]\n}\n",
     "T: |\n    privatise i0/6\nT.part: | i1 i0.p i0\n    accumulators 4\n"},
};

static void try_shared(int i) {
    Lab lab;
    BoundLab x;
    double gap = INFINITY;
    int n = 0;
    lab_begin(&lab);
    Source source = {"test", shared[i].schedule, (uint32_t)strlen(shared[i].schedule)};
    const Program *p = lab_program(&lab, shared[i].text, NULL);
    const Schedule *s = schedule_parse(&lab.arena, &lab.names, &source, &lab.diags);
    if (CHECK(p && s) && boundlab_open(&x, &lab, p, family_by_name(shared[i].family))) {
        Decision *d = cpu_read(&lab.arena, x.cs, s, &lab.diags, &n);
        uint64_t random = 1;
        space_copy(x.cs->space, x.c, x.cs->space->root);
        CHECK(d && space_apply(x.work, x.c, d, n) && space_complete(x.work, x.c, &random));
        CHECK(boundlab_try(&x, NULL, &gap) == BOUND_HELD);
    }
    if (lab.diags.errors) printf("%s\n", lab_errors(&lab));
    lab_end(&lab);
}

TEST(straight_line_code_shares_values) {
    for (int i = 0; i < (int)(sizeof shared / sizeof *shared); i++) try_shared(i);
}
