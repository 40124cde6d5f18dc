// The nodes of a Tree as lw_nodes: their lines, names and costs.
#include "api/nodes.h"

#include "api/pipeline.h"
#include "base/bug.h"
#include "base/checked.h"
#include "tree/cost.h"
#include "tree/special.h"

#include <string.h>

_Static_assert((int)LW_LOOP_CLUSTER + 1 == (int)KIND_COUNT, "lw_loop_kind is Kind");

const char *lw_loop_kind_name(lw_loop_kind kind) {
    return (unsigned)kind < KIND_COUNT ? kind_name[kind] : NULL;
}

lw_status edit_lower(Call *call, const lw_bound *b, const lw_show_options *o,
                     const Schedule **schedule, const Tree **out) {
    call_source(call, b->function->module);
    Compilation c = compilation_of(call, b, &o->schedule);
    c.machine = show_machine(call, o->isa);
    c.threads = o->threads;
    if (!c.machine) return LW_ERROR;
    lw_status status = b->function->tree ? LW_OK : pipeline(&c, STEP_VERIFY);
    *schedule = c.schedule;
    *out = b->function->tree ? tree_expand(own_tree(call, b)) : c.tree;
    return status;
}

lw_status edit_new(lw_context *ctx, lw_status body(Call *call, void *arg), EditNew *n,
                   const lw_show_options *options) {
    if (!n->bound) return call_null(ctx, "b");
    if (!options_copy(&n->options, sizeof n->options, options)) return call_unsized(ctx);
    if (n->options.threads < 0) return call_threads(ctx, n->options.threads);
    return call_run(ctx, body, n);
}

Source *edit_source(Call *call, const char *name, const char *text) {
    Source *s = arena_new(call->arena, Source);
    size_t len = strlen(text);
    if (!name) name = "<edit>";
    *s = (Source){arena_strndup(call->arena, name, strlen(name)),
                  arena_strndup(call->arena, text, len), (uint32_t)len};
    return s;
}

lw_status edit_script(lw_context *ctx, const char *script) {
    if (!script) return call_null(ctx, "script");
    if (strlen(script) > LW_MAX_SOURCE)
        return call_misuse(ctx, "the script is longer than LW_MAX_SOURCE bytes");
    return LW_OK;
}

typedef struct Describe {
    Arena *arena;
    const Tree *tree;
    const Loops *loops; // or NULL
    const TreeCost *cost;
    const int *line;
    const char *const *lines; // of the text, from 1
    NodeList *list;
    int walked; // nodes so far, the root included
    VEC(int) above;
    VEC(lw_access) access;
    Arena *scratch;
} Describe;

static const char *keep(Arena *arena, const char *s) {
    return s ? arena_strndup(arena, s, strlen(s)) : NULL;
}

static const char *const *split_lines(Arena *scratch, Arena *arena, const char *text) {
    VEC(const char *) line = {0};
    vec_push(scratch, &line, "");
    for (const char *c = text, *end; *c; c = end + (*end == '\n')) {
        end = strchr(c, '\n');
        if (!end) end = c + strlen(c);
        c += strspn(c, " ");
        vec_push(scratch, &line, (const char *)arena_strndup(arena, c, (size_t)(end - c)));
    }
    return line.at;
}

// The values that an incomplete last iteration of the loop has; 0: it is complete, or unknown.
static int64_t tail_of(const FullOrder *order, const Stmt *s, int at, int64_t extent) {
    int iter = stmt_find_iter(s, order->loop[at].iter);
    if (iter < 0) return 0;
    int64_t cur = max_i64(iter_hi(&s->iter[iter]) - iter_lo(&s->iter[iter]), 0), tail = 0, n = 0;
    for (int k = 0; k <= at; k++) {
        if (order->loop[k].iter != order->loop[at].iter) continue;
        int64_t step = min_i64(order->loop[k].step, max_i64(cur, 1));
        tail = cur % step;
        n = ceil_div(cur, step);
        cur = step;
    }
    return n == extent ? tail : 0;
}

static const Stmt *statement(const Tree *t, Name label) {
    for (int i = 0; t->program && i < t->program->stmts.n; i++)
        if (t->program->stmts.at[i].label == label) return &t->program->stmts.at[i];
    return NULL;
}

static void describe_spot(const Describe *d, const Block *b, lw_node *n) {
    Spot spot = loops_spot(d->loops, b->index[0].id);
    const FullOrder *order = loops_order(d->loops, spot.label);
    const Stmt *s = spot.label ? statement(d->tree, spot.label) : NULL;
    if (!order || !s) return;
    int iter = stmt_find_iter(s, order->loop[spot.at].iter);
    n->statement = keep(d->arena, spot.label);
    n->loop = keep(d->arena, loops_name(d->loops, spot));
    n->repeated = loops_index(d->loops, spot) != b->index[0].id;
    n->reduction = iter >= 0 && s->iter[iter].reduction;
    n->tail = tail_of(order, s, spot.at, n->extent);
}

static void describe_block(const Describe *d, const Block *b, lw_node *n) {
    n->type = b->nindex ? LW_NODE_LOOP : LW_NODE_GUARD;
    n->kind = (lw_loop_kind)b->kind;
    if (!b->nindex) return;
    n->name = keep(d->arena, b->index[0].name);
    n->extent = 1;
    for (int i = 0; i < b->nindex; i++)
        if (!checked_mul(n->extent, b->index[i].extent, &n->extent)) n->extent = INT64_MAX;
    if (d->loops) describe_spot(d, b, n);
}

static void describe_leaf(const Describe *d, const Leaf *leaf, lw_node *n) {
    const Program *p = d->tree->program;
    n->type = LW_NODE_LEAF;
    if (p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n)
        n->statement = keep(d->arena, p->stmts.at[leaf->stmt].label);
}

// Along which enclosing loops the access moves, and how far.
static void describe_access(Describe *d, int leaf, const Access *a, bool write) {
    const Buffer *buffer = &d->tree->buffers.at[a->tensor];
    lw_access x = {.leaf = leaf, .buffer = keep(d->arena, buffer->name), .write = write};
    int32_t *loops = arena_new_n(d->arena, int32_t, d->above.n + 1);
    int64_t *strides = arena_new_n(d->arena, int64_t, d->above.n + 1);
    for (int k = 0; k < d->above.n; k++) {
        const Block *b = as_block(d->list->node[d->above.at[k]]);
        int64_t stride = 0;
        for (int r = 0; b && b->nindex && r < a->rank && r < buffer->rank; r++)
            stride += affine_coef(a->sub[r], b->index[0].id) * buffer->stride[r];
        if (!stride) continue;
        loops[x.loop_count] = d->above.at[k];
        strides[x.loop_count++] = stride;
    }
    x.loops = loops;
    x.strides = strides;
    vec_push(d->scratch, &d->access, x);
}

static void describe_accesses(Describe *d, int number, const Leaf *leaf) {
    AccessList reads = {.arena = d->scratch};
    expr_visit_accesses(leaf->value, access_collect, &reads);
    describe_access(d, number, leaf->write, true);
    for (int i = 0; i < reads.at.n; i++) describe_access(d, number, reads.at.at[i], false);
}

static bool describe(void *user, const Node *node, int depth, const Block *parent) {
    Describe *d = user;
    (void)parent;
    int number = d->walked++;
    if (node == &d->tree->root->node) return true;
    while (d->above.n >= depth && d->above.n) d->above.n--;
    lw_node *n = &d->list->at[d->list->n];
    const BlockCost *c = &d->cost->at[number];
    *n = (lw_node){.parent = d->above.n ? d->above.at[d->above.n - 1] : -1,
                   .depth = depth - 1,
                   .line = d->line[number],
                   .text = d->lines[d->line[number]],
                   .touches = (double)c->footprint,
                   .moves = (double)c->traffic,
                   .flops = (double)c->flops,
                   .iterations = (double)c->iterations};
    if (as_block(node))
        describe_block(d, as_block(node), n);
    else if (as_leaf(node)) {
        describe_leaf(d, as_leaf(node), n);
        describe_accesses(d, (int)d->list->n, as_leaf(node));
    } else
        n->type = LW_NODE_SPECIAL;
    vec_push(d->scratch, &d->above, (int)d->list->n);
    d->list->node[d->list->n++] = node;
    return true;
}

static bool count(void *user, const Node *node, int depth, const Block *parent) {
    (void)node, (void)depth, (void)parent;
    ++*(int *)user;
    return true;
}

NodeList nodes_describe(Call *call, Arena *arena, const Tree *t, const Loops *loops) {
    NodeList list = {0};
    int n = 0;
    tree_walk(t, count, &n);
    Text text = {.arena = arena};
    tree_show(&text, t, false);
    list.text = text_str(&text);
    list.at = arena_new_n(arena, lw_node, n + 1);
    list.node = arena_new_n(arena, const Node *, n + 1);
    Describe d = {.arena = arena,
                  .tree = t,
                  .loops = loops,
                  .cost = tree_cost(call->scratch, t),
                  .line = tree_lines(call->scratch, t),
                  .lines = split_lines(call->scratch, arena, list.text),
                  .list = &list,
                  .scratch = call->scratch};
    tree_walk(t, describe, &d);
    list.naccesses = (size_t)d.access.n;
    list.access = arena_copy(arena, d.access.at, list.naccesses * sizeof *list.access);
    return list;
}
