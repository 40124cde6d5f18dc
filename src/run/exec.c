// Chunks of a megabyte (or the size of one large kernel), each mapped twice. Blocks are bumped off
// the newest chunk; a chunk goes when its last block does.
#define _GNU_SOURCE
#include "run/exec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, ALIGN = 64 };

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *next;
    char *write, *run; // the same memory; equal when double mapping was refused
    size_t size, used;
    int blocks;
};

struct ExecArena {
    pthread_mutex_t lock;
    Chunk *chunks; // newest first
};

struct ExecBlock {
    ExecArena *arena;
    Chunk *chunk;
    void *entry;
    atomic_int references;
};

ExecArena *exec_arena_new(void) {
    ExecArena *a = calloc(1, sizeof *a);
    if (a) pthread_mutex_init(&a->lock, NULL);
    return a;
}

static void unmap(Chunk *c) {
    munmap(c->run, c->size);
    if (c->write && c->write != c->run) munmap(c->write, c->size);
    free(c);
}

void exec_arena_free(ExecArena *a) {
    if (!a) return;
    while (a->chunks) {
        Chunk *next = a->chunks->next;
        unmap(a->chunks);
        a->chunks = next;
    }
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static bool map_twice(Chunk *c) {
    int fd = memfd_create("loopwright", MFD_CLOEXEC);
    if (fd < 0) return false;
    bool ok = ftruncate(fd, (off_t)c->size) == 0;
    if (ok) {
        c->write = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        c->run = mmap(NULL, c->size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
        ok = c->write != MAP_FAILED && c->run != MAP_FAILED;
        if (!ok && c->write != MAP_FAILED) munmap(c->write, c->size);
        if (!ok && c->run != MAP_FAILED) munmap(c->run, c->size);
    }
    close(fd);
    return ok;
}

static Chunk *new_chunk(size_t need) {
    Chunk *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->size = need > CHUNK ? (need + 4095) & ~(size_t)4095 : CHUNK;
    if (map_twice(c)) return c;
    c->size = (need + 4095) & ~(size_t)4095; // one kernel per chunk: it is sealed after writing
    c->run = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->run == MAP_FAILED) {
        free(c);
        return NULL;
    }
    c->write = c->run;
    return c;
}

static Chunk *room(ExecArena *a, size_t size) {
    Chunk *c = a->chunks;
    if (c && c->write != c->run && c->size - c->used >= size) return c;
    if (!(c = new_chunk(size))) return NULL;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

ExecBlock *exec_add(ExecArena *a, const void *code, size_t size) {
    ExecBlock *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    size_t padded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    pthread_mutex_lock(&a->lock);
    Chunk *c = room(a, padded);
    bool ok = c != NULL;
    if (ok) {
        memcpy(c->write + c->used, code, size);
        b->entry = c->run + c->used;
        if (c->write == c->run) ok = mprotect(c->run, c->size, PROT_READ | PROT_EXEC) == 0;
    }
    if (ok) {
        c->used += padded;
        c->blocks++;
        *b = (ExecBlock){.arena = a, .chunk = c, .entry = b->entry, .references = 1};
    }
    pthread_mutex_unlock(&a->lock);
    if (ok) return b;
    free(b);
    return NULL;
}

void *exec_entry(const ExecBlock *b) { return b->entry; }

void exec_retain(ExecBlock *b) { atomic_fetch_add(&b->references, 1); }

static void drop_chunk(ExecArena *a, Chunk *c) {
    Chunk **at = &a->chunks;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    unmap(c);
}

void exec_release(ExecBlock *b) {
    if (!b || atomic_fetch_sub(&b->references, 1) != 1) return;
    ExecArena *a = b->arena;
    pthread_mutex_lock(&a->lock);
    Chunk *c = b->chunk;
    if (--c->blocks == 0 && (c != a->chunks || c->write == c->run))
        drop_chunk(a, c);
    else if (c->blocks == 0)
        c->used = 0; // the newest chunk is kept and used again
    pthread_mutex_unlock(&a->lock);
    free(b);
}
