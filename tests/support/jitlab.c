#include "support/jitlab.h"

#include <stdio.h>
#include <string.h>

#include "base/kernel_abi.h"
#include "code/code.h"
#include "run/exec.h"
#include "run/pool.h"
#include "support/arguments.h"
#include "support/trampoline.h"
#include "target/target.h"

JitCount jit_count;
int64_t jit_tricks[TRICK_COUNT];

// Cached, because it is called hundreds of times per second, and CPUID is slow under a hypervisor.
bool jit_machine(Isa isa, Machine *m) {
    static Machine known[ISA_COUNT + 1];
    static bool asked[ISA_COUNT + 1];
    if (!asked[isa]) machine_detect(&known[isa], isa);
    asked[isa] = true;
    *m = known[isa];
    return isa == ISA_COUNT || m->isa == isa;
}

// The body of a parallel loop, called as kernels are.
typedef struct Checked {
    KernelBody *body;
    void *arg;
    const char *broken;
} Checked;

static int call_body(void *user, int64_t from, int64_t to, int thread) {
    Checked *c = user;
    const char *broken = NULL;
    int status = trampoline(
        (void (*)(void))c->body,
        (uintptr_t[4]){(uintptr_t)c->arg, (uintptr_t)from, (uintptr_t)to, (uintptr_t)thread},
        &broken);
    if (broken) __atomic_store_n(&c->broken, broken, __ATOMIC_RELAXED);
    return status;
}

// Simulates threads one after the other: thread 1 before thread 0, last iterations first.
static int in_turn(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                   int64_t grain) {
    (void)grain;
    Checked c = {body, arg, NULL};
    int64_t step = count / (2 * env->threads) + 1, n = (count + step - 1) / step;
    int status = 0;
    for (int64_t i = n - 1; i >= 0 && !status; i--) {
        int64_t from = i * step, to = from + step < count ? from + step : count;
        status = call_body(&c, from, to, (int)(i % env->threads));
    }
    if (c.broken) *(const char **)env->user = c.broken;
    return status;
}

// Uses real threads, however short the loop.
static int at_once(const KernelEnv *env, KernelBody *body, void *arg, int64_t count,
                   int64_t grain) {
    static Pool *pool; // lives as long as the process
    (void)grain;
    if (!pool) pool = pool_new(8);
    Checked c = {body, arg, NULL};
    int status = pool_for(pool, env->threads, call_body, &c, count, 1);
    if (c.broken) *(const char **)env->user = c.broken;
    return status;
}

// A called function may clobber every register that is not callee-saved, including masks and
// vectors.
static void apply(int op, int from, int to, int n, void *values) {
    code_apply(op, from, to, n, values);
    if (__builtin_cpu_supports("avx512bw"))
        __asm__ volatile(
            "kxnorq %%k1, %%k1, %%k1; kxnorq %%k2, %%k2, %%k2; kxnorq %%k3, %%k3, %%k3\n"
            "kxnorq %%k4, %%k4, %%k4; kxnorq %%k5, %%k5, %%k5; kxnorq %%k6, %%k6, %%k6\n"
            "kxnorq %%k7, %%k7, %%k7; vpternlogd $255, %%zmm31, %%zmm31, %%zmm31" ::
                : "memory");
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; pcmpeqd %%xmm7, %%xmm7\n"
                     "mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi\n"
                     "mov %%rax, %%rdi; mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10\n"
                     "mov %%rax, %%r11" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
                           "xmm1", "xmm7");
}

bool jit_kernel_new(Lab *lab, const Tree *t, const Machine *m, JitKernel *k) {
    if (!target_compile(&target_x86, &lab->arena, t, m, &k->code, NULL, &lab->diags)) return false;
    k->arena = exec_arena_new();
    k->block = exec_add(k->arena, k->code.bytes, k->code.size);
    for (int i = 0; i < TRICK_COUNT; i++) jit_tricks[i] += k->code.tricks[i];
    return true;
}

void jit_kernel_free(JitKernel *k) {
    exec_release(k->block);
    exec_arena_free(k->arena);
}

JitResult jit_kernel_run(Lab *lab, const JitKernel *k, const LabData *data, InterpFlags flags,
                         int threads, bool low) {
    const Code *code = &k->code;
    jit_count.parallel += code->parallel > 0 && threads > 1;
    jit_count.private += code->thread_scratch > 0 && threads > 1;
    int64_t scratch = code->scratch + (threads - 1) * code->thread_scratch;
    Arguments args = arguments_new(&lab->arena, data, flags, scratch, low);
    const char *broken = NULL;
    KernelEnv env = {.flags = args.flags,
                     .threads = threads,
                     .parallel_for = threads % 2 ? at_once : in_turn,
                     .apply = apply,
                     .user = &broken};
    int status = trampoline(
        (void (*)(void))exec_entry(k->block),
        (uintptr_t[4]){(uintptr_t)args.buffers, (uintptr_t)args.scratch, (uintptr_t)&env}, &broken);
    if (!arguments_end(&args, data)) broken = "bytes around a buffer";
    if (broken) printf("the kernel changed %s\n", broken);
    return broken ? JIT_BROKEN : status ? JIT_STATUS : JIT_OK;
}

JitResult jit_run(Lab *lab, const Tree *t, const Machine *m, const LabData *data, InterpFlags flags,
                  int threads, bool low) {
    JitKernel k;
    if (!jit_kernel_new(lab, t, m, &k)) return JIT_DECLINED;
    JitResult r = jit_kernel_run(lab, &k, data, flags, threads, low);
    jit_kernel_free(&k);
    return r;
}

static const Node *bound_loops(Tree *t, const Node *node) {
    const Block *b = as_block(node);
    if (!b) return node;
    const Node **child = arena_new_n(t->arena, const Node *, b->nchildren);
    for (int i = 0; i < b->nchildren; i++) child[i] = bound_loops(t, b->child[i]);
    const Block *guard = b->nchildren == 1 ? as_block(child[0]) : NULL;
    if (!b->nindex || !guard || guard->nindex || guard->nallocs)
        return &tree_block(t, b, child, b->nchildren)->node;
    Block both = *b;
    const Affine **all =
        arena_new_n(t->arena, const Affine *, b->nconstraints + guard->nconstraints);
    for (int i = 0; i < b->nconstraints; i++) all[i] = b->constraint[i];
    for (int i = 0; i < guard->nconstraints; i++) all[both.nconstraints++] = guard->constraint[i];
    both.constraint = all;
    return &tree_block(t, &both, guard->child, guard->nchildren)->node;
}

Tree *jit_bound_loops(Tree *t) {
    t->root = as_block(bound_loops(t, &t->root->node));
    return t;
}
