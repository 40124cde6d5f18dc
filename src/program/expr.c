// Scalar expressions: interning, simplifying constructors, substitution, visiting.
//
// Constructors fold constants and drop operations without effect; they never change a float's bits.
// A node is its fixed part and its operands behind it, in one piece of the arena.
#include "program/expr.h"

#include "base/bug.h"

#include <math.h>
#include <string.h>

const OpInfo op_info[OP_COUNT] = {
#define OP(id, name, arity, class, binds, tc, stripe, cost, trait)                                 \
    [OP_##id] = {name, arity, OP_##class, binds, tc, stripe, COST_##cost, TRAIT_##trait},
#include "program/expr.def"
#undef OP
};

void exprs_init(Exprs *x, Arena *arena) { *x = (Exprs){.arena = arena}; }

Exprs *exprs_fork(Arena *arena, const Exprs *x) {
    Exprs *own = arena_copy(arena, x, sizeof *x);
    own->arena = arena;
    own->affines = set_fork(arena, &x->affines);
    own->atoms = set_fork(arena, &x->atoms);
    own->accesses = set_fork(arena, &x->accesses);
    own->exprs = set_fork(arena, &x->exprs);
    return own;
}

// --- Accesses ----------------------------------------------------------------------------------

typedef struct AccessKey {
    int tensor, rank;
    const Affine *const *sub;
} AccessKey;

static bool same_access(const void *key, const void *item) {
    const AccessKey *k = key;
    const Access *a = item;
    return k->tensor == a->tensor && k->rank == a->rank &&
           (k->rank == 0 || !memcmp(k->sub, a->sub, (size_t)k->rank * sizeof *k->sub));
}

static Access *new_access(Exprs *x, const AccessKey *k) {
    Access *a = arena_alloc(x->arena, sizeof(Access) + (size_t)k->rank * sizeof *k->sub);
    a->tensor = k->tensor;
    a->rank = k->rank;
    a->weight = 1;
    for (int d = 0; d < k->rank; d++) {
        const Affine *s = a->sub[d] = k->sub[d];
        if (s->depth + 1 > a->depth) a->depth = s->depth + 1;
        a->weight = a->weight + s->weight; // at most rank * EXPRS_MAX_WEIGHT
        a->has_iter |= s->has_iter;
        a->has_param |= s->has_param;
        a->has_read |= s->has_read;
    }
    return a;
}

const Access *access_make(Exprs *x, int tensor, int rank, const Affine *const *sub) {
    AccessKey key = {tensor, rank, sub};
    uint64_t h = hash_mix((uint64_t)tensor, (uint64_t)rank);
    for (int d = 0; d < rank; d++) h = hash_mix(h, (uint64_t)(uintptr_t)sub[d]);
    void **slot = set_find(x->arena, &x->accesses, h, &key, same_access);
    if (!*slot) *slot = new_access(x, &key), x->accesses.n++;
    return *slot;
}

// --- Nodes -------------------------------------------------------------------------------------

typedef struct ExprKey {
    Expr node; // without operands
    const Expr *const *arg;
} ExprKey;

static uint64_t payload(const Expr *e) {
    switch (e->kind) {
    case EXPR_CONST: return (uint64_t)e->value.i;
    case EXPR_INDEX: return (uint64_t)(uintptr_t)e->index;
    case EXPR_READ: return (uint64_t)(uintptr_t)e->access;
    default: return 0;
    }
}

static bool same_expr(const void *key, const void *item) {
    const ExprKey *k = key;
    const Expr *e = item;
    return k->node.kind == e->kind && k->node.type == e->type && k->node.op == e->op &&
           k->node.n == e->n && payload(&k->node) == payload(e) &&
           (e->n == 0 || !memcmp(k->arg, e->arg, (size_t)e->n * sizeof *k->arg));
}

static const Expr *intern(Exprs *x, ExprKey *k) {
    Expr *e = &k->node;
    uint64_t h = hash_mix((uint64_t)e->kind << 16 | (uint64_t)e->type, (uint64_t)e->op);
    h = hash_mix(h, payload(e));
    for (int i = 0; i < e->n; i++) {
        h = hash_mix(h, (uint64_t)(uintptr_t)k->arg[i]);
        e->weight += k->arg[i]->weight;
        if (k->arg[i]->depth + 1 > e->depth) e->depth = k->arg[i]->depth + 1;
    }
    if (e->depth > EXPRS_MAX_DEPTH || e->weight > EXPRS_MAX_WEIGHT) {
        x->too_large = true;
        return expr_const(x, e->type, (Value){.i = 0});
    }
    void **slot = set_find(x->arena, &x->exprs, h, k, same_expr);
    if (!*slot) {
        Expr *made = arena_alloc(x->arena, sizeof(Expr) + (size_t)e->n * sizeof *k->arg);
        *made = *e;
        if (e->n) memcpy(made->arg, k->arg, (size_t)e->n * sizeof *k->arg);
        *slot = made;
        x->exprs.n++;
    }
    return *slot;
}

// There is one NaN: texts and dumps show no other.
const Expr *expr_const(Exprs *x, Type type, Value value) {
    if (type_is_float(type) && value.f != value.f) value.f = NAN;
    ExprKey k = {.node = {.kind = EXPR_CONST, .type = type, .weight = 1, .value = value}};
    return intern(x, &k);
}

const Expr *expr_int(Exprs *x, Type type, int64_t i) {
    return expr_const(x, type, type_convert(type, TYPE_I64, (Value){.i = i}));
}

const Expr *expr_float(Exprs *x, Type type, double f) {
    return expr_const(x, type, type_convert(type, TYPE_F64, (Value){.f = f}));
}

const Expr *expr_index(Exprs *x, Type type, const Affine *index) {
    if (affine_is_const(index)) return expr_int(x, type, index->constant);
    ExprKey k = {.node = {.kind = EXPR_INDEX, .type = TYPE_I64, .index = index}};
    k.node.depth = index->depth;
    k.node.weight = index->weight;
    return expr_cast(x, type, intern(x, &k));
}

const Expr *expr_read(Exprs *x, Type type, const Access *access) {
    ExprKey k = {.node = {.kind = EXPR_READ, .type = type, .access = access}};
    k.node.depth = access->depth;
    k.node.weight = access->weight;
    return intern(x, &k);
}

static bool is_const(const Expr *e) { return e->kind == EXPR_CONST; }

// Folds an operation whose operands are all constants.
static const Expr *fold(Exprs *x, ExprOp op, Type type, int n, const Expr *const *arg) {
    Value v[4];
    for (int i = 0; i < n; i++) v[i] = arg[i]->value;
    return expr_const(x, type, op_eval(op, arg[0]->type, v));
}

// Does it read an element at an index from data? Such a read is checked even if its value is
// unused.
static bool gathers(const Expr *e) {
    if (e->kind == EXPR_READ) return e->access->has_read;
    if (e->kind == EXPR_INDEX) return e->index->has_read;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (gathers(e->arg[i])) return true;
    return false;
}

// The result of a SELECT or LOGIC operation when a condition is known; NULL when it is not.
static const Expr *decide(ExprOp op, const Expr *const *arg) {
    if (op == OP_SELECT && arg[1] == arg[2] && !gathers(arg[0])) return arg[1];
    if (op == OP_NOT && arg[0]->kind == EXPR_OP && arg[0]->op == OP_NOT) return arg[0]->arg[0];
    if (!is_const(arg[0])) return NULL;
    bool holds = arg[0]->value.i != 0;
    if (op == OP_SELECT) return holds ? arg[1] : arg[2];
    if (op == OP_AND) return holds ? arg[1] : arg[0];
    if (op == OP_OR) return holds ? arg[0] : arg[1];
    return NULL;
}

// A lossless cast on the way to a type that can be reached directly: i32(i16(u8)).
static bool is_step(const Expr *a) {
    return a->kind == EXPR_OP && a->op == OP_CAST && type_widens(a->arg[0]->type, a->type);
}

// A cast to f16 or bf16 of an operation of the same type rounds its f32 result.
static const Expr *explicit_cast(Exprs *x, Type to, const Expr *a) {
    if (is_const(a)) return expr_const(x, to, type_convert(to, a->type, a->value));
    if (is_step(a)) return explicit_cast(x, to, a->arg[0]);
    bool rounds = type_compute(to) != to && a->kind == EXPR_OP && a->op != OP_CAST;
    if (a->type == to && !rounds) return a;
    ExprKey k = {.node = {.kind = EXPR_OP, .type = to, .op = OP_CAST, .n = 1, .weight = 1},
                 .arg = &a};
    return intern(x, &k);
}

const Expr *expr_op(Exprs *x, ExprOp op, Type type, int n, const Expr *const *arg) {
    if (n != op_info[op].arity) bug("%s takes %d operands", op_info[op].name, op_info[op].arity);
    if (op == OP_CAST) return explicit_cast(x, type, arg[0]);
    const Expr *known = decide(op, arg);
    if (known) return known;
    // A value computed in f32 is not a constant of a narrower type: only a cast rounds it.
    bool constant = op != OP_SELECT && type_compute(type) == type;
    for (int i = 0; i < n; i++) constant &= is_const(arg[i]);
    if (constant) return fold(x, op, type, n, arg);
    ExprKey k = {.node = {.kind = EXPR_OP, .type = type, .op = op, .n = n, .weight = 1},
                 .arg = arg};
    return intern(x, &k);
}

static Type result_type(ExprOp op, Type operand) {
    OpClass class = op_info[op].class;
    return class == OP_COMPARE || class == OP_LOGIC ? TYPE_BOOL : operand;
}

const Expr *expr_unary(Exprs *x, ExprOp op, const Expr *a) {
    return expr_op(x, op, result_type(op, a->type), 1, &a);
}

const Expr *expr_binary(Exprs *x, ExprOp op, const Expr *a, const Expr *b) {
    const Expr *arg[] = {a, b};
    return expr_op(x, op, result_type(op, a->type), 2, arg);
}

const Expr *expr_select(Exprs *x, const Expr *c, const Expr *a, const Expr *b) {
    const Expr *arg[] = {c, a, b};
    return expr_op(x, OP_SELECT, a->type, 3, arg);
}

const Expr *expr_cast(Exprs *x, Type to, const Expr *a) {
    return a->type == to ? a : expr_op(x, OP_CAST, to, 1, &a);
}

// --- Substitution ------------------------------------------------------------------------------

const Access *access_subst(Exprs *x, const Access *a, const Subst *s) {
    const Affine *buf[16], **sub = buf;
    if (a->rank > 16) sub = arena_new_n(x->arena, const Affine *, a->rank);
    bool changed = s->import;
    for (int d = 0; d < a->rank; d++) {
        sub[d] = affine_subst(x, a->sub[d], s);
        changed |= sub[d] != a->sub[d];
    }
    if (changed) a = access_make(x, a->tensor, a->rank, sub);
    return s->map ? s->map(s->user, x, a) : a;
}

const Expr *expr_subst(Exprs *x, const Expr *e, const Subst *s) {
    switch (e->kind) {
    case EXPR_CONST: return s->import ? expr_const(x, e->type, e->value) : e;
    case EXPR_INDEX: {
        const Affine *index = affine_subst(x, e->index, s);
        return index == e->index ? e : expr_index(x, e->type, index);
    }
    case EXPR_READ: {
        const Access *a = access_subst(x, e->access, s);
        return a == e->access ? e : expr_read(x, e->type, a);
    }
    default: break;
    }
    const Expr *arg[4];
    bool changed = s->import;
    for (int i = 0; i < e->n; i++) {
        arg[i] = expr_subst(x, e->arg[i], s);
        changed |= arg[i] != e->arg[i];
    }
    return changed ? expr_op(x, e->op, e->type, e->n, arg) : e;
}

const Access *access_substitute(Exprs *x, const Access *a, const Affine *const *iters,
                                const Affine *const *params, AccessMap *map, void *user) {
    return access_subst(x, a, &(Subst){.iters = iters, .params = params, .map = map, .user = user});
}

const Expr *expr_substitute(Exprs *x, const Expr *e, const Affine *const *iters,
                            const Affine *const *params, AccessMap *map, void *user) {
    return expr_subst(x, e, &(Subst){.iters = iters, .params = params, .map = map, .user = user});
}

// --- Visiting ----------------------------------------------------------------------------------

static void visit_affine(const Affine *a, bool guarded, AccessVisit *fn, void *user);

static void visit_access(const Access *a, bool guarded, AccessVisit *fn, void *user) {
    if (a->has_read)
        for (int d = 0; d < a->rank; d++) visit_affine(a->sub[d], guarded, fn, user);
    fn(user, a, guarded);
}

static void visit_affine(const Affine *a, bool guarded, AccessVisit *fn, void *user) {
    if (!a->has_read) return;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_READ) {
            visit_access(t->read, guarded, fn, user);
        } else if (t->has_read) {
            visit_affine(t->a, guarded, fn, user);
            visit_affine(t->b, guarded, fn, user);
        }
    }
}

static void visit_expr(const Expr *e, bool guarded, AccessVisit *fn, void *user) {
    if (e->kind == EXPR_READ) visit_access(e->access, guarded, fn, user);
    if (e->kind == EXPR_INDEX) visit_affine(e->index, guarded, fn, user);
    for (int i = 0; i < e->n; i++) {
        bool lazy = i > 0 && op_info[e->op].trait == TRAIT_LAZY;
        visit_expr(e->arg[i], guarded || lazy, fn, user);
    }
}

void expr_visit_accesses(const Expr *e, AccessVisit *fn, void *user) {
    visit_expr(e, false, fn, user);
}

void access_collect(void *list, const Access *access, bool guarded) {
    (void)guarded;
    AccessList *l = list;
    for (int i = 0; i < l->at.n; i++)
        if (l->at.at[i] == access) return;
    vec_push(l->arena, &l->at, access);
}

bool access_uses_iter(const Access *a, int iter) {
    for (int d = 0; d < a->rank; d++)
        if (affine_uses_iter(a->sub[d], iter)) return true;
    return false;
}

bool access_tells_iters(const Access *a) {
    uint32_t told = 0;
    for (int d = 0; d < a->rank; d++) told |= affine_iter_mask(a->sub[d]);
    for (int i = 0; i < 32 && a->has_read; i++)
        if (!(told >> i & 1) && access_uses_iter(a, i)) return false;
    return true;
}

void affine_visit_accesses(const Affine *a, AccessVisit *fn, void *user) {
    visit_affine(a, false, fn, user);
}
