// Operations on vectors (MI_OP, MI_CHOOSE): the table of ops.def, and the functions that it names.
#include "code/x86/ops.h"

#include <string.h>

#include "base/bug.h"
#include "code/x86/mem.h"

// The integer type whose lanes have the size of t's.
static Type bits_of(Type t) { return gen_is64(t) ? TYPE_I64 : TYPE_I32; }

// scratch <- `value` in all lanes
static void set_scratch(OpArgs *o, Type t, Value value) {
    x86_set_const(o->g, t, o->m->width, o->g->scratch, value);
}

// ---- Floats

// min and max propagate NaN and order -0 < +0. AVX-512: vrange orders zeros but drops a NaN; the
// sum of the operands restores it. The immediate of vrange selects minimum or maximum.
static void float_range(OpArgs *o) {
    Asm *a = &o->g->a;
    x86_4(a, x86_compare_of(o->type)->by_predicate, x86_k(2), o->a, o->b, x86_imm(3));
    x86_4(a, o->way->op, o->d, o->a, o->b, x86_imm(o->way->imm));
    x86_3(a, x86_instr(o->g, USE_FLOAT_ADD, o->type), x86_masked(o->d, 2, false), o->a, o->b);
}

static void float_min(OpArgs *o) {
    Asm *a = &o->g->a;
    x86_3(a, o->way->op, o->t, o->a, o->b);
    x86_3(a, o->way->op, o->d, o->b, o->a);
    // -0 | +0 = -0; NaN | x = NaN
    x86_3(a, x86_instr(o->g, USE_FLOAT_OR, o->type), o->d, o->d, o->t);
}

static void float_max(OpArgs *o) {
    Asm *a = &o->g->a;
    x86_3(a, o->way->op, o->t, o->a, o->b); // b when either is NaN or both are zero
    x86_3(a, o->way->op, o->d, o->b, o->a); // a likewise
    x86_3(a, x86_instr(o->g, USE_FLOAT_AND, o->type), o->d, o->d, o->t);
    x86_4(a, x86_compare_of(o->type)->by_predicate, o->t, o->a, o->b,
          x86_imm(3)); // a NaN lost bits
    x86_3(a, x86_instr(o->g, USE_FLOAT_OR, o->type), o->d, o->d, o->t);
}

static void float_relu(OpArgs *o) {
    x86_zero(o->g, o->g->scratch);
    x86_3(&o->g->a, o->way->op, o->d, o->t, o->a); // x when x is NaN
    // -0 becomes +0
    x86_3(&o->g->a, x86_instr(o->g, USE_FLOAT_ADD, o->type), o->d, o->d, o->t);
}

static void reciprocal(OpArgs *o) {
    set_scratch(o, o->type, (Value){.f = 1});
    x86_3(&o->g->a, o->way->op, o->d, o->t, o->a);
}

// The sign bits of 4- or 8-byte lanes.
static uint64_t sign_bits(Type t) { return gen_is64(t) ? (uint64_t)1 << 63 : 0x8000000080000000u; }

static void flip_sign(OpArgs *o) {
    set_scratch(o, bits_of(o->type), (Value){.i = (int64_t)sign_bits(o->type)});
    x86_3(&o->g->a, o->way->op, o->d, o->a, o->t);
}

static void clear_sign(OpArgs *o) {
    set_scratch(o, bits_of(o->type), (Value){.i = (int64_t)~sign_bits(o->type)});
    x86_3(&o->g->a, o->way->op, o->d, o->a, o->t);
}

// ---- Integers

// AVX2 compares only signed integers for greater: the top bits of unsigned ones are flipped.
static void int_greater(OpArgs *o, X86Arg dst, X86Arg x, X86Arg y) {
    Asm *a = &o->g->a;
    X86Op greater = x86_compare_of(o->type)->greater;
    if (type_is_unsigned(o->type) && type_info[o->type].bits >= 32) {
        uint8_t flip[32];
        uint64_t top = sign_bits(o->type);
        for (int i = 0; i < 32; i += 8) memcpy(flip + i, &top, 8);
        X86Arg mem = x86_mem_label(x86_pool(o->g, flip, 32));
        x86_3(a, X86_vpxor, o->t, y, mem);
        x86_3(a, X86_vpxor, dst, x, mem);
        x86_3(a, greater, dst, dst, o->t);
        return;
    }
    x86_3(a, greater, dst, x, y);
}

static void int_min64(OpArgs *o) {
    int_greater(o, o->d, o->a, o->b);
    x86_4(&o->g->a, X86_vblendvpd, o->d, o->a, o->b, o->d);
}

static void int_max64(OpArgs *o) {
    int_greater(o, o->d, o->a, o->b);
    x86_4(&o->g->a, X86_vblendvpd, o->d, o->b, o->a, o->d);
}

// The low 64 bits of a product, from 32-bit pieces.
static void int_mul64(OpArgs *o) {
    Asm *a = &o->g->a;
    x86_3(a, X86_vpsrlq, o->t, o->a, x86_imm(32));
    x86_3(a, o->way->op, o->t, o->t, o->b); // a.hi * b.lo
    x86_3(a, X86_vpsrlq, o->d, o->b, x86_imm(32));
    x86_3(a, o->way->op, o->d, o->d, o->a); // b.hi * a.lo
    x86_3(a, X86_vpaddq, o->t, o->t, o->d);
    x86_3(a, X86_vpsllq, o->t, o->t, x86_imm(32));
    x86_3(a, o->way->op, o->d, o->a, o->b);
    x86_3(a, X86_vpaddq, o->d, o->d, o->t);
}

static void int_div64(OpArgs *o) { x86_divide64(o->g, o->m); }

static void zero_scratch(OpArgs *o) {
    X86Arg x = x86_xmm((unsigned)o->g->scratch);
    x86_3(&o->g->a, x86_instr(o->g, USE_XOR, o->type), x, x, x);
}

static void int_relu(OpArgs *o) {
    zero_scratch(o);
    x86_3(&o->g->a, o->way->op, o->d, o->a, o->t);
}

static void int_relu64(OpArgs *o) {
    zero_scratch(o);
    o->b = o->t;
    int_max64(o);
}

static void int_same(OpArgs *o) {
    zero_scratch(o);
    x86_2(&o->g->a, o->way->op, o->d, o->a);
}

// scratch <- -a
static void negate(OpArgs *o, X86Op subtract) {
    zero_scratch(o);
    x86_3(&o->g->a, subtract, o->t, o->t, o->a);
}

static void int_neg(OpArgs *o) {
    negate(o, o->way->op);
    x86_2(&o->g->a, X86_vmovaps, o->d, o->t);
}

static void int_abs(OpArgs *o) {
    negate(o, gen_is64(o->type) ? X86_vpsubq : X86_vpsubd);
    x86_2(&o->g->a, o->way->op, o->d, o->a);
}

static void int_abs64(OpArgs *o) {
    negate(o, X86_vpsubq);
    x86_4(&o->g->a, o->way->op, o->d, o->a, o->t, o->a);
}

// AVX2 has no arithmetic shift of 64 bits: the sign bit is shifted along with the others and
// extended from its new place.
static void int_shift_right64(OpArgs *o) {
    Asm *a = &o->g->a;
    x86_2(a, X86_vmovaps, o->t, o->b);
    x86_set_const(o->g, TYPE_I64, o->m->width, o->m->dst_reg, (Value){.i = INT64_MIN});
    x86_3(a, o->way->op, o->d, o->d, o->t);
    x86_3(a, o->way->op, o->t, o->a, o->t);
    x86_3(a, X86_vpxor, o->t, o->t, o->d);
    x86_3(a, X86_vpsubq, o->d, o->t, o->d);
}

static void complement(OpArgs *o) {
    set_scratch(o, TYPE_I32, (Value){.i = -1});
    x86_3(&o->g->a, o->way->op, o->d, o->a, o->t);
}

// ---- The table

typedef struct OpRow {
    X86Way one, level[2]; // one float; vectors by level
} OpRow;

enum {
    ROW_NONE,
#define X86_OP(op, lanes, ...) ROW_##op##_##lanes,
#include "code/x86/ops.def"
    ROW_COUNT
};

static const OpRow row[ROW_COUNT] = {
#define X86_OP(op, lanes, one, avx2, avx512)                                                       \
    [ROW_##op##_##lanes] = {WAY one, {WAY avx2, WAY avx512}},
#include "code/x86/ops.def"
};

static const uint8_t row_of[MOP_COUNT][TYPE_COUNT] = {
#define X86_OP(op, lanes, ...) [op][TYPE_##lanes] = ROW_##op##_##lanes,
#include "code/x86/ops.def"
};
_Static_assert(ROW_COUNT <= UINT8_MAX, "row numbers are bytes");

static bool is_comparison(int op) { return op < OP_COUNT && op_info[op].class == OP_COMPARE; }

bool x86_has_op(ExprOp op, Type t) {
    return op == OP_SELECT || is_comparison(op) || row_of[op][type_info[t].lane] != ROW_NONE;
}

bool x86_is_one_instruction(const Gen *g, ExprOp op, Type t) {
    const OpRow *r = &row[row_of[op][type_info[t].lane]];
    return x86_level(g, r->level)->form != WAY_SEQ;
}

// ---- Comparisons

// AVX-512: the mask stays in k3, for guards.
static void compare_to_mask(OpArgs *o, ExprOp op) {
    Asm *a = &o->g->a;
    x86_4(a, x86_compare_of(o->type)->by_predicate, x86_k(3), o->a, o->b,
          x86_predicate_of(op, o->type));
    x86_2(a, X86_vpmovm2d, x86_vreg(TYPE_BOOL, o->m->width, o->m->dst_reg), x86_k(3));
    own(o->g)->k3 = x86_lanes_of(o->m->dst, o->m->width);
}

// AVX2: all ones in lanes as wide as the operands'.
static void compare_lanes(OpArgs *o, ExprOp op) {
    Asm *a = &o->g->a;
    if (type_is_float(o->type)) {
        x86_4(a, x86_compare_of(o->type)->by_predicate, o->d, o->a, o->b,
              x86_predicate_of(op, o->type));
        return;
    }
    if (op == OP_EQ || op == OP_NE)
        x86_3(a, x86_compare_of(o->type)->equal, o->d, o->a, o->b);
    else if (op == OP_GT || op == OP_LE)
        int_greater(o, o->d, o->a, o->b);
    else
        int_greater(o, o->d, o->b, o->a);
    if (op == OP_NE || op == OP_LE || op == OP_GE) {
        x86_3(a, X86_vpcmpeqd, o->t, o->t, o->t);
        x86_3(a, X86_vpxor, o->d, o->d, o->t);
    }
}

// 8-byte lanes of all ones or zeros to 4-byte lanes.
static void narrow_bools(OpArgs *o) {
    X86Arg lo = x86_xmm(o->d.reg), hi = x86_xmm(o->t.reg);
    if (o->d.kind == X86_Y)
        x86_3(&o->g->a, X86_vextractf128, hi, o->d, x86_imm(1));
    else
        hi = lo;
    x86_4(&o->g->a, X86_vshufps, lo, lo, hi, x86_imm(0x88));
}

static void compare(OpArgs *o, ExprOp op) {
    if (x86_has_avx512(o->g)) {
        compare_to_mask(o, op);
        return;
    }
    o->d = x86_vreg(o->type, o->m->width, o->m->dst_reg);
    compare_lanes(o, op);
    if (gen_is64(o->type) && o->m->width > 1) narrow_bools(o);
}

static void select(OpArgs *o) {
    const Micro *m = o->m;
    X86Op blend = x86_instr(o->g, USE_BLEND, m->type);
    X86Arg mask = x86_vreg(TYPE_BOOL, m->width, m->arg_reg[0]);
    X86Arg yes = x86_vreg(m->type, m->width, m->arg_reg[1]);
    X86Arg no = x86_vreg(m->type, m->width, m->arg_reg[2]);
    if (x86_has_avx512(o->g)) {
        X86Arg d = x86_masked(o->d, x86_guard(o->g, m, 0), false);
        x86_3(&o->g->a, blend, d, no, yes);
        return;
    }
    if (gen_is64(m->type)) {
        X86Arg t = x86_vreg(m->type, m->width, o->g->scratch);
        x86_2(&o->g->a, X86_vpmovsxdq, t, mask);
        mask = t;
    }
    x86_4(&o->g->a, blend, o->d, no, yes, mask);
}

// Lanes of `from` and of the result are equally wide. AVX2 compares integers by OP_LT and OP_EQ.
void x86_choose_lanes(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg), v[4];
    X86Arg t = x86_vreg(m->from, m->width, g->scratch);
    X86Op blend = x86_instr(g, USE_BLEND, m->type);
    const CompareLanes *compares = x86_compare_of(m->from);
    for (int i = 0; i < 4; i++) v[i] = x86_vreg(i < 2 ? m->from : m->type, m->width, m->arg_reg[i]);
    if (gen_is64(m->type) != gen_is64(m->from)) bug("a choice between lanes of another width");
    if (x86_has_avx512(g)) {
        x86_4(a, compares->by_predicate, x86_k(2), v[0], v[1],
              x86_predicate_of((ExprOp)m->op, m->from));
        x86_3(a, blend, x86_masked(d, 2, false), v[3], v[2]);
        return;
    }
    if (type_is_float(m->from))
        x86_4(a, compares->by_predicate, t, v[0], v[1], x86_predicate_of((ExprOp)m->op, m->from));
    else if (m->op == OP_EQ)
        x86_3(a, compares->equal, t, v[0], v[1]);
    else if (m->op == OP_LT)
        x86_3(a, compares->greater, t, v[1], v[0]);
    else
        bug("integers chosen by comparison %d", m->op);
    x86_4(a, blend, d, v[3], v[2], t);
}

// ---- All of it

static void by_table(OpArgs *o) {
    const Micro *m = o->m;
    Type t = m->op < OP_COUNT ? m->from : m->type; // shifts of bits work on any type of that size
    const OpRow *r = &row[row_of[m->op][type_info[t].lane]];
    o->way = m->width == 1 && r->one.form != WAY_SAME ? &r->one : x86_level(o->g, r->level);
    x86_emit_way(o);
    if (m->op < OP_COUNT) x86_wrap(o->g, m->from, o->d);
}

void x86_arithmetic(Gen *g, const Micro *m) {
    OpArgs o = {.g = g, .m = m, .type = m->from};
    o.d = x86_vreg(m->type, m->width, m->dst_reg);
    o.a = x86_operand(g, m, 0, m->from);
    o.b = x86_operand(g, m, 1, m->from);
    o.t = x86_vreg(m->from, m->width, g->scratch);
    if (m->op == MOP_TO_INT)
        x86_cast(g, m);
    else if (m->op == OP_SELECT)
        select(&o);
    else if (is_comparison(m->op))
        compare(&o, (ExprOp)m->op);
    else
        by_table(&o);
}
