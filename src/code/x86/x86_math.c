// What functions are made of (code/micro/micro_math.c), as instructions: shifts of bits, exponents,
// choices, halves of vectors in f64.
#include "code/x86/x86_impl.h"

#include "base/bug.h"

static X86Arg arg_of(const Micro *m, int i, Type t) { return x86_vreg(t, m->width, m->arg_reg[i]); }

void x86_micro_op(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    bool w = gen_is64(m->type);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg), x = arg_of(m, 0, m->from);
    X86Arg y = m->nargs > 1 ? arg_of(m, 1, m->type) : x86_imm(m->value.i);
    switch (m->op) {
    case MOP_LESSER: x86_3(a, w ? X86_vminpd : X86_vminps, d, x, y); break;
    case MOP_GREATER: x86_3(a, w ? X86_vmaxpd : X86_vmaxps, d, x, y); break;
    case MOP_SHL: x86_3(a, w ? X86_vpsllq : X86_vpslld, d, x, y); break;
    case MOP_SHR: x86_3(a, w ? X86_vpsrlq : X86_vpsrld, d, x, y); break;
    case MOP_TO_INT:
        x86_2(a,
              w                   ? (m->type == TYPE_U64 ? X86_vcvttpd2uqq : X86_vcvttpd2qq)
              : gen_is64(m->from) ? X86_vcvttpd2dq
                                  : X86_vcvttps2dq,
              d, x);
        break;
    case MOP_SCALE: x86_3(a, w ? X86_vscalefpd : X86_vscalefps, d, x, y); break;
    case MOP_EXPONENT: x86_2(a, w ? X86_vgetexppd : X86_vgetexpps, d, x); break;
    case MOP_MANTISSA: // [3/4, 3/2); NaN of negative numbers, +1 of -0
        x86_3(a, w ? X86_vgetmantpd : X86_vgetmantps, d, x, x86_imm(0xf));
        break;
    default: bug("micro-operation %d", m->op);
    }
}

// Comparison predicates: of floats (ordered, quiet), of integers.
static const uint8_t float_predicate[] = {
    [OP_LT] = 0x11, [OP_LE] = 0x12, [OP_GT] = 0x1e, [OP_GE] = 0x1d, [OP_EQ] = 0x00, [OP_NE] = 0x04};
static const uint8_t int_predicate[] = {
    [OP_LT] = 1, [OP_LE] = 2, [OP_GT] = 6, [OP_GE] = 5, [OP_EQ] = 0, [OP_NE] = 4};

// Lanes of `from` and of the result are equally wide. AVX2 compares integers by OP_LT and OP_EQ.
void x86_choose_lanes(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    bool w = gen_is64(m->from), isf = type_is_float(m->from);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg), x = arg_of(m, 0, m->from);
    X86Arg y = arg_of(m, 1, m->from), yes = arg_of(m, 2, m->type), no = arg_of(m, 3, m->type);
    X86Arg t = x86_vreg(m->from, m->width, g->scratch);
    if (gen_is64(m->type) != w) bug("lanes of different widths meet in a choice");
    if (x86_is_wide(g)) {
        X86Op cmp = isf ? (w ? X86_vcmppd : X86_vcmpps) : (w ? X86_vpcmpq : X86_vpcmpd);
        x86_4(a, cmp, x86_k(2), x, y, x86_imm(isf ? float_predicate[m->op] : int_predicate[m->op]));
        x86_3(a, w ? X86_vblendmpd : X86_vblendmps, x86_masked(d, 2, false), no, yes);
        return;
    }
    if (isf)
        x86_4(a, w ? X86_vcmppd : X86_vcmpps, t, x, y, x86_imm(float_predicate[m->op]));
    else if (m->op == OP_EQ)
        x86_3(a, w ? X86_vpcmpeqq : X86_vpcmpeqd, t, x, y);
    else if (m->op == OP_LT)
        x86_3(a, w ? X86_vpcmpgtq : X86_vpcmpgtd, t, y, x);
    else
        bug("integers chosen by comparison %d", m->op);
    x86_4(a, w ? X86_vblendvpd : X86_vblendvps, d, no, yes, t);
}

// m->width lanes of f64 out of twice as many of 4 bytes.
void x86_half(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(TYPE_F64, m->width, m->dst_reg);
    X86Arg x = x86_vreg(m->from, 2 * m->width, m->arg_reg[0]), half = x86_xmm(x.reg);
    if (x.kind == X86_Z) half = x86_ymm(x.reg);
    if (m->op == 1) {
        half = x86_reg(half.kind, (unsigned)g->scratch);
        if (x.kind == X86_Z)
            x86_3(a, X86_vextractf64x4, half, x, x86_imm(1));
        else if (x.kind == X86_Y)
            x86_3(a, x86_is_wide(g) ? X86_vextractf32x4 : X86_vextractf128, half, x, x86_imm(1));
        else
            x86_3(a, X86_vmovhlps, half, x, x);
    }
    x86_2(a, type_is_float(m->from) ? X86_vcvtps2pd : X86_vcvtdq2pd, d, half);
}

// Twice as many lanes of 4 bytes as its operands have of f64.
void x86_join(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg low = d.kind == X86_Z ? x86_ymm(d.reg) : x86_xmm(d.reg);
    X86Arg high = x86_reg(low.kind, (unsigned)g->scratch);
    X86Op cut = type_is_float(m->type) ? X86_vcvtpd2ps : X86_vcvttpd2dq;
    x86_2(a, cut, low, x86_vreg(TYPE_F64, (m->width + 1) / 2, m->arg_reg[0]));
    if (m->nargs == 1) return;
    x86_2(a, cut, high, x86_vreg(TYPE_F64, m->width / 2, m->arg_reg[1]));
    if (d.kind == X86_Z)
        x86_4(a, X86_vinsertf64x4, d, d, high, x86_imm(1));
    else if (d.kind == X86_Y)
        x86_4(a, x86_is_wide(g) ? X86_vinsertf32x4 : X86_vinsertf128, d, d, high, x86_imm(1));
    else
        x86_3(a, X86_vmovlhps, d, d, high);
}
