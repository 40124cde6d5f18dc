// Every pass on the example of its comment, and the numbers of Stripe's cost models.
#include "unit/passes/passes_run.h"

#include <math.h>

static const char mm8[] = "program f { input A: f32[8, 8] input B: f32[8, 8] output C: f32[8, 8]\n"
                          "C: for m in 0:8, n in 0:8, k in 0:8  C[m, n] +=! A[m, k]*B[k, n] }";
static const char mm100[] =
    "program f { input A: f32[100, 100] input B: f32[100, 100] output C: f32[100, 100]\n"
    "C: for m in 0:100, n in 0:100, k in 0:100  C[m, n] +=! A[m, k]*B[k, n] }";
static const char two[] = "program f { input A: f32[8] temp T: f32[8] output C: f32[8]\n"
                          "T: for i in 0:8  T[i] = A[i] + 1.0\nC: for j in 0:8  C[j] = T[j]*2.0 }";
static const char edge[] =
    "program f { input A: f32[8] output C: f32[8]\n"
    "C: for x in 0:8, i in 0:3 if x + i - 1 >= 0, 8 - x - i >= 0\n  C[x] +=! A[x + i - 1] }";

TEST(memory_io_counts_lines_at_random_alignment) {
    CHECK_F64_EQ(memory_io(1, (int64_t[]){64}, (int64_t[]){1}, 4, 64), 4.9375);
    CHECK_F64_EQ(memory_io(2, (int64_t[]){8, 8}, (int64_t[]){100, 1}, 4, 64), 11.5);
    CHECK_F64_EQ(memory_io(2, (int64_t[]){8, 8}, (int64_t[]){8, 1}, 4, 64), 4.9375);
    CHECK_F64_EQ(memory_io(1, (int64_t[]){64}, (int64_t[]){100}, 4, 64), 64);
    CHECK_F64_EQ(memory_io(2, (int64_t[]){8, 8}, (int64_t[]){8, 1}, 4, 0), 64);
    CHECK_F64_EQ(memory_io(1, (int64_t[]){0}, (int64_t[]){1}, 4, 64), 0);
}

// Figure 4 of the Stripe paper: lines of 8 elements per multiply-add of four tilings of a 3 x 3
// convolution, 8 to 16 channels, with room for 512 elements.
TEST(costs_of_figure_4) {
    static const struct {
        int64_t x, y, elements;
        double cost;
    } tile[] = {{3, 4, 432, 54.0 / 13824},
                {6, 2, 448, 56.0 / 13824},
                {4, 4, 544, 68.0 / 18432},
                {2, 8, 576, 72.0 / 18432}};
    for (int i = 0; i < 4; i++) {
        int64_t x = tile[i].x, y = tile[i].y;
        int64_t in[] = {x + 2, y + 2, 8}, out[] = {x, y, 16};
        double lines = memory_io_aligned(3, in, (int64_t[]){128, 8, 1}, 1, 8) +
                       memory_io_aligned(3, out, (int64_t[]){256, 16, 1}, 1, 8);
        CHECK_INT_EQ(in[0] * in[1] * in[2] + out[0] * out[1] * out[2], tile[i].elements);
        CHECK_F64_EQ(lines / (double)(x * y * 16 * 9 * 8), tile[i].cost);
    }
    CHECK(fabs(tile[0].cost - 0.003906) < 5e-7 && fabs(tile[1].cost - 0.00405) < 5e-6);
}

TEST(flatten) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(after(&r, "pass flatten\n"),
                 "for m in 8, n in 8 any\n  C[m, n] = 0.0\n"
                 "for m in 8, n in 8, k in 8 any\n  C[m, n] += A[m, k]*B[k, n]\n");
    CHECK_STR_EQ(said(&r, "pass flatten\n"),
                 "flatten      C: #zero, iterations in any order\n"
                 "             C: #contraction, iterations in any order\n");
    tr_end(&r);
}

TEST(autotile) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(
        said(&r, "pass flatten\npass autotile reqs=#contraction po2=yes max_total=192\n"
                 "pass autotile as=small reqs=#contraction po2=yes max_total=96\n"),
        "flatten      C: #zero, iterations in any order\n"
        "             C: #contraction, iterations in any order\n"
        "autotile     C: 4x4x4 of 8x8x8, cost 0.768625; 1x1x1 would cost 4.009; 57 tiles tried\n"
        "small        C: 4x2x2 of 4x4x4, cost 1.3145; 1x1x1 would cost 4.006; 26 tiles tried\n");
    CHECK_STR_EQ(said(&r, "pass flatten\n"
                          "pass autotile reqs=#contraction po2=yes max_total=96\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "autotile     C: 4x2x2 of 8x8x8, cost 1.3175; 1x1x1 would cost 4.009; "
                 "44 tiles tried\n");
    CHECK_STR_EQ(said(&r, "pass flatten\n"
                          "pass autotile reqs=#contraction po2=yes max_total=768\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "autotile     C: left alone: the best tile is the whole block, cost 0.376953\n");
    CHECK_STR_EQ(said(&r,
                      "pass flatten\n"
                      "pass autotile as=outer reqs=#contraction inner=#mid po2=yes max_total=768\n"
                      "pass autotile as=inner reqs=#mid po2=yes max_total=192\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "outer        C: the whole block is one tile, cost 0.376953\n"
                 "inner        C: 4x4x4 of 8x8x8, cost 0.768625; 1x1x1 would cost 4.009; 57 tiles "
                 "tried\n");
    CHECK_STR_EQ(
        after(&r, "pass flatten\npass autotile reqs=#contraction even=yes max_total=192\n"),
        "for m in 8, n in 8 any\n  C[m, n] = 0.0\n"
        "for m in 2, n in 2, k in 2 any\n"
        "  for m.1 in 4, n.1 in 4, k.1 in 4 any\n"
        "    C[4*m + m.1, 4*n + n.1] += A[4*m + m.1, 4*k + k.1]*B[4*k + k.1, 4*n + n.1]\n");
    tr_end(&r);
}

TEST(autotile_limits_and_refusals) {
    TreeRun r;
    tr_begin(&r, two);
    CHECK_STR_EQ(said(&r, "pass flatten\npass autotile max_total=4\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "autotile     T: left alone: no tile is within the limits\n"
                 "             C: left alone: no tile is within the limits\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass autotile skip_1d=yes\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "autotile     T: left alone: it has one index\n"
                 "             C: left alone: it has one index\n");
    CHECK_STR_EQ(
        after(&r,
              "pass flatten\npass autotile max_product=3 min_size=3 input_cost=0 output_cost=0\n"),
        "T f32[8] 32 B\n"
        "for i in 3 any\n  for i.1 in 3 any where 7 - 3*i - i.1 >= 0\n"
        "    T[3*i + i.1] = A[3*i + i.1] + 1.0\n"
        "for j in 3 any\n  for j.1 in 3 any where 7 - 3*j - j.1 >= 0\n"
        "    C[3*j + j.1] = T[3*j + j.1]*2.0\n");
    CHECK_STR_EQ(
        after(&r, "pass flatten\npass autotile max_product=3 min_size=3 input_cost=0 output_cost=0 "
                  "interleave=yes\n"),
        "T f32[8] 32 B\n"
        "for i in 3 any\n  for i.1 in 3 any where 7 - i - 3*i.1 >= 0\n"
        "    T[i + 3*i.1] = A[i + 3*i.1] + 1.0\n"
        "for j in 3 any\n  for j.1 in 3 any where 7 - j - 3*j.1 >= 0\n"
        "    C[j + 3*j.1] = T[j + 3*j.1]*2.0\n");
    tr_end(&r);
}

#define MAC16                                                                                      \
    "stencil mac startup=32\n  index m size=16 out=any in=any,0\n"                                 \
    "  index n size=16 out=any in=0,any\n  index k size=any out=0 in=any,any\n"
#define MAC4                                                                                       \
    "stencil mac4 startup=32\n  index x size=4 out=any in=any,0\n  index y size=4 out=any "        \
    "in=any,0\n  index n size=16 out=any in=0,any\n  index k size=any out=0 in=any,any\n"

TEST(stencil_costs) {
    TreeRun r;
    tr_begin(&r, mm100);
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, MAC16 "pass flatten\npass stencil reqs=#contraction\n") + skip,
                 "stencil      C: mac as 16x16x100, cost 1255968, the least of 2\n");
    CHECK_STR_EQ(said(&r, MAC16 "pass flatten\npass stencil reqs=#contraction strict=yes\n") + skip,
                 "stencil      C: left alone: no stencil matches\n");
    CHECK_STR_EQ(said(&r, MAC16 "pass flatten\npass stencil\n") + skip,
                 "stencil      C: left alone: it is no reduction or copy of one statement\n"
                 "             C: mac as 16x16x100, cost 1255968, the least of 2\n");
    tr_end(&r);
    tr_begin(&r,
             "program f { input I: f32[102, 64] input K: f32[3, 64, 64] output O: f32[100, 64]\n"
             "O: for x in 0:100, c in 0:64, d in 0:64, i in 0:3  "
             "O[x, d] +=! I[x + i, c]*K[i, c, d] }");
    CHECK_STR_EQ(said(&r, MAC16 "pass flatten\npass stencil reqs=#contraction\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "stencil      O: mac as 16x64x16x1, cost 1378944, the least of 4\n");
    tr_end(&r);
    tr_begin(&r, "program f { input I: f32[102, 102, 56] input K: f32[3, 3, 56, 56] output O: "
                 "f32[100, 100, 56]\n"
                 "O: for x in 0:100, y in 0:100, c in 0:56, d in 0:56, i in 0:3, j in 0:3  "
                 "O[x, y, d] +=! I[x + i, y + j, c]*K[i, j, c, d] }");
    CHECK_STR_EQ(said(&r, MAC16 MAC4 "pass flatten\npass stencil reqs=#contraction\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "stencil      O: mac4 as 4x4x56x16x1x1, cost 323280000, the least of 18\n");
    tr_end(&r);
}

TEST(stencil_tiles) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(after(&r, "stencil mac startup=2\n  index m size=3 out=any in=any,0\n"
                           "  index n size=4 out=1 in=0,1\n  index k size=any out=0 in=1,any\n"
                           "pass flatten\npass stencil reqs=#contraction outer=#tiles\n"),
                 "for m in 8, n in 8 any\n  C[m, n] = 0.0\n"
                 "for m in 3, n in 2 any\n"
                 "  for m.1 in 3, n.1 in 4, k in 8 any where 7 - 3*m - m.1 >= 0\n"
                 "    C[3*m + m.1, 4*n + n.1] += A[3*m + m.1, k]*B[k, 4*n + n.1]\n");
    tr_end(&r);
}

// Of matches with one cost, the tile that spans the fewest bytes: w, not h. Reductions that match
// nothing stay in it; the window that slides with the tile goes innermost.
TEST(stencil_tiles_windows) {
    TreeRun r;
    tr_begin(&r,
             "program f { input I: f32[10, 10, 4] input K: f32[3, 3, 4, 8] output O: f32[8, 8, 8]\n"
             "O: for h in 0:8, w in 0:8, f in 0:8, r in 0:3, s in 0:3, c in 0:4  "
             "O[h, w, f] +=! I[h + r, w + s, c]*K[r, s, c, f] }");
    CHECK_STR_EQ(after(&r, "stencil fma\n  index m size=4 out=any in=any,0\n"
                           "  index n size=8 out=1 in=0,1\n  index k size=any out=0 in=any,any\n"
                           "pass flatten\npass stencil reqs=#contraction outer=#tiles whole=yes\n"
                           "pass fuse a=#zero b=#tiles always=yes\n"
                           "pass order vector=8 registers=4\n"),
                 "for h in 8\n  for w in 2\n    for w.1 in 4\n      for f in 8 vector\n"
                 "        O[h, 4*w + w.1, f] = 0.0\n"
                 "    for r in 3\n      for c in 4\n        for s in 3\n          for w.1 in 4\n"
                 "            for f in 8 vector\n"
                 "              O[h, w.1 + 4*w, f] += I[h + r, s + w.1 + 4*w, c]*K[r, s, c, f]\n");
    tr_end(&r);
}

TEST(stencil_transposes_copies) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[8, 8] output B: f32[8, 8]\n"
                 "B: for j in 0:8, i in 0:8  B[j, i] = A[i, j] }");
    CHECK_STR_EQ(after(&r,
                       "stencil t\n  index j size=4 out=any in=1\n  index i size=4 out=1 in=any\n"
                       "pass flatten\npass stencil\n"),
                 "for j in 2, i in 2 any\n  for j.1 in 4, i.1 in 4 any\n"
                 "    B[4*j + j.1, 4*i + i.1] = A[4*i + i.1, 4*j + j.1]\n");
    tr_end(&r);
}

// The stencil with the least cost by its rate; `reqs` may ask for the value of a tag.
TEST(stencil_rates) {
    TreeRun r;
    tr_begin(&r, mm8);
    size_t skip = strlen(said(&r, "pass flatten\n"));
    const char *two_rates =
        "stencil slow\n  index n size=8 out=1 in=0,1\n  index k size=any out=0 in=any,any\n"
        "stencil fast rate=4\n  index m size=6 out=any in=any,0\n  index n size=8 out=1 in=0,1\n"
        "  index k size=any out=0 in=any,any\n"
        "pass flatten\npass stencil reqs=#contraction\n";
    CHECK_STR_EQ(said(&r, two_rates) + skip,
                 "stencil      C: fast as 6x8x8, cost 768, the least of 2\n");
    CHECK_STR_EQ(said(&r, arena_printf(&r.arena,
                                       "%spass autotile reqs=#stencil=slow\n"
                                       "pass autotile as=again reqs=#stencil=fast "
                                       "max_product=8\n",
                                       two_rates)) +
                     strlen(said(&r, two_rates)),
                 "autotile     no block has #stencil=slow\n"
                 "again        C: 2x2x2 of 6x8x8, cost 1.63058; 1x1x1 would cost 4.00858; 71 tiles "
                 "tried\n");
    tr_end(&r);
}

TEST(partition_and_bank) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(after(&r, "pass flatten\npass partition reqs=#contraction unit=PROC outer=#p\n"),
                 "for m in 8, n in 8 any\n  C[m, n] = 0.0\n"
                 "for m in 2 any\n  for m.1 in 4, n in 8, k in 8 any\n"
                 "    C[4*m + m.1, n] += A[4*m + m.1, k]*B[k, n]\n");
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, "pass flatten\npass partition reqs=#contraction parts=3\n") + skip,
                 "partition    C: m in 3 parts of 3\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass partition reqs=#contraction parts=1\n") + skip,
                 "partition    C: left alone: there is one part\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass bank reqs=#contraction unit=SRAM\n") + skip,
                 "bank         C: m in 2 parts of 4\n");
    Passes p = passes(&r, "pass flatten\npass bank reqs=#contraction unit=SRAM\n");
    CHECK_INT_EQ(p.tree->buffers.at[0].bank_dim, 0);
    tr_end(&r);
    tr_begin(&r, "program f { input A: f32[8] output C: f32[]\nC: for i in 0:8  C[] +=! A[i] }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass partition reqs=#contraction parts=2\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "partition    C: left alone: no index of its output can be divided\n");
    tr_end(&r);
}

TEST(fuse_localize_scalarize) {
    TreeRun r;
    tr_begin(&r, two);
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes\n"),
                 "T f32[8] 32 B\nfor i in 8 any\n  T[i] = A[i] + 1.0\n  C[i] = T[i]*2.0\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes\npass localize\n"),
                 "for i in 8 any\n  T f32[1] 4 B\n  T[0] = A[i] + 1.0\n  C[i] = T[0]*2.0\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes\npass localize\npass scalarize\n"),
                 "for i in 8 any\n  C[i] = (A[i] + 1.0)*2.0\n");
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, "pass flatten\npass fuse\n") + skip,
                 "fuse         C: with T 64 bytes move and 4 are kept, apart 64 and 32\n");
    tr_end(&r);
}

// 64 rows of 1 KiB map to few sets of a cache: the tile that is started less often wins.
TEST(stencils_count_lines_that_collide) {
    static const char two_tiles[] = "memory FAR bandwidth=1\n"
                                    "memory NEAR in=FAR size=8KiB line=64 ways=8\n"
                                    "stencil small startup=1\n"
                                    "  index m size=8 out=any in=any,0\n"
                                    "  index n size=16 out=1 in=0,1\n"
                                    "  index k size=any out=0 in=any,any\n"
                                    "stencil large startup=4096\n"
                                    "  index m size=64 out=any in=any,0\n"
                                    "  index n size=16 out=1 in=0,1\n"
                                    "  index k size=any out=0 in=any,any\n"
                                    "pass flatten\npass stencil reqs=#contraction%s\n";
    for (int i = 0; i < 4; i++) {
        TreeRun r;
        char program[256];
        snprintf(program, sizeof program,
                 "program f { input A: f32[64, 64] input B: f32[64, %d] output C: f32[64, 16]\n"
                 "C: for m in 0:64, n in 0:16, k in 0:64  C[m, n] +=! A[m, k]*B[k, n] }",
                 i % 2 ? 256 : 272);
        tr_begin(&r, program);
        const char *lines = arena_printf(&r.arena, two_tiles, i < 2 ? " fits=NEAR" : "");
        CHECK(strstr(said(&r, lines), i == 1 ? "C: large as" : "C: small as"));
        tr_end(&r);
    }
}

// Blocks with an excluded tag stay, and so do the pairs inside of them.
TEST(fusion_excludes_tags) {
    TreeRun r;
    tr_begin(&r, two);
    const char *apart = after(&r, "pass flatten\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes exclude=#eltwise\n"), apart);
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes exclude=#no,#eltwise\n"), apart);
    CHECK_STR_EQ(after(&r, "pass flatten\npass fuse always=yes exclude=#zero\n"),
                 after(&r, "pass flatten\npass fuse always=yes\n"));
    tr_end(&r);
}

// Rows of a memory with lines are fused, columns would waste lines.
TEST(fusion_counts_lines) {
    static const char lines[] = "memory FAR line=64\nmemory NEAR in=FAR size=1KiB line=64\n"
                                "pass flatten\npass fuse b=#eltwise fits=NEAR\n";
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[64, 64] output C: f32[64, 64] temp s: f32[64]\n"
                 "s: for i in 0:64, j in 0:64  s[i] max=! A[i, j]\n"
                 "C: for i in 0:64, j in 0:64  C[i, j] = A[i, j] - s[i] }");
    CHECK(strstr(said(&r, lines),
                 "C: with s 36864 bytes move and 256 are kept, apart 57344 and 256"));
    tr_end(&r);
    tr_begin(&r, "program f { input A: f32[8, 512] output C: f32[8, 512] temp s: f32[512]\n"
                 "s: for i in 0:8, j in 0:512  s[j] max=! A[i, j]\n"
                 "C: for i in 0:8, j in 0:512  C[i, j] = A[i, j] - s[j] }");
    CHECK(strstr(said(&r, lines), "C: left alone: with s"));
    tr_end(&r);
}

TEST(fusion_matches_tiles) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(after(&r, "stencil mac\n  index m size=3 out=any in=any,0\n"
                           "  index n size=4 out=1 in=0,1\n  index k size=any out=0 in=1,any\n"
                           "pass flatten\npass stencil reqs=#contraction outer=#tiles\n"
                           "pass fuse a=#zero b=#tiles always=yes\n"),
                 "for m in 3, n in 2 any\n"
                 "  for m.1 in 3, n.1 in 4 any where 7 - 3*m - m.1 >= 0\n"
                 "    C[3*m + m.1, 4*n + n.1] = 0.0\n"
                 "  for m.1 in 3, n.1 in 4, k in 8 any where 7 - m.1 - 3*m >= 0\n"
                 "    C[m.1 + 3*m, n.1 + 4*n] += A[m.1 + 3*m, k]*B[k, n.1 + 4*n]\n");
    tr_end(&r);
}

TEST(fusion_is_refused) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[9] temp T: f32[9] output C: f32[8]\n"
                 "T: for i in 0:9  T[i] = A[i] + 1.0\nC: for j in 0:8  C[j] = T[j + 1]*2.0 }");
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, "pass flatten\npass fuse always=yes\n") + skip,
                 "fuse         C: left alone: shares no loop with T\n");
    tr_end(&r);
    tr_begin(&r, "program f { input A: f32[9] temp T: f32[9] output C: f32[9]\n"
                 "T: for i in 0:9  T[i] = A[i] + 1.0\n"
                 "C: for j in 0:9  C[j] = T[8 - j]*2.0 }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass fuse always=yes\n") + skip,
                 "fuse         C: left alone: shares no loop with T\n");
    tr_end(&r);
    // The sum of one row needs all of the other: what is fused would read too early.
    tr_begin(&r, "program f { input A: f32[4, 4] temp T: f32[4] output C: f32[4, 4]\n"
                 "T: for i in 0:4, k in 0:4  T[i] +=! A[i, k]\n"
                 "C: for i in 0:4, k in 0:4  C[i, k] = T[i]*T[k] }");
    const char *text = said(&r, "pass flatten\npass fuse a=#contraction b=#eltwise always=yes\n");
    CHECK(strstr(text, "left alone"));
    tr_end(&r);
}

TEST(prune_and_dead) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[1, 8] temp T: f32[8] output C: f32[1, 8]\n"
                 "T: for i in 0:8  T[i] = A[0, i] + 1.0\n"
                 "C: for j in 0:1, i in 0:8  C[j, i] = A[j, i]*2.0 }");
    CHECK_STR_EQ(after(&r, "pass flatten\npass dead\n"),
                 "for j in 1, i in 8 any\n  C[j, i] = A[j, i]*2.0\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass dead\npass prune\n"),
                 "for i in 8 any\n  C[0, i] = A[0, i]*2.0\n");
    tr_end(&r);
}

TEST(constraints) {
    TreeRun r;
    tr_init(&r);
    const char *text = "block []:1 (\n  in A[0] fp32(8):(1)\n  out C[0]:assign fp32(8):(1)\n) {\n"
                       "  0: block [i:8]:8 (\n    9 - i >= 0\n    in A[i] fp32(1):(1)\n"
                       "    out C[i]:assign fp32(1):(1)\n  ) {\n"
                       "    0: $a = load(A)\n    1: C = store($a)\n  }\n"
                       "  1: block [i:8]:8 (\n    -1 - i >= 0\n    in A[i] fp32(1):(1)\n"
                       "    out C[i]:assign fp32(1):(1)\n  ) {\n"
                       "    0: $a = load(A)\n    1: C = store($a)\n  }\n}\n";
    const Tree *t = stripe_parse(&r.arena, &r.names, tr_source(&r, "t.stripe", text), &r.diags);
    const Hardware *h = machine(&r, "pass constraints\n");
    Passes p;
    if (!CHECK(t && h && passes_run(&r.arena, h, t, &(PassesOptions){0}, &p, &r.diags))) return;
    Text out = {.arena = &r.arena};
    passes_explain(&out, &p);
    tree_show(&out, p.tree, false);
    CHECK_STR_EQ(text_str(&out), "constraints  i: 1 constraint always holds\n"
                                 "             i: never runs\n"
                                 "for i in 8 any\n  C[i] = A[i]\n");
    tr_end(&r);
}

TEST(boundary) {
    TreeRun r;
    tr_begin(&r, edge);
    CHECK_STR_EQ(after(&r, "pass flatten\npass boundary reqs=#contraction\n"),
                 "for x in 8 any\n  C[x] = 0.0\n"
                 "for x in 1, i in 3 any where x + i - 1 >= 0\n  C[x] += A[x + i - 1]\n"
                 "for x in 6, i in 3 any\n  C[x + 1] += A[x + i]\n"
                 "for i in 3 any where 1 - i >= 0\n  C[7] += A[i + 6]\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass boundary reqs=#contraction least=0.9\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "boundary     C: left alone: the interior would be 75 % of it\n");
    tr_end(&r);
}

TEST(cache) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[6] output C: f32[4]\n"
                 "C: for i in 0:4, j in 0:3  C[i] +=! A[i + j] }");
    const char *tile = "pass flatten\npass autotile reqs=#contraction acc=no max_output=4 "
                       "inner=#in outer=#out split_factor=-9\n";
    CHECK_STR_EQ(after(&r, arena_printf(&r.arena, "%spass cache reqs=#out unit=SRAM\n", tile)),
                 "for i in 4 any\n  C[i] = 0.0\n"
                 "for i in 4 any\n  A.copy f32[3] 12 B\n  C.copy f32[1] 4 B\n"
                 "  block\n    C.copy[0] = -0.0\n"
                 "  for d0 in 3 any\n    A.copy[d0] = A[i + d0]\n"
                 "  for j in 3 any\n    C.copy[0] += A.copy[j]\n  block\n    C[i] += C.copy[0]\n");
    CHECK_STR_EQ(
        said(&r, arena_printf(&r.arena, "%spass cache reqs=#out unit=SRAM out=no\n", tile)) +
            strlen(said(&r, tile)),
        "cache        C: A: 12 bytes\n");
    CHECK_STR_EQ(said(&r,
                      "memory SRAM size=8\npass flatten\npass cache reqs=#contraction unit=SRAM "
                      "out=no\npass cache as=whole reqs=#zero unit=SRAM\n") +
                     strlen(said(&r, "pass flatten\n")),
                 "cache        C: A: 4 bytes\n"
                 "whole        C: left alone: C: cannot cache: it initialises an argument\n");
    tr_end(&r);
}

// A copy along an index is contiguous along it, whatever the tensor is.
TEST(cache_along_an_index) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4, 6] input B: f32[8, 6] output C: f32[4, 8]\n"
                 "C: for m in 0:4, n in 0:8, k in 0:6  C[m, n] +=! A[m, k]*B[n, k] }");
    const char *tile = "stencil panel\n  index m size=any out=any in=any,0\n"
                       "  index n size=4 out=1 in=0,any\n  index k size=any out=0 in=1,1\n"
                       "pass flatten\npass stencil reqs=#contraction outer=#tiles\n";
    const char *pack = "pass cache reqs=#tiles unit=SRAM out=no along=stencil_n\n";
    CHECK_STR_EQ(after(&r, arena_printf(&r.arena, "%s%s", tile, pack)),
                 "for m in 4, n in 8 any\n  C[m, n] = 0.0\n"
                 "for n in 2 any\n  B.copy f32[4, 6] 96 B\n"
                 "  for d0 in 4, d1 in 6 any\n    B.copy[d0, d1] = B[4*n + d0, d1]\n"
                 "  for m in 4, n.1 in 4, k in 6 any\n"
                 "    C[m, 4*n + n.1] += A[m, k]*B.copy[n.1, k]\n");
    Passes p = passes(&r, arena_printf(&r.arena, "%s%s", tile, pack));
    const Buffer *copy = &p.tree->buffers.at[p.tree->buffers.n - 1];
    CHECK_INT_EQ(copy->stride[0], 1);
    CHECK_INT_EQ(copy->stride[1], 4);
    CHECK_STR_EQ(
        said(&r, arena_printf(&r.arena, "%spass cache reqs=#tiles along=stencil_x\n", tile)) +
            strlen(said(&r, tile)),
        "cache        C: left alone: no index has the tag #stencil_x\n");
    tr_end(&r);
}

TEST(order_parallel_threads_unroll) {
    TreeRun r;
    tr_begin(&r, mm8);
    CHECK_STR_EQ(after(&r, "pass flatten\npass order vector=4 registers=0\n"
                           "pass parallel work=0\n"),
                 "for m in 8 parallel\n  for n in 2\n    for n.1 in 4 vector\n"
                 "      C[m, 4*n + n.1] = 0.0\n"
                 "for m in 8 parallel\n  for n in 2\n    for k in 8\n      for n.1 in 4 vector\n"
                 "        C[m, 4*n + n.1] += A[m, k]*B[k, 4*n + n.1]\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass order vector=8 registers=8\n"),
                 "for m in 8\n  for n in 8 vector\n    C[m, n] = 0.0\n"
                 "for k in 8\n  for m in 8\n    for n in 8 vector\n"
                 "      C[m, n] += A[m, k]*B[k, n]\n");
    CHECK_STR_EQ(after(&r, "pass flatten\npass threads threads=4\n"),
                 "for m in 8 grid.x\n  for n in 4 thread.x\n    for n.1 in 2 any\n"
                 "      C[m, n + 4*n.1] = 0.0\n"
                 "for m in 8 grid.x\n  for n in 4 thread.x\n    for n.1 in 2, k in 8 any\n"
                 "      C[m, n + 4*n.1] += A[m, k]*B[k, n + 4*n.1]\n");
    tr_end(&r);
    tr_begin(&r, "program f { input A: f32[2, 4] output C: f32[2, 4]\n"
                 "C: for i in 0:2, j in 0:4  C[i, j] = A[i, j] }");
    CHECK_STR_EQ(after(&r, "pass flatten\npass unroll most=4\n"),
                 "for i in 2 any\n  C[i, 0] = A[i, 0]\nfor i in 2 any\n  C[i, 1] = A[i, 1]\n"
                 "for i in 2 any\n  C[i, 2] = A[i, 2]\nfor i in 2 any\n  C[i, 3] = A[i, 3]\n");
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, "pass flatten\npass unroll most=3\n") + skip,
                 "unroll       C: left alone: j has 4 iterations\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass parallel\n") + skip,
                 "parallel     C: left alone: it has several indices: order it first\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass order\npass threads\n") + skip,
                 "order        done\nthreads      C: left alone: its order is decided\n");
    tr_end(&r);
}

// A panel of B is larger than the rows of A that a tile needs: it is loaded less often.
// The comment of pass_stream.c, in small.
TEST(stream) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4096] output C: f32[4096]\n"
                 "C: for i in 0:4096  C[i] = A[i] }");
    CHECK_STR_EQ(after(&r, "memory SRAM size=4KiB line=64\npass order vector=128\npass stream\n"),
                 "for i in 32\n  for i.1 in 128 vector\n"
                 "    C[128*i + i.1] = A[128*i + i.1]   nontemporal\n");
    tr_end(&r);
}

TEST(order_by_transfers) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[32, 64] input B: f32[64, 32] output C: f32[32, 32]\n"
                 "C: for m in 0:32, n in 0:32, k in 0:64  C[m, n] +=! A[m, k]*B[k, n] }");
    const char *lines = "stencil mac\n  index m size=4 out=any in=any,0\n"
                        "  index n size=8 out=any in=0,any\n  index k size=any out=0 in=any,any\n"
                        "pass flatten\npass stencil reqs=#contraction outer=#o\n"
                        "pass order reqs=#o fits=SRAM\n";
    CHECK_STR_EQ(
        strstr(said(&r, lines), "order "),
        "order        C: by n m transfers into SRAM take 45056 cycles, as they were 77824\n");
    CHECK(strstr(after(&r, lines), "for n in 4\n  for m in 8\n"));
    tr_end(&r);
}

TEST(transpose_makes_reductions_contiguous) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4, 6] temp T: f32[4, 6] output C: f32[6]\n"
                 "T: for k in 0:4, n in 0:6  T[k, n] = A[k, n] + 1.0\n"
                 "C: for n in 0:6, k in 0:4  C[n] +=! T[k, n] }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass transpose\n") + strlen(said(&r, "pass flatten\n")),
                 "transpose    T: dimension 0 is contiguous\n");
    Passes p = passes(&r, "pass flatten\npass transpose\n");
    const Buffer *t = &p.tree->buffers.at[p.tree->nargs];
    CHECK_INT_EQ(t->stride[0], 1);
    CHECK_INT_EQ(t->stride[1], 4);
    after(&r, "pass flatten\npass transpose\n");
    tr_end(&r);
}

static const char chain[] =
    "program f { input I: f32[8] temp A: f32[8] temp B: f32[8] temp C: f32[8] output O: f32[8]\n"
    "A: for i in 0:8  A[i] = I[i] + 1.0\nB: for i in 0:8  B[i] = A[i] + 1.0\n"
    "C: for i in 0:8  C[i] = B[i] + 1.0\nO: for i in 0:8  O[i] = C[i] + 1.0 }";

TEST(deps_and_place) {
    TreeRun r;
    tr_begin(&r, chain);
    size_t skip = strlen(said(&r, "pass flatten\n"));
    CHECK_STR_EQ(said(&r, "pass flatten\npass deps\npass place\n") + skip,
                 "deps         B: statement 1 after 0\n             C: statement 2 after 1\n"
                 "             O: statement 3 after 2\n"
                 "place        A at 0\n             B at 32\n             C at 0\n");
    CHECK_STR_EQ(said(&r, "pass flatten\npass place\n") + skip,
                 "place        A at 0\n             B at 32\n             C at 64\n");
    CHECK_STR_EQ(said(&r, "memory SRAM size=40\npass flatten\npass locate buffers=SRAM\n"
                          "pass place unit=SRAM\n") +
                     skip,
                 "locate       3 buffers in SRAM\n"
                 "place        left alone: its buffers need 96 bytes, SRAM has 80\n");
    after(&r, "pass flatten\npass deps\npass place\npass locate buffers=SRAM blocks=PROC\n");
    tr_end(&r);
    // Rows that do not overlap need no order.
    tr_begin(&r, "program f { input A: f32[4] output C: f32[8]\n"
                 "C: for i in 0:4  C[i] = A[i]\nD: for i in 0:4  C[i + 4] = A[i] }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass deps\n") + strlen(said(&r, "pass flatten\n")),
                 "deps         done\n");
    tr_end(&r);
}

// Buffers of a block inside lie above those of the blocks around it that are alive.
TEST(place_nested_buffers) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[64, 64] input B: f32[64, 64] output C: f32[64, 64]\n"
                 "C: for m in 0:64, n in 0:64, k in 0:64  C[m, n] +=! A[m, k]*B[k, n] }");
    const char *lines = "pass flatten\n"
                        "pass autotile reqs=#contraction max_total=3072 outer=#o inner=#t po2=yes\n"
                        "pass cache reqs=#o unit=SRAM\n"
                        "pass autotile as=inner reqs=#t max_total=192 outer=#i po2=yes\n"
                        "pass cache as=registers reqs=#i unit=SRAM\n"
                        "pass deps\npass place unit=SRAM\n";
    const char *text = strstr(said(&r, lines), "place ");
    CHECK_STR_EQ(text,
                 "place        C: A.copy at 0\n             C: B.copy at 1024\n"
                 "             C: C.copy at 2048\n             C: A.copy.copy at 3072\n"
                 "             C: B.copy.copy at 3136\n             C: C.copy.copy at 3200\n");
    tr_end(&r);
}

TEST(reorder_moves_consumers_up) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4] input B: f32[4] temp T: f32[4] temp U: f32[4]\n"
                 "output C: f32[4] output D: f32[4]\n"
                 "T: for i in 0:4  T[i] = A[i] + 1.0\nU: for i in 0:4  U[i] = B[i] + 1.0\n"
                 "C: for i in 0:4  C[i] = T[i]*2.0\nD: for i in 0:4  D[i] = U[i]*2.0 }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass reorder\n") + strlen(said(&r, "pass flatten\n")),
                 "reorder      C: behind T\n");
    after(&r, "pass flatten\npass reorder\n");
    tr_end(&r);
}

TEST(places_that_depend_on_loops_are_refused) {
    TreeRun r;
    tr_init(&r);
    const char *text = "block []:1 (\n  in A[0] fp32(8):(1)\n  out C[0]:assign fp32(8):(1)\n) {\n"
                       "  0: block [i:8]:8 (\n    in A[i] fp32(1):(1)\n"
                       "    out C[i]:assign fp32(1):(1)\n    none T<SRAM[i]>[0] fp32(1):(1)\n"
                       "  ) {\n"
                       "    0: $a = load(A)\n    1: T = store($a)\n    2: $t = load(T)\n"
                       "    3: C = store($t)\n  }\n}\n";
    const Tree *t = stripe_parse(&r.arena, &r.names, tr_source(&r, "t.stripe", text), &r.diags);
    const Hardware *h = machine(&r, "pass prune\n");
    Passes p;
    CHECK(t && h && !passes_run(&r.arena, h, t, &(PassesOptions){0}, &p, &r.diags));
    CHECK_STR_EQ(tr_diags(&r), "error: the place of 'T' depends on loops, which passes change\n");
    tr_end(&r);
}

TEST(until_names_a_label) {
    TreeRun r;
    tr_begin(&r, two);
    const Hardware *h = machine(&r, "pass flatten\npass fuse as=join\n");
    Passes p;
    CHECK(passes_run(&r.arena, h, apart(&r), &(PassesOptions){.until = "flatten"}, &p, &r.diags));
    CHECK_INT_EQ(p.nsteps, 1);
    CHECK(!passes_run(&r.arena, h, apart(&r), &(PassesOptions){.until = "jion"}, &p, &r.diags));
    CHECK(strstr(tr_diags(&r), "error: the passes of 'toy' have no label 'jion'\n"));
    tr_end(&r);
}
