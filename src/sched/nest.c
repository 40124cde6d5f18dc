// All statements: which loops they share, and where initialisations run.
//
// LoopTool's rule. Statements are placed in order; a stack of open loops holds the path to the last
// leaf. A statement shares the longest prefix of its own loops that matches the stack (same class,
// extent, split and mark) and opens the rest below. After it the stack is cut at its first
// reduction loop and at its stage.
//
// LoopTool leaves legality to the user; here it is checked. Two statements that access the same
// element, one of them writing it, share a loop only if both do so in the same iteration of that
// loop (distance zero). Hence a temporary needs memory for one iteration of the shared loops only
// (storage.c).
#include "base/bug.h"
#include "base/checked.h"
#include "sched/lower.h"
#include "tree/node_pool.h"

// --- Items -------------------------------------------------------------------------------------

static TreeItem *item_new(Lower *l, ItemKind what) {
    TreeItem *item = arena_new(l->arena, TreeItem);
    item->what = what;
    return item;
}

static void attach(Lower *l, TreeItem *parent, TreeItem *item, const TreeItem *before) {
    item->parent = parent;
    item->depth = parent->depth + 1;
    vec_push(l->arena, &parent->child, item);
    for (int i = parent->child.n - 1; before && i > 0; i--) {
        parent->child.at[i] = parent->child.at[i - 1];
        parent->child.at[i - 1] = item;
        if (parent->child.at[i] == before) return;
    }
}

// The purpose of a loop, part of its key where Trees share nodes.
enum { FOR_UPDATE, FOR_INIT, FOR_WHOLE };

static bool is_taken(const Lower *l, int id) {
    return id < l->item_of_index.n && l->item_of_index.at[id];
}

static Index number_index(Lower *l, Name name, int64_t extent, IndexKey key) {
    TreePool *pool = l->tree->pool;
    if (!pool) return tree_index(l->tree, name, extent);
    int id = pool_index(pool, key);
    for (; is_taken(l, id); id = pool_index(pool, key)) key.again++;
    l->tree->nindices = pool_indices(pool);
    return (Index){.name = name, .id = id, .extent = extent};
}

static TreeItem *index_new(Lower *l, Name name, int64_t extent, IndexKey key) {
    TreeItem *item = item_new(l, ITEM_LOOP);
    item->first = l->leaf.n;
    item->index = number_index(l, name, extent, key);
    while (l->item_of_index.n <= item->index.id) {
        vec_push(l->arena, &l->item_of_index, NULL);
        vec_push(l->arena, &l->lo, 0);
        vec_push(l->arena, &l->hi, 0);
    }
    l->item_of_index.at[item->index.id] = item;
    l->hi.at[item->index.id] = max_i64(extent - 1, 0);
    return item;
}

static void map_place(Lower *l, const Inst *inst, int at, const TreeItem *loop, bool repeated) {
    LoopPlace place = {loop->index.id, inst->info->s->label, at, repeated};
    if (l->map) vec_push(l->map->arena, &l->map->place, place);
}

static void map_order(Lower *l, const Inst *inst) {
    if (!l->map) return;
    const StmtPlan *plan = &inst->plan;
    const SchedStmt *sched = inst->info->sched;
    for (int i = 0; i < l->map->order.n; i++)
        if (l->map->order.at[i].label == inst->info->s->label) return; // in another window
    SchedLoop *loop = arena_new_n(l->map->arena, SchedLoop, plan->n);
    for (int i = 0; i < plan->n; i++) {
        loop[i] = (SchedLoop){.iter = inst->info->s->iter[plan->loop[i].iter].name,
                              .step = plan->loop[i].step,
                              .interleaved = plan->loop[i].interleaved,
                              .kind = plan->loop[i].kind};
        if (sched && i < sched->nloops) loop[i].range = sched->loop[i].range;
    }
    vec_push(l->map->arena, &l->map->order, ((FullOrder){inst->info->s->label, plan->n, loop}));
}

// A loop like number `at` of the plan, with an index of its own; idx[at] becomes that index.
static TreeItem *loop_new(Lower *l, Inst *inst, int at, int what, const Affine **idx) {
    const PlanLoop *like = &inst->plan.loop[at];
    const SchedStmt *sched = inst->info->sched;
    TreeItem *item = index_new(l, inst->info->s->iter[like->iter].name, like->extent,
                               (IndexKey){inst->stmt, what, at, 0});
    item->like = *like;
    item->unroll_limit = sched ? sched->unroll_limit : 0;
    item->grain = sched && like->kind == KIND_PARALLEL ? sched->grain : 0;
    idx[at] = affine_iter(l->x, item->index.id);
    map_place(l, inst, at, item, what != FOR_UPDATE);
    return item;
}

// The range for a diagnostic: the statement's section, or the statement itself.
static Range place_of(Lower *l, const Inst *inst) {
    if (inst->info->sched && inst->info->sched->range.to) return inst->info->sched->range;
    l->diags->source = l->p->source;
    return inst->info->s->range;
}

static bool has_room(Lower *l, const Inst *inst, int depth) {
    if (l->tree->nindices + 2 * inst->plan.n > TREE_MAX_INDICES) {
        diag_report(l->diags, place_of(l, inst), DIAG_SCHEDULE_TOO_MANY_LOOPS, TREE_MAX_INDICES);
        l->failed = true;
    } else if (depth + inst->plan.n > TREE_MAX_DEPTH) {
        diag_report(l->diags, place_of(l, inst), DIAG_SCHEDULE_TOO_DEEP, inst->info->s->label,
                    depth + inst->plan.n, TREE_MAX_DEPTH);
        l->failed = true;
    }
    return !l->failed;
}

// --- Sharing -----------------------------------------------------------------------------------

static bool same_loop(const PlanLoop *a, const PlanLoop *b) {
    return a->class == b->class && a->level == b->level && a->extent == b->extent &&
           a->coef == b->coef && a->cur == b->cur && a->unit == b->unit && a->kind == b->kind &&
           a->interleaved == b->interleaved && (!a->interleaved || a->step == b->step);
}

// Do the recorded access and the new one touch an element of one step only in the same iteration?
static bool zero_distance(Lower *l, const Record *rec, int i, const Inst *inst, const Access *a,
                          int j, int common) {
    return same_iteration(l->arena, rec->inst->info->s, fold_access(l, rec->access), i,
                          inst->info->s, fold_access(l, a), j, common);
}

// The serial loops that the instance shares with the statement before it, whatever they access.
static int common_steps(const Lower *l, const Inst *inst) {
    int common = l->placed < 0 ? 0 : stmts_common(l->p, l->placed, inst->stmt);
    return inst->info->moved ? 0 : common;
}

static bool is_skewed(const Inst *inst, int at) {
    return inst->info->skew && inst->info->skew[inst->plan.loop[at].iter];
}

// The number of the first `p` open loops that this access of the new instance may share.
static int share_with(Lower *l, const Inst *inst, const Access *a, bool write, int p) {
    int init_at = inst->info->facts->initialises ? inst->plan.init_at : p;
    int common = common_steps(l, inst);
    for (int r = l->last_record[a->tensor]; r >= 0; r = l->record.at[r].next) {
        const Record *rec = &l->record.at[r];
        if (!write && !rec->write) continue;
        if (inst->info->moved && stmts_common(l->p, rec->inst->stmt, inst->stmt)) continue;
        for (int i = common; i < p && l->open.at[i]->first <= rec->leaf; i++) {
            bool own = !rec->inst->reader && i < rec->inst->plan.n && i < inst->plan.n;
            own = own && !(write && i >= init_at); // its initialisation would run too early
            own = own && !is_skewed(rec->inst, i) && !is_skewed(inst, i);
            if (own && zero_distance(l, rec, rec->inst->plan.loop[i].iter, inst, a,
                                     inst->plan.loop[i].iter, common))
                continue;
            p = i;
        }
    }
    return p;
}

static int share_all(Lower *l, const Inst *inst, int p) {
    p = share_with(l, inst, inst->info->s->write, true, p);
    for (int r = 0; r < inst->info->facts->nreads; r++)
        p = share_with(l, inst, inst->info->facts->read[r], false, p);
    return p;
}

// Of loops of serial iterators, only those that the Program joins are shared.
static int shared_prefix(Lower *l, Inst *inst) {
    int p = common_steps(l, inst);
    bool steps = p < inst->info->steps || (l->placed >= 0 && p < l->info[l->placed].steps);
    while (!steps && p < l->open.n && p < inst->plan.n &&
           same_loop(&l->open.at[p]->like, &inst->plan.loop[p]))
        p++;
    p = window_limit(l, inst, share_all(l, inst, p), common_steps(l, inst));
    return inst->info->moved ? steps_share(l, inst, p) : p;
}

// Do both run through the same iterations in the same loops?
static bool alike(const Inst *a, const Inst *b) {
    const Stmt *s = a->info->s, *t = b->info->s;
    bool same = !a->reader && !b->reader && s->niters == t->niters && a->plan.n == b->plan.n;
    for (int i = 0; same && i < s->niters; i++)
        same = s->iter[i].lo == t->iter[i].lo && s->iter[i].hi == t->iter[i].hi;
    for (int i = 0; same && i < a->plan.n; i++) same = a->plan.loop[i].iter == b->plan.loop[i].iter;
    return same;
}

// A later access that equals an earlier one replaces its record: loops that cannot be shared with
// the earlier leaf cannot be shared with the later one either. Thousands of updates of one tensor,
// each a read and a write, thus leave two records.
static void record(Lower *l, const Inst *inst, const Access *a, bool write, int leaf) {
    enum { RECENT = 4 };
    Record r = {a, inst, write, leaf, l->last_record[a->tensor]};
    int *link = &r.next;
    for (int i = 0; i < RECENT && *link >= 0; i++) {
        Record *old = &l->record.at[*link];
        if (old->access == a && old->write == write && alike(old->inst, inst)) {
            *link = old->next;
            break;
        }
        link = &old->next;
    }
    l->last_record[a->tensor] = l->record.n;
    vec_push(l->arena, &l->record, r);
}

// --- Leaves ------------------------------------------------------------------------------------

static TreeItem *guard_new(Lower *l, TreeItem *parent, const TreeItem *before) {
    TreeItem *guard = item_new(l, ITEM_GUARD);
    attach(l, parent, guard, before);
    return guard;
}

static void leaf_new(Lower *l, Inst *inst, LeafRole role, TreeItem *parent, const Affine **idx) {
    const Stmt *s = inst->info->s;
    TreeItem *leaf = item_new(l, ITEM_LEAF);
    leaf->inst = inst;
    leaf->role = role;
    leaf->iter = arena_new_n(l->arena, const Affine *, s->niters);
    for (int i = 0; i < s->niters; i++)
        if (role != LEAF_INIT || !s->iter[i].reduction) leaf->iter[i] = plan_value(l, inst, i, idx);
    attach(l, parent, leaf, NULL);
    vec_push(l->arena, &l->leaf, leaf);
}

// Copies the loops of the plan from `from` on that are not reductions, with new indices, below
// `parent`.
static TreeItem *clone_loops(Lower *l, Inst *inst, int from, TreeItem *parent, const Affine **idx) {
    for (int i = from; i < inst->plan.n; i++) {
        if (inst->plan.loop[i].reduction) continue;
        TreeItem *loop = loop_new(l, inst, i, FOR_INIT, idx);
        plan_constraints(l, inst, i, idx, loop);
        attach(l, parent, loop, NULL);
        parent = loop;
    }
    return parent;
}

// Places C = identity in front of loop `init_at`, guarded by the first iteration of the reduction
// loops further out.
static void place_init(Lower *l, Inst *inst, TreeItem *parent, const TreeItem *before,
                       const Affine *const *outer) {
    const StmtPlan *plan = &inst->plan;
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    TreeItem *guard = guard_new(l, parent, before);
    for (int i = 0; i < plan->init_at; i++) {
        idx[i] = outer[i];
        if (plan->loop[i].reduction && plan->loop[i].extent > 1)
            vec_push(l->arena, &guard->constraint, affine_scale(l->x, outer[i], -1));
    }
    leaf_new(l, inst, LEAF_INIT, clone_loops(l, inst, plan->init_at, guard, idx), idx);
}

// A scatter initialises its whole tensor, in vector loops.
static void init_whole(Lower *l, Inst *inst, TreeItem *parent, TreeItem *before) {
    const Tensor *t = &l->p->tensors.at[inst->info->s->write->tensor];
    TreeItem *leaf = item_new(l, ITEM_LEAF);
    leaf->inst = inst;
    leaf->role = LEAF_INIT;
    leaf->whole = true;
    leaf->iter = arena_new_n(l->arena, const Affine *, t->rank);
    for (int d = 0; d < t->rank; d++) {
        TreeItem *loop = index_new(l, name_of(l->p->names, "x"), tensor_size(t, d),
                                   (IndexKey){inst->stmt, FOR_WHOLE, d, 0});
        if (d == t->rank - 1) loop->like.kind = KIND_VECTOR;
        attach(l, parent, loop, before);
        before = NULL;
        parent = loop;
        leaf->iter[d] = affine_add(l->x, affine_iter(l->x, loop->index.id), t->origin[d]);
    }
    attach(l, parent, leaf, before);
    vec_push(l->arena, &l->leaf, leaf);
}

// Places the initialisation in a nest of its own, before the statement: several iterations write
// one element, or the reduction is empty.
static void init_apart(Lower *l, Inst *inst, TreeItem *parent, TreeItem *before) {
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    if (inst->info->s->write->has_read) {
        init_whole(l, inst, parent, before);
        return;
    }
    TreeItem *nest = guard_new(l, parent, before);
    int steps = inst->reader ? 0 : inst->info->steps; // whose loops are open
    for (int i = 0; i < steps; i++) idx[i] = affine_iter(l->x, inst->loop[i]->index.id);
    TreeItem *last = clone_loops(l, inst, steps, nest, idx);
    for (TreeItem *loop = last; loop != nest && !inst->info->facts->injective; loop = loop->parent)
        loop->like.kind = KIND_SERIAL; // an element may be assigned more than once
    leaf_new(l, inst, LEAF_INIT, last, idx);
}

// --- Statements --------------------------------------------------------------------------------

Inst *inst_new(Lower *l, int stmt) {
    const StmtInfo *info = &l->info[stmt];
    int n = info->s->niters;
    Inst *inst = arena_new(l->arena, Inst);
    inst->stmt = stmt;
    inst->info = info;
    inst->base = arena_new_n(l->arena, const Affine *, n);
    inst->extent = arena_new_n(l->arena, int64_t, n);
    inst->window = arena_new_n(l->arena, bool, n);
    for (int i = 0; i < n; i++) {
        inst->base[i] = info->s->iter[i].lo;
        inst->extent[i] = max_i64(iter_hi(&info->s->iter[i]) - iter_lo(&info->s->iter[i]), 0);
    }
    steps_widen(l, inst);
    return inst;
}

// Records the accesses of the instance just placed, whose leaf is the last one.
static void record_all(Lower *l, const Inst *inst) {
    int leaf = l->leaf.n - 1;
    const StmtFacts *f = inst->info->facts;
    record(l, inst, f->s->write, true, leaf);
    for (int r = 0; r < f->nreads; r++) record(l, inst, f->read[r], false, leaf);
}

// Opens the loops of the serial iterators from `shared` on; returns the number of open loops.
static int open_steps(Lower *l, Inst *inst, int shared) {
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    for (int i = shared; i < inst->info->steps; i++) {
        TreeItem *loop = inst->loop[i] = loop_new(l, inst, i, FOR_UPDATE, idx);
        attach(l, i ? inst->loop[i - 1] : l->root, loop, NULL);
        l->open.n = i;
        vec_push(l->arena, &l->open, loop);
    }
    return shared > inst->info->steps ? shared : inst->info->steps;
}

// Opens the loops that are not shared, places the initialisation on the way, and adds the leaf.
static void place_loops(Lower *l, Inst *inst, int shared, TreeItem *parent, TreeItem *before) {
    const StmtPlan *plan = &inst->plan;
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    bool init = inst->info->facts->initialises && inst->info->facts->injective;
    for (int i = 0; i < shared; i++) {
        idx[i] = affine_iter(l->x, inst->loop[i]->index.id);
        map_place(l, inst, i, inst->loop[i], false);
    }
    if (init && plan->init_at < shared) {
        TreeItem *run = inst->loop[plan->init_at];
        place_init(l, inst, run->parent, run, idx);
    }
    for (int i = 0; i < shared; i++) // of the loops of steps, also the outer ones
        windows_inside(l, inst, i, i + 1 < shared ? inst->loop[i + 1] : NULL);
    for (int i = shared; i < plan->n && !l->failed; i++) {
        if (init && plan->init_at == i) place_init(l, inst, parent, before, idx);
        TreeItem *loop = inst->loop[i] = loop_new(l, inst, i, FOR_UPDATE, idx);
        plan_constraints(l, inst, i, idx, loop);
        attach(l, parent, loop, before);
        before = NULL;
        parent = loop;
        windows_inside(l, inst, i, NULL);
    }
    if (l->failed) return;
    if (init && plan->init_at == plan->n) place_init(l, inst, parent, before, idx);
    TreeItem *guard = guard_new(l, parent, before);
    leaf_new(l, inst, inst->info->s->post ? LEAF_POST : LEAF_UPDATE, guard, idx);
}

void nest_place(Lower *l, Inst *inst, int shared, TreeItem *parent, TreeItem *before) {
    if (!has_room(l, inst, parent->depth - shared)) return;
    bool apart = inst->info->facts->empty_reduction || !inst->info->facts->injective;
    if (!inst->loop) inst->loop = arena_new_n(l->arena, TreeItem *, inst->plan.n);
    map_order(l, inst);
    if (inst->reader) windows_outside(l, inst, parent, before);
    if (l->failed) return;
    if (inst->info->facts->initialises && apart) init_apart(l, inst, parent, before);
    if (!inst->info->facts->empty_reduction) place_loops(l, inst, shared, parent, before);
    if (!l->failed) record_all(l, inst);
}

// --- Post-operations ---------------------------------------------------------------------------

// An instance that runs in the loops of its host, behind the reduction, with the host's iterators.
static Inst *follower_new(Lower *l, int stmt, const Inst *host) {
    Inst *inst = inst_new(l, stmt);
    const Stmt *h = host->info->s;
    int of[PROGRAM_MAX_ITERS]; // per iterator of the host: the follower's
    for (int i = 0; i < h->niters; i++) of[i] = follower_iter(inst->info->facts, h, i);
    inst->plan = (StmtPlan){.loop = arena_new_n(l->arena, PlanLoop, host->plan.n)};
    int n = (int)min_i64(host->plan.first_reduction, host->plan.init_at);
    for (int i = 0; i < n; i++) {
        inst->plan.loop[i] = host->plan.loop[i];
        inst->plan.loop[i].iter = of[host->plan.loop[i].iter];
    }
    inst->plan.n = inst->plan.init_at = inst->plan.first_reduction = inst->plan.stage = n;
    inst->loop = host->loop;
    return inst;
}

static void place_follower(Lower *l, Inst *inst, Inst *host) {
    const StmtPlan *plan = &host->plan;
    const Stmt *s = inst->info->s;
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    int at = plan->init_at;
    TreeItem *guard = guard_new(l, at ? host->loop[at - 1] : l->root, NULL);
    for (int i = 0; i < at; i++) {
        idx[i] = affine_iter(l->x, host->loop[i]->index.id);
        if (!plan->loop[i].reduction || plan->loop[i].extent <= 1) continue;
        int64_t last = plan_last(plan, i); // index == last
        if (last > 0) vec_push(l->arena, &guard->constraint, affine_add_const(l->x, idx[i], -last));
        if (last < plan->loop[i].extent - 1)
            vec_push(l->arena, &guard->constraint,
                     affine_add_const(l->x, affine_scale(l->x, idx[i], -1), last));
    }
    TreeItem *nest = clone_loops(l, host, at, guard, idx);
    TreeItem *leaf = item_new(l, ITEM_LEAF);
    leaf->inst = inst;
    leaf->role = s->post ? LEAF_POST : LEAF_UPDATE;
    leaf->iter = arena_new_n(l->arena, const Affine *, s->niters);
    for (int i = 0; i < host->info->s->niters; i++) {
        int k = follower_iter(inst->info->facts, host->info->s, i);
        if (k >= 0) leaf->iter[k] = plan_value(l, host, i, idx);
    }
    attach(l, guard_new(l, nest, NULL), leaf, NULL);
    vec_push(l->arena, &l->leaf, leaf);
    record_all(l, inst);
}

// --- Statements --------------------------------------------------------------------------------

static void nest_statement(Lower *l, int stmt) {
    Inst *inst = inst_new(l, stmt);
    VEC(Inst *) follower = {0};
    if (!plan_make(l, inst, &inst->plan) || !steps_kept(l, inst) || !windows_in_step(l, inst))
        return;
    inst->loop = arena_new_n(l->arena, TreeItem *, inst->plan.n);
    bool apart = inst->info->facts->initialises && !inst->info->facts->injective;
    bool alone = apart || inst->info->facts->empty_reduction;
    int shared = alone ? common_steps(l, inst) : shared_prefix(l, inst);
    int first = inst->info->facts->empty_reduction ? -1 : inst->info->follower;
    for (int i = first; i >= 0; i = l->info[i].sibling) {
        vec_push(l->arena, &follower, follower_new(l, i, inst));
        shared = share_all(l, follower.at[follower.n - 1], shared);
    }
    if (l->failed) return;
    for (int i = 0; i < shared; i++) inst->loop[i] = l->open.at[i];
    shared = open_steps(l, inst, shared);
    nest_place(l, inst, shared, shared ? l->open.at[shared - 1] : l->root, NULL);
    if (l->failed) return;
    l->open.n = shared;
    for (int i = shared; i < inst->plan.n; i++) vec_push(l->arena, &l->open, inst->loop[i]);
    int open = inst->info->facts->empty_reduction
                   ? 0
                   : (int)min_i64(inst->plan.first_reduction, inst->plan.stage);
    l->open.n = open > inst->info->steps ? open : inst->info->steps;
    l->placed = stmt;
    l->inst[stmt] = inst;
    for (int i = 0; i < follower.n; i++) place_follower(l, follower.at[i], inst);
}

void nest_statements(Lower *l) {
    int *order = statement_order(l);
    l->root = item_new(l, ITEM_GUARD);
    l->placed = -1;
    for (int k = 0; k < l->p->stmts.n && !l->failed; k++) {
        int i = order ? order[k] : k;
        bool deferred = l->at[l->info[i].s->write->tensor] || l->host[i] >= 0;
        if (!deferred) nest_statement(l, i);
    }
}
