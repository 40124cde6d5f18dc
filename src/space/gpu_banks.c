#include "space/gpu_banks.h"

#include "base/checked.h"

enum { LANES = 32, BANKS = 32, WORD = 4 };

// The largest number of different words in a bank, of the lanes first ... end - 1.
static int part_cycles(const int64_t *address, int first, int end, int bytes) {
    int64_t seen[BANKS][LANES];
    int count[BANKS] = {0}, most = 0;
    for (int l = first; l < end; l++)
        for (int b = 0; b < bytes; b += WORD) {
            int64_t word = floor_div(address[l] + b, WORD);
            int bank = (int)floor_mod(word, BANKS), k = 0;
            while (k < count[bank] && seen[bank][k] != word) k++;
            if (k < count[bank]) continue;
            seen[bank][count[bank]++] = word;
            if (count[bank] > most) most = count[bank];
        }
    return most;
}

// Do the lanes l and l ^ bit of the half-warp load the same, if they are there?
static bool pairs_equal(const int64_t *address, int first, int lanes, int bit) {
    for (int l = first; l < first + LANES / 2; l++) {
        int other = l ^ bit;
        if ((l < lanes) != (other < lanes)) return false;
        if (l < lanes && address[l] != address[other]) return false;
    }
    return true;
}

int gpu_bank_cycles(const int64_t *address, int lanes, int bytes) {
    int sum = 0;
    for (int first = 0; first < lanes;) {
        int part = bytes <= WORD ? LANES : bytes == 2 * WORD ? LANES / 2 : LANES / 4;
        if (bytes == 4 * WORD && first % (LANES / 2) == 0 &&
            (pairs_equal(address, first, lanes, 1) || pairs_equal(address, first, lanes, 2)))
            part = LANES / 2;
        int end = first + part < lanes ? first + part : lanes;
        sum += part_cycles(address, first, end, bytes);
        first += part;
    }
    return sum;
}
