// `T at LOOP`: a temporary is computed inside a loop of each reader, the part that one iteration
// reads.
//
//     T: at y/8               for y/8:
//     O[y] += T[y + r]            T f32[8 + R - 1]
//                                 for w in 8 + R - 1 where 8*y' + w < H:  T[w] = f(8*y' + w)
//                                 for y: for r:  O[8*y' + y] += T[y + r]
//
// The loops above LOOP determine the start of a window, the loops below it the extent, dimension by
// dimension of the reader's subscripts. The statements that define T run with their iterators
// confined to the window, in the order of their own sections. Overlaps are computed again. Every
// reader has an instance and memory of its own, unless an earlier window in the same loop is equal.
// A dimension that cannot be confined (a computed subscript, readers that disagree) is computed
// whole.
#include "base/bug.h"
#include "base/checked.h"
#include "sched/lower.h"

// The loop that `ref` names, looked up in an instance first, then in its readers.
bool loop_find(Inst *inst, const LoopRef *ref, Inst **owner, int *at) {
    int n = inst->plan.n;
    for (; inst; n = inst->reader_loops, inst = inst->reader) {
        for (int i = 0; i < n; i++) {
            const PlanLoop *p = &inst->plan.loop[i];
            if (inst->info->s->iter[p->iter].name != ref->iter || p->step != ref->step) continue;
            if (p->interleaved != ref->interleaved) continue;
            *owner = inst;
            *at = i;
            return true;
        }
    }
    return false;
}

static bool stores(const Inst *inst, int tensor) {
    for (int i = 0; i < inst->stores.n; i++)
        if (inst->stores.at[i].tensor == tensor) return true;
    return false;
}

// --- The part that a reader needs --------------------------------------------------------------

// Splits an iterator into the part that is fixed inside block `at` and the range of the rest.
static SubPart iter_part(Lower *l, const Inst *inst, int iter, const TreeItem *at) {
    SubPart p = storage_divide(l, at, inst->base[iter]);
    int64_t span = 0;
    bool alone = affine_is_const(inst->base[iter]);
    for (int k = 0; k < inst->plan.n; k++) {
        const PlanLoop *loop = &inst->plan.loop[k];
        if (loop->iter != iter) continue;
        const TreeItem *item = inst->loop[k];
        if (item && item_encloses(item, at)) {
            const Affine *idx = affine_iter(l->x, item->index.id);
            p.outer = affine_add(l->x, p.outer, affine_scale(l->x, idx, loop->coef));
            alone = false;
        } else
            span += loop->coef * max_i64(loop->extent - 1, 0);
    }
    if (alone) span = min_i64(span, max_i64(inst->extent[iter] - 1, 0));
    p.max += span;
    const Affine *skew = inst->info->skew ? inst->info->skew[iter] : NULL;
    for (int k = 0; skew && k < skew->n; k++) {
        int64_t by = skew->term[k].coef;
        SubPart q = iter_part(l, inst, skew->term[k].atom->index, at);
        p.outer = affine_sub(l->x, p.outer, affine_scale(l->x, q.outer, by));
        p.min -= by * (by > 0 ? q.max : q.min);
        p.max -= by * (by > 0 ? q.min : q.max);
    }
    if (skew) p.min -= skew->constant, p.max -= skew->constant;
    return p;
}

static SubPart sub_part(Lower *l, const Inst *inst, const Affine *sub, const TreeItem *at);

// Splits a quotient whose fixed part is a multiple of the divisor: (4*h + i)/4 is h + i/4.
static SubPart atom_part(Lower *l, const Inst *inst, const Atom *atom, const TreeItem *at) {
    if (atom->kind == ATOM_ITER) return iter_part(l, inst, atom->index, at);
    SubPart p = {.outer = affine_const(l->x, 0), .whole = true};
    if (atom->kind != ATOM_DIV || !affine_is_const(atom->b) || atom->b->constant <= 0) return p;
    int64_t by = atom->b->constant;
    p = sub_part(l, inst, atom->a, at);
    const Affine *steps = affine_const(l->x, 0);
    for (int i = 0; i < p.outer->n; i++) {
        Term t = {p.outer->term[i].atom, p.outer->term[i].coef / by};
        p.whole |= t.coef * by != p.outer->term[i].coef;
        steps = affine_add(l->x, steps, affine_make(l->x, 0, &t, 1));
    }
    p.min = floor_div(p.min + p.outer->constant, by);
    p.max = floor_div(p.max + p.outer->constant, by);
    p.outer = steps;
    return p;
}

static SubPart sub_part(Lower *l, const Inst *inst, const Affine *sub, const TreeItem *at) {
    SubPart all = {.outer = affine_const(l->x, 0), .min = sub->constant, .max = sub->constant};
    for (int i = 0; i < sub->n; i++) {
        int64_t k = sub->term[i].coef;
        SubPart p = atom_part(l, inst, sub->term[i].atom, at);
        all.whole |= p.whole;
        all.outer = affine_add(l->x, all.outer, affine_scale(l->x, p.outer, k));
        all.min += k * (k > 0 ? p.min : p.max);
        all.max += k * (k > 0 ? p.max : p.min);
    }
    return all;
}

static void join(SubPart *all, const SubPart *p) {
    if (!all->outer) {
        *all = *p;
        return;
    }
    all->whole |= p->whole || p->outer != all->outer;
    all->min = min_i64(all->min, p->min);
    all->max = max_i64(all->max, p->max);
}

// Does the statement use old values of its tensor?
static bool builds_on_old(const StmtInfo *info) {
    const Stmt *s = info->s;
    return (s->op != REDUCE_ASSIGN && !s->init) || stmt_reads(info->facts, s->write->tensor);
}

// The iterator that subscripts dimension d of the write alone, and no other dimension; -1: none.
static int alone(const Access *write, int d) {
    const Affine *sub = write->sub[d];
    if (sub->n != 1 || !sub->linear || sub->term[0].coef != 1) return -1;
    int iter = sub->term[0].atom->index;
    for (int k = 0; k < write->rank; k++)
        if (k != d && affine_uses_iter(write->sub[k], iter)) return -1;
    return iter;
}

// A definition that uses old values needs them wherever it writes and reads. Where these elements
// cannot be confined to a window, the whole tensor is computed.
static bool needs_whole(const Lower *l, int tensor, int upto) {
    for (int i = 0; i < upto; i++) {
        const StmtInfo *info = &l->info[i];
        const Access *w = info->s->write;
        if (w->tensor != tensor || !builds_on_old(info)) continue;
        for (int d = 0; d < w->rank; d++)
            if (alone(w, d) < 0) return true;
        for (int r = 0; r < info->facts->nreads; r++)
            if (info->facts->read[r]->tensor == tensor && info->facts->read[r] != w) return true;
    }
    return false;
}

static Window needed(Lower *l, const Inst *inst, int tensor, TreeItem *at) {
    const Tensor *t = &l->p->tensors.at[tensor];
    Window w = {.at = at, .tensor = tensor, .upto = inst->stmt};
    bool whole = needs_whole(l, tensor, inst->stmt);
    w.part = arena_new_n(l->arena, SubPart, t->rank);
    for (int r = 0; r < inst->info->facts->nreads; r++) {
        const Access *a = inst->info->facts->read[r];
        for (int d = 0; a->tensor == tensor && d < t->rank; d++) {
            SubPart p = sub_part(l, inst, a->sub[d], at);
            join(&w.part[d], &p);
        }
    }
    for (int d = 0; d < t->rank; d++) w.part[d].whole |= whole;
    return w;
}

static bool same_window(const Lower *l, const Window *a, const Window *b) {
    if (a->at != b->at || a->tensor != b->tensor) return false;
    int from = a->upto < b->upto ? a->upto : b->upto, to = a->upto + b->upto - from;
    for (int k = from; k < to; k++)
        if (l->info[k].s->write->tensor == a->tensor) return false; // another version
    for (int d = 0; d < l->p->tensors.at[a->tensor].rank; d++) {
        const SubPart *p = &a->part[d], *q = &b->part[d];
        if (p->whole != q->whole) return false;
        if (!p->whole && (p->outer != q->outer || p->min != q->min || p->max != q->max))
            return false;
    }
    return true;
}

// --- Computing it ------------------------------------------------------------------------------

// Confines the iterators that are alone in a subscript of the write. A statement that uses old
// values must not leave the window, even where its iterator has fewer values.
static void confine(Lower *l, Inst *inst, const Window *w) {
    const Access *write = inst->info->s->write;
    bool strict = builds_on_old(inst->info);
    for (int d = 0; d < write->rank; d++) {
        const SubPart *p = &w->part[d];
        int i = p->whole ? -1 : alone(write, d);
        int64_t extent = p->max - p->min + 1;
        if (i < 0 || (extent >= inst->extent[i] && !strict)) continue;
        inst->base[i] = affine_add_const(l->x, p->outer, p->min - write->sub[d]->constant);
        inst->extent[i] = extent;
        inst->window[i] = true;
    }
}

// The operands of the definition must be unchanged when its outermost reader runs, in whatever step
// the definition has no part in: other statements may run in those, too.
static bool unchanged(Lower *l, int def, const Inst *reader) {
    const Inst *last = reader;
    while (last->reader) last = last->reader;
    const StmtInfo *info = &l->info[def];
    int end = last->stmt + 1, n = l->p->stmts.n;
    while (end < n && stmts_common(l->p, last->stmt, end) > info->s->serial) end++;
    for (int k = def + 1; k < end; k++) {
        int written = l->info[k].s->write->tensor;
        if (l->at[written] || !stmt_reads(info->facts, written)) continue;
        diag_report(l->diags, l->at[info->s->write->tensor]->range, DIAG_SCHEDULE_AT_CHANGED,
                    info->s->label, last->info->s->label, l->p->tensors.at[written].name);
        l->failed = true;
        return false;
    }
    return true;
}

// Computes the tensor for `reader` inside loop number `loop` of `owner`, in front of `before`.
static void compute(Lower *l, Inst *reader, int tensor, Inst *owner, int loop, TreeItem *before) {
    TreeItem *at = owner->loop[loop];
    Window w = needed(l, reader, tensor, at);
    for (int i = 0; i < l->window.n; i++) {
        if (!same_window(l, &l->window.at[i], &w)) continue;
        vec_push(l->arena, &reader->stores, ((TensorStore){tensor, l->window.at[i].store}));
        return;
    }
    const Store *like = &l->store.at[l->store_of[tensor]];
    w.store = storage_new(l, tensor, like->storage, like->named);
    vec_push(l->arena, &l->window, w);
    vec_push(l->arena, &reader->stores, ((TensorStore){tensor, w.store}));
    for (int k = 0; k < reader->stmt && !l->failed; k++) {
        if (l->info[k].s->write->tensor != tensor || !unchanged(l, k, reader)) continue;
        Inst *inst = inst_new(l, k);
        inst->reader = owner;
        inst->reader_loops = loop + 1;
        vec_push(l->arena, &inst->stores, ((TensorStore){tensor, w.store}));
        confine(l, inst, &w);
        if (plan_make(l, inst, &inst->plan)) nest_place(l, inst, 0, at, before);
    }
}

// --- Where -------------------------------------------------------------------------------------

static bool find_at(Lower *l, Inst *inst, int tensor, Inst **owner, int *at) {
    const LoopRef *ref = l->at[tensor];
    if (loop_find(inst, ref, owner, at)) return true;
    if (l->failed) return false;
    Diag *d = diag_report(l->diags, ref->range, DIAG_SCHEDULE_AT_LOOP, inst->info->s->label,
                          l->p->tensors.at[tensor].name, ref_text(l->arena, ref));
    suggest_loop(l, d, ref, inst);
    l->failed = true;
    return false;
}

// A window reads elements of other iterations. An open loop that contains a writer of its operands
// cannot be shared.
static bool reads_open(const Lower *l, int tensor, int upto, int steps, int depth) {
    for (int k = 0; k < upto && depth < PROGRAM_MAX_STMTS; k++) {
        const StmtInfo *info = &l->info[k];
        if (info->s->write->tensor != tensor) continue;
        for (int r = 0; r < info->facts->nreads; r++) {
            int t = info->facts->read[r]->tensor;
            if (l->at[t] ? t != tensor && reads_open(l, t, k, steps, depth + 1) : false)
                return true;
            for (int i = l->last_record[t]; i >= 0; i = l->record.at[i].next)
                if (l->record.at[i].write && l->open.at[steps]->first <= l->record.at[i].leaf)
                    return true;
        }
    }
    return false;
}

int window_limit(Lower *l, Inst *inst, int shared, int steps) {
    for (int r = 0; r < inst->info->facts->nreads && !l->failed; r++) {
        int tensor = inst->info->facts->read[r]->tensor, at;
        Inst *owner;
        if (!l->at[tensor] || !find_at(l, inst, tensor, &owner, &at)) continue;
        shared = (int)max_i64(min_i64(shared, at + 1), steps);
        if (shared > steps && reads_open(l, tensor, inst->stmt, steps, 0)) shared = steps;
    }
    return shared;
}

// The child of `outer` on the path to `before` in `parent`.
static TreeItem *child_towards(TreeItem *outer, TreeItem *parent, TreeItem *before) {
    if (outer == parent) return before;
    while (parent->parent != outer) parent = parent->parent;
    return parent;
}

void windows_outside(Lower *l, Inst *inst, TreeItem *parent, TreeItem *before) {
    for (int r = 0; r < inst->info->facts->nreads && !l->failed; r++) {
        int tensor = inst->info->facts->read[r]->tensor, at;
        Inst *owner;
        if (!l->at[tensor] || stores(inst, tensor)) continue;
        if (!find_at(l, inst, tensor, &owner, &at) || owner == inst) continue;
        compute(l, inst, tensor, owner, at, child_towards(owner->loop[at], parent, before));
    }
}

// Is every definition of the tensor the same in all steps inside of loop `at`?
static bool fixed_inside(const Lower *l, int tensor, int upto, int at) {
    for (int k = 0; k < upto; k++)
        if (l->info[k].s->write->tensor == tensor && at < l->info[k].s->serial - 1) return false;
    return true;
}

// Inside an outer loop of steps a window is shared by the steps of the inner ones.
bool windows_in_step(Lower *l, Inst *inst) {
    for (int r = 0; r < inst->info->facts->nreads && !l->failed; r++) {
        int tensor = inst->info->facts->read[r]->tensor, at;
        Inst *owner;
        if (!l->at[tensor] || !find_at(l, inst, tensor, &owner, &at)) continue;
        if (owner != inst || at >= inst->info->steps - 1) continue;
        if (fixed_inside(l, tensor, inst->stmt, at)) continue;
        diag_report(l->diags, l->at[tensor]->range, DIAG_SCHEDULE_AT_STEPS,
                    l->p->tensors.at[tensor].name);
        l->failed = true;
    }
    return !l->failed;
}

void windows_inside(Lower *l, Inst *inst, int loop, TreeItem *before) {
    for (int r = 0; r < inst->info->facts->nreads && !l->failed; r++) {
        int tensor = inst->info->facts->read[r]->tensor, at;
        Inst *owner;
        if (!l->at[tensor] || stores(inst, tensor)) continue;
        if (find_at(l, inst, tensor, &owner, &at) && owner == inst && at == loop)
            compute(l, inst, tensor, inst, loop, before);
    }
}
