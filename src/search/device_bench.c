#include "search/device_bench.h"

#include "base/checked.h"
#include "base/kernel_abi.h"
#include "run/timing.h"

#include <math.h>

// A sample is a graph of at most MOST_RUNS runs that takes about this time.
static const double sample_seconds = 4e-4;
enum { MOST_RUNS = 200 };

struct DeviceBench {
    Device *device;
    Operands *o;
    uint64_t *checked, *timed; // addresses per argument, at the element of its origin
    uint64_t *image, *timed_image;
    DeviceEvent *event[2];
};

static size_t bytes_of(const Operand *x) {
    return x->role == ROLE_INPUT ? x->data[DATA_WHOLE].bytes : x->image.bytes;
}

static ptrdiff_t first_of(const Operands *o, int i) {
    return (char *)o->ordinary[i] - o->at[i].ordinary.data;
}

static DeviceStatus send(DeviceBench *b, int i, uint64_t to, const char *from, DeviceError *e) {
    return device_write(b->device, to, from, bytes_of(&b->o->at[i]), NULL, e);
}

static bool provide(DeviceBench *b, int i, DeviceError *e) {
    const Operand *x = &b->o->at[i];
    size_t bytes = bytes_of(x);
    ptrdiff_t first = first_of(b->o, i);
    if (!(b->image[i] = device_alloc(b->device, bytes, e))) return false;
    if (!(b->timed_image[i] = device_alloc(b->device, bytes, e))) return false;
    b->checked[i] = b->image[i] + (uint64_t)first;
    b->timed[i] = b->timed_image[i] + (uint64_t)first;
    return !send(b, i, b->timed_image[i], x->ordinary.data, e);
}

DeviceBench *device_bench_open(Arena *arena, const char *name, Operands *o, DeviceError *e) {
    DeviceBench *b = arena_new(arena, DeviceBench);
    b->o = o;
    uint64_t **array[] = {&b->checked, &b->timed, &b->image, &b->timed_image};
    for (size_t k = 0; k < sizeof array / sizeof *array; k++)
        *array[k] = arena_new_n(arena, uint64_t, o->n + 1);
    b->device = device_open(name, e);
    if (!b->device) return NULL;
    for (int i = 0; i < o->n; i++)
        if (!provide(b, i, e)) return NULL;
    for (int i = 0; i < 2; i++)
        if (!(b->event[i] = device_event_new(b->device, e))) return NULL;
    return b;
}

// --- Programs ------------------------------------------------------------------------------------

bool device_bench_load(DeviceBench *b, Arena *scratch, const void *packed, DeviceJob *out) {
    DeviceError e;
    const DeviceProgram *p = device_program_unpack(scratch, packed);
    *out = (DeviceJob){.code = device_load(b->device, p, &e)};
    out->launches = p->nlaunches;
    return out->code;
}

void device_bench_unload(DeviceBench *b, DeviceJob *k) {
    if (k->graph) device_graph_free(b->device, k->graph);
    if (k->code) device_unload(b->device, k->code);
    *k = (DeviceJob){0};
}

// --- Runs ----------------------------------------------------------------------------------------

static double estimated(const DeviceBench *b, const DeviceJob *k, const DeviceCounts *c) {
    static const double launch = 0.4e-6;
    return launch * k->launches + c->cycles / (1e3 * device_info(b->device)->clock_khz);
}

static DeviceStatus run(DeviceBench *b, DeviceJob *k, const uint64_t *args, DeviceError *e) {
    DeviceStatus s = device_run(b->device, k->code, args, NULL, e);
    return s ? s : device_check(b->device, k->code, NULL, e);
}

int device_bench_call(DeviceBench *b, DeviceJob *k, DataSet set, double *seconds) {
    DeviceError e = {0};
    Operands *o = b->o;
    DeviceStatus s = DEVICE_OK;
    for (int i = 0; i < o->n && !s; i++)
        s = send(b, i, b->image[i], (char *)o->buffer[set][i] - first_of(o, i), &e);
    double start = wall_clock();
    device_counts_reset(b->device);
    if (!s) s = run(b, k, b->checked, &e);
    *seconds = fmax(wall_clock() - start, 1e-9);
    if (!s && device_is_emulated(b->device)) {
        DeviceCounts c;
        device_counts(b->device, &c);
        *seconds = k->estimate = fmax(estimated(b, k, &c), 1e-9); // also without kernels
    }
    for (int i = o->ninputs; i < o->n && !s; i++)
        s = device_read(b->device, o->at[i].image.data, b->image[i], o->at[i].image.bytes, NULL,
                        &e);
    if (s == DEVICE_BAD_INDEX) return KERNEL_BAD_INDEX + e.statement;
    return s ? -1 : KERNEL_OK;
}

static bool make_graph(DeviceBench *b, DeviceJob *k, int64_t runs, DeviceError *e) {
    if (k->graph && k->runs == runs) return true;
    if (k->graph) device_graph_free(b->device, k->graph);
    k->graph = device_graph_new(b->device, k->code, b->timed, (int)runs, e);
    k->runs = runs;
    return k->graph;
}

double device_bench_sample(DeviceBench *b, DeviceJob *k, int64_t runs) {
    DeviceError e;
    double us = 0;
    Device *d = b->device;
    if (device_is_emulated(d)) return k->estimate;
    for (int i = b->o->ninputs; i < b->o->n; i++)
        if (b->o->at[i].role == ROLE_INOUT &&
            send(b, i, b->timed_image[i], b->o->at[i].ordinary.data, &e))
            return 0;
    if (!make_graph(b, k, runs, &e) || device_event_record(d, b->event[0], NULL, &e) ||
        device_graph_run(d, k->graph, NULL, &e) || device_event_record(d, b->event[1], NULL, &e) ||
        device_event_elapsed(d, b->event[0], b->event[1], &us, &e))
        return 0;
    return fmax(us * 1e-6 / (double)runs, 1e-9);
}

int64_t device_bench_runs(const DeviceBench *b, double once) {
    if (device_is_emulated(b->device) || once >= sample_seconds) return 1;
    return min_i64(MOST_RUNS, 1 + (int64_t)(sample_seconds / once));
}
