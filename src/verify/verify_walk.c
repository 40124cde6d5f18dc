// Decides open questions about small Trees by enumerating their iterations.
//
// Visits all leaves that touch one buffer in order, with one bit per element: written or not. The
// buffer is new in every iteration of the block that allocates it. Unordered blocks are visited in
// index order: a read that depends on another iteration there is a conflict, which verify.c reports
// separately.
#include "verify/verify_impl.h"

#include "base/checked.h"

#include <string.h>

enum { WALK_STEPS = 1 << 18, WALK_ELEMENTS = 1 << 22 };

// A block or leaf with its accesses to the buffer; nodes without any are left out.
typedef struct WalkNode {
    const Block *block; // NULL: a leaf
    int nchildren, ntouches;
    struct WalkNode **child;
    const Touch **touch; // reads first
} WalkNode;

typedef struct TreeWalk {
    Verifier *v;
    const Buffer *buffer;
    const Block *home; // NULL: an argument
    int number;        // of the buffer
    const bool *asked; // per touch: a read to check
    int uses;          // leaves counted so far
    int64_t left;      // steps
    int64_t elements;
    bool *written;
    bool open; // something could not be decided
    int64_t *at;
} TreeWalk;

static WalkNode *spot_of(TreeWalk *w, const Node *node);

static WalkNode *leaf_spot(TreeWalk *w) {
    WalkNode s = {0};
    Arena *arena = w->v->f.arena;
    int use = w->uses++;
    s.touch = arena_new_n(arena, const Touch *, w->v->f.touch.n);
    for (int pass = 0; pass < 2; pass++)
        for (int i = w->v->f.first[w->number]; i >= 0; i = w->v->f.touch.at[i].next) {
            const Touch *t = &w->v->f.touch.at[i];
            bool wanted = pass ? t->kind == TOUCH_ASSIGN : w->asked[i];
            if (t->use == use && wanted) s.touch[s.ntouches++] = t;
        }
    return s.ntouches ? arena_copy(arena, &s, sizeof s) : NULL;
}

static WalkNode *spot_of(TreeWalk *w, const Node *node) {
    const Block *b = as_block(node);
    if (!b) return node->kind == NODE_LEAF ? leaf_spot(w) : NULL;
    Arena *arena = w->v->f.arena;
    WalkNode s = {.block = b};
    s.child = arena_new_n(arena, WalkNode *, b->nchildren);
    for (int i = 0; i < b->nchildren; i++) {
        WalkNode *child = spot_of(w, b->child[i]);
        if (child) s.child[s.nchildren++] = child;
    }
    return s.nchildren ? arena_copy(arena, &s, sizeof s) : NULL;
}

// The value at this point; false: it depends on data or overflows.
static bool value_at(const TreeWalk *w, const Affine *a, int64_t *out) {
    return !a->has_read && affine_eval(a, w->at, NULL, NULL, NULL, out);
}

// Is every element written that the access may refer to here, from dimension d on? A subscript from
// data may have any value inside the buffer. Accesses outside are reported elsewhere.
static bool is_written(const TreeWalk *w, const Access *a, int d, int64_t n) {
    int64_t x;
    if (d == a->rank) return w->written[n];
    int64_t size = w->buffer->size[d];
    if (value_at(w, a->sub[d], &x))
        return x < 0 || x >= size || is_written(w, a, d + 1, n * size + x);
    for (x = 0; x < size; x++)
        if (!is_written(w, a, d + 1, n * size + x)) return false;
    return true;
}

// -1: outside, or not known.
static int64_t element_at(const TreeWalk *w, const Access *a) {
    int64_t n = 0;
    for (int d = 0; d < a->rank; d++) {
        int64_t x;
        if (!value_at(w, a->sub[d], &x) || x < 0 || x >= w->buffer->size[d]) return -1;
        n = n * w->buffer->size[d] + x;
    }
    return n;
}

// Does the access happen here? If unknown, yes for reads and no for writes.
static bool happens(const TreeWalk *w, const Touch *t) {
    for (int i = 0; i < t->nfacts; i++) {
        int64_t x;
        if (value_at(w, t->fact[i], &x) ? x < 0 : t->kind == TOUCH_ASSIGN) return false;
    }
    return t->whole || t->kind != TOUCH_ASSIGN;
}

static void visit_leaf(TreeWalk *w, const WalkNode *s, bool sure) {
    for (int i = 0; i < s->ntouches && !w->open; i++) {
        const Touch *t = s->touch[i];
        if (!happens(w, t)) continue;
        if (t->kind != TOUCH_ASSIGN) {
            w->open = !is_written(w, t->access, 0, 0);
            continue;
        }
        int64_t n = sure ? element_at(w, t->access) : -1;
        if (n >= 0) w->written[n] = true;
    }
}

static void visit(TreeWalk *w, const WalkNode *s, bool sure);

static void visit_children(TreeWalk *w, const WalkNode *s, bool sure) {
    for (int i = 0; i < s->block->nconstraints; i++) {
        int64_t x;
        if (!value_at(w, s->block->constraint[i], &x))
            sure = false; // perhaps
        else if (x < 0)
            return;
    }
    if (s->block == w->home) memset(w->written, 0, (size_t)w->elements);
    for (int i = 0; i < s->nchildren && !w->open; i++) visit(w, s->child[i], sure);
}

static void visit_indices(TreeWalk *w, const WalkNode *s, int k, bool sure) {
    if (w->left-- <= 0) w->open = true;
    if (w->open) return;
    if (k == s->block->nindex) {
        visit_children(w, s, sure);
        return;
    }
    const Index *x = &s->block->index[k];
    if (x->passed) {
        w->open |= !value_at(w, x->passed, &w->at[x->id]);
        visit_indices(w, s, k + 1, sure);
        return;
    }
    for (int64_t i = 0; i < x->extent && !w->open; i++) {
        w->at[x->id] = i;
        visit_indices(w, s, k + 1, sure);
    }
}

static void visit(TreeWalk *w, const WalkNode *s, bool sure) {
    if (s->block)
        visit_indices(w, s, 0, sure);
    else
        visit_leaf(w, s, sure);
}

bool verify_walk(Verifier *v, int buffer, const bool *open) {
    TreeWalk w = {.v = v, .buffer = &v->f.t->buffers.at[buffer], .home = v->f.home[buffer]};
    w.number = buffer;
    w.asked = open;
    w.left = WALK_STEPS;
    w.elements = 1;
    for (int d = 0; d < w.buffer->rank; d++)
        if (!checked_mul(w.elements, w.buffer->size[d], &w.elements)) return false;
    if (w.elements > WALK_ELEMENTS || !v->f.t->root) return false;
    w.written = arena_new_n(v->f.arena, bool, w.elements + 1);
    w.at = arena_new_n(v->f.arena, int64_t, v->f.t->nindices + 1);
    WalkNode *root = spot_of(&w, &v->f.t->root->node);
    if (root) visit(&w, root, true);
    return !w.open;
}
