#include "support/specials.h"

bool op_applies(int op, Type t) {
    bool is_float = type_is_float(t);
    if (op_info[op].class == OP_COMPARE) return true;
    if (op_info[op].class == OP_MATH) return is_float;
    if (op_info[op].class != OP_ARITH) return false;
    return !is_float || op < OP_BITAND || op > OP_SHR;
}

const char *op_program(Arena *arena, int op, Type t, int n) {
    const OpInfo *o = &op_info[op];
    const char *type = type_info[t].name, *to = o->class == OP_COMPARE ? "bool" : type;
    static const char *const args[] = {"A[j]", "B[i]", "A[i]", "B[j]"};
    Text value = {.arena = arena};
    if (o->arity == 2 && op_info[op].binds) {
        text_printf(&value, "A[j] %s B[i]", o->name);
    } else if (op == OP_NEG) {
        text_add(&value, "-A[j]");
    } else {
        text_printf(&value, "%s(", o->name);
        for (int i = 0; i < o->arity; i++) text_printf(&value, "%s%s", i ? ", " : "", args[i]);
        text_char(&value, ')');
    }
    return arena_printf(arena,
                        "program f { input A: %s[%d] input B: %s[%d] output C: %s[%d, %d]\n"
                        "C: for i in 0:%d, j in 0:%d  C[i, j] = %s }",
                        type, n, type, n, to, n, n, n, n, text_str(&value));
}

const char *cast_program(Arena *arena, Type from, Type to, int n) {
    return arena_printf(arena,
                        "program f { input A: %s[%d] output C: %s[%d]\n"
                        "C: for i in 0:%d  C[i] = %s(A[i]) }",
                        type_info[from].name, n, type_info[to].name, n, n, type_info[to].name);
}

LabData special_data(Lab *lab, const Program *p, int n, Value (*value)(Type, int)) {
    LabData d = lab_data(lab, p, 1);
    for (int t = 0; t < p->ninputs; t++) {
        Type type = p->tensors.at[t].type;
        for (int i = 0; i < n; i++)
            type_store(type, (char *)d.view[t].data + i * type_info[type].bytes, value(type, i));
    }
    return d;
}
