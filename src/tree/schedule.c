#include "tree/schedule.h"

const SchedStmt *schedule_find(const Schedule *s, Name label) {
    for (int i = 0; i < s->nstmts; i++)
        if (s->stmt[i]->label == label) return s->stmt[i];
    return NULL;
}
