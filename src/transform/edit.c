// Finds nodes, rebuilds Trees, and decides legality; see edit.h.
//
// For every leaf of the new Tree the old leaf is known, and the old indices as functions of the new
// ones. The new Tree must first pass the verifier; then verify/legal.h compares the two orders.
#include "transform/edit.h"

#include <string.h>

#include "base/bug.h"
#include "verify/legal.h"
#include "verify/verify.h"

EditWork work_begin(const Tree *t, const char *verb, const TreeEdit *e) {
    EditWork w = {.old = t, .arena = t->arena, .x = t->exprs, .e = e, .verb = verb};
    w.t = arena_copy(t->arena, t, sizeof *t);
    w.t->buffers.cap = w.t->buffers.n; // adding makes a copy
    w.t->prefetches.at = NULL;
    w.t->prefetches.n = w.t->prefetches.cap = 0;
    return w;
}

const Tree *refuse(const EditWork *w, const char *why) {
    diag_report(w->e->diags, (Range){0}, DIAG_EDIT_SHAPE, w->verb, why);
    return NULL;
}

// --- Finding -----------------------------------------------------------------------------------

static const Block *find(const Block *b, int loop, const Block **parent, int *at) {
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        for (int k = 0; c && k < c->nindex; k++)
            if (c->index[k].id == loop) {
                if (parent) *parent = b;
                if (at) *at = i;
                return c;
            }
        const Block *found = c ? find(c, loop, parent, at) : NULL;
        if (found) return found;
    }
    return NULL;
}

const Block *find_loop(const Tree *t, int loop, const Block **parent, int *at) {
    return find(t->root, loop, parent, at);
}

typedef struct EditSearch {
    int buffer;
    bool found;
} EditSearch;

static void match(void *user, const Access *a, bool guarded) {
    (void)guarded;
    EditSearch *s = user;
    s->found |= a->tensor == s->buffer;
}

bool subtree_uses(const Node *node, int buffer) {
    const Block *b = as_block(node);
    const Leaf *leaf = as_leaf(node);
    EditSearch s = {buffer, leaf && leaf->write->tensor == buffer};
    if (leaf) {
        expr_visit_accesses(leaf->value, match, &s);
        for (int d = 0; d < leaf->write->rank; d++)
            affine_visit_accesses(leaf->write->sub[d], match, &s);
    }
    for (int i = 0; b && i < b->nchildren && !s.found; i++)
        s.found = subtree_uses(b->child[i], buffer);
    return s.found;
}

int count_indices(const Node *node) {
    const Block *b = as_block(node);
    int n = b ? b->nindex : 0;
    for (int i = 0; b && i < b->nchildren; i++) n += count_indices(b->child[i]);
    return n;
}

bool is_single(const Block *b) { return b && b->nindex == 1 && !b->index[0].passed; }

const char *why_not_single(const Block *b) {
    if (!b) return "there is no such loop";
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].passed) return "other indices are passed into its block";
    return "its block has other indices too";
}

bool block_uses(const Block *b, const Affine *a) {
    for (int i = 0; i < b->nindex; i++)
        if (affine_uses_iter(a, b->index[i].id)) return true;
    return false;
}

// --- Rebuilding --------------------------------------------------------------------------------

Rename *rename_new(EditWork *w, bool fresh) {
    Rename *r = arena_new(w->arena, Rename);
    r->w = w;
    r->iter = arena_new_n(w->arena, const Affine *, w->old->nindices);
    r->fresh = fresh;
    return r;
}

static const Access *map_access(void *user, Exprs *x, const Access *a) {
    Rename *r = user;
    if (r->buffer && r->buffer[a->tensor] != a->tensor)
        a = access_make(x, r->buffer[a->tensor], a->rank, a->sub);
    return r->map ? r->map(r->user, x, a) : a;
}

const Affine *rename_affine(Rename *r, const Affine *a) {
    Subst s = {.iters = r->iter, .map = map_access, .user = r};
    return affine_subst(r->w->x, a, &s);
}

static const Affine *const *rename_affines(Rename *r, const Affine *const *a, int n) {
    const Affine **out = arena_new_n(r->w->arena, const Affine *, n);
    for (int i = 0; i < n; i++) out[i] = a[i] ? rename_affine(r, a[i]) : NULL;
    return out;
}

static const CachedRead *rename_caches(const Rename *r, const Leaf *old) {
    if (!r->buffer || !old->ncaches) return old->cache;
    CachedRead *cache = arena_copy(r->w->arena, old->cache, sizeof *cache * (size_t)old->ncaches);
    for (int i = 0; i < old->ncaches; i++) cache[i].buffer = r->buffer[cache[i].buffer];
    return cache;
}

static const Leaf *rename_leaf(Rename *r, const Leaf *old) {
    EditWork *w = r->w;
    Leaf leaf = *old;
    leaf.write = access_substitute(w->x, old->write, r->iter, NULL, map_access, r);
    leaf.value = expr_substitute(w->x, old->value, r->iter, NULL, map_access, r);
    leaf.cache = rename_caches(r, old);
    if (old->iter && old->stmt >= 0 && w->old->program)
        leaf.iter = rename_affines(r, old->iter, w->old->program->stmts.at[old->stmt].niters);
    const Leaf *made = tree_leaf(w->t, &leaf);
    size_t size = (size_t)w->old->nindices * sizeof *r->iter;
    if (!r->kept || memcmp(r->kept, r->iter, size) != 0)
        r->kept = arena_copy(w->arena, r->iter, size);
    Origin o = {made, old, r->kept};
    vec_push(w->arena, &w->origin, o);
    return made;
}

// Gives new numbers to the indices and buffers of a copied block.
static void renumber(Rename *r, const Block *b, Index *index, int *alloc) {
    EditWork *w = r->w;
    for (int i = 0; i < b->nindex && r->fresh; i++) {
        int id = index[i].id;
        index[i].id = tree_index(w->t, index[i].name, index[i].extent).id;
        r->iter[id] = affine_iter(w->x, index[i].id);
    }
    if (!b->nallocs || (!r->fresh && !r->buffer)) return;
    if (!r->buffer) {
        r->buffer = arena_new_n(w->arena, int, w->old->buffers.n);
        for (int i = 0; i < w->old->buffers.n; i++) r->buffer[i] = i;
    }
    for (int i = 0; i < b->nallocs; i++) {
        if (r->fresh && r->buffer[alloc[i]] == alloc[i]) {
            Buffer copy = w->t->buffers.at[alloc[i]];
            r->buffer[alloc[i]] = tree_buffer(w->t, &copy);
        }
        alloc[i] = r->buffer[alloc[i]];
    }
}

static const BlockView *rename_views(Rename *r, const Block *b) {
    BlockView *view = arena_new_n(r->w->arena, BlockView, b->nviews);
    for (int i = 0; i < b->nviews; i++) {
        view[i] = b->view[i];
        int rank = r->w->old->buffers.at[view[i].buffer].rank;
        if (r->buffer) view[i].buffer = r->buffer[view[i].buffer];
        if (view[i].offset)
            view[i].offset = (const Affine **)rename_affines(r, b->view[i].offset, rank);
    }
    return view;
}

static Place rename_place(Rename *r, Place place) {
    Unit *unit = arena_new_n(r->w->arena, Unit, place.n);
    for (int i = 0; i < place.n; i++) {
        unit[i] = place.unit[i];
        unit[i].at = (const Affine **)rename_affines(r, place.unit[i].at, place.unit[i].n);
    }
    return (Place){place.n, unit};
}

Block rename_block(Rename *r, const Block *b) {
    Block out = *b;
    out.place = rename_place(r, b->place);
    out.constraint = rename_affines(r, b->constraint, b->nconstraints);
    if (r->map) out.nviews = 0; // the views are of other buffers now: derive them again
    out.view = out.nviews ? rename_views(r, b) : NULL;
    return out;
}

const Node *rename_node(Rename *r, const Node *node) {
    EditWork *w = r->w;
    if (node->kind == NODE_LEAF) return &rename_leaf(r, (const Leaf *)node)->node;
    const Block *b = as_block(node);
    if (!b) return node; // specials were expanded before
    Index *index =
        b->nindex ? arena_copy(w->arena, b->index, (size_t)b->nindex * sizeof *index) : NULL;
    int *alloc =
        b->nallocs ? arena_copy(w->arena, b->alloc, (size_t)b->nallocs * sizeof *alloc) : NULL;
    for (int i = 0; i < b->nindex; i++)
        if (index[i].passed) index[i].passed = rename_affine(r, index[i].passed);
    renumber(r, b, index, alloc);
    Block like = rename_block(r, b);
    like.index = index;
    like.alloc = alloc;
    const Node **child = arena_new_n(w->arena, const Node *, b->nchildren);
    rename_nodes(r, b->child, b->nchildren, child);
    return &tree_block(w->t, &like, child, b->nchildren)->node;
}

void rename_nodes(Rename *r, const Node *const *child, int n, const Node **out) {
    for (int i = 0; i < n; i++) out[i] = rename_node(r, child[i]);
}

static const Node *replaced(EditWork *w, const Node *node, const Node *target,
                            const Node *const *with, int n) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nchildren; i++) {
        int more = b->child[i] == target ? n : 1;
        const Node *changed =
            b->child[i] == target ? NULL : replaced(w, b->child[i], target, with, n);
        if (changed == b->child[i]) continue;
        const Node **child = arena_new_n(w->arena, const Node *, b->nchildren + n);
        int k = 0;
        for (int j = 0; j < i; j++) child[k++] = b->child[j];
        for (int j = 0; j < more; j++) child[k++] = changed ? changed : with[j];
        for (int j = i + 1; j < b->nchildren; j++) child[k++] = b->child[j];
        return &tree_block(w->t, b, child, k)->node;
    }
    return node;
}

void work_replace(EditWork *w, const Node *target, const Node *const *with, int n) {
    const Node *root = replaced(w, &w->t->root->node, target, with, n);
    w->t->root = as_block(root);
}

// --- Legality ----------------------------------------------------------------------------------

// Finds origins by statement: the old leaf of that statement, and its present loops.
static void origins_by_iters(EditWork *w, const LegalBefore *b, const TreeFacts *now) {
    for (int i = 0; i < now->use.n; i++) {
        const Leaf *leaf = now->use.at[i].leaf;
        const Use *was = NULL;
        for (int k = 0; k < b->facts.use.n && !was; k++)
            if (b->facts.use.at[k].leaf->stmt == leaf->stmt) was = &b->facts.use.at[k];
        if (!was) bug("a statement comes from nowhere");
        Origin o = {leaf, was->leaf, arena_new_n(w->arena, const Affine *, w->old->nindices)};
        for (int k = 0; k < was->nindex; k++) o.value[was->index[k]->id] = leaf->iter[k];
        vec_push(w->arena, &w->origin, o);
    }
}

static void know_origins(EditWork *w, LegalBefore *b, const TreeFacts *now) {
    if (w->by_iters) origins_by_iters(w, b, now);
    b->was = arena_new_n(w->arena, const Use *, now->use.n);
    b->value = arena_new_n(w->arena, const Affine **, now->use.n);
    for (int i = 0; i < now->use.n; i++) {
        const Leaf *leaf = now->use.at[i].leaf;
        for (int k = 0; k < w->origin.n; k++)
            if (w->origin.at[k].leaf == leaf) {
                b->value[i] = w->origin.at[k].value;
                leaf = w->origin.at[k].old;
                break;
            }
        for (int k = 0; k < b->facts.use.n && !b->was[i]; k++)
            if (b->facts.use.at[k].leaf == leaf) b->was[i] = &b->facts.use.at[k];
    }
}

static const char *leaf_name(const EditWork *w, const Leaf *leaf) {
    const Program *p = w->old->program;
    if (p && leaf->stmt >= 0 && leaf->stmt < p->stmts.n) return p->stmts.at[leaf->stmt].label;
    return w->t->buffers.at[leaf->write->tensor].name;
}

static void report_order(void *user, const Witness *x) {
    const EditWork *w = user;
    if (w->e->witness) *w->e->witness = *x;
    diag_report(w->e->diags, (Range){0}, DIAG_EDIT_ORDER, w->verb,
                leaf_name(w, x->source.use->leaf), x->source.text, leaf_name(w, x->sink.use->leaf),
                x->sink.text, x->text, legal_kind_name[x->kind]);
}

static void report_open(void *user, const Touch *a, const Touch *b, LegalRule rule) {
    const EditWork *w = user;
    (void)rule;
    diag_report(w->e->diags, (Range){0}, DIAG_EDIT_NOT_PROVEN, w->verb,
                leaf_name(w, w->now->use.at[a->use].leaf),
                leaf_name(w, w->now->use.at[b->use].leaf));
}

static void keep_witness(void *user, const Witness *x) { *(Witness *)user = *x; }
static void keep_nothing(void *user, const Touch *a, const Touch *b, LegalRule rule) {
    (void)user, (void)a, (void)b, (void)rule;
}

// The verifier only reports texts, so the judge looks for the same conflict again to get a Witness.
static void witness_of_tree(EditWork *w) {
    if (!w->e->witness) return;
    TreeFacts *now = arena_new(w->arena, TreeFacts);
    facts_collect(now, w->arena, w->t);
    Legal l = {.f = now, .first = true, .user = w->e->witness};
    l.found = keep_witness;
    l.open = keep_nothing;
    legal_judge(&l);
}

static bool keeps_order(EditWork *w) {
    Arena *scratch = w->e->scratch ? w->e->scratch : w->arena;
    ArenaMark mark = arena_mark(scratch);
    LegalBefore before = {0};
    TreeFacts now;
    facts_collect(&before.facts, scratch, w->old);
    facts_collect(&now, scratch, w->t);
    know_origins(w, &before, &now);
    w->now = &now;
    Legal l = {.f = &now, .before = &before, .first = true};
    l.user = w;
    l.found = report_order;
    l.open = report_open;
    legal_judge(&l);
    w->now = NULL;
    if (w->e->scratch) arena_release(scratch, mark);
    return !l.refused && !l.unproven;
}

bool tree_agrees(const Tree *reference, const Tree *t, const char *verb, const TreeEdit *e) {
    EditWork w = {.old = reference, .t = (Tree *)t, .arena = t->arena, .x = t->exprs, .e = e};
    w.verb = verb;
    w.by_iters = true;
    return keeps_order(&w);
}

// Prefetches stay with their loops, if these still exist.
static void keep_prefetches(EditWork *w) {
    for (int i = 0; i < w->old->prefetches.n; i++) {
        Prefetch p = w->old->prefetches.at[i];
        p.at = p.at && p.at->nindex ? find_loop(w->t, p.at->index[0].id, NULL, NULL) : NULL;
        if (p.at) vec_push(w->arena, &w->t->prefetches, p);
    }
}

const Tree *work_finish(EditWork *w) {
    bool broken = w->x->overflow || w->x->too_large;
    w->x->overflow = w->x->too_large = false;
    if (broken || !tree_reaches(w->arena, w->t))
        return refuse(w, "index expressions overflow or grow too large");
    keep_prefetches(w);
    if (w->e->unchecked) return w->t;
    DiagList found = {.arena = w->e->diags->arena};
    VerifyAnswer answer = tree_verify(w->e->scratch ? w->e->scratch : w->arena, w->t, NULL, &found);
    if (answer != VERIFY_OK) {
        Diag *d = diag_report(w->e->diags, (Range){0}, DIAG_EDIT_VERIFY, w->verb,
                              found.items.n ? found.items.at[0]->text : "?");
        (void)d;
        if (answer == VERIFY_REFUSED) witness_of_tree(w);
        return NULL;
    }
    if (!w->same_order && !keeps_order(w)) return NULL;
    return w->t;
}
