// Is every element written before it is read?
//
// "For every read instance y there is a write instance x before it" is shown by naming x: shared
// indices have y's values (or the one value that the writer's guards allow, such as "first"), the
// others are solved from the subscripts, digit by digit:
//
//     for o: for i: T[64*o + i] = ..    for m: .. T[m] ..          x(m) = (m / 64, m % 64)
//
// In an ordered loop an earlier iteration may have written the element as well: indices outside of
// the loop have y's values; its own is solved like the others and must be less than y's:
//
//     for i: if i >= 1: T[i] = T[i - 1] ..                         x(i) = i - 1
//
// It remains to ask whether x(y) leaves its ranges or violates its guards for some y. If so, the
// next writer is tried for these y. A y that no writer serves is refused if no write at all can
// precede it, and not proven otherwise.
#include "verify/verify_impl.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/checked.h"

enum {
    MAX_WRITERS = 8,
    MAX_ASKED = 200,           // questions about one read,
    MAX_WORK = 4 * DEP_BUDGET, // and the work for them
    MAX_QUOTIENTS = 16,
};

// A writer, with conditions on y under which x(y) exists and comes first.
typedef struct Server {
    const Touch *touch;
    VEC(const Affine *) need; // each >= 0
} Server;

typedef struct TreeCover {
    Verifier *v;
    System s;
    Point y;
    const Touch *read;
    const Affine *element[TREE_MAX_RANK];
    int64_t lo[DEP_MAX_ITERS], hi[DEP_MAX_ITERS]; // of the system, inclusive
    int nservers, asked;
    int64_t work; // left to the questions
    Server server[MAX_WRITERS];
} TreeCover;

static const Use *use_of(const TreeCover *c, const Touch *t) { return &c->v->f.use.at[t->use]; }
static Exprs *pool(const TreeCover *c) { return c->v->f.x; }

static bool bounds(const TreeCover *c, const Affine *a, int64_t *min, int64_t *max) {
    return affine_bounds(a, c->lo, c->hi, min, max);
}

// A condition, unless it always holds.
static void need(TreeCover *c, Server *w, const Affine *a) {
    int64_t min, max;
    if (bounds(c, a, &min, &max) && min >= 0) return;
    for (int i = 0; i < c->s.least.n; i++)
        if (c->s.least.at[i] == a) return;
    for (int i = 0; i < w->need.n; i++)
        if (w->need.at[i] == a) return;
    vec_push(c->v->f.arena, &w->need, a);
}

// --- Solving for the writer's indices ----------------------------------------------------------

typedef struct Quotient {
    const Atom *atom;
    const Affine *value;
} Quotient;

typedef struct TreeSolve {
    TreeCover *c;
    Server *w;
    const Affine **x; // per index id; NULL: not known
    Quotient quotient[MAX_QUOTIENTS];
    int nquotients;
} TreeSolve;

static bool is_unknown(const TreeSolve *s, int id) { return !s->x[id]; }

static const Index *index_of(const TreeSolve *s, int id) { return s->c->v->f.index[id]; }

// floor(rest / size), at most the last value of the index.
static const Affine *digit(TreeSolve *s, const Affine *rest, int64_t size, const Index *i) {
    Exprs *x = pool(s->c);
    const Affine *q = size == 1 ? rest : affine_div(x, rest, affine_const(x, size));
    int64_t min, max;
    if (!bounds(s->c, q, &min, &max)) return q;
    if (min == max) q = affine_const(x, min);
    return max >= i->extent ? affine_min(x, q, affine_const(x, i->extent - 1)) : q;
}

static int by_coef(const void *a, const void *b) {
    int64_t x = llabs(((const Term *)a)->coef), y = llabs(((const Term *)b)->coef);
    return (x < y) - (x > y);
}

// Are all indices in it known?
static bool is_known(const TreeSolve *s, const Use *p, const Affine *a) {
    for (int i = 0; i < p->nindex; i++)
        if (is_unknown(s, p->index[i]->id) && affine_uses_iter(a, p->index[i]->id)) return false;
    return true;
}

// The value of a division of unknown indices: as given by a subscript, otherwise 0; checked at the
// end.
static const Affine *quotient(TreeSolve *s, const Atom *t) {
    for (int i = 0; i < s->nquotients; i++)
        if (s->quotient[i].atom == t) return s->quotient[i].value;
    if (s->nquotients == MAX_QUOTIENTS) return NULL;
    s->quotient[s->nquotients].atom = t;
    return s->quotient[s->nquotients++].value = affine_const(pool(s->c), 0);
}

// Solves f = value for its unknown indices, the one with the largest coefficient first.
static bool solve_equation(TreeSolve *s, const Use *p, const Affine *f, const Affine *value) {
    Exprs *x = pool(s->c);
    Term term[AFFINE_MAX_TERMS];
    int n = 0;
    const Affine *rest = affine_add_const(x, value, -f->constant);
    for (int i = 0; i < f->n; i++) {
        const Atom *t = f->term[i].atom;
        if (t->kind == ATOM_ITER && is_unknown(s, t->index)) {
            term[n++] = f->term[i];
            continue;
        }
        const Affine *alone = affine_make(x, 0, &(Term){t, 1}, 1), *known = NULL;
        if (is_known(s, p, alone))
            known = affine_substitute(x, alone, s->x, NULL);
        else if (t->kind == ATOM_DIV && affine_is_const(t->b))
            known = quotient(s, t);
        if (!known) return false;
        rest = affine_sub(x, rest, affine_scale(x, known, f->term[i].coef));
    }
    if (n > 1) qsort(term, (size_t)n, sizeof *term, by_coef);
    for (int i = 0; i < n; i++) // count those with negative coefficients from their end
        if (term[i].coef < 0)
            rest = affine_add_const(x, rest,
                                    -term[i].coef * (index_of(s, term[i].atom->index)->extent - 1));
    for (int i = 0; i < n; i++) {
        const Index *index = index_of(s, term[i].atom->index);
        int64_t size = llabs(term[i].coef);
        const Affine *q = digit(s, rest, size, index);
        rest = affine_sub(x, rest, affine_scale(x, q, size));
        s->x[index->id] =
            term[i].coef > 0 ? q : affine_add_const(x, affine_scale(x, q, -1), index->extent - 1);
    }
    need(s->c, s->w, rest);
    need(s->c, s->w, affine_scale(x, rest, -1));
    return true;
}

typedef struct TreeEquation {
    const Affine *f, *value;
} TreeEquation;

// Is `f` one division (modulo)?
static const Atom *only(const Affine *f, AtomKind kind) {
    return f->n == 1 && f->constant == 0 && f->term[0].coef == 1 && f->term[0].atom->kind == kind
               ? f->term[0].atom
               : NULL;
}

// a/c = v and a%c = w  ->  a = c*v + w, as in blocked layouts.
static int join_digits(TreeSolve *s, TreeEquation *e, int n) {
    Exprs *x = pool(s->c);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n && !more; i++)
            for (int j = 0; j < n && !more; j++) {
                int64_t c;
                const Affine *a = facts_digits(x, e[i].f, e[j].f, &c);
                if (!a) continue;
                e[i] = (TreeEquation){a, affine_add(x, affine_scale(x, e[i].value, c), e[j].value)};
                need(s->c, s->w, e[j].value);
                need(s->c, s->w, affine_add_const(x, affine_scale(x, e[j].value, -1), c - 1));
                e[j] = e[--n];
                more = true;
            }
    }
    return n;
}

// a%c = v  ->  a = v, the first solution, if v is a remainder.
static TreeEquation least_remainder(TreeSolve *s, TreeEquation e) {
    Exprs *x = pool(s->c);
    const Atom *r = only(e.f, ATOM_MOD);
    if (!r || !affine_is_const(r->b) || r->b->constant < 1) return e;
    need(s->c, s->w, e.value);
    need(s->c, s->w, affine_add_const(x, affine_scale(x, e.value, -1), r->b->constant - 1));
    return (TreeEquation){r->a, e.value};
}

// Shared indices outside of `level` take y's value, or the only value that the writer's guards
// allow, which must not come later. False: in the same iteration of all of them the writer runs
// later.
static bool place_shared(TreeSolve *s, const Use *p, const Use *r, int fixed, int level) {
    Exprs *x = pool(s->c);
    Common common = facts_common(p, r);
    bool sooner = common.blocks && p->child[common.blocks - 1] < r->child[common.blocks - 1];
    for (int i = 0; i < level; i++) {
        const Index *index = p->index[i];
        int64_t lo, hi;
        facts_range(&s->c->v->f, p, index, &lo, &hi);
        const Affine *y = s->c->y.at[index->id];
        if (i >= fixed && !index->passed && lo == hi && index->extent > 1) {
            s->x[index->id] = affine_const(x, lo);
            need(s->c, s->w, affine_add_const(x, y, -lo));
        } else
            s->x[index->id] = y;
    }
    return level < common.indices || (sooner && p != r);
}

// Divisions come last: an unknown in a/c = v is taken from a = c*v.
static bool solve_quotients(TreeSolve *s, const Use *p) {
    Exprs *x = pool(s->c);
    for (int i = 0; i < s->nquotients; i++) {
        const Atom *t = s->quotient[i].atom;
        int64_t size = t->b->constant;
        if (size < 1) return false;
        const Affine *least = affine_scale(x, s->quotient[i].value, size);
        if (!is_known(s, p, t->a) && !solve_equation(s, p, t->a, least)) return false;
        const Affine *rest = affine_sub(x, affine_substitute(x, t->a, s->x, NULL), least);
        need(s->c, s->w, rest);
        need(s->c, s->w, affine_add_const(x, affine_scale(x, rest, -1), size - 1));
    }
    return true;
}

// For each index id that is passed in: its value over indices that are not.
static const Affine **expand_passed(const TreeCover *c, const Use *p) {
    const Affine **to = arena_new_n(c->v->f.arena, const Affine *, c->v->f.t->nindices);
    for (int i = 0; i < p->nindex; i++)
        if (p->index[i]->passed)
            to[p->index[i]->id] = affine_substitute(pool(c), p->index[i]->passed, to, NULL);
    return to;
}

// x(y) for one writer; false if it cannot be expressed. Shared indices outside of number `level`
// are equal; the index at `level`, if it is shared, is less than y's.
static bool solve(TreeCover *c, Server *w, const Touch *writer, int level) {
    const Use *p = use_of(c, writer), *r = use_of(c, c->read);
    const Access *a = writer->access;
    TreeSolve s = {.c = c, .w = w};
    s.x = arena_new_n(c->v->f.arena, const Affine *, c->v->f.t->nindices);
    *w = (Server){.touch = writer};
    if (!place_shared(&s, p, r, facts_fixed(&c->v->f, r, a->tensor), level)) return false;
    TreeEquation e[TREE_MAX_RANK];
    const Affine **proper = expand_passed(c, p);
    for (int d = 0; d < a->rank; d++)
        e[d] = (TreeEquation){affine_substitute(pool(c), a->sub[d], proper, NULL), c->element[d]};
    int n = join_digits(&s, e, a->rank);
    for (int i = 0; i < n; i++)
        if (!is_known(&s, p, e[i].f)) e[i] = least_remainder(&s, e[i]);
    for (int i = 0; i < n; i++) {
        const Atom *q = only(e[i].f, ATOM_DIV);
        if (!q || !affine_is_const(q->b) || s.nquotients == MAX_QUOTIENTS) continue;
        s.quotient[s.nquotients++] = (Quotient){q, e[i].value};
    }
    for (int i = 0; i < n; i++)
        if (!only(e[i].f, ATOM_DIV) && !solve_equation(&s, p, e[i].f, e[i].value)) return false;
    if (!solve_quotients(&s, p)) return false;
    for (int i = 0; i < p->nindex; i++) {
        const Index *index = p->index[i];
        if (is_unknown(&s, index->id)) {
            int64_t lo, hi;
            facts_range(&c->v->f, p, index, &lo, &hi);
            s.x[index->id] = index->passed ? affine_substitute(pool(c), index->passed, s.x, NULL)
                                           : affine_const(pool(c), lo);
        }
        if (index->passed) continue;
        need(c, w, s.x[index->id]);
        need(c, w,
             affine_add_const(pool(c), affine_scale(pool(c), s.x[index->id], -1),
                              index->extent - 1));
    }
    for (int i = 0; i < p->depth; i++)
        for (int k = 0; k < p->path[i]->nconstraints; k++)
            need(c, w, affine_substitute(pool(c), p->path[i]->constraint[k], s.x, NULL));
    if (level < facts_common(p, r).indices) {
        int id = p->index[level]->id;
        const Affine *ahead = affine_sub(pool(c), c->y.at[id], s.x[id]);
        need(c, w, affine_add_const(pool(c), ahead, -1));
    }
    return true;
}

// --- Who serves which reads --------------------------------------------------------------------

// Is there a y in the remaining system that no writer from number `from` on serves? DEP_YES leaves
// it in c->s.point.
static DepAnswer unserved(TreeCover *c, int from) {
    bool undecided = false;
    if (c->asked++ > MAX_ASKED) return DEP_UNDECIDED;
    if (from == c->nservers) return ask(c->v, &c->s);
    const Server *w = &c->server[from];
    if (from && w->need.n && ask(c->v, &c->s) == DEP_NO) return DEP_NO;
    for (int i = 0; i < w->need.n; i++) {
        int n = c->s.least.n;
        system_least(&c->s,
                     affine_add_const(pool(c), affine_scale(pool(c), w->need.at[i], -1), -1));
        DepAnswer answer = unserved(c, from + 1);
        c->s.least.n = n;
        if (answer == DEP_YES) return answer;
        undecided |= answer == DEP_UNDECIDED;
    }
    return undecided ? DEP_UNDECIDED : DEP_NO;
}

// Does any write, of whatever element, precede the read at c->s.point?
static bool maybe_written(TreeCover *c, const Touch *writer) {
    const Use *p = use_of(c, writer), *r = use_of(c, c->read);
    Common common = facts_common(p, r);
    int fixed = facts_fixed(&c->v->f, r, writer->access->tensor);
    for (int level = fixed; level <= common.indices; level++) {
        bool last = level == common.indices;
        if (last && common.blocks && p->child[common.blocks - 1] >= r->child[common.blocks - 1])
            return false;
        System s;
        Point x;
        system_init(&s, &c->v->f);
        system_enter(&s, p, &x, 0, NULL);
        for (int i = 0; i < common.indices && (i < level || last); i++) {
            int64_t at = 0;
            if (!affine_eval(c->y.at[r->index[i]->id], c->s.point, NULL, NULL, NULL, &at))
                return true;
            system_equal(&s, x.at[p->index[i]->id], affine_const(pool(c), at));
        }
        if (!last) {
            int64_t at = 0;
            if (!affine_eval(c->y.at[r->index[level]->id], c->s.point, NULL, NULL, NULL, &at))
                return true;
            const Affine *earlier = x.at[p->index[level]->id], *now = affine_const(pool(c), at);
            if (kind_is_unordered(p->of[level]->kind)) continue;
            system_less(&s, earlier, now);
        }
        for (int d = 0; d < writer->access->rank; d++) {
            int64_t at;
            if (!affine_eval(c->element[d], c->s.point, NULL, NULL, NULL, &at)) return true;
            system_equal(&s, system_value(&s, &x, writer->access->sub[d]),
                         affine_const(pool(c), at));
        }
        if (ask(c->v, &s) != DEP_NO) return true;
    }
    return false;
}

// False: it may have been written.
static bool report_unwritten(TreeCover *c, int buffer) {
    const Leaf *leaf = use_of(c, c->read)->leaf;
    for (int i = c->v->f.first[buffer]; i >= 0; i = c->v->f.touch.at[i].next) {
        const Touch *w = &c->v->f.touch.at[i];
        if (w->kind != TOUCH_READ && w != c->read && maybe_written(c, w)) return false;
    }
    Text element = {.arena = c->v->f.arena};
    text_printf(&element, "%s[", c->v->f.t->buffers.at[buffer].name);
    for (int d = 0; d < c->read->access->rank; d++) {
        int64_t at = 0;
        if (!affine_eval(c->element[d], c->s.point, NULL, NULL, NULL, &at)) at = -1;
        text_printf(&element, "%s%lld", d ? ", " : "", (long long)at);
    }
    text_char(&element, ']');
    diag_report(c->v->diags, tree_access_range(c->v->f.t, leaf, c->read->access),
                DIAG_TREE_UNWRITTEN, point_show(&c->s, &c->y), text_str(&element));
    c->v->refused = true;
    return true;
}

// Integers that are read from memory, each a variable: equal reads are equal.
typedef struct Data {
    const Atom *atom[TREE_MAX_RANK];
    const Affine *value[TREE_MAX_RANK];
    int n;
} Data;

static const Affine *datum(TreeCover *c, Data *data, const Atom *read) {
    enum { MOST_BITS = 40 }; // larger values cannot be indices
    for (int i = 0; i < data->n; i++)
        if (data->atom[i] == read) return data->value[i];
    if (data->n == TREE_MAX_RANK || c->s.n == DEP_MAX_ITERS) {
        c->s.broken = true;
        return affine_const(pool(c), 0);
    }
    c->s.hi[c->s.n] = INT64_C(1) << MOST_BITS;
    c->s.lo[c->s.n] = -c->s.hi[c->s.n];
    data->atom[data->n] = read;
    return data->value[data->n++] = affine_iter(pool(c), c->s.n++);
}

// A subscript over the system's variables, with a further one for each integer that is read.
static const Affine *any_data(TreeCover *c, Data *data, const Affine *a) {
    Exprs *x = pool(c);
    if (!a->has_read) return a;
    const Affine *sum = affine_const(x, a->constant);
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        const Affine *p = t->has_read && t->a ? any_data(c, data, t->a) : t->a;
        const Affine *q = t->has_read && t->b ? any_data(c, data, t->b) : t->b;
        const Affine *v = !t->has_read           ? affine_make(x, 0, &(Term){t, 1}, 1)
                          : t->kind == ATOM_READ ? datum(c, data, t)
                          : t->kind == ATOM_DIV  ? affine_div(x, p, q)
                          : t->kind == ATOM_MOD  ? affine_mod(x, p, q)
                          : t->kind == ATOM_MIN  ? affine_min(x, p, q)
                          : t->kind == ATOM_MAX  ? affine_max(x, p, q)
                                                 : affine_mul(x, p, q);
        sum = affine_add(x, sum, affine_scale(x, v, a->term[i].coef));
    }
    return sum;
}

static bool enter(TreeCover *c) {
    const Access *a = c->read->access;
    const Buffer *b = &c->v->f.t->buffers.at[a->tensor];
    Data data = {.n = 0};
    system_init(&c->s, &c->v->f);
    c->s.pool = &c->work;
    system_enter(&c->s, use_of(c, c->read), &c->y, 0, NULL);
    system_facts(&c->s, &c->y, c->read);
    for (int d = 0; d < a->rank; d++) {
        if (!a->sub[d]->has_read) {
            c->element[d] = system_value(&c->s, &c->y, a->sub[d]);
            continue;
        }
        if (b->size[d] <= 0) return false;
        const Affine *e = c->element[d] = any_data(c, &data, system_value(&c->s, &c->y, a->sub[d]));
        system_least(&c->s, e); // an index from data is checked when it is used
        system_least(&c->s,
                     affine_add_const(pool(c), affine_scale(pool(c), e, -1), b->size[d] - 1));
    }
    for (int i = 0; i < c->s.n; i++) {
        c->lo[i] = c->s.lo[i];
        c->hi[i] = c->s.hi[i] - 1;
        if (c->hi[i] < c->lo[i]) return false; // nothing runs
    }
    return true;
}

// A writer in the same iteration of all loops around both; or in an earlier iteration of an ordered
// loop, the innermost loop first. True: it serves every y.
static bool add_servers(TreeCover *c, const Touch *writer, bool carried) {
    const Use *p = use_of(c, writer), *r = use_of(c, c->read);
    int common = facts_common(p, r).indices, last = common;
    if (carried) last = facts_fixed(&c->v->f, r, writer->access->tensor);
    for (int level = common - carried; level >= last && c->nservers < MAX_WRITERS; level--) {
        if (carried && (kind_is_unordered(p->of[level]->kind) || p->index[level]->passed ||
                        p->index[level]->extent <= 1))
            continue;
        if (!solve(c, &c->server[c->nservers], writer, level)) continue;
        if (!c->server[c->nservers++].need.n) return true;
    }
    return false;
}

// Is there a y that no writer serves, with or without those of earlier iterations?
static DepAnswer ask_writers(TreeCover *c, bool carried) {
    const TreeFacts *f = &c->v->f;
    c->asked = 0;
    for (int i = f->first[c->read->access->tensor]; i >= 0; i = f->touch.at[i].next) {
        const Touch *w = &f->touch.at[i];
        if (w->kind != TOUCH_ASSIGN || w->access->has_read) continue;
        if (add_servers(c, w, carried)) return DEP_NO;
    }
    return unserved(c, 0);
}

// False: not decided.
static bool check_read(Verifier *v, const Touch *read) {
    TreeCover c;
    c.v = v;
    c.read = read;
    c.nservers = c.asked = 0;
    c.work = MAX_WORK;
    int buffer = read->access->tensor;
    if (!enter(&c)) return true;
    if (c.s.broken) return false;
    DepAnswer answer = ask_writers(&c, false);
    if (answer != DEP_NO) answer = ask_writers(&c, true);
    if (answer == DEP_NO) return true;
    return answer == DEP_YES && read->whole && !read->access->has_read &&
           report_unwritten(&c, buffer);
}

// Allocations, and arguments that start without content.
static bool starts_empty(const Verifier *v, int buffer) {
    const Program *p = v->f.t->program;
    if (buffer >= v->f.t->nargs) return true;
    return p && buffer < p->tensors.n && p->tensors.at[buffer].role == ROLE_OUTPUT;
}

// A copy of a Schedule moves whole boxes, including unwritten elements; moving an element does not
// use it.
static bool only_moves(const Verifier *v, const Touch *read) {
    const Leaf *leaf = v->f.use.at[read->use].leaf;
    const Expr *e = leaf->value;
    if (e->kind == EXPR_OP && e->op == OP_CAST) e = e->arg[0]; // to a wider type
    return leaf->stmt >= 0 && leaf->op == REDUCE_ASSIGN && leaf->write->tensor >= v->f.t->nargs &&
           e->kind == EXPR_READ && e->access == read->access;
}

static void check_reads_of(Verifier *v, int buffer) {
    bool *open = arena_new_n(v->f.arena, bool, v->f.touch.n), any = false;
    const Touch *last = NULL;
    for (int i = v->f.first[buffer]; i >= 0; i = v->f.touch.at[i].next) {
        const Touch *t = &v->f.touch.at[i];
        if (t->kind == TOUCH_ASSIGN || (last && t->use == last->use && t->access == last->access))
            continue;
        if (only_moves(v, t)) continue;
        any |= open[i] = !check_read(v, t);
        last = t;
    }
    if (!any || verify_walk(v, buffer, open)) return;
    for (int i = v->f.first[buffer]; i >= 0; i = v->f.touch.at[i].next)
        if (open[i])
            not_proven(v, &v->f.use.at[v->f.touch.at[i].use].leaf->node,
                       "what a leaf reads is written before");
}

void verify_written(Verifier *v) {
    for (int b = 0; b < v->f.t->buffers.n; b++)
        if (v->f.first[b] >= 0 && starts_empty(v, b)) check_reads_of(v, b);
}
