// The back-end for machine code: runs a kernel and, when asked, measures it.
#include "api/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "code/code.h"
#include "run/timing.h"

typedef struct Jit {
    Compilation *c;
    const KernelCode *code;
    void **buffers;
    void *scratch;
    KernelEnv env;
    bool measure;
    void **saved; // old content of in-outs, while measuring
} Jit;

// How many threads parallel loops may have; 0 with a diagnostic.
static int pick_threads(Compilation *c) {
    int asked = c->options->threads, threads = c->call->ctx->threads;
    if (asked <= 0 && !threads) // also where no loop is parallel: it is a mistake all the same
        diag_report(c->call->diags, nowhere, DIAG_THREADS, getenv("LW_THREADS"), POOL_MAX_THREADS);
    else if (!c->kernel->parallel)
        return 1;
    return asked > 0 ? (int)min_i64(asked, POOL_MAX_THREADS) : threads;
}

static size_t view_bytes(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

static void restore_inouts(Jit *j) {
    const Program *program = j->c->bound->program;
    for (int i = program->ninputs; i < program->ninputs + program->noutputs; i++)
        if (j->saved[i]) memcpy(j->c->views[i].data, j->saved[i], view_bytes(&j->c->views[i]));
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
    lw_timing *t = &j->c->timing;
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

static bool can_measure(const Compilation *c) {
    const Program *program = c->bound->program;
    for (int i = program->ninputs; i < program->ninputs + program->noutputs; i++)
        if (program->tensors.at[i].role == ROLE_INOUT && !dense(&c->views[i])) return false;
    return true;
}

// Measuring calls the kernel many times: the old content of in-outs is put back afterwards.
static void save_inouts(Jit *j) {
    const Program *program = j->c->bound->program;
    int n = program->ninputs + program->noutputs;
    j->saved = arena_new_n(j->c->call->scratch, void *, n);
    for (int i = program->ninputs; i < n; i++)
        if (program->tensors.at[i].role == ROLE_INOUT)
            j->saved[i] =
                arena_copy(j->c->call->scratch, j->c->views[i].data, view_bytes(&j->c->views[i]));
}

// --- Running -------------------------------------------------------------------------------------

// The thread's memory for kernels, at least `need` bytes. It begins at an offset in its page where
// arguments seldom begin: separately allocated ones begin at the start of a page or just behind.
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

static Jit prepare(Compilation *c, int threads) {
    const lw_run_options *o = c->options;
    const KernelCode *code = c->kernel;
    const Program *program = c->bound->program;
    int n = program->ninputs + program->noutputs;
    int64_t scratch = code->scratch;
    Jit j = {.c = c, .code = code, .buffers = arena_new_n(c->call->arena, void *, n + 1)};
    for (int i = 0; i < n; i++) j.buffers[i] = c->views[i].data;
    if (!checked_fma(threads - 1, code->thread_scratch, &scratch) || scratch > INT64_MAX / 2)
        arena_out_of_memory(c->call->arena);
    j.scratch = work_memory(c->call, scratch);
    j.env = (KernelEnv){.flags = (o->accumulate ? KERNEL_ACCUMULATE : 0u) |
                                 (o->skip_post ? KERNEL_SKIP_POST : 0u),
                        .threads = threads,
                        .apply = code_apply};
    if (threads > 1) {
        j.env.user = context_pool(c->call->ctx);
        j.env.parallel_for = pool_parallel_for;
        if (!j.env.user) arena_out_of_memory(c->call->arena);
    }
    if (code->loaded.user) j.env.user = code->loaded.user;
    j.measure = o->measure_seconds > 0 && can_measure(c);
    if (j.measure) save_inouts(&j);
    return j;
}

static int run_code(Jit *j) {
    lw_timing *t = &j->c->timing;
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
        measure(j, j->c->options->measure_seconds);
        restore_inouts(j);
    }
    double start = j->c->timed ? now_us() : 0;
    int status = j->code->loaded.entry(j->buffers, j->scratch, &j->env);
    if (j->c->timed) t->run_us = now_us() - start;
    return status;
}

// The Tree is not kept with the code.
static lw_status explain(Compilation *c) {
    Compilation again = compilation_of(c->call, c->bound, &c->text);
    again.views = c->views;
    lw_status status = pipeline(&again, STEP_VERIFY);
    return status ? status : explain_fault(c, again.tree);
}

lw_status jit_run(Compilation *c) {
    int threads = pick_threads(c);
    if (!threads) return LW_ERROR;
    Jit j = prepare(c, threads);
    int result = run_code(&j);
    if (result != KERNEL_FORKED) return result ? explain(c) : LW_OK;
    diag_report(c->call->diags, nowhere, DIAG_KERNEL_FORKED, c->bound->program->name);
    return LW_ERROR;
}
