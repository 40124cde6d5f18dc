// Orders that divide, move or skew the loops of steps.
//
// The loops of serial iterators usually enclose all others. An order may place them elsewhere:
//
//     U: t/16 i/64 t i j:v
//         skew i by t
//
// Then the steps must still be in order for all that depends on it: of two instances that access
// one element, one of them writing it, the one of the earlier step (or of the statement further up
// in the same step) runs first. Let d be the distance between two such instances along a loop, in
// values of its (skewed) iterator. A loop and everything inside it are fine
//
//     when d >= 0 for all of them, and an unordered loop needs d = 0;
//     at the last loop of an iterator with d > 0 for all of them: it carries the dependence, and
//     the loops inside are free.
//
// This is decided by dependence questions (program/deps.h), pair of accesses by pair. Division
// keeps the sign of d or makes it 0; interleaved splits keep nothing, so they need d = 0.
#include "base/bug.h"
#include "base/checked.h"
#include "program/deps.h"
#include "sched/lower.h"

enum { STEPS_BUDGET = 30000 }; // work of one dependence question; beyond it the answer is yes

// --- Which orders these are --------------------------------------------------------------------

// Does the order begin with plain loops of serial iterators, and name none further in?
static bool is_plain(const Stmt *s, const SchedStmt *sched) {
    int first = 0;
    if (!sched) return true;
    for (int i = 0; i < sched->nskews; i++) {
        int iter = stmt_find_iter(s, sched->skew[i].iter);
        if (iter >= 0 && iter < s->serial) return false;
    }
    for (int i = 0; i < s->serial && first < sched->nloops; i++) {
        const SchedLoop *loop = &sched->loop[first];
        first += loop->iter == s->iter[i].name && loop->step == 1 && loop->kind == KIND_SERIAL;
    }
    for (int i = first; i < sched->nloops; i++) {
        int iter = stmt_find_iter(s, sched->loop[i].iter);
        if (iter >= 0 && iter < s->serial) return false;
    }
    return true;
}

static bool refuse_part(Lower *l, const StmtInfo *info, const char *why) {
    Range at = info->sched ? info->sched->range : (Range){0, 0};
    diag_report(l->diags, at, DIAG_SCHEDULE_STEPS_PART, info->s->iter[0].name, info->s->label, why);
    l->failed = true;
    return false;
}

// Parts of a Schedule that need the loops of steps around everything else.
static bool may_move(Lower *l, int stmt) {
    const StmtInfo *info = &l->info[stmt];
    if (l->at[info->s->write->tensor])
        return refuse_part(l, info, "it is computed at a loop of its readers");
    if (l->host[stmt] >= 0 || info->follower >= 0)
        return refuse_part(l, info, "a statement of these steps runs 'after' another");
    if (info->facts->initialises && (!info->facts->injective || info->facts->empty_reduction))
        return refuse_part(l, info, "its initialisation has loops of its own");
    return true;
}

static void know_group(Lower *l, int first, int end) {
    bool plain = true;
    for (int i = first; i < end; i++) plain &= is_plain(l->info[i].s, l->info[i].sched);
    for (int i = first; i < end && !plain && !l->failed; i++) {
        l->info[i].moved = may_move(l, i);
        l->info[i].steps = 0;
    }
}

// --- Skewing -----------------------------------------------------------------------------------

static void refuse_skew(Lower *l, const SchedSkew *k, const char *by, const char *why) {
    diag_report(l->diags, k->range, DIAG_SCHEDULE_SKEW, k->iter, by, why);
    l->failed = true;
}

static int skewed_iter(Lower *l, const StmtInfo *info, Name name, Range range) {
    int i = stmt_find_iter(info->s, name);
    if (i >= 0) return i;
    Diag *d = diag_report(l->diags, range, DIAG_SCHEDULE_UNKNOWN_ITERATOR, name, info->s->label);
    suggest_iter(l->diags, d, name, info->s);
    l->failed = true;
    return -1;
}

static bool is_skewed(const SchedStmt *sched, Name iter) {
    for (int i = 0; i < sched->nskews; i++)
        if (sched->skew[i].iter == iter) return true;
    return false;
}

static void add_skew(Lower *l, StmtInfo *info, const SchedSkew *k) {
    const Stmt *s = info->s;
    int iter = skewed_iter(l, info, k->iter, k->range);
    if (iter < 0) return;
    const Affine *sum = affine_const(l->x, 0);
    for (int i = 0; i < k->nterms && !l->failed; i++) {
        Name name = k->term[i].iter;
        int by = skewed_iter(l, info, name, k->range);
        if (by < 0) return;
        if (by == iter || is_skewed(info->sched, name))
            refuse_skew(l, k, name, "that one is skewed itself");
        else if (s->iter[by].reduction || s->iter[iter].reduction)
            refuse_skew(l, k, name, "a reduction is not skewed");
        sum = affine_add(l->x, sum, affine_scale(l->x, affine_iter(l->x, by), k->term[i].coef));
    }
    if (info->skew[iter]) refuse_skew(l, k, k->iter, "it is skewed twice");
    info->skew[iter] = sum;
}

static void know_skews(Lower *l, int stmt) {
    StmtInfo *info = &l->info[stmt];
    const SchedStmt *sched = info->sched;
    if (!sched || !sched->nskews) return;
    info->skew = arena_new_n(l->arena, const Affine *, info->s->niters);
    if (l->at[info->s->write->tensor] || sched->after)
        refuse_skew(l, &sched->skew[0], sched->skew[0].iter,
                    "its statement runs in loops of another one");
    for (int i = 0; i < sched->nskews && !l->failed; i++) add_skew(l, info, &sched->skew[i]);
}

void steps_know(Lower *l) {
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) know_skews(l, i);
    for (int i = 0; i < l->p->stmts.n && !l->failed; i = group_end(l->p, i))
        if (l->info[i].s->serial) know_group(l, i, group_end(l->p, i));
}

void steps_widen(Lower *l, Inst *inst) {
    const Stmt *s = inst->info->s;
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS];
    if (!inst->info->skew) return;
    for (int i = 0; i < s->niters; i++) {
        lo[i] = iter_lo(&s->iter[i]);
        hi[i] = max_i64(iter_hi(&s->iter[i]) - 1, lo[i]);
    }
    for (int i = 0; i < s->niters; i++) {
        int64_t min, max, first;
        if (!inst->info->skew[i] || !inst->extent[i]) continue;
        if (!affine_bounds(inst->info->skew[i], lo, hi, &min, &max) ||
            !checked_add(lo[i], min, &first) || max - min > INT32_MAX) {
            if (!l->failed) diag_report(l->diags, (Range){0, 0}, DIAG_SCHEDULE_OVERFLOW);
            l->failed = true;
            return;
        }
        inst->base[i] = affine_const(l->x, first);
        inst->extent[i] += max - min;
    }
}

// --- Questions ---------------------------------------------------------------------------------

// Two accesses of one tensor. The first one's instance runs before the second one's, in the order
// of the Program: it is of an earlier step, or in an earlier statement of the same.
typedef struct StepPair {
    Lower *l;
    const Inst *a, *b;
    const Access *x, *y;
    int level;   // the serial iterator that is smaller in `a`; the number of common ones: none is
    bool writes; // the second access does
    bool quiet;  // do not report a refusal
} StepPair;

typedef enum Distance { NEGATIVE, NOT_POSITIVE, POSITIVE } Distance;

// sign·(value of the loops of iterator i, from their start), as coefficients and a constant.
static int64_t position(const Inst *inst, int iter, int64_t sign, int64_t *coef) {
    const Affine *skew = inst->info->skew ? inst->info->skew[iter] : NULL;
    coef[iter] += sign;
    for (int i = 0; skew && i < skew->n; i++)
        coef[skew->term[i].atom->index] += sign * skew->term[i].coef;
    return sign * ((skew ? skew->constant : 0) - inst->base[iter]->constant);
}

// May both access one element at such a distance along loop number `at`?
static bool meet_at(const StepPair *p, int at, Distance what, DepWitness *witness) {
    int64_t a[PROGRAM_MAX_ITERS] = {0}, b[PROGRAM_MAX_ITERS] = {0};
    int64_t sign = what == POSITIVE ? -1 : 1; // of a - b
    DepOrder order = {.a = a, .b = b, .constant = what == NOT_POSITIVE ? 0 : -1};
    order.constant += position(p->a, p->a->plan.loop[at].iter, sign, a);
    order.constant += position(p->b, p->b->plan.loop[at].iter, -sign, b);
    DepDir dirs[PROGRAM_MAX_ITERS];
    int common = p->a == p->b ? p->a->info->s->serial
                              : stmts_common(p->l->p, (int)min_i64(p->a->stmt, p->b->stmt),
                                             (int)max_i64(p->a->stmt, p->b->stmt));
    int ndirs = 0;
    for (int i = 0; i < common && i <= p->level; i++)
        dirs[ndirs++] = (DepDir){i, i, i == p->level ? DEP_LT : DEP_EQ};
    DepQuery q = {.a = deps_side(p->l->arena, p->a->info->s, p->x),
                  .b = deps_side(p->l->arena, p->b->info->s, p->y),
                  .ndirs = ndirs,
                  .dirs = dirs,
                  .norders = 1,
                  .orders = &order,
                  .budget = STEPS_BUDGET};
    return deps_test(p->l->arena, &q, witness) != DEP_NO;
}

// --- Refusals ----------------------------------------------------------------------------------

static const char *instance(const StepPair *p, const Inst *inst, const int64_t *at) {
    Text t = {.arena = p->l->arena};
    const Stmt *s = inst->info->s;
    text_printf(&t, "'%s' at", s->label);
    for (int i = 0; i < s->niters; i++)
        text_printf(&t, "%s %s = %lld", i ? "," : "", s->iter[i].name, (long long)at[i]);
    return text_str(&t);
}

static const char *loop_text(const StepPair *p, int at) {
    const PlanLoop *loop = &p->a->plan.loop[at];
    LoopRef ref = {.iter = p->a->info->s->iter[loop->iter].name,
                   .step = loop->step,
                   .interleaved = loop->interleaved};
    return ref_text(p->l->arena, &ref);
}

// The loop in the order of one of them.
static Range loop_range(const StepPair *p, int at) {
    for (int i = 0; i < 2; i++) {
        const Inst *inst = i ? p->a : p->b;
        const SchedStmt *sched = inst->info->sched;
        int asked = at - inst->plan.front;
        if (sched && asked >= 0 && asked < sched->nloops) return sched->loop[asked].range;
        if (sched && i) return sched->range;
    }
    return (Range){0, 0};
}

static const char *cure(const StepPair *p, int at);

static void refuse(const StepPair *p, int at, DiagId id, const DepWitness *w) {
    Lower *l = p->l;
    if (p->quiet) return;
    const char *first = instance(p, p->a, w->a), *second = instance(p, p->b, w->b);
    const char *tensor = l->p->tensors.at[p->x->tensor].name;
    bool kind = id == DIAG_SCHEDULE_STEPS_KIND;
    Diag *d = diag_report(l->diags, loop_range(p, at), id, loop_text(p, at), kind ? first : second,
                          kind ? second : first, tensor);
    const char *by = kind ? NULL : cure(p, at);
    Name iter = p->a->info->s->iter[p->a->plan.loop[at].iter].name;
    if (by) diag_note(l->diags, d, (Range){0, 0}, DIAG_SCHEDULE_STEPS_NOTE, iter, by);
    l->failed = true;
}

// Before a refusal, memory for all steps is tried.
static bool is_folded(const Lower *l, int stmt) {
    bool any = false;
    for (int i = group_first(l->p, stmt); i < group_end(l->p, stmt); i++)
        any |= l->fold[l->info[i].s->write->tensor].keep > 0;
    return any;
}

static void unfold(Lower *l, int stmt) {
    for (int i = group_first(l->p, stmt); i < group_end(l->p, stmt); i++)
        l->fold[l->info[i].s->write->tensor].keep = 0;
}

// --- Walking the loops -------------------------------------------------------------------------

static bool is_unordered(Kind k) { return k != KIND_SERIAL && k != KIND_UNROLL; }

// The number of the first n loops that keep the pair in order; *carried: all loops further in do.
static int loops_in_order(const StepPair *p, int n, bool *carried, DiagId *why, DepWitness *w) {
    *carried = false;
    for (int i = 0; i < n; i++) {
        const PlanLoop *loop = &p->a->plan.loop[i];
        if (loop->extent <= 1) continue;
        *why = DIAG_SCHEDULE_STEPS;
        if (meet_at(p, i, NEGATIVE, w)) return i;
        *why = DIAG_SCHEDULE_STEPS_KIND;
        bool free = is_unordered(loop->kind) || loop->interleaved;
        if (free && meet_at(p, i, POSITIVE, w)) return i;
        *carried = loop->complete && !free && !meet_at(p, i, NOT_POSITIVE, NULL);
        if (*carried) return n;
    }
    return n;
}

typedef bool StepPairFn(const StepPair *p, void *user);

// Calls fn on all pairs of accesses of two instances that may be of one element, one a write.
static bool each_pair(Lower *l, const Inst *a, const Inst *b, int from, int upto, StepPairFn *fn,
                      void *user) {
    const StmtFacts *f = a->info->facts, *g = b->info->facts;
    bool quiet = is_folded(l, a->stmt);
    for (int i = -1; i < f->nreads; i++)
        for (int k = -1; k < g->nreads; k++) {
            const Access *x = i < 0 ? f->s->write : f->read[i];
            const Access *y = k < 0 ? g->s->write : g->read[k];
            if (x->tensor != y->tensor || (i >= 0 && k >= 0)) continue;
            x = fold_access(l, x), y = fold_access(l, y);
            for (int level = from; level <= upto; level++)
                if (!fn(&(StepPair){l, a, b, x, y, level, k < 0, quiet}, user)) return false;
        }
    return true;
}

// --- Cures -------------------------------------------------------------------------------------

static bool is_not_negative(const StepPair *p, void *user) {
    return !meet_at(p, *(const int *)user, NEGATIVE, NULL);
}

// The skew of a loop of one statement by its steps, `factor` times, instead of the one it has.
static const Affine *skewed_by(const StepPair *p, int iter, int64_t factor) {
    const StmtInfo *info = p->a->info;
    const Affine *old = info->skew ? info->skew[iter] : NULL;
    for (int i = 0; old && i < old->n; i++)
        if (old->term[i].atom->index == p->level) factor -= old->term[i].coef;
    const Affine *more = affine_scale(p->l->x, affine_iter(p->l->x, p->level), factor);
    return old ? affine_add(p->l->x, old, more) : more;
}

// The smallest such skew under which no distance along loop `at` is negative, as a term; NULL: none
// that is small.
static const char *cure(const StepPair *p, int at) {
    enum { MOST = 8 };
    int iter = p->a->plan.loop[at].iter, t = p->level;
    const Stmt *s = p->a->info->s;
    if (p->a != p->b || iter == t || (p->a->info->skew && p->a->info->skew[t])) return NULL;
    for (int f = 1; f <= MOST; f++) {
        StmtInfo info = *p->a->info;
        Inst with = *p->a;
        const Affine *skew[PROGRAM_MAX_ITERS] = {0};
        for (int i = 0; info.skew && i < s->niters; i++) skew[i] = info.skew[i];
        skew[iter] = skewed_by(p, iter, f);
        info.skew = skew;
        with.info = &info;
        if (!each_pair(p->l, &with, &with, t, t, is_not_negative, &at)) continue;
        return f == 1 ? s->iter[t].name : arena_printf(p->l->arena, "%d*%s", f, s->iter[t].name);
    }
    return NULL;
}

// --- Loops of one statement ----------------------------------------------------------------------

static bool keeps_own(const StepPair *p, void *user) {
    (void)user;
    bool carried;
    DiagId why;
    DepWitness w;
    int n = p->a->plan.n, at = loops_in_order(p, n, &carried, &why, &w);
    if (at < n) refuse(p, at, why, &w);
    return at == n;
}

// The loops of reductions must be inside those of steps: initialisations belong to a step.
static bool reduces_inside(Lower *l, const Inst *inst) {
    int last = -1;
    for (int i = 0; i < inst->plan.n; i++)
        if (inst->plan.loop[i].iter < inst->info->s->serial) last = i;
    if (inst->plan.first_reduction > last) return true;
    return refuse_part(l, inst->info, "a loop of its reduction is");
}

bool steps_kept(Lower *l, const Inst *inst) {
    int last = inst->info->s->serial - 1;
    if (!inst->info->moved) return true;
    if (!reduces_inside(l, inst)) return false;
    if (each_pair(l, inst, inst, 0, last, keeps_own, NULL)) return true;
    bool again = is_folded(l, inst->stmt);
    unfold(l, inst->stmt);
    return again && each_pair(l, inst, inst, 0, last, keeps_own, NULL);
}

// --- Sharing loops in a group ------------------------------------------------------------------

typedef struct Sharing {
    int n; // loops that may be shared
} Sharing;

static bool share_forwards(const StepPair *p, void *user) {
    Sharing *s = user;
    bool carried;
    DiagId why;
    DepWitness w;
    int with = (int)min_i64(s->n, p->a->plan.n); // it may have fewer loops than are open
    int at = loops_in_order(p, with, &carried, &why, &w);
    if (!carried && at < with) s->n = at;
    bool writes = p->writes && p->b->info->facts->initialises;
    if (writes) s->n = (int)min_i64(s->n, p->b->plan.init_at);
    return true;
}

// A later step of the statement further up must come later: some shared loop has to carry it.
static bool share_backwards(const StepPair *p, void *user) {
    const Sharing *s = user;
    bool carried;
    DiagId why = DIAG_SCHEDULE_STEPS;
    DepWitness w;
    int at = loops_in_order(p, s->n, &carried, &why, &w);
    if (carried) return true;
    if (at == s->n) { // the statement further up runs all of its loops first
        if (!meet_at(p, 0, NOT_POSITIVE, &w) && !meet_at(p, 0, POSITIVE, &w)) return true;
        at = (int)min_i64(s->n, p->a->plan.n - 1);
        why = DIAG_SCHEDULE_STEPS;
    }
    refuse(p, at, why, &w);
    return false;
}

// The number of the first n open loops that a placed instance is inside of.
static int inside_open(const Lower *l, const Inst *inst, int n) {
    int i = 0;
    while (i < n && i < inst->plan.n && inst->loop[i] == l->open.at[i]) i++;
    return i;
}

// The number of the first p open loops, or -1 where some step would run too late.
static int share_loops(Lower *l, const Inst *inst, int p) {
    Sharing s = {p};
    int first = group_first(l->p, inst->stmt);
    for (int i = first; i < inst->stmt; i++) {
        int common = stmts_common(l->p, i, inst->stmt);
        each_pair(l, l->inst[i], inst, 0, common, share_forwards, &s);
    }
    for (int i = first; i < inst->stmt; i++) {
        int common = stmts_common(l->p, i, inst->stmt);
        Sharing with = {inside_open(l, l->inst[i], s.n)};
        if (!each_pair(l, inst, l->inst[i], 0, common - 1, share_backwards, &with)) return -1;
    }
    return s.n;
}

int steps_share(Lower *l, const Inst *inst, int p) {
    int n = share_loops(l, inst, p);
    if (n >= 0 || l->failed) return n < 0 ? 0 : n;
    unfold(l, inst->stmt);
    n = share_loops(l, inst, p);
    return n < 0 ? 0 : n;
}
