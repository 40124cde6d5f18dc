// Parallel loops: a call of env->parallel_for with an outlined body.
//
// The body is a function of its own behind the kernel, with the kernel's frame layout and the same
// registers for the same pointers and counters. Where the loop stands, the kernel puts all of them
// into their stack slots and passes its stack pointer: the frame is the argument block. A body
// copies them into its own frame and registers, moves the pointers of allocations that are private
// to a thread, and runs its range. Without threads the kernel calls the body itself, once.
#include "code/gen/gen.h"

#include "base/bug.h"

static PNode *innermost(PNode *n, int levels) {
    return levels ? innermost(n->child[0], levels - 1) : n;
}

// gen_end_slot serves the body: its end, and the index of a collapsed nest.

// ---- At the loop

static void to_slot(Gen *g, Item it) {
    if (it.reg >= 0) gen_move(g, gen_at_slot(it.slot), gen_at(it));
}

static void from_slot(Gen *g, Item it) {
    if (it.reg >= 0) gen_move(g, gen_at(it), gen_at_slot(it.slot));
}

static void each_item(Gen *g, void (*fn)(Gen *g, Item it)) {
    for (int i = 0; i < g->p->streams.n; i++) fn(g, g->stack.stream[i]);
    for (int i = 0; i < g->p->nloops; i++)
        if (g->p->loop[i]->form.real) fn(g, g->stack.counter[i]);
}

static int64_t iterations(PNode *n) {
    int64_t count = n->extent;
    for (int i = 1; i <= n->threads.collapse; i++) count *= innermost(n, i)->extent;
    return count;
}

// B <- how many iterations there are; jumps to `none` when there is none.
static void count_iterations(Gen *g, PNode *n, AsmLabel *none) {
    GenArg counter = gen_at(gen_counter(g, n->loop));
    if (!gen_has_bounds(g, n)) {
        gen_move(g, counter, gen_const(0));
        each_item(g, to_slot);
        gen_move(g, GEN_B, gen_const(iterations(n)));
        return;
    }
    gen_move(g, GEN_B, gen_at_slot(gen_range(g, n)));
    g->isa->op_branch(g, GEN_SUB, GEN_B, counter, GEN_LE, none);
    each_item(g, to_slot);
}

void gen_parallel(Gen *g, PNode *n) {
    require(!g->region.open);
    Body *body = arena_new(g->arena, Body);
    *body =
        (Body){n, asm_label(&g->a),
               arena_copy(g->arena, g->here.value, (size_t)g->p->nloops * sizeof *g->here.value)};
    vec_push(g->arena, &g->result.bodies, body);
    AsmLabel none = asm_label(&g->a);
    gen_line(g, n->line);
    count_iterations(g, n, &none);
    g->isa->parallel(g, &body->label, n->threads.grain);
    each_item(g, from_slot);
    asm_bind(&g->a, &none);
    gen_move(g, gen_at(gen_counter(g, n->loop)), gen_const(0));
    g->isa->forget(g, false);
}

// ---- The body

static void take_item(Gen *g, Item it, bool private) {
    g->isa->outer(g, it.slot);
    if (private) gen_op(g, GEN_ADD, GEN_A, GEN_B);
    gen_move(g, gen_at(it), GEN_A);
}

// Pointers and counters into this frame; B: where the allocations of this thread lie, from those of
// the first.
static void take_items(Gen *g, const PNode *n) {
    const Plan *p = g->p;
    for (int i = 0; i < p->streams.n; i++)
        take_item(g, g->stack.stream[i], p->private[p->streams.at[i].buffer]);
    for (int i = 0; i < n->loop; i++)
        if (p->loop[i]->form.real) take_item(g, g->stack.counter[i], false);
}

static void next(Gen *g, Item index, int end, AsmLabel *top) {
    gen_op(g, GEN_ADD, gen_at(index), gen_const(1));
    gen_move(g, GEN_A, gen_at(index));
    gen_branch(g, GEN_LT, GEN_A, gen_at_slot(end), top);
}

static void one_loop(Gen *g, PNode *n) {
    Item counter = gen_counter(g, n->loop);
    AsmLabel top = asm_label(&g->a);
    from_slot(g, counter);
    gen_shift(g, n->loop, GEN_ADD);
    asm_bind(&g->a, &top);
    gen_children(g, n);
    gen_line(g, n->line);
    gen_advance(g, n->loop, 1);
    next(g, counter, gen_end_slot(g, n), &top);
}

// A nest counted by one index: counters are its digits, pointers move there and back.
static void nest(Gen *g, PNode *n) {
    PNode *last = innermost(n, n->threads.collapse);
    Item flat = {-1, gen_end_slot(g, last)};
    AsmLabel top = asm_label(&g->a);
    gen_move(g, GEN_A, gen_at_slot(g->stack.counter[n->loop].slot));
    gen_move(g, gen_at(flat), GEN_A);
    asm_bind(&g->a, &top);
    gen_move(g, GEN_A, gen_at(flat));
    for (int i = n->threads.collapse; i > 0; i--)
        g->isa->digit(g, gen_counter(g, innermost(n, i)->loop), innermost(n, i)->extent);
    gen_move(g, gen_at(gen_counter(g, n->loop)), GEN_A);
    for (int i = 0; i <= n->threads.collapse; i++) gen_shift(g, innermost(n, i)->loop, GEN_ADD);
    gen_children(g, last);
    gen_line(g, n->line);
    for (int i = 0; i <= n->threads.collapse; i++) gen_shift(g, innermost(n, i)->loop, GEN_SUB);
    next(g, flat, gen_end_slot(g, n), &top);
}

static void body(Gen *g, Body *b) {
    for (int i = 0; i < g->p->nloops; i++) g->here.value[i] = b->value[i];
    gen_line(g, b->loop->line);
    g->isa->enter_body(g, &b->label, g->stack.counter[b->loop->loop].slot, gen_end_slot(g, b->loop),
                       g->p->thread_scratch);
    take_items(g, b->loop);
    if (b->loop->threads.collapse)
        nest(g, b->loop);
    else
        one_loop(g, b->loop);
    gen_line(g, 0);
    g->isa->leave(g);
}

void gen_bodies(Gen *g) {
    for (int i = 0; i < g->result.bodies.n; i++) body(g, g->result.bodies.at[i]);
}
