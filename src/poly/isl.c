// Loading isl; see isl.h.
#include "poly/isl.h"

#include "poly/poly.h"

#ifdef POLY_HAS_ISL
#include <dlfcn.h>
#include <stdlib.h>

// The library with the binary interface of the headers: isl 0.24 to 0.26.
static const char *library_name(void) {
    const char *set = getenv("LW_ISL");
    return set && *set ? set : "libisl.so.23";
}

static bool resolve(void *library, void *slot, const char *name) {
    void *found = dlsym(library, name);
    *(void **)slot = found; // POSIX guarantees that a function pointer fits
    return found != NULL;
}

bool isl_load(Isl *I) {
    void *library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool all = library != NULL;
#define ISL(name) all = all && resolve(library, &I->name, "isl_" #name);
#include "poly/isl.def"
#undef ISL
    if (library) dlclose(library);
    return all;
}

isl_ctx *isl_begin(const Isl *I, int64_t operations) {
    isl_ctx *ctx = I->ctx_alloc();
    if (!ctx) return NULL;
    I->options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    I->ctx_set_max_operations(ctx, (unsigned long)operations);
    return ctx;
}

void isl_end(const Isl *I, isl_ctx *ctx) {
    if (ctx) I->ctx_free(ctx);
}

const char *poly_missing(void) {
    Isl I;
    return isl_load(&I)
               ? NULL
               : "isl is not installed (libisl.so.23, Debian: libisl23; LW_ISL names another file)";
}
#else
const char *poly_missing(void) {
    return "this build has no isl (build with its headers, Debian: libisl-dev)";
}
#endif
