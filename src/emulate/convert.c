// Implements cvt, and conversions from and to the storage floats f16 and bf16.
#include "emulate/warp.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

// Rounding modes of Ins.what.
enum { ROUND_NONE, ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP };

static double round_whole(double x, int mode) {
    switch (mode) {
    case ROUND_ZERO: return trunc(x);
    case ROUND_DOWN: return floor(x);
    case ROUND_UP: return ceil(x);
    default: return rint(x); // to nearest even: the mode of the process
    }
}

// A float format by its mantissa bits and the width of its exponent.
typedef struct Format {
    int mantissa, exponent;
    uint32_t nan;
} Format;
static const Format format_f16 = {10, 5, 0x7fff}, format_bf16 = {7, 8, 0x7fff},
                    format_f32 = {23, 8, 0x7fffffff};

// Rounds a double once to the format: `x` divided by the format's quantum at x is rounded to an
// integer, whose bits together with the exponent are the result. A carry propagates into the
// exponent.
static uint32_t narrow(double x, Format f, int mode) {
    uint32_t sign = signbit(x) ? 1u << (f.mantissa + f.exponent) : 0;
    uint32_t infinity = ((1u << f.exponent) - 1) << f.mantissa;
    if (isnan(x)) return f.nan;
    if (isinf(x)) return sign | infinity;
    if (x == 0) return sign;
    int e, bias = (1 << (f.exponent - 1)) - 1, least = 1 - bias;
    frexp(x, &e);
    e -= 1;
    int place = e < least ? least : e;
    double whole = fabs(round_whole(ldexp(x, f.mantissa - place), mode));
    double bits = whole; // of a subnormal number, or with the implicit bit
    if (e >= least) bits += ldexp((double)(place - least), f.mantissa);
    if (bits >= infinity) {
        bool to_zero =
            mode == ROUND_ZERO || (mode == ROUND_DOWN && x > 0) || (mode == ROUND_UP && x < 0);
        return sign | (to_zero ? infinity - 1 : infinity);
    }
    return sign | (uint32_t)bits;
}

uint16_t emu_round_f16(double x) { return (uint16_t)narrow(x, format_f16, ROUND_NEAREST); }
uint16_t emu_round_bf16(double x) { return (uint16_t)narrow(x, format_bf16, ROUND_NEAREST); }

static double widen(uint32_t bits, Format f) {
    uint32_t fraction = bits & ((1u << f.mantissa) - 1);
    uint32_t exponent = bits >> f.mantissa & ((1u << f.exponent) - 1);
    bool negative = bits >> (f.mantissa + f.exponent) & 1;
    int bias = (1 << (f.exponent - 1)) - 1;
    double x;
    if (exponent == (1u << f.exponent) - 1)
        x = fraction ? NAN : INFINITY;
    else if (exponent)
        x = ldexp((double)(fraction | 1u << f.mantissa), (int)exponent - bias - f.mantissa);
    else
        x = ldexp((double)fraction, 1 - bias - f.mantissa);
    return negative ? -x : x;
}
double emu_widen_f16(uint16_t bits) { return widen(bits, format_f16); }
double emu_widen_bf16(uint16_t bits) { return widen(bits, format_bf16); }

static double float_value(PtxType type, uint64_t bits) {
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case PTX_F16: return emu_widen_f16((uint16_t)bits);
    case PTX_BF16: return emu_widen_bf16((uint16_t)bits);
    case PTX_F32: memcpy(&f, &low, 4); return f;
    default: memcpy(&d, &bits, 8); return d;
    }
}

static uint64_t float_bits(PtxType type, double x, int mode) {
    uint64_t bits;
    switch (type) {
    case PTX_F16: return narrow(x, format_f16, mode);
    case PTX_BF16: return narrow(x, format_bf16, mode);
    case PTX_F32: return narrow(x, format_f32, mode);
    default:
        if (isnan(x)) return 0x7ff8000000000000ull;
        memcpy(&bits, &x, 8);
        return bits;
    }
}

static __int128 int_value(PtxType type, uint64_t bits) {
    int width = ptx_info[type].bits;
    if (width < 64) bits &= (1ull << width) - 1;
    if (ptx_info[type].kind == KIND_SIGNED && bits >> (width - 1) & 1)
        return (__int128)bits - ((__int128)1 << width);
    return (__int128)bits;
}

static __int128 int_least(PtxType type) {
    return ptx_info[type].kind == KIND_SIGNED ? -((__int128)1 << (ptx_info[type].bits - 1)) : 0;
}
static __int128 int_most(PtxType type) {
    int value_bits = ptx_info[type].bits - (ptx_info[type].kind == KIND_SIGNED);
    return ((__int128)1 << value_bits) - 1;
}

// Saturates. NaN gives 0; but if the source is f64 or the result has 64 bits, it gives the highest
// bit alone.
static uint64_t float_to_int(PtxType to, PtxType from, double x, int mode) {
    if (isnan(x)) {
        bool wide = ptx_info[to].bits == 64 || from == PTX_F64;
        return wide ? 1ull << (ptx_info[to].bits - 1) : 0;
    }
    x = round_whole(x, mode);
    if (x <= (double)int_least(to)) return (uint64_t)int_least(to);
    if (x >= (double)int_most(to)) return (uint64_t)int_most(to);
    return (uint64_t)(__int128)x;
}

// An integer of up to 64 bits as f32 or narrower, rounded once: to odd at 53 bits, then narrowed.
static uint64_t int_to_float(PtxType to, __int128 x, int mode) {
    bool negative = x < 0;
    unsigned __int128 size = negative ? -(unsigned __int128)x : (unsigned __int128)x;
    if (to == PTX_F64) {
        double d = negative ? -(double)(uint64_t)size : (double)(uint64_t)size;
        if (mode != ROUND_NEAREST && (unsigned __int128)fabs(d) != size) {
            bool away = mode == (negative ? ROUND_DOWN : ROUND_UP);
            bool over = (unsigned __int128)fabs(d) > size;
            if (over != away) d = nextafter(d, over ? 0 : d * 2);
        }
        return float_bits(to, d, mode);
    }
    int shift = 0;
    uint64_t sticky = 0, kept = (uint64_t)size;
    while (kept >> 53) {
        sticky |= kept & 1;
        kept >>= 1;
        shift++;
    }
    double d = ldexp((double)(kept | sticky), shift);
    return float_bits(to, negative ? -d : d, mode);
}

static uint64_t convert_bits(const Ins *ins, uint64_t bits) {
    PtxType to = ins->type, from = ins->from;
    bool to_float = ptx_info[to].kind == KIND_FLOAT, from_float = ptx_info[from].kind == KIND_FLOAT;
    if (from_float) {
        double x = float_value(from, bits);
        if (!to_float) return float_to_int(to, from, x, ins->what);
        if (ins->what2) x = isnan(x) ? x : copysign(round_whole(x, ins->what), x);
        if (ins->flag) x = isnan(x) || x < 0 ? 0 : x > 1 ? 1 : x == 0 ? 0 : x;
        return float_bits(to, x, ins->what);
    }
    __int128 x = int_value(from, bits);
    if (to_float) return int_to_float(to, x, ins->what);
    if (ins->flag) x = x < int_least(to) ? int_least(to) : x > int_most(to) ? int_most(to) : x;
    return (uint64_t)x;
}

// The result in a register of `bits` bits: integers are sign- or zero-extended.
static uint64_t extended(PtxType type, uint64_t value, int bits) {
    int width = ptx_info[type].bits;
    if (width < 64) value &= (1ull << width) - 1;
    if (ptx_info[type].kind == KIND_SIGNED && value >> (width - 1) & 1)
        value |= width < 64 ? ~0ull << width : 0;
    return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

void emu_do_convert(Warp *w, const Ins *ins, uint32_t mask) {
    for (int l = 0; l < LANES; l++)
        if (mask >> l & 1)
            set_lane(w, &ins->dst[0], l,
                     extended(ins->type, convert_bits(ins, lane_bits(w, &ins->src[0], l)),
                              ins->dst[0].bits));
    define(w, &ins->dst[0], mask, w->defined[ins->src[0].id]);
}

// --- Types ---------------------------------------------------------------------------------------

const PtxInfo ptx_info[PTX_COUNT] = {
    [PTX_NONE] = {"", KIND_BITS, 0},
#define PTX(id, name, kind, bits) [PTX_##id] = {name, KIND_##kind, bits},
#include "emulate/emulate_types.def"
#undef PTX
};

PtxType ptx_type(const char *name, size_t len) {
    for (int t = 1; t < PTX_COUNT; t++)
        if (strlen(ptx_info[t].name) == len && memcmp(ptx_info[t].name, name, len) == 0)
            return (PtxType)t;
    return PTX_NONE;
}
