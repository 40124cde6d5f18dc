// Prints loops, guards and leaves.
//
// Straight-line code is a subtree of unrolled loops whose guards are all decided. It is scanned
// before it is printed, so that neighbouring elements are loaded together. While it computes one
// iteration of its outermost loop, it already loads the operands of the next one from shared
// memory.
//
// A serial loop, and the grid, are divided at the point where guards may begin to fail; the code
// before that point has no guards.
#include "code/ptx/ptx_impl.h"

#include "base/bug.h"
#include "base/checked.h"

bool leaf_skipped(const KernelWriter *w, const Leaf *leaf) {
    const Program *p = w->t->program;
    bool post = leaf->role == LEAF_POST ||
                (p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n && p->stmts.at[leaf->stmt].post);
    if (post && w->skip_post) return true;
    return leaf->role == LEAF_INIT && w->accumulate && leaf->write->tensor < w->t->nargs;
}

// --- Straight-line code --------------------------------------------------------------------------

bool guard_always(const KernelWriter *w, const Affine *a) {
    int64_t lo, hi;
    return affine_bounds(a, w->g->lo, w->g->hi, &lo, &hi) && lo >= 0;
}

static bool is_straight(const KernelWriter *w, const GpuNode *n);

// Is the code straight-line where the node's own guards hold?
static bool is_straight_inside(const KernelWriter *w, const GpuNode *n) {
    if (n->kind > GPU_LEAF || (n->kind == GPU_LOOP && !n->unroll)) return false;
    if (n->kind == GPU_LEAF && (n->single || n->async)) return false;
    for (int i = 0; i < n->child.n; i++)
        if (!is_straight(w, n->child.at[i])) return false;
    return true;
}

static bool is_straight(const KernelWriter *w, const GpuNode *n) {
    for (int i = 0; i < n->guard.n; i++)
        if (!guard_always(w, n->guard.at[i]) && !guard_is_idle(w, n, n->guard.at[i])) return false;
    return is_straight_inside(w, n);
}

// Does the node only copy asynchronously for a later iteration, with or without guards? Such code
// does not change any element that is known now.
static bool is_copy(const KernelWriter *w, const GpuNode *n) {
    if (n->kind > GPU_LEAF || (n->kind == GPU_LOOP && !n->unroll)) return false;
    if (n->kind == GPU_LEAF)
        return n->async && w->k->buffer[n->leaf->write->tensor].stages > 1 &&
               !w->k->buffer[n->leaf->value->access->tensor].written;
    for (int i = 0; i < n->child.n; i++)
        if (!is_copy(w, n->child.at[i])) return false;
    return true;
}

// A wait and a barrier, then copies, then straight-line code.
static bool is_stage(const KernelWriter *w, const GpuNode *n) {
    const GpuNode *last = n->child.n > 2 ? n->child.at[n->child.n - 1] : NULL;
    if (!last || n->child.at[0]->kind != GPU_WAIT || !is_straight(w, last)) return false;
    for (int i = 2; i + 1 < n->child.n; i++)
        if (n->child.at[i]->kind != GPU_COMMIT && !is_copy(w, n->child.at[i])) return false;
    return n->child.at[1]->kind == GPU_BARRIER;
}

void index_set(KernelWriter *w, int id, int64_t v) {
    w->env[id] = v;
    if (v >= SMALL_CONSTS)
        w->fixed[id] = affine_const(w->x, v);
    else if (w->small[v])
        w->fixed[id] = w->small[v];
    else
        w->fixed[id] = w->small[v] = affine_const(w->x, v);
}

void for_instances(KernelWriter *w, const GpuNode *n, LeafVisit *fn, void *user) {
    if (n->kind == GPU_LEAF) {
        w->leaf = n->leaf;
        fn(w, n, user);
        w->leaf = NULL;
        return;
    }
    int64_t times = n->kind == GPU_LOOP && n->unroll ? n->extent : 1;
    for (int64_t t = 0; t < times; t++) {
        if (n->kind == GPU_LOOP && n->unroll) index_set(w, n->id, t);
        for (int i = 0; i < n->child.n; i++) for_instances(w, n->child.at[i], fn, user);
    }
}

// Finds the unrolled loops that change an element or a relevant guard, leaf by leaf.
typedef struct ElementLoops {
    KernelWriter *w;
    const ElementUse *use;
    void *user;
    const GpuNode *leaf;
    VEC(int) path; // surrounding unrolled loops
    bool *changes; // per id
} ElementLoops;

static void see_use(void *user, const Access *a, bool guarded) {
    (void)guarded;
    ElementLoops *l = user;
    if (!l->use->access(l->leaf, a, l->user)) return;
    for (int i = 0; i < l->path.n; i++)
        if (access_uses_iter(a, l->path.at[i])) l->changes[l->path.at[i]] = true;
}

static void see_guards(ElementLoops *l) {
    for (int k = 0; k < l->leaf->where.n; k++) {
        const Affine *a = l->leaf->where.at[k];
        if (!l->use->guard(l->leaf, a, l->user)) continue;
        for (int i = 0; i < l->path.n; i++)
            l->changes[l->path.at[i]] |= affine_uses_iter(a, l->path.at[i]);
    }
}

static void find_changes(ElementLoops *l, const GpuNode *n) {
    bool unrolled = n->kind == GPU_LOOP && n->unroll;
    if (unrolled) vec_push(l->w->arena, &l->path, n->id);
    if (n->kind == GPU_LEAF) {
        l->leaf = n;
        expr_visit_accesses(n->leaf->value, see_use, l);
        for (int d = 0; d < n->leaf->write->rank; d++)
            affine_visit_accesses(n->leaf->write->sub[d], see_use, l);
        see_use(l, n->leaf->write, false);
        see_guards(l);
    }
    for (int i = 0; i < n->child.n; i++) find_changes(l, n->child.at[i]);
    if (unrolled) l->path.n--;
}

static void visit_elements(KernelWriter *w, const GpuNode *n, const bool *changes, LeafVisit *fn,
                           void *user) {
    if (n->kind == GPU_LEAF) {
        for_instances(w, n, fn, user);
        return;
    }
    bool unrolled = n->kind == GPU_LOOP && n->unroll;
    int64_t times = !unrolled ? 1 : changes[n->id] ? n->extent : min_i64(n->extent, 1);
    for (int64_t t = 0; t < times; t++) {
        if (unrolled) index_set(w, n->id, t);
        for (int i = 0; i < n->child.n; i++) visit_elements(w, n->child.at[i], changes, fn, user);
    }
}

void for_elements(KernelWriter *w, const GpuNode *n, const ElementUse *use, LeafVisit *fn,
                  void *user) {
    ElementLoops l = {.w = w, .use = use, .user = user};
    l.changes = arena_new_n(w->arena, bool, w->g->nids + 1);
    for (int i = 0; i < n->child.n; i++) find_changes(&l, n->child.at[i]);
    for (int i = 0; i < n->child.n; i++) visit_elements(w, n->child.at[i], l.changes, fn, user);
}

// --- First uses ----------------------------------------------------------------------------------

// The accesses below a node, each a bit. Those behind the 63rd share a bit, and every loop is
// assumed to change their elements.
enum { SHARED_BIT = 63 };

typedef struct UseTree UseTree;
struct UseTree {
    const GpuNode *node;
    uint64_t below;   // the accesses below
    uint64_t changed; // an unrolled loop: those whose element it changes
    VEC(UseTree *) child;
    VEC(const Access *) access; // of a leaf
    int first;                  // the bit of the first
};

typedef struct UseSearch {
    KernelWriter *w;
    bool (*is_relevant)(const KernelWriter *w, const Access *a);
    UseTree *leaf;
    VEC(UseTree *) path; // surrounding unrolled loops
    int n;
} UseSearch;

static uint64_t use_bit(int i) { return UINT64_C(1) << (i < SHARED_BIT ? i : SHARED_BIT); }

static void add_use(void *user, const Access *a, bool guarded) {
    UseSearch *s = user;
    if (guarded || !s->is_relevant(s->w, a)) return;
    uint64_t bit = use_bit(s->n++);
    vec_push(s->w->arena, &s->leaf->access, a);
    s->leaf->below |= bit;
    for (int i = 0; i < s->path.n; i++) {
        UseTree *loop = s->path.at[i];
        if (bit == use_bit(SHARED_BIT) || access_uses_iter(a, loop->node->id)) loop->changed |= bit;
    }
}

static UseTree *use_tree(UseSearch *s, const GpuNode *n, bool updates) {
    UseTree *u = arena_new(s->w->arena, UseTree);
    u->node = n;
    if (n->kind == GPU_LEAF) {
        const Leaf *leaf = n->leaf;
        u->first = s->n;
        s->leaf = u;
        if (n->vector > 1 || leaf_skipped(s->w, leaf)) return u;
        if (!updates || leaf->op != REDUCE_ASSIGN) expr_visit_accesses(leaf->value, add_use, s);
        if (!updates && leaf->op != REDUCE_ASSIGN) add_use(s, leaf->write, false);
        return u;
    }
    bool unrolled = n->kind == GPU_LOOP && n->unroll;
    if (unrolled) vec_push(s->w->arena, &s->path, u);
    for (int i = 0; i < n->child.n; i++) {
        UseTree *c = use_tree(s, n->child.at[i], updates);
        vec_push(s->w->arena, &u->child, c);
        u->below |= c->below;
    }
    if (unrolled) s->path.n--;
    return u;
}

typedef void UseVisit(KernelWriter *w, const Access *a);

// Visits the instances below in their order, and of each the accesses in `live`: a later iteration
// of a loop that does not change an access's element uses it again, and is left out.
static void first_uses(KernelWriter *w, const UseTree *u, uint64_t live, UseVisit *fn) {
    const GpuNode *n = u->node;
    live &= u->below;
    if (n->kind == GPU_LEAF && live) {
        w->leaf = n->leaf;
        for (int i = 0; i < u->access.n; i++)
            if (live & use_bit(u->first + i)) fn(w, u->access.at[i]);
        w->leaf = NULL;
    }
    bool unrolled = n->kind == GPU_LOOP && n->unroll;
    for (int64_t t = 0; live && t < (unrolled ? n->extent : 1); t++) {
        if (unrolled) index_set(w, n->id, t);
        for (int i = 0; i < u->child.n; i++) first_uses(w, u->child.at[i], live, fn);
        live &= u->changed;
    }
}

static bool is_any(const KernelWriter *w, const Access *a) {
    (void)w;
    (void)a;
    return true;
}

// Announces the elements that the straight-line code below reads.
static void want_below(KernelWriter *w, const GpuNode *n) {
    UseSearch s = {.w = w, .is_relevant = is_any};
    wanted_clear(w);
    first_uses(w, use_tree(&s, n, false), UINT64_MAX, memory_want);
}

static bool is_shared(const KernelWriter *w, const Access *a) {
    return !a->has_read && w->k->buffer[a->tensor].space == GPU_SHARED;
}

static void fetch(KernelWriter *w, const Access *a) {
    if (!access_plan(w, a)->hard) element_load(w, a);
}

static int64_t leaves_below(const GpuNode *n) {
    if (n->kind == GPU_LEAF) return 1;
    int64_t sum = 0;
    for (int i = 0; i < n->child.n; i++) sum += leaves_below(n->child.at[i]);
    return n->kind == GPU_LOOP && n->unroll ? sum * n->extent : sum;
}

// --- Leaves --------------------------------------------------------------------------------------

static void leaf_now(KernelWriter *w, const GpuNode *n) {
    const Leaf *leaf = n->leaf;
    if (leaf_skipped(w, leaf)) return;
    w->leaf = leaf;
    Type t = w->t->buffers.at[leaf->write->tensor].type;
    const Expr *e = leaf->value;
    if (n->async || n->vector > 1) {
        copy_vector(w, n);
    } else if (leaf->op == REDUCE_ASSIGN) {
        element_store(w, leaf->write, expr_value(w, e));
    } else if (leaf->op == REDUCE_ADD && e->kind == EXPR_OP && e->op == OP_MUL &&
               type_is_float(t)) {
        Opnd a = expr_value(w, e->arg[0]), b = expr_value(w, e->arg[1]);
        const char *op = type_compute(t) == TYPE_F64 ? "fma.rn.f64" : "fma.rn.f32";
        Held *l = type_is_storage(t) ? NULL : element_pinned(w, leaf->write);
        if (l) {
            INS(w, op, l->value, a, b, l->value);
            l->dirty = true;
        } else {
            Opnd old = element_load(w, leaf->write);
            element_store(w, leaf->write, NEW(w, old.class, op, a, b, old));
        }
    } else {
        Opnd v = expr_value(w, e);
        element_store(w, leaf->write, combine(w, leaf->op, t, element_load(w, leaf->write), v));
    }
    w->leaf = NULL;
}

// A predicate: the thread has number 0 on all of the axes.
Opnd first_thread(KernelWriter *w, unsigned axes) {
    Opnd all = {0};
    bool any = false;
    for (int a = GPU_CLUSTER; a < GPU_AXES; a++) {
        if (!(axes >> a & 1)) continue;
        Opnd id = w->index[w->g->hw + a];
        Opnd p = NEW(w, REG_PRED, "setp.eq.s32", id, lit(REG_32, 0));
        all = any ? NEW(w, REG_PRED, "and.pred", all, p) : p;
        any = true;
    }
    return all;
}

static void leaf_emit(KernelWriter *w, const GpuNode *n) {
    if (!n->single) {
        leaf_now(w, n);
        return;
    }
    int end = label_new(w);
    memory_flush(w);
    branch(w, first_thread(w, n->single), false, end);
    leaf_now(w, n);
    memory_flush(w);
    label_put(w, end);
}

// --- Loops ---------------------------------------------------------------------------------------

static void inside(KernelWriter *w, const GpuNode *n);

static void children_emit(KernelWriter *w, const GpuNode *n) {
    for (int i = 0; i < n->child.n; i++) body_emit(w, n->child.at[i]);
}

static void late_emit(KernelWriter *w) {
    bool straight = w->straight;
    w->straight = false; // the copies may have guards
    for (int i = 0; i < w->late.n; i++) body_emit(w, w->late.at[i]);
    w->late.n = 0;
    w->straight = straight;
}

// Prints an iteration of a pipelined loop. It loads its first operands before it starts the copies
// for a later iteration, which need not finish soon.
static void stage_emit(KernelWriter *w, const GpuNode *n) {
    for (int i = 0; i < n->child.n; i++) {
        const GpuNode *c = n->child.at[i];
        if (c->kind == GPU_COMMIT || (i + 1 < n->child.n && is_copy(w, c)))
            vec_push(w->arena, &w->late, c);
        else
            body_emit(w, c);
    }
    late_emit(w);
}

// Loads the operands in shared memory that an iteration of the loop reads.
static void fetch_iteration(KernelWriter *w, const UseTree *loop, int64_t t) {
    index_set(w, loop->node->id, t);
    for (int i = 0; i < loop->child.n; i++) first_uses(w, loop->child.at[i], UINT64_MAX, fetch);
}

// Reduces *full to the number of leading values of index `id` for which all guards below hold. It
// stays INT64_MAX if no guard limits them.
static void count_full(const KernelWriter *w, const GpuNode *n, int id, int64_t *full) {
    for (int i = 0; i < n->guard.n; i++) {
        const Affine *a = n->guard.at[i];
        int64_t c = affine_coef(a, id), lo, hi;
        if (!affine_uses_iter(a, id) || guard_always(w, a) || guard_is_idle(w, n, a)) continue;
        if (c >= 0) {
            if (!a->linear) *full = 0;
            continue;
        }
        const Affine *rest = affine_add(w->x, a, affine_scale(w->x, affine_iter(w->x, id), -c));
        if (affine_uses_iter(rest, id) || !affine_bounds(rest, w->g->lo, w->g->hi, &lo, &hi))
            *full = 0;
        else
            *full = min_i64(*full, lo < 0 ? 0 : floor_div(lo, -c) + 1);
    }
    for (int i = 0; i < n->child.n; i++) count_full(w, n->child.at[i], id, full);
}

// Prints the iterations from `first` on.
static void iterations_emit(KernelWriter *w, const GpuNode *n, int64_t first) {
    bool ahead = w->straight && !w->fetching && n->extent > 1 && leaves_below(n) / n->extent >= 8;
    bool before = w->fetching;
    UseSearch s = {.w = w, .is_relevant = is_shared};
    const UseTree *operands = ahead ? use_tree(&s, n, true) : NULL;
    w->fetching |= ahead;
    for (int64_t t = first; t < n->extent; t++) {
        if (ahead && t == 0) fetch_iteration(w, operands, 0);
        if (ahead && t + 1 < n->extent) fetch_iteration(w, operands, t + 1);
        if (ahead && t == 0) late_emit(w);
        index_set(w, n->id, t);
        children_emit(w, n);
    }
    w->fetching = before;
}

// The leading iterations, if all of their guards hold and they are straight-line code although the
// others are not: their number, and they are printed.
static int64_t straight_part(KernelWriter *w, const GpuNode *n) {
    int64_t full = INT64_MAX, hi = w->g->hi[n->id];
    for (int i = 0; i < n->child.n; i++) count_full(w, n->child.at[i], n->id, &full);
    if (full <= 1 || full >= n->extent) return 0;
    GpuNode *part = arena_copy(w->arena, n, sizeof *n);
    part->extent = full;
    w->g->hi[n->id] = full - 1;
    bool straight = is_straight_inside(w, part);
    if (straight) inside(w, part);
    w->g->hi[n->id] = hi;
    if (straight) plans_clear(w);
    return straight ? full : 0;
}

static void unrolled_emit(KernelWriter *w, const GpuNode *n) {
    iterations_emit(w, n, w->straight ? 0 : straight_part(w, n));
}

// Prints a comment: the code that follows belongs to this node.
static void mark(KernelWriter *w, const GpuNode *n) {
    int at = w->line_of && n->from ? numbers_get(w->line_of, n->from) : -1;
    if (at > 0) line(w, "// %d |", at);
}

static bool has_single(const GpuNode *n) {
    if (n->kind == GPU_LEAF) return n->single != 0;
    for (int i = 0; i < n->child.n; i++)
        if (has_single(n->child.at[i])) return true;
    return false;
}

// The assembler unrolls loops to keep arrays of local memory in registers, and to compute addresses
// before outer loops. Larger arrays than this would spill, and so would the addresses of a loop
// that one thread runs.
enum { MOST_LOCAL = 256 };

static bool stays_rolled(const KernelWriter *w, const GpuNode *loop) {
    return w->k->local > MOST_LOCAL || has_single(loop);
}

static void serial_range(KernelWriter *w, const GpuNode *n, int64_t from, int64_t to) {
    if (from >= to) return;
    w->g->lo[n->id] = from;
    w->g->hi[n->id] = to - 1;
    promote_enter(w, n);
    memory_flush(w);
    bool wide = to > INT32_MAX;
    Opnd i = NEW(w, wide ? REG_64 : REG_32, wide ? "mov.b64" : "mov.b32",
                 lit(wide ? REG_64 : REG_32, (uint64_t)from));
    int loop = label_new(w);
    w->index[n->id] = i;
    label_put(w, loop);
    if (stays_rolled(w, n)) line(w, ".pragma \"nounroll\";");
    scope_open(w);
    w->depth[n->id] = w->scope.n - 1;
    w->serial++;
    children_emit(w, n);
    memory_flush(w);
    w->serial--;
    scope_close(w);
    w->depth[n->id] = -1;
    mark(w, n);
    INS(w, wide ? "add.s64" : "add.s32", i, i, lit((RegClass)i.class, 1));
    Opnd more = NEW(w, REG_PRED, wide ? "setp.lt.s64" : "setp.lt.s32", i,
                    lit((RegClass)i.class, (uint64_t)to));
    branch(w, more, true, loop);
    promote_leave(w);
    w->g->lo[n->id] = 0;
    w->g->hi[n->id] = max_i64(n->extent - 1, 0);
}

static void serial_emit(KernelWriter *w, const GpuNode *n) {
    int64_t full = INT64_MAX;
    for (int i = 0; i < n->child.n; i++) count_full(w, n->child.at[i], n->id, &full);
    if (full <= 0 || full >= n->extent) {
        serial_range(w, n, 0, n->extent);
        return;
    }
    serial_range(w, n, 0, full);
    plans_clear(w);
    serial_range(w, n, full, n->extent);
    plans_clear(w);
}

// --- Nodes ---------------------------------------------------------------------------------------

static void node_emit(KernelWriter *w, const GpuNode *n) {
    switch (n->kind) {
    case GPU_SEQ:
        if (is_stage(w, n))
            stage_emit(w, n);
        else
            children_emit(w, n);
        break;
    case GPU_LOOP:
        if (n->unroll)
            unrolled_emit(w, n);
        else
            serial_emit(w, n);
        break;
    case GPU_LEAF: leaf_emit(w, n); break;
    case GPU_REDUCE: reduce_emit(w, n); break;
    case GPU_BARRIER:
        memory_sync(w);
        line(w, "bar.sync 0;");
        break;
    case GPU_COMMIT: line(w, "cp.async.commit_group;"); break;
    case GPU_WAIT: line(w, "cp.async.wait_group %d;", n->stages); break;
    }
}

// Prints the node where its guards hold.
static void inside(KernelWriter *w, const GpuNode *n) {
    bool straight = !w->straight && n->kind <= GPU_LOOP && is_straight_inside(w, n);
    if (straight) {
        want_below(w, n);
        w->straight = true;
    }
    node_emit(w, n);
    if (straight) w->straight = false;
}

static void guarded(KernelWriter *w, const GpuNode *n) {
    Opnd p;
    if (w->straight) { // its guards hold, or are idle
        inside(w, n);
        return;
    }
    Answer a = guards_value(w, n, &p);
    if (a == ANSWER_NO) return;
    if (a == ANSWER_YES) {
        inside(w, n);
        return;
    }
    int end = label_new(w), before = w->assumed.n;
    bool keeps = is_copy(w, n);
    if (!keeps) memory_sync(w);
    branch(w, p, false, end);
    w->branches++;
    for (int i = 0; i < n->guard.n; i++) vec_push(w->arena, &w->assumed, n->guard.at[i]);
    inside(w, n);
    w->branches--;
    if (!keeps) memory_join(w);
    w->assumed.n = before;
    label_put(w, end);
}

void body_emit(KernelWriter *w, const GpuNode *n) {
    mark(w, n);
    guarded(w, n);
}

// --- The grid ------------------------------------------------------------------------------------

static bool waits(const GpuNode *n) {
    if (n->kind == GPU_BARRIER || n->kind == GPU_REDUCE || n->kind == GPU_WAIT) return true;
    for (int i = 0; i < n->child.n; i++)
        if (waits(n->child.at[i])) return true;
    return false;
}

// Keeps elements that belong to one thread in its registers across all nests.
static void whole_body(KernelWriter *w) {
    GpuNode all = {.kind = GPU_SEQ, .id = w->g->nids};
    bool keep = waits(w->k->body);
    vec_push(w->arena, &all.child, w->k->body);
    if (keep) promote_enter(w, &all);
    body_emit(w, w->k->body);
    memory_flush(w);
    if (keep) promote_leave(w);
    memory_flush(w);
}

// Blocks in which all guards hold run a version of the code without guards.
void body_grid(KernelWriter *w) {
    int64_t full[3];
    bool some = false, none = false;
    for (int a = 0; a < 3; a++) {
        full[a] = INT64_MAX;
        if (w->k->size[a] > 1) count_full(w, w->k->body, w->g->hw + a, &full[a]);
        some |= full[a] < w->k->size[a];
        none |= full[a] <= 0;
    }
    if (!some || none) {
        whole_body(w);
        return;
    }
    int border = label_new(w), end = label_new(w);
    for (int a = 0; a < 3; a++) {
        if (full[a] >= w->k->size[a]) continue;
        Opnd p =
            NEW(w, REG_PRED, "setp.ge.s32", w->index[w->g->hw + a], lit(REG_32, (uint64_t)full[a]));
        branch(w, p, true, border);
        w->g->hi[w->g->hw + a] = full[a] - 1;
    }
    int64_t before = w->shared;
    whole_body(w);
    int64_t used = w->shared;
    w->shared = before; // a block runs one of the two
    line(w, "bra $L%d;", end);
    label_put(w, border);
    for (int a = 0; a < 3; a++) w->g->hi[w->g->hw + a] = w->k->size[a] - 1;
    plans_clear(w);
    whole_body(w);
    w->shared = max_i64(w->shared, used);
    label_put(w, end);
}
