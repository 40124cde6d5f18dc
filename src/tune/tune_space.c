#include "tune/tune.h"

#include "api/rates.h"
#include "code/code.h"
#include "choose/choose.h"
#include "sched/mapping.h"

#include <string.h>

static Source *source_in(Arena *arena, const char *name, const char *text) {
    Source *s = arena_new(arena, Source);
    *s = (Source){name, text, (uint32_t)strlen(text)};
    return s;
}

// --- The Space -----------------------------------------------------------------------------------

static bool read_given(Tune *t) {
    const lw_schedule_text *s = &t->o.schedule;
    if (!s->text) return true;
    if (strlen(s->text) > LW_MAX_SOURCE) return false;
    Source *source = source_in(t->call->arena, s->name ? s->name : "<schedule>", s->text);
    t->given = schedule_read(t->call->arena, t->p, source, t->call->diags);
    return t->given && tree_lower(t->call->arena, t->p, t->given, t->call->diags);
}

static bool take_set(Tune *t, Cand *root) {
    int n;
    if (!t->o.set) return true;
    Source *source = source_in(t->call->arena, "<set>", t->o.set);
    Decision *d = space_parse(t->call->arena, t->ps.space, source, t->call->diags, &n);
    if (!d) return false;
    Cand *before = space_cand(t->call->arena, t->ps.space);
    space_copy(t->ps.space, before, root);
    if (space_apply(t->work, root, d, n)) return true;
    space_report_dead(t->call->arena, t->work, before, d, n, t->call->diags);
    return false;
}

static ChooseOptions choice(const Tune *t, Arena *arena, bool plain) {
    return (ChooseOptions){.machine = &t->machine,
                           .serial = t->threads <= 1,
                           .plain = plain,
                           .stride = strides_of(arena, t->p, t->views)};
}

void tune_model(Tune *t) {
    Arena *arena = t->call->arena;
    BoundOptions o = {.machine = &t->machine,
                      .threads = t->threads,
                      .plant = planted_bound(),
                      .stride = strides_of(arena, t->p, t->views)};
    // Times are measured on this machine, so a described machine has no bound. Estimates of the
    // emulator are no times.
    bool emulated = t->o.device && strcmp(t->o.device, "emulate") == 0;
    bool timed = !t->call->ctx->pretended && !emulated;
    t->model = timed ? t->machine.target->space->bound(arena, &t->ps, &o) : NULL;
}

bool tune_space(Tune *t) {
    Arena *arena = t->call->arena;
    if (!read_given(t)) return false;
    if (t->check && !t->o.set) return true; // one Schedule is compared, in or out of a space
    ChooseOptions a = choice(t, arena, false);
    const Schedule *join = t->given ? t->given : t->machine.target->choose(arena, t->p, &a);
    CpuOptions o = {.machine = t->machine, .threads = t->threads, .given = join};
    if (!t->machine.target->space->make(arena, t->p, &o, &t->ps, t->call->diags)) return false;
    t->work = space_work(arena, t->ps.space);
    Cand *root = space_cand(arena, t->ps.space);
    space_copy(t->ps.space, root, t->ps.space->root);
    t->root = root;
    tune_model(t);
    return take_set(t, root);
}

static const Schedule *candidate_schedule(const Tune *t, Arena *arena, const Cand *c) {
    return t->machine.target->space->schedule(arena, &t->ps, c);
}

// --- Where to begin ------------------------------------------------------------------------------

// The candidate nearest to a Schedule: applies its decisions one by one, as far as the constraints
// allow, then takes the first possible value of each open decision, which is the default of
// Schedules. NULL: there is none.
static const Cand *nearest(Tune *t, const Schedule *s) {
    const Space *space = t->ps.space;
    Arena *arena = t->call->arena;
    DiagList quiet = {.arena = arena};
    int n = 0;
    Decision *d = s ? t->machine.target->space->read(arena, &t->ps, s, &quiet, &n) : NULL;
    if (!d) return NULL;
    Cand *c = space_cand(arena, space), *next = space_cand(arena, space);
    space_copy(space, c, t->root);
    for (int i = 0; i < n; i++) {
        if (!(space_domain(space, c, d[i].var) & ~d[i].keep)) continue; // it follows already
        space_copy(space, next, c);
        if (space_apply(t->work, next, &d[i], 1)) space_copy(space, c, next);
    }
    for (int var; (var = space_open(space, c, 0)) >= 0;) {
        uint64_t dom = space_domain(space, c, var), first = dom & -dom;
        space_copy(space, next, c);
        if (space_keep(t->work, next, var, first))
            space_copy(space, c, next);
        else if (!space_keep(t->work, c, var, dom & ~first))
            return NULL;
    }
    return c;
}

// The same for the Schedule chosen without search, computed once.
static const Cand *nearest_chosen(Tune *t) {
    ChooseOptions o = choice(t, t->call->arena, false);
    if (!t->chosen) t->chosen = nearest(t, t->machine.target->choose(t->call->arena, t->p, &o));
    return t->chosen;
}

// The loops that a Schedule makes; NULL: none.
static const char *loops_text(Tune *t, const Schedule *s) {
    Text text = {.arena = t->call->arena};
    DiagList quiet = {.arena = t->call->arena};
    const Tree *tree = tree_lower(t->call->arena, t->p, s, &quiet);
    if (tree) tree_show(&text, tree, false);
    return tree ? text_str(&text) : NULL;
}

int tune_outside(Tune *t, Job *out) {
    Job jobs[TUNE_OUTSIDE] = {{JOB_TEXT, t->o.schedule.text, 0}, {JOB_CHOSEN, "", 1}};
    DiagList quiet = {.arena = t->call->arena};
    int n = 0;
    for (int i = t->given ? 0 : 1; i < TUNE_OUTSIDE; i++) {
        if (jobs[i].kind == JOB_TEXT) jobs[i].size = strlen(jobs[i].bytes) + 1;
        const Schedule *s = tune_schedule(t, t->call->arena, &jobs[i], &quiet);
        const char *text = s ? loops_text(t, s) : NULL;
        bool chosen = jobs[i].kind == JOB_CHOSEN;
        const Cand *c = !text ? NULL : chosen ? nearest_chosen(t) : nearest(t, s);
        const char *near = c ? loops_text(t, candidate_schedule(t, t->call->arena, c)) : NULL;
        if (text && !(near && strcmp(text, near) == 0)) out[n++] = jobs[i];
    }
    return n;
}

// Schedules of TC's scheduler: one as a starting point of every strategy, or all strategies of
// fusion with several tile sizes, the point loops sunk or not.
static int poly_starts(Tune *t, bool all, const Cand **out, int most) {
    static const int64_t sizes[][3] = {{0, 0, 0},    {8, 32, 0},    {8, 64, 0},
                                       {32, 32, 32}, {16, 64, 256}, {64, 64, 64}};
    int n = 0;
    DiagList quiet = {.arena = t->call->arena};
    for (int k = all ? 0 : 1; k < (all ? (int)(sizeof sizes / sizeof *sizes) : 2); k++)
        for (int f = 0; f < (all ? POLY_FUSIONS : 1); f++)
            for (int fused = 0; fused < (all ? 2 : 1) && n < most; fused++) {
                Mapping m = {.ntiles = 3, .outer.fusion = (PolyFusion)f, .marks = true};
                memcpy(m.tile, sizes[k], sizeof sizes[k]);
                m.inner = fused ? POLY_MAX : POLY_MIN;
                const Schedule *s = mapping_schedule(t->call->arena, t->p, &m, &quiet);
                if (s && (out[n] = nearest(t, s))) n++;
            }
    return n;
}

int tune_starts(Tune *t, bool poly, const Cand **out, int most) {
    enum { KNOWN = 4 };
    if (poly) return poly_starts(t, true, out, most);
    const Schedule *first[1 + KNOWN] = {t->given};
    int nfirst = 1 + tune_known_schedules(t, first + 1, KNOWN), n = 0;
    for (int i = 0; i < nfirst && n < most; i++)
        if (first[i] && (out[n] = nearest(t, first[i]))) n++;
    if (n < most && (out[n] = nearest_chosen(t))) n++;
    n += poly_starts(t, false, out + n, most - n);
    return n;
}

// --- Jobs ----------------------------------------------------------------------------------------

Job tune_cand_job(const Tune *t, const Cand *c) { return (Job){JOB_CAND, c, t->ps.space->size}; }

const Schedule *tune_schedule(Tune *t, Arena *arena, const Job *job, DiagList *diags) {
    ChooseOptions o;
    switch (job->kind) {
    case JOB_CAND: return candidate_schedule(t, arena, job->bytes);
    case JOB_TEXT:
        return schedule_read(arena, t->p, source_in(arena, "<schedule>", job->bytes), diags);
    case JOB_MACHINE: return NULL;
    case JOB_CHOSEN:
    case JOB_PLAIN: o = choice(t, arena, job->kind == JOB_PLAIN); break;
    }
    return t->machine.target->choose(arena, t->p, &o);
}

// --- Parallel marks without effect ---------------------------------------------------------------

// Iterations that a Schedule has several threads share; -1: it does not compile.
static int64_t shared_out(Tune *t, const Schedule *s) {
    Arena *arena = t->call->arena;
    DiagList quiet = {.arena = arena};
    Code code;
    const Tree *lowered = tree_lower(arena, t->p, s, &quiet);
    const Tree *tree = lowered ? tree_for_views(arena, lowered, t->views) : NULL;
    return tree && target_compile(t->machine.target, arena, tree, &t->machine, &code, NULL, &quiet)
               ? code.shared
               : -1;
}

// A copy whose loops can be changed: loops[i] are those of statement i.
static const Schedule *copy_schedule(Arena *arena, const Schedule *s, SchedLoop **loops) {
    Schedule *out = arena_copy(arena, s, sizeof *s);
    const SchedStmt **stmt = arena_new_n(arena, const SchedStmt *, s->nstmts);
    for (int i = 0; i < s->nstmts; i++) {
        SchedStmt *x = arena_copy(arena, s->stmt[i], sizeof *x);
        x->loop = loops[i] = arena_copy(arena, x->loop, (size_t)x->nloops * sizeof *x->loop);
        stmt[i] = x;
    }
    out->stmt = stmt;
    return out;
}

// From the innermost loop outwards, so that no inner loop can take over the threads of a loop that
// loses its mark.
bool tune_shares(Tune *t, Job *job) {
    Arena *arena = t->call->arena;
    DiagList quiet = {.arena = arena};
    const Schedule *given = tune_schedule(t, arena, job, &quiet);
    if (!given) return false;
    int64_t shared = shared_out(t, given);
    SchedLoop **loops = arena_new_n(arena, SchedLoop *, given->nstmts + 1);
    const Schedule *s = copy_schedule(arena, given, loops);
    bool changed = false;
    for (int i = 0; i < s->nstmts && job->kind == JOB_CAND && shared >= 0 && !t->o.set; i++)
        for (int k = s->stmt[i]->nloops - 1; k >= 0; k--) {
            SchedLoop *l = &loops[i][k];
            if (l->kind != KIND_PARALLEL) continue;
            l->kind = KIND_SERIAL;
            if (shared_out(t, s) == shared)
                changed = true;
            else
                l->kind = KIND_PARALLEL;
        }
    Text text = {.arena = arena};
    if (changed) schedule_print(&text, s);
    if (changed) *job = (Job){JOB_TEXT, text_str(&text), text.len + 1};
    return shared > 0;
}

// In a child process the Program's pools grow with memory of the C library, because the context's
// own allocator may not work there.
static void become_child(Tune *t, Arena *arena) {
    t->call->arena->allocator = &allocator_libc;
    t->call->arena->try = arena->try;
}

static const Tree *lower_job(Tune *t, Arena *arena, const Job *job, DiagList *diags) {
    if (job->kind == JOB_MACHINE) return passes_tree(arena, t->p, job->bytes, diags);
    const Schedule *s = tune_schedule(t, arena, job, diags);
    return s ? tree_lower(arena, t->p, s, diags) : NULL;
}

static bool compile_tree(Tune *t, Arena *arena, const Tree *lowered, Code *out, DiagList *diags) {
    const Tree *tree = tree_for_views(arena, lowered, t->views);
    return target_compile(t->machine.target, arena, tree, &t->machine, out, NULL, diags);
}

bool tune_compile(void *tune, Arena *arena, const Job *job, JobCode *out) {
    Tune *t = tune;
    DiagList quiet = {.arena = arena};
    Code code;
    become_child(t, arena);
    const Tree *lowered = lower_job(t, arena, job, &quiet);
    if (!lowered || !compile_tree(t, arena, lowered, &code, &quiet)) return false;
    *out = (JobCode){code.bytes, code.size, code.scratch, code.thread_scratch};
    return true;
}

bool tune_refused(Tune *t, const Job *job) {
    Code code;
    DiagList quiet = {.arena = t->call->arena};
    bool described = job->kind == JOB_MACHINE;
    const Tree *lowered = lower_job(t, t->call->arena, job, described ? t->call->diags : &quiet);
    call_source(t->call, t->bound->function->module);
    if (!lowered) return described;
    return !compile_tree(t, t->call->arena, lowered, &code, t->call->diags);
}
