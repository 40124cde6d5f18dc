// A thread pool for parallel loops.
//
// A pool starts no thread before the first loop that can use one. Its threads spin for a few
// microseconds when they have no work and then sleep, so that a loop that soon follows another
// finds them awake. The threads serve one loop at a time: a loop that is started from inside
// another, or from a second thread meanwhile, runs on its caller's thread. Any thread may use a
// pool; after fork, the child's first loop starts new threads. A child forked inside a loop (by a
// body, or by a signal handler) may start loops too; when it returns to the loop that it was forked
// in, that loop ends with KERNEL_FORKED.
#ifndef LW_RUN_POOL_H
#define LW_RUN_POOL_H

#include "base/kernel_abi.h"

typedef struct Pool Pool;

enum { POOL_MAX_THREADS = 1024 };

// The processors this process may run on.
int pool_processors(void);

// `threads` counts the one that calls. NULL when there is no memory.
Pool *pool_new(int threads);
// No loop may be running. Waits for the threads to end.
void pool_free(Pool *p);
int pool_started(const Pool *p); // number of threads, without the caller's

// Calls body(arg, from, to, thread) so that the ranges cover [0, count), each at least `grain`
// iterations long except the last, on at most `threads` threads, numbered from 0; 0 is the caller.
// All threads use the caller's floating-point control (rounding, denormals). Returns 0, or a
// nonzero status that some call returned, after which no further ranges are started.
int pool_for(Pool *p, int threads, KernelBody *body, void *arg, int64_t count, int64_t grain);

// KernelEnv.parallel_for, for an environment whose `user` is a Pool.
int pool_parallel_for(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                      int64_t grain);

#endif
