// The Plan: a Tree prepared for code generation. Private to code/.
//
// Every index of the Tree becomes a separate, numbered loop; every subscript becomes a linear
// function of the loops, in bytes. A loop is *real* (a machine loop with a counter) or *unrolled*
// (its index is a constant in each copy).
//
// A region is a sequence of sibling nodes that is compiled as one unit. Its unrolled loops become
// straight-line code, its real loops are reductions with respect to its outputs, and the elements
// that it writes under them (its tile) stay in vector registers from first to last use. Regions are
// maximal: the outermost nodes whose tile fits. Every leaf is in a region.
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
    const Lin *part;   // if it is not linear: the offset of the linear dimensions, and
    uint64_t computed; // a bit for each other dimension: it is computed and checked
    bool gathers;      // each lane has its own index,
    Type index;        // which is computed in this type,
    int64_t limit;     // with elements from data limited to this distance from 0; 0: as they are
    bool unchecked;    // and not checked, because the program vouches for it
    int stream;        // the pointer that follows its real loops; the base for a non-linear access
    int64_t lane;      // bytes between lanes of the vector loop
    int repeat;        // consecutive lanes that share the first lane's element; 0: each has its own
    bool safe;         // always inside its buffer: neither guard nor check is needed
    bool inside;       // in every existing instance, regardless of conditions
    bool far;          // if its guard holds in no lane, it may be a page or more outside its buffer
    const Lin **sub;   // by dimension; NULL: not linear
    bool inner;        // it is inside a subscript: read while an address is computed
    bool guarded;      // not every instance performs it
    // For an access that gathers: the same access if all conditions hold in all lanes and the
    // positions of lanes are known.
    struct Mem *piece;
    int nconds;
    const Lin **cond;     // of a piece: all must be >= 0
    const int32_t *place; // of a piece: positions of lanes, in elements; NULL: `lane` bytes apart
    int fetch;            // cache level to prefetch into, 0: none
    struct {
        int lines, rows;    // lines and rows prefetched per iteration; no lines: the access itself
        int64_t stride;     // bytes from row to row
    } ahead;                // a footprint distributed over iterations (fetch.c)
    const struct Mem *next; // the access that is prefetched
} Mem;

typedef enum PKind { P_LOOP, P_GUARD, P_LEAF } PKind;

// k·index + rest >= 0 restricts a loop.
typedef struct LoopBound {
    int64_t k;
    const Lin *rest; // over loops further out
} LoopBound;

// The contents of a node; plan_number sets it, before and after loops are unrolled.
typedef struct PSpan {
    int first, last; // leaves inside: numbers [first, last)
    int64_t count;   // vector operations inside if everything is unrolled
} PSpan;

// Lanes; plan_vectorise and plan_places set them.
typedef struct PSimd {
    bool vector; // a loop: lanes run along it
    int lanes;   // of a vector loop: their number
    int vloop;   // a leaf: number of its vector loop, or -1
    int width;   // a leaf: lanes of that loop, or 1
} PSimd;

// Threads; plan_parallel sets them for loops.
typedef struct PThreads {
    bool parallel; // its iterations are divided among threads; its body is outlined
    // A parallel loop: number of perfectly nested loops inside that are also divided.
    int collapse;
    int64_t grain;     // a parallel loop: least iterations per task; initially from the Schedule
    bool has_parallel; // it is a parallel loop or has one inside
} PThreads;

// Dot products of narrow integers; plan_dots sets them for leaves.
typedef struct PDot {
    int n;        // number of products that one multiply-add sums, from elements of a word; 0: one
    bool swapped; // the first factor is the signed one
} PDot;

// The form of the code; plan_regions sets it, plan_adapt changes it for one tail.
typedef struct PForm {
    int region;    // the first node of a region: its number of siblings; 0: another node
    bool pinned;   // such a node: all that it writes is its tile, although nothing repeats inside
    bool real;     // a loop: it is a machine loop
    int unroll;    // a loop: copies of the body per machine iteration
    bool replay;   // a loop: copies of the body differ only in addresses, and the tile stays in
                   // registers across them
    bool deferred; // a guard: it initialises an accumulator in lanes at the horizontal reduction
    // A leaf: number of accumulators that its reduction uses alternately, to cover latency.
    int split;
    CodeLoss spill; // a reducing leaf: the innermost loop in which its element is loaded and stored
} PForm;

// The variant of a region for which code is being generated; the generator sets it (gen/tail.c).
typedef struct PVariant {
    int64_t limit; // a loop: its number of iterations in this tail; -1: not fixed
    bool adapted;  // plan_adapt has changed the form of the node
} PVariant;

// A node of the Plan. code_plan sets the plain fields as it reads the Tree; a separate pass sets
// each of the structs.
typedef struct PNode PNode;
struct PNode {
    PKind kind;
    int nchild;
    PNode **child;
    int depth; // number of surrounding loops with an extent above 1, which may be machine loops
    int line;  // of the Tree's text (tree_lines); 0: none
    PSpan span;
    PForm form;
    PVariant variant;

    // P_LOOP
    int loop;       // its number
    int id;         // the Tree's index
    int64_t extent; // iterations; plan_collapse multiplies it, plan_dots divides it
    Kind mark;      // of the Tree's index
    int most;       // limit of the Schedule for unrolled operations; 0: the machine's limit
    int nbounds;
    LoopBound *bound; // conditions that limit it
    PThreads threads;

    // P_GUARD: runs if all conditions are >= 0 and no bit of `flag` is set in the environment
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

// A pointer: the base of a buffer plus the contribution of the real loops.
typedef struct Stream {
    int buffer;
    int n;
    const LinTerm *t; // real loops only
    int depth;        // of the deepest use, for giving out registers
    int next;         // another stream of its buffer, or -1
} Stream;

// A vector loop whose end is only known at run time: its bounds become conditions that hold in some
// lanes; where these cannot be, it runs as a serial loop.
typedef enum VectorEnd { END_KNOWN, END_IN_LANES, END_SERIAL } VectorEnd;

// Properties that code generation found to be impossible; the plan is made again without them.
typedef struct Refusals {
    uint8_t *end;  // by loop: VectorEnd
    uint8_t *tile; // by leaf: the LossWhy that keeps its elements out of registers
} Refusals;

enum { MAX_WINDOWS = 4 }; // whole vectors from which lanes are taken

// The fewest windows of `width` elements that contain the positions of the first lanes. `start`
// receives their starts; returns their number, or MAX_WINDOWS + 1.
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
    const Affine **passed; // by Tree index id: its value, or NULL
    bool has_passed;
    int64_t *least, *most; // by Tree index id: first and last value; two more ids are free
    VEC(PNode *) leaves;
    VEC(Stream) streams;
    int *stream_of;                // by buffer: its latest stream, or -1
    int64_t *offset;               // per buffer: place in scratch; -1 for arguments
    int *alloc_depth;              // per buffer: depth of the block it lives in
    int *alloc_loop;               // per buffer: innermost loop around that block's content, or -1
    int *lanes;                    // per buffer: lanes with an element each; 0: none
    bool *private;                 // per buffer: allocated in a parallel loop; each thread has one
    int *first_leaf, *last_leaf;   // per buffer: leaves that access it
    int64_t scratch;               // bytes of all allocations, including those of one thread
    int64_t thread_scratch;        // bytes for each further thread
    int64_t shared;                // iterations of parallel loops with more than one task
    bool exact;                    // tiles touch no element that a condition leaves out
    int collapsed;                 // loops that were collapsed into a vector loop
    VEC(Permutation) permutations; // of all MI_LANE_NUMBERS
    CodeLoss spill;                // why the last candidate is not a region
    VEC(CodeLoss) losses;          // of lanes and threads
    const char *declined;          // why the Tree cannot be compiled; NULL: it can
};

// plan_parallel.c: loops that become parallel, and memory that is private to their threads.
void plan_parallel(Plan *p);

// The steps of code_plan in separate files. plan_pieces: a value with subscripts made as linear as
// possible; likewise for the subscripts of a write.
const Expr *plan_pieces(Plan *p, const Expr *value);
const Access *plan_resolve(Plan *p, const Access *a);
void plan_places(Plan *p);                          // Mem.piece
bool plan_is_plain(const Plan *p, const Affine *a); // has no passed indices
void plan_prefetches(Plan *p);
void plan_dots(Plan *p);
void plan_collapse(Plan *p);
bool plan_vectorise(Plan *p); // false: the plan must be made again, by other Refusals
// The lanes of a loop that is repeated for this number of rows; 1: none, with the reason in *why.
int plan_lanes(Plan *p, PNode *loop, int64_t rows, LossWhy *why);
// Numbers leaves, and sets the cost of copying a node.
void plan_number(Plan *p, PNode *n, int *leaf);
void plan_regions(Plan *p, PNode **nodes, int n);
// Chooses copies and split sums of a region for one of its tails (PVariant.limit): a short tail has
// fewer concurrent sums, so each is split further.
void plan_adapt(Plan *p, PNode **nodes, int n);

Plan *code_plan(Arena *arena, const Tree *tree, const Machine *machine, Refusals *refused);

const Lin *code_lin(Arena *a, int64_t c, const LinTerm *t, int n);
// The stream for a buffer with these real-loop terms.
int code_stream(Plan *p, int buffer, const LinTerm *t, int n, int depth);
void plan_stream(Plan *p, Mem *m, int depth); // sets its stream
// A comparison of indices as a linear function that is not negative where it holds, with all values
// far inside 32 bits; NULL: it is something else.
const Lin *code_condition(Plan *p, const Expr *e);
bool code_is_small(const Plan *p, const Lin *l); // are all of its values far inside 32 bits?
const Lin *code_index(Plan *p, const Affine *a); // likewise for the value of an index
bool plan_has_index(const Expr *e);              // uses an iterator's value
// Does it contain a loop across which a tile stays in registers?
bool plan_pins(const PNode *n);
bool plan_writes_skip(const Plan *p, const PNode *loop); // does no leaf below write along it?
bool plan_is_parallel(const Plan *p);                    // may some of it run in several threads?
// Does an element keep its bytes if it is loaded and stored again? This matters for a caller's
// elements outside the domain: a bool with other bytes than 0 and 1, and a signalling NaN of 16
// bits, would change.
bool plan_keeps_bytes(const Plan *p, const Mem *m);
// The smallest loop number inside, or `none`.
int plan_first_loop(const PNode *n, int none);
// Does a computed dimension of m use the loop?
bool code_computes_with(const Plan *p, const Mem *m, int loop);
const Mem *leaf_mem(const PNode *leaf, const Access *access);

#endif
