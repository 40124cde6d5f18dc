#include "run/device_rates.h"

#include "run/device_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Kernels -------------------------------------------------------------------------------------

enum {
    THREADS = 256,
    CHAINS = 16, // independent multiply-adds per thread
    UNROLL = 4,  // of each chain
    LOADS = 8,   // per iteration, of 16 bytes
    TEXT_BYTES = 1 << 16,
    WARM = 2,
    TRIES = 7,
};

typedef struct PtxWriter {
    char *text;
    size_t len;
} PtxWriter;

static void put(PtxWriter *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(PtxWriter *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->len, TEXT_BYTES - w->len, format, args);
    va_end(args);
    if (n > 0) w->len += (size_t)n;
}

// Every kernel has the parameters (in, out, n): two buffers and a number of iterations. %b is the
// block, %t the thread, %i their number in the grid, %n the parameter.
static void begin(PtxWriter *w, const char *name) {
    put(w,
        ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u32 n)\n.maxntid %d,1,1\n{\n"
        ".reg .b32 %%b, %%t, %%i, %%n, %%k, %%s, %%x<%d>;\n.reg .b64 %%in, %%out, %%a, %%o;\n"
        ".reg .f32 %%f<%d>;\n.reg .f64 %%d<%d>;\n.reg .pred %%p;\n"
        "mov.u32 %%b, %%ctaid.x;\nmov.u32 %%t, %%tid.x;\nmad.lo.u32 %%i, %%b, %d, %%t;\n"
        "ld.param.u32 %%n, [n];\nld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n",
        name, THREADS, 4 * LOADS + 4, CHAINS + 2, CHAINS + 2, THREADS);
}

// Stores a value that depends on all results if it equals a number that never occurs. The compiler
// therefore cannot remove the work.
static void end(PtxWriter *w) {
    put(w, "setp.ne.u32 %%p, %%x0, 0x7ead10c5;\n@%%p ret;\n"
           "mad.wide.u32 %%o, %%i, 4, %%out;\nst.global.u32 [%%o], %%x0;\nret;\n}\n");
}

static void fma_kernel(PtxWriter *w, const char *name, const char *type, const char *reg,
                       const char *constant, int bits) {
    begin(w, name);
    put(w, "cvt.rn.%s.u32 %%%s%d, %%i;\nmov.%s %%%s%d, %s;\n", type, reg, CHAINS, type, reg,
        CHAINS + 1, constant);
    for (int i = 0; i < CHAINS; i++) // with different values; the compiler would merge equal chains
        put(w, "add.u32 %%k, %%i, %d;\ncvt.rn.%s.u32 %%%s%d, %%k;\n", i, type, reg, i);
    put(w, "mov.u32 %%k, 0;\n$loop_%s:\n", name);
    for (int u = 0; u < UNROLL; u++)
        for (int i = 0; i < CHAINS; i++)
            put(w, "fma.rn.%s %%%s%d, %%%s%d, %%%s%d, %%%s%d;\n", type, reg, i, reg, i, reg,
                CHAINS + 1, reg, CHAINS);
    put(w, "add.u32 %%k, %%k, 1;\nsetp.lt.u32 %%p, %%k, %%n;\n@%%p bra $loop_%s;\n", name);
    for (int i = 1; i < CHAINS; i++)
        put(w, "add.rn.%s %%%s0, %%%s0, %%%s%d;\n", type, reg, reg, reg, i);
    if (bits == 32)
        put(w, "mov.b32 %%x0, %%f0;\n");
    else
        put(w, "mov.b64 {%%x0, %%x1}, %%d0;\n");
    end(w);
}

static void gather_loads(PtxWriter *w) {
    for (int i = 1; i < 4 * LOADS; i++) put(w, "xor.b32 %%x0, %%x0, %%x%d;\n", i);
    put(w, "xor.b32 %%s, %%s, %%x0;\n");
}

static void shared_kernel(PtxWriter *w) {
    begin(w, "shared");
    put(w, ".shared .align 16 .b8 tile[%d];\n", THREADS * 16 * 2);
    put(w, "mov.u32 %%x1, tile;\nmad.lo.u32 %%x1, %%t, 16, %%x1;\nmov.u32 %%x32, %%x1;\n");
    for (int half = 0; half < 2; half++)
        put(w, "st.shared.v4.u32 [%%x1+%d], {%%i, %%t, %%b, %%n};\n", half * THREADS * 16);
    put(w, "mov.u32 %%s, 0;\nmov.u32 %%k, 0;\n$loop_shared:\n");
    for (int i = 0; i < LOADS; i++)
        put(w, "ld.volatile.shared.v4.u32 {%%x%d, %%x%d, %%x%d, %%x%d}, [%%x32+%d];\n", 4 * i,
            4 * i + 1, 4 * i + 2, 4 * i + 3, i % 2 * THREADS * 16);
    gather_loads(w);
    put(w, "add.u32 %%k, %%k, 1;\nsetp.lt.u32 %%p, %%k, %%n;\n@%%p bra $loop_shared;\n"
           "mov.u32 %%x0, %%s;\n");
    end(w);
}

// All blocks together read a buffer, LOADS * 16 bytes per thread, with neighbouring threads next to
// each other. Then they read the whole buffer again, n times; each block reads another part each
// time.
static void read_kernel(PtxWriter *w, const char *name, const char *hint) {
    begin(w, name);
    put(w, "mov.u32 %%s, 0;\nmov.u32 %%k, 0;\nmov.u32 %%x33, %%nctaid.x;\n$loop_%s:\n", name);
    put(w,
        "mad.lo.u32 %%x32, %%k, 37, %%b;\nrem.u32 %%x32, %%x32, %%x33;\n"
        "mad.wide.u32 %%a, %%x32, %d, %%in;\nmad.wide.u32 %%a, %%t, 16, %%a;\n",
        THREADS * LOADS * 16);
    for (int i = 0; i < LOADS; i++)
        put(w, "ld.global%s.v4.u32 {%%x%d, %%x%d, %%x%d, %%x%d}, [%%a+%d];\n", hint, 4 * i,
            4 * i + 1, 4 * i + 2, 4 * i + 3, i * THREADS * 16);
    gather_loads(w);
    put(w,
        "add.u32 %%k, %%k, 1;\nsetp.lt.u32 %%p, %%k, %%n;\n@%%p bra $loop_%s;\n"
        "mov.u32 %%x0, %%s;\n",
        name);
    end(w);
}

// One store, or one load and one store, of 16 bytes per thread. A flat grid is the fastest.
static void move_kernel(PtxWriter *w, const char *name, bool loads) {
    begin(w, name);
    put(w, "mad.wide.u32 %%a, %%i, 16, %%in;\nmad.wide.u32 %%o, %%i, 16, %%out;\n");
    if (loads)
        put(w, "ld.global.v4.u32 {%%x0, %%x1, %%x2, %%x3}, [%%a];\n"
               "st.global.v4.u32 [%%o], {%%x0, %%x1, %%x2, %%x3};\n");
    else
        put(w, "st.global.v4.u32 [%%o], {%%i, %%i, %%i, %%i};\n");
    put(w, "ret;\n}\n");
}

static void write_kernels(PtxWriter *w) {
    put(w, ".version 7.0\n.target sm_80\n.address_size 64\n");
    fma_kernel(w, "fma32", "f32", "f", "0f3F000000", 32);
    fma_kernel(w, "fma64", "f64", "d", "0d3FE0000000000000", 64);
    shared_kernel(w);
    read_kernel(w, "l2", ".cg");
    read_kernel(w, "read", "");
    move_kernel(w, "write", false);
    move_kernel(w, "copy", true);
    begin(w, "empty");
    put(w, "ret;\n}\n");
}

// --- Measuring -----------------------------------------------------------------------------------

typedef struct Bench {
    Device *device;
    DeviceError *error;
    PtxWriter kernels;
    uint64_t buffer[2];
    DeviceEvent *event[2];
} Bench;

// Microseconds of one launch in a graph of `times`, the best of a few; 0: failed.
static double best_time(Bench *b, const char *kernel, uint32_t blocks, uint32_t n, int times) {
    Device *d = b->device;
    DeviceError *e = b->error;
    DeviceParam params[] = {{.buffer = 0}, {.buffer = 1}, {.buffer = -1, .value = n, .bytes = 4}};
    DeviceLaunch launch = {kernel, {blocks, 1, 1}, {THREADS, 1, 1}, {1, 1, 1}, 0, 3, params};
    DeviceProgram program = {.text = b->kernels.text,
                             .len = b->kernels.len,
                             .nlaunches = 1,
                             .launches = &launch,
                             .nargs = 2};
    DeviceCode *code = device_load(d, &program, e);
    DeviceGraph *g = code ? device_graph_new(d, code, b->buffer, times, e) : NULL;
    double best = 0, us = 0;
    for (int i = 0; g && i < WARM + TRIES; i++) {
        if (device_event_record(d, b->event[0], NULL, e) || device_graph_run(d, g, NULL, e) ||
            device_event_record(d, b->event[1], NULL, e) ||
            device_event_elapsed(d, b->event[0], b->event[1], &us, e)) {
            best = 0;
            break;
        }
        if (i >= WARM && (best == 0 || us / times < best)) best = us / times;
    }
    device_graph_free(d, g);
    device_unload(d, code);
    return best;
}

// GB/s, or GFLOP/s: bytes or operations per nanosecond.
static double rate(double work, double us) { return us > 0 ? work / us * 1e-3 : 0; }

static void measure_all(Bench *b, int scale, size_t bytes, DeviceRates *r) {
    const DeviceInfo *info = device_info(b->device);
    uint32_t full = (uint32_t)info->processors * (uint32_t)(info->processor_threads / THREADS);
    if (scale > 1) full = 2;
    uint32_t n = (uint32_t)(20000 / scale);
    double lanes = (double)full * THREADS, flops = lanes * n * CHAINS * UNROLL * 2;
    r->fma_f32 = rate(flops, best_time(b, "fma32", full, n, 1));
    r->fma_f64 = rate(flops, best_time(b, "fma64", full, n, 1));
    r->shared = rate(lanes * n * LOADS * 16, best_time(b, "shared", full, n, 1));
    double part = THREADS * LOADS * 16;
    int64_t resident = info->l2_bytes / 3 < (int64_t)bytes ? info->l2_bytes / 3 : (int64_t)bytes;
    uint32_t blocks = (uint32_t)((double)resident / part) + 1, passes = scale > 1 ? 2 : 20;
    if ((double)blocks * part > (double)bytes) blocks = (uint32_t)((double)bytes / part);
    r->l2 = rate(blocks * part * passes, best_time(b, "l2", blocks, passes, 1));
    blocks = (uint32_t)((double)bytes / part);
    r->read = rate(blocks * part, best_time(b, "read", blocks, 1, 2));
    blocks = (uint32_t)(bytes / (THREADS * 16));
    r->write = rate((double)blocks * THREADS * 16, best_time(b, "write", blocks, 1, 2));
    r->copy = rate((double)blocks * THREADS * 32, best_time(b, "copy", blocks, 1, 2));
    r->launch_us = best_time(b, "empty", 1, 1, scale > 1 ? 2 : 200);
}

DeviceStatus device_measure(Device *d, int scale, DeviceRates *out, DeviceError *e) {
    Bench b = {.device = d, .error = e, .kernels.text = malloc(TEXT_BYTES)};
    size_t bytes = (size_t)1 << 30;
    *e = (DeviceError){0};
    *out = (DeviceRates){0};
    if (scale > 1) bytes = (size_t)THREADS * LOADS * 16 * 2;
    if (!b.kernels.text) return device_fail(e, DEVICE_NO_MEMORY, "out of memory");
    write_kernels(&b.kernels);
    for (int i = 0; i < 2 && !e->status; i++) {
        b.buffer[i] = device_alloc(d, bytes, e);
        if (b.buffer[i]) device_fill(d, b.buffer[i], 0, bytes, NULL, e);
        b.event[i] = device_event_new(d, e);
    }
    if (!e->status) measure_all(&b, scale, bytes, out);
    for (int i = 0; i < 2; i++) {
        device_event_free(d, b.event[i]);
        device_free(d, b.buffer[i]);
    }
    free(b.kernels.text);
    return e->status;
}
