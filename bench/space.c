// The spaces of the paper's kernels (Telamon, Table 2): how many implementations, how many dead
// ends, and what a decision costs. `make bench-space`.
#include "space/cpu.h"
#include "support/proglab.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MATMUL(a)                                                                                  \
    "program mm(M, N, K) {\n    input A: f32[" a                                                   \
    "]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"                                         \
    "    C: for m in 0:M, n in 0:N, k in 0:K\n        C[m, n] +=! "

static const struct {
    const char *name, *text;
    int64_t size[3];
    const char *paper_size, *paper_dead;
} kernels[] = {
    {"axpy 2^26",
     "program axpy(N, P, Q) {\n    input a: f32[]\n    input x: f32[N]\n    input y: f32[N]\n"
     "    output z: f32[N]\n    z: for i in 0:N\n        z[i] = a[]*x[i] + y[i]\n}\n",
     {1 << 26, 0, 0},
     "1.1e11",
     "0.1"},
    {"matmul 256x256x32", MATMUL("M, K") "A[m, k]*B[k, n]\n}\n", {256, 256, 32}, "1.8e21", "14"},
    {"matmul 1024^3", MATMUL("M, K") "A[m, k]*B[k, n]\n}\n", {1024, 1024, 1024}, "3.5e21", "2.8"},
    {"strided matmul",
     MATMUL("M, K, 32") "A[m, k, 0]*B[k, n]\n}\n",
     {1024, 1024, 1024},
     "6.0e20",
     "2.3"},
};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

enum { MANY = 50000 };

// Copy a candidate and take one decision, over random descents.
static void time_decisions(Arena *arena, const Space *s, double *p50, double *p99) {
    SpaceWork *w = space_work(arena, s);
    Cand *c = space_cand(arena, s), *d = space_cand(arena, s);
    double *ns = arena_new_n(arena, double, MANY);
    uint64_t state = 1;
    for (int n = 0; n < MANY;) {
        space_copy(s, c, s->root);
        for (int var; n < MANY && (var = space_open(s, c, 0)) >= 0;) {
            uint64_t bits = space_domain(s, c, var);
            for (int skip = (int)(next(&state) % (uint64_t)__builtin_popcountll(bits)); skip;
                 skip--)
                bits &= bits - 1;
            double start = now_ns();
            space_copy(s, d, c);
            bool alive = space_keep(w, d, var, bits & -bits);
            ns[n++] = now_ns() - start;
            if (!alive) break;
            space_copy(s, c, d);
        }
    }
    qsort(ns, MANY, sizeof *ns, by_value);
    *p50 = ns[MANY / 2];
    *p99 = ns[MANY / 100 * 99];
}

int main(void) {
    printf("%-20s %22s %8s %18s %8s %8s %8s %10s\n", "kernel", "implementations", "(paper)",
           "dead ends %", "(paper)", "p50 ns", "p99 ns", "build us");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        Lab lab;
        lab_begin(&lab);
        const Program *p = lab_program(&lab, kernels[i].text, kernels[i].size);
        if (!p) {
            fputs(lab_errors(&lab), stderr);
            return 1;
        }
        CpuOptions o = {.threads = 2};
        machine_detect(&o.machine, ISA_COUNT);
        double start = now_ns();
        CpuSpace *cs = cpu_space(&lab.arena, p, &o, &lab.diags);
        double build = (now_ns() - start) / 1e3, p50, p99;
        SpaceWork *w = space_work(&lab.arena, cs->space);
        SpaceEstimate k = space_knuth(w, &lab.arena, cs->space->root, 5000, 1);
        SpaceEstimate c = space_chen(w, &lab.arena, cs->space->root, 100, 1);
        SpaceEstimate best = c.half_width * k.mean < k.half_width * c.mean ? c : k;
        SpaceEstimate d = space_dead_ends(w, &lab.arena, cs->space->root, 5000, 1);
        time_decisions(&lab.arena, cs->space, &p50, &p99);
        printf("%-20s %10.2g ± %9.1g %8s %10.2f ± %5.2f %8s %8.0f %8.0f %10.0f\n", kernels[i].name,
               best.mean, best.half_width, kernels[i].paper_size, 100 * d.mean, 100 * d.half_width,
               kernels[i].paper_dead, p50, p99, build);
        lab_end(&lab);
    }
    return 0;
}
