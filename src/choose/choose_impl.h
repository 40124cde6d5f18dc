// Private to choose/: the facts about a statement, and the section that is written for it.
#ifndef LW_CHOOSE_CHOOSE_IMPL_H
#define LW_CHOOSE_CHOOSE_IMPL_H

#include "base/checked.h"
#include "machine/limits.h"
#include "machine/machine_cost.h"
#include "program/stmt_facts.h"
#include "choose/choose.h"

enum { MAX_REFS = 12, MAX_LOOPS = 2 * PROGRAM_MAX_ITERS + 8 };

// An access as a function of the iterators. Strides count elements; `hard`: the address is not
// linear in the iterator.
typedef struct ChooseRef {
    const Access *access;
    const Access *likely; // with div and mod replaced by their most common linear piece
    int bytes;            // of an element
    double size;          // bytes of all elements
    bool lone;            // each subscript is one iterator, and no two are the same
    bool stepped;         // each subscript moves with one iterator of several values
    bool crooked;         // its vectors do not begin at cache lines
    bool gathers;         // lanes can compute where it is hard: a vector is gathered
    bool reduced;         // it moves with a reduction
    bool once;            // it is the only access to its tensor, which nothing writes from here on
    int twin;             // the other read of its tensor, different in one subscript; 0: none
    int own;              // the iterator in that subscript
    Type as;              // the type of the copy that it is read from; TYPE_NONE: there is none
    int64_t stride[PROGRAM_MAX_ITERS];
    bool uses[PROGRAM_MAX_ITERS], hard[PROGRAM_MAX_ITERS];
    uint32_t in[PROGRAM_MAX_RANK]; // per subscript of `likely`: the iterators in it, as bits
} ChooseRef;

typedef struct Taps Taps; // (choose_fuse.c)

// Divisors of an iterator in subscripts. They divide its extent, and each divides the one before.
enum { MAX_DIVISORS = 3 };
typedef struct Divisors {
    int n;
    int64_t by[MAX_DIVISORS];
} Divisors;

// A part of an iterator: one that runs through it in steps.
typedef struct IterPart {
    Name name, iter;
    int64_t by;
} IterPart;

// Arithmetic of values that depend on the same iterators.
enum { MAX_WORK = 6 };
typedef struct ChooseWork {
    uint64_t uses;
    double ops;
} ChooseWork;

// Where a statement is computed. Decided for all statements before any section is written.
typedef struct Placement {
    int after;        // choose_followers: the statement whose post-operation it is; -1: none
    bool released;    // choose_release: its post-operations got nests of their own
    bool inlined;     // choose_places: computed where it is read
    const Taps *taps; // choose_places: of a statement without reduction; NULL: not known
} Placement;

// The section that is written for a statement, by choose() and what it calls; choose_blocks and
// choose_threads then change its loops.
typedef struct Section {
    SchedStmt head; // without loops and copies, which write_out adds
    int nloops;
    SchedLoop loop[MAX_LOOPS];
    int perfect;         // the first `perfect` loops contain nothing but the next loop
    bool horizontal;     // a reduction runs in lanes, with a horizontal reduction for every result
    bool order_rows;     // a tile of minima or maxima in lanes
    bool by_rows;        // the horizontal reductions of several results are done together
    SchedCopy *copy;     // head.ncopies of them
    SchedStmt **section; // of each copy
} Section;

// A statement on its way to a section of the Schedule: seen, placed, written.
typedef struct ChooseStmt {
    // Set by see(); constant afterwards unless the comment names another pass.
    const Stmt *s;
    const MachineCost *cost;
    int64_t extent[PROGRAM_MAX_ITERS]; // choose_types divides that of `pair` by `word`
    int nrefs;                         // ref[0] is the write
    ChooseRef *ref; // see_temporaries changes `once`, choose_types the types that copies hold
    bool known;     // `ref` has all accesses, and the write is linear
    bool reduces;   // it combines several values into one element
    int lanes;      // of a vector
    double ops;     // operations of one iteration; choose_places adds those of inlined definitions
    int nworks;     // operations before the last one of a reduction's step, by iterators
    ChooseWork work[MAX_WORK];
    double guards;    // conditions of one iteration
    uint64_t asked;   // iterators that conditions depend on
    bool injective;   // stmt_is_injective, of the statement before it was divided into parts
    uint64_t windows; // reductions that share a subscript with another iterator
    uint64_t guarded; // iterators in constraints
    int window;       // innermost reduction in constraints, or else of all; -1: no constraints
    double instances; // iterations
    double memory;    // cycles of memory traffic
    double cycles;    // estimate with those of memory; choose_contraction refines it
    Divisors divisors[PROGRAM_MAX_ITERS]; // of iterators that are not reduced; share_divisors

    // Set by choose_types.
    int word; // products of narrow integers that are added together (code/plan/dots.c)
    int pair; // the reduction along which words lie; its extent counts words; -1: none

    Placement place;
    Section out;
} ChooseStmt;

// Readers and writers of each tensor, so that questions about thousands of statements are quick.
typedef struct Users {
    int *writes, *last; // by tensor: how many statements write it, and the last of them
    int *lone;          // by tensor: how many statements have a lone read of it
    int *first;         // by tensor: 1 + its first reader in `reader`; 0: none
    struct {
        int stmt, next; // the next reader, as in `first`
    } * reader;
    int unknown; // statements that are not `known`
} Users;

typedef struct Chooser {
    Arena *arena;
    const Program *p;
    const Program *given; // p before reductions were divided into parts
    const ChooseOptions *o;
    const Machine *m;
    const MachineCost *cost; // of m
    ChooseStmt *nest;        // per statement
    Users users;
    VEC(IterPart) parts;
} Chooser;

static inline void nest_loop(ChooseStmt *n, int iter, int64_t step, Kind kind) {
    if (iter == n->pair) step *= n->word;
    n->out.loop[n->out.nloops++] =
        (SchedLoop){.iter = n->s->iter[iter].name, .step = step, .kind = kind};
}

static inline bool is_moved(const ChooseStmt *n) {
    return n->place.after >= 0 || n->out.head.at.iter || n->place.inlined;
}

// Is some operand loop-invariant along the iterator?
static inline bool shares(const ChooseStmt *n, int i) {
    for (int r = 1; r < n->nrefs; r++)
        if (!n->ref[r].uses[i]) return true;
    return false;
}

// How many times as fast operations on vectors of `width` lanes are, compared with whole ones.
static inline double speed_of(const Machine *m, const ChooseStmt *n, int64_t width) {
    const Family *f = m->family;
    bool half = f && m->vector_bytes == LIMIT_VECTOR_BYTES && width < n->lanes &&
                f->work[1][WORK_FLOAT] > 0;
    return half ? f->work[0][WORK_FLOAT] / f->work[1][WORK_FLOAT] : 1;
}

// Do half vectors compute as many lanes per cycle as whole ones? (They do on a Zen 4, but not on an
// Intel processor with 512-bit pipes.)
static inline bool halves_are_as_fast(const Machine *m, const ChooseStmt *n) {
    return speed_of(m, n, n->lanes / 2) >= 2;
}

// Rows, `stride` bytes from each other, that begin in different sets of L1.
static inline int64_t rows_of_way(const MachineCost *k, int64_t stride) {
    return max_i64(k->way_bytes / (stride & -stride), 1);
}

// Bytes of data that stays in a cache while it is used again.
static inline double room_in(const Chooser *c, int level) {
    return c->cost->cache_share * (double)c->m->cache[level];
}

// The part of a panel that stays in L1, and whether it has to.
static inline double near_bytes(const Chooser *c) {
    return c->cost->near_share * (double)c->m->cache[1];
}
Users chooser_users(const Chooser *c);
// Inlines definitions into their readers (choose_fuse.c).
void choose_places(Chooser *c);
// Gives a post-operation of a reduction in lanes a nest of its own, where it can run in lanes.
void choose_release(Chooser *c, ChooseStmt *n);
// Separates nests whose rows are reduced together from others that would share the rows.
void choose_blocks(Chooser *c);
// Rows of a stencil that are computed together (1: none), along row[0] and, unless it is -1, along
// row[1]. Do its vectors along v begin inside cache lines?
int stencil_rows(const ChooseStmt *n, int row[2]);
bool stencil_crosses(const ChooseStmt *n, int v);

// Cycles to load `bytes` of data that is used again after `size` bytes of other data.
static inline double chooser_traffic(const Chooser *c, double bytes, double size) {
    if (size <= room_in(c, 1)) return 0;
    if (size <= room_in(c, 2)) return bytes / c->cost->l2_rate;
    return bytes / (size <= room_in(c, 3) ? c->cost->l3_rate : c->cost->memory_rate);
}

// Converts operands of narrow types in copies, or packs them into `words` (choose_narrow.c): the
// nest then reads elements of the wider type, or words. Returns the nest as it was if it has words;
// else NULL.
const ChooseStmt *choose_types(const Chooser *c, ChooseStmt *n, bool words);
// Copies operand r, which is converted but not packed, before all loops.
void convert_operand(const Chooser *c, ChooseStmt *n, int r);
// A new copy of operand r, and its section; NULL: its name is taken. The names of its dimensions.
SchedCopy *nest_copy(const Chooser *c, ChooseStmt *n, int r, SchedStmt **section);
void copy_dims(const Chooser *c, const ChooseStmt *n, int r, Name *name);

// Subscripts that divide iterators (choose_divide.c): the access with div and mod replaced by their
// most common linear piece; divisors of iterators that are not reduced; the Program with reductions
// divided into parts, and its sections rewritten for the iterators of the given Program.
const Access *likely_access(Exprs *x, const Stmt *s, const Access *a);
const Expr *likely_value(Exprs *x, const Stmt *s, const Expr *e); // the same for a value
void see_divisors(ChooseStmt *n);
void share_divisors(Chooser *c); // from statement to statement
const Program *divide_reductions(Chooser *c);
void merge_parts(Chooser *c, ChooseStmt *n);
// The statement with divided iterators of the result as parts; NULL: it has none.
const Stmt *divide_result(Chooser *c, const ChooseStmt *n);
// Is iterator i a part with another one inside its steps? is_coarse: of the result.
bool is_steps(const Chooser *c, const ChooseStmt *n, int i);
bool is_coarse(const Chooser *c, const ChooseStmt *n, int i);
// Do `rows` divide each block of a divided iterator, or consist of whole ones? Loops over blocks.
bool goes_up(const ChooseStmt *n, int iter, int64_t rows);
void add_levels(ChooseStmt *n);

// Do the other accesses to the tensor allow a copy for lanes along v?
static inline bool can_pack(const ChooseRef *x, int v) {
    return x->once || (x->twin && x->own == v);
}

// Statements without reduction, and scatters (choose_pointwise.c).
void choose_pointwise(Chooser *c, ChooseStmt *n);
void choose_scatter(ChooseStmt *n);

// Transposes (choose_transpose.c).
// The iterator along which an operand is contiguous that is strided along v; blocks of both are
// transposed in registers; -1: none. The loops over such blocks. All loops with lanes along the
// other iterator, where that is cheaper.
int transposed_iter(const Chooser *c, const ChooseStmt *n, int v);
void transpose_blocks(const Chooser *c, ChooseStmt *n, int u, int v, bool streamed);
// choose_pointwise.c: may other statements share its loops?
bool has_company(const Chooser *c, const ChooseStmt *n);
bool choose_across(const Chooser *c, ChooseStmt *n, int v);
// Blocks of columns along two iterators, where those along one are fewer than lanes.
bool choose_columns(const Chooser *c, ChooseStmt *n, int v);

// Loops of a reduction whose terms remainders of indices choose (choose_phase.c); false: there are
// none.
bool choose_phases(const Chooser *c, ChooseStmt *n);

// The only iterator with several values in a subscript; -1: there is none, or more than one.
int subscript_iter(const ChooseStmt *n, const Affine *sub);
// The operand that a window moves over, if it comes from beyond L2 and each result has its own part
// of it (pooling, depthwise convolution); 0: there is none.
int streamed_operand(const Chooser *c, const ChooseStmt *n);
// Tile, order and packing of a reduction (choose_order.c).
void choose_contraction(Chooser *c, ChooseStmt *n);
// Prefetches of a panel that is not packed: of the next panel, and of its next rows.
void fetch_panels(Chooser *c, ChooseStmt *n, const ChooseRef *panel, int loops);
void fetch_rows(Chooser *c, ChooseStmt *n, const ChooseRef *panel, int64_t wide);
// Do results go beyond L2, so that it pays to prefetch the lines that they are stored to?
static inline bool stores_far(const Chooser *c, const ChooseStmt *n) {
    return n->ref[0].lone && n->ref[0].size > room_in(c, 2);
}

#endif
