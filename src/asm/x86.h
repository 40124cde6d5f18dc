#ifndef LW_ASM_X86_H
#define LW_ASM_X86_H
/* x86-64: operands and instructions. asm.h has the buffer and the labels.
 *
 * An instruction is X86_ and its mnemonic as the text has it: X86_mov, X86_vfmadd231ps, X86_jnz,
 * X86_lock_xadd (text `lock xadd`). x86.def has them all; je, ja, setae ... are further names
 * below. Operands are X86Arg values in the order of Intel's text, destination first:
 *
 *     x86_2(a, X86_mov,  x86_r64(X86_RAX), x86_mem(X86_RDI, 8));
 *     x86_3(a, X86_vfmadd231ps, x86_zmm(3), x86_zmm(30), x86_bcast(x86_mem(X86_RSI, 64)));
 *     x86_2(a, X86_vmovups, x86_masked(x86_zmm(0), 1, true), x86_mem(X86_RDX, 0));
 *     x86_1(a, X86_jnz,  x86_to(&loop));
 *
 * What decorates the instruction as a whole sits on the first operand: opmask, zeroing, rounding.
 * The encoder takes the first form in the table that fits: the short one (VEX before EVEX, 8-bit
 * displacements and immediates where they do), as GNU as would. */

#include "asm/asm.h"

// Further usual names of conditions.
#define X86_CONDITION_NAMES(P)                                                                     \
    X86_##P##e = X86_##P##z, X86_##P##ne = X86_##P##nz, X86_##P##ae = X86_##P##nb,                 \
    X86_##P##a = X86_##P##nbe, X86_##P##ge = X86_##P##nl, X86_##P##g = X86_##P##nle,               \
    X86_##P##c = X86_##P##b, X86_##P##nc = X86_##P##nb

typedef enum X86Op {
#define OP(NAME, ...) X86_##NAME,
#include "asm/x86.def"
    X86_OP_COUNT,
    X86_CONDITION_NAMES(j),
    X86_CONDITION_NAMES(set),
    X86_CONDITION_NAMES(cmov),
} X86Op;

// Required processor features. Asm.features is a set of these; a form outside it is never chosen.
typedef enum X86Feature {
    X86_HAS_POPCNT = 1 << 0,
    X86_HAS_LZCNT = 1 << 1,
    X86_HAS_BMI1 = 1 << 2,
    X86_HAS_BMI2 = 1 << 3,
    X86_HAS_PREFETCHW = 1 << 4,
    X86_HAS_AVX = 1 << 5,
    X86_HAS_AVX2 = 1 << 6,
    X86_HAS_FMA = 1 << 7,
    X86_HAS_F16C = 1 << 8,
    X86_HAS_AVXVNNI = 1 << 9,
    X86_HAS_AVX512F = 1 << 10,
    X86_HAS_AVX512VL = 1 << 11,
    X86_HAS_AVX512BW = 1 << 12,
    X86_HAS_AVX512DQ = 1 << 13,
    X86_HAS_AVX512CD = 1 << 14,
    X86_HAS_AVX512VNNI = 1 << 15,
    X86_HAS_AVX512BF16 = 1 << 16,
    X86_HAS_AVX512FP16 = 1 << 17,
    X86_HAS_AVX512VBMI = 1 << 18,
    X86_HAS_AVX512VBMI2 = 1 << 19,
    X86_HAS_AVX512BITALG = 1 << 20,
    X86_HAS_AVX512POPCNT = 1 << 21,
    X86_HAS_AVX512IFMA = 1 << 22,
    X86_HAS_AMX = 1 << 23,
} X86Feature;

// ---- Operands ---------------------------------------------------------------------------------

/* Kinds are single bits, so that "does this form take these four operands" is one AND. */
typedef enum X86Kind {
    X86_G8 = 1 << 0, // al..r15b; never ah, ch, dh, bh
    X86_G16 = 1 << 1,
    X86_G32 = 1 << 2,
    X86_G64 = 1 << 3,
    X86_X = 1 << 4, // xmm0..xmm31
    X86_Y = 1 << 5,
    X86_Z = 1 << 6,
    X86_K = 1 << 7,   // k0..k7 as an operand
    X86_M = 1 << 8,   // memory
    X86_MX = 1 << 9,  // memory indexed by a vector: gather and scatter
    X86_MY = 1 << 10, //
    X86_MZ = 1 << 11, //
    X86_I = 1 << 12,  // immediate
    X86_L = 1 << 13,  // label to jump to
    X86_T = 1 << 14,  // tmm0..tmm7
    X86_NONE = 1 << 15,
} X86Kind;

// General registers by number.
// clang-format off
enum {
    X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
    X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
    X86_NOREG = 0x40, // no base, no index
    X86_RIP = 0x41,   // base: the end of this instruction
    X86_AT = 0x42,    // base: a label
};
// clang-format on

typedef enum X86Round { // of AVX-512 operations on registers
    X86_CURRENT,        // MXCSR decides
    X86_NEAREST,        // {rn-sae}
    X86_DOWN,
    X86_UP,
    X86_TO_ZERO,
    X86_SAE, // exceptions suppressed only
} X86Round;

// The requirements of an operand on its form. Only the functions below set them.
typedef enum X86Uses {
    X86_USES_HIGH = 1 << 0, // vector register 16..31
    X86_USES_MASK = 1 << 1,
    X86_USES_ZERO = 1 << 2,
    X86_USES_ROUND = 1 << 3,
    X86_USES_SAE = 1 << 4,
    X86_USES_BCAST = 1 << 5,
    X86_USES_NONSENSE = 1 << 6, // no form takes it
} X86Uses;

/* Sixteen bytes, made and passed as two words. `head` is filled as a whole: bytes stored one by one
 * and then read as a word cost the processor more than encoding an instruction. */
typedef struct X86Arg {
    union {
        struct {
            uint16_t kind;     // one X86Kind
            uint8_t reg;       // register, or base of a memory operand
            uint8_t index;     // memory: index register or X86_NOREG
            uint8_t scale : 4; // memory: log2 of the index's factor
            uint8_t round : 4; // X86Round
            uint8_t mask : 4;  // opmask 1..7, 0 none; these four lie as in the last byte of EVEX
            uint8_t bcast : 1; // memory: one element for all lanes
            uint8_t gap : 2;   //
            uint8_t zero : 1;  // masked-off lanes become 0 instead of keeping their value
            uint8_t size; // memory: bytes, if the other operands do not determine them; 0 otherwise
            uint8_t uses; // X86Uses
        };
        uint64_t head;
    };
    union {
        int64_t value; // immediate, or displacement (32 bits, signed)
        AsmLabel *label;
    };
} X86Arg;

enum {
    X86_VECTORS = X86_X | X86_Y | X86_Z,
    X86_MEMORY = X86_M | X86_MX | X86_MY | X86_MZ,
};

enum { // places in head
    X86_REG_BIT = 16,
    X86_INDEX_BIT = 24,
    X86_SCALE_BIT = 32,
    X86_ROUND_BIT = 36,
    X86_MASK_BIT = 40,
    X86_BCAST_BIT = 44,
    X86_ZERO_BIT = 47,
    X86_SIZE_BIT = 48,
    X86_USES_BIT = 56,
};

// Sets a field of `bits` bits, whatever it was.
static inline X86Arg x86_with(X86Arg x, unsigned place, unsigned bits, uint64_t value) {
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    x.head = (x.head & ~(mask << place)) | (value & mask) << place;
    return x;
}

static inline X86Arg x86_uses(X86Arg x, unsigned uses) {
    x.head |= (uint64_t)uses << X86_USES_BIT;
    return x;
}

static inline X86Arg x86_reg(X86Kind kind, unsigned n) {
    unsigned most = kind & X86_VECTORS ? 31 : kind & (X86_K | X86_T) ? 7 : 15;
    X86Arg x = {.head = (uint64_t)kind | (uint64_t)(n & 31) << X86_REG_BIT};
    return x86_uses(x, n > most ? X86_USES_NONSENSE : n > 15 ? X86_USES_HIGH : 0);
}
static inline X86Arg x86_r8(unsigned n) { return x86_reg(X86_G8, n); }
static inline X86Arg x86_r16(unsigned n) { return x86_reg(X86_G16, n); }
static inline X86Arg x86_r32(unsigned n) { return x86_reg(X86_G32, n); }
static inline X86Arg x86_r64(unsigned n) { return x86_reg(X86_G64, n); }
static inline X86Arg x86_xmm(unsigned n) { return x86_reg(X86_X, n); }
static inline X86Arg x86_ymm(unsigned n) { return x86_reg(X86_Y, n); }
static inline X86Arg x86_zmm(unsigned n) { return x86_reg(X86_Z, n); }
static inline X86Arg x86_k(unsigned n) { return x86_reg(X86_K, n); }
static inline X86Arg x86_tmm(unsigned n) { return x86_reg(X86_T, n); }

// A vector register of 16, 32 or 64 bytes.
static inline X86Arg x86_vec(unsigned bytes, unsigned n) {
    return x86_reg(bytes == 16 ? X86_X : bytes == 32 ? X86_Y : X86_Z, n);
}

static inline X86Arg x86_imm(int64_t value) { return (X86Arg){.head = X86_I, .value = value}; }

// The target of a jump or call.
static inline X86Arg x86_to(AsmLabel *label) { return (X86Arg){.head = X86_L, .label = label}; }

// [base + disp]; base may be X86_NOREG or X86_RIP.
static inline X86Arg x86_mem(unsigned base, int64_t disp) {
    X86Arg m = {.head = X86_M | (uint64_t)(base & 255) << X86_REG_BIT |
                        (uint64_t)X86_NOREG << X86_INDEX_BIT,
                .value = disp};
    bool sound = (base < 16 || base == X86_NOREG || base == X86_RIP) && disp == (int32_t)disp;
    return x86_uses(m, sound ? 0 : X86_USES_NONSENSE);
}

// [base + index * 2^scale + disp]; base and index may be X86_NOREG, the index not X86_RSP.
static inline X86Arg x86_mem_index(unsigned base, unsigned index, unsigned scale, int64_t disp) {
    if (index == X86_NOREG) return x86_mem(base, disp);
    if (base == X86_NOREG && scale == 0) return x86_mem(index, disp); // shorter
    X86Arg m = x86_mem(base, disp);
    m.head ^= (uint64_t)((index & 255) ^ X86_NOREG) << X86_INDEX_BIT | (uint64_t)(scale & 15)
                                                                           << X86_SCALE_BIT;
    bool sound = index < 16 && index != X86_RSP && base != X86_RIP && scale < 4;
    return x86_uses(m, sound ? 0 : X86_USES_NONSENSE);
}

// [base + vector * 2^scale + disp], for gather and scatter.
static inline X86Arg x86_mem_vector(unsigned base, X86Arg vector, unsigned scale, int64_t disp) {
    X86Arg m = x86_mem(base, disp);
    m.kind = (uint16_t)(vector.kind << 5); // X to MX, and so on
    m.index = vector.reg;
    m.scale = scale & 15;
    bool sound = vector.kind & X86_VECTORS && base != X86_RIP && scale < 4;
    return x86_uses(m, sound ? vector.uses : X86_USES_NONSENSE);
}

// The memory at a label: constants.
static inline X86Arg x86_mem_label(AsmLabel *label) {
    return (X86Arg){.head = X86_M | (uint64_t)X86_AT << X86_REG_BIT |
                            (uint64_t)X86_NOREG << X86_INDEX_BIT,
                    .label = label};
}

// Memory of `bytes` bytes, for `inc [rax]` and the like. With x86_bcast: bytes after broadcasting.
static inline X86Arg x86_sized(X86Arg m, unsigned bytes) {
    m = x86_with(m, X86_SIZE_BIT, 8, bytes);
    return x86_uses(m, m.kind & X86_MEMORY ? 0 : X86_USES_NONSENSE);
}

// One element of memory for all lanes: {1toN}.
static inline X86Arg x86_bcast(X86Arg m) {
    m.head |= UINT64_C(1) << X86_BCAST_BIT;
    return x86_uses(m, m.kind & X86_MEMORY ? X86_USES_BCAST : X86_USES_NONSENSE);
}

// First operand: {k} or {k}{z}. k = 0: no mask.
static inline X86Arg x86_masked(X86Arg first, unsigned k, bool zero) {
    bool sound = k < 8 && (!zero || (k && first.kind & X86_VECTORS));
    first = x86_with(x86_with(first, X86_MASK_BIT, 3, k), X86_ZERO_BIT, 1, zero);
    first = x86_with(first, X86_USES_BIT + 1, 2, (unsigned)(k != 0) | (unsigned)zero << 1);
    return x86_uses(first, sound ? 0 : X86_USES_NONSENSE);
}

// First operand: {rn-sae} and so on.
static inline X86Arg x86_rounded(X86Arg first, X86Round round) {
    first = x86_with(first, X86_ROUND_BIT, 4, round);
    first = x86_with(first, X86_USES_BIT + 3, 2, round == 0 ? 0 : round < X86_SAE ? 1 : 2);
    return x86_uses(first, round <= X86_SAE ? 0 : X86_USES_NONSENSE);
}

// ---- Instructions -----------------------------------------------------------------------------

// Emits `op`, or sets a->error. Missing operands are X86_NO_ARG.
void x86_emit(Asm *a, X86Op op, const X86Arg args[4]);

#define X86_NO_ARG                                                                                 \
    (X86Arg) { .head = X86_NONE }

static inline void x86_0(Asm *a, X86Op op) {
    x86_emit(a, op, (X86Arg[4]){X86_NO_ARG, X86_NO_ARG, X86_NO_ARG, X86_NO_ARG});
}
static inline void x86_1(Asm *a, X86Op op, X86Arg x) {
    x86_emit(a, op, (X86Arg[4]){x, X86_NO_ARG, X86_NO_ARG, X86_NO_ARG});
}
static inline void x86_2(Asm *a, X86Op op, X86Arg x, X86Arg y) {
    x86_emit(a, op, (X86Arg[4]){x, y, X86_NO_ARG, X86_NO_ARG});
}
static inline void x86_3(Asm *a, X86Op op, X86Arg x, X86Arg y, X86Arg z) {
    x86_emit(a, op, (X86Arg[4]){x, y, z, X86_NO_ARG});
}
static inline void x86_4(Asm *a, X86Op op, X86Arg x, X86Arg y, X86Arg z, X86Arg w) {
    x86_emit(a, op, (X86Arg[4]){x, y, z, w});
}

// The constant in a 64-bit register, by the shortest mov. Flags are kept.
void x86_set(Asm *a, unsigned gpr, int64_t value);

// Pads code with long nops to a multiple of a power of two.
void x86_align(Asm *a, size_t alignment);

// ---- Text and questions -----------------------------------------------------------------------

/* The instruction as Intel text, as Zydis prints it and GNU as reads it, in text[0..size), always
 * terminated. `features` as in the Asm that it is for. Returns the full length, or 0 when no form
 * takes the operands. */
size_t x86_print(char *text, size_t size, uint32_t features, X86Op op, const X86Arg args[4]);

const char *x86_name(X86Op op); // the mnemonic

#endif
