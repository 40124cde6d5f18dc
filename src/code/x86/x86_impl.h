// The x86-64 instruction set behind GenIsa (code/gen/isa.h). Private to code/x86.
//
//   frame.c     the GenIsa; functions: entry, exit, parallel loops, constants
//   scalar.c    index arithmetic and branches; addresses
//   ops.def     the tables: which level has which instruction for which operation and type
//   ops.c       micro-operations; arith.c: arithmetic, x86_cast.c: conversions, call.c: calls
//   mem.c       loads and stores; guard.c: under a guard; strided.c: lanes that are not contiguous
//   list.c      instructions as a Listing; aot.c: object files
//
// General registers: rax is A and rcx is B of isa.h, rdx is scratch; the rest hold Items. Vector
// registers: the last one is scratch for multi-instruction operations. k4.. are the masks of the
// region's tails, k1 that of another one, k3 lanes of a guard, k2 is scratch.
#ifndef LW_CODE_X86_X86_IMPL_H
#define LW_CODE_X86_X86_IMPL_H

#include "asm/x86.h"
#include "code/gen/gen.h"
#include "code/listing.h"

typedef struct PoolEntry {
    uint8_t bytes[64];
    int size;
    AsmLabel label;
} PoolEntry;

// Code that is rarely needed, behind the function.
typedef struct Detour {
    AsmLabel from, back;
    X86Arg reg;
} Detour;

// Gen.own
typedef struct X86Own {
    int depth;             // bytes pushed here: slots are that much further from rsp
    int call_area;         // byte offset from rsp of 64 bytes for each operand of a call
    int vector_area;       // byte offset from rsp of vector spills
    VEC(PoolEntry *) pool; // constants
    Set pooled;            // the same, by content
    VEC(Detour *) detours;
    bool streams_out; // the function has non-temporal stores
    VEC(KernelFrame) unwind;
    VEC(size_t) frames; // where the size of the frame is to be written
    AsmLabel leave;     // where the function ends
    AsmLabel bad;       // where it ends after a bad index
    bool bad_used;
    AsmLabel apply;     // the routine that calls KernelEnv.apply
    bool calls;         // some instruction calls it
    AsmLabel divide[4]; // routines that divide 64-bit integers: unsigned, signed, and remainders
    bool divides[4];    // some instruction calls them
    Listing *listing;   // NULL: none is wanted
    int k1;             // active lanes that k1 holds a mask for; 0: unknown
    int k3;             // value and number of its lanes that k3 holds (x86_lanes_of); 0: none
} X86Own;

static inline X86Own *own(const Gen *g) { return g->own; }

// Names the first lanes of a value, never 0. A value in many lanes may guard operations in fewer.
static inline int x86_lanes_of(int val, int width) { return val * (LIMIT_LANES + 1) + width; }

// ops.c: one micro-operation with its registers.
void x86_emit_micro(Gen *g, const Micro *m);
bool x86_folds(const void *gen, const Micro *m, int arg, const Ref *ref);
bool x86_ties(const void *gen, const Micro *m, int arg);
void x86_set_const(Gen *g, Type t, int width, int reg, Value v);
X86Arg x86_operand(Gen *g, const Micro *m, int i, Type t); // operand i, from memory if it is folded

// arith.c
void x86_arithmetic(Gen *g, const Micro *m);
void x86_choose_lanes(Gen *g, const Micro *m);
bool x86_has_op(ExprOp op, Type t); // false: it is a call
bool x86_is_one_instruction(const Gen *g, ExprOp op, Type t);

// x86_cast.c
void x86_cast(Gen *g, const Micro *m);
void x86_widen_half(Gen *g, const Micro *m);
void x86_narrow_halves(Gen *g, const Micro *m);
void x86_wrap(Gen *g, Type t, X86Arg lanes); // integers under 32 bits, after arithmetic

// call.c: through the environment, with all registers kept.
void x86_call(Gen *g, const Micro *m);
void x86_rescue(Gen *g, const Micro *m);
void x86_divide64(Gen *g, const Micro *m);
void x86_apply_routine(Gen *g); // behind the kernel's code
void x86_divide_routines(Gen *g);

// frame.c
void x86_frame(Gen *g, FrameRule rule, int kept, int at); // holds for the code that follows
AsmLabel *x86_pool(Gen *g, const void *bytes, int size);

// scalar.c
static inline X86Arg x86_slot(int slot) { return x86_sized(x86_mem(X86_RSP, slot), 8); }
static inline X86Arg x86_item(Item it) {
    return it.reg >= 0 ? x86_r64((unsigned)it.reg) : x86_slot(it.slot);
}
void x86_load_item(Gen *g, unsigned gpr, Item it);
// A memory operand for ref, through `scratch_gpr` where the pointer is in a slot.
X86Arg x86_address(Gen *g, const Ref *ref, unsigned scratch_gpr);
// [reg + disp]: an address with an index is computed into rax.
X86Arg x86_without_index(Gen *g, X86Arg mem);
void x86_move(Gen *g, GenArg to, GenArg from);
void x86_op(Gen *g, GenOp op, GenArg to, GenArg by, bool checked);
void x86_choose(Gen *g, bool larger, GenArg x, GenArg y);
void x86_divide(Gen *g, int64_t k, bool mod);
void x86_digit(Gen *g, Item to, int64_t k);
void x86_push(Gen *g);
void x86_pop(Gen *g);
void x86_load_integer(Gen *g, Type t, Item base, int64_t disp, bool plus_a);
void x86_check_below(Gen *g, int64_t size);
void x86_jump(Gen *g, AsmLabel *to);
void x86_branch(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to);
void x86_op_branch(Gen *g, GenOp op, GenArg to, GenArg by, GenCond c, AsmLabel *label);
void x86_branch_flags(Gen *g, uint32_t flags, AsmLabel *to);

static inline X86Arg x86_vreg(Type t, int width, int reg) {
    unsigned bytes = (unsigned)(gen_lane_size(t) * width);
    return x86_vec(bytes <= 16 ? 16 : bytes, (unsigned)reg);
}

static inline bool x86_has_avx512(const Gen *g) { return g->m->isa == ISA_AVX512; }

// list.c: entries of the Listing
void list_heard(Asm *a, size_t offset, unsigned op, const void *operands);
void list_frame(Gen *g, size_t patch, int32_t frame); // `sub rsp, imm32` got its number
void list_call(Gen *g, int op, Type from, Type to);

#endif
