// Functions as files (C source, objects of machine code), and the C back-end, which runs one
// through the system's compiler.
#include "api/compile_gpu.h"
#include "api/pipeline.h"

#include "base/kernel_abi.h"
#include "code/c/c.h"
#include "run/cc.h"
#include "stripe/stripe.h"
#include "tree/tree.h"

#include <string.h>

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

static lw_status run_kernel(Compilation *c, const CFunction *f, const char *source) {
    Call *call = c->call;
    char *message = arena_alloc(call->arena, 4096);
    void **buffers = arena_new_n(call->arena, void *, c->tree->nargs + 1);
    char *scratch = arena_alloc(call->scratch, (size_t)f->scratch + 64);
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    for (int i = 0; i < c->tree->nargs; i++) buffers[i] = c->views[i].data;
    KernelEnv env = {.flags = (c->options->accumulate ? KERNEL_ACCUMULATE : 0u) |
                              (c->options->skip_post ? KERNEL_SKIP_POST : 0u),
                     .threads = 1};
    double start = now_us();
    Library *library;
    CcOptions o = {.openmp = f->parallel};
    CcResult result = cc_load(source, &o, &library, message, 4096);
    c->timing.compile_us += now_us() - start;
    if (result) return cc_failed(call, result, message);
    void *symbol = library_find(library, f->kernel);
    Kernel *kernel;
    memcpy(&kernel, &symbol, sizeof kernel); // ISO C has no cast from object to function
    int status = kernel(buffers, scratch, &env);
    library_close(library);
    if (status && status < KERNEL_BAD_INDEX)
        arena_out_of_memory(call->arena); // for what lives inside of a parallel loop
    return status ? explain_fault(c, c->tree) : LW_OK;
}

lw_status c_run(Compilation *c) {
    Call *call = c->call;
    double start = now_us();
    if (warn_grid(c)) return LW_ERROR;
    CFunction f;
    CUnit *unit = c_unit(call->arena);
    Tree *t = tree_for_views(call->arena, c->tree, c->views);
    c->tree = t;
    if (!c_unit_add(unit, t, NULL, &f, call->diags)) return LW_ERROR;
    Text source = {.arena = call->arena};
    c_unit_print(unit, NULL, &source, NULL);
    c->timing.compile_us += now_us() - start;
    return run_kernel(c, &f, text_str(&source));
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

static lw_status emit_code(Compilation *c, EmitCall *e) {
    c->listed = true;
    lw_status status = pipeline(c, STEP_GENERATE);
    if (status) return status;
    Call *call = c->call;
    if (!is_chosen(c->bound, &c->text)) warn_slow_loops(c);
    EmitInput in = {c->tree,     show_tree(call->arena, c->tree),
                    c->machine,  &c->code,
                    &c->listing, e->options.name};
    EmitKind kind = e->what == LW_EMIT_ASM ? EMIT_ASM : EMIT_OBJECT;
    EmitOutput out;
    const Target *target = c->machine->target;
    if (!target->emit)
        diag_report(call->diags, nowhere, DIAG_CODE_DECLINED, "object files for this target");
    if (!target->emit || !target->emit(call->arena, kind, &in, &out, call->diags)) return LW_ERROR;
    *e->out = (lw_emitted){.function = out.function,
                           .bytes = out.bytes,
                           .size = out.size,
                           .header = out.header,
                           .header_size = out.header_size};
    return e->what == LW_EMIT_SO ? link_shared(call, e->out) : LW_OK;
}

static lw_status emit_c(Compilation *c, EmitCall *e) {
    lw_status status = pipeline(c, STEP_VERIFY);
    if (!status) status = warn_grid(c);
    if (status) return status;
    Call *call = c->call;
    CFunction f;
    CUnit *unit = c_unit(call->arena);
    Tree *t = tree_for_views(call->arena, c->tree, NULL);
    if (!c_unit_add(unit, t, e->options.name, &f, call->diags)) return LW_ERROR;
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

static lw_status emit_stripe(Compilation *c, EmitCall *e) {
    bool own = c->bound->function->tree && !is_description(&c->text);
    if (own && c->text.text) return function_is_tree(c->call, c->bound->function);
    lw_status status = own ? LW_OK : pipeline(c, STEP_VERIFY);
    if (status) return status;
    Text out = {.arena = c->call->arena};
    Tree *t = tree_fork(c->call->arena, own ? own_tree(c->call, c->bound) : c->tree);
    Block root = *t->root;
    root.name = e->options.name ? e->options.name : c->bound->program->name;
    t->root = tree_block(t, &root, root.child, root.nchildren);
    stripe_print(&out, t);
    *e->out = (lw_emitted){.function = arena_printf(c->call->arena, "%s", root.name),
                           .bytes = text_str(&out),
                           .size = out.len,
                           .header = ""};
    return LW_OK;
}

static lw_status emit_body(Call *call, void *args) {
    EmitCall *e = args;
    if (e->what == LW_EMIT_PTX || e->what == LW_EMIT_CUBIN)
        return gpu_emit(call, e->bound, &e->options.schedule, e->options.isa, e->options.name,
                        e->what == LW_EMIT_CUBIN, e->out);
    Compilation c = compilation_of(call, e->bound, &e->options.schedule);
    c.machine = show_machine(call, e->options.isa);
    c.threads = e->options.threads;
    if (!c.machine) return LW_ERROR;
    if (e->what == LW_EMIT_STRIPE) return emit_stripe(&c, e);
    return e->what == LW_EMIT_C ? emit_c(&c, e) : emit_code(&c, e);
}

lw_status lw_bound_emit(lw_context *ctx, const lw_bound *b, lw_emit what,
                        const lw_emit_options *options, lw_emitted *out) {
    if (!out) return call_null(ctx, "out");
    memset(out, 0, sizeof *out);
    if (!b) return call_null(ctx, "b");
    if (what < LW_EMIT_C || what > LW_EMIT_CUBIN)
        return call_misuse(ctx, "'what' is %d, which is not a valid lw_emit", (int)what);
    EmitCall e = {.bound = b, .what = what, .out = out};
    if (!options_copy(&e.options, sizeof e.options, options)) return call_unsized(ctx);
    if (e.options.threads < 0) return call_threads(ctx, e.options.threads);
    return call_run(ctx, emit_body, &e);
}
