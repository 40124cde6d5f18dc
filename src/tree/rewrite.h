// What a Schedule changes in the statements themselves (private to src/tree); see rewrite.c.
#ifndef LW_TREE_REWRITE_H
#define LW_TREE_REWRITE_H

#include "tree/schedule.h"

typedef struct Rewritten {
    const Program *p;              // the old one when nothing changed
    const SchedStmt *const *sched; // per statement its section, or NULL
    int nidle;                     // copies that inlining left no reads for: their labels
    const Name *idle;
} Rewritten;

// False when something was reported.
bool schedule_rewrite(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                      Rewritten *out);

// Does the statement read it, in a Program as given? Inlining may leave a read out, since
// `c ? x : x` is x; what a Schedule says of that tensor there is then without effect.
bool statement_reads(const Program *p, Name label, Name tensor);

#endif
