// Prefetches: `prefetch T at LOOP distance N level N` requests the data that T's accesses read N
// iterations of LOOP later. Usually that is the access itself, at a fixed distance in bytes:
//
//     for ci { ... F[ci] ... }                 at ci: fetch F[ci + 32]
//
// An access that is invariant in a machine loop inside LOOP would fetch each line repeatedly, and
// all lines in the first iteration, faster than memory delivers them. If the footprint of one
// iteration of LOOP has no gaps, its lines are distributed over all iterations instead:
//
//     for ko { for h { for ci { ... F[ko, ci] ... }}}
//                                              at ko: fetch F[ko + 1] + q·(h·|ci| + ci) bytes
//
// where q is chosen so that the last iteration fetches the last line. If there are gaps, but the
// footprint contains a row without gaps, the loops in which the access is invariant divide that
// row:
//
//     for w { for k { for c { ... I[c, 64*w + 0..63] ... }}}
//                                              at w: fetch I[c, 64*(w + 1)] + q·k bytes
//
// and if such rows form a tile, the outermost of these loops fetches some rows at a time:
//
//     for k { for c/16 { for c { ... O[6*k + 0..5, 0..63] ... }}}
//                                              at k: fetch O[6*k + 2·c/16 + 0..1, 0] + q·c bytes
#include "code/plan/plan.h"

#include "base/checked.h"

enum {
    MAX_OPEN = TREE_MAX_DEPTH * 2,
    MOST_LINES = 8, // most lines fetched in one iteration
};

typedef struct Fetch {
    Plan *p;
    PNode *open[MAX_OPEN]; // surrounding loops, outermost first
    int n;
} Fetch;

// The end of the loops from `from` on that run one by one: the innermost machine loop.
static int loops_end(const Fetch *f, int from) {
    int end = f->n;
    while (end > from && !f->open[end - 1]->form.real) end--;
    return end;
}

// The bytes that the access covers in the loops from `from` on; 0: there are gaps.
static int64_t dense_span(const Fetch *f, const Mem *m, int from) {
    int64_t span = type_info[m->type].bytes;
    bool done[MAX_OPEN] = {false};
    for (int left = f->n - from, i; left;) {
        for (i = from; i < f->n; i++)
            if (!done[i] && (!lin_coef(m->off, f->open[i]->loop) || f->open[i]->extent == 1 ||
                             lin_coef(m->off, f->open[i]->loop) == span))
                break;
        if (i == f->n) return 0;
        done[i] = true, left--;
        if (lin_coef(m->off, f->open[i]->loop) == span &&
            !checked_mul(span, f->open[i]->extent, &span))
            return 0;
    }
    return span;
}

static int64_t coef_of(const Fetch *f, const Mem *m, int i) {
    return f->open[i]->extent > 1 ? lin_coef(m->off, f->open[i]->loop) : 0;
}

static bool is_still(const Fetch *f, const Mem *m, int i) {
    return f->open[i]->extent > 1 && !coef_of(f, m, i);
}

static bool stands_still(const Fetch *f, const Mem *m, int from, int end) {
    for (int i = from; i < end; i++)
        if (is_still(f, m, i)) return true;
    return false;
}

// The memory that the loops [from, end) prefetch: `rows` rows of `span` bytes, with a stride of
// `apart` bytes.
typedef struct Patch {
    int from, end;
    int64_t rows, apart, span;
} Patch;

// The number of iterations of the loops that divide the columns of the patch: all loops if it is
// one piece; otherwise those in which the access is invariant, without the loop `over`, which
// divides its rows.
static int64_t iterations_of(const Fetch *f, const Mem *m, const Patch *p, bool whole, int over) {
    int64_t iterations = 1;
    for (int i = p->from; i < p->end; i++)
        if ((whole || is_still(f, m, i)) && i != over &&
            !checked_mul(iterations, f->open[i]->extent, &iterations))
            return 0;
    return iterations;
}

// The offset in terms of loops: that of the access, but with steps of q bytes in the loops that
// divide the patch.
static const Lin *walk(const Fetch *f, const Mem *m, const Patch *p, bool whole, int over,
                       int64_t q) {
    LinTerm t[MAX_OPEN];
    int n = 0;
    int64_t step[MAX_OPEN] = {0};
    for (int i = p->end - 1; i >= p->from; i--) {
        bool shares = (whole || is_still(f, m, i)) && i != over;
        step[i] = shares ? q : i == over ? m->ahead.rows * p->apart : coef_of(f, m, i);
        if (shares) q *= f->open[i]->extent;
    }
    for (int i = 0; i < p->end; i++) {
        int64_t k = i < p->from ? lin_coef(m->off, f->open[i]->loop) : step[i];
        if (k) t[n++] = (LinTerm){.loop = f->open[i]->loop, .k = k};
    }
    return code_lin(f->p->arena, m->off->c, t, n);
}

// The footprint of one iteration, if it is a row without gaps, or several such rows.
static bool see_patch(const Fetch *f, const Mem *m, Patch *p) {
    bool done[MAX_OPEN] = {false};
    p->span = type_info[m->type].bytes;
    p->rows = 1;
    for (bool more = true; more;) {
        more = false;
        for (int i = p->end; i < f->n; i++)
            if (!done[i] && coef_of(f, m, i) == p->span)
                done[i] = more = checked_mul(p->span, f->open[i]->extent, &p->span);
    }
    for (int i = p->end; i < f->n; i++) {
        if (done[i] || !coef_of(f, m, i)) continue;
        if (p->rows > 1) return false;
        p->rows = f->open[i]->extent;
        p->apart = coef_of(f, m, i);
    }
    return true;
}

// Distributes the cache lines of one iteration of the loop before `from` over the inner iterations;
// NULL: it is not possible.
static const Lin *distribute(const Fetch *f, Mem *m, int from) {
    Patch p = {.from = from, .end = loops_end(f, from), .rows = 1};
    if (from > f->n || !stands_still(f, m, from, p.end)) return NULL;
    int over = -1;
    bool whole = (p.span = dense_span(f, m, from)) > 0;
    if (!whole && !see_patch(f, m, &p)) return NULL;
    for (int i = p.end - 1; i >= from && p.rows > 1; i--)
        if (is_still(f, m, i)) over = i;
    int64_t iterations = iterations_of(f, m, &p, whole, over);
    if (!iterations || (over >= 0 && (iterations == 1 || f->open[over]->extent > 2 * p.rows)))
        return NULL;
    int64_t q = ceil_div(p.span, iterations), lines = ceil_div(q, f->p->machine->line_bytes);
    int64_t rows = over < 0 ? 1 : ceil_div(p.rows, f->open[over]->extent);
    if (lines * rows > MOST_LINES) return NULL;
    m->ahead.lines = (int)lines;
    m->ahead.rows = (int)rows;
    m->ahead.stride = p.apart;
    return walk(f, m, &p, whole, over, q);
}

// Prefetches the access `ahead` bytes further, or its lines one by one.
static void fetch_from(Fetch *f, Mem *m, int loop, int64_t ahead, int depth) {
    int from = 0;
    while (from < f->n && f->open[from]->loop != loop) from++;
    const Lin *off = distribute(f, m, from + 1);
    Mem *next = arena_copy(f->p->arena, m, sizeof *m);
    if (!off) off = m->off;
    next->off = code_lin(f->p->arena, off->c + ahead, off->t, off->n);
    if (m->ahead.lines) next->lane = type_info[m->type].bytes;
    if (m->ahead.lines) plan_stream(f->p, next, depth);
    m->next = next;
}

// A prefetch at a loop applies to every access to its buffer that depends on that loop.
static void of_access(Fetch *f, Mem *m, int depth) {
    const Tree *t = f->p->tree;
    for (int i = 0; i < t->prefetches.n && m->off; i++) {
        const Prefetch *ask = &t->prefetches.at[i];
        for (int k = 0; k < ask->at->nindex && ask->buffer == m->buffer; k++) {
            if (ask->at->index[k].passed) continue;
            int loop = f->p->loop_of_id[ask->at->index[k].id];
            int64_t step = lin_coef(m->off, loop), ahead;
            if (!step || !checked_mul(step, ask->distance, &ahead)) continue;
            if (ahead + m->off->c != (int32_t)(ahead + m->off->c)) continue;
            m->fetch = ask->level;
            fetch_from(f, m, loop, ahead, depth);
        }
    }
}

static void visit(Fetch *f, PNode *n) {
    if (n->kind == P_LEAF) {
        of_access(f, &n->write, n->depth);
        for (int r = 0; r < n->nreads; r++) of_access(f, &n->read[r], n->depth);
    }
    bool opens = n->kind == P_LOOP && f->n < MAX_OPEN;
    if (opens) f->open[f->n++] = n;
    for (int i = 0; i < n->nchild; i++) visit(f, n->child[i]);
    if (opens) f->n--;
}

void plan_prefetches(Plan *p) {
    Fetch f = {.p = p};
    if (p->tree->prefetches.n) visit(&f, p->root);
}
