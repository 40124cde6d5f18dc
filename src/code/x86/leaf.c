// Segments of straight-line code, and leaves as micro-operations in them.
#include "code/x86/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"

void gen_open(Gen *g) {
    g->seg = &g->segment;
    seg_reset(g->seg);
    for (int i = 0; i < g->pins.n; i++) {
        Pin *p = &g->pins.at[i];
        seg_pin(g->seg, &p->ref, i, p->type, p->pending);
    }
    g->k1 = 0;
}

void gen_close(Gen *g) {
    Seg *s = g->seg;
    for (int i = 0; i < g->pins.n; i++) { // pins are the first locs, in order
        g->pins.at[i].pending = s->locs.at[i].pending;
        g->pins.at[i].written |= s->locs.at[i].dirty;
    }
    seg_close(s);
    if (s->micros.n) {
        MicroIsa isa = {.registers = g->scratch,
                        .folds = x86_folds,
                        .calls = x86_calls,
                        .emit = x86_micro,
                        .user = g};
        micro_assign(s, &isa, g->pins.n);
        if (s->spills > g->vector_slots) g->vector_slots = s->spills;
    }
    g->seg = NULL;
}

// ---- Leaves

static int64_t *snapshot(Gen *g) {
    return arena_copy(g->arena, g->value, (size_t)g->p->nloops * sizeof *g->value);
}

Ref gen_ref(Gen *g, const PNode *leaf, const Mem *m, int active) {
    Ref r = {.buffer = m->buffer,
             .stream = m->stream,
             .lane = leaf->width > 1 ? m->lane : 0,
             .type = m->type,
             .width = (uint8_t)leaf->width,
             .active = (uint8_t)active,
             .guard = -1};
    if (!m->off) {
        r.hard = m;
        r.env = snapshot(g);
    } else {
        r.disp = m->off->c;
        for (int i = 0; i < m->off->n; i++) r.disp += m->off->t[i].k * g->value[m->off->t[i].loop];
    }
    if (r.lane == 0) r.active = r.width; // one element for all lanes
    return r;
}

typedef struct LeafGen {
    Gen *g;
    PNode *n;
    int active; // lanes
} LeafGen;

static int value_of(LeafGen *l, const Expr *e, int guard);

static int logical_and(LeafGen *l, int a, int b) {
    if (a < 0) return b;
    return seg_op(l->g->seg, MI_OP, OP_AND, TYPE_BOOL, TYPE_BOOL, l->n->width, 2, (int[]){a, b});
}

static int logical_not(LeafGen *l, int a) {
    return seg_op(l->g->seg, MI_OP, OP_NOT, TYPE_BOOL, TYPE_BOOL, l->n->width, 1, &a);
}

static int read_of(LeafGen *l, const Expr *e, int guard) {
    const Mem *m = leaf_mem(l->n, e->access);
    Ref r = gen_ref(l->g, l->n, m, l->active);
    if (guard >= 0 && !m->safe) {
        r.guard = guard;
        r.active = (uint8_t)l->active;
    }
    return seg_load(l->g->seg, &r);
}

static int64_t index_lane_step(LeafGen *l, const Affine *a) {
    if (l->n->vloop < 0) return 0;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER &&
            l->g->p->loop_of_id[a->term[i].atom->index] == l->n->vloop)
            return a->term[i].coef;
    return 0;
}

static bool has_unsafe_read(const PNode *n, const Expr *e) {
    if (e->kind == EXPR_READ) return !leaf_mem(n, e->access)->safe;
    for (int i = 0; i < e->n; i++)
        if (has_unsafe_read(n, e->arg[i])) return true;
    return false;
}

static int op_of(LeafGen *l, const Expr *e, int guard) {
    Seg *s = l->g->seg;
    int args[4], w = l->n->width;
    if (e->op == OP_SELECT) {
        args[0] = value_of(l, e->arg[0], guard);
        int yes = guard, no = guard;
        if (has_unsafe_read(l->n, e->arg[1])) yes = logical_and(l, guard, args[0]);
        if (has_unsafe_read(l->n, e->arg[2])) no = logical_and(l, guard, logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], yes);
        args[2] = value_of(l, e->arg[2], no);
        return seg_op(s, MI_OP, OP_SELECT, e->type, e->arg[1]->type, w, 3, args);
    }
    if ((e->op == OP_AND || e->op == OP_OR) && has_unsafe_read(l->n, e->arg[1])) {
        args[0] = value_of(l, e->arg[0], guard);
        int inner = logical_and(l, guard, e->op == OP_AND ? args[0] : logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], inner);
        return seg_op(s, MI_OP, e->op, e->type, e->type, w, 2, args);
    }
    for (int i = 0; i < e->n; i++) args[i] = value_of(l, e->arg[i], guard);
    Type from = e->n ? e->arg[0]->type : e->type;
    if (e->op == OP_CAST) return seg_op(s, MI_CAST, 0, e->type, from, w, 1, args);
    if (e->op == OP_FMA)
        return seg_op(s, MI_FMA, 0, type_compute(e->type), type_compute(from), w, 3, args);
    return seg_op(s, MI_OP, e->op, e->type, from, w, e->n, args);
}

static int value_of(LeafGen *l, const Expr *e, int guard) {
    switch (e->kind) {
    case EXPR_CONST: return seg_const(l->g->seg, e->type, l->n->width, e->value);
    case EXPR_READ: return read_of(l, e, guard);
    case EXPR_OP: return op_of(l, e, guard);
    case EXPR_INDEX: {
        int i64 = seg_index(l->g->seg, TYPE_I64, l->n->width, e->index, snapshot(l->g),
                            index_lane_step(l, e->index));
        if (e->type == TYPE_I64) return i64;
        return seg_op(l->g->seg, MI_CAST, 0, e->type, TYPE_I64, l->n->width, 1, &i64);
    }
    }
    bug("expression kind %d", e->kind);
}

static const ExprOp reduce_op[] = {
    [REDUCE_ADD] = OP_ADD, [REDUCE_MUL] = OP_MUL, [REDUCE_MIN] = OP_MIN, [REDUCE_MAX] = OP_MAX};

// old op= value
static int combine(LeafGen *l, Reduce op, Type type, int old, const Expr *value) {
    Seg *s = l->g->seg;
    int w = l->n->width;
    bool fuse =
        op == REDUCE_ADD && value->kind == EXPR_OP && value->op == OP_MUL && type_is_float(type);
    if (fuse) {
        int args[3] = {value_of(l, value->arg[0], -1), value_of(l, value->arg[1], -1), old};
        return seg_op(s, MI_FMA, 0, type_compute(type), type_compute(type), w, 3, args);
    }
    int args[2] = {old, value_of(l, value, -1)};
    return seg_op(s, MI_OP, reduce_op[op], type, type, w, 2, args);
}

// A reduction along the vector loop: the loc holds partial results in its lanes until somebody
// asks.
static void reduce_lanes(LeafGen *l, Ref *r) {
    Seg *s = l->g->seg;
    const Leaf *leaf = l->n->leaf;
    Type type = l->n->write.type;
    int w = l->n->width;
    Loc *loc = seg_find(s, r);
    int old;
    if (loc && loc->pending == (int)leaf->op) {
        old = loc->val;
    } else {
        old = seg_load(s, r);
        old = seg_op(s, MI_LANES, leaf->op, type_compute(type), type_compute(type), w, 1, &old);
    }
    int val = combine(l, leaf->op, type, old, leaf->value);
    if (l->active < w) { // lanes beyond the tail keep what they had
        int mask = seg_op(s, MI_OP, OP_LT, TYPE_BOOL, TYPE_I32, w, 2,
                          (int[]){seg_index(s, TYPE_I32, w, NULL, NULL, 1),
                                  seg_const(s, TYPE_I32, w, (Value){.i = l->active})});
        val = seg_op(s, MI_OP, OP_SELECT, type, type, w, 3, (int[]){mask, val, old});
    }
    seg_store(s, r, val);
    loc = seg_find(s, r);
    loc->pending = (int8_t)leaf->op;
}

// Indices that addresses are computed from must be in memory.
static void flush_inner(Gen *g, const PNode *n) {
    for (int i = 0; i < n->nreads; i++)
        if (n->read[i].inner) seg_flush(g->seg, n->read[i].buffer);
}

void gen_leaf(Gen *g, PNode *n) {
    int active = n->width > 1 ? g->active : 1;
    LeafGen l = {g, n, active};
    const Leaf *f = n->leaf;
    flush_inner(g, n);
    g->seg->line = n->line;
    Ref r = gen_ref(g, n, &n->write, active);
    r.nontemporal = f->nontemporal;
    if (f->op != REDUCE_ASSIGN && n->width > 1 && r.lane == 0) {
        reduce_lanes(&l, &r);
        return;
    }
    int val;
    if (f->op == REDUCE_ASSIGN)
        val = value_of(&l, f->value, -1);
    else
        val = combine(&l, f->op, n->write.type, seg_load(g->seg, &r), f->value);
    Type to = n->write.type;
    if (to != type_compute(to)) // what is kept in a register is what memory would hold
        val = seg_op(g->seg, MI_CAST, 0, to, type_compute(to), n->width, 1, &val);
    seg_store(g->seg, &r, val);
}
