// Prefetches: of operands that come from beyond L2 in blocks, if a loop inside uses each block
// several times or if a loop changes the blocks of all operands. The next block arrives line by
// line while one is used (code/plan/fetch.c). And of the lines that tiles are stored to, if results
// do not fit into L2.
#include "choose/choose_tile.h"

#include "base/checked.h"

static int iter_of(const ChooseStmt *n, const SchedLoop *l) {
    int i = 0;
    while (n->s->iter[i].name != l->iter) i++;
    return i;
}

// Values of iterator i in one iteration of loop `at`.
static int64_t inside(const ChooseStmt *n, int at, int i) {
    int64_t extent = n->extent[i];
    for (int j = 0; j <= at; j++)
        if (iter_of(n, &n->out.loop[j]) == i) extent = min_i64(extent, n->out.loop[j].step);
    return extent;
}

// Bytes of an operand that one iteration of loop `at` accesses; 0: they are not contiguous.
static double block_of(const ChooseStmt *n, const ChooseRef *r, int at) {
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

// The innermost of the first `loops` loops that changes the block and has a loop inside that uses
// it again; -1: there is none.
static int block_loop(const ChooseStmt *n, const ChooseRef *r, int loops) {
    bool again = false;
    for (int j = loops - 1; j >= 0; j--) {
        int i = iter_of(n, &n->out.loop[j]);
        if (r->uses[i] && again) return j;
        again |= !r->uses[i] && n->extent[i] > n->out.loop[j].step;
    }
    return -1;
}

// The loop around a tile; -1: there is none, or its reduction is too short for a prefetch.
static int store_loop(const ChooseStmt *n, int loops, bool cut) {
    int j = loops - 1;
    double length = 1;
    while (j >= 0 && !n->ref[0].uses[iter_of(n, &n->out.loop[j])]) j--;
    for (int i = 0; i < n->s->niters; i++)
        if (n->s->iter[i].reduction) length *= (double)inside(n, j, i);
    return length < n->cost->fetch_steps && !cut ? -1 : j;
}

static void ask(Chooser *c, SchedStmt *s, const ChooseRef *r, const SchedLoop *l, int64_t distance,
                int level) {
    SchedPrefetch *all = arena_new_n(c->arena, SchedPrefetch, s->nprefetches + 1);
    for (int i = 0; i < s->nprefetches; i++) all[i] = s->prefetch[i];
    all[s->nprefetches++] = (SchedPrefetch){.tensor = c->p->tensors.at[r->access->tensor].name,
                                            .at = {.iter = l->iter, .step = l->step},
                                            .distance = distance,
                                            .level = level};
    s->prefetch = all;
}

// Into L1, if it holds two such blocks and the data that is used with them.
static int level_of(const Chooser *c, double bytes) {
    return c->cost->fetch_l1 * bytes <= (double)c->m->cache[1] ? 1 : 2;
}

// At the outermost loop that changes the panel, if a panel is a fair part of L2 at most.
void fetch_panels(Chooser *c, ChooseStmt *n, const ChooseRef *panel, int loops) {
    for (int j = 0; j < loops; j++) {
        double bytes = panel->bytes;
        for (int i = 0; i < n->s->niters; i++)
            if (panel->uses[i]) bytes *= (double)inside(n, j, i);
        int i = iter_of(n, &n->out.loop[j]);
        if (!panel->uses[i] || bytes > c->cost->panel_share * (double)c->m->cache[2]) continue;
        if (n->extent[i] > n->out.loop[j].step)
            ask(c, &n->out.head, panel, &n->out.loop[j], 1, level_of(c, bytes));
        return;
    }
}

// Rows of a panel, at a distance that leaves room in L1 for all lines that are on their way and for
// rows that map to the same set.
void fetch_rows(Chooser *c, ChooseStmt *n, const ChooseRef *panel, int64_t wide) {
    int at = n->out.nloops - 1;
    while (at >= 0 && !n->s->iter[iter_of(n, &n->out.loop[at])].reduction) at--;
    int64_t lines = ceil_div(wide * panel->bytes, c->m->line_bytes);
    int64_t rows = min_i64(c->cost->fetch_lines / lines, c->cost->fetch_rows);
    if (at >= 0) ask(c, &n->out.head, panel, &n->out.loop[at], max_i64(rows, 1), 1);
}

// Is each element used several times?
static bool is_shared(const ChooseStmt *n, const ChooseRef *r) {
    for (int i = 0; i < n->s->niters; i++)
        if (!r->uses[i] && n->extent[i] >= n->lanes) return true;
    return false;
}

static void fetch_blocks(Chooser *c, ChooseStmt *n, const TileLoops *a, int r) {
    const ChooseRef *ref = &n->ref[r];
    double cache = (double)c->m->cache[2], all = 0;
    bool packed = r == a->packed;
    if (ref->as || !ref->lone || r == a->ahead) return;
    int at = !packed && ref->size > cache ? block_loop(n, ref, a->loops) : -1;
    for (int k = 0; k < n->nrefs; k++) all += n->ref[k].size;
    bool whole = packed && !n->out.copy[0].at.iter; // the whole operand is packed at once
    bool made =
        c->users.writes[ref->access->tensor]; // by the Program, perhaps in the same iteration
    if (at < 0 && a->outer && all > cache && is_shared(n, ref) && !whole && !made)
        at = a->outer - 1;
    double bytes = at < 0 ? 0 : block_of(n, ref, at);
    int level = at < a->outer ? level_of(c, bytes) : 2;
    if (bytes >= c->cost->fetch_least && bytes <= room_in(c, 2))
        ask(c, packed ? n->out.section[0] : &n->out.head, ref, &n->out.loop[at], 1, level);
}

void choose_fetches(Chooser *c, ChooseStmt *n, const TileLoops *a) {
    for (int r = 1; r < n->nrefs; r++) fetch_blocks(c, n, a, r);
    int at = stores_far(c, n) ? store_loop(n, a->loops, a->cut) : -1;
    if (at >= 0) ask(c, &n->out.head, &n->ref[0], &n->out.loop[at], 0, 1);
}
