// Kernels for XLA: the handler that its foreign-function interface calls for every run of an
// operator of loopwright.jax. A run does not involve Python.
//
// The structs mirror the part of XLA's binary interface for handlers (version 0) that is used here.
// Each begins with its size and a list of extensions, so that it can grow at its end.
#include "native.h"

#include <string.h>

typedef struct Extension {
    size_t size;
    int type;
    struct Extension *next;
} Extension;

enum { METADATA = 1, MOST_BUFFERS = 64, INVALID_ARGUMENT = 3, INTERNAL = 13 };

typedef struct Version {
    size_t size;
    Extension *extensions;
    int major, minor;
} Version;

typedef struct Metadata {
    size_t size;
    Version version;
    uint32_t traits;
} Metadata;

typedef struct MetadataExtension {
    Extension base;
    Metadata *metadata;
} MetadataExtension;

typedef struct ErrorArgs {
    size_t size;
    Extension *extensions;
    const char *message;
    int code;
} ErrorArgs;

typedef struct Api {
    size_t size;
    Extension *extensions;
    Version version;
    const void *internal;
    void *(*error_create)(ErrorArgs *args);
} Api;

typedef struct Buffer {
    size_t size;
    Extension *extensions;
    int type;
    void *data;
    int64_t rank;
    int64_t *dims;
} Buffer;

typedef struct Buffers {
    size_t size;
    Extension *extensions;
    int64_t count;
    int *types;
    Buffer **each;
} Buffers;

typedef struct Scalar {
    int type;
    void *value;
} Scalar;

typedef struct Name {
    const char *text;
    size_t length;
} Name;

typedef struct Attributes {
    size_t size;
    Extension *extensions;
    int64_t count;
    int *types;
    Name **names;
    void **each;
} Attributes;

typedef struct Call {
    size_t size;
    Extension *extensions;
    const Api *api;
    void *context;
    int stage;
    Buffers args, results;
    Attributes attributes;
} Call;

static void *fault(const Call *call, int code, const char *message) {
    ErrorArgs args = {.size = sizeof args, .message = message, .code = code};
    return call->api->error_create(&args);
}

// XLA asks a new handler for its version before it runs it.
static bool tell_version(const Call *call) {
    for (Extension *e = call->extensions; e; e = e->next) {
        if (e->type != METADATA) continue;
        Metadata *m = ((MetadataExtension *)e)->metadata;
        m->version.major = call->api ? call->api->version.major : 0;
        m->version.minor = call->api ? call->api->version.minor : 1;
        return true;
    }
    return false;
}

static PyObject *kernel_of(const Call *call) {
    for (int64_t i = 0; i < call->attributes.count; i++) {
        const Name *name = call->attributes.names[i];
        int64_t address;
        if (name->length != 6 || memcmp(name->text, "kernel", 6)) continue;
        memcpy(&address, ((const Scalar *)call->attributes.each[i])->value, sizeof address);
        return (PyObject *)(intptr_t)address;
    }
    return NULL;
}

static void *run(Call *call) {
    if (tell_version(call)) return NULL;
    DLTensor tensor[MOST_BUFFERS];
    const DLTensor *args[MOST_BUFFERS];
    PyObject *kernel = kernel_of(call);
    int64_t n = call->args.count + call->results.count;
    if (!kernel) return fault(call, INTERNAL, "the call has no attribute 'kernel'");
    if (n > MOST_BUFFERS) return fault(call, INVALID_ARGUMENT, "there are more than 64 arguments");
    for (int64_t i = 0; i < n; i++) {
        bool in = i < call->args.count;
        const Buffer *b = in ? call->args.each[i] : call->results.each[i - call->args.count];
        tensor[i] = (DLTensor){b->data, {kDLCPU, 0}, (int32_t)b->rank, {0}, b->dims, NULL, 0};
        args[i] = &tensor[i];
    }
    const char *message = kernel_execute(kernel, tensor, args, (size_t)n);
    return message ? fault(call, INVALID_ARGUMENT, message) : NULL;
}

PyObject *native_xla_handler(PyObject *module, PyObject *none) {
    (void)module;
    (void)none;
    void *pointer;
    void *(*handler)(Call *) = run;
    memcpy(&pointer, &handler, sizeof pointer); // ISO C has no cast between the two
    return PyCapsule_New(pointer, "xla._CUSTOM_CALL_TARGET", NULL);
}
