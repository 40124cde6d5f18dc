// The back-ends, best last. A new one is a row here: the steps that it needs, and a function that
// runs their result on views.
#include "api/pipeline.h"

#include "sched/schedule.h"
#include "tree/tree_interp.h"

// The meaning of a TeML function: its assignments in order, each in its own loops.
static lw_status interp(Compilation *c) {
    const lw_run_options *o = c->options;
    InterpFlags flags = {o->accumulate, o->skip_post, o->trap_uninitialised};
    const Tree *reference = c->bound->function->reference;
    if (reference) {
        const Tree *own = tree_fork(c->call->arena, reference);
        return tree_interpret(c->call->scratch, own, c->views, flags, c->call->diags) ? LW_OK
                                                                                      : LW_ERROR;
    }
    bool ok =
        program_interpret(c->call->scratch, c->bound->program, c->views, flags, c->call->diags);
    return ok ? LW_OK : LW_ERROR;
}

static lw_status tree(Compilation *c) {
    const lw_run_options *o = c->options;
    InterpFlags flags = {o->accumulate, o->skip_post, o->trap_uninitialised};
    DiagList *diags = c->call->diags, found = {.arena = c->call->arena, .source = diags->source};
    bool stripe = c->bound->function->tree;
    if (tree_interpret(c->call->scratch, c->tree, c->views, flags, stripe ? diags : &found))
        return LW_OK;
    // Of a Program the reference interpreter tells more: which subscript, of which statement.
    if (!stripe && found.items.at[0]->id == DIAG_TREE_INDEX_OUTSIDE)
        return explain_fault(c, c->tree);
    for (int i = 0; i < found.items.n; i++)
        vec_push(diags->arena, &diags->items, found.items.at[i]);
    return LW_ERROR;
}

// The outputs have changed by then: where that hides the fault, at least there was one.
lw_status explain_fault(Compilation *c, const Tree *t) {
    const lw_run_options *o = c->options;
    InterpFlags flags = {o->accumulate, o->skip_post, false};
    Arena *scratch = c->call->scratch;
    DiagList *diags = c->call->diags;
    bool ok = c->bound->function->tree
                  ? tree_interpret(scratch, t, c->views, flags, diags)
                  : program_interpret(scratch, c->bound->program, c->views, flags, diags);
    if (ok) diag_report(diags, (Range){0, 0}, DIAG_KERNEL_INDEX, c->bound->program->name);
    return LW_ERROR;
}

// The C back-end starts a compiler, and the tree interpreter is an oracle and slower than the
// reference: they only run when asked for.
static const Backend backends[] = {
    {LW_BACKEND_GPU, "gpu", STEP_BIND, gpu_run},
    {LW_BACKEND_C, "c", STEP_VERIFY, c_run},
    {LW_BACKEND_TREE, "tree", STEP_VERIFY, tree},
    {LW_BACKEND_INTERP, "interp", STEP_BIND, interp},
    {LW_BACKEND_JIT, "jit", STEP_INSTALL, jit_run},
};
enum { COUNT = sizeof backends / sizeof *backends };
const Backend *const backend_jit = &backends[COUNT - 1];

// The GPU's compiles by itself, for the memory that arguments are in.
static bool obeys_schedules(const Backend *b) {
    return b->needs > STEP_BIND || b->id == LW_BACKEND_GPU;
}

// NULL: there is no such back-end. The default is the best one.
static const Backend *backend_find(lw_backend id) {
    for (int i = COUNT - 1; i >= 0; i--)
        if (id == LW_BACKEND_DEFAULT || backends[i].id == id) return &backends[i];
    return NULL;
}

bool pick_backend(Compilation *c, lw_status *status) {
    const lw_run_options *o = c->options;
    const lw_function *f = c->bound->function;
    bool any = o->backend == LW_BACKEND_DEFAULT, stripe = f->tree;
    const Backend *b = backend_find(o->device && any ? LW_BACKEND_GPU : o->backend);
    if (any && !o->device && o->trap_uninitialised && !stripe) b = backend_find(LW_BACKEND_INTERP);
    c->backend = b;
    *status = LW_ERROR;
    if (!b)
        *status = call_misused(c->call, "'backend' is %d, which is not a valid lw_backend",
                               (int)o->backend);
    else if (o->device && b->id != LW_BACKEND_GPU)
        *status = call_misused(c->call, "'device' is for LW_BACKEND_GPU, not for the back-end '%s'",
                               b->name);
    else if (stripe && ((o->schedule.text && !is_description(&o->schedule)) ||
                        (!obeys_schedules(b) && !f->reference)))
        *status = function_is_tree(c->call, f);
    else if (o->schedule.text && !obeys_schedules(b))
        diag_report(c->call->diags, (Range){0, 0}, DIAG_SCHEDULE_BACKEND, b->name);
    else
        return true;
    return false;
}

// A back-end that does not tell its time is timed here, without the part that it spent compiling.
lw_status step_run(Compilation *c) {
    lw_timing *t = &c->timing;
    double compiled = t->compile_us = compile_us(c), start = c->timed ? now_us() : 0;
    lw_status status = c->backend->run(c);
    t->backend = c->backend->id;
    if (c->timed && t->run_us == 0) t->run_us = now_us() - start - (t->compile_us - compiled);
    return status;
}

const char *lw_backend_name(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b ? b->name : NULL;
}

bool lw_backend_available(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b != NULL;
}
