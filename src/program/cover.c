// Is every element of a temporary or a result written by earlier statements before it is read?
//
// "Some instance y reads an element that no statement wrote" is decided like a bound. Most reads
// lie in a box of elements that one earlier statement writes whole. Otherwise every writer is
// inverted: the instance x that would write the element which y reads is solved from the
// subscripts, digit by digit, and exists under conditions on y:
//
//     T(8*i + j) = ..   j in 0:8        i = e/8, j = e%8            0 <= e/8 < N
//     T(i, i) = ..                      i = e0                      e1 - e0 = 0,  0 <= e0 < N
//     T(2*i + k) +=! .. k in 0:3        all of 0 ... 2*N            0 <= e <= 2*N
//
// y reads an unwritten element if some condition fails for every writer: a search over the
// conditions, each answered by deps.c. An initialising statement writes for all values of the
// iterators on the left, regardless of constraints. An update without initialisation reads the
// elements that it writes, so it adds none. Writers that cannot be inverted are enumerated, if
// there are few instances.
//
// In a group of statements with serial iterators x must also come before y: in an earlier step, or
// in the same one by a statement further up. That is one clause for each serial iterator in which x
// may be the smaller one, those before being equal:
//
//     for t in 1:T { Y(t) = Y(t - 1) + X(t) }       x = t - 1     x >= 1,  x <= t - 1
//
// Where data decide (a gather, a guard that reads), it is a warning. An undecided case is not
// reported: a warning would be false more often than not.
#include "program/check_impl.h"

#include "base/bug.h"
#include "base/checked.h"

#include <string.h>

enum {
    MAX_ASKED = 300,      // questions about one read
    MAX_MARKED = 1 << 16, // elements, and instances, that enumeration examines
    SAMPLE = 64,          // instances, where there are more
    MAX_READER = PROGRAM_MAX_ITERS + PROGRAM_MAX_RANK,
};

struct Writer {
    const Stmt *st;
    int stmt; // its number
    Writer *next;
    bool whole;                                         // writes every element
    bool boxed;                                         // writes exactly the elements lo ... hi
    int64_t lo[PROGRAM_MAX_RANK], hi[PROGRAM_MAX_RANK]; // inclusive
};

typedef VEC(const Affine *) Conditions; // each >= 0

// The writer's instance exists, and comes first, where all of these hold.
typedef struct Clause {
    const Writer *w;
    int equal; // serial iterators that writer and reader share, with the same values
    bool less; // of the next one, the writer has a smaller value
    bool solved;
    Conditions need;
} Clause;

// The read, its instances, and the element that each reads.
typedef struct Cover {
    Checker *c;
    const Access *read;
    const Guard *guards;
    int n; // iterators of the statement, then one for each gathered subscript: any value
    int64_t lo[MAX_READER], hi[MAX_READER]; // inclusive
    bool gathered;
    const Affine *element[PROGRAM_MAX_RANK];
    Conditions fact;
    int nclauses, asked;
    Clause *clause;
} Cover;

static Exprs *pool(const Checker *c) { return c->p->exprs; }

static const Tensor *tensor_of(const Checker *c, const Access *a) {
    return &c->p->tensors.at[a->tensor];
}

// --- Writers -----------------------------------------------------------------------------------

// The instances that decide which elements are written: for an initialising statement, one for each
// point of the iterators on the left, and for a scatter, which initialises its whole tensor, one.
static Box writer_box(const Stmt *st) {
    Box b = check_stmt_box(st);
    for (int i = 0; i < b.n && st->init; i++)
        if (st->iter[i].reduction || st->write->has_read) b.hi[i] = b.lo[i];
    return b;
}

// Elements as a box: constants, and iterators that are alone in one subscript.
static bool boxed(const Stmt *st, const Box *b, Writer *w) {
    uint32_t seen = 0;
    if (!st->init && st->nconstraints) return false;
    for (int d = 0; d < st->write->rank; d++) {
        const Affine *a = st->write->sub[d];
        if (!a->linear || a->n > 1) return false;
        if (a->n && a->term[0].coef != 1 && a->term[0].coef != -1) return false;
        if (a->n && seen >> a->term[0].atom->index & 1) return false;
        if (a->n) seen |= 1u << a->term[0].atom->index;
        if (!affine_bounds(a, b->lo, b->hi, &w->lo[d], &w->hi[d])) return false;
    }
    return true;
}

bool program_writes_all(const Program *p, int tensor) {
    const Tensor *t = &p->tensors.at[tensor];
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *st = &p->stmts.at[i];
        Box b = writer_box(st);
        Writer w;
        if (st->write->tensor != tensor || (st->op != REDUCE_ASSIGN && !st->init)) continue;
        bool all = st->init && st->write->has_read;
        if (!all && !st->write->has_read && !box_empty(&b) && boxed(st, &b, &w)) {
            all = true;
            for (int d = 0; d < t->rank; d++)
                all &= w.lo[d] <= tensor_origin(t, d) &&
                       w.hi[d] >= tensor_origin(t, d) + tensor_size(t, d) - 1;
        }
        if (all) return true;
    }
    return false;
}

void cover_write(Checker *c, int i) {
    const Stmt *st = &c->p->stmts.at[i];
    const Tensor *t = tensor_of(c, st->write);
    Box b = writer_box(st);
    if ((t->role != ROLE_TEMP && t->role != ROLE_OUTPUT) || box_empty(&b)) return;
    if ((st->op != REDUCE_ASSIGN && !st->init) || (st->write->has_read && !st->init)) return;
    Writer *w = arena_new(c->scratch, Writer);
    w->st = st;
    w->stmt = i;
    w->whole = st->write->has_read;
    w->boxed = !w->whole && boxed(st, &b, w);
    w->next = c->writers[st->write->tensor];
    c->writers[st->write->tensor] = w;
}

// Serial iterators that the current statement shares with a writer.
static int common_steps(const Checker *c, const Writer *w) {
    return w->stmt <= c->stmt ? stmts_common(c->p, w->stmt, c->stmt)
                              : stmts_common(c->p, c->stmt, w->stmt);
}

// --- Whole boxes -------------------------------------------------------------------------------

// The elements that the read may touch: for a gathered subscript, all of them.
static void hull(const Checker *c, const Access *a, const int64_t *lo, const int64_t *hi,
                 int64_t *first, int64_t *last) {
    const Tensor *t = tensor_of(c, a);
    for (int d = 0; d < a->rank; d++) {
        int64_t from = tensor_origin(t, d), to = from + tensor_size(t, d) - 1;
        if (!affine_bounds(a->sub[d], lo, hi, &first[d], &last[d])) first[d] = from, last[d] = to;
        first[d] = max_i64(first[d], from);
        last[d] = min_i64(last[d], to);
    }
}

// Does one writer write all elements that the read may touch in the box?
static bool in_one_box(const Checker *c, const Access *a, const Box *b) {
    int64_t first[PROGRAM_MAX_RANK], last[PROGRAM_MAX_RANK];
    hull(c, a, b->lo, b->hi, first, last);
    for (const Writer *w = c->writers[a->tensor]; w; w = w->next) {
        bool inside = w->boxed;
        if (common_steps(c, w)) continue; // it has run in part
        for (int d = 0; d < a->rank && inside; d++)
            inside = w->lo[d] <= first[d] && last[d] <= w->hi[d];
        if (inside || w->whole) return true;
    }
    return false;
}

// --- Inverting a writer ------------------------------------------------------------------------

// left, in the writer's iterators, is right, in the reader's.
typedef struct Equation {
    const Affine *left, *right;
} Equation;

typedef struct Solve {
    Cover *v;
    Exprs *x;
    const Stmt *st;
    Box box;
    Equation eq[PROGRAM_MAX_RANK];
    int neqs;
    const Affine *value[PROGRAM_MAX_ITERS]; // in the reader's iterators; NULL: not known
    Conditions *need;
} Solve;

static void need(Solve *s, const Affine *a) {
    int64_t min, max;
    if (affine_bounds(a, s->v->lo, s->v->hi, &min, &max) && min >= 0) return;
    vec_push(s->v->c->scratch, s->need, a);
}

static void need_between(Solve *s, const Affine *a, int64_t lo, int64_t hi) {
    need(s, affine_add_const(s->x, a, -lo));
    need(s, affine_add_const(s->x, affine_scale(s->x, a, -1), hi));
}

static void drop(Solve *s, int e) { s->eq[e] = s->eq[--s->neqs]; }

static bool is_known(const Solve *s, const Affine *a) {
    for (int i = 0; i < s->box.n; i++)
        if (!s->value[i] && affine_uses_iter(a, i)) return false;
    return true;
}

// Moves the known terms to the right.
static void move_known(Solve *s, Equation *q) {
    const Affine *left = q->left;
    for (int i = 0; i < left->n; i++) {
        const Affine *one = affine_make(s->x, 0, &left->term[i], 1);
        if (!is_known(s, one)) continue;
        q->left = affine_sub(s->x, q->left, one);
        q->right = affine_sub(s->x, q->right, affine_substitute(s->x, one, s->value, NULL));
    }
    q->right = affine_add_const(s->x, q->right, -q->left->constant);
    q->left = affine_add_const(s->x, q->left, -q->left->constant);
}

static void learn_value(Solve *s, int iter, const Affine *value) {
    s->value[iter] = value;
    need_between(s, value, s->box.lo[iter], s->box.hi[iter]);
}

// Nothing unknown: both sides agree. One unknown iterator: it is right/coef.
static bool solve_direct(Solve *s, int e) {
    Equation *q = &s->eq[e];
    move_known(s, q);
    if (q->left->n > 1) return false;
    if (q->left->n == 0) {
        need_between(s, q->right, 0, 0);
    } else {
        Term t = q->left->term[0];
        if (t.atom->kind != ATOM_ITER || t.coef == INT64_MIN) return false;
        const Affine *right = affine_scale(s->x, q->right, t.coef < 0 ? -1 : 1);
        const Affine *by = affine_const(s->x, t.coef < 0 ? -t.coef : t.coef);
        need_between(s, affine_mod(s->x, right, by), 0, 0);
        learn_value(s, t.atom->index, affine_div(s->x, right, by));
    }
    drop(s, e);
    return true;
}

// The only term of an equation, if its coefficient is 1 and it is a quotient or a remainder by a
// positive constant.
static const Atom *lone_atom(const Equation *q, AtomKind kind) {
    if (q->left->n != 1 || q->left->term[0].coef != 1) return NULL;
    const Atom *t = q->left->term[0].atom;
    return t->kind == kind && affine_is_const(t->b) && t->b->constant > 0 ? t : NULL;
}

// a/c is e and a%c is f: a is c*e + f. Also a/(b*k) is e and a/b%k is f: a/b is k*e + f.
static bool solve_pair(Solve *s, int e, int f) {
    const Atom *div = lone_atom(&s->eq[e], ATOM_DIV), *mod = lone_atom(&s->eq[f], ATOM_MOD);
    if (!div || !mod) return false;
    int64_t k = mod->b->constant, whole;
    const Affine *a = mod->a;
    if (div->a != a || div->b != mod->b) {
        Equation inner = {a, NULL};
        const Atom *low = lone_atom(&inner, ATOM_DIV);
        if (!low || a->constant || low->a != div->a) return false;
        if (!checked_mul(low->b->constant, k, &whole) || whole != div->b->constant) return false;
    }
    need_between(s, s->eq[f].right, 0, k - 1);
    s->eq[e].right = affine_add(s->x, affine_scale(s->x, s->eq[e].right, k), s->eq[f].right);
    s->eq[e].left = a;
    drop(s, f);
    return true;
}

// Does the iterator occur anywhere but in this equation?
static bool is_free(const Solve *s, int iter, int e) {
    for (int k = 0; k < s->neqs; k++)
        if (k != e && affine_uses_iter(s->eq[k].left, iter)) return false;
    for (int k = 0; k < s->st->nconstraints && !s->st->init; k++)
        if (affine_uses_iter(s->st->constraint[k], iter)) return false;
    return true;
}

// step·digit with digit in 0:count; of one iterator, or of several that run through it (-1).
typedef struct Digit {
    int64_t step, count;
    int iter;
    bool down; // the iterator falls as the digit grows
} Digit;

typedef struct Digits {
    int n;
    Digit at[PROGRAM_MAX_ITERS];
    int64_t base; // the least value
    int64_t most; // of all digits together, from 0
} Digits;

// Terms by growing steps. A term that only fills the gap below it joins the digit below, unless its
// iterator is needed; otherwise it must be larger than all below together.
static bool add_digit(const Solve *s, int e, Digits *d, Term t) {
    int i = t.atom->index;
    int64_t step = t.coef < 0 ? -t.coef : t.coef, count = s->box.hi[i] - s->box.lo[i] + 1, reach;
    Digit *below = d->n ? &d->at[d->n - 1] : NULL;
    if (!checked_fma(t.coef, t.coef < 0 ? s->box.hi[i] : s->box.lo[i], &d->base)) return false;
    if (below && step % below->step == 0 && step / below->step <= below->count &&
        is_free(s, i, e) && (below->iter < 0 || is_free(s, below->iter, e))) {
        if (!checked_fma(step / below->step, count - 1, &below->count)) return false;
        below->iter = -1;
    } else if (!below || step > d->most) {
        d->at[d->n++] = (Digit){step, count, i, t.coef < 0};
    } else {
        return false;
    }
    return checked_mul(step, count - 1, &reach) && checked_add(d->most, reach, &d->most);
}

static bool find_digits(const Solve *s, int e, Digits *d) {
    const Affine *a = s->eq[e].left;
    bool used[AFFINE_MAX_TERMS] = {false};
    for (int k = 0; k < a->n; k++) {
        int least = -1;
        for (int i = 0; i < a->n; i++) {
            if (a->term[i].atom->kind != ATOM_ITER || a->term[i].coef == INT64_MIN) return false;
            int64_t c = a->term[i].coef < 0 ? -a->term[i].coef : a->term[i].coef;
            int64_t l = least < 0 ? 0 : a->term[least].coef;
            if (!used[i] && (least < 0 || c < (l < 0 ? -l : l))) least = i;
        }
        used[least] = true;
        if (!add_digit(s, e, d, a->term[least])) return false;
    }
    return true;
}

static bool solve_digits(Solve *s, int e) {
    Digits d = {0};
    if (!find_digits(s, e, &d)) return false;
    const Affine *rest = affine_add_const(s->x, s->eq[e].right, -d.base);
    for (int k = d.n - 1; k >= 0; k--) {
        const Digit *g = &d.at[k];
        const Affine *by = affine_const(s->x, g->step), *digit = affine_div(s->x, rest, by);
        rest = affine_mod(s->x, rest, by);
        need_between(s, digit, 0, g->count - 1);
        if (g->iter < 0) continue;
        const Affine *from = affine_const(s->x, g->down ? s->box.hi[g->iter] : s->box.lo[g->iter]);
        s->value[g->iter] = g->down ? affine_sub(s->x, from, digit) : affine_add(s->x, from, digit);
    }
    need_between(s, rest, 0, 0);
    drop(s, e);
    return true;
}

// a/c or a%c, where a takes all values of an interval, independently of other conditions.
static bool solve_quotient(Solve *s, int e) {
    const Atom *t = lone_atom(&s->eq[e], ATOM_DIV);
    bool rest = !t;
    if (!t && !(t = lone_atom(&s->eq[e], ATOM_MOD))) return false;
    if (t->a->n != 1 || t->a->term[0].atom->kind != ATOM_ITER) return false;
    int i = t->a->term[0].atom->index;
    int64_t min, max, by = t->b->constant, coef = t->a->term[0].coef;
    if ((coef != 1 && coef != -1) || !is_free(s, i, e)) return false;
    if (!affine_bounds(t->a, s->box.lo, s->box.hi, &min, &max)) return false;
    if (rest && max - min < by - 1) return false;
    if (rest)
        need_between(s, s->eq[e].right, 0, by - 1);
    else
        need_between(s, s->eq[e].right, floor_div(min, by), floor_div(max, by));
    drop(s, e);
    return true;
}

static bool solve_step(Solve *s) {
    for (int e = 0; e < s->neqs; e++)
        if (solve_direct(s, e)) return true;
    for (int e = 0; e < s->neqs; e++)
        for (int f = 0; f < s->neqs; f++)
            if (e != f && solve_pair(s, e, f)) return true;
    for (int e = 0; e < s->neqs; e++)
        if (solve_digits(s, e) || solve_quotient(s, e)) return true;
    return false;
}

// In the first serial iterator that differs, the writer has the smaller value: the one found, or
// the least.
static void need_earlier(Solve *s, int iter) {
    const Affine *x = s->value[iter] ? s->value[iter] : affine_const(s->x, s->box.lo[iter]);
    need(s, affine_add_const(s->x, affine_sub(s->x, affine_iter(s->x, iter), x), -1));
}

// The conditions under which an instance of the writer writes the element that y reads.
static bool invert(Cover *v, Clause *clause) {
    Solve s = {.v = v, .x = pool(v->c), .st = clause->w->st, .need = &clause->need};
    s.box = writer_box(s.st);
    for (int i = 0; i < s.box.n; i++)
        if (s.box.lo[i] == s.box.hi[i]) s.value[i] = affine_const(s.x, s.box.lo[i]);
    for (int i = 0; i < clause->equal; i++) s.value[i] = affine_iter(s.x, i);
    for (int d = 0; d < v->read->rank && !clause->w->whole; d++)
        s.eq[s.neqs++] = (Equation){s.st->write->sub[d], v->element[d]};
    while (s.neqs && solve_step(&s)) {}
    bool solved = s.neqs == 0;
    for (int k = 0; k < s.st->nconstraints && solved && !s.st->init; k++) {
        solved = is_known(&s, s.st->constraint[k]);
        if (solved) need(&s, affine_substitute(s.x, s.st->constraint[k], s.value, NULL));
    }
    if (clause->less) need_earlier(&s, clause->equal);
    solved &= !s.x->overflow && !s.x->too_large;
    s.x->overflow = s.x->too_large = false;
    return solved;
}

// --- The search --------------------------------------------------------------------------------

static DepAnswer ask(Cover *v, DepWitness *w) {
    int64_t hi[MAX_READER];
    if (v->asked++ >= MAX_ASKED) return DEP_UNDECIDED;
    for (int i = 0; i < v->n; i++) hi[i] = v->hi[i] + 1;
    DepSide side = {.niters = v->n, .lo = v->lo, .hi = hi};
    side.nconstraints = v->fact.n;
    side.constraint = v->fact.at;
    DepQuery q = {.a = side, .pool = &v->c->work};
    return deps_test(v->c->scratch, &q, w);
}

// Is there an instance, where all facts hold, that no writer from the k-th on serves?
static DepAnswer unserved(Cover *v, int k, DepWitness *w) {
    DepAnswer answer = ask(v, w);
    while (k < v->nclauses && !v->clause[k].solved) k++;
    if (answer == DEP_NO || k == v->nclauses || v->asked > MAX_ASKED) return answer;
    const Conditions *all = &v->clause[k].need;
    answer = DEP_NO;
    for (int i = 0; i < all->n && answer != DEP_YES; i++) {
        Exprs *x = pool(v->c);
        const Affine *fails = affine_add_const(x, affine_scale(x, all->at[i], -1), -1);
        if (x->overflow) return x->overflow = false, DEP_UNDECIDED;
        vec_push(v->c->scratch, &v->fact, fails);
        DepAnswer one = unserved(v, k + 1, w);
        v->fact.n--;
        if (one != DEP_NO) answer = one;
    }
    return answer;
}

// A writer that could not be inverted: does it write this element?
static DepAnswer ask_writes(Cover *v, const Stmt *st, const int64_t *element, DepWitness *w) {
    Box b = writer_box(st);
    int64_t hi[PROGRAM_MAX_ITERS];
    const Affine *at[PROGRAM_MAX_RANK];
    for (int i = 0; i < b.n; i++) hi[i] = b.hi[i] + 1;
    for (int d = 0; d < v->read->rank; d++) at[d] = affine_const(pool(v->c), element[d]);
    int rank = v->read->rank;
    DepSide side = {.niters = b.n, .lo = b.lo, .hi = hi, .rank = rank, .sub = st->write->sub};
    if (!st->init) side.nconstraints = st->nconstraints, side.constraint = st->constraint;
    DepQuery q = {.a = side, .b = {.rank = rank, .sub = at}, .pool = &v->c->work};
    return deps_test(v->c->scratch, &q, w);
}

static bool may_write(Cover *v, const Stmt *st, const int64_t *element) {
    return ask_writes(v, st, element, NULL) != DEP_NO;
}

// --- Reports -----------------------------------------------------------------------------------

static const char *show_unwritten(const Cover *v, const int64_t *element) {
    Text t = {.arena = v->c->diags->arena};
    text_printf(&t, "%s[", tensor_of(v->c, v->read)->name);
    for (int d = 0; d < v->read->rank; d++)
        text_printf(&t, "%s%lld", d ? ", " : "", (long long)element[d]);
    text_char(&t, ']');
    return text_str(&t);
}

static void note_way_out(const Cover *v, Diag *d) {
    const Checker *c = v->c;
    const Tensor *t = tensor_of(c, v->read);
    for (const Writer *w = c->writers[v->read->tensor]; w; w = w->next)
        if (!w->next) diag_note(c->diags, d, w->st->range, DIAG_CHECK_UNWRITTEN_HERE, t->name);
    if (t->role == ROLE_OUTPUT)
        diag_note(c->diags, d, (Range){0, 0}, DIAG_CHECK_UNWRITTEN_INOUT, t->name);
}

// Names the instance of the group that writes the element after it was read.
static void note_later(Cover *v, Diag *d, const int64_t *element) {
    Checker *c = v->c;
    DepWitness at;
    for (const Writer *w = c->writers[v->read->tensor]; w; w = w->next) {
        if (!common_steps(c, w) || ask_writes(v, w->st, element, &at) != DEP_YES) continue;
        Checker by = {.st = (Stmt *)w->st, .diags = c->diags};
        diag_note(c->diags, d, w->st->range, DIAG_CHECK_WRITTEN_LATER, w->st->label,
                  check_show_instance(&by, at.a, " at "));
        return;
    }
}

static void report_unwritten(Cover *v, const int64_t *at, const int64_t *element) {
    Checker *c = v->c;
    Diag *d = diag_report(c->diags, c->st->range, DIAG_CHECK_UNWRITTEN, c->st->label,
                          show_unwritten(v, element), check_show_instance(c, at, " at "));
    note_later(v, d, element);
    note_way_out(v, d);
    c->ok = false;
}

static void warn_unwritten(Cover *v) {
    Checker *c = v->c;
    if (diag_was_reported(c->diags, c->st->range, DIAG_CHECK_UNWRITTEN_MAYBE)) return;
    Diag *d = diag_report(c->diags, c->st->range, DIAG_CHECK_UNWRITTEN_MAYBE, c->st->label,
                          tensor_of(c, v->read)->name);
    note_way_out(v, d);
}

static bool element_at(const Cover *v, const Access *a, const int64_t *at, int64_t *element) {
    const Tensor *t = tensor_of(v->c, a);
    for (int d = 0; d < a->rank; d++) {
        if (!affine_eval(a->sub[d], at, NULL, NULL, NULL, &element[d])) return false;
        int64_t first = tensor_origin(t, d);
        if (element[d] < first || element[d] >= first + tensor_size(t, d)) return false;
    }
    return true;
}

// --- Enumeration -------------------------------------------------------------------------------

static bool affordable(Cover *v, const Box *b) {
    int64_t n = 1;
    for (int i = 0; i < b->n; i++)
        if (!checked_mul(n, b->hi[i] - b->lo[i] + 1, &n) || n > MAX_MARKED) return false;
    if (n > v->c->points) return false;
    v->c->points -= n;
    return true;
}

// Steps that can be numbered.
static bool few_steps(const Cover *v) {
    int64_t n = 1;
    for (int i = 0; i < v->c->st->serial; i++)
        if (!checked_mul(n, v->c->box.hi[i] - v->c->box.lo[i] + 1, &n) || n > INT64_C(1) << 48)
            return false;
    return true;
}

static int64_t number_of(const Tensor *t, const int64_t *element) {
    int64_t n = 0;
    for (int d = 0; d < t->rank; d++) n = n * tensor_size(t, d) + element[d] - tensor_origin(t, d);
    return n;
}

static bool exists(const Stmt *st, const int64_t *at) {
    int64_t v;
    for (int k = 0; k < st->nconstraints && !st->init; k++)
        if (!affine_eval(st->constraint[k], at, NULL, NULL, NULL, &v) || v < 0) return false;
    return true;
}

// The number of a step among those of the reader, of which the first `n` iterators are known, and
// the number of steps that agree in these.
static int64_t step_number(const Cover *v, const int64_t *at, int n, int64_t *inner) {
    const Box *b = &v->c->box;
    int64_t number = 0;
    *inner = 1;
    for (int i = 0; i < v->c->st->serial; i++) {
        int64_t extent = b->hi[i] - b->lo[i] + 1;
        number = number * extent + (i < n ? at[i] - b->lo[i] : 0);
        if (i >= n) *inner *= extent;
    }
    return number;
}

// When the instance of the writer has run, in half steps of the reader: statements of its group
// that stand after the reader serve the next step.
static int64_t written_at(const Cover *v, const Writer *w, const int64_t *at) {
    int64_t inner, step = step_number(v, at, common_steps(v->c, w), &inner);
    if (!common_steps(v->c, w)) return 0;
    return 2 * step + (w->stmt < v->c->stmt ? 0 : 2 * inner - 1);
}

// Marks the elements that the statement writes, and when; false: there are too many of them.
static bool mark(Cover *v, const Writer *w, int64_t *written) {
    int64_t at[PROGRAM_MAX_ITERS], element[PROGRAM_MAX_RANK];
    Box b = writer_box(w->st);
    if (!affordable(v, &b)) return false;
    memcpy(at, b.lo, sizeof at);
    do {
        if (!exists(w->st, at) || !element_at(v, w->st->write, at, element)) continue;
        int64_t *when = &written[number_of(tensor_of(v->c, w->st->write), element)];
        *when = min_i64(*when, written_at(v, w, at));
    } while (box_next(&b, at));
    return true;
}

// Advances to the first instance that reads an unwritten element; MAYBE: data decide. False when
// there are too many instances.
static bool look_at_all(Cover *v, const Box *b, int64_t *written, int64_t *at, Exists *found) {
    const Tensor *t = tensor_of(v->c, v->read);
    int64_t element[PROGRAM_MAX_RANK], one;
    int serial = v->c->st->serial;
    for (int64_t e = 0; e < tensor_elements(t); e++) written[e] = INT64_MAX;
    for (const Writer *w = v->c->writers[v->read->tensor]; w; w = w->next)
        if (!mark(v, w, written)) return false;
    *found = NO;
    memcpy(at, b->lo, sizeof b->lo);
    do {
        if (!element_at(v, v->read, at, element)) continue;
        if (written[number_of(t, element)] <= 2 * step_number(v, at, serial, &one)) continue;
        Exists e = check_performed(v->c, v->guards, at);
        if (e > *found) *found = e;
    } while (*found != YES && box_next(b, at));
    return true;
}

// Too many to examine all: the first instances, one writer after the other.
static Exists look_at_some(Cover *v, const Box *b, int64_t *at) {
    int64_t element[PROGRAM_MAX_RANK];
    memcpy(at, b->lo, sizeof b->lo);
    for (int n = 0; n < SAMPLE; n++) {
        bool written = !element_at(v, v->read, at, element);
        for (const Writer *w = v->c->writers[v->read->tensor]; w && !written; w = w->next)
            written = may_write(v, w->st, element);
        if (!written && check_performed(v->c, v->guards, at) == YES) return YES;
        if (!box_next(b, at)) break;
    }
    return NO;
}

static void enumerate(Cover *v, const Box *b) {
    int64_t at[PROGRAM_MAX_ITERS], element[PROGRAM_MAX_RANK];
    int64_t elements = tensor_elements(tensor_of(v->c, v->read));
    Exists found = MAYBE;
    bool all = !v->gathered && elements <= MAX_MARKED && few_steps(v) && affordable(v, b);
    if (all) {
        ArenaMark start = arena_mark(v->c->scratch);
        int64_t *written = arena_new_n(v->c->scratch, int64_t, elements);
        all = look_at_all(v, b, written, at, &found);
        arena_release(v->c->scratch, start);
    }
    if (!all && !v->gathered) found = look_at_some(v, b, at);
    if (found == YES && element_at(v, v->read, at, element))
        report_unwritten(v, at, element);
    else if (found == MAYBE)
        warn_unwritten(v);
}

// --- All of it ---------------------------------------------------------------------------------

// An instance of the writer comes first if it is of an earlier step, or of the same one and a
// statement further up.
static void add_clauses(Cover *v, const Writer *w) {
    int common = common_steps(v->c, w);
    for (int i = 0; i < common; i++)
        v->clause[v->nclauses++] = (Clause){.w = w, .equal = i, .less = true};
    if (w->stmt < v->c->stmt) v->clause[v->nclauses++] = (Clause){.w = w, .equal = common};
}

// The reader's instances: a box, the facts about them, and the element, which lies in the tensor.
static void set_up(Cover *v, const Box *b, const Facts *f) {
    Checker *c = v->c;
    const Tensor *t = tensor_of(c, v->read);
    v->n = b->n;
    memcpy(v->lo, b->lo, (size_t)b->n * sizeof *b->lo);
    memcpy(v->hi, b->hi, (size_t)b->n * sizeof *b->hi);
    for (int k = 0; k < f->n; k++) vec_push(c->scratch, &v->fact, f->at[k]);
    for (int d = 0; d < v->read->rank; d++) {
        int64_t first = tensor_origin(t, d), last = first + tensor_size(t, d) - 1;
        v->element[d] = v->read->sub[d];
        if (v->read->sub[d]->has_read) {
            v->gathered = true;
            v->lo[v->n] = first;
            v->hi[v->n] = last;
            v->element[d] = affine_iter(pool(c), v->n++);
        }
        Solve s = {.v = v, .x = pool(c), .need = &v->fact};
        need_between(&s, v->element[d], first, last);
    }
    int n = 0;
    for (const Writer *w = c->writers[v->read->tensor]; w; w = w->next) n += common_steps(c, w) + 1;
    v->clause = arena_new_n(c->scratch, Clause, n);
    for (const Writer *w = c->writers[v->read->tensor]; w; w = w->next) add_clauses(v, w);
}

static void decide(Cover *v, const Box *b) {
    DepWitness w;
    int64_t element[PROGRAM_MAX_RANK];
    for (int k = 0; k < v->nclauses; k++) {
        v->clause[k].solved = invert(v, &v->clause[k]);
        if (v->clause[k].solved && !v->clause[k].need.n) return; // it writes all that is read
    }
    DepAnswer answer = unserved(v, 0, &w);
    if (answer == DEP_NO) return;
    bool sure = answer == DEP_YES && !v->gathered && element_at(v, v->read, w.a, element) &&
                check_performed(v->c, v->guards, w.a) == YES;
    for (int k = 0; k < v->nclauses && sure; k++)
        sure = v->clause[k].solved || !may_write(v, v->clause[k].w->st, element);
    if (sure)
        report_unwritten(v, w.a, element);
    else
        enumerate(v, b);
}

void cover_read(Checker *c, const Access *read, const Guard *guards) {
    Role role = tensor_of(c, read)->role;
    Facts f;
    Box tight = c->box;
    if (!c->ok || (role != ROLE_TEMP && role != ROLE_OUTPUT) || in_one_box(c, read, &tight)) return;
    check_facts(c, guards, &f);
    check_tighten(&tight, &f);
    if (box_empty(&tight) || in_one_box(c, read, &tight)) return;
    Cover v = {.c = c, .read = read, .guards = guards};
    set_up(&v, &tight, &f);
    decide(&v, &tight);
}
