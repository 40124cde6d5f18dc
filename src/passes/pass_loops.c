// Passes that decide how loops run: order, parallel, threads, unroll.
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"

// --- order ---------------------------------------------------------------------------------------

typedef struct Every {
    Arena *arena;
    Tags tags;
    VEC(int) at;
} Every;

static bool add_block(void *user, const Node *node, int depth, const Block *parent) {
    Every *e = user;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    bool loop = b && b->nindex && !b->index[0].passed;
    bool free_kind = loop && (b->kind == KIND_ANY || b->kind == KIND_SERIAL);
    if (free_kind && has_tags(b, e->tags)) vec_push(e->arena, &e->at, b->index[0].id);
    return true;
}

// The distance in elements between two iterations of an index, for the first access of a view.
static int64_t stride_of(const TileViews *v, const TileView *view, int index) {
    const Buffer *b = &v->t->buffers.at[view->buffer];
    int64_t stride = 0;
    for (int d = 0; d < b->rank; d++)
        stride += view->access[0].coef[d * v->b->nindex + index] * b->stride[d];
    return stride;
}

static bool leaves_only(const Block *b) {
    for (int i = 0; i < b->nchildren; i++)
        if (!as_leaf(b->child[i])) return false;
    return b->nchildren > 0;
}

// The index to run innermost: contiguous in the written buffer and in most of the reads, and
// strided in as few accesses as possible; -1: none.
static int innermost(const TileViews *v) {
    int best = -1, most = 0;
    for (int i = 0; i < v->b->nindex; i++) {
        int score = 0, gathers = 0;
        bool strided = false;
        for (int k = 0; k < v->n; k++) {
            int64_t stride = stride_of(v, &v->at[k], i);
            if (stride == 1) score += v->at[k].written ? 100 : 1;
            if (stride != 0 && stride != 1) gathers++;
            strided |= v->at[k].written && stride != 0 && stride != 1;
        }
        if (score && !gathers) score += 1000;
        if (strided || v->b->index[i].extent < 2 || score <= most) continue;
        best = i;
        most = score;
    }
    return best;
}

typedef enum LoopPart { PART_OUTPUT, PART_REDUCED, PART_WINDOW, PART_SMALL, PART_VECTOR } LoopPart;
enum { MAX_WINDOW = 16 }; // longest window, in iterations

// Do both indices run along one dimension of an input, as w and s do in I[w + s]?
static bool share_dim(const TileViews *v, int a, int b) {
    int n = v->b->nindex;
    for (int k = 0; k < v->n; k++) {
        const TileView *view = &v->at[k];
        int rank = v->t->buffers.at[view->buffer].rank;
        for (int x = 0; x < view->nbox; x++)
            for (int d = 0; d < rank; d++)
                if (view->access[x].coef[d * n + a] && view->access[x].coef[d * n + b]) return true;
    }
    return false;
}

// Moves reductions over a short window that slides with the register tile inside the other
// reductions, because consecutive iterations of the window read mostly the same elements.
static void find_windows(const TileViews *v, LoopPart *part) {
    int n = v->b->nindex;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && part[i] == PART_REDUCED; k++)
            if (part[k] == PART_SMALL && v->b->index[i].extent <= MAX_WINDOW && share_dim(v, i, k))
                part[i] = PART_WINDOW;
}

// Assigns each index to a part of the nest.
static void sort_indices(const TileViews *v, int vector, int64_t registers, LoopPart *part) {
    int64_t room = registers;
    for (int i = 0; i < v->b->nindex; i++)
        part[i] = i == vector ? PART_VECTOR : index_is_output(v, i) ? PART_OUTPUT : PART_REDUCED;
    for (int i = v->b->nindex - 1; i >= 0; i--) { // the last indices that fit form a register tile
        int64_t extent = v->b->index[i].extent;
        if (part[i] != PART_OUTPUT || extent > room) continue;
        part[i] = PART_SMALL;
        room /= max_i64(extent, 1);
    }
    find_windows(v, part);
}

// --- The order of loops over tiles ---------------------------------------------------------------

enum { MAX_ORDERED = 6 };

// An order of the loops over the output, and its cost: the data moved into a unit and into those
// around it.
typedef struct LoopOrder {
    const TileViews *v;
    const Hardware *h;
    int unit;
    int n, at[MAX_ORDERED], best[MAX_ORDERED];
    double least;
} LoopOrder;

static bool depends(const TileViews *v, const TileView *view, int index) {
    int n = v->b->nindex, rank = v->t->buffers.at[view->buffer].rank;
    for (int a = 0; a < view->nbox; a++)
        for (int d = 0; d < rank; d++)
            if (view->access[a].coef[d * n + index]) return true;
    return false;
}

// The bytes of a view that the loops from number `from` on access in one iteration of the outer
// loops.
static double touched(const LoopOrder *o, const TileView *view, int from) {
    int64_t tile[64];
    for (int i = 0; i < o->v->b->nindex; i++) tile[i] = 1;
    for (int k = from; k < o->n; k++) tile[o->at[k]] = o->v->b->index[o->at[k]].extent;
    return (double)tile_bytes(o->v, view, tile);
}

// The bytes moved into a unit of `room` bytes. It holds the data of the inner loops, as many of
// these as fit. The part of a view that it holds is loaded again for each iteration of the outer
// loops, up to the innermost one that the view depends on.
static double traffic(const LoopOrder *o, double room) {
    int from = 0;
    double moved = 0;
    for (; from < o->n; from++) {
        double all = 0;
        for (int i = 0; i < o->v->n; i++) all += touched(o, &o->v->at[i], from);
        if (all <= room) break;
    }
    for (int i = 0; i < o->v->n; i++) {
        double times = 1, sofar = 1;
        for (int k = 0; k < from; k++) {
            sofar *= (double)o->v->b->index[o->at[k]].extent;
            if (depends(o->v, &o->v->at[i], o->at[k])) times = sofar;
        }
        moved += times * touched(o, &o->v->at[i], from);
    }
    return moved;
}

// The cycles of all transfers into the unit and the units around it, each at the bandwidth of its
// source.
static double move_cycles(const LoopOrder *o) {
    double cycles = 0, rate = 0;
    for (int u = o->unit; u >= 0 && o->h->memory.at[u].size; u = (int)o->h->memory.at[u].in) {
        int64_t from = o->h->memory.at[u].in;
        if (from >= 0 && o->h->memory.at[from].bandwidth > 0)
            rate = o->h->memory.at[from].bandwidth;
        cycles += traffic(o, (double)o->h->memory.at[u].size) / (rate > 0 ? rate : 1);
    }
    return cycles;
}

static void try_orders(LoopOrder *o, int at) {
    if (at == o->n) {
        double cycles = move_cycles(o);
        if (o->least >= 0 && cycles >= o->least) return;
        o->least = cycles;
        memcpy(o->best, o->at, sizeof o->best);
        return;
    }
    for (int k = at; k < o->n; k++) { // try the given order first
        int taken = o->at[k];
        memmove(o->at + at + 1, o->at + at, (size_t)(k - at) * sizeof *o->at);
        o->at[at] = taken;
        try_orders(o, at + 1);
        memmove(o->at + at, o->at + at + 1, (size_t)(k - at) * sizeof *o->at);
        o->at[k] = taken;
    }
}

// Orders the indices of the output so that the transfers into the unit `fits` take the fewest
// cycles. Returns their number; 0: keep the given order.
static int best_order(PassRun *r, const TileViews *v, const LoopPart *part, int *out) {
    int unit = (int)pass_int(r, "fits");
    LoopOrder o = {.v = v, .h = r->h, .unit = unit, .least = -1};
    if (unit < 0 || !r->h->memory.at[unit].size || !v->exact) return 0;
    for (int i = 0; i < v->b->nindex; i++) {
        if (part[i] != PART_OUTPUT) continue;
        if (o.n == MAX_ORDERED) return 0;
        o.at[o.n++] = i;
    }
    if (o.n < 2) return 0;
    try_orders(&o, 0);
    double given = move_cycles(&o);
    if (o.least >= given) return 0;
    Text names = {.arena = r->arena};
    for (int k = 0; k < o.n; k++)
        text_printf(&names, "%s%s", k ? " " : "", v->b->index[o.best[k]].name);
    pass_did(r, v->b, "by %s transfers into %s take %.0f cycles, as they were %.0f",
             text_str(&names), r->h->memory.at[unit].name, o.least, given);
    memcpy(out, o.best, sizeof o.best);
    return o.n;
}

// The new form of a block: its indices with their parts, and the loop to vectorise.
typedef struct Nest {
    int n, id[64];
    LoopPart part[64];
    int vector; // -1: none
} Nest;

// Splits the index to vectorise if it is longer than a vector. Other loops, such as a register
// tile, may then run between the two parts.
static const Tree *divide_vector(PassRun *r, const Tree *t, const TileViews *v, int at,
                                 Nest *nest) {
    int64_t lanes = pass_int(r, "vector");
    nest->vector = v->b->index[at].id;
    if (v->b->index[at].extent <= lanes) return t;
    TreeEdit e = pass_edit(r);
    int outer = t->nindices;
    const Tree *now = tree_split(t, nest->vector, lanes, false, &e);
    if (!now) return NULL;
    nest->id[at] = outer;
    nest->part[at] = index_is_output(v, at) ? PART_OUTPUT : PART_REDUCED;
    nest->vector = outer + 1;
    return now;
}

// Does a condition depend on a reduction of the nest?
static bool is_reduced_over(const Nest *nest, const Affine *condition) {
    for (int i = 0; i < nest->n; i++) {
        bool reduced = nest->part[i] == PART_REDUCED || nest->part[i] == PART_WINDOW;
        if (reduced && affine_uses_iter(condition, nest->id[i])) return true;
    }
    return false;
}

// Moves the conditions of a loop over the output that depend on reductions into a block inside, so
// that the other conditions alone decide which results exist.
//
//     for s in 3: for w in 5 where 13 - 5*v - w >= 0 and s + w - 1 >= 0: S
//  -> for s in 3: for w in 5 where 13 - 5*v - w >= 0: if s + w - 1 >= 0: S
static const Tree *separate_conditions(PassRun *r, const Tree *t, const Nest *nest, int loop) {
    const Block *b = tree_loop_at(t, loop);
    if (!b || !b->nconstraints) return t;
    VEC(const Affine *) outer = {0}, inner = {0};
    for (int i = 0; i < b->nconstraints; i++) {
        if (is_reduced_over(nest, b->constraint[i]))
            vec_push(r->arena, &inner, b->constraint[i]);
        else
            vec_push(r->arena, &outer, b->constraint[i]);
    }
    if (!inner.n || !outer.n) return t;
    TreeEdit e = pass_edit(r);
    EditWork w = work_begin(t, "order", &e);
    Block guard = {.node.ndeps = -1, .kind = KIND_SERIAL}, like = *b;
    guard.constraint = inner.at;
    guard.nconstraints = inner.n;
    like.constraint = outer.at;
    like.nconstraints = outer.n;
    like.nviews = 0;
    like.view = NULL;
    const Node *inside = &tree_block(w.t, &guard, b->child, b->nchildren)->node;
    const Node *made = &tree_block(w.t, &like, &inside, 1)->node;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    const Tree *now = work_finish(&w);
    return now ? now : t;
}

static const Tree *nest_one(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    const TileViews *v = tile_views(r->arena, t, b);
    bool leaves = leaves_only(b);
    int inner = leaves && pass_int(r, "vector") ? innermost(v) : -1, n = 0, id[64];
    Nest nest = {.n = b->nindex, .vector = -1};
    BlockGroup group[64];
    if (b->nindex > 64) return t; // no Tree is that deep
    sort_indices(v, inner, leaves ? pass_int(r, "registers") : 0, nest.part);
    for (int i = 0; i < nest.n; i++) nest.id[i] = b->index[i].id;
    int order[MAX_ORDERED], ordered = leaves ? 0 : best_order(r, v, nest.part, order);
    const Tree *now = inner >= 0 ? divide_vector(r, t, v, inner, &nest) : t;
    for (int i = 0; i < ordered; i++) {
        id[n] = nest.id[order[i]];
        group[n] = (BlockGroup){1, &id[n], KIND_SERIAL};
        n++;
    }
    for (LoopPart p = ordered ? PART_REDUCED : PART_OUTPUT; p <= PART_VECTOR; p++)
        for (int i = 0; i < nest.n; i++) {
            if (nest.part[i] != p) continue;
            id[n] = nest.id[i];
            group[n] = (BlockGroup){1, &id[n], KIND_SERIAL};
            n++;
        }
    TreeEdit e = pass_edit(r);
    if (now && (n > 1 || b->kind != KIND_SERIAL)) now = tree_block_nest(now, id[0], group, n, &e);
    if (now && nest.vector >= 0) {
        const Tree *wide = tree_vectorize(now, nest.vector, &e);
        const char *why = r->refused.items.n ? r->refused.items.at[0]->text : "";
        if (wide)
            pass_did(r, b, "%s innermost", b->index[inner].name);
        else
            pass_did(r, b, "%s innermost, no vector: %s", b->index[inner].name, why);
        if (wide) now = wide;
    }
    for (int i = 0; now && leaves && i < nest.n; i++)
        if (nest.part[i] == PART_SMALL) now = separate_conditions(r, now, &nest, nest.id[i]);
    if (!now) pass_refused(r, b);
    return now ? now : t;
}

// order: turns blocks into nests of loops: first indices of the output, then reductions, then a
// register tile, and innermost the contiguous index as a vector loop, split if it is longer than a
// vector.
//
//     for [m:4, n:64, k:32]: C[m, n] += A[m, k]*B[k, n]
//  -> for k in 32: for m in 4: for n in 64 vector: ...          with vector=64 registers=8
//
// With fits=UNIT the loops over tiles run in the order that takes the fewest cycles of transfers
// into the unit.
const Tree *pass_order(PassRun *r, const Tree *t) {
    Every every = {.arena = r->arena, .tags = pass_tags(r, t, "reqs")};
    tree_walk(t, add_block, &every);
    for (int i = 0; i < every.at.n; i++) t = nest_one(r, t, every.at.at[i]);
    return t;
}

// --- parallel ------------------------------------------------------------------------------------

// parallel: runs the outermost loop of a nest on all processors if it has enough work.
//
//     for m in 64: ...  ->  for m in 64 parallel: ...
const Tree *pass_parallel(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; i < list.n; i++) {
        const Block *b = tree_loop_at(t, list.at[i]);
        const TileViews *v = tile_views(r->arena, t, b);
        double work = v->ops;
        for (int k = 0; k < b->nindex; k++) work *= (double)b->index[k].extent;
        if (b->nindex != 1 || !index_is_output(v, 0)) {
            pass_left(r, b,
                      b->nindex != 1 ? "it has several indices: order it first"
                                     : "its outermost loop is reduced over");
            continue;
        }
        if (b->index[0].extent < pass_int(r, "least") || work < pass_real(r, "work")) {
            pass_left(r, b, "%lld iterations, %.0f leaf executions: too few",
                      (long long)b->index[0].extent, work);
            continue;
        }
        if (b->kind != KIND_SERIAL && b->kind != KIND_ANY) {
            pass_left(r, b, "its order is decided");
            continue;
        }
        TreeEdit e = pass_edit(r);
        const Tree *now = tree_parallelize(t, list.at[i], &e);
        if (now)
            pass_did(r, b, "%lld iterations", (long long)b->index[0].extent);
        else
            pass_refused(r, b);
        if (now) t = now;
    }
    return t;
}

// --- threads -------------------------------------------------------------------------------------

// Splits the indices of an unordered block and maps them to a grid: [x], [y], [z].
static const Tree *bind_grid(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    int n = b->nindex, *id = arena_new_n(r->arena, int, n);
    BlockGroup *group = arena_new_n(r->arena, BlockGroup, n);
    for (int i = 0; i < n; i++) id[i] = b->index[i].id;
    int axes = (int)min_i64(n, 3);
    for (int i = 0; i < n; i++) { // the last three indices become z, y, x; the others stay serial
        int axis = n - 1 - i;
        group[i] = (BlockGroup){1, &id[i], axis < axes ? (Kind)(KIND_GRID_X + axis) : KIND_SERIAL};
    }
    TreeEdit e = pass_edit(r);
    return tree_block_nest(t, loop, group, n, &e);
}

static const Tree *thread_one(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    const TileViews *v = tile_views(r->arena, t, b);
    int64_t *size = arena_new_n(r->arena, int64_t, b->nindex), threads = pass_int(r, "threads");
    int at = innermost(v), outer, inner, others = 0;
    if (at < 0 || !index_is_output(v, at)) {
        pass_left(r, b, "no index of its output is contiguous");
        return t;
    }
    for (int i = 0; i < b->nindex; i++) {
        bool grid = i != at && index_is_output(v, i);
        size[i] = grid ? 1 : b->index[i].extent;
        others += grid && b->index[i].extent > 1;
    }
    TreeEdit e = pass_edit(r);
    TileHow how = {.size = size};
    const Tree *now = t;
    inner = loop;
    if (others) now = tree_block_tile(t, loop, &how, &outer, &inner, &e);
    const Block *in = now ? tree_loop_at(now, inner) : NULL;
    int64_t *tile = in ? arena_new_n(r->arena, int64_t, in->nindex) : NULL;
    for (int i = 0; in && i < in->nindex; i++) {
        int64_t extent = in->index[i].extent;
        bool mine = strcmp(in->index[i].name, b->index[at].name) == 0 && extent > 1;
        tile[i] = mine ? ceil_div(extent, min_i64(threads, extent)) : extent;
    }
    TileHow interleaved = {.size = tile, .interleaved = true};
    int thread = inner;
    bool whole = true; // one thread per iteration, and no other loops inside
    for (int i = 0; in && i < in->nindex; i++) whole &= tile[i] == 1;
    if (now && !whole) now = tree_block_tile(now, inner, &interleaved, &thread, NULL, &e);
    if (now) now = tree_bind(now, thread, KIND_THREAD_X, &e);
    if (now && others) now = bind_grid(r, now, outer);
    if (!now) {
        pass_refused(r, b);
        return t;
    }
    pass_did(r, b, "%s on %lld threads", b->index[at].name,
             (long long)tree_loop_at(now, thread)->index[0].extent);
    return now;
}

// threads: maps the contiguous index of the output to threads and its other indices to a grid.
// Iterations are assigned to threads cyclically, so that neighbouring threads access neighbouring
// elements.
//
//     for [m:4, n:8]: C[m, n] = A[m, n]
//  -> for m in 4 grid.x: for n in 4 thread.x: for n' in 2: C[m, n + 4*n'] = ...  with threads=4
const Tree *pass_threads(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; i < list.n; i++) {
        const Block *b = tree_loop_at(t, list.at[i]);
        if (b->kind == KIND_ANY)
            t = thread_one(r, t, list.at[i]);
        else
            pass_left(r, b, "its order is decided");
    }
    return t;
}

// --- unroll --------------------------------------------------------------------------------------

enum { MAX_LEAVES = 512 }; // limit for a Tree with unrolled loops

static int leaves_of(const Node *node) {
    const Block *b = as_block(node);
    int n = as_leaf(node) != NULL;
    for (int i = 0; b && i < b->nchildren; i++) n += leaves_of(b->child[i]);
    return n;
}

// unroll: repeats the body of a loop for each iteration, as long as the Tree stays small.
//
//     for [i:2, j:4]: S(i, j)  ->  for [j:4]: S(0, j); for [j:4]: S(1, j)
const Tree *pass_unroll(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    const char *tag = pass_text(r, "index");
    for (int i = 0; i < list.n; i++) {
        const Block *b = tree_loop_at(t, list.at[i]);
        int at = *tag ? -1 : b->nindex - 1;
        for (int k = 0; k < b->nindex; k++)
            for (int j = 0; j < b->index[k].tags.n; j++)
                if (strcmp(b->index[k].tags.at[j].name, tag) == 0) at = k;
        if (*tag && at < 0 && has_tag(b, tag)) at = 0;
        if (at < 0) {
            pass_left(r, b, "no index has the tag #%s", tag);
            continue;
        }
        if (b->index[at].extent > pass_int(r, "most")) {
            pass_left(r, b, "%s has %lld iterations", b->index[at].name,
                      (long long)b->index[at].extent);
            continue;
        }
        int64_t more = (b->index[at].extent - 1) * leaves_of(&b->node);
        if (leaves_of(&t->root->node) + more > MAX_LEAVES) {
            pass_left(r, b, "there would be more than %d statements", MAX_LEAVES);
            continue;
        }
        TreeEdit e = pass_edit(r);
        const Tree *now = tree_block_unroll(t, b->index[at].id, &e);
        if (now)
            pass_did(r, b, "%s, %lld times", b->index[at].name, (long long)b->index[at].extent);
        else
            pass_refused(r, b);
        if (now) t = now;
    }
    return t;
}
