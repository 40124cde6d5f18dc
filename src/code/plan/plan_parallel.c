// Chooses which loops marked parallel are divided among threads, and which allocations are private
// to threads. See plan.h.
//
// The marks promise (tree.h) that no two iterations assign one element and that none reads an
// element that another writes. They promise nothing about updates: `C op= x` of different
// iterations may update the same element of C, and threads would lose updates. So a loop runs in
// parallel only if, for every buffer that it updates and that outlives an iteration, some subscript
// differs between iterations; otherwise it runs serially, and the report names the buffer that the
// Schedule should privatise. Conditions do not count, because a tile in registers also loads and
// stores elements whose update a condition skips; so under conditions no other iteration may assign
// them either. If iterations are apart only because of conditions, as after splits that do not
// divide, tiles are exact (Plan.exact): they touch existing elements alone. Threads share only the
// outermost parallel loop of a nest, with the loops perfectly nested in it.
#include "code/plan/plan.h"

#include "base/checked.h"

#include <string.h>

// Adds scale·a to the coefficients of loops, c[nloops] being the constant; false: not linear.
static bool coefficients(const Plan *p, const Affine *a, int64_t scale, int64_t *c) {
    if (!a->linear || !checked_fma(a->constant, scale, &c[p->nloops])) return false;
    for (int i = 0; i < a->n; i++) {
        int id = a->term[i].atom->index;
        int64_t k;
        if (!checked_mul(a->term[i].coef, scale, &k)) return false;
        if (p->passed[id]) {
            if (!coefficients(p, p->passed[id], k, c)) return false;
        } else if (!checked_add(c[p->loop_of_id[id]], k, &c[p->loop_of_id[id]])) {
            return false;
        }
    }
    return true;
}

// The range of a subscript inside one iteration of `loop`: from lo to hi in steps of gcd.
typedef struct ParallelReach {
    int64_t lo, hi, gcd;
} ParallelReach;

static bool reach_of(const Plan *p, const int64_t *c, const PNode *loop, ParallelReach *r) {
    *r = (ParallelReach){c[p->nloops], c[p->nloops], 0};
    for (int i = loop->loop + 1; i < p->nloops; i++) { // loops are numbered outside in
        int64_t span, extent = p->loop[i]->extent;
        if (!c[i] || extent <= 1) continue;
        if (!checked_mul(c[i], extent - 1, &span)) return false;
        if (!checked_add(span < 0 ? r->lo : r->hi, span, span < 0 ? &r->lo : &r->hi)) return false;
        r->gcd = gcd_i64(r->gcd, c[i]);
    }
    return true;
}

// l + k·index of `last` >= 0, inside the parallel loop.
typedef struct ParallelBound {
    const Lin *l;
    int last;
    int64_t k;
} ParallelBound;

static int64_t coef_of(const ParallelBound *b, int loop) {
    return loop == b->last ? b->k : lin_coef(b->l, loop);
}

// Narrows the range of a subscript by a bound that is a multiple of it: below `m/22 m/4 m`, the
// bound 21 - 4·m.1 - m.2 >= 0 limits 22·m + 4·m.1 + m.2.
static void narrow(const Plan *p, const PNode *loop, const int64_t *c, const ParallelBound *b,
                   ParallelReach *r) {
    int ref = -1;
    int64_t x, y, least;
    for (int i = 0; i < b->l->n; i++)
        if (b->l->t[i].loop <= loop->loop) return; // differs between iterations
    for (int i = loop->loop + 1; i < p->nloops; i++) {
        if (p->loop[i]->extent <= 1) continue;
        if (ref < 0 && c[i]) ref = i;
        if (ref < 0 && coef_of(b, i)) return;
        if (ref < 0) continue;
        if (!checked_mul(coef_of(b, i), c[ref], &x) || !checked_mul(coef_of(b, ref), c[i], &y) ||
            x != y)
            return;
    }
    if (ref < 0 || !coef_of(b, ref) || !checked_mul(b->l->c, c[ref], &least)) return;
    int64_t k = coef_of(b, ref), at = c[p->nloops], end;
    bool below = (k < 0) != (c[ref] < 0); // it limits the subscript from above
    if (k > 0 && !checked_mul(least, -1, &least)) return;
    if (k < 0) k = -k;
    if (!checked_add(at, below ? floor_div(least, k) : ceil_div(least, k), &end)) return;
    if (below)
        r->hi = min_i64(r->hi, end);
    else
        r->lo = max_i64(r->lo, end);
}

// The same by all bounds and conditions around a leaf inside the loop.
static void narrow_around(const Plan *p, const PNode *loop, int leaf, const int64_t *c,
                          ParallelReach *r) {
    const PNode *at = loop;
    while (at->kind != P_LEAF) {
        for (int i = 0; at != loop && at->kind == P_LOOP && i < at->nbounds; i++)
            narrow(p, loop, c, &(ParallelBound){at->bound[i].rest, at->loop, at->bound[i].k}, r);
        for (int i = 0; at->kind == P_GUARD && i < at->nconds; i++)
            narrow(p, loop, c, &(ParallelBound){at->cond[i], -1, 0}, r);
        int child = 0;
        while (leaf >= at->child[child]->span.last) child++;
        at = at->child[child];
    }
}

static bool updates(const Plan *p, int leaf, int buffer) {
    const PNode *n = p->leaves.at[leaf];
    return n->leaf->op != REDUCE_ASSIGN && n->write.buffer == buffer;
}

static bool has_conditions(const PNode *n) {
    bool has = n->kind == P_LOOP ? n->nbounds > 0 : n->kind == P_GUARD && n->nconds + n->nhard > 0;
    for (int i = 0; i < n->nchild && !has; i++) has = has_conditions(n->child[i]);
    return has;
}

// Does subscript d differ between iterations, so that they always write different elements?
// `exact`: those that conditions let through.
static bool apart_in(const Plan *p, const PNode *loop, int buffer, int d, bool exact,
                     int64_t *first, int64_t *c) {
    ParallelReach sum = {0};
    int n = 0;
    bool all = has_conditions(loop);
    for (int i = loop->span.first; i < loop->span.last; i++) {
        if (all ? p->leaves.at[i]->write.buffer != buffer : !updates(p, i, buffer)) continue;
        int64_t *into = n ? c : first;
        ParallelReach r;
        memset(into, 0, (size_t)(p->nloops + 1) * sizeof *into);
        if (!coefficients(p, p->leaves.at[i]->leaf->write->sub[d], 1, into)) return false;
        if (!into[loop->loop] || !reach_of(p, into, loop, &r)) return false;
        if (memcmp(into, first, (size_t)(loop->loop + 1) * sizeof *into)) return false;
        if (exact) narrow_around(p, loop, i, into, &r);
        sum.lo = n ? min_i64(sum.lo, r.lo) : r.lo;
        sum.hi = n ? max_i64(sum.hi, r.hi) : r.hi;
        sum.gcd = n ? 0 : r.gcd;
        n++;
    }
    int64_t k = first[loop->loop] < 0 ? -first[loop->loop] : first[loop->loop], span;
    if (sum.hi - sum.lo < k) return true;
    return sum.gcd && checked_mul(k, loop->extent - 1, &span) && span < sum.gcd;
}

// Is the buffer allocated inside an iteration of the loop?
static bool is_private(const Plan *p, const PNode *loop, int last_loop, int buffer) {
    return buffer >= p->tree->nargs && p->alloc_loop[buffer] >= loop->loop &&
           p->alloc_loop[buffer] <= last_loop;
}

static int last_loop_in(const PNode *n) {
    int last = n->kind == P_LOOP ? n->loop : -1;
    for (int i = 0; i < n->nchild; i++) {
        int inner = last_loop_in(n->child[i]);
        if (inner > last) last = inner;
    }
    return last;
}

// The first buffer in which iterations of the loop may update the same element; -1: none.
static int meeting_in(const Plan *p, const PNode *loop, int last_loop, bool exact) {
    int64_t *c = arena_new_n(p->arena, int64_t, 2 * (p->nloops + 1));
    for (int i = loop->span.first; i < loop->span.last; i++) {
        const PNode *n = p->leaves.at[i];
        int buffer = n->write.buffer;
        if (!updates(p, i, buffer) || is_private(p, loop, last_loop, buffer)) continue;
        bool apart = false;
        for (int d = 0; d < n->leaf->write->rank && !apart; d++)
            apart = apart_in(p, loop, buffer, d, exact, c, c + p->nloops + 1);
        if (!apart) return buffer;
    }
    return -1;
}

static int meeting(Plan *p, const PNode *loop, int last_loop) {
    int buffer = meeting_in(p, loop, last_loop, false);
    if (buffer < 0) return buffer;
    buffer = meeting_in(p, loop, last_loop, true);
    p->exact |= buffer < 0;
    return buffer;
}

// The number of marked loops that are perfectly nested in a parallel one, without allocations in
// between.
static int collapsible(Plan *p, const PNode *loop, int last_loop) {
    int n = 0;
    for (const PNode *at = loop; !at->nbounds && at->nchild == 1; at = at->child[0], n++) {
        const PNode *in = at->child[0];
        if (in->kind != P_LOOP || in->mark != KIND_PARALLEL || in->nbounds || in->extent < 2) break;
        for (int b = p->tree->nargs; b < p->tree->buffers.n; b++)
            if (p->alloc_loop[b] == at->loop) return n;
        if (meeting(p, in, last_loop) >= 0) break;
    }
    return n;
}

static int64_t automatic_grain(const PNode *loop, int64_t iterations) {
    int64_t each = max_i64(loop->span.count / max_i64(iterations, 1), 1);
    return ceil_div(LIMIT_TASK, each);
}

static void make_parallel(Plan *p, PNode *n) {
    int last = last_loop_in(n), meets = meeting(p, n, last);
    if (meets >= 0) {
        CodeLoss loss = {n->line, THREADS_MEET, 0, p->tree->buffers.at[meets].name};
        vec_push(p->arena, &p->losses, loss);
        return;
    }
    int64_t iterations = n->extent, inner = 1;
    n->threads.parallel = true;
    n->threads.collapse = collapsible(p, n, last);
    PNode *at = n;
    for (int i = 0; i < n->threads.collapse; i++) {
        at = at->child[0];
        at->threads.has_parallel = true;
        if (!checked_mul(inner, at->extent, &inner)) p->declined = "too many parallel iterations";
    }
    if (!checked_mul(iterations, inner, &iterations)) p->declined = "too many parallel iterations";
    if (!n->threads.grain)
        n->threads.grain = automatic_grain(n, iterations);
    else if (!checked_mul(n->threads.grain, inner, &n->threads.grain))
        n->threads.grain = INT64_MAX;
    if (n->threads.grain < iterations) p->shared += iterations;
    for (int b = p->tree->nargs; b < p->tree->buffers.n; b++)
        if (is_private(p, n, last, b)) p->private[b] = true;
}

static void walk(Plan *p, PNode *n) {
    if (n->kind == P_LOOP && n->mark == KIND_PARALLEL && n->extent > 1) make_parallel(p, n);
    n->threads.has_parallel = n->threads.parallel;
    for (int i = 0; i < n->nchild && !n->threads.parallel; i++) {
        walk(p, n->child[i]);
        n->threads.has_parallel |= n->child[i]->threads.has_parallel;
    }
}

void plan_parallel(Plan *p) { walk(p, p->root); }
