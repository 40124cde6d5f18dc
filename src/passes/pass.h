// Passes over Trees: each a pure function from a Tree to a Tree, driven by a line of a machine
// description. The comment above each shows before and after.
//
// A pass changes a Tree only by the transformations of src/transform, which refuse what dependences
// forbid and verify what they make. So any list of passes, in any order, is legal: a bad one is
// slow, never wrong. What a pass did, or why it left a block alone, goes to the log.
#ifndef LW_PASSES_PASS_H
#define LW_PASSES_PASS_H

#include "passes/hardware.h"
#include "tree/tree.h"

typedef struct PassNote {
    Name block; // its name; "": the Tree
    const char *text;
    bool refused; // it was left alone
} PassNote;

// After one pass of the list.
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
    const Tree *tree; // the last one
    int nsteps;
    const PassStep *step;
} Passes;

typedef struct PassesOptions {
    const char *until;     // label of the last pass to run; NULL: all
    double (*clock)(void); // microseconds; NULL: steps are not timed
    Arena *scratch;        // for checks; NULL: the arena of the result
} PassesOptions;

// Runs the machine's list; every step is verified. The Tree must verify, and be without specials.
// False after an error: `until` is not in the list, or a buffer's place depends on loops.
bool passes_run(Arena *arena, const Hardware *h, const Tree *t, const PassesOptions *o, Passes *out,
                DiagList *diags);

// A log of every step, line by line: "tile      C: 4x4x4 of 8x8x8 ...".
void passes_explain(Text *out, const Passes *p);

// --- The cost of a tile, cost_tile.c -------------------------------------------------------------

// Expected lines of `line` bytes that a box of elements touches at random alignment; line 0: the
// number of elements. Strides in elements.
double memory_io(int rank, const int64_t *size, const int64_t *stride, int bytes, int64_t line);
// The same where every run of contiguous elements begins at a line.
double memory_io_aligned(int rank, const int64_t *size, const int64_t *stride, int bytes,
                         int64_t line);

#endif
