// Flat Trees to Programs; see lift.h.
#include "stripe/lift.h"

#include "base/checked.h"
#include "stripe/stripe_ops.h"

#include <string.h>

const char *const lift_reason[LIFT_REASONS] = {"lifted", "asked",  "kind",  "place",    "tag",
                                               "buffer", "layout", "start", "statement"};

// A statement being lifted, with the facts of its leaf.
typedef struct Lifted {
    Stmt st;
    bool starts;          // an initialisation
    const Block **around; // per iterator: the block of its loop
} Lifted;

typedef struct Lifter {
    Arena *arena;
    const Tree *t;
    Program *p;
    Lift out;
    const Affine **at; // per index id, over the iterators of a leaf below it
    int nloops;
    const Index *loop[TREE_MAX_DEPTH];
    const Block *of[TREE_MAX_DEPTH];
    VEC(const Affine *) guard; // constraints around
    int *tensor;               // per buffer
    int *over;                 // per buffer: loops around its allocation
    VEC(Lifted) made;
} Lifter;

// The first reason counts.
static void refuse(Lifter *l, LiftReason reason, Range range, const char *text) {
    if (l->out.reason) return;
    l->out.reason = reason;
    l->out.range = range;
    l->out.text = text;
}
#define REFUSE(l, reason, range, ...)                                                              \
    refuse(l, reason, range, arena_printf((l)->arena, __VA_ARGS__))

// --- Does it decide something? -------------------------------------------------------------------

static bool only_starts(const Node *node) {
    const Block *b = as_block(node);
    if (!b) return node->kind == NODE_LEAF && as_leaf(node)->role == LEAF_INIT;
    for (int i = 0; i < b->nchildren; i++)
        if (!only_starts(b->child[i])) return false;
    return true;
}

// The order of stores of constants does not matter.
static void check_kind(Lifter *l, const Block *b) {
    if (b->kind == KIND_ANY || (b->kind == KIND_SERIAL && only_starts(&b->node))) return;
    for (int i = 0; i < b->nindex; i++)
        if (!b->index[i].passed)
            REFUSE(l, LIFT_KIND, b->node.range, "the loop over '%s' is %s", b->index[i].name,
                   kind_name[b->kind]);
}

static void check_block(Lifter *l, const Block *b) {
    check_kind(l, b);
    if (b->place.n) REFUSE(l, LIFT_PLACE, b->node.range, "a block has a place");
    if (b->unroll_limit) REFUSE(l, LIFT_TAG, b->node.range, "a block has an unroll limit");
    if (b->grain) REFUSE(l, LIFT_TAG, b->node.range, "a block has a grain");
    for (int i = 0; i < b->nviews; i++)
        if (b->view[i].place.n)
            REFUSE(l, LIFT_PLACE, b->node.range, "'%s' has a place", b->view[i].into);
}

static void check_leaf(Lifter *l, const Leaf *leaf) {
    if (leaf->nontemporal) REFUSE(l, LIFT_TAG, leaf->node.range, "a store is nontemporal");
    if (leaf->accumulators) REFUSE(l, LIFT_TAG, leaf->node.range, "a store has accumulators");
    if (leaf->ncaches) REFUSE(l, LIFT_TAG, leaf->node.range, "a load names a cache");
}

static bool is_dense(const Buffer *b) {
    int64_t step = 1;
    for (int d = b->rank - 1; d >= 0; step *= max_i64(b->size[d], 1), d--)
        if (b->size[d] > 1 && b->stride[d] != step) return false;
    return true;
}

static void check_buffers(Lifter *l) {
    const Tree *t = l->t;
    for (int i = 0; i < t->buffers.n; i++) {
        const Buffer *b = &t->buffers.at[i];
        Range range = i < t->nargs ? t->program->tensors.at[i].range : (Range){0, 0};
        if (b->place.n || b->bank_dim >= 0)
            REFUSE(l, LIFT_PLACE, range, "'%s' has a place", b->name);
        if (i < t->nargs) continue; // strides of arguments are the caller's
        if (*home_name[b->home] || b->align)
            REFUSE(l, LIFT_TAG, range, "'%s' has a home or an alignment", b->name);
        if (!is_dense(b)) REFUSE(l, LIFT_LAYOUT, range, "'%s' has strides of its own", b->name);
    }
    if (t->prefetches.n)
        REFUSE(l, LIFT_TAG, t->prefetches.at[0].at->node.range, "a block prefetches '%s'",
               t->buffers.at[t->prefetches.at[0].buffer].name);
}

// --- Tensors -------------------------------------------------------------------------------------

static void add_arguments(Lifter *l) {
    for (int i = 0; i < l->t->nargs; i++) {
        const Tensor *from = &l->t->program->tensors.at[i];
        const Affine *size[PROGRAM_MAX_RANK];
        for (int d = 0; d < from->rank; d++)
            size[d] = affine_const(l->p->exprs, l->t->buffers.at[i].size[d]);
        l->tensor[i] = program_tensor(l->p, from->name, from->type, from->role, from->rank, size);
        l->p->tensors.at[l->tensor[i]].range = from->range;
    }
}

static Name free_name(const Lifter *l, Name like) {
    Name name = like;
    for (int n = 1; program_find_tensor(l->p, name) >= 0; n++)
        name = name_of(l->p->names, arena_printf(l->arena, "%s_%d", like, n));
    return name;
}

// An allocation: a temporary, with a dimension for each loop around it.
static void add_temporary(Lifter *l, const Block *at, int buffer) {
    const Buffer *b = &l->t->buffers.at[buffer];
    const Affine *size[PROGRAM_MAX_RANK];
    int64_t elements = 1;
    for (int d = 0; d < b->rank; d++) elements = b->size[d] == 1 ? elements : 0;
    if (l->nloops && !elements)
        REFUSE(l, LIFT_BUFFER, at->node.range, "'%s' is allocated inside of a loop", b->name);
    if (l->nloops + b->rank > PROGRAM_MAX_RANK)
        REFUSE(l, LIFT_STATEMENT, at->node.range, "'%s' would have more than %d dimensions",
               b->name, PROGRAM_MAX_RANK);
    if (l->out.reason) return;
    for (int d = 0; d < l->nloops; d++) size[d] = affine_const(l->p->exprs, l->loop[d]->extent);
    for (int d = 0; d < b->rank; d++) size[l->nloops + d] = affine_const(l->p->exprs, b->size[d]);
    l->over[buffer] = l->nloops;
    l->tensor[buffer] =
        program_tensor(l->p, free_name(l, b->name), b->type, ROLE_TEMP, l->nloops + b->rank, size);
}

static const Access *renumber(void *user, Exprs *x, const Access *a) {
    const Lifter *l = user;
    const Affine *sub[PROGRAM_MAX_RANK];
    int n = l->over[a->tensor];
    for (int i = 0; i < n; i++) sub[i] = affine_iter(x, i);
    for (int d = 0; d < a->rank; d++) sub[n + d] = a->sub[d];
    return access_make(x, l->tensor[a->tensor], n + a->rank, sub);
}

// --- Iterators -----------------------------------------------------------------------------------

static bool access_uses(const Access *a, int iter) {
    for (int d = 0; d < a->rank; d++)
        if (affine_uses_iter(a->sub[d], iter)) return true;
    return false;
}

static bool expr_uses(const Expr *e, int iter) {
    if (e->kind == EXPR_INDEX) return affine_uses_iter(e->index, iter);
    if (e->kind == EXPR_READ) return access_uses(e->access, iter);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (expr_uses(e->arg[i], iter)) return true;
    return false;
}

static bool stmt_uses(const Stmt *st, int iter) {
    for (int i = 0; i < st->nconstraints; i++)
        if (affine_uses_iter(st->constraint[i], iter)) return true;
    return access_uses(st->write, iter) || expr_uses(st->value, iter);
}

// The statement with other iterators; those without an entry stay.
static Stmt replace(const Lifter *l, const Stmt *st, const Affine *const *iters) {
    Exprs *x = l->p->exprs;
    Stmt to = *st;
    to.write = access_substitute(x, st->write, iters, NULL, NULL, NULL);
    to.value = expr_substitute(x, st->value, iters, NULL, NULL, NULL);
    to.constraint = arena_new_n(l->arena, const Affine *, st->nconstraints);
    for (int i = 0; i < st->nconstraints; i++)
        to.constraint[i] = affine_substitute(x, st->constraint[i], iters, NULL);
    return to;
}

static void drop_iter(const Lifter *l, Lifted *s, int gone) {
    const Affine *iters[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->st.niters; i++)
        iters[i] = affine_iter(l->p->exprs, i > gone ? i - 1 : i);
    s->st = replace(l, &s->st, iters);
    s->st.niters--;
    for (int i = gone; i < s->st.niters; i++) {
        s->st.iter[i] = s->st.iter[i + 1];
        s->around[i] = s->around[i + 1];
    }
}

// Iterators `high` and `low` that only occur as size*high + low, with low in 0:size, become one:
//
//     for o in 0:3, i in 0:4 where 9 - 4*o - i >= 0  O[4*o + i] = ..
//       →  for o in 0:12 where 9 - o >= 0  O[o] = ..
//
// Substituting low - size*high for low shows whether that is so: then `high` disappears.
static bool join(Lifter *l, Lifted *s, int high, int low) {
    Exprs *x = l->p->exprs;
    int64_t size = iter_hi(&s->st.iter[low]), most;
    bool overflow = x->overflow, too_large = x->too_large;
    if (s->around[high] == s->around[low] || size < 2 ||
        !checked_mul(iter_hi(&s->st.iter[high]), size, &most) || most >= AFFINE_REACH)
        return false;
    const Affine *iters[PROGRAM_MAX_ITERS] = {0};
    iters[low] = affine_sub(x, affine_iter(x, low), affine_scale(x, affine_iter(x, high), size));
    Stmt joined = replace(l, &s->st, iters);
    bool fits =
        !x->overflow && !x->too_large && !stmt_uses(&joined, high) && stmt_uses(&joined, low);
    x->overflow = overflow;
    x->too_large = too_large;
    if (!fits) return false;
    s->st = joined;
    s->st.iter[low].hi = affine_const(x, most);
    s->st.iter[low].name = s->st.iter[high].name;
    drop_iter(l, s, high);
    return true;
}

// A loop of one iteration around a block has no effect; as an index of the block it may be a size
// of 1.
static void drop_single(const Lifter *l, Lifted *s) {
    for (int i = s->st.niters - 1; i >= 0; i--) {
        if (iter_hi(&s->st.iter[i]) != 1 || s->around[i] == s->around[s->st.niters - 1]) continue;
        const Affine *iters[PROGRAM_MAX_ITERS] = {0};
        iters[i] = affine_const(l->p->exprs, 0);
        s->st = replace(l, &s->st, iters);
        drop_iter(l, s, i);
    }
}

static void join_all(Lifter *l, Lifted *s) {
    drop_single(l, s);
    for (bool more = true; more;) {
        more = false;
        for (int high = 0; high < s->st.niters && !more; high++)
            for (int low = 0; low < s->st.niters && !more; low++)
                more = high != low && join(l, s, high, low);
    }
}

// A constraint on one iterator is a part of its range. The range of an iterator on the left of a
// reduction determines what is initialised: it changes only with `left`.
static bool narrow(const Lifter *l, Stmt *st, const Affine *c, bool left) {
    if (c->n != 1 || c->term[0].atom->kind != ATOM_ITER) return false;
    int i = c->term[0].atom->index;
    if (!left && access_uses(st->write, i)) return false;
    int64_t k = c->term[0].coef, lo = iter_lo(&st->iter[i]), hi = iter_hi(&st->iter[i]);
    if (k > 0)
        lo = max_i64(lo, ceil_div(-c->constant, k));
    else
        hi = min_i64(hi, floor_div(c->constant, -k) + 1);
    if (hi <= lo) lo = hi = iter_lo(&st->iter[i]); // empty, with any bounds
    st->iter[i].lo = affine_const(l->p->exprs, lo);
    st->iter[i].hi = affine_const(l->p->exprs, hi);
    return true;
}

static bool always_holds(const Stmt *st, const Affine *c) {
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS], min, max;
    for (int i = 0; i < st->niters; i++) {
        lo[i] = iter_lo(&st->iter[i]);
        hi[i] = iter_hi(&st->iter[i]) - 1;
        if (hi[i] < lo[i]) return true; // nothing runs
    }
    return affine_bounds(c, lo, hi, &min, &max) && min >= 0;
}

static void narrow_all(const Lifter *l, Stmt *st, bool left) {
    int n = 0;
    const Affine **kept = arena_new_n(l->arena, const Affine *, st->nconstraints);
    for (int i = 0; i < st->nconstraints; i++)
        if (!narrow(l, st, st->constraint[i], left)) kept[n++] = st->constraint[i];
    st->constraint = kept;
    st->nconstraints = n;
    n = 0;
    for (int i = 0; i < st->nconstraints; i++)
        if (!always_holds(st, kept[i])) kept[n++] = kept[i];
    st->nconstraints = n;
}

// --- Initialisations -----------------------------------------------------------------------------

static bool writes_whole(const Lifter *l, const Stmt *st) {
    const Tensor *t = &l->p->tensors.at[st->write->tensor];
    for (int d = 0; d < t->rank; d++) {
        int i = affine_as_iter(st->write->sub[d]);
        if (i < 0 || iter_lo(&st->iter[i]) != 0 || iter_hi(&st->iter[i]) != tensor_size(t, d))
            return false;
        for (int k = 0; k < d; k++)
            if (st->write->sub[k] == st->write->sub[d]) return false;
    }
    return true;
}

// Do iterator i of one and iterator k of the other have the same role in the written element?
static bool alike(const Stmt *a, int i, const Stmt *b, int k) {
    if (a->iter[i].lo->constant != b->iter[k].lo->constant ||
        a->iter[i].hi->constant != b->iter[k].hi->constant)
        return false;
    for (int d = 0; d < a->write->rank; d++)
        if (affine_coef(a->write->sub[d], i) != affine_coef(b->write->sub[d], k) ||
            affine_uses_iter(a->write->sub[d], i) != affine_uses_iter(b->write->sub[d], k))
            return false;
    return true;
}

// Do the iterators on the left select the same elements?
static bool same_elements(const Lifter *l, const Stmt *a, const Stmt *b) {
    const Affine *iters[PROGRAM_MAX_ITERS] = {0};
    bool taken[PROGRAM_MAX_ITERS] = {0};
    for (int i = 0; i < a->niters; i++) {
        for (int k = 0; k < b->niters && !iters[i]; k++)
            if (!taken[k] && access_uses(b->write, k) && alike(a, i, b, k)) {
                iters[i] = affine_iter(l->p->exprs, k);
                taken[k] = true;
            }
        if (!iters[i]) return false;
    }
    for (int k = 0; k < b->niters; k++)
        if (!taken[k] && access_uses(b->write, k)) return false;
    return access_substitute(l->p->exprs, a->write, iters, NULL, NULL, NULL) == b->write;
}

typedef struct LiftTouches {
    int tensor;
    bool found;
} LiftTouches;

static void note_access(void *user, const Access *a, bool guarded) {
    LiftTouches *t = user;
    (void)guarded;
    t->found |= a->tensor == t->tensor;
}

static bool reads(const Stmt *st, int tensor) {
    LiftTouches t = {tensor, false};
    expr_visit_accesses(st->value, note_access, &t);
    for (int d = 0; d < st->write->rank; d++)
        affine_visit_accesses(st->write->sub[d], note_access, &t);
    return t.found;
}

// Does this equal `init` of the reduction?
static bool starts(const Lifter *l, const Stmt *first, const Stmt *st) {
    Type type = l->p->tensors.at[first->write->tensor].type;
    if (st->op == REDUCE_ASSIGN || st->init || first->nconstraints ||
        reads(st, first->write->tensor))
        return false;
    if (first->value != expr_const(l->p->exprs, type, reduce_start(type, st->op))) return false;
    return st->write->has_read ? writes_whole(l, first) : same_elements(l, first, st);
}

// The first statement behind number `at` that accesses the tensor it writes; NULL: none.
static Stmt *next_of(Lifter *l, int at) {
    int tensor = l->made.at[at].st.write->tensor;
    for (int i = at + 1; i < l->made.n; i++) {
        Stmt *st = &l->made.at[i].st;
        if (st->write->tensor == tensor || reads(st, tensor)) return st;
    }
    return NULL;
}

// An initialisation becomes the `init` of the statement that it starts, so that accumulating runs
// skip both. For a temporary it may also stay a statement.
static bool merge(Lifter *l, int at) {
    const Stmt *first = &l->made.at[at].st;
    const Tensor *t = &l->p->tensors.at[first->write->tensor];
    Stmt *st = next_of(l, at);
    bool same = st && st->write->tensor == first->write->tensor && starts(l, first, st);
    if (st && !same && st->write->tensor == first->write->tensor) {
        narrow_all(l, st, true);
        same = starts(l, first, st);
    }
    if (same)
        st->init = true;
    else if (t->role != ROLE_TEMP)
        REFUSE(l, LIFT_START, first->range,
               "no statement starts from exactly the elements of '%s' that are initialised",
               t->name);
    return same;
}

// --- Statements ----------------------------------------------------------------------------------

static void add_iters(Lifter *l, Lifted *s) {
    s->st.niters = l->nloops;
    s->st.iter = arena_new_n(l->arena, Iter, l->nloops);
    s->around = arena_copy(l->arena, l->of, (size_t)l->nloops * sizeof *l->of);
    for (int i = 0; i < l->nloops; i++)
        s->st.iter[i] = (Iter){.name = l->loop[i]->name,
                               .lo = affine_const(l->p->exprs, 0),
                               .hi = affine_const(l->p->exprs, l->loop[i]->extent)};
}

static void lift_leaf(Lifter *l, const Leaf *leaf) {
    Exprs *x = l->p->exprs;
    check_leaf(l, leaf);
    if (l->nloops > PROGRAM_MAX_ITERS)
        REFUSE(l, LIFT_STATEMENT, leaf->node.range, "more than %d loops around a statement",
               PROGRAM_MAX_ITERS);
    if (l->out.reason) return;
    Subst s = {.iters = l->at, .map = renumber, .user = l, .import = true};
    Lifted made = {.st = {.op = leaf->op,
                          .post = leaf->role == LEAF_POST,
                          .unchecked = leaf->unchecked,
                          .write = access_subst(x, leaf->write, &s),
                          .value = expr_subst(x, leaf->value, &s),
                          .nconstraints = l->guard.n,
                          .range = leaf->node.range},
                   .starts = leaf->role == LEAF_INIT};
    made.st.constraint = arena_copy(l->arena, l->guard.at, sizeof(Affine *) * (size_t)l->guard.n);
    add_iters(l, &made);
    join_all(l, &made);
    narrow_all(l, &made.st, made.st.op == REDUCE_ASSIGN);
    vec_push(l->arena, &l->made, made);
}

static void lift_node(Lifter *l, const Node *node);

static void lift_block(Lifter *l, const Block *b) {
    int nloops = l->nloops, nguards = l->guard.n;
    Exprs *x = l->p->exprs;
    Subst s = {.iters = l->at, .import = true};
    check_block(l, b);
    for (int i = 0; i < b->nindex; i++) {
        const Index *k = &b->index[i];
        if (k->passed) {
            l->at[k->id] = affine_subst(x, k->passed, &s);
            continue;
        }
        l->of[l->nloops] = b;
        l->at[k->id] = affine_iter(x, l->nloops);
        l->loop[l->nloops++] = k;
    }
    for (int i = 0; i < b->nconstraints; i++)
        vec_push(l->arena, &l->guard, affine_subst(x, b->constraint[i], &s));
    for (int i = 0; i < b->nallocs; i++) add_temporary(l, b, b->alloc[i]);
    for (int i = 0; i < b->nchildren && !l->out.reason; i++) lift_node(l, b->child[i]);
    l->nloops = nloops;
    l->guard.n = nguards;
}

static void lift_node(Lifter *l, const Node *node) {
    if (node->kind == NODE_LEAF)
        lift_leaf(l, as_leaf(node));
    else if (node->kind == NODE_BLOCK)
        lift_block(l, as_block(node));
}

static void add_stmts(Lifter *l) {
    for (int i = 0; i < l->made.n && !l->out.reason; i++) {
        Lifted *s = &l->made.at[i];
        if (s->starts && merge(l, i)) continue;
        if (!s->st.init) narrow_all(l, &s->st, true);
        Stmt *st = program_stmt(l->p, s->st.range);
        *st = s->st;
    }
}

// Conditions that a Program has and a Tree does not; and what only the Program's own checks detect.
static void finish(Lifter *l) {
    DiagList found = {.arena = l->arena, .source = l->p->source};
    if (program_finish(l->p, &found)) program_bind(l->arena, l->p, NULL, &found);
    for (int i = 0; i < found.items.n; i++)
        if (found.items.at[i]->severity == SEVERITY_ERROR)
            REFUSE(l, LIFT_STATEMENT, found.items.at[i]->range, "%s", found.items.at[i]->text);
    for (int i = 0; i < l->t->nargs; i++)
        if (l->p->tensors.at[i].role != l->t->program->tensors.at[i].role)
            REFUSE(l, LIFT_STATEMENT, l->p->tensors.at[i].range,
                   "'%s' may be read before it is written", l->p->tensors.at[i].name);
}

Lift tree_lift(Arena *arena, const Tree *t) {
    Lifter l = {.arena = arena, .t = t, .out.text = ""};
    l.p = program_new(arena, t->names, t->program->name, strlen(t->program->name));
    l.p->source = t->program->source;
    l.at = arena_new_n(arena, const Affine *, t->nindices + 1);
    l.tensor = arena_new_n(arena, int, t->buffers.n + 1);
    l.over = arena_new_n(arena, int, t->buffers.n + 1);
    check_buffers(&l);
    add_arguments(&l);
    if (!l.out.reason) lift_node(&l, &t->root->node);
    if (!l.out.reason) add_stmts(&l);
    if (!l.out.reason) finish(&l);
    if (!l.out.reason) l.out.program = l.p;
    return l.out;
}

// --- Without an order ----------------------------------------------------------------------------

static const Node *unordered(Tree *t, const Node *node, bool starts) {
    const Leaf *leaf = as_leaf(node);
    if (leaf && starts && leaf->op == REDUCE_ASSIGN && leaf->value->kind == EXPR_CONST) {
        Leaf like = *leaf;
        like.role = LEAF_INIT;
        return &tree_leaf(t, &like)->node;
    }
    const Block *b = as_block(node);
    if (!b) return node;
    const Node **child = arena_new_n(t->arena, const Node *, b->nchildren + 1);
    for (int i = 0; i < b->nchildren; i++) child[i] = unordered(t, b->child[i], starts);
    Block like = *b;
    if (b->nindex) like.kind = KIND_ANY;
    return &tree_block(t, &like, child, b->nchildren)->node;
}

const Tree *tree_unordered(Arena *arena, const Tree *t, bool starts) {
    Tree *out = tree_fork(arena, t);
    out->root = as_block(unordered(out, &out->root->node, starts));
    return out;
}
