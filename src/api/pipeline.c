// The compiler, step by step: pipeline() is the whole road from a text to a result.
//
// Every step has the form `lw_status step_NAME(Compilation *)`. RUN skips unneeded steps, measures
// the time of the others, tells the context's trace, and hands results as text to its dump if
// LW_DUMP lists the step (`LW_DUMP=choose,lower`, `LW_DUMP=all`).
#include "api/pipeline.h"

#include "sched/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUN(STEP, step)                                                                            \
    {                                                                                              \
        lw_status status = is_needed(c, STEP) ? run_step(c, STEP, step) : LW_OK;                   \
        if (status || (until == (STEP) && !c->again)) return status;                               \
    }

static bool is_needed(const Compilation *c, Step s);
static lw_status run_step(Compilation *c, Step s, lw_status (*step)(Compilation *));
static bool try_again(Compilation *c, Step from);

lw_status pipeline(Compilation *c, Step until) {
    RUN(STEP_PARSE, step_parse) // text → functions
    RUN(STEP_INFER, step_infer) // subscripts → ranges and sizes: functions → Programs
    RUN(STEP_BIND, step_bind)   // sizes → numbers; bounds and dependences are checked
    RUN(STEP_FIND, step_find)   // a kernel that was compiled before makes the rest superfluous
    do {
        RUN(STEP_LOOK_UP, step_look_up) // Schedule: from the tuning database; the second try
                                        // leaves out one that the code generator declined
        do {
            RUN(STEP_CHOOSE, step_choose) // or given as text, or chosen by a cost model; the second
                                          // try chooses only orders and marks, which always lower
            RUN(STEP_LOWER, step_lower)   // Program + Schedule → Tree
        } while (try_again(c, STEP_CHOOSE));
        RUN(STEP_VERIFY, step_verify) // debug builds: the Tree computes the Program
        do {
            RUN(STEP_PLAN, step_plan) // Tree → Plan: lanes, threads, register tiles; another try
                                      // does without those that proved impossible
            RUN(STEP_GENERATE, step_generate) // Plan → Code
        } while (try_again(c, STEP_PLAN));
    } while (try_again(c, STEP_LOOK_UP));
    RUN(STEP_INSTALL, step_install) // Code → executable pages or a device; the kernel is kept
    RUN(STEP_RUN, step_run)         // on views
    return LW_OK;
}

// --- Running steps -------------------------------------------------------------------------------

const char *const step_name[STEP_COUNT] = {
#define STEP(name, function) #function,
    STEPS(STEP)
#undef STEP
};

double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

Compilation compilation_of(Call *call, const lw_bound *b, const lw_schedule_text *text) {
    Compilation c = {.call = call, .first = STEP_LOOK_UP, .bound = (lw_bound *)b};
    if (text) c.text = *text;
    return c;
}

double compile_us(const Compilation *c) {
    double sum = 0;
    for (int s = STEP_LOOK_UP; s <= STEP_INSTALL; s++) sum += c->us[s];
    return sum;
}

static bool is_compiling(Step s) { return s >= STEP_LOOK_UP && s <= STEP_INSTALL; }

// Skips the steps that are done, the steps between a failure and its next try, compiling steps that
// the back-end does not need, and all compiling steps if the kernel is there.
static bool is_needed(const Compilation *c, Step s) {
    if (s < c->first || c->again || (is_compiling(s) && c->kernel)) return false;
    if (s == STEP_FIND) return c->backend && c->backend->needs >= STEP_INSTALL;
    return !is_compiling(s) || !c->backend || s <= c->backend->needs;
}

static bool try_again(Compilation *c, Step from) {
    if (c->again != from) return false;
    c->again = 0;
    return true;
}

static lw_status no_such_step(Call *call);
static void dump(Compilation *c, Step s);

static lw_status run_step(Compilation *c, Step s, lw_status (*step)(Compilation *)) {
    lw_context *ctx = c->call->ctx;
    if (ctx->dump_steps < 0) return no_such_step(c->call);
    bool timed =
        ctx->trace || (s != STEP_FIND && s != STEP_RUN); // every call of a kernel has these
    double start = timed ? now_us() : 0;
    lw_status status = step(c);
    double us = timed ? now_us() - start : 0;
    c->us[s] += us;
    if (ctx->trace) ctx->trace(ctx->allocator.user, step_name[s], us);
    if (is_dumped(ctx, s) && !status && !c->again) dump(c, s);
    return status;
}

// --- Dumping -------------------------------------------------------------------------------------

int dumped_steps(void) {
    const char *at = getenv("LW_DUMP");
    int steps = 0;
    if (!at || !*at) return 0;
    if (!strcmp(at, "all")) return (1 << STEP_COUNT) - 1;
    for (;; at++) {
        size_t n = strcspn(at, ",");
        int s = 0;
        while (s < STEP_COUNT && (strlen(step_name[s]) != n || strncmp(step_name[s], at, n) != 0))
            s++;
        if (s == STEP_COUNT) return -1;
        steps |= 1 << s;
        at += n;
        if (!*at) return steps;
    }
}

static lw_status no_such_step(Call *call) {
    Text names = {.arena = call->arena};
    for (int s = 0; s < STEP_COUNT; s++) text_printf(&names, "%s%s", s ? ", " : "", step_name[s]);
    diag_report(call->diags, (Range){0, 0}, DIAG_DUMP, getenv("LW_DUMP"), text_str(&names));
    return LW_ERROR;
}

bool is_dumped(const lw_context *ctx, Step s) { return ctx->dump && ctx->dump_steps >> s & 1; }

static const char *const answers[] = {
    [VERIFY_OK] = "verified\n", [VERIFY_UNPROVEN] = "not proven\n", [VERIFY_REFUSED] = "refused\n"};

// The result of a step; nothing of those whose results have no text.
static void print_result(Text *out, const Compilation *c, Step s) {
    switch (s) {
    case STEP_PARSE:
    case STEP_INFER:
        for (int i = 0; i < c->parsed->programs.n; i++)
            program_print(out, c->parsed->programs.at[i]);
        break;
    case STEP_BIND: program_print(out, c->bound->program); break;
    case STEP_LOOK_UP:
        if (c->tuned) schedule_print(out, c->schedule);
        break;
    case STEP_CHOOSE:
        if (c->schedule) schedule_print(out, c->schedule);
        break;
    case STEP_LOWER: tree_show(out, c->tree, false); break;
    case STEP_VERIFY: text_add(out, answers[c->verified]); break;
    case STEP_PLAN:
        if (c->machine->target->print_plan) c->machine->target->print_plan(out, c->plan);
        break;
    case STEP_GENERATE:
        c->machine->target->list(out, &c->code, &c->listing, show_tree(out->arena, c->tree));
        break;
    default: break;
    }
}

static void dump(Compilation *c, Step s) {
    lw_context *ctx = c->call->ctx;
    Text out = {.arena = c->call->scratch};
    print_result(&out, c, s);
    if (out.len) ctx->dump(ctx->allocator.user, step_name[s], text_str(&out));
}
