// Hash sets of pointers in an arena, open addressing. The caller hashes and compares, so one
// structure serves interning of strings, hash-consing of expressions and look-up by name:
//
//     void **slot = set_find(arena, &set, hash, key, same);   // *slot is NULL when absent
//     if (!*slot) *slot = make(...), set.n++;
//
// A slot pointer is valid until the next set_find.
#ifndef LW_BASE_MAP_H
#define LW_BASE_MAP_H

#include "base/arena.h"

typedef struct Set {
    void **at;
    uint64_t *hash;
    int n, cap; // cap is a power of two, or 0
} Set;

typedef bool SetSame(const void *key, const void *item);

// A copy of `s` that grows independently; it shares the items.
Set set_fork(Arena *arena, const Set *s);
void **set_find(Arena *arena, Set *s, uint64_t hash, const void *key, SetSame *same);

// Numbers by pointer, such as the position in a list by interned name.
typedef struct Numbers {
    Arena *arena;
    Set set;
} Numbers;

// A key that already has a number keeps it.
void numbers_put(Numbers *m, const void *key, int number);
int numbers_get(Numbers *m, const void *key); // -1: none

// A well-mixing 64-bit hash, fed piece by piece.
static inline uint64_t hash_mix(uint64_t h, uint64_t x) {
    unsigned __int128 m = (unsigned __int128)(h ^ x) * 0x9e3779b97f4a7c15ull;
    return (uint64_t)m ^ (uint64_t)(m >> 64); // doubles often differ only in their high bits
}
uint64_t hash_bytes(uint64_t h, const void *p, size_t n);

#endif
