#include "support/clab.h"

#include "base/kernel_abi.h"
#include "support/arguments.h"

#include <stdlib.h>
#include <string.h>

void clab_begin(CLab *c) {
    memset(c, 0, sizeof *c);
    arena_init(&c->arena, &allocator_libc);
    c->diags.arena = &c->arena;
    c->unit = c_unit(&c->arena);
}

void clab_end(CLab *c) {
    library_close(c->library);
    arena_free(&c->arena);
}

int clab_add(CLab *c, Tree *t) {
    CFunction f;
    if (!c_unit_add(c->unit, t, NULL, &f, &c->diags)) return -1;
    vec_push(&c->arena, &c->functions, f);
    return c->functions.n - 1;
}

const char *clab_source(CLab *c) {
    Text source = {.arena = &c->arena};
    c_unit_print(c->unit, NULL, &source, NULL);
    return text_str(&source);
}

bool clab_compile(CLab *c, const char *compiler, const char *const *flags, bool openmp) {
    CcOptions o = {compiler, flags, openmp};
    library_close(c->library);
    c->library = NULL;
    return cc_load(clab_source(c), &o, &c->library, c->message, sizeof c->message) == CC_OK;
}

bool clab_has(const char *compiler) {
    static const char *const flags[] = {NULL};
    CcOptions o = {compiler, flags, false};
    Library *library;
    char message[64];
    CcResult r = cc_load("int x;\n", &o, &library, message, sizeof message);
    library_close(library);
    return r != CC_MISSING;
}

int clab_run(CLab *c, int number, const LabData *data, InterpFlags flags, bool low) {
    const CFunction *f = &c->functions.at[number];
    void *symbol = library_find(c->library, f->kernel);
    if (!symbol) return -1;
    Kernel *kernel;
    memcpy(&kernel, &symbol, sizeof kernel);
    Arguments args = arguments_new(&c->arena, data, flags, f->scratch, low);
    KernelEnv env = {.flags = args.flags, .threads = 1};
    int status = kernel(args.buffers, args.scratch, &env);
    if (!arguments_end(&args, data)) status = -2;
    return status;
}
