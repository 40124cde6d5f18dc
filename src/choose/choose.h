// Choosing without search: one good Schedule for a bound Program, in microseconds, without
// measuring anything.
//
//     const Schedule *s = choose_schedule(arena, p, &(ChooseOptions){.machine = m});
//     schedule_print(&text, s);                  //  C: n/64:p m/6 k m n:v
//
// The decisions for each statement, in order of impact:
//
//   vector    the loop that runs in lanes: contiguous in the result, or a reduction that is
//             contiguous in every operand (choose_tile.c)
//   tile      vectors and rows of the result that stay in registers, rated by a model of the
//             innermost machine loop: multiply-adds, loads, issue, latency, tails, and the cost of
//             starting and ending a tile (choose_tile.c)
//   order     the operand that stays in a cache while the others pass by; reductions run inside the
//             loops over results, except for a large operand that is read once (choose_order.c)
//   packing   an operand that is read often and not contiguous along the lanes is copied into
//             panels (choose_order.c), narrow types are widened on the way (choose_narrow.c)
//   prefetch  blocks that come from beyond L2 (choose_fetch.c)
//   fusion    an element-wise statement becomes a post-operation (`after`); statements that can
//             share loops begin with the same ones, and lowering shares them; a definition that a
//             stencil reads is inlined where recomputing costs less than memory (choose_fuse.c)
//   transpose lanes along the result or along the operand, in blocks (choose_transpose.c)
//   threads   the outermost loops of a nest that takes long enough are parallel (choose.c)
//
// Costs are rows of machine/machine_cost.def, and machine/limits.h has limits of the generator: a
// model here has no numbers of its own.
//
// A person could have written each choice: the Schedule reads back as decisions of the CPU space
// (cpu_read), where tile sizes are size(), order and sharing are order(), marks are kind(), copies
// and their layouts are pack() and layout().
//
// The Schedule is legal for every Program: statements that are not understood (subscripts of the
// result that are read from memory, empty ranges, scatters) keep their declared order. With `plain`
// there are orders and marks only, which lowering always accepts.
#ifndef LW_CHOOSE_CHOOSE_H
#define LW_CHOOSE_CHOOSE_H

#include "machine/machine.h"
#include "sched/schedule.h"

typedef struct ChooseOptions {
    const Machine *machine;
    bool serial;  // no parallel loops
    double worth; // a nest of this many cycles gets threads; 0: MachineCost.parallel_worth
    bool plain;   // no copies, no post-operations, no hints
    const int64_t *const *stride; // per argument, in elements; NULL (or NULL entry): row-major
} ChooseOptions;

const Schedule *choose_schedule(Arena *arena, const Program *p, const ChooseOptions *o);

#endif
