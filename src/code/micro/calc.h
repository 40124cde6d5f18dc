// Writes micro-operations like formulas. Private to code/: micro_math.c, micro_integer.c,
// micro_cast.c.
#ifndef LW_CODE_MICRO_CALC_H
#define LW_CODE_MICRO_CALC_H

#include "code/micro/micro_math.h"

typedef struct Calc {
    Seg *s;
    Type type, bits; // f32 and i32, or f64 and i64
    int width;
    int mant, bias; // of the type: bits of the mantissa, bias of the exponent
    const Machine *machine;
} Calc;

static inline Calc calc_for(Seg *s, const Machine *machine, Type type, int width) {
    return (Calc){.s = s,
                  .type = type,
                  .bits = type_info[type].bits == 64 ? TYPE_I64 : TYPE_I32,
                  .width = width,
                  .mant = type_info[type].precision - 1,
                  .bias = type_info[type].bias,
                  .machine = machine};
}

static inline bool is_f64(const Calc *c) { return c->type == TYPE_F64; }

// ---- One operation each

static inline int num(const Calc *c, double x) {
    return seg_const(c->s, c->type, c->width, (Value){.f = x});
}

static inline int word(const Calc *c, int64_t bits) {
    return seg_const(c->s, c->bits, c->width, (Value){.i = bits});
}

static inline int op2(const Calc *c, int op, int x, int y) {
    return seg_op(c->s, MI_OP, op, c->type, c->type, c->width, 2, (int[]){x, y});
}

static inline int bits2(const Calc *c, int op, int x, int y) {
    return seg_op(c->s, MI_OP, op, c->bits, c->bits, c->width, 2, (int[]){x, y});
}

static inline int add(const Calc *c, int x, int y) { return op2(c, OP_ADD, x, y); }
static inline int sub(const Calc *c, int x, int y) { return op2(c, OP_SUB, x, y); }
static inline int mul(const Calc *c, int x, int y) { return op2(c, OP_MUL, x, y); }
static inline int divide(const Calc *c, int x, int y) { return op2(c, OP_DIV, x, y); }

static inline int fma3(const Calc *c, int x, int y, int z) { // x·y + z
    return seg_op(c->s, MI_FMA, 0, c->type, c->type, c->width, 3, (int[]){x, y, z});
}

static inline int shift(const Calc *c, MicroOp op, int x, int by) {
    return seg_shift(c->s, op, c->bits, c->width, x, by);
}

// a where `x compare y`, else b.
static inline int choose(const Calc *c, ExprOp compare, int x, int y, int a, int b) {
    return seg_op(c->s, MI_CHOOSE, compare, c->type, c->type, c->width, 4, (int[]){x, y, a, b});
}

static inline int sign_word(const Calc *c) { return word(c, is_f64(c) ? INT64_MIN : INT32_MIN); }
static inline int sign_of(const Calc *c, int x) { return bits2(c, OP_BITAND, x, sign_word(c)); }

static inline int magnitude(const Calc *c, int x) {
    return bits2(c, OP_BITAND, x, word(c, is_f64(c) ? INT64_MAX : INT32_MAX));
}

static inline int unary(const Calc *c, int op, int x) {
    return seg_op(c->s, MI_OP, op, c->type, c->type, c->width, 1, &x);
}

// a where `x compare y` of the bits as integers, else b. Only LT and EQ.
static inline int choose_bits(const Calc *c, ExprOp compare, int x, int y, int a, int b) {
    return seg_op(c->s, MI_CHOOSE, compare, c->type, c->bits, c->width, 4, (int[]){x, y, a, b});
}

#endif
