/* x86.def as arrays. One row of the table becomes one X86Form per vector length:
 *
 *     VEX(AVX, L01, RVM, V,V,VM,_, NP,0F,W0,58, 0)
 *      │   │    │    │    │         │  │  │  │  └ flags
 *      │   │    │    │    │         └──┴──┴──┴ mandatory prefix, opcode map, W, opcode
 *      │   │    │    │    └ operands: T_V and so on below
 *      │   │    │    └ where each operand goes: ModRM.reg, vvvv, ModRM.rm ...
 *      │   │    └ vector lengths: L01 is 128 and 256 bits, LIG a scalar
 *      │   └ feature; AVX512VL is added to EVEX forms below 512 bits
 *      └ LEG, VEX, EVEX
 *
 * An operand token gives, for a length l, the kinds it takes, the bytes of memory it reads or
 * writes, and what its immediate must be, in one number. */

#include "asm/x86_form.h"

#define SIZE(n)   ((n) << 16)
#define WHAT(imm) (X86_IMM_##imm << 24)

#define T__(l)     X86_NONE
#define T_R8(l)    X86_G8
#define T_R16(l)   X86_G16
#define T_R32(l)   X86_G32
#define T_R64(l)   X86_G64
#define T_M8(l)    (X86_M | SIZE(1))
#define T_M16(l)   (X86_M | SIZE(2))
#define T_M32(l)   (X86_M | SIZE(4))
#define T_M64(l)   (X86_M | SIZE(8))
#define T_M128(l)  (X86_M | SIZE(16))
#define T_M256(l)  (X86_M | SIZE(32))
#define T_M512(l)  (X86_M | SIZE(64))
#define T_MA(l)    X86_M // an address; nothing is read
#define T_RM8(l)   (X86_G8 | T_M8(l))
#define T_RM16(l)  (X86_G16 | T_M16(l))
#define T_RM32(l)  (X86_G32 | T_M32(l))
#define T_RM64(l)  (X86_G64 | T_M64(l))
#define T_RXM8(l)  (X86_G32 | T_M8(l)) // a byte of memory, or the low byte of a 32-bit register
#define T_RXM16(l) (X86_G32 | T_M16(l))
#define T_K(l)     X86_K
#define T_KM8(l)   (X86_K | T_M8(l))
#define T_KM16(l)  (X86_K | T_M16(l))
#define T_KM32(l)  (X86_K | T_M32(l))
#define T_KM64(l)  (X86_K | T_M64(l))
#define T_TMM(l)   X86_T
#define T_X(l)     X86_X
#define T_Y(l)     X86_Y
#define T_XM8(l)   (X86_X | T_M8(l))
#define T_XM16(l)  (X86_X | T_M16(l))
#define T_XM32(l)  (X86_X | T_M32(l))
#define T_XM64(l)  (X86_X | T_M64(l))
#define T_XM128(l) (X86_X | T_M128(l))
#define T_YM256(l) (X86_Y | T_M256(l))
// Vectors of the form's length, and of a half, a quarter and an eighth of it.
#define T_V(l)  (X86_X << (l))
#define T_VM(l) (T_V(l) | T_MV(l))
#define T_MV(l) (X86_M | SIZE(16 << (l)))
#define T_H(l)  ((l) == 2 ? X86_Y : X86_X)
#define T_HM(l) (T_H(l) | X86_M | SIZE(8 << (l)))
#define T_QM(l) (X86_X | X86_M | SIZE(4 << (l)))
#define T_OM(l) (X86_X | X86_M | SIZE(2 << (l)))
#define T_DM(l) (T_V(l) | X86_M | SIZE((l) ? 16 << (l) : 8)) // vmovddup
// Memory indexed by vectors: of the form's length, of half of it; elements of 32 and 64 bits.
#define T_GV32(l) (X86_MX << (l) | SIZE(4))
#define T_GV64(l) (X86_MX << (l) | SIZE(8))
#define T_GH64(l) (((l) == 2 ? X86_MY : X86_MX) | SIZE(8))
// Immediates, labels.
#define T_I8(l)    (X86_I | WHAT(I8))
#define T_B8(l)    (X86_I | WHAT(B8))
#define T_U8(l)    (X86_I | WHAT(U8))
#define T_I16(l)   (X86_I | WHAT(I16))
#define T_I32(l)   (X86_I | WHAT(I32))
#define T_D32(l)   (X86_I | WHAT(D32))
#define T_I64(l)   (X86_I | WHAT(I64))
#define T_ONE(l)   (X86_I | WHAT(ONE))
#define T_VS4(l)   (T_V(l) | WHAT(IS4))
#define T_REL8(l)  (X86_L | WHAT(REL8))
#define T_REL32(l) (X86_L | WHAT(REL32))

// Where operands go: ModRM.reg, ModRM.rm, vvvv, immediate; 3 is X86_SLOT_ABSENT.
#define E_NONE 3, 3, 3, 3
#define E_RM   0, 1, 3, 3
#define E_MR   1, 0, 3, 3
#define E_RMI  0, 1, 3, 2
#define E_MRI  1, 0, 3, 2
#define E_RVM  0, 2, 1, 3
#define E_MVR  2, 0, 1, 3
#define E_RMV  0, 1, 2, 3
#define E_RVMI 0, 2, 1, 3
#define E_VM   3, 1, 0, 3
#define E_VMI  3, 1, 0, 2
#define E_M    3, 0, 3, 3
#define E_R    0, 3, 3, 3
#define E_MI   3, 0, 3, 1
#define E_I    3, 3, 3, 0
#define E_XI   3, 3, 3, 1 // first operand implied
#define E_O    3, 0, 3, 3 // register in the opcode
#define E_OI   3, 0, 3, 1

#define P_NP 0u
#define P_66 1u
#define P_F3 2u
#define P_F2 3u

#define MAP_1    0u
#define MAP_0F   1u
#define MAP_0F38 2u
#define MAP_0F3A 3u
#define MAP_M5   5u
#define MAP_M6   6u

// Features by vector length.
#define VL(l)        ((l) < 2 ? X86_HAS_AVX512VL : 0)
#define N_BASE(l)    0
#define N_POPCNT(l)  X86_HAS_POPCNT
#define N_LZCNT(l)   X86_HAS_LZCNT
#define N_BMI1(l)    X86_HAS_BMI1
#define N_BMI2(l)    X86_HAS_BMI2
#define N_PRFW(l)    X86_HAS_PREFETCHW
#define N_AVX(l)     X86_HAS_AVX
#define N_AVX2(l)    X86_HAS_AVX2
#define N_AVX12(l)   ((l) ? X86_HAS_AVX2 : X86_HAS_AVX)
#define N_FMA(l)     X86_HAS_FMA
#define N_F16C(l)    X86_HAS_F16C
#define N_AVXVNNI(l) X86_HAS_AVXVNNI
#define N_F(l)       (X86_HAS_AVX512F | VL(l))
#define N_BW(l)      (X86_HAS_AVX512BW | VL(l))
#define N_DQ(l)      (X86_HAS_AVX512DQ | VL(l))
#define N_CD(l)      (X86_HAS_AVX512CD | VL(l))
#define N_VNNI(l)    (X86_HAS_AVX512VNNI | VL(l))
#define N_BF16(l)    (X86_HAS_AVX512BF16 | VL(l))
#define N_FP16(l)    (X86_HAS_AVX512FP16 | VL(l))
#define N_VBMI(l)    (X86_HAS_AVX512VBMI | VL(l))
#define N_VBMI2(l)   (X86_HAS_AVX512VBMI2 | VL(l))
#define N_BITALG(l)  (X86_HAS_AVX512BITALG | VL(l))
#define N_VPOPCNT(l) (X86_HAS_AVX512POPCNT | VL(l))
#define N_IFMA(l)    (X86_HAS_AVX512IFMA | VL(l))
#define N_F_S(l)     X86_HAS_AVX512F // scalars need no VL
#define N_BW_S(l)    X86_HAS_AVX512BW
#define N_DQ_S(l)    X86_HAS_AVX512DQ
#define N_FP16_S(l)  X86_HAS_AVX512FP16
#define N_AMX(l)     X86_HAS_AMX

#define SIZED     X86_F_SIZED
#define AX        X86_F_AX
#define CL        X86_F_CL
#define SWAP      X86_F_SWAP
#define MUST_MASK X86_F_MUST_MASK
#define DISTINCT  X86_F_DISTINCT
#define LOCK      X86_F_LOCK
#define ELEMENT   X86_F_ELEMENT
#define PLUS_REG  X86_F_PLUS_REG
#define B16       X86_F_BCAST16
#define B32       X86_F_BCAST32
#define B64       X86_F_BCAST64
#define NO_MASK   X86_F_NO_MASK
#define ER        X86_F_ROUND
#define SAE       X86_F_SAE
#define VEX_TEXT  X86_F_VEX_TEXT
#define SIB       X86_F_SIB
#define FIXED     X86_F_FIXED

/* What a form allows: only EVEX has decorations; rounding takes the place of the length field, so
 * it needs a scalar or a whole register. */
#define ROUNDS(l, lig, fl)                                                                         \
    (((l) == 2 || (lig)) ? ((fl)&ER ? X86_USES_ROUND : 0) | ((fl)&SAE ? X86_USES_SAE : 0) : 0)
#define BROADCASTS(fl) (((fl) & (B16 | B32 | B64)) && !((fl)&ELEMENT) ? X86_USES_BCAST : 0)
#define MASKS(fl)                                                                                  \
    ((fl)&NO_MASK ? 0 : (fl)&MUST_MASK ? X86_USES_MASK : X86_USES_MASK | X86_USES_ZERO)
#define ALLOW_LEGACY(l, lig, fl) 0
#define ALLOW_VEX(l, lig, fl)    0
#define ALLOW_EVEX(l, lig, fl)                                                                     \
    (uint8_t)(X86_USES_HIGH | ROUNDS(l, lig, fl) | BROADCASTS(fl) | MASKS(fl))

#define KINDS(t)           ((uint64_t)(t)&0xffff)
#define ACCEPT(a, b, c, d) (KINDS(a) | KINDS(b) << 16 | KINDS(c) << 32 | KINDS(d) << 48)

/* No ModRM byte: the register is in the opcode, or nothing goes into the byte. */
#define MODRM(fl, dig, ...) MODRM_OF(fl, dig, __VA_ARGS__)
#define MODRM_OF(fl, dig, reg, rm, v, i)                                                           \
    ((fl)&PLUS_REG || ((reg) == (rm) && (dig) == 0 && !((fl)&FIXED)) ? X86_F_NO_MODRM : 0)

/* The unit of 8-bit displacements: a byte; under EVEX the memory operand, or its element. */
#define LOG2(n)                                                                                    \
    ((n) >= 64 ? 6 : (n) >= 32 ? 5 : (n) >= 16 ? 4 : (n) >= 8 ? 3 : (n) >= 4 ? 2 : (n) >= 2 ? 1 : 0)
#define ELEMENT_UNIT(fl)   ((fl)&B64 ? 3 : (fl)&B32 ? 2 : (fl)&B16 ? 1 : 0)
#define UNIT(sp, size, fl) (X86_##sp != X86_EVEX ? 0 : (fl)&ELEMENT ? ELEMENT_UNIT(fl) : LOG2(size))

#define FORM(sp, l, lig, nd, lay, a, b, c, d, pp, mp, w, opc, dig, fl)                             \
    FORM_OF(sp, l, lig, nd, lay, ACCEPT(T_##a(l), T_##b(l), T_##c(l), T_##d(l)),                   \
            T_##a(l) | T_##b(l) | T_##c(l) | T_##d(l), pp, mp, w, opc, dig, fl)
#define FORM_OF(sp, l, lig, nd, lay, accepts, all, pp, mp, w, opc, dig, fl)                        \
    {                                                                                              \
        ~(accepts), N_##nd(l), (fl) | MODRM(fl, dig, E_##lay),                                     \
            X86_##sp##_PREFIX(P_##pp, MAP_##mp, w, (unsigned)l), ALLOW_##sp(l, lig, fl), 0x##opc,  \
            X86_##sp, E_##lay, dig, (all) >> 24, (all) >> 16 & 0xff, {                             \
            UNIT(sp, (all) >> 16 & 0xff, fl), ELEMENT_UNIT(fl)                                     \
        }                                                                                          \
    }

#define W0 0u
#define W1 1u

/* The kinds of row. D rows have a digit in ModRM.reg. */
#define LEG(nd, lay, a, b, c, pp, mp, w, opc, fl)                                                  \
    FORM(LEGACY, 0, 0, nd, lay, a, b, c, _, pp, mp, w, opc, 0, fl)
#define LEGD(nd, lay, a, b, c, pp, mp, w, opc, dig, fl)                                            \
    FORM(LEGACY, 0, 0, nd, lay, a, b, c, _, pp, mp, w, opc, dig, fl)

#define EACH_L0(sp, ...)  FORM(sp, 0, 0, __VA_ARGS__)
#define EACH_L1(sp, ...)  FORM(sp, 1, 0, __VA_ARGS__)
#define EACH_L2(sp, ...)  FORM(sp, 2, 0, __VA_ARGS__)
#define EACH_LIG(sp, ...) FORM(sp, 0, 1, __VA_ARGS__)
// The longest first: they are the most used, and no operands fit two lengths.
#define EACH_L01(sp, ...)  EACH_L1(sp, __VA_ARGS__), EACH_L0(sp, __VA_ARGS__)
#define EACH_L12(sp, ...)  EACH_L2(sp, __VA_ARGS__), EACH_L1(sp, __VA_ARGS__)
#define EACH_L012(sp, ...) EACH_L12(sp, __VA_ARGS__), EACH_L0(sp, __VA_ARGS__)

#define VEX(nd, ls, lay, a, b, c, d, pp, mp, w, opc, fl)                                           \
    EACH_##ls(VEX, nd, lay, a, b, c, d, pp, mp, w, opc, 0, fl)
#define VEXD(nd, ls, lay, a, b, c, d, pp, mp, w, opc, dig, fl)                                     \
    EACH_##ls(VEX, nd, lay, a, b, c, d, pp, mp, w, opc, dig, fl)
#define EVEX(nd, ls, lay, a, b, c, d, pp, mp, w, opc, fl)                                          \
    EACH_##ls(EVEX, nd, lay, a, b, c, d, pp, mp, w, opc, 0, fl)
#define EVEXD(nd, ls, lay, a, b, c, d, pp, mp, w, opc, dig, fl)                                    \
    EACH_##ls(EVEX, nd, lay, a, b, c, d, pp, mp, w, opc, dig, fl)

const X86Form x86_forms[] = {
#define OP(NAME, ...) __VA_ARGS__,
#include "asm/x86.def"
};

/* first_NAME counts the forms before NAME: each instruction is followed by an enumerator that jumps
 * over its forms. */
enum {
#define OP(NAME, ...)                                                                              \
    first_##NAME,                                                                                  \
        last_##NAME = first_##NAME + sizeof((X86Form[]){__VA_ARGS__}) / sizeof(X86Form) - 1,
#include "asm/x86.def"
    form_count
};

const uint16_t x86_first[X86_OP_COUNT + 1] = {
#define OP(NAME, ...) first_##NAME,
#include "asm/x86.def"
    form_count,
};

_Static_assert(form_count == sizeof x86_forms / sizeof *x86_forms, "x86_first counts every form");
