// Random Programs that are hard to vectorise: guards that differ from lane to lane, tables read by
// an index along the lanes, or by quotients, remainders, minima and maxima, many short rows each
// reduced to one element, in every type; dot products of narrow integers; triangles and bands.
// genprog generates all of these too, but rarely.
#ifndef SUPPORT_GENLANES_H
#define SUPPORT_GENLANES_H

#include "support/proglab.h"

// Program text; on lab_data every result and every partial result is exact.
const char *genlanes_text(Arena *arena, uint64_t seed);

#endif
