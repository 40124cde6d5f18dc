// Private to choose/: the facts about a statement, and the section that is written for it.
#ifndef LW_CHOOSE_CHOOSE_IMPL_H
#define LW_CHOOSE_CHOOSE_IMPL_H

#include "base/checked.h"
#include "machine/limits.h"
#include "machine/machine_cost.h"
#include "program/stmt_facts.h"
#include "choose/choose.h"

enum { MAX_REFS = 12, MAX_LOOPS = 2 * PROGRAM_MAX_ITERS + 8 };

// An access as the loops see it. Strides count elements; `hard`: the place is computed from the
// iterator in another way than by a stride.
typedef struct Ref {
    const Access *access;
    const Access *likely; // as linear as it mostly is
    int bytes;            // of an element
    double size;          // bytes of all elements
    bool lone;            // every subscript is one iterator by itself, each another
    bool stepped;         // or steps by it, and something that stands still
    bool crooked;         // vectors of it begin inside cache lines
    bool once;            // the only access to its tensor, which nothing writes from here on
    int twin; // the one other read of such a tensor, which differs in one subscript; 0: none
    int own;  // the iterator in that subscript
    Type as;  // it is read from a copy that holds this type; TYPE_NONE: there is none
    int64_t stride[PROGRAM_MAX_ITERS];
    bool uses[PROGRAM_MAX_ITERS], hard[PROGRAM_MAX_ITERS];
} Ref;

typedef struct Taps Taps; // (choose_fuse.c)

// What divides an iterator in subscripts: divisors of its range, each of the one before.
enum { MAX_DIVISORS = 3 };
typedef struct Divisors {
    int n;
    int64_t by[MAX_DIVISORS];
} Divisors;

// An iterator of the choice that runs through another one in steps.
typedef struct Part {
    Name name, iter;
    int64_t by;
} Part;

// Arithmetic of values that depend on the same iterators.
enum { MAX_WORK = 6 };
typedef struct Work {
    uint64_t uses;
    double ops;
} Work;

// A statement, and the section that is being written for it.
typedef struct Nest {
    const Stmt *s;
    const MachineCost *cost;
    int64_t extent[PROGRAM_MAX_ITERS];
    int nrefs; // ref[0] is the write
    Ref *ref;
    bool known;   // all of its accesses are here, and the written places are strides
    bool reduces; // combines several values into one element
    int lanes;    // of a vector
    double ops;   // arithmetic of one instance beside its reads
    int nworks;   // what of it comes before the last step of a sum:
    Work work[MAX_WORK];
    double guards;    // and conditions,
    uint64_t asked;   // the iterators that they ask for
    bool injective;   // stmt_is_injective, of the statement before it was divided into parts
    uint64_t windows; // reductions that share a subscript with another iterator
    uint64_t guarded; // iterators that say whether instances exist
    int window;       // innermost reduction of these, or else of all; -1: all instances exist
    double instances, cycles, memory;     // cycles: with those that memory takes
    int after;                            // it stands behind this statement; -1: on its own
    Divisors divisors[PROGRAM_MAX_ITERS]; // of iterators that are not reduced
    const Taps *taps;                     // of a statement that combines nothing; NULL: not known
    SchedStmt out;
    int nloops;
    SchedLoop loop[MAX_LOOPS];
    int perfect;         // so many of them have nothing else inside
    bool folded;         // a reduction runs in lanes, which are added up for every result,
    bool by_rows;        // those of several results together
    bool released;       // what stood behind it has a nest of its own
    int word;            // products of narrow integers that are taken together (code/plan/dots.c),
    int pair;            // along this reduction, whose extent counts words; -1: none
    SchedCopy *copy;     // out.ncopies of them,
    SchedStmt **section; // and of each its section
} Nest;

// Who reads and writes what, so that thousands of statements are looked through once.
typedef struct Users {
    int *writes, *last; // by tensor: how many statements write it, and the last of them
    int *lone;          // by tensor: how many statements have a lone read of it
    int *first;         // by tensor: 1 + its first reader in `reader`; 0: none
    struct {
        int stmt, next; // likewise
    } * reader;
    int unknown; // statements of which not all is seen
} Users;

typedef struct Chooser {
    Arena *arena;
    const Program *p;
    const Program *given; // p, but with reductions in one piece
    const ChooseOptions *o;
    const Machine *m;
    const MachineCost *cost; // of m
    Nest *nest;              // per statement
    Users users;
    VEC(Part) parts;
} Chooser;

static inline void nest_loop(Nest *n, int iter, int64_t step, Kind kind) {
    if (iter == n->pair) step *= n->word;
    n->loop[n->nloops++] = (SchedLoop){.iter = n->s->iter[iter].name, .step = step, .kind = kind};
}

// How much of the result of a statement that combines values stays in registers.
typedef struct Tile {
    int v;           // the iterator that runs in lanes
    bool folded;     // it is a reduction
    uint64_t joins;  // reductions around it that go on where it ends, and become part of it,
    int64_t length;  // so that it has as many values
    int join;        // the iterator whose rows along v lie side by side once they are packed, and
    int64_t joined;  // so many of them in the tile; -1: none
    int group;       // the iterator whose rows along v are too short for a vector; -1: none
    int64_t groups;  // so many of them fill one
    int vectors;     // of it in the tile
    int row[2];      // -1: none
    int64_t rows[2]; // how many of it
    int pack;        // this access must be packed first; 0: none
    uint64_t near;   // reductions that are unrolled around the tile, inside all others,
    double turns;    // and so many turns of them
    double cost;     // cycles of the whole statement
} Tile;

static inline bool is_moved(const Nest *n) {
    return n->after >= 0 || n->out.at.iter || n->out.inlined;
}

// Some operand is the same for all values of the iterator.
static inline bool shares(const Nest *n, int i) {
    for (int r = 1; r < n->nrefs; r++)
        if (!n->ref[r].uses[i]) return true;
    return false;
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
static inline bool tile_is_near(const Nest *n, const Tile *t) {
    return t->join >= 0 && t->rows[0] < n->cost->near_rows;
}

// Vector operations between the tests of a window with constraints.
static inline int guarded_unroll(const Nest *n, const Tile *t) {
    return n->guarded >> t->v & 1 ? n->cost->guarded_unroll_lanes : n->cost->guarded_unroll;
}

Users chooser_users(const Chooser *c);
// Definitions that are put in the place of their reads (choose_fuse.c).
void choose_places(Chooser *c);
// A statement that stands behind sums gets a nest of its own where it cannot run in lanes there.
void choose_release(Chooser *c, Nest *n);
// Nests whose lanes are added up by rows share no row with others.
void choose_blocks(Chooser *c);
// Rows of a stencil that are computed together, and the iterators along which they lie: so many of
// the first (1: none) and as many of the second (-1: none).
int stencil_rows(const Nest *n, int row[2]);

// Cycles to load `bytes` of data that is used again after `size` bytes of other data.
static inline double chooser_traffic(const Chooser *c, double bytes, double size) {
    if (size <= room_in(c, 1)) return 0;
    if (size <= room_in(c, 2)) return bytes / c->cost->l2_rate;
    return bytes / (size <= room_in(c, 3) ? c->cost->l3_rate : c->cost->memory_rate);
}

// Rows of a short reduction in lanes that are done in one go, so that their lanes are added up
// together; 0: it is long.
static inline int64_t folded_rows(const Nest *n, const Tile *t) {
    int64_t turns = 1;
    if (!t->folded || n->window >= 0 || t->row[0] >= 0) return 0;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction && i != t->v && !(t->joins >> i & 1)) turns *= n->extent[i];
    bool is_short = t->length <= n->cost->fold_short * n->lanes;
    return turns == 1 && is_short ? n->cost->fold_block : 0;
}

// Operands of narrow types that are converted when they are copied, or taken in `words`
// (choose_narrow.c): the nest then has elements of the wider type, or words. The nest as it was,
// where it has words; else NULL.
const Nest *choose_types(const Chooser *c, Nest *n, bool words);
bool words_fit(const Nest *n, const Tile *t); // the tile has one operand in lanes, and can pack it
// A copy of operand r, made before everything, for those that are converted and not packed.
void convert_operand(const Chooser *c, Nest *n, int r);
// A new copy of operand r, and its section; NULL: its name is taken. What it calls its dimensions.
SchedCopy *nest_copy(const Chooser *c, Nest *n, int r, SchedStmt **section);
void copy_dims(const Chooser *c, const Nest *n, int r, Name *name);

// Subscripts that divide iterators (choose_divide.c): an access as linear as it mostly is; what
// divides those that are not reduced; the Program with reductions as their parts, and a section
// that was chosen for it in terms of what there is.
const Access *likely_access(Exprs *x, const Stmt *s, const Access *a);
const Expr *likely_value(Exprs *x, const Stmt *s, const Expr *e); // of indices, if it is
void see_divisors(Nest *n);
void share_divisors(Chooser *c); // from statement to statement
const Program *unfold_reductions(Chooser *c);
void fold_parts(Chooser *c, Nest *n);
// A statement with such iterators of the result as their parts; NULL: it has none. Is iterator i
// one of these, of which another part runs through the steps?
const Stmt *unfold_result(Chooser *c, const Nest *n);
bool is_coarse(const Chooser *c, const Nest *n, int i);
// Do so many rows lie in one block, or make up whole ones? And loops over blocks, at the end.
bool goes_up(const Nest *n, int iter, int64_t rows);
void add_levels(Nest *n);

// May lanes along v be read from a copy, as far as other accesses to the tensor go?
static inline bool can_pack(const Ref *x, int v) { return x->once || (x->twin && x->own == v); }

// Transposes (choose_transpose.c).
// The iterator along which an operand is contiguous that is strided along v, and is read in
// transposed blocks; -1: none. The blocks, around the lanes along v. All loops with lanes along the
// other iterator, where that is cheaper.
int turned_iter(const Chooser *c, const Nest *n, int v);
void turn_blocks(const Chooser *c, Nest *n, int u, int v, bool streamed);
bool choose_across(const Chooser *c, Nest *n, int v);

// Vector loop and tile (choose_tile.c); false: the statement stays as it is declared.
bool choose_tile(const Chooser *c, const Nest *n, Tile *best);
// The iterator that a subscript steps by, of those with several values; -1: none, or more.
int subscript_iter(const Nest *n, const Affine *sub);
// Does some operand move along a row of the tile as it does along this reduction?
bool tile_slides(const Nest *n, const Tile *t, int i);
// All of it, with order and packing (choose_order.c).
void choose_contraction(Chooser *c, Nest *n);
// Prefetches, and what they have to know of the loops.
typedef struct Around {
    int turns; // so many loops stand around the tile,
    int outer; // and so many of them around all that operands share
    int packed,
        ahead; // reads that are packed, in the first copy, or fetched panel by panel; 0: none
    bool cut;  // the reduction is cut so that a tile is fetched some rows at a time
} Around;
void choose_fetches(Chooser *c, Nest *n, const Around *a);
// Of an operand whose panels are read where they lie, the next one while one is used.
void fetch_panels(Chooser *c, Nest *n, const Ref *panel, int turns);
void fetch_rows(Chooser *c, Nest *n, const Ref *panel, int64_t wide);
// Are the results more than the second cache holds, so that it is worth to fetch where they go?
static inline bool stores_far(const Chooser *c, const Nest *n) {
    return n->ref[0].lone && n->ref[0].size > room_in(c, 2);
}

#endif
