// Segments of straight-line code: opening them, and closing them by assigning registers to their
// micro-operations. The leaves in a segment are converted by leaf.c.
#include "code/gen/gen.h"

#include "base/bug.h"
#include "base/checked.h"

// Many segments stay empty: the work of opening one is done when its first leaf comes.
void gen_open(Gen *g) {
    g->seg = &g->straight.segment;
    g->straight.fresh = true;
}

void gen_begin(Gen *g) {
    if (!g->straight.fresh) return;
    g->straight.fresh = false;
    seg_reset(g->seg);
    g->straight.nrows = 0;
    for (int i = 0; i < g->region.pins.n; i++) {
        Pin *p = &g->region.pins.at[i];
        seg_pin(g->seg, &p->ref, i, p->type, p->pending, &p->parts);
    }
    g->isa->forget(g, false);
}

// The plan will be made again with this buffer in memory.
static void refuse_tile(Gen *g, int buffer) {
    for (int i = 0; i < g->p->leaves.n; i++) {
        if (g->p->leaves.at[i]->write.buffer != buffer || g->p->refused->tile[i]) continue;
        g->result.no_tile = i;
        g->result.why_no_tile = SPILL_SHARED;
        return;
    }
    bug("a tile that was refused");
}

// Registers in which elements stay from one iteration of the loop to the next, if this is its body.
static uint64_t carry_over(Gen *g, Seg *s, void (*emit)(void *gen, const Micro *m)) {
    if (!g->straight.top || !g->straight.body.whole || emit != gen_emit) return 0;
    MicroIsa isa = {.registers = g->scratch, .emit = gen_emit, .user = g};
    int n = micro_carry(s, &isa, g->p, &g->straight.body, g->region.pinned);
    uint64_t registers = (((uint64_t)1 << n) - 1) << g->region.pinned;
    g->region.pinned += n;
    g->result.tricks[TRICK_CARRY] += n;
    return registers;
}

// A loop begins with the segment of its body, after its loop-invariant operations.
static const bool *begin_body(Gen *g, Seg *s, MicroIsa isa) {
    if (!g->straight.top) return NULL;
    g->straight.body.replayed = isa.emit != gen_emit;
    isa.emit = gen_emit;
    const bool *left;
    g->region.pinned += micro_hoist(s, &isa, g->p, &g->straight.body, g->region.pinned, &left);
    g->region.held = s->held;
    gen_begin_loop(g);
    return left;
}

// At the end of an iteration the temporaries of the loop's content are dead.
void gen_forget_temporaries(Gen *g, const PNode *n) {
    const Plan *p = g->p;
    if (!g->seg || g->straight.fresh || !n->nchild) return;
    for (int b = p->tree->nargs; b < p->tree->buffers.n; b++) {
        if (p->alloc_depth[b] < n->child[0]->depth || p->first_leaf[b] < n->span.first ||
            p->last_leaf[b] >= n->span.last)
            continue;
        for (int i = g->seg->buffer[b].head; i >= 0; i = g->seg->locs.at[i].next)
            if (g->seg->locs.at[i].pin < 0) g->seg->locs.at[i].dirty = false;
    }
}

Item gen_row_item(const Gen *g, int row) { return g->stack.row_item[g->straight.row_place[row]]; }

// The first places are registers. A row has its own from the operation that computes it to its last
// use; such operations keep their order (micro_assign).
static void place_rows(Gen *g, const Seg *s) {
    int last[MAX_ROWS] = {0};
    bool busy[MAX_ROWS] = {false};
    for (int i = 0; i < s->micros.n && g->straight.nrows; i++) {
        const Ref *r = s->micros.at[i].ref;
        if (r && r->row >= 0) last[r->row] = i;
    }
    for (int i = 0; i < s->micros.n && g->straight.nrows; i++) {
        const Micro *m = &s->micros.at[i];
        if (!m->ref || m->ref->row < 0) continue;
        int row = m->ref->row, place = m->kind == MI_ROW ? 0 : g->straight.row_place[row];
        while (m->kind == MI_ROW && busy[place]) place++;
        g->straight.row_place[row] = place;
        busy[place] = last[row] > i;
    }
}

void gen_close(Gen *g) { gen_close_to(g, gen_emit); }

void gen_close_to(Gen *g, void (*emit)(void *gen, const Micro *m)) {
    Seg *s = g->seg;
    g->seg = NULL;
    if (g->straight.fresh) return;
    if (s->torn >= 0) refuse_tile(g, s->torn);
    for (int i = 0; i < g->region.pins.n; i++) { // pins are the first locs, in order
        const Loc *l = &s->locs.at[i];
        g->region.pins.at[i].pending = l->pending;
        g->region.pins.at[i].parts.live = l->parts && l->parts->live;
        if (g->region.pins.at[i].parts.live) g->region.pins.at[i].parts.op = l->parts->op;
        g->region.pins.at[i].written |= l->dirty;
    }
    seg_close(s);
    seg_drop_unused(s);
    uint64_t carried = carry_over(g, s, emit);
    g->result.tricks[TRICK_ROWS] += s->rows;
    g->result.tricks[TRICK_TRANSPOSE] += micro_transpose(s, g->p);
    g->result.tricks[TRICK_DEINTERLEAVE] += s->deinterleaved;
    place_rows(g, s);
    if (s->micros.n) {
        MicroIsa isa = {.registers = g->scratch,
                        .folds = g->isa->folds,
                        .ties = g->isa->ties,
                        .emit = emit,
                        .user = g};
        s->held = g->region.held;
        const bool *only = begin_body(g, s, isa);
        micro_assign(s, &isa, g->region.pinned, only);
        g->region.held |= carried;
        if (s->spills > g->result.vector_slots) g->result.vector_slots = s->spills;
    }
}
