// The lower bound: seconds that no implementation below a candidate can beat, at the best rates
// that this machine was measured at.
//
//     BoundModel *b = bound_new(arena, cs, &(BoundOptions){.machine = &m, .threads = 2});
//     double s = bound_seconds(b, c, NULL);               // a microsecond or so; any candidate
//     bound_explain(&text, b, c);                         // the same as a tree
//
// The bound is the largest of what single resources take. Each is a sum over statements, or what
// one of them takes, of work that every implementation below the candidate does:
//
//     compute  arithmetic over the lanes that the vector loop can still have
//     issue    instructions and the turns of loops that cannot be unrolled away
//     chain    sums wait for their own last value: latency over the accumulators still possible
//     load     loads of registers, given how much of each operand the loops let them keep
//     store    stores, likewise
//     L1       bytes between registers and the first cache
//     L2 L3 memory   bytes from each level, given what the smaller ones can keep
//     nest     of one statement, all of these at once: the least that any choice of the vector
//              loop and any order of the loops leaves; lanes that lie apart, and lanes summed up
//     launch   handing parallel loops out, while nobody works, and the largest of the others
//
// Statements that can share no loop run one after the other: from `load` on, they add up.
//
// Traffic. The innermost loops of a nest run in one go. If they touch F distinct bytes, they bring
// at least F - C of them from beyond a cache of C bytes, each time. An order of the loops is a
// chain of such pieces, each with one loop more than the one before, and takes the most that one of
// them takes; what all orders take that are still possible is the least of these, found from the
// inside out. Sizes are ranges, of which both ends are taken where they make the bound smaller.
// Registers are the innermost cache.
//
// Cache state: warm. The kernel ran just before on the same data. Each cache, with the smaller
// ones, may still hold as many bytes as fit of what is most expensive to bring; beyond L1, of data
// that a call walks through once and that does not fit, only what random replacement would leave.
// Registers hold nothing.
//
// So the bound is admissible (at most the measured time), monotone (every part looks at domains
// only through their extremes) and cheap. What is not understood (computed subscripts, guarded
// reads) or might stay in registers (temporaries, copies) counts as nothing.
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

// What one resource takes, and whose doing it is: a statement's, the Program's (-1), or that of
// several statements which run one after the other.
enum { BOUND_SEVERAL = -2 };
typedef struct BoundTerm {
    double seconds;
    int stmt;
} BoundTerm;

typedef struct BoundOptions {
    const Machine *machine; // with rates; without (or with none for its ISA) there is no bound
    int threads;            // as the Space was made for; at most the cores that were measured
    double plant;           // for tests: bounds are this many times as high; 0: as they are
    const int64_t *const *stride; // per argument, in elements; NULL (or NULL entry): row-major
} BoundOptions;

typedef struct BoundModel BoundModel;
// NULL when the machine's rates are not known.
BoundModel *bound_new(Arena *arena, const CpuSpace *cs, const BoundOptions *o);

// Positive; infinite for a candidate that is seen to be dead. `terms`: BOUND_KINDS of them, or
// NULL.
double bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms);

// One line, "bound            1.45 us, by compute"; and the bound as a tree: resources, largest
// first, and what statements contribute.
void bound_summary(Text *out, const BoundModel *b, const Cand *c);
void bound_explain(Text *out, const BoundModel *b, const Cand *c);

#endif
