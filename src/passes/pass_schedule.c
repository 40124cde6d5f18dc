// schedule: tiles a block for a limited memory unit, decides what stays there, and double-buffers
// the rest.
//
//     for [m:64, n:64, k:64]: C[m, n] += A[m, k]*B[k, n]
//  -> { B'; load B; for [m:8]: { A'; C'; load A; C' = 0; for [m':8, n:64, k:64]: C' += A'*B'; C += C' } }
//
// Tile sizes, the order of the loops over tiles, and what follows from them are chosen together. A
// buffer is loaded inside the innermost loop over tiles that it depends on, once for each iteration
// of that loop and of those around it; so the loops that it does not depend on reuse it where they
// are further in. Loops of reductions are innermost: partial results stay in the unit. A buffer
// inside a loop has `stages` copies, which iterations take in turn. The cost, in cycles:
//
//     max(transfers + the compute of one tile, compute + the first loads + the last store)
//
// where transfers are bytes / bandwidth and a latency each, and compute is that of the machine's
// stencils on all its units. All buffers with their copies fit the unit; each gets an offset.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "passes/pass_impl.h"
#include "transform/edit.h"

enum { MAX_INDICES = 12, MAX_LOOPS = 5, MAX_VIEWS = 8, MAX_SIZES = 32, SMALL = 16 };

// A choice: tile sizes, and the loops over tiles, outermost first.
typedef struct TilePlan {
    double cost, move, ends, compute; // `ends`: the first loads and the last store
    int64_t bytes; // of the unit
    int64_t size[MAX_INDICES];
    int nloops, loop[MAX_LOOPS]; // indices of the block
    int level[MAX_VIEWS];        // per view the loop that loads it; -1: outside of all
} TilePlan;

typedef struct Planner {
    PassRun *r;
    const Tree *t;
    const Block *b;
    const TileViews *v;
    const MemoryUnit *unit;
    const Transfer *engine;
    int64_t stages, room;
    bool output[MAX_INDICES];
    bool uses[MAX_VIEWS][MAX_INDICES];
    int64_t bytes[MAX_VIEWS]; // of the tile that is looked at
    TilePlan now, best;
    bool found;
    int tried;
} Planner;

// --- Costs ---------------------------------------------------------------------------------------

static int64_t trips(const Planner *p, int i) { return p->b->index[i].extent / p->now.size[i]; }

static double units_of(const Hardware *h, double *rate) {
    double most = 1;
    for (int i = 0; i < h->compute.n; i++) {
        double n = 1;
        for (int u = i; u >= 0; u = (int)h->compute.at[u].of) n *= (double)h->compute.at[u].count;
        if (n < most) continue;
        most = n;
        *rate = h->compute.at[i].rate;
    }
    return most;
}

// The least work of a tile on a stencil: each of its indices takes an index of the tile that runs
// through the same operands.
static double stencil_work(const Planner *p, const Stencil *s, int k, const int *in, bool *taken) {
    double least = INFINITY;
    if (k == s->nindex) {
        double work = 1;
        for (int i = 0; i < p->b->nindex; i++)
            if (!taken[i]) work *= (double)p->now.size[i];
        return work;
    }
    const StencilIndex *x = &s->index[k];
    for (int i = 0; i < p->b->nindex; i++) {
        bool fits = !taken[i] && p->output[i] == (x->out.at[0] != STRIDE_NONE);
        for (int a = 0; fits && a < x->in_.n; a++)
            fits = p->uses[in[a]][i] == (x->in_.at[a] != STRIDE_NONE);
        if (!fits) continue;
        int64_t size = p->now.size[i];
        double spent = (double)(x->size > 0 ? ceil_div(size, x->size) * x->size : size);
        taken[i] = true;
        least = fmin(least, spent * stencil_work(p, s, k + 1, in, taken));
        taken[i] = false;
    }
    return least;
}

// Cycles of a tile on all units.
static double compute_cycles(const Planner *p) {
    const Hardware *h = p->r->h;
    double rate = 1, units = units_of(h, &rate), work = 1, least = INFINITY;
    int in[2] = {-1, -1}, n = 0;
    bool taken[MAX_INDICES] = {false};
    for (int i = 0; i < p->v->n; i++)
        if (!p->v->at[i].written && n < 2) in[n++] = i;
    for (int i = 0; i < h->stencil.n; i++) {
        const Stencil *s = &h->stencil.at[i];
        int swapped[2] = {in[1], in[0]};
        if (!s->nindex || s->index[0].in_.n != n || n != 2) continue;
        least = fmin(least, stencil_work(p, s, 0, in, taken) / s->rate);
        least = fmin(least, stencil_work(p, s, 0, swapped, taken) / s->rate);
    }
    for (int i = 0; i < p->b->nindex; i++) work *= (double)p->now.size[i];
    if (least == INFINITY) least = 2 * work / fmax(rate, 1e-6);
    return least / units;
}

// Fills in what follows from sizes and order; false: it does not fit the unit.
static bool price_moves(Planner *p) {
    TilePlan *now = &p->now;
    double first = 0, last = 0;
    now->move = 0;
    now->bytes = 0;
    for (int i = 0; i < p->v->n; i++) {
        double times = 1;
        now->level[i] = -1;
        for (int k = 0; k < now->nloops; k++)
            if (p->uses[i][now->loop[k]]) now->level[i] = k;
        for (int k = 0; k <= now->level[i]; k++) times *= (double)trips(p, now->loop[k]);
        now->bytes += p->bytes[i] * (now->level[i] >= 0 ? p->stages : 1);
        double one = (double)p->bytes[i] / p->engine->bandwidth + (double)p->engine->latency;
        now->move += one * times;
        *(p->v->at[i].written ? &last : &first) += one;
    }
    now->ends = first + last;
    return now->bytes <= p->room;
}

static void consider(Planner *p, double tile_cycles) {
    TilePlan *now = &p->now;
    double tiles = 1;
    if (!price_moves(p)) return;
    for (int k = 0; k < now->nloops; k++) tiles *= (double)trips(p, now->loop[k]);
    now->compute = tile_cycles * tiles;
    now->cost = fmax(now->move + tile_cycles, now->compute + now->ends);
    p->tried++;
    if (p->found && now->cost >= p->best.cost) return;
    p->best = *now;
    p->found = true;
}

// --- The search ----------------------------------------------------------------------------------

// Every order of the loops over the output from number `at` on; those of reductions stay last.
static void try_orders(Planner *p, int at, int noutputs, double tile_cycles) {
    if (at >= noutputs) {
        consider(p, tile_cycles);
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

static void try_tile(Planner *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->v->n; i++) {
        p->bytes[i] = tile_bytes(p->v, &p->v->at[i], p->now.size);
        p->bytes[i] = ceil_div(p->bytes[i], p->unit->align) * p->unit->align;
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
    if (n && divided == n) try_orders(p, 0, noutputs, compute_cycles(p));
}

// Every size of index `i` on: divisors of its range, the larger ones first. Short reductions stay
// whole.
static void try_sizes(Planner *p, int i) {
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

// --- Applying it ---------------------------------------------------------------------------------

// The block inside one of a single iteration, where buffers can live that are loaded once.
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

static Tags with_number(PassRun *r, const Tree *t, Tags tags, const char *name, int64_t number) {
    Tag *list = arena_new_n(r->arena, Tag, tags.n + 1);
    for (int i = 0; i < tags.n; i++) list[i] = tags.at[i];
    const char *text = arena_printf(r->arena, "%lld", (long long)number);
    list[tags.n] = (Tag){name_of(t->names, name), name_of(t->names, text)};
    return (Tags){tags.n + 1, list};
}

// The loops over tiles as the plan orders them; `id` receives their indices.
static const Tree *tiled(Planner *p, int *id) {
    PassRun *r = p->r;
    TileHow how = {.size = p->best.size};
    how.outer = pass_tags(r, p->t, "outer");
    how.inner = pass_tags(r, p->t, "inner");
    int outer;
    TreeEdit e = pass_edit(r);
    const Tree *t = tree_block_tile(p->t, p->b->index[0].id, &how, &outer, NULL, &e);
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

// Copies one view at its level; false: refused, and the log says so.
static bool copied(Planner *p, const Tree **t, int view, const int *id, int once, int64_t *offset) {
    PassRun *r = p->r;
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
    int64_t stages = level >= 0 ? p->stages : 1, bytes = type_info[made->type].bytes;
    for (int d = 0; d < made->rank; d++) bytes *= made->size[d];
    bytes = ceil_div(bytes, p->unit->align) * p->unit->align;
    made->tags = with_number(r, now, made->tags, "offset", *offset);
    if (stages > 1) made->tags = with_number(r, now, made->tags, "stages", stages);
    e.unchecked = true;
    *t = tree_with_buffers(now, all, &e);
    const char *where = level < 0 ? "once" : p->b->index[p->best.loop[level]].name;
    pass_did(r, p->b, "%s: %lld bytes at %lld, %s%s%s", name, (long long)bytes, (long long)*offset,
             level < 0 ? "" : "for each ", where, stages > 1 ? ", double-buffered" : "");
    *offset += bytes * stages;
    return true;
}

static const Tree *apply_plan(Planner *p) {
    PassRun *r = p->r;
    const TilePlan *best = &p->best;
    int id[MAX_LOOPS], once = -1, mark = r->notes.n;
    int64_t offset = 0;
    const Tree *t = tiled(p, id);
    if (t) t = wrapped(r, t, id[0], &once);
    if (!t) {
        pass_refused(r, p->b);
        return p->t;
    }
    int64_t range[MAX_INDICES];
    for (int i = 0; i < p->b->nindex; i++) range[i] = p->b->index[i].extent;
    Text order = {.arena = r->arena};
    for (int k = 0; k < best->nloops; k++)
        text_printf(&order, "%s%s", k ? " " : "", p->b->index[best->loop[k]].name);
    pass_did(r, p->b, "%s of %s by %s, %.0f cycles: transfers %.0f, compute %.0f; %d plans tried",
             tile_text(r->arena, best->size, p->b->nindex),
             tile_text(r->arena, range, p->b->nindex), text_str(&order), best->cost, best->move,
             best->compute, p->tried);
    for (int i = 0; i < p->v->n; i++) {
        if (copied(p, &t, i, id, once, &offset)) continue;
        PassNote why = vec_last(&r->notes); // all or nothing
        r->notes.n = mark;
        vec_push(r->arena, &r->notes, why);
        return p->t;
    }
    return t;
}

// Why a block cannot be scheduled; NULL: it can.
static const char *prepare(Planner *p) {
    const Block *b = p->b;
    if (b->nindex > MAX_INDICES) return "it has more than 12 indices";
    if (b->kind != KIND_ANY) return "its order is decided";
    if (b->nconstraints) return "it has conditions: pad or separate its boundary first";
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

static const Tree *schedule_one(PassRun *r, const Tree *t, int loop, const MemoryUnit *unit,
                                const Transfer *engine) {
    Planner *p = arena_new(r->arena, Planner);
    *p = (Planner){.r = r, .t = t, .b = tree_loop_at(t, loop), .unit = unit, .engine = engine};
    p->v = tile_views(r->arena, t, p->b);
    p->stages = pass_int(r, "stages");
    if (!unit->size || !checked_mul(unit->size, unit->banks, &p->room)) p->room = INT64_MAX / 4;
    const char *why = prepare(p);
    if (!why) try_sizes(p, 0);
    if (!why && !p->found) why = "no tiles fit";
    if (!why) return apply_plan(p);
    pass_left(r, p->b, "%s", why);
    return t;
}

const Tree *pass_schedule(PassRun *r, const Tree *t) {
    LoopList list = pass_blocks(r, t, "reqs");
    int unit = (int)pass_int(r, "unit");
    const Transfer *engine = NULL;
    for (int i = 0; i < r->h->transfer.n; i++)
        if (strcmp(r->h->transfer.at[i].name, pass_text(r, "move")) == 0)
            engine = &r->h->transfer.at[i];
    if (unit < 0 || !engine) {
        pass_left(r, NULL, "it needs unit=MEMORY and move=ENGINE");
        return t;
    }
    for (int i = 0; i < list.n; i++)
        t = schedule_one(r, t, list.at[i], &r->h->memory.at[unit], engine);
    return t;
}
