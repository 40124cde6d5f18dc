#include "machine/bit_matrix.h"

BitMatrix bits_identity(void) {
    BitMatrix m;
    for (int i = 0; i < BITS; i++) m.image[i] = 1u << i;
    return m;
}

uint32_t bits_apply(const BitMatrix *m, uint32_t x) {
    uint32_t out = 0;
    for (; x; x &= x - 1) out ^= m->image[__builtin_ctz(x)];
    return out;
}

uint32_t bits_reach(const BitMatrix *m, uint32_t may) {
    uint32_t out = 0;
    for (; may; may &= may - 1) out |= m->image[__builtin_ctz(may)];
    return out;
}

BitMatrix bits_compose(const BitMatrix *f, const BitMatrix *g) {
    BitMatrix m;
    for (int i = 0; i < BITS; i++) m.image[i] = bits_apply(f, g->image[i]);
    return m;
}

// Gauss and Jordan: every step leaves one more bit to itself, in both matrices.
bool bits_invert(const BitMatrix *m, BitMatrix *out) {
    BitMatrix left = *m;
    *out = bits_identity();
    for (int i = 0; i < BITS; i++) {
        int pivot = i;
        while (pivot < BITS && !(left.image[pivot] >> i & 1)) pivot++;
        if (pivot == BITS) return false;
        uint32_t x = left.image[pivot], y = out->image[pivot];
        left.image[pivot] = left.image[i];
        out->image[pivot] = out->image[i];
        left.image[i] = x;
        out->image[i] = y;
        for (int k = 0; k < BITS; k++) {
            if (k == i || !(left.image[k] >> i & 1)) continue;
            left.image[k] ^= x;
            out->image[k] ^= y;
        }
    }
    return true;
}

int bits_rank(const uint32_t *vector, int n) {
    uint32_t leading[BITS] = {0}; // by the highest bit
    int rank = 0;
    for (int i = 0; i < n; i++) {
        uint32_t x = vector[i];
        while (x && leading[31 - __builtin_clz(x)]) x ^= leading[31 - __builtin_clz(x)];
        if (!x) continue;
        leading[31 - __builtin_clz(x)] = x;
        rank++;
    }
    return rank;
}

// --- Swizzles ------------------------------------------------------------------------------------

enum { CHUNK = 4, LINE = 7 }; // bits of the offset in 16 bytes, and in all banks

Swizzle swizzle_of(int bytes, int64_t row) {
    if (!bytes) return (Swizzle){0, 0};
    int from = row > 0 ? __builtin_ctzll((uint64_t)row) : LINE;
    return (Swizzle){__builtin_ctz((unsigned)bytes) - CHUNK, from > LINE ? from : LINE};
}

BitMatrix swizzle_matrix(Swizzle z) {
    BitMatrix m = bits_identity();
    for (int i = 0; i < z.bits; i++) m.image[z.from + i] |= 1u << (CHUNK + i);
    return m;
}

// --- Banks ---------------------------------------------------------------------------------------

// Lanes 0 ... 2^bits - 1 at once: every bank that they want delivers the same number of words.
static int part_wavefronts(const uint32_t *lane, int bits, int bytes) {
    uint32_t word[7], bank[7];
    int n = 0;
    for (int i = 0; i < bits; i++) word[n++] = lane[i] >> 2;
    for (int w = 1; w < bytes / 4; w *= 2) word[n++] = (uint32_t)w;
    for (int i = 0; i < n; i++) bank[i] = word[i] & 31;
    return 1 << (bits_rank(word, n) - bits_rank(bank, n));
}

int bits_wavefronts(const uint32_t lane[5], int bytes, bool load) {
    int bits = bytes <= 4 ? 5 : bytes == 8 ? 4 : 3;
    if (bytes == 16 && load && (!lane[0] || !lane[1])) bits = 4; // neighbours share their loads
    return part_wavefronts(lane, bits, bytes) << (5 - bits);
}
