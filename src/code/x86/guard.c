// Loads and stores under a guard, which touch only lanes where it holds; the others are loaded as
// 0.
//
// A guard is a bool in lanes. AVX-512 takes it as a mask register: the last one stays in k3, so
// that neighbours under the same guard share it. AVX2 takes the lanes themselves. Lanes that no
// masked instruction reaches are tested one by one, in bits of edx; what all lanes share is read
// where the guard holds in any.
#include "code/x86/mem.h"
#include "code/x86/ops.h"

unsigned x86_guard(Gen *g, const Micro *m, int arg) {
    X86Arg guard = x86_vreg(TYPE_BOOL, m->width, m->arg_reg[arg]);
    if (own(g)->k3 != x86_lanes_of(m->arg[arg], m->width))
        x86_3(&g->a, X86_vptestmd, x86_k(3), guard, guard);
    own(g)->k3 = x86_lanes_of(m->arg[arg], m->width);
    return 3;
}

// Which operand it is.
static int guard_arg(const Micro *m) { return m->kind == MI_STORE; }

static bool in_tail(const Ref *r) { return r->active < r->width; }

unsigned x86_guard_mask(Gen *g, const Micro *m) {
    X86Arg guard = x86_vreg(TYPE_BOOL, m->width, m->arg_reg[guard_arg(m)]);
    if (!in_tail(m->ref)) return x86_guard(g, m, guard_arg(m));
    x86_3(&g->a, X86_vptestmd, x86_masked(x86_k(2), x86_mask(g, m->ref->active), false), guard,
          guard);
    return 2;
}

X86Arg x86_guard_vector(Gen *g, const Micro *m) {
    const Ref *r = m->ref;
    X86Arg mask = x86_vreg(TYPE_BOOL, r->width, m->arg_reg[guard_arg(m)]);
    X86Arg scratch = x86_vreg(r->type, r->width, g->scratch);
    if (gen_is64(r->type)) {
        x86_2(&g->a, X86_vpmovsxdq, scratch, mask);
        mask = scratch;
    }
    if (!in_tail(r)) return mask;
    x86_3(&g->a, X86_vandps, scratch, mask, x86_mask_bytes(g, r->type, r->active));
    return scratch;
}

// edx <- a bit for each lane; k: the mask, with AVX-512.
static void bits_of(Gen *g, const Micro *m, unsigned k) {
    Asm *a = &g->a;
    if (x86_has_avx512(g))
        x86_2(a, X86_kmovw, x86_r32(X86_RDX), x86_k(k));
    else
        x86_2(a, x86_instr(g, USE_SIGNS, m->ref->type), x86_r32(X86_RDX), x86_guard_vector(g, m));
}

// The same; uses rax.
static void guard_bits(Gen *g, const Micro *m) {
    bits_of(g, m, x86_has_avx512(g) ? x86_guard_mask(g, m) : 0);
}

void x86_guard_lanes(Gen *g, const Micro *m, int active) {
    Asm *a = &g->a;
    X86Arg guard = x86_vreg(TYPE_BOOL, m->width, m->arg_reg[0]);
    if (m->width == 1) {
        x86_2(a, X86_vmovd, x86_r32(X86_RDX), guard);
        return;
    }
    if (x86_has_avx512(g))
        x86_2(a, X86_kmovw, x86_r32(X86_RDX), x86_k(x86_guard(g, m, 0)));
    else
        x86_2(a, X86_vmovmskps, x86_r32(X86_RDX), guard);
    if (active < m->width) x86_2(a, X86_and, x86_r32(X86_RDX), x86_imm((1 << active) - 1));
}

// One element, for one lane or all.
static void load_element(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    AsmLabel skip = asm_label(a);
    if (r->width == 1)
        x86_2(a, X86_vmovd, x86_r32(X86_RDX), x86_vreg(TYPE_BOOL, 1, m->arg_reg[0]));
    else
        guard_bits(g, m);
    x86_zero(g, m->dst_reg);
    x86_2(a, X86_test, x86_r32(X86_RDX), x86_r32(X86_RDX));
    x86_1(a, X86_jz, x86_to(&skip));
    if (r->width == 1)
        x86_load_one(g, r->type, m->dst_reg, x86_address(g, r, X86_RAX));
    else
        x86_load_broadcast(g, r, m->dst_reg, x86_address(g, r, X86_RAX));
    asm_bind(a, &skip);
}

// A place that is computed is computed, and its index checked, where the guard holds in some lane
// and nowhere else. A place that may be far from the buffer is not touched elsewhere either.
static void load_contiguous(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    AsmLabel none = asm_label(a), done = asm_label(a);
    bool skips = ref_is_hard(r) || r->mem->far, masks = x86_has_avx512(g);
    g->result.tricks[TRICK_SKIP] += r->mem->far;
    if (skips) {
        guard_bits(g, m);
        x86_2(a, X86_test, x86_r32(X86_RDX), x86_r32(X86_RDX));
        x86_1(a, X86_jz, x86_to(&none));
    }
    unsigned k = masks ? x86_guard_mask(g, m) : 0;
    X86Arg at = x86_address(g, r, X86_RAX);
    if (masks)
        x86_load_where(g, r, m->dst_reg, k, at);
    else
        x86_3(a, x86_instr(g, USE_MOVE_MASKED, r->type), x86_vreg(r->type, r->width, m->dst_reg),
              x86_guard_vector(g, m), at);
    if (!skips) return;
    x86_1(a, X86_jmp, x86_to(&done));
    asm_bind(a, &none);
    x86_zero(g, m->dst_reg);
    asm_bind(a, &done);
}

// A mask may need rax for its tail, the address takes rax, and may take edx: in this order.
static void load_strided(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    unsigned k = x86_has_avx512(g) ? x86_guard_mask(g, m) : 0;
    X86Arg at = x86_address(g, r, X86_RAX);
    if (x86_gathers_strided(g, r)) {
        if (k == 3) x86_2(a, X86_kmovw, x86_k(2), x86_k(3)); // a gather uses up its mask
    } else {
        at = x86_without_index(g, at);
        bits_of(g, m, k);
    }
    x86_load_strided(g, r, m->dst_reg, at, true);
}

void x86_load_guarded(Gen *g, const Micro *m) {
    const Ref *r = m->ref;
    if (r->width == 1 || r->lane == 0)
        load_element(g, m);
    else if (r->lane == type_info[r->type].bytes)
        load_contiguous(g, m);
    else
        load_strided(g, m);
}
