// The x86-64 generator. Private to code/x86.
//
// One function: prologue, the Plan's nodes in order, epilogue; after it the bodies of parallel
// loops, functions of their own with the same frame (parallel.c); constants. General registers:
// rax, rcx, rdx are scratch; the rest hold stream pointers and loop counters, the most deeply used
// first, others in stack slots. Vector registers: 0.. are the region's pins, then free ones, and
// the last one is scratch for multi-instruction operations. k4.. are the masks of the region's
// tails, k1 that of another one, k3 lanes of a guard, k2 is scratch.
#ifndef LW_CODE_X86_GEN_H
#define LW_CODE_X86_GEN_H

#include "asm/x86.h"
#include "code/code.h"
#include "code/listing.h"
#include "code/micro.h"

enum { GPR_SLOT_NONE = -1 };

// A 64-bit quantity in a register or a stack slot.
typedef struct Item {
    int reg;  // -1: in the slot
    int slot; // byte offset from rsp
} Item;

typedef struct PoolEntry {
    uint8_t bytes[64];
    int size;
    AsmLabel label;
} PoolEntry;

// The outlined body of a parallel loop, made after the function that calls it.
typedef struct Body {
    PNode *loop;
    AsmLabel label;
    const int64_t *value; // Gen.value where the loop stands
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
    int pending; // Reduce of lanes not yet folded, 0 none
    int line;    // of the leaf that writes it
    int nconds;  // it exists where these are >= 0; tested when it is loaded and stored
    const Lin **cond;
} Pin;

// Code that is rarely needed, behind the function.
typedef struct Detour {
    AsmLabel from, back;
    X86Arg reg;
} Detour;

enum { MAX_ROWS = 32 }; // computed addresses kept at a time

// What a test has shown about counters: min <= Σ k·counter <= max.
typedef struct Known {
    const Lin *sum; // of machine loops alone
    int64_t min, max;
} Known;

typedef struct Row {
    const Mem *mem;
    const int64_t *env;
} Row;

// Accumulators along a vector loop hold partial results in lanes, or one result; split ones hold
// parts, or one value. Where paths meet they must agree.
typedef struct Lanes {
    int8_t pending[64]; // per pin: the reduction of its lanes, 0 when folded
    bool split[64];
} Lanes;

typedef struct Gen {
    Arena *arena;
    Plan *p;
    const Machine *m;
    Asm a;
    DiagList *diags;
    Item *stream, *counter;
    int64_t
        *value;    // by loop: constant of an unrolled loop, or offset added to a real one's counter
    int env_slot;  // stack slot of the KernelEnv pointer
    int cut_slots; // four limits of the loop that is being cut
    int save_slots; // stack area for pointers saved around loops, one group per depth
    int status_slot;
    int vector_area;  // byte offset from rsp of vector spills
    int vector_slots; // in use at most
    int call_area;    // 4 × 64 bytes for operands of calls
    VEC(PoolEntry *) pool;
    Set pooled; // by content
    VEC(Detour *) detours;
    Row row[MAX_ROWS];       // of this segment
    Item row_item[MAX_ROWS]; // where the offset of each is kept
    int nrows;
    bool streams_out; // has non-temporal stores
    int tricks[TRICK_COUNT];
    VEC(CodeLine) lines;
    VEC(KernelFrame) unwind;
    Listing *listing;    // NULL: none is wanted
    Seg *seg;            // the segment being built, or NULL
    AsmLabel *top;       // it is the body of a loop, which will begin here; or NULL
    Turns turns;         // of that loop
    bool fresh;          // nothing is in it yet
    bool replaying;      // it will be repeated
    VEC(Micro) recorded; // its operations
    Seg segment;
    VEC(Pin) pins;
    int pinned;    // registers that they take, and what the loop around here holds
    uint64_t held; // registers that keep what was made in front of that loop: nobody writes them
    bool in_region;
    int active;            // lanes of the current vector that exist
    int k1;                // active lanes that k1 holds a mask for; 0: unknown
    int k3;                // value (number + 1) whose lanes k3 holds; 0: none
    int masks, mask[4];    // active lanes that k4.. hold masks for throughout the region
    int scratch;           // the scratch vector register
    const PNode *indexing; // the leaf whose subscripts are being computed, or NULL
    AsmLabel bad;          // where the kernel ends after a bad index
    bool bad_used;
    AsmLabel leave;     // where the function ends
    VEC(size_t) frames; // where the size of the frame is to be written
    VEC(Body *) bodies;
    AsmLabel apply;     // the routine that calls KernelEnv.apply,
    bool calls;         // if there is one
    AsmLabel divide[4]; // routines that divide 64-bit integers: unsigned, signed, and their rests,
    bool divides[4];    // where there is need
    const char *declined;
    VEC(const Lin *) maybe;      // conditions of the copy whose elements are being pinned, >= 0
    VEC(const Lin *) lane_conds; // of the guards around here that differ from lane to lane
    VEC(const Lin *) counters;   // every sum of counters that lanes are compared with
    VEC(Known) known;            // here
    int chosen;                  // conditions decided in front of the loops around here
    int no_vector;               // a vector loop that must run as a serial one; -1: none
    int no_tile;                 // a leaf whose elements must not be pinned; -1: none,
    SpillWhy why_no_tile;        // and why
    int depth;
    int regions;
    size_t code_before;
} Gen;

// ops.c: one micro-operation with its registers.
// dst <- x op y; three different registers
void gen_reduce(Gen *g, Type t, int op, int width, int dst, int x, int y);
void x86_micro(void *gen, const Micro *m); // a MicroIsa.emit
bool x86_folds(const void *user, const Micro *m, int arg, const Ref *ref);
bool x86_ties(const void *user, const Micro *m, int arg);

void gen_set_const(Gen *g, Type t, int width, int reg, Value v);

// math.c: what functions are made of.
void gen_micro_op(Gen *g, const Micro *m);
void gen_choose(Gen *g, const Micro *m);
void gen_half(Gen *g, const Micro *m);
void gen_join(Gen *g, const Micro *m);

// cast.c
void gen_cast(Gen *g, const Micro *m);
void gen_wrap(Gen *g, Type t, X86Arg lanes); // integers under 32 bits, after arithmetic

// call.c: through the environment, with all registers kept.
void gen_call(Gen *g, const Micro *m);
void gen_rescue(Gen *g, const Micro *m);
void gen_divide64(Gen *g, const Micro *m);
void gen_apply_routine(Gen *g); // behind the kernel's code
void gen_divide_routines(Gen *g);

// gen.c
void gen_enter(Gen *g); // registers saved, the frame made, status 0; rdi, rsi, rdx, rcx are kept
void gen_leave(Gen *g); // returns the status

// gen.c, for ops.c:
// rax <- the value of an affine at `env`; uses rax, rcx, rdx and the stack.
void gen_affine(Gen *g, const Affine *a, const int64_t *env);
// A memory operand for ref, through `scratch_gpr` where need be.
X86Arg gen_mem(Gen *g, const Ref *ref, unsigned scratch_gpr);
AsmLabel *gen_pool(Gen *g, const void *bytes, int size);

void gen_frame(Gen *g, FrameRule rule, int kept, int at); // holds for what follows
void gen_line(Gen *g, int line); // what follows belongs to this line of the Tree's text

static inline X86Arg gen_slot(int slot) { return x86_sized(x86_mem(X86_RSP, slot), 8); }
void gen_load_item(Gen *g, unsigned gpr, Item it);

// A value of n lanes occupies n·4 or n·8 bytes; see ops.c.
static inline int gen_lane_size(Type t) { return type_info[type_compute(t)].bits == 64 ? 8 : 4; }

static inline X86Arg gen_vreg(Type t, int width, int reg) {
    unsigned bytes = (unsigned)(gen_lane_size(t) * width);
    return x86_vec(bytes <= 16 ? 16 : bytes, (unsigned)reg);
}

static inline bool gen_is64(Type t) { return gen_lane_size(t) == 8; }

static inline bool gen_is_wide(const Gen *g) { return g->m->isa == ISA_AVX512; }

// list.c: what is told to the Listing
void list_heard(Asm *a, size_t offset, unsigned op, const void *operands);
void list_frame(Gen *g, size_t patch, int32_t frame); // `sub rsp, imm32` got its number
void list_call(Gen *g, int op, Type from, Type to);

// index.c
X86Arg gen_item(Item it);
void gen_item_set(Gen *g, Item it, int64_t value);
void gen_item_add(Gen *g, Item it, int64_t value);
Item gen_counter(Gen *g, int loop);
void gen_load_pushed(Gen *g, unsigned gpr, Item it);
void gen_lin(Gen *g, const Lin *l);
void gen_counters(Gen *g, const Lin *l); // rax <- the same of counters alone
bool gen_lin_known(const Gen *g, const Lin *l, int64_t *value);
void gen_lin_limits(const Gen *g, const Lin *l, int64_t *min, int64_t *max);
void gen_push(Gen *g);
void gen_pop(Gen *g, unsigned r);
void gen_divide(Gen *g, int64_t k, bool mod);

// lanes.c: conditions that differ from lane to lane.
bool gen_in_lanes(const PNode *guard, int cond); // one of its conditions does
int gen_lanes_truth(const Gen *g, const Lin *l, int vloop, int width);
const Lin *gen_counters_of(Gen *g, const Lin *l); // its machine loops; NULL: none
int gen_lanes_hold(Gen *g, const Lin *l, int vloop, int width);

// leaf.c
void gen_open(Gen *g);
void gen_begin(Gen *g); // the segment that was opened, if nothing is in it yet
void gen_close(Gen *g);
void gen_close_to(Gen *g, void (*emit)(void *gen, const Micro *m));
Ref gen_ref(Gen *g, const PNode *leaf, const Mem *m, int active);
void gen_leaf(Gen *g, PNode *n);
void gen_deferred(Gen *g, const PNode *guard); // see PNode.deferred
// What lanes share (Mem.repeat) can be taken from whole vectors; else it comes element by element.
bool gen_has_groups(const Gen *g, const Mem *m);

// loop.c
// What accumulators should be like in a loop: spread where it reduces into them, one result where
// it only reads them, as they are where it does neither.
Lanes gen_lanes_spread(const Gen *g, const PNode *n);
// Ends the straight-line code here; what follows is reached from elsewhere too, with the
// accumulators as in `want`.
void gen_boundary(Gen *g, const Lanes *want);
void gen_copies(Gen *g, PNode *n, int64_t total, int step); // straight bodies, `step` apart
void gen_open_turns(Gen *g, PNode *n, int64_t turns, AsmLabel *top); // with its first segment

// cut.c: innermost loops whose conditions hold in a range of turns. NULL: there is none.
typedef struct Cuts Cuts;
const Cuts *gen_find_cuts(Gen *g, const PNode *n);
void gen_cut(Gen *g, PNode *n, const Cuts *c);

void gen_children(Gen *g, PNode *n);
int gen_limits(Gen *g, const PNode *n, int64_t *lo, int64_t *hi, const Bound **open);
void gen_pin_lanes(Gen *g, int i, int want, bool split);
bool gen_has_bounds(Gen *g, const PNode *n);
bool gen_has_machine_loop(const PNode *n); // inside
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

// False: there is no interior, or no need of one.
bool gen_find_interiors(const Gen *g, PNode *const *at, int n, int first_inside, Interiors *in);
// Jumps to `other` outside of them; what follows is made for the inside.
void gen_enter_interiors(Gen *g, const Interiors *in, AsmLabel *other);
void gen_leave_interiors(Gen *g, const Interiors *in);
void gen_walk(Gen *g, PNode *n);
void gen_advance(Gen *g, int loop, int64_t by);
void gen_begin_loop(Gen *g); // at g->top, if it waits
void gen_shift(Gen *g, int loop, X86Op way);
int gen_range(Gen *g, PNode *n);

// parallel.c
void gen_parallel(Gen *g, PNode *n);
void gen_bodies(Gen *g);

// tail.c: a region, or something else by itself, with code for each of its tails. Loops from
// first_inside on are in it; -1: none has a tail.
void gen_with_tails(Gen *g, PNode **at, int n, int first_inside,
                    void (*emit)(Gen *g, PNode **at, int n));
// Is it where a split ends that does not divide, and does no machine loop inside decide it?
bool gen_ends_split(const Gen *g, const PNode *n, const Bound *b, int first_inside);

// region.c
void gen_nodes(Gen *g, PNode **at, int n);
void gen_masks(Gen *g, PNode **at, int n); // finds and sets those of tails inside

#endif
