// The passes schedule and initialize on the examples of their comments, and every reason for which
// they leave a block alone.
#include "transform/transform_block.h"
#include "unit/passes/passes_run.h"

#define DMA      "compute PROC rate=1000\ntransfer DMA from=DRAM to=SRAM bandwidth=16 latency=64\n"
#define FLAT     DMA "pass flatten\n"
#define SCHEDULE "pass schedule reqs=#contraction unit=SRAM move=DMA outer=#tiles inner=#tile\n"

// What the passes after `flatten` said.
static const char *only(TreeRun *r, const char *lines) {
    return said(r, arena_printf(&r->arena, "%s%s", FLAT, lines)) + strlen(said(r, FLAT));
}

static void check_one(const char *program, const char *lines, const char *want) {
    TreeRun r;
    tr_begin(&r, program);
    CHECK_STR_EQ(only(&r, lines), want);
    tr_end(&r);
}

static const char product[] =
    "program f { input A: f32[64, 64] input B: f32[64, 8] output C: f32[64, 8]\n"
    "C: for m in 0:64, n in 0:8, k in 0:64  C[m, n] +=! A[m, k]*B[k, n] }";

TEST(schedule_keeps_what_is_used_again) {
    TreeRun r;
    tr_begin(&r, product);
    CHECK_STR_EQ(only(&r, SCHEDULE "pass initialize\n"),
                 "schedule     C: 64x8x8 of 64x8x64 by k, 2372 cycles: transfers 2368, compute 33; "
                 "578 plans tried\n"
                 "             C: A: 2048 bytes at 0, for each k, 2 copies\n"
                 "             C: B: 256 bytes at 4096, for each k, 2 copies\n"
                 "             C: C: 2048 bytes at 4608, once\n"
                 "initialize   C: C starts where it is stored\n");
    CHECK_STR_EQ(after(&r, FLAT SCHEDULE "pass initialize\npass prune\n"),
                 "C.copy f32[64, 8] 2048 B\n"
                 "for d0 in 64, d1 in 8 any\n"
                 "  C.copy[d0, d1] = -0.0\n"
                 "for k in 8\n"
                 "  A.copy f32[64, 8] 2048 B\n"
                 "  B.copy f32[8, 8] 256 B\n"
                 "  for d0 in 8, d1 in 8 any\n"
                 "    B.copy[d0, d1] = B[8*k + d0, d1]\n"
                 "  for d0 in 64, d1 in 8 any\n"
                 "    A.copy[d0, d1] = A[d0, 8*k + d1]\n"
                 "  for m in 64, n in 8, k.1 in 8 any\n"
                 "    C.copy[m, n] += A.copy[m, k.1]*B.copy[k.1, n]\n"
                 "for d0 in 64, d1 in 8 any\n"
                 "  C[d0, d1] = 0.0\n"
                 "  C[d0, d1] += C.copy[d0, d1]\n");
    tr_end(&r);
}

TEST(schedule_compresses_strides) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[64, 31] input B: f32[64, 8] output C: f32[16, 8]\n"
                 "C: for m in 0:16, n in 0:8, k in 0:64  C[m, n] +=! A[k, 2*m]*B[k, n] }");
    CHECK_STR_EQ(
        only(&r, SCHEDULE),
        "schedule     C: 16x8x64 of 16x8x64 at once, 616 cycles: transfers 608, compute 8; "
        "448 plans tried\n"
        "             C: A: 4096 bytes at 0, once\n"
        "             C: B: 2048 bytes at 4096, once\n"
        "             C: C: 512 bytes at 6144, once\n");
    CHECK(strlen(after(&r, FLAT SCHEDULE "pass initialize\n")) > 0);
    tr_end(&r);
}

// A block that fits the unit as a whole is one tile if loading it in parts would take longer.
TEST(schedule_takes_a_block_at_once) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[8, 4] output C: f32[8]\n"
                 "C: for m in 0:8, k in 0:4  C[m] +=! A[m, k] }");
    CHECK_STR_EQ(only(&r, SCHEDULE "pass locate reqs=#tile blocks=PROC\n"),
                 "schedule     C: 8x4 of 8x4 at once, 138 cycles: transfers 138, compute 0; "
                 "8 plans tried\n"
                 "             C: A: 128 bytes at 0, once\n"
                 "             C: C: 32 bytes at 128, once\n"
                 "locate       C: on PROC\n");
    CHECK_STR_EQ(after(&r, FLAT SCHEDULE "pass initialize\npass prune\n"),
                 "A.copy f32[8, 4] 128 B\nC.copy f32[8] 32 B\n"
                 "for d0 in 8 any\n  C.copy[d0] = -0.0\n"
                 "for d0 in 8, d1 in 4 any\n  A.copy[d0, d1] = A[d0, d1]\n"
                 "for m in 8, k in 4 any\n  C.copy[m] += A.copy[m, k]\n"
                 "for d0 in 8 any\n  C[d0] = 0.0\n  C[d0] += C.copy[d0]\n");
    tr_end(&r);
}

static const char chain[] =
    "program f { input A: f32[32, 32] input B: f32[32, 32] input D: f32[32, 16]\n"
    "temp T: f32[32, 32] output C: f32[32, 16]\n"
    "T: for m in 0:32, n in 0:32, k in 0:32  T[m, n] +=! A[m, k]*B[k, n]\n"
    "C: for m in 0:32, n in 0:16, k in 0:32  C[m, n] +=! T[m, k]*D[k, n] }";
#define KEEP "pass schedule reqs=#contraction unit=SRAM move=DMA keep=yes\n"

// An intermediate is neither stored nor loaded, unless that leaves too little room for tiles.
TEST(schedule_keeps_intermediates) {
    TreeRun r;
    tr_begin(&r, chain);
    CHECK_STR_EQ(
        only(&r, KEEP),
        "schedule     T stays in SRAM from statement 0 to 3: 1433 cycles instead of 2073\n"
        "             T: 4096 bytes at 0\n"
        "             T: 32x32x8 of 32x32x32 by k, 1032 cycles: transfers 1024, compute 33; "
        "652 plans tried\n"
        "             T: A: 1024 bytes at 4096, for each k, 2 copies\n"
        "             T: B: 1024 bytes at 6144, for each k, 2 copies\n"
        "             C: 32x16x32 of 32x16x32 at once, 400 cycles: transfers 384, compute 16; "
        "600 plans tried\n"
        "             C: D: 2048 bytes at 4096, once\n"
        "             C: C: 2048 bytes at 6144, once\n");
    CHECK(strstr(after(&r, FLAT KEEP "pass initialize\npass prune\n"), "T f32[32, 32] 4096 B\n"));
    CHECK(!strstr(after(&r, FLAT KEEP), "T.copy"));
    static const char *const why[] = {
        "schedule     left alone: T is stored and loaded: with it in the unit other tiles do not "
        "fit\n",
        "schedule     left alone: T is stored and loaded: kept it would take 78208 cycles, not "
        "4804\n"};
    CHECK(!strncmp(only(&r, "memory SRAM size=4KiB banks=1\n" KEEP), why[0], strlen(why[0])));
    CHECK(!strncmp(only(&r, "memory SRAM size=2112\n" KEEP), why[1], strlen(why[1])));
    tr_end(&r);
}

// The comment of pass_keep.c: an intermediate stays, and an input is loaded once for both users.
static const char reused[] =
    "program f { input A: f32[16, 16] input B: f32[16, 16] input D: f32[16, 16]\n"
    "temp T: f32[16, 16] temp C: f32[16, 16] output E: f32[16, 16]\n"
    "T: for m in 0:16, n in 0:16, k in 0:16  T[m, n] +=! A[m, k]*B[k, n]\n"
    "C: for m in 0:16, n in 0:16, k in 0:16  C[m, n] +=! T[m, k]*D[k, n]\n"
    "E: for m in 0:16, n in 0:16, k in 0:16  E[m, n] +=! A[m, k]*C[k, n] }";

TEST(schedule_keeps_by_lifetimes) {
    TreeRun r;
    tr_begin(&r, reused);
    const char *said_all = only(&r, KEEP), *text = after(&r, FLAT KEEP "pass initialize\n");
    CHECK(strstr(said_all, "T stays in SRAM from statement 0 to 3:"));
    CHECK(strstr(said_all, "C stays in SRAM from statement 2 to 5:"));
    CHECK(strstr(said_all, "A stays in SRAM from statement 1 to 5, swapped in:"));
    CHECK(strstr(text, "A.here[d0, d1] = A[d0, d1]") && !strstr(text, "T.copy"));
    // T is dead when E runs; with little memory its place is used again.
    const char *tight = only(&r, "memory SRAM size=2560 banks=1\n" KEEP);
    CHECK(strstr(tight, "stays in SRAM") && strstr(tight, "stored and loaded"));
    CHECK(strlen(after(&r, FLAT "memory SRAM size=2560 banks=1\n" KEEP "pass initialize\n")) > 0);
    tr_end(&r);
}

// Copies for some statements: loaded if there is something to load, stored if it is needed later.
TEST(tree_swap_copies_for_a_period) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[4] temp T: f32[4] output B: f32[4] output C: f32[4]\n"
                 "T: for i in 0:4  T[i] = A[i] + 1.0\nB: for i in 0:4  B[i] = T[i]*A[i]\n"
                 "C: for i in 0:4  C[i] = T[i] - 1.0 }");
    const Tree *t = apart(&r);
    static const struct {
        char buffer;
        int from, to;
    } how[] = {{'T', 0, 1}, {'T', 1, 2}, {'A', 0, 1}};
    for (int i = 0; i < 3; i++) {
        TreeEdit e = {.diags = &r.diags};
        SwapHow swap = {.from = how[i].from, .to = how[i].to};
        for (int k = 0; k < t->buffers.n; k++) // the number of the tensor in this Tree
            if (t->buffers.at[k].name[0] == how[i].buffer) swap.buffer = k;
        const Tree *now = tree_swap(t, &swap, &e);
        if (!CHECK(now)) break;
        Text out = {.arena = &r.arena};
        tree_show(&out, now, false);
        const char *in =
            strstr(text_str(&out), i == 2 ? "A.here[d0] = A[d0]" : "T.here[d0] = T[d0]");
        CHECK((in != NULL) == (i > 0));
        CHECK((strstr(text_str(&out), "T[d0] = T.here[d0]") != NULL) == (i == 0));
        CHECK(tr_same(&r, now, (InterpFlags){0}, 3));
    }
    TreeEdit e = {.diags = &r.diags};
    CHECK(!tree_swap(t, &(SwapHow){.buffer = 0, .from = 2, .to = 3}, &e));
    tr_end(&r);
}

TEST(keep_refuses_memories_of_single_units) {
    TreeRun r;
    tr_begin(&r, reused);
    CHECK(strstr(only(&r, "memory PAD in=SRAM size=512\ncompute CORE in=PAD own=yes count=2\n"
                          "transfer MOVE from=SRAM to=PAD\n"
                          "pass schedule unit=PAD move=MOVE keep=yes\n"),
                 "left alone: keep: each CORE has its own PAD, which other units do not reach\n"));
    CHECK(strstr(only(&r, "memory PAD in=SRAM size=512\ncompute CORE in=PAD own=yes count=2\n"
                          "pass locate buffers=PAD\n"),
                 "left alone: 2 buffers: each CORE has its own PAD, and they are not on one\n"));
    tr_end(&r);
}

// Conditions stay in the tile; what it loads from outside of the tensor is filled.
TEST(schedule_keeps_conditions) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[64, 8] input B: f32[3, 8, 8] output C: f32[64, 8]\n"
                 "C: for x in 0:64, i in 0:3, k in 0:8, n in 0:8 if x + i - 1 >= 0, 64 - x - i >= "
                 "0\n  C[x, n] +=! A[x + i - 1, k]*B[i, k, n] }");
    const char *text = after(&r, FLAT "memory SRAM size=2KiB banks=1\n" SCHEDULE);
    CHECK(strstr(text, "A.copy f32[") && strstr(text, " where "));
    tr_end(&r);
}

TEST(schedule_refuses) {
    check_one(product,
              "memory PAD in=SRAM size=512\ncompute CORE in=PAD own=yes count=2\n"
              "transfer MOVE from=SRAM to=PAD\n"
              "pass schedule reqs=#contraction unit=PAD move=MOVE\n",
              "schedule     C: left alone: it runs on no CORE, each of which has its own PAD\n");
    check_one(product, "pass schedule reqs=#contraction\n",
              "schedule     left alone: it needs unit=MEMORY and move=ENGINE\n");
    check_one(product,
              "memory FAR\ntransfer AWAY from=DRAM to=FAR\n"
              "pass schedule reqs=#contraction unit=SRAM move=AWAY\n",
              "schedule     left alone: AWAY does not reach SRAM\n");
    check_one(product, "pass order\n" SCHEDULE,
              "order        done\n"
              "schedule     C: left alone: its order is decided\n");
    check_one(product, "memory SRAM size=16 banks=1\n" SCHEDULE,
              "schedule     C: left alone: no tiles fit\n");
    check_one("program f { input A: f32[8] input X: i32[8] output C: f32[8]\n"
              "C: for i in 0:8, k in 0:4  C[i] +=! A[X[i]] }",
              SCHEDULE, "schedule     C: left alone: an access is not affine\n");
    check_one("program f { input A: f32[0, 8] output C: f32[0]\n"
              "C: for i in 0:0, k in 0:8  C[i] +=! A[i, k] }",
              SCHEDULE, "schedule     C: left alone: it has no iterations\n");
    check_one("program f { input A: f32[8] input B: f32[8] input D: f32[8] input E: f32[8]\n"
              "input F: f32[8] input G: f32[8] input H: f32[8] input I: f32[8] output C: f32[8]\n"
              "C: for i in 0:8, k in 0:4  C[i] +=! A[i]*B[i]*D[i]*E[i]*F[i]*G[i]*H[i]*I[i] }",
              SCHEDULE, "schedule     C: left alone: it uses more than 8 tensors\n");
    TreeRun r;
    tr_init(&r);
    CHECK_STR_EQ(
        said_of_text(&r,
                     "block []:1 ( in A[0] fp32(4):(1) out C[0]:assign fp32(4):(1) ) {\n"
                     "0: block [a:4, b:1, c:1, d:1, e:1, f:1, g:1, h:1, i:1, j:1, k:1, "
                     "l:1, m:1]:4 (\n in A[a] fp32(1):(1) out C[a]:assign fp32(1):(1) ) {\n"
                     "0: $a = load(A) 1: C = store($a) } }\n",
                     DMA "pass schedule unit=SRAM move=DMA\n"),
        "schedule     a: left alone: it has more than 12 indices\n");
    CHECK_STR_EQ(said_of_text(&r,
                              "block []:1 ( inout C[0]:assign fp32(4):(1) ) {\n"
                              "0: block [i:4]:4 ( inout C[i]:assign fp32(1):(1) ) {\n"
                              "0: $a = load(C) 1: C = store($a) } }\n",
                              DMA "pass schedule unit=SRAM move=DMA\n"),
                 "schedule     i: left alone: it reads what it writes\n");
    tr_end(&r);
}

TEST(initialize_refuses) {
    check_one("program f { input B: i32[8] input W: f32[8] output T: f32[8]\n"
              "T: for r in 0:8  T[B[r]] +=! W[r] }",
              "pass initialize\n",
              "initialize   T: left alone: data say where its results are stored\n");
    check_one(
        product, "pass initialize\n",
        "initialize   C: left alone: its results are not kept elsewhere until they are done\n");
    check_one("program f { output C: f32[8]\nC: for i in 0:8  C[i] = 1.0 }", "pass initialize\n",
              "initialize   C: left alone: nothing adds to it\n");
    check_one(product,
              "pass autotile reqs=#contraction max_total=2048 outer=#tiles\n"
              "pass cache reqs=#tiles unit=SRAM move=DMA\npass initialize\n",
              "autotile     C: 16x8x16 of 64x8x64, cost 0.254488; 1x1x1 would cost 4.015; "
              "655 tiles tried\n"
              "cache        C: A: 1024 bytes\n"
              "             C: B: 512 bytes\n"
              "             C: C: 512 bytes\n"
              "initialize   C: left alone: its results are stored in parts\n");
    check_one(
        product,
        "pass autotile reqs=#contraction max_total=3000 acc=no outer=#tiles even=no\n"
        "pass cache reqs=#tiles unit=SRAM move=DMA in=no\npass initialize\n",
        "autotile     C: 6x4x64 of 64x8x64, cost 0.450932; 1x1x64 would cost 2.04025; 60 tiles "
        "tried\n"
        "cache        C: C: 96 bytes\n"
        "initialize   C: left alone: its results are stored in parts, or under conditions\n");
    TreeRun r;
    tr_init(&r);
#define FILL                                                                                       \
    "block []:1 ( in A[0] fp32(4):(1) out C[0]:assign fp32(4):(1) ) {\n"                           \
    "0: block [i:4]:4 ( out C[i]:assign fp32(1):(1) ) { 0: $0 = (fp32)0.0 1: C = store($0) }\n"
    CHECK_STR_EQ(said_of_text(&r,
                              FILL "1: block [i:4]:4 ( in A[i] fp32(1):(1) out C[i]:add "
                                   "fp32(1):(1) ) { 0: $a = load(A) 1: C = store($a) "
                                   "2: C = store($a) } }\n",
                              "pass initialize\n"),
                 "initialize   i: left alone: it is used in several places\n");
    CHECK_STR_EQ(said_of_text(&r,
                              FILL
                              "1: block [i:2, j:2]:4 ( in A[i + j] fp32(1):(1) inout C[2*i]:add "
                              "fp32(1):(1) ) { 0: $a = load(A) 1: C = store($a) } }\n",
                              "pass initialize\n"),
                 "initialize   i: left alone: not proven that every element is stored once\n");
#undef FILL
    tr_end(&r);
}
