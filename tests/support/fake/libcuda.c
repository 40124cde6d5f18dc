// A CUDA driver without a GPU, for tests of run/cuda.c: memory is the host's, compiled code is
// the text itself, and every kernel adds 1 to `n` words at `p`, its parameters (p, n). It counts
// the mistakes of a careless caller: contexts that stay current, copies from memory that is not
// pinned, and resources that are not given back.
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

static int contexts, allocations, pinned, compilations, wrong, graphs, launches;
static int refuses; // graphs
static int waits;   // of streams for events
static struct {
    char *from;
    size_t bytes;
} pins[8];
// Recorded launches: add 1 to n words at p, or fill n bytes with `value`.
typedef struct Graph {
    int n;
    struct {
        unsigned *p;
        unsigned n;
        int value; // -1: add
    } node[64];
} Graph;
typedef struct Stream {
    Graph *into; // NULL: not capturing
} Stream;

// What the test reads: everything that should be 0 at the end, the number of compilations, and of
// calls that launched a kernel or a graph.
int fake_leaks(void) { return contexts + allocations + pinned + wrong + graphs; }
int fake_compilations(void) { return compilations; }
int fake_launches(void) { return launches; }
int fake_waits(void) { return waits; }
void fake_refuse_graphs(int yes) { refuses = yes; }

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
static int add(unsigned *p, unsigned n) {
    for (unsigned i = 0; i < n; i++) p[i]++;
    return 0;
}
// Does it now, or records it if the stream is captured.
static int work(Stream *s, unsigned *p, unsigned n, int value) {
    Graph *g = s ? s->into : 0;
    wrong += contexts != 1;
    if (!g) return value < 0 ? add(p, n) : (memset(p, value, n), 0);
    g->node[g->n].p = p;
    g->node[g->n].n = n;
    g->node[g->n++].value = value;
    return 0;
}
int cuMemsetD8Async(Address to, unsigned char v, size_t n, void *s) {
    return work(s, (unsigned *)to, (unsigned)n, v);
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
// As CUlaunchConfig.
typedef struct Config {
    unsigned grid[3], block[3], shared;
    Stream *stream;
} Config;
int cuLaunchKernelEx(const Config *config, void *f, void **params, void **extra) {
    (void)f, (void)extra;
    launches += !config->stream || !config->stream->into;
    return work(config->stream, *(unsigned **)params[0], *(unsigned *)params[1], -1);
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
int cuStreamCreate(void **s, unsigned flags) {
    graphs++;
    return *s = calloc(1, sizeof(Stream)), flags != 1;
}
int cuStreamDestroy_v2(void *s) { return graphs--, free(s), 0; }
int cuStreamSynchronize(void *s) { return (void)s, contexts != 1; }
int cuStreamBeginCapture_v2(Stream *s, int mode) {
    graphs++;
    return (void)mode, s->into = calloc(1, sizeof(Graph)), 0;
}
int cuStreamEndCapture(Stream *s, void **g) { return *g = s->into, s->into = 0, 0; }
int cuStreamIsCapturing(Stream *s, int *status) { return *status = s && s->into, contexts != 1; }
int cuEventCreate(void **e, unsigned flags) { return graphs++, *e = malloc(1), flags & ~2u; }
int cuEventDestroy_v2(void *e) { return graphs--, free(e), 0; }
int cuEventRecord(void *e, Stream *s) { return wrong += !e || (s && s->into), 0; }
int cuStreamWaitEvent(Stream *s, void *e, unsigned flags) {
    wrong += !e || (s && s->into);
    return waits++, (int)flags;
}
int cuEventSynchronize(void *e) { return (void)e, 0; }
int cuEventElapsedTime(float *ms, void *a, void *b) { return (void)a, (void)b, *ms = 0.5f, 0; }
int cuGraphInstantiateWithFlags(void **x, Graph *g, unsigned long long flags) {
    if (refuses) return 801;
    graphs++;
    *x = memcpy(malloc(sizeof *g), g, sizeof *g);
    return (int)flags;
}
int cuGraphLaunch(Graph *x, Stream *s) {
    launches++;
    for (int i = 0; i < x->n; i++) work(s, x->node[i].p, x->node[i].n, x->node[i].value);
    return 0;
}
int cuGraphExecDestroy(void *x) { return graphs--, free(x), 0; }
int cuGraphDestroy(void *g) { return graphs--, free(g), 0; }
