// Nanoseconds per element of the functions that compiled code expands inline, with data in L1: on
// every ISA level of this machine, by calls of the interpreter's arithmetic per vector (the cost of
// all other functions), and by the C library's float functions. The fastest of many repetitions
// counts, so that other load matters little.
#define _GNU_SOURCE // exp10f
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel_abi.h"
#include "code/code.h"
#include "lab/stats.h"
#include "run/exec.h"
#include "support/proglab.h"
#include "sched/schedule.h"
#include "target/target.h"

enum { N = 2048, TIMES = 400 };

static float a[N], b[N], c[N];

typedef float F1(float);

static const struct {
    const char *name;
    int op;
    F1 *libm;
    float from, to;
} functions[] = {
    {"exp", OP_EXP, expf, -80, 80},
    {"exp2", OP_EXP2, exp2f, -100, 100},
    {"expm1", OP_EXPM1, expm1f, -4, 4},
    {"exp10", OP_EXP10, exp10f, -30, 30},
    {"log", OP_LOG, logf, 0.001f, 1000},
    {"log2", OP_LOG2, log2f, 0.001f, 1000},
    {"log10", OP_LOG10, log10f, 0.001f, 1000},
    {"log1p", OP_LOG1P, log1pf, -0.9f, 9},
    {"tanh", OP_TANH, tanhf, -4, 4},
    {"sigmoid", OP_SIGMOID, NULL, -9, 9},
    {"erf", OP_ERF, erff, -3, 3},
    {"sin", OP_SIN, sinf, -99, 99},
    {"cos", OP_COS, cosf, -99, 99},
    {"sqrt", OP_SQRT, sqrtf, 0, 99},
    {"rsqrt", OP_RSQRT, NULL, 0.01f, 99},
    {"reciprocal", OP_RECIP, NULL, 1, 9},
    {"pow", OP_POW, NULL, 0.1f, 9},
};

static Kernel *compile(Lab *lab, ExecArena *arena, const char *text, const Machine *m) {
    const Program *p = lab_program(lab, text, NULL);
    Source source = {"schedule", "C: i:v\n", 7};
    Schedule *s = schedule_parse(&lab->arena, &lab->names, &source, &lab->diags);
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    Code code;
    if (!target_compile(&target_x86, &lab->arena, t, m, &code, NULL, &lab->diags)) return NULL;
    return (Kernel *)exec_entry(exec_add(arena, code.bytes, code.size));
}

static double time_kernel(Kernel *k, bool two) {
    KernelEnv env = {.threads = 1, .apply = code_apply};
    double best = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        double t = lab_cpu();
        for (int r = 0; r < 8; r++) k(two ? (void *[]){a, b, c} : (void *[]){a, c}, NULL, &env);
        t = (lab_cpu() - t) / (8.0 * N);
        if (t < best) best = t;
    }
    return best;
}

static double time_calls(int op) {
    double best = INFINITY;
    for (int i = 0; i < TIMES / 20; i++) {
        double t = lab_cpu();
        for (int at = 0; at < N; at += 16) {
            float area[4][16];
            memcpy(area[0], a + at, 64);
            memcpy(area[1], b + at, 64);
            code_apply(op, TYPE_F32, TYPE_F32, 16, area);
            memcpy(c + at, area[0], 64);
        }
        t = (lab_cpu() - t) / N;
        if (t < best) best = t;
    }
    return best;
}

static double time_libm(F1 *f, bool pow) {
    double best = INFINITY;
    for (int i = 0; i < TIMES / 20; i++) {
        double t = lab_cpu();
        for (int k = 0; k < N; k++) c[k] = pow ? powf(a[k], b[k]) : f(a[k]);
        t = (lab_cpu() - t) / N;
        if (t < best) best = t;
    }
    return best;
}

int main(void) {
    printf("%-11s %8s %8s %8s %8s %8s   ns per f32\n", "", "avx512", "avx2", "scalar", "calls",
           "libm");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bool two = functions[i].op == OP_POW;
        for (int k = 0; k < N; k++) {
            float at = (float)(((unsigned)k * 1103515245u >> 8) % 65536) / 65536;
            a[k] = functions[i].from + at * (functions[i].to - functions[i].from);
            b[k] = at * 4 - 2;
        }
        printf("%-11s", functions[i].name);
        for (int isa = ISA_AVX512; isa >= ISA_SCALAR; isa--) {
            Machine m;
            machine_detect(&m, (Isa)isa);
            Lab lab;
            lab_begin(&lab);
            ExecArena *arena = exec_arena_new();
            const char *text = arena_printf(&lab.arena,
                                            "program f { input A: f32[%d] %s output C: f32[%d]\n"
                                            "C: for i in 0:%d  C[i] = %s(A[i]%s) }",
                                            N, two ? "input B: f32[2048]" : "", N, N,
                                            functions[i].name, two ? ", B[i]" : "");
            Kernel *kernel = m.isa == (Isa)isa ? compile(&lab, arena, text, &m) : NULL;
            printf(" %8.3f", kernel ? time_kernel(kernel, two) : NAN);
            exec_arena_free(arena);
            lab_end(&lab);
        }
        printf(" %8.2f", time_calls(functions[i].op));
        if (functions[i].libm || two) printf(" %8.2f", time_libm(functions[i].libm, two));
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
