#ifndef LW_SPACE_GPU_BOUND_H
#define LW_SPACE_GPU_BOUND_H

#include "space/bound.h"

// NULL when the machine is no GPU.
BoundModel *gpu_bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o);

#endif
