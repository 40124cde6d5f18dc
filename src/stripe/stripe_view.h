// Facts about every block, computed before Stripe text is printed (private to src/stripe).
#ifndef LW_STRIPE_STRIPE_VIEW_H
#define LW_STRIPE_STRIPE_VIEW_H

#include "stripe/stripe_ops.h"

typedef struct PrintView {
    int buffer;
    Name name;
    ViewDir dir;
    const Affine **off; // absolute
    const int64_t *size;
    bool has_agg;
    Reduce agg;
    Reduce effective; // the effect of a store through it: the outermost aggregation on the way here
    Place place;
    Tags tags;
    int from; // view of the enclosing block, -1: none (arguments and allocations)
} PrintView;

// An index of an enclosing block under its name in this one.
typedef struct Passed {
    int id;
    Name name;
} Passed;

typedef struct PrintBlock PrintBlock;
struct PrintBlock {
    const Block *b;
    PrintBlock *up;
    int depth;
    VEC(PrintView) view;
    Name *index;        // names of b's indices
    VEC(Passed) passed; // the ones that the Tree does not list
    PrintBlock **child; // NULL for leaves and specials
};

typedef struct Planner {
    const Tree *t;
    Arena *arena;
    const Affine **resolved; // per index id: itself, or its passed-in value, over proper indices
    int64_t *lo, *hi;        // per index id, inclusive
    bool *scope;             // per index id: belongs to the current block or to one around it
    bool *used;              // per index id, temporarily
} Planner;

// The view through which a leaf of the block accesses an element.
int stripe_pick(const Tree *t, const PrintBlock *pb, const Access *a, bool write);
// Subscript d of the access, counted from the view.
const Affine *stripe_relative(const Tree *t, const PrintView *v, const Access *a, int d);
// The view that is an operand of a special; -1: none.
int stripe_operand(const PrintBlock *pb, const BlockView *v);
// The offset of a view, counted from the view that it refines.
const Affine *stripe_offset(const Tree *t, const PrintBlock *pb, const PrintView *v, int d);
// The name of an index in this block.
Name stripe_index_name(const Planner *p, const PrintBlock *pb, int id); // NULL: not there
Planner *stripe_planner(Arena *arena, const Tree *t);
PrintBlock *stripe_plan_with(Planner *p);

#endif
