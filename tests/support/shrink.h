// Shrinks a failing (program, schedule) pair while it still fails: parts of the schedule,
// statements, iterations, conditions and operations are removed one after the other until none can
// be removed. The rest is the bug report.
#ifndef SUPPORT_SHRINK_H
#define SUPPORT_SHRINK_H

#include "support/proglab.h"
#include "sched/schedule.h"

// Whether it still fails. Called only for well-formed programs that read nothing unwritten.
typedef bool Fails(void *user, const Program *p, const Schedule *s);

void shrink_pair(Lab *lab, uint64_t seed, const Program **p, const Schedule **s, Fails *fails,
                 void *user);

// The Program without part number `n`; false if there are fewer parts; *out is NULL if the rest is
// not well-formed.
bool program_without(Lab *lab, const Program *p, int n, const Program **out);

const char *shrink_schedule_text(Lab *lab, const Schedule *s);
// The fault of a pair; NULL: none, or it is not a valid pair.
typedef const char *PairFault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed);
// Shrinks a faulty pair and reports the rest.
void shrink_explain(Lab *lab, uint64_t seed, const Program *p, const Schedule *s, PairFault *fault);
// Prints seed, fault, program, schedule and tree.
void shrink_report(Lab *lab, uint64_t seed, const char *what, const Program *p, const Schedule *s);

#endif
