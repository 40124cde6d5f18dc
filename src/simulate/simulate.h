// The simulator of a described machine: it computes how long a located Tree takes, and whether it
// fits.
//
// In a located Tree, buffers have memory units and blocks have compute units or transfer engines.
// The simulator
//
//   * checks the Tree: every access is to a unit that the block can reach, every unit has room
//   * divides it into tasks, the largest subtrees that run on one unit; a transfer is one task
//   * counts the work of each task: starts of stencils, scalar operations, bytes of each memory
//   * schedules each task as early as its unit is free and its buffers allow
//
// Counting enumerates the loops around tasks and multiplies inside them, so that a layer of a
// network takes milliseconds. Executing runs the tree interpreter and counts what it does. Both
// give the same tasks.
//
// Times are in cycles. A task waits for the last writer of each buffer that it reads, and for the
// users of each buffer that it writes. A buffer tagged #stages=N has N copies, which iterations use
// alternately: while one is used, the next is filled (double buffering). Iterations of an unordered
// block wait for each other only because of the memory that they share.
#ifndef LW_SIMULATE_SIMULATE_H
#define LW_SIMULATE_SIMULATE_H

#include "passes/hardware.h"
#include "tree/tree.h"

typedef struct SimTask {
    const Node *node;
    const char *label; // "load A", "C"
    int row;
    int64_t start, end;
    int64_t bytes; // of a transfer: those on its outer side
} SimTask;

// A compute unit or a transfer engine.
typedef struct SimRow {
    const char *name; // "PROC 3"
    bool engine;
    int64_t busy; // cycles
    int tasks;
} SimRow;

// A copy of a memory unit: there is one, or one for each compute unit of a kind.
typedef struct SimCopy {
    int64_t used;     // the most bytes in use at once; 0: it has no limit
    int64_t accessed; // bytes
} SimCopy;

typedef struct SimMemory {
    int64_t used;     // in the copy with the most
    int64_t accessed; // in all copies
    int64_t waited;   // cycles of tasks on compute units that its bandwidth limits
    int64_t computed; // cycles that these tasks would take otherwise
    int ncopies;
    SimCopy *copy;
} SimMemory;

typedef struct Simulation {
    const Hardware *h;
    VEC(SimRow) row;
    VEC(SimTask) task;
    SimMemory *memory; // per memory unit
    int64_t cycles;
    int64_t moved;    // bytes of transfers
    int64_t starts;   // of stencils
    int64_t products; // leaf executions in stencils
    int64_t ops;      // scalar operations
    int64_t outside;  // cycles of blocks without a place that work on the outermost memory
    // The least that any Tree for this program could need, in cycles: the products at the full rate
    // of all stencil units, every element of arguments moved once.
    double least_compute, least_move;
    double rate;         // products a cycle of all stencil units, of the program's types
    int64_t least_moved; // bytes
} Simulation;

// Counts. `flat` is the Tree before any pass, whose accesses give the least transfers; NULL: `t`.
// False after a located diagnostic.
bool simulate(Arena *arena, const Hardware *h, const Tree *t, const Tree *flat, Simulation *out,
              DiagList *diags);
// The same by executing the Tree on `views`, as tree_interpret does.
bool simulate_executed(Arena *arena, const Hardware *h, const Tree *t, const Tree *flat,
                       const View *views, Simulation *out, DiagList *diags);

double sim_least(const Simulation *s);       // cycles: the larger of both bounds
double sim_utilisation(const Simulation *s); // products done / products possible

// sim_report.c
void sim_report(Text *out, const Simulation *s);
void sim_json(Text *out, const Simulation *s); // one object
void sim_svg(Text *out, const Simulation *s, const char *title);

#endif
