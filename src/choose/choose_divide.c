// Subscripts that divide an iterator: I(k/9, y + (k/3)%3, x + k%3), K(h/4, m, d), A(i/16, i%16).
//
// Subscripts are linear in the parts of such an iterator, k = 9*a + 3*b + c (program/piece.h
// resolves the quotients, here and in the generator). Therefore
//
//   reductions     are divided into iterators, each with a stride and a window of its own; their
//                  loops are written as k/9, k/3 and k
//   results        of reductions likewise, unless they are contiguous: an operand that depends on
//                  h/4 alone is packed once for four values of h
//   others         get loops over blocks at the end; rows of a tile divide blocks, or blocks rows
//
// Divisors must divide the extent: conditions for a tail would cost more than a quotient.
#include "choose/choose_impl.h"

#include "program/piece.h"

// --- What divides an iterator
// ----------------------------------------------------------------------

typedef struct DivisorSearch {
    int iter, n;
    int64_t by[8];
} DivisorSearch;

static void note(DivisorSearch *s, int64_t by) {
    for (int i = 0; i < s->n; i++)
        if (s->by[i] == by) return;
    if (by > 1 && s->n < 8) s->by[s->n++] = by;
}

// The period of a quotient's numerator: that of k*i + c, or of a quotient or remainder of i.
static void note_period(DivisorSearch *s, const Affine *a, int64_t by) {
    if (a->n != 1) return;
    const Term *t = &a->term[0];
    if (t->atom->kind == ATOM_ITER)
        note(s, by / gcd_i64(t->coef, by));
    else if (t->atom->kind == ATOM_MOD && t->coef == 1)
        note(s, by);
    else if (t->atom->kind == ATOM_DIV && t->coef == 1 && affine_is_const(t->atom->b) &&
             t->atom->b->constant > 0 && t->atom->b->constant < INT32_MAX / by)
        note(s, by * t->atom->b->constant);
}

static void search_affine(DivisorSearch *s, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_ITER || !atom->a || !atom->b) continue;
        search_affine(s, atom->a);
        search_affine(s, atom->b);
        bool divides = atom->kind == ATOM_DIV || atom->kind == ATOM_MOD;
        if (divides && affine_is_const(atom->b) && affine_uses_iter(atom->a, s->iter) &&
            atom->b->constant > 0 && atom->b->constant <= INT32_MAX)
            note_period(s, atom->a, atom->b->constant);
    }
}

static void search_access(void *user, const Access *a, bool guarded) {
    (void)guarded;
    for (int d = 0; d < a->rank; d++) search_affine(user, a->sub[d]);
}

// Divisors of the extent, each a divisor of the one before.
static Divisors divisors_of(const Stmt *s, int iter) {
    DivisorSearch all = {.iter = iter};
    Divisors out = {0};
    int64_t extent = iter_extent(&s->iter[iter]);
    if (iter_lo(&s->iter[iter]) != 0) return out;
    expr_visit_accesses(s->value, search_access, &all);
    for (int64_t most = extent;;) {
        int64_t best = 0;
        for (int i = 0; i < all.n; i++)
            if (all.by[i] < most && most % all.by[i] == 0 && all.by[i] > best) best = all.by[i];
        if (!best || out.n == MAX_DIVISORS) return out;
        most = out.by[out.n++] = best;
    }
}

void see_divisors(ChooseStmt *n) {
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction) n->divisors[i] = divisors_of(n->s, i);
}

// A divisor of one iterator of a tensor's dimension divides all iterators of that dimension: loops
// can still be shared.
typedef struct DimDivisors {
    Divisors of[PROGRAM_MAX_RANK];
} DimDivisors;

// `tensor`: the divisors of each tensor's dimensions.
static void pass_divisors(const Chooser *c, DimDivisors *tensor, ChooseStmt *n) {
    for (int r = 0; r < n->nrefs; r++) {
        const Access *a = n->ref[r].access;
        for (int d = 0; d < a->rank && c->users.writes[a->tensor]; d++) {
            Divisors *dim = &tensor[a->tensor].of[d];
            int i = affine_as_iter(a->sub[d]);
            if (i < 0 || n->s->iter[i].reduction) continue;
            Divisors *own = &n->divisors[i];
            if (!dim->n) *dim = *own;
            if (!own->n && dim->n && iter_lo(&n->s->iter[i]) == 0 && n->extent[i] > dim->by[0] &&
                n->extent[i] % dim->by[0] == 0)
                *own = *dim;
        }
    }
}

void share_divisors(Chooser *c) {
    bool any = false;
    for (int i = 0; i < c->p->stmts.n; i++)
        for (int k = 0; k < c->nest[i].s->niters; k++) any |= c->nest[i].divisors[k].n > 0;
    if (!any) return;
    DimDivisors *tensor = arena_new_n(c->arena, DimDivisors, c->p->tensors.n + 1);
    for (int i = 0; i < c->p->stmts.n; i++) pass_divisors(c, tensor, &c->nest[i]);
    for (int i = c->p->stmts.n - 1; i >= 0; i--) pass_divisors(c, tensor, &c->nest[i]);
}

// --- Linear forms
// ----------------------------------------------------------------------------------

// The access with div and mod replaced by their most common linear piece: ranges decide some
// quotients, and for others the likelier case is assumed.
const Access *likely_access(Exprs *x, const Stmt *s, const Access *a) {
    int64_t least[PROGRAM_MAX_ITERS], most[PROGRAM_MAX_ITERS];
    const Affine *sub[PROGRAM_MAX_RANK];
    if (access_is_linear(a) || a->has_read) return a;
    for (int i = 0; i < s->niters; i++) {
        least[i] = iter_lo(&s->iter[i]);
        most[i] = iter_hi(&s->iter[i]) - 1;
        if (most[i] < least[i]) return a;
    }
    Pieces p = {.x = x, .least = least, .most = most, .apart = -1, .quotients = 3};
    do {
        const Affine *fact = p.open ? piece_likelier(&p, p.open) : NULL;
        if (fact) p.fact[p.nfacts++] = fact;
        p.open = NULL;
        for (int d = 0; d < a->rank; d++) sub[d] = piece_resolve(&p, a->sub[d]);
    } while (p.open && p.nfacts < PIECE_FACTS);
    return access_make(x, a->tensor, a->rank, sub);
}

static const Expr *value_of(Pieces *p, const Expr *e) {
    const Expr *arg[4];
    bool same = true;
    if (e->kind != EXPR_OP) return e;
    for (int i = 0; i < e->n; i++) {
        arg[i] = value_of(p, e->arg[i]);
        same &= arg[i] == e->arg[i];
    }
    return piece_index(p, same ? e : expr_op(p->x, e->op, e->type, e->n, arg));
}

// The value as the generator sees it: operations on indices alone are an index.
const Expr *likely_value(Exprs *x, const Stmt *s, const Expr *e) {
    int64_t least[PROGRAM_MAX_ITERS], most[PROGRAM_MAX_ITERS];
    for (int i = 0; i < s->niters; i++) {
        least[i] = iter_lo(&s->iter[i]);
        most[i] = iter_hi(&s->iter[i]) - 1;
        if (most[i] < least[i]) return e;
    }
    bool before = x->overflow;
    e = value_of(&(Pieces){.x = x, .least = least, .most = most, .apart = -1}, e);
    x->overflow = before;
    return e;
}

// --- Parts
// -----------------------------------------------------------------------------------------

typedef struct Division {
    const Stmt *s;
    int64_t least[PROGRAM_MAX_ITERS], most[PROGRAM_MAX_ITERS];
} Division;

static const Access *resolve(void *user, Exprs *x, const Access *a) {
    const Division *u = user;
    const Affine *sub[PROGRAM_MAX_RANK];
    if (access_is_linear(a) || a->has_read) return a;
    Pieces p = {.x = x, .least = u->least, .most = u->most, .apart = -1};
    for (int d = 0; d < a->rank; d++) sub[d] = piece_resolve(&p, a->sub[d]);
    return access_make(x, a->tensor, a->rank, sub);
}

static void add_part(Chooser *c, Name name, Name iter, int64_t by) {
    IterPart part = {name, iter, by};
    vec_push(c->arena, &c->parts, part);
}

// Divides iterator i into parts, from number `n` on. Returns its value.
static const Affine *split_iter(Chooser *c, Exprs *x, const Iter *iter, const Divisors *d, Iter *to,
                                int n) {
    const Affine *value = affine_const(x, 0);
    int64_t extent = iter_extent(iter);
    for (int k = 0; k <= d->n; k++) {
        int64_t by = k < d->n ? d->by[k] : 1;
        Iter *part = &to[n + k];
        *part = *iter;
        if (by > 1) {
            part->name =
                name_of(c->p->names, arena_printf(c->arena, "%s/%lld", iter->name, (long long)by));
            add_part(c, part->name, iter->name, by);
        }
        part->hi = affine_const(x, extent / by);
        value = affine_add(x, value, affine_scale(x, affine_iter(x, n + k), by));
        extent = by;
    }
    return value;
}

// The statement with the iterators of `which` divided into parts.
static bool divide(Chooser *c, const Stmt *from, uint64_t which, Stmt *s) {
    Exprs *x = c->p->exprs;
    Divisors d[PROGRAM_MAX_ITERS] = {{0}};
    const Affine *value[PROGRAM_MAX_ITERS];
    int n = 0, more = 0;
    if (from->op == REDUCE_ASSIGN || from->write->has_read) return false;
    for (int i = 0; i < from->niters; i++)
        if (which >> i & 1) more += (d[i] = divisors_of(from, i)).n;
    if (!more || from->niters + more > PROGRAM_MAX_ITERS / 2) return false;
    Division u = {.s = s};
    Iter *iter = arena_new_n(c->arena, Iter, from->niters + more);
    for (int i = 0; i < from->niters; i++) {
        value[i] = split_iter(c, x, &from->iter[i], &d[i], iter, n);
        if (!d[i].n) iter[n] = from->iter[i], value[i] = affine_iter(x, n);
        n += d[i].n + 1;
    }
    for (int i = 0; i < n; i++) u.least[i] = iter_lo(&iter[i]), u.most[i] = iter_hi(&iter[i]) - 1;
    Subst with = {.iters = value, .map = resolve, .user = &u};
    s->iter = iter;
    s->niters = n;
    s->write = access_subst(x, from->write, &with);
    s->value = expr_subst(x, from->value, &with);
    const Affine **cond = arena_new_n(c->arena, const Affine *, from->nconstraints + 1);
    for (int i = 0; i < from->nconstraints; i++)
        cond[i] = affine_subst(x, from->constraint[i], &with);
    s->constraint = cond;
    return true;
}

const Program *divide_reductions(Chooser *c) {
    const Program *p = c->p;
    Program *q = NULL;
    for (int i = 0; i < p->stmts.n; i++) {
        Stmt s = p->stmts.at[i];
        uint64_t which = 0;
        for (int k = 0; k < s.niters; k++) which |= (uint64_t)s.iter[k].reduction << k;
        if (!divide(c, &p->stmts.at[i], which, &s)) continue;
        if (!q) {
            q = arena_copy(c->arena, p, sizeof *p);
            q->stmts.at = arena_copy(c->arena, p->stmts.at, (size_t)p->stmts.n * sizeof s);
        }
        q->stmts.at[i] = s;
    }
    return q ? q : p;
}

// Is the iterator the subscript of one dimension of the result, and not contiguous?
static bool steps_alone(const ChooseStmt *n, int i) {
    int dims = 0;
    for (int d = 0; d < n->s->write->rank; d++) {
        const Affine *sub = n->s->write->sub[d];
        if (affine_uses_iter(sub, i)) dims += affine_as_iter(sub) == i ? 1 : 2;
    }
    return dims == 1 && n->ref[0].stride[i] > 1;
}

const Stmt *divide_result(Chooser *c, const ChooseStmt *n) {
    uint64_t which = 0;
    for (int i = 0; i < n->s->niters; i++)
        if (!n->s->iter[i].reduction && !(n->guarded >> i & 1) && steps_alone(n, i))
            which |= (uint64_t)1 << i;
    Stmt *s = arena_copy(c->arena, n->s, sizeof *s);
    return divide(c, n->s, which, s) ? s : NULL;
}

// --- What was chosen, for the iterators that there are
// ----------------------------------------------

static const IterPart *part_of(const Chooser *c, Name name) {
    for (int i = 0; i < c->parts.n; i++)
        if (c->parts.at[i].name == name) return &c->parts.at[i];
    return NULL;
}

bool is_steps(const Chooser *c, const ChooseStmt *n, int i) {
    return c->parts.n && part_of(c, n->s->iter[i].name);
}

bool is_coarse(const Chooser *c, const ChooseStmt *n, int i) {
    return !n->s->iter[i].reduction && is_steps(c, n, i);
}

static void merge_name(const Chooser *c, Name *iter, int64_t *step) {
    const IterPart *part = *iter ? part_of(c, *iter) : NULL;
    if (!part) return;
    *iter = part->iter;
    *step *= part->by;
}

// Loops of one iterator are ordered by their steps, largest outermost.
static void merge_loops(const Chooser *c, SchedLoop *loop, int n) {
    for (int i = 0; i < n; i++) merge_name(c, &loop[i].iter, &loop[i].step);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            if (loop[i].iter != loop[k].iter || loop[i].step >= loop[k].step) continue;
            int64_t step = loop[i].step;
            loop[i].step = loop[k].step;
            loop[k].step = step;
        }
}

// A layout has each block of a dimension once, at its first place.
static void merge_layout(const Chooser *c, Storage *s) {
    LayoutDim *dim = arena_copy(c->arena, s->dim, (size_t)s->ndims * sizeof *dim);
    int n = 0;
    for (int i = 0; i < s->ndims; i++) {
        LayoutDim d = s->dim[i];
        const IterPart *part = part_of(c, d.dim);
        bool seen = false;
        if (part) d.dim = part->iter;
        for (int k = 0; k < n; k++) seen |= dim[k].dim == d.dim && dim[k].block == d.block;
        if (!seen) dim[n++] = d;
    }
    s->dim = dim;
    s->ndims = n;
}

static void merge_fetches(const Chooser *c, SchedStmt *s) {
    SchedPrefetch *fetch =
        arena_copy(c->arena, s->prefetch, (size_t)s->nprefetches * sizeof *fetch);
    for (int i = 0; i < s->nprefetches; i++) merge_name(c, &fetch[i].at.iter, &fetch[i].at.step);
    s->prefetch = fetch;
}

void merge_parts(Chooser *c, ChooseStmt *n) {
    if (!c->parts.n) return;
    merge_loops(c, n->out.loop, n->out.nloops);
    merge_name(c, &n->out.head.at.iter, &n->out.head.at.step);
    for (int i = 0; i < n->out.head.ncopies; i++) {
        merge_name(c, &n->out.copy[i].at.iter, &n->out.copy[i].at.step);
        merge_layout(c, &n->out.copy[i].storage);
        SchedStmt *section = n->out.section[i];
        SchedLoop *loop =
            arena_copy(c->arena, section->loop, (size_t)section->nloops * sizeof *loop);
        merge_loops(c, loop, section->nloops);
        section->loop = loop;
        merge_fetches(c, section);
    }
    merge_fetches(c, &n->out.head);
}

// --- Blocks of the others
// ---------------------------------------------------------------------------

bool goes_up(const ChooseStmt *n, int iter, int64_t rows) {
    const Divisors *d = &n->divisors[iter];
    for (int i = 0; i < d->n; i++)
        if (rows % d->by[i] && d->by[i] % rows) return false;
    return true;
}

// Adds a loop in steps of `by` around loops with smaller steps, unless it exists or runs in lanes.
static void add_level(ChooseStmt *n, int iter, int64_t by) {
    int at = 0;
    while (at < n->out.nloops &&
           (n->out.loop[at].iter != n->s->iter[iter].name || n->out.loop[at].step > by))
        at++;
    if (at == n->out.nloops || n->out.loop[at].step == by || n->out.loop[at].kind == KIND_VECTOR)
        return;
    if (n->out.nloops == MAX_LOOPS) return;
    for (int i = n->out.nloops++; i > at; i--) n->out.loop[i] = n->out.loop[i - 1];
    n->out.loop[at] = (SchedLoop){.iter = n->s->iter[iter].name, .step = by};
    if (n->out.perfect > at) n->out.perfect++;
}

void add_levels(ChooseStmt *n) {
    for (int i = 0; i < n->s->niters; i++)
        for (int k = 0; k < n->divisors[i].n; k++) add_level(n, i, n->divisors[i].by[k]);
}
