#include "gensched.h"

#include "base/checked.h"
#include "sched/flatten.h"

#include <string.h>

const char *const sched_feature_name[FEATURE_COUNT] = {
    "split",   "interleaved", "oversize", "ragged",   "missing",  "parallel", "unroll",    "vector",
    "any",     "axis",        "staged",   "at",       "inline",   "after",    "privatise", "copy",
    "copy at", "layout",      "place",    "prefetch", "priority", "flatten",  "skew",      "deep",
};

static uint64_t next(GenSched *g) {
    uint64_t z = g->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static int below(GenSched *g, int n) { return n > 0 ? (int)(next(g) % (uint64_t)n) : 0; }

static bool one_in(GenSched *g, int n) { return below(g, n) == 0; }

typedef struct Gen {
    GenSched *g;
    Arena *arena;
    const Program *p;
    VEC(const SchedStmt *) out;
} Gen;

static bool use(Gen *x, SchedFeature f) {
    x->g->used[f] = true;
    return true;
}

// --- Orders ------------------------------------------------------------------------------------

static Kind random_kind(Gen *x) {
    static const Kind kinds[] = {KIND_PARALLEL, KIND_UNROLL, KIND_ANY};
    static const SchedFeature used[] = {FEATURE_PARALLEL, FEATURE_UNROLL, FEATURE_ANY};
    if (!one_in(x->g, 5)) return KIND_SERIAL;
    int k = below(x->g, 3);
    use(x, used[k]);
    return kinds[k];
}

static int64_t random_step(Gen *x, int64_t left) {
    int64_t step = 2 + below(x->g, 5);
    if (one_in(x->g, 8)) step = left + 1 + below(x->g, 3);
    if (one_in(x->g, 6)) step = left > 1 ? left / 2 + 1 : 1;
    use(x, FEATURE_SPLIT);
    if (step > left) use(x, FEATURE_OVERSIZE);
    if (step <= left && left % step) use(x, FEATURE_RAGGED);
    return step;
}

// A step of nested splits, which rarely divides.
static int64_t deep_step(Gen *x, int64_t left) {
    int64_t step =
        left > 3 ? left / 4 + 1 + below(x->g, (int)min_i64(left - left / 4 - 1, 1000)) : 2;
    use(x, FEATURE_SPLIT);
    if (step <= left && left % step) use(x, FEATURE_RAGGED);
    return step;
}

// All loops of the iterators, in random order; a vector mark only on the innermost loop.
static void random_order(Gen *x, SchedStmt *s, const Iter *iter, int niters) {
    VEC(SchedLoop) loops = {0};
    bool complete = true;
    if (one_in(x->g, 8)) return;
    for (int i = 0; i < niters; i++) {
        int64_t left = max_i64(iter_hi(&iter[i]) - iter_lo(&iter[i]), 0);
        int levels = niters < 6 ? below(x->g, 3) : one_in(x->g, 4);
        bool deep = niters < 5 && left > 3 && one_in(x->g, 3) && use(x, FEATURE_DEEP);
        for (levels = deep ? 2 + below(x->g, 3) : levels; levels > 0; levels--) {
            SchedLoop l = {.iter = iter[i].name};
            l.step = deep ? deep_step(x, left) : random_step(x, left);
            l.kind = random_kind(x);
            l.interleaved = one_in(x->g, 4) && use(x, FEATURE_INTERLEAVED);
            vec_push(x->arena, &loops, l);
            left = min_i64(left, l.step);
        }
        if (one_in(x->g, 10)) {
            complete = false;
            use(x, FEATURE_MISSING);
            continue;
        }
        SchedLoop l = {.iter = iter[i].name, .step = 1, .kind = random_kind(x)};
        vec_push(x->arena, &loops, l);
    }
    // Random order that keeps the order of an iterator's levels: shuffles names, then assigns
    // levels.
    int n = loops.n;
    SchedLoop *mixed = arena_new_n(x->arena, SchedLoop, n);
    Name *name = arena_new_n(x->arena, Name, n);
    bool *taken = arena_new_n(x->arena, bool, n);
    for (int i = 0; i < n; i++) name[i] = loops.at[i].iter;
    for (int i = n - 1; i > 0 && !one_in(x->g, 6); i--) {
        int j = below(x->g, i + 1);
        Name t = name[i];
        name[i] = name[j];
        name[j] = t;
    }
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (taken[k] || loops.at[k].iter != name[i]) k++;
        taken[k] = true;
        mixed[i] = loops.at[k];
    }
    if (n && complete && mixed[n - 1].step == 1 && one_in(x->g, 2) && use(x, FEATURE_VECTOR))
        mixed[n - 1].kind = KIND_VECTOR;
    if (n && mixed[0].kind == KIND_SERIAL && one_in(x->g, 10) && use(x, FEATURE_AXIS)) {
        static const Kind axes[] = {KIND_GRID_X,   KIND_GRID_Y,   KIND_GRID_Z,
                                    KIND_THREAD_X, KIND_THREAD_Y, KIND_THREAD_Z};
        mixed[0].kind = axes[below(x->g, 6)];
        bool digits = one_in(x->g, 2);
        for (int i = 1; i < n && digits; i++)
            if (mixed[i].kind == KIND_SERIAL && one_in(x->g, 2))
                mixed[i].kind = one_in(x->g, 3) ? KIND_WARP : KIND_LANE;
    }
    s->loop = mixed;
    s->nloops = n;
    if (one_in(x->g, 4) && use(x, FEATURE_STAGED)) s->stage = below(x->g, n + 1);
}

static LoopRef random_loop(Gen *x, const SchedStmt *of) {
    const SchedLoop *l = &of->loop[below(x->g, of->nloops)];
    return (LoopRef){l->iter, l->step, l->interleaved, {0}};
}

// --- Options -----------------------------------------------------------------------------------

typedef struct Reads {
    Arena *arena;
    VEC(int) at;
} Reads;

static void add_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Reads *r = user;
    for (int i = 0; i < r->at.n; i++)
        if (r->at.at[i] == a->tensor) return;
    vec_push(r->arena, &r->at, a->tensor);
}

static Reads reads_of(Gen *x, const Stmt *s) {
    Reads r = {.arena = x->arena};
    expr_visit_accesses(s->value, add_read, &r);
    return r;
}

static Name digit(Gen *x, int d) { return name_of(x->p->names, arena_printf(x->arena, "%d", d)); }

static Storage random_storage(Gen *x, int rank) {
    Storage s = {.home = HOME_AUTO};
    if (rank && one_in(x->g, 2) && use(x, FEATURE_LAYOUT)) {
        LayoutDim *dim = arena_new_n(x->arena, LayoutDim, rank + 1);
        int start = below(x->g, rank);
        bool blocked = one_in(x->g, 2);
        if (blocked) dim[s.ndims++] = (LayoutDim){digit(x, start), 2 + below(x->g, 3), {0}};
        for (int d = 1; d <= rank; d++)
            dim[s.ndims++] = (LayoutDim){digit(x, (start + d) % rank), 1, {0}};
        s.dim = dim;
    }
    if (one_in(x->g, 4) && use(x, FEATURE_PLACE)) {
        static const BufferHome homes[] = {HOME_STACK, HOME_SCRATCH, HOME_REGISTER};
        s.home = homes[below(x->g, 3)];
        s.align = 64;
    }
    if (x->g->gpu && one_in(x->g, 2)) {
        static const int swizzles[] = {0, 32, 64, 128};
        s.home = HOME_SHARED;
        s.swizzle = swizzles[below(x->g, 4)];
        s.async = one_in(x->g, 2);
        s.stages = s.async ? below(x->g, 4) : 0;
    }
    return s;
}

typedef struct FirstRead {
    int tensor;
    const Access *read;
} FirstRead;

static void first_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    FirstRead *f = user;
    if (a->tensor == f->tensor && !f->read) f->read = a;
}

// A section for the copy, LABEL.TENSOR; a dimension that the reader subscripts by a single iterator
// has its name.
static void order_copy(Gen *x, const SchedStmt *s, const Stmt *st, int tensor) {
    const Tensor *t = &x->p->tensors.at[tensor];
    FirstRead f = {tensor, NULL};
    Iter iter[PROGRAM_MAX_RANK];
    expr_visit_accesses(st->value, first_read, &f);
    for (int d = 0; d < t->rank; d++) {
        const Affine *sub = f.read->sub[d];
        Name name = name_of(x->p->names, arena_printf(x->arena, "d%d", d));
        if (sub->n == 1 && sub->term[0].atom->kind == ATOM_ITER &&
            sub->term[0].atom->index >= st->serial)
            name = st->iter[sub->term[0].atom->index].name;
        for (int k = 0; k < d; k++)
            if (iter[k].name == name) name = name_of(x->p->names, arena_printf(x->arena, "d%d", d));
        iter[d] = (Iter){.name = name, .lo = t->origin[d]};
        iter[d].hi = affine_add(x->p->exprs, t->origin[d], t->size[d]);
    }
    SchedStmt *c = arena_new(x->arena, SchedStmt);
    *c = (SchedStmt){.stage = -1, .storage.home = HOME_AUTO};
    c->label = name_of(x->p->names, arena_printf(x->arena, "%s.%s", s->label, t->name));
    random_order(x, c, iter, t->rank);
    vec_push(x->arena, &x->out, c);
}

// A random type for a copy; TYPE_NONE: keep the type.
static Type random_wider(Gen *x, Type t) {
    Type wider[TYPE_COUNT];
    int n = 0;
    for (int k = 1; k < TYPE_COUNT; k++)
        if (type_widens(t, (Type)k)) wider[n++] = (Type)k;
    return n ? wider[below(x->g, n)] : TYPE_NONE;
}

static void random_copy(Gen *x, SchedStmt *s, const Stmt *st) {
    Reads r = reads_of(x, st);
    if (!r.at.n) return;
    int tensor = r.at.at[below(x->g, r.at.n)];
    const Tensor *t = &x->p->tensors.at[tensor];
    SchedCopy *c = arena_new(x->arena, SchedCopy);
    c->tensor = t->name;
    c->storage = random_storage(x, t->rank);
    if (one_in(x->g, 2)) c->as = random_wider(x, t->type);
    if (s->nloops && one_in(x->g, 2)) c->at = random_loop(x, s);
    if (tensor != st->write->tensor && one_in(x->g, 3)) order_copy(x, s, st, tensor);
    s->copy = c;
    s->ncopies = 1;
}

static void random_privatise(Gen *x, SchedStmt *s, const Stmt *st) {
    for (int i = 0; i < st->niters; i++) {
        if (!st->iter[i].reduction || st->op == REDUCE_ASSIGN || !one_in(x->g, 2)) continue;
        Iter iters[PROGRAM_MAX_ITERS + 1];
        memcpy(iters, st->iter, (size_t)st->niters * sizeof *iters);
        s->privatise = (LoopRef){st->iter[i].name, 1 + below(x->g, 5), one_in(x->g, 2), {0}};
        s->grain = 0;
        s->loop = NULL;
        s->nloops = 0;
        s->stage = -1;
        SchedStmt *part = arena_new(x->arena, SchedStmt);
        *part = (SchedStmt){.stage = -1, .storage.home = HOME_AUTO};
        part->label = name_of(x->p->names, arena_printf(x->arena, "%s.part", s->label));
        iters[st->niters] =
            (Iter){.name = name_of(x->p->names, arena_printf(x->arena, "%s.p", st->iter[i].name)),
                   .lo = st->iter[i].lo,
                   .hi = st->iter[i].hi};
        random_order(x, part, iters + st->serial, st->niters + 1 - st->serial);
        vec_push(x->arena, &x->out, part);
        return;
    }
}

// Computes the temporary at a loop of the first statement that reads it.
static void random_at(Gen *x, const Stmt *st, SchedStmt *const *section) {
    int tensor = st->write->tensor, def = (int)(st - x->p->stmts.at);
    for (int k = def + 1; k < x->p->stmts.n; k++) {
        Reads r = reads_of(x, &x->p->stmts.at[k]);
        for (int i = 0; i < r.at.n; i++) {
            if (r.at.at[i] != tensor || !section[k] || !section[k]->nloops) continue;
            section[def]->at = random_loop(x, section[k]);
            return;
        }
    }
}

// Runs it after the last earlier statement that computes one of its operands.
static void random_after(Gen *x, SchedStmt *s, int i) {
    Reads r = reads_of(x, &x->p->stmts.at[i]);
    for (int k = i - 1; k >= 0 && !s->after; k--)
        for (int j = 0; j < r.at.n; j++)
            if (x->p->stmts.at[k].write->tensor == r.at.at[j]) s->after = x->p->stmts.at[k].label;
    if (!s->after) return;
    s->nloops = 0; // it runs in the loops of that statement
    s->stage = -1;
    s->grain = 0;
}

// Can two groups of warps divide the loop over a reduction at which the copy is made?
static bool divides_copy(const SchedStmt *s, const Stmt *st) {
    const LoopRef *at = s->ncopies ? &s->copy->at : NULL;
    bool fits = at && at->iter && at->step % 2 == 0 && !at->interleaved;
    for (int i = 0; fits && i < st->niters; i++)
        if (st->iter[i].name == at->iter) fits = st->iter[i].reduction;
    for (int i = 0; fits && i < s->nloops; i++)
        if (s->loop[i].iter == at->iter && s->loop[i].step < at->step)
            fits = at->step / 2 % s->loop[i].step == 0;
    return fits;
}

// The read-only cache serves what nothing writes.
static void random_cache(Gen *x, SchedStmt *s, const Stmt *st) {
    Reads r = reads_of(x, st);
    if (!r.at.n) return;
    const Tensor *t = &x->p->tensors.at[r.at.at[below(x->g, r.at.n)]];
    SchedCache *c = arena_new(x->arena, SchedCache);
    c->tensor = t->name;
    c->cache = (LoadCache)(LOAD_READONLY + below(x->g, LOAD_CACHE_COUNT - LOAD_READONLY));
    if (t->role != ROLE_INPUT && c->cache == LOAD_READONLY) c->cache = LOAD_L2;
    s->cache = c;
    s->ncaches = 1;
}

static void random_options(Gen *x, int i, SchedStmt *const *section) {
    const Stmt *st = &x->p->stmts.at[i];
    SchedStmt *s = section[i];
    const Tensor *t = &x->p->tensors.at[st->write->tensor];
    bool first = i == 0 || x->p->stmts.at[i - 1].write->tensor != st->write->tensor;
    if (t->role == ROLE_TEMP) s->storage = random_storage(x, t->rank);
    if (t->role == ROLE_TEMP && first && one_in(x->g, 2)) random_at(x, st, section);
    if (t->role == ROLE_TEMP && !s->at.iter && one_in(x->g, 4)) {
        *s =
            (SchedStmt){.label = s->label, .stage = -1, .storage.home = HOME_AUTO, .inlined = true};
        return;
    }
    if (one_in(x->g, 3)) random_after(x, s, i);
    if (one_in(x->g, 5)) random_copy(x, s, st);
    if (one_in(x->g, 5)) random_privatise(x, s, st);
    if (x->g->gpu && !s->privatise.iter && one_in(x->g, 3)) random_cache(x, s, st);
    if (x->g->gpu && divides_copy(s, st)) s->groups = 2;
    if (s->nloops && one_in(x->g, 8) && use(x, FEATURE_PREFETCH)) {
        SchedPrefetch *f = arena_new(x->arena, SchedPrefetch);
        *f = (SchedPrefetch){t->name, random_loop(x, s), 1 + below(x->g, 4), 1, {0}};
        s->prefetch = f;
        s->nprefetches = 1;
    }
}

static bool reduces(const Stmt *st) {
    for (int i = 0; i < st->niters; i++)
        if (st->iter[i].reduction) return true;
    return false;
}

// How the loops of steps are moved, in all statements of a Program.
typedef struct Moved {
    int64_t tile, keep, wide; // steps of `t/tile t/keep t` and `i/wide i`; 1: not divided
    int64_t by;               // skew of other iterators; 0: none
    bool steps_inside;        // t further in than i
    bool vector;
} Moved;

static Moved random_moved(GenSched *g) {
    static const int64_t by[] = {0, 1, 1, 2, 3, 1};
    return (Moved){.tile = one_in(g, 3) ? 1 : 2 * (1 + below(g, 3)),
                   .keep = one_in(g, 2) ? 2 : 1,
                   .wide = one_in(g, 3) ? 1 : 2 + below(g, 6),
                   .by = by[below(g, 6)],
                   .steps_inside = one_in(g, 4),
                   .vector = one_in(g, 2)};
}

static void push_loop(SchedStmt *s, SchedLoop *into, const Iter *iter, int64_t step) {
    into[s->nloops++] = (SchedLoop){.iter = iter->name, .step = step};
}

// t/8 i/4 t/2 t i, or with i in front of t; reductions innermost.
static void move_steps(Gen *x, SchedStmt *s, const Stmt *st, const Moved *m) {
    SchedLoop *loop = arena_new_n(x->arena, SchedLoop, 4 * st->niters);
    SchedSkew *skew = arena_new_n(x->arena, SchedSkew, st->niters);
    s->nloops = 0;
    s->stage = -1;
    for (int i = 0; i < st->serial && m->tile > 1; i++) push_loop(s, loop, &st->iter[i], m->tile);
    for (int pass = 0; pass < 2; pass++)
        for (int i = st->serial; i < st->niters && m->wide > pass; i++)
            if (!st->iter[i].reduction && (pass == 0 ? m->wide > 1 : m->steps_inside))
                push_loop(s, loop, &st->iter[i], pass ? 1 : m->wide);
    for (int i = 0; i < st->serial; i++) {
        if (m->keep > 1) push_loop(s, loop, &st->iter[i], m->keep);
        push_loop(s, loop, &st->iter[i], 1);
    }
    for (int i = st->serial; i < st->niters; i++) {
        if (!m->steps_inside || st->iter[i].reduction) push_loop(s, loop, &st->iter[i], 1);
        if (st->iter[i].reduction || !m->by) continue;
        SkewTerm *term = arena_new(x->arena, SkewTerm);
        *term = (SkewTerm){st->iter[0].name, m->by};
        skew[s->nskews++] = (SchedSkew){.iter = st->iter[i].name, .nterms = 1, .term = term};
    }
    if (m->vector && s->nloops) loop[s->nloops - 1].kind = KIND_VECTOR;
    s->loop = loop;
    s->skew = skew;
}

// Skews one iterator by another one.
static void random_skew(Gen *x, SchedStmt *s, const Stmt *st) {
    int a = below(x->g, st->niters), b = below(x->g, st->niters);
    if (a == b || st->iter[a].reduction || st->iter[b].reduction || a < st->serial) return;
    SkewTerm *term = arena_new(x->arena, SkewTerm);
    SchedSkew *skew = arena_new(x->arena, SchedSkew);
    *term = (SkewTerm){st->iter[b].name, 1 + below(x->g, 3) - 4 * one_in(x->g, 4)};
    *skew = (SchedSkew){.iter = st->iter[a].name, .nterms = 1, .term = term};
    s->skew = skew;
    s->nskews = 1;
}

static bool is_parallel(const SchedStmt *s) {
    for (int i = 0; i < s->nloops; i++)
        if (s->loop[i].kind == KIND_PARALLEL) return true;
    return false;
}

const Schedule *gen_schedule(GenSched *g, Arena *arena, const Program *p) {
    Gen x = {.g = g, .arena = arena};
    memset(g->used, 0, sizeof g->used);
    Flat flat = one_in(g, 2) ? program_flatten(arena, p) : (Flat){p, NULL};
    bool flatten = flat.last && use(&x, FEATURE_FLATTEN);
    if (flatten) p = flat.p;
    x.p = p;
    SchedStmt **section = arena_new_n(arena, SchedStmt *, p->stmts.n);
    GenSched own = {.state = ~g->state}; // numbers of its own, for steps and skews
    Gen y = {.g = &own, .arena = arena, .p = p};
    Moved moved = random_moved(&own);
    bool serial = false, moves = !g->plain && one_in(&own, 2);
    for (int i = 0; i < p->stmts.n; i++) serial |= p->stmts.at[i].serial > 0;
    bool options = !(moves && serial) || one_in(&own, 2);
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        SchedStmt *s = section[i] = arena_new(arena, SchedStmt);
        *s = (SchedStmt){.label = st->label, .stage = -1, .storage.home = HOME_AUTO};
        random_order(&x, s, st->iter + st->serial, st->niters - st->serial);
        if (moves && st->serial)
            move_steps(&y, s, st, &moved);
        else if (!g->plain && st->niters > 1 && one_in(&own, 12))
            random_skew(&y, s, st); // rare, because it goes with few options
        s->nontemporal = one_in(g, 10);
        s->accumulators = one_in(g, 8) && reduces(st) ? 2 : 0;
        s->unroll_limit = one_in(g, 8) ? 32 : 0;
        s->grain = one_in(g, 8) && is_parallel(s) ? 4 : 0;
        if (one_in(g, 8) && use(&x, FEATURE_PRIORITY)) s->priority = 1 + below(g, 3);
        vec_push(arena, &x.out, s);
    }
    if (!g->plain && options)
        for (int i = 0; i < p->stmts.n; i++) random_options(&x, i, section);
    Schedule *s = arena_new(arena, Schedule);
    *s = (Schedule){arena, p->names, NULL, x.out.n, x.out.at, flatten, {0, 0}};
    return s;
}

void sched_features(const Schedule *s, bool *used) {
    for (int i = 0; i < s->nstmts; i++) {
        const SchedStmt *st = s->stmt[i];
        used[FEATURE_AT] |= st->at.iter != NULL;
        used[FEATURE_SKEW] |= st->nskews > 0;
        used[FEATURE_INLINE] |= st->inlined;
        used[FEATURE_AFTER] |= st->after != NULL;
        used[FEATURE_PRIVATISE] |= st->privatise.iter != NULL;
        used[FEATURE_COPY] |= st->ncopies > 0;
        used[FEATURE_COPY_AT] |= st->ncopies > 0 && st->copy->at.iter;
    }
}

// --- Shrinking ---------------------------------------------------------------------------------

// Removes option number *n from the section, counting down; true if the section had it.
static bool drop_part(Arena *arena, SchedStmt *s, int *n) {
#define OPTION(has, clear)                                                                         \
    if ((has) && (*n)-- == 0) {                                                                    \
        clear;                                                                                     \
        return true;                                                                               \
    }
    OPTION(s->nloops, s->nloops = 0)
    OPTION(s->inlined, s->inlined = false)
    OPTION(s->nskews, s->nskews = 0)
    OPTION(s->after, s->after = NULL)
    OPTION(s->at.iter, s->at.iter = NULL)
    OPTION(s->privatise.iter, s->privatise.iter = NULL)
    OPTION(s->ncopies, s->ncopies = 0)
    OPTION(s->nprefetches, s->nprefetches = 0)
    OPTION(s->ncaches, s->ncaches = 0)
    OPTION(s->groups, s->groups = 0)
    OPTION(s->storage.ndims, s->storage.ndims = 0)
    OPTION(s->storage.align, (s->storage.align = 0, s->storage.home = HOME_AUTO))
    OPTION(s->storage.swizzle, s->storage.swizzle = 0)
    OPTION(s->storage.home == HOME_SHARED, s->storage = (Storage){.home = HOME_AUTO})
    OPTION(s->stage >= 0, s->stage = -1)
    OPTION(s->priority, s->priority = 0)
    OPTION(s->ncopies && s->copy->storage.ndims, {
        SchedCopy *c = arena_copy(arena, s->copy, sizeof *c);
        c->storage.ndims = 0;
        s->copy = c;
    })
    OPTION(s->ncopies && s->copy->storage.swizzle, {
        SchedCopy *c = arena_copy(arena, s->copy, sizeof *c);
        c->storage.swizzle = 0;
        s->copy = c;
    })
    OPTION(s->ncopies && s->copy->storage.async, {
        SchedCopy *c = arena_copy(arena, s->copy, sizeof *c);
        c->storage.async = false;
        c->storage.stages = 0;
        s->copy = c;
    })
    OPTION(s->nontemporal || s->accumulators || s->unroll_limit || s->grain,
           (s->nontemporal = false, s->accumulators = s->unroll_limit = 0, s->grain = 0))
#undef OPTION
    for (int i = 0; i < s->nloops; i++) {
        SchedLoop *loop = arena_copy(arena, s->loop, (size_t)s->nloops * sizeof *loop);
        if (loop[i].kind != KIND_SERIAL && (*n)-- == 0) {
            loop[i].kind = KIND_SERIAL;
            s->loop = loop;
            return true;
        }
        if ((*n)-- == 0) {
            for (int k = i; k + 1 < s->nloops; k++) loop[k] = loop[k + 1];
            s->loop = loop;
            s->nloops--;
            if (s->stage > s->nloops) s->stage = s->nloops;
            return true;
        }
    }
    return false;
}

const Schedule *schedule_without(const Schedule *s, int n) {
    Schedule *out = arena_copy(s->arena, s, sizeof *s);
    const SchedStmt **stmt = arena_new_n(s->arena, const SchedStmt *, s->nstmts);
    memcpy(stmt, s->stmt, (size_t)s->nstmts * sizeof *stmt);
    out->stmt = stmt;
    if (n < s->nstmts) { // a whole section
        for (int i = n; i + 1 < s->nstmts; i++) stmt[i] = stmt[i + 1];
        out->nstmts--;
        return out;
    }
    n -= s->nstmts;
    for (int i = 0; i < s->nstmts; i++) {
        SchedStmt *copy = arena_copy(s->arena, stmt[i], sizeof *copy);
        stmt[i] = copy;
        if (drop_part(s->arena, copy, &n)) return out;
    }
    return NULL;
}
