#define _GNU_SOURCE
#include "run/timing.h"

#include <math.h>
#include <time.h>

static const double sample_seconds = 70e-6;

static double read_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double wall_clock(void) { return read_clock(CLOCK_MONOTONIC); }
double thread_clock(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double stopwatch_read(const Stopwatch *s) { return s->wall ? wall_clock() : thread_clock(); }

Stopwatch stopwatch_new(int threads) {
    enum { ROUNDS = 21 };
    Stopwatch s = {.wall = threads > 1, .overhead = INFINITY};
    for (int i = 0; i < ROUNDS; i++) {
        double begin = stopwatch_read(&s);
        s.overhead = fmin(s.overhead, stopwatch_read(&s) - begin);
    }
    return s;
}

double kernel_sample(const Stopwatch *s, const KernelCall *k, int64_t calls) {
    double start = stopwatch_read(s);
    for (int64_t i = 0; i < calls; i++) k->entry(k->buffers, k->scratch, k->env);
    double took = stopwatch_read(s) - start - s->overhead;
    return fmax(took / (double)calls, 1e-10);
}

int64_t calls_per_sample(double once) {
    return once < sample_seconds ? (int64_t)(sample_seconds / once) + 1 : 1;
}

double sample_length(void) { return sample_seconds; }
