// Schedule actions: their effect on the text, and random walks that preserve the program's meaning.
#include "unit/tree_run.h"

static const char matmul[] = "program mm {\n    input A: f32[7, 9]\n    input B: f32[9, 10]\n"
                             "    output C: f32[7, 10]\n    C: for m in 0:7, n in 0:10, k in 0:9\n"
                             "        C[m, n] +=! A[m, k]*B[k, n]\n}\n";

static const char *text_of(TreeRun *r, const Schedule *s) {
    Text out = {.arena = &r->arena};
    if (s) schedule_print(&out, s);
    return s ? text_str(&out) : "refused";
}

TEST(actions_edit_orders) {
    TreeRun r;
    tr_begin(&r, matmul);
    Name c = name_of(&r.names, "C");
    const Schedule *s = schedule_complete(&r.arena, r.p, NULL), *before = s;
    CHECK_STR_EQ(text_of(&r, s), "C: m n k\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_split(s, c, 0, 4, false)), "C: m/4 m n k\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_mark(s, c, 0, KIND_PARALLEL)), "C: m/4:p m n k\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_split(s, c, 0, 2, false)), "C: m/8:p m/4 m n k\n");
    CHECK_STR_EQ(text_of(&r, schedule_merge(s, c, 1)), "C: m/4:p m n k\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_merge(s, c, 2)), "C: m/8:p m n k\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_move(s, c, 1, 3)), "C: m/8:p n k m\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_swap(s, c, 1, 3)), "C: m/8:p m k n\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_split(s, c, 3, 4, true)), "C: m/8:p m k n%4 n\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_mark(s, c, 4, KIND_VECTOR)), "C: m/8:p m k n%4 n:v\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_decrease_reuse(s, c)), "C: m/8:p m k n%4 | n:v\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_decrease_reuse(s, c)), "C: m/8:p m k | n%4 n:v\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_increase_reuse(s, c)), "C: m/8:p m k n%4 | n:v\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_increase_reuse(s, c)), "C: m/8:p m k n%4 n:v |\n");
    CHECK_STR_EQ(text_of(&r, s = schedule_increase_reuse(s, c)), "C: m/8:p m k n%4 n:v\n");
    CHECK_STR_EQ(text_of(&r, before), "C: m n k\n"); // undo: the old value is still there
    CHECK(!schedule_merge(before, c, 0) && !schedule_swap(before, c, 0, 3));
    CHECK(!schedule_split(before, name_of(&r.names, "D"), 0, 4, false));
    tr_end(&r);
}

TEST(actions_edit_storage) {
    TreeRun r;
    tr_begin(&r, matmul);
    Name c = name_of(&r.names, "C");
    const Schedule *s = schedule_complete(&r.arena, r.p, NULL);
    SchedCopy copy = {.tensor = name_of(&r.names, "A"), .storage.home = HOME_AUTO};
    copy.at = (LoopRef){.iter = name_of(&r.names, "k"), .step = 1};
    s = schedule_copy(s, c, &copy);
    CHECK_STR_EQ(text_of(&r, s), "C: m n k\n    copy A at k\n");
    CHECK(!schedule_copy(s, c, &copy));
    CHECK_STR_EQ(text_of(&r, schedule_drop_copy(s, c, copy.tensor)), "C: m n k\n");
    CHECK_STR_EQ(text_of(&r, schedule_swap_dims(s, c, 2, 0, 1)),
                 "C: m n k\n    layout (1 0)\n    copy A at k\n");
    CHECK_STR_EQ(text_of(&r, schedule_at(s, c, copy.at)), "C: m n k\n    at k\n    copy A at k\n");
    CHECK_STR_EQ(text_of(&r, schedule_unroll_inner(&r.arena, r.p, s, 100)),
                 "C: m n:u k:u\n    copy A at k\n");
    tr_end(&r);
}

TEST(actions_maximise_reuse) {
    TreeRun r;
    tr_begin(&r,
             "program p {\n    input A: f32[4, 5]\n    output O: f32[4]\n    temp T: f32[5, 4]\n"
             "    T: for j in 0:5, i in 0:4\n        T[j, i] = A[i, j]\n"
             "    O: for a in 0:4, b in 0:5\n        O[a] +=! T[b, a]\n}\n");
    const Schedule *s = schedule_maximise_reuse(&r.arena, r.p, NULL);
    CHECK_STR_EQ(text_of(&r, s), "T: i j\nO: a b\n"); // i and a are one, and never reduced
    CHECK_STR_EQ(tr_show(&r, text_of(&r, s)), "for i in 4\n"
                                              "  O[i] = 0.0\n"
                                              "  for j in 5\n"
                                              "    T f32[1, 1] 4 B\n"
                                              "    T[0, 0] = A[i, j]\n"
                                              "    O[i] += T[0, 0]\n");
    tr_end(&r);
}

// A random action on a random statement; NULL when it does not apply.
static const Schedule *random_action(const Schedule *s, uint64_t *state) {
    uint64_t x = check_random(state), y = check_random(state), z = check_random(state);
    const SchedStmt *of = s->stmt[x % (uint64_t)s->nstmts];
    int at = of->nloops ? (int)(y % (uint64_t)of->nloops) : 0;
    int to = of->nloops ? (int)(z % (uint64_t)of->nloops) : 0;
    switch (x / 64 % 8) {
    case 0: return schedule_split(s, of->label, at, (int64_t)(z % 6) + 1, z % 8 == 0);
    case 1: return schedule_merge(s, of->label, at);
    case 2: return schedule_move(s, of->label, at, to);
    case 3: return schedule_swap(s, of->label, at, to);
    case 4: return schedule_mark(s, of->label, at, (Kind)(z % (KIND_VECTOR + 1)));
    case 5: return schedule_stage(s, of->label, at);
    case 6: return schedule_decrease_reuse(s, of->label);
    default: return schedule_increase_reuse(s, of->label);
    }
}

TEST(actions_keep_the_meaning_on_random_walks) {
    for (int64_t i = 0; i < check_rounds(400); i++) {
        TreeRun r;
        tr_begin(
            &r,
            "program p {\n    input A: f32[6, 5]\n    input B: f32[5, 7]\n    output O: f32[6, 7]\n"
            "    temp S: f32[6, 5]\n    temp C: f32[6, 7]\n"
            "    S: for i in 0:6, j in 0:5\n        S[i, j] = A[i, j]*2.0\n"
            "    C: for m in 0:6, n in 0:7, k in 0:5\n        C[m, n] +=! S[m, k]*B[k, n]\n"
            "    O: for x in 0:6, y in 0:7\n        O[x, y] = relu(C[x, y])\n}\n");
        uint64_t state = (uint64_t)i + 1;
        const Schedule *s = schedule_complete(&r.arena, r.p, NULL);
        for (int k = 0; k < 10; k++) {
            const Schedule *next = random_action(s, &state);
            if (!next) continue;
            const Tree *t = tree_lower(&r.arena, r.p, next, &r.diags);
            if (!t) continue; // a vector mark that is not innermost
            s = next;
            if (!CHECK(tr_same(&r, t, (InterpFlags){0}, state))) {
                printf("walk %lld\n%s", (long long)i, text_of(&r, s));
                break;
            }
        }
        tr_end(&r);
    }
}
