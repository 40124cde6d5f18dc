// The back-ends, best last. A new one is a row here and a function that executes a Pipeline's bound
// Program on its views.
#include "api/pipeline.h"

static lw_status interp(Pipeline *p) {
    const lw_run_options *o = p->options;
    InterpFlags flags = {o->accumulate, o->skip_post, o->trap_uninitialised};
    bool ok = program_interpret(p->call->arena, p->bound->program, p->views, flags, p->call->diags);
    return ok ? LW_OK : LW_ERROR;
}

static const Backend backends[] = {
    {LW_BACKEND_INTERP, "interp", interp},
    {LW_BACKEND_TREE, "tree", NULL},
    {LW_BACKEND_C, "c", NULL},
    {LW_BACKEND_JIT, "jit", NULL},
};
enum { COUNT = sizeof backends / sizeof *backends };

const Backend *backend_find(lw_backend id) {
    for (int i = COUNT - 1; i >= 0; i--)
        if (id == LW_BACKEND_DEFAULT ? backends[i].execute != NULL : backends[i].id == id)
            return &backends[i];
    return NULL;
}

const char *lw_backend_name(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b ? b->name : NULL;
}

bool lw_backend_available(lw_backend backend) {
    const Backend *b = backend_find(backend);
    return b && b->execute;
}
