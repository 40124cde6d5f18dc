// Random Programs with statements that run step by step: recurrences over one or two serial
// iterators, mutually recursive statements, reductions and scatters inside a step, updates in place
// from step to step, temporaries that live for one step or for all of them, nested blocks.
//
// Integers wrap and floats stay small, so every result is exact in any order within a step.
#ifndef SUPPORT_GENSTEPS_H
#define SUPPORT_GENSTEPS_H

#include "support/proglab.h"

const char *gensteps_text(Arena *arena, uint64_t seed);

#endif
