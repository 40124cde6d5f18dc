// A CUDA driver without a GPU, for tests of run/cuda.c: memory is the host's, compiled code is
// the text itself, and every kernel adds 1 to `n` words at `p`, its parameters (p, n). It counts
// the mistakes of a careless caller: contexts that stay current, copies from memory that is not
// pinned, and resources that are not given back.
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

static int contexts, allocations, pinned, compilations, wrong, captures;
static struct {
    char *from;
    size_t bytes;
} pins[8];
static struct {
    unsigned *p;
    unsigned n;
} recorded[64];
static int nrecorded;

// What the test reads: everything that should be 0 at the end, and the number of compilations.
int fake_leaks(void) { return contexts + allocations + pinned + wrong; }
int fake_compilations(void) { return compilations; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuGetErrorString(int error, const char **text) {
    return *text = error == 2 ? "out of memory" : "fake", 0;
}
int cuDeviceGetCount(int *n) { return *n = 2, 0; }
int cuDeviceGet(int *d, int number) { return *d = number, 0; }
int cuDeviceGetName(char *name, int size, int d) {
    return (void)size, (void)d, strcpy(name, "Fake GPU"), 0;
}
int cuDeviceGetAttribute(int *v, int which, int d) {
    (void)d;
    *v = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 132 : which == 10 ? 32 : 1024;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *n, int d) { return (void)d, *n = 1u << 30, 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return (void)d, *c = &contexts, 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return (void)d, 0; }
int cuCtxPushCurrent_v2(void *c) { return c != &contexts || contexts++ != 0; }
int cuCtxPopCurrent_v2(void **c) { return *c = &contexts, --contexts != 0; }
int cuCtxSynchronize(void) { return contexts != 1; }
int cuMemAlloc_v2(Address *a, size_t n) {
    if (n > 1u << 30) return 2;
    allocations++;
    return *a = (Address)malloc(n), 0;
}
int cuMemFree_v2(Address a) { return allocations--, free((void *)a), 0; }
int cuMemAllocHost_v2(void **p, size_t n) {
    *p = malloc(n);
    pins[pinned].from = *p;
    pins[pinned++].bytes = n;
    return 0;
}
int cuMemFreeHost(void *p) { return pinned--, free(p), 0; }
static int is_pinned(const char *p, size_t n) {
    for (int i = 0; i < 8; i++)
        if (pins[i].from && p >= pins[i].from && p + n <= pins[i].from + pins[i].bytes) return 1;
    return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *s) {
    (void)s;
    wrong += contexts != 1 || !is_pinned(from, n);
    return memcpy((void *)to, from, n), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *s) {
    (void)s;
    wrong += contexts != 1 || !is_pinned(to, n);
    return memcpy(to, (void *)from, n), 0;
}
int cuMemsetD8Async(Address to, unsigned char v, size_t n, void *s) {
    return (void)s, memset((void *)to, v, n), 0;
}
int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *o, void **v) {
    (void)n, (void)o, (void)v;
    if (strstr(image, "broken")) return 200;
    return *m = strdup(image), 0;
}
int cuModuleUnload(void *m) { return free(m), 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) {
    return *f = m, strstr(m, name) ? 0 : 500;
}
int cuFuncGetAttribute(int *v, int which, void *f) { return (void)f, *v = which == 4 ? 40 : 0, 0; }
int cuFuncSetAttribute(void *f, int which, int v) { return (void)f, which != 8 || v > 232448; }
static int add(unsigned *p, unsigned n) {
    for (unsigned i = 0; i < n; i++) p[i]++;
    return 0;
}
int cuLaunchKernelEx(const void *config, void *f, void **params, void **extra) {
    (void)config, (void)f, (void)extra;
    unsigned *p = *(unsigned **)params[0], n = *(unsigned *)params[1];
    if (!captures) return add(p, n);
    recorded[nrecorded].p = p;
    recorded[nrecorded++].n = n;
    return 0;
}
int cuLinkCreate_v2(unsigned n, int *o, void **v, void **state) {
    return *state = n == 2 && o[0] == 5 ? v[0] : 0, 0;
}
static char *text;
int cuLinkAddData_v2(void *state, int kind, void *data, size_t size, const char *name, unsigned n,
                     int *o, void **v) {
    (void)name, (void)n, (void)o, (void)v;
    compilations++;
    if (strstr(data, "nonsense")) return strcpy(state, "line 3: nonsense"), 218;
    text = realloc(text, size);
    return memcpy(text, data, size), kind != 1;
}
int cuLinkComplete(void *state, void **cubin, size_t *size) {
    return (void)state, *cubin = text, *size = strlen(text) + 1, 0;
}
int cuLinkDestroy(void *state) { return (void)state, 0; }
int cuStreamCreate(void **s, unsigned flags) { return *s = &captures, flags != 1; }
int cuStreamDestroy_v2(void *s) { return (void)s, 0; }
int cuStreamSynchronize(void *s) { return (void)s, contexts != 1; }
int cuStreamBeginCapture_v2(void *s, int mode) {
    return (void)s, (void)mode, captures = 1, nrecorded = 0;
}
int cuStreamEndCapture(void *s, void **g) { return (void)s, *g = recorded, captures = 0; }
int cuEventCreate(void **e, unsigned flags) { return (void)flags, *e = &nrecorded, 0; }
int cuEventDestroy_v2(void *e) { return (void)e, 0; }
int cuEventRecord(void *e, void *s) { return (void)e, (void)s, 0; }
int cuEventSynchronize(void *e) { return (void)e, 0; }
int cuEventElapsedTime(float *ms, void *a, void *b) { return (void)a, (void)b, *ms = 0.5f, 0; }
int cuGraphInstantiateWithFlags(void **x, void *g, unsigned long long flags) {
    return (void)flags, *x = g, 0;
}
int cuGraphLaunch(void *x, void *s) {
    (void)x, (void)s;
    for (int i = 0; i < nrecorded; i++) add(recorded[i].p, recorded[i].n);
    return 0;
}
int cuGraphExecDestroy(void *x) { return (void)x, 0; }
int cuGraphDestroy(void *g) { return (void)g, 0; }
