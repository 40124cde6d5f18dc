// Prints the store: every name with its tree, as the paper draws them.
//
//     C: (=, •, •)                          l: i1 (0, 7, 1)
//       (C, [8, 8], [i1, i2])                   i2 (0, 7, 1)
//       (+, [8, 8], •)                            C[i1, i2] = A[i1, i2] + B[i1, i2]
//         (A, [8, 8], [i1, i2])
//         (B, [8, 8], [i1, i2])
//
// In a strip-mined loop, i1_4 counts the strips of 4 and i1 runs inside one.
#include "lang/teml/teml.h"

#include "base/checked.h"

typedef struct StoreCheck {
    Teml *t;
    Text *out;
    const Name *buffers;
} StoreCheck;

void teml_unquote(Text *out, size_t from) {
    size_t n = from;
    for (size_t i = from; i < out->len; i++)
        if (out->s[i] != '`') out->s[n++] = out->s[i];
    if (n < out->len) out->s[out->len = n] = 0;
}

static void indent(StoreCheck *s, int depth) { text_fill(s->out, ' ', 2 * depth); }

// --- Tensor expressions ------------------------------------------------------------------------

static void print_iters(StoreCheck *s, const Access *a) {
    PrintNames names = {.iters = s->t->iters.at};
    text_char(s->out, '[');
    for (int d = 0; d < a->rank; d++) {
        if (d) text_add(s->out, ", ");
        affine_print(s->out, a->sub[d], &names);
    }
    text_char(s->out, ']');
}

// Prints the ranges of its iterators, by level.
static void print_shape(StoreCheck *s, const Expr *e) {
    Teml *t = s->t;
    DiagList quiet = {.arena = t->arena}, *before = t->diags;
    TemlRange *ranges = arena_new_n(t->arena, TemlRange, t->iters.n + 1);
    int level[PROGRAM_MAX_ITERS], n = teml_levels(t, NULL, e, level, PROGRAM_MAX_ITERS);
    t->diags = &quiet;
    teml_plain_ranges(t, NULL, e, (Range){0, 0}, ranges);
    t->diags = before;
    text_char(s->out, '[');
    for (int i = 0; i < n; i++) {
        if (i) text_add(s->out, ", ");
        if (ranges[level[i]].extent < 0)
            text_char(s->out, '?');
        else
            text_int(s->out, ranges[level[i]].extent);
    }
    text_char(s->out, ']');
}

static void print_access(StoreCheck *s, const Access *a, int depth) {
    indent(s, depth);
    int64_t size[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++) size[d] = teml_size(s->t, a->tensor, d);
    bool scalar = a->tensor < VIRTUAL && s->t->tensors.at[a->tensor].scalar;
    text_printf(s->out, "(%s, %s, ", teml_tensor_name(s->t, a->tensor),
                teml_shape_text(s->t, a->rank, size));
    if (scalar)
        text_add(s->out, "•");
    else
        print_iters(s, a);
    text_add(s->out, ")\n");
}

static void print_expr(StoreCheck *s, const Expr *e, int depth) {
    while (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0];
    if (e->kind == EXPR_READ) {
        print_access(s, e->access, depth);
        if (e->access->tensor >= VIRTUAL)
            print_expr(s, s->t->sums.at[e->access->tensor - VIRTUAL].body, depth + 1);
        return;
    }
    indent(s, depth);
    text_printf(s->out, "(%s, ", op_info[e->op].name);
    print_shape(s, e);
    text_add(s->out, ", •)\n");
    for (int i = 0; i < e->n; i++) print_expr(s, e->arg[i], depth + 1);
}

// --- Loops -------------------------------------------------------------------------------------

static const Leaf *first_leaf(const Node *node) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nchildren; i++) {
        const Leaf *leaf = first_leaf(b->child[i]);
        if (leaf) return leaf;
    }
    return as_leaf(node);
}

typedef struct ShownIndices {
    Name *loop;           // per index id: the name that all strips of a loop share
    Name *plain;          // its name if it were alone; NULL: not a surrounding loop
    Name *name;           // the printed name
    const Affine **value; // the value of the index in terms of printed names
} ShownIndices;

// The part of a sum of indices that consists of strips of one loop, as multiples of the shortest:
// 8*i2 + i2.1 in the skewed 8*i2 + i2.1 - i1, and in the twice skewed 16*i2 + 2*i2.1 - i1.
static const Affine *strips_of(StoreCheck *s, const ShownIndices *w, const Affine *a, Name loop) {
    Exprs *x = s->t->x;
    const Affine *own = affine_const(x, 0);
    int64_t unit = 0;
    for (int i = 0; i < a->n; i++) {
        if (w->loop[a->term[i].atom->index] != loop) continue;
        own = affine_add(x, own, affine_make(x, 0, &a->term[i], 1));
        unit = gcd_i64(unit, a->term[i].coef);
    }
    return own->n == a->n ? a : affine_div(x, own, affine_const(x, unit));
}

// The iterator of the assignment of which an index is a part, as a sum of indices; NULL: none. For
// a skewed loop it is the skewed sum.
static const Affine *iterator_of(StoreCheck *s, const ShownIndices *w, const Leaf *leaf, int id) {
    int n = leaf ? s->t->parts->stmts.at[leaf->stmt].niters : 0;
    const Affine *skewed = NULL;
    for (int k = 0; k < n; k++) {
        if (!affine_coef(leaf->iter[k], id)) continue;
        const Affine *own = strips_of(s, w, leaf->iter[k], w->loop[id]);
        if (own == leaf->iter[k]) return own;
        if (!skewed && affine_coef(own, id) > 0) skewed = own;
    }
    return skewed;
}

// Does the loop run inside a strip (or is there no strip)? Other loops count strips.
static bool is_value(const StoreCheck *s, const Affine *a, int id, const Node *inside) {
    if (!a || affine_coef(a, id) != 1) return !a;
    const Block *b = as_block(inside);
    for (int i = 0; b && i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        bool deeper = c && c->nindex && affine_coef(a, c->index[0].id) == 1;
        if (deeper || (c && !is_value(s, a, id, &c->node))) return false;
    }
    return true;
}

static void print_bound(StoreCheck *s, const ShownIndices *w, const Affine *a) {
    affine_print(s->out, a, &(PrintNames){.iters = w->name});
}

// k·index + rest >= 0 limits the index of a skewed loop, or of one around it.
static void narrow_range(Exprs *x, const Affine *c, int id, const Affine **low,
                         const Affine **high) {
    int64_t k = affine_coef(c, id);
    const Affine *rest = affine_sub(x, c, affine_scale(x, affine_iter(x, id), k));
    const Affine *by = affine_const(x, k < 0 ? -k : k);
    if (k > 0) *low = affine_max(x, *low, affine_scale(x, affine_div(x, rest, by), -1));
    if (k < 0) *high = affine_min(x, *high, affine_div(x, rest, by));
}

// A guard "at most c" on this loop is its upper bound, a guard "at least c" its lower bound.
static void print_range(StoreCheck *s, const ShownIndices *w, const Block *b, const Affine *low) {
    Exprs *x = s->t->x;
    int id = b->index[0].id;
    const Affine *high = affine_add_const(x, low, b->index[0].extent - 1);
    const Affine *self = affine_iter(x, id);
    for (int i = 0; i < b->nconstraints; i++) {
        const Affine *c = affine_substitute(x, b->constraint[i], w->value, NULL);
        if (affine_coef(c, id) == -1 || !affine_uses_iter(c, id))
            high = affine_min(x, high, affine_add(x, c, self));
        else
            narrow_range(x, c, id, &low, &high);
    }
    text_printf(s->out, "%s (", w->name[id]);
    print_bound(s, w, low);
    text_add(s->out, ", ");
    print_bound(s, w, high);
    text_add(s->out, ", 1)");
    if (b->kind != KIND_SERIAL) text_printf(s->out, " %s", kind_name[b->kind]);
    text_char(s->out, '\n');
}

// i1 or i1_4; inside a loop that already has this name, i1.1 or i1_4.1.
static Name shown_name(StoreCheck *s, ShownIndices *w, int id, int64_t strip) {
    Text text = {.arena = s->t->arena};
    text_add(&text, w->loop[id]);
    if (strip > 0) text_printf(&text, "_%lld", (long long)strip);
    Name plain = name_of(s->t->names, text_str(&text));
    int same = 0;
    for (int i = 0; i < s->t->base->nindices; i++) same += w->plain[i] == plain;
    if (same) text_printf(&text, ".%d", same);
    w->plain[id] = plain;
    return name_of(s->t->names, text_str(&text));
}

static void print_loop_head(StoreCheck *s, ShownIndices *w, const Block *b) {
    Exprs *x = s->t->x;
    int id = b->index[0].id;
    const Affine *a = iterator_of(s, w, first_leaf(&b->node), id), *low = affine_const(x, 0);
    bool value = is_value(s, a, id, &b->node);
    w->name[id] = shown_name(s, w, id, value ? 0 : affine_coef(a, id));
    w->value[id] = affine_iter(x, id);
    if (value && a)
        low = affine_substitute(x, affine_sub(x, a, affine_iter(x, id)), w->value, NULL);
    if (value) w->value[id] = affine_sub(x, affine_iter(x, id), low);
    print_range(s, w, b, low);
}

static void print_leaf(StoreCheck *s, const ShownIndices *w, const Leaf *leaf) {
    PrintNames names = {.iters = w->name, .tensors = s->buffers};
    Exprs *x = s->t->x;
    access_print(s->out, access_substitute(x, leaf->write, w->value, NULL, NULL, NULL), &names);
    text_printf(s->out, " %s ", reduce_name[leaf->op]);
    expr_print(s->out, expr_substitute(x, leaf->value, w->value, NULL, NULL, NULL), &names);
    text_char(s->out, '\n');
}

static void print_node(StoreCheck *s, ShownIndices *w, const Node *node, int depth) {
    const Block *b = as_block(node);
    indent(s, depth);
    if (!b) {
        print_leaf(s, w, as_leaf(node));
        return;
    }
    if (b->nindex) {
        print_loop_head(s, w, b);
    } else {
        text_add(s->out, b->nconstraints ? "if " : "•\n");
        for (int i = 0; i < b->nconstraints; i++) {
            if (i) text_add(s->out, " and ");
            print_bound(s, w, affine_substitute(s->t->x, b->constraint[i], w->value, NULL));
            text_add(s->out, i + 1 < b->nconstraints ? " >= 0" : " >= 0\n");
        }
    }
    for (int i = 0; i < b->nchildren; i++) print_node(s, w, b->child[i], depth + 1);
    for (int i = 0; i < b->nindex; i++) w->plain[b->index[i].id] = NULL;
}

static void name_loops(const Node *node, Name *loop) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++) loop[b->index[i].id] = b->index[i].name;
    for (int i = 0; b && i < b->nchildren; i++) name_loops(b->child[i], loop);
}

static void print_loop(StoreCheck *s, const TemlLoop *l) {
    int n = s->t->base->nindices + 1;
    Arena *arena = s->t->arena;
    ShownIndices w = {arena_new_n(arena, Name, n), arena_new_n(arena, Name, n),
                      arena_new_n(arena, Name, n), arena_new_n(arena, const Affine *, n)};
    for (int i = 0; i < l->n; i++) name_loops(l->node[i], w.loop);
    if (l->bare) indent(s, 1);
    if (l->bare) text_add(s->out, "•\n");
    for (int i = 0; i < l->n; i++) print_node(s, &w, l->node[i], 1 + l->bare);
}

// --- Values ------------------------------------------------------------------------------------

static void print_value(StoreCheck *s, const TemlValue *v) {
    Teml *t = s->t;
    const TemlTensor *of = v->kind == VALUE_TENSOR ? &t->tensors.at[v->tensor] : NULL;
    switch (v->kind) {
    case VALUE_BAD: break;
    case VALUE_TENSOR:
        text_printf(s->out, "  (%s, %s, %s)\n", of->name, teml_shape_text(t, of->rank, of->size),
                    of->scalar ? "•" : "ε");
        break;
    case VALUE_EXPR:
    case VALUE_VIRTUAL: print_expr(s, v->expr, 1); break;
    case VALUE_ASSIGN:
        text_add(s->out, "  (=, •, •)\n");
        print_access(s, v->assign->left, 2);
        print_expr(s, v->assign->value, 2);
        break;
    case VALUE_LOOP: print_loop(s, v->loop); break;
    }
}

static void print_param(Text *out, const TemlParam *p) {
    text_printf(out, "%s\n  %lld", p->name, (long long)p->value);
    for (int i = 0; i < p->nchoices; i++)
        text_printf(out, "%s%lld", i ? ", " : " of ", (long long)p->choice[i]);
    text_char(out, '\n');
}

static StoreCheck store_open(Text *out, Teml *t) {
    Name *buffers = arena_new_n(t->arena, Name, t->base->buffers.n + 1);
    for (int i = 0; i < t->base->buffers.n; i++) buffers[i] = t->base->buffers.at[i].name;
    return (StoreCheck){.t = t, .out = out, .buffers = buffers};
}

void teml_loop_print(Text *out, Teml *t, const TemlLoop *loop) {
    StoreCheck s = store_open(out, t);
    size_t from = out->len;
    print_loop(&s, loop);
    teml_unquote(out, from);
}

void teml_store_print(Text *out, Teml *t) {
    StoreCheck s = store_open(out, t);
    size_t from = out->len;
    for (int i = 0; i < t->params.n; i++) print_param(out, &t->params.at[i]);
    for (int i = 0; i < t->store.n; i++) {
        if (t->store.at[i].value->kind == VALUE_BAD) continue;
        text_printf(out, "%s\n", t->store.at[i].name);
        print_value(&s, t->store.at[i].value);
    }
    teml_unquote(out, from);
}
