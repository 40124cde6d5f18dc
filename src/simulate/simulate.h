// The simulator of a described machine: how long a located Tree takes on it, and whether it fits.
//
// A located Tree says where everything is: buffers lie in memory units, blocks run on compute units
// or on transfer engines. The simulator
//
//   * checks it: every access lies in a unit that the block reaches, every unit within its size
//   * cuts it into tasks: the largest subtrees that run on one unit. A transfer is one task
//   * counts what each task does: starts of stencils, scalar operations, bytes of each memory
//   * gives each task its time: as early as its unit is free and its buffers allow
//
// Counting walks the loops around tasks and multiplies inside of them, so that a layer of a network
// takes milliseconds. Executing runs the tree interpreter and counts what happens; both give the
// same tasks.
//
// Time, in cycles. A task waits for the last writer of each buffer that it reads, and for the users
// of each that it writes. A buffer tagged #stages=N has N copies that iterations take in turn:
// while one is computed on, the next is filled (double buffering). Iterations of an unordered block
// wait for each other only through the memory that they take turns with.
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

typedef struct SimMemory {
    int64_t used;     // the most bytes in use at once; 0: it has no limit
    int64_t accessed; // bytes
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
