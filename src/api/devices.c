#include "api/devices.h"

#include <stdio.h>
#include <string.h>

// --- The devices of a context --------------------------------------------------------------------

Devices *context_devices(Call *call) {
    lw_context *ctx = call->ctx;
    pthread_mutex_lock(&ctx->kernels.lock);
    if (!ctx->devices) {
        ctx->devices = ctx->allocator.alloc(ctx->allocator.user, sizeof(Devices));
        if (ctx->devices) {
            memset(ctx->devices, 0, sizeof(Devices));
            pthread_mutex_init(&ctx->devices->lock, NULL);
        }
    }
    Devices *d = ctx->devices;
    pthread_mutex_unlock(&ctx->kernels.lock);
    if (!d) arena_out_of_memory(call->arena);
    return d;
}

lw_status device_complain(Call *call, const char *device, const DeviceError *e) {
    diag_report(call->diags, nowhere, DIAG_DEVICE, device, e->text);
    return e->status == DEVICE_NO_MEMORY ? LW_NO_MEMORY : LW_ERROR;
}

static const char *full_name(const char *name) {
    return strcmp(name, "cuda") == 0 ? "cuda:0" : name;
}

static Device *open_device(Devices *all, const char *name, DeviceError *e) {
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->name[i], name) == 0) return all->device[i];
    if (all->n == MOST_DEVICES) {
        e->status = DEVICE_ABSENT;
        snprintf(e->text, sizeof e->text, "a context uses at most %d devices", MOST_DEVICES);
        return NULL;
    }
    Device *d = device_open(name, e);
    if (d) {
        snprintf(all->name[all->n], DEVICE_NAME_BYTES, "%s", name);
        all->device[all->n++] = d;
    }
    return d;
}

Device *context_device(Call *call, const char *name) {
    Devices *all = context_devices(call);
    DeviceError e = {0};
    name = full_name(name);
    pthread_mutex_lock(&all->lock);
    Device *d = open_device(all, name, &e);
    pthread_mutex_unlock(&all->lock);
    if (!d) device_complain(call, name, &e);
    return d;
}

void device_kernel_free(lw_context *ctx, DeviceKernel *k) {
    device_unload(k->device, k->code);
    pthread_mutex_destroy(&k->lock);
    ctx->allocator.free(ctx->allocator.user, k, sizeof *k + k->key_bytes);
}

void devices_free(lw_context *ctx) {
    Devices *all = ctx->devices;
    if (!all) return;
    for (int i = 0; i < all->nkernels; i++) device_kernel_free(ctx, all->kernel[i]);
    for (int i = 0; i < all->n; i++) device_close(all->device[i]);
    pthread_mutex_destroy(&all->lock);
    ctx->allocator.free(ctx->allocator.user, all, sizeof *all);
}

bool device_accepts(Call *call, const lw_run_options *o) {
    int number = 0;
    if (!o->device) return true;
    if (!context_device(call, o->device)) return false;
    if (sscanf(full_name(o->device), "cuda:%d", &number) == 1)
        call->device = (DLDevice){kDLCUDA, number};
    return true;
}

// --- Kernels -------------------------------------------------------------------------------------

DeviceKernel *device_kernel_find(Devices *all, const Device *d, uint64_t bound, const char *key) {
    DeviceKernel *found = NULL;
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < all->nkernels && !found; i++) {
        DeviceKernel *k = all->kernel[i];
        if (k->bound == bound && k->device == d && strcmp(k->key, key) == 0) found = k;
    }
    if (found) found->users++;
    pthread_mutex_unlock(&all->lock);
    return found;
}

bool device_kernel_keep(lw_context *ctx, Devices *all, DeviceKernel *k) {
    DeviceKernel *old = NULL;
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < all->nkernels && all->nkernels == MOST_DEVICE_KERNELS; i++) {
        if (all->kernel[i]->users) continue;
        old = all->kernel[i];
        memmove(&all->kernel[i], &all->kernel[i + 1],
                (size_t)(--all->nkernels - i) * sizeof *all->kernel);
    }
    bool room = all->nkernels < MOST_DEVICE_KERNELS;
    if (room) all->kernel[all->nkernels++] = k;
    k->users = 1;
    pthread_mutex_unlock(&all->lock);
    if (old) device_kernel_free(ctx, old);
    return room;
}

void device_kernel_leave(Devices *all, DeviceKernel *k) {
    pthread_mutex_lock(&all->lock);
    k->users--;
    pthread_mutex_unlock(&all->lock);
}
