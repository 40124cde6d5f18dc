// The tile of a reduction: what it is, what it costs, and questions about it.
#ifndef LW_CHOOSE_CHOOSE_TILE_H
#define LW_CHOOSE_CHOOSE_TILE_H

#include "choose/choose_impl.h"

// The part of a reduction's result that stays in registers, and the loops around it.
typedef struct ChooseTile {
    int v;              // the iterator that runs in lanes
    bool horizontal;    // v is a reduction
    uint64_t collapses; // reductions that collapse with v
    int64_t length;     // values of v and of these together
    int collapse;       // the iterator that collapses with v once an operand is packed; -1: none
    int64_t collapsed;  // its values in the tile
    int group;          // the iterator whose rows along v share a vector; -1: none
    int64_t groups;     // its values in a vector
    int vectors;        // vectors along v
    int row[2];         // iterators of the rows; -1: none
    int64_t rows[2];    // values of each
    int pack;           // the operand that must be packed; 0: none
    uint64_t near;      // reductions that are unrolled around the tile
    uint64_t blocked;   // one that runs in unrolled blocks as long as a vector; 0: none
    double steps;       // iterations of these
    double cost;        // cycles of the whole statement
} ChooseTile;

static inline bool tile_is_near(const ChooseStmt *n, const ChooseTile *t) {
    return t->collapse >= 0 && t->rows[0] < n->cost->near_rows;
}

// Vector operations between the tests of a window with constraints.
static inline int guarded_unroll(const ChooseStmt *n, const ChooseTile *t) {
    return n->guarded >> t->v & 1 ? n->cost->guarded_unroll_lanes : n->cost->guarded_unroll;
}

// Rows of a short reduction in lanes whose horizontal reductions are done together; 0: none.
static inline int64_t horizontal_rows(const ChooseStmt *n, const ChooseTile *t) {
    int64_t steps = 1;
    if (!t->horizontal || n->window >= 0 || t->row[0] >= 0) return 0;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction && i != t->v && !(t->collapses >> i & 1)) steps *= n->extent[i];
    bool is_short = t->length <= n->cost->horizontal_short * n->lanes;
    return steps == 1 && is_short ? n->cost->horizontal_block : 0;
}

// Is a tile of sums in lanes straight-line code, with all of a short reduction for one result after
// the other?
static inline bool is_straight_sum(const ChooseStmt *n, const ChooseTile *t) {
    return t->horizontal && t->row[0] >= 0 && n->window < 0 &&
           t->length <= (int64_t)n->cost->horizontal_straight * n->lanes;
}

// Can the tile pack its operand in lanes into words?
bool words_fit(const ChooseStmt *n, const ChooseTile *t);

// Vector loop and tile (choose_tile.c); false: the statement keeps its declared loops.
bool choose_tile(const Chooser *c, const ChooseStmt *n, ChooseTile *best);
// Cycles of the whole statement with a tile, whose `near` and `steps` it sets; stops where they
// exceed `limit` (choose_tile_cost.c).
double tile_cost(const Chooser *c, const ChooseStmt *n, ChooseTile *t, double limit);
// Does operand r have vectors along v, once operand `pack` is packed?
bool tile_is_vector(const ChooseStmt *n, int r, int v, int pack);
// Vectors of this many rows that are collapsed.
int64_t collapsed_vectors(const ChooseStmt *n, const ChooseTile *t, int64_t rows);

// Does some operand have a row of the tile and this reduction in one subscript (a window)?
bool tile_slides(const ChooseStmt *n, const ChooseTile *t, int i);

// The facts about the loops that prefetches need.
typedef struct TileLoops {
    int loops;  // the number of loops around the tile
    int outer;  // those that all operands depend on
    int packed; // the operand of the first copy; 0: none
    int ahead;  // the operand that is prefetched by panels; 0: none
    bool cut;   // the reduction is cut so that a tile is prefetched some rows at a time
} TileLoops;
void choose_fetches(Chooser *c, ChooseStmt *n, const TileLoops *a);

#endif
