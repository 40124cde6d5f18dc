// The pass pad: examples, refusals, and that it is exact where elements are infinite, NaN or -0.
#include "unit/passes/passes_run.h"

#include <math.h>

static const char flat[] = "pass flatten\n";

// Iterations of a padded block are none of its statement: there is nothing to trace.
static const char *padded(TreeRun *r, const char *lines) {
    Passes p = passes(r, arena_printf(&r->arena, "%s%s", flat, lines));
    return computing(r, &p);
}

static const char *told(TreeRun *r, const char *lines) {
    return said(r, arena_printf(&r->arena, "%s%s", flat, lines)) + strlen(said(r, flat));
}

static void check_refusal(const char *program, const char *lines, const char *want) {
    TreeRun r;
    tr_begin(&r, program);
    CHECK_STR_EQ(told(&r, lines), want);
    padded(&r, lines);
    tr_end(&r);
}

static const char matvec[] = "program f { input A: f32[10, 6] input x: f32[6] output C: f32[10]\n"
                             "C: for i in 0:10, k in 0:6  C[i] +=! A[i, k]*x[k] }";

TEST(pad_a_product) {
    TreeRun r;
    tr_begin(&r, matvec);
    const char *lines = "pass pad reqs=#contraction to=4 most=1\n";
    CHECK_STR_EQ(padded(&r, lines), "C.pad f32[12] 48 B\n"
                                    "A.pad f32[12, 8] 384 B\n"
                                    "x.pad f32[8] 32 B\n"
                                    "for i in 10 any\n"
                                    "  C[i] = 0.0\n"
                                    "for d0 in 12 any\n"
                                    "  C.pad[d0] = -0.0\n"
                                    "for d0 in 2, d1 in 8 any\n"
                                    "  A.pad[d0 + 10, d1] = -0.0\n"
                                    "for d0 in 12, d1 in 2 any\n"
                                    "  A.pad[d0, d1 + 6] = -0.0\n"
                                    "for d0 in 10, d1 in 6 any\n"
                                    "  A.pad[d0, d1] = A[d0, d1]\n"
                                    "for d0 in 2 any\n"
                                    "  x.pad[d0 + 6] = 1.0\n"
                                    "for d0 in 6 any\n"
                                    "  x.pad[d0] = x[d0]\n"
                                    "for i in 12, k in 8 any\n"
                                    "  C.pad[i] += A.pad[i, k]*x.pad[k]\n"
                                    "for d0 in 10 any\n"
                                    "  C[d0] += C.pad[d0]\n");
    CHECK_STR_EQ(told(&r, lines),
                 "pad          C: 12x8 of 10x6, 60.0 % more iterations, 3 copies\n");
    tr_end(&r);
}

// A reduction alone needs no copy of its result; the other operators have other constants.
TEST(pad_reductions) {
    static const struct {
        const char *type, *op, *value, *rim;
    } row[] = {
        {"f32", "+=!", "A[k]", "A.pad[d0 + 6] = -0.0"},
        {"f32", "max=!", "A[k]", "A.pad[d0 + 6] = -inf"},
        {"f32", "min=!", "A[k]", "A.pad[d0 + 6] = inf"},
        {"f32", "*=!", "A[k]*B[k]", "A.pad[d0 + 6] = 1.0"},
        {"f32", "max=!", "A[k] + B[k]", "B.pad[d0 + 6] = -0.0"},
        {"f32", "+=!", "A[k] - B[k]", "B.pad[d0 + 6] = 0.0"},
        {"f32", "+=!", "-A[k]", "A.pad[d0 + 6] = 0.0"},
        {"f32", "+=!", "2.5*A[k]", "A.pad[d0 + 6] = -0.0"},
        {"i32", "+=!", "A[k]*A[k]", "A.pad[d0 + 6] = 0"},
        {"i64", "max=!", "A[k]", "A.pad[d0 + 6] = i64(-9223372036854775808)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        TreeRun r;
        char text[256];
        snprintf(text, sizeof text,
                 "program f { input A: %s[6] input B: %s[6] output C: %s[]\n"
                 "C: for k in 0:6  C[] %s %s }",
                 row[i].type, row[i].type, row[i].type, row[i].op, row[i].value);
        tr_begin(&r, text);
        const char *out = padded(&r, "pass pad reqs=#contraction to=8 least=4\n");
        CHECK(strstr(out, "for k in 8 any"));
        if (!CHECK(strstr(out, row[i].rim))) printf("%s: %s\n", text, out);
        tr_end(&r);
    }
}

// Halos, strides and reversed subscripts; casts; assignments; elements under a condition.
TEST(pad_other_shapes) {
    static const char *const program[] = {
        "program f { input A: f32[13] input B: f32[3] output C: f32[11]\n"
        "C: for x in 0:11, i in 0:3  C[x] +=! A[x + i]*B[i] }",
        "program f { input A: f32[21] output C: f32[7]\n"
        "C: for x in 0:7, k in 0:3  C[6 - x] +=! A[20 - 3*x - k] }",
        "program f { input A: i8[5, 7] input B: i8[7] output C: i32[5]\n"
        "C: for m in 0:5, k in 0:7  C[m] +=! i32(A[m, k])*i32(B[k]) }",
        "program f { input A: f32[5, 7] output C: f32[7, 5]\n"
        "C: for m in 0:7, k in 0:5  C[m, k] = exp(A[k, m]) }",
        "program f { input A: f32[7, 7] input x: f32[7] output C: f32[7]\n"
        "C: for i in 0:7, j in 0:7  C[i] +=! select(index(j) <= index(i), A[i, j], 0.0)*x[j] }",
    };
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
        TreeRun r;
        tr_begin(&r, program[i]);
        CHECK(strstr(padded(&r, "pass pad to=4 least=4 most=9\n"), ".pad["));
        tr_end(&r);
    }
}

TEST(pad_to_a_stencil) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[10, 5] input B: f32[5, 7] output C: f32[10, 7]\n"
                 "C: for m in 0:10, n in 0:7, k in 0:5  C[m, n] +=! A[m, k]*B[k, n] }");
    const char *mac = "stencil mac\n  index m size=4 out=any in=any,0\n"
                      "  index n size=8 out=any in=0,any\n  index k size=any out=0 in=any,any\n"
                      "pass pad reqs=#contraction\npass stencil reqs=#contraction strict=yes\n";
    CHECK_STR_EQ(told(&r, mac),
                 "pad          C: 12x8x5 of 10x7x5, 37.1 % more iterations, 3 copies\n"
                 "stencil      C: mac as 4x8x5, cost 480, the least of 1\n");
    CHECK(!strstr(padded(&r, mac), "if "));
    tr_end(&r);
}

TEST(pad_refuses) {
    check_refusal(matvec, "pass pad reqs=#contraction\n",
                  "pad          C: left alone: no stencil matches\n");
    check_refusal(matvec, "pass pad reqs=#contraction to=2\n",
                  "pad          C: left alone: its tiles divide it\n");
    check_refusal(matvec, "pass pad reqs=#contraction to=16\n",
                  "pad          C: left alone: there would be 326.7 % more iterations\n");
    check_refusal("program f { input A: f32[0] output C: f32[0]\nC: for i in 0:0  C[i] = A[i] }",
                  "pass pad to=2\n", "pad          C: left alone: it has no iterations\n");
    // 0*inf is no 0: the window's elements may be infinite
    check_refusal("program f { input A: f32[12] input B: f32[3] output C: f32[10]\n"
                  "C: for x in 0:10, i in 0:3  C[x] +=! A[x + i]*B[i] }",
                  "pass pad reqs=#contraction to=4 most=9\n",
                  "pad          C: left alone: cannot pad: what 'i' beyond its range would combine "
                  "with results is not exactly the identity\n");
    check_refusal("program f { input A: f32[6] output C: f32[]\n"
                  "C: for k in 0:6  C[] +=! A[k]*A[k] }",
                  "pass pad reqs=#contraction to=4\n",
                  "pad          C: left alone: cannot pad: what 'k' beyond its range would combine "
                  "with results is not exactly the identity\n");
    check_refusal("program f { input A: f32[9] input X: i32[6] output C: f32[6]\n"
                  "C: for i in 0:6  C[i] = A[X[i]] }",
                  "pass pad to=4\n",
                  "pad          C: left alone: cannot pad: an access is not affine\n");
    check_refusal("program f { input A: f32[3] output C: f32[6]\n"
                  "C: for i in 0:6  C[i] = A[i/2] }",
                  "pass pad to=4\n",
                  "pad          C: left alone: cannot pad: the part of a tensor that it uses is no "
                  "box\n");
    check_refusal("program f { input A: f32[6] output C: f32[6]\nC: for i in 0:6  C[i] = A[i] }",
                  "pass order vector=6\npass pad to=4\n",
                  "order        C: i innermost\n"
                  "pad          C: left alone: cannot pad: it is a vector\n");
    check_refusal("program f { output C: f32[6]\nC: for i in 0:6, k in 0:2  C[i] +=! 1.0 }",
                  "pass pad reqs=#zero to=4\n",
                  "pad          C: left alone: cannot pad: it starts or finishes a result\n");
    check_refusal("program f { input A: f32[6] output C: f32[]\nC: for k in 0:6  C[] +=! A[0] }",
                  "pass pad reqs=#contraction to=4\n",
                  "pad          C: left alone: cannot pad: nothing is to be padded\n");
    check_refusal(
        matvec,
        "pass autotile reqs=#contraction max_product=16 inner=#in outer=#out\n"
        "pass pad reqs=#out to=8 most=99\n",
        "autotile     C: 5x3 of 10x6, cost 1.602; 1x1 would cost 4.00591; 40 tiles "
        "tried\npad          C: left alone: cannot pad: it is no block of one statement\n");
}

// Copies that do not fit beside those of an earlier statement are refused.
TEST(pad_fits_its_unit) {
    TreeRun r;
    tr_begin(&r, "program f { input A: f32[7, 6] output C: f32[7] output D: f32[7]\n"
                 "C: for i in 0:7, k in 0:6  C[i] +=! A[i, k]\n"
                 "D: for i in 0:7, k in 0:6  D[i] max=! A[i, k] }");
    const char *text = said(&r, "memory SRAM size=400 banks=1\npass flatten\n"
                                "pass pad reqs=#contraction to=4 most=1 unit=SRAM\n");
    const char *two =
        strstr(text, "D: left alone: its copies need 288 bytes, 112 are left in SRAM\n");
    if (!CHECK(strstr(text, "C: 8x8 of 7x6") && two)) printf("%s", text);
    tr_end(&r);
}

TEST(pad_refuses_too_many) {
    TreeRun r;
    tr_init(&r);
    Text text = {.arena = &r.arena}, sum = {.arena = &r.arena};
    text_add(&text, "program f {");
    for (int i = 0; i < 17; i++) {
        text_printf(&text, " input A%d: f32[6]", i);
        text_printf(&sum, "%sA%d[i]", i ? " + " : "", i);
    }
    text_printf(&text, " output C: f32[6]\nC: for i in 0:6  C[i] = %s }", text_str(&sum));
    check_refusal(text_str(&text), "pass pad to=4\n",
                  "pad          C: left alone: cannot pad: it uses more than 16 tensors\n");
    text = (Text){.arena = &r.arena};
    text_add(&text, "block []:1 ( in A[0] fp32(6):(1) out C[0]:assign fp32(6):(1) ) {\n"
                    "0: block [i0:6");
    for (int i = 1; i < 17; i++) text_printf(&text, ", i%d:1", i);
    text_add(&text, "]:6 ( in A[i0] fp32(1):(1) out C[i0]:assign fp32(1):(1) ) {\n"
                    "0: $a = load(A) 1: C = store($a) } }\n");
    CHECK_STR_EQ(said_of_text(&r, text_str(&text), "pass pad to=4\n"),
                 "pad          i0: left alone: it has more than 16 indices\n");
    tr_end(&r);
}

// Refusals that only a text in Stripe can bring about.
TEST(pad_refuses_texts) {
    TreeRun r;
    tr_init(&r);
    CHECK_STR_EQ(said_of_text(&r,
                              "block []:1 (\n  in A[0] fp32(8):(1)\n  out C[0]:assign "
                              "fp32(2):(1)\n) {\n  0: block [i:2]:2 (\n    in A[0] fp32(8):(1)\n"
                              "    out C[i]:assign fp32(1):(1)\n  ) {\n"
                              "    0: #x block [k:3, o = i]:3 (\n      in A[o + k] fp32(1):(1)\n"
                              "      out C[0]:add fp32(1):(1)\n    ) {\n      0: $a = load(A)\n"
                              "      1: C = store($a)\n    }\n  }\n}\n",
                              "pass pad reqs=#x to=4 most=9\n"),
                 "pad          k: left alone: cannot pad: an index is passed in\n");
    CHECK_STR_EQ(said_of_text(&r,
                              "block []:1 (\n  in A[0] fp32(6):(1)\n  out C[0]:assign "
                              "fp32(1):(1)\n) {\n  0: #serial block [i:6]:6 (\n"
                              "    in A[i] fp32(1):(1)\n    out C[0]:assign fp32(1):(1)\n  ) {\n"
                              "    0: $a = load(A)\n    1: C = store($a)\n  }\n}\n",
                              "pass pad to=4\n"),
                 "pad          i: left alone: cannot pad: 'i' beyond its range would overwrite "
                 "results\n");
    CHECK_STR_EQ(
        said_of_text(&r,
                     "block []:1 (\n  in A[0] fp32(6):(1)\n  out C[0]:assign "
                     "fp32(4):(1)\n) {\n  0: block [i:6]:6 (\n    3 - i >= 0\n"
                     "    in A[i] fp32(1):(1)\n    out C[i]:assign fp32(1):(1)\n  ) {\n"
                     "    0: $a = load(A)\n    1: C = store($a)\n  }\n}\n",
                     "pass pad to=4\n"),
        "pad          i: left alone: cannot pad: it has conditions or memory of its own\n");
    CHECK_STR_EQ(said_of_text(&r,
                              "block []:1 (\n  inout C[0]:assign fp32(6):(1)\n) {\n"
                              "  0: block [i:6]:6 (\n    inout C[i]:assign fp32(1):(1)\n  ) {\n"
                              "    0: $a = load(C)\n    1: C = store($a)\n  }\n}\n",
                              "pass pad to=4\n"),
                 "pad          i: left alone: cannot pad: it reads what it writes\n");
    CHECK_STR_EQ(said_of_text(&r,
                              "block []:1 (\n  in A[0] fp32(6):(1)\n  out C[0]:assign "
                              "fp32(4):(1)\n) {\n  0: block [i:6]:6 (\n    in A[i] fp32(1):(1)\n"
                              "    out C[0]:add fp32(1):(1)\n  ) {\n    0: $a = load(A)\n"
                              "    1: C = store($a)\n  }\n}\n",
                              "pass pad to=4\n"),
                 "pad          i: 8 of 6, 33.3 % more iterations, 1 copy\n");
    tr_end(&r);
}

// Infinities, NaN and both zeros in every place that padding might multiply or add to.
TEST(pad_is_exact) {
    static const float special[] = {INFINITY, -INFINITY, 0.0f, -0.0f, 1.5f, -2.0f};
    static const char *const op[] = {"+=!", "max=!", "min=!", "*=!"};
    static const char *const value[] = {
        "A[i, k]*x[k]",
        "A[i, k]",
        "A[i, k] + x[k]",
        "select(index(k) >= index(i), A[i, k], 0.0)*x[k]",
        "x[k]*select(x[k] > 0.0, A[i, k], select(x[k] < -1.0, 2.0, A[i, k]))",
        "select(x[k] > 0.0, A[i, k], x[k])"};
    for (int round = 0; round < 24 * 20; round++) {
        TreeRun r;
        uint64_t state = (uint64_t)round * 31 + 7;
        char text[256];
        snprintf(text, sizeof text,
                 "program f { input A: f32[5, 6] input x: f32[6] output C: f32[5]\n"
                 "C: for i in 0:5, k in 0:6  C[i] %s %s }",
                 op[round % 4], value[round / 4 % 6]);
        tr_begin(&r, text);
        View a[3], b[3];
        tr_fill(&r, a, 1);
        tr_fill(&r, b, 1);
        for (int e = 0; e < 36; e++) {
            int k = e / 30;
            float v = special[check_random(&state) % 6];
            ((float *)a[k].data)[e % 30] = ((float *)b[k].data)[e % 30] = v;
        }
        const Tree *plain = passes(&r, flat).tree;
        Passes p = passes(&r, "pass flatten\npass pad reqs=#contraction to=4 most=9\n");
        CHECK(tree_interpret(&r.arena, plain, a, (InterpFlags){0}, &r.diags));
        CHECK(tree_interpret(&r.arena, p.tree, b, (InterpFlags){0}, &r.diags));
        for (int i = 0; i < 5; i++) {
            float want = ((float *)a[2].data)[i], got = ((float *)b[2].data)[i];
            if (isnan(want))
                CHECK(isnan(got));
            else
                CHECK(memcmp(&want, &got, sizeof want) == 0);
        }
        tr_end(&r);
    }
}
