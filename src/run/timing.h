// Timing calls of a kernel: one method for `run --time` and for the candidates of a tuning, so that
// both report the same time for the same kernel.
//
// A sample is a series of calls that takes SAMPLE_SECONDS, which makes the clock's resolution and
// overhead small. The overhead is subtracted; the cost of calling the kernel is not, since callers
// pay it. One thread is timed by its processor time, several by wall-clock time.
#ifndef LW_RUN_TIMING_H
#define LW_RUN_TIMING_H

#include "base/kernel_abi.h"

#include <stdbool.h>

typedef struct Stopwatch {
    bool wall;       // wall-clock time, otherwise the thread's processor time
    double overhead; // least seconds between two consecutive readings
} Stopwatch;

// A kernel with the arguments of its calls.
typedef struct KernelCall {
    Kernel *entry;
    void *const *buffers;
    void *scratch;
    const KernelEnv *env;
} KernelCall;

double wall_clock(void);   // seconds
double thread_clock(void); // seconds of processor time of this thread

Stopwatch stopwatch_new(int threads);
double stopwatch_read(const Stopwatch *s);

// Seconds of one call: the mean of `calls` consecutive calls.
double kernel_sample(const Stopwatch *s, const KernelCall *k, int64_t calls);
// The number of calls per sample for a kernel that takes `once` seconds.
int64_t calls_per_sample(double once);
double sample_length(void); // seconds

#endif
