// A peer: a program that runs another library for the benchmarks. C and C++.
//
// The laboratory (bench/lab) starts each peer as a separate process, on the same core, and
// communicates with it in lines:
//
//     name                   -> OpenBLAS 0.3.21 SkylakeX
//     task gemm 64 64 64     -> ok          data prepared, called once; or: no REASON
//     result FILE            -> ok          the result as f32, row-major, in FILE
//     calls 2e6              -> 731         calls per round, such that a round takes about 2e6 ns
//     round                  -> 2718.3      ns per call, over that many calls after a warm-up
//     cold                   -> 3141.6      ns of one call with its operands evicted from caches
//     compiled               -> 2e8         ns that preparing spent in a compiler; or: no
//     fork ADDRESS           -> ok          a copy of this process answers at that socket, first
//                                           with its number; each copy has its own task
//
// Operands are filled by peer_fill with the same numbers on every side, of so few bits that sums of
// products are exact: results can be compared bit for bit.
//
// Each peer implements a Peer: a name, prepare, call and result.
#ifndef LW_BENCH_PEER_H
#define LW_BENCH_PEER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "operand_pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PEER_ARGS = 12 };

typedef struct PeerTask {
    char op[32];
    int64_t arg[PEER_ARGS]; // zero where not given
    const char *text;       // the text after the operation
} PeerTask;

typedef struct Peer {
    const char *name;
    // Prepares the task; false: this peer does not support it, with the reason in `why`.
    bool (*prepare)(const PeerTask *task, const char **why);
    void (*call)(void);
    // The result in plain layout, `n` floats; NULL: there is nothing to compare.
    const float *(*result)(size_t *n);
} Peer;

// Processor time of this thread, so that other load does not count. With several threads (LW_WALL)
// it is wall-clock time.
static clockid_t peer_clock = CLOCK_THREAD_CPUTIME_ID;

static double peer_compiled_ns; // set by prepare if it compiles something

static inline double peer_clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static inline double peer_now(void) { return peer_clock_ns(peer_clock); }

// Evicts the memory from all caches. Uses unordered flushes if the processor has them (clflushopt,
// cpuid 7: EBX bit 23), which are several times as fast.
static inline void peer_evict(const void *at, size_t bytes) {
#if defined __x86_64__
    const char *p = (const char *)((uintptr_t)at & ~(uintptr_t)63);
    unsigned a = 7, b = 0, c = 0, d = 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    bool fast = b >> 23 & 1;
    for (; p < (const char *)at + bytes; p += 64)
        if (fast)
            __asm__ volatile("clflushopt (%0)" : : "r"(p));
        else
            __asm__ volatile("clflush (%0)" : : "r"(p));
    __asm__ volatile("mfence" : : : "memory");
#else
    (void)at, (void)bytes;
#endif
}

// The operands of the task.
static PeerPool peer_pool;
static float *peer_start[PEER_BLOCKS];
static size_t peer_size[PEER_BLOCKS];
static int peer_operands;

static inline float *peer_floats(size_t n) {
    if (peer_operands == PEER_BLOCKS) exit(1);
    float *x = peer_take(&peer_pool, n);
    peer_start[peer_operands] = x, peer_size[peer_operands++] = n * sizeof *x;
    return x;
}

static inline void peer_release(void) {
    peer_give_back(&peer_pool);
    peer_operands = 0;
}

// Multiples of 1/8 between -1 and 1, by `seed`: operand 0, 1, ... of a task.
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

// Skips the first calls after threads slept, which may all run on one core.
static inline void peer_wake(const Peer *p, double ns) {
    for (double end = peer_now() + ns; peer_now() < end;) p->call();
}

// The number of calls that take about `ns`. Preparing has made one call, which took `first`: a task
// that takes much longer than a round is not called again (a shorter one is, because a first call
// may include initialisation).
static inline int64_t peer_calibrate(const Peer *p, double ns, double first) {
    int64_t calls = 1;
    if (first > 1e8 && first > ns) return 1;
    if (peer_clock == CLOCK_MONOTONIC) peer_wake(p, 5 * ns);
    double each = peer_time(p, 1);
    while (each * (double)calls < ns / 4 && calls < 1 << 28) each = peer_time(p, calls *= 2);
    return each < ns ? (int64_t)(ns / each) : 1;
}

// Long calls need no warm-up, and calls of some milliseconds only after a long pause. Threads have
// to wake first.
static inline double peer_round(const Peer *p, int64_t calls, double ns) {
    enum { SHORT_NS = 5000000, LONG_NS = 50000000, RESTED_NS = 100000000 };
    static double last;
    bool rested = peer_clock_ns(CLOCK_MONOTONIC) - last > RESTED_NS;
    int64_t warm = calls / (peer_clock == CLOCK_MONOTONIC ? 2 : 20);
    if (ns < SHORT_NS || (ns < LONG_NS && rested)) peer_time(p, 1 + warm);
    ns = peer_time(p, calls);
    last = peer_clock_ns(CLOCK_MONOTONIC);
    return ns;
}

static inline double peer_cold(const Peer *p) {
    for (int i = 0; i < peer_operands; i++) peer_evict(peer_start[i], peer_size[i]);
    return peer_time(p, 1);
}

// Answers, and returns the time of the first call.
static inline double peer_task(const Peer *p, const char *line) {
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
    peer_compiled_ns = 0;
    bool ready = p->prepare(&t, &why);
    double first = ready ? peer_time(p, 1) : 0;
    printf(ready ? "ok\n" : "no %s\n", why);
    return first;
}

// The copy is detached, so that nobody has to wait for it; it ends with its socket.
static inline void peer_copy(const char *address) {
    pid_t between = fork();
    if (between > 0) {
        waitpid(between, NULL, 0);
        puts("ok");
        return;
    }
    if (between < 0 || fork()) _exit(0);
    struct sockaddr_un a;
    memset(&a, 0, sizeof a);
    a.sun_family = AF_UNIX;
    snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "%.100s", address);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address));
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (struct sockaddr *)&a, size)) _exit(1);
    dup2(s, 0), dup2(s, 1), close(s);
    printf("%ld\n", (long)getpid());
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
    double each = 0, first = 0;
    if (getenv("LW_WALL")) peer_clock = CLOCK_MONOTONIC;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "name"))
            puts(p->name);
        else if (!strncmp(line, "task ", 5))
            calls = 1, each = first = peer_task(p, line + 5);
        else if (!strncmp(line, "result ", 7))
            peer_result(p, line + 7);
        else if (!strncmp(line, "calls ", 6))
            printf("%ld\n", (long)(calls = peer_calibrate(p, atof(line + 6), first)));
        else if (!strcmp(line, "round"))
            printf("%.3f\n", each = peer_round(p, calls, each));
        else if (!strcmp(line, "cold"))
            printf("%.3f\n", peer_cold(p));
        else if (!strcmp(line, "compiled"))
            printf(peer_compiled_ns > 0 ? "%.0f\n" : "no\n", peer_compiled_ns);
        else if (!strncmp(line, "fork ", 5))
            peer_copy(line + 5);
        else
            puts("no such command");
        fflush(stdout);
    }
    return 0;
}

#endif
