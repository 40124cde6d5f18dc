// Did you mean ...? The name that a misspelled word most likely stands for.
#ifndef LW_BASE_NEAREST_H
#define LW_BASE_NEAREST_H

#include <stddef.h>

#include "base/diag.h"

typedef const char *Candidate(const void *of, size_t i); // NULL past the end

// The candidate with the fewest edits from `word`: letters added, dropped, changed (but not in
// case) or swapped with their neighbour. NULL when none is near enough to be meant: about one edit
// for three letters.
const char *nearest(const char *word, Candidate *candidate, const void *of);
// Adds a note with the nearest candidate, or else with all that there are: short names are never
// near each other.
void diag_suggest(DiagList *diags, Diag *d, const char *word, Candidate *candidate, const void *of);

#endif
