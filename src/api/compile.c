// Functions as files (C source, objects of machine code), and the C back-end, which runs one
// through the system's compiler.
#include "api/pipeline.h"

#include "base/kernel_abi.h"
#include "code/c/c.h"
#include "run/cc.h"
#include "tree/tree.h"

#include <string.h>

static const Range nowhere = {0, 0};

// --- Running -----------------------------------------------------------------------------------

static lw_status cc_failed(Call *call, CcResult result, const char *message) {
    if (result == CC_MISSING) {
        Diag *d = diag_report(call->diags, nowhere, DIAG_CC_MISSING, message);
        diag_note(call->diags, d, nowhere, DIAG_CC_MISSING_NOTE);
        return LW_UNAVAILABLE;
    }
    diag_report(call->diags, nowhere, result == CC_FAILED ? DIAG_CC_FAILED : DIAG_CC_SYSTEM,
                message);
    return LW_ERROR;
}

static lw_status run_kernel(Pipeline *p, const Tree *t, const CFunction *f, const char *source) {
    Call *call = p->call;
    char *message = arena_alloc(call->arena, 4096);
    void **buffers = arena_new_n(call->arena, void *, t->nargs + 1);
    char *scratch = arena_alloc(call->scratch, (size_t)f->scratch + 64);
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    for (int i = 0; i < t->nargs; i++) buffers[i] = p->views[i].data;
    KernelEnv env = {.flags = (p->options->accumulate ? KERNEL_ACCUMULATE : 0u) |
                              (p->options->skip_post ? KERNEL_SKIP_POST : 0u),
                     .threads = 1};
    double start = now_us();
    Library *library;
    CcOptions o = {.openmp = f->parallel};
    CcResult result = cc_load(source, &o, &library, message, 4096);
    p->timing.compile_us += now_us() - start;
    if (result) return cc_failed(call, result, message);
    void *symbol = library_find(library, f->kernel);
    Kernel *kernel;
    memcpy(&kernel, &symbol, sizeof kernel); // ISO C has no cast from object to function
    int status = kernel(buffers, scratch, &env);
    library_close(library);
    if (status && status < KERNEL_BAD_INDEX)
        arena_out_of_memory(call->arena); // for what lives inside of a parallel loop
    return status ? explain_fault(p, t) : LW_OK;
}

lw_status c_execute(Pipeline *p) {
    const Tree *t;
    double start = now_us();
    lw_status status =
        bound_lower_cpu(p->call, p->bound, &p->options->schedule, (Setting){.views = p->views}, &t);
    if (status) return status;
    CFunction f;
    CUnit *unit = c_unit(p->call->arena);
    Tree *mine = tree_for_views(p->call->arena, t, p->views);
    if (!c_unit_add(unit, mine, NULL, &f, p->call->diags)) return LW_ERROR;
    Text source = {.arena = p->call->arena};
    c_unit_print(unit, NULL, &source, NULL);
    p->timing.compile_us = now_us() - start;
    return run_kernel(p, mine, &f, text_str(&source));
}

// --- Writing -----------------------------------------------------------------------------------

typedef struct EmitCall {
    const lw_bound *bound;
    lw_emit what;
    lw_emit_options options;
    lw_emitted *out;
} EmitCall;

// The object that *out holds, linked. Headers, tables and alignment to pages need some room more.
static lw_status link_shared(Call *call, lw_emitted *out) {
    enum { MESSAGE = 4096, MORE = 1 << 20 };
    char *message = arena_alloc(call->arena, MESSAGE);
    char *bytes = arena_alloc(call->arena, out->size + MORE);
    size_t size = out->size + MORE;
    CcResult result = cc_link(out->bytes, out->size, bytes, &size, message, MESSAGE);
    if (result) return cc_failed(call, result, message);
    out->bytes = bytes;
    out->size = size;
    return LW_OK;
}

static lw_status emit_code(Call *call, EmitCall *e) {
    Listed l;
    lw_status status = bound_listed(call, e->bound, &e->options.schedule, e->options.isa,
                                    e->options.threads, NULL, &l);
    if (status) return status;
    if (!is_chosen(e->bound, &e->options.schedule))
        warn_slow_loops(call, l.tree, &l.machine, &l.code);
    EmitInput in = {l.tree, l.text, &l.machine, &l.code, &l.listing, e->options.name};
    EmitKind kind = e->what == LW_EMIT_ASM ? EMIT_ASM : EMIT_OBJECT;
    EmitOutput out;
    if (!l.machine.target->emit(call->arena, kind, &in, &out, call->diags)) return LW_ERROR;
    *e->out = (lw_emitted){.function = out.function,
                           .bytes = out.bytes,
                           .size = out.size,
                           .header = out.header,
                           .header_size = out.header_size};
    return e->what == LW_EMIT_SO ? link_shared(call, e->out) : LW_OK;
}

static lw_status emit_body(Call *call, void *args) {
    EmitCall *e = args;
    if (e->what != LW_EMIT_C) return emit_code(call, e);
    const Tree *t;
    const Machine *m = show_machine(call, e->options.isa);
    if (!m) return LW_ERROR;
    lw_status status = bound_lower_cpu(call, e->bound, &e->options.schedule,
                                       (Setting){.machine = m, .threads = e->options.threads}, &t);
    if (status) return status;
    CFunction f;
    CUnit *unit = c_unit(call->arena);
    if (!c_unit_add(unit, tree_for_views(call->arena, t, NULL), e->options.name, &f, call->diags))
        return LW_ERROR;
    Text source = {.arena = call->arena}, header = {.arena = call->arena};
    const char *include = e->options.header;
    if (!include) include = arena_printf(call->arena, "%s.h", f.name);
    if (!*include) include = NULL;
    c_unit_print(unit, include, &source, &header);
    *e->out = (lw_emitted){.function = f.name,
                           .bytes = text_str(&source),
                           .size = source.len,
                           .header = text_str(&header),
                           .header_size = header.len};
    return LW_OK;
}

lw_status lw_bound_emit(lw_context *ctx, const lw_bound *b, lw_emit what,
                        const lw_emit_options *options, lw_emitted *out) {
    if (!out) return call_null(ctx, "out");
    memset(out, 0, sizeof *out);
    if (!b) return call_null(ctx, "b");
    if (what < LW_EMIT_C || what > LW_EMIT_SO)
        return call_misuse(ctx, "'what' is %d, which is not a valid lw_emit", (int)what);
    EmitCall e = {.bound = b, .what = what, .out = out};
    if (!options_copy(&e.options, sizeof e.options, options)) return call_unsized(ctx);
    if (e.options.threads < 0) return call_threads(ctx, e.options.threads);
    return call_run(ctx, emit_body, &e);
}
