#include "space/space_gpu.h"

#include "space/cpu_space.h"
#include "space/gpu_space.h"

// cpu_schedule.c and cpu_read.c know these values of every description.
#define SAME(value) _Static_assert((int)GPU_##value == (int)CPU_##value, #value)
SAME(PLACE_NEST);
SAME(PLACE_AFTER);
SAME(PLACE_INLINE);
SAME(PLACE_AT);
SAME(PACK_YES);
SAME(PRIVATISE_YES);
SAME(SPLIT_INTERLEAVE);
SAME(KIND_SERIAL);
SAME(ORDER_BEFORE);
SAME(ORDER_INNER);
SAME(ORDER_OUTER);
SAME(ORDER_MERGED);
SAME(AT_INSIDE);
SAME(LAYOUT_ROW_MAJOR);
SAME(LAYOUT_AS_READ);
SAME(LAYOUT_AS_WRITTEN);
SAME(LAYOUT_GIVEN);
SAME(STORE_NONTEMPORAL);

CpuSpace *gpu_space(Arena *arena, const Program *p, const GpuMachine *m, const Schedule *given,
                    DiagList *diags) {
    CpuOptions o = {.desc = &gpu_desc, .threads = 1, .given = given};
    o.machine.vector_bytes = 16;
    o.machine.gpu = m;
    return cpu_space(arena, p, &o, diags);
}
