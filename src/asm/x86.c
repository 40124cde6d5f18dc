/* The x86-64 encoder: from an instruction and its operands to bytes.
 *
 *     x86_find  scans the forms of the instruction for the first that takes the operands
 *     encode    writes prefix, opcode, ModRM, SIB, displacement, immediate of that form
 *     x86_emit  does both, makes room, and connects the label, if there is one
 *
 * What the three encodings put before the opcode (R, X, B extend ModRM.reg, the index, and ModRM.rm
 * or the base; R' and V' are the fifth bits of ModRM.reg and vvvv, X that of a register in
 * ModRM.rm):
 *
 *     legacy  [66|f3|f2] [lock] [0100WRXB] [0f]
 *     VEX     c5 RvvvvLpp                     when X = B = W = 0 and the map is 0f
 *             c4 RXBmmmmm WvvvvLpp
 *     EVEX    62 RXBR'0mmm Wvvvv1pp zL'LbV'aaa
 *
 * This is the hottest code of the compiler. Bytes collect in registers and are stored as words,
 * since after a store of one byte a C compiler must expect every table to have changed. */

#include "asm/x86_form.h"

#include <string.h>

#define HOT __attribute__((always_inline)) static inline

// ---- Finding the form -------------------------------------------------------------------------

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
    case X86_IMM_REL8: {
        int64_t distance = x->label->pos - (int64_t)asm_size(a) - 2;
        return x->label->pos >= 0 && distance == (int8_t)distance;
    }
    default: return true;
    }
}

// Gathers and tile products fault when registers coincide.
static bool distinct(const X86Form *f, const X86Arg *args) {
    unsigned x = args[0].reg, y = args[1].kind == X86_T ? args[1].reg : args[1].index;
    return x != y && (f->space == X86_EVEX || (x != args[2].reg && y != args[2].reg));
}

enum {
    SPECIAL = X86_F_SIZED | X86_F_AX | X86_F_CL | X86_F_SWAP | X86_F_MUST_MASK | X86_F_DISTINCT |
              X86_F_SIB,
};

static bool special_fits(const X86Form *f, const X86Arg *args) {
    if (f->flags & X86_F_SIZED && args[f->rm].kind & X86_MEMORY && !args[f->rm].size) return false;
    if (f->flags & X86_F_AX && args[0].reg != X86_RAX) return false;
    if (f->flags & X86_F_CL && args[1].reg != X86_RCX) return false;
    if (f->flags & X86_F_SWAP && !(args[f->rm].kind & X86_MEMORY) && args[f->reg].reg < 8 &&
        args[f->rm].reg >= 8)
        return false;
    if (f->flags & X86_F_MUST_MASK && args[0].mask == 0) return false;
    if (f->flags & X86_F_SIB && args[f->rm].reg > X86_NOREG) return false;
    return !(f->flags & X86_F_DISTINCT) || distinct(f, args);
}

// The conditions that depend on values; kinds are known to match.
static inline bool fits(const Asm *a, const X86Form *f, const X86Arg *args) {
    unsigned size = args[f->rm].size;
    if (size && size != f->size) return false;
    if (f->imm != X86_IMM_NONE && !immediate_fits(a, f, &args[f->i])) return false;
    return !(f->flags & SPECIAL) || special_fits(f, args);
}

/* Decorations of all operands. Opmask and rounding belong to the first operand alone, and rounding
 * goes without memory. */
static inline unsigned uses(const X86Arg *args, uint64_t kinds) {
    enum { FIRST_ONLY = X86_USES_MASK | X86_USES_ZERO | X86_USES_ROUND | X86_USES_SAE };
    unsigned rest = (unsigned)((args[1].head | args[2].head | args[3].head) >> X86_USES_BIT);
    unsigned all = args[0].uses | rest;
    if (rest & FIRST_ONLY) return X86_USES_NONSENSE;
    if (all & (X86_USES_ROUND | X86_USES_SAE) && kinds & X86_MEMORY * UINT64_C(0x0001000100010001))
        return X86_USES_NONSENSE;
    return all;
}

static inline uint64_t kind_at(const X86Arg *args, unsigned i) {
    return (uint64_t)args[i].kind << 16 * i;
}

HOT const X86Form *find(const Asm *a, X86Op op, const X86Arg *args) {
    uint64_t kinds = kind_at(args, 0) | kind_at(args, 1) | kind_at(args, 2) | kind_at(args, 3);
    uint32_t used = uses(args, kinds), absent = ~a->features;
    const X86Form *end = &x86_forms[x86_first[op + 1]];
    for (const X86Form *f = &x86_forms[x86_first[op]]; f < end; f++) {
        if (kinds & f->reject) continue;
        if ((used & ~(uint32_t)f->allow) == 0 && (f->need & absent) == 0 && fits(a, f, args))
            return f;
    }
    return NULL;
}

const X86Form *x86_find(const Asm *a, X86Op op, const X86Arg args[4]) { return find(a, op, args); }

// ---- Bytes ------------------------------------------------------------------------------------

// Writes 8 bytes, of which n count.
static inline uint8_t *store(uint8_t *at, uint64_t word, unsigned n) {
    memcpy(at, &word, sizeof word);
    return at + n;
}

enum { // where the high bits of register numbers go in a VEX or EVEX prefix
    R3 = 15,
    X3 = 14,
    B3 = 13,
    R4 = 12,
    V0 = 19,
    V4 = 27,
};

/* The bits of register numbers that prefixes hold: of ModRM.reg, of vvvv, of a register or base in
 * ModRM.rm, of an index. By table, since three instructions for each of nine bits add up. */
#define REG_BITS(n)   ((n) >> 3 & 1u) << R3 | ((n) >> 4 & 1u) << R4
#define V_BITS(n)     ((n)&15u) << V0 | ((n) >> 4 & 1u) << V4
#define RM_BITS(n)    ((n) >> 3 & 1u) << B3 | ((n) >> 4 & 1u) << X3
#define INDEX_BITS(n) ((n) >> 3 & 1u) << X3 | ((n) >> 4 & 1u) << V4
#define EIGHT(F, n)   F(n), F(n + 1), F(n + 2), F(n + 3), F(n + 4), F(n + 5), F(n + 6), F(n + 7)
#define ALL(F)                                                                                     \
    { EIGHT(F, 0u), EIGHT(F, 8u), EIGHT(F, 16u), EIGHT(F, 24u) }
static const uint32_t reg_bits[32] = ALL(REG_BITS);
static const uint32_t v_bits[32] = ALL(V_BITS);
static const uint32_t rm_bits[32] = ALL(RM_BITS);
static const uint32_t index_bits[32] = ALL(INDEX_BITS);

// X86_NOREG, X86_RIP and X86_AT have bits 3 and 4 clear; what has no index has 0 there.
static inline uint32_t register_bits(unsigned reg, unsigned v, const X86Arg *rm) {
    return reg_bits[reg & 31] | v_bits[v & 31] | rm_bits[rm->reg & 31] | index_bits[rm->index & 31];
}

// spl, bpl, sil, dil exist only under REX.
static inline bool needs_rex(const X86Arg *args) {
    return (args[0].kind == X86_G8 && args[0].reg >= 4) ||
           (args[1].kind == X86_G8 && args[1].reg >= 4);
}

static inline uint8_t *put_legacy(uint8_t *at, const X86Form *f, const X86Arg *args,
                                  uint32_t bits) {
    unsigned rex = (f->prefix >> 8 & 8) | (bits >> B3 & 7);
    at = store(at, f->prefix & 0xff, (f->prefix & 0xff) != 0);
    if (f->flags & X86_F_LOCK) at = store(at, 0xf0, 1);
    at = store(at, 0x40 | rex, rex || needs_rex(args));
    return store(at, 0x0f, f->prefix >> 16 != 0); // nothing is in 0f38 or 0f3a without VEX
}

// The long form; or, with X = B = W = 0 and map 1, R and the last byte without W.
static inline uint8_t *put_vex(uint8_t *at, const X86Form *f, uint32_t bits) {
    uint32_t word = f->prefix ^ bits;
    if ((word & 0x807fff) != 0x0061c4) return store(at, word, 3);
    return store(at, 0xc5 | (word & 0x8000) | (word >> 8 & 0x7f00), 2);
}

// The last byte takes zeroing and opmask from the first operand, broadcast from rm.
static inline uint8_t *put_evex(uint8_t *at, const X86Form *f, const X86Arg *first,
                                const X86Arg *rm, uint32_t bits) {
    uint32_t word = f->prefix ^ bits, round = first->round;
    word |= (uint32_t)((first->head | rm->head) >> X86_MASK_BIT) << 24;
    if (round) // takes the place of the length
        word = (word & ~(3u << 29)) | 1u << 28 |
               (round == X86_SAE ? 0 : (round - X86_NEAREST) % 4) << 29;
    return store(at, word, 4);
}

// Opcode, ModRM with `reg` in place, SIB and displacement of a memory operand.
static inline uint8_t *put_memory(uint8_t *at, const X86Form *f, const X86Arg *m, unsigned reg) {
    unsigned base = m->reg & 7, unit = f->unit[m->bcast];
    int32_t disp = (int32_t)m->value, packed = disp >> unit;
    unsigned bytes = reg | 0x80, size = 4; // of the displacement
    if (m->reg >= X86_NOREG) {
        if (m->reg == X86_AT) disp = 0; // connect() fills it in
        if (m->reg != X86_NOREG)
            return store(at, f->opcode | (reg | 5) << 8 | (uint64_t)(uint32_t)disp << 16, 6);
        bytes = reg, base = 5;
    } else if (disp == 0 && base != X86_RBP) {
        bytes = reg, size = 0;
    } else if (packed == (int8_t)packed && (int32_t)((uint32_t)packed << unit) == disp) {
        bytes = reg | 0x40, size = 1, disp = packed;
    }
    uint64_t low = (uint32_t)disp;
    if (m->index != X86_NOREG)
        bytes |= 4 | ((unsigned)m->scale << 6 | (m->index & 7u) << 3 | base) << 8;
    else if (base == X86_RSP || m->reg == X86_NOREG || f->flags & X86_F_SIB)
        bytes |= 4 | (4u << 3 | base) << 8;
    else
        return store(at, f->opcode | (bytes | base) << 8 | low << 16, 2 + size);
    return store(at, f->opcode | bytes << 8 | low << 24, 3 + size);
}

static inline unsigned immediate_size(unsigned imm) {
    static const uint8_t size[] = {
        [X86_IMM_I8] = 1,  [X86_IMM_B8] = 1,   [X86_IMM_U8] = 1,    [X86_IMM_I16] = 2,
        [X86_IMM_I32] = 4, [X86_IMM_D32] = 4,  [X86_IMM_I64] = 8,   [X86_IMM_ONE] = 0,
        [X86_IMM_IS4] = 1, [X86_IMM_REL8] = 1, [X86_IMM_REL32] = 4,
    };
    return size[imm];
}

// A field of the instruction that refers to a label.
typedef struct Reference {
    AsmLabel *label; // NULL: none
    uint8_t *field;
} Reference;

static inline uint8_t *put_immediate(uint8_t *at, const X86Form *f, const X86Arg *x,
                                     Reference *ref) {
    if (x->kind == X86_L) *ref = (Reference){x->label, at};
    uint64_t value = f->imm == X86_IMM_IS4 ? (uint64_t)x->reg << 4 : (uint64_t)x->value;
    return store(at, value, immediate_size(f->imm));
}

// Writes the instruction at `at` and returns its end. Label fields are left to connect().
HOT uint8_t *encode(uint8_t *at, const X86Form *f, const X86Arg *args, Reference *ref) {
    const X86Arg *rm = &args[f->rm];
    unsigned reg = args[f->reg].reg | f->digit;
    uint32_t bits = register_bits(reg, args[f->v].reg, rm);
    at = f->space == X86_EVEX  ? put_evex(at, f, args, rm, bits)
         : f->space == X86_VEX ? put_vex(at, f, bits)
                               : put_legacy(at, f, args, bits);
    reg = (reg & 7) << 3;
    if (rm->head & X86_MEMORY) {
        if (rm->reg == X86_AT) *ref = (Reference){rm->label, at + 2};
        at = put_memory(at, f, rm, reg);
    } else if (!(f->flags & X86_F_NO_MODRM)) {
        at = store(at, f->opcode | (0xc0 | reg | (rm->reg & 7u)) << 8, 2);
    } else {
        at = store(at, f->flags & X86_F_PLUS_REG ? f->opcode | (rm->reg & 7u) : f->opcode, 1);
    }
    return f->imm == X86_IMM_NONE ? at : put_immediate(at, f, &args[f->i], ref);
}

// Writes the distance to the label, or adds the field to the label's chain.
static void connect(Asm *a, const X86Form *f, AsmLabel *label, size_t start, size_t field,
                    size_t size) {
    if (f->imm == X86_IMM_REL8)
        a->start[start + field] = (uint8_t)(label->pos - (int64_t)(start + size));
    else
        asm_refer(a, label, start + field, (unsigned)(size - field - 4));
}

// ---- Emitting ---------------------------------------------------------------------------------

enum { LONGEST = 15 + 8 }; // bytes of an instruction, and the excess that store writes

// Near the end of the buffer the instruction may not fit: encodes it elsewhere first.
__attribute__((noinline)) static void emit_tight(Asm *a, const X86Form *f, const X86Arg *args) {
    uint8_t spare[LONGEST];
    Reference ref = {0};
    size_t size = (size_t)(encode(spare, f, args, &ref) - spare), start = asm_size(a);
    if (!asm_room(a, size)) return;
    memcpy(a->at, spare, size);
    a->at += size;
    if (ref.label) connect(a, f, ref.label, start, (size_t)(ref.field - spare), size);
}

/* After an error the buffer has no room left (asm_fail), so that the straight path need not ask. */
void x86_emit(Asm *a, X86Op op, const X86Arg args[4]) {
    const X86Form *f = find(a, op, args);
    uint8_t *first = a->at;
    if (!f) {
        asm_fail(a, ASM_BAD_OPERANDS);
        return;
    }
    size_t start = asm_size(a);
    if (a->end - first < LONGEST) {
        emit_tight(a, f, args);
        if (a->error != ASM_OK) return;
    } else {
        Reference ref = {0};
        a->at = encode(first, f, args, &ref);
        if (ref.label)
            connect(a, f, ref.label, start, (size_t)(ref.field - first), (size_t)(a->at - first));
    }
    if (a->listen) a->listen(a, start, op, args);
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
