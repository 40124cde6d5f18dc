// The part of devices that is common to all kinds.
#include "run/device_impl.h"

#include "base/kernel_abi.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DeviceStatus device_fail(DeviceError *e, DeviceStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    e->status = status;
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return status;
}

// --- Devices -------------------------------------------------------------------------------------

static const char *nth_device(const void *of, size_t i) {
    static const char *const all[] = {"emulate", "cuda:0"};
    (void)of;
    return i < sizeof all / sizeof *all ? all[i] : NULL;
}

Device *device_open(const char *name, DeviceError *e) {
    *e = (DeviceError){0};
    if (strcmp(name, "emulate") == 0) return device_open_emulated(e);
    if (strcmp(name, "cuda") == 0) return device_open_cuda(0, e);
    if (strncmp(name, "cuda:", 5) == 0 && isdigit((unsigned char)name[5]) && strlen(name) < 9) {
        char *end;
        long number = strtol(name + 5, &end, 10);
        if (!*end) return device_open_cuda((int)number, e);
    }
    const char *near = nearest(name, nth_device, NULL);
    if (near)
        device_fail(e, DEVICE_ABSENT, "no device is called '%.64s'; did you mean '%s'?", name,
                    near);
    else
        device_fail(e, DEVICE_ABSENT,
                    "no device is called '%.64s'; there are cuda:0, cuda:1 ... and emulate", name);
    return NULL;
}

void device_close(Device *d) {
    if (d) d->kind->close(d);
}
const DeviceInfo *device_info(const Device *d) { return &d->info; }
int device_count(DeviceError *e) {
    *e = (DeviceError){0};
    return cuda_count(e);
}
bool device_is_emulated(const Device *d) { return d->kind->counts != NULL; }

// --- Memory --------------------------------------------------------------------------------------

uint64_t device_alloc(Device *d, size_t bytes, DeviceError *e) {
    return d->kind->alloc(d, bytes, e);
}
void device_free(Device *d, uint64_t address) {
    if (address) d->kind->release(d, address);
}
DeviceStatus device_write(Device *d, uint64_t to, const void *from, size_t bytes, DeviceStream s,
                          DeviceError *e) {
    return bytes ? d->kind->write(d, to, from, bytes, s, e) : DEVICE_OK;
}
DeviceStatus device_read(Device *d, void *to, uint64_t from, size_t bytes, DeviceStream s,
                         DeviceError *e) {
    return bytes ? d->kind->read(d, to, from, bytes, s, e) : DEVICE_OK;
}
DeviceStatus device_fill(Device *d, uint64_t to, uint8_t value, size_t bytes, DeviceStream s,
                         DeviceError *e) {
    return bytes ? d->kind->fill(d, to, value, bytes, s, e) : DEVICE_OK;
}

// --- Code ----------------------------------------------------------------------------------------

static char *copy_text(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

static bool copy_launches(DeviceCode *code, const DeviceProgram *p) {
    code->launches = calloc((size_t)p->nlaunches + 1, sizeof *code->launches);
    code->info = calloc((size_t)p->nlaunches + 1, sizeof *code->info);
    if (!code->launches || !code->info) return false;
    code->nlaunches = p->nlaunches;
    for (int i = 0; i < p->nlaunches; i++) {
        DeviceLaunch *l = &code->launches[i];
        size_t bytes = (size_t)p->launches[i].nparams * sizeof *l->params;
        DeviceParam *params = malloc(bytes + 1);
        *l = p->launches[i];
        l->params = params;
        l->kernel = copy_text(p->launches[i].kernel);
        code->info[i].name = l->kernel;
        if (!params || !l->kernel) return false;
        if (bytes) memcpy(params, p->launches[i].params, bytes);
    }
    return true;
}

static bool make_buffers(Device *d, DeviceCode *code, const DeviceProgram *p, DeviceError *e) {
    int n = p->ntemps + p->has_status;
    code->buffers = calloc((size_t)n + 1, sizeof *code->buffers);
    if (!code->buffers) return false;
    for (int i = 0; i < n; i++) {
        size_t bytes = i < p->ntemps ? p->temp_bytes[i] : 4;
        if (!(code->buffers[i] = device_alloc(d, bytes, e))) return false;
    }
    return true;
}

bool code_init(Device *d, DeviceCode *code, const DeviceProgram *p, DeviceError *e) {
    code->nargs = p->nargs;
    code->ntemps = p->ntemps;
    code->has_status = p->has_status;
    if (copy_launches(code, p) && make_buffers(d, code, p, e)) return true;
    if (!e->status) device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    return false;
}

void code_free(Device *d, DeviceCode *code) {
    for (int i = 0; code->launches && i < code->nlaunches; i++) {
        free((void *)code->launches[i].params);
        free((void *)code->launches[i].kernel);
    }
    for (int i = 0; code->buffers && i < code->ntemps + code->has_status; i++)
        device_free(d, code->buffers[i]);
    free(code->launches);
    free(code->buffers);
    free(code->info);
}

uint64_t code_param(const DeviceCode *code, const DeviceParam *p, const uint64_t *args) {
    if (p->buffer < 0) return p->value;
    uint64_t base =
        p->buffer < code->nargs ? args[p->buffer] : code->buffers[p->buffer - code->nargs];
    return base + (uint64_t)p->offset;
}

DeviceCode *device_load(Device *d, const DeviceProgram *p, DeviceError *e) {
    *e = (DeviceError){0};
    return d->kind->load(d, p, e);
}
void device_unload(Device *d, DeviceCode *code) {
    if (code) d->kind->unload(d, code);
}
const DeviceKernelInfo *device_kernel_info(const DeviceCode *code, int i) {
    return i >= 0 && i < code->nlaunches ? &code->info[i] : NULL;
}
bool device_ran_as_graph(const DeviceCode *code) { return code->as_graph; }

DeviceStatus device_run(Device *d, DeviceCode *code, const uint64_t *args, DeviceStream s,
                        DeviceError *e) {
    *e = (DeviceError){0};
    return d->kind->run(d, code, args, s, e);
}

DeviceStatus device_check(Device *d, DeviceCode *code, DeviceStream s, DeviceError *e) {
    uint32_t word = 0;
    *e = (DeviceError){0};
    DeviceStatus status = device_wait(d, s, e);
    if (status || !code->has_status) return status;
    status = device_read(d, &word, code->buffers[code->ntemps], 4, s, e);
    if (status || !word) return status;
    e->statement = (int)(word - KERNEL_BAD_INDEX);
    return device_fail(e, DEVICE_BAD_INDEX, "an index of statement %d is out of range",
                       e->statement);
}

// --- Streams, events, graphs ---------------------------------------------------------------------

DeviceStatus device_wait(Device *d, DeviceStream s, DeviceError *e) {
    return d->kind->wait(d, s, e);
}
DeviceEvent *device_event_new(Device *d, DeviceError *e) { return d->kind->event_new(d, e); }
void device_event_free(Device *d, DeviceEvent *v) {
    if (v) d->kind->event_free(d, v);
}
DeviceStatus device_event_record(Device *d, DeviceEvent *v, DeviceStream s, DeviceError *e) {
    return d->kind->event_record(d, v, s, e);
}
DeviceStatus device_event_elapsed(Device *d, DeviceEvent *from, DeviceEvent *to, double *us,
                                  DeviceError *e) {
    return d->kind->event_elapsed(d, from, to, us, e);
}
DeviceGraph *device_graph_new(Device *d, DeviceCode *code, const uint64_t *args, int times,
                              DeviceError *e) {
    *e = (DeviceError){0};
    return d->kind->graph_new(d, code, args, times, e);
}
void device_graph_free(Device *d, DeviceGraph *g) {
    if (g) d->kind->graph_free(d, g);
}
DeviceStatus device_graph_run(Device *d, DeviceGraph *g, DeviceStream s, DeviceError *e) {
    *e = (DeviceError){0};
    return d->kind->graph_run(d, g, s, e);
}

// --- The emulator only ---------------------------------------------------------------------------

void device_counts(const Device *d, DeviceCounts *into) {
    *into = (DeviceCounts){0};
    if (d->kind->counts) d->kind->counts(d, into, false);
}
void device_counts_reset(Device *d) {
    DeviceCounts ignored;
    if (d->kind->counts) d->kind->counts(d, &ignored, true);
}
bool device_traffic(const Device *d, uint64_t address, DeviceTraffic *into) {
    return d->kind->traffic && d->kind->traffic(d, address, into);
}
