// Plan -> x86-64: the frame, the function, its constants. See gen.h.
#include "code/x86/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/fault.h"
#include "base/kernel_abi.h"
#include "code/x86/mem.h"

static const uint8_t callee_saved[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
static const uint8_t item_regs[] = {X86_RBX, X86_RSI, X86_RDI, X86_R8,  X86_R9,  X86_R10,
                                    X86_R11, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};

// Is an address computed, for one lane or all of them?
static bool has_rows(const Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        const PNode *n = p->leaves.at[i];
        if (!n->write.off) return true;
        for (int r = 0; r < n->nreads; r++)
            if (!n->read[r].off && !n->read[r].gathers) return true;
    }
    return false;
}

// Registers go to the most deeply used pointers and counters; computed offsets come before what is
// used outside of all loops.
static void give_registers(Gen *g, int *frame) {
    Plan *p = g->p;
    int nregs = (int)sizeof item_regs, given = 0;
    g->stream = arena_new_n(g->arena, Item, p->streams.n + p->tree->buffers.n + 1);
    g->counter = arena_new_n(g->arena, Item, p->nloops + 1);
    for (int i = 0; i < p->streams.n; i++) g->stream[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->streams.n + 1);
    for (int i = 0; i < p->nloops; i++) g->counter[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->nloops + 1);
    for (int i = 0; i < MAX_ROWS; i++) g->row_item[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * MAX_ROWS;
    for (int depth = TREE_MAX_DEPTH; depth >= 0 && given < nregs; depth--) {
        for (int i = 0; i < MAX_ROWS && given < nregs && !depth && has_rows(p); i++)
            g->row_item[i].reg = item_regs[given++];
        for (int i = 0; i < p->streams.n && given < nregs; i++)
            if (p->streams.at[i].depth == depth) g->stream[i].reg = item_regs[given++];
        for (int i = 0; i < p->nloops && given < nregs; i++)
            if (p->loop[i]->real && p->loop[i]->depth + 1 == depth)
                g->counter[i].reg = item_regs[given++];
    }
}

void gen_line(Gen *g, int line) {
    uint32_t at = (uint32_t)asm_size(&g->a);
    if (g->lines.n && vec_last(&g->lines).line == line) return;
    if (g->lines.n && vec_last(&g->lines).offset == at) g->lines.n--;
    if (g->lines.n && vec_last(&g->lines).line == line) return;
    vec_push(g->arena, &g->lines, ((CodeLine){at, line}));
}

void gen_frame(Gen *g, FrameRule rule, int kept, int at) {
    KernelFrame f = {(uint32_t)asm_size(&g->a), rule, kept, at};
    vec_push(g->arena, &g->unwind, f);
}

void gen_enter(Gen *g) {
    Asm *a = &g->a;
    gen_frame(g, FRAME_RSP, 0, 0);
    for (int i = 0; i < 6; i++) {
        x86_1(a, X86_push, x86_r64(callee_saved[i]));
        gen_frame(g, FRAME_RSP, i + 1, 0);
    }
    x86_2(a, X86_mov, x86_r64(X86_RAX), x86_r64(X86_RSP));
    gen_frame(g, FRAME_RAX, 6, 0);
    x86_2(a, X86_sub, x86_r64(X86_RSP), x86_imm(0x7fffffff)); // patched when the frame is known
    vec_push(g->arena, &g->frames, asm_size(a) - 4);
    x86_2(a, X86_and, x86_r64(X86_RSP), x86_imm(-64));
    x86_2(a, X86_mov, gen_slot(g->env_slot + 8), x86_r64(X86_RAX));
    gen_frame(g, FRAME_SLOT, 6, g->env_slot + 8);
    x86_2(a, X86_mov, gen_slot(g->status_slot), x86_imm(0));
}

static void start_streams(Gen *g) {
    Asm *a = &g->a;
    const Plan *p = g->p;
    x86_2(a, X86_mov, gen_slot(g->env_slot), x86_r64(X86_RDX));
    x86_2(a, X86_mov, x86_r64(X86_RCX), x86_r64(X86_RDI)); // rdi and rsi hold items from here on
    x86_2(a, X86_mov, x86_r64(X86_RDX), x86_r64(X86_RSI));
    for (int i = 0; i < p->streams.n; i++) {
        int b = p->streams.at[i].buffer;
        Item to = g->stream[i];
        X86Arg reg = x86_r64(to.reg < 0 ? X86_RAX : (unsigned)to.reg);
        if (b < p->tree->nargs)
            x86_2(a, X86_mov, reg, x86_mem(X86_RCX, 8 * b));
        else
            x86_2(a, X86_lea, reg,
                  x86_mem(X86_RDX, FAULT(scratch_offset_dropped) ? 0 : p->offset[b]));
        if (to.reg < 0) x86_2(a, X86_mov, gen_item(to), reg);
    }
}

void gen_leave(Gen *g) {
    Asm *a = &g->a;
    asm_bind(a, &g->leave);
    if (g->streams_out && !FAULT(fence_dropped)) x86_0(a, X86_sfence);
    g->streams_out = false;
    x86_2(a, X86_mov, x86_r32(X86_RAX), x86_sized(x86_mem(X86_RSP, g->status_slot), 4));
    x86_2(a, X86_mov, x86_r64(X86_RSP), gen_slot(g->env_slot + 8));
    gen_frame(g, FRAME_RSP, 6, 0);
    for (int i = 5; i >= 0; i--) {
        x86_1(a, X86_pop, x86_r64(callee_saved[FAULT(callee_saved_order) ? 5 - i : i]));
        gen_frame(g, FRAME_RSP, i, 0);
    }
    if (g->m->isa != ISA_SCALAR && !FAULT(upper_halves_left)) x86_0(a, X86_vzeroupper);
    x86_0(a, X86_ret);
    gen_frame(g, FRAME_SLOT, 6, g->env_slot + 8); // what lies behind is jumped to
    if (g->bad_used) {
        asm_bind(a, &g->bad);
        x86_2(a, X86_mov, gen_slot(g->status_slot),
              x86_imm(FAULT(bad_index_unreported) ? 0 : KERNEL_BAD_INDEX));
        x86_1(a, X86_jmp, x86_to(&g->leave));
    }
    g->bad_used = false;
}

static void constants(Gen *g) {
    for (int size = 64; size >= 4; size /= 2)
        for (int i = 0; i < g->pool.n; i++) {
            PoolEntry *e = g->pool.at[i];
            if (e->size != size) continue;
            asm_fill(&g->a, (size_t)size, 0);
            asm_bind(&g->a, &e->label);
            asm_bytes(&g->a, e->bytes, (size_t)size);
        }
}

static bool grow(Asm *a, size_t need) {
    Gen *g = a->user;
    size_t used = asm_size(a), cap = (size_t)(a->end - a->start) * 2;
    while (cap < used + need) cap *= 2;
    uint8_t *memory = arena_raw(g->arena, cap);
    memcpy(memory, a->start, used);
    a->start = memory;
    a->at = memory + used;
    a->end = memory + cap;
    return true;
}

static uint32_t features_of(const Machine *m) {
    uint32_t f = X86_HAS_POPCNT | X86_HAS_BMI1 | X86_HAS_BMI2 | X86_HAS_AVX | X86_HAS_AVX2 |
                 X86_HAS_FMA | X86_HAS_F16C | X86_HAS_PREFETCHW; // the first with AVX2 ignore it
    if (m->isa == ISA_AVX512)
        f |= X86_HAS_AVX512F | X86_HAS_AVX512VL | X86_HAS_AVX512BW | X86_HAS_AVX512DQ |
             X86_HAS_AVX512CD;
    if (m->isa == ISA_AVX512 && m->has_vnni) f |= X86_HAS_AVX512VNNI;
    return f;
}

// Lays out the frame, makes the code. The frame's size is patched in when the number of spills is
// known.
static void make_function(Gen *g) {
    Plan *p = g->p;
    int frame = 0;
    give_registers(g, &frame);
    g->env_slot = frame;
    g->status_slot = frame + 16;
    g->save_slots = frame + 24;
    g->cut_slots = frame + 24 + 8 * (p->nloops + 1);
    frame = g->cut_slots + 8 * 4;
    g->call_area = (frame + 63) & ~63;
    g->vector_area = g->call_area + 64 * 40;
    g->leave = asm_label(&g->a);
    g->bad = asm_label(&g->a);
    gen_line(g, 0);
    gen_enter(g);
    start_streams(g);
    gen_nodes(g, &p->root, 1);
    gen_line(g, 0);
    gen_leave(g);
    gen_bodies(g);
    gen_apply_routine(g);
    gen_frame(g, FRAME_SLOT, 6, g->env_slot + 8);
    gen_detours(g);
    gen_frame(g, FRAME_RSP, 0, 0);
    gen_divide_routines(g);
    constants(g);
    int32_t total = g->vector_area + (FAULT(frame_without_spills) ? 0 : 64 * (g->vector_slots + 1));
    AsmError error = asm_finish(&g->a);
    for (int i = 0; i < g->frames.n && error == ASM_OK; i++) {
        memcpy(g->a.start + g->frames.at[i], &total, 4);
        if (g->listing) list_frame(g, g->frames.at[i], total);
    }
    if (g->listing && error == ASM_OK) list_resolve(g->listing, 0, g->a.start);
    if (error != ASM_OK && !g->declined) g->declined = asm_error_text(error);
}

// Does something compute addresses from data?
static bool looks_up(const PNode *n) {
    bool found = n->nhard > 0;
    for (int i = 0; i < n->nreads && !found; i++) found = n->read[i].inner;
    for (int i = 0; i < n->nchild && !found; i++) found = looks_up(n->child[i]);
    return found;
}

static Gen gen_new(Arena *arena, const Tree *tree, const Machine *machine,
                   const Refusals *refused) {
    Plan *p = code_plan(arena, tree, machine, refused);
    for (int i = 0; i < tree->buffers.n && looks_up(p->root); i++)
        code_stream(p, i, NULL, 0, 0); // where data lies that addresses are computed from
    Gen g = {.arena = arena,
             .p = p,
             .m = machine,
             .declined = p->declined,
             .no_vector = -1,
             .no_tile = -1};
    g.scratch = machine->vector_registers - 1;
    g.value = arena_new_n(arena, int64_t, p->nloops + 1);
    seg_init(&g.segment, arena, tree->buffers.n);
    return g;
}

// Loops that load and store their sums, each once.
static void list_spills(const Plan *p, Code *out) {
    CodeSpill *all = arena_new_n(p->arena, CodeSpill, p->leaves.n);
    for (int i = 0; i < p->leaves.n; i++) {
        const CodeSpill *s = &p->leaves.at[i]->spill;
        int k = 0;
        while (k < out->nspills && all[k].line != s->line) k++;
        if (s->why && k == out->nspills) all[out->nspills++] = *s;
    }
    out->spills = all;
}

static bool count_leaf(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    *(int *)user += node->kind == NODE_LEAF;
    return true;
}

static int count_leaves(const Tree *tree) {
    int n = 0;
    tree_walk(tree, count_leaf, &n);
    return n;
}

void code_x86_plan(Arena *arena, const Tree *tree, const Machine *machine) {
    Refusals refused = {arena_new_n(arena, bool, tree->nindices + 1),
                        arena_new_n(arena, uint8_t, count_leaves(tree) + 1)};
    gen_new(arena, tree, machine, &refused);
}

bool code_x86(Arena *arena, const Tree *tree, const Machine *machine, Code *out, DiagList *diags) {
    return code_x86_listed(arena, tree, machine, out, NULL, diags);
}

bool code_x86_listed(Arena *arena, const Tree *tree, const Machine *machine, Code *out,
                     Listing *listing, DiagList *diags) {
    Refusals refused = {arena_new_n(arena, bool, tree->nindices + 1),
                        arena_new_n(arena, uint8_t, count_leaves(tree) + 1)};
    for (;;) { // once, and again for each thing that turned out not to be possible
        Gen g = gen_new(arena, tree, machine, &refused);
        asm_init(&g.a, arena_raw(arena, 16384), 16384);
        g.a.grow = grow;
        g.a.user = &g;
        g.a.features = features_of(machine);
        if ((g.listing = listing)) {
            g.a.listen = list_heard;
            *listing = (Listing){.arena = arena};
        }
        if (!g.declined) make_function(&g);
        if (g.no_vector >= 0 || g.no_tile >= 0) {
            if (g.no_vector >= 0) refused.vector[g.no_vector] = true;
            if (g.no_tile >= 0) refused.tile[g.no_tile] = (uint8_t)g.why_no_tile;
            continue;
        }
        if (g.declined) {
            diag_report(diags, (Range){0, 0}, DIAG_CODE_DECLINED, g.declined);
            return false;
        }
        *out = (Code){.bytes = g.a.start,
                      .size = asm_size(&g.a),
                      .scratch = g.p->scratch,
                      .thread_scratch = g.p->thread_scratch,
                      .parallel = g.bodies.n,
                      .shared = g.p->shared,
                      .report = text_str(&g.p->report),
                      .nlines = g.lines.n,
                      .lines = g.lines.at,
                      .nframes = g.unwind.n,
                      .frames = g.unwind.at};
        list_spills(g.p, out);
        memcpy(out->tricks, g.tricks, sizeof g.tricks);
        out->tricks[TRICK_JOIN] = g.p->joined;
        return true;
    }
}
