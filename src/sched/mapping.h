// TC's mapping options, and the Schedules that its scheduler (poly/poly.h) makes by them.
//
//     mapping naive.tile(32,32,32).scheduleFusionStrategy(Max)
//
// as a whole Schedule text is that Schedule: schedule_read accepts both. Options and presets are
// those of Tensor Comprehensions; docs/proofs.md lists them.
#ifndef LW_SCHED_MAPPING_H
#define LW_SCHED_MAPPING_H

#include "poly/poly.h"
#include "sched/schedule.h"

enum {
    MAPPING_MAX_TILES = 8,
    MAPPING_MAX_UNROLL = 4096,
    MAPPING_MAX_THREADS = 1024, // of a block
    MAPPING_AXES = 3,
};

typedef struct Mapping Mapping;
struct Mapping {
    int ntiles;
    int64_t tile[MAPPING_MAX_TILES]; // by depth; 0: not tiled
    int64_t unroll;                  // most iterations in unrolled code; 0: not given
    PolyOptions outer;
    PolyFusion inner; // of point loops: with POLY_MAX they stay fused, else they sink
    bool outermost;   // tile the outermost band only
    bool promote;     // copy inputs into L1
    bool shared;      // copy inputs that are used again, or apart, into shared memory
    bool marks;       // mark parallel and vector loops, or those of blocks and threads if given:
    int nblocks, nthreads;
    int64_t block[MAPPING_AXES], thread[MAPPING_AXES]; // at most, along x, y and z
    const Mapping *preset;                             // with its blocks and threads; NULL: none
};

// False: an option is wrong (reported).
bool mapping_parse(const char *text, Mapping *out, DiagList *diags);

// The schedule tree of the options after each step of Figure 3 of the TC paper.
typedef struct MappingSteps {
    const PolyScop *scop;
    const PolyNode *canonical, *fused, *tiled, *sunk;
} MappingSteps;
// False: there is no isl (reported).
bool mapping_steps(Arena *arena, const Program *p, const Mapping *m, MappingSteps *out,
                   DiagList *diags);

// NULL: there is no isl, or statements share skewed loops, which no Schedule expresses (both
// reported). A statement that has its steps for itself may be skewed.
const Schedule *mapping_schedule(Arena *arena, const Program *p, const Mapping *m, DiagList *diags);

// A Schedule text, or "mapping OPTIONS".
bool schedule_is_mapping(const char *text);
const Schedule *schedule_read(Arena *arena, const Program *p, const Source *source,
                              DiagList *diags);

#endif
