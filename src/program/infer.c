// Range inference: the order of work. See infer.h for the rule and infer_impl.h for the other
// files.
//
// All definitions of a tensor are handled together, after the tensors they read (a queue of tensors
// whose reads are all known). Each statement runs its own rounds; then the ranges found for one
// position of the written tensor intersect, and a definition without a range for a position takes
// that of the others. Once the tensor's own range is known, reads of itself may bound the remaining
// iterators (T(i,j) += T(i,k)).
//
// Tensors that read each other in a cycle (T, then U from T, then T again from U) are resolved in
// program order: a tensor's range is fixed by the definitions that need nothing unknown, and later
// ones must fit.
#include "program/infer_impl.h"

#include "base/bug.h"

// --- Setting up --------------------------------------------------------------------------------

static Cons make_cons(Infer *in, const InferWork *w, const InferRead *r, const Access *access,
                      int d, const Affine *lo, const Affine *hi) {
    return (Cons){
        .w = w,
        .read = r,
        .access = access,
        .dim = d,
        .mode = r ? r->mode : READ_PLAIN,
        .sub = infer_put_in(in, access->sub[d]),
        .lo = lo,
        .hi = hi,
        .iters = affine_iter_mask(access->sub[d]),
    };
}

// Dimension d of an access stays inside its tensor.
static void add_inside(Infer *in, InferWork *w, const InferRead *r, const Access *access, int d) {
    const Affine *lo = tensor_lo(in, access->tensor, d), *hi = tensor_hi(in, access->tensor, d);
    w->cons[w->ncons++] = make_cons(in, w, r, access, d, lo, hi);
}

// Constraints of the reads of tensors whose range is known by now; those of the written tensor
// itself with `self`.
static void add_cons(Infer *in, InferWork *w, bool self) {
    for (int r = 0; r < w->info->nreads; r++) {
        const InferRead *read = &w->info->reads[r];
        int t = read->access->tensor;
        if (w->included[r] || (!self && t == w->stmt->write->tensor)) continue;
        w->tainted |= in->shape[t].failed;
        if (!in->shape[t].ranged) continue;
        w->included[r] = true;
        for (int d = 0; d < read->access->rank; d++) {
            if (read->mode == READ_PADDED && affine_as_iter(read->access->sub[d]) < 0) continue;
            add_inside(in, w, read, read->access, d);
        }
    }
}

static bool declared(const Infer *in, int t) {
    const Tensor *tensor = &in->p->tensors.at[t];
    for (int d = 0; d < tensor->rank; d++)
        if (!tensor->size || !tensor->size[d]) return false;
    return true;
}

// The range of the written tensor is known already: a bare iterator without range takes it, other
// subscripts must fit.
static void give_written(Infer *in, InferWork *w) {
    const Access *write = w->stmt->write;
    for (int d = 0; d < write->rank; d++) {
        int v = affine_as_iter(write->sub[d]);
        if (v < 0 || !(w->unknown >> v & 1)) {
            add_inside(in, w, NULL, write, d);
            continue;
        }
        w->var[v].lo = tensor_lo(in, write->tensor, d);
        w->var[v].hi = tensor_hi(in, write->tensor, d);
        w->var[v].state = VAR_GIVEN;
        w->var[v].declared = !w->late;
        w->unknown &= ~(UINT32_C(1) << v);
    }
}

static void set_up(Infer *in, InferWork *w) {
    Stmt *s = w->stmt;
    int max = 2 * s->write->rank, before = in->diags->items.n;
    for (int r = 0; r < w->info->nreads; r++) max += w->info->reads[r].access->rank;
    w->cons = arena_new_n(in->arena, Cons, max);
    w->var = arena_new_n(in->arena, Var, s->niters);
    w->included = arena_new_n(in->arena, bool, w->info->nreads);
    w->set_up = true;
    for (int i = 0; i < s->niters; i++) {
        if (s->iter[i].hi)
            w->var[i] = (Var){.state = VAR_GIVEN,
                              .lo = infer_put_in(in, s->iter[i].lo),
                              .hi = infer_put_in(in, s->iter[i].hi)};
        else
            w->unknown |= UINT32_C(1) << i;
    }
    w->tainted |= !infer_check_where(in, w);
    program_note_calls(in->diags, before, s->call);
    if (in->shape[s->write->tensor].ranged) give_written(in, w);
    add_cons(in, w, false);
}

// --- Rounds ------------------------------------------------------------------------------------

static void start_bounds(Infer *in, InferWork *w) {
    for (int v = 0; v < w->stmt->niters; v++) {
        if (!(w->unknown >> v & 1)) continue;
        w->var[v].lower.n = w->var[v].upper.n = 0;
        vec_push(in->arena, &w->var[v].lower, ((Bound){in->zero, NULL}));
    }
}

// One round: the iterators that are alone in some constraint. Ranges found in this round serve the
// next one only, so the order of constraints does not matter.
static uint32_t one_round(Infer *in, InferWork *w) {
    uint32_t solved = 0;
    start_bounds(in, w);
    for (int c = 0; c < w->ncons; c++) {
        uint32_t open = w->cons[c].iters & w->unknown;
        if (open == 0 || (open & (open - 1))) continue;
        int v = __builtin_ctz(open);
        infer_solve(in, w, &w->cons[c], v, &w->cons[c].low_done, &w->cons[c].high_done);
        if (w->var[v].upper.n > 0) solved |= open;
    }
    for (int c = 0; c < w->ncons; c++) {
        uint32_t open = w->cons[c].iters & w->unknown;
        if (open & ~solved) w->cons[c].low_done = w->cons[c].high_done = false;
    }
    for (int v = 0; v < w->stmt->niters; v++)
        if (solved >> v & 1) infer_settle(in, w, &w->var[v]);
    w->unknown &= ~solved;
    return solved;
}

static void rounds(Infer *in, InferWork *w) {
    while (w->unknown && one_round(in, w)) continue;
}

// --- The definitions of one tensor -------------------------------------------------------------

#define EACH_DEFINITION(in, t, w)                                                                  \
    for (InferWork *w = (in)->shape[t].first < 0 ? NULL : &(in)->work[(in)->shape[t].first]; w;    \
         w = w->next < 0 ? NULL : &(in)->work[w->next])

// The least and the greatest of two ends, without a min() or max() that can be avoided.
static const Affine *hull_lo(Infer *in, const Affine *a, const Affine *b) {
    if (!a || infer_proves_le(in, NULL, b, a)) return b;
    return infer_proves_le(in, NULL, a, b) ? a : affine_min(in->x, a, b);
}

const Affine *infer_hull_hi(Infer *in, const Affine *a, const Affine *b) {
    if (!a || infer_proves_le(in, NULL, a, b)) return b;
    return infer_proves_le(in, NULL, b, a) ? a : affine_max(in->x, a, b);
}

static void add_bounds(Infer *in, Bounds *to, const Bounds *from) {
    for (int i = 0; i < from->n; i++) {
        bool there = false;
        for (int j = 0; j < to->n; j++) there |= to->at[j].at == from->at[i].at;
        if (!there) vec_push(in->arena, to, from->at[i]);
    }
}

static Bounds copy_bounds(Infer *in, const Bounds *from) {
    Bounds to = {0};
    add_bounds(in, &to, from);
    return to;
}

// The intersection of the bounds inferred for position d of t; no bounds where there are none.
static Var position(Infer *in, int t, int d) {
    Var all = {.state = VAR_UNKNOWN};
    int found = 0;
    EACH_DEFINITION(in, t, w) {
        int v = w->set_up ? affine_as_iter(w->stmt->write->sub[d]) : -1;
        if (v < 0 || w->var[v].state != VAR_INFERRED) continue;
        if (found++ == 0) {
            all = w->var[v];
            continue;
        }
        if (found == 2)
            all = (Var){.lower = copy_bounds(in, &all.lower), .upper = copy_bounds(in, &all.upper)};
        add_bounds(in, &all.lower, &w->var[v].lower);
        add_bounds(in, &all.upper, &w->var[v].upper);
    }
    if (found > 1) infer_settle(in, NULL, &all);
    return all;
}

// The range of a subscript that is linear in iterators with explicit ranges; NULLs: it is none.
static void explicit_range(Infer *in, const InferWork *w, const Affine *sub, const Affine **lo,
                           const Affine **hi) {
    Exprs *x = in->x;
    const Affine *least = affine_const(x, sub->constant), *most = least;
    for (int i = 0; i < sub->n && least; i++) {
        const Term *t = &sub->term[i];
        const Affine *first = affine_make(x, 0, &(Term){t->atom, 1}, 1), *last = first;
        if (t->atom->kind == ATOM_ITER) {
            const Iter *it = &w->stmt->iter[t->atom->index];
            first = it->hi ? it->lo : NULL;
            last = it->hi ? affine_add_const(x, it->hi, -1) : NULL;
        } else if (t->atom->kind != ATOM_PARAM) {
            first = NULL;
        }
        least = first ? affine_add(x, least, affine_scale(x, t->coef < 0 ? last : first, t->coef))
                      : NULL;
        most = first ? affine_add(x, most, affine_scale(x, t->coef < 0 ? first : last, t->coef))
                     : NULL;
    }
    *lo = least ? infer_put_in(in, least) : NULL;
    *hi = least ? infer_put_in(in, affine_add_const(x, most, 1)) : NULL;
}

// The hull of the explicit ranges at position d of t: all definitions, or those before `end`.
// A definition without an iterator there, such as the first step of a scan, T(0) = .., counts if
// another one has a range. With `all`, each definition must have an explicit range.
static bool explicit_hull(Infer *in, int t, int d, const InferWork *end, bool all,
                          const Affine **lo, const Affine **hi) {
    bool found = false;
    *lo = *hi = NULL;
    EACH_DEFINITION(in, t, w) {
        if (w == end) break;
        const Affine *sub = w->stmt->write->sub[d], *from, *to;
        int v = affine_as_iter(sub);
        explicit_range(in, w, sub, &from, &to);
        if (!from || (v < 0 && affine_iter_mask(sub))) {
            if (all) return false;
            continue;
        }
        found |= v >= 0;
        *lo = hull_lo(in, *lo, from);
        *hi = infer_hull_hi(in, *hi, to);
    }
    return found;
}

// An update in place, T(i) = T(i) * .., stays within the explicit ranges of the definitions before.
static void bound_in_place(Infer *in, InferWork *w) {
    const Access *write = w->stmt->write;
    const InferRead *own = NULL;
    for (int r = 0; r < w->info->nreads; r++)
        if (w->info->reads[r].access == write) own = &w->info->reads[r];
    for (int d = 0; own && d < write->rank; d++) {
        int v = affine_as_iter(write->sub[d]);
        const Affine *lo, *hi;
        if (v < 0 || !(w->unknown >> v & 1) ||
            !explicit_hull(in, write->tensor, d, w, true, &lo, &hi))
            continue;
        w->cons[w->ncons++] = make_cons(in, w, own, write, d, lo, hi);
    }
}

static Var inferred(Infer *in, const Affine *lo, const Affine *hi) {
    Var v = {.state = VAR_UNKNOWN};
    vec_push(in->arena, &v.lower, ((Bound){lo, NULL}));
    vec_push(in->arena, &v.upper, ((Bound){hi, NULL}));
    infer_settle(in, NULL, &v);
    return v;
}

// A definition that is stuck at a position takes the bounds that the others have there.
static bool adopt(Infer *in, int t) {
    bool progress = false;
    for (int d = 0; d < in->p->tensors.at[t].rank; d++) {
        Var all = position(in, t, d);
        if (all.state == VAR_UNKNOWN) {
            const Affine *lo, *hi;
            if (!explicit_hull(in, t, d, NULL, false, &lo, &hi)) continue;
            all = inferred(in, lo, hi);
        }
        EACH_DEFINITION(in, t, w) {
            int v = w->set_up ? affine_as_iter(w->stmt->write->sub[d]) : -1;
            if (v < 0 || !(w->unknown >> v & 1)) continue;
            w->var[v] = all;
            w->unknown &= ~(UINT32_C(1) << v);
            progress = true;
        }
    }
    return progress;
}

// Where w writes in dimension d.
static bool written_range(Infer *in, const InferWork *w, int d, const Affine **lo,
                          const Affine **hi) {
    const Affine *sub = w->stmt->write->sub[d];
    int v = affine_as_iter(sub);
    bool exact;
    if (!w->set_up) { // a late one: counts with its explicit ranges only
        explicit_range(in, w, sub, lo, hi);
        return true;
    }
    if (v >= 0) {
        *lo = w->var[v].lo;
        *hi = w->var[v].hi;
        return true;
    }
    sub = infer_put_in(in, sub);
    *lo = infer_bound(in, w, sub, false, &exact);
    *hi = infer_bound(in, w, sub, true, &exact);
    if (!*lo || !*hi) return false;
    *hi = affine_add_const(in->x, *hi, 1);
    return true;
}

// Definitions that are still stuck at a position take the hull of the others, whatever their
// subscripts:  O(i + k) +=! A(i)*W(k)   O(h) = max(O(h), 0).
static bool adopt_hull(Infer *in, int t) {
    bool progress = false;
    for (int d = 0; d < in->p->tensors.at[t].rank; d++) {
        const Affine *from = NULL, *to = NULL, *lo, *hi;
        EACH_DEFINITION(in, t, w) {
            const Affine *sub = w->stmt->write->sub[d];
            if (w->set_up && affine_iter_mask(sub) & w->unknown) continue;
            if (!written_range(in, w, d, &lo, &hi) || !lo) continue;
            from = hull_lo(in, from, lo);
            to = infer_hull_hi(in, to, hi);
        }
        if (!from) continue;
        EACH_DEFINITION(in, t, w) {
            int v = w->set_up ? affine_as_iter(w->stmt->write->sub[d]) : -1;
            if (v < 0 || !(w->unknown >> v & 1)) continue;
            w->var[v] = inferred(in, from, to);
            w->unknown &= ~(UINT32_C(1) << v);
            progress = true;
        }
    }
    return progress;
}

static bool written_is_known(Infer *in, int t) {
    EACH_DEFINITION(in, t, w) {
        if (!w->set_up) continue;
        for (int d = 0; d < w->stmt->write->rank; d++)
            if (affine_iter_mask(w->stmt->write->sub[d]) & w->unknown) return false;
    }
    return true;
}

// Intersects the inferred ranges at every position.
static void intersect(Infer *in, int t) {
    if (in->shape[t].first == in->shape[t].last) return;
    for (int d = 0; d < in->p->tensors.at[t].rank; d++) {
        Var all = position(in, t, d);
        EACH_DEFINITION(in, t, w) {
            int v = w->set_up ? affine_as_iter(w->stmt->write->sub[d]) : -1;
            if (v >= 0 && w->var[v].state == VAR_INFERRED) w->var[v] = all;
        }
    }
}

static bool report_size(Infer *in, const InferWork *w, int d) {
    int before = in->diags->items.n;
    infer_report_size(in, w, d);
    program_note_calls(in->diags, before, w->stmt->call);
    return false;
}

static bool range_dimension(Infer *in, int t, int d) {
    Tensor *tensor = &in->p->tensors.at[t];
    const Affine *from = NULL, *to = NULL;
    const InferWork *scatter = NULL;
    bool clamped = true;
    EACH_DEFINITION(in, t, w) {
        const Affine *lo, *hi;
        if (!written_range(in, w, d, &lo, &hi)) {
            // a scatter writes where the others allow, which is checked at run time
            if (!w->stmt->write->sub[d]->has_read) return report_size(in, w, d);
            scatter = w;
            continue;
        }
        if (!lo) continue;
        from = hull_lo(in, from, lo);
        to = infer_hull_hi(in, to, hi);
        int v = affine_as_iter(w->stmt->write->sub[d]);
        bool inferred = v >= 0 && w->set_up && w->var[v].state == VAR_INFERRED;
        clamped &= inferred || (affine_is_const(lo) && lo->constant >= 0);
    }
    if (!from && scatter) return report_size(in, scatter, d);
    if (!from) bug("dimension %d of a tensor is written nowhere", d);
    tensor->origin[d] = from;
    tensor->size[d] = affine_sub(in->x, to, from);
    in->shape[t].clamped[d] = clamped;
    return true;
}

// Fixes size and origin of t: the hull of the elements that its definitions write.
static bool range_tensor(Infer *in, int t) {
    Tensor *tensor = &in->p->tensors.at[t];
    intersect(in, t);
    if (!in->shape[t].ranged) {
        if (!tensor->size) tensor->size = arena_new_n(in->arena, const Affine *, tensor->rank);
        if (!tensor->origin) tensor->origin = arena_new_n(in->arena, const Affine *, tensor->rank);
        in->shape[t].clamped = arena_new_n(in->arena, bool, tensor->rank);
        for (int d = 0; d < tensor->rank; d++)
            if (!range_dimension(in, t, d)) return false;
    }
    in->shape[t].ranged = true;
    for (int k = in->shape[t].extent; k >= 0; k = in->next_extent[k]) {
        int d = in->extents.at[k].dim;
        in->found[in->extents.first + k] =
            in->extents.at[k].origin ? tensor_lo(in, t, d) : infer_put_in(in, tensor->size[d]);
    }
    return true;
}

// Rounds for all definitions, which use each other's ranges, until nothing changes.
static void solve_together(Infer *in, int t) {
    bool self = false;
    in->guess = false;
    EACH_DEFINITION(in, t, w) if (w->set_up && !in->shape[t].ranged) bound_in_place(in, w);
    for (;;) {
        uint32_t open = 0;
        EACH_DEFINITION(in, t, w) {
            if (!w->set_up) continue;
            rounds(in, w);
            open |= w->unknown;
        }
        if (!open) return;
        if (adopt(in, t)) continue;
        if (!in->guess) {
            in->guess = true;
            continue;
        }
        bool progress = false;
        EACH_DEFINITION(in, t, w) if (w->set_up) progress |= infer_reach_guarded(in, w);
        if (progress || adopt_hull(in, t)) continue;
        if (self || !written_is_known(in, t) || !range_tensor(in, t)) return;
        self = true;
        EACH_DEFINITION(in, t, w) if (w->set_up) add_cons(in, w, true);
    }
}

static bool complete(Infer *in, InferWork *w) {
    if (!w->unknown) return true;
    bool overflow = in->x->overflow || in->x->too_large; // reported at the end
    int before = in->diags->items.n;
    if (!w->tainted && !overflow) infer_report_unknown(in, w);
    program_note_calls(in->diags, before, w->stmt->call);
    in->failed = true;
    return false;
}

// Every tensor that w reads is known, or is the one it writes.
static bool is_ready(const Infer *in, const InferWork *w) {
    for (int r = 0; r < w->info->nreads; r++) {
        int t = w->info->reads[r].access->tensor;
        if (t != w->stmt->write->tensor && !in->shape[t].ranged && !in->shape[t].failed)
            return false;
    }
    return true;
}

static void solve_tensor(Infer *in, int t, bool in_circle) {
    Shape *shape = &in->shape[t];
    bool first = true, ok = true;
    EACH_DEFINITION(in, t, w) {
        if (!in_circle || first || is_ready(in, w))
            set_up(in, w);
        else
            w->late = true;
        first = false;
    }
    solve_together(in, t);
    EACH_DEFINITION(in, t, w) {
        if (w->set_up) ok &= complete(in, w);
        if (w->tainted) ok = false;
    }
    shape->done = true;
    shape->failed = !ok || !range_tensor(in, t);
    in->failed |= shape->failed;
}

// --- The Program -------------------------------------------------------------------------------

static void find_definitions(Infer *in, const InferStmt *info) {
    Program *p = in->p;
    in->work = arena_new_n(in->arena, InferWork, p->stmts.n);
    in->shape = arena_new_n(in->arena, Shape, p->tensors.n);
    for (int t = 0; t < p->tensors.n; t++) {
        in->shape[t].first = in->shape[t].last = in->shape[t].extent = -1;
        in->shape[t].ranged = declared(in, t);
    }
    for (int s = 0; s < p->stmts.n; s++) {
        Stmt *stmt = &p->stmts.at[s];
        in->work[s] = (InferWork){.stmt = stmt, .info = &info[s], .next = -1};
        Shape *shape = &in->shape[stmt->write->tensor];
        if (shape->first < 0)
            shape->first = s;
        else
            in->work[shape->last].next = s;
        shape->last = s;
    }
    for (int t = 0; t < p->tensors.n; t++) {
        const Tensor *tensor = &p->tensors.at[t];
        if (in->shape[t].ranged || in->shape[t].first >= 0) continue;
        diag_report(in->diags, tensor->range, DIAG_INFER_UNDEFINED, tensor->name);
        in->shape[t].failed = true;
    }
}

static void find_extents(Infer *in) {
    InferExtents all = in->extents;
    in->next_extent = arena_new_n(in->arena, int, all.n);
    in->found = arena_new_n(in->arena, const Affine *, in->p->params.n);
    for (int k = 0; k < all.n; k++) {
        int *first = &in->shape[all.at[k].tensor].extent;
        in->next_extent[k] = *first;
        *first = k;
    }
}

// `to` waits for `from`, unless `from` is an input or a declared tensor.
static void wait_for(Infer *in, int to, int from) {
    Shape *shape = &in->shape[from];
    if (from == to || shape->ranged || shape->first < 0) return;
    Edge *e = arena_new(in->arena, Edge);
    *e = (Edge){to, shape->readers};
    shape->readers = e;
    in->shape[to].pending++;
}

// For the tensors whose extents occur in the affine.
static void wait_for_extents(Infer *in, int to, const Affine *a) {
    for (int i = 0; a && a->has_param && i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_PARAM && t->index >= in->extents.first)
            wait_for(in, to, in->extents.at[t->index - in->extents.first].tensor);
        if (t->a) wait_for_extents(in, to, t->a), wait_for_extents(in, to, t->b);
    }
}

static void wait_for_access(Infer *in, int to, const Access *a) {
    const Tensor *t = &in->p->tensors.at[a->tensor];
    for (int d = 0; d < a->rank; d++) {
        wait_for_extents(in, to, a->sub[d]);
        if (t->size && in->shape[a->tensor].ranged) wait_for_extents(in, to, t->size[d]);
    }
}

static void find_readers(Infer *in) {
    for (int s = 0; s < in->p->stmts.n; s++) {
        const InferWork *w = &in->work[s];
        int to = w->stmt->write->tensor;
        for (int r = 0; r < w->info->nreads; r++)
            wait_for(in, to, w->info->reads[r].access->tensor);
        if (!in->extents.n) continue;
        for (int r = 0; r < w->info->nreads; r++) wait_for_access(in, to, w->info->reads[r].access);
        wait_for_access(in, to, w->stmt->write);
        for (int i = 0; i < w->stmt->niters; i++) {
            wait_for_extents(in, to, w->stmt->iter[i].lo);
            wait_for_extents(in, to, w->stmt->iter[i].hi);
        }
    }
}

static void solve_all(Infer *in) {
    Program *p = in->p;
    VEC(int) ready = {0};
    int next_stmt = 0;
    for (int s = 0; s < p->stmts.n; s++) {
        int t = p->stmts.at[s].write->tensor;
        if (in->shape[t].first == s && in->shape[t].pending == 0) vec_push(in->arena, &ready, t);
    }
    for (int at = 0;; at++) {
        bool in_circle = at == ready.n;
        while (in_circle && next_stmt < p->stmts.n &&
               in->shape[p->stmts.at[next_stmt].write->tensor].done)
            next_stmt++;
        if (in_circle && next_stmt == p->stmts.n) break;
        if (in_circle) vec_push(in->arena, &ready, p->stmts.at[next_stmt].write->tensor);
        int t = ready.at[at];
        if (in->shape[t].done) continue;
        solve_tensor(in, t, in_circle);
        for (Edge *e = in->shape[t].readers; e; e = e->next)
            if (--in->shape[e->tensor].pending == 0 && !in->shape[e->tensor].done)
                vec_push(in->arena, &ready, e->tensor);
    }
    for (int s = 0; s < p->stmts.n; s++) {
        InferWork *w = &in->work[s];
        if (!w->late || in->shape[w->stmt->write->tensor].failed) continue;
        set_up(in, w);
        add_cons(in, w, true);
        in->guess = true;
        rounds(in, w);
        while (infer_reach_guarded(in, w)) rounds(in, w);
        complete(in, w);
    }
}

static void write_ranges(InferWork *w) {
    for (int i = 0; i < w->stmt->niters; i++) {
        w->stmt->iter[i].lo = w->var[i].lo;
        w->stmt->iter[i].hi = w->var[i].hi;
    }
}

// Tensors that came with a size may have come without an origin.
static void fill_origins(Infer *in) {
    for (int t = 0; t < in->p->tensors.n; t++) {
        Tensor *tensor = &in->p->tensors.at[t];
        if (!tensor->origin) tensor->origin = arena_new_n(in->arena, const Affine *, tensor->rank);
        for (int d = 0; d < tensor->rank; d++)
            if (!tensor->origin[d]) tensor->origin[d] = in->zero;
    }
}

bool program_infer(Program *p, const InferStmt *stmts, InferExtents extents, DiagList *diags) {
    Infer in = {.p = p, .x = p->exprs, .arena = p->arena, .diags = diags, .extents = extents};
    int before = diags->errors;
    bool overflow_before = p->exprs->overflow, large_before = p->exprs->too_large;
    p->exprs->overflow = p->exprs->too_large = false;
    for (int s = 0; s < p->stmts.n; s++) {
        int n = p->stmts.at[s].niters;
        if (n <= PROGRAM_MAX_ITERS) continue;
        diag_report(diags, p->stmts.at[s].range, DIAG_PROGRAM_LIMIT, n, "iterators",
                    PROGRAM_MAX_ITERS);
        return false;
    }
    in.zero = affine_const(p->exprs, 0);
    infer_init_facts(&in);
    find_definitions(&in, stmts);
    find_extents(&in);
    find_readers(&in);
    solve_all(&in);
    for (int s = 0; s < p->stmts.n; s++) {
        InferWork *w = &in.work[s];
        bool overflow = p->exprs->overflow || p->exprs->too_large;
        if (!w->set_up || w->unknown || w->tainted || overflow) continue;
        int first = diags->items.n;
        write_ranges(w);
        add_cons(&in, w, true);
        infer_check_ranges(&in, w);
        infer_check_accesses(&in, w);
        program_note_calls(diags, first, w->stmt->call);
    }
    fill_origins(&in);
    if (p->exprs->overflow || p->exprs->too_large)
        diag_report(diags, p->stmts.n ? p->stmts.at[0].range : (Range){0, 0}, DIAG_INFER_OVERFLOW);
    p->exprs->overflow = overflow_before; // the caller's to report
    p->exprs->too_large = large_before;
    return !in.failed && diags->errors == before;
}
