// Machine code for this processor: lower, compile, run; and, when asked, measure.
#include "api/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "code/code.h"
#include "run/timing.h"
#include "search/db.h"
#include "tree/cost.h"
#include "sched/schedule.h"

static const Range nowhere = {0, 0};

typedef struct Jit {
    Pipeline *p;
    const KernelCode *code;
    void **buffers;
    void *scratch;
    KernelEnv env;
    bool measure;
    void **saved; // old content of in-outs, while measuring
} Jit;

bool machine_named(Call *call) {
    Text names = {.arena = call->arena};
    if (!call->ctx->no_machine) return true;
    for (int i = 0; i < family_count(); i++)
        text_printf(&names, "%s%s", i ? ", " : "", family_at(i)->name);
    diag_report(call->diags, nowhere, DIAG_MACHINE_NAME, text_str(&names));
    return false;
}

const Machine *pick_machine(Call *call, const char *asked) {
    int cap = asked ? target_isa(target_host(), asked) : call->ctx->isa_cap;
    if (cap < 0) {
        diag_report(call->diags, nowhere, DIAG_CODE_ISA, asked ? "isa" : "LW_ISA",
                    asked ? asked : getenv("LW_ISA"));
        return NULL;
    }
    if (!machine_named(call)) return NULL;
    const Machine *m = context_machine(call->ctx, cap);
    if (!m) arena_out_of_memory(call->arena);
    return m;
}

// How many threads parallel loops may have; 0 with a diagnostic.
static int pick_threads(Pipeline *p, const KernelCode *k) {
    int asked = p->options->threads, threads = p->call->ctx->threads;
    if (asked <= 0 && !threads) // also where no loop is parallel: it is a mistake all the same
        diag_report(p->call->diags, nowhere, DIAG_THREADS, getenv("LW_THREADS"), POOL_MAX_THREADS);
    else if (!k->parallel)
        return 1;
    return asked > 0 ? (int)min_i64(asked, POOL_MAX_THREADS) : threads;
}

static size_t view_bytes(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

static void restore_inouts(Jit *j) {
    const Program *program = j->p->bound->program;
    for (int i = program->ninputs; i < program->ninputs + program->noutputs; i++)
        if (j->saved[i]) memcpy(j->p->views[i].data, j->saved[i], view_bytes(&j->p->views[i]));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES = 101, WARM = 3 };

// A call's time once code, data and pages are there.
static double warm_up(const Stopwatch *watch, const KernelCall *k) {
    double once = kernel_sample(watch, k, 1);
    for (int i = 1; i < WARM && once < sample_length(); i++)
        once = fmin(once, kernel_sample(watch, k, 1));
    return once;
}

// Samples as a tuning takes them, until the time is used up.
static void measure(Jit *j, double seconds) {
    double sample[SAMPLES], begin = wall_clock();
    KernelCall k = {j->code->loaded.entry, j->buffers, j->scratch, &j->env};
    Stopwatch watch = stopwatch_new(j->env.threads);
    int64_t calls = calls_per_sample(warm_up(&watch, &k));
    int n = 0;
    while (n < SAMPLES && (n == 0 || wall_clock() - begin < seconds)) {
        restore_inouts(j);
        sample[n++] = 1e6 * kernel_sample(&watch, &k, calls);
    }
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    lw_timing *t = &j->p->timing;
    t->median_us = sample[n / 2];
    t->p10_us = sample[n / 10];
    t->p90_us = sample[n - 1 - n / 10];
    t->best_us = sample[0];
    t->samples = n;
}

static bool dense(const View *v) {
    int64_t stride = 1;
    for (int d = 0; d < v->rank; d++)
        if (v->size[d] == 0) return true; // whatever its strides
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->size[d] > 1 && v->stride[d] != stride) return false;
        stride *= v->size[d];
    }
    return true;
}

static bool can_measure(const Pipeline *p) {
    const Program *program = p->bound->program;
    for (int i = program->ninputs; i < program->ninputs + program->noutputs; i++)
        if (program->tensors.at[i].role == ROLE_INOUT && !dense(&p->views[i])) return false;
    return true;
}

// Measuring calls the kernel many times: the old content of in-outs is put back afterwards.
static void save_inouts(Jit *j) {
    const Program *program = j->p->bound->program;
    int n = program->ninputs + program->noutputs;
    j->saved = arena_new_n(j->p->call->scratch, void *, n);
    for (int i = program->ninputs; i < n; i++)
        if (program->tensors.at[i].role == ROLE_INOUT)
            j->saved[i] =
                arena_copy(j->p->call->scratch, j->p->views[i].data, view_bytes(&j->p->views[i]));
}

// --- Running -------------------------------------------------------------------------------------

// The thread's memory for kernels, at least so large, at a place of its page where arguments seldom
// begin: those that are allocated by themselves begin where a page does, or just behind.
static void *work_memory(Call *call, int64_t need) {
    enum { PAGE = 4096, LINE = 64, AT = 29 * LINE };
    Slot *s = call->slot;
    const Allocator *allocator = &call->ctx->allocator;
    if (need == 0) return NULL;
    if (s->work_size < (size_t)need + PAGE) {
        if (s->work) allocator->free(allocator->user, s->work, s->work_size);
        s->work_size = (size_t)need + PAGE;
        s->work = allocator->alloc(allocator->user, s->work_size);
        if (!s->work) s->work_size = 0;
        if (!s->work) call_lacks(call, "the temporaries take", (size_t)need);
    }
    return (char *)s->work + (AT - (uintptr_t)s->work) % PAGE;
}

static Jit prepare(Pipeline *p, const KernelCode *code, int threads) {
    const lw_run_options *o = p->options;
    const Program *program = p->bound->program;
    int n = program->ninputs + program->noutputs;
    int64_t scratch = code->scratch;
    Jit j = {.p = p, .code = code, .buffers = arena_new_n(p->call->arena, void *, n + 1)};
    for (int i = 0; i < n; i++) j.buffers[i] = p->views[i].data;
    if (!checked_fma(threads - 1, code->thread_scratch, &scratch) || scratch > INT64_MAX / 2)
        arena_out_of_memory(p->call->arena);
    j.scratch = work_memory(p->call, scratch);
    j.env = (KernelEnv){.flags = (o->accumulate ? KERNEL_ACCUMULATE : 0u) |
                                 (o->skip_post ? KERNEL_SKIP_POST : 0u),
                        .threads = threads,
                        .apply = code_apply};
    if (threads > 1) {
        j.env.user = context_pool(p->call->ctx);
        j.env.parallel_for = pool_parallel_for;
        if (!j.env.user) arena_out_of_memory(p->call->arena);
    }
    if (code->loaded.user) j.env.user = code->loaded.user;
    j.measure = o->measure_seconds > 0 && can_measure(p);
    if (j.measure) save_inouts(&j);
    return j;
}

static int run_code(Jit *j) {
    lw_timing *t = &j->p->timing;
    t->code_bytes = j->code->code_bytes;
    t->flops = j->code->flops;
    t->int_ops = j->code->int_ops;
    t->bytes = j->code->bytes;
    t->threads = j->env.threads;
    t->isa = j->code->isa;
    t->written_bytes = j->code->written_bytes;
    t->float_bits = j->code->float_bits;
    t->schedule = origin_name[j->code->origin];
    t->chosen_threads = j->code->threads;
    t->tuned_threads = j->code->tuned_threads;
    t->tuned_isa = j->code->tuned_isa;
    t->bound_us = j->code->bound * 1e6;
    if (j->measure) {
        measure(j, j->p->options->measure_seconds);
        restore_inouts(j);
    }
    double start = j->p->timed ? now_us() : 0;
    int status = j->code->loaded.entry(j->buffers, j->scratch, &j->env);
    if (j->p->timed) t->run_us = now_us() - start;
    return status;
}

// --- Compiling -----------------------------------------------------------------------------------

static void count_work(Pipeline *p, const Tree *t, KernelCode *k) {
    k->flops = bound_flops(p->call->scratch, p->bound, t);
    k->int_ops = bound_int_ops(p->call->scratch, p->bound);
    k->float_bits = program_float_bits(p->bound->program);
    const Program *program = p->bound->program;
    const double *bytes = bound_bytes(p->call->scratch, p->bound, t);
    for (int i = 0; i < t->nargs; i++) {
        k->bytes += bytes[i];
        if (i >= program->ninputs) k->written_bytes += bytes[i];
    }
}

// The Tree's text and its lines, for whoever watches kernels.
static DebugCode debug_code(Pipeline *p, const Tree *t, const Code *code) {
    Text text = {.arena = p->call->scratch};
    DebugLine *lines = arena_new_n(p->call->scratch, DebugLine, code->nlines);
    tree_show(&text, t, false);
    for (int i = 0; i < code->nlines; i++)
        lines[i] = (DebugLine){code->lines[i].offset, code->lines[i].line};
    return (DebugCode){.name = p->bound->program->name,
                       .size = code->size,
                       .text = text_str(&text),
                       .lines = lines,
                       .nlines = code->nlines,
                       .frames = code->frames,
                       .nframes = code->nframes};
}

// The name as the target's row has it, which outlives the call; NULL: none such.
static const char *isa_name_of(const char *name) {
    int isa;
    const Target *t = target_with_isa(name, &isa);
    return t ? t->isa[isa] : NULL;
}

// Lowers and generates. What the database has and the generator declines is ignored like anything
// else that does not apply.
static lw_status generate(Pipeline *p, const Machine *m, KernelCode *draft, const Tree **tree,
                          Code *code) {
    Call *call = p->call;
    for (;;) {
        const Tree *lowered;
        lw_status status = bound_lower_cpu(call, p->bound, &p->options->schedule,
                                           (Setting){m, p->views, draft->threads}, &lowered);
        if (status) return status;
        draft->origin = call->origin;
        bool same = call->origin == ORIGIN_TUNED || call->origin == ORIGIN_HAND; // sizes
        draft->bound = same && call->tuned ? call->tuned->bound : 0;
        if (call->origin == ORIGIN_CHOSEN && call->elsewhere) {
            draft->tuned_threads = call->elsewhere->threads;
            draft->tuned_isa = isa_name_of(call->elsewhere->isa);
        }
        *tree = tree_for_views(call->scratch, lowered, p->views);
        DiagList quiet = {.arena = call->arena};
        DiagList *diags = call->tuned ? &quiet : call->diags;
        if (m->target->compile(call->scratch, *tree, m, code, NULL, diags)) return LW_OK;
        if (!call->tuned) return LW_ERROR;
        diag_report(call->diags, nowhere, DIAG_DB_IGNORED, p->bound->program->name,
                    quiet.items.at[0]->text);
        call->no_database = true;
    }
}

static lw_status compile(Pipeline *p, const Machine *m, KernelCode *draft) {
    const Tree *t;
    Code code;
    lw_status status = generate(p, m, draft, &t, &code);
    if (status) return status;
    if (!is_chosen(p->bound, &p->options->schedule)) warn_slow_loops(p->call, t, m, &code);
    draft->scratch = code.scratch;
    draft->thread_scratch = code.thread_scratch;
    draft->parallel = code.parallel;
    draft->code_bytes = code.size;
    count_work(p, t, draft);
    lw_context *ctx = p->call->ctx;
    Loader loader = {.exec = context_exec(ctx), .debug = ctx->debug};
    DebugCode debug = {0};
    if (loader.debug) debug = debug_code(p, t, &code);
    draft->target = m->target;
    if (!m->target->load(&loader, &code, &debug, &draft->loaded))
        call_lacks(p->call, "the machine code takes", code.size);
    return LW_OK;
}

// What a chosen Schedule depends on beside the Program, the strides and the machine.
static unsigned choice_of(const Call *call, int threads) {
    unsigned stamp = db_stamp(call->ctx->db);
    return stamp ? stamp * 2 * POOL_MAX_THREADS + (unsigned)threads : threads == 1 ? 1 : 2;
}

static lw_status make_kernel(Pipeline *p, const Machine *m, Way way, int threads,
                             const KernelCode **out) {
    KernelCode *draft;
    double start = now_us();
    *out = kernel_look_up(p->call, p->bound, way, p->views, &draft);
    if (*out) return LW_OK;
    draft->threads = threads;
    lw_status status = compile(p, m, draft);
    if (status) return status;
    *out = kernel_keep(p->call, p->bound, way, draft);
    p->timing.compile_us = now_us() - start;
    return LW_OK;
}

// The Tree is not kept with the code.
static lw_status explain(Pipeline *p) {
    const Schedule *schedule;
    const Tree *t;
    lw_status status = bound_lower(p->call, p->bound, &p->options->schedule,
                                   (Setting){.views = p->views}, &schedule, &t);
    return status ? status : explain_fault(p, t);
}

lw_status jit_code(Pipeline *p, const KernelCode **out) {
    if (p->call->ctx->debug_what < 0) {
        diag_report(p->call->diags, nowhere, DIAG_PERF, getenv("LW_PERF"));
        return LW_ERROR;
    }
    const Machine *m = pick_machine(p->call, p->options->isa);
    if (!m) return LW_ERROR;
    const char *schedule = p->options->schedule.text;
    int threads = schedule ? 0 : threads_of(p->call, p->options->threads);
    Way way = {schedule, machine_isa(m), schedule ? 0 : choice_of(p->call, threads)};
    *out = kernel_find(p->call->slot, p->bound, way, p->views);
    return *out ? LW_OK : make_kernel(p, m, way, threads, out);
}

lw_status backend_jit(Pipeline *p) {
    if (p->options->threads < 0)
        return call_misused(p->call, NEGATIVE_THREADS, p->options->threads);
    if (!(p->options->measure_seconds >= 0))
        return call_misused(p->call, "'measure_seconds' is %g, and must not be negative",
                            p->options->measure_seconds);
    const KernelCode *k = p->kernel;
    lw_status status = k ? LW_OK : jit_code(p, &k);
    if (status) return status;
    int threads = pick_threads(p, k);
    if (!threads) return LW_ERROR;
    Jit j = prepare(p, k, threads);
    int result = run_code(&j);
    if (result != KERNEL_FORKED) return result ? explain(p) : LW_OK;
    diag_report(p->call->diags, (Range){0, 0}, DIAG_KERNEL_FORKED, p->bound->program->name);
    return LW_ERROR;
}
