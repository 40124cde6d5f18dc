// The devices of a context (run/device.h), and the programs that are loaded on them.
#ifndef LW_API_DEVICES_H
#define LW_API_DEVICES_H

#include "api/pipeline.h"
#include "run/device.h"

enum { MOST_DEVICES = 16, MOST_DEVICE_KERNELS = 64, DEVICE_NAME_BYTES = 16 };

// A program of a bound function on a device.
typedef struct DeviceKernel {
    uint64_t bound; // its serial number
    Device *device;
    DeviceCode *code;
    pthread_mutex_t lock; // while it is launched
    int users;
    size_t text_bytes, key_bytes;
    bool checks;
    int kernels; // that a run launches
    bool tuned;  // its Schedule is the database's
    char key[];  // Schedule, flags, strides
} DeviceKernel;

typedef struct Devices {
    pthread_mutex_t lock;
    int n, nkernels;
    char name[MOST_DEVICES][DEVICE_NAME_BYTES];
    Device *device[MOST_DEVICES];
    DeviceKernel *kernel[MOST_DEVICE_KERNELS]; // oldest first
} Devices;

Devices *context_devices(Call *call);
// The device of this name, opened on first use; it stays open as long as the context. NULL:
// reported.
Device *context_device(Call *call, const char *name);
void devices_free(lw_context *ctx);

// Takes arguments in the memory of the device that the options name; those in host memory are
// copied there and back (device_run.c). False: the device is not there, reported.
bool device_accepts(Call *call, const lw_run_options *o);
lw_status device_complain(Call *call, const char *device, const DeviceError *e);

// A kernel that was kept, for use until device_kernel_leave; NULL: none.
DeviceKernel *device_kernel_find(Devices *all, const Device *d, uint64_t bound, const char *key);
// Keeps a kernel and uses it; it replaces the oldest unused one. False: all are in use.
bool device_kernel_keep(lw_context *ctx, Devices *all, DeviceKernel *k);
void device_kernel_leave(Devices *all, DeviceKernel *k);
void device_kernel_free(lw_context *ctx, DeviceKernel *k);

#endif
