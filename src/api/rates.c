// Measures this machine with kernels that its target makes (TargetProbes): each runs many times,
// and the best rate counts.
//
// A kernel runs `passes` iterations of one loop (MeasureKernel). The FMA kernel does multiply-adds
// into all registers; others do adds, multiplies or additions of integers, in parallel or in a
// chain; the moving kernels go over `bytes`, a power of two, again and again with unrolled loads,
// stores or both. A team of one thread runs each kernel, then a team of one thread per core, in
// rounds: all threads start together, and the rate of a round is all of their work over the time
// from the first start to the last end. Disturbances only make a round slower, so the best of many
// short rounds is the rate of the machine.
#define _GNU_SOURCE
#include "api/rates.h"

#include "api/pipeline.h"
#include "base/checked.h"
#include "run/exec.h"
#include "run/timing.h"
#include "target/target.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void MeasureKernel(void *to, const void *from, int64_t bytes, int64_t passes, int64_t at);

enum { CODE_SIZE = 4096 };
static const double sample_us = 200, trial_us = 16000, pipe_us = 5000;

// --- Teams ---------------------------------------------------------------------------------------

typedef struct RateTrial {
    MeasureKernel *kernel;
    char *memory;  // `bytes` for each thread, twice for a copy
    int64_t bytes; // per thread, in one direction
    bool copy;
    int64_t step; // bytes of one pass
    double work;  // of one pass of one thread
    double us;    // that it takes; 0: as long as usual
} RateTrial;

typedef struct Team Team;

typedef struct RateWorker {
    Team *team;
    pthread_t thread;
    int number, cpu; // cpu -1: any
    double from, to; // of the last round
} RateWorker;

struct Team {
    const RateTrial *trial;
    int size;
    RateWorker *workers;
    atomic_int arrived, round;
    atomic_bool broken; // some thread could not be started
    int64_t passes;
    int rounds;
    double best, deadline;
};

// All threads wait for each other. Spins, because a round lasts a fraction of a millisecond, but
// yields in case there are more threads than free cores.
static void meet(Team *t) {
    int round = atomic_load(&t->round);
    if (atomic_fetch_add(&t->arrived, 1) + 1 == t->size) {
        atomic_store(&t->arrived, 0);
        atomic_store(&t->round, round + 1);
        return;
    }
    for (int spins = 0; atomic_load(&t->round) == round && !atomic_load(&t->broken); spins++)
        if (spins > 2000) sched_yield();
}

static void pin(int cpu) {
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set); // better numbers, if allowed
}

// By the first of the team, while the others wait: what the round was worth, and the next one.
static void judge(Team *t) {
    double from = t->workers[0].from, to = t->workers[0].to;
    for (int i = 1; i < t->size; i++) {
        if (t->workers[i].from < from) from = t->workers[i].from;
        if (t->workers[i].to > to) to = t->workers[i].to;
    }
    double us = to - from, work = t->trial->work * (double)t->passes * t->size;
    if (us < sample_us && t->passes < INT64_C(1) << 40)
        t->passes *= 2; // too short to be timed well
    else if (us > 0 && work / us * 1e-3 > t->best)
        t->best = work / us * 1e-3;
    if (++t->rounds > 2 && now_us() > t->deadline && t->best > 0) t->passes = 0;
}

// As kernels are timed: one thread by the processor time it had, several by the time that passes.
static double team_clock(const Team *t) { return t->size > 1 ? now_us() : 1e6 * thread_clock(); }

static void *work(void *arg) {
    RateWorker *w = arg;
    Team *t = w->team;
    const RateTrial *trial = t->trial;
    char *to = trial->memory + (int64_t)w->number * trial->bytes * (trial->copy ? 2 : 1);
    int64_t at = 0; // rounds go on where the one before ended: those in memory find cold lines
    pin(w->cpu);
    for (;;) {
        meet(t);
        if (atomic_load(&t->broken) || t->passes == 0) return NULL;
        w->from = team_clock(t);
        trial->kernel(to, to + (trial->copy ? trial->bytes : 0), trial->bytes, t->passes, at);
        w->to = team_clock(t);
        if (trial->bytes) at = (at + t->passes * trial->step) & (trial->bytes - 1);
        meet(t);
        if (w->number == 0) judge(t);
    }
}

// The best rate in 10^9 per second; 0 when threads could not be started.
static double team_run(const RateTrial *trial, RateWorker *workers, const int *cpus, int size) {
    Team t = {.trial = trial, .size = size, .workers = workers, .passes = 1};
    t.deadline = now_us() + (trial->us > 0 ? trial->us : trial_us);
    int started = 0;
    for (; started < size; started++) {
        RateWorker *w = &t.workers[started];
        *w = (RateWorker){.team = &t, .number = started, .cpu = size > 1 ? cpus[started] : -1};
        if (pthread_create(&w->thread, NULL, work, w) != 0) break;
    }
    if (started < size) atomic_store(&t.broken, true);
    for (int i = 0; i < started; i++) pthread_join(t.workers[i].thread, NULL);
    return started < size ? 0 : t.best;
}

// --- Measuring -----------------------------------------------------------------------------------

typedef struct RateMeasure {
    const Machine *m;
    ExecArena *exec; // made last: running out of memory unwinds
    RateWorker *workers;
    uint8_t *code;
    char *memory;
    int cores, *cpus;
    Rates *out;
    bool failed;
} RateMeasure;

static int list_cpus(int *cpus, int room) {
    cpu_set_t set;
    int n = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) {
            if (n < room) cpus[n] = (int)i;
            n++;
        }
    return n;
}

int measure_cores(void) { return list_cpus(NULL, 0); }

// Runs what `a` holds by one core or all, and keeps the better rate.
static void try_code(RateMeasure *s, Asm *a, RateTrial *trial, int cores, double *best) {
    if (asm_finish(a) != ASM_OK) return; // an instruction that this machine does not have
    ExecBlock *block = exec_add(s->exec, a->start, asm_size(a));
    if (!block) {
        s->failed = true;
        return;
    }
    void *entry = exec_entry(block);
    memcpy(&trial->kernel, &entry, sizeof entry); // ISO C has no cast from object to function
    double rate = team_run(trial, s->workers, s->cpus, cores == CORES_ONE ? 1 : s->cores);
    exec_release(block);
    if (rate <= 0) s->failed = true;
    if (rate > *best) *best = rate;
}

static Asm new_code(RateMeasure *s) {
    Asm a;
    asm_init(&a, s->code, CODE_SIZE);
    return a;
}

static void measure_fma(RateMeasure *s) {
    for (Width w = WIDTH_ONE; s->m->width != WIDTH_ONE && w <= s->m->width; w++)
        for (int f64 = 0; f64 < 2; f64++)
            for (int cores = 0; cores < CORES_COUNT; cores++) {
                Asm a = new_code(s);
                RateTrial trial = {.memory = s->memory};
                trial.work = s->m->target->probes->fma(&a, w, f64);
                try_code(s, &a, &trial, cores, &s->out->fma[w][f64][cores]);
            }
}

// Pipes, and what chains wait for.
static void measure_pipes(RateMeasure *s) {
    if (s->m->width == WIDTH_ONE) return;
    for (Width w = WIDTH_HALF; w <= s->m->width; w++)
        for (int work = 0; work < WORK_COUNT; work++) {
            Asm a = new_code(s);
            RateTrial trial = {.memory = s->memory, .us = pipe_us};
            trial.work = s->m->target->probes->work(&a, w, (WorkKind)work);
            try_code(s, &a, &trial, CORES_ONE, &s->out->work[w][work]);
        }
    for (int of = 0; of <= LATENCY_COUNT; of++) {
        Asm a = new_code(s);
        RateTrial trial = {.memory = s->memory, .us = pipe_us};
        trial.work = s->m->target->probes->chain(&a, (Latency)of);
        bool clock = of == LATENCY_COUNT;
        double rate = clock ? s->out->ghz : s->out->latency[of] > 0 ? 1e3 / s->out->latency[of] : 0;
        try_code(s, &a, &trial, CORES_ONE, &rate);
        if (clock) s->out->ghz = rate;
        if (!clock && rate > 0) s->out->latency[of] = 1e3 / rate;
    }
}

enum { MIB = 1 << 20 };

// Bytes that one of a team goes over at a level, a power of two; 0 when there is no such cache. At
// most three quarters of a cache, so that what else is in it does not matter; of the shared one at
// most a quarter, which is what a virtual machine may have of it.
static int64_t level_bytes(const Machine *m, int level, int team) {
    int64_t most;
    if (level == LEVEL_MEMORY)
        most = max_i64(64 * MIB, min_i64(3 * m->cache[3], INT64_C(512) * MIB)) / team;
    else if (level < LEVEL_L3)
        most = m->cache[level + 1] / 4 * 3;
    else
        most = m->cache[3] ? max_i64(m->cache[3] / 4 / team, 2 * m->cache[2]) : 0;
    int64_t bytes = 1;
    while (bytes <= most / 2) bytes *= 2;
    return most ? bytes : 0;
}

static void measure_move(RateMeasure *s, int level, int move, int cores) {
    int team = cores == CORES_ONE ? 1 : s->cores;
    bool copy = move == MOVE_COPY;
    int64_t bytes = level_bytes(s->m, level, team) / (copy ? 2 : 1);
    int64_t step = s->m->target->probes->move_unroll * s->m->vector_bytes;
    if (bytes < step) return;
    RateTrial trial = {.memory = s->memory, .bytes = bytes, .copy = copy, .step = step};
    trial.work = (double)step * (copy ? 2 : 1);
    bool past = level >= LEVEL_L3 && move != MOVE_LOAD && s->m->width != WIDTH_ONE;
    for (int past_caches = 0; past_caches <= (int)past; past_caches++) {
        Asm a = new_code(s);
        s->m->target->probes->move(&a, s->m, move, past_caches);
        try_code(s, &a, &trial, cores, &s->out->move[level][move][cores]);
    }
}

static size_t memory_needed(const Machine *m, int cores) {
    int64_t most = 0;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        most = max_i64(most, level_bytes(m, level, 1));
        most = max_i64(most, level_bytes(m, level, cores) * cores);
    }
    return (size_t)most;
}

// The trials, with code and data memory that no arena gives: nothing may unwind from here on. All
// of them twice, a second apart: clocks change and others come and go, and the best counts.
static void measure_all(RateMeasure *s) {
    enum { PASSES = 2 };
    for (int pass = 0; pass < PASSES; pass++) {
        measure_fma(s);
        measure_pipes(s);
        for (int level = 0; level < LEVEL_COUNT; level++)
            for (int move = 0; move < MOVE_COUNT; move++)
                for (int cores = 0; cores < CORES_COUNT; cores++)
                    measure_move(s, level, move, cores);
    }
}

// All cores can do what one can; less was seen only because others used them.
static void at_least_one(double rate[CORES_COUNT]) {
    if (rate[CORES_ALL] < rate[CORES_ONE]) rate[CORES_ALL] = rate[CORES_ONE];
}

bool measure_rates(Call *call, const Machine *machine, Rates *out) {
    RateMeasure s = {.m = machine, .out = out, .cores = measure_cores()};
    *out = (Rates){.cores = s.cores};
    if (!machine->target->probes) return false;
    s.cpus = arena_new_n(call->scratch, int, s.cores);
    list_cpus(s.cpus, s.cores);
    s.code = arena_alloc(call->scratch, CODE_SIZE);
    s.workers = arena_new_n(call->scratch, RateWorker, s.cores);
    size_t size = memory_needed(machine, s.cores);
    s.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s.memory == MAP_FAILED) return false;
    madvise(s.memory, size, MADV_HUGEPAGE); // the rate of memory, not of page tables, if allowed
    memset(s.memory, 1, size); // pages that were never written are all one page of zeros
    s.exec = exec_arena_new();
    if (s.exec) measure_all(&s);
    for (int i = 0; i < WIDTH_COUNT * 2; i++) at_least_one(out->fma[i / 2][i % 2]);
    for (int i = 0; i < LEVEL_COUNT * MOVE_COUNT; i++)
        at_least_one(out->move[i / MOVE_COUNT][i % MOVE_COUNT]);
    exec_arena_free(s.exec);
    munmap(s.memory, size);
    return s.exec && !s.failed;
}

// LW_TUNE_PLANT=bound=3, for tests: bounds are three times as high.
double planted_bound(void) {
    const char *text = getenv("LW_TUNE_PLANT"), *at = text ? strstr(text, "bound=") : NULL;
    return at ? strtod(at + strlen("bound="), NULL) : 0;
}
