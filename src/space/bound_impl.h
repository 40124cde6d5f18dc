// Inside the lower bound: what is known of each statement before any decision (private).
#ifndef LW_SPACE_BOUND_IMPL_H
#define LW_SPACE_BOUND_IMPL_H

#include "space/bound.h"

// No NaNs here: in place, where fmin and fmax would be calls.
static inline double least_of(double a, double b) { return a < b ? a : b; }
static inline double most_of(double a, double b) { return a > b ? a : b; }

// An access to an argument. Dimension d has 1 + Σ (x - 1) distinct subscripts over the iterators in
// own[d], where x is how many values each runs through; no two dimensions own an iterator, so the
// product is a number of distinct elements.
typedef struct BoundRef {
    int tensor, bytes;
    uint32_t pack; // place of its packing decision in a candidate; 0: none
    uint32_t iters;
    int ndims;
    const uint32_t *own;
    const bool *far; // neighbours along it lie in different lines
} BoundRef;

typedef struct BoundLoop {
    int object, iter;
    bool top, reduction;
    uint32_t kind, size, step; // places in a candidate; size 0: a top with several levels
    const int64_t *universe;   // of `size`
    const double *share;       // per value: vectors by elements, when it runs in lanes
    double whole_share;        // of the whole extent
} BoundLoop;

// Whether loop j is inside loop i: the byte at `at` has this bit, or no other.
typedef struct BoundInside {
    uint32_t at;
    uint8_t bit;
} BoundInside;

typedef struct BoundStmt {
    int niters;
    double extent[PROGRAM_MAX_ITERS];
    double box;            // product of the extents
    double count, needed;  // instances; those that somebody needs, when it is computed in place
    double ops, float_ops; // operations of all instances, elements; those of the FMA ports
    double stored;         // elements written to arguments
    int lanes;
    uint32_t joins[PROGRAM_MAX_ITERS]; // iterators that might go on where this one ends
    bool wide;                         // f64
    bool plain;                        // loops may be looked at: no constraints
    uint32_t place;
    int nloops;
    const BoundLoop *loop;
    const BoundInside *inside; // nloops x nloops
    int nreads, nwrites;       // by tensor, so that accesses to one stand together
    const BoundRef *read, *write;
    int latency;              // of a step of its reduction in cycles; 0: it has none
    double step_instructions; // of that step, at least
    double reduced;           // values that go into one element
    uint32_t accumulators;    // places; 0: none
    uint32_t privatise;
    int split;             // loop that privatising makes parts of; -1: none
    const int64_t *counts; // universe of accumulators
    bool float_sum;
} BoundStmt;

struct BoundModel {
    const CpuSpace *cs;
    const Program *p;
    int cores; // that threads can use
    double hertz;
    double fastest;                          // scalar multiply-adds a second
    double instructions[2];                  // vector operations a second at full width, f32/f64
    double issue, loads, stores, scalar_ops; // a second
    double vector_ports;                     // by those that multiply-add
    double registers, line_bytes;
    int64_t unrolled; // vector operations of straight-line code, at most
    double vector_bytes;
    double cache[2][LEVEL_COUNT];                   // what is held inside a level: one core's, all
    double in[2][LEVEL_COUNT], out[2][LEVEL_COUNT]; // seconds a byte; 0: no such level
    double both[LEVEL_COUNT];                       // of the sum of both, how much is sure
    double must[2][LEVEL_COUNT];                    // seconds: every argument once
    double must_loads, must_stores;                 // vectors
    int nstmts;
    const BoundStmt *stmt;
};

// What statements contribute, for explanations.
typedef struct BoundPart {
    double seconds[BOUND_KINDS];
    int loop[BOUND_KINDS];
    double lanes; // elements by vectors
    double cores, chains;
} BoundPart;

double bound_evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, BoundPart *parts);

#endif
