// Threads that share out the iterations of a loop.
//
// A pool starts no thread before the first loop that can use one. Its threads wait for work by
// looking for a few microseconds and sleep after that, so that a loop that follows soon upon
// another finds them awake. One loop has the threads at a time: a loop that is started from inside
// another, or from a second thread meanwhile, runs where it is started. A pool may be used from any
// thread; after fork, the child's first loop makes threads of its own. A child made inside a loop
// (by a body, or by a signal handler) may start loops too; when it returns to the one it was made
// in, that ends with KERNEL_FORKED.
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
int pool_started(const Pool *p); // threads that exist, the caller's not counted

// Calls body(arg, from, to, thread) so that the ranges cover [0, count), each at least `grain`
// iterations long except the last, on at most `threads` threads, numbered from 0; 0 is the caller.
// Floating-point control (rounding, denormals) is the caller's on all of them. Returns 0, or a
// status that some call returned; after one, ranges that were not begun are left out.
int pool_for(Pool *p, int threads, KernelBody *body, void *arg, int64_t count, int64_t grain);

// KernelEnv.parallel_for, for an environment whose `user` is a Pool.
int pool_parallel_for(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                      int64_t grain);

#endif
