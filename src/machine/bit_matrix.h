// Layouts of shared memory as bit matrices: linear maps of the bits of a number, where a sum is an
// exclusive or. The bytes that the lanes of a warp access, swizzles, and the banks of an address
// are such maps, so conflicts of banks are a question of ranks.
#ifndef LW_MACHINE_BIT_MATRIX_H
#define LW_MACHINE_BIT_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

enum { BITS = 32 };

typedef struct BitMatrix {
    uint32_t image[BITS]; // of each bit
} BitMatrix;

BitMatrix bits_identity(void);
uint32_t bits_apply(const BitMatrix *m, uint32_t x);
// Bits that may be one in the image of a number whose other bits than `may` are zero.
uint32_t bits_reach(const BitMatrix *m, uint32_t may);
// f(g(x)).
BitMatrix bits_compose(const BitMatrix *f, const BitMatrix *g);
// False: it has no inverse.
bool bits_invert(const BitMatrix *m, BitMatrix *out);
int bits_rank(const uint32_t *vector, int n);

// A swizzle of 2^bits chunks of 16 bytes: bits 4, 5, ... of a byte's offset are xored with those
// from `from` on. It permutes the chunks of every `swizzle_unit` bytes.
typedef struct Swizzle {
    int bits; // 0: none
    int from;
} Swizzle;

// `swizzle 128` (64, 32) of rows that are `row` bytes apart: chunk c of row r is at c ^ r%8, where
// rows of less than 128 bytes count together. Then the same chunk of 8 rows is in all banks.
Swizzle swizzle_of(int bytes, int64_t row);
static inline int64_t swizzle_unit(Swizzle z) {
    return z.bits ? INT64_C(1) << (z.from + z.bits) : 1;
}
// The bits that are xored into others.
static inline uint32_t swizzle_key(Swizzle z) { return ((1u << z.bits) - 1) << z.from; }
BitMatrix swizzle_matrix(Swizzle z);

// Cycles of the shared memory of an NVIDIA GPU for one access of a warp: lane l accesses `bytes`
// (4, 8 or 16, aligned) at the sum of lane[i] over the bits i of l.
int bits_wavefronts(const uint32_t lane[5], int bytes, bool load);

#endif
