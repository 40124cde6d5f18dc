// Random Schedules for a bound Program, with a record of the features that they use.
#ifndef SUPPORT_GENSCHED_H
#define SUPPORT_GENSCHED_H

#include "sched/schedule.h"

typedef enum SchedFeature {
    FEATURE_SPLIT,
    FEATURE_INTERLEAVED,
    FEATURE_OVERSIZE, // a step larger than the remaining range
    FEATURE_RAGGED,   // a step that does not divide
    FEATURE_MISSING,  // a level that the order omits
    FEATURE_PARALLEL,
    FEATURE_UNROLL,
    FEATURE_VECTOR,
    FEATURE_ANY,
    FEATURE_AXIS, // of a GPU
    FEATURE_STAGED,
    FEATURE_AT,
    FEATURE_INLINE,
    FEATURE_AFTER,
    FEATURE_PRIVATISE,
    FEATURE_COPY,
    FEATURE_COPY_AT,
    FEATURE_LAYOUT,
    FEATURE_PLACE,
    FEATURE_PREFETCH,
    FEATURE_PRIORITY,
    FEATURE_FLATTEN,
    FEATURE_SKEW,
    FEATURE_DEEP, // three to five levels of one iterator, most of which do not divide
    FEATURE_COUNT
} SchedFeature;
extern const char *const sched_feature_name[FEATURE_COUNT];

typedef struct GenSched {
    uint64_t state;           // of the random numbers
    bool gpu;                 // also storage in the memory of a block, and caches
    bool plain;               // orders, marks and staging only: always accepted
    bool used[FEATURE_COUNT]; // by the last Schedule
} GenSched;

const Schedule *gen_schedule(GenSched *g, Arena *arena, const Program *p);
// Adds the options of a Schedule; the generator's `used` does not include those that lowering may
// refuse.
void sched_features(const Schedule *s, bool *used);

// The Schedule without its part number `n` (a section, a loop, a mark, an option); NULL if there
// are fewer parts. For shrinking.
const Schedule *schedule_without(const Schedule *s, int n);

#endif
