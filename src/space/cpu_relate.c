// The relations between the objects of a CPU space: which loops may be merged, and which statements
// must stay in order.
#include "space/cpu_build.h"

static void relate_dims(SpaceBuild *x, int i) {
    relate(x, CPU_SET_BODYOF, x->comp[i], x->body[i]);
    for (int k = 0; k < x->ndims[i]; k++) {
        int d = x->first_dim[i] + k;
        const CpuObject *o = &x->h->object[d];
        relate(x, CPU_SET_DIMSOF, x->comp[i], d);
        relate(x, CPU_SET_OWNDIMS, x->body[i], d);
        relate(x, CPU_SET_OWNBODY, d, x->body[i]);
        if (o->level == 0) relate(x, CPU_SET_TOPSOF, x->comp[i], d);
        if (o->level > 0 || o->nlevels == 1) relate(x, CPU_SET_STATICOF, x->comp[i], d);
        if ((o->level > 0 || o->nlevels == 1) && !o->reduction && cpu_reduces(stmt_of(x, i)))
            relate(x, CPU_SET_RESULTSOF, x->comp[i], d);
        for (int m = 0; m < x->ndims[i]; m++) {
            int e = x->first_dim[i] + m;
            const CpuObject *q = &x->h->object[e];
            if (e == d) continue;
            relate(x, CPU_SET_SIBLINGS, d, e);
            relate(x, q->level ? CPU_SET_SIBLINGTILES : CPU_SET_SIBLINGTOPS, d, e);
            if (q->reduction) relate(x, CPU_SET_SIBLINGREDUCTIONS, d, e);
            if (q->iter != o->iter || q->level <= o->level) continue;
            relate(x, CPU_SET_INNER, d, e);
            if (o->level > 0 && q->level == o->level + 1) relate(x, CPU_SET_NEXTTILE, d, e);
        }
    }
}

static bool alike(const SpaceBuild *x, const CpuObject *d, const CpuObject *e) {
    return d->level == e->level && d->nlevels == e->nlevels && d->extent == e->extent &&
           stmt_of(x, d->stmt)->class[d->iter] == stmt_of(x, e->stmt)->class[e->iter];
}

// Does the first statement initialise a tensor that the second uses?
static bool restarts(const SpaceBuild *x, int a, int b) {
    const StmtFacts *p = stmt_of(x, a), *q = stmt_of(x, b);
    int t = p->s->write->tensor;
    return p->initialises && (stmt_reads(q, t) || q->s->write->tensor == t);
}

// The loops of serial iterators that the two have in common.
static void join_steps(SpaceBuild *x, bool *partner, int i, int j) {
    int n = x->h->nobjects;
    for (int k = 0; k < stmts_common(x->p, j, i); k++) {
        int d = x->first_dim[i] + k, e = x->first_dim[j] + k;
        partner[d * n + e] = partner[e * n + d] = true;
        relate(x, CPU_SET_JOINED, d, e);
        relate(x, CPU_SET_JOINED, e, d);
    }
}

static void relate_partners(SpaceBuild *x, bool *partner, int i, int j) {
    int n = x->h->nobjects, common = stmts_common(x->p, j, i);
    join_steps(x, partner, i, j);
    if (stmt_of(x, i)->s->serial != common || stmt_of(x, j)->s->serial != common) return;
    if (cpu_is_apart(stmt_of(x, i)) || cpu_is_apart(stmt_of(x, j))) return;
    for (int k = 0; k < x->ndims[i]; k++) {
        for (int m = 0; m < x->ndims[j]; m++) {
            int d = x->first_dim[i] + k, e = x->first_dim[j] + m;
            const CpuObject *p = &x->h->object[d], *q = &x->h->object[e];
            if (p->step || q->step || !alike(x, p, q)) continue;
            bool both = p->reduction && q->reduction;
            bool early = (p->reduction && restarts(x, i, j)) || (q->reduction && restarts(x, j, i));
            bool ok = p->level ? partner[(d - p->level) * n + e - q->level]
                               : !both && !early &&
                                     stmts_share(x->arena, &x->places->stmt[i], p->iter,
                                                 &x->places->stmt[j], q->iter, common);
            partner[d * n + e] = partner[e * n + d] = ok;
        }
    }
}

// Steps stay together, in the order of the Program (sched/order.c).
static bool must_precede(const SpaceBuild *x, int i, int j) {
    const StmtFacts *a = stmt_of(x, i), *b = stmt_of(x, j);
    return a->s->serial || b->s->serial || stmts_depend(a, b);
}

void cpu_relate_all(SpaceBuild *x) {
    int n = x->h->nobjects, s = x->p->stmts.n;
    bool *partner = arena_new_n(x->arena, bool, (size_t)n *(size_t)n);
    bool *before = arena_new_n(x->arena, bool, (size_t)s *(size_t)s);
    bool *restart = arena_new_n(x->arena, bool, (size_t)s *(size_t)s);
    for (int i = 0; i < s; i++) {
        relate_dims(x, i);
        for (int j = 0; j < s; j++) {
            before[i * s + j] = i < j && must_precede(x, i, j);
            restart[i * s + j] = i != j && restarts(x, i, j);
            if (j < i) relate_partners(x, partner, i, j);
        }
    }
    x->h->partner = partner;
    x->h->precedes = before;
    x->h->restarts = restart;
    for (int d = 0; d < n; d++) {
        const CpuObject *o = &x->h->object[d];
        if (o->iter < 0) continue;
        for (int j = 0; j < s; j++) {
            bool known = j == o->stmt;
            for (int m = 0; m < x->ndims[j]; m++) {
                int e = x->first_dim[j] + m;
                const CpuObject *q = &x->h->object[e];
                if (!partner[d * n + e]) continue;
                known = true;
                if (o->step) continue;
                relate(x, CPU_SET_PARTNERS, d, e);
                bool sized = (o->level || o->nlevels == 1) && (q->level || q->nlevels == 1);
                if (sized) relate(x, CPU_SET_SIZEDPARTNERS, d, e);
                if (is_tiled(o) && is_tiled(q)) relate(x, CPU_SET_TILEDPARTNERS, d, e);
                if (has_inside(o) && has_inside(q)) relate_in(x, x->words->split_partners, d, e);
            }
            if (!known) relate(x, CPU_SET_STRANGERS, d, x->body[j]);
        }
    }
}

// The merged loops of its host that a post-operation does not affect.
void cpu_relate_followers(SpaceBuild *x) {
    int n = x->h->nobjects;
    const bool **ok = arena_new_n(x->arena, const bool *, x->p->stmts.n);
    x->h->follower = ok;
    for (int f = 0; f < x->p->stmts.n; f++) {
        const CpuObject *o = &x->h->object[x->comp[f]];
        if (!o->may_follow) continue;
        bool *table = arena_new_n(x->arena, bool, (size_t)n *(size_t)n);
        int h = x->h->object[o->host].stmt;
        for (int k = 0; k < x->ndims[h]; k++) {
            int d = x->first_dim[h] + k, iter = x->h->object[d].iter;
            int mine = follower_iter(stmt_of(x, f), stmt_of(x, h)->s, iter);
            for (int e = 0; e < n; e++)
                if (x->h->partner[d * n + e] && x->h->object[e].stmt != f)
                    table[d * n + e] = stmts_share(x->arena, &x->places->stmt[f], mine,
                                                   &x->places->stmt[x->h->object[e].stmt],
                                                   x->h->object[e].iter, stmt_of(x, f)->s->serial);
        }
        ok[f] = table;
    }
}

// The loop whose iterations get partial results from `privatise`.
void cpu_relate_parts(SpaceBuild *x, int i) {
    const StmtFacts *c = stmt_of(x, i);
    x->parts[i] = -1;
    if (c->s->op == REDUCE_ASSIGN || cpu_is_apart(c)) return;
    for (int k = 0; k < x->ndims[i]; k++) {
        int d = x->first_dim[i] + k;
        const CpuObject *o = &x->h->object[d];
        if (!o->reduction || o->level || o->nlevels < 2) continue;
        if (!cpu_may_have_parts(x->arena, x->facts, i, o->iter)) return;
        x->parts[i] = d;
        add(x, CPU_SET_PRIVATISABLE, x->comp[i]);
        relate(x, CPU_SET_SPLITOF, x->comp[i], d);
        return;
    }
}
