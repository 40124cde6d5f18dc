// Memory for a few steps instead of all of them.
//
//     for t in 0:T { U[t + 1, i] = f(U[t, i - 1], U[t, i + 1]) }      O[i] = U[T, i]
//
// A temporary that the steps of a group write at `t + w` in one dimension, and that is read at a
// few steps back only, needs memory for as many steps as are alive at the same time. Element c of
// that dimension is kept at c mod K. That is right when no element is overwritten before its last
// read: of a read and a write of different elements at one place, the one of the smaller c comes
// first. If the farthest read is d steps back, K = d suffices where elements are updated in place,
// else K = d + 1: dependence questions decide. Orders that move the loops of steps are judged with
// these conflicts, too (steps.c).
//
// c mod 2 is linear in the indices of the loops where the innermost loop of the steps runs over two
// values, as in `t/2 t:u`. Elsewhere a subscript has a remainder. Its address is computed in the
// innermost loop and cannot be pinned, so statements with reductions keep all steps instead.
#include "base/checked.h"
#include "program/deps.h"
#include "sched/lower.h"

enum { FOLD_BUDGET = 10000 };

// A tensor that may be folded: dimension `dim` is subscripted by the steps of one group.
typedef struct Steps {
    Lower *l;
    int tensor, dim, first, end;
    int64_t lo, hi; // written in that dimension, inclusive
} Steps;

// t + w, t being the outermost serial iterator.
static bool is_step(const Affine *sub) {
    return sub->n == 1 && sub->term[0].atom->kind == ATOM_ITER && sub->term[0].atom->index == 0 &&
           sub->term[0].coef == 1;
}

// --- Accesses outside of the group -------------------------------------------------------------

// Reads after the steps find the last steps written; writes before the steps are the first ones
// read.
static bool fits_outside(const Steps *s, int stmt, const Access *a, bool write, int64_t keep) {
    if (a->tensor != s->tensor) return true;
    const Affine *sub = a->sub[s->dim];
    if (!affine_is_const(sub)) return false;
    bool before = stmt < s->first;
    if (before != write) return false;
    if (write) return sub->constant < s->lo && sub->constant >= s->lo - keep;
    return sub->constant <= s->hi && sub->constant > s->hi - keep;
}

// --- Accesses of the group ---------------------------------------------------------------------

static const Access *kept_at(Lower *l, const Access *a, int dim, int64_t keep) {
    const Affine *sub[PROGRAM_MAX_RANK];
    for (int d = 0; d < a->rank; d++) sub[d] = a->sub[d];
    sub[dim] = affine_mod(l->x, sub[dim], affine_const(l->x, keep));
    return access_make(l->x, a->tensor, a->rank, sub);
}

// May write w of statement i and read r of statement k use the same place for different elements,
// with the read's iterators related to the write's by `dirs`?
static bool clash(const Steps *s, int i, const Access *w, int k, const Access *r, int64_t keep,
                  const DepDir *dirs, int ndirs) {
    Lower *l = s->l;
    const Stmt *a = l->info[i].s, *b = l->info[k].s;
    int64_t plus[PROGRAM_MAX_ITERS] = {1}, minus[PROGRAM_MAX_ITERS] = {-1};
    DepOrder newer = {.a = plus, .b = minus}; // the element written is of a later step
    newer.constant = w->sub[s->dim]->constant - r->sub[s->dim]->constant - 1;
    DepQuery q = {.a = deps_side(l->arena, a, kept_at(l, w, s->dim, keep)),
                  .b = deps_side(l->arena, b, kept_at(l, r, s->dim, keep)),
                  .ndirs = ndirs,
                  .dirs = dirs,
                  .norders = 1,
                  .orders = &newer,
                  .budget = FOLD_BUDGET};
    return deps_test(l->arena, &q, NULL) != DEP_NO;
}

// Is the place of an element that statement k reads overwritten earlier by statement i?
static bool overwrites(const Steps *s, int i, int k, const Access *r, int64_t keep) {
    Lower *l = s->l;
    const Access *w = l->info[i].s->write;
    int common = i < k ? stmts_common(l->p, i, k) : stmts_common(l->p, k, i);
    DepDir dirs[PROGRAM_MAX_ITERS];
    for (int level = 0; level < common; level++) {
        for (int d = 0; d <= level; d++) dirs[d] = (DepDir){d, d, d < level ? DEP_EQ : DEP_LT};
        if (clash(s, i, w, k, r, keep, dirs, level + 1)) return true;
    }
    for (int d = 0; d < common; d++) dirs[d] = (DepDir){d, d, DEP_EQ};
    bool again = l->info[i].s->op != REDUCE_ASSIGN; // writes an element more than once in a step
    if (i != k || again) return i <= k && clash(s, i, w, k, r, keep, dirs, common);
    for (int d = common; d < l->info[i].s->niters; d++)
        for (int greater = 0; greater < 2; greater++) { // another iteration of this step
            dirs[common] = (DepDir){d, d, greater ? DEP_GT : DEP_LT};
            if (clash(s, i, w, k, r, keep, dirs, common + 1)) return true;
        }
    return false;
}

static bool fits_inside(const Steps *s, int k, const Access *r, int64_t keep) {
    if (r->tensor != s->tensor) return true;
    if (!is_step(r->sub[s->dim]) || r->has_read) return false;
    for (int i = s->first; i < s->end; i++)
        if (s->l->info[i].s->write->tensor == s->tensor && overwrites(s, i, k, r, keep))
            return false;
    return true;
}

static bool fits(const Steps *s, int64_t keep) {
    const Lower *l = s->l;
    for (int i = 0; i < l->p->stmts.n; i++) {
        const StmtFacts *f = l->info[i].facts;
        bool inside = i >= s->first && i < s->end;
        if (!inside && !fits_outside(s, i, f->s->write, true, keep)) return false;
        for (int r = 0; r < f->nreads; r++)
            if (inside ? !fits_inside(s, i, f->read[r], keep)
                       : !fits_outside(s, i, f->read[r], false, keep))
                return false;
    }
    return true;
}

// --- Tensors -----------------------------------------------------------------------------------

// The group that writes the tensor, each statement `=` at one step: the range that they write.
static bool find_writes(Steps *s) {
    const Lower *l = s->l;
    s->first = -1;
    for (int i = 0; i < l->p->stmts.n; i++) {
        const Stmt *st = l->info[i].s;
        if (st->write->tensor != s->tensor || !st->serial) continue;
        const Affine *sub = st->write->sub[s->dim];
        if (!is_step(sub) || st->write->has_read || st->unproven || l->host[i] >= 0) return false;
        int64_t lo = iter_lo(&st->iter[0]) + sub->constant;
        int64_t hi = iter_hi(&st->iter[0]) - 1 + sub->constant;
        if (s->first < 0) {
            s->first = group_first(l->p, i), s->end = group_end(l->p, i);
            s->lo = lo, s->hi = hi;
        } else if (i >= s->end || lo != s->lo || hi != s->hi)
            return false;
    }
    return s->first >= 0;
}

// How many steps back the farthest read of the group is; -1: not a fixed number.
static int64_t farthest_read(const Steps *s) {
    int64_t far = 0;
    for (int i = s->first; i < s->end; i++) {
        const StmtFacts *f = s->l->info[i].facts;
        for (int r = 0; r < f->nreads; r++) {
            if (f->read[r]->tensor != s->tensor) continue;
            const Affine *sub = f->read[r]->sub[s->dim];
            if (!is_step(sub)) return -1;
            far = max_i64(far, s->hi - iter_hi(&f->s->iter[0]) + 1 - sub->constant);
        }
    }
    return far;
}

// May subscripts of the dimension have a remainder? A step computes many elements, without sums.
static bool allows_remainder(const Steps *s) {
    for (int i = s->first; i < s->end; i++) {
        const StmtFacts *f = s->l->info[i].facts;
        bool uses = f->s->write->tensor == s->tensor;
        for (int r = 0; r < f->nreads; r++) uses |= f->read[r]->tensor == s->tensor;
        bool plain = f->s->op == REDUCE_ASSIGN && !f->has_reduction && f->s->niters > f->s->serial;
        if (uses && !plain) return false;
    }
    return true;
}

static void fold_tensor(Lower *l, int tensor) {
    const Tensor *t = &l->p->tensors.at[tensor];
    for (int d = 0; d < t->rank && !l->fold[tensor].keep; d++) {
        Steps s = {.l = l, .tensor = tensor, .dim = d};
        if (tensor_size(t, d) <= 1 || !find_writes(&s)) continue;
        int64_t far = farthest_read(&s);
        bool remainder = far >= 0 && allows_remainder(&s);
        int64_t most = min_i64(far + 1, remainder ? tensor_size(t, d) - 1 : 2);
        for (int64_t keep = max_i64(far, 1); keep <= most; keep++) {
            if (keep == tensor_size(t, d) || !fits(&s, keep)) continue;
            l->fold[tensor] = (StepFold){d, keep, remainder};
            break;
        }
    }
}

void fold_know(Lower *l) {
    bool serial = false;
    l->fold = arena_new_n(l->arena, StepFold, l->p->tensors.n);
    for (int i = 0; i < l->p->stmts.n && !serial; i++) serial = l->info[i].s->serial;
    for (int t = l->p->ninputs + l->p->noutputs; serial && t < l->p->tensors.n; t++)
        if (!l->at[t]) fold_tensor(l, t);
}

const Access *fold_access(Lower *l, const Access *a) {
    const StepFold *f = &l->fold[a->tensor];
    return f->keep ? kept_at(l, a, f->dim, f->keep) : a;
}

static StmtFacts folded_facts(Lower *l, const StmtFacts *f) {
    StmtFacts out = *f;
    Stmt *s = arena_copy(l->arena, f->s, sizeof *s);
    const Access **read = arena_new_n(l->arena, const Access *, f->nreads);
    s->write = fold_access(l, f->s->write);
    for (int i = 0; i < f->nreads; i++) read[i] = fold_access(l, f->read[i]);
    out.s = s;
    out.read = read;
    return out;
}

const ProgramFacts *schedule_places(Arena *arena, const Program *p) {
    ProgramFacts *facts = program_facts(arena, p);
    int n = p->stmts.n;
    Lower l = {.arena = arena,
               .x = p->exprs,
               .p = p,
               .facts = facts,
               .info = arena_new_n(arena, StmtInfo, n),
               .host = arena_new_n(arena, int, n),
               .at = arena_new_n(arena, const LoopRef *, p->tensors.n)};
    for (int i = 0; i < n; i++) {
        l.info[i] = (StmtInfo){.s = &p->stmts.at[i], .facts = &facts->stmt[i]};
        l.host[i] = -1;
    }
    fold_know(&l);
    for (int i = 0; i < n; i++) facts->stmt[i] = folded_facts(&l, &facts->stmt[i]);
    return facts;
}

// x mod 2 where x is even + b and b has two values.
static const Affine *parity(Lower *l, const Affine *x) {
    Term odd[AFFINE_MAX_TERMS];
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->term[i].coef % 2 || x->term[i].atom->kind != ATOM_ITER) odd[n++] = x->term[i];
    const Affine *r = affine_make(l->x, x->constant, odd, n);
    int64_t min, max;
    if (!affine_bounds(r, l->lo.at, l->hi.at, &min, &max) || max - min > 1) return NULL;
    if (max == min) return affine_const(l->x, floor_mod(min, 2));
    if (floor_mod(min, 2) == 0) return affine_add_const(l->x, r, -min);
    return affine_add_const(l->x, affine_scale(l->x, r, -1), max);
}

const Affine *fold_subscript(Lower *l, int tensor, int dim, const Affine *sub) {
    const StepFold *f = &l->fold[tensor];
    if (!f->keep || f->dim != dim) return NULL;
    if (f->keep == 1) return affine_const(l->x, 0);
    const Affine *linear = f->keep == 2 ? parity(l, sub) : NULL;
    if (linear || !f->remainder) return linear;
    return affine_mod(l->x, sub, affine_const(l->x, f->keep));
}
