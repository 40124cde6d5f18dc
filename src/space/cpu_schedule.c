// Converts a full candidate to a Schedule.
//
//     order of bodies     ──▶ priorities, where it is not that of the Program
//     order of loops      ──▶ one order per statement, without loops of one iteration
//     merged or not       ──▶ lowering shares matching loops; a bar where the candidate does not
//     step, split, kind   ──▶ m/64:p, m%64
//     place, at, pack     ──▶ after, inline, at LOOP, copy ... at LOOP
//     layout, space       ──▶ layout (...), place stack
#include "space/cpu_impl.h"

#include "base/bug.h"
#include "base/checked.h"
#include "space/cpu_space.h"

typedef struct Make {
    Arena *arena;
    const CpuSpace *cs;
    const Cand *c;
    const CpuHost *h;
    const Program *p;
    int norder, *order; // statements with nests, in order
    VEC(const SchedStmt *) out;
} Make;

// --- Values of the candidate ---------------------------------------------------------------------

static uint64_t ask(const Make *m, int choice, int a, int b) {
    return cpu_ask(m->cs, m->c, choice, a, b);
}

static int64_t number(const Make *m, int choice, int a) {
    const Space *s = m->cs->space;
    int var = cpu_var(m->cs, choice, a, -1, NULL);
    return var < 0 ? 0 : space_value(s, var, __builtin_ctzll(space_domain(s, m->c, var)));
}

int64_t cpu_step(const CpuSpace *cs, const Cand *c, int dim) {
    int64_t min, max;
    space_count(cs->space, c, cs->words->choice[CPU_STEP], dim, -1, &min, &max);
    return min;
}

int64_t cpu_size(const CpuSpace *cs, const Cand *c, int dim) {
    int var = cpu_var(cs, CPU_SIZE, dim, -1, NULL);
    return space_value(cs->space, var, __builtin_ctzll(space_domain(cs->space, c, var)));
}

// Threads of a GPU are tiles of a loop that may run once: that one is not written.
bool cpu_used(const CpuSpace *cs, const Cand *c, int dim) {
    const CpuObject *o = &cs->host->object[dim];
    if (o->level > 0) return cpu_size(cs, c, dim) > 1;
    bool once = cs->words->by >= 0 && o->extent > 1 && cpu_step(cs, c, dim) >= o->extent;
    return !once || cpu_ask(cs, c, CPU_KIND, dim, -1) != CPU_KIND_SERIAL;
}

static bool nested(const Make *m, int stmt) {
    return ask(m, CPU_PLACE, m->h->comp[stmt], -1) == CPU_PLACE_NEST;
}

static bool privatised(const Make *m, int stmt) {
    int comp = m->h->comp[stmt];
    return cpu_var(m->cs, CPU_PRIVATISE, comp, -1, NULL) >= 0 &&
           ask(m, CPU_PRIVATISE, comp, -1) == CPU_PRIVATISE_YES;
}

static CpuPath nest_of(const Make *m, int stmt) {
    CpuPath nest = {0};
    for (int k = 0; k < m->h->ndims[stmt]; k++) {
        int d = m->h->first_dim[stmt] + k, at = nest.n;
        if (!cpu_used(m->cs, m->c, d)) continue;
        for (; at > 0 && ask(m, CPU_ORDER, d, nest.dim[at - 1]) == CPU_ORDER_OUTER; at--)
            nest.dim[at] = nest.dim[at - 1];
        nest.dim[at] = d;
        nest.n++;
    }
    return nest;
}

// --- Loops ---------------------------------------------------------------------------------------

static Name iter_name(const Make *m, int dim) {
    const CpuObject *o = &m->h->object[dim];
    return m->p->stmts.at[o->stmt].iter[o->iter].name;
}

// The first reduction with several levels, which gives the partial results.
static int split_dim(const Make *m, int stmt) {
    const ObjectFamily *f = &m->cs->space->family[m->cs->words->set[CPU_SET_SPLITOF]];
    return f->item[f->first[m->h->comp[stmt]]];
}

static bool is_interleaved(const Make *m, int dim) {
    return cpu_var(m->cs, CPU_SPLIT, dim, -1, NULL) >= 0 &&
           ask(m, CPU_SPLIT, dim, -1) == CPU_SPLIT_INTERLEAVE;
}

static LoopRef loop_ref(const Make *m, int dim) {
    int stmt = m->h->object[dim].stmt;
    if (privatised(m, stmt) && split_dim(m, stmt) == dim)
        return (LoopRef){
            name_of(m->p->names, arena_printf(m->arena, "%s.p", iter_name(m, dim))), 1, false, {0}};
    return (LoopRef){iter_name(m, dim), cpu_step(m->cs, m->c, dim), is_interleaved(m, dim), {0}};
}

static SchedLoop sched_loop(const Make *m, int dim) {
    LoopRef r = loop_ref(m, dim);
    Kind kind = cpu_kind(m->cs, ask(m, CPU_KIND, dim, -1));
    return (SchedLoop){.iter = r.iter, .step = r.step, .interleaved = r.interleaved, .kind = kind};
}

static void set_loops(const Make *m, SchedStmt *s, const CpuPath *nest) {
    SchedLoop *loop = arena_new_n(m->arena, SchedLoop, nest->n);
    for (int i = 0; i < nest->n; i++) loop[i] = sched_loop(m, nest->dim[i]);
    s->loop = loop;
    s->nloops = nest->n;
}

// The step as lowering has it: one beyond the range is the whole range.
static int64_t step_within(const Make *m, int dim) {
    return min_i64(cpu_step(m->cs, m->c, dim), m->h->object[dim].extent);
}

static bool looks_alike(const Make *m, int d, int e) {
    const CpuObject *p = &m->h->object[d], *q = &m->h->object[e];
    return !p->step && !q->step && p->level == q->level && p->extent == q->extent &&
           p->class == q->class && step_within(m, d) == step_within(m, e) &&
           is_interleaved(m, d) == is_interleaved(m, e) &&
           ask(m, CPU_KIND, d, -1) == ask(m, CPU_KIND, e, -1);
}

// A copy made before everything closes all loops of what comes before its reader, and one that
// steps read those of what comes before all of the steps.
static bool makes_root_copy(const Make *m, int stmt) {
    for (int i = 0; i < m->h->copies.n; i++) {
        int w = m->h->copies.at[i];
        int64_t min, max;
        if (m->h->object[w].stmt != stmt || m->h->object[w].changes) continue;
        if (!space_exists(m->cs->space, m->c, w)) continue;
        space_count(m->cs->space, m->c, m->cs->words->choice[CPU_DEPTH], w, -1, &min, &max);
        if (min == 0) return true;
    }
    return false;
}

static bool has_root_copy(const Make *m, int before, int stmt) {
    int first = group_first(m->p, stmt), end = group_end(m->p, stmt);
    bool any = false, inside = before >= first && before < end;
    for (int i = first; i < end && !inside; i++) any |= makes_root_copy(m, i);
    return any;
}

// The position of the bar: lowering would otherwise share a loop with the next statement that the
// candidate does not merge.
static int bar(const Make *m, int stmt, const CpuPath *nest) {
    int at = 0;
    while (at < m->norder && m->order[at] != stmt) at++;
    if (at + 1 >= m->norder) return -1;
    int next = m->order[at + 1], shared = 0;
    CpuPath other = nest_of(m, next);
    while (shared < nest->n && shared < other.n &&
           ask(m, CPU_ORDER, nest->dim[shared], other.dim[shared]) == CPU_ORDER_MERGED)
        shared++;
    if (has_root_copy(m, stmt, next)) return nest->n ? 0 : -1;
    if (shared == nest->n || shared == other.n) return -1;
    return looks_alike(m, nest->dim[shared], other.dim[shared]) ? shared : -1;
}

// --- Memory --------------------------------------------------------------------------------------

static Name digit(const Make *m, int d) {
    return name_of(m->p->names, arena_printf(m->arena, "%d", d));
}

// Do `bytes` of memory fit there with this layout? A block at most doubles its dimension.
static bool fits_stack(int64_t bytes, const Storage *s) {
    for (int i = 0; i < s->ndims && bytes <= TREE_MAX_STACK; i++)
        if (s->dim[i].block > 1) bytes *= 2;
    return bytes <= TREE_MAX_STACK;
}

// The dimensions of an access in the order in which loops from number `from` on walk them.
static void set_layout(const Make *m, Storage *out, const Access *a, const CpuPath *nest,
                       int from) {
    LayoutDim *dim = arena_new_n(m->arena, LayoutDim, nest->n + a->rank);
    bool seen[PROGRAM_MAX_RANK] = {false};
    int last[PROGRAM_MAX_RANK], n = 0;
    for (int d = 0; d < a->rank; d++) last[d] = -1;
    for (int i = from; i < nest->n; i++)
        for (int d = 0; d < a->rank; d++)
            if (affine_uses_iter(a->sub[d], m->h->object[nest->dim[i]].iter)) last[d] = i;
    for (int d = 0; d < a->rank; d++) // the dimension that these loops do not change is the slowest
        if (last[d] < 0) dim[n++] = (LayoutDim){digit(m, d), 1, {0}}, seen[d] = true;
    for (int i = from; i < nest->n; i++) {
        for (int d = 0; d < a->rank; d++) {
            bool alone = affine_as_iter(a->sub[d]) == m->h->object[nest->dim[i]].iter;
            int64_t step = alone ? cpu_step(m->cs, m->c, nest->dim[i]) : 1;
            if (seen[d] || (last[d] != i && (!alone || step == 1))) continue;
            if (last[d] == i) step = 1;
            dim[n++] = (LayoutDim){digit(m, d), step, {0}};
            seen[d] = step == 1;
        }
    }
    out->dim = dim;
    out->ndims = n;
}

// The loops around a window. Inside of steps it is inside of all of them.
static int depth_of(const Make *m, int window, const CpuPath *nest) {
    int steps = 0;
    while (steps < nest->n && m->h->object[nest->dim[steps]].step) steps++;
    int depth = steps;
    while (window >= 0 && depth < nest->n &&
           ask(m, CPU_AT, window, nest->dim[depth]) == CPU_AT_INSIDE)
        depth++;
    return depth > steps || (window >= 0 && m->h->object[window].changes) ? depth : 0;
}

// The value of an integer choice; `without` if the description has none such.
static int64_t number_of(const Make *m, int choice, int object, int64_t without) {
    const Space *space = m->cs->space;
    if (choice < 0) return without;
    int var = space_var(space, choice, object, -1, NULL);
    return space_value(space, var, __builtin_ctzll(space_domain(space, m->c, var)));
}

static Storage storage_of(const Make *m, int region, int window) {
    Storage s = {.home = m->cs->words->home[__builtin_ctzll(ask(m, CPU_HOME, region, -1))]};
    const CpuObject *o = &m->h->object[region];
    uint64_t layout = ask(m, CPU_LAYOUT, region, -1);
    if (layout == CPU_LAYOUT_GIVEN) {
        s.dim = o->storage->dim;
        s.ndims = o->storage->ndims;
    } else if (layout == CPU_LAYOUT_AS_READ) {
        int reader = m->h->object[o->reader].stmt;
        CpuPath nest = nest_of(m, reader);
        const Access *a = stmt_first_read(&m->p->stmts.at[reader], o->tensor);
        if (a) set_layout(m, &s, a, &nest, depth_of(m, window, &nest));
    } else if (layout == CPU_LAYOUT_AS_WRITTEN) {
        CpuPath nest = nest_of(m, o->stmt);
        set_layout(m, &s, m->p->stmts.at[o->stmt].write, &nest, 0);
    }
    if (s.home == HOME_STACK && !fits_stack(o->extent, &s)) s.home = HOME_AUTO;
    bool as_given = layout == CPU_LAYOUT_GIVEN || (o->storage && !o->storage->ndims && !s.ndims);
    s.align = as_given ? o->storage->align : s.ndims ? LIMIT_ALIGN : 0;
    s.swizzle = (int)number_of(m, m->cs->words->swizzle, region, 0);
    return s;
}

// The label of a statement that lowering adds: the first free name of this form.
static Name added_label(const Make *m, Name label, const char *what) {
    const char *text = arena_printf(m->arena, "%s.%s", label, what);
    for (bool taken = true; taken;) {
        Name n = name_of(m->p->names, text);
        taken = program_find_tensor(m->p, n) >= 0;
        for (int i = 0; i < m->p->stmts.n; i++) taken |= m->p->stmts.at[i].label == n;
        if (taken) text = arena_printf(m->arena, "%s_", text);
    }
    return name_of(m->p->names, text);
}

bool cpu_section_is_plain(const SchedStmt *s) {
    return !s->nloops && s->stage < 0 && !s->nprefetches && !s->ncaches && !s->nontemporal &&
           !s->accumulators && !s->unroll_limit && !s->grain;
}

// Takes over the section of the given Schedule.
static void set_given(SchedStmt *s, const SchedStmt *own) {
    s->loop = own->loop;
    s->nloops = own->nloops;
    s->stage = own->stage;
    s->prefetch = own->prefetch;
    s->nprefetches = own->nprefetches;
    s->cache = own->cache;
    s->ncaches = own->ncaches;
    s->nontemporal = own->nontemporal;
    s->accumulators = own->accumulators;
    s->unroll_limit = own->unroll_limit;
    s->grain = own->grain;
}

// --- Copies --------------------------------------------------------------------------------------

static SchedStmt *added_section(Make *m, Name label) {
    SchedStmt *s = arena_new(m->arena, SchedStmt);
    *s = (SchedStmt){.label = label, .stage = -1, .storage.home = HOME_AUTO};
    vec_push(m->arena, &m->out, s);
    return s;
}

static bool is_cut(const SchedLoop *loop, int n, Name iter, int64_t step) {
    for (int i = 0; i < n; i++)
        if (loop[i].iter == iter && loop[i].step <= step) return true;
    return false;
}

// Blocks of lanes by lanes of the innermost dimension v and of the one u that is contiguous in what
// is copied (or the next one): ... u/16 v/16 u v:v. Blocks that the layout has already stay.
static int turn_copy(SchedLoop *loop, int n, Name contiguous, int lanes, SchedLoop *out) {
    Name v = loop[n - 1].iter, u = contiguous;
    int count = 0;
    for (int i = n - 2; i >= 0 && u == v; i--) u = loop[i].iter;
    for (int i = 0; i < n - 1; i++) {
        if (loop[i].iter != u || loop[i].step > 1)
            out[count++] = loop[i];
        else if (!is_cut(out, count, u, lanes))
            out[count++] = (SchedLoop){.iter = u, .step = lanes};
    }
    if (!is_cut(out, count, v, lanes)) out[count++] = (SchedLoop){.iter = v, .step = lanes};
    out[count++] = (SchedLoop){.iter = u, .step = 1};
    out[count++] = loop[n - 1];
    return count;
}

// Two or four neighbours of one dimension are innermost, so that they are read in words.
static bool is_in_words(const SchedLoop *loop, int n) {
    for (int i = 0; i < n - 2; i++)
        if (loop[i].iter == loop[n - 1].iter && (loop[i].step == 2 || loop[i].step == 4))
            return true;
    return false;
}

// Lanes then run along the dimension around them, and all parts of their words come together.
static int copy_words(const SchedLoop *loop, int n, int lanes, SchedLoop *out) {
    memcpy(out, loop, (size_t)(n - 2) * sizeof *out);
    out[n - 2] = (SchedLoop){.iter = loop[n - 2].iter, .step = lanes};
    out[n - 1] = loop[n - 1];
    out[n] = (SchedLoop){.iter = loop[n - 2].iter, .step = 1, .kind = KIND_VECTOR};
    return n + 1;
}

int cpu_copy_loops(Arena *arena, const CpuSpace *cs, int window, const Storage *layout, bool turned,
                   SchedLoop *out) {
    const CpuObject *o = &cs->host->object[window];
    const Stmt *s = &cs->program->stmts.at[o->stmt];
    const Access *a = stmt_first_read(s, o->tensor);
    Name iters[PROGRAM_MAX_RANK] = {0};
    SchedLoop loop[CPU_COPY_LOOPS] = {0};
    schedule_copy_iters(arena, cs->program->names, s, a, iters);
    int n = layout->ndims ? layout->ndims : a->rank;
    for (int i = 0; i < n; i++) {
        const LayoutDim *dim = layout->ndims ? &layout->dim[i] : NULL;
        int d = dim ? (dim->dim[0] >= '0' && dim->dim[0] <= '9' ? dim->dim[0] - '0' : -1) : i;
        Name iter = d >= 0 && d < a->rank ? iters[d] : dim->dim;
        loop[i] = (SchedLoop){.iter = iter, .step = dim ? dim->block : 1};
    }
    if (is_in_words(loop, n)) return copy_words(loop, n, o->lanes, out);
    loop[n - 1].kind = KIND_VECTOR;
    if (turned) return turn_copy(loop, n, iters[a->rank - 1], o->lanes, out);
    memcpy(out, loop, (size_t)n * sizeof *out);
    return n;
}

// On a GPU: does the copy have the loops of the given Schedule?
static bool copied_as_given(const Make *m, int window) {
    int choice = m->cs->words->copied;
    return choice >= 0 && space_ask(m->cs->space, m->c, choice, window, -1) & ~1u;
}

// A section of its own, so that its innermost loop can be a vector. (Where statements have
// priorities, any copy has one.)
static SchedStmt *vector_copy(Make *m, int window, const SchedCopy *copy) {
    const Stmt *s = &m->p->stmts.at[m->h->object[window].stmt];
    SchedStmt *c = added_section(m, added_label(m, s->label, copy->tensor));
    uint64_t kind = ask(m, CPU_WINDOW_KIND, window, -1);
    if (kind == CPU_WINDOW_KIND_GIVEN || copied_as_given(m, window)) {
        set_given(c, m->h->object[window].own);
        return c;
    }
    bool turned = kind == CPU_WINDOW_KIND_TURNED;
    SchedLoop *loop = arena_new_n(m->arena, SchedLoop, CPU_COPY_LOOPS);
    c->nloops = cpu_copy_loops(m->arena, m->cs, window, &copy->storage, turned, loop);
    c->loop = loop;
    return c;
}

// For a GPU: how elements are copied, and how many stages in advance.
static void set_stages(const Make *m, Storage *s, int window) {
    const CpuWords *words = m->cs->words;
    const Space *space = m->cs->space;
    if (words->by < 0) return;
    s->async = space_ask(space, m->c, words->by, window, -1) & ~1u;
    int stages = (int)number_of(m, words->stages, window, 1);
    s->stages = stages > 1 ? stages : 0;
}

static void set_copies(Make *m, SchedStmt *s, int stmt, const CpuPath *nest) {
    SchedCopy *copy = arena_new_n(m->arena, SchedCopy, m->h->copies.n);
    for (int i = 0; i < m->h->copies.n; i++) {
        int w = m->h->copies.at[i];
        const CpuObject *o = &m->h->object[w];
        if (o->stmt != stmt || !space_exists(m->cs->space, m->c, w)) continue;
        SchedCopy *x = &copy[s->ncopies++];
        int depth = depth_of(m, w, nest);
        x->tensor = m->p->tensors.at[o->tensor].name;
        x->as = o->as;
        if (depth) x->at = loop_ref(m, nest->dim[depth - 1]);
        x->storage = storage_of(m, w + 1, w);
        set_stages(m, &x->storage, w);
        SchedStmt *own = NULL;
        if (ask(m, CPU_WINDOW_KIND, w, -1) != CPU_WINDOW_KIND_SERIAL || copied_as_given(m, w))
            own = vector_copy(m, w, x);
        if (!s->priority) continue;
        if (!own) own = added_section(m, added_label(m, s->label, x->tensor));
        own->priority = s->priority + 1;
    }
    s->copy = copy;
}

// Does the statement use this tensor: one of the Program's that it has no copy of, or a copy?
static bool is_used(const Make *m, int stmt, Name tensor) {
    const Stmt *s = &m->p->stmts.at[stmt];
    int t = program_find_tensor(m->p, tensor);
    bool parts = privatised(m, stmt); // it then writes those
    bool used = t >= 0 && ((s->write->tensor == t && !parts) || stmt_first_read(s, t));
    used |= parts && added_label(m, s->label, "part") == tensor;
    for (int i = 0; i < m->h->copies.n; i++) {
        int w = m->h->copies.at[i];
        const CpuObject *o = &m->h->object[w];
        if (o->stmt != stmt || !space_exists(m->cs->space, m->c, w)) continue;
        if (o->tensor == t) used = false;
        used |= added_label(m, s->label, m->p->tensors.at[o->tensor].name) == tensor;
    }
    return used;
}

// The prefetches of the given Schedule, at loops that this candidate has.
static void given_prefetches(Make *m, SchedStmt *s, int stmt, const CpuPath *nest) {
    const SchedStmt *own = m->h->object[m->h->comp[stmt]].own;
    SchedPrefetch *fetch = arena_new_n(m->arena, SchedPrefetch, own->nprefetches);
    for (int i = 0; i < own->nprefetches; i++) {
        const LoopRef *at = &own->prefetch[i].at;
        bool found = false;
        for (int k = 0; k < nest->n && !found; k++) {
            LoopRef r = loop_ref(m, nest->dim[k]);
            found = r.iter == at->iter && r.step == at->step && r.interleaved == at->interleaved;
        }
        if (found && is_used(m, stmt, own->prefetch[i].tensor))
            fetch[s->nprefetches++] = own->prefetch[i];
    }
    s->prefetch = fetch;
}

static void set_prefetches(Make *m, SchedStmt *s, int stmt, const CpuPath *nest) {
    int comp = m->h->comp[stmt];
    if (cpu_var(m->cs, CPU_FETCHES, comp, -1, NULL) >= 0 &&
        ask(m, CPU_FETCHES, comp, -1) == CPU_FETCHES_GIVEN) {
        given_prefetches(m, s, stmt, nest);
        return;
    }
    int n = m->h->naccesses[stmt], at = -1;
    SchedPrefetch *fetch = arena_new_n(m->arena, SchedPrefetch, n);
    for (int i = 0; i < nest->n; i++)
        if (ask(m, CPU_KIND, nest->dim[i], -1) == CPU_KIND_SERIAL) at = i;
    for (int i = 0; i < n && at >= 0; i++) {
        int a = m->h->first_access[stmt] + i;
        int64_t distance = number(m, CPU_PREFETCH, a);
        if (!distance) continue;
        Name tensor = m->p->tensors.at[m->h->object[a].tensor].name;
        fetch[s->nprefetches++] =
            (SchedPrefetch){tensor, loop_ref(m, nest->dim[at]), distance, 1, {0}};
    }
    s->prefetch = fetch;
}

// Of a GPU: with the section that has the copy, or with the one that has the loops.
static void set_caches(Make *m, SchedStmt *s, SchedStmt *body, int stmt) {
    int n = m->h->naccesses[stmt], choice = m->cs->words->cache;
    SchedCache *own = arena_new_n(m->arena, SchedCache, n), *copied = own;
    if (choice < 0) return;
    s->cache = own;
    if (body != s) body->cache = copied = arena_new_n(m->arena, SchedCache, n);
    for (int i = 0; i < n; i++) {
        int a = m->h->first_access[stmt] + i;
        LoadCache cache = cpu_cache(__builtin_ctzll(space_ask(m->cs->space, m->c, choice, a, -1)));
        Name tensor = m->p->tensors.at[m->h->object[a].tensor].name;
        SchedCache is = {tensor, cache, {0, 0}};
        if (cache == LOAD_AUTO) continue;
        if (schedule_copies(s, tensor))
            own[s->ncaches++] = is;
        else
            copied[body->ncaches++] = is;
    }
}

// --- Statements ----------------------------------------------------------------------------------

static void nest_section(Make *m, SchedStmt *s, int stmt) {
    CpuPath nest = nest_of(m, stmt);
    int comp = m->h->comp[stmt];
    SchedStmt *body = s; // what carries the loops
    if (privatised(m, stmt)) {
        int split = split_dim(m, stmt);
        s->privatise = (LoopRef){iter_name(m, split), cpu_step(m->cs, m->c, split), false, {0}};
        body = added_section(m, added_label(m, s->label, "part"));
        body->priority = s->priority ? s->priority + 1 : 0;
        body->stage = s->stage = 0; // combined in loops of their own
    }
    set_loops(m, body, &nest);
    if (body == s) body->stage = bar(m, stmt, &nest);
    set_copies(m, s, stmt, &nest);
    set_prefetches(m, body, stmt, &nest);
    set_caches(m, s, body, stmt);
    body->accumulators = (int)number(m, CPU_ACCUMULATORS, comp);
    body->unroll_limit = (int)number(m, CPU_UNROLL_LIMIT, comp);
    body->grain = number(m, CPU_GRAIN, comp);
    if (cpu_var(m->cs, CPU_STORE, comp, -1, NULL) >= 0)
        s->nontemporal = ask(m, CPU_STORE, comp, -1) == CPU_STORE_NONTEMPORAL;
}

// The iterators in declared order, except for the last one.
static void window_section(Make *m, SchedStmt *s, int stmt) {
    const Stmt *st = &m->p->stmts.at[stmt];
    int w = m->h->window[stmt], inner = (int)number(m, CPU_INNERMOST, w), n = 0;
    CpuPath reader = nest_of(m, m->h->object[m->h->object[w].reader].stmt);
    s->at = loop_ref(m, reader.dim[depth_of(m, w, &reader) - 1]);
    if (ask(m, CPU_WINDOW_KIND, w, -1) == CPU_WINDOW_KIND_GIVEN) {
        set_given(s, m->h->object[w].own);
        return;
    }
    SchedLoop *loop = arena_new_n(m->arena, SchedLoop, st->niters);
    for (int i = 0; i < st->niters; i++)
        if (i != inner) loop[n++] = (SchedLoop){.iter = st->iter[i].name, .step = 1};
    loop[n++] = (SchedLoop){.iter = st->iter[inner].name, .step = 1};
    if (ask(m, CPU_WINDOW_KIND, w, -1) == CPU_WINDOW_KIND_VECTOR) loop[n - 1].kind = KIND_VECTOR;
    s->loop = loop;
    s->nloops = n;
    s->accumulators = (int)number(m, CPU_ACCUMULATORS, m->h->comp[stmt]);
}

static void section(Make *m, int stmt, int priority) {
    const CpuObject *o = &m->h->object[m->h->comp[stmt]];
    SchedStmt *s = arena_new(m->arena, SchedStmt);
    *s = (SchedStmt){.label = m->p->stmts.at[stmt].label, .stage = -1, .storage.home = HOME_AUTO};
    uint64_t place = ask(m, CPU_PLACE, m->h->comp[stmt], -1);
    vec_push(m->arena, &m->out, s);
    s->priority = priority;
    if (place == CPU_PLACE_NEST) nest_section(m, s, stmt);
    if (place == CPU_PLACE_AFTER) s->after = m->p->stmts.at[m->h->object[o->host].stmt].label;
    if (place == CPU_PLACE_INLINE) s->inlined = true;
    if (place == CPU_PLACE_AT) window_section(m, s, stmt);
    int region = m->h->region[stmt];
    if (region >= 0 && !s->inlined)
        s->storage = storage_of(m, region, place == CPU_PLACE_AT ? m->h->window[stmt] : -1);
}

// Sorts the statements with nests, each after all that precede it.
static bool sort_statements(Make *m) {
    bool moved = false;
    m->order = arena_new_n(m->arena, int, m->p->stmts.n);
    for (int i = 0; i < m->p->stmts.n; i++) {
        if (!nested(m, i)) continue;
        int at = m->norder++;
        for (; at > 0 &&
               ask(m, CPU_ORDER, m->h->body[i], m->h->body[m->order[at - 1]]) == CPU_ORDER_BEFORE;
             at--) {
            m->order[at] = m->order[at - 1];
            moved = true;
        }
        m->order[at] = i;
    }
    return moved;
}

const Schedule *cpu_schedule(Arena *arena, const CpuSpace *cs, const Cand *c) {
    Make m = {.arena = arena, .cs = cs, .c = c, .h = cs->host, .p = cs->program};
    bool moved = sort_statements(&m);
    for (int i = 0; i < m.p->stmts.n; i++) {
        // A statement that is computed with another leaves at once; the statements that lowering
        // adds come between two others.
        int priority = 2 * m.norder + 2;
        for (int k = 0; k < m.norder; k++)
            if (m.order[k] == i) priority = 2 * (m.norder - k);
        section(&m, i, moved ? priority : 0);
    }
    Schedule *s = arena_new(arena, Schedule);
    *s = (Schedule){.arena = arena,
                    .names = m.p->names,
                    .nstmts = m.out.n,
                    .stmt = m.out.at,
                    .flatten = cs->flat.last != NULL};
    return s;
}
