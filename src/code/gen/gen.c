// Plan -> code: registers and slots, the function. See gen.h.
#include "code/gen/gen.h"

#include <string.h>

#include "base/bug.h"

// Whether an address is computed, for one lane or all of them.
static bool has_rows(const Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        const PNode *n = p->leaves.at[i];
        if (!n->write.off) return true;
        for (int r = 0; r < n->nreads; r++)
            if (!n->read[r].off && !n->read[r].gathers) return true;
    }
    return false;
}

// Assigns registers to the most deeply used pointers and counters; computed offsets come before
// Items that are used outside of all loops.
static void give_registers(Gen *g, int *frame) {
    Plan *p = g->p;
    int nregs = g->isa->items, given = 0;
    g->stack.stream = arena_new_n(g->arena, Item, p->streams.n + p->tree->buffers.n + 1);
    g->stack.counter = arena_new_n(g->arena, Item, p->nloops + 1);
    for (int i = 0; i < p->streams.n; i++) g->stack.stream[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->streams.n + 1);
    for (int i = 0; i < p->nloops; i++) g->stack.counter[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * (p->nloops + 1);
    for (int i = 0; i < MAX_ROWS; i++) g->stack.row_item[i] = (Item){-1, *frame + 8 * i};
    *frame += 8 * MAX_ROWS;
    for (int depth = TREE_MAX_DEPTH; depth >= 0 && given < nregs; depth--) {
        for (int i = 0; i < MAX_ROWS && given < nregs && !depth && has_rows(p); i++)
            g->stack.row_item[i].reg = g->isa->item[given++];
        for (int i = 0; i < p->streams.n && given < nregs; i++)
            if (p->streams.at[i].depth == depth) g->stack.stream[i].reg = g->isa->item[given++];
        for (int i = 0; i < p->nloops && given < nregs; i++)
            if (p->loop[i]->form.real && p->loop[i]->depth + 1 == depth)
                g->stack.counter[i].reg = g->isa->item[given++];
    }
}

void gen_line(Gen *g, int line) {
    uint32_t at = (uint32_t)asm_size(&g->a);
    if (g->result.lines.n && vec_last(&g->result.lines).line == line) return;
    if (g->result.lines.n && vec_last(&g->result.lines).offset == at) g->result.lines.n--;
    if (g->result.lines.n && vec_last(&g->result.lines).line == line) return;
    vec_push(g->arena, &g->result.lines, ((CodeLine){at, line}));
}

void gen_emit(void *gen, const Micro *m) {
    Gen *g = gen;
    if (micro_writes(m) && g->region.held >> m->dst_reg & 1)
        bug("register %d is written in the loop that holds it", m->dst_reg);
    if (m->line) gen_line(g, m->line);
    if (m->kind != MI_ROW) {
        g->isa->emit(g, m);
        return;
    }
    gen_row_offset(g, m->ref);
    gen_move(g, gen_at(gen_row_item(g, m->slot)), GEN_A);
}

static void start_streams(Gen *g) {
    const Plan *p = g->p;
    for (int i = 0; i < p->streams.n; i++) {
        int b = p->streams.at[i].buffer;
        if (b < p->tree->nargs)
            g->isa->argument(g, g->stack.stream[i], b);
        else
            g->isa->temporary(g, g->stack.stream[i], p->offset[b]);
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

// Lays out the frame, makes the code.
static void make_function(Gen *g, Code *out) {
    Plan *p = g->p;
    int frame = 0;
    give_registers(g, &frame);
    g->stack.env_slot = frame;
    g->stack.status_slot = frame + 16;
    g->stack.save_slots = frame + 24;
    g->stack.cut_slots = frame + 24 + 8 * (p->nloops + 1);
    g->stack.chosen_slots = g->stack.cut_slots + 8 * 4;
    g->stack.bytes = g->stack.chosen_slots + 8 * MAX_CHOSEN;
    g->isa->start(g);
    gen_line(g, 0);
    g->isa->enter(g);
    start_streams(g);
    gen_nodes(g, &p->root, 1);
    gen_line(g, 0);
    g->isa->leave(g);
    gen_bodies(g);
    g->isa->finish(g, out);
    AsmError error = asm_finish(&g->a);
    if (error != ASM_OK && !g->result.declined) g->result.declined = asm_error_text(error);
}

// Does something compute addresses from data?
static bool looks_up(const PNode *n) {
    bool found = n->nhard > 0;
    for (int i = 0; i < n->nreads && !found; i++) found = n->read[i].inner;
    for (int i = 0; i < n->nchild && !found; i++) found = looks_up(n->child[i]);
    return found;
}

static Gen gen_new(Plan *p, const GenIsa *isa, void *user) {
    Gen g = {.arena = p->arena,
             .p = p,
             .m = p->machine,
             .isa = isa,
             .user = user,
             .result.no_vector = -1,
             .result.no_tile = -1};
    g.scratch = p->machine->vector_registers - isa->scratch;
    g.here.value = arena_new_n(p->arena, int64_t, p->nloops + 1);
    g.here.count_slot = arena_new_n(p->arena, int, p->nloops + 1);
    seg_init(&g.straight.segment, p->arena, p->tree->buffers.n);
    return g;
}

// Loops that lost lanes or threads, then those that load and store their sums, each once.
static void list_losses(const Plan *p, Code *out) {
    CodeLoss *all = arena_new_n(p->arena, CodeLoss, p->losses.n + p->leaves.n);
    for (int i = 0; i < p->losses.n; i++) all[out->nlosses++] = p->losses.at[i];
    for (int i = 0; i < p->leaves.n; i++) {
        const CodeLoss *s = &p->leaves.at[i]->form.spill;
        int k = p->losses.n;
        while (k < out->nlosses && all[k].line != s->line) k++;
        if (s->why && k == out->nlosses) all[out->nlosses++] = *s;
    }
    out->losses = all;
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

static Refusals *nothing_refused(Arena *arena, const Tree *tree) {
    Refusals *refused = arena_new(arena, Refusals);
    *refused = (Refusals){arena_new_n(arena, uint8_t, tree->nindices + 1),
                          arena_new_n(arena, uint8_t, count_leaves(tree) + 1)};
    return refused;
}

static void report_declined(DiagList *diags, const char *what) {
    diag_report(diags, (Range){0, 0}, DIAG_CODE_DECLINED, what);
}

Plan *gen_plan(Arena *arena, const Tree *tree, const Machine *machine, Plan *before,
               DiagList *diags) {
    Refusals *refused = before ? before->refused : nothing_refused(arena, tree);
    Plan *p = code_plan(arena, tree, machine, refused);
    for (int i = 0; i < tree->buffers.n && looks_up(p->root); i++)
        code_stream(p, i, NULL, 0, 0); // where data lies that addresses are computed from
    if (p->declined) report_declined(diags, p->declined);
    return p->declined ? NULL : p;
}

// False: the end of a vector loop, or a tile, proved impossible; the next plan does without.
static bool is_possible(const Gen *g) {
    const GenResult *r = &g->result;
    if (r->no_vector >= 0) g->p->refused->end[r->no_vector]++;
    if (r->no_tile >= 0) g->p->refused->tile[r->no_tile] = (uint8_t)r->why_no_tile;
    return r->no_vector < 0 && r->no_tile < 0;
}

static void describe(const Gen *g, Code *out) {
    out->bytes = g->a.start;
    out->size = asm_size(&g->a);
    out->scratch = g->p->scratch;
    out->thread_scratch = g->p->thread_scratch;
    out->parallel = g->result.bodies.n;
    out->shared = g->p->shared;
    out->nlines = g->result.lines.n;
    out->lines = g->result.lines.at;
    list_losses(g->p, out);
    memcpy(out->tricks, g->result.tricks, sizeof g->result.tricks);
    out->tricks[TRICK_COLLAPSE] = g->p->collapsed;
}

CodeAnswer gen_code(Plan *plan, const GenIsa *isa, void *user, Code *out, DiagList *diags) {
    Gen g = gen_new(plan, isa, user);
    asm_init(&g.a, arena_raw(g.arena, 16384), 16384);
    g.a.grow = grow;
    g.a.user = &g;
    *out = (Code){0};
    make_function(&g, out);
    if (!is_possible(&g)) return CODE_REPLAN;
    if (g.result.declined) {
        report_declined(diags, g.result.declined);
        return CODE_DECLINED;
    }
    describe(&g, out);
    return CODE_DONE;
}
