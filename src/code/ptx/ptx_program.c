// Converts PTX kernels to a program for a device (base/device_abi.h).
#include "code/ptx/ptx.h"

DeviceProgram *ptx_program(Arena *arena, const PtxCode *code, int nargs) {
    DeviceProgram *p = arena_new(arena, DeviceProgram);
    DeviceParam *params = arena_new_n(arena, DeviceParam, nargs + 2);
    DeviceLaunch *launches = arena_new_n(arena, DeviceLaunch, code->nlaunches);
    size_t *temps = arena_new_n(arena, size_t, 1);
    int ntemps = code->scratch > 0;
    temps[0] = (size_t)code->scratch;
    for (int i = 0; i < nargs; i++) params[i] = (DeviceParam){.buffer = i, .bytes = 8};
    params[nargs] = (DeviceParam){.buffer = ntemps ? nargs : -1, .bytes = 8};
    params[nargs + 1] = (DeviceParam){.buffer = code->checks ? nargs + ntemps : -1, .bytes = 8};
    for (int i = 0; i < code->nlaunches; i++) {
        const PtxLaunch *l = &code->launch[i];
        launches[i] = (DeviceLaunch){.kernel = l->name,
                                     .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                     .block = {l->block[0], l->block[1], l->block[2]},
                                     .shared = l->shared,
                                     .nparams = nargs + 2,
                                     .params = params};
    }
    *p = (DeviceProgram){.text = code->text,
                         .len = code->size,
                         .nlaunches = code->nlaunches,
                         .launches = launches,
                         .nargs = nargs,
                         .ntemps = ntemps,
                         .temp_bytes = temps,
                         .has_status = code->checks};
    return p;
}
