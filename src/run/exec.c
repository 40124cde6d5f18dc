// Chunks of a megabyte (or the size of one large kernel), mapped executable. To write a block, its
// pages are mapped a second time, only for the duration of the write, so that no writable mapping
// of executable pages persists. Blocks are allocated from the newest chunk; a chunk is freed with
// its last block. A child made by fork adds nothing to the chunks of its parent, which keeps
// writing to the same pages.
#define _GNU_SOURCE
#include "run/exec.h"

#include "run/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, ALIGN = 64 };

typedef struct CodeChunk CodeChunk;
struct CodeChunk {
    CodeChunk *next;
    char *run;
    bool shared; // its pages can be mapped again; otherwise written first, then executable
    size_t size, used;
    int blocks;
    bool sealed; // accepts no more blocks
};

struct ExecArena {
    pthread_mutex_t lock;
    ForkMark fork;
    CodeChunk *chunks; // newest first
    size_t mapped;
    bool private;
};

struct ExecBlock {
    ExecArena *arena;
    CodeChunk *chunk;
    void *entry;
    atomic_int references;
};

ExecArena *exec_arena_new(void) {
    ExecArena *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    pthread_mutex_init(&a->lock, NULL);
    fork_mark_init(&a->fork);
    return a;
}

ExecArena *exec_arena_new_private(void) {
    ExecArena *a = exec_arena_new();
    if (a) a->private = true;
    return a;
}

// In a child the lock may be held by a thread that does not exist there. That thread can only have
// been adding or removing one chunk, and the list is consistent at every moment.
static void lock(ExecArena *a) {
    if (fork_happened(&a->fork)) {
        pthread_mutex_init(&a->lock, NULL);
        for (CodeChunk *c = a->chunks; c; c = c->next) c->sealed = true;
        fork_settled(&a->fork);
    }
    pthread_mutex_lock(&a->lock);
}

size_t exec_arena_mapped(ExecArena *a) {
    lock(a);
    size_t n = a->mapped;
    pthread_mutex_unlock(&a->lock);
    return n;
}

static void unmap(CodeChunk *c) {
    munmap(c->run, c->size);
    free(c);
}

void exec_arena_free(ExecArena *a) {
    if (!a) return;
    while (a->chunks) {
        CodeChunk *next = a->chunks->next;
        unmap(a->chunks);
        a->chunks = next;
    }
    fork_mark_free(&a->fork);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

static bool map_shared(CodeChunk *c) {
    int fd = memfd_create("loopwright", MFD_CLOEXEC);
    if (fd < 0) return false;
    int how = PROT_READ | PROT_EXEC;
    if (ftruncate(fd, (off_t)c->size) == 0) c->run = mmap(NULL, c->size, how, MAP_SHARED, fd, 0);
    close(fd);
    if (!c->run || c->run == MAP_FAILED) return false;
    char *again = mremap(c->run, 0, 4096, MREMAP_MAYMOVE);
    c->shared = again != MAP_FAILED;
    munmap(c->shared ? again : c->run, c->shared ? 4096 : c->size);
    return c->shared;
}

static CodeChunk *new_chunk(size_t need, bool private) {
    CodeChunk *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->size = need > CHUNK ? (need + 4095) & ~(size_t)4095 : CHUNK;
    if (!private && map_shared(c)) return c;
    c->size = (need + 4095) & ~(size_t)4095; // one kernel per chunk: it is sealed after writing
    c->run = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c->run == MAP_FAILED) {
        free(c);
        return NULL;
    }
    c->sealed = true; // after it is written
    return c;
}

// Writes through a second mapping of the pages, created by mremap of size 0. It exists while the
// lock is held.
static bool write_shared(CodeChunk *c, const void *code, size_t size) {
    size_t first = c->used & ~(size_t)4095, room = c->used - first + size;
    char *to = mremap(c->run + first, 0, room, MREMAP_MAYMOVE);
    if (to == MAP_FAILED) return false;
    bool ok = mprotect(to, room, PROT_READ | PROT_WRITE) == 0;
    if (ok) memcpy(to + (c->used - first), code, size);
    munmap(to, room);
    return ok;
}

static bool write_block(CodeChunk *c, const void *code, size_t size) {
    if (c->shared) return write_shared(c, code, size);
    memcpy(c->run + c->used, code, size);
    return mprotect(c->run, c->size, PROT_READ | PROT_EXEC) == 0;
}

static void drop_chunk(ExecArena *a, CodeChunk *c) {
    CodeChunk **at = &a->chunks;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    a->mapped -= c->size;
    unmap(c);
}

static CodeChunk *room(ExecArena *a, size_t size) {
    CodeChunk *c = a->chunks;
    if (c && !c->sealed && c->size - c->used >= size) return c;
    CodeChunk *full = c && !c->blocks ? c : NULL; // the newest is kept until there is a newer one
    if (!(c = new_chunk(size, a->private))) return NULL;
    c->next = a->chunks;
    a->chunks = c;
    a->mapped += c->size;
    if (full) drop_chunk(a, full);
    return c;
}

ExecBlock *exec_add(ExecArena *a, const void *code, size_t size) {
    ExecBlock *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    size_t padded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    lock(a);
    CodeChunk *c = room(a, padded);
    bool ok = c && write_block(c, code, size);
    if (ok) {
        b->entry = c->run + c->used;
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

void exec_release(ExecBlock *b) {
    if (!b || atomic_fetch_sub(&b->references, 1) != 1) return;
    ExecArena *a = b->arena;
    lock(a);
    CodeChunk *c = b->chunk;
    if (--c->blocks == 0 && (c != a->chunks || c->sealed)) drop_chunk(a, c);
    pthread_mutex_unlock(&a->lock);
    free(b);
}
