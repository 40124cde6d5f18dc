// What a Schedule can say, lowered and compared with the program's interpreter.
#include "tree_run.h"

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
        "    for k.1 in 2\n"
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
                                 "      C.part[m, n, k.p] = 0.0\n"
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
