// Random Programs, for fuzzing and for comparing back-ends.
//
// A Program is generated as program text, so a failing seed can be printed, reduced by hand and
// kept as a test. It is bound and well-formed, has 1 to 6 statements and at most about 20,000
// iterations: pointwise chains, reductions with every operator, contractions, windows (i + k,
// 2*i + k, n - i), gathers, scatters, padding by constraints and by guards, in-place updates,
// flattening and splitting by / and %, several types, sizes 0, 1, prime and odd, temporaries,
// in-outs and shifted origins.
//
// On lab_data (small integers) every result and every partial result is exact in any order of a
// reduction: intermediate magnitudes are tracked and clamped. So results must agree bit by bit.
#ifndef SUPPORT_GENPROG_H
#define SUPPORT_GENPROG_H

#include "support/proglab.h"

// The text of one attempt; program_bind may refuse it.
const char *genprog_text(Arena *arena, uint64_t seed);
// A bound Program, determined by the seed. lab_text() prints its text.
Program *genprog(Lab *lab, uint64_t seed);
// The same with more temporaries that read each other, in-outs that are overwritten while others
// still read them, narrow types, and inputs much larger than the part that is read.
Program *genprog_chains(Lab *lab, uint64_t seed);

#endif
