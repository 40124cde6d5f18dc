// The steps that make a kernel: find one that was compiled before; otherwise generate code for a
// machine, and install it. And the machines that code is made for.
#include "api/database.h"

#include "transform/transform_block.h"
#include "tree/cost.h"

#include <stdlib.h>

// --- Machines ------------------------------------------------------------------------------------

bool machine_named(Call *call) {
    Text names = {.arena = call->arena};
    if (!call->ctx->no_machine) return true;
    for (int i = 0; i < family_count(); i++)
        text_printf(&names, "%s%s", i ? ", " : "", family_at(i)->name);
    diag_report(call->diags, nowhere, DIAG_MACHINE_NAME, text_str(&names));
    return false;
}

static const Machine *no_such_isa(Call *call, const char *asked) {
    const Target *host = target_host();
    Text names = {.arena = call->arena};
    for (int i = 0; i < host->nisas; i++)
        text_printf(&names, "%s%s", !i ? "" : i + 1 < host->nisas ? ", " : " or ", host->isa[i]);
    diag_report(call->diags, nowhere, DIAG_CODE_ISA, asked ? "isa" : "LW_ISA",
                asked ? asked : getenv("LW_ISA"), text_str(&names));
    return NULL;
}

const Machine *pick_machine(Call *call, const char *asked) {
    int cap = asked ? target_isa(target_host(), asked) : call->ctx->isa_cap;
    if (cap < 0) return no_such_isa(call, asked);
    if (!machine_named(call)) return NULL;
    const Machine *m = context_machine(call->ctx, cap);
    if (!m) arena_out_of_memory(call->arena);
    return m;
}

const Machine *show_machine(Call *call, const char *isa) {
    Machine *m = arena_new(call->arena, Machine);
    const Target *target = target_host();
    int named = call->ctx->isa_cap;
    if (isa) target = target_with_isa(isa, &named);
    if (!target || named < 0) return no_such_isa(call, isa);
    if (!machine_named(call)) return NULL;
    if (call->ctx->pretended && target->pretend)
        target->pretend(m, call->ctx->pretended, named);
    else if (isa)
        target->describe(m, named);
    else
        target->detect(m, named);
    return m;
}

// --- Finding -------------------------------------------------------------------------------------

// The options that a chosen Schedule depends on, besides the Program, the strides and the machine.
static unsigned choice_of(const Call *call, int threads) {
    unsigned stamp = db_stamp(call->ctx->db);
    return stamp ? stamp * 2 * POOL_MAX_THREADS + (unsigned)threads : threads == 1 ? 1 : 2;
}

static lw_status check_options(Call *call, const lw_run_options *o) {
    if (o->threads < 0) return call_misused(call, NEGATIVE_THREADS, o->threads);
    if (!(o->measure_seconds >= 0))
        return call_misused(call, "'measure_seconds' is %g, and must not be negative",
                            o->measure_seconds);
    return LW_OK;
}

lw_status step_find(Compilation *c) {
    Call *call = c->call;
    lw_status status = check_options(call, c->options);
    if (status || c->kernel) return status;
    if (call->ctx->debug_what < 0) {
        diag_report(call->diags, nowhere, DIAG_PERF, getenv("LW_PERF"));
        return LW_ERROR;
    }
    c->machine = pick_machine(call, c->options->isa);
    if (!c->machine) return LW_ERROR;
    const char *schedule = c->text.text;
    bool looked_up = !schedule || is_description(&c->text);
    c->threads = looked_up ? threads_of(call, c->options->threads) : 0;
    c->way = (Way){schedule, machine_isa(c->machine), looked_up ? choice_of(call, c->threads) : 0};
    c->kernel = kernel_find(call->slot, c->bound, c->way, c->views);
    if (!c->kernel) c->kernel = kernel_look_up(call, c->bound, c->way, c->views, &c->draft);
    return LW_OK;
}

// --- Planning and generating ---------------------------------------------------------------------

// A Schedule of the database that the target declines is ignored, like any that does not apply.
static void decline_tuned(Compilation *c, const DiagList *why) {
    diag_report(c->call->diags, nowhere, DIAG_DB_IGNORED, c->bound->program->name,
                why->items.at[0]->text);
    c->no_database = true;
    c->again = STEP_LOOK_UP;
}

// The Tree was declined, which `quiet` tells of a tuned Schedule, and the caller's list of others.
static lw_status declined(Compilation *c, const DiagList *quiet) {
    c->plan = NULL;
    if (!c->tuned) return LW_ERROR;
    decline_tuned(c, quiet);
    return LW_OK;
}

static bool find_passed(void *user, const Node *node, int depth, const Block *parent) {
    const Block *b = as_block(node);
    bool *found = user;
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nindex; i++) *found |= b->index[i].passed != NULL;
    return !*found;
}

const Tree *without_passed(const Tree *t, DiagList *diags) {
    bool found = false;
    tree_walk(t, find_passed, &found);
    return found ? tree_prune(t, NULL, &(TreeEdit){.diags = diags, .unchecked = true}) : t;
}

// Plans once, and again for each plan that the generator could not keep.
lw_status step_plan(Compilation *c) {
    Call *call = c->call;
    const Target *target = c->machine->target;
    Arena *arena = c->listed ? call->arena : call->scratch;
    DiagList quiet = {.arena = call->arena};
    if (!c->plan) {
        if (!target->has_grid && warn_grid(c)) return LW_ERROR;
        c->tree = tree_for_views(arena, c->tree, c->views);
        if (target->has_grid) c->tree = without_passed(c->tree, call->diags);
    }
    c->plan = target->plan(arena, c->tree, c->machine, c->plan, c->tuned ? &quiet : call->diags);
    return c->plan ? LW_OK : declined(c, &quiet);
}

lw_status step_generate(Compilation *c) {
    Call *call = c->call;
    bool listed = c->listed || is_dumped(call->ctx, STEP_GENERATE);
    DiagList quiet = {.arena = call->arena};
    switch (c->machine->target->generate(c->plan, &c->code, listed ? &c->listing : NULL,
                                         c->tuned ? &quiet : call->diags)) {
    case CODE_DONE: break;
    case CODE_REPLAN: c->again = STEP_PLAN; break;
    case CODE_DECLINED: return declined(c, &quiet);
    }
    return LW_OK;
}

// --- Installing ----------------------------------------------------------------------------------

static void count_work(Compilation *c, KernelCode *k) {
    Arena *scratch = c->call->scratch;
    const Program *program = c->bound->program;
    k->flops = bound_flops(scratch, c->bound, c->tree);
    k->int_ops = bound_int_ops(scratch, c->bound);
    k->float_bits = program_float_bits(program);
    const double *bytes = bound_bytes(scratch, c->bound, c->tree);
    for (int i = 0; i < c->tree->nargs; i++) {
        k->bytes += bytes[i];
        if (i >= program->ninputs) k->written_bytes += bytes[i];
    }
}

// The name as the target's row has it, which outlives the call; NULL: none such.
static const char *isa_name_of(const char *name) {
    int isa;
    const Target *t = target_with_isa(name, &isa);
    return t ? t->isa[isa] : NULL;
}

// Where the Schedule is from, and for what else the database has one.
static void describe_origin(const Compilation *c, KernelCode *k) {
    bool same_sizes = c->origin == ORIGIN_TUNED || c->origin == ORIGIN_HAND;
    k->threads = c->threads;
    k->origin = c->origin;
    k->bound = same_sizes && c->tuned ? c->tuned->bound : 0;
    if (c->origin != ORIGIN_CHOSEN || !c->elsewhere) return;
    k->tuned_threads = c->elsewhere->threads;
    k->tuned_isa = isa_name_of(c->elsewhere->isa);
}

// The Tree's text and its lines, for debuggers and profilers.
static DebugCode debug_code(const Compilation *c) {
    Arena *scratch = c->call->scratch;
    const Code *code = &c->code;
    DebugLine *lines = arena_new_n(scratch, DebugLine, code->nlines);
    for (int i = 0; i < code->nlines; i++)
        lines[i] = (DebugLine){code->lines[i].offset, code->lines[i].line};
    return (DebugCode){.name = c->bound->program->name,
                       .size = code->size,
                       .text = show_tree(scratch, c->tree),
                       .lines = lines,
                       .nlines = code->nlines,
                       .frames = code->frames,
                       .nframes = code->nframes};
}

lw_status step_install(Compilation *c) {
    lw_context *ctx = c->call->ctx;
    KernelCode *k = c->draft;
    if (!is_chosen(c->bound, &c->text)) warn_slow_loops(c);
    describe_origin(c, k);
    count_work(c, k);
    k->scratch = c->code.scratch;
    k->thread_scratch = c->code.thread_scratch;
    k->parallel = c->code.parallel;
    k->code_bytes = c->code.size;
    k->target = c->machine->target;
    Loader loader = {.exec = context_exec(ctx), .debug = ctx->debug};
    DebugCode debug = {0};
    if (loader.debug) debug = debug_code(c);
    if (!k->target->load(&loader, &c->code, &debug, &k->loaded))
        call_lacks(c->call, "the machine code takes", c->code.size);
    c->kernel = kernel_keep(c->call, c->bound, c->way, k);
    return LW_OK;
}
