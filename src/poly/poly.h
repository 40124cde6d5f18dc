// Proofs and polyhedral scheduling by isl, the only folder that sees it. No type of isl leaves:
// questions and results are Programs, Affines and the structs below.
//
//     deps.c, omega.c     microseconds; they decide almost everything
//     poly_test           the same question put to isl, for what they leave open
//     poly_scop           a Program as statements with domains, accesses and times
//     poly_dependences    flow, anti and output dependences of a scop
//     poly_schedule       TC's scheduler: a schedule tree
//
// isl is loaded when it is first needed. Where it is missing poly_test leaves questions open, and
// the others answer POLY_MISSING. Every call has a budget of isl's operations, so that it ends.
#ifndef LW_POLY_POLY_H
#define LW_POLY_POLY_H

#include "program/deps.h"
#include "program/stmt_facts.h"

typedef enum PolyStatus {
    POLY_OK,
    POLY_MISSING,   // there is no isl: poly_missing() says why
    POLY_EXHAUSTED, // the budget, or the memory of isl
} PolyStatus;

// Why there is no isl, and the fix; NULL: there is.
const char *poly_missing(void);

// deps_test (program/deps.h), by isl: exact for divisions and remainders by constants, a few minima
// and maxima, and numbers of any size. `witness` is filled on DEP_YES and may be NULL. POLY_BUDGET
// operations take some ten milliseconds.
enum { POLY_BUDGET = 50000 };
DepAnswer poly_test(const DepQuery *q, DepWitness *witness);

// --- Programs as polyhedra, poly_scop.c --------------------------------------------------------

// Statements of a scop are those of the Program, with the initialisation of `op=!` in front as one
// of its own: over the iterators that are not reductions, or, of a scatter, over none.
typedef struct PolyStmt {
    const Stmt *s;
    int stmt;        // of the Program
    bool init;       // its initialisation
    Name label;      // "C", "C.init"
    int niters;      //
    const int *iter; // the statement's iterators, in order
} PolyStmt;

typedef struct PolyScop {
    const Program *p;
    const ProgramFacts *facts;
    int n;
    PolyStmt *stmt;
    bool ordered; // instances of a reduction run in order; else its updates may be reordered
} PolyScop;

// Of a bound Program, without classes.
PolyScop *poly_scop(Arena *arena, const Program *p);

typedef enum PolyDepKind { POLY_FLOW, POLY_ANTI, POLY_OUTPUT, POLY_DEP_KINDS } PolyDepKind;
extern const char *const poly_dep_name[POLY_DEP_KINDS];

// All dependences, one line each: "flow C.init -> C on C: C.init[m, n] -> C[m, n, k] : ...", in
// isl's notation. Memory-based: every pair of instances on one element; value-based: only the last
// write before a read, the last read or write before a write. Gathers may touch every element: they
// depend, and hide nothing. `ordered` of the scop adds those between updates of a reduction.
PolyStatus poly_dependences(Text *out, const PolyScop *s, bool values);

// --- Schedule trees, poly_schedule.c and poly_tree.c -------------------------------------------

typedef enum PolyFusion { POLY_PRESERVE3, POLY_MAX, POLY_MIN, POLY_FUSIONS } PolyFusion;
extern const char *const poly_fusion_name[POLY_FUSIONS];

typedef struct PolyOptions {
    PolyFusion fusion;
    bool skew;        // members may be sums of iterators; else each is an iterator
    bool any_orthant; // members may have negative coefficients
} PolyOptions;

typedef enum PolyPart { POLY_WHOLE, POLY_TILES, POLY_POINTS } PolyPart;

// One loop of a band. Per statement of the scop its function of the statement's iterators: POLY_ROW
// numbers, a coefficient for each iterator and last the constant. NULL: the statement is not below,
// or does not depend on it.
enum { POLY_ROW = PROGRAM_MAX_ITERS + 1 };
typedef struct PolyMember {
    const int64_t *const *value;
    bool coincident; // no dependence is carried: it may run in parallel
    PolyPart part;
    int64_t tile; // of tiles and points
} PolyMember;

typedef enum PolyNodeKind { POLY_BAND, POLY_SEQUENCE, POLY_LEAF } PolyNodeKind;

// A schedule tree: a band of permutable loops around one child, a sequence of children, or a leaf.
typedef struct PolyNode PolyNode;
struct PolyNode {
    PolyNodeKind kind;
    int nstmts;
    const int *stmt; // of the scop, those below
    int n;           // members, or children
    PolyMember *member;
    const PolyNode *const *child; // of a band one
};

// The loops as the Program has them: Figure 3.a of the TC paper.
const PolyNode *poly_canonical(Arena *arena, const PolyScop *s);
// TC's scheduler (3.b): statements are fused greedily in the order of the Program. Two clusters
// share their outer band if isl schedules their union with one, under the options, and
//     max        always,
//     preserve3  if the union has as many coincident members as either, or three,
//     min        never.
PolyStatus poly_schedule(Arena *arena, const PolyScop *s, const PolyOptions *o,
                         const PolyNode **out);
// Every band in tiles (3.c): sizes by the position of members below the root; 0, or beyond the
// list: not tiled. With `outermost` only the band of each nest that nothing surrounds.
const PolyNode *poly_tile(Arena *arena, const PolyScop *s, const PolyNode *root, int n,
                          const int64_t *tile, bool outermost);
// Coincident point loops under the sequences and reductions below them (3.d).
const PolyNode *poly_sink(Arena *arena, const PolyScop *s, const PolyNode *root);
// Do all members keep the options? Without skewing each is an iterator of every statement, at the
// same distance from its start: then a Schedule can express it.
bool poly_plain(const PolyScop *s, const PolyNode *root, const PolyOptions *o);
// The iterator of the statement that a member is; -1: none, or a sum.
int poly_member_iter(const PolyScop *s, const PolyMember *m, int stmt);
void poly_print(Text *out, const PolyScop *s, const PolyNode *root);

#endif
