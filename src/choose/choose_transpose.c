// Transposes: statements without reduction whose result is contiguous along one iterator and whose
// operand along another.
//
// Lanes may run along either of the two. Along the result, loads are strided; along the operand,
// stores are. Neighbouring strided vectors form a block of memory that is loaded by rows and
// shuffled into columns (code/micro/transpose.c, code/micro/deinterleave.c). Tails cost most: a few
// lanes or columns are gathered or scattered one by one. Half a vector needs one round of shuffles
// less, and some processors shuffle halves at twice the rate. The cheaper orientation and width are
// found by counting.
#include "choose/choose_impl.h"

#include "base/checked.h"

#include <math.h>
#include <stdlib.h>

// A block: `width` lanes along an iterator, and all values of `column`, which are contiguous. An
// iterator `beside` that collapses with `column` makes it wider by `times` of its values.
typedef struct TransposeBlock {
    int lane, column, beside; // -1: none
    int64_t width, times;
    double cost; // cycles of one element
} TransposeBlock;

static bool is_strided(const ChooseRef *r, int lane) {
    return r->uses[lane] && (r->hard[lane] || llabs(r->stride[lane]) > 1);
}

// Cycles of a load or a store of a vector, with the conversion of narrow elements.
static double access_cycles(const Chooser *c, const ChooseStmt *n, const ChooseRef *r,
                            int64_t width) {
    const MachineCost *k = c->cost;
    const Family *f = c->m->family;
    bool store = r == n->ref;
    double narrow = r->bytes >= 4 ? 0 : store ? k->narrow_store : k->narrow_load;
    double cycles = store ? k->store_cycles : k->load_cycles, bytes = (double)(width * r->bytes);
    if (f) cycles = fmax(cycles, bytes / (store ? f->store_bytes : f->load_bytes));
    return cycles + narrow / speed_of(c->m, n, width);
}

// A strided vector whose lanes are loaded or stored one by one.
static double one_by_one(const MachineCost *k, int64_t lanes, bool store) {
    return store ? k->scatter_lane * (double)lanes + k->scatter_begin
                 : k->gather_lane * (double)lanes + k->gather_begin;
}

static int rounds(int64_t width) {
    int n = 0;
    while (INT64_C(1) << n < width) n++;
    return n;
}

// Cycles of `columns` neighbouring strided vectors of `lanes` lanes.
static double group_cycles(const Chooser *c, const ChooseStmt *n, const ChooseRef *r,
                           const TransposeBlock *b, int64_t lanes, int64_t columns) {
    bool store = r == n->ref;
    int64_t pitch = llabs(r->stride[b->lane]), bytes = r->bytes > 4 ? 8 : 4;
    int64_t width = min_i64(b->width, INT64_C(1) << rounds(n->extent[b->lane]));
    bool full = width * bytes == LIMIT_VECTOR_BYTES;
    double rate = fmax(c->m->family ? c->m->family->work[full][WORK_SHUFFLE] : 1, 1);
    double access = access_cycles(c, n, r, width);
    bool separated = columns == pitch && !is_transposed(c->m, pitch, b->width, (int)bytes);
    double shuffles = separated ? comb_shuffles(c->m, pitch) * c->cost->comb_factor : 0;
    bool block = columns >= LIMIT_TRANSPOSE && lanes >= LIMIT_TRANSPOSE &&
                 width * bytes >= LIMIT_TRANSPOSE_BYTES && r->stride[b->column] == 1;
    if (!columns || !lanes) return 0;
    if (shuffles > 0 && lanes > 1 && width >= LIMIT_COMB_LANES)
        return (double)columns * (shuffles / rate + access);
    if (!block) return (double)columns * one_by_one(c->cost, lanes, store);
    return rounds(width) * (double)max_i64(lanes, columns) / rate + (double)lanes * access;
}

static double strided_cycles(const Chooser *c, const ChooseStmt *n, const ChooseRef *r,
                             const TransposeBlock *b, int64_t columns) {
    int64_t extent = n->extent[b->lane], tail = extent % b->width, full = extent / b->width;
    int64_t most = min_i64(b->width, INT64_C(1) << rounds(extent));
    bool comb = columns == llabs(r->stride[b->lane]) && comb_shuffles(c->m, columns);
    if (comb && !is_transposed(c->m, columns, b->width, r->bytes > 4 ? 8 : 4)) most = columns;
    double groups = (double)(columns / most);
    double whole = groups * group_cycles(c, n, r, b, b->width, most) +
                   group_cycles(c, n, r, b, b->width, columns % most);
    double last = groups * group_cycles(c, n, r, b, tail, most) +
                  group_cycles(c, n, r, b, tail, columns % most);
    return (double)full * whole + last;
}

// An operand that is the same for all columns is accessed once for all of them.
static int64_t columns_of(const ChooseRef *r, const TransposeBlock *b, int64_t columns) {
    bool varies = r->uses[b->column] || (b->beside >= 0 && r->uses[b->beside]);
    return varies ? columns : 1;
}

static double block_cost(const Chooser *c, const ChooseStmt *n, const TransposeBlock *b) {
    int64_t columns = n->extent[b->column] * b->times;
    double vectors = (double)ceil_div(n->extent[b->lane], b->width), cost = 0;
    for (int r = 0; r < n->nrefs; r++) {
        int64_t own = columns_of(&n->ref[r], b, columns);
        if (is_strided(&n->ref[r], b->lane))
            cost += strided_cycles(c, n, &n->ref[r], b, own);
        else
            cost += access_cycles(c, n, &n->ref[r], b->width) * vectors * (double)own;
    }
    cost += n->ops / c->cost->op_rate / speed_of(c->m, n, b->width) * vectors * (double)columns;
    return cost / (double)(n->extent[b->lane] * columns);
}

// Lanes along `lane`: as many as a vector has, or half of them if that is cheaper.
static TransposeBlock along(const Chooser *c, const ChooseStmt *n, int lane, int column) {
    TransposeBlock b = {
        .lane = lane, .column = column, .beside = -1, .width = n->lanes, .times = 1};
    b.cost = block_cost(c, n, &b);
    TransposeBlock half = b;
    half.width = max_i64(n->lanes / 2, 1);
    half.cost = block_cost(c, n, &half);
    return half.cost < c->cost->half_gain * b.cost ? half : b;
}

static bool is_column(const ChooseRef *r, int v, int u) {
    return u != v && is_strided(r, v) && !r->hard[v] && r->stride[u] == 1 && !r->hard[u];
}

// The iterator along which an operand is contiguous that is strided along the lanes; -1: none. Of
// several, the one whose blocks are cheapest: another operand is then accessed one by one.
static int other_side(const Chooser *c, const ChooseStmt *n, int v, int64_t least) {
    int best = -1;
    for (int r = 1; r < n->nrefs; r++)
        for (int u = 0; u < n->s->niters; u++) {
            if (u == best || n->extent[u] < least || !n->ref[0].stride[u]) continue;
            if (!is_column(&n->ref[r], v, u)) continue;
            if (best < 0 || along(c, n, v, u).cost < along(c, n, v, best).cost) best = u;
        }
    return best;
}

int transposed_iter(const Chooser *c, const ChooseStmt *n, int v) {
    int u = n->extent[v] < LIMIT_TRANSPOSE ? -1 : other_side(c, n, v, 2);
    if (u < 0 || n->extent[u] >= LIMIT_TRANSPOSE) return u;
    for (int r = 1; r < n->nrefs; r++)
        if (n->ref[r].stride[u] == 1 && comb_shuffles(c->m, llabs(n->ref[r].stride[v]))) return u;
    return other_side(c, n, v, LIMIT_TRANSPOSE);
}

// Lanes along u: with several values of an iterator that collapses with v in the result, if they
// fill blocks better.
static TransposeBlock across(const Chooser *c, const ChooseStmt *n, int u, int v) {
    TransposeBlock best = along(c, n, u, v);
    for (int o = 0; o < n->s->niters; o++) {
        if (o == u || o == v || n->ref[0].stride[o] != n->extent[v]) continue;
        for (int64_t k = 2; k <= n->extent[o] && k * n->extent[v] <= c->cost->transpose_columns;
             k++) {
            TransposeBlock b = best;
            int64_t blocks = ceil_div(n->extent[o], k); // the last one may be short
            b.beside = o, b.times = k;
            b.cost = block_cost(c, n, &b) * (double)(blocks * k) / (double)n->extent[o];
            if (b.cost < c->cost->beside_gain * best.cost) best = b;
        }
    }
    return best;
}

static void drop_loop(ChooseStmt *n, int iter) {
    int kept = 0;
    for (int i = 0; i < n->out.nloops; i++)
        if (n->out.loop[i].iter != n->s->iter[iter].name) n->out.loop[kept++] = n->out.loop[i];
    n->out.nloops = kept;
}

bool choose_across(const Chooser *c, ChooseStmt *n, int v) {
    int u = n->ref[0].stride[v] == 1 ? other_side(c, n, v, LIMIT_TRANSPOSE) : -1;
    if (u < 0 || c->o->plain) return false;
    TransposeBlock b = across(c, n, u, v);
    if (b.cost > c->cost->across_gain * along(c, n, v, u).cost) return false;
    drop_loop(n, u);
    for (int i = 0; i < n->out.nloops && b.beside >= 0; i++)
        if (n->out.loop[i].iter == n->s->iter[b.beside].name) n->out.loop[i].step = b.times;
    nest_loop(n, u, b.width, KIND_SERIAL);
    if (b.beside < 0) nest_loop(n, v, n->lanes, KIND_SERIAL);
    if (b.beside >= 0) nest_loop(n, b.beside, 1, KIND_UNROLL);
    nest_loop(n, v, 1, KIND_UNROLL);
    nest_loop(n, u, 1, KIND_VECTOR);
    return true;
}

// Rows of the result that a block writes in turn: as many as there are registers, but no more than
// L1 keeps of rows that map to few of its sets.
static int64_t rows_in_turn(const Chooser *c, const ChooseStmt *n, int u) {
    int64_t rows = max_i64(n->lanes, c->m->vector_registers);
    int64_t pitch = llabs(n->ref[0].stride[u]) * n->ref[0].bytes;
    int64_t sets = pitch ? rows_of_way(c->cost, pitch) : c->cost->crowd_sets;
    double kept = c->cost->crowd_lines * (double)sets;
    while (sets < c->cost->crowd_sets && rows > LIMIT_TRANSPOSE && (double)rows > kept) rows /= 2;
    return rows;
}

// The iterator whose steps follow all columns along u in the operand that is contiguous along u;
// -1: none.
static int next_columns(const ChooseStmt *n, int u, int v) {
    for (int r = 1; r < n->nrefs; r++)
        for (int o = 0; o < n->s->niters && n->ref[r].stride[u] == 1; o++)
            if (o != u && o != v && n->ref[r].stride[o] == n->extent[u] && !n->ref[r].hard[o] &&
                n->extent[o] > 1 && n->ref[0].stride[o])
                return o;
    return -1;
}

// Fewer columns along u than lanes: blocks continue with the columns that follow them.
bool choose_columns(const Chooser *c, ChooseStmt *n, int v) {
    int u = n->extent[v] < LIMIT_TRANSPOSE || c->o->plain ? -1 : other_side(c, n, v, 2);
    int o = u < 0 ? -1 : next_columns(n, u, v);
    if (o < 0) return false;
    int64_t width = halves_are_as_fast(c->m, n) ? n->lanes / 2 : n->lanes;
    int64_t times = ceil_div(c->cost->column_blocks * width, n->extent[u]);
    if (n->extent[u] >= width || n->extent[u] * n->extent[o] < LIMIT_TRANSPOSE) return false;
    drop_loop(n, u);
    drop_loop(n, o);
    nest_loop(n, o, min_i64(times, n->extent[o]), KIND_SERIAL);
    nest_loop(n, v, width, KIND_SERIAL);
    nest_loop(n, u, 1, KIND_UNROLL);
    nest_loop(n, o, 1, KIND_UNROLL);
    return true;
}

// A block of rows of a dense matrix, straight-line code that reads each of them as far as possible:
// a processor that looks far ahead overlaps its loads, shuffles and stores.
static bool transpose_runs(const Chooser *c, ChooseStmt *n, int u, int v) {
    const MachineCost *k = c->cost;
    bool wide = n->lanes * n->ref[0].bytes == LIMIT_VECTOR_BYTES && n->nrefs == 2;
    if (!k->transpose_run || !wide || n->ref[1].bytes != n->ref[0].bytes || has_company(c, n))
        return false;
    if (n->ref[0].stride[u] != n->extent[v] || n->ref[1].stride[v] != n->extent[u]) return false;
    if (rows_of_way(k, n->ref[0].stride[u] * n->ref[0].bytes) < k->transpose_sets) return false;
    int64_t run = ceil_div(n->extent[u], ceil_div(n->extent[u], k->transpose_run));
    nest_loop(n, v, k->transpose_rows, KIND_SERIAL);
    nest_loop(n, u, ceil_div(run, n->lanes) * n->lanes, KIND_SERIAL);
    nest_loop(n, u, 1, KIND_UNROLL);
    return true;
}

// Loops over blocks as wide as registers allow: a line that two vectors share is then written by
// neighbouring stores, unless its row is evicted before. Results that are stored past the caches
// are written in whole lines. Half vectors of results that stay in L1 are stored row by row if they
// are not aligned, since stores that continue in a line take less time.
void transpose_blocks(const Chooser *c, ChooseStmt *n, int u, int v, bool streamed) {
    int64_t wide = max_i64(n->lanes, c->m->vector_registers), width = along(c, n, v, u).width;
    int64_t side = c->cost->stream_vectors * n->lanes, rows = rows_in_turn(c, n, u);
    bool half = width < n->lanes && !streamed;
    if (rows < wide && n->extent[v] % n->lanes == 0) width = n->lanes;
    drop_loop(n, u);
    if (!half && !streamed && transpose_runs(c, n, u, v)) return;
    if (half && n->ref[0].size <= near_bytes(c) && n->ref[0].stride[u] % width) {
        nest_loop(n, u, width, KIND_SERIAL);
        nest_loop(n, v, c->cost->transpose_vectors * width, KIND_SERIAL);
        nest_loop(n, u, 1, KIND_SERIAL);
        nest_loop(n, v, width, KIND_SERIAL);
        return;
    }
    if (streamed) nest_loop(n, v, side, KIND_SERIAL);
    if (streamed) nest_loop(n, u, side, KIND_SERIAL);
    nest_loop(n, streamed ? v : u, half ? rows : n->lanes, KIND_SERIAL);
    nest_loop(n, streamed ? u : v, half ? width : streamed ? n->lanes : wide, KIND_SERIAL);
    nest_loop(n, u, 1, KIND_SERIAL);
}
