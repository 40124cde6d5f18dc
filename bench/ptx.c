// Microseconds from a bound Program to the PTX text of its kernels: choosing a Schedule, lowering
// it to a Tree, mapping that to blocks and threads, and printing.
//
//     make bench-ptx
//
// As in a search, each text is made in an arena that is then released.

#include "choose/choose_gpu.h"
#include "code/ptx/ptx.h"
#include "lab/stats.h"
#include "lang/lang.h"
#include "sched/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 101 };

typedef struct Bench {
    Arena arena;
    Names names;
    DiagList diags;
} Bench;

typedef struct Row {
    const char *name, *text;
    int64_t size[8];
} Row;

static const char mm[] = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }";
static const char bmm[] =
    "def bmm(float(B,M,K) X, float(B,K,N) Y) -> (Z) { Z(b,m,n) +=! X(b,m,k) * Y(b,k,n) }";
static const char gconv[] = "def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1) -> (O) {"
                            " O(n,g,f,h,w) +=! I(n,g,c,h + kh,w + kw) * W1(g,f,c,kh,kw) }";
static const char conv[] = "def conv(float(N,C,H,W) I, float(F,C,KH,KW) W1) -> (O) {"
                           " O(n,f,h,w) +=! I(n,c,h + kh,w + kw) * W1(f,c,kh,kw) }";
static const char softmax[] =
    "def softmax(float(N,M) X) -> (Y, T, S) { T(i) max=! X(i,j)\n Y(i,j) = exp(X(i,j) - T(i))\n"
    " S(i) +=! Y(i,j)\n Y(i,j) = Y(i,j) / S(i) }";
static const char layernorm[] =
    "def layernorm(float(N,M) X) -> (Y, mean, var) { mean(i) +=! X(i,j)\n"
    " var(i) +=! (X(i,j) - mean(i) / M) * (X(i,j) - mean(i) / M)\n"
    " Y(i,j) = (X(i,j) - mean(i) / M) * rsqrt(var(i) / M + 0.00001) }";
static const char transpose[] =
    "def transpose(float(N,M) X) -> (Y) { Y(j,i) = X(i,j) where i in 0:N, j in 0:M }";
static const char chain[] =
    "def chain(float(N,M) X, float(N,M) Y) -> (Z) { Z(i,j) = tanh(X(i,j)) * exp(Y(i,j)) + 1.0 }";
static const char lut[] = "def lut(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }";
static const char attention[] =
    "def attention(float(B,N,D) Q, float(B,M,D) K, float(B,M,E) V) -> (P, T, S, O) {\n"
    " P(b,i,j) +=! Q(b,i,d) * K(b,j,d)\n T(b,i) max=! P(b,i,j)\n"
    " P(b,i,j) = exp(P(b,i,j) - T(b,i))\n S(b,i) +=! P(b,i,j)\n"
    " O(b,i,e) +=! P(b,i,j) * V(b,j,e)\n O(b,i,e) = O(b,i,e) / S(b,i) }";

// Sizes are in the order in which the text mentions them first.
static const Row rows[] = {
    {"mm 128x256x32", mm, {128, 32, 256}},
    {"mm 1024^3", mm, {1024, 1024, 1024}},
    {"mm 1000^3", mm, {1000, 1000, 1000}},
    {"mm 4096^3", mm, {4096, 4096, 4096}},
    {"mm 4001^3", mm, {4001, 4001, 4001}},
    {"mm 33x45x70", mm, {33, 45, 70}},
    {"bmm 500x26x72x26", bmm, {500, 26, 72, 26}},
    {"gconv C4@56", gconv, {32, 32, 4, 58, 58, 4, 3, 3}},
    {"gconv C32@7", gconv, {32, 32, 32, 9, 9, 32, 3, 3}},
    {"conv 64@56", conv, {32, 64, 58, 58, 64, 3, 3}},
    {"conv 64@55", conv, {32, 64, 57, 57, 65, 3, 3}},
    {"softmax 4096^2", softmax, {4096, 4096}},
    {"softmax 50x501", softmax, {50, 501}},
    {"layer norm 4096^2", layernorm, {4096, 4096}},
    {"transpose 4096^2", transpose, {4096, 4096}},
    {"transpose 130x260", transpose, {130, 260}},
    {"chain 4096^2", chain, {4096, 4096}},
    {"lut", lut, {100000, 64, 128, 50}},
    {"attention 8x1024x64", attention, {8, 1024, 64, 1024, 64}},
    {"attention 8x1000x60", attention, {8, 1000, 60, 1000, 60}},
};

static void complain(Bench *b) {
    for (int i = 0; i < b->diags.items.n; i++) {
        Text out = {.arena = &b->arena};
        diag_print(&out, b->diags.items.at[i]);
        fputs(text_str(&out), stderr);
    }
    exit(1);
}

static const Program *program_of(Bench *b, const Row *r) {
    Source *s = arena_new(&b->arena, Source);
    *s = (Source){r->name, r->text, (uint32_t)strlen(r->text)};
    const Module *m = tc_infer(tc_parse(&b->arena, &b->names, s, &b->diags));
    if (!m || !m->programs.n) complain(b);
    const Program *p = program_bind(&b->arena, m->programs.at[0], r->size, &b->diags);
    if (!p) complain(b);
    return p;
}

// In microseconds of this process, because other processes may run beside it.
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

enum { CHOOSE, LOWER, MAP, PRINT, ALL, STEPS };

typedef double Times[STEPS][RUNS];

// Adds the time since *last to a step, and makes *last the present.
static void step(Times times, int run, int which, double *last) {
    double t = now();
    times[which][run] = t - *last;
    times[ALL][run] += t - *last;
    *last = t;
}

static void run_once(Bench *b, const Program *p, Times times, int run, Arena *arena,
                     PtxCode *code) {
    double last = now();
    const Schedule *schedule = choose_gpu(arena, p, &gpu_machine_h200, NULL);
    if (!schedule) complain(b);
    step(times, run, CHOOSE, &last);
    const Tree *t = tree_lower(arena, p, schedule, &b->diags);
    if (!t) complain(b);
    step(times, run, LOWER, &last);
    GpuProgram *g = gpu_map(arena, t, "k", &gpu_machine_h200, &b->diags);
    if (!g) complain(b);
    step(times, run, MAP, &last);
    if (!ptx_print(g, &(PtxOptions){.sm = 90}, code, &b->diags)) complain(b);
    step(times, run, PRINT, &last);
}

static void measure(Bench *b, const Row *r) {
    static Times times;
    memset(times, 0, sizeof times);
    const Program *p = program_of(b, r);
    size_t bytes = 0;
    int kernels = 0;
    Arena arena;
    arena_init(&arena, &allocator_libc);
    for (int i = 0; i < RUNS; i++) {
        ArenaMark mark = arena_mark(&arena);
        PtxCode code;
        run_once(b, p, times, i, &arena, &code);
        bytes = code.size;
        kernels = code.nlaunches;
        arena_release(&arena, mark);
    }
    double p50[STEPS];
    for (int i = 0; i < STEPS; i++) {
        sort_values(times[i], RUNS);
        p50[i] = times[i][RUNS / 2];
    }
    printf("%-20s %d kernels %7zu bytes   choose %6.1f  lower %6.1f  map %6.1f  print %6.1f"
           "  all %7.1f us  p90 %7.1f\n",
           r->name, kernels, bytes, p50[CHOOSE], p50[LOWER], p50[MAP], p50[PRINT], p50[ALL],
           times[ALL][RUNS * 9 / 10]);
    arena_free(&arena);
}

int main(int argc, char **argv) {
    Bench b = {0};
    arena_init(&b.arena, &allocator_libc);
    b.names = (Names){.arena = &b.arena};
    b.diags = (DiagList){.arena = &b.arena};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (argc < 2 || strstr(rows[i].name, argv[1])) measure(&b, &rows[i]);
    arena_free(&b.arena);
    return 0;
}
