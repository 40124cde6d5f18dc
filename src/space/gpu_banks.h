// Bank conflicts of shared memory: 32 banks of four bytes, which serve one word each per cycle.
#ifndef LW_SPACE_GPU_BANKS_H
#define LW_SPACE_GPU_BANKS_H

#include <stdint.h>

// Cycles in which up to 32 lanes load `bytes` (at most 16) each, at addresses that are multiples of
// that. Lanes that load the same word take one cycle together. Lanes are served in halves of the
// warp for 8 bytes and in quarters for 16; a half at a time if all lanes l and l^1 of it, or l and
// l^2, load the same 16 bytes.
int gpu_bank_cycles(const int64_t *address, int lanes, int bytes);

#endif
