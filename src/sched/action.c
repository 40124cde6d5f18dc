// Schedule actions: LoopTool's edits as pure functions. Each returns a new Schedule that shares all
// sections but one with the old, or NULL when there is nothing to act on; lowering the result is
// always legal. loops.c acts with them on loops of the Tree, for the public API.
#include "base/bug.h"
#include "base/checked.h"
#include "sched/flatten.h"
#include "sched/lower.h"
#include "sched/rewrite.h"

#include <string.h>

// --- Sections ----------------------------------------------------------------------------------

// A Schedule in which `section` replaces the one with its label, or is added.
static const Schedule *with_section(const Schedule *s, const SchedStmt *section) {
    Schedule *out = arena_copy(s->arena, s, sizeof *s);
    const SchedStmt **stmt = arena_new_n(s->arena, const SchedStmt *, s->nstmts + 1);
    int at = 0;
    for (int i = 0; i < s->nstmts; i++) {
        stmt[i] = s->stmt[i];
        if (stmt[at]->label != section->label) at = i + 1;
    }
    stmt[at] = section;
    out->stmt = stmt;
    out->nstmts = at == s->nstmts ? at + 1 : s->nstmts;
    return out;
}

// A section to change: a copy of the old one, loops included, with room for one more.
static SchedStmt *section_of(const Schedule *s, Name label) {
    const SchedStmt *old = schedule_find(s, label);
    SchedStmt *section = arena_new(s->arena, SchedStmt);
    *section = (SchedStmt){.label = label, .stage = -1, .storage.home = HOME_AUTO};
    if (old) *section = *old;
    SchedLoop *loop = arena_new_n(s->arena, SchedLoop, section->nloops + 1);
    if (section->nloops) memcpy(loop, section->loop, (size_t)section->nloops * sizeof *loop);
    section->loop = loop;
    return section;
}

static SchedLoop *loops_of(SchedStmt *section) { return (SchedLoop *)section->loop; }

static bool has_loop(const Schedule *s, Name label, int at) {
    const SchedStmt *section = schedule_find(s, label);
    return section && at >= 0 && at < section->nloops;
}

static void remove_loop(SchedStmt *section, int at) {
    SchedLoop *loop = loops_of(section);
    for (int i = at; i + 1 < section->nloops; i++) loop[i] = loop[i + 1];
    section->nloops--;
    if (section->stage > at) section->stage--;
}

static void insert_loop(SchedStmt *section, int at, SchedLoop l) {
    SchedLoop *loop = loops_of(section);
    for (int i = section->nloops; i > at; i--) loop[i] = loop[i - 1];
    loop[at] = l;
    section->nloops++;
    if (section->stage > at) section->stage++;
}

// --- The naive Schedule, written out -----------------------------------------------------------

const Schedule *schedule_complete(Arena *arena, const Program *p, const Schedule *s) {
    Schedule *out = arena_new(arena, Schedule);
    *out = s ? *s : (Schedule){.names = p->names};
    out->arena = arena;
    if (out->flatten) p = program_flatten(arena, p).p;
    const Schedule *all = out;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        SchedStmt *section = section_of(all, st->label);
        bool computed = section->inlined || section->privatise.iter || section->after;
        if (section->nloops == 0 && !computed) {
            SchedLoop *loop = arena_new_n(arena, SchedLoop, st->niters + 1);
            for (int k = 0; k < st->niters; k++)
                loop[k] = (SchedLoop){.iter = st->iter[k].name, .step = 1};
            section->loop = loop;
            section->nloops = st->niters;
        }
        all = with_section(all, section);
    }
    return all;
}

// --- Loops -------------------------------------------------------------------------------------

static bool spreads(Kind k) { return k != KIND_VECTOR && k != KIND_UNROLL; }

// m/s  ->  m/(s·inner) m/s: `inner` iterations in each of the outer loop's. The outer one takes
// over a parallel mark, the inner one keeps a vector or unroll mark.
const Schedule *schedule_split(const Schedule *s, Name label, int at, int64_t inner,
                               bool interleaved) {
    int64_t step;
    if (!has_loop(s, label, at) || inner < 1) return NULL;
    SchedStmt *section = section_of(s, label);
    SchedLoop outer = section->loop[at], *in = &loops_of(section)[at];
    if (section->nloops >= TREE_MAX_DEPTH || !checked_mul(outer.step, inner, &step)) return NULL;
    outer.step = step;
    outer.interleaved = interleaved;
    if (!spreads(outer.kind))
        outer.kind = KIND_SERIAL;
    else
        in->kind = KIND_SERIAL;
    insert_loop(section, at, outer);
    return with_section(s, section);
}

// m/64 .. m  ->  m: the loop is merged into the next one of its iterator further out.
const Schedule *schedule_merge(const Schedule *s, Name label, int at) {
    if (!has_loop(s, label, at)) return NULL;
    SchedStmt *section = section_of(s, label);
    for (int i = at - 1; i >= 0; i--) {
        if (section->loop[i].iter != section->loop[at].iter) continue;
        loops_of(section)[i].step = section->loop[at].step;
        loops_of(section)[i].interleaved = section->loop[at].interleaved;
        remove_loop(section, at);
        return with_section(s, section);
    }
    return NULL;
}

// m n k  ->  n k m, moving loop 0 to 2: the loops between move up.
const Schedule *schedule_move(const Schedule *s, Name label, int from, int to) {
    if (!has_loop(s, label, from) || !has_loop(s, label, to)) return NULL;
    SchedStmt *section = section_of(s, label);
    SchedLoop l = section->loop[from];
    int stage = section->stage;
    remove_loop(section, from);
    insert_loop(section, to, l);
    section->stage = stage;
    return with_section(s, section);
}

// m n k  ->  k n m.
const Schedule *schedule_swap(const Schedule *s, Name label, int a, int b) {
    if (!has_loop(s, label, a) || !has_loop(s, label, b)) return NULL;
    SchedStmt *section = section_of(s, label);
    SchedLoop *loop = loops_of(section), l = loop[a];
    loop[a] = loop[b];
    loop[b] = l;
    return with_section(s, section);
}

const Schedule *schedule_mark(const Schedule *s, Name label, int at, Kind kind) {
    if (!has_loop(s, label, at)) return NULL;
    SchedStmt *section = section_of(s, label);
    loops_of(section)[at].kind = kind;
    return with_section(s, section);
}

const Schedule *schedule_reorder(const Schedule *s, const FullOrder *order) {
    SchedStmt *section = section_of(s, order->label);
    section->loop = arena_copy(s->arena, order->loop, (size_t)order->n * sizeof *order->loop);
    section->nloops = order->n;
    return with_section(s, section);
}

// Loops from `at` on are not shared with later statements; -1: all are.
const Schedule *schedule_stage(const Schedule *s, Name label, int at) {
    SchedStmt *section = section_of(s, label);
    if (at > section->nloops) return NULL;
    section->stage = at < 0 ? -1 : at;
    return with_section(s, section);
}

// Later statements share one loop less (more).
const Schedule *schedule_decrease_reuse(const Schedule *s, Name label) {
    const SchedStmt *section = schedule_find(s, label);
    int now = section ? (section->stage < 0 ? section->nloops : section->stage) : 0;
    return now ? schedule_stage(s, label, now - 1) : NULL;
}

const Schedule *schedule_increase_reuse(const Schedule *s, Name label) {
    const SchedStmt *section = schedule_find(s, label);
    if (!section || section->stage < 0) return NULL;
    return schedule_stage(s, label, section->stage < section->nloops ? section->stage + 1 : -1);
}

// The terms of a skew without those of `by`, and with a new one.
static SchedSkew skew_with(Arena *arena, const SchedSkew *old, Name by, int64_t coef) {
    SkewTerm *term = arena_new_n(arena, SkewTerm, old->nterms + 1);
    SchedSkew k = {.iter = old->iter, .term = term};
    for (int i = 0; i < old->nterms; i++)
        if (old->term[i].iter != by) term[k.nterms++] = old->term[i];
    if (coef) term[k.nterms++] = (SkewTerm){by, coef};
    return k;
}

const Schedule *schedule_skew(const Schedule *s, Name label, Name iter, Name by, int64_t coef) {
    SchedStmt *section = section_of(s, label);
    SchedSkew *all = arena_new_n(s->arena, SchedSkew, section->nskews + 1), fresh = {.iter = iter};
    int n = 0;
    for (int i = 0; i < section->nskews; i++) {
        all[n] = section->skew[i];
        if (all[n].iter == iter) fresh = all[n];
        n += all[n].iter != iter;
    }
    all[n] = skew_with(s->arena, &fresh, by, coef);
    section->nskews = n + (all[n].nterms > 0);
    section->skew = all;
    return with_section(s, section);
}

// --- Tensors -----------------------------------------------------------------------------------

const Schedule *schedule_copy(const Schedule *s, Name label, const SchedCopy *copy) {
    SchedStmt *section = section_of(s, label);
    SchedCopy *all = arena_new_n(s->arena, SchedCopy, section->ncopies + 1);
    for (int i = 0; i < section->ncopies; i++) {
        all[i] = section->copy[i];
        if (all[i].tensor == copy->tensor) return NULL;
    }
    all[section->ncopies++] = *copy;
    section->copy = all;
    return with_section(s, section);
}

const Schedule *schedule_drop_copy(const Schedule *s, Name label, Name tensor) {
    SchedStmt *section = section_of(s, label);
    SchedCopy *left = arena_new_n(s->arena, SchedCopy, section->ncopies);
    int n = 0;
    for (int i = 0; i < section->ncopies; i++)
        if (section->copy[i].tensor != tensor) left[n++] = section->copy[i];
    if (n == section->ncopies) return NULL;
    section->copy = left;
    section->ncopies = n;
    return with_section(s, section);
}

const Schedule *schedule_at(const Schedule *s, Name label, LoopRef at) {
    SchedStmt *section = section_of(s, label);
    section->at = at;
    return with_section(s, section);
}

const Schedule *schedule_inline(const Schedule *s, Name label, bool on) {
    SchedStmt *section = section_of(s, label);
    section->inlined = on;
    return with_section(s, section);
}

const Schedule *schedule_after(const Schedule *s, Name label, Name host) {
    SchedStmt *section = section_of(s, label);
    section->after = host;
    return with_section(s, section);
}

// (0 1 2)  ->  (1 0 2): two dimensions of the layout change places; `rank` of the tensor where the
// section has no layout yet.
const Schedule *schedule_swap_dims(const Schedule *s, Name label, int rank, int a, int b) {
    SchedStmt *section = section_of(s, label);
    Storage *st = &section->storage;
    int n = st->ndims ? st->ndims : rank;
    LayoutDim *dim = arena_new_n(s->arena, LayoutDim, n);
    for (int i = 0; i < n; i++) {
        dim[i] = (LayoutDim){.block = 1};
        dim[i].dim = name_of(s->names, arena_printf(s->arena, "%d", i));
        if (st->ndims) dim[i] = st->dim[i];
    }
    if (a < 0 || b < 0 || a >= n || b >= n) return NULL;
    LayoutDim d = dim[a];
    dim[a] = dim[b];
    dim[b] = d;
    st->dim = dim;
    st->ndims = n;
    return with_section(s, section);
}

// --- Whole schedules ---------------------------------------------------------------------------

static int64_t weight_of(const ProgramFacts *f, int class) {
    int64_t weight = 0; // statements that have an iterator of the class, less those that reduce it
    for (int i = 0; i < f->p->stmts.n; i++)
        for (int k = 0; k < f->stmt[i].s->niters; k++)
            if (f->stmt[i].class[k] == class) weight += f->stmt[i].s->iter[k].reduction ? -1 : 1;
    return weight;
}

// LoopTool's maximize_reuse: iterators that many statements share and few reduce go outermost.
const Schedule *schedule_maximise_reuse(Arena *arena, const Program *p, const Schedule *s) {
    ProgramFacts *f = program_facts(arena, p);
    facts_classes(arena, f);
    s = schedule_complete(arena, p, s);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        SchedStmt *section = section_of(s, st->label);
        int64_t weight[PROGRAM_MAX_ITERS] = {0};
        for (int k = 0; k < st->niters; k++) weight[k] = weight_of(f, f->stmt[i].class[k]);
        SchedLoop *loop = loops_of(section);
        for (int a = 1; a < section->nloops; a++) { // stable insertion
            for (int b = a; b > 0; b--) {
                int64_t w[2] = {0};
                for (int k = 0; k < st->niters; k++)
                    for (int j = 0; j < 2; j++)
                        if (st->iter[k].name == loop[b - 1 + j].iter) w[j] = weight[k];
                if (w[0] >= w[1]) break;
                SchedLoop l = loop[b];
                loop[b] = loop[b - 1];
                loop[b - 1] = l;
            }
        }
        section->stage = -1;
        s = with_section(s, section);
    }
    return s;
}

// Marks innermost loops `u` while the number of leaf instances in them stays within `limit`.
const Schedule *schedule_unroll_inner(Arena *arena, const Program *p, const Schedule *s,
                                      int64_t limit) {
    s = schedule_complete(arena, p, s);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        SchedStmt *section = section_of(s, st->label);
        int64_t total = 1;
        for (int k = section->nloops - 1; k >= 0; k--) {
            int64_t extent = schedule_extent(st, section, k);
            if (extent < 0 || !checked_mul(total, max_i64(extent, 1), &total) || total > limit)
                break;
            SchedLoop *loop = &loops_of(section)[k];
            if (loop->kind == KIND_SERIAL) loop->kind = KIND_UNROLL;
        }
        s = with_section(s, section);
    }
    return s;
}

int64_t schedule_extent(const Stmt *st, const SchedStmt *section, int at) {
    int iter = stmt_find_iter(st, section->loop[at].iter);
    if (iter < 0) return -1;
    int64_t cur = max_i64(iter_hi(&st->iter[iter]) - iter_lo(&st->iter[iter]), 0), extent = 0;
    for (int k = 0; k <= at; k++) {
        if (section->loop[k].iter != section->loop[at].iter) continue;
        int64_t step = min_i64(section->loop[k].step, max_i64(cur, 1));
        extent = ceil_div(cur, step);
        cur = step;
    }
    return extent;
}
