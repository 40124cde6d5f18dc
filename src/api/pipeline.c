// The compiler, step by step.
#include "api/pipeline.h"

#include "lang/graph.h"
#include "stripe/lift.h"
#include "stripe/stripe.h"
#include "tree/special.h"
#include "verify/verify.h"

#include <time.h>

double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static lw_status parse(Pipeline *p);
static lw_status bind(Pipeline *p);
static lw_status execute(Pipeline *p);

// Runs one step unless it is done, tells the context's trace how long it took, and stops where
// something was reported or where the caller wanted to get.
#define RUN(STEP, step)                                                                            \
    if (p->first <= (STEP)) {                                                                      \
        double start = ctx->trace ? now_us() : 0;                                                  \
        lw_status status = step(p);                                                                \
        if (ctx->trace) ctx->trace(ctx->allocator.user, #step, now_us() - start);                  \
        if (status) return status;                                                                 \
    }                                                                                              \
    if (until == (STEP)) return LW_OK;

lw_status pipeline(Pipeline *p, Step until) {
    lw_context *ctx = p->call->ctx;
    RUN(STEP_PARSE, parse)
    RUN(STEP_BIND, bind)
    RUN(STEP_EXECUTE, execute)
    return LW_OK;
}

// --- The steps -----------------------------------------------------------------------------------

static Module *just(Arena *arena, Program *program) {
    Module *m = arena_new(arena, Module);
    if (program) vec_push(arena, &m->programs, program);
    return m;
}

static Module *parse_graph(lw_module *mod, DiagList *diags) {
    Graph *g = graph_parse(&mod->arena, &mod->names, &mod->source, diags);
    return just(&mod->arena, g ? graph_build(&mod->arena, g) : NULL);
}

static Module *parse_programs(lw_module *mod, DiagList *diags) {
    Program **list;
    int n = program_parse_all(&mod->arena, &mod->names, &mod->source, diags, &list);
    Module *m = arena_new(&mod->arena, Module);
    for (int i = 0; i < n; i++) vec_push(&mod->arena, &m->programs, list[i]);
    return m;
}

// A flat text is a Program like any other, for which loops are chosen; one that decides something
// is its own Tree.
static Module *parse_stripe(Pipeline *p) {
    lw_module *mod = p->mod;
    Arena *arena = &mod->arena;
    const Tree *t = stripe_parse(arena, &mod->names, &mod->source, p->call->diags);
    Verify verify = {.unchecked = p->unproven};
    if (!t) return just(arena, NULL);
    const Tree *whole = tree_expand(t);
    tree_verify(arena, whole, &verify, p->call->diags);
    Lift lift = {.reason = LIFT_ASKED, .text = "it was parsed as written"};
    if (!p->as_written && !p->call->diags->errors) lift = tree_lift(arena, whole);
    p->lift = arena_copy(arena, &lift, sizeof lift);
    Module *m = just(arena, lift.program ? lift.program : (Program *)t->program);
    if (!lift.program) vec_push(arena, &m->trees, whole);
    return m;
}

static Module *run_teml(Pipeline *p) {
    lw_module *mod = p->mod;
    TemlResult r = teml_parse(&mod->arena, p->call->scratch, &mod->names, &mod->source, p->trust,
                              p->call->diags);
    mod->store = r.store;
    return r.module;
}

static void note_computed(void *user, const Access *a, bool guarded) {
    (void)guarded;
    for (int d = 0; d < a->rank; d++) *(bool *)user |= a->sub[d]->has_read;
}

// Somebody vouches for subscripts that are read from data: compiled code does not check them.
static void vouch(Module *m) {
    for (int i = 0; i < m->programs.n; i++)
        for (int k = 0; k < m->programs.at[i]->stmts.n; k++) {
            Stmt *s = &m->programs.at[i]->stmts.at[k];
            bool computed = false;
            expr_visit_accesses(s->value, note_computed, &computed);
            note_computed(&computed, s->write, false);
            s->unchecked |= computed;
        }
}

static lw_status parse(Pipeline *p) {
    double start = now_us();
    lw_module *mod = p->mod;
    DiagList *diags = p->call->diags;
    Arena *arena = &mod->arena;
    Module *m;
    if (p->einsum)
        m = just(arena, einsum_parse(arena, &mod->names, &mod->source, p->noperands, p->operands,
                                     &p->order, &p->plan, diags));
    else if (p->language == LW_LANG_TC)
        m = tc_parse(arena, &mod->names, &mod->source, diags);
    else if (p->language == LW_LANG_GRAPH)
        m = parse_graph(mod, diags);
    else if (p->language == LW_LANG_STRIPE)
        m = parse_stripe(p);
    else if (p->language == LW_LANG_TEML)
        m = run_teml(p);
    else if (p->language == LW_LANG_PROGRAM)
        m = parse_programs(mod, diags);
    else
        return call_misused(p->call, "'language' is %d, which is not a valid lw_language",
                            (int)p->language);
    if (diags->errors && !p->partial) return LW_ERROR;
    if (p->unchecked_index) vouch(m);
    module_describe(mod, m);
    for (int i = 0; i < mod->nfunctions; i++) mod->functions[i].lift = p->lift;
    mod->front_us = now_us() - start;
    return diags->errors ? LW_ERROR : LW_OK;
}

static lw_status bind(Pipeline *p) {
    lw_bound *b = p->bound;
    double start = now_us();
    b->program = program_bind(&b->arena, b->function->program, b->values, p->call->diags);
    if (!b->program || p->call->diags->errors) return LW_ERROR;
    bound_describe(b);
    b->bind_us = now_us() - start;
    return LW_OK;
}

static lw_status execute(Pipeline *p) {
    const lw_run_options *o = p->options;
    const lw_function *f = p->bound->function;
    bool any = o->backend == LW_BACKEND_DEFAULT, stripe = f->tree;
    const Backend *backend =
        any && (o->schedule.text || stripe) ? backend_for_schedule() : backend_find(o->backend);
    if (any && o->trap_uninitialised && !stripe) backend = backend_find(LW_BACKEND_INTERP);
    if (!backend)
        return call_misused(p->call, "'backend' is %d, which is not a valid lw_backend",
                            (int)o->backend);
    if (stripe && (o->schedule.text || (!backend->schedules && !f->reference)))
        return function_is_tree(p->call, f);
    if (o->schedule.text && !backend->schedules) {
        diag_report(p->call->diags, (Range){0, 0}, DIAG_SCHEDULE_BACKEND, backend->name);
        return LW_ERROR;
    }
    double start = p->timed ? now_us() : 0;
    lw_status status = backend->execute(p);
    p->timing.backend = backend->id;
    if (p->timed && p->timing.run_us == 0)
        p->timing.run_us = now_us() - start - p->timing.compile_us;
    return status;
}
