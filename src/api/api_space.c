// The space of a bound function, shown: what is open, how much there is, what follows from what.
#include "api/device_machine.h"
#include "api/explain.h"
#include "api/rates.h"
#include "api/pipeline.h"

#include "base/bug.h"
#include "choose/choose.h"
#include "sched/mapping.h"
#include "space/bound.h"

#include <string.h>

typedef struct SpaceCall {
    const lw_bound *bound;
    lw_space_options options;
    const char *text;
} SpaceCall;

typedef struct Shown {
    Call *call;
    const lw_space_options *o;
    const TargetSpace *target;
    ProgramSpace ps;
    const Space *s;
    const BoundModel *bound; // NULL: this machine's rates are not known
    SpaceWork *w;
    Cand *c, *before;
    Text text;
} Shown;

enum { DEFAULT_SAMPLES = 1000, CHEN_SHARE = 50, MANY_OPEN = 64 };

static Source *source_in(Call *call, const char *name, const char *text) {
    Source *s = arena_new(call->arena, Source);
    size_t len = strlen(text);
    *s = (Source){arena_strndup(call->arena, name, strlen(name)),
                  arena_strndup(call->arena, text, len), (uint32_t)len};
    return s;
}

// --- Decisions -----------------------------------------------------------------------------------

// A Schedule, or TC's mapping options, given with the call; NULL: none, or wrong (reported).
static const Schedule *given_schedule(Call *call, const Program *p, const lw_space_options *o) {
    if (o->mapping) {
        Mapping m;
        if (!mapping_parse(o->mapping, &m, call->diags)) return NULL;
        return mapping_schedule(call->arena, p, &m, call->diags);
    }
    if (!o->schedule.text) return NULL;
    const char *name = o->schedule.name ? o->schedule.name : "<schedule>";
    return schedule_read(call->arena, p, source_in(call, name, o->schedule.text), call->diags);
}

// The values that the domains have lost since `before`.
static void show_changes(Shown *x, const Decision *d, int n) {
    for (int v = 0; v < x->s->ndecisions; v++) {
        uint64_t old = space_domain(x->s, x->before, v), now = space_domain(x->s, x->c, v);
        bool decided = false;
        for (int i = 0; i < n; i++) decided |= d[i].var == v;
        if (old == now || !x->s->var[v].present) continue;
        text_add(&x->text, decided ? "  decided  " : "  follows  ");
        space_print_var(&x->text, x->s, v);
        text_add(&x->text, " = ");
        space_print_values(&x->text, x->s, v, now);
        text_char(&x->text, '\n');
    }
}

static void show_reasons(Shown *x, const SpaceTrace *trace) {
    for (int i = 0; i < trace->at.n; i++) {
        text_add(&x->text, "  ");
        removal_print(&x->text, x->s, &trace->at.at[i]);
        text_char(&x->text, '\n');
    }
}

// Takes decisions and shows what followed. False: dead.
static bool take(Shown *x, const Decision *d, int n) {
    SpaceTrace trace = {.arena = x->call->arena};
    space_copy(x->s, x->before, x->c);
    if (x->o->explain) space_trace(x->w, &trace);
    bool alive = space_apply(x->w, x->c, d, n);
    space_trace(x->w, NULL);
    if (alive && !x->o->explain) show_changes(x, d, n);
    if (x->o->explain) show_reasons(x, &trace);
    return alive;
}

static bool take_text(Shown *x) {
    if (!x->o->set) return true;
    int n;
    Decision *d = space_parse(x->call->arena, x->s, source_in(x->call, "<set>", x->o->set),
                              x->call->diags, &n);
    if (!d) return false;
    if (take(x, d, n)) return true;
    space_report_dead(x->call->arena, x->w, x->before, d, n, x->call->diags);
    return false;
}

static bool take_schedule(Shown *x, const Schedule *s) {
    int n;
    if (!s) return true;
    Decision *d = x->target->read(x->call->arena, &x->ps, s, x->call->diags, &n);
    space_copy(x->s, x->before, x->c);
    if (!d || space_apply(x->w, x->c, d, n)) return d != NULL;
    space_report_dead(x->call->arena, x->w, x->before, d, n, x->call->diags);
    return false;
}

// --- The report ----------------------------------------------------------------------------------

// Strata are many where decisions are: Chen's estimate is left out there, and descents are fewer.
static void show_estimates(Shown *x) {
    int64_t samples = x->o->samples > 0 ? x->o->samples : DEFAULT_SAMPLES;
    int open = space_count_open(x->s, x->c);
    bool many = open > MANY_OPEN;
    if (many && x->o->samples <= 0) samples /= 10;
    SpaceEstimate k = space_knuth(x->w, x->call->arena, x->c, samples, x->o->seed);
    text_printf(&x->text, "implementations  %.2g ± %.1g (Knuth, %lld descents)", k.mean,
                k.half_width, (long long)k.samples);
    if (!many) {
        int64_t few = samples / CHEN_SHARE > 2 ? samples / CHEN_SHARE : 2;
        SpaceEstimate c = space_chen(x->w, x->call->arena, x->c, few, x->o->seed);
        text_printf(&x->text, ", %.2g ± %.1g (Chen, %lld samples)", c.mean, c.half_width,
                    (long long)c.samples);
    }
    SpaceEstimate d = space_dead_ends(x->w, x->call->arena, x->c, samples, x->o->seed);
    text_printf(&x->text, "\ndead ends        %.1f %% ± %.1f of random descents\n", 100 * d.mean,
                100 * d.half_width);
}

static void show_bound(Shown *x) {
    if (!x->bound)
        text_add(&x->text, "bound            not known: `loopwright machine` measures this one\n");
    else if (x->o->explain_bound)
        bound_explain(&x->text, x->bound, x->c);
    else
        bound_summary(&x->text, x->bound, x->c);
}

// Whether something is open about an object that does not exist yet, and may never do.
static bool more_may_open(const Shown *x) {
    for (int v = 0; v < x->s->ndecisions; v++) {
        const SpaceVar *var = &x->s->var[v];
        uint64_t left = space_domain(x->s, x->c, v);
        bool there = (var->a < 0 || space_exists(x->s, x->c, var->a)) &&
                     (var->b < 0 || space_exists(x->s, x->c, var->b));
        if (var->present && !there && (left & (left - 1))) return true;
    }
    return false;
}

static void show_open(Shown *x) {
    int n = space_count_open(x->s, x->c);
    text_printf(&x->text, "open             %d decision%s%s\n", n, n == 1 ? "" : "s",
                n && more_may_open(x) ? ", which may open more" : "");
    for (int v = -1; (v = space_open(x->s, x->c, v + 1)) >= 0;) {
        text_add(&x->text, "  ");
        space_print_var(&x->text, x->s, v);
        text_add(&x->text, " in ");
        space_print_values(&x->text, x->s, v, space_domain(x->s, x->c, v));
        text_char(&x->text, '\n');
    }
}

// One implementation at random, as the Schedule that it is.
static void show_sample(Shown *x) {
    uint64_t random = x->o->seed + 1;
    for (int tries = 0; tries < 100; tries++) {
        space_copy(x->s, x->before, x->c);
        if (!space_complete(x->w, x->before, &random)) continue;
        schedule_print(&x->text, x->target->schedule(x->call->arena, &x->ps, x->before));
        return;
    }
    diag_report(x->call->diags, (Range){0, 0}, DIAG_SPACE_DEAD);
}

static lw_status show(Shown *x, const Schedule *given) {
    if (!take_schedule(x, given) || !take_text(x)) return LW_ERROR;
    if (x->o->complete) {
        x->text.len = 0; // only the Schedule
        show_sample(x);
        return x->call->diags->errors ? LW_ERROR : LW_OK;
    }
    if (x->o->explain && !x->o->set) {
        SpaceTrace trace = {.arena = x->call->arena};
        space_trace_root(x->w, x->before, &trace);
        show_reasons(x, &trace);
    }
    if (!x->o->explain_bound) show_estimates(x);
    show_bound(x);
    if (!x->o->explain_bound) show_open(x);
    return LW_OK;
}

// The decisions that the Schedule is, each with what others would cost.
static lw_status explain(Shown *x, const Schedule *given) {
    ExplainSpace e = {
        .arena = x->call->arena, .space = x->ps.space, .bound = x->bound, .work = x->w};
    if (given && !(e.d = x->target->read(e.arena, &x->ps, given, x->call->diags, &e.n)))
        return LW_ERROR;
    x->text.len = 0;
    explain_space(&e, &x->text);
    return LW_OK;
}

static lw_status space_body(Call *call, void *args) {
    SpaceCall *a = args;
    const lw_space_options *o = &a->options;
    if (a->bound->function->tree) return function_is_tree(call, a->bound->function);
    const Program *p = program_fork(call->arena, a->bound->program);
    const Schedule *given = given_schedule(call, p, o);
    if (call->diags->errors) return LW_ERROR;
    CpuOptions options = {
        .threads = o->threads > 0 ? o->threads : 2, .given = given, .literal = given};
    Machine *m = &options.machine;
    bool wanted = o->explain_bound || o->json, known = true;
    if (o->device ? !device_machine(call, o->device, m) : !machine_named(call)) return LW_ERROR;
    if (!o->device) {
        detect_machine(call->ctx, m, target_host()->nisas);
        known = wanted ? measure_known(call, m) : measure_kept(call, m);
    }
    ChooseOptions choice = {.machine = m};
    if (!given)
        options.flatten = m->target->choose(call->arena, p, &choice)->flatten; // as in tuning
    Shown x = {.call = call, .o = o, .target = m->target->space, .text.arena = call->arena};
    if (!x.target->make(call->arena, p, &options, &x.ps, call->diags)) return LW_ERROR;
    x.s = x.ps.space;
    BoundOptions bound = {.machine = m, .threads = options.threads, .plant = planted_bound()};
    if (known) x.bound = x.target->bound(call->arena, &x.ps, &bound);
    x.w = space_work(call->arena, x.s);
    x.c = space_cand(call->arena, x.s);
    x.before = space_cand(call->arena, x.s);
    space_copy(x.s, x.c, x.s->root);
    text_printf(&x.text, "space            %d objects, %d variables, %u bytes a candidate\n",
                x.s->nobjects, x.s->nvars, x.s->size);
    lw_status status = o->json && x.bound ? explain(&x, given) : show(&x, given);
    a->text = text_str(&x.text);
    return status;
}

lw_status lw_bound_space(lw_context *ctx, const lw_bound *b, const lw_space_options *options,
                         const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!b) return call_null(ctx, "b");
    SpaceCall s = {.bound = b};
    if (!options_copy(&s.options, sizeof s.options, options)) return call_unsized(ctx);
    if (s.options.threads < 0) return call_threads(ctx, s.options.threads);
    lw_status status = call_run(ctx, space_body, &s);
    if (status == LW_OK) *out = s.text;
    return status;
}
