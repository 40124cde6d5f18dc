// Integer operations without vector instructions, as micro-operations: arithmetic of bool, and
// division, which rounds down and gives 0 if the divisor is 0.
//
// The quotient of exact floats is never rounded up to an integer that it does not reach, as long as
// the product of quotient and divisor fits the mantissa. f32 therefore divides 8- and 16-bit
// integers, and f64 those of 32 bits, half of the lanes at a time. The back-end does 64-bit
// division, except by a power of two.
#include "code/micro/calc.h"

#include "base/bug.h"

// ---- Bool

static int bool2(Seg *s, ExprOp op, int width, int x, int y) {
    return seg_op(s, MI_OP, op, TYPE_BOOL, TYPE_BOOL, width, 2, (int[]){x, y});
}

// The operands are 0 and 1; every result except 0 becomes 1.
static int bool_op(Seg *s, ExprOp op, int width, const int *args) {
    int x = args[0];
    if (op_info[op].arity == 1) return x; // -x, abs(x), relu(x)
    int y = args[1], both = OP_AND, differ = OP_BITXOR;
    int no_x = seg_op(s, MI_OP, OP_NOT, TYPE_BOOL, TYPE_BOOL, width, 1, &x);
    int no_y = seg_op(s, MI_OP, OP_NOT, TYPE_BOOL, TYPE_BOOL, width, 1, &y);
    switch (op) {
    case OP_MUL:
    case OP_DIV:
    case OP_MIN: return bool2(s, both, width, x, y);
    case OP_ADD:
    case OP_MAX: return bool2(s, OP_OR, width, x, y);
    case OP_SUB:
    case OP_NE: return bool2(s, differ, width, x, y);
    case OP_EQ: return bool2(s, differ, width, x, no_y);
    case OP_SHR:
    case OP_GT: return bool2(s, both, width, x, no_y);
    case OP_LT: return bool2(s, both, width, no_x, y);
    case OP_LE: return bool2(s, OP_OR, width, no_x, y);
    case OP_GE: return bool2(s, OP_OR, width, x, no_y);
    case OP_MOD: return seg_const(s, TYPE_BOOL, width, (Value){.i = 0});
    case OP_SHL: return x; // by 0 or 1; 2 also counts as true
    default: bug("%s of bool", op_info[op].name);
    }
}

// ---- Division

// 32-bit operations for every type: the result is wrapped at the end.
static int int2(const Calc *c, ExprOp op, int x, int y) {
    return seg_op(c->s, MI_OP, op, TYPE_I32, TYPE_I32, c->width, 2, (int[]){x, y});
}

static int to_float(const Calc *c, int x) {
    return seg_op(c->s, MI_CAST, 0, TYPE_F32, TYPE_I32, c->width, 1, &x);
}

// The quotient of exact floats, not rounded. For a constant k > 0 it is a product: (x + 1/2)·(1/k).
// x + 1/2 is exact, its quotient is at least 1/2k away from an integer, and the error of the
// product is smaller.
static int quotient(const Calc *c, int x, int y, int64_t k) {
    return k > 0 ? mul(c, add(c, x, num(c, 0.5)), num(c, 1.0 / (double)k)) : divide(c, x, y);
}

static int quotient_small(const Calc *c, int x, int y, int64_t k) {
    int q = quotient(c, to_float(c, x), k > 0 ? -1 : to_float(c, y), k);
    q = unary(c, OP_FLOOR, q);
    return seg_op(c->s, MI_OP, MOP_TO_INT, TYPE_I32, TYPE_F32, c->width, 1, &q);
}

// Unsigned numbers are converted through i32, lowered by 2^31.
static int quotient_32(const Calc *c, bool is_signed, int x, int y, int64_t known) {
    Calc half = calc_for(c->s, c->machine, TYPE_F64, c->width == 1 ? 1 : c->width / 2);
    int top = word(c, INT32_MIN), q[2], n = c->width == 1 ? 1 : 2;
    int shift_by = num(&half, 0x1p31);
    int arg[2] = {is_signed ? x : int2(c, OP_BITXOR, x, top),
                  is_signed ? y : int2(c, OP_BITXOR, y, top)};
    for (int i = 0; i < n; i++) {
        int f[2] = {-1, -1};
        for (int k = 0; k < (known > 0 ? 1 : 2); k++) {
            f[k] = seg_op(c->s, MI_WIDEN, i, TYPE_F64, TYPE_I32, half.width, 1, &arg[k]);
            if (!is_signed) f[k] = add(&half, f[k], shift_by);
        }
        q[i] = unary(&half, OP_FLOOR, quotient(&half, f[0], f[1], known));
        if (!is_signed) q[i] = sub(&half, q[i], shift_by);
    }
    int z = seg_op(c->s, MI_NARROW, 0, TYPE_I32, TYPE_F64, c->width, n, q);
    return is_signed ? z : int2(c, OP_BITXOR, z, top);
}

static int divide_by_power(const Calc *c, ExprOp op, Type type, int x, int64_t k) {
    bool mod = op == OP_MOD;
    if (type_info[type].bits < 32) type = TYPE_I32; // they are kept as i32
    int64_t by = mod ? k - 1 : __builtin_ctzll((uint64_t)k);
    int args[2] = {x, seg_const(c->s, type, c->width, (Value){.i = by})};
    return seg_op(c->s, MI_OP, mod ? OP_BITAND : OP_SHR, type, type, c->width, 2, args);
}

// The divisor if it is a positive constant, else 0.
static int64_t known_divisor(const Seg *s, int y) {
    int def = s->vals.at[y].def;
    if (def < 0 || s->micros.at[def].kind != MI_CONST) return 0;
    return s->micros.at[def].value.i > 0 ? s->micros.at[def].value.i : 0;
}

static bool is_power(int64_t k) { return k > 0 && (k & (k - 1)) == 0; }

// 64-bit division, except by a power of two: the back-end does it.
static int divide_wide(Seg *s, const Machine *machine, ExprOp op, Type type, int width,
                       const int *args) {
    Calc c = calc_for(s, machine, TYPE_F32, width);
    int64_t k = known_divisor(s, args[1]);
    if (is_power(k)) return divide_by_power(&c, op, type, args[0], k);
    return seg_op(s, MI_OP, op, type, type, width, 2, args);
}

// The smallest number divided by -1 is 2^31, which wraps to itself in i32.
static int divide_ints(Seg *s, const Machine *machine, ExprOp op, Type type, int width,
                       const int *args) {
    Calc c = calc_for(s, machine, TYPE_F32, width);
    int x = args[0], y = args[1], zero = word(&c, 0);
    int64_t k = known_divisor(s, y);
    bool small = type_info[type].bits < 32;
    if (is_power(k)) return divide_by_power(&c, op, type, x, k);
    int z = small ? quotient_small(&c, x, y, k)
                  : quotient_32(&c, type_info[type].class == CLASS_INT, x, y, k);
    if (op == OP_MOD) z = int2(&c, OP_SUB, x, int2(&c, OP_MUL, z, y));
    if (k == 0) z = choose_bits(&c, OP_EQ, y, zero, zero, z);
    return cast_expand(s, machine, type, TYPE_I32, width, z);
}

// ---- Dispatch

bool integer_has(ExprOp op, Type type) {
    if (type == TYPE_BOOL)
        return op_info[op].class == OP_COMPARE ||
               (op_info[op].class == OP_ARITH && (op < OP_BITAND || op > OP_BITXOR));
    return (op == OP_DIV || op == OP_MOD) && type_is_integer(type);
}

int integer_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width,
                   const int *args) {
    if (type == TYPE_BOOL) return bool_op(s, op, width, args);
    if (type_info[type].bits == 64) return divide_wide(s, machine, op, type, width, args);
    s->crowded = true;
    return divide_ints(s, machine, op, type, width, args);
}

// ---- Indices

// For indices below 2^20.
static int quotient_index(const Calc *c, int x, int64_t k) {
    int q = unary(c, OP_FLOOR, quotient(c, to_float(c, x), -1, k));
    return seg_op(c->s, MI_OP, MOP_TO_INT, TYPE_I32, TYPE_F32, c->width, 1, &q);
}

int index_expand(Seg *s, const Machine *machine, ExprOp op, Type type, int width, int x, int64_t k,
                 bool small) {
    int args[2] = {x, seg_const(s, type, width, (Value){.i = k})};
    Calc c = calc_for(s, machine, TYPE_F32, width);
    if (is_power(k)) return divide_by_power(&c, op, type, x, k);
    if (type == TYPE_I64 || !small) return integer_expand(s, machine, op, type, width, args);
    int q = quotient_index(&c, x, k);
    return op == OP_MOD ? int2(&c, OP_SUB, x, int2(&c, OP_MUL, q, args[1])) : q;
}
