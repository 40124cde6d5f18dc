// The back-ends, best last. A new one is a row here and a function that executes a Pipeline's bound
// Program on its views.
#include "api/pipeline.h"

#include "sched/schedule.h"

// The meaning of a TeML function: its assignments in order, each in its own loops.
static lw_status interp(Pipeline *p) {
    const lw_run_options *o = p->options;
    InterpFlags flags = {o->accumulate, o->skip_post, o->trap_uninitialised};
    const Tree *reference = p->bound->function->reference;
    if (reference) {
        const Tree *own = tree_fork(p->call->arena, reference);
        return tree_interpret(p->call->scratch, own, p->views, flags, p->call->diags) ? LW_OK
                                                                                      : LW_ERROR;
    }
    bool ok =
        program_interpret(p->call->scratch, p->bound->program, p->views, flags, p->call->diags);
    return ok ? LW_OK : LW_ERROR;
}

static lw_status tree(Pipeline *p) {
    const lw_run_options *o = p->options;
    InterpFlags flags = {o->accumulate, o->skip_post, o->trap_uninitialised};
    const Schedule *schedule;
    const Tree *t;
    double start = now_us();
    lw_status status =
        bound_lower(p->call, p->bound, &o->schedule, (Setting){.views = p->views}, &schedule, &t);
    p->timing.compile_us = now_us() - start;
    if (status) return status;
    DiagList found = {.arena = p->call->arena, .source = p->call->diags->source};
    bool stripe = p->bound->function->tree;
    if (tree_interpret(p->call->scratch, t, p->views, flags, stripe ? p->call->diags : &found))
        return LW_OK;
    // Of a Program the reference interpreter tells more: which subscript, of which statement.
    if (!stripe && found.items.at[0]->id == DIAG_TREE_INDEX_OUTSIDE) return explain_fault(p, t);
    for (int i = 0; i < found.items.n; i++)
        vec_push(p->call->diags->arena, &p->call->diags->items, found.items.at[i]);
    return LW_ERROR;
}

// The outputs have changed by then: where that hides the fault, at least there was one.
lw_status explain_fault(Pipeline *p, const Tree *t) {
    const lw_run_options *o = p->options;
    InterpFlags flags = {o->accumulate, o->skip_post, false};
    Arena *scratch = p->call->scratch;
    DiagList *diags = p->call->diags;
    bool ok = p->bound->function->tree
                  ? tree_interpret(scratch, t, p->views, flags, diags)
                  : program_interpret(scratch, p->bound->program, p->views, flags, diags);
    if (ok) diag_report(diags, (Range){0, 0}, DIAG_KERNEL_INDEX, p->bound->program->name);
    return LW_ERROR;
}

// The C back-end starts a compiler, and the tree interpreter is an oracle and slower than the
// reference: they only run when asked for.
static const Backend backends[] = {
    {LW_BACKEND_C, "c", c_execute, .schedules = true},
    {LW_BACKEND_TREE, "tree", tree, .schedules = true},
    {LW_BACKEND_INTERP, "interp", interp, .schedules = false},
    {LW_BACKEND_JIT, "jit", backend_jit, .schedules = true},
};
enum { COUNT = sizeof backends / sizeof *backends };

const Backend *backend_find(lw_backend id) {
    for (int i = COUNT - 1; i >= 0; i--)
        if (id == LW_BACKEND_DEFAULT || backends[i].id == id) return &backends[i];
    return NULL;
}

const Backend *backend_for_schedule(void) {
    for (int i = COUNT - 1; i >= 0; i--)
        if (backends[i].schedules) return &backends[i];
    return NULL;
}

const char *lw_backend_name(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b ? b->name : NULL;
}

bool lw_backend_available(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b != NULL;
}
