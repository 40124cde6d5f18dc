// Converts a Schedule to decisions.
//
// Decisions are made one by one on a candidate of this space; one that contradicts earlier ones is
// reported and left open. The loops that lowering would share are found in the same way: they are
// merged as far as the space allows.
#include "space/cpu_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "space/cpu_space.h"

#include <stdlib.h>

typedef struct Read {
    Arena *arena;
    const CpuSpace *cs;
    const CpuHost *h;
    const Program *p;
    const Schedule *s;
    DiagList *diags;
    SpaceWork *w;
    Cand *c, *trial;
    VEC(Decision) out;
    CpuPath *path; // per statement
} Read;

// --- Deciding ------------------------------------------------------------------------------------

// The decision that a pair of objects keeps these values; var < 0: there is nothing to decide.
static Decision decision(const Read *r, int choice, int a, int b, uint64_t keep) {
    bool flipped;
    int var = cpu_var(r->cs, choice, a, b, &flipped);
    const ChoiceDesc *c =
        var < 0 ? NULL : &r->cs->space->desc->choice[r->cs->space->var[var].choice];
    uint64_t turned = 0;
    for (int i = 0; var >= 0 && flipped && i < c->nvalues; i++)
        if (keep >> i & 1) turned |= 1ull << c->inverse[i];
    return (Decision){var, var >= 0 && flipped ? turned : keep};
}

static bool keep_values(Read *r, int var, uint64_t values) {
    Decision d = {var, values};
    if (var < 0) return false;
    uint64_t dom = space_domain(r->cs->space, r->c, d.var);
    if (!dom || (dom & ~d.keep)) { // otherwise it follows already
        space_copy(r->cs->space, r->trial, r->c);
        if (!space_keep(r->w, r->trial, d.var, d.keep)) return false;
        Cand *before = r->c;
        r->c = r->trial;
        r->trial = before;
    }
    vec_push(r->arena, &r->out, d);
    return true;
}

static bool try_keep(Read *r, int choice, int a, int b, uint64_t keep) {
    Decision d = decision(r, choice, a, b, keep);
    return keep_values(r, d.var, d.keep);
}

static Diag *left_open(Read *r, Range range, const char *label, const char *what) {
    return diag_report(r->diags, range, DIAG_SPACE_SCHEDULE, label, what);
}

// Makes a decision; if that fails, reports the constraint that forbids it.
static bool keep(Read *r, const SchedStmt *g, int choice, int a, int b, uint64_t values,
                 const char *what) {
    if (try_keep(r, choice, a, b, values)) return true;
    Diag *diag = left_open(r, g->range, g->label, what);
    Decision d = decision(r, choice, a, b, values);
    if (d.var < 0) return false;
    vec_push(r->arena, &r->out, d); // behind all that it may contradict
    space_note_dead(r->arena, r->w, r->cs->space->root, r->out.at, r->out.n, r->diags, diag);
    r->out.n--;
    return false;
}

static bool keep_number(Read *r, const SchedStmt *g, int choice, int a, int64_t value,
                        const char *what) {
    int var = cpu_var(r->cs, choice, a, -1, NULL);
    int bit = var < 0 ? -1 : space_bit(r->cs->space, var, value);
    if (bit >= 0 && try_keep(r, choice, a, -1, 1ull << bit)) return true;
    if (var >= 0 || value) left_open(r, g->range, g->label, what);
    return false;
}

static const SchedStmt *section(const Read *r, Name label) {
    static const SchedStmt none = {.stage = -1, .storage.home = HOME_AUTO};
    const SchedStmt *g = r->s ? schedule_find(r->s, label) : NULL;
    if (g) return g;
    SchedStmt *empty = arena_copy(r->arena, &none, sizeof none);
    empty->label = label;
    return empty;
}

static const SchedStmt *section_of(const Read *r, int stmt) {
    return section(r, r->p->stmts.at[stmt].label);
}

// --- Loops ---------------------------------------------------------------------------------------

// The section with the loops: that of the statement, or of its partial results.
static const SchedStmt *loops_of(const Read *r, int stmt) {
    const SchedStmt *g = section_of(r, stmt);
    if (!g->privatise.iter) return g;
    return section(r, name_of(r->p->names, arena_printf(r->arena, "%s.part", g->label)));
}

static int first_dim(const Read *r, int stmt, int iter) {
    for (int k = 0; k < r->h->ndims[stmt]; k++)
        if (r->h->object[r->h->first_dim[stmt] + k].iter == iter) return r->h->first_dim[stmt] + k;
    bug("an iterator without loops");
}

// Loop number i of a section: its iterator and step, parts counted as the outermost loop of theirs.
static int loop_iter(const Read *r, int stmt, const SchedStmt *from, int i, int64_t *step) {
    const SchedStmt *g = section_of(r, stmt);
    const Stmt *s = &r->p->stmts.at[stmt];
    *step = from->loop[i].step;
    int iter = stmt_find_iter(s, from->loop[i].iter);
    if (iter >= 0 || !g->privatise.iter) return iter;
    *step = g->privatise.step;
    return stmt_find_iter(s, g->privatise.iter);
}

typedef struct ReadSteps {
    int n;
    int64_t at[CPU_MAX_LEVELS + 1];
    bool interleaved[CPU_MAX_LEVELS + 1];
} ReadSteps;

// A loop that covers all that is left of its iterator is none, except that of a GPU's blocks.
static bool covers(const Read *r, int64_t step, int64_t left, bool first) {
    bool block = first && r->cs->words->by >= 0 && step < 2 * left;
    return step >= left && left > 1 && !block;
}

// Threads are tiles: where they come first, they are in a loop that runs once.
static bool starts_with_threads(const Read *r, const SchedLoop *l, int before) {
    return !before && r->cs->words->by >= 0 && cpu_is_thread(l->kind);
}

// The steps of an iterator, outermost first, down to 1; those that cover everything left out.
static bool steps_of(const Read *r, int stmt, int iter, const SchedStmt *from, ReadSteps *out) {
    int64_t left = iter_extent(&r->p->stmts.at[stmt].iter[iter]), step;
    *out = (ReadSteps){0};
    for (int i = 0; i < from->nloops; i++) {
        if (loop_iter(r, stmt, from, i, &step) != iter) continue;
        if (out->n > CPU_MAX_LEVELS) return false;
        if (covers(r, step, left, !out->n)) continue;
        if (starts_with_threads(r, &from->loop[i], out->n))
            out->at[out->n++] = ceil_div(left, step) * step;
        bool apart = from->loop[i].interleaved;
        if (apart && (step == 1 || (out->n && r->cs->words->splits < 0))) return false;
        if (out->n && out->at[out->n - 1] % step) return false;
        out->interleaved[out->n] = apart;
        out->at[out->n++] = step;
        left = step;
    }
    if (!out->n || out->at[out->n - 1] != 1) out->at[out->n++] = 1;
    return out->n <= r->h->object[first_dim(r, stmt, iter)].nlevels;
}

static void read_sizes(Read *r, int stmt, const SchedStmt *from) {
    for (int k = 0; k < r->p->stmts.at[stmt].niters; k++) {
        ReadSteps steps;
        int top = first_dim(r, stmt, k);
        if (!steps_of(r, stmt, k, from, &steps)) {
            left_open(r, from->range, from->label, "a split");
            continue;
        }
        for (int level = 1; level < r->h->object[top].nlevels; level++)
            keep_number(r, from, CPU_SIZE, top + level,
                        level < steps.n ? steps.at[level - 1] / steps.at[level] : 1, "a size");
        for (int d = top; d < top + steps.n; d++)
            if (cpu_var(r->cs, CPU_SPLIT, d, -1, NULL) >= 0)
                keep(r, from, CPU_SPLIT, d, -1,
                     steps.interleaved[d - top] ? CPU_SPLIT_INTERLEAVE : CPU_SPLIT_BLOCK,
                     "a split");
    }
}

// The value of `kind` for a mark; 0: this space has none.
static uint64_t kind_values(const Read *r, Kind k) {
    int own = r->cs->words->choice[CPU_KIND];
    for (int i = 0; i < r->cs->space->desc->choice[own].nvalues; i++)
        if (r->cs->words->kind[i] == k) return 1ull << i;
    return 0;
}

static bool names_iter(const SchedStmt *from, Name iter) {
    for (int i = 0; i < from->nloops; i++)
        if (from->loop[i].iter == iter) return true;
    return false;
}

// The loops as objects; iterators that the section omits run innermost.
static void read_order(Read *r, int stmt, const SchedStmt *from) {
    CpuPath *path = &r->path[stmt];
    const Stmt *s = &r->p->stmts.at[stmt];
    int next[PROGRAM_MAX_ITERS] = {0};
    int64_t left[PROGRAM_MAX_ITERS], step;
    for (int k = 0; k < s->niters; k++) left[k] = iter_extent(&s->iter[k]);
    for (int k = 0; k < s->serial; k++) // steps that the section leaves out run outermost
        if (!names_iter(from, s->iter[k].name)) {
            path->dim[path->n++] = first_dim(r, stmt, k);
            next[k]++;
            left[k] = 1;
        }
    for (int i = 0; i < from->nloops && path->n < TREE_MAX_DEPTH; i++) {
        int iter = loop_iter(r, stmt, from, i, &step);
        if (iter < 0 || covers(r, step, left[iter], !next[iter])) continue;
        int top = first_dim(r, stmt, iter);
        if (r->h->object[top].nlevels > 1 && starts_with_threads(r, &from->loop[i], next[iter])) {
            keep(r, from, CPU_KIND, top, -1, CPU_KIND_SERIAL, "a mark");
            next[iter]++;
            left[iter] = 0;
            path->dim[path->n++] = top;
        }
        int d = top + next[iter]++;
        if (next[iter] > r->h->object[top].nlevels) continue;
        left[iter] = step;
        path->dim[path->n++] = d;
        uint64_t mark = kind_values(r, from->loop[i].kind);
        if (!mark)
            left_open(r, from->loop[i].range, from->label, "a mark");
        else
            keep(r, from, CPU_KIND, d, -1, mark, "a mark");
    }
    for (int k = 0; k < s->niters; k++) {
        int d = first_dim(r, stmt, k) + next[k];
        bool whole = next[k] == 0 || left[k] > 1;
        if (!whole || next[k] >= r->h->object[first_dim(r, stmt, k)].nlevels) continue;
        path->dim[path->n++] = d;
        keep(r, from, CPU_KIND, d, -1, CPU_KIND_SERIAL, "a mark");
    }
    for (int i = 0; i + 1 < path->n; i++)
        keep(r, from, CPU_ORDER, path->dim[i], path->dim[i + 1], CPU_ORDER_OUTER, "its order");
}

// --- Statements ----------------------------------------------------------------------------------

static bool is_one_part(const Read *r, int stmt, const SchedStmt *g) {
    int iter = stmt_find_iter(&r->p->stmts.at[stmt], g->privatise.iter);
    return iter >= 0 && g->privatise.step >= iter_extent(&r->p->stmts.at[stmt].iter[iter]);
}

static void read_place(Read *r, int stmt) {
    const SchedStmt *g = section_of(r, stmt);
    if (g->nskews) left_open(r, g->skew[0].range, g->label, "skewed loops");
    uint64_t place = g->inlined   ? CPU_PLACE_INLINE
                     : g->after   ? CPU_PLACE_AFTER
                     : g->at.iter ? CPU_PLACE_AT
                                  : CPU_PLACE_NEST;
    keep(r, g, CPU_PLACE, r->h->comp[stmt], -1, place, "where it is computed");
    int comp = r->h->comp[stmt];
    if (cpu_var(r->cs, CPU_PRIVATISE, comp, -1, NULL) >= 0)
        keep(r, g, CPU_PRIVATISE, comp, -1,
             g->privatise.iter ? CPU_PRIVATISE_YES : CPU_PRIVATISE_NO, "partial results");
    if (g->privatise.iter && g->privatise.interleaved)
        left_open(r, g->privatise.range, g->label, "partial results of elements that lie apart");
    else if (g->privatise.iter && is_one_part(r, stmt, g))
        left_open(r, g->privatise.range, g->label, "partial results in a single part");
    else if (g->privatise.iter && cpu_var(r->cs, CPU_PRIVATISE, comp, -1, NULL) < 0)
        left_open(r, g->range, g->label, "partial results");
}

static const SchedCopy *copy_of(const SchedStmt *g, Name tensor) {
    for (int i = 0; i < g->ncopies; i++)
        if (g->copy[i].tensor == tensor) return &g->copy[i];
    return NULL;
}

static void read_packs(Read *r) {
    for (int i = 0; i < r->h->copies.n; i++) {
        int w = r->h->copies.at[i];
        const CpuObject *o = &r->h->object[w];
        const SchedStmt *g = section_of(r, o->stmt);
        bool made = copy_of(g, r->p->tensors.at[o->tensor].name) != NULL;
        keep(r, g, CPU_PACK, w - 1, -1, made ? CPU_PACK_YES : CPU_PACK_NO, "a copy");
    }
}

// Copies that this space does not know.
static void miss_copies(Read *r, int stmt) {
    const SchedStmt *g = section_of(r, stmt);
    for (int k = 0; k < g->ncopies; k++) {
        bool known = false;
        for (int i = 0; i < r->h->copies.n; i++) {
            const CpuObject *o = &r->h->object[r->h->copies.at[i]];
            known |= o->stmt == stmt && r->p->tensors.at[o->tensor].name == g->copy[k].tensor;
        }
        if (!known) left_open(r, g->copy[k].range, g->label, "a copy");
    }
}

static void read_storage(Read *r, const SchedStmt *g, int region, const Storage *s) {
    int own = r->cs->words->choice[CPU_HOME];
    BufferHome wanted = s->home == HOME_ARGUMENT ? HOME_AUTO : s->home; // no place was given
    uint64_t home = 0;
    for (int i = 0; i < r->cs->space->desc->choice[own].nvalues; i++)
        if (r->cs->words->home[i] == wanted) home = 1ull << i;
    if (!home)
        left_open(r, s->place, g->label,
                  s->home == HOME_REGISTER ? "a place in registers" : "a place in memory");
    else
        keep(r, g, CPU_HOME, region, -1, home, "a place in memory");
    int swizzle = r->cs->words->swizzle;
    if (swizzle >= 0) {
        int var = space_var(r->cs->space, swizzle, region, -1, NULL);
        int bit = space_bit(r->cs->space, var, s->swizzle);
        if (bit < 0 || !keep_values(r, var, 1ull << bit))
            left_open(r, g->range, g->label, "a swizzle");
    }
    keep(r, g, CPU_LAYOUT, region, -1, s->ndims ? CPU_LAYOUT_GIVEN : CPU_LAYOUT_ROW_MAJOR,
         "a layout");
}

static bool same_loop(const Read *r, int dim, const LoopRef *ref, int reader) {
    const CpuObject *o = &r->h->object[dim];
    const SchedStmt *g = section_of(r, reader);
    const Stmt *s = &r->p->stmts.at[o->stmt];
    int iter = stmt_find_iter(s, ref->iter);
    int64_t step = ref->step;
    if (iter < 0 && g->privatise.iter)
        iter = stmt_find_iter(s, g->privatise.iter), step = g->privatise.step;
    return !ref->interleaved && iter == o->iter && cpu_step(r->cs, r->c, dim) == step;
}

// A loop that covers all there is of its iterator, and is no loop here: those around it. -1: none.
static int once_at(const Read *r, const LoopRef *at, int reader) {
    const SchedStmt *from = loops_of(r, reader);
    const Stmt *s = &r->p->stmts.at[reader];
    int64_t left[PROGRAM_MAX_ITERS], step;
    int depth = 0;
    for (int k = 0; k < s->niters; k++) left[k] = iter_extent(&s->iter[k]);
    for (int i = 0; i < from->nloops; i++) {
        int iter = loop_iter(r, reader, from, i, &step);
        if (iter < 0) continue;
        bool once = covers(r, step, left[iter], false);
        if (from->loop[i].iter == at->iter && from->loop[i].step == at->step &&
            from->loop[i].interleaved == at->interleaved)
            return once ? depth : -1;
        if (once) continue;
        left[iter] = step;
        depth++;
    }
    return -1;
}

// The loops of the reader around a window.
static void read_window(Read *r, const SchedStmt *g, int window, const LoopRef *at, int reader) {
    const CpuPath *path = &r->path[reader];
    int depth = 0, once = -1;
    for (int i = 0; at->iter && i < path->n && !depth; i++)
        if (same_loop(r, path->dim[i], at, reader)) depth = i + 1;
    if (at->iter && !depth) depth = once = once_at(r, at, reader);
    bool in_steps = depth > 0 && r->h->object[path->dim[depth - 1]].step;
    if (at->iter && ((!depth && once < 0) || (in_steps && !r->h->object[window].changes)))
        left_open(r, g->range, g->label, "the loop it is made at");
    for (int i = 0; i < path->n && (depth || once == 0 || !at->iter); i++)
        if (!r->h->object[path->dim[i]].step)
            keep(r, g, CPU_AT, window, path->dim[i], i < depth ? CPU_AT_INSIDE : CPU_AT_OUTSIDE,
                 "the loop it is made at");
}

// The loops of a section, as cpu_schedule.c would write them for one kind of copy?
static bool has_loops(const SchedStmt *g, const SchedLoop *loop, int n, bool lanes) {
    bool same = n == g->nloops;
    for (int i = 0; same && i < n; i++)
        same = loop[i].iter == g->loop[i].iter && loop[i].step == g->loop[i].step &&
               !g->loop[i].interleaved && (lanes ? loop[i].kind : KIND_SERIAL) == g->loop[i].kind;
    return same;
}

static uint64_t copy_kind(Read *r, const SchedStmt *own, int window, const Storage *layout) {
    static const uint64_t kinds[] = {CPU_WINDOW_KIND_SERIAL, CPU_WINDOW_KIND_VECTOR,
                                     CPU_WINDOW_KIND_TURNED};
    SchedStmt rest = *own;
    rest.nloops = 0;
    if (!cpu_section_is_plain(&rest)) return CPU_WINDOW_KIND_GIVEN;
    if (!own->nloops) return CPU_WINDOW_KIND_SERIAL;
    for (int k = 0; k < 2 + r->h->object[window].may_turn; k++) {
        SchedLoop loop[CPU_COPY_LOOPS];
        int n = cpu_copy_loops(r->arena, r->cs, window, layout, k == 2, loop);
        if (has_loops(own, loop, n, k > 0)) return kinds[k];
    }
    return CPU_WINDOW_KIND_GIVEN;
}

// Of a GPU: copied in the loops of its layout, or of a section of its own.
static bool keep_copied(Read *r, int window, uint64_t kind) {
    int copied = space_var(r->cs->space, r->cs->words->copied, window, -1, NULL);
    return keep_values(r, copied, kind == CPU_WINDOW_KIND_SERIAL ? 1 : 2);
}

static void read_stages(Read *r, const SchedStmt *g, int window, const Storage *s) {
    const CpuWords *words = r->cs->words;
    if (words->by < 0) return;
    int by = space_var(r->cs->space, words->by, window, -1, NULL);
    int stages = space_var(r->cs->space, words->stages, window, -1, NULL);
    int bit = space_bit(r->cs->space, stages, s->stages > 1 ? s->stages : 1);
    if (!keep_values(r, by, s->async ? 2 : 1) || bit < 0 || !keep_values(r, stages, 1ull << bit))
        left_open(r, g->range, g->label, "how it is copied");
}

static void read_copies(Read *r) {
    for (int i = 0; i < r->h->copies.n; i++) {
        int w = r->h->copies.at[i];
        const CpuObject *o = &r->h->object[w];
        const SchedStmt *g = section_of(r, o->stmt);
        const SchedCopy *copy = copy_of(g, r->p->tensors.at[o->tensor].name);
        if (!copy || !space_exists(r->cs->space, r->c, w)) continue;
        read_window(r, g, w, &copy->at, o->stmt);
        read_storage(r, g, w + 1, &copy->storage);
        Name label = name_of(r->p->names, arena_printf(r->arena, "%s.%s", g->label, copy->tensor));
        const SchedStmt *own = section(r, label);
        uint64_t kind = copy_kind(r, own, w, &copy->storage);
        if (cpu_var(r->cs, CPU_WINDOW_KIND, w, -1, NULL) >= 0)
            keep(r, own, CPU_WINDOW_KIND, w, -1, kind, "its loops");
        else if (!keep_copied(r, w, kind))
            left_open(r, own->range, own->label, "its loops");
        read_stages(r, g, w, &copy->storage);
    }
}

// Are the iterators in the declared order, except for the last, which may be a vector loop?
static bool is_plain_window(const SchedStmt *g, const Stmt *s, int inner) {
    SchedStmt rest = *g;
    int n = 0;
    rest.nloops = rest.accumulators = 0; // which are another choice
    if (!cpu_section_is_plain(&rest) || inner < 0 || (g->nloops && g->nloops != s->niters))
        return false;
    for (int i = 0; i < s->niters && g->nloops; i++) {
        const SchedLoop *l = &g->loop[i == inner ? s->niters - 1 : n];
        n += i != inner;
        if (l->step != 1 || l->iter != s->iter[i].name) return false;
        if (l->kind != KIND_SERIAL && (i != inner || l->kind != KIND_VECTOR)) return false;
    }
    return true;
}

static void read_recomputed(Read *r, int stmt) {
    const SchedStmt *g = section_of(r, stmt);
    const Stmt *s = &r->p->stmts.at[stmt];
    int w = r->h->window[stmt];
    if (w < 0 || !space_exists(r->cs->space, r->c, w)) return;
    read_window(r, g, w, &g->at, r->h->object[r->h->object[w].reader].stmt);
    int inner = g->nloops ? stmt_find_iter(s, g->loop[g->nloops - 1].iter) : s->niters - 1;
    bool plain = is_plain_window(g, s, inner);
    bool vector = g->nloops && g->loop[g->nloops - 1].kind == KIND_VECTOR;
    keep_number(r, g, CPU_INNERMOST, w, plain ? inner : 0, "its order");
    uint64_t kind = !plain   ? CPU_WINDOW_KIND_GIVEN
                    : vector ? CPU_WINDOW_KIND_VECTOR
                             : CPU_WINDOW_KIND_SERIAL;
    if (cpu_var(r->cs, CPU_WINDOW_KIND, w, -1, NULL) >= 0)
        keep(r, g, CPU_WINDOW_KIND, w, -1, kind, "its order");
    else if (kind != CPU_WINDOW_KIND_SERIAL)
        left_open(r, g->range, g->label, "its order");
}

// Can decisions about single tensors express these prefetches? Each must be at the innermost serial
// loop, into L1.
static bool are_decisions(const Read *r, int stmt, const SchedStmt *from) {
    int at = -1;
    for (int i = 0; i < from->nloops; i++)
        if (from->loop[i].kind == KIND_SERIAL) at = i;
    for (int k = 0; k < from->nprefetches; k++) {
        const SchedPrefetch *f = &from->prefetch[k];
        bool known = false;
        for (int i = 0; i < r->h->naccesses[stmt]; i++)
            known |= r->p->tensors.at[r->h->object[r->h->first_access[stmt] + i].tensor].name ==
                     f->tensor;
        if (!known || at < 0 || f->level != 1 || f->distance < 1) return false;
        const SchedLoop *l = &from->loop[at];
        if (l->iter != f->at.iter || l->step != f->at.step || l->interleaved != f->at.interleaved)
            return false;
    }
    return true;
}

// Prefetches at loops with one iteration are not expressible.
static void miss_prefetches(Read *r, int stmt, const SchedStmt *from) {
    const CpuPath *path = &r->path[stmt];
    for (int k = 0; k < from->nprefetches; k++) {
        const LoopRef *at = &from->prefetch[k].at;
        bool found = false;
        for (int i = 0; i < from->nloops && !found; i++) {
            const SchedLoop *l = &from->loop[i];
            int64_t step;
            int iter = loop_iter(r, stmt, from, i, &step);
            if (l->iter != at->iter || l->step != at->step || l->interleaved != at->interleaved)
                continue;
            for (int d = 0; d < path->n && !found; d++)
                found = r->h->object[path->dim[d]].iter == iter &&
                        cpu_step(r->cs, r->c, path->dim[d]) == step;
        }
        if (!found) left_open(r, from->prefetch[k].range, from->label, "where it prefetches");
    }
}

static void read_prefetches(Read *r, int stmt, const SchedStmt *from) {
    const Space *s = r->cs->space;
    bool single = are_decisions(r, stmt, from);
    if (!single) miss_prefetches(r, stmt, from);
    if (cpu_var(r->cs, CPU_FETCHES, r->h->comp[stmt], -1, NULL) >= 0)
        keep(r, from, CPU_FETCHES, r->h->comp[stmt], -1,
             single ? CPU_FETCHES_AUTO : CPU_FETCHES_GIVEN, "its prefetches");
    for (int i = 0; i < r->h->naccesses[stmt]; i++) {
        int a = r->h->first_access[stmt] + i;
        Name tensor = r->p->tensors.at[r->h->object[a].tensor].name;
        int64_t distance = 0;
        for (int k = 0; k < from->nprefetches && single; k++)
            if (from->prefetch[k].tensor == tensor) distance = from->prefetch[k].distance;
        if (space_exists(s, r->c, a)) keep_number(r, from, CPU_PREFETCH, a, distance, "a prefetch");
    }
}

static uint64_t cache_values(LoadCache cache) {
    for (int value = 1; value < LOAD_CACHE_COUNT - LOAD_READONLY; value++)
        if (cpu_cache(value) == cache) return 1ull << value;
    return 1;
}

static const SchedCache *cache_of(const SchedStmt *g, Name tensor) {
    for (int k = 0; k < g->ncaches; k++)
        if (g->cache[k].tensor == tensor) return &g->cache[k];
    return NULL;
}

// The variable of the cache of an access; -1: it has none.
static int cache_var(const Read *r, int access) {
    int choice = r->cs->words->cache;
    bool exists = choice >= 0 && space_exists(r->cs->space, r->c, access);
    return exists ? space_var(r->cs->space, choice, access, -1, NULL) : -1;
}

// Operators of loads about which this space decides nothing.
static void miss_caches(Read *r, int stmt, const SchedStmt *g) {
    for (int k = 0; k < g->ncaches; k++) {
        bool known = false;
        for (int i = 0; i < r->h->naccesses[stmt]; i++) {
            int a = r->h->first_access[stmt] + i;
            Name tensor = r->p->tensors.at[r->h->object[a].tensor].name;
            known |= tensor == g->cache[k].tensor && cache_var(r, a) >= 0;
        }
        if (!known) left_open(r, g->cache[k].range, g->label, "a cache operator");
    }
}

// The section with the copies and the one with the loops may have them.
static void read_caches(Read *r, int stmt, const SchedStmt *g, const SchedStmt *from) {
    for (int i = 0; i < r->h->naccesses[stmt]; i++) {
        int a = r->h->first_access[stmt] + i, var = cache_var(r, a);
        Name tensor = r->p->tensors.at[r->h->object[a].tensor].name;
        const SchedCache *c = cache_of(g, tensor) ? cache_of(g, tensor) : cache_of(from, tensor);
        if (var < 0 || keep_values(r, var, cache_values(c ? c->cache : LOAD_AUTO))) continue;
        left_open(r, c ? c->range : g->range, g->label, "a cache operator");
    }
    miss_caches(r, stmt, g);
    if (from != g) miss_caches(r, stmt, from);
}

static void read_hints(Read *r, int stmt) {
    const SchedStmt *g = section_of(r, stmt), *from = loops_of(r, stmt);
    int comp = r->h->comp[stmt];
    const Space *s = r->cs->space;
    if (cpu_var(r->cs, CPU_ACCUMULATORS, comp, -1, NULL) >= 0)
        keep_number(r, from, CPU_ACCUMULATORS, comp, from->accumulators, "accumulators");
    keep_number(r, from, CPU_UNROLL_LIMIT, comp, from->unroll_limit, "an unroll limit");
    keep_number(r, from, CPU_GRAIN, comp, from->grain, "a grain");
    if (cpu_var(r->cs, CPU_STORE, comp, -1, NULL) >= 0)
        keep(r, g, CPU_STORE, comp, -1, g->nontemporal ? CPU_STORE_NONTEMPORAL : CPU_STORE_NORMAL,
             "how it stores");
    else if (g->nontemporal || from->nontemporal)
        left_open(r, g->range, g->label, "how it stores");
    read_prefetches(r, stmt, from);
    read_caches(r, stmt, g, from);
    int region = r->h->region[stmt];
    if (region >= 0 && space_exists(s, r->c, region)) read_storage(r, g, region, &g->storage);
}

// --- Which loops are shared ----------------------------------------------------------------------

static bool nested(const Read *r, int stmt) {
    return cpu_ask(r->cs, r->c, CPU_PLACE, r->h->comp[stmt], -1) == CPU_PLACE_NEST;
}

static bool precedes(const void *user, int before, int after) {
    const CpuHost *h = user;
    return h->precedes[before * h->p->stmts.n + after];
}

// The statements with a nest, in the order of lowering; returns their number.
static int sort_statements(Read *r, int *order) {
    int n = r->p->stmts.n, count = 0, *priority = arena_new_n(r->arena, int, n);
    for (int i = 0; i < n; i++) priority[i] = section_of(r, i)->priority;
    const int *all = schedule_order(r->arena, n, priority, precedes, r->h);
    for (int k = 0; k < n; k++)
        if (nested(r, all[k])) order[count++] = all[k];
    return count;
}

static void read_sharing(Read *r) {
    int *order = arena_new_n(r->arena, int, r->p->stmts.n), n = sort_statements(r, order);
    for (int i = 0; i + 1 < n; i++) {
        int a = order[i], b = order[i + 1];
        const SchedStmt *g = section_of(r, a);
        try_keep(r, CPU_ORDER, r->h->body[a], r->h->body[b], CPU_ORDER_BEFORE);
        const CpuPath *p = &r->path[a], *q = &r->path[b];
        int most = g->stage >= 0 && g->stage < p->n ? g->stage : p->n, shared = 0;
        while (shared < most && shared < q->n &&
               try_keep(r, CPU_ORDER, p->dim[shared], q->dim[shared], CPU_ORDER_MERGED))
            shared++;
        int x = shared < p->n ? p->dim[shared] : r->h->body[a];
        int y = shared < q->n ? q->dim[shared] : r->h->body[b];
        try_keep(r, CPU_ORDER, x, y, CPU_ORDER_BEFORE);
    }
}

// Lowering may run a copy that is made before its reader in loops of the statement in front of it;
// this space closes them.
static void miss_shared_copies(Read *r) {
    int before = -1, n = r->p->stmts.n, *order = arena_new_n(r->arena, int, n);
    n = sort_statements(r, order);
    for (int i = 0; i + 1 < n; i++) {
        const SchedStmt *g = section_of(r, order[i + 1]);
        for (int k = 0; k < g->ncopies; k++)
            if (!g->copy[k].at.iter && section_of(r, order[i])->stage) before = order[i];
    }
    if (before < 0 || !space_full(r->cs->space, r->c)) return;
    DiagList quiet = {.arena = r->arena};
    Schedule flat = *r->s, again = *cpu_schedule(r->arena, r->cs, r->c);
    flat.flatten = again.flatten = false; // the Program is flat already
    const Tree *t = tree_lower(r->arena, r->p, &flat, &quiet);
    const Tree *u = tree_lower(r->arena, r->p, &again, &quiet);
    Text was = {.arena = r->arena}, is = was;
    if (!t || !u) return;
    tree_show(&was, t, false);
    tree_show(&is, u, false);
    if (strcmp(text_str(&was), text_str(&is)))
        left_open(r, section_of(r, before)->range, section_of(r, before)->label,
                  "sharing loops with a copy that follows");
}

Decision *cpu_read(Arena *arena, const CpuSpace *cs, const Schedule *s, DiagList *diags, int *n) {
    Read r = {.arena = arena, .cs = cs, .h = cs->host, .p = cs->program, .s = s, .diags = diags};
    const Source *old = diags->source;
    if (s && s->nstmts && s->flatten != (cs->flat.last != NULL)) {
        diag_report(diags, (Range){0, 0}, DIAG_SPACE_FLATTEN);
        return NULL;
    }
    r.s = schedule_groups(arena, r.p, s, diags);
    if (s && !r.s) return NULL;
    if (s) diags->source = s->source;
    r.w = space_work(arena, cs->space);
    r.c = space_cand(arena, cs->space);
    r.trial = space_cand(arena, cs->space);
    r.path = arena_new_n(arena, CpuPath, r.p->stmts.n);
    space_copy(cs->space, r.c, cs->space->root);
    for (int i = 0; i < r.p->stmts.n; i++) read_place(&r, i);
    read_packs(&r);
    for (int i = 0; i < r.p->stmts.n; i++)
        if (nested(&r, i)) read_sizes(&r, i, loops_of(&r, i));
    for (int i = 0; i < r.p->stmts.n; i++)
        if (nested(&r, i)) read_order(&r, i, loops_of(&r, i));
    read_sharing(&r);
    read_copies(&r);
    for (int i = 0; i < r.p->stmts.n; i++) {
        miss_copies(&r, i);
        read_recomputed(&r, i);
        read_hints(&r, i);
    }
    if (s) miss_shared_copies(&r);
    diags->source = old;
    *n = r.out.n;
    return r.out.n ? r.out.at : arena_new(arena, Decision);
}
