// Bound functions as PTX: what `show --stage ptx`, `compile --emit ptx` and runs on a device share.
#ifndef LW_API_COMPILE_GPU_H
#define LW_API_COMPILE_GPU_H

#include "api/pipeline.h"
#include "code/ptx/ptx.h"
#include "run/device.h"

typedef struct GpuCompiled {
    const Schedule *schedule; // NULL: every loop as it is written
    bool tuned;               // it is the database's
    const Tree *tree;         // for the views
    PtxCode code;
} GpuCompiled;

// Unless `text` gives a Schedule, takes that of the tuning database for this device (NULL: none),
// or chooses one; lowers it for arguments with the strides of `views` (NULL: dense), and prints
// PTX. Kernels are named after `name` (NULL: the Program).
lw_status gpu_compile(Call *call, const lw_bound *b, const lw_schedule_text *text,
                      const View *views, const char *name, const DeviceInfo *device,
                      const PtxOptions *options, GpuCompiled *out);

// LW_STAGE_PTX; LW_EMIT_PTX and LW_EMIT_CUBIN. `isa` is "sm_80" or higher; NULL: sm_80.
lw_status gpu_show(Call *call, const lw_bound *b, const lw_schedule_text *text, const char *isa,
                   const char **out);
lw_status gpu_emit(Call *call, const lw_bound *b, const lw_schedule_text *text, const char *isa,
                   const char *name, bool cubin, lw_emitted *out);

// The Schedule that a device uses: given, tuned for it, or chosen. The device is asked in a child
// process.
lw_status gpu_schedule(Call *call, const lw_bound *b, const lw_schedule_text *text,
                       const char *device, const char **out);

#endif
