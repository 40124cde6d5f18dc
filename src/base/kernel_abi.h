// What a compiled kernel looks like, whoever made it.
//
//     int kernel(void *const *buffers, void *scratch, const KernelEnv *env);
//
// `buffers` holds one pointer per argument tensor of the Program, inputs first, to the element at
// its origin. `scratch` points to as many bytes as the kernel's scratch query says for env->threads
// threads, 64-byte aligned: what a parallel loop allocates is there once per thread. The result is
// 0, or a status: KERNEL_BAD_INDEX + statement number when a gather or scatter left its tensor;
// KERNEL_FORKED in a child that was made inside a parallel loop, whose other parts its parent has.
#ifndef LW_BASE_KERNEL_ABI_H
#define LW_BASE_KERNEL_ABI_H

#include <stdint.h>

typedef struct KernelEnv KernelEnv;

// Some iterations of a parallel loop, from <= i < to. `thread` is below KernelEnv.threads; no two
// calls with the same number run at once. Non-zero is a status.
typedef int KernelBody(void *arg, int64_t from, int64_t to, int thread);

struct KernelEnv {
    uint32_t flags; // KERNEL_ACCUMULATE | KERNEL_SKIP_POST
    int threads;    // that parallel loops may be shared out to; 1 or less: none but the caller's
    // Calls body so that the ranges cover [0, count), in tasks of at least `grain` iterations, and
    // returns when all are done: 0, or a status that one of them gave (the rest may then be left
    // out). NULL: parallel loops run on the caller's thread.
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

// How the caller is found from inside, from `offset` of the code on until the next rule: where the
// stack pointer was behind the return address. rbx, rbp, r12 ... r15 lie below that, the first
// `kept` of them.
typedef enum FrameRule {
    FRAME_RSP,  // at rsp + 8 + 8*kept
    FRAME_RAX,  // at rax + 8 + 8*kept
    FRAME_RBX,  // at rbx + 8 + 8*at, and none of the registers are known
    FRAME_SLOT, // 8 + 8*kept above what lies `at` bytes above rsp, rounded up to 64 bytes
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
