// What the files of range inference share; see infer.h for the rule and infer.c for the order of
// work.
//
//   infer.c         which statements together, rounds, ranges of tensors
//   infer_solve.c   one inequality solved for one iterator; extreme values over known ranges
//   infer_prove.c   is this Affine never negative?
//   infer_guard.c   facts that guards imply about the reads behind them
//   infer_report.c  conditions that stay open: Requires, errors, and their texts
#ifndef LW_PROGRAM_INFER_IMPL_H
#define LW_PROGRAM_INFER_IMPL_H

#include "program/infer.h"

typedef struct InferWork InferWork;

// One dimension of one access:  lo <= sub < hi.
typedef struct Cons {
    const InferWork *w;
    const InferRead *read; // NULL: the written element
    const Access *access;
    int dim;
    ReadMode mode;
    const Affine *sub, *lo, *hi;
    uint32_t iters;           // that occur in sub, outside of reads
    bool low_done, high_done; // follows from the range of the iterator it was solved for
    bool reported;
} Cons;

// at <= iterator, or iterator < at.
typedef struct Bound {
    const Affine *at;
    Cons *from; // NULL: the clamp at 0, a `where`, the declared size
} Bound;

typedef VEC(Bound) Bounds;

typedef enum VarState {
    VAR_UNKNOWN,
    VAR_GIVEN,    // by a `where`, or by the declared size of the written tensor
    VAR_INFERRED, // the largest lower and the smallest upper bound
} VarState;

typedef struct Var {
    VarState state;
    const Affine *lo, *hi; // when known
    Bounds lower, upper;   // of an inferred one, dominated bounds left out
    bool declared;         // given by the declared size of the written tensor
} Var;

// One statement at work.
struct InferWork {
    Stmt *stmt;
    const InferStmt *info;
    Var *var;
    Cons *cons;
    int ncons;
    bool *included;   // per read: its constraints are among them
    uint32_t unknown; // iterators
    bool set_up;
    bool late;    // defined again inside a cycle of tensors: must fit the range found before
    bool tainted; // depends on something that failed, so its own failure is not reported
    int next;     // next definition of the same tensor, -1
};

// The facts about a tensor.
typedef struct Shape {
    bool ranged;       // sizes and origins are known
    bool done, failed; // its definitions have been handled
    bool *clamped;     // per dimension: origin is never negative
    int first, last;   // definitions, -1
    int extent;        // first parameter that stands for an extent of it, -1
    int pending;       // reads, by its definitions, of tensors that are not handled yet
    struct Edge *readers;
} Shape;

typedef struct Edge {
    int tensor;
    struct Edge *next;
} Edge;

struct Infer {
    Program *p;
    Exprs *x;
    Arena *arena;
    DiagList *diags;
    const Affine *zero;
    InferWork *work; // per statement
    InferExtents extents;
    int *next_extent;     // of the same tensor, -1
    const Affine **found; // per parameter: the extent it stands for, NULL: none, or not known
    Shape *shape;         // per tensor
    bool failed;
    bool guess; // only one operand of a minimum or maximum bounds an iterator

    // Facts for the prover. `known` holds always; `assumed` when `assuming` has an instance at all.
    VEC(const Affine *) known, assumed;
    const InferWork *assuming;
    int64_t *param_lo; // per parameter, INT64_MIN: none
    int *param_one;    // per parameter: at least 1 where its entry is `stamp`
    int stamp;

    Set required;           // Requires by their Affine
    Name *tensors, *params; // for printing, made on demand
};

// --- infer_prove.c -----------------------------------------------------------------------------

// Is a >= 0 whenever parameters are what their kind says and, with `w`, that statement has an
// instance? False means "not proved".
bool infer_proves(Infer *in, const InferWork *w, const Affine *a);
bool infer_proves_le(Infer *in, const InferWork *w, const Affine *a, const Affine *b); // a <= b
// Is a >= 0 where the facts hold as well? Both may hold iterators.
bool infer_proves_with(Infer *in, const InferWork *w, const Affine *a, const Affine *const *fact,
                       int n);
void infer_init_facts(Infer *in); // of parameters alone
void infer_assume(Infer *in,
                  const InferWork *w); // makes `assumed` what holds where w has an instance

// --- infer_solve.c -----------------------------------------------------------------------------

// The least (greatest, with `upper`) value of a over the ranges of w's iterators, or a bound beyond
// it; NULL when there is none. *exact is cleared when it may not be attained.
const Affine *infer_bound(Infer *in, const InferWork *w, const Affine *a, bool upper, bool *exact);

// Solves c for the iterator v, the only unknown one in it, and collects the bounds in v's lists.
// Tells for either side whether it follows from them.
void infer_solve(Infer *in, InferWork *w, Cons *c, int v, bool *low, bool *high);
// f >= 0 solved for v where it holds for some values of the other iterators; adds upper bounds.
void infer_solve_some(Infer *in, InferWork *w, Cons *from, int v, const Affine *f, Bounds *upper);
// Leaves out bounds that others imply (for all sizes, or with `w` where it has an instance) and
// computes lo and hi.
void infer_settle(Infer *in, const InferWork *w, Var *var);

// The greatest of two ends, without a max() that can be avoided.
const Affine *infer_hull_hi(Infer *in, const Affine *a, const Affine *b);

// --- infer_guard.c -----------------------------------------------------------------------------

// need >= 0 is wanted of v where the guards of c hold: a weaker condition that is sufficient. NULL
// if the guards imply it, or limit v themselves; then it is checked when sizes are bound.
const Affine *infer_beyond_guards(Infer *in, const InferWork *w, const Cons *c, int v,
                                  const Affine *need);
// Iterators without other bounds take the range in which guarded reads may be performed.
bool infer_reach_guarded(Infer *in, InferWork *w);

// --- infer_report.c ----------------------------------------------------------------------------

// Substitutes the extents that are known so far.
const Affine *infer_put_in(Infer *in, const Affine *a);
const Affine *tensor_lo(Infer *in, int tensor, int d);
const Affine *tensor_hi(Infer *in, int tensor, int d);

void infer_require_positive(Infer *in, const InferWork *w, const Affine *a, const Cons *c);
void infer_check_ranges(Infer *in, InferWork *w);         // none is empty
void infer_check_accesses(Infer *in, InferWork *w);       // constraints that were not solved for
void infer_report_unknown(Infer *in, const InferWork *w); // iterators without range
void infer_report_size(Infer *in, const InferWork *w, int d);
bool infer_check_where(Infer *in, const InferWork *w); // explicit ranges are boxes and not empty

#endif
