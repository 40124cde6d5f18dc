// Reductions: the vector loop and the tile in registers. choose_order.c chooses the loops around
// the tile.
//
// A statement that combines values, whatever it is (GEMM, einsum, convolution, pooling, row and
// column sums), runs as
//
//     [loops over the result, by tiles] [reductions] [rows of the tile] [vectors of the tile]
//
// and one iteration of the innermost machine loop costs the largest of
//
//     arithmetic/ports   loads/ports   instructions/issue   latency/independent sums
//
// where an operand is loaded once per iteration for all parts of the tile that it does not depend
// on. Tiles are enumerated, and tails are rated with the tile that is left. A reduction may itself
// run in lanes, with a horizontal reduction for every element. A short reduction that moves a
// window along the rows (w + s) is innermost: neighbours load their common elements once, as long
// as registers hold them.
#include "choose/choose_tile.h"

#include <math.h>
#include <stdlib.h>

// Operands along the lanes that all rows share and that change from step to step: one in a matrix
// product, two in the sum of B[i, k, l]*D[l, j]*C[k, j].
static int shared_operands(const ChooseStmt *n, const ChooseTile *t) {
    int count = 0;
    for (int r = 1; r < n->nrefs; r++) {
        const bool *uses = n->ref[r].uses;
        bool shared = n->ref[r].reduced && uses[t->v];
        for (int k = 0; k < 2; k++) shared &= t->row[k] < 0 || !uses[t->row[k]];
        count += shared;
    }
    return count;
}

// Do registers hold the sums, the vectors of operands along the lanes, and a broadcast?
static bool has_room(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    int64_t sums = t->rows[0] * t->rows[1] * t->vectors;
    const MachineCost *cost = c->cost;
    if (t->blocked && sums > cost->blocked_sums) return false;
    bool busy = t->horizontal || n->ops > cost->busy_ops;
    int64_t most =
        c->m->vector_registers - LIMIT_OTHER_REGISTERS - (busy ? cost->busy_registers : 0);
    if (n->window >= 0 && n->extent[n->window] <= guarded_unroll(n, t) / 4 &&
        sums * n->extent[n->window] > guarded_unroll(n, t))
        return sums == 1;
    // Each step of a minimum or maximum takes several registers besides those of the window.
    bool order = n->s->op == REDUCE_MIN || n->s->op == REDUCE_MAX;
    if (order && n->windows && sums > cost->compare_sums) return t->rows[0] == 1;
    // Short sums in lanes are straight-line code, where sums are values like others.
    bool loops = !t->horizontal || sums * ceil_div(t->length, n->lanes) > c->m->unroll_limit;
    bool straight = is_straight_sum(n, t);
    if (!loops && sums > (straight ? cost->horizontal_straight_sums : cost->horizontal_sums))
        return false;
    if (sums > most || sums <= cost->free_sums) return sums <= most;
    int64_t vectors = t->vectors * max_i64(shared_operands(n, t), 1);
    int64_t held = (t->horizontal ? t->rows[0] : vectors) + 1; // that rows share, and a broadcast
    return sums + held < c->m->vector_registers;
}

// Does some operand have the same stride along the iterator as along a window's reduction?
static bool slides(const ChooseStmt *n, int i) {
    for (int r = 1; r < n->nrefs; r++)
        for (int k = 0; k < n->s->niters; k++)
            if (n->s->iter[k].reduction && n->windows >> k & 1 && n->ref[r].stride[k] &&
                n->ref[r].stride[k] == n->ref[r].stride[i])
                return true;
    return false;
}

// Are both iterators in one subscript of the result, so that different values may meet?
static bool meet(const ChooseStmt *n, int i, int k) {
    for (int d = 0; d < n->s->write->rank; d++)
        if (affine_uses_iter(n->s->write->sub[d], i) && affine_uses_iter(n->s->write->sub[d], k))
            return true;
    return false;
}

// May iterator i give rows to tiles along v? Preferably if rows share vectors, otherwise if they
// share any operand, or elements of a window.
static bool is_row(const ChooseStmt *n, int v, int i) {
    bool vectors = false, any = false; // some iterator shares vectors; this one does so
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
static bool is_whole(const Chooser *c, const ChooseStmt *n, const ChooseTile *t, int i) {
    return !is_coarse(c, n, i) || (t->row[0] == i + 1 && t->rows[0] == n->extent[i + 1]);
}

static void try_rows(const Chooser *c, const ChooseStmt *n, ChooseTile *t, int k,
                     ChooseTile *best) {
    t->cost = tile_cost(c, n, t, best->cost);
    if (t->cost < best->cost) *best = *t;
    if (k == 2 || (k == 1 && (t->rows[0] < n->extent[t->row[0]] || n->guards > 0))) return;
    for (int i = n->s->niters - 1; i >= 0; i--) {
        if (i == t->row[0] || i == t->collapse || !is_row(n, t->v, i)) continue;
        if (!is_whole(c, n, t, i)) continue;
        if (!n->injective && t->row[0] >= 0 && meet(n, i, t->row[0])) continue;
        t->row[k] = i;
        for (t->rows[k] = 2; t->rows[k] <= n->extent[i] && has_room(c, n, t); t->rows[k]++)
            if (goes_up(n, i, t->rows[k])) try_rows(c, n, t, k + 1, best);
        t->row[k] = -1;
        t->rows[k] = 1;
    }
}

// Is an operand whose address is not linear worth gathering? Sums of a few values do not wait for
// each other, and take single loads as fast.
static bool is_gathered(const ChooseStmt *n, const ChooseRef *ref) {
    double steps = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction) steps *= (double)n->extent[i];
    return ref->gathers && steps >= n->cost->gather_steps;
}

// The operand that must be packed for lanes along v; 0: none; -1: it cannot be packed.
static int to_pack(const Chooser *c, const ChooseStmt *n, int v) {
    int pack = 0;
    for (int r = 1; r < n->nrefs; r++)
        if (n->ref[r].hard[v] && !is_gathered(n, &n->ref[r])) return -1;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *ref = &n->ref[r];
        if (!ref->uses[v] || ref->hard[v] || ref->stride[v] == 1) continue;
        if (pack || c->o->plain || !ref->lone || !can_pack(ref, v)) return 0;
        pack = r;
    }
    return pack;
}

// Are rows along v contiguous along g in the result and in operands with v, while operands without
// v move with g? Then the lanes of one row share the latter (code/plan/collapse.c).
static bool is_group(const ChooseStmt *n, int v, int g) {
    bool moves = false;
    for (int r = 0; r < n->nrefs; r++) {
        const ChooseRef *x = &n->ref[r];
        if (x->hard[v] || x->hard[g]) return false;
        if (x->stride[g] == x->stride[v] * n->extent[v] && (x->stride[v] == 1 || !x->uses[g]))
            continue;
        if (r == 0 || x->uses[v] || x->stride[g] < 1) return false;
        moves = true;
    }
    return moves;
}

// Several rows that are shorter than a vector share one.
static void try_groups(const Chooser *c, const ChooseStmt *n, int v, ChooseTile *best) {
    int64_t groups = n->lanes / n->extent[v];
    bool chooses =
        n->guards > c->cost->constraint_ops * n->s->nconstraints; // the value has conditions
    if (groups < 2 || n->lanes % n->extent[v] || chooses || n->guarded >> v & 1) return;
    for (int k = 0; k < c->p->stmts.n; k++) // readers of the result have other vectors
        for (int r = 1; r < c->nest[k].nrefs; r++)
            if (c->nest[k].ref[r].access->tensor == n->ref[0].access->tensor) return;
    for (int g = 0; g < n->s->niters; g++) {
        if (g == v || n->s->iter[g].reduction || n->extent[g] % groups || !is_group(n, v, g))
            continue;
        if (n->guarded >> g & 1 || is_coarse(c, n, g)) continue;
        ChooseTile t = {.v = v, .collapse = -1, .group = g, .groups = groups, .vectors = 1};
        t.row[0] = t.row[1] = -1;
        t.rows[0] = t.rows[1] = 1;
        try_rows(c, n, &t, 0, best);
    }
}

// A long reduction along which an operand with strided lanes is contiguous: in blocks of it the
// operand is transposed in registers. 0: there is none.
static uint64_t to_block(const Chooser *c, const ChooseStmt *n, int v) {
    if (c->o->plain || !c->cost->blocked_sums || n->window >= 0) return 0;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *x = &n->ref[r];
        if (!x->uses[v] || x->hard[v] || x->stride[v] == 1 || x->bytes < 4) continue;
        for (int i = 0; i < n->s->niters; i++)
            if (n->s->iter[i].reduction && x->stride[i] == 1 && !x->hard[i] && x->stride[v] > 0 &&
                n->extent[i] >= c->cost->least_blocks * n->lanes)
                return (uint64_t)1 << i;
    }
    return 0;
}

static void try_lanes(const Chooser *c, const ChooseStmt *n, int v, ChooseTile *best) {
    ChooseTile t = {.v = v, .collapse = -1, .group = -1, .row = {-1, -1}, .rows = {1, 1}};
    int row = (int)min_i64(ceil_div(n->extent[v], n->lanes), c->cost->tile_row + 1);
    int vectors = (int)min_i64(row, c->cost->tile_vectors);
    for (t.pack = to_pack(c, n, v); t.pack >= 0; t.pack = t.pack ? 0 : -1) {
        for (t.vectors = 1; t.vectors <= vectors && has_room(c, n, &t); t.vectors++)
            try_rows(c, n, &t, 0, best);
        t.vectors = row;
        if (row > vectors && row <= c->cost->tile_row && has_room(c, n, &t))
            try_rows(c, n, &t, 0, best);
    }
    t.pack = 0;
    t.blocked = n->extent[v] > n->lanes / 2 ? to_block(c, n, v) : 0;
    for (t.vectors = 1; t.blocked && t.vectors <= vectors && has_room(c, n, &t); t.vectors++)
        try_rows(c, n, &t, 0, best);
}

// The operand that must be packed so that loops over v and g collapse; 0: none.
static int to_collapse(const ChooseStmt *n, int v, int g) {
    int pack = 0;
    const ChooseRef *w = &n->ref[0];
    if (w->stride[v] != 1 || w->stride[g] != n->extent[v] || n->s->iter[g].reduction) return 0;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *x = &n->ref[r];
        if (!x->uses[v] && !x->uses[g]) continue;
        if (pack || !x->uses[v] || !x->uses[g] || !x->stepped || !x->once) return 0;
        pack = r;
    }
    if (pack && n->ref[pack].stride[v] == 1 && n->ref[pack].stride[g] == n->extent[v]) return 0;
    return pack;
}

// Several short rows that are contiguous in the result, but not in an operand, which is packed.
static void try_collapsed(const Chooser *c, const ChooseStmt *n, int v, ChooseTile *best) {
    int64_t widest = c->cost->tile_vectors;
    ChooseTile t = {.v = v, .group = -1, .row = {-1, -1}, .rows = {1, 1}};
    if (c->o->plain || n->window >= 0 || n->lanes < 2 || n->extent[v] > widest * n->lanes) return;
    // An iterator of extent 1 may share its subscript, and a copy then has no dimension for it.
    if (n->extent[v] < 2) return;
    for (t.collapse = 0; t.collapse < n->s->niters; t.collapse++) {
        bool fits = t.collapse != v && n->extent[t.collapse] > 1 && !is_coarse(c, n, t.collapse);
        t.pack = fits ? to_collapse(n, v, t.collapse) : 0;
        int64_t most = min_i64(n->extent[t.collapse], widest * n->lanes);
        for (t.collapsed = 1; t.pack && t.collapsed <= most; t.collapsed++) {
            t.vectors = (int)collapsed_vectors(n, &t, t.collapsed);
            if (t.vectors <= widest && has_room(c, n, &t)) try_rows(c, n, &t, 0, best);
        }
    }
}

// Can iterator i collapse with `length` values of iterator v in all operands?
static bool goes_on(const ChooseStmt *n, int i, int v, int64_t length) {
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *x = &n->ref[r];
        if (x->hard[i] || x->hard[v] || x->uses[i] != x->uses[v] ||
            x->stride[i] != x->stride[v] * length)
            return false;
    }
    return true;
}

static void collapse_reductions(const ChooseStmt *n, ChooseTile *t) {
    t->length = n->extent[t->v];
    for (int i = n->s->niters - 1; i >= 0 && n->window < 0; i--)
        if (i != t->v && n->s->iter[i].reduction && goes_on(n, i, t->v, t->length)) {
            t->collapses |= (uint64_t)1 << i;
            t->length *= n->extent[i];
        }
}

// Are lanes along reduction v columns of an operand, as many as another iterator has values, so
// that shuffles separate them?
static bool has_columns(const Chooser *c, const ChooseStmt *n, const ChooseRef *ref, int v) {
    if (c->o->plain || !comb_shuffles(c->m, ref->stride[v]) || !c->cost->horizontal_columns)
        return false;
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction && ref->stride[i] == 1 && n->extent[i] == ref->stride[v])
            return !ref->hard[i];
    return false;
}

// Each operand is contiguous along a reduction in lanes, once it is packed, gathered, or
// loop-invariant, or its columns are separated.
static bool runs_in_lanes(const Chooser *c, const ChooseStmt *n, const ChooseTile *t) {
    bool along = false;
    for (int r = 1; r < n->nrefs; r++) {
        const ChooseRef *ref = &n->ref[r];
        bool vector = tile_is_vector(n, r, t->v, t->pack);
        if (!ref->uses[t->v] || ref->hard[t->v]) continue;
        if (!vector && !has_columns(c, n, ref, t->v)) return false;
        along |= r != t->pack && (vector || n->nrefs > 2);
    }
    return along;
}

// Results whose rows are shorter than a vector fill lanes in no other way.
static void try_horizontal(const Chooser *c, const ChooseStmt *n, int v, ChooseTile *best) {
    ChooseTile t = {.v = v,
                    .collapse = -1,
                    .group = -1,
                    .horizontal = true,
                    .vectors = 1,
                    .row = {-1, -1},
                    .rows = {1, 1}};
    for (t.pack = n->window < 0 ? to_pack(c, n, v) : 0; t.pack >= 0; t.pack = t.pack ? 0 : -1) {
        if (!t.pack) collapse_reductions(n, &t);
        t.length = t.pack ? n->extent[v] : t.length;
        if (t.length < c->cost->horizontal_least || !runs_in_lanes(c, n, &t)) continue;
        // Tiles of sums in lanes pay if reductions are long.
        try_rows(c, n, &t, !t.collapses && n->window < 0 ? 0 : 2, best);
    }
}

// Operands whose addresses are computed.
static int computed_refs(const ChooseStmt *n) {
    int all = 0;
    for (int r = 1; r < n->nrefs; r++) {
        bool hard = false;
        for (int i = 0; i < n->s->niters; i++) hard |= n->ref[r].hard[i];
        all += hard;
    }
    return all;
}

bool choose_tile(const Chooser *c, const ChooseStmt *n, ChooseTile *best) {
    double elements = 1;
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction) elements *= (double)n->extent[i];
    double each = c->cost->scalar_op * fmax(1, n->ops) + c->cost->scalar_index * computed_refs(n);
    double declared = each * n->instances + c->cost->scalar_result * elements;
    *best = (ChooseTile){.v = -1, .cost = declared};
    for (int i = 0; i < n->s->niters; i++) {
        bool single = n->extent[i] < 2;
        if (n->s->iter[i].reduction ? single : single && n->ref[0].stride[i] != 1) continue;
        if (is_steps(c, n, i)) continue; // lanes run along single values
        if (n->s->iter[i].reduction)
            try_horizontal(c, n, i, best);
        else if (n->ref[0].uses[i])
            try_lanes(c, n, i, best), try_collapsed(c, n, i, best), try_groups(c, n, i, best);
    }
    return best->v >= 0;
}
