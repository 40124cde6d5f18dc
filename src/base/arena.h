// Arenas: one per lifetime (a compilation, a step, a search candidate). Memory comes in chunks from
// an Allocator and is returned all at once, so nothing inside the compiler ever frees.
//
// Running out of memory never returns NULL. It unwinds to the innermost arena_try() of that arena,
// which the API boundary installs; everything allocated stays in the arena and is freed with it.
// Code between arena_try() and an allocation must therefore hold no other resource, because it
// could not release it.
#ifndef LW_BASE_ARENA_H
#define LW_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The source of chunks. `alloc` returns NULL if there is no memory; `free` receives the size.
typedef struct Allocator {
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *ptr, size_t size);
    void *user;
    size_t chunk; // bytes to ask for at a time; 0: from 16 KiB, doubling up to a megabyte
} Allocator;

extern const Allocator allocator_libc;

typedef struct ArenaChunk ArenaChunk;
typedef struct ArenaTry ArenaTry;

typedef struct Arena {
    char *next, *end;   // the free part of the newest chunk
    ArenaChunk *newest; // chunks, newest first
    ArenaChunk *spare;  // an empty chunk of the usual size, kept for the next allocation
    const Allocator *allocator;
    ArenaTry *try;   // where running out of memory unwinds to
    size_t reserved; // bytes taken from the allocator
    size_t refused;  // bytes of the allocation that failed in arena_try; 0: unknown
} Arena;

typedef struct ArenaMark {
    ArenaChunk *chunk;
    char *next;
} ArenaMark;

void arena_init(Arena *a, const Allocator *allocator);
void arena_free(Arena *a);

// Runs fn(arg); false when it ran out of memory in this arena (or in one made by arena_child).
// Calls may nest; the innermost one catches.
bool arena_try(Arena *a, void (*fn)(void *arg), void *arg);

// Unwinds as if memory had run out; for failures of other resources caused by lack of memory.
_Noreturn void arena_out_of_memory(Arena *a);

// `size` zeroed bytes, aligned to 16. Size 0 gives a valid pointer.
void *arena_alloc(Arena *a, size_t size);
// The same without zeroing, for memory that is written before it is read.
void *arena_raw(Arena *a, size_t size);
// `count` elements of `size` bytes, zeroed; a product that overflows is out of memory.
void *arena_array(Arena *a, size_t count, size_t size);
void *arena_copy(Arena *a, const void *from, size_t size);
char *arena_strndup(Arena *a, const char *s, size_t len);
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

// arena_release frees everything allocated after the mark.
ArenaMark arena_mark(const Arena *a);
void arena_release(Arena *a, ArenaMark mark);

#define arena_new(a, T)      ((T *)arena_alloc((a), sizeof(T)))
#define arena_new_n(a, T, n) ((T *)arena_array((a), (size_t)(n), sizeof(T)))

#endif
