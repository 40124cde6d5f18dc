// What is fetched ahead: operands that come from beyond the second cache block by block, each block
// used by several turns of a loop inside. While one is used the next one comes, a line now and then
// (code/fetch.c), instead of all at once when its turn begins. And the places that tiles are stored
// to, where all of them are more than that cache holds.
#include "space/analytic_impl.h"

#include "base/checked.h"

static int iter_of(const Nest *n, const SchedLoop *l) {
    int i = 0;
    while (n->s->iter[i].name != l->iter) i++;
    return i;
}

// Values of iterator i in one iteration of loop `at`.
static int64_t inside(const Nest *n, int at, int i) {
    int64_t extent = n->extent[i];
    for (int j = 0; j <= at; j++)
        if (iter_of(n, &n->loop[j]) == i) extent = min_i64(extent, n->loop[j].step);
    return extent;
}

// Bytes of an operand that one iteration of loop `at` touches, if they lie together; or 0.
static double block_of(const Nest *n, const Ref *r, int at) {
    bool done[PROGRAM_MAX_ITERS] = {false};
    int64_t span = 1;
    for (int i = 0; i < n->s->niters;) {
        int64_t extent = r->uses[i] && !done[i] ? inside(n, at, i) : 1;
        done[i] |= extent == 1;
        if (extent > 1 && r->stride[i] == span) {
            span *= extent;
            done[i] = true;
            i = 0;
        } else {
            i++;
        }
    }
    for (int i = 0; i < n->s->niters; i++)
        if (!done[i]) return 0;
    return (double)span * r->bytes;
}

// The innermost loop, of the first `turns`, that brings a new block and has a loop inside that uses
// it again; -1: there is none.
static int block_loop(const Nest *n, const Ref *r, int turns) {
    bool again = false;
    for (int j = turns - 1; j >= 0; j--) {
        int i = iter_of(n, &n->loop[j]);
        if (r->uses[i] && again) return j;
        again |= !r->uses[i] && n->extent[i] > n->loop[j].step;
    }
    return -1;
}

// The loop around a tile; -1: there is none, or its sums are too short for anything to come
// meanwhile.
static int store_loop(const Nest *n, int turns, bool cut) {
    enum { LONG = 256 };
    int j = turns - 1;
    double length = 1;
    while (j >= 0 && !n->ref[0].uses[iter_of(n, &n->loop[j])]) j--;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction) length *= (double)inside(n, j, i);
    return length < LONG && !cut ? -1 : j;
}

static void ask(Chooser *c, Nest *n, const Ref *r, int at, int64_t distance, int level) {
    SchedPrefetch *all = arena_new_n(c->arena, SchedPrefetch, n->out.nprefetches + 1);
    for (int i = 0; i < n->out.nprefetches; i++) all[i] = n->out.prefetch[i];
    const SchedLoop *l = &n->loop[at];
    all[n->out.nprefetches++] = (SchedPrefetch){.tensor = c->p->tensors.at[r->access->tensor].name,
                                                .at = {.iter = l->iter, .step = l->step},
                                                .distance = distance,
                                                .level = level};
    n->out.prefetch = all;
}

// The outermost loop that brings a new panel, but not more than a fair part of the second cache at
// a time; and into the first one if it holds two of them.
void fetch_panels(Chooser *c, Nest *n, const Ref *panel, int turns) {
    for (int j = 0; j < turns; j++) {
        double bytes = panel->bytes;
        for (int i = 0; i < n->s->niters; i++)
            if (panel->uses[i]) bytes *= (double)inside(n, j, i);
        int i = iter_of(n, &n->loop[j]);
        if (!panel->uses[i] || bytes > (double)c->m->cache[2] / 4) continue;
        if (n->extent[i] > n->loop[j].step)
            ask(c, n, panel, j, 1, 3 * bytes <= (double)c->m->cache[1] ? 1 : 2);
        return;
    }
}

void choose_fetches(Chooser *c, Nest *n, int turns, int copied, bool cut) {
    double cache = (double)c->m->cache[2];
    for (int r = 1; r < n->nrefs; r++) {
        const Ref *ref = &n->ref[r];
        bool there = r != copied && !ref->as && ref->lone;
        int at = there && ref->size > cache ? block_loop(n, ref, turns) : -1;
        double bytes = at < 0 ? 0 : block_of(n, ref, at);
        if (bytes > 4096 && bytes <= cache / 2) ask(c, n, ref, at, 1, 2);
    }
    int at = stores_far(c, n) ? store_loop(n, turns, cut) : -1;
    if (at >= 0) ask(c, n, &n->ref[0], at, 0, 1);
}
