// Straight-line code on vector values. Private to code/.
//
// A Seg collects micro-operations in the order of the program. Values are numbered: an operation on
// the same operands is done once, and the value of an element (or vector) that was loaded or stored
// is known until it may be overwritten. Elements of the region's tile are pinned: they are in a
// fixed register across segments. micro_assign then assigns registers: it evicts the value with the
// farthest next use, and makes loads memory operands of their only user, or repeats them.
#ifndef LW_CODE_MICRO_MICRO_H
#define LW_CODE_MICRO_MICRO_H

#include "code/plan/plan.h"

typedef enum MicroKind {
    MI_CONST,   // `value` in all lanes
    MI_LOAD,    // lanes from ref; Ref.lane 0: one element in all lanes
    MI_INDEX,   // an Affine's value (plus lane·index), as `type`
    MI_OP,      // ExprOp or MicroOp `op` of the operands, which have type `from`
    MI_FMA,     // arg0 · arg1 + arg2, rounded once; with a bool arg3: arg2 where it does not hold.
                // With op 2 or 4, each i32 lane holds 2 integers of i16, or 4 of u8 by i8, and the
                // sum of their products is added
    MI_CHOOSE,  // arg2 where comparison `op` holds of arg0 and arg1 (of type `from`), else arg3
    MI_WIDEN,   // half `op` (0, 1) of the lanes of arg0 (of type f32 or i32) as f64; a single lane
                // is half 0
    MI_NARROW,  // two halves in f64 as one vector of f32 or, towards zero, i32
    MI_RESCUE,  // arg2 where arg0 <= arg1, as almost always; else ExprOp `op` of arg3. If `op` has
                // two operands: arg1 where arg0 is a number; else `op` of arg2 and arg3
    MI_CAST,    // from `from` to `type`
    MI_STORE,   // arg0 to ref
    MI_LANES,   // lane 0 of arg0, the identity of reduction `op` in the other lanes
    MI_UPPER,   // the upper half of arg0's lanes
    MI_SHUFFLE, // lanes of arg0 and arg1 interleaved; `op` is a Shuffle
    MI_BROADCAST,    // lane 0 of arg0 in all lanes
    MI_HEAD,         // arg1 in the first `op` lanes, arg0 in the others
    MI_GROUP,        // in each group of 2 or 4 lanes (op / 16) of arg0, lane op % 16 in all of them
    MI_LANE_NUMBERS, // Plan.permutations[value], as an operand of MI_PERMUTE
    MI_PERMUTE,      // lanes of arg0, or of arg0 and arg1, in the order of the last operand, an
                     // MI_LANE_NUMBERS of the same `value`
    MI_GATHER,       // each lane from ref plus arg0's elements; see seg_gather for `value`
    MI_CHECK,        // ends the kernel unless 0 <= arg0 < value in the first `op` lanes
    MI_BEGIN,        // `value` in all lanes; ref's content where a bit of `op` is set in the
                     // environment
    MI_ROW,          // the computed part of ref's address, to row slot `slot`
    MI_FETCH,        // prefetches the line at ref into the cache of level `op`
    MI_PIN,          // arg0 moves to pinned register `dst_reg`
    MI_SPILL,        // arg0 to stack slot `slot`
    MI_RELOAD        // from stack slot `slot`
} MicroKind;

// Operations that functions consist of (micro_math.c), in addition to ExprOps. Shifts work on the
// bits of any type.
typedef enum MicroOp {
    MOP_LESSER = OP_COUNT, // arg0 < arg1 ? arg0 : arg1
    MOP_GREATER,           // arg0 > arg1 ? arg0 : arg1
    MOP_SHL,               // by `value` bits
    MOP_SHR,               // by `value` bits; shifts in zeros
    MOP_POPCOUNT,          // the number of ones; where Machine.has_popcount
    MOP_TO_INT,            // `from`, a float in range, to integer `type`, towards zero; a value out
                           // of range of an i32 becomes its minimum
    // Where Machine.has_exponents:
    MOP_SCALE,    // arg0 · 2^arg1, arg1 integral
    MOP_EXPONENT, // floor(log2(|x|)); -inf for 0, inf for inf
    MOP_MANTISSA, // in [3/4, 3/2); NaN for negative numbers, 1 for ±0 and inf
    MOP_COUNT
} MicroOp;

// Shuffles of a and b by pieces of 16 bytes: the low or high halves of each piece interleaved, by 4
// or 8 bytes; or the even or odd pieces of a, then those of b.
typedef enum Shuffle {
    SHUFFLE_LOW32,
    SHUFFLE_HIGH32,
    SHUFFLE_LOW64,
    SHUFFLE_HIGH64,
    SHUFFLE_EVEN128,
    SHUFFLE_ODD128
} Shuffle;

// A location in memory: stream pointer + disp, or a computed address.
typedef struct Ref {
    int64_t disp;
    int64_t lane;       // bytes between lanes
    const Mem *mem;     // the access; if it is not linear, the address is computed, with
    const int64_t *env; // the constants of the unrolled loops
    int buffer, stream;
    int row;        // slot that holds the computed part of its address; -1: none
    int guard;      // value whose lanes select those to access, or -1
    Type type : 8;  // in memory
    uint8_t width;  // lanes
    uint8_t active; // existing lanes; < width: masked
    bool nontemporal;
} Ref;

// Do two locations of a buffer overlap, as far as is known?
bool ref_overlap(const Ref *a, const Ref *b);

static inline bool ref_is_hard(const Ref *r) { return !r->mem->off; }
// Does the index of the element come from data? It is then checked when the address is computed.
static inline bool ref_checks(const Ref *r) {
    return ref_is_hard(r) && !r->mem->unchecked && r->row < 0 && !r->mem->gathers;
}

// The operand of MI_INDEX: the affine at `env`, or the counters of machine loops in `counters`,
// plus lane times lane_step. With an operand, a guard: 0, without reading, if it holds in none of
// the active lanes.
typedef struct IndexOf {
    const Affine *affine; // NULL: 0
    const int64_t *env;
    const Lin *counters; // or NULL
    int64_t lane_step;
    int active; // existing lanes of the guard
} IndexOf;

// One cache line.
typedef struct Micro {
    MicroKind kind : 8;
    uint8_t op;
    Type type : 8;
    Type from : 8;
    uint8_t width;
    uint8_t nargs;
    // micro_assign fills in:
    int8_t fold; // operand that is a memory operand at `ref`, or -1
    int8_t dst_reg, arg_reg[4];
    int dst; // value number, -1 none
    int arg[4];
    int line; // of the Tree's text; 0: that of the previous operation
    union {
        int after; // MI_STORE: the earliest micro it may follow; MI_LOAD: the next store to its
                   // buffer
        int slot;  // MI_SPILL, MI_RELOAD
    };
    Value value;
    const Ref *ref;       // of a load or store, or of the memory operand
    const IndexOf *index; // MI_INDEX
} Micro;
_Static_assert(sizeof(Micro) == 64, "one cache line");

// Does it write register dst_reg?
static inline bool micro_writes(const Micro *m) { return m->dst >= 0 || m->kind == MI_PIN; }

typedef struct Val {
    int def; // the micro that computes it; -1: the initial content of a pinned register
    int uses;
    int16_t pin; // the register in which it should end, or -1
    Type type : 8;
    uint8_t width;
    uint8_t checked; // an earlier MI_CHECK of so many lanes showed that 0 <= it < below
    int64_t below;
} Val;

// A reduction split to cover the latency of its operation: `n` accumulators, which are updated in
// rotation and combined when the result is needed. The first is the loc's own value.
typedef struct Parts {
    int8_t n;
    int8_t next; // the part to update next
    int8_t pin;  // registers of parts 1.. in a pinned loc; -1: none
    uint8_t op;  // Reduce
    bool live;
    int val[LIMIT_PARTS]; // -1: the identity
} Parts;

// An element or vector in memory whose value is known. Computed addresses are never matched.
typedef struct Loc {
    const Ref *ref;
    int val;
    int written;    // micro after which the last write happened
    int next;       // of the same buffer
    int8_t pin;     // index into Region pins, or -1
    int8_t pending; // lanes are still to be reduced, by this Reduce; 0: none
    bool dirty, dead;
    uint8_t begin; // KernelEnv.flags; 0: none. The reduction starts from `init`, or, if a flag is
    Value init;    // set, from memory; the start is added at the horizontal reduction
    int line;      // of the last write
    Parts *parts;
} Loc;

// A line of memory that was prefetched.
typedef struct Line {
    int stream;
    int64_t number;
} Line;

// A load under a guard.
typedef struct GuardedLoad {
    const Ref *ref;
    int val;
} GuardedLoad;

typedef struct Seg {
    Arena *arena;
    VEC(Micro) micros;
    VEC(Val) vals;
    VEC(Loc) locs;
    int *table; // hash of micros: index + 1
    int table_cap;
    int *loc_table; // hash of locs: index + 1
    int loc_cap;
    struct SegBuffer {
        int head;       // newest loc, or -1
        bool written;   // stored to, or pinned, in this segment
        bool overlap;   // some locs overlap in part
        bool scattered; // its locs use several streams
        int stream;
        int64_t lo, hi; // range that its locs cover, relative to the stream's pointer
    } * buffer;
    int nbuffers;
    int torn;      // a buffer with an access that partially overlaps a pinned element, or -1
    int line;      // of the leaf being built
    bool crowded;  // has long expressions: pinned values may temporarily leave their registers
    uint64_t held; // registers that this segment must not write
    VEC(Line) fetched;
    VEC(GuardedLoad) guarded;
    int strided;            // number of strided accesses
    int deinterleaved;      // number of deinterleaved columns
    int rows;               // horizontal reductions that were done together
    int begun, first_begun; // locs of seg_begin since the last reduction; the first of them
    int spills;
    int *work; // room for micro_assign
    int work_cap;
} Seg;

void seg_init(Seg *s, Arena *arena, int nbuffers);
void seg_reset(Seg *s); // empties it, and keeps its memory

int seg_value(Seg *s, Micro *m); // appends m, or finds one that has the same result: its value
int seg_const(Seg *s, Type type, int width, Value v);
int seg_op(Seg *s, MicroKind kind, int op, Type type, Type from, int width, int n, const int *args);
// A division or square root of floats, which takes longer in wider vectors: computed in one lane if
// all lanes are the same, and otherwise in the first `active` lanes only.
int seg_divide(Seg *s, int op, Type type, int width, int active, int n, const int *args);
// The numbers of lanes as a micro-operation.
Micro plan_lane_numbers(Plan *p, Type type, int width, const Permutation *picks);
int seg_permute(Seg *s, Plan *p, Type type, int width, int n, const int *args,
                const Permutation *picks);
int seg_shift(Seg *s, int op, Type type, int width, int arg, int bits);
int seg_index(Seg *s, Type type, int width, const Affine *a, const int64_t *env, int64_t lane_step);
// An i64 that is read from memory if the guard holds in any of the active lanes.
int seg_index_where(Seg *s, int width, const Affine *a, const int64_t *env, int guard, int active);
int seg_counters(Seg *s, int width, const Lin *counters, int64_t lane_step); // in i32
// The loc of a location, or NULL.
Loc *seg_find(Seg *s, const Ref *ref);
int seg_load(Seg *s, const Ref *ref);
void seg_store(Seg *s, const Ref *ref, int val);
// Computes the variable part of an address into slot ref->row.
void seg_row(Seg *s, const Ref *ref);
// Lanes of a buffer by their distance from ref, in elements. `last` (or -1) is the last position at
// which 4 bytes may be read. Includes the check of the index.
int seg_gather(Seg *s, const Ref *ref, int distance, int64_t last);
void seg_check(Seg *s, int index, int active, int64_t size);
// Does an i32 or i64 lie in min..max in the first `active` lanes, by its operation and earlier
// checks?
bool seg_is_within(const Seg *s, int val, int active, int64_t min, int64_t max);
// Prefetches each line of 64 bytes once; false: that line was already prefetched.
enum { FETCH_TO_WRITE = 0 }; // instead of a level: into L1, for writing
bool seg_prefetch(Seg *s, const Ref *ref, int level);
// seg_next_part: the part of a loc that a reduction by `op`, split in n, updates now; 0: the loc's
// own value. Then its new value.
int seg_next_part(Seg *s, Loc *l, int op, int n);
void seg_update(Seg *s, const Ref *ref, int part, int val);
// Assigns `init` to the location unless a flag is set. Its old content is loaded as late as
// possible.
void seg_begin(Seg *s, const Ref *ref, int flags, Value init);
// The pinned loc starts the segment with its register's content. `ref` must outlive the segment.
void seg_pin(Seg *s, const Ref *ref, int pin, Type type, int pending, const Parts *parts);
Value reduce_identity(Type t, int op);
// Stores the known values of a buffer now, because code outside the segment will read it.
void seg_flush(Seg *s, int buffer);
// Stores dirty locs (pinned ones move to their registers).
void seg_close(Seg *s);
// Operations of a closed segment that only unused ones need become unused themselves.
void seg_drop_unused(Seg *s);

// transpose.c: replaces strided accesses in a closed segment by whole vectors and shuffles. Returns
// the number of transposed blocks; Seg.deinterleaved counts columns.
int micro_transpose(Seg *s, Plan *p);

// Capabilities of the instruction set.
typedef struct MicroIsa {
    int registers;
    // Can operand `arg` of `m` be a memory operand at `ref`?
    bool (*folds)(const void *user, const Micro *m, int arg, const Ref *ref);
    // May the result of `m` (not an MI_FMA) have the register of operand `arg`?
    bool (*ties)(const void *user, const Micro *m, int arg);
    // Receives the operations in order, with registers filled in.
    void (*emit)(void *user, const Micro *m);
    void *user;
} MicroIsa;

// Registers 0 .. npins-1 are pinned, except for those in s->held. Spill slots are numbered from
// s->spills on. `only` (or NULL): per micro, whether to emit it.
void micro_assign(Seg *s, const MicroIsa *isa, int npins, const bool *only);

// The machine loop whose body is the segment.
typedef struct LoopBody {
    int loop;
    int64_t n;      // least number of iterations
    int64_t stride; // indices per iteration
    bool whole;     // nothing inside could end the segment before the body ends
    bool replayed;  // the segment is also repeated with other addresses
} LoopBody;

// carry.c: elements that the previous iteration stored stay in registers behind the pinned ones.
// Emits the loads before the loop with `isa`, and returns how many there are.
int micro_carry(Seg *s, const MicroIsa *isa, const Plan *p, const LoopBody *body, int npins);

// hoist.c: computes loop-invariant values before the loop with `isa`, in registers behind the
// pinned ones. Returns how many of these the whole loop must hold (they are added to s->held).
// *left: the operations that remain in the loop, for micro_assign; NULL: all.
int micro_hoist(Seg *s, const MicroIsa *isa, const Plan *p, const LoopBody *body, int npins,
                const bool **left);

#endif
