// What a compiled kernel looks like, whoever made it.
//
//     int kernel(void *const *buffers, void *scratch, const KernelEnv *env);
//
// `buffers` holds one pointer per argument tensor of the Program, inputs first, to the element at
// its origin. `scratch` points to as many bytes as the kernel's scratch query says, 64-byte
// aligned. The result is 0, or a status: KERNEL_BAD_INDEX + statement number when a gather or
// scatter left its tensor.
#ifndef LW_BASE_KERNEL_ABI_H
#define LW_BASE_KERNEL_ABI_H

#include <stdint.h>

typedef struct KernelEnv KernelEnv;

// Runs body(arg, from, to) so that the ranges cover [0, count), on any threads, and returns when
// all are done. `thread` numbers the participants from 0; each has `scratch` bytes of its own at
// arg's disposal.
typedef int KernelBody(void *arg, int64_t from, int64_t to, int thread);

struct KernelEnv {
    uint32_t flags; // KERNEL_ACCUMULATE | KERNEL_SKIP_POST
    int threads;
    int (*parallel_for)(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                        int64_t grain);
    // What no instruction computes: `n` lanes of operation `op` on operands of type `type`, each
    // operand an array of n 8-byte Values (base/types.h) one after the other; results replace the
    // first operand.
    void (*apply)(int op, int type, int to, int n, void *values);
    void *user;
};

enum {
    KERNEL_ACCUMULATE = 1, // INIT leaves do nothing
    KERNEL_SKIP_POST = 2,  // POST leaves do nothing
};

enum { KERNEL_OK = 0, KERNEL_BAD_INDEX = 1000 };

typedef int Kernel(void *const *buffers, void *scratch, const KernelEnv *env);

#endif
