// Reductions: the order of the loops around the tile, and packing.
//
// The loops that the vector operand depends on come first, so that a panel of it stays in a cache
// while rows of the other operand are loaded, or the other way round, whichever loads less. Several
// panels are packed together if their number divides the result. A large operand that is read a few
// times only is not packed: parts of the reduction are outermost instead.
#include "choose/choose_tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

// --- Around the tile -----------------------------------------------------------------------------

static int64_t step_of(const ChooseStmt *n, const ChooseTile *t, int i) {
    if (i == t->v && t->collapse >= 0) return n->extent[i];
    if (i == t->v) return t->horizontal ? 1 : (int64_t)t->vectors * n->lanes;
    if (i == t->collapse) return t->collapsed;
    if (i == t->group) return t->groups;
    if (i == t->row[0]) return t->rows[0];
    return i == t->row[1] ? t->rows[1] : 1;
}

// The panel operand: the largest one in lanes, which is packed or could be.
static int panel_operand(const ChooseStmt *n, const ChooseTile *t) {
    int best = 0;
    double most = 0;
    if (t->pack) return t->pack;
    for (int r = 1; r < n->nrefs; r++) {
        if (n->ref[r].uses[t->v] && n->ref[r].size > most) best = r, most = n->ref[r].size;
    }
    return best;
}

// The loops around the tile. Bytes and reads count one iteration of the loops that all operands
// depend on.
typedef struct Blocks {
    const ChooseStmt *n;
    const ChooseTile *t;
    int panel;                 // the panel operand; 0: none
    double panel_bytes, bytes; // of one panel; of the whole operand
    double rest_bytes, reuse;  // bytes of the other operands; reads of a panel
    bool rows_first;           // loops over rows are outside loops over panels
    bool through;              // the panel operand is read once, in the order of memory
    bool streamed;             // parts of the reduction are outside all other loops
    int64_t width;             // values of v inside these parts; 0: all
    int64_t group;             // values of v in panels that are packed together; 0: one panel
    bool straight;             // panels are read in place, and prefetched
    bool fetched;              // panels are read in place, and prefetched by rows
    double near;               // bytes of a panel's part that stays in L1; 0: any
    int nred, red[PROGRAM_MAX_ITERS]; // reductions, outermost first
    int64_t step[PROGRAM_MAX_ITERS];  // of a reduction's loop outside the rows; 0: none
    Name name[PROGRAM_MAX_ITERS];     // of iterators in the packed copy; NULL: it has none
    int64_t cut;                      // step of the loop that prefetches rows of a tile; 0: none
} Blocks;

// 0: all operands depend on iterator i; 1: the panel operand does; 2: it does not.
static int depth_of(const Blocks *b, int i) {
    const ChooseStmt *n = b->n;
    if (b->through) return 1;
    if (!n->ref[b->panel].uses[i]) return 2;
    return !shares(n, i) && i != b->t->v ? 0 : 1;
}

// Does a window move over the panel operand while all others stay in L1?
static bool moves_through(const Chooser *c, const Blocks *b) {
    const ChooseStmt *n = b->n;
    double others = 0;
    if (b->t->horizontal || b->t->pack || streamed_operand(c, n) != b->panel) return false;
    for (int r = 1; r < n->nrefs; r++)
        if (r != b->panel) others += n->ref[r].size;
    return others <= room_in(c, 1);
}

// Is the panel operand a large one that is read once, by a reduction in lanes or through a window?
// Then loops follow its order in memory, even if all other operands depend on one of them.
static bool reads_through(const Chooser *c, const Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseRef *x = &n->ref[b->panel];
    if (moves_through(c, b)) return true;
    if (!b->t->horizontal || b->t->pack || !x->lone) return false;
    for (int i = 0; i < n->s->niters; i++)
        if (n->extent[i] > 1 && !x->uses[i]) return false;
    return x->size > room_in(c, 2);
}

static void measure(Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseRef *x = &n->ref[b->panel];
    b->panel_bytes = b->bytes = x->bytes;
    b->reuse = 1;
    for (int i = 0; i < n->s->niters; i++) {
        if (!n->s->iter[i].reduction && depth_of(b, i) == 0) continue;
        double whole = (double)n->extent[i],
               tile = (double)min_i64(step_of(n, b->t, i), n->extent[i]);
        if (x->uses[i]) b->bytes *= whole;
        if (x->uses[i]) b->panel_bytes *= n->s->iter[i].reduction ? whole : tile;
        if (!x->uses[i] && !n->s->iter[i].reduction) b->reuse *= ceil(whole / tile);
    }
    b->rest_bytes = 0;
    for (int r = 1; r < n->nrefs; r++) {
        double size = n->ref[r].bytes;
        for (int i = 0; i < n->s->niters; i++)
            if (n->ref[r].uses[i] && (n->s->iter[i].reduction || depth_of(b, i)))
                size *= (double)n->extent[i];
        if (r != b->panel) b->rest_bytes += size;
    }
}

// Is it one of the reductions that loops run around the tile?
static bool is_around(const Blocks *b, int i) {
    return b->n->s->iter[i].reduction && !(b->t->horizontal && i == b->t->v);
}

// The operand that tells the order of reductions: the panel operand. If it does not use all of
// them (a product of three operands), that of the first operand that does and is broadcast: a
// cache line of it holds the values of several iterations of the innermost one.
static const ChooseRef *leading_operand(const Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseRef *panel = &n->ref[b->panel ? b->panel : n->nrefs > 1];
    bool all = true;
    for (int i = 0; i < n->s->niters; i++)
        if (is_around(b, i) && n->extent[i] > 1) all &= panel->uses[i];
    for (int r = 1; r < n->nrefs && !all && b->panel; r++) {
        bool each = !n->ref[r].uses[b->t->v];
        for (int i = 0; i < n->s->niters; i++)
            if (is_around(b, i) && n->extent[i] > 1) each &= n->ref[r].uses[i];
        if (each) return &n->ref[r];
    }
    return panel;
}

// Orders reductions by their strides in the leading operand, largest first. Those that are unrolled
// around the tile come last, and of these the ones whose windows overlap from row to row.
static void order_reductions(Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseRef *x = leading_operand(b);
    for (int i = 0; i < n->s->niters; i++) {
        if (!is_around(b, i)) continue;
        int at = b->nred++;
        for (; at > 0 && llabs(x->stride[b->red[at - 1]]) < llabs(x->stride[i]); at--)
            b->red[at] = b->red[at - 1];
        b->red[at] = i;
    }
    int far = 0, near = 0, last[PROGRAM_MAX_ITERS];
    for (int k = 0; k < b->nred; k++) {
        if (b->t->near >> b->red[k] & 1)
            last[near++] = b->red[k];
        else
            b->red[far++] = b->red[k];
    }
    for (int sliding = 0; sliding < 2; sliding++)
        for (int k = 0; k < near; k++)
            if (tile_slides(n, b->t, last[k]) == sliding) b->red[far++] = last[k];
}

// Values of v in panels that are packed together: the other operand is read less often, and copies
// read and write longer rows. 0: panels are packed one by one.
static int64_t group_of(const Chooser *c, const Blocks *b) {
    const ChooseStmt *n = b->n;
    int v = b->t->v;
    int64_t wide = step_of(n, b->t, v), group = 0;
    int64_t parts = c->o->serial ? 1 : c->cost->parallel_tasks;
    if (b->rows_first || b->nred != 1 || n->ref[b->panel].stride[v] != 1 || b->t->collapse >= 0)
        return 0;
    for (int64_t k = 2; k <= c->cost->group_panels; k++)
        if (n->extent[v] % (k * wide) == 0 && n->extent[v] / (k * wide) >= parts &&
            (double)k * b->panel_bytes <= room_in(c, 2))
            group = k * wide;
    return group;
}

// Reads panels in place that come from beyond L2 and whose rows are whole lines in different sets
// of L1. Prefetching the next panel while one is used costs less than packing, unless a panel is
// read often and several can be packed together.
static void read_straight(const Chooser *c, Blocks *b) {
    const ChooseStmt *n = b->n;
    const MachineCost *k = c->cost;
    const ChooseRef *x = &n->ref[b->panel];
    if (tile_is_near(n, b->t)) b->near = near_bytes(c);
    if (c->o->plain || !b->panel || b->t->horizontal || b->t->pack || b->t->group >= 0) return;
    if (b->rows_first || b->streamed || b->fetched || b->nred != 1 || !x->lone || x->as) return;
    if (x->stride[b->t->v] != 1 || (b->reuse >= k->straight_reads && group_of(c, b))) return;
    int64_t pitch = llabs(x->stride[b->red[0]]) * x->bytes;
    if (pitch == 0 || pitch % c->m->line_bytes || b->bytes <= room_in(c, 2)) return;
    int64_t row = step_of(n, b->t, b->t->v) * x->bytes;
    int64_t sets = min_i64(rows_of_way(k, pitch) * row, k->way_bytes); // in bytes of a way
    double room = near_bytes(c) * (double)sets / k->way_bytes;
    bool fits = b->reuse < k->pack_reads && room >= k->straight_share * b->panel_bytes;
    if (!fits && room < (double)(k->straight_rows * row)) return;
    b->straight = true;
    b->near = room;
}

// The largest divisor of the extent that is a multiple of block_multiple and between half of `most`
// and `most`; 0: there is none.
static int64_t part_below(const MachineCost *k, int64_t extent, int64_t most) {
    int by = k->block_multiple;
    for (int64_t i = most / by * by; i >= most / 2 && i > 0; i -= by)
        if (extent % i == 0) return i;
    return 0;
}

// Cuts a panel that is too large for its cache: each part is used by all rows before the next one.
static void block_reductions(const Chooser *c, Blocks *b) {
    const MachineCost *cost = c->cost;
    double limit = b->near > 0 ? b->near : cost->panel_share * (double)c->m->cache[2];
    if (b->reuse < (b->near > 0 ? cost->block_reads_near : cost->block_reads)) return;
    if (b->rows_first) return;
    for (int k = 0; k < b->nred && b->panel_bytes > limit; k++) {
        int i = b->red[k];
        int64_t extent = b->n->extent[i], parts = (int64_t)ceil(b->panel_bytes / limit);
        if (!b->n->ref[b->panel].uses[i] || extent < 2) continue;
        int64_t step = ceil_div(extent, parts);
        double most = (double)extent * limit / b->panel_bytes;
        int64_t even = b->near > 0 ? part_below(cost, extent, (int64_t)most) : 0;
        int64_t up = ceil_div(step, cost->block_multiple) * cost->block_multiple;
        b->step[i] = even ? even : extent < cost->block_short ? step : up;
        if (b->step[i] >= extent) b->step[i] = 0;
        b->panel_bytes /= (double)min_i64(parts, extent);
    }
}

// The first divisor of the extent from `want` to 3/2 of it; otherwise `want`.
static int64_t part_near(int64_t extent, int64_t want) {
    for (int64_t i = 0; i <= want / 2; i++)
        if (extent % (want + i) == 0) return want + i;
    return want;
}

// Streams a large panel operand that is read a few times: some of its rows at a time, in the order
// of memory, while sums are loaded and stored. Panels would access a new page with each row, which
// is faster only if the processor keeps all translations and rows are prefetched.
static void stream_panel(const Chooser *c, Blocks *b) {
    const ChooseStmt *n = b->n;
    const MachineCost *k = c->cost;
    const ChooseRef *x = &n->ref[b->panel];
    if (!b->panel || b->t->horizontal || b->t->pack || b->rows_first || b->nred != 1) return;
    if (x->as) return;
    if (b->reuse >= k->stream_reads || b->bytes <= room_in(c, 2)) return;
    int i = b->red[0], v = b->t->v;
    int64_t rows = 1, wide = step_of(n, b->t, v);
    for (int r = 0; r < 2; r++)
        if (b->t->row[r] >= 0) rows *= n->extent[b->t->row[r]];
    int64_t want = max_i64(k->stream_steps_row * rows, k->stream_steps_least);
    int64_t step = part_near(n->extent[i], min_i64(want, k->stream_steps_most));
    int64_t pitch = llabs(x->stride[i]) * x->bytes;
    if (x->stride[v] != 1 || pitch < k->far_stride || n->extent[i] < k->stream_passes * step)
        return;
    b->fetched = !c->o->plain && x->lone && (double)pitch > k->page_share * k->page_bytes &&
                 (double)pitch * (double)n->extent[i] <= (double)k->known_pages * k->page_bytes;
    if (b->fetched) return;
    b->streamed = true;
    b->step[i] = step;
    b->width = ceil_div(k->stream_width, wide) * wide;
    if (b->width >= n->extent[v] || (c->o->serial && n->extent[v] % b->width)) b->width = 0;
}

// Would the panel fit into L1 if its rows did not map to few of the sets?
static bool is_crowded(const Chooser *c, const Blocks *b, int64_t pitch) {
    double row = (double)(b->t->vectors * b->n->lanes * b->n->ref[b->panel].bytes);
    const MachineCost *k = c->cost;
    double room = (double)(c->m->cache[1] / k->way_bytes * rows_of_way(k, pitch)) * row;
    return b->panel_bytes <= room_in(c, 1) && k->crowd_factor * room < b->panel_bytes;
}

static bool wants_pack(const Chooser *c, const Blocks *b) {
    const MachineCost *cost = c->cost;
    const ChooseRef *x = &b->n->ref[b->panel];
    bool crooked = false;          // rows do not begin at cache lines
    int64_t least = INT64_MAX / 8; // bytes from one row to the next
    if (c->o->plain || b->streamed || b->straight || b->fetched || !b->panel ||
        !can_pack(x, b->t->v))
        return false;
    if (b->t->horizontal) return b->t->pack;
    if (b->t->collapse >= 0) return true;
    if (!x->lone) return false;
    if (b->t->group >= 0) return false;
    if (b->t->pack || x->as) return true;
    if (x->twin) return false;
    if (b->reuse < cost->pack_reads || x->stride[b->t->v] != 1) return false;
    for (int k = 0; k < b->nred; k++) {
        int64_t stride = llabs(x->stride[b->red[k]]) * x->bytes;
        crooked |= stride % c->m->line_bytes != 0;
        if (stride && b->n->extent[b->red[k]] > 1) least = min_i64(least, stride);
    }
    if (crooked && b->bytes > (double)c->m->cache[1]) return true;
    if (b->nred == 1 && b->reuse >= cost->crowd_reads && is_crowded(c, b, least)) return true;
    double all = (double)tensor_elements(&c->p->tensors.at[x->access->tensor]) * x->bytes;
    double far = least >= cost->page_bytes ? all : least >= cost->far_stride ? b->bytes : 0;
    return far >= room_in(c, 2);
}

// --- Packing -------------------------------------------------------------------------------------

// Iterators along which an operand is contiguous, innermost first, up to about a vector: columns of
// a block that is transposed in registers.
static int neighbours(const ChooseStmt *n, const ChooseRef *x, int v, int *chain) {
    int64_t length = 1;
    int count = 0;
    for (bool more = true; more && length < n->lanes;) {
        more = false;
        for (int i = 0; i < n->s->niters && !more; i++) {
            if (i == v || n->extent[i] < 2 || x->stride[i] != length || x->hard[i]) continue;
            if (count && length * n->extent[i] > n->cost->copy_columns * n->lanes) continue;
            chain[count++] = i;
            length *= n->extent[i];
            more = true;
        }
    }
    return count;
}

// Does the copy that is made inside loop `at` (NULL: outside all) have several panels?
static bool has_panels(const ChooseStmt *n, const Blocks *b, const SchedLoop *at) {
    int64_t wide = step_of(n, b->t, b->t->v);
    if (b->t->horizontal) return false;
    for (const SchedLoop *l = n->out.loop; at && l <= at; l++)
        if (l->iter == n->s->iter[b->t->v].name && l->step <= wide) return false;
    return wide < n->extent[b->t->v];
}

// The section of the copy: along the lanes, or in blocks that are transposed in registers.
static void order_copy(const ChooseStmt *n, const Blocks *b, const SchedLoop *at, SchedStmt *s,
                       SchedLoop *loop) {
    const ChooseRef *x = &n->ref[b->panel];
    int v = b->t->v, collapse = b->t->collapse, count = 0, chain[PROGRAM_MAX_ITERS];
    int columns = x->stride[v] != 1 && !n->word && collapse < 0 ? neighbours(n, x, v, chain) : 0;
    bool cut = columns == 1 && n->extent[chain[0]] > n->cost->copy_columns * n->lanes;
    SchedLoop panels = {.iter = b->name[v], .step = step_of(n, b->t, v)};
    bool whole = panels.step * x->bytes >= n->cost->copy_row; // one panel after the other
    bool several = has_panels(n, b, at) && !x->twin;
    if (several && whole) loop[count++] = panels;
    for (int k = -n->s->niters; k < b->nred; k++) { // results, then reductions as in the layout
        int i = k < 0 ? k + n->s->niters : b->red[k];
        bool inside = false;
        for (int j = 0; j < columns; j++) inside |= chain[j] == i;
        if (i == v || i == collapse || !b->name[i] || (k < 0 && n->s->iter[i].reduction) ||
            (inside && !cut))
            continue;
        loop[count++] = (SchedLoop){.iter = b->name[i], .step = inside ? n->lanes : 1};
        if (i == n->pair) loop[count - 1].step = n->word;
    }
    if (several && !whole) loop[count++] = panels;
    if (columns || n->word) loop[count++] = (SchedLoop){.iter = b->name[v], .step = n->lanes};
    if (n->word) loop[count++] = (SchedLoop){.iter = b->name[n->pair], .step = 1};
    for (int k = columns - 1; k >= 0; k--)
        loop[count++] = (SchedLoop){.iter = b->name[chain[k]], .step = 1};
    if (collapse >= 0) loop[count++] = (SchedLoop){.iter = b->name[collapse], .step = 1};
    loop[count++] = (SchedLoop){.iter = b->name[v], .step = 1, .kind = KIND_VECTOR};
    for (int k = 0; k < count; k++) require(loop[k].iter);
    s->nloops = count;
    s->loop = loop;
}

// Names the iterators of the copy; parts of an iterator keep their own names.
static void name_copy(const Chooser *c, Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseRef *x = &n->ref[b->panel];
    Name name[PROGRAM_MAX_RANK];
    copy_dims(c, n, b->panel, name);
    for (int d = 0; d < x->access->rank; d++) {
        const Affine *sub = x->access->sub[d];
        int i = x->lone ? affine_as_iter(sub) : subscript_iter(n, sub);
        for (int k = 0; k < n->s->niters && i < 0; k++)
            if (affine_uses_iter(sub, k)) b->name[k] = n->s->iter[k].name;
        if (i >= 0) b->name[i] = name[d];
    }
}

// Copies the panel operand inside loop `at` (NULL: outside all).
static bool pack(const Chooser *c, ChooseStmt *n, Blocks *b, const SchedLoop *at) {
    SchedStmt *section;
    SchedCopy *copy = nest_copy(c, n, b->panel, &section);
    if (!copy) return false;
    name_copy(c, b);
    LayoutDim *dim = arena_new_n(c->arena, LayoutDim, 2 * PROGRAM_MAX_ITERS);
    int count = 0, v = b->t->v, collapse = b->t->collapse;
    int64_t width = (int64_t)b->t->vectors * n->lanes;
    for (int i = 0; i < n->s->niters; i++)
        if (b->name[i] && i != v && i != collapse && !n->s->iter[i].reduction)
            dim[count++] = (LayoutDim){.dim = b->name[i], .block = 1};
    if (width < n->extent[v] && !b->t->horizontal && !n->ref[b->panel].twin)
        dim[count++] = (LayoutDim){.dim = b->name[v], .block = width};
    for (int k = 0; k < b->nred; k++)
        if (b->name[b->red[k]])
            dim[count++] =
                (LayoutDim){.dim = b->name[b->red[k]], .block = b->red[k] == n->pair ? n->word : 1};
    if (collapse >= 0) dim[count++] = (LayoutDim){.dim = b->name[collapse], .block = 1};
    dim[count++] = (LayoutDim){.dim = b->name[v], .block = 1};
    if (n->word) dim[count++] = (LayoutDim){.dim = b->name[n->pair], .block = 1};
    copy->storage = (Storage){.ndims = count, .dim = dim, .align = LIMIT_ALIGN};
    if (at) copy->at = (LoopRef){.iter = at->iter, .step = at->step};
    order_copy(n, b, at, section, arena_new_n(c->arena, SchedLoop, MAX_LOOPS));
    return true;
}

// --- Temporaries ---------------------------------------------------------------------------------

// May the temporary be computed in parts, inside a loop of this statement? It may if only this
// statement reads it, and if it is computed from arguments element by element.
static bool is_movable(const Chooser *c, const ChooseStmt *n, int tensor) {
    if (c->p->tensors.at[tensor].role != ROLE_TEMP) return false;
    for (int k = 0; k < c->p->stmts.n; k++) {
        const ChooseStmt *other = &c->nest[k];
        bool writes = other->s->write->tensor == tensor;
        if (!other->known || (writes && (other > n || other->reduces || other->place.after >= 0)))
            return false;
        for (int r = 1; r < other->nrefs && other != n; r++) {
            int from = other->ref[r].access->tensor;
            if (from == tensor || (writes && c->p->tensors.at[from].role != ROLE_INPUT))
                return false;
        }
    }
    return true;
}

// Cycles to write a temporary and to load it again: at once, with all operands in between; or in
// parts, one in each iteration of a loop, which costs some cycles to start.
static double whole_cycles(const Chooser *c, const ChooseStmt *n, double bytes) {
    double between = bytes;
    for (int r = 1; r < n->nrefs; r++) between += n->ref[r].size;
    return chooser_traffic(c, c->cost->temp_passes * bytes, between);
}

static double part_cycles(const Chooser *c, const ChooseStmt *n, double bytes,
                          const SchedLoop *at) {
    double trips = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].name == at->iter) trips = ceil((double)n->extent[i] / (double)at->step);
    return chooser_traffic(c, c->cost->temp_passes * bytes, bytes / trips) +
           c->cost->inside_begin * trips;
}

// Computes temporaries that are strided along the outermost loop inside that loop, if that costs
// less than loading them again: the part of an iteration is contiguous and in a cache.
static void compute_inside(Chooser *c, ChooseStmt *n, const SchedLoop *at) {
    for (int r = 1; r < n->nrefs; r++) {
        const Access *a = n->ref[r].access;
        const Tensor *t = &c->p->tensors.at[a->tensor];
        bool across = false;
        for (int d = 1; d < a->rank; d++) {
            int i = affine_as_iter(a->sub[d]);
            across |= i >= 0 && n->s->iter[i].name == at->iter;
        }
        double bytes = (double)tensor_elements(t) * n->ref[r].bytes;
        for (int k = 0; k < n->out.head.ncopies; k++) across &= n->out.copy[k].tensor != t->name;
        if (!across || part_cycles(c, n, bytes, at) >= whole_cycles(c, n, bytes) ||
            !is_movable(c, n, a->tensor))
            continue;
        for (ChooseStmt *writer = c->nest; writer < n; writer++)
            if (writer->s->write->tensor == a->tensor)
                writer->out.head.at = (LoopRef){.iter = at->iter, .step = at->step};
        n->out.perfect = (int)min_i64(n->out.perfect, at - n->out.loop + 1);
    }
}

// --- The order -----------------------------------------------------------------------------------

static void outer_loop(ChooseStmt *n, const Blocks *b, int i) {
    int64_t step = step_of(n, b->t, i);
    bool inside = i == b->t->v || i == b->t->collapse || i == b->t->group || i == b->t->row[0] ||
                  i == b->t->row[1];
    if (step < n->extent[i] || !inside) nest_loop(n, i, step, KIND_SERIAL);
}

// The loops over results by their strides in the panel operand, largest first.
static void loops_through(ChooseStmt *n, const Blocks *b) {
    int order[PROGRAM_MAX_ITERS], count = 0;
    const int64_t *stride = n->ref[b->panel].stride;
    for (int i = 0; i < n->s->niters; i++) {
        if (n->s->iter[i].reduction || n->extent[i] <= 1) continue;
        int at = count++;
        for (; at > 0 && llabs(stride[order[at - 1]]) < llabs(stride[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int k = 0; k < count; k++) outer_loop(n, b, order[k]);
}

static void loops_at(ChooseStmt *n, const Blocks *b, int depth) {
    if (b->through && depth == 1) loops_through(n, b);
    for (int i = 0; i < n->s->niters && !b->through; i++)
        if (n->s->iter[i].reduction || n->extent[i] <= 1 || depth_of(b, i) != depth)
            continue;
        else if (i == b->t->v && b->group)
            nest_loop(n, i, b->group, KIND_SERIAL);
        else
            outer_loop(n, b, i);
}

// Loops of one iteration come last, where they do not separate others.
static void idle_loops(ChooseStmt *n) {
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction && n->extent[i] == 1) nest_loop(n, i, 1, KIND_SERIAL);
}

// A long window along the lanes: taps that are a whole vector apart run together, since most of
// them load the same vectors. The number of these; 0: there is no such window.
static int64_t taps_in_one_go(const ChooseStmt *n, const Blocks *b, int i) {
    int64_t taps = n->extent[i] / n->lanes;
    bool slides = false;
    if (b->t->horizontal || n->window >= 0 || b->step[i] || n->extent[i] % n->lanes) return 0;
    if (taps < 2 || taps > n->cost->taps_most || b->t->vectors < 2) return 0;
    for (int r = 1; r < n->nrefs; r++)
        slides |= n->ref[r].stride[i] == 1 && n->ref[r].stride[b->t->v] == 1;
    return slides ? taps : 0;
}

// The length of parts of a reduction: a divisor close to `want`, and at least `least`; 0: none.
static int64_t even_part(const MachineCost *k, int64_t all, int64_t extent, int64_t want,
                         int64_t least) {
    int by = k->cut_multiple;
    int64_t cut = max_i64(want / by * by, least), few = max_i64(want / 2, least);
    while (cut > few && (all % cut || extent % cut)) cut -= by;
    while (cut < all && (all % cut || extent % cut)) cut += by;
    return k->least_blocks * cut <= all ? cut : 0;
}

// Cuts the reduction so that each part prefetches some rows of the tile, if tiles are stored beyond
// L2: as many parts as rows or a few more, so that the last row arrives in time.
static void share_rows(const Chooser *c, Blocks *b) {
    const ChooseStmt *n = b->n;
    const ChooseTile *t = b->t;
    if (c->o->plain || t->horizontal || t->near || b->nred != 1 || t->row[0] < 0 || t->row[1] >= 0)
        return;
    if (!stores_far(c, n) || n->ref[0].stride[t->v] != 1 || n->window >= 0) return;
    int i = b->red[0];
    int64_t all = b->step[i] ? b->step[i] : n->extent[i], want = ceil_div(all, t->rows[0]);
    b->cut = even_part(c->cost, all, n->extent[i], want, c->cost->cut_steps);
    if (!b->cut) b->cut = even_part(c->cost, all, n->extent[i], want, c->cost->cut_steps_short);
}

static void inner_reductions(const Chooser *c, ChooseStmt *n, const Blocks *b) {
    for (int k = 0; k < b->nred; k++) {
        int i = b->red[k];
        int64_t taps =
            k + 1 == b->nred && !c->o->plain && !c->parts.n ? taps_in_one_go(n, b, i) : 0;
        if (taps) nest_loop(n, i, taps, KIND_SERIAL);
        if (taps) n->out.loop[n->out.nloops - 1].interleaved = true;
        if (b->cut) nest_loop(n, i, b->cut, KIND_SERIAL);
        if (b->t->blocked >> i & 1) nest_loop(n, i, n->lanes, KIND_SERIAL);
        if (b->step[i] != 1) nest_loop(n, i, 1, KIND_SERIAL);
    }
}

static int iter_of(const ChooseStmt *n, const SchedLoop *l) {
    int i = 0;
    while (i < n->s->niters && n->s->iter[i].name != l->iter) i++;
    return i;
}

// Divides the innermost long loop over results into blocks of rows whose horizontal reductions are
// done together; a few results of each row may stand inside.
static void block_rows(ChooseStmt *n, const ChooseTile *t) {
    int64_t rows = horizontal_rows(n, t), inside = 1;
    for (int at = n->out.nloops - 1; rows && at >= 0 && inside <= n->cost->horizontal_inside;
         at--) {
        SchedLoop *l = &n->out.loop[at];
        int i = iter_of(n, l);
        if (i == n->s->niters || l->step != 1) return;
        if (n->extent[i] >= n->cost->least_blocks * rows) {
            memmove(l + 1, l, (size_t)(n->out.nloops++ - at) * sizeof *l);
            l->step = rows;
            n->out.by_rows = true;
            return;
        }
        inside *= n->extent[i];
    }
}

static void emit(Chooser *c, ChooseStmt *n, Blocks *b) {
    bool packed = wants_pack(c, b);
    bool twin = packed && n->ref[b->panel].twin; // one copy of the whole tensor serves both reads
    if (packed && !twin) b->group = group_of(c, b);
    const SchedLoop *at = NULL;
    int first = b->rows_first ? 2 : 1;
    loops_at(n, b, 0);
    int outer = n->out.nloops;
    if (n->out.nloops) at = &n->out.loop[n->out.nloops - 1];
    if (b->width) nest_loop(n, b->t->v, b->width, KIND_SERIAL);
    if (!b->streamed) loops_at(n, b, first);
    for (int k = 0; k < b->nred; k++)
        if (b->step[b->red[k]]) nest_loop(n, b->red[k], b->step[b->red[k]], KIND_SERIAL);
    if (b->streamed) loops_at(n, b, first);
    if (n->out.nloops && !b->rows_first) at = &n->out.loop[n->out.nloops - 1];
    loops_at(n, b, 3 - first);
    if (b->group) outer_loop(n, b, b->t->v);
    idle_loops(n);
    block_rows(n, b->t);
    share_rows(c, b);
    inner_reductions(c, n, b);
    if (b->t->horizontal && b->t->row[0] >= 0 && !is_straight_sum(n, b->t))
        nest_loop(n, b->t->v, n->lanes, KIND_SERIAL);
    int loops = n->out.nloops;
    if (n->word)
        n->out.loop[n->out.nloops++] = (SchedLoop){.iter = n->s->iter[n->pair].name, .step = 1};
    for (int k = 0; k < 2; k++) {
        // With the reduction in lanes, registers hold the vectors of the fewer rows.
        int row = b->t->row[k ^ b->t->horizontal];
        if (row >= 0) nest_loop(n, row, 1, KIND_SERIAL);
    }
    if (b->t->group >= 0) nest_loop(n, b->t->group, 1, KIND_SERIAL);
    if (b->t->collapse >= 0) nest_loop(n, b->t->collapse, 1, KIND_SERIAL);
    nest_loop(n, b->t->v, 1, KIND_VECTOR);
    if (twin) at = NULL;
    packed = packed && pack(c, n, b, at);
    n->out.perfect = packed && at ? (int)(at - n->out.loop) + 1 : n->out.nloops;
    for (int r = 1; r < n->nrefs; r++)
        if (n->ref[r].as && !(packed && r == b->panel)) convert_operand(c, n, r);
    if (n->window >= 0 && !(n->guarded >> b->t->v & 1) && !c->o->plain)
        n->out.head.unroll_limit = guarded_unroll(n, b->t);
    if (outer && !c->o->plain) compute_inside(c, n, &n->out.loop[outer - 1]);
    bool ahead = b->straight && b->reuse >= 2; // no other prefetch of it
    TileLoops around = {loops, outer, packed ? b->panel : 0, ahead ? b->panel : 0, b->cut > 0};
    if (!c->o->plain) choose_fetches(c, n, &around);
    if (ahead) fetch_panels(c, n, &n->ref[b->panel], loops);
    if (b->fetched) fetch_rows(c, n, &n->ref[b->panel], step_of(n, b->t, b->t->v));
}

// The horizontal reduction of a minimum or maximum takes many operations, because each step looks
// for NaN. Tiles of several rows do those of all rows together. From beyond L2, rows arrive faster
// one after the other.
static void join_order_rows(const Chooser *c, ChooseStmt *n, ChooseTile *t) {
    int64_t vectors = ceil_div(t->length, n->lanes), most = n->cost->order_rows;
    bool order = n->s->op == REDUCE_MIN || n->s->op == REDUCE_MAX;
    if (!order || !t->horizontal || t->pack || t->row[0] >= 0 || n->window >= 0 || n->lanes < 2 ||
        vectors < n->cost->order_shortest || vectors > n->cost->order_longest)
        return;
    double bytes = 0;
    for (int r = 0; r < n->nrefs; r++) bytes += n->ref[r].size;
    int last = -1;
    for (int i = 0; i < n->s->niters && bytes <= (double)c->m->cache[2]; i++) {
        if (i == t->v || n->extent[i] < 2 || t->collapses >> i & 1) continue;
        if (n->s->iter[i].reduction) return;
        last = i;
    }
    if (last < 0 || n->extent[last] < n->cost->least_blocks * 2 || most < 2) return;
    t->row[0] = last;
    t->rows[0] = ceil_div(n->extent[last], ceil_div(n->extent[last], most));
    n->out.order_rows = true;
}

void choose_contraction(Chooser *c, ChooseStmt *n) {
    ChooseTile t;
    const ChooseStmt *before = choose_types(c, n, true);
    bool found = choose_tile(c, n, &t);
    if (before && !(found && words_fit(n, &t))) {
        *n = *before;
        choose_types(c, n, false);
        found = choose_tile(c, n, &t);
    }
    if (!found) return;
    if (!c->o->plain) join_order_rows(c, n, &t);
    Blocks b = {.n = n, .t = &t, .panel = panel_operand(n, &t)};
    n->cycles = t.cost + n->memory;
    n->out.horizontal = t.horizontal;
    if (b.panel) {
        b.through = reads_through(c, &b);
        measure(&b);
        double panels = b.bytes / b.panel_bytes;
        b.rows_first =
            chooser_traffic(c, b.rest_bytes * panels, b.rest_bytes) >
            chooser_traffic(c, b.bytes * b.reuse, b.bytes) + b.bytes / c->cost->pass_rate;
        b.rows_first |= t.horizontal && t.pack; // the copy has all rows, and is small
        b.rows_first &= !b.through;
    }
    order_reductions(&b);
    stream_panel(c, &b);
    read_straight(c, &b);
    if (!b.streamed && !b.fetched) block_reductions(c, &b);
    emit(c, n, &b);
    n->out.by_rows |= n->out.order_rows;
}
