// Launches the kernels of a program, one by one or as one CUDA graph.
//
// A launch costs the processor about 5 us. A graph costs 3 to 4 us for any number of kernels, and
// these follow each other within 1 us; but making a graph takes up to a millisecond, and it
// contains the addresses of its arguments. A program therefore remembers the last few sets of
// arguments. The first run on a set launches kernels one by one, the second makes a graph, and
// later runs launch that graph. If a program cycles through more sets than it remembers, each set
// is forgotten before its second run, and no graph is made.
#include "run/cuda_impl.h"

#include <stdlib.h>
#include <string.h>

struct DeviceGraph {
    void *graph, *exec;
};

// --- Kernels -------------------------------------------------------------------------------------

static int launch(CudaDevice *d, const CudaCode *c, int i, const uint64_t *args, DeviceStream s) {
    enum { MOST = 64 };
    const DeviceLaunch *l = &c->code.launches[i];
    uint64_t few[MOST],
        *value = l->nparams <= MOST ? few : calloc((size_t)l->nparams, sizeof *value);
    void *few_params[MOST],
        **params = l->nparams <= MOST ? few_params : calloc((size_t)l->nparams, sizeof *params);
    int r = 2;
    if (value && params) {
        for (int k = 0; k < l->nparams; k++) {
            value[k] = code_param(&c->code, &l->params[k], args);
            params[k] = &value[k];
        }
        CudaLaunchAttribute cluster = {.id = CUDA_LAUNCH_CLUSTER};
        cluster.value.cluster.x = l->cluster[0];
        cluster.value.cluster.y = l->cluster[1];
        cluster.value.cluster.z = l->cluster[2];
        bool clusters = l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1;
        CudaLaunch config = {.shared = l->shared,
                             .stream = s,
                             .attributes = clusters ? &cluster : NULL,
                             .nattributes = clusters};
        memcpy(config.grid, l->grid, sizeof config.grid);
        memcpy(config.block, l->block, sizeof config.block);
        r = d->cuda.LaunchKernelEx(&config, c->function[i], params, NULL);
    }
    if (value != few) free(value);
    if (params != few_params) free(params);
    return r;
}

// Call it in the current context.
static int launch_all(CudaDevice *d, const CudaCode *c, const uint64_t *args, DeviceStream s) {
    int r = 0;
    if (c->code.has_status) r = d->cuda.MemsetD8Async(c->code.buffers[c->code.ntemps], 0, 4, s);
    for (int i = 0; i < c->code.nlaunches && !r; i++) r = launch(d, c, i, args, s);
    return r;
}

// --- Graphs --------------------------------------------------------------------------------------

// Captures the launches on a new stream, so that no other stream is in capture mode.
static int capture(CudaDevice *d, CudaCode *c, const uint64_t *args, int times, DeviceGraph *g) {
    enum { RELAXED = 2, NON_BLOCKING = 1 };
    void *s = NULL;
    int r = d->cuda.StreamCreate(&s, NON_BLOCKING);
    if (r) return r;
    r = d->cuda.StreamBeginCapture(s, RELAXED);
    for (int i = 0; i < times && !r; i++) r = launch_all(d, c, args, s);
    int end = d->cuda.StreamEndCapture(s, &g->graph);
    if (!r) r = end;
    if (!r) r = d->cuda.GraphInstantiate(&g->exec, g->graph, 0);
    d->cuda.StreamDestroy(s);
    return r;
}

// Call it in the current context, like graph_make. A running graph is destroyed when it has
// finished.
static void graph_destroy(CudaDevice *d, DeviceGraph *g) {
    if (g->exec) d->cuda.GraphExecDestroy(g->exec);
    if (g->graph) d->cuda.GraphDestroy(g->graph);
    free(g);
}

// NULL: *result is the driver's reason.
static DeviceGraph *graph_make(CudaDevice *d, CudaCode *c, const uint64_t *args, int times,
                               int *result) {
    enum { OUT_OF_MEMORY = 2 };
    DeviceGraph *g = calloc(1, sizeof *g);
    *result = g ? capture(d, c, args, times, g) : OUT_OF_MEMORY;
    if (g && *result) {
        graph_destroy(d, g);
        return NULL;
    }
    return g;
}

void cuda_graph_free(Device *device, DeviceGraph *g) {
    CudaDevice *d = (CudaDevice *)device;
    DeviceError ignored;
    if (cuda_enter(d, &ignored)) {
        free(g); // the context is lost, and with it the driver's graph
        return;
    }
    graph_destroy(d, g);
    cuda_leave(d, 0, "", &ignored);
}

DeviceGraph *cuda_graph_new(Device *device, DeviceCode *code, const uint64_t *args, int times,
                            DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    int r = 0;
    if (cuda_enter(d, e)) return NULL;
    DeviceGraph *g = graph_make(d, (CudaCode *)code, args, times, &r);
    cuda_leave(d, r, "making a graph", e);
    return g;
}

DeviceStatus cuda_graph_run(Device *device, DeviceGraph *g, DeviceStream s, DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    if (cuda_enter(d, e)) return e->status;
    return cuda_leave(d, d->cuda.GraphLaunch(g->exec, s), "launching a graph", e);
}

// --- Runs ----------------------------------------------------------------------------------------

static void run_clear(CudaDevice *d, CudaRun *r) {
    if (r->graph) graph_destroy(d, r->graph);
    free(r->args);
    *r = (CudaRun){0};
}

void cuda_runs_clear(CudaDevice *d, CudaCode *c) {
    for (int i = 0; i < CUDA_RUNS; i++) run_clear(d, &c->run[i]);
    if (c->done) d->cuda.EventDestroy(c->done);
    c->done = NULL;
}

// The run on these arguments. NULL: this is the first run on them, which now replaces the least
// recently used one.
static CudaRun *run_find(CudaDevice *d, CudaCode *c, const uint64_t *args) {
    size_t bytes = (size_t)c->code.nargs * sizeof *args;
    CudaRun *oldest = &c->run[0];
    c->nruns++;
    for (int i = 0; i < CUDA_RUNS; i++) {
        CudaRun *r = &c->run[i];
        if (r->args && memcmp(r->args, args, bytes) == 0) {
            r->used = c->nruns;
            return r;
        }
        if (r->used < oldest->used) oldest = r;
    }
    run_clear(d, oldest);
    if (!(oldest->args = malloc(bytes + 1))) return NULL;
    memcpy(oldest->args, args, bytes);
    oldest->used = c->nruns;
    return NULL;
}

// Does the caller capture a graph on the stream? The kernels then become part of it.
static bool is_captured(CudaDevice *d, DeviceStream s) {
    int capturing = 0;
    return d->cuda.StreamIsCapturing(s, &capturing) || capturing;
}

// The graph of these arguments, from their second run on; NULL: launch kernels one by one.
static DeviceGraph *graph_of(CudaDevice *d, CudaCode *c, const uint64_t *args) {
    int ignored;
    if (c->no_graphs) return NULL;
    CudaRun *r = run_find(d, c, args);
    if (!r) return NULL;
    if (!r->graph) r->graph = graph_make(d, c, args, 1, &ignored);
    c->no_graphs = !r->graph;
    return r->graph;
}

// Runs share the temporary buffers and the status word, so one on another stream starts after the
// last one has ended. The GPU waits, not the caller; the other stream may be gone by then.
static int follow_last(CudaDevice *d, const CudaCode *c, DeviceStream s) {
    return c->done && c->last != s ? d->cuda.StreamWaitEvent(s, c->done, 0) : 0;
}

static int mark_last(CudaDevice *d, CudaCode *c, DeviceStream s) {
    enum { WITHOUT_TIME = 2 };
    int r = c->done ? 0 : d->cuda.EventCreate(&c->done, WITHOUT_TIME);
    c->last = s;
    return r ? r : d->cuda.EventRecord(c->done, s);
}

DeviceStatus cuda_run(Device *device, DeviceCode *code, const uint64_t *args, DeviceStream s,
                      DeviceError *e) {
    CudaDevice *d = (CudaDevice *)device;
    CudaCode *c = (CudaCode *)code;
    if (cuda_enter(d, e)) return e->status;
    bool captured = is_captured(d, s);
    bool shares = !captured && code->ntemps + code->has_status > 0;
    int r = shares ? follow_last(d, c, s) : 0;
    DeviceGraph *g = captured ? NULL : graph_of(d, c, args);
    code->as_graph = g != NULL;
    if (!r) r = g ? d->cuda.GraphLaunch(g->exec, s) : launch_all(d, c, args, s);
    if (!r && shares) r = mark_last(d, c, s);
    return cuda_leave(d, r, "launching kernels", e);
}
