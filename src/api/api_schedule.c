// Schedules and Trees through the API: a bound function lowered under Schedule text.
//
// Lowering adds to the pools of expressions and names that a Program belongs to, and one bound
// function may serve many threads. So a call lowers a Program of its own: the bound one printed and
// parsed again.
#include "api/database.h"
#include "api/explain.h"

#include "base/bug.h"
#include "base/checked.h"
#include "choose/choose.h"
#include "tree/cost.h"
#include "sched/flatten.h"
#include "sched/schedule.h"
#include "verify/verify.h"
#include "stripe/stripe.h"
#include "tree/special.h"

#include <string.h>

static Source *source_in(Call *call, const char *name, const char *text) {
    Source *s = arena_new(call->arena, Source);
    size_t len = strlen(text);
    *s = (Source){arena_strndup(call->arena, name, strlen(name)),
                  arena_strndup(call->arena, text, len), (uint32_t)len};
    source_skip_mark(s);
    return s;
}

double bound_flops(Arena *scratch, const lw_bound *bound, const Tree *tree) {
    if (!bound->function->tree) return program_flops(scratch, bound->program);
    const BlockCost *root = cost_of(tree_cost(scratch, tree), &tree->root->node);
    return root ? (double)root->flops : 0;
}

double bound_int_ops(Arena *scratch, const lw_bound *bound) {
    return bound->function->tree ? 0 : program_int_ops(scratch, bound->program);
}

const double *bound_bytes(Arena *scratch, const lw_bound *bound, const Tree *tree) {
    const Program *p = bound->function->tree ? NULL : bound->program;
    int n = p ? p->ninputs + p->noutputs : tree->nargs;
    const double *touched = p ? program_touches(scratch, p) : NULL;
    double *bytes = arena_new_n(scratch, double, n + 1);
    for (int i = 0; i < n; i++) {
        bytes[i] = type_info[p ? p->tensors.at[i].type : tree->buffers.at[i].type].bytes;
        if (p) bytes[i] *= touched[i];
        for (int d = 0; !p && d < tree->buffers.at[i].rank; d++)
            bytes[i] *= (double)tree->buffers.at[i].size[d];
    }
    return bytes;
}

static lw_status parse(Call *call, const Program *p, const lw_schedule_text *text,
                       const Schedule **out) {
    *out = NULL;
    if (!text || !text->text) return LW_OK;
    if (strlen(text->text) > LW_MAX_SOURCE)
        return call_misused(call, "the schedule is longer than LW_MAX_SOURCE bytes");
    const Source *src = source_in(call, text->name ? text->name : "<schedule>", text->text);
    *out = schedule_parse(call->arena, p->names, src, call->diags);
    return *out ? LW_OK : LW_ERROR;
}

// A Stripe program is its own Tree; each call reads one of its own here too. A TeML function's is
// forked: evaluating the program again would judge every transformation again.
static const Tree *own_tree(Call *call, const lw_bound *b) {
    if (b->function->reference) return tree_fork(call->arena, b->function->tree);
    Names *names = arena_new(call->arena, Names);
    names->arena = call->arena;
    Tree *t = stripe_parse(call->arena, names, &b->function->module->source, call->diags);
    if (!t) bug("a Stripe program does not read back");
    return t;
}

// Debug builds verify what lowering made. "Not proven" is no fault: lowering is right by its rules.
static void verify_lowered(Call *call, const Tree *t) {
#ifdef LW_DEBUG
    DiagList found = {.arena = call->arena};
    if (t && tree_verify(call->arena, t, NULL, &found) == VERIFY_REFUSED)
        bug("a lowered tree does not verify: %s", found.items.at[0]->text);
#else
    (void)call, (void)t;
#endif
}

// --- Choosing ------------------------------------------------------------------------------------

bool is_chosen(const lw_bound *b, const lw_schedule_text *text) {
    return !b->function->tree && !text->text;
}

int threads_of(const Call *call, int threads) {
    return threads > 0 ? (int)min_i64(threads, POOL_MAX_THREADS) : call->ctx->threads;
}

const int64_t *const *strides_of(Arena *arena, const Program *p, const View *views) {
    int n = p->ninputs + p->noutputs;
    const int64_t **stride = views ? arena_new_n(arena, const int64_t *, n + 1) : NULL;
    for (int i = 0; stride && i < n; i++) stride[i] = views[i].stride;
    return stride;
}

static ChooseOptions choice_for(Call *call, const Program *p, Setting setting) {
    ChooseOptions o = {.machine = setting.machine,
                       .serial = threads_of(call, setting.threads) == 1};
    if (!o.machine) o.machine = show_machine(call, NULL);
    o.stride = strides_of(call->arena, p, setting.views);
    return o;
}

// A flat form needs arguments that run through memory as one, too.
static bool views_fit(Call *call, const Program *p, const Schedule *s, const View *views) {
    if (!s->flatten || !views) return true;
    Flat flat = program_flatten(call->arena, p);
    if (flat_fits(&flat, p, strides_of(call->arena, p, views))) return true;
    const Source *before = call->diags->source;
    call->diags->source = s->source;
    diag_report(call->diags, s->flatten_range, DIAG_SCHEDULE_FLATTEN_STRIDES, p->name);
    call->diags->source = before;
    return false;
}

bool chosen_in_parallel(Call *call, const Program *p, Setting setting) {
    ChooseOptions o = choice_for(call, p, setting);
    const Schedule *s = o.machine ? o.machine->target->choose(call->arena, p, &o) : NULL;
    for (int i = 0; s && i < s->nstmts; i++)
        for (int k = 0; k < s->stmt[i]->nloops; k++)
            if (s->stmt[i]->loop[k].kind == KIND_PARALLEL) return true;
    return false;
}

// What is chosen lowers. Should it not, what it leaves out of orders and marks always does.
static lw_status lower_chosen(Call *call, const Program *p, Setting setting,
                              const Schedule **schedule, const Tree **out) {
    ChooseOptions o = choice_for(call, p, setting);
    if (!o.machine) return LW_ERROR;
    double start = now_us();
    for (int plain = 0; plain <= 1; plain++) {
        DiagList quiet = {.arena = call->arena, .source = call->diags->source};
        o.plain = plain;
        *schedule = o.machine->target->choose(call->arena, p, &o);
        if (!plain) call->schedule_us += now_us() - start;
        *out = tree_lower(call->arena, p, *schedule, plain ? call->diags : &quiet);
        if (*out) return LW_OK;
    }
    return LW_ERROR;
}

lw_status bound_lower(Call *call, const lw_bound *b, const lw_schedule_text *text, Setting setting,
                      const Schedule **schedule, const Tree **out) {
    if (b->function->tree) {
        *schedule = NULL;
        *out = tree_expand(own_tree(call, b));
        return LW_OK;
    }
    double start = now_us();
    const Program *p = program_fork(call->arena, b->program);
    lw_status status = parse(call, p, text, schedule);
    if (status) return status;
    double parsed = now_us();
    call->schedule_us = parsed - start;
    call->origin = *schedule ? ORIGIN_GIVEN : ORIGIN_CHOSEN;
    call->tuned = NULL;
    bool tuned = !*schedule && database_lower(call, p, setting, schedule, out);
    call->database_us = now_us() - parsed;
    if (!tuned && !*schedule)
        status = lower_chosen(call, p, setting, schedule, out);
    else if (!tuned && (!(*out = tree_lower(call->arena, p, *schedule, call->diags)) ||
                        !views_fit(call, p, *schedule, setting.views)))
        status = LW_ERROR;
    if (status) return status;
    call->lower_us = now_us() - start - call->schedule_us - call->database_us;
    verify_lowered(call, *out);
    if (!(*schedule)->nstmts) *schedule = schedule_complete(call->arena, p, NULL);
    return LW_OK;
}

static bool find_axis(void *user, const Node *node, int depth, const Block *parent) {
    const Block **found = user, *b = as_block(node);
    (void)depth, (void)parent;
    if (!*found && b && b->nindex && b->kind >= KIND_GRID_X) *found = b;
    return !*found;
}

const Block *grid_loop(const Tree *t) {
    const Block *found = NULL;
    tree_walk(t, find_axis, &found);
    return found;
}

lw_status bound_lower_cpu(Call *call, const lw_bound *b, const lw_schedule_text *text,
                          Setting setting, const Tree **out) {
    const Schedule *schedule;
    lw_status status = bound_lower(call, b, text, setting, &schedule, out);
    if (status) return status;
    bool grid = setting.machine && setting.machine->target->has_grid;
    const Block *axis = grid ? NULL : grid_loop(*out);
    if (axis)
        diag_report(call->diags, tree_range(*out, &axis->node), DIAG_SCHEDULE_GPU_LOOP,
                    axis->index[0].name, kind_name[axis->kind]);
    return call->diags->errors ? LW_ERROR : LW_OK;
}

// --- Showing -----------------------------------------------------------------------------------

typedef struct ShowCall {
    const lw_bound *bound;
    lw_stage stage;
    lw_show_options options;
    const char *text;
} ShowCall;

static lw_status show_body(Call *call, void *args) {
    ShowCall *s = args;
    const Schedule *schedule;
    const Tree *tree;
    bool stripe = s->bound->function->tree;
    if (s->stage < LW_STAGE_SCHEDULE || s->stage > LW_STAGE_REPORT)
        return call_misused(call, "'stage' is %d, which is not a valid lw_stage", (int)s->stage);
    if (stripe && (s->stage == LW_STAGE_SCHEDULE || s->options.schedule.text))
        return function_is_tree(call, s->bound->function);
    if (s->stage >= LW_STAGE_ASM)
        return code_show(call, s->bound, s->stage, &s->options, NULL, &s->text);
    lw_status status = LW_OK;
    const Machine *m = show_machine(call, s->options.isa);
    if (!m) return LW_ERROR;
    if (stripe)
        tree = own_tree(call, s->bound);
    else
        status =
            bound_lower(call, s->bound, &s->options.schedule,
                        (Setting){.machine = m, .threads = s->options.threads}, &schedule, &tree);
    if (status) return status;
    Text text = {.arena = call->arena};
    if (s->stage == LW_STAGE_TREE && s->options.json)
        explain_tree(call->arena, &text, tree);
    else if (s->stage == LW_STAGE_TREE)
        tree_show(&text, s->options.cost ? tree_expand(tree) : tree, s->options.cost);
    else if (s->stage == LW_STAGE_STRIPE)
        stripe_print(&text, tree);
    else {
        const char *origin = database_origin(call);
        if (origin) text_printf(&text, "# %s\n", origin);
        schedule_print(&text, schedule);
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
    ShowCall s = {.bound = b, .stage = stage};
    if (!options_copy(&s.options, sizeof s.options, options)) return call_unsized(ctx);
    if (s.options.threads < 0) return call_threads(ctx, s.options.threads);
    lw_status status = call_run(ctx, show_body, &s);
    if (status == LW_OK) *out = s.text;
    return status;
}
