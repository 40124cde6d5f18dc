// The lower bound of a candidate. See bound.h; what is known beforehand is bound_model.c's.
//
// A candidate is looked at statement by statement. Of the loops of a statement that surely runs in
// a nest come, first, ranges: iterations, kinds. From these the lanes, the cores and the
// accumulators that it can have. Then, for the whole nest and for one iteration of each loop, how
// much of every iterator runs inside, at least and at most, and what that moves between the levels.
#include "space/bound_impl.h"

#include "base/checked.h"
#include "space/cpu_space.h"

#include <math.h>

enum {
    IN_FLIGHT = 512,    // instructions that a core looks ahead, at most
    MOST_PARTS = 8,     // of a sum that the code generator splits
    MARKED_UNROLL = 16, // so many times more is unrolled where a schedule says so
};
static const double least_seconds = 1e-9; // calling a kernel

const char *const bound_name[BOUND_KINDS] = {"compute", "issue", "chain", "load",  "store",
                                             "L1",      "L2",    "L3",    "memory"};

// What is known of a loop in this candidate.
typedef struct LoopState {
    uint8_t kind;
    double least, most; // iterations
} LoopState;

typedef struct Eval {
    const BoundModel *b;
    const uint8_t *v; // the candidate
    BoundTerm *term;
    BoundPart *part; // of the statement at hand; NULL: nobody asks
    int stmt;
    const BoundStmt *s;
    bool nest; // it surely has loops of its own
    bool dead;
    bool parallel;   // threads may share its work
    double cores;    // as many, with the shares as even as can be
    double share;    // vectors by elements, at least
    uint32_t lanes;  // iterators that may run in lanes
    double straight; // vector operations of straight-line code, at most
    bool any_parallel;
    LoopState loop[PROGRAM_MAX_ITERS * CPU_MAX_LEVELS];
} Eval;

static uint64_t domain64(const Eval *e, uint32_t at) {
    return *(const uint64_t *)(const void *)(e->v + at);
}

static void add_term(Eval *e, BoundKind kind, double seconds) {
    e->term[kind].seconds += seconds;
    if (e->part) e->part->seconds[kind] += seconds;
}

// Of what statements do not add up: the largest.
static void raise_term(Eval *e, BoundKind kind, double seconds, int loop) {
    if (e->part && seconds > e->part->seconds[kind]) {
        e->part->seconds[kind] = seconds;
        e->part->loop[kind] = loop;
    }
    if (seconds > e->term[kind].seconds) e->term[kind] = (BoundTerm){seconds, e->stmt, loop};
}

// --- Loops
// ---------------------------------------------------------------------------------------------

static void see_loop(Eval *e, const BoundLoop *l, LoopState *out) {
    double extent = e->s->extent[l->iter];
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

// Something that cannot become part of loop `v` surely runs between it and loop `outer`.
static bool is_between(const Eval *e, int outer, int v) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->nloops; i++) {
        const BoundInside *in = &s->inside[outer * s->nloops + i];
        if (i != outer && i != v && e->loop[i].least > 1 && e->v[in->at] == in->bit &&
            !(s->joins[s->loop[v].iter] >> s->loop[i].iter & 1))
            return true;
    }
    return false;
}

// Vectors by elements if loop `v` runs in lanes, at least. Loops around it that go on where it ends
// may become part of it.
static double share_in(const Eval *e, int v, double full) {
    const BoundStmt *s = e->s;
    const BoundLoop *l = &s->loop[v];
    double least = l->whole_share;
    if (l->size && !l->top) {
        least = 1;
        for (uint64_t dom = domain64(e, l->size); dom && least > full;) {
            int bit = 63 - __builtin_clzll(dom);
            least = least_of(least, l->share[bit]);
            dom &= ~(1ull << bit);
        }
    }
    for (int i = 0; i < s->nloops && least > full; i++) {
        if (!(s->joins[l->iter] >> s->loop[i].iter & 1) || !may_be_inside(e, i, v) ||
            !(e->loop[i].kind & CPU_KIND_SERIAL) || is_between(e, i, v))
            continue;
        least = least_of(least, s->loop[i].iter == l->iter ? l->whole_share : full);
    }
    return least;
}

// The largest share of the iterations that one of `cores` has, at least.
static double uneven(const LoopState *l, double cores) {
    if (l->least < l->most) return 1 / cores;
    return ceil(l->most / cores) / l->most;
}

static void see_loops(Eval *e) {
    const BoundStmt *s = e->s;
    double full = 1.0 / s->lanes, all = e->b->cores, part = 1;
    e->share = 1;
    e->parallel = false;
    e->straight = (double)e->b->unrolled;
    e->lanes = 0;
    for (int i = 0; i < s->nloops && !e->dead; i++) see_loop(e, &s->loop[i], &e->loop[i]);
    for (int i = 0; i < s->nloops && !e->dead; i++) {
        const LoopState *l = &e->loop[i];
        if (l->kind & CPU_KIND_VECTOR) {
            e->lanes |= 1u << s->loop[i].iter;
            if (e->share > full) e->share = least_of(e->share, share_in(e, i, full));
        }
        if (l->kind & CPU_KIND_UNROLL) e->straight = (double)e->b->unrolled * MARKED_UNROLL;
        if (l->kind & CPU_KIND_PARALLEL && all > 1) {
            e->parallel = true;
            part = least_of(part, uneven(l, all));
        }
    }
    e->cores = e->parallel ? 1 / part : 1;
}

// --- Arithmetic
// ----------------------------------------------------------------------------------------

// Vectors, however many of their lanes are in use, go at the rate of full ones; what does not run
// in lanes at that of the fastest instruction set, and integers one by one in general registers.
static void see_compute(Eval *e, double scale) {
    const BoundModel *b = e->b;
    const BoundStmt *s = e->s;
    double full = 1.0 / s->lanes, rate = b->instructions[s->wide];
    double each = least_of(e->share / rate, 1 / b->fastest);
    double any = least_of(each / b->vector_ports, 1 / b->scalar_ops);
    double t = most_of(s->float_ops * each, s->ops * any) * scale;
    add_term(e, BOUND_COMPUTE, t / e->cores);
    double turns = s->count * e->share / (double)e->straight;
    double started = s->ops * e->share + s->stored * full + 2 * turns;
    add_term(e, BOUND_ISSUE, started * scale / b->issue / e->cores);
}

// Loops over results that may run inside a reduction give sums that take turns.
static void see_chain(Eval *e) {
    const BoundStmt *s = e->s;
    bool parts = s->privatise && e->v[s->privatise] & CPU_PRIVATISE_YES;
    double chains = 1, steps = s->reduced, split = MOST_PARTS;
    if (s->accumulators) {
        uint64_t dom = domain64(e, s->accumulators);
        int64_t most = dom ? s->counts[63 - __builtin_clzll(dom)] : 0;
        bool automatic = dom & 1 && s->counts[0] == 0 && (e->lanes || !s->float_sum);
        split = automatic ? MOST_PARTS : least_of(MOST_PARTS, most_of(1, (double)most));
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
    double ahead = IN_FLIGHT / most_of(1, steps / split * s->step_instructions);
    double t = s->count / (chains * split) * s->latency / e->b->hertz * most_of(0, 1 - ahead);
    add_term(e, BOUND_CHAIN, t / e->cores);
}

// --- Traffic
// -------------------------------------------------------------------------------------------

// How much of each iterator runs inside a piece of the nest.
typedef struct Inside {
    double least[PROGRAM_MAX_ITERS], most[PROGRAM_MAX_ITERS];
    bool parallel; // a parallel loop may be inside
    int loop;      // the object; -1: all of the nest
} Inside;

static void whole_nest(const Eval *e, Inside *x) {
    for (int i = 0; i < e->s->niters; i++) x->least[i] = x->most[i] = e->s->extent[i];
    x->parallel = e->parallel;
    x->loop = -1;
}

static void one_iteration(const Eval *e, int at, Inside *x) {
    const BoundStmt *s = e->s;
    for (int i = 0; i < s->niters; i++) x->least[i] = x->most[i] = 1;
    x->parallel = false;
    x->loop = s->loop[at].object;
    for (int i = 0; i < s->nloops; i++) {
        const BoundInside *in = &s->inside[at * s->nloops + i];
        uint8_t dom = i == at ? 0 : e->v[in->at];
        if (!(dom & in->bit)) continue;
        const BoundLoop *l = &s->loop[i];
        double extent = s->extent[l->iter];
        bool sure = dom == in->bit;
        if (l->top) {
            x->most[l->iter] = extent;
            if (sure) x->least[l->iter] = extent;
        } else {
            x->most[l->iter] = least_of(extent, x->most[l->iter] * e->loop[i].most);
            if (sure) x->least[l->iter] = least_of(extent, x->least[l->iter] * e->loop[i].least);
        }
        x->parallel |= (e->loop[i].kind & CPU_KIND_PARALLEL) != 0;
    }
}

typedef struct Touched {
    double elements, bytes, lines;
} Touched;

static Touched touched(const Eval *e, const BoundRef *r, const double *extent) {
    double n = 1, far = 1;
    for (int d = 0; d < r->ndims; d++) {
        double values = 1;
        for (uint32_t left = r->own[d]; left; left &= left - 1)
            values += extent[__builtin_ctz(left)] - 1;
        n *= values;
        if (r->far[d]) far *= values;
    }
    bool packed = r->pack && e->v[r->pack] & CPU_PACK_YES;
    double bytes = n * r->bytes;
    return (Touched){n, bytes, packed ? bytes : most_of(bytes, far * e->b->line_bytes)};
}

typedef struct Moves {
    double vectors, bytes, lines;
} Moves;

// What a piece touches; of a tensor that it accesses in several places, the largest.
static Moves moves_of(const Eval *e, const BoundRef *ref, int n, const double *extent) {
    Moves all = {0}, last = {0};
    for (int i = 0; i < n; i++) {
        Touched t = touched(e, &ref[i], extent);
        bool lanes = ref[i].iters & e->lanes;
        Moves m = {t.elements / (lanes ? e->s->lanes : 1), t.bytes, t.lines};
        if (i && ref[i].tensor == ref[i - 1].tensor) {
            m.vectors = most_of(m.vectors, last.vectors);
            m.bytes = most_of(m.bytes, last.bytes);
            m.lines = most_of(m.lines, last.lines);
            all.vectors -= last.vectors, all.bytes -= last.bytes, all.lines -= last.lines;
        }
        all.vectors += m.vectors, all.bytes += m.bytes, all.lines += m.lines;
        last = m;
    }
    return all;
}

// `often` pieces move (in, out) bytes each; `kept` pieces at most find the cache full.
static double level_seconds(const BoundModel *b, int p, int level, double often, double in,
                            double out, double kept, double cache) {
    double i = b->in[p][level], o = b->out[p][level], room = kept * cache;
    double one = most_of((often * in - room) * i, (often * out - room) * o);
    double both = often * (in * i + out * o) - room * most_of(i, o);
    return most_of(one, b->both[level] * both);
}

static void see_piece(Eval *e, const Inside *x) {
    const BoundModel *b = e->b;
    const BoundStmt *s = e->s;
    double most = 1, least = 1, whole = 1;
    for (int i = 0; i < s->niters; i++) {
        most *= x->most[i];
        least *= x->least[i];
        if (x->least[i] < x->most[i])
            whole *= 0.5; // of its pieces so many are whole, at least
        else
            whole *= floor(s->extent[i] / x->most[i]) * x->most[i] / s->extent[i];
    }
    double often = whole * s->box / most, kept = whole * s->box / least;
    Moves in = moves_of(e, s->read, s->nreads, x->most);
    Moves out = moves_of(e, s->write, s->nwrites, x->most);
    int p = e->parallel, inside = x->parallel && p;
    double cores = p ? b->cores : 1;
    double room = kept * b->registers * (inside ? cores : 1);
    raise_term(e, BOUND_LOAD, (often * in.vectors - room) / b->loads / cores, x->loop);
    raise_term(e, BOUND_STORE, (often * out.vectors - room) / b->stores / cores, x->loop);
    double registers = b->registers * b->vector_bytes * (inside ? cores : 1);
    raise_term(e, BOUND_L1,
               level_seconds(b, p, LEVEL_L1, often, in.bytes, out.bytes, kept, registers), x->loop);
    for (int level = LEVEL_L2; level < LEVEL_COUNT; level++) {
        // Threads that run such pieces side by side may share what comes from memory.
        double shared = level == LEVEL_MEMORY && p && !inside ? 1 / cores : 1;
        double cache = b->cache[inside || level == LEVEL_MEMORY ? p : 0][level];
        raise_term(
            e, BOUND_L1 + level,
            level_seconds(b, p, level, often * shared, in.lines, out.lines, kept * shared, cache),
            x->loop);
    }
}

// --- All of it
// ---------------------------------------------------------------------------------------------

static void see_stmt(Eval *e, int stmt, BoundPart *part) {
    const BoundStmt *s = &e->b->stmt[stmt];
    uint8_t place = s->place ? e->v[s->place] : CPU_PLACE_NEST;
    e->stmt = stmt;
    e->s = s;
    e->part = part;
    e->nest = place == CPU_PLACE_NEST;
    if (!place) e->dead = true;
    if (s->count <= 0 || e->dead) return;
    if (e->nest) {
        see_loops(e);
    } else {
        e->share = 1.0 / s->lanes;
        e->straight = (double)e->b->unrolled * MARKED_UNROLL;
        e->cores = e->b->cores;
        e->parallel = e->b->cores > 1;
    }
    e->any_parallel |= e->parallel;
    if (part) *part = (BoundPart){.lanes = 1 / e->share, .cores = e->cores};
    for (int k = 0; part && k < BOUND_KINDS; k++) part->loop[k] = -1;
    bool in_place = (place & (CPU_PLACE_INLINE | CPU_PLACE_AT)) != 0;
    see_compute(e, in_place ? s->needed / s->count : 1);
    if (!e->nest || !s->plain) return;
    if (s->latency) see_chain(e);
    Inside x;
    whole_nest(e, &x);
    see_piece(e, &x);
    for (int i = 0; i < s->nloops; i++) {
        one_iteration(e, i, &x);
        see_piece(e, &x);
    }
}

// Every argument once, whatever the loops.
static void see_must(Eval *e) {
    const BoundModel *b = e->b;
    int p = e->any_parallel;
    double cores = p ? b->cores : 1;
    e->part = NULL;
    e->stmt = -1;
    raise_term(e, BOUND_LOAD, b->must_loads / b->loads / cores, -1);
    raise_term(e, BOUND_STORE, b->must_stores / b->stores / cores, -1);
    for (int level = 0; level < LEVEL_COUNT; level++)
        raise_term(e, BOUND_L1 + level, b->must[p][level], -1);
}

double bound_evaluate(const BoundModel *b, const Cand *c, BoundTerm *terms, BoundPart *parts) {
    BoundTerm local[BOUND_KINDS];
    Eval e = {.b = b, .v = (const uint8_t *)c, .term = terms ? terms : local};
    double most = least_seconds;
    for (int k = 0; k < BOUND_KINDS; k++) e.term[k] = (BoundTerm){0, -1, -1};
    for (int i = 0; i < b->nstmts && !e.dead; i++) see_stmt(&e, i, parts ? &parts[i] : NULL);
    see_must(&e);
    for (int k = 0; k < BOUND_KINDS; k++) most = most_of(most, e.term[k].seconds);
    return e.dead ? INFINITY : most;
}

double bound_seconds(const BoundModel *b, const Cand *c, BoundTerm *terms) {
    return bound_evaluate(b, c, terms, NULL);
}
