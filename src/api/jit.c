// Machine code for this processor: lower, compile, run; and, when asked, measure.
#include "api/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/kernel_abi.h"
#include "code/code.h"
#include "run/exec.h"
#include "tree/cost.h"
#include "tree/schedule.h"

typedef struct Jit {
    Pipeline *p;
    Kernel *kernel;
    void **buffers;
    void *scratch;
    KernelEnv env;
    bool measure;
    void **saved; // old content of in-outs, while measuring
} Jit;

static bool pick_machine(Pipeline *p, Machine *m) {
    const char *cap = getenv("LW_ISA");
    int isa = cap && *cap ? isa_by_name(cap) : ISA_COUNT;
    if (isa < 0) {
        diag_report(p->call->diags, (Range){0, 0}, DIAG_CODE_ISA, cap);
        return false;
    }
    machine_detect(m, (Isa)isa);
    return true;
}

// Code is made for the strides of these arguments.
static void take_strides(Tree *t, const View *views) {
    for (int i = 0; i < t->nargs; i++) t->buffers.at[i].stride = views[i].stride;
}

static size_t view_bytes(const View *v) {
    size_t n = (size_t)type_info[v->type].bytes;
    for (int d = 0; d < v->rank; d++) n *= (size_t)v->size[d];
    return n;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES = 101 };

// Samples of as many calls as take about 20 microseconds or more, until the time is used up.
static void measure(Jit *j, double seconds) {
    double sample[SAMPLES], begin = now_us(), budget = seconds * 1e6;
    j->kernel(j->buffers, j->scratch, &j->env);
    double once = now_us() - begin;
    int64_t calls = once > 20 ? 1 : (int64_t)(20 / (once > 0.01 ? once : 0.01)) + 1;
    int n = 0;
    while (n < SAMPLES && (n == 0 || now_us() - begin < budget)) {
        double start = now_us();
        for (int64_t i = 0; i < calls; i++) j->kernel(j->buffers, j->scratch, &j->env);
        sample[n++] = (now_us() - start) / (double)calls;
    }
    qsort(sample, (size_t)n, sizeof *sample, by_value);
    lw_timing *t = &j->p->timing;
    t->median_us = sample[n / 2];
    t->p10_us = sample[n / 10];
    t->p90_us = sample[n - 1 - n / 10];
    t->samples = n;
}

static bool dense(const View *v) {
    int64_t stride = 1;
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

static void restore_inouts(Jit *j) {
    const Program *program = j->p->bound->program;
    for (int i = program->ninputs; i < program->ninputs + program->noutputs; i++)
        if (j->saved[i]) memcpy(j->p->views[i].data, j->saved[i], view_bytes(&j->p->views[i]));
}

// Everything a run needs from the arenas; code memory is outside of them and comes last.
static Jit prepare(Pipeline *p, const Tree *t, const Code *code) {
    const lw_run_options *o = p->options;
    Arena *arena = p->call->scratch;
    Jit j = {.p = p, .buffers = arena_new_n(arena, void *, t->nargs + 1)};
    for (int i = 0; i < t->nargs; i++) j.buffers[i] = p->views[i].data;
    uintptr_t scratch = (uintptr_t)arena_alloc(arena, (size_t)code->scratch + 64);
    j.scratch = (void *)((scratch + 63) & ~(uintptr_t)63);
    j.env = (KernelEnv){.flags = (o->accumulate ? KERNEL_ACCUMULATE : 0u) |
                                 (o->skip_post ? KERNEL_SKIP_POST : 0u),
                        .threads = 1,
                        .apply = code_apply};
    j.measure = o->measure_seconds > 0 && can_measure(p);
    if (j.measure) save_inouts(&j);
    return j;
}

static int run_code(Jit *j) {
    if (j->measure) {
        measure(j, j->p->options->measure_seconds);
        restore_inouts(j);
    }
    double start = now_us();
    int status = j->kernel(j->buffers, j->scratch, &j->env);
    j->p->timing.run_us = now_us() - start;
    return status;
}

static void count_work(Pipeline *p, const Tree *t) {
    const TreeCost *cost = tree_cost(p->call->scratch, t);
    const BlockCost *root = cost_of(cost, &t->root->node);
    if (root) p->timing.flops = (double)root->flops;
    for (int i = 0; i < t->nargs; i++) p->timing.bytes += (double)view_bytes(&p->views[i]);
}

lw_status backend_jit(Pipeline *p) {
    const Schedule *schedule;
    const Tree *lowered;
    Machine machine;
    Code code;
    if (!pick_machine(p, &machine)) return LW_ERROR;
    double start = now_us();
    lw_status status = bound_lower(p->call, p->bound, &p->options->schedule, &schedule, &lowered);
    if (status) return status;
    Tree *t = arena_copy(p->call->scratch, lowered, sizeof *lowered);
    t->buffers.at = arena_copy(p->call->scratch, lowered->buffers.at,
                               (size_t)lowered->buffers.n * sizeof *lowered->buffers.at);
    take_strides(t, p->views);
    if (!code_x86(p->call->scratch, t, &machine, &code, p->call->diags)) return LW_ERROR;
    p->timing.compile_us = now_us() - start;
    p->timing.code_bytes = code.size;
    count_work(p, t);
    Jit j = prepare(p, t, &code);
    start = now_us();
    ExecArena *exec = exec_arena_new();
    ExecBlock *block = exec ? exec_add(exec, code.bytes, code.size) : NULL;
    p->timing.compile_us += now_us() - start;
    if (block) {
        j.kernel = (Kernel *)exec_entry(block);
        int bad = run_code(&j);
        status = bad ? LW_ERROR : LW_OK;
    }
    exec_release(block);
    exec_arena_free(exec);
    if (!block) return LW_NO_MEMORY;
    return status ? explain_fault(p, t) : LW_OK;
}
