// The word `groups N` of a Schedule for a GPU:
//
//     C: m/16:grid.y k/32 m/8:lane n:lane k       C: m/16:grid.y k/32 k/16:warp m/8:lane n:lane k
//         copy A at k/32 place shared         =       copy A at k/32 place shared
//         groups 2
//
// N groups of warps divide what one iteration of the staged loop sums up: of the innermost loop
// over a reduction at which copies are made. Every reader of a Schedule sees the loop instead.
#include "sched/schedule.h"

#include <string.h>

static bool is_at(const SchedLoop *loop, const LoopRef *at) {
    return loop->iter == at->iter && loop->step == at->step && !loop->interleaved &&
           !at->interleaved;
}

static bool is_reduction(const Stmt *s, Name iter) {
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].name == iter) return s->iter[i].reduction;
    return false;
}

// The position of the staged loop; -1: there is none.
static int staged_loop(const Stmt *s, const SchedStmt *g) {
    int found = -1;
    for (int i = 0; i < g->nloops; i++)
        for (int k = 0; k < g->ncopies; k++)
            if (is_at(&g->loop[i], &g->copy[k].at) && is_reduction(s, g->loop[i].iter)) found = i;
    return found;
}

// Do the groups divide a tile evenly, and keep the steps of the loops inside?
static bool divides(const SchedStmt *g, int at) {
    int64_t step = g->loop[at].step, part = step / g->groups;
    if (step % g->groups) return false;
    for (int i = at + 1; i < g->nloops; i++)
        if (g->loop[i].iter == g->loop[at].iter && part % g->loop[i].step) return false;
    return true;
}

static const SchedStmt *with_loop(Arena *arena, const SchedStmt *g, int at) {
    SchedStmt *s = arena_copy(arena, g, sizeof *g);
    SchedLoop *loop = arena_new_n(arena, SchedLoop, g->nloops + 1);
    memcpy(loop, g->loop, (size_t)(at + 1) * sizeof *loop);
    loop[at + 1] = (SchedLoop){.iter = g->loop[at].iter,
                               .step = g->loop[at].step / g->groups,
                               .kind = KIND_WARP,
                               .range = g->groups_range};
    memcpy(loop + at + 2, g->loop + at + 1, (size_t)(g->nloops - at - 1) * sizeof *loop);
    s->loop = loop;
    s->nloops++;
    if (s->stage > at) s->stage++;
    s->groups = 0;
    return s;
}

static const SchedStmt *divided(Arena *arena, const Stmt *s, const SchedStmt *g, DiagList *diags) {
    int at = staged_loop(s, g);
    if (at < 0)
        diag_report(diags, g->groups_range, DIAG_SCHEDULE_GROUPS, g->label);
    else if (!divides(g, at))
        diag_report(diags, g->groups_range, DIAG_SCHEDULE_GROUPS_SIZE, g->groups,
                    (long long)g->loop[at].step, g->loop[at].iter);
    else
        return with_loop(arena, g, at);
    return NULL;
}

const Schedule *schedule_groups(Arena *arena, const Program *p, const Schedule *s,
                                DiagList *diags) {
    bool any = false, failed = false;
    for (int i = 0; s && i < s->nstmts; i++) any |= s->stmt[i]->groups > 0;
    if (!any) return s;
    const Source *before = diags->source;
    if (s->source) diags->source = s->source;
    Schedule *to = arena_copy(arena, s, sizeof *s);
    const SchedStmt **stmt = arena_copy(arena, s->stmt, (size_t)s->nstmts * sizeof *stmt);
    for (int i = 0; i < s->nstmts; i++)
        for (int k = 0; stmt[i]->groups && k < p->stmts.n && !failed; k++) {
            if (p->stmts.at[k].label != stmt[i]->label) continue;
            const SchedStmt *made = divided(arena, &p->stmts.at[k], stmt[i], diags);
            failed = !made;
            if (made) stmt[i] = made;
        }
    to->stmt = stmt;
    diags->source = before;
    return failed ? NULL : to;
}
