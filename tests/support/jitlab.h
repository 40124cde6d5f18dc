// Runs a Tree as x86-64 code on lab data, every argument flush against a guard page, every call of
// kernels and bodies of parallel loops through a trampoline that checks the calling convention.
#ifndef SUPPORT_JITLAB_H
#define SUPPORT_JITLAB_H

#include "code/code.h"
#include "machine/machine.h"
#include "run/exec.h"
#include "support/proglab.h"
#include "tree/tree.h"

// What ran so far in this process: kernels with loops that are shared out, and of those the ones
// whose threads have memory of their own.
typedef struct JitCount {
    int64_t parallel, private;
} JitCount;
extern JitCount jit_count;

// JIT_BROKEN: the kernel wrote outside its buffers, or did not leave the processor as the ABI wants
// it. What it changed is printed.
typedef enum JitResult { JIT_OK, JIT_DECLINED, JIT_STATUS, JIT_BROKEN } JitResult;

// What all kernels so far made use of.
extern int64_t jit_tricks[TRICK_COUNT];

// The machine these tests run on, as one that has no more than `isa`; false where it has less.
// ISA_COUNT: all that it has.
bool jit_machine(Isa isa, Machine *m);

// `threads`: 1 runs on the caller's; of more, an even number deals the iterations of parallel loops
// out in turn, last ones first, and an odd one shares them out to threads. `low`: buffers begin
// right behind a guard page; otherwise they end right in front of one. The results replace the
// contents of `data`.
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

// The same Tree with guards that stand alone in a loop as constraints of that loop, which is how
// Stripe files have them: for j { if c { .. } } becomes for j where c { .. }.
Tree *jit_bound_loops(Tree *t);

#endif
