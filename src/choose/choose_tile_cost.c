// The cost of a tile: cycles of the whole statement with it, as choose_tile.c explains.
#include "choose/choose_tile.h"

#include <math.h>

#include <stdlib.h>

bool tile_is_vector(const ChooseStmt *n, int r, int v, int pack) {
    return r == pack || (n->ref[r].stride[v] == 1 && !n->ref[r].hard[v]);
}

// Values of an iterator in a part of the tile, with the nearest reductions unrolled.
static int64_t span_of(const ChooseStmt *n, const ChooseTile *t, const int64_t *part, int i) {
    if (i == t->v) return part[2];
    if (i == t->row[0] || i == t->row[1]) return part[i == t->row[1]];
    if (t->blocked >> i & 1) return n->lanes;
    return t->near >> i & 1 ? n->extent[i] : 1;
}

// Distinct elements of an operand in a part of the tile over all unrolled iterations. Neighbours in
// a window share elements, except along the lanes, where each offset is another vector.
static double window_of(const ChooseStmt *n, const ChooseTile *t, const int64_t *part,
                        const ChooseRef *ref) {
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
        all *= ref->in[d] >> t->v & 1 ? product : fmin(span, product);
    }
    return all;
}

// Columns of a block that is loaded by rows and transposed in registers: unrolled reductions around
// the tile along which the operand is contiguous, or all rows of a tile of sums in lanes.
static int64_t transposed_columns(const ChooseStmt *n, const ChooseTile *t, const ChooseRef *ref) {
    int64_t columns = 1;
    for (int k = 0; k < 2 && t->horizontal; k++)
        if (t->row[k] >= 0 && ref->stride[t->row[k]] == 1 && t->rows[k] == n->extent[t->row[k]])
            return t->rows[k];
    for (int i = n->s->niters - 1; i >= 0; i--)
        if (t->near >> i & 1 && ref->stride[i] == columns && !ref->hard[i])
            columns *= t->blocked >> i & 1 ? n->lanes : n->extent[i];
    return columns;
}

// Does the generator unroll all iterations around the tile? Functions take many operations.
static bool is_straight(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    double sums = (double)(t->rows[0] * t->rows[1] * t->vectors);
    return sums * t->steps * (1 + n->ops * n->cost->unroll_op) <= c->m->unroll_limit;
}

// The processor, where half a vector holds all lanes: some have twice the rates for these.
static const Family *half_family(const Machine *m, const ChooseStmt *n, const ChooseTile *t) {
    bool half =
        m->vector_bytes == LIMIT_VECTOR_BYTES && t->group < 0 && n->extent[t->v] <= n->lanes / 2;
    return half && t->collapse < 0 ? m->family : NULL;
}

static bool is_wide(const Machine *m, const ChooseStmt *n, const ChooseTile *t) {
    return m->vector_bytes == LIMIT_VECTOR_BYTES &&
           (t->group >= 0 || n->extent[t->v] > n->lanes / 2);
}

// Loads per cycle: full 64-byte vectors are slower.
static double load_rate(const Machine *m, const ChooseStmt *n, const ChooseTile *t) {
    const Family *f = half_family(m, n, t);
    if (f) return fmax(m->load_ports, fmin(f->loads, f->load_bytes / (LIMIT_VECTOR_BYTES / 2)));
    if (!is_wide(m, n, t)) return m->load_ports;
    return n->cost->full_load_rate;
}

static double fma_rate(const Machine *m, const ChooseStmt *n, const ChooseTile *t) {
    const Family *f = half_family(m, n, t);
    return m->fma_ports * (f ? f->work[0][WORK_MUL] / fmax(f->work[1][WORK_MUL], 1) : 1);
}

// Loads and stores of each column that is separated by shuffles, beside the sums and all other
// columns: those that registers do not hold are spilled, and loaded again for each row.
static double spilled_columns(const Chooser *c, const ChooseTile *t, int64_t columns) {
    double rows = (double)(t->rows[0] * t->rows[1]), live = (double)(columns * t->vectors);
    double room = c->m->vector_registers - LIMIT_OTHER_REGISTERS - rows * t->vectors;
    return t->horizontal ? 0 : fmax(0, live - room) / live * (1 + rows);
}

// Are lanes enough for a block that is transposed in registers?
static bool transposes_block(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    if (n->lanes < c->cost->transpose_lanes) return false;
    if (c->cost->blocked_sums) return n->extent[t->v] > n->lanes / 2;
    return t->vectors == 1 && n->extent[t->v] >= n->lanes;
}

// The cost of a strided vector in loads: small strides are shuffled from whole vectors, a few lanes
// are inserted one by one, others are gathered. *shuffles: operations among these, for which the
// pipes of the arithmetic are needed.
static double strided_loads(const Chooser *c, const ChooseStmt *n, const ChooseRef *ref,
                            const ChooseTile *t, double *shuffles) {
    int v = t->v;
    *shuffles = 0;
    if (ref->hard[v])
        return c->cost->gather_index +
               (c->cost->gather_begin + c->cost->gather_lane * n->lanes) * load_rate(c->m, n, t);
    int64_t pitch = ref->stride[v], columns = transposed_columns(n, t, ref);
    int combs = comb_shuffles(c->m, pitch);
    double whole = 1;
    if (combs && columns >= pitch && is_straight(c, n, t)) {
        *shuffles = c->cost->comb_shuffle * combs;
        whole += c->cost->comb_spill * spilled_columns(c, t, columns);
    } else if (pitch > 0 && columns >= LIMIT_TRANSPOSE && transposes_block(c, n, t))
        *shuffles = c->cost->transpose_load * n->lanes / (double)min_i64(columns, n->lanes);
    else if (pitch >= 2 && pitch <= LIMIT_NEAR && ref->bytes >= 4 && c->m->has_mask)
        *shuffles = whole = (double)pitch, *shuffles -= 1;
    if (*shuffles > 0) return whole + c->cost->shuffle_load * *shuffles;
    return n->extent[v] <= n->lanes / 2 ? (double)n->extent[v] : c->cost->gather_load * n->lanes;
}

bool tile_slides(const ChooseStmt *n, const ChooseTile *t, int i) {
    for (int r = 1; r < n->nrefs; r++)
        for (int d = 0; d < n->ref[r].likely->rank; d++) {
            uint32_t in = n->ref[r].in[d];
            for (int k = 0; k < 2 && in >> i & 1; k++)
                if (t->row[k] >= 0 && in >> t->row[k] & 1) return true;
        }
    return false;
}

// The reductions that are unrolled around the tile: all of them if they are short, otherwise those
// of windows along its rows, innermost first, if registers hold a fair part of a window.
static uint64_t near_of(const Chooser *c, const ChooseStmt *n, const ChooseTile *t, double steps) {
    double sums = (double)(t->rows[0] * t->rows[1] * t->vectors), limit = c->m->unroll_limit;
    double room = limit / sums, spare = c->m->vector_registers - sums - t->vectors - 1;
    bool keeps = c->cost->kept_windows * spare >= sums / t->vectors;
    uint64_t near = 0;
    if (t->horizontal || t->blocked) return t->blocked;
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
        if (steps > room && !window) continue;
        if (steps > room) room /= (double)n->extent[i];
        near |= (uint64_t)1 << i;
    }
    return near;
}

// Is every element of the operand read once?
static bool is_passing(const ChooseStmt *n, const ChooseRef *ref) {
    for (int i = 0; i < n->s->niters; i++)
        if (n->extent[i] > 1 && !ref->uses[i]) return false;
    return true;
}

// Operations on a window that all rows and lanes share are done once for each of its elements: the
// part of the iterations that do them, at least.
static double fresh_values(const ChooseStmt *n, const ChooseTile *t, const int64_t *part) {
    double all = (double)(part[0] * part[1] * part[2]) * t->steps, most = 0;
    if (t->steps <= 1 || t->horizontal) return 1;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *ref = &n->ref[r];
        for (int k = 0; k < 2; k++)
            if (t->row[k] >= 0 && !ref->uses[t->row[k]]) return 1;
        if (!ref->uses[t->v]) return 1;
        most = fmax(most, window_of(n, t, part, ref) / all);
    }
    return fmin(1, most);
}

// Operations of one iteration before its sums: once for all of the tile that a value does not
// depend on.
static double work_of(const ChooseStmt *n, const ChooseTile *t, const int64_t *part) {
    double all = 0;
    for (int i = 0; i < n->nworks; i++) {
        const ChooseWork *w = &n->work[i];
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

// Iterations of unrolled reductions that move an operand, but not in a window along a row: they are
// outside those that do, and share no elements.
static double steps_beside(const ChooseStmt *n, const ChooseTile *t, const ChooseRef *ref) {
    double steps = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (t->near >> i & 1 && ref->uses[i] && !tile_slides(n, t, i))
            steps *= (double)n->extent[i];
    return steps;
}

// Do most vectors of an operand begin inside cache lines? So they do if a window moves along lanes.
static bool crosses_lines(const ChooseStmt *n, const ChooseTile *t, const ChooseRef *ref) {
    bool crosses = ref->crooked;
    for (int i = 0; i < n->s->niters; i++)
        crosses |= n->windows >> i & 1 && n->extent[i] > 1 && ref->stride[i] == ref->stride[t->v];
    return crosses && ref->uses[t->v];
}

// Does no operand but this one move with rows of the tile?
static bool slides_alone(const ChooseStmt *n, const ChooseTile *t, const ChooseRef *ref) {
    for (int r = 1; r < n->nrefs; r++)
        for (int k = 0; k < 2 && &n->ref[r] != ref; k++)
            if (t->row[k] >= 0 && n->ref[r].uses[t->row[k]]) return false;
    return true;
}

// The share of a window's elements that registers hold until the next rows use them. If nothing
// else slides, the next iteration uses most of what one iteration has loaded, `count` vectors;
// values of several windows are computed for all of their elements.
static double kept_share(const Chooser *c, const ChooseStmt *n, const ChooseTile *t,
                         const int64_t *part, const ChooseRef *ref, double window, double count) {
    double room = c->m->vector_registers - (double)(part[0] * part[1] * part[2]) - 1;
    double live = window / steps_beside(n, t, ref);
    bool alone = slides_alone(n, t, ref);
    for (int r = 1; r < n->nrefs && alone; r++)
        if (&n->ref[r] != ref) room -= n->ref[r].uses[t->v] ? (double)part[2] : 1;
    if (!alone) room -= (double)part[2];
    return fmax(0, fmin(1, room / (alone ? fmin(live, count) : live)));
}

// Loads of one iteration for a part of the tile: part[0] by part[1] rows of part[2] vectors.
// *shared: loads that are saved because registers hold a window; *shuffles: operations on vectors
// that are counted as loads.
static double loads_of(const Chooser *c, const ChooseStmt *n, const ChooseTile *t,
                       const int64_t *part, double *shared, double *shuffles) {
    const MachineCost *cost = c->cost;
    double sum = 0, steps = t->steps;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *ref = &n->ref[r];
        bool along = ref->uses[t->v], whole = !along || tile_is_vector(n, r, t->v, t->pack);
        double count = 1, lines = along && whole && ref->crooked && r != t->pack ? 2 : 1;
        double each = 0, often = along ? (double)part[2] : 1;
        if (along) count = often * (whole ? 1 : strided_loads(c, n, ref, t, &each));
        if (!along && is_wide(c->m, n, t)) count = cost->broadcast_load;
        if (ref->bytes < 4) count *= along ? cost->narrow_vector : cost->narrow_broadcast;
        for (int k = 0; k < 2; k++) {
            if (t->row[k] < 0 || !ref->uses[t->row[k]]) continue;
            count *= (double)part[k];
            often *= (double)part[k];
        }
        *shuffles += each * often;
        bool unrolled = steps > 1 && whole && !t->blocked;
        double window = unrolled ? window_of(n, t, part, ref) : steps * count;
        bool slides = window < steps * count;
        if (unrolled) {
            double kept = kept_share(c, n, t, part, ref, window, count);
            // Rows share lines in L1.
            if (slides)
                lines =
                    slides_alone(n, t, ref) && crosses_lines(n, t, ref) ? cost->window_lines : 1;
            *shared += lines * kept * (count - window / steps);
        }
        bool far = !unrolled || (cost->far_unrolled && !slides);
        if (far && along && whole && ref->size > (double)c->m->cache[1] && !tile_is_near(n, t)) {
            double each_far = cost->far_load;
            bool again = lines > 1; // neighbours share the lines
            lines = ref->lone && ref->once ? each_far
                                           : fmax(lines, each_far); // the former can be packed
            if (again && !t->horizontal && is_passing(n, ref))
                lines = each_far * (1 + 1 / (double)part[2]);
        }
        if (t->horizontal && t->row[0] >= 0 && lines >= cost->far_load) lines *= cost->row_load;
        if (each > 0 && ref->size > (double)c->m->cache[1]) sum += (cost->far_block - 1) * often;
        sum += lines * count;
    }
    return sum;
}

// Rows with a stride of a power of two map to few L1 sets and evict each other.
static double crowding(const ChooseStmt *n, const ChooseTile *t, const int64_t *part,
                       double steps) {
    const MachineCost *cost = n->cost;
    double lost = 0;
    for (int r = 1; r < n->nrefs && steps >= cost->crowd_steps; r++)
        for (int k = 0; k < 2; k++) {
            if (t->row[k] < 0 || r == t->pack || n->ref[r].uses[t->v]) continue;
            int64_t pitch = llabs(n->ref[r].stride[t->row[k]]) * n->ref[r].bytes;
            if (!pitch) continue;
            int64_t sets = rows_of_way(cost, pitch);
            if (sets < cost->crowd_sets)
                lost += fmax(0, (double)part[k] - cost->crowd_lines * (double)sets);
        }
    return cost->crowd_cycles * lost;
}

// Broadcasts within the rows of a group: one shuffle, or a blend for each further row.
static double broadcast_cost(const ChooseStmt *n, const ChooseTile *t) {
    return n->extent[t->v] <= n->cost->blend_lanes ? 1 : (double)(t->groups - 1);
}

// The cost of storing a vector of results, beside a contiguous store: strided lanes are stored one
// by one, transposed with neighbouring rows, or shuffled if these are whole short rows.
static double store_cost(const Chooser *c, const ChooseStmt *n, const ChooseTile *t,
                         const int64_t *part) {
    int64_t pitch = n->ref[0].stride[t->v];
    int shuffles = comb_shuffles(c->m, pitch);
    if (pitch == 1) return 0;
    for (int k = 0; k < 2 && shuffles; k++)
        if (t->row[k] >= 0 && n->ref[0].stride[t->row[k]] == 1 && part[k] == pitch) return shuffles;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0 && n->ref[0].stride[t->row[k]] == 1 && part[k] >= LIMIT_TRANSPOSE)
            return c->cost->store_transposed +
                   c->cost->store_shuffles * n->lanes / (double)min_i64(part[k], n->lanes);
    return c->cost->store_lane * n->lanes;
}

// Rows of results that do not begin at cache lines: the first vector of each is split between two,
// the others continue in lines that were just written. It costs more if lines come from L2.
static double split_rows(const Chooser *c, const ChooseStmt *n, const ChooseTile *t,
                         const int64_t *part) {
    const ChooseRef *w = &n->ref[0];
    if (t->horizontal || w->stride[t->v] != 1 || !w->crooked) return 0;
    bool far = w->size > room_in(c, 1);
    return (double)(part[0] * part[1]) * (far ? c->cost->split_line_far : c->cost->split_line);
}

// The cost of constraints: of lanes in the first and last vectors, of rows in the first and last of
// several tiles.
static double border_cost(const ChooseStmt *n, const ChooseTile *t) {
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

// Are all iterators of the conditions unrolled, so that the generator decides them?
static bool is_answered(const ChooseStmt *n, const ChooseTile *t) {
    uint64_t open = n->asked & ~t->near;
    if ((int64_t)t->vectors * n->lanes >= n->extent[t->v]) open &= ~((uint64_t)1 << t->v);
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0 && t->rows[k] >= n->extent[t->row[k]])
            open &= ~((uint64_t)1 << t->row[k]);
    return n->asked && !open;
}

// Conditions of one iteration: once for all rows that they do not depend on.
static double guard_ops(const ChooseStmt *n, const ChooseTile *t, const int64_t *part) {
    double often = 1;
    if (is_answered(n, t)) return 0;
    for (int k = 0; k < 2; k++)
        if (!n->asked || (t->row[k] >= 0 && n->asked >> t->row[k] & 1)) often *= (double)part[k];
    return n->guards * often * (n->asked >> t->v & 1 ? (double)part[2] : 1);
}

// Cycles from one step of a reduction to the next: minima and maxima check for NaN.
static double latency_of(const Machine *m, const ChooseStmt *n) {
    bool compares = n->s->op == REDUCE_MIN || n->s->op == REDUCE_MAX;
    return (compares ? n->cost->compare_latency : 1) * m->fma_latency;
}

// The number of results of a reduction in lanes if these are few and the generator unrolls all of
// it, and so reduces the lanes of all results together; else 0. More results may fill lanes.
static double few_results(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    double results = 1, steps = (double)ceil_div(t->length, n->lanes);
    for (int i = 0; i < n->s->niters; i++) {
        if (i == t->v || t->collapses >> i & 1) continue;
        if (!n->s->iter[i].reduction && n->extent[i] > n->lanes / 2) return 0;
        *(n->s->iter[i].reduction ? &steps : &results) *= (double)n->extent[i];
    }
    double all = results * steps * (1 + n->ops * n->cost->unroll_op);
    return all <= c->m->unroll_limit ? results : 0;
}

// The horizontal reduction of a sum; cheaper if several are done together.
static double horizontal_end(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    bool together = horizontal_rows(n, t) || few_results(c, n, t) > 0;
    return together                ? n->cost->horizontal_block_end
           : is_straight_sum(n, t) ? n->cost->horizontal_straight_end
           : t->row[0] >= 0        ? n->cost->horizontal_tile_end
                                   : n->cost->horizontal_one_end;
}

static double begin_cost(const Chooser *c, const ChooseStmt *n, const ChooseTile *t, double sums) {
    if (!t->horizontal) return n->cost->tile_begin;
    double results = few_results(c, n, t);
    if (results > 0) return n->cost->horizontal_together * sums / results;
    return is_straight_sum(n, t) ? n->cost->horizontal_straight_begin : n->cost->horizontal_begin;
}

// Cycles of a part of the tile: all iterations of the reductions, and its start and end.
static double part_cost(const Chooser *c, const ChooseStmt *n, const ChooseTile *t,
                        const int64_t *part, double steps) {
    const Machine *m = c->m;
    const MachineCost *cost = c->cost;
    double sums = (double)(part[0] * part[1] * part[2]), shared = 0, shuffles = 0;
    double loads = loads_of(c, n, t, part, &shared, &shuffles);
    if (t->horizontal && few_results(c, n, t) > 1) loads = fmin(loads, sums); // the rest is reused
    double room = m->vector_registers - LIMIT_OTHER_REGISTERS;
    double split = fmin(LIMIT_PARTS, fmax(1, floor(room / sums)));
    double broadcast = t->group < 0 ? 0 : (loads - shared - 1) * broadcast_cost(n, t);
    double ops = sums + work_of(n, t, part);
    double guards = guard_ops(n, t, part);
    double pipes = cost->vector_rate > 0 ? cost->vector_rate : fma_rate(m, n, t);
    double all = ops + shuffles + broadcast + (n->asked && guards > 0 ? sums + guards : 0);
    double arithmetic = fmax(ops / fma_rate(m, n, t), all / pipes);
    double shuffle = (1 - cost->shuffle_load) * (shuffles + broadcast) / cost->shuffle_rate;
    double load = (loads - shared) / load_rate(m, n, t);
    double loop = cost->loop_ops / t->steps;
    double issue = (ops + loads - shared + loop + guards) / m->ports[PORT_ISSUE];
    double step = fmax(fmax(arithmetic, load), fmax(issue, latency_of(m, n) / split));
    step = fmax(step, shuffle);
    double end = t->horizontal ? horizontal_end(c, n, t) : store_cost(c, n, t, part);
    if (!n->s->init) end *= cost->update_factor;
    double ends =
        begin_cost(c, n, t, sums) + (cost->tile_store + end) * sums + split_rows(c, n, t, part);
    step += cost->load_wait * loads + cost->issue_wait * issue + crowding(n, t, part, steps);
    step *= border_cost(n, t) * (is_answered(n, t) ? cost->known_share : 1);
    double parts = 1;
    if (t->collapse >= 0 && tile_is_near(n, t))
        parts = ceil(steps * (double)part[2] * m->line_bytes / near_bytes(c));
    return steps * step + ends * (2 * parts - 1);
}

// The cost of a packed copy, which is made in every iteration of the loops that all operands depend
// on.
static double pack_cost(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    const ChooseRef *x = &n->ref[t->pack];
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
                  : t->collapse >= 0   ? cost->pack_collapsed
                  : shuffles           ? (cost->pack_vector + shuffles) / n->lanes
                                       : cost->pack_transpose * n->lanes / (double)columns;
    double far = chooser_traffic(c, x->size, x->size); // no arithmetic overlaps with it
    return x->size / x->bytes * each + far + cost->pack_begin + cost->pack_again * (times - 1);
}

// Vectors of `rows` rows along v that collapse; if the last tile has fewer rows, rows do not share
// vectors in any tile.
int64_t collapsed_vectors(const ChooseStmt *n, const ChooseTile *t, int64_t rows) {
    bool even = n->extent[t->collapse] % t->collapsed == 0;
    return even ? ceil_div(rows * n->extent[t->v], n->lanes)
                : rows * ceil_div(n->extent[t->v], n->lanes);
}

// Lines come from beyond L2 in pairs: rows of a tile that are no multiple of a pair fetch a line in
// vain, and wait for it now and then, unless it is used soon.
static double odd_lines(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    int64_t width = (int64_t)t->vectors * n->lanes, between = 1;
    double cycles = 0;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0) between *= ceil_div(n->extent[t->row[k]], t->rows[k]);
    if (t->horizontal || t->collapse >= 0 || width >= n->extent[t->v]) return 0;
    if (between < c->cost->pair_tiles) return 0;
    for (int r = 0; r < n->nrefs; r++) {
        const ChooseRef *x = &n->ref[r];
        if ((r && r == t->pack) || x->stride[t->v] != 1 || x->crooked) continue;
        if (width * x->bytes % (c->cost->line_pair * c->m->line_bytes) == 0) continue;
        double lines = x->size / (double)(width * x->bytes);
        if (x->size > room_in(c, 2))
            cycles += chooser_traffic(c, lines * c->m->line_bytes, x->size) * c->cost->pair_wait;
    }
    return cycles;
}

int streamed_operand(const Chooser *c, const ChooseStmt *n) {
    for (int r = 1; r < n->nrefs && n->windows; r++) {
        bool all = n->ref[r].size > room_in(c, 2);
        for (int i = 0; i < n->s->niters; i++)
            if (!n->s->iter[i].reduction && n->extent[i] > 1) all &= n->ref[r].uses[i];
        if (all) return r;
    }
    return 0;
}

// Rows of an operand, or of the result, in a tile with all of its reductions.
static double rows_in_tile(const ChooseStmt *n, const ChooseTile *t, const ChooseRef *ref) {
    const int64_t part[3] = {t->rows[0], t->rows[1], 1};
    ChooseTile all = *t;
    double rows = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction) all.near |= (uint64_t)1 << i;
    for (int d = 0; d < ref->likely->rank; d++) {
        const Affine *sub = ref->likely->sub[d];
        double span = 1;
        for (int k = 0; k < sub->n && !(ref->in[d] >> t->v & 1); k++)
            if (sub->term[k].atom->kind == ATOM_ITER)
                span += (double)(span_of(n, &all, part, sub->term[k].atom->index) - 1);
        rows *= span;
    }
    return rows;
}

// A window that moves over a tensor beyond L2: hardware prefetchers follow rows, and each short
// piece of a row that a narrow tile takes is waited for.
static double broken_rows(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    double tiles = 1, pieces = 0;
    if (t->horizontal || t->collapse >= 0 || t->group >= 0 || !streamed_operand(c, n)) return 0;
    if ((int64_t)t->vectors * n->lanes >= n->extent[t->v]) return 0;
    for (int i = 0; i < n->s->niters; i++) {
        int64_t step = i == t->v ? (int64_t)t->vectors * n->lanes : 1;
        for (int k = 0; k < 2; k++)
            if (i == t->row[k]) step = t->rows[k];
        if (!n->s->iter[i].reduction) tiles *= (double)ceil_div(n->extent[i], step);
    }
    for (int r = 0; r < n->nrefs; r++) {
        int64_t bytes = (int64_t)t->vectors * n->lanes * n->ref[r].bytes;
        bool taken = r != t->pack && n->ref[r].uses[t->v] && n->ref[r].size > room_in(c, 2);
        if (taken && bytes < c->cost->piece_lines * c->m->line_bytes)
            pieces += rows_in_tile(n, t, &n->ref[r]);
    }
    return c->cost->piece_wait * pieces * tiles;
}

// Cycles that the next tile waits for the last stores of a tile with many sums.
static double late_stores(const MachineCost *cost, const ChooseTile *t, const int64_t *part) {
    double sums = (double)(part[0] * part[1] * part[2]);
    return t->horizontal ? 0 : cost->late_store * fmax(0, sums - cost->late_sums);
}

// Cycles of all tiles and their tails; any value above `limit` if they take longer than that.
double tile_cost(const Chooser *c, const ChooseStmt *n, ChooseTile *t, double limit) {
    int64_t length[3] = {1, 1, ceil_div(n->extent[t->v], n->lanes)};
    int64_t size[3] = {t->rows[0], t->rows[1], t->vectors};
    double steps = 1, outer = 1, cost = 0;
    for (int k = 0; k < 2; k++)
        if (t->row[k] >= 0) length[k] = n->extent[t->row[k]];
    if (t->collapse >= 0) length[2] = n->extent[t->collapse], size[2] = t->collapsed;
    for (int i = 0; i < n->s->niters; i++) {
        if (i == t->v || i == t->collapse || i == t->row[0] || i == t->row[1] ||
            t->collapses >> i & 1)
            continue;
        int64_t extent = i == t->group ? n->extent[i] / t->groups : n->extent[i];
        if (t->blocked >> i & 1) extent = ceil_div(extent, n->lanes) * n->lanes; // shuffles of all
        *(n->s->iter[i].reduction ? &steps : &outer) *= (double)extent;
    }
    if (t->horizontal) {
        steps *= (double)ceil_div(t->length, n->lanes);
        length[2] = 1;
    }
    t->near = near_of(c, n, t, steps);
    t->steps = 1;
    for (int i = 0; i < n->s->niters && t->near; i++)
        if (t->near >> i & 1) t->steps *= (double)(t->blocked ? n->lanes : n->extent[i]);
    int64_t tiles[3], rest[3];
    bool several = outer > 1;
    for (int k = 0; k < 3; k++) tiles[k] = length[k] / size[k], rest[k] = length[k] % size[k];
    for (int k = 0; k < 3; k++) several |= length[k] > size[k];
    for (int at = 0; at < 8 && cost * outer <= limit; at++) {
        int64_t part[3];
        double count = 1;
        for (int k = 0; k < 3; k++) {
            part[k] = at >> k & 1 ? rest[k] : size[k];
            count *= (double)(at >> k & 1 ? rest[k] > 0 : tiles[k]);
        }
        if (t->collapse >= 0) part[2] = collapsed_vectors(n, t, part[2]);
        if (count > 0)
            cost += count * (part_cost(c, n, t, part, steps) + (at ? c->cost->tail_cycles : 0) +
                             (several ? late_stores(c->cost, t, part) : 0));
    }
    cost *= outer;
    if (cost > limit) return cost;
    cost += odd_lines(c, n, t) + broken_rows(c, n, t);
    return t->pack ? cost + pack_cost(c, n, t) : cost;
}
