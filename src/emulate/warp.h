// Running: warps, blocks, their memory, and the checks of each access.
#ifndef LW_EMULATE_WARP_H
#define LW_EMULATE_WARP_H

#include <setjmp.h>
#include <stdarg.h>

#include "emulate/impl.h"

// The last access to some bytes: block, thread, and the clock of its warp. 0: none.
typedef uint64_t Access;

// The accesses to 4 bytes, or to 1 byte if a smaller access has occurred.
typedef struct Cell {
    Access writer, reader, reader2; // two readers, of different warps if possible
    int writer_line, reader_line;
    uint32_t touched; // in this launch: TOUCH_ bits
} Cell;

enum { TOUCH_LOADED = 1, TOUCH_STORED = 2, TOUCH_READ_ONLY = 4 }; // the last: by ld.global.nc

enum { PAGE_CELLS = 1024 };
typedef struct Shadow {
    Cell **page;
    size_t npages;
    int shift; // 2: cells of 4 bytes; 0: of one
} Shadow;

// A cp.async that was issued and whose thread has not yet waited for it.
typedef struct Copy {
    uint64_t source;
    uint32_t target;
    uint8_t bytes, source_bytes;
    uint8_t lane;
    int line;
    uint8_t data[16], defined[16]; // of the source when it was issued
    int group;                     // number of the commit that ended it; -1: not committed
} Copy;

typedef struct EmuGroup { // threads of a warp with equal program counters
    uint32_t mask;
    int pc;
} EmuGroup;

// A range of checked memory: its data, its defined bytes, and the accesses to it.
typedef struct EmuPlace {
    uint8_t *data, *state;
    Shadow *shadow;
    EmuBuffer *buffer; // NULL: not in global memory
    size_t offset, size;
} EmuPlace;

struct Warp {
    EmuMachine *m;
    struct EmuBlock *b;
    int index; // in the block
    uint8_t *rows;
    uint32_t *defined, *pred; // per register id
    EmuGroup groups[LANES];
    int ngroups, current;
    uint32_t live, born; // threads that have not returned; all threads of the warp
    int waits;           // the barrier that it waits for; -1: it runs; BARRIERS: the cluster's
    bool arrived;        // at the barrier of the cluster, for which it has not waited yet
    int phase;           // of that barrier, when it arrived
    uint32_t clock;
    // Clocks of the other warps' accesses that happened before: of the warps of this cluster, block
    // by block.
    uint32_t *seen;
    int hole_line; // line of the last load of undefined bytes, which `hole` locates; 0: none
    EmuPlace hole;
    VEC(Copy) copies;
    int groups_committed[LANES];
    uint8_t *local;
};

typedef struct Barrier {
    uint32_t arrived, waiting; // warps
    uint32_t clock[LANES];     // maximum over the warps that have arrived
    int threads;               // that have arrived
    int expected;              // 0: no thread has arrived yet
    int line;
} Barrier;

// A block that runs: the blocks of a cluster do so together.
typedef struct EmuBlock {
    uint32_t at[3];  // in the grid
    uint32_t number; // counted from 1
    int rank;        // in the cluster
    Warp *warps;
    Barrier barriers[BARRIERS];
    uint8_t *shared;
    uint8_t *shared_state; // per byte: STATE_UNDEFINED ...
    Shadow shared_shadow;
    bool ends;        // one of its threads has returned
    uint32_t *remote; // per warp of the cluster: the clock of its last access to this shared memory
    int *remote_line;
} EmuBlock;

struct EmuMachine {
    Arena *arena;
    const EmuModule *module;
    const Entry *entry;
    const EmuLaunch *launch;
    EmuMemory *memory;
    EmuCounts *counts;
    EmuError *error;
    jmp_buf failed;
    uint8_t *params;
    int threads, nwarps; // of a block
    uint32_t shared_bytes;
    // The blocks of the current cluster; a grid without clusters has one block in each.
    int nblocks;
    EmuBlock *blocks;
    int arrived, phase;       // warps at the barrier of the cluster; the number of its completions
    uint32_t *clock, *passed; // maximum over these warps; the same when the barrier last completed
    int arrive_line;
    Shadow *global_shadow; // by slot
    const Ins *current;
    int64_t steps;
};

enum { STATE_UNDEFINED, STATE_DEFINED, STATE_IN_FLIGHT };

static inline void *row_of(const Warp *w, const EmuOperand *o) {
    return (o->constant ? w->m->entry->constants : w->rows) + o->row;
}
static inline uint32_t lane_u32(const Warp *w, const EmuOperand *o, int lane) {
    return ((const uint32_t *)row_of(w, o))[lane];
}
// The bits of a lane, for any width of its register.
static inline uint64_t lane_bits(const Warp *w, const EmuOperand *o, int lane) {
    return o->bits == 64 ? ((const uint64_t *)row_of(w, o))[lane] : lane_u32(w, o, lane);
}
static inline void set_lane(const Warp *w, const EmuOperand *o, int lane, uint64_t bits) {
    if (o->bits == 64)
        ((uint64_t *)row_of(w, o))[lane] = bits;
    else
        ((uint32_t *)row_of(w, o))[lane] = (uint32_t)bits;
}
static inline uint32_t pred_mask(const Warp *w, const EmuOperand *o) {
    return o->negated ? ~w->pred[o->id] : w->pred[o->id];
}
static inline void define(Warp *w, const EmuOperand *o, uint32_t mask, uint32_t defined) {
    w->defined[o->id] = (w->defined[o->id] & ~mask) | (mask & defined);
}

// Ends the launch with an error; `format` describes what the thread did wrong.
__attribute__((format(printf, 3, 4))) _Noreturn void emu_fault(Warp *w, int lane,
                                                               const char *format, ...);
// The same for an undefined register `o`, used as `what`, with the load that its value may come
// from.
_Noreturn void emu_fault_undefined(Warp *w, int lane, const char *what, const EmuOperand *o);
_Noreturn void emu_fault_block(EmuMachine *m, const EmuBlock *b, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Checks bounds and alignment, and returns the accessed range.
EmuPlace emu_locate(Warp *w, int lane, EmuSpace space, uint64_t address, int bytes, bool aligned);

// Race detection, shadow.c: reports a race of this access with earlier ones, and records it.
void emu_shadow_reset(EmuMachine *m, Shadow *s, size_t bytes);
void emu_access(Warp *w, int lane, const EmuPlace *at, int bytes, AccessKind kind, bool same_value);
void emu_describe(const EmuMachine *m, const EmuPlace *at, char *into, size_t size);

// Clusters, cluster.c. The number of a warp in its cluster; a thread accesses the shared memory of
// another block, or returns.
static inline int emu_number(const Warp *w) { return w->b->rank * w->m->nwarps + w->index; }
EmuBlock *emu_remote(Warp *w, int lane, uint64_t address);
void emu_leave(Warp *w);

// Counting, emulate_count.c.
int emu_wavefronts(const uint32_t *address, uint32_t mask, int bytes, bool load, int *ideal);
int emu_sectors(const uint64_t *address, uint32_t mask, int bytes);

uint16_t emu_round_f16(double value); // to nearest even
uint16_t emu_round_bf16(double value);
double emu_widen_f16(uint16_t bits);
double emu_widen_bf16(uint16_t bits);

#endif
