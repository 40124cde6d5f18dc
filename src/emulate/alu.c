// Arithmetic on rows of lanes: an Exec function for each row of ptx_ops.def, for comparisons and
// for moves.
#include "emulate/parse.h"
#include "emulate/warp.h"

#include <math.h>
#include <string.h>

typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

// --- Functions of ptx_ops.def --------------------------------------------------------------------

static u64 funnel(u32 low, u32 high) { return (u64)high << 32 | low; }

static u64 reverse(u64 a) {
    u64 r = 0;
    for (int i = 0; i < 64; i++) r |= (a >> i & 1) << (63 - i);
    return r;
}

// `len` bits from bit `pos` on. A signed field is extended by its highest bit that lies inside the
// word.
static u64 extract(u64 a, u32 pos, u32 len, u32 width, bool is_signed) {
    pos &= 255;
    len &= 255;
    u64 sign = 0;
    if (is_signed && len) {
        u32 top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1;
        sign = a >> top & 1 ? ~0ull : 0;
    }
    if (width == 32) a = (u32)a;
    u64 field = pos > 63 ? 0 : a >> pos, mask = len > 63 ? ~0ull : (1ull << len) - 1;
    u64 inside = pos >= width ? 0 : width - pos > 63 ? ~0ull : (1ull << (width - pos)) - 1;
    return (field & mask & inside) | (sign & ~(mask & inside));
}

// Byte i of the result is the byte of b:a that nibble i selects. If bit 3 of the nibble is set, all
// bits become the sign of that byte.
static u32 permute(u32 a, u32 b, u32 selector) {
    u64 bytes = funnel(a, b);
    u32 r = 0;
    for (int i = 0; i < 4; i++) {
        u32 nibble = selector >> 4 * i & 15, byte = bytes >> 8 * (nibble & 7) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}

static s64 dot4(u32 a, u32 b, bool signed_a, bool signed_b) {
    s64 sum = 0;
    for (int i = 0; i < 4; i++) {
        s64 x = a >> 8 * i & 255, y = b >> 8 * i & 255;
        if (signed_a) x = (int8_t)x;
        if (signed_b) y = (int8_t)y;
        sum += x * y;
    }
    return sum;
}

// The smaller operand; -0 is less than +0. If one operand is NaN, the result is the other one, or
// NaN if it `propagates`.
static f64 least(f64 a, f64 b, bool propagates) {
    if (a != a) return propagates ? a : b;
    if (b != b) return propagates ? b : a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

// a + b rounded to odd. Rounding the result again to fewer bits gives the correctly rounded sum.
static f64 odd_sum(f64 a, f64 b) {
    f64 sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    u64 bits;
    memcpy(&bits, &sum, 8);
    if (isfinite(sum) && error != 0 && !(bits & 1)) {
        bits += (error > 0) == (sum > 0) ? 1 : ~0ull;
        memcpy(&sum, &bits, 8);
    }
    return sum;
}

// --- Rows ----------------------------------------------------------------------------------------

// The lanes of a row. Types of up to 32 bits occupy 4 bytes. Rows are read and written as any type.
#define ALIASED __attribute__((may_alias))
typedef u32 ALIASED LANE_s16;
typedef u32 ALIASED LANE_u16;
typedef s32 ALIASED LANE_s32;
typedef u32 ALIASED LANE_u32;
typedef s64 ALIASED LANE_s64;
typedef u64 ALIASED LANE_u64;
typedef f32 ALIASED LANE_f32;
typedef f64 ALIASED LANE_f64;

#define PTX_OF_s16 PTX_S16
#define PTX_OF_u16 PTX_U16
#define PTX_OF_s32 PTX_S32
#define PTX_OF_u32 PTX_U32
#define PTX_OF_s64 PTX_S64
#define PTX_OF_u64 PTX_U64
#define PTX_OF_f32 PTX_F32
#define PTX_OF_f64 PTX_F64

static inline f32 canonical_f32(f32 x) {
    u32 bits = 0x7fffffffu;
    f32 nan;
    memcpy(&nan, &bits, 4);
    return x == x ? x : nan;
}
static inline f64 canonical_f64(f64 x) {
    u64 bits = 0x7ff8000000000000ull;
    f64 nan;
    memcpy(&nan, &bits, 8);
    return x == x ? x : nan;
}
#define FINISH_s16(x) ((u16)(x))
#define FINISH_u16(x) ((u16)(x))
#define FINISH_s32(x) ((s32)(x))
#define FINISH_u32(x) ((u32)(x))
#define FINISH_s64(x) ((s64)(x))
#define FINISH_u64(x) ((u64)(x))
#define FINISH_f32(x) canonical_f32(x)
#define FINISH_f64(x) canonical_f64(x)

#define LOOP(R, A, B, C, value)                                                                    \
    {                                                                                              \
        A a = (A)((const LANE_##A *)pa)[l];                                                        \
        B b = (B)((const LANE_##B *)pb)[l];                                                        \
        C c = (C)((const LANE_##C *)pc)[l];                                                        \
        (void)a, (void)b, (void)c;                                                                 \
        ((LANE_##R *)pd)[l] = (LANE_##R)FINISH_##R(value);                                         \
    }

// Operands that an operation lacks are read from the row of its first operand, which has the same
// width.
#define OP(id, name, R, n, A, B, C, value)                                                         \
    static void op_##id(Warp *w, const Ins *ins, uint32_t mask) {                                  \
        void *pd = row_of(w, &ins->dst[0]);                                                        \
        const void *pa = row_of(w, &ins->src[0]);                                                  \
        const void *pb = n > 1 ? row_of(w, &ins->src[1]) : pa;                                     \
        const void *pc = n > 2 ? row_of(w, &ins->src[2]) : pb;                                     \
        if (mask == ~0u)                                                                           \
            for (int l = 0; l < LANES; l++) LOOP(R, A, B, C, value)                                \
        else                                                                                       \
            for (int l = 0; l < LANES; l++)                                                        \
                if (mask >> l & 1) LOOP(R, A, B, C, value)                                         \
    }
#include "emulate/ptx_ops.def"
#undef OP

static const Op ops[] = {
#define OP(id, name, R, n, A, B, C, value)                                                         \
    {name, op_##id, n, PTX_OF_##R, {PTX_OF_##A, PTX_OF_##B, PTX_OF_##C}},
#include "emulate/ptx_ops.def"
#undef OP
};

enum { OP_SLOTS = 1024 };

static uint64_t spelling_hash(const char *s, size_t len) {
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i < len; i++) h = (h ^ (uint8_t)s[i]) * 1099511628211ull;
    return h ^ h >> 29;
}

const Op *emu_find_op(PtxParser *p, PtxWord spelling) {
    if (!p->ops) {
        p->ops = arena_new_n(p->arena, const Op *, OP_SLOTS);
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            uint64_t h = spelling_hash(ops[i].name, strlen(ops[i].name));
            while (p->ops[h % OP_SLOTS]) h++;
            p->ops[h % OP_SLOTS] = &ops[i];
        }
    }
    uint64_t h = spelling_hash(spelling.s, spelling.len);
    for (; p->ops[h % OP_SLOTS]; h++)
        if (ptx_word_is(spelling, p->ops[h % OP_SLOTS]->name)) return p->ops[h % OP_SLOTS];
    return NULL;
}

bool emu_is_fma_f32(const Ins *ins) { return ins->run == op_fma_f32; }

// --- Comparisons ---------------------------------------------------------------------------------

// setp. `what` is the set of CMP_* bits for which the comparison holds; what2 combines it with a
// third source: 1 and, 2 or, 3 xor. dst[1], if present, gets the opposite comparison, combined in
// the same way.
static void finish_compare(Warp *w, const Ins *ins, uint32_t mask, uint32_t lt, uint32_t eq,
                           uint32_t unordered) {
    uint32_t gt = ~(lt | eq | unordered), holds = 0;
    if (ins->what & CMP_LT) holds |= lt;
    if (ins->what & CMP_EQ) holds |= eq;
    if (ins->what & CMP_GT) holds |= gt;
    if (ins->what & CMP_UNORDERED) holds |= unordered;
    uint32_t defined = w->defined[ins->src[0].id] & w->defined[ins->src[1].id];
    for (int d = 0; d < ins->ndst; d++) {
        uint32_t value = d ? ~holds : holds;
        if (ins->what2) {
            uint32_t c = pred_mask(w, &ins->src[2]);
            defined &= w->defined[ins->src[2].id];
            value = ins->what2 == 1 ? value & c : ins->what2 == 2 ? value | c : value ^ c;
        }
        uint32_t *into = &w->pred[ins->dst[d].id];
        *into = (*into & ~mask) | (value & mask);
        define(w, &ins->dst[d], mask, defined);
    }
}

#define COMPARE(T)                                                                                 \
    static void compare_##T(Warp *w, const Ins *ins, uint32_t mask) {                              \
        const LANE_##T *pa = row_of(w, &ins->src[0]), *pb = row_of(w, &ins->src[1]);               \
        uint32_t lt = 0, eq = 0, unordered = 0;                                                    \
        for (int l = 0; l < LANES; l++) {                                                          \
            if (!(mask >> l & 1)) continue;                                                        \
            T a = (T)pa[l], b = (T)pb[l];                                                          \
            lt |= (uint32_t)(a < b) << l;                                                          \
            eq |= (uint32_t)(a == b) << l;                                                         \
            unordered |= (uint32_t)(a != a || b != b) << l;                                        \
        }                                                                                          \
        finish_compare(w, ins, mask, lt, eq, unordered);                                           \
    }
COMPARE(s16)
COMPARE(u16)
COMPARE(s32)
COMPARE(u32)
COMPARE(s64)
COMPARE(u64)
COMPARE(f32)
COMPARE(f64)

static void compare_half(Warp *w, const Ins *ins, uint32_t mask) {
    double (*widen)(uint16_t) = ins->type == PTX_F16 ? emu_widen_f16 : emu_widen_bf16;
    uint32_t lt = 0, eq = 0, unordered = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        double a = widen((uint16_t)lane_u32(w, &ins->src[0], l));
        double b = widen((uint16_t)lane_u32(w, &ins->src[1], l));
        lt |= (uint32_t)(a < b) << l;
        eq |= (uint32_t)(a == b) << l;
        unordered |= (uint32_t)(a != a || b != b) << l;
    }
    finish_compare(w, ins, mask, lt, eq, unordered);
}

Exec *emu_compare(PtxType type) {
    switch (type) {
    case PTX_S16: return compare_s16;
    case PTX_B16:
    case PTX_U16: return compare_u16;
    case PTX_S32: return compare_s32;
    case PTX_B32:
    case PTX_U32: return compare_u32;
    case PTX_S64: return compare_s64;
    case PTX_B64:
    case PTX_U64: return compare_u64;
    case PTX_F32: return compare_f32;
    case PTX_F64: return compare_f64;
    case PTX_F16:
    case PTX_BF16: return compare_half;
    default: return NULL;
    }
}

// --- Moves ---------------------------------------------------------------------------------------

void emu_do_move(Warp *w, const Ins *ins, uint32_t mask) {
    size_t width = ins->dst[0].bits == 64 ? 8 : 4;
    uint8_t *to = row_of(w, &ins->dst[0]);
    const uint8_t *from = row_of(w, &ins->src[0]);
    define(w, &ins->dst[0], mask, w->defined[ins->src[0].id]);
    if (mask == ~0u)
        memmove(to, from, LANES * width);
    else
        for (size_t l = 0; l < LANES; l++)
            if (mask >> l & 1) memmove(to + l * width, from + l * width, width);
}

// src[2] is the predicate. The value that it does not select may be undefined.
void emu_do_select(Warp *w, const Ins *ins, uint32_t mask) {
    uint32_t first = pred_mask(w, &ins->src[2]);
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1)
            set_lane(w, &ins->dst[0], l,
                     lane_bits(w, first >> l & 1 ? &ins->src[0] : &ins->src[1], l));
    uint32_t defined = (w->defined[ins->src[0].id] & first) | (w->defined[ins->src[1].id] & ~first);
    define(w, &ins->dst[0], mask, defined & w->defined[ins->src[2].id]);
}

// mov.b64 %d, {%lo, %hi}: packs nsrc parts into dst[0], the lowest first.
void emu_do_pack(Warp *w, const Ins *ins, uint32_t mask) {
    int bits = ins->dst[0].bits / ins->nsrc;
    uint32_t defined = ~0u;
    for (int s = 0; s < ins->nsrc; s++) defined &= w->defined[ins->src[s].id];
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t value = 0, part = bits == 64 ? ~0ull : (1ull << bits) - 1;
        for (int s = 0; s < ins->nsrc; s++)
            value |= (lane_bits(w, &ins->src[s], l) & part) << (s * bits);
        set_lane(w, &ins->dst[0], l, value);
    }
    define(w, &ins->dst[0], mask, defined);
}

void emu_do_unpack(Warp *w, const Ins *ins, uint32_t mask) {
    int bits = ins->src[0].bits / ins->ndst;
    uint64_t part = bits == 64 ? ~0ull : (1ull << bits) - 1;
    uint32_t defined = w->defined[ins->src[0].id];
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t value = lane_bits(w, &ins->src[0], l);
        for (int d = 0; d < ins->ndst; d++)
            set_lane(w, &ins->dst[d], l, value >> (d * bits) & part);
    }
    for (int d = 0; d < ins->ndst; d++) define(w, &ins->dst[d], mask, defined);
}

// lop3: `what` is the truth table of the function.
void emu_do_lop3(Warp *w, const Ins *ins, uint32_t mask) {
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint32_t a = lane_u32(w, &ins->src[0], l), b = lane_u32(w, &ins->src[1], l);
        uint32_t c = lane_u32(w, &ins->src[2], l), r = 0;
        for (int i = 0; i < 8; i++)
            if (ins->what >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        set_lane(w, &ins->dst[0], l, r);
    }
    uint32_t defined = w->defined[ins->src[0].id] & w->defined[ins->src[1].id];
    define(w, &ins->dst[0], mask, defined & w->defined[ins->src[2].id]);
}

// --- Predicates ----------------------------------------------------------------------------------

static void set_pred(Warp *w, const Ins *ins, uint32_t mask, uint32_t value) {
    uint32_t *into = &w->pred[ins->dst[0].id], defined = w->defined[ins->src[0].id];
    if (ins->nsrc > 1) defined &= w->defined[ins->src[1].id];
    *into = (*into & ~mask) | (value & mask);
    define(w, &ins->dst[0], mask, defined);
}
static uint32_t pred_src(const Warp *w, const Ins *ins, int s) {
    return pred_mask(w, &ins->src[s]);
}
void emu_do_pred_and(Warp *w, const Ins *ins, uint32_t mask) {
    set_pred(w, ins, mask, pred_src(w, ins, 0) & pred_src(w, ins, 1));
}
void emu_do_pred_or(Warp *w, const Ins *ins, uint32_t mask) {
    set_pred(w, ins, mask, pred_src(w, ins, 0) | pred_src(w, ins, 1));
}
void emu_do_pred_xor(Warp *w, const Ins *ins, uint32_t mask) {
    set_pred(w, ins, mask, pred_src(w, ins, 0) ^ pred_src(w, ins, 1));
}
void emu_do_pred_not(Warp *w, const Ins *ins, uint32_t mask) {
    set_pred(w, ins, mask, ~pred_src(w, ins, 0));
}
void emu_do_pred_move(Warp *w, const Ins *ins, uint32_t mask) {
    set_pred(w, ins, mask, pred_src(w, ins, 0));
}
