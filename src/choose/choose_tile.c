// Contractions: the vector loop and the tile in registers. See choose_order.c for what
// stands around it.
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
#include "choose/choose_impl.h"

#include <math.h>
#include <stdlib.h>

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

// Elements that an operand has in a part of the tile over all turns: neighbours in a window share,
// but along the lanes, where every place is another vector.
static double window_of(const Nest *n, const Tile *t, const int64_t *part, const Ref *ref) {
    double all = 1;
    for (int d = 0; d < ref->likely->rank; d++) {
        const Affine *sub = ref->likely->sub[d];
        double span = 1, product = 1;
        for (int k = 0; k < sub->n; k++) {
            if (sub->term[k].atom->kind != ATOM_ITER) continue;
            double size = (double)span_of(n, t, part, sub->term[k].atom->index);
            span += fabs((double)sub->term[k].coef) * (size - 1);
            product *= size;
        }
        all *= affine_uses_iter(sub, t->v) ? product : fmin(span, product);
    }
    return all;
}

// Vectors along the lanes that lie side by side, since reductions around the tile that are unrolled
// run through neighbours: whole rows are loaded and turned in registers.
static int64_t turned_columns(const Nest *n, const Tile *t, const Ref *ref) {
    int64_t columns = 1;
    for (int i = n->s->niters - 1; i >= 0; i--)
        if (t->near >> i & 1 && ref->stride[i] == columns && !ref->hard[i]) columns *= n->extent[i];
    return columns;
}

// Does the generator unroll all turns around the tile? Functions take many operations.
static bool is_straight(const Chooser *c, const Nest *n, const Tile *t) {
    double sums = (double)(t->rows[0] * t->rows[1] * t->vectors);
    return sums * t->turns * (1 + n->ops * n->cost->unroll_op) <= c->m->unroll_limit;
}

// Loads that a vector of lanes apart is worth: those a few elements apart are shuffled from as many
// whole vectors, a few lanes are inserted one by one, others are gathered.
static double lanes_apart(const Chooser *c, const Nest *n, const Ref *ref, const Tile *t) {
    int v = t->v;
    int64_t apart = ref->stride[v], columns = turned_columns(n, t, ref);
    int shuffles = comb_shuffles(c->m, apart);
    if (shuffles && columns >= apart && is_straight(c, n, t)) return 1 + shuffles;
    if (t->vectors == 1 && apart > 0 && columns >= LIMIT_TRANSPOSE &&
        n->lanes >= c->cost->transpose_lanes && n->extent[v] >= n->lanes)
        return 1 + c->cost->transpose_load * n->lanes / (double)min_i64(columns, n->lanes);
    if (apart >= 2 && apart <= LIMIT_NEAR && ref->bytes >= 4 && c->m->has_mask)
        return (double)(2 * apart - 1);
    return n->extent[v] <= n->lanes / 2 ? (double)n->extent[v] : c->cost->gather_load * n->lanes;
}

// Does some operand move along a row of the tile as it does along this reduction?
bool tile_slides(const Nest *n, const Tile *t, int i) {
    for (int r = 1; r < n->nrefs; r++)
        for (int d = 0; d < n->ref[r].likely->rank; d++) {
            const Affine *sub = n->ref[r].likely->sub[d];
            for (int k = 0; k < 2 && affine_uses_iter(sub, i); k++)
                if (t->row[k] >= 0 && affine_uses_iter(sub, t->row[k])) return true;
        }
    return false;
}

// The reductions that are unrolled around the tile: all of them where they are short, else those
// that slide along its rows, innermost first, if a fair part of a window can be kept.
static uint64_t near_of(const Chooser *c, const Nest *n, const Tile *t, double turns) {
    double sums = (double)(t->rows[0] * t->rows[1] * t->vectors), limit = c->m->unroll_limit;
    double room = limit / sums, spare = c->m->vector_registers - sums - t->vectors - 1;
    bool keeps = c->cost->kept_windows * spare >= sums / t->vectors;
    uint64_t near = 0;
    if (t->folded) return 0;
    if (n->window >= 0) {
        int inner = n->window;
        for (int i = 0; i < n->s->niters; i++)
            if (n->guarded >> i & 1 && n->s->iter[i].reduction && tile_slides(n, t, i)) inner = i;
        bool fits = (double)n->extent[inner] * limit <= room * guarded_unroll(n, t);
        return fits ? (uint64_t)1 << inner : 0;
    }
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (!n->s->iter[i].reduction || (double)n->extent[i] > room) continue;
        bool window = keeps && n->windows >> i & 1 && tile_slides(n, t, i);
        if (turns > room && !window) continue;
        if (turns > room) room /= (double)n->extent[i];
        near |= (uint64_t)1 << i;
    }
    return near;
}

// Is every element of the operand read once?
static bool is_passing(const Nest *n, const Ref *ref) {
    for (int i = 0; i < n->s->niters; i++)
        if (n->extent[i] > 1 && !ref->uses[i]) return false;
    return true;
}

// What all rows and lanes read is the same window: what is computed of it is computed once for each
// of its elements. The part of the instances that do, at least.
static double fresh_values(const Nest *n, const Tile *t, const int64_t *part) {
    double all = (double)(part[0] * part[1] * part[2]) * t->turns, most = 0;
    if (t->turns <= 1 || t->folded) return 1;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        for (int k = 0; k < 2; k++)
            if (t->row[k] >= 0 && !ref->uses[t->row[k]]) return 1;
        if (!ref->uses[t->v]) return 1;
        most = fmax(most, window_of(n, t, part, ref) / all);
    }
    return fmin(1, most);
}

// Arithmetic of one turn before its sums: once for all of the tile that a value does not depend on.
static double work_of(const Nest *n, const Tile *t, const int64_t *part) {
    double all = 0;
    for (int i = 0; i < n->nworks; i++) {
        const Work *w = &n->work[i];
        double often = w->uses >> t->v & 1 ? (double)part[2] : 1;
        bool every = w->uses >> t->v & 1;
        for (int k = 0; k < 2; k++) {
            bool along = t->row[k] >= 0 && w->uses >> t->row[k] & 1;
            if (along) often *= (double)part[k];
            every &= along || t->row[k] < 0;
        }
        all += w->ops * often * (every ? fresh_values(n, t, part) : 1);
    }
    return all;
}

// Turns of the nearest reductions that move an operand, but not as a row of the tile does: they
// stand outside of those that do, and share nothing with each other.
static double turns_beside(const Nest *n, const Tile *t, const Ref *ref) {
    double turns = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (t->near >> i & 1 && ref->uses[i] && !tile_slides(n, t, i))
            turns *= (double)n->extent[i];
    return turns;
}

// Loads of one turn for a part of the tile: `vectors` by rows[0] by rows[1]. *shared: so many
// less, where windows are kept.
static double loads_of(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part,
                       double *shared) {
    const MachineCost *cost = c->cost;
    double sum = 0, turns = t->turns;
    double sums = (double)(part[0] * part[1] * part[2]);
    double room = c->m->vector_registers - sums - (double)part[2] - 1;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        bool along = ref->uses[t->v], whole = !along || is_vector(n, r, t->v, t->pack);
        double count = 1, lines = along && whole && ref->crooked && r != t->pack ? 2 : 1;
        if (along) count = (double)part[2] * (whole ? 1 : lanes_apart(c, n, ref, t));
        if (ref->bytes < 4) count *= along ? cost->narrow_vector : cost->narrow_broadcast;
        for (int k = 0; k < 2; k++)
            if (t->row[k] >= 0 && ref->uses[t->row[k]]) count *= (double)part[k];
        if (turns > 1 && whole) {
            double window = window_of(n, t, part, ref), live = window / turns_beside(n, t, ref);
            double kept = fmax(0, fmin(1, room / live));
            if (window < turns * count) lines = 1; // near: two halves come in the time of a far one
            *shared += lines * kept * (count - window / turns);
        } else if (along && whole && ref->size > (double)c->m->cache[1] && !tile_is_near(n, t)) {
            double far = cost->far_load;
            bool again = lines > 1; // neighbours are in the same lines
            lines = ref->lone && ref->once ? far : fmax(lines, far); // the former can be packed
            if (again && !t->folded && is_passing(n, ref)) lines = far * (1 + 1 / (double)part[2]);
        }
        if (t->folded && t->row[0] >= 0 && lines >= cost->far_load) lines *= cost->row_load;
        sum += lines * count;
    }
    return sum;
}

// Rows that lie a power of two apart meet in few sets of the first cache, and put each other out.
static double crowding(const Nest *n, const Tile *t, const int64_t *part, double turns) {
    const MachineCost *cost = n->cost;
    double lost = 0;
    for (int r = 1; r < n->nrefs && turns >= cost->crowd_steps; r++)
        for (int k = 0; k < 2; k++) {
            if (t->row[k] < 0 || r == t->pack || n->ref[r].uses[t->v]) continue;
            int64_t apart = llabs(n->ref[r].stride[t->row[k]]) * n->ref[r].bytes;
            if (!apart) continue;
            int64_t sets = rows_of_way(cost, apart);
            if (sets < cost->crowd_sets)
                lost += fmax(0, (double)part[k] - cost->crowd_lines * (double)sets);
        }
    return cost->crowd_cycles * lost;
}

// Loads of one cycle. Whole 64-byte vectors, and what fills them, come one at a time.
static double load_rate(const Machine *m, const Nest *n, const Tile *t) {
    bool wide = m->vector_bytes == 64 && (t->group >= 0 || n->extent[t->v] > n->lanes / 2);
    return wide ? n->cost->full_load_rate : m->load_ports;
}

// To give all lanes of a group what they share: a shuffle, or as many blends as it takes.
static double spread_cost(const Nest *n, const Tile *t) {
    return n->extent[t->v] <= n->cost->blend_lanes ? 1 : (double)(t->groups - 1);
}

// To store a vector of results, beside a plain store: lanes that lie apart go one by one, those of
// rows side by side to the same cache lines; of whole rows that are short they are combed.
static double store_cost(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part) {
    int64_t apart = n->ref[0].stride[t->v];
    int shuffles = comb_shuffles(c->m, apart);
    if (apart == 1) return 0;
    for (int k = 0; k < 2 && shuffles; k++)
        if (t->row[k] >= 0 && n->ref[0].stride[t->row[k]] == 1 && part[k] == apart) return shuffles;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0 && n->ref[0].stride[t->row[k]] == 1 && part[k] >= LIMIT_TRANSPOSE)
            return c->cost->store_transposed +
                   c->cost->store_shuffles * n->lanes / (double)min_i64(part[k], n->lanes);
    return c->cost->store_lane * n->lanes;
}

// Rows of results that begin inside cache lines: the first vector of each is split between two, the
// others go on in lines that were just written. Dear where lines come from the second cache.
static double split_rows(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part) {
    const Ref *w = &n->ref[0];
    if (t->folded || w->stride[t->v] != 1 || !w->crooked) return 0;
    bool far = w->size > room_in(c, 1);
    return (double)(part[0] * part[1]) * (far ? c->cost->split_line_far : c->cost->split_line);
}

// Tests of instances: of lanes in their first and last vectors; of rows in the first and the last
// of several tiles.
static double border_cost(const Nest *n, const Tile *t) {
    bool whole = t->vectors * n->lanes >= n->extent[t->v];
    double lanes = whole ? n->cost->border_row : n->cost->border_lanes;
    double cost = n->guarded >> t->v & 1 ? lanes : 1;
    for (int k = 0; k < 2; k++) {
        if (t->row[k] < 0 || !(n->guarded >> t->row[k] & 1)) continue;
        double tiles = ceil((double)n->extent[t->row[k]] / (double)t->rows[k]);
        if (tiles > 1) cost *= 1 + n->cost->border_tiles / tiles;
    }
    return cost;
}

// Is each iterator that a condition asks for unrolled, so that the generator knows the answer?
static bool is_answered(const Nest *n, const Tile *t) {
    uint64_t open = n->asked & ~t->near;
    if ((int64_t)t->vectors * n->lanes >= n->extent[t->v]) open &= ~((uint64_t)1 << t->v);
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0 && t->rows[k] >= n->extent[t->row[k]])
            open &= ~((uint64_t)1 << t->row[k]);
    return n->asked && !open;
}

// Conditions of one turn: those of a value once for all rows that it does not ask for.
static double guard_ops(const Nest *n, const Tile *t, const int64_t *part) {
    double often = 1;
    if (is_answered(n, t)) return 0;
    for (int k = 0; k < 2; k++)
        if (!n->asked || (t->row[k] >= 0 && n->asked >> t->row[k] & 1)) often *= (double)part[k];
    return n->guards * often * (n->asked >> t->v & 1 ? (double)part[2] : 1);
}

// Cycles from one step of a reduction to the next: minima and maxima have to look for NaN.
static double latency_of(const Machine *m, const Nest *n) {
    bool compares = n->s->op == REDUCE_MIN || n->s->op == REDUCE_MAX;
    return (compares ? n->cost->compare_latency : 1) * m->fma_latency;
}

// To add up the lanes of a sum: less where those of several sums are added up together.
static double folded_end(const Nest *n, const Tile *t) {
    return folded_rows(n, t) ? n->cost->fold_rows
           : t->row[0] >= 0  ? n->cost->fold_tile
                             : n->cost->fold_one;
}

// Cycles of a part of the tile: all turns of the reductions, and what it takes to begin and end.
static double part_cost(const Chooser *c, const Nest *n, const Tile *t, const int64_t *part,
                        double turns) {
    const Machine *m = c->m;
    const MachineCost *cost = c->cost;
    double sums = (double)(part[0] * part[1] * part[2]), shared = 0;
    double loads = loads_of(c, n, t, part, &shared);
    double room = m->vector_registers - LIMIT_OTHER_REGISTERS;
    double split = fmin(LIMIT_PARTS, fmax(1, floor(room / sums)));
    double spread = t->group < 0 ? 0 : (loads - shared - 1) * spread_cost(n, t);
    double ops = sums + work_of(n, t, part);
    double guards = guard_ops(n, t, part);
    double arithmetic =
        (ops + spread + (n->asked && guards > 0 ? sums + guards : 0)) / m->fma_ports;
    double load = (loads - shared) / load_rate(m, n, t);
    double loop = cost->loop_ops / t->turns;
    double issue = (ops + loads - shared + loop + guards) / m->ports[PORT_ISSUE];
    double turn = fmax(fmax(arithmetic, load), fmax(issue, latency_of(m, n) / split));
    double end = t->folded ? folded_end(n, t) : store_cost(c, n, t, part);
    if (!n->s->init) end *= cost->update_factor;
    double ends = (t->folded ? cost->fold_begin : cost->tile_begin) +
                  (cost->tile_store + end) * sums + split_rows(c, n, t, part);
    turn += cost->load_wait * loads + cost->issue_wait * issue + crowding(n, t, part, turns);
    turn *= border_cost(n, t) * (is_answered(n, t) ? cost->known_share : 1);
    double parts = 1;
    if (t->join >= 0 && tile_is_near(n, t))
        parts = ceil(turns * (double)part[2] * m->line_bytes / near_bytes(c));
    return turns * turn + ends * (2 * parts - 1);
}

// A copy that is packed: elements that are turned in registers, several columns at a time; and as
// often as it is made anew, in every iteration of the loops that all operands depend on.
static double pack_cost(const Chooser *c, const Nest *n, const Tile *t) {
    const Ref *x = &n->ref[t->pack];
    const MachineCost *cost = c->cost;
    double times = 1;
    int64_t columns = 1;
    for (int i = 0; i < n->s->niters; i++) {
        if (i == t->v) continue;
        if (!n->s->iter[i].reduction && !shares(n, i)) times *= (double)n->extent[i];
        if (x->stride[i] == 1) columns = max_i64(columns, min_i64(n->extent[i], n->lanes));
    }
    int shuffles = columns == x->stride[t->v] ? comb_shuffles(c->m, columns) : 0;
    double each = x->stride[t->v] == 1 ? cost->pack_contiguous
                  : t->join >= 0       ? cost->pack_joined
                  : shuffles           ? (cost->pack_vector + shuffles) / n->lanes
                                       : cost->pack_transpose * n->lanes / (double)columns;
    double far = chooser_traffic(c, x->size, x->size); // nothing else goes on meanwhile
    return x->size / x->bytes * each + far + cost->pack_begin + cost->pack_again * (times - 1);
}

// Vectors of so many rows along v that lie side by side; a last tile with fewer rows keeps them
// apart in all tiles.
static int64_t joined_vectors(const Nest *n, const Tile *t, int64_t rows) {
    bool even = n->extent[t->join] % t->joined == 0;
    return even ? ceil_div(rows * n->extent[t->v], n->lanes)
                : rows * ceil_div(n->extent[t->v], n->lanes);
}

// Lines come from beyond the second cache in pairs: rows of a tile that do not have whole ones
// bring a line in vain, which is waited for now and then, unless its turn comes soon.
static double odd_lines(const Chooser *c, const Nest *n, const Tile *t) {
    int64_t width = (int64_t)t->vectors * n->lanes, between = 1;
    double cycles = 0;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0) between *= ceil_div(n->extent[t->row[k]], t->rows[k]);
    if (t->folded || t->join >= 0 || width >= n->extent[t->v]) return 0;
    if (between < c->cost->pair_tiles) return 0;
    for (int r = 0; r < n->nrefs; r++) {
        const Ref *x = &n->ref[r];
        if ((r && r == t->pack) || x->stride[t->v] != 1 || x->crooked) continue;
        if (width * x->bytes % (c->cost->line_pair * c->m->line_bytes) == 0) continue;
        double lines = x->size / (double)(width * x->bytes);
        if (x->size > room_in(c, 2))
            cycles += chooser_traffic(c, lines * c->m->line_bytes, x->size) * c->cost->pair_wait;
    }
    return cycles;
}

// Full tiles and what is left over, in every direction. Anything above `limit`, where it is that.
static double tile_cost(const Chooser *c, const Nest *n, Tile *t, double limit) {
    int64_t length[3] = {1, 1, ceil_div(n->extent[t->v], n->lanes)};
    int64_t size[3] = {t->rows[0], t->rows[1], t->vectors};
    double turns = 1, outer = 1, cost = 0;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0) length[k] = n->extent[t->row[k]];
    if (t->join >= 0) length[2] = n->extent[t->join], size[2] = t->joined;
    for (int i = 0; i < n->s->niters; i++) {
        if (i == t->v || i == t->join || i == t->row[0] || i == t->row[1] || t->joins >> i & 1)
            continue;
        int64_t extent = i == t->group ? n->extent[i] / t->groups : n->extent[i];
        *(n->s->iter[i].reduction ? &turns : &outer) *= (double)extent;
    }
    if (t->folded) {
        turns *= (double)ceil_div(t->length, n->lanes);
        length[2] = 1;
    }
    t->near = near_of(c, n, t, turns);
    t->turns = 1;
    for (int i = 0; i < n->s->niters && t->near; i++)
        if (t->near >> i & 1) t->turns *= (double)n->extent[i];
    int64_t tiles[3], rest[3];
    for (int k = 0; k < 3; k++) tiles[k] = length[k] / size[k], rest[k] = length[k] % size[k];
    for (int at = 0; at < 8 && cost * outer <= limit; at++) {
        int64_t part[3];
        double count = 1;
        for (int k = 0; k < 3; k++) {
            part[k] = at >> k & 1 ? rest[k] : size[k];
            count *= (double)(at >> k & 1 ? rest[k] > 0 : tiles[k]);
        }
        if (t->join >= 0) part[2] = joined_vectors(n, t, part[2]);
        if (count > 0)
            cost += count * (part_cost(c, n, t, part, turns) + (at ? c->cost->tail_cycles : 0));
    }
    cost = cost * outer + odd_lines(c, n, t);
    return t->pack ? cost + pack_cost(c, n, t) : cost;
}

// --- Enumeration ---------------------------------------------------------------------------------

// Registers: the sums, one vector of each operand along the lanes, one for what is the same in all.
static bool has_room(const Chooser *c, const Nest *n, const Tile *t) {
    int64_t sums = t->rows[0] * t->rows[1] * t->vectors;
    const MachineCost *cost = c->cost;
    bool busy = t->folded || n->ops > cost->busy_ops;
    int64_t most =
        c->m->vector_registers - LIMIT_OTHER_REGISTERS - (busy ? cost->busy_registers : 0);
    if (n->window >= 0 && n->extent[n->window] <= guarded_unroll(n, t) / 4 &&
        sums * n->extent[n->window] > guarded_unroll(n, t))
        return sums == 1;
    // Windows of minima and maxima have operands to keep, and each step takes several registers.
    bool order = n->s->op == REDUCE_MIN || n->s->op == REDUCE_MAX;
    if (order && n->windows && sums > cost->compare_sums) return t->rows[0] == 1;
    // Lanes of short sums are code without loops, where sums are values like others.
    bool loops = !t->folded || sums * ceil_div(t->length, n->lanes) > c->m->unroll_limit;
    if (!loops && sums > cost->fold_sums) return false;
    int64_t held = (t->folded ? t->rows[0] : t->vectors) + 1; // vectors that rows share, and one
    return sums <= most && (sums + held < c->m->vector_registers || sums <= cost->free_sums);
}

// Does some operand move along the iterator just as it does along a reduction?
static bool slides(const Nest *n, int i) {
    for (int r = 1; r < n->nrefs; r++)
        for (int k = 0; k < n->s->niters; k++)
            if (n->s->iter[k].reduction && n->windows >> k & 1 && n->ref[r].stride[k] &&
                n->ref[r].stride[k] == n->ref[r].stride[i])
                return true;
    return false;
}

// May two values of each write the same element?
static bool meet(const Nest *n, int i, int k) {
    for (int d = 0; d < n->s->write->rank; d++)
        if (affine_uses_iter(n->s->write->sub[d], i) && affine_uses_iter(n->s->write->sub[d], k))
            return true;
    return false;
}

// May be a row of tiles along v: best where vectors are shared, else where anything is; or where
// windows are.
static bool is_row(const Nest *n, int v, int i) {
    bool vectors = false, any = false; // some iterator shares vectors; this one does
    if (n->s->iter[i].reduction || n->extent[i] < 2 || i == v) return false;
    if (!n->injective && meet(n, i, v)) return false;
    if (!shares(n, i)) return slides(n, i) || (n->asked && !(n->asked >> i & 1));
    for (int r = 1; r < n->nrefs; r++) {
        if (!n->ref[r].uses[v]) continue;
        any |= !n->ref[r].uses[i];
        for (int k = 0; k < n->s->niters; k++)
            vectors |= k != v && !n->s->iter[k].reduction && n->extent[k] > 1 && !n->ref[r].uses[k];
    }
    return any || !vectors;
}

// Steps of an iterator are rows only around all values inside of them.
static bool is_whole(const Chooser *c, const Nest *n, const Tile *t, int i) {
    return !is_coarse(c, n, i) || (t->row[0] == i + 1 && t->rows[0] == n->extent[i + 1]);
}

static void try_rows(const Chooser *c, const Nest *n, Tile *t, int k, Tile *best) {
    t->cost = tile_cost(c, n, t, best->cost);
    if (t->cost < best->cost) *best = *t;
    if (k == 2 || (k == 1 && (t->rows[0] < n->extent[t->row[0]] || n->guards > 0))) return;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (i == t->row[0] || i == t->join || !is_row(n, t->v, i)) continue;
        if (!is_whole(c, n, t, i)) continue;
        if (!n->injective && t->row[0] >= 0 && meet(n, i, t->row[0])) continue;
        t->row[k] = i;
        for (t->rows[k] = 2; t->rows[k] <= n->extent[i] && has_room(c, n, t); t->rows[k]++)
            if (goes_up(n, i, t->rows[k])) try_rows(c, n, t, k + 1, best);
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
        if (pack || c->o->plain || !ref->lone || !can_pack(ref, v)) return 0;
        pack = r;
    }
    return pack;
}

// Do rows along v follow each other along g in all that has them, while what has none moves from
// row to row? Then lanes of one row share the latter (code/plan/join.c).
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
    bool chooses =
        n->guards > c->cost->constraint_ops * n->s->nconstraints; // conditions inside its value
    if (groups < 2 || n->lanes % n->extent[v] || chooses || n->guarded >> v & 1) return;
    for (int k = 0; k < c->p->stmts.n; k++) // who reads the result would take other vectors
        for (int r = 1; r < c->nest[k].nrefs; r++)
            if (c->nest[k].ref[r].access->tensor == n->ref[0].access->tensor) return;
    for (int g = 0; g < n->s->niters; g++) {
        if (g == v || n->s->iter[g].reduction || n->extent[g] % groups || !is_group(n, v, g))
            continue;
        if (n->guarded >> g & 1 || is_coarse(c, n, g)) continue;
        Tile t = {.v = v, .join = -1, .group = g, .groups = groups, .vectors = 1};
        t.row[0] = t.row[1] = -1;
        t.rows[0] = t.rows[1] = 1;
        try_rows(c, n, &t, 0, best);
    }
}

static void try_lanes(const Chooser *c, const Nest *n, int v, Tile *best) {
    Tile t = {.v = v, .join = -1, .group = -1, .row = {-1, -1}, .rows = {1, 1}};
    int64_t vectors = min_i64(ceil_div(n->extent[v], n->lanes), c->cost->tile_vectors);
    for (t.pack = to_pack(c, n, v); t.pack >= 0; t.pack = t.pack ? 0 : -1)
        for (t.vectors = 1; t.vectors <= vectors && has_room(c, n, &t); t.vectors++)
            try_rows(c, n, &t, 0, best);
}

// The operand whose rows along v, packed, go on along g as those of the result do; 0: none.
static int to_join(const Nest *n, int v, int g) {
    int pack = 0;
    const Ref *w = &n->ref[0];
    if (w->stride[v] != 1 || w->stride[g] != n->extent[v] || n->s->iter[g].reduction) return 0;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *x = &n->ref[r];
        if (!x->uses[v] && !x->uses[g]) continue;
        if (pack || !x->uses[v] || !x->uses[g] || !x->stepped || !x->once) return 0;
        pack = r;
    }
    if (pack && n->ref[pack].stride[v] == 1 && n->ref[pack].stride[g] == n->extent[v]) return 0;
    return pack;
}

// Short rows that lie apart in an operand, but not in the result: several of them in one go.
static void try_joined(const Chooser *c, const Nest *n, int v, Tile *best) {
    int64_t widest = c->cost->tile_vectors;
    Tile t = {.v = v, .group = -1, .row = {-1, -1}, .rows = {1, 1}};
    if (c->o->plain || n->window >= 0 || n->lanes < 2 || n->extent[v] > widest * n->lanes) return;
    // An iterator of one value may share its subscript: then a copy has no dimension for it.
    if (n->extent[v] < 2) return;
    for (t.join = 0; t.join < n->s->niters; t.join++) {
        bool fits = t.join != v && n->extent[t.join] > 1 && !is_coarse(c, n, t.join);
        t.pack = fits ? to_join(n, v, t.join) : 0;
        int64_t most = min_i64(n->extent[t.join], widest * n->lanes);
        for (t.joined = 1; t.pack && t.joined <= most; t.joined++) {
            t.vectors = (int)joined_vectors(n, &t, t.joined);
            if (t.vectors <= widest && has_room(c, n, &t)) try_rows(c, n, &t, 0, best);
        }
    }
}

// Does iterator i go on where `length` values of iterator v end, in all that is read?
static bool goes_on(const Nest *n, int i, int v, int64_t length) {
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *x = &n->ref[r];
        if (x->hard[i] || x->uses[i] != x->uses[v] || x->stride[i] != x->stride[v] * length)
            return false;
    }
    return true;
}

static void join_reductions(const Nest *n, Tile *t) {
    t->length = n->extent[t->v];
    for (int i = n->s->niters - 1; i >= 0 && n->window < 0; i--)
        if (i != t->v && n->s->iter[i].reduction && goes_on(n, i, t->v, t->length)) {
            t->joins |= (uint64_t)1 << i;
            t->length *= n->extent[i];
        }
}

// A reduction in lanes: all that is read lies along it, once it is packed, or is the same for all
// of it. Results whose rows are shorter than a vector fill lanes in no other way.
static void try_folded(const Chooser *c, const Nest *n, int v, Tile *best) {
    Tile t = {.v = v,
              .join = -1,
              .group = -1,
              .folded = true,
              .vectors = 1,
              .row = {-1, -1},
              .rows = {1, 1}};
    bool along = false;
    t.pack = n->window < 0 ? to_pack(c, n, v) : 0;
    if (t.pack < 0) return;
    if (!t.pack) join_reductions(n, &t);
    t.length = t.pack ? n->extent[v] : t.length;
    if (t.length < c->cost->fold_least) return;
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        if (ref->hard[v] || (ref->uses[v] && !is_vector(n, r, v, t.pack))) return;
        along |= ref->uses[v] && r != t.pack;
    }
    if (!along) return;
    // Tiles of sums, whose lanes are added up in the end, pay where that is far away.
    try_rows(c, n, &t, !t.joins && n->window < 0 ? 0 : 2, best);
}

bool choose_tile(const Chooser *c, const Nest *n, Tile *best) {
    double elements = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction) elements *= (double)n->extent[i];
    double declared =
        c->cost->scalar_op * n->instances * fmax(1, n->ops) + c->cost->scalar_result * elements;
    *best = (Tile){.v = -1, .cost = declared};
    for (int i = 0; i < n->s->niters; i++) {
        bool single = n->extent[i] < 2;
        if (n->s->iter[i].reduction ? single : single && n->ref[0].stride[i] != 1) continue;
        if (n->s->iter[i].reduction)
            try_folded(c, n, i, best);
        else if (n->ref[0].uses[i] && !is_coarse(c, n, i))
            try_lanes(c, n, i, best), try_joined(c, n, i, best), try_groups(c, n, i, best);
    }
    return best->v >= 0;
}
