// Parts of a Schedule that change statements, applied before any loop exists. Each rewrite adds
// temporaries and statements with labels of their own, which the rest of the lowering and the
// Schedule treat like any others:
//
//     C: inline          T[i] = f(i);  .. T[g] ..     ->  .. f(g) ..
//     C: copy A          C[..] += A[2*i, ..] * ..     ->  C.A[x, y] = A[2*x, y];
//                                                         C[..] += C.A[i, ..] * ..
//     C: copy A as f32   C[..] += f32(A[..]) * ..     ->  C.A[x, y] = f32(A[x, y]);
//                                                         C[..] += C.A[..] * ..
//     C: privatise k/64  C[m] += v(m, k)              ->  C.part[m, p] +=! v(m, 64*p + k);
//                                                         C[m] += C.part[m, p]
//     (always)           T[i] += T[i] * v(i, k)       ->  T.old[i] = T[i];
//                                                         T[i] += T.old[i] * v(i, k)
//
// The last one keeps "all reads happen before any write" where several iterations write an element
// that the statement reads.
#include "sched/rewrite.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "sched/lower.h"

typedef struct Rewrite {
    Arena *arena;
    Exprs *x;
    const Program *given;
    Program *p;
    const Schedule *s;
    VEC(const SchedStmt *) sched; // per statement; NULL: none
    VEC(Name) idle;               // labels of copies that nothing reads after inlining
    DiagList *diags;
    bool failed;
    Numbers taken; // names of tensors and labels, filled when the first new one is made
} Rewrite;

static void fault(Rewrite *r, Range range, DiagId id, const char *a, const char *b) {
    diag_report(r->diags, range, id, a, b);
    r->failed = true;
}

// --- Adding and removing -----------------------------------------------------------------------

static Name fresh_label(Rewrite *r, const char *a, const char *b) {
    const char *text = arena_printf(r->arena, "%s.%s", a, b);
    if (!r->taken.arena) {
        r->taken.arena = r->arena;
        for (int i = 0; i < r->p->tensors.n; i++)
            numbers_put(&r->taken, r->p->tensors.at[i].name, i);
        for (int i = 0; i < r->p->stmts.n; i++) numbers_put(&r->taken, r->p->stmts.at[i].label, i);
    }
    Name n = name_of(r->p->names, text);
    while (numbers_get(&r->taken, n) >= 0)
        n = name_of(r->p->names, text = arena_printf(r->arena, "%s_", text));
    numbers_put(&r->taken, n, 0);
    return n;
}

// A temporary like tensor t, with `more` further dimensions that the caller fills in.
static int temp_like(Rewrite *r, int t, Name name, int more) {
    Tensor like = r->p->tensors.at[t];
    int rank = like.rank + more;
    const Affine **size = arena_new_n(r->arena, const Affine *, rank);
    const Affine **origin = arena_new_n(r->arena, const Affine *, rank);
    for (int d = 0; d < like.rank; d++) size[d] = like.size[d], origin[d] = like.origin[d];
    like.name = name;
    like.role = ROLE_TEMP;
    like.rank = rank;
    like.size = size;
    like.origin = origin;
    vec_push(r->arena, &r->p->tensors, like);
    return r->p->tensors.n - 1;
}

// A statement with serial iterators joins the steps of the statement that follows it.
static void insert_stmt(Rewrite *r, int at, Stmt s, const SchedStmt *sched) {
    if (s.serial) {
        s.joined = r->p->stmts.at[at].joined;
        r->p->stmts.at[at].joined = s.serial;
    }
    vec_push(r->arena, &r->p->stmts, s);
    vec_push(r->arena, &r->sched, sched);
    Stmt *stmts = r->p->stmts.at;
    for (int i = r->p->stmts.n - 1; i > at; i--) {
        stmts[i] = stmts[i - 1];
        r->sched.at[i] = r->sched.at[i - 1];
    }
    stmts[at] = s;
    r->sched.at[at] = sched;
}

static void remove_stmt(Rewrite *r, int at) {
    for (int i = at; i + 1 < r->p->stmts.n; i++) {
        r->p->stmts.at[i] = r->p->stmts.at[i + 1];
        r->sched.at[i] = r->sched.at[i + 1];
    }
    r->p->stmts.n--;
    r->sched.n--;
}

// --- Reading from another tensor ---------------------------------------------------------------

// A statement reads elements of a tensor at first + step*x only, in each dimension.
typedef struct StepLattice {
    int64_t step[PROGRAM_MAX_RANK], first[PROGRAM_MAX_RANK];
} StepLattice;

// *first is the subscript with its iterators of one value substituted and the others left out; the
// result divides the steps of all others (0: there are none).
static int64_t subscript_step(const Stmt *s, const Affine *sub, int64_t *first) {
    int64_t step = 0;
    *first = sub->constant;
    for (int i = 0; i < sub->n; i++) {
        const Term *t = &sub->term[i];
        if (t->atom->kind != ATOM_ITER) return 1;
        const Iter *iter = &s->iter[t->atom->index];
        if (iter_extent(iter) != 1)
            step = gcd_i64(step, t->coef);
        else if (!checked_fma(t->coef, iter_lo(iter), first))
            return 1;
    }
    return step;
}

typedef struct WriteSteps {
    const Stmt *s;
    int tensor;
    bool seen;
    StepLattice at;
} WriteSteps;

static void see_steps(void *user, const Access *a, bool guarded) {
    WriteSteps *t = user;
    (void)guarded;
    if (a->tensor != t->tensor) return;
    for (int d = 0; d < a->rank; d++) {
        int64_t first, apart = 0, step = subscript_step(t->s, a->sub[d], &first);
        if (!t->seen) t->at.step[d] = step, t->at.first[d] = first;
        if (!checked_sub(first, t->at.first[d], &apart)) apart = 1;
        t->at.step[d] = gcd_i64(gcd_i64(t->at.step[d], step), apart);
    }
    t->seen = true;
}

static StepLattice lattice_of(const Rewrite *r, const Stmt *s, int tensor) {
    WriteSteps t = {.s = s, .tensor = tensor};
    stmt_visit_reads(s, see_steps, &t);
    for (int d = 0; d < r->p->tensors.at[tensor].rank; d++) {
        t.at.step[d] = max_i64(t.at.step[d], 1);
        t.at.first[d] = floor_mod(t.at.first[d], t.at.step[d]);
    }
    return t.at;
}

typedef struct Redirect {
    int from, to;
    const Stmt *s;
    const StepLattice *at; // NULL: all elements
    int steps;             // serial iterators that are further dimensions of `to`
} Redirect;

// (sub - first)/step, an exact division.
static const Affine *lattice_place(Exprs *x, const Redirect *r, const Affine *sub, int d) {
    int64_t step = r->at->step[d], first;
    if (step == 1) return sub;
    subscript_step(r->s, sub, &first);
    const Affine *place = affine_const(x, floor_div(first - r->at->first[d], step));
    for (int i = 0; i < sub->n; i++) {
        int iter = sub->term[i].atom->index;
        if (iter_extent(&r->s->iter[iter]) == 1) continue;
        const Affine *term = affine_scale(x, affine_iter(x, iter), sub->term[i].coef / step);
        place = affine_add(x, place, term);
    }
    return place;
}

static const Access *redirect(void *user, Exprs *x, const Access *a) {
    const Redirect *r = user;
    const Affine *sub[PROGRAM_MAX_RANK];
    if (a->tensor != r->from) return a;
    for (int d = 0; d < a->rank; d++)
        sub[d] = r->at ? lattice_place(x, r, a->sub[d], d) : a->sub[d];
    for (int i = 0; i < r->steps; i++) sub[a->rank + i] = affine_iter(x, i);
    return access_make(x, r->to, a->rank + r->steps, sub);
}

static void redirect_reads(Rewrite *r, Stmt *s, int from, int to, const StepLattice *at,
                           int steps) {
    Redirect d = {from, to, s, at, steps};
    Subst with = {.map = redirect, .user = &d};
    s->value = expr_subst(r->x, s->value, &with);
    const Affine **sub = arena_new_n(r->arena, const Affine *, s->write->rank);
    for (int k = 0; k < s->write->rank; k++) sub[k] = affine_subst(r->x, s->write->sub[k], &with);
    s->write = access_make(r->x, s->write->tensor, s->write->rank, sub);
    const Affine **c = arena_new_n(r->arena, const Affine *, s->nconstraints);
    for (int k = 0; k < s->nconstraints; k++) c[k] = affine_subst(r->x, s->constraint[k], &with);
    s->constraint = c;
}

// Is it the label of a statement, or that of its partial results, `C.part`?
static bool is_label_of(Name label, const Stmt *s) {
    size_t n = strlen(s->label);
    return label == s->label || (!strncmp(label, s->label, n) && !strncmp(label + n, ".part", 5));
}

bool statement_reads(const Program *p, Name label, Name tensor) {
    int t = program_find_tensor(p, tensor);
    for (int i = 0; t >= 0 && i < p->stmts.n; i++)
        if (is_label_of(label, &p->stmts.at[i])) return stmt_first_read(&p->stmts.at[i], t) != NULL;
    return false;
}

// --- Copies ------------------------------------------------------------------------------------

void schedule_copy_iters(Arena *arena, Names *names, const Stmt *s, const Access *read,
                         Name *name) {
    for (int d = 0; d < read->rank; d++) {
        const Affine *sub = read->sub[d];
        bool alone = sub->n == 1 && sub->term[0].atom->kind == ATOM_ITER &&
                     sub->term[0].atom->index >= s->serial;
        name[d] = alone ? s->iter[sub->term[0].atom->index].name : NULL;
        for (int i = 0; i < d; i++) alone &= name[i] != name[d];
        if (!alone) name[d] = name_of(names, arena_printf(arena, "d%d", d));
    }
}

// Replaces reads of a tensor of type `was` by reads of its copy of the wider type `as`. Conversions
// to another type convert from the wider type, which has the same values.
static const Expr *read_as(Exprs *x, const Expr *e, int tensor, Type was, Type as) {
    bool cast = e->kind == EXPR_OP && e->op == OP_CAST;
    const Expr *read = cast ? e->arg[0] : e, *arg[4];
    if (read->kind == EXPR_READ && read->access->tensor == tensor)
        return expr_cast(x, cast ? e->type : was, expr_read(x, as, read->access));
    if (e->kind != EXPR_OP) return e;
    bool same = true;
    for (int i = 0; i < e->n; i++) {
        arg[i] = read_as(x, e->arg[i], tensor, was, as);
        same &= arg[i] == e->arg[i];
    }
    return same ? e : expr_op(x, e->op, e->type, e->n, arg);
}

// *to is the type that all reads are converted to; TYPE_NONE: no read so far; -1: they differ.
static void see_casts(const Expr *e, int tensor, int *to) {
    bool cast = e->kind == EXPR_OP && e->op == OP_CAST;
    const Expr *read = cast ? e->arg[0] : e;
    if (read->kind != EXPR_READ) {
        for (int i = 0; i < e->n; i++) see_casts(e->arg[i], tensor, to);
    } else if (read->access->tensor == tensor) {
        bool same = cast && (*to == TYPE_NONE || *to == (int)e->type);
        *to = same ? (int)e->type : -1;
    }
}

Type copy_type(const Stmt *s, int tensor, Type from) {
    int to = TYPE_NONE;
    if (type_info[from].bits >= 32) return TYPE_NONE;
    see_casts(s->value, tensor, &to);
    return to > 0 && type_widens(from, (Type)to) ? (Type)to : TYPE_NONE;
}

bool stmt_adds_products(const Program *p, const Stmt *s, Type factor[2]) {
    Type sum = p->tensors.at[s->write->tensor].type;
    const Expr *e = s->value;
    if (s->op != REDUCE_ADD || (sum != TYPE_I32 && sum != TYPE_U32)) return false;
    if (e->kind != EXPR_OP || e->op != OP_MUL) return false;
    for (int i = 0; i < 2; i++) {
        const Expr *cast = e->arg[i];
        if (cast->kind != EXPR_OP || cast->op != OP_CAST || type_info[cast->type].bits != 32)
            return false;
        if (cast->arg[0]->kind != EXPR_READ) return false;
        factor[i] = p->tensors.at[cast->arg[0]->access->tensor].type;
    }
    return true;
}

// to[x, y, ...] = from[x, y, ...] for the whole of `to`, or from[first + step*x, ...] on a lattice,
// once in every step of the first `serial` iterators. These may be further dimensions of `to`.
static Stmt copy_stmt(Rewrite *r, const Stmt *reader, const Access *read, int from, int to,
                      const StepLattice *at, int serial) {
    const Tensor *t = &r->p->tensors.at[to];
    int rank = r->p->tensors.at[from].rank;
    Stmt c = {.label = t->name, .niters = rank + serial, .serial = serial, .range = reader->range};
    const Affine *sub[PROGRAM_MAX_RANK], *place[PROGRAM_MAX_RANK];
    Name name[PROGRAM_MAX_RANK];
    schedule_copy_iters(r->arena, r->p->names, reader, read, name);
    c.iter = arena_new_n(r->arena, Iter, c.niters);
    for (int i = 0; i < serial; i++) c.iter[i] = reader->iter[i];
    for (int d = 0; d < rank; d++) {
        Iter *iter = &c.iter[serial + d];
        *iter = (Iter){.name = name[d], .lo = t->origin[d]};
        iter->hi = affine_add(r->x, t->origin[d], t->size[d]);
        place[d] = sub[d] = affine_iter(r->x, serial + d);
        if (at)
            place[d] =
                affine_add_const(r->x, affine_scale(r->x, sub[d], at->step[d]), at->first[d]);
    }
    for (int d = rank; d < t->rank; d++) sub[d] = affine_iter(r->x, d - rank);
    c.write = access_make(r->x, to, t->rank, sub);
    Type type = r->p->tensors.at[from].type;
    c.value = expr_read(r->x, type, access_make(r->x, from, rank, place));
    c.value = expr_cast(r->x, r->p->tensors.at[to].type, c.value);
    return c;
}

// Gives a copy room for the elements of the lattice only.
static void keep_lattice(Rewrite *r, int from, int to, const StepLattice *at) {
    const Tensor *was = &r->p->tensors.at[from];
    Tensor *t = &r->p->tensors.at[to];
    for (int d = 0; d < was->rank; d++) {
        int64_t step = at->step[d], before = tensor_origin(was, d) - at->first[d];
        if (step == 1) continue;
        int64_t lo = ceil_div(before, step), hi = ceil_div(before + tensor_size(was, d), step);
        t->origin[d] = affine_const(r->x, lo);
        t->size[d] = affine_const(r->x, max_i64(hi - lo, 0));
    }
}

// A copy without an order of its own runs in the order of its layout, and so writes contiguously.
static void order_by_layout(Rewrite *r, SchedStmt *s, const Stmt *copy) {
    SchedLoop *loop = arena_new_n(r->arena, SchedLoop, s->storage.ndims + copy->niters);
    bool seen[PROGRAM_MAX_ITERS] = {false};
    int n = copy->niters; // loops of dimensions that the layout omits come first
    for (int i = 0; i < copy->serial; i++) seen[i] = true;
    for (int i = 0; i < s->storage.ndims; i++) {
        const LayoutDim *dim = &s->storage.dim[i];
        int d = dim->dim[0] >= '0' && dim->dim[0] <= '9' && !dim->dim[1] ? dim->dim[0] - '0' : -1;
        if (d >= 0) d += copy->serial;
        Name iter = d >= 0 && d < copy->niters ? copy->iter[d].name : dim->dim;
        for (int k = 0; k < copy->niters; k++) seen[k] |= copy->iter[k].name == iter;
        loop[n++] = (SchedLoop){.iter = iter, .step = dim->block, .range = dim->range};
    }
    int from = copy->niters;
    for (int k = copy->niters - 1; k >= 0; k--)
        if (!seen[k]) loop[--from] = (SchedLoop){.iter = copy->iter[k].name, .step = 1};
    s->loop = loop + from;
    s->nloops = n - from;
}

// The section of a copy: the order that the Schedule gives it, and the place its reader gives it.
// It loads as its reader would.
static const SchedStmt *copy_sched(Rewrite *r, const Stmt *copy, const SchedStmt *reader,
                                   const SchedCopy *how) {
    const SchedStmt *given = schedule_find(r->s, copy->label);
    SchedStmt *s = arena_new(r->arena, SchedStmt);
    if (given) *s = *given;
    if (given && (given->at.iter || given->ncaches || storage_is_said(&given->storage)))
        fault(r, given->range, DIAG_SCHEDULE_COPY_SECTION, copy->label, NULL);
    if (!given) *s = (SchedStmt){.label = copy->label, .range = how->range, .stage = -1};
    s->at = how->at;
    if (!s->at.iter) s->stage = 0; // it must not share loops with its reader
    s->storage = how->storage;
    for (int i = 0; i < reader->ncaches; i++)
        if (reader->cache[i].tensor == how->tensor) s->cache = &reader->cache[i], s->ncaches = 1;
    if (!s->nloops) order_by_layout(r, s, copy);
    return s;
}

static bool writes(const Stmt *s, int tensor) { return s->write->tensor == tensor; }

// The number of outer steps of statement i in which the tensor changes; inside each it keeps its
// elements. 0: the steps of the group do not write it.
static int changing_steps(const Rewrite *r, int i, int tensor) {
    int steps = 0;
    if (!r->p->stmts.at[i].serial) return 0;
    for (int k = group_first(r->p, i); k < group_end(r->p, i); k++)
        if (writes(&r->p->stmts.at[k], tensor))
            steps = (int)max_i64(steps, stmts_common(r->p, (int)min_i64(i, k), (int)max_i64(i, k)));
    return steps;
}

// The first of the statements that share more than so many steps with statement i.
static int first_inside(const Rewrite *r, int i, int steps) {
    int first = i;
    while (first > 0 && stmts_common(r->p, first - 1, i) > steps) first--;
    return first;
}

// The temporary of a copy, and for a tensor that outer steps of its reader change, one for each.
static int copy_tensor(Rewrite *r, int from, Name name, const Stmt *reader, int steps) {
    int to = temp_like(r, from, name, steps);
    Tensor *t = &r->p->tensors.at[to];
    for (int i = 0; i < steps; i++) {
        int d = t->rank - steps + i;
        t->origin[d] = reader->iter[i].lo;
        t->size[d] = affine_sub(r->x, reader->iter[i].hi, reader->iter[i].lo);
    }
    return to;
}

// Makes the copies of statement number i; returns its new number. A tensor is copied in front of
// the steps that do not change it.
static int make_copies(Rewrite *r, int i) {
    const SchedStmt *sched = r->sched.at[i];
    for (int k = 0; sched && k < sched->ncopies && !r->failed; k++) {
        const SchedCopy *how = &sched->copy[k];
        const Stmt *s = &r->p->stmts.at[i];
        int from = program_find_tensor(r->p, how->tensor);
        const Access *read = from < 0 ? NULL : stmt_first_read(s, from);
        if (!read && statement_reads(r->given, s->label, how->tensor)) {
            vec_push(r->arena, &r->idle, fresh_label(r, s->label, how->tensor));
            continue;
        }
        int steps = read ? changing_steps(r, i, from) : 0;
        bool fits = !steps || (how->at.iter && read->rank + steps <= PROGRAM_MAX_RANK);
        if (!read || (writes(s, from) && !steps) || !fits) {
            DiagId id = read ? DIAG_SCHEDULE_COPY_WRITTEN : DIAG_SCHEDULE_COPY_UNREAD;
            Diag *d = diag_report(r->diags, how->range, id, how->tensor, s->label);
            suggest_tensor(r->diags, d, how->tensor, r->p);
            r->failed = true;
            return i;
        }
        Type was = r->p->tensors.at[from].type;
        if (how->as && how->as != was && !type_widens(was, how->as)) {
            diag_report(r->diags, how->range, DIAG_SCHEDULE_COPY_TYPE, how->tensor,
                        type_info[how->as].name, type_info[was].name);
            r->failed = true;
            return i;
        }
        int to = copy_tensor(r, from, fresh_label(r, s->label, how->tensor), s, steps);
        if (how->as) r->p->tensors.at[to].type = how->as;
        StepLattice at = lattice_of(r, s, from);
        keep_lattice(r, from, to, &at);
        Stmt c = copy_stmt(r, s, read, from, to, &at, steps), *reader = &r->p->stmts.at[i];
        redirect_reads(r, reader, from, to, &at, steps);
        if (how->as) reader->value = read_as(r->x, reader->value, to, was, how->as);
        insert_stmt(r, first_inside(r, i, steps), c, copy_sched(r, &c, sched, how));
        i++;
    }
    return i;
}

// --- Snapshots ---------------------------------------------------------------------------------

// The section of the snapshot: its own, or one with the priority of its reader.
static const SchedStmt *snapshot_sched(Rewrite *r, Name label, const SchedStmt *reader) {
    const SchedStmt *own = schedule_find(r->s, label);
    if (own || !reader || !reader->priority) return own;
    SchedStmt *s = arena_new(r->arena, SchedStmt);
    *s = (SchedStmt){
        .label = label, .stage = -1, .storage.home = HOME_AUTO, .priority = reader->priority};
    return s;
}

static int make_snapshot(Rewrite *r, int i) {
    Stmt *s = &r->p->stmts.at[i];
    if (!stmt_needs_snapshot(s)) return i;
    int from = s->write->tensor;
    const Access *read = stmt_first_read(s, from);
    int to = temp_like(r, from, fresh_label(r, s->label, "old"), 0);
    Stmt c = copy_stmt(r, s, read, from, to, NULL, s->serial);
    redirect_reads(r, s, from, to, NULL, 0);
    insert_stmt(r, i, c, snapshot_sched(r, c.label, r->sched.at[i]));
    return i + 1;
}

// --- Partial results ---------------------------------------------------------------------------

// The statement that computes partial results: iterator k becomes (p, k), p the number of the part.
static Stmt partial_stmt(Rewrite *r, const Stmt *s, int k, const LoopRef *how, int to, Iter *p) {
    const Affine *value[PROGRAM_MAX_ITERS], *sub[PROGRAM_MAX_RANK];
    int64_t n = iter_hi(&s->iter[k]) - iter_lo(&s->iter[k]),
            step = min_i64(how->step, max_i64(n, 1));
    int64_t parts = ceil_div(max_i64(n, 0), step);
    Stmt c = *s;
    c.label = r->p->tensors.at[to].name;
    c.init = true;
    c.post = false;
    c.niters = s->niters + 1;
    c.iter = arena_new_n(r->arena, Iter, c.niters);
    memcpy(c.iter, s->iter, (size_t)s->niters * sizeof *c.iter);
    *p = (Iter){.name = name_of(r->p->names, arena_printf(r->arena, "%s.p", s->iter[k].name)),
                .lo = affine_const(r->x, 0),
                .hi = affine_const(r->x, parts)};
    c.iter[k].lo = p->lo;
    c.iter[k].hi = affine_const(r->x, step);
    c.iter[s->niters] = *p;
    for (int i = 0; i < s->niters; i++) value[i] = affine_iter(r->x, i);
    const Affine *part = affine_iter(r->x, s->niters), *in = value[k];
    value[k] = how->interleaved ? affine_add(r->x, part, affine_scale(r->x, in, parts))
                                : affine_add(r->x, in, affine_scale(r->x, part, step));
    value[k] = affine_add_const(r->x, value[k], iter_lo(&s->iter[k]));
    c.nconstraints = s->nconstraints + (parts * step != n);
    c.constraint = arena_new_n(r->arena, const Affine *, c.nconstraints);
    for (int i = 0; i < s->nconstraints; i++)
        c.constraint[i] = affine_substitute(r->x, s->constraint[i], value, NULL);
    if (parts * step != n) // the last part ends early
        c.constraint[s->nconstraints] =
            affine_add_const(r->x, affine_scale(r->x, value[k], -1), iter_hi(&s->iter[k]) - 1);
    c.value = expr_substitute(r->x, s->value, value, NULL, NULL, NULL);
    for (int d = 0; d < s->write->rank; d++) sub[d] = s->write->sub[d];
    sub[s->write->rank] = part;
    c.write = access_make(r->x, to, s->write->rank + 1, sub);
    return c;
}

// Makes the statement combine the parts: p replaces all its reduction iterators.
static void combine_parts(Rewrite *r, Stmt *s, int from, Iter p) {
    const Affine *value[PROGRAM_MAX_ITERS], *sub[PROGRAM_MAX_RANK];
    Iter *iter = arena_new_n(r->arena, Iter, s->niters + 1);
    int n = 0;
    for (int i = 0; i < s->niters; i++) {
        value[i] = affine_iter(r->x, n);
        if (!s->iter[i].reduction) iter[n++] = s->iter[i];
    }
    const Affine **constraint = arena_new_n(r->arena, const Affine *, s->nconstraints);
    int kept = 0;
    for (int c = 0; c < s->nconstraints; c++) {
        bool reduced = false;
        for (int i = 0; i < s->niters; i++)
            reduced |= s->iter[i].reduction && affine_uses_iter(s->constraint[c], i);
        if (!reduced) constraint[kept++] = affine_substitute(r->x, s->constraint[c], value, NULL);
    }
    s->write = access_substitute(r->x, s->write, value, NULL, NULL, NULL);
    for (int d = 0; d < s->write->rank; d++) sub[d] = s->write->sub[d];
    sub[s->write->rank] = affine_iter(r->x, n);
    p.reduction = true;
    iter[n++] = p;
    s->iter = iter;
    s->niters = n;
    s->nconstraints = kept; // parts without iterations hold the identity
    s->constraint = constraint;
    Type type = r->p->tensors.at[s->write->tensor].type;
    s->value = expr_read(r->x, type, access_make(r->x, from, s->write->rank + 1, sub));
}

// Does every point of the iterators on the left write inside the tensor, even where constraints
// fail? Partial results are initialised for all points.
static bool writes_inside(const Rewrite *r, const Stmt *s) {
    const Tensor *t = &r->p->tensors.at[s->write->tensor];
    int64_t lo[PROGRAM_MAX_ITERS], hi[PROGRAM_MAX_ITERS], min, max;
    for (int i = 0; i < s->niters; i++) {
        lo[i] = iter_lo(&s->iter[i]);
        hi[i] = max_i64(iter_hi(&s->iter[i]) - 1, lo[i]);
    }
    for (int d = 0; d < s->write->rank; d++)
        if (!affine_bounds(s->write->sub[d], lo, hi, &min, &max) || min < tensor_origin(t, d) ||
            max >= tensor_origin(t, d) + tensor_size(t, d))
            return false;
    return true;
}

static const char *why_no_parts(const Rewrite *r, const Stmt *s, int k) {
    if (s->op == REDUCE_ASSIGN) return "it reduces nothing";
    if (!s->iter[k].reduction)
        return "this iterator stands on the left, so there is nothing to sum up";
    if (s->write->has_read) return "where it writes is only known at run time";
    if (!stmt_is_injective(s)) return "several iterations write one element of the result";
    if (!writes_inside(r, s)) return "only its conditions keep the result inside";
    if (s->write->rank == PROGRAM_MAX_RANK || s->niters == PROGRAM_MAX_ITERS)
        return "it has as many dimensions as there can be";
    return NULL;
}

static int make_parts(Rewrite *r, int i) {
    const SchedStmt *sched = r->sched.at[i];
    if (!sched || !sched->privatise.iter) return i;
    const LoopRef *how = &sched->privatise;
    Stmt *s = &r->p->stmts.at[i];
    int k = stmt_find_iter(s, how->iter);
    const char *why = k < 0 ? NULL : why_no_parts(r, s, k);
    if (k < 0 || why) {
        Diag *d = k < 0 ? diag_report(r->diags, how->range, DIAG_SCHEDULE_UNKNOWN_ITERATOR,
                                      how->iter, s->label)
                        : diag_report(r->diags, how->range, DIAG_SCHEDULE_PRIVATISE, s->label,
                                      how->iter, why);
        if (k < 0) suggest_iter(r->diags, d, how->iter, s);
        r->failed = true;
        return i;
    }
    Iter p;
    int to = temp_like(r, s->write->tensor, fresh_label(r, s->label, "part"), 1);
    s = &r->p->stmts.at[i];
    Stmt c = partial_stmt(r, s, k, how, to, &p);
    Tensor *t = &r->p->tensors.at[to];
    t->origin[t->rank - 1] = p.lo;
    t->size[t->rank - 1] = p.hi;
    combine_parts(r, s, to, p);
    insert_stmt(r, i, c, schedule_find(r->s, c.label));
    return i + 1;
}

// --- Inlining ----------------------------------------------------------------------------------

typedef struct Inline {
    Rewrite *r;
    const Stmt *def;
    bool inside; // a subscript reads the definition, which cannot be replaced
} Inline;

static void find_result(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Inline *in = user;
    in->inside |= a->tensor == in->def->write->tensor;
}

static void find_inside(void *user, const Access *a, bool guarded) {
    (void)guarded;
    for (int d = 0; d < a->rank; d++) affine_visit_accesses(a->sub[d], find_result, user);
}

// The value of the definition for this read.
static const Expr *definition_at(Inline *in, const Access *read) {
    Exprs *x = in->r->x;
    const Affine *value[PROGRAM_MAX_ITERS] = {0};
    const Access *w = in->def->write;
    for (int d = 0; d < w->rank; d++) {
        int i = w->sub[d]->n ? w->sub[d]->term[0].atom->index : -1;
        if (i >= 0 && !value[i]) value[i] = affine_add_const(x, read->sub[d], -w->sub[d]->constant);
    }
    return expr_substitute(x, in->def->value, value, NULL, NULL, NULL);
}

static const Expr *inline_expr(Inline *in, const Expr *e) {
    if (e->kind == EXPR_READ && e->access->tensor == in->def->write->tensor)
        return definition_at(in, e->access);
    if (e->kind == EXPR_INDEX && e->index->has_read) {
        find_inside(in, access_make(in->r->x, 0, 1, &e->index), false);
        return e;
    }
    if (e->kind != EXPR_OP) return e;
    const Expr *arg[4];
    bool same = true;
    for (int i = 0; i < e->n; i++) {
        arg[i] = inline_expr(in, e->arg[i]);
        same &= arg[i] == e->arg[i];
    }
    return same ? e : expr_op(in->r->x, e->op, e->type, e->n, arg);
}

static void find_gather(void *user, const Access *a, bool guarded) {
    (void)guarded;
    *(bool *)user |= a->has_read;
}

bool statement_checks(const Stmt *s) {
    bool gathers = s->unproven || s->write->has_read;
    expr_visit_accesses(s->value, find_gather, &gathers);
    return gathers && !s->unchecked;
}

typedef struct ReaderCover {
    const Stmt *def, *reader;
    bool all;
} ReaderCover;

// Does the access cover the definition: in each dimension another iterator with all its values?
static void find_cover(void *user, const Access *a, bool guarded) {
    ReaderCover *c = user;
    const Access *w = c->def->write;
    uint32_t seen = 0;
    if (guarded || c->all || a->tensor != w->tensor) return;
    for (int d = 0; d < w->rank; d++) {
        const Affine *to = w->sub[d], *from = a->sub[d];
        int i = to->n == 1 && to->linear && to->term[0].coef == 1 ? to->term[0].atom->index : -1;
        int k = from->n == 1 && from->linear && from->term[0].coef == 1 ? from->term[0].atom->index
                                                                        : -1;
        if (to == from && affine_is_const(to)) continue;
        if (i < 0 || k < 0 || seen >> k & 1) return;
        seen |= (uint32_t)1 << k;
        const Iter *x = &c->def->iter[i], *y = &c->reader->iter[k];
        if (iter_lo(y) + from->constant > iter_lo(x) + to->constant ||
            iter_hi(y) + from->constant < iter_hi(x) + to->constant)
            return;
    }
    c->all = true;
}

bool statement_all_read(const Program *p, int def) {
    for (int k = 0; k < p->stmts.n; k++) {
        ReaderCover c = {&p->stmts.at[def], &p->stmts.at[k], false};
        bool runs = k != def && !c.reader->nconstraints && !c.reader->post;
        for (int i = 0; i < c.reader->niters; i++) runs &= iter_extent(&c.reader->iter[i]) > 0;
        if (runs) expr_visit_accesses(c.reader->value, find_cover, &c);
        if (c.all) return true;
    }
    return false;
}

static bool can_inline(const Rewrite *r, int at) {
    const Stmt *s = &r->p->stmts.at[at];
    if (!stmt_is_definition(r->p, s)) return false;
    for (int i = 0; i < r->p->stmts.n; i++)
        if (i != at && writes(&r->p->stmts.at[i], s->write->tensor)) return false;
    return true;
}

// Does a statement up to and including `reader`, or in a step before it, overwrite an operand of
// the definition?
static bool overwritten(const Rewrite *r, int def, int reader) {
    for (int k = def + 1; k < group_end(r->p, reader); k++)
        if (stmt_first_read(&r->p->stmts.at[def], r->p->stmts.at[k].write->tensor)) return true;
    return false;
}

static void inline_into(Rewrite *r, int def, int reader) {
    Stmt *s = &r->p->stmts.at[reader];
    Inline in = {.r = r, .def = &r->p->stmts.at[def]};
    if (!stmt_first_read(s, in.def->write->tensor)) return;
    expr_visit_accesses(s->value, find_inside, &in);
    find_inside(&in, s->write, false);
    for (int c = 0; c < s->nconstraints; c++)
        find_inside(&in, access_make(r->x, 0, 1, &s->constraint[c]), false);
    const Expr *value = inline_expr(&in, s->value);
    // a sum without a multiply-add must not get one: it would round differently
    bool fuses = s->op == REDUCE_ADD && type_is_float(value->type) && value != s->value &&
                 s->value->kind == EXPR_READ && value->kind == EXPR_OP && value->op == OP_MUL;
    if (in.inside || fuses || overwritten(r, def, reader))
        fault(r, r->sched.at[def]->range, DIAG_SCHEDULE_INLINE_READER, in.def->label, s->label);
    if (r->failed) return;
    s->value = value;
    s->unproven |= in.def->unproven;
    if (statement_checks(in.def)) s->unchecked = false;
}

static void make_inlines(Rewrite *r) {
    for (int i = 0; i < r->p->stmts.n && !r->failed; i++) {
        const SchedStmt *sched = r->sched.at[i];
        if (!sched || !sched->inlined) continue;
        if (!can_inline(r, i)) {
            fault(r, sched->range, DIAG_SCHEDULE_INLINE, r->p->stmts.at[i].label, NULL);
            return;
        }
        if (statement_checks(&r->p->stmts.at[i]) && !statement_all_read(r->p, i)) {
            fault(r, sched->range, DIAG_SCHEDULE_CHECKED, r->p->stmts.at[i].label, "inlined");
            return;
        }
        if (sched->nloops || sched->ncopies || sched->at.iter || storage_is_said(&sched->storage))
            diag_report(r->diags, sched->range, DIAG_SCHEDULE_IDLE, "what else is said of it",
                        "with 'inline' it is computed nowhere");
        for (int k = i + 1; k < r->p->stmts.n; k++) inline_into(r, i, k);
        remove_stmt(r, i--);
    }
}

// --- All of it ---------------------------------------------------------------------------------

static bool has_work(const Program *p, const Schedule *s) {
    for (int i = 0; s && i < s->nstmts; i++)
        if (s->stmt[i]->inlined || s->stmt[i]->ncopies || s->stmt[i]->privatise.iter) return true;
    for (int i = 0; i < p->stmts.n; i++)
        if (stmt_needs_snapshot(&p->stmts.at[i])) return true;
    return false;
}

bool schedule_rewrite(Arena *arena, const Program *p, const Schedule *s, DiagList *diags,
                      Rewritten *out) {
    static const Schedule none;
    Rewrite r = {.arena = arena, .x = p->exprs, .given = p, .s = s ? s : &none, .diags = diags};
    Numbers section = {.arena = arena};
    for (int i = 0; i < r.s->nstmts; i++) numbers_put(&section, r.s->stmt[i]->label, i);
    for (int i = 0; i < p->stmts.n; i++) {
        int at = numbers_get(&section, p->stmts.at[i].label);
        vec_push(arena, &r.sched, at < 0 ? NULL : r.s->stmt[at]);
    }
    *out = (Rewritten){.p = p, .sched = r.sched.at};
    if (!has_work(p, s)) return true;
    r.p = arena_copy(arena, p, sizeof *p);
    r.p->stmts.at = arena_copy(arena, p->stmts.at, (size_t)p->stmts.n * sizeof *p->stmts.at);
    r.p->stmts.cap = p->stmts.n;
    r.p->tensors.at =
        arena_copy(arena, p->tensors.at, (size_t)p->tensors.n * sizeof *p->tensors.at);
    r.p->tensors.cap = p->tensors.n;
    r.p->arena = arena;
    make_inlines(&r);
    for (int i = 0; i < r.p->stmts.n && !r.failed; i++) {
        i = make_snapshot(&r, i);
        i = make_copies(&r, i);
        if (!r.failed) i = make_parts(&r, i);
    }
    *out = (Rewritten){r.p, r.sched.at, r.idle.n, r.idle.at};
    return !r.failed;
}
