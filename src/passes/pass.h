// Passes over Trees. Each pass is a pure function from a Tree to a Tree, controlled by a line of a
// machine description. The comment above each pass shows a Tree before and after it.
//
// A pass changes a Tree only through the transformations of src/transform, which refuse changes
// that violate dependences and verify their results. Any list of passes, in any order, is therefore
// legal: a bad list makes code slow, never wrong. The log records what each pass did, and why it
// left a block unchanged.
#ifndef LW_PASSES_PASS_H
#define LW_PASSES_PASS_H

#include "passes/hardware.h"
#include "tree/tree.h"

typedef struct PassNote {
    Name block; // name of the block; "": the whole Tree
    const char *text;
    bool refused; // the block was left unchanged
} PassNote;

// The state after one pass of the list.
typedef struct PassStep {
    const PassCall *call;
    const Tree *tree;
    bool changed;
    int nnotes;
    const PassNote *notes;
    double us;
} PassStep;

typedef struct Passes {
    const Hardware *machine;
    const Tree *tree; // the final Tree
    int nsteps;
    const PassStep *step;
} Passes;

typedef struct PassesOptions {
    const char *until;     // label of the last pass to run; NULL: all
    double (*clock)(void); // in microseconds; NULL: steps are not timed
    Arena *scratch;        // for temporary data; NULL: the arena of the result
} PassesOptions;

// Runs the machine's list and verifies the Tree after every step. The Tree must pass the verifier
// and contain no specials. Returns false after an error: `until` is not in the list, or the place
// of a buffer depends on loops.
bool passes_run(Arena *arena, const Hardware *h, const Tree *t, const PassesOptions *o, Passes *out,
                DiagList *diags);

// Prints a log of every step, line by line: "tile      C: 4x4x4 of 8x8x8 ...".
void passes_explain(Text *out, const Passes *p);

// The bytes that a buffer takes in a memory, a multiple of `align`. Saturates.
int64_t buffer_bytes(const Buffer *b, int64_t align);
// The value of "#name=N"; `otherwise` if there is no such tag.
int64_t tag_number(Tags tags, const char *name, int64_t otherwise);

// --- The cost of a tile, cost_tile.c -------------------------------------------------------------

// The expected number of lines of `line` bytes that a box of elements overlaps at random alignment;
// with line 0, the number of elements. Strides are in elements.
double memory_io(int rank, const int64_t *size, const int64_t *stride, int bytes, int64_t line);
// The same if every run of contiguous elements begins at a line.
double memory_io_aligned(int rank, const int64_t *size, const int64_t *stride, int bytes,
                         int64_t line);

#endif
