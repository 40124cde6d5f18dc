// The features of Schedules, lowered and compared with the program's interpreter.
#include "unit/tree_run.h"

static const char matmul[] =
    "program mm {\n"
    "    input A: f32[7, 9]\n    input B: f32[9, 10]\n    output C: f32[7, 10]\n"
    "    C: for m in 0:7, n in 0:10, k in 0:9\n        C[m, n] +=! A[m, k]*B[k, n]\n}\n";

TEST(schedule_windows_are_recomputed) {
    TreeRun r;
    tr_begin(&r,
             "program blur {\n    input A: f32[20]\n    output O: f32[18]\n    temp T: f32[20]\n"
             "    T: for y in 0:20\n        T[y] = A[y]*2.0\n"
             "    O: for y in 0:18, r in 0:3\n        O[y] +=! T[y + r]\n}\n");
    const char *s = "T:\n    at y/8\nO: y/8 y r\n";
    CHECK_STR_EQ(tr_show(&r, s), "for y in 3\n"
                                 "  T f32[10] 40 B\n"
                                 "  for y.1 in 10 where 19 - 8*y - y.1 >= 0\n"
                                 "    T[y.1] = A[8*y + y.1]*2.0\n"
                                 "  for y.1 in 8 where 17 - 8*y - y.1 >= 0\n"
                                 "    O[8*y + y.1] = 0.0\n"
                                 "    for r in 3\n"
                                 "      O[8*y + y.1] += T[y.1 + r]\n");
    tr_check(&r, s);
    tr_check(&r, NULL);
    tr_end(&r);
}

TEST(schedule_copies_pack_panels) {
    TreeRun r;
    tr_begin(&r, matmul);
    const char *s = "C: m/4 k/5 m/2 n/6 k m n:v\n    copy A at k/5 layout (m/2 k m) align 64\n    "
                    "copy B at m/4\n";
    CHECK_STR_EQ(tr_show(&r, s), "for m in 2\n"
                                 "  C.B f32[9, 10] 360 B\n"
                                 "  for k in 9\n"
                                 "    for n in 10\n"
                                 "      C.B[k, n] = B[k, n]\n"
                                 "  for k in 2\n"
                                 "    C.A f32[2, 5, 2] 80 B align 64\n"
                                 "    for m.1 in 2\n"
                                 "      for k.1 in 5 where 8 - 5*k - k.1 >= 0\n"
                                 "        for m.2 in 2 where 6 - 4*m - 2*m.1 - m.2 >= 0\n"
                                 "          C.A[m.1, k.1, m.2] = A[4*m + 2*m.1 + m.2, 5*k + k.1]\n"
                                 "    for m.1 in 2\n"
                                 "      for n in 2\n"
                                 "        if -k >= 0\n"
                                 "          for m.2 in 2 where 6 - 4*m - 2*m.1 - m.2 >= 0\n"
                                 "            for n.1 in 6 vector where 9 - 6*n - n.1 >= 0\n"
                                 "              C[4*m + 2*m.1 + m.2, 6*n + n.1] = 0.0\n"
                                 "        for k.1 in 5 where 8 - 5*k - k.1 >= 0\n"
                                 "          for m.2 in 2 where 6 - 4*m - 2*m.1 - m.2 >= 0\n"
                                 "            for n.1 in 6 vector where 9 - 6*n - n.1 >= 0\n"
                                 "              C[4*m + 2*m.1 + m.2, 6*n + n.1] += C.A[m.1, k.1, "
                                 "m.2]*C.B[5*k + k.1, 6*n + n.1]\n");
    tr_check(&r, s);
    tr_check(&r, "C: m n k\n    copy A\n    copy B layout (n/4 k n)\n");
    tr_end(&r);
}

TEST(schedule_post_operations_stand_behind) {
    TreeRun r;
    tr_begin(&r,
             "program mm {\n    input A: f32[7, 9]\n    input B: f32[9, 10]\n    input b: "
             "f32[10]\n    output C: f32[7, 10]\n    output O: f32[7, 10]\n"
             "    C: for m in 0:7, n in 0:10, k in 0:9\n        C[m, n] +=! A[m, k]*B[k, n]\n"
             "    O: for i in 0:7, j in 0:10 post\n        O[i, j] = relu(C[i, j] + b[j])\n}\n");
    const char *s = "C: k/4 m/3 k/2 n m k\nO:\n    after C\n";
    CHECK_STR_EQ(
        tr_show(&r, s),
        "for k in 3\n"
        "  for m in 3\n"
        "    for k.1 in 2 where 8 - 4*k - 2*k.1 >= 0\n"
        "      for n in 10\n"
        "        for m.1 in 3 where 6 - 3*m - m.1 >= 0\n"
        "          if -k >= 0 and -k.1 >= 0\n"
        "            C[3*m + m.1, n] = 0.0\n"
        "          for k.2 in 2 where 8 - 4*k - 2*k.1 - k.2 >= 0\n"
        "            C[3*m + m.1, n] += A[3*m + m.1, 4*k + 2*k.1 + k.2]*B[4*k + 2*k.1 + k.2, n]\n"
        "          if k - 2 >= 0 and -k.1 >= 0\n"
        "            O[3*m + m.1, n] = relu(C[3*m + m.1, n] + b[n])\n");
    tr_check(&r, s);
    tr_end(&r);
}

TEST(schedule_partial_results) {
    TreeRun r;
    tr_begin(&r, matmul);
    const char *s = "C: m n k.p\n    privatise k/4\nC.part: k.p:p m n k\n";
    CHECK_STR_EQ(tr_show(&r, s), "C.part f32[7, 10, 3] 840 B\n"
                                 "for k.p in 3 parallel\n"
                                 "  for m in 7\n"
                                 "    for n in 10\n"
                                 "      C.part[m, n, k.p] = -0.0\n"
                                 "      for k in 4\n"
                                 "        if 8 - 4*k.p - k >= 0\n"
                                 "          C.part[m, n, k.p] += A[m, 4*k.p + k]*B[4*k.p + k, n]\n"
                                 "for m in 7\n"
                                 "  for n in 10\n"
                                 "    C[m, n] = 0.0\n"
                                 "    for k.p in 3\n"
                                 "      C[m, n] += C.part[m, n, k.p]\n");
    tr_check(&r, s);
    tr_check(&r, "C:\n    privatise k%4\nC.part: k.p:p m n k\n");
    tr_end(&r);
    tr_begin(&r, "program keep {\n    input A: f32[4]\n    output C: f32[1]\n" // -0 stays -0
                 "    C: for i in 0:1\n        C[i] = -(A[0] - A[0])\n"
                 "    C.1: for k in 0:4 if k - 9 >= 0\n        C[0] += A[k]\n}\n");
    tr_check(&r, "C.1:\n    privatise k/2\n");
    tr_end(&r);
}

TEST(schedule_inlines) {
    TreeRun r;
    tr_begin(&r, "program p {\n    input A: f32[20]\n    output O: f32[18]\n    temp T: f32[20]\n"
                 "    T: for y in 0:20\n        T[y] = A[y] + 1.0\n"
                 "    O: for y in 0:18, r in 0:3\n        O[y] +=! T[y + r]\n}\n");
    const char *s = "T:\n    inline\n";
    CHECK_STR_EQ(tr_show(&r, s), "for y in 18\n"
                                 "  O[y] = 0.0\n"
                                 "  for r in 3\n"
                                 "    O[y] += A[y + r] + 1.0\n");
    tr_check(&r, s);
    tr_end(&r);
}

// `c ? x : x` is x: tensors that inlining eliminates need not be prefetched or copied.
TEST(schedule_inlining_may_leave_reads_out) {
    TreeRun r;
    tr_begin(&r, "program p { input X: f32[] input A: f32[8] output O: f32[8] temp T: f32[8]\n"
                 "T: for i in 0:8  T[i] = X[]\n"
                 "O: for i in 0:8  O[i] = select(A[i] > T[0], X[], T[i]) }");
    const char *want = "for i in 8\n  O[i] = X[]\n";
    CHECK_STR_EQ(tr_show(&r, "T:\n    inline\nO: i\n    prefetch A at i\n"), want);
    CHECK_STR_EQ(tr_show(&r, "T:\n    inline\nO: i\n    copy A\n"), want);
    tr_end(&r);
}

TEST(schedule_every_order_of_a_split_matmul) {
    TreeRun r;
    tr_begin(&r, matmul);
    static const char *const loop[] = {"m/4", "m", "n/32", "n", "k%2", "k"};
    int order[6] = {0, 1, 2, 3, 4, 5};
    for (int64_t i = 0; i < 720; i++) { // every permutation
        int left[6] = {0, 1, 2, 3, 4, 5};
        int64_t code = i;
        char text[64] = "C:";
        for (int k = 6; k > 0; k--) {
            order[6 - k] = left[code % k];
            for (int j = (int)(code % k); j + 1 < k; j++) left[j] = left[j + 1];
            code /= k;
            strcat(strcat(text, " "), loop[order[6 - k]]);
        }
        if (check_rounds(720) < 720 && i % 20) continue;
        if (!tr_check(&r, strcat(text, "\n"))) break;
    }
    tr_end(&r);
}

TEST(schedule_scatter_initialises_the_whole_tensor) {
    TreeRun r;
    tr_begin(&r,
             "program p {\n    input I: i32[6]\n    input A: f32[6, 2]\n    output O: f32[4, 2]\n"
             "    O: for i in 0:6, j in 0:2\n        O[I[i], j] +=! A[i, j]\n}\n");
    tr_check(&r, NULL);
    tr_check(&r, "O: i/4 j i:v\n");
    tr_end(&r);
}

TEST(schedule_zero_sizes) {
    TreeRun r;
    tr_begin(&r, "program p {\n    input A: f32[3, 0]\n    output O: f32[3]\n    output P: f32[3]\n"
                 "    O: for i in 0:3, k in 0:0\n        O[i] +=! A[i, k]\n"
                 "    P: for i in 0:3\n        P[i] = O[i]\n}\n");
    tr_check(&r, NULL);
    tr_check(&r, "O: k/4 i/2 k i\nP:\n    after O\n");
    tr_end(&r);
}

TEST(schedule_in_place_reads_before_writes) {
    TreeRun r;
    tr_begin(&r, "program p {\n    input A: f32[3, 4]\n    inout O: f32[3]\n"
                 "    O: for i in 0:3, k in 0:4\n        O[i] += O[i]*A[i, k]\n}\n");
    tr_check(&r, NULL);
    tr_check(&r, "O: k i\n");
    tr_end(&r);
}

// An order of the loops from a random number; levels of an iterator keep their places in the list.
static const char *random_order(TreeRun *r, const char *const *loop, int n, uint64_t seed) {
    Text text = {.arena = &r->arena};
    int left[16];
    text_add(&text, "O:");
    for (int i = 0; i < n; i++) left[i] = i;
    for (int k = n; k > 0; k--) {
        int pick = (int)(check_random(&seed) % (uint64_t)k);
        text_printf(&text, " %s", loop[left[pick]]);
        for (int j = pick; j + 1 < k; j++) left[j] = left[j + 1];
    }
    text_char(&text, '\n');
    return text_str(&text);
}

TEST(schedule_orders_of_a_split_convolution) {
    static const char *const loop[] = {"o/2", "o", "h/3", "h", "w%2", "w", "c", "r/2", "r", "s"};
    for (int64_t i = 0; i < check_rounds(300); i++) {
        TreeRun r;
        tr_begin(&r, "program conv {\n    input I: f32[2, 7, 8]\n    input F: f32[3, 2, 3, 3]\n"
                     "    output O: f32[3, 5, 6]\n"
                     "    O: for o in 0:3, h in 0:5, w in 0:6, c in 0:2, r in 0:3, s in 0:3\n"
                     "        O[o, h, w] +=! I[c, h + r, w + s]*F[o, c, r, s]\n}\n");
        bool ok = tr_check(&r, random_order(&r, loop, 10, (uint64_t)i + 1));
        tr_end(&r);
        if (!ok) return;
    }
}

TEST(schedule_nests_as_deep_as_the_limit) {
    TreeRun r;
    tr_init(&r);
    Text text = {.arena = &r.arena};
    text_add(&text, "program deep {\n    input A: f32[2]\n    output O: f32[2]\n    O: for ");
    for (int i = 0; i < 32; i++)
        text_printf(&text, "%six%d in 0:%d", i ? ", " : "", i, i == 0 || i > 29 ? 2 : 1);
    text_add(&text, "\n        O[ix0] +=! A[ix31]\n}\n");
    const char *program = arena_strndup(&r.arena, text_str(&text), text.len);
    TreeRun d;
    tr_begin(&d, program);
    tr_check(&d, NULL);
    Text order = {.arena = &d.arena};
    text_add(&order, "O:");
    for (int i = 31; i >= 0; i--) text_printf(&order, " ix%d/2", i);
    for (int i = 0; i < 32; i++) text_printf(&order, " ix%d", i);
    text_char(&order, '\n');
    tr_check(&d, text_str(&order)); // 64 nested loops
    tr_end(&d);
    tr_end(&r);
}

TEST(tree_costs_of_a_tiled_matmul) {
    TreeRun r;
    tr_begin(&r, matmul);
    Tree *t = tr_lower(&r, "C: m/4 n k m\n");
    Text out = {.arena = &r.arena};
    tree_show(&out, t, true);
    CHECK_STR_EQ(
        text_str(&out),
        "for m in 2   # touches 892 B, moves 10360 B, 1260 flops\n"
        "  for n in 10   # touches 664 B, moves 5180 B, 630 flops\n"
        "    for m.1 in 4 where 6 - 4*m - m.1 >= 0   # touches 16 B, moves 14 B, 0 flops\n"
        "      C[4*m + m.1, n] = 0.0   # touches 4 B, moves 4 B, 0 flops\n"
        "    for k in 9   # touches 196 B, moves 504 B, 63 flops\n"
        "      for m.1 in 4 where 6 - 4*m - m.1 >= 0   # touches 36 B, moves 56 B, 7 flops\n"
        "        C[4*m + m.1, n] += A[4*m + m.1, k]*B[k, n]   # touches 12 B, moves 16 B, 2 "
        "flops\n");
    tr_end(&r);
}

TEST(tree_shows_hints) {
    TreeRun r;
    tr_begin(&r, matmul);
    CHECK_STR_EQ(tr_show(&r, "C: m:p n k\n    prefetch B at n distance 2 level 1\n    nontemporal\n"
                             "    accumulators 4\n    grain 3\n"),
                 "for m in 7 parallel grain 3\n"
                 "  for n in 10\n"
                 "    prefetch B distance 2 level 1\n"
                 "    C[m, n] = 0.0\n"
                 "    for k in 9\n"
                 "      C[m, n] += A[m, k]*B[k, n]   nontemporal   accumulators 4\n");
    CHECK_STR_EQ(tr_show(&r, "C: m n k\n    copy A at m\n    cache A l2\n    cache B readonly\n"),
                 "for m in 7\n"
                 "  C.A f32[1, 9] 36 B\n"
                 "  for m.1 in 1\n"
                 "    for k in 9\n"
                 "      C.A[m.1, k] = A[m + m.1, k]   cache A l2\n"
                 "  for n in 10\n"
                 "    C[m, n] = 0.0\n"
                 "    for k in 9\n"
                 "      C[m, n] += C.A[0, k]*B[k, n]   cache B readonly\n");
    tr_end(&r);
}

// A reduction loop of one iteration is shared only with statements that do not access the result:
// the initialisation is before it.
TEST(schedule_initialises_behind_earlier_uses) {
    TreeRun r;
    tr_begin(&r, "program p {\n    input A: f32[1]\n    output T: f32[1]\n"
                 "    T: for i in 0:1\n        T[i] = A[i]\n"
                 "    T.1: for i in 0:1, j in 0:23\n        T[0] min=! T[0] + 0.0\n}\n");
    tr_check(&r, NULL);
    tr_check(&r, "T: i:u\n");
    tr_check(&r, "T.1: j i\n");
    tr_end(&r);
}
