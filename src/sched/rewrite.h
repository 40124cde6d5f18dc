// What a Schedule changes in the statements themselves (private to src/tree); see rewrite.c.
#ifndef LW_SCHED_REWRITE_H
#define LW_SCHED_REWRITE_H

#include "sched/schedule.h"

typedef struct Rewritten {
    const Program *p;              // the old one when nothing changed
    const SchedStmt *const *sched; // per statement its section, or NULL
    int nidle;                     // copies that inlining left no reads for: their labels
    const Name *idle;
} Rewritten;

// False when something was reported.
bool schedule_rewrite(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                      Rewritten *out);

// Does the statement check indices that come from data, or that nothing proved? Every instance of
// it then has to run, so that a bad index is found whoever wants the result.
bool statement_checks(const Stmt *s);
// Does some statement surely read every element that statement `def` defines?
bool statement_all_read(const Program *p, int def);

// Does the statement read it, in a Program as given? Inlining may leave a read out, since
// `c ? x : x` is x; what a Schedule says of that tensor there is then without effect.
bool statement_reads(const Program *p, Name label, Name tensor);

#endif
