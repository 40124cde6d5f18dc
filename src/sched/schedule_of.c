// The Schedule of a Tree: the loops around each statement, read back as an order of splits.
//
//     for m in 8 parallel
//       for n in 2
//         ..  C = 0
//         for k in 64
//           for m.1 in 8, n.1 in 32 vector:  C[8*m + m.1, 32*n + n.1] += ..
//
// is `C: m/8:p n/32 k m n:v`: the factor of an index in an iterator of the statement is the step of
// its loop. Loops that a later statement shares are left of a bar. Everything else about the Tree
// (where results start, what temporaries keep, conditions) follows from the order, or the Tree has
// no Schedule: lowering the order must give the same Tree. Blocks of several indices count as loops
// inside each other, those of one iteration as none; names and tags are not compared.
#include "sched/schedule.h"

#include <string.h>

#include "tree/tree_facts.h"

typedef struct TreeReader {
    Arena *arena;
    const Tree *t;
    const Program *p;
    TreeFacts f;
    const Use **use; // per statement its update
    const char *why;
} TreeReader;

static const char *give_up(TreeReader *r, const char *text, const char *name) {
    if (!r->why) r->why = arena_printf(r->arena, text, name);
    return r->why;
}

// --- Orders --------------------------------------------------------------------------------------

// The only place where each statement is computed.
static void find_updates(TreeReader *r) {
    r->use = arena_new_n(r->arena, const Use *, r->p->stmts.n + 1);
    for (int i = 0; i < r->f.use.n; i++) {
        const Use *u = &r->f.use.at[i];
        const Leaf *leaf = u->leaf;
        if (leaf->role == LEAF_INIT) continue;
        if (leaf->stmt < 0 || !leaf->iter) {
            give_up(r, "'%s' is written by a copy or padding of a pass",
                    r->t->buffers.at[leaf->write->tensor].name);
            return;
        }
        const char *label = r->p->stmts.at[leaf->stmt].label;
        if (r->use[leaf->stmt]) give_up(r, "statement '%s' is computed in several places", label);
        r->use[leaf->stmt] = u;
    }
    for (int i = 0; i < r->p->stmts.n; i++)
        if (!r->use[i]) give_up(r, "statement '%s' is not computed", r->p->stmts.at[i].label);
}

// Lowering initialises most results inside the loops of their statement.
static void explain_starts(TreeReader *r) {
    for (int i = 0; i < r->f.use.n && !r->why; i++) {
        const Use *init = &r->f.use.at[i];
        if (init->leaf->role != LEAF_INIT || init->leaf->stmt < 0) continue;
        const Stmt *st = &r->p->stmts.at[init->leaf->stmt];
        bool output = false;
        for (int k = 0; k < st->niters; k++) output |= !st->iter[k].reduction;
        if (output && !facts_common(init, r->use[init->leaf->stmt]).indices)
            give_up(r, "the results of statement '%s' start in loops of their own", st->label);
    }
}

// The iterator that index `id` is part of, and its factor; -1: of none, or of several.
static int iterator_of(const Stmt *st, const Leaf *leaf, int id, int64_t *factor) {
    int found = -1;
    for (int k = 0; k < st->niters; k++) {
        if (!affine_uses_iter(leaf->iter[k], id)) continue;
        if (found >= 0 || !leaf->iter[k]->linear) return -1;
        found = k;
        *factor = affine_coef(leaf->iter[k], id);
    }
    return found;
}

// The next loop of the same iterator; NULL: there is none.
static const Index *next_level(const Stmt *st, const Use *u, int at, int iter, int64_t *factor) {
    for (int i = at + 1; i < u->nindex; i++)
        if (iterator_of(st, u->leaf, u->index[i]->id, factor) == iter) return u->index[i];
    return NULL;
}

// unit[k]: the distance of neighbours of iterator k inside its interleaved loops so far.
static bool read_loop(TreeReader *r, const Stmt *st, const Use *u, int at, int64_t *unit,
                      SchedLoop *out) {
    int64_t factor = 0, inner = 0;
    int k = iterator_of(st, u->leaf, u->index[at]->id, &factor);
    if (k < 0 || factor < 1 || factor % unit[k]) {
        give_up(r, "a loop of statement '%s' is no part of one iterator", st->label);
        return false;
    }
    *out = (SchedLoop){.iter = st->iter[k].name, .kind = u->of[at]->kind};
    out->step = factor / unit[k];
    const Index *next = next_level(st, u, at, k, &inner);
    if (next && inner > factor) {
        out->interleaved = true;
        unit[k] *= u->index[at]->extent;
        out->step = next->extent * (inner / unit[k]);
    }
    return true;
}

// Loops that a later statement shares with this one.
static int shared_loops(const TreeReader *r, int stmt) {
    int most = 0;
    for (int later = stmt + 1; later < r->p->stmts.n; later++) {
        Common c = facts_common(r->use[stmt], r->use[later]);
        if (c.indices > most) most = c.indices;
    }
    return most;
}

static void read_caches(TreeReader *r, const Leaf *leaf, SchedStmt *s) {
    SchedCache *cache = arena_new_n(r->arena, SchedCache, leaf->ncaches);
    for (int i = 0; i < leaf->ncaches; i++) {
        int tensor = r->t->buffers.at[leaf->cache[i].buffer].tensor;
        if (tensor < 0) continue;
        cache[s->ncaches++] =
            (SchedCache){r->p->tensors.at[tensor].name, leaf->cache[i].cache, {0, 0}};
    }
    s->cache = cache;
}

static const SchedStmt *read_stmt(TreeReader *r, int stmt) {
    const Use *u = r->use[stmt];
    SchedLoop *loop = arena_new_n(r->arena, SchedLoop, u->nindex + 1);
    SchedStmt *s = arena_new(r->arena, SchedStmt);
    const Stmt *st = &r->p->stmts.at[stmt];
    int64_t *unit = arena_new_n(r->arena, int64_t, st->niters + 1);
    for (int k = 0; k < st->niters; k++) unit[k] = 1;
    *s = (SchedStmt){.label = st->label, .loop = loop, .stage = -1};
    int shared = stmt + 1 < r->p->stmts.n ? shared_loops(r, stmt) : u->nindex;
    for (int i = 0; i < u->nindex; i++)
        if (!read_loop(r, st, u, i, unit, &loop[s->nloops++])) return NULL;
    if (shared < s->nloops) s->stage = shared;
    s->nontemporal = u->leaf->nontemporal;
    s->accumulators = u->leaf->accumulators;
    read_caches(r, u->leaf, s);
    for (int i = 0; i < u->depth; i++) {
        s->unroll_limit = u->path[i]->unroll_limit ? u->path[i]->unroll_limit : s->unroll_limit;
        s->grain = u->path[i]->grain ? u->path[i]->grain : s->grain;
    }
    return s;
}

// --- The same Tree -------------------------------------------------------------------------------

// One of two Trees.
typedef struct TreeSide {
    const Tree *t;
    const Affine **index; // per index: that of the first Tree, or 0 of one iteration
    int *buffer;          // per buffer: that of the first Tree; -1: none yet
} TreeSide;

typedef struct TreePair {
    Exprs *x; // of both
    TreeSide a, b;
} TreePair;

static const Access *to_first(void *user, Exprs *x, const Access *access) {
    const TreeSide *side = user;
    return access_make(x, side->buffer[access->tensor], access->rank, access->sub);
}

static const Access *write_of(TreePair *p, TreeSide *side, const Leaf *l) {
    return access_substitute(p->x, l->write, side->index, NULL, to_first, side);
}

static const Expr *value_of(TreePair *p, TreeSide *side, const Leaf *l) {
    return expr_substitute(p->x, l->value, side->index, NULL, to_first, side);
}

static bool same_caches(const TreePair *p, const Leaf *a, const Leaf *b) {
    bool same = a->ncaches == b->ncaches;
    for (int i = 0; same && i < a->ncaches; i++)
        same = a->cache[i].cache == b->cache[i].cache &&
               p->a.buffer[a->cache[i].buffer] == p->b.buffer[b->cache[i].buffer];
    return same;
}

static bool same_leaf(TreePair *p, const Leaf *a, const Leaf *b) {
    return a->role == b->role && a->op == b->op && a->stmt == b->stmt &&
           a->nontemporal == b->nontemporal && a->accumulators == b->accumulators &&
           same_caches(p, a, b) && write_of(p, &p->a, a) == write_of(p, &p->b, b) &&
           value_of(p, &p->a, a) == value_of(p, &p->b, b);
}

static bool same_buffer(const Buffer *x, const Buffer *y) {
    bool same = x->tensor == y->tensor && x->type == y->type && x->rank == y->rank;
    for (int d = 0; same && d < x->rank; d++)
        same = x->size[d] == y->size[d] && x->stride[d] == y->stride[d];
    return same;
}

static bool same_memory(TreePair *p, const Block *a, const Block *b) {
    if (a->nallocs != b->nallocs) return false;
    for (int i = 0; i < b->nallocs; i++) {
        int *to = &p->b.buffer[b->alloc[i]];
        for (int k = 0; k < a->nallocs && *to < 0; k++)
            if (same_buffer(&p->a.t->buffers.at[a->alloc[k]], &p->b.t->buffers.at[b->alloc[i]]))
                *to = a->alloc[k];
        if (*to < 0) return false;
    }
    return true;
}

static bool same_conditions(TreePair *p, const Block *a, const Block *b) {
    if (a->nconstraints != b->nconstraints) return false;
    for (int i = 0; i < b->nconstraints; i++) {
        const Affine *c = affine_substitute(p->x, b->constraint[i], p->b.index, NULL);
        bool found = false;
        for (int k = 0; k < a->nconstraints && !found; k++)
            found = affine_substitute(p->x, a->constraint[k], p->a.index, NULL) == c;
        if (!found) return false;
    }
    return true;
}

// A block from its index number `from` on.
typedef struct BlockRest {
    const Block *b;
    int from;
} BlockRest;

// Its next index of several iterations; NULL: there is none.
static const Index *next_index(TreePair *p, TreeSide *side, BlockRest *r) {
    while (r->from < r->b->nindex) {
        const Index *x = &r->b->index[r->from++];
        if (x->extent != 1 || x->passed) return x;
        side->index[x->id] = affine_const(p->x, 0);
    }
    return NULL;
}

// The only block inside, if it has no siblings.
static bool go_in(BlockRest *r) {
    const Block *b = r->b, *child = b->nchildren == 1 ? as_block(b->child[0]) : NULL;
    if (!child || b->nallocs || b->nconstraints || !b->nindex || !child->nindex) return false;
    *r = (BlockRest){child, 0};
    return true;
}

static bool runs_once(const Block *b) {
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].extent != 1 || b->index[i].passed) return false;
    return true;
}

// Past blocks of one iteration directly inside.
static void skip_single(TreePair *p, TreeSide *side, BlockRest *r) {
    const Block *child = r->b->nchildren == 1 ? as_block(r->b->child[0]) : NULL;
    while (child && child->nindex && runs_once(child) && go_in(r)) {
        next_index(p, side, r);
        child = r->b->nchildren == 1 ? as_block(r->b->child[0]) : NULL;
    }
}

static bool same_node(TreePair *p, const Node *a, const Node *b);

static bool same_children(TreePair *p, const Block *a, const Block *b) {
    if (!same_memory(p, a, b) || !same_conditions(p, a, b)) return false;
    if (a->nchildren != b->nchildren) return false;
    for (int i = 0; i < a->nchildren; i++)
        if (!same_node(p, a->child[i], b->child[i])) return false;
    return true;
}

static bool same_block(TreePair *p, BlockRest a, BlockRest b) {
    for (;;) {
        const Index *x = next_index(p, &p->a, &a), *y = next_index(p, &p->b, &b);
        while (x && !y && go_in(&b)) y = next_index(p, &p->b, &b);
        while (y && !x && go_in(&a)) x = next_index(p, &p->a, &a);
        if (!x && !y) break;
        if (!x || !y || x->extent != y->extent || x->passed || y->passed) return false;
        if (a.b->kind != b.b->kind || a.b->grain != b.b->grain ||
            a.b->unroll_limit != b.b->unroll_limit)
            return false;
        p->b.index[y->id] = affine_iter(p->x, x->id);
    }
    skip_single(p, &p->a, &a);
    skip_single(p, &p->b, &b);
    return same_children(p, a.b, b.b);
}

static bool same_node(TreePair *p, const Node *a, const Node *b) {
    if (a->kind != b->kind || a->kind == NODE_SPECIAL) return false;
    if (a->kind == NODE_LEAF) return same_leaf(p, as_leaf(a), as_leaf(b));
    return same_block(p, (BlockRest){as_block(a), 0}, (BlockRest){as_block(b), 0});
}

static TreeSide side_of(Arena *arena, const Tree *t, bool first) {
    TreeSide side = {.t = t};
    side.index = arena_new_n(arena, const Affine *, t->nindices + 1);
    side.buffer = arena_new_n(arena, int, t->buffers.n + 1);
    for (int i = 0; i < t->buffers.n; i++) side.buffer[i] = first || i < t->nargs ? i : -1;
    return side;
}

bool tree_same_loops(Arena *arena, const Tree *a, const Tree *b) {
    if (a->exprs != b->exprs || a->nargs != b->nargs) return false;
    TreePair p = {a->exprs, side_of(arena, a, true), side_of(arena, b, false)};
    return same_node(&p, &a->root->node, &b->root->node);
}

// --- Reading -------------------------------------------------------------------------------------

static bool find_place(void *user, const Node *node, int depth, const Block *parent) {
    TreeReader *r = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    if (b && b->place.n) give_up(r, "blocks run on units such as '%s'", b->place.unit[0].name);
    return true;
}

static void refuse_places(TreeReader *r) {
    for (int i = 0; i < r->t->buffers.n; i++)
        if (r->t->buffers.at[i].place.n)
            give_up(r, "'%s' lies in a unit of the machine", r->t->buffers.at[i].name);
    tree_walk(r->t, find_place, r);
    if (r->t->prefetches.n) give_up(r, "%s", "it prefetches");
}

static const Schedule *read_orders(TreeReader *r) {
    Schedule *s = arena_new(r->arena, Schedule);
    const SchedStmt **stmt = arena_new_n(r->arena, const SchedStmt *, r->p->stmts.n + 1);
    *s = (Schedule){.arena = r->arena, .names = r->p->names, .stmt = stmt};
    for (int i = 0; i < r->p->stmts.n; i++) {
        const SchedStmt *one = read_stmt(r, i);
        if (!one) return NULL;
        stmt[s->nstmts++] = one;
    }
    return s;
}

const Schedule *schedule_of_tree(Arena *arena, const Tree *t, const char **why) {
    TreeReader r = {.arena = arena, .t = t, .p = t->program};
    DiagList quiet = {.arena = arena};
    *why = "it is no program of statements";
    if (!t->program || (t->given && t->given != t->program)) return NULL;
    facts_collect(&r.f, arena, t);
    if (r.f.specials) return NULL;
    refuse_places(&r);
    find_updates(&r);
    const Schedule *s = r.why ? NULL : read_orders(&r);
    const Tree *again = s ? tree_lower(arena, r.p, s, &quiet) : NULL;
    if (s && (!again || !tree_same_loops(arena, t, again))) {
        explain_starts(&r);
        give_up(&r, "%s", "memory, conditions or shared loops differ from those of any order");
    }
    *why = r.why;
    return r.why ? NULL : s;
}
