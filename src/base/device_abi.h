// What a GPU back-end makes of a Program, and what a device runs: PTX text and the launches of its
// kernels, in order. Common to code generators (src/code) and devices (src/run/device.h).
//
// Buffers are numbered: first the arguments of the Program, inputs before outputs, as in
// kernel_abi.h; then `ntemps` temporary buffers, which the device allocates (256-byte aligned,
// undefined content); then, if `has_status`, a status word: one u32 that the device clears before
// the first launch. A kernel stores KERNEL_BAD_INDEX + statement number there if a checked index
// is out of range, and still finishes (PTX `trap` would end the whole process's context).
//
// A launch starts when the previous one has finished, and sees its stores.
#ifndef LW_BASE_DEVICE_ABI_H
#define LW_BASE_DEVICE_ABI_H

#include "base/text.h"

// The value of one .param of an entry: the address of `buffer` plus `offset` bytes (.u64), or, if
// `buffer` is -1, the low `bytes` (4 or 8) of `value`.
typedef struct DeviceParam {
    int buffer;
    int64_t offset;
    uint64_t value;
    int bytes;
} DeviceParam;

typedef struct DeviceLaunch {
    const char *kernel; // name of the .entry
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // blocks per cluster; {0} or {1, 1, 1}: no clusters
    uint32_t shared;     // bytes of dynamic shared memory
    int nparams;
    const DeviceParam *params;
} DeviceLaunch;

typedef struct DeviceProgram {
    const char *text; // PTX, ends in NUL
    size_t len;
    int nlaunches;
    const DeviceLaunch *launches;
    int nargs;
    int ntemps;
    const size_t *temp_bytes;
    bool has_status;
} DeviceProgram;

// The program as bytes, for another process on this machine, and back.
const void *device_program_pack(Arena *arena, const DeviceProgram *p, size_t *size);
const DeviceProgram *device_program_unpack(Arena *arena, const void *bytes);

static inline int device_status_buffer(const DeviceProgram *p) { return p->nargs + p->ntemps; }

#endif
