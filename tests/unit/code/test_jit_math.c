// The functions that compiled code computes itself, against the C library in a wider type: every
// stride-th f32 and random f64, on every ISA level, in every lane. LW_MATH_STRIDE=1 tries all 2^32
// arguments (make fuzz-long). Errors are in units in the last place of the exact value.
#include "unit/check.h"

#include <math.h>
#include <string.h>

#include "base/kernel_abi.h"
#include "code/code.h"
#include "run/exec.h"
#include "choose/choose.h"
#include "support/jitlab.h"
#include "support/proglab.h"
#include "sched/schedule.h"
#include "target/target.h"

enum { CHUNK = 4099 }; // whole vectors and a tail

typedef double Fn(double);
typedef long double Fnl(long double);

static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static long double sigmoidl(long double x) {
    long double e = expl(-fabsl(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double rsqrt(double x) { return 1 / sqrt(x); }
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }
static double reciprocal(double x) { return 1 / x; }
static long double reciprocall(long double x) { return 1 / x; }
static double exp10d(double x) { return pow(10, x); }
static long double exp10ld(long double x) { return powl(10, x); }

typedef struct Function {
    const char *name;
    Fn *f;
    Fnl *l;
} Function;

static const Function functions[] = {
    {"exp", exp, expl},       {"exp2", exp2, exp2l},
    {"expm1", expm1, expm1l}, {"exp10", exp10d, exp10ld},
    {"log", log, logl},       {"log2", log2, log2l},
    {"log10", log10, log10l}, {"log1p", log1p, log1pl},
    {"tanh", tanh, tanhl},    {"sigmoid", sigmoid, sigmoidl},
    {"erf", erf, erfl},       {"sin", sin, sinl},
    {"cos", cos, cosl},       {"sqrt", sqrt, sqrtl},
    {"rsqrt", rsqrt, rsqrtl}, {"reciprocal", reciprocal, reciprocall},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

// ---- Kernels

typedef struct Jit {
    Lab lab;
    ExecArena *arena;
    ExecBlock *block[ISA_COUNT];
    Kernel *at[ISA_COUNT]; // NULL: not this machine's
} Jit;

static void jit_begin(Jit *j, const char *text) {
    *j = (Jit){.arena = exec_arena_new()};
    lab_begin(&j->lab);
    const Program *p = lab_program(&j->lab, text, NULL);
    Source source = {"schedule", "C: i:v\n", 7};
    Schedule *s = schedule_parse(&j->lab.arena, &j->lab.names, &source, &j->lab.diags);
    Tree *t = p && s ? tree_lower(&j->lab.arena, p, s, &j->lab.diags) : NULL;
    if (!CHECK(t)) printf("%s\n", lab_errors(&j->lab));
    for (Isa isa = 0; t && isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        Code code;
        if (m.isa != isa ||
            !CHECK(target_compile(&target_x86, &j->lab.arena, t, &m, &code, NULL, &j->lab.diags)))
            continue;
        CHECK_INT_EQ(code.scratch, 0);
        j->block[isa] = exec_add(j->arena, code.bytes, code.size);
        j->at[isa] = (Kernel *)exec_entry(j->block[isa]);
    }
}

static void jit_end(Jit *j) {
    for (Isa isa = 0; isa < ISA_COUNT; isa++)
        if (j->block[isa]) exec_release(j->block[isa]);
    exec_arena_free(j->arena);
    lab_end(&j->lab);
}

static void jit_call(Kernel *k, const void *a, const void *b, void *c) {
    KernelEnv env = {.threads = 1, .apply = code_apply};
    CHECK_INT_EQ(k(b ? (void *[]){(void *)a, (void *)b, c} : (void *[]){(void *)a, c}, NULL, &env),
                 0);
}

static const char *unary_text(Lab *lab, const char *name, const char *type) {
    return arena_printf(&lab->arena,
                        "program f { input A: %s[%d] output C: %s[%d]\n"
                        "C: for i in 0:%d  C[i] = %s(A[i]) }",
                        type, CHUNK, type, CHUNK, CHUNK, name);
}

// ---- Errors

typedef struct Worst {
    double ulp, x, got, want;
} Worst;

// |got - want| in units in the last place of f32. Signs count, also of zeros; NaN meets NaN.
static double error_f32(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got) || !signbit(got) != !signbit(want)) return INFINITY;
    if (isinf(want)) return isinf(got) ? 0 : INFINITY;
    int e;
    frexp(want, &e);
    if (want == 0 || e < -125) e = -125;
    if (e > 128) return isinf(got) ? 0 : INFINITY;
    double g = isinf(got) ? copysign(0x1p128, got) : got;
    return fabs(g - want) * ldexp(1, 24 - e);
}

static double error_f64(double got, long double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got) || !signbit(got) != !signbit(want)) return INFINITY;
    if (isinf(want)) return isinf(got) ? 0 : INFINITY;
    int e;
    frexpl(want, &e);
    if (want == 0 || e < -1021) e = -1021;
    if (e > 1024) return isinf(got) ? 0 : INFINITY;
    long double g = isinf(got) ? copysignl(0x1p1024L, got) : got;
    return (double)(fabsl(g - want) * ldexpl(1, 53 - e));
}

static void note(Worst *w, double ulp, double x, double got, double want) {
    if (ulp > w->ulp) *w = (Worst){ulp, x, got, want};
}

static void report(const char *name, const char *type, Isa isa, const Worst *w, double limit) {
    if (!CHECK(w->ulp <= limit) || getenv("LW_MATH_REPORT"))
        printf("%-10s %s %-6s  %.3f ULP at %a: %a, want %a\n", name, type, isa_name[isa], w->ulp,
               w->x, w->got, w->want);
    fflush(stdout);
}

// ---- f32

static float from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static uint32_t stride(void) {
    const char *text = getenv("LW_MATH_STRIDE");
    uint32_t by = text ? (uint32_t)strtoul(text, NULL, 10) : 4093;
    return by ? by : 1;
}

static bool selected(const char *name) {
    const char *only = getenv("LW_MATH_ONLY");
    return !only || !strcmp(only, name);
}

// Where a result is the rounded exact value, its error needs no measuring.
static void check_f32(const Function *f, const float *in, const float *out, Worst *worst) {
    for (int i = 0; i < CHUNK; i++) {
        double want = f->f(in[i]);
        float nearest = (float)want;
        if (memcmp(&nearest, &out[i], 4)) note(worst, error_f32(out[i], want), in[i], out[i], want);
    }
}

// Levels mostly agree in every bit; the reference is what takes time.
static void chunk_f32(const Function *f, const Jit *j, const float *in, Worst *worst) {
    static float out[ISA_COUNT][CHUNK];
    int first = -1;
    for (Isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!j->at[isa] || (isa == ISA_SCALAR && stride() == 1)) continue;
        jit_call(j->at[isa], in, NULL, out[isa]);
        if (first >= 0 && !memcmp(out[isa], out[first], sizeof out[isa])) {
            if (worst[first].ulp > worst[isa].ulp) worst[isa] = worst[first];
        } else {
            check_f32(f, in, out[isa], &worst[isa]);
            if (first < 0) first = (int)isa;
        }
    }
}

static const float specials[] = {0,
                                 -0.0f,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1,
                                 -1,
                                 0x1p-149f,
                                 -0x1p-149f,
                                 0x1p-126f,
                                 -0x1p-126f,
                                 0x1.fffffep127f,
                                 -0x1.fffffep127f,
                                 0x1.fffffcp-127f,
                                 88.7228f,
                                 88.7229f,
                                 -87.3366f,
                                 -103.97f,
                                 -104,
                                 128,
                                 127.99999f,
                                 -126,
                                 -149,
                                 -150,
                                 0.5f,
                                 2,
                                 0x1p23f,
                                 0x1p24f,
                                 0x1.fffffep-1f,
                                 0x1.000002p0f,
                                 0x1p100f,
                                 3.14159274f};
enum { SPECIALS = sizeof specials / sizeof *specials };

static void try_f32(const Function *f) {
    Jit j;
    Worst worst[ISA_COUNT] = {0};
    static float in[CHUNK];
    Lab text;
    lab_begin(&text);
    jit_begin(&j, unary_text(&text, f->name, "f32"));
    for (int turn = 0; turn < 17; turn++) { // each in every lane
        for (int i = 0; i < CHUNK; i++) in[i] = i % 3 ? specials[(i + turn) % SPECIALS] : 0.75f;
        chunk_f32(f, &j, in, worst);
    }
    uint64_t by = stride();
    for (uint64_t at = 0; at < (uint64_t)1 << 32;) {
        for (int i = 0; i < CHUNK; i++, at += by) in[i] = from_bits((uint32_t)at);
        chunk_f32(f, &j, in, worst);
    }
    for (Isa isa = 0; isa < ISA_COUNT; isa++)
        if (j.at[isa]) report(f->name, "f32", isa, &worst[isa], 2);
    jit_end(&j);
    lab_end(&text);
}

TEST(functions_of_f32_are_right_to_2_units) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (selected(functions[i].name)) try_f32(&functions[i]);
}

// pow: specials against specials, then random pairs of every kind.
static float random_f32(uint64_t *state) {
    uint64_t u = check_random(state);
    switch (u & 3) {
    case 0: return from_bits((uint32_t)(u >> 32));
    case 1: return (float)((int64_t)(u >> 32) % 20 - 10); // whole numbers
    case 2: return 1 + (float)((double)(int32_t)(u >> 32) * 0x1p-40);
    default: return (float)ldexp((double)(int32_t)(u >> 32), (int)(u >> 2) % 64 - 60);
    }
}

TEST(pow_of_f32_is_right_to_4_units) {
    Jit j;
    Worst worst[ISA_COUNT] = {0};
    static float x[CHUNK], y[CHUNK], out[ISA_COUNT][CHUNK];
    jit_begin(&j, "program f { input A: f32[4099] input B: f32[4099] output C: f32[4099]\n"
                  "C: for i in 0:4099  C[i] = pow(A[i], B[i]) }");
    uint64_t state = 3;
    for (int64_t turn = 0; selected("pow") && turn < check_rounds(stride() == 1 ? 100000 : 260);
         turn++) {
        for (int i = 0; i < CHUNK; i++) {
            bool special = turn == 0 && i < SPECIALS * SPECIALS;
            x[i] = special ? specials[i / SPECIALS] : random_f32(&state);
            y[i] = special ? specials[i % SPECIALS] : random_f32(&state);
        }
        for (Isa isa = 0; isa < ISA_COUNT; isa++)
            if (j.at[isa]) jit_call(j.at[isa], x, y, out[isa]);
        for (int i = 0; i < CHUNK; i++) {
            double want = pow(x[i], y[i]);
            for (Isa isa = 0; isa < ISA_COUNT; isa++)
                if (j.at[isa])
                    note(&worst[isa], error_f32(out[isa][i], want), x[i], out[isa][i], want);
        }
    }
    for (Isa isa = 0; isa < ISA_COUNT; isa++)
        if (j.at[isa]) report("pow", "f32", isa, &worst[isa], 4);
    jit_end(&j);
}

// ---- f64

// Half of all bit patterns, half of moderate size.
static double random_f64(uint64_t *state) {
    uint64_t u = check_random(state);
    double d;
    memcpy(&d, &u, 8);
    if (u & 1) return d;
    return ldexp((double)(int64_t)check_random(state), (int)(u >> 1) % 20 - 70);
}

static void try_f64(const Function *f) {
    Jit j;
    Worst worst[ISA_COUNT] = {0};
    static double in[CHUNK], out[ISA_COUNT][CHUNK];
    static const double more[] = {709.78, 709.79, -745.13, -745.14, -708.4,
                                  1024,   -1074,  -1075,   5e-324,  0x1p-1022};
    Lab text;
    lab_begin(&text);
    jit_begin(&j, unary_text(&text, f->name, "f64"));
    uint64_t state = 7;
    for (int64_t turn = 0; turn < check_rounds(60); turn++) {
        for (int i = 0; i < CHUNK; i++) in[i] = random_f64(&state);
        for (int i = 0; i < SPECIALS; i++) in[i + turn] = specials[i];
        for (int i = 0; i < 10; i++) in[i + SPECIALS + turn] = more[i];
        for (Isa isa = 0; isa < ISA_COUNT; isa++)
            if (j.at[isa]) jit_call(j.at[isa], in, NULL, out[isa]);
        for (int i = 0; i < CHUNK; i++) {
            long double want = f->l(in[i]);
            for (Isa isa = 0; isa < ISA_COUNT; isa++)
                if (j.at[isa])
                    note(&worst[isa], error_f64(out[isa][i], want), in[i], out[isa][i],
                         (double)want);
        }
    }
    for (Isa isa = 0; isa < ISA_COUNT; isa++)
        if (j.at[isa]) report(f->name, "f64", isa, &worst[isa], 4);
    jit_end(&j);
    lab_end(&text);
}

TEST(functions_of_f64_are_right_to_4_units) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (selected(functions[i].name)) try_f64(&functions[i]);
}

// Remainders of what lies next to a multiple, of quotients that round up to a whole number, and of
// any bits at all: the same as the interpreter's.
static double near_multiple(uint64_t *state, double b, bool is_f64) {
    double k = (double)(check_random(state) % (check_random(state) % 4 ? 100 : 1 << 24));
    double to = check_random(state) & 1 ? (double)INFINITY : -(double)INFINITY, a = k * b;
    for (uint64_t steps = check_random(state) % 3; steps; steps--)
        a = is_f64 ? nextafter(a, to) : (double)nextafterf((float)a, (float)to);
    return check_random(state) & 1 ? a : -a;
}

static double any_bits(uint64_t *state, bool is_f64) {
    uint64_t bits = check_random(state);
    double d;
    float f;
    uint32_t half = (uint32_t)bits;
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &half, sizeof f);
    return is_f64 ? d : (double)f;
}

static void remainders(const char *type, uint64_t seed) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(
        &lab,
        arena_printf(&lab.arena,
                     "program p { input A: %s[999] input B: %s[999] output O: %s[999] output P: "
                     "%s[999]\n O: for i in 0:999  O[i] = A[i] %% B[i]\n"
                     " P: for i in 0:999  P[i] = fmod(A[i], B[i]) }",
                     type, type, type, type),
        NULL);
    bool is_f64 = !strcmp(type, "f64");
    LabData start = lab_data(&lab, p, seed);
    for (int64_t e = 0; e < 999; e++) {
        bool any = e % 3 == 0;
        double b = any ? any_bits(&seed, is_f64) : 0x1p-20 * (double)(check_random(&seed) >> 40);
        lab_set(&start, 1, e, e % 7 == 0 ? -b : b);
        b = lab_value(&start, 1, e);
        lab_set(&start, 0, e, any ? any_bits(&seed, is_f64) : near_multiple(&seed, b, is_f64));
    }
    LabData want = lab_copy(&lab, p, &start);
    CHECK(lab_run(&lab, p, &want));
    for (int isa = 0; isa < (int)ISA_COUNT; isa++) {
        Machine m;
        if (!jit_machine((Isa)isa, &m)) continue;
        LabData got = lab_copy(&lab, p, &start);
        const Schedule *s = choose_schedule(&lab.arena, p, &(ChooseOptions){.machine = &m});
        Tree *t = tree_lower(&lab.arena, p, s, &lab.diags);
        CHECK(jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, isa & 1) == JIT_OK);
        const char *d = lab_difference(&lab, p, &got, &want);
        if (!CHECK(!d)) printf("%s, %s: %s\n", type, isa_name[isa], d);
    }
    lab_end(&lab);
}

TEST(remainders_are_exact) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        remainders("f32", seed);
        remainders("f64", seed);
    }
}
