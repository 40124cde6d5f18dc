// The compact view of a Tree: one line per loop, guard, allocation and leaf.
//
//     for m in 2 parallel
//       T f32[64] 256 B
//       for m.1 in 64 where 99 - 64*m - m.1 >= 0
//         T[m.1] = A[64*m + m.1]*2.0
//
// An index whose name is taken further out gets a number. With costs, the right margin tells what
// one whole execution of the block touches, moves and computes (cost.c).
#include "tree/cost.h"
#include "tree/tree.h"

#include "base/bug.h"

typedef struct Show {
    Text *out;
    const Tree *t;
    Arena *arena;
    const Name *buffers;
    Name *iters;                       // per index id
    int path[TREE_MAX_INDICES], npath; // passed ones included
    const TreeCost *cost;
    int seen;     // nodes
    size_t begin; // of the line's text
    TreeLines *lines;
} Show;

static void begin_line(Show *s, int depth) {
    text_fill(s->out, ' ', 2 * depth);
    s->begin = s->out->len;
}

static void end_line(Show *s, const Node *node, int depth) {
    if (s->lines) {
        const char *text = text_str(s->out) + s->begin;
        const Block *b = node ? as_block(node) : NULL;
        TreeLine line = {node, depth, arena_strndup(s->arena, text, s->out->len - s->begin),
                         b && b->nindex ? s->iters[b->index[0].id] : NULL};
        vec_push(s->arena, s->lines, line);
    }
    text_char(s->out, '\n');
}

static bool taken(const Show *s, const char *name) {
    Name n = name_of(s->t->names, name);
    for (int i = 0; i < s->npath; i++)
        if (s->iters[s->path[i]] == n) return true;
    return false;
}

static Name unique_name(Show *s, Name name) {
    const char *n = name ? name : "i";
    for (int k = 1; taken(s, n); k++) n = arena_printf(s->arena, "%s.%d", name ? name : "i", k);
    return name_of(s->t->names, n);
}

static PrintNames names_of(const Show *s) {
    return (PrintNames){.iters = s->iters, .tensors = s->buffers};
}

static void print_dims(Text *out, const Buffer *b) {
    text_add(out, type_info[b->type].name);
    text_char(out, '[');
    for (int d = 0; d < b->rank; d++) {
        if (d) text_add(out, ", ");
        text_int(out, b->size[d]);
    }
    text_char(out, ']');
}

static int64_t buffer_bytes(const Buffer *b) {
    int64_t n = type_info[b->type].bytes;
    for (int d = 0; d < b->rank; d++) n *= b->size[d];
    return n;
}

static void show_alloc(Show *s, const Buffer *b, int depth) {
    begin_line(s, depth);
    text_printf(s->out, "%s ", b->name);
    print_dims(s->out, b);
    const char *home = home_name[b->home];
    text_printf(s->out, " %lld B%s%s", (long long)buffer_bytes(b), *home ? " " : "", home);
    if (b->align) text_printf(s->out, " align %d", b->align);
    if (b->swizzle) text_printf(s->out, " swizzle %d", b->swizzle);
    end_line(s, NULL, depth);
}

static void show_constraints(Show *s, const Block *b, const char *word) {
    PrintNames names = names_of(s);
    for (int i = 0; i < b->nconstraints; i++) {
        text_add(s->out, i ? " and " : word);
        affine_print(s->out, b->constraint[i], &names);
        text_add(s->out, " >= 0");
    }
}

static void show_cost(Show *s) { // nodes come in the order of the costs
    const BlockCost *c = s->cost ? &s->cost->at[s->seen - 1] : NULL;
    if (!c) return;
    text_printf(s->out, "   # touches %lld B, moves %lld B, %lld flops", (long long)c->footprint,
                (long long)c->traffic, (long long)c->flops);
}

static void show_head(Show *s, const Block *b) {
    for (int i = 0; i < b->nindex; i++) {
        const Index *x = &b->index[i];
        Name name = unique_name(s, x->name);
        s->iters[x->id] = name;
        s->path[s->npath++] = x->id;
        text_printf(s->out, "%s%s ", i ? ", " : "for ", name);
        PrintNames names = names_of(s);
        if (x->passed) {
            text_add(s->out, "= ");
            affine_print(s->out, x->passed, &names);
        } else
            text_printf(s->out, "in %lld", (long long)x->extent);
    }
    if (b->kind != KIND_SERIAL) text_printf(s->out, " %s", kind_name[b->kind]);
    if (b->grain) text_printf(s->out, " grain %lld", (long long)b->grain);
    show_constraints(s, b, b->nindex ? " where " : "if ");
}

static void show_leaf(Show *s, const Leaf *leaf) {
    PrintNames names = names_of(s);
    access_print(s->out, leaf->write, &names);
    text_printf(s->out, " %s ", reduce_name[leaf->op]);
    expr_print(s->out, leaf->value, &names);
    if (leaf->role == LEAF_INIT) return;
    if (leaf->nontemporal) text_add(s->out, "   nontemporal");
    if (leaf->accumulators) text_printf(s->out, "   accumulators %d", leaf->accumulators);
    for (int i = 0; i < leaf->ncaches; i++)
        text_printf(s->out, "   cache %s %s", s->buffers[leaf->cache[i].buffer],
                    load_cache_name[leaf->cache[i].cache]);
}

static void show_prefetches(Show *s, const Block *b, int depth) {
    for (int i = 0; i < s->t->prefetches.n; i++) {
        const Prefetch *f = &s->t->prefetches.at[i];
        if (f->at != b) continue;
        begin_line(s, depth);
        text_printf(s->out, "prefetch %s distance %lld level %d", s->buffers[f->buffer],
                    (long long)f->distance, f->level);
        end_line(s, NULL, depth);
    }
}

static void show_special(Show *s, const Special *sp) {
    text_printf(s->out, "%s(", sp->op);
    for (int i = 0; i < sp->nouts; i++)
        text_printf(s->out, "%s%s", i ? ", " : "", s->buffers[sp->out[i].buffer]);
    for (int i = 0; i < sp->nins; i++) text_printf(s->out, ", %s", s->buffers[sp->in[i].buffer]);
    text_char(s->out, ')');
}

static void show_node(Show *s, const Node *node, int depth) {
    const Block *b = as_block(node);
    int npath = s->npath;
    s->seen++;
    bool plain = b && !b->nindex && !b->nconstraints; // the root, or a mere grouping
    if (!plain || depth) {
        begin_line(s, depth);
        if (plain)
            text_add(s->out, "block");
        else if (b)
            show_head(s, b);
        else if (node->kind == NODE_LEAF)
            show_leaf(s, (const Leaf *)node);
        else
            show_special(s, (const Special *)node);
        show_cost(s);
        end_line(s, node, depth++);
    }
    for (int i = 0; b && i < b->nallocs; i++) show_alloc(s, &s->t->buffers.at[b->alloc[i]], depth);
    if (b) show_prefetches(s, b, depth);
    for (int i = 0; b && i < b->nchildren; i++) show_node(s, b->child[i], depth);
    s->npath = npath;
}

// --- Line numbers of the same text

typedef struct Lines {
    Arena *arena;
    const Tree *t;
    VEC(int) at;
    int line;
} Lines;

// Numbers the nodes as show_node does, which hides groupings at the margin.
static void count_lines(Lines *l, const Node *node, bool margin) {
    const Block *b = as_block(node);
    bool hidden = margin && b && !b->nindex && !b->nconstraints;
    vec_push(l->arena, &l->at, hidden ? 0 : ++l->line);
    l->line += b ? b->nallocs : 0;
    for (int i = 0; b && i < l->t->prefetches.n; i++) l->line += l->t->prefetches.at[i].at == b;
    for (int i = 0; b && i < b->nchildren; i++) count_lines(l, b->child[i], hidden);
}

const int *tree_lines(Arena *arena, const Tree *t) {
    Lines l = {.arena = arena, .t = t};
    count_lines(&l, &t->root->node, true);
    return l.at.at;
}

static void show(Text *out, const Tree *t, bool cost, TreeLines *lines) {
    Arena *arena = out->arena;
    Name *buffers = arena_new_n(arena, Name, t->buffers.n);
    for (int i = 0; i < t->buffers.n; i++) buffers[i] = t->buffers.at[i].name;
    Show s = {.out = out, .t = t, .arena = arena, .buffers = buffers, .lines = lines};
    s.iters = arena_new_n(arena, Name, t->nindices);
    s.cost = cost ? tree_cost(arena, t) : NULL;
    show_node(&s, &t->root->node, 0);
}

void tree_show(Text *out, const Tree *t, bool cost) { show(out, t, cost, NULL); }

TreeLines tree_show_lines(Arena *arena, const Tree *t) {
    Text out = {.arena = arena};
    TreeLines lines = {0};
    vec_push(arena, &lines, ((TreeLine){.text = ""}));
    show(&out, t, false, &lines);
    return lines;
}
