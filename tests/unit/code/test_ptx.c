// PTX kernels on the emulator against the interpreter, and through ptxas.
#include "unit/check.h"
#include "choose/choose_gpu.h"
#include "sched/schedule.h"
#include "support/errlab.h"
#include "support/gpulab.h"
#include "support/pairs.h"

#include <stdio.h>
#include <string.h>

static const Schedule *parsed(Lab *lab, const char *text) {
    Source *source = arena_new(&lab->arena, Source);
    *source = (Source){.name = "s.lws", .text = text, .len = (uint32_t)strlen(text)};
    return schedule_parse(&lab->arena, &lab->names, source, &lab->diags);
}

// Runs the program under the Schedule on the emulator; equal bits, no race. Gives the code.
static bool same(GpuLab *g, Lab *lab, const Program *p, const char *schedule, PtxCode *code) {
    const Schedule *s = schedule ? parsed(lab, schedule) : NULL;
    Tree *t = tree_lower(&lab->arena, p, s, &lab->diags);
    PtxOptions o = {0};
    if (!CHECK(t != NULL) || !CHECK(ptx_make(&lab->arena, t, "k", &o, code, &lab->diags))) {
        fprintf(stderr, "%s\n", lab_errors(lab));
        return false;
    }
    LabData want = lab_data(lab, p, 1), got = lab_copy(lab, p, &want);
    CHECK(lab_run(lab, p, &want));
    GpuResult r = gpulab_run_code(g, lab, t, code, &got);
    if (!CHECK(r == GPU_OK)) {
        fprintf(stderr, "%s\n%s\n", g->text, code->text);
        return false;
    }
    const char *d = lab_difference(lab, p, &got, &want);
    if (!CHECK(d == NULL)) fprintf(stderr, "%s\n%s\n", d, code->text);
    return d == NULL;
}

static const char matmul[] =
    "program mm(M, N, K) {\n  input A: f32[M, K]\n  input B: f32[K, N]\n  output C: f32[M, N]\n"
    "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n]\n}\n";

static void try_matmul(const char *schedule, int64_t m, int64_t n, int64_t k) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, matmul, (int64_t[]){m, n, k});
    if (CHECK(p != NULL)) same(&g, &lab, p, schedule, &code);
    lab_end(&lab);
    gpulab_close(&g);
}

TEST(plain_matmul) { try_matmul(NULL, 5, 7, 9); }

static void try_program(const char *text, const int64_t *sizes, const char *schedule) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    if (CHECK(p != NULL)) same(&g, &lab, p, schedule, &code);
    lab_end(&lab);
    gpulab_close(&g);
}

TEST(windows) {
    try_program(
        "program concat { input A: f32[3] input B: f32[7] output O: f32[10] temp T: f32[10]\n"
        "T: for i in 0:3\n T[i] = A[i]\n T.1: for i in 0:7\n T[i + 3] = B[i]\n"
        "O: for i in 0:10\n O[i] = T[9 - i] }",
        NULL, "T:\n    at i/3\n    copy A at i\nO: i/3\n");
}

TEST(tiled_matmul) {
    const char *s = "C: m/16:grid.y n/32:grid.x k/8 m/2:thread.y k n/4:thread.x m n\n"
                    "    copy A at k/8 place shared stages 3 by async\n"
                    "    copy B at k/8 place shared stages 3 by async\n";
    try_matmul(s, 32, 64, 64);
    try_matmul(s, 35, 70, 61);
    try_matmul(s, 16, 32, 8);
}

TEST(groups_in_k) {
    const char *s = "C: m/16:grid.y n/32:grid.x k/32:thread.z k/8 m/4:thread.y k n/4:thread.x m n\n"
                    "    copy A at k/8 place shared stages 2 by async\n"
                    "    copy B at k/8 place shared stages 2 by async\n";
    try_matmul(s, 32, 64, 64);
    try_matmul(s, 35, 72, 100);
}

TEST(rows) {
    const char *text = "program softmax(N, M) { input X: f32[N, M] output Y: f32[N, M]\n"
                       "temp T: f32[N] temp E: f32[N, M] temp S: f32[N]\n"
                       "T: for r in 0:N, c in 0:M  T[r] max=! X[r, c]\n"
                       "E: for r in 0:N, c in 0:M  E[r, c] = X[r, c] - T[r]\n"
                       "S: for r in 0:N, c in 0:M  S[r] +=! E[r, c]\n"
                       "Y: for r in 0:N, c in 0:M  Y[r, c] = E[r, c] + S[r] }";
    const char *s = "T: r:grid.x c/256 c/4:thread.x c\nE: r:grid.x c/256 c/4:thread.x c\n"
                    "S: r:grid.x c/256 c/4:thread.x c\nY: r:grid.x c/256 c/4:thread.x c\n";
    try_program(text, (int64_t[]){3, 512}, s);
    try_program(text, (int64_t[]){3, 501}, s);
    try_program(text, (int64_t[]){5, 7}, NULL);
}

static const char softmax[] = "program softmax(N, M) { input X: f32[N, M] output Y: f32[N, M]\n"
                              "temp T: f32[N] temp E: f32[N, M] temp S: f32[N]\n"
                              "T: for r in 0:N, c in 0:M  T[r] max=! X[r, c]\n"
                              "E: for r in 0:N, c in 0:M  E[r, c] = exp(X[r, c] - T[r])\n"
                              "S: for r in 0:N, c in 0:M  S[r] +=! E[r, c]\n"
                              "Y: for r in 0:N, c in 0:M  Y[r, c] = E[r, c]/S[r] }";

static const char angles[] = "program angles(N) { input X: f64[N] output Y: f64[N]\n"
                             "Y: for i in 0:N  Y[i] = sin(X[i]) + X[i]%f64(3.0) }";

// ptxas accepts the text for both architectures, without spills.
static void assembles(const char *text, const int64_t *sizes) {
    static const char *const arch[] = {"sm_80", "sm_90a"};
    Lab lab;
    PtxCode code;
    PtxOptions o = {0};
    char why[4096];
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    const Schedule *s = CHECK(p) ? choose_gpu(&lab.arena, p, NULL) : NULL;
    Tree *t = CHECK(s) ? tree_lower(&lab.arena, p, s, &lab.diags) : NULL;
    if (CHECK(t) && CHECK(ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags)))
        for (int i = 0; i < 2; i++)
            if (!CHECK(gpulab_assembles(code.text, arch[i], why, sizeof why))) printf("%s\n", why);
    lab_end(&lab);
}

TEST(texts_assemble_without_spills) {
    if (!gpulab_has_ptxas()) {
        printf("SKIPPED: there is no ptxas; LW_PTXAS names one\n");
        return;
    }
    assembles(matmul, (int64_t[]){1024, 1024, 1024});
    assembles(matmul, (int64_t[]){100, 70, 130});
    assembles(softmax, (int64_t[]){4096, 4096});
    assembles(angles, (int64_t[]){1000});
}
