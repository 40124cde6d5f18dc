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
#include "code/x86/ops.h"

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
    X86Arg mem = x86_mem_label(x86_pool(g, &bits, gen_lane_size(t)));
    if (width == 1)
        x86_2(&g->a, x86_instr(g, USE_MOVE_ONE, t), x, mem);
    else
        x86_2(&g->a, x86_broadcast_to(g, t, d), d, mem);
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
    x86_zero(g, m->dst_reg);
    x86_2(a, X86_test, x86_r32(X86_RDX), x86_r32(X86_RDX));
    x86_1(a, X86_jz, x86_to(&none));
    gen_index(g, m->index);
    x86_2(a, X86_vmovq, x, x86_r64(X86_RAX));
    if (m->width > 1) x86_broadcast(g, m->type, m->width, m->dst_reg, m->dst_reg);
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
    if (m->width > 1) x86_broadcast(g, m->type, m->width, m->dst_reg, m->dst_reg);
    if (steps) x86_3(a, x86_instr(g, USE_ADD_INT, m->type), d, d, lane_steps(g, m));
}

// ---- Operands

X86Arg x86_operand(Gen *g, const Micro *m, int i, Type t) {
    if (i >= m->nargs) return x86_imm(0);
    if (i == m->fold) {
        X86Arg mem = x86_address(g, m->ref, X86_RAX);
        return m->ref->lane == 0 && m->ref->width > 1 ? x86_bcast(mem) : mem;
    }
    return x86_vreg(t, m->width, m->arg_reg[i]);
}

// ---- Lanes

static void do_lanes(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg),
           x = x86_vreg(m->type, m->width, m->arg_reg[0]);
    X86Arg t = x86_vreg(m->type, m->width, g->scratch);
    x86_set_const(g, m->type, m->width, g->scratch, reduce_identity(m->type, m->op));
    X86Op blend = x86_instr(g, USE_BLEND_FIRST, m->type);
    if (x86_has_avx512(g))
        x86_3(a, blend, x86_masked(d, x86_mask(g, 1), false), t, x);
    else
        x86_4(a, blend, d, t, x, x86_imm(1));
}

static void do_upper(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    unsigned dst = (unsigned)m->dst_reg, src = (unsigned)m->arg_reg[0];
    switch (m->width * gen_lane_size(m->type)) {
    case 32: x86_3(a, X86_vextractf64x4, x86_ymm(dst), x86_zmm(src), x86_imm(1)); break;
    case 16:
        x86_3(a, x86_instr(g, USE_UPPER_16, m->type), x86_xmm(dst), x86_ymm(src), x86_imm(1));
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
    else if (!x86_has_avx512(g))
        x86_4(&g->a, X86_vperm2f128, d, x, y, x86_imm(odd ? 0x31 : 0x20));
    else
        x86_4(&g->a, X86_vshuff32x4, d, x, y,
              x86_imm(d.kind == X86_Z ? (odd ? 0xdd : 0x88) : (odd ? 3 : 0)));
}

static void do_head(Gen *g, const Micro *m) {
    X86Op blend = x86_instr(g, USE_BLEND_FIRST, m->type);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    unsigned k = x86_has_avx512(g) ? x86_mask(g, m->op) : 0; // before rax is in use
    X86Arg tail = x86_vreg(m->type, m->width, m->arg_reg[0]), head = x86_operand(g, m, 1, m->type);
    if (k)
        x86_3(&g->a, blend, x86_masked(d, k, false), tail, head);
    else
        x86_4(&g->a, blend, d, tail, head, x86_imm((1 << m->op) - 1));
}

static void do_group(Gen *g, const Micro *m) {
    bool f64 = gen_is64(m->type), four = m->op / 16 == 4;
    int at = m->op % 16, pair = f64 ? (at ? 0xff : 0) : (at ? 0xf5 : 0xa0);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg), x = x86_operand(g, m, 0, m->type);
    x86_3(&g->a, f64 ? (four ? X86_vpermpd : X86_vpermilpd) : X86_vpermilps, d, x,
          x86_imm(four ? at * 0x55 : pair));
}

// ---- All of it

// Is it done by a call?
static bool calls(const Micro *m) {
    return m->kind == MI_OP && m->op < OP_COUNT && !x86_has_op((ExprOp)m->op, m->from);
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
    if (r->width > 1 && r->lane == 0 && !x86_has_avx512(g)) return false;
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

bool x86_ties(const void *user, const Micro *m, int arg) {
    if (m->kind == MI_PERMUTE) return x86_has_avx512(user) && m->nargs == 3 && arg != 1;
    if (m->kind != MI_OP || m->from == TYPE_BOOL) return false;
    if (m->op == OP_SELECT) return arg == 2; // an accumulator keeps its register where masked off
    bool sum = m->op == OP_ADD || m->op == OP_SUB || m->op == OP_MUL;
    return sum && x86_is_one_instruction(user, (ExprOp)m->op, m->from);
}

// AVX-512: lanes of operand 3 alone, the others keep operand 2.
static void do_masked_fma(Gen *g, const Micro *m) {
    int mem = m->fold == 0 ? 0 : 1;
    unsigned k = x86_guard(g, m, 3);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    if (m->dst_reg != m->arg_reg[2])
        x86_2(&g->a, X86_vmovaps, d, x86_vreg(m->type, m->width, m->arg_reg[2]));
    x86_3(&g->a, x86_instr(g, USE_FMA, m->type), x86_masked(d, k, false),
          x86_operand(g, m, 1 - mem, m->type), x86_operand(g, m, mem, m->type));
}

// Products of narrow integers, added up in each lane. The signed bytes may come from memory.
static void do_dots(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    int mem = m->fold == 0 ? 0 : 1;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg sum = x86_vreg(m->type, m->width, m->arg_reg[2]);
    X86Arg x = x86_operand(g, m, 1 - mem, m->type), y = x86_operand(g, m, mem, m->type);
    if (!g->m->has_vnni || !x86_has_avx512(g)) {
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
    bool one = m->width == 1;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    int mem = m->fold == 0 ? 0 : 1, reg = 1 - mem;
    if (m->fold < 0 && m->dst_reg == m->arg_reg[1]) mem = 0, reg = 1;
    X86Arg x = x86_operand(g, m, reg, m->type), y = x86_operand(g, m, mem, m->type);
    X86Arg z = x86_vreg(m->type, m->width, m->arg_reg[2]);
    if (m->dst_reg == m->arg_reg[reg] && m->dst_reg != m->arg_reg[2]) { // over a factor
        x86_3(a, x86_instr(g, one ? USE_FMA_OVER_ONE : USE_FMA_OVER, m->type), d, z, y);
        return;
    }
    if (m->dst_reg != m->arg_reg[2]) x86_2(a, X86_vmovaps, d, z);
    x86_3(a, x86_instr(g, one ? USE_FMA_ONE : USE_FMA, m->type), d, x, y);
}

void x86_emit_micro(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    if (calls(m)) {
        x86_call(g, m);
        return;
    }
    switch (m->kind) {
    case MI_CONST: x86_set_const(g, m->type, m->width, m->dst_reg, m->value); break;
    case MI_LOAD: x86_load(g, m); break;
    case MI_BEGIN: x86_begin_value(g, m); break;
    case MI_INDEX: do_index(g, m); break;
    case MI_OP: x86_arithmetic(g, m); break;
    case MI_FMA: do_fma(g, m); break;
    case MI_CHOOSE: x86_choose_lanes(g, m); break;
    case MI_WIDEN: x86_widen_half(g, m); break;
    case MI_NARROW: x86_narrow_halves(g, m); break;
    case MI_RESCUE: x86_rescue(g, m); break;
    case MI_CAST: x86_cast(g, m); break;
    case MI_STORE: x86_store(g, m); break;
    case MI_LANES: do_lanes(g, m); break;
    case MI_UPPER: do_upper(g, m); break;
    case MI_SHUFFLE: do_shuffle(g, m); break;
    case MI_HEAD: do_head(g, m); break;
    case MI_GROUP: do_group(g, m); break;
    case MI_LANE_NUMBERS: x86_lane_numbers(g, m); break;
    case MI_PERMUTE: x86_permute(g, m); break;
    case MI_FETCH: x86_prefetch(g, m); break;
    case MI_ROW: bug("gen_emit does these");
    case MI_GATHER: x86_gather(g, m); break;
    case MI_CHECK: x86_check(g, m); break;
    case MI_BROADCAST: x86_broadcast(g, m->type, m->width, m->dst_reg, m->arg_reg[0]); break;
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
