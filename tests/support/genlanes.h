// Random Programs of what lanes find hard: guards that differ from lane to lane, tables found by an
// index along the lanes, or by quotients, remainders, minima and maxima, many short rows each
// reduced to one element, in every type; words of narrow integers whose products are summed up;
// triangles and bands.
// genprog makes all of this too, but rarely.
#ifndef SUPPORT_GENLANES_H
#define SUPPORT_GENLANES_H

#include "support/proglab.h"

// Program text; on lab_data every result and every partial result is exact.
const char *genlanes_text(Arena *arena, uint64_t seed);

#endif
