// Bank conflicts as the lower bound of GPUs counts them.
#include "unit/check.h"
#include "emulate/warp.h"
#include "space/gpu_banks.h"

#include <stdio.h>

// The cycles of banks in the bound are those that the emulator counts.
TEST(bank_cycles_are_those_of_the_emulator) {
    for (uint64_t seed = 1; seed <= (uint64_t)check_rounds(2000); seed++) {
        uint64_t state = seed;
        int bytes = 1 << check_random(&state) % 5, lanes = 1 + (int)(check_random(&state) % 32);
        uint64_t range = 1 + check_random(&state) % 200, step = check_random(&state) % 40;
        int64_t address[32];
        uint32_t same[32];
        int ideal;
        if (seed % 2) lanes = 32;
        for (int l = 0; l < lanes; l++) {
            uint64_t at =
                seed % 3 ? (uint64_t)l / (1 + seed % 4) * step : check_random(&state) % range;
            address[l] = (int64_t)(at * (uint64_t)bytes);
            same[l] = (uint32_t)address[l];
        }
        uint32_t mask = lanes == 32 ? UINT32_MAX : (1u << lanes) - 1;
        if (!CHECK_INT_EQ(gpu_bank_cycles(address, lanes, bytes),
                          emu_wavefronts(same, mask, bytes, true, &ideal)))
            printf("seed %llu\n", (unsigned long long)seed);
    }
}
