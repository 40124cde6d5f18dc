// Every operation and conversion on every type, on the values where C differs or is undefined,
// through C and through the interpreter.
#include "unit/check.h"

#include <math.h>

#include "support/clab.h"
#include "support/specials.h"
#include "sched/schedule.h"

static const char *const plain[] = {"-O1", "-ffp-contract=off", NULL};
static const char *const careful[] = {"-O1", "-ffp-contract=off", "-fsanitize=undefined",
                                      "-fno-sanitize-recover=undefined", NULL};
enum { VALUES = 16 };

static Value special(Type t, int i) {
    static const double floats[VALUES] = {0,    -0.0,  1,   -1,   2.5,   -2.5,  0.5,      3,
                                          1e30, -1e30, 0.3, -0.7, 1e-30, 100.5, INFINITY, NAN};
    static const int64_t ints[VALUES] = {0,  1,  -1,  2,         3,         7,         8,  31,
                                         33, 64, 127, INT64_MIN, INT64_MAX, INT32_MIN, -3, 255};
    if (type_is_float(t)) return type_round(t, (Value){.f = floats[i]});
    if (i == 15) return type_identity(t, '>');
    return type_round(t, (Value){.i = ints[i]});
}

typedef VEC(const Program *) Programs;

static void add(Lab *lab, CLab *c, Programs *all, const char *text) {
    const Program *p = lab_program(lab, text, NULL);
    if (!CHECK(p)) {
        printf("%s\n%s\n", text, lab_errors(lab));
        return;
    }
    Tree *t = tree_lower(&lab->arena, p, NULL, &lab->diags);
    if (CHECK(t && clab_add(c, t) == all->n)) vec_push(&lab->arena, all, p);
}

static void compare_all(Lab *lab, CLab *c, const Programs *all, const char *const *flags) {
    if (!CHECK(clab_compile(c, "gcc", flags, false))) printf("%s\n", c->message);
    for (int i = 0; c->library && i < all->n; i++) {
        const Program *p = all->at[i];
        LabData want = special_data(lab, p, VALUES, special), got = lab_copy(lab, p, &want);
        lab_run(lab, p, &want);
        CHECK_INT_EQ(clab_run(c, i, &got, (InterpFlags){0}, i & 1), 0);
        const char *d = lab_difference(lab, p, &got, &want);
        if (!CHECK(!d)) printf("%s\n%s\n", lab_text(lab, p), d);
    }
}

TEST(c_computes_every_operation) {
    Lab lab;
    CLab c;
    Programs all = {0};
    lab_begin(&lab);
    clab_begin(&c);
    for (int t = TYPE_BOOL; t < TYPE_COUNT; t++)
        for (int op = 0; op < OP_COUNT; op++)
            if (op_applies(op, (Type)t))
                add(&lab, &c, &all, op_program(&lab.arena, op, (Type)t, VALUES));
    compare_all(&lab, &c, &all, plain);
    compare_all(&lab, &c, &all, careful);
    clab_end(&c);
    lab_end(&lab);
}

TEST(c_converts_between_all_types) {
    Lab lab;
    CLab c;
    Programs all = {0};
    lab_begin(&lab);
    clab_begin(&c);
    for (int from = TYPE_BOOL; from < TYPE_COUNT; from++)
        for (int to = TYPE_BOOL; to < TYPE_COUNT; to++)
            add(&lab, &c, &all, cast_program(&lab.arena, (Type)from, (Type)to, VALUES));
    compare_all(&lab, &c, &all, plain);
    compare_all(&lab, &c, &all, careful);
    clab_end(&c);
    lab_end(&lab);
}
