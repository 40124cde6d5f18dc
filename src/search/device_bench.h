// Candidates on a device: a worker's operands in its memory, runs that are compared on the host,
// and times of graphs of runs.
//
// The emulator has no time of its own. What counts there is an estimate from what it counted:
// instructions, wavefronts of shared memory and sectors of each launch, at the rates of the GPU
// that it describes.
#ifndef LW_SEARCH_DEVICE_BENCH_H
#define LW_SEARCH_DEVICE_BENCH_H

#include "run/device.h"
#include "search/operands.h"

typedef struct DeviceBench DeviceBench;

// A program on the device.
typedef struct DeviceJob {
    DeviceCode *code; // NULL: none
    DeviceGraph *graph;
    int64_t runs;    // in the graph
    double estimate; // of the emulator, seconds; 0: not run yet
    int launches;
} DeviceJob;

// NULL: *e says why.
DeviceBench *device_bench_open(Arena *arena, const char *name, Operands *o, DeviceError *e);
// `packed` is a DeviceProgram. False: the device refuses it.
bool device_bench_load(DeviceBench *b, Arena *scratch, const void *packed, DeviceJob *out);
void device_bench_unload(DeviceBench *b, DeviceJob *k);

// Runs once on a data set; the results are those of the operands then. A status of kernel_abi.h, or
// -1: the device is lost, or the emulator found a fault.
int device_bench_call(DeviceBench *b, DeviceJob *k, DataSet set, double *seconds);
// Seconds of one of `runs` runs in a graph; 0: the device is lost.
double device_bench_sample(DeviceBench *b, DeviceJob *k, int64_t runs);
// The runs of one sample, if one takes so long.
int64_t device_bench_runs(const DeviceBench *b, double once);

#endif
