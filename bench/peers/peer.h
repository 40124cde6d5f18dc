// A peer: a program that runs somebody else's code for the benchmarks. C and C++.
//
// The laboratory (bench/lab) starts each peer as a process of its own, on the same core, and talks
// to it in lines:
//
//     name                   -> OpenBLAS 0.3.21 SkylakeX
//     task gemm 64 64 64     -> ok          data prepared, called once; or: no REASON
//     result FILE            -> ok          the result as f32, row-major, in FILE
//     calls 2e6              -> 731         calls per round, so that one takes about so many ns
//     round                  -> 2718.3      ns per call, of that many calls behind a warm-up
//     cold                   -> 3141.6      ns of one call, its operands taken out of the caches
//
// Operands are filled by peer_fill, the same numbers on every side and so few bits of them that
// sums of products are exact: results can be compared bit for bit.
//
// The peer's own part is a Peer: a name, prepare, call and result.
#ifndef LW_BENCH_PEER_H
#define LW_BENCH_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PEER_ARGS = 12 };

typedef struct PeerTask {
    char op[32];
    int64_t arg[PEER_ARGS]; // zero where not given
    const char *text;       // what stands behind the operation
} PeerTask;

typedef struct Peer {
    const char *name;
    // Makes the task ready to be called; false: this peer does not do that, and `why` says so.
    bool (*prepare)(const PeerTask *task, const char **why);
    void (*call)(void);
    // The result in plain layout, `n` floats; NULL: there is nothing to compare.
    const float *(*result)(size_t *n);
} Peer;

// Time that this thread had a core: what others do on the machine does not count. Peers with more
// threads than one set CLOCK_MONOTONIC.
static clockid_t peer_clock = CLOCK_THREAD_CPUTIME_ID;

static inline double peer_now(void) {
    struct timespec t;
    clock_gettime(peer_clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// `n` zeroed floats in large pages, on every side alike. The number-th operand starts some lines
// apart from the others, so that they do not share the sets of a cache. `block` is to be freed.
static inline float *peer_allocate(size_t n, int number, void **block) {
    size_t huge = (size_t)2 << 20, shift = (size_t)number * 17 * 64;
    size_t bytes = (n * sizeof(float) + shift + huge - 1) / huge * huge;
    if (posix_memalign(block, huge, bytes)) exit(1);
    madvise(*block, bytes, MADV_HUGEPAGE);
    memset(*block, 0, bytes);
    return (float *)((char *)*block + shift);
}

// Takes what lies there out of all caches.
static inline void peer_evict(const void *at, size_t bytes) {
#if defined __x86_64__
    const char *p = (const char *)((uintptr_t)at & ~(uintptr_t)63);
    for (; p < (const char *)at + bytes; p += 64) __asm__ volatile("clflush (%0)" : : "r"(p));
    __asm__ volatile("mfence" : : : "memory");
#else
    (void)at, (void)bytes;
#endif
}

// The same, until the next task.
enum { PEER_BLOCKS = 64 };
static void *peer_block[PEER_BLOCKS];
static float *peer_start[PEER_BLOCKS];
static size_t peer_size[PEER_BLOCKS];
static int peer_blocks;

static inline float *peer_floats(size_t n) {
    if (peer_blocks == PEER_BLOCKS) exit(1);
    float *x = peer_allocate(n, peer_blocks, &peer_block[peer_blocks]);
    peer_start[peer_blocks] = x, peer_size[peer_blocks++] = n * sizeof *x;
    return x;
}

static inline void peer_release(void) {
    while (peer_blocks) free(peer_block[--peer_blocks]);
}

// Eighths between -1 and 1, by `seed`: operand 0, 1, ... of a task.
static inline void peer_fill(float *x, size_t n, unsigned seed) {
    uint32_t state = 2463534242u + seed * 7919u;
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        x[i] = (float)((int)(state % 17) - 8) / 8;
    }
}

// Subscripts from 0 to `most`.
static inline void peer_fill_index(int32_t *x, size_t n, unsigned seed, int64_t most) {
    uint32_t state = 2463534242u + seed * 7919u;
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        x[i] = (int32_t)(state % (uint64_t)(most + 1));
    }
}

static inline float *peer_operand(size_t n, unsigned seed) {
    float *x = peer_floats(n);
    peer_fill(x, n, seed);
    return x;
}

static inline double peer_time(const Peer *p, int64_t calls) {
    double start = peer_now();
    for (int64_t i = 0; i < calls; i++) p->call();
    return (peer_now() - start) / (double)calls;
}

// As many calls as take about `ns`.
static inline int64_t peer_calibrate(const Peer *p, double ns) {
    int64_t calls = 1;
    peer_time(p, 1);
    double each = peer_time(p, 1);
    while (each * (double)calls < ns / 4 && calls < 1 << 28) each = peer_time(p, calls *= 2);
    return each < ns ? (int64_t)(ns / each) : 1;
}

// Long calls warm themselves up.
static inline double peer_round(const Peer *p, int64_t calls, double ns) {
    if (ns < 5e6) peer_time(p, 1 + calls / 20);
    return peer_time(p, calls);
}

static inline double peer_cold(const Peer *p) {
    for (int i = 0; i < peer_blocks; i++) peer_evict(peer_start[i], peer_size[i]);
    return peer_time(p, 1);
}

static inline void peer_task(const Peer *p, const char *line) {
    PeerTask t;
    memset(&t, 0, sizeof t);
    int used = 0, step;
    sscanf(line, "%31s%n", t.op, &used);
    t.text = line + used + (line[used] == ' ');
    for (int i = 0; i < PEER_ARGS; i++, used += step) {
        long value;
        if (sscanf(line + used, "%ld%n", &value, &step) != 1) break;
        t.arg[i] = value;
    }
    const char *why = "not offered";
    peer_release();
    bool ready = p->prepare(&t, &why);
    if (ready) p->call();
    printf(ready ? "ok\n" : "no %s\n", why);
}

static inline void peer_result(const Peer *p, const char *path) {
    size_t n = 0;
    const float *x = p->result ? p->result(&n) : NULL;
    FILE *f = x ? fopen(path, "wb") : NULL;
    bool ok = f && fwrite(x, sizeof *x, n, f) == n;
    if (f) ok = !fclose(f) && ok;
    puts(ok ? "ok" : "no result");
}

static inline int peer_main(const Peer *p) {
    static char line[4096];
    int64_t calls = 1;
    double each = 0;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "name"))
            puts(p->name);
        else if (!strncmp(line, "task ", 5))
            calls = 1, each = 0, peer_task(p, line + 5);
        else if (!strncmp(line, "result ", 7))
            peer_result(p, line + 7);
        else if (!strncmp(line, "calls ", 6))
            printf("%ld\n", (long)(calls = peer_calibrate(p, atof(line + 6))));
        else if (!strcmp(line, "round"))
            printf("%.3f\n", each = peer_round(p, calls, each));
        else if (!strcmp(line, "cold"))
            printf("%.3f\n", peer_cold(p));
        else
            puts("no such command");
        fflush(stdout);
    }
    return 0;
}

#endif
