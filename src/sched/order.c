// Which statement comes when: priorities, and post-operations that go with another statement.
#include "base/bug.h"
#include "sched/lower.h"

static bool reads(const StmtInfo *info, int tensor) {
    for (int r = 0; r < info->nreads; r++)
        if (info->read[r]->tensor == tensor) return true;
    return false;
}

// Must the two keep their order?
static bool depend(const StmtInfo *a, const StmtInfo *b) {
    int wa = a->s->write->tensor, wb = b->s->write->tensor;
    return wa == wb || reads(a, wb) || reads(b, wa);
}

// What runs where statement i runs: itself, what is computed at its loops, what stands behind it.
static void add_group(const Lower *l, int i, bool *in, int depth) {
    if (in[i] || depth > PROGRAM_MAX_STMTS) return;
    in[i] = true;
    for (int k = 0; k < l->p->stmts.n; k++) {
        int t = l->info[k].s->write->tensor;
        if (l->info[k].host == i || (l->at[t] && reads(&l->info[i], t)))
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
            if (b[j] && i != j && depend(&l->info[i], &l->info[j])) return true;
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

// The iterator of `s` that is iterator i of its host: the one that stands alone where the host's
// stands alone in the tensor that the host writes; -1: none.
int after_iter(const StmtInfo *info, const Stmt *host, int i) {
    for (int d = 0; d < host->write->rank; d++) {
        if (affine_as_iter(host->write->sub[d]) != i) continue;
        for (int r = -1; r < info->nreads; r++) {
            const Access *a = r < 0 ? info->s->write : info->read[r];
            if (a->tensor == host->write->tensor) return affine_as_iter(a->sub[d]);
        }
    }
    return -1;
}

static bool same_range(const Iter *a, const Iter *b) { return a->lo == b->lo && a->hi == b->hi; }

// Does access `a` of the follower mean the element that its host has just finished?
static bool same_element(const StmtInfo *info, const Access *a, const StmtInfo *host) {
    const Access *w = host->s->write;
    for (int d = 0; d < a->rank; d++) {
        int want = affine_as_iter(w->sub[d]);
        if (want < 0 ? a->sub[d] != w->sub[d] || !affine_is_const(a->sub[d])
                     : affine_as_iter(a->sub[d]) != after_iter(info, host->s, want))
            return false;
    }
    return true;
}

// Why statement `i` cannot stand behind `h`; NULL: it can.
static const char *why_not(const Lower *l, int i, int h) {
    const StmtInfo *info = &l->info[i], *host = &l->info[h];
    bool taken[PROGRAM_MAX_ITERS] = {false};
    int found = 0;
    if (h >= i) return "it comes first";
    if (host->host >= 0) return "that one stands behind another itself";
    if (!host->injective || l->at[host->s->write->tensor] || l->at[info->s->write->tensor])
        return "its elements are not complete one by one";
    if (!reads(info, host->s->write->tensor)) return "it does not read its result";
    if (info->s->init && info->s->op != REDUCE_ASSIGN) return "it is a reduction itself";
    if (reads(host, info->s->write->tensor)) return "that one reads what it writes";
    for (int k = 0; k < info->s->niters; k++)
        if (info->s->iter[k].reduction) return "it is a reduction itself";
    for (int k = 0; k < host->s->niters; k++) {
        if (host->s->iter[k].reduction) continue;
        int mine = after_iter(info, host->s, k);
        if (mine < 0 || taken[mine] || !same_range(&info->s->iter[mine], &host->s->iter[k]))
            return "its iterators are not those of the result";
        taken[mine] = true;
        found++;
    }
    if (found != info->s->niters) return "it has further iterators";
    for (int r = -1; r < info->nreads; r++) {
        const Access *a = r < 0 ? info->s->write : info->read[r];
        if (l->at[a->tensor]) return "it reads what is computed at a loop";
        if (a->tensor == host->s->write->tensor && !same_element(info, a, host))
            return "it uses the result elsewhere";
    }
    for (int k = h + 1; k < i; k++)
        if (l->info[k].host != h && (depend(&l->info[k], info)))
            return "a statement between them is in the way";
    return NULL;
}

static void list_followers(Lower *l) {
    for (int i = 0; i < l->p->stmts.n; i++) l->info[i].follower = -1;
    for (int i = l->p->stmts.n - 1; i >= 0; i--) {
        int host = l->info[i].host;
        l->info[i].sibling = host < 0 ? -1 : l->info[host].follower;
        if (host >= 0) l->info[host].follower = i;
    }
}

void statement_hosts(Lower *l) {
    Numbers label = {.arena = l->arena};
    for (int i = 0; i < l->p->stmts.n; i++) numbers_put(&label, l->info[i].s->label, i);
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) {
        const SchedStmt *sched = l->info[i].sched;
        if (!sched || !sched->after) continue;
        int h = numbers_get(&label, sched->after);
        const char *why = h < 0 ? "there is no such statement" : why_not(l, i, h);
        if (why) {
            Diag *d = diag_report(l->diags, sched->range, DIAG_SCHEDULE_AFTER, sched->label,
                                  sched->after, why);
            if (h < 0) suggest_label(l->diags, d, sched->after, l->p);
            l->failed = true;
        } else if (!l->info[h].empty_reduction)
            l->info[i].host = h;
    }
    list_followers(l);
}
