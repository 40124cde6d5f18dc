// lw_tree: Trees changed by transformations, each judged by dependences.
//
// A transformation adds to the pools of expressions and names, so each works on a fork of its own,
// which shares nodes with the Tree that it was made from and therefore holds it.
#include "api/nodes.h"

#include "api/pipeline.h"
#include "stripe/stripe.h"
#include "transform/transform_script.h"

#include <string.h>

struct lw_tree {
    lw_context *ctx;
    atomic_int refs;
    lw_bound *bound; // whose Program the first Tree implements
    lw_tree *from;   // that it was made from, or NULL
    Arena arena;
    const Tree *tree;
    const char *stripe;
    NodeList nodes;
};

// --- Making a handle -----------------------------------------------------------------------------

static lw_tree *tree_make(Call *call, const lw_bound *b, const lw_tree *from, lw_tree **into) {
    lw_tree *t = call_new(call, sizeof *t);
    *into = t;
    t->ctx = call->ctx;
    context_hold(t->ctx);
    atomic_init(&t->refs, 1);
    arena_init(&t->arena, &t->ctx->allocator);
    call_join(call, &t->arena);
    t->bound = (lw_bound *)b;
    bound_hold(t->bound);
    t->from = (lw_tree *)from;
    if (from) atomic_fetch_add(&t->from->refs, 1);
    return t;
}

static void tree_finish(Call *call, lw_tree *t, const Tree *tree) {
    Text text = {.arena = &t->arena};
    t->tree = tree;
    stripe_print(&text, tree);
    t->stripe = text_str(&text);
    t->nodes = nodes_describe(call, &t->arena, tree, NULL);
    call_part(call);
}

void lw_tree_free(lw_tree *t) {
    while (t && atomic_fetch_sub(&t->refs, 1) == 1) {
        lw_context *ctx = t->ctx;
        lw_tree *from = t->from;
        lw_bound_free(t->bound);
        arena_free(&t->arena);
        ctx->allocator.free(ctx->allocator.user, t, sizeof *t);
        context_drop(ctx);
        t = from;
    }
}

// Views that lowering did not have: they are derived again when the Tree is printed, since
// transformations change them.
static const Block *without_views(Tree *t, const Block *b) {
    const Node **child = arena_new_n(t->arena, const Node *, b->nchildren + 1);
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        child[i] = c ? &without_views(t, c)->node : b->child[i];
    }
    Block plain = *b;
    plain.nviews = 0;
    plain.view = NULL;
    return tree_block(t, &plain, child, b->nchildren);
}

// The Tree is lowered in the slot's arena; the handle's own copy is read from its Stripe text.
static lw_status new_body(Call *call, void *arg) {
    EditNew *n = arg;
    const Schedule *schedule;
    const Tree *tree;
    if (n->bound->function->tree && n->options.schedule.text)
        return function_is_tree(call, n->bound->function);
    lw_status status = edit_lower(call, n->bound, &n->options, &schedule, &tree);
    if (status) return status;
    Text text = {.arena = call->arena};
    stripe_print(&text, tree);
    lw_tree *t = tree_make(call, n->bound, NULL, &n->made.tree);
    Source *source = arena_new(&t->arena, Source);
    *source =
        (Source){"<tree>", arena_strndup(&t->arena, text_str(&text), text.len), (uint32_t)text.len};
    Names *names = arena_new(&t->arena, Names);
    names->arena = &t->arena;
    Tree *own = stripe_parse(&t->arena, names, source, call->diags);
    if (!own) return LW_ERROR;
    if (!n->bound->function->tree) own->root = without_views(own, own->root);
    tree_finish(call, t, own);
    return LW_OK;
}

lw_status lw_tree_new(lw_context *ctx, const lw_bound *b, const lw_show_options *options,
                      lw_tree **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    EditNew n = {.bound = b};
    lw_status status = edit_new(ctx, new_body, &n, options);
    if (status)
        lw_tree_free(n.made.tree);
    else
        *out = n.made.tree;
    return status;
}

// --- Asking --------------------------------------------------------------------------------------

const char *lw_tree_show(const lw_tree *t) { return t ? t->nodes.text : ""; }
const char *lw_tree_stripe(const lw_tree *t) { return t ? t->stripe : ""; }
size_t lw_tree_node_count(const lw_tree *t) { return t ? t->nodes.n : 0; }
const lw_node *lw_tree_node(const lw_tree *t, size_t i) {
    return t && i < t->nodes.n ? &t->nodes.at[i] : NULL;
}

static bool is_node(const lw_tree *t, int i) { return t && i >= 0 && (size_t)i < t->nodes.n; }

// The number of a leaf among all leaves, and the index of a loop; -1: it is none.
static TreeRef ref_of(const lw_tree *t, int node) {
    TreeRef ref = {-1, -1};
    if (!is_node(t, node)) return ref;
    const Block *b = as_block(t->nodes.node[node]);
    if (b && b->nindex) ref.loop = b->index[0].id;
    if (t->nodes.at[node].type == LW_NODE_LEAF)
        for (int i = 0; i <= node; i++) ref.leaf += t->nodes.at[i].type == LW_NODE_LEAF;
    return ref;
}

int lw_tree_follow(const lw_tree *from, int i, const lw_tree *to) {
    if (!is_node(from, i) || !to) return -1;
    TreeRef ref = ref_of(from, i);
    if (ref.leaf >= 0) ref.leaf = tree_follow(from->tree, ref.leaf, to->tree);
    for (int k = 0; (size_t)k < to->nodes.n; k++) {
        TreeRef other = ref_of(to, k);
        if ((ref.loop >= 0 && other.loop == ref.loop) || (ref.leaf >= 0 && other.leaf == ref.leaf))
            return k;
    }
    return -1;
}

lw_status lw_tree_module(lw_context *ctx, const lw_tree *t, lw_module **out) {
    lw_parse_options o = {.struct_size = sizeof o, .language = LW_LANG_STRIPE};
    o.unproven = o.as_written = true; // proven when it was made
    if (out) *out = NULL;
    if (!t) return call_null(ctx, "t");
    return lw_parse(ctx, "<tree>", t->stripe, strlen(t->stripe), &o, out);
}

// --- Transforming --------------------------------------------------------------------------------

typedef struct TreeEditCall {
    const lw_tree *from;
    const char *name, *script; // a script; or
    TreeAction action;
    int node, other;
    const char *buffer;
    lw_tree *made;
} TreeEditCall;

// The action on the nodes of the Tree; false: a buffer that does not exist, which is reported.
static bool action_of(const TreeEditCall *c, DiagList *diags, TreeAction *a) {
    *a = c->action;
    a->node = ref_of(c->from, c->node);
    a->other = ref_of(c->from, c->other);
    a->buffer = c->buffer ? tree_find_buffer(c->from->tree, c->buffer) : -1;
    if (c->buffer && a->buffer < 0) diag_report(diags, (Range){0}, DIAG_EDIT_NO_BUFFER, c->buffer);
    return !c->buffer || a->buffer >= 0;
}

// --- Alternatives --------------------------------------------------------------------------------

// An action that dependences refuse, and the nodes of its Tree.
typedef struct Nearest {
    Call *call;
    const Tree *tree;
    TreeAction action;
    int at; // the node of the action
    int n;
    const Node **node;
    const char **place; // of each: "node 3", or in a script "@4"
    Text out;
    int named;
} Nearest;

static void add_node(Nearest *n, const Node *node, const char *place) {
    const Block *b = as_block(node);
    if (b && b->nindex && b->index[0].id == n->action.node.loop) n->at = n->n;
    n->node[n->n] = node;
    n->place[n->n++] = place;
}

// The nodes as the caller names them: by number, or in a script by line.
static void add_nodes(Nearest *n, const lw_tree *from) {
    Arena *arena = n->call->arena;
    TreeLines lines = tree_show_lines(arena, n->tree);
    size_t room = (size_t)lines.n + (from ? from->nodes.n : 0);
    n->node = arena_new_n(arena, const Node *, room);
    n->place = arena_new_n(arena, const char *, room);
    for (size_t i = 0; from && i < from->nodes.n; i++)
        add_node(n, from->nodes.node[i], arena_printf(arena, "node %d", (int)i));
    for (int i = 1; !from && i < lines.n; i++)
        if (lines.at[i].node) add_node(n, lines.at[i].node, arena_printf(arena, "@%d", i));
}

static int loop_of(const Nearest *n, int node) { // -1: none
    const Block *b = node >= 0 && node < n->n ? as_block(n->node[node]) : NULL;
    return b && b->nindex ? b->index[0].id : -1;
}

static const char *loop_name(const Nearest *n, int node) {
    const char *name = as_block(n->node[node])->index[0].name;
    return name ? name : "i";
}

static bool is_legal(const Nearest *n, const TreeAction *a) {
    DiagList found = {.arena = n->call->scratch};
    TreeEdit e = {.diags = &found};
    return tree_act(tree_fork(n->call->scratch, n->tree), a, &e) != NULL;
}

static void offer(Nearest *n, int node, const char *verb, const char *more) {
    text_printf(&n->out, "%s%s of '%s' (%s)%s", n->named++ ? "; " : "", verb, loop_name(n, node),
                n->place[node], more);
}

// The same of other loops, the nearest first.
static void other_loops(Nearest *n, const char *verb) {
    enum { MOST_NAMED = 3, MOST_AWAY = 16 };
    TreeAction other = n->action;
    for (int away = 1; away <= MOST_AWAY; away++)
        for (int side = -1; side <= 1; side += 2) {
            int node = n->at + side * away;
            other.node.loop = loop_of(n, node);
            if (n->named < MOST_NAMED && other.node.loop >= 0 && is_legal(n, &other))
                offer(n, node, verb, "");
        }
}

// The loop inside, skewed first: the smallest factor that makes it legal.
static void skewed_first(Nearest *n, const char *verb) {
    enum { MOST = 4 };
    int outer = loop_of(n, n->at), inner = loop_of(n, n->at + 1);
    for (int k = 0; k < 2 * MOST && inner >= 0; k++) {
        int64_t factor = k % 2 ? -1 - k / 2 : 1 + k / 2;
        DiagList found = {.arena = n->call->scratch};
        TreeEdit e = {.diags = &found};
        const Tree *t = tree_fork(n->call->scratch, n->tree);
        t = tree_skew(t, inner, outer, factor, &e);
        if (!t || !tree_act(t, &n->action, &e)) continue;
        text_printf(&n->out, "%s%s after a skew of '%s' (%s) by %lld times '%s'",
                    n->named++ ? "; " : "", verb, loop_name(n, n->at + 1), n->place[n->at + 1],
                    (long long)factor, loop_name(n, n->at));
        return;
    }
}

static void other_cuts(Nearest *n) {
    TreeAction other = n->action;
    for (other.n = 1; other.n < as_block(n->node[n->at])->nchildren; other.n++)
        if (other.n != n->action.n && is_legal(n, &other))
            offer(n, n->at, "distribute",
                  arena_printf(n->call->arena, " in front of child %d", (int)other.n));
}

static void not_interleaved(Nearest *n) {
    TreeAction plain = n->action;
    plain.id = TRANSFORM_SPLIT;
    if (is_legal(n, &plain)) offer(n, n->at, "split", ", not interleaved");
}

// Neighbours of a transformation that dependences refuse, as a note: each is judged first.
// `from` numbers the nodes; NULL: a script, which has lines.
static void note_nearest(Call *call, const TreeRefusal *refused, const lw_tree *from) {
    DiagList *diags = call->diags;
    Diag *d = diags->items.n ? diags->items.at[diags->items.n - 1] : NULL;
    if (!d || (d->id != DIAG_EDIT_ORDER && d->id != DIAG_EDIT_VERIFY)) return;
    Nearest n = {call, refused->tree, refused->action, .at = -1, .out.arena = call->arena};
    add_nodes(&n, from);
    if (n.at < 0) return;
    switch (n.action.id) {
    case TRANSFORM_INTERCHANGE:
        skewed_first(&n, "interchange");
        other_loops(&n, "interchange");
        break;
    case TRANSFORM_FUSE: other_loops(&n, "fuse"); break;
    case TRANSFORM_JAM: other_loops(&n, "unroll_and_jam"); break;
    case TRANSFORM_TILE:
        skewed_first(&n, "tile");
        other_loops(&n, "tile");
        break;
    case TRANSFORM_ANNOTATE: other_loops(&n, kind_name[n.action.n]); break;
    case TRANSFORM_DISTRIBUTE: other_cuts(&n); break;
    case TRANSFORM_INTERLEAVE: not_interleaved(&n); break;
    default: break;
    }
    if (n.named) diag_note(diags, d, (Range){0, 0}, DIAG_EDIT_NEAR_NOTE, text_str(&n.out));
}

static lw_status edit_body(Call *call, void *arg) {
    TreeEditCall *c = arg;
    lw_tree *t = tree_make(call, c->from->bound, c->from, &c->made);
    Tree *fork = tree_fork(&t->arena, c->from->tree);
    TreeRefusal refusal = {0};
    TreeEdit e = {.diags = call->diags, .refusal = &refusal};
    const Tree *now = NULL;
    if (c->script)
        now = tree_script(fork, edit_source(call, c->name, c->script), &e);
    else if (action_of(c, call->diags, &refusal.action))
        refusal.tree = c->from->tree, now = tree_act(fork, &refusal.action, &e);
    if (!now && refusal.tree) note_nearest(call, &refusal, c->script ? NULL : c->from);
    if (!now) return LW_ERROR;
    tree_finish(call, t, now);
    return LW_OK;
}

static lw_status edit(lw_context *ctx, TreeEditCall c, lw_tree **out) {
    if (!out) return call_null(ctx, "out");
    *out = NULL;
    if (!c.from) return call_null(ctx, "t");
    lw_status status = call_run(ctx, edit_body, &c);
    if (status)
        lw_tree_free(c.made);
    else
        *out = c.made;
    return status;
}

lw_status lw_tree_edit(lw_context *ctx, const lw_tree *t, const char *name, const char *script,
                       lw_tree **out) {
    if (out) *out = NULL;
    lw_status status = edit_script(ctx, script);
    return status ? status
                  : edit(ctx, (TreeEditCall){.from = t, .name = name, .script = script}, out);
}

const char *lw_tree_action(size_t i, const char **meaning) {
    if (meaning) *meaning = i < TRANSFORM_COUNT ? transform_info[i].meaning : NULL;
    return i < TRANSFORM_COUNT ? transform_info[i].usage : NULL;
}

static lw_status on_loop(lw_context *ctx, const lw_tree *t, TransformId id, int loop, int64_t n,
                         int64_t m, lw_tree **out) {
    TreeEditCall c = {.from = t, .action = {.id = id, .n = n, .m = m}, .node = loop, .other = -1};
    return edit(ctx, c, out);
}

static lw_status on_buffer(lw_context *ctx, const lw_tree *t, TreeAction action, const char *buffer,
                           int loop, lw_tree **out) {
    if (out) *out = NULL;
    if (!buffer) return call_null(ctx, "buffer");
    TreeEditCall c = {.from = t, .action = action, .node = loop, .other = -1, .buffer = buffer};
    return edit(ctx, c, out);
}

lw_status lw_tree_split(lw_context *ctx, const lw_tree *t, int loop, int64_t inner,
                        bool interleaved, lw_tree **out) {
    return on_loop(ctx, t, interleaved ? TRANSFORM_INTERLEAVE : TRANSFORM_SPLIT, loop, inner, 0,
                   out);
}
lw_status lw_tree_merge(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_MERGE, loop, 0, 0, out);
}
lw_status lw_tree_interchange(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_INTERCHANGE, loop, 0, 0, out);
}
lw_status lw_tree_move(lw_context *ctx, const lw_tree *t, int node, int by, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_MOVE, node, by, 0, out);
}
lw_status lw_tree_sink(lw_context *ctx, const lw_tree *t, int leaf, int loop, lw_tree **out) {
    TreeEditCall c = {.from = t, .action.id = TRANSFORM_SINK, .node = leaf, .other = loop};
    return edit(ctx, c, out);
}
lw_status lw_tree_fuse(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_FUSE, loop, 0, 0, out);
}
lw_status lw_tree_distribute(lw_context *ctx, const lw_tree *t, int loop, int at, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_DISTRIBUTE, loop, at, 0, out);
}
lw_status lw_tree_unroll(lw_context *ctx, const lw_tree *t, int loop, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_UNROLL, loop, 0, 0, out);
}
lw_status lw_tree_unroll_and_jam(lw_context *ctx, const lw_tree *t, int loop, int64_t factor,
                                 lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_JAM, loop, factor, 0, out);
}
lw_status lw_tree_annotate(lw_context *ctx, const lw_tree *t, int loop, lw_loop_kind kind,
                           lw_tree **out) {
    if ((unsigned)kind >= KIND_COUNT) {
        if (out) *out = NULL;
        return call_misuse(ctx, "'kind' is %d, which is not a valid lw_loop_kind", (int)kind);
    }
    return on_loop(ctx, t, TRANSFORM_ANNOTATE, loop, (int64_t)kind, 0, out);
}
lw_status lw_tree_tile(lw_context *ctx, const lw_tree *t, int loop, int64_t outer, int64_t inner,
                       lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_TILE, loop, outer, inner, out);
}
lw_status lw_tree_skew(lw_context *ctx, const lw_tree *t, int loop, int by, int64_t factor,
                       lw_tree **out) {
    TreeEditCall c = {.from = t, .action = {.id = TRANSFORM_SKEW, .n = factor}};
    c.node = loop, c.other = by;
    return edit(ctx, c, out);
}
lw_status lw_tree_peel(lw_context *ctx, const lw_tree *t, int loop, int64_t n, lw_tree **out) {
    return on_loop(ctx, t, TRANSFORM_PEEL, loop, n, 0, out);
}
lw_status lw_tree_stage(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                        lw_tree **out) {
    return on_buffer(ctx, t, (TreeAction){.id = TRANSFORM_STAGE}, buffer, loop, out);
}
lw_status lw_tree_unstage(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                          lw_tree **out) {
    return on_buffer(ctx, t, (TreeAction){.id = TRANSFORM_UNSTAGE}, buffer, loop, out);
}
lw_status lw_tree_copy_input(lw_context *ctx, const lw_tree *t, const char *buffer, int loop,
                             lw_tree **out) {
    return on_buffer(ctx, t, (TreeAction){.id = TRANSFORM_COPY}, buffer, loop, out);
}
lw_status lw_tree_drop_copy(lw_context *ctx, const lw_tree *t, const char *buffer, lw_tree **out) {
    return on_buffer(ctx, t, (TreeAction){.id = TRANSFORM_DROP}, buffer, -1, out);
}
lw_status lw_tree_swap_layout(lw_context *ctx, const lw_tree *t, const char *buffer, int a, int b,
                              lw_tree **out) {
    return on_buffer(ctx, t, (TreeAction){.id = TRANSFORM_LAYOUT, .n = a, .m = b}, buffer, -1, out);
}
