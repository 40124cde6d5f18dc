// The scalar types: conversions against arithmetic that is obviously right.
#include "unit/check.h"

#include "base/types.h"

#include <math.h>

static float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

// The value of the k-th finite magnitude of a format with `fraction` stored fraction bits and the
// given exponent bias, by definition.
static double magnitude(int k, int fraction, int bias) {
    int exponent = k >> fraction, low = k & ((1 << fraction) - 1);
    return exponent ? ldexp(low + (1 << fraction), exponent - bias - fraction)
                    : ldexp(low, 1 - bias - fraction);
}

TEST(f16_and_bf16_mean_what_their_bits_say) {
    for (int h = 0; h < 0x7c00; h++) {
        CHECK_F64_EQ((double)f16_to_f32((uint16_t)h), magnitude(h, 10, 15));
        CHECK_F64_EQ((double)f16_to_f32((uint16_t)(h | 0x8000)), -magnitude(h, 10, 15));
    }
    for (int h = 0; h < 0x7f80; h++)
        CHECK_F64_EQ((double)bf16_to_f32((uint16_t)h), magnitude(h, 7, 127));
    CHECK(isinf(f16_to_f32(0x7c00)) && isinf(bf16_to_f32(0xff80)));
    CHECK(isnan(f16_to_f32(0x7c01)) && isnan(bf16_to_f32(0x7fff)));
}

TEST(f16_and_bf16_survive_the_way_there_and_back) {
    for (int h = 0; h < 0x10000; h++) {
        float f = f16_to_f32((uint16_t)h), b = bf16_to_f32((uint16_t)h);
        if (!isnan(f))
            CHECK_INT_EQ(f16_from_f32(f), h);
        else
            CHECK(isnan(f16_to_f32(f16_from_f32(f))));
        if (!isnan(b))
            CHECK_INT_EQ(bf16_from_f32(b), h);
        else
            CHECK(isnan(bf16_to_f32(bf16_from_f32(b))));
    }
}

// Halfway between neighbours goes to the even one; anything beyond halfway to the nearer.
TEST(f16_and_bf16_round_to_nearest_even) {
    for (int h = 0; h < 0x7bff; h++) {
        float middle = (float)((magnitude(h, 10, 15) + magnitude(h + 1, 10, 15)) / 2);
        CHECK_INT_EQ(f16_from_f32(middle), h + (h & 1));
        CHECK_INT_EQ(f16_from_f32(nextafterf(middle, 0)), h);
        CHECK_INT_EQ(f16_from_f32(-nextafterf(middle, 1e9f)), (h + 1) | 0x8000);
    }
    CHECK_INT_EQ(f16_from_f32(65519.996f), 0x7bff);
    CHECK_INT_EQ(f16_from_f32(65520), 0x7c00);
    for (int h = 0; h < 0x7f7f; h++) {
        float middle = float_of_bits((uint32_t)h << 16 | 0x8000);
        CHECK_INT_EQ(bf16_from_f32(middle), h + (h & 1));
        CHECK_INT_EQ(bf16_from_f32(float_of_bits((uint32_t)h << 16 | 0x7fff)), h);
        CHECK_INT_EQ(bf16_from_f32(float_of_bits((uint32_t)h << 16 | 0x8001)), h + 1);
    }
    CHECK_INT_EQ(bf16_from_f32(float_of_bits(0x7f7fffff)), 0x7f80);
}

static int64_t int_of(Type to, double f) { return type_convert(to, TYPE_F64, (Value){.f = f}).i; }

TEST(float_to_integer_saturates_and_nan_is_zero) {
    CHECK_INT_EQ(int_of(TYPE_I8, 127.9), 127);
    CHECK_INT_EQ(int_of(TYPE_I8, 128), 127);
    CHECK_INT_EQ(int_of(TYPE_I8, -128.9), -128);
    CHECK_INT_EQ(int_of(TYPE_I8, -1e30), -128);
    CHECK_INT_EQ(int_of(TYPE_U8, -3), 0);
    CHECK_INT_EQ(int_of(TYPE_U8, 1e30), 255);
    CHECK_INT_EQ(int_of(TYPE_I32, -2.9), -2);
    CHECK_INT_EQ(int_of(TYPE_I64, 0x1p63), INT64_MAX);
    CHECK_INT_EQ(int_of(TYPE_I64, -0x1p63), INT64_MIN);
    CHECK(int_of(TYPE_U64, 0x1p63) == INT64_MIN); // 2^63, in the bits of an int64
    CHECK(int_of(TYPE_U64, INFINITY) == -1);
    for (Type t = TYPE_I8; t <= TYPE_U64; t++) CHECK_INT_EQ(int_of(t, NAN), 0);
    CHECK_INT_EQ(int_of(TYPE_BOOL, 0.25), 1);
    CHECK_INT_EQ(int_of(TYPE_BOOL, -0.0), 0);
}

TEST(integers_wrap_and_widen_by_their_sign) {
    CHECK_INT_EQ(type_convert(TYPE_U8, TYPE_I32, (Value){.i = -1}).i, 255);
    CHECK_INT_EQ(type_convert(TYPE_I8, TYPE_U8, (Value){.i = 200}).i, -56);
    CHECK_INT_EQ(type_convert(TYPE_I16, TYPE_I64, (Value){.i = 0x18000}).i, -0x8000);
    CHECK_F64_EQ(type_convert(TYPE_F64, TYPE_U64, (Value){.i = -1}).f, 0x1p64);
    CHECK_F64_EQ(type_convert(TYPE_F64, TYPE_I64, (Value){.i = -1}).f, -1);
    // once, not by way of a double: 2^54 + 2^30 + 1 lies just above halfway between two floats
    int64_t above = (INT64_C(1) << 54) + (INT64_C(1) << 30) + 1;
    CHECK_F64_EQ(type_convert(TYPE_F32, TYPE_I64, (Value){.i = above}).f, 0x1p54 + 0x1p31);
}

TEST(stored_values_come_back) {
    uint64_t random = 5;
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        for (int i = 0; i < 2000; i++) {
            unsigned char raw[24] = {0}, again[24] = {0};
            uint64_t bits = check_random(&random);
            memcpy(raw + 1, &bits, (size_t)type_info[t].bytes);
            Value v = type_load(t, raw + 1); // not aligned
            if (type_is_float(t) && v.f != v.f) continue;
            type_store(t, again + 1, v);
            if (t == TYPE_BOOL)
                CHECK_INT_EQ(again[1], raw[1] != 0);
            else
                CHECK(memcmp(raw, again, sizeof raw) == 0);
            Value round = type_round(t, v);
            CHECK(memcmp(&round, &v, sizeof v) == 0);
        }
    }
}

TEST(promotion_is_symmetric_and_holds_both) {
    for (Type a = TYPE_BOOL; a < TYPE_COUNT; a++) {
        CHECK_INT_EQ(type_promote(a, a), a);
        CHECK_INT_EQ(type_promote(a, TYPE_BOOL), a);
        for (Type b = TYPE_BOOL; b < TYPE_COUNT; b++)
            CHECK_INT_EQ(type_promote(a, b), type_promote(b, a));
    }
    CHECK_INT_EQ(type_promote(TYPE_F16, TYPE_BF16), TYPE_F32);
    CHECK_INT_EQ(type_promote(TYPE_F16, TYPE_I64), TYPE_F16);
    CHECK_INT_EQ(type_promote(TYPE_U8, TYPE_I8), TYPE_I16);
    CHECK_INT_EQ(type_promote(TYPE_U8, TYPE_I32), TYPE_I32);
    CHECK_INT_EQ(type_promote(TYPE_U32, TYPE_I32), TYPE_I64);
    CHECK_INT_EQ(type_promote(TYPE_U64, TYPE_I8), TYPE_I64);
    CHECK_INT_EQ(type_accumulator(TYPE_BF16), TYPE_F32);
    CHECK_INT_EQ(type_accumulator(TYPE_U8), TYPE_I32);
    CHECK_INT_EQ(type_accumulator(TYPE_F64), TYPE_F64);
}

TEST(types_are_found_by_their_names) {
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        const char *name = type_info[t].name;
        CHECK_INT_EQ(type_by_name(name, (int)strlen(name)), t);
        CHECK_INT_EQ(type_info[t].bytes * 8, type_info[t].bits);
    }
    CHECK_INT_EQ(type_by_name("f3", 2), TYPE_NONE);
    CHECK_INT_EQ(type_by_name("f320", 4), TYPE_NONE);
    CHECK_INT_EQ(type_by_name("f32x", 3), TYPE_F32);
}

TEST(identities_leave_everything_as_it_is) {
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        Value low = type_identity(t, '>'), high = type_identity(t, '<');
        if (type_is_float(t))
            CHECK(low.f == -INFINITY && high.f == INFINITY);
        else if (type_info[t].class == CLASS_INT)
            CHECK(low.i < 0 && high.i == ~low.i);
        else
            CHECK(low.i == 0 && high.i == type_round(t, (Value){.i = -1}).i);
        if (type_is_float(t)) CHECK_F64_EQ(type_identity(t, '+').f, 0);
        if (type_is_float(t)) CHECK_F64_EQ(type_identity(t, '*').f, 1);
    }
}
