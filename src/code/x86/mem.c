// Loads and stores: whole and masked vectors, broadcasts, narrow types. Guarded loads are in
// guard.c, lanes that are not contiguous in strided.c.
#include "code/x86/mem.h"

#include "code/x86/ops.h"

#include <string.h>

static void set_mask(Gen *g, unsigned k, int active) {
    x86_set(&g->a, X86_RAX, (int64_t)(((uint64_t)1 << active) - 1));
    x86_2(&g->a, X86_kmovd, x86_k(k), x86_r32(X86_RAX));
}

unsigned x86_mask(Gen *g, int active) {
    for (unsigned i = 0; i < (unsigned)g->region.masks; i++)
        if (g->region.mask[i] == active) return 4 + i;
    if (own(g)->k1 != active) set_mask(g, 1, active);
    own(g)->k1 = active;
    return 1;
}

void x86_set_masks(Gen *g) {
    own(g)->k1 = own(g)->k3 = 0;
    for (unsigned i = 0; i < (unsigned)g->region.masks; i++) set_mask(g, 4 + i, g->region.mask[i]);
}

X86Arg x86_mask_bytes(Gen *g, Type t, int active) {
    uint8_t bytes[32] = {0};
    memset(bytes, 0xff, (size_t)(active * gen_lane_size(t)));
    return x86_mem_label(x86_pool(g, bytes, 32));
}

void x86_mask_vector(Gen *g, Type t, int active) {
    x86_2(&g->a, X86_vmovups, x86_ymm((unsigned)g->scratch), x86_mask_bytes(g, t, active));
}

void x86_load_one(Gen *g, Type t, int reg, X86Arg mem) {
    Asm *a = &g->a;
    X86Arg x = x86_xmm((unsigned)reg);
    if (type_info[t].bytes >= 4) {
        x86_2(a, x86_instr(g, USE_MOVE_ONE, t), x, mem);
        return;
    }
    x86_2(a, x86_memory[t].one, x86_r32(X86_RAX), x86_sized(mem, (unsigned)type_info[t].bytes));
    if (t == TYPE_BF16) x86_2(a, X86_shl, x86_r32(X86_RAX), x86_imm(16));
    if (t == TYPE_BOOL) { // 0 or not 0 -> 0 or -1
        x86_1(a, X86_neg, x86_r32(X86_RAX));
        x86_2(a, X86_sbb, x86_r32(X86_RAX), x86_r32(X86_RAX));
    }
    x86_2(a, X86_vmovd, x, x86_r32(X86_RAX));
    if (t == TYPE_F16) x86_2(a, X86_vcvtph2ps, x, x);
}

X86Op x86_broadcast_to(const Gen *g, Type t, X86Arg d) {
    return gen_is64(t) && d.kind == X86_X ? X86_vmovddup : x86_instr(g, USE_BROADCAST, t);
}

void x86_broadcast(Gen *g, Type t, int width, int dst, int src) {
    if (width == 1) {
        if (dst != src) x86_2(&g->a, X86_vmovaps, x86_xmm((unsigned)dst), x86_xmm((unsigned)src));
        return;
    }
    X86Arg d = x86_vreg(t, width, dst);
    x86_2(&g->a, x86_broadcast_to(g, t, d), d, x86_xmm((unsigned)src));
}

static X86Arg tail_of(Gen *g, const Ref *r, X86Arg first, bool zero) {
    if (r->active == r->width) return first;
    return x86_masked(first, x86_mask(g, r->active), zero);
}

void x86_load_broadcast(Gen *g, const Ref *r, int dst, X86Arg mem) {
    Type t = r->type;
    X86Arg d = x86_vreg(t, r->width, dst);
    if (type_info[t].bytes < 4) {
        x86_load_one(g, t, dst, mem);
        x86_broadcast(g, t, r->width, dst, dst);
    } else {
        x86_2(&g->a, x86_broadcast_to(g, t, d), d, mem);
    }
}

// A tail of 4, 8, 16 or 32 bytes is a move of its own: it needs no mask, and what was stored so can
// be loaded again without waiting for the cache.
static bool is_piece(const Ref *r) {
    int bytes = r->active * gen_lane_size(r->type);
    return r->active < r->width && type_info[r->type].bytes == gen_lane_size(r->type) &&
           r->lane == type_info[r->type].bytes && (bytes & (bytes - 1)) == 0;
}

static X86Op piece_move(const Ref *r, int reg, X86Arg *part) {
    int bytes = r->active * gen_lane_size(r->type);
    *part = bytes == 32 ? x86_ymm((unsigned)reg) : x86_xmm((unsigned)reg);
    return bytes == 4 ? X86_vmovss : bytes == 8 ? X86_vmovsd : X86_vmovups;
}

// AVX-512
void x86_widen(Gen *g, Type t, X86Arg d, X86Arg m, X86Arg from) {
    Asm *a = &g->a;
    x86_2(a, x86_memory[t].load, m, from);
    if (t == TYPE_BF16) x86_3(a, X86_vpslld, d, d, x86_imm(16));
    if (t == TYPE_BOOL) {
        x86_3(a, X86_vptestmd, x86_k(2), d, d);
        x86_2(a, X86_vpmovm2d, d, x86_k(2));
    }
}

// AVX-512
void x86_narrow(Gen *g, Type t, int width, X86Arg to, X86Arg v) {
    Asm *a = &g->a;
    X86Arg s = x86_vreg(t, width, g->scratch);
    if (t == TYPE_BOOL) x86_3(a, X86_vpsrld, s, v, x86_imm(31));
    if (t == TYPE_BOOL || t == TYPE_BF16) v = s;
    if (t == TYPE_F16)
        x86_3(a, x86_memory[t].store, to, v, x86_imm(0));
    else
        x86_2(a, x86_memory[t].store, to, v);
}

void x86_load_where(Gen *g, const Ref *r, int dst, unsigned k, X86Arg mem) {
    X86Arg d = x86_vreg(r->type, r->width, dst);
    x86_widen(g, r->type, d, x86_masked(d, k, true), mem);
}

// A vector, or its active lanes, where a mask is a vector too.
static void move_narrow(Gen *g, const Ref *r, X86Arg v, X86Arg mem, bool store) {
    X86Arg to = store ? mem : v, from = store ? v : mem;
    if (r->active == r->width) {
        x86_2(&g->a, X86_vmovups, to, from);
        return;
    }
    x86_mask_vector(g, r->type, r->active);
    X86Arg mask = x86_vec(v.kind == X86_Y ? 32 : 16, (unsigned)g->scratch);
    x86_3(&g->a, x86_instr(g, USE_MOVE_MASKED, r->type), to, mask, from);
}

static void load_vector(Gen *g, const Ref *r, int dst, X86Arg mem) {
    X86Arg d = x86_vreg(r->type, r->width, dst), part;
    if (is_piece(r)) {
        X86Op move = piece_move(r, dst, &part);
        x86_2(&g->a, move, part, mem);
        return;
    }
    if (!x86_has_avx512(g)) {
        move_narrow(g, r, d, mem, false);
        return;
    }
    x86_widen(g, r->type, d, tail_of(g, r, d, true), mem);
}

void x86_load(Gen *g, const Micro *m) {
    const Ref *r = m->ref;
    if (m->nargs) {
        x86_load_guarded(g, m);
        return;
    }
    if (r->width > 1 && x86_is_backwards(g, r)) {
        x86_load_backwards(g, m);
        return;
    }
    if (r->active != r->width && x86_has_avx512(g) && !is_piece(r))
        x86_mask(g, r->active); // before rax is in use
    X86Arg mem = x86_address(g, r, X86_RAX);
    if (r->width == 1)
        x86_load_one(g, r->type, m->dst_reg, mem);
    else if (r->lane == 0)
        x86_load_broadcast(g, r, m->dst_reg, mem);
    else if (r->lane == type_info[r->type].bytes)
        load_vector(g, r, m->dst_reg, mem);
    else
        x86_load_strided(g, r, m->dst_reg, mem, false);
}

void x86_begin_value(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    AsmLabel skip = asm_label(a);
    if (m->ref->active < m->ref->width && x86_has_avx512(g)) x86_mask(g, m->ref->active);
    x86_set_const(g, m->type, m->width, m->dst_reg, m->value);
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_slot(g->stack.env_slot));
    x86_2(a, X86_test, x86_sized(x86_mem(X86_RAX, 0), 4), x86_imm(m->op));
    x86_1(a, X86_jz, x86_to(&skip));
    x86_load(g, m);
    asm_bind(a, &skip);
}

// edx <- bf16 of the f32 in lane 0, to nearest even; NaN stays NaN. Uses rcx.
static void bf16_to_edx(Gen *g, X86Arg x) {
    Asm *a = &g->a;
    X86Arg edx = x86_r32(X86_RDX), ecx = x86_r32(X86_RCX);
    AsmLabel number = asm_label(a), done = asm_label(a);
    x86_2(a, X86_vmovd, edx, x);
    x86_2(a, X86_mov, ecx, edx);
    x86_2(a, X86_and, ecx, x86_imm(0x7fffffff));
    x86_2(a, X86_cmp, ecx, x86_imm(0x7f800000));
    x86_1(a, X86_jbe, x86_to(&number));
    x86_2(a, X86_shr, edx, x86_imm(16));
    x86_2(a, X86_or, edx, x86_imm(0x40));
    x86_1(a, X86_jmp, x86_to(&done));
    asm_bind(a, &number);
    x86_2(a, X86_mov, ecx, edx);
    x86_2(a, X86_shr, ecx, x86_imm(16));
    x86_2(a, X86_and, ecx, x86_imm(1));
    x86_2(a, X86_add, edx, ecx);
    x86_2(a, X86_add, edx, x86_imm(0x7fff));
    x86_2(a, X86_shr, edx, x86_imm(16));
    asm_bind(a, &done);
}

// The bits go through the stack, because computing the address takes all scratch registers.
static void store_small(Gen *g, Type t, X86Arg x, const Ref *r) {
    Asm *a = &g->a;
    if (t == TYPE_F16) {
        x86_3(a, X86_vcvtps2ph, x86_xmm((unsigned)g->scratch), x, x86_imm(0));
        x = x86_xmm((unsigned)g->scratch);
    }
    if (t == TYPE_BF16)
        bf16_to_edx(g, x);
    else
        x86_2(a, X86_vmovd, x86_r32(X86_RDX), x);
    if (t == TYPE_BOOL) x86_2(a, X86_and, x86_r32(X86_RDX), x86_imm(1));
    X86Arg saved = x86_mem(X86_RSP, own(g)->call_area);
    x86_2(a, X86_mov, saved, x86_r32(X86_RDX));
    X86Arg mem = x86_without_index(g, x86_address(g, r, X86_RAX));
    x86_2(a, X86_mov, x86_r32(X86_RDX), saved);
    x86_2(a, X86_mov, mem, type_info[t].bytes == 1 ? x86_r8(X86_RDX) : x86_r16(X86_RDX));
}

static void store_one(Gen *g, Type t, int reg, const Ref *r) {
    X86Arg x = x86_xmm((unsigned)reg);
    if (type_info[t].bytes >= 4)
        x86_2(&g->a, x86_instr(g, USE_MOVE_ONE, t), x86_address(g, r, X86_RAX), x);
    else
        store_small(g, t, x, r);
}

// bf16 <- f32 in lanes, to nearest even; the result sits in the low 16 bits of each lane of
// scratch.
void x86_round_bf16(Gen *g, int width, int reg, int out) {
    Asm *a = &g->a;
    X86Arg v = x86_vreg(TYPE_F32, width, reg), o = x86_vreg(TYPE_F32, width, out);
    uint32_t one = 1, bias = 0x7fff, quiet = 0x40;
    X86Arg k_one = x86_bcast(x86_mem_label(x86_pool(g, &one, 4)));
    X86Arg k_bias = x86_bcast(x86_mem_label(x86_pool(g, &bias, 4)));
    X86Arg k_quiet = x86_bcast(x86_mem_label(x86_pool(g, &quiet, 4)));
    x86_3(a, X86_vpsrld, o, v, x86_imm(16));
    x86_3(a, X86_vpandd, o, o, k_one);
    x86_3(a, X86_vpaddd, o, o, v);
    x86_3(a, X86_vpaddd, o, o, k_bias);
    x86_3(a, X86_vpsrld, o, o, x86_imm(16));
    x86_4(a, X86_vcmpps, x86_k(2), v, v, x86_imm(3)); // NaN: keep, made quiet
    x86_3(a, X86_vpsrld, x86_masked(o, 2, false), v, x86_imm(16));
    x86_3(a, X86_vpord, x86_masked(o, 2, false), o, k_quiet);
}

// Memory, in those lanes that exist and that a guard allows.
static X86Arg stored_lanes(Gen *g, const Micro *m) {
    const Ref *r = m->ref;
    if (r->guard >= 0) {
        unsigned k = x86_guard_mask(g, m); // before rax is in use
        return x86_masked(x86_address(g, r, X86_RAX), k, false);
    }
    if (r->active != r->width) x86_mask(g, r->active);
    return tail_of(g, r, x86_address(g, r, X86_RAX), false);
}

// A tail of AVX2 in pieces of 16, 8 and 4 bytes: a masked store takes 12 cycles on Zen 4, each of
// these one.
static void store_in_pieces(Gen *g, const Ref *r, unsigned reg) {
    Asm *a = &g->a;
    X86Arg mem = x86_address(g, r, X86_RAX), x = x86_xmm(reg), s = x86_xmm((unsigned)g->scratch);
    int left = r->active * gen_lane_size(r->type);
    if (left > 16) {
        x86_2(a, X86_vmovups, mem, x);
        x86_3(a, X86_vextractf128, s, x86_ymm(reg), x86_imm(1));
        mem.value += 16, left -= 16, x = s;
    }
    x86_2(a, left == 4 ? X86_vmovss : X86_vmovlps, mem, x);
    mem.value += 8;
    if (left > 8) x86_3(a, X86_vextractps, mem, x, x86_imm(2));
}

static void store_narrow(Gen *g, const Micro *m, X86Arg v) {
    const Ref *r = m->ref;
    if (r->guard < 0 && r->active < r->width) {
        store_in_pieces(g, r, v.reg);
        return;
    }
    if (r->guard < 0) {
        move_narrow(g, r, v, x86_address(g, r, X86_RAX), true);
        return;
    }
    X86Arg mask = x86_guard_vector(g, m);
    x86_3(&g->a, x86_instr(g, USE_MOVE_MASKED, r->type), x86_address(g, r, X86_RAX), mask, v);
}

static void store_vector(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    Type t = r->type;
    X86Arg part;
    if (is_piece(r) && r->guard < 0) {
        X86Op move = piece_move(r, m->arg_reg[0], &part);
        x86_2(a, move, x86_address(g, r, X86_RAX), part);
        return;
    }
    X86Arg v = x86_vreg(t, r->width, m->arg_reg[0]);
    if (!x86_has_avx512(g)) {
        store_narrow(g, m, v);
        return;
    }
    if (t == TYPE_BF16) x86_round_bf16(g, r->width, m->arg_reg[0], g->scratch); // uses k2
    x86_narrow(g, t, r->width, stored_lanes(g, m), v);
}

// Past the caches. Such stores must be aligned, which only the address tells: whole vectors where
// it is a multiple of their size, pieces of 16 bytes where it is one of 16, ordinary stores
// elsewhere. The rare ways lie behind the function. rax holds the address.
static void store_stream(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    X86Arg v = x86_vreg(r->type, r->width, m->arg_reg[0]), mem = x86_address(g, r, X86_RAX);
    int bytes = r->width * gen_lane_size(r->type);
    Detour *d = arena_new(g->arena, Detour);
    *d = (Detour){asm_label(a), asm_label(a), v};
    vec_push(g->arena, &own(g)->detours, d);
    x86_2(a, X86_lea, x86_r64(X86_RAX), mem);
    x86_2(a, X86_test, x86_r8(X86_RAX), x86_imm(bytes - 1));
    x86_1(a, X86_jnz, x86_to(&d->from));
    x86_2(a, X86_vmovntps, x86_mem(X86_RAX, 0), v);
    asm_bind(a, &d->back);
    own(g)->streams_out = true;
    g->result.tricks[TRICK_NONTEMPORAL]++;
}

static void store_pieces(Gen *g, X86Arg v) {
    int pieces = v.kind == X86_Z ? 4 : 2;
    X86Arg x = x86_xmm(v.reg), s = x86_xmm((unsigned)g->scratch);
    for (int i = 0; i < pieces; i++) {
        if (i) x86_3(&g->a, x86_instr(g, USE_UPPER_16, TYPE_F32), s, v, x86_imm(i));
        x86_2(&g->a, X86_vmovntps, x86_mem(X86_RAX, 16 * i), i ? s : x);
    }
}

void x86_detours(Gen *g) {
    for (int i = 0; i < own(g)->detours.n; i++) {
        Detour *d = own(g)->detours.at[i];
        AsmLabel plain = asm_label(&g->a);
        asm_bind(&g->a, &d->from);
        if (d->reg.kind != X86_Z || d->reg.reg != (unsigned)g->scratch) { // pieces pass through it
            x86_2(&g->a, X86_test, x86_r8(X86_RAX), x86_imm(15));
            x86_1(&g->a, X86_jnz, x86_to(&plain));
            store_pieces(g, d->reg);
            x86_1(&g->a, X86_jmp, x86_to(&d->back));
        }
        asm_bind(&g->a, &plain);
        x86_2(&g->a, X86_vmovups, x86_mem(X86_RAX, 0), d->reg);
        x86_1(&g->a, X86_jmp, x86_to(&d->back));
    }
    own(g)->detours.n = 0;
}

static bool can_stream(const Ref *r) {
    return r->nontemporal && r->guard < 0 && r->active == r->width &&
           type_info[r->type].bytes >= 4 && r->width * gen_lane_size(r->type) >= 32;
}

void x86_store(Gen *g, const Micro *m) {
    const Ref *r = m->ref;
    bool whole = r->active == r->width || x86_has_avx512(g);
    if (r->width == 1 || r->lane == 0)
        store_one(g, r->type, m->arg_reg[0], r);
    else if (r->lane == type_info[r->type].bytes && can_stream(r))
        store_stream(g, m);
    else if (r->lane == type_info[r->type].bytes)
        store_vector(g, m);
    else if (x86_is_backwards(g, r) && whole && type_info[r->type].bytes >= 4)
        x86_store_backwards(g, m);
    else
        x86_store_strided(g, r, m->arg_reg[0], x86_address(g, r, X86_RAX));
}

void x86_prefetch(Gen *g, const Micro *m) {
    static const X86Op op[] = {X86_prefetchw, X86_prefetcht0, X86_prefetcht1, X86_prefetcht2};
    X86Arg mem = x86_address(g, m->ref, X86_RAX);
    x86_1(&g->a, m->op > 3 ? X86_prefetchnta : op[m->op], x86_sized(mem, 1));
}
