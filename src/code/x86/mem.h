// Memory: loads, stores and the lanes of them that exist. Private to code/x86.
#ifndef LW_CODE_X86_MEM_H
#define LW_CODE_X86_MEM_H

#include "code/x86/x86_impl.h"

// mem.c
// The mask register of the first `active` lanes: one of the region's, or k1, set through rax.
unsigned x86_mask(Gen *g, int active);
void x86_set_masks(Gen *g);                        // k4.. <- the region's masks; uses rax
X86Arg x86_mask_bytes(Gen *g, Type t, int active); // AVX2: the same in memory,
void x86_mask_vector(Gen *g, Type t, int active);  // and in the scratch register
void x86_load_one(Gen *g, Type t, int reg, X86Arg mem);
void x86_load_broadcast(Gen *g, const Ref *r, int dst, X86Arg mem);
// AVX-512: contiguous lanes of mask k, zero elsewhere.
void x86_load_where(Gen *g, const Ref *r, int dst, unsigned k, X86Arg mem);
void x86_broadcast(Gen *g, Type t, int width, int dst, int src); // lane 0 of src in all lanes
X86Op x86_broadcast_to(const Gen *g, Type t, X86Arg d);          // its instruction
// Elements of type t in memory or a register, contiguous, to lanes d; `m` is d or d masked.
void x86_widen(Gen *g, Type t, X86Arg d, X86Arg m, X86Arg from);
// Lanes v as elements of type t; those of bf16 are rounded already, in the scratch register.
void x86_narrow(Gen *g, Type t, int width, X86Arg to, X86Arg v);
void x86_round_bf16(Gen *g, int width, int reg,
                    int out); // AVX-512: bits in the low halves of lanes
// strided.c: lanes that are not contiguous
bool x86_is_backwards(const Gen *g, const Ref *r);
void x86_load_backwards(Gen *g, const Micro *m);
void x86_store_backwards(Gen *g, const Micro *m);
// `where`: only lanes whose bits are set in k2 (gathers) or edx; others become 0.
void x86_load_strided(Gen *g, const Ref *r, int dst, X86Arg mem, bool where);
bool x86_gathers_strided(const Gen *g, const Ref *r);
void x86_lane_numbers(Gen *g, const Micro *m);
void x86_permute(Gen *g, const Micro *m);
void x86_store_strided(Gen *g, const Ref *r, int reg, X86Arg mem);

// guard.c: lanes where a guard holds
void x86_load_guarded(Gen *g, const Micro *m);
// Those of them that a load or a store touches: AVX-512 as a mask register (uses rax), AVX2 as a
// vector, in the scratch register or the guard's own.
unsigned x86_guard_mask(Gen *g, const Micro *m);
X86Arg x86_guard_vector(Gen *g, const Micro *m);
// AVX-512: the mask register that has the lanes of a bool, operand `arg` of m.
unsigned x86_guard(Gen *g, const Micro *m, int arg);
// edx <- a bit for each of the first `active` lanes of a guard, operand 0.
void x86_guard_lanes(Gen *g, const Micro *m, int active);

// One micro-operation each.
void x86_load(Gen *g, const Micro *m);
void x86_store(Gen *g, const Micro *m);
void x86_prefetch(Gen *g, const Micro *m);
void x86_gather(Gen *g, const Micro *m);
void x86_check(Gen *g, const Micro *m);
void x86_begin_value(Gen *g, const Micro *m);
void x86_detours(Gen *g); // of stores past the caches, behind the function

#endif
