// What a kernel executes, instruction by instruction, and what that takes a described processor at
// best.
//
// The kernel runs under the trap flag: every instruction is recorded with the address that it
// touches. Then the stream is played on a family's numbers: no cache misses, no mispredicted
// branches, registers renamed, moves free, every pipe busy whenever there is work, a window of 512
// instructions. No processor of the family is faster, and nothing of it is shared with
// space/bound.c but the table of families: a bound above it is wrong.
#ifndef SUPPORT_STEPPER_H
#define SUPPORT_STEPPER_H

#include "base/kernel_abi.h"
#include "code/listing.h"

typedef struct Step {
    uint32_t insn;    // number in the Listing; UINT32_MAX: outside of the kernel
    uint64_t address; // that it touches, or 0
} Step;

typedef struct Steps {
    Step *at;
    int64_t n, room;
    bool cut; // there were more than there is room for
} Steps;

// Runs the kernel at `entry`; its status. Not from several threads at once.
int step_kernel(const Listing *l, Kernel *entry, size_t size, void *const *buffers, void *scratch,
                const KernelEnv *env, Arena *arena, Steps *steps);

// Seconds that the stream takes at least; what says so, in words.
double step_seconds(Arena *arena, const Listing *l, const Steps *steps, const Family *f,
                    const char **why);

#endif
