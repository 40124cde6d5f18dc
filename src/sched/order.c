// Which statement comes when: priorities, and post-operations that go with another statement.
#include "base/bug.h"
#include "sched/lower.h"

// What runs where statement i runs: itself, what is computed at its loops, what stands behind it.
static void add_group(const Lower *l, int i, bool *in, int depth) {
    if (in[i] || depth > PROGRAM_MAX_STMTS) return;
    in[i] = true;
    for (int k = 0; k < l->p->stmts.n; k++) {
        int t = l->info[k].s->write->tensor;
        if (l->host[k] == i || (l->at[t] && stmt_reads(l->info[i].facts, t)))
            add_group(l, k, in, depth + 1);
    }
}

static const bool *const *groups(const Lower *l) {
    int n = l->p->stmts.n;
    const bool **group = arena_new_n(l->arena, const bool *, n);
    for (int i = 0; i < n; i++) {
        bool *in = arena_new_n(l->arena, bool, n);
        add_group(l, i, in, 0);
        group[i] = in;
    }
    return group;
}

static bool groups_depend(const Lower *l, const bool *a, const bool *b) {
    for (int i = 0; i < l->p->stmts.n; i++)
        for (int j = 0; a[i] && j < l->p->stmts.n; j++)
            if (b[j] && i != j && stmts_depend(l->info[i].facts, l->info[j].facts)) return true;
    return false;
}

// Among the statements whose predecessors are placed, the one with the highest priority; NULL: as
// they stand.
int *statement_order(Lower *l) {
    int n = l->p->stmts.n;
    bool asked = false;
    for (int i = 0; i < n; i++) asked |= l->info[i].sched && l->info[i].sched->priority;
    if (!asked) return NULL;
    int *order = arena_new_n(l->arena, int, n);
    bool *placed = arena_new_n(l->arena, bool, n);
    const bool *const *group = groups(l);
    for (int k = 0; k < n; k++) {
        int best = -1;
        for (int i = 0; i < n; i++) {
            bool ready = !placed[i];
            for (int j = 0; j < i && ready; j++)
                ready = placed[j] || !groups_depend(l, group[j], group[i]);
            int mine = l->info[i].sched ? l->info[i].sched->priority : 0;
            int other = best >= 0 && l->info[best].sched ? l->info[best].sched->priority : 0;
            if (ready && (best < 0 || mine > other)) best = i;
        }
        require(best >= 0);
        placed[order[k] = best] = true;
    }
    return order;
}

// --- Post-operations ---------------------------------------------------------------------------

static void list_followers(Lower *l) {
    for (int i = 0; i < l->p->stmts.n; i++) l->info[i].follower = -1;
    for (int i = l->p->stmts.n - 1; i >= 0; i--) {
        int host = l->host[i];
        l->info[i].sibling = host < 0 ? -1 : l->info[host].follower;
        if (host >= 0) l->info[host].follower = i;
    }
}

// Per tensor: is it computed at a loop of its readers?
static const bool *windowed_tensors(const Lower *l) {
    bool *windowed = arena_new_n(l->arena, bool, l->p->tensors.n);
    for (int t = 0; t < l->p->tensors.n; t++) windowed[t] = l->at[t] != NULL;
    return windowed;
}

void statement_hosts(Lower *l) {
    Numbers label = {.arena = l->arena};
    const bool *windowed = NULL; // per tensor, once something follows
    for (int i = 0; i < l->p->stmts.n; i++) numbers_put(&label, l->info[i].s->label, i);
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) {
        const SchedStmt *sched = l->info[i].sched;
        if (!sched || !sched->after) continue;
        int h = numbers_get(&label, sched->after);
        if (!windowed) windowed = windowed_tensors(l);
        const char *why = h < 0 ? "there is no such statement"
                                : follow_refused(l->facts, i, h, l->host, windowed);
        if (why) {
            Diag *d = diag_report(l->diags, sched->range, DIAG_SCHEDULE_AFTER, sched->label,
                                  sched->after, why);
            if (h < 0) suggest_label(l->diags, d, sched->after, l->p);
            l->failed = true;
        } else if (!l->info[h].facts->empty_reduction)
            l->host[i] = h;
    }
    list_followers(l);
}
