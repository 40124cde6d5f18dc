// Prefetches: `prefetch T at LOOP distance N level N` asks for what T's accesses touch N iterations
// of LOOP later. Mostly that is the access itself, so many bytes further:
//
//     for ci { ... F[ci] ... }                 at ci: fetch F[ci + 32]
//
// An access that stands still along a machine loop inside of LOOP would fetch each line again and
// again, and all of them in the first turn, faster than they can come. Where what one iteration of
// LOOP touches lies in memory without gaps, its lines are spread over all turns instead:
//
//     for ko { for h { for ci { ... F[ko, ci] ... }}}
//                                              at ko: fetch F[ko + 1] + q·(h·|ci| + ci) bytes
//
// q being such that the last turn fetches the last line.
#include "code/plan.h"

#include "base/checked.h"

enum { MAX_OPEN = TREE_MAX_DEPTH * 2 };

typedef struct Fetch {
    Plan *p;
    PNode *open[MAX_OPEN]; // loops around, outermost first
    int n;
} Fetch;

// The loops from `from` on that are run through one by one: down to the innermost machine loop.
static int turns_end(const Fetch *f, int from) {
    int end = f->n;
    while (end > from && !f->open[end - 1]->real) end--;
    return end;
}

// Bytes that the access runs through in the loops from `from` on; 0: there are gaps.
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

static bool stands_still(const Fetch *f, const Mem *m, int from, int end) {
    for (int i = from; i < end; i++)
        if (f->open[i]->extent > 1 && !lin_coef(m->off, f->open[i]->loop)) return true;
    return false;
}

// The terms of the loops up to `from`, and a step of q bytes per turn further in.
static const Lin *walk(const Fetch *f, const Mem *m, int from, int end, int64_t q) {
    LinTerm t[MAX_OPEN];
    int n = 0;
    int64_t step[MAX_OPEN];
    for (int i = end - 1; i >= from; q *= f->open[i--]->extent) step[i] = q;
    for (int i = 0; i < end; i++) {
        int64_t k = i < from ? lin_coef(m->off, f->open[i]->loop) : step[i];
        if (k) t[n++] = (LinTerm){.loop = f->open[i]->loop, .k = k};
    }
    return code_lin(f->p->arena, m->off->c, t, n);
}

// The access `ahead` bytes further, or its lines one by one.
static void fetch_from(Fetch *f, Mem *m, int loop, int64_t ahead, int depth) {
    int from = 0;
    while (from < f->n && f->open[from]->loop != loop) from++;
    int end = turns_end(f, ++from);
    int64_t span = 0, turns = 1;
    if (from <= f->n && stands_still(f, m, from, end)) span = dense_span(f, m, from);
    for (int i = from; i < end && span; i++)
        if (!checked_mul(turns, f->open[i]->extent, &turns)) span = 0;
    Mem *next = arena_copy(f->p->arena, m, sizeof *m);
    m->spread = span > 0;
    const Lin *off = span ? walk(f, m, from, end, ceil_div(span, turns)) : m->off;
    next->off = code_lin(f->p->arena, off->c + ahead, off->t, off->n);
    if (span) next->lane = type_info[m->type].bytes;
    if (span) plan_stream(f->p, next, depth);
    m->next = next;
}

// A prefetch asked for at a loop concerns every access to its buffer that moves with that loop.
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
