// The instructions that a kernel executes, and their least time on a described processor.
//
// A copy of the kernel that records every instruction with the address that it accesses runs on
// this machine. Then the trace is simulated with a family's numbers: no cache misses, no
// mispredicted branches, registers renamed, moves free, every pipe busy whenever there is work, a
// window of 512 instructions. No processor of the family is faster, and the simulation shares only
// the table of families with space/bound.c: a bound above it is wrong.
#ifndef SUPPORT_STEPPER_H
#define SUPPORT_STEPPER_H

#include "base/kernel_abi.h"
#include "code/listing.h"

typedef struct Step {
    uint32_t insn;    // number in the Listing; UINT32_MAX: outside of the kernel
    int lanes;        // of a gather or scatter that it surely accesses; otherwise 1
    uint64_t address; // that it accesses, or 0
} Step;

enum { MANY_STEPS = 60000 };

typedef struct Steps {
    Step *at; // room for MANY_STEPS
    int64_t n;
    bool cut; // the trace was truncated
} Steps;

// Runs the kernel on one thread; its status. Not from several threads at once.
int step_kernel(const Code *code, const Listing *l, void *const *buffers, void *scratch,
                Arena *arena, Steps *steps);

// The least time of the trace in seconds; and the limiting resource, in words.
double step_seconds(Arena *arena, const Listing *l, const Steps *steps, const Family *f,
                    const char **why);

#endif
