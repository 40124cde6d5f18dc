// Runs a Tree as x86-64 code on lab data, with every argument against a guard page; kernels and
// bodies of parallel loops are called through a trampoline that checks the calling convention.
#ifndef SUPPORT_JITLAB_H
#define SUPPORT_JITLAB_H

#include "code/code.h"
#include "machine/machine.h"
#include "run/exec.h"
#include "support/proglab.h"
#include "tree/tree.h"

// Counts of this process: kernels with parallel loops, and those with per-thread memory.
typedef struct JitCount {
    int64_t parallel, private;
} JitCount;
extern JitCount jit_count;

// JIT_BROKEN: the kernel wrote outside its buffers, or violated the ABI. The change is printed.
typedef enum JitResult { JIT_OK, JIT_DECLINED, JIT_STATUS, JIT_BROKEN } JitResult;

// Optimisations used by all kernels so far.
extern int64_t jit_tricks[TRICK_COUNT];

// This machine, capped at `isa`; false if it does not have `isa`. ISA_COUNT: no cap.
bool jit_machine(Isa isa, Machine *m);

// `threads`: 1 runs on the caller's thread; an even number simulates threads one after the other,
// last iterations first, and an odd one uses real threads. `low`: buffers begin directly after a
// guard page; otherwise they end directly before one. The results replace the contents of `data`.
JitResult jit_run(Lab *lab, const Tree *t, const Machine *m, const LabData *data, InterpFlags flags,
                  int threads, bool low);

// The same in two steps, for a kernel that runs several times.
typedef struct JitKernel {
    Code code;
    ExecArena *arena;
    ExecBlock *block;
} JitKernel;

bool jit_kernel_new(Lab *lab, const Tree *t, const Machine *m, JitKernel *k); // false: declined
JitResult jit_kernel_run(Lab *lab, const JitKernel *k, const LabData *data, InterpFlags flags,
                         int threads, bool low);
void jit_kernel_free(JitKernel *k);

// The same Tree with a guard that is the only child of a loop as a constraint of that loop, as in
// Stripe files: for j { if c { .. } } becomes for j where c { .. }.
Tree *jit_bound_loops(Tree *t);

#endif
