// Padding: extends the ranges of a block, and copies its tensors to larger buffers; see
// transform_block.h.
//
// Each tensor that is subscripted by an index with an extended range gets a copy. The *inner* box
// of the copy holds the elements that the block accessed before; the elements around it, its rim,
// are constants. An iteration beyond an old range is harmless in two cases:
//
//   * it writes to the rim of the copy of the result, which is never stored; or
//   * it combines the identity of the reduction with a result. Constants in rims give the identity:
//     in a sum of products one factor is -0 and the others are 1, so nothing is multiplied by an
//     element that may be infinite. For integers one zero is enough.
//
// Whether an access stays in the rim while an index is beyond its old range follows from bounds.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "transform/transform_region.h"
#include "transform/transform_block.h"

enum { PAD_MAX_BUFFERS = 16 };

typedef struct PaddedCopy {
    int buffer, to;         // the tensor and its copy
    TouchedBox inner, wide; // accessed with the old ranges, and with the new ones
    const Expr *rim;        // a constant; NULL: any
} PaddedCopy;

typedef struct Padding {
    EditWork *w;
    const Block *b;
    const Leaf *leaf;
    const PadHow *how;
    TreeFacts f;      // bounds of the old ranges
    TreeFacts longer; // of the new ones
    int ncopies;
    PaddedCopy copy[PAD_MAX_BUFFERS];
    int beyond; // id of the index that is beyond its old range, while proving
} Padding;

// --- The proof -----------------------------------------------------------------------------------

static PaddedCopy *copy_of(Padding *p, int buffer) {
    for (int i = 0; i < p->ncopies; i++)
        if (p->copy[i].buffer == buffer) return &p->copy[i];
    return NULL;
}

// Does some subscript stay outside the inner box while `beyond` is beyond its old range?
static bool in_rim(Padding *p, const Access *a) {
    const PaddedCopy *c = copy_of(p, a->tensor);
    int64_t *lo = &p->longer.lo[p->beyond], keep = *lo;
    bool outside = false;
    *lo = p->f.hi[p->beyond] + 1;
    for (int d = 0; c && d < a->rank && !outside; d++) {
        int64_t min, max;
        const Affine *own = affine_sub(p->w->x, a->sub[d], c->inner.base[d]);
        if (!affine_bounds(own, p->longer.lo, p->longer.hi, &min, &max)) continue;
        outside = min > c->inner.max[d] || max < c->inner.min[d];
    }
    *lo = keep;
    return outside;
}

// +0.
static const Expr *zero_of(Padding *p, Type type) {
    return type_is_float(type) ? expr_float(p->w->x, type, 0.0) : expr_int(p->w->x, type, 0);
}

static bool is_zero(Padding *p, const Expr *e) {
    return e == zero_of(p, e->type) ||
           (type_is_float(e->type) && e == expr_float(p->w->x, e->type, -0.0));
}

static bool wants(Padding *p, const Expr *e, const Expr *v);

// Sets both rims, or neither.
static bool wants_both(Padding *p, const Expr *a, const Expr *va, const Expr *b, const Expr *vb) {
    PaddedCopy before[PAD_MAX_BUFFERS];
    memcpy(before, p->copy, sizeof before);
    if (wants(p, a, va) && wants(p, b, vb)) return true;
    memcpy(p->copy, before, sizeof before);
    return false;
}

// Gives rims the constant 1 where that makes `e` one of the finite constants from +0 on, whichever
// values its conditions have; false: there are none.
static bool wants_finite(Padding *p, const Expr *e) {
    PaddedCopy before[PAD_MAX_BUFFERS];
    if (e->kind == EXPR_CONST)
        return type_is_float(e->type) && isfinite(e->value.f) && !signbit(e->value.f);
    if (e->kind == EXPR_READ) return wants(p, e, expr_int(p->w->x, e->type, 1));
    if (e->kind != EXPR_OP || e->op != OP_SELECT) return false;
    memcpy(before, p->copy, sizeof before);
    if (wants_finite(p, e->arg[1]) && wants_finite(p, e->arg[2])) return true;
    memcpy(p->copy, before, sizeof before);
    return false;
}

// A product equal to v: one factor is v and the other is 1. Zero is also the product with an
// integer zero, or of a zero and a finite non-negative factor.
static bool wants_product(Padding *p, const Expr *a, const Expr *b, const Expr *v) {
    const Expr *one = expr_int(p->w->x, a->type, 1);
    bool zero = is_zero(p, v), integer = !type_is_float(v->type);
    for (int turn = 0; turn < 2; turn++) {
        const Expr *x = turn ? b : a, *y = turn ? a : b;
        PaddedCopy before[PAD_MAX_BUFFERS];
        memcpy(before, p->copy, sizeof before);
        if (zero && wants(p, x, v) && (integer || wants_finite(p, y))) return true;
        memcpy(p->copy, before, sizeof before);
        if (wants_both(p, x, v, y, one)) return true;
    }
    return false;
}

// The operand of a cast that gives v.
static bool wants_cast(Padding *p, const Expr *from, const Expr *v) {
    if (type_is_float(from->type) && type_is_float(v->type))
        return wants(p, from, expr_float(p->w->x, from->type, v->value.f));
    if (v == zero_of(p, v->type)) return wants(p, from, zero_of(p, from->type));
    return v == expr_int(p->w->x, v->type, 1) && wants(p, from, expr_int(p->w->x, from->type, 1));
}

// Sets the constants of rims such that `e` is the constant `v` while `beyond` is beyond its old
// range; false: there are none.
static bool wants(Padding *p, const Expr *e, const Expr *v) {
    Exprs *x = p->w->x;
    if (e->kind == EXPR_CONST) return e == v;
    if (e->kind == EXPR_READ) {
        PaddedCopy *c = copy_of(p, e->access->tensor);
        if (!c || (c->rim && c->rim != v) || !in_rim(p, e->access)) return false;
        c->rim = v;
        return true;
    }
    if (e->kind != EXPR_OP) return false;
    const Expr *none = e->n > 1 ? zero_of(p, e->arg[1]->type) : NULL;
    switch (e->op) {
    case OP_MUL: return wants_product(p, e->arg[0], e->arg[1], v);
    case OP_CAST: return wants_cast(p, e->arg[0], v);
    case OP_NEG: return wants(p, e->arg[0], expr_unary(x, OP_NEG, v));
    case OP_SUB: return wants_both(p, e->arg[0], v, e->arg[1], none);
    case OP_SELECT: return wants_both(p, e->arg[1], v, e->arg[2], v);
    case OP_ADD:
        if (type_is_float(e->type)) none = expr_float(x, e->arg[1]->type, -0.0);
        return wants_both(p, e->arg[0], v, e->arg[1], none);
    default: return false;
    }
}

// Why iterations beyond the old ranges would change a result; NULL if they do not.
static const char *harm(Padding *p) {
    const Leaf *leaf = p->leaf;
    for (int i = 0; i < p->b->nindex; i++) {
        const Index *x = &p->b->index[i];
        p->beyond = x->id;
        if (p->how->extent[i] == x->extent || in_rim(p, leaf->write)) continue;
        if (leaf->op == REDUCE_ASSIGN)
            return arena_printf(p->w->arena, "'%s' beyond its range would overwrite results",
                                x->name);
        Type type = p->w->old->buffers.at[leaf->write->tensor].type;
        if (leaf->value->type != type || !wants(p, leaf->value, region_start(p->w, type, leaf->op)))
            return arena_printf(p->w->arena,
                                "what '%s' beyond its range would combine with results is not "
                                "exactly the identity",
                                x->name);
    }
    return NULL;
}

// --- Copies --------------------------------------------------------------------------------------

typedef struct Gathered {
    Padding *p;
    const char *why;
} Gathered;

// Adds a copy for every tensor that is subscripted by an index with an extended range.
static void gather(void *user, const Access *a, bool guarded) {
    Gathered *g = user;
    Padding *p = g->p;
    const Node *node = &p->b->node;
    bool grows = false;
    (void)guarded;
    if (a->has_read) g->why = "an access is not affine";
    for (int i = 0; i < p->b->nindex; i++)
        for (int d = 0; d < a->rank; d++)
            grows |= p->how->extent[i] > p->b->index[i].extent &&
                     affine_uses_iter(a->sub[d], p->b->index[i].id);
    if (!grows || copy_of(p, a->tensor) || g->why) return;
    if (p->ncopies == PAD_MAX_BUFFERS) {
        g->why = "it uses more than 16 tensors";
        return;
    }
    PaddedCopy *c = &p->copy[p->ncopies++];
    c->buffer = a->tensor;
    c->rim = NULL;
    c->inner = region_box(p->w, &p->f, &node, 1, a->tensor);
    c->wide = region_box(p->w, &p->longer, &node, 1, a->tensor);
    if (!c->inner.ok || !c->wide.ok) g->why = "the part of a tensor that it uses is no box";
    if (c->inner.read && a->tensor == p->leaf->write->tensor) g->why = "it reads what it writes";
}

static void make_buffer(Padding *p, PaddedCopy *c) {
    EditWork *w = p->w;
    int64_t *size = arena_new_n(w->arena, int64_t, c->wide.rank + 1);
    const char *name = arena_printf(w->arena, "%s.pad", w->old->buffers.at[c->buffer].name);
    for (int d = 0; d < c->wide.rank; d++) size[d] = c->wide.max[d] - c->wide.min[d] + 1;
    c->to = region_buffer(w, c->buffer, name, p->how->place, size, 0);
}

// A box of a copy by its corners.
typedef struct PadBox {
    int64_t at[TREE_MAX_RANK], size[TREE_MAX_RANK];
} PadBox;

static PadBox inner_box(const PaddedCopy *c) {
    PadBox box = {0};
    for (int d = 0; d < c->inner.rank; d++) {
        box.at[d] = c->inner.min[d] - c->wide.min[d];
        box.size[d] = c->inner.max[d] - c->inner.min[d] + 1;
    }
    return box;
}

static PadBox whole_box(const PaddedCopy *c) {
    PadBox box = {0};
    for (int d = 0; d < c->wide.rank; d++) box.size[d] = c->wide.max[d] - c->wide.min[d] + 1;
    return box;
}

static const Block *fill_box(Padding *p, const PaddedCopy *c, const PadBox *box,
                             const Expr *value) {
    CopyPart part = {.buffer = c->buffer, .to = c->to, .at = box->at, .size = box->size};
    part.value = value;
    part.tag[0] = "pad";
    part.tag[1] = "pad_fill";
    part.mover = p->how->mover;
    return region_copy(p->w, &p->f, &part);
}

// The inner box, from the tensor or to it.
static const Block *move_inner(Padding *p, const PaddedCopy *c, bool out) {
    const Affine *corner[TREE_MAX_RANK];
    int64_t step[TREE_MAX_RANK];
    PadBox box = inner_box(c);
    CopyPart part = {.buffer = c->buffer, .to = c->to, .at = box.at, .size = box.size};
    for (int d = 0; d < c->inner.rank; d++) {
        corner[d] = affine_add_const(p->w->x, c->inner.base[d], c->inner.min[d]);
        step[d] = 1;
    }
    part.corner = corner;
    part.step = step;
    part.store = out;
    part.op = p->leaf->op;
    part.tag[0] = "pad";
    part.tag[1] = out ? "pad_store" : "pad_load";
    part.mover = p->how->mover;
    return region_copy(p->w, &p->f, &part);
}

typedef struct PadNodes {
    Arena *arena;
    VEC(const Node *) at;
} PadNodes;

static void push(PadNodes *out, const Block *b) { vec_push(out->arena, &out->at, &b->node); }

// The rim: below and above the inner box in each dimension.
static void fill_rim(Padding *p, const PaddedCopy *c, const Expr *value, PadNodes *out) {
    PadBox inner = inner_box(c);
    for (int d = 0; d < c->wide.rank; d++)
        for (int above = 0; above < 2; above++) {
            PadBox box = whole_box(c);
            int64_t end = inner.at[d] + inner.size[d];
            box.size[d] = above ? box.size[d] - end : inner.at[d];
            box.at[d] = above ? end : 0;
            if (box.size[d] > 0) push(out, fill_box(p, c, &box, value));
        }
}

// A result gets its initial value. An input gets its inner box and its rim; if parts of the inner
// box are outside the tensor, the constant is first stored everywhere.
static void fill(Padding *p, const PaddedCopy *c, PadNodes *out) {
    Type type = p->w->old->buffers.at[c->buffer].type;
    const Expr *value = c->rim ? c->rim : zero_of(p, type);
    PadBox all = whole_box(c);
    if (c->buffer == p->leaf->write->tensor) {
        if (p->leaf->op != REDUCE_ASSIGN)
            push(out, fill_box(p, c, &all, region_start(p->w, type, p->leaf->op)));
        return;
    }
    const Block *load = move_inner(p, c, false);
    if (load->nconstraints)
        push(out, fill_box(p, c, &all, value));
    else
        fill_rim(p, c, value, out);
    push(out, load);
}

static void store(Padding *p, const PaddedCopy *c, PadNodes *out) {
    if (c->buffer == p->leaf->write->tensor) push(out, move_inner(p, c, true));
}

// --- The block -----------------------------------------------------------------------------------

static const Access *to_copy(void *user, Exprs *x, const Access *a) {
    Padding *p = user;
    const PaddedCopy *c = copy_of(p, a->tensor);
    const Affine *sub[TREE_MAX_RANK];
    if (!c) return a;
    for (int d = 0; d < a->rank; d++)
        sub[d] = affine_add_const(x, affine_sub(x, a->sub[d], c->wide.base[d]), -c->wide.min[d]);
    return access_make(x, c->to, a->rank, sub);
}

static const Node *longer_block(Padding *p) {
    EditWork *w = p->w;
    Leaf leaf = *p->leaf;
    leaf.write = to_copy(p, w->x, leaf.write);
    leaf.value = expr_substitute(w->x, leaf.value, NULL, NULL, to_copy, p);
    leaf.stmt = -1; // iterations beyond the ranges do not belong to the statement
    leaf.iter = NULL;
    const Node *node = &tree_leaf(w->t, &leaf)->node;
    Index *index = arena_copy(w->arena, p->b->index, (size_t)p->b->nindex * sizeof *index);
    for (int i = 0; i < p->b->nindex; i++) index[i].extent = p->how->extent[i];
    Block like = region_block(w, p->b, -1, -1);
    like.index = index;
    return &tree_block(w->t, &like, &node, 1)->node;
}

// Why the block cannot be padded; NULL if it can, and its copies are known.
static const char *prepare(Padding *p) {
    EditWork *w = p->w;
    const Block *b = p->b;
    p->leaf = b->nchildren == 1 ? as_leaf(b->child[0]) : NULL;
    if (!p->leaf) return "it is no block of one statement";
    if (b->kind == KIND_VECTOR) return "it is a vector";
    if (b->nconstraints || b->nallocs) return "it has conditions or memory of its own";
    if (p->leaf->role != LEAF_UPDATE) return "it starts or finishes a result";
    facts_collect(&p->f, w->arena, w->old);
    facts_collect(&p->longer, w->arena, w->old);
    for (int i = 0; i < b->nindex; i++) {
        if (b->index[i].passed) return "an index is passed in";
        p->longer.hi[b->index[i].id] = p->how->extent[i] - 1;
    }
    Gathered g = {.p = p};
    gather(&g, p->leaf->write, false);
    expr_visit_accesses(p->leaf->value, gather, &g);
    if (g.why) return g.why;
    return p->ncopies ? harm(p) : "nothing is to be padded";
}

const Tree *tree_block_pad(const Tree *t, int loop, const PadHow *how, const TreeEdit *e) {
    EditWork w = work_begin(t, "pad", e);
    const Block *parent = NULL, *b = find_loop(t, loop, &parent, NULL);
    if (!b) return refuse(&w, "there is no such block");
    Padding *p = arena_new(w.arena, Padding);
    *p = (Padding){.w = &w, .b = b, .how = how};
    const char *why = prepare(p);
    if (why) return refuse(&w, why);
    if (w.t->nindices + 4 * TREE_MAX_RANK * p->ncopies > TREE_MAX_INDICES)
        return refuse(&w, "there are too many loops");
    PadNodes list = {.arena = w.arena};
    for (int i = 0; i < p->ncopies; i++) make_buffer(p, &p->copy[i]);
    for (int i = 0; i < p->ncopies; i++) fill(p, &p->copy[i], &list);
    vec_push(w.arena, &list.at, longer_block(p));
    for (int i = 0; i < p->ncopies; i++) store(p, &p->copy[i], &list);
    Block outer = *parent;
    for (int i = 0; i < p->ncopies; i++) outer = region_block(&w, &outer, -1, p->copy[i].to);
    const Node **child = arena_new_n(w.arena, const Node *, parent->nchildren + list.at.n);
    int n = 0;
    for (int i = 0; i < parent->nchildren; i++) {
        bool here = parent->child[i] == &b->node;
        for (int k = 0; here && k < list.at.n; k++) child[n++] = list.at.at[k];
        if (!here) child[n++] = parent->child[i];
    }
    const Node *made = &tree_block(w.t, &outer, child, n)->node;
    if (parent == t->root)
        w.t->root = as_block(made);
    else
        work_replace(&w, &parent->node, &made, 1);
    w.same_order = true;
    return work_finish(&w);
}
