// Plan, step 3: the loops marked `vector` that run in lanes, and their number of lanes.
//
// A loop runs in lanes if one vector instruction performs every access inside (contiguous,
// broadcast, or strided in a way that the ISA can gather); otherwise it runs as a serial loop and
// the report says why. Temporaries that live inside the loop have an element for every lane.
#include "code/plan/plan.h"

#include "base/checked.h"

static int widest(Plan *p, const Expr *e) {
    int w = lane_bytes(e->type);
    if (e->kind == EXPR_INDEX || code_condition(p, e)) return w;
    bool index = e->kind == EXPR_OP && e->op == OP_CAST && e->arg[0]->kind == EXPR_INDEX;
    if (index && code_index(p, e->arg[0]->index)) return w; // computed in 4 bytes
    for (int i = 0; i < e->n; i++) w = (int)max_i64(w, widest(p, e->arg[i]));
    return w;
}

static bool affine_mentions(const Plan *p, const Affine *a, int loop) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_ITER) {
            if (p->loop_of_id[atom->index] == loop) return true;
        } else if (atom->kind == ATOM_READ) {
            for (int d = 0; d < atom->read->rank; d++)
                if (affine_mentions(p, atom->read->sub[d], loop)) return true;
        } else if ((atom->a && affine_mentions(p, atom->a, loop)) ||
                   (atom->b && affine_mentions(p, atom->b, loop))) {
            return true;
        }
    }
    return false;
}

bool code_computes_with(const Plan *p, const Mem *m, int loop) {
    for (int d = 0; d < m->access->rank; d++)
        if (m->computed >> d & 1 && affine_mentions(p, m->access->sub[d], loop)) return true;
    return false;
}

static bool small_type(Type t) { return type_info[t].bits < 32; }

// A subscript, or a part of it, that lanes compute. A sum with an element from data may wrap. As
// the index that is checked it is then no valid one, but an operation on it would hide that.
typedef struct LaneIndex {
    int64_t reach;   // its largest distance from 0, without elements of 32 bits or more
    int reads;       // whether it has such elements outside of remainders
    bool alone;      // it is one, or a minimum, maximum or quotient of one: nothing wraps
    bool sums;       // an operation on a sum with one, or a multiple of one
    int64_t factor;  // of that element
    int64_t divisor; // of that element
    bool wide;       // 4 bytes are not enough
    bool high;       // some element is a u32
    bool longer;     // some element has 8 bytes
} LaneIndex;

static bool lane_index(const Plan *p, const PNode *leaf, const Affine *a, LaneIndex *out);

// An element that a subscript reads.
static bool lane_read(const PNode *leaf, const Access *read, LaneIndex *out) {
    const Mem *m = leaf_mem(leaf, read);
    int bits = type_info[m->type].bits;
    *out = (LaneIndex){.reach = INT64_C(1) << (bits < 32 ? bits : 0), .factor = 1, .divisor = 1};
    if (bits < 32) return m->off != NULL;
    *out = (LaneIndex){.reads = 1, .alone = true, .factor = 1, .divisor = 1};
    out->longer = bits == 64;
    out->high = m->type == TYPE_U32;
    return m->off != NULL;
}

// A quotient or remainder by a constant.
static bool lane_quotient(const Atom *atom, LaneIndex *x) {
    if (!affine_is_const(atom->b) || atom->b->constant <= 0) return false;
    x->wide |= x->reads && !x->alone;
    if (!checked_mul(x->divisor, atom->b->constant, &x->divisor)) return false;
    if (atom->kind == ATOM_MOD) x->reads = 0, x->factor = x->divisor = 1;
    return true;
}

// A minimum, maximum, product, quotient or remainder, or an element.
static bool lane_atom(const Plan *p, const PNode *leaf, const Atom *atom, LaneIndex *out) {
    LaneIndex a, b;
    if (atom->kind == ATOM_READ) return lane_read(leaf, atom->read, out);
    if (atom->kind == ATOM_PARAM || !lane_index(p, leaf, atom->a, &a) ||
        !lane_index(p, leaf, atom->b, &b))
        return false;
    *out = a.reads ? a : b;
    out->reach = max_i64(a.reach, b.reach);
    out->high = a.high || b.high;
    out->longer = a.longer || b.longer;
    out->wide = a.wide || b.wide || out->high || (a.reads && b.reads);
    out->sums = a.sums || b.sums || (out->reads && !out->alone);
    if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD) return lane_quotient(atom, out);
    if (atom->kind != ATOM_PROD) return true;
    return !a.reads && !b.reads && checked_fma(a.reach, b.reach, &out->reach);
}

// A subscript that lanes can compute: it consists of linear parts, of elements that it reads, and
// of their minima, maxima, products, quotients and remainders. False: it has another form.
static bool lane_index(const Plan *p, const PNode *leaf, const Affine *a, LaneIndex *out) {
    *out = (LaneIndex){.factor = 1, .divisor = 1};
    if (!checked_fma(a->constant < 0 ? -1 : 1, a->constant, &out->reach)) return false;
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        int64_t k = a->term[i].coef < 0 ? -a->term[i].coef : a->term[i].coef;
        LaneIndex x = {.factor = 1, .divisor = 1};
        if (atom->kind != ATOM_ITER) {
            if (!lane_atom(p, leaf, atom, &x)) return false;
        } else {
            if (p->loop_of_id[atom->index] < 0) return false;
            x.reach = p->loop[p->loop_of_id[atom->index]]->extent;
        }
        if (!checked_fma(k, x.reach, &out->reach)) return false;
        if (x.reads && !checked_mul(k, x.factor, &x.factor)) return false;
        out->wide |= x.wide || (x.reads && out->reads);
        out->high |= x.high;
        out->longer |= x.longer;
        out->sums |= x.sums || (x.reads && (!x.alone || a->term[i].coef != 1));
        out->factor = max_i64(out->factor, x.factor);
        out->divisor = max_i64(out->divisor, x.divisor);
        out->reads |= x.reads;
        out->alone = x.alone && a->n == 1 && a->constant == 0 && a->term[i].coef == 1;
    }
    return true;
}

// The type that holds all values of a subscript of `size` values; TYPE_NONE: there is none. If it
// has `sums` and 4 bytes, elements must be limited (Mem.limit): *most is the largest limit, so that
// no sum wraps; *least is the smallest one from which on an element that is farther outside may
// count like the limit. Minima and maxima with other parts then decide as they would, and where
// none decides, the index is still outside.
static Type index_type(const LaneIndex *x, int64_t size, int64_t *least, int64_t *most) {
    int64_t far = INT32_MAX / 2, need;
    *least = 0;
    *most = far / x->factor;
    if (x->reach > INT64_MAX / 4 || x->factor > INT16_MAX) return TYPE_NONE;
    if (x->longer) return x->wide || x->sums ? TYPE_NONE : TYPE_I64;
    if (x->wide || x->reach > far || size > far || (x->high && (x->reach || x->sums)))
        return TYPE_I64;
    need = x->reach + max_i64(size, x->reach) + 2;
    if (!x->reads) return TYPE_I32;
    if (!checked_mul(need, x->divisor, least)) *least = INT64_MAX;
    return *least < *most || !x->sums ? TYPE_I32 : TYPE_I64;
}

// Can lanes along the loop be gathered? Indices are computed in 4 bytes if everything fits: a sum
// that wraps must not give a valid index (as it would for u32 plus something), and the span in
// elements must fit.
static bool can_gather(const Plan *p, const PNode *leaf, Mem *m, int loop) {
    const Buffer *b = &p->tree->buffers.at[m->buffer];
    int64_t span = 0, least = 0, most = INT32_MAX / 2;
    int64_t beside = lin_coef(m->part, loop), size = type_info[m->type].bytes;
    bool limited = false;
    m->index = TYPE_I32;
    if (m->inner || (beside && (size < 4 || beside % size))) return false;
    if (!checked_fma(beside < 0 ? -beside : beside, 16, &span)) return false;
    for (int d = 0; d < m->access->rank; d++) {
        int64_t from, to, stride = b->stride[d] < 0 ? -b->stride[d] : b->stride[d];
        LaneIndex x;
        if (!(m->computed >> d & 1)) continue;
        if (!lane_index(p, leaf, m->access->sub[d], &x)) return false;
        Type type = index_type(&x, b->size[d], &from, &to);
        if (type == TYPE_NONE) return false;
        if (type == TYPE_I64) m->index = TYPE_I64;
        limited |= x.sums;
        least = max_i64(least, from);
        most = min_i64(most, to);
        if (!checked_fma(b->size[d], stride, &span) || span > INT64_MAX / 4) return false;
    }
    if (span > INT32_MAX || (limited && least >= most)) m->index = TYPE_I64;
    m->limit = limited && m->index == TYPE_I32 ? most : 0;
    m->gathers = true;
    m->lane = 0;
    return true;
}

static bool has_loop(const PNode *n, int loop) {
    if (n->kind == P_LOOP && n->loop == loop) return true;
    for (int i = 0; i < n->nchild; i++)
        if (has_loop(n->child[i], loop)) return true;
    return false;
}

static bool is_still(const Mem *m, int buffer, int loop) {
    return m->buffer != buffer || (m->off && !lin_coef(m->off, loop) && !m->inner);
}

// Is it a temporary of one iteration of the loop? Every lane then gets its own (widen).
static bool is_private(const Plan *p, const Mem *m, int loop) {
    int b = m->buffer;
    if (b < p->tree->nargs || !has_loop(p->loop[loop], p->alloc_loop[b])) return false;
    for (int l = p->first_leaf[b]; l <= p->last_leaf[b]; l++) {
        const PNode *leaf = p->leaves.at[l];
        if (!is_still(&leaf->write, b, loop)) return false;
        for (int i = 0; i < leaf->nreads; i++)
            if (!is_still(&leaf->read[i], b, loop)) return false;
    }
    return true;
}

// Is the computed part of the address independent of the loop and of tables, so that lanes read one
// element or adjacent ones?
static bool stands_still(const Plan *p, const Mem *m, int loop) {
    int64_t lane = lin_coef(m->part, loop);
    return !m->inner && !code_computes_with(p, m, loop) &&
           (lane == 0 || lane == type_info[m->type].bytes);
}

// Why the access cannot follow `loop` with one vector instruction, or LOSS_NONE.
static LossWhy cannot_follow(const Plan *p, const PNode *leaf, Mem *m, int loop, bool reduces,
                             bool guarded) {
    bool write = m == &leaf->write;
    m->gathers = false;
    if (is_private(p, m, loop)) {
        m->lane = type_info[m->type].bytes;
        return LOSS_NONE;
    }
    if (!m->off) {
        if (guarded && !m->safe && !stands_still(p, m, loop)) return SERIAL_READ_COMPUTED;
        if (code_computes_with(p, m, loop))
            return !write && can_gather(p, leaf, m, loop) ? LOSS_NONE : SERIAL_SUBSCRIPT;
        if (write && !lin_coef(m->part, loop)) return SERIAL_WRITE_COMPUTED;
    }
    m->lane = lin_coef(m->off ? m->off : m->part, loop);
    if (m->repeat) return LOSS_NONE; // decided when loops were collapsed
    int64_t size = type_info[m->type].bytes;
    if (m->lane == 0 && write && reduces && m->type != type_compute(m->type)) return SERIAL_ROUNDED;
    if (m->lane == 0) return write && !reduces ? SERIAL_ONE_ELEMENT : LOSS_NONE;
    if (m->lane == size) return LOSS_NONE;
    if (m->lane > INT32_MAX / 64 || m->lane < -INT32_MAX / 64) return SERIAL_APART;
    return LOSS_NONE;
}

bool plan_keeps_bytes(const Plan *p, const Mem *m) {
    return m->buffer >= p->tree->nargs ||
           (m->type != TYPE_BOOL && type_compute(m->type) == m->type);
}

bool plan_is_parallel(const Plan *p) {
    for (int i = 0; i < p->nloops; i++)
        if (p->loop[i]->mark == KIND_PARALLEL) return true;
    return false;
}

static bool index_is_hard(const Plan *p, const Expr *e, int loop) {
    if (e->kind == EXPR_INDEX) return !e->index->linear && affine_mentions(p, e->index, loop);
    for (int i = 0; i < e->n; i++)
        if (index_is_hard(p, e->arg[i], loop)) return true;
    return false;
}

// Why a leaf cannot run in lanes along `loop`, or LOSS_NONE; *bytes grows to the widest lane.
// `inside`: it is in a guard that differs between lanes. Adjacent lanes are written under a mask.
// In other accesses, lanes for which the guard does not hold write back the old element, which must
// exist and must not belong to another thread.
static LossWhy leaf_cannot(Plan *p, PNode *n, int loop, bool inside, int *bytes) {
    bool reduces = n->leaf->op != REDUCE_ASSIGN;
    if (inside && !n->write.off) return SERIAL_GUARD;
    LossWhy why = cannot_follow(p, n, &n->write, loop, reduces, false);
    bool apart = n->write.lane != type_info[n->write.type].bytes;
    if (!why && inside && !n->write.inside && (reduces || apart)) why = SERIAL_GUARD;
    bool rewrites = inside && !reduces && apart; // elements that the guard excludes
    bool changes = !type_is_integer(n->write.type) && !plan_keeps_bytes(p, &n->write);
    if (!why && rewrites && (plan_is_parallel(p) || changes)) why = SERIAL_GUARD;
    for (int i = 0; i < n->nreads && !why; i++)
        why = cannot_follow(p, n, &n->read[i], loop, false, inside || n->read[i].guarded);
    if (!why && index_is_hard(p, n->leaf->value, loop)) why = SERIAL_INDEX;
    int w = widest(p, n->leaf->value);
    if (lane_bytes(n->write.type) > w) w = lane_bytes(n->write.type);
    for (int i = 0; i < n->nreads; i++)
        if (n->read[i].gathers) w = (int)max_i64(w, lane_bytes(n->read[i].index));
    if (!p->machine->has_mask) {
        bool small = small_type(n->write.type);
        for (int i = 0; i < n->nreads; i++) small |= small_type(n->read[i].type);
        for (int i = 0; i < n->nreads && !why; i++)
            if (n->read[i].gathers &&
                (lane_bytes(n->read[i].index) != w || lane_bytes(n->read[i].type) != w))
                why = SERIAL_WIDTHS;
        if (small && !why) why = SERIAL_NARROW;
    }
    if (w > *bytes) *bytes = w;
    return why;
}

static LossWhy subtree_cannot(Plan *p, PNode *n, int loop, bool inside, int *bytes) {
    if (n->kind == P_LEAF) return leaf_cannot(p, n, loop, inside, bytes);
    if (n->kind == P_LOOP && n->extent > 1) return SERIAL_OUTER;
    for (int i = 0; i < n->nconds; i++) {
        if (!lin_coef(n->cond[i], loop)) continue;
        if (!code_is_small(p, n->cond[i])) return SERIAL_GUARD;
        inside = true;
    }
    if (n->nhard) return SERIAL_GUARD_COMPUTED;
    LossWhy why = LOSS_NONE;
    for (int i = 0; i < n->nchild && !why; i++)
        why = subtree_cannot(p, n->child[i], loop, inside, bytes);
    return why;
}

static void set_width(PNode *n, int loop, int width) {
    n->simd.vloop = width > 1 ? loop : -1;
    n->simd.width = width;
    if (width == 1) {
        n->write.lane = 0;
        for (int i = 0; i < n->nreads; i++) n->read[i].lane = 0, n->read[i].gathers = false;
    }
    for (int i = 0; i < n->nchild; i++) set_width(n->child[i], loop, width);
}

static bool reduces_along(const PNode *n, int loop) {
    if (n->kind == P_LEAF) return !n->write.off || !lin_coef(n->write.off, loop);
    for (int i = 0; i < n->nchild; i++)
        if (reduces_along(n->child[i], loop)) return true;
    return false;
}

// Uses half vectors if they hold all lanes: 64-byte vectors block a port and load more slowly. Not
// for results in lanes, which may continue in whole vectors elsewhere.
static int lanes_for(const Machine *m, const PNode *n, int64_t extent, int bytes) {
    int lanes = m->vector_bytes / bytes;
    bool half = m->vector_bytes == 64 && extent <= lanes / 2 && !reduces_along(n, n->loop);
    return half ? lanes / 2 : lanes;
}

// Elements of temporaries that are private to lanes become vectors.
static void widen_mem(Plan *p, Mem *m, int loop, int lanes) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    if (!is_private(p, m, loop)) return;
    for (int i = 0; i < m->off->n; i++) t[i] = (LinTerm){m->off->t[i].loop, m->off->t[i].k * lanes};
    m->off = code_lin(p->arena, m->off->c * lanes, t, m->off->n);
    p->lanes[m->buffer] = lanes;
}

static void widen(Plan *p, PNode *n, int loop, int lanes) {
    if (n->kind == P_LEAF) {
        widen_mem(p, &n->write, loop, lanes);
        for (int i = 0; i < n->nreads; i++) widen_mem(p, &n->read[i], loop, lanes);
    }
    for (int i = 0; i < n->nchild; i++) widen(p, n->child[i], loop, lanes);
}

int plan_lanes(Plan *p, PNode *n, int64_t rows, LossWhy *why) {
    int bytes = 4;
    *why = p->machine->vector_bytes <= 8 ? SERIAL_ISA : LOSS_NONE;
    if (p->refused->end[n->loop] == END_SERIAL) *why = SERIAL_END;
    for (int c = 0; c < n->nchild && !*why; c++)
        *why = subtree_cannot(p, n->child[c], n->loop, false, &bytes);
    for (int k = 0; k < n->nbounds && !*why; k++)
        if (n->bound[k].k > 0) *why = SERIAL_START;
    return *why ? 1 : lanes_for(p->machine, n, n->extent * rows, bytes);
}

bool plan_vectorise(Plan *p) {
    for (int i = 0; i < p->nloops; i++) {
        PNode *n = p->loop[i];
        if (n->mark != KIND_VECTOR || !n->nchild) continue;
        n->simd.lanes = 1;
        if (n->extent == 1) continue; // lanes may run along a loop further out
        LossWhy why;
        n->simd.lanes = plan_lanes(p, n, 1, &why);
        n->simd.vector = !why;
        for (int c = 0; c < n->nchild; c++) set_width(n->child[c], n->loop, n->simd.lanes);
        if (n->simd.vector) widen(p, n, n->loop, n->simd.lanes);
        if (why && p->refused->end[n->loop] == END_IN_LANES) {
            p->refused->end[n->loop] = END_SERIAL;
            return false;
        }
        if (why) vec_push(p->arena, &p->losses, ((CodeLoss){.line = n->line, .why = why}));
    }
    return true;
}
