// Passes about the order of statements: deps and reorder.
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"

// --- deps ----------------------------------------------------------------------------------------

// Tells which children of a block access a common element that one of them writes. It computes
// facts of the whole Tree once, and is queried for pairs of children.
typedef struct Deps {
    Arena *arena;
    TreeFacts f;
} Deps;

static bool is_below(const Use *u, const Block *b, int child) {
    for (int i = 0; i < u->depth; i++)
        if (u->path[i] == b) return u->child[i] == child;
    return false;
}

static bool touches_meet(Deps *d, const Touch *a, const Touch *b, int blocks) {
    const Use *p = &d->f.use.at[a->use], *q = &d->f.use.at[b->use];
    if (a->kind == TOUCH_READ && b->kind == TOUCH_READ) return false;
    System s;
    Point x, y;
    int shared = 0; // number of indices of the blocks around both
    for (int i = 0; i < blocks; i++) shared += p->path[i]->nindex;
    system_init(&s, &d->f);
    system_enter(&s, p, &x, 0, NULL);
    system_enter(&s, q, &y, shared, &x);
    system_facts(&s, &x, a);
    system_facts(&s, &y, b);
    system_meet(&s, &x, a->access, &y, b->access);
    return system_solve(&s) != DEP_NO;
}

static bool depends(Deps *d, const Block *b, int depth, int later, int earlier) {
    for (int i = 0; i < d->f.touch.n; i++) {
        const Touch *x = &d->f.touch.at[i];
        if (!is_below(&d->f.use.at[x->use], b, earlier)) continue;
        for (int k = d->f.first[x->access->tensor]; k >= 0; k = d->f.touch.at[k].next) {
            const Touch *y = &d->f.touch.at[k];
            if (is_below(&d->f.use.at[y->use], b, later) && touches_meet(d, x, y, depth + 1))
                return true;
        }
    }
    return false;
}

// The direct dependences of child `at`, without those that follow from others.
static int *direct_deps(Deps *d, const Block *b, int depth, int at, bool **after, int *n) {
    int *list = arena_new_n(d->arena, int, at + 1);
    *n = 0;
    for (int k = at - 1; k >= 0; k--) {
        if (after[at][k] || !depends(d, b, depth, at, k)) continue;
        list[(*n)++] = k;
        after[at][k] = true;
        for (int j = 0; j < k; j++) after[at][j] |= after[k][j];
    }
    for (int i = 0; i < *n / 2; i++) { // sort them in ascending order
        int swap = list[i];
        list[i] = list[*n - 1 - i];
        list[*n - 1 - i] = swap;
    }
    return list;
}

static const Node *with_deps(Deps *d, Tree *t, const Node *node, int depth, bool root);

static const Block *children_with_deps(Deps *d, Tree *t, const Block *b, int depth) {
    int n = b->nchildren;
    const Node **child = arena_new_n(d->arena, const Node *, n);
    bool **after = arena_new_n(d->arena, bool *, n), blocks = true;
    for (int i = 0; i < n; i++) blocks &= as_block(b->child[i]) != NULL;
    for (int i = 0; i < n; i++) {
        after[i] = arena_new_n(d->arena, bool, n);
        child[i] = with_deps(d, t, b->child[i], depth + 1, false);
        if (!blocks || n < 2) continue; // the numbers of leaves differ from those in the text
        Block like = *as_block(child[i]);
        like.node.deps = direct_deps(d, b, depth, i, after, &like.node.ndeps);
        child[i] = &tree_block(t, &like, like.child, like.nchildren)->node;
    }
    return tree_block(t, b, child, n);
}

static const Node *with_deps(Deps *d, Tree *t, const Node *node, int depth, bool root) {
    const Block *b = as_block(node);
    (void)root;
    return b ? &children_with_deps(d, t, b, depth)->node : node;
}

// deps: computes the dependences between statements that are blocks. Two statements depend on each
// other if they access a common element that one of them writes; exact overlap tests prove the
// absence of such elements. Transitive dependences are omitted.
//
//     0: for [i:8]: T[i] = A[i]
//     1: for [i:8]: U[i] = A[i]
//     2[0, 1]: for [i:8]: C[i] = T[i] + U[i]
const Tree *pass_deps(PassRun *r, const Tree *t) {
    Deps d = {.arena = r->arena};
    facts_collect(&d.f, r->arena, t);
    EditWork w = work_begin(t, "order", &(TreeEdit){.diags = &r->refused, .unchecked = true});
    w.t->root = children_with_deps(&d, w.t, t->root, 0);
    for (int i = 0; i < w.t->root->nchildren; i++) {
        const Node *n = w.t->root->child[i];
        Text text = {.arena = r->arena};
        for (int k = 0; k < n->ndeps; k++) text_printf(&text, "%s%d", k ? ", " : "", n->deps[k]);
        if (n->ndeps > 0) pass_did(r, as_block(n), "statement %d after %s", i, text_str(&text));
    }
    return w.t;
}

// --- reorder -------------------------------------------------------------------------------------

// The position after the last statement of `order` that statement `i` depends on; `n` if it may not
// move, or depends on none.
static int position_of(Deps *d, const Block *root, const int *order, int n, int i) {
    const Block *b = as_block(root->child[i]);
    if (!b || !b->nindex) return n;
    for (int at = n; at > 0; at--)
        if (depends(d, root, 0, i, order[at - 1])) return at;
    return n;
}

// The same statements in the given order.
static const Tree *in_order(PassRun *r, const Tree *t, const int *order) {
    TreeEdit e = pass_edit(r);
    EditWork w = work_begin(t, "move", &e);
    int n = t->root->nchildren;
    const Node **child = arena_new_n(r->arena, const Node *, n);
    for (int i = 0; i < n; i++) child[i] = t->root->child[order[i]];
    w.t->root = tree_block(w.t, t->root, child, n);
    return work_finish(&w);
}

// reorder: moves consumers up, directly after their producers, where dependences allow it.
//
//     T = A; U = B; C = T; D = U  ->  T = A; C = T; U = B; D = U
//
// Each statement in turn is placed after the last statement placed so far that it depends on.
// Dependences are computed once, and the legality of the new order is checked once.
const Tree *pass_reorder(PassRun *r, const Tree *t) {
    const Block *root = t->root;
    Deps d = {.arena = r->arena};
    facts_collect(&d.f, r->arena, t);
    int *order = arena_new_n(r->arena, int, root->nchildren + 1), first = r->notes.n;
    for (int i = 0; i < root->nchildren; i++) {
        int at = position_of(&d, root, order, i, i);
        memmove(order + at + 1, order + at, (size_t)(i - at) * sizeof *order);
        order[at] = i;
        if (at < i)
            pass_did(r, as_block(root->child[i]), "behind %s",
                     block_name(as_block(root->child[order[at - 1]])));
    }
    if (r->notes.n == first) return t;
    const Tree *now = in_order(r, t, order);
    if (now) return now;
    r->notes.n = first;
    pass_refused(r, NULL);
    return t;
}
