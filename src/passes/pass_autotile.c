// autotile: chooses tile sizes by the cost of the memory traffic of a tile.
//
//     for [m:8, n:8, k:8]: C[m, n] += A[m, k]*B[k, n]
//  -> for [m:2, n:2, k:2]: for [m':4, n':4, k':4]: ...      with max_total=192
//
// The cost of a tile per iteration (docs/passes.md):
//
//     waste · (start_cost + input_cost·lines_in + output_cost·lines_out) / iterations
//         + split_factor · log2(number of tiles)
//
// The search is best-first. It starts at the smallest tile and grows one index at a time; it does
// not grow a tile that exceeds a limit. Among tiles of equal cost the one found first wins, and
// earlier indices grow first.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"

enum { MAX_INDICES = 16, MAX_SEEN = 8192, PATIENCE = 512 };

typedef struct CandidateTile {
    double cost;
    int number; // in the order of discovery
    int64_t size[MAX_INDICES];
} CandidateTile;

// The parameters of the pass, read once.
typedef struct TileLimits {
    int64_t max_total, max_input, max_output, max_product, max_count, line;
    double min_size, min_count, min_out_count, input_cost, output_cost, start_cost, split_factor;
    bool po2, even, aligned;
    const char *without; // "": nothing
} TileLimits;

typedef struct TileSearch {
    Arena *arena;
    const TileViews *v;
    int n;
    bool pinned[MAX_INDICES]; // an index that is reduced over and must stay whole
    bool output[MAX_INDICES];
    TileLimits limit;
    CandidateTile best, least; // `least`: the first tile, for the explanation
    bool found;
    VEC(CandidateTile *) open; // a heap with the cheapest tile on top
    int nseen, since;          // tiles tried; tiles tried since the best one
    CandidateTile *seen[2 * MAX_SEEN];
} TileSearch;

typedef enum Fit { FIT_YES, FIT_NO_TOO_MANY, FIT_STOP } Fit;

static double product(const TileSearch *s, const int64_t *size) {
    double p = 1;
    for (int i = 0; i < s->n; i++) p *= (double)size[i];
    return p;
}

static bool is_without(const TileSearch *s, const TileView *view) {
    return strcmp(s->limit.without, s->v->t->buffers.at[view->buffer].name) == 0;
}

static Fit fits(const TileSearch *s, const int64_t *size) {
    const TileLimits *l = &s->limit;
    int64_t total = 0, in = 0, out = 0;
    double count = 1;
    for (int i = 0; i < s->v->n; i++) {
        const TileView *view = &s->v->at[i];
        if (is_without(s, view)) continue;
        int64_t bytes = tile_bytes(s->v, view, size);
        total += bytes;
        if (view->written && !view->reads_old) out += bytes;
        if (!view->written) in += bytes;
    }
    if ((l->max_total && total > l->max_total) || (l->max_input && in > l->max_input) ||
        (l->max_output && out > l->max_output) ||
        (l->max_product && product(s, size) > (double)l->max_product))
        return FIT_STOP;
    for (int i = 0; i < s->n; i++) count *= (double)ceil_div(s->v->b->index[i].extent, size[i]);
    return l->max_count && count > (double)l->max_count ? FIT_NO_TOO_MANY : FIT_YES;
}

static double shortfall(double wanted, double is) { return is < wanted ? wanted / is : 1; }

static double cost_of_tile(const TileSearch *s, const int64_t *size) {
    const TileLimits *l = &s->limit;
    double in = 0, out = 0, count = 1, out_count = 1, waste = 1;
    for (int i = 0; i < s->v->n; i++) {
        const TileView *view = &s->v->at[i];
        if (is_without(s, view)) continue;
        double lines = tile_lines(s->v, view, size, l->line, l->aligned);
        if (view->written) out += lines;
        if (view->reads_old) in += lines;
    }
    for (int i = 0; i < s->n; i++) {
        int64_t extent = s->v->b->index[i].extent, tiles = ceil_div(extent, size[i]);
        count *= (double)tiles;
        if (s->output[i]) out_count *= (double)tiles;
        waste *= (double)(tiles * size[i]) / (double)extent;
    }
    waste *= shortfall(l->min_size, product(s, size));
    waste *= shortfall(l->min_count, count) * shortfall(l->min_out_count, out_count);
    double moved = l->start_cost + l->input_cost * in + l->output_cost * out;
    return waste * moved / product(s, size) + l->split_factor * log2(count);
}

static CandidateTile **slot_of(TileSearch *s, const int64_t *size) {
    uint64_t hash = 0;
    for (int i = 0; i < s->n; i++) hash = (hash ^ (uint64_t)size[i]) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(hash >> 40) % (2 * MAX_SEEN);
    while (s->seen[at] && memcmp(s->seen[at]->size, size, (size_t)s->n * sizeof *size) != 0)
        at = (at + 1) % (2 * MAX_SEEN);
    return &s->seen[at];
}

static bool cheaper(const CandidateTile *a, const CandidateTile *b) {
    return a->cost != b->cost ? a->cost < b->cost : a->number < b->number;
}

static void push(TileSearch *s, CandidateTile *t) {
    vec_push(s->arena, &s->open, t);
    for (int i = s->open.n - 1, up; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!cheaper(t, s->open.at[up])) break;
        s->open.at[i] = s->open.at[up];
        s->open.at[up] = t;
    }
}

static CandidateTile *pop(TileSearch *s) {
    CandidateTile *top = s->open.at[0], *last = s->open.at[--s->open.n];
    for (int i = 0, down; s->open.n; i = down) {
        s->open.at[i] = last;
        down = 2 * i + 1;
        if (down >= s->open.n) break;
        if (down + 1 < s->open.n && cheaper(s->open.at[down + 1], s->open.at[down])) down++;
        if (!cheaper(s->open.at[down], last)) break;
        s->open.at[i] = s->open.at[down];
    }
    return top;
}

static void consider(TileSearch *s, const int64_t *size) {
    CandidateTile **slot = s->nseen < MAX_SEEN ? slot_of(s, size) : NULL;
    if (!slot || *slot) return;
    CandidateTile *t = *slot = arena_new(s->arena, CandidateTile);
    memcpy(t->size, size, (size_t)s->n * sizeof *size);
    t->number = s->nseen++;
    s->since++;
    Fit fit = fits(s, size);
    if (fit == FIT_STOP) return;
    t->cost = cost_of_tile(s, size);
    push(s, t);
    if (fit != FIT_YES || (s->found && t->cost >= s->best.cost - 1e-12)) return;
    if (!s->found) s->least = *t;
    s->best = *t;
    s->found = true;
    s->since = 0;
}

// The next larger size of an index; 0: none. Without another rule it grows by one, later by an
// eighth.
static int64_t grown(const TileSearch *s, int i, int64_t size) {
    int64_t extent = s->v->b->index[i].extent;
    if (s->pinned[i] || size >= extent) return 0;
    if (s->limit.po2) return size * 2 <= extent ? size * 2 : 0;
    if (!s->limit.even) return min_i64(size + max_i64(1, size / 8), extent);
    for (int64_t next = size + 1; next <= extent; next++)
        if (extent % next == 0) return next;
    return 0;
}

static void search(TileSearch *s) {
    int64_t size[MAX_INDICES];
    for (int i = 0; i < s->n; i++) size[i] = s->pinned[i] ? s->v->b->index[i].extent : 1;
    consider(s, size);
    while (s->open.n && s->since < PATIENCE) {
        const CandidateTile *t = pop(s);
        for (int i = 0; i < s->n; i++) {
            memcpy(size, t->size, sizeof size);
            size[i] = grown(s, i, t->size[i]);
            if (size[i]) consider(s, size);
        }
    }
}

static TileLimits limits_of(const PassRun *r) {
    TileLimits l = {.max_total = pass_int(r, "max_total"),
                    .max_input = pass_int(r, "max_input"),
                    .max_output = pass_int(r, "max_output"),
                    .max_product = pass_int(r, "max_product"),
                    .max_count = pass_int(r, "max_count"),
                    .line = pass_int(r, "line"),
                    .min_size = pass_real(r, "min_size"),
                    .min_count = pass_real(r, "min_count"),
                    .min_out_count = pass_real(r, "min_out_count"),
                    .input_cost = pass_real(r, "input_cost"),
                    .output_cost = pass_real(r, "output_cost"),
                    .start_cost = pass_real(r, "start_cost"),
                    .split_factor = pass_real(r, "split_factor"),
                    .aligned = pass_int(r, "aligned"),
                    .without = pass_text(r, "without"),
                    .po2 = pass_int(r, "po2"),
                    .even = pass_int(r, "even")};
    int unit = (int)pass_int(r, "fits");
    if (unit < 0) return l;
    const MemoryUnit *m = &r->h->memory.at[unit];
    int64_t room = (int64_t)((double)m->size * pass_real(r, "share"));
    if (!l.line && m->line > 1) l.line = m->line;
    if (m->size && (!l.max_total || room < l.max_total)) l.max_total = room;
    return l;
}

// The whole block is the best tile: it gets the tags of one, so that later passes find it.
static const Tree *whole_tile(PassRun *r, const Tree *t, const Block *b, const TileSearch *s) {
    Block like = *b;
    Tags more = pass_tags(r, t, "inner");
    if (!more.n) {
        pass_left(r, b, "the best tile is the whole block, cost %.6g", s->best.cost);
        return t;
    }
    like.node.tags = tags_and(r->arena, b->node.tags, more);
    TreeEdit e = pass_edit(r);
    e.unchecked = true;
    pass_did(r, b, "the whole block is one tile, cost %.6g", s->best.cost);
    return tree_block_like(t, b->index[0].id, &like, "autotile", &e);
}

// Applies the best tile to the block, and logs why it was chosen.
static const Tree *apply(PassRun *r, const Tree *t, int loop, const TileSearch *s) {
    const Block *b = tree_loop_at(t, loop);
    if (!s->found) {
        pass_left(r, b, "no tile is within the limits");
        return t;
    }
    TileHow how = {.size = s->best.size, .interleaved = pass_int(r, "interleave")};
    how.outer = pass_tags(r, t, "outer");
    how.inner = pass_tags(r, t, "inner");
    int64_t range[MAX_INDICES];
    for (int i = 0; i < s->n; i++) range[i] = b->index[i].extent;
    const char *text = tile_text(r->arena, s->best.size, s->n),
               *of = tile_text(r->arena, range, s->n);
    if (memcmp(s->best.size, range, (size_t)s->n * sizeof *range) == 0)
        return whole_tile(r, t, b, s);
    bool one = product(s, s->best.size) == 1;
    TreeEdit e = pass_edit(r);
    const Tree *now = one ? NULL : tree_block_tile(t, loop, &how, NULL, NULL, &e);
    if (one)
        pass_left(r, b, "the best tile is one iteration, cost %.6g", s->best.cost);
    else if (!now)
        pass_refused(r, b);
    else
        pass_did(r, b, "%s of %s, cost %.6g; %s would cost %.6g; %d tiles tried", text, of,
                 s->best.cost, tile_text(r->arena, s->least.size, s->n), s->least.cost, s->nseen);
    return now ? now : t;
}

static const Tree *tile_one(PassRun *r, const Tree *t, int loop) {
    const Block *b = tree_loop_at(t, loop);
    if (b->nindex > MAX_INDICES) {
        pass_left(r, b, "it has more than %d indices", MAX_INDICES);
        return t;
    }
    if (pass_int(r, "skip_1d") && b->nindex == 1) {
        pass_left(r, b, "it has one index");
        return t;
    }
    for (int i = 0; i < b->nindex; i++)
        if (b->index[i].extent < 1) {
            pass_left(r, b, "it has no iterations");
            return t;
        }
    TileSearch *found = arena_new(r->arena, TileSearch);
    *found = (TileSearch){.arena = r->arena, .v = tile_views(r->arena, t, b), .n = b->nindex};
    found->limit = limits_of(r);
    for (int i = 0; i < found->n; i++) {
        found->output[i] = index_is_output(found->v, i);
        found->pinned[i] = !pass_int(r, "acc") && !found->output[i];
    }
    search(found);
    return apply(r, t, loop, found);
}

const Tree *pass_autotile(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    for (int i = 0; i < list.n; i++) t = tile_one(r, t, list.at[i]);
    return t;
}

// --- partition and bank --------------------------------------------------------------------------

static Tags and_tag(PassRun *r, const Tree *t, Tags tags, const char *tag) {
    Tag one = {name_of(t->names, tag), NULL};
    return tags_and(r->arena, tags, (Tags){*tag != 0, &one});
}

// The output index whose number of tiles is closest to `parts`, and among these the one with the
// most even tiles; -1: none. `allowed` may be NULL.
static int index_to_share(const TileViews *v, int64_t parts, const bool *allowed, int64_t *tile) {
    int best = -1;
    double least = 0;
    for (int i = 0; i < v->b->nindex; i++) {
        int64_t extent = v->b->index[i].extent;
        if (extent < 2 || !index_is_output(v, i) || (allowed && !allowed[i])) continue;
        int64_t size = ceil_div(extent, min_i64(parts, extent)), count = ceil_div(extent, size);
        double cost = count <= parts ? (double)(parts - count)
                                     : (double)(parts + 1) * (double)(count - parts);
        cost += (double)(size * count - extent) / (double)extent;
        if (best >= 0 && cost >= least) continue;
        best = i;
        least = cost;
        *tile = size;
    }
    return best;
}

// Divides one index of a block into parts; the outer block over parts runs at UNIT[part].
static const Tree *share_out(PassRun *r, const Tree *t, int loop, int64_t parts, Name unit,
                             const bool *allowed) {
    const Block *b = tree_loop_at(t, loop);
    const TileViews *v = tile_views(r->arena, t, b);
    int64_t size[MAX_INDICES], tile = 0;
    int at = parts < 2 || b->nindex > MAX_INDICES ? -1 : index_to_share(v, parts, allowed, &tile);
    if (at < 0) {
        pass_left(r, b, parts < 2 ? "there is one part" : "no index of its output can be divided");
        return t;
    }
    for (int i = 0; i < b->nindex; i++) size[i] = i == at ? tile : b->index[i].extent;
    TileHow how = {.size = size};
    how.outer = and_tag(r, t, pass_tags(r, t, "outer"), pass_text(r, "index"));
    int outer;
    TreeEdit e = pass_edit(r);
    const Tree *now = tree_block_tile(t, loop, &how, &outer, NULL, &e);
    if (!now) {
        pass_refused(r, b);
        return t;
    }
    pass_did(r, b, "%s in %lld parts of %lld", b->index[at].name,
             (long long)ceil_div(b->index[at].extent, tile), (long long)tile);
    if (!unit) return now;
    Block like = *tree_loop_at(now, outer);
    Unit *u = arena_new(r->arena, Unit);
    const Affine **number = arena_new_n(r->arena, const Affine *, 1);
    number[0] = affine_iter(now->exprs, like.index[0].id);
    *u = (Unit){name_of(now->names, unit), 1, number};
    like.place = (Place){1, u};
    e.unchecked = true;
    return tree_block_like(now, outer, &like, "partition", &e);
}

// partition: makes about one tile for each compute unit.
//
//     for [m:8, k:8]: C[m] += A[m, k]  ->  for<PROC[m]> [m:2]: for [m':4, k:8]: ...   with parts=2
const Tree *pass_partition(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    int unit = (int)pass_int(r, "unit");
    int64_t parts = pass_int(r, "parts");
    if (!parts && unit >= 0) parts = r->h->compute.at[unit].count;
    Name name = unit >= 0 ? r->h->compute.at[unit].name : NULL;
    for (int i = 0; i < list.n; i++) t = share_out(r, t, list.at[i], parts, name, NULL);
    return t;
}

// The only dimension of a buffer whose subscript depends on the index; -1: none, or several.
static int only_dim(const TileViews *v, const TileView *view, int index) {
    int found = -1, n = v->b->nindex;
    for (int a = 0; a < view->nbox; a++)
        for (int d = 0; d < view->access[a].access->rank; d++) {
            if (!view->access[a].coef[d * n + index]) continue;
            if (found >= 0 && found != d) return -1;
            found = d;
        }
    return found;
}

static const TileView *largest_input(const TileViews *v) {
    const TileView *best = NULL;
    int64_t most = 0, whole[MAX_INDICES];
    for (int i = 0; i < v->b->nindex; i++) whole[i] = v->b->index[i].extent;
    for (int i = 0; i < v->n; i++) {
        int64_t bytes = v->at[i].written ? 0 : tile_bytes(v, &v->at[i], whole);
        if (bytes > most) best = &v->at[i];
        most = max_i64(most, bytes);
    }
    return best;
}

// bank: distributes the largest input over banks, along an index that the output also has.
//
//     for [m:8, k:8]: C[m] += A[m, k]  ->  for [m:2]: for [m':4, k:8]: ...      A({8}, 8)
const Tree *pass_bank(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    int unit = (int)pass_int(r, "unit");
    int64_t parts = pass_int(r, "parts");
    if (!parts && unit >= 0) parts = r->h->memory.at[unit].banks;
    for (int k = 0; k < list.n; k++) {
        const Block *b = tree_loop_at(t, list.at[k]);
        bool allowed[MAX_INDICES] = {false};
        int64_t tile;
        const TileViews *v = tile_views(r->arena, t, b);
        const TileView *input = b->nindex > MAX_INDICES ? NULL : largest_input(v);
        for (int i = 0; input && i < b->nindex; i++) allowed[i] = only_dim(v, input, i) >= 0;
        int at = input && parts > 1 ? index_to_share(v, parts, allowed, &tile) : -1;
        const Tree *now = share_out(r, t, list.at[k], parts, NULL, allowed);
        if (now == t || at < 0) continue;
        Buffer *all = arena_copy(r->arena, now->buffers.at, (size_t)now->buffers.n * sizeof *all);
        all[input->buffer].bank_dim = only_dim(v, input, at);
        TreeEdit e = pass_edit(r);
        e.unchecked = true;
        t = tree_with_buffers(now, all, &e);
    }
    return t;
}
