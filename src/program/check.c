// Checks of a bound Program's statements.
//
// Everything asks one question: is there an instance, or a pair of instances, where something bad
// happens? Answers come from four methods, cheapest first:
//
//   intervals     bounds of an affine over the box, which is first tightened by constraints and
//                 guards (Facts: affines that are >= 0 wherever the access is performed)
//   corners       a linear subscript is extreme at a corner of the box; if that instance exists, it
//                 is the culprit
//   dependences   deps.c, exact where everything is affine
//   enumeration   all instances, when there are at most MAX_POINTS of them
//
// All of them may add, negate and scale: index arithmetic that could leave 64 bits is refused
// first. A subscript that none of them decides is left to run time (Stmt.unproven). '=' and
// in-place statements are about pairs of instances that meet in one element; enumeration finds them
// with a hash table from elements to writers; undecided there means refused.
#include "program/check_impl.h"

#include "base/checked.h"
#include "program/piece.h"
#include "program/stmt_facts.h"

#include <string.h>

enum {
    // points that all questions about a Program may examine, if they are simple
    ALL_POINTS = 1 << 22,
    ALL_WORK = 1 << 22, // work that deps.c may spend on a Program, some 40 milliseconds
};

// --- Boxes -------------------------------------------------------------------------------------

bool box_empty(const Box *b) {
    for (int i = 0; i < b->n; i++)
        if (b->lo[i] > b->hi[i]) return true;
    return false;
}

Box check_stmt_box(const Stmt *st) {
    Box b = {.n = st->niters};
    for (int i = 0; i < st->niters; i++) {
        b.lo[i] = iter_lo(&st->iter[i]);
        b.hi[i] = iter_hi(&st->iter[i]) - 1;
    }
    return b;
}

int64_t box_points(const Box *b) {
    int64_t n = 1;
    if (box_empty(b)) return 0;
    for (int i = 0; i < b->n; i++)
        if (!checked_mul(n, b->hi[i] - b->lo[i] + 1, &n) || n > MAX_POINTS) return MAX_POINTS + 1;
    return n;
}

bool box_next(const Box *b, int64_t *at) {
    for (int i = b->n - 1; i >= 0; i--) {
        if (at[i]++ < b->hi[i]) return true;
        at[i] = b->lo[i];
    }
    return false;
}

void box_point(const Box *b, int64_t number, int64_t *at) {
    for (int i = b->n - 1; i >= 0; i--) {
        int64_t extent = b->hi[i] - b->lo[i] + 1;
        at[i] = b->lo[i] + number % extent;
        number /= extent;
    }
}

Box check_sample(const Box *b) {
    for (int64_t side = MAX_POINTS;; side /= 2) {
        Box s = *b;
        for (int i = 0; i < s.n; i++) s.hi[i] = min_i64(s.hi[i], s.lo[i] + side - 1);
        if (side == 1 || box_points(&s) <= MAX_POINTS) return s;
    }
}

int64_t check_effort(const Checker *c, const Access *a, const Guard *guards) {
    int64_t nodes = a->weight + c->st->write->weight;
    for (int i = 0; i < c->st->nconstraints; i++) nodes += c->st->constraint[i]->weight;
    for (const Guard *g = guards; g; g = g->up) nodes += g->cond->weight;
    return 1 + nodes / 32;
}

bool check_affordable(Checker *c, const Box *b, int64_t each) {
    int64_t n = box_points(b);
    if (n > MAX_POINTS || n * each > c->points) return false;
    c->points -= n * each;
    return true;
}

// --- Facts -------------------------------------------------------------------------------------

static const Affine *as_affine(const Checker *c, const Expr *e) {
    return expr_as_affine(c->p->exprs, e, c->box.lo, c->box.hi);
}

static void add_fact(const Checker *c, Facts *f, const Affine *a) {
    if (c->p->exprs->overflow || f->n == MAX_FACTS)
        f->whole = c->p->exprs->overflow = false;
    else
        f->at[f->n++] = a;
}

// a < b (strict) or a <= b
static void add_order(const Checker *c, Facts *f, const Affine *a, const Affine *b, bool strict) {
    add_fact(c, f, affine_add_const(c->p->exprs, affine_sub(c->p->exprs, b, a), -(int64_t)strict));
}

// a != b, where it is stronger than one of two ranges: one of them is empty, as for the remainder
// of a division by 2 that is not 0.
static void add_different(const Checker *c, Facts *f, const Affine *a, const Affine *b) {
    int64_t min, max;
    const Affine *apart = affine_sub(c->p->exprs, a, b);
    bool bounded = !c->p->exprs->overflow && affine_bounds(apart, c->box.lo, c->box.hi, &min, &max);
    if (bounded && min >= 0)
        add_order(c, f, b, a, true);
    else if (bounded && max <= 0)
        add_order(c, f, a, b, true);
    else
        f->whole = c->p->exprs->overflow = false;
}

static void learn_compare(const Checker *c, Facts *f, const Expr *e, bool holds) {
    const Affine *a = as_affine(c, e->arg[0]), *b = as_affine(c, e->arg[1]);
    if (!a || !b) {
        f->whole = false;
        return;
    }
    switch (e->op) {
    case OP_LT: holds ? add_order(c, f, a, b, true) : add_order(c, f, b, a, false); break;
    case OP_LE: holds ? add_order(c, f, a, b, false) : add_order(c, f, b, a, true); break;
    case OP_GT: holds ? add_order(c, f, b, a, true) : add_order(c, f, a, b, false); break;
    case OP_GE: holds ? add_order(c, f, b, a, false) : add_order(c, f, a, b, true); break;
    default:
        if ((e->op == OP_EQ) == holds) {
            add_order(c, f, a, b, false);
            add_order(c, f, b, a, false);
        } else {
            add_different(c, f, a, b);
        }
    }
}

static void learn(const Checker *c, Facts *f, const Expr *e, bool holds) {
    if (e->kind != EXPR_OP)
        f->whole = false;
    else if (e->op == OP_NOT)
        learn(c, f, e->arg[0], !holds);
    else if ((e->op == OP_AND && holds) || (e->op == OP_OR && !holds))
        learn(c, f, e->arg[0], holds), learn(c, f, e->arg[1], holds);
    else if (op_info[e->op].class == OP_COMPARE)
        learn_compare(c, f, e, holds);
    else
        f->whole = false;
}

void check_facts(const Checker *c, const Guard *guards, Facts *f) {
    f->n = 0;
    f->whole = true;
    for (int i = 0; i < c->st->nconstraints; i++) add_fact(c, f, c->st->constraint[i]);
    for (const Guard *g = guards; g; g = g->up) learn(c, f, g->cond, g->holds);
}

// Narrows the bounds of iterator t.index by  t.coef·iterator + rest >= 0  where rest <= max.
static bool tighten_one(Box *b, Term t, int64_t max) {
    int i = t.atom->index;
    int64_t k = t.coef, old_lo = b->lo[i], old_hi = b->hi[i];
    if (k == INT64_MIN || max == INT64_MIN) return false;
    if (k > 0)
        b->lo[i] = max_i64(old_lo, ceil_div(-max, k));
    else
        b->hi[i] = min_i64(old_hi, floor_div(max, -k));
    return b->lo[i] != old_lo || b->hi[i] != old_hi;
}

void check_tighten(Box *b, const Facts *f) {
    bool changed = true;
    for (int round = 0; changed && round < 4; round++) {
        changed = false;
        for (int k = 0; k < f->n && !box_empty(b); k++) {
            const Affine *a = f->at[k];
            int64_t min, max, rest;
            if (!affine_bounds(a, b->lo, b->hi, &min, &max)) continue;
            for (int i = 0; i < a->n; i++) {
                Term t = a->term[i];
                if (t.atom->kind != ATOM_ITER) continue;
                int64_t at = t.coef > 0 ? b->hi[t.atom->index] : b->lo[t.atom->index], part;
                if (!checked_mul(t.coef, at, &part) || !checked_sub(max, part, &rest)) continue;
                changed |= tighten_one(b, t, rest);
                if (box_empty(b) || !affine_bounds(a, b->lo, b->hi, &min, &max)) break;
            }
        }
    }
}

static bool never_negative(const Affine *a, const Box *b) {
    int64_t min, max;
    return affine_bounds(a, b->lo, b->hi, &min, &max) && min >= 0;
}

// a >= 0 wherever the facts hold: by its bounds, or because it is at least one of the facts.
static bool proven(const Checker *c, const Affine *a, const Facts *f, const Box *tight) {
    if (never_negative(a, tight)) return true;
    bool yes = false;
    for (int k = 0; k < f->n && !yes; k++)
        yes = never_negative(affine_sub(c->p->exprs, a, f->at[k]), tight) && !c->p->exprs->overflow;
    c->p->exprs->overflow = c->p->exprs->too_large = false;
    return yes;
}

// --- Instances ---------------------------------------------------------------------------------

Exists check_performed(const Checker *c, const Guard *guards, const int64_t *at) {
    Exists answer = YES;
    for (int i = 0; i < c->st->nconstraints; i++) {
        int64_t v;
        if (!affine_eval(c->st->constraint[i], at, NULL, NULL, NULL, &v) || v < 0) return NO;
    }
    for (const Guard *g = guards; g; g = g->up) {
        Value v;
        if (!expr_eval(g->cond, at, &v))
            answer = MAYBE;
        else if ((v.i != 0) != g->holds)
            return NO;
    }
    return answer;
}

const char *check_show_instance(const Checker *c, const int64_t *at, const char *before) {
    Text t = {.arena = c->diags->arena};
    for (int i = 0; i < c->st->niters; i++)
        text_printf(&t, "%s%s = %lld", i ? ", " : before, c->st->iter[i].name, (long long)at[i]);
    return text_str(&t);
}

static const char *show_affine(const Checker *c, const Affine *a) {
    Name *iters = arena_new_n(c->diags->arena, Name, c->st->niters);
    Name *tensors = arena_new_n(c->diags->arena, Name, c->p->tensors.n);
    for (int i = 0; i < c->st->niters; i++) iters[i] = c->st->iter[i].name;
    for (int i = 0; i < c->p->tensors.n; i++) tensors[i] = c->p->tensors.at[i].name;
    Text t = {.arena = c->diags->arena};
    affine_print(&t, a, &(PrintNames){.iters = iters, .tensors = tensors});
    return text_str(&t);
}

// --- Exact answers -----------------------------------------------------------------------------

// The instances in the box where the facts hold, as one side of a question; with an access or
// without.
DepSide check_side(const Checker *c, const Box *b, const Facts *f, const Access *a) {
    int64_t *hi = arena_new_n(c->scratch, int64_t, b->n);
    for (int i = 0; i < b->n; i++) hi[i] = b->hi[i] + 1;
    DepSide s = {.niters = b->n, .lo = b->lo, .hi = hi, .nconstraints = f->n, .constraint = f->at};
    if (a) {
        s.rank = a->rank;
        s.sub = a->sub;
    }
    return s;
}

// The facts and one more; false when there is no room.
bool check_with_fact(const Checker *c, const Facts *f, const Affine *a, Facts *out) {
    bool ok = !c->p->exprs->overflow && !c->p->exprs->too_large && f->n < MAX_FACTS;
    c->p->exprs->overflow = c->p->exprs->too_large = false;
    if (!ok) return false;
    *out = *f;
    out->at[out->n++] = a;
    return true;
}

// Is there an instance where the facts hold and a is negative?
static DepAnswer ask_negative(Checker *c, const Affine *a, const Facts *f, const Box *b,
                              int64_t *at) {
    Exprs *x = c->p->exprs;
    Facts g;
    if (!check_with_fact(c, f, affine_add_const(x, affine_scale(x, a, -1), -1), &g))
        return DEP_UNDECIDED;
    ArenaMark mark = arena_mark(c->scratch);
    DepWitness w;
    DepQuery q = {.a = check_side(c, b, &g, NULL), .pool = &c->work};
    DepAnswer answer = deps_test(c->scratch, &q, &w);
    arena_release(c->scratch, mark);
    if (answer == DEP_YES) memcpy(at, w.a, (size_t)b->n * sizeof *at);
    return answer;
}

// --- Index arithmetic stays exact --------------------------------------------------------------

// The first affine that reaches too far from 0 (affine_reach), of those in an access, or in the
// reads inside an affine.
static const Affine *far_affine(const Checker *c, const Affine *a, const Box *b) {
    if (!affine_is_const(a) && affine_reach(a, b->lo, b->hi) > AFFINE_REACH) return a;
    const Affine *far = NULL;
    for (int i = 0; i < a->n && a->has_read && !far; i++) {
        const Atom *t = a->term[i].atom;
        for (int d = 0; t->read && d < t->read->rank && !far; d++)
            far = far_affine(c, t->read->sub[d], b);
        if (t->a && !(far = far_affine(c, t->a, b))) far = far_affine(c, t->b, b);
    }
    return far;
}

static const Affine *far_access(const Checker *c, const Access *a, const Box *b) {
    const Affine *far = NULL;
    for (int d = 0; d < a->rank && !far; d++) far = far_affine(c, a->sub[d], b);
    return far;
}

static const Affine *far_value(const Checker *c, const Expr *e, const Box *b) {
    if (e->kind == EXPR_READ) return far_access(c, e->access, b);
    if (e->kind == EXPR_INDEX) return far_affine(c, e->index, b);
    const Affine *far = NULL;
    for (int i = 0; e->kind == EXPR_OP && i < e->n && !far; i++) far = far_value(c, e->arg[i], b);
    return far;
}

static void check_reach(Checker *c) {
    const Stmt *st = c->st;
    Box b = c->box;
    for (int i = 0; i < b.n; i++) b.hi[i] = max_i64(b.lo[i], b.hi[i]);
    const Affine *far = far_access(c, st->write, &b);
    if (!far) far = far_value(c, st->value, &b);
    for (int i = 0; i < st->nconstraints && !far; i++) far = far_affine(c, st->constraint[i], &b);
    if (!far) return;
    Diag *d = diag_report(c->diags, st->range, DIAG_CHECK_REACH, show_affine(c, far));
    diag_note(c->diags, d, (Range){0, 0}, DIAG_CHECK_REACH_NOTE);
    c->ok = false;
}

// --- Subscripts stay inside --------------------------------------------------------------------

static void report_outside(Checker *c, const Access *a, int d, const int64_t *at) {
    const Tensor *t = &c->p->tensors.at[a->tensor];
    int64_t v = 0, first = tensor_origin(t, d);
    if (!affine_eval(a->sub[d], at, NULL, NULL, NULL, &v)) {
        diag_report(c->diags, c->st->range, DIAG_PROGRAM_OVERFLOW);
    } else {
        Diag *diag =
            diag_report(c->diags, c->st->range, DIAG_CHECK_OUTSIDE, d + 1, t->name,
                        show_affine(c, a->sub[d]), (long long)v, check_show_instance(c, at, " at "),
                        (long long)first, (long long)(first + tensor_size(t, d)));
        diag_note(c->diags, diag, (Range){0, 0}, DIAG_CHECK_OUTSIDE_NOTE);
    }
    c->ok = false;
}

static bool outside(const Checker *c, const Access *a, int d, const int64_t *at) {
    const Tensor *t = &c->p->tensors.at[a->tensor];
    int64_t v;
    if (!affine_eval(a->sub[d], at, NULL, NULL, NULL, &v)) return true;
    return v < tensor_origin(t, d) || v >= tensor_origin(t, d) + tensor_size(t, d);
}

// The corner of the box where a linear subscript is smallest or largest.
static void corner(const Box *b, const Affine *a, bool largest, int64_t *at) {
    for (int i = 0; i < b->n; i++) {
        int64_t k = affine_coef(a, i);
        at[i] = k == 0 || (k > 0) != largest ? b->lo[i] : b->hi[i];
    }
}

static bool corner_outside(Checker *c, const Access *a, int d, const Guard *guards,
                           const Box *tight) {
    if (!a->sub[d]->linear) return false;
    for (int largest = 0; largest < 2; largest++) {
        int64_t at[PROGRAM_MAX_ITERS];
        corner(tight, a->sub[d], largest, at);
        if (!outside(c, a, d, at) || check_performed(c, guards, at) != YES) continue;
        report_outside(c, a, d, at);
        return true;
    }
    return false;
}

// Examines every instance in the box.
static void enumerate_outside(Checker *c, const Access *a, int d, const Guard *guards,
                              const Box *b) {
    int64_t at[PROGRAM_MAX_ITERS];
    memcpy(at, b->lo, sizeof at);
    do {
        if (!outside(c, a, d, at)) continue;
        Exists e = check_performed(c, guards, at);
        if (e == YES) {
            report_outside(c, a, d, at);
            return;
        }
        if (e == MAYBE) c->st->unproven = true;
    } while (box_next(b, at));
}

// The access with iterators of one value replaced by that value: with only l = 0, `l*J[l]` reads no
// J.
static const Access *settled(Checker *c, const Access *a, const Box *b) {
    Exprs *x = c->p->exprs;
    const Affine *value[PROGRAM_MAX_ITERS] = {0}, *sub[PROGRAM_MAX_RANK];
    for (int i = 0; i < b->n; i++)
        if (b->lo[i] == b->hi[i]) value[i] = affine_const(x, b->lo[i]);
    for (int d = 0; d < a->rank; d++) sub[d] = affine_substitute(x, a->sub[d], value, NULL);
    return access_make(x, a->tensor, a->rank, sub);
}

static void check_subscript(Checker *c, const Access *a, int d, const Guard *guards, const Box *b) {
    const Tensor *t = &c->p->tensors.at[a->tensor];
    if (a->sub[d]->has_read) a = settled(c, a, b);
    const Affine *sub = a->sub[d];
    if (sub->has_read) return; // a gather: checked when it runs
    int64_t min, max, first = tensor_origin(t, d), last = first + tensor_size(t, d) - 1;
    if (affine_bounds(sub, b->lo, b->hi, &min, &max) && min >= first && max <= last) return;
    Exprs *x = c->p->exprs;
    Facts f;
    Box tight = *b;
    check_facts(c, guards, &f);
    check_tighten(&tight, &f);
    if (box_empty(&tight)) return;
    const Affine *above = affine_add_const(x, sub, -first);
    const Affine *below = affine_add_const(x, affine_scale(x, sub, -1), last);
    if (!x->overflow && proven(c, above, &f, &tight) && proven(c, below, &f, &tight)) return;
    x->overflow = false;
    if (corner_outside(c, a, d, guards, &tight)) return;
    int64_t at[PROGRAM_MAX_ITERS];
    DepAnswer answer = ask_negative(c, above, &f, &tight, at);
    if (answer == DEP_NO) answer = ask_negative(c, below, &f, &tight, at);
    if (answer == DEP_NO) return;
    if (check_affordable(c, &tight, check_effort(c, a, guards)))
        enumerate_outside(c, a, d, guards, &tight);
    else if (answer == DEP_YES && check_performed(c, guards, at) == YES)
        report_outside(c, a, d, at);
    else
        c->st->unproven = true;
}

static void check_affine(Checker *c, const Affine *a, const Guard *guards, const Box *b);

static void check_access(Checker *c, const Access *a, const Guard *guards, const Box *b) {
    for (int d = 0; d < a->rank; d++) {
        check_affine(c, a->sub[d], guards, b);
        check_subscript(c, a, d, guards, b);
    }
}

// The reads inside a subscript.
static void check_affine(Checker *c, const Affine *a, const Guard *guards, const Box *b) {
    if (!a->has_read) return;
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_READ) check_access(c, t->read, guards, b);
        if (t->a) check_affine(c, t->a, guards, b), check_affine(c, t->b, guards, b);
    }
}

typedef void Visit(Checker *c, const Expr *leaf, const Guard *guards);

// Calls fn on the READ and INDEX leaves of an expression with their guards.
static void visit(Checker *c, const Expr *e, const Guard *guards, Visit *fn) {
    if (e->kind == EXPR_READ || e->kind == EXPR_INDEX) fn(c, e, guards);
    if (e->kind != EXPR_OP) return;
    bool lazy = op_info[e->op].trait == TRAIT_LAZY;
    visit(c, e->arg[0], guards, fn);
    for (int i = 1; i < e->n; i++) {
        Guard g = {e->arg[0], e->op == OP_SELECT ? i == 1 : e->op == OP_AND, guards};
        visit(c, e->arg[i], lazy ? &g : guards, fn);
    }
}

static void check_leaf(Checker *c, const Expr *leaf, const Guard *guards) {
    if (leaf->kind == EXPR_READ)
        check_access(c, leaf->access, guards, &c->box);
    else
        check_affine(c, leaf->index, guards, &c->box);
}

// `init` sets elements for every point of the iterators on the left, even where reductions are
// empty, and regardless of constraints.
static void check_write(Checker *c) {
    Box b = c->box;
    Stmt *st = c->st;
    for (int i = 0; i < b.n && st->init; i++)
        if (st->iter[i].reduction) b.lo[i] = b.hi[i] = iter_lo(&st->iter[i]);
    if (box_empty(&b)) return;
    int constraints = st->nconstraints;
    if (st->init) st->nconstraints = 0;
    check_access(c, st->write, NULL, &b);
    st->nconstraints = constraints;
}

// --- Reads -------------------------------------------------------------------------------------

// Reads inside subscripts, too: an index tensor may be written while it directs reads or writes.
static void meet_affine(Checker *c, const Affine *a, const Guard *guards) {
    for (int i = 0; i < a->n && a->has_read; i++) {
        const Atom *t = a->term[i].atom;
        if (t->a) meet_affine(c, t->a, guards), meet_affine(c, t->b, guards);
        if (t->kind != ATOM_READ) continue;
        check_in_place(c, t->read, guards);
        cover_read(c, t->read, guards);
        for (int d = 0; d < t->read->rank; d++) meet_affine(c, t->read->sub[d], guards);
    }
}

static void meet_leaf(Checker *c, const Expr *leaf, const Guard *guards) {
    if (leaf->kind == EXPR_INDEX) {
        meet_affine(c, leaf->index, guards);
        return;
    }
    check_in_place(c, leaf->access, guards);
    cover_read(c, leaf->access, guards);
    for (int d = 0; d < leaf->access->rank; d++) meet_affine(c, leaf->access->sub[d], guards);
}

// --- All of it ---------------------------------------------------------------------------------

static void check_stmt(Checker *c) {
    Stmt *st = c->st;
    c->box = check_stmt_box(st);
    check_reach(c);
    if (!c->ok) return;
    check_write(c);
    if (box_empty(&c->box)) return;
    visit(c, st->value, NULL, check_leaf);
    if (!c->ok) return;
    check_once(c);
    visit(c, st->value, NULL, meet_leaf);
    for (int d = 0; d < st->write->rank; d++) meet_affine(c, st->write->sub[d], NULL);
    if (st->op != REDUCE_ASSIGN && !st->init) cover_read(c, st->write, NULL);
}

bool program_check(Arena *scratch, Program *p, DiagList *diags) {
    Checker *c = arena_new(scratch, Checker);
    *c = (Checker){.scratch = scratch,
                   .p = p,
                   .diags = diags,
                   .writers = arena_new_n(scratch, Writer *, p->tensors.n),
                   .points = ALL_POINTS,
                   .work = ALL_WORK,
                   .ok = true};
    for (int s = 0; s < p->stmts.n; s++) {
        bool before = c->ok;
        c->stmt = s;
        c->st = &p->stmts.at[s];
        c->ok = true;
        int first = diags->items.n;
        for (int k = s; c->st->serial && !c->st->joined && k < group_end(p, s); k++)
            cover_write(c, k);
        check_stmt(c);
        if (!c->st->serial) cover_write(c, s);
        program_note_calls(diags, first, c->st->call);
        c->ok &= before;
    }
    return c->ok;
}
