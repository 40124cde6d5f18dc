// Kernels in the caller's hand.
#include "api/pipeline.h"

#include "code/code.h"

#include <string.h>

struct lw_kernel {
    lw_context *ctx; // whose code memory it is in
    atomic_int refs;
    lw_bound *bound;
    KernelCode *code;
    Arena arena;
    lw_kernel_info info;
    DLTensor *tensors; // per argument, with strides
    lw_schedule_text schedule;
};

// --- Compiling -----------------------------------------------------------------------------------

typedef struct CompileCall {
    const lw_bound *bound;
    lw_compile_options options;
    lw_kernel *kernel;
} CompileCall;

static const char *keep_text(Arena *arena, const char *s) {
    return s ? arena_strndup(arena, s, strlen(s)) : NULL;
}

static void describe(lw_kernel *k, const View *views, const lw_schedule_text *schedule) {
    const lw_bound *b = k->bound;
    size_t n = k->info.arg_count;
    k->tensors = arena_new_n(&k->arena, DLTensor, n + 1);
    for (size_t i = 0; i < n; i++) {
        k->tensors[i] = b->tensors[i];
        k->tensors[i].strides =
            arena_copy(&k->arena, views[i].stride, (size_t)views[i].rank * sizeof *views[i].stride);
    }
    k->schedule = (lw_schedule_text){keep_text(&k->arena, schedule->text),
                                     keep_text(&k->arena, schedule->name)};
}

static bool arguments_fit(Call *call, const CompileCall *c) {
    const DLTensor *const *args = c->options.args;
    int n = c->bound->program->ninputs + c->bound->program->noutputs;
    for (int i = 0; args && i < n; i++)
        if (args[i] && !argument_fits(call, c->bound, i, args[i])) return false;
    return true;
}

static lw_status compile_body(Call *call, void *arg) {
    CompileCall *c = arg;
    const lw_bound *b = c->bound;
    call_source(call, b->function->module);
    if (!arguments_fit(call, c)) return LW_ERROR;
    int n = b->program->ninputs + b->program->noutputs;
    View *views = arena_new_n(call->arena, View, n + 1);
    view_arguments(b, c->options.args, views);
    lw_run_options o = {
        .schedule = c->options.schedule, .isa = c->options.isa, .threads = c->options.threads};
    Compilation compiled = compilation_of(call, b, &o.schedule);
    compiled.first = STEP_FIND;
    compiled.backend = backend_jit;
    compiled.views = views;
    compiled.options = &o;
    lw_status status = pipeline(&compiled, STEP_INSTALL);
    if (status) return status;
    const KernelCode *code = compiled.kernel;
    lw_kernel *k = call_new(call, sizeof *k);
    c->kernel = k;
    k->ctx = call->ctx;
    context_hold(k->ctx);
    atomic_init(&k->refs, 1);
    k->bound = (lw_bound *)b;
    bound_hold(k->bound);
    k->code = (KernelCode *)code;
    atomic_fetch_add(&k->code->refs, 1);
    arena_init(&k->arena, &k->ctx->allocator);
    call_join(call, &k->arena);
    k->info = (lw_kernel_info){.name = b->program->name,
                               .isa = code->isa,
                               .arg_count = (size_t)n,
                               .flops = code->flops,
                               .int_ops = code->int_ops,
                               .bytes = code->bytes,
                               .written_bytes = code->written_bytes,
                               .code_bytes = code->code_bytes,
                               .scratch = code->scratch,
                               .thread_scratch = code->thread_scratch,
                               .parallel = code->parallel > 0,
                               .compile_us = compile_us(&compiled),
                               .schedule = origin_name[code->origin]};
    describe(k, views, &c->options.schedule);
    call_part(call);
    return LW_OK;
}

lw_status lw_compile(lw_context *ctx, const lw_bound *b, const lw_compile_options *options,
                     lw_kernel **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!b) return call_null(ctx, "b");
    CompileCall c = {.bound = b};
    if (!options_copy(&c.options, sizeof c.options, options)) return call_unsized(ctx);
    if (c.options.threads < 0) return call_threads(ctx, c.options.threads);
    lw_status status = call_run(ctx, compile_body, &c);
    if (status == LW_OK)
        *out = c.kernel;
    else
        lw_kernel_free(c.kernel);
    return status;
}

lw_kernel *lw_kernel_hold(lw_kernel *k) {
    if (k) atomic_fetch_add(&k->refs, 1);
    return k;
}

void lw_kernel_free(lw_kernel *k) {
    if (!k || atomic_fetch_sub(&k->refs, 1) != 1) return;
    lw_context *ctx = k->ctx;
    kernel_drop(ctx, k->code);
    lw_bound_free(k->bound);
    arena_free(&k->arena);
    ctx->allocator.free(ctx->allocator.user, k, sizeof *k);
    context_drop(ctx);
}

// --- Asking --------------------------------------------------------------------------------------

const lw_kernel_info *lw_kernel_get_info(const lw_kernel *k) { return k ? &k->info : NULL; }

const lw_bound *lw_kernel_bound(const lw_kernel *k) { return k ? k->bound : NULL; }

const DLTensor *lw_kernel_tensor(const lw_kernel *k, size_t i) {
    return k && i < k->info.arg_count ? &k->tensors[i] : NULL;
}

typedef struct KernelShowCall {
    const lw_kernel *kernel;
    lw_stage stage;
    bool json;
    const char *text;
} KernelShowCall;

static lw_status show_body(Call *call, void *arg) {
    KernelShowCall *s = arg;
    const lw_kernel *k = s->kernel;
    View *views = arena_new_n(call->arena, View, k->info.arg_count + 1);
    const DLTensor **args = arena_new_n(call->arena, const DLTensor *, k->info.arg_count + 1);
    for (size_t i = 0; i < k->info.arg_count; i++) args[i] = &k->tensors[i];
    view_arguments(k->bound, args, views);
    lw_show_options o = {
        .schedule = k->schedule, .json = s->json, .isa = k->info.isa, .threads = k->code->threads};
    call_source(call, k->bound->function->module);
    return code_show(call, k->bound, s->stage, &o, views, &s->text);
}

lw_status lw_kernel_show(lw_context *ctx, const lw_kernel *k, lw_stage stage, bool json,
                         const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!k) return call_null(ctx, "k");
    if (stage != LW_STAGE_ASM && stage != LW_STAGE_REPORT)
        return call_misuse(ctx, "'stage' is %d; a kernel has LW_STAGE_ASM and LW_STAGE_REPORT",
                           (int)stage);
    KernelShowCall s = {k, stage, json, NULL};
    lw_status status = call_run(ctx, show_body, &s);
    if (status == LW_OK) *out = s.text;
    return status;
}

// --- Running -------------------------------------------------------------------------------------

typedef struct KernelRunCall {
    const lw_kernel *kernel;
    const DLTensor *const *args;
    size_t count;
    const lw_run_options *options;
} KernelRunCall;

static lw_status run_body(Call *call, void *arg) {
    KernelRunCall *r = arg;
    lw_run_options o;
    if (!options_copy(&o, sizeof o, r->options)) return call_misused(call, UNSIZED);
    o.struct_size = sizeof o;
    o.backend = LW_BACKEND_JIT;
    o.schedule = r->kernel->schedule;
    return run_arguments(call, r->kernel->bound, r->kernel->code, r->args, r->count, &o);
}

lw_status lw_kernel_run(lw_context *ctx, const lw_kernel *k, const DLTensor *const *args,
                        size_t count, const lw_run_options *options) {
    if (!k) return call_null(ctx, "k");
    KernelRunCall r = {k, args, count, options};
    return call_run(ctx, run_body, &r);
}

int lw_kernel_call(const lw_kernel *k, void *const *buffers, void *scratch, int threads) {
    KernelEnv env = {.threads = 1, .apply = code_apply};
    if (!scratch && k->code->scratch) return -1;
    if (threads > 1 && k->code->parallel && (env.user = context_pool(k->ctx))) {
        env.threads = threads < POOL_MAX_THREADS ? threads : POOL_MAX_THREADS;
        env.parallel_for = pool_parallel_for;
    }
    if (k->code->loaded.user) env.user = k->code->loaded.user;
    return k->code->loaded.entry(buffers, scratch, &env);
}
