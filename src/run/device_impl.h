// The functions that each kind of device implements; device.c calls them.
#ifndef LW_RUN_DEVICE_IMPL_H
#define LW_RUN_DEVICE_IMPL_H

#include "run/device.h"

// The functions are those of device.h. A comment says which ones may be NULL.
typedef struct DeviceKind {
    void (*close)(Device *d);
    uint64_t (*alloc)(Device *d, size_t bytes, DeviceError *e);
    void (*release)(Device *d, uint64_t address);
    DeviceStatus (*write)(Device *d, uint64_t to, const void *from, size_t bytes, DeviceStream s,
                          DeviceError *e);
    DeviceStatus (*read)(Device *d, void *to, uint64_t from, size_t bytes, DeviceStream s,
                         DeviceError *e);
    DeviceStatus (*fill)(Device *d, uint64_t to, uint8_t value, size_t bytes, DeviceStream s,
                         DeviceError *e);
    DeviceCode *(*load)(Device *d, const DeviceProgram *p, DeviceError *e);
    void (*unload)(Device *d, DeviceCode *code);
    DeviceStatus (*run)(Device *d, DeviceCode *code, const uint64_t *args, DeviceStream s,
                        DeviceError *e);
    DeviceStatus (*wait)(Device *d, DeviceStream s, DeviceError *e);
    DeviceEvent *(*event_new)(Device *d, DeviceError *e);
    void (*event_free)(Device *d, DeviceEvent *v);
    DeviceStatus (*event_record)(Device *d, DeviceEvent *v, DeviceStream s, DeviceError *e);
    DeviceStatus (*event_elapsed)(Device *d, DeviceEvent *from, DeviceEvent *to, double *us,
                                  DeviceError *e);
    DeviceGraph *(*graph_new)(Device *d, DeviceCode *code, const uint64_t *args, int times,
                              DeviceError *e);
    void (*graph_free)(Device *d, DeviceGraph *g);
    DeviceStatus (*graph_run)(Device *d, DeviceGraph *g, DeviceStream s, DeviceError *e);
    void (*counts)(const Device *d, DeviceCounts *into, bool reset);         // or NULL
    bool (*traffic)(const Device *d, uint64_t address, DeviceTraffic *into); // or NULL
} DeviceKind;

struct Device {
    const DeviceKind *kind;
    DeviceInfo info;
};

// The common part of loaded code of every kind: a copy of the launches, and the buffers that the
// device allocated for it.
struct DeviceCode {
    DeviceLaunch *launches;
    int nlaunches, nargs, ntemps;
    bool has_status;
    uint64_t *buffers; // the temporary buffers, then the status word
    DeviceKernelInfo *info;
    bool as_graph; // the last run was a graph
};

// Writes the reason and returns the status.
__attribute__((format(printf, 3, 4))) DeviceStatus device_fail(DeviceError *e, DeviceStatus status,
                                                               const char *format, ...);
Device *device_open_emulated(DeviceError *e);
Device *device_open_cuda(int number, DeviceError *e);
int cuda_count(DeviceError *e);

// Copies of the launches of a program, and its buffers. False: no memory, *e says so.
bool code_init(Device *d, DeviceCode *code, const DeviceProgram *p, DeviceError *e);
void code_free(Device *d, DeviceCode *code);
// The value of a parameter.
uint64_t code_param(const DeviceCode *code, const DeviceParam *p, const uint64_t *args);

#endif
