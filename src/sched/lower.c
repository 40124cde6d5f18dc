// Schedule + bound Program -> Tree: the driver, and the construction of immutable nodes from the
// items of nest.c and the buffers of storage.c.
//
//     statements ─ stmt_plan.c ─▶ loops ─ nest.c ─▶ items ─ storage.c ─▶ buffers ─ here ─▶ Tree
//
// Integer ids and one arena; no names are compared once classes are known. A guard moves outwards
// while it is alone in its block and does not depend on its index.
#include "sched/lower.h"
#include "tree/node_pool.h"
#include "sched/rewrite.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

// --- Statements and tensors --------------------------------------------------------------------

static void know_statements(Lower *l, const SchedStmt *const *sched) {
    int n = l->p->stmts.n;
    l->facts = program_facts(l->arena, l->p);
    facts_classes(l->arena, l->facts);
    l->info = arena_new_n(l->arena, StmtInfo, n);
    l->host = arena_new_n(l->arena, int, n);
    l->inst = arena_new_n(l->arena, Inst *, n);
    for (int i = 0; i < n; i++) {
        const Stmt *s = &l->p->stmts.at[i];
        l->info[i] = (StmtInfo){.s = s,
                                .facts = &l->facts->stmt[i],
                                .sched = sched[i],
                                .steps = s->serial,
                                .follower = -1,
                                .sibling = -1};
        l->host[i] = -1;
    }
}

static void know_tensors(Lower *l) {
    int n = l->p->tensors.n;
    l->last_record = arena_new_n(l->arena, int, n);
    l->store_of = arena_new_n(l->arena, int, n);
    l->at = arena_new_n(l->arena, const LoopRef *, n);
    for (int t = 0; t < n; t++) l->last_record[t] = l->store_of[t] = -1;
    for (int i = 0; i < l->p->stmts.n; i++) {
        int t = l->p->stmts.at[i].write->tensor;
        const StmtInfo *info = &l->info[i];
        if (t >= l->p->ninputs + l->p->noutputs && l->store_of[t] < 0)
            l->store_of[t] = storage_new(l, t, info->sched ? &info->sched->storage : NULL, info);
        if (!info->sched || !info->sched->at.iter) continue;
        l->at[t] = &info->sched->at;
        if (l->p->tensors.at[t].role == ROLE_TEMP) continue;
        diag_report(l->diags, l->at[t]->range, DIAG_SCHEDULE_AT_ARGUMENT, info->s->label);
        l->failed = true;
    }
}

// Does statement i read the tensor that statement `def` defines in the same step only?
static bool reads_same_step(const Lower *l, int def, int i) {
    const StmtFacts *f = &l->facts->stmt[i];
    const Stmt *s = l->info[def].s;
    int common = def < i ? stmts_common(l->p, def, i) : 0;
    for (int r = 0; r < f->nreads; r++) {
        if (f->read[r]->tensor != s->write->tensor) continue;
        if (common != s->serial) return false;
        for (int k = 0; k < common; k++)
            if (!same_iteration(l->arena, s, s->write, k, f->s, f->read[r], k, 0)) return false;
    }
    return true;
}

// A tensor of a group is computed at a loop of its readers only in the step that defines it.
static void keep_steps(Lower *l) {
    for (int i = 0; i < l->p->stmts.n; i++) {
        const Stmt *s = l->info[i].s;
        bool fits = true;
        if (!l->at[s->write->tensor] || !s->serial) continue;
        for (int k = 0; k < l->p->stmts.n && fits; k++)
            fits = reads_same_step(l, i, k) &&
                   (l->info[k].s->write->tensor != s->write->tensor || k == i);
        if (fits) continue;
        diag_report(l->diags, l->at[s->write->tensor]->range, DIAG_SCHEDULE_AT_STEPS, s->label);
        l->failed = true;
        return;
    }
}

// Does the statement, or a window that it computes, check indices at run time?
static bool checks(const Lower *l, int stmt, int depth) {
    const StmtInfo *info = &l->info[stmt];
    if (statement_checks(info->s)) return true;
    for (int r = 0; r < info->facts->nreads && depth < PROGRAM_MAX_STMTS; r++) {
        int tensor = info->facts->read[r]->tensor;
        for (int k = 0; l->at[tensor] && k < stmt; k++)
            if (l->info[k].s->write->tensor == tensor && checks(l, k, depth + 1)) return true;
    }
    return false;
}

// A window computes only the elements that are read. A statement that checks indices must not skip
// any, so it is refused unless all of them are read.
static void keep_checks(Lower *l) {
    for (int i = 0; i < l->p->stmts.n && !l->failed; i++) {
        int t = l->p->stmts.at[i].write->tensor;
        if (!l->at[t] || !checks(l, i, 0) || statement_all_read(l->p, i)) continue;
        diag_report(l->diags, l->at[t]->range, DIAG_SCHEDULE_CHECKED, l->p->stmts.at[i].label,
                    "computed where it is read");
        l->failed = true;
    }
}

// --- Nodes -------------------------------------------------------------------------------------

typedef struct Emit {
    Lower *l;
    const Inst *inst;
} Emit;

static const Access *map_access(void *user, Exprs *x, const Access *a) {
    (void)x;
    Emit *e = user;
    return storage_access(e->l, e->inst, a);
}

// Partial results start from -0, which unlike 0 is neutral for every sum, even for the sign of
// zero.
static const Expr *identity(Lower *l, const Stmt *s) {
    Type type = l->p->tensors.at[s->write->tensor].type;
    bool partial = s->write->tensor >= l->ntensors;
    if (partial && s->op == REDUCE_ADD && type_is_float(type)) return expr_float(l->x, type, -0.0);
    return expr_const(l->x, type, reduce_start(type, s->op));
}

// How the leaf loads from what its statement reads.
static void set_caches(Lower *l, const Inst *inst, Leaf *leaf) {
    const SchedStmt *sched = inst->info->sched;
    if (!sched || !sched->ncaches || leaf->role == LEAF_INIT) return;
    CachedRead *cache = arena_new_n(l->tree->arena, CachedRead, sched->ncaches);
    for (int i = 0; i < sched->ncaches; i++) {
        int tensor = program_find_tensor(l->p, sched->cache[i].tensor);
        if (tensor < 0 || !stmt_first_read(inst->info->s, tensor)) continue; // its copy has it
        cache[leaf->ncaches++] =
            (CachedRead){storage_buffer(l, inst, tensor), sched->cache[i].cache};
        vec_push(l->arena, &l->cached, sched->cache[i].range);
    }
    leaf->cache = cache;
}

// Copies, partial results and readers of an inlined statement have sections of their own.
static void warn_idle_caches(Lower *l) {
    const Schedule *s = l->schedule;
    for (int i = 0; s && i < s->nstmts; i++)
        for (int k = 0; k < s->stmt[i]->ncaches; k++) {
            Range r = s->stmt[i]->cache[k].range;
            bool used = r.from == r.to; // not from a text
            for (int j = 0; j < l->cached.n && !used; j++) used = l->cached.at[j].from == r.from;
            if (!used)
                diag_report(l->diags, r, DIAG_SCHEDULE_IDLE, "'cache'",
                            "another section describes these loads");
        }
}

static const Node *emit_leaf(Lower *l, const TreeItem *item) {
    const Stmt *s = item->inst->info->s;
    const SchedStmt *sched = item->inst->info->sched;
    Emit e = {l, item->inst};
    bool init = item->role == LEAF_INIT;
    Leaf leaf = {
        .node.ndeps = -1,
        .role = item->role,
        .op = init ? REDUCE_ASSIGN : s->op,
        .write = item->whole ? storage_access(
                                   l, item->inst,
                                   access_make(l->x, s->write->tensor, s->write->rank, item->iter))
                             : access_substitute(l->x, s->write, item->iter, NULL, map_access, &e),
        .value = init ? identity(l, s)
                      : expr_substitute(l->x, s->value, item->iter, NULL, map_access, &e),
        .stmt = item->inst->stmt,
        .iter = item->whole ? NULL : item->iter,
        .unchecked = s->unchecked,
        .nontemporal = sched && sched->nontemporal,
        .accumulators = sched ? sched->accumulators : 0,
    };
    set_caches(l, item->inst, &leaf);
    if (l->tree->pool) return &pool_leaf(l->tree->pool, &leaf, item->whole ? 0 : s->niters)->node;
    return &tree_leaf(l->tree, &leaf)->node;
}

static bool uses(const Block *loop, const Affine *a) {
    for (int i = 0; i < loop->nindex; i++)
        if (affine_uses_iter(a, loop->index[i].id)) return true;
    return false;
}

// for i { if c { X } }  ->  if c { for i { X } },  for the constraints c that do not depend on i.
static const Node *hoist_guard(Lower *l, const Block **made) {
    const Block *loop = *made;
    const Block *guard = loop->nchildren == 1 ? as_block(loop->child[0]) : NULL;
    if (!guard || guard->nindex || guard->nallocs || !guard->nconstraints) return &loop->node;
    const Affine **out = arena_new_n(l->arena, const Affine *, guard->nconstraints);
    const Affine **in = arena_new_n(l->arena, const Affine *, guard->nconstraints);
    int nout = 0, nin = 0;
    for (int i = 0; i < guard->nconstraints; i++) {
        if (uses(loop, guard->constraint[i]))
            in[nin++] = guard->constraint[i];
        else
            out[nout++] = guard->constraint[i];
    }
    if (nout == 0) return &loop->node;
    const Block *kept = NULL;
    if (nin) {
        Block rest = *guard;
        rest.constraint = in;
        rest.nconstraints = nin;
        kept = tree_block(l->tree, &rest, guard->child, guard->nchildren);
    }
    const Node *only = kept ? &kept->node : NULL;
    loop = kept ? tree_block(l->tree, loop, &only, 1)
                : tree_block(l->tree, loop, guard->child, guard->nchildren);
    *made = loop;
    Block outer = {.node.ndeps = -1, .constraint = out, .nconstraints = nout};
    const Node *child = &loop->node;
    return &tree_block(l->tree, &outer, &child, 1)->node;
}

static const Node *emit(Lower *l, TreeItem *item);

static int emit_children(Lower *l, const TreeItem *item, const Node **out) {
    int n = 0;
    for (int i = 0; i < item->child.n; i++) {
        const Node *node = emit(l, item->child.at[i]);
        const Block *b = as_block(node);
        if (b && !b->nindex && !b->nconstraints && !b->nallocs && b->nchildren == 1)
            node = b->child[0]; // a guard with nothing to check
        out[n++] = node;
    }
    return n;
}

// Adds the constraints of the statement in terms of the loop indices.
static void add_constraints(Lower *l, TreeItem *guard) {
    if (guard->child.n != 1 || guard->child.at[0]->what != ITEM_LEAF) return;
    const TreeItem *leaf = guard->child.at[0];
    if (leaf->role == LEAF_INIT) return;
    Emit e = {l, leaf->inst};
    Subst with = {.iters = leaf->iter, .map = map_access, .user = &e};
    const Stmt *s = leaf->inst->info->s;
    for (int c = 0; c < s->nconstraints; c++) {
        const Affine *a = affine_subst(l->x, s->constraint[c], &with);
        int64_t min, max;
        if (affine_bounds(a, l->lo.at, l->hi.at, &min, &max) && min >= 0) continue;
        vec_push(l->arena, &guard->constraint, a);
    }
}

static const Node *emit(Lower *l, TreeItem *item) {
    if (item->what == ITEM_LEAF) return emit_leaf(l, item);
    if (item->what == ITEM_GUARD) add_constraints(l, item);
    const Node **child = arena_new_n(l->arena, const Node *, item->child.n);
    int n = emit_children(l, item, child);
    Block b = {.node.ndeps = -1,
               .kind = item->like.kind,
               .nindex = item->what == ITEM_LOOP,
               .index = &item->index,
               .nconstraints = item->constraint.n,
               .constraint = item->constraint.at,
               .nallocs = item->alloc.n,
               .alloc = item->alloc.at,
               .unroll_limit = item->unroll_limit,
               .grain = item->grain};
    item->made = tree_block(l->tree, &b, child, n);
    return item->what == ITEM_LOOP ? hoist_guard(l, &item->made) : &item->made->node;
}

// Adds the prefetches of an instance: of a tensor that it reads, at one of its loops.
static void emit_prefetches(Lower *l, Inst *inst) {
    const SchedStmt *sched = inst->info->sched;
    for (int i = 0; sched && i < sched->nprefetches; i++) {
        const SchedPrefetch *f = &sched->prefetch[i];
        int tensor = program_find_tensor(l->p, f->tensor), at;
        Inst *owner;
        bool used = tensor >= 0 && stmt_touches(inst->info->facts, tensor);
        if (!used && !schedule_copies(sched, f->tensor) &&
            statement_reads(l->flat.p, inst->info->s->label, f->tensor))
            continue; // inlining removed the read
        if (!used || !loop_find(inst, &f->at, &owner, &at)) {
            Diag *d = used ? diag_report(l->diags, f->at.range, DIAG_SCHEDULE_PREFETCH_LOOP,
                                         ref_text(l->arena, &f->at), inst->info->s->label)
                           : diag_report(l->diags, f->range, DIAG_SCHEDULE_PREFETCH, f->tensor,
                                         inst->info->s->label);
            if (used)
                suggest_loop(l, d, &f->at, inst);
            else if (schedule_copies(sched, f->tensor))
                diag_note(l->diags, d, (Range){0, 0}, DIAG_SCHEDULE_PREFETCH_NOTE,
                          inst->info->s->label, f->tensor);
            else
                suggest_tensor(l->diags, d, f->tensor, l->p);
            l->failed = true;
            return;
        }
        if (!owner->loop[at]) continue; // the loop does not exist
        Prefetch p = {owner->loop[at]->made, storage_buffer(l, inst, tensor), f->level,
                      f->distance};
        if (p.buffer >= 0) vec_push(l->tree->arena, &l->tree->prefetches, p);
    }
}

static Tree *lower(Arena *arena, TreePool *pool, const Program *p, const Schedule *s,
                   DiagList *diags, LoopMap *map) {
    require(p->bound);
    const Source *before = diags->source;
    if (s && s->source) diags->source = s->source;
    Rewritten now;
    Arena *kept = pool ? pool_arena(pool) : arena; // of all that the Tree points to
    Flat flat = s && s->flatten ? program_flatten(kept, p) : (Flat){p, NULL};
    if (s && s->flatten && !flat.last)
        diag_report(diags, s->flatten_range, DIAG_SCHEDULE_FLATTEN, p->name);
    const Schedule *given = s;
    s = schedule_groups(kept, flat.p, s, diags);
    bool ok = (s || !given) && schedule_rewrite(kept, flat.p, s, diags, &now) &&
              !(s && s->flatten && !flat.last);
    Lower l = {.tree = tree_new(kept, p->exprs, p->names),
               .arena = arena,
               .x = p->exprs,
               .p = now.p,
               .ntensors = p->tensors.n,
               .flat = flat,
               .schedule = s,
               .diags = diags,
               .map = map,
               .failed = !ok};
    l.tree->program = now.p;
    l.tree->given = p;
    l.tree->pool = pool;
    if (!l.failed) know_statements(&l, now.sched);
    if (!l.failed) check_schedule(&l, flat.p, &now);
    if (!l.failed) know_tensors(&l);
    if (!l.failed) keep_steps(&l);
    if (!l.failed) keep_checks(&l);
    if (!l.failed) statement_hosts(&l);
    if (!l.failed) steps_know(&l);
    if (!l.failed) fold_know(&l);
    if (!l.failed) nest_statements(&l);
    if (!l.failed) storage_assign(&l);
    p->exprs->overflow = p->exprs->too_large = false;
    if (!l.failed) l.tree->root = as_block(emit(&l, l.root));
    for (int i = 0; i < l.leaf.n && !l.failed; i++)
        if (l.leaf.at[i]->role != LEAF_INIT) emit_prefetches(&l, l.leaf.at[i]->inst);
    bool overflow = p->exprs->overflow || p->exprs->too_large; // a skewed value may be large
    if (!l.failed && (overflow || !tree_reaches(arena, l.tree))) {
        diag_report(diags, (Range){0}, DIAG_TREE_OVERFLOW, "an index expression", 56LL);
        l.failed = true;
    }
    if (!l.failed) warn_idle_caches(&l);
    diags->source = before;
    return l.failed ? NULL : l.tree;
}

Tree *tree_lower(Arena *arena, const Program *p, const Schedule *s, DiagList *diags) {
    return lower(arena, NULL, p, s, diags, NULL);
}

Tree *tree_lower_shared(Arena *scratch, TreePool *pool, const Program *p, const Schedule *s,
                        DiagList *diags) {
    return lower(scratch, pool, p, s, diags, NULL);
}

Tree *tree_lower_mapped(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                        LoopMap *map) {
    return lower(arena, NULL, p, s, diags, map);
}
