// Words of a Schedule that would have no effect are reported: as errors where the request cannot be
// met, as warnings where it is merely idle.
#include "sched/lower.h"

#include <string.h>

#include "base/nearest.h"

// --- Did you mean ...? -------------------------------------------------------------------------

static const char *nth_label(const void *of, size_t i) {
    const Program *p = of;
    return i < (size_t)p->stmts.n ? p->stmts.at[i].label : NULL;
}

static const char *nth_iter(const void *of, size_t i) {
    const Stmt *s = of;
    return i < (size_t)s->niters ? s->iter[i].name : NULL;
}

static const char *nth_tensor(const void *of, size_t i) {
    const Program *p = of;
    return i < (size_t)p->tensors.n ? p->tensors.at[i].name : NULL;
}

static bool suggest(DiagList *diags, Diag *d, const char *word, Candidate *nth, const void *of) {
    const char *near = nearest(word, nth, of);
    if (!near || strcmp(near, word) == 0) return false;
    diag_note(diags, d, (Range){0, 0}, DIAG_DID_YOU_MEAN, near);
    return true;
}

void suggest_label(DiagList *diags, Diag *d, Name word, const Program *p) {
    diag_suggest(diags, d, word, nth_label, p);
}
void suggest_iter(DiagList *diags, Diag *d, Name word, const Stmt *s) {
    diag_suggest(diags, d, word, nth_iter, s);
}
void suggest_tensor(DiagList *diags, Diag *d, Name word, const Program *p) {
    suggest(diags, d, word, nth_tensor, p);
}

void suggest_loop(Lower *l, Diag *d, const LoopRef *ref, const Inst *inst) {
    if (suggest(l->diags, d, ref->iter, nth_iter, inst->info->s)) return;
    Text list = {.arena = l->arena};
    for (int i = 0; i < inst->plan.n; i++) {
        const PlanLoop *loop = &inst->plan.loop[i];
        LoopRef own = {.iter = inst->info->s->iter[loop->iter].name,
                       .step = loop->step,
                       .interleaved = loop->interleaved};
        text_printf(&list, "%s%s", i ? " " : "", ref_text(l->arena, &own));
    }
    if (list.len) diag_note(l->diags, d, (Range){0, 0}, DIAG_SCHEDULE_LOOPS_NOTE, text_str(&list));
}

const char *ref_text(Arena *arena, const LoopRef *ref) {
    if (ref->step == 1) return ref->iter;
    return arena_printf(arena, "%s%c%lld", ref->iter, ref->interleaved ? '%' : '/',
                        (long long)ref->step);
}

// --- Labels ------------------------------------------------------------------------------------

// Sections may name statements of the Program, statements that rewriting added, and copies whose
// reads inlining removed.
static void check_labels(Lower *l, const Program *given, const Rewritten *now) {
    Numbers label = {.arena = l->arena};
    for (int i = 0; i < given->stmts.n; i++) numbers_put(&label, given->stmts.at[i].label, i);
    for (int i = 0; i < l->p->stmts.n; i++) numbers_put(&label, l->p->stmts.at[i].label, i);
    for (int i = 0; i < now->nidle; i++) numbers_put(&label, now->idle[i], i);
    for (int i = 0; l->schedule && i < l->schedule->nstmts; i++) {
        const SchedStmt *sched = l->schedule->stmt[i];
        if (numbers_get(&label, sched->label) >= 0) continue;
        Diag *d = diag_report(l->diags, sched->range, DIAG_SCHEDULE_UNKNOWN_LABEL, sched->label);
        suggest_label(l->diags, d, sched->label, l->p);
        l->failed = true;
    }
}

// --- Statements --------------------------------------------------------------------------------

bool storage_is_said(const Storage *s) {
    return s->ndims || s->align || s->swizzle || s->stages || s->async ||
           (s->home != HOME_AUTO && s->home != HOME_ARGUMENT);
}

static void fault(Lower *l, const SchedStmt *s, DiagId id, const char *a, const char *b) {
    diag_report(l->diags, s->range, id, a, b);
    l->failed = true;
}

// Only the first definition of a temporary may choose its memory.
static void check_storage(Lower *l, int stmt) {
    const StmtInfo *info = &l->info[stmt];
    int tensor = info->s->write->tensor;
    if (!storage_is_said(&info->sched->storage)) return;
    if (tensor < l->p->ninputs + l->p->noutputs) {
        fault(l, info->sched, DIAG_SCHEDULE_STORAGE_ARGUMENT, l->p->tensors.at[tensor].name, NULL);
        return;
    }
    for (int i = 0; i < stmt; i++)
        if (l->info[i].s->write->tensor == tensor) {
            fault(l, info->sched, DIAG_SCHEDULE_STORAGE_LATER, l->p->tensors.at[tensor].name,
                  l->info[i].s->label);
            return;
        }
}

// A statement reads the tensors whose loads it describes, or would without inlining.
static void check_caches(Lower *l, const StmtInfo *info) {
    const SchedStmt *s = info->sched;
    for (int i = 0; i < s->ncaches && !l->failed; i++) {
        const SchedCache *c = &s->cache[i];
        int tensor = program_find_tensor(l->p, c->tensor);
        bool read = tensor >= 0 && stmt_first_read(info->s, tensor);
        read |= schedule_copies(s, c->tensor);
        read |= statement_reads(l->flat.p, info->s->label, c->tensor);
        if (read) continue;
        Diag *d = diag_report(l->diags, c->range, DIAG_SCHEDULE_COPY_UNREAD, c->tensor, s->label);
        suggest_tensor(l->diags, d, c->tensor, l->p);
        l->failed = true;
    }
}

static bool is_thread(Kind k) { return k >= KIND_THREAD_X && k <= KIND_LANE; }
static bool is_grid(Kind k) { return k >= KIND_GRID_X && k <= KIND_GRID_Z; }

// Each GPU axis occurs once, warps and lanes have digits, and grid axes enclose those of clusters
// and threads.
static void check_axes(Lower *l, const SchedStmt *s) {
    for (int i = 0; i < s->nloops; i++)
        for (int k = 0; k < i && !l->failed; k++) {
            Kind outer = s->loop[k].kind, inner = s->loop[i].kind;
            bool digit = inner == KIND_WARP || inner == KIND_LANE;
            bool twice = outer == inner && inner >= KIND_GRID_X && !digit;
            bool inside_out = is_thread(outer) && (is_grid(inner) || inner == KIND_CLUSTER);
            inside_out |= outer == KIND_CLUSTER && is_grid(inner);
            if (!twice && !inside_out) continue;
            diag_report(l->diags, s->loop[i].range, DIAG_SCHEDULE_AXIS, kind_name[inner],
                        kind_name[outer]);
            l->failed = true;
        }
}

static bool has_kind(const SchedStmt *s, Kind k) {
    for (int i = 0; i < s->nloops; i++)
        if (s->loop[i].kind == k) return true;
    return false;
}

// GPU axes may divide a tile of one size between them.
static bool keeps_axis(const SchedLoop *out, const SchedLoop *in) {
    return in->kind >= KIND_GRID_X || out->kind >= KIND_GRID_X;
}

// `m/4 m/8 m` and `m/8 m m`: inside a tile, a loop over tiles of its size or larger ones runs once.
static void warn_once(Lower *l, const SchedStmt *s) {
    for (int i = 0; i < s->nloops; i++)
        for (int k = 0; k < i; k++) {
            const SchedLoop *in = &s->loop[i], *out = &s->loop[k];
            if (in->iter != out->iter || in->interleaved || out->interleaved) continue;
            if (in->step < out->step || (in->step == out->step && keeps_axis(out, in))) continue;
            LoopRef ref = {.iter = in->iter, .step = in->step};
            const char *loop = arena_printf(l->arena, "the loop '%s'", ref_text(l->arena, &ref));
            ref.step = out->step;
            const char *why = arena_printf(l->arena, "it runs once in '%s', which is outside of it",
                                           ref_text(l->arena, &ref));
            diag_report(l->diags, in->range, DIAG_SCHEDULE_IDLE, loop, why);
            break;
        }
}

static void warn_idle(Lower *l, const StmtInfo *info) {
    const SchedStmt *s = info->sched;
    if (s->after && (s->nloops || s->stage >= 0))
        diag_report(l->diags, s->range, DIAG_SCHEDULE_IDLE, "an order",
                    "with 'after' it runs in the loops of that statement");
    if (s->grain && !s->after && !has_kind(s, KIND_PARALLEL))
        diag_report(l->diags, s->range, DIAG_SCHEDULE_IDLE, "'grain'", "no loop is parallel");
    if (s->accumulators > 1 && !info->facts->has_reduction)
        diag_report(l->diags, s->range, DIAG_SCHEDULE_IDLE, "'accumulators'",
                    "the statement reduces nothing");
    if (!s->after && s->nloops + info->s->niters <= TREE_MAX_DEPTH) warn_once(l, s);
}

void check_schedule(Lower *l, const Program *given, const Rewritten *now) {
    check_labels(l, given, now);
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) {
        const SchedStmt *s = l->info[i].sched;
        if (!s) continue;
        check_storage(l, i);
        check_axes(l, s);
        check_caches(l, &l->info[i]);
        warn_idle(l, &l->info[i]);
    }
}
