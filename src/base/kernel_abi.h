// The calling convention of compiled kernels, common to all back-ends.
//
//     int kernel(void *const *buffers, void *scratch, const KernelEnv *env);
//
// `buffers` holds one pointer per argument tensor of the Program, inputs first, to the element at
// its origin. `scratch` points to the bytes that the kernel's scratch query returns for
// env->threads threads, 64-byte aligned; buffers of a parallel loop exist once per thread. The
// result is 0, or a status: KERNEL_BAD_INDEX + statement number if a gather or scatter was out of
// range; KERNEL_FORKED in a child that was forked inside a parallel loop, because the other parts
// of the loop run in its parent.
#ifndef LW_BASE_KERNEL_ABI_H
#define LW_BASE_KERNEL_ABI_H

#include <stdint.h>

typedef struct KernelEnv KernelEnv;

// Some iterations of a parallel loop, from <= i < to. `thread` is below KernelEnv.threads; no two
// calls with the same number run at once. Non-zero is a status.
typedef int KernelBody(void *arg, int64_t from, int64_t to, int thread);

struct KernelEnv {
    uint32_t flags; // KERNEL_ACCUMULATE | KERNEL_SKIP_POST
    int threads;    // threads for parallel loops; 1 or less: only the caller's
    // Calls body so that the ranges cover [0, count), in tasks of at least `grain` iterations, and
    // returns when all are done: 0, or a status that one of them returned (the rest may then be
    // skipped). NULL: parallel loops run on the caller's thread.
    int (*parallel_for)(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                        int64_t grain);
    // Computes operations without an instruction: `n` lanes of operation `op` on operands of type
    // `type`. Each operand is an array of n 8-byte Values (base/types.h); the arrays are
    // consecutive, and the results replace the first one.
    void (*apply)(int op, int type, int to, int n, void *values);
    void *user;
};

enum {
    KERNEL_ACCUMULATE = 1, // INIT leaves do nothing
    KERNEL_SKIP_POST = 2,  // POST leaves do nothing
};

// How to unwind to the caller, from `offset` of the code on until the next rule: the location of
// the canonical frame address, just above the return address. The first `kept` of rbx, rbp, r12 ...
// r15 are saved below it.
typedef enum FrameRule {
    FRAME_RSP,  // at rsp + 8 + 8*kept
    FRAME_RAX,  // at rax + 8 + 8*kept
    FRAME_RBX,  // at rbx + 8 + 8*at; the saved registers are unknown
    FRAME_SLOT, // 8 + 8*kept above the value at rsp + `at`, rounded up to 64 bytes
} FrameRule;

typedef struct KernelFrame {
    uint32_t offset;
    FrameRule rule;
    int kept;
    int at;
} KernelFrame;

enum { KERNEL_OK = 0, KERNEL_FORKED = 1, KERNEL_BAD_INDEX = 1000 };

typedef int Kernel(void *const *buffers, void *scratch, const KernelEnv *env);

#endif
