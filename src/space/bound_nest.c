// What the pieces of a nest load, store and bring from each level of memory.
//
// A piece is a set of loops that run innermost: so many levels of each iterator. With all orders
// open these are the points of a small lattice (48 for a matrix product); an order is a path from
// nothing to all of the nest, a loop at a time. The cost of a path is that of its most expensive
// piece, and the bound that of the cheapest path whose pieces are possible: once for each resource,
// and once for all of them together for every iterator that might run in lanes. Where orders are
// decided, few pieces are left.
//
// A nest with too many pieces is looked at loop by loop: one iteration of each.
#include "space/bound_impl.h"

#include "space/cpu_space.h"

#include <math.h>

enum { FIRST = BOUND_LOAD, KINDS = BOUND_MEMORY - BOUND_LOAD + 1 };

// A piece: how much of each iterator runs inside.
typedef struct Piece {
    double most[PROGRAM_MAX_ITERS];
    double often, kept; // how often it runs, at least; how often the cache is full before it
    bool parallel;      // a parallel loop may be inside
} Piece;

// --- One piece
// ------------------------------------------------------------------------------------------

typedef struct Moves {
    double bytes, lines;
} Moves;

// What a piece touches; of a tensor that it accesses in several places, the largest.
static Moves moves_of(const Eval *e, const BoundRef *ref, int n, const double *extent,
                      double *elements) {
    Moves all = {0}, last = {0};
    for (int i = 0; i < n; i++) {
        const BoundRef *r = &ref[i];
        double far = 1, count;
        for (int d = 0; d < r->nfar; d++) far *= dim_values(r, d, extent);
        count = far;
        for (int d = r->nfar; d < r->ndims; d++) count *= dim_values(r, d, extent);
        elements[i] = count;
        Moves m = {count * r->bytes, far * e->b->line_bytes};
        bool packed = r->pack && e->v[r->pack] & CPU_PACK_YES;
        if (packed || m.lines < m.bytes) m.lines = m.bytes;
        if (r->again) {
            m.bytes = most_of(m.bytes, last.bytes), m.lines = most_of(m.lines, last.lines);
            all.bytes -= last.bytes, all.lines -= last.lines;
        }
        all.bytes += m.bytes, all.lines += m.lines;
        last = m;
    }
    return all;
}

// Loads or stores of so many elements each, where the given iterators run in lanes.
static double vectors_of(const Eval *e, const BoundRef *ref, int n, const double *elements,
                         uint32_t lanes) {
    double all = 0, last = 0;
    for (int i = 0; i < n; i++) {
        double m = ref[i].iters & lanes ? elements[i] * e->s->lane : elements[i];
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

// What a piece costs: all levels together, and each by itself.
typedef struct Cost {
    double levels; // L1 and beyond
    double t[KINDS];
    double elements[MANY_REFS + 1]; // reads, then the write
    double room;                    // registers that are full before it, all times together
} Cost;

static inline double vector_seconds(const Eval *e, const Piece *x, const Cost *c, uint32_t lanes,
                                    bool store) {
    const BoundStmt *s = e->s;
    double n = store ? vectors_of(e, s->write, s->nwrites, c->elements + s->nreads, lanes)
                     : vectors_of(e, s->read, s->nreads, c->elements, lanes);
    return (x->often * n - c->room) * e->each[store];
}

static void set_cost(const Eval *e, const Piece *x, Cost *c) {
    const BoundModel *b = e->b;
    const BoundStmt *s = e->s;
    int p = e->parallel, inside = x->parallel && p;
    double cores = p ? b->cores : 1;
    Moves in = moves_of(e, s->read, s->nreads, x->most, c->elements);
    Moves out = moves_of(e, s->write, s->nwrites, x->most, c->elements + s->nreads);
    c->room = x->kept * b->registers * (inside ? cores : 1);
    c->levels = level_seconds(b, p, LEVEL_L1, x->often * in.bytes, x->often * out.bytes,
                              c->room * b->vector_bytes);
    c->t[2] = c->levels;
    for (int level = LEVEL_L2; level < LEVEL_COUNT; level++) {
        c->t[2 + level] = 0;
        if (!(s->beyond >> level & 1)) continue;
        // Threads that run such pieces side by side may share what comes from memory.
        double shared = level == LEVEL_MEMORY && p && !inside ? 1 / cores : 1;
        double cache = b->cache[inside || level == LEVEL_MEMORY ? p : 0][level];
        double often = x->often * shared;
        c->t[2 + level] = level_seconds(b, p, level, often * in.lines, often * out.lines,
                                        x->kept * shared * cache);
        c->levels = most_of(c->levels, c->t[2 + level]);
    }
}

// --- All pieces
// -----------------------------------------------------------------------------------------

// Of the innermost loops of an iterator, by their number.
typedef struct Inner {
    double least, most, whole; // whole: of its pieces so many are, at least
    bool parallel;
} Inner;

static Inner inner_of(double least, double most, double extent, bool parallel) {
    bool known = least >= most;
    return (Inner){least, most, known ? floor(extent / most) * most / extent : 0.5, parallel};
}

static void see_inner(const Eval *e, int iter, Inner *out) {
    const BoundStmt *s = e->s;
    double extent = s->extent[iter];
    out[0] = (Inner){1, 1, 1, false};
    for (int n = 1; n <= s->nlevels[iter]; n++) {
        int at = s->last[iter] - n + 1;
        const LoopState *l = &e->loop[at];
        bool parallel = out[n - 1].parallel || l->kind & CPU_KIND_PARALLEL;
        double least = least_of(extent, out[n - 1].least * l->least);
        double most = least_of(extent, out[n - 1].most * l->most);
        if (s->loop[at].top) least = most = extent;
        out[n] = inner_of(least, most, extent, parallel);
    }
}

// How many loops of each iterator a piece has, a byte each; and of `a` nowhere fewer than of `b`.
typedef uint64_t Taken;
enum { BYTE = 8 };

static bool covers(Taken a, Taken b) {
    const Taken high = 0x8080808080808080u;
    return (((a | high) - b) & high) == high;
}

// What a piece has to have inside, when it has the loop `at`.
static Taken needs_of(const Eval *e, int at) {
    const BoundStmt *s = e->s;
    Taken need = 0;
    for (int k = 0; k < s->niters; k++) {
        if (k == s->loop[at].iter) continue;
        int n = s->nlevels[k]; // the outermost that is inside brings the others with it
        const BoundInside *in = &s->inside[at * s->nloops + s->last[k]];
        while (n > 0 && e->v[in[1 - n].at] != in[1 - n].bit) n--;
        need |= (Taken)n << (BYTE * k);
    }
    return need;
}

// Gives the instances of a piece, at least.
static double make_piece(const Eval *e, const uint8_t *taken, Inner inner[][CPU_MAX_LEVELS + 1],
                         Piece *x) {
    double most = 1, least = 1, whole = e->s->box;
    x->parallel = false;
    for (int i = 0; i < e->s->niters; i++) {
        const Inner *n = &inner[i][taken[i]];
        x->most[i] = n->most;
        most *= n->most;
        least *= n->least;
        whole *= n->whole;
        x->parallel |= n->parallel;
    }
    x->often = whole / most;
    x->kept = whole / least;
    return least;
}

// Questions that are asked of the lattice at once: with lanes along each iterator that may have
// them, and with none, what all resources take; and, for who asks, what each takes.
enum { MANY_COLUMNS = PIECE_ITERS + 1 + KINDS };

typedef struct Lattice {
    int ncolumns, nways; // ways to have lanes come first
    int along[PIECE_ITERS + 1];
    double element[PIECE_ITERS + 1][MANY_REFS + 1];
    double best[MANY_PIECES][MANY_COLUMNS]; // of the cheapest order that gets to a piece
} Lattice;

// Seconds of a load or store of one element, by access, for each way to have lanes.
static void set_ways(const Eval *e, Lattice *l) {
    const BoundStmt *s = e->s;
    l->nways = 1;
    l->along[0] = -1;
    for (int i = 0; i < s->niters; i++)
        if (e->lanes >> i & 1) l->along[l->nways++] = i;
    for (int w = 0; w < l->nways; w++) {
        uint32_t lanes = w ? 1u << l->along[w] : 0;
        for (int r = 0; r < s->nreads + s->nwrites; r++) {
            bool write = r >= s->nreads;
            const BoundRef *ref = write ? &s->write[r - s->nreads] : &s->read[r];
            l->element[w][r] = e->each[write] * (ref->iters & lanes ? s->lane : 1);
        }
    }
    l->ncolumns = l->nways + (e->detailed ? KINDS : 0);
}

static void fill_columns(const Eval *e, const Lattice *l, const Piece *x, double *t) {
    const BoundStmt *s = e->s;
    Cost c;
    set_cost(e, x, &c);
    double room[2] = {c.room * e->each[0], c.room * e->each[1]};
    for (int w = 0; w < l->nways; w++) {
        const double *element = l->element[w];
        double in = 0, out = 0, last = 0;
        for (int r = 0; r < s->nreads; r++) {
            double m = c.elements[r] * element[r];
            if (s->read[r].again) m = most_of(m, last), in -= last;
            in += m;
            last = m;
        }
        if (s->nwrites) out = c.elements[s->nreads] * element[s->nreads];
        t[w] = most_of(c.levels, most_of(x->often * in - room[0], x->often * out - room[1]));
    }
    if (l->ncolumns == l->nways) return;
    t += l->nways;
    t[0] = vector_seconds(e, x, &c, e->lanes, false);
    t[1] = vector_seconds(e, x, &c, e->lanes, true);
    for (int k = 2; k < KINDS; k++) t[k] = c.t[k];
}

// From the inside out: the cheapest piece with one loop less, and then the piece itself. A piece of
// so few instances that registers could hold all they touch costs nothing.
static void fill_lattice(const Eval *e, Lattice *l) {
    const BoundStmt *s = e->s;
    Inner inner[PIECE_ITERS][CPU_MAX_LEVELS + 1];
    Taken need[PIECE_ITERS][CPU_MAX_LEVELS + 1];
    double few = e->b->registers / most_of(1, s->nreads);
    for (int i = 0; i < s->niters; i++) {
        see_inner(e, i, inner[i]);
        need[i][0] = 0;
        for (int n = 1; n <= s->nlevels[i]; n++) need[i][n] = needs_of(e, s->last[i] - n + 1);
    }
    for (int c = 0; c < l->ncolumns; c++) l->best[0][c] = 0;
    for (int at = 1; at < s->npieces; at++) {
        const uint8_t *taken = s->taken[at];
        double before[MANY_COLUMNS], *now = l->best[at];
        Taken all = 0;
        bool possible = true;
        for (int c = 0; c < l->ncolumns; c++) now[c] = before[c] = INFINITY;
        for (int i = 0; i < s->niters; i++) all |= (Taken)taken[i] << (BYTE * i);
        for (int i = 0; i < s->niters; i++) possible &= covers(all, need[i][taken[i]]);
        if (!possible) continue;
        for (int i = 0; i < s->niters; i++) {
            if (!taken[i]) continue;
            const double *from = l->best[at - s->radix[i]];
            for (int c = 0; c < l->ncolumns; c++) before[c] = least_of(before[c], from[c]);
        }
        if (before[0] == INFINITY) continue;
        Piece x;
        double least = make_piece(e, taken, inner, &x);
        if (least > few)
            fill_columns(e, l, &x, now);
        else
            for (int c = 0; c < l->ncolumns; c++) now[c] = 0;
        for (int c = 0; c < l->ncolumns; c++) now[c] = most_of(now[c], before[c]);
    }
}

// The piece that makes the cheapest order as expensive as it is.
static int worst_piece(const BoundStmt *s, const Lattice *l, int column) {
    int at = s->npieces - 1;
    while (at > 0) {
        int from = -1;
        for (int i = 0; i < s->niters; i++)
            if (s->taken[at][i] &&
                (from < 0 || l->best[at - s->radix[i]][column] < l->best[from][column]))
                from = at - s->radix[i];
        if (l->best[from][column] < l->best[at][column]) return at;
        at = from;
    }
    return 0;
}

static void see_lattice(Eval *e) {
    const BoundStmt *s = e->s;
    Lattice l;
    set_ways(e, &l);
    fill_lattice(e, &l);
    const double *all = l.best[s->npieces - 1];
    double best = INFINITY;
    int way = 0;
    bool arithmetic = false;
    for (int w = 0; w < l.nways; w++) {
        double compute = bound_compute(e, w ? e->shares[l.along[w]] : 1);
        double t = most_of(compute, all[w]);
        if (t < best) best = t, way = w, arithmetic = compute >= all[w];
    }
    if (!isfinite(best)) return;
    bound_raise(e, BOUND_NEST, best, e->part && !arithmetic ? worst_piece(s, &l, way) : -1);
    if (e->part) e->part->along = l.along[way];
    for (int k = 0; k < KINDS && e->detailed; k++)
        bound_raise(e, FIRST + k, all[l.nways + k], e->part ? worst_piece(s, &l, l.nways + k) : -1);
}

// --- Too many pieces
// ------------------------------------------------------------------------------------

// One iteration of a loop; -1: all of them.
static void one_iteration(const Eval *e, int at, Piece *x) {
    const BoundStmt *s = e->s;
    double least[PROGRAM_MAX_ITERS], all = 1, few = 1, whole = s->box;
    x->parallel = at < 0 && e->parallel;
    for (int i = 0; i < s->niters; i++) least[i] = x->most[i] = at < 0 ? s->extent[i] : 1;
    for (int i = 0; at >= 0 && i < s->nloops; i++) {
        const BoundInside *in = &s->inside[at * s->nloops + i];
        const BoundLoop *l = &s->loop[i];
        uint8_t dom = i == at ? 0 : e->v[in->at];
        if (!(dom & in->bit)) continue;
        double extent = s->extent[l->iter];
        x->most[l->iter] = l->top ? extent : least_of(extent, x->most[l->iter] * e->loop[i].most);
        if (dom == in->bit)
            least[l->iter] = l->top ? extent : least_of(extent, least[l->iter] * e->loop[i].least);
        x->parallel |= (e->loop[i].kind & CPU_KIND_PARALLEL) != 0;
    }
    for (int i = 0; i < s->niters; i++) {
        Inner n = inner_of(least[i], x->most[i], s->extent[i], false);
        all *= n.most;
        few *= n.least;
        whole *= n.whole;
    }
    x->often = whole / all;
    x->kept = whole / few;
}

void bound_nest(Eval *e) {
    double cores = e->parallel ? e->b->cores : 1;
    e->each[0] = 1 / e->b->loads / cores;
    e->each[1] = 1 / e->b->stores / cores;
    if (e->s->npieces) {
        see_lattice(e);
        return;
    }
    for (int at = -1; at < e->s->nloops && e->s->nreads <= MANY_REFS; at++) {
        Piece x;
        Cost c;
        one_iteration(e, at, &x);
        set_cost(e, &x, &c);
        c.t[0] = vector_seconds(e, &x, &c, e->lanes, false);
        c.t[1] = vector_seconds(e, &x, &c, e->lanes, true);
        for (int k = 0; k < KINDS; k++) bound_raise(e, FIRST + k, c.t[k], at);
    }
}
