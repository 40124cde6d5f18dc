// Functions inside other things, under random schedules: in the epilogue of a product, whose tile
// fills the registers, between reductions, in several types at once. Arguments of functions are
// exact, so results differ from the interpreter's by the functions' last places and what is
// computed from them: each program has a bound, in units of 2^-23 of the larger of 1 and the value.
#include "unit/check.h"

#include <math.h>

#include "support/gensched.h"
#include "support/jitlab.h"

typedef struct Fused {
    const char *text;
    int nparams;
    double bound;
} Fused;

static const Fused programs[] = {
    {"program tanh_of_product(M, N, K) { input A: f32[M, K] input B: f32[K, N] output D: f32[M, "
     "N]\n"
     "temp C: f32[M, N]\n"
     "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = tanh(C[m, n]*0.125) }",
     3, 2},
    // x·(1 + erf)/2 loses what 1 + erf loses, |x| <= 4·K·0.125 of it
    {"program gelu(M, N, K) { input A: f32[M, K] input B: f32[K, N] output D: f32[M, N]\n"
     "temp C: f32[M, N]\n"
     "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = C[m, n]*0.125*(1.0 + erf(C[m, n]*0.125)) }",
     3, 64},
    // a sum of at most 40 terms, in any order
    {"program softmax(M, N) { input A: f32[M, N] output D: f32[M, N]\n"
     "temp X: f32[M] temp E: f32[M, N] temp S: f32[M]\n"
     "X: for m in 0:M, n in 0:N  X[m] max=! A[m, n]\n"
     "E: for m in 0:M, n in 0:N  E[m, n] = exp(A[m, n] - X[m])\n"
     "S: for m in 0:M, n in 0:N  S[m] +=! E[m, n]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = E[m, n]/S[m] }",
     2, 50},
    {"program mixed(M, N) { input A: f32[M, N] input B: f64[M, N] output D: f64[M, N]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = f64(sin(A[m, n])) + cos(B[m, n])*sigmoid(B[m, n]) }",
     2, 3},
    {"program powers(M, N) { input A: f32[M, N] input B: f32[M, N] output D: f32[M, N]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = pow(abs(A[m, n]) + 0.5, B[m, n]) + log1p(A[m, n]*0.25)"
     " }",
     2, 12},
    // by calls, and rescued by them
    {"program called(M, N) { input A: f32[M, N] input B: f32[M, N] output D: f32[M, N]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = cbrt(A[m, n]) + sin(B[m, n]*1000000.0) }",
     2, 6},
    {"program whole(M, N) { input A: i32[M, N] input B: i16[M, N] output D: i64[M, N]\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = i64(A[m, n]*100/i32(B[m, n]) + i32(index(m))%7)"
     " - i64(f32(A[m, n])*2.5) }",
     2, 0},
    {"program half(M, N, K) { input A: f16[M, K] input B: f16[K, N] output D: f16[M, N]\n"
     "temp C: f32[M, N]\n"
     "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! f32(A[m, k])*f32(B[k, n])\n"
     "D: for m in 0:M, n in 0:N  D[m, n] = f16(sigmoid(C[m, n]*0.25)) }",
     3, 0x1p13},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static const char *difference(Lab *lab, const Program *p, const LabData *got, const LabData *want,
                              double bound) {
    int out = p->ninputs;
    for (int64_t i = 0; i < tensor_elements(&p->tensors.at[out]); i++) {
        double g = lab_value(got, out, i), w = lab_value(want, out, i);
        double most = bound * fmax(1, fabs(w)) * 0x1p-23;
        if (!(fabs(g - w) <= most) && !(isnan(g) && isnan(w)) && g != w)
            return arena_printf(&lab->arena, "element %lld is %a, want %a", (long long)i, g, w);
    }
    return NULL;
}

static bool try_one(Lab *lab, const Fused *f, const Program *p, uint64_t seed) {
    GenSched g = {.state = seed};
    const Schedule *s = gen_schedule(&g, &lab->arena, p);
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    if (!t) return true; // refused: another test's business
    if (getenv("LW_FUZZ_VERBOSE")) {
        Text text = {.arena = &lab->arena};
        schedule_print(&text, s);
        printf("%s\n%s\n", lab_text(lab, p), text_str(&text));
        fflush(stdout);
    }
    LabData want = lab_data(lab, p, seed), start = lab_copy(lab, p, &want);
    if (!CHECK(lab_run(lab, p, &want))) return false;
    for (Isa isa = 0; isa < ISA_COUNT; isa++) {
        Machine m;
        machine_detect(&m, isa);
        if (m.isa != isa) continue;
        LabData got = lab_copy(lab, p, &start);
        JitResult r =
            jit_run(lab, t, &m, &got, (InterpFlags){0}, (int[]){1, 2, 5}[seed % 3], seed & 1);
        const char *d = r == JIT_OK ? difference(lab, p, &got, &want, f->bound) : "a status";
        if (CHECK(!d)) continue;
        Text text = {.arena = &lab->arena};
        schedule_print(&text, s);
        printf("seed %llu, %s: %s\n%s\n%s", (unsigned long long)seed, isa_name[isa], d,
               lab_text(lab, p), text_str(&text));
        return false;
    }
    return true;
}

TEST(functions_keep_their_meaning_under_any_schedule) {
    for (int64_t i = 0; i < check_rounds(1400); i++) {
        uint64_t state = (uint64_t)i + 1;
        const Fused *f = &programs[i % PROGRAMS];
        int64_t values[3];
        for (int k = 0; k < f->nparams; k++) values[k] = (int64_t)(check_random(&state) % 40) + 1;
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, f->text, values);
        bool ok = CHECK(p);
        if (!ok) printf("%s\n%s\n", f->text, lab_errors(&lab));
        ok = ok && try_one(&lab, f, p, state);
        lab_end(&lab);
        if (!ok) return;
    }
}

// The largest tiles that fit, with an epilogue that needs more registers than are left.
TEST(a_crowded_epilogue_gives_the_tile_back) {
    static const char *const orders[] = {
        "C: m/14 n/32 k m n:v\nD:\n    after C\n", "C: m/6 n/16 k m n:v\nD:\n    after C\n",
        "C: m/4 n/16 k m n:v\nD: m/4 n/16 m n:v\n", "C: m/28 n/16 k m n:v\nD:\n    after C\n"};
    for (int i = 0; i < 3 * 4; i++) {
        Lab lab;
        lab_begin(&lab);
        const Fused *f = &programs[i % 3 == 2 ? 7 : i % 3];
        const Program *p = lab_program(&lab, f->text, (int64_t[]){56, 64, 9});
        const char *text = orders[i / 3];
        Source source = {"schedule", text, (uint32_t)strlen(text)};
        Schedule *s = schedule_parse(&lab.arena, &lab.names, &source, &lab.diags);
        Tree *t = p && s ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
        if (!CHECK(t)) printf("%s\n", lab_errors(&lab));
        for (Isa isa = 0; t && isa < ISA_COUNT; isa++) {
            Machine m;
            machine_detect(&m, isa);
            if (m.isa != isa) continue;
            LabData want = lab_data(&lab, p, 5), got = lab_copy(&lab, p, &want);
            lab_run(&lab, p, &want);
            CHECK(jit_run(&lab, t, &m, &got, (InterpFlags){0}, 1, false) == JIT_OK);
            const char *d = difference(&lab, p, &got, &want, f->bound);
            if (!CHECK(!d)) printf("%s %s: %s\n", text, isa_name[isa], d);
        }
        lab_end(&lab);
    }
}
