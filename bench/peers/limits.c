// The limits of this machine: multiply-adds in registers, and hand-written memory streams.
//
//     fma BITS THREADS WALL     24 independent chains (12 for 256 bits); one call: FMA_LOOPS times
//                               WALL 1: wall-clock time
//     read N                    N floats
//     copy N HOW                y = x         HOW 0: ordinary stores, 1: non-temporal ones
//     axpy N                    y = a x + y
//     triad N HOW               z = relu(a x + y)
//
// link: -lpthread

#include "peer.h"

#include <immintrin.h>
#include <pthread.h>
#include <semaphore.h>

typedef struct Limits {
    void (*run)(void);
    int64_t n, threads, bits;
    float *x, *y, *z;
    float sum;
} Limits;

static Limits task;

// --- Arithmetic ----------------------------------------------------------------------------------
enum { FMA_LOOPS = 10000 }; // a call is FMA_LOOPS * 24 * lanes multiply-adds per thread

#define SIX(OP, A, B, C, D, E, F) OP(A) OP(B) OP(C) OP(D) OP(E) OP(F)
#define CHAINS(OP)                SIX(OP, 0, 1, 2, 3, 4, 5) SIX(OP, 6, 7, 8, 9, 10, 11)
#define MORE(OP)                  SIX(OP, 12, 13, 14, 15, 16, 17) SIX(OP, 18, 19, 20, 21, 22, 23)
#define ZERO(i)                   "vpxorq %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define FMA512(i)                 "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define FMA256(i)                 "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define LOW                                                                                        \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define HIGH                                                                                       \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm30", "xmm31"

__attribute__((target("avx512f"))) static void fma512(int64_t n) {
    __asm__ volatile(CHAINS(ZERO) MORE(ZERO) ZERO(30) ZERO(31) //
                     "1:\n\t" CHAINS(FMA512) MORE(FMA512) "dec %0\n\tjnz 1b\n\tvzeroupper"
                     : "+r"(n)
                     :
                     : "cc", LOW, HIGH);
}

__attribute__((target("avx2,fma"))) static void fma256(int64_t n) {
    __asm__ volatile("vzeroall\n\t1:\n\t" CHAINS(FMA256) CHAINS(FMA256) "dec %0\n\tjnz 1b\n\t"
                                                                        "vzeroupper"
                     : "+r"(n)
                     :
                     : "cc", LOW);
}

static void fma_one(void) { (task.bits == 512 ? fma512 : fma256)(FMA_LOOPS); }

// The second thread spins for its turn for a while, then sleeps, to free its core between rounds.
static sem_t turn, done;

static void wait_for(sem_t *s) {
    for (int i = 0; i < 4000; i++) {
        if (!sem_trywait(s)) return;
        _mm_pause();
    }
    while (sem_wait(s)) {}
}

static void *second(void *unused) {
    (void)unused;
    for (;;) {
        wait_for(&turn);
        fma_one();
        sem_post(&done);
    }
    return NULL;
}

static void fma_two(void) {
    sem_post(&turn);
    fma_one();
    wait_for(&done);
}

// --- Memory --------------------------------------------------------------------------------------
// Four vectors per step; sizes are multiples of that.
#define WIDE __attribute__((target("avx512f")))

WIDE static void read_all(void) {
    __m512 a = _mm512_setzero_ps(), b = a, c = a, d = a;
    const float *x = task.x;
    for (int64_t i = 0; i < task.n; i += 64) {
        a = _mm512_add_ps(a, _mm512_load_ps(x + i));
        b = _mm512_add_ps(b, _mm512_load_ps(x + i + 16));
        c = _mm512_add_ps(c, _mm512_load_ps(x + i + 32));
        d = _mm512_add_ps(d, _mm512_load_ps(x + i + 48));
    }
    task.sum = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), _mm512_add_ps(c, d)));
}

#define STREAM(NAME, VALUE, STORE, TO, END)                                                        \
    WIDE static void NAME(void) {                                                                  \
        const __m512 k = _mm512_set1_ps(0.5f), zero = _mm512_setzero_ps();                         \
        (void)k, (void)zero;                                                                       \
        for (int64_t j = 0; j < task.n; j += 64)                                                   \
            _Pragma("GCC unroll 4") for (int64_t i = j; i < j + 64; i += 16)                       \
                STORE(task.TO + i, VALUE);                                                         \
        END;                                                                                       \
    }
#define X _mm512_load_ps(task.x + i)
#define Y _mm512_load_ps(task.y + i)
STREAM(copy_plain, X, _mm512_store_ps, y, )
STREAM(copy_past, X, _mm512_stream_ps, y, _mm_sfence())
STREAM(axpy, _mm512_fmadd_ps(k, X, Y), _mm512_store_ps, y, )
STREAM(triad_plain, _mm512_max_ps(_mm512_fmadd_ps(k, X, Y), zero), _mm512_store_ps, z, )
STREAM(triad_past, _mm512_max_ps(_mm512_fmadd_ps(k, X, Y), zero), _mm512_stream_ps, z, _mm_sfence())

// --- The peer ------------------------------------------------------------------------------------

static bool prepare_fma(const PeerTask *t, const char **why) {
    static bool started;
    task.bits = t->arg[0], task.threads = t->arg[1];
    task.run = task.threads == 2 ? fma_two : fma_one;
    peer_clock = t->arg[2] ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    *why = "the processor has no such vectors";
    if (task.bits == 512 && !__builtin_cpu_supports("avx512f")) return false;
    if (!__builtin_cpu_supports("fma")) return false;
    pthread_t thread;
    if (task.threads == 2 && !started) sem_init(&turn, 0, 0), sem_init(&done, 0, 0);
    if (task.threads == 2 && !started) started = !pthread_create(&thread, NULL, second, NULL);
    return task.threads < 2 || started;
}

static bool prepare(const PeerTask *t, const char **why) {
    static const struct {
        const char *op;
        void (*run)(void), (*past)(void);
    } ops[] = {{"read", read_all, NULL},
               {"copy", copy_plain, copy_past},
               {"axpy", axpy, NULL},
               {"triad", triad_plain, triad_past}};
    if (!strcmp(t->op, "fma")) return prepare_fma(t, why);
    *why = "not offered";
    if (!__builtin_cpu_supports("avx512f")) return false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(t->op, ops[i].op)) {
            task.n = t->arg[0] / 64 * 64;
            task.run = t->arg[1] ? ops[i].past : ops[i].run;
            task.x = peer_operand((size_t)task.n, 0);
            task.y = peer_operand((size_t)task.n, 1);
            task.z = peer_floats((size_t)task.n);
            return task.run != NULL;
        }
    return false;
}

static void call(void) { task.run(); }

int main(void) { return peer_main(&(Peer){"limits", prepare, call, NULL}); }
