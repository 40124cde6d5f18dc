// Conversions between types, as micro-operations.
//
// Back-ends convert between f32 and f64, from i32 to both, between integers, from f32 to f16 and
// bf16, and (MOP_TO_INT) from floats in range to integers; with Machine.has_cvt64 also from 64-bit
// integers to floats. The other conversions are built here: saturating ones, unsigned ones, and
// those of 64-bit integers, which are handled as two 32-bit halves in f64, where each is exact and
// one fused multiply-add rounds once.
#include "code/micro/calc.h"

#include <math.h>

#include "base/bug.h"

static int plain(const Calc *c, Type to, Type from, int x) {
    return seg_op(c->s, MI_CAST, 0, to, from, c->width, 1, &x);
}

static int to_int(const Calc *c, Type to, int x) {
    return seg_op(c->s, MI_OP, MOP_TO_INT, to, c->type, c->width, 1, &x);
}

// Selects by a comparison of floats of c's type; the result has type `type`, of equal width.
static int choose_as(const Calc *c, Type type, ExprOp compare, int x, int y, int a, int b) {
    return seg_op(c->s, MI_CHOOSE, compare, type, c->type, c->width, 4, (int[]){x, y, a, b});
}

static int integer(const Calc *c, Type type, int64_t i) {
    return seg_const(c->s, type, c->width, (Value){.i = i});
}

static int no_nan(const Calc *c, int x) { return choose(c, OP_EQ, x, x, x, num(c, 0)); }
static int up_to(const Calc *c, int x, double most) { return op2(c, MOP_LESSER, x, num(c, most)); }
static int from_on(const Calc *c, int x, double least) {
    return op2(c, MOP_GREATER, x, num(c, least)); // `least` if x is NaN
}

// ---- Floats to integers: saturating, 0 of NaN

static int to_small(const Calc *c, Type to, int x) {
    int bits = type_info[to].bits;
    if (type_info[to].class == CLASS_UINT)
        return to_int(c, TYPE_I32, up_to(c, from_on(c, x, 0), ldexp(1, bits) - 1));
    double limit = ldexp(1, bits - 1);
    return to_int(c, TYPE_I32, up_to(c, from_on(c, no_nan(c, x), -limit), limit - 1));
}

// A value out of range becomes INT32_MIN, as the instruction defines.
static int to_i32(const Calc *c, int x) {
    if (is_f64(c)) return to_int(c, TYPE_I32, up_to(c, no_nan(c, x), INT32_MAX));
    int y = choose_as(c, TYPE_I32, OP_GE, x, num(c, 0x1p31), integer(c, TYPE_I32, INT32_MAX),
                      to_int(c, TYPE_I32, x));
    return choose_as(c, TYPE_I32, OP_EQ, x, x, y, integer(c, TYPE_I32, 0));
}

static int flip_top(const Calc *c, int x) {
    return seg_op(c->s, MI_OP, OP_BITXOR, TYPE_I32, TYPE_I32, c->width, 2,
                  (int[]){x, integer(c, TYPE_I32, INT32_MIN)});
}

static int to_u32(const Calc *c, int x) {
    int y = from_on(c, x, 0), half = num(c, 0x1p31);
    if (is_f64(c)) {
        y = unary(c, OP_TRUNC, up_to(c, y, UINT32_MAX));
        return flip_top(c, to_int(c, TYPE_I32, sub(c, y, half)));
    }
    int low = choose(c, OP_LT, y, half, y, sub(c, y, half));
    int z = to_int(c, TYPE_I32, low);
    z = choose_as(c, TYPE_I32, OP_LT, y, half, z, flip_top(c, z));
    return choose_as(c, TYPE_I32, OP_LT, y, num(c, 0x1p32), z, integer(c, TYPE_I32, -1));
}

// The bits of a 64-bit integer from an integral f64: adding a power of two moves both halves to the
// low bits.
static int to_64_bits(const Calc *c, bool is_signed, int x) {
    int high = unary(c, OP_FLOOR, mul(c, x, num(c, 0x1p-32)));
    int low = fma3(c, high, num(c, -0x1p32), x);
    int h = shift(c, MOP_SHL, add(c, high, num(c, is_signed ? 0x1.8p52 : 0x1p52)), 32);
    int l = bits2(c, OP_BITAND, add(c, low, num(c, 0x1p52)), word(c, UINT32_MAX));
    return bits2(c, OP_BITOR, h, l);
}

static int to_i64(const Calc *c, int x) {
    int y = from_on(c, no_nan(c, x), -0x1p63), limit = num(c, 0x1p63);
    int z =
        c->machine->has_cvt64 ? to_int(c, TYPE_I64, y) : to_64_bits(c, true, unary(c, OP_TRUNC, y));
    return choose_as(c, TYPE_I64, OP_LT, y, limit, z, integer(c, TYPE_I64, INT64_MAX));
}

static int to_u64(const Calc *c, int x) {
    int y = from_on(c, x, 0);
    int z = c->machine->has_cvt64 ? to_int(c, TYPE_U64, y)
                                  : to_64_bits(c, false, unary(c, OP_TRUNC, y));
    return choose_as(c, TYPE_U64, OP_LT, y, num(c, 0x1p64), z, integer(c, TYPE_U64, -1));
}

static int float_to_int(Seg *s, const Machine *machine, Type to, Type from, int width, int x) {
    Calc c = calc_for(s, machine, from, width);
    switch (to) {
    case TYPE_I32: return to_i32(&c, x);
    case TYPE_U32: return to_u32(&c, x);
    case TYPE_I64:
    case TYPE_U64:
        if (from == TYPE_F32) x = plain(&c, TYPE_F64, TYPE_F32, x);
        c = calc_for(s, machine, TYPE_F64, width);
        return to == TYPE_I64 ? to_i64(&c, x) : to_u64(&c, x);
    default: return to_small(&c, to, x);
    }
}

// ---- Integers to floats: rounded once

// 32 bits in the low half of a 64-bit lane, as f64.
static int low_half(const Calc *c, int x, double less) {
    int y = bits2(c, OP_BITOR, x, word(c, (int64_t)0x433 << 52)); // 2^52 + x
    return sub(c, y, num(c, less));
}

static int f64_from_64(const Calc *c, bool is_signed, int x) {
    int flip = is_signed ? bits2(c, OP_BITXOR, x, word(c, INT64_MIN)) : x;
    int high = low_half(c, shift(c, MOP_SHR, flip, 32), is_signed ? 0x1p52 + 0x1p31 : 0x1p52);
    int low = low_half(c, bits2(c, OP_BITAND, x, word(c, UINT32_MAX)), 0x1p52);
    return fma3(c, high, num(c, 0x1p32), low);
}

// For f32: replaces the low 11 bits of large numbers by one that says whether any was set. f64 is
// then exact, and only the rounding to f32 rounds.
static int sticky(const Calc *c, bool is_signed, int x) {
    int low = bits2(c, OP_ADD, bits2(c, OP_BITAND, x, word(c, 0x7ff)), word(c, 0x7ff));
    int large = bits2(c, OP_BITAND, bits2(c, OP_BITOR, x, low), word(c, ~(int64_t)0x7ff));
    if (!is_signed) return choose_bits(c, OP_EQ, shift(c, MOP_SHR, x, 53), word(c, 0), x, large);
    int64_t limit = (int64_t)1 << 53;
    int y = choose_bits(c, OP_LT, x, word(c, -limit), large, x);
    return choose_bits(c, OP_LT, word(c, limit), x, large, y);
}

static int float_from_64(Seg *s, const Machine *machine, Type to, Type from, int width, int x) {
    Calc c = calc_for(s, machine, TYPE_F64, width);
    if (machine->has_cvt64) return plain(&c, to, from, x);
    bool is_signed = from == TYPE_I64;
    if (to == TYPE_F64) return f64_from_64(&c, is_signed, x);
    return plain(&c, TYPE_F32, TYPE_F64, f64_from_64(&c, is_signed, sticky(&c, is_signed, x)));
}

static int float_from_u32(Seg *s, const Machine *machine, Type to, int width, int x) {
    Calc c = calc_for(s, machine, to, width);
    if (to == TYPE_F64) return low_half(&c, plain(&c, TYPE_I64, TYPE_U32, x), 0x1p52);
    int high = plain(&c, TYPE_F32, TYPE_I32, shift(&c, MOP_SHR, x, 16));
    int low = plain(&c, TYPE_F32, TYPE_I32, bits2(&c, OP_BITAND, x, word(&c, 0xffff)));
    return fma3(&c, high, num(&c, 0x1p16), low);
}

// ---- Dispatch

// Does the integer in its lane already have the form of the other type?
static bool same_lane(Type to, Type from) {
    int a = type_info[from].bits, b = type_info[to].bits;
    bool is_signed = type_info[from].class == CLASS_INT;
    if (a == 64 || b == 64) return a == b;
    if (b == 32 || (!is_signed && a < b)) return true;
    return is_signed && type_info[to].class == CLASS_INT && a <= b;
}

int cast_expand(Seg *s, const Machine *machine, Type to, Type from, int width, int x) {
    Calc c = calc_for(s, machine, TYPE_F32, width);
    if (from == TYPE_F16 || from == TYPE_BF16) from = TYPE_F32;
    if (from == to) return x;
    if (to == TYPE_F16 || to == TYPE_BF16) {
        x = cast_expand(s, machine, TYPE_F32, from, width, x);
        return plain(&c, to, TYPE_F32, x);
    }
    if (to == TYPE_BOOL) {
        int zero = seg_const(s, from, width, (Value){.i = 0});
        return seg_op(s, MI_OP, OP_NE, TYPE_BOOL, from, width, 2, (int[]){x, zero});
    }
    if (from == TYPE_BOOL) {
        x = plain(&c, TYPE_I32, TYPE_BOOL, x);
        return cast_expand(s, machine, to, TYPE_I32, width, x);
    }
    bool out = type_is_float(to);
    if (type_is_float(from)) {
        s->crowded |= !out;
        return out ? plain(&c, to, from, x) : float_to_int(s, machine, to, from, width, x);
    }
    if (!out) return same_lane(to, from) ? x : plain(&c, to, from, x);
    s->crowded |= type_info[from].bits >= 32;
    if (type_info[from].bits == 64) return float_from_64(s, machine, to, from, width, x);
    if (from == TYPE_U32) return float_from_u32(s, machine, to, width, x);
    return plain(&c, to, TYPE_I32, x);
}
