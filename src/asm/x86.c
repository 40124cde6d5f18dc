/* The x86-64 encoder: from an instruction and its operands to bytes.
 *
 *     ask      sums up the operands: kinds in one word, decorations in another, the memory operand
 *     x86_find scans the forms of the instruction for the first that takes them
 *     encode   writes prefix, opcode, ModRM, SIB, displacement, immediate of that form
 *     x86_emit does all that, makes room, and connects the label, if there is one
 *
 * What the three encodings put before the opcode (R, X, B extend ModRM.reg, the index, and ModRM.rm
 * or the base; they and vvvv are stored inverted in VEX and EVEX):
 *
 *     legacy  [66|f3|f2] [lock] [0100WRXB] [0f [38|3a]]
 *     VEX     c5 RvvvvLpp                     when X = B = W = 0 and the map is 0f
 *             c4 RXBmmmmm WvvvvLpp
 *     EVEX    62 RXBR'0mmm Wvvvv1pp zL'LbV'aaa
 */

#include "asm/x86_form.h"

#include <string.h>

enum {
    VECTORS = X86_X | X86_Y | X86_Z,
    GENERAL = X86_G8 | X86_G16 | X86_G32 | X86_G64,
    VECTOR_MEMORY = X86_MX | X86_MY | X86_MZ,
    MEMORY = X86_M | VECTOR_MEMORY,
};

// ---- Finding the form -------------------------------------------------------------------------

typedef struct Ask {
    uint64_t kinds;    // of the operands, 16 bits each
    uint32_t uses;     // X86_USES_*
    const X86Arg *mem; // the memory operand, or NULL
} Ask;

// A vector register: high ones need EVEX.
static uint32_t vector_uses(unsigned n) {
    return n < 16 ? 0 : n < 32 ? X86_USES_HIGH : X86_USES_NONSENSE;
}

static uint32_t memory_uses(const X86Arg *m) {
    bool to_label = m->reg == X86_AT, fixed = to_label || m->reg == X86_RIP;
    if (m->reg >= 16 && m->reg != X86_NOREG && !fixed) return X86_USES_NONSENSE;
    if (m->scale > 3 || (!to_label && m->value != (int32_t)m->value)) return X86_USES_NONSENSE;
    uint32_t uses = m->bcast ? X86_USES_BCAST : 0;
    if (m->kind & VECTOR_MEMORY) return fixed ? X86_USES_NONSENSE : uses | vector_uses(m->index);
    if (m->index == X86_NOREG) return uses;
    if (fixed || m->index >= 16 || m->index == X86_RSP) return X86_USES_NONSENSE;
    return uses;
}

static uint32_t operand_uses(const X86Arg *x) {
    if (x->kind & MEMORY) return memory_uses(x);
    if (x->bcast) return X86_USES_NONSENSE;
    if (x->kind & VECTORS) return vector_uses(x->reg);
    if (x->kind & GENERAL) return x->reg < 16 ? 0 : X86_USES_NONSENSE;
    if (x->kind & (X86_K | X86_T)) return x->reg < 8 ? 0 : X86_USES_NONSENSE;
    return 0;
}

// Opmask and rounding, which the first operand carries for the whole instruction.
static uint32_t decoration_uses(const X86Arg *x) {
    uint32_t uses = x->mask == 0 ? 0 : x->mask < 8 ? X86_USES_MASK : X86_USES_NONSENSE;
    if (x->zero)
        uses |= x->mask && (x->kind & VECTORS) ? X86_USES_ZERO : (uint32_t)X86_USES_NONSENSE;
    if (x->round != X86_CURRENT)
        uses |= x->round < X86_SAE    ? X86_USES_ROUND
                : x->round == X86_SAE ? X86_USES_SAE
                                      : X86_USES_NONSENSE;
    return uses;
}

static Ask ask(const X86Arg *args, unsigned n) {
    static const uint64_t missing[] = {
        (uint64_t)X86_NONE << 48 | (uint64_t)X86_NONE << 32 | (uint64_t)X86_NONE << 16 | X86_NONE,
        (uint64_t)X86_NONE << 48 | (uint64_t)X86_NONE << 32 | (uint64_t)X86_NONE << 16,
        (uint64_t)X86_NONE << 48 | (uint64_t)X86_NONE << 32,
        (uint64_t)X86_NONE << 48,
        0,
    };
    Ask q = {.kinds = missing[n]};
    for (unsigned i = 0; i < n; i++) {
        const X86Arg *x = &args[i];
        q.kinds |= (uint64_t)x->kind << 16 * i;
        q.uses |= operand_uses(x);
        if (x->kind & MEMORY) q.mem = x;
        if (x->mask | x->zero | x->round)
            q.uses |= i == 0 ? decoration_uses(x) : (uint32_t)X86_USES_NONSENSE;
    }
    if (q.mem && (q.uses & (X86_USES_ROUND | X86_USES_SAE))) q.uses |= X86_USES_NONSENSE;
    return q;
}

static bool immediate_fits(const Asm *a, const X86Form *f, const X86Arg *x) {
    int64_t v = x->value;
    switch ((X86Imm)f->imm) {
    case X86_IMM_I8: return v == (int8_t)v;
    case X86_IMM_B8: return v >= INT8_MIN && v <= UINT8_MAX;
    case X86_IMM_U8: return v >= 0 && v <= UINT8_MAX;
    case X86_IMM_I16: return v == (int16_t)v;
    case X86_IMM_I32: return v == (int32_t)v;
    case X86_IMM_D32: return v >= INT32_MIN && v <= UINT32_MAX;
    case X86_IMM_ONE: return v == 1;
    case X86_IMM_IS4: return x->reg < 16;
    case X86_IMM_REL8: {
        int64_t distance = x->label->pos - (int64_t)asm_size(a) - 2;
        return x->label->pos >= 0 && distance == (int8_t)distance;
    }
    default: return true;
    }
}

// Gathers fault when registers coincide.
static bool distinct(const X86Form *f, const X86Arg *args) {
    unsigned data = args[0].reg, index = args[1].index;
    if (f->space == X86_EVEX) return data != index;
    return data != index && data != args[2].reg && index != args[2].reg;
}

// The conditions that depend on values; kinds are known to match.
static bool fits(const Asm *a, const X86Form *f, const X86Arg *args, const X86Arg *mem) {
    if (f->i != X86_SLOT_NONE && !immediate_fits(a, f, &args[f->i])) return false;
    if (mem && (mem->size ? mem->size != f->size : (f->flags & X86_F_SIZED) != 0)) return false;
    if (!(f->flags & (X86_F_AX | X86_F_CL | X86_F_SWAP | X86_F_MUST_MASK | X86_F_DISTINCT)))
        return true;
    if (f->flags & X86_F_AX && args[0].reg != X86_RAX) return false;
    if (f->flags & X86_F_CL && args[1].reg != X86_RCX) return false;
    if (f->flags & X86_F_SWAP && !mem && args[f->reg].reg < 8 && args[f->rm].reg >= 8) return false;
    if (f->flags & X86_F_MUST_MASK && args[0].mask == 0) return false;
    return !(f->flags & X86_F_DISTINCT) || distinct(f, args);
}

const X86Form *x86_find(const Asm *a, X86Op op, const X86Arg *args, unsigned n) {
    if (n > 4 || op >= X86_OP_COUNT) return NULL;
    Ask q = ask(args, n);
    const X86Form *end = &x86_forms[x86_first[op + 1]];
    for (const X86Form *f = &x86_forms[x86_first[op]]; f < end; f++) {
        uint64_t left =
            (q.kinds & ~f->accept) | (q.uses & ~(uint32_t)f->allow) | (f->need & ~a->features);
        if (left == 0 && fits(a, f, args, q.mem)) return f;
    }
    return NULL;
}

// ---- Bytes ------------------------------------------------------------------------------------

typedef struct Bytes {
    uint8_t *at;
    AsmLabel *label; // to connect, or NULL
    uint8_t *field;  // the bytes that refer to it
} Bytes;

// The parts of an instruction that prefix and ModRM share.
typedef struct Parts {
    unsigned reg;     // for ModRM.reg, 5 bits
    unsigned v;       // for vvvv, 5 bits
    const X86Arg *rm; // register or memory, or NULL
    unsigned r, x, b; // bit 3 of reg, of the index, of rm or base
} Parts;

static Parts parts(const X86Form *f, const X86Arg *args) {
    Parts p = {.reg = f->reg != X86_SLOT_NONE ? args[f->reg].reg : f->digit & 7u,
               .v = f->v != X86_SLOT_NONE ? args[f->v].reg : 0,
               .rm = f->rm != X86_SLOT_NONE ? &args[f->rm] : NULL};
    p.r = p.reg >> 3 & 1;
    if (!p.rm) return p;
    p.b = p.rm->reg >> 3 & 1; // X86_NOREG, X86_RIP and X86_AT have bits 3 and 4 clear
    if (p.rm->kind & MEMORY)
        p.x = p.rm->index >> 3 & 1;
    else
        p.x = p.rm->reg >> 4 & 1; // EVEX: the fifth bit of a vector register
    return p;
}

static void put(Bytes *o, unsigned byte) { *o->at++ = (uint8_t)byte; }

// The low `size` bytes; writes 8, which a fixed number makes one store.
static void put_value(Bytes *o, int64_t value, unsigned size) {
    memcpy(o->at, &value, sizeof value);
    o->at += size;
}

// spl, bpl, sil, dil exist only under REX.
static bool needs_rex(const X86Form *f, const X86Arg *args) {
    for (unsigned i = 0; i < 2; i++)
        if (f->accept >> 16 * i & X86_G8 && args[i].kind == X86_G8 && args[i].reg >= 4) return true;
    return false;
}

static void put_legacy(Bytes *o, const X86Form *f, const X86Arg *args, const Parts *p) {
    static const uint8_t mandatory[] = {0, 0x66, 0xf3, 0xf2};
    if (f->prefix) put(o, mandatory[f->prefix]);
    if (f->flags & X86_F_LOCK) put(o, 0xf0);
    unsigned rex = (unsigned)f->wide << 3 | p->r << 2 | p->x << 1 | p->b;
    if (rex || needs_rex(f, args)) put(o, 0x40 | rex);
    if (f->map) put(o, 0x0f);
    if (f->map > 1) put(o, f->map == 2 ? 0x38 : 0x3a);
}

static void put_vex(Bytes *o, const X86Form *f, const Parts *p) {
    unsigned last = (~p->v & 15) << 3 | (unsigned)f->length << 2 | f->prefix;
    if (p->x == 0 && p->b == 0 && !f->wide && f->map == 1) {
        put(o, 0xc5);
        put(o, (p->r ^ 1) << 7 | last);
        return;
    }
    put(o, 0xc4);
    put(o, (p->r ^ 1) << 7 | (p->x ^ 1) << 6 | (p->b ^ 1) << 5 | f->map);
    put(o, (unsigned)f->wide << 7 | last);
}

static void put_evex(Bytes *o, const X86Form *f, const X86Arg *args, const Parts *p) {
    bool memory = p->rm->kind & MEMORY;
    unsigned v4 = (memory && p->rm->kind != X86_M ? p->rm->index : p->v) >> 4 & 1;
    unsigned round = args[0].round, length = f->length;
    if (round) length = round == X86_SAE ? 0 : round - X86_NEAREST;
    unsigned b = round || (memory && p->rm->bcast);
    put(o, 0x62);
    put(o, (p->r ^ 1) << 7 | (p->x ^ 1) << 6 | (p->b ^ 1) << 5 | (~p->reg & 16) | f->map);
    put(o, (unsigned)f->wide << 7 | (~p->v & 15) << 3 | 4 | f->prefix);
    put(o, (unsigned)args[0].zero << 7 | length << 5 | b << 4 | (v4 ^ 1) << 3 | args[0].mask);
}

// What 8-bit displacements count in.
static int disp_unit(const X86Form *f, const X86Arg *m) {
    if (f->space != X86_EVEX) return 1;
    if (m->bcast) return (int)x86_element(f);
    if (f->flags & X86_F_ELEMENT) return x86_element(f) ? (int)x86_element(f) : 1;
    return f->size;
}

static void put_memory(Bytes *o, const X86Form *f, const X86Arg *m, unsigned reg) {
    reg = (reg & 7) << 3;
    if (m->reg == X86_RIP || m->reg == X86_AT) {
        put(o, reg | 5);
        if (m->reg == X86_AT) o->label = m->label, o->field = o->at;
        put_value(o, m->reg == X86_AT ? 0 : m->value, 4);
        return;
    }
    unsigned base = m->reg & 7, index = m->index == X86_NOREG ? 4 : m->index & 7;
    bool sib =
        m->index != X86_NOREG || m->reg == X86_NOREG || base == X86_RSP || f->flags & X86_F_SIB;
    int unit = disp_unit(f, m);
    int32_t disp = (int32_t)m->value, packed = disp >> __builtin_ctz((unsigned)unit);
    unsigned mod = 2, size = 4; // of the displacement
    if (m->reg == X86_NOREG)
        mod = 0, base = 5;
    else if (disp == 0 && base != X86_RBP)
        mod = 0, size = 0;
    else if (packed == (int8_t)packed && packed * unit == disp)
        mod = 1, size = 1, disp = packed;
    put(o, mod << 6 | reg | (sib ? 4 : base));
    if (sib) put(o, (m->index == X86_NOREG ? 0u : m->scale) << 6 | index << 3 | base);
    put_value(o, disp, size);
}

static void put_modrm(Bytes *o, const X86Form *f, const Parts *p) {
    if (f->flags & X86_F_FIXED)
        put(o, f->digit);
    else if (!p->rm || f->flags & X86_F_PLUS_REG)
        return;
    else if (p->rm->kind & MEMORY)
        put_memory(o, f, p->rm, p->reg);
    else
        put(o, 0xc0 | (p->reg & 7) << 3 | (p->rm->reg & 7));
}

static void put_immediate(Bytes *o, const X86Form *f, const X86Arg *x) {
    static const uint8_t size[] = {
        [X86_IMM_I8] = 1,  [X86_IMM_B8] = 1,   [X86_IMM_U8] = 1,    [X86_IMM_I16] = 2,
        [X86_IMM_I32] = 4, [X86_IMM_D32] = 4,  [X86_IMM_I64] = 8,   [X86_IMM_ONE] = 0,
        [X86_IMM_IS4] = 1, [X86_IMM_REL8] = 1, [X86_IMM_REL32] = 4,
    };
    if (x->kind == X86_L) o->label = x->label, o->field = o->at;
    put_value(o, f->imm == X86_IMM_IS4 ? x->reg << 4 : x->value, size[f->imm]);
}

static void encode(Bytes *o, const X86Form *f, const X86Arg *args) {
    Parts p = parts(f, args);
    if (f->space == X86_LEGACY)
        put_legacy(o, f, args, &p);
    else if (f->space == X86_VEX)
        put_vex(o, f, &p);
    else
        put_evex(o, f, args, &p);
    put(o, f->flags & X86_F_PLUS_REG ? f->opcode | (p.rm->reg & 7u) : f->opcode);
    put_modrm(o, f, &p);
    if (f->i != X86_SLOT_NONE) put_immediate(o, f, &args[f->i]);
}

// Writes the distance to the label, or lets the field wait for it; the instruction has `size`
// bytes.
static void connect(Asm *a, const X86Form *f, AsmLabel *label, size_t start, size_t field,
                    size_t size) {
    if (f->imm == X86_IMM_REL8)
        a->start[start + field] = (uint8_t)(label->pos - (int64_t)(start + size));
    else
        asm_refer(a, label, start + field, (unsigned)(size - field - 4));
}

// ---- Emitting ---------------------------------------------------------------------------------

enum { LONGEST = 15 + 8 }; // bytes of an instruction, and what put_value writes beyond

void x86_emit(Asm *a, X86Op op, const X86Arg *args, unsigned n) {
    if (a->error != ASM_OK) return;
    const X86Form *f = x86_find(a, op, args, n);
    if (!f) {
        asm_fail(a, ASM_BAD_OPERANDS);
        return;
    }
    uint8_t spare[LONGEST]; // near the end of the buffer, the size is not known to fit
    bool tight = a->end - a->at < LONGEST;
    uint8_t *first = tight ? spare : a->at;
    Bytes o = {.at = first};
    encode(&o, f, args);
    size_t size = (size_t)(o.at - first), start = asm_size(a);
    if (tight || start + size > ASM_LIMIT) {
        if (!asm_room(a, size)) return;
        memmove(a->at, first, size);
    }
    a->at += size;
    if (o.label) connect(a, f, o.label, start, (size_t)(o.field - first), size);
    if (a->listen) a->listen(a, start, op, args, n);
}

void x86_set(Asm *a, unsigned gpr, int64_t value) {
    bool low = value == (int64_t)(uint32_t)value; // writing 32 bits clears the others
    x86_2(a, X86_mov, low ? x86_r32(gpr) : x86_r64(gpr), x86_imm(value));
}

void x86_align(Asm *a, size_t alignment) {
    static const uint8_t nops[10][9] = {
        [1] = {0x90},
        [2] = {0x66, 0x90},
        [3] = {0x0f, 0x1f, 0x00},
        [4] = {0x0f, 0x1f, 0x40, 0x00},
        [5] = {0x0f, 0x1f, 0x44, 0x00, 0x00},
        [6] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
        [7] = {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
        [8] = {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
        [9] = {0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
    };
    for (size_t n = -asm_size(a) & (alignment - 1); n && a->error == ASM_OK;) {
        size_t step = n < 9 ? n : 9;
        asm_bytes(a, nops[step], step);
        n -= step;
    }
}
