// Deriving the refinements of Stripe text from a Tree.
//
// Each block has a view of each buffer that is accessed inside. If the text gave none, the view is
// the smallest box around the accesses inside: their subscripts consist of a part over indices that
// are known here, which is the offset, and the range of the rest, which is the size. In a dimension
// where accesses have different offsets, or subscripts that are not linear or are read from memory,
// it is the whole view of the enclosing block.
//
// Then, from the leaves up, it collects the indices that each block uses without defining them;
// these are passed in.
#include "stripe/stripe_view.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

// --- Indices -----------------------------------------------------------------------------------

typedef struct ViewRanges {
    Planner *p;
} ViewRanges;

static bool note_indices(void *user, const Node *node, int depth, const Block *parent) {
    Planner *p = ((ViewRanges *)user)->p;
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nindex; i++) {
        const Index *x = &b->index[i];
        p->resolved[x->id] = affine_iter(p->t->exprs, x->id);
        if (x->passed) {
            p->resolved[x->id] = affine_substitute(p->t->exprs, x->passed, p->resolved, NULL);
            if (affine_bounds(x->passed, p->lo, p->hi, &p->lo[x->id], &p->hi[x->id])) continue;
            p->lo[x->id] = p->hi[x->id] = 0;
        } else {
            p->hi[x->id] = x->extent - 1;
        }
    }
    return true;
}

Planner *stripe_planner(Arena *arena, const Tree *t) {
    Planner *p = arena_new(arena, Planner);
    *p = (Planner){.t = t, .arena = arena};
    p->resolved = arena_new_n(arena, const Affine *, t->nindices);
    p->lo = arena_new_n(arena, int64_t, t->nindices);
    p->hi = arena_new_n(arena, int64_t, t->nindices);
    p->scope = arena_new_n(arena, bool, t->nindices);
    p->used = arena_new_n(arena, bool, t->nindices);
    ViewRanges r = {p};
    tree_walk(t, note_indices, &r);
    return p;
}

Name stripe_index_name(const Planner *p, const PrintBlock *pb, int id) {
    for (int i = 0; i < pb->b->nindex; i++)
        if (pb->b->index[i].id == id) return pb->index[i];
    for (int i = 0; i < pb->b->nindex; i++)
        if (pb->b->index[i].passed && affine_as_iter(p->resolved[pb->b->index[i].id]) == id)
            return pb->index[i];
    for (int i = 0; i < pb->passed.n; i++)
        if (pb->passed.at[i].id == id) return pb->passed.at[i].name;
    return NULL;
}

static bool index_named(const PrintBlock *pb, int upto, Name name) {
    for (int i = 0; i < upto; i++)
        if (pb->index[i] == name) return true;
    for (int i = 0; i < pb->passed.n; i++)
        if (pb->passed.at[i].name == name) return true;
    return false;
}

static Name fresh_index(const Planner *p, const PrintBlock *pb, int upto, Name like) {
    Name name = like ? like : name_of(p->t->names, "i");
    for (int k = 0; index_named(pb, upto, name); k++)
        name = name_of(p->t->names, arena_printf(p->arena, "%s_%d", like ? like : "i", k));
    return name;
}

// --- Accessed boxes ------------------------------------------------------------------------------

typedef struct Span {
    const Affine *outer; // the part over indices in scope, without constant
    int64_t lo, hi;      // of the rest
    bool whole;
} Span;

// All accesses inside a block to one buffer.
typedef struct ViewTouch {
    bool read, write, init;
    unsigned ops; // set of the writes that do not initialise
    Span *span;   // per dimension; NULL: not touched
} ViewTouch;

typedef struct ViewCollect {
    Planner *p;
    ViewTouch *touch; // per buffer
} ViewCollect;

static bool all_in_scope(const Planner *p, const Affine *a) {
    for (int id = 0; id < p->t->nindices; id++)
        if (!p->scope[id] && affine_uses_iter(a, id)) return false;
    return !a->has_read;
}

static Span span_of(const Planner *p, const Affine *sub, int64_t more) {
    Exprs *x = p->t->exprs;
    sub = affine_substitute(x, sub, p->resolved, NULL);
    Span s = {.lo = sub->constant, .hi = sub->constant};
    if (!sub->linear) {
        s.whole = !all_in_scope(p, sub);
        if (!s.whole) s.outer = affine_add_const(x, sub, -sub->constant);
        s.hi += more;
        return s;
    }
    Term outer[AFFINE_MAX_TERMS];
    int n = 0;
    bool empty = false; // a loop inside never runs
    for (int i = 0; i < sub->n; i++) {
        int id = sub->term[i].atom->index;
        int64_t coef = sub->term[i].coef;
        empty |= !p->scope[id] && p->hi[id] < p->lo[id];
        if (p->scope[id]) {
            outer[n++] = sub->term[i];
        } else if (!checked_fma(coef, p->hi[id], coef < 0 ? &s.lo : &s.hi)) {
            s.whole = true;
        }
    }
    s.outer = affine_make(x, 0, outer, n);
    s.hi = empty ? s.lo - 1 : s.hi + more;
    return s;
}

static void widen(Span *to, Span s, bool first) {
    bool empty = !s.whole && s.hi < s.lo, was_empty = !first && !to->whole && to->hi < to->lo;
    if (first || was_empty) {
        *to = s;
    } else if (empty) {
        return;
    } else if (to->whole || s.whole || to->outer != s.outer) {
        to->whole = true;
    } else {
        to->lo = min_i64(to->lo, s.lo);
        to->hi = max_i64(to->hi, s.hi);
    }
}

static ViewTouch *touch_access(ViewCollect *c, const Access *a) {
    ViewTouch *t = &c->touch[a->tensor];
    bool first = !t->span;
    if (first) t->span = arena_new_n(c->p->arena, Span, a->rank);
    for (int d = 0; d < a->rank; d++) widen(&t->span[d], span_of(c->p, a->sub[d], 0), first);
    return t;
}

// A guarded read that only its condition keeps inside its buffer has no box: it takes the outer
// view.
static void touch_read(void *user, const Access *a, bool guarded) {
    ViewCollect *c = user;
    ViewTouch *t = touch_access(c, a);
    t->read = true;
    for (int d = 0; d < a->rank && guarded; d++) {
        int64_t lo, hi, size = c->p->t->buffers.at[a->tensor].size[d];
        if (a->sub[d]->has_read) continue;
        bool inside =
            affine_bounds(a->sub[d], c->p->lo, c->p->hi, &lo, &hi) && lo >= 0 && hi < size;
        t->span[d].whole |= !inside;
    }
}

static void touch_view(ViewCollect *c, const BlockView *v, bool write) {
    ViewTouch *t = &c->touch[v->buffer];
    bool first = !t->span;
    int rank = c->p->t->buffers.at[v->buffer].rank;
    if (first) t->span = arena_new_n(c->p->arena, Span, rank);
    for (int d = 0; d < rank; d++)
        widen(&t->span[d], span_of(c->p, v->offset[d], max_i64(v->size[d] - 1, 0)), first);
    if (write)
        t->write = true, t->ops |= 1u << REDUCE_ASSIGN;
    else
        t->read = true;
}

static void collect(ViewCollect *c, const Node *node) {
    if (node->kind == NODE_BLOCK) {
        const Block *b = (const Block *)node;
        for (int i = 0; i < b->nchildren; i++) collect(c, b->child[i]);
    } else if (node->kind == NODE_LEAF) {
        const Leaf *l = (const Leaf *)node;
        expr_visit_accesses(l->value, touch_read, c);
        for (int d = 0; d < l->write->rank; d++)
            affine_visit_accesses(l->write->sub[d], touch_read, c);
        ViewTouch *t = touch_access(c, l->write);
        t->write = true;
        if (l->role == LEAF_INIT)
            t->init = true;
        else
            t->ops |= 1u << l->op;
    } else {
        const Special *s = (const Special *)node;
        for (int i = 0; i < s->nins; i++) touch_view(c, &s->in[i], false);
        for (int i = 0; i < s->nouts; i++) touch_view(c, &s->out[i], true);
    }
}

// --- Views -------------------------------------------------------------------------------------

static bool view_named(const PrintBlock *pb, Name name) {
    for (int i = 0; i < pb->view.n; i++)
        if (pb->view.at[i].name == name) return true;
    return false;
}

static Name fresh_view(const Planner *p, const PrintBlock *pb, Name like) {
    Name name = like;
    for (int k = 0; view_named(pb, name); k++)
        name = name_of(p->t->names, arena_printf(p->arena, "%s_%d", like, k));
    return name;
}

static bool needs_alias(const Planner *p, const PrintBlock *pb, const Affine *a) {
    for (int id = 0; id < p->t->nindices; id++)
        if (affine_uses_iter(a, id) && !stripe_index_name(p, pb, id)) return true;
    return false;
}

// The view of the enclosing block that this one refines: one that may be written if this one is,
// preferably one whose offset leaves only indices of this block.
static int pick_parent(const Planner *p, const PrintBlock *pb, const PrintView *v) {
    const PrintBlock *up = pb->up;
    int rank = p->t->buffers.at[v->buffer].rank, best = -1, best_score = -1;
    for (int i = 0; up && i < up->view.n; i++) {
        const PrintView *u = &up->view.at[i];
        if (u->buffer != v->buffer) continue;
        bool fits = u->dir == VIEW_NONE || u->dir == VIEW_INOUT || u->dir == v->dir ||
                    (u->dir == VIEW_OUT && v->dir != VIEW_IN);
        bool plain = true;
        for (int d = 0; d < rank; d++)
            plain &= !needs_alias(p, pb, affine_sub(p->t->exprs, v->off[d], u->off[d]));
        int score = 2 * fits + plain;
        if (score > best_score) best = i, best_score = score;
    }
    return best;
}

static void add_view(const Planner *p, PrintBlock *pb, PrintView v) {
    v.name = fresh_view(p, pb, v.name ? v.name : p->t->buffers.at[v.buffer].name);
    bool refines = v.from != -1;
    if (refines) v.from = pick_parent(p, pb, &v);
    Reduce own = v.has_agg ? v.agg : REDUCE_ASSIGN;
    Reduce outer = v.from >= 0 ? pb->up->view.at[v.from].effective : REDUCE_ASSIGN;
    v.effective = outer != REDUCE_ASSIGN ? outer : own;
    // A view that starts from the identity has its initialisation in the Tree.
    if (outer == REDUCE_ASSIGN && own != REDUCE_ASSIGN && v.dir == VIEW_OUT && pb->up)
        v.dir = VIEW_INOUT;
    vec_push(p->arena, &pb->view, v);
}

static const Affine **zeros(const Planner *p, int rank) {
    const Affine **off = arena_new_n(p->arena, const Affine *, rank);
    for (int d = 0; d < rank; d++) off[d] = affine_const(p->t->exprs, 0);
    return off;
}

static void add_whole(const Planner *p, PrintBlock *pb, int buffer, ViewDir dir) {
    const Buffer *b = &p->t->buffers.at[buffer];
    add_view(p, pb,
             (PrintView){.buffer = buffer,
                         .dir = dir,
                         .off = zeros(p, b->rank),
                         .size = b->size,
                         .place = b->place,
                         .tags = b->tags,
                         .from = -1});
}

static void add_written(const Planner *p, PrintBlock *pb, const BlockView *v) {
    add_view(p, pb,
             (PrintView){.buffer = v->buffer,
                         .name = v->into,
                         .dir = v->dir,
                         .off = v->offset,
                         .size = v->size,
                         .has_agg = v->has_agg,
                         .agg = v->agg,
                         .place = v->place,
                         .tags = v->tags});
}

static const PrintView *around(const PrintBlock *pb, int buffer) {
    for (const PrintBlock *up = pb->up; up; up = up->up)
        for (int i = 0; i < up->view.n; i++)
            if (up->view.at[i].buffer == buffer) return &up->view.at[i];
    return NULL;
}

static void add_derived(const Planner *p, PrintBlock *pb, int buffer, const ViewTouch *t) {
    int rank = p->t->buffers.at[buffer].rank;
    const PrintView *outer = around(pb, buffer);
    if (!outer) return; // it is allocated further in
    PrintView v = {.buffer = buffer};
    int64_t *size = arena_new_n(p->arena, int64_t, rank);
    v.off = arena_new_n(p->arena, const Affine *, rank);
    v.size = size;
    for (int d = 0; d < rank; d++) {
        const Span *s = &t->span[d];
        v.off[d] = s->whole ? outer->off[d] : affine_add_const(p->t->exprs, s->outer, s->lo);
        size[d] = s->whole ? outer->size[d] : s->hi - s->lo + 1;
    }
    unsigned ops = t->ops ? t->ops : t->init ? 1u << REDUCE_ASSIGN : 0;
    v.has_agg = ops && !(ops & (ops - 1));
    for (int op = 0; v.has_agg && op < 5; op++)
        if (ops & (1u << op)) v.agg = (Reduce)op;
    bool overwrites = !t->read && ops == 1u << REDUCE_ASSIGN;
    v.dir = !t->write ? VIEW_IN : overwrites ? VIEW_OUT : VIEW_INOUT;
    add_view(p, pb, v);
}

static ViewDir argument_dir(const Planner *p, int arg, const ViewTouch *t) {
    if (!p->t->program) return !t->write ? VIEW_IN : t->read ? VIEW_INOUT : VIEW_OUT;
    switch (p->t->program->tensors.at[arg].role) {
    case ROLE_INPUT: return VIEW_IN;
    case ROLE_OUTPUT: return VIEW_OUT;
    default: return VIEW_INOUT;
    }
}

static bool has_view(const PrintBlock *pb, int buffer) {
    for (int i = 0; i < pb->view.n; i++)
        if (pb->view.at[i].buffer == buffer) return true;
    return false;
}

static void plan_views(Planner *p, PrintBlock *pb) {
    const Block *b = pb->b;
    ViewCollect c = {p, arena_new_n(p->arena, ViewTouch, p->t->buffers.n)};
    collect(&c, &b->node);
    for (int i = 0; !pb->up && i < p->t->nargs; i++)
        add_whole(p, pb, i, argument_dir(p, i, &c.touch[i]));
    for (int i = 0; pb->up && i < b->nviews; i++) add_written(p, pb, &b->view[i]);
    for (int i = 0; i < p->t->buffers.n; i++)
        if (c.touch[i].span && !has_view(pb, i)) add_derived(p, pb, i, &c.touch[i]);
    for (int i = 0; i < b->nallocs; i++) add_whole(p, pb, b->alloc[i], VIEW_NONE);
}

// --- Choosing ----------------------------------------------------------------------------------

const Affine *stripe_relative(const Tree *t, const PrintView *v, const Access *a, int d) {
    return affine_sub(t->exprs, a->sub[d], v->off[d]);
}

const Affine *stripe_offset(const Tree *t, const PrintBlock *pb, const PrintView *v, int d) {
    if (v->from < 0) return v->off[d];
    return affine_sub(t->exprs, v->off[d], pb->up->view.at[v->from].off[d]);
}

// The element that the view begins with is best, then a constant distance from it; among equals,
// one whose direction allows the access.
int stripe_pick(const Tree *t, const PrintBlock *pb, const Access *a, bool write) {
    int best = -1, best_score = -1;
    for (int i = 0; i < pb->view.n; i++) {
        const PrintView *v = &pb->view.at[i];
        if (v->buffer != a->tensor) continue;
        bool zero = true, constant = true;
        for (int d = 0; d < a->rank; d++) {
            const Affine *r = stripe_relative(t, v, a, d);
            zero &= affine_is(r, 0);
            constant &= affine_is_const(r);
        }
        bool fits = v->dir != (write ? VIEW_IN : VIEW_OUT);
        int score = 4 * fits + (zero ? 2 : constant);
        if (score > best_score) best = i, best_score = score;
    }
    return best;
}

int stripe_operand(const PrintBlock *pb, const BlockView *o) {
    for (int i = 0; i < pb->view.n; i++) {
        const PrintView *v = &pb->view.at[i];
        if (v->buffer == o->buffer && v->name == o->into) return i;
    }
    for (int i = 0; i < pb->view.n; i++)
        if (pb->view.at[i].buffer == o->buffer) return i;
    return -1;
}

// --- Passing indices ---------------------------------------------------------------------------

// Marks the indices that are printed with the affine; reads in a subscript are loaded separately.
static void mark_indices(const Affine *a, bool *used) {
    for (int i = 0; i < a->n; i++) {
        const Atom *t = a->term[i].atom;
        if (t->kind == ATOM_ITER) used[t->index] = true;
        if (t->a) mark_indices(t->a, used);
        if (t->b) mark_indices(t->b, used);
    }
}

static void pass_in(Planner *p, PrintBlock *pb, int id) {
    Name name = NULL;
    for (const PrintBlock *up = pb->up; up && !name; up = up->up)
        for (int i = 0; i < up->b->nindex; i++)
            if (up->b->index[i].id == id) name = up->index[i];
    Passed passed = {id, fresh_index(p, pb, pb->b->nindex, name)};
    vec_push(p->arena, &pb->passed, passed);
}

static void need(Planner *p, PrintBlock *pb, const Affine *a) {
    if (!a->has_iter) return;
    memset(p->used, 0, (size_t)p->t->nindices);
    mark_indices(a, p->used);
    for (int id = 0; id < p->t->nindices; id++)
        if (p->used[id] && !stripe_index_name(p, pb, id)) pass_in(p, pb, id);
}

static void need_place(Planner *p, PrintBlock *pb, const Place *place) {
    for (int i = 0; i < place->n; i++)
        for (int k = 0; k < place->unit[i].n; k++) need(p, pb, place->unit[i].at[k]);
}

typedef struct Needs {
    Planner *p;
    PrintBlock *pb;
} Needs;

static void need_access(Planner *p, PrintBlock *pb, const Access *a, bool write) {
    int view = stripe_pick(p->t, pb, a, write);
    if (view < 0) bug("'%s' is used outside its block", p->t->buffers.at[a->tensor].name);
    const PrintView *v = &pb->view.at[view];
    for (int d = 0; d < a->rank; d++) need(p, pb, stripe_relative(p->t, v, a, d));
}

static void need_read(void *user, const Access *a, bool guarded) {
    Needs *n = user;
    (void)guarded;
    need_access(n->p, n->pb, a, false);
}

static void need_indices(Planner *p, PrintBlock *pb, const Expr *e) {
    if (e->kind == EXPR_INDEX) need(p, pb, e->index);
    for (int i = 0; i < e->n; i++) need_indices(p, pb, e->arg[i]);
}

static void need_leaf(Planner *p, PrintBlock *pb, const Leaf *l) {
    Needs n = {p, pb};
    expr_visit_accesses(l->value, need_read, &n);
    need_indices(p, pb, l->value);
    need_access(p, pb, l->write, true);
    for (int d = 0; d < l->write->rank; d++) affine_visit_accesses(l->write->sub[d], need_read, &n);
}

static void plan_needs(Planner *p, PrintBlock *pb) {
    const Block *b = pb->b;
    Exprs *x = p->t->exprs;
    for (int i = 0; i < b->nconstraints; i++) need(p, pb, b->constraint[i]);
    need_place(p, pb, &b->place);
    for (int i = 0; i < pb->view.n; i++) {
        const PrintView *v = &pb->view.at[i];
        need_place(p, pb, &v->place);
        for (int d = 0; d < p->t->buffers.at[v->buffer].rank; d++)
            need(p, pb, stripe_offset(p->t, pb, v, d));
    }
    for (int i = 0; i < b->nchildren; i++) {
        if (b->child[i]->kind == NODE_LEAF) need_leaf(p, pb, (const Leaf *)b->child[i]);
        if (!pb->child[i]) continue;
        const Block *c = pb->child[i]->b;
        for (int k = 0; k < c->nindex; k++)
            if (c->index[k].passed) need(p, pb, c->index[k].passed);
        for (int k = 0; k < pb->child[i]->passed.n; k++)
            need(p, pb, affine_iter(x, pb->child[i]->passed.at[k].id));
    }
}

static PrintBlock *plan(Planner *p, const Block *b, PrintBlock *up) {
    PrintBlock *pb = arena_new(p->arena, PrintBlock);
    *pb = (PrintBlock){.b = b, .up = up, .depth = up ? up->depth + 1 : 0};
    pb->index = arena_new_n(p->arena, Name, b->nindex);
    pb->child = arena_new_n(p->arena, PrintBlock *, b->nchildren);
    for (int i = 0; i < b->nindex; i++) {
        pb->index[i] = fresh_index(p, pb, i, b->index[i].name);
        p->scope[b->index[i].id] = true;
    }
    plan_views(p, pb);
    for (int i = 0; i < b->nchildren; i++)
        if (b->child[i]->kind == NODE_BLOCK) pb->child[i] = plan(p, (const Block *)b->child[i], pb);
    plan_needs(p, pb);
    for (int i = 0; i < b->nindex; i++) p->scope[b->index[i].id] = false;
    return pb;
}

PrintBlock *stripe_plan_with(Planner *p) { return plan(p, p->t->root, NULL); }
