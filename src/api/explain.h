// The facts about one implementation as JSON: its Tree with costs, and its decisions with
// what others would cost.
#ifndef LW_API_EXPLAIN_H
#define LW_API_EXPLAIN_H

#include "api/pipeline.h"
#include "space/bound.h"

// One object: the lines of the Tree's text (tree_show), each with its depth and, where it is a
// block or a leaf, its kind and what one whole execution of it touches, moves and computes; and the
// bytes of each buffer that a block touches.
void explain_tree(Arena *arena, Text *out, const Tree *t);

// One object: the bound of the whole space and of what `d` decides, what each resource takes, and
// for every variable that is decided there the bound of each other value: with all else open
// ("free"), and with all else as it is ("kept"; null: the rest does not allow it).
typedef struct ExplainSpace {
    Arena *arena;
    const Space *space;
    const BoundModel *bound;
    SpaceWork *work;
    const Decision *d;
    int n;
} ExplainSpace;
void explain_space(const ExplainSpace *x, Text *out);

// explain_gpu.c: one object about the kernels on a device, with the Tree that was mapped.
lw_status gpu_explain(Call *call, const lw_bound *b, const lw_schedule_text *text,
                      const char *device, const char **out);

#endif
