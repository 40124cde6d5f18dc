// The CUDA driver: its functions, found at run time, and compilation of PTX text.
#ifndef LW_RUN_CUDA_IMPL_H
#define LW_RUN_CUDA_IMPL_H

#include "run/device_impl.h"

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

// Loads libcuda and initialises it. False: *e says why.
bool cuda_open(Cuda *cuda, DeviceError *e);
void cuda_close(Cuda *cuda);
// The driver's text for an error, as a status: out of memory and lost contexts are told apart.
DeviceStatus cuda_fail(const Cuda *cuda, DeviceError *e, int result, const char *what);

// A loaded module of a PTX text, in the current context. It comes from the cache if the same text
// was compiled before for this target and driver; otherwise nvJitLink compiles it if that library
// is there, else the driver. The driver compiles one text at a time, whatever the number of
// threads. NULL: *e has the compiler's log.
typedef struct CudaText {
    const char *text;
    size_t len;
    const char *target; // "sm_90a"
    const char *model;
} CudaText;
void *cuda_load_module(const Cuda *cuda, const CudaText *t, bool *cached, DeviceError *e);

#endif
