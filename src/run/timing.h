// Timing calls of a kernel: one rule, for `run --time` and for the candidates of a tuning, so that
// both say the same of the same kernel.
//
// A sample is as many calls in a row as last SAMPLE_SECONDS, which makes the clock's resolution and
// its own cost small. That cost is subtracted; the cost of calling the kernel is not, since callers
// pay it. One thread is timed by the processor time it had, several by the time that passed.
#ifndef LW_RUN_TIMING_H
#define LW_RUN_TIMING_H

#include "base/kernel_abi.h"

#include <stdbool.h>

typedef struct Stopwatch {
    bool wall;       // time that passes, otherwise the thread's processor time
    double overhead; // seconds between two readings with nothing in between, at best
} Stopwatch;

// A kernel with the arguments of its calls.
typedef struct KernelCall {
    Kernel *entry;
    void *const *buffers;
    void *scratch;
    const KernelEnv *env;
} KernelCall;

double wall_clock(void);   // seconds
double thread_clock(void); // seconds that this thread had a processor

Stopwatch stopwatch_new(int threads);
double stopwatch_read(const Stopwatch *s);

// Seconds of one call: the mean of `calls` in a row.
double kernel_sample(const Stopwatch *s, const KernelCall *k, int64_t calls);
// Calls that make a sample of a kernel that takes `once`.
int64_t calls_per_sample(double once);
double sample_length(void); // seconds

#endif
