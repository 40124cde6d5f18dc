#include "machine/gpu_machine.h"

// Rates that do not depend on the size of a GPU: the best of those measured on an H200, and stated
// peaks. No GPU of the table below has lower latencies.
#define SAME_RATES                                                                                 \
    .registers = 65536, .reserved = 1024, .simple = 128, .function = 16, .issue = 4,               \
    .shared_bytes = 128, .l2_read = 64, .l2 = 9e12, .launch = 0.4e-6, .arithmetic = 4,             \
    .shared_latency = 23, .l2_latency = 200

const GpuMachine gpu_machine_h200 = {
    .processors = 132,
    .ghz = 1.98,
    .threads = 2048,
    .blocks = 32,
    .shared = 228 << 10,
    .cluster = 8,
    .l2_bytes = 60ll << 20,
    .fma_f32 = 128,
    .fma_f64 = 64,
    .read = 4.8e12,
    .write = 4.8e12,
    SAME_RATES,
};

// Limits of an architecture, and the size and rates that the vendor states for one GPU of it.
#define ROW(sms, clock, thread, block, kib, group, l2_mib, f32, f64, memory)                       \
    {                                                                                              \
        .processors = sms, .ghz = clock, .threads = thread, .blocks = block,                       \
        .shared = (kib) << 10, .cluster = group, .l2_bytes = (int64_t)(l2_mib) << 20,              \
        .fma_f32 = f32, .fma_f64 = f64, .read = memory, .write = memory, SAME_RATES                \
    }

static const GpuMachine a100 = ROW(108, 1.41, 2048, 32, 164, 1, 40, 64, 32, 2.04e12);
static const GpuMachine a10 = ROW(72, 1.70, 1536, 16, 100, 1, 6, 128, 2, 0.60e12);
static const GpuMachine l40 = ROW(142, 2.49, 1536, 24, 100, 1, 96, 128, 2, 0.87e12);
static const GpuMachine b200 = ROW(148, 1.97, 2048, 32, 228, 8, 126, 128, 64, 8.0e12);
static const GpuMachine rtx_5090 = ROW(170, 2.41, 1536, 24, 100, 8, 96, 128, 2, 1.80e12);

const GpuMachine *gpu_machine_of(int capability) {
    static const struct {
        int from;
        const GpuMachine *m;
    } rows[] = {{120, &rtx_5090}, {100, &b200}, {90, &gpu_machine_h200}, {89, &l40}, {86, &a10}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (capability >= rows[i].from) return rows[i].m;
    return &a100;
}
