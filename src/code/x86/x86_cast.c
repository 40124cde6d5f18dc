// Conversions: the table of ops.def, and the functions that it names. micro/micro_cast.c makes all
// others of these.
#include "code/x86/ops.h"

#include "base/bug.h"
#include "code/x86/mem.h"

void x86_wrap(Gen *g, Type t, X86Arg lanes) {
    int cut = 32 - type_info[t].bits;
    if (t == TYPE_BOOL || cut <= 0 || type_is_float(t)) return;
    bool is_signed = type_info[t].class == CLASS_INT;
    x86_3(&g->a, X86_vpslld, lanes, lanes, x86_imm(cut));
    x86_3(&g->a, is_signed ? X86_vpsrad : X86_vpsrld, lanes, lanes, x86_imm(cut));
}

// ---- Functions of the table

// An f32 to the nearest one that f16 holds.
static void round_f16(OpArgs *o) {
    X86Arg half = x86_vec(o->d.kind == X86_Z ? 32 : 16, (unsigned)o->g->scratch);
    x86_3(&o->g->a, o->way->op, half, o->a, x86_imm(0));
    x86_2(&o->g->a, X86_vcvtph2ps, o->d, half);
}

// AVX2: an f32 to the nearest one that bf16 holds, ties to even; NaN becomes all ones.
static void round_bf16(OpArgs *o) {
    Asm *a = &o->g->a;
    uint32_t one[8], bias[8], high[8];
    for (int i = 0; i < 8; i++) one[i] = 1, bias[i] = 0x7fff, high[i] = 0xffff0000;
    x86_3(a, X86_vpsrld, o->d, o->a, x86_imm(16));
    x86_3(a, X86_vpand, o->d, o->d, x86_mem_label(x86_pool(o->g, one, 32)));
    x86_3(a, X86_vpaddd, o->d, o->d, o->a);
    x86_3(a, X86_vpaddd, o->d, o->d, x86_mem_label(x86_pool(o->g, bias, 32)));
    x86_4(a, X86_vcmpps, o->t, o->a, o->a, x86_imm(3));
    x86_3(a, X86_vpor, o->d, o->d, o->t);
    x86_3(a, X86_vpand, o->d, o->d, x86_mem_label(x86_pool(o->g, high, 32)));
}

// AVX-512
static void round_bf16_wide(OpArgs *o) {
    x86_round_bf16(o->g, o->m->width, (int)o->a.reg, o->g->scratch);
    x86_3(&o->g->a, X86_vpslld, o->d, o->t, x86_imm(16));
}

// AVX2: the low halves of 8-byte lanes.
static void low_halves(OpArgs *o) {
    X86Arg low = x86_xmm(o->a.reg), high = low;
    if (o->a.kind == X86_Y) {
        high = x86_xmm((unsigned)o->g->scratch);
        x86_3(&o->g->a, X86_vextractf128, high, o->a, x86_imm(1));
    }
    x86_4(&o->g->a, o->way->op, o->d, low, high, x86_imm(0x88));
}

// ---- The table

typedef struct CastRow {
    X86Way level[2];
} CastRow;

enum {
    ROW_NONE,
#define X86_CAST(from, to, ...) ROW_##from##_##to,
#include "code/x86/ops.def"
    ROW_COUNT
};

static const CastRow row[ROW_COUNT] = {
#define X86_CAST(from, to, avx2, avx512) [ROW_##from##_##to] = {{WAY avx2, WAY avx512}},
#include "code/x86/ops.def"
};

static const uint8_t row_of[TYPE_COUNT][TYPE_COUNT] = {
#define X86_CAST(from, to, ...) [TYPE_##from][TYPE_##to] = ROW_##from##_##to,
#include "code/x86/ops.def"
};

static const X86Way *way_of(const Gen *g, Type from, Type to) {
    Type source = type_info[from].lane, target = type_is_float(to) ? to : type_info[to].lane;
    return x86_level(g, row[row_of[source][target]].level);
}

void x86_cast(Gen *g, const Micro *m) {
    OpArgs o = {.g = g, .m = m, .type = m->from, .way = way_of(g, m->from, m->type)};
    o.d = x86_vreg(m->type, m->width, m->dst_reg);
    o.a = x86_vreg(m->from, m->width, m->arg_reg[0]);
    o.t = x86_vreg(TYPE_F32, m->width, g->scratch);
    x86_emit_way(&o);
    if (m->kind == MI_CAST && type_is_integer(m->from)) x86_wrap(g, m->type, o.d);
}

// ---- Half of the lanes in f64

// m->width lanes of f64 out of twice as many of 4 bytes.
void x86_widen_half(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(TYPE_F64, m->width, m->dst_reg);
    X86Arg x = x86_vreg(m->from, 2 * m->width, m->arg_reg[0]), half = x86_xmm(x.reg);
    if (x.kind == X86_Z) half = x86_ymm(x.reg);
    if (m->op == 1) {
        half = x86_reg(half.kind, (unsigned)g->scratch);
        if (x.kind == X86_Z)
            x86_3(a, X86_vextractf64x4, half, x, x86_imm(1));
        else if (x.kind == X86_Y)
            x86_3(a, x86_instr(g, USE_UPPER_16, m->from), half, x, x86_imm(1));
        else
            x86_3(a, X86_vmovhlps, half, x, x);
    }
    x86_2(a, way_of(g, m->from, TYPE_F64)->op, d, half);
}

// Twice as many lanes of 4 bytes as its operands have of f64.
void x86_narrow_halves(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg low = d.kind == X86_Z ? x86_ymm(d.reg) : x86_xmm(d.reg);
    X86Arg high = x86_reg(low.kind, (unsigned)g->scratch);
    X86Op cut = way_of(g, TYPE_F64, m->type)->op;
    x86_2(a, cut, low, x86_vreg(TYPE_F64, (m->width + 1) / 2, m->arg_reg[0]));
    if (m->nargs == 1) return;
    x86_2(a, cut, high, x86_vreg(TYPE_F64, m->width / 2, m->arg_reg[1]));
    if (d.kind == X86_Z)
        x86_4(a, X86_vinsertf64x4, d, d, high, x86_imm(1));
    else if (d.kind == X86_Y)
        x86_4(a, x86_instr(g, USE_INSERT_16, m->type), d, d, high, x86_imm(1));
    else
        x86_3(a, X86_vmovlhps, d, d, high);
}
