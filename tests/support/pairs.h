// Random (program, schedule) pairs, one per seed, for comparing back-ends with the reference.
#ifndef SUPPORT_PAIRS_H
#define SUPPORT_PAIRS_H

#include "support/proglab.h"
#include "support/gensched.h"
#include "tree/tree.h"

// A bound Program; NULL with the errors in lab->diags.
typedef const Program *PairProgram(Lab *lab, uint64_t seed);

PairProgram pair_shape;       // a known shape (shapes.h) of small sizes
PairProgram pair_large_shape; // with sizes at which nested splits have blocks of several vectors
PairProgram pair_lanes;       // genlanes.h
PairProgram pair_random;      // genprog.h
PairProgram pair_steps;       // gensteps.h
// Several statements and calls over mixed types (gencomposed.h), with the same results in every
// order of evaluation.
PairProgram pair_composed;

// The Tree of a pair. In every fourth one the guards become loop limits. NULL: it is refused.
Tree *pair_lower(Lab *lab, const Program *p, const Schedule *s, uint64_t seed);
// A Schedule that lowering accepts, and the Tree; its features are in `g`.
const Schedule *pair_schedule(Lab *lab, const Program *p, uint64_t seed, GenSched *g, Tree **tree);
// The same, with copies and temporaries in shared memory, asynchronous, staged and swizzled, and
// with cache operators of loads.
const Schedule *pair_gpu_schedule(Lab *lab, const Program *p, uint64_t seed, GenSched *g,
                                  Tree **tree);

#endif
