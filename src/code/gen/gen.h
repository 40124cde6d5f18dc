// The code generator for any instruction set. Private to code/.
//
// One function: prologue, the Plan's nodes in order, epilogue; after it the bodies of parallel
// loops, functions of their own with the same frame. Item registers hold stream
// pointers and loop counters, the most deeply used first; the others live in stack slots. Vector
// registers: 0.. are the region's pins, then free ones; the last ones belong to the instruction
// set.
//
//   gen.c       registers and slots, the function; lanes and tiles that prove impossible
//   region.c    regions: which elements stay in registers, where they are loaded and stored
//   tail.c      code for each way in which splits that do not divide can end
//   interior.c  code without tests where all conditions of a region hold
//   loop.c      loops and guards
//   accumulator.c  the forms of accumulators, which must agree where paths meet
//   cut.c       innermost loops cut where conditions begin and cease to hold
//   gen_parallel.c  parallel loops, their outlined bodies
//   gen_segment.c, leaf.c  segments of straight-line code, and leaves as micro-operations in them
//   gen_lanes.c conditions that differ between lanes
//   index.c     index arithmetic
//
// All of it speaks to the machine through a GenIsa (isa.h) and names no instruction set.
#ifndef LW_CODE_GEN_GEN_H
#define LW_CODE_GEN_GEN_H

#include "code/gen/isa.h"

// The outlined body of a parallel loop, made after the function that calls it.
typedef struct Body {
    PNode *loop;
    AsmLabel label;
    const int64_t *value; // GenHere.value at the loop
} Body;

// An element of the region's tile.
typedef struct Pin {
    int buffer;
    Ref ref;
    Type type;   // compute type
    bool lanes;  // accumulates in lanes (a reduction along the vector loop)
    Reduce op;   // of its reduction
    Parts parts; // the reduction split, in registers of their own
    bool loaded, written;
    int pending; // Reduce of lanes that are not reduced to one yet; 0: none
    int line;    // of the leaf that writes it
    int nconds;  // it exists where these are >= 0; tested when it is loaded and stored
    const Lin **cond;
} Pin;

enum { MAX_ROWS = 32 }; // computed addresses kept at a time

// A fact about counters that a test has established: min <= Σ k·counter <= max.
typedef struct Known {
    const Lin *sum; // of machine loops alone
    int64_t min, max;
    int slot; // holds the sum; 0: none does
} Known;

enum { MAX_CHOSEN = 2 }; // conditions that are decided in front of one loop (loop.c)

typedef struct Row {
    const Mem *mem;
    const int64_t *env;
} Row;

// Accumulators along a vector loop hold partial results in lanes, or one result; split ones hold
// parts, or one value. Where paths meet they must agree.
typedef struct Lanes {
    int8_t pending[64]; // per pin: Pin.pending
    bool split[64];
} Lanes;

// The stack frame and the registers of Items. make_function lays them out before any code.
typedef struct GenStack {
    Item *stream;            // by stream: its pointer
    Item *counter;           // by loop: its counter
    Item row_item[MAX_ROWS]; // by place of a row: the offset of a computed address
    int env_slot;            // the KernelEnv pointer; the next slot is the instruction set's
    int status_slot;         // what the kernel returns
    int save_slots;          // ends of bounded loops, by loop
    int cut_slots;           // four limits of the loop that is being cut
    int chosen_slots;        // sums of counters that conditions in front of loops compared
    int bytes;               // of all slots together
} GenStack;

// Properties of the generated code. All of the generator adds to it; gen_code reads it.
typedef struct GenResult {
    int tricks[TRICK_COUNT]; // how often each was used
    VEC(CodeLine) lines;     // gen_line: where the code of each line begins
    VEC(Body *) bodies;      // gen_parallel: outlined bodies, still to be made
    int vector_slots;        // gen_close_to: the most slots of 64 bytes that spilled vectors took
    const char *declined;    // why the Tree cannot be compiled, or NULL
    int no_vector;           // a vector loop that must run as a serial one; -1: none
    int no_tile;             // a leaf whose elements must not be pinned; -1: none
    LossWhy why_no_tile;     // the reason for no_tile
} GenResult;

// What holds at the current place in the loops. Whoever makes a loop, a guard, a copy or a variant
// sets it and restores it afterwards.
typedef struct GenHere {
    int64_t *value;       // by loop: the index of an unrolled one, or an offset of the counter
    int active;           // lanes of the current vector that exist
    int chosen;           // conditions that were decided in front of the enclosing loops (loop.c)
    uint32_t flags_clear; // flags of the environment that tests have shown to be clear
    uint32_t flags_set;   // one of these is set; 0: none is known to be
    int cases;            // variants of tails that enclose this code (tail.c)
    VEC(Known) known;     // what tests have shown about counters
    VEC(const Lin *) lane_conds; // conditions of enclosing guards that differ from lane to lane
    VEC(PNode *) counts;         // loops whose iteration counts are in slots (gen_put_counts)
    int *count_slot;             // by loop: that slot; 0: none
    const Lanes *meet;           // accumulators where variants of a body meet; NULL: none do
    const PNode *indexing;       // the leaf whose subscripts are being computed, or NULL
} GenHere;

// The region whose code is being made. region.c sets it.
typedef struct GenRegion {
    bool open;                  // code is inside a region
    VEC(Pin) pins;              // the elements of its tile
    VEC(const Lin *) maybe;     // conditions, >= 0, of the copy whose elements are being pinned
    int pinned;                 // registers of pins, and of values that the enclosing loop holds
    uint64_t held;              // registers with loop-invariant values (hoist.c): not written
    int masks, mask[MAX_MASKS]; // active lanes of the tails whose masks are in registers
} GenRegion;

// The straight-line code being made, from gen_open to gen_close. Its body is Gen.seg.
typedef struct GenStraight {
    Seg segment;         // the memory of Gen.seg
    bool fresh;          // it has no operation yet
    AsmLabel *top;       // the loop of this body begins here; NULL: not a whole body
    LoopBody body;       // that loop
    bool replaying;      // it will be repeated with other addresses (loop.c)
    VEC(Micro) recorded; // its operations, to be repeated
    int nrows;
    Row row[MAX_ROWS];       // computed addresses in it
    int row_place[MAX_ROWS]; // where each is kept: rows that are not in use together share places
} GenStraight;

struct Gen {
    // Set by gen_code
    Arena *arena;
    Plan *p;
    const Machine *m;
    const GenIsa *isa;
    void *user;  // the caller's, for the instruction set
    void *own;   // the instruction set's state
    Asm a;       // the code
    int scratch; // vector registers below this one hold values
    // Set by passes
    GenStack stack;
    GenResult result;
    GenHere here;
    GenRegion region;
    GenStraight straight;
    Seg *seg;                  // the open segment, or NULL (gen_segment.c)
    VEC(const Lin *) counters; // sums of counters that lanes were compared with (gen_lanes.c)
};

// gen.c
// The code of a Plan (gen_plan, code.h) with an instruction set. The Plan cannot be used again.
CodeAnswer gen_code(Plan *plan, const GenIsa *isa, void *user, Code *out, DiagList *diags);
void gen_emit(void *gen, const Micro *m); // one micro-operation; a MicroIsa.emit
void gen_line(Gen *g, int line);          // what follows belongs to this line of the Tree's text

// A value of n lanes occupies n·4 or n·8 bytes.
static inline int gen_lane_size(Type t) { return lane_bytes(t); }

static inline bool gen_is64(Type t) { return gen_lane_size(t) == 8; }

static inline void gen_move(Gen *g, GenArg to, GenArg from) { g->isa->move(g, to, from); }
static inline void gen_op(Gen *g, GenOp op, GenArg to, GenArg by) {
    g->isa->op(g, op, to, by, false);
}
static inline void gen_branch(Gen *g, GenCond c, GenArg x, GenArg y, AsmLabel *to) {
    g->isa->branch(g, c, x, y, to);
}
static inline void gen_jump(Gen *g, AsmLabel *to) { g->isa->jump(g, to); }

// From here on the sum of counters lies in [min, max]; GenHere.known shrinks where that ends.
static inline void gen_know(Gen *g, const Lin *sum, int64_t min, int64_t max) {
    vec_push(g->arena, &g->here.known, ((Known){sum, min, max, 0}));
}

// index.c: A is the result of each, B is destroyed.
static inline Item gen_counter(const Gen *g, int loop) { return g->stack.counter[loop]; }
// The slot for the end of a loop whose limits depend on loops around it.
static inline int gen_end_slot(const Gen *g, const PNode *n) {
    return g->stack.save_slots + n->loop * 8;
}
void gen_affine(Gen *g, const Affine *a, const int64_t *env); // the value of an affine at `env`
void gen_lin(Gen *g, const Lin *l);                           // of a linear function
void gen_counters(Gen *g, const Lin *l);                      // the same of counters alone
void gen_index(Gen *g, const IndexOf *index);                 // of lane 0
// The computed part of an address, in units of 1 << gen_row_shift bytes; indices are checked.
void gen_row_offset(Gen *g, const Ref *ref);
int gen_row_shift(const Gen *g, const Ref *ref);
Item gen_row_item(const Gen *g, int row);
// The facts about a linear function that need no code.
bool gen_lin_known(const Gen *g, const Lin *l, int64_t *value);
void gen_lin_limits(const Gen *g, const Lin *l, int64_t *min, int64_t *max);

// gen_lanes.c: conditions that differ from lane to lane.
bool gen_in_lanes(const PNode *guard, int cond); // one of its conditions does
int gen_lanes_truth(const Gen *g, const Lin *l, int vloop, int width);
const Lin *gen_counters_of(Gen *g, const Lin *l); // its machine loops; NULL: none
// The same, divided by the greatest common divisor of its factors.
const Lin *gen_unit_of(Gen *g, const Lin *l, int64_t *common);
int gen_lanes_hold(Gen *g, const Lin *l, int vloop, int width);

// gen_segment.c
void gen_open(Gen *g);
void gen_begin(Gen *g); // the segment that was opened, if nothing is in it yet
void gen_forget_temporaries(Gen *g, const PNode *n); // at the end of an iteration of n
void gen_close(Gen *g);
void gen_close_to(Gen *g, void (*emit)(void *gen, const Micro *m));
// leaf.c
Ref gen_ref(Gen *g, const PNode *leaf, const Mem *m, int active);
void gen_leaf(Gen *g, PNode *n);
void gen_deferred(Gen *g, const PNode *guard); // see PForm.deferred
// Whether elements that lanes share (Mem.repeat) can be taken from whole vectors; else they are
// loaded one by one.
bool gen_has_groups(const Gen *g, const Mem *m);

// accumulator.c
Lanes gen_lanes_now(const Gen *g);
void gen_lanes_restore(Gen *g, const Lanes *want);
// The form of accumulators that a loop wants: partial results in lanes if it reduces into them, one
// result if it only reads them, unchanged otherwise.
Lanes gen_lanes_wanted(const Gen *g, const PNode *n);
// Ends the straight-line code here: other code jumps to this place too, with the accumulators as in
// `want`.
void gen_boundary(Gen *g, const Lanes *want);

// loop.c
void gen_copies(Gen *g, PNode *n, int64_t total, int step); // straight bodies, `step` apart
// The body of a machine loop, which begins at `top` and runs about `iterations` times: `stride`
// iterations, then pointers and the counter move on. Registers that it holds are free behind it.
void gen_iteration(Gen *g, PNode *n, int64_t iterations, int64_t stride, const Lanes *lanes,
                   AsmLabel *top);

// cut.c: innermost loops whose conditions hold in a range of iterations. NULL: there is none.
typedef struct Cuts Cuts;
const Cuts *gen_find_cuts(Gen *g, const PNode *n);
void gen_cut(Gen *g, PNode *n, const Cuts *c);

void gen_children(Gen *g, PNode *n);
int gen_limits(Gen *g, const PNode *n, int64_t *lo, int64_t *hi, const LoopBound **open);
void gen_pin_lanes(Gen *g, int i, int want, bool split);
bool gen_has_bounds(Gen *g, const PNode *n);
bool gen_is_straight(Gen *g, const PNode *n); // inside; no limit or guard is left open
bool gen_has_machine_loop(const PNode *n);    // inside
void gen_conditions(Gen *g, PNode *n, AsmLabel *skip);
int gen_guard_truth(Gen *g, const PNode *n);

// interior.c: where all conditions in a region hold.
enum { MAX_INTERIORS = 4 };

typedef struct Interior {
    const PNode *loop;
    int64_t first, last;
    bool worth; // conditions that would be tested
} Interior;

typedef struct Interiors {
    int n;
    Interior at[MAX_INTERIORS];
} Interiors;

// False: there is no interior, or it is not needed.
bool gen_find_interiors(const Gen *g, PNode *const *at, int n, int first_inside, Interiors *in);
// Jumps to `other` outside of them; the code after it is for the inside.
void gen_enter_interiors(Gen *g, const Interiors *in, AsmLabel *other);
void gen_leave_interiors(Gen *g, const Interiors *in);
void gen_walk(Gen *g, PNode *n);
void gen_advance(Gen *g, int loop, int64_t by);
void gen_begin_loop(Gen *g);                 // at g->top, if it waits
void gen_shift(Gen *g, int loop, GenOp way); // GEN_ADD or GEN_SUB
int gen_range(Gen *g, PNode *n);

// gen_parallel.c
void gen_parallel(Gen *g, PNode *n);
void gen_bodies(Gen *g);

// tail.c: a region, or something else by itself, with code for each of its tails. Loops from
// first_inside on are in it; -1: none has a tail.
void gen_with_tails(Gen *g, PNode **at, int n, int first_inside,
                    void (*emit)(Gen *g, PNode **at, int n));
// The body of a machine loop of the region likewise, where lanes run along loops whose end it
// decides; false: there are none, and nothing was made.
bool gen_tails_inside(Gen *g, PNode *n);
// Computes the numbers of iterations that regions below n test, those that n decides last; they
// hold until they are dropped, down to as many as there were.
int gen_put_counts(Gen *g, PNode *n);
void gen_drop_counts(Gen *g, int before);
// Is it where a split ends that does not divide, and does no machine loop inside decide it?
bool gen_ends_split(const Gen *g, const PNode *n, const LoopBound *b, int first_inside);

// region.c
void gen_nodes(Gen *g, PNode **at, int n);
void gen_masks(Gen *g, PNode **at, int n); // finds and sets those of tails inside

#endif
