// C output in particular: names, refusals, arithmetic where C is undefined.
#include "unit/check.h"

#include "support/clab.h"
#include "sched/schedule.h"

static const char *const plain[] = {"-O1", "-ffp-contract=off", NULL};

static Tree *lowered(Lab *lab, const Program *p) {
    return tree_lower(&lab->arena, p, NULL, &lab->diags);
}

TEST(c_names_are_valid_and_unique) {
    Lab lab;
    CLab c;
    lab_begin(&lab);
    clab_begin(&c);
    const Program *p = lab_program(&lab,
                                   "program `double` { input `for`: f32[4] input `a.b`: f32[4] "
                                   "input a_b: f32[4] output `exp`: f32[4]\n"
                                   "S: for `if` in 0:4  `exp`[`if`] = `for`[`if`] + `a.b`[`if`] + "
                                   "a_b[`if`] }",
                                   NULL);
    if (!p) printf("%s\n", lab_errors(&lab));
    if (CHECK(p) && CHECK(clab_add(&c, lowered(&lab, p)) == 0)) {
        CHECK_STR_EQ(c.functions.at[0].name, "double_");
        CHECK(strstr(clab_source(&c), "void double_(const float *restrict for_, const float "
                                      "*restrict a_b, const float *restrict a_b_2, float "
                                      "*restrict exp_)"));
        CHECK(clab_add(&c, lowered(&lab, p)) == 1);
        CHECK_STR_EQ(c.functions.at[1].name, "double__2");
        CHECK(clab_compile(&c, "gcc", plain, false));
    }
    clab_end(&c);
    lab_end(&lab);
}

TEST(c_refuses_offsets_beyond_64_bits) {
    Lab lab;
    CLab c;
    lab_begin(&lab);
    clab_begin(&c);
    const Program *p = lab_program(
        &lab, "program f { input A: f32[4] output C: f32[4]\nS: for i in 0:4  C[i] = A[i] }", NULL);
    if (CHECK(p)) {
        Tree *t = lowered(&lab, p);
        int64_t wide[1] = {INT64_MAX};
        t->buffers.at[0].stride = wide;
        CHECK(clab_add(&c, t) == 0);
        const Program *q = lab_program(
            &lab, "program f { input A: f32[8] output C: f32[4]\nS: for i in 0:4  C[i] = A[2*i] }",
            NULL);
        t = lowered(&lab, q);
        t->buffers.at[0].stride = wide;
        CHECK(clab_add(&c, t) < 0);
        CHECK(c.diags.items.n && c.diags.items.at[0]->id == DIAG_C_OFFSET);
    }
    clab_end(&c);
    lab_end(&lab);
}
