// Loads libnvJitLink at run time. It needs neither a driver nor a GPU.
#include "run/jitlink.h"

#include "run/device_impl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_BYTES = 1200 };

// The library's symbols may end in the version that introduced them: __nvJitLinkCreate_13_0.
static void *jitlink_symbol(void *library, int major, const char *name) {
    char versioned[64];
    void *found = dlsym(library, name);
    if (found) return found;
    for (int minor = 0; minor < 10 && !found; minor++) {
        snprintf(versioned, sizeof versioned, "__%s_%d_%d", name, major, minor);
        found = dlsym(library, versioned);
    }
    return found;
}

bool jitlink_open(JitLink *j, int major) {
    char name[64];
    snprintf(name, sizeof name, "libnvJitLink.so.%d", major);
    j->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!j->library) j->library = dlopen("libnvJitLink.so", RTLD_NOW | RTLD_LOCAL);
    if (!j->library) return false;
    struct {
        void *into;
        const char *name;
    } want[] = {
        {&j->create, "nvJitLinkCreate"},        {&j->add, "nvJitLinkAddData"},
        {&j->complete, "nvJitLinkComplete"},    {&j->cubin_size, "nvJitLinkGetLinkedCubinSize"},
        {&j->cubin, "nvJitLinkGetLinkedCubin"}, {&j->log_size, "nvJitLinkGetErrorLogSize"},
        {&j->log, "nvJitLinkGetErrorLog"},      {&j->destroy, "nvJitLinkDestroy"}};
    bool all = true;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        void *symbol = jitlink_symbol(j->library, major, want[i].name);
        memcpy(want[i].into, &symbol, sizeof symbol);
        all = all && symbol;
    }
    if (!all) jitlink_close(j);
    return all;
}

void jitlink_close(JitLink *j) { dlclose(j->library); }

static void jitlink_log(const JitLink *j, void *handle, DeviceError *e) {
    size_t size = 0;
    char *log = NULL;
    if (j->log_size(handle, &size) == 0 && size > 1 && (log = calloc(size + 1, 1)))
        j->log(handle, log);
    device_fail(e, DEVICE_REFUSED, "the PTX text does not compile: %.*s", LOG_BYTES,
                log ? log : "no log");
    free(log);
}

void *jitlink_compile(const JitLink *j, const char *text, size_t len, const char *target,
                      size_t *size, DeviceError *e) {
    enum { PTX = 2 };
    char arch[32];
    const char *options[] = {arch};
    void *handle = NULL, *code = NULL;
    snprintf(arch, sizeof arch, "-arch=%s", target);
    if (j->create(&handle, 1, options) != 0) {
        device_fail(e, DEVICE_FAILED, "nvJitLink refuses %s", arch);
        return NULL;
    }
    if (j->add(handle, PTX, text, len + 1, "loopwright.ptx") != 0 || j->complete(handle) != 0)
        jitlink_log(j, handle, e);
    else if (j->cubin_size(handle, size) == 0 && (code = malloc(*size + 1)))
        j->cubin(handle, code);
    else
        device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    j->destroy(&handle);
    return code;
}
