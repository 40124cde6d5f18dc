// Internals of the lower bound: facts about each statement before any decision (private).
#ifndef LW_SPACE_BOUND_IMPL_H
#define LW_SPACE_BOUND_IMPL_H

#include "machine/machine_cost.h"
#include "machine/limits.h"
#include "space/bound.h"

// No NaNs here: in place, where fmin and fmax would be calls.
static inline double least_of(double a, double b) { return a < b ? a : b; }
static inline double most_of(double a, double b) { return a > b ? a : b; }

enum { MANY_PIECES = 144, PIECE_ITERS = 7, MANY_REFS = 12 };
enum { MANY_STMTS = 48 }; // with more, only the largest one counts

// An access. A dimension has 1 + Σ (x - 1) distinct subscripts over the iterators that it owns,
// where x is the number of values of each. No two dimensions own the same iterator, so the product
// is a number of distinct elements. Dimensions whose neighbours are in different lines come first.
typedef struct BoundDim {
    int iter; // the only one it owns; -1: several, or none
    uint32_t own;
} BoundDim;

// A loop that may be shared with another user of a temporary.
typedef struct BoundMeet {
    uint32_t at; // offset of the order of two loops in a candidate
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
    bool again;            // the access before it has the same tensor
    uint32_t pack;         // place of its packing decision in a candidate; 0: none
    uint32_t iters;
    uint32_t strided; // iterators along which it is surely strided
    uint32_t unit;    // iterators along which it may be contiguous; all: so are other reads
    int copy;         // number of the copy that it may read; -1: none
    // Per iterator of `strided`: the iterators of later subscripts.
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
    const double *share;       // per value: vectors per element, when it runs in lanes
    double whole_share;        // of the whole extent
} BoundLoop;

// A packed copy of an operand.
typedef struct BoundCopy {
    uint32_t pack, kind, layout; // places in a candidate
    const uint32_t *at;          // per loop of the statement: offset of whether it is made inside
    const BoundRef *ref;         // the first read of it
    double elements;             // of one copy of the whole operand
} BoundCopy;

// Whether loop j may be inside loop i: the byte at `at` has this bit; surely: it has no other.
typedef struct BoundInside {
    uint32_t at;
    uint8_t bit;
} BoundInside;

typedef struct BoundStmt {
    int niters;
    double extent[PROGRAM_MAX_ITERS];
    double box;              // product of the extents
    double count, needed;    // iterations; iterations that are needed when it is inlined
    int reader;              // the statement in whose loops it may be computed
    uint32_t read_along;     // iterators of the reader along which it is read
    const uint32_t *at;      // per loop of the reader: offset of whether it is computed inside
    double work[WORK_COUNT]; // operations of all iterations, in elements, without shuffles
    double divides;          // of floats, and square roots
    double stored;           // elements written to arguments
    int lanes;
    double lane;                           // 1/lanes
    uint32_t collapses[PROGRAM_MAX_ITERS]; // iterators that may collapse with this one
    bool wide;                             // f64
    bool plain;                            // without constraints: loops tell iterations
    uint32_t conditional;                  // iterators in conditions of its instances
    uint32_t place;
    int nloops;
    const BoundLoop *loop; // by iterator, outermost first
    // Pieces of the nest: for each iterator, the number of its innermost loops in the piece.
    double npieces;                                          // while everything is open
    int nlevels[PROGRAM_MAX_ITERS], last[PROGRAM_MAX_ITERS]; // its loops; the innermost
    unsigned beyond;           // bit per level: the data of the nest does not fit inside it
    const BoundInside *inside; // nloops x nloops
    int nreads, nwrites;       // ordered by tensor
    const BoundRef *read, *write;
    int ncopies;
    const BoundCopy *copy;
    double results; // elements of a reduction; 0: it is none
    int result_bytes;
    double latency;           // seconds of a reduction step; 0: it has none
    bool horizontal;          // a horizontal reduction takes shuffles and additions
    double step_instructions; // instructions of a reduction step, at least
    double reduced;           // values that are combined into one element
    uint32_t accumulators;    // places; 0: none
    uint32_t privatise, grain;
    int split;             // the loop that privatising divides; -1: none
    const int64_t *counts; // universe of accumulators
    const int64_t *grains; // universe of grain
    bool float_sum, fused; // its step is a multiply-add
} BoundStmt;

// Two statements that may share loops, and the orders that decide it.
typedef struct BoundPair {
    int a, b, n;
    const BoundMeet *meet;
} BoundPair;

struct BoundModel {
    const CpuSpace *cs;
    const struct GpuBound *gpu; // gpu_bound.c has the rest; NULL: it is a processor
    const Program *p;
    const MachineCost *cost;
    double plant; // see BoundOptions; 1
    int cores;    // that threads can use
    double hertz;
    // Seconds of an operation, by its pipes: of vectors that are at most half full, of whole ones,
    // and of one element by itself.
    double half[WORK_COUNT], full[WORK_COUNT], alone[WORK_COUNT];
    double divide[2][3];           // seconds of a division of f32, f64: one element, half, whole
    double latency[LATENCY_COUNT]; // seconds
    double issue, loads, stores;   // instructions per second
    double registers, line_bytes;
    int64_t unrolled; // vector operations of straight-line code, at most
    double vector_bytes;
    double cache[2][LEVEL_COUNT]; // bytes of all levels inside this one: one core, all
    double in[2][LEVEL_COUNT], out[2][LEVEL_COUNT]; // seconds per byte; 0: no such level
    double both[LEVEL_COUNT];                       // part of the sum of both that cannot overlap
    double must[2][LEVEL_COUNT];                    // seconds: every argument once
    double must_loads, must_stores;                 // vectors
    int nstmts;
    const BoundStmt *stmt;
    int npairs;
    const BoundPair *pair;
};

// A box of iterations (bound_points.c), with both ends.
typedef struct BoundBox {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
} BoundBox;
int64_t bound_extent(const BoundBox *x, int i);
// A box inside all constraints; false: none was found.
bool bound_inner_box(const Stmt *s, BoundBox *x);
// Iterations under all constraints; if these are too many to count, those of the box.
double bound_instances(const Stmt *s, const BoundBox *box);

// The rates of a model whose cores are known.
void bound_rates(BoundModel *b, const Machine *m, const CpuHost *h);

// The contribution of a statement, for explanations.
typedef struct BoundPart {
    double seconds[BOUND_KINDS];
    // The piece that determines the time: a byte for each iterator, its number of loops; -1: all or
    // none; below: one iteration of loop -2 - piece.
    int64_t piece[BOUND_KINDS];
    double lanes; // elements per vector
    double cores, chains, launches;
    int along; // BOUND_NEST: the iterator that runs in lanes; -1: none does
} BoundPart;

// --- One evaluation ------------------------------------------------------------------------------

// Work beside the loops of a statement: copies that it reads, partial results.
typedef struct Extra {
    double loads, stores; // of registers
    double parts;         // stores of the loops themselves, at least
    double bytes;         // written to scratch memory, and read again
} Extra;

// A loop in this candidate.
typedef struct LoopState {
    uint8_t kind;
    double least, most; // iterations
} LoopState;

typedef struct Eval {
    const BoundModel *b;
    const uint8_t *v; // the candidate
    BoundTerm *term;
    BoundPart *part; // of the current statement; NULL: not wanted
    int stmt;
    const BoundStmt *s;
    bool nest; // it surely has loops of its own
    bool dead;
    bool parallel;                    // threads may share its work
    double cores;                     // that it can use, with shares as even as possible
    uint32_t lanes;                   // iterators that may run in lanes
    double share;                     // vectors per element, at least
    double shares[PROGRAM_MAX_ITERS]; // the same for each of those iterators
    double straight;                  // vector operations of straight-line code, at most
    double launches, gated;           // starts of parallel loops; those with several threads
    double iterations;                // of parallel loops, which are never unrolled
    double rounds;                    // of shuffles that involve all lanes
    double used;                      // cores that may share loads and stores
    double each[2];                   // seconds of a load, of a store
    // Per access, reads and then the write: iterators in whose lanes each element takes a load or a
    // store; and those in whose lanes a transpose in registers may replace these.
    uint32_t single[MANY_REFS + 1], transposed[MANY_REFS + 1];
    bool joined; // the results of several horizontal reductions may be stored as a vector
    uint32_t absent, somewhere; // accesses to temporaries that may vanish, or be small
    Extra extra;
    double pipes[WORK_COUNT + 1]; // seconds of each, of all statements; the last is the divider
    double own[BOUND_KINDS];      // of the statement: times that do not add up if loops are shared
    bool any_parallel;
    bool detailed; // each resource by itself, too
    LoopState loop[PROGRAM_MAX_ITERS * CPU_MAX_LEVELS];
} Eval;

// Raises a time that does not add up, if it is larger.
void bound_raise(Eval *e, BoundKind kind, double seconds, int64_t piece);
// Seconds of the statement's operations at `share` vectors per element; of all vector pipes.
double bound_compute(const Eval *e, double share);
double bound_pipes(const Eval *e, double share);
// Strided lanes, copies, temporaries, partial results (bound_extra.c).
void bound_extra(Eval *e);
// Loads, stores and traffic of a nest, by pieces of it.
void bound_nest(Eval *e);

double bound_evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, BoundPart *parts);

// --- Building the model --------------------------------------------------------------------------

// An operation that several statements may share (bound_ops.c).
typedef struct Shared {
    uint64_t look;
    double times;
    int stmt, work;
} Shared;

typedef struct SharedOps {
    VEC(Shared) at;
} SharedOps;

typedef struct BoundBuild {
    Arena *arena;
    BoundModel *b;
    const CpuSpace *cs;
    const Space *s;
    const Program *p;
    const Machine *m;
    const int64_t *const *stride;
    BoundStmt *stmt;
    bool *real;     // per tensor: its values are no constants that inlining would fold
    bool *walked;   // per argument: each element is accessed once
    double *wanted; // per temporary: elements that are surely read
    int *writers;   // per tensor: statements
    uint64_t *look; // per tensor: a hash of how it was computed
    SharedOps shared;
    bool bits_known, counts_bits;            // bound_ops.c: some statement may count bits
    double *in, *out, *in_lines, *out_lines; // per argument: bytes moved in any loop order
} BoundBuild;

static inline bool bound_is_argument(const BoundBuild *x, int tensor) {
    return tensor < x->p->ninputs + x->p->noutputs;
}

// bound_model.c: iterators that are terms of a subscript, and not inside other atoms of it.
uint32_t bound_own_iters(const Affine *sub, int niters);
// bound_ops.c: counts `times` operations on a pipe; counts those of a statement.
void bound_add_work(BoundStmt *b, int work, double times);
void bound_arithmetic(BoundBuild *x, int stmt);

#endif
