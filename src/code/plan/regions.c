// Plan, step 5: finds regions, the largest sequences of siblings whose tile fits in registers, from
// the outside in. Decides which of their loops are machine loops, which are unrolled, and how often
// bodies are copied.
#include "code/plan/plan.h"

#include "base/checked.h"
#include "code/micro/micro_math.h"

// The vector operations of an expression: 1, or more for functions that are expanded inline.
static int64_t expr_count(const Expr *e) {
    int64_t count = 1;
    if (e->kind != EXPR_OP) return count;
    if (e->n && math_has(e->op, e->arg[0]->type)) count += math_cost(e->op, e->arg[0]->type) / 8;
    for (int i = 0; i < e->n; i++) count += expr_count(e->arg[i]) - 1;
    return count;
}

void plan_number(Plan *p, PNode *n, int *leaf) {
    n->span.first = *leaf;
    if (n->kind == P_LEAF) {
        n->span.count = expr_count(n->leaf->value);
        (*leaf)++;
    }
    for (int i = 0; i < n->nchild; i++) {
        plan_number(p, n->child[i], leaf);
        n->span.count += n->child[i]->span.count;
    }
    if (n->kind == P_LOOP) {
        int64_t trips = n->simd.vector ? ceil_div(n->extent, n->simd.lanes) : n->extent;
        if (__builtin_mul_overflow(n->span.count, trips, &n->span.count))
            n->span.count = INT64_MAX / 4;
    }
    n->span.last = *leaf;
}

// The iterations in the tail for which code is generated, or all iterations.
static int64_t extent_of(const PNode *loop) {
    return loop->variant.limit >= 0 ? loop->variant.limit : loop->extent;
}

static int64_t trips_of(const PNode *loop) {
    return loop->simd.vector ? ceil_div(extent_of(loop), loop->simd.lanes) : extent_of(loop);
}

static int64_t unroll_limit(const Plan *p) { return p->machine->unroll_limit; }

bool plan_writes_skip(const Plan *p, const PNode *loop) {
    for (int i = loop->span.first; i < loop->span.last; i++) {
        const Mem *w = &p->leaves.at[i]->write;
        if (!w->off || lin_coef(w->off, loop->loop)) return false;
    }
    return true;
}

// Do copies at different indices of `loop` access different elements here? There is then no gain in
// compiling them together.
static bool copies_differ(const Plan *p, const Mem *m, int loop) {
    if (!m->off || !lin_coef(m->off, loop)) return false;
    int64_t k = lin_coef(m->off, loop);
    for (int i = 0; i < m->off->n; i++) {
        const PNode *inner = p->loop[m->off->t[i].loop];
        int64_t step = m->off->t[i].k * inner->simd.lanes,
                trips = ceil_div(inner->extent, inner->simd.lanes);
        if (inner->loop > loop && !inner->form.real && k % step == 0 &&
            (k < 0 ? -k : k) / (step < 0 ? -step : step) < trips)
            return false; // a sliding window
    }
    return true;
}

bool plan_has_index(const Expr *e) {
    if (e->kind == EXPR_INDEX) return true;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (plan_has_index(e->arg[i])) return true;
    return false;
}

static bool leaf_replays(const Plan *p, const PNode *leaf, int loop) {
    if (!leaf->write.off || lin_coef(leaf->write.off, loop)) return false;
    for (int i = 0; i < leaf->nreads; i++) {
        const Mem *m = &leaf->read[i];
        if (!m->off) return false;
        if (m->buffer != leaf->write.buffer && !copies_differ(p, m, loop)) return false;
        if (m->repeat && lin_coef(m->off, loop) % (m->lane * m->repeat)) return false;
        int64_t size = type_info[m->type].bytes; // neighbouring columns are transposed together
        if (leaf->simd.width > 1 && m->lane && m->lane != size && lin_coef(m->off, loop) == size)
            return false;
    }
    return !plan_has_index(leaf->leaf->value);
}

// Do the copies of a loop's body differ only in addresses?
static bool body_replays(const Plan *p, const PNode *n, int loop) {
    if (n->kind == P_GUARD) return false;
    if (n->kind == P_LEAF) return leaf_replays(p, n, loop);
    if (n->form.real) return false;
    for (int i = 0; i < n->nbounds; i++)
        if (lin_coef(n->bound[i].rest, loop)) return false;
    for (int i = 0; i < n->nchild; i++)
        if (!body_replays(p, n->child[i], loop)) return false;
    return true;
}

// Do two reads of a buffer move alike, so that they coincide in all copies or in none?
static bool reads_agree(const Plan *p, const PNode *n) {
    const Mem *first[8];
    int count = 0;
    for (int l = n->span.first; l < n->span.last; l++) {
        const PNode *leaf = p->leaves.at[l];
        for (int r = 0; r < leaf->nreads; r++) {
            const Mem *m = &leaf->read[r];
            int i = 0;
            while (i < count && first[i]->buffer != m->buffer) i++;
            if (i == 8) return false;
            if (i == count) first[count++] = m;
            if (lin_coef(first[i]->off, n->loop) != lin_coef(m->off, n->loop)) return false;
        }
    }
    return true;
}

static bool loop_replays(const Plan *p, const PNode *n) {
    if (n->kind != P_LOOP || n->simd.vector) return false;
    for (int i = 0; i < n->nchild; i++)
        if (!body_replays(p, n->child[i], n->loop)) return false;
    return reads_agree(p, n);
}

// Unrolls everything; the outermost loops that allow it are replayed.
static void unroll_all(PNode *n) {
    n->form.real = n->form.replay = false;
    n->form.unroll = 1;
    for (int i = 0; i < n->nchild; i++) unroll_all(n->child[i]);
}

static void choose_replay(const Plan *p, PNode *n) {
    bool head = loop_replays(p, n) && n->extent > 1;
    for (int i = 0; i < n->nchild && !head; i++) choose_replay(p, n->child[i]);
    while (head && loop_replays(p, n)) { // a chain of loops
        n->form.replay = true;
        if (n->nchild > 1) break;
        n = n->child[0];
    }
}

static bool only_assigns(const Plan *p, const PNode *n) {
    for (int i = n->span.first; i < n->span.last; i++)
        if (p->leaves.at[i]->leaf->op != REDUCE_ASSIGN) return false;
    return true;
}

// A short loop marked `unroll` around loops without the mark: they stay loops in each of its
// copies.
static bool is_copied_alone(const Plan *p, const PNode *n) {
    bool large = false;
    if (n->kind != P_LOOP || n->mark != KIND_UNROLL || n->extent > 16) return false;
    for (int i = 0; i < n->nchild; i++)
        large |= n->child[i]->span.count > (n->most ? n->most : unroll_limit(p));
    return large;
}

// Does a condition inside depend on `loop` and on a loop around it?
static bool decides(const Lin *l, int loop) { return lin_coef(l, loop) && l->t[0].loop < loop; }

static bool chooses_by(Plan *p, const Expr *e, int loop) {
    const Lin *l = e->type == TYPE_BOOL ? code_condition(p, e) : NULL;
    bool found = l && decides(l, loop);
    for (int i = 0; !l && !found && e->kind == EXPR_OP && i < e->n; i++)
        found = chooses_by(p, e->arg[i], loop);
    return found;
}

static bool has_edge(Plan *p, const PNode *n, int loop) {
    bool found = n->kind == P_LEAF && n->simd.width > 1 && chooses_by(p, n->leaf->value, loop);
    for (int i = 0; n->kind == P_GUARD && i < n->nconds && !found; i++)
        found = decides(n->cond[i], loop);
    for (int i = 0; n->kind == P_LOOP && i < n->nbounds && !found; i++)
        found = decides(n->bound[i].rest, loop);
    for (int i = 0; i < n->nchild && !found; i++) found = has_edge(p, n->child[i], loop);
    return found;
}

// Is it the loop of a triangle or a band? Conditions inside then hold in a range of its iterations
// that depends on outer loops, and a machine loop can be divided at that range (gen/cut.c).
static bool is_cut(Plan *p, const PNode *n) {
    if (n->kind != P_LOOP || n->mark == KIND_UNROLL || n->most || !plan_writes_skip(p, n))
        return false;
    bool found = false;
    for (int i = 0; i < n->nchild && !found; i++) found = has_edge(p, n->child[i], n->loop);
    return found;
}

// Records why; returns false.
static bool declined(Plan *p, LossWhy why, int most) {
    p->spill = (CodeLoss){.why = why, .most = most};
    return false;
}

enum { MOST_UNCUT = 16 }; // a loop with at most this number of iterations is not divided

// Marks the loops of a candidate region real or unrolled; false if some loop can be neither.
// `pins`: it may have a tile.
static bool mark(Plan *p, PNode *n, bool pins) {
    int64_t limit = n->most                  ? n->most
                    : n->mark == KIND_UNROLL ? LIMIT_MARKED_UNROLL * unroll_limit(p)
                                             : unroll_limit(p);
    if (!n->most && n->mark != KIND_UNROLL && only_assigns(p, n))
        limit = min_i64(limit, LIMIT_ASSIGNED_COPIES);
    if (n->kind == P_LEAF) return true;
    bool again = pins && n->mark != KIND_UNROLL && n->extent > 2 && loop_replays(p, n);
    bool alone = is_copied_alone(p, n);
    if (n->kind == P_LOOP && trips_of(n) > MOST_UNCUT && n->span.count > limit / 16 && is_cut(p, n))
        limit = 0;
    if (n->span.count <= (again ? limit / 2 : limit) && !alone) {
        unroll_all(n);
        if (pins) choose_replay(p, n);
        return true;
    }
    if (alone) {
        n->form.real = n->form.replay = false;
        n->form.unroll = 1;
    } else if (n->kind == P_LOOP) {
        if (!plan_writes_skip(p, n)) return declined(p, SPILL_UNROLL, (int)limit);
        n->form.real = n->extent > 1;
        n->form.replay = false;
        n->form.unroll = 1;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!mark(p, n->child[i], pins)) return false;
    n->form.replay = n->form.real && loop_replays(p, n);
    for (int i = 0; i < n->nchild && n->form.replay; i++) unroll_all(n->child[i]);
    return true;
}

// The elements that a region writes under its real loops, found by enumerating its copies.
typedef struct RegionTile {
    Plan *p;
    int first_loop; // loops from here on are inside the region
    int64_t *value; // by loop, from the first one on
    int n, limit;
    struct TileAt {
        int buffer;
        int64_t at;
        int64_t lane;
        int width;
        const Lin *off;
        int summed; // lanes of the reductions into it along a vector loop; 0: none yet
    } at[64];
    bool fits;
} RegionTile;

static int64_t lin_inside(const RegionTile *t, const Lin *l) {
    int64_t at = l->c;
    for (int i = 0; i < l->n; i++)
        if (l->t[i].loop >= t->first_loop) at += l->t[i].k * t->value[l->t[i].loop - t->first_loop];
    return at;
}

// Are the parts of two offsets that vary outside the region equal?
static bool same_outside(const RegionTile *t, const Lin *a, const Lin *b) {
    int i = 0;
    for (; i < a->n && a->t[i].loop < t->first_loop; i++)
        if (i >= b->n || b->t[i].loop != a->t[i].loop || b->t[i].k != a->t[i].k) return false;
    return i >= b->n || b->t[i].loop >= t->first_loop;
}

static void tile_add(RegionTile *t, const PNode *leaf) {
    const Mem *w = &leaf->write;
    t->fits &= w->off != NULL;
    if (!t->fits) return;
    int64_t at = lin_inside(t, w->off);
    for (int i = 0; i < t->n; i++)
        if (t->at[i].buffer == w->buffer && t->at[i].at == at) return;
    if (t->n >= t->limit) {
        t->fits = false;
        return;
    }
    t->at[t->n++] = (struct TileAt){w->buffer, at, w->lane, leaf->simd.width, w->off, 0};
}

bool plan_pins(const PNode *n) {
    if (n->kind == P_LOOP && (n->form.real || n->form.replay)) return true;
    for (int i = 0; i < n->nchild; i++)
        if (plan_pins(n->child[i])) return true;
    return false;
}

// Does a loop of the region have one value in each enumerated copy?
static bool is_walked(const RegionTile *t, const PNode *n) {
    return n->loop >= t->first_loop && !n->form.real && !plan_writes_skip(t->p, n);
}

// Does the copy exist in some iteration of the other loops? The last block of a block may not:
// below `m/27 m/5 m`, 27 of 6 x 5 copies do.
static bool copy_exists(const RegionTile *t, const PNode *n, int64_t v) {
    for (int i = 0; i < n->nbounds; i++) {
        const Lin *rest = n->bound[i].rest;
        int64_t most = rest->c;
        int64_t k = n->bound[i].k, last = n->simd.vector ? n->simd.lanes - 1 : 0;
        bool known = checked_fma(k, k > 0 ? v + last : v, &most);
        for (int j = 0; j < rest->n && known; j++) {
            const PNode *loop = t->p->loop[rest->t[j].loop];
            int64_t at = is_walked(t, loop) ? t->value[loop->loop - t->first_loop]
                         : rest->t[j].k > 0 ? loop->extent - 1
                                            : 0;
            known = checked_fma(rest->t[j].k, at, &most);
        }
        if (known && most < 0) return false;
    }
    return true;
}

static void tile_walk(RegionTile *t, const PNode *n, bool under_real) {
    if (!t->fits || (!under_real && !plan_pins(n))) return;
    if (n->kind == P_LEAF) {
        tile_add(t, n);
        return;
    }
    bool walked = n->kind == P_LOOP && is_walked(t, n);
    int64_t trips = walked ? extent_of(n) : 1;
    int64_t step = n->kind == P_LOOP && n->simd.vector ? n->simd.lanes : 1;
    for (int64_t v = 0; v < trips && t->fits; v += step) {
        if (walked && !copy_exists(t, n, v)) continue;
        if (n->kind == P_LOOP) t->value[n->loop - t->first_loop] = v;
        for (int i = 0; i < n->nchild; i++)
            tile_walk(t, n->child[i],
                      under_real || (n->kind == P_LOOP && (n->form.real || n->form.replay)));
    }
}

// Does every access to a buffer of the tile access exactly one element (or vector) of it?
static bool mem_agrees(const RegionTile *t, const Mem *m, int width) {
    for (int i = 0; i < t->n; i++) {
        if (t->at[i].buffer != m->buffer) continue;
        if (m->inner || !m->off || m->repeat || !same_outside(t, m->off, t->at[i].off))
            return false;
        for (int j = 0; j < m->off->n; j++) {
            const PNode *l = t->p->loop[m->off->t[j].loop];
            if (l->loop >= t->first_loop && (l->form.real || l->form.replay)) return false;
        }
        bool vector_here = t->at[i].width > 1 && t->at[i].lane != 0;
        bool vector_there = width > 1 && m->lane != 0;
        if (vector_here != vector_there) return false;
        if (vector_here && (t->at[i].width != width || t->at[i].lane != m->lane)) return false;
    }
    return true;
}

// Reductions in lanes into one element must all have the same number of lanes, because they share a
// register.
static bool lanes_agree(RegionTile *t, const PNode *leaf) {
    if (leaf->simd.width == 1 || leaf->write.lane || leaf->leaf->op == REDUCE_ASSIGN) return true;
    for (int i = 0; i < t->n; i++) {
        struct TileAt *at = &t->at[i];
        if (at->buffer != leaf->write.buffer) continue;
        if (at->summed && at->summed != leaf->simd.width) return false;
        at->summed = leaf->simd.width;
    }
    return true;
}

// Loops are numbered from outside in and left to right, so the first one found has the smallest
// number.
int plan_first_loop(const PNode *n, int none) {
    if (n->kind == P_LOOP) return n->loop;
    for (int i = 0; i < n->nchild; i++) {
        int first = plan_first_loop(n->child[i], none);
        if (first != none) return first;
    }
    return none;
}

// The largest loop number here. Collapsed loops leave gaps between the numbers.
static int last_loop(const PNode *n) {
    int last = n->kind == P_LOOP ? n->loop : -1;
    const Lin *off = n->kind == P_LEAF ? n->write.off : NULL;
    for (int i = 0; off && i < off->n; i++) last = (int)max_i64(last, off->t[i].loop);
    for (int i = 0; i < n->nchild; i++) last = (int)max_i64(last, last_loop(n->child[i]));
    return last;
}

static int most_operands(const Expr *e) {
    int most = e->n;
    for (int i = 0; i < e->n; i++) {
        int inner = most_operands(e->arg[i]);
        if (inner > most) most = inner;
    }
    return most;
}

// The registers that a leaf needs besides the tile: two operands and a result; more for selections,
// guards and tails of reductions in lanes.
static int leaf_needs(const Plan *p, const PNode *n) {
    bool lanes = n->simd.width > 1 && n->write.lane == 0 && !p->machine->has_mask;
    bool plain = most_operands(n->leaf->value) <= 2 && !lanes;
    for (int i = 0; i < n->nreads; i++) plain &= n->read[i].off != NULL;
    return plain ? 3 : 6;
}

static int tile_limit(const Plan *p, PNode **nodes, int n) {
    int need = 3;
    for (int i = nodes[0]->span.first; i < nodes[n - 1]->span.last; i++)
        if (leaf_needs(p, p->leaves.at[i]) > need) need = leaf_needs(p, p->leaves.at[i]);
    return p->machine->vector_registers - 1 - need; // one is reserved by the back-end
}

// `all`: include elements that are not repeatedly updated.
static RegionTile tile_of(Plan *p, PNode **nodes, int n, bool all) {
    RegionTile t = {.p = p, .limit = tile_limit(p, nodes, n), .fits = true};
    t.first_loop = p->nloops;
    for (int i = 0; i < n && t.first_loop == p->nloops; i++)
        t.first_loop = plan_first_loop(nodes[i], p->nloops);
    int last = t.first_loop;
    for (int i = 0; i < n; i++) last = (int)max_i64(last, last_loop(nodes[i]));
    t.value = arena_new_n(p->arena, int64_t, last - t.first_loop + 1);
    for (int i = 0; i < n; i++) tile_walk(&t, nodes[i], all);
    return t;
}

// Sets *tile to the number of its elements.
static bool tile_fits(Plan *p, PNode **nodes, int n, bool all, int *tile) {
    RegionTile t = tile_of(p, nodes, n, all);
    *tile = t.n;
    if (!t.fits && t.n < t.limit) return declined(p, SPILL_COMPUTED, 0);
    if (!t.fits) return declined(p, SPILL_TOO_MANY, t.limit);
    for (int i = nodes[0]->span.first; i < nodes[n - 1]->span.last; i++) {
        const PNode *leaf = p->leaves.at[i];
        bool agrees = mem_agrees(&t, &leaf->write, leaf->simd.width) && lanes_agree(&t, leaf);
        for (int r = 0; r < leaf->nreads && agrees; r++)
            agrees = mem_agrees(&t, &leaf->read[r], leaf->simd.width);
        if (!agrees) return declined(p, SPILL_SHARED, 0);
    }
    return true;
}

// The first node with a flag, the run-time choice between initialising and keeping elements.
static const PNode *flag_first(const PNode *n) {
    while (n->nchild && !n->flag) n = n->child[0];
    return n->flag && !n->nconds ? n : NULL;
}

// Nothing repeats, but a flag decides how elements start: in registers they are initialised or
// loaded, and stored once.
static bool begins_by_flag(PNode **nodes, int n) {
    bool by_flag = n > 1 && flag_first(nodes[0]) && nodes[0]->kind == P_GUARD;
    for (int i = 0; i < n && by_flag; i++) by_flag = !plan_pins(nodes[i]);
    return by_flag;
}

// Does a part inside start by a flag, or would it if it fits where the whole does not?
static bool has_flagged_part(const PNode *n) {
    if (n->flag || n->nconds || n->nhard || n->simd.vector || !flag_first(n)) return false;
    return n->kind == P_GUARD || n->extent == 1 || !plan_pins(n);
}

// Does the node assign a constant to an element into which lanes of the region's leaves are
// reduced?
static bool is_deferrable(const Plan *p, const PNode *init, int first, int last) {
    bool lanes = false;
    if (init->kind != P_LEAF || init->leaf->op != REDUCE_ASSIGN || init->simd.width > 1 ||
        init->leaf->value->kind != EXPR_CONST || !init->write.off)
        return false;
    for (int i = first; i < last; i++) {
        const PNode *n = p->leaves.at[i];
        if (n->write.buffer != init->write.buffer || n == init) continue;
        if (n->leaf->op == REDUCE_ASSIGN || n->simd.width == 1 || n->write.lane || !n->write.off)
            return false;
        lanes = true;
    }
    return lanes;
}

// Can the tests of flags be deferred to the horizontal reductions? The region is then straight-line
// code for any number of rows.
static bool defer(const Plan *p, PNode *n, int first, int last) {
    bool ok = true;
    n->form.deferred = false;
    if (n->kind == P_GUARD && n->flag) {
        ok = !n->nconds && !n->nhard && n->nchild;
        for (int i = 0; i < n->nchild && ok; i++) ok = is_deferrable(p, n->child[i], first, last);
        n->form.deferred = ok;
        return ok;
    }
    for (int i = 0; i < n->nchild; i++) ok &= defer(p, n->child[i], first, last);
    return ok;
}

static void forget_deferred(PNode *n) {
    n->form.deferred = false;
    for (int i = 0; i < n->nchild; i++) forget_deferred(n->child[i]);
}

static bool all_deferred(const Plan *p, PNode **nodes, int n) {
    bool ok = true;
    for (int i = 0; i < n && ok; i++)
        ok = !plan_pins(nodes[i]) &&
             defer(p, nodes[i], nodes[0]->span.first, nodes[n - 1]->span.last);
    for (int i = 0; i < n && !ok; i++) forget_deferred(nodes[i]);
    return ok;
}

static bool fits(Plan *p, PNode **nodes, int n, int *tile) {
    bool pins = true;
    nodes[0]->form.pinned = false;
    for (int i = 0; i < n; i++)
        if (nodes[i]->threads.has_parallel) return declined(p, SPILL_THREADS, 0);
    LossWhy refused = LOSS_NONE;
    for (int i = nodes[0]->span.first; i < nodes[n - 1]->span.last && !refused; i++)
        refused = (LossWhy)p->refused->tile[i];
    pins = !refused;
    for (int i = 0; i < n; i++)
        if (!mark(p, nodes[i], pins)) return false;
    if (all_deferred(p, nodes, n))
        return tile_fits(p, nodes, n, false, tile) && (!*tile || pins || declined(p, refused, 0));
    nodes[0]->form.pinned = pins && begins_by_flag(nodes, n) && tile_fits(p, nodes, n, true, tile);
    if (nodes[0]->form.pinned) return true;
    if (n == 1 && has_flagged_part(nodes[0])) return false;
    return tile_fits(p, nodes, n, false, tile) && (!*tile || pins || declined(p, refused, 0));
}

// PSpan.count for the present numbers of iterations.
static int64_t count_here(const PNode *n) {
    int64_t count = n->kind == P_LEAF ? n->span.count : 0;
    for (int i = 0; i < n->nchild; i++) count += count_here(n->child[i]);
    if (n->kind == P_LOOP && __builtin_mul_overflow(count, trips_of(n), &count))
        count = INT64_MAX / 4;
    return min_i64(count, INT64_MAX / 4);
}

// A real loop whose body is straight-line gets as many copies of it as the limit allows.
static void choose_unroll(Plan *p, PNode *n) {
    if (n->kind == P_LOOP && n->form.real) {
        bool straight = true;
        int64_t body = 0;
        for (int i = 0; i < n->nchild; i++) {
            int64_t count = count_here(n->child[i]);
            straight &= count <= unroll_limit(p);
            body += count;
        }
        int64_t trips = n->simd.vector ? extent_of(n) / n->simd.lanes : extent_of(n);
        // Enough copies to hide the loop overhead, and without a remainder if possible.
        int64_t room = unroll_limit(p) * LIMIT_BODY_PART / LIMIT_BODY_WHOLE;
        int64_t most = min_i64(trips, min_i64(LIMIT_BODY_COPIES, body ? room / body : 1));
        bool cut = is_cut(p, n);
        if (cut) most = min_i64(most, ceil_div(trips, 8));
        while (cut && most & (most - 1)) most &= most - 1; // limits are divided by it
        int64_t u = most;
        while (u > (most + 1) / 2 && trips % u && !cut) u--;
        if (trips % max_i64(u, 1)) u = most;
        n->form.unroll = straight && u > 1 ? (int)u : 1;
    }
    for (int i = 0; i < n->nchild; i++) choose_unroll(p, n->child[i]);
}

// Splitting accumulators. The steps of a reduction form a chain; `chains` of them run concurrently
// inside its outermost reduction loop. If these are fewer than the operations that the machine can
// overlap, each chain is split into accumulators that alternate, as far as registers suffice.
typedef struct Around {
    const PNode *loop[TREE_MAX_DEPTH * 2];
    int n;
} Around;

// `tile` values are kept in any case, `room` registers are available.
static int split_of(Plan *p, const PNode *leaf, const Around *around, int tile, int room) {
    const Mem *w = &leaf->write;
    int64_t chains = 1, steps = 1, turn = LIMIT_PARTS;
    if (leaf->leaf->op == REDUCE_ASSIGN || !w->off || w->type != type_compute(w->type) ||
        w->type == TYPE_BOOL)
        return 1;
    bool inside = false;
    for (int i = 0; i < around->n; i++) {
        const PNode *loop = around->loop[i];
        bool reduced = lin_coef(w->off, loop->loop) == 0;
        inside |= reduced;
        if (loop->form.real && reduced && is_cut(p, loop))
            turn = loop->form.unroll;               // few, and seldom many
        int64_t trips = max_i64(trips_of(loop), 1); // a tail may have none
        if (inside && trips < 1 << 20)
            *(reduced ? &steps : &chains) *= trips;
        else if (reduced)
            steps = 1 << 20;
        steps = min_i64(steps, 1 << 20);
        chains = min_i64(chains, 1 << 20);
    }
    int64_t most = min_i64(turn, room / max_i64(chains, tile)), asked = leaf->leaf->accumulators;
    int64_t busy = p->machine->fma_latency * p->machine->fma_ports;
    // Only a Schedule that asks for lanes or accumulators may reorder a sum.
    if (!asked && leaf->simd.width == 1 && type_is_float(w->type)) return 1;
    int64_t split = asked ? min_i64(asked, steps) : min_i64(ceil_div(busy, chains), steps / 4);
    return (int)max_i64(1, min_i64(split, most));
}

static void split_reductions(Plan *p, PNode *n, Around *around, int tile, int room) {
    if (n->kind == P_LEAF) n->form.split = split_of(p, n, around, tile, room);
    if (n->kind == P_LOOP) around->loop[around->n++] = n;
    for (int i = 0; i < n->nchild; i++) split_reductions(p, n->child[i], around, tile, room);
    if (n->kind == P_LOOP) around->n--;
}

// Chooses the copies of loop bodies, and the parts of sums.
static void choose_copies(Plan *p, PNode **nodes, int n, int tile) {
    int room = tile_limit(p, nodes, n);
    for (int i = 0; i < n; i++) {
        Around around = {.n = 0};
        choose_unroll(p, nodes[i]);
        split_reductions(p, nodes[i], &around, tile, room);
    }
}

void plan_adapt(Plan *p, PNode **nodes, int n) {
    choose_copies(p, nodes, n, tile_of(p, nodes, n, nodes[0]->form.pinned).n);
}

static bool has_only_leaves(const PNode *n) {
    for (int i = 0; i < n->nchild; i++)
        if (n->child[i]->kind != P_LEAF) return false;
    return true;
}

static bool is_summed(const PNode *leaf, const PNode *loop) {
    return loop->extent > 1 && leaf->leaf->op != REDUCE_ASSIGN &&
           !(leaf->write.off && lin_coef(leaf->write.off, loop->loop));
}

// The sums in the loop do not stay in registers throughout it.
static void spill_inside(Plan *p, const PNode *loop) {
    for (int i = loop->span.first; i < loop->span.last; i++) {
        PNode *leaf = p->leaves.at[i];
        if (!is_summed(leaf, loop)) continue;
        leaf->form.spill = p->spill;
        leaf->form.spill.line = loop->line;
    }
}

// The sums stay in registers throughout the loops of a region: where these have many steps, it does
// not matter what happens between them.
static void keep_inside(Plan *p, const PNode *n) {
    enum { MANY_STEPS = 8 };
    bool many = n->kind == P_LOOP && trips_of(n) >= MANY_STEPS;
    for (int i = n->span.first; many && i < n->span.last; i++)
        if (is_summed(p->leaves.at[i], n)) p->leaves.at[i]->form.spill.why = LOSS_NONE;
    for (int i = 0; i < n->nchild; i++) keep_inside(p, n->child[i]);
}

// Each region is searched among the next MAX_SPAN nodes, so that long programs take linear time.
void plan_regions(Plan *p, PNode **nodes, int n) {
    enum { MAX_SPAN = 64 };
    for (int i = 0; i < n;) {
        int span = (int)min_i64(n - i, MAX_SPAN), tile = 0;
        p->spill = (CodeLoss){0};
        while (span > 0 && !fits(p, nodes + i, span, &tile)) span = span > 4 ? span / 2 : span - 1;
        if (span > 0) {
            nodes[i]->form.region = span;
            for (int j = i; j < i + span; j++) keep_inside(p, nodes[j]);
            choose_copies(p, nodes + i, span, tile);
            i += span;
            continue;
        }
        PNode *at = nodes[i++];
        if (at->kind == P_LOOP) {
            spill_inside(p, at);
            at->form.real = at->extent > 1;
            at->form.replay = false;
            at->form.unroll = 1;
            if (at->simd.vector ||
                has_only_leaves(at)) { // several vectors or elements per iteration
                int64_t body = 0;
                for (int c = 0; c < at->nchild; c++) body += at->child[c]->span.count;
                at->form.unroll = body <= 4 ? 4 : body <= 8 ? 2 : 1;
            }
        }
        plan_regions(p, at->child, at->nchild);
    }
}
