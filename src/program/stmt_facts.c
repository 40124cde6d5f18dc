// Facts about statements; see stmt_facts.h for what each one means.
//
// Almost everything is read off the subscripts. Only same_iteration may ask an exact dependence
// question (deps.c), with a small budget: it is asked for every pair of loops that might be merged.
#include "program/stmt_facts.h"

#include "program/deps.h"

enum { SHARE_BUDGET = 3000 }; // work of one dependence question; beyond it the answer is `no`

// --- Reads ---------------------------------------------------------------------------------------

static void visit_indices(const Stmt *s, AccessVisit *fn, void *user) {
    for (int d = 0; d < s->write->rank; d++) affine_visit_accesses(s->write->sub[d], fn, user);
    for (int k = 0; k < s->nconstraints; k++) affine_visit_accesses(s->constraint[k], fn, user);
}

void stmt_visit_reads(const Stmt *s, AccessVisit *fn, void *user) {
    expr_visit_accesses(s->value, fn, user);
    visit_indices(s, fn, user);
}

typedef struct Find {
    int tensor;
    const Access *first;
    const Stmt *s;
} Find;

static void find_read(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Find *f = user;
    if (!f->first && a->tensor == f->tensor) f->first = a;
}

const Access *stmt_first_read(const Stmt *s, int tensor) {
    Find f = {.tensor = tensor};
    stmt_visit_reads(s, find_read, &f);
    return f.first;
}

typedef struct Reads {
    AccessList all;
    bool guarded; // some of them are
} Reads;

static void collect_read(void *user, const Access *a, bool guarded) {
    Reads *r = user;
    r->guarded |= guarded;
    access_collect(&r->all, a, guarded);
}

static void collect_sure(void *list, const Access *a, bool guarded) {
    if (!guarded) access_collect(list, a, guarded);
}

static void collect_reads(Arena *arena, StmtFacts *f) {
    Reads r = {.all.arena = arena};
    AccessList sure = {.arena = arena};
    expr_visit_accesses(f->s->value, collect_read, &r);
    if (r.guarded) expr_visit_accesses(f->s->value, collect_sure, &sure);
    f->nvalue = r.all.at.n;
    visit_indices(f->s, access_collect, &r.all);
    f->nreads = r.all.at.n;
    f->read = r.all.at.at;
    f->nsure = r.guarded ? sure.at.n : f->nvalue;
    f->sure = r.guarded ? sure.at.at : f->read;
}

const Access *stmt_read_of(const StmtFacts *f, int tensor) {
    for (int r = 0; r < f->nreads; r++)
        if (f->read[r]->tensor == tensor) return f->read[r];
    return NULL;
}

bool stmt_touches(const StmtFacts *f, int tensor) {
    return f->s->write->tensor == tensor || stmt_reads(f, tensor);
}

// --- Iterations and elements ---------------------------------------------------------------------

// Solves for iterators one by one: a linear subscript with one unknown left determines it. True
// when the element determines all of them.
static bool determines(const Stmt *s, bool *known) {
    for (bool more = true; more;) {
        more = false;
        for (int d = 0; d < s->write->rank; d++) {
            const Affine *sub = s->write->sub[d];
            int unknown = 0, which = -1;
            for (int k = 0; sub->linear && k < sub->n; k++)
                if (!known[sub->term[k].atom->index]) unknown++, which = sub->term[k].atom->index;
            if (unknown == 1) known[which] = more = true;
        }
    }
    for (int i = 0; i < s->niters; i++)
        if (!known[i]) return false;
    return true;
}

bool stmt_is_injective(const Stmt *s) {
    bool known[PROGRAM_MAX_ITERS];
    if (s->write->has_read) return false;
    for (int i = 0; i < s->niters; i++)
        known[i] = i < s->serial || s->iter[i].reduction || iter_extent(&s->iter[i]) <= 1;
    return determines(s, known);
}

bool stmt_writes_once(const Stmt *s) {
    bool known[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) known[i] = i < s->serial || iter_extent(&s->iter[i]) <= 1;
    return determines(s, known);
}

static bool initialises(const Stmt *s) { return s->init && s->op != REDUCE_ASSIGN; }

static bool reduces(const Stmt *s) {
    for (int i = 0; i < s->niters; i++)
        if (s->iter[i].reduction && iter_extent(&s->iter[i]) > 1) return true;
    return false;
}

// Do several iterations, or the initialisation and an iteration, write one element?
static bool writes_again(const Stmt *s) {
    return initialises(s) || reduces(s) || (s->op != REDUCE_ASSIGN && !stmt_is_injective(s));
}

bool steps_differ(const Access *a, const Access *b, int common) {
    for (int d = 0; d < a->rank && common; d++) {
        const Affine *x = a->sub[d], *y = b->sub[d];
        bool same = x->linear && y->linear && x->n == y->n && x->constant != y->constant;
        for (int i = 0; i < x->n && same; i++)
            same = x->term[i].atom == y->term[i].atom && x->term[i].coef == y->term[i].coef &&
                   x->term[i].atom->kind == ATOM_ITER && x->term[i].atom->index < common;
        if (same) return true;
    }
    return false;
}

static void find_in_step(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Find *f = user;
    if (!f->first && a->tensor == f->tensor && !steps_differ(a, f->s->write, f->s->serial))
        f->first = a;
}

bool stmt_reads_own(const Stmt *s) {
    Find f = {.tensor = s->write->tensor, .s = s};
    stmt_visit_reads(s, find_in_step, &f);
    return f.first != NULL;
}

bool stmt_needs_snapshot(const Stmt *s) { return writes_again(s) && stmt_reads_own(s); }

bool stmt_is_definition(const Program *p, const Stmt *s) {
    const Tensor *t = &p->tensors.at[s->write->tensor];
    bool seen[PROGRAM_MAX_ITERS] = {false};
    if (t->role != ROLE_TEMP || s->op != REDUCE_ASSIGN || s->nconstraints || s->post) return false;
    if (s->serial) return false; // another step may have other operands
    if (type_compute(t->type) != t->type || stmt_first_read(s, s->write->tensor)) return false;
    for (int d = 0; d < s->write->rank; d++) {
        const Affine *sub = s->write->sub[d];
        if (!sub->linear || sub->n > 1) return false;
        if (sub->n == 1 && (sub->term[0].coef != 1 || seen[sub->term[0].atom->index])) return false;
        if (sub->n == 1) seen[sub->term[0].atom->index] = true;
    }
    for (int i = 0; i < s->niters; i++)
        if (!seen[i]) return false;
    return true;
}

StmtFacts stmt_facts(Arena *arena, const Stmt *s) {
    StmtFacts f = {.s = s, .initialises = initialises(s), .reduces = reduces(s)};
    for (int i = 0; i < s->niters; i++) {
        bool none = iter_extent(&s->iter[i]) == 0;
        f.has_reduction |= s->iter[i].reduction;
        f.empty |= none;
        f.empty_reduction |= none && s->iter[i].reduction;
    }
    collect_reads(arena, &f);
    f.injective = stmt_is_injective(s);
    f.snapshot = stmt_needs_snapshot(s);
    return f;
}

ProgramFacts *program_facts(Arena *arena, const Program *p) {
    ProgramFacts *f = arena_new(arena, ProgramFacts);
    *f = (ProgramFacts){p, arena_new_n(arena, StmtFacts, p->stmts.n)};
    for (int i = 0; i < p->stmts.n; i++) f->stmt[i] = stmt_facts(arena, &p->stmts.at[i]);
    return f;
}

// --- Classes -------------------------------------------------------------------------------------

static bool has_class(const Stmt *s, const int *class, int which) {
    for (int i = 0; i < s->niters; i++)
        if (class[i] == which) return true;
    return false;
}

// Iterators of `s` and of an earlier statement `by` that subscript the same dimension, of access
// `a` and of what `by` writes, have one class.
static void connect(const Stmt *s, int *class, const Access *a, const StmtFacts *by) {
    const Access *w = by->s->write;
    for (int d = 0; d < a->rank && d < w->rank; d++) {
        int mine = affine_as_iter(a->sub[d]), other = affine_as_iter(w->sub[d]);
        if (mine < 0 || other < 0 || class[mine] >= 0) continue;
        if (!has_class(s, class, by->class[other])) class[mine] = by->class[other];
    }
}

void facts_classes(Arena *arena, ProgramFacts *f) {
    const Program *p = f->p;
    int *writer = arena_new_n(arena, int, p->tensors.n); // 1 + the last statement that writes it
    VEC(Name) name = {0};                                // per class
    for (int i = 0; i < p->stmts.n; i++) {
        StmtFacts *st = &f->stmt[i];
        const Stmt *s = st->s;
        int *class = arena_new_n(arena, int, s->niters), mine = s->write->tensor;
        for (int k = 0; k < s->niters; k++) class[k] = -1;
        for (int r = 0; r < st->nreads; r++)
            if (writer[st->read[r]->tensor])
                connect(s, class, st->read[r], &f->stmt[writer[st->read[r]->tensor] - 1]);
        if (writer[mine]) connect(s, class, s->write, &f->stmt[writer[mine] - 1]);
        for (int k = 0; k < s->niters; k++) {
            for (int c = 0; c < name.n && class[k] < 0; c++)
                if (name.at[c] == s->iter[k].name && !has_class(s, class, c)) class[k] = c;
            if (class[k] >= 0) continue;
            class[k] = name.n;
            vec_push(arena, &name, s->iter[k].name);
        }
        st->class = class;
        writer[mine] = i + 1;
    }
}

// --- Order ---------------------------------------------------------------------------------------

bool stmts_depend(const StmtFacts *a, const StmtFacts *b) {
    return stmt_touches(a, b->s->write->tensor) || stmt_reads(b, a->s->write->tensor);
}

bool stmt_overwritten(const ProgramFacts *f, int i, int from, int to) {
    for (int k = from; k <= to; k++)
        if (stmt_reads(&f->stmt[i], f->stmt[k].s->write->tensor)) return true;
    return false;
}

int stmt_last_reader(const ProgramFacts *f, int i) {
    int last = f->p->stmts.n - 1;
    while (last > i && !stmt_reads(&f->stmt[last], f->stmt[i].s->write->tensor)) last--;
    return last;
}

int stmt_only_reader(const ProgramFacts *f, int i) {
    int tensor = f->stmt[i].s->write->tensor, reader = -1;
    for (int k = 0; k < f->p->stmts.n; k++) {
        if (k != i && f->stmt[k].s->write->tensor == tensor) return -1;
        if (!stmt_reads(&f->stmt[k], tensor)) continue;
        if (reader >= 0 || k <= i) return -1;
        reader = k;
    }
    return reader;
}

// --- Sharing a loop ------------------------------------------------------------------------------

// Some dimension proves it: k*i + c in one access and k*j + c in the other, counted from the
// starts.
static bool plainly_same(const Stmt *a, const Access *x, int i, const Stmt *b, const Access *y,
                         int j) {
    for (int d = 0; d < x->rank; d++) {
        const Affine *f = x->sub[d], *g = y->sub[d];
        if (f->n != 1 || g->n != 1 || f->term[0].coef != g->term[0].coef) continue;
        const Atom *fa = f->term[0].atom, *ga = g->term[0].atom;
        if (fa->kind != ATOM_ITER || ga->kind != ATOM_ITER) continue;
        if (fa->index != i || ga->index != j) continue;
        int64_t from_f = f->term[0].coef * iter_lo(&a->iter[i]) + f->constant;
        int64_t from_g = g->term[0].coef * iter_lo(&b->iter[j]) + g->constant;
        if (from_f == from_g) return true;
    }
    return false;
}

static DepSide side_of(Arena *scratch, const Stmt *s, const Access *a) {
    DepSide side = deps_side(scratch, s, a);
    if (s->init) side.nconstraints = 0; // it initialises the whole box
    return side;
}

// No element is touched at different distances of i and j from their starts: neither with i's
// distance greater nor with j's.
static bool proven_same(Arena *scratch, const Stmt *a, const Access *x, int i, const Stmt *b,
                        const Access *y, int j, int common) {
    int64_t of_i[PROGRAM_MAX_ITERS] = {0}, of_j[PROGRAM_MAX_ITERS] = {0};
    int64_t apart = iter_lo(&b->iter[j]) - iter_lo(&a->iter[i]);
    if (!access_uses_iter(x, i) || !access_uses_iter(y, j)) return false;
    ArenaMark mark = arena_mark(scratch);
    DepQuery q = {side_of(scratch, a, x), side_of(scratch, b, y), .budget = SHARE_BUDGET};
    DepDir step[PROGRAM_MAX_ITERS];
    for (int k = 0; k < common; k++) step[k] = (DepDir){k, k, DEP_EQ};
    q.ndirs = common;
    q.dirs = step;
    bool same = true;
    for (int sign = -1; sign <= 1 && same; sign += 2) {
        DepOrder order = {of_i, of_j, sign * apart - 1, false};
        of_i[i] = sign;
        of_j[j] = -sign;
        q.norders = 1;
        q.orders = &order;
        same = deps_test(scratch, &q, NULL) == DEP_NO;
    }
    arena_release(scratch, mark);
    return same;
}

bool same_iteration(Arena *scratch, const Stmt *a, const Access *x, int i, const Stmt *b,
                    const Access *y, int j, int common) {
    if (iter_extent(&a->iter[i]) <= 1 && iter_extent(&b->iter[j]) <= 1) return true;
    return plainly_same(a, x, i, b, y, j) || steps_differ(x, y, common) ||
           proven_same(scratch, a, x, i, b, y, j, common);
}

static bool accesses_share(Arena *scratch, const Stmt *a, const Access *x, int i, const Stmt *b,
                           const Access *y, int j, int common) {
    if (x->tensor != y->tensor) return true;
    return i >= 0 && j >= 0 && same_iteration(scratch, a, x, i, b, y, j, common);
}

bool stmts_share(Arena *scratch, const StmtFacts *a, int i, const StmtFacts *b, int j, int common) {
    const Stmt *s = a->s, *t = b->s;
    if (!accesses_share(scratch, s, s->write, i, t, t->write, j, common)) return false;
    for (int r = 0; r < a->nreads; r++)
        if (!accesses_share(scratch, s, a->read[r], i, t, t->write, j, common)) return false;
    for (int r = 0; r < b->nreads; r++)
        if (!accesses_share(scratch, s, s->write, i, t, b->read[r], j, common)) return false;
    return true;
}

// --- Following -----------------------------------------------------------------------------------

// Access r of the statement; -1 is the write.
static const Access *access_of(const StmtFacts *f, int r) {
    return r < 0 ? f->s->write : f->read[r];
}

int follower_iter(const StmtFacts *f, const Stmt *host, int i) {
    if (i < host->serial) return i;
    for (int d = 0; d < host->write->rank; d++) {
        if (affine_as_iter(host->write->sub[d]) != i) continue;
        for (int r = -1; r < f->nreads; r++)
            if (access_of(f, r)->tensor == host->write->tensor)
                return affine_as_iter(access_of(f, r)->sub[d]);
    }
    return -1;
}

static bool same_range(const Iter *a, const Iter *b) { return a->lo == b->lo && a->hi == b->hi; }

// Is the element of access `a` of a follower the one that its host has just finished?
static bool same_element(const StmtFacts *f, const Access *a, const Stmt *host) {
    const Access *w = host->write;
    for (int d = 0; d < a->rank; d++) {
        int want = affine_as_iter(w->sub[d]);
        bool fixed = a->sub[d] == w->sub[d] && !(affine_iter_mask(a->sub[d]) >> host->serial) &&
                     !a->sub[d]->has_read;
        if (want < 0 ? !fixed : affine_as_iter(a->sub[d]) != follower_iter(f, host, want))
            return false;
    }
    return true;
}

// The iterators of a follower are those of its host that are not reductions, with their ranges.
static const char *iters_refused(const StmtFacts *f, const Stmt *host) {
    bool taken[PROGRAM_MAX_ITERS] = {false};
    int found = 0;
    for (int k = 0; k < host->niters; k++) {
        if (host->iter[k].reduction) continue;
        int mine = follower_iter(f, host, k);
        if (mine < 0 || taken[mine] || !same_range(&f->s->iter[mine], &host->iter[k]))
            return "its iterators are not those of the result";
        taken[mine] = true;
        found++;
    }
    return found == f->s->niters ? NULL : "it has further iterators";
}

// Does the statement read the tensor in a step in which access `a` writes it?
static bool reads_in_step(const StmtFacts *f, const Access *a) {
    for (int r = 0; r < f->nreads; r++)
        if (f->read[r]->tensor == a->tensor && !steps_differ(f->read[r], a, f->s->serial))
            return true;
    return false;
}

// stmts_depend for two statements of one group: accesses in different steps do not matter.
static bool depend_in_step(const StmtFacts *a, const StmtFacts *b) {
    return a->s->write->tensor == b->s->write->tensor || reads_in_step(a, b->s->write) ||
           reads_in_step(b, a->s->write);
}

// Do two followers of a host use the same numbers for its iterators?
static bool same_numbers(const StmtFacts *f, const StmtFacts *g, const Stmt *host) {
    for (int k = 0; k < host->niters; k++)
        if (!host->iter[k].reduction && follower_iter(f, host, k) != follower_iter(g, host, k))
            return false;
    return true;
}

// Is iterator x of the one follower iterator y of the other?
static bool same_iter(const StmtFacts *f, int x, const StmtFacts *g, int y, const Stmt *host) {
    for (int k = 0; k < host->niters; k++)
        if (!host->iter[k].reduction && follower_iter(f, host, k) == x &&
            follower_iter(g, host, k) == y)
            return true;
    return false;
}

// Do accesses of two followers of a host touch the same element in every iteration?
static bool same_place(const StmtFacts *f, const Access *a, const StmtFacts *g, const Access *b,
                       const Stmt *host) {
    bool numbers = same_numbers(f, g, host);
    for (int d = 0; d < a->rank; d++) {
        int x = affine_as_iter(a->sub[d]), y = affine_as_iter(b->sub[d]);
        bool fixed = numbers || !(affine_iter_mask(a->sub[d]) >> host->serial);
        bool same = x >= 0 && y >= 0 ? same_iter(f, x, g, y, host)
                                     : fixed && a->sub[d] == b->sub[d] && !a->sub[d]->has_read;
        if (!same) return false;
    }
    return true;
}

// Does a follower use an element that another follower of the same host writes, or write one that
// it uses, in another iteration? In the loops of their host the one runs before the other has
// finished.
static bool followers_meet(const StmtFacts *f, const StmtFacts *g, const Stmt *host) {
    for (int r = -1; r < f->nreads; r++)
        for (int q = -1; q < g->nreads; q++) {
            const Access *a = access_of(f, r), *b = access_of(g, q);
            bool one = a->tensor == b->tensor && (r < 0 || q < 0);
            if (one && !same_place(f, a, g, b, host) && !steps_differ(a, b, host->serial))
                return true;
        }
    return false;
}

const char *follow_refused(const ProgramFacts *all, int i, int h, const int *host,
                           const bool *windowed) {
    const StmtFacts *f = &all->stmt[i], *g = &all->stmt[h];
    int mine = f->s->write->tensor, result = g->s->write->tensor;
    if (h >= i) return "it comes first";
    int common = stmts_common(all->p, h, i);
    if (common != f->s->serial || common != g->s->serial) return "it runs in other steps";
    if (host[h] >= 0) return "that one stands behind another itself";
    if (!g->injective || (windowed && (windowed[result] || windowed[mine])))
        return "its elements are not complete one by one";
    if (!stmt_reads(f, result)) return "it does not read its result";
    if (f->initialises) return "it is a reduction itself";
    if (reads_in_step(g, f->s->write)) return "that one reads what it writes";
    if (f->has_reduction) return "it is a reduction itself";
    const char *why = iters_refused(f, g->s);
    if (why) return why;
    for (int r = -1; r < f->nreads; r++) {
        const Access *a = access_of(f, r);
        if (windowed && windowed[a->tensor]) return "it reads what is computed at a loop";
        if (a->tensor == result && !same_element(f, a, g->s) &&
            (r < 0 || !steps_differ(a, g->s->write, common)))
            return "it uses the result elsewhere";
    }
    for (int k = h + 1; k < i; k++)
        if (host[k] == h && followers_meet(f, &all->stmt[k], g->s))
            return "a statement between them has other elements of a tensor in each iteration";
        else if (host[k] != h &&
                 (common ? depend_in_step(&all->stmt[k], f) : stmts_depend(&all->stmt[k], f)))
            return "a statement between them is in the way";
    return NULL;
}
