// An emulator of NVIDIA's PTX on the host: parses the text of kernels and executes them, checking
// more than any GPU does.
//
//     EmuModule *m = emu_parse(arena, text, len, &error);
//     emu_launch(scratch, m, &launch, &memory, &counts, &error);
//
// It knows the instructions of scalar kernels: integer and float arithmetic with defined results
// (no .approx, no .ftz), conversions, predicates and branches, loads and stores of global, shared,
// local and parameter memory, atomics, cp.async with groups, barriers of blocks and warps, shuffles
// and votes. ptx_ops.def lists the arithmetic, table by table. A text that uses anything else is
// refused with its line.
//
// A launch is an error, located by PTX line, block and thread, if
//   - an access lies outside its buffer, or is not aligned to its width;
//   - a value that nothing defined (memory and registers start undefined) reaches an address, a
//     predicate, a parameter of an instruction or global memory; arithmetic passes it on;
//   - two threads access the same bytes, at least one of them writes, and no barrier orders them:
//     happens-before by vector clocks of warps, so the verdict does not depend on the order in
//     which the emulator runs threads. Stores of equal bytes and pairs of atomics are no race;
//   - the destination of a cp.async is touched before its thread has waited, or its source changes.
//     The copy counts as a write at both ends of the time in which hardware may perform it;
//   - a barrier or a shuffle is executed by some threads of its warp only, threads left before a
//     barrier, a barrier never completes, or a kernel does not end.
//
// Threads of a warp run in lockstep: the group of threads with the lowest program counter goes
// first, so they reconverge. Blocks run one after the other.
#ifndef LW_EMULATE_EMULATE_H
#define LW_EMULATE_EMULATE_H

#include "base/arena.h"

typedef struct EmuModule EmuModule;

typedef struct EmuError {
    int line;        // of the PTX text; 0: none
    char text[1024]; // "" if there is no error
} EmuError;

// NULL: *e says why. The module lives in the arena; running out of memory unwinds.
EmuModule *emu_parse(Arena *arena, const char *text, size_t len, EmuError *e);

// An entry of the text.
typedef struct EmuEntry {
    const char *name;
    int registers;    // that it declares
    int live;         // of 32 bits, at a time: an estimate of those that an assembler allocates
    int static_bytes; // of shared memory
    int local_bytes;  // per thread
    int instructions;
    int nparams;
    int max_threads;    // of .maxntid or .reqntid; 0: not given
    bool exact_threads; // it is .reqntid
    int min_blocks;     // .minnctapersm: blocks that a processor must hold; 0: not given
} EmuEntry;
int emu_entry_count(const EmuModule *m);
const EmuEntry *emu_entry(const EmuModule *m, int i);
int emu_find(const EmuModule *m, const char *name); // -1: none
int emu_param_bytes(const EmuModule *m, int entry, int i);

// --- Memory --------------------------------------------------------------------------------------

// How often one launch accessed a buffer: all bytes that threads accessed, every accessed byte
// once, and sectors of 32 bytes per warp instruction.
typedef struct EmuTraffic {
    int64_t loaded, load_touched, stored, store_touched, load_sectors, store_sectors;
} EmuTraffic;

typedef struct EmuBuffer {
    uint64_t address; // 0: free slot
    size_t bytes;
    uint8_t *data;
    uint8_t *defined; // per byte: 1, or 0 if nothing has defined it
    const char *name; // in messages; NULL: its number
    EmuTraffic traffic;
} EmuBuffer;

// A buffer lies in a slot of its own, EMU_MARGIN from its beginning, so that an address tells which
// buffer it belongs to even if it misses it: slot i begins at (i + 1) << EMU_SLOT_SHIFT.
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
    uint32_t shared_limit;     // most bytes of static and dynamic shared memory together
    const void *const *params; // the bytes of each parameter
    int64_t limit;             // warp instructions; 0: 10^10
} EmuLaunch;

typedef struct EmuCounts {
    int64_t instructions;      // of warps
    int64_t lane_instructions; // of threads
    int64_t shared_wavefronts, shared_ideal;
    int64_t load_sectors, store_sectors; // of global memory
    int64_t load_bytes, store_bytes;     // of global memory, that threads asked for
    int64_t barriers;                    // of blocks, per warp
    int64_t fma;                         // fma.rn.f32 of threads
} EmuCounts;

// False: *e says why, and the content of the buffers is unspecified. Adds to *counts; the traffic
// of the buffers is that of this launch. `scratch` is released by the caller.
bool emu_launch(Arena *scratch, const EmuModule *m, const EmuLaunch *launch, EmuMemory *memory,
                EmuCounts *counts, EmuError *e);

#endif
