// The parts of the pass `schedule` (private to src/passes): the plan of one block, in
// pass_schedule.c, and the tensors that stay in the unit between statements, in pass_keep.c.
#ifndef LW_PASSES_SCHEDULE_IMPL_H
#define LW_PASSES_SCHEDULE_IMPL_H

#include "passes/pass_impl.h"

enum { MAX_INDICES = 12, MAX_LOOPS = 5, MAX_VIEWS = 8, MAX_SIZES = 32, SMALL = 16 };

// The memory unit while a block runs.
typedef struct UnitState {
    const bool *here; // per buffer: it lies there, whatever its place says; NULL: none
    int nhere;
    VEC(ByteSpan) busy; // bytes that other buffers occupy
    int64_t loose;      // bytes of buffers that have no offset yet
} UnitState;
// The state that the places of the Tree give: buffers of blocks around a loop.
UnitState unit_state(const PassRun *r, const Tree *t, int loop);
// The bytes that buffers of blocks around leave to each unit that runs the block.
int64_t free_in_unit(const PassRun *r, const Tree *t, int loop);
// The buffers inside a block. Those without an offset count once for each of `units`: the block is
// not divided among units yet. `place` is that of the block around.
UnitState unit_inside(const PassRun *r, const Tree *t, const Node *node, BlockPlace place,
                      int64_t units);
// All buffers in use while a statement of the root runs.
UnitState unit_during(const PassRun *r, const Tree *t, int child);

// A candidate: tile sizes, and the loops over tiles, outermost first.
typedef struct TilePlan {
    double cost, move, compute;
    double ends, stores; // cycles of the first loads and the last store; of the other stores
    int64_t bytes;       // bytes used in the unit
    int64_t size[MAX_INDICES];
    int nloops, loop[MAX_LOOPS]; // indices of the block
    // Per view: the loop that loads it; -1: it is loaded before all loops.
    int level[MAX_VIEWS];
    // Results have one copy, which is stored before the next tile begins.
    bool single;
} TilePlan;

typedef struct TilePlanner {
    PassRun *r;
    const Tree *t;
    const Block *b;
    const TileViews *v;
    const MemoryUnit *unit;
    const Transfer *engine;
    const UnitState *state;
    BlockPlace place;
    int64_t sharers;      // units that run the block and share a copy of the unit
    UnitState lying;      // `state`, and the buffers inside the block
    int64_t stages, room; // `room`: for each of the sharers
    double operands;      // bytes per cycle; 0: no limit
    double slower;        // units that share the engine
    bool output[MAX_INDICES];
    bool uses[MAX_VIEWS][MAX_INDICES];
    int64_t bytes[MAX_VIEWS];  // sizes of the views of the current tile
    int64_t offset[MAX_VIEWS]; // of the copies of each view, once there is a plan
    TilePlan now, best;
    bool found;
    int tried;
} TilePlanner;
// The plan of a block; *why is not NULL if there is none.
TilePlanner *plan_block(PassRun *r, const Tree *t, int loop, const UnitState *state,
                        const char **why);

// The bytes of a buffer in the unit of the pass, aligned.
int64_t bytes_in_unit(const PassRun *r, const Buffer *b);
Tags with_number(PassRun *r, const Tree *t, Tags tags, const char *name, int64_t number);

// Decides which tensors stay in the unit between statements, and copies them there.
const Tree *keep_tensors(PassRun *r, const Tree *t, LoopList list);

#endif
