// The Plan: a Tree prepared for code. Private to code/.
//
// Every index of the Tree becomes a loop of its own, numbered; every subscript a linear function of
// the loops, in bytes. A loop is *real* (a machine loop with a counter) or *unrolled* (its index is
// a constant in each copy).
//
// A region is a run of sibling nodes compiled as one unit: its unrolled loops become straight-line
// code, its real loops are reductions as far as its outputs are concerned, and the elements it
// writes under them (its tile) stay in vector registers from the first use to the last. Regions are
// maximal: the outermost nodes whose tile fits. Every leaf is in one.
#ifndef LW_CODE_PLAN_PLAN_H
#define LW_CODE_PLAN_PLAN_H

#include "code/code.h"
#include "machine/limits.h"
#include "tree/tree.h"

typedef struct LinTerm {
    int loop;
    int64_t k;
} LinTerm;

// c + Σ k·index(loop); terms sorted by loop number, no zeros.
typedef struct Lin {
    int64_t c;
    int n;
    LinTerm t[];
} Lin;

static inline int64_t lin_coef(const Lin *l, int loop) {
    for (int i = 0; i < l->n; i++)
        if (l->t[i].loop == loop) return l->t[i].k;
    return 0;
}

static inline bool lin_same_terms(const LinTerm *a, const LinTerm *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].loop != b[i].loop || a[i].k != b[i].k) return false;
    return true;
}

// One access of a leaf.
typedef struct Mem {
    const Access *access;
    const struct PNode *leaf;
    int buffer;
    Type type;
    const Lin *off; // byte offset from the start of the buffer; NULL: not linear (gather, div, mod,
                    // min, max)
    const Lin *part;   // where it is not: the offset of the dimensions that are linear, and
    uint64_t computed; // a bit for each one that is not: it is computed, and checked
    bool gathers;      // each lane has an index of its own,
    Type index;        // computed in this type
    bool unchecked;    // or not, where somebody vouches for it
    int stream;      // the pointer that follows its real loops; for a non-linear one the bare base
    int64_t lane;    // bytes between lanes of the vector loop
    int repeat;      // lanes in a row that share one element, the first lane's; 0: each has its own
    bool safe;       // always inside its buffer: no guard and no check needed
    bool inside;     // in every instance that exists, whatever conditions say
    bool far;        // where its guard holds in no lane it may lie a page or more off its buffer
    const Lin **sub; // by dimension; NULL where one is not linear
    bool inner;      // stands inside a subscript: read while an address is computed
    bool guarded;    // not every instance performs it
    // Of one that gathers: the same where all conditions hold in all lanes, and lanes have places
    // that are known.
    struct Mem *piece;
    int nconds;
    const Lin **cond;     // of a piece, >= 0
    const int32_t *place; // of a piece: of lanes, in elements; NULL: they are `lane` bytes apart
    int fetch;            // cache level to prefetch into, 0: none
    struct {
        int lines, rows;    // lines and rows that each iteration prefetches; no lines: the access
        int64_t stride;     // bytes from row to row
    } ahead;                // a footprint that is distributed over iterations (fetch.c)
    const struct Mem *next; // the access that is prefetched
} Mem;

typedef enum PKind { P_LOOP, P_GUARD, P_LEAF } PKind;

// k·index + rest >= 0 restricts a loop.
typedef struct LoopBound {
    int64_t k;
    const Lin *rest; // over loops further out
} LoopBound;

// What a node contains; plan_number sets it, before and after loops are unrolled.
typedef struct PSpan {
    int first, last; // leaves inside: numbers [first, last)
    int64_t count;   // vector operations inside when everything is unrolled
} PSpan;

// Lanes; plan_vectorise and plan_places set them.
typedef struct PSimd {
    bool vector; // a loop: lanes run along it
    int lanes;   // a vector loop: how many run along it
    int vloop;   // a leaf: number of its vector loop, or -1
    int width;   // a leaf: lanes of that loop, or 1
} PSimd;

// Threads; plan_parallel sets them for loops.
typedef struct PThreads {
    bool parallel;     // its iterations are divided among threads: its body is outlined
    int collapse;      // a parallel loop: perfectly nested loops below it that are divided too
    int64_t grain;     // a parallel loop: least iterations per task; begins as the Schedule's
    bool has_parallel; // it is a parallel loop or has one inside
} PThreads;

// Dot products of narrow integers; plan_dots sets them for leaves.
typedef struct PDot {
    int n;        // products that one multiply-add sums, from elements in a word; 0: one
    bool swapped; // the first factor is the signed one
} PDot;

// The form of the code; plan_regions sets it, plan_adapt changes it for one tail.
typedef struct PForm {
    int region;     // the first node of a region: how many siblings it spans; 0: another node
    bool pinned;    // such a node: all that it writes is its tile, though nothing repeats inside
    bool real;      // a loop: it is a machine loop
    int unroll;     // a loop: copies of the body per machine iteration
    bool replay;    // a loop: copies of the body differ in addresses alone, and the tile stays in
                    // registers across them
    bool deferred;  // a guard: it initialises an accumulator in lanes, when the lanes are reduced
    int split;      // a leaf: accumulators that its reduction alternates between, to cover latency
    CodeLoss spill; // a leaf that reduces: the innermost loop in which it is loaded and stored
} PForm;

// The variant of a region that code is being made for; the generator sets it (gen/tail.c).
typedef struct PVariant {
    int64_t limit; // a loop: its number of iterations in this tail; -1: not fixed
    bool adapted;  // plan_adapt has changed the form of the node
} PVariant;

// A node of the Plan. code_plan sets the plain fields as it reads the Tree; each of the structs is
// set by a pass of its own.
typedef struct PNode PNode;
struct PNode {
    PKind kind;
    int nchild;
    PNode **child;
    int depth; // loops around it with an extent above 1: as many machine loops could enclose it
    int line;  // of the Tree's text (tree_lines); 0: none
    PSpan span;
    PForm form;
    PVariant variant;

    // P_LOOP
    int loop;       // its number
    int id;         // the Tree's index
    int64_t extent; // iterations; plan_collapse multiplies it, plan_dots divides it
    Kind mark;      // of the Tree's index
    int most;       // operations that the Schedule lets it unroll to; 0: the machine's limit
    int nbounds;
    LoopBound *bound; // conditions that restrict it
    PThreads threads;

    // P_GUARD: runs when all conditions are >= 0 and no bit of `flag` is set in the environment
    int nconds;
    const Lin **cond;
    int nhard;
    const Affine **hard; // conditions that are not linear
    uint32_t flag;

    // P_LEAF
    const Leaf *leaf;
    int number; // its place in Plan.leaves
    Mem write;
    int nreads;
    Mem *read;
    PDot dot;

    PSimd simd; // of loops and leaves
};

// A pointer: base of a buffer plus what the real loops contribute.
typedef struct Stream {
    int buffer;
    int n;
    const LinTerm *t; // real loops only
    int depth;        // of the deepest use, for giving out registers
    int next;         // another one of its buffer, or -1
} Stream;

// What making the code showed to be impossible; the plan is made again without it.
typedef struct Refusals {
    bool *vector;  // by loop: its end is only known at run time
    uint8_t *tile; // by leaf: the LossWhy that keeps its elements out of registers
} Refusals;

enum { MAX_WINDOWS = 4 }; // whole vectors that lanes are taken from

// The windows of `width` elements, as few as can be, in which the places of the first lanes lie;
// start: where they begin; how many, or MAX_WINDOWS + 1.
int plan_windows(const int32_t *place, int lanes, int width, int32_t *start);

// An order of lanes: by lane, a lane number of one vector, or of two concatenated ones.
typedef struct Permutation {
    uint8_t from[LIMIT_LANES];
} Permutation;

struct Plan {
    Arena *arena;
    const Tree *tree;
    const Machine *machine;
    Refusals *refused;
    PNode *root; // a guard without conditions
    int nloops;
    PNode **loop;          // by number
    int *loop_of_id;       // Tree index id -> loop number
    const Affine **passed; // by Tree index id: what it equals, or NULL
    bool has_passed;
    int64_t *least, *most; // by Tree index id: its first value and its last; two more ids are free
    VEC(PNode *) leaves;
    VEC(Stream) streams;
    int *stream_of;                // by buffer: its latest stream, or -1
    int64_t *offset;               // per buffer: place in scratch; -1 for arguments
    int *alloc_depth;              // per buffer: depth of the block it lives in
    int *alloc_loop;               // per buffer: innermost loop around that block's content, or -1
    int *lanes;                    // per buffer: lanes that have an element each; 0: none
    bool *private;                 // per buffer: lives in a parallel loop; each thread has one
    int *first_leaf, *last_leaf;   // per buffer: leaves that touch it
    int64_t scratch;               // bytes of all allocations, those of one thread included
    int64_t thread_scratch;        // bytes that every further thread needs
    int64_t shared;                // iterations of parallel loops that are more than one task
    int collapsed;                 // loops that were collapsed into a vector loop
    VEC(Permutation) permutations; // of all MI_LANE_NUMBERS
    CodeLoss spill;                // why the last candidate was no region
    VEC(CodeLoss) losses;          // of lanes and threads
    const char *declined;          // why, when the Tree cannot be compiled
};

// plan_parallel.c: loops that become parallel, and memory that is private to their threads.
void plan_parallel(Plan *p);

// The steps of code_plan that have files of their own.
// A value with subscripts as linear as they can be, and those of a write.
const Expr *plan_pieces(Plan *p, const Expr *value);
const Access *plan_resolve(Plan *p, const Access *a);
void plan_places(Plan *p);                          // Mem.piece
bool plan_is_plain(const Plan *p, const Affine *a); // has no passed indices
void plan_prefetches(Plan *p);
void plan_dots(Plan *p);
void plan_collapse(Plan *p);
void plan_vectorise(Plan *p);
// Lanes that would run along a loop that is repeated for this number of rows; 1: none, and why.
int plan_lanes(Plan *p, PNode *loop, int64_t rows, LossWhy *why);
void plan_number(Plan *p, PNode *n, int *leaf); // leaves, and what a node costs when it is copied
void plan_regions(Plan *p, PNode **nodes, int n);
// Copies and split sums of a region for one of its tails (PVariant.limit): a short tail has fewer
// sums side by side, so that each is split further.
void plan_adapt(Plan *p, PNode **nodes, int n);

Plan *code_plan(Arena *arena, const Tree *tree, const Machine *machine, Refusals *refused);

const Lin *code_lin(Arena *a, int64_t c, const LinTerm *t, int n);
// The stream for a buffer with these real-loop terms.
int code_stream(Plan *p, int buffer, const LinTerm *t, int n, int depth);
void plan_stream(Plan *p, Mem *m, int depth); // m gets its stream
// A comparison of indices as a linear function that is not negative where it holds, all of its
// values far inside of 32 bits; NULL: it is something else.
const Lin *code_condition(Plan *p, const Expr *e);
bool code_is_small(const Plan *p, const Lin *l); // all of its values are
const Lin *code_index(Plan *p, const Affine *a); // likewise, what an index is
bool plan_has_index(const Expr *e);              // uses an iterator's value
// Does it contain a loop across which a tile stays in registers?
bool plan_pins(const PNode *n);
bool plan_writes_skip(const Plan *p, const PNode *loop); // no leaf below writes along it
bool plan_is_parallel(const Plan *p);                    // some of it may run in several threads
// Does an element that is loaded and stored again keep its bytes? A caller's element outside of the
// domain must: a bool of other bytes than 0 and 1, and a signalling NaN of 16 bits, would not.
bool plan_keeps_bytes(const Plan *p, const Mem *m);
// The loop inside with the smallest number, or `none`.
int plan_first_loop(const PNode *n, int none);
// Is the loop mentioned in a dimension of m that is computed?
bool code_computes_with(const Plan *p, const Mem *m, int loop);
const Mem *leaf_mem(const PNode *leaf, const Access *access);

#endif
