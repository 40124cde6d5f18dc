// Computes operations that have no instruction: kernels call this function through their
// environment, one vector at a time.
#include "code/code.h"

#include <string.h>

const char *const code_trick_name[TRICK_COUNT] = {
    "split",    "transpose", "deinterleave", "strided",  "backwards", "nontemporal",
    "prefetch", "row",       "gather",       "collapse", "lanes",     "dots",
    "rows",     "permute",   "skip",         "carry",    "cut"};

// Lanes of 4 or 8 bytes, as code/x86 keeps them: bool is 0 or -1, narrow integers are extended.
static Value lane_get(Type t, const char *lanes, int i) {
    Value v = {.i = 0};
    switch (type_compute(t)) {
    case TYPE_F32: {
        float f;
        memcpy(&f, lanes + 4 * i, 4);
        v.f = f;
        return v;
    }
    case TYPE_F64:
    case TYPE_I64:
    case TYPE_U64: memcpy(&v, lanes + 8 * i, 8); return v;
    default: break;
    }
    int32_t x;
    memcpy(&x, lanes + 4 * i, 4);
    v.i = t == TYPE_BOOL ? x != 0 : t == TYPE_U32 ? (int64_t)(uint32_t)x : x;
    return v;
}

static void lane_set(Type t, char *lanes, int i, Value v) {
    if (type_compute(t) == TYPE_F32) {
        float f = (float)v.f;
        memcpy(lanes + 4 * i, &f, 4);
    } else if (type_info[t].bits == 64) {
        memcpy(lanes + 8 * i, &v, 8);
    } else {
        int32_t x = t == TYPE_BOOL ? -(int32_t)(v.i != 0) : (int32_t)v.i;
        memcpy(lanes + 4 * i, &x, 4);
    }
}

void code_apply(int op, int from, int to, int n, void *values) {
    char *area = values;
    char result[64];
    int operands = op == OP_CAST ? 1 : op_info[op].arity;
    for (int i = 0; i < n; i++) {
        Value arg[4];
        for (int k = 0; k < operands; k++) arg[k] = lane_get((Type)from, area + 64 * k, i);
        Value v = op == OP_CAST ? type_convert((Type)to, (Type)from, arg[0])
                                : op_eval((ExprOp)op, (Type)from, arg);
        lane_set((Type)to, result, i, v);
    }
    memcpy(area, result, sizeof result);
}
