#ifndef LW_ASM_X86_FORM_H
#define LW_ASM_X86_FORM_H
/* The table of x86.def in memory. For asm/ and its tests only.
 *
 * A form is one way to encode one instruction at one vector length. Everything that selects a form
 * is a set, so that a form fits when nothing is left over:
 *
 *     kinds of the four operands   & reject     16 bits each, X86Kind
 *     decorations in use           & ~allow     X86Uses
 *     need                         & ~features
 *
 * and then the few things that depend on values (immediates, fixed registers, memory size). EVEX
 * scales 8-bit displacements by the size of the memory operand, or of the element when it is
 * broadcast; the manuals' "tuple types" say the same thing, so the table has no column for them. */

#include "asm/x86.h"

enum { X86_LEGACY, X86_VEX, X86_EVEX }; // X86Form.space

// The condition on an immediate or fixed operand, and its encoding.
typedef enum X86Imm {
    X86_IMM_NONE,
    X86_IMM_I8,   // signed byte, extended
    X86_IMM_B8,   // any byte, -128..255, of 8-bit arithmetic
    X86_IMM_U8,   // control byte 0..255
    X86_IMM_I16,  // signed word
    X86_IMM_I32,  // signed dword
    X86_IMM_D32,  // any dword, -2^31..2^32-1
    X86_IMM_I64,  // qword
    X86_IMM_ONE,  // 1, not written
    X86_IMM_IS4,  // register in the high half of a byte
    X86_IMM_REL8, // distance to a bound label, near
    X86_IMM_REL32,
} X86Imm;

enum {                        // X86Form.flags
    X86_F_SIZED = 1 << 0,     // the memory operand must say its size
    X86_F_AX = 1 << 1,        // first operand is al, ax, eax or rax
    X86_F_CL = 1 << 2,        // second operand is cl
    X86_F_SWAP = 1 << 3,      // leave reg <- reg8..15 to the store form, whose prefix is shorter
    X86_F_MUST_MASK = 1 << 4, // gather and scatter: k1..k7, never zeroing
    X86_F_DISTINCT = 1 << 5,  // gather, tiles: no register twice
    X86_F_LOCK = 1 << 6,      // lock prefix
    X86_F_ELEMENT = 1 << 7,   // displacement scales by the element though memory is a vector
    X86_F_PLUS_REG = 1 << 8,  // register in the low bits of the opcode
    X86_F_BCAST16 = 1 << 9,   // elements of broadcasts
    X86_F_BCAST32 = 1 << 10,  //
    X86_F_BCAST64 = 1 << 11,  //
    X86_F_NO_MASK = 1 << 12,  // EVEX without opmask
    X86_F_ROUND = 1 << 13,    // rounding control, for scalars and whole registers
    X86_F_SAE = 1 << 14,      //
    X86_F_VEX_TEXT = 1 << 15, // as would choose EVEX; the text needs {vex}
    X86_F_NO_MODRM = 1 << 16, // no ModRM byte
    X86_F_SIB = 1 << 17,      // memory always has a SIB byte: tiles
    X86_F_FIXED = 1 << 18,    // ModRM byte though no operand and no digit goes there
};

/* An operand that a form does not have reads as operand 3, which is then absent and register 0: no
 * form has both four operands and a part of the encoding without operand. */
enum { X86_SLOT_ABSENT = 3 };

typedef struct X86Form {
    uint64_t reject; // kinds that the four operands may not have
    uint32_t need;
    uint32_t flags;
    uint32_t prefix;       // see below
    uint8_t allow;         // X86Uses
    uint8_t opcode;        //
    uint8_t space;         // X86_LEGACY, X86_VEX, X86_EVEX
    uint8_t reg, rm, v, i; // which operand goes to ModRM.reg, ModRM.rm, vvvv, immediate
    uint8_t digit;         // ModRM.reg when no operand goes there, or 0
    uint8_t imm;           // X86Imm
    uint8_t size;          // bytes of the memory operand
    uint8_t unit[2];       // log2 of what 8-bit displacements count in, plain and under broadcast
} X86Form;

/* X86Form.prefix: for register 0 everywhere, bytes from the lowest up. VEX and EVEX hold the high
 * bits of register numbers inverted and at the same places, so XOR puts registers in. The short
 * form of VEX is made from the long one. Legacy: mandatory prefix, W of REX, whether 0f follows. */
#define X86_LEGACY_PREFIX(pp, map, w, l)                                                           \
    (((pp) == 1 ? 0x66u : (pp) == 2 ? 0xf3u : (pp) == 3 ? 0xf2u : 0u) | (w) << 11 | (map) << 16)
#define X86_VEX_PREFIX(pp, map, w, l)                                                              \
    (0xc4u | (0xe0u | (map)) << 8 | ((w) << 7 | 0x78u | (l) << 2 | (pp)) << 16)
#define X86_EVEX_PREFIX(pp, map, w, l)                                                             \
    (0x62u | (0xf0u | (map)) << 8 | ((w) << 7 | 0x7cu | (pp)) << 16 | ((l) << 5 | 0x08u) << 24)

extern const X86Form x86_forms[];
extern const uint16_t
    x86_first[X86_OP_COUNT + 1]; // forms of op: x86_first[op] .. x86_first[op + 1]

/* The form x86_emit would take, or NULL. `a` gives features and, for jumps, the place. */
const X86Form *x86_find(const Asm *a, X86Op op, const X86Arg args[4]);

// Bytes of one element of a broadcast.
static inline unsigned x86_element(const X86Form *f) { return 1u << f->unit[1]; }

#endif
