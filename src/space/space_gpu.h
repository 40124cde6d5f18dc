// The space of a Program on a GPU: gpu.space instantiated for the objects of cpu.h.
//
//     CpuSpace *cs = gpu_space(arena, program, machine, given, diags);
//     const Schedule *s = cpu_schedule(arena, cs, c);          // of a full candidate
//     Decision *d = cpu_read(arena, cs, schedule, diags, &n);  // and back
#ifndef LW_SPACE_SPACE_GPU_H
#define LW_SPACE_SPACE_GPU_H

#include "machine/gpu_machine.h"
#include "space/cpu.h"

// Blocks fit the machine's shared memory, and clusters are as large as its.
// `given`: its sizes, levels and layouts are added to the universes; may be NULL. NULL: the Program
// is too large, or runs step by step (reported).
CpuSpace *gpu_space(Arena *arena, const Program *p, const GpuMachine *m, const Schedule *given,
                    DiagList *diags);

#endif
