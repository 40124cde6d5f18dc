// Did you mean ...? Finds the name that a misspelled word most likely means.
#ifndef LW_BASE_NEAREST_H
#define LW_BASE_NEAREST_H

#include <stddef.h>

#include "base/diag.h"

typedef const char *Candidate(const void *of, size_t i); // NULL past the end

// The candidate with the fewest edits from `word`: letters added, dropped, changed (ignoring case)
// or swapped with their neighbour. NULL if none is near enough: about one edit per three letters.
const char *nearest(const char *word, Candidate *candidate, const void *of);
// Adds a note with the nearest candidate, or with all candidates if none is near: short names are
// never near each other.
void diag_suggest(DiagList *diags, Diag *d, const char *word, Candidate *candidate, const void *of);

#endif
