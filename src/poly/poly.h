// Proofs and polyhedral scheduling by isl. No type of isl leaves this folder: questions and results
// are Programs, Affines and the structs below.
//
//     deps.c, omega.c     microseconds; they decide almost everything
//     poly_test           asks isl the questions that they leave open
//     poly_scop           a Program as statements with domains and accesses
//     poly_dependences    flow, anti and output dependences of a scop
//     poly_schedule       the scheduler of Tensor Comprehensions (TC): a schedule tree
//
// isl is loaded on first use. If it is missing, poly_test leaves questions open, and the other
// functions return POLY_MISSING. Every call has a budget of isl operations, so that it terminates.
#ifndef LW_POLY_POLY_H
#define LW_POLY_POLY_H

#include "program/deps.h"
#include "program/stmt_facts.h"

typedef enum PolyStatus {
    POLY_OK,
    POLY_MISSING,   // isl is missing: poly_missing() says why
    POLY_EXHAUSTED, // isl exceeded its budget or its memory
} PolyStatus;

// Why isl is missing, and the fix; NULL if it is there.
const char *poly_missing(void);

// deps_test (program/deps.h), answered by isl. It is exact for divisions and remainders by
// constants, a few minima and maxima, and numbers of any size. `witness` is filled on DEP_YES and
// may be NULL. POLY_BUDGET operations take about ten milliseconds.
enum { POLY_BUDGET = 50000 };
DepAnswer poly_test(const DepQuery *q, DepWitness *witness);

// --- Programs as polyhedra, poly_scop.c --------------------------------------------------------

// The statements of a scop are those of the Program. The initialisation of `op=!` is a separate
// statement in front: over the iterators that are not reductions, or, for a scatter, over none.
typedef struct PolyStmt {
    const Stmt *s;
    int stmt;        // the statement of the Program
    bool init;       // it is the initialisation of that statement
    Name label;      // "C", "C.init"
    int niters;      // number of iterators
    const int *iter; // the statement's iterators, in order
} PolyStmt;

typedef struct PolyScop {
    const Program *p;
    const ProgramFacts *facts;
    int n;
    PolyStmt *stmt;
    bool ordered; // updates of a reduction keep their order; otherwise they may be reordered
} PolyScop;

// The scop of a bound Program. Its facts do not include the classes of iterators.
PolyScop *poly_scop(Arena *arena, const Program *p);

typedef enum PolyDepKind { POLY_FLOW, POLY_ANTI, POLY_OUTPUT, POLY_DEP_KINDS } PolyDepKind;
extern const char *const poly_dep_name[POLY_DEP_KINDS];

// Prints all dependences, one line each: "flow C.init -> C on C: C.init[m, n] -> C[m, n, k] : ...",
// in isl's notation. Memory-based dependences are all pairs of instances that access one element.
// Value-based dependences (`values`) only relate the last write before a read, and the last read or
// write before a write. A gather may read any element: it depends on all writes, and hides none. If
// the scop is `ordered`, dependences between updates of a reduction are included.
PolyStatus poly_dependences(Text *out, const PolyScop *s, bool values);

// --- Schedule trees, poly_schedule.c and poly_tree.c -------------------------------------------

typedef enum PolyFusion { POLY_PRESERVE3, POLY_MAX, POLY_MIN, POLY_FUSIONS } PolyFusion;
extern const char *const poly_fusion_name[POLY_FUSIONS];

typedef struct PolyOptions {
    PolyFusion fusion;
    bool skew;        // members may be sums of iterators; otherwise each is a single iterator
    bool any_orthant; // members may have negative coefficients
} PolyOptions;

typedef enum PolyPart { POLY_WHOLE, POLY_TILES, POLY_POINTS } PolyPart;

// One loop of a band. For each statement of the scop it has a function of the statement's
// iterators: POLY_ROW numbers, which are a coefficient for each iterator and then the constant.
// NULL: the statement is not below the band, or does not depend on this loop.
enum { POLY_ROW = PROGRAM_MAX_ITERS + 1 };
typedef struct PolyMember {
    const int64_t *const *value;
    bool coincident; // the loop carries no dependence, so it may run in parallel
    PolyPart part;
    int64_t tile; // the size of tiles, for loops over tiles or points
} PolyMember;

typedef enum PolyNodeKind { POLY_BAND, POLY_SEQUENCE, POLY_LEAF } PolyNodeKind;

// A schedule tree: a band of permutable loops around one child, a sequence of children, or a leaf.
typedef struct PolyNode PolyNode;
struct PolyNode {
    PolyNodeKind kind;
    int nstmts;
    const int *stmt; // statements of the scop below this node
    int n;           // number of members or children
    PolyMember *member;
    const PolyNode *const *child; // a band has one child
};

// The loops in the order of the Program's text: Figure 3.a of the TC paper.
const PolyNode *poly_canonical(Arena *arena, const PolyScop *s);
// TC's scheduler (Figure 3.b). It fuses statements greedily in the order of the Program. Two
// clusters share their outer band if isl finds one for their union under the options, and
//     max        always
//     preserve3  if the union has as many coincident members as either cluster, or three
//     min        never
PolyStatus poly_schedule(Arena *arena, const PolyScop *s, const PolyOptions *o,
                         const PolyNode **out);
// Tiles every band (Figure 3.c). Sizes are listed by the depth of the member below the root; 0, or
// no entry: not tiled. With `outermost` it only tiles the outermost band of each nest.
const PolyNode *poly_tile(Arena *arena, const PolyScop *s, const PolyNode *root, int n,
                          const int64_t *tile, bool outermost);
// Moves coincident point loops below the sequences and reductions that they surround (Figure 3.d).
const PolyNode *poly_sink(Arena *arena, const PolyScop *s, const PolyNode *root);
// Do all members satisfy the options? Without skewing, each member must be one iterator of every
// statement, with the same distance from its start; a Schedule can then express it.
bool poly_plain(const PolyScop *s, const PolyNode *root, const PolyOptions *o);
// The iterator that a member is for the statement; -1: the member is a sum, or independent of it.
int poly_member_iter(const PolyScop *s, const PolyMember *m, int stmt);
void poly_print(Text *out, const PolyScop *s, const PolyNode *root);

#endif
