// Inside the lower bound: what is known of each statement before any decision (private).
#ifndef LW_SPACE_BOUND_IMPL_H
#define LW_SPACE_BOUND_IMPL_H

#include "machine/machine_cost.h"
#include "machine/limits.h"
#include "space/bound.h"

// No NaNs here: in place, where fmin and fmax would be calls.
static inline double least_of(double a, double b) { return a < b ? a : b; }
static inline double most_of(double a, double b) { return a > b ? a : b; }

enum { MANY_PIECES = 144, PIECE_ITERS = 7, MANY_REFS = 12 };
enum { MANY_STMTS = 48 }; // with more, only the largest of them counts

// An access. A dimension has 1 + Σ (x - 1) distinct subscripts over the iterators
// that it owns, where x is how many values each runs through; no two dimensions own an iterator, so
// the product is a number of distinct elements. Dimensions along which neighbours lie in different
// lines come first.
typedef struct BoundDim {
    int iter; // the only one it owns; -1: several, or none
    uint32_t own;
} BoundDim;

// Another statement that uses a temporary: where its loops may be one with those of this one.
typedef struct BoundMeet {
    uint32_t at; // place of the order of two loops
    int iter;    // of this statement
} BoundMeet;

typedef struct BoundUse {
    uint32_t place; // of the statement; 0: it has loops of its own
    bool defines;
    int nmeets;
    const BoundMeet *meet;
} BoundUse;

typedef struct BoundTemp {
    int nuses;
    const BoundUse *use;
} BoundTemp;

typedef struct BoundRef {
    int tensor, bytes;
    const BoundTemp *temp; // NULL: an argument
    bool again;            // the one before it is of the same tensor
    uint32_t pack;         // place of its packing decision in a candidate; 0: none
    uint32_t iters;
    uint32_t apart; // iterators whose neighbours surely lie neither side by side nor on each other
    int unit;       // the one whose neighbours lie side by side; -1: none
    int copy;       // number of the copy that it may go to; -1: none
    // Per iterator of `apart`: those of the subscripts behind its own, in the order of the tensor.
    const uint32_t *behind;
    bool grid; // every subscript has one iterator of its own
    int ndims, nfar;
    const BoundDim *dim;
} BoundRef;

static inline double dim_values(const BoundRef *r, int d, const double *extent) {
    if (r->dim[d].iter >= 0) return extent[r->dim[d].iter];
    double values = 1;
    for (uint32_t left = r->dim[d].own; left; left &= left - 1)
        values += extent[__builtin_ctz(left)] - 1;
    return values;
}

typedef struct BoundLoop {
    int object, iter;
    bool top, reduction;
    uint32_t kind, size, step; // places in a candidate; size 0: a top with several levels
    uint32_t split;            // of the top; 0: it is the only loop
    const int64_t *universe;   // of `size`
    const double *share;       // per value: vectors by elements, when it runs in lanes
    double whole_share;        // of the whole extent
} BoundLoop;

// A packed copy of what a statement reads.
typedef struct BoundCopy {
    uint32_t pack, kind, layout; // places in a candidate
    const uint32_t *at;          // per loop of the statement: place of whether it is made inside
    const BoundRef *ref;         // the first read that goes to it
    double elements;             // of one copy of all that is read
} BoundCopy;

// Whether loop j is inside loop i: the byte at `at` has this bit, or no other.
typedef struct BoundInside {
    uint32_t at;
    uint8_t bit;
} BoundInside;

typedef struct BoundStmt {
    int niters;
    double extent[PROGRAM_MAX_ITERS];
    double box;           // product of the extents
    double count, needed; // instances; those that somebody needs, when it is computed in place
    int reader;           // computed in a loop of this statement, again in each of its iterations
    uint32_t read_along;  // but for those along which it is read
    const uint32_t *at;   // per loop of the reader: place of whether it is computed inside
    double work[WORK_COUNT]; // operations of all instances, elements; shuffles are not counted
    double divides;          // of floats, and square roots
    double stored;           // elements written to arguments
    int lanes;
    double lane;                       // 1/lanes
    uint32_t joins[PROGRAM_MAX_ITERS]; // iterators that might go on where this one ends
    bool wide;                         // f64
    bool plain;                        // loops may be looked at: no constraints
    uint32_t place;
    int nloops;
    const BoundLoop *loop; // by iterator, outermost first
    // Pieces of the nest: so many of the innermost loops of each iterator.
    double npieces;                                          // while everything is open
    int nlevels[PROGRAM_MAX_ITERS], last[PROGRAM_MAX_ITERS]; // its loops; the innermost
    unsigned beyond;           // bit per level: all of the nest does not fit inside it
    const BoundInside *inside; // nloops x nloops
    int nreads, nwrites;       // by tensor, so that accesses to one stand together
    const BoundRef *read, *write;
    int ncopies;
    const BoundCopy *copy;
    double results; // elements that it combines values in; 0: it does not
    int result_bytes;
    double latency;           // of a step of its reduction in seconds; 0: it has none
    bool folds;               // lanes that are summed up are shuffled and added
    double step_instructions; // of that step, at least
    double reduced;           // values that go into one element
    uint32_t accumulators;    // places; 0: none
    uint32_t privatise, grain;
    int split;             // loop that privatising makes parts of; -1: none
    const int64_t *counts; // universe of accumulators
    const int64_t *grains; // and of grain
    bool float_sum, fused; // its step is a multiply-add
} BoundStmt;

// Two statements whose loops might be shared, and the places of the orders that say so.
typedef struct BoundPair {
    int a, b, n;
    const BoundMeet *meet;
} BoundPair;

struct BoundModel {
    const CpuSpace *cs;
    const Program *p;
    const MachineCost *cost;
    double plant; // see BoundOptions; 1
    int cores;    // that threads can use
    double hertz;
    // Seconds of an operation, by its pipes: of vectors that are at most half full, of whole ones,
    // and of one element by itself.
    double half[WORK_COUNT], full[WORK_COUNT], alone[WORK_COUNT];
    double divide[2][3];           // f32, f64: likewise one element, half, whole
    double latency[LATENCY_COUNT]; // seconds
    double issue, loads, stores;   // a second
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
    int npairs;
    const BoundPair *pair;
};

// Points of a statement (bound_points.c): both ends inside.
typedef struct BoundBox {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
} BoundBox;
int64_t bound_extent(const BoundBox *x, int i);
// A box of points that all exist; false: none was found.
bool bound_inner_box(const Stmt *s, BoundBox *x);
// Instances; where constraints tie too many points together, those of the box.
double bound_instances(const Stmt *s, const BoundBox *box);

// The rates of a model whose cores are known.
void bound_rates(BoundModel *b, const Machine *m, const CpuHost *h);

// What statements contribute, for explanations.
typedef struct BoundPart {
    double seconds[BOUND_KINDS];
    // The piece that says so, a byte for each iterator: how many of its loops; -1: all or none;
    // below: one iteration of loop -2 - piece.
    int64_t piece[BOUND_KINDS];
    double lanes; // elements by vectors
    double cores, chains, launches;
    int along; // BOUND_NEST: the iterator that runs in lanes; -1: none does
} BoundPart;

// --- One evaluation ------------------------------------------------------------------------------

// Work beside the loops of a statement: copies that it reads, partial results.
typedef struct Extra {
    double loads, stores; // of registers
    double parts;         // the loops themselves store so many registers, at least
    double bytes;         // written to memory of its own, and read again
} Extra;

// What is known of a loop in this candidate.
typedef struct LoopState {
    uint8_t kind;
    double least, most; // iterations
} LoopState;

typedef struct Eval {
    const BoundModel *b;
    const uint8_t *v; // the candidate
    BoundTerm *term;
    BoundPart *part; // of the statement at hand; NULL: nobody asks
    int stmt;
    const BoundStmt *s;
    bool nest; // it surely has loops of its own
    bool dead;
    bool parallel;                    // threads may share its work
    double cores;                     // as many, with the shares as even as can be
    uint32_t lanes;                   // iterators that may run in lanes
    double share;                     // vectors by elements, at least,
    double shares[PROGRAM_MAX_ITERS]; // and for each of those iterators
    double straight;                  // vector operations of straight-line code, at most
    double launches, gated;           // of parallel loops; those that surely find helpers
    double turns;                     // iterations of parallel loops, which nothing unrolls
    double rounds;                    // of shuffling, for what all lanes take part in
    double used;                      // cores that may share loads and stores
    double each[2];                   // seconds of a load, of a store
    // Per access, reads and then the write: iterators in whose lanes it needs a load or store for
    // each element; and those in which it may go by whole rows that are turned in registers.
    uint32_t single[MANY_REFS + 1], turned[MANY_REFS + 1];
    uint32_t absent, somewhere; // accesses to temporaries: that might vanish; that may be small
    Extra extra;
    double pipes[WORK_COUNT + 1]; // seconds of each, of all statements; the last is the divider
    double own[BOUND_KINDS]; // of the statement: what statements that share loops do not add up
    bool any_parallel;
    bool detailed; // each resource by itself, too
    LoopState loop[PROGRAM_MAX_ITERS * CPU_MAX_LEVELS];
} Eval;

// Of what a statement does not add up: the largest.
void bound_raise(Eval *e, BoundKind kind, double seconds, int64_t piece);
// Arithmetic of the statement at so many vectors by elements; its share of all vector pipes.
double bound_compute(const Eval *e, double share);
double bound_pipes(const Eval *e, double share);
// Lanes that lie apart, copies, partial results (bound_extra.c).
void bound_extra(Eval *e);
// Loads, stores and traffic of a nest, by pieces of it.
void bound_nest(Eval *e);

double bound_evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, BoundPart *parts);

#endif
