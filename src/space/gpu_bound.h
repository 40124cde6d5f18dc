// The lower bound of a GPU, after Telamon: seconds that no implementation below a candidate can
// beat, at the rates of a GpuMachine. The functions of bound.h take its model.
//
//     compute  multiply-adds (one per term of a reduction) on as many processors as there may be
//              blocks, in as many lanes as a block may have threads; whole waves of blocks once
//              their number is decided
//     chain    the terms of a sum that one thread adds one after the other, once for every wave of
//              blocks that the processors cannot hold at a time
//     load     elements that threads load for a term, less those that their registers may keep;
//              from global memory the sectors that a warp accesses, from copies in shared memory
//              its cycles in their banks, once the threads are decided
//     L2       every argument once: caches of processors are empty when a kernel starts
//     memory   data that does not fit into L2
//     launch   of one kernel and its blocks: added to the largest of the others
//
// A nest that may still have no marks has no limits, because the mapping may divide it.
#ifndef LW_SPACE_GPU_BOUND_H
#define LW_SPACE_GPU_BOUND_H

#include "machine/gpu_machine.h"
#include "space/bound.h"

// NULL if the machine is not a GPU.
BoundModel *gpu_bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o);

// Private to bound.c and bound_text.c.
double gpu_bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms);
void gpu_bound_explain(Text *out, const BoundModel *b, const Cand *c);

// Blocks that a processor holds at a time, by threads, registers and shared memory.
int gpu_resident_blocks(const GpuMachine *m, int threads, int registers, int shared);

#endif
