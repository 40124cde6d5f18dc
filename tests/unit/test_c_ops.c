// Every operation and conversion on every type, on the values where C differs or is undefined,
// through C and through the interpreter.
#include "check.h"

#include <math.h>

#include "support/clab.h"
#include "tree/schedule.h"

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

static LabData special_data(Lab *lab, const Program *p) {
    LabData d = lab_data(lab, p, 1);
    for (int t = 0; t < p->ninputs; t++) {
        Type type = p->tensors.at[t].type;
        for (int i = 0; i < VALUES; i++)
            type_store(type, (char *)d.view[t].data + i * type_info[type].bytes, special(type, i));
    }
    return d;
}

// "C[i, j] = A[i] + B[j]", or with a call.
static const char *op_text(Arena *arena, int op, Type t) {
    const OpInfo *o = &op_info[op];
    const char *type = type_info[t].name, *to = o->class == OP_COMPARE ? "bool" : type;
    static const char *const args[] = {"A[i]", "B[j]", "A[j]", "B[i]"};
    Text value = {.arena = arena};
    if (o->arity == 2 && op_precedence((ExprOp)op)) {
        text_printf(&value, "A[i] %s B[j]", o->name);
    } else if (op == OP_NEG) {
        text_add(&value, "-A[i]");
    } else {
        text_printf(&value, "%s(", o->name);
        for (int i = 0; i < o->arity; i++) text_printf(&value, "%s%s", i ? ", " : "", args[i]);
        text_char(&value, ')');
    }
    return arena_printf(arena,
                        "program f { input A: %s[16] input B: %s[16] output C: %s[16, 16]\n"
                        "S: for i in 0:16, j in 0:16  C[i, j] = %s }",
                        type, type, to, text_str(&value));
}

static bool applies(int op, Type t) {
    bool is_float = type_is_float(t);
    if (op_info[op].class == OP_COMPARE) return true;
    if (op_info[op].class == OP_MATH) return is_float;
    if (op_info[op].class != OP_ARITH) return false;
    return !is_float || op < OP_BITAND || op > OP_SHR;
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
        LabData want = special_data(lab, p), got = lab_copy(lab, p, &want);
        lab_run(lab, p, &want);
        CHECK_INT_EQ(clab_run(c, i, &got, (InterpFlags){0}), 0);
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
            if (applies(op, (Type)t)) add(&lab, &c, &all, op_text(&lab.arena, op, (Type)t));
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
            add(&lab, &c, &all,
                arena_printf(&lab.arena,
                             "program f { input A: %s[16] output C: %s[16]\n"
                             "S: for i in 0:16  C[i] = %s(A[i]) }",
                             type_info[from].name, type_info[to].name, type_info[to].name));
    compare_all(&lab, &c, &all, plain);
    compare_all(&lab, &c, &all, careful);
    clab_end(&c);
    lab_end(&lab);
}
