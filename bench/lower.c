// Microseconds from a bound Program and a parsed Schedule to a Tree, and to a verified one.
//
//     make build/bench/lower && build/bench/lower
//
// As in a search, each candidate is lowered into an arena that is then released.

#include "lab/stats.h"
#include "lang/lang.h"
#include "sched/schedule.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 4001 };

typedef struct Bench {
    Arena arena;
    Names names;
    DiagList diags;
} Bench;

static void complain(Bench *b) {
    for (int i = 0; i < b->diags.items.n; i++) {
        Text out = {.arena = &b->arena};
        diag_print(&out, b->diags.items.at[i]);
        fputs(text_str(&out), stderr);
    }
    exit(1);
}

static const Source *source(Bench *b, const char *name, const char *text) {
    Source *s = arena_new(&b->arena, Source);
    *s = (Source){name, text, (uint32_t)strlen(text)};
    return s;
}

static void measure(Bench *b, const char *name, const Program *p, const char *text) {
    const Schedule *s = schedule_parse(&b->arena, &b->names, source(b, "s.lws", text), &b->diags);
    static double time[RUNS], both[RUNS];
    Arena arena;
    arena_init(&arena, &allocator_libc);
    int nloops = 0;
    for (int i = 0; i < RUNS && s; i++) {
        ArenaMark mark = arena_mark(&arena);
        double start = lab_now();
        const Tree *t = tree_lower(&arena, p, s, &b->diags);
        time[i] = (lab_now() - start) * 1e-3;
        if (!t || tree_verify(&arena, t, NULL, &b->diags) != VERIFY_OK) complain(b);
        both[i] = (lab_now() - start) * 1e-3;
        nloops = t->nindices;
        arena_release(&arena, mark);
    }
    if (!s) complain(b);
    sort_values(time, RUNS);
    sort_values(both, RUNS);
    printf("%-24s %3d statements %3d loops   p50 %7.2f us   p99 %7.2f us   verified p50 %7.2f us"
           "   p99 %7.2f us\n",
           name, p->stmts.n, nloops, time[RUNS / 2], time[RUNS * 99 / 100], both[RUNS / 2],
           both[RUNS * 99 / 100]);
    arena_free(&arena);
}

// Two alternating candidates that share equal nodes, as in a search.
static void measure_shared(Bench *b, const char *name, const Program *p, const char *const *text) {
    static double time[RUNS];
    const Schedule *s[2];
    Arena arena, kept;
    arena_init(&arena, &allocator_libc);
    arena_init(&kept, &allocator_libc);
    TreePool *pool = tree_pool(&kept);
    for (int i = 0; i < 2; i++)
        s[i] = schedule_parse(&b->arena, &b->names, source(b, "s.lws", text[i]), &b->diags);
    for (int i = 0; i < RUNS && s[0] && s[1]; i++) {
        ArenaMark mark = arena_mark(&arena);
        double start = lab_now();
        if (!tree_lower_shared(&arena, pool, p, s[i % 2], &b->diags)) complain(b);
        time[i] = (lab_now() - start) * 1e-3;
        arena_release(&arena, mark);
    }
    if (!s[0] || !s[1]) complain(b);
    sort_values(time, RUNS);
    printf("%-24s %3d statements             p50 %7.2f us   p99 %7.2f us\n", name, p->stmts.n,
           time[RUNS / 2], time[RUNS * 99 / 100]);
    arena_free(&kept);
    arena_free(&arena);
}

static const Program *bound(Bench *b, const Program *p, int64_t size) {
    int64_t values[PROGRAM_MAX_PARAMS];
    for (int i = 0; i < p->params.n; i++) values[i] = size;
    const Program *q = program_bind(&b->arena, p, values, &b->diags);
    if (!q) complain(b);
    return q;
}

static const Program *from_file(Bench *b, const char *path, const char *name) {
    char *text = arena_alloc(&b->arena, 1 << 20);
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    text[n] = 0;
    const Module *m = tc_infer(tc_parse(&b->arena, &b->names, source(b, path, text), &b->diags));
    for (int i = 0; i < m->programs.n; i++)
        if (!strcmp(m->programs.at[i]->name, name)) return m->programs.at[i];
    complain(b);
    return NULL;
}

int main(void) {
    Bench b = {0};
    arena_init(&b.arena, &allocator_libc);
    b.names = (Names){.arena = &b.arena};
    b.diags = (DiagList){.arena = &b.arena};
    const char *text = "program mm(M, N, K) {\n"
                       "    input A: f32[M, K]\n    input B: f32[K, N]\n    output C: f32[M, N]\n"
                       "    C: for m in 0:M, n in 0:N, k in 0:K\n"
                       "        C[m, n] +=! A[m, k]*B[k, n]\n}\n";
    const Program *mm = program_parse(&b.arena, &b.names, source(&b, "mm.lwp", text), &b.diags);
    if (!mm) complain(&b);
    mm = bound(&b, mm, 1000);
    measure(&b, "matmul, naive", mm, "");
    measure(&b, "matmul, three levels", mm, "C: m/192:p n/512 k/256 m/6 n/16 k m n:v\n");
    measure(&b, "matmul, packed", mm,
            "C: m/192:p n/512 k/256 m/6 n/16 k m n:v\n    copy A at k/256 layout (m/6 k m)\n"
            "    copy B at k/256 layout (n/16 k n)\n");
    const Program *prod = from_file(&b, "examples/tc/prod_model.tc", "prodModel");
    if (!prod) return fputs("run this in the root of the source tree\n", stderr), 1;
    prod = bound(&b, prod, 64);
    measure(&b, "prodModel, naive", prod, "");
    measure(&b, "prodModel, scheduled", prod,
            "C3: b/8:p wy/16 wxx b wy:v\nO1.1: b/8:p n/16 m b n:v\n"
            "O1.2:\n    after O1.1\nO2.1: b/8:p o/16 n b o:v\nO2.2:\n    after O2.1\n");
    measure_shared(&b, "prodModel, candidates", prod,
                   (const char *[]){"C3: b/8:p wy/16 wxx b wy:v\nO1.1: b/8:p n/16 m b n:v\n",
                                    "C3: b/8:p wy/32 wxx b wy:v\nO1.1: b/8:p n/16 m b n:v\n"});
    arena_free(&b.arena);
    return 0;
}
