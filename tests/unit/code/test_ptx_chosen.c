// The Schedules that are chosen for GPUs: their structures, kernels, and results on the emulator.
#include "unit/check.h"
#include "choose/choose_gpu.h"
#include "sched/schedule.h"
#include "support/errlab.h"
#include "support/gpulab.h"
#include "support/pairs.h"

#include <stdio.h>
#include <string.h>

// Equal bits and no fault on the emulator. Gives the code.
static bool same(GpuLab *g, Lab *lab, const Program *p, const char *schedule, PtxCode *code) {
    const char *d = gpulab_difference(g, lab, p, schedule, code);
    if (!CHECK(d == NULL)) fprintf(stderr, "%s\n", d);
    return d == NULL;
}

static const char scores[] =
    "program scores(B, N, D) { input Q: f32[B, N, D] input K: f32[B, N, D] input V: f32[B, N, D]\n"
    "  output O: f32[B, N, D] temp S: f32[B, N, N] temp M: f32[B, N] temp Z: f32[B, N]\n"
    "  S: for b in 0:B, i in 0:N, j in 0:N, d in 0:D  S[b, i, j] +=! Q[b, i, d]*K[b, j, d]\n"
    "  M: for b in 0:B, i in 0:N, j in 0:N  M[b, i] max=! S[b, i, j]\n"
    "  S.1: for b in 0:B, i in 0:N, j in 0:N  S[b, i, j] = exp(S[b, i, j] - M[b, i])\n"
    "  Z: for b in 0:B, i in 0:N, j in 0:N  Z[b, i] +=! S[b, i, j]\n"
    "  O: for b in 0:B, i in 0:N, e in 0:D, j in 0:N  O[b, i, e] +=! S[b, i, j]*V[b, j, e]\n"
    "  O.1: for b in 0:B, i in 0:N, e in 0:D  O[b, i, e] = O[b, i, e]/Z[b, i] }";

// Blocks of the chosen Schedule fit into the shared memory of each architecture. An H200 has room
// for all scores of a row.
TEST(choices_fit_every_architecture) {
    static const int capability[] = {80, 86, 89, 90, 100, 120};
    for (int i = 0; i < 6; i++) {
        Lab lab;
        PtxCode code;
        PtxOptions o = {.sm = capability[i]};
        const GpuMachine *m = gpu_machine_of(capability[i]);
        lab_begin(&lab);
        const Program *p = lab_program(&lab, scores, (int64_t[]){8, 1024, 64});
        Tree *t = CHECK(p)
                      ? tree_lower(&lab.arena, p, choose_gpu(&lab.arena, p, m, NULL), &lab.diags)
                      : NULL;
        if (CHECK(t) && CHECK(ptx_make(&lab.arena, t, "k", &o, &code, &lab.diags))) {
            if (!CHECK_INT_EQ(lab.diags.items.n, 0))
                printf("sm_%d: %s\n", capability[i], lab.diags.items.at[0]->text);
            for (int k = 0; k < code.nlaunches; k++)
                CHECK((int)code.launch[k].shared <= gpu_block_shared(m));
            if (capability[i] == 90) CHECK_INT_EQ(code.nlaunches, 1);
        }
        lab_end(&lab);
    }
}

// --- The choice ----------------------------------------------------------------------------------

// What is chosen has the structure (a part of its text), as few kernels, and is right.
static void try_chosen(const char *text, const int64_t *sizes, const char *part, int kernels) {
    GpuLab g;
    Lab lab;
    PtxCode code;
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    Text out = {.arena = &lab.arena};
    if (CHECK(p)) schedule_print(&out, choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL));
    if (!CHECK(strstr(text_str(&out), part))) printf("%s", text_str(&out));
    if (p && same(&g, &lab, p, text_str(&out), &code)) CHECK_INT_EQ(code.nlaunches, kernels);
    lab_end(&lab);
    gpulab_close(&g);
}

// The chosen Schedule has the part of text; its program is too large to run.
static void chosen_has(const char *text, const int64_t *sizes, const char *part) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, sizes);
    Text out = {.arena = &lab.arena};
    if (CHECK(p)) schedule_print(&out, choose_gpu(&lab.arena, p, &gpu_machine_h200, NULL));
    if (!CHECK(strstr(text_str(&out), part))) printf("%s", text_str(&out));
    lab_end(&lab);
}

static const char layers[] =
    "program net(B, N, O) { input I: f32[B, N] input W: f32[O, N] input V: f32[7, O]\n"
    "  input b: f32[O] output Y: f32[B, 7] temp H: f32[B, O]\n"
    "  H: for r in 0:B, o in 0:O, n in 0:N  H[r, o] +=! I[r, n]*W[o, n]\n"
    "  H.1: for r in 0:B, o in 0:O  H[r, o] = max(H[r, o] + b[o], f32(0.0))\n"
    "  Y: for r in 0:B, q in 0:7, o in 0:O  Y[r, q] +=! H[r, o]*V[q, o] }";

TEST(layers_are_one_kernel) {
    try_chosen(layers, (int64_t[]){70, 40, 24}, "place shared", 1);
    try_chosen(layers, (int64_t[]){67, 5, 33}, "place shared", 1);
}

// Statistics of channels, and what uses them, are one kernel, whose threads have vectors.
TEST(norms_are_one_kernel) {
    const char *text = "program p(N, C, H, W) { input X: f32[N, C, H, W] input A: f32[C]\n"
                       "  output Y: f32[N, C, H, W]\n"
                       "  temp S: f32[C] temp V: f32[C]\n"
                       "  S: for c in 0:C, n in 0:N, h in 0:H, w in 0:W  S[c] +=! X[n, c, h, w]\n"
                       "  V: for c in 0:C, n in 0:N, h in 0:H, w in 0:W\n"
                       "      V[c] +=! (X[n, c, h, w] - S[c])*(X[n, c, h, w] - S[c])\n"
                       "  Y: for n in 0:N, c in 0:C, h in 0:H, w in 0:W\n"
                       "      Y[n, c, h, w] = (X[n, c, h, w] - S[c])*V[c] + A[c] }";
    try_chosen(text, (int64_t[]){5, 140, 7, 12}, "flatten\n", 1);
    try_chosen(text, (int64_t[]){5, 140, 7, 12}, "h/4:thread.x", 1);
    try_chosen(text, (int64_t[]){5, 20, 5, 7}, "thread.y", 2); // few blocks for the results
}

// A block has several short rows.
TEST(short_rows_share_blocks) {
    const char *text = "program p(M, N) { input X: f32[M, N] output Y: f32[M, N] temp S: f32[M]\n"
                       "  S: for i in 0:M, j in 0:N  S[i] +=! X[i, j]*X[i, j]\n"
                       "  Y: for i in 0:M, j in 0:N  Y[i, j] = X[i, j]*S[i] }";
    try_chosen(text, (int64_t[]){8448, 64}, "i/16:grid.x j/32 i:thread.y j/4:thread.x", 1);
    try_chosen(text, (int64_t[]){2112, 512}, "i/4:grid.x j/128 i:thread.y j/4:thread.x", 1);
    try_chosen(text, (int64_t[]){4224, 68}, "i:grid.x", 1);
}

// One sum of few values has the threads of a block.
TEST(one_sum_has_threads) {
    try_chosen("program p(N) { input X: f32[N] output R: f32[]\n"
               "  R: for i in 0:N  R[] +=! X[i] }",
               (int64_t[]){4096}, "i/4:thread.x", 2); // one sets it to zero
}

// The product of a row and a matrix reads the matrix along its rows.
TEST(row_times_matrix_reads_rows) {
    try_chosen("program p(K, N) { input A: f32[K] input B: f32[K, N] output C: f32[N]\n"
               "  C: for n in 0:N, k in 0:K  C[n] +=! A[k]*B[k, n] }",
               (int64_t[]){400, 300}, "C.part: k.p n k", 2);
}

// The nearest of some points: distances are in shared memory only.
TEST(distances_stay_in_shared_memory) {
    try_chosen("program p(N, K, D) { input X: f32[N, D] input C: f32[K, D] input Q: f32[K]\n"
               "  output M: f32[N] output A: i32[N] temp P: f32[N, K]\n"
               "  P: for n in 0:N, k in 0:K, d in 0:D  P[n, k] +=! X[n, d]*C[k, d]\n"
               "  M: for n in 0:N, k in 0:K  M[n] min=! Q[k] - 2.0*P[n, k]\n"
               "  A: for n in 0:N, k in 0:K\n"
               "      A[n] min=! select(Q[k] - 2.0*P[n, k] == M[n], i32(index(k)), 9999) }",
               (int64_t[]){4224, 40, 16}, "place shared", 1);
}

// Bias and activation stand behind a convolution; what reads its neighbours is another kernel.
TEST(windows_have_post_operations) {
    try_chosen(
        "program p(N, F, C, H, W) { input X: f32[N, C, H + 2, W + 2] input V: f32[F, C, 3, 3]\n"
        "  input B: f32[F] output Y: f32[N, F, H/2, W/2] temp T: f32[N, F, H, W]\n"
        "  T: for n in 0:N, f in 0:F, h in 0:H, w in 0:W, c in 0:C, i in 0:3, j in 0:3\n"
        "      T[n, f, h, w] +=! X[n, c, h + i, w + j]*V[f, c, i, j]\n"
        "  T.1: for n in 0:N, f in 0:F, h in 0:H, w in 0:W\n"
        "      T[n, f, h, w] = max(T[n, f, h, w] + B[f], f32(0.0))\n"
        "  Y: for n in 0:N, f in 0:F, h in 0:H/2, w in 0:W/2, i in 0:2, j in 0:2\n"
        "      Y[n, f, h, w] max=! T[n, f, 2*h + i, 2*w + j] }",
        (int64_t[]){16, 32, 2, 32, 32}, "after T", 2);
}

// Blocks compute tiles of the results of convolutions, and stage channels of both operands.
TEST(convolutions_are_tiled) {
    const char *pixels = "program p(N, F, C, H, W) { input X: f32[N, C, H, W] input V: f32[F, C]\n"
                         "  output Y: f32[N, F, H, W] temp T: f32[N, C, H, W]\n"
                         "  T: for n in 0:N, c in 0:C, h in 0:H, w in 0:W\n"
                         "      T[n, c, h, w] = X[n, c, h, W - 1 - w]\n"
                         "  Y: for n in 0:N, f in 0:F, h in 0:H, w in 0:W, c in 0:C\n"
                         "      Y[n, f, h, w] +=! T[n, c, h, w]*V[f, c] }";
    const char *window =
        "program p(N, F, C, H, W) { input X: f32[N, C, H, W + 1] input V: f32[F, C, 2]\n"
        "  output Y: f32[N, F, H, W]\n"
        "  Y: for n in 0:N, f in 0:F, h in 0:H, w in 0:W, c in 0:C, i in 0:2\n"
        "      Y[n, f, h, w] +=! X[n, c, h, w + i]*V[f, c, i] }";
    try_chosen(pixels, (int64_t[]){132, 32, 16, 4, 28}, "c/16 f/8:thread.z h:thread.y w/4:", 2);
    try_chosen(window, (int64_t[]){132, 32, 16, 4, 25}, "c/4 f/8:thread.z h/4:thread.y w:", 1);
}

// Sums of columns behind rows of the same iterators have other threads, and another kernel.
TEST(rows_and_columns_are_apart) {
    const char *text = "program p(B, M, N) { input S: f32[B, M, N] input V: f32[B, N, 40]\n"
                       "  output T: f32[B, M] output O: f32[B, M, 40]\n"
                       "  T: for b in 0:B, i in 0:M, j in 0:N  T[b, i] max=! S[b, i, j]\n"
                       "  O: for b in 0:B, i in 0:M, d in 0:40, j in 0:N\n"
                       "      O[b, i, d] +=! S[b, i, j]*V[b, j, d] }";
    try_chosen(text, (int64_t[]){3, 9, 130}, "thread.y", 2);
}

TEST(pixels_are_columns) {
    const char *text = "program p(C, F, H) { input I: f32[2, C, H, 7] input W: f32[F, C]\n"
                       "  output O: f32[2, F, H, 7]\n"
                       "  O: for n in 0:2, f in 0:F, h in 0:H, w in 0:7, c in 0:C\n"
                       "      O[n, f, h, w] +=! I[n, c, h, w]*W[f, c] }";
    try_chosen(text, (int64_t[]){20, 48, 11}, "flatten", 1);
}

TEST(channels_are_staged) {
    const char *text = "program p(N, F, H) { input I: f32[N, 34, 16, H + 1, 8]\n"
                       "  input W: f32[34, F, 16, 2] output O: f32[N, 34, F, H, 8]\n"
                       "  O: for n in 0:N, g in 0:34, f in 0:F, h in 0:H, w in 0:8, c in 0:16,\n"
                       "         r in 0:2\n"
                       "      O[n, g, f, h, w] +=! I[n, g, c, h + r, w]*W[g, f, c, r] }";
    try_chosen(text, (int64_t[]){16, 8, 3}, "n/4:grid.x g:grid.y c/8", 1);
    try_chosen(text, (int64_t[]){4, 16, 10}, "h/5:thread.y", 1);
}

// Rows of scores that are reduced and multiplied again stay in shared memory.
TEST(scores_are_one_kernel) {
    const char *text =
        "program p(B, N, M, D) { input Q: f32[B, N, D] input K: f32[B, M, D]\n"
        "  input V: f32[B, M, D] output O: f32[B, N, D]\n"
        "  temp S: f32[B, N, M] temp T: f32[B, N] temp Z: f32[B, N]\n"
        "  S: for b in 0:B, i in 0:N, j in 0:M, d in 0:D  S[b, i, j] +=! Q[b, i, d]*K[b, j, d]\n"
        "  T: for b in 0:B, i in 0:N, j in 0:M  T[b, i] max=! S[b, i, j]\n"
        "  S.1: for b in 0:B, i in 0:N, j in 0:M\n"
        "      S[b, i, j] = min(S[b, i, j] - T[b, i] + 9.0, 3.0)\n"
        "  Z: for b in 0:B, i in 0:N, j in 0:M  Z[b, i] +=! S[b, i, j]\n"
        "  O: for b in 0:B, i in 0:N, d in 0:D, j in 0:M  O[b, i, d] +=! S[b, i, j]*V[b, j, d]\n"
        "  O.1: for b in 0:B, i in 0:N, d in 0:D  O[b, i, d] = O[b, i, d] - Z[b, i] }";
    try_chosen(text, (int64_t[]){67, 33, 40, 20}, "j/128 j/32:thread.z", 1);
    try_chosen(text, (int64_t[]){2, 33, 40, 20}, "grid", 2); // too few blocks for one kernel
}

// The depth of tiles divides k where it can.
TEST(staged_tiles_are_full) {
    const char *text = "program p(M, N, K) { input A: f32[M, K] input B: f32[N, K]\n"
                       "  output C: f32[M, N]\n"
                       "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k] }";
    try_chosen(text, (int64_t[]){32, 1200, 200}, "k/40 k/20", 1);
}

// No processor has two blocks while others have one.
TEST(tiles_are_spread_evenly) {
    const char *text = "program p(M, N, K) { input A: f32[M, K] input B: f32[K, N]\n"
                       "  output C: f32[M, N]\n"
                       "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n] }";
    try_chosen(text, (int64_t[]){777, 333, 131}, "m/80:grid.y n/32:grid.x k/48 k/16:warp", 1);
    chosen_has(text, (int64_t[]){512, 512, 512}, "m/32:grid.y n/64:grid.x"); // even already
}

// Large products along the rows of both operands transpose both; two of them are two kernels.
TEST(large_products_of_rows_transpose_both) {
    const char *text = "program p(M, N, K, L) { input A: f32[M, K] input B: f32[N, K]\n"
                       "  input D: f32[L, K] output C: f32[M, N] output E: f32[M, L]\n"
                       "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k]\n"
                       "  E: for m in 0:M, n in 0:L, k in 0:K  E[m, n] +=! A[m, k]*D[n, k] }";
    GpuLab g;
    Lab lab;
    PtxCode code;
    chosen_has(text, (int64_t[]){2048, 1024, 1024, 1024}, "copy B at k/16 layout (k n)");
    chosen_has(text, (int64_t[]){2048, 1024, 1024, 1024}, "C: | m/128:grid.y n/128:grid.x k/16");
    chosen_has(text, (int64_t[]){1024, 2816, 1024, 2816}, "C: | m/64:grid.y n/128:grid.x k/32");
    if (!CHECK(gpulab_open(&g))) return;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, text, (int64_t[]){150, 200, 50, 20});
    if (CHECK(p))
        same(&g, &lab, p,
             "C: m/128:grid.y n/128:grid.x k/16 k/8:warp m/32:warp n/64:warp k m/16 n/32 m/8:lane "
             "n/8:lane m/4:lane n/4:lane m n\n"
             "    copy A at k/16 layout (k m) place shared stages 4 by async\n"
             "    copy B at k/16 layout (k n) place shared stages 4 by async\n"
             "C.A: m/4 k/8 m k\nC.B: n/4 k/8 n k\nE: m:grid.x n:thread.x k\n",
             &code);
    lab_end(&lab);
    gpulab_close(&g);
}

TEST(groups_divide_staged_tiles) {
    const char *text = "program p(M, N, K) { input A: f32[M, K] input B: f32[N, K]\n"
                       "  output C: f32[M, N]\n"
                       "  C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[n, k] }";
    try_chosen(text, (int64_t[]){16, 32, 600}, "k/128 k/8:thread.z", 1);
    try_chosen(text, (int64_t[]){32, 16, 530}, "k/128 k/8:thread.z", 1);
}

// Each thread has four rows under way, and its results do not evict the table.
TEST(gathers_load_from_several_rows) {
    try_chosen("program p(B) { input T: f32[9, 512] input I: i32[B] output O: f32[B, 512]\n"
               "  O: for b in 0:B, d in 0:512  O[b, d] = T[I[b], d] }",
               (int64_t[]){1060}, "b/8:grid.x b/2 b:thread.y d/4:thread.x d\n    nontemporal", 1);
}
