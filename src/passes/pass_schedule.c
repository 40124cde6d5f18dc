// schedule: tiles a block for a memory unit of limited size, decides which data stays there, and
// double-buffers the rest.
//
//     for [m:64, n:8, k:64]: C[m, n] += A[m, k]*B[k, n]
//  -> { C'; C' = 0; for [k:8]: { A'; B'; load A, B; for [m:64, n:8, k':8]: C' += A'*B' }; C += C' }
//
// Tile sizes and the order of the loops over tiles are chosen together. A buffer is loaded inside
// the innermost loop over tiles that it depends on, once per iteration of that loop and of the
// loops around it; loops further in, on which it does not depend, reuse it. Loops of reductions are
// innermost, so partial results stay in the unit. A buffer inside a loop has several copies, which
// iterations use alternately. The cost, in cycles, is
//
//     max(transfers + the compute of one tile, compute + the first loads + the last store)
//
// where each transfer takes bytes / bandwidth plus a latency, and compute is the time of the
// machine's stencils on all its units. Results may have a single copy instead; compute then waits
// for stores. All buffers with their copies must fit the unit; each gets an offset.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "passes/schedule_impl.h"
#include "transform/edit.h"

static bool is_kept(const TilePlanner *p, int view) {
    int buffer = p->v->at[view].buffer;
    const Place *place = &p->t->buffers.at[buffer].place;
    if (place->n && place->unit[0].name == p->unit->name) return true; // it lies there already
    return p->state->here && buffer < p->state->nhere && p->state->here[buffer];
}

// --- Costs ---------------------------------------------------------------------------------------

static int64_t trips(const TilePlanner *p, int i) { return p->b->index[i].extent / p->now.size[i]; }

// The largest group of compute units of one kind inside the unit that runs the block, or on the
// whole machine: their number, and one of them.
static double units_of(const TilePlanner *p, const ComputeUnit **like) {
    const Hardware *h = p->r->h;
    double most = 1;
    for (int i = 0; i < h->compute.n; i++) {
        int around = p->place.compute;
        double n = (double)(around < 0 ? hardware_units(h, i) : hardware_inside(h, i, around));
        if (n < most) continue;
        most = n;
        *like = &h->compute.at[i];
    }
    return most;
}

// The bytes per cycle at which operands arrive from the memory of the compute units; 0: no limit.
static double operand_rate(const TilePlanner *p) {
    const Hardware *h = p->r->h;
    const ComputeUnit *like = NULL;
    units_of(p, &like);
    return like && like->in >= 0 ? h->memory.at[like->in].bandwidth : p->unit->bandwidth;
}

// A match of a stencil's indices with the indices of the tile.
typedef struct StencilFit {
    const Stencil *s;
    int in[2];           // the views that are its inputs
    int of[MAX_INDICES]; // per index of the tile: the index of the stencil, or -1
} StencilFit;

static int written_view(const TilePlanner *p) {
    for (int i = 0; i < p->v->n; i++)
        if (p->v->at[i].written) return i;
    return 0;
}

// The cycles of all stencil operations of a tile: each computes its whole size and moves its
// operands.
static double fit_cycles(const TilePlanner *p, const StencilFit *f) {
    double starts = 1, work = 1, operand[3] = {1, 1, 2}; // results are both read and written
    int view[3] = {f->in[0], f->in[1], written_view(p)};
    for (int i = 0; i < p->b->nindex; i++) {
        int64_t size = p->now.size[i], one = 1;
        if (f->of[i] >= 0) one = f->s->index[f->of[i]].size;
        if (one < 0) one = size;
        starts *= (double)ceil_div(size, one);
        work *= (double)one;
        for (int k = 0; k < 3; k++)
            if (p->uses[view[k]][i]) operand[k] *= (double)one;
    }
    double bytes = 0, cycles = (work + (double)f->s->startup) / f->s->rate;
    for (int k = 0; k < 3; k++)
        bytes += operand[k] * type_info[p->t->buffers.at[p->v->at[view[k]].buffer].type].bytes;
    if (p->operands > 0) cycles = fmax(cycles, bytes / p->operands);
    return starts * cycles;
}

// The best match of the stencil's indices from number `k` on. Each is matched with an index of the
// tile that runs through the same operands.
static double fit_indices(const TilePlanner *p, StencilFit *f, int k) {
    double least = INFINITY;
    if (k == f->s->nindex) return fit_cycles(p, f);
    const StencilIndex *x = &f->s->index[k];
    for (int i = 0; i < p->b->nindex; i++) {
        bool fits = f->of[i] < 0 && p->output[i] == (x->out.at[0] != STRIDE_NONE);
        for (int a = 0; fits && a < 2; a++)
            fits = p->uses[f->in[a]][i] == (x->in_.at[a] != STRIDE_NONE);
        if (!fits) continue;
        f->of[i] = k;
        least = fmin(least, fit_indices(p, f, k + 1));
        f->of[i] = -1;
    }
    return least;
}

// Does the node contain a start of a stencil?
static bool has_start(const Node *node) {
    const Block *b = as_block(node);
    bool found = b && has_tag(b, "stencil");
    for (int i = 0; b && !found && i < b->nchildren; i++) found = has_start(b->child[i]);
    return found;
}

// The cycles of a tile of several statements on all units, if every statement runs as fast as the
// fastest stencil, or, if none of them is in a stencil, as a scalar operation.
static double nest_cycles(const TilePlanner *p, double units, double rate) {
    const Hardware *h = p->r->h;
    double work = p->v->ops;
    for (int i = 0; i < p->b->nindex; i++) work *= (double)p->now.size[i];
    for (int i = 0; i < h->stencil.n && has_start(&p->b->node); i++)
        rate = fmax(rate, h->stencil.at[i].rate);
    return work / fmax(rate, 1e-6) / units;
}

// The cycles of a tile on all units.
static double compute_cycles(const TilePlanner *p) {
    const Hardware *h = p->r->h;
    const ComputeUnit *like = NULL;
    double units = units_of(p, &like), rate = like ? like->rate : 1, work = 1, least = INFINITY;
    if (p->b->nchildren != 1 || !as_leaf(p->b->child[0])) return nest_cycles(p, units, rate);
    StencilFit f = {0};
    int n = 0;
    for (int i = 0; i < p->v->n; i++)
        if (!p->v->at[i].written && n++ < 2) f.in[n - 1] = i;
    for (int i = 0; i < MAX_INDICES; i++) f.of[i] = -1;
    for (int i = 0; n == 2 && i < 2 * h->stencil.n; i++) { // try inputs in both orders
        f.s = &h->stencil.at[i / 2];
        Type type = p->t->buffers.at[p->v->at[f.in[0]].buffer].type;
        if (f.s->type != TYPE_NONE && (Type)f.s->type != type) continue;
        if (!f.s->nindex || f.s->index[0].in_.n != 2 || f.s->rate <= 0) continue;
        least = fmin(least, fit_indices(p, &f, 0));
        int swap = f.in[0];
        f.in[0] = f.in[1];
        f.in[1] = swap;
    }
    for (int i = 0; i < p->b->nindex; i++) work *= (double)p->now.size[i];
    if (least == INFINITY) least = 2 * work / fmax(rate, 1e-6);
    return least / units;
}

// Inputs are loaded in advance. Results have two copies: one is stored while the other is computed.
static int64_t copies_of(const TilePlanner *p, const TilePlan *plan, int view) {
    if (plan->level[view] < 0) return 1;
    if (!p->v->at[view].written) return p->stages;
    return plan->single ? 1 : min_i64(p->stages, 2);
}

// Computes the costs of a plan from its sizes and loop order; false: it does not fit the unit.
static bool price_moves(TilePlanner *p) {
    TilePlan *now = &p->now;
    double first = 0, last = 0;
    now->stores = 0;
    now->move = 0;
    now->bytes = 0;
    for (int i = 0; i < p->v->n; i++) {
        double times = 1;
        now->level[i] = -1;
        if (is_kept(p, i)) continue;
        for (int k = 0; k < now->nloops; k++)
            if (p->uses[i][now->loop[k]]) now->level[i] = k;
        for (int k = 0; k <= now->level[i]; k++) times *= (double)trips(p, now->loop[k]);
        now->bytes += p->bytes[i] * copies_of(p, now, i);
        double one = (double)p->bytes[i] / p->engine->bandwidth + (double)p->engine->latency;
        one *= p->slower;
        now->move += one * times;
        *(p->v->at[i].written ? &last : &first) += one;
        if (p->v->at[i].written) now->stores += one * (times - 1);
    }
    now->ends = first + last;
    return now->bytes <= p->room;
}

static void consider(TilePlanner *p, double tile_cycles) {
    TilePlan *now = &p->now;
    double tiles = 1;
    if (!price_moves(p)) return;
    for (int k = 0; k < now->nloops; k++) tiles *= (double)trips(p, now->loop[k]);
    now->compute = tile_cycles * tiles;
    double waits = now->single ? now->stores : 0;
    now->cost = fmax(now->move + tile_cycles, now->compute + now->ends + waits);
    p->tried++;
    if (p->found && now->cost >= p->best.cost) return;
    p->best = *now;
    p->found = true;
}

// --- The search ----------------------------------------------------------------------------------

// Tries every order of the output loops from number `at` on; reduction loops stay innermost.
static void try_orders(TilePlanner *p, int at, int noutputs, double tile_cycles) {
    if (at >= noutputs) {
        p->now.single = false;
        consider(p, tile_cycles);
        p->now.single = p->stages > 1;
        if (p->now.single) consider(p, tile_cycles);
        return;
    }
    for (int k = at; k < noutputs; k++) {
        int swap = p->now.loop[at];
        p->now.loop[at] = p->now.loop[k];
        p->now.loop[k] = swap;
        try_orders(p, at + 1, noutputs, tile_cycles);
        p->now.loop[k] = p->now.loop[at];
        p->now.loop[at] = swap;
    }
}

static void try_tile(TilePlanner *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->v->n; i++) {
        p->bytes[i] = tile_bytes(p->v, &p->v->at[i], p->now.size);
        p->bytes[i] = ceil_div(p->bytes[i], p->unit->align) * p->unit->align;
        if (is_kept(p, i)) p->bytes[i] = 0;
        sum += p->bytes[i];
    }
    if (sum > p->room) return;
    int n = 0, noutputs;
    for (int i = 0; i < p->b->nindex; i++)
        if (p->output[i] && trips(p, i) > 1 && n < MAX_LOOPS) p->now.loop[n++] = i;
    noutputs = n;
    for (int i = 0; i < p->b->nindex; i++)
        if (!p->output[i] && trips(p, i) > 1 && n < MAX_LOOPS) p->now.loop[n++] = i;
    p->now.nloops = n;
    int divided = 0;
    for (int i = 0; i < p->b->nindex; i++) divided += trips(p, i) > 1;
    if (divided == n) try_orders(p, 0, noutputs, compute_cycles(p));
}

// Tries every size of the indices from `i` on: the divisors of the range, larger ones first. Short
// reductions stay whole.
static void try_sizes(TilePlanner *p, int i) {
    if (i == p->b->nindex) {
        try_tile(p);
        return;
    }
    int64_t extent = p->b->index[i].extent;
    bool whole = !p->output[i] && extent <= SMALL;
    int n = 0;
    for (int64_t parts = 1; parts <= extent && n < MAX_SIZES; parts++) {
        if (extent % parts || (whole && parts > 1)) continue;
        p->now.size[i] = extent / parts;
        try_sizes(p, i + 1);
        n++;
    }
}

// --- Applying the plan ---------------------------------------------------------------------------

// Puts the block inside a block of one iteration, which can allocate buffers that are loaded once.
static const Tree *wrapped(PassRun *r, const Tree *t, int loop, int *outer) {
    TreeEdit e = pass_edit(r);
    EditWork w = work_begin(t, "wrap", &e);
    const Block *b = find_loop(t, loop, NULL, NULL);
    Index one = tree_index(w.t, name_of(w.t->names, "once"), 1);
    const Node *child = &b->node;
    Block like = {.node.ndeps = -1, .kind = KIND_ANY, .nindex = 1, .index = &one, .name = b->name};
    const Node *made = &tree_block(w.t, &like, &child, 1)->node;
    *outer = one.id;
    work_replace(&w, &b->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}

Tags with_number(PassRun *r, const Tree *t, Tags tags, const char *name, int64_t number) {
    const char *text = arena_printf(r->arena, "%lld", (long long)number);
    Tag tag = {name_of(t->names, name), name_of(t->names, text)};
    return tags_and(r->arena, tags, (Tags){1, &tag});
}

// The whole block is one tile: it gets the tags of a tile. `id` receives its first index.
static const Tree *as_one_tile(TilePlanner *p, int *id) {
    Block like = *p->b;
    like.node.tags = tags_and(p->r->arena, like.node.tags, pass_tags(p->r, p->t, "inner"));
    id[0] = p->b->index[0].id;
    TreeEdit e = pass_edit(p->r);
    e.unchecked = true;
    return tree_block_like(p->t, id[0], &like, "schedule", &e);
}

// Makes the loops over tiles in the order of the plan; `id` receives their indices.
static const Tree *tiled(TilePlanner *p, int *id) {
    PassRun *r = p->r;
    if (!p->best.nloops) return as_one_tile(p, id);
    TileHow how = {.size = p->best.size};
    how.outer = pass_tags(r, p->t, "outer");
    how.inner = pass_tags(r, p->t, "inner");
    int outer = p->b->index[0].id;
    TreeEdit e = pass_edit(r);
    bool single = p->best.nloops == p->b->nindex; // each iteration is a tile
    for (int i = 0; i < p->b->nindex; i++) single &= p->best.size[i] == 1;
    const Tree *t = single ? p->t : tree_block_tile(p->t, outer, &how, &outer, NULL, &e);
    if (!t) return NULL;
    const Block *tiles = tree_loop_at(t, outer);
    int at[MAX_INDICES], n = 0;
    for (int i = 0; i < p->b->nindex; i++)
        at[i] = p->best.size[i] < p->b->index[i].extent ? tiles->index[n++].id : -1;
    BlockGroup group[MAX_LOOPS];
    for (int k = 0; k < p->best.nloops; k++) {
        id[k] = at[p->best.loop[k]];
        bool output = p->output[p->best.loop[k]];
        group[k] = (BlockGroup){1, &id[k], output ? KIND_ANY : KIND_SERIAL};
    }
    return tree_block_nest(t, outer, group, p->best.nloops, &e);
}

// Copies one view at its level; false if a transformation refused, which the log records.
static bool copied(TilePlanner *p, const Tree **t, int view, const int *id, int once) {
    PassRun *r = p->r;
    int64_t at = p->offset[view];
    int level = p->best.level[view], buffer = p->v->at[view].buffer;
    CacheHow how = {.buffer = buffer, .place = unit_place(r, *t, p->unit->name)};
    how.mover = unit_place(r, *t, p->engine->name);
    TreeEdit e = pass_edit(r);
    const char *name = (*t)->buffers.at[buffer].name;
    const Tree *now = tree_block_cache(*t, level >= 0 ? id[level] : once, &how, &e);
    if (!now) {
        pass_left(r, p->b, "%s: %s", name, r->refused.items.at[0]->text);
        return false;
    }
    Buffer *all = arena_copy(r->arena, now->buffers.at, (size_t)now->buffers.n * sizeof *all);
    Buffer *made = &all[now->buffers.n - 1];
    int64_t stages = copies_of(p, &p->best, view), bytes = type_info[made->type].bytes;
    for (int d = 0; d < made->rank; d++) bytes *= made->size[d];
    bytes = ceil_div(bytes, p->unit->align) * p->unit->align;
    made->tags = with_number(r, now, made->tags, "offset", at);
    if (stages > 1) made->tags = with_number(r, now, made->tags, "stages", stages);
    e.unchecked = true;
    *t = tree_with_buffers(now, all, &e);
    const char *where = level < 0 ? "once" : p->b->index[p->best.loop[level]].name;
    pass_did(r, p->b, "%s: %lld bytes at %lld, %s%s%s", name, (long long)bytes, (long long)at,
             level < 0 ? "" : "for each ", where,
             stages > 1 ? arena_printf(r->arena, ", %lld copies", (long long)stages) : "");
    return true;
}

static const Tree *apply_plan(TilePlanner *p) {
    PassRun *r = p->r;
    const TilePlan *best = &p->best;
    int id[MAX_LOOPS], once = -1, mark = r->notes.n;
    const Tree *t = tiled(p, id);
    if (t) t = wrapped(r, t, id[0], &once);
    if (!t) {
        pass_refused(r, p->b);
        return p->t;
    }
    int64_t range[MAX_INDICES];
    for (int i = 0; i < p->b->nindex; i++) range[i] = p->b->index[i].extent;
    Text order = {.arena = r->arena};
    text_add(&order, best->nloops ? " by" : " at once");
    for (int k = 0; k < best->nloops; k++)
        text_printf(&order, " %s", p->b->index[best->loop[k]].name);
    pass_did(r, p->b, "%s of %s%s, %.0f cycles: transfers %.0f, compute %.0f; %d plans tried",
             tile_text(r->arena, best->size, p->b->nindex),
             tile_text(r->arena, range, p->b->nindex), text_str(&order), best->cost, best->move,
             best->compute, p->tried);
    for (int i = 0; i < p->v->n; i++) {
        if (is_kept(p, i) || copied(p, &t, i, id, once)) continue;
        PassNote why = vec_last(&r->notes); // apply the whole plan or nothing
        r->notes.n = mark;
        vec_push(r->arena, &r->notes, why);
        return p->t;
    }
    return t;
}

// Why a block cannot be scheduled; NULL if it can.
static const char *prepare(TilePlanner *p) {
    const Block *b = p->b;
    if (b->nindex > MAX_INDICES) return "it has more than 12 indices";
    if (b->kind != KIND_ANY) return "its order is decided";
    if (!p->v->exact) return "an access is not affine";
    if (p->v->n > MAX_VIEWS) return "it uses more than 8 tensors";
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].extent < 1) return "it has no iterations";
        p->output[i] = index_is_output(p->v, i);
    }
    for (int i = 0; i < p->v->n; i++) {
        const TileView *view = &p->v->at[i];
        int rank = p->t->buffers.at[view->buffer].rank;
        if (view->written && view->reads_old) return "it reads what it writes";
        for (int a = 0; a < view->nbox; a++)
            for (int k = 0; k < b->nindex; k++)
                for (int d = 0; d < rank; d++)
                    p->uses[i][k] |= view->access[a].coef[d * b->nindex + k] != 0;
    }
    return NULL;
}

int64_t bytes_in_unit(const PassRun *r, const Buffer *b) {
    int64_t bytes = type_info[b->type].bytes, align = r->h->memory.at[pass_int(r, "unit")].align;
    for (int d = 0; d < b->rank; d++)
        if (!checked_mul(bytes, b->size[d], &bytes)) return INT64_MAX / 4;
    return ceil_div(bytes, align) * align;
}

// --- Room in the unit ----------------------------------------------------------------------------

static bool lies_in_unit(const PassRun *r, const Buffer *b) {
    return b->place.n && b->place.unit[0].name == r->h->memory.at[pass_int(r, "unit")].name;
}

static bool contains(const Node *node, int loop) {
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++)
        if (b->index[i].id == loop) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (contains(b->child[i], loop)) return true;
    return false;
}

// The child of a block that contains the loop; -1: the block itself does.
static int child_with(const Block *b, int loop) {
    for (int i = 0; i < b->nchildren; i++)
        if (contains(b->child[i], loop)) return i;
    return -1;
}

// Adds a buffer that lies in the unit, in as many copies as units allocate it.
static void add_lying(const PassRun *r, const Tree *t, int buffer, int64_t copies, UnitState *out) {
    const Buffer *of = &t->buffers.at[buffer];
    int unit = (int)pass_int(r, "unit");
    int64_t at = tag_number(of->tags, "offset", -1), bytes;
    if (!checked_mul(copies, max_i64(1, tag_number(of->tags, "stages", 1)), &copies) ||
        !checked_mul(buffer_bytes(of, r->h->memory.at[unit].align), copies, &bytes))
        bytes = INT64_MAX / 4;
    bytes = min_i64(bytes, INT64_MAX / 4);
    if (at < 0)
        out->loose = min_i64(out->loose + bytes, INT64_MAX / 4);
    else
        vec_push(r->arena, &out->busy, ((ByteSpan){at, at + bytes}));
}

// May the statement `child` of a block around not overwrite its buffer?
static bool is_needed(const Block *b, int buffer, int child, bool placed) {
    bool before = false, after = false;
    for (int i = 0; i < b->nchildren; i++)
        if (subtree_uses(b->child[i], buffer)) {
            before |= i <= child;
            after |= i >= child;
        }
    return !placed || (before && after);
}

// Adds the allocations of a block that are in use while one of its statements runs.
static void add_around(const PassRun *r, const Tree *t, const Block *b, int child, BlockPlace place,
                       UnitState *out) {
    int64_t sharers = place_sharers(r, place, (int)pass_int(r, "unit"));
    for (int i = 0; i < b->nallocs; i++) {
        const Buffer *of = &t->buffers.at[b->alloc[i]];
        bool placed = tag_number(of->tags, "offset", -1) >= 0;
        if (lies_in_unit(r, of) && is_needed(b, b->alloc[i], child, placed))
            add_lying(r, t, b->alloc[i], sharers, out);
    }
}

UnitState unit_state(const PassRun *r, const Tree *t, int loop) {
    UnitState out = {0};
    BlockPlace place = {-1, 1, 0};
    for (const Block *b = t->root; b;) {
        int child = child_with(b, loop);
        if (child < 0) break;
        place_enter(r, t, b, &place);
        add_around(r, t, b, child, place, &out);
        b = as_block(b->child[child]);
    }
    return out;
}

static void add_inside(const PassRun *r, const Tree *t, const Node *node, BlockPlace place,
                       int64_t units, UnitState *out) {
    const Block *b = as_block(node);
    if (!b) return;
    place_enter(r, t, b, &place);
    for (int i = 0; i < b->nallocs; i++) {
        const Buffer *of = &t->buffers.at[b->alloc[i]];
        int64_t sharers = place_sharers(r, place, (int)pass_int(r, "unit"));
        if (tag_number(of->tags, "offset", -1) < 0) sharers = max_i64(sharers, units);
        if (lies_in_unit(r, of)) add_lying(r, t, b->alloc[i], sharers, out);
    }
    for (int i = 0; i < b->nchildren; i++) add_inside(r, t, b->child[i], place, units, out);
}

UnitState unit_inside(const PassRun *r, const Tree *t, const Node *node, BlockPlace place,
                      int64_t units) {
    UnitState out = {0};
    add_inside(r, t, node, place, units, &out);
    return out;
}

UnitState unit_during(const PassRun *r, const Tree *t, int child) {
    UnitState out = {0};
    BlockPlace place = {-1, 1, child};
    add_around(r, t, t->root, child, place, &out);
    add_inside(r, t, t->root->child[child], place, 1, &out);
    return out;
}

// The number of values of a unit's subscripts.
static int64_t units_named(const Tree *t, const Unit *u, int64_t most) {
    double n = 1;
    for (int i = 0; i < u->n; i++)
        for (int k = 0; u->at[i]->linear && k < u->at[i]->n; k++) {
            int id = u->at[i]->term[k].atom->index;
            const Block *b = tree_loop_at(t, id);
            for (int x = 0; b && x < b->nindex; x++)
                if (b->index[x].id == id) n *= (double)max_i64(b->index[x].extent, 1);
        }
    return n < (double)most ? (int64_t)n : most;
}

void place_enter(const PassRun *r, const Tree *t, const Block *b, BlockPlace *place) {
    for (int i = 0; i < b->place.n; i++) {
        int unit = hardware_compute(r->h, b->place.unit[i].name);
        if (unit < 0) continue;
        int64_t most = hardware_units(r->h, unit), n = units_named(t, &b->place.unit[i], most);
        bool all = place->compute < 0 || n >= most / place->sharers;
        place->sharers = all ? n : place->sharers * n;
        place->compute = unit;
    }
}

BlockPlace block_place(const PassRun *r, const Tree *t, int loop) {
    BlockPlace out = {-1, 1, child_with(t->root, loop)};
    for (const Block *b = t->root; b;) {
        place_enter(r, t, b, &out);
        int child = child_with(b, loop);
        b = child < 0 ? NULL : as_block(b->child[child]);
    }
    return out;
}

int64_t place_sharers(const PassRun *r, BlockPlace place, int memory) {
    int owner = hardware_owner(r->h, memory);
    int64_t inside = place.compute < 0 ? 0 : hardware_inside(r->h, place.compute, owner);
    return inside ? min_i64(place.sharers, inside) : place.sharers;
}

int64_t free_in_unit(const PassRun *r, const Tree *t, int loop) {
    int unit = (int)pass_int(r, "unit");
    UnitState state = unit_state(r, t, loop);
    int64_t all = r->h->memory.at[unit].size;
    if (!all || !checked_mul(all, r->h->memory.at[unit].banks, &all)) return INT64_MAX / 4;
    all -= state.loose;
    for (int i = 0; i < state.busy.n; i++) all -= state.busy.at[i].to - state.busy.at[i].from;
    return max_i64(all, 0) / place_sharers(r, block_place(r, t, loop), unit);
}

// The units that use the engine at the same time.
static double engine_sharers(const TilePlanner *p) {
    int64_t engines = p->engine->of < 0 ? 1 : hardware_units(p->r->h, (int)p->engine->of);
    return (double)max_i64(1, p->place.sharers / engines);
}

// Assigns offsets to the copies of the plan, the largest first if they must fit between others;
// false: the gaps are too small. The copies of all units that share the unit lie together.
static bool place_views(TilePlanner *p, int64_t limit) {
    VEC(ByteSpan) busy = {0};
    int64_t size[MAX_VIEWS];
    for (int i = 0; i < p->lying.busy.n; i++) vec_push(p->r->arena, &busy, p->lying.busy.at[i]);
    for (int i = 0; i < p->v->n; i++) {
        size[i] = tile_bytes(p->v, &p->v->at[i], p->best.size);
        size[i] = ceil_div(size[i], p->unit->align) * p->unit->align;
        size[i] = is_kept(p, i) ? -1 : size[i] * copies_of(p, &p->best, i) * p->sharers;
        p->offset[i] = -1;
    }
    for (int n = 0; n < p->v->n; n++) {
        int next = -1;
        for (int i = 0; i < p->v->n; i++)
            if (size[i] >= 0 && p->offset[i] < 0 &&
                (next < 0 || (p->lying.busy.n && size[i] > size[next])))
                next = i;
        if (next < 0) return true;
        p->offset[next] = best_gap(busy.at, busy.n, size[next], p->unit->align, limit);
        if (p->offset[next] < 0) return false;
        ByteSpan taken = {p->offset[next], p->offset[next] + size[next]};
        vec_push(p->r->arena, &busy, taken);
    }
    return true;
}

// The largest number of bytes that lie together.
static int64_t largest_gap(const TilePlanner *p, int64_t limit) {
    int64_t most = 0;
    for (int k = -1; k < p->lying.busy.n; k++) {
        int64_t from = k < 0 ? 0 : p->lying.busy.at[k].to, to = limit;
        from = ceil_div(from, p->unit->align) * p->unit->align;
        for (int i = 0; i < p->lying.busy.n; i++)
            if (p->lying.busy.at[i].to > from) to = min_i64(to, p->lying.busy.at[i].from);
        most = max_i64(most, to - from);
    }
    return most;
}

// The bytes of one copy of the unit that the block may use, apart from `busy`.
static int64_t find_room(TilePlanner *p) {
    const ComputeUnit *like = NULL; // each unit has its own buffers inside
    int64_t room;
    p->lying = unit_inside(p->r, p->t, &p->b->node, p->place, (int64_t)units_of(p, &like));
    for (int i = 0; i < p->state->busy.n; i++)
        vec_push(p->r->arena, &p->lying.busy, p->state->busy.at[i]);
    p->lying.loose += p->state->loose;
    if (!p->unit->size || !checked_mul(p->unit->size, p->unit->banks, &room)) room = INT64_MAX / 4;
    return room - p->lying.loose;
}

static void search(TilePlanner *p) {
    int64_t stages = p->stages;
    try_sizes(p, 0);
    for (; !p->found && p->stages > 2; try_sizes(p, 0)) p->stages--;
    if (!p->found) p->stages = stages;
}

// If each compute unit has its own copy of the memory unit, a block must run on one of them.
static const char *reach_unit(const TilePlanner *p) {
    const Hardware *h = p->r->h;
    int owner = hardware_owner(h, (int)pass_int(p->r, "unit"));
    bool one = owner < 0 || hardware_units(h, owner) <= 1;
    if (one || (p->place.compute >= 0 && hardware_inside(h, p->place.compute, owner))) return NULL;
    return arena_printf(p->r->arena, "it runs on no %s, each of which has its own %s",
                        h->compute.at[owner].name, p->unit->name);
}

TilePlanner *plan_block(PassRun *r, const Tree *t, int loop, const UnitState *state,
                        const char **why) {
    TilePlanner *p = arena_new(r->arena, TilePlanner);
    *p = (TilePlanner){.r = r, .t = t, .b = tree_loop_at(t, loop), .state = state};
    p->unit = &r->h->memory.at[pass_int(r, "unit")];
    p->engine = &r->h->transfer.at[pass_int(r, "move")];
    p->place = block_place(r, t, loop);
    TileViews *views = tile_views(r->arena, t, p->b);
    views->beyond = true;
    p->v = views;
    p->stages = pass_int(r, "stages");
    p->operands = operand_rate(p);
    p->slower = engine_sharers(p);
    p->sharers = place_sharers(r, p->place, (int)pass_int(r, "unit"));
    int64_t limit = find_room(p);
    p->room = limit;
    for (int i = 0; i < p->lying.busy.n; i++)
        p->room -= p->lying.busy.at[i].to - p->lying.busy.at[i].from;
    p->room = max_i64(p->room, 0) / p->sharers;
    *why = reach_unit(p);
    if (!*why) *why = prepare(p);
    if (*why) return p;
    search(p);
    if (p->found && !place_views(p, limit)) { // the free bytes do not lie together
        p->found = false;
        p->room = largest_gap(p, limit) / p->sharers;
        search(p);
        p->found = p->found && place_views(p, limit);
    }
    if (!p->found) *why = "no tiles fit";
    return p;
}

const Tree *pass_schedule(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    int unit = (int)pass_int(r, "unit"), move = (int)pass_int(r, "move");
    const Transfer *engine = move >= 0 ? &r->h->transfer.at[move] : NULL;
    if (unit < 0 || !engine) {
        pass_left(r, NULL, "it needs unit=MEMORY and move=ENGINE");
        return t;
    }
    if (engine->to != unit && engine->from != unit) {
        pass_left(r, NULL, "%s does not reach %s", engine->name, r->h->memory.at[unit].name);
        return t;
    }
    if (pass_int(r, "keep")) t = keep_tensors(r, t, list);
    for (int i = 0; i < list.n; i++) {
        const char *why;
        UnitState state = unit_state(r, t, list.at[i]);
        TilePlanner *p = plan_block(r, t, list.at[i], &state, &why);
        if (why)
            pass_left(r, p->b, "%s", why);
        else
            t = apply_plan(p);
    }
    return t;
}
