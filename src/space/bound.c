// The lower bound of a candidate (bound.h). bound_model.c prepares the facts that no decision
// changes.
//
// A candidate is evaluated statement by statement. The domains of loops give ranges of iterations
// and kinds, and these the lanes, cores and accumulators that are possible. Then the extents of all
// iterators inside the whole nest and inside one iteration of each loop give the traffic between
// the levels.
#include "space/bound_impl.h"
#include "space/gpu_bound.h"

#include "base/checked.h"
#include "space/cpu_space.h"

#include <math.h>

// More iterations than this are more than one task.
enum { SHARED_OUT = 2 * LIMIT_TASK };

const char *const bound_name[BOUND_KINDS] = {"compute", "issue", "chain",  "load", "store", "L1",
                                             "L2",      "L3",    "memory", "nest", "launch"};

static uint64_t domain64(const Eval *e, uint32_t at) {
    return *(const uint64_t *)(const void *)(e->v + at);
}

static void add_term(Eval *e, BoundKind kind, double seconds) {
    e->term[kind].seconds += seconds;
    if (e->part) e->part->seconds[kind] += seconds;
}

void bound_raise(Eval *e, BoundKind kind, double seconds, int64_t piece) {
    if (e->part && seconds > e->part->seconds[kind]) {
        e->part->seconds[kind] = seconds;
        e->part->piece[kind] = piece;
    }
    if (e->stmt >= 0)
        e->own[kind] = most_of(e->own[kind], seconds);
    else if (seconds > e->term[kind].seconds)
        e->term[kind] = (BoundTerm){seconds, -1};
}

// --- Loops ---------------------------------------------------------------------------------------

static void see_loop(Eval *e, const BoundStmt *s, const BoundLoop *l, LoopState *out) {
    double extent = s->extent[l->iter];
    out->kind = e->v[l->kind];
    if (!out->kind) e->dead = true;
    if (l->size) {
        uint64_t dom = domain64(e, l->size);
        if (!dom) {
            e->dead = true;
            return;
        }
        out->least = (double)l->universe[__builtin_ctzll(dom)];
        out->most = (double)l->universe[63 - __builtin_clzll(dom)];
    } else {
        const int64_t *step = (const int64_t *)(const void *)(e->v + l->step);
        out->least = ceil(extent / (double)max_i64(step[1], 1));
        out->most = ceil(extent / (double)max_i64(step[0], 1));
    }
    out->least = most_of(1, least_of(out->least, extent));
    out->most = most_of(out->least, least_of(out->most, extent));
}

static bool may_be_inside(const Eval *e, int outer, int inner) {
    const BoundInside *in = &e->s->inside[outer * e->s->nloops + inner];
    return outer != inner && e->v[in->at] & in->bit;
}

// Does a loop that cannot collapse with `v` surely run between it and loop `outer`?
static bool is_between(const Eval *e, int outer, int v) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nloops; i++) {
        const BoundInside *in = &s->inside[outer * s->nloops + i];
        if (i != outer && i != v && e->loop[i].least > 1 && e->v[in->at] == in->bit &&
            !(s->collapses[s->loop[v].iter] >> s->loop[i].iter & 1))
            return true;
    }
    return false;
}

// Vectors per element if loop `v` runs in lanes, at least. Loops around it may collapse with it.
static double share_in(const Eval *e, int v, double full) {
    const BoundStmt *s = e->s;
    const BoundLoop *l = &s->loop[v];
    double least = l->whole_share;
    if (l->size && !l->top) {
        least = 1;
        for (uint64_t dom = domain64(e, l->size); dom && least > full;) {
            int bit = 63 - __builtin_clzll(dom);
            double share = l->share[bit];
            if (e->v[l->split] & CPU_SPLIT_INTERLEAVE) // tails may have any length
                share = 1 / least_of(s->lanes, (double)l->universe[bit]);
            least = least_of(least, share);
            dom &= ~(1ull << bit);
        }
    }
    for (int i = 0; i < s->nloops && least > full; i++) {
        if (!(s->collapses[l->iter] >> s->loop[i].iter & 1) || !may_be_inside(e, i, v) ||
            !(e->loop[i].kind & CPU_KIND_SERIAL) || is_between(e, i, v))
            continue;
        least = least_of(least, s->loop[i].iter == l->iter ? l->whole_share : full);
    }
    return least;
}

// The largest share of the elements of one of `cores`, at least, if parallel loop i is shared among
// them. Its last iteration may be short: 246 rows in parts of 120 are 120 and 126 for two cores.
static double uneven(const Eval *e, int i, double cores) {
    const BoundLoop *b = &e->s->loop[i];
    const LoopState *l = &e->loop[i];
    const int64_t *step = (const int64_t *)(const void *)(e->v + b->step);
    double each = (double)step[0], whole = l->most * each, all = e->s->extent[b->iter];
    bool known = l->least == l->most && step[0] == step[1] && each > 0 &&
                 !(e->s->conditional >> b->iter & 1);
    bool ends = fmod(all, whole) != 0; // some iteration of it, or of a loop around it, is short
    bool apart = b->split && e->v[b->split] & CPU_SPLIT_INTERLEAVE;
    if (!known || (ends && !b->top)) return 1 / cores;
    if (!b->top) all = whole;
    double full = l->most - 1, last = all - full * each;
    double most = fmod(full, cores) == 0 ? full / cores * each + last : ceil(full / cores) * each;
    if (apart) most = least_of(most, ceil(l->most / cores) * floor(all / l->most));
    return most_of(most / all, 1 / cores);
}

// Are the iterations of a nest surely divided among threads?
static bool is_shared_out(const Eval *e, double instances, double iterations) {
    const BoundStmt *s = e->s;
    uint64_t dom = s->grain ? domain64(e, s->grain) : 1;
    int64_t most = s->grain && dom ? s->grains[63 - __builtin_clzll(dom)] : 0;
    bool automatic = !s->grain || (dom & 1 && s->grains[0] == 0);
    return e->b->cores > 1 && iterations > (double)most && (!automatic || instances > SHARED_OUT);
}

// Starts of a loop that is surely parallel: one in every iteration of the loops surely around it.
static void see_launches(Eval *e, int at) {
    const BoundStmt *s = e->s;
    double least = 1, most = 1, iterations = e->loop[at].least;
    if (e->loop[at].kind != CPU_KIND_PARALLEL || iterations < 2 || s->loop[at].reduction) return;
    for (int i = 0; i < s->nloops; i++) {
        const BoundInside *in = &s->inside[i * s->nloops + at];
        if (i == at || !(e->v[in->at] & in->bit)) continue;
        if (e->loop[i].kind & CPU_KIND_PARALLEL) return;
        most *= e->loop[i].most;
        if (e->v[in->at] == in->bit) least *= e->loop[i].least;
    }
    e->launches = least;
    e->iterations = least * iterations;
    if (is_shared_out(e, s->count / most, iterations)) e->gated = least;
}

static void see_loops(Eval *e) {
    const BoundStmt *s = e->s;
    double full = 1.0 / s->lanes, all = e->b->cores, part = 1;
    e->share = 1;
    e->parallel = false;
    e->straight = (double)e->b->unrolled;
    e->lanes = 0;
    for (int i = 0; i < s->nloops && !e->dead; i++) see_loop(e, s, &s->loop[i], &e->loop[i]);
    for (int i = 0; i < s->nloops && !e->dead; i++) {
        const LoopState *l = &e->loop[i];
        if (l->kind & CPU_KIND_VECTOR) {
            int iter = s->loop[i].iter;
            if (!(e->lanes >> iter & 1)) e->shares[iter] = 1;
            e->lanes |= 1u << iter;
            if (e->shares[iter] > full)
                e->shares[iter] = least_of(e->shares[iter], share_in(e, i, full));
            e->share = least_of(e->share, e->shares[iter]);
        }
        if (l->kind & CPU_KIND_UNROLL) e->straight = (double)e->b->unrolled * LIMIT_MARKED_UNROLL;
        if (l->kind & CPU_KIND_PARALLEL && all > 1) {
            part = e->parallel ? 1 / all : uneven(e, i, all); // several may be divided as one
            e->parallel = true;
        }
    }
    e->cores = e->parallel ? 1 / part : 1;
    for (int i = 0; i < s->nloops && s->plain && !e->dead; i++) see_launches(e, i);
}

// --- Arithmetic ----------------------------------------------------------------------------------

// Seconds of all elements: full vectors at their rate, vectors that are at most half full and
// scalar operations at a rate that may be better; scalar integers use general registers.
static double work_seconds(const Eval *e, WorkKind k, double share) {
    const BoundModel *b = e->b;
    double half = least_of(share, 2 * (share - e->s->lane));
    double each = (share - half) * b->full[k] + half * b->half[k];
    return e->s->work[k] * least_of(each, b->alone[k]) / e->cores;
}

static double divide_seconds(const Eval *e, double share) {
    const double *each = e->b->divide[e->s->wide];
    double half = least_of(share, 2 * (share - e->s->lane));
    double vectors = (share - half) * each[2] + half * least_of(each[0], each[1]);
    return e->s->divides * least_of(vectors, each[0]) / e->cores;
}

// Pipes that several kinds of operations share take the sum of their times.
double bound_compute(const Eval *e, double share) {
    double most = divide_seconds(e, share);
    for (int k = 0; k < WORK_COUNT; k++)
        if (e->s->work[k] > 0) most = most_of(most, work_seconds(e, (WorkKind)k, share));
    return most;
}

double bound_pipes(const Eval *e, double share) { return work_seconds(e, WORK_ANY, share); }

static void see_compute(Eval *e, double scale) {
    const BoundStmt *s = e->s;
    if (e->part) e->part->seconds[BOUND_COMPUTE] = bound_compute(e, e->share) * scale;
    for (int k = 0; k < WORK_COUNT; k++)
        if (s->work[k] > 0) e->pipes[k] += work_seconds(e, (WorkKind)k, e->share) * scale;
    e->pipes[WORK_COUNT] += divide_seconds(e, e->share) * scale;
    double rounds = most_of(e->iterations, s->count * e->share / e->straight);
    double started =
        s->work[WORK_ANY] * e->share + s->stored / s->lanes + rounds; // a multiply-add is one
    started += e->b->cost->bound_launch * e->launches;
    add_term(e, BOUND_ISSUE, started * scale / e->b->issue / e->cores);
}

// Loops over results that may run inside a reduction give independent sums.
static void see_chain(Eval *e) {
    const BoundStmt *s = e->s;
    bool parts = s->privatise && e->v[s->privatise] & CPU_PRIVATISE_YES;
    double chains = 1, steps = s->reduced, split = LIMIT_PARTS;
    if (s->accumulators) {
        uint64_t dom = domain64(e, s->accumulators);
        int64_t most = dom ? s->counts[63 - __builtin_clzll(dom)] : 0;
        bool automatic = dom & 1 && s->counts[0] == 0 && (e->lanes || !s->float_sum);
        split = automatic ? LIMIT_PARTS : least_of(LIMIT_PARTS, most_of(1, (double)most));
    }
    for (int i = 0; i < s->nloops; i++) {
        const BoundLoop *l = &s->loop[i];
        bool reduced = l->reduction && !(parts && i == s->split);
        if (reduced && e->loop[i].kind & CPU_KIND_VECTOR) split = most_of(split, 1) * s->lanes;
        if (reduced) continue;
        if (l->reduction) steps /= e->loop[i].most;
        bool inside = false;
        for (int r = 0; r < s->nloops && !inside; r++) {
            const BoundInside *in = &s->inside[r * s->nloops + i];
            inside = s->loop[r].reduction && r != i && e->v[in->at] & in->bit;
        }
        if (inside) chains *= e->loop[i].most;
    }
    if (e->part) e->part->chains = chains * split;
    double ahead = e->b->cost->bound_in_flight / most_of(1, steps / split * s->step_instructions);
    double t = s->count / (chains * split) * s->latency * most_of(0, 1 - ahead);
    add_term(e, BOUND_CHAIN, t / e->cores);
}

// The iterations of a loop that compute `run` vector operations again: neighbouring ones that are
// unrolled into one block of straight-line code share their results.
static double blocks_of(const Eval *e, const LoopState *l, double run) {
    static const double part = (double)LIMIT_BODY_PART / LIMIT_BODY_WHOLE;
    double limit = (double)e->b->unrolled;
    double marked = limit * (l->kind & CPU_KIND_UNROLL ? LIMIT_MARKED_UNROLL : 1);
    if (run * l->least <= marked) return 1;
    return l->least / most_of(1, least_of(LIMIT_BODY_COPIES, part * limit / run));
}

// How often each iteration is computed, on average: a statement inside a loop of its reader is
// computed again in each iteration of that loop.
static double times_computed(Eval *e, uint8_t place) {
    const BoundStmt *s = e->s, *reader = s->reader >= 0 ? &e->b->stmt[s->reader] : NULL;
    LoopState state[PROGRAM_MAX_ITERS * CPU_MAX_LEVELS];
    if (!(place & (CPU_PLACE_INLINE | CPU_PLACE_AT))) return 1;
    double times = s->needed / s->count, run = s->needed * s->lane;
    if (place != CPU_PLACE_AT || !reader) return times;
    for (int i = 0; i < reader->nloops && !e->dead; i++) {
        see_loop(e, reader, &reader->loop[i], &state[i]);
        bool inside = s->at[i] && e->v[s->at[i]] & CPU_AT_INSIDE;
        if (inside && s->read_along >> reader->loop[i].iter & 1) run /= state[i].most;
    }
    for (int i = 0; i < reader->nloops && !e->dead; i++)
        if (s->at[i] && e->v[s->at[i]] == CPU_AT_INSIDE &&
            !(s->read_along >> reader->loop[i].iter & 1))
            times *= blocks_of(e, &state[i], run);
    return times;
}

// --- All of it -----------------------------------------------------------------------------------

static void see_stmt(Eval *e, int stmt, BoundPart *part) {
    const BoundStmt *s = &e->b->stmt[stmt];
    uint8_t place = s->place ? e->v[s->place] : CPU_PLACE_NEST;
    e->stmt = stmt;
    e->s = s;
    e->part = part;
    e->nest = place == CPU_PLACE_NEST;
    e->launches = e->gated = e->iterations = 0;
    if (!place) e->dead = true;
    if (s->count <= 0 || e->dead) return;
    if (e->nest) {
        see_loops(e);
    } else {
        e->share = 1.0 / s->lanes;
        e->straight = (double)e->b->unrolled * LIMIT_MARKED_UNROLL;
        e->cores = e->b->cores;
        e->parallel = e->b->cores > 1;
    }
    e->any_parallel |= e->parallel;
    if (part) *part = (BoundPart){.lanes = 1 / e->share, .cores = e->cores, .launches = e->gated};
    for (int k = 0; part && k < BOUND_KINDS; k++) part->piece[k] = -1;
    see_compute(e, times_computed(e, place));
    double cycles = e->gated * e->b->cost->bound_launch_cycles;
    if (e->gated > 0) bound_raise(e, BOUND_LAUNCH, cycles / e->b->hertz, -1);
    if (!e->nest || !s->plain) return;
    if (s->latency > 0) see_chain(e);
    bound_nest(e);
}

// Every argument once, in any loop order.
static void see_must(Eval *e) {
    const BoundModel *b = e->b;
    int p = e->any_parallel;
    double cores = p ? b->cores : 1;
    e->part = NULL;
    e->stmt = -1;
    bound_raise(e, BOUND_LOAD, b->must_loads / b->loads / cores, -1);
    bound_raise(e, BOUND_STORE, b->must_stores / b->stores / cores, -1);
    for (int level = 0; level < LEVEL_COUNT; level++)
        bound_raise(e, BOUND_L1 + level, b->must[p][level], -1);
}

// Times of statements that cannot share a loop add up; of those that may, the largest counts.
typedef struct BoundGroups {
    int of[MANY_STMTS];
    double own[MANY_STMTS][BOUND_KINDS];
} BoundGroups;

// May a statement have loops of its own? Otherwise it costs nothing.
static bool may_nest(const Eval *e, int stmt) {
    const BoundStmt *s = &e->b->stmt[stmt];
    return !s->place || e->v[s->place] & CPU_PLACE_NEST;
}

static void join_groups(const Eval *e, BoundGroups *g) {
    const BoundModel *b = e->b;
    for (int i = 0; i < b->nstmts; i++) g->of[i] = i;
    for (int i = 0; i < b->npairs; i++) {
        const BoundPair *p = &b->pair[i];
        bool shared = false;
        int to = g->of[p->a], from = g->of[p->b];
        if (!may_nest(e, p->a) || !may_nest(e, p->b)) continue;
        for (int k = 0; k < p->n && !shared; k++) shared = e->v[p->meet[k].at] & CPU_ORDER_MERGED;
        for (int k = 0; k < b->nstmts && shared && to != from; k++)
            if (g->of[k] == from) g->of[k] = to;
    }
}

// Seconds of a statement that may overlap with the one before: as many instructions as a core looks
// ahead, each with an access to the outermost level that the statement needs.
static double overlap(const Eval *e, int stmt) {
    const BoundModel *b = e->b;
    double each = most_of(1 / b->loads, 1 / b->stores);
    for (int level = LEVEL_L2; level < LEVEL_COUNT; level++)
        if (b->stmt[stmt].beyond >> level & 1)
            each = most_of(each, b->line_bytes * most_of(b->in[0][level], b->out[0][level]));
    return b->cost->bound_in_flight * each;
}

// Statements that need different resources overlap at their ends: one counts whole, the others
// without that overlap.
static BoundTerm add_nests(const Eval *e, const BoundGroups *g) {
    double sum = 0, more = 0;
    int said = 0, by = -1;
    for (int i = 0; i < e->b->nstmts; i++) {
        double most = 0, rest = 0;
        for (int s = 0; s < e->b->nstmts && g->of[i] == i; s++) {
            double own = g->own[s][BOUND_NEST];
            if (g->of[s] != i || own <= 0) continue;
            if (own > most) most = own, by = s;
            rest = most_of(rest, own - overlap(e, s));
        }
        sum += rest;
        more = most_of(more, most - rest);
        said += most > 0;
    }
    return (BoundTerm){sum + more, said == 1 ? by : BOUND_SEVERAL};
}

static void add_groups(Eval *e, const BoundGroups *g) {
    int n = e->b->nstmts;
    for (int k = BOUND_LOAD; k < BOUND_KINDS; k++) {
        double sum = 0;
        int said = 0, by = -1;
        for (int i = 0; i < n; i++) {
            double most = 0;
            for (int s = 0; s < n && g->of[i] == i; s++)
                if (g->of[s] == i && g->own[s][k] > most) most = g->own[s][k], by = s;
            sum += most;
            said += most > 0;
        }
        e->term[k] = (BoundTerm){sum, said == 1 ? by : BOUND_SEVERAL};
    }
    e->term[BOUND_NEST] = add_nests(e, g);
    // The bound is the same with and without times of single resources.
    for (int k = BOUND_LOAD; k < BOUND_NEST; k++)
        e->term[k].seconds = least_of(e->term[k].seconds, e->term[BOUND_NEST].seconds);
}

double bound_evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, BoundPart *parts) {
    BoundTerm local[BOUND_KINDS];
    BoundGroups groups;
    Eval e = {.b = b, .v = (const uint8_t *)c, .term = terms ? terms : local};
    bool grouped = b->nstmts > 1 && b->nstmts <= MANY_STMTS;
    e.detailed = terms != NULL;
    double most = b->cost->bound_call;
    for (int k = 0; k < BOUND_KINDS; k++) e.term[k] = (BoundTerm){0, -1};
    for (int i = 0; i < b->nstmts && !e.dead; i++) {
        for (int k = BOUND_LOAD; k < BOUND_KINDS; k++) e.own[k] = 0;
        see_stmt(&e, i, parts ? &parts[i] : NULL);
        for (int k = BOUND_LOAD; k < BOUND_NEST; k++)
            e.own[BOUND_NEST] = most_of(e.own[BOUND_NEST], e.own[k]);
        for (int k = BOUND_LOAD; k < BOUND_KINDS; k++) {
            if (grouped)
                groups.own[i][k] = e.own[k];
            else if (e.own[k] > e.term[k].seconds)
                e.term[k] = (BoundTerm){e.own[k], i};
        }
    }
    for (int k = 0; k <= WORK_COUNT; k++)
        e.term[BOUND_COMPUTE].seconds = most_of(e.term[BOUND_COMPUTE].seconds, e.pipes[k]);
    if (grouped && !e.dead) join_groups(&e, &groups), add_groups(&e, &groups);
    see_must(&e);
    for (int k = 0; k < BOUND_LAUNCH; k++) most = most_of(most, e.term[k].seconds);
    if (e.term[BOUND_LAUNCH].seconds > 0) most = e.term[BOUND_LAUNCH].seconds += most;
    return e.dead ? INFINITY : most * b->plant;
}

double bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms) {
    if (b->gpu) return gpu_bound_seconds(b, c, terms);
    return bound_evaluate(b, c, terms, NULL);
}
