// Schedules, Trees and code of a bound function, as text.
#include "api/database.h"
#include "api/explain.h"
#include "api/compile_gpu.h"

#include "sched/schedule.h"
#include "stripe/stripe.h"
#include "tree/special.h"

typedef struct ScheduleShowCall {
    const lw_bound *bound;
    lw_stage stage;
    lw_show_options options;
    const char *text;
} ScheduleShowCall;

static lw_status show_body(Call *call, void *args) {
    ScheduleShowCall *s = args;
    bool stripe = s->bound->function->tree;
    if (s->stage < LW_STAGE_SCHEDULE || s->stage > LW_STAGE_TEML)
        return call_misused(call, "'stage' is %d, which is not a valid lw_stage", (int)s->stage);
    bool described = is_description(&s->options.schedule);
    if (stripe && (s->stage == LW_STAGE_SCHEDULE || s->stage == LW_STAGE_TEML ||
                   (s->options.schedule.text && !described)))
        return function_is_tree(call, s->bound->function);
    bool poly = s->stage == LW_STAGE_SCHEDULE_TREE || s->stage == LW_STAGE_DEPENDENCES;
    if (poly && stripe) return function_is_tree(call, s->bound->function);
    if (poly) return poly_show(call, s->bound, s->stage, &s->options.schedule, &s->text);
    stripe &= !described;
    if (s->stage == LW_STAGE_SCHEDULE && s->options.device)
        return gpu_schedule(call, s->bound, &s->options.schedule, s->options.device, &s->text);
    if (s->stage == LW_STAGE_PTX && s->options.json && s->options.device)
        return gpu_explain(call, s->bound, &s->options.schedule, s->options.device, &s->text);
    if (s->stage == LW_STAGE_PTX)
        return gpu_show(call, s->bound, &s->options.schedule, s->options.isa, &s->text);
    if (s->stage >= LW_STAGE_ASM && s->stage != LW_STAGE_TEML)
        return code_show(call, s->bound, s->stage, &s->options, NULL, &s->text);
    Compilation c = compilation_of(call, s->bound, &s->options.schedule);
    c.machine = show_machine(call, s->options.isa);
    c.threads = s->options.threads;
    if (!c.machine) return LW_ERROR;
    lw_status status = stripe ? LW_OK : pipeline(&c, STEP_VERIFY);
    if (status) return status;
    const Tree *tree = stripe ? own_tree(call, s->bound) : c.tree; // specials are not expanded
    Text text = {.arena = call->arena};
    if (s->stage == LW_STAGE_TEML) {
        s->text = teml_path(call->arena, tree, call->diags);
        return s->text ? LW_OK : LW_ERROR;
    }
    if (s->stage == LW_STAGE_SCHEDULE && described) {
        s->text = passes_schedule(call, tree);
        return s->text ? LW_OK : LW_ERROR;
    }
    if (s->stage == LW_STAGE_TREE && s->options.json)
        explain_tree(call->arena, &text, tree);
    else if (s->stage == LW_STAGE_TREE)
        tree_show(&text, s->options.cost ? tree_expand(tree) : tree, s->options.cost);
    else if (s->stage == LW_STAGE_STRIPE)
        stripe_print(&text, tree);
    else {
        const char *origin = database_origin(&c);
        if (origin) text_printf(&text, "# %s\n", origin);
        schedule_print(&text, c.schedule);
    }
    s->text = text_str(&text);
    return LW_OK;
}

lw_status lw_bound_show_with(lw_context *ctx, const lw_bound *b, lw_stage stage,
                             const lw_show_options *options, const char **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!b) return call_null(ctx, "b");
    if (stage == LW_STAGE_PROGRAM) return lw_bound_show(ctx, b, stage, out);
    ScheduleShowCall s = {.bound = b, .stage = stage};
    if (!options_copy(&s.options, sizeof s.options, options)) return call_unsized(ctx);
    if (s.options.threads < 0) return call_threads(ctx, s.options.threads);
    lw_status status = call_run(ctx, show_body, &s);
    if (status == LW_OK) *out = s.text;
    return status;
}
