// Reproducible random numbers (splitmix64): the state is the seed, and every state is valid.
#ifndef LW_BASE_RANDOM_H
#define LW_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// In [0, 1); in [0, n), n >= 1.
static inline double random_unit(uint64_t *state) {
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
static inline int random_below(uint64_t *state, int n) {
    return (int)(random_next(state) % (uint64_t)n);
}

// A random one of the set bits; at least one must be set.
static inline uint64_t random_bit(uint64_t *state, uint64_t bits) {
    for (int skip = random_below(state, __builtin_popcountll(bits)); skip > 0; skip--)
        bits &= bits - 1;
    return bits & -bits;
}

#endif
