// Computes the sizes of dimensions from relations, in any direction.
//
// Every relation gives an equation over sizes, E = 0:
//   explicit   size(B) = size(A) + 2: as written. It must hold exactly.
//   derived    H = 2*Ho + Kh: the largest indices of both sides are equal, so
//              size(H) - 1 = 2*(size(Ho) - 1) + size(Kh) - 1. It only proposes a size, rounded
//              down: an input may be larger than the part that a view reads.
// An equation with one remaining unknown, in which it is linear, is solved for that unknown.
// Explicit equations come first, and a dimension defined by one, size(u) = ..., waits for it. All
// derived equations for the same unknown must propose the same size. If nothing more can be solved,
// the next dimension of a read becomes a parameter, and solving continues.
//
// Conditions that depend on parameters become Requires of the Program: explicit equations,
// proposals that must agree, sizes that must not be negative.
#include "lang/graph_impl.h"

#include "base/checked.h"

typedef struct SizeEquation {
    const Affine *zero; // in terms of sizes
    const Relation *from;
    bool derived;
    bool done; // all its sizes are known
} SizeEquation;

typedef struct GraphSizes {
    Graph *g;
    Exprs *x;
    const Affine **known; // per dimension
    const Relation **by;  // per dimension: the relation that gave its size
    VEC(SizeEquation) equations;
    bool failed;
} GraphSizes;

// --- Equations ---------------------------------------------------------------------------------

static void add_equation(GraphSizes *s, const Affine *zero, const Relation *from, bool derived) {
    vec_push(s->g->arena, &s->equations, ((SizeEquation){zero, from, derived, false}));
}

// The equation that x reaches its largest index, where x = rest and `rest` is linear in indices.
// Indices with a negative factor are 0 there.
static const Affine *largest(GraphSizes *s, int x, const Affine *rest) {
    Exprs *e = s->x;
    const Affine *sum = affine_add_const(e, affine_param(e, x), -1);
    for (int d = 0; d < s->g->dims.n; d++) {
        if (!index_uses(rest, ATOM_ITER, d)) continue;
        const Affine *factor;
        index_split(e, rest, ATOM_ITER, d, &factor, &rest);
        if (index_sign(factor) < 0) continue;
        const Affine *last = affine_add_const(e, affine_param(e, d), -1);
        sum = affine_sub(e, sum, affine_mul(e, factor, last));
    }
    return affine_sub(e, sum, rest);
}

// The numbers of dimensions with a positive and with a negative factor, and the last of each with
// factor ±1.
typedef struct Sides {
    int positive, negative, unit_positive, unit_negative;
} Sides;

static bool find_sides(GraphSizes *s, const Affine *e, Sides *out) {
    *out = (Sides){.unit_positive = -1, .unit_negative = -1};
    const Affine *rest = e;
    for (int d = 0; d < s->g->dims.n; d++) {
        if (!index_uses(e, ATOM_ITER, d)) continue;
        const Affine *factor;
        if (!index_split(s->x, rest, ATOM_ITER, d, &factor, &rest)) return false;
        int sign = index_sign(factor);
        if (sign == 0) return false;
        if (sign > 0) out->positive++;
        if (sign < 0) out->negative++;
        if (affine_is(factor, 1)) out->unit_positive = d;
        if (affine_is(factor, -1)) out->unit_negative = d;
    }
    return true;
}

// Puts x, alone and with factor 1, on one side and everything else on the other. Without such an x,
// or with nothing else (a slice at a constant), the relation does not determine sizes.
static void add_derived(GraphSizes *s, const Relation *r) {
    const Affine *e = affine_sub(s->x, r->left, r->right), *factor, *rest;
    Sides sides;
    if (!find_sides(s, e, &sides) || sides.positive + sides.negative < 2) return;
    bool flip = sides.positive == 0 || sides.negative == 0; // x + y = constant
    int x = -1;
    if (sides.unit_positive >= 0 && (sides.positive == 1 || flip)) x = sides.unit_positive;
    if (x < 0 && sides.unit_negative >= 0 && (sides.negative == 1 || flip)) x = sides.unit_negative;
    if (x < 0) return;
    index_split(s->x, e, ATOM_ITER, x, &factor, &rest);
    add_equation(s, largest(s, x, affine_is(factor, 1) ? affine_scale(s->x, rest, -1) : rest), r,
                 true);
}

static void add_relation(GraphSizes *s, const Relation *r) {
    const Affine *e = affine_sub(s->x, r->left, r->right);
    if (e->has_iter)
        add_derived(s, r);
    else
        add_equation(s, e, r, false);
}

// --- Solving -----------------------------------------------------------------------------------

enum { NONE = -1, SEVERAL = -2 };

// The only unknown size in the expression, or NONE, or SEVERAL.
static int unknown_of(const GraphSizes *s, const Affine *e) {
    int found = NONE;
    for (int i = 0; i < e->n && found != SEVERAL; i++) {
        const Atom *t = e->term[i].atom;
        int in[2] = {NONE, NONE};
        if (t->kind == ATOM_PARAM && !s->known[t->index]) in[0] = t->index;
        if (t->a) in[0] = unknown_of(s, t->a), in[1] = unknown_of(s, t->b);
        for (int k = 0; k < 2; k++)
            if (in[k] != NONE) found = found == NONE || found == in[k] ? in[k] : SEVERAL;
    }
    return found;
}

// Substitutes the known dimensions.
static int refresh(GraphSizes *s, SizeEquation *eq) {
    eq->zero = affine_substitute(s->x, eq->zero, NULL, s->known);
    int u = unknown_of(s, eq->zero);
    eq->done = u == NONE;
    return u;
}

static Name dim_name(const GraphSizes *s, int dim) { return s->g->dims.at[dim].name; }

static const char *show(GraphSizes *s, const Affine *a) {
    Text t = {.arena = s->g->arena};
    index_print(&t, s->g, a);
    return text_str(&t);
}

static void add_require(GraphSizes *s, const Affine *what, const Relation *from, const char *why) {
    if (index_sign(what) > 0 || affine_is(what, 0)) return;
    Range range = from && from->source == s->g->source ? from->range : (Range){0};
    vec_push(s->g->arena, &s->g->preconditions,
             ((Require){.what = what, .why = why, .range = range}));
}

static void require_zero(GraphSizes *s, const Affine *e, const Relation *from, const char *why) {
    if (affine_is(e, 0)) return;
    add_require(s, e, from, why);
    add_require(s, affine_scale(s->x, e, -1), from, why);
}

// Solves a·u + b = 0 for u.
static const Affine *proposal(GraphSizes *s, const SizeEquation *eq, int u) {
    const Affine *a, *b;
    if (!index_split(s->x, eq->zero, ATOM_PARAM, u, &a, &b)) return NULL;
    int sign = index_sign(a);
    if (sign == 0) return NULL;
    if (sign > 0) b = affine_scale(s->x, b, -1);
    if (sign < 0) a = affine_scale(s->x, a, -1);
    if (!eq->derived && affine_is_const(a) && affine_is_const(b) &&
        floor_mod(b->constant, a->constant)) {
        relation_report(s->g, eq->from, DIAG_GRAPH_SIZE_FRACTION, dim_name(s, u),
                        (long long)b->constant, (long long)a->constant);
        s->failed = true;
    }
    return affine_div(s->x, b, a);
}

static void settle(GraphSizes *s, int u, const Affine *size, const Relation *from) {
    s->known[u] = size;
    s->by[u] = from;
    if (affine_is_const(size) && size->constant < 0) {
        graph_report_at(s->g, from ? from->source : NULL, from ? from->range : (Range){0},
                        DIAG_GRAPH_SIZE_NEGATIVE, dim_name(s, u), (long long)size->constant);
        s->failed = true;
    }
    const char *why = arena_printf(s->g->arena, "the size of '%s' is not negative", dim_name(s, u));
    if (!affine_is_const(size)) add_require(s, size, from, why);
}

static bool solve_explicit(GraphSizes *s) {
    for (int i = 0; i < s->equations.n; i++) {
        SizeEquation *eq = &s->equations.at[i];
        if (eq->derived || eq->done) continue;
        int u = refresh(s, eq);
        const Affine *size = u >= 0 ? proposal(s, eq, u) : NULL;
        if (!size) continue;
        settle(s, u, size, eq->from);
        return true;
    }
    return false;
}

static void compare_proposals(GraphSizes *s, int u, const Affine *a, const Relation *from_a,
                              const Affine *b, const Relation *from_b) {
    const Affine *difference = affine_sub(s->x, a, b);
    if (!affine_is_const(difference)) {
        require_zero(s, difference, from_b,
                     arena_printf(s->g->arena, "the size of '%s' is the same by all relations",
                                  dim_name(s, u)));
    } else if (difference->constant != 0) {
        Diag *d = relation_report(s->g, from_b, DIAG_GRAPH_SIZES_DISAGREE, dim_name(s, u),
                                  show(s, b), show(s, a));
        s->g->diags->source = from_a->source;
        diag_note(s->g->diags, d, from_a->range, DIAG_GRAPH_SIZES_DISAGREE_NOTE);
        s->failed = true;
    }
}

static bool is_size_of(const Affine *e, int u) {
    return e->n == 1 && e->constant == 0 && e->term[0].coef == 1 &&
           e->term[0].atom->kind == ATOM_PARAM && e->term[0].atom->index == u;
}

// Will an explicit equation size(u) = ... give u once more sizes are known?
static bool explicit_pending(const GraphSizes *s, int u) {
    for (int i = 0; i < s->equations.n; i++) {
        const SizeEquation *eq = &s->equations.at[i];
        if (eq->derived || eq->done) continue;
        if (is_size_of(eq->from->left, u) || is_size_of(eq->from->right, u)) return true;
    }
    return false;
}

// Takes the first proposal for some unknown and compares it with all others for the same unknown.
static bool solve_derived(GraphSizes *s, bool wait) {
    int unknown = -1;
    const Affine *size = NULL;
    const Relation *from = NULL;
    for (int i = 0; i < s->equations.n; i++) {
        SizeEquation *eq = &s->equations.at[i];
        if (!eq->derived || eq->done) continue;
        int u = refresh(s, eq);
        if (u < 0 || (unknown >= 0 && u != unknown) || (wait && explicit_pending(s, u))) continue;
        const Affine *p = proposal(s, eq, u);
        if (!p) continue;
        if (size) compare_proposals(s, u, size, from, p, eq->from);
        if (!size) unknown = u, size = p, from = eq->from;
    }
    if (size) settle(s, unknown, size, from);
    return size != NULL;
}

// The next dimension of a read that is not known. Dimensions defined by an explicit equation come
// last.
static bool next_parameter(GraphSizes *s) {
    Graph *g = s->g;
    int last = NONE, dim = NONE;
    for (int i = 0; i < g->nodes.n && dim == NONE; i++) {
        const GraphNode *n = &g->nodes.at[i];
        for (int k = 0; n->kind == NODE_READ && k < n->ndims && dim == NONE; k++) {
            int d = n->dim[k];
            if (s->known[d]) continue;
            if (!explicit_pending(s, d))
                dim = d;
            else if (last == NONE)
                last = d;
        }
    }
    if (dim == NONE) dim = last;
    if (dim != NONE) s->known[dim] = affine_param(s->x, dim);
    return dim != NONE;
}

// Explicit equations must hold exactly: now, or when the parameters are bound.
static void verify(GraphSizes *s) {
    for (int i = 0; i < s->equations.n; i++) {
        SizeEquation *eq = &s->equations.at[i];
        if (eq->derived || refresh(s, eq) != NONE || affine_is(eq->zero, 0)) continue;
        const Affine *e = eq->zero;
        Text t = {.arena = s->g->arena};
        relations_print(&t, s->g, 1, eq->from);
        const Affine *left = affine_substitute(s->x, eq->from->left, NULL, s->known);
        const Affine *right = affine_substitute(s->x, eq->from->right, NULL, s->known);
        if (affine_is_const(e) && !s->failed) {
            relation_report(s->g, eq->from, DIAG_GRAPH_SIZE_RELATION, text_str(&t), show(s, left),
                            show(s, right));
            s->failed = true;
        }
        if (!affine_is_const(e)) require_zero(s, e, eq->from, text_str(&t));
    }
}

bool graph_solve(Graph *g) {
    if (g->failed) return false;
    if (g->solved) return true;
    GraphSizes s = {.g = g,
                    .x = g->exprs,
                    .known = arena_new_n(g->arena, const Affine *, g->dims.n),
                    .by = arena_new_n(g->arena, const Relation *, g->dims.n)};
    g->preconditions.n = 0;
    for (int d = 0; d < g->dims.n; d++) {
        const Dimension *dim = &g->dims.at[d];
        if (dim->fixed >= 0) s.known[d] = affine_const(s.x, dim->fixed);
        if (dim->param) s.known[d] = affine_param(s.x, d);
    }
    for (int r = 0; r < g->relations.n; r++) add_relation(&s, &g->relations.at[r]);
    for (int i = 0; i < g->nodes.n; i++)
        for (int r = 0; r < g->nodes.at[i].nrelations; r++)
            add_relation(&s, &g->nodes.at[i].relation[r]);
    while (!s.failed && (solve_explicit(&s) || solve_derived(&s, true) || next_parameter(&s) ||
                         solve_derived(&s, false))) {}
    if (!s.failed) verify(&s);
    if (!s.failed && (s.x->overflow || s.x->too_large)) {
        graph_report(g, DIAG_GRAPH_OVERFLOW);
        s.failed = true;
    }
    for (int d = 0; d < g->dims.n; d++) g->dims.at[d].size = s.known[d];
    g->solved = !s.failed;
    return g->solved;
}

int64_t graph_size(const Graph *g, int dim) {
    if (dim < 0 || dim >= g->dims.n) return -1;
    const Affine *size = g->dims.at[dim].size;
    return size && affine_is_const(size) ? size->constant : -1;
}
