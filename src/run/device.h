// Devices: processors with memory of their own that run PTX kernels. One interface, two kinds:
//
//     cuda:N     an NVIDIA GPU, through the driver's library, which is loaded when the first
//                device is opened (cuda.c)
//     emulate    an emulator of PTX on this processor, stricter than any GPU (emulated.c,
//                src/emulate); needs no GPU and reports races, missing waits and wrong addresses
//
//     DeviceError e;
//     Device *d = device_open("cuda:0", &e);
//     DeviceCode *code = device_load(d, &program, &e);      // device_abi.h
//     uint64_t a = device_alloc(d, bytes, &e);              // an address of the device
//     device_write(d, a, host, bytes, stream, &e);
//     device_run(d, code, (uint64_t[]){a, b, c}, stream, &e);
//     device_read(d, host, c, bytes, stream, &e);           // waits
//
// Calls return DEVICE_OK or a reason, whose text is in the DeviceError. Work on one stream happens
// in the order of the calls, and asynchronously unless a function says that it waits. The emulator
// works during the call; its streams are all the same.
//
// Any number of threads may use a Device. A call leaves the thread's current CUDA context as it
// found it.
#ifndef LW_RUN_DEVICE_H
#define LW_RUN_DEVICE_H

#include "base/device_abi.h"

typedef enum DeviceStatus {
    DEVICE_OK,
    DEVICE_ABSENT,    // no such device, no driver, or a driver that is too old
    DEVICE_NO_MEMORY, // of the device or the host
    DEVICE_REFUSED,   // the PTX text is wrong, or needs more than the device has
    DEVICE_FAULT,     // a kernel failed; a CUDA context is then lost with all its buffers
    DEVICE_BAD_INDEX, // a checked index was out of range: DeviceError.statement
    DEVICE_FAILED,    // any other failure of the driver
} DeviceStatus;

typedef struct DeviceError {
    DeviceStatus status;
    int statement;   // of DEVICE_BAD_INDEX
    char text[1536]; // the reason, lower case, without a full stop
} DeviceError;

typedef struct Device Device;
typedef struct DeviceCode DeviceCode;
typedef struct DeviceGraph DeviceGraph;
typedef struct DeviceEvent DeviceEvent;
typedef void *DeviceStream; // a CUstream of the caller (torch's); NULL: the default stream

// --- Devices -------------------------------------------------------------------------------------

// Numbers of a device. Rates are not among them: `loopwright machine --device` measures those.
typedef struct DeviceInfo {
    const char *name;      // "cuda:0", "emulate"
    const char *model;     // "NVIDIA H200"
    const char *target;    // the most specific PTX target: "sm_90a"
    int capability;        // 10*major + minor: 90
    int ptx_version;       // highest .version, 10*major + minor: 90
    int driver;            // as cuDriverGetVersion: 13000; 0 for the emulator
    int warp;              // 32
    int processors;        // SMs
    int clock_khz;         // of an SM, at most
    int block_threads;     // at most, per block
    int processor_threads; // at most, per SM
    int processor_blocks;
    int processor_registers;
    int block_registers;
    int thread_registers;      // 255
    int block_shared;          // bytes of shared memory per block, at most (dynamic)
    int block_shared_static;   // limit for static shared memory: 48 KiB
    int processor_shared;      // bytes per SM
    int block_shared_reserved; // bytes per block that the driver reserves
    int cluster_blocks;        // blocks of a portable cluster, at most; 1: no clusters
    int64_t grid[3];           // blocks, at most
    int64_t l2_bytes;
    int64_t memory_bytes;
} DeviceInfo;

// Opens a device by name; "cuda" means cuda:0. Two Devices of one GPU share its primary context and
// its addresses; each emulated Device has its own memory. NULL: *e says why.
Device *device_open(const char *name, DeviceError *e);
void device_close(Device *d);
const DeviceInfo *device_info(const Device *d);
int device_count(DeviceError *e); // CUDA devices; 0 with a reason if there is no driver
bool device_is_emulated(const Device *d);

// --- Memory --------------------------------------------------------------------------------------

// Returns an address aligned to 256 bytes; the content is undefined. 0: there is no memory. `bytes`
// may be 0, which gives a valid address.
uint64_t device_alloc(Device *d, size_t bytes, DeviceError *e);
void device_free(Device *d, uint64_t address); // waits for kernels that use it; 0 is allowed
// Copy from and to host memory. The host may reuse its bytes when device_write returns; device_read
// waits until the data has arrived. Large copies go through pinned memory of the device.
DeviceStatus device_write(Device *d, uint64_t to, const void *from, size_t bytes, DeviceStream s,
                          DeviceError *e);
DeviceStatus device_read(Device *d, void *to, uint64_t from, size_t bytes, DeviceStream s,
                         DeviceError *e);
DeviceStatus device_fill(Device *d, uint64_t to, uint8_t value, size_t bytes, DeviceStream s,
                         DeviceError *e);

// --- Code ----------------------------------------------------------------------------------------

// Loads and links all kernels of a program, through the module cache on disk if there is one. The
// program is not used after the call. NULL: *e says why, with the compiler's log.
DeviceCode *device_load(Device *d, const DeviceProgram *p, DeviceError *e);
void device_unload(Device *d, DeviceCode *code);

typedef struct DeviceKernelInfo {
    const char *name;
    int registers;    // per thread; the emulator estimates it (emulate_live.c)
    int local_bytes;  // per thread: spills
    int static_bytes; // shared memory that the kernel declares
} DeviceKernelInfo;
// The i-th kernel of the loaded text, in the order of its launches; NULL past the end.
const DeviceKernelInfo *device_kernel_info(const DeviceCode *code, int i);

// Launches all kernels of the program in order. `args` are the addresses of its arguments. If the
// program has a status word, device_check waits for the stream and reads it, before the next run.
// Temporary buffers belong to `code`: one thread at a time runs it, and a run on another stream
// starts after the last one has ended. A GPU launches repeated runs on the same arguments as one
// CUDA graph.
DeviceStatus device_run(Device *d, DeviceCode *code, const uint64_t *args, DeviceStream s,
                        DeviceError *e);
DeviceStatus device_check(Device *d, DeviceCode *code, DeviceStream s, DeviceError *e);
bool device_ran_as_graph(const DeviceCode *code); // was the last run a graph?

// --- Streams, events, graphs ---------------------------------------------------------------------

DeviceStatus device_wait(Device *d, DeviceStream s, DeviceError *e); // until the stream is idle

DeviceEvent *device_event_new(Device *d, DeviceError *e);
void device_event_free(Device *d, DeviceEvent *v);
DeviceStatus device_event_record(Device *d, DeviceEvent *v, DeviceStream s, DeviceError *e);
// Waits for both events, and returns the microseconds between them.
DeviceStatus device_event_elapsed(Device *d, DeviceEvent *from, DeviceEvent *to, double *us,
                                  DeviceError *e);

// One graph of `times` runs of a program on these arguments. Use it to launch and to time small
// kernels, which take less time than the driver needs for a single launch.
DeviceGraph *device_graph_new(Device *d, DeviceCode *code, const uint64_t *args, int times,
                              DeviceError *e);
void device_graph_free(Device *d, DeviceGraph *g);
DeviceStatus device_graph_run(Device *d, DeviceGraph *g, DeviceStream s, DeviceError *e);

// --- The emulator only ---------------------------------------------------------------------------

// The work of all runs since device_counts_reset; zero for other devices. A wavefront is one cycle
// of the shared-memory pipe; a sector is 32 bytes of global memory that a warp instruction moves.
typedef struct DeviceCounts {
    int64_t instructions;      // of warps
    int64_t lane_instructions; // of threads
    int64_t shared_wavefronts; // that shared accesses took
    int64_t shared_ideal;      // that they would take without bank conflicts
    int64_t load_sectors, store_sectors;
    int64_t load_bytes, store_bytes; // as requested by threads
    int64_t barriers;                // bar.sync, per warp
    int64_t fma;                     // fma.rn.f32 of threads
    double cycles;                   // an estimate of the time, launch by launch
} DeviceCounts;
void device_counts(const Device *d, DeviceCounts *into);
void device_counts_reset(Device *d);

// The accesses of the last run to one buffer. A load counts all bytes that threads loaded,
// `touched` counts each accessed byte once, so loaded == touched means "read once".
typedef struct DeviceTraffic {
    int64_t loaded, load_touched, stored, store_touched, load_sectors, store_sectors;
} DeviceTraffic;
bool device_traffic(const Device *d, uint64_t address, DeviceTraffic *into);

#endif
