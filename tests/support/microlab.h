// Runs a Tree without any instruction set: the generator's index arithmetic, branches and
// micro-operations become a bytecode (a GenIsa of its own), which is interpreted on lab data. So
// the generator is tested at vector widths, with register counts and capabilities that no machine
// here has.
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
    int masks;   // of tails, where the machine has masks
    int scratch; // vector registers that hold no values
    bool folds;  // arithmetic takes operands from memory
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

// `threads`: of more than one, the iterations of parallel loops are dealt out in turn, last ones
// first. `low`: buffers begin right behind a guard page; otherwise they end right in front of one.
// The results replace the contents of `data`.
MicroResult micro_run(Lab *lab, const Tree *t, const MicroTarget *target, const LabData *data,
                      InterpFlags flags, int threads, bool low);

#endif
