#include "base/vec.h"

#include <limits.h>
#include <string.h>

void *vec_grow(Arena *arena, void *old, int n, int *cap, int more, size_t size) {
    if (more > INT_MAX / 2 - n) arena_out_of_memory(arena);
    int want = *cap < 8 ? 8 : *cap * 2;
    while (want < n + more) want *= 2;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)want, size, &bytes)) arena_out_of_memory(arena);
    void *at = arena_raw(arena, bytes);
    if (n) memcpy(at, old, (size_t)n * size);
    *cap = want;
    return at;
}
