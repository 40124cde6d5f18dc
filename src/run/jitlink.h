// Compiles PTX text to machine code with libnvJitLink, on any number of threads.
#ifndef LW_RUN_JITLINK_H
#define LW_RUN_JITLINK_H

#include "run/device.h"

typedef struct JitLink {
    void *library;
    int (*create)(void **handle, unsigned n, const char **options);
    int (*add)(void *handle, int kind, const void *data, size_t size, const char *name);
    int (*complete)(void *handle);
    int (*cubin_size)(void *handle, size_t *size);
    int (*cubin)(void *handle, void *into);
    int (*log_size)(void *handle, size_t *size);
    int (*log)(void *handle, char *into);
    int (*destroy)(void **handle);
} JitLink;

// Loads the library for a major version of CUDA, or any other version. Returns false if there is
// none.
bool jitlink_open(JitLink *j, int major);
void jitlink_close(JitLink *j);
// The machine code for a target such as "sm_90", *size bytes that the caller frees. NULL: *e has
// the log.
void *jitlink_compile(const JitLink *j, const char *text, size_t len, const char *target,
                      size_t *size, DeviceError *e);

#endif
