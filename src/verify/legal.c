// The judge; see legal.h.
//
// For a pair of accesses, each index around both gives a case: the outermost index in which two
// instances differ decides their order. An allocation is new in every iteration of its block, so
// only indices inside that block count. If no index differs, the order of children decides.
#include "verify/legal.h"

#include "base/checked.h"

const char *const legal_kind_name[] = {"flow", "anti", "output"};

typedef struct Pair {
    const Touch *a, *b;
    const Use *p, *q;
    Common common;
    int fixed;
    LegalRule rule;
} Pair;

// Two instances, one of each access, and the question about them.
typedef struct Case {
    System s;
    Point x, y;
    int level; // the index that differs; common.indices: the order of children
} Case;

static const Use *use_of(const Legal *l, const Touch *t) { return &l->f->use.at[t->use]; }

static const Use *was_of(const Legal *l, const Touch *t) { return l->before->was[t->use]; }

// --- Witnesses ---------------------------------------------------------------------------------

// The value of an old index at an instance of the new Tree; NULL: unknown.
static const Affine *old_value(const Legal *l, const System *s, const Point *p, const Touch *t,
                               const Index *index) {
    const Affine **value = l->before->value[t->use];
    const Affine *a = value ? value[index->id] : NULL;
    return a ? system_value(s, p, a) : p->at[index->id];
}

static Instance instance(const Legal *l, const Case *c, const Point *p, const Touch *t) {
    Instance out = {.use = p->use, .touch = t, .text = point_show(&c->s, p)};
    int64_t *at = arena_new_n(l->f->arena, int64_t, p->use->nindex);
    for (int i = 0; i < p->use->nindex; i++)
        at[i] = system_number(&c->s, p->at[p->use->index[i]->id]);
    out.at = at;
    if (!l->before) return out;
    const Use *was = was_of(l, t);
    int64_t *old = arena_new_n(l->f->arena, int64_t, was->nindex);
    for (int i = 0; i < was->nindex; i++) {
        const Affine *a = old_value(l, &c->s, p, t, was->index[i]);
        old[i] = a ? system_number(&c->s, a) : 0;
    }
    out.was = old;
    return out;
}

static LegalKind kind_of(const Touch *source, const Touch *sink) {
    if (sink->kind == TOUCH_READ) return LEGAL_FLOW;
    return source->kind == TOUCH_READ ? LEGAL_ANTI : LEGAL_OUTPUT;
}

// Reports the pair; `a_is_source` tells whether a's instance must run first.
static void report(Legal *l, const Pair *pair, const Case *c, bool a_is_source) {
    const Touch *a = pair->a, *b = pair->b;
    Witness w = {.tree = l->f->t, .rule = pair->rule, .buffer = a->access->tensor};
    w.before = l->before ? l->before->facts.t : NULL;
    w.source = a_is_source ? instance(l, c, &c->x, a) : instance(l, c, &c->y, b);
    w.sink = a_is_source ? instance(l, c, &c->y, b) : instance(l, c, &c->x, a);
    w.kind = kind_of(w.source.touch, w.sink.touch);
    if (c->level < pair->common.indices) {
        w.loop = pair->p->index[c->level];
        w.loop_kind = pair->p->of[c->level]->kind;
    }
    for (int d = 0; d < a->access->rank; d++) {
        const Affine *sub = a->access->sub[d];
        w.element[d] = sub->has_read ? -1 : system_number(&c->s, system_value(&c->s, &c->x, sub));
    }
    w.text = element_show(&c->s, &c->x, a->access);
    l->refused = true;
    l->found(l->user, &w);
}

// Handles the answer to a question. Accesses guarded by data may not happen. Returns false for a
// fault.
static bool answered(Legal *l, const Pair *pair, Case *c, bool a_is_source) {
    l->questions++;
    DepAnswer answer = system_decide(&c->s);
    if (answer == DEP_NO) return true;
    if (answer == DEP_YES && pair->a->whole && pair->b->whole) {
        report(l, pair, c, a_is_source);
    } else {
        l->unproven = true;
        l->open(l->user, pair->a, pair->b, pair->rule);
    }
    return false;
}

// Instances of both on one element, equal in `level` common indices, with x < y (sign > 0) or y < x
// in the next one, or, with sign 0, equal in all.
static void ask(const Legal *l, const Pair *pair, Case *c, int level, int sign) {
    c->level = level;
    system_init(&c->s, l->f);
    system_enter(&c->s, pair->p, &c->x, 0, NULL);
    system_enter(&c->s, pair->q, &c->y, sign ? level : pair->common.indices, &c->x);
    system_facts(&c->s, &c->x, pair->a);
    system_facts(&c->s, &c->y, pair->b);
    if (!sign) return;
    int id = pair->p->index[level]->id;
    const Affine *x = c->x.at[id], *y = c->y.at[id];
    system_less(&c->s, sign > 0 ? x : y, sign > 0 ? y : x);
}

static void meet(const Pair *pair, Case *c) {
    system_meet(&c->s, &c->x, pair->a->access, &c->y, pair->b->access);
}

// --- The Tree by itself ------------------------------------------------------------------------

static int rank_of(const Leaf *leaf) { return 2 * leaf->stmt + (leaf->role != LEAF_INIT); }

// -1: the Program runs a's leaf first; 1: b's leaf; 0: it does not fix the order.
static int program_order(const Legal *l, const Pair *pair) {
    if (!l->f->t->program || pair->p->leaf->stmt < 0 || pair->q->leaf->stmt < 0) return 0;
    int a = rank_of(pair->p->leaf), b = rank_of(pair->q->leaf);
    return (a > b) - (a < b);
}

static bool check_unordered(Legal *l, const Pair *pair, int level) {
    for (int sign = 1; sign >= (pair->a == pair->b ? 1 : -1); sign -= 2) {
        Case c;
        ask(l, pair, &c, level, sign);
        meet(pair, &c);
        if (!answered(l, pair, &c, sign > 0)) return false;
    }
    return true;
}

// `sign` tells which one must not run first at this level (see ask); 0: by the order of children.
static bool check_ordered(Legal *l, const Pair *pair, int level, int sign, bool a_first) {
    Case c;
    ask(l, pair, &c, level, sign);
    meet(pair, &c);
    return answered(l, pair, &c, a_first);
}

// Do the bounds allow x (of p) to be less than y (of q)?
static bool may_be_less(const Legal *l, const Use *p, const Use *q, const Index *i) {
    int64_t plo, phi, qlo, qhi;
    facts_range(l->f, p, i, &plo, &phi);
    facts_range(l->f, q, i, &qlo, &qhi);
    return plo < qhi && plo <= phi && qlo <= qhi;
}

// Serial iterators of the Program that the statements of both leaves share.
static int common_steps(const Legal *l, const Pair *pair) {
    const Program *p = l->f->t->program;
    const Leaf *a = pair->p->leaf, *b = pair->q->leaf;
    if (!p || a->stmt < 0 || b->stmt < 0 || !a->iter || !b->iter) return 0;
    return a->stmt <= b->stmt ? stmts_common(p, a->stmt, b->stmt)
                              : stmts_common(p, b->stmt, a->stmt);
}

// An x must not run first if its step in the Program is later than that of y: equal in `old` serial
// iterators and greater in the next one; old == steps: equal in all. `sign` is as for `ask`; for
// sign 0, `a_first` tells which one runs first.
static bool check_step(Legal *l, const Pair *pair, int level, int sign, bool a_first, int old,
                       int steps) {
    const Leaf *a = pair->p->leaf, *b = pair->q->leaf;
    Case c;
    ask(l, pair, &c, level, sign);
    for (int i = 0; i < steps && i <= old; i++) {
        const Affine *x = system_value(&c.s, &c.x, a->iter[i]);
        const Affine *y = system_value(&c.s, &c.y, b->iter[i]);
        if (i < old)
            system_equal(&c.s, x, y);
        else
            system_less(&c.s, a_first ? y : x, a_first ? x : y);
    }
    meet(pair, &c);
    return answered(l, pair, &c, !a_first);
}

// Checks both orders in which the pair may run at a level (or as children); false: a fault.
static bool judge_level(Legal *l, const Pair *pair, int level, int steps, int order, bool a,
                        bool b) {
    bool indices = level < pair->common.indices;
    for (int a_first = 0; a_first < 2; a_first++) {
        if (a_first ? !a : !b) continue;
        int sign = !indices ? 0 : a_first ? 1 : -1;
        for (int old = 0; old < steps; old++)
            if (!check_step(l, pair, level, sign, a_first, old, steps)) return false;
        if ((a_first ? order > 0 : order < 0) &&
            !check_step(l, pair, level, sign, a_first, steps, steps))
            return false;
    }
    return true;
}

// Checks the order of the Program's steps, and of its statements within a step.
static void judge_steps(Legal *l, Pair *pair, int steps) {
    int order = program_order(l, pair);
    for (int level = pair->fixed; level < pair->common.indices; level++) {
        const Index *x = pair->p->index[level];
        bool unordered = kind_is_unordered(pair->p->of[level]->kind);
        if (x->passed || x->extent <= 1) continue;
        bool pq = may_be_less(l, pair->p, pair->q, x), qp = may_be_less(l, pair->q, pair->p, x);
        if (facts_aligned(l->f, pair->p, pair->a->access, pair->q, pair->b->access, level))
            continue;
        pair->rule = unordered ? LEGAL_UNORDERED : LEGAL_PROGRAM;
        if (unordered ? (pq || qp) && !check_unordered(l, pair, level)
                      : !judge_level(l, pair, level, steps, order, pq, qp && pair->a != pair->b))
            return;
    }
    if (pair->p == pair->q || !pair->common.blocks) return;
    int at = pair->common.blocks - 1;
    int first = pair->p->child[at] - pair->q->child[at];
    pair->rule = LEGAL_PROGRAM;
    if (first) judge_level(l, pair, pair->common.indices, steps, order, first<0, first> 0);
}

static void judge_alone(Legal *l, Pair *pair) {
    int steps = common_steps(l, pair);
    if (steps) {
        judge_steps(l, pair, steps);
        return;
    }
    int order = program_order(l, pair);
    for (int level = pair->fixed; level < pair->common.indices; level++) {
        const Index *x = pair->p->index[level];
        bool unordered = kind_is_unordered(pair->p->of[level]->kind);
        if (x->passed || x->extent <= 1 || (!unordered && !order)) continue;
        bool pq = may_be_less(l, pair->p, pair->q, x), qp = may_be_less(l, pair->q, pair->p, x);
        if (unordered ? !pq && !qp : order < 0 ? !qp : !pq) continue;
        if (facts_aligned(l->f, pair->p, pair->a->access, pair->q, pair->b->access, level))
            continue;
        pair->rule = unordered ? LEGAL_UNORDERED : LEGAL_PROGRAM;
        if (unordered ? !check_unordered(l, pair, level)
                      : !check_ordered(l, pair, level, order < 0 ? -1 : 1, order < 0))
            return;
    }
    if (!order || pair->p == pair->q || !pair->common.blocks) return;
    int at = pair->common.blocks - 1; // equal in all indices: the order of children
    int first = pair->p->child[at] - pair->q->child[at];
    pair->rule = LEGAL_PROGRAM;
    if (first && (first < 0) != (order < 0))
        check_ordered(l, pair, pair->common.indices, 0, order < 0);
}

// --- Comparison with the Tree before -----------------------------------------------------------

// Is there an x before y in the new Tree, by the index at `level` (or by children), with y before x
// in the old Tree, by the index at `old`?
static bool check_reversed(Legal *l, const Pair *pair, int level, int old, int shared) {
    const Use *p = was_of(l, pair->a), *q = was_of(l, pair->b);
    Case c;
    ask(l, pair, &c, level, level < pair->common.indices ? 1 : 0);
    for (int i = 0; i < shared && i <= old; i++) {
        if (p->index[i]->passed) continue;
        const Affine *u = old_value(l, &c.s, &c.x, pair->a, p->index[i]);
        const Affine *v = old_value(l, &c.s, &c.y, pair->b, q->index[i]);
        if (!u || !v) {
            c.s.broken = true;
            break;
        }
        if (i < old)
            system_equal(&c.s, u, v);
        else
            system_less(&c.s, v, u);
    }
    meet(pair, &c);
    return answered(l, pair, &c, false);
}

static bool by_child(const Use *p, const Use *q, Common c) {
    return c.blocks && p->child[c.blocks - 1] < q->child[c.blocks - 1];
}

// False: a fault was found.
static bool check_case(Legal *l, const Pair *pair, int level) {
    const Use *p = was_of(l, pair->a), *q = was_of(l, pair->b);
    Common then = facts_common(p, q);
    for (int old = 0; old < then.indices; old++) {
        if (p->index[old]->passed || p->index[old]->extent <= 1) continue;
        if (kind_is_unordered(p->of[old]->kind)) continue;
        if (!check_reversed(l, pair, level, old, then.indices)) return false;
    }
    return !by_child(q, p, then) || check_reversed(l, pair, level, then.indices, then.indices);
}

// No x of a runs before a y of b that ran before it in the old Tree.
static bool judge_half(Legal *l, const Pair *pair) {
    if (!was_of(l, pair->a) || !was_of(l, pair->b)) return true;
    for (int level = pair->fixed; level < pair->common.indices; level++) {
        const Index *x = pair->p->index[level];
        if (x->passed || x->extent <= 1 || kind_is_unordered(pair->p->of[level]->kind)) continue;
        if (facts_aligned(l->f, pair->p, pair->a->access, pair->q, pair->b->access, level))
            continue;
        if (!check_case(l, pair, level)) return false;
    }
    return !by_child(pair->p, pair->q, pair->common) || check_case(l, pair, pair->common.indices);
}

static Pair pair_of(const Legal *l, const Touch *a, const Touch *b) {
    Pair pair = {.a = a, .b = b, .p = use_of(l, a), .q = use_of(l, b), .rule = LEGAL_BEFORE};
    pair.common = facts_common(pair.p, pair.q);
    pair.fixed = facts_fixed(l->f, pair.p, a->access->tensor);
    return pair;
}

static void judge_pair(Legal *l, const Touch *a, const Touch *b) {
    Pair pair = pair_of(l, a, b);
    if (!l->before) {
        judge_alone(l, &pair);
    } else if (judge_half(l, &pair) && a != b) {
        pair = pair_of(l, b, a);
        judge_half(l, &pair);
    }
}

// --- All pairs ---------------------------------------------------------------------------------

static bool commute(const Legal *l, const Touch *a, const Touch *b) {
    if (a->kind == TOUCH_READ && b->kind == TOUCH_READ) return true;
    return a->kind == TOUCH_REDUCE && b->kind == TOUCH_REDUCE &&
           use_of(l, a)->leaf->op == use_of(l, b)->leaf->op;
}

static bool only_read(const TreeFacts *f, int buffer) {
    for (int i = f->first[buffer]; i >= 0; i = f->touch.at[i].next)
        if (f->touch.at[i].kind != TOUCH_READ) return false;
    return true;
}

void legal_judge(Legal *l) {
    const TreeFacts *f = l->f;
    for (int buffer = 0; buffer < f->t->buffers.n; buffer++) {
        if (only_read(f, buffer)) continue;
        for (int i = f->first[buffer]; i >= 0; i = f->touch.at[i].next)
            for (int j = i; j >= 0; j = f->touch.at[j].next) {
                if (commute(l, &f->touch.at[i], &f->touch.at[j])) continue;
                judge_pair(l, &f->touch.at[i], &f->touch.at[j]);
                if (l->first && (l->refused || l->unproven)) return;
            }
    }
}
