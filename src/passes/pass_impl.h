// Declarations shared by the passes (private to src/passes).
#ifndef LW_PASSES_PASS_IMPL_H
#define LW_PASSES_PASS_IMPL_H

#include "passes/pass.h"
#include "transform/transform_block.h"

typedef struct PassRun {
    Arena *arena, *scratch; // scratch may be NULL
    const Hardware *h;
    const PassCall *call;
    VEC(PassNote) notes;
    DiagList refused; // refusals of the last transformation
} PassRun;

typedef const Tree *PassFn(PassRun *r, const Tree *t);
#define PASS(id, name, summary) PassFn pass_##name;
#define PARAM(...)
#define END
#include "passes/passes.def"
#undef PASS
#undef PARAM
#undef END

// --- Parameters ----------------------------------------------------------------------------------

double pass_real(const PassRun *r, const char *param);
int64_t pass_int(const PassRun *r, const char *param); // also for units; a flag is 0 or 1
const char *pass_text(const PassRun *r, const char *param);
Tags pass_tags(const PassRun *r, const Tree *t, const char *param);
Tags tags_and(Arena *arena, Tags tags, Tags more);
// The place of a unit without subscripts; NULL: none.
Place unit_place(const PassRun *r, const Tree *t, Name unit);

// --- Blocks --------------------------------------------------------------------------------------

// Ids of the first index of each outermost block that has all tags of parameter `param`.
typedef struct LoopList {
    int n;
    int *at;
} LoopList;
LoopList pass_blocks(const PassRun *r, const Tree *t, const char *param);
bool has_tags(const Block *b, Tags tags);
bool has_tag(const Block *b, const char *tag);
const char *block_name(const Block *b); // its name, or the name of its first index

// Where a block runs, according to the places of the blocks around it.
typedef struct BlockPlace {
    int compute;     // -1: no place
    int64_t sharers; // units that run it at the same time
    int child;       // the statement of the root that contains it
} BlockPlace;
BlockPlace block_place(const PassRun *r, const Tree *t, int loop); // pass_schedule.c
// Takes account of the block's own place. At the root, `place` is {-1, 1}.
void place_enter(const PassRun *r, const Tree *t, const Block *b, BlockPlace *place);
// The units at the place that share one copy of a memory.
int64_t place_sharers(const PassRun *r, BlockPlace place, int memory);

// --- Log -----------------------------------------------------------------------------------------

__attribute__((format(printf, 3, 4))) void pass_did(PassRun *r, const Block *b, const char *text,
                                                    ...);
__attribute__((format(printf, 3, 4))) void pass_left(PassRun *r, const Block *b, const char *text,
                                                     ...);
// Options for a transformation that collects its refusals; pass_refused writes them to the log.
TreeEdit pass_edit(PassRun *r);
void pass_refused(PassRun *r, const Block *b);

// --- Stencils, pass_stencil.c --------------------------------------------------------------------

// The size of each index in the best match of the block with one of the stencils `use` ("": all).
// Returns NULL, or the reason why there is no match.
const char *stencil_sizes(PassRun *r, const Tree *t, const Block *b, const char *use,
                          int64_t *size);

// --- Placement, pass_memory.c --------------------------------------------------------------------

typedef struct ByteSpan {
    int64_t from, to; // bytes
} ByteSpan;
// Best fit: the offset of the smallest sufficient gap between busy spans, and among equals the
// lowest; -1: there is none below `limit`.
int64_t best_gap(const ByteSpan *busy, int n, int64_t size, int64_t align, int64_t limit);

// --- Views ---------------------------------------------------------------------------------------

// The part of one buffer that a block accesses, as a function of the sizes of a tile.
typedef struct TileView {
    int buffer;
    bool read, written; // by assignment or reduction
    bool reads_old;     // read by other accesses than reductions
    int nbox;           // number of accesses
    struct ViewAccess *access;
} TileView;
typedef struct ViewAccess {
    const Access *access;
    int64_t *coef; // per dimension and index of the block: rank x nindex
    // Per dimension: range of the other terms, the constant and indices further in.
    int64_t *lo, *hi;
} ViewAccess;
typedef struct TileViews {
    Arena *arena;
    const Tree *t;
    const Block *b;
    int n;
    TileView *at;
    bool exact; // all accesses are affine in the indices
    double ops; // leaves per iteration of the block
    // Boxes reach beyond their tensors, as those of copies do where conditions exclude elements.
    bool beyond;
} TileViews;
TileViews *tile_views(Arena *arena, const Tree *t, const Block *b); // `beyond` is false
// The box of elements that a tile accesses: its size per dimension.
void tile_box(const TileViews *v, const TileView *view, const int64_t *tile, int64_t *size);
int64_t tile_bytes(const TileViews *v, const TileView *view, const int64_t *tile);
double tile_lines(const TileViews *v, const TileView *view, const int64_t *tile, int64_t line,
                  bool aligned);
// Does the index select elements of the buffers that the block writes?
bool index_is_output(const TileViews *v, int index);
// "4x4x4"
const char *tile_text(Arena *arena, const int64_t *tile, int n);

#endif
