// Leaves, accesses and systems; see facts.h.
//
// A system numbers its variables from 0, whatever the ids of the Tree's indices: values of indices
// are substituted into everything that enters it. Passed indices disappear that way, and indices
// that two instances share are one variable.
#include "tree/tree_facts.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "poly/poly.h"
#include "program/piece.h"

bool kind_is_unordered(Kind k) { return k != KIND_SERIAL && k != KIND_UNROLL; }

// --- Conditions around a read ------------------------------------------------------------------

typedef struct Guards {
    VEC(const Affine *) fact;
    bool whole;
} Guards;

static const Affine *as_affine(TreeFacts *f, const Expr *e) {
    return expr_as_affine(f->x, e, f->lo, f->hi);
}

static void learn_order(TreeFacts *f, Guards *g, const Affine *a, const Affine *b, bool strict) {
    vec_push(f->arena, &g->fact, affine_add_const(f->x, affine_sub(f->x, b, a), strict ? -1 : 0));
}

// Facts that follow if `e` evaluated to `holds`.
static void learn(TreeFacts *f, Guards *g, const Expr *e, bool holds) {
    if (e->kind == EXPR_OP && e->op == OP_NOT) {
        learn(f, g, e->arg[0], !holds);
        return;
    }
    if (e->kind == EXPR_OP && e->op == (holds ? OP_AND : OP_OR)) {
        learn(f, g, e->arg[0], holds);
        learn(f, g, e->arg[1], holds);
        return;
    }
    const Affine *a = NULL, *b = NULL;
    if (e->kind == EXPR_OP && e->n == 2 && op_info[e->op].class == OP_COMPARE) {
        a = as_affine(f, e->arg[0]);
        b = as_affine(f, e->arg[1]);
    }
    ExprOp op = e->op;
    if (!a || !b) {
        g->whole = false;
    } else if (op == (holds ? OP_LT : OP_GE)) {
        learn_order(f, g, a, b, true);
    } else if (op == (holds ? OP_LE : OP_GT)) {
        learn_order(f, g, a, b, false);
    } else if (op == (holds ? OP_GT : OP_LE)) {
        learn_order(f, g, b, a, true);
    } else if (op == (holds ? OP_GE : OP_LT)) {
        learn_order(f, g, b, a, false);
    } else if (op == (holds ? OP_EQ : OP_NE)) {
        learn_order(f, g, a, b, false);
        learn_order(f, g, b, a, false);
    } else {
        g->whole = false;
    }
}

// --- Accesses ----------------------------------------------------------------------------------

static void add_touch(TreeFacts *f, TouchKind kind, const Access *a, const Guards *g) {
    Touch t = {.use = f->use.n - 1, .kind = kind, .access = a, .next = -1, .whole = true};
    if (g) {
        t.guarded = true;
        t.whole = g->whole;
        t.nfacts = g->fact.n;
        t.fact = g->fact.n
                     ? arena_copy(f->arena, g->fact.at, (size_t)g->fact.n * sizeof *g->fact.at)
                     : NULL;
    }
    int *last = &f->last[a->tensor];
    if (*last >= 0)
        f->touch.at[*last].next = f->touch.n;
    else
        f->first[a->tensor] = f->touch.n;
    *last = f->touch.n;
    vec_push(f->arena, &f->touch, t);
}

static void touch_affine(TreeFacts *f, const Affine *a, const Guards *g);

static void touch_access(TreeFacts *f, TouchKind kind, const Access *a, const Guards *g) {
    for (int d = 0; a->has_read && d < a->rank; d++) touch_affine(f, a->sub[d], g);
    add_touch(f, kind, a, g);
}

static void touch_affine(TreeFacts *f, const Affine *a, const Guards *g) {
    for (int i = 0; a->has_read && i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_READ) touch_access(f, TOUCH_READ, t->read, g);
        if (t->a) touch_affine(f, t->a, g);
        if (t->b) touch_affine(f, t->b, g);
    }
}

static void touch_expr(TreeFacts *f, const Expr *e, const Guards *g);

static void touch_under(TreeFacts *f, const Expr *e, const Guards *g, const Expr *cond,
                        bool holds) {
    Guards more = {.whole = true};
    if (g) {
        more.whole = g->whole;
        for (int i = 0; i < g->fact.n; i++) vec_push(f->arena, &more.fact, g->fact.at[i]);
    }
    learn(f, &more, cond, holds);
    touch_expr(f, e, &more);
}

static void touch_expr(TreeFacts *f, const Expr *e, const Guards *g) {
    if (e->kind == EXPR_READ) touch_access(f, TOUCH_READ, e->access, g);
    if (e->kind == EXPR_INDEX) touch_affine(f, e->index, g);
    if (e->kind != EXPR_OP) return;
    touch_expr(f, e->arg[0], g);
    for (int i = 1; i < e->n; i++) {
        if (e->op == OP_SELECT)
            touch_under(f, e->arg[i], g, e->arg[0], i == 1);
        else if (e->op == OP_AND || e->op == OP_OR)
            touch_under(f, e->arg[i], g, e->arg[0], e->op == OP_AND);
        else
            touch_expr(f, e->arg[i], g);
    }
}

// --- Leaves ------------------------------------------------------------------------------------

typedef struct FactsWay {
    const Block *path[TREE_MAX_DEPTH * 2];
    int child[TREE_MAX_DEPTH * 2];
    int depth, nindex;
} FactsWay;

static void *copied(TreeFacts *f, const void *from, int n, size_t size) {
    return n ? arena_copy(f->arena, from, (size_t)n * size) : NULL;
}

static void add_use(TreeFacts *f, const Leaf *leaf, const FactsWay *w) {
    const Index **index = arena_new_n(f->arena, const Index *, 2 * w->nindex);
    const Block **of = (const Block **)(index + w->nindex);
    int n = 0;
    for (int i = 0; i < w->depth; i++)
        for (int k = 0; k < w->path[i]->nindex; k++) {
            index[n] = &w->path[i]->index[k];
            of[n++] = w->path[i];
        }
    Use u = {.leaf = leaf,
             .depth = w->depth,
             .path = copied(f, w->path, w->depth, sizeof *w->path),
             .child = copied(f, w->child, w->depth, sizeof *w->child),
             .nindex = n,
             .index = index,
             .of = of};
    vec_push(f->arena, &f->use, u);
    for (int i = 0; i < w->depth; i++)
        for (int c = 0; c < w->path[i]->nconstraints; c++)
            touch_affine(f, w->path[i]->constraint[c], NULL);
    touch_expr(f, leaf->value, NULL);
    touch_access(f, leaf->op == REDUCE_ASSIGN ? TOUCH_ASSIGN : TOUCH_REDUCE, leaf->write, NULL);
}

static void know_index(TreeFacts *f, const Index *x) {
    f->index[x->id] = x;
    f->lo[x->id] = 0;
    f->hi[x->id] = max_i64(x->extent - 1, 0);
    if (x->passed && !affine_bounds(x->passed, f->lo, f->hi, &f->lo[x->id], &f->hi[x->id]))
        f->overflow = true;
}

static void collect(TreeFacts *f, const Node *node, FactsWay *w) {
    const Block *b = as_block(node);
    if (node->kind == NODE_LEAF) add_use(f, (const Leaf *)node, w);
    if (node->kind == NODE_SPECIAL) f->specials = true;
    if (!b) return;
    require(w->depth < TREE_MAX_DEPTH * 2);
    for (int i = 0; i < b->nindex; i++) know_index(f, &b->index[i]);
    for (int i = 0; i < b->nallocs; i++) f->home[b->alloc[i]] = b;
    w->path[w->depth] = b;
    w->nindex += b->nindex;
    for (int i = 0; i < b->nchildren; i++) {
        w->child[w->depth++] = i;
        collect(f, b->child[i], w);
        w->depth--;
    }
    w->nindex -= b->nindex;
}

void facts_collect(TreeFacts *f, Arena *arena, const Tree *t) {
    *f = (TreeFacts){.arena = arena, .t = t, .x = t->exprs};
    int n = t->buffers.n;
    f->first = arena_new_n(arena, int, 2 * n);
    f->last = f->first + n;
    for (int i = 0; i < 2 * n; i++) f->first[i] = -1;
    f->home = arena_new_n(arena, const Block *, n);
    f->lo = arena_new_n(arena, int64_t, 2 * t->nindices);
    f->hi = f->lo + t->nindices;
    f->index = arena_new_n(arena, const Index *, t->nindices);
    FactsWay w;
    w.depth = w.nindex = 0;
    collect(f, &t->root->node, &w);
}

// --- Pairs -------------------------------------------------------------------------------------

Common facts_common(const Use *p, const Use *q) {
    Common c = {0};
    while (c.blocks < p->depth && c.blocks < q->depth && p->path[c.blocks] == q->path[c.blocks]) {
        c.indices += p->path[c.blocks]->nindex;
        bool apart = p->child[c.blocks] != q->child[c.blocks];
        c.blocks++;
        if (apart) break;
    }
    return c;
}

int facts_fixed(const TreeFacts *f, const Use *p, int buffer) {
    const Block *home = f->home[buffer];
    int n = 0;
    for (int i = 0; home && i < p->depth; i++) {
        n += p->path[i]->nindex;
        if (p->path[i] == home) return n;
    }
    return 0;
}

// The largest value of what a constraint has beside one index.
static bool rest_max(const TreeFacts *f, const Affine *a, int id, int64_t *max) {
    *max = a->constant;
    for (int i = 0; i < a->n; i++) {
        int other = a->term[i].atom->index;
        int64_t coef = a->term[i].coef;
        if (other == id) continue;
        if (!checked_fma(coef, coef > 0 ? f->hi[other] : f->lo[other], max)) return false;
    }
    return *max > -INT64_MAX;
}

void facts_range(const TreeFacts *f, const Use *p, const Index *x, int64_t *lo, int64_t *hi) {
    *lo = f->lo[x->id];
    *hi = f->hi[x->id];
    for (int i = 0; i < p->depth; i++)
        for (int c = 0; c < p->path[i]->nconstraints; c++) {
            const Affine *a = p->path[i]->constraint[c]; // coef*x + rest >= 0
            int64_t coef = a->linear ? affine_coef(a, x->id) : 0, max;
            if (!coef || coef < -INT64_MAX || !rest_max(f, a, x->id, &max)) continue;
            if (coef > 0)
                *lo = max_i64(*lo, ceil_div(-max, coef));
            else
                *hi = min_i64(*hi, floor_div(max, -coef));
        }
}

// Adds k times the bounds of what an access has beside the common indices, as a sum of differences.
static bool add_bounds(const TreeFacts *f, const Affine *a, int64_t k, const Use *common, int level,
                       int skip, int64_t *min, int64_t *max) {
    for (int i = 0; i < a->n; i++) {
        int id = a->term[i].atom->index;
        bool shared = id == skip;
        for (int l = 0; l < level && !shared; l++) shared = common->index[l]->id == id;
        if (shared) continue;
        int64_t coef = a->term[i].coef * k, lo = f->lo[id], hi = f->hi[id];
        if (!checked_fma(coef, coef > 0 ? lo : hi, min)) return false;
        if (!checked_fma(coef, coef > 0 ? hi : lo, max)) return false;
    }
    return true;
}

bool facts_aligned(const TreeFacts *f, const Use *p, const Access *a, const Use *q, const Access *b,
                   int level) {
    (void)q;
    int id = p->index[level]->id;
    for (int d = 0; d < a->rank; d++) {
        const Affine *g = a->sub[d], *h = b->sub[d];
        if (!g->linear || !h->linear) continue;
        int64_t coef = affine_coef(g, id), min, max;
        if (!coef || coef != affine_coef(h, id) || coef == INT64_MIN) continue;
        if (!checked_sub(g->constant, h->constant, &min)) continue;
        max = min;
        bool same = true; // earlier common indices cancel
        for (int l = 0; l < level && same; l++) {
            int other = p->index[l]->id;
            same = affine_coef(g, other) == affine_coef(h, other);
        }
        if (!same || !add_bounds(f, g, 1, p, level, id, &min, &max)) continue;
        if (!add_bounds(f, h, -1, p, level, id, &min, &max)) continue;
        int64_t size = coef > 0 ? coef : -coef;
        if (min > -size && max < size) return true;
    }
    return false;
}

// The one division by c in a sum, with coefficient 1; NULL: none, or several.
static const Atom *only_quotient(const Affine *f, const Affine *c) {
    const Atom *found = NULL;
    for (int i = 0; i < f->n; i++) {
        const Atom *t = f->term[i].atom;
        if (t->kind != ATOM_DIV || t->b != c) continue;
        if (found || f->term[i].coef != 1) return NULL;
        found = t;
    }
    return found;
}

const Affine *facts_digits(Exprs *x, const Affine *quotient, const Affine *remainder, int64_t *c) {
    const Atom *r = remainder->n == 1 ? remainder->term[0].atom : NULL;
    if (!r || remainder->constant || remainder->term[0].coef != 1 || r->kind != ATOM_MOD)
        return NULL;
    const Atom *q =
        affine_is_const(r->b) && r->b->constant > 0 ? only_quotient(quotient, r->b) : NULL;
    if (!q) return NULL;
    *c = r->b->constant; // multiples of c are moved out of a/c and dropped from a%c
    const Affine *rest = affine_sub(x, quotient, affine_make(x, 0, &(Term){q, 1}, 1));
    const Affine *a = affine_add(x, affine_scale(x, rest, *c), q->a),
                 *apart = affine_sub(x, a, r->a);
    if (apart->constant % *c) return NULL;
    for (int i = 0; i < apart->n; i++)
        if (apart->term[i].coef % *c) return NULL;
    return a;
}

// --- Systems -----------------------------------------------------------------------------------

void system_init(System *s, TreeFacts *f) {
    s->f = f;
    s->n = s->nzeros = 0;
    s->broken = false;
    s->pool = NULL;
    memset(&s->least, 0, sizeof s->least);
}

static const Affine *new_variable(System *s, int64_t extent) {
    if (s->n == DEP_MAX_ITERS) {
        s->broken = true;
        return affine_const(s->f->x, 0);
    }
    s->lo[s->n] = 0;
    s->hi[s->n] = extent;
    return affine_iter(s->f->x, s->n++);
}

const Affine *system_value(const System *s, const Point *p, const Affine *a) {
    return affine_substitute(s->f->x, a, p->at, NULL);
}

void system_enter(System *s, const Use *u, Point *out, int shared, const Point *like) {
    out->use = u;
    out->at = arena_new_n(s->f->arena, const Affine *, s->f->t->nindices);
    for (int i = 0; i < u->nindex; i++) {
        const Index *x = u->index[i];
        if (i < shared)
            out->at[x->id] = like->at[x->id];
        else if (x->passed)
            out->at[x->id] = system_value(s, out, x->passed);
        else
            out->at[x->id] = new_variable(s, x->extent);
    }
    for (int i = 0; i < u->depth; i++)
        for (int c = 0; c < u->path[i]->nconstraints; c++)
            system_least(s, system_value(s, out, u->path[i]->constraint[c]));
}

void system_least(System *s, const Affine *a) {
    for (int i = 0; i < s->least.n; i++)
        if (s->least.at[i] == a) return;
    if (a->n || a->constant < 0) vec_push(s->f->arena, &s->least, a);
}

void system_less(System *s, const Affine *a, const Affine *b) {
    system_least(s, affine_add_const(s->f->x, affine_sub(s->f->x, b, a), -1));
}

void system_equal(System *s, const Affine *a, const Affine *b) {
    if (a == b) return;
    if (s->nzeros < PROGRAM_MAX_RANK) {
        s->zero[s->nzeros++] = affine_sub(s->f->x, a, b);
        return;
    }
    system_least(s, affine_sub(s->f->x, a, b));
    system_least(s, affine_sub(s->f->x, b, a));
}

void system_facts(System *s, const Point *p, const Touch *touch) {
    for (int i = 0; i < touch->nfacts; i++) system_least(s, system_value(s, p, touch->fact[i]));
}

// Digits of one number in both accesses are replaced by the number, as often as there are some.
static int join_digits(Exprs *x, const Affine **f, const Affine **g, int n) {
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n && !more; i++)
            for (int j = 0; j < n && !more; j++) {
                int64_t c, k;
                const Affine *a = i == j ? NULL : facts_digits(x, f[i], f[j], &c);
                const Affine *b = a ? facts_digits(x, g[i], g[j], &k) : NULL;
                if (!b || c != k) continue;
                f[i] = a, g[i] = b;
                n--;
                f[j] = f[n], g[j] = g[n];
                more = true;
            }
    }
    return n;
}

void system_meet(System *s, const Point *p, const Access *a, const Point *q, const Access *b) {
    const Affine *f[TREE_MAX_RANK], *g[TREE_MAX_RANK];
    for (int d = 0; d < a->rank; d++) f[d] = a->sub[d], g[d] = b->sub[d];
    int n = join_digits(s->f->x, f, g, a->rank);
    for (int d = 0; d < n; d++) system_equal(s, system_value(s, p, f[d]), system_value(s, q, g[d]));
}

// One side holds everything; the other is the constant 0 that `zero` has to meet.
static DepAnswer solve(System *s, bool isl) {
    Exprs *x = s->f->x;
    const Affine *nought[PROGRAM_MAX_RANK];
    for (int d = 0; d < s->nzeros; d++) nought[d] = affine_const(x, 0);
    bool overflow = x->overflow || x->too_large;
    x->overflow = x->too_large = false;
    if (s->broken || overflow) return DEP_UNDECIDED;
    DepQuery q = {.a = {.niters = s->n,
                        .lo = s->lo,
                        .hi = s->hi,
                        .nconstraints = s->least.n,
                        .constraint = s->least.at,
                        .rank = s->nzeros,
                        .sub = s->zero},
                  .b = {.rank = s->nzeros, .sub = nought},
                  .pool = s->pool};
    DepWitness w;
    DepAnswer answer = deps_test(s->f->arena, &q, &w);
    if (answer == DEP_UNDECIDED && isl) answer = poly_test(&q, &w);
    if (answer == DEP_YES) memcpy(s->point, w.a, (size_t)s->n * sizeof *s->point);
    return answer;
}

DepAnswer system_solve(System *s) { return solve(s, false); }
DepAnswer system_decide(System *s) { return solve(s, true); }

// --- Witnesses ---------------------------------------------------------------------------------

int64_t system_number(const System *s, const Affine *a) {
    int64_t v = 0;
    if (!affine_eval(a, s->point, NULL, NULL, NULL, &v)) v = 0;
    return v;
}

static const char *index_name(const Index *x) { return x->name ? x->name : "i"; }

// A name that is used further out gets a number, as in the compact view of the Tree.
const char *point_show(const System *s, const Point *p) {
    Text out = {.arena = s->f->arena};
    text_char(&out, '(');
    for (int i = 0; i < p->use->nindex; i++) {
        const Index *x = p->use->index[i];
        int before = 0;
        for (int o = 0; o < i; o++) before += !strcmp(index_name(p->use->index[o]), index_name(x));
        text_printf(&out, "%s%s", i ? ", " : "", index_name(x));
        if (before) text_printf(&out, ".%d", before);
        text_printf(&out, "=%lld", (long long)system_number(s, p->at[x->id]));
    }
    text_char(&out, ')');
    return text_str(&out);
}

const char *element_show(const System *s, const Point *p, const Access *a) {
    Text out = {.arena = s->f->arena};
    text_printf(&out, "%s[", s->f->t->buffers.at[a->tensor].name);
    for (int d = 0; d < a->rank; d++) {
        if (d) text_add(&out, ", ");
        if (a->sub[d]->has_read)
            text_char(&out, '?');
        else
            text_int(&out, system_number(s, system_value(s, p, a->sub[d])));
    }
    text_char(&out, ']');
    return text_str(&out);
}
