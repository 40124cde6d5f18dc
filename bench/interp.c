// The reference interpreter: statement iterations per second on one core. Bar: 10 million, for a
// matrix product and for pointwise statements in f32.
//
//     make build/bench/interp && build/bench/interp
#include "support/proglab.h"

#include <stdio.h>
#include <time.h>

typedef struct Case {
    const char *name, *text;
    double instances, bar; // millions; bar 0: none
} Case;

static const Case cases[] = {
    {"matmul f32",
     "program mm { input A: f32[128, 128] input B: f32[128, 128] output C: f32[128, 128]\n"
     "for i in 0:128, j in 0:128, k in 0:128 C[i, j] +=! A[i, k]*B[k, j] }",
     2.097152, 10},
    {"pointwise f32",
     "program pw { input A: f32[1024, 1024] input B: f32[1024, 1024] output C: f32[1024, 1024]\n"
     "for i in 0:1024, j in 0:1024 C[i, j] = A[i, j]*2.0 + B[i, j] }",
     1.048576, 10},
    {"relu f32",
     "program r { inout C: f32[1024, 1024] for i in 0:1024, j in 0:1024 C[i, j] = relu(C[i, j]) }",
     1.048576, 10},
    {"window f32, padded",
     "program w { input A: f32[1024, 64] input W: f32[5] output C: f32[1024, 64]\n"
     "for i in 0:1024, j in 0:64, k in 0:5 if j + k - 2 >= 0, 66 - j - k > 0\n"
     "C[i, j] +=! A[i, j + k - 2]*W[k] }",
     0.32768, 0},
    {"gather f32",
     "program g { input A: f32[1000] input I: i32[1000000] output C: f32[1000000]\n"
     "for i in 0:1000000 C[i] = A[I[i]] }",
     1, 0},
    {"matmul i8 to i32",
     "program q { input A: i8[128, 128] input B: i8[128, 128] output C: i32[128, 128]\n"
     "for i in 0:128, j in 0:128, k in 0:128 C[i, j] +=! i32(A[i, k])*i32(B[k, j]) }",
     2.097152, 0},
    {"exp f32",
     "program e { input A: f32[1000, 1000] output C: f32[1000, 1000]\n"
     "for i in 0:1000, j in 0:1000 C[i, j] = exp(A[i, j]) }",
     1, 0},
};

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void) {
    int ok = 1;
    printf("%-20s %s\n", "", "million instances/s, best of 5");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Lab lab;
        lab_begin(&lab);
        Program *p = lab_program(&lab, cases[c].text, NULL);
        if (!p) {
            printf("%s", lab_errors(&lab));
            return 1;
        }
        LabData d = lab_data(&lab, p, 1);
        double best = 1e30;
        for (int round = 0; round < 5; round++) {
            ArenaMark mark = arena_mark(&lab.arena);
            double start = seconds();
            if (!lab_run(&lab, p, &d)) return 1;
            double took = seconds() - start;
            best = took < best ? took : best;
            arena_release(&lab.arena, mark);
        }
        double rate = cases[c].instances / best;
        int within = rate >= cases[c].bar;
        printf("%-20s %8.1f   %s\n", cases[c].name, rate, within ? "ok" : "UNDER 10");
        ok &= within;
        lab_end(&lab);
    }
    return !ok;
}
