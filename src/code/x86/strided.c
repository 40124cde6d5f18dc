// Loads and stores of lanes that are not contiguous: backwards, by gather and scatter
// instructions where the ISA has them for the type, and lane by lane otherwise. Lanes beyond the
// tail are never touched.
#include "code/x86/mem.h"

#include "base/checked.h"
#include "code/x86/ops.h"

#include <string.h>

// [reg + disp] such that all lanes are within reach; may use rax.
static X86Arg reachable(Gen *g, const Ref *r, X86Arg mem) {
    int64_t far = mem.value + r->lane * (r->width - 1);
    if (mem.index == X86_NOREG && far == (int32_t)far) return mem;
    x86_2(&g->a, X86_lea, x86_r64(X86_RAX), mem);
    return x86_mem(X86_RAX, 0);
}

static X86Arg lane_at(const Ref *r, X86Arg mem, int i) {
    return x86_mem(mem.reg, mem.value + i * r->lane);
}

// k2 <- the lanes that exist. (A gather or scatter uses up its mask; k0 is not written, so that the
// next one need not wait for it.)
static void mask_of(Gen *g, const Ref *r) {
    if (r->active == r->width) {
        x86_3(&g->a, X86_kxnorw, x86_k(2), x86_k(0), x86_k(0));
    } else {
        x86_set(&g->a, X86_RDX, (int64_t)(((uint64_t)1 << r->active) - 1));
        x86_2(&g->a, X86_kmovd, x86_k(2), x86_r32(X86_RDX));
    }
}

// The scratch register <- offsets of the lanes.
static X86Arg offsets(Gen *g, const Ref *r, X86Arg mem) {
    int32_t at[LIMIT_LANES] = {0};
    for (int i = 0; i < r->width && i < LIMIT_LANES; i++) at[i] = (int32_t)(i * r->lane);
    int bytes = r->width * 4 < 16 ? 16 : r->width * 4;
    X86Arg index = x86_vec((unsigned)bytes, (unsigned)g->scratch);
    x86_2(&g->a, X86_vmovdqu32, index, x86_mem_label(x86_pool(g, at, bytes)));
    return x86_mem_vector(mem.reg, index, 0, mem.value);
}

// ---- Backwards: whole vectors, their lanes reversed

bool x86_is_backwards(const Gen *g, const Ref *r) {
    int size = type_info[r->type].bytes;
    return r->lane == -size && r->width * gen_lane_size(r->type) >= 32 &&
           (x86_has_avx512(g) || size >= 4);
}

static void reverse(Gen *g, const Ref *r, int dst, int src) {
    int size = gen_lane_size(r->type);
    g->result.tricks[TRICK_BACKWARDS]++;
    uint8_t index[64] = {0};
    for (int i = 0; i < r->active; i++) {
        uint8_t from = (uint8_t)(r->active - 1 - i);
        if (size == 8 && !x86_has_avx512(g)) { // in halves: AVX2 moves 4-byte lanes only
            index[8 * i] = (uint8_t)(2 * from);
            index[8 * i + 4] = (uint8_t)(2 * from + 1);
        } else {
            index[size * i] = from;
        }
    }
    X86Arg s = x86_vreg(r->type, r->width, g->scratch);
    x86_2(&g->a, X86_vmovups, s, x86_mem_label(x86_pool(g, index, r->width * size)));
    x86_3(&g->a, x86_instr(g, USE_PERMUTE, r->type), x86_vreg(r->type, r->width, dst), s,
          x86_vreg(r->type, r->width, src));
}

static Ref forwards(const Ref *r) {
    Ref f = *r;
    f.disp += r->lane * (r->active - 1);
    f.lane = -r->lane;
    return f;
}

void x86_load_backwards(Gen *g, const Micro *m) {
    Ref f = forwards(m->ref);
    Micro load = *m;
    load.ref = &f;
    x86_load(g, &load);
    reverse(g, m->ref, m->dst_reg, m->dst_reg);
}

void x86_store_backwards(Gen *g, const Micro *m) {
    Ref f = forwards(m->ref);
    Micro store = *m;
    store.ref = &f;
    reverse(g, m->ref, g->scratch, m->arg_reg[0]);
    store.arg_reg[0] = (int8_t)g->scratch;
    x86_store(g, &store);
}

// ---- Loads

// Skips what follows, up to `skip`, unless the bit of a lane is set in edx.
static void unless(Gen *g, int lane, AsmLabel *skip) {
    x86_2(&g->a, X86_test, x86_r32(X86_RDX), x86_imm(1 << lane));
    x86_1(&g->a, X86_jz, x86_to(skip));
}

// Narrow lanes (1 or 2 bytes), 8 or 16 of them, side by side in a register of 16 bytes each.
static void gather_narrow(Gen *g, const Ref *r, X86Arg mem, int reg, int first, bool where) {
    int size = type_info[r->type].bytes;
    X86Arg x = x86_xmm((unsigned)reg);
    x86_3(&g->a, X86_vpxord, x, x, x);
    for (int i = first; i < r->active && i < first + 16 / size; i++) {
        AsmLabel skip = asm_label(&g->a);
        if (where) unless(g, i, &skip);
        x86_4(&g->a, size == 1 ? X86_vpinsrb : X86_vpinsrw, x, x,
              x86_sized(lane_at(r, mem, i), (unsigned)size), x86_imm(i - first));
        if (where) asm_bind(&g->a, &skip);
    }
}

// Adjacent elements of the scratch register become lanes.
static void widen_narrow(Gen *g, const Ref *r, int dst) {
    X86Arg d = x86_vreg(r->type, r->width, dst);
    X86Arg lo = x86_vec(r->width * type_info[r->type].bytes > 16 ? 32 : 16, (unsigned)g->scratch);
    x86_widen(g, r->type, d, d, lo);
}

static void load_narrow(Gen *g, const Ref *r, int dst, X86Arg mem, bool where) {
    gather_narrow(g, r, mem, g->scratch, 0, where);
    if (type_info[r->type].bytes == 2 && r->width > 8) {
        gather_narrow(g, r, mem, dst, 8, where);
        X86Arg y = x86_ymm((unsigned)g->scratch);
        x86_4(&g->a, X86_vinserti32x4, y, y, x86_xmm((unsigned)dst), x86_imm(1));
    }
    widen_narrow(g, r, dst);
}

static void load_lane(Gen *g, const Ref *r, X86Arg mem, X86Arg x, int i) {
    if (!gen_is64(r->type))
        x86_4(&g->a, X86_vinsertps, x, x, lane_at(r, mem, i), x86_imm(i % 4 << 4));
    else
        x86_3(&g->a, i % 2 ? X86_vmovhpd : X86_vmovlpd, x, x, lane_at(r, mem, i));
}

// 16 bytes, lane by lane.
static void load_half(Gen *g, const Ref *r, X86Arg mem, int reg, int first, bool where) {
    Asm *a = &g->a;
    X86Arg x = x86_xmm((unsigned)reg);
    int per = gen_is64(r->type) ? 2 : 4;
    bool zero = first >= r->active || where;
    if (zero)
        x86_3(a, X86_vxorps, x, x, x);
    else
        x86_2(a, x86_instr(g, USE_MOVE_ONE, r->type), x, lane_at(r, mem, first));
    for (int i = !where; i < per && first + i < r->active && first + i < r->width; i++) {
        AsmLabel skip = asm_label(a);
        if (where) unless(g, first + i, &skip);
        load_lane(g, r, mem, x, first + i);
        if (where) asm_bind(a, &skip);
    }
}

static void load_lanes(Gen *g, const Ref *r, int dst, X86Arg mem, bool where) {
    int per = gen_is64(r->type) ? 2 : 4;
    int end = x86_has_avx512(g) ? r->active : r->width; // AVX-512 clears the rest
    load_half(g, r, mem, dst, 0, where);
    for (int first = per; first < end; first += per) {
        load_half(g, r, mem, g->scratch, first, where);
        X86Arg d = first < 2 * per ? x86_ymm((unsigned)dst) : x86_zmm((unsigned)dst);
        x86_4(&g->a, x86_instr(g, USE_INSERT_16, r->type), d, d, x86_xmm((unsigned)g->scratch),
              x86_imm(first / per));
    }
}

// A few elements apart, AVX-512: the lanes lie in as many whole vectors, the last one ending with
// the last of them, or in a part of one.
static bool is_near(const Gen *g, const Ref *r) {
    int size = type_info[r->type].bytes;
    return x86_has_avx512(g) && size >= 4 && r->lane > size && r->lane <= LIMIT_NEAR * size &&
           r->lane % size == 0 && r->active > 2 && r->width * size >= 32;
}

// Lane i of the vector so far, or of the whole vector that begins `start` elements further on.
static void pick_lanes(Gen *g, const Ref *r, X86Arg d, X86Arg mem, int start, int at) {
    Asm *a = &g->a;
    int size = gen_lane_size(r->type), w = r->width, step = (int)(r->lane / size);
    X86Arg index = x86_vreg(r->type, w, g->scratch);
    uint8_t from[64] = {0};
    for (int i = 0; i < r->active; i++) { // lanes beyond the tail do not matter
        int place = step * i, kept = at == 1 ? place : i;
        if (place < (at + 1) * w)
            from[size * i] = (uint8_t)(place < at * w ? kept : w + place - start);
    }
    x86_2(a, X86_vmovups, index, x86_mem_label(x86_pool(g, from, 64)));
    mem.value += start * size;
    x86_3(a, x86_instr(g, USE_PERMUTE_TWO, r->type), d, index, mem);
}

static void load_near(Gen *g, const Ref *r, int dst, X86Arg mem) {
    Asm *a = &g->a;
    int size = gen_lane_size(r->type), w = r->width, step = (int)(r->lane / size);
    int span = step * (r->active - 1) + 1;
    X86Arg d = x86_vreg(r->type, w, dst), index = x86_vreg(r->type, w, g->scratch);
    if (span > w) {
        x86_2(a, X86_vmovups, d, mem);
        for (int at = 1; at * w < span; at++)
            pick_lanes(g, r, d, mem, (int)min_i64(at * w, span - w), at);
        return;
    }
    uint8_t from[64] = {0};
    for (int i = 0; i < r->active; i++) from[size * i] = (uint8_t)(step * i);
    x86_set(a, X86_RDX, (int64_t)(((uint64_t)1 << span) - 1));
    x86_2(a, X86_kmovd, x86_k(2), x86_r32(X86_RDX));
    x86_2(a, x86_instr(g, USE_MOVE_MASKED, r->type), x86_masked(d, 2, true), mem);
    x86_2(a, X86_vmovups, index, x86_mem_label(x86_pool(g, from, 64)));
    x86_3(a, x86_instr(g, USE_PERMUTE, r->type), d, index, d);
}

bool x86_gathers_strided(const Gen *g, const Ref *r) {
    return x86_has_avx512(g) && type_info[r->type].bytes >= 4;
}

static void gather_strided(Gen *g, const Ref *r, int dst, X86Arg at) {
    X86Arg d = x86_vreg(r->type, r->width, dst), x = x86_xmm((unsigned)dst);
    x86_3(&g->a, X86_vpxord, x, x, x);
    x86_2(&g->a, x86_instr(g, USE_GATHER_32, r->type), x86_masked(d, 2, false), at);
}

// Are lanes of 4 or 8 bytes loaded and stored one by one? AVX2 has no other way. A gather or a
// scatter of AVX-512 takes as long for a few lanes as for all, and on Zen 4 longer than all of them
// one by one: 22 and 24 cycles for sixteen.
static bool is_one_by_one(const Gen *g, const Ref *r) {
    bool few = r->active * gen_lane_size(r->type) <= 32;
    bool slow = g->m->family && g->m->family->slow_gather;
    return !x86_has_avx512(g) || (type_info[r->type].bytes >= 4 && (few || slow));
}

void x86_load_strided(Gen *g, const Ref *r, int dst, X86Arg mem, bool where) {
    g->result.tricks[TRICK_STRIDED]++;
    mem = reachable(g, r, mem);
    if (where && x86_gathers_strided(g, r)) {
        gather_strided(g, r, dst, offsets(g, r, mem));
    } else if (is_near(g, r)) {
        load_near(g, r, dst, mem);
    } else if (is_one_by_one(g, r)) {
        load_lanes(g, r, dst, mem, where);
    } else if (type_info[r->type].bytes < 4) {
        load_narrow(g, r, dst, mem, where);
    } else {
        mask_of(g, r);
        gather_strided(g, r, dst, offsets(g, r, mem));
    }
}

// ---- Lanes in another order

// AVX2 counts 4 bytes, in each of two vectors.
void x86_lane_numbers(Gen *g, const Micro *m) {
    const Permutation *p = &g->p->permutations.at[m->value.i];
    int size = gen_lane_size(m->type);
    uint8_t index[64] = {0};
    for (int i = 0; i < m->width; i++) {
        int from = p->from[i];
        if (x86_has_avx512(g)) {
            index[size * i] = (uint8_t)from;
            continue;
        }
        for (int part = 0; part < size / 4; part++)
            index[size * i + 4 * part] = (uint8_t)(from % m->width * (size / 4) + part);
    }
    int bytes = size * m->width < 32 ? 32 : size * m->width;
    x86_2(&g->a, X86_vmovups, x86_vec((unsigned)bytes, (unsigned)m->dst_reg),
          x86_mem_label(x86_pool(g, index, bytes)));
}

// One vector of 16 bytes is the lower half of one of 32.
static X86Arg permute_reg(const Micro *m, int reg) {
    X86Arg r = x86_vreg(m->type, m->width, reg);
    return r.kind == X86_X ? x86_ymm((unsigned)reg) : r;
}

// Lanes of two vectors, AVX-512: the result lies where one of them did, or the numbers of lanes.
static void permute_two(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(m->type, m->width, m->dst_reg);
    X86Arg x = x86_vreg(m->type, m->width, m->arg_reg[0]);
    X86Arg y = x86_vreg(m->type, m->width, m->arg_reg[1]);
    X86Arg from = x86_vreg(m->type, m->width, m->arg_reg[2]);
    if (m->dst_reg == m->arg_reg[0]) {
        x86_3(a, x86_instr(g, USE_PERMUTE_TWO, m->type), d, from, y);
        return;
    }
    if (m->dst_reg != m->arg_reg[2]) x86_2(a, X86_vmovaps, d, from);
    x86_3(a, x86_instr(g, USE_PERMUTE_BY, m->type), d, x, y);
}

void x86_permute(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    X86Op permute = x86_instr(g, USE_PERMUTE, m->type);
    X86Arg d = permute_reg(m, m->dst_reg), s = permute_reg(m, g->scratch);
    X86Arg from = permute_reg(m, m->arg_reg[m->nargs - 1]);
    if (m->nargs == 2) {
        x86_3(a, permute, d, from, permute_reg(m, m->arg_reg[0]));
    } else if (x86_has_avx512(g)) {
        permute_two(g, m);
    } else {
        const Permutation *p = &g->p->permutations.at[m->value.i];
        int second = 0, parts = gen_lane_size(m->type) / 4;
        for (int i = 0; i < m->width * parts; i++) second |= (p->from[i / parts] >= m->width) << i;
        x86_3(a, permute, s, from, permute_reg(m, m->arg_reg[1]));
        x86_3(a, permute, d, from, permute_reg(m, m->arg_reg[0]));
        x86_4(a, X86_vblendps, d, d, s, x86_imm(second));
    }
}

// ---- Stores

// The lanes in memory's type, in the scratch register; AVX-512.
static void narrow(Gen *g, const Ref *r, int reg) {
    int bytes = r->width * type_info[r->type].bytes;
    X86Arg to = x86_vec(bytes <= 16 ? 16 : 32, (unsigned)g->scratch);
    if (r->type == TYPE_BF16) x86_round_bf16(g, r->width, reg, g->scratch);
    x86_narrow(g, r->type, r->width, to, x86_vreg(r->type, r->width, reg));
}

static void store_narrow(Gen *g, const Ref *r, int reg, X86Arg mem) {
    int size = type_info[r->type].bytes, per = 16 / size;
    X86Arg x = x86_xmm((unsigned)g->scratch);
    narrow(g, r, reg);
    for (int i = 0; i < r->active; i++) {
        if (i == per) x86_3(&g->a, X86_vextracti32x4, x, x86_ymm((unsigned)g->scratch), x86_imm(1));
        x86_3(&g->a, size == 1 ? X86_vpextrb : X86_vpextrw,
              x86_sized(lane_at(r, mem, i), (unsigned)size), x, x86_imm(i % per));
    }
}

static void store_lanes(Gen *g, const Ref *r, int reg, X86Arg mem) {
    Asm *a = &g->a;
    bool wide = gen_is64(r->type);
    int per = wide ? 2 : 4;
    X86Arg x = x86_xmm((unsigned)reg), v = x86_vreg(r->type, r->width, reg);
    for (int i = 0; i < r->active; i++) {
        if (i && i % per == 0) {
            x = x86_xmm((unsigned)g->scratch);
            x86_3(a, x86_instr(g, USE_UPPER_16, r->type), x, v, x86_imm(i / per));
        }
        X86Arg to = lane_at(r, mem, i);
        if (wide)
            x86_2(a, i % 2 ? X86_vmovhpd : X86_vmovlpd, to, x);
        else if (i % 4 == 0)
            x86_2(a, X86_vmovss, to, x);
        else
            x86_3(a, X86_vextractps, to, x, x86_imm(i % 4));
    }
}

void x86_store_strided(Gen *g, const Ref *r, int reg, X86Arg mem) {
    g->result.tricks[TRICK_STRIDED]++;
    mem = reachable(g, r, mem);
    if (is_one_by_one(g, r)) {
        store_lanes(g, r, reg, mem);
    } else if (type_info[r->type].bytes < 4) {
        store_narrow(g, r, reg, mem);
    } else {
        mask_of(g, r);
        X86Arg at = x86_masked(offsets(g, r, mem), 2, false);
        x86_2(&g->a, gen_is64(r->type) ? X86_vscatterdpd : X86_vscatterdps, at,
              x86_vreg(r->type, r->width, reg));
    }
}

// ---- Places from data

// The element of 1 or 2 bytes that each lane of dst begins with, as the type's lane.
static void narrow_lanes(Gen *g, const Ref *r, int dst) {
    Asm *a = &g->a;
    X86Arg d = x86_vreg(r->type, r->width, dst), s = x86_vreg(r->type, r->width, g->scratch);
    int bits = type_info[r->type].bytes * 8;
    if (r->type == TYPE_F16) {
        X86Arg half = x86_vec(r->width > 8 ? 32 : 16, (unsigned)g->scratch);
        x86_2(a, X86_vpmovdw, half, d);
        x86_2(a, X86_vcvtph2ps, d, half);
        return;
    }
    x86_3(a, X86_vpslld, s, d, x86_imm(32 - bits));
    if (r->type == TYPE_BF16) {
        x86_2(a, X86_vmovaps, d, s);
    } else if (r->type == TYPE_BOOL) {
        x86_3(a, X86_vptestmd, x86_k(2), s, s);
        x86_2(a, X86_vpmovm2d, d, x86_k(2));
    } else {
        bool sign = type_info[r->type].class == CLASS_INT;
        x86_3(a, sign ? X86_vpsrad : X86_vpsrld, d, s, x86_imm(32 - bits));
    }
}

// Gathers 4 bytes for each element of 1 or 2. The last elements of the buffer are the upper ones of
// the last 4 bytes, so that nothing behind it is read: lanes are shifted down by what they began
// too early.
static void gather_dwords(Gen *g, const Micro *m, X86Arg mem) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    int size = type_info[r->type].bytes;
    bool far = gen_is64(m->from);
    int64_t last = m->value.i;
    X86Arg index = x86_vreg(m->from, r->width, m->arg_reg[0]), x = x86_xmm((unsigned)m->dst_reg);
    X86Arg from = x86_vreg(m->from, r->width, g->scratch);
    X86Arg d = x86_vreg(r->type, r->width, m->dst_reg), s = x86_vreg(r->type, r->width, g->scratch);
    X86Arg limit = x86_bcast(x86_mem_label(x86_pool(g, &last, far ? 8 : 4)));
    mask_of(g, r);
    x86_3(a, X86_vpxord, x, x, x);
    x86_3(a, far ? X86_vpminsq : X86_vpminsd, from, index, limit);
    x86_2(a, far ? X86_vgatherqps : X86_vgatherdps, x86_masked(d, 2, false),
          x86_mem_vector(mem.reg, from, (unsigned)size - 1, mem.value));
    x86_3(a, far ? X86_vpsubq : X86_vpsubd, from, index, from);
    if (far) x86_2(a, X86_vpmovqd, s, from);
    x86_3(a, X86_vpslld, s, s, x86_imm(size == 1 ? 3 : 4));
    x86_3(a, X86_vpsrlvd, d, d, s);
    narrow_lanes(g, r, m->dst_reg);
}

// A lane after the other, its index from the stack; rax may be in mem.
static void gather_elements(Gen *g, const Micro *m, X86Arg mem) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    int size = type_info[r->type].bytes, per = 16 / size, step = gen_lane_size(m->from);
    X86Arg index = x86_vreg(m->from, r->width, m->arg_reg[0]);
    X86Arg lo = x86_xmm((unsigned)g->scratch), hi = x86_xmm((unsigned)m->dst_reg);
    x86_2(a, X86_vmovups, x86_mem(X86_RSP, own(g)->call_area), index);
    x86_3(a, X86_vpxord, lo, lo, lo);
    x86_3(a, X86_vpxord, hi, hi, hi);
    for (int i = 0; i < r->active; i++) {
        X86Arg at = x86_sized(x86_mem(X86_RSP, own(g)->call_area + step * i), (unsigned)step);
        x86_2(a, step == 8 ? X86_mov : X86_movsxd, x86_r64(X86_RCX), at);
        at = x86_sized(x86_mem_index(mem.reg, X86_RCX, (unsigned)size - 1, mem.value),
                       (unsigned)size);
        X86Arg to = i < per ? lo : hi;
        x86_4(a, size == 1 ? X86_vpinsrb : X86_vpinsrw, to, to, at, x86_imm(i % per));
    }
    X86Arg y = x86_ymm((unsigned)g->scratch);
    if (r->active > per) x86_4(a, X86_vinserti32x4, y, y, hi, x86_imm(1));
    widen_narrow(g, r, m->dst_reg);
}

void x86_gather(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    const Ref *r = m->ref;
    X86Op op = x86_instr(g, gen_is64(m->from) ? USE_GATHER_64 : USE_GATHER_32, r->type);
    X86Arg mem = x86_without_index(g, x86_address(g, r, X86_RAX));
    X86Arg d = x86_vreg(r->type, r->width, m->dst_reg);
    if (type_info[r->type].bytes < 4) {
        (m->value.i >= 0 ? gather_dwords : gather_elements)(g, m, mem);
        return;
    }
    X86Arg at = x86_mem_vector(mem.reg, x86_vreg(m->from, r->width, m->arg_reg[0]),
                               gen_is64(r->type) ? 3 : 2, mem.value);
    if (!x86_has_avx512(g)) {
        x86_mask_vector(g, r->type, r->active);
        x86_zero(g, m->dst_reg);
        x86_3(a, op, d, at, x86_vec(d.kind == X86_Y ? 32 : 16, (unsigned)g->scratch));
        return;
    }
    mask_of(g, r);
    x86_zero(g, m->dst_reg);
    x86_2(a, op, x86_masked(d, 2, false), at);
}

// Unsigned: negative indices are large. AVX2 compares signed numbers only, so it looks at signs
// too.
void x86_check(Gen *g, const Micro *m) {
    Asm *a = &g->a;
    bool far = gen_is64(m->type);
    X86Arg x = x86_vreg(m->type, m->width, m->arg_reg[0]);
    int64_t size = m->value.i, last = size - 1;
    if (x86_has_avx512(g)) {
        X86Arg k = x86_k(2);
        if (m->op < m->width) k = x86_masked(k, x86_mask(g, m->op), false);
        X86Arg limit = x86_bcast(x86_mem_label(x86_pool(g, &size, far ? 8 : 4)));
        X86Op below = x86_compare_of(far ? TYPE_U64 : TYPE_U32)->by_predicate;
        x86_4(a, below, k, x, limit, x86_imm(5));
        x86_2(a, X86_kortestw, x86_k(2), x86_k(2));
    } else {
        uint8_t bytes[32];
        for (int i = 0; i < 32; i += far ? 8 : 4) memcpy(bytes + i, &last, far ? 8 : 4);
        X86Arg s = x86_vreg(m->type, m->width, g->scratch);
        X86Arg limit = x86_mem_label(x86_pool(g, bytes, 32));
        x86_3(a, x86_compare_of(m->type)->greater, s, x, limit);
        x86_3(a, X86_vorps, s, s, x);
        x86_2(a, x86_instr(g, USE_SIGNS, m->type), x86_r32(X86_RAX), s);
        x86_2(a, X86_test, x86_r32(X86_RAX), x86_imm((1 << m->op) - 1));
    }
    x86_1(a, X86_jnz, x86_to(&own(g)->bad));
    own(g)->bad_used = true;
}
