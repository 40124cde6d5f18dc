// Choosing a Schedule for GPUs without search.
#ifndef LW_CHOOSE_CHOOSE_GPU_H
#define LW_CHOOSE_CHOOSE_GPU_H

#include "machine/gpu_machine.h"
#include "sched/schedule.h"

// `stride`: per argument, in elements; NULL (or NULL entry): row-major. Always lowers.
const Schedule *choose_gpu(Arena *arena, const Program *p, const GpuMachine *m,
                           const int64_t *const *stride);

#endif
