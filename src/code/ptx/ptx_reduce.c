// Reductions over threads. Partial results are in registers; threads combine them by shuffles
// within a warp and through shared memory between warps, always in the same order.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "base/checked.h"

enum { MOST_PARTS = 1024 }; // larger combinations use a loop

typedef struct Partial {
    const GpuNode *leaf;
    int buffer;
    const Affine *rest;
    int64_t constant;
    Opnd reg;
    Held before; // the entry of the element before the reduction
    bool known;
    bool done;
    VEC(const GpuNode *) when; // the element exists if all guards of one of these nodes hold
} Partial;

typedef struct Partials {
    VEC(Partial) at;
    // The ids of the reduction axes and of all loops inside.
    VEC(int) inner;
    Opnd *total;          // per Partial: the combined result of all threads
    unsigned meet, first; // `first`: the axes whose thread 0 stores the elements now being finished
    const GpuNode *leaf;  // the last one whose guards were weakened by at_best
    const Affine **best;  // these guards
    bool exact;           // none of them is weaker than the leaf's own
} Partials;

static void find_inner(KernelWriter *w, Partials *all, const GpuNode *n) {
    if (n->kind == GPU_LOOP) vec_push(w->arena, &all->inner, n->id);
    for (int i = 0; i < n->child.n; i++) find_inner(w, all, n->child.at[i]);
}

// Does the guard decide whether the element exists? A guard that uses an index which does not
// select the element only decides which values are reduced.
static bool selects(const GpuNode *leaf, const Affine *guard, const void *user) {
    const Partials *all = user;
    for (int k = 0; k < all->inner.n; k++)
        if (affine_uses_iter(guard, all->inner.at[k]) &&
            !access_uses_iter(leaf->leaf->write, all->inner.at[k]))
            return false;
    return true;
}

static bool is_result(const GpuNode *leaf, const Access *a, const void *user) {
    (void)user;
    return leaf->leaf->write == a;
}

static const ElementUse results = {selects, is_result};

// The guard with each index that does not select the element replaced by its most favourable value.
// Where the result fails, no value satisfies the guard: with k - x >= 0, O[k] does not exist for k
// below the least x. NULL: unknown.
static const Affine *at_best(KernelWriter *w, const Partials *all, const GpuNode *leaf,
                             const Affine *a) {
    for (int k = 0; k < all->inner.n; k++) {
        int id = all->inner.at[k];
        int64_t c = affine_coef(a, id), best = c > 0 ? w->g->hi[id] : w->g->lo[id], sum;
        if (!affine_uses_iter(a, id) || access_uses_iter(leaf->leaf->write, id)) continue;
        if (!checked_mul(c, best, &sum)) return NULL;
        a = affine_add(w->x, a, affine_scale(w->x, affine_iter(w->x, id), -c));
        a = affine_add_const(w->x, a, sum);
        if (affine_uses_iter(a, id)) return NULL;
    }
    return a;
}

static const Affine *const *best_of(KernelWriter *w, Partials *all, const GpuNode *leaf) {
    if (all->leaf == leaf) return all->best;
    all->leaf = leaf;
    all->best = arena_new_n(w->arena, const Affine *, leaf->where.n);
    all->exact = true;
    for (int i = 0; i < leaf->where.n; i++) {
        const Affine *a = all->best[i] = at_best(w, all, leaf, leaf->where.at[i]);
        all->exact &= a && (a == leaf->where.at[i] || affine_is_const(a));
    }
    return all->best;
}

static bool has_guard(const GpuNode *n, const Affine *a) {
    for (int i = 0; i < n->guard.n; i++)
        if (n->guard.at[i] == a) return true;
    return false;
}

static void add_guard(KernelWriter *w, GpuNode *n, const Affine *a) {
    if (!a || guard_known(w, a) == ANSWER_YES) return;
    a = affine_fixed(w, a);
    if (!has_guard(n, a)) vec_push(w->arena, &n->guard, a);
}

// The guards under which the element of this instance of the leaf exists, with the values of
// unrolled loops substituted. Guards weakened by at_best may admit elements outside the buffer, so
// bounds of the subscripts are added then.
static const GpuNode *selecting(KernelWriter *w, Partials *all, const GpuNode *leaf) {
    GpuNode *n = arena_new(w->arena, GpuNode);
    const Access *to = leaf->leaf->write;
    const Affine *const *best = best_of(w, all, leaf);
    for (int i = 0; i < leaf->where.n; i++) add_guard(w, n, best[i]);
    for (int d = 0; d < to->rank && !all->exact; d++) {
        int64_t last = w->t->buffers.at[to->tensor].size[d] - 1;
        add_guard(w, n, to->sub[d]);
        add_guard(w, n, affine_add_const(w->x, affine_scale(w->x, to->sub[d], -1), last));
    }
    return n;
}

static bool implies(const GpuNode *a, const GpuNode *b) {
    for (int i = 0; i < b->guard.n; i++)
        if (!has_guard(a, b->guard.at[i])) return false;
    return true;
}

// Another instance that reduces into the element: O[2*x + k] is the same for (x, k + 2) and (x + 1,
// k).
static void exists_when(KernelWriter *w, Partial *q, const GpuNode *n) {
    for (int i = 0; i < q->when.n; i++)
        if (implies(n, q->when.at[i])) return;
    vec_push(w->arena, &q->when, n);
}

static Answer exists(KernelWriter *w, const Partial *q, Opnd *pred) {
    Answer any = ANSWER_NO;
    for (int i = 0; i < q->when.n; i++) {
        Opnd p;
        Answer a = guards_value(w, q->when.at[i], &p);
        if (a == ANSWER_YES) return ANSWER_YES;
        if (a == ANSWER_NO) continue;
        *pred = any == ANSWER_ASK ? NEW(w, REG_PRED, "or.pred", *pred, p) : p;
        any = ANSWER_ASK;
    }
    return any;
}

static void redirect(KernelWriter *w, const GpuNode *n, void *user) {
    Partials *all = user;
    if (!n->meet || n->leaf->op == REDUCE_ASSIGN || leaf_skipped(w, n->leaf)) return;
    const Affine *const *best = best_of(w, all, n);
    for (int i = 0; i < n->where.n; i++)
        if (best[i] && guard_known(w, best[i]) == ANSWER_NO) return;
    const Access *a = n->leaf->write;
    const AccessPlan *p = access_plan(w, a);
    if (p->hard) bug("a reduction over threads into a computed element");
    int64_t c = plan_constant(w, p);
    Type t = w->t->buffers.at[a->tensor].type;
    for (int i = 0; i < all->at.n; i++)
        if (all->at.at[i].buffer == a->tensor && all->at.at[i].rest == p->rest &&
            all->at.at[i].constant == c) {
            exists_when(w, &all->at.at[i], selecting(w, all, n));
            return;
        }
    Held *l = loc_find(w, a->tensor, p->rest, c);
    Partial q = {
        .leaf = n, .buffer = a->tensor, .rest = p->rest, .constant = c, .known = l != NULL};
    if (l) q.before = *l;
    exists_when(w, &q, selecting(w, all, n));
    if (!l) l = loc_new(w, a->tensor, p->rest, c);
    Value start = n->leaf->op == REDUCE_ADD && type_is_float(t) ? (Value){.f = -0.0}
                                                                : reduce_start(t, n->leaf->op);
    q.reg = moved(w, lit_value(t, start));
    l->value = q.reg;
    l->value.var = true;
    l->pinned = true;
    l->dirty = false;
    vec_push(w->arena, &all->at, q);
}

static bool keeps_guard(KernelWriter *w, const GpuNode *leaf, const Affine *guard, void *user) {
    const Partials *all = user;
    const Access *a = leaf->leaf->write;
    if (!leaf->meet || leaf->leaf->op == REDUCE_ASSIGN) return false;
    const AccessPlan *p = access_plan(w, a);
    int64_t c = plan_constant(w, p);
    for (int i = 0; i < all->at.n; i++) {
        const Partial *q = &all->at.at[i];
        if (q->buffer != a->tensor || q->rest != p->rest || q->constant != c) continue;
        for (int k = 0; k < q->when.n; k++)
            if (!has_guard(q->when.at[k], guard)) return false;
        return true;
    }
    return false;
}

// --- Threads -------------------------------------------------------------------------------------

static Opnd shuffled(KernelWriter *w, Opnd v, int distance, unsigned mask) {
    if (v.class == REG_64) {
        Opnd lo = reg_new(w, REG_32), hi = reg_new(w, REG_32), d = reg_new(w, REG_64);
        line(w, "mov.b64 {%%r%d, %%r%d}, %%d%d;", lo.reg, hi.reg, v.reg);
        Opnd a = shuffled(w, lo, distance, mask), b = shuffled(w, hi, distance, mask);
        line(w, "mov.b64 %%d%d, {%%r%d, %%r%d};", d.reg, a.reg, b.reg);
        return d;
    }
    Opnd r = reg_new(w, REG_32);
    char *to = put_register(put_text(out_room(w), "\tshfl.sync.bfly.b32 "), r);
    to = put_text(put_register(put_text(to, ", "), v), ", ");
    to = put_mask(put_text(put_int(to, distance), ", 31, "), mask);
    out_end(w, put_text(to, ";\n"));
    return r;
}

// A value to reduce. Bools and narrow types occupy 32 bits.
typedef struct PtxReduceItem {
    Opnd v;
    Reduce op;
    Type type;
} PtxReduceItem;

// Reduces over `size` threads whose numbers differ by `step`.
static Opnd shuffle_sum(KernelWriter *w, const PtxReduceItem *of, Opnd v, int64_t step,
                        int64_t size, unsigned mask) {
    for (int64_t d = step * size / 2; d >= step; d /= 2)
        v = combine(w, of->op, of->type, v, shuffled(w, v, (int)d, mask));
    return v;
}

static Opnd linear_thread(KernelWriter *w) {
    const Affine *sum = affine_const(w->x, 0);
    for (int a = GPU_THREAD_X; a < GPU_AXES; a++) {
        if (w->k->size[a] == 1) continue;
        const Affine *id = affine_iter(w->x, w->g->hw + a);
        sum = affine_add(w->x, sum, affine_scale(w->x, id, gpu_step(w->k, (GpuAxis)a)));
    }
    return affine_value(w, sum, false);
}

static Opnd shared_base(KernelWriter *w) {
    w->uses_shared = true;
    Opnd r = reg_new(w, REG_32);
    line(w, "mov.u32 %%r%d, smem;", r.reg);
    return r;
}

static void shared_store(KernelWriter *w, Opnd address, int64_t disp, Opnd v) {
    const char *op = v.class == REG_64 ? "\tst.shared.b64 " : "\tst.shared.b32 ";
    char *to = put_slot(put_text(out_room(w), op), address, disp);
    out_end(w, put_text(put_register(put_text(to, ", "), v), ";\n"));
}

static Opnd shared_load(KernelWriter *w, RegClass class, Opnd address, int64_t disp) {
    Opnd r = reg_new(w, class);
    const char *op = class == REG_64 ? "\tld.shared.b64 " : "\tld.shared.b32 ";
    char *to = put_register(put_text(out_room(w), op), r);
    out_end(w, put_text(put_slot(put_text(to, ", "), address, disp), ";\n"));
    return r;
}

// Slots in shared memory, one per warp or per thread. Every thread combines the slots of its row,
// in order.
typedef struct Exchange {
    int slots, per_row;
    Opnd slot, row; // numbers of this thread's slot, and of the first slot of its row
    int64_t step;   // distance in slots between neighbours of a row
    Opnd writes;    // predicate: this thread writes; of class REG_16: all threads write
    bool by_warp;   // one row of a slot per thread: the first warp combines it
} Exchange;

static void combine_rows(KernelWriter *w, PtxReduceItem *item, int n, const Exchange *e, Opnd row,
                         int64_t at, int unit) {
    int64_t size = (int64_t)e->slots * unit;
    for (int k = 0; k < n; k++) {
        RegClass class = (RegClass)item[k].v.class;
        for (int i = 0; i < e->per_row; i++) {
            Opnd part = shared_load(w, class, row, at + k * size + i * e->step * unit);
            item[k].v = i ? combine(w, item[k].op, item[k].type, item[k].v, part) : part;
        }
    }
}

// The first warp combines all slots, 32 at a time, and leaves the result in slot 0. (If every
// thread combined them, as in combine_rows, a block of 392 threads would load 392 * 392 slots.)
static void combine_by_warp(KernelWriter *w, PtxReduceItem *item, int n, const Exchange *e,
                            Opnd base, int64_t at, int unit) {
    int64_t size = (int64_t)e->slots * unit;
    int end = label_new(w), whole = e->slots / 32;
    branch(w, NEW(w, REG_PRED, "setp.lt.s32", e->slot, lit(REG_32, 32)), false, end);
    Opnd own = NEW(w, REG_32, "mad.lo.s32", e->slot, lit(REG_32, (uint64_t)unit), base);
    Opnd in = NEW(w, REG_PRED, "setp.lt.s32", e->slot, lit(REG_32, (uint64_t)(e->slots % 32)));
    Opnd last = NEW(w, REG_32, "add.s32", own, lit(REG_32, (uint64_t)(whole * 32 * unit)));
    last = NEW(w, REG_32, "selp.b32", last, own, in); // lanes behind the last slot load their first
    for (int k = 0; k < n; k++) {
        PtxReduceItem *i = &item[k];
        RegClass class = (RegClass)i->v.class;
        Opnd v = shared_load(w, class, own, at + k * size);
        for (int d = 1; d < whole; d++)
            v = combine(w, i->op, i->type, v,
                        shared_load(w, class, own, at + k * size + d * 32 * unit));
        Opnd sum = combine(w, i->op, i->type, v, shared_load(w, class, last, at + k * size));
        v = NEW(w, class, class == REG_64 ? "selp.b64" : "selp.b32", sum, v, in);
        v = shuffle_sum(w, i, v, 1, 32, ~0u);
        shared_store(w, own, at + k * size, v);
    }
    label_put(w, end);
    line(w, "bar.sync 0;");
    for (int k = 0; k < n; k++)
        item[k].v = shared_load(w, (RegClass)item[k].v.class, base, at + k * size);
}

// Combines in the same order with less code: a loop over the slots of a row.
static void combine_in_loop(KernelWriter *w, PtxReduceItem *item, int n, const Exchange *e,
                            Opnd row, int64_t at, int unit) {
    int64_t size = (int64_t)e->slots * unit;
    for (int k = 0; k < n; k++)
        item[k].v = shared_load(w, (RegClass)item[k].v.class, row, at + k * size);
    Opnd slot = moved(w, row), i = moved(w, lit(REG_32, 1));
    int loop = label_new(w);
    label_put(w, loop);
    INS(w, "add.s32", slot, slot, lit(REG_32, (uint64_t)(e->step * unit)));
    for (int k = 0; k < n; k++) {
        Opnd part = shared_load(w, (RegClass)item[k].v.class, slot, at + k * size);
        reg_assign(w, item[k].v, combine(w, item[k].op, item[k].type, item[k].v, part));
    }
    INS(w, "add.s32", i, i, lit(REG_32, 1));
    Opnd more = NEW(w, REG_PRED, "setp.lt.s32", i, lit(REG_32, (uint64_t)e->per_row));
    branch(w, more, true, loop);
}

static void exchange_some(KernelWriter *w, PtxReduceItem *item, int n, const Exchange *e,
                          int64_t at, int unit) {
    Opnd base = shared_base(w);
    Opnd own = NEW(w, REG_32, "mad.lo.s32", e->slot, lit(REG_32, (uint64_t)unit), base);
    Opnd row = NEW(w, REG_32, "mad.lo.s32", e->row, lit(REG_32, (uint64_t)unit), base);
    int64_t size = (int64_t)e->slots * unit;
    int end = label_new(w);
    if (e->writes.class == REG_PRED) branch(w, e->writes, false, end);
    for (int k = 0; k < n; k++) shared_store(w, own, at + k * size, item[k].v);
    label_put(w, end);
    line(w, "bar.sync 0;");
    if (e->by_warp)
        combine_by_warp(w, item, n, e, base, at, unit);
    else if ((int64_t)n * e->per_row > MOST_PARTS)
        combine_in_loop(w, item, n, e, row, at, unit);
    else
        combine_rows(w, item, n, e, row, at, unit);
}

// Exchanges as many values at a time as fit in shared memory, behind the slots of earlier
// reductions. If there is no room behind them, their slots are used again.
static void exchange(KernelWriter *w, PtxReduceItem *item, int n, const Exchange *e) {
    int unit = 4;
    for (int k = 0; k < n; k++)
        if (item[k].v.class == REG_64) unit = 8;
    int64_t at = ceil_div(w->shared, 16) * 16, size = (int64_t)e->slots * unit;
    int64_t most = gpu_block_shared(w->g->machine);
    bool again = at + size > most;
    if (again) at = w->k->shared;
    int batch = (int)min_i64(n, (most - at) / size);
    w->shared = max_i64(w->shared, at + batch * size);
    for (int k = 0; k < n; k += batch) {
        if (w->serial || again || k) line(w, "bar.sync 0;"); // all threads have read the slots
        exchange_some(w, item + k, (int)min_i64(batch, n - k), e, at, unit);
    }
}

// Rows of so many threads: warps combine theirs by shuffles, and exchange one value each.
static void reduce_warps(KernelWriter *w, PtxReduceItem *item, int n, int64_t row) {
    Opnd id = linear_thread(w);
    Exchange e = {.step = 1, .per_row = (int)(row / 32), .slots = gpu_threads(w->k) / 32};
    for (int k = 0; k < n; k++) item[k].v = shuffle_sum(w, &item[k], item[k].v, 1, 32, ~0u);
    if (e.per_row == 1) return;
    e.slot = NEW(w, REG_32, "shr.u32", id, lit(REG_32, 5));
    Opnd lane = NEW(w, REG_32, "and.b32", id, lit(REG_32, 31));
    e.writes = NEW(w, REG_PRED, "setp.eq.s32", lane, lit(REG_32, 0));
    Opnd number = NEW(w, REG_32, "div.u32", id, lit(REG_32, (uint64_t)row));
    e.row = NEW(w, REG_32, "mul.lo.s32", number, lit(REG_32, (uint64_t)e.per_row));
    exchange(w, item, n, &e);
}

// Combines all threads of the block, more than a warp and no whole number of warps.
static void reduce_block(KernelWriter *w, PtxReduceItem *item, int n) {
    int threads = gpu_threads(w->k);
    Opnd id = linear_thread(w), writes = {.class = REG_16};
    Exchange e = {.slots = threads, .slot = id, .row = lit(REG_32, 0), .writes = writes};
    e.by_warp = true;
    exchange(w, item, n, &e);
}

static bool is_power(int64_t n) { return (n & (n - 1)) == 0; }

// Combines threads that differ in the axis: by shuffles if they are in one warp, else through
// shared memory.
static void reduce_axis(KernelWriter *w, PtxReduceItem *item, int n, GpuAxis a) {
    int64_t size = w->k->size[a], step = gpu_step(w->k, a);
    int threads = gpu_threads(w->k);
    unsigned mask = threads >= 32 ? ~0u : (1u << threads) - 1;
    bool whole = threads % 32 == 0 || threads < 32;
    if (whole && is_power(size) && is_power(step) && step * size <= 32) {
        for (int k = 0; k < n; k++)
            item[k].v = shuffle_sum(w, &item[k], item[k].v, step, size, mask);
        return;
    }
    Opnd id = linear_thread(w);
    Opnd back =
        NEW(w, REG_32, "mul.lo.s32", w->index[w->g->hw + (int)a], lit(REG_32, (uint64_t)step));
    Exchange e = {.slots = threads,
                  .per_row = (int)size,
                  .slot = id,
                  .row = NEW(w, REG_32, "sub.s32", id, back),
                  .step = step,
                  .writes = {.class = REG_16}};
    exchange(w, item, n, &e);
}

static void all_reduce(KernelWriter *w, PtxReduceItem *item, int n, unsigned axes) {
    axes &= gpu_used_axes(w->k);
    bool whole = axes == gpu_used_axes(w->k);
    bool x_only = axes == 1u << GPU_THREAD_X && !gpu_has_digits(w->k);
    int64_t row = whole ? gpu_threads(w->k) : x_only ? w->k->size[GPU_THREAD_X] : 0;
    if (row > 32 && row % 32 == 0) {
        reduce_warps(w, item, n, row);
        return;
    }
    if (whole && row > 32) {
        reduce_block(w, item, n);
        return;
    }
    for (int i = 0; i < GPU_AXES - GPU_THREAD_X; i++)
        if (axes >> gpu_fastest[i] & 1) reduce_axis(w, item, n, gpu_fastest[i]);
}

// --- Blocks of a cluster -------------------------------------------------------------------------

static unsigned cluster_axis(const GpuKernel *k) {
    return k->size[GPU_CLUSTER] > 1 ? 1u << GPU_CLUSTER : 0;
}

// Arrivals release, and waits acquire.
static void cluster_barrier(KernelWriter *w) {
    line(w, "barrier.cluster.arrive.aligned;");
    line(w, "barrier.cluster.wait.aligned;");
}

static Opnd remote_load(KernelWriter *w, RegClass class, Opnd address, int64_t disp) {
    Opnd r = reg_new(w, class);
    line(w, "ld.shared::cluster.b%d %%%c%d, [%%r%d+%lld];", class == REG_64 ? 64 : 32,
         class == REG_64 ? 'd' : 'r', r.reg, address.reg, (long long)disp);
    return r;
}

// Threads with equal numbers in all blocks of the cluster combine their values in the order of the
// blocks. A slot per thread holds its value for the others, until all have read it.
static void reduce_cluster(KernelWriter *w, PtxReduceItem *item, int n) {
    int unit = 4, blocks = (int)w->k->size[GPU_CLUSTER];
    for (int k = 0; k < n; k++)
        if (item[k].v.class == REG_64) unit = 8;
    int64_t at = ceil_div(w->shared, 16) * 16, size = (int64_t)gpu_threads(w->k) * unit;
    int64_t most = gpu_block_shared(w->g->machine);
    bool again = at + size > most;
    if (again) at = w->k->shared;
    int batch = (int)min_i64(n, (most - at) / size);
    w->shared = max_i64(w->shared, at + batch * size);
    Opnd own =
        NEW(w, REG_32, "mad.lo.s32", linear_thread(w), lit(REG_32, (uint64_t)unit), shared_base(w));
    if (again) line(w, "bar.sync 0;"); // all threads have read the slots
    for (int from = 0; from < n; from += batch) {
        int count = (int)min_i64(batch, n - from);
        for (int k = 0; k < count; k++) shared_store(w, own, at + k * size, item[from + k].v);
        cluster_barrier(w);
        for (int r = 0; r < blocks; r++) {
            Opnd there = NEW(w, REG_32, "mapa.shared::cluster.u32", own, lit(REG_32, (uint64_t)r));
            for (int k = 0; k < count; k++) {
                PtxReduceItem *i = &item[from + k];
                Opnd part = remote_load(w, (RegClass)i->v.class, there, at + k * size);
                i->v = r ? combine(w, i->op, i->type, i->v, part) : part;
            }
        }
        cluster_barrier(w);
    }
}

static PtxReduceItem item_of(KernelWriter *w, const Partial *p) {
    Type t = w->t->buffers.at[p->buffer].type;
    Reduce op = p->leaf->leaf->op;
    if (t != TYPE_BOOL) return (PtxReduceItem){p->reg, op, t};
    Opnd v = NEW(w, REG_32, "selp.b32", lit(REG_32, 1), lit(REG_32, 0), p->reg);
    bool any = op == REDUCE_ADD || op == REDUCE_MAX;
    return (PtxReduceItem){v, any ? REDUCE_MAX : REDUCE_MIN, TYPE_I32};
}

static Opnd *totals_of(KernelWriter *w, const Partials *all, unsigned axes) {
    int n = all->at.n;
    PtxReduceItem *item = arena_new_n(w->arena, PtxReduceItem, n);
    Opnd *total = arena_new_n(w->arena, Opnd, n);
    for (int i = 0; i < n; i++) item[i] = item_of(w, &all->at.at[i]);
    if (n) all_reduce(w, item, n, axes);
    if (n && (axes & cluster_axis(w->k))) reduce_cluster(w, item, n);
    for (int i = 0; i < n; i++) {
        bool is_bool = w->t->buffers.at[all->at.at[i].buffer].type == TYPE_BOOL;
        total[i] = is_bool ? NEW(w, REG_PRED, "setp.ne.s32", item[i].v, lit(REG_32, 0)) : item[i].v;
    }
    return total;
}

// --- The whole reduction -------------------------------------------------------------------------

// The axes whose thread 0 stores the elements of the leaf; none for registers, which hold the
// result in every thread.
static unsigned first_axes(const KernelWriter *w, const GpuNode *leaf, unsigned meet) {
    if (w->k->buffer[leaf->leaf->write->tensor].space == GPU_REGISTER) return 0;
    return (meet | leaf->single) & (gpu_used_axes(w->k) | cluster_axis(w->k));
}

// The value that the reduction adds to: a constant (gpu_fresh.c), or in memory.
static Opnd value_before(KernelWriter *w, const GpuNode *n) {
    int buffer = n->leaf->write->tensor;
    bool given = w->accumulate && buffer < w->t->nargs;
    if (!n->first || given) return element_load(w, n->leaf->write);
    return moved(w, lit_value(w->t->buffers.at[buffer].type, n->first->value));
}

static void finish(KernelWriter *w, const GpuNode *n, void *user) {
    Partials *all = user;
    if (!n->meet || n->leaf->op == REDUCE_ASSIGN || leaf_skipped(w, n->leaf)) return;
    if (first_axes(w, n, all->meet) != all->first) return;
    const AccessPlan *p = access_plan(w, n->leaf->write);
    int64_t c = plan_constant(w, p);
    for (int i = 0; i < all->at.n; i++) {
        Partial *q = &all->at.at[i];
        if (q->done || q->buffer != n->leaf->write->tensor || q->rest != p->rest ||
            q->constant != c)
            continue;
        Opnd pred;
        Answer there = exists(w, q, &pred);
        if (there == ANSWER_NO) continue;
        q->done = true;
        int end = label_new(w);
        if (there == ANSWER_ASK) {
            memory_sync(w);
            branch(w, pred, false, end);
        }
        Type t = w->t->buffers.at[q->buffer].type;
        Opnd old = value_before(w, n);
        element_store(w, n->leaf->write, combine(w, n->leaf->op, t, old, all->total[i]));
        if (there == ANSWER_ASK) memory_sync(w);
        label_put(w, end);
    }
}

// Prints the stores of the results that thread 0 of these axes stores; without axes, all threads
// do.
static void finish_on(KernelWriter *w, const GpuNode *n, Partials *all, unsigned axes) {
    int end = label_new(w);
    all->first = axes;
    if (axes) branch(w, first_thread(w, axes), false, end);
    for_elements(w, n, &results, finish, all);
    memory_sync(w);
    label_put(w, end);
    for (int i = 0; i < all->at.n; i++)
        if (first_axes(w, all->at.at[i].leaf, all->meet) == axes) all->at.at[i].done = true;
}

void reduce_emit(KernelWriter *w, const GpuNode *n) {
    Partials all = {.meet = n->meet};
    memory_sync(w);
    for (int a = GPU_CLUSTER; a < GPU_AXES; a++)
        if (n->meet >> a & 1) vec_push(w->arena, &all.inner, w->g->hw + a);
    for (int i = 0; i < n->child.n; i++) find_inner(w, &all, n->child.at[i]);
    for_elements(w, n, &results, redirect, &all);
    int idle = w->idle.n;
    if (all.at.n) idle_find(w, n, keeps_guard, &all);
    for (int i = 0; i < n->child.n; i++) body_emit(w, n->child.at[i]);
    w->idle.n = idle;
    all.total = totals_of(w, &all, n->meet);
    for (int i = 0; i < all.at.n; i++) {
        Partial *p = &all.at.at[i];
        Held *l = loc_find(w, p->buffer, p->rest, p->constant);
        if (p->known)
            *l = p->before;
        else
            loc_drop(w, l);
    }
    memory_sync(w);
    for (int i = 0; i < all.at.n; i++) // once for each set of axes
        if (!all.at.at[i].done) finish_on(w, n, &all, first_axes(w, all.at.at[i].leaf, n->meet));
}
