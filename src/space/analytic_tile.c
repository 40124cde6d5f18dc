// Contractions: the vector loop, the tile in registers, the order around it, packing.
//
// A statement that combines values, whatever it is (GEMM, einsum, convolution, pooling, row and
// column sums), runs as
//
//     [loops over the result, by tiles] [reductions] [rows of the tile] [vectors of the tile]
//
// and one turn of the innermost machine loop costs the largest of
//
//     arithmetic/ports   loads/ports   instructions/issue   latency/independent sums
//
// where an operand is loaded once per turn for all of the tile that it does not depend on. Tiles
// are enumerated; the ends of the ranges, which run with what is left of a tile, are counted as
// what they are. A reduction may itself run in lanes, which then have to be added up for every
// element. A short reduction that moves a window along the rows (w + s) stands inside all others:
// what neighbours share is then loaded once, as far as there are registers to keep it.
//
// Of the loops around the tile those that the vector operand depends on come first, so that a panel
// of it stays in a cache while rows pass by, or the other way round, whichever streams less. Panels
// that are packed come several at a time where that goes up evenly. A large operand that few rows
// pass by is read as it lies, with parts of the reduction outermost.
#include "space/analytic_impl.h"

#include "base/checked.h"

#include <math.h>
#include <stdlib.h>

#define FAR 1.75 // what a vector from beyond the first cache weighs, in loads

enum {
    LEAST_FOLDED = 8,    // values of a reduction that lanes are worth
    STRAIGHT = 256,      // vector operations that the generator unrolls
    WAY = 4096,          // bytes of a way of the first cache
    GUARDED_UNROLL = 64, // where instances may not exist: tests stand around pieces of this size
};

typedef struct Tile {
    int v;           // the iterator that runs in lanes
    bool folded;     // it is a reduction
    int group;       // the iterator whose rows along v are too short for a vector; -1: none
    int64_t groups;  // so many of them fill one
    int vectors;     // of it in the tile
    int row[2];      // -1: none
    int64_t rows[2]; // how many of it
    int pack;        // this access must be packed first; 0: none
    uint64_t near;   // reductions that are unrolled around the tile, inside all others,
    double turns;    // and so many turns of them
    double cost;     // cycles of the whole statement
} Tile;

// --- The model -----------------------------------------------------------------------------------

static bool is_vector(const Nest *n, int r, int v, int pack) {
    return r == pack || n->ref[r].stride[v] == 1;
}

// How many values of an iterator a part of the tile has, its nearest reductions unrolled.
static int64_t span_of(const Nest *n, const Tile *t, const int64_t *part, int i) {
    if (i == t->v) return part[2];
    if (i == t->row[0] || i == t->row[1]) return part[i == t->row[1]];
    return t->near >> i & 1 ? n->extent[i] : 1;
}

// Elements that an operand has in a part of the tile over all turns: neighbours in a window share.
static double window_of(const Nest *n, const Tile *t, const int64_t *part, const Ref *ref) {
    double all = 1;
    for (int d = 0; d < ref->access->rank; d++) {
        const Affine *sub = ref->access->sub[d];
        double span = 1, product = 1;
        for (int k = 0; k < sub->n; k++) {
            if (sub->term[k].atom->kind != ATOM_ITER) continue;
            double size = (double)span_of(n, t, part, sub->term[k].atom->index);
            span += fabs((double)sub->term[k].coef) * (size - 1);
            product *= size;
        }
        all *= fmin(span, product);
    }
    return all;
}

// Loads that a vector of lanes apart is worth: every second element is shuffled from two vectors, a
// few lanes are inserted one by one, others are gathered.
static double lanes_apart(const Chooser *c, const Nest *n, const Ref *ref, int v) {
    if (ref->stride[v] == 2 && c->m->isa == ISA_AVX512) return 3;
    return n->extent[v] <= n->lanes / 2 ? (double)n->extent[v] : 2 * n->lanes;
}

// Does some operand move along a row of the tile as it does along this reduction?
static bool slides(const Nest *n, const Tile *t, int i) {
    for (int r = 1; r < n->nrefs; r++)
        for (int d = 0; d < n->ref[r].access->rank; d++) {
            const Affine *sub = n->ref[r].access->sub[d];
            for (int k = 0; k < 2 && affine_uses_iter(sub, i); k++)
                if (t->row[k] >= 0 && affine_uses_iter(sub, t->row[k])) return true;
        }
    return false;
}

// The reductions that are unrolled around the tile: all of them where they are short, else those
// that slide along its rows, innermost first, if a fair part of a window can be kept.
static uint64_t near_of(const Chooser *c, const Nest *n, const Tile *t, double turns) {
    double sums = (double)(t->rows[0] * t->rows[1] * t->vectors), room = STRAIGHT / sums;
    bool keeps = 3 * (c->m->vector_registers - sums - t->vectors - 1) >= sums / t->vectors;
    uint64_t near = 0;
    if (t->folded) return 0;
    if (n->window >= 0)
        return (double)n->extent[n->window] * STRAIGHT <= room * GUARDED_UNROLL
                   ? (uint64_t)1 << n->window
                   : 0;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (!n->s->iter[i].reduction || (double)n->extent[i] > room) continue;
        bool window = keeps && n->windows >> i & 1 && slides(n, t, i);
        if (turns > room && !window) continue;
        if (turns > room) room /= (double)n->extent[i];
        near |= (uint64_t)1 << i;
    }
    return near;
}

// Loads of one turn for a part of the tile: `vectors` by rows[0] by rows[1]. *shared: so many
// less, where windows are kept.
static double loads_of(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part,
                       double *shared) {
    double sum = 0, turns = t->turns;
    double sums = (double)(part[0] * part[1] * part[2]);
    double room = c->m->vector_registers - sums - (double)part[2] - 1;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        double count = 1, lines = ref->crooked && ref->uses[t->v] && r != t->pack ? 2 : 1;
        bool whole = !ref->uses[t->v] || is_vector(n, r, t->v, t->pack);
        if (ref->uses[t->v]) count = (double)part[2] * (whole ? 1 : lanes_apart(c, n, ref, t->v));
        for (int k = 0; k < 2; k++)
            if (t->row[k] >= 0 && ref->uses[t->row[k]]) count *= (double)part[k];
        if (turns > 1 && whole) {
            double window = window_of(n, t, part, ref), kept = fmax(0, fmin(1, room / window));
            *shared += lines * kept * (count - window / turns);
        } else if (ref->uses[t->v] && ref->size > (double)c->m->cache[1])
            lines = ref->lone && ref->once ? FAR : fmax(lines, FAR); // the former can be packed
        sum += lines * count;
    }
    return sum;
}

// So many rows, `apart` bytes from each other, begin in sets of their own of the first cache.
static int64_t rows_of_way(int64_t apart) { return max_i64(WAY / (apart & -apart), 1); }

// Rows that lie a power of two apart meet in few sets of the first cache, and put each other out.
static double crowding(const Nest *n, const Tile *t, const int64_t *part, double turns) {
    enum { ROOM = 10 }; // lines of a set that rows may have
    double lost = 0;
    for (int r = 1; r < n->nrefs && turns >= 64; r++)
        for (int k = 0; k < 2; k++) {
            if (t->row[k] < 0 || r == t->pack || n->ref[r].uses[t->v]) continue;
            int64_t apart = llabs(n->ref[r].stride[t->row[k]]) * n->ref[r].bytes;
            if (!apart) continue;
            int64_t sets = rows_of_way(apart);
            if (sets < 4) lost += fmax(0, (double)(part[k] - ROOM * sets));
        }
    return 0.4 * lost;
}

// Loads of one cycle. Whole 64-byte vectors, and what fills them, come one at a time.
static double load_rate(const Machine *m, const Nest *n, const Tile *t) {
    bool wide = m->vector_bytes == 64 && (t->group >= 0 || n->extent[t->v] > n->lanes / 2);
    return wide ? 1.1 : m->load_ports;
}

// To give all lanes of a group what they share: a shuffle, or as many blends as it takes.
static double spread_cost(const Nest *n, const Tile *t) {
    return n->extent[t->v] <= 4 ? 1 : (double)(t->groups - 1);
}

// Cycles of a part of the tile: all turns of the reductions, and what it takes to begin and end.
static double part_cost(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part,
                        double turns) {
    const Machine *m = c->m;
    double sums = (double)(part[0] * part[1] * part[2]), shared = 0;
    double loads = loads_of(c, n, t, part, &shared);
    double room = m->vector_registers - 4;
    double split = fmin(8, fmax(1, floor(room / sums)));
    double spread = t->group < 0 ? 0 : (loads - shared - 1) * spread_cost(n, t);
    double arithmetic = (sums * n->ops + spread) / m->fma_ports;
    double load = (loads - shared) / load_rate(m, n, t);
    double issue = (sums * n->ops + loads - shared + 1.5 / t->turns +
                    n->guards * (double)(part[0] * part[1])) /
                   m->ports[PORT_ISSUE];
    double turn = fmax(fmax(arithmetic, load), fmax(issue, m->fma_latency / split));
    double end = t->folded ? 10 : n->ref[0].stride[t->v] == 1 ? 0 : 2.0 * n->lanes;
    if (!n->s->init) end *= 2;
    double ends = 16 + (1.5 + end) * sums;
    turn += 0.06 * loads + 0.1 * issue + crowding(n, t, part, turns);
    return turns * turn + ends;
}

// Full tiles and what is left over, in every direction.
static double tile_cost(const Chooser *c, const Nest *n, Tile *t) {
    int64_t length[3] = {1, 1, ceil_div(n->extent[t->v], n->lanes)};
    int64_t size[3] = {t->rows[0], t->rows[1], t->vectors};
    double turns = 1, outer = 1, cost = 0;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0) length[k] = n->extent[t->row[k]];
    for (int i = 0; i < n->s->niters; i++) {
        if (i == t->v || i == t->row[0] || i == t->row[1]) continue;
        int64_t extent = i == t->group ? n->extent[i] / t->groups : n->extent[i];
        *(n->s->iter[i].reduction ? &turns : &outer) *= (double)extent;
    }
    if (t->folded) {
        turns *= (double)length[2];
        length[2] = 1;
    }
    t->near = near_of(c, n, t, turns);
    t->turns = 1;
    for (int i = 0; i < n->s->niters && t->near; i++)
        if (t->near >> i & 1) t->turns *= (double)n->extent[i];
    for (int at = 0; at < 8; at++) {
        int64_t part[3];
        double count = 1;
        for (int k = 0; k < 3; k++) {
            part[k] = at >> k & 1 ? length[k] % size[k] : size[k];
            count *= (double)(at >> k & 1 ? part[k] > 0 : length[k] / size[k]);
        }
        if (count > 0) cost += count * (part_cost(c, n, t, part, turns) + (at ? 15 : 0));
    }
    cost *= outer;
    if (t->pack) {
        const Ref *x = &n->ref[t->pack];
        cost += x->size / x->bytes * (x->stride[t->v] == 1 ? 0.15 : 0.5) + 200;
    }
    return cost;
}

// --- Enumeration ---------------------------------------------------------------------------------

// Registers: the sums, one vector of each operand along the lanes, one for what is the same in all.
static bool has_room(const Chooser *c, const Nest *n, const Tile *t) {
    int64_t sums = t->rows[0] * t->rows[1] * t->vectors;
    int64_t most = c->m->vector_registers - 4 - (t->folded || n->ops > 2 ? 3 : 0);
    if (n->window >= 0 && n->extent[n->window] <= GUARDED_UNROLL / 4 &&
        sums * n->extent[n->window] > GUARDED_UNROLL)
        return sums == 1;
    int64_t held = t->folded ? t->rows[0] + 1 : t->vectors + 1;
    return sums <= most && (sums + held < c->m->vector_registers || sums <= 8);
}

// Some operand is the same for all values of the iterator.
static bool shares(const Nest *n, int i) {
    for (int r = 1; r < n->nrefs; r++)
        if (!n->ref[r].uses[i]) return true;
    return false;
}

// May be a row of tiles along v: best where vectors are shared, else where anything is.
static bool is_row(const Nest *n, int v, int i) {
    bool vectors = false, any = false; // some iterator shares vectors; this one does
    if (n->s->iter[i].reduction || n->extent[i] < 2 || i == v || !shares(n, i)) return false;
    for (int r = 1; r < n->nrefs; r++) {
        if (!n->ref[r].uses[v]) continue;
        any |= !n->ref[r].uses[i];
        for (int k = 0; k < n->s->niters; k++)
            vectors |= k != v && !n->s->iter[k].reduction && n->extent[k] > 1 && !n->ref[r].uses[k];
    }
    return any || !vectors;
}

// Ends of tiles and tests of instances do not go together.
static bool is_ragged(const Nest *n, const Tile *t) {
    int64_t vectors = ceil_div(n->extent[t->v], n->lanes);
    if (n->window < 0) return false;
    return (t->row[0] >= 0 && n->extent[t->row[0]] % t->rows[0]) || vectors % t->vectors;
}

static void try_rows(const Chooser *c, const Nest *n, Tile *t, int k, Tile *best) {
    t->cost = is_ragged(n, t) ? INFINITY : tile_cost(c, n, t);
    if (t->cost < best->cost) *best = *t;
    if (k == 2 || (k == 1 && (t->rows[0] < n->extent[t->row[0]] || n->guards > 0))) return;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (i == t->row[0] || !is_row(n, t->v, i)) continue;
        t->row[k] = i;
        for (t->rows[k] = 2; t->rows[k] <= n->extent[i] && has_room(c, n, t); t->rows[k]++)
            try_rows(c, n, t, k + 1, best);
        t->row[k] = -1;
        t->rows[k] = 1;
    }
}

// The operand that has to be packed for lanes along v: 0 none, -1 that cannot be.
static int to_pack(const Chooser *c, const Nest *n, int v) {
    int pack = 0;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        if (ref->hard[v]) return -1;
        if (!ref->uses[v] || ref->stride[v] == 1) continue;
        if (pack || c->o->plain || !ref->lone || !ref->once) return 0;
        pack = r;
    }
    return pack;
}

// Do rows along v follow each other along g in all that has them, while what has none moves from
// row to row? Then lanes of one row share the latter (code/join.c).
static bool is_group(const Nest *n, int v, int g) {
    bool moves = false;
    for (int r = 0; r < n->nrefs; r++) {
        const Ref *x = &n->ref[r];
        if (x->hard[v] || x->hard[g]) return false;
        if (x->stride[g] == x->stride[v] * n->extent[v] && (x->stride[v] == 1 || !x->uses[g]))
            continue;
        if (r == 0 || x->uses[v] || x->stride[g] < 1) return false;
        moves = true;
    }
    return moves;
}

// Rows shorter than a vector, several in one.
static void try_groups(const Chooser *c, const Nest *n, int v, Tile *best) {
    int64_t groups = n->lanes / n->extent[v];
    if (groups < 2 || n->lanes % n->extent[v] || n->window >= 0 || n->guards > 0) return;
    for (int k = 0; k < c->p->stmts.n; k++) // who reads the result would take other vectors
        for (int r = 1; r < c->nest[k].nrefs; r++)
            if (c->nest[k].ref[r].access->tensor == n->ref[0].access->tensor) return;
    for (int g = 0; g < n->s->niters; g++) {
        if (g == v || n->s->iter[g].reduction || n->extent[g] % groups || !is_group(n, v, g))
            continue;
        Tile t = {.v = v, .group = g, .groups = groups, .vectors = 1};
        t.row[0] = t.row[1] = -1;
        t.rows[0] = t.rows[1] = 1;
        try_rows(c, n, &t, 0, best);
    }
}

static void try_lanes(const Chooser *c, const Nest *n, int v, Tile *best) {
    Tile t = {.v = v, .group = -1, .row = {-1, -1}, .rows = {1, 1}};
    int64_t vectors = ceil_div(n->extent[v], n->lanes);
    for (t.pack = to_pack(c, n, v); t.pack >= 0; t.pack = t.pack ? 0 : -1)
        for (t.vectors = 1; t.vectors <= min_i64(vectors, 8) && has_room(c, n, &t); t.vectors++)
            try_rows(c, n, &t, 0, best);
}

// A reduction in lanes: all that is read lies along it, or is the same for all of it.
static void try_folded(const Chooser *c, const Nest *n, int v, Tile *best) {
    Tile t = {.v = v, .group = -1, .folded = true, .vectors = 1, .row = {-1, -1}, .rows = {1, 1}};
    bool along = false;
    if (n->extent[v] < LEAST_FOLDED) return;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        if (ref->hard[v] || (ref->uses[v] && ref->stride[v] != 1)) return;
        along |= ref->uses[v];
    }
    if (!along) return;
    t.cost = tile_cost(c, n, &t);
    if (t.cost < best->cost) *best = t;
}

static bool choose_tile(const Chooser *c, const Nest *n, Tile *best) {
    double elements = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction) elements *= (double)n->extent[i];
    double declared = 2 * n->instances * fmax(1, n->ops) + 8 * elements;
    *best = (Tile){.v = -1, .cost = declared};
    for (int i = 0; i < n->s->niters; i++) {
        bool single = n->extent[i] < 2;
        if (n->s->iter[i].reduction ? single : single && n->ref[0].stride[i] != 1) continue;
        if (n->s->iter[i].reduction)
            try_folded(c, n, i, best);
        else if (n->ref[0].uses[i])
            try_lanes(c, n, i, best), try_groups(c, n, i, best);
    }
    return best->v >= 0;
}

// --- Around the tile -----------------------------------------------------------------------------

static int64_t step_of(const Nest *n, const Tile *t, int i) {
    if (i == t->v) return t->folded ? 1 : (int64_t)t->vectors * n->lanes;
    if (i == t->group) return t->groups;
    if (i == t->row[0]) return t->rows[0];
    return i == t->row[1] ? t->rows[1] : 1;
}

// The largest operand in lanes: what is packed, or would be.
static int panel_operand(const Nest *n, const Tile *t) {
    int best = 0;
    double most = 0;
    if (t->pack) return t->pack;
    for (int r = 1; r < n->nrefs; r++) {
        if (n->ref[r].uses[t->v] && n->ref[r].size > most) best = r, most = n->ref[r].size;
    }
    return best;
}

// What follows counts one iteration of the loops that all operands depend on.
typedef struct Blocks {
    const Nest *n;
    const Tile *t;
    int panel;                        // the operand of which a panel stays; 0: none
    double panel_bytes, bytes;        // of one panel; of all of it
    double rest_bytes, reuse;         // of the other operands; how often a panel is read
    bool rows_first;                  // the loops over rows are outside
    bool streamed;                    // parts of the reduction are outside of everything
    int64_t width;                    // of the lanes' iterator around them; 0: all of it
    int64_t group;                    // of it in panels that are packed together; 0: one panel
    int nred, red[PROGRAM_MAX_ITERS]; // reductions, outermost first
    int64_t step[PROGRAM_MAX_ITERS];  // of the part outside the rows; 0: none
} Blocks;

// 0: all operands depend on it; 1: the panel does; 2: it does not.
static int depth_of(const Blocks *b, int i) {
    const Nest *n = b->n;
    if (!n->ref[b->panel].uses[i]) return 2;
    return !shares(n, i) && i != b->t->v ? 0 : 1;
}

static void measure(Blocks *b) {
    const Nest *n = b->n;
    const Ref *x = &n->ref[b->panel];
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

// Cycles to bring in so many bytes, again and again, from something so large.
static double traffic(const Chooser *c, double bytes, double size) {
    const int64_t *cache = c->m->cache;
    if (size <= (double)cache[1] / 2) return 0;
    if (size <= (double)cache[2] / 2) return bytes / 48;
    return bytes / (size <= (double)cache[3] / 2 ? 12 : 5);
}

// Reductions by what they step over in the panel operand, largest steps first; but those that are
// unrolled around the tile come last.
static void order_reductions(Blocks *b) {
    const Nest *n = b->n;
    const Ref *x = &n->ref[b->panel ? b->panel : n->nrefs > 1];
    for (int i = 0; i < n->s->niters; i++) {
        if (!n->s->iter[i].reduction || (b->t->folded && i == b->t->v)) continue;
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
    for (int k = 0; k < near; k++) b->red[far + k] = last[k];
}

// A panel that is too large for its cache is done in parts, one after the other for all rows.
static void block_reductions(const Chooser *c, Blocks *b) {
    double limit = (double)c->m->cache[2] / 4;
    if (b->reuse < 4 || b->rows_first) return;
    for (int k = 0; k < b->nred && b->panel_bytes > limit; k++) {
        int i = b->red[k];
        int64_t extent = b->n->extent[i], parts = (int64_t)ceil(b->panel_bytes / limit);
        if (!b->n->ref[b->panel].uses[i] || extent < 2) continue;
        int64_t step = ceil_div(extent, parts);
        b->step[i] = extent < 64 ? step : (step + 7) / 8 * 8;
        if (b->step[i] >= extent) b->step[i] = 0;
        b->panel_bytes /= (double)min_i64(parts, extent);
    }
}

// So many values of a reduction, or about as many if that divides its extent.
static int64_t part_near(int64_t extent, int64_t want) {
    for (int64_t i = 0; i <= want / 2; i++)
        if (extent % (want + i) == 0) return want + i;
    return want;
}

// A large operand that few rows pass by is read once, and as it lies: some of its rows at a time
// from one end to the other, while the sums come and go. Panels of it would jump from page to page.
static void stream_panel(const Chooser *c, Blocks *b) {
    const Nest *n = b->n;
    const Ref *x = &n->ref[b->panel];
    if (!b->panel || b->t->folded || b->t->pack || b->rows_first || b->nred != 1) return;
    if (b->reuse >= 8 || b->bytes <= (double)c->m->cache[2] / 2) return;
    int i = b->red[0], v = b->t->v;
    int64_t rows = 1, wide = step_of(n, b->t, v);
    for (int k = 0; k < 2; k++)
        if (b->t->row[k] >= 0) rows *= n->extent[b->t->row[k]];
    int64_t step = part_near(n->extent[i], min_i64(max_i64(2 * rows, 16), 64));
    if (x->stride[v] != 1 || llabs(x->stride[i]) * x->bytes < 1024 || n->extent[i] < 4 * step)
        return;
    b->streamed = true;
    b->step[i] = step;
    b->width = ceil_div(512, wide) * wide;
    if (b->width >= n->extent[v] || (c->o->serial && n->extent[v] % b->width)) b->width = 0;
}

// A panel that the first cache could hold, but its rows meet in few of the sets.
static bool is_crowded(const Chooser *c, const Blocks *b, int64_t apart) {
    double row = (double)(b->t->vectors * b->n->lanes * b->n->ref[b->panel].bytes);
    double room = (double)(c->m->cache[1] / WAY * rows_of_way(apart)) * row;
    return b->panel_bytes <= (double)c->m->cache[1] / 2 && 2 * room < b->panel_bytes;
}

static bool wants_pack(const Chooser *c, const Blocks *b) {
    const Ref *x = &b->n->ref[b->panel];
    bool crooked = false;          // rows of vectors begin in the middle of cache lines
    int64_t least = INT64_MAX / 8; // from one row to the next
    if (c->o->plain || b->t->folded || b->streamed || !b->panel || !x->lone || !x->once)
        return false;
    if (b->t->group >= 0) return false;
    if (b->t->pack) return true;
    if (b->reuse < 6 || x->stride[b->t->v] != 1) return false;
    for (int k = 0; k < b->nred; k++) {
        int64_t stride = llabs(x->stride[b->red[k]]) * x->bytes;
        crooked |= stride % c->m->line_bytes != 0;
        if (stride && b->n->extent[b->red[k]] > 1) least = min_i64(least, stride);
    }
    if (crooked && b->bytes > (double)c->m->cache[1]) return true;
    if (b->nred == 1 && b->reuse >= 24 && is_crowded(c, b, least)) return true;
    double all = (double)tensor_elements(&c->p->tensors.at[x->access->tensor]) * x->bytes;
    return (least >= 4096 ? all : least >= 1024 ? b->bytes : 0) >= (double)c->m->cache[2] / 2;
}

// Panels that are packed together, side by side: the rows that pass by them are read less often.
static void group_panels(const Chooser *c, Blocks *b) {
    const Nest *n = b->n;
    int v = b->t->v;
    int64_t wide = step_of(n, b->t, v), parts = c->o->serial ? 1 : 16;
    if (b->rows_first || b->nred != 1 || n->ref[b->panel].stride[v] != 1) return;
    for (int64_t k = 2; k <= 8; k++)
        if (n->extent[v] % (k * wide) == 0 && n->extent[v] / (k * wide) >= parts &&
            (double)k * b->panel_bytes <= (double)c->m->cache[2] / 2)
            b->group = k * wide;
}

// --- Packing -------------------------------------------------------------------------------------

// Iterators that run through neighbours of an operand, innermost first, up to about a vector: the
// columns of a block that turns in registers.
static int neighbours(const Nest *n, const Ref *x, int v, int *chain) {
    int64_t length = 1;
    int count = 0;
    for (bool more = true; more && length < n->lanes;) {
        more = false;
        for (int i = 0; i < n->s->niters && !more; i++) {
            if (i == v || n->extent[i] < 2 || x->stride[i] != length || x->hard[i]) continue;
            if (count && length * n->extent[i] > 2 * n->lanes) continue;
            chain[count++] = i;
            length *= n->extent[i];
            more = true;
        }
    }
    return count;
}

// The section of the copy: along the lanes, or in blocks that turn in registers.
static void order_copy(const Nest *n, const Blocks *b, SchedStmt *s, SchedLoop *loop) {
    const Ref *x = &n->ref[b->panel];
    int v = b->t->v, count = 0, chain[PROGRAM_MAX_ITERS];
    int columns = x->stride[v] != 1 ? neighbours(n, x, v, chain) : 0;
    bool cut = columns == 1 && n->extent[chain[0]] > 2 * n->lanes;
    SchedLoop panels = {.iter = n->s->iter[v].name, .step = step_of(n, b->t, v)};
    bool whole = panels.step * x->bytes >= 256; // a row of a panel is worth going to
    if (b->group && whole) loop[count++] = panels;
    for (int k = -n->s->niters; k < b->nred; k++) { // others, then reductions as in the layout
        int i = k < 0 ? k + n->s->niters : b->red[k];
        bool inside = false;
        for (int j = 0; j < columns; j++) inside |= chain[j] == i;
        if (i == v || !x->uses[i] || (k < 0 && n->s->iter[i].reduction) || (inside && !cut))
            continue;
        loop[count++] = (SchedLoop){.iter = n->s->iter[i].name, .step = inside ? n->lanes : 1};
    }
    if (b->group && !whole) loop[count++] = panels;
    if (columns) loop[count++] = (SchedLoop){.iter = n->s->iter[v].name, .step = n->lanes};
    for (int k = columns - 1; k >= 0; k--)
        loop[count++] = (SchedLoop){.iter = n->s->iter[chain[k]].name, .step = 1};
    loop[count++] = (SchedLoop){.iter = n->s->iter[v].name, .step = 1, .kind = KIND_VECTOR};
    s->nloops = count;
    s->loop = loop;
}

static bool is_taken(const Program *p, Name label) {
    for (int i = 0; i < p->stmts.n; i++)
        if (p->stmts.at[i].label == label) return true;
    return program_find_tensor(p, label) >= 0;
}

// A copy of the panel operand, made inside loop `at` (NULL: first of all).
static void pack(const Chooser *c, Nest *n, const Blocks *b, const SchedLoop *at) {
    const Ref *x = &n->ref[b->panel];
    Name tensor = c->p->tensors.at[x->access->tensor].name;
    Name label = name_of(c->p->names, arena_printf(c->arena, "%s.%s", n->s->label, tensor));
    if (is_taken(c->p, label)) return;
    SchedCopy *copy = arena_new(c->arena, SchedCopy);
    LayoutDim *dim = arena_new_n(c->arena, LayoutDim, 2 * PROGRAM_MAX_ITERS);
    int count = 0, v = b->t->v;
    int64_t width = (int64_t)b->t->vectors * n->lanes;
    for (int i = 0; i < n->s->niters; i++)
        if (x->uses[i] && i != v && !n->s->iter[i].reduction)
            dim[count++] = (LayoutDim){.dim = n->s->iter[i].name, .block = 1};
    if (width < n->extent[v]) dim[count++] = (LayoutDim){.dim = n->s->iter[v].name, .block = width};
    for (int k = 0; k < b->nred; k++)
        if (x->uses[b->red[k]])
            dim[count++] = (LayoutDim){.dim = n->s->iter[b->red[k]].name, .block = 1};
    dim[count++] = (LayoutDim){.dim = n->s->iter[v].name, .block = 1};
    *copy = (SchedCopy){.tensor = tensor, .storage = {.ndims = count, .dim = dim, .align = 64}};
    if (at) copy->at = (LoopRef){.iter = at->iter, .step = at->step};
    n->out.copy = copy;
    n->out.ncopies = 1;
    n->copy = arena_new(c->arena, SchedStmt);
    *n->copy = (SchedStmt){.label = label, .stage = -1};
    order_copy(n, b, n->copy, arena_new_n(c->arena, SchedLoop, MAX_LOOPS));
}

// --- What comes before ---------------------------------------------------------------------------

// A temporary that only this statement reads, and that is computed from arguments element by
// element: it can as well be computed in parts, where they are needed.
static bool is_movable(const Chooser *c, const Nest *n, int tensor) {
    if (c->p->tensors.at[tensor].role != ROLE_TEMP) return false;
    for (int k = 0; k < c->p->stmts.n; k++) {
        const Nest *other = &c->nest[k];
        bool writes = other->s->write->tensor == tensor;
        if (!other->known || (writes && (other > n || other->reduces || other->after >= 0)))
            return false;
        for (int r = 1; r < other->nrefs && other != n; r++) {
            int from = other->ref[r].access->tensor;
            if (from == tensor || (writes && c->p->tensors.at[from].role != ROLE_INPUT))
                return false;
        }
    }
    return true;
}

// What a loop around everything needs of a temporary that lies across it is computed inside, and so
// lies together and near.
static void compute_inside(Chooser *c, Nest *n, const SchedLoop *at) {
    for (int r = 1; r < n->nrefs; r++) {
        const Access *a = n->ref[r].access;
        const Tensor *t = &c->p->tensors.at[a->tensor];
        bool across = false;
        for (int d = 1; d < a->rank; d++) {
            int i = affine_as_iter(a->sub[d]);
            across |= i >= 0 && n->s->iter[i].name == at->iter;
        }
        if (!across || (double)tensor_elements(t) * n->ref[r].bytes <= (double)c->m->cache[1] ||
            !is_movable(c, n, a->tensor))
            continue;
        for (Nest *writer = c->nest; writer < n; writer++)
            if (writer->s->write->tensor == a->tensor)
                writer->out.at = (LoopRef){.iter = at->iter, .step = at->step};
        n->perfect = (int)min_i64(n->perfect, at - n->loop + 1);
    }
}

// --- The order -----------------------------------------------------------------------------------

static void outer_loop(Nest *n, const Blocks *b, int i) {
    int64_t step = step_of(n, b->t, i);
    bool inside = i == b->t->v || i == b->t->group || i == b->t->row[0] || i == b->t->row[1];
    if (step < n->extent[i] || !inside) nest_loop(n, i, step, KIND_SERIAL);
}

static void loops_at(Nest *n, const Blocks *b, int depth) {
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction || n->extent[i] <= 1 || depth_of(b, i) != depth)
            continue;
        else if (i == b->t->v && b->group)
            nest_loop(n, i, b->group, KIND_SERIAL);
        else
            outer_loop(n, b, i);
}

// Loops of one iteration come last, where they are in nobody's way.
static void idle_loops(Nest *n) {
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction && n->extent[i] == 1) nest_loop(n, i, 1, KIND_SERIAL);
}

static void emit(Chooser *c, Nest *n, Blocks *b) {
    bool packed = wants_pack(c, b);
    if (packed) group_panels(c, b);
    const SchedLoop *at = NULL;
    int first = b->rows_first ? 2 : 1;
    loops_at(n, b, 0);
    int outer = n->nloops;
    if (n->nloops) at = &n->loop[n->nloops - 1];
    if (b->width) nest_loop(n, b->t->v, b->width, KIND_SERIAL);
    if (!b->streamed) loops_at(n, b, first);
    for (int k = 0; k < b->nred; k++)
        if (b->step[b->red[k]]) nest_loop(n, b->red[k], b->step[b->red[k]], KIND_SERIAL);
    if (b->streamed) loops_at(n, b, first);
    if (n->nloops && !b->rows_first) at = &n->loop[n->nloops - 1];
    loops_at(n, b, 3 - first);
    if (b->group) outer_loop(n, b, b->t->v);
    idle_loops(n);
    for (int k = 0; k < b->nred; k++)
        if (b->step[b->red[k]] != 1) nest_loop(n, b->red[k], 1, KIND_SERIAL);
    for (int k = 0; k < 2; k++)
        if (b->t->row[k] >= 0) nest_loop(n, b->t->row[k], 1, KIND_SERIAL);
    if (b->t->group >= 0) nest_loop(n, b->t->group, 1, KIND_SERIAL);
    nest_loop(n, b->t->v, 1, KIND_VECTOR);
    if (packed) pack(c, n, b, at);
    n->perfect = n->copy && at ? (int)(at - n->loop) + 1 : n->nloops;
    if (outer && !c->o->plain) compute_inside(c, n, &n->loop[outer - 1]);
    if (n->window >= 0 && !c->o->plain) n->out.unroll_limit = GUARDED_UNROLL;
}

void choose_contraction(Chooser *c, Nest *n) {
    Tile t;
    if (!choose_tile(c, n, &t)) return;
    Blocks b = {.n = n, .t = &t, .panel = panel_operand(n, &t)};
    n->cycles = t.cost + n->memory;
    if (b.panel) {
        measure(&b);
        double panels = b.bytes / b.panel_bytes;
        b.rows_first = traffic(c, b.rest_bytes * panels, b.rest_bytes) >
                       traffic(c, b.bytes * b.reuse, b.bytes) + b.bytes / 8;
    }
    order_reductions(&b);
    stream_panel(c, &b);
    if (!b.streamed) block_reductions(c, &b);
    emit(c, n, &b);
}
