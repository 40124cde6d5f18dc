// Index arithmetic, branches and addresses: the accumulator machine of gen/isa.h in general
// registers. A is rax, B is rcx; rdx is scratch.
#include "code/x86/ops.h"

#include "base/bug.h"

#include <stddef.h>

static bool fits(int64_t value) { return value == (int32_t)value; }

// Stack slots move while something is pushed.
static X86Arg arg_of(const Gen *g, GenArg x) {
    switch (x.kind) {
    case ARG_A: return x86_r64(X86_RAX);
    case ARG_B: return x86_r64(X86_RCX);
    case ARG_ITEM:
        if (x.item.reg < 0) x.item.slot += own(g)->depth;
        return x86_item(x.item);
    default: bug("operand %d of index arithmetic", (int)x.kind);
    }
}

static unsigned gpr_of(GenArg x) { return x.kind == ARG_A ? X86_RAX : X86_RCX; }

// An operand beside `to`: constants of 64 bits go through a scratch register.
static X86Arg beside(Gen *g, GenArg to, GenArg x) {
    if (x.kind != ARG_CONST) return arg_of(g, x);
    if (fits(x.value)) return x86_imm(x.value);
    unsigned gpr = to.kind == ARG_A ? X86_RCX : X86_RAX;
    x86_set(&g->a, gpr, x.value);
    return x86_r64(gpr);
}

void x86_load_item(Gen *g, unsigned gpr, Item it) {
    x86_2(&g->a, X86_mov, x86_r64(gpr), x86_item(it));
}

static void set_item(Gen *g, Item it, int64_t value) {
    if (it.reg >= 0 && value == 0)
        x86_2(&g->a, X86_xor, x86_r32((unsigned)it.reg), x86_r32((unsigned)it.reg));
    else if (it.reg >= 0)
        x86_set(&g->a, (unsigned)it.reg, value);
    else
        x86_2(&g->a, X86_mov, x86_slot(it.slot), beside(g, gen_at(it), gen_const(value)));
}

void x86_move(Gen *g, GenArg to, GenArg from) {
    if (from.kind != ARG_CONST)
        x86_2(&g->a, X86_mov, arg_of(g, to), arg_of(g, from));
    else if (to.kind == ARG_ITEM)
        set_item(g, to.item, from.value);
    else
        x86_set(&g->a, gpr_of(to), from.value);
}

// Leaves the kernel where the last comparison says so: an index from data is outside its tensor, or
// overflowed.
static void bad_index_if(Gen *g, X86Op jump, X86Op unless) {
    X86Own *o = own(g);
    o->bad_used = true;
    if (!o->depth) {
        x86_1(&g->a, jump, x86_to(&o->bad));
        return;
    }
    AsmLabel fine = asm_label(&g->a);
    x86_1(&g->a, unless, x86_to(&fine));
    x86_2(&g->a, X86_add, x86_r64(X86_RSP), x86_imm(o->depth));
    x86_1(&g->a, X86_jmp, x86_to(&o->bad));
    asm_bind(&g->a, &fine);
}

// reg <- reg · k; its flags say whether it overflowed.
static void multiply(Gen *g, unsigned reg, int64_t k) {
    if (fits(k)) {
        x86_3(&g->a, X86_imul, x86_r64(reg), x86_r64(reg), x86_imm(k));
        return;
    }
    x86_set(&g->a, X86_RDX, k);
    x86_2(&g->a, X86_imul, x86_r64(reg), x86_r64(X86_RDX));
}

static void arithmetic(Gen *g, GenOp op, GenArg to, GenArg by) {
    static const X86Op op2[] = {[GEN_ADD] = X86_add, [GEN_SUB] = X86_sub, [GEN_MUL] = X86_imul};
    if (op == GEN_NEG)
        x86_1(&g->a, X86_neg, arg_of(g, to));
    else if (op == GEN_CLEAR)
        x86_2(&g->a, X86_xor, x86_r32(gpr_of(to)), x86_r32(gpr_of(to)));
    else if (op == GEN_SHL)
        x86_2(&g->a, X86_shl, arg_of(g, to), x86_imm(by.value));
    else if (op == GEN_MUL && by.kind == ARG_CONST)
        multiply(g, gpr_of(to), by.value);
    else {
        X86Arg y = beside(g, to, by);
        x86_2(&g->a, op2[op], arg_of(g, to), y);
    }
}

void x86_op(Gen *g, GenOp op, GenArg to, GenArg by, bool checked) {
    bool adds = op == GEN_ADD || op == GEN_SUB;
    if (by.kind == ARG_CONST && by.value == (op == GEN_MUL) && (adds || op == GEN_MUL)) return;
    arithmetic(g, op, to, by);
    if (checked) bad_index_if(g, X86_jo, X86_jno);
}

void x86_choose(Gen *g, bool larger, GenArg x, GenArg y) {
    bool first = x.kind == ARG_A;
    x86_2(&g->a, X86_cmp, arg_of(g, x), arg_of(g, y));
    x86_2(&g->a, first == larger ? X86_cmovl : X86_cmovnle, x86_r64(X86_RAX),
          arg_of(g, first ? y : x));
}

void x86_push(Gen *g) {
    x86_1(&g->a, X86_push, x86_r64(X86_RAX));
    own(g)->depth += 8;
}

void x86_pop(Gen *g) {
    x86_1(&g->a, X86_pop, x86_r64(X86_RCX));
    own(g)->depth -= 8;
}

// ---- Division

// By idiv: rax quotient towards zero, rdx remainder, then one less where signs differ.
static void divide_slowly(Gen *g, int64_t k, bool mod) {
    x86_set(&g->a, X86_RCX, k);
    x86_0(&g->a, X86_cqo);
    x86_1(&g->a, X86_idiv, x86_r64(X86_RCX));
    AsmLabel done = asm_label(&g->a);
    x86_2(&g->a, X86_test, x86_r64(X86_RDX), x86_r64(X86_RDX));
    x86_1(&g->a, X86_jz, x86_to(&done));
    x86_2(&g->a, X86_xor, x86_r64(X86_RCX), x86_r64(X86_RDX));
    x86_1(&g->a, X86_jns, x86_to(&done));
    x86_2(&g->a, X86_sub, x86_r64(X86_RAX), x86_imm(1));
    x86_set(&g->a, X86_RCX, k);
    x86_2(&g->a, X86_add, x86_r64(X86_RDX), x86_r64(X86_RCX));
    asm_bind(&g->a, &done);
    if (mod) x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RDX));
}

static void divide_by_power(Gen *g, int64_t k, bool mod) {
    if (!mod) {
        x86_2(&g->a, X86_sar, x86_r64(X86_RAX), x86_imm(__builtin_ctzll((uint64_t)k)));
    } else if (k - 1 == (int32_t)(k - 1)) {
        x86_2(&g->a, X86_and, x86_r64(X86_RAX), x86_imm(k - 1));
    } else {
        x86_set(&g->a, X86_RCX, k - 1);
        x86_2(&g->a, X86_and, x86_r64(X86_RAX), x86_r64(X86_RCX));
    }
}

// By the high half of a product. Below zero floor(n/k) is ~floor(~n/k), so that 0 <= n < 2^63; then
// with 2^(l-1) < k <= 2^l and M = ceil(2^(63+l) / k), which 64 bits hold, n/k is n·M >> (63+l): M
// is too large by less than k/2^(63+l) parts, and n times that is less than 1/k.
static void divide_by_product(Gen *g, int64_t k, bool mod) {
    int l = 64 - __builtin_clzll((uint64_t)k - 1);
    unsigned __int128 top = (unsigned __int128)1 << (63 + l);
    uint64_t m = (uint64_t)((top + (uint64_t)k - 1) / (uint64_t)k);
    if (mod) x86_1(&g->a, X86_push, x86_r64(X86_RAX));
    x86_2(&g->a, X86_mov, x86_r64(X86_RCX), x86_r64(X86_RAX));
    x86_2(&g->a, X86_sar, x86_r64(X86_RCX), x86_imm(63));
    x86_2(&g->a, X86_xor, x86_r64(X86_RAX), x86_r64(X86_RCX));
    x86_set(&g->a, X86_RDX, (int64_t)m);
    x86_1(&g->a, X86_mul, x86_r64(X86_RDX)); // rdx <- the high half
    if (l > 1) x86_2(&g->a, X86_shr, x86_r64(X86_RDX), x86_imm(l - 1));
    x86_2(&g->a, X86_xor, x86_r64(X86_RDX), x86_r64(X86_RCX));
    if (!mod) {
        x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RDX));
        return;
    }
    if (k == (int32_t)k) {
        x86_3(&g->a, X86_imul, x86_r64(X86_RDX), x86_r64(X86_RDX), x86_imm(k));
    } else {
        x86_set(&g->a, X86_RCX, k);
        x86_2(&g->a, X86_imul, x86_r64(X86_RDX), x86_r64(X86_RCX));
    }
    x86_1(&g->a, X86_pop, x86_r64(X86_RAX));
    x86_2(&g->a, X86_sub, x86_r64(X86_RAX), x86_r64(X86_RDX));
}

// rax <- floor(rax / k) or rax mod k, for a constant k.
void x86_divide(Gen *g, int64_t k, bool mod) {
    if (k == 0 || (mod && (k == 1 || k == -1)))
        x86_set(&g->a, X86_RAX, 0);
    else if (k == 1)
        return;
    else if (k < 0)
        divide_slowly(g, k, mod);
    else if ((k & (k - 1)) == 0)
        divide_by_power(g, k, mod);
    else
        divide_by_product(g, k, mod);
}

void x86_digit(Gen *g, Item to, int64_t k) {
    x86_set(&g->a, X86_RCX, k);
    x86_0(&g->a, X86_cqo);
    x86_1(&g->a, X86_idiv, x86_r64(X86_RCX));
    x86_2(&g->a, X86_mov, x86_item(to), x86_r64(X86_RDX));
}

// ---- Loads

static void load_integer(Gen *g, Type t, X86Arg mem) {
    bool is_zero_extended = type_is_unsigned(t) && type_info[t].bits < 64;
    X86Op op = x86_memory[t].one;
    x86_2(&g->a, op, is_zero_extended ? x86_r32(X86_RAX) : x86_r64(X86_RAX),
          x86_sized(mem, (unsigned)type_info[t].bytes));
}

void x86_load_integer(Gen *g, Type t, Item base, int64_t disp, bool plus_a) {
    GenArg from = gen_at(base);
    if (plus_a) {
        x86_move(g, GEN_B, from);
        load_integer(g, t, x86_mem_index(X86_RCX, X86_RAX, 0, 0));
        return;
    }
    if (base.reg < 0) x86_move(g, GEN_A, from);
    load_integer(g, t, x86_mem(base.reg < 0 ? X86_RAX : (unsigned)base.reg, disp));
}

void x86_check_below(Gen *g, int64_t size) {
    X86Arg limit = beside(g, GEN_A, gen_const(size));
    x86_2(&g->a, X86_cmp, x86_r64(X86_RAX), limit);
    bad_index_if(g, X86_jae, X86_jb); // unsigned: negative ones are large
}

// ---- Branches

static X86Op jump_if(GenCond c) {
    static const X86Op jump[] = {
        [GEN_LT] = X86_jl, [GEN_LE] = X86_jle, [GEN_GT] = X86_jnle,    [GEN_GE] = X86_jnl,
        [GEN_EQ] = X86_jz, [GEN_NE] = X86_jnz, [GEN_NEGATIVE] = X86_js};
    return jump[c];
}

void x86_jump(Gen *g, AsmLabel *to) { x86_1(&g->a, X86_jmp, x86_to(to)); }

void x86_branch(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to) {
    if (c == GEN_NEGATIVE) {
        x86_2(&g->a, X86_test, arg_of(g, x), arg_of(g, x));
    } else {
        X86Arg by = beside(g, x, y);
        x86_2(&g->a, X86_cmp, arg_of(g, x), by);
    }
    x86_1(&g->a, jump_if(c), x86_to(to));
}

void x86_op_branch(Gen *g, GenOp op, GenArg to, GenArg by, GenCond c, AsmLabel *label) {
    arithmetic(g, op, to, by);
    x86_1(&g->a, jump_if(c), x86_to(label));
}

void x86_branch_flags(Gen *g, uint32_t flags, AsmLabel *to) {
    x86_2(&g->a, X86_mov, x86_r64(X86_RAX), x86_slot(g->stack.env_slot));
    x86_2(&g->a, X86_test, x86_sized(x86_mem(X86_RAX, (int64_t)offsetof(KernelEnv, flags)), 4),
          x86_imm((int64_t)flags));
    x86_1(&g->a, X86_jnz, x86_to(to));
}

// ---- Addresses

X86Arg x86_address(Gen *g, const Ref *ref, unsigned scratch) {
    Item base = g->stack.stream[ref->stream];
    if (ref_is_hard(ref) && !ref->mem->gathers) {
        bool near = ref->disp == (int32_t)ref->disp;
        bool kept = ref->row >= 0;
        unsigned shift = (unsigned)gen_row_shift(g, ref);
        Item row = kept ? gen_row_item(g, ref->row) : (Item){-1, 0};
        if (row.reg >= 0 && base.reg >= 0 && near)
            return x86_mem_index((unsigned)base.reg, (unsigned)row.reg, shift, ref->disp);
        if (kept)
            x86_load_item(g, X86_RAX, row);
        else
            gen_row_offset(g, ref);
        if (shift) x86_2(&g->a, X86_shl, x86_r64(X86_RAX), x86_imm(shift));
        if (!near) {
            x86_set(&g->a, X86_RCX, ref->disp);
            x86_2(&g->a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        }
        if (kept && base.reg >= 0)
            return x86_mem_index((unsigned)base.reg, X86_RAX, 0, near ? ref->disp : 0);
        x86_load_item(g, X86_RCX, base);
        x86_2(&g->a, X86_add, x86_r64(X86_RCX), x86_r64(X86_RAX));
        return x86_mem(X86_RCX, near ? ref->disp : 0);
    }
    unsigned reg = base.reg >= 0 ? (unsigned)base.reg : scratch;
    if (base.reg < 0) x86_load_item(g, scratch, base);
    if (ref->disp == (int32_t)ref->disp) return x86_mem(reg, (int32_t)ref->disp);
    x86_set(&g->a, X86_RDX, ref->disp);
    return x86_mem_index(reg, X86_RDX, 0, 0);
}

X86Arg x86_without_index(Gen *g, X86Arg mem) {
    if (mem.index == X86_NOREG) return mem;
    x86_2(&g->a, X86_lea, x86_r64(X86_RAX), mem);
    return x86_mem(X86_RAX, 0);
}
