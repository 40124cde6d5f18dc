#include "machine/gpu_machine.h"

// The best of what was measured, and where hardware states a peak, that peak.
const GpuMachine gpu_machine_h200 = {
    .processors = 132,
    .ghz = 1.98,
    .threads = 2048,
    .blocks = 32,
    .registers = 65536,
    .shared = 233472,
    .reserved = 1024,
    .l2_bytes = 60ll << 20,
    .fma_f32 = 128,
    .fma_f64 = 64,
    .simple = 128,
    .function = 16,
    .issue = 4,
    .shared_bytes = 128,
    .l2_read = 64,
    .l2 = 9e12,
    .read = 4.8e12,
    .write = 4.8e12,
    .launch = 0.4e-6,
    .arithmetic = 4,
    .shared_latency = 23,
    .l2_latency = 200,
};
