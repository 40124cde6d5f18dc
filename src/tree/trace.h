// The trace checker: runs a Tree and looks at what it does, instance by instance. Slow and meant
// for small sizes; it shares no code with the verifier, so that each tests the other.
//
//   * every instance of the Program's domain runs, once; only temporaries may be computed again
//     (overlapping windows), or left out where nothing reads them
//   * on every element, statements touch in the Program's order; reductions by one operator commute
//   * an element of a temporary holds what the reader's statement asks for, not another element's
//     value that happens to lie in the same place
//   * iterations of unordered blocks do not conflict
//   * no allocation, and no output, is read before it is written; what a copy moves is as unwritten
//     as what it moved
//
// An oracle for tests; nothing in the library calls it.
#ifndef LW_TREE_TRACE_H
#define LW_TREE_TRACE_H

#include "tree/tree.h"

typedef struct TraceCount {
    int64_t instances;  // of statements, initialisations included
    int64_t recomputed; // of these, beyond the domain's multiset
    int64_t left_out;   // of the domain, because nothing needs them
    int64_t pairs;      // of accesses that had to be ordered
} TraceCount;

// `views` as for tree_interpret, whose effect on them it has. False when something was reported:
// the first fault found ends the run. `count` may be NULL.
bool tree_trace(Arena *scratch, const Tree *t, const View *views, TraceCount *count,
                DiagList *diags);

#endif
