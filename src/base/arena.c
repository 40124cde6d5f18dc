#include "base/arena.h"

#include "base/bug.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_CHUNK = 16 * 1024, MAX_CHUNK = 1024 * 1024 };

struct ArenaChunk {
    ArenaChunk *older;
    size_t size; // whole chunk, this header included
};

struct ArenaTry {
    jmp_buf unwind;
    ArenaTry *outer;
    volatile size_t refused;
};

static void *libc_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void libc_free(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

const Allocator allocator_libc = {.alloc = libc_alloc, .free = libc_free};

void arena_init(Arena *a, const Allocator *allocator) { *a = (Arena){.allocator = allocator}; }

static ArenaChunk *pop_chunk(Arena *a) {
    ArenaChunk *c = a->newest;
    a->newest = c->older;
    return c;
}

static void free_chunk(Arena *a, ArenaChunk *c) {
    if (!c) return;
    a->reserved -= c->size;
    a->allocator->free(a->allocator->user, c, c->size);
}

void arena_free(Arena *a) {
    while (a->newest) free_chunk(a, pop_chunk(a));
    free_chunk(a, a->spare);
    a->spare = NULL;
    a->next = a->end = NULL;
}

bool arena_try(Arena *a, void (*fn)(void *arg), void *arg) {
    ArenaTry try = {.outer = a->try};
    a->refused = 0;
    if (setjmp(try.unwind)) {
        a->refused = try.refused;
        a->try = a->try->outer;
        return false;
    }
    a->try = &try;
    fn(arg);
    a->try = try.outer;
    return true;
}

_Noreturn void arena_out_of_memory(Arena *a) {
    if (!a->try) bug("arena used outside arena_try ran out of memory");
    if (!a->try->refused) a->try->refused = a->refused; // from an inner arena_try
    longjmp(a->try->unwind, 1);
}

// Chunks double up to a megabyte; a larger request gets a chunk of its own size.
static void grow(Arena *a, size_t size) {
    size_t want = a->newest ? a->newest->size * 2 : FIRST_CHUNK;
    if (want > MAX_CHUNK) want = MAX_CHUNK;
    if (a->allocator->chunk) want = a->allocator->chunk;
    size_t header = (sizeof(ArenaChunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (size > SIZE_MAX - header - ALIGN) arena_out_of_memory(a);
    if (want < size + header) want = size + header;
    ArenaChunk *c = a->spare;
    if (c && c->size >= size + header) {
        a->spare = NULL;
        c->older = a->newest;
    } else {
        c = a->allocator->alloc(a->allocator->user, want);
        if (!c && a->try) a->try->refused = want;
        if (!c) arena_out_of_memory(a);
        *c = (ArenaChunk){a->newest, want};
        a->reserved += want;
    }
    a->newest = c;
    a->next = (char *)c + header;
    a->end = (char *)c + c->size;
}

static size_t rounded(size_t size) { return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static inline void *take(Arena *a, size_t size) {
    if (size > SIZE_MAX - ALIGN) arena_out_of_memory(a);
    size = rounded(size);
    if ((size_t)(a->end - a->next) < size || !a->next) grow(a, size);
    void *p = a->next;
    a->next += size;
    return p;
}

// Most objects are small: storing units of ALIGN bytes is faster than calling memset.
static inline void *take_zeroed(Arena *a, size_t size) {
    enum { SMALL = 8 * ALIGN };
    char *p = take(a, size);
    if (size > SMALL) return memset(p, 0, size);
    for (size_t i = 0; i < size; i += ALIGN) memset(p + i, 0, ALIGN);
    return p;
}

void *arena_raw(Arena *a, size_t size) { return take(a, size); }

void *arena_alloc(Arena *a, size_t size) { return take_zeroed(a, size); }

void *arena_array(Arena *a, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) arena_out_of_memory(a);
    return take_zeroed(a, bytes);
}

void *arena_copy(Arena *a, const void *from, size_t size) {
    void *to = arena_raw(a, size);
    if (size) memcpy(to, from, size);
    return to;
}

char *arena_strndup(Arena *a, const char *s, size_t len) {
    char *to = arena_alloc(a, len + 1);
    if (len) memcpy(to, s, len);
    return to;
}

// Most texts fit the current chunk and are printed in place.
char *arena_printf(Arena *a, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = (size_t)(a->end - a->next);
    int len = vsnprintf(a->next, room, format, args);
    size_t size = (size_t)(len < 0 ? 0 : len) + 1;
    char *s = a->next;
    if (len >= 0 && size + ALIGN <= room) {
        a->next += (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    } else {
        s = arena_alloc(a, size);
        if (len > 0) vsnprintf(s, size, format, again);
    }
    va_end(again);
    va_end(args);
    return s;
}

ArenaMark arena_mark(const Arena *a) { return (ArenaMark){a->newest, a->next}; }

void arena_release(Arena *a, ArenaMark mark) {
    while (a->newest != mark.chunk) {
        ArenaChunk *c = pop_chunk(a);
        if (c->size <= MAX_CHUNK && (!a->spare || c->size > a->spare->size)) {
            ArenaChunk *smaller = a->spare;
            a->spare = c;
            c = smaller;
        }
        free_chunk(a, c);
    }
    a->next = mark.next;
    a->end = a->newest ? (char *)a->newest + a->newest->size : NULL;
}
