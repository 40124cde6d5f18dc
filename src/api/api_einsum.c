// einsum: subscripts and operands to a module, and the whole way to the result in one call.
#include "api/pipeline.h"

#include <string.h>

static bool take_operands(Call *call, const DLTensor *const *operands, size_t count,
                          EinsumOperand *into) {
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        const DLTensor *t = operands[i];
        const char *name = arena_printf(call->arena, "in%zu", i);
        into[i] = (EinsumOperand){type_of(t->dtype), t->ndim, t->shape};
        if (t->ndim > 0 && !t->shape) {
            diag_report(call->diags, (Range){0, 0}, DIAG_ARGUMENT_NO_SHAPE, name, t->ndim);
            ok = false;
            continue;
        }
        if (into[i].type != TYPE_NONE) continue;
        diag_report(call->diags, (Range){0, 0}, DIAG_OPERAND_TYPE, name,
                    dtype_name(call->arena, t->dtype));
        ok = false;
    }
    return ok;
}

// The plan as the API shows it.
static const lw_einsum_plan *show_plan(Arena *arena, const EinsumPlan *plan) {
    const Path *path = &plan->path;
    lw_einsum_step *steps = arena_new_n(arena, lw_einsum_step, path->n);
    for (int i = 0; i < path->n; i++) {
        int32_t *at = arena_new_n(arena, int32_t, path->step[i].n);
        path_positions(&plan->problem, path, i, at);
        steps[i] =
            (lw_einsum_step){(size_t)path->step[i].n, at, path->step[i].flops, path->step[i].size};
    }
    lw_einsum_plan *shown = arena_new(arena, lw_einsum_plan);
    *shown = (lw_einsum_plan){(size_t)path->n, steps, path->flops, plan->naive, path->largest};
    return shown;
}

static bool take_order(Call *call, const lw_einsum_options *o, EinsumOptions *into) {
    *into = (EinsumOptions){.limit = o->memory_limit,
                            .as_written = o->as_written,
                            .path = o->path,
                            .path_length = o->path_length};
    if (!o->dtype.bits && !o->dtype.code) return true;
    into->type = type_of(o->dtype);
    if (into->type != TYPE_NONE) return true;
    diag_report(call->diags, (Range){0, 0}, DIAG_OPERAND_TYPE, "dtype",
                dtype_name(call->arena, o->dtype));
    return false;
}

static lw_status open_module(Call *call, const char *spec, const DLTensor *const *operands,
                             size_t count, const lw_einsum_options *options, lw_module **into,
                             const lw_einsum_plan **plan) {
    for (size_t i = 0; i < count; i++)
        if (!operands[i]) return call_misused(call, "'operands[%zu]' is NULL", i);
    size_t len = strlen(spec);
    if (len > LW_MAX_SOURCE || count > PROGRAM_MAX_TENSORS) {
        diag_report(call->diags, (Range){0, 0}, DIAG_SOURCE_TOO_LONG, "<einsum>", LW_MAX_SOURCE);
        return LW_ERROR;
    }
    EinsumOperand *list = arena_new_n(call->arena, EinsumOperand, count);
    if (!take_operands(call, operands, count, list)) return LW_ERROR;
    lw_module *mod = module_new(call, into);
    mod->source = (Source){"<einsum>", arena_strndup(&mod->arena, spec, len), (uint32_t)len};
    call_source(call, mod);
    Compilation c = {
        .call = call, .mod = mod, .einsum = true, .noperands = (int)count, .operands = list};
    if (!take_order(call, options, &c.order)) return LW_ERROR;
    lw_status status = pipeline(&c, STEP_INFER);
    mod->front_us = c.us[STEP_PARSE] + c.us[STEP_INFER];
    if (!status && plan) *plan = show_plan(call->arena, &c.einsum_plan);
    return status;
}

typedef struct EinsumCall {
    const char *spec;
    const DLTensor *const *operands;
    size_t count;
    const DLTensor *out;
    const lw_run_options *options;
    lw_einsum_options order;
    const lw_einsum_plan *plan;
    lw_module *mod;
    lw_bound *bound;
} EinsumCall;

static lw_status parse_body(Call *call, void *args) {
    EinsumCall *e = args;
    return open_module(call, e->spec, e->operands, e->count, &e->order, &e->mod, &e->plan);
}

lw_status lw_parse_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                          size_t count, lw_module **out) {
    return lw_parse_einsum_with(ctx, spec, operands, count, NULL, out, NULL);
}

lw_status lw_parse_einsum_with(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                               size_t count, const lw_einsum_options *options, lw_module **out,
                               const lw_einsum_plan **plan) {
    if (plan) *plan = NULL;
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!spec || (count && !operands)) return call_null(ctx, spec ? "operands" : "spec");
    EinsumCall e = {.spec = spec, .operands = operands, .count = count};
    if (!options_copy(&e.order, sizeof e.order, options)) return call_unsized(ctx);
    lw_status status = call_run(ctx, parse_body, &e);
    if (status == LW_OK) {
        *out = e.mod;
        if (plan) *plan = e.plan;
    } else {
        lw_module_free(e.mod);
    }
    return status;
}

static lw_status einsum_body(Call *call, void *args) {
    EinsumCall *e = args;
    lw_status status = open_module(call, e->spec, e->operands, e->count, &e->order, &e->mod, NULL);
    if (status) return status;
    BindArgs bind = {.f = &e->mod->functions[0], .args = e->operands, .nargs = e->count};
    status = bind_open(call, &bind, &e->bound);
    if (status) return status;
    const DLTensor **all = arena_new_n(call->arena, const DLTensor *, e->count + 1);
    for (size_t i = 0; i < e->count; i++) all[i] = e->operands[i];
    all[e->count] = e->out;
    return run_bound(call, e->bound, all, e->count + 1, e->options);
}

lw_status lw_einsum(lw_context *ctx, const char *spec, const DLTensor *const *operands,
                    size_t count, const DLTensor *out, const lw_run_options *options) {
    if (!spec || !out) return call_null(ctx, spec ? "out" : "spec");
    if (count && !operands) return call_null(ctx, "operands");
    EinsumCall e = {
        .spec = spec, .operands = operands, .count = count, .out = out, .options = options};
    lw_status status = call_run(ctx, einsum_body, &e);
    lw_bound_free(e.bound);
    lw_module_free(e.mod);
    return status;
}
