// Parallel loops: a call of env->parallel_for with an outlined body.
//
// The body is a function of its own behind the kernel, with the kernel's frame layout and the same
// registers for the same pointers and counters. Where the loop stands, the kernel puts all of them
// into their stack slots and passes its stack pointer: the frame is the argument block. A body
// copies them into its own frame and registers, moves the pointers of allocations that are private
// to a thread, and runs its range. Without threads the kernel calls the body itself, once.
#include "code/x86/gen.h"

#include "base/bug.h"
#include "base/fault.h"
#include "base/kernel_abi.h"

#include <stddef.h>

static PNode *innermost(PNode *n, int levels) {
    return levels ? innermost(n->child[0], levels - 1) : n;
}

// The slots that a bounded loop keeps its end in serve the body: end, and index of a collapsed
// nest.
static int slot_of(const Gen *g, const PNode *n) { return g->save_slots + n->loop * 8; }

// ---- Where the loop stands

static void to_slot(Gen *g, Item it) {
    if (it.reg >= 0) x86_2(&g->a, X86_mov, gen_slot(it.slot), x86_r64((unsigned)it.reg));
}

static void from_slot(Gen *g, Item it) {
    if (it.reg >= 0) x86_2(&g->a, X86_mov, x86_r64((unsigned)it.reg), gen_slot(it.slot));
}

static void each_item(Gen *g, void (*fn)(Gen *g, Item it)) {
    for (int i = 0; i < g->p->streams.n; i++) fn(g, g->stream[i]);
    for (int i = 0; i < g->p->nloops; i++)
        if (g->p->loop[i]->real) fn(g, g->counter[i]);
}

static int64_t iterations(PNode *n) {
    int64_t count = n->extent;
    for (int i = 1; i <= n->collapse; i++) count *= innermost(n, i)->extent;
    return count;
}

// rcx <- how many iterations there are; jumps to `none` when there is none.
static void count_iterations(Gen *g, PNode *n, AsmLabel *none) {
    Asm *a = &g->a;
    Item counter = gen_counter(g, n->loop);
    if (!gen_has_bounds(g, n)) {
        gen_item_set(g, counter, 0);
        each_item(g, to_slot);
        x86_set(a, X86_RCX, iterations(n));
        return;
    }
    int end = gen_range(g, n);
    x86_2(a, X86_mov, x86_r64(X86_RCX), gen_slot(end));
    if (!FAULT(parallel_start_ignored)) x86_2(a, X86_sub, x86_r64(X86_RCX), gen_item(counter));
    x86_1(a, X86_jle, x86_to(none));
    each_item(g, to_slot);
}

// eax <- the status of the loop, rcx its iterations.
static void call_body(Gen *g, const PNode *n, AsmLabel *body) {
    Asm *a = &g->a;
    AsmLabel alone = asm_label(a), done = asm_label(a);
    X86Arg threads = x86_sized(x86_mem(X86_RDI, (int64_t)offsetof(KernelEnv, threads)), 4);
    x86_2(a, X86_mov, x86_r64(X86_RDI), gen_slot(g->env_slot));
    x86_2(a, X86_cmp, threads, x86_imm(1));
    x86_1(a, X86_jle, x86_to(&alone));
    x86_2(a, X86_mov, x86_r64(X86_RAX),
          x86_sized(x86_mem(X86_RDI, (int64_t)offsetof(KernelEnv, parallel_for)), 8));
    x86_2(a, X86_test, x86_r64(X86_RAX), x86_r64(X86_RAX));
    x86_1(a, X86_jz, x86_to(&alone));
    x86_2(a, X86_lea, x86_r64(X86_RSI), x86_mem_label(body));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RSP));
    x86_set(a, X86_R8, n->grain);
    if (g->m->isa != ISA_SCALAR) x86_0(a, X86_vzeroupper);
    x86_1(a, X86_call, x86_r64(X86_RAX));
    x86_1(a, X86_jmp, x86_to(&done));
    asm_bind(a, &alone);
    x86_2(a, X86_mov, x86_r64(X86_RDI), x86_r64(X86_RSP));
    x86_2(a, X86_xor, x86_r32(X86_RSI), x86_r32(X86_RSI));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RCX));
    x86_2(a, X86_xor, x86_r32(X86_RCX), x86_r32(X86_RCX));
    x86_1(a, X86_call, x86_to(body));
    asm_bind(a, &done);
}

void gen_parallel(Gen *g, PNode *n) {
    Asm *a = &g->a;
    require(!g->in_region && !g->depth);
    Body *body = arena_new(g->arena, Body);
    *body = (Body){n, asm_label(a),
                   arena_copy(g->arena, g->value, (size_t)g->p->nloops * sizeof *g->value)};
    vec_push(g->arena, &g->bodies, body);
    AsmLabel none = asm_label(a);
    gen_line(g, n->line);
    count_iterations(g, n, &none);
    call_body(g, n, &body->label);
    x86_2(a, X86_mov, gen_slot(g->status_slot), x86_r64(X86_RAX));
    x86_2(a, X86_test, x86_r32(X86_RAX), x86_r32(X86_RAX));
    if (!FAULT(parallel_status_lost)) x86_1(a, X86_jnz, x86_to(&g->leave));
    each_item(g, from_slot);
    asm_bind(a, &none);
    gen_item_set(g, gen_counter(g, n->loop), 0);
    g->k1 = 0;
}

// ---- The body: rdi the kernel's frame, rsi from, rdx to, ecx the thread

static void take_range(Gen *g, const PNode *n) {
    Asm *a = &g->a;
    int start = g->counter[n->loop].slot;
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDI, start), 8));
    x86_2(a, FAULT(chunk_from_start) ? X86_mov : X86_add, x86_r64(X86_RSI), x86_r64(X86_RAX));
    x86_2(a, X86_add, x86_r64(X86_RDX), x86_r64(X86_RAX));
    x86_2(a, X86_mov, gen_slot(start), x86_r64(X86_RSI));
    x86_2(a, X86_mov, gen_slot(slot_of(g, n)), x86_r64(X86_RDX));
}

// Everything into this frame; allocations of this thread are `thread` areas further on.
static void take_items(Gen *g, const PNode *n) {
    Asm *a = &g->a;
    const Plan *p = g->p;
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDI, g->env_slot), 8));
    x86_2(a, X86_mov, gen_slot(g->env_slot), x86_r64(X86_RAX));
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RDI)); // rdi and rsi hold items from here on
    x86_2(a, X86_movsxd, x86_r64(X86_RCX), x86_r32(X86_RCX));
    x86_set(a, X86_RAX, p->thread_scratch);
    x86_2(a, X86_imul, x86_r64(X86_RCX), x86_r64(X86_RAX));
    for (int i = 0; i < p->streams.n; i++) {
        x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDX, g->stream[i].slot), 8));
        if (p->private[p->streams.at[i].buffer] && !FAULT(thread_memory_shared))
            x86_2(a, X86_add, x86_r64(X86_RAX), x86_r64(X86_RCX));
        x86_2(a, X86_mov, gen_item(g->stream[i]), x86_r64(X86_RAX));
    }
    for (int i = 0; i < n->loop; i++) {
        if (!p->loop[i]->real) continue;
        x86_2(a, X86_mov, x86_r64(X86_RAX), x86_sized(x86_mem(X86_RDX, g->counter[i].slot), 8));
        x86_2(a, X86_mov, gen_item(g->counter[i]), x86_r64(X86_RAX));
    }
}

static void next(Gen *g, Item index, int end, AsmLabel *top) {
    gen_item_add(g, index, 1);
    gen_load_item(g, X86_RAX, index);
    x86_2(&g->a, X86_cmp, x86_r64(X86_RAX), gen_slot(end));
    x86_1(&g->a, X86_jl, x86_to(top));
}

static void one_loop(Gen *g, PNode *n) {
    Item counter = gen_counter(g, n->loop);
    AsmLabel top = asm_label(&g->a);
    from_slot(g, counter);
    gen_shift(g, n->loop, X86_add);
    asm_bind(&g->a, &top);
    gen_children(g, n);
    gen_line(g, n->line);
    gen_advance(g, n->loop, 1);
    next(g, counter, slot_of(g, n), &top);
}

// A nest counted by one index: counters are its digits, pointers move there and back.
static void nest(Gen *g, PNode *n) {
    Asm *a = &g->a;
    PNode *last = innermost(n, n->collapse);
    Item flat = {-1, slot_of(g, last)};
    AsmLabel top = asm_label(a);
    x86_2(a, X86_mov, x86_r64(X86_RAX), gen_slot(g->counter[n->loop].slot));
    x86_2(a, X86_mov, gen_item(flat), x86_r64(X86_RAX));
    asm_bind(a, &top);
    gen_load_item(g, X86_RAX, flat);
    for (int i = n->collapse; i > 0; i--) {
        x86_set(a, X86_RCX, innermost(n, FAULT(nest_digit) ? i - 1 : i)->extent);
        x86_0(a, X86_cqo);
        x86_1(a, X86_idiv, x86_r64(X86_RCX));
        x86_2(a, X86_mov, gen_item(gen_counter(g, innermost(n, i)->loop)), x86_r64(X86_RDX));
    }
    x86_2(a, X86_mov, gen_item(gen_counter(g, n->loop)), x86_r64(X86_RAX));
    for (int i = 0; i <= n->collapse; i++) gen_shift(g, innermost(n, i)->loop, X86_add);
    gen_children(g, last);
    gen_line(g, n->line);
    for (int i = 0; i <= n->collapse; i++) gen_shift(g, innermost(n, i)->loop, X86_sub);
    next(g, flat, slot_of(g, n), &top);
}

static void body(Gen *g, Body *b) {
    Asm *a = &g->a;
    g->leave = asm_label(a);
    g->bad = asm_label(a);
    g->k1 = 0;
    for (int i = 0; i < g->p->nloops; i++) g->value[i] = b->value[i];
    gen_line(g, b->loop->line);
    x86_align(a, 16);
    asm_bind(a, &b->label);
    gen_enter(g);
    take_range(g, b->loop);
    take_items(g, b->loop);
    if (b->loop->collapse)
        nest(g, b->loop);
    else
        one_loop(g, b->loop);
    gen_line(g, 0);
    gen_leave(g);
}

void gen_bodies(Gen *g) {
    for (int i = 0; i < g->bodies.n; i++) body(g, g->bodies.at[i]);
}
