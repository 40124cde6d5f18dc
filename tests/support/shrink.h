// Makes a failing (program, schedule) pair smaller while it still fails: parts of the schedule,
// statements, iterations, conditions and operations are taken away one after the other until none
// can be missed. What is left is the bug report.
#ifndef SUPPORT_SHRINK_H
#define SUPPORT_SHRINK_H

#include "support/proglab.h"
#include "sched/schedule.h"

// Does it fail still? Only asked of programs that are well-formed and read nothing unwritten.
typedef bool Fails(void *user, const Program *p, const Schedule *s);

void shrink_pair(Lab *lab, uint64_t seed, const Program **p, const Schedule **s, Fails *fails,
                 void *user);

// What is left of a Program after taking away part number `n`: false when there are not so many;
// *out is NULL when the rest is not well-formed.
bool program_without(Lab *lab, const Program *p, int n, const Program **out);

const char *shrink_schedule_text(Lab *lab, const Schedule *s);
// What is wrong with a pair; NULL: nothing, or it is no pair.
typedef const char *PairFault(Lab *lab, const Program *p, const Schedule *s, uint64_t seed);
// Makes a pair with a fault smaller and reports what is left.
void shrink_explain(Lab *lab, uint64_t seed, const Program *p, const Schedule *s, PairFault *fault);
// Seed, what is wrong, program, schedule and tree.
void shrink_report(Lab *lab, uint64_t seed, const char *what, const Program *p, const Schedule *s);

#endif
