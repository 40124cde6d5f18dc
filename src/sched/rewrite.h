// Parts of a Schedule that change statements; see rewrite.c.
#ifndef LW_SCHED_REWRITE_H
#define LW_SCHED_REWRITE_H

#include "sched/schedule.h"

typedef struct Rewritten {
    const Program *p;              // the old one when nothing changed
    const SchedStmt *const *sched; // per statement its section, or NULL
    int nidle;                     // labels of copies whose reads inlining removed
    const Name *idle;
} Rewritten;

// False when something was reported.
bool schedule_rewrite(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                      Rewritten *out);

// Does the statement check indices at run time, because they are data-dependent or unproven? Every
// iteration then has to run, so that a bad index is reported even where the result is not needed.
bool statement_checks(const Stmt *s);
// Does some statement certainly read every element that statement `def` defines?
bool statement_all_read(const Program *p, int def);

// Does the statement read the tensor in the Program as given? Inlining may remove a read, since
// `c ? x : x` is x; the Schedule's words about that read then have no effect.
bool statement_reads(const Program *p, Name label, Name tensor);

#endif
