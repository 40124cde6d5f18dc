// Accumulators of loops: one result, partial results in lanes, or several parts; changes from one
// form to another, and the places where code with the same form meets.
#include "code/gen/gen.h"

Lanes gen_lanes_now(const Gen *g) {
    Lanes l = {{0}, {0}};
    for (int i = 0; i < g->region.pins.n; i++) {
        l.pending[i] = (int8_t)g->region.pins.at[i].pending;
        l.split[i] = g->region.pins.at[i].parts.live;
    }
    return l;
}

// Does a leaf reduce into the pin, along its vector loop or in parts? -1: it does not touch it.
static int reduces_into(const PNode *leaf, const Pin *p) {
    int touches = -1;
    bool lanes = p->lanes && (leaf->simd.width == 1 || leaf->write.lane);
    if (leaf->write.buffer == p->buffer) touches = leaf->leaf->op != REDUCE_ASSIGN && !lanes;
    for (int r = 0; r < leaf->nreads && touches < 0; r++)
        if (leaf->read[r].buffer == p->buffer) touches = 0;
    return touches;
}

// The form of accumulators that a loop wants: partial results in lanes if it reduces into them, one
// result if it only reads them, unchanged otherwise.
Lanes gen_lanes_wanted(const Gen *g, const PNode *n) {
    Lanes l = gen_lanes_now(g);
    for (int i = 0; i < g->region.pins.n; i++) {
        const Pin *p = &g->region.pins.at[i];
        int how = -1;
        for (int k = n->span.first; k < n->span.last && how < 1; k++) {
            int one = reduces_into(g->p->leaves.at[k], p);
            how = one > how ? one : how;
        }
        if (how < 0) continue;
        if (p->lanes) l.pending[i] = how ? (int8_t)p->op : 0;
        l.split[i] = how && p->parts.n > 1;
    }
    return l;
}

// Between segments the registers behind the pinned ones are free.
static void pin_split(Gen *g, Pin *p) {
    for (int k = 1; k < p->parts.n; k++)
        gen_emit(g, &(Micro){.kind = MI_CONST,
                             .type = p->type,
                             .width = p->ref.width,
                             .dst_reg = (int8_t)(p->parts.pin + k - 1),
                             .value = reduce_identity(p->type, p->parts.op),
                             .fold = -1});
    p->parts.live = true;
}

static void pin_move(Gen *g, const Pin *p, MicroKind kind, int op, int dst, int src, int width) {
    gen_emit(g, &(Micro){.kind = kind,
                         .op = (uint8_t)op,
                         .type = p->type,
                         .from = p->type,
                         .width = (uint8_t)width,
                         .nargs = 1,
                         .arg_reg = {(int8_t)src},
                         .dst_reg = (int8_t)dst,
                         .fold = -1});
}

// dst <- x op y; three different registers.
static void emit_reduce(Gen *g, Type t, int op, int width, int dst, int x, int y) {
    gen_emit(g, &(Micro){.kind = MI_OP,
                         .op = (uint8_t)reduce_op[op],
                         .type = t,
                         .from = t,
                         .width = (uint8_t)width,
                         .nargs = 2,
                         .arg_reg = {(int8_t)x, (int8_t)y},
                         .dst_reg = (int8_t)dst,
                         .fold = -1});
}

static void pin_join(Gen *g, int i) {
    Pin *p = &g->region.pins.at[i];
    int reg[LIMIT_PARTS] = {i}, spare = g->region.pinned;
    for (int k = 1; k < p->parts.n; k++) reg[k] = p->parts.pin + k - 1;
    for (int n = p->parts.n, h; n > 1; n = h) {
        h = (n + 1) / 2;
        for (int k = 0; k + h < n; k++) {
            emit_reduce(g, p->ref.type, p->parts.op, p->ref.width, spare, reg[k], reg[k + h]);
            int was = reg[k];
            reg[k] = spare;
            spare = was;
        }
    }
    if (reg[0] != i) pin_move(g, p, MI_PIN, 0, i, reg[0], p->ref.width);
    p->parts.live = false;
}

// The register whose lane 0 then holds the result.
static int pin_fold(Gen *g, int i) {
    Pin *p = &g->region.pins.at[i];
    int at = i, up = g->region.pinned, to = g->region.pinned + 1;
    for (int w = p->ref.width / 2; w >= 1; w /= 2) {
        pin_move(g, p, MI_UPPER, 0, up, at, w);
        emit_reduce(g, p->ref.type, p->pending, w, to, at, up);
        at = to;
        to = at == i ? g->region.pinned + 1 : i;
    }
    p->pending = 0;
    return at;
}

void gen_pin_lanes(Gen *g, int i, int want, bool split) {
    Pin *p = &g->region.pins.at[i];
    if (p->parts.live && (!split || p->pending != want)) pin_join(g, i);
    if (p->pending && p->pending != want)
        pin_move(g, p, MI_BROADCAST, 0, i, pin_fold(g, i), p->ref.width);
    if (want && p->pending != want) {
        pin_move(g, p, MI_LANES, want, i, i, p->ref.width);
        p->pending = want;
    }
    if (split && !p->parts.live) pin_split(g, p);
}

void gen_lanes_restore(Gen *g, const Lanes *want) {
    for (int i = 0; i < g->region.pins.n; i++)
        gen_pin_lanes(g, i, want->pending[i], want->split[i]);
}

// Ends the straight-line code here: other code jumps to this place too, with the accumulators as in
// `want`.
void gen_boundary(Gen *g, const Lanes *want) {
    if (!g->region.open) return;
    gen_close(g);
    g->isa->forget(g, false);
    if (want) gen_lanes_restore(g, want);
    gen_open(g);
}
