// Statements without reduction: the iterator that runs in lanes, blocks of rows, and results that
// are stored past the caches.
#include "choose/choose_impl.h"

#include <stdlib.h>

// All loops except `last`: largest strides of the result first, loops of one iteration last, and
// loops of the same stride as declared.
static int64_t result_step(const ChooseStmt *n, int i) {
    return n->extent[i] > 1 ? llabs(n->ref[0].stride[i]) : -1;
}

static void outer_loops(ChooseStmt *n, int last) {
    bool done[PROGRAM_MAX_ITERS] = {false};
    for (int k = 0; k < n->s->niters; k++) {
        int best = -1;
        for (int i = 0; i < n->s->niters; i++)
            if (!done[i] && i != last && (best < 0 || result_step(n, i) > result_step(n, best)))
                best = i;
        if (best < 0) return;
        done[best] = true;
        nest_loop(n, best, 1, KIND_SERIAL);
    }
}

// Can loops over u and v collapse: are rows along v contiguous along u in all accesses?
static bool can_collapse(const ChooseStmt *n, int u, int v) {
    bool contiguous_rows = true;
    for (int r = 0; r < n->nrefs; r++)
        contiguous_rows &=
            n->ref[r].stride[u] == n->ref[r].stride[v] * n->extent[v] && !n->ref[r].hard[u];
    return contiguous_rows;
}

// Rows along v that are much shorter than a vector: the iterator along which they are contiguous
// in the result and lanes should run, if shuffling columns costs less than vectors that are mostly
// empty; -1: there is none.
static int rows_of(const Chooser *c, const ChooseStmt *n, int v) {
    const MachineCost *k = c->cost;
    int64_t columns = n->extent[v];
    double shuffles = (double)(columns * comb_shuffles(c->m, columns)) * k->comb_factor;
    if (shuffles <= 0 || c->o->plain || n->ref[0].stride[v] != 1) return -1;
    for (int u = 0; u < n->s->niters; u++) {
        double cost = (double)columns * n->ops / k->op_rate;
        int64_t vectors = min_i64(n->extent[u], n->lanes); // one for each row instead
        bool fits = u != v && n->ref[0].stride[u] == columns && n->extent[u] >= k->comb_rows;
        for (int r = 0; r < n->nrefs && fits; r++) {
            const ChooseRef *ref = &n->ref[r];
            int64_t pitch = ref->stride[u];
            fits = !ref->hard[u] && !ref->hard[v] &&
                   (!ref->uses[u] || pitch == 1 || (pitch == columns && ref->stride[v] == 1));
            // An operand that all rows share is contiguous along v: a few rows keep lanes along v.
            fits &= ref->uses[u] || !ref->uses[v] || n->extent[u] >= n->lanes;
            if (pitch == columns) cost += shuffles;
        }
        double instead = (double)vectors * (1 + k->op_latency * n->ops);
        if (fits && !can_collapse(n, u, v) && cost <= instead) return u;
    }
    return -1;
}

// Blocks of a few vectors of each column.
static void comb_blocks(ChooseStmt *n, int rows, int column) {
    int kept = 0;
    int64_t most = max_i64(n->extent[rows] / n->lanes, 1);
    int64_t vectors = min_i64(max_i64(n->cost->comb_vectors / n->extent[column], 1), most);
    for (int i = 0; i < n->out.nloops; i++)
        if (n->out.loop[i].iter != n->s->iter[column].name) n->out.loop[kept++] = n->out.loop[i];
    n->out.nloops = kept;
    nest_loop(n, rows, vectors * n->lanes, KIND_SERIAL);
    nest_loop(n, column, 1, KIND_UNROLL);
}

// Does it read a definition that is inlined, whose own accesses are not among those of n?
static bool reads_inlined(const Chooser *c, const ChooseStmt *n) {
    for (int r = 1; r < n->nrefs; r++) {
        int t = n->ref[r].access->tensor;
        if (c->users.writes[t] == 1 && c->nest[c->users.last[t]].place.inlined) return true;
    }
    return false;
}

// Are results stored past the caches? They are if nothing reads them again and they would not stay
// in a cache; not beside gathers, which wait for all stores before them, nor if rows end inside
// cache lines.
static bool is_streamed(const Chooser *c, const ChooseStmt *n, int v) {
    int t = n->ref[0].access->tensor;
    double bytes = 0;
    for (int r = 1; r < n->nrefs; r++)
        if (n->ref[r].hard[v]) return false;
    for (int i = 0; i < n->s->niters; i++) {
        bool lines = n->ref[0].stride[i] * n->ref[0].bytes % c->m->line_bytes == 0;
        if (i == v || n->extent[i] <= 1 || lines) continue;
        if (reads_inlined(c, n) || !can_collapse(n, i, v)) return false;
    }
    if (c->p->tensors.at[t].role != ROLE_OUTPUT || n->s->op != REDUCE_ASSIGN) return false;
    for (int r = 0; r < n->nrefs; r++)
        if (n->ref[r].uses[v]) bytes += n->instances * n->ref[r].bytes;
    double room = n->ops > 0 ? room_in(c, 3) : c->cost->stream_l2 * (double)c->m->cache[2];
    if (bytes <= room || n->instances * n->ref[0].bytes < (double)c->m->cache[2]) return false;
    for (int i = 0; i < c->p->stmts.n; i++) {
        const ChooseStmt *other = &c->nest[i];
        for (int r = other == n; r < other->nrefs; r++)
            if (other->ref[r].access->tensor == t) return false;
    }
    return true;
}

// The iterator along which the result is contiguous, or else strided by a few elements, such as
// pairs and triples; -1: none.
static int contiguous(const ChooseStmt *n) {
    const MachineCost *k = n->cost;
    int best = -1, next = -1;
    int64_t least = LIMIT_NEAR + 1;
    for (int i = n->s->niters - 1; i >= 0 && next < 0; i--) {
        int64_t stride = n->ref[0].stride[i];
        if (stride == 1 && n->extent[i] > 1) next = i;
    }
    for (int i = n->s->niters - 1; i >= 0; i--) {
        int64_t stride = n->ref[0].stride[i];
        if (stride > 1 && stride < least && n->extent[i] >= n->lanes) best = i, least = stride;
    }
    bool dear = n->ops >= k->dear_ops && best >= 0 && next >= 0 &&
                k->dear_part * n->extent[next] <= n->lanes;
    bool worth = next < 0 || (dear && !can_collapse(n, best, next));
    return worth ? best : next;
}

// May another statement share loops, since it accesses the same elements?
bool has_company(const Chooser *c, const ChooseStmt *n) {
    const Users *u = &c->users;
    int mine = n->s->write->tensor, readers = u->lone[mine];
    for (int r = 1; r < n->nrefs; r++) {
        int t = n->ref[r].access->tensor, others = u->writes[t] - (t == mine);
        if (!n->ref[r].lone) continue;
        if (t == mine && readers == u->lone[mine]) readers--;
        if (others > 1 || (others == 1 && !c->nest[u->last[t]].place.inlined)) return true;
    }
    for (int at = u->first[mine]; at && readers > 0; at = u->reader[at - 1].next) {
        const ChooseStmt *other = &c->nest[u->reader[at - 1].stmt];
        if (other == n || other->place.inlined) continue;
        for (int r = 1; r < other->nrefs; r++)
            if (other->ref[r].access->tensor == mine && other->ref[r].lone) return true;
    }
    return false;
}

// Computes some rows of a stencil together, a few vectors at a time, so that shared elements are
// loaded once. Rows in two directions share enough even if they are shorter than a vector; both
// loops are unrolled, so that the outer rows share as well. Half vectors cross fewer cache lines,
// where they are as fast as whole ones; results that are stored past the caches fill whole lines.
static bool choose_rows(const Chooser *c, ChooseStmt *n, int v, bool streamed) {
    int row[2], rows = n->place.taps && !c->o->plain ? stencil_rows(n, row) : 1;
    bool block = rows > 1 && row[1] >= 0;
    bool is_long = n->extent[v] >= c->cost->stencil_least * n->lanes;
    bool half = rows > 1 && !block && !streamed && halves_are_as_fast(c->m, n);
    half = half && stencil_crosses(n, v);
    if (rows < 2 || (!block && !half && !is_long) || has_company(c, n)) return false;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n->out.nloops && row[k] >= 0; i++)
            if (n->out.loop[i].iter == n->s->iter[row[k]].name) n->out.loop[i].step = rows;
    nest_loop(n, v, half ? n->lanes / 2 : c->cost->stencil_vectors * n->lanes, KIND_SERIAL);
    bool copies = block || half || c->cost->stencil_copies;
    for (int k = 1; k >= 0; k--)
        if (row[k] >= 0) nest_loop(n, row[k], 1, copies ? KIND_UNROLL : KIND_SERIAL);
    return true;
}

// A single row of a stencil: blocks of half vectors, where these are as fast as whole ones.
static bool choose_halves(const Chooser *c, ChooseStmt *n, int v) {
    bool taps = n->place.taps && n->out.nloops == 0 && stencil_crosses(n, v);
    if (!taps || c->o->plain || !halves_are_as_fast(c->m, n) || has_company(c, n)) return false;
    if (n->cycles >= c->cost->parallel_worth) return false; // threads divide the row
    nest_loop(n, v, c->cost->stencil_vectors * n->lanes, KIND_SERIAL);
    nest_loop(n, v, n->lanes / 2, KIND_UNROLL);
    return true;
}

// Blocks of several rows of one or two vectors, if the loops cannot collapse.
static void choose_short_rows(const Chooser *c, ChooseStmt *n, int v) {
    int u = -1;
    int64_t rows = c->cost->short_vectors / ceil_div(n->extent[v], n->lanes);
    if (rows < c->cost->short_rows || !n->out.nloops || c->o->plain || has_company(c, n)) return;
    SchedLoop *last = &n->out.loop[n->out.nloops - 1];
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].name == last->iter) u = i;
    bool has_blocks = n->extent[u] >= c->cost->least_blocks * rows;
    if (can_collapse(n, u, v) || last->step != 1 || !has_blocks) return;
    last->step = rows;
    nest_loop(n, u, 1, KIND_UNROLL);
}

// A scatter of rows, Y(I(n),d) += X(n,d): lanes run along the row, whose elements are distinct. All
// other loops run as declared.
void choose_scatter(ChooseStmt *n) {
    bool fits = n->s->write->has_read && n->s->niters <= PROGRAM_MAX_ITERS / 2;
    int v = fits ? contiguous(n) : -1;
    if (v < 0 || n->ref[0].hard[v] || n->s->iter[v].reduction || n->extent[v] < 2) return;
    for (int i = 0; i < n->s->niters; i++)
        if (i != v) nest_loop(n, i, 1, KIND_SERIAL);
    nest_loop(n, v, 1, KIND_VECTOR);
}

// Is the statement little more than a copy of widely strided elements, each a load of its own?
static bool is_picked(const ChooseStmt *n, int v) {
    for (int r = 1; r < n->nrefs && n->ops < n->cost->picked_ops; r++)
        if (n->ref[r].uses[v] && !n->ref[r].hard[v] &&
            llabs(n->ref[r].stride[v]) > n->cost->picked_stride)
            return true;
    return false;
}

void choose_pointwise(Chooser *c, ChooseStmt *n) {
    int v = contiguous(n), rows = v < 0 ? -1 : rows_of(c, n, v), column = v;
    if (rows >= 0) v = rows;
    outer_loops(n, v);
    if (v < 0) return;
    int u = !c->o->plain ? transposed_iter(c, n, v) : -1;
    bool streamed = !c->o->plain && is_streamed(c, n, v);
    if (rows < 0 && !streamed && !has_company(c, n) && choose_across(c, n, v)) {
        n->out.perfect = n->out.nloops;
        return;
    }
    bool columns = rows < 0 && !streamed && !has_company(c, n) && choose_columns(c, n, v);
    bool picked = rows < 0 && u < 0 && !columns && is_picked(n, v);
    if (columns)
        ;
    else if (picked)
        nest_loop(n, v, c->cost->picked_vectors * n->lanes, KIND_SERIAL);
    else if (rows >= 0)
        comb_blocks(n, rows, column);
    else if (u >= 0)
        transpose_blocks(c, n, u, v, streamed);
    else if (!choose_rows(c, n, v, streamed) && (streamed || !choose_halves(c, n, v)))
        choose_short_rows(c, n, v);
    nest_loop(n, v, 1, picked ? KIND_UNROLL : KIND_VECTOR);
    n->out.perfect = n->out.nloops;
    n->out.head.nontemporal = streamed;
}
