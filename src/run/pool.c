// One slot serves one loop at a time. The thread that starts a loop takes the slot (`busy`), fills
// it in and opens the gate with one ticket per wanted helper; a thread that gets a ticket takes
// part. The starter works too, and when no iteration is left it closes the gate: unused tickets
// become void, and it waits only for the threads that entered. So a thread that is not scheduled
// never delays a loop, and a short loop may end before any thread wakes up.
//
//   gate    number of the loop << 32 | tickets left: a ticket of an old loop cannot be taken
//   signal  counts loops; threads without work spin on it, then sleep on it (futex)
//   share   per thread: its tasks (of `grain` iterations) that have not started. A thread takes
//           half of them at a time, and when it has none left, half of another thread's. So a
//           repeated loop finds the same data in the caches of the same thread, and all threads
//           finish together
//   done    number of helpers that have finished; the starter sleeps on it if necessary
//
// If few processors share a cache, Linux wakes a thread on the processor where it last ran even if
// that is busy, and the two threads share it for milliseconds while another processor is idle. So a
// thread records where it went to sleep, and a waker that runs there sends it elsewhere.
#define _GNU_SOURCE
#include "run/pool.h"

#include "run/fork.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINE = 64, SPINS = 1000 };

typedef struct PoolThread {
    Pool *pool;
    pthread_t thread;
    _Atomic int bed; // the processor on which it went to sleep; -1: it has not slept
    int kept;        // the processor that it was moved away from; -1: none
} PoolThread;

typedef struct Share {
    _Alignas(LINE) _Atomic int64_t next;
    int64_t end;
} Share;

struct Pool {
    int size;
    ForkMark fork;
    PoolThread *helper; // size - 1 of them
    Share *share;       // size of them
    cpu_set_t may;      // the allowed processors of the threads
    _Atomic int started;
    _Atomic bool busy, stop;
    _Atomic unsigned epoch; // number of forks up to this process

    // the loop
    KernelBody *body;
    void *arg;
    int64_t count, grain;
    int helpers; // number of tickets
    bool all;    // there are tickets for all threads
    unsigned control;

    _Alignas(LINE) _Atomic uint64_t gate;
    _Alignas(LINE) _Atomic uint32_t signal;
    _Atomic int sleepers;
    _Alignas(LINE) _Atomic int status;
    _Alignas(LINE) _Atomic uint32_t done;
    _Atomic bool waiting;
};

// --- Waiting -----------------------------------------------------------------------------------

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

static unsigned get_control(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu; // without the exception flags
#else
    return 0;
#endif
}

static void set_control(unsigned control) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(control);
#else
    (void)control;
#endif
}

// --- Working -----------------------------------------------------------------------------------

// Takes half of the tasks of a share that have not started, at least one.
static bool claim(Pool *p, Share *s, int64_t *from, int64_t *to) {
    int64_t at = atomic_load_explicit(&s->next, memory_order_relaxed), end;
    do {
        if (at >= s->end) return false;
        end = at + (s->end - at + 1) / 2;
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &at, end, memory_order_relaxed,
                                                    memory_order_relaxed));
    *from = at * p->grain;
    *to = end > p->count / p->grain ? p->count : end * p->grain;
    return true;
}

static void stop_all(Pool *p) {
    for (int i = 0; i <= p->helpers; i++) atomic_store(&p->share[i].next, p->share[i].end);
}

static void work(Pool *p, int thread) {
    int64_t from, to;
    for (int k = 0, n = p->helpers + 1; k < n; k++) {
        Share *s = &p->share[(thread + k) % n];
        while (claim(p, s, &from, &to)) {
            int status = p->body(p->arg, from, to, thread), none = 0;
            if (!status) continue;
            atomic_compare_exchange_strong(&p->status, &none, status);
            stop_all(p);
        }
    }
}

// Takes a ticket: the number of this thread in the loop, always the same if all take part; 0 if
// there is none.
static int enter(PoolThread *h) {
    Pool *p = h->pool;
    uint64_t gate = atomic_load_explicit(&p->gate, memory_order_acquire);
    while ((uint32_t)gate)
        if (atomic_compare_exchange_weak_explicit(&p->gate, &gate, gate - 1, memory_order_acquire,
                                                  memory_order_acquire))
            return (p->all ? (int)(h - p->helper) : p->helpers - (int)(uint32_t)gate) + 1;
    return 0;
}

static void help(Pool *p, int thread) {
    set_control(p->control);
    work(p, thread);
    atomic_fetch_add(&p->done, 1);
    if (atomic_load(&p->waiting)) futex_wake(&p->done, 1);
}

static void idle(PoolThread *h, uint32_t seen) {
    Pool *p = h->pool;
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->signal, memory_order_acquire) != seen) return;
        relax();
    }
    atomic_store(&h->bed, sched_getcpu());
    atomic_fetch_add(&p->sleepers, 1);
    futex_wait(&p->signal, seen);
    atomic_fetch_sub(&p->sleepers, 1);
}

static void *thread_main(void *arg) {
    PoolThread *h = arg;
    Pool *p = h->pool;
    for (;;) {
        uint32_t seen = atomic_load(&p->signal);
        if (atomic_load(&p->stop)) return NULL;
        int thread = enter(h);
        if (thread)
            help(p, thread);
        else
            idle(h, seen);
    }
}

// The threads block all signals, which are left to the program that uses the library.
static void start_threads(Pool *p, int want) {
    sigset_t all, before;
    int n = atomic_load(&p->started);
    if (n >= want) return;
    if (sched_getaffinity(0, sizeof p->may, &p->may) != 0) CPU_ZERO(&p->may);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; n < want; n++) {
        PoolThread *h = &p->helper[n];
        h->pool = p;
        atomic_store(&h->bed, -1);
        h->kept = -1;
        if (pthread_create(&h->thread, NULL, thread_main, h) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&p->started, n);
}

// --- Loops -------------------------------------------------------------------------------------

// Does the helper still have its allowed processors, except the one that it was moved away from? If
// not, some other code has changed them, and it is left alone.
static bool has_processors(const Pool *p, const PoolThread *h) {
    cpu_set_t now, ours = p->may;
    if (h->kept >= 0) CPU_CLR((size_t)h->kept, &ours);
    return !pthread_getaffinity_np(h->thread, sizeof now, &now) && CPU_EQUAL(&now, &ours);
}

// If there is a processor for each thread, none needs to wake on this one.
static void wake(Pool *p, int helpers) {
    int here = sched_getcpu(), n = atomic_load(&p->started);
    for (int i = 0; i < n && n < CPU_COUNT(&p->may); i++) {
        PoolThread *h = &p->helper[i];
        if (here < 0 || atomic_load(&h->bed) != here || !has_processors(p, h)) continue;
        cpu_set_t elsewhere = p->may;
        CPU_CLR((size_t)here, &elsewhere);
        if (!pthread_setaffinity_np(h->thread, sizeof elsewhere, &elsewhere)) h->kept = here;
    }
    futex_wake(&p->signal, helpers);
}

static void open_gate(Pool *p, int helpers, int64_t tasks) {
    p->helpers = helpers;
    p->all = helpers == atomic_load(&p->started);
    p->control = get_control();
    int64_t each = tasks / (helpers + 1), more = tasks % (helpers + 1), at = 0;
    for (int i = 0; i <= helpers; i++) {
        atomic_store_explicit(&p->share[i].next, at, memory_order_relaxed);
        p->share[i].end = at += each + (i < more);
    }
    atomic_store(&p->status, 0);
    atomic_store(&p->done, 0);
    uint64_t number = (atomic_load(&p->gate) >> 32) + 1;
    atomic_store(&p->gate, number << 32 | (uint64_t)helpers);
    atomic_fetch_add(&p->signal, 1);
    if (atomic_load(&p->sleepers)) wake(p, helpers);
}

// In a child the threads of the parent do not exist, nor does the thread that held the slot.
static void begin_anew(Pool *p) {
    atomic_store(&p->started, 0);
    atomic_store(&p->sleepers, 0);
    atomic_store(&p->waiting, false);
    atomic_fetch_and(&p->gate, ~(uint64_t)UINT32_MAX);
    atomic_fetch_add(&p->epoch, 1);
    atomic_store(&p->busy, false);
    fork_settled(&p->fork);
}

// Is this a child of the process in which the loop began?
static bool left_behind(Pool *p, unsigned epoch) {
    if (fork_happened(&p->fork)) begin_anew(p);
    return atomic_load_explicit(&p->epoch, memory_order_relaxed) != epoch;
}

// Waits for the helpers that entered; false: this is another process, without these helpers.
static bool close_gate(Pool *p, unsigned epoch) {
    if (left_behind(p, epoch)) return false;
    uint64_t gate = atomic_fetch_and(&p->gate, ~(uint64_t)UINT32_MAX);
    uint32_t came = (uint32_t)p->helpers - (uint32_t)gate, done;
    for (int i = 0; (done = atomic_load(&p->done)) != came; i++) {
        if (left_behind(p, epoch)) return false;
        if (i < SPINS) {
            relax();
            continue;
        }
        atomic_store(&p->waiting, true);
        if (atomic_load(&p->done) == done) futex_wait(&p->done, done);
        atomic_store(&p->waiting, false);
    }
    return true;
}

int pool_for(Pool *p, int threads, KernelBody *body, void *arg, int64_t count, int64_t grain) {
    if (count <= 0) return 0;
    if (grain < 1) grain = 1;
    if (threads > p->size) threads = p->size;
    int64_t tasks = (count - 1) / grain + 1;
    if (tasks < threads) threads = (int)tasks;
    if (threads <= 1) return body(arg, 0, count, 0);
    left_behind(p, 0);
    if (atomic_exchange_explicit(&p->busy, true, memory_order_acquire))
        return body(arg, 0, count, 0);
    start_threads(p, threads - 1);
    int helpers = atomic_load(&p->started);
    if (helpers > threads - 1) helpers = threads - 1;
    p->body = body;
    p->arg = arg;
    p->count = count;
    p->grain = grain;
    unsigned epoch = atomic_load(&p->epoch);
    open_gate(p, helpers, tasks);
    work(p, 0);
    if (!close_gate(p, epoch)) return KERNEL_FORKED; // the state no longer belongs to this loop
    int status = atomic_load(&p->status);
    atomic_store_explicit(&p->busy, false, memory_order_release);
    return status;
}

int pool_parallel_for(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                      int64_t grain) {
    return pool_for(env->user, env->threads, body, arg, count, grain);
}

// --- Pools -------------------------------------------------------------------------------------

int pool_processors(void) {
    cpu_set_t set;
    long n = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > POOL_MAX_THREADS ? POOL_MAX_THREADS : (int)n;
}

Pool *pool_new(int threads) {
    Pool *p = aligned_alloc(LINE, (sizeof *p + LINE - 1) / LINE * LINE);
    if (!p) return NULL;
    *p = (Pool){.size = threads < 1 ? 1 : threads > POOL_MAX_THREADS ? POOL_MAX_THREADS : threads};
    p->helper = calloc((size_t)p->size, sizeof *p->helper);
    p->share = aligned_alloc(LINE, (size_t)p->size * sizeof *p->share);
    if (!p->helper || !p->share) {
        free(p->helper);
        free(p->share);
        free(p);
        return NULL;
    }
    fork_mark_init(&p->fork);
    return p;
}

void pool_free(Pool *p) {
    if (!p) return;
    if (fork_happened(&p->fork)) begin_anew(p);
    atomic_store(&p->stop, true);
    atomic_fetch_add(&p->signal, 1);
    futex_wake(&p->signal, INT_MAX);
    int n = atomic_load(&p->started);
    for (int i = 0; i < n; i++) pthread_join(p->helper[i].thread, NULL);
    fork_mark_free(&p->fork);
    free(p->helper);
    free(p->share);
    free(p);
}

int pool_started(const Pool *p) { return atomic_load(&p->started); }
