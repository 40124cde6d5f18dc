// Tensor expressions (equations 12 to 18, 30 to 35). Each built-in gives a declared tensor, an
// expression, or an assignment to the tensor that the statement names.
#include "lang/teml/teml.h"

#include <string.h>

#include "base/checked.h"

// --- Declarations ------------------------------------------------------------------------------

static Type type_named(const char *name) {
    static const struct {
        const char *name;
        Type type;
    } alias[] = {{"double", TYPE_F64}, {"float", TYPE_F32}, {"half", TYPE_F16},
                 {"int", TYPE_I32},    {"long", TYPE_I64},  {"byte", TYPE_U8}};
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (strcmp(alias[i].name, name) == 0) return alias[i].type;
    Type type = type_by_name(name, (int)strlen(name));
    return type == TYPE_BOOL ? TYPE_NONE : type;
}

static bool take_type(Teml *t, const Syn *syn, Type *out) {
    *out = syn->kind == SYN_NAME ? type_named(syn->name) : TYPE_NONE;
    if (*out != TYPE_NONE) return true;
    Diag *d = diag_report(t->diags, syn->range, DIAG_TEML_TYPE, teml_found(t, syn));
    diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_TYPE_NOTE);
    return false;
}

static int tensor_number(const Teml *t, Name name) {
    for (int i = 0; i < t->nreal; i++)
        if (t->tensors.at[i].name == name) return i;
    return -1;
}

// Gives a name its tensor, which becomes a buffer of all Trees made from now on.
static void introduce(Teml *t, int number, const TemlTensor *like) {
    t->tensors.at[number] = *like;
    Buffer *b = &t->base->buffers.at[number];
    b->type = like->type;
    b->rank = like->rank;
    b->size = arena_copy(t->arena, like->size, sizeof like->size);
    int64_t *stride = arena_new_n(t->arena, int64_t, PROGRAM_MAX_RANK), step = 1;
    for (int d = like->rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= like->size[d];
    }
    b->stride = stride;
    b->home = HOME_ARGUMENT;
    b->bank_dim = -1;
}

static TemlValue *declare(Teml *t, const TemlStmt *s, TemlTensor like) {
    Name name = s->real ? s->real : s->target;
    int number = tensor_number(t, name);
    TemlTensor *old = &t->tensors.at[number];
    like.name = name;
    like.range = s->real ? s->real_range : s->target_range;
    bool same = old->rank == like.rank && old->type == like.type && old->scalar == like.scalar &&
                !memcmp(old->size, like.size, sizeof like.size);
    if (old->rank >= 0 && !same) {
        Diag *d = diag_report(t->diags, like.range, DIAG_TEML_REDECLARED, name);
        diag_note(t->diags, d, old->range, DIAG_TEML_DECLARED_NOTE, name);
        return NULL;
    }
    if (old->rank < 0) introduce(t, number, &like);
    TemlValue *v = teml_value(t, VALUE_TENSOR);
    v->tensor = number;
    return v;
}

TemlValue *teml_scalar(Teml *t, const TemlStmt *s, int op) {
    TemlTensor like = {.type = TYPE_F64, .scalar = true};
    (void)op;
    if (s->n && !take_type(t, s->arg[0], &like.type)) return NULL;
    return declare(t, s, like);
}

// Adds a dimension; false: the tensor would have more than 2^46 bytes.
static bool grow(int64_t *bytes, int64_t size) {
    return checked_mul(*bytes, size, bytes) && *bytes <= (int64_t)1 << 46;
}

static bool take_sizes(Teml *t, const TemlStmt *s, const Syn *list, TemlTensor *out) {
    int64_t bytes = type_info[out->type].bytes;
    for (int d = 0; d < list->n; d++) {
        const Syn *item = list->at[d];
        if (item->kind != SYN_INT || item->i < 1) {
            Range at = item->kind == SYN_NONE ? s->head : item->range;
            const char *found = item->kind == SYN_INT
                                    ? arena_printf(t->arena, "%lld", (long long)item->i)
                                    : teml_found(t, item);
            diag_report(t->diags, at, DIAG_TEML_EXTENT, d + 1, found);
            return false;
        }
        if (!grow(&bytes, item->i)) {
            diag_report(t->diags, list->range, DIAG_TEML_BYTES);
            return false;
        }
        out->size[d] = item->i;
    }
    out->rank = list->n;
    return true;
}

TemlValue *teml_tensor(Teml *t, const TemlStmt *s, int op) {
    TemlTensor like = {.type = TYPE_F64};
    const Syn *list = s->arg[s->n - 1];
    (void)op;
    if (s->n == 2 && !take_type(t, s->arg[0], &like.type)) return NULL;
    if (list->kind != SYN_LIST) return teml_argument(t, s, s->n - 1, "a list of sizes");
    if (list->n > PROGRAM_MAX_RANK) {
        diag_report(t->diags, list->range, DIAG_TEML_RANK_LIMIT, list->n, PROGRAM_MAX_RANK);
        return NULL;
    }
    if (!take_sizes(t, s, list, &like)) return NULL;
    return declare(t, s, like);
}

// --- Operands ----------------------------------------------------------------------------------

static const Affine *take_iter(Teml *t, const Syn *syn) {
    const Affine *sum = affine_const(t->x, syn->kind == SYN_NAME ? 0 : syn->i);
    if (syn->kind == SYN_NAME) return affine_iter(t->x, teml_iter(t, syn->name));
    for (int i = 0; syn->kind == SYN_SUM && i < syn->n; i++) {
        const Affine *x = affine_iter(t->x, teml_iter(t, syn->at[i]->name));
        sum = affine_add(t->x, sum, affine_scale(t->x, x, syn->at[i]->i));
    }
    return sum;
}

// An iterator list for this number of dimensions.
static bool take_iters(Teml *t, const Syn *list, const char *name, int rank, const Affine **out) {
    if (list->kind != SYN_LIST) {
        diag_report(t->diags, list->range, DIAG_TEML_ITERATORS, teml_found(t, list));
        return false;
    }
    for (int d = 0; d < list->n; d++) {
        const Syn *item = list->at[d];
        bool sum = item->kind == SYN_NAME || item->kind == SYN_SUM || item->kind == SYN_INT;
        if (sum) continue;
        Range at = item->range.to > item->range.from ? item->range : list->range;
        diag_report(t->diags, at, DIAG_TEML_ITERATOR, teml_found(t, item));
        return false;
    }
    if (list->n != rank) {
        diag_report(t->diags, list->range, DIAG_TEML_RANK, name, rank, rank == 1 ? "" : "s",
                    list->n, list->n == 1 ? "" : "s");
        return false;
    }
    for (int d = 0; d < rank; d++) out[d] = take_iter(t, list->at[d]);
    if (!t->x->overflow) return true;
    t->x->overflow = false;
    diag_report(t->diags, list->range, DIAG_TEML_TOO_LARGE);
    return false;
}

// The real tensor that a value denotes, or -1.
static int real_tensor(const TemlValue *v) {
    return v->kind == VALUE_TENSOR ? v->tensor : v->kind == VALUE_ASSIGN ? v->assign->tensor : -1;
}

static const Expr *read_tensor(Teml *t, int tensor, const Affine *const *sub) {
    const TemlTensor *of = &t->tensors.at[tensor];
    return expr_read(t->x, of->type, access_make(t->x, tensor, of->rank, sub));
}

// A virtual tensor of Section 4 at these subscripts.
static const Expr *read_virtual(Teml *t, const TemlValue *v, const Affine *const *sub) {
    const Affine **iters = arena_new_n(t->arena, const Affine *, t->iters.n + 1);
    for (int d = 0; d < v->rank; d++) iters[v->result[d]] = sub[d];
    return expr_substitute(t->x, v->expr, iters, NULL, NULL, NULL);
}

static bool not_tensor(Teml *t, const TemlStmt *s, int arg) {
    diag_report(t->diags, s->arg[arg]->range, DIAG_TEML_NOT_TENSOR, s->builtin, s->arg[arg]->name);
    return false;
}

// The where-clauses of equations 14 and 15: iterators must be given exactly if the operand has
// none.
static const Expr *take_operand(Teml *t, const TemlStmt *s, int arg, const Syn *list,
                                const char *rule) {
    TemlValue *v = teml_operand(t, s, arg);
    const Affine *sub[PROGRAM_MAX_RANK];
    if (!v) return NULL;
    Name name = s->arg[arg]->name;
    if (v->kind == VALUE_LOOP) return not_tensor(t, s, arg), NULL;
    int tensor = real_tensor(v);
    bool given = list && list->kind != SYN_NONE;
    bool scalar = tensor >= 0 && !t->tensors.at[tensor].rank;
    if (given && v->kind == VALUE_EXPR) {
        diag_report(t->diags, list->range, DIAG_TEML_HAS_ITERATORS, name, rule);
        return NULL;
    }
    if (given && scalar && t->tensors.at[tensor].scalar && list->n) {
        diag_report(t->diags, list->range, DIAG_TEML_SCALAR, name, rule);
        return NULL;
    }
    if (!given && tensor >= 0 && !scalar) {
        diag_report(t->diags, s->arg[arg]->range, DIAG_TEML_NO_ITERATORS, name, rule);
        return NULL;
    }
    if (v->kind == VALUE_EXPR) return v->expr;
    int rank = tensor >= 0 ? t->tensors.at[tensor].rank : v->rank;
    if (given && !take_iters(t, list, name, rank, sub)) return NULL;
    for (int d = 0; d < rank && !given; d++) sub[d] = affine_iter(t->x, teml_level_iter(t, d + 1));
    return tensor >= 0 ? read_tensor(t, tensor, sub) : read_virtual(t, v, sub);
}

static const Expr *combine(Teml *t, ExprOp op, const Expr *a, const Expr *b) {
    Type type = type_promote(a->type, b->type);
    return expr_binary(t->x, op, expr_cast(t->x, type, a), expr_cast(t->x, type, b));
}

// --- Assignments -------------------------------------------------------------------------------

// The tensor that a statement assigns to.
static int target_of(const Teml *t, const TemlStmt *s) {
    const TemlValue *v = s->real ? teml_find(t, s->real) : NULL;
    if (v && v->kind == VALUE_ASSIGN) return v->assign->tensor; // after D = @C: ..., D means C
    return tensor_number(t, s->real ? s->real : s->target);
}

// Returns false if it would be too large.
static bool introduce_target(Teml *t, const TemlStmt *s, int tensor, int rank, const int64_t *size,
                             Type type) {
    Name name = t->tensors.at[tensor].name;
    Range at = s->real ? s->real_range : s->target_range;
    TemlTensor like = {.name = name, .type = type, .rank = rank, .range = at};
    int64_t bytes = type_info[type].bytes;
    for (int d = 0; d < rank; d++) {
        like.size[d] = size[d];
        if (grow(&bytes, size[d])) continue;
        diag_report(t->diags, at, DIAG_TEML_BYTES);
        return false;
    }
    Diag *d = diag_report(t->diags, at, DIAG_TEML_UNDECLARED, name);
    diag_note(t->diags, d, (Range){0, 0}, DIAG_TEML_UNDECLARED_NOTE, name,
              type == TYPE_F64 ? "" : arena_printf(t->arena, "%s, ", type_info[type].name),
              teml_shape_text(t, rank, size));
    introduce(t, tensor, &like);
    return true;
}

// The size that an undeclared tensor needs for a subscript.
static int64_t needed(const Affine *a, const TemlRange *ranges) {
    int64_t last = a->constant;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].coef > 0)
            last += a->term[i].coef * (ranges[a->term[i].atom->index].extent - 1);
    return last + 1;
}

static bool reads_tensor(const Expr *e, int tensor) {
    bool found = e->kind == EXPR_READ && e->access->tensor == tensor;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) found |= reads_tensor(e->arg[i], tensor);
    return found;
}

// B[i1] = A[i1, i2] keeps only the last of many values; a sum or a recurrence is intended.
static void warn_overwritten(Teml *t, const TemlStmt *s, const TemlAssign *a) {
    for (int i = 0; i < a->niters; i++) {
        if (access_uses_iter(a->left, a->iter[i]) || a->extent[i] < 2) continue;
        if (!reads_tensor(a->value, a->tensor))
            diag_report(t->diags, s->range, DIAG_TEML_LAST, t->tensors.at[a->tensor].name,
                        t->iters.at[a->iter[i]]);
        return;
    }
}

// (=, •, •) of the statement's tensor at `sub`. `rank` is the number of subscripts.
static TemlValue *assign(Teml *t, const TemlStmt *s, int rank, const Affine *const *sub,
                         const Expr *value) {
    int tensor = target_of(t, s);
    TemlTensor *of = &t->tensors.at[tensor];
    Range at = s->real ? s->real_range : s->target_range;
    const Access *left = access_make(t->x, tensor, rank, sub);
    TemlAssign *a = arena_new(t->arena, TemlAssign);
    if (of->rank >= 0 && of->rank != rank) {
        diag_report(t->diags, at, DIAG_TEML_RANK, of->name, of->rank, of->rank == 1 ? "" : "s",
                    rank, rank == 1 ? "" : "s");
        return NULL;
    }
    TemlRange *ranges = arena_new_n(t->arena, TemlRange, t->iters.n + 1);
    if (!teml_ranges(t, left, value, s->range, ranges)) return NULL;
    if (of->rank < 0) {
        int64_t size[PROGRAM_MAX_RANK];
        for (int d = 0; d < rank; d++) size[d] = needed(sub[d], ranges);
        if (!introduce_target(t, s, tensor, rank, size, value->type)) return NULL;
        if (!teml_ranges(t, left, value, s->range, ranges)) return NULL;
    }
    int levels[PROGRAM_MAX_ITERS + 1];
    int n = teml_levels(t, left, value, levels, PROGRAM_MAX_ITERS + 1);
    if (n > TREE_MAX_DEPTH / 4) {
        diag_report(t->diags, s->range, DIAG_TEML_DEPTH, TREE_MAX_DEPTH / 4);
        return NULL;
    }
    *a = (TemlAssign){.number = t->assigns.n, .tensor = tensor, .left = left, .range = s->range};
    a->value = expr_cast(t->x, of->type, value);
    a->niters = n;
    for (int i = 0; i < n; i++) {
        a->iter[i] = levels[i];
        a->extent[i] = ranges[levels[i]].extent;
    }
    warn_overwritten(t, s, a);
    vec_push(t->arena, &t->assigns, a);
    TemlValue *v = teml_value(t, VALUE_ASSIGN);
    v->assign = a;
    return v;
}

// -> iters is the left side; its rank is that of the target if that is declared.
static TemlValue *assign_to(Teml *t, const TemlStmt *s, const Syn *list, const Expr *value) {
    const Affine *sub[PROGRAM_MAX_RANK];
    int tensor = target_of(t, s), rank = t->tensors.at[tensor].rank;
    if (rank < 0) rank = list->kind == SYN_LIST ? list->n : 0;
    if (rank > PROGRAM_MAX_RANK) {
        diag_report(t->diags, list->range, DIAG_TEML_RANK_LIMIT, rank, PROGRAM_MAX_RANK);
        return NULL;
    }
    if (!take_iters(t, list, t->tensors.at[tensor].name, rank, sub)) return NULL;
    return assign(t, s, rank, sub, value);
}

TemlValue *teml_eq(Teml *t, const TemlStmt *s, int op) {
    (void)op;
    if (s->arg[1]->kind != SYN_ARROW) return teml_argument(t, s, 1, "[iterators] -> [iterators]");
    const Expr *e = take_operand(t, s, 0, s->arg[1]->at[0], "equation 14");
    return e ? assign_to(t, s, s->arg[1]->at[1], e) : NULL;
}

static const Expr *take_vop(Teml *t, const TemlStmt *s, const Syn *lists, ExprOp op) {
    if (lists && (lists->kind != SYN_LIST || lists->n != 2))
        return teml_argument(t, s, 2, "[iterators, iterators]"), NULL;
    const Expr *a = take_operand(t, s, 0, lists ? lists->at[0] : NULL, "equation 15");
    const Expr *b = a ? take_operand(t, s, 1, lists ? lists->at[1] : NULL, "equation 15") : NULL;
    return b ? combine(t, op, a, b) : NULL;
}

TemlValue *teml_vop(Teml *t, const TemlStmt *s, int op) {
    const Syn *lists = s->n > 2 ? s->arg[2] : NULL;
    if (lists && lists->kind == SYN_ARROW) {
        diag_report(t->diags, lists->at[1]->range, DIAG_TEML_STRAY_ARROW, s->builtin);
        lists = lists->at[0];
    }
    const Expr *e = take_vop(t, s, lists, (ExprOp)op);
    if (!e) return NULL;
    TemlRange *ranges = arena_new_n(t->arena, TemlRange, t->iters.n + 1);
    if (!teml_plain_ranges(t, NULL, e, s->range, ranges)) return NULL;
    TemlValue *v = teml_value(t, VALUE_EXPR);
    v->expr = e;
    return v;
}

TemlValue *teml_op(Teml *t, const TemlStmt *s, int op) {
    if (s->arg[2]->kind != SYN_ARROW)
        return teml_argument(t, s, 2, "[iterators, iterators] -> [iterators]");
    const Expr *e = take_vop(t, s, s->arg[2]->at[0], (ExprOp)op);
    return e ? assign_to(t, s, s->arg[2]->at[1], e) : NULL;
}

// --- Section 4 ---------------------------------------------------------------------------------

// An operand of known shape without iterators of its own.
typedef struct TemlOperand {
    const TemlValue *v;
    int tensor, rank;
    int64_t size[PROGRAM_MAX_RANK];
} TemlOperand;

static bool take_shaped(Teml *t, const TemlStmt *s, int arg, TemlOperand *out) {
    const TemlValue *v = teml_operand(t, s, arg);
    if (!v) return false;
    if (v->kind == VALUE_LOOP) return not_tensor(t, s, arg);
    if (v->kind == VALUE_EXPR) {
        diag_report(t->diags, s->arg[arg]->range, DIAG_TEML_FIXED, s->builtin, s->arg[arg]->name);
        return false;
    }
    *out = (TemlOperand){.v = v, .tensor = real_tensor(v)};
    const TemlTensor *of = out->tensor >= 0 ? &t->tensors.at[out->tensor] : NULL;
    out->rank = of ? of->rank : v->rank;
    memcpy(out->size, of ? of->size : v->size, sizeof out->size);
    return true;
}

static const Expr *read_operand(Teml *t, const TemlOperand *o, const Affine *const *sub) {
    return o->tensor >= 0 ? read_tensor(t, o->tensor, sub) : read_virtual(t, o->v, sub);
}

// Iterators i(first) ... for `n` dimensions.
static void level_iters(Teml *t, int first, int n, const Affine **out) {
    for (int d = 0; d < n; d++) out[d] = affine_iter(t->x, teml_level_iter(t, first + d));
}

// A virtual tensor whose dimension d is iterator i(d + 1) of `e`.
static TemlValue *virtual_tensor(Teml *t, const TemlStmt *s, int rank, const int64_t *size,
                                 const Expr *e) {
    TemlValue *v = teml_value(t, VALUE_VIRTUAL);
    v->expr = e;
    v->rank = rank;
    v->from = s->builtin;
    for (int d = 0; d < rank; d++) {
        v->size[d] = size[d];
        v->result[d] = teml_level_iter(t, d + 1);
    }
    return v;
}

static const Expr *entrywise(Teml *t, const TemlStmt *s, ExprOp op, TemlOperand *first) {
    const Affine *sub[PROGRAM_MAX_RANK];
    const Expr *e = NULL;
    for (int i = 0; i < s->n; i++) {
        TemlOperand o;
        if (!take_shaped(t, s, i, &o)) return NULL;
        if (!i) *first = o;
        if (o.rank != first->rank || memcmp(o.size, first->size, sizeof o.size)) {
            diag_report(t->diags, s->arg[i]->range, DIAG_TEML_ENTRYWISE, s->builtin,
                        s->arg[0]->name, teml_shape_text(t, first->rank, first->size),
                        s->arg[i]->name, teml_shape_text(t, o.rank, o.size));
            return NULL;
        }
        level_iters(t, 1, o.rank, sub);
        const Expr *x = read_operand(t, &o, sub);
        e = e ? combine(t, op, e, x) : x;
    }
    return e;
}

TemlValue *teml_entrywise(Teml *t, const TemlStmt *s, int op) {
    TemlOperand first;
    const Affine *sub[PROGRAM_MAX_RANK];
    const Expr *e = entrywise(t, s, (ExprOp)op, &first);
    if (!e) return NULL;
    level_iters(t, 1, first.rank, sub);
    return assign(t, s, first.rank, sub, e);
}

TemlValue *teml_ventrywise(Teml *t, const TemlStmt *s, int op) {
    TemlOperand first;
    const Expr *e = entrywise(t, s, (ExprOp)op, &first);
    return e ? virtual_tensor(t, s, first.rank, first.size, e) : NULL;
}

static bool is_dimension(Teml *t, const TemlStmt *s, const Syn *item, const TemlOperand *o,
                         int arg) {
    if (item->kind == SYN_INT && item->i >= 1 && item->i <= o->rank) return true;
    Range at = item->kind == SYN_NONE ? s->head : item->range;
    diag_report(t->diags, at, DIAG_TEML_DIMENSION, teml_found(t, item), s->arg[arg]->name, o->rank,
                o->rank == 1 ? "" : "s");
    return false;
}

// [2, 1] or [[2, 1], [3, 2]]: pairs of dimensions of operands `a` and `b`.
static int take_pairs(Teml *t, const TemlStmt *s, int arg, const TemlOperand *a,
                      const TemlOperand *b, int (*out)[2]) {
    const Syn *list = s->arg[arg];
    int second = arg > 1; // contract has two operands
    bool one = list->kind == SYN_LIST && list->n == 2 && list->at[0]->kind == SYN_INT;
    if (list->kind != SYN_LIST || !list->n || list->n > PROGRAM_MAX_RANK) {
        teml_argument(t, s, arg, "a list of pairs of dimensions");
        return -1;
    }
    for (int i = 0; i < (one ? 1 : list->n); i++) {
        const Syn *pair = one ? list : list->at[i];
        if (pair->kind != SYN_LIST || pair->n != 2) {
            diag_report(t->diags, pair->range.to > pair->range.from ? pair->range : list->range,
                        DIAG_TEML_PAIR, teml_found(t, pair));
            return -1;
        }
        if (!is_dimension(t, s, pair->at[0], a, 0) || !is_dimension(t, s, pair->at[1], b, second))
            return -1;
        out[i][0] = (int)pair->at[0]->i - 1;
        out[i][1] = (int)pair->at[1]->i - 1;
    }
    return one ? 1 : list->n;
}

// For each dimension of the result, the dimension of the operand.
static bool transposed(Teml *t, const TemlStmt *s, TemlOperand *o, int *place) {
    int pair[PROGRAM_MAX_RANK][2];
    if (!take_shaped(t, s, 0, o)) return false;
    int n = take_pairs(t, s, 1, o, o, pair);
    for (int d = 0; d < o->rank; d++) place[d] = d;
    for (int i = 0; i < n; i++) {
        int swap = place[pair[i][0]];
        place[pair[i][0]] = place[pair[i][1]];
        place[pair[i][1]] = swap;
    }
    return n > 0;
}

TemlValue *teml_transpose(Teml *t, const TemlStmt *s, int op) {
    TemlOperand o;
    int place[PROGRAM_MAX_RANK];
    const Affine *sub[PROGRAM_MAX_RANK], *left[PROGRAM_MAX_RANK];
    (void)op;
    if (!transposed(t, s, &o, place)) return NULL;
    level_iters(t, 1, o.rank, sub);
    for (int d = 0; d < o.rank; d++) left[d] = sub[place[d]];
    return assign(t, s, o.rank, left, read_operand(t, &o, sub));
}

TemlValue *teml_vtranspose(Teml *t, const TemlStmt *s, int op) {
    TemlOperand o;
    int place[PROGRAM_MAX_RANK];
    int64_t size[PROGRAM_MAX_RANK];
    const Affine *sub[PROGRAM_MAX_RANK], *left[PROGRAM_MAX_RANK];
    (void)op;
    if (!transposed(t, s, &o, place)) return NULL;
    level_iters(t, 1, o.rank, left);
    for (int d = 0; d < o.rank; d++) {
        sub[place[d]] = left[d];
        size[d] = o.size[place[d]];
    }
    return virtual_tensor(t, s, o.rank, size, read_operand(t, &o, sub));
}

// The operands of a contraction with their subscripts: result dimensions i1 ..., then the
// contracted ones.
typedef struct TemlContraction {
    int rank, npairs;
    int64_t size[PROGRAM_MAX_RANK], extent[PROGRAM_MAX_RANK];
    const Expr *product;
} TemlContraction;

static void index_operand(Teml *t, const TemlOperand *o, int (*pair)[2], int side,
                          TemlContraction *c, const Affine **sub) {
    for (int d = 0; d < o->rank; d++) {
        sub[d] = NULL;
        for (int i = 0; i < c->npairs; i++)
            if (pair[i][side] == d) sub[d] = affine_iter(t->x, i); // temporarily
        if (sub[d]) continue;
        c->size[c->rank++] = o->size[d];
        sub[d] = affine_iter(t->x, teml_level_iter(t, c->rank));
    }
    (void)side;
}

static bool contracted_twice(Teml *t, const TemlStmt *s, int (*pair)[2], int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            for (int side = 0; side < 2; side++)
                if (pair[i][side] == pair[k][side]) {
                    diag_report(t->diags, s->arg[2]->range, DIAG_TEML_PAIR_TWICE, pair[i][side] + 1,
                                s->arg[side]->name);
                    return true;
                }
    return false;
}

static bool contraction(Teml *t, const TemlStmt *s, TemlContraction *c) {
    TemlOperand o[2];
    int pair[PROGRAM_MAX_RANK][2];
    const Affine *sub[2][PROGRAM_MAX_RANK];
    if (!take_shaped(t, s, 0, &o[0]) || !take_shaped(t, s, 1, &o[1])) return false;
    *c = (TemlContraction){.npairs = take_pairs(t, s, 2, &o[0], &o[1], pair)};
    if (c->npairs < 0 || contracted_twice(t, s, pair, c->npairs)) return false;
    if (o[0].rank + o[1].rank - 2 * c->npairs > PROGRAM_MAX_RANK) {
        diag_report(t->diags, s->range, DIAG_TEML_RANK_LIMIT, o[0].rank + o[1].rank - 2 * c->npairs,
                    PROGRAM_MAX_RANK);
        return false;
    }
    for (int i = 0; i < c->npairs; i++) {
        c->extent[i] = o[0].size[pair[i][0]];
        if (c->extent[i] == o[1].size[pair[i][1]]) continue;
        diag_report(t->diags, s->arg[2]->range, DIAG_TEML_CONTRACT, pair[i][0] + 1, s->arg[0]->name,
                    (long long)c->extent[i], pair[i][1] + 1, s->arg[1]->name,
                    (long long)o[1].size[pair[i][1]]);
        return false;
    }
    for (int side = 0; side < 2; side++) index_operand(t, &o[side], pair, side, c, sub[side]);
    for (int side = 0; side < 2; side++) // the contracted dimensions follow those of the result
        for (int i = 0; i < c->npairs; i++)
            sub[side][pair[i][side]] = affine_iter(t->x, teml_level_iter(t, c->rank + 1 + i));
    c->product = combine(t, OP_MUL, read_operand(t, &o[0], sub[0]), read_operand(t, &o[1], sub[1]));
    return true;
}

TemlValue *teml_contract(Teml *t, const TemlStmt *s, int op) {
    TemlContraction c;
    const Affine *sub[PROGRAM_MAX_RANK];
    (void)op;
    if (!contraction(t, s, &c)) return NULL;
    int tensor = target_of(t, s);
    if (t->tensors.at[tensor].rank < 0 &&
        !introduce_target(t, s, tensor, c.rank, c.size, c.product->type))
        return NULL;
    if (t->tensors.at[tensor].rank != c.rank) {
        diag_report(t->diags, s->range, DIAG_TEML_RESULT, s->builtin,
                    teml_shape_text(t, c.rank, c.size), t->tensors.at[tensor].name,
                    teml_shape_text(t, t->tensors.at[tensor].rank, t->tensors.at[tensor].size));
        return NULL;
    }
    level_iters(t, 1, c.rank, sub);
    const Expr *old = read_tensor(t, tensor, sub);
    return assign(t, s, c.rank, sub, combine(t, OP_ADD, old, c.product));
}

TemlValue *teml_vcontract(Teml *t, const TemlStmt *s, int op) {
    TemlContraction c;
    const Affine *sub[PROGRAM_MAX_RANK];
    (void)op;
    if (!contraction(t, s, &c)) return NULL;
    TemlSum sum = {.type = c.product->type, .rank = c.rank, .nreduced = c.npairs};
    sum.body = c.product;
    for (int d = 0; d < c.rank; d++) {
        sum.size[d] = c.size[d];
        sum.result[d] = teml_level_iter(t, d + 1);
    }
    for (int i = 0; i < c.npairs; i++) {
        sum.reduced[i] = teml_level_iter(t, c.rank + 1 + i);
        sum.extent[i] = c.extent[i];
    }
    vec_push(t->arena, &t->sums, sum);
    level_iters(t, 1, c.rank, sub);
    const Access *a = access_make(t->x, VIRTUAL + t->sums.n - 1, c.rank, sub);
    return virtual_tensor(t, s, c.rank, c.size, expr_read(t->x, sum.type, a));
}

// t1[i1 ..] * (t2[..] * ...), nested to the right.
static const Expr *outer_product(Teml *t, const TemlStmt *s, int *rank, int64_t *size) {
    const Expr **factor = arena_new_n(t->arena, const Expr *, s->n);
    *rank = 0;
    for (int i = 0; i < s->n; i++) {
        TemlOperand o;
        const Affine *sub[PROGRAM_MAX_RANK];
        if (!take_shaped(t, s, i, &o)) return NULL;
        if (*rank + o.rank > PROGRAM_MAX_RANK) {
            diag_report(t->diags, s->range, DIAG_TEML_RANK_LIMIT, *rank + o.rank, PROGRAM_MAX_RANK);
            return NULL;
        }
        level_iters(t, *rank + 1, o.rank, sub);
        for (int d = 0; d < o.rank; d++) size[(*rank)++] = o.size[d];
        factor[i] = read_operand(t, &o, sub);
    }
    const Expr *e = factor[s->n - 1];
    for (int i = s->n - 2; i >= 0; i--) e = combine(t, OP_MUL, factor[i], e);
    return e;
}

TemlValue *teml_vouter(Teml *t, const TemlStmt *s, int op) {
    int rank;
    int64_t size[PROGRAM_MAX_RANK];
    (void)op;
    const Expr *e = outer_product(t, s, &rank, size);
    return e ? virtual_tensor(t, s, rank, size, e) : NULL;
}

TemlValue *teml_outer(Teml *t, const TemlStmt *s, int op) {
    int rank;
    int64_t size[PROGRAM_MAX_RANK];
    const Affine *sub[PROGRAM_MAX_RANK];
    (void)op;
    const Expr *e = outer_product(t, s, &rank, size);
    if (!e) return NULL;
    level_iters(t, 1, rank, sub);
    return assign(t, s, rank, sub, e);
}

// --- Initial values ----------------------------------------------------------------------------

static int64_t elements(const TemlTensor *of) {
    int64_t n = 1;
    for (int d = 0; d < of->rank; d++) n *= of->size[d];
    return n;
}

TemlValue *teml_init(Teml *t, const TemlStmt *s, int op) {
    TemlValue *v = teml_operand(t, s, 0);
    const Syn *given = s->arg[1];
    (void)op;
    if (!v) return NULL;
    int tensor = real_tensor(v);
    if (tensor < 0) {
        diag_report(t->diags, s->arg[0]->range, DIAG_TEML_INIT, s->arg[0]->name);
        return NULL;
    }
    bool one = given->kind == SYN_INT || given->kind == SYN_FLOAT;
    if (!one && given->kind != SYN_LIST)
        return teml_argument(t, s, 1, "a number or a flat list of numbers");
    for (int i = 0; !one && i < given->n; i++)
        if (given->at[i]->kind != SYN_INT && given->at[i]->kind != SYN_FLOAT)
            return teml_argument(t, s, 1, "a number or a flat list of numbers");
    TemlTensor *of = &t->tensors.at[tensor];
    if (!one && given->n != elements(of)) {
        diag_report(t->diags, given->range, DIAG_TEML_INIT_COUNT, of->name, (long long)elements(of),
                    given->n);
        return NULL;
    }
    of->init = given;
    return NULL;
}
