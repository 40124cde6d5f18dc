// A GPU as numbers: what a lower bound of times on it is made of.
#ifndef LW_MACHINE_GPU_MACHINE_H
#define LW_MACHINE_GPU_MACHINE_H

#include <stdint.h>

// Numbers that are the same for all GPUs.
enum {
    GPU_WARP = 32,           // threads
    GPU_MAX_THREADS = 1024,  // of a block
    GPU_MAX_GRID_YZ = 65535, // blocks along y and z
    GPU_MAX_CLUSTER = 8,     // blocks
    GPU_WORD = 4,            // bytes of a register and of a bank of shared memory
    GPU_VECTOR = 4,          // words that one instruction loads or stores
};

typedef struct GpuMachine {
    int processors; // SMs
    double ghz;     // at most
    int threads;    // per SM, at most
    int blocks;     // per SM, at most
    int registers;  // per SM
    int shared;     // bytes per SM
    int reserved;   // bytes of shared memory that every block takes beside its own
    int cluster;    // blocks of a cluster, at most; 1: there are none
    int64_t l2_bytes;
    // Per SM and cycle.
    double fma_f32, fma_f64; // multiply-adds
    double simple;           // other arithmetic of threads
    double function;         // divisions and roots
    double issue;            // instructions of warps
    double shared_bytes;     // of shared memory
    double l2_read;          // bytes from L2
    // Of the device.
    double l2;          // bytes per second from L2
    double read, write; // bytes per second of its memory
    double launch;      // seconds of an empty kernel in a graph
    // Cycles.
    double arithmetic, shared_latency, l2_latency;
} GpuMachine;

// An H200, whose numbers were measured (docs/gpu.md): the emulator's machine.
extern const GpuMachine gpu_machine_h200;

// The GPU for which code of a compute capability is written if no device is named: a common one of
// that architecture, or of the newest architecture before it.
const GpuMachine *gpu_machine_of(int capability);

// Bytes of shared memory that one block can have, and those available to its buffers: a reduction
// over threads takes 8 bytes per thread.
static inline int gpu_block_shared(const GpuMachine *m) { return m->shared - m->reserved; }
static inline int gpu_buffer_shared(const GpuMachine *m) {
    enum { FOR_SUMS = 8 * 1024 };
    return gpu_block_shared(m) - FOR_SUMS;
}

#endif
