// Growable arrays in an arena: `VEC(int) v = {0}; vec_push(arena, &v, 3); v.at[0]; v.n`.
// Growth leaves the old storage in the arena (freed with it).
#ifndef LW_BASE_VEC_H
#define LW_BASE_VEC_H

#include "base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        int n, cap;                                                                                \
    }

#define vec_reserve(arena, v, more)                                                                \
    ((v)->n + (more) <= (v)->cap ? (void)0                                                         \
                                 : (void)((v)->at = vec_grow((arena), (v)->at, (v)->n, &(v)->cap,  \
                                                             (more), sizeof *(v)->at)))
#define vec_push(arena, v, x) (vec_reserve((arena), (v), 1), (v)->at[(v)->n++] = (x))
#define vec_last(v)           ((v)->at[(v)->n - 1])
#define vec_pop(v)            ((v)->at[--(v)->n])

void *vec_grow(Arena *arena, void *old, int n, int *cap, int more, size_t size);

#endif
