// Random kernels and their time by lw_run: small ones of five families, and larger ones of many
// kinds. A seed gives the same kernels on every machine.
#ifndef LW_BENCH_KERNELS_H
#define LW_BENCH_KERNELS_H

#include "loopwright.h"

enum { KERNEL_FAMILIES = 6, KERNEL_SMALL = 5 }; // the last: large ones
extern const char *const kernel_family[KERNEL_FAMILIES];

typedef struct RandomKernel {
    int family;
    char text[512], sizes[64]; // TC, and "M=4,N=7"
} RandomKernel;

RandomKernel small_kernel(uint64_t seed, int number); // the families take turns
RandomKernel large_kernel(uint64_t seed, int number);

const lw_bound *kernel_bind(lw_context *ctx, const RandomKernel *k); // NULL: see lw_diag_text
// Seconds of one call on one thread, the median over `seconds`; 0: it does not run. NULL schedule:
// the chosen one; NULL isa: the widest.
double kernel_seconds(lw_context *ctx, const lw_bound *bound, const char *schedule, const char *isa,
                      double seconds);

#endif
