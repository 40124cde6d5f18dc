// Pairs of dimensions (d, d + 1) of a tensor and pairs of iterators (a, b) of a statement collapse
// together. Two dimensions may collapse if every access to the tensor has a lone iterator in each
// of them, and these two may collapse; two iterators may, if they subscript neighbouring dimensions
// wherever either of them occurs, and b covers all of its dimension. Both sets start with all
// candidates and lose members until they agree.
#include "sched/flatten.h"

#include <string.h>

#include "base/checked.h"

// A subscript that is one iterator.
typedef struct Seat {
    int stmt, tensor, dim;
    int iter, left, right; // the iterator and those of the neighbouring subscripts; -1: none
} Seat;

typedef struct Flatten {
    Arena *arena;
    const Program *p;
    const Stmt *s;                 // the current statement
    bool alone[PROGRAM_MAX_ITERS]; // its iterators that do not collapse
    VEC(Seat) seats;
    int8_t (*next)[PROGRAM_MAX_ITERS]; // per statement and iterator: the other of a pair; -1: none
    bool (*joins)[PROGRAM_MAX_RANK];   // per tensor and dimension: collapses with the next one
} Flatten;

static int64_t extent(const Iter *i) { return iter_hi(i) - iter_lo(i); }

// The one iterator of a subscript, iterators with one value aside; -1: it is something else.
static int sole(const Stmt *s, const Affine *a) {
    int64_t rest = a->constant, more;
    int found = -1;
    for (int i = 0; i < a->n; i++) {
        const Term *t = &a->term[i];
        if (t->atom->kind != ATOM_ITER) return -1;
        const Iter *iter = &s->iter[t->atom->index];
        if (extent(iter) == 1) {
            if (!checked_mul(t->coef, iter_lo(iter), &more) || !checked_add(rest, more, &rest))
                return -1;
        } else if (found >= 0 || t->coef != 1) {
            return -1;
        } else {
            found = t->atom->index;
        }
    }
    return rest == 0 ? found : -1;
}

// --- Looking -------------------------------------------------------------------------------------

static void leave_alone(Flatten *f, const Affine *a) {
    for (int i = 0; i < f->s->niters && a->has_iter; i++) f->alone[i] |= affine_uses_iter(a, i);
}

static bool covers(const Flatten *f, int iter, int tensor, int dim) {
    const Tensor *t = &f->p->tensors.at[tensor];
    const Iter *i = &f->s->iter[iter];
    return iter_lo(i) == 0 && tensor_origin(t, dim) == 0 && iter_hi(i) == tensor_size(t, dim);
}

static void see_access(void *user, const Access *a, bool guarded) {
    Flatten *f = user;
    (void)guarded;
    int stmt = (int)(f->s - f->p->stmts.at), left = -1, iter = a->rank ? sole(f->s, a->sub[0]) : -1;
    for (int d = 0; d < a->rank; d++) {
        int right = d + 1 < a->rank ? sole(f->s, a->sub[d + 1]) : -1;
        bool pair = iter >= 0 && right >= 0 && covers(f, right, a->tensor, d + 1) &&
                    tensor_origin(&f->p->tensors.at[a->tensor], d) == 0;
        if (!pair) f->joins[a->tensor][d] = false;
        if (iter >= 0) {
            Seat seat = {stmt, a->tensor, d, iter, left, pair ? right : -1};
            vec_push(f->arena, &f->seats, seat);
            if (pair) f->next[stmt][iter] = (int8_t)right;
        } else {
            leave_alone(f, a->sub[d]);
        }
        left = iter, iter = right;
    }
}

static void see_indices(Flatten *f, const Expr *e) {
    if (e->kind == EXPR_INDEX) leave_alone(f, e->index);
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) see_indices(f, e->arg[i]);
}

static void see(Flatten *f, const Stmt *s) {
    int8_t *next = f->next[s - f->p->stmts.at];
    f->s = s;
    memset(f->alone, 0, sizeof f->alone);
    memset(next, -1, sizeof *f->next);
    see_access(f, s->write, false);
    for (int d = 0; d < s->write->rank; d++) affine_visit_accesses(s->write->sub[d], see_access, f);
    expr_visit_accesses(s->value, see_access, f);
    for (int c = 0; c < s->nconstraints; c++) {
        affine_visit_accesses(s->constraint[c], see_access, f);
        leave_alone(f, s->constraint[c]);
    }
    see_indices(f, s->value);
    for (int i = 0; i < s->serial; i++) f->alone[i] = true;
    for (int i = 0; i < s->niters; i++)
        if (next[i] >= 0 && (f->alone[i] || f->alone[next[i]])) next[i] = -1;
}

static bool clear(int8_t *next) {
    bool had = *next >= 0;
    *next = -1;
    return had;
}

// Drops pairs of iterators and dimensions that do not agree; false: all agree.
static bool give_up(Flatten *f) {
    bool changed = false;
    for (int i = 0; i < f->seats.n; i++) {
        const Seat *t = &f->seats.at[i];
        int8_t *next = f->next[t->stmt];
        bool *joins = f->joins[t->tensor];
        bool right = next[t->iter] >= 0 && next[t->iter] == t->right;
        if (joins[t->dim] && !right) joins[t->dim] = false, changed = true;
        if (!joins[t->dim]) changed |= clear(&next[t->iter]);
        for (int a = 0; a < f->p->stmts.at[t->stmt].niters; a++)
            if (next[a] == t->iter && (a != t->left || !joins[t->dim - 1]))
                changed |= clear(&next[a]);
    }
    return changed;
}

// --- Making --------------------------------------------------------------------------------------

static const int *flatten_tensor(Flatten *f, Program *q, int number) {
    const Tensor *from = &f->p->tensors.at[number];
    Tensor *to = &q->tensors.at[number];
    const bool *joins = f->joins[number];
    int *last = arena_new_n(f->arena, int, from->rank + 1);
    to->size = arena_new_n(f->arena, const Affine *, from->rank + 1);
    to->origin = arena_new_n(f->arena, const Affine *, from->rank + 1);
    to->rank = 0;
    for (int d = 0; d < from->rank; d++) {
        int64_t size = tensor_size(from, d);
        to->origin[to->rank] = from->origin[d];
        for (; joins[d]; d++) size *= tensor_size(from, d + 1);
        last[to->rank] = d;
        to->size[to->rank++] = affine_const(q->exprs, size);
    }
    return last;
}

static const Access *flatten_access(void *user, Exprs *x, const Access *a) {
    const Flatten *f = user;
    const Affine *sub[PROGRAM_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < a->rank; d++) {
        sub[rank++] = a->sub[d];
        while (f->joins[a->tensor][d]) d++;
    }
    return rank == a->rank ? a : access_make(x, a->tensor, rank, sub);
}

static bool is_second(const Stmt *s, const int8_t *next, int iter) {
    for (int a = 0; a < s->niters; a++)
        if (next[a] == iter) return true;
    return false;
}

static void flatten_stmt(Flatten *f, Exprs *x, Stmt *s) {
    const Stmt *from = f->s;
    const int8_t *next = f->next[from - f->p->stmts.at];
    const Affine *value[PROGRAM_MAX_ITERS];
    s->iter = arena_new_n(f->arena, Iter, from->niters + 1);
    s->niters = 0;
    for (int i = 0; i < from->niters; i++) {
        Iter iter = from->iter[i];
        bool gone = extent(&iter) == 1 && i >= from->serial;
        if (gone) value[i] = iter.lo;
        if (gone || is_second(from, next, i)) continue;
        value[i] = affine_iter(x, s->niters);
        for (int k = i; next[k] >= 0; k = next[k]) {
            int64_t n = extent(&from->iter[next[k]]);
            value[next[k]] = value[i]; // gone with the subscript that it is
            iter.lo = affine_scale(x, iter.lo, n);
            iter.hi = affine_scale(x, iter.hi, n);
        }
        s->iter[s->niters++] = iter;
    }
    Subst with = {.iters = value, .map = flatten_access, .user = f};
    s->write = access_subst(x, from->write, &with);
    s->value = expr_subst(x, from->value, &with);
    const Affine **c = arena_new_n(f->arena, const Affine *, from->nconstraints + 1);
    for (int i = 0; i < from->nconstraints; i++) c[i] = affine_subst(x, from->constraint[i], &with);
    s->constraint = c;
}

static Flat make(Flatten *f) {
    Program *q = arena_copy(f->arena, f->p, sizeof *f->p);
    const int **last = arena_new_n(f->arena, const int *, q->tensors.n + 1);
    q->arena = f->arena;
    q->tensors.at =
        arena_copy(f->arena, q->tensors.at, (size_t)q->tensors.n * sizeof *q->tensors.at);
    q->tensors.cap = q->tensors.n;
    q->stmts.at = arena_copy(f->arena, q->stmts.at, (size_t)q->stmts.n * sizeof *q->stmts.at);
    q->stmts.cap = q->stmts.n;
    for (int i = 0; i < q->tensors.n; i++) last[i] = flatten_tensor(f, q, i);
    for (int i = 0; i < q->stmts.n; i++) {
        f->s = &f->p->stmts.at[i];
        flatten_stmt(f, q->exprs, &q->stmts.at[i]);
    }
    return (Flat){q, last};
}

Flat program_flatten(Arena *arena, const Program *p) {
    Flatten f = {.arena = arena, .p = p};
    f.next = arena_alloc(arena, (size_t)(p->stmts.n + 1) * sizeof *f.next);
    f.joins = arena_alloc(arena, (size_t)(p->tensors.n + 1) * sizeof *f.joins);
    bool *used = arena_new_n(arena, bool, p->tensors.n + 1), some = false;
    for (int i = 0; i < p->tensors.n; i++)
        for (int d = 0; d < PROGRAM_MAX_RANK; d++)
            f.joins[i][d] = d + 1 < p->tensors.at[i].rank && tensor_size(&p->tensors.at[i], d) > 0;
    for (int i = 0; i < p->stmts.n; i++) see(&f, &p->stmts.at[i]);
    for (int i = 0; i < f.seats.n; i++) used[f.seats.at[i].tensor] = true;
    for (int i = 0; i < p->tensors.n; i++)
        if (!used[i]) memset(f.joins[i], 0, sizeof f.joins[i]);
    while (give_up(&f)) {}
    for (int i = 0; i < p->tensors.n; i++)
        for (int d = 0; d < p->tensors.at[i].rank; d++) some |= f.joins[i][d];
    return some ? make(&f) : (Flat){p, NULL};
}

// --- Strides -------------------------------------------------------------------------------------

bool flat_fits(const Flat *f, const Program *given, const int64_t *const *stride) {
    for (int i = 0; f->last && stride && i < given->ninputs + given->noutputs; i++) {
        const Tensor *t = &given->tensors.at[i];
        const int *last = f->last[i];
        for (int d = 0; stride[i] && d + 1 < t->rank; d++) {
            if (d == *last)
                last++;
            else if (stride[i][d] != stride[i][d + 1] * tensor_size(t, d + 1))
                return false;
        }
    }
    return true;
}

const int64_t *const *flat_strides(Arena *arena, const Flat *f, const int64_t *const *stride) {
    if (!f->last || !stride) return stride;
    int n = f->p->ninputs + f->p->noutputs;
    const int64_t **out = arena_new_n(arena, const int64_t *, n + 1);
    for (int i = 0; i < n; i++) {
        int rank = f->p->tensors.at[i].rank;
        int64_t *mine = stride[i] ? arena_new_n(arena, int64_t, rank + 1) : NULL;
        for (int d = 0; mine && d < rank; d++) mine[d] = stride[i][f->last[i][d]];
        out[i] = mine;
    }
    return out;
}
