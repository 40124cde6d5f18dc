// Measures the peak rates of a device with kernels of this file: multiply-adds in registers, loads
// from shared memory, from L2 and from device memory, copies, and empty launches.
#ifndef LW_RUN_DEVICE_RATES_H
#define LW_RUN_DEVICE_RATES_H

#include "run/device.h"

typedef struct DeviceRates {
    double fma_f32, fma_f64; // GFLOP/s; a multiply-add counts as two
    double shared;           // GB/s of all processors together
    double l2;               // GB/s, reading data that fits the cache
    double read, write;      // GB/s of device memory
    double copy;             // GB/s, both directions counted
    double launch_us;        // of an empty kernel in a graph
} DeviceRates;

// Takes the best of a few tries for each rate, about a second in all. For tests, a `scale` above 1
// divides the work.
DeviceStatus device_measure(Device *d, int scale, DeviceRates *out, DeviceError *e);

#endif
