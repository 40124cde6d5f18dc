// What no vector instruction computes: calls of KernelEnv.apply, a vector at a time, and division
// of 64-bit integers, lane by lane.
//
// Operands go to the call area, 64 bytes each; the result replaces the first. One routine per
// kernel, behind its code, keeps all registers, so a call costs what it computes and the code
// around it need not know: rax, rcx and rdx are scratch anyway.
#include "code/x86/x86_impl.h"

#include <stddef.h>

#include "base/kernel_abi.h"
#include "code/x86/mem.h"
#include "code/x86/ops.h"

static const uint8_t kept[] = {X86_RSI, X86_RDI, X86_R8, X86_R9, X86_R10, X86_R11, X86_RBX};
enum { KEPT = sizeof kept };

static X86Arg area(const Gen *g, int i) { return x86_mem(X86_RSP, own(g)->call_area + 64 * i); }

// rax: the environment; rdx: the operands; ecx: operation, types and lanes, a byte each.
static void call_apply(Gen *g, int op, Type from, Type to, int width) {
    Asm *a = &g->a;
    if (!own(g)->calls) own(g)->apply = asm_label(a);
    own(g)->calls = true;
    if (own(g)->listing) list_call(g, op, from, to);
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_slot(g->stack.env_slot));
    x86_2(a, X86_lea, x86_r64(X86_RDX), area(g, 0));
    x86_2(a, X86_mov, x86_r32(X86_RCX), x86_imm(op | (int)from << 8 | (int)to << 16 | width << 24));
    x86_1(a, X86_call, x86_to(&own(g)->apply));
    x86_set_masks(g);
}

void x86_call(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    for (int i = 0; i < m->nargs; i++)
        x86_2(a, X86_vmovups, area(g, i), x86_vreg(m->from, m->width, m->arg_reg[i]));
    call_apply(g, m->op, m->from, m->type, m->width);
    x86_2(a, X86_vmovups, x86_vreg(m->type, m->width, m->dst_reg), area(g, 0));
}

// arg0 <= arg1 in all lanes is the rule, and arg2 the result; in other lanes it is op(arg3).
void x86_rescue(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    bool masks = x86_has_avx512(g), two = op_info[m->op].arity == 2;
    AsmLabel done = asm_label(a);
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg t = x86_vreg(m->type, m->width, g->scratch), v[4];
    for (int i = 0; i < 4; i++) v[i] = x86_vreg(m->type, m->width, m->arg_reg[i]);
    X86Arg limit = v[two ? 0 : 1], found = v[two ? 1 : 2];
    X86Op compare = x86_compare_of(m->type)->by_predicate;
    enum { NOT_LESS_EQUAL = 0x16 }; // or unordered
    x86_2(a, X86_vmovaps, d, found);
    if (m->width == 1) { // lanes above the first hold anything
        x86_2(a, gen_is64(m->type) ? X86_vucomisd : X86_vucomiss, limit, v[0]);
        x86_1(a, X86_jae, x86_to(&done));
    } else if (masks) {
        x86_4(a, compare, x86_k(2), v[0], limit, x86_imm(NOT_LESS_EQUAL));
        x86_2(a, X86_kortestw, x86_k(2), x86_k(2));
        x86_1(a, X86_jz, x86_to(&done));
    } else {
        x86_4(a, compare, t, v[0], limit, x86_imm(NOT_LESS_EQUAL));
        x86_2(a, x86_instr(g, USE_TEST, m->type), t, t);
        x86_1(a, X86_jz, x86_to(&done));
    }
    x86_2(a, X86_vmovups, area(g, 0), v[two ? 2 : 3]);
    if (two) x86_2(a, X86_vmovups, area(g, 1), v[3]);
    call_apply(g, m->op, m->type, m->type, m->width);
    if (m->width == 1) {
        x86_2(a, X86_vmovups, d, area(g, 0));
    } else if (masks) {
        x86_4(a, compare, x86_k(2), v[0], limit, x86_imm(NOT_LESS_EQUAL));
        x86_2(a, x86_instr(g, USE_MOVE_MASKED, m->type), x86_masked(d, 2, false), area(g, 0));
    } else { // the scratch register still has the mask
        x86_4(a, x86_instr(g, USE_BLEND, m->type), d, d, area(g, 0), t);
    }
    asm_bind(a, &done);
}

// apply(op, from, to, lanes, operands) with every vector register kept, and no more of it than the
// level computes with: reloading upper halves that scalar code never clears would leave them in
// use.
void x86_apply_routine(Gen *g) {
    Asm *a = &g->a;
    if (!own(g)->calls) return;
    unsigned vec = g->m->vector_bytes < 16 ? 16 : (unsigned)g->m->vector_bytes;
    int n = g->m->vector_registers;
    X86Arg rsp = x86_r64(X86_RSP), rbx = x86_r64(X86_RBX), ecx = x86_r32(X86_RCX);
    asm_bind(a, &own(g)->apply);
    x86_frame(g, FRAME_RSP, 0, 0);
    for (int i = 0; i < KEPT; i++) x86_1(a, X86_push, x86_r64(kept[i]));
    x86_2(a, X86_mov, rbx, rsp);
    x86_frame(g, FRAME_RBX, 0, KEPT);
    x86_2(a, X86_sub, rsp, x86_imm(n * (int)vec));
    x86_2(a, X86_and, rsp, x86_imm(-64));
    for (int i = 0; i < n; i++)
        x86_2(a, X86_vmovups, x86_mem(X86_RSP, i * (int)vec), x86_vec(vec, (unsigned)i));
    x86_0(a, X86_vzeroupper);
    x86_2(a, X86_mov, x86_r64(X86_R8), x86_r64(X86_RDX));
    x86_2(a, X86_movzx, x86_r32(X86_RDI), x86_r8(X86_RCX));
    x86_2(a, X86_shr, ecx, x86_imm(8));
    x86_2(a, X86_movzx, x86_r32(X86_RSI), x86_r8(X86_RCX));
    x86_2(a, X86_shr, ecx, x86_imm(8));
    x86_2(a, X86_movzx, x86_r32(X86_RDX), x86_r8(X86_RCX));
    x86_2(a, X86_shr, ecx, x86_imm(8));
    x86_1(a, X86_call, x86_sized(x86_mem(X86_RAX, (int64_t)offsetof(KernelEnv, apply)), 8));
    for (int i = 0; i < n; i++)
        x86_2(a, X86_vmovups, x86_vec(vec, (unsigned)i), x86_mem(X86_RSP, i * (int)vec));
    x86_2(a, X86_mov, rsp, rbx);
    for (int i = KEPT - 1; i >= 0; i--) x86_1(a, X86_pop, x86_r64(kept[i]));
    x86_0(a, X86_ret);
}

// ---- Division of 64-bit integers
//
// Rounds down; 0 where the divisor is 0; the smallest number divided by -1 is itself.

static bool divides_signed(int kind) { return kind & 1; }
static bool divides_rest(int kind) { return kind & 2; }

void x86_divide64(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    int kind = (m->from == TYPE_I64) + 2 * (m->op == OP_MOD);
    if (!own(g)->divides[kind]) own(g)->divide[kind] = asm_label(a);
    own(g)->divides[kind] = true;
    for (int i = 0; i < 2; i++)
        x86_2(a, X86_vmovups, area(g, i), x86_vreg(m->from, m->width, m->arg_reg[i]));
    for (int i = 0; i < m->width; i++) {
        x86_2(a, X86_mov, x86_r64(X86_RAX), x86_slot(own(g)->call_area + 8 * i));
        x86_2(a, X86_mov, x86_r64(X86_RCX), x86_slot(own(g)->call_area + 64 + 8 * i));
        x86_1(a, X86_call, x86_to(&own(g)->divide[kind]));
        x86_2(a, X86_mov, x86_slot(own(g)->call_area + 8 * i), x86_r64(X86_RAX));
    }
    x86_2(a, X86_vmovups, x86_vreg(m->type, m->width, m->dst_reg), area(g, 0));
}

// rax <- rax / rcx, or the rest; uses rdx.
static void divide_routine(Gen *g, int kind) {
    Asm *a = &g->a;
    bool is_signed = divides_signed(kind), rest = divides_rest(kind);
    X86Arg rax = x86_r64(X86_RAX), rcx = x86_r64(X86_RCX), rdx = x86_r64(X86_RDX);
    AsmLabel zero = asm_label(a), minus = asm_label(a), done = asm_label(a);
    asm_bind(a, &own(g)->divide[kind]);
    x86_2(a, X86_test, rcx, rcx);
    x86_1(a, X86_jz, x86_to(&zero));
    if (is_signed) {
        x86_2(a, X86_cmp, rcx, x86_imm(-1)); // the one quotient that may not fit
        x86_1(a, X86_je, x86_to(rest ? &zero : &minus));
        x86_0(a, X86_cqo);
        x86_1(a, X86_idiv, rcx);
        if (rest) x86_2(a, X86_mov, rax, rdx);
        x86_2(a, X86_test, rdx, rdx);
        x86_1(a, X86_jz, x86_to(&done));
        x86_2(a, X86_xor, rdx, rcx);
        x86_1(a, X86_jns, x86_to(&done));
        if (rest)
            x86_2(a, X86_add, rax, rcx);
        else
            x86_2(a, X86_sub, rax, x86_imm(1));
    } else {
        x86_2(a, X86_xor, x86_r32(X86_RDX), x86_r32(X86_RDX));
        x86_1(a, X86_div, rcx);
        if (rest) x86_2(a, X86_mov, rax, rdx);
    }
    asm_bind(a, &done);
    x86_0(a, X86_ret);
    asm_bind(a, &minus);
    if (is_signed && !rest) {
        x86_1(a, X86_neg, rax);
        x86_0(a, X86_ret);
    }
    asm_bind(a, &zero);
    x86_2(a, X86_xor, x86_r32(X86_RAX), x86_r32(X86_RAX));
    x86_0(a, X86_ret);
}

void x86_divide_routines(Gen *g) {
    for (int kind = 0; kind < 4; kind++)
        if (own(g)->divides[kind]) divide_routine(g, kind);
}
