// Runs a Tree without any instruction set: the generator's index arithmetic, branches and
// micro-operations become bytecode (by a separate GenIsa), which is interpreted on lab data. So the
// generator is tested with vector widths, register counts and capabilities that no available
// machine has.
#ifndef SUPPORT_MICROLAB_H
#define SUPPORT_MICROLAB_H

#include "code/micro/micro.h"
#include "machine/machine.h"
#include "support/proglab.h"
#include "tree/tree.h"

// An instruction set as facts.
typedef struct MicroTarget {
    Machine machine;
    int items;   // registers for pointers and counters, up to MICRO_ITEMS
    int masks;   // registers for masks of tails, if the machine has masks
    int scratch; // reserved vector registers
    bool folds;  // arithmetic accepts memory operands
    bool ties;   // results may overwrite operands
} MicroTarget;

enum { MICRO_ITEMS = 16 };

// Vectors of 4, 8 and 16 lanes of 4 bytes, each without and with masks; and scalar code. `seed`
// draws the other facts.
enum { MICRO_TARGETS = 7 };
MicroTarget micro_target(int number, uint64_t seed);
const char *micro_target_text(Arena *arena, const MicroTarget *t);

typedef enum MicroResult {
    MICRO_OK,
    MICRO_DECLINED,
    MICRO_STATUS,  // the code returned one
    MICRO_BROKEN,  // it wrote outside its buffers
    MICRO_ENDLESS, // it ran for too long
} MicroResult;

// Micro-operations executed so far in this process, by kind.
extern int64_t micro_count[];
enum { MICRO_KINDS = MI_RELOAD + 1 };

// `threads`: more than one are simulated one after the other, last iterations first. `low`: buffers
// begin directly after a guard page; otherwise they end directly before one. The results replace
// the contents of `data`.
MicroResult micro_run(Lab *lab, const Tree *t, const MicroTarget *target, const LabData *data,
                      InterpFlags flags, int threads, bool low);

#endif
