// The lower bound: seconds that no implementation below a candidate can beat, at the best rates
// measured on this machine.
//
//     BoundModel *b = bound_new(arena, cs, &(BoundOptions){.machine = &m, .threads = 2});
//     double s = bound_seconds(b, c, NULL);               // a microsecond or so; any candidate
//     bound_explain(&text, b, c);                         // the same as a tree
//
// The bound is the largest time of any resource. A resource's time counts the work that every
// implementation below the candidate does, of all statements or of the largest one:
//
//     compute  operations, in as many lanes as the vector loop may have
//     issue    instructions, and iterations of loops that cannot be unrolled
//     chain    latency of reduction steps, divided by the accumulators still possible
//     load     loads into registers, given how much of each operand registers can keep
//     store    stores, likewise
//     L1       bytes between registers and L1
//     L2 L3 memory   bytes from each level, given how much the smaller ones can keep
//     nest     all of these together for one statement: the minimum over all vector loops and loop
//              orders, with strided lanes and horizontal reductions
//     launch   starting parallel loops, plus the largest of the others
//
// Statements that cannot share a loop run one after the other: their times add up, from `load` on.
//
// Traffic. The innermost loops of a nest form a piece. If a piece accesses F distinct bytes, each
// run loads at least F - C of them from beyond a cache of C bytes. A loop order is a chain of
// pieces, each with one loop more than the one before, and costs as much as its most expensive
// piece. The bound is the minimum over all orders that are still possible, computed from the
// innermost loops outwards. Sizes are ranges; the end that makes the bound smaller counts.
// Registers are the innermost cache.
//
// Cache state: warm. The kernel ran just before on the same data. Each cache, with the smaller
// ones, may hold the data that is most expensive to load; but of data that a call reads once and
// that does not fit, levels beyond L1 hold only the part that random replacement leaves. Registers
// hold nothing.
//
// The bound is admissible (at most the measured time), monotone (each part depends on the extremes
// of domains only) and cheap. Accesses that are not understood (computed subscripts, guarded reads)
// and data that may stay in registers (temporaries, copies) cost nothing.
#ifndef LW_SPACE_BOUND_H
#define LW_SPACE_BOUND_H

#include "space/cpu.h"

typedef enum BoundKind {
    BOUND_COMPUTE,
    BOUND_ISSUE,
    BOUND_CHAIN,
    BOUND_LOAD,
    BOUND_STORE,
    BOUND_L1,
    BOUND_L2,
    BOUND_L3,
    BOUND_MEMORY,
    BOUND_NEST,
    BOUND_LAUNCH,
    BOUND_KINDS
} BoundKind;
extern const char *const bound_name[BOUND_KINDS]; // "compute", "issue", ...

// The time of one resource, and its cause: a statement, the Program (-1), or several statements
// that run one after the other.
enum { BOUND_SEVERAL = -2 };
typedef struct BoundTerm {
    double seconds;
    int stmt;
} BoundTerm;

typedef struct BoundOptions {
    const Machine *machine;       // with rates for its ISA; without them there is no bound
    int threads;                  // those of the Space; at most the cores that were measured
    double plant;                 // for tests: a factor for all bounds; 0: none
    const int64_t *const *stride; // per argument, in elements; NULL (or NULL entry): row-major
} BoundOptions;

typedef struct BoundModel BoundModel;
// NULL when the machine's rates are not known.
BoundModel *bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o);

// Positive; infinite for a candidate that is known to be dead. `terms`: BOUND_KINDS of them, or
// NULL.
double bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms);

// One line, "bound            1.45 us, by compute"; and the bound as a tree: resources, largest
// first, with the contributions of statements.
void bound_summary(Text *out, const BoundModel *b, const Cand *c);
void bound_explain(Text *out, const BoundModel *b, const Cand *c);

#endif
