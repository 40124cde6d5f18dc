// Conversions that code/micro/micro_cast.c leaves to instructions.
#include "code/x86/x86_impl.h"

#include <string.h>

#include "base/bug.h"
#include "code/x86/mem.h"

void x86_wrap(Gen *g, Type t, X86Arg lanes) {
    int cut = 32 - type_info[t].bits;
    if (t == TYPE_BOOL || cut <= 0 || type_is_float(t)) return;
    bool is_signed = type_info[t].class == CLASS_INT;
    x86_3(&g->a, X86_vpslld, lanes, lanes, x86_imm(cut));
    x86_3(&g->a, is_signed ? X86_vpsrad : X86_vpsrld, lanes, lanes, x86_imm(cut));
}

// AVX2: to nearest even; NaN becomes all ones.
static void round_bf16(Gen *g, int width, X86Arg d, X86Arg x) {
    Asm *a = &g->a;
    uint32_t one[8], bias[8], high[8];
    for (int i = 0; i < 8; i++) one[i] = 1, bias[i] = 0x7fff, high[i] = 0xffff0000;
    x86_3(a, X86_vpsrld, d, x, x86_imm(16));
    x86_3(a, X86_vpand, d, d, x86_mem_label(x86_pool(g, one, 32)));
    x86_3(a, X86_vpaddd, d, d, x);
    x86_3(a, X86_vpaddd, d, d, x86_mem_label(x86_pool(g, bias, 32)));
    X86Arg t = x86_vreg(TYPE_F32, width, g->scratch);
    x86_4(a, X86_vcmpps, t, x, x, x86_imm(3));
    x86_3(a, X86_vpor, d, d, t);
    x86_3(a, X86_vpand, d, d, x86_mem_label(x86_pool(g, high, 32)));
}

// f32 to what a 16-bit float would hold.
static void round_half(Gen *g, const Micro *m, X86Arg d, X86Arg x) {
    Asm *a = &g->a;
    if (m->type == TYPE_F16) {
        X86Arg h = x86_vec(d.kind == X86_Z ? 32 : 16, (unsigned)g->scratch);
        x86_3(a, X86_vcvtps2ph, h, x, x86_imm(0));
        x86_2(a, X86_vcvtph2ps, d, h);
    } else if (x86_is_wide(g)) {
        x86_round_bf16(g, m->width, x.reg, g->scratch);
        x86_3(a, X86_vpslld, d, x86_vreg(TYPE_F32, m->width, g->scratch), x86_imm(16));
    } else {
        round_bf16(g, m->width, d, x);
    }
}

// The low halves of 8-byte lanes.
static void narrow(Gen *g, X86Arg d, X86Arg x) {
    Asm *a = &g->a;
    if (x86_is_wide(g)) {
        x86_2(a, X86_vpmovqd, d, x);
        return;
    }
    X86Arg low = x86_xmm(x.reg), high = low;
    if (x.kind == X86_Y) {
        high = x86_xmm((unsigned)g->scratch);
        x86_3(a, X86_vextractf128, high, x, x86_imm(1));
    }
    x86_4(a, X86_vshufps, d, low, high, x86_imm(0x88));
}

static void int_to_int(Gen *g, const Micro *m, X86Arg d, X86Arg x) {
    Asm *a = &g->a;
    int from = gen_lane_size(m->from), to = gen_lane_size(m->type);
    bool is_signed = type_info[m->from].class == CLASS_INT;
    if (from < to)
        x86_2(a, is_signed ? X86_vpmovsxdq : X86_vpmovzxdq, d, x);
    else if (from > to)
        narrow(g, d, x);
    else
        x86_2(a, X86_vmovaps, d, x);
    x86_wrap(g, m->type, d);
}

static X86Op float_op(const Micro *m) {
    bool f64 = m->type == TYPE_F64;
    switch (m->from) {
    case TYPE_F32: return X86_vcvtps2pd;
    case TYPE_F64: return X86_vcvtpd2ps;
    case TYPE_I32: return f64 ? X86_vcvtdq2pd : X86_vcvtdq2ps;
    case TYPE_I64: return f64 ? X86_vcvtqq2pd : X86_vcvtqq2ps;
    case TYPE_U64: return f64 ? X86_vcvtuqq2pd : X86_vcvtuqq2ps;
    default: bug("a conversion from %s to %s", type_info[m->from].name, type_info[m->type].name);
    }
}

void x86_cast(Gen *g, const Micro *m) {
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg x = x86_vreg(m->from, m->width, m->arg_reg[0]);
    if (m->type == TYPE_F16 || m->type == TYPE_BF16)
        round_half(g, m, d, x);
    else if (m->from == TYPE_BOOL)
        x86_3(&g->a, X86_vpsrld, d, x, x86_imm(31));
    else if (type_is_float(m->type))
        x86_2(&g->a, float_op(m), d, x);
    else
        int_to_int(g, m, d, x);
}
