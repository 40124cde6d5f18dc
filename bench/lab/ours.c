// Text to kernel, without the public API: raw pointers, and compile times step by step.
#include "ours.h"

#include "lab.h"
#include "loopwright.h"
#include "peers/peer.h"
#include "choose/choose.h"
#include "tree/cost.h"
#include "target/target.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *fail(Ours *o, const char *what) {
    Text text = {.arena = &o->arena};
    text_printf(&text, "%s", what);
    for (int i = 0; i < o->diags.items.n; i++) {
        text_printf(&text, "\n");
        diag_print(&text, o->diags.items.at[i]);
    }
    return o->error = text_str(&text);
}

// --- Texts ---------------------------------------------------------------------------------------

static const Source *source(Ours *o, const char *path) {
    Source *s = arena_new(&o->arena, Source);
    if (strchr(path, '\n')) {
        *s = (Source){"<text>", path, (uint32_t)strlen(path)};
        return s;
    }
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "r");
    if (!f) return fail(o, arena_printf(&o->arena, "there is no %s", path)), NULL;
    char *text = arena_alloc(&o->arena, MOST);
    size_t n = fread(text, 1, MOST - 1, f);
    fclose(f);
    *s = (Source){arena_strndup(&o->arena, path, strlen(path)), text, (uint32_t)n};
    return s;
}

static bool ends(const char *s, const char *with) {
    size_t n = strlen(s), m = strlen(with);
    return n >= m && !strcmp(s + n - m, with);
}

static const Program *parse(Ours *o, const char *path) {
    const Source *s = source(o, path);
    if (!s) return NULL;
    if (ends(path, ".lwp")) return program_parse(&o->arena, &o->names, s, &o->diags);
    const Module *m = tc_infer(tc_parse(&o->arena, &o->names, s, &o->diags));
    return m && m->programs.n ? m->programs.at[0] : NULL;
}

// The value of a parameter in "M=64,N=64"; -1: absent.
static int64_t size_of(const char *sizes, const char *name) {
    size_t n = strlen(name);
    for (const char *at = sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (!strncmp(at, name, n) && at[n] == '=') return atoll(at + n + 1);
    return -1;
}

static const Program *bound_to(Ours *o, const Program *p, const char *sizes) {
    int64_t value[PROGRAM_MAX_PARAMS];
    for (int i = 0; i < p->params.n; i++)
        if ((value[i] = size_of(sizes, p->params.at[i].name)) < 0)
            return fail(o, arena_printf(&o->arena, "no size %s", p->params.at[i].name)), NULL;
    return program_bind(&o->arena, p, value, &o->diags);
}

// --- Kernels -------------------------------------------------------------------------------------

static View view_of(const Ours *o, Arena *arena, int i) {
    const Tensor *t = &o->program->tensors.at[i];
    int64_t *size = arena_new_n(arena, int64_t, t->rank + 1);
    for (int d = 0; d < t->rank; d++) size[d] = tensor_size(t, d);
    return (View){o->buffer[i], t->type, t->rank, size, o->stride[i]};
}

static bool compile(Ours *o, Arena *arena, const Tree **tree, Code *code, ExecBlock **block) {
    View view[OURS_ARGS];
    *tree = tree_lower(arena, o->program, o->schedule, &o->diags);
    for (int i = 0; i < o->program->ninputs + o->program->noutputs; i++)
        view[i] = view_of(o, arena, i);
    if (*tree && o->stride[0]) *tree = tree_for_views(arena, *tree, view);
    if (!*tree || !target_compile(&target_x86, arena, *tree, &o->machine, code, NULL, &o->diags))
        return false;
    *block = exec_add(o->exec, code->bytes, code->size);
    return *block != NULL;
}

double ours_compile(Ours *o) {
    const Tree *tree;
    Code code;
    ExecBlock *block;
    ArenaMark mark = arena_mark(&o->work);
    double begin = lab_cpu();
    bool ok = compile(o, &o->work, &tree, &code, &block);
    double ns = lab_cpu() - begin;
    if (ok) exec_release(block);
    arena_release(&o->work, mark);
    return ns;
}

// Random indices into the first argument.
static void fill_indices(int32_t *at, size_t n, const Program *p) {
    uint64_t size = (uint64_t)tensor_size(&p->tensors.at[0], 0), x = 1;
    for (size_t i = 0; i < n && size; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        at[i] = (int32_t)((x >> 33) % size);
    }
}

static void operands(Ours *o) {
    const Program *p = o->program;
    for (int i = 0; i < p->ninputs + p->noutputs; i++) {
        const Tensor *t = &p->tensors.at[i];
        size_t n = (size_t)tensor_elements(t);
        if (n && o->stride[i] && t->rank > 1) n = (size_t)(tensor_size(t, 0) * o->stride[i][0]);
        o->elements[i] = n;
        o->bytes += (double)n * type_info[t->type].bytes;
        o->buffer[i] =
            peer_take(&o->pool_of_operands, (n * (size_t)type_info[t->type].bytes + 3) / 4);
        if (i < p->ninputs && t->type == TYPE_F32) peer_fill(o->buffer[i], n, (unsigned)i);
        if (i < p->ninputs && t->type == TYPE_I32) fill_indices(o->buffer[i], n, p);
    }
}

static void provide_scratch(Ours *o, int threads) {
    int64_t bytes = o->code.scratch + (threads - 1) * o->code.thread_scratch;
    peer_give_back(&o->pool_of_scratch);
    o->scratch = peer_take(&o->pool_of_scratch, (size_t)bytes / 4 + 16);
}

static void make(Ours *o, const char *program, const char *schedule, const char *sizes) {
    const Program *p = parse(o, program);
    if (p && !o->error) o->program = bound_to(o, p, sizes);
    if (o->error) return;
    if (!o->program || o->diags.errors) return (void)fail(o, "the program does not bind");
    bool chosen = schedule && !strcmp(schedule, OURS_CHOSEN);
    const Source *s = schedule && !chosen ? source(o, schedule) : NULL;
    ChooseOptions choice = {.machine = &o->machine, .serial = true}; // one core
    if (chosen) o->schedule = choose_schedule(&o->arena, o->program, &choice);
    if (s) o->schedule = schedule_parse(&o->arena, &o->names, s, &o->diags);
    if (o->error) return;
    if (schedule && !o->schedule) return (void)fail(o, "the schedule does not parse");
    o->exec = exec_arena_new();
    if (!o->exec || !compile(o, &o->arena, &o->tree, &o->code, &o->block))
        return (void)fail(o, "the program does not compile");
    o->kernel = (Kernel *)exec_entry(o->block);
    o->env = (KernelEnv){.threads = 1, .apply = code_apply};
    operands(o);
    provide_scratch(o, 1);
    const BlockCost *cost = cost_of(tree_cost(&o->arena, o->tree), &o->tree->root->node);
    o->flops = cost ? (double)cost->flops : 0;
}

Ours *ours_new(const char *program, const char *schedule, const char *sizes, Isa cap) {
    Ours *o = calloc(1, sizeof *o);
    arena_init(&o->arena, &allocator_libc);
    arena_init(&o->work, &allocator_libc);
    o->names = (Names){.arena = &o->arena};
    o->diags = (DiagList){.arena = &o->arena};
    machine_detect(&o->machine, cap);
    make(o, program, schedule, sizes);
    return o;
}

void ours_free(Ours *o) {
    if (o->pool) pool_free(o->pool);
    if (o->block) exec_release(o->block);
    if (o->exec) exec_arena_free(o->exec);
    peer_give_back(&o->pool_of_operands);
    peer_give_back(&o->pool_of_scratch);
    arena_free(&o->work);
    arena_free(&o->arena);
    free(o);
}

void ours_call(void *ours) {
    Ours *o = ours;
    o->kernel(o->buffer, o->scratch, &o->env);
}

const float *ours_result(const Ours *o, size_t *n) {
    *n = o->elements[o->program->ninputs];
    return o->buffer[o->program->ninputs];
}

void ours_threads(Ours *o, int threads) {
    if (o->pool) pool_free(o->pool);
    o->pool = pool_new(threads);
    o->env.user = o->pool;
    o->env.parallel_for = pool_parallel_for;
    o->env.threads = o->pool ? threads : 1;
    provide_scratch(o, threads);
}

bool ours_vouch(Ours *o) {
    for (int i = 0; i < o->program->stmts.n; i++)
        ((Program *)o->program)->stmts.at[i].unchecked = true; // made for this kernel only
    return ours_schedule(o, o->schedule);
}

bool ours_schedule(Ours *o, const Schedule *s) {
    ExecBlock *old = o->block;
    o->schedule = s;
    if (!compile(o, &o->work, &o->tree, &o->code, &o->block)) {
        o->block = old;
        return false;
    }
    exec_release(old);
    o->kernel = (Kernel *)exec_entry(o->block);
    provide_scratch(o, o->env.threads);
    return true;
}

bool ours_rows(Ours *o, const int64_t *row) {
    for (int i = 0; i < o->program->ninputs + o->program->noutputs; i++) {
        const Tensor *t = &o->program->tensors.at[i];
        int64_t *stride = arena_new_n(&o->arena, int64_t, t->rank + 1);
        for (int d = t->rank - 1, all = 1; d >= 0; d--) {
            stride[d] = all;
            all *= (int)(d == t->rank - 1 && t->rank > 1 ? row[i] : tensor_size(t, d));
        }
        o->stride[i] = stride;
    }
    peer_give_back(&o->pool_of_operands);
    o->bytes = 0;
    operands(o);
    return ours_schedule(o, o->schedule);
}

bool ours_close(const float *x, const float *y, size_t n, float tolerance) {
    float largest = 0, worst = 0;
    for (size_t i = 0; i < n; i++) {
        float apart = fabsf(x[i] - y[i]);
        if (!(apart <= FLT_MAX)) return false;
        largest = fmaxf(largest, fabsf(x[i])), worst = fmaxf(worst, apart);
    }
    return worst <= tolerance * largest;
}

bool ours_check(Ours *o, float tolerance) {
    const Program *p = o->program;
    View view[OURS_ARGS];
    for (int i = 0; i < p->ninputs + p->noutputs; i++) {
        const Tensor *t = &p->tensors.at[i];
        view[i] = view_of(o, &o->arena, i);
        if (i >= p->ninputs)
            view[i].data = arena_array(&o->arena, o->elements[i], (size_t)type_info[t->type].bytes);
    }
    size_t n;
    const float *mine = ours_result(o, &n);
    ours_call(o);
    return program_interpret(&o->arena, p, view, (InterpFlags){0}, &o->diags) &&
           ours_close(mine, view[p->ninputs].data, n, tolerance);
}

bool ours_rates(Rates *out, int times) {
    lw_context *ctx = lw_context_new(NULL);
    bool ok = ctx != NULL;
    *out = (Rates){0};
    for (int i = 0; i < times && ok; i++) {
        const lw_machine *m;
        lw_machine_options o = {.struct_size = sizeof o, .remeasure = true, .file = "/dev/null"};
        ok = lw_machine_get(ctx, &o, &m) == LW_OK;
        if (!ok) break;
        out->cores = m->cores;
        const double *from[] = {&m->gflops[0][0][0], &m->gbps[0][0][0]};
        double *to[] = {&out->fma[0][0][0], &out->move[0][0][0]};
        size_t n[] = {sizeof out->fma / sizeof(double), sizeof out->move / sizeof(double)};
        for (int a = 0; a < 2; a++)
            for (size_t k = 0; k < n[a]; k++) to[a][k] = fmax(to[a][k], from[a][k]);
    }
    lw_context_free(ctx);
    return ok;
}
