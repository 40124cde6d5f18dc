// Memory of operands, the same for us and for every peer. C and C++.
#ifndef LW_BENCH_OPERAND_POOL_H
#define LW_BENCH_OPERAND_POOL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Zeroed memory in large pages. Operands are consecutive, some lines apart, so that they do not map
// to the same cache sets; small ones share a page.
enum { PEER_BLOCKS = 64 };
typedef struct PeerPool {
    void *block[PEER_BLOCKS];
    int blocks;
    char *at;
    size_t left;
} PeerPool;

static inline float *peer_take(PeerPool *pool, size_t n) {
    size_t huge = (size_t)2 << 20, gap = 17 * 64;
    size_t bytes = (n * sizeof(float) + 63) / 64 * 64 + gap;
    if (bytes > pool->left) {
        size_t all = (bytes + huge - 1) / huge * huge;
        void *block = NULL;
        if (pool->blocks == PEER_BLOCKS || posix_memalign(&block, huge, all)) exit(1);
        madvise(block, all, MADV_HUGEPAGE);
        memset(block, 0, all);
        pool->block[pool->blocks++] = block;
        // Blocks have the same alignment, so operands in later blocks are shifted.
        size_t shift = (size_t)(pool->blocks - 1) % 8 * gap;
        if (all - bytes < shift) shift = 0;
        pool->at = (char *)block + shift, pool->left = all - shift;
    }
    float *x = (float *)(void *)pool->at;
    pool->at += bytes, pool->left -= bytes;
    return x;
}

static inline void peer_give_back(PeerPool *pool) {
    while (pool->blocks) free(pool->block[--pool->blocks]);
    pool->left = 0;
}

#endif
