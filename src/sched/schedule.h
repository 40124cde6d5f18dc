// A Schedule: how to run a Program. Each statement has a section with an order of (possibly split)
// loops and marks, and with the place and memory layout of the tensor that it defines.
//
//     C: m/192:p n/512 k/256 m/6 n/16 k m n:v     outermost first; m/192 runs in steps of 192
//         copy A at k/256 layout (m/6 k m)        packed: what one iteration of k/256 reads
//         copy B as f32 at k/256                  the same, converted once instead of at every read
//         accumulators 4
//         cache B l2                              of a GPU: loads bypass L1
//     T: y x | c                                  later statements share no loop right of the bar
//         at y/8                                  computed inside its reader's loop y/8, as needed
//     O: m n:v
//         after C                                 post-operation of C, when its sum is complete
//     U: t/16 i/64 t i j:v                        time tiles of a stencil
//         skew i by t                             the loops of i run over i + t
//
// With a first line `flatten` it refers to the flat form of the Program (flatten.h).
//
// Any order of any splits is correct (lower.c). Missing levels are added innermost, and a statement
// without a section runs its iterators as declared: the empty Schedule is the naive one.
// The text form (.lws) is documented in docs/schedules.md; print(parse(t)) == t for every t that
// print produced.
//
// Schedules are values: the actions below return a new one that shares unchanged sections, so
// keeping the old pointer is undo. Sections and loops are addressed by label and position.
#ifndef LW_SCHED_SCHEDULE_H
#define LW_SCHED_SCHEDULE_H

#include "program/stmt_facts.h"
#include "tree/tree.h"

// One loop of an order: `m/64`, `m%4` (interleaved), `m` (step 1), with its mark.
typedef struct SchedLoop {
    Name iter;
    int64_t step;     // values left inside one iteration; 1: the last level
    bool interleaved; // these values are at distance ceil(extent/step), not neighbours
    Kind kind;
    Range range;
} SchedLoop;

// A loop of some reader, named from outside: its iterator and step (the outermost one that fits).
typedef struct LoopRef {
    Name iter; // NULL: none
    int64_t step;
    bool interleaved;
    Range range;
} LoopRef;

// A memory layout: dimensions from the slowest to the fastest; `m/16` is the number of the block of
// 16. A dimension is named by its number or by the iterator that subscripts it.
typedef struct LayoutDim {
    Name dim;
    int64_t block; // 1: the dimension itself, or the position inside its blocks
    Range range;
} LayoutDim;

typedef struct Storage {
    int ndims; // 0: row-major
    const LayoutDim *dim;
    BufferHome home; // HOME_AUTO: not said
    Range place;
    int align;           // bytes; 0: not said
    int swizzle, stages; // of a GPU: see Buffer; 0: not said
    bool async;
} Storage;

typedef struct SchedCopy {
    Name tensor; // read by the statement
    Type as;     // the type of the copy, wider than the tensor's; TYPE_NONE: the same type
    LoopRef at;  // none: before everything
    Storage storage;
    Range range;
} SchedCopy;

typedef struct SchedPrefetch {
    Name tensor;
    LoopRef at;
    int64_t distance; // iterations of that loop
    int level;        // of cache, 1 the innermost
    Range range;
} SchedPrefetch;

typedef struct SchedCache {
    Name tensor; // read by the statement, or by the copy that it reads instead
    LoadCache cache;
    Range range;
} SchedCache;

// skew i by 2*t + s: the loops of `i` run over i + 2*t + s instead of i.
typedef struct SkewTerm {
    Name iter;
    int64_t coef;
} SkewTerm;

typedef struct SchedSkew {
    Name iter;
    int nterms;
    const SkewTerm *term;
    Range range;
} SchedSkew;

typedef struct SchedStmt {
    Name label; // of the statement
    Range range;
    int nloops;
    const SchedLoop *loop;
    int stage; // later statements do not share the loops from here on; -1: none
    int nskews;
    const SchedSkew *skew;
    LoopRef at;        // compute the tensor inside this loop of each reader
    bool inlined;      // replace each read by the definition
    Name after;        // post-operation of the statement with this label
    LoopRef privatise; // partial results, one per iteration of this loop, combined at the end
    Storage storage;   // of the tensor, if temporary
    int ncopies;
    const SchedCopy *copy;
    int nprefetches;
    const SchedPrefetch *prefetch;
    int ncaches;
    const SchedCache *cache;
    bool nontemporal;
    int groups; // of warps, which divide the staged loop over a reduction (groups.c); 0: none
    Range groups_range;
    int accumulators, unroll_limit; // 0: automatic
    int64_t grain;                  // 0: automatic
    int priority;                   // of independent statements, the higher one runs first
} SchedStmt;

typedef struct Schedule {
    Arena *arena;
    Names *names;
    const Source *source; // the text that ranges refer to; may be NULL
    int nstmts;
    const SchedStmt *const *stmt; // unique labels
    bool flatten;                 // it speaks of the Program's flat form (flatten.h)
    Range flatten_range;
} Schedule;

// --- Text (schedule.c) -------------------------------------------------------------------------
void schedule_print(Text *out, const Schedule *s);
Schedule *schedule_parse(Arena *arena, Names *names, const Source *source, DiagList *diags);

// The Schedule with a loop for each word `groups`, groups.c; NULL, reported: there is none.
const Schedule *schedule_groups(Arena *arena, const Program *p, const Schedule *s, DiagList *diags);

// --- Lowering (lower.c) ------------------------------------------------------------------------
// The Tree of a bound Program under a Schedule (NULL: the naive one). Reports what is meaningless
// (an unknown label or iterator, a vector loop that is not innermost, ...) and returns NULL.
Tree *tree_lower(Arena *arena, const Program *p, const Schedule *s, DiagList *diags);

// Where the loops of a Schedule are in its Tree. Statements that share a loop have one place each;
// so do the loops around initialisations and post-operations, which repeat those of the statement.
typedef struct LoopPlace {
    int index; // of the Tree
    Name label;
    int at;        // in the order of that statement
    bool repeated; // around an initialisation or a post-operation
} LoopPlace;
// The loops of a statement with those that its section omits.
typedef struct FullOrder {
    Name label;
    int n;
    const SchedLoop *loop;
} FullOrder;
typedef struct LoopMap {
    Arena *arena;
    VEC(LoopPlace) place;
    VEC(FullOrder) order; // one per statement, copies and partial results included
} LoopMap;
Tree *tree_lower_mapped(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                        LoopMap *map);

// The same for candidates of a search: Trees of one Program under Schedules that differ here and
// there share every node in which they agree. The Tree lives in the pool's arena, all else in
// `scratch`.
Tree *tree_lower_shared(Arena *scratch, TreePool *pool, const Program *p, const Schedule *s,
                        DiagList *diags);

// The Schedule that lowers to the Tree, of statements of its Program, schedule_of.c; NULL, with
// the reason in *why: there is none.
const Schedule *schedule_of_tree(Arena *arena, const Tree *t, const char **why);
// Whether two Trees of one Program have the same loops, memory and leaves; blocks of several
// indices count as loops inside each other.
bool tree_same_loops(Arena *arena, const Tree *a, const Tree *b);

const SchedStmt *schedule_find(const Schedule *s, Name label); // NULL: none
bool schedule_copies(const SchedStmt *s, Name tensor);         // has it an option 'copy TENSOR'?

// The order in which lowering places n statements: among those whose predecessors are placed, the
// one with the highest priority, the first of these. precedes(user, j, i), j < i: must j stay in
// front of i?
typedef bool Precedes(const void *user, int before, int after);
int *schedule_order(Arena *arena, int n, const int *priority, Precedes *precedes, const void *user);

// Facts with the places that lowering compares before statements share a loop: of a tensor that may
// keep a few steps only (fold.c), steps that share their memory count as one element.
const ProgramFacts *schedule_places(Arena *arena, const Program *p);

// --- Copies ------------------------------------------------------------------------------------
// The type that a copy should hold: the one wider type to which the statement converts every read
// of a tensor of less than 32 bits. TYPE_NONE: there is none.
Type copy_type(const Stmt *s, int tensor, Type from);
// Does the statement add products of two reads that are widened to 32-bit integers? Their types.
bool stmt_adds_products(const Program *p, const Stmt *s, Type factor[2]);
// The names of the iterators of a copy, per dimension: that of the reader's iterator where it is
// alone in the subscript, else a new one.
void schedule_copy_iters(Arena *arena, Names *names, const Stmt *s, const Access *read, Name *name);

// --- Actions (action.c) ------------------------------------------------------------------------
// Pure: each returns a new Schedule in the old one's arena, or NULL when there is nothing to act
// on. `at` is a position in the order of statement `label`, which has to be written out
// (schedule_complete does that for all).
const Schedule *schedule_complete(Arena *arena, const Program *p, const Schedule *s);
// The number of iterations of a loop; -1: no such iterator.
int64_t schedule_extent(const Stmt *st, const SchedStmt *section, int at);

const Schedule *schedule_split(const Schedule *s, Name label, int at, int64_t inner,
                               bool interleaved);
const Schedule *schedule_merge(const Schedule *s, Name label, int at);
const Schedule *schedule_move(const Schedule *s, Name label, int from, int to);
const Schedule *schedule_swap(const Schedule *s, Name label, int a, int b);
const Schedule *schedule_mark(const Schedule *s, Name label, int at, Kind kind);
const Schedule *schedule_stage(const Schedule *s, Name label, int at);
// Iterator `iter` runs ahead by coef times `by`; 0: no longer.
const Schedule *schedule_skew(const Schedule *s, Name label, Name iter, Name by, int64_t coef);
const Schedule *schedule_reorder(const Schedule *s, const FullOrder *order); // the whole order
const Schedule *schedule_decrease_reuse(const Schedule *s, Name label);
const Schedule *schedule_increase_reuse(const Schedule *s, Name label);
const Schedule *schedule_copy(const Schedule *s, Name label, const SchedCopy *copy);
const Schedule *schedule_drop_copy(const Schedule *s, Name label, Name tensor);
const Schedule *schedule_at(const Schedule *s, Name label, LoopRef at); // .iter NULL: no more
const Schedule *schedule_inline(const Schedule *s, Name label, bool on);
const Schedule *schedule_after(const Schedule *s, Name label, Name host); // NULL: no more
const Schedule *schedule_swap_dims(const Schedule *s, Name label, int rank, int a, int b);

const Schedule *schedule_maximise_reuse(Arena *arena, const Program *p, const Schedule *s);
const Schedule *schedule_unroll_inner(Arena *arena, const Program *p, const Schedule *s,
                                      int64_t limit);

#endif
