// Bit matrices against brute force, and their wavefronts against the emulator's count of addresses.
#include "unit/check.h"

#include "emulate/warp.h"
#include "machine/bit_matrix.h"

#include <stdio.h>

static BitMatrix random_matrix(uint64_t *state, int ones) {
    BitMatrix m = {{0}};
    for (int i = 0; i < BITS; i++) {
        m.image[i] = 1u << i;
        for (int k = 0; k < ones; k++) m.image[i] ^= 1u << (check_random(state) % BITS);
    }
    return m;
}

TEST(matrices_are_linear_maps) {
    uint64_t state = 1;
    int inverses = 0;
    for (int round = 0; round < check_rounds(2000); round++) {
        BitMatrix f = random_matrix(&state, round % 4), g = random_matrix(&state, round % 3), back;
        BitMatrix both = bits_compose(&f, &g);
        uint32_t x = (uint32_t)check_random(&state), y = (uint32_t)check_random(&state);
        CHECK(bits_apply(&f, x ^ y) == (bits_apply(&f, x) ^ bits_apply(&f, y)));
        CHECK(bits_apply(&both, x) == bits_apply(&f, bits_apply(&g, x)));
        CHECK(!(bits_apply(&f, x) & ~bits_reach(&f, x)));
        bool inverts = bits_invert(&f, &back);
        CHECK(inverts == (bits_rank(f.image, BITS) == BITS));
        if (inverts) CHECK(bits_apply(&back, bits_apply(&f, x)) == x);
        inverses += inverts;
    }
    CHECK(inverses > 0);
}

// The rank is the logarithm of the number of sums.
TEST(ranks_count_sums) {
    uint64_t state = 2;
    for (int round = 0; round < check_rounds(500); round++) {
        uint32_t v[6];
        bool seen[64] = {false};
        int sums = 0, n = 1 + round % 6;
        for (int i = 0; i < n; i++) v[i] = (uint32_t)(check_random(&state) % 64);
        for (int s = 0; s < 1 << n; s++) {
            uint32_t sum = 0;
            for (int i = 0; i < n; i++) sum ^= s >> i & 1 ? v[i] : 0;
            sums += !seen[sum];
            seen[sum] = true;
        }
        CHECK_INT_EQ(1 << bits_rank(v, n), sums);
    }
}

// Every byte has one place, in its own unit, and 16 bytes stay together.
TEST(swizzles_permute) {
    static const int64_t rows[] = {2, 16, 32, 48, 64, 128, 192, 256, 384, 512, 1024};
    for (int bytes = 32; bytes <= 128; bytes *= 2)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            Swizzle z = swizzle_of(bytes, rows[r]);
            BitMatrix m = swizzle_matrix(z), twice = bits_compose(&m, &m), one = bits_identity();
            int64_t unit = swizzle_unit(z);
            CHECK_INT_EQ(16 << z.bits, bytes);
            for (int i = 0; i < BITS; i++) CHECK(twice.image[i] == one.image[i]);
            for (uint32_t x = 0; x < 4 * unit; x += 4) {
                uint32_t y = bits_apply(&m, x);
                CHECK(y / unit == x / unit && y % 16 == x % 16);
                CHECK(y == (x ^ ((x & swizzle_key(z)) >> (z.from - 4))));
            }
        }
    CHECK_INT_EQ(swizzle_unit(swizzle_of(0, 128)), 1);
}

// The same 16 bytes of 8 rows are in all banks, whatever the power of two between rows is.
TEST(swizzled_columns_are_in_all_banks) {
    for (uint32_t row = 16; row <= 4096; row *= 2) {
        BitMatrix m = swizzle_matrix(swizzle_of(128, row));
        uint32_t plain[5] = {row, 2 * row, 4 * row, 8 * row, 16 * row}, swizzled[5];
        for (int i = 0; i < 5; i++) swizzled[i] = bits_apply(&m, plain[i]);
        CHECK_INT_EQ(bits_wavefronts(swizzled, 16, false), 4);
        CHECK_INT_EQ(bits_wavefronts(plain, 16, false), row >= 128 ? 32 : 4 * (int)row / 16);
    }
}

TEST(wavefronts_equal_the_count_of_addresses) {
    uint64_t state = 3;
    for (int round = 0; round < check_rounds(5000); round++) {
        int bytes = 4 << round % 3, ideal;
        uint32_t lane[5], address[LANES];
        for (int i = 0; i < 5; i++) {
            uint64_t r = check_random(&state);
            lane[i] = (uint32_t)(r % 4 == 0   ? 0
                                 : r % 4 == 1 ? 1u << (r >> 2) % 13
                                              : (r >> 2) % 8192);
            lane[i] &= (uint32_t)-bytes;
        }
        for (uint32_t l = 0; l < LANES; l++) {
            address[l] = 0;
            for (int i = 0; i < 5; i++) address[l] ^= l >> i & 1 ? lane[i] : 0;
        }
        bool load = check_random(&state) % 2;
        int want = emu_wavefronts(address, UINT32_MAX, bytes, load, &ideal);
        if (!CHECK_INT_EQ(bits_wavefronts(lane, bytes, load), want)) printf("round %d\n", round);
    }
}
