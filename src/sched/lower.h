// Private to the lowering: the plan of a statement, the loops of the Tree in the making, storage.
//
//   rewrite.c         parts of a Schedule that change statements: inline, copies, partial results
//   schedule_check.c  words of the Schedule that would have no effect
//   stmt_plan.c       one statement: its loops with extents, coefficients and tail constraints
//   steps.c           orders that divide, move or skew the loops of steps: are steps kept in order?
//   fold.c            memory for a few steps instead of all of them
//   order.c           the order of statements, and which statement follows which
//   window.c          statements computed inside a loop of their readers
//   nest.c            all statements: the loops they share, initialisations, post-operations
//   storage.c         temporaries: the block that allocates each, and how much of it exists there
//   lower.c           the driver, and the immutable Tree
//
// Facts that need no Schedule come from program/stmt_facts.h.
#ifndef LW_SCHED_LOWER_H
#define LW_SCHED_LOWER_H

#include "program/stmt_facts.h"
#include "sched/flatten.h"
#include "sched/rewrite.h"
#include "sched/schedule.h"

typedef struct TreeItem TreeItem;
typedef struct Inst Inst;

// A loop of a plan. It divides `cur` values at distance `unit`, and adds coef·index to its
// iterator.
typedef struct PlanLoop {
    int iter;  // of the statement
    int level; // the number of loops of that iterator further out
    int class; // StmtFacts.class of the iterator
    int64_t extent, coef, cur, unit;
    int64_t step; // as the Schedule spells it
    bool interleaved;
    Kind kind;
    bool reduction;
    bool ragged;   // extent does not divide `cur`: a constraint is needed
    bool complete; // the last loop of its iterator, where its tail constraints are checked
} PlanLoop;

typedef struct StmtPlan {
    int n;
    PlanLoop *loop;      // those of serial iterators first, unless they were moved
    int front;           // loops of serial iterators that the order omits, the first ones
    int init_at;         // the initialisation runs in front of this loop, post-operations behind it
    int first_reduction; // n: none
    int stage;           // later statements do not share the loops from here on
} StmtPlan;

// A statement and its section of the Schedule, before any loop exists.
typedef struct StmtInfo {
    const Stmt *s;
    const StmtFacts *facts;
    const SchedStmt *sched; // NULL: naive
    int steps;              // serial iterators whose loops enclose all others, in order
    bool moved;             // no: the loops of steps are divided, moved or skewed (steps.c)
    const Affine **skew;    // per iterator: what its loops run ahead by, over iterators; or NULL
    int follower;           // the first statement that follows this one (Lower.host), or -1
    int sibling;            // the next statement with the same host, or -1
} StmtInfo;

// The store that an instance uses for a tensor.
typedef struct TensorStore {
    int tensor, store;
} TensorStore;

// A statement being placed: once, or once per reader when it is computed `at` a loop.
struct Inst {
    int stmt;
    const StmtInfo *info;
    const Affine **base; // per iterator: its first value, a constant or the start of a window
    int64_t *extent;     // how many values from there
    bool *window;        // per iterator: a window may reach beyond its range, so it is checked
    StmtPlan plan;
    TreeItem **loop;  // per loop of the plan; NULL: not opened yet
    Inst *reader;     // computed `at` a loop of this one (or of its reader); NULL: on its own
    int reader_loops; // the number of the reader's loops that enclose it
    VEC(TensorStore) stores; // of tensors that windows hold
};

typedef enum ItemKind { ITEM_LOOP, ITEM_GUARD, ITEM_LEAF } ItemKind;

// A loop, a guard (no index) or a leaf before it becomes a node of the Tree.
struct TreeItem {
    ItemKind what;
    TreeItem *parent;
    int depth; // enclosing items
    VEC(TreeItem *) child;
    VEC(const Affine *) constraint;
    VEC(int) alloc;
    // a loop
    Index index;
    PlanLoop like; // another statement shares the loop if its own equals this
    int first;     // number of the first leaf below
    int64_t grain;
    int unroll_limit;
    const Block *made; // for prefetches
    // a leaf
    Inst *inst;
    LeafRole role;
    const Affine **iter; // per iterator: its value; NULL: a reduction of an initialisation
    bool whole;          // initialises the whole tensor: `iter` are its subscripts
};

// A subscript as the allocating block sees it: a start that is fixed there, and a range.
typedef struct SubPart {
    const Affine *outer; // terms of indices at or above the block
    int64_t min, max;    // range of the other terms
    bool whole;          // the terms cannot be separated: the dimension is kept whole
    bool checked;        // compared with the size of the tensor at run time
    bool spread;         // its steps cannot be folded: some place is not linear
} SubPart;

// A dimension of a buffer: x / block, x being the rest of tensor dimension `dim`.
typedef struct StoreDim {
    int dim;
    int64_t block, left; // left: the size of that rest
} StoreDim;

// A part of a tensor in memory.
typedef struct Store {
    int tensor;
    TreeItem *at;  // allocated in this block
    SubPart *part; // per dimension
    const Affine **base;
    int64_t *size;
    int folded; // dimension that is folded; -1: none
    int ndims;  // of the layout; 0: row-major
    const StoreDim *dim;
    int buffer;
    const Storage *storage; // from the Schedule; NULL: none
    const StmtInfo *named;  // the statement whose iterators name the dimensions of a layout
} Store;

// The part of a tensor that is computed `at` a loop for its readers there.
typedef struct Window {
    TreeItem *at;
    int tensor, upto; // computed by the statements before this one
    SubPart *part;    // per dimension
    int store;
} Window;

// An access that later statements must not overtake.
typedef struct Record {
    const Access *access;
    const Inst *inst;
    bool write;
    int leaf; // its number
    int next; // of the same tensor; -1: none
} Record;

// Of a tensor: element c of dimension `dim` is kept at c mod `keep`; 0: all are kept.
typedef struct StepFold {
    int dim;
    int64_t keep;
    bool remainder; // subscripts may have one
} StepFold;

typedef struct Lower {
    Tree *tree;
    Arena *arena;
    Exprs *x;
    const Program *p;
    int ntensors; // of the given Program; rewriting added those beyond
    Flat flat;    // the given Program, or its flat form
    const Schedule *schedule;
    DiagList *diags;
    bool failed;
    ProgramFacts *facts; // of `p`
    StmtInfo *info;      // per statement
    int *host;           // per statement: the one that it follows (`after`), or -1
    const LoopRef **at;  // per tensor: computed at this loop of its readers; NULL: not
    VEC(Window) window;
    StepFold *fold; // per tensor (fold.c)
    Inst **inst;    // per statement: placed on its own; NULL: not yet
    TreeItem *root;
    int placed;           // the last statement that has loops of its own; -1: none
    VEC(TreeItem *) open; // loops that the next statement may share, outermost first
    VEC(TreeItem *) leaf; // in order of creation
    VEC(Record) record;
    int *last_record; // per tensor; -1: none
    VEC(Store) store;
    int *store_of;                 // per tensor; -1: none
    VEC(TreeItem *) item_of_index; // NULL: a number of the pool that this Tree does not use
    VEC(int64_t) lo, hi;           // per index, for affine_bounds
    LoopMap *map;                  // NULL: nobody asks
    VEC(Range) cached;             // of cache operators that some leaf has
} Lower;

// stmt_plan.c
bool plan_make(Lower *l, const Inst *inst, StmtPlan *plan);
// Adds to `out` the constraints of loop number `at`: tails of splits, borders of a window. idx[i]
// is the index of loop i.
void plan_constraints(Lower *l, const Inst *inst, int at, const Affine *const *idx, TreeItem *out);
// The value of an iterator, from the indices of its loops.
const Affine *plan_value(Lower *l, const Inst *inst, int iter, const Affine *const *idx);
// The index that loop `at` has in its iterator's last iteration.
int64_t plan_last(const StmtPlan *plan, int at);

// steps.c
void steps_know(Lower *l);
// Base and extent of skewed iterators: their loops run over more values.
void steps_widen(Lower *l, Inst *inst);
// Are the steps of the instance in order in its own loops? Reports where they are not.
bool steps_kept(Lower *l, const Inst *inst);
// The number of the first `p` open loops that the instance may share with statements of its group.
// Their loops of steps were moved: steps stay in order, or it is reported.
int steps_share(Lower *l, const Inst *inst, int p);

// fold.c
void fold_know(Lower *l);
const Access *fold_access(Lower *l, const Access *a); // by place, where its tensor is folded
// The place of a subscript that is in terms of loop indices; NULL: not folded.
const Affine *fold_subscript(Lower *l, int tensor, int dim, const Affine *sub);

// schedule_check.c
void check_schedule(Lower *l, const Program *given, const Rewritten *now);
bool storage_is_said(const Storage *s);
const char *ref_text(Arena *arena, const LoopRef *ref); // "m/4"
void suggest_label(DiagList *diags, Diag *d, Name word, const Program *p);
void suggest_iter(DiagList *diags, Diag *d, Name word, const Stmt *s);
void suggest_tensor(DiagList *diags, Diag *d, Name word, const Program *p);
void suggest_loop(Lower *l, Diag *d, const LoopRef *ref, const Inst *inst);

// nest.c
void nest_statements(Lower *l);
Inst *inst_new(Lower *l, int stmt);
// Places an instance: `shared` of its loops are open already, the rest goes below `parent`, in
// front of `before` (NULL: at the end).
void nest_place(Lower *l, Inst *inst, int shared, TreeItem *parent, TreeItem *before);

// order.c
int *statement_order(Lower *l); // NULL: the order of the Program
void statement_hosts(Lower *l); // fills in host, follower and sibling

// window.c
// The number of loops that windows allow to share; the first `steps` are shared in any case.
int window_limit(Lower *l, Inst *inst, int shared, int steps);
void windows_outside(Lower *l, Inst *inst, TreeItem *parent, TreeItem *before);
bool windows_in_step(Lower *l, Inst *inst); // false: a window is refused
// Those at this loop of the instance, in front of `before` (NULL: at the end).
void windows_inside(Lower *l, Inst *inst, int loop, TreeItem *before);
bool loop_find(Inst *inst, const LoopRef *ref, Inst **owner, int *at);

// storage.c
int storage_new(Lower *l, int tensor, const Storage *storage, const StmtInfo *named);
int storage_buffer(const Lower *l, const Inst *inst, int tensor);
SubPart storage_divide(const Lower *l, const TreeItem *at, const Affine *sub);
bool item_encloses(const TreeItem *outer, const TreeItem *item); // or equals
void storage_assign(Lower *l);
const Access *storage_access(Lower *l, const Inst *inst,
                             const Access *a); // subscripts already substituted

#endif
