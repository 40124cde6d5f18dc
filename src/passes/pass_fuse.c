// fuse, localize, scalarize: passes that reduce the number and the size of intermediates.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"

// --- The profit of fusion ------------------------------------------------------------------------

// The bytes that move, in whole lines, between a memory of `room` bytes and the next outer memory.
// A block whose data fits is loaded once. Otherwise, if the loop over one index or one iteration
// fits, the one that moves least is loaded for each iteration of the other indices; otherwise the
// parts of the iteration are loaded. Buffers allocated inside do not move.
typedef struct Moves {
    Arena *arena;
    const Tree *t;
    int64_t room, line;
} Moves;

static double element_bytes(const Buffer *b) {
    double bytes = type_info[b->type].bytes;
    for (int d = 0; d < b->rank; d++) bytes *= (double)b->size[d];
    return bytes;
}

static bool lives_in(const Node *node, int buffer) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (lives_in(b->child[i], buffer)) return true;
    return false;
}

static double bytes_inside(const Moves *m, const Block *b) {
    double bytes = 0;
    for (int i = 0; i < b->nallocs; i++) bytes += element_bytes(&m->t->buffers.at[b->alloc[i]]);
    for (int i = 0; i < b->nchildren; i++)
        if (as_block(b->child[i])) bytes += bytes_inside(m, as_block(b->child[i]));
    return bytes;
}

// The bytes moved by `tile` iterations; infinite if they and the buffers inside do not fit.
static double moved_by(const Moves *m, const TileViews *v, const int64_t *tile, double inside) {
    double bytes = 0;
    for (int i = 0; i < v->n; i++)
        bytes += m->line > 1 ? tile_lines(v, &v->at[i], tile, m->line, true) * (double)m->line
                             : (double)tile_bytes(v, &v->at[i], tile);
    return bytes + inside <= (double)m->room ? bytes : INFINITY;
}

static double moved(const Moves *m, const Block *b) {
    const TileViews *v = tile_views(m->arena, m->t, b);
    int64_t *tile = arena_new_n(m->arena, int64_t, b->nindex + 1);
    double inside = bytes_inside(m, b), times = 1, parts = 0;
    for (int i = 0; i < b->nindex; i++) {
        tile[i] = b->index[i].passed ? 1 : b->index[i].extent;
        times *= (double)tile[i];
    }
    double least = moved_by(m, v, tile, inside);
    if (least < INFINITY) return least;
    for (int i = 0; i < b->nindex; i++) tile[i] = 1;
    least = times * moved_by(m, v, tile, inside);
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed || b->index[i].extent <= 1) continue;
        tile[i] = b->index[i].extent;
        least = fmin(least, times / (double)tile[i] * moved_by(m, v, tile, inside));
        tile[i] = 1;
    }
    for (int i = 0; i < b->nchildren && least == INFINITY; i++)
        parts += as_block(b->child[i]) ? moved(m, as_block(b->child[i])) : 0;
    return least < INFINITY ? least : times * parts;
}

// The buffers to localize (new ones are always included), and whether to log and to check.
typedef struct Localizing {
    const bool *only; // per buffer of the first Tree; NULL: all
    bool log, unchecked;
} Localizing;
static const Tree *localized(PassRun *r, const Tree *t, const Localizing *how);

// The bytes that the Tree would move if the intermediates of a pair were local, and the size of
// these intermediates.
typedef struct Worth {
    double moved, kept;
} Worth;

static Worth worth_of(PassRun *r, const Tree *t, const bool *only, const MemoryUnit *unit) {
    PassRun trial = *r;
    Tree try = *t;
    if (r->scratch) trial.arena = try.arena = r->scratch; // the trial is discarded
    ArenaMark mark = arena_mark(trial.arena);
    t = localized(&trial, &try, &(Localizing){.only = only, .unchecked = true});
    Moves m = {trial.arena, t, unit && unit->size ? unit->size : INT64_MAX / 4,
               unit ? unit->line : 1};
    Worth w = {.moved = moved(&m, t->root)};
    for (int i = t->nargs; i < t->buffers.n; i++)
        if (lives_in(&t->root->node, i)) w.kept += element_bytes(&t->buffers.at[i]);
    if (r->scratch) arena_release(r->scratch, mark);
    return w;
}

// The unit whose traffic counts: `fits`, or the smallest with a size; NULL: none.
static const MemoryUnit *unit_of(const PassRun *r) {
    int unit = (int)pass_int(r, "fits");
    const MemoryUnit *least = unit >= 0 ? &r->h->memory.at[unit] : NULL;
    for (int i = 0; unit < 0 && i < r->h->memory.n; i++) {
        const MemoryUnit *m = &r->h->memory.at[i];
        if (m->size && (!least || m->size < least->size)) least = m;
    }
    return least;
}

// --- The indices that two blocks share -----------------------------------------------------------

// The index of a block that runs through a dimension of a buffer.
typedef struct Runs {
    int index; // position in the block; -1: none, or several
    int64_t coef;
} Runs;

static Runs runs_of(const TileViews *v, const TileView *view, int dim) {
    Runs r = {-1, 0};
    int n = v->b->nindex;
    for (int a = 0; a < view->nbox; a++)
        for (int i = 0; i < n; i++) {
            int64_t coef = view->access[a].coef[dim * n + i];
            if (!coef) continue;
            if (r.index >= 0 && (r.index != i || r.coef != coef)) return (Runs){-1, 0};
            r = (Runs){i, coef};
        }
    for (int a = 0; a < view->nbox && r.index >= 0; a++)
        if (view->access[a].coef[dim * n + r.index] != r.coef) return (Runs){-1, 0};
    return r;
}

// Pairs of indices to fuse, and the tile sizes that make their extents equal.
typedef struct FusePlan {
    int n;
    int a[16], b[16]; // positions in the two blocks
    int64_t tile_a[16], tile_b[16];
} FusePlan;

static const TileView *shared_view(const TileViews *v, int buffer) {
    for (int i = 0; i < v->n; i++)
        if (v->at[i].buffer == buffer) return &v->at[i];
    return NULL;
}

static void plan_dim(FusePlan *p, const Block *a, const Block *b, Runs x, Runs y) {
    if (x.index < 0 || y.index < 0 || x.coef <= 0 || y.coef <= 0 || p->n == 16) return;
    for (int k = 0; k < p->n; k++)
        if (p->a[k] == x.index || p->b[k] == y.index) return;
    int64_t na = a->index[x.index].extent, nb = b->index[y.index].extent;
    int64_t ta = y.coef % x.coef == 0 ? y.coef / x.coef : 1;
    int64_t tb = x.coef % y.coef == 0 ? x.coef / y.coef : 1;
    if (x.coef * ta != y.coef * tb || ta > na || tb > nb) return;
    if (ceil_div(na, ta) != ceil_div(nb, tb) || ceil_div(na, ta) < 2) return;
    p->a[p->n] = x.index;
    p->b[p->n] = y.index;
    p->tile_a[p->n] = ta;
    p->tile_b[p->n++] = tb;
}

static FusePlan plan_of(const TileViews *va, const TileViews *vb) {
    FusePlan best = {0};
    for (int i = 0; i < va->n; i++) {
        const TileView *x = &va->at[i], *y = shared_view(vb, x->buffer);
        if (!y || (!x->written && !y->written)) continue;
        FusePlan p = {0};
        for (int d = 0; d < va->t->buffers.at[x->buffer].rank; d++)
            plan_dim(&p, va->b, vb->b, runs_of(va, x, d), runs_of(vb, y, d));
        if (p.n > best.n) best = p;
    }
    return best;
}

// Tiles the planned indices of one block. *loops receives the outer index of each pair.
static const Tree *tile_for(const Tree *t, const Block *b, const int *at, const int64_t *tile,
                            int n, int *loops, const TreeEdit *e) {
    int64_t *size = arena_new_n(t->arena, int64_t, b->nindex);
    bool any = false;
    for (int k = 0; k < n; k++) any |= tile[k] > 1;
    for (int k = 0; k < n; k++) loops[k] = b->index[at[k]].id;
    if (!any) return t;
    for (int i = 0; i < b->nindex; i++) size[i] = b->index[i].extent;
    for (int k = 0; k < n; k++) size[at[k]] = tile[k];
    TileHow how = {.size = size, .outer = b->node.tags};
    int outer, inner;
    const Tree *now = tree_block_tile(t, b->index[0].id, &how, &outer, &inner, e);
    if (!now) return NULL;
    const Block *made = tree_loop_at(now, outer);
    int found = 0; // outer indices keep the order of the block
    for (int i = 0; i < b->nindex; i++)
        for (int k = 0; k < n; k++)
            if (at[k] == i) loops[k] = made->index[found++].id;
    return now;
}

static const Tree *fuse_pair(PassRun *r, const Tree *t, const Block *a, const Block *b) {
    FusePlan p = plan_of(tile_views(r->arena, t, a), tile_views(r->arena, t, b));
    int la[16], lb[16];
    if (!p.n) {
        pass_left(r, b, "shares no loop with %s", block_name(a));
        return NULL;
    }
    TreeEdit e = pass_edit(r);
    // Tiling an unordered block is always legal; the fused Tree is checked in any case.
    TreeEdit tile = {.diags = e.diags, .unchecked = a->kind == KIND_ANY && b->kind == KIND_ANY};
    const Tree *now = tile_for(t, a, p.a, p.tile_a, p.n, la, &tile);
    if (now) now = tile_for(now, b, p.b, p.tile_b, p.n, lb, &tile);
    if (now) now = tree_block_fuse(now, la[0], lb[0], p.n, la, lb, pass_tags(r, t, "set"), &e);
    if (!now) pass_refused(r, b);
    return now;
}

// The Tree with only `n` of its root's statements.
static const Tree *part_of(const Tree *t, int first, int n) {
    Tree *part = arena_copy(t->arena, t, sizeof *t);
    part->root = tree_block(part, t->root, t->root->child + first, n);
    return part;
}

// The position of the pair among the statements of the root; -1: it is further in.
static int place_of(const Tree *t, const Block *a) {
    for (int i = 0; i < t->root->nchildren; i++)
        if (t->root->child[i] == &a->node) return i;
    return -1;
}

// The buffers that only the pair uses, which can become local.
static const bool *only_theirs(PassRun *r, const Tree *t, const Block *a, const Block *b) {
    bool *theirs = arena_new_n(r->arena, bool, t->buffers.n + 1);
    int at = place_of(t, a);
    for (int i = t->nargs; i < t->buffers.n; i++) {
        theirs[i] = subtree_uses(&a->node, i) || subtree_uses(&b->node, i);
        for (int k = 0; k < t->root->nchildren && theirs[i] && at >= 0; k++)
            if (k != at && k != at + 1) theirs[i] = !subtree_uses(t->root->child[k], i);
    }
    return theirs;
}

// Tries to fuse a pair; returns the same Tree if that does not pay or is refused.
static const Tree *try_pair(PassRun *r, const Tree *t, const Block *a, const Block *b) {
    const Tree *now = fuse_pair(r, t, a, b);
    if (!now) return t;
    const MemoryUnit *unit = unit_of(r);
    const bool *theirs = only_theirs(r, t, a, b);
    int at = place_of(t, a); // the rest of the Tree costs the same in both cases
    Worth apart = worth_of(r, at < 0 ? t : part_of(t, at, 2), theirs, unit);
    Worth fused = worth_of(r, at < 0 ? now : part_of(now, at, 1), theirs, unit);
    bool better =
        fused.moved < apart.moved || (fused.moved == apart.moved && fused.kept < apart.kept);
    const char *text =
        arena_printf(r->arena, "with %s %.0f bytes move and %.0f are kept, apart %.0f and %.0f",
                     block_name(a), fused.moved, fused.kept, apart.moved, apart.kept);
    if (better || pass_int(r, "always"))
        pass_did(r, b, "%s", text);
    else
        pass_left(r, b, "%s", text);
    return better || pass_int(r, "always") ? now : t;
}

typedef struct Pairs {
    Arena *arena;
    Tags a, b, exclude;
    VEC(int) first, second; // loops
} Pairs;

static bool excluded(const Pairs *p, const Block *b) {
    for (int i = 0; i < p->exclude.n; i++)
        if (has_tags(b, (Tags){1, &p->exclude.at[i]})) return true;
    return false;
}

static bool find_pairs(void *user, const Node *node, int depth, const Block *parent) {
    Pairs *p = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    if (b && excluded(p, b)) return false;
    for (int i = 0; b && i + 1 < b->nchildren; i++) {
        const Block *x = as_block(b->child[i]), *y = as_block(b->child[i + 1]);
        if (!x || !y || !x->nindex || !y->nindex || excluded(p, x) || excluded(p, y)) continue;
        if (!has_tags(x, p->a) || !has_tags(y, p->b)) continue;
        vec_push(p->arena, &p->first, x->index[0].id);
        vec_push(p->arena, &p->second, y->index[0].id);
    }
    return true;
}

// Pairs that were not fused, with their note. A pair is tried again only after one of its blocks
// has changed.
typedef struct Failure {
    const Block *a, *b;
    PassNote note;
} Failure;
typedef struct Failures {
    VEC(Failure) at;
} Failures;

static void add_failure(PassRun *r, Failures *f, const Block *a, const Block *b) {
    Failure one = {a, b, vec_last(&r->notes)};
    vec_push(r->arena, &f->at, one);
}

// Logs the pair's note again if it failed before.
static bool failed_before(PassRun *r, const Failures *f, const Block *a, const Block *b) {
    for (int i = 0; i < f->at.n; i++)
        if (f->at.at[i].a == a && f->at.at[i].b == b) {
            vec_push(r->arena, &r->notes, f->at.at[i].note);
            return true;
        }
    return false;
}

// fuse: fuses neighbours that share a buffer if that moves fewer bytes.
//
//     for [i:8]: T[i] = A[i] + 1; for [j:8]: C[j] = T[j]*2
//  -> for [i:8]: { T[i] = A[i] + 1; C[i] = T[i]*2 }
//
// The dimensions of the shared buffer pair up the indices. If one block is tiled, the other is
// tiled to match. The fused and the unfused Tree are compared by the bytes that move into the unit,
// then by the size of the intermediates.
const Tree *pass_fuse(PassRun *r, const Tree *t) {
    Failures failed = {0};
    VEC(PassNote) done = {0};
    for (bool again = true; again;) {
        Pairs p = {.arena = r->arena,
                   .a = pass_tags(r, t, "a"),
                   .b = pass_tags(r, t, "b"),
                   .exclude = pass_tags(r, t, "exclude")};
        tree_walk(t, find_pairs, &p);
        again = false;
        r->notes.n = 0;
        for (int i = 0; i < p.first.n && !again; i++) {
            const Block *a = tree_loop_at(t, p.first.at[i]), *b = tree_loop_at(t, p.second.at[i]);
            if (failed_before(r, &failed, a, b)) continue;
            const Tree *now = try_pair(r, t, a, b);
            again = now != t;
            t = now;
            if (!again) add_failure(r, &failed, a, b);
        }
        if (again) vec_push(r->arena, &done, vec_last(&r->notes));
    }
    VEC(PassNote) left = {0};
    for (int i = 0; i < r->notes.n; i++) vec_push(r->arena, &left, r->notes.at[i]);
    r->notes.n = 0;
    for (int i = 0; i < done.n; i++) vec_push(r->arena, &r->notes, done.at[i]);
    for (int i = 0; i < left.n; i++) vec_push(r->arena, &r->notes, left.at[i]);
    return t;
}

// --- localize ------------------------------------------------------------------------------------

// The only child of the buffer's home that uses it, or NULL.
static const Block *only_user(const Block *home, int buffer) {
    const Block *user = NULL;
    for (int i = 0; i < home->nchildren; i++) {
        if (!subtree_uses(home->child[i], buffer)) continue;
        if (user || !as_block(home->child[i])) return NULL;
        user = as_block(home->child[i]);
    }
    return user && user->nindex && user->kind != KIND_VECTOR ? user : NULL;
}

typedef struct Homes {
    const Block **home; // per buffer
} Homes;

static bool find_homes(void *user, const Node *node, int depth, const Block *parent) {
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nallocs; i++) ((Homes *)user)->home[b->alloc[i]] = b;
    return true;
}

static const Tree *localized(PassRun *r, const Tree *t, const Localizing *how) {
    int known = how->only ? t->buffers.n : 0;
    bool log = how->log;
    for (int buffer = t->nargs; buffer < t->buffers.n; buffer++) {
        if (buffer < known && !how->only[buffer]) continue;
        Homes h = {arena_new_n(r->arena, const Block *, t->buffers.n + 1)};
        tree_walk(t, find_homes, &h);
        const Block *user = h.home[buffer] ? only_user(h.home[buffer], buffer) : NULL;
        if (!user) continue;
        TreeEdit e = pass_edit(r);
        e.unchecked = how->unchecked;
        const Tree *now = tree_block_localize(t, user->index[0].id, buffer, &e);
        const char *name = t->buffers.at[buffer].name;
        if (!now && log) pass_left(r, user, "%s: %s", name, r->refused.items.at[0]->text);
        if (now && log) pass_did(r, user, "%s is its own", name);
        if (now) t = now; // the new buffer comes last, so it is visited again, further in
    }
    return t;
}

// localize: moves an allocation into the only block that uses it, with the size that one iteration
// needs.
//
//     T[8]; for [i:8]: { T[i] = A[i] + 1; C[i] = T[i]*2 }
//  -> for [i:8]: { T[1]; T[0] = A[i] + 1; C[i] = T[0]*2 }
const Tree *pass_localize(PassRun *r, const Tree *t) {
    return localized(r, t, &(Localizing){.log = true});
}

// --- scalarize -----------------------------------------------------------------------------------

// A buffer of one element that is stored once and read once, both in the same block.
typedef struct Scalar {
    int buffer, store, load; // `store` and `load` are children of the block
    const Block *home;
} Scalar;

typedef struct Count {
    int buffer, n;
} Count;

static void count_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    ((Count *)user)->n += a->tensor == ((Count *)user)->buffer;
}

static int reads_of(const Leaf *leaf, int buffer) {
    Count c = {buffer, 0};
    expr_visit_accesses(leaf->value, count_read, &c);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], count_read, &c);
    return c.n;
}

static bool one_element(const Buffer *b) {
    for (int d = 0; d < b->rank; d++)
        if (b->size[d] != 1) return false;
    return true;
}

// Does a leaf between store and load change an operand of the stored value?
static bool changed_between(const Block *b, const Leaf *store, int from, int to) {
    for (int i = from + 1; i < to; i++) {
        const Leaf *leaf = as_leaf(b->child[i]);
        if (!leaf || reads_of(store, leaf->write->tensor)) return true;
    }
    return false;
}

static bool find_scalar(const Tree *t, const Block *b, int buffer, Scalar *out) {
    int store = -1, load = -1;
    if (!one_element(&t->buffers.at[buffer])) return false;
    for (int i = 0; i < b->nchildren; i++) {
        const Leaf *leaf = as_leaf(b->child[i]);
        if (!leaf) {
            if (subtree_uses(b->child[i], buffer)) return false;
            continue;
        }
        int reads = reads_of(leaf, buffer);
        bool writes = leaf->write->tensor == buffer;
        if (!reads && !writes) continue;
        if (writes && (store >= 0 || leaf->op != REDUCE_ASSIGN || reads)) return false;
        if (reads && (reads > 1 || load >= 0 || store < 0)) return false;
        if (writes) store = i;
        if (reads) load = i;
    }
    if (store < 0 || load < 0) return false;
    const Leaf *from = as_leaf(b->child[store]), *to = as_leaf(b->child[load]);
    Type type = t->buffers.at[buffer].type;
    if (from->value->type != type || type_is_storage(type) || from->role != to->role) return false;
    // A sum of products rounds once, so a product that was rounded by its store must stay separate.
    bool product = from->value->kind == EXPR_OP && from->value->op == OP_MUL;
    if (to->op != REDUCE_ASSIGN && to->value->kind == EXPR_READ && product) return false;
    if (changed_between(b, from, store, load)) return false;
    *out = (Scalar){buffer, store, load, b};
    return true;
}

typedef struct Scalars {
    const Tree *t;
    Scalar found;
    bool any;
} Scalars;

static bool find_scalars(void *user, const Node *node, int depth, const Block *parent) {
    Scalars *s = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nallocs && !s->any; i++)
        s->any = find_scalar(s->t, b, b->alloc[i], &s->found);
    return !s->any;
}

// scalarize: replaces a buffer of one element, stored and read once, by its value.
//
//     for [i:8]: { T[1]; T[0] = A[i] + 1; C[i] = T[0]*2 }  ->  for [i:8]: C[i] = (A[i] + 1)*2
const Tree *pass_scalarize(PassRun *r, const Tree *t) {
    for (int n = 0; n < 1024; n++) {
        Scalars s = {.t = t};
        tree_walk(t, find_scalars, &s);
        if (!s.any) return t;
        const Block *b = s.found.home;
        TreeEdit e = pass_edit(r);
        const Tree *now = tree_forward(t, b, s.found.buffer, s.found.store, s.found.load, &e);
        if (!now) {
            pass_refused(r, b);
            return t;
        }
        pass_did(r, b, "%s is a value", t->buffers.at[s.found.buffer].name);
        t = now;
    }
    return t;
}
