// One micro-operation as x86-64 instructions. Registers were given out; `g->scratch` is free for
// use in between, and the destination never shares a register with an operand unless the operation
// is one that allows it (x86_ties, FMA, PIN, LANES).
//
// A value of n lanes occupies n·4 or n·8 bytes (lane_size); bool is a 4-byte lane of all ones or
// zeros; integers narrower than 32 bits live sign- or zero-extended in 4-byte lanes and are wrapped
// again after arithmetic.
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "code/x86/x86_impl.h"
#include "code/x86/mem.h"

// ---- Constants, indices

// The bits of one lane.
static int64_t lane_bits(Type t, Value v) {
    if (t == TYPE_BOOL) return v.i ? -1 : 0;
    if (type_compute(t) == TYPE_F32) {
        float f = (float)v.f;
        uint32_t u;
        memcpy(&u, &f, 4);
        return u;
    }
    return v.i;
}

void x86_set_const(Gen *g, Type t, int width, int reg, Value v) {
    int64_t bits = lane_bits(t, v);
    X86Arg d = x86_vreg(t, width, reg), x = x86_xmm((unsigned)reg);
    if (bits == 0) {
        if (reg < 16)
            x86_3(&g->a, X86_vxorps, x, x, x);
        else
            x86_3(&g->a, X86_vpxord, x, x, x);
        return;
    }
    if (width == 1) {
        x86_2(&g->a, gen_is64(t) ? X86_vmovsd : X86_vmovss, x,
              x86_mem_label(x86_pool(g, &bits, gen_lane_size(t))));
    } else if (gen_is64(t)) {
        x86_2(&g->a, d.kind == X86_X ? X86_vmovddup : X86_vbroadcastsd, d,
              x86_mem_label(x86_pool(g, &bits, 8)));
    } else {
        x86_2(&g->a, X86_vbroadcastss, d, x86_mem_label(x86_pool(g, &bits, 4)));
    }
}

// Multiples of the step, lane by lane, in memory.
static X86Arg lane_steps(Gen *g, const Micro *m) {
    uint8_t bytes[64] = {0};
    for (int i = 0; i < m->width; i++) {
        int64_t at = i * m->index->lane_step;
        memcpy(bytes + i * gen_lane_size(m->type), &at, (size_t)gen_lane_size(m->type));
    }
    int size = m->width * gen_lane_size(m->type);
    return x86_mem_label(x86_pool(g, bytes, size < 16 ? 16 : size));
}

// An index that is read under a guard: 0 where that holds in no lane.
static void do_index_where(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg x = x86_xmm((unsigned)m->dst_reg);
    AsmLabel none = asm_label(a);
    x86_guard_lanes(g, m, m->index->active);
    x86_3(a, x86_is_wide(g) ? X86_vpxord : X86_vxorps, x, x, x);
    x86_2(a, X86_test, x86_r32(X86_RDX), x86_r32(X86_RDX));
    x86_1(a, X86_jz, x86_to(&none));
    gen_index(g, m->index);
    x86_2(a, X86_vmovq, x, x86_r64(X86_RAX));
    if (m->width > 1) x86_spread(g, m->type, m->width, m->dst_reg, m->dst_reg);
    asm_bind(a, &none);
}

// i64 (or i32) lanes: rax + lane·step.
static void do_index(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg x = x86_xmm((unsigned)m->dst_reg), d = x86_vreg(m->type, m->width, m->dst_reg);
    if (m->nargs) {
        do_index_where(g, m);
        return;
    }
    bool steps = m->width > 1 && m->index->lane_step;
    if (!m->index->counters && !m->index->affine && steps) {
        x86_2(a, X86_vmovups, d, lane_steps(g, m));
        return;
    }
    gen_index(g, m->index);
    if (gen_is64(m->type))
        x86_2(a, X86_vmovq, x, x86_r64(X86_RAX));
    else
        x86_2(a, X86_vmovd, x, x86_r32(X86_RAX));
    if (m->width > 1) x86_spread(g, m->type, m->width, m->dst_reg, m->dst_reg);
    if (steps) x86_3(a, gen_is64(m->type) ? X86_vpaddq : X86_vpaddd, d, d, lane_steps(g, m));
}

// ---- Arithmetic

typedef struct Ctx {
    Gen *g;
    const Micro *m;
    Type type;            // of the operands, in which it computes
    X86Arg d, a, b, c, t; // destination, operands, scratch
} Ctx;

static X86Arg operand(Gen *g, const Micro *m, int i, Type t) {
    if (i >= m->nargs) return x86_imm(0);
    if (i == m->fold) {
        X86Arg mem = x86_address(g, m->ref, X86_RAX);
        return m->ref->lane == 0 && m->ref->width > 1 ? x86_bcast(mem) : mem;
    }
    return x86_vreg(t, m->width, m->arg_reg[i]);
}

// Packed or (for one float lane) scalar form.
static void arith(Ctx *c, X86Op ps, X86Op pd, X86Op ss, X86Op sd) {
    bool f64 = gen_is64(c->type);
    X86Op op = c->m->width == 1 ? (f64 ? sd : ss) : (f64 ? pd : ps);
    if (c->m->width == 1 && c->a.kind == X86_M) bug("folded first operand");
    x86_3(&c->g->a, op, c->d, c->a, c->b);
}

// min and max that propagate NaN and order -0 < +0. AVX-512: vrange orders zeros but drops a NaN,
// which the sum of the operands brings back.
static void range_minmax(Ctx *c, bool max) {
    Asm *a = &c->g->a;
    bool f64 = gen_is64(c->type);
    x86_4(a, f64 ? X86_vcmppd : X86_vcmpps, x86_k(2), c->a, c->b, x86_imm(3));
    x86_4(a, f64 ? X86_vrangepd : X86_vrangeps, c->d, c->a, c->b, x86_imm(max ? 5 : 4));
    x86_3(a, f64 ? X86_vaddpd : X86_vaddps, x86_masked(c->d, 2, false), c->a, c->b);
}

static void float_min(Ctx *c) {
    Asm *a = &c->g->a;
    bool f64 = gen_is64(c->type);
    X86Op min = f64 ? X86_vminpd : X86_vminps;
    if (x86_is_wide(c->g)) {
        range_minmax(c, false);
        return;
    }
    x86_3(a, min, c->t, c->a, c->b);
    x86_3(a, min, c->d, c->b, c->a);
    x86_3(a, f64 ? X86_vorpd : X86_vorps, c->d, c->d, c->t); // -0 | +0 = -0; NaN | x = NaN
}

static void float_max(Ctx *c) {
    Asm *a = &c->g->a;
    bool f64 = gen_is64(c->type);
    X86Op max = f64 ? X86_vmaxpd : X86_vmaxps;
    if (x86_is_wide(c->g)) {
        range_minmax(c, true);
        return;
    }
    x86_3(a, max, c->t, c->a, c->b); // b when either is NaN or both are zero
    x86_3(a, max, c->d, c->b, c->a); // a likewise
    x86_3(a, f64 ? X86_vandpd : X86_vandps, c->d, c->d, c->t);
    x86_4(a, f64 ? X86_vcmppd : X86_vcmpps, c->t, c->a, c->b, x86_imm(3)); // a NaN lost bits
    x86_3(a, f64 ? X86_vorpd : X86_vorps, c->d, c->d, c->t);
}

static void relu(Ctx *c) {
    Asm *a = &c->g->a;
    bool f64 = gen_is64(c->type);
    X86Arg x = x86_xmm((unsigned)c->g->scratch);
    x86_3(a, x86_is_wide(c->g) ? X86_vpxord : X86_vxorps, x, x, x);
    x86_3(a, f64 ? X86_vmaxpd : X86_vmaxps, c->d, c->t, c->a); // x when x is NaN
    x86_3(a, f64 ? X86_vaddpd : X86_vaddps, c->d, c->d, c->t); // -0 becomes +0
}

static bool unsigned_type(Type t) { return type_info[t].class == CLASS_UINT || t == TYPE_BOOL; }

// AVX2 compares only signed integers for greater: flip the top bits of unsigned ones.
static void int_greater(Ctx *c, X86Arg dst, X86Arg x, X86Arg y) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type);
    if (unsigned_type(c->type) && type_info[c->type].bits >= 32) {
        uint8_t flip[32];
        uint64_t top = w ? (uint64_t)1 << 63 : 0x8000000080000000u;
        for (int i = 0; i < 32; i += 8) memcpy(flip + i, &top, 8);
        X86Arg mem = x86_mem_label(x86_pool(c->g, flip, 32));
        x86_3(a, X86_vpxor, c->t, y, mem);
        x86_3(a, X86_vpxor, dst, x, mem);
        x86_3(a, w ? X86_vpcmpgtq : X86_vpcmpgtd, dst, dst, c->t);
        return;
    }
    x86_3(a, w ? X86_vpcmpgtq : X86_vpcmpgtd, dst, x, y);
}

static void int_minmax(Ctx *c, bool max) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type), u = unsigned_type(c->type);
    static const X86Op op32[2][2] = {{X86_vpminsd, X86_vpminud}, {X86_vpmaxsd, X86_vpmaxud}};
    static const X86Op op64[2][2] = {{X86_vpminsq, X86_vpminuq}, {X86_vpmaxsq, X86_vpmaxuq}};
    if (!w) {
        x86_3(a, op32[max][u], c->d, c->a, c->b);
    } else if (x86_is_wide(c->g)) {
        x86_3(a, op64[max][u], c->d, c->a, c->b);
    } else {
        int_greater(c, c->d, c->a, c->b);
        x86_4(a, X86_vblendvpd, c->d, max ? c->b : c->a, max ? c->a : c->b, c->d);
    }
}

static void int_mul64(Ctx *c) { // AVX2: low 64 bits from 32-bit pieces
    Asm *a = &c->g->a;
    x86_3(a, X86_vpsrlq, c->t, c->a, x86_imm(32));
    x86_3(a, X86_vpmuludq, c->t, c->t, c->b); // a.hi * b.lo
    x86_3(a, X86_vpsrlq, c->d, c->b, x86_imm(32));
    x86_3(a, X86_vpmuludq, c->d, c->d, c->a); // b.hi * a.lo
    x86_3(a, X86_vpaddq, c->t, c->t, c->d);
    x86_3(a, X86_vpsllq, c->t, c->t, x86_imm(32));
    x86_3(a, X86_vpmuludq, c->d, c->a, c->b);
    x86_3(a, X86_vpaddq, c->d, c->d, c->t);
}

// Bool of 4-byte lanes from a comparison.
static void compare(Ctx *c, ExprOp op) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type), isf = type_is_float(c->type);
    // predicate numbers: floats ordered quiet; integers of vpcmp
    static const uint8_t fp[] = {[OP_LT] = 0x11, [OP_LE] = 0x12, [OP_GT] = 0x1e,
                                 [OP_GE] = 0x1d, [OP_EQ] = 0x00, [OP_NE] = 0x04};
    static const uint8_t ip[] = {
        [OP_LT] = 1, [OP_LE] = 2, [OP_GT] = 6, [OP_GE] = 5, [OP_EQ] = 0, [OP_NE] = 4};
    if (x86_is_wide(c->g)) {
        X86Op i32 = unsigned_type(c->type) ? X86_vpcmpud : X86_vpcmpd;
        X86Op i64 = unsigned_type(c->type) ? X86_vpcmpuq : X86_vpcmpq;
        X86Op cmp = isf ? (w ? X86_vcmppd : X86_vcmpps) : (w ? i64 : i32);
        x86_4(a, cmp, x86_k(3), c->a, c->b, x86_imm(isf ? fp[op] : ip[op]));
        x86_2(a, X86_vpmovm2d, x86_vreg(TYPE_BOOL, c->m->width, c->m->dst_reg), x86_k(3));
        own(c->g)->k3 = c->m->dst + 1;
        return;
    }
    if (isf) {
        x86_4(a, w ? X86_vcmppd : X86_vcmpps, c->d, c->a, c->b, x86_imm(fp[op]));
    } else if (op == OP_EQ || op == OP_NE) {
        x86_3(a, w ? X86_vpcmpeqq : X86_vpcmpeqd, c->d, c->a, c->b);
    } else if (op == OP_GT || op == OP_LE) {
        int_greater(c, c->d, c->a, c->b);
    } else {
        int_greater(c, c->d, c->b, c->a);
    }
    if (!isf && (op == OP_NE || op == OP_LE || op == OP_GE)) {
        x86_3(a, X86_vpcmpeqd, c->t, c->t, c->t);
        x86_3(a, X86_vpxor, c->d, c->d, c->t);
    }
    if (w && c->m->width > 1) { // 8-byte lanes to 4-byte ones
        X86Arg lo = x86_xmm(c->d.reg), hi = x86_xmm(c->t.reg);
        if (c->d.kind == X86_Y) {
            x86_3(a, X86_vextractf128, hi, c->d, x86_imm(1));
            x86_4(a, X86_vshufps, lo, lo, hi, x86_imm(0x88));
        } else {
            x86_4(a, X86_vshufps, lo, lo, lo, x86_imm(0x88));
        }
    }
}

static void select(Ctx *c) {
    Asm *a = &c->g->a;
    const Micro *m = c->m;
    X86Arg mask = x86_vreg(TYPE_BOOL, m->width, m->arg_reg[0]);
    X86Arg yes = x86_vreg(m->type, m->width, m->arg_reg[1]),
           no = x86_vreg(m->type, m->width, m->arg_reg[2]);
    bool w = gen_is64(m->type);
    if (x86_is_wide(c->g)) {
        X86Arg d = x86_masked(c->d, x86_guard(c->g, m, 0), false);
        x86_3(a, w ? X86_vblendmpd : X86_vblendmps, d, no, yes);
        return;
    }
    if (w) {
        x86_2(a, X86_vpmovsxdq, c->t, mask);
        mask = c->t;
    }
    x86_4(a, w ? X86_vblendvpd : X86_vblendvps, c->d, no, yes, mask);
}

// Operations with instructions of their own. False: it is done by a call.
static bool native(const Gen *g, ExprOp op, Type t) {
    bool isf = type_is_float(t);
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_NEG:
    case OP_ABS:
    case OP_RELU:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
    case OP_AND:
    case OP_OR:
    case OP_NOT:
    case OP_SELECT:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_SHL:
    case OP_SHR:
    case OP_DIV: return true;
    case OP_MOD: return !isf;
    case OP_SQRT:
    case OP_FABS:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_RECIP:
    case OP_FDIVIDE: return isf;
    default: break;
    }
    (void)g;
    return (int)op >= OP_COUNT;
}

static void float_op(Ctx *c, ExprOp op) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type), one = c->m->width == 1;
    uint64_t sign = w ? (uint64_t)1 << 63 : 0x8000000080000000u, mag = ~sign;
    switch (op) {
    case OP_ADD: arith(c, X86_vaddps, X86_vaddpd, X86_vaddss, X86_vaddsd); break;
    case OP_SUB: arith(c, X86_vsubps, X86_vsubpd, X86_vsubss, X86_vsubsd); break;
    case OP_MUL: arith(c, X86_vmulps, X86_vmulpd, X86_vmulss, X86_vmulsd); break;
    case OP_FDIVIDE:
    case OP_DIV: arith(c, X86_vdivps, X86_vdivpd, X86_vdivss, X86_vdivsd); break;
    case OP_MIN: float_min(c); break;
    case OP_MAX: float_max(c); break;
    case OP_RELU: relu(c); break;
    case OP_NEG:
    case OP_ABS:
    case OP_FABS:
        x86_set_const(c->g, w ? TYPE_I64 : TYPE_I32, c->m->width, c->g->scratch,
                      (Value){.i = (int64_t)(op == OP_NEG ? sign : mag)});
        if (op == OP_NEG)
            x86_3(a, w ? X86_vxorpd : X86_vxorps, c->d, c->a, c->t);
        else
            x86_3(a, w ? X86_vandpd : X86_vandps, c->d, c->a, c->t);
        break;
    case OP_SQRT:
        if (one)
            x86_3(a, w ? X86_vsqrtsd : X86_vsqrtss, c->d, c->a, c->a);
        else
            x86_2(a, w ? X86_vsqrtpd : X86_vsqrtps, c->d, c->a);
        break;
    case OP_RECIP: {
        x86_set_const(c->g, c->type, c->m->width, c->g->scratch, (Value){.f = 1});
        c->b = c->a;
        c->a = c->t;
        arith(c, X86_vdivps, X86_vdivpd, X86_vdivss, X86_vdivsd);
        break;
    }
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC: {
        int64_t mode = op == OP_FLOOR ? 9 : op == OP_CEIL ? 10 : 11;
        if (c->d.kind == X86_Z)
            x86_3(a, w ? X86_vrndscalepd : X86_vrndscaleps, c->d, c->a, x86_imm(mode));
        else if (x86_is_wide(c->g))
            x86_3(a, w ? X86_vrndscalepd : X86_vrndscaleps, c->d, c->a, x86_imm(mode));
        else
            x86_3(a, w ? X86_vroundpd : X86_vroundps, c->d, c->a, x86_imm(mode));
        break;
    }
    default: bug("float operation %d", (int)op);
    }
}

// By each lane's count modulo the width. AVX2 has no arithmetic shift of 64 bits: the sign is
// shifted along and extended from where it ends.
static void int_shift(Ctx *c, ExprOp op) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type), is_signed = !unsigned_type(c->type);
    x86_set_const(c->g, w ? TYPE_I64 : TYPE_I32, c->m->width, c->g->scratch,
                  (Value){.i = type_info[c->type].bits - 1});
    x86_3(a, x86_is_wide(c->g) ? X86_vpandd : X86_vpand, c->t, c->b, c->t);
    if (op == OP_SHL) {
        x86_3(a, w ? X86_vpsllvq : X86_vpsllvd, c->d, c->a, c->t);
    } else if (!is_signed) {
        x86_3(a, w ? X86_vpsrlvq : X86_vpsrlvd, c->d, c->a, c->t);
    } else if (!w || x86_is_wide(c->g)) {
        x86_3(a, w ? X86_vpsravq : X86_vpsravd, c->d, c->a, c->t);
    } else {
        x86_set_const(c->g, TYPE_I64, c->m->width, c->m->dst_reg, (Value){.i = INT64_MIN});
        x86_3(a, X86_vpsrlvq, c->d, c->d, c->t);
        x86_3(a, X86_vpsrlvq, c->t, c->a, c->t);
        x86_3(a, X86_vpxor, c->t, c->t, c->d);
        x86_3(a, X86_vpsubq, c->d, c->t, c->d);
    }
}

static void int_op(Ctx *c, ExprOp op) {
    Asm *a = &c->g->a;
    bool w = gen_is64(c->type);
    switch (op) {
    case OP_SHL:
    case OP_SHR: int_shift(c, op); break;
    case OP_DIV:
    case OP_MOD: x86_divide64(c->g, c->m); break; // narrower ones were made of other operations
    case OP_ADD: x86_3(a, w ? X86_vpaddq : X86_vpaddd, c->d, c->a, c->b); break;
    case OP_SUB: x86_3(a, w ? X86_vpsubq : X86_vpsubd, c->d, c->a, c->b); break;
    case OP_MUL:
        if (!w)
            x86_3(a, X86_vpmulld, c->d, c->a, c->b);
        else if (x86_is_wide(c->g))
            x86_3(a, X86_vpmullq, c->d, c->a, c->b);
        else
            int_mul64(c);
        break;
    case OP_MIN: int_minmax(c, false); break;
    case OP_MAX: int_minmax(c, true); break;
    case OP_BITAND: x86_3(a, x86_is_wide(c->g) ? X86_vpandd : X86_vpand, c->d, c->a, c->b); break;
    case OP_BITOR: x86_3(a, x86_is_wide(c->g) ? X86_vpord : X86_vpor, c->d, c->a, c->b); break;
    case OP_BITXOR: x86_3(a, x86_is_wide(c->g) ? X86_vpxord : X86_vpxor, c->d, c->a, c->b); break;
    case OP_NEG:
    case OP_RELU:
    case OP_ABS: {
        X86Arg x = x86_xmm((unsigned)c->g->scratch);
        x86_3(a, x86_is_wide(c->g) ? X86_vpxord : X86_vpxor, x, x, x);
        if (op != OP_NEG && unsigned_type(c->type)) {
            x86_2(a, X86_vmovaps, c->d, c->a);
            break;
        }
        if (op == OP_RELU) {
            c->b = c->t;
            int_minmax(c, true);
            break;
        }
        x86_3(a, w ? X86_vpsubq : X86_vpsubd, c->t, c->t, c->a);
        if (op == OP_NEG) {
            x86_2(a, X86_vmovaps, c->d, c->t);
        } else if (!w) {
            x86_2(a, X86_vpabsd, c->d, c->a);
        } else if (x86_is_wide(c->g)) {
            x86_2(a, X86_vpabsq, c->d, c->a);
        } else {
            x86_4(a, X86_vblendvpd, c->d, c->a, c->t, c->a);
        }
        break;
    }
    default: bug("integer operation %d", (int)op);
    }
    x86_wrap(c->g, c->type, c->d);
}

static void logic(Ctx *c, ExprOp op) {
    Asm *a = &c->g->a;
    X86Op and = x86_is_wide(c->g) ? X86_vpandd : X86_vpand,
          or = x86_is_wide(c->g) ? X86_vpord : X86_vpor,
          xor = x86_is_wide(c->g) ? X86_vpxord : X86_vpxor;
    if (op == OP_NOT) {
        x86_set_const(c->g, TYPE_I32, c->m->width, c->g->scratch, (Value){.i = -1});
        x86_3(a, xor, c->d, c->a, c->t);
    } else {
        x86_3(a, op == OP_AND ? and : or, c->d, c->a, c->b);
    }
}

// ---- Lanes

static void do_lanes(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg),
           x = x86_vreg(m->type, m->width, m->arg_reg[0]);
    X86Arg t = x86_vreg(m->type, m->width, g->scratch);
    x86_set_const(g, m->type, m->width, g->scratch, reduce_identity(m->type, m->op));
    if (x86_is_wide(g)) {
        X86Op blend = gen_is64(m->type) ? X86_vblendmpd : X86_vblendmps;
        x86_3(a, blend, x86_masked(d, x86_mask(g, 1), false), t, x);
    } else {
        x86_4(a, gen_is64(m->type) ? X86_vblendpd : X86_vblendps, d, t, x, x86_imm(1));
    }
}

static void do_upper(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    unsigned dst = (unsigned)m->dst_reg, src = (unsigned)m->arg_reg[0];
    switch (m->width * gen_lane_size(m->type)) {
    case 32: x86_3(a, X86_vextractf64x4, x86_ymm(dst), x86_zmm(src), x86_imm(1)); break;
    case 16:
        x86_3(a, x86_is_wide(g) ? X86_vextractf32x4 : X86_vextractf128, x86_xmm(dst), x86_ymm(src),
              x86_imm(1));
        break;
    case 8: x86_3(a, X86_vunpckhpd, x86_xmm(dst), x86_xmm(src), x86_xmm(src)); break;
    default: x86_2(a, X86_vmovshdup, x86_xmm(dst), x86_xmm(src));
    }
}

static void do_shuffle(Gen *g, const Micro *m) {
    static const X86Op unpack[] = {[SHUFFLE_LOW32] = X86_vunpcklps,
                                   [SHUFFLE_HIGH32] = X86_vunpckhps,
                                   [SHUFFLE_LOW64] = X86_vunpcklpd,
                                   [SHUFFLE_HIGH64] = X86_vunpckhpd};
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg),
           x = x86_vreg(m->type, m->width, m->arg_reg[0]),
           y = x86_vreg(m->type, m->width, m->arg_reg[1]);
    bool odd = m->op == SHUFFLE_ODD128;
    if (m->op <= SHUFFLE_HIGH64)
        x86_3(&g->a, unpack[m->op], d, x, y);
    else if (!x86_is_wide(g))
        x86_4(&g->a, X86_vperm2f128, d, x, y, x86_imm(odd ? 0x31 : 0x20));
    else
        x86_4(&g->a, X86_vshuff32x4, d, x, y,
              x86_imm(d.kind == X86_Z ? (odd ? 0xdd : 0x88) : (odd ? 3 : 0)));
}

static void do_head(Gen *g, const Micro *m) {
    bool f64 = gen_is64(m->type);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    unsigned k = x86_is_wide(g) ? x86_mask(g, m->op) : 0; // before rax is in use
    X86Arg tail = x86_vreg(m->type, m->width, m->arg_reg[0]), head = operand(g, m, 1, m->type);
    if (k)
        x86_3(&g->a, f64 ? X86_vblendmpd : X86_vblendmps, x86_masked(d, k, false), tail, head);
    else
        x86_4(&g->a, f64 ? X86_vblendpd : X86_vblendps, d, tail, head, x86_imm((1 << m->op) - 1));
}

static void do_group(Gen *g, const Micro *m) {
    bool f64 = gen_is64(m->type), four = m->op / 16 == 4;
    int at = m->op % 16, pair = f64 ? (at ? 0xff : 0) : (at ? 0xf5 : 0xa0);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg), x = operand(g, m, 0, m->type);
    x86_3(&g->a, f64 ? (four ? X86_vpermpd : X86_vpermilpd) : X86_vpermilps, d, x,
          x86_imm(four ? at * 0x55 : pair));
}

// ---- All of it

// Is it done by a call?
static bool calls(const Gen *g, const Micro *m) {
    return m->kind == MI_OP && !native(g, (ExprOp)m->op, m->from);
}

// The last operand of packed arithmetic on f32, f64, i32 and i64 may come from memory.
bool x86_folds(const void *user, const Micro *m, int arg, const Ref *r) {
    const Gen *g = user;
    bool lanes = m->kind == MI_HEAD || m->kind == MI_GROUP;
    if (m->kind != MI_FMA && m->kind != MI_OP && !lanes) return false;
    if (type_info[r->type].bits < 32 || r->active != r->width || r->guard >= 0 ||
        r->width != m->width)
        return false;
    if (r->lane != 0 && r->lane != type_info[r->type].bytes) return false;
    if (r->width > 1 && r->lane == 0 && !x86_is_wide(g)) return false;
    if (r->width == 1 && !type_is_float(r->type)) return false;
    bool broadcast = r->width > 1 && r->lane == 0; // which vpmaddwd does not have
    if (m->kind == MI_FMA && m->op == 2 && !g->m->has_vnni && broadcast) return false;
    if (m->kind == MI_FMA) return arg == 1 || (arg == 0 && m->op != 4);
    if (lanes) return arg == (m->kind == MI_HEAD) && (m->kind == MI_HEAD || r->lane != 0);
    switch ((ExprOp)m->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return arg == 1 && type_is_float(m->from);
    case OP_DIV: return arg == 1 && type_is_float(m->from);
    default: return false;
    }
}

// Operations of one instruction.
bool x86_ties(const void *user, const Micro *m, int arg) {
    if (m->kind == MI_PICK) return x86_is_wide(user) && m->nargs == 3 && arg != 1;
    if (m->kind != MI_OP || m->from == TYPE_BOOL) return false;
    bool long_product = gen_is64(m->from) && !type_is_float(m->from) && !x86_is_wide(user);
    if (m->op == OP_SELECT) return arg == 2; // a sum stays where it is in lanes that are masked off
    return m->op == OP_ADD || m->op == OP_SUB || (m->op == OP_MUL && !long_product);
}

// AVX-512: lanes of operand 3 alone, the others keep operand 2.
static void do_masked_fma(Gen *g, const Micro *m) {
    bool w = gen_is64(m->type);
    int mem = m->fold == 0 ? 0 : 1;
    unsigned k = x86_guard(g, m, 3);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    if (m->dst_reg != m->arg_reg[2])
        x86_2(&g->a, X86_vmovaps, d, x86_vreg(m->type, m->width, m->arg_reg[2]));
    x86_3(&g->a, w ? X86_vfmadd231pd : X86_vfmadd231ps, x86_masked(d, k, false),
          operand(g, m, 1 - mem, m->type), operand(g, m, mem, m->type));
}

// Products of narrow integers, added up in each lane. The signed bytes may come from memory.
static void do_dots(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    int mem = m->fold == 0 ? 0 : 1;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg sum = x86_vreg(m->type, m->width, m->arg_reg[2]);
    X86Arg x = operand(g, m, 1 - mem, m->type), y = operand(g, m, mem, m->type);
    if (!g->m->has_vnni || !x86_is_wide(g)) {
        X86Arg t = x86_vreg(m->type, m->width, g->scratch);
        x86_3(a, X86_vpmaddwd, t, x, y);
        x86_3(a, X86_vpaddd, d, sum, t);
        return;
    }
    if (m->dst_reg != m->arg_reg[2]) x86_2(a, X86_vmovaps, d, sum);
    x86_3(a, m->op == 4 ? X86_vpdpbusd : X86_vpdpwssd, d, x, y);
}

static void do_fma(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    if (m->op) {
        do_dots(g, m);
        return;
    }
    if (m->nargs == 4) {
        do_masked_fma(g, m);
        return;
    }
    bool w = gen_is64(m->type), one = m->width == 1;
    X86Op op =
        one ? (w ? X86_vfmadd231sd : X86_vfmadd231ss) : (w ? X86_vfmadd231pd : X86_vfmadd231ps);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    int mem = m->fold == 0 ? 0 : 1, reg = 1 - mem;
    if (m->fold < 0 && m->dst_reg == m->arg_reg[1]) mem = 0, reg = 1;
    X86Arg x = operand(g, m, reg, m->type), y = operand(g, m, mem, m->type);
    X86Arg z = x86_vreg(m->type, m->width, m->arg_reg[2]);
    if (m->dst_reg == m->arg_reg[reg] && m->dst_reg != m->arg_reg[2]) { // over a factor
        x86_3(a,
              one ? (w ? X86_vfmadd132sd : X86_vfmadd132ss)
                  : (w ? X86_vfmadd132pd : X86_vfmadd132ps),
              d, z, y);
        return;
    }
    if (m->dst_reg != m->arg_reg[2]) x86_2(a, X86_vmovaps, d, z);
    x86_3(a, op, d, x, y);
}

static void do_op(Gen *g, const Micro *m) {
    Ctx c = {.g = g, .m = m, .type = m->from};
    c.d = x86_vreg(m->type, m->width, m->dst_reg);
    c.a = operand(g, m, 0, m->from);
    c.b = operand(g, m, 1, m->from);
    c.t = x86_vreg(m->from, m->width, g->scratch);
    ExprOp op = (ExprOp)m->op;
    if (m->from == TYPE_BOOL) { // reductions
        if (op == OP_ADD || op == OP_MAX) op = OP_OR;
        if (op == OP_MUL || op == OP_MIN) op = OP_AND;
    }
    if ((int)op >= OP_COUNT) {
        x86_micro_op(g, m);
    } else if (op == OP_SELECT) {
        c.type = m->type;
        c.t = x86_vreg(m->type, m->width, g->scratch);
        select(&c);
    } else if (op >= OP_LT && op <= OP_NE) {
        if (!x86_is_wide(g)) c.d = x86_vreg(m->from, m->width, m->dst_reg);
        compare(&c, op);
    } else if (op == OP_AND || op == OP_OR || op == OP_NOT) {
        logic(&c, op);
    } else if (type_is_float(m->from)) {
        float_op(&c, op);
    } else {
        int_op(&c, op);
    }
}

void x86_emit_micro(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    if (calls(g, m)) {
        x86_call(g, m);
        return;
    }
    switch (m->kind) {
    case MI_CONST: x86_set_const(g, m->type, m->width, m->dst_reg, m->value); break;
    case MI_LOAD: x86_load(g, m); break;
    case MI_BEGIN: x86_begin_value(g, m); break;
    case MI_INDEX: do_index(g, m); break;
    case MI_OP: do_op(g, m); break;
    case MI_FMA: do_fma(g, m); break;
    case MI_CHOOSE: x86_choose_lanes(g, m); break;
    case MI_HALF: x86_half(g, m); break;
    case MI_JOIN: x86_join(g, m); break;
    case MI_RESCUE: x86_rescue(g, m); break;
    case MI_CAST: x86_cast(g, m); break;
    case MI_STORE: x86_store(g, m); break;
    case MI_LANES: do_lanes(g, m); break;
    case MI_UPPER: do_upper(g, m); break;
    case MI_SHUFFLE: do_shuffle(g, m); break;
    case MI_HEAD: do_head(g, m); break;
    case MI_GROUP: do_group(g, m); break;
    case MI_PICKS: x86_picks(g, m); break;
    case MI_PICK: x86_pick(g, m); break;
    case MI_FETCH: x86_prefetch(g, m); break;
    case MI_ROW: bug("gen_emit does these");
    case MI_GATHER: x86_gather(g, m); break;
    case MI_CHECK: x86_check(g, m); break;
    case MI_SPREAD: x86_spread(g, m->type, m->width, m->dst_reg, m->arg_reg[0]); break;
    case MI_PIN:
        x86_2(a, X86_vmovaps, x86_vreg(m->type, m->width, m->dst_reg),
              x86_vreg(m->type, m->width, m->arg_reg[0]));
        break;
    case MI_SPILL:
        x86_2(a, X86_vmovups, x86_mem(X86_RSP, own(g)->vector_area + 64 * m->slot),
              x86_vreg(m->type, m->width, m->arg_reg[0]));
        break;
    case MI_RELOAD:
        x86_2(a, X86_vmovups, x86_vreg(m->type, m->width, m->dst_reg),
              x86_mem(X86_RSP, own(g)->vector_area + 64 * m->slot));
        break;
    }
}
