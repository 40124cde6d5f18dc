// The thread pool: every iteration once, statuses, nested and concurrent loops, forks.
#define _GNU_SOURCE
#include "unit/check.h"

#include "run/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096 };

typedef struct Count {
    Pool *pool;
    _Atomic unsigned char at[MOST];
    _Atomic int calls, most_thread, nested;
    int fail_at;
} Count;

static int count(void *arg, int64_t from, int64_t to, int thread) {
    Count *c = arg;
    atomic_fetch_add(&c->calls, 1);
    int most = atomic_load(&c->most_thread);
    while (thread > most && !atomic_compare_exchange_weak(&c->most_thread, &most, thread)) continue;
    for (int64_t i = from; i < to; i++) {
        atomic_fetch_add(&c->at[i], 1);
        if (i == c->fail_at) return 77;
    }
    return 0;
}

static bool each_once(const Count *c, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (c->at[i] != 1) return false;
    for (int64_t i = n; i < MOST; i++)
        if (c->at[i]) return false;
    return true;
}

static Count *fresh(Pool *p) {
    Count *c = calloc(1, sizeof *c);
    c->pool = p;
    c->fail_at = -1;
    return c;
}

TEST(a_pool_covers_the_range_once) {
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, MOST};
    for (int threads = 1; threads <= 5; threads += 2) {
        Pool *p = pool_new(threads);
        CHECK(pool_started(p) == 0);
        for (int round = 0; round < 200; round++) {
            int64_t n = sizes[round % 8], grain = round % 5;
            Count *c = fresh(p);
            CHECK(pool_for(p, threads, count, c, n, grain) == 0);
            CHECK(each_once(c, n));
            CHECK(c->most_thread < threads);
            CHECK(grain < 2 || n % grain || c->calls <= n / grain + (n == 0));
            free(c);
        }
        CHECK(pool_started(p) == threads - 1);
        pool_free(p);
    }
}

TEST(a_loop_of_one_task_starts_nothing) {
    Pool *p = pool_new(4);
    Count *c = fresh(p);
    CHECK(pool_for(p, 4, count, c, 100, 100) == 0 && each_once(c, 100));
    CHECK(c->calls == 1);
    free(c);
    c = fresh(p);
    CHECK(pool_for(p, 1, count, c, 100, 1) == 0 && each_once(c, 100));
    CHECK(pool_started(p) == 0);
    free(c);
    pool_free(p);
}

TEST(a_status_ends_the_loop) {
    Pool *p = pool_new(3);
    for (int i = 0; i < 50; i++) {
        Count *c = fresh(p);
        c->fail_at = i * 17;
        CHECK(pool_for(p, 3, count, c, 1000, 1) == 77);
        free(c);
        c = fresh(p); // and is not remembered
        CHECK(pool_for(p, 3, count, c, 1000, 1) == 0 && each_once(c, 1000));
        free(c);
    }
    pool_free(p);
}

typedef struct Meeting {
    _Atomic int came, through;
} Meeting;

// Two tasks that wait for each other, so that each has a thread; the second one takes its time.
static int meet(void *arg, int64_t from, int64_t to, int thread) {
    Meeting *m = arg;
    (void)from, (void)to;
    atomic_fetch_add(&m->came, 1);
    for (int i = 0; i < 100000 && atomic_load(&m->came) < 2; i++) usleep(100);
    if (thread) usleep(20000);
    atomic_fetch_add(&m->through, 1);
    return thread ? 77 : 0;
}

TEST(a_loop_waits_for_its_helpers_and_their_status) {
    Pool *p = pool_new(2);
    for (int i = 0; i < 5; i++) {
        Meeting m = {0};
        CHECK(pool_for(p, 2, meet, &m, 2, 1) == 77);
        CHECK(m.came == 2 && m.through == 2);
    }
    pool_free(p);
}

static int nest(void *arg, int64_t from, int64_t to, int thread) {
    Count *c = arg;
    (void)thread;
    for (int64_t i = from; i < to; i++) {
        Count *inner = fresh(c->pool);
        if (pool_for(c->pool, 4, count, inner, 64, 1) || !each_once(inner, 64)) return 1;
        free(inner);
        atomic_fetch_add(&c->at[i], 1);
    }
    return 0;
}

TEST(loops_inside_loops) {
    Pool *p = pool_new(4);
    Count *c = fresh(p);
    CHECK(pool_for(p, 4, nest, c, 200, 1) == 0 && each_once(c, 200));
    free(c);
    pool_free(p);
}

static void *hammer(void *arg) {
    Pool *p = arg;
    long bad = 0;
    for (int i = 0; i < 300; i++) {
        Count *c = fresh(p);
        bad += pool_for(p, 4, count, c, 500, 1) != 0 || !each_once(c, 500);
        free(c);
    }
    return (void *)bad;
}

TEST(many_threads_use_one_pool) {
    Pool *p = pool_new(4);
    pthread_t t[16];
    for (int i = 0; i < 16; i++) pthread_create(&t[i], NULL, hammer, p);
    for (int i = 0; i < 16; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        CHECK(!bad);
    }
    pool_free(p);
}

#if defined(__x86_64__)
static int see_control(void *arg, int64_t from, int64_t to, int thread) {
    (void)from, (void)to, (void)thread;
    bool zero = __builtin_ia32_stmxcsr() >> 15;
    if (!zero) atomic_fetch_add((_Atomic int *)arg, 1);
    usleep(100);
    return 0;
}

TEST(threads_round_as_their_caller) {
    Pool *p = pool_new(4);
    _Atomic int wrong = 0;
    pool_for(p, 4, see_control, &wrong, 100, 1); // new threads would have it from their maker
    wrong = 0;
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 1u << 15); // flush to zero
    pool_for(p, 4, see_control, &wrong, 100, 1);
    __builtin_ia32_ldmxcsr(before);
    CHECK(wrong == 0);
    pool_free(p);
}
#endif

// --- Where threads run ---------------------------------------------------------------------------

typedef struct Places {
    _Atomic int caller, helper; // processors
    int left;                   // the processor that the helper may have to leave
    _Atomic bool leaves;        // it may not run there
} Places;

// A tenth of a millisecond.
static int note_place(void *arg, int64_t from, int64_t to, int thread) {
    Places *p = arg;
    (void)from, (void)to;
    struct timespec t, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    atomic_store(thread ? &p->helper : &p->caller, sched_getcpu());
    cpu_set_t mine;
    if (thread && !sched_getaffinity(0, sizeof mine, &mine))
        atomic_store(&p->leaves, !CPU_ISSET((size_t)p->left, &mine));
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while ((t.tv_sec - end.tv_sec) * 1000000000 + t.tv_nsec - end.tv_nsec < 100000);
    return 0;
}

static void move_to(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

// The caller comes to where the helper sleeps; that must not wake up there: it is not allowed to,
// even if the kernel would have woken it elsewhere.
TEST(a_helper_makes_room_for_its_caller) {
    enum { ROUNDS = 40 };
    const struct timespec rest = {0, 3000000};
    cpu_set_t all;
    if (pool_processors() < 2) return;
    sched_getaffinity(0, sizeof all, &all);
    Pool *pool = pool_new(2);
    int met = 0, apart = 0, left = 0;
    Places p = {.helper = -1};
    pool_for(pool, 2, note_place, &p, 40, 1);
    for (int i = 0, bed = 0; i < ROUNDS; i++) {
        nanosleep(&rest, NULL);
        if (p.helper >= 0) bed = p.helper;
        move_to(bed);
        if (i % 2) sched_setaffinity(0, sizeof all, &all);
        p = (Places){.helper = -1, .left = bed};
        pool_for(pool, 2, note_place, &p, 16, 1);
        sched_setaffinity(0, sizeof all, &all);
        met += p.helper >= 0, apart += p.helper >= 0 && p.helper != p.caller;
        left += p.helper >= 0 && p.leaves;
    }
    CHECK(met >= ROUNDS / 4 && 4 * apart >= 3 * met);
    CHECK(2 * left >= met);
    pool_free(pool);
}

// ThreadSanitizer does not follow a fork while there are threads; AddressSanitizer leaves its
// allocator locked in the child if another thread was allocating.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// A child of a process whose pool is at work: it has no threads, and makes some when it needs them.
static bool child_works(Pool *p) {
    pid_t pid = fork();
    if (pid == 0) {
        Count *c = fresh(p);
        bool ok = pool_for(p, 4, count, c, 1000, 1) == 0 && each_once(c, 1000);
        ok &= pool_started(p) == 3;
        pid_t again = fork();
        if (again == 0) _exit(pool_for(p, 4, nest, fresh(p), 20, 1) != 0);
        int status = -1;
        ok &= waitpid(again, &status, 0) == again && status == 0;
        if (ok) pool_free(p);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

// A body that makes a child, which runs loops of its own there and then goes back to where its
// parent was: the loop ends, with a status, since its other parts are not in this process.
typedef struct Forking {
    Count *count;
    pid_t caller;
    _Atomic pid_t child;
    _Atomic bool nested_ok;
} Forking;

static int forking(void *arg, int64_t from, int64_t to, int thread) {
    Forking *f = arg;
    if (thread == 0 && !f->child && getpid() == f->caller) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            Count *c = fresh(f->count->pool);
            f->nested_ok = pool_for(c->pool, 4, count, c, 1000, 1) == 0 && each_once(c, 1000);
            f->child = 1;
        } else {
            f->child = pid;
        }
    }
    return count(f->count, from, to, thread);
}

TEST(a_body_may_fork) {
    Pool *p = pool_new(4);
    for (int round = 0, forks = 0; forks < 10; round++) {
        Forking f = {.count = fresh(p), .caller = getpid()};
        int status = pool_for(p, 4, forking, &f, 1000, 1);
        if (getpid() != f.caller) {
            bool again = pool_for(p, 4, count, fresh(p), 1000, 1) == 0;
            _exit((status != KERNEL_FORKED) | !f.nested_ok << 1 | !again << 2);
        }
        CHECK(status == 0);
        CHECK(each_once(f.count, 1000));
        int child = -1;
        forks += f.child > 0; // others may have been quicker than the caller
        CHECK(!f.child || waitpid(f.child, &child, 0) == f.child);
        CHECK(!f.child || child == 0);
        free(f.count);
        if (!CHECK(round < 1000)) return;
    }
    pool_free(p);
}

TEST(a_fork_takes_no_threads_along) {
    Pool *p = pool_new(4);
    pthread_t t[2];
    CHECK(child_works(p));
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, hammer, p);
    for (int i = 0; i < 20; i++) CHECK(child_works(p));
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    CHECK(child_works(p));
    pool_free(p);
}
#endif
