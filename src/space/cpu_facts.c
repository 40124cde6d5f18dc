// What the CPU space knows of a Program: who depends on whom, and which loops could be one.
//
// The questions are those that lowering asks (sched/nest.c), so that what the space allows is what
// lowering does.
#include "base/checked.h"
#include "program/deps.h"
#include "space/cpu_impl.h"

enum { SHARE_BUDGET = 3000 }; // of work for one question, as in lowering

static void collect_reads(Arena *arena, CpuStmt *c) {
    AccessList r = {.arena = arena};
    expr_visit_accesses(c->s->value, access_collect, &r);
    for (int d = 0; d < c->s->write->rank; d++)
        affine_visit_accesses(c->s->write->sub[d], access_collect, &r);
    for (int k = 0; k < c->s->nconstraints; k++)
        affine_visit_accesses(c->s->constraint[k], access_collect, &r);
    c->nreads = r.at.n;
    c->read = r.at.at;
}

bool facts_reads(const CpuStmt *s, int tensor) {
    for (int r = 0; r < s->nreads; r++)
        if (s->read[r]->tensor == tensor) return true;
    return false;
}

bool facts_depend(const CpuStmt *a, const CpuStmt *b) {
    int wa = a->s->write->tensor, wb = b->s->write->tensor;
    return wa == wb || facts_reads(a, wb) || facts_reads(b, wa);
}

static int count_nodes(const Expr *e, int most) {
    int n = 1;
    for (int i = 0; e->kind == EXPR_OP && i < e->n && n < most; i++)
        n += count_nodes(e->arg[i], most);
    return n;
}

int facts_nodes(const CpuFacts *f, int i, int most) {
    const CpuStmt *c = &f->stmt[i];
    int n = count_nodes(c->s->value, most);
    for (int r = 0; r < c->nreads && n < most; r++)
        for (int k = 0; k < i && n < most; k++)
            if (f->stmt[k].s->write->tensor == c->read[r]->tensor &&
                f->p->tensors.at[c->read[r]->tensor].role == ROLE_TEMP)
                n += facts_nodes(f, k, most);
    return n;
}

int facts_only_reader(const CpuFacts *f, int i) {
    int tensor = f->stmt[i].s->write->tensor, reader = -1;
    for (int k = 0; k < f->p->stmts.n; k++) {
        if (k != i && f->stmt[k].s->write->tensor == tensor) return -1;
        if (!facts_reads(&f->stmt[k], tensor)) continue;
        if (reader >= 0 || k <= i) return -1;
        reader = k;
    }
    return reader;
}

void facts_reach(const CpuFacts *f, int q, const bool *through, bool *reached) {
    for (int k = q + 1; k < f->p->stmts.n; k++) {
        reached[k] = facts_reads(&f->stmt[k], f->stmt[q].s->write->tensor);
        for (int m = q + 1; m < k && !reached[k]; m++)
            reached[k] =
                reached[m] && through[m] && facts_reads(&f->stmt[k], f->stmt[m].s->write->tensor);
    }
}

bool facts_spoils(const CpuFacts *f, int q, int c) {
    int last = c;
    for (int k = c + 1; k < f->p->stmts.n; k++)
        if (facts_reads(&f->stmt[k], f->stmt[c].s->write->tensor)) last = k;
    for (int k = c + 1; k <= last; k++)
        if (facts_reads(&f->stmt[q], f->stmt[k].s->write->tensor)) return true;
    return false;
}

CpuFacts *cpu_facts(Arena *arena, const Program *p) {
    CpuFacts *f = arena_new(arena, CpuFacts);
    f->arena = arena;
    f->p = p;
    f->stmt = arena_new_n(arena, CpuStmt, p->stmts.n);
    int *const *class = statement_classes(arena, p);
    for (int i = 0; i < p->stmts.n; i++) {
        CpuStmt *c = &f->stmt[i];
        c->s = &p->stmts.at[i];
        c->class = class[i];
        c->init = c->s->init && c->s->op != REDUCE_ASSIGN;
        collect_reads(arena, c);
        bool meets = c->init || (c->s->op != REDUCE_ASSIGN && !stmt_is_injective(c->s));
        bool empty = false;
        for (int k = 0; k < c->s->niters; k++) {
            meets |= c->s->iter[k].reduction && iter_extent(&c->s->iter[k]) > 1;
            empty |= iter_extent(&c->s->iter[k]) == 0;
        }
        c->apart = empty || (c->init && !stmt_is_injective(c->s)) ||
                   (meets && facts_reads(c, c->s->write->tensor));
    }
    return f;
}

// --- Sharing -------------------------------------------------------------------------------------

// Some dimension says that i and j are the same: a·i + c against a·j + c, from their starts.
static bool plainly_equal(const CpuStmt *a, const Access *x, int i, const CpuStmt *b,
                          const Access *y, int j) {
    for (int d = 0; d < x->rank; d++) {
        const Affine *f = x->sub[d], *g = y->sub[d];
        if (f->n != 1 || g->n != 1 || f->term[0].coef != g->term[0].coef) continue;
        const Atom *fa = f->term[0].atom, *ga = g->term[0].atom;
        if (fa->kind != ATOM_ITER || ga->kind != ATOM_ITER) continue;
        if (fa->index != i || ga->index != j) continue;
        int64_t from_f = f->term[0].coef * iter_lo(&a->s->iter[i]) + f->constant;
        int64_t from_g = g->term[0].coef * iter_lo(&b->s->iter[j]) + g->constant;
        if (from_f == from_g) return true;
    }
    return false;
}

static DepSide side_of(Arena *arena, const CpuStmt *s, const Access *a) {
    DepSide side = deps_side(arena, s->s, a);
    if (s->s->init) side.nconstraints = 0; // it initialises the whole box
    return side;
}

static bool proven_equal(Arena *arena, const CpuStmt *a, const Access *x, int i, const CpuStmt *b,
                         const Access *y, int j) {
    if (!access_uses_iter(x, i) || !access_uses_iter(y, j)) return false;
    int64_t *plus_i = arena_new_n(arena, int64_t, 2 * PROGRAM_MAX_ITERS);
    int64_t *plus_j = plus_i + PROGRAM_MAX_ITERS;
    int64_t apart = iter_lo(&b->s->iter[j]) - iter_lo(&a->s->iter[i]);
    DepQuery q = {side_of(arena, a, x), side_of(arena, b, y), .budget = SHARE_BUDGET, .norders = 1};
    for (int sign = -1; sign <= 1; sign += 2) {
        plus_i[i] = sign;
        plus_j[j] = -sign;
        q.orders = &(DepOrder){plus_i, plus_j, sign * apart - 1, false};
        if (deps_test(arena, &q, NULL) != DEP_NO) return false;
    }
    return true;
}

static bool same_iteration(const CpuFacts *f, const CpuStmt *a, const Access *x, int i,
                           const CpuStmt *b, const Access *y, int j) {
    if (x->tensor != y->tensor) return true;
    if (i < 0 || j < 0) return false;
    if (iter_extent(&a->s->iter[i]) <= 1 && iter_extent(&b->s->iter[j]) <= 1) return true;
    return plainly_equal(a, x, i, b, y, j) || proven_equal(f->arena, a, x, i, b, y, j);
}

bool facts_share(const CpuFacts *f, int a, int i, int b, int j) {
    const CpuStmt *x = &f->stmt[a], *y = &f->stmt[b];
    if (!same_iteration(f, x, x->s->write, i, y, y->s->write, j)) return false;
    for (int r = 0; r < x->nreads; r++)
        if (!same_iteration(f, x, x->read[r], i, y, y->s->write, j)) return false;
    for (int r = 0; r < y->nreads; r++)
        if (!same_iteration(f, x, x->s->write, i, y, y->read[r], j)) return false;
    return true;
}

int facts_follow(const CpuStmt *s, const Stmt *host, int i) {
    for (int d = 0; d < host->write->rank; d++) {
        if (affine_as_iter(host->write->sub[d]) != i) continue;
        for (int r = -1; r < s->nreads; r++) {
            const Access *a = r < 0 ? s->s->write : s->read[r];
            if (a->tensor == host->write->tensor) return affine_as_iter(a->sub[d]);
        }
    }
    return -1;
}
