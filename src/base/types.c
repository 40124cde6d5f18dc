#include "base/types.h"

#include <math.h>
#include <string.h>

const TypeInfo type_info[TYPE_COUNT] = {
    [TYPE_NONE] = {"?", "?", "void", CLASS_NONE, 0, 0},
#define TYPE(id, name, class, bits, ctype, stripe)                                                 \
    [TYPE_##id] = {name, stripe, #ctype, CLASS_##class, bits, bits / 8},
#include "base/types.def"
#undef TYPE
};

Type type_accumulator(Type t) {
    if (t == TYPE_NONE) return t;
    if (type_is_float(t)) return type_compute(t);
    return type_info[t].bits < 32 ? TYPE_I32 : t;
}

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

// Round to nearest even, with denormals; NaN stays a quiet NaN.
uint16_t f16_from_f32(float f) {
    uint32_t u = bits_of(f), sign = (u >> 16) & 0x8000, mag = u & 0x7fffffff;
    if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | ((mag >> 13) & 0x3ff));
    if (mag >= 0x47800000) return (uint16_t)(sign | 0x7c00); // 65536 and more
    if (mag < 0x38800000) {                                  // below 2^-14: the FPU rounds for us
        uint32_t r = bits_of(float_of(mag) + 0.5f) - bits_of(0.5f);
        return (uint16_t)(sign | r);
    }
    uint32_t odd = (mag >> 13) & 1;
    mag += 0xfff + odd - (112u << 23);
    return (uint16_t)(sign | (mag >> 13)); // 65520 and more carries into infinity
}

float f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
    if (mag >= 0x7c00) return float_of(sign | 0x7f800000 | ((mag & 0x3ff) << 13));
    if (mag >= 0x400) return float_of(sign | ((mag << 13) + (112u << 23)));
    float denormal = (float)mag * 0x1p-24f;
    return float_of(sign | bits_of(denormal));
}

uint16_t bf16_from_f32(float f) {
    uint32_t u = bits_of(f);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)((u >> 16) | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

float bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

static int64_t wrap(Type t, int64_t i) {
    switch (t) {
    case TYPE_BOOL: return i != 0;
    case TYPE_I8: return (int8_t)i;
    case TYPE_I16: return (int16_t)i;
    case TYPE_I32: return (int32_t)i;
    case TYPE_U8: return (uint8_t)i;
    case TYPE_U16: return (uint16_t)i;
    case TYPE_U32: return (uint32_t)i;
    default: return i;
    }
}

Value type_round(Type t, Value v) {
    switch (t) {
    case TYPE_F64: return v;
    case TYPE_F32: return (Value){.f = (float)v.f};
    case TYPE_F16: return (Value){.f = f16_to_f32(f16_from_f32((float)v.f))};
    case TYPE_BF16: return (Value){.f = bf16_to_f32(bf16_from_f32((float)v.f))};
    default: return (Value){.i = wrap(t, v.i)};
    }
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
    bool narrow = to != TYPE_F64;
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

Value type_load(Type t, const void *p) {
    Value v = {.i = 0};
#define LOAD(T, field)                                                                             \
    do {                                                                                           \
        T x;                                                                                       \
        memcpy(&x, p, sizeof x);                                                                   \
        v.field = x;                                                                               \
    } while (0)
    switch (t) {
    case TYPE_BOOL: v.i = *(const uint8_t *)p != 0; break;
    case TYPE_U8: v.i = *(const uint8_t *)p; break;
    case TYPE_I8: v.i = *(const int8_t *)p; break;
    case TYPE_I16: LOAD(int16_t, i); break;
    case TYPE_U16: LOAD(uint16_t, i); break;
    case TYPE_I32: LOAD(int32_t, i); break;
    case TYPE_U32: LOAD(uint32_t, i); break;
    case TYPE_I64:
    case TYPE_U64: LOAD(int64_t, i); break;
    case TYPE_F32: LOAD(float, f); break;
    case TYPE_F64: LOAD(double, f); break;
    case TYPE_F16:
    case TYPE_BF16: {
        uint16_t x;
        memcpy(&x, p, sizeof x);
        v.f = t == TYPE_F16 ? f16_to_f32(x) : bf16_to_f32(x);
        break;
    }
    case TYPE_NONE:
    case TYPE_COUNT: break;
    }
#undef LOAD
    return v;
}

void type_store(Type t, void *p, Value v) {
    switch (t) {
    case TYPE_F64: memcpy(p, &v.f, 8); break;
    case TYPE_F32: {
        float x = (float)v.f;
        memcpy(p, &x, sizeof x);
        break;
    }
    case TYPE_F16:
    case TYPE_BF16: {
        uint16_t x = t == TYPE_F16 ? f16_from_f32((float)v.f) : bf16_from_f32((float)v.f);
        memcpy(p, &x, sizeof x);
        break;
    }
    default: {
        int64_t x = wrap(t, v.i); // little-endian targets only
        memcpy(p, &x, (size_t)type_info[t].bytes);
    }
    }
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
