// All statements: which loops they share, and where initialisations stand.
//
// LoopTool's rule. Statements come in order; a stack of open loops remembers the path to the last
// leaf. A statement shares the longest prefix of its own order that matches the stack (same
// meaning, extent, split and mark) and opens the rest below. Behind it the stack is cut at its
// first reduction loop and where it is staged.
//
// What LoopTool leaves to the user is checked here: two statements that touch the same element, one
// of them writing, may share a loop only when it is the same iteration of that loop which does
// (distance zero). It follows that a temporary needs memory for one iteration of the shared loops
// only (storage.c).
#include "base/bug.h"
#include "base/checked.h"
#include "tree/lower.h"

// --- Items -------------------------------------------------------------------------------------

static Item *item_new(Lower *l, ItemKind what) {
    Item *item = arena_new(l->arena, Item);
    item->what = what;
    return item;
}

static void item_attach(Lower *l, Item *parent, Item *item, const Item *before) {
    item->parent = parent;
    item->depth = parent->depth + 1;
    vec_push(l->arena, &parent->child, item);
    for (int i = parent->child.n - 1; before && i > 0; i--) {
        parent->child.at[i] = parent->child.at[i - 1];
        parent->child.at[i - 1] = item;
        if (parent->child.at[i] == before) return;
    }
}

// A loop like number `at` of the plan, with an index of its own; idx[at] becomes that index.
static Item *loop_new(Lower *l, Inst *inst, int at, const Affine **idx) {
    const PlanLoop *like = &inst->plan.loop[at];
    const SchedStmt *sched = inst->info->sched;
    Item *item = item_new(l, ITEM_LOOP);
    item->like = *like;
    item->first = l->leaf.n;
    item->index = tree_index(l->tree, inst->info->s->iter[like->iter].name, like->extent);
    item->unroll_limit = sched ? sched->unroll_limit : 0;
    item->grain = sched && like->kind == KIND_PARALLEL ? sched->grain : 0;
    vec_push(l->arena, &l->item_of_index, item);
    vec_push(l->arena, &l->lo, 0);
    vec_push(l->arena, &l->hi, max_i64(like->extent - 1, 0));
    idx[at] = affine_iter(l->x, item->index.id);
    return item;
}

static bool has_room(Lower *l, const Inst *inst, int depth) {
    if (l->tree->nindices + 2 * inst->plan.n > TREE_MAX_INDICES) {
        diag_report(l->diags, inst->info->s->range, DIAG_SCHEDULE_TOO_MANY_LOOPS, TREE_MAX_INDICES);
        l->failed = true;
    } else if (depth + inst->plan.n > TREE_MAX_DEPTH) {
        diag_report(l->diags, inst->info->s->range, DIAG_SCHEDULE_TOO_DEEP, inst->info->s->label,
                    depth + inst->plan.n, TREE_MAX_DEPTH);
        l->failed = true;
    }
    return !l->failed;
}

// --- Sharing -----------------------------------------------------------------------------------

static bool same_loop(const PlanLoop *a, const PlanLoop *b) {
    return a->class == b->class && a->level == b->level && a->extent == b->extent &&
           a->coef == b->coef && a->cur == b->cur && a->unit == b->unit && a->kind == b->kind;
}

// Do two accesses of one element always have the same value of these iterators, counted from their
// starts? Some dimension has to say so: a·i + c against a·j + c.
static bool zero_distance(const Access *a, const Inst *ia, int i, const Access *b, const Inst *ib,
                          int j) {
    if (ia->extent[i] <= 1 && ib->extent[j] <= 1) return true;
    for (int d = 0; d < a->rank; d++) {
        const Affine *f = a->sub[d], *g = b->sub[d];
        if (f->n != 1 || g->n != 1 || f->term[0].coef != g->term[0].coef) continue;
        const Atom *fa = f->term[0].atom, *ga = g->term[0].atom;
        if (fa->kind != ATOM_ITER || ga->kind != ATOM_ITER) continue;
        if (fa->index != i || ga->index != j) continue;
        int64_t from_f = f->term[0].coef * ia->base[i]->constant + f->constant;
        int64_t from_g = g->term[0].coef * ib->base[j]->constant + g->constant;
        if (from_f == from_g) return true;
    }
    return false;
}

// How many of the first `p` open loops may stay open for this access of the new instance.
static int share_with(const Lower *l, const Inst *inst, const Access *a, bool write, int p) {
    for (int r = l->last_record[a->tensor]; r >= 0; r = l->record.at[r].next) {
        const Record *rec = &l->record.at[r];
        if (!write && !rec->write) continue;
        for (int i = 0; i < p && l->open.at[i]->first <= rec->leaf; i++) {
            bool own = i >= rec->inst->floor && i < rec->inst->plan.n;
            if (own && zero_distance(rec->access, rec->inst, rec->inst->plan.loop[i].iter, a, inst,
                                     inst->plan.loop[i].iter))
                continue;
            p = i;
        }
    }
    return p;
}

static int shared_prefix(const Lower *l, const Inst *inst) {
    int p = 0;
    while (p < l->open.n && p < inst->plan.n &&
           same_loop(&l->open.at[p]->like, &inst->plan.loop[p]))
        p++;
    p = share_with(l, inst, inst->info->s->write, true, p);
    for (int r = 0; r < inst->info->nreads; r++)
        p = share_with(l, inst, inst->info->read[r], false, p);
    return p;
}

static void record(Lower *l, const Inst *inst, const Access *a, bool write, int leaf) {
    Record r = {a, inst, write, leaf, l->last_record[a->tensor]};
    l->last_record[a->tensor] = l->record.n;
    vec_push(l->arena, &l->record, r);
}

// --- Leaves ------------------------------------------------------------------------------------

static Item *guard_new(Lower *l, Item *parent, const Item *before) {
    Item *guard = item_new(l, ITEM_GUARD);
    item_attach(l, parent, guard, before);
    return guard;
}

static void leaf_new(Lower *l, Inst *inst, LeafRole role, Item *parent, const Affine **idx) {
    const Stmt *s = inst->info->s;
    Item *leaf = item_new(l, ITEM_LEAF);
    leaf->inst = inst;
    leaf->role = role;
    leaf->iter = arena_new_n(l->arena, const Affine *, s->niters);
    for (int i = 0; i < s->niters; i++)
        if (role != LEAF_INIT || !s->iter[i].reduction) leaf->iter[i] = plan_value(l, inst, i, idx);
    item_attach(l, parent, leaf, NULL);
    vec_push(l->arena, &l->leaf, leaf);
}

// Loops of the plan from `from` on that are not reductions, with indices of their own, below
// `parent`.
static Item *clone_loops(Lower *l, Inst *inst, int from, Item *parent, const Affine **idx) {
    for (int i = from; i < inst->plan.n; i++) {
        if (inst->plan.loop[i].reduction) continue;
        Item *loop = loop_new(l, inst, i, idx);
        plan_constraints(l, inst, i, idx, loop);
        item_attach(l, parent, loop, NULL);
        parent = loop;
    }
    return parent;
}

// C = identity, in front of loop `init_at` and only in the first iteration of reduction loops
// further out.
static void place_init(Lower *l, Inst *inst, Item *parent, const Item *before,
                       const Affine *const *outer) {
    const Plan *plan = &inst->plan;
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    Item *guard = guard_new(l, parent, before);
    for (int i = 0; i < plan->init_at; i++) {
        idx[i] = outer[i];
        if (plan->loop[i].reduction && plan->loop[i].extent > 1)
            vec_push(l->arena, &guard->constraint, affine_scale(l->x, outer[i], -1));
    }
    leaf_new(l, inst, LEAF_INIT, clone_loops(l, inst, plan->init_at, guard, idx), idx);
}

// An initialisation in a nest of its own, before the statement: its elements meet, or nothing else
// is left.
static void place_init_apart(Lower *l, Inst *inst, Item *parent) {
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    leaf_new(l, inst, LEAF_INIT, clone_loops(l, inst, 0, parent, idx), idx);
}

static Item *constrain_leaf(Lower *l, const Inst *inst, Item *parent) {
    return inst->info->s->nconstraints ? guard_new(l, parent, NULL) : parent;
}

// --- Statements --------------------------------------------------------------------------------

static Inst *inst_new(Lower *l, int stmt) {
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
    return inst;
}

static bool needs_init(const StmtInfo *info) { return info->s->init; }

// Opens what is not shared, with the initialisation on the way, and puts the leaf at the end.
static void place(Lower *l, Inst *inst, int shared) {
    const Plan *plan = &inst->plan;
    const Affine *idx[TREE_MAX_DEPTH] = {0};
    bool init = needs_init(inst->info) && inst->info->injective;
    inst->loop = arena_new_n(l->arena, Item *, plan->n);
    l->open.n = shared;
    for (int i = 0; i < shared; i++) {
        inst->loop[i] = l->open.at[i];
        idx[i] = affine_iter(l->x, l->open.at[i]->index.id);
    }
    if (init && plan->init_at < shared) {
        Item *run = l->open.at[plan->init_at];
        place_init(l, inst, run->parent, run, idx);
    }
    Item *parent = shared ? l->open.at[shared - 1] : l->root;
    for (int i = shared; i < plan->n; i++) {
        if (init && plan->init_at == i) place_init(l, inst, parent, NULL, idx);
        Item *loop = inst->loop[i] = loop_new(l, inst, i, idx);
        plan_constraints(l, inst, i, idx, loop);
        item_attach(l, parent, loop, NULL);
        vec_push(l->arena, &l->open, loop);
        parent = loop;
    }
    if (init && plan->init_at == plan->n) place_init(l, inst, parent, NULL, idx);
    LeafRole role = inst->info->s->post ? LEAF_POST : LEAF_UPDATE;
    leaf_new(l, inst, role, constrain_leaf(l, inst, parent), idx);
}

static void nest_statement(Lower *l, int stmt) {
    Inst *inst = inst_new(l, stmt);
    if (!plan_make(l, inst, &inst->plan) || !has_room(l, inst, 0)) return;
    int first_leaf = l->leaf.n;
    bool apart = needs_init(inst->info) && !inst->info->injective;
    if (inst->info->empty_reduction || apart) {
        l->open.n = 0;
        if (needs_init(inst->info)) place_init_apart(l, inst, l->root);
    }
    if (!inst->info->empty_reduction) {
        place(l, inst, apart ? 0 : shared_prefix(l, inst));
        l->open.n = (int)min_i64(inst->plan.first_reduction, inst->plan.stage);
    }
    record(l, inst, inst->info->s->write, true, first_leaf);
    for (int r = 0; r < inst->info->nreads; r++)
        record(l, inst, inst->info->read[r], false, first_leaf);
}

void nest_statements(Lower *l) {
    l->root = item_new(l, ITEM_GUARD);
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) nest_statement(l, i);
}
