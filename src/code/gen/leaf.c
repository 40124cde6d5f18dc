// Leaves as micro-operations in a segment of straight-line code (gen_segment.c).
#include "code/gen/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"
#include "code/micro/micro_math.h"

static int64_t *snapshot(Gen *g) {
    return arena_copy(g->arena, g->here.value, (size_t)g->p->nloops * sizeof *g->here.value);
}

Ref gen_ref(Gen *g, const PNode *leaf, const Mem *m, int active) {
    Ref r = {.mem = m,
             .buffer = m->buffer,
             .stream = m->stream,
             .lane = leaf->simd.width > 1 ? m->lane : 0,
             .type = m->type,
             .width = (uint8_t)leaf->simd.width,
             .active = (uint8_t)active,
             .row = -1,
             .guard = -1};
    const Lin *off = m->off ? m->off : m->part;
    r.disp = off->c;
    for (int i = 0; i < off->n; i++) r.disp += off->t[i].k * g->here.value[off->t[i].loop];
    if (!m->off) {
        r.env = snapshot(g);
    }
    if (r.lane == 0) r.active = r.width; // one element for all lanes
    return r;
}

typedef struct LeafGen {
    Gen *g;
    PNode *n;
    int active;    // lanes
    int guard;     // value that says in which of them it happens; -1: in all
    int64_t limit; // of elements in the subscript (Mem.limit); 0: none
} LeafGen;

static int value_of(LeafGen *l, const Expr *e, int guard);

static int logical_and(LeafGen *l, int a, int b) {
    if (a < 0) return b;
    return seg_op(l->g->seg, MI_OP, OP_AND, TYPE_BOOL, TYPE_BOOL, l->n->simd.width, 2,
                  (int[]){a, b});
}

static int logical_not(LeafGen *l, int a) {
    return seg_op(l->g->seg, MI_OP, OP_NOT, TYPE_BOOL, TYPE_BOOL, l->n->simd.width, 1, &a);
}

static bool same_row(const Gen *g, const Row *row, const Ref *r) {
    if (row->mem != r->mem) return false;
    for (int i = 0; i < g->p->nloops; i++)
        if (row->env[i] != r->env[i] && code_computes_with(g->p, r->mem, i)) return false;
    return true;
}

// The variable part of an address is computed once, as long as its operands are not overwritten.
static void find_row(LeafGen *l, Ref *r) {
    Gen *g = l->g;
    if (!ref_is_hard(r)) return;
    for (int i = 0; i < l->n->nreads; i++)
        if (l->n->read[i].inner && g->seg->buffer[l->n->read[i].buffer].written) return;
    for (int i = 0; i < g->straight.nrows && r->row < 0; i++)
        if (same_row(g, &g->straight.row[i], r)) r->row = i;
    if (r->row >= 0 || g->straight.nrows == MAX_ROWS) return;
    r->row = g->straight.nrows;
    g->straight.row[g->straight.nrows++] = (Row){r->mem, r->env};
    seg_row(g->seg, r);
    g->result.tricks[TRICK_ROW]++;
}

static int64_t index_lane_step(LeafGen *l, const Affine *a) {
    if (l->n->simd.vloop < 0) return 0;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom->kind == ATOM_ITER &&
            l->g->p->loop_of_id[a->term[i].atom->index] == l->n->simd.vloop)
            return a->term[i].coef;
    return 0;
}

static int subscript(LeafGen *l, const Affine *a, Type type);

// An element in a subscript, within the limit.
static int element_of(LeafGen *l, const Access *read, Type type) {
    Seg *s = l->g->seg;
    int w = l->n->simd.width;
    const Mem *m = leaf_mem(l->n, read);
    Ref r = gen_ref(l->g, l->n, m, l->active);
    int val = seg_load(s, &r);
    if (m->type != type) val = cast_expand(s, l->g->m, type, m->type, w, val);
    if (!l->limit || type_info[m->type].bits < 32 ||
        seg_is_within(s, val, l->active, -l->limit, l->limit))
        return val;
    int most[2] = {val, seg_const(s, type, w, (Value){.i = l->limit})};
    val = seg_op(s, MI_OP, OP_MIN, type, type, w, 2, most);
    int least[2] = {val, seg_const(s, type, w, (Value){.i = -l->limit})};
    return seg_op(s, MI_OP, OP_MAX, type, type, w, 2, least);
}

// The read, minimum, maximum, product, quotient or remainder in a subscript.
static int atom_of(LeafGen *l, const Atom *atom, Type type) {
    Gen *g = l->g;
    const Plan *p = g->p;
    int w = l->n->simd.width;
    if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD) {
        int64_t min = INT64_MIN, max = INT64_MAX;
        affine_bounds(atom->a, p->least, p->most, &min, &max);
        bool small = min > -INDEX_SMALL && max < INDEX_SMALL;
        return index_expand(g->seg, g->m, atom->kind == ATOM_MOD ? OP_MOD : OP_DIV, type, w,
                            subscript(l, atom->a, type), atom->b->constant, small);
    }
    if (atom->kind == ATOM_READ) return element_of(l, atom->read, type);
    int sides[2] = {subscript(l, atom->a, type), subscript(l, atom->b, type)};
    ExprOp op = atom->kind == ATOM_PROD ? OP_MUL : atom->kind == ATOM_MIN ? OP_MIN : OP_MAX;
    return seg_op(g->seg, MI_OP, op, type, type, w, 2, sides);
}

// The value of a subscript in lanes: its linear part, and the rest (see lane_index).
static int subscript(LeafGen *l, const Affine *a, Type type) {
    Gen *g = l->g;
    Exprs *x = g->p->tree->exprs;
    const Affine *rest = a;
    int sum = -1, w = l->n->simd.width;
    for (int i = 0; i < a->n; i++) {
        const Term *t = &a->term[i];
        if (t->atom->kind == ATOM_ITER) continue;
        int val = atom_of(l, t->atom, type);
        if (t->coef != 1) {
            int args[2] = {val, seg_const(g->seg, type, w, (Value){.i = t->coef})};
            val = seg_op(g->seg, MI_OP, OP_MUL, type, type, w, 2, args);
        }
        sum = sum < 0 ? val : seg_op(g->seg, MI_OP, OP_ADD, type, type, w, 2, (int[]){sum, val});
        rest = affine_sub(x, rest, affine_make(x, 0, t, 1));
    }
    if (sum >= 0 && affine_is(rest, 0)) return sum;
    int linear = affine_is_const(rest)
                     ? seg_const(g->seg, type, w, (Value){.i = rest->constant})
                     : seg_index(g->seg, type, w, rest, snapshot(g), index_lane_step(l, rest));
    if (sum < 0) return linear;
    return seg_op(g->seg, MI_OP, OP_ADD, type, type, w, 2, (int[]){sum, linear});
}

// All elements of the buffer lie together.
static bool is_dense(const Buffer *b) {
    int64_t span = 1, count = 1;
    for (int d = 0; d < b->rank; d++) {
        if (b->stride[d] < 0 || !checked_fma(b->size[d] - 1, b->stride[d], &span) ||
            !checked_mul(count, b->size[d], &count))
            return false;
    }
    return span == count;
}

// The last place, in elements, from which 4 bytes can be read that lie among those to be gathered,
// or between them; -1: there are none, or not all that lies between belongs to the buffer.
static int64_t last_dword(const Buffer *b, const Mem *m) {
    int64_t last = 0;
    if (!is_dense(b)) return -1;
    for (int d = 0; d < m->access->rank; d++)
        if (m->computed >> d & 1) last += (b->size[d] - 1) * b->stride[d];
    last -= 4 / type_info[m->type].bytes - 1;
    return max_i64(last, -1);
}

// Lanes whose places come from data: indices in lanes, checked together.
static int gather_of(LeafGen *l, const Mem *m) {
    Gen *g = l->g;
    Seg *s = g->seg;
    const Buffer *b = &g->p->tree->buffers.at[m->buffer];
    int distance = -1, w = l->n->simd.width;
    for (int d = 0; d < m->access->rank; d++) {
        if (!(m->computed >> d & 1)) continue;
        l->limit = m->limit;
        int at = subscript(l, m->access->sub[d], m->index);
        if (!m->unchecked) seg_check(s, at, l->active, b->size[d]);
        if (b->stride[d] != 1) {
            int args[2] = {at, seg_const(s, m->index, w, (Value){.i = b->stride[d]})};
            at = seg_op(s, MI_OP, OP_MUL, m->index, m->index, w, 2, args);
        }
        if (distance >= 0)
            at = seg_op(s, MI_OP, OP_ADD, m->index, m->index, w, 2, (int[]){distance, at});
        distance = at;
    }
    int64_t beside = lin_coef(m->part, l->n->simd.vloop) / type_info[m->type].bytes;
    if (beside) {
        int args[2] = {distance, seg_index(s, m->index, w, NULL, NULL, beside)};
        distance = seg_op(s, MI_OP, OP_ADD, m->index, m->index, w, 2, args);
    }
    Ref r = gen_ref(g, l->n, m, l->active);
    r.active = (uint8_t)l->active;
    g->result.tricks[TRICK_GATHER]++;
    return seg_gather(s, &r, distance, last_dword(b, m));
}

// Groups of lanes share elements of neighbouring groups of memory, from whose beginning the place
// in the group is known: no machine loop moves inside one.
bool gen_has_groups(const Gen *g, const Mem *m) {
    const Buffer *b = &g->p->tree->buffers.at[m->buffer];
    int64_t size = type_info[m->type].bytes, group = m->repeat * size, bytes = size;
    if (size < 4 || m->repeat > 4 || m->lane != size || !is_dense(b)) return false;
    for (int i = 0; i < m->off->n; i++)
        if (g->p->loop[m->off->t[i].loop]->form.real &&
            !g->p->loop[m->off->t[i].loop]->simd.vector && m->off->t[i].k % group)
            return false;
    for (int d = 0; d < b->rank; d++) bytes *= b->size[d];
    return bytes % group == 0;
}

// Neighbouring lanes share elements.
static int repeat_of(LeafGen *l, const Mem *m) {
    Gen *g = l->g;
    Seg *s = g->seg;
    Type type = type_compute(m->type);
    int n = m->repeat, w = l->n->simd.width;
    int64_t size = type_info[m->type].bytes, apart = m->lane * n;
    Ref r = gen_ref(g, l->n, m, l->active);
    if (gen_has_groups(g, m)) {
        int64_t at = floor_mod(r.disp, apart) / size;
        r.disp -= at * size;
        int all = seg_load(s, &r);
        return seg_op(s, MI_GROUP, n * 16 + (int)at, type, type, w, 1, &all);
    }
    r.lane = 0;
    r.active = r.width;
    int last = (int)ceil_div(l->active, n) - 1;
    r.disp += last * apart;
    int val = seg_load(s, &r);
    for (int i = last; i > 0; i--) {
        r.disp -= apart;
        val = seg_op(s, MI_HEAD, i * n, type, type, w, 2, (int[]){val, seg_load(s, &r)});
    }
    return val;
}

// Of a window: element place[i] where the guard of lane i holds, no other.
static int window_guard(LeafGen *l, const int32_t *place, int32_t start, int guard) {
    Seg *s = l->g->seg;
    int w = l->n->simd.width, args[2] = {guard, seg_const(s, TYPE_BOOL, w, (Value){.i = 0})};
    Permutation p;
    memset(&p, w, sizeof p);
    for (int i = 0; i < l->active; i++)
        if (place[i] >= start && place[i] < start + w) p.from[place[i] - start] = (uint8_t)i;
    return seg_permute(s, l->g->p, TYPE_BOOL, w, 2, args, &p);
}

// Whole vectors in which the lanes' places lie, of which lanes pick their own. `whole` has lanes
// side by side; guard -1: none.
static int picked_of(LeafGen *l, const Ref *whole, const int32_t *place, int guard) {
    Gen *g = l->g;
    int w = l->n->simd.width, size = type_info[whole->type].bytes, all = -1;
    int32_t start[MAX_WINDOWS + 1];
    int n = plan_windows(place, l->active, w, start);
    for (int at = 0; at < n; at++) {
        Ref r = *whole;
        Permutation p = {{0}};
        r.disp += (int64_t)start[at] * size;
        r.active = 1;
        for (int i = 0; i < l->active; i++) {
            int64_t from = place[i] - start[at], before = place[i] - start[0];
            bool here = from >= 0 && from < w;
            if (here) r.active = (uint8_t)max_i64(r.active, from + 1);
            p.from[i] = (uint8_t)(here      ? (at ? w : 0) + from
                                  : at == 1 ? (before < w ? before : 0)
                                            : i);
        }
        if (guard >= 0) r.guard = window_guard(l, place, start[at], guard);
        int args[2] = {all, seg_load(g->seg, &r)};
        Type type = type_compute(whole->type);
        if (n == 1)
            all = seg_permute(g->seg, g->p, type, w, 1, &args[1], &p);
        else
            all = at ? seg_permute(g->seg, g->p, type, w, 2, args, &p) : args[1];
    }
    g->result.tricks[TRICK_PERMUTE]++;
    return all;
}

// Guarded lanes with a stride of a few elements: cheaper than one by one.
static bool is_near(const LeafGen *l, const Ref *r) {
    int size = type_info[r->type].bytes;
    return size >= 4 && r->lane > size && r->lane <= LIMIT_NEAR * size && r->lane % size == 0 &&
           l->active > 2 && l->n->simd.width * size >= 32 && !ref_is_hard(r);
}

static int guarded_apart(LeafGen *l, Ref r, int guard) {
    int size = type_info[r.type].bytes, step = (int)(r.lane / size);
    int32_t place[LIMIT_LANES];
    for (int i = 0; i < l->active; i++) place[i] = i * step;
    r.lane = size;
    return picked_of(l, &r, place, guard);
}

static int piece_of(LeafGen *l, const Mem *m) {
    Ref r = gen_ref(l->g, l->n, m, l->active);
    find_row(l, &r);
    if (!m->place) return seg_load(l->g->seg, &r);
    r.lane = type_info[m->type].bytes;
    return picked_of(l, &r, m->place, -1);
}

// Whether all lanes read this piece.
static bool piece_holds(const LeafGen *l, const Mem *piece) {
    for (int i = 0; piece && i < piece->nconds; i++)
        if (gen_lanes_truth(l->g, piece->cond[i], l->n->simd.vloop, l->n->simd.width) != 1)
            return false;
    return piece != NULL;
}

// Whether the lanes can be read also where the guard does not hold: some subscript may be wrong
// there, but the place is one of the buffer's, in the row before or behind, say.
static bool stays_in_buffer(const LeafGen *l, const Mem *m) {
    const Buffer *b = &l->g->p->tree->buffers.at[m->buffer];
    int64_t least = 0, most = 0, count = 1;
    if (!m->sub || !m->off || !is_dense(b)) return false;
    for (int d = 0; d < b->rank; d++) {
        int64_t min, max, last = l->n->simd.width > 1 ? l->active - 1 : 0;
        int64_t lanes = last ? lin_coef(m->sub[d], l->n->simd.vloop) * last : 0;
        gen_lin_limits(l->g, m->sub[d], &min, &max);
        *(lanes < 0 ? &min : &max) += lanes;
        if (!checked_fma(min, b->stride[d], &least) || !checked_fma(max, b->stride[d], &most))
            return false;
        count *= b->size[d];
    }
    return least >= 0 && most < count;
}

static int read_of(LeafGen *l, const Expr *e, int guard) {
    const Mem *m = leaf_mem(l->n, e->access);
    if (m->gathers) return piece_holds(l, m->piece) ? piece_of(l, m->piece) : gather_of(l, m);
    if (m->repeat) return repeat_of(l, m);
    Ref r = gen_ref(l->g, l->n, m, l->active);
    if (guard >= 0 && !m->safe && !stays_in_buffer(l, m)) {
        if (is_near(l, &r)) return guarded_apart(l, r, guard);
        r.guard = guard;
        r.active = (uint8_t)l->active;
    } else {
        find_row(l, &r);
    }
    return seg_load(l->g->seg, &r);
}

// A read in a branch that must not be done where the condition does not hold.
static bool has_unsafe_read(const LeafGen *l, const Expr *e) {
    const Mem *m = e->kind == EXPR_READ ? leaf_mem(l->n, e->access) : NULL;
    if (e->kind == EXPR_INDEX) return e->index->has_read;
    if (m) return !m->safe && !m->inside && !stays_in_buffer(l, m);
    for (int i = 0; i < e->n; i++)
        if (has_unsafe_read(l, e->arg[i])) return true;
    return false;
}

// The value of a constant; NULL: it is none.
static const Value *known_value(const Seg *s, int val) {
    int def = s->vals.at[val].def;
    return def < 0 || s->micros.at[def].kind != MI_CONST ? NULL : &s->micros.at[def].value;
}

// Of a bool: 1 or 0 where it is a constant, else -1.
static int known_truth(const Seg *s, int val) {
    const Value *v = known_value(s, val);
    return v ? v->i != 0 : -1;
}

// A shift of whole lanes, to the left, or to the right without a sign.
static bool shifts_in_zeros(ExprOp op, Type type) {
    return type_info[type].bits >= 32 &&
           (op == OP_SHL || (op == OP_SHR && type_info[type].class == CLASS_UINT));
}

// Is the value an index that is always a number of bits to shift by?
static bool is_shift_count(const Plan *p, const Expr *e, int bits) {
    int64_t min, max;
    if (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0];
    return e->kind == EXPR_INDEX && affine_bounds(e->index, p->least, p->most, &min, &max) &&
           min >= 0 && max < bits;
}

// The number of bits that a shift moves: modulo the width of the type.
static int shift_count(LeafGen *l, const Expr *e, int count) {
    Seg *s = l->g->seg;
    Type type = e->type;
    int w = l->n->simd.width, bits = type_info[type].bits;
    if (is_shift_count(l->g->p, e->arg[1], bits)) return count;
    if (bits < 32) type = TYPE_I32; // as which they are held
    int args[2] = {count, seg_const(s, type, w, (Value){.i = bits - 1})};
    return seg_op(s, MI_OP, OP_BITAND, type, type, w, 2, args);
}

// A choice by a comparison of floats needs no bool in lanes; -1: it is another one.
static int choice_of(LeafGen *l, const Expr *e, int guard) {
    const Expr *c = e->arg[0];
    if (c->kind != EXPR_OP || c->op < OP_LT || c->op > OP_NE || code_condition(l->g->p, c))
        return -1;
    Type from = c->arg[0]->type;
    if ((from != TYPE_F32 && from != TYPE_F64) || e->type == TYPE_BOOL) return -1;
    if (gen_lane_size(e->type) != gen_lane_size(from)) return -1;
    if (has_unsafe_read(l, e->arg[1]) || has_unsafe_read(l, e->arg[2])) return -1;
    int args[4] = {value_of(l, c->arg[0], guard), value_of(l, c->arg[1], guard)};
    for (int i = 0; i < 2; i++) args[2 + i] = value_of(l, e->arg[1 + i], guard);
    return seg_op(l->g->seg, MI_CHOOSE, c->op, e->type, from, l->n->simd.width, 4, args);
}

// The value of an index. The part of counters and lanes is the same in all copies of unrolled
// loops, and often 0; each copy adds a constant.
static int index_of(LeafGen *l, const Affine *a, Type type, int guard) {
    Gen *g = l->g;
    int w = l->n->simd.width;
    const Lin *lin = code_index(g->p, a);
    if (!lin) {
        bool where = a->has_read && guard >= 0;
        int i64 = where ? seg_index_where(g->seg, w, a, snapshot(g), guard, l->active)
                        : seg_index(g->seg, TYPE_I64, w, a, snapshot(g), index_lane_step(l, a));
        return cast_expand(g->seg, g->m, type, TYPE_I64, w, i64);
    }
    int64_t c = lin->c, step = w > 1 ? lin_coef(lin, l->n->simd.vloop) : 0;
    for (int i = 0; i < lin->n; i++) c += lin->t[i].k * g->here.value[lin->t[i].loop];
    const Lin *counters = gen_counters_of(g, lin);
    if (!counters && !step && type_is_integer(type))
        return seg_const(g->seg, type, w, type_round(type, (Value){.i = c}));
    int args[2] = {0, seg_const(g->seg, TYPE_I32, w, (Value){.i = c})};
    if (counters || step) args[0] = seg_counters(g->seg, w, counters, step);
    int sum = !counters && !step ? args[1]
              : c                ? seg_op(g->seg, MI_OP, OP_ADD, TYPE_I32, TYPE_I32, w, 2, args)
                                 : args[0];
    return cast_expand(g->seg, g->m, type, TYPE_I32, w, sum);
}

static bool is_division(ExprOp op) {
    return op == OP_DIV || op == OP_SQRT || op == OP_RECIP || op == OP_FDIVIDE;
}

static int op_of(LeafGen *l, const Expr *e, int guard) {
    Seg *s = l->g->seg;
    int args[4], w = l->n->simd.width;
    const Lin *condition = code_condition(l->g->p, e);
    if (condition && w > 1) return gen_lanes_hold(l->g, condition, l->n->simd.vloop, w);
    int truth = condition ? gen_lanes_truth(l->g, condition, -1, 1) : -1;
    if (truth >= 0) return seg_const(s, TYPE_BOOL, 1, (Value){.i = truth});
    int choice = e->op == OP_SELECT ? choice_of(l, e, guard) : -1;
    if (choice >= 0) return choice;
    if (e->op == OP_SELECT) {
        args[0] = value_of(l, e->arg[0], guard);
        int yes = guard, no = guard, known = known_truth(s, args[0]);
        if (known >= 0) return value_of(l, e->arg[known ? 1 : 2], guard);
        if (has_unsafe_read(l, e->arg[1])) yes = logical_and(l, guard, args[0]);
        if (has_unsafe_read(l, e->arg[2])) no = logical_and(l, guard, logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], yes);
        args[2] = value_of(l, e->arg[2], no);
        return seg_op(s, MI_OP, OP_SELECT, e->type, e->arg[1]->type, w, 3, args);
    }
    if (e->op == OP_AND || e->op == OP_OR) {
        args[0] = value_of(l, e->arg[0], guard);
        int known = known_truth(s, args[0]);
        if (known >= 0) return known == (e->op == OP_AND) ? value_of(l, e->arg[1], guard) : args[0];
        args[1] = has_unsafe_read(l, e->arg[1]) ? -1 : value_of(l, e->arg[1], guard);
        known = args[1] < 0 ? -1 : known_truth(s, args[1]);
        if (known >= 0) return known == (e->op == OP_AND) ? args[0] : args[1];
        if (args[1] >= 0) return seg_op(s, MI_OP, e->op, e->type, e->type, w, 2, args);
        int inner = logical_and(l, guard, e->op == OP_AND ? args[0] : logical_not(l, args[0]));
        args[1] = value_of(l, e->arg[1], inner);
        return seg_op(s, MI_OP, e->op, e->type, e->type, w, 2, args);
    }
    if (e->op == OP_CAST && e->arg[0]->kind == EXPR_INDEX)
        return index_of(l, e->arg[0]->index, e->type, guard);
    for (int i = 0; i < e->n; i++) args[i] = value_of(l, e->arg[i], guard);
    Type from = e->n ? e->arg[0]->type : e->type;
    if (e->op == OP_CAST) return cast_expand(s, l->g->m, e->type, from, w, args[0]);
    if (e->op == OP_FMA)
        return seg_op(s, MI_FMA, 0, type_compute(e->type), type_compute(from), w, 3, args);
    if (shifts_in_zeros(e->op, from) && known_value(s, args[1])) {
        int by = (int)(known_value(s, args[1])->i & (type_info[from].bits - 1));
        int idiom = e->op == OP_SHR ? idiom_shift(s, l->g->m, from, w, args[0], by) : -1;
        return idiom >= 0 ? idiom
                          : seg_shift(s, e->op == OP_SHL ? MOP_SHL : MOP_SHR, from, w, args[0], by);
    }
    if (integer_has(e->op, from)) return integer_expand(s, l->g->m, e->op, from, w, args);
    if (math_has(e->op, from)) return math_expand(s, l->g->m, e->op, from, w, args);
    if (is_division(e->op) && e->type == from && (from == TYPE_F32 || from == TYPE_F64))
        return seg_divide(s, e->op, from, w, l->active, e->n, args);
    if (e->op == OP_SHL || e->op == OP_SHR) args[1] = shift_count(l, e, args[1]);
    return seg_op(s, MI_OP, e->op, e->type, from, w, e->n, args);
}

static int value_of(LeafGen *l, const Expr *e, int guard) {
    switch (e->kind) {
    case EXPR_CONST: return seg_const(l->g->seg, e->type, l->n->simd.width, e->value);
    case EXPR_READ: return read_of(l, e, guard);
    case EXPR_OP: return op_of(l, e, guard);
    case EXPR_INDEX: return index_of(l, e->index, e->type, guard);
    }
    bug("expression kind %d", e->kind);
}

// The term of a reduction: x, or the product of x and y, rounded together with the sum.
typedef struct Summand {
    int x, y; // y -1: no product
} Summand;

// Words of narrow integers, the unsigned ones first.
static Summand dots_of(LeafGen *l, const Expr *product) {
    int swap = l->n->dot.swapped;
    int x = read_of(l, product->arg[swap]->arg[0], l->guard);
    l->g->result.tricks[TRICK_DOTS]++;
    return (Summand){x, read_of(l, product->arg[!swap]->arg[0], l->guard)};
}

static Summand term_of(LeafGen *l) {
    const Expr *value = l->n->leaf->value;
    if (l->n->dot.n) return dots_of(l, value);
    bool fuse = l->n->leaf->op == REDUCE_ADD && value->kind == EXPR_OP && value->op == OP_MUL &&
                type_is_float(l->n->write.type);
    if (!fuse) return (Summand){value_of(l, value, l->guard), -1};
    int x = value_of(l, value->arg[0], l->guard);
    return (Summand){x, value_of(l, value->arg[1], l->guard)};
}

// Where the mask is off, a reduction keeps its value.
static int only_where(LeafGen *l, int mask, int val, int old) {
    Seg *s = l->g->seg;
    int w = l->n->simd.width;
    Type type = type_compute(l->n->write.type);
    if (mask < 0) return val;
    if (old < 0) old = seg_const(s, type, w, reduce_identity(type, l->n->leaf->op));
    return seg_op(s, MI_OP, OP_SELECT, type, type, w, 3, (int[]){mask, val, old});
}

// The constant that changes nothing.
static bool is_identity(const LeafGen *l, int val) {
    const Seg *s = l->g->seg;
    const Micro *def =
        val < 0 || s->vals.at[val].def < 0 ? NULL : &s->micros.at[s->vals.at[val].def];
    Type type = type_compute(l->n->write.type);
    return def && def->kind == MI_CONST && def->value.i == reduce_identity(type, l->n->leaf->op).i;
}

// old op= term; old -1: the term itself.
static int combine(LeafGen *l, int old, Summand t) {
    Seg *s = l->g->seg;
    int w = l->n->simd.width;
    Type type = l->n->write.type, compute = type_compute(type);
    if (l->n->dot.n && old < 0) old = seg_const(s, type, w, (Value){.i = 0});
    if (is_identity(l, old) && !l->n->dot.n) old = -1;
    if (t.y >= 0 && old >= 0)
        return seg_op(s, MI_FMA, l->n->dot.n, compute, compute, w, 3, (int[]){t.x, t.y, old});
    if (t.y >= 0) return seg_op(s, MI_OP, OP_MUL, compute, compute, w, 2, (int[]){t.x, t.y});
    if (old < 0) return t.x;
    return seg_op(s, MI_OP, reduce_op[l->n->leaf->op], type, type, w, 2, (int[]){old, t.x});
}

// The same in lanes of the mask alone; -1: in all. A masked sum is a multiplication by 1 and an
// addition, so that it is one operation like a masked product.
static int combine_where(LeafGen *l, int mask, int old, Summand t) {
    Type type = type_compute(l->n->write.type);
    bool sums = t.y >= 0 || (l->n->leaf->op == REDUCE_ADD && type_is_float(type));
    if (mask < 0 || !sums || old < 0 || l->n->dot.n || !l->g->m->has_mask || l->n->simd.width == 1)
        return only_where(l, mask, combine(l, old, t), old);
    if (t.y < 0) t.y = seg_const(l->g->seg, type, l->n->simd.width, (Value){.f = 1});
    return seg_op(l->g->seg, MI_FMA, 0, type, type, l->n->simd.width, 4,
                  (int[]){t.x, t.y, old, mask});
}

// Lanes in front of the tail's end.
static int active_lanes(LeafGen *l) {
    Seg *s = l->g->seg;
    int w = l->n->simd.width;
    return seg_op(s, MI_OP, OP_LT, TYPE_BOOL, TYPE_I32, w, 2,
                  (int[]){seg_index(s, TYPE_I32, w, NULL, NULL, 1),
                          seg_const(s, TYPE_I32, w, (Value){.i = l->active})});
}

// Where all conditions of the guards around a leaf hold.
static int guard_of(LeafGen *l) {
    int guard = -1;
    for (int i = 0; i < l->g->here.lane_conds.n; i++) {
        const Lin *cond = l->g->here.lane_conds.at[i];
        guard =
            logical_and(l, guard, gen_lanes_hold(l->g, cond, l->n->simd.vloop, l->n->simd.width));
    }
    return guard;
}

// Does the reduction go on in the lanes (as many, where they are partial results) of the last one?
static bool goes_on(const LeafGen *l, const Loc *loc, int pending) {
    return loc->pending == pending &&
           (!pending || l->g->seg->vals.at[loc->val].width == l->n->simd.width);
}

// The value before a reduction: the content of its element, in lanes if lanes are reduced.
static int first_value(LeafGen *l, const Ref *r, int pending) {
    Seg *s = l->g->seg;
    Loc *loc = seg_find(s, r);
    if (loc && pending && goes_on(l, loc, pending)) return loc->val;
    Type type = type_compute(l->n->write.type);
    if (loc && pending && loc->begin && !loc->pending) // comes in at the end
        return seg_const(s, type, l->n->simd.width, reduce_identity(type, pending));
    int old = seg_load(s, r);
    if (!pending) return old;
    const Micro *def = s->vals.at[old].def < 0 ? NULL : &s->micros.at[s->vals.at[old].def];
    bool zero = pending == REDUCE_ADD && def && def->value.f == 0 && type_is_float(type);
    if (def && def->kind == MI_CONST && (zero || def->value.i == reduce_identity(type, pending).i))
        return seg_const(s, type, l->n->simd.width, def->value);
    int rest = seg_const(s, type, l->n->simd.width, reduce_identity(type, pending));
    return seg_op(s, MI_HEAD, 1, type, type, l->n->simd.width, 2, (int[]){rest, old});
}

// A reduction along the vector loop holds partial results in its lanes until its value is needed; a
// long one may also be split over several accumulators that alternate.
static void reduce(LeafGen *l, const Ref *r) {
    Seg *s = l->g->seg;
    int op = l->n->leaf->op, w = l->n->simd.width, part = 0, old = -1;
    int pending = w > 1 && r->lane == 0 ? op : 0;
    Summand t = term_of(l);
    Loc *loc = seg_find(s, r);
    if (loc && loc->parts && loc->parts->live &&
        (loc->parts->op != op || !goes_on(l, loc, pending)))
        seg_load(s, r); // another reduction: this one begins with its result
    if (loc && loc->begin && !pending) seg_load(s, r);
    int begin = loc && loc->begin && !loc->pending ? loc->begin : 0;
    if (l->n->form.split > 1 && loc && goes_on(l, loc, pending))
        part = seg_next_part(s, loc, op, l->n->form.split);
    if (part)
        old = loc->parts->val[part], l->g->result.tricks[TRICK_SPLIT]++;
    else if (loc && loc->parts && loc->parts->live)
        old = loc->val;
    else
        old = first_value(l, r, pending);
    int mask = l->guard;
    if (pending && l->active < w) mask = logical_and(l, mask, active_lanes(l));
    int val = combine_where(l, mask, old, t);
    Type to = l->n->write.type;
    if (to != type_compute(to)) // a register holds the value that memory would hold
        val = seg_op(s, MI_CAST, 0, to, type_compute(to), w, 1, &val);
    if (!loc || loc->pending != pending) {
        seg_store(s, r, val);
        loc = seg_find(s, r);
        if (pending) loc->pending = (int8_t)pending;
        if (pending) loc->begin = (uint8_t)begin;
        if (loc && l->n->form.split > 1)
            seg_next_part(s, loc, op, l->n->form.split); // the next accumulator
    } else {
        seg_update(s, r, part, val);
    }
}

// Indices that addresses are computed from must be in memory.
static void flush_inner(Gen *g, const PNode *n) {
    for (int i = 0; i < n->nreads; i++)
        if (n->read[i].inner) seg_flush(g->seg, n->read[i].buffer);
}

static void prefetch(LeafGen *l, const Mem *m, int level) {
    if (!m->fetch) return;
    Ref r = gen_ref(l->g, l->n, m->next, l->active);
    bool apart = r.lane && r.lane != type_info[r.type].bytes;
    int rows = m->ahead.lines ? m->ahead.rows : apart ? r.active : 1;
    int lines = m->ahead.lines ? m->ahead.lines : 1;
    int64_t row = m->ahead.lines ? m->ahead.stride : r.lane, begin = r.disp;
    for (int i = 0; i < rows * lines; i++) {
        r.disp = begin + i / lines * row + i % lines * 64;
        l->g->result.tricks[TRICK_PREFETCH] += seg_prefetch(l->g->seg, &r, level);
    }
}

// Elements of the tile are prefetched in front of the region.
static bool is_pinned(const Gen *g, const Mem *m) {
    for (int i = 0; i < g->region.pins.n; i++)
        if (g->region.pins.at[i].buffer == m->buffer) return true;
    return false;
}

void gen_deferred(Gen *g, const PNode *guard) {
    gen_begin(g);
    for (int i = 0; i < guard->nchild; i++) {
        const PNode *n = guard->child[i];
        Ref r = gen_ref(g, n, &n->write, 1);
        g->seg->line = n->line;
        seg_begin(g->seg, &r, (int)guard->flag, n->leaf->value->value);
    }
}

// Whether lanes without guard stay unwritten, instead of being written with their old values. Old
// values that are known are written, because a later load may need the whole vector.
static bool is_masked(const LeafGen *l, const Ref *r) {
    if (r->lane != type_info[r->type].bytes || ref_is_hard(r)) return false;
    return plan_is_parallel(l->g->p) || !l->n->write.inside || !seg_find(l->g->seg, r);
}

void gen_leaf(Gen *g, PNode *n) {
    gen_begin(g);
    int active = n->simd.width > 1 ? g->here.active : 1;
    LeafGen l = {.g = g, .n = n, .active = active, .guard = -1};
    const Leaf *f = n->leaf;
    flush_inner(g, n);
    g->seg->line = n->line;
    l.guard = guard_of(&l);
    if (n->write.ahead.lines || !is_pinned(g, &n->write)) prefetch(&l, &n->write, FETCH_TO_WRITE);
    for (int i = 0; i < n->nreads; i++) prefetch(&l, &n->read[i], n->read[i].fetch);
    Ref r = gen_ref(g, n, &n->write, active);
    r.nontemporal = f->nontemporal;
    find_row(&l, &r);
    if (f->op != REDUCE_ASSIGN) {
        reduce(&l, &r);
        return;
    }
    int val = value_of(&l, f->value, l.guard);
    Type to = n->write.type;
    if (l.guard >= 0 && is_masked(&l, &r))
        r.guard = l.guard;
    else if (l.guard >= 0)
        val = only_where(&l, l.guard, val, seg_load(g->seg, &r));
    if (to != type_compute(to)) // a register holds the value that memory would hold
        val = seg_op(g->seg, MI_CAST, 0, to, type_compute(to), n->simd.width, 1, &val);
    seg_store(g->seg, &r, val);
}
