#include "base/types.h"

#include <math.h>
#include <string.h>

const TypeInfo type_info[TYPE_COUNT] = {
    [TYPE_NONE] = {"?", "?", "void", "void", "", CLASS_NONE, 0, 0, TYPE_NONE, TYPE_NONE, TYPE_NONE,
                   0, 0},
#define TYPE(id, name, class, bits, compute, lane, sum, precision, bias, stored, value, stripe,    \
             dlpack, numpy)                                                                        \
    [TYPE_##id] = {name,          stripe,    #stored,  #value,         numpy,                      \
                   CLASS_##class, bits,      bits / 8, TYPE_##compute, TYPE_##lane,                \
                   TYPE_##sum,    precision, bias},
#include "base/types.def"
#undef TYPE
};

static Type signed_of_bits(int bits) {
    return bits <= 8 ? TYPE_I8 : bits <= 16 ? TYPE_I16 : bits <= 32 ? TYPE_I32 : TYPE_I64;
}

Type type_promote(Type a, Type b) {
    if (a == b || b == TYPE_NONE) return a;
    if (a == TYPE_NONE || a == TYPE_BOOL) return b;
    if (b == TYPE_BOOL) return a;
    const TypeInfo *x = &type_info[a], *y = &type_info[b];
    if (x->class == CLASS_FLOAT && y->class == CLASS_FLOAT)
        return x->bits > y->bits ? a : y->bits > x->bits ? b : TYPE_F32;
    if (x->class == CLASS_FLOAT) return a;
    if (y->class == CLASS_FLOAT) return b;
    if (x->class == y->class) return x->bits > y->bits ? a : b;
    int sbits = x->class == CLASS_INT ? x->bits : y->bits;
    int ubits = x->class == CLASS_INT ? y->bits : x->bits;
    return signed_of_bits(sbits > ubits ? sbits : 2 * ubits);
}

bool type_widens(Type t, Type wide) {
    bool floats = type_is_float(t) && type_is_float(wide);
    bool integers = type_is_integer(t) && type_is_integer(wide);
    return (floats || integers) && type_info[wide].bits > type_info[t].bits &&
           type_promote(t, wide) == wide;
}

Type type_by_name(const char *name, int len) {
    for (Type t = TYPE_BOOL; len > 0 && t < TYPE_COUNT; t++) {
        const char *known = type_info[t].name;
        if (known[0] == name[0] && !strncmp(known, name, (size_t)len) && !known[len]) return t;
    }
    return TYPE_NONE;
}

static uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

// ---- Storage floats: a sign, an exponent with the type's bias, and precision - 1 mantissa bits

enum { F32_MANTISSA = 23, F32_BIAS = 127 };

uint32_t type_pack(Type t, float f) {
    const TypeInfo *i = &type_info[t];
    int mantissa = i->precision - 1, cut = F32_MANTISSA - mantissa;
    uint32_t infinity = ((1u << (i->bits - 1 - mantissa)) - 1) << mantissa;
    uint32_t rebias = (uint32_t)(F32_BIAS - i->bias) << F32_MANTISSA;
    uint32_t u = bits_of(f), sign = u >> 31 << (i->bits - 1), mag = u & 0x7fffffff;
    if (mag > 0x7f800000) {
        uint32_t quiet = 1u << (mantissa - 1), payload = mag >> cut & (2 * quiet - 1);
        return sign | infinity | quiet | payload;
    }
    if (mag >= (infinity << cut) + rebias) return sign | infinity;
    if (rebias && mag < rebias + (1u << F32_MANTISSA)) { // denormal: the FPU rounds it
        float unit = ldexpf(1, 1 + F32_MANTISSA - i->bias - mantissa);
        return sign | (bits_of(float_of(mag) + unit) - bits_of(unit));
    }
    uint32_t odd = mag >> cut & 1;
    mag += (1u << (cut - 1)) - 1 + odd - rebias;
    return sign | mag >> cut; // the largest numbers carry into infinity
}

float type_unpack(Type t, uint32_t bits) {
    const TypeInfo *i = &type_info[t];
    int mantissa = i->precision - 1, cut = F32_MANTISSA - mantissa;
    uint32_t top = 1u << (i->bits - 1), sign = (bits & top) / top << 31, mag = bits & (top - 1);
    uint32_t infinity = ((1u << (i->bits - 1 - mantissa)) - 1) << mantissa;
    uint32_t rebias = (uint32_t)(F32_BIAS - i->bias) << F32_MANTISSA;
    if (mag >= infinity) return float_of(sign | 0x7f800000 | (mag - infinity) << cut);
    if (mag >> mantissa || !rebias) return float_of(sign | ((mag << cut) + rebias));
    float denormal = ldexpf((float)mag, 1 - i->bias - mantissa);
    return float_of(sign | bits_of(denormal));
}

// ---- Values

// An integer as the low bits of t hold it.
static int64_t wrap(Type t, int64_t i) {
    int cut = 64 - type_info[t].bits;
    switch (type_info[t].class) {
    case CLASS_BOOL: return i != 0;
    case CLASS_INT: return (int64_t)((uint64_t)i << cut) >> cut;
    case CLASS_UINT: return (int64_t)((uint64_t)i << cut >> cut);
    default: return i;
    }
}

Value type_round(Type t, Value v) {
    if (!type_is_float(t)) return (Value){.i = wrap(t, v.i)};
    if (type_info[t].bits == 64) return v;
    if (type_info[t].bits == 32) return (Value){.f = (float)v.f};
    return (Value){.f = type_unpack(t, type_pack(t, (float)v.f))};
}

// Saturates; the bounds are exact in double except for the 64-bit maxima, which round up to 2^63
// and 2^64.
static int64_t int_from_float(Type t, double f) {
    if (isnan(f)) return 0;
    int bits = type_info[t].bits;
    if (type_info[t].class == CLASS_UINT) {
        if (f <= 0) return 0;
        if (f >= ldexp(1, bits)) return wrap(t, -1);
        return (int64_t)(uint64_t)f;
    }
    double limit = ldexp(1, bits - 1);
    if (f >= limit) return bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    if (f <= -limit) return bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    return (int64_t)f;
}

// f32 from a 64-bit integer rounds once.
static double float_from_int(Type to, Type from, int64_t i) {
    bool narrow = type_compute(to) != TYPE_F64;
    if (from == TYPE_U64) return narrow ? (double)(float)(uint64_t)i : (double)(uint64_t)i;
    return narrow ? (double)(float)i : (double)i;
}

Value type_convert(Type to, Type from, Value v) {
    if (type_is_float(from)) {
        if (to == TYPE_BOOL) return (Value){.i = v.f != 0};
        return type_is_float(to) ? type_round(to, v) : (Value){.i = int_from_float(to, v.f)};
    }
    if (type_is_float(to)) return type_round(to, (Value){.f = float_from_int(to, from, v.i)});
    return (Value){.i = wrap(to, v.i)};
}

// `bytes` of memory, zero-extended. Little-endian machines only, as store_bits.
static uint64_t load_bits(const void *p, int bytes) {
    uint64_t u = 0;
    switch (bytes) {
    case 1: memcpy(&u, p, 1); break;
    case 2: memcpy(&u, p, 2); break;
    case 4: memcpy(&u, p, 4); break;
    case 8: memcpy(&u, p, 8); break;
    }
    return u;
}

static void store_bits(void *p, int bytes, const Value *v) {
    switch (bytes) {
    case 1: memcpy(p, v, 1); break;
    case 2: memcpy(p, v, 2); break;
    case 4: memcpy(p, v, 4); break;
    case 8: memcpy(p, v, 8); break;
    }
}

Value type_load(Type t, const void *p) {
    uint64_t u = load_bits(p, type_info[t].bytes);
    Value v = {.i = (int64_t)u}; // of f64: the bits of v.f
    if (!type_is_float(t)) return (Value){.i = wrap(t, v.i)};
    if (type_info[t].bits == 64) return v;
    uint32_t low = (uint32_t)u;
    return (Value){.f = type_info[t].bits == 32 ? float_of(low) : type_unpack(t, low)};
}

void type_store(Type t, void *p, Value v) {
    if (type_is_float(t) && type_info[t].bits < 64) {
        float x = (float)v.f;
        v.i = type_info[t].bits == 32 ? bits_of(x) : type_pack(t, x);
    } else if (type_info[t].class == CLASS_BOOL) {
        v.i = v.i != 0;
    }
    store_bits(p, type_info[t].bytes, &v);
}

Value type_identity(Type t, char op) {
    bool is_float = type_is_float(t);
    int bits = type_info[t].bits;
    switch (op) {
    case '*': return is_float ? (Value){.f = 1} : (Value){.i = 1};
    case '<': // min starts from the largest value
        if (is_float) return (Value){.f = INFINITY};
        if (t == TYPE_BOOL) return (Value){.i = 1};
        if (type_info[t].class == CLASS_UINT) return (Value){.i = wrap(t, -1)};
        return (Value){.i = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1};
    case '>':
        if (is_float) return (Value){.f = -INFINITY};
        if (t == TYPE_BOOL || type_info[t].class == CLASS_UINT) return (Value){.i = 0};
        return (Value){.i = bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1))};
    default: return (Value){.i = 0}; // 0 and +0.0 share their bits
    }
}
