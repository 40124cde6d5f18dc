// The scalar types: conversions against obviously correct arithmetic.
#include "unit/check.h"

#include "base/types.h"

#include <float.h>
#include <math.h>

// The value of the k-th finite magnitude of a float type, by definition of its columns.
static double magnitude(Type t, int64_t k) {
    int fraction = type_info[t].precision - 1, bias = type_info[t].bias;
    int64_t exponent = k >> fraction, one = INT64_C(1) << fraction, low = k & (one - 1);
    return exponent ? ldexp((double)(low + one), (int)exponent - bias - fraction)
                    : ldexp((double)low, 1 - bias - fraction);
}

// The bits of infinity in a storage float: as many magnitudes are finite.
static int infinity_of(Type t) {
    int fraction = type_info[t].precision - 1;
    return ((1 << (type_info[t].bits - 1 - fraction)) - 1) << fraction;
}

#define FOR_STORAGE_FLOATS(t)                                                                      \
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++)                                                  \
        if (type_is_storage(t))

TEST(columns_of_a_type_agree) {
    int storage = 0;
    for (Type t = TYPE_BOOL; t < TYPE_COUNT; t++) {
        const TypeInfo *i = &type_info[t];
        CHECK_INT_EQ(i->bits, 8 * i->bytes);
        CHECK(type_info[i->compute].class == i->class && i->compute == type_compute(i->compute));
        CHECK(i->lane == type_info[i->lane].lane && type_info[i->lane].class == i->class);
        CHECK(type_is_float(t) == (i->precision > 0) && type_is_float(t) == (i->bias > 0));
        CHECK(type_info[i->sum].bits >= i->bits && type_info[i->sum].sum == i->sum);
        storage += type_is_storage(t);
    }
    CHECK_INT_EQ(storage, 2);
}

TEST(storage_floats_mean_what_their_bits_say) {
    FOR_STORAGE_FLOATS(t) {
        uint32_t sign = 1u << (type_info[t].bits - 1), inf = (uint32_t)infinity_of(t);
        for (uint32_t h = 0; h < inf; h++) {
            CHECK_F64_EQ((double)type_unpack(t, h), magnitude(t, h));
            CHECK_F64_EQ((double)type_unpack(t, h | sign), -magnitude(t, h));
        }
        CHECK(type_unpack(t, inf) == INFINITY && type_unpack(t, inf | sign) == -INFINITY);
        CHECK(isnan(type_unpack(t, inf + 1)) && isnan(type_unpack(t, sign - 1)));
    }
    CHECK_INT_EQ(infinity_of(TYPE_F16), 0x7c00);
    CHECK_INT_EQ(infinity_of(TYPE_BF16), 0x7f80);
}

TEST(storage_floats_survive_the_way_there_and_back) {
    FOR_STORAGE_FLOATS(t)
    for (uint32_t h = 0; h < 1u << type_info[t].bits; h++) {
        float f = type_unpack(t, h);
        if (!isnan(f))
            CHECK_INT_EQ(type_pack(t, f), h);
        else
            CHECK(isnan(type_unpack(t, type_pack(t, f))));
    }
}

// Halfway between neighbours goes to the even one; anything beyond halfway to the nearer.
TEST(storage_floats_round_to_nearest_even) {
    FOR_STORAGE_FLOATS(t) {
        uint32_t sign = 1u << (type_info[t].bits - 1), inf = (uint32_t)infinity_of(t);
        for (uint32_t h = 0; h < inf; h++) { // the last ones lie beside infinity
            float middle = (float)((magnitude(t, h) + magnitude(t, h + 1)) / 2);
            CHECK_INT_EQ(type_pack(t, middle), h + (h & 1));
            CHECK_INT_EQ(type_pack(t, nextafterf(middle, 0)), h);
            CHECK_INT_EQ(type_pack(t, -nextafterf(middle, INFINITY)), (h + 1) | sign);
        }
    }
    CHECK_INT_EQ(type_pack(TYPE_F16, 65519.996f), 0x7bff);
    CHECK_INT_EQ(type_pack(TYPE_F16, 65520), 0x7c00);
    CHECK_INT_EQ(type_pack(TYPE_BF16, -FLT_MAX), 0xff80);
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
    // rounded once, not through a double: 2^54 + 2^30 + 1 is just above halfway between two floats
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
