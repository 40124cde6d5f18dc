// Passes about memory: cache, transpose, locate, place.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "passes/schedule_impl.h"
#include "transform/edit.h"

// --- cache ---------------------------------------------------------------------------------------

// Is the box already contiguous in memory? Copying it would only change its place.
static bool is_contiguous(const Tree *t, int buffer, const int64_t *size) {
    const Buffer *b = &t->buffers.at[buffer];
    int64_t dense = 1;
    for (int n = 0; n < b->rank; n++) { // dimensions by ascending strides
        int d = -1;
        for (int k = 0; k < b->rank; k++)
            if (size[k] > 1 && b->stride[k] >= dense && (d < 0 || b->stride[k] < b->stride[d]))
                d = k;
        if (d < 0) return true;
        if (b->stride[d] != dense) return false;
        dense *= size[d];
    }
    return true;
}

// The first index of a subtree with the tag; -1: none.
static int tagged_index(const Node *node, const char *tag) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++)
        for (int k = 0; k < b->index[i].tags.n; k++)
            if (strcmp(b->index[i].tags.at[k].name, tag) == 0) return b->index[i].id;
    for (int i = 0; b && i < b->nchildren; i++) {
        int found = tagged_index(b->child[i], tag);
        if (found >= 0) return found;
    }
    return -1;
}

// The only dimension that depends on the index, if its step is one and it is not contiguous; -1:
// none.
static int strided_dim(const Tree *t, const TileView *view, int index) {
    const Access *a = view->access[0].access;
    int found = -1;
    for (int d = 0; d < a->rank; d++) {
        if (!affine_uses_iter(a->sub[d], index)) continue;
        if (found >= 0 || affine_coef(a->sub[d], index) != 1) return -1;
        found = d;
    }
    return view->nbox == 1 && found >= 0 && t->buffers.at[view->buffer].stride[found] != 1 ? found
                                                                                           : -1;
}

// Changes the layout of the copy, which is the last buffer, so that the dimension is contiguous.
static const Tree *laid_along(const Tree *t, int dim, const TreeEdit *e) {
    int buffer = t->buffers.n - 1, n = 0, order[TREE_MAX_RANK];
    for (int d = 0; d < t->buffers.at[buffer].rank; d++)
        if (d != dim) order[n++] = d;
    order[n] = dim;
    return tree_restride(t, buffer, order, e);
}

static bool wants(PassRun *r, const TileView *v) {
    return (v->written && pass_int(r, "out")) || (!v->written && pass_int(r, "in"));
}

static const Tree *cache_one(PassRun *r, const Tree *t, int loop, int64_t *room) {
    const Block *b = tree_loop_at(t, loop);
    const TileViews *v = tile_views(r->arena, t, b);
    int unit = (int)pass_int(r, "unit");
    CacheHow how = {.odd_above = pass_int(r, "odd")};
    if (unit >= 0) how.place = unit_place(r, t, r->h->memory.at[unit].name);
    if (pass_int(r, "move") >= 0) how.mover = unit_place(r, t, pass_text(r, "move"));
    int64_t *one = arena_new_n(r->arena, int64_t, b->nindex);
    for (int i = 0; i < b->nindex; i++) one[i] = 1;
    const char *along = pass_text(r, "along");
    int index = *along ? tagged_index(&b->node, along) : -1;
    if (*along && index < 0) {
        pass_left(r, b, "no index has the tag #%s", along);
        return t;
    }
    for (int i = 0; i < v->n; i++) {
        const TileView *view = &v->at[i];
        const char *name = t->buffers.at[view->buffer].name;
        int64_t size[TREE_MAX_RANK], bytes = tile_bytes(v, view, one);
        int dim = *along ? strided_dim(t, view, index) : -1;
        if (!wants(r, view) || (*along && (dim < 0 || view->written))) continue;
        tile_box(v, view, one, size);
        if (pass_int(r, "strided") && is_contiguous(t, view->buffer, size)) {
            pass_left(r, b, "%s is contiguous", name);
            continue;
        }
        if (bytes > *room) {
            pass_left(r, b, "%s needs %lld bytes, %lld are left", name, (long long)bytes,
                      (long long)*room);
            continue;
        }
        TreeEdit e = pass_edit(r);
        how.buffer = view->buffer;
        const Tree *now = tree_block_cache(t, loop, &how, &e);
        if (now && dim >= 0) now = laid_along(now, dim, &e);
        if (!now) {
            pass_left(r, b, "%s: %s", name, r->refused.items.at[0]->text);
            continue;
        }
        pass_did(r, b, "%s: %lld bytes", name, (long long)bytes);
        *room -= bytes;
        t = now;
    }
    return t;
}

// cache: copies the data that one iteration of a block uses into a memory unit.
//
//     for [i:4]: for [j:3]: C[i] += A[i + j]
//  -> for [i:4]: { A'[3]; C'[1]; A'[d] = A[i + d]; C'[0] = 0; C'[0] += A'[j]; C[i] += C'[0] }
const Tree *pass_cache(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    int unit = (int)pass_int(r, "unit");
    for (int i = 0; i < list.n; i++) {
        int64_t room = INT64_MAX / 4; // at most one bank
        if (unit >= 0 && r->h->memory.at[unit].size)
            room = min_i64(r->h->memory.at[unit].size, free_in_unit(r, t, list.at[i]));
        t = cache_one(r, t, list.at[i], &room);
    }
    return t;
}

// --- transpose -----------------------------------------------------------------------------------

// Per dimension of a buffer, the number of iterations of reductions that run along it.
typedef struct Weights {
    int buffer;
    double *weight;
    const Leaf *leaf;
    const Block *around;
} Weights;

static bool is_reduced(const Weights *w, int index) {
    for (int d = 0; d < w->leaf->write->rank; d++)
        if (affine_uses_iter(w->leaf->write->sub[d], index)) return false;
    return true;
}

static void weigh(void *user, const Access *a, bool guarded) {
    Weights *w = user;
    const Block *b = w->around;
    (void)guarded;
    for (int d = 0; a->tensor == w->buffer && d < a->rank; d++)
        for (int i = 0; i < b->nindex; i++)
            if (is_reduced(w, b->index[i].id) && affine_uses_iter(a->sub[d], b->index[i].id))
                w->weight[d] += (double)b->index[i].extent;
}

static bool weigh_leaf(void *user, const Node *node, int depth, const Block *parent) {
    Weights *w = user;
    (void)depth;
    w->leaf = as_leaf(node);
    w->around = parent;
    if (w->leaf && parent) expr_visit_accesses(w->leaf->value, weigh, w);
    return true;
}

// transpose: makes the dimension along which most reductions run contiguous in an allocation.
//
//     T[k, n]:(64, 1) .. C[n] += T[k, n]*x[k]  ->  T[k, n]:(1, 32) ..
const Tree *pass_transpose(PassRun *r, const Tree *t) {
    for (int buffer = t->nargs; buffer < t->buffers.n; buffer++) {
        const Buffer *b = &t->buffers.at[buffer];
        Weights w = {.buffer = buffer, .weight = arena_new_n(r->arena, double, b->rank + 1)};
        int *order = arena_new_n(r->arena, int, b->rank + 1), best = -1, n = 0;
        tree_walk(t, weigh_leaf, &w);
        for (int d = 0; d < b->rank; d++)
            if (w.weight[d] > 0 && (best < 0 || w.weight[d] > w.weight[best])) best = d;
        if (best < 0 || b->rank < 2 || b->stride[best] == 1) continue;
        for (int d = 0; d < b->rank; d++)
            if (d != best) order[n++] = d;
        order[n] = best;
        TreeEdit e = pass_edit(r);
        const Tree *now = tree_restride(t, buffer, order, &e);
        if (now)
            pass_did(r, NULL, "%s: dimension %d is contiguous", b->name, best);
        else
            pass_refused(r, NULL);
        if (now) t = now;
    }
    return t;
}

// --- locate --------------------------------------------------------------------------------------

// Marks the buffers that may lie in a memory: all, or, if each unit of a kind has a copy of it,
// buffers that are allocated inside blocks on such units.
static void mark_inside(const PassRun *r, const Block *b, int owner, bool inside, bool *may) {
    for (int i = 0; i < b->place.n; i++) {
        int unit = hardware_compute(r->h, b->place.unit[i].name);
        inside |= unit >= 0 && hardware_inside(r->h, unit, owner);
    }
    for (int i = 0; i < b->nallocs; i++) may[b->alloc[i]] = inside;
    for (int i = 0; i < b->nchildren; i++)
        if (as_block(b->child[i])) mark_inside(r, as_block(b->child[i]), owner, inside, may);
}

// locate: assigns buffers and blocks to units. Places have no effect on the meaning of a Tree.
//
//     for [i:8]: C[i] = A[i]  ->  for<PROC> [i:8]: ...      A, C<DRAM>
const Tree *pass_locate(PassRun *r, const Tree *t) {
    int memory = (int)pass_int(r, "buffers"), compute = (int)pass_int(r, "blocks");
    TreeEdit e = pass_edit(r);
    e.unchecked = true;
    if (memory >= 0) {
        Buffer *all = arena_copy(r->arena, t->buffers.at, (size_t)t->buffers.n * sizeof *all);
        Place place = unit_place(r, t, r->h->memory.at[memory].name);
        bool *may = arena_new_n(r->arena, bool, t->buffers.n + 1);
        int n = 0, left = 0, owner = hardware_owner(r->h, memory);
        bool one = hardware_copies(r->h, memory) == 1;
        mark_inside(r, t->root, owner, one, may);
        for (int i = t->nargs; i < t->buffers.n; i++) {
            if (all[i].place.n) continue;
            *(may[i] || one ? &n : &left) += 1;
            if (may[i] || one) all[i].place = place;
        }
        if (left)
            pass_left(r, NULL, "%d buffers: each %s has its own %s, and they are not on one", left,
                      r->h->compute.at[owner].name, r->h->memory.at[memory].name);
        if (n) t = tree_with_buffers(t, all, &e);
        if (n) pass_did(r, NULL, "%d buffers in %s", n, r->h->memory.at[memory].name);
    }
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; compute >= 0 && i < list.n; i++) {
        Block like = *tree_loop_at(t, list.at[i]);
        if (like.place.n) {
            pass_left(r, &like, "it has a place");
            continue;
        }
        if (block_place(r, t, list.at[i]).compute == compute) {
            pass_left(r, &like, "it is inside a block on %s", r->h->compute.at[compute].name);
            continue;
        }
        like.place = unit_place(r, t, r->h->compute.at[compute].name);
        t = tree_block_like(t, list.at[i], &like, "locate", &e);
        pass_did(r, &like, "on %s", r->h->compute.at[compute].name);
    }
    return t;
}

// --- place ---------------------------------------------------------------------------------------

enum { MAX_CHUNKS = 256, MAX_CHILDREN = 256 };

// A buffer of a block, or all allocations inside one of its children.
typedef struct Chunk {
    int buffer;                 // -1: the allocations of a child
    struct MemoryPlacer *inner; // their placer
    int64_t size, at;           // bytes; at < 0: not placed yet
    uint64_t users[MAX_CHILDREN / 64];
} Chunk;

// The allocations of one block. Offsets are relative to the place that the parent assigns to the
// block.
typedef struct MemoryPlacer {
    const Tree *t;
    const Block *home;
    int64_t align, top;
    int n;
    Chunk chunk[MAX_CHUNKS];
    // Per child: the children that it depends on, also indirectly.
    uint64_t after[MAX_CHILDREN][MAX_CHILDREN / 64];
} MemoryPlacer;

static bool bit(const uint64_t *set, int i) { return set[i / 64] >> (i % 64) & 1; }

// Computes the transitive closure of dependences. Children without a known dependence may run at
// the same time.
static void close_deps(MemoryPlacer *p) {
    for (int i = 0; i < p->home->nchildren; i++)
        for (int k = 0; k < p->home->child[i]->ndeps; k++) {
            int on = p->home->child[i]->deps[k];
            if (on < 0 || on >= i) continue;
            p->after[i][on / 64] |= (uint64_t)1 << (on % 64);
            for (int w = 0; w < MAX_CHILDREN / 64; w++) p->after[i][w] |= p->after[on][w];
        }
}

// Do all users of one chunk end before any user of the other begins?
static bool apart(const MemoryPlacer *p, const Chunk *a, const Chunk *b) {
    for (int later = 0; later < 2; later++) {
        bool ok = true;
        const Chunk *first = later ? b : a, *second = later ? a : b;
        for (int i = 0; i < p->home->nchildren && ok; i++)
            for (int k = 0; k < p->home->nchildren && ok; k++)
                if (bit(second->users, i) && bit(first->users, k)) ok = bit(p->after[i], k);
        if (ok) return true;
    }
    return false;
}

int64_t best_gap(const ByteSpan *busy, int n, int64_t size, int64_t align, int64_t limit) {
    int64_t best = -1, least = 0;
    for (int k = -1; k < n; k++) { // candidates: offset 0, and the end of each span
        int64_t at = k < 0 ? 0 : ceil_div(busy[k].to, align) * align, end = INT64_MAX / 2;
        bool ok = at <= limit - size;
        for (int i = 0; i < n && ok; i++) {
            ok = busy[i].from >= at + size || busy[i].to <= at;
            if (busy[i].from >= at) end = min_i64(end, busy[i].from);
        }
        int64_t waste = end - at - size;
        if (!ok || (best >= 0 && (waste > least || (waste == least && at >= best)))) continue;
        best = at;
        least = waste;
    }
    return best;
}

// Places a chunk between the chunks that are alive at the same time.
static void settle(MemoryPlacer *p, Chunk *c) {
    ByteSpan busy[MAX_CHUNKS];
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const Chunk *o = &p->chunk[i];
        if (o != c && o->at >= 0 && !apart(p, c, o)) busy[n++] = (ByteSpan){o->at, o->at + o->size};
    }
    c->at = best_gap(busy, n, c->size, p->align, INT64_MAX / 2);
}

static void settle_all(MemoryPlacer *p) {
    for (int i = 0; i < p->n; i++) { // the largest first; equal ones in order
        Chunk *next = NULL;
        for (int k = 0; k < p->n; k++)
            if (p->chunk[k].at < 0 && (!next || p->chunk[k].size > next->size)) next = &p->chunk[k];
        settle(p, next);
    }
}

static bool lives_in(const PassRun *r, const Buffer *b, int unit) {
    if (unit < 0) return b->place.n == 0;
    return b->place.n == 1 && strcmp(b->place.unit[0].name, r->h->memory.at[unit].name) == 0;
}

// Includes all copies that the pass `schedule` requests, for each unit that allocates the buffer.
static int64_t bytes_of(const Buffer *b, int64_t align, int64_t units) {
    int64_t bytes, copies = max_i64(1, tag_number(b->tags, "stages", 1));
    if (!checked_mul(copies, units, &copies) ||
        !checked_mul(buffer_bytes(b, align), copies, &bytes))
        return INT64_MAX / 1024;
    return min_i64(bytes, INT64_MAX / 1024);
}

// Adds "#offset=N", replacing an earlier one.
static Tags with_offset(PassRun *r, const Tree *t, Tags tags, int64_t at) {
    Tag *list = arena_new_n(r->arena, Tag, tags.n + 1);
    int n = 0;
    for (int i = 0; i < tags.n; i++)
        if (strcmp(tags.at[i].name, "offset") != 0) list[n++] = tags.at[i];
    const char *text = arena_printf(r->arena, "%lld", (long long)at);
    list[n++] = (Tag){name_of(t->names, "offset"), name_of(t->names, text)};
    return (Tags){n, list};
}

typedef struct MemoryPass {
    PassRun *r;
    const Tree *t;
    int unit;
    const Block *crowded; // a block with too many children to plan
} MemoryPass;

static Chunk *add_chunk(MemoryPlacer *p, int buffer, int64_t size) {
    Chunk *c = &p->chunk[p->n++];
    *c = (Chunk){.buffer = buffer, .size = size, .at = -1};
    return c;
}

// Places the allocations of a block and its children; NULL: there are none. `place` is that of the
// block around.
static MemoryPlacer *plan(MemoryPass *m, const Block *home, BlockPlace place) {
    place_enter(m->r, m->t, home, &place);
    int64_t units = m->unit < 0 ? 1 : place_sharers(m->r, place, m->unit);
    MemoryPlacer *p = arena_new(m->r->arena, MemoryPlacer);
    *p = (MemoryPlacer){.t = m->t, .home = home, .align = 16};
    if (m->unit >= 0) p->align = max_i64(1, m->r->h->memory.at[m->unit].align);
    for (int i = 0; i < home->nallocs && p->n < MAX_CHUNKS; i++) {
        const Buffer *b = &m->t->buffers.at[home->alloc[i]];
        if (!lives_in(m->r, b, m->unit)) continue;
        Chunk *c = add_chunk(p, home->alloc[i], bytes_of(b, p->align, units));
        for (int k = 0; k < home->nchildren && k < MAX_CHILDREN; k++)
            if (subtree_uses(home->child[k], c->buffer))
                c->users[k / 64] |= (uint64_t)1 << (k % 64);
    }
    for (int k = 0; k < home->nchildren && k < MAX_CHILDREN && p->n < MAX_CHUNKS; k++) {
        const Block *child = as_block(home->child[k]);
        MemoryPlacer *inner = child ? plan(m, child, place) : NULL;
        if (!inner) continue;
        Chunk *c = add_chunk(p, -1, inner->top);
        c->inner = inner;
        c->users[k / 64] |= (uint64_t)1 << (k % 64);
    }
    if (!p->n) return NULL;
    if (home->nchildren > MAX_CHILDREN || p->n == MAX_CHUNKS) m->crowded = home;
    close_deps(p);
    settle_all(p);
    for (int i = 0; i < p->n; i++) p->top = max_i64(p->top, p->chunk[i].at + p->chunk[i].size);
    return p;
}

static void give_offsets(MemoryPass *m, const MemoryPlacer *p, int64_t base, Buffer *all) {
    for (int i = 0; i < p->n; i++) {
        const Chunk *c = &p->chunk[i];
        if (c->inner) {
            give_offsets(m, c->inner, base + c->at, all);
            continue;
        }
        Buffer *b = &all[c->buffer];
        b->tags = with_offset(m->r, m->t, b->tags, base + c->at);
        pass_did(m->r, p->home, "%s at %lld", b->name, (long long)(base + c->at));
    }
}

// place: assigns an offset to every buffer of a unit. Buffers that are never alive at the same
// time, according to the dependences of statements, share memory. The allocations inside a
// statement count as one buffer of the surrounding block.
//
//     A -> B -> C, each of s bytes: offsets 0, s, 0
const Tree *pass_place(PassRun *r, const Tree *t) {
    MemoryPass m = {.r = r, .t = t, .unit = (int)pass_int(r, "unit")};
    const MemoryPlacer *p = plan(&m, t->root, (BlockPlace){-1, 1, 0});
    int64_t room = m.unit >= 0 ? r->h->memory.at[m.unit].size : 0;
    if (!p) return t;
    if (m.crowded) {
        pass_left(r, m.crowded, "it has more than %d statements", MAX_CHILDREN);
        return t;
    }
    if (room && !checked_mul(room, r->h->memory.at[m.unit].banks, &room)) room = 0;
    if (room && p->top > room) {
        pass_left(r, t->root, "its buffers need %lld bytes, %s has %lld", (long long)p->top,
                  r->h->memory.at[m.unit].name, (long long)room);
        return t;
    }
    Buffer *all = arena_copy(r->arena, t->buffers.at, (size_t)t->buffers.n * sizeof *all);
    give_offsets(&m, p, 0, all);
    TreeEdit e = pass_edit(r);
    e.unchecked = true;
    return tree_with_buffers(t, all, &e);
}
