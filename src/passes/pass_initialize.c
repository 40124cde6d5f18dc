// initialize: moves the initialisation of results from a separate pass over memory to their final
// store.
//
//     for [i:8]: C[i] = 0; for [t:2]: { C'; ..; for [x:4]: C[4*t + x] += C'[x] }
//  -> for [t:2]: { C'; ..; for [x:4]: { C[4*t + x] = 0; C[4*t + x] += C'[x] } }
//
// A machine then stores C'[x], and neither writes zeros nor reads C. This is legal if the store
// reaches every element once, no other statement accesses the buffer in between, and the loops
// around the store are unordered, so that the verifier proves that no element is stored twice.
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"
#include "verify/verify.h"

// The store that completes the results of a buffer, and the blocks around it.
typedef struct FinalStore {
    int buffer, uses; // `uses`: number of leaves below that access the buffer
    const Leaf *leaf;
    const Block *block; // the block directly around it
    double times;       // number of executions
    bool free;          // the loops around it are unordered and have no conditions
} FinalStore;

static void find_store(FinalStore *s, const Node *node, const Block *parent, double times,
                       bool free) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    if (leaf && subtree_uses(node, s->buffer)) {
        s->uses++;
        s->leaf = leaf;
        s->block = parent;
        s->times = times;
        s->free = free;
    }
    if (!b) return;
    for (int i = 0; i < b->nindex; i++) {
        times *= (double)b->index[i].extent;
        free &= b->kind == KIND_ANY || b->index[i].extent == 1;
    }
    free &= b->nconstraints == 0;
    for (int i = 0; i < b->nchildren; i++) find_store(s, b->child[i], b, times, free);
}

// The leaf of a nest `for [x, y]: T[x, y] = constant` over all elements of the buffer, or NULL.
static const Leaf *constant_fill(const Tree *t, const Node *node) {
    const Block *b = as_block(node);
    const Leaf *leaf = b && b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
    if (!leaf || leaf->op != REDUCE_ASSIGN || leaf->value->kind == EXPR_OP ||
        leaf->value->kind == EXPR_READ || b->nconstraints)
        return NULL;
    const Buffer *x = &t->buffers.at[leaf->write->tensor];
    int n = 0;
    for (int d = 0; d < leaf->write->rank; d++) {
        int id = affine_as_iter(leaf->write->sub[d]);
        if (id < 0 && x->size[d] != 1) return NULL;
        for (int i = 0; id >= 0 && i < b->nindex; i++)
            n += b->index[i].id == id && b->index[i].extent == x->size[d];
        if (id >= 0 && n == 0) return NULL;
    }
    return n == b->nindex ? leaf : NULL;
}

// The leaf of the fill, applied to the element of the store.
static const Leaf *moved_fill(Tree *t, Arena *arena, const Leaf *fill, const Leaf *store) {
    Leaf like = *fill;
    like.write = store->write;
    if (!fill->iter) return tree_leaf(t, &like);
    int n = t->program && fill->stmt >= 0 ? t->program->stmts.at[fill->stmt].niters : 0;
    const Affine **at = arena_new_n(arena, const Affine *, t->nindices + 1);
    const Affine **iter = arena_new_n(arena, const Affine *, n + 1);
    for (int i = 0; i < t->nindices; i++) at[i] = affine_iter(t->exprs, i);
    for (int d = 0; d < fill->write->rank; d++) {
        int id = affine_as_iter(fill->write->sub[d]);
        if (id >= 0) at[id] = store->write->sub[d];
    }
    for (int i = 0; i < n; i++)
        if (fill->iter[i]) iter[i] = affine_substitute(t->exprs, fill->iter[i], at, NULL);
    like.iter = iter;
    return tree_leaf(t, &like);
}

// Why the fill of a buffer stays where it is; NULL if it can move to *store.
static const char *refusal(const Tree *t, const Block *root, int at, int buffer,
                           FinalStore *store) {
    int next = at + 1;
    while (next < root->nchildren && !subtree_uses(root->child[next], buffer)) next++;
    if (next == root->nchildren) return "nothing adds to it";
    *store = (FinalStore){.buffer = buffer};
    find_store(store, root->child[next], NULL, 1, true);
    if (store->uses != 1 || !store->block || store->block->nchildren != 1)
        return "it is used in several places";
    if (store->leaf->op == REDUCE_ASSIGN || store->leaf->write->tensor != buffer ||
        store->leaf->value->kind != EXPR_READ)
        return "its results are not kept elsewhere until they are done";
    if (store->leaf->write->has_read) return "data say where its results are stored";
    if (!store->free) return "its results are stored in parts, or under conditions";
    double elements = 1;
    const Buffer *b = &t->buffers.at[buffer];
    for (int d = 0; d < b->rank; d++) elements *= (double)b->size[d];
    return store->times == elements ? NULL : "its results are stored in parts";
}

static const Tree *move_fill(PassRun *r, const Tree *t, int at, const Leaf *fill,
                             const FinalStore *store) {
    TreeEdit e = pass_edit(r);
    e.unchecked = true;
    EditWork w = work_begin(t, "initialize", &e);
    const Node *two[2] = {&moved_fill(w.t, w.arena, fill, store->leaf)->node, &store->leaf->node};
    Block like = *store->block;
    like.nviews = 0;
    like.view = NULL;
    const Node *made = &tree_block(w.t, &like, two, 2)->node, *none = NULL;
    const Node *old = t->root->child[at];
    work_replace(&w, &store->block->node, &made, 1);
    work_replace(&w, old, &none, 0);
    const Tree *now = work_finish(&w);
    DiagList found = {.arena = r->arena};
    return now && tree_verify(r->arena, now, NULL, &found) != VERIFY_REFUSED ? now : NULL;
}

const Tree *pass_initialize(PassRun *r, const Tree *t) {
    for (int i = 0; i < t->root->nchildren; i++) {
        const Block *b = as_block(t->root->child[i]);
        const Leaf *fill = constant_fill(t, t->root->child[i]);
        if (!fill) continue;
        FinalStore store;
        int buffer = fill->write->tensor;
        const char *why = refusal(t, t->root, i, buffer, &store);
        const Tree *now = why ? NULL : move_fill(r, t, i, fill, &store);
        if (!why && !now) why = "not proven that every element is stored once";
        if (why) {
            pass_left(r, b, "%s", why);
            continue;
        }
        pass_did(r, b, "%s starts where it is stored", t->buffers.at[buffer].name);
        t = now;
        i--;
    }
    return t;
}
