// Converts checked statements to the Program: with conversions to the final types, and temporaries
// for narrow accumulators (tc_emit). Then infers ranges, and replaces placeholders by the inferred
// extents (tc_infer_func).
#include "lang/tc/tc.h"

#include <string.h>

static bool set_types(TcChecker *ck) {
    bool ok = true;
    for (int i = 0; i < ck->tens.n; i++) {
        Ten *t = &ck->tens.at[i];
        if (t->weak) t->type = t->weak == WEAK_INT ? TYPE_I32 : TYPE_F32;
        t->weak = WEAK_NOT;
        if (t->type != TYPE_NONE) continue;
        Diag *d = diag_report(ck->diags, t->range, DIAG_TC_NO_TYPE, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_NO_TYPE_NOTE, t->name);
        ok = false;
    }
    return ok;
}

static bool is_narrow_sum(const TcChecker *ck, const TcWork *w) {
    Type type = ck->tens.at[w->write->tensor].type;
    bool sum = w->op == REDUCE_ADD || w->op == REDUCE_MUL;
    return sum && type != type_compute(type) && (w->niters > w->nlhs || w->meets);
}

// The value that a statement accumulates or assigns, in the type of its tensor. Operands of sums
// are widened before they are multiplied.
static const Expr *final_value(TcChecker *ck, const TcWork *w, Type type) {
    const Expr *e = tc_coerce(ck, w->value, w->value.weak ? type : w->value.e->type);
    bool sum = w->op == REDUCE_ADD || w->op == REDUCE_MUL;
    bool reduces = w->niters > w->nlhs || w->meets;
    return sum && reduces ? tc_widen(ck, e, type) : expr_cast(ck->x, type, e);
}

static void put_stmt(TcChecker *ck, const TcWork *w, const Access *write, Reduce op, bool init,
                     const Expr *value) {
    Stmt *s = program_stmt(ck->p, w->range);
    s->write = write;
    s->op = op;
    s->init = init;
    s->niters = w->niters;
    s->iter = w->iter;
    s->serial = w->serial;
    while (s->joined < w->serial && s->joined < ck->last_serial &&
           ck->last_step[s->joined] == w->step[s->joined])
        s->joined++;
    ck->last_serial = w->serial;
    ck->last_step = w->step;
    s->nconstraints = w->nconstraints;
    s->constraint = w->constraint;
    s->value = value;
    s->hint = w->hint;
    s->call = w->call;
    InferStmt info = {w->nreads, w->reads};
    vec_push(ck->arena, &ck->infos, info);
}

// Iterators over all elements of a tensor.
static Iter *element_iters(TcChecker *ck, const TcWork *w, int tensor, int rank) {
    Iter *all = arena_new_n(ck->arena, Iter, w->serial + rank), *iter = all + w->serial;
    for (int i = 0; i < w->serial; i++) all[i] = w->iter[i];
    for (int d = 0; d < rank; d++) {
        iter[d].name = name_of(ck->names, arena_printf(ck->arena, "d%d", d));
        iter[d].lo = tc_origin(ck, tensor, d);
        iter[d].hi = affine_add(ck->x, iter[d].lo, tc_extent(ck, tensor, d));
    }
    return all;
}

// A sum into a tensor declared f16 or bf16. An f32 temporary over the indices of the left side
// accumulates the sum, and another statement converts it (and adds the old value):
//     O(2*i) += v      O_sum(i) +=! v                            O(2*i) = O(2*i) + O_sum(i)
// If several indices write one element, as in a scatter, the temporary has the shape of O itself:
//     O(I(i)) += v     O_sum(d) = 0    O_sum(I(i)) += v          O(d) = O(d) + O_sum(d)
static void put_narrow_sum(TcChecker *ck, const TcWork *w) {
    const Access *write = w->write;
    bool apart = !w->meets;
    int tensor = write->tensor, rank = apart ? w->nlhs : write->rank;
    Type type = ck->tens.at[tensor].type;
    int temp = tc_temporary(ck, ck->tens.at[tensor].name, "sum", TYPE_F32, rank, w->range);
    const Affine *sub[PROGRAM_MAX_ITERS];
    int steps = apart ? 0 : w->serial;
    for (int d = 0; d < rank; d++) sub[d] = affine_iter(ck->x, steps + d);
    const Access *from = access_make(ck->x, temp, rank, sub);
    const Access *to = apart ? write : access_make(ck->x, tensor, rank, sub);

    TcWork over = {.range = w->range, .niters = steps + rank, .serial = w->serial, .step = w->step};
    if (apart) {
        over.iter = arena_copy(ck->arena, w->iter, (size_t)rank * sizeof(Iter));
    } else {
        const Affine **size = arena_new_n(ck->arena, const Affine *, rank);
        over.iter = element_iters(ck, w, tensor, rank);
        for (int d = 0; d < rank; d++) size[d] = tc_extent(ck, tensor, d);
        ck->tens.at[temp].size = size;
        Value identity = reduce_start(TYPE_F32, w->op == REDUCE_ADD ? REDUCE_ADD : REDUCE_MUL);
        put_stmt(ck, &over, from, REDUCE_ASSIGN, false, expr_const(ck->x, TYPE_F32, identity));
        over.iter = element_iters(ck, w, tensor, rank);
    }
    TcWork sum = *w;
    // Without the last read, of the element itself; the second statement does that.
    sum.nreads -= !w->init;
    put_stmt(ck, &sum, apart ? from : access_make(ck->x, temp, rank, write->sub), w->op, apart,
             final_value(ck, w, TYPE_F32));

    const Expr *value = expr_read(ck->x, TYPE_F32, from);
    InferRead *reads = arena_new_n(ck->arena, InferRead, 2);
    over.reads = reads;
    reads[over.nreads++] = (InferRead){.access = from, .range = w->range};
    if (!w->init) {
        const Expr *old = expr_cast(ck->x, TYPE_F32, expr_read(ck->x, type, to));
        value = expr_binary(ck->x, w->op == REDUCE_ADD ? OP_ADD : OP_MUL, old, value);
        reads[over.nreads++] = (InferRead){.access = to, .range = w->write_range};
    }
    put_stmt(ck, &over, to, REDUCE_ASSIGN, false, expr_cast(ck->x, type, value));
}

static void put_tensors(TcChecker *ck) {
    for (int i = 0; i < ck->tens.n; i++) {
        const Ten *t = &ck->tens.at[i];
        int rank = t->rank < 0 ? 0 : t->rank;
        int n = program_tensor(ck->p, t->name, t->type, t->role, rank, t->size);
        ck->p->tensors.at[n].range = t->range;
    }
}

// --- Placeholders --------------------------------------------------------------------------------

typedef struct Extents {
    TcChecker *ck;
    const Affine **param; // per parameter: its replacement; NULL: keep it
    uint8_t *state;       // per placeholder: 0 new, 1 being resolved, 2 done
} Extents;

static const Affine *put_in(Extents *x, const Affine *a) {
    return a->has_param ? affine_substitute(x->ck->x, a, NULL, x->param) : a;
}

static bool resolve(Extents *x, int k, int depth);

// Resolves the placeholders that occur in an extent.
static bool resolve_inside(Extents *x, const Affine *a, int depth) {
    if (!a->has_param) return true;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_PARAM && t->index >= x->ck->nreal &&
            !resolve(x, t->index - x->ck->nreal, depth + 1))
            return false;
        if (t->a && !resolve_inside(x, t->a, depth)) return false;
        if (t->b && !resolve_inside(x, t->b, depth)) return false;
    }
    return true;
}

// Finds the extent of a placeholder, in terms without placeholders; false if it depends on itself.
static bool resolve(Extents *x, int k, int depth) {
    TcChecker *ck = x->ck;
    const InferExtent *s = &ck->standins.at[k];
    if (x->state[k] == 2) return true;
    const Tensor *t = &ck->p->tensors.at[s->tensor];
    if (x->state[k] == 1 || depth > PROGRAM_MAX_STMTS) {
        Diag *d = diag_report(ck->diags, t->range, DIAG_TC_SIZE_CIRCLE, t->name);
        diag_note(ck->diags, d, (Range){0, 0}, DIAG_TC_SIZE_CIRCLE_NOTE);
        return false;
    }
    x->state[k] = 1;
    const Affine *a = s->origin ? t->origin[s->dim] : t->size[s->dim];
    if (!resolve_inside(x, a, depth)) return false;
    x->param[ck->nreal + k] = put_in(x, a);
    x->state[k] = 2;
    return true;
}

static void put_in_stmt(Extents *x, Stmt *s) {
    Exprs *e = x->ck->x;
    s->write = access_substitute(e, s->write, NULL, x->param, NULL, NULL);
    s->value = expr_substitute(e, s->value, NULL, x->param, NULL, NULL);
    for (int i = 0; i < s->niters; i++) {
        s->iter[i].lo = put_in(x, s->iter[i].lo);
        s->iter[i].hi = put_in(x, s->iter[i].hi);
    }
    for (int i = 0; i < s->nconstraints; i++) s->constraint[i] = put_in(x, s->constraint[i]);
}

static bool put_extents(TcChecker *ck) {
    Program *p = ck->p;
    Extents x = {ck, arena_new_n(ck->arena, const Affine *, p->params.n),
                 arena_new_n(ck->arena, uint8_t, ck->standins.n)};
    for (int k = 0; k < ck->standins.n; k++)
        if (!resolve(&x, k, 0)) return false;
    for (int i = 0; i < p->stmts.n; i++) put_in_stmt(&x, &p->stmts.at[i]);
    for (int i = 0; i < p->tensors.n; i++)
        for (int d = 0; d < p->tensors.at[i].rank; d++) {
            Tensor *t = &p->tensors.at[i];
            t->size[d] = put_in(&x, t->size[d]);
            t->origin[d] = put_in(&x, t->origin[d]);
        }
    for (int i = 0; i < p->preconditions.n; i++)
        p->preconditions.at[i].what = put_in(&x, p->preconditions.at[i].what);
    p->params.n = ck->nreal;
    return true;
}

static void warn_narrowed(TcChecker *ck, const Require *r, int *warned) {
    if (r->about && r->about == *warned) return;
    *warned = r->about;
    Diag *d = diag_report(ck->diags, r->range, DIAG_BIND_NARROWED, r->why, "",
                          -(long long)r->what->constant, r->what->constant == -1 ? "" : "s");
    diag_note(ck->diags, d, (Range){0, 0}, DIAG_BIND_NARROWED_NOTE);
}

// Drops preconditions that are constants. A false one is an error, or only a warning if it says so.
static bool settle_requires(TcChecker *ck) {
    Program *p = ck->p;
    int n = 0, warned = 0;
    bool ok = true;
    for (int i = 0; i < p->preconditions.n; i++) {
        Require r = p->preconditions.at[i];
        if (!affine_is_const(r.what) || r.what->constant >= 0 || r.warn) continue;
        diag_report(ck->diags, r.range, DIAG_TC_NEVER_HOLDS, r.why);
        ok = false;
    }
    for (int i = 0; i < p->preconditions.n && ok; i++) {
        Require r = p->preconditions.at[i];
        if (!affine_is_const(r.what))
            p->preconditions.at[n++] = r;
        else if (r.what->constant < 0)
            warn_narrowed(ck, &r, &warned);
    }
    p->preconditions.n = n;
    return ok;
}

// Does a padding constraint hold even at the extreme value of every index? It is then dropped. One
// whose extreme value overflows stays: binding reports it.
static bool always_holds(Exprs *x, const Affine *c, const Stmt *s) {
    bool overflow = x->overflow, large = x->too_large, known = true;
    const Affine *least = affine_const(x, c->constant);
    for (int i = 0; i < c->n && known; i++) {
        const Term *t = &c->term[i];
        const Affine *at = NULL;
        if (t->atom->kind == ATOM_PARAM) at = affine_param(x, t->atom->index);
        if (t->atom->kind == ATOM_ITER && t->coef > 0) at = s->iter[t->atom->index].lo;
        if (t->atom->kind == ATOM_ITER && t->coef < 0)
            at = affine_add_const(x, s->iter[t->atom->index].hi, -1);
        known = at != NULL;
        if (at) least = affine_add(x, least, affine_scale(x, at, t->coef));
    }
    known &= x->overflow == overflow && x->too_large == large;
    x->overflow = overflow;
    x->too_large = large;
    return known && affine_is_const(least) && least->constant >= 0;
}

static void drop_constraints(Program *p) {
    for (int i = 0; i < p->stmts.n; i++) {
        Stmt *s = &p->stmts.at[i];
        int n = 0;
        for (int c = 0; c < s->nconstraints; c++)
            if (!always_holds(p->exprs, s->constraint[c], s)) s->constraint[n++] = s->constraint[c];
        s->nconstraints = n;
    }
}

bool tc_emit(TcChecker *ck) {
    Program *p = ck->p;
    if (!set_types(ck)) return false;
    for (int i = 0; i < ck->works.n; i++) {
        const TcWork *w = &ck->works.at[i];
        if (is_narrow_sum(ck, w))
            put_narrow_sum(ck, w);
        else
            put_stmt(ck, w, w->write, w->op, w->init,
                     final_value(ck, w, ck->tens.at[w->write->tensor].type));
    }
    put_tensors(ck);
    for (int i = 0; i < ck->preconditions.n; i++)
        vec_push(p->arena, &p->preconditions, ck->preconditions.at[i]);
    return true;
}

bool tc_infer_func(TcChecker *ck) {
    Program *p = ck->p;
    InferExtents extents = {ck->nreal, ck->standins.n, ck->standins.at};
    if (!program_infer(p, ck->infos.at, extents, ck->diags)) return false;
    if (ck->standins.n && !put_extents(ck)) return false;
    drop_constraints(p);
    tc_find_old_content(ck);
    return settle_requires(ck) && program_finish(p, ck->diags);
}
