// Shrinking a failing pair leaves only the parts that the failure needs.
#include "unit/check.h"

#include "support/gensched.h"
#include "support/shrink.h"

static const char program[] = "program p { input A: f32[6, 8] input b: f32[6] output C: f32[6] "
                              "output O: f32[6] temp T: f32[6, 8]\n"
                              "T: for i in 0:6, j in 0:8  T[i, j] = relu(A[i, j]) + 1.0\n"
                              "C: for i in 0:6, j in 0:8  C[i] max=! T[i, j]*2.0\n"
                              "O: for i in 0:6  O[i] = C[i] + b[i] }";

// Fails if there is a maximum and some loop is interleaved.
static bool fails(void *user, const Program *p, const Schedule *s) {
    bool maximum = false, interleaved = false;
    ++*(int *)user;
    for (int i = 0; i < p->stmts.n; i++) maximum |= p->stmts.at[i].op == REDUCE_MAX;
    for (int i = 0; i < s->nstmts; i++)
        for (int k = 0; k < s->stmt[i]->nloops; k++) interleaved |= s->stmt[i]->loop[k].interleaved;
    return maximum && interleaved;
}

TEST(what_the_failure_does_not_need_is_taken_away) {
    Lab lab;
    lab_begin(&lab);
    const Program *p = lab_program(&lab, program, NULL);
    const char *text = "T: i/4:p j i\nC: j/3 i%2 j i:v | \n    accumulators 2\nO: i\n";
    Source src = {"s.lws", text, (uint32_t)strlen(text)};
    const Schedule *s = schedule_parse(&lab.arena, &lab.names, &src, &lab.diags);
    int asked = 0;
    if (CHECK(p && s)) {
        shrink_pair(&lab, 1, &p, &s, fails, &asked);
        CHECK_STR_EQ(lab_text(&lab, p), "program p {\n"
                                        "    input T: f32[6, 8]\n"
                                        "    output C: f32[6]\n\n"
                                        "    C: for i in 0:1, j in 0:1\n"
                                        "        C[i] max=! T[i, j]\n}\n");
        CHECK_STR_EQ(shrink_schedule_text(&lab, s), "C: i%2\n");
        CHECK(asked > 5 && asked < 200);
    }
    lab_end(&lab);
}
