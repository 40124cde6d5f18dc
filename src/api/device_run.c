// The back-end for devices: PTX of a bound function, loaded once, run on arguments wherever they
// are.
//
// Memory that unwinds must not be allocated while a kernel of the context is in use, so a run first
// allocates, then copies and launches, then reports.
#include "api/devices.h"

#include "api/compile_gpu.h"
#include "search/db.h"
#include "tree/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Arguments -----------------------------------------------------------------------------------

typedef struct DeviceArgument {
    View view;        // what the program sees: host tensors are dense there
    const View *host; // NULL: it is on the device
    bool dense;       // the host's tensor is
    bool written;
    size_t bytes;
    char *packed; // the host's elements in order, if it is not dense
    uint64_t address;
} DeviceArgument;

static bool is_dense(const View *v) {
    int64_t stride = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->size[d] != 1 && v->stride[d] != stride) return false;
        stride *= v->size[d];
    }
    return true;
}

static size_t bytes_of(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

static const int64_t *dense_strides(Arena *arena, const View *v) {
    int64_t *stride = arena_new_n(arena, int64_t, v->rank + 1), n = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= v->size[d];
    }
    return stride;
}

// Copies elements between a strided view and dense memory.
static void pack(const View *v, char *dense, bool out) {
    size_t size = (size_t)type_info[v->type].bytes, n = bytes_of(v) / size;
    int64_t at[64] = {0}, offset = 0;
    for (size_t i = 0; i < n; i++) {
        char *element = (char *)v->data + offset * (int64_t)size;
        memcpy(out ? element : dense + i * size, out ? dense + i * size : element, size);
        for (int d = v->rank - 1; d >= 0; d--) {
            offset += v->stride[d];
            if (++at[d] < v->size[d]) break;
            offset -= at[d] * v->stride[d];
            at[d] = 0;
        }
    }
}

static DeviceArgument *take_arguments(Compilation *c, int n) {
    Arena *arena = c->call->arena;
    const Program *p = c->bound->program;
    DeviceArgument *args = arena_new_n(arena, DeviceArgument, n + 1);
    for (int i = 0; i < n; i++) {
        DeviceArgument *a = &args[i];
        a->view = c->views[i];
        a->written = i >= p->ninputs;
        a->bytes = bytes_of(&a->view);
        if (c->args[i]->device.device_type == kDLCUDA) {
            a->address = (uint64_t)(uintptr_t)a->view.data;
            continue;
        }
        a->host = &c->views[i];
        a->dense = is_dense(a->host);
        a->view.stride = dense_strides(arena, a->host);
        if (!a->dense) a->packed = arena_raw(c->call->scratch, a->bytes + 1);
    }
    return args;
}

static DeviceStatus copy_in(Device *d, DeviceArgument *args, int n, DeviceStream s,
                            DeviceError *e) {
    for (int i = 0; i < n; i++) {
        DeviceArgument *a = &args[i];
        if (!a->host) continue;
        if (!(a->address = device_alloc(d, a->bytes, e))) return e->status;
        if (a->packed) pack(a->host, a->packed, false);
        const void *from = a->packed ? a->packed : a->host->data;
        if (device_write(d, a->address, from, a->bytes, s, e)) return e->status;
    }
    return DEVICE_OK;
}

static DeviceStatus copy_out(Device *d, DeviceArgument *args, int n, DeviceStream s,
                             DeviceError *e) {
    for (int i = 0; i < n; i++) {
        DeviceArgument *a = &args[i];
        if (!a->host || !a->written) continue;
        void *to = a->packed ? a->packed : a->host->data;
        if (device_read(d, to, a->address, a->bytes, s, e)) return e->status;
        if (a->packed) pack(a->host, a->packed, true);
    }
    return DEVICE_OK;
}

static void free_copies(Device *d, DeviceArgument *args, int n) {
    for (int i = 0; i < n; i++)
        if (args[i].host) device_free(d, args[i].address);
}

// --- Programs ------------------------------------------------------------------------------------

// The alignment that all arguments on the device have: copies have 256 bytes.
static int common_alignment(const DeviceArgument *args, int n) {
    int align = 16;
    for (int i = 0; i < n; i++)
        while (!args[i].host && args[i].address % (unsigned)align) align /= 2;
    return align;
}

// Everything that the text depends on beside the bound function and the device.
static const char *key_of(Compilation *c, const DeviceArgument *args, int n, int align,
                          size_t *bytes) {
    Text t = {.arena = c->call->arena};
    const lw_run_options *o = c->options;
    text_printf(&t, "%d %d %d", o->accumulate, o->skip_post, align);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < args[i].view.rank; d++)
            text_printf(&t, " %lld", (long long)args[i].view.stride[d]);
    if (o->schedule.text)
        text_printf(&t, "\n%s", o->schedule.text);
    else
        text_printf(&t, " %u", db_stamp(c->call->ctx->db));
    *bytes = t.len + 1;
    return text_str(&t);
}

static lw_status compile(Compilation *c, const View *views, const Device *d, int align,
                         GpuCompiled *out) {
    const lw_run_options *o = c->options;
    PtxOptions options = {.align = align, .accumulate = o->accumulate, .skip_post = o->skip_post};
    return gpu_compile(c->call, c->bound, &o->schedule, views, NULL, device_info(d), &options, out);
}

static lw_status load_program(Compilation *c, Device *d, const DeviceArgument *args, int n,
                              int align, const char *key, size_t key_bytes, DeviceKernel **out) {
    Call *call = c->call;
    View *views = arena_new_n(call->arena, View, n + 1);
    GpuCompiled made;
    for (int i = 0; i < n; i++) views[i] = args[i].view;
    double start = now_us();
    lw_status status = compile(c, views, d, align, &made);
    if (status) return status;
    const DeviceProgram *program = ptx_program(call->arena, &made.code, n);
    DeviceKernel *k = call_new(call, sizeof *k + key_bytes);
    DeviceError e;
    k->bound = c->bound->serial;
    k->device = d;
    k->key_bytes = key_bytes;
    k->text_bytes = program->len;
    k->checks = program->has_status;
    k->kernels = program->nlaunches;
    k->tuned = made.tuned;
    memcpy(k->key, key, key_bytes);
    pthread_mutex_init(&k->lock, NULL);
    k->code = device_load(d, program, &e);
    c->timing.compile_us += now_us() - start;
    if (k->code && device_kernel_keep(call->ctx, context_devices(call), k)) {
        *out = k;
        return LW_OK;
    }
    if (k->code) {
        e.status = DEVICE_FAILED;
        snprintf(e.text, sizeof e.text, "%d programs run at once", MOST_DEVICE_KERNELS);
    }
    device_kernel_free(call->ctx, k);
    return device_complain(call, device_info(d)->name, &e);
}

// --- Measuring -----------------------------------------------------------------------------------

enum { SAMPLES = 101 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Microseconds of one run in a graph of `times`.
static double sample(Device *d, DeviceGraph *g, DeviceEvent *const *v, int times, DeviceStream s,
                     DeviceError *e) {
    double us = 0;
    if (device_event_record(d, v[0], s, e) || device_graph_run(d, g, s, e) ||
        device_event_record(d, v[1], s, e) || device_event_elapsed(d, v[0], v[1], &us, e))
        return -1;
    return us / times;
}

// Runs a graph of as many runs as take two milliseconds, again and again until the time is used up.
static DeviceStatus measure(Compilation *c, Device *d, DeviceKernel *k, const uint64_t *args,
                            DeviceError *e) {
    DeviceStream s = c->options->stream;
    DeviceEvent *v[2] = {device_event_new(d, e), device_event_new(d, e)};
    DeviceGraph *g = v[0] && v[1] ? device_graph_new(d, k->code, args, 1, e) : NULL;
    double at[SAMPLES], begin = now_us(), seconds = c->options->measure_seconds;
    int n = 0, times = 1;
    double once = g ? sample(d, g, v, 1, s, e) : -1;
    if (once > 0) once = sample(d, g, v, 1, s, e);
    if (once > 0) {
        times = once < 2000 ? (int)(2000 / once) + 1 : 1;
        if (times > 500) times = 500;
        device_graph_free(d, g);
        g = device_graph_new(d, k->code, args, times, e);
        if (g) sample(d, g, v, times, s, e);
    }
    for (; once > 0 && g && n < SAMPLES && (!n || now_us() - begin < 1e6 * seconds); n++)
        if ((at[n] = sample(d, g, v, times, s, e)) < 0) break;
    device_graph_free(d, g);
    for (int i = 0; i < 2; i++) device_event_free(d, v[i]);
    if (!n) return e->status;
    qsort(at, (size_t)n, sizeof *at, by_value);
    lw_timing *t = &c->timing;
    t->median_us = at[n / 2];
    t->p10_us = at[n / 10];
    t->p90_us = at[n - 1 - n / 10];
    t->best_us = at[0];
    t->samples = n;
    return DEVICE_OK;
}

// --- Running -------------------------------------------------------------------------------------

static bool has_inouts(const Program *p) {
    for (int i = p->ninputs; i < p->ninputs + p->noutputs; i++)
        if (p->tensors.at[i].role == ROLE_INOUT) return true;
    return false;
}

// Launches on the caller's stream. Waits if arguments are copied back, if a status word has to be
// read, or for a time.
static DeviceStatus launch(Compilation *c, Device *d, DeviceKernel *k, DeviceArgument *args, int n,
                           const uint64_t *address, bool waits, DeviceError *e) {
    DeviceStream s = c->options->stream;
    DeviceStatus status = DEVICE_OK;
    pthread_mutex_lock(&k->lock);
    bool measures = c->options->measure_seconds > 0 && !device_is_emulated(d) &&
                    !has_inouts(c->bound->program) && !c->options->accumulate;
    if (!status && measures) status = measure(c, d, k, address, e);
    double start = now_us();
    if (!status) status = device_run(d, k->code, address, s, e);
    if (!status && (k->checks || waits)) status = device_check(d, k->code, s, e);
    c->timing.run_us = now_us() - start;
    pthread_mutex_unlock(&k->lock);
    if (!status) status = copy_out(d, args, n, s, e);
    return status;
}

// A checked index was out of range: the reference interpreter says which, unless arguments are
// where it cannot read them.
static lw_status explain(Compilation *c, const Device *d, const DeviceArgument *args, int n) {
    for (int i = 0; i < n; i++)
        if (!args[i].host) {
            diag_report(c->call->diags, nowhere, DIAG_KERNEL_INDEX, c->bound->program->name);
            return LW_ERROR;
        }
    GpuCompiled made;
    lw_status status = compile(c, c->views, d, 0, &made);
    return status ? status : explain_fault(c, made.tree);
}

// Operations and bytes, for rates; of a Stripe program they are not known here.
static void count_work(Compilation *c) {
    Arena *scratch = c->call->scratch;
    const Program *p = c->bound->program;
    lw_timing *t = &c->timing;
    if (c->bound->function->tree) return;
    t->flops = bound_flops(scratch, c->bound, NULL);
    t->int_ops = bound_int_ops(scratch, c->bound);
    t->float_bits = program_float_bits(p);
    const double *bytes = bound_bytes(scratch, c->bound, NULL);
    for (int i = 0; i < p->ninputs + p->noutputs; i++) {
        t->bytes += bytes[i];
        if (i >= p->ninputs) t->written_bytes += bytes[i];
    }
}

lw_status gpu_run(Compilation *c) {
    Call *call = c->call;
    const Program *p = c->bound->program;
    int n = p->ninputs + p->noutputs;
    Device *d = context_device(call, c->options->device ? c->options->device : "cuda:0");
    if (!d) return LW_ERROR;
    DeviceArgument *args = take_arguments(c, n);
    uint64_t *address = arena_new_n(call->arena, uint64_t, n + 1);
    int align = common_alignment(args, n);
    size_t key_bytes;
    const char *key = key_of(c, args, n, align, &key_bytes);
    Devices *all = context_devices(call);
    DeviceKernel *k = device_kernel_find(all, d, c->bound->serial, key);
    lw_status status = k ? LW_OK : load_program(c, d, args, n, align, key, key_bytes, &k);
    if (status) return status;
    DeviceError e = {0};
    bool copies = false;
    DeviceStatus result = copy_in(d, args, n, c->options->stream, &e);
    for (int i = 0; i < n; i++) {
        address[i] = args[i].address;
        copies = copies || args[i].host;
    }
    if (!result) result = launch(c, d, k, args, n, address, copies || c->timed, &e);
    free_copies(d, args, n);
    c->timing.code_bytes = k->text_bytes;
    c->timing.schedule = c->options->schedule.text ? "given" : k->tuned ? "tuned" : "chosen";
    c->timing.threads = 1;
    c->timing.kernels = k->kernels;
    c->timing.as_graph = device_ran_as_graph(k->code);
    if (c->timed) count_work(c);
    device_kernel_leave(all, k);
    if (!result) return LW_OK;
    return result == DEVICE_BAD_INDEX ? explain(c, d, args, n)
                                      : device_complain(call, device_info(d)->name, &e);
}
