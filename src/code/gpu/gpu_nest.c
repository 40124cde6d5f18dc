// Properties of a nest: its leaves, the amount of their code, and which of its loops are
// independent.
#include "code/gpu/gpu_impl.h"

#include "base/checked.h"

void nest_leaves(Arena *arena, const Node *n, Leaves *out) {
    const Block *b = as_block(n);
    if (!b) vec_push(arena, out, (const Leaf *)n);
    for (int i = 0; b && i < b->nchildren; i++) nest_leaves(arena, b->child[i], out);
}

Range gpu_range(const Tree *t, const Node *n) {
    for (const Block *b = as_block(n); b && b->nchildren; b = as_block(n)) n = b->child[0];
    return tree_range(t, n);
}

bool nest_has(const Node *n, bool (*is)(Kind)) {
    const Block *b = as_block(n);
    if (!b) return false;
    if (b->nindex && is(b->kind)) return true;
    for (int i = 0; i < b->nchildren; i++)
        if (nest_has(b->child[i], is)) return true;
    return false;
}

static int kinds_below(const Block *b, Kind kind) {
    int most = 0;
    for (int i = 0; i < b->nchildren; i++) {
        const Block *c = as_block(b->child[i]);
        int n = c ? kinds_below(c, kind) + (c->nindex && c->kind == kind) : 0;
        if (n > most) most = n;
    }
    return most;
}

bool nest_axis(const Block *b, GpuAxis *out) {
    bool digit = b->kind == KIND_WARP || b->kind == KIND_LANE;
    int first = b->kind == KIND_WARP ? GPU_WARP_0 : GPU_LANE_0;
    int end = b->kind == KIND_WARP ? GPU_LANE_0 : GPU_AXES;
    int axis = digit                      ? end - 1 - kinds_below(b, b->kind)
               : b->kind == KIND_CLUSTER  ? GPU_CLUSTER
               : b->kind >= KIND_THREAD_X ? GPU_THREAD_X + (int)(b->kind - KIND_THREAD_X)
                                          : (int)(b->kind - KIND_GRID_X);
    *out = (GpuAxis)axis;
    return !digit || axis >= first;
}

int64_t nest_instances(const Node *n) {
    const Block *b = as_block(n);
    if (!b) return 1;
    int64_t sum = 0;
    for (int i = 0; i < b->nchildren; i++) sum += nest_instances(b->child[i]);
    for (int i = 0; i < b->nindex; i++)
        if (!checked_mul(sum, max_i64(b->index[i].extent, 0), &sum)) return INT64_MAX;
    return sum;
}

static bool divides_integers(const Expr *e) {
    return (e->op == OP_DIV || e->op == OP_MOD) && !type_is_float(type_compute(e->type)) &&
           e->arg[1]->kind != EXPR_CONST;
}

// The amount of code of a leaf, in multiply-adds: functions, divisions of integers and
// data-dependent subscripts take many instructions.
static int64_t code_of(const Expr *e) {
    enum { FUNCTION = 8, INDEX = 16 };
    if (e->kind == EXPR_READ) return e->access->has_read ? INDEX : 0;
    if (e->kind != EXPR_OP) return 0;
    int64_t sum = op_info[e->op].class == OP_MATH || divides_integers(e) ? FUNCTION : 0;
    for (int i = 0; i < e->n; i++) sum += code_of(e->arg[i]);
    return sum;
}

// The work of one thread: iterations times the code of each leaf. Thread loops do not count.
int64_t nest_own_instances(const Node *n) {
    const Block *b = as_block(n);
    if (!b) {
        const Leaf *leaf = (const Leaf *)n;
        return 1 + code_of(leaf->value) + (leaf->write->has_read ? 32 : 0);
    }
    int64_t sum = 0;
    for (int i = 0; i < b->nchildren; i++) sum += nest_own_instances(b->child[i]);
    for (int i = 0; i < b->nindex && !divides(b->kind); i++)
        if (!checked_mul(sum, max_i64(b->index[i].extent, 0), &sum)) return INT64_MAX;
    return sum;
}

int64_t nest_copies(const Node *n) {
    const Block *b = as_block(n);
    if (!b) return 1;
    int64_t sum = 0;
    for (int i = 0; i < b->nchildren; i++) sum += nest_copies(b->child[i]);
    for (int i = 0; i < b->nindex && !divides(b->kind); i++)
        if (!checked_mul(sum, max_i64(b->index[i].extent, 0), &sum)) return INT64_MAX;
    return sum;
}

bool nest_allocates(const Node *n, int buffer) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nallocs; i++)
        if (b->alloc[i] == buffer) return true;
    for (int i = 0; b && i < b->nchildren; i++)
        if (nest_allocates(b->child[i], buffer)) return true;
    return false;
}

// The range of a subscript without the term of `id`, over the indices below `b`. Indices further
// out are summed up in `outer`. An index whose step is a multiple of the whole range of `id` is
// left out: it is a higher digit of the subscript.
typedef struct Spread {
    int64_t coef, lo, hi;
    const Affine *outer;
} Spread;

static bool index_below(const Node *n, int id, int64_t *extent) {
    const Block *b = as_block(n);
    for (int i = 0; b && i < b->nindex; i++)
        if (b->index[i].id == id) {
            *extent = b->index[i].passed ? -1 : b->index[i].extent;
            return true;
        }
    for (int i = 0; b && i < b->nchildren; i++)
        if (index_below(b->child[i], id, extent)) return true;
    return false;
}

static bool spread_of(Map *m, const Block *b, const Affine *sub, int id, Spread *out) {
    *out = (Spread){.lo = sub->constant, .hi = sub->constant};
    const Affine *outer = affine_const(m->x, 0);
    int64_t all = 0, own = 1;
    if (!sub->linear || !index_below(&b->node, id, &own) || own < 0) return false;
    if (!checked_mul(affine_coef(sub, id), own, &all)) return false;
    for (int i = 0; i < sub->n; i++) {
        int at = sub->term[i].atom->index;
        int64_t coef = sub->term[i].coef, extent = 0, more;
        if (at == id) {
            out->coef = coef;
        } else if (!index_below(&b->node, at, &extent)) {
            outer = affine_add(m->x, outer, affine_make(m->x, 0, &sub->term[i], 1));
        } else if (!all || coef % all) {
            if (extent < 0 || !checked_mul(coef, max_i64(extent - 1, 0), &more)) return false;
            if (!checked_add(more < 0 ? out->lo : out->hi, more, more < 0 ? &out->lo : &out->hi))
                return false;
        }
    }
    out->outer = outer;
    return true;
}

typedef struct Touches {
    Map *m;
    const Block *b;
    const Leaves *leaves;
    int id, buffer, dim;
    bool any, apart;
    Spread all;
} Touches;

// May both access one element, for the same values of the loops outside? The row of the step before
// is another one than that of this step.
static bool meet(const Touches *t, const Access *a, const Access *w) {
    for (int d = 0; d < a->rank && d < w->rank; d++) {
        Spread x, y;
        if (!spread_of(t->m, t->b, a->sub[d], t->id, &x) ||
            !spread_of(t->m, t->b, w->sub[d], t->id, &y))
            continue;
        if (!x.coef && !y.coef && x.outer == y.outer && (x.hi < y.lo || y.hi < x.lo)) return false;
    }
    return true;
}

static bool meets_a_write(const Touches *t, const Access *a) {
    for (int i = 0; i < t->leaves->n; i++) {
        const Access *w = t->leaves->at[i]->write;
        if (w->tensor == a->tensor && meet(t, a, w)) return true;
    }
    return false;
}

static void see_touch(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Touches *t = user;
    Spread s;
    if (a->tensor != t->buffer || !t->apart || !meets_a_write(t, a)) return;
    if (t->dim >= a->rank || !spread_of(t->m, t->b, a->sub[t->dim], t->id, &s) || !s.coef) {
        t->apart = false; // the stages of a buffer are no dimension of accesses
    } else if (!t->any) {
        t->all = s;
        t->any = true;
    } else if (s.coef != t->all.coef || s.outer != t->all.outer) {
        t->apart = false;
    } else {
        t->all.lo = min_i64(t->all.lo, s.lo);
        t->all.hi = max_i64(t->all.hi, s.hi);
    }
}

void leaf_accesses(const Leaf *leaf, AccessVisit *fn, void *user) {
    fn(user, leaf->write, false);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], fn, user);
    expr_visit_accesses(leaf->value, fn, user);
}

// Do different values of the index select different elements of the buffer, in some dimension?
static bool apart(Map *m, const Block *b, const Leaves *all, int id, int buffer) {
    for (int d = 0; d < m->t->buffers.at[buffer].rank; d++) {
        Touches t = {
            .m = m, .b = b, .leaves = all, .id = id, .buffer = buffer, .dim = d, .apart = true};
        for (int i = 0; i < all->n && t.apart; i++) leaf_accesses(all->at[i], see_touch, &t);
        int64_t coef = t.all.coef < 0 ? -t.all.coef : t.all.coef;
        if (t.apart && t.any && t.all.hi - t.all.lo < coef) return true;
    }
    return false;
}

bool nest_apart(Map *m, const Block *b, const Leaf *leaf, int id) {
    Leaves only = {0};
    vec_push(m->arena, &only, leaf);
    return apart(m, b, &only, id, leaf->write->tensor);
}

bool nest_independent(Map *m, const Block *b, int at) {
    const Index *x = &b->index[at];
    if (x->passed) return false;
    if (x->extent <= 1) return true;
    Leaves all = {0};
    bool unordered = b->kind != KIND_SERIAL && b->kind != KIND_UNROLL;
    nest_leaves(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++) {
        const Leaf *leaf = all.at[i];
        int buffer = leaf->write->tensor;
        if (unordered && leaf->op == REDUCE_ASSIGN) continue;
        if (nest_allocates(&b->node, buffer)) continue;
        if (!apart(m, b, &all, x->id, buffer)) return false;
    }
    for (int i = 0; i < b->nconstraints; i++)
        if (b->constraint[i]->has_read) return false;
    return true;
}

bool nest_only_reduces(Map *m, const Block *b) {
    Leaves all = {0};
    nest_leaves(m->arena, &b->node, &all);
    for (int i = 0; i < all.n; i++) {
        const Leaf *leaf = all.at[i];
        if (leaf->op == REDUCE_ASSIGN || nest_allocates(&b->node, leaf->write->tensor)) continue;
        if (leaf->write->has_read) return false;
    }
    return true;
}
