// Specials: operations on whole views, defined by their expansion into blocks and leaves. Back-ends
// never see one: tree_expand() comes before interpretation and compilation.
//
//     zero, agg_init_*   O[x] = identity                      for all x in O
//     copy               O[x] = I[x]
//     reshape            O[x] = I[y], x and y the same position in row-major order
//     gather             O[x, y] = I[X[x], y]                 `axis=k` gathers along dimension k
//     scatter            O[X[x], y] += E[x, y]; an `out` starts from zero
//     prng_step          N streams of the generator taus88, one column of the state u32(3, N) each.
//                        Element e of the result comes from stream e % N: 24 bits as a float below
//                        1, or all 32 as u32. Yields the state behind the last element.
#include "tree/special.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

const SpecialInfo special_info[SPECIAL_COUNT] = {
#define SPECIAL(id, name, nouts, nins) {name, nouts, nins},
#include "tree/special.def"
#undef SPECIAL
};

int special_find(Name op) {
    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (strcmp(special_info[i].name, op) == 0) return i;
    return -1;
}

// --- Operands ----------------------------------------------------------------------------------

static const Buffer *buffer_of(const Tree *t, const BlockView *v) {
    return &t->buffers.at[v->buffer];
}
static int rank_of(const Tree *t, const BlockView *v) { return buffer_of(t, v)->rank; }
static Type type_of(const Tree *t, const BlockView *v) { return buffer_of(t, v)->type; }

static bool elements(const Tree *t, const BlockView *v, int64_t *n) {
    *n = 1;
    for (int d = 0; d < rank_of(t, v); d++)
        if (!checked_mul(*n, v->size[d], n) || *n > (int64_t)1 << 40) return false;
    return true;
}

static int axis_of(const Special *s) {
    for (int i = 0; i < s->nparams; i++)
        if (strcmp(s->param[i].name, "axis") == 0) return (int)strtol(s->param[i].value, NULL, 10);
    return 0;
}

int special_indices(const Tree *t, const Special *s) {
    int n = 4;
    for (int i = 0; i < s->nouts; i++) n += rank_of(t, &s->out[i]);
    for (int i = 0; i < s->nins; i++) n += rank_of(t, &s->in[i]);
    return n;
}

static bool same_sizes(const Tree *t, const BlockView *a, const BlockView *b) {
    if (rank_of(t, a) != rank_of(t, b)) return false;
    for (int d = 0; d < rank_of(t, a); d++)
        if (a->size[d] != b->size[d]) return false;
    return true;
}

// `table` indexed along an axis by `index` gives `rows`.
static const char *check_gather(const Tree *t, const Special *s, const BlockView *table,
                                const BlockView *rows) {
    const BlockView *index = &s->in[1];
    int axis = axis_of(s), nx = rank_of(t, index), nt = rank_of(t, table);
    if (!type_is_integer(type_of(t, index))) return "the indices are integers";
    if (axis < 0 || axis >= nt) return "there is no such axis";
    if (rank_of(t, rows) != nt - 1 + nx) return "the ranks do not fit";
    for (int d = 0; d < nt - 1 + nx; d++) {
        int64_t want = d < axis        ? table->size[d]
                       : d < axis + nx ? index->size[d - axis]
                                       : table->size[d - nx + 1];
        if (rows->size[d] != want) return "the sizes do not fit";
    }
    return NULL;
}

static const char *check_prng(const Tree *t, const Special *s) {
    const BlockView *state = &s->in[0];
    Type result = type_of(t, &s->out[1]);
    if (type_of(t, state) != TYPE_U32 || type_of(t, &s->out[0]) != TYPE_U32)
        return "the state is of type u32";
    if (rank_of(t, state) != 2 || state->size[0] != 3 || state->size[1] < 1 ||
        !same_sizes(t, state, &s->out[0]))
        return "the state has sizes (3, N) before and after";
    if (!type_is_float(result) && result != TYPE_U32) return "the result is a float or u32";
    if (s->out[1].buffer == s->out[0].buffer) return "state and result are two tensors";
    return NULL;
}

const char *special_check(Arena *arena, const Tree *t, const Special *s) {
    int op = special_find(s->op);
    int64_t n, m;
    if (op < 0) return "it does not exist";
    bool shape = op == SPECIAL_SCATTER && s->nins == 3; // the third only tells the shape
    if (s->nouts != special_info[op].nouts || (s->nins != special_info[op].nins && !shape))
        return arena_printf(arena, "it takes %d outputs and %d inputs", special_info[op].nouts,
                            special_info[op].nins);
    for (int i = 0; i < s->nparams; i++)
        if ((op != SPECIAL_GATHER && op != SPECIAL_SCATTER) || strcmp(s->param[i].name, "axis"))
            return arena_printf(arena, "it has no parameter '%s'", s->param[i].name);
    for (int i = 0; i < s->nouts; i++)
        if (!elements(t, &s->out[i], &n)) return "the output is too large";
    for (int i = 0; i < s->nins; i++)
        if (!elements(t, &s->in[i], &n)) return "the input is too large";
    switch ((SpecialOp)op) {
    case SPECIAL_COPY: return same_sizes(t, &s->out[0], &s->in[0]) ? NULL : "the sizes differ";
    case SPECIAL_RESHAPE:
        return elements(t, &s->in[0], &n) && elements(t, &s->out[0], &m) && n == m
                   ? NULL
                   : "the numbers of elements differ";
    case SPECIAL_GATHER: return check_gather(t, s, &s->in[0], &s->out[0]);
    case SPECIAL_SCATTER: return check_gather(t, s, &s->out[0], &s->in[0]);
    case SPECIAL_PRNG_STEP: return check_prng(t, s);
    default: return NULL;
    }
}

// --- Building ----------------------------------------------------------------------------------

typedef struct SpecialLoops {
    int n;
    Index index[TREE_MAX_RANK];
    const Affine *at[TREE_MAX_RANK];
} SpecialLoops;

// One index per dimension of the view.
static SpecialLoops loops_over(Tree *t, const BlockView *v) {
    SpecialLoops l = {.n = rank_of(t, v)};
    for (int d = 0; d < l.n; d++) {
        l.index[d] = tree_index(t, name_of(t->names, "x"), v->size[d]);
        l.at[d] = affine_iter(t->exprs, l.index[d].id);
    }
    return l;
}

static const Node *around(Tree *t, const SpecialLoops *l, const Node *node) {
    if (l->n == 0) return node;
    Block b = {.node.ndeps = -1, .kind = KIND_ANY, .nindex = l->n, .index = l->index};
    return &tree_block(t, &b, &node, 1)->node;
}

static const Access *element(Tree *t, const BlockView *v, const Affine *const *at) {
    const Affine *sub[TREE_MAX_RANK];
    int rank = rank_of(t, v);
    for (int d = 0; d < rank; d++) sub[d] = affine_add(t->exprs, v->offset[d], at[d]);
    return access_make(t->exprs, v->buffer, rank, sub);
}

static const Expr *read_of(Tree *t, const BlockView *v, const Affine *const *at) {
    return expr_read(t->exprs, type_of(t, v), element(t, v, at));
}

static const Node *write_of(Tree *t, LeafRole role, Reduce op, const BlockView *v,
                            const Affine *const *at, const Expr *value) {
    Leaf leaf = {.node.ndeps = -1,
                 .role = role,
                 .op = op,
                 .write = element(t, v, at),
                 .value = expr_cast(t->exprs, type_of(t, v), value),
                 .stmt = -1};
    return &tree_leaf(t, &leaf)->node;
}

static const Node *fill(Tree *t, const BlockView *v, LeafRole role, Value value) {
    SpecialLoops l = loops_over(t, v);
    const Expr *e = expr_const(t->exprs, type_of(t, v), value);
    return around(t, &l, write_of(t, role, REDUCE_ASSIGN, v, l.at, e));
}

static const Node *copy(Tree *t, const BlockView *to, const BlockView *from) {
    SpecialLoops l = loops_over(t, to);
    return around(t, &l, write_of(t, LEAF_UPDATE, REDUCE_ASSIGN, to, l.at, read_of(t, from, l.at)));
}

// The coordinates of element number `n` in row-major order.
static void unravel(Tree *t, const BlockView *v, const Affine *n, const Affine **at) {
    Exprs *x = t->exprs;
    int64_t step = 1;
    for (int d = rank_of(t, v) - 1; d >= 0; d--) {
        int64_t size = max_i64(v->size[d], 1);
        at[d] = affine_div(x, n, affine_const(x, step));
        if (d > 0) at[d] = affine_mod(x, at[d], affine_const(x, size));
        step *= size;
    }
}

static const Node *reshape(Tree *t, const BlockView *to, const BlockView *from) {
    Exprs *x = t->exprs;
    SpecialLoops l = loops_over(t, to);
    const Affine *n = affine_const(x, 0), *at[TREE_MAX_RANK];
    for (int d = 0; d < l.n; d++)
        n = affine_add(x, affine_scale(x, n, max_i64(to->size[d], 1)), l.at[d]);
    unravel(t, from, n, at);
    return around(t, &l, write_of(t, LEAF_UPDATE, REDUCE_ASSIGN, to, l.at, read_of(t, from, at)));
}

static const Node *group(Tree *t, const Node *const *nodes, int n) {
    Block b = {.node.ndeps = -1};
    return &tree_block(t, &b, nodes, n)->node;
}

// Loops over `rows`; the subscripts that this means for the table.
static SpecialLoops gather_loops(Tree *t, const Special *s, const BlockView *table,
                                 const BlockView *rows, const Affine **at) {
    SpecialLoops l = loops_over(t, rows);
    int axis = axis_of(s), nx = rank_of(t, &s->in[1]);
    for (int d = 0; d < rank_of(t, table); d++)
        at[d] = d < axis ? l.at[d] : d > axis ? l.at[d + nx - 1] : NULL;
    at[axis] = affine_read(t->exprs, element(t, &s->in[1], l.at + axis));
    return l;
}

static const Node *gather(Tree *t, const Special *s) {
    const Affine *at[TREE_MAX_RANK];
    SpecialLoops l = gather_loops(t, s, &s->in[0], &s->out[0], at);
    const Expr *value = read_of(t, &s->in[0], at);
    return around(t, &l, write_of(t, LEAF_UPDATE, REDUCE_ASSIGN, &s->out[0], l.at, value));
}

static const Node *scatter(Tree *t, const Special *s) {
    const Affine *at[TREE_MAX_RANK];
    const BlockView *out = &s->out[0];
    SpecialLoops l = gather_loops(t, s, out, &s->in[0], at);
    const Expr *value = read_of(t, &s->in[0], l.at);
    const Node *add = around(t, &l, write_of(t, LEAF_UPDATE, REDUCE_ADD, out, at, value));
    if (out->dir == VIEW_INOUT) return add;
    const Node *both[] = {fill(t, out, LEAF_INIT, reduce_start(type_of(t, out), REDUCE_ADD)), add};
    return group(t, both, 2);
}

// --- Random numbers ----------------------------------------------------------------------------

static const Expr *u32(Tree *t, int64_t v) { return expr_int(t->exprs, TYPE_U32, v); }

// One step of component c: ((s & mask) << q) ^ (((s << a) ^ s) >> b).
static const Expr *taus_step(Tree *t, int c, const Expr *s) {
    static const int64_t mask[] = {0xfffffffe, 0xfffffff8, 0xfffffff0};
    static const int q[] = {12, 4, 17}, a[] = {13, 2, 3}, b[] = {19, 25, 11};
    Exprs *x = t->exprs;
    const Expr *high =
        expr_binary(x, OP_SHL, expr_binary(x, OP_BITAND, s, u32(t, mask[c])), u32(t, q[c]));
    const Expr *low = expr_binary(x, OP_BITXOR, expr_binary(x, OP_SHL, s, u32(t, a[c])), s);
    return expr_binary(x, OP_BITXOR, high, expr_binary(x, OP_SHR, low, u32(t, b[c])));
}

static const Expr *random_value(Tree *t, const BlockView *out, const Expr *const *s) {
    Exprs *x = t->exprs;
    const Expr *bits = expr_binary(x, OP_BITXOR, expr_binary(x, OP_BITXOR, s[0], s[1]), s[2]);
    Type type = type_of(t, out);
    if (!type_is_float(type)) return bits;
    Type real = type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
    bits = expr_cast(x, real, expr_binary(x, OP_SHR, bits, u32(t, 8)));
    return expr_binary(x, OP_MUL, bits, expr_float(x, real, 1.0 / (1 << 24)));
}

static const Node *prng(Tree *t, const Special *s) {
    Exprs *x = t->exprs;
    const BlockView *state = &s->out[0], *out = &s->out[1];
    int64_t n, streams = state->size[1];
    elements(t, out, &n);
    Index step = tree_index(t, name_of(t->names, "step"), ceil_div(n, streams));
    Index stream = tree_index(t, name_of(t->names, "stream"), streams);
    const Affine *j = affine_iter(x, stream.id), *at[TREE_MAX_RANK];
    const Affine *e = affine_add(x, affine_scale(x, affine_iter(x, step.id), streams), j);
    const Node *leaf[4];
    const Expr *now[3];
    for (int c = 0; c < 3; c++) {
        const Affine *place[] = {affine_const(x, c), j};
        now[c] = read_of(t, state, place);
        leaf[c] = write_of(t, LEAF_UPDATE, REDUCE_ASSIGN, state, place, taus_step(t, c, now[c]));
    }
    unravel(t, out, e, at);
    leaf[3] = write_of(t, LEAF_UPDATE, REDUCE_ASSIGN, out, at, random_value(t, out, now));
    const Affine *left = affine_sub(x, affine_const(x, n - 1), e);
    Block inner = {.node.ndeps = -1,
                   .kind = KIND_ANY,
                   .nindex = 1,
                   .index = &stream,
                   .nconstraints = 1,
                   .constraint = &left};
    const Node *body = &tree_block(t, &inner, leaf, 4)->node;
    const Node *both[] = {copy(t, state, &s->in[0]),
                          &tree_loop(t, KIND_SERIAL, step, &body, 1)->node};
    return group(t, both, 2);
}

static const Node *expansion(Tree *t, const Special *s) {
    const BlockView *out = &s->out[0];
    Type type = type_of(t, out);
    switch ((SpecialOp)special_find(s->op)) {
    case SPECIAL_ZERO: return fill(t, out, LEAF_UPDATE, (Value){0});
    case SPECIAL_COPY: return copy(t, out, &s->in[0]);
    case SPECIAL_RESHAPE: return reshape(t, out, &s->in[0]);
    case SPECIAL_GATHER: return gather(t, s);
    case SPECIAL_SCATTER: return scatter(t, s);
    case SPECIAL_AGG_INIT_ADD: return fill(t, out, LEAF_INIT, reduce_start(type, REDUCE_ADD));
    case SPECIAL_AGG_INIT_MUL: return fill(t, out, LEAF_INIT, reduce_start(type, REDUCE_MUL));
    case SPECIAL_AGG_INIT_MIN: return fill(t, out, LEAF_INIT, reduce_start(type, REDUCE_MIN));
    case SPECIAL_AGG_INIT_MAX: return fill(t, out, LEAF_INIT, reduce_start(type, REDUCE_MAX));
    case SPECIAL_PRNG_STEP: return prng(t, s);
    case SPECIAL_COUNT: break;
    }
    bug("special '%s' does not exist", s->op);
}

// --- The whole Tree ----------------------------------------------------------------------------

static bool find_special(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    if (node->kind == NODE_SPECIAL) *(bool *)user = true;
    return true;
}

// Every node of a fresh expansion points at the special.
static void set_range(const Node *node, Range range) {
    const Block *b = as_block(node);
    ((Node *)node)->range = range;
    for (int i = 0; b && i < b->nchildren; i++) set_range(b->child[i], range);
}

static const Node *expand(Tree *t, const Node *node) {
    const Block *b = as_block(node);
    if (node->kind == NODE_SPECIAL) {
        Node *n = (Node *)expansion(t, (const Special *)node); // fresh, not shared yet
        n->ndeps = node->ndeps, n->deps = node->deps;
        set_range(n, node->range);
        return n;
    }
    if (!b) return node;
    const Node **child = arena_new_n(t->arena, const Node *, b->nchildren);
    bool changed = false;
    for (int i = 0; i < b->nchildren; i++) {
        child[i] = expand(t, b->child[i]);
        changed |= child[i] != b->child[i];
    }
    if (!changed) return node;
    const Block *made = tree_block(t, b, child, b->nchildren);
    for (int i = 0; i < t->prefetches.n; i++)
        if (t->prefetches.at[i].at == b) t->prefetches.at[i].at = made;
    return &made->node;
}

const Tree *tree_expand(const Tree *t) {
    bool any = false;
    tree_walk(t, find_special, &any);
    if (!any) return t;
    Tree *to = arena_copy(t->arena, t, sizeof *t);
    if (t->prefetches.n)
        to->prefetches.at =
            arena_copy(t->arena, t->prefetches.at, sizeof(Prefetch) * (size_t)t->prefetches.n);
    to->prefetches.cap = to->prefetches.n;
    to->root = as_block(expand(to, &t->root->node));
    return to;
}
