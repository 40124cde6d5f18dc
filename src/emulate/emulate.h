// An emulator of NVIDIA's PTX on the host. It parses the text of kernels and executes them, with
// more checks than a GPU has.
//
//     EmuModule *m = emu_parse(arena, text, len, &error);
//     emu_launch(scratch, m, &launch, &memory, &counts, &error);
//
// It supports the instructions of scalar kernels: integer and float arithmetic with defined results
// (no .approx, no .ftz), conversions, predicates and branches, loads and stores of global, shared,
// local and parameter memory, atomics, cp.async with groups, barriers of blocks and warps, shuffles
// and votes. ptx_ops.def lists the arithmetic. A text that uses anything else is refused; the error
// has the line.
//
// A launch is an error, located by PTX line, block and thread, if
//   - an access lies outside its buffer, or is not aligned to its width;
//   - an undefined value reaches an address, a predicate, a parameter of an instruction or global
//     memory. Memory and registers are undefined at the start, and arithmetic propagates undefined
//     values;
//   - two threads access the same bytes, at least one of them writes, and no barrier orders them.
//     Vector clocks of warps define this order, so the verdict does not depend on the order in
//     which the emulator runs threads. Stores of equal bytes and pairs of atomics are not races;
//   - the destination of a cp.async is accessed before its thread has waited, or its source
//     changes. The copy counts as a write at both ends of the time in which hardware may perform
//     it;
//   - only some threads of a warp execute a barrier or a shuffle, threads return before a barrier,
//     a barrier never completes, or a kernel does not end.
//
// Threads of a warp run in lockstep. The group of threads with the lowest program counter runs
// first, so that threads reconverge. Blocks run one after the other.
#ifndef LW_EMULATE_EMULATE_H
#define LW_EMULATE_EMULATE_H

#include "base/arena.h"

typedef struct EmuModule EmuModule;

typedef struct EmuError {
    int line;        // in the PTX text; 0: none
    char text[1024]; // "" if there is no error
} EmuError;

// Returns NULL with the reason in *e. The module lives in the arena; running out of memory unwinds.
EmuModule *emu_parse(Arena *arena, const char *text, size_t len, EmuError *e);

// A kernel of the text.
typedef struct EmuEntry {
    const char *name;
    int registers; // number of declared registers
    // Most 32-bit registers live at a time, an estimate of what an assembler allocates.
    int live;
    int static_bytes; // of shared memory
    int local_bytes;  // per thread
    int instructions;
    int nparams;
    int max_threads;    // of .maxntid or .reqntid; 0: not given
    bool exact_threads; // it is .reqntid
    int cluster;        // .reqnctapercluster along x; 0: not given
    int min_blocks;     // .minnctapersm: blocks that a multiprocessor must hold; 0: not given
} EmuEntry;
int emu_entry_count(const EmuModule *m);
const EmuEntry *emu_entry(const EmuModule *m, int i);
int emu_find(const EmuModule *m, const char *name); // -1: none
int emu_param_bytes(const EmuModule *m, int entry, int i);

// --- Memory --------------------------------------------------------------------------------------

// The accesses of one launch to a buffer: all bytes that threads accessed, distinct bytes, and
// sectors of 32 bytes per warp instruction.
typedef struct EmuTraffic {
    int64_t loaded, load_touched, stored, store_touched, load_sectors, store_sectors;
} EmuTraffic;

typedef struct EmuBuffer {
    uint64_t address; // 0: free slot
    size_t bytes;
    uint8_t *data;
    uint8_t *defined; // per byte: 1 if it is defined, else 0
    const char *name; // in messages; NULL: its number
    EmuTraffic traffic;
} EmuBuffer;

// Each buffer has its own slot and begins EMU_MARGIN after its start. An address therefore
// identifies its buffer even if it lies outside of it. Slot i begins at (i + 1) << EMU_SLOT_SHIFT.
enum { EMU_SLOT_SHIFT = 40 };
#define EMU_MARGIN (1ull << 39)

typedef struct EmuMemory {
    EmuBuffer *at; // by slot
    int n;
} EmuMemory;

static inline uint64_t emu_address(int slot) {
    return ((uint64_t)(slot + 1) << EMU_SLOT_SHIFT) + EMU_MARGIN;
}

// --- Launches ------------------------------------------------------------------------------------

typedef struct EmuLaunch {
    int entry;
    uint32_t grid[3], block[3];
    uint32_t shared;           // bytes of dynamic shared memory
    uint32_t shared_limit;     // limit for static and dynamic shared memory together
    const void *const *params; // the bytes of each parameter
    int64_t limit;             // limit for warp instructions; 0: 10^10
} EmuLaunch;

typedef struct EmuCounts {
    int64_t instructions;      // of warps
    int64_t lane_instructions; // of threads
    int64_t shared_wavefronts, shared_ideal;
    int64_t load_sectors, store_sectors; // of global memory
    int64_t load_bytes, store_bytes;     // of global memory, as requested by threads
    int64_t barriers;                    // of blocks, per warp
    int64_t fma;                         // fma.rn.f32 of threads
} EmuCounts;

// Returns false with the reason in *e; the content of the buffers is then unspecified. Adds to
// *counts, and sets the traffic of the buffers to that of this launch. The caller releases
// `scratch`.
bool emu_launch(Arena *scratch, const EmuModule *m, const EmuLaunch *launch, EmuMemory *memory,
                EmuCounts *counts, EmuError *e);

#endif
