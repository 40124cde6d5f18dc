// The devices "cuda:N": NVIDIA GPUs, through libcuda, which is loaded at run time.
//
// All Devices of a GPU use its primary context, like the CUDA runtime and torch, so that their
// pointers and streams can be used here. Each call makes that context current and restores the
// previous one.
//
// Host memory is staged through pinned memory in two halves, used alternately: the transfer of one
// half to the device overlaps the processor's copy of the other.
#include "run/cuda_impl.h"

#include "run/timing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_BYTES = 4 << 20 };

struct DeviceEvent {
    void *event;
};

// --- The driver ----------------------------------------------------------------------------------

DeviceStatus cuda_fail(const Cuda *cuda, DeviceError *e, int result, const char *what) {
    enum { OUT_OF_MEMORY = 2, NO_DEVICE = 100, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719 };
    const char *text = NULL;
    DeviceStatus status = DEVICE_FAILED;
    if (cuda->GetErrorString(result, &text) || !text) text = "unknown error";
    if (result == OUT_OF_MEMORY) status = DEVICE_NO_MEMORY;
    if (result == NO_DEVICE) status = DEVICE_ABSENT;
    if (result >= ILLEGAL_ADDRESS && result <= LAUNCH_FAILED) status = DEVICE_FAULT;
    return device_fail(e, status, "%s: CUDA error %d, %s", what, result, text);
}

static bool find_functions(Cuda *cuda, DeviceError *e) {
    const char *missing = NULL;
#define CUDA(name, symbol, parameters)                                                             \
    {                                                                                              \
        void *found = dlsym(cuda->library, #symbol);                                               \
        memcpy(&cuda->name, &found, sizeof found);                                                 \
        if (!found) missing = #symbol;                                                             \
    }
#include "run/cuda.def"
#undef CUDA
    if (missing)
        device_fail(e, DEVICE_ABSENT,
                    "the CUDA driver is too old: it has no %s; version 12 is needed", missing);
    return !missing;
}

bool cuda_open(Cuda *cuda, DeviceError *e) {
    memset(cuda, 0, sizeof *cuda);
    cuda->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->library) {
        device_fail(e, DEVICE_ABSENT,
                    "this machine has no CUDA driver (libcuda.so.1 is not there); the device "
                    "'emulate' needs none");
        return false;
    }
    int r = 0;
    if (find_functions(cuda, e)) {
        r = cuda->Init(0);
        if (!r) r = cuda->DriverGetVersion(&cuda->version);
        if (!r) return true;
        cuda_fail(cuda, e, r, "the CUDA driver does not start");
        e->status = DEVICE_ABSENT;
    }
    cuda_close(cuda);
    return false;
}

void cuda_close(Cuda *cuda) {
    if (cuda->library) dlclose(cuda->library);
    cuda->library = NULL;
}

int cuda_count(DeviceError *e) {
    Cuda cuda;
    int count = 0;
    if (!cuda_open(&cuda, e)) return 0;
    if (cuda.DeviceGetCount(&count)) count = 0;
    cuda_close(&cuda);
    return count;
}

// --- The context ---------------------------------------------------------------------------------

DeviceStatus cuda_enter(CudaDevice *d, DeviceError *e) {
    int r = d->cuda.CtxPushCurrent(d->context);
    return r ? cuda_fail(&d->cuda, e, r, "no context") : DEVICE_OK;
}

DeviceStatus cuda_leave(CudaDevice *d, int result, const char *what, DeviceError *e) {
    void *ignored;
    d->cuda.CtxPopCurrent(&ignored);
    return result ? cuda_fail(&d->cuda, e, result, what) : DEVICE_OK;
}

// --- Memory --------------------------------------------------------------------------------------

static uint64_t cuda_alloc(Device *device, size_t bytes, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    CudaAddress address = 0;
    if (cuda_enter(d, e)) return 0;
    int r = d->cuda.MemAlloc(&address, bytes ? bytes : 1);
    return cuda_leave(d, r, "allocating device memory", e) ? 0 : address;
}

static void cuda_release(Device *device, uint64_t address) {
    CudaDevice *d = (CudaDevice *)device;
    DeviceError ignored;
    if (cuda_enter(d, &ignored)) return;
    cuda_leave(d, d->cuda.MemFree(address), "", &ignored);
}

static int make_stage(CudaDevice *d) {
    int r = 0;
    for (int i = 0; i < 2 && !r; i++) {
        if (!d->stage[i]) r = d->cuda.MemAllocHost((void **)&d->stage[i], STAGE_BYTES);
        if (!r && !d->stage_free[i]) r = d->cuda.EventCreate(&d->stage_free[i], 2);
    }
    return r;
}

// Writes through the staging memory. All bytes of the host have been read when it returns.
static int write_staged(CudaDevice *d, uint64_t to, const char *from, size_t bytes,
                        DeviceStream s) {
    int r = make_stage(d), half = 0;
    for (size_t at = 0; at < bytes && !r; half ^= 1) {
        size_t n = bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES;
        r = d->cuda.EventSynchronize(d->stage_free[half]);
        if (!r) memcpy(d->stage[half], from + at, n);
        if (!r) r = d->cuda.MemcpyHtoDAsync(to + at, d->stage[half], n, s);
        if (!r) r = d->cuda.EventRecord(d->stage_free[half], s);
        at += n;
    }
    return r;
}

static DeviceStatus cuda_write(Device *device, uint64_t to, const void *from, size_t bytes,
                               DeviceStream s, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    pthread_mutex_lock(&d->lock);
    int r = write_staged(d, to, from, bytes, s);
    pthread_mutex_unlock(&d->lock);
    return cuda_leave(d, r, "copying to the device", e);
}

// Two transfers are pending at a time: the processor copies one half out while the other arrives.
static int read_staged(CudaDevice *d, char *to, uint64_t from, size_t bytes, DeviceStream s) {
    int r = make_stage(d), in = 0, out = 0;
    size_t asked = 0, done = 0;
    while (done < bytes && !r) {
        for (; asked < bytes && asked - done <= STAGE_BYTES && !r; in ^= 1) {
            size_t n = bytes - asked < STAGE_BYTES ? bytes - asked : STAGE_BYTES;
            r = d->cuda.MemcpyDtoHAsync(d->stage[in], from + asked, n, s);
            if (!r) r = d->cuda.EventRecord(d->stage_free[in], s);
            asked += n;
        }
        size_t n = bytes - done < STAGE_BYTES ? bytes - done : STAGE_BYTES;
        if (!r) r = d->cuda.EventSynchronize(d->stage_free[out]);
        if (!r) memcpy(to + done, d->stage[out], n);
        done += n;
        out ^= 1;
    }
    return r;
}

static DeviceStatus cuda_read(Device *device, void *to, uint64_t from, size_t bytes, DeviceStream s,
                              DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    pthread_mutex_lock(&d->lock);
    int r = read_staged(d, to, from, bytes, s);
    pthread_mutex_unlock(&d->lock);
    return cuda_leave(d, r, "copying from the device", e);
}

static DeviceStatus cuda_fill(Device *device, uint64_t to, uint8_t value, size_t bytes,
                              DeviceStream s, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    return cuda_leave(d, d->cuda.MemsetD8Async(to, value, bytes, s), "filling device memory", e);
}

// --- Code ----------------------------------------------------------------------------------------

static void cuda_unload(Device *device, DeviceCode *code) {
    CudaDevice *d = (CudaDevice *)device;
    CudaCode *c = (CudaCode *)code;
    DeviceError ignored;
    if (c->module && !cuda_enter(d, &ignored)) {
        d->cuda.CtxSynchronize(); // launches may be pending
        cuda_runs_clear(d, c);
        cuda_leave(d, d->cuda.ModuleUnload(c->module), "", &ignored);
    }
    code_free(device, code);
    free(c->function);
    free(c);
}

// Looks up the functions of all launches, and allows them to use their shared memory.
static int find_kernels(CudaDevice *d, CudaCode *c) {
    enum { SHARED_STATIC = 1, LOCAL = 3, REGISTERS = 4, SHARED_DYNAMIC_MOST = 8, USUAL = 48 << 10 };
    int r = 0;
    for (int i = 0; i < c->code.nlaunches && !r; i++) {
        const DeviceLaunch *l = &c->code.launches[i];
        DeviceKernelInfo *info = &c->code.info[i];
        r = d->cuda.ModuleGetFunction(&c->function[i], c->module, l->kernel);
        if (!r) r = d->cuda.FuncGetAttribute(&info->registers, REGISTERS, c->function[i]);
        if (!r) r = d->cuda.FuncGetAttribute(&info->local_bytes, LOCAL, c->function[i]);
        if (!r) r = d->cuda.FuncGetAttribute(&info->static_bytes, SHARED_STATIC, c->function[i]);
        if (!r && l->shared + (unsigned)info->static_bytes > USUAL)
            r = d->cuda.FuncSetAttribute(c->function[i], SHARED_DYNAMIC_MOST, (int)l->shared);
    }
    return r;
}

static DeviceCode *cuda_load(Device *device, const DeviceProgram *p, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    CudaCode *c = calloc(1, sizeof *c);
    if (c) c->function = calloc((size_t)p->nlaunches + 1, sizeof *c->function);
    if (!c || !c->function) {
        free(c);
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
        return NULL;
    }
    CudaText text = {p->text, p->len, d->device.info.target, d->device.info.model};
    DeviceStatus status = DEVICE_NO_MEMORY;
    if (code_init(device, &c->code, p, e) && !(status = cuda_enter(d, e))) {
        c->module = cuda_load_module(&d->cuda, &text, e);
        int r = c->module ? find_kernels(d, c) : 0;
        status = cuda_leave(d, r, "a kernel cannot be loaded", e);
        if (!c->module) status = e->status;
    }
    if (!status) return &c->code;
    cuda_unload(device, &c->code);
    return NULL;
}

// --- Streams and events --------------------------------------------------------------------------

static DeviceStatus cuda_wait(Device *device, DeviceStream s, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    return cuda_leave(d, d->cuda.StreamSynchronize(s), "a kernel failed", e);
}

static DeviceEvent *cuda_event_new(Device *device, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    DeviceEvent *v = calloc(1, sizeof *v);
    if (!v) {
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
        return NULL;
    }
    DeviceStatus status = cuda_enter(d, e);
    if (!status) status = cuda_leave(d, d->cuda.EventCreate(&v->event, 0), "making an event", e);
    if (!status) return v;
    free(v);
    return NULL;
}

static void cuda_event_free(Device *device, DeviceEvent *v) {
    CudaDevice *d = (CudaDevice *)device;
    DeviceError ignored;
    if (!cuda_enter(d, &ignored)) cuda_leave(d, d->cuda.EventDestroy(v->event), "", &ignored);
    free(v);
}

static DeviceStatus cuda_event_record(Device *device, DeviceEvent *v, DeviceStream s,
                                      DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    return cuda_leave(d, d->cuda.EventRecord(v->event, s), "recording an event", e);
}

static DeviceStatus cuda_event_elapsed(Device *device, DeviceEvent *from, DeviceEvent *to,
                                       double *us, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    float ms = 0;
    if (cuda_enter(d, e)) return e->status;
    int r = d->cuda.EventSynchronize(from->event);
    if (!r) r = d->cuda.EventSynchronize(to->event);
    if (!r) r = d->cuda.EventElapsedTime(&ms, from->event, to->event);
    *us = 1e3 * (double)ms;
    return cuda_leave(d, r, "timing kernels", e);
}

// --- Opening -------------------------------------------------------------------------------------

// Fields of DeviceInfo that are attributes of the driver, by their numbers in cuda.h.
static void read_attributes(CudaDevice *d) {
    DeviceInfo *i = &d->device.info;
    int major = 0, minor = 0, l2 = 0, x = 0, y = 0, z = 0, cluster = 0;
    struct {
        int *into, number;
    } want[] = {{&i->block_threads, 1},
                {&x, 5},
                {&y, 6},
                {&z, 7},
                {&i->block_shared_static, 8},
                {&i->warp, 10},
                {&i->block_registers, 12},
                {&i->clock_khz, 13},
                {&i->processors, 16},
                {&l2, 38},
                {&i->processor_threads, 39},
                {&major, 75},
                {&minor, 76},
                {&i->processor_shared, 81},
                {&i->processor_registers, 82},
                {&i->block_shared, 97},
                {&i->processor_blocks, 106},
                {&i->block_shared_reserved, 111},
                {&cluster, 120}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        if (d->cuda.DeviceGetAttribute(want[k].into, want[k].number, d->number)) *want[k].into = 0;
    size_t memory = 0;
    d->cuda.DeviceTotalMem(&memory, d->number);
    i->memory_bytes = (int64_t)memory;
    i->l2_bytes = l2;
    i->grid[0] = x;
    i->grid[1] = y;
    i->grid[2] = z;
    i->capability = 10 * major + minor;
    i->cluster_blocks = cluster ? 8 : 1;
    i->thread_registers = 255;
}

// PTX versions came with CUDA versions: 8.0 with 12.0, 9.0 with 13.0.
static int ptx_version(int driver) {
    int major = driver / 1000, minor = driver % 1000 / 10;
    if (major < 12) return 70;
    if (major == 12) return 80 + (minor < 6 ? minor : minor - 1);
    return 90;
}

static void describe(CudaDevice *d, int number) {
    DeviceInfo *i = &d->device.info;
    read_attributes(d);
    snprintf(d->name, sizeof d->name, "cuda:%d", number);
    if (d->cuda.DeviceGetName(d->model, (int)sizeof d->model, d->number)) d->model[0] = 0;
    snprintf(d->target, sizeof d->target, "sm_%d%s", i->capability, i->capability >= 90 ? "a" : "");
    i->name = d->name;
    i->model = d->model;
    i->target = d->target;
    i->driver = d->cuda.version;
    i->ptx_version = ptx_version(d->cuda.version);
}

static void cuda_device_close(Device *device) {
    CudaDevice *d = (CudaDevice *)device;
    DeviceError ignored;
    if (d->context && !cuda_enter(d, &ignored)) {
        for (int i = 0; i < 2; i++) {
            if (d->stage_free[i]) d->cuda.EventDestroy(d->stage_free[i]);
            if (d->stage[i]) d->cuda.MemFreeHost(d->stage[i]);
        }
        cuda_leave(d, 0, "", &ignored);
    }
    if (d->context) d->cuda.PrimaryCtxRelease(d->number);
    pthread_mutex_destroy(&d->lock);
    cuda_close(&d->cuda);
    free(d);
}

static const DeviceKind cuda_kind = {
    .close = cuda_device_close,
    .alloc = cuda_alloc,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .fill = cuda_fill,
    .load = cuda_load,
    .unload = cuda_unload,
    .run = cuda_run,
    .wait = cuda_wait,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_elapsed = cuda_event_elapsed,
    .graph_new = cuda_graph_new,
    .graph_free = cuda_graph_free,
    .graph_run = cuda_graph_run,
};

static bool open_context(CudaDevice *d, int number, DeviceError *e) {
    int count = 0, r = d->cuda.DeviceGetCount(&count);
    if (!r && number >= count) {
        device_fail(e, DEVICE_ABSENT, "there is no cuda:%d: this machine has %d CUDA device%s",
                    number, count, count == 1 ? "" : "s");
        return false;
    }
    if (!r) r = d->cuda.DeviceGet(&d->number, number);
    if (!r) r = d->cuda.PrimaryCtxRetain(&d->context, d->number);
    if (!r) return true;
    cuda_fail(&d->cuda, e, r, "the device does not start");
    d->context = NULL;
    return false;
}

Device *device_open_cuda(int number, DeviceError *e) {
    CudaDevice *d = calloc(1, sizeof *d);
    if (!d || pthread_mutex_init(&d->lock, NULL)) {
        free(d);
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
        return NULL;
    }
    d->device.kind = &cuda_kind;
    if (cuda_open(&d->cuda, e) && open_context(d, number, e)) {
        describe(d, number);
        return &d->device;
    }
    cuda_device_close(&d->device);
    return NULL;
}
