// Choosing without search: one good Schedule for a bound Program, in microseconds, measuring
// nothing.
//
//     const Schedule *s = analytic_choose(arena, p, &(AnalyticOptions){.machine = m});
//     schedule_print(&text, s);                  //  C: n/64:p m/6 k m n:v
//
// The decisions, in order of impact, per statement (analytic_tile.c makes the first four):
//
//   vector    the loop that runs in lanes: contiguous in the result, or a reduction that is
//             contiguous in all that is read
//   tile      how much of the result stays in registers: so many vectors by so many rows, by a
//             model of a machine loop (multiply-adds, loads, issue, latency, what the ends waste,
//             what a tile costs to begin and to end)
//   order     which operand stays in a cache while the others pass by; reductions behind all of it,
//             but for a large operand that is read once, as it lies
//   packing   an operand that is read often, and lies badly, is copied into panels
//   fusion    what only finishes a sum stands behind it (`after`); loops that statements can share
//             come first and alike in all of them, and lowering shares them; what a stencil reads
//             is computed in the place of each read (`inline`) where that takes less than to bring
//             it back (analytic_fuse.c)
//   threads   the outermost loops of a nest that is worth it are parallel
//
// Every choice is one that a person could have written: the Schedule reads back as decisions of the
// CPU space (cpu_read), where tile sizes are size(), order and sharing are order(), marks are
// kind(), copies and their layouts are pack() and layout().
//
// The Schedule is legal for every Program: what is not understood (computed subscripts on the left,
// empty ranges, scatters) keeps its declared order. With `plain` there are orders and marks only,
// which lowering always accepts.
#ifndef LW_SPACE_ANALYTIC_H
#define LW_SPACE_ANALYTIC_H

#include "machine/machine.h"
#include "sched/schedule.h"

typedef struct AnalyticOptions {
    const Machine *machine;
    bool serial;  // no parallel loops
    double worth; // cycles of a nest that threads share; 0: MachineCost.parallel_worth
    bool plain;   // no copies, no `after`, no hints
    const int64_t *const *stride; // per argument, in elements; NULL (or NULL entry): row-major
} AnalyticOptions;

const Schedule *analytic_choose(Arena *arena, const Program *p, const AnalyticOptions *o);

#endif
