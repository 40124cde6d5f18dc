// The facts of a Tree that dependence questions need (private to src/tree): its leaves with the
// way to each, their accesses, and systems of affine conditions over one or two instances.
//
//     System s;
//     system_init(&s, f);
//     system_enter(&s, p, &a, 0, NULL);        // an instance of leaf p: its indices, its guards
//     system_enter(&s, q, &b, common, &a);     // one of q, with equal values of common indices
//     system_equal(&s, ...);                   // what they have in common
//     if (system_solve(&s) == DEP_YES) ... s.point, point_show()
#ifndef LW_TREE_TREE_FACTS_H
#define LW_TREE_TREE_FACTS_H

#include "program/deps.h"
#include "tree/tree.h"

// A leaf, and the blocks around it.
typedef struct Use {
    const Leaf *leaf;
    int depth;                // blocks around it
    const Block *const *path; // outermost first
    const int *child;         // child number `child[i]` of path[i] leads on
    int nindex;               // indices around it, all blocks taken together
    const Index *const *index;
    const Block *const *of; // per index, its block
} Use;

typedef enum TouchKind { TOUCH_READ, TOUCH_ASSIGN, TOUCH_REDUCE } TouchKind;

// An access of a leaf.
typedef struct Touch {
    int use;
    TouchKind kind;
    const Access *access;
    bool guarded; // performed only where a condition holds, ...
    bool whole;   // ... which `fact` says exactly
    int nfacts;   // each >= 0 where the access is performed
    const Affine **fact;
    int next; // of the same buffer; -1: none
} Touch;

typedef struct TreeFacts {
    Arena *arena;
    const Tree *t;
    Exprs *x;
    VEC(Use) use;
    VEC(Touch) touch;
    int *first, *last;   // per buffer, its touches; -1: none
    const Block **home;  // per buffer: the block that allocates it; NULL: none
    int64_t *lo, *hi;    // per index id, inclusive; passed ones by their bounds
    const Index **index; // per index id
    bool specials, overflow;
} TreeFacts;

// Indices have to be in scope and small enough (verify.c looks first).
void facts_collect(TreeFacts *f, Arena *arena, const Tree *t);

// How many indices, and blocks, two leaves share.
typedef struct Common {
    int blocks, indices;
} Common;
Common facts_common(const Use *p, const Use *q);
// Of these, how many belong to the block that allocates the buffer and those around it: two
// instances that differ in one of them see different memory.
int facts_fixed(const TreeFacts *f, const Use *p, int buffer);
bool kind_is_unordered(Kind k);
// Bounds of an index where the leaf runs, as each constraint by itself tells.
void facts_range(const TreeFacts *f, const Use *p, const Index *x, int64_t *lo, int64_t *hi);
// Plain to see: two accesses of one element, equal in the first `level` common indices, are equal
// in this one.
bool facts_aligned(const TreeFacts *f, const Use *p, const Access *a, const Use *q, const Access *b,
                   int level);

// a, where one subscript is a/c and another one a%c for a constant c, as blocked layouts have it:
// equal pairs are of equal a. NULL: they are not such a pair.
const Affine *facts_digits(Exprs *x, const Affine *quotient, const Affine *remainder, int64_t *c);

// --- Systems -----------------------------------------------------------------------------------

// An instance: per index id its value, an Affine over the system's variables.
typedef struct Point {
    const Use *use;
    const Affine **at;
} Point;

typedef struct System {
    TreeFacts *f;
    int n;
    int64_t lo[DEP_MAX_ITERS], hi[DEP_MAX_ITERS]; // half-open
    VEC(const Affine *) least;                    // each >= 0
    const Affine *zero[PROGRAM_MAX_RANK];         // each == 0
    int nzeros;
    bool broken;                  // too many variables, or an overflow: nothing can be decided
    int64_t point[DEP_MAX_ITERS]; // after DEP_YES
    int64_t *pool;                // work left to several questions; NULL: no such limit
} System;

void system_init(System *s, TreeFacts *f);
// The first `shared` indices have the values that they have in `like`.
void system_enter(System *s, const Use *u, Point *out, int shared, const Point *like);
const Affine *system_value(const System *s, const Point *p, const Affine *a);
void system_least(System *s, const Affine *a);                    // a >= 0
void system_less(System *s, const Affine *a, const Affine *b);    // a < b
void system_equal(System *s, const Affine *a, const Affine *b);   // a == b
void system_facts(System *s, const Point *p, const Touch *touch); // what guards say
// Both touch one element.
void system_meet(System *s, const Point *p, const Access *a, const Point *q, const Access *b);
DepAnswer system_solve(System *s);  // by deps.c
DepAnswer system_decide(System *s); // and, where that leaves it open, by isl

// The number that an Affine over the variables of a solved system has.
int64_t system_number(const System *s, const Affine *a);
// "(m=3, k=0)" and "C[3, 0]", of a solved system.
const char *point_show(const System *s, const Point *p);
const char *element_show(const System *s, const Point *p, const Access *a);

#endif
