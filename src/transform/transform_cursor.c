// Positions in a Tree: references that survive edits, LoopTool's cursor, subtrees. Only tests use
// the cursor and subtrees: they walk random Trees with them.
#include "transform/edit.h"

#include <string.h>

#include "base/bug.h"

typedef struct LeafSearch {
    int left;
    const Leaf *found;
} LeafSearch;

static bool count_leaf(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    LeafSearch *c = user;
    if (as_leaf(node) && c->left-- == 0) c->found = as_leaf(node);
    return true;
}

const Leaf *tree_leaf_at(const Tree *t, int n) {
    LeafSearch c = {n, NULL};
    tree_walk(t, count_leaf, &c);
    return n < 0 ? NULL : c.found;
}

int tree_leaves(const Tree *t) {
    LeafSearch c = {-1, NULL};
    tree_walk(t, count_leaf, &c);
    return -1 - c.left;
}

const Block *tree_loop_at(const Tree *t, int loop) { return find_loop(t, loop, NULL, NULL); }

typedef struct Parent {
    const Node *node;
    const Block *found;
} Parent;

static bool match_parent(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth;
    Parent *p = user;
    if (node == p->node) p->found = parent;
    return true;
}

const Block *tree_parent_of(const Tree *t, TreeRef r) {
    const Block *b = r.loop >= 0 ? tree_loop_at(t, r.loop) : NULL;
    const Leaf *leaf = r.loop < 0 ? tree_leaf_at(t, r.leaf) : NULL;
    Parent p = {b ? &b->node : leaf ? &leaf->node : NULL, NULL};
    if (p.node) tree_walk(t, match_parent, &p);
    return p.found;
}

int tree_follow(const Tree *from, int leaf, const Tree *to) {
    const Leaf *old = tree_leaf_at(from, leaf);
    int before = 0; // of the same statement and role
    for (int i = 0; old && i < leaf; i++) {
        const Leaf *other = tree_leaf_at(from, i);
        before += other->stmt == old->stmt && other->role == old->role;
    }
    const Leaf *now;
    for (int i = 0; old && (now = tree_leaf_at(to, i)); i++)
        if (now->stmt == old->stmt && now->role == old->role && before-- == 0) return i;
    return -1;
}

// --- Subtrees ----------------------------------------------------------------------------------

static void collect_outer(const Block *b, const Block *target, int *buffers, int *n, Rename *r,
                          const int64_t *at) {
    for (int i = 0; i < b->nallocs; i++) buffers[(*n)++] = b->alloc[i];
    for (int i = 0; i < b->nindex; i++) {
        const Index *x = &b->index[i];
        r->iter[x->id] =
            x->passed ? rename_affine(r, x->passed) : affine_const(r->w->x, at ? at[x->id] : 0);
    }
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if (c && c != target && find_loop(&(Tree){.root = c}, target->index[0].id, NULL, NULL))
            collect_outer(c, target, buffers, n, r, at);
    }
}

// Arguments come first: buffers from around the block move up.
static int *renumber_buffers(EditWork *w, const int *outer, int n) {
    const Tree *t = w->old;
    int *number = arena_new_n(w->arena, int, t->buffers.n);
    Tree *to = w->t;
    memset(&to->buffers, 0, sizeof to->buffers);
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < t->buffers.n; i++) {
            bool moved = false;
            for (int k = 0; k < n; k++) moved |= outer[k] == i;
            if ((i < t->nargs ? 0 : moved ? 1 : 2) != pass) continue;
            Buffer b = t->buffers.at[i];
            if (moved) b.home = HOME_ARGUMENT;
            number[i] = tree_buffer(to, &b);
        }
    to->nargs = t->nargs + n;
    return number;
}

const Tree *tree_subtree(const Tree *t, int loop, const int64_t *at) {
    TreeEdit none = {.unchecked = true};
    EditWork w = work_begin(t, "take", &none);
    const Block *b = tree_loop_at(t, loop);
    if (!b) return NULL;
    Rename *r = rename_new(&w, false);
    int *outer = arena_new_n(w.arena, int, t->buffers.n), n = 0;
    collect_outer(t->root, b, outer, &n, r, at);
    r->buffer = renumber_buffers(&w, outer, n);
    const Node *body = rename_node(r, &b->node);
    Block root = {.node.ndeps = -1};
    w.t->root = tree_block(w.t, &root, &body, 1);
    w.t->program = NULL; // a part of it only
    return w.t;
}

// --- The cursor --------------------------------------------------------------------------------

static const Block *loop_around(const Tree *t, int loop) {
    const Block *b = tree_parent_of(t, (TreeRef){loop, -1});
    while (b && !b->nindex && b != t->root) {
        Parent p = {&b->node, NULL};
        tree_walk(t, match_parent, &p);
        b = p.found;
    }
    return b && b->nindex ? b : NULL;
}

static const Block *loop_inside(const Block *b) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        if (c && c->nindex) return c;
        const Block *found = c ? loop_inside(c) : NULL;
        if (found) return found;
    }
    return NULL;
}

TreeCursor cursor_up(TreeCursor c) {
    const Block *b = loop_around(c.t, c.loop);
    return b ? (TreeCursor){c.t, b->index[0].id} : c;
}

TreeCursor cursor_down(TreeCursor c) {
    const Block *b = tree_loop_at(c.t, c.loop), *inner = b ? loop_inside(b) : NULL;
    return inner ? (TreeCursor){c.t, inner->index[0].id} : c;
}

typedef struct Next {
    int loop, found;
    bool seen;
} Next;

static bool find_next(void *user, const Node *node, int depth, const Block *parent) {
    (void)depth, (void)parent;
    Next *n = user;
    const Block *b = as_block(node);
    if (!b || !b->nindex) return true;
    if (n->seen && n->found < 0) n->found = b->index[0].id;
    n->seen |= b->index[0].id == n->loop;
    return true;
}

TreeCursor cursor_next(TreeCursor c) {
    Next n = {c.loop, -1, false};
    tree_walk(c.t, find_next, &n);
    return n.found >= 0 ? (TreeCursor){c.t, n.found} : c;
}

static TreeCursor on(TreeCursor c, const Tree *t, int loop) {
    return t ? (TreeCursor){t, loop} : c;
}

TreeCursor cursor_swap(TreeCursor c, const TreeEdit *e) {
    return on(c, tree_interchange(c.t, c.loop, e), c.loop);
}

TreeCursor cursor_split(TreeCursor c, int64_t inner, const TreeEdit *e) {
    return on(c, tree_split(c.t, c.loop, inner, false, e), c.t->nindices);
}

TreeCursor cursor_merge(TreeCursor c, const TreeEdit *e) {
    return on(c, tree_merge(c.t, c.loop, e), c.t->nindices);
}

TreeCursor cursor_annotate(TreeCursor c, Kind kind, const TreeEdit *e) {
    return on(c, tree_annotate(c.t, c.loop, kind, e), c.loop);
}
