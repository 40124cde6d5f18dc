// Keeps elements in registers while a serial loop runs: elements whose address does not change in
// the loop, and that no other thread accesses meanwhile.
#include "code/ptx/ptx_impl.h"

#include "base/checked.h"

#include <string.h>

enum { MOST_PROMOTED = 160 };

typedef struct Candidate {
    const Affine *rest;
    bool any, bad, written;
    const GpuDigits *digits; // if the loop has barriers
    const GpuNode *first;    // the first leaf that accesses the buffer
    int n;
} Candidate;

typedef struct Element {
    int buffer;
    const Affine *rest;
    int64_t constant;
    // Guards common to all leaves that access it, outside the loop's own indices.
    GpuNode *guards;
    bool exact;           // some leaf that certainly runs has exactly these guards
    const GpuNode *first; // guards of the first leaf
    bool assigned;        // by the first leaf
    bool pending;         // a store was pending before the loop, whatever the guards say
} Element;

// The elements that one loop keeps in registers.
struct Promotion {
    const GpuNode *loop;
    VEC(Element) element;
    int idle; // number of idle guards before this loop
    struct Promotion *outer;
};

typedef struct Look {
    Candidate *of; // per buffer
    VEC(Element) element;
    VEC(int) inner; // ids of serial loops
    bool barrier;
    const GpuNode *leaf;
    GpuNode *guards;   // guards_of this instance of the leaf; NULL: not yet known
    int sure;          // does it surely run? -1: not yet known
    const bool *fixed; // per guard of the leaf: the loop does not change it
    bool writing; // the access is the one that the leaf writes; the leaf may also read that element
    KernelWriter *w;
} Look;

static void find_inner(Look *l, const GpuNode *n) {
    if (n->kind == GPU_LOOP && !n->unroll) vec_push(l->w->arena, &l->inner, n->id);
    if (n->kind == GPU_BARRIER || n->kind == GPU_WAIT || n->kind == GPU_REDUCE) l->barrier = true;
    for (int i = 0; i < n->child.n; i++) find_inner(l, n->child.at[i]);
}

static bool is_fixed(const Look *l, const Affine *a) {
    for (int i = 0; i < l->inner.n; i++)
        if (affine_uses_iter(a, l->inner.at[i])) return false;
    return true;
}

static void look_at_leaf(Look *l, const GpuNode *leaf) {
    bool *fixed = arena_new_n(l->w->arena, bool, leaf->where.n);
    for (int i = 0; i < leaf->where.n; i++) fixed[i] = is_fixed(l, leaf->where.at[i]);
    l->leaf = leaf;
    l->fixed = fixed;
}

// The guards of the current leaf that the loop does not change, with the values of unrolled loops
// substituted.
static const GpuNode *guards_now(Look *l) {
    KernelWriter *w = l->w;
    if (l->guards) return l->guards;
    GpuNode *n = l->guards = arena_new(w->arena, GpuNode);
    for (int i = 0; i < l->leaf->where.n; i++) {
        if (!l->fixed[i]) continue;
        const Affine *a = affine_fixed(w, l->leaf->where.at[i]);
        if (!affine_is_const(a) || a->constant < 0) vec_push(w->arena, &n->guard, a);
    }
    return n;
}

static GpuNode *guards_copy(Look *l) {
    const GpuNode *from = guards_now(l);
    GpuNode *n = arena_new(l->w->arena, GpuNode);
    for (int i = 0; i < from->guard.n; i++) vec_push(l->w->arena, &n->guard, from->guard.at[i]);
    return n;
}

static bool has_guard(const GpuNode *n, const Affine *a) {
    for (int i = 0; i < n->guard.n; i++)
        if (n->guard.at[i] == a) return true;
    return false;
}

// Does the leaf run in the first (or last) iteration, wherever the outer guards hold? If not, this
// thread may never access the element, which may lie outside the buffer or belong to another
// thread.
static bool surely_runs_at(const Look *l, const GpuNode *leaf, bool last) {
    KernelWriter *w = l->w;
    int n = l->inner.n;
    int64_t *lo = arena_new_n(w->arena, int64_t, n), *hi = arena_new_n(w->arena, int64_t, n);
    bool all = true;
    for (int i = 0; i < n; i++) {
        int id = l->inner.at[i];
        lo[i] = w->g->lo[id];
        hi[i] = w->g->hi[id];
        w->g->lo[id] = w->g->hi[id] = last ? hi[i] : lo[i];
    }
    for (int i = 0; i < leaf->where.n && all; i++)
        all = l->fixed[i] || guard_known(w, leaf->where.at[i]) == ANSWER_YES;
    for (int i = 0; i < n; i++) {
        w->g->lo[l->inner.at[i]] = lo[i];
        w->g->hi[l->inner.at[i]] = hi[i];
    }
    return all;
}

static bool surely_runs(Look *l) {
    const GpuNode *leaf = l->leaf;
    int changing = 0;
    if (l->sure >= 0) return l->sure;
    for (int i = 0; i < leaf->where.n; i++) changing += !l->fixed[i];
    l->sure = !changing || surely_runs_at(l, leaf, false) || surely_runs_at(l, leaf, true);
    return l->sure;
}

static bool never_runs(const Look *l) {
    for (int i = 0; i < l->leaf->where.n; i++)
        if (!l->fixed[i] && guard_known(l->w, l->leaf->where.at[i]) == ANSWER_NO) return true;
    return false;
}

// Another leaf accesses the element: keeps the guards that both have.
static void meet_guards(Element *e, const GpuNode *other, bool sure) {
    int n = 0, before = e->guards->guard.n;
    for (int i = 0; i < before; i++)
        if (has_guard(other, e->guards->guard.at[i]))
            e->guards->guard.at[n++] = e->guards->guard.at[i];
    e->exact = (sure && n == other->guard.n) || (e->exact && n == before);
    e->guards->guard.n = n;
}

// Do the digits of all threads occur in the address, as in the accesses before?
static bool owns_element(const Look *l, Candidate *c, const Access *a) {
    const KernelWriter *w = l->w;
    unsigned used = gpu_used_axes(w->k);
    GpuDigits *d = arena_new(w->arena, GpuDigits);
    bool own = gpu_digits(w->g, w->k, a, d) && (d->axes & used) == used &&
               (!c->any || gpu_digits_equal(d, c->digits));
    c->digits = d;
    return own;
}

// Decides whether a buffer is a candidate, by the form of its accesses.
static void judge_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Look *l = user;
    KernelWriter *w = l->w;
    Candidate *c = &l->of[a->tensor];
    const GpuBuffer *b = &w->k->buffer[a->tensor];
    if (b->space == GPU_REGISTER || !b->written || c->bad) return;
    const AccessPlan *p = access_plan(w, a);
    bool own = !l->barrier || owns_element(l, c, a);
    c->bad = p->hard || l->leaf->vector > 1 || l->leaf->async || (c->any && c->rest != p->rest) ||
             !is_fixed(l, p->rest) || !own;
    if (!c->any) c->first = l->leaf;
    c->any = true;
    c->rest = p->rest;
    c->written |= l->writing;
}

static void visit_leaf(Look *l, const GpuNode *n, AccessVisit *fn) {
    l->guards = NULL;
    l->sure = -1;
    expr_visit_accesses(n->leaf->value, fn, l);
    for (int d = 0; d < n->leaf->write->rank; d++)
        affine_visit_accesses(n->leaf->write->sub[d], fn, l);
    l->writing = true;
    fn(l, n->leaf->write, false);
    l->writing = false;
}

static void judge(Look *l, const GpuNode *n) {
    if (n->kind == GPU_LOOP && n->unroll) index_set(l->w, n->id, 0);
    if (n->kind == GPU_LEAF && !leaf_skipped(l->w, n->leaf)) {
        l->w->leaf = n->leaf;
        look_at_leaf(l, n);
        visit_leaf(l, n, judge_access);
        l->w->leaf = NULL;
        if (n->single || n->meet) l->of[n->leaf->write->tensor].bad = true;
    }
    for (int i = 0; i < n->child.n; i++) judge(l, n->child.at[i]);
}

static bool is_candidate(const Look *l, const Access *a) {
    return l->of[a->tensor].any && !l->of[a->tensor].bad;
}

static Element *element_find(Look *l, int buffer, int64_t constant) {
    for (int i = l->element.n - 1; i >= 0; i--)
        if (l->element.at[i].buffer == buffer && l->element.at[i].constant == constant)
            return &l->element.at[i];
    return NULL;
}

static void see_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Look *l = user;
    KernelWriter *w = l->w;
    Candidate *c = &l->of[a->tensor];
    if (!is_candidate(l, a)) return;
    const AccessPlan *p = access_plan(w, a);
    if (p->rest != c->rest) { // e.g. (16*i + t)/4 for another i
        c->bad = true;
        return;
    }
    int64_t k = plan_constant(w, p);
    Element *seen = element_find(l, a->tensor, k);
    if (seen) {
        if (l->leaf->where.n || seen->guards->guard.n)
            meet_guards(seen, guards_now(l), surely_runs(l));
        return;
    }
    if (c->n++ >= MOST_PROMOTED) {
        c->bad = true;
        return;
    }
    bool assigned = l->leaf == c->first && l->leaf->leaf->op == REDUCE_ASSIGN && l->writing;
    vec_push(w->arena, &l->element,
             ((Element){.buffer = a->tensor,
                        .rest = p->rest,
                        .constant = k,
                        .guards = guards_copy(l),
                        .exact = surely_runs(l),
                        .first = guards_now(l),
                        .assigned = assigned}));
}

static void see_leaf(KernelWriter *w, const GpuNode *n, void *user) {
    Look *l = user;
    if (leaf_skipped(w, n->leaf)) return;
    if (l->leaf != n) look_at_leaf(l, n);
    if (!never_runs(l)) visit_leaf(l, n, see_access);
}

// Does the first iteration assign the element, wherever it exists?
static bool assigned_first(const Look *l, const Element *e) {
    const GpuNode *leaf = l->of[e->buffer].first;
    if (!e->assigned) return false;
    for (int i = 0; i < e->first->guard.n; i++)
        if (!has_guard(e->guards, e->first->guard.at[i])) return false;
    for (int i = 0; i < leaf->where.n; i++) {
        const Affine *a = leaf->where.at[i];
        bool begins = a->n == 1 && a->constant == 0 && a->term[0].coef < 0 &&
                      a->term[0].atom->kind == ATOM_ITER && // -i >= 0: only in the first iteration
                      l->w->g->lo[a->term[0].atom->index] == 0;
        if (!is_fixed(l, a) && !begins) return false;
    }
    return true;
}

static Opnd loaded(KernelWriter *w, const Element *e) {
    // The address as the leaf computed it, with the values that unrolled loops had then.
    int64_t disp;
    Opnd address = address_of(w, e->buffer, e->rest, e->constant, &disp);
    return element_at(w, e->buffer, address, disp);
}

static void pin(KernelWriter *w, const Look *l, const Element *e, int number) {
    Held *known = loc_find(w, e->buffer, e->rest, e->constant);
    Type t = w->t->buffers.at[e->buffer].type;
    Opnd r = reg_new(w, class_of(t)), pred;
    bool dirty = known && known->dirty;
    if (known) {
        reg_assign(w, r, known->value);
    } else if (!assigned_first(l, e)) {
        Answer a = guards_value(w, e->guards, &pred);
        int end = a == ANSWER_ASK ? label_new(w) : -1;
        if (a == ANSWER_NO) return;
        memory_settle(w, e->buffer, e->rest, false);
        if (end >= 0) branch(w, pred, false, end);
        reg_assign(w, r, loaded(w, e));
        if (end >= 0) label_put(w, end);
    }
    Held *loc = known ? known : loc_new(w, e->buffer, e->rest, e->constant);
    loc->value = r;
    loc->value.var = true;
    loc->pinned = true;
    loc->promoted = number;
    loc->dirty = dirty;
    loc->align = alignment_of(w, e->buffer, e->rest);
}

static bool guard_matters(const GpuNode *leaf, const Affine *guard, const void *user) {
    (void)leaf;
    return is_fixed(user, guard);
}

static bool access_matters(const GpuNode *leaf, const Access *a, const void *user) {
    (void)leaf;
    return is_candidate(user, a);
}

static void look_at(KernelWriter *w, const GpuNode *loop, Look *l) {
    static const ElementUse use = {guard_matters, access_matters};
    *l = (Look){.w = w, .of = arena_new_n(w->arena, Candidate, w->t->buffers.n)};
    if (loop->kind == GPU_LOOP) vec_push(w->arena, &l->inner, loop->id);
    for (int i = 0; i < loop->child.n; i++) find_inner(l, loop->child.at[i]);
    for (int i = 0; i < loop->child.n; i++) judge(l, loop->child.at[i]);
    for_elements(w, loop, &use, see_leaf, l);
}

static bool never(const GpuNode *n) {
    for (int i = 0; i < n->guard.n; i++)
        if (affine_is_const(n->guard.at[i]) && n->guard.at[i]->constant < 0) return true;
    return false;
}

// The elements of the promotion are stored after the loop, under their guards.
static bool keeps_guard(KernelWriter *w, const GpuNode *leaf, const Affine *guard, void *user) {
    const struct Promotion *p = user;
    const Access *a = leaf->leaf->write;
    const AccessPlan *plan = access_plan(w, a);
    if (plan->hard || leaf->meet) return false;
    int64_t k = plan_constant(w, plan);
    const Held *held = loc_find(w, a->tensor, plan->rest, k);
    if (!held || !held->pinned || held->promoted >= p->element.n) return false;
    const Element *e = &p->element.at[held->promoted];
    return e->buffer == a->tensor && e->constant == k && e->rest == plan->rest && !e->pending &&
           has_guard(e->guards, guard);
}

void promote_enter(KernelWriter *w, const GpuNode *loop) {
    Look l;
    struct Promotion *p = arena_new(w->arena, struct Promotion);
    look_at(w, loop, &l);
    for (int i = 0; i < l.element.n; i++)
        if (!l.element.at[i].exact) l.of[l.element.at[i].buffer].bad = true;
    p->loop = loop;
    p->outer = w->promotion;
    p->idle = w->idle.n;
    w->promotion = p;
    for (int i = 0; i < l.element.n; i++) {
        const Element *e = &l.element.at[i];
        const Candidate *c = &l.of[e->buffer];
        const Held *known = loc_find(w, e->buffer, e->rest, e->constant);
        if (c->bad || !c->written || (known && known->pinned) || never(e->guards)) continue;
        Element mine = *e;
        mine.pending = known && known->dirty;
        pin(w, &l, e, p->element.n);
        vec_push(w->arena, &p->element, mine);
    }
    if (p->element.n) idle_find(w, loop, keeps_guard, p);
}

// The elements become ordinary ones again. Those with a guarded leaf are stored at once. The rows
// and columns of a tile share their guards, so each is compared once.
void promote_leave(KernelWriter *w) {
    struct Promotion *p = w->promotion;
    w->promotion = p->outer;
    w->idle.n = p->idle;
    w->asks_once = true;
    for (int i = 0; i < p->element.n; i++) {
        const Element *e = &p->element.at[i];
        Held *loc = loc_find(w, e->buffer, e->rest, e->constant);
        Opnd pred;
        if (!loc) continue;
        loc->pinned = false;
        loc->value.var = false;
        loc->dirty = true;
        if (e->pending) continue;
        Answer a = guards_value(w, e->guards, &pred);
        if (a == ANSWER_NO) loc_drop(w, loc);
        if (a != ANSWER_ASK) continue;
        int64_t disp;
        int end = label_new(w);
        branch(w, pred, false, end);
        Opnd address = address_of(w, e->buffer, e->rest, e->constant, &disp);
        element_put(w, e->buffer, address, disp, loc->value);
        label_put(w, end);
        loc_drop(w, loc);
    }
    w->asks_once = false;
    w->asked.n = 0;
}
