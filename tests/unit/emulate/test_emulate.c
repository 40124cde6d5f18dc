// The emulator of PTX: each instruction against its meaning in C, on random and special values.
#include "support/emulab.h"
#include "unit/check.h"

#include "base/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 64 };

// --- Arithmetic ----------------------------------------------------------------------------------

static uint64_t special_bits(uint64_t *seed, int bits, bool is_float) {
    static const float floats[] = {0.0f, -0.0f,       1.0f,   -1.5f,   INFINITY, -INFINITY,
                                   NAN,  1e-45f,      1e-38f, 3.4e38f, 65504.0f, 65520.0f,
                                   0.1f, 16777217.0f, 2.5f,   3.5f};
    static const int64_t ints[] = {0,         1,         -1,     2,     31,        32,
                                   33,        63,        64,     65,    INT32_MAX, INT32_MIN,
                                   INT64_MAX, INT64_MIN, 0x8000, 0x7fff};
    uint64_t r = check_random(seed);
    if (r % 3) return check_random(seed) >> (check_random(seed) % 60);
    if (!is_float) return (uint64_t)ints[(r >> 8) % 16];
    double d = (double)floats[(r >> 8) % 16];
    uint64_t wide;
    uint32_t narrow;
    float f = (float)d;
    memcpy(&wide, &d, 8);
    memcpy(&narrow, &f, 4);
    return bits == 64 ? wide : narrow;
}

// Whether two results are equal; any NaN equals any NaN.
static bool same(uint64_t a, uint64_t b, int bits, bool is_float) {
    if (bits < 64) a &= (1ull << bits) - 1, b &= (1ull << bits) - 1;
    if (!is_float || a == b) return a == b;
    if (bits == 64) {
        double x, y;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        return x != x && y != y;
    }
    if (bits == 32) {
        float x, y;
        memcpy(&x, &a, 4);
        memcpy(&y, &b, 4);
        return x != x && y != y;
    }
    return false;
}

typedef uint64_t Meaning(uint64_t a, uint64_t b, uint64_t c);

typedef struct Case {
    const char *spelling;
    int nsrc, bits, result_bits; // of sources and result
    bool float_source, float_result;
    Meaning *meaning;
    int b_bits, c_bits; // 0: as bits
} Case;

static float f32(uint64_t a) {
    uint32_t low = (uint32_t)a;
    float f;
    memcpy(&f, &low, 4);
    return f;
}
static uint64_t b32(float f) {
    uint32_t low;
    memcpy(&low, &f, 4);
    return low;
}
static double f64(uint64_t a) {
    double d;
    memcpy(&d, &a, 8);
    return d;
}
static uint64_t b64(double d) {
    uint64_t a;
    memcpy(&a, &d, 8);
    return a;
}

#define INT(name, expr)                                                                            \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c) {                                     \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expr);                                                                   \
    }
#define S32(x) ((int32_t)(x))
#define U32(x) ((uint32_t)(x))
#define S64(x) ((int64_t)(x))
INT(add32, a + b)
INT(mad32, a *b + c)
INT(mulhi32, (S64(S32(a)) * S32(b)) >> 32)
INT(mulhiu32, ((uint64_t)U32(a) * U32(b)) >> 32)
INT(mulhi64, ((__int128)S64(a) * S64(b)) >> 64)
INT(mulwide, S64(S32(a)) * S32(b))
INT(madwideu, (uint64_t)U32(a) * U32(b) + c)
INT(div32, S32(b) == 0 ? ~UINT64_C(0) : S32(b) == -1 ? 0 - a : (uint64_t)(S32(a) / S32(b)))
INT(remu32, U32(b) == 0 ? ~0u : U32(a) % U32(b))
INT(div64, S64(b) == 0 ? ~UINT64_C(0) : S64(b) == -1 ? 0 - a : (uint64_t)(S64(a) / S64(b)))
INT(min32, S32(a) < S32(b) ? a : b)
INT(maxu32, U32(a) > U32(b) ? a : b)
INT(shl32, U32(b) > 31 ? 0 : U32(a) << U32(b))
INT(shrs32, S32(a) >> (U32(b) > 31 ? 31 : U32(b)))
INT(shru64, U32(b) > 63 ? 0 : a >> U32(b))
INT(shfl_wrap, ((((b & 0xffffffff) << 32) | (a & 0xffffffff)) << (c & 31)) >> 32)
INT(popc, __builtin_popcount(U32(a)))
INT(clz64, a ? __builtin_clzll(a) : 64)
INT(xor64, a ^ b)
INT(abs32, S32(a) < 0 ? 0 - a : a)
INT(add16, a + b)
INT(mulwide16, (int32_t)(int16_t)a *(int16_t)b)
INT(fadd, b32(f32(a) + f32(b)))
INT(fsub, b32(f32(a) - f32(b)))
INT(fmul, b32(f32(a) * f32(b)))
INT(ffma, b32(fmaf(f32(a), f32(b), f32(c))))
INT(fdiv, b32(f32(a) / f32(b)))
INT(frcp, b32(1 / f32(a)))
INT(fsqrt, b32(sqrtf(f32(a))))
INT(fneg, a ^ 0x80000000)
INT(fabs32, a & 0x7fffffff)
INT(dadd, b64(f64(a) + f64(b)))
INT(dfma, b64(fma(f64(a), f64(b), f64(c))))
INT(ddiv, b64(f64(a) / f64(b)))

static float ordered_min(float a, float b, bool nan) {
    if (isnan(a) || isnan(b)) return nan ? NAN : isnan(a) ? b : a;
    if (a == 0 && b == 0) return signbit(a) ? a : b;
    return a < b ? a : b;
}
INT(fmin32, b32(ordered_min(f32(a), f32(b), false)))
INT(fminnan, b32(ordered_min(f32(a), f32(b), true)))
INT(fmax32, b32(-ordered_min(-f32(a), -f32(b), false)))
INT(fmaxnan, b32(-ordered_min(-f32(a), -f32(b), true)))

static int64_t saturate(double x, double low, double high, int64_t lowest, int64_t highest) {
    if (isnan(x)) return 0;
    return x <= low ? lowest : x >= high ? highest : (int64_t)x;
}
INT(f2i, saturate(trunc(f32(a)), -2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX))
INT(f2i_near, saturate(nearbyint(f32(a)), -2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX))
INT(f2i_floor, saturate(floor(f32(a)), -2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX))
INT(f2u8, saturate(trunc(f32(a)), 0, 255, 0, 255))
INT(i2f, b32((float)S32(a)))
INT(u2f, b32((float)U32(a)))
INT(l2f, b32((float)S64(a)))
INT(l2d, b64((double)S64(a)))
INT(d2f, b32((float)f64(a)))
INT(f2d, b64((double)f32(a)))
INT(fint, b32(rintf(f32(a))))
INT(sext8, S64((int8_t)a))
INT(zext, U32(a))
INT(bf2f, b32(f32((a & 0xffff) << 16)))
// To nearest even by the classical bias trick; NaN is compared by class below.
static uint64_t f2bf(uint64_t a, uint64_t b, uint64_t c) {
    (void)b, (void)c;
    uint32_t u = U32(a);
    if (isnan(f32(a))) return 0x7fff;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static double half(uint64_t a) { return type_unpack(TYPE_F16, (uint32_t)(a & 0xffff)); }
// The nearest half, to even: of the neighbours of a first guess, the one with the least distance.
static uint64_t half_bits(double x) {
    if (isnan(x)) return 0x7fff;
    if (fabs(x) >= 65520) return x < 0 ? 0xfc00 : 0x7c00;
    uint32_t guess = type_pack(TYPE_F16, (float)x), best = guess;
    for (uint32_t h = guess - ((guess & 0x7fff) > 0); h <= guess + ((guess & 0x7fff) < 0x7bff);
         h++) {
        double new = fabs(half(h) - x), old = fabs(half(best) - x);
        if (new < old || (new == old && !(h & 1))) best = h;
    }
    return best;
}
INT(f2h, half_bits(f32(a)))
INT(h2f, b32((float)half(a)))
// Sums and products of halves are exact in f64, so that there is one rounding.
INT(hadd, half_bits(half(a) + half(b)))
INT(hmul, half_bits(half(a) * half(b)))
INT(bmul, f2bf(b32((float)((double)f32(a << 16) * (double)f32(b << 16))), 0, 0))
INT(rem32, S32(b) == 0 ? ~UINT64_C(0) : S32(b) == -1 ? 0 : (uint64_t)(S32(a) % S32(b)))
INT(divu64, b == 0 ? ~UINT64_C(0) : a / b)
INT(madhi, (uint64_t)((S64(S32(a)) * S32(b)) >> 32) + c)
INT(shf_r_clamp,
    (c & 0xffffffff) > 31 ? b : (((b & 0xffffffff) << 32) | (a & 0xffffffff)) >> (c & 63))
INT(fsat, isnan(f32(a)) || f32(a) <= 0 ? 0 : f32(a) > 1 ? b32(1) : a)
INT(f2l, isnan(f64(a)) ? UINT64_C(1) << 63
                       : (uint64_t)saturate(trunc(f64(a)), -9223372036854775808.0,
                                            9223372036854775808.0, INT64_MIN, INT64_MAX))
static uint64_t bits_reversed(uint64_t a, uint64_t b, uint64_t c) {
    (void)b, (void)c;
    uint64_t r = 0;
    for (int i = 0; i < 32; i++)
        if (a >> i & 1) r |= UINT64_C(1) << (31 - i);
    return r;
}
// Bit by bit, as the PTX manual states it.
static uint64_t field(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t r = 0, pos = b & 255, len = c & 255;
    uint64_t sign = len == 0 ? 0 : a >> (pos + len - 1 < 31 ? pos + len - 1 : 31) & 1;
    for (uint64_t i = 0; i < 32; i++)
        r |= (i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign) << i;
    return r;
}
static uint64_t dot(uint64_t a, uint64_t b, uint64_t c) {
    int32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += (int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i);
    return (uint64_t)(int64_t)sum + c;
}
static uint64_t bytes_permuted(uint64_t a, uint64_t b, uint64_t c) {
    uint8_t from[8], to[4];
    memcpy(from, &a, 4);
    memcpy(from + 4, &b, 4);
    for (int i = 0; i < 4; i++) {
        unsigned n = (unsigned)(c >> 4 * i) & 15;
        to[i] = n < 8 ? from[n] : (uint8_t)((int8_t)from[n - 8] >> 7);
    }
    uint32_t r;
    memcpy(&r, to, 4);
    return r;
}

static const Case cases[] = {
    {"add.rn.f16", 2, 16, 16, false, false, hadd, 0, 0},
    {"mul.rn.f16", 2, 16, 16, false, false, hmul, 0, 0},
    {"mul.rn.bf16", 2, 16, 16, false, false, bmul, 0, 0},
    {"rem.s32", 2, 32, 32, false, false, rem32, 0, 0},
    {"div.u64", 2, 64, 64, false, false, divu64, 0, 0},
    {"mad.hi.s32", 3, 32, 32, false, false, madhi, 0, 0},
    {"shf.r.clamp.b32", 3, 32, 32, false, false, shf_r_clamp, 0, 0},
    {"brev.b32", 1, 32, 32, false, false, bits_reversed, 0, 0},
    {"bfe.s32", 3, 32, 32, false, false, field, 0, 0},
    {"dp4a.s32.s32", 3, 32, 32, false, false, dot, 0, 0},
    {"prmt.b32", 3, 32, 32, false, false, bytes_permuted, 0, 0},
    {"cvt.sat.f32.f32", 1, 32, 32, true, true, fsat, 0, 0},
    {"cvt.rzi.s64.f64", 1, 64, 64, true, false, f2l, 0, 0},
    {"add.s32", 2, 32, 32, false, false, add32, 0, 0},
    {"mad.lo.u32", 3, 32, 32, false, false, mad32, 0, 0},
    {"mul.hi.s32", 2, 32, 32, false, false, mulhi32, 0, 0},
    {"mul.hi.u32", 2, 32, 32, false, false, mulhiu32, 0, 0},
    {"mul.hi.s64", 2, 64, 64, false, false, mulhi64, 0, 0},
    {"mul.wide.s32", 2, 32, 64, false, false, mulwide, 0, 0},
    {"mad.wide.u32", 3, 32, 64, false, false, madwideu, 0, 64},
    {"div.s32", 2, 32, 32, false, false, div32, 0, 0},
    {"rem.u32", 2, 32, 32, false, false, remu32, 0, 0},
    {"div.s64", 2, 64, 64, false, false, div64, 0, 0},
    {"min.s32", 2, 32, 32, false, false, min32, 0, 0},
    {"max.u32", 2, 32, 32, false, false, maxu32, 0, 0},
    {"shl.b32", 2, 32, 32, false, false, shl32, 32, 0},
    {"shr.s32", 2, 32, 32, false, false, shrs32, 32, 0},
    {"shr.u64", 2, 64, 64, false, false, shru64, 32, 0},
    {"shf.l.wrap.b32", 3, 32, 32, false, false, shfl_wrap, 0, 0},
    {"popc.b32", 1, 32, 32, false, false, popc, 0, 0},
    {"clz.b64", 1, 64, 32, false, false, clz64, 0, 0},
    {"xor.b64", 2, 64, 64, false, false, xor64, 0, 0},
    {"abs.s32", 1, 32, 32, false, false, abs32, 0, 0},
    {"add.u16", 2, 16, 16, false, false, add16, 0, 0},
    {"mul.wide.s16", 2, 16, 32, false, false, mulwide16, 0, 0},
    {"add.rn.f32", 2, 32, 32, true, true, fadd, 0, 0},
    {"sub.rn.f32", 2, 32, 32, true, true, fsub, 0, 0},
    {"mul.rn.f32", 2, 32, 32, true, true, fmul, 0, 0},
    {"fma.rn.f32", 3, 32, 32, true, true, ffma, 0, 0},
    {"div.rn.f32", 2, 32, 32, true, true, fdiv, 0, 0},
    {"rcp.rn.f32", 1, 32, 32, true, true, frcp, 0, 0},
    {"sqrt.rn.f32", 1, 32, 32, true, true, fsqrt, 0, 0},
    {"neg.f32", 1, 32, 32, true, true, fneg, 0, 0},
    {"abs.f32", 1, 32, 32, true, true, fabs32, 0, 0},
    {"min.f32", 2, 32, 32, true, true, fmin32, 0, 0},
    {"max.f32", 2, 32, 32, true, true, fmax32, 0, 0},
    {"min.NaN.f32", 2, 32, 32, true, true, fminnan, 0, 0},
    {"max.NaN.f32", 2, 32, 32, true, true, fmaxnan, 0, 0},
    {"add.rn.f64", 2, 64, 64, true, true, dadd, 0, 0},
    {"fma.rn.f64", 3, 64, 64, true, true, dfma, 0, 0},
    {"div.rn.f64", 2, 64, 64, true, true, ddiv, 0, 0},
    {"cvt.rzi.s32.f32", 1, 32, 32, true, false, f2i, 0, 0},
    {"cvt.rni.s32.f32", 1, 32, 32, true, false, f2i_near, 0, 0},
    {"cvt.rmi.s32.f32", 1, 32, 32, true, false, f2i_floor, 0, 0},
    {"cvt.rzi.u8.f32", 1, 32, 32, true, false, f2u8, 0, 0},
    {"cvt.rn.f32.s32", 1, 32, 32, false, true, i2f, 0, 0},
    {"cvt.rn.f32.u32", 1, 32, 32, false, true, u2f, 0, 0},
    {"cvt.rn.f32.s64", 1, 64, 32, false, true, l2f, 0, 0},
    {"cvt.rn.f64.s64", 1, 64, 64, false, true, l2d, 0, 0},
    {"cvt.rn.f32.f64", 1, 64, 32, true, true, d2f, 0, 0},
    {"cvt.f64.f32", 1, 32, 64, true, true, f2d, 0, 0},
    {"cvt.rni.f32.f32", 1, 32, 32, true, true, fint, 0, 0},
    {"cvt.s64.s8", 1, 32, 64, false, false, sext8, 0, 0},
    {"cvt.u64.u32", 1, 32, 64, false, false, zext, 0, 0},
    {"cvt.f32.bf16", 1, 16, 32, false, true, bf2f, 0, 0},
    {"cvt.f32.f16", 1, 16, 32, false, true, h2f, 0, 0},
    {"cvt.rn.f16.f32", 1, 32, 16, true, false, f2h, 0, 0},
    {"cvt.rn.bf16.f32", 1, 32, 16, true, false, f2bf, 0, 0},
};

static const char *reg(int bits) { return bits == 64 ? "%d" : bits == 16 ? "%h" : "%r"; }

// Loads operand i from buffer i, applies the instruction, stores to the last buffer.
static void case_text(const Case *c, char *text, size_t size) {
    int bits[3] = {c->bits, c->b_bits ? c->b_bits : c->bits, c->c_bits ? c->c_bits : c->bits};
    size_t n = (size_t)snprintf(text, size, "%s.visible .entry k(", emulab_head);
    for (int i = 0; i <= c->nsrc; i++)
        n += (size_t)snprintf(text + n, size - n, "%s.param .u64 p%d", i ? ", " : "", i);
    n += (size_t)snprintf(text + n, size - n,
                          ") {\n.reg .b16 %%h<8>;\n.reg .b32 %%r<8>;\n.reg .b64 %%d<8>;\n"
                          ".reg .b64 %%a;\nmov.u32 %%r7, %%tid.x;\n");
    for (int i = 0; i < c->nsrc; i++)
        n += (size_t)snprintf(text + n, size - n,
                              "ld.param.u64 %%a, [p%d];\ncvta.to.global.u64 %%a, %%a;\n"
                              "mad.wide.u32 %%a, %%r7, %d, %%a;\nld.global.b%d %s%d, [%%a];\n",
                              i, bits[i] / 8, bits[i], reg(bits[i]), i);
    n += (size_t)snprintf(text + n, size - n, "%s %s6", c->spelling, reg(c->result_bits));
    for (int i = 0; i < c->nsrc; i++)
        n += (size_t)snprintf(text + n, size - n, ", %s%d", reg(bits[i]), i);
    snprintf(text + n, size - n,
             ";\nld.param.u64 %%a, [p%d];\nmad.wide.u32 %%a, %%r7, %d, %%a;\n"
             "st.global.b%d [%%a], %s6;\nret;\n}\n",
             c->nsrc, c->result_bits / 8, c->result_bits, reg(c->result_bits));
}

static void run_case(EmuLab *lab, const Case *c, uint64_t *seed) {
    uint64_t source[3][THREADS];
    uint8_t packed[3][THREADS * 8], result[THREADS * 8];
    void *data[4];
    size_t bytes[4];
    char text[2048];
    int bits[3] = {c->bits, c->b_bits ? c->b_bits : c->bits, c->c_bits ? c->c_bits : c->bits};
    for (int i = 0; i < c->nsrc; i++) {
        size_t width = (size_t)bits[i] / 8;
        for (int t = 0; t < THREADS; t++) {
            source[i][t] = special_bits(seed, bits[i], c->float_source);
            if (bits[i] < 64) source[i][t] &= (1ull << bits[i]) - 1;
            memcpy(packed[i] + (size_t)t * width, &source[i][t], width);
        }
        data[i] = packed[i];
        bytes[i] = width * THREADS;
    }
    data[c->nsrc] = result;
    bytes[c->nsrc] = (size_t)c->result_bits / 8 * THREADS;
    case_text(c, text, sizeof text);
    DeviceStatus status = emulab_run(lab, text, 1, THREADS, 0, data, bytes, c->nsrc + 1, c->nsrc);
    if (!CHECK(status == DEVICE_OK)) {
        printf("  %s: %s\n%s\n", c->spelling, lab->error.text, text);
        return;
    }
    for (int t = 0; t < THREADS; t++) {
        uint64_t got = 0, a = source[0][t], b = c->nsrc > 1 ? source[1][t] : 0;
        uint64_t want = c->meaning(a, b, c->nsrc > 2 ? source[2][t] : 0);
        memcpy(&got, result + (size_t)t * (size_t)c->result_bits / 8, (size_t)c->result_bits / 8);
        if (!CHECK(same(got, want, c->result_bits, c->float_result)))
            printf("  %s of %llx, %llx: %llx instead of %llx\n", c->spelling, (unsigned long long)a,
                   (unsigned long long)b, (unsigned long long)got, (unsigned long long)want);
    }
}

TEST(emulate_arithmetic_is_that_of_c) {
    EmuLab lab;
    if (!CHECK(emulab_open(&lab))) return;
    uint64_t seed = 1;
    for (int64_t round = 0; round < check_rounds(40); round++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&lab, &cases[i], &seed);
    emulab_close(&lab);
}
