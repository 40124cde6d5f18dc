// Runs a Tree as PTX on the emulator, which reports races, missing waits and wrong addresses, or on
// the device that LW_TEST_DEVICE names; and assembles texts with ptxas where there is one.
#ifndef SUPPORT_GPULAB_H
#define SUPPORT_GPULAB_H

#include "code/ptx/ptx.h"
#include "run/device.h"
#include "support/proglab.h"

typedef enum GpuResult { GPU_OK, GPU_DECLINED, GPU_BAD_INDEX, GPU_BROKEN } GpuResult;

typedef struct GpuLab {
    Device *device;
    char text[2048]; // of the last failure
    DeviceCounts counts;
} GpuLab;

bool gpulab_open(GpuLab *g); // false: there is no such device
void gpulab_close(GpuLab *g);
// The results replace the contents of `data`.
GpuResult gpulab_run(GpuLab *g, Lab *lab, const Tree *t, const LabData *data, InterpFlags flags);
GpuResult gpulab_run_code(GpuLab *g, Lab *lab, const Tree *t, const PtxCode *code,
                          const LabData *data);
// Runs the program under the Schedule text (NULL: none) and compares the bits of its results with
// the interpreter's. Returns the code; NULL: they are the same, and nothing was reported; else what
// went wrong.
const char *gpulab_difference(GpuLab *g, Lab *lab, const Program *p, const char *schedule,
                              PtxCode *code);

// ptxas: false when the text does not assemble, or spills unless it may; the reason is in `why`.
bool gpulab_has_ptxas(void);
bool gpulab_assembles(const char *text, const char *arch, bool may_spill, char *why, size_t size);

#endif
