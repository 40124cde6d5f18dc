// The instructions that a kernel executes, and their least time on a described processor.
//
// The kernel runs under the trap flag: every instruction is recorded with the address that it
// accesses. Then the trace is simulated with a family's numbers: no cache misses, no mispredicted
// branches, registers renamed, moves free, every pipe busy whenever there is work, a window of 512
// instructions. No processor of the family is faster, and the simulation shares only the table of
// families with space/bound.c: a bound above it is wrong.
#ifndef SUPPORT_STEPPER_H
#define SUPPORT_STEPPER_H

#include "base/kernel_abi.h"
#include "code/listing.h"

typedef struct Step {
    uint32_t insn;    // number in the Listing; UINT32_MAX: outside of the kernel
    uint64_t address; // that it accesses, or 0
} Step;

typedef struct Steps {
    Step *at;
    int64_t n, room;
    bool cut; // the trace was truncated
} Steps;

// Runs the kernel at `entry`; its status. Not from several threads at once.
int step_kernel(const Listing *l, Kernel *entry, size_t size, void *const *buffers, void *scratch,
                const KernelEnv *env, Arena *arena, Steps *steps);

// The least time of the trace in seconds; and the limiting resource, in words.
double step_seconds(Arena *arena, const Listing *l, const Steps *steps, const Family *f,
                    const char **why);

#endif
