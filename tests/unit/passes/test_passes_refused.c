// Every reason for which a pass leaves a block alone.
#include "unit/passes/passes_run.h"

// What the last pass said after `flatten`.
static const char *only(TreeRun *r, const char *lines) {
    const char *flat = "pass flatten\n";
    return said(r, arena_printf(&r->arena, "%s%s", flat, lines)) + strlen(said(r, flat));
}

static void check_one(const char *program, const char *lines, const char *want) {
    TreeRun r;
    tr_begin(&r, program);
    CHECK_STR_EQ(only(&r, lines), want);
    tr_end(&r);
}

static const char product[] =
    "program f { input A: f32[8, 8] input B: f32[8, 8] output C: f32[8, 8]\n"
    "C: for m in 0:8, n in 0:8, k in 0:8  C[m, n] +=! A[m, k]*B[k, n] }";
static const char sum[] =
    "program f { input A: f32[8] output C: f32[]\nC: for i in 0:8  C[] +=! A[i] }";
static const char copy[] = "program f { input A: f32[4, 4] output C: f32[4, 4]\n"
                           "C: for i in 0:4, j in 0:4  C[i, j] = A[i, j] }";
static const char flipped[] = "program f { input A: f32[4, 4] output C: f32[4, 4]\n"
                              "C: for i in 0:4, j in 0:4  C[2*i - i, 3 - j] = A[i, j] }";

#define MAC                                                                                        \
    "stencil mac\n  index m size=4 out=any in=any,0\n  index n size=4 out=any in=0,any\n"          \
    "  index k size=any out=0 in=any,any\n"

// A block with `n` indices of one iteration, but for the first.
static const char *wide_block(TreeRun *r, int n) {
    Text text = {.arena = &r->arena};
    text_add(&text, "block []:1 (\n  in A[0] fp32(4):(1)\n  out C[0]:assign fp32(4):(1)\n) {\n"
                    "  0: block [i0:4");
    for (int i = 1; i < n; i++) text_printf(&text, ", i%d:1", i);
    text_add(&text, "]:4 (\n    in A[i0] fp32(1):(1)\n    out C[i0]:assign fp32(1):(1)\n  ) {\n"
                    "    0: $a = load(A)\n    1: C = store($a)\n  }\n}\n");
    return text_str(&text);
}

TEST(autotile_refuses) {
    check_one(copy, "pass autotile input_cost=0 output_cost=0 start_cost=0 split_factor=-1\n",
              "autotile     C: left alone: the best tile is one iteration, cost -4\n");
    check_one("program f { input A: f32[0] output C: f32[0]\nC: for i in 0:0  C[i] = A[i] }",
              "pass autotile\n", "autotile     C: left alone: it has no iterations\n");
    TreeRun r;
    tr_init(&r);
    CHECK_STR_EQ(said_of_text(&r, wide_block(&r, 17), "pass autotile\n"),
                 "autotile     i0: left alone: it has more than 16 indices\n");
    tr_end(&r);
}

TEST(stencil_refuses) {
    check_one(product, MAC "pass stencil reqs=#zero\n",
              "stencil      C: left alone: it is no reduction or copy of one statement\n");
    check_one(product, "pass stencil reqs=#contraction\n",
              "stencil      C: left alone: no stencil matches\n");
    check_one(sum, "stencil one\n  index k size=1 out=0 in=any\npass stencil reqs=#contraction\n",
              "stencil      C: left alone: the stencil 'one' would be one iteration\n");
    check_one("program f { input A: f32[9] output C: f32[8]\n"
              "C: for i in 0:8, k in 0:2  C[i] +=! A[i + k]*A[i] }",
              MAC "pass stencil reqs=#contraction\n",
              "stencil      C: left alone: it uses a tensor twice\n");
    check_one("program f { output C: f32[8]\nC: for i in 0:8, k in 0:2  C[i] +=! 1.0 }",
              MAC "pass stencil reqs=#contraction\n",
              "stencil      C: left alone: it has no input\n");
    check_one("program f { input A: f32[8] input X: i32[4] output C: f32[4]\n"
              "C: for i in 0:4, k in 0:2  C[i] +=! A[X[i]] }",
              MAC "pass stencil reqs=#contraction\n",
              "stencil      C: left alone: an access is not affine\n");
    TreeRun r;
    tr_init(&r);
    CHECK_STR_EQ(said_of_text(&r, wide_block(&r, 9), MAC "pass stencil\n"),
                 "stencil      i0: left alone: it has more than 8 indices\n");
    tr_end(&r);
}

TEST(partition_and_bank_refuse) {
    check_one(product, "pass partition reqs=#contraction parts=1\n",
              "partition    C: left alone: there is one part\n");
    check_one(sum, "pass partition reqs=#contraction parts=2\n",
              "partition    C: left alone: no index of its output can be divided\n");
    check_one(sum, "pass bank reqs=#contraction unit=SRAM\n",
              "bank         C: left alone: no index of its output can be divided\n");
    check_one(product, "pass bank reqs=#contraction parts=1\n",
              "bank         C: left alone: there is one part\n");
}

TEST(cache_refuses) {
    check_one(
        product,
        "memory SRAM size=16\npass autotile reqs=#contraction max_product=64 outer=#o\n"
        "pass cache reqs=#o unit=SRAM out=no\n",
        "autotile     C: 4x4x4 of 8x8x8, cost 0.768625; 1x1x1 would cost 4.009; 352 tiles tried\n"
        "cache        C: left alone: A needs 64 bytes, 16 are left\n"
        "             C: left alone: B needs 64 bytes, 16 are left\n");
    check_one(product, "pass cache reqs=#contraction strided=yes out=no\n",
              "cache        C: left alone: A is contiguous\n"
              "             C: left alone: B is contiguous\n");
    check_one(product, "pass cache reqs=#zero\n",
              "cache        C: left alone: C: cannot cache: it initialises an argument\n");
    check_one(product, "pass cache reqs=#contraction along=x\n",
              "cache        C: left alone: no index has the tag #x\n");
}

TEST(unroll_stops) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[30, 30] output C: f32[30, 30]\n"
                 "C: for i in 0:30, j in 0:30  C[i, j] = A[i, j] }");
    const char *text = only(&r, "pass unroll most=64\npass unroll as=again most=64\n");
    CHECK(strstr(text, "unroll       C: j, 30 times\nagain        C: i, 30 times\n"));
    CHECK(strstr(text, "C: left alone: there would be more than 512 statements\n"));
    tr_end(&r);
}

TEST(steps_keep_their_order) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[9] inout C: f32[9]\n"
                 "for i in 0:8 { C: C[i + 1] = C[i] + A[i] } }");
    CHECK_STR_EQ(said(&r, "pass flatten\npass order vector=8\n"),
                 "flatten      C: #eltwise, iterations in order\n"
                 "order        C: i innermost, no vector: cannot vectorize: the loop over 'i' is "
                 "vector, but iteration (i=1) reads C[1], which iteration (i=0) writes (flow "
                 "dependence)\n");
    tr_end(&r);
}

TEST(loops_are_refused) {
    check_one(product, "pass unroll reqs=#contraction most=4\n",
              "unroll       C: left alone: k has 8 iterations\n");
    check_one(product, "pass unroll reqs=#contraction index=x\n",
              "unroll       C: left alone: no index has the tag #x\n");
    check_one(product, "pass parallel reqs=#contraction\n",
              "parallel     C: left alone: it has several indices: order it first\n");
    check_one(sum, "pass parallel reqs=#contraction work=0\n",
              "parallel     C: left alone: its outermost loop is reduced over\n");
    check_one("program f { input A: f32[8] output C: f32[8]\nC: for i in 0:8  C[i] = A[i] }",
              "pass parallel\n",
              "parallel     C: left alone: 8 iterations, 8 leaf executions: too few\n");
    check_one("program f { input A: f32[8] output C: f32[8]\nC: for i in 0:8  C[i] = A[i] }",
              "pass order vector=8\npass parallel work=0\n",
              "order        C: i innermost\nparallel     C: left alone: its order is decided\n");
    check_one(flipped, "pass threads\n",
              "threads      C: left alone: no index of its output is contiguous\n");
    check_one(copy, "pass order\npass threads\n",
              "order        done\nthreads      C: left alone: its order is decided\n");
}

TEST(stream_refuses) {
#define STREAM "memory SRAM size=16\npass order vector=16\npass stream fits=SRAM\n"
#define SAID   "order        C: "
    check_one("program f { input A: f32[64] output C: f32[64]\nC: for i in 0:64  C[i] = A[i] }",
              "memory SRAM size=1KiB\npass order vector=16\npass stream fits=SRAM\n",
              SAID "i innermost\nstream       C: left alone: C: its 512 bytes fit SRAM\n");
    check_one("program f { input A: f32[64] output C: f32[64]\nC: for i in 0:64  C[i] += A[i] }",
              STREAM, SAID "i innermost\nstream       C: left alone: C: it adds to its results\n");
    check_one("program f { input A: f32[64] temp T: f32[64] output C: f32[64]\n"
              "T: for i in 0:64  T[i] = A[i]\nC: for i in 0:64  C[i] = T[i] }",
              STREAM,
              "order        T: i innermost\n             C: i innermost\n"
              "stream       T: left alone: T: its results are used again\n"
              "             C: C: 512 bytes are more than the 32 of SRAM\n");
    check_one("program f { input A: f32[9, 20] output C: f32[9, 20]\n"
              "C: for i in 0:9, j in 0:20  C[i, j] = A[i, j] }",
              "memory SRAM size=16 line=64\npass order vector=32\npass stream fits=SRAM\n",
              SAID "j innermost\n"
                   "stream       C: left alone: C: it does not write vectors of whole lines\n");
    check_one(copy, "memory SRAM size=0\npass stream\n",
              "stream       left alone: no memory unit has a size\n");
}

TEST(locate_and_place_refuse) {
    check_one(copy, "pass locate blocks=PROC\npass locate as=again blocks=PROC\n",
              "locate       C: on PROC\nagain        C: left alone: it has a place\n");
    check_one(copy, "pass partition unit=PROC\npass locate reqs=#copy blocks=PROC\n",
              "partition    C: i in 2 parts of 2\n"
              "locate       C: left alone: it is inside a block on PROC\n");
    TreeRun r;
    tr_init(&r);
    Text text = {.arena = &r.arena};
    text_add(&text, "block []:1 (\n  in A[0] fp32(1):(1)\n  out C[0]:assign fp32(1):(1)\n"
                    "  none T[0] fp32(1):(1)\n) {\n");
    for (int i = 0; i < 257; i++)
        text_printf(
            &text,
            "  %d: block [i:1]:1 (\n    in A[0] fp32(1):(1)\n    out %s[0]:assign fp32(1):(1)\n"
            "  ) {\n    0: $a = load(A)\n    1: %s = store($a)\n  }\n",
            i, i ? "T" : "C", i ? "T" : "C");
    text_add(&text, "}\n");
    CHECK_STR_EQ(said_of_text(&r, text_str(&text), "pass place\n"),
                 "place        left alone: it has more than 256 statements\n");
    tr_end(&r);
}
