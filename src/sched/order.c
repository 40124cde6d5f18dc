// The order of statements: priorities, and post-operations that follow another statement.
#include "base/bug.h"
#include "sched/lower.h"

// Adds all statements that run with statement i: itself, those computed at its loops, followers.
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

typedef struct Groups {
    const Lower *l;
    const bool *const *of; // per statement
} Groups;

static bool groups_depend(const void *user, int before, int after) {
    const Groups *g = user;
    const bool *a = g->of[before], *b = g->of[after];
    const StmtInfo *info = g->l->info;
    if (info[before].s->serial || info[after].s->serial) return true; // steps stay together
    for (int i = 0; i < g->l->p->stmts.n; i++)
        for (int j = 0; a[i] && j < g->l->p->stmts.n; j++)
            if (b[j] && i != j && stmts_depend(info[i].facts, info[j].facts)) return true;
    return false;
}

int *schedule_order(Arena *arena, int n, const int *priority, Precedes *precedes,
                    const void *user) {
    int *order = arena_new_n(arena, int, n);
    bool *placed = arena_new_n(arena, bool, n);
    for (int k = 0; k < n; k++) {
        int best = -1;
        for (int i = 0; i < n; i++) {
            bool ready = !placed[i] && (best < 0 || priority[i] > priority[best]);
            for (int j = 0; j < i && ready; j++) ready = placed[j] || !precedes(user, j, i);
            if (ready) best = i;
        }
        require(best >= 0);
        placed[order[k] = best] = true;
    }
    return order;
}

int *statement_order(Lower *l) {
    int n = l->p->stmts.n, *priority = arena_new_n(l->arena, int, n);
    bool asked = false;
    for (int i = 0; i < n; i++) {
        priority[i] = l->info[i].sched ? l->info[i].sched->priority : 0;
        asked |= priority[i] != 0;
    }
    if (!asked) return NULL;
    return schedule_order(l->arena, n, priority, groups_depend, &(Groups){l, groups(l)});
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
