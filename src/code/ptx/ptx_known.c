// Reuses the results of operations that are still in registers. The PTX assembler does not merge
// divisions and roots with equal operands; here each is computed once in a piece of straight-line
// code.
//
//     y[i] = x[i] / norm       y[i + 1] = x[i + 1] / norm       with norm = sqrt(s / n)
//
// A label invalidates all results, and overwriting a register invalidates the results computed from
// it.
#include "code/ptx/ptx_impl.h"

enum { SLOTS = 512, MOST_ARGS = 2 };

typedef struct KnownValue {
    int block; // number of its piece of straight-line code; 0: unused
    ExprOp op;
    Type type;
    bool near;
    int n;
    Opnd arg[MOST_ARGS];
    uint32_t version[MOST_ARGS];
    Opnd value;
} KnownValue;

static uint32_t version_of(const KernelWriter *w, Opnd o) {
    if (o.literal || o.reg >= w->version[o.class].n) return 0;
    return w->version[o.class].at[o.reg];
}

void value_overwritten(KernelWriter *w, Opnd o) {
    if (o.literal || o.reg + 1 == w->nregs[o.class]) return; // a new register
    while (w->version[o.class].n <= o.reg) vec_push(w->arena, &w->version[o.class], 0);
    w->version[o.class].at[o.reg]++;
}

void values_forget(KernelWriter *w) { w->block++; }

static bool same_operand(Opnd a, Opnd b) {
    return a.class == b.class && a.literal == b.literal &&
           (a.literal ? a.bits == b.bits : a.reg == b.reg);
}

static uint64_t value_hash(ExprOp op, int n, const Opnd *v) {
    uint64_t h = (uint64_t)op;
    for (int i = 0; i < n; i++) h = hash_mix(h, v[i].literal ? v[i].bits : (uint64_t)v[i].reg + 1);
    return h;
}

// The slot of this operation in the table; *found tells whether its result is there. Returns NULL
// if such operations are not kept.
KnownValue *value_slot(KernelWriter *w, ExprOp op, Type type, const Opnd *v, bool *found) {
    int n = op_info[op].arity;
    *found = false;
    if (n > MOST_ARGS || !type_is_float(type) || op_info[op].class == OP_COMPARE) return NULL;
    if (!w->values) w->values = arena_new_n(w->arena, KnownValue, SLOTS);
    KnownValue *k = &w->values[value_hash(op, n, v) % SLOTS];
    bool same = k->block == w->block + 1 && k->op == op && k->type == type && k->near == w->near;
    for (int i = 0; i < n && same; i++)
        same = same_operand(k->arg[i], v[i]) && k->version[i] == version_of(w, v[i]);
    *found = same;
    return k;
}

Opnd value_found(const KnownValue *k) { return k->value; }

void value_put(KernelWriter *w, KnownValue *k, ExprOp op, Type type, const Opnd *v, Opnd value) {
    *k = (KnownValue){.block = w->block + 1,
                      .op = op,
                      .type = type,
                      .near = w->near,
                      .n = op_info[op].arity,
                      .value = value};
    for (int i = 0; i < k->n; i++) {
        k->arg[i] = v[i];
        k->version[i] = version_of(w, v[i]);
    }
}
