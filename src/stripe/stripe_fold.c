// Converts the statements of a Stripe block to children of a Tree.
//
// Loads, constants and intrinsics are not nodes of a Tree. Each becomes an expression, and a store
// takes the expression of its scalar, so that one store is one leaf. This moves loads down to the
// stores that use them. If a statement in between overwrites the loaded element, its value is first
// kept in a buffer:
//
//     $a = load(A)                 a = A[i]
//     A = store($b)          →     A[i] = ...
//     B = store($a)                B[i] = a
#include "stripe/stripe_impl.h"

#include <string.h>

#include "base/checked.h"

typedef struct FoldKept {
    const Access *of, *in;
} FoldKept;

typedef struct Fold {
    StripeParser *p;
    StripeScope *s;
    int at;                // the current statement
    int buffer;            // the buffer that it writes
    VEC(CachedRead) cache; // per buffer that was loaded: how its last load says
    VEC(FoldKept) kept;    // while rewriting: elements and the buffers that keep them
    const Affine **iters;  // values of scalars in subscripts, or NULL
} Fold;

typedef struct FoldCaches {
    const Fold *f;
    Leaf *leaf;
    CachedRead *cache; // of the leaf
} FoldCaches;

// --- Subscripts --------------------------------------------------------------------------------

// The scalar as an index expression; NULL unless it is an index, or an integer that was loaded.
static const Affine *as_affine(Exprs *x, const Expr *e) {
    if (e->kind == EXPR_INDEX) return e->index;
    if (e->kind == EXPR_CONST && type_is_integer(e->type)) return affine_const(x, e->value.i);
    if (e->kind == EXPR_READ && type_is_integer(e->type)) return affine_read(x, e->access);
    if (e->kind == EXPR_OP && e->op == OP_CAST && type_is_integer(e->type) &&
        type_is_integer(e->arg[0]->type) &&
        type_info[e->type].bits > type_info[e->arg[0]->type].bits)
        return as_affine(x, e->arg[0]);
    return NULL;
}

static const Affine *fill_in(Fold *f, const StripeStmt *st, const Affine *a) {
    StripeScope *s = f->s;
    if (!st->gathers || f->p->failed) return a;
    if (!f->iters)
        f->iters = arena_new_n(f->p->arena, const Affine *, TREE_MAX_INDICES + s->scalar.n);
    for (int i = 0; i < s->scalar.n; i++) {
        if (!s->scalar.at[i].e || !affine_uses_iter(a, TREE_MAX_INDICES + i)) continue;
        f->iters[TREE_MAX_INDICES + i] = as_affine(f->p->x, s->scalar.at[i].e);
        if (!f->iters[TREE_MAX_INDICES + i]) {
            stripe_fail(f->p, st->range, DIAG_STRIPE_SUBSCRIPT);
            return affine_const(f->p->x, 0);
        }
    }
    return affine_substitute(f->p->x, a, f->iters, NULL);
}

static void check_pool(Fold *f, Range range) {
    if (f->p->x->too_large) stripe_fail(f->p, range, DIAG_STRIPE_TOO_LARGE);
    if (f->p->x->overflow) stripe_fail(f->p, range, DIAG_STRIPE_OVERFLOW);
}

static const Access *element(Fold *f, const StripeStmt *st) {
    const Affine *sub[STRIPE_MAX_RANK];
    const Refine *r = st->view;
    for (int d = 0; d < r->rank; d++) {
        sub[d] = r->v.offset[d];
        if (st->sub) sub[d] = affine_add(f->p->x, sub[d], fill_in(f, st, st->sub[d]));
        int64_t lo, hi;
        if (!sub[d]->has_read && !affine_bounds(sub[d], f->p->lo, f->p->hi, &lo, &hi))
            stripe_fail(f->p, st->range, DIAG_STRIPE_OVERFLOW);
    }
    check_pool(f, st->range);
    return access_make(f->p->x, r->v.buffer, r->rank, sub);
}

static bool pull(Tags *tags, Arena *arena, const char *name, const char **value) {
    for (int i = 0; i < tags->n; i++) {
        if (strcmp(tags->at[i].name, name) != 0 || !tags->at[i].value != !value) continue;
        if (value) *value = tags->at[i].value;
        Tag *at = arena_copy(arena, tags->at, sizeof(Tag) * (size_t)tags->n);
        memmove(at + i, at + i + 1, sizeof(Tag) * (size_t)(tags->n - i - 1));
        *tags = (Tags){tags->n - 1, at};
        return true;
    }
    return false;
}

// The cache operator of a load holds for the stores that use it.
static void note_cache(Fold *f, const StripeStmt *st, int buffer) {
    Tags tags = st->tags;
    const char *word = "";
    CachedRead read = {buffer, LOAD_AUTO};
    if (pull(&tags, f->p->arena, "cache", &word)) {
        for (int k = LOAD_AUTO + 1; k < LOAD_CACHE_COUNT; k++)
            if (!strcmp(word, load_cache_name[k])) read.cache = (LoadCache)k;
        if (!read.cache) stripe_fail(f->p, st->range, DIAG_STRIPE_CACHE);
    }
    int i = 0;
    while (i < f->cache.n && f->cache.at[i].buffer != buffer) i++;
    if (i == f->cache.n) vec_push(f->p->arena, &f->cache, read);
    f->cache.at[i] = read;
}

static const Expr *load(Fold *f, const StripeStmt *st) {
    LoadPlace place = {element(f, st), st->range};
    note_cache(f, st, st->view->v.buffer);
    vec_push(f->p->arena, &f->p->t->loads, place);
    return expr_read(f->p->x, st->view->type, place.access);
}

// --- Operations --------------------------------------------------------------------------------

// The common type of operands: a literal without a type takes that of the others.
static Type common_type(const Fold *f, const StripeStmt *st, int first) {
    Type type = TYPE_NONE;
    for (int soft = 0; soft < 2; soft++)
        for (int i = first; i < st->nargs; i++) {
            const StripeScalar *a = &f->s->scalar.at[st->arg[i]];
            if (a->soft != soft) continue;
            if (type == TYPE_NONE)
                type = a->e->type;
            else if (!soft || (type_is_float(a->e->type) && !type_is_float(type)))
                type = type_promote(type, a->e->type);
        }
    return type;
}

static bool on_bits(ExprOp op) {
    return op == OP_BITAND || op == OP_BITOR || op == OP_BITXOR || op == OP_SHL || op == OP_SHR;
}

static const Expr *operation(Fold *f, const StripeStmt *st) {
    Exprs *x = f->p->x;
    const Expr *arg[4];
    OpClass class = op_info[st->op].class;
    int first = st->op == OP_SELECT ? 1 : 0;
    Type type = class == OP_LOGIC ? TYPE_BOOL : common_type(f, st, first);
    if (class == OP_MATH && !type_is_float(type)) type = TYPE_F32;
    if (on_bits(st->op) && type_is_float(type))
        stripe_fail(f->p, st->range, DIAG_STRIPE_OPERAND, stripe_op_name(st->op),
                    type_info[type].stripe);
    if (f->p->failed) return expr_int(x, TYPE_I32, 0);
    for (int i = 0; i < st->nargs; i++)
        arg[i] = expr_cast(x, i < first ? TYPE_BOOL : type, f->s->scalar.at[st->arg[i]].e);
    Type result = class == OP_COMPARE || class == OP_LOGIC ? TYPE_BOOL : type;
    return expr_op(x, st->op, result, st->nargs, arg);
}

static const Expr *scalar(Fold *f, const StripeStmt *st) {
    Exprs *x = f->p->x;
    const Expr *e;
    switch (st->kind) {
    case SS_LOAD: return load(f, st);
    case SS_INDEX: return expr_index(x, TYPE_I64, fill_in(f, st, st->index));
    case SS_CONST: return expr_const(x, st->type, st->value);
    case SS_CAST:
        e = f->s->scalar.at[st->arg[0]].e;
        return st->type ? expr_op(x, OP_CAST, st->type, 1, &e) : e;
    default: return operation(f, st);
    }
}

// --- Keeping overwritten elements --------------------------------------------------------------

static void note_read(void *user, const Access *a, bool guarded) {
    Fold *f = user;
    (void)guarded;
    if (a->tensor != f->buffer) return;
    for (int i = 0; i < f->kept.n; i++)
        if (f->kept.at[i].of == a) return;
    vec_push(f->p->arena, &f->kept, ((FoldKept){a, NULL}));
}

static const Access *kept_instead(void *user, Exprs *x, const Access *a) {
    const Fold *f = user;
    (void)x;
    for (int i = 0; i < f->kept.n; i++)
        if (f->kept.at[i].of == a) return f->kept.at[i].in;
    return a;
}

static const Access *keep(Fold *f, const Access *a) {
    StripeParser *p = f->p;
    const Buffer *from = &p->t->buffers.at[a->tensor];
    Buffer b = {.name = name_of(p->names, arena_printf(p->arena, "%s_kept", from->name)),
                .type = from->type,
                .home = HOME_AUTO,
                .tensor = -1,
                .bank_dim = -1};
    int number = tree_buffer(p->t, &b);
    vec_push(p->arena, &f->s->alloc, number);
    Leaf leaf = {.node = {.range = f->s->stmt.at[f->at].range, .ndeps = -1},
                 .write = access_make(p->x, number, 0, NULL),
                 .value = expr_read(p->x, b.type, a),
                 .stmt = -1};
    vec_push(p->arena, &f->s->child, &tree_leaf(p->t, &leaf)->node);
    return leaf.write;
}

static bool outlives(const Fold *f, const StripeScalar *a) { return a->e && a->last_use > f->at; }

// Statement f->at writes `buffer`: keeps the elements that were loaded from it and are used later.
static void keep_loads(Fold *f, int buffer) {
    f->buffer = buffer;
    f->kept.n = 0;
    for (int i = 0; i < f->s->scalar.n; i++)
        if (outlives(f, &f->s->scalar.at[i]))
            expr_visit_accesses(f->s->scalar.at[i].e, note_read, f);
    if (!f->kept.n) return;
    for (int i = 0; i < f->kept.n; i++) f->kept.at[i].in = keep(f, f->kept.at[i].of);
    for (int i = 0; i < f->s->scalar.n; i++)
        if (outlives(f, &f->s->scalar.at[i]))
            f->s->scalar.at[i].e =
                expr_substitute(f->p->x, f->s->scalar.at[i].e, NULL, NULL, kept_instead, f);
}

// --- Children ----------------------------------------------------------------------------------

static void leaf_tags(Fold *f, const StripeStmt *st, Leaf *leaf) {
    Arena *arena = f->p->arena;
    Tags *tags = &leaf->node.tags;
    const char *n = NULL;
    if (pull(tags, arena, "init", NULL)) leaf->role = LEAF_INIT;
    if (pull(tags, arena, "post", NULL)) leaf->role = LEAF_POST;
    leaf->unchecked = pull(tags, arena, "unchecked", NULL);
    leaf->nontemporal = pull(tags, arena, "nontemporal", NULL);
    if (!pull(tags, arena, "accumulators", &n)) return;
    int count = 0;
    for (; *n >= '0' && *n <= '9' && count < 100000; n++) count = 10 * count + (*n - '0');
    if (*n || count == 0) stripe_fail(f->p, st->range, DIAG_STRIPE_TAG, "accumulators");
    leaf->accumulators = count;
}

static void use_cache(void *user, const Access *a, bool guarded) {
    FoldCaches *to = user;
    (void)guarded;
    for (int i = 0; i < to->f->cache.n; i++) {
        CachedRead read = to->f->cache.at[i];
        if (read.buffer == a->tensor && read.cache && !leaf_cache(to->leaf, a->tensor))
            to->cache[to->leaf->ncaches++] = read;
    }
}

static void leaf_caches(Fold *f, Leaf *leaf) {
    FoldCaches to = {f, leaf, arena_new_n(f->p->arena, CachedRead, f->cache.n)};
    leaf->cache = to.cache;
    expr_visit_accesses(leaf->value, use_cache, &to);
}

static const Node *store(Fold *f, const StripeStmt *st) {
    Leaf leaf = {.node = {.range = st->range, .ndeps = -1, .tags = st->tags}, .stmt = -1};
    leaf_tags(f, st, &leaf);
    const Refine *r = st->view;
    Reduce implied = r->level && leaf.role != LEAF_INIT ? r->level->v.agg : REDUCE_ASSIGN;
    leaf.op = st->has_agg ? st->agg : implied;
    if (r->level && leaf.op != REDUCE_ASSIGN) r->level->updated = true;
    leaf.write = element(f, st);
    leaf.value = expr_cast(f->p->x, r->type, f->s->scalar.at[st->arg[0]].e);
    check_pool(f, st->range);
    leaf_caches(f, &leaf);
    keep_loads(f, r->v.buffer);
    return &tree_leaf(f->p->t, &leaf)->node;
}

static const Node *block(Fold *f, const StripeStmt *st) {
    const StripeScope *inner = st->scope;
    for (int i = 0; i < inner->view.n; i++)
        if (inner->view.at[i]->parent && inner->view.at[i]->v.dir != VIEW_IN)
            keep_loads(f, inner->view.at[i]->v.buffer);
    for (int i = 0; i < inner->view.n; i++) {
        const Refine *r = inner->view.at[i];
        if (r->starts && r->updated) stripe_init(f->p, (const Block *)st->node, r, &f->s->child);
    }
    return st->node;
}

static const Node *special(Fold *f, const StripeStmt *st) {
    const Special *s = (const Special *)st->node;
    for (int i = 0; i < s->nouts; i++) keep_loads(f, s->out[i].buffer);
    return st->node;
}

// Dependences as positions among the children; a scalar counts as the child that follows it.
static void set_deps(Fold *f, const StripeStmt *st, Node *node, int own) {
    if (st->ndeps < 0) return;
    int *deps = arena_new_n(f->p->arena, int, st->ndeps), n = 0;
    for (int i = 0; i < st->ndeps && !f->p->failed; i++) {
        int child = st->dep[i] < 0 ? -1 : -2;
        for (int k = 0; k < f->at && st->dep[i] >= 0; k++)
            if (f->s->stmt.at[k].number == st->dep[i]) child = f->s->stmt.at[k].child;
        if (child == -2) stripe_fail(f->p, st->dep_range, DIAG_STRIPE_DEP, (long long)st->dep[i]);
        bool twice = child >= own;
        for (int k = 0; k < n; k++) twice |= deps[k] == child;
        if (!twice) deps[n++] = child;
    }
    node->ndeps = n;
    node->deps = deps;
}

static void fold_statement(Fold *f, StripeStmt *st) {
    const Node *node = NULL;
    switch (st->kind) {
    case SS_STORE: node = store(f, st); break;
    case SS_BLOCK: node = block(f, st); break;
    case SS_SPECIAL: node = special(f, st); break;
    default: f->s->scalar.at[st->result].e = scalar(f, st); check_pool(f, st->range);
    }
    st->child = f->s->child.n;
    if (!node) return;
    set_deps(f, st, (Node *)node, st->child);
    vec_push(f->p->arena, &f->s->child, node);
}

bool stripe_fold(StripeParser *p, StripeScope *s) {
    Fold f = {.p = p, .s = s};
    for (f.at = 0; f.at < s->stmt.n && !p->failed; f.at++) fold_statement(&f, &s->stmt.at[f.at]);
    return !p->failed;
}
