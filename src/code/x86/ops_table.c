// The tables of ops.def that several files use, and entries of any of them as instructions.
#include "code/x86/ops.h"

#include "base/bug.h"

const Predicate x86_predicate[] = {
#define X86_COMPARE(op, floats, ints) [op] = {floats, ints},
#include "code/x86/ops.def"
};

const CompareLanes x86_compare_lanes[TYPE_COUNT] = {
#define X86_COMPARE_LANES(lanes, by_predicate, greater, equal)                                     \
    [TYPE_##lanes] = {X86_##by_predicate, X86_##greater, X86_##equal},
#include "code/x86/ops.def"
};

const MemoryOps x86_memory[TYPE_COUNT] = {
#define X86_MEMORY(type, one, load, store) [TYPE_##type] = {X86_##one, X86_##load, X86_##store},
#include "code/x86/ops.def"
};

// By level, then by the size of a lane.
static const X86Op instr[USE_COUNT][2][2] = {
#define X86_INSTR(use, avx2, avx2_long, avx512, avx512_long)                                       \
    [USE_##use] = {{X86_##avx2, X86_##avx2_long}, {X86_##avx512, X86_##avx512_long}},
#include "code/x86/ops.def"
};

X86Op x86_instr(const Gen *g, X86Use use, Type t) {
    return instr[use][x86_has_avx512(g)][gen_is64(t)];
}

void x86_emit_way(OpArgs *o) {
    Asm *a = &o->g->a;
    const X86Way *w = o->way;
    switch (w->form) {
    case WAY_AB: x86_3(a, w->op, o->d, o->a, o->b); break;
    case WAY_A: x86_2(a, w->op, o->d, o->a); break;
    case WAY_AA: x86_3(a, w->op, o->d, o->a, o->a); break;
    case WAY_AI: x86_3(a, w->op, o->d, o->a, x86_imm(w->imm)); break;
    case WAY_AV: x86_3(a, w->op, o->d, o->a, x86_imm(o->m->value.i)); break;
    case WAY_SEQ: w->seq(o); break;
    case WAY_NONE:
    case WAY_SAME:
        bug("micro-operation %d, %d of %s to %s: not at this level", (int)o->m->kind, o->m->op,
            type_info[o->m->from].name, type_info[o->m->type].name);
    }
}

void x86_zero(Gen *g, int reg) {
    X86Arg x = x86_xmm((unsigned)reg);
    x86_3(&g->a, x86_instr(g, USE_ZERO, TYPE_F32), x, x, x);
}
