// The CUDA driver: its functions, loaded at run time, and the compilation of PTX text.
#ifndef LW_RUN_CUDA_IMPL_H
#define LW_RUN_CUDA_IMPL_H

#include "run/device_impl.h"

#include <pthread.h>

typedef unsigned long long CudaAddress;

// CUlaunchAttribute and CUlaunchConfig of cuda.h.
typedef struct CudaLaunchAttribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        struct {
            unsigned x, y, z;
        } cluster;
    } value;
} CudaLaunchAttribute;
enum { CUDA_LAUNCH_CLUSTER = 4 };

typedef struct CudaLaunch {
    unsigned grid[3], block[3];
    unsigned shared;
    void *stream;
    CudaLaunchAttribute *attributes;
    unsigned nattributes;
} CudaLaunch;

typedef struct Cuda {
    void *library;
    int version; // of the driver: 13000
#define CUDA(name, symbol, parameters) int(*name) parameters;
#include "run/cuda.def"
#undef CUDA
} Cuda;

typedef struct CudaDevice {
    Device device;
    Cuda cuda;
    int number;
    void *context;
    pthread_mutex_t lock; // of the staging memory
    char *stage[2];
    void *stage_free[2]; // events
    char name[32], model[128], target[32];
} CudaDevice;

// A set of arguments that a program ran on, and the graph of that run.
typedef struct CudaRun {
    uint64_t *args;     // NULL: an empty place
    DeviceGraph *graph; // NULL: not made yet
    int64_t used;       // number of the last run on these arguments
} CudaRun;
enum { CUDA_RUNS = 4 };

typedef struct CudaCode {
    DeviceCode code;
    void *module;
    void **function; // of each launch
    CudaRun run[CUDA_RUNS];
    int64_t nruns;
    bool no_graphs;    // the driver failed to make one: kernels are launched one by one
    void *done;        // event after the last run, if runs share memory; NULL: there was none
    DeviceStream last; // of that run
} CudaCode;

// Loads libcuda and initialises it. False: *e says why.
bool cuda_open(Cuda *cuda, DeviceError *e);
void cuda_close(Cuda *cuda);
// Converts an error of the driver to a status, with its text. Lack of memory and lost contexts have
// their own status.
DeviceStatus cuda_fail(const Cuda *cuda, DeviceError *e, int result, const char *what);

// Makes the device's context the current one, and restores the previous one. `result` is the status
// of the driver's last call.
DeviceStatus cuda_enter(CudaDevice *d, DeviceError *e);
DeviceStatus cuda_leave(CudaDevice *d, int result, const char *what, DeviceError *e);

// cuda_launch.c: the calls of DeviceKind.
DeviceStatus cuda_run(Device *device, DeviceCode *code, const uint64_t *args, DeviceStream s,
                      DeviceError *e);
DeviceGraph *cuda_graph_new(Device *device, DeviceCode *code, const uint64_t *args, int times,
                            DeviceError *e);
void cuda_graph_free(Device *device, DeviceGraph *g);
DeviceStatus cuda_graph_run(Device *device, DeviceGraph *g, DeviceStream s, DeviceError *e);
// Forgets all runs; call it in the current context.
void cuda_runs_clear(CudaDevice *d, CudaCode *c);

// The module of a PTX text, loaded in the current context. It comes from the cache if the same text
// was compiled before for this target and driver. Otherwise nvJitLink compiles it if that library
// is available, else the driver, which compiles one text at a time, whatever the number of threads.
// NULL: *e has the compiler's log.
typedef struct CudaText {
    const char *text;
    size_t len;
    const char *target; // "sm_90a"
    const char *model;
} CudaText;
void *cuda_load_module(const Cuda *cuda, const CudaText *t, DeviceError *e);

#endif
