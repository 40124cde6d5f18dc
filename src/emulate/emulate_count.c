// Counts the cost of a warp's memory accesses: wavefronts of shared memory, sectors of global
// memory.
#include "emulate/warp.h"

// The cycles for at most 32 words in 32 banks: the largest number of different words in one bank.
static int bank_cycles(const uint32_t *word, int n) {
    uint32_t kept[LANES][LANES];
    int count[LANES] = {0}, most = 0;
    for (int i = 0; i < n; i++) {
        uint32_t bank = word[i] % LANES;
        int k = 0;
        while (k < count[bank] && kept[bank][k] != word[i]) k++;
        if (k < count[bank]) continue;
        kept[bank][count[bank]++] = word[i];
        if (count[bank] > most) most = count[bank];
    }
    return most;
}

// Do lanes l and l ^ bit access the same address, for all lanes of the half-warp from `first` on?
static bool pairs_equal(const uint32_t *address, uint32_t mask, int first, int bit) {
    for (int l = first; l < first + 16; l++) {
        int other = l ^ bit;
        if ((mask >> l & 1) != (mask >> other & 1)) return false;
        if (mask >> l & 1 && address[l] != address[other]) return false;
    }
    return true;
}

// A warp's access is served in parts: all lanes at once for up to 4 bytes, half-warps for 8,
// quarter-warps for 16. Loads of 16 bytes serve a half-warp at once if lanes l and l^1, or l and
// l^2, read the same address throughout it. *ideal is the number of parts.
int emu_wavefronts(const uint32_t *address, uint32_t mask, int bytes, bool load, int *ideal) {
    int total = 0;
    *ideal = 0;
    for (int first = 0; first < LANES;) {
        int lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
        if (bytes == 16 && load && first % 16 == 0 &&
            (pairs_equal(address, mask, first, 1) || pairs_equal(address, mask, first, 2)))
            lanes = 16;
        uint32_t word[LANES * 4];
        int n = 0;
        for (int l = first; l < first + lanes; l++)
            for (int b = 0; mask >> l & 1 && b < (bytes + 3) / 4; b++)
                word[n++] = address[l] / 4 + (uint32_t)b;
        int cycles = bank_cycles(word, n);
        total += cycles;
        *ideal += cycles > 0;
        first += lanes;
    }
    return total;
}

int emu_sectors(const uint64_t *address, uint32_t mask, int bytes) {
    uint64_t kept[LANES * 2];
    int n = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(mask >> l & 1)) continue;
        uint64_t last = (address[l] + (uint64_t)bytes - 1) / 32;
        for (uint64_t s = address[l] / 32; s <= last; s++) {
            bool seen = false;
            for (int k = n - 1; k >= 0 && !seen; k--) seen = kept[k] == s;
            if (!seen) kept[n++] = s;
        }
    }
    return n;
}
