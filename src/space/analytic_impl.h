// Inside the analytic choice: what it looks at of a statement, and what it writes.
#ifndef LW_SPACE_ANALYTIC_IMPL_H
#define LW_SPACE_ANALYTIC_IMPL_H

#include "space/analytic.h"

enum { MAX_REFS = 12, MAX_LOOPS = 2 * PROGRAM_MAX_ITERS + 8 };

// An access as the loops see it. Strides count elements; `hard`: the place is computed from the
// iterator in another way than by a stride.
typedef struct Ref {
    const Access *access;
    int bytes;    // of an element
    double size;  // bytes of all elements
    bool lone;    // every subscript is one iterator by itself, each another
    bool crooked; // vectors of it begin inside cache lines
    bool once;    // the only access to its tensor, which nothing in the Program writes
    int64_t stride[PROGRAM_MAX_ITERS];
    bool uses[PROGRAM_MAX_ITERS], hard[PROGRAM_MAX_ITERS];
} Ref;

// A statement, and the section that is being written for it.
typedef struct Nest {
    const Stmt *s;
    int64_t extent[PROGRAM_MAX_ITERS];
    int nrefs; // ref[0] is the write
    Ref *ref;
    bool known;       // all of its accesses are here, and the written places are strides
    bool reduces;     // combines several values into one element
    int lanes;        // of a vector
    double ops;       // arithmetic of one instance beside its reads
    double guards;    // and conditions
    uint64_t windows; // reductions that share a subscript with another iterator
    int window;       // innermost reduction where instances may not exist; -1: all do
    double instances, cycles, memory; // cycles: with those that memory takes
    int after;                        // it stands behind this statement; -1: on its own
    SchedStmt out;
    int nloops;
    SchedLoop loop[MAX_LOOPS];
    int perfect;     // so many of them have nothing else inside
    SchedStmt *copy; // section of the packed copy; NULL: none
} Nest;

typedef struct Chooser {
    Arena *arena;
    const Program *p;
    const AnalyticOptions *o;
    const Machine *m;
    Nest *nest; // per statement
} Chooser;

static inline void nest_loop(Nest *n, int iter, int64_t step, Kind kind) {
    n->loop[n->nloops++] = (SchedLoop){.iter = n->s->iter[iter].name, .step = step, .kind = kind};
}

// Sums and everything else that combines values: vector loop, tile, order and packing.
void choose_contraction(Chooser *c, Nest *n);

#endif
