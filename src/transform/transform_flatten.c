// Simplifies Trees: one block per leaf, and no block without effect; see transform_block.h.
#include "transform/transform_block.h"

#include <string.h>

#include "transform/edit.h"

// --- Flat blocks ---------------------------------------------------------------------------------

typedef struct FlattenPath {
    int depth;
    const Block *at[TREE_MAX_DEPTH + 1];
} FlattenPath;

// Allocations, and kinds other than serial or any, are decisions, so such a nest stays.
static bool is_plain(const Node *node, int depth) {
    const Block *b = as_block(node);
    if (!b) return node->kind == NODE_LEAF;
    if (b->nallocs || b->place.n || depth >= TREE_MAX_DEPTH) return false;
    if (b->nindex && b->kind != KIND_SERIAL && b->kind != KIND_ANY) return false;
    for (int i = 0; i < b->nchildren; i++)
        if (!is_plain(b->child[i], depth + 1)) return false;
    return true;
}

static int count_leaves(const Node *node) {
    const Block *b = as_block(node);
    int n = !b;
    for (int i = 0; b && i < b->nchildren; i++) n += count_leaves(b->child[i]);
    return n;
}

// Guards of initialisations and post-operations: -i >= 0 is i = 0, i - 7 >= 0 in 8 is i = 7.
static bool is_fixed(const FlattenPath *p, const Index *x, int64_t *value) {
    for (int i = 0; i < p->depth; i++)
        for (int k = 0; k < p->at[i]->nconstraints; k++) {
            const Affine *c = p->at[i]->constraint[k];
            int64_t coef = affine_coef(c, x->id);
            if (!c->linear || c->n != 1 || (coef != 1 && coef != -1)) continue;
            *value = coef < 0 ? 0 : x->extent - 1;
            if (coef * *value + c->constant == 0) return true;
        }
    return false;
}

// One block over all indices around the leaf that vary, with all constraints around it.
static const Node *flat_block(EditWork *w, const FlattenPath *p, const Node *leaf, Kind kind) {
    Rename *r = rename_new(w, false);
    Index index[4 * TREE_MAX_DEPTH];
    Block like = {.node.ndeps = -1, .kind = kind};
    VEC(const Affine *) constraint = {0};
    for (int i = 0; i < p->depth; i++) {
        const Block *b = p->at[i];
        for (int k = 0; k < b->nindex; k++) {
            Index x = b->index[k];
            if (x.passed) {
                r->iter[x.id] = rename_affine(r, x.passed);
                continue;
            }
            int64_t value;
            if (is_fixed(p, &x, &value)) {
                r->iter[x.id] = affine_const(w->x, value);
                continue;
            }
            x.id = tree_index(w->t, x.name, x.extent).id;
            r->iter[b->index[k].id] = affine_iter(w->x, x.id);
            index[like.nindex++] = x;
        }
        for (int k = 0; k < b->nconstraints; k++) {
            const Affine *c = rename_affine(r, b->constraint[k]);
            if (!affine_is_const(c) || c->constant < 0) vec_push(w->arena, &constraint, c);
        }
        if (b->name) like.name = b->name;
        if (b->node.tags.n) like.node.tags = b->node.tags;
    }
    like.index = index;
    like.constraint = constraint.at;
    like.nconstraints = constraint.n;
    const Node *body = rename_node(r, leaf);
    return &tree_block(w->t, &like, &body, 1)->node;
}

static void flat_blocks(EditWork *w, FlattenPath *p, const Node *node, Kind kind, const Node **out,
                        int *n) {
    const Block *b = as_block(node);
    if (!b) {
        out[(*n)++] = flat_block(w, p, node, kind);
        return;
    }
    p->at[p->depth++] = b;
    for (int i = 0; i < b->nchildren; i++) flat_blocks(w, p, b->child[i], kind, out, n);
    p->depth--;
}

static bool is_flat(const Node *node) {
    const Block *b = as_block(node);
    return b && b->kind == KIND_ANY && b->nchildren == 1 && as_leaf(b->child[0]) && b->nindex;
}

// Nest number `only` of the root, or with -1 all of them, as flat blocks.
static const Tree *flattened(const Tree *t, int only, Kind kind, const TreeEdit *e) {
    EditWork w = work_begin(t, "flatten", e);
    const Block *root = t->root;
    int room = count_leaves(&root->node) + root->nchildren; // blocks without a leaf, too
    const Node **child = arena_new_n(w.arena, const Node *, room + 1);
    int n = 0;
    for (int i = 0; i < root->nchildren; i++) {
        const Block *b = as_block(root->child[i]);
        bool chosen = (only < 0 || only == i) && b && is_plain(&b->node, 0) && !is_flat(&b->node);
        if (w.t->nindices + count_indices(root->child[i]) * count_leaves(root->child[i]) >
            TREE_MAX_INDICES)
            chosen = false;
        if (!chosen) {
            child[n++] = root->child[i];
            continue;
        }
        FlattenPath p = {0};
        flat_blocks(&w, &p, root->child[i], kind, child, &n);
    }
    w.t->root = tree_block(w.t, root, child, n);
    return work_finish(&w);
}

const Tree *tree_flatten(const Tree *t, const TreeEdit *e) {
    DiagList quiet = {.arena = e->diags->arena};
    TreeEdit try = {.diags = &quiet, .unchecked = e->unchecked};
    const Tree *all = flattened(t, -1, KIND_ANY, &try);
    if (all) return all;
    // Nest by nest from the last one, so that the numbers of earlier ones do not change.
    for (int i = t->root->nchildren - 1; i >= 0; i--) {
        const Tree *now = NULL;
        quiet.items.n = quiet.errors = quiet.dropped = 0;
        for (int serial = 0; serial < 2 && !now; serial++)
            now = flattened(t, i, serial ? KIND_SERIAL : KIND_ANY, &try);
        if (now) t = now;
    }
    return t;
}

// --- Blocks without effect -----------------------------------------------------------------------

typedef struct Prune {
    EditWork *w;
    Rename *r;
    bool (*keep)(const Block *b);
} Prune;

static void prune_into(Prune *p, const Node *node, const Node **out, int *n);

static const Node **pruned_children(Prune *p, const Block *b, int *n) {
    int room = 1;
    for (int i = 0; i < b->nchildren; i++) room += count_leaves(b->child[i]);
    const Node **child = arena_new_n(p->w->arena, const Node *, room);
    *n = 0;
    for (int i = 0; i < b->nchildren; i++) prune_into(p, b->child[i], child, n);
    return child;
}

// Indices that vary; the others are replaced by their value.
static void prune_indices(Prune *p, const Block *b, Block *like) {
    Index *index = arena_new_n(p->w->arena, Index, b->nindex);
    like->nindex = 0;
    for (int i = 0; i < b->nindex; i++) {
        Index x = b->index[i];
        if (x.passed)
            p->r->iter[x.id] = rename_affine(p->r, x.passed);
        else if (x.extent == 1)
            p->r->iter[x.id] = affine_const(p->w->x, 0);
        else
            index[like->nindex++] = x;
    }
    like->index = index;
}

// False: some constraint never holds.
static bool prune_constraints(Prune *p, const Block *b, Block *like) {
    const Affine **constraint = arena_new_n(p->w->arena, const Affine *, b->nconstraints);
    like->nconstraints = 0;
    for (int i = 0; i < b->nconstraints; i++) {
        const Affine *c = rename_affine(p->r, b->constraint[i]);
        if (affine_is_const(c) && c->constant < 0) return false;
        if (!affine_is_const(c)) constraint[like->nconstraints++] = c;
    }
    like->constraint = constraint;
    return true;
}

static void prune_allocs(Prune *p, const Block *b, Block *like) {
    int *alloc = arena_new_n(p->w->arena, int, b->nallocs);
    like->nallocs = 0;
    for (int i = 0; i < b->nallocs; i++)
        if (subtree_uses(&b->node, b->alloc[i])) alloc[like->nallocs++] = b->alloc[i];
    like->alloc = alloc;
}

static void prune_into(Prune *p, const Node *node, const Node **out, int *n) {
    const Block *b = as_block(node);
    if (!b) {
        out[(*n)++] = rename_node(p->r, node);
        return;
    }
    Block like = *b;
    int nchildren;
    prune_indices(p, b, &like);
    for (int i = 0; i < like.nindex; i++)
        if (like.index[i].extent == 0) return;
    if (!prune_constraints(p, b, &like)) return;
    prune_allocs(p, b, &like);
    like.place = rename_block(p->r, b).place;
    like.nviews = 0;
    like.view = NULL;
    const Node **child = pruned_children(p, b, &nchildren);
    if (!nchildren) return;
    bool empty = !like.nindex && !like.nconstraints && !like.nallocs && !like.place.n;
    if (!empty || (p->keep && p->keep(b)))
        out[(*n)++] = &tree_block(p->w->t, &like, child, nchildren)->node;
    else
        for (int i = 0; i < nchildren; i++) out[(*n)++] = child[i];
}

const Tree *tree_prune(const Tree *t, bool (*keep)(const Block *b), const TreeEdit *e) {
    EditWork w = work_begin(t, "prune", e);
    Prune p = {&w, rename_new(&w, false), keep};
    Block like = *t->root;
    int n;
    prune_allocs(&p, t->root, &like);
    const Node **child = pruned_children(&p, t->root, &n);
    w.t->root = tree_block(w.t, &like, child, n);
    w.same_order = true;
    return work_finish(&w);
}

// --- Dependence lists ----------------------------------------------------------------------------

static const Node *without_deps(Tree *t, const Node *node) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    bool same = node->ndeps < 0;
    const Node **child = arena_new_n(t->arena, const Node *, b ? b->nchildren : 0);
    for (int i = 0; b && i < b->nchildren; i++) {
        child[i] = without_deps(t, b->child[i]);
        same &= child[i] == b->child[i];
    }
    if (same || (!b && !leaf)) return node;
    if (leaf) {
        Leaf plain = *leaf;
        plain.node.ndeps = -1;
        return &tree_leaf(t, &plain)->node;
    }
    Block plain = *b;
    plain.node.ndeps = -1;
    return &tree_block(t, &plain, child, b->nchildren)->node;
}

const Tree *tree_without_deps(const Tree *t) {
    TreeEdit e = {.unchecked = true};
    EditWork w = work_begin(t, "clear", &e);
    const Node *root = without_deps(w.t, &t->root->node);
    if (root == &t->root->node) return t;
    w.t->root = as_block(root);
    w.t->prefetches = t->prefetches;
    return w.t;
}
