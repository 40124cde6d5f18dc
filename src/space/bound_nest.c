// Loads, stores and traffic of the pieces of a nest.
//
// A piece is a set of innermost loops: a number of levels of each iterator. While all orders are
// open, pieces are the points of a small lattice (48 for a matrix product). An order is a path from
// the empty piece to the whole nest, one loop at a time. A path costs as much as its most expensive
// piece, and the bound is the cheapest possible path: once for each resource, and once for all of
// them together for every iterator that may run in lanes. Decided orders leave few pieces, and
// loops of one iteration add none.
//
// A nest of many loops has too many pieces before most of it is decided, so one iteration of each
// loop is evaluated as well.
#include "space/bound_impl.h"

#include "space/cpu_space.h"

#include <math.h>

enum { FIRST = BOUND_LOAD, KINDS = BOUND_MEMORY - BOUND_LOAD + 1 };

// A piece: the values of each iterator that it runs through.
typedef struct Piece {
    double most[PROGRAM_MAX_ITERS], least[PROGRAM_MAX_ITERS];
    double runs[PROGRAM_MAX_ITERS]; // runs along an iterator, with tails
    double often, kept;             // runs, at least; runs before which the cache is full
    bool parallel;                  // a parallel loop may be inside
    bool beside;                    // a parallel loop may be around it, so that runs are concurrent
    double together;                // runs in one block of straight-line code, at most
    uint32_t still;                 // reads that may be hoisted out of the loop around that block
    bool shares; // the runs in such a block may share values, which are spilled instead of operands
} Piece;

// --- One piece -----------------------------------------------------------------------------------

typedef struct TensorMoves {
    double bytes, lines;
} TensorMoves;

// The footprint of a piece; of several accesses to one tensor, the largest. Temporaries that may be
// small reuse their memory. `first`: the number of the first access.
static TensorMoves moves_of(const Eval *e, const BoundRef *ref, int n, int first,
                            const double *extent, double *elements) {
    TensorMoves all = {0}, last = {0};
    for (int i = 0; i < n; i++) {
        const BoundRef *r = &ref[i];
        double far = 1, count;
        elements[i] = 0;
        if (e->absent >> (first + i) & 1) continue;
        for (int d = 0; d < r->nfar; d++) far *= dim_values(r, d, extent);
        count = far;
        for (int d = r->nfar; d < r->ndims; d++) count *= dim_values(r, d, extent);
        elements[i] = count;
        TensorMoves m = {count * r->bytes, far * e->b->line_bytes};
        bool packed = r->temp || (r->pack && e->v[r->pack] & CPU_PACK_YES);
        if (packed || m.lines < m.bytes) m.lines = m.bytes;
        if (e->somewhere >> (first + i) & 1) m.lines = 0;
        if (r->again) {
            m.bytes = most_of(m.bytes, last.bytes), m.lines = most_of(m.lines, last.lines);
            all.bytes -= last.bytes, all.lines -= last.lines;
        }
        all.bytes += m.bytes, all.lines += m.lines;
        last = m;
    }
    return all;
}

// Loads or stores of these elements, if one of the given iterators may run in lanes.
static double vectors_of(const Eval *e, const BoundRef *ref, int n, const double *elements,
                         const uint32_t *single, uint32_t lanes) {
    double all = 0, last = 0;
    for (int i = 0; i < n; i++) {
        double m = ref[i].iters & lanes & ~single[i] ? elements[i] * e->s->lane : elements[i];
        if (ref[i].again) {
            m = most_of(m, last);
            all -= last;
        }
        all += m;
        last = m;
    }
    return all;
}

static double level_seconds(const BoundModel *b, int p, int level, double in, double out,
                            double room) {
    double i = b->in[p][level], o = b->out[p][level];
    double x = in * i, y = out * o;
    double one = most_of(x - room * i, y - room * o);
    return most_of(one, b->both[level] * (x + y - room * most_of(i, o)));
}

// The cost of a piece: all levels together, and each by itself.
typedef struct Cost {
    double levels; // L2 and beyond
    double t[KINDS];
    double elements[MANY_REFS + 1]; // reads, then the write
    double total[MANY_REFS + 1];    // of all runs together
    double in, out, back; // bytes of reads and writes; elements of results that are loaded
    double tile;          // elements of results, at least
    double room;          // registers that are full before its runs, all together
} Cost;

// Registers keep operands inside straight-line code, and loop-invariant ones across iterations of
// the loop around it; results as well, if all of them fit.
static bool is_alone(const Piece *x) { return x->together < 2; }

static bool keeps_results(const Eval *e, const Piece *x, const Cost *c, double share) {
    return !is_alone(x) || c->tile * share <= e->b->registers - LIMIT_OTHER_REGISTERS;
}

// The part of `room` that is left for loop-invariant operands beside the results.
static double spare(const Eval *e, const Piece *x, const Cost *c, double share, double room,
                    double back) {
    if (!keeps_results(e, x, c, share)) return room;
    return is_alone(x) ? most_of(0, room - back) : 0;
}

// Elements of results that all runs of a piece load: not those that no earlier run has updated.
static double loaded_again(const Eval *e, double elements) {
    const BoundStmt *s = e->s;
    if (!s->nwrites || s->results <= 0) return 0;
    double new = s->results;
    if (s->privatise && e->v[s->privatise] & CPU_PRIVATISE_YES && s->split >= 0)
        new *= e->loop[s->split].most;
    return most_of(0, elements - new);
}

// How a piece uses registers and ports, given the lanes.
typedef struct Shares {
    double in;     // loads of operands
    double single; // those of single lanes
    double still;  // those that may be hoisted out of a loop
    double result; // loads and stores per element of the result
    double held;   // registers per element of the result
} Shares;

// Loads or stores per element of the result with these lanes.
static double result_share(const Eval *e, uint32_t lanes) {
    const BoundRef *w = e->s->write;
    bool across = e->joined && lanes & ~w->iters;
    return across || lanes & w->iters & ~e->single[e->s->nreads] ? e->s->lane : 1;
}

// Seconds of loads and stores.
typedef struct Ports {
    double load, store;
} Ports;

static Ports port_seconds(const Eval *e, const Piece *x, const Cost *c, const Shares *h) {
    const BoundStmt *s = e->s;
    double out = s->nwrites ? c->total[s->nreads] * h->result : 0, back = c->back * h->result;
    double in = x->shares ? h->in / x->together : h->in, room = c->room * h->result / h->held;
    double each = most_of(0, h->in - h->still) / x->together;
    in -= least_of(h->still, spare(e, x, c, h->held, c->room, back * h->held / h->result));
    if (!keeps_results(e, x, c, h->held)) {
        in += back;
    } else if (is_alone(x)) {
        in += most_of(0, back - room);
        out -= room;
    } else { // registers save most if each lane takes a load; once loaded, a vector may be spilled
        double fresh = h->single / x->together;
        double single = fresh + (h->result > h->held ? back : 0);
        double saved = least_of(single, c->room * s->lanes);
        in -= (h->single - fresh) * (1 - s->lane);
        in += back - saved - (c->room - saved * s->lane);
        out -= room;
    }
    in = most_of(in, each) + e->extra.loads;
    out = most_of(out, e->extra.parts) + e->extra.stores;
    return (Ports){in * e->each[0], out * e->each[1]};
}

static Ports all_ports(const Eval *e, const Piece *x, const Cost *c) {
    const BoundStmt *s = e->s;
    Shares h = {.result = 1, .held = 1};
    h.in = vectors_of(e, s->read, s->nreads, c->total, e->single, e->lanes);
    for (int r = 0; r < s->nreads; r++) {
        bool whole = s->read[r].iters & e->lanes & ~e->single[r]; // along some iterator
        if (!whole && e->single[r] & e->lanes) h.single += c->total[r];
        if (x->still >> r & 1) h.still += c->total[r] * (whole ? s->lane : 1);
    }
    if (s->nwrites && s->write->iters & e->lanes) h.held = s->lane;
    if (s->nwrites) h.result = result_share(e, e->lanes);
    return port_seconds(e, x, c, &h);
}

// Between registers and L1: loads of operands and of results, and stores. `share`: registers per
// element of results.
static double l1_seconds(const Eval *e, const Piece *x, const Cost *c, double share) {
    const BoundModel *b = e->b;
    int p = e->parallel;
    double i = b->in[p][LEVEL_L1], o = b->out[p][LEVEL_L1], own = e->extra.bytes;
    double room = c->room * b->vector_bytes, back = c->back * e->s->result_bytes;
    double in = x->shares ? c->in / x->together : c->in, out = c->out, still = 0;
    for (int r = 0; r < e->s->nreads; r++)
        if (x->still >> r & 1) still += c->total[r] * e->s->read[r].bytes;
    double each = most_of(0, c->in - still) / x->together;
    double loads = in - least_of(still, spare(e, x, c, share, room, back)) + back, saved;
    if (!keeps_results(e, x, c, share)) {
        saved = least_of(still, room) * i;
        room = 0;
    } else {
        saved = room * (back > 0 ? i + o : most_of(i, o));
        if (is_alone(x)) saved = least_of(saved, (back + still) * i + room * o);
        loads -= is_alone(x) ? least_of(back, room) : room;
    }
    loads = most_of(loads, each);
    double sum = b->both[LEVEL_L1] * ((in + back + own) * i + (out + own) * o - saved);
    return most_of(0, most_of(sum, most_of((loads + own) * i, (out + own - room) * o)));
}

// Elements that all runs of a piece access. Registers that are full before a run count against full
// runs only. Without such registers tails count as well: all runs along an iterator together access
// everything, once for each run along the other iterators.
static void set_totals(const Eval *e, const Piece *x, Cost *c) {
    const BoundStmt *s = e->s;
    double last = 0;
    bool kept = keeps_results(e, x, c, s->lane);
    c->in = c->out = 0;
    for (int r = 0; r < s->nreads + s->nwrites; r++) {
        bool read = r < s->nreads;
        const BoundRef *ref = read ? &s->read[r] : &s->write[r - s->nreads];
        double n = x->often * c->elements[r], all = 1;
        if (ref->grid && is_alone(x) && n > 0 && (read ? !(x->still >> r & 1) : !kept)) {
            for (int i = 0; i < s->niters; i++)
                all *= ref->iters >> i & 1 ? s->extent[i] : x->runs[i];
            n = most_of(n, all);
        }
        c->total[r] = n;
        if (read && ref->again) {
            c->in -= last;
            n = most_of(n, last / ref->bytes);
        }
        last = n * ref->bytes;
        *(read ? &c->in : &c->out) += last;
    }
}

static void set_cost(const Eval *e, const Piece *x, Cost *c) {
    const BoundModel *b = e->b;
    const BoundStmt *s = e->s;
    int p = e->parallel, inside = x->parallel && p;
    double cores = p ? b->cores : 1;
    TensorMoves in = moves_of(e, s->read, s->nreads, 0, x->most, c->elements);
    TensorMoves out =
        moves_of(e, s->write, s->nwrites, s->nreads, x->most, c->elements + s->nreads);
    c->room = x->kept * b->registers * (inside ? cores : 1);
    c->tile = 1;
    for (int d = 0; s->nwrites && d < s->write->ndims; d++)
        c->tile *= dim_values(s->write, d, x->least);
    set_totals(e, x, c);
    c->back = s->nwrites ? loaded_again(e, c->total[s->nreads]) : 0;
    c->levels = 0;
    for (int level = LEVEL_L2; level < LEVEL_COUNT; level++) {
        c->t[2 + level] = 0;
        if (!(s->beyond >> level & 1)) continue;
        // Threads that run such pieces concurrently may share data from memory.
        double shared = level == LEVEL_MEMORY && p && x->beside ? 1 / cores : 1;
        double cache = b->cache[inside || level == LEVEL_MEMORY ? p : 0][level];
        double often = x->often * shared;
        c->t[2 + level] = level_seconds(b, p, level, often * in.lines, often * out.lines,
                                        x->kept * shared * cache);
        c->levels = most_of(c->levels, c->t[2 + level]);
    }
}

// --- All pieces ----------------------------------------------------------------------------------

// The innermost loops of an iterator, by their number.
typedef struct Inner {
    double least, most, whole; // whole: the part of its iterations in full runs, at least
    double runs, full;         // runs, at least; full ones, at most
    bool parallel, beside;     // a parallel loop may be inside, may be around
    bool unrolls;              // a loop around them may be marked `unroll`
} Inner;

// Of runs of different lengths, only full ones count: they have at least half of the iterations. In
// an interleaved loop, whose tail is divided among all runs, these take their place.
static Inner inner_of(double least, double most, double extent, bool interleaved) {
    Inner n = {.least = least, .most = most, .runs = ceil(extent / most), .whole = 0.5};
    if (!interleaved && least >= most) n.whole = floor(extent / most) * most / extent;
    n.full = interleaved ? ceil(extent / least) : n.whole * extent / least;
    return n;
}

// May the outermost loop be interleaved, so that some of its iterations are shorter than others?
static bool is_interleaved(const Eval *e, int iter) {
    const BoundStmt *s = e->s;
    const BoundLoop *top = &s->loop[s->last[iter] - s->nlevels[iter] + 1];
    if (!top->split || !(e->v[top->split] & CPU_SPLIT_INTERLEAVE)) return false;
    const int64_t *step = (const int64_t *)(const void *)(e->v + top->step);
    return step[0] != step[1] || fmod(s->extent[iter], (double)step[0]) != 0;
}

// Iterations in each part of an interleaved loop, at least: 14 in parts of 10 are two parts of 7.
static double least_part(const Eval *e, int iter) {
    const BoundStmt *s = e->s;
    double extent = s->extent[iter], step = 1;
    for (int n = 1; n < s->nlevels[iter]; n++) step *= e->loop[s->last[iter] - n + 1].least;
    return floor(extent / ceil(extent / least_of(step, extent)));
}

static void see_inner(const Eval *e, int iter, Inner *out) {
    const BoundStmt *s = e->s;
    double extent = s->extent[iter];
    bool interleaved = is_interleaved(e, iter);
    double part = interleaved ? least_part(e, iter) : extent;
    out[0] = (Inner){.least = 1, .most = 1, .whole = 1, .runs = extent, .full = extent};
    for (int n = 1; n <= s->nlevels[iter]; n++) {
        int at = s->last[iter] - n + 1;
        const LoopState *l = &e->loop[at];
        bool parallel = out[n - 1].parallel || (l->most > 1 && l->kind & CPU_KIND_PARALLEL);
        double least = least_of(extent, out[n - 1].least * l->least);
        double most = least_of(extent, out[n - 1].most * l->most);
        if (s->loop[at].top)
            least = most = extent;
        else
            least = least_of(least, part);
        out[n] = inner_of(least, most, extent, interleaved && least < extent);
        out[n].parallel = parallel;
    }
    for (int n = s->nlevels[iter] - 1; n >= 0; n--) {
        const LoopState *l = &e->loop[s->last[iter] - n];
        uint64_t around = l->most > 1 ? l->kind : 0;
        out[n].unrolls = out[n + 1].unrolls || around & CPU_KIND_UNROLL;
        out[n].beside = out[n + 1].beside || around & CPU_KIND_PARALLEL;
    }
}

// The number of loops of each iterator in a piece, a byte each. Does `a` have at least those of
// `b`?
typedef uint64_t Taken;
enum { BYTE = 8 };

static bool covers(Taken a, Taken b) {
    const Taken high = 0x8080808080808080u;
    return (((a | high) - b) & high) == high;
}

// The loops that a piece must contain if it contains the loop `at`.
static Taken needs_of(const Eval *e, int at) {
    const BoundStmt *s = e->s;
    Taken need = 0;
    for (int k = 0; k < s->niters; k++) {
        if (k == s->loop[at].iter) continue;
        int n = s->nlevels[k]; // the outermost one inside implies the others
        const BoundInside *in = &s->inside[at * s->nloops + s->last[k]];
        while (n > 0 && e->v[in[1 - n].at] != in[1 - n].bit) n--;
        need |= (Taken)n << (BYTE * k);
    }
    return need;
}

static int taken_of(Taken t, int iter) { return (int)(t >> (BYTE * iter) & 0xff); }

static bool is_whole(const BoundStmt *s, Taken t) {
    for (int i = 0; i < s->niters; i++)
        if (taken_of(t, i) < s->nlevels[i]) return false;
    return true;
}

// Of each iterator the larger number.
static Taken most_needed(Taken a, Taken b) {
    Taken both = 0;
    for (int at = 0; at < 64; at += BYTE) {
        Taken x = a >> at & 0xff, y = b >> at & 0xff;
        both |= (x > y ? x : y) << at;
    }
    return both;
}

// The columns of the lattice are evaluated together: the time of all resources with lanes along
// each iterator that may have them, and with none; and the time of each resource, if it is wanted.
enum { MANY_COLUMNS = PIECE_ITERS + 1 + KINDS };

typedef struct Lattice {
    int ncolumns, nways; // columns by iterator in lanes come first
    int along[PIECE_ITERS + 1];
    double share[PIECE_ITERS + 1][MANY_REFS + 1];           // loads or stores per element
    double compute[PIECE_ITERS + 1], held[PIECE_ITERS + 1]; // see Shares
    double pipes[PIECE_ITERS + 1]; // seconds of operations on all vector pipes
    uint32_t transposed[PIECE_ITERS + 1], single[PIECE_ITERS + 1]; // accesses
    uint32_t horizontal; // columns with a reduction in lanes
    // Pieces, those with fewer loops first; the last one is the whole nest. 0: there are too many.
    int n;
    Taken piece[MANY_PIECES];
    uint8_t next[MANY_PIECES][PIECE_ITERS]; // with one loop more of each iterator; 0: none
    double best[MANY_PIECES][MANY_COLUMNS]; // of the cheapest order that leads to a piece
    uint32_t around[MANY_PIECES];           // iterators of the loop that may be around it
} Lattice;

// Runs of a piece in one block of straight-line code. A loop around it that is too long to be
// unrolled whole gets a few copies of its body.
static double together(const Eval *e, const Lattice *l, int at, Inner inner[][CPU_MAX_LEVELS + 1],
                       double instances, bool unrolls) {
    static const double part = (double)LIMIT_BODY_PART / LIMIT_BODY_WHOLE;
    double size = instances * e->s->lane, limit = (double)e->b->unrolled;
    double marked = limit * (unrolls ? LIMIT_MARKED_UNROLL : 1);
    for (int i = 0; i < e->s->niters; i++) {
        int next = l->next[at][i];
        if (!next) continue;
        const Inner *now = inner[i] + taken_of(l->piece[at], i),
                    *then = inner[i] + taken_of(l->piece[next], i);
        if (size * then->least / now->least <= marked) return most_of(1, floor(marked / size));
    }
    return most_of(1, least_of(LIMIT_BODY_COPIES, floor(part * limit / size)));
}

// Reads that are loop-invariant along one of the iterators.
static uint32_t still_reads(const BoundStmt *s, uint32_t around) {
    uint32_t still = 0;
    for (int r = 0; r < s->nreads; r++)
        if (around & ~s->read[r].iters) still |= 1u << r;
    return still;
}

// May iterations along one of the iterators compute the same values from several reads, or from all
// of them?
static bool shares_values(const BoundStmt *s, uint32_t around) {
    for (; around; around &= around - 1) {
        int same = 0;
        for (int r = 0; r < s->nreads; r++) same += !(s->read[r].iters & around & -around);
        if (same > 1 || same == s->nreads) return true;
    }
    return false;
}

// Returns the iterations of a piece, at least.
static double make_piece(const Eval *e, const Lattice *l, int at, Inner inner[][CPU_MAX_LEVELS + 1],
                         Piece *x) {
    double most = 1, least = 1, whole = e->s->box;
    bool unrolls = false;
    x->parallel = x->beside = false;
    x->kept = 1;
    for (int i = 0; i < e->s->niters; i++) {
        const Inner *n = &inner[i][taken_of(l->piece[at], i)];
        x->most[i] = n->most;
        x->least[i] = n->least;
        x->runs[i] = n->runs;
        most *= n->most;
        least *= n->least;
        whole *= n->whole;
        x->kept *= n->full;
        x->parallel |= n->parallel;
        x->beside |= n->beside;
        unrolls |= n->unrolls;
    }
    x->together = together(e, l, at, inner, least, unrolls);
    x->often = whole / most;
    uint32_t around = l->around[at];
    for (int i = 0; i < e->s->niters && !is_alone(x); i++)
        if (taken_of(l->piece[at], i) < e->s->nlevels[i]) around |= 1u << i;
    x->still = still_reads(e->s, around);
    x->shares = !is_alone(x) && shares_values(e->s, around);
    return least;
}

// Loads or stores per element, by access, for each iterator in lanes.
static void set_ways(const Eval *e, Lattice *l) {
    const BoundStmt *s = e->s;
    l->nways = 1;
    l->along[0] = -1;
    l->horizontal = 0;
    for (int i = 0; i < s->niters; i++)
        if (e->lanes >> i & 1) l->along[l->nways++] = i;
    for (int w = 0; w < l->nways; w++) {
        uint32_t lanes = w ? 1u << l->along[w] : 0;
        l->transposed[w] = l->single[w] = 0;
        l->held[w] = s->nwrites && s->write->iters & lanes ? s->lane : 1;
        l->compute[w] = bound_compute(e, w ? e->shares[l->along[w]] : 1);
        l->pipes[w] = bound_pipes(e, w ? e->shares[l->along[w]] : 1);
        if (s->nwrites && s->horizontal && lanes & ~s->write->iters) l->horizontal |= 1u << w;
        for (int r = 0; r < s->nreads + s->nwrites; r++) {
            const BoundRef *ref = r < s->nreads ? &s->read[r] : &s->write[r - s->nreads];
            l->share[w][r] = ref->iters & lanes & ~e->single[r] ? s->lane : 1;
            if (r == s->nreads) l->share[w][r] = result_share(e, lanes);
            if (e->single[r] & lanes) l->single[w] |= 1u << r;
            if (e->transposed[r] & lanes) l->transposed[w] |= 1u << r;
        }
    }
    l->ncolumns = l->nways + (e->detailed ? KINDS : 0);
}

// Seconds that the shuffles of a transpose take for each full vector, given the seconds of full and
// of half vectors: halves need one round less, and quarters two, at twice and four times as many.
static double transposed_vector(const Eval *e, double full, double half) {
    double each = e->rounds * full;
    for (int k = 1; k < e->rounds; k++) each = least_of(each, (e->rounds - k) * half * (1 << k));
    return each;
}

// Seconds of strided vectors: shuffles of a transpose, or a load or store of each element. Tails
// may take one way and the rest the other, at the same time. Of several accesses the most expensive
// one counts, since the others may be cheaper; but results are loaded and stored in the same way.
static double transpose_seconds(const Eval *e, const Piece *x, const Cost *c, uint32_t accesses,
                                double arithmetic) {
    const BoundStmt *s = e->s;
    const BoundModel *b = e->b;
    double shuffle = transposed_vector(e, b->full[WORK_SHUFFLE], b->half[WORK_SHUFFLE]) / e->used;
    double any = transposed_vector(e, b->full[WORK_ANY], b->half[WORK_ANY]) / e->cores;
    double most = 0;
    for (; accesses; accesses &= accesses - 1) {
        int r = __builtin_ctz(accesses);
        double n = c->total[r] * s->lane, back = c->back * s->lane, fewest = n / x->together;
        bool result = r >= s->nreads, kept = result && keeps_results(e, x, c, s->lane);
        bool still = !result && x->still >> r & 1;
        if (result ? kept : still || !is_alone(x)) n -= c->room, back -= c->room;
        if (still) fewest = 0;
        // In straight-line code vectors may stay on the stack: results until the reduction ends.
        n = result ? least_of(n, fewest) : is_alone(x) ? most_of(n, fewest) : fewest;
        back = result ? most_of(0, least_of(back, c->back * s->lane / x->together)) : 0;
        double single =
            s->lanes * (result ? most_of(n * e->each[1], back * e->each[0]) : n * e->each[0]);
        double transposed = (n + back) * shuffle; // operations use the same pipes
        transposed = most_of(transposed, arithmetic + (n + back) * any);
        if (single > 0 && transposed > 0)
            most = most_of(most, single * transposed / (single + transposed));
    }
    return most;
}

// Seconds of horizontal reductions, whenever sums are stored: as many sums together as there are
// lanes, with a shuffle or blend for each addition. The additions count as operations.
static double horizontal_seconds(const Eval *e, const Piece *x, const Cost *c, double arithmetic) {
    uint32_t used = 0;
    for (int r = 0; r < e->s->nreads; r++) used |= e->s->read[r].iters;
    double n = c->total[e->s->nreads];
    if (e->s->write->iters & ~used) // equal sums, which straight-line code shares
        n /= most_of(1, e->straight / most_of(1, e->s->reduced * e->s->lane));
    if (keeps_results(e, x, c, 1)) n -= c->room;
    return arithmetic + most_of(0, n) * (1 - e->s->lane) * e->b->half[WORK_ANY] / e->cores;
}

static void fill_columns(const Eval *e, const Lattice *l, const Piece *x, double *t) {
    const BoundStmt *s = e->s;
    Cost c;
    set_cost(e, x, &c);
    for (int w = 0; w < l->nways; w++) {
        const double *share = l->share[w];
        double in = 0, last = 0, single = 0, still = 0;
        for (int r = 0; r < s->nreads; r++) {
            double m = c.total[r] * share[r];
            if (l->single[w] >> r & 1) single += m;
            if (x->still >> r & 1) still += m;
            if (s->read[r].again) m = most_of(m, last), in -= last;
            in += m;
            last = m;
        }
        Shares h = {.in = in, .single = single, .still = still, .held = l->held[w]};
        h.result = s->nwrites ? share[s->nreads] : 1;
        Ports ports = port_seconds(e, x, &c, &h);
        t[w] = most_of(most_of(c.levels, l1_seconds(e, x, &c, h.held)),
                       most_of(ports.load, ports.store));
        if (l->transposed[w])
            t[w] = most_of(t[w], transpose_seconds(e, x, &c, l->transposed[w], l->pipes[w]));
        if (l->horizontal >> w & 1) t[w] = most_of(t[w], horizontal_seconds(e, x, &c, l->pipes[w]));
    }
    if (l->ncolumns == l->nways) return;
    t += l->nways;
    Ports ports = all_ports(e, x, &c);
    t[0] = ports.load;
    t[1] = ports.store;
    t[2] = l1_seconds(e, x, &c, s->lane);
    for (int k = 3; k < KINDS; k++) t[k] = c.t[k];
}

// The loops of an iterator that add pieces. A loop of one iteration is in a piece as soon as the
// loop inside it is; the next loop inherits its requirements.
typedef struct PieceSteps {
    int first;                        // loops in the empty piece
    uint8_t next[CPU_MAX_LEVELS + 1]; // by the number that is inside: the next number; 0: none
    Taken need[CPU_MAX_LEVELS + 1];   // by the next number
} PieceSteps;

// The number of loops of one iteration around the innermost n loops of an iterator.
static int idle_loops(const Inner *inner, int n, int all) {
    int more = n;
    while (more < all && inner[more + 1].most <= inner[more].most &&
           inner[more + 1].least <= inner[more].least)
        more++;
    return more - n;
}

static PieceSteps steps_of(const Eval *e, int iter, const Inner *inner) {
    const BoundStmt *s = e->s;
    PieceSteps t = {.first = 0};
    Taken need[CPU_MAX_LEVELS + 1], pending = 0;
    int all = s->nlevels[iter];
    for (int n = 1; n <= all; n++) need[n] = needs_of(e, s->last[iter] - n + 1);
    t.first = idle_loops(inner, 0, all);
    for (int n = 1; n <= t.first; n++) pending = most_needed(pending, need[n]);
    for (int at = t.first, next; at < all; at = next) {
        next = at + 1 + idle_loops(inner, at + 1, all);
        t.next[at] = (uint8_t)next;
        t.need[next] = most_needed(pending, need[at + 1]);
        pending = 0;
        for (int n = at + 2; n <= next; n++) pending = most_needed(pending, need[n]);
    }
    return t;
}

// All pieces of the orders that are still possible, innermost first.
static void find_pieces(const Eval *e, const PieceSteps *t, Lattice *l) {
    enum { BITS = 9 };
    uint8_t table[1 << BITS] = {0}; // number of a piece; 0: free
    int n = e->s->niters;
    l->n = 1;
    l->piece[0] = 0;
    for (int i = 0; i < n; i++) l->piece[0] |= (Taken)t[i].first << (BYTE * i);
    for (int at = 0; at < l->n; at++)
        for (int i = 0; i < n; i++) {
            int now = taken_of(l->piece[at], i), next = t[i].next[now];
            Taken more = l->piece[at] + ((Taken)(next - now) << (BYTE * i));
            l->next[at][i] = 0;
            if (!next || !covers(more, t[i].need[next])) continue;
            unsigned slot = (unsigned)(more * 0x9e3779b97f4a7c15u >> (64 - BITS));
            while (table[slot] && l->piece[table[slot]] != more) slot = (slot + 1) % (1 << BITS);
            if (!table[slot] && l->n == MANY_PIECES) {
                l->n = 0;
                return;
            }
            if (!table[slot]) l->piece[table[slot] = (uint8_t)l->n++] = more;
            l->next[at][i] = table[slot];
        }
}

// A loop that may have one iteration adds no piece.
static void find_around(const Eval *e, Inner inner[][CPU_MAX_LEVELS + 1], Lattice *l) {
    for (int at = l->n - 1; at >= 0; at--) {
        l->around[at] = 0;
        for (int i = 0; i < e->s->niters; i++) {
            int next = l->next[at][i];
            if (!next) continue;
            const Inner *now = inner[i] + taken_of(l->piece[at], i),
                        *then = inner[i] + taken_of(l->piece[next], i);
            l->around[at] |= 1u << i | (then->least <= now->most ? l->around[next] : 0);
        }
    }
}

// The cost of a piece, or that of the cheapest piece with one loop less if it is larger. A piece
// whose data fits into registers costs nothing. False: there are too many pieces, or no order leads
// to the whole nest.
static bool fill_lattice(const Eval *e, Lattice *l) {
    const BoundStmt *s = e->s;
    Inner inner[PIECE_ITERS][CPU_MAX_LEVELS + 1];
    PieceSteps steps[PIECE_ITERS];
    double few = e->b->registers / most_of(1, s->nreads);
    for (int i = 0; i < s->niters; i++) {
        see_inner(e, i, inner[i]);
        steps[i] = steps_of(e, i, inner[i]);
    }
    find_pieces(e, steps, l);
    if (!l->n || !is_whole(s, l->piece[l->n - 1])) return false;
    find_around(e, inner, l);
    for (int at = 0; at < l->n; at++)
        for (int c = 0; c < l->ncolumns; c++) l->best[at][c] = at ? INFINITY : 0;
    for (int at = 0; at < l->n; at++) {
        double cost[MANY_COLUMNS] = {0}, *now = l->best[at];
        Piece x;
        if (at && make_piece(e, l, at, inner, &x) > few) fill_columns(e, l, &x, cost);
        for (int c = 0; c < l->ncolumns; c++) now[c] = most_of(now[c], cost[c]);
        for (int i = 0; i < s->niters; i++) {
            if (!l->next[at][i]) continue;
            double *next = l->best[l->next[at][i]];
            for (int c = 0; c < l->ncolumns; c++) next[c] = least_of(next[c], now[c]);
        }
    }
    return true;
}

// The most expensive piece of the cheapest order.
static int64_t worst_piece(const BoundStmt *s, const Lattice *l, int column) {
    int at = l->n - 1;
    while (at > 0) {
        int from = -1;
        for (int k = 0; k < at; k++)
            for (int i = 0; i < s->niters; i++)
                if (l->next[k][i] == at && (from < 0 || l->best[k][column] < l->best[from][column]))
                    from = k;
        if (from < 0 || l->best[from][column] < l->best[at][column]) break;
        at = from;
    }
    return (int64_t)l->piece[at];
}

static void see_lattice(Eval *e) {
    const BoundStmt *s = e->s;
    Lattice l;
    set_ways(e, &l);
    if (!fill_lattice(e, &l)) return;
    const double *all = l.best[l.n - 1];
    double best = INFINITY;
    int way = 0;
    bool arithmetic = false;
    for (int w = 0; w < l.nways; w++) {
        double t = most_of(l.compute[w], all[w]);
        if (t < best) best = t, way = w, arithmetic = l.compute[w] >= all[w];
    }
    if (!isfinite(best)) return;
    bound_raise(e, BOUND_NEST, best, e->part && !arithmetic ? worst_piece(s, &l, way) : -1);
    if (e->part) e->part->along = l.along[way];
    for (int k = 0; k < KINDS && e->detailed; k++)
        bound_raise(e, FIRST + k, all[l.nways + k], e->part ? worst_piece(s, &l, l.nways + k) : -1);
}

// --- Loop by loop --------------------------------------------------------------------------------

// One iteration of a loop; -1: all of them.
static void one_iteration(const Eval *e, int at, Piece *x) {
    const BoundStmt *s = e->s;
    double least[PROGRAM_MAX_ITERS], all = 1, few = 1, whole = s->box;
    x->parallel = at < 0 && e->parallel;
    x->beside = false;
    x->kept = 1;
    for (int i = 0; i < s->niters; i++) least[i] = x->most[i] = at < 0 ? s->extent[i] : 1;
    for (int i = 0; at >= 0 && i < s->nloops; i++) {
        const BoundInside *in = &s->inside[at * s->nloops + i];
        const BoundLoop *l = &s->loop[i];
        uint8_t dom = i == at ? 0 : e->v[in->at];
        bool parallel = (e->loop[i].kind & CPU_KIND_PARALLEL) != 0;
        x->beside |= parallel && dom != in->bit;
        if (!(dom & in->bit)) continue;
        double extent = s->extent[l->iter];
        x->most[l->iter] = l->top ? extent : least_of(extent, x->most[l->iter] * e->loop[i].most);
        if (dom == in->bit)
            least[l->iter] = l->top ? extent : least_of(extent, least[l->iter] * e->loop[i].least);
        x->parallel |= parallel;
    }
    for (int i = 0; i < s->niters; i++) {
        bool interleaved = least[i] < s->extent[i] && is_interleaved(e, i);
        if (interleaved) least[i] = least_of(least[i], least_part(e, i));
        Inner n = inner_of(least[i], x->most[i], s->extent[i], interleaved);
        x->least[i] = n.least;
        x->runs[i] = n.runs;
        all *= n.most;
        few *= n.least;
        whole *= n.whole;
        x->kept *= n.full;
    }
    x->often = whole / all;
    x->together = most_of(1, e->straight / (few * s->lane));
    x->still = still_reads(s, at < 0 ? 0 : ~0u);
    x->shares = !is_alone(x) && shares_values(s, (1u << s->niters) - 1);
}

void bound_nest(Eval *e) {
    e->used = e->parallel ? e->b->cores : 1;
    e->each[0] = 1 / e->b->loads / e->used;
    e->each[1] = 1 / e->b->stores / e->used;
    e->rounds = e->s->lanes >= 16 ? 4 : e->s->lanes >= 8 ? 3 : e->s->lanes >= 4 ? 2 : 1;
    bound_extra(e);
    if (e->s->niters <= PIECE_ITERS && e->s->nreads <= MANY_REFS) see_lattice(e);
    if (e->s->npieces <= MANY_PIECES) return;
    for (int at = -1; at < e->s->nloops && e->s->nreads <= MANY_REFS; at++) {
        Piece x;
        Cost c;
        one_iteration(e, at, &x);
        set_cost(e, &x, &c);
        Ports ports = all_ports(e, &x, &c);
        c.t[0] = ports.load;
        c.t[1] = ports.store;
        c.t[2] = l1_seconds(e, &x, &c, e->s->lane);
        for (int k = 0; k < KINDS; k++) bound_raise(e, FIRST + k, c.t[k], -2 - at);
    }
}
