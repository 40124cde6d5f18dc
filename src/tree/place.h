// Patterns of places, and the one test of a place against a pattern. Tests are the only
// callers.
#ifndef LW_TREE_PLACE_H
#define LW_TREE_PLACE_H

#include "tree/tree.h"

// "SRAM[bank]/PROC[i]" against patterns such as "SRAM[4]/*", "*[*]", "DRAM". A unit that is left
// out of a pattern allows any number of them; "" matches the empty place only.
typedef struct PlacePattern PlacePattern;
PlacePattern *place_pattern(Arena *arena, const char *text, const char **error); // NULL: malformed
bool place_matches(const PlacePattern *pattern, const Place *place);

#endif
