// Converts a Tree to a Plan; see plan.h.
//
// 1. build: blocks become chains of loops and guards; constraints move to the innermost loop they
//    mention (as a bound on it) or become guards; subscripts become byte offsets.
// 2. products of narrow integers that one instruction sums (dots.c); outer loops that continue a
//    vector loop in memory are collapsed into it (collapse.c).
// 3. lanes of the loops marked `vector` (plan_lanes.c).
// 4. parallel loops: those whose iterations update different elements (plan_parallel.c).
// 5. regions, whose tile fits in registers (regions.c).
// 6. streams: one pointer per buffer and combination of real-loop strides.
#include "code/plan/plan.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "base/kernel_abi.h"

enum { FAR = 4096 }; // bytes: a page

// ---- Linear functions

const Lin *code_lin(Arena *a, int64_t c, const LinTerm *t, int n) {
    Lin *l = arena_alloc(a, sizeof *l + (size_t)n * sizeof *t);
    l->c = c;
    for (int i = 0; i < n; i++) {
        if (!t[i].k) continue;
        int at = l->n++;
        for (; at > 0 && l->t[at - 1].loop > t[i].loop; at--) l->t[at] = l->t[at - 1];
        l->t[at] = t[i];
    }
    return l;
}

// Adds scale·a to (c, t[0..n)); false if `a` is not linear in loops. Passed indices are expanded.
typedef struct LinSum {
    int64_t c;
    int n;
    LinTerm t[TREE_MAX_DEPTH * 2];
    bool ok;
} LinSum;

typedef struct Builder {
    Plan *p;
    VEC(PNode *) open; // loops around the current node, outermost first
    int depth;
    const int *line_of; // by the node's number in the Tree
    int node, line;     // numbers of the current node and of its line
} Builder;

static void sum_add(Builder *b, LinSum *s, const Affine *a, int64_t scale) {
    if (!checked_fma(a->constant, scale, &s->c)) s->ok = false;
    for (int i = 0; i < a->n && s->ok; i++) {
        int64_t k;
        const Atom *atom = a->term[i].atom;
        if (atom->kind != ATOM_ITER || !checked_mul(a->term[i].coef, scale, &k)) {
            s->ok = false;
            return;
        }
        if (b->p->passed[atom->index]) {
            sum_add(b, s, b->p->passed[atom->index], k);
            continue;
        }
        int loop = b->p->loop_of_id[atom->index], j = 0;
        if (b->p->loop[loop]->extent == 1) continue; // its index is 0
        while (j < s->n && s->t[j].loop != loop) j++;
        if (j == s->n) {
            if (s->n == TREE_MAX_DEPTH * 2) {
                s->ok = false;
                return;
            }
            s->t[s->n++] = (LinTerm){loop, 0};
        }
        if (!checked_add(s->t[j].k, k, &s->t[j].k)) s->ok = false;
    }
}

static const Lin *lin_of(Builder *b, const Affine *a) {
    LinSum s = {.ok = true};
    sum_add(b, &s, a, 1);
    return s.ok ? code_lin(b->p->arena, s.c, s.t, s.n) : NULL;
}

// The range of a linear function over the full extents of its loops; false if it does not fit 64
// bits. Subscripts and constraints always fit (tree_reaches), byte offsets may not.
static bool lin_range(const Plan *p, const Lin *l, int64_t *min, int64_t *max) {
    *min = *max = l->c;
    for (int i = 0; i < l->n; i++) {
        int64_t last = p->loop[l->t[i].loop]->extent - 1;
        if (!checked_fma(l->t[i].k, last, l->t[i].k < 0 ? min : max)) return false;
    }
    return true;
}

// The greatest value over existing instances: in a split that does not divide, the last block ends
// early.
static int64_t lin_most(const Plan *p, const Lin *l, int64_t max) {
    for (int i = 0; i < l->n; i++) {
        const PNode *loop = p->loop[l->t[i].loop];
        for (int j = 0; j < loop->nbounds; j++) {
            const LoopBound *b = &loop->bound[j];
            bool same = l->t[i].k == -b->k && l->n == b->rest->n + 1;
            for (int t = 0; t < b->rest->n && same; t++)
                same = lin_coef(l, b->rest->t[t].loop) == -b->rest->t[t].k;
            if (same) max = min_i64(max, l->c + b->rest->c);
        }
    }
    return max;
}

bool code_is_small(const Plan *p, const Lin *l) {
    int64_t min, max;
    return lin_range(p, l, &min, &max) && min > -(1 << 30) && max < 1 << 30;
}

const Lin *code_index(Plan *p, const Affine *a) {
    const Lin *l = lin_of(&(Builder){.p = p}, a);
    return l && code_is_small(p, l) ? l : NULL;
}

static void sum_operand(Builder *b, LinSum *s, const Expr *e, int64_t scale) {
    if (e->kind == EXPR_INDEX)
        sum_add(b, s, e->index, scale);
    else if (e->kind != EXPR_CONST || e->type != TYPE_I64 || !checked_fma(e->value.i, scale, &s->c))
        s->ok = false;
}

const Lin *code_condition(Plan *p, const Expr *e) {
    if (e->kind != EXPR_OP ||
        (e->op != OP_GE && e->op != OP_LE && e->op != OP_GT && e->op != OP_LT))
        return NULL;
    bool above = e->op == OP_GE || e->op == OP_GT, strict = e->op == OP_GT || e->op == OP_LT;
    LinSum s = {.c = -strict, .ok = e->arg[0]->type == TYPE_I64};
    sum_operand(&(Builder){.p = p}, &s, e->arg[0], above ? 1 : -1);
    if (s.ok) sum_operand(&(Builder){.p = p}, &s, e->arg[1], above ? -1 : 1);
    const Lin *l = s.ok ? code_lin(p->arena, s.c, s.t, s.n) : NULL;
    return l && code_is_small(p, l) ? l : NULL;
}

// ---- Building

static PNode *node_new(Builder *b, PKind kind) {
    PNode *n = arena_new(b->p->arena, PNode);
    n->kind = kind;
    n->depth = b->depth;
    n->line = b->line;
    n->simd.vloop = -1;
    return n;
}

static bool has_inner_read(const Affine *a, const Access *access);

static bool access_has_inner(const Access *in, const Access *access) {
    for (int d = 0; d < in->rank; d++)
        if (has_inner_read(in->sub[d], access)) return true;
    return false;
}

// Does evaluating `a` read `access`?
static bool has_inner_read(const Affine *a, const Access *access) {
    for (int i = 0; a->has_read && i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->read && (atom->read == access || access_has_inner(atom->read, access)))
            return true;
        if (atom->a && has_inner_read(atom->a, access)) return true;
        if (atom->b && has_inner_read(atom->b, access)) return true;
    }
    return false;
}

static bool expr_has_inner(const Expr *e, const Access *access) {
    if (e->kind == EXPR_INDEX) return has_inner_read(e->index, access);
    if (e->kind == EXPR_READ) return access_has_inner(e->access, access);
    for (int i = 0; i < e->n; i++)
        if (expr_has_inner(e->arg[i], access)) return true;
    return false;
}

// All dimensions are computed, and checked.
static void compute_all(Builder *b, Mem *m) {
    m->off = NULL;
    m->inside = false;
    m->part = code_lin(b->p->arena, 0, NULL, 0);
    m->computed = (UINT64_C(1) << m->access->rank) - 1;
}

bool plan_is_plain(const Plan *p, const Affine *a) {
    for (int i = 0; p->has_passed && i < p->tree->nindices; i++)
        if (p->passed[i] && affine_uses_iter(a, i)) return false;
    return true;
}

// Does a subscript stay inside for all values of the indices?
static bool is_inside(const Plan *p, const Affine *a, int64_t size) {
    int64_t min, max;
    return plan_is_plain(p, a) && affine_bounds(a, p->least, p->most, &min, &max) && min >= 0 &&
           max < size;
}

// The byte offset as a linear function; NULL if it is not linear, or if its values, including those
// of guarded instances, are not far inside 64 bits.
static const Lin *offset_of(Builder *b, const LinSum *s) {
    int64_t min, max, far = INT64_MAX / 4;
    const Lin *l = s->ok ? code_lin(b->p->arena, s->c, s->t, s->n) : NULL;
    return l && lin_range(b->p, l, &min, &max) && min > -far && max < far ? l : NULL;
}

// Masked instructions without an active lane do not fault on memory that is not mapped, but many
// processors then take a microcode assist of hundreds of cycles.
static bool leaves_far(const Plan *p, const Buffer *buf, const Lin *off) {
    int64_t min, max, bytes = type_info[buf->type].bytes, low = -FAR, high = FAR;
    for (int d = 0; d < buf->rank; d++)
        if (!checked_fma((buf->size[d] - 1) * bytes, buf->stride[d],
                         buf->stride[d] < 0 ? &low : &high))
            return true;
    return !lin_range(p, off, &min, &max) || min < low || max > high;
}

static void mem_make(Builder *b, Mem *m, const Access *access) {
    const Buffer *buf = &b->p->tree->buffers.at[access->tensor];
    *m = (Mem){.access = access, .buffer = access->tensor, .type = buf->type, .stream = -1};
    m->safe = m->inside = true;
    LinSum s = {.ok = true}, part = {.ok = true};
    int64_t bytes = type_info[buf->type].bytes;
    m->sub = arena_new_n(b->p->arena, const Lin *, access->rank);
    for (int d = 0; d < access->rank; d++) {
        LinSum one = {.ok = true};
        sum_add(b, &one, access->sub[d], 1);
        if (one.ok) {
            int64_t min, max;
            m->sub[d] = code_lin(b->p->arena, one.c, one.t, one.n);
            bool below = !lin_range(b->p, m->sub[d], &min, &max) || min < 0;
            if (below || max >= buf->size[d]) m->safe = false;
            if (below || lin_most(b->p, m->sub[d], max) >= buf->size[d]) m->inside = false;
        } else if (!is_inside(b->p, access->sub[d], buf->size[d])) {
            m->safe = m->inside = false;
        }
        sum_add(b, &s, access->sub[d], buf->stride[d] * bytes);
        if (!one.ok) {
            s.ok = false;
            m->computed |= UINT64_C(1) << d;
        } else {
            sum_add(b, &part, access->sub[d], buf->stride[d] * bytes);
        }
    }
    m->off = offset_of(b, &s);
    m->part = offset_of(b, &part);
    if (!m->off) m->sub = NULL;
    m->far = m->off && !m->safe && leaves_far(b->p, buf, m->off);
    if (!m->part) compute_all(b, m);
}

const Mem *leaf_mem(const PNode *leaf, const Access *access) {
    for (int i = 0; i < leaf->nreads; i++)
        if (leaf->read[i].access == access) return &leaf->read[i];
    if (leaf->write.access == access) return &leaf->write;
    bug("access is not one of its leaf's");
}

static void touch(Plan *p, int buffer, int leaf) {
    if (p->first_leaf[buffer] < 0) p->first_leaf[buffer] = leaf;
    p->last_leaf[buffer] = leaf;
}

// The innermost loop here that runs more than once, if it is a vector loop; else NULL.
static const PNode *vector_loop(const Builder *b) {
    int inner = b->open.n - 1;
    while (inner >= 0 && b->open.at[inner]->extent == 1) inner--;
    return inner >= 0 && b->open.at[inner]->mark == KIND_VECTOR ? b->open.at[inner] : NULL;
}

// The leaf with subscripts that are proven to stay inside, made as linear as possible.
static const Leaf *resolved_leaf(Plan *p, const Leaf *leaf) {
    Leaf now = *leaf;
    now.value = plan_pieces(p, leaf->value);
    now.write = plan_resolve(p, leaf->write);
    if (now.value == leaf->value && now.write == leaf->write) return leaf;
    return arena_copy(p->arena, &now, sizeof now);
}

static void note_guarded(void *user, const Access *access, bool guarded) {
    PNode *n = user;
    for (int i = 0; i < n->nreads && guarded; i++)
        if (n->read[i].access == access) n->read[i].guarded = true;
}

static PNode *build_leaf(Builder *b, const Leaf *leaf) {
    Plan *p = b->p;
    PNode *n = node_new(b, P_LEAF);
    n->number = p->leaves.n;
    const Program *program = p->tree->program;
    bool unproven = leaf->stmt >= 0 && program && program->stmts.at[leaf->stmt].unproven;
    if (!unproven) leaf = resolved_leaf(p, leaf);
    n->leaf = leaf;
    n->simd.width = 1;
    AccessList reads = {.arena = p->arena};
    expr_visit_accesses(leaf->value, access_collect, &reads);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], access_collect, &reads);
    n->nreads = reads.at.n;
    n->read = arena_new_n(p->arena, Mem, reads.at.n);
    for (int i = 0; i < reads.at.n; i++) {
        mem_make(b, &n->read[i], reads.at.at[i]);
        n->read[i].leaf = n;
        if (unproven && !n->read[i].safe) compute_all(b, &n->read[i]); // like a gather
        n->read[i].inner = expr_has_inner(leaf->value, reads.at.at[i]) ||
                           access_has_inner(leaf->write, reads.at.at[i]);
        n->read[i].unchecked = leaf->unchecked || (!unproven && !reads.at.at[i]->has_read);
        touch(p, n->read[i].buffer, n->number);
    }
    mem_make(b, &n->write, leaf->write);
    n->write.safe &= n->write.off != NULL;
    n->write.leaf = n;
    if (unproven && !n->write.safe) compute_all(b, &n->write);
    n->write.unchecked = leaf->unchecked || (!unproven && !leaf->write->has_read);
    touch(p, n->write.buffer, n->number);
    vec_push(p->arena, &p->leaves, n);
    expr_visit_accesses(leaf->value, note_guarded, n);
    const PNode *vector = vector_loop(b);
    if (vector) n->simd.vloop = vector->loop;
    return n;
}

static PNode *build_node(Builder *b, const Node *node);

static PNode *wrap_guard(Builder *b, PNode *inner) {
    PNode *g = node_new(b, P_GUARD);
    g->child = arena_new_n(b->p->arena, PNode *, 1);
    g->child[0] = inner;
    g->nchild = 1;
    return g;
}

static void guard_push_lin(Builder *b, PNode *g, const Lin *cond) {
    const Lin **more = arena_new_n(b->p->arena, const Lin *, g->nconds + 1);
    if (g->nconds) memcpy(more, g->cond, (size_t)g->nconds * sizeof *more);
    more[g->nconds++] = cond;
    g->cond = more;
}

static void guard_push_hard(Builder *b, PNode *g, const Affine *cond) {
    const Affine **more = arena_new_n(b->p->arena, const Affine *, g->nhard + 1);
    if (g->nhard) memcpy(more, g->hard, (size_t)g->nhard * sizeof *more);
    more[g->nhard++] = cond;
    g->hard = more;
}

static void bound_push(Builder *b, PNode *loop, int64_t k, const Lin *rest) {
    LoopBound *more = arena_new_n(b->p->arena, LoopBound, loop->nbounds + 1);
    if (loop->nbounds) memcpy(more, loop->bound, (size_t)loop->nbounds * sizeof *more);
    more[loop->nbounds++] = (LoopBound){k, rest};
    loop->bound = more;
}

// The first n terms of l, and c, divided by the common factor of the terms.
static const Lin *reduced(const Plan *p, const Lin *l, int64_t c, int n) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int64_t step = 0;
    for (int i = 0; i < n; i++) step = gcd_i64(step, l->t[i].k);
    if (!step) step = 1;
    for (int i = 0; i < n; i++) t[i] = (LinTerm){l->t[i].loop, l->t[i].k / step};
    return code_lin(p->arena, floor_div(c, step), t, n);
}

// l >= 0 in its simplest form, without loops for which it holds completely or not at all. If
// everything else moves in steps of a loop's extent, as after a split, 511 - 96·i - 16·j - k >= 0
// with k in 16 is 31 - 6·i - j >= 0.
static const Lin *simplest(const Plan *p, const Lin *l) {
    l = reduced(p, l, l->c, l->n);
    while (l->n && l->t[l->n - 1].k == -1) {
        int64_t extent = p->loop[l->t[l->n - 1].loop]->extent, step = 0;
        for (int i = 0; i < l->n - 1; i++) step = gcd_i64(step, l->t[i].k);
        if (!step || !extent || step % extent || floor_mod(l->c + 1, extent)) break;
        l = reduced(p, l, l->c - (extent - 1), l->n - 1);
    }
    return l;
}

// Does a surrounding loop already have this bound?
static bool is_known(const Builder *b, const Lin *l) {
    const PNode *loop = l->n ? b->p->loop[l->t[l->n - 1].loop] : NULL;
    for (int i = 0; loop && i < loop->nbounds; i++) {
        const LoopBound *is = &loop->bound[i];
        bool same = is->k == l->t[l->n - 1].k && is->rest->n == l->n - 1 && is->rest->c == l->c;
        for (int k = 0; same && k < l->n - 1; k++)
            same = is->rest->t[k].loop == l->t[k].loop && is->rest->t[k].k == l->t[k].k;
        if (same) return true;
    }
    return false;
}

// Does a vector loop of the block begin after its first index, or is its end unknown? Its bounds
// then are conditions inside it, which hold in some lanes only; the generator divides its
// iterations (gen/cut.c).
static bool starts_late(Builder *b, PNode **own, int nown, const Block *block) {
    bool late = nown && b->p->refused->end[own[nown - 1]->loop] == END_IN_LANES;
    for (int i = 0; block->kind == KIND_VECTOR && nown && i < block->nconstraints && !late; i++) {
        const Lin *l = lin_of(b, block->constraint[i]);
        if (l) l = simplest(b->p, l);
        int64_t min, max;
        if (!l || !l->n || (lin_range(b->p, l, &min, &max) && min >= 0)) continue;
        const LinTerm *last = &l->t[l->n - 1];
        late = last->loop == own[nown - 1]->loop && last->k > 0;
    }
    return late;
}

// A constraint of a block whose own loops are `own` (outermost first). It becomes a bound of the
// innermost own loop that it uses, if that is the last loop it uses at all and not a vector loop
// that starts late; otherwise a condition of `outer` (around the loops) or `inner` (inside them).
static void place_constraint(Builder *b, PNode **own, int nown, bool late, PNode *outer,
                             PNode *inner, const Affine *c) {
    const Lin *l = lin_of(b, c);
    if (!l) {
        guard_push_hard(b, inner, c);
        return;
    }
    l = simplest(b->p, l);
    int64_t min, max;
    if (lin_range(b->p, l, &min, &max) && min >= 0) return;
    if (is_known(b, l)) return;
    int last = l->n ? l->t[l->n - 1].loop : -1; // loops are numbered outside in
    for (int i = 0; i < nown; i++) {
        if (own[i]->loop != last) continue;
        if (late && i == nown - 1) {
            guard_push_lin(b, inner, l);
            return;
        }
        bound_push(b, own[i], l->t[l->n - 1].k, code_lin(b->p->arena, l->c, l->t, l->n - 1));
        return;
    }
    guard_push_lin(b, outer, l);
}

static bool only_role(const PNode *n, LeafRole role) {
    if (n->kind == P_LEAF) return n->leaf->role == role;
    for (int i = 0; i < n->nchild; i++)
        if (!only_role(n->child[i], role)) return false;
    return n->nchild > 0;
}

static bool writes_arguments(const Plan *p, const PNode *n) {
    if (n->kind == P_LEAF) return n->write.buffer < p->tree->nargs;
    for (int i = 0; i < n->nchild; i++)
        if (!writes_arguments(p, n->child[i])) return false;
    return true;
}

// INIT and POST subtrees of arguments obey the run-time flags; the test encloses the largest such
// subtree.
static PNode *flagged(Builder *b, PNode *n) {
    uint32_t flag = 0;
    if (writes_arguments(b->p, n))
        flag = only_role(n, LEAF_INIT)   ? KERNEL_ACCUMULATE
               : only_role(n, LEAF_POST) ? KERNEL_SKIP_POST
                                         : 0;
    if (flag) {
        b->depth = n->depth;
        PNode *g = n->kind == P_GUARD ? n : wrap_guard(b, n);
        g->flag = flag;
        return g;
    }
    for (int i = 0; i < n->nchild; i++) n->child[i] = flagged(b, n->child[i]);
    return n;
}

static void build_children(Builder *b, const Block *block, PNode *into) {
    into->child = arena_new_n(b->p->arena, PNode *, block->nchildren);
    for (int i = 0; i < block->nchildren; i++) {
        PNode *c = build_node(b, block->child[i]);
        if (c) into->child[into->nchild++] = c;
    }
}

static PNode *open_loop(Builder *b, const Block *block, const Index *index) {
    Plan *p = b->p;
    PNode *n = node_new(b, P_LOOP);
    n->loop = p->nloops;
    n->id = index->id;
    n->extent = index->extent;
    n->mark = block->kind;
    n->most = block->unroll_limit;
    n->threads.grain = block->grain;
    n->form.unroll = 1;
    n->simd.lanes = 1;
    n->variant.limit = -1;
    p->loop[p->nloops] = n;
    p->loop_of_id[index->id] = p->nloops++;
    p->most[index->id] = index->extent - 1;
    vec_push(p->arena, &b->open, n);
    if (n->extent > 1) b->depth++;
    return n;
}

static int count_nodes(const Node *node) {
    const Block *b = as_block(node);
    int n = 1;
    for (int i = 0; b && i < b->nchildren; i++) n += count_nodes(b->child[i]);
    return n;
}

// Block -> guard { loop { loop { guard { children } } } }, leaving out guards without conditions.
static PNode *build_block(Builder *b, const Block *block) {
    PNode *own[TREE_MAX_DEPTH];
    int nown = 0, depth = b->depth;
    bool empty = false;
    PNode *outer = node_new(b, P_GUARD);
    for (int i = 0; i < block->nindex; i++) {
        if (block->index[i].passed)
            b->p->passed[block->index[i].id] = block->index[i].passed, b->p->has_passed = true;
        else
            own[nown++] = open_loop(b, block, &block->index[i]);
    }
    for (int i = 0; i < nown; i++) empty |= own[i]->extent <= 0;
    PNode *inner = node_new(b, P_GUARD);
    bool late = starts_late(b, own, nown, block);
    for (int i = 0; i < block->nconstraints && !empty; i++)
        place_constraint(b, own, nown, late, outer, inner, block->constraint[i]);
    for (int i = 0; i < block->nallocs; i++) {
        b->p->alloc_depth[block->alloc[i]] = b->depth;
        b->p->alloc_loop[block->alloc[i]] = b->open.n ? vec_last(&b->open)->loop : -1;
    }
    if (!empty)
        build_children(b, block, inner);
    else
        b->node += count_nodes(&block->node) - 1;
    b->open.n -= nown;
    b->depth = depth;
    if (!inner->nchild) return NULL;
    PNode *top = inner;
    bool bare = !inner->nhard && !inner->nconds;
    for (int i = nown - 1; i >= 0; i--) {
        own[i]->child = bare && i == nown - 1 ? inner->child : NULL;
        if (own[i]->child) {
            own[i]->nchild = inner->nchild;
        } else {
            own[i]->child = arena_new_n(b->p->arena, PNode *, 1);
            own[i]->child[0] = top;
            own[i]->nchild = 1;
        }
        top = own[i];
    }
    if (outer->nconds || outer->nhard) {
        outer->child = arena_new_n(b->p->arena, PNode *, 1);
        outer->child[0] = top;
        outer->nchild = 1;
        top = outer;
    }
    return top;
}

static PNode *build_node(Builder *b, const Node *node) {
    b->line = b->line_of[b->node++];
    if (node->kind == NODE_BLOCK) return build_block(b, (const Block *)node);
    if (node->kind == NODE_LEAF) return build_leaf(b, (const Leaf *)node);
    b->p->declined = "a special statement that was not expanded";
    return NULL;
}

// ---- Streams

int code_stream(Plan *p, int buffer, const LinTerm *t, int n, int depth) {
    if (!p->stream_of) {
        p->stream_of = arena_new_n(p->arena, int, p->tree->buffers.n);
        for (int i = 0; i < p->tree->buffers.n; i++) p->stream_of[i] = -1;
    }
    for (int i = p->stream_of[buffer], next; i >= 0; i = next) {
        Stream *s = &p->streams.at[i];
        next = s->next;
        if (s->n != n || (n && memcmp(s->t, t, (size_t)n * sizeof *t))) continue;
        if (depth > s->depth) s->depth = depth;
        return i;
    }
    LinTerm *copy = arena_new_n(p->arena, LinTerm, n);
    if (n) memcpy(copy, t, (size_t)n * sizeof *t);
    vec_push(p->arena, &p->streams, ((Stream){buffer, n, copy, depth, p->stream_of[buffer]}));
    return p->stream_of[buffer] = p->streams.n - 1;
}

void plan_stream(Plan *p, Mem *m, int depth) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    const Lin *l = m->off ? m->off : m->part;
    for (int i = 0; i < l->n; i++)
        if (p->loop[l->t[i].loop]->form.real) t[n++] = l->t[i];
    m->stream = code_stream(p, m->buffer, t, n, depth);
}

static void streams(Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        PNode *n = p->leaves.at[i];
        plan_stream(p, &n->write, n->depth);
        for (int r = 0; r < n->nreads; r++) {
            plan_stream(p, &n->read[r], n->depth);
            if (n->read[r].piece) plan_stream(p, n->read[r].piece, n->depth);
        }
    }
}

// Places the allocations that are private to threads, or the others, from `at` on; returns their
// end.
static int64_t place(Plan *p, bool private, int64_t at) {
    const Tree *t = p->tree;
    for (int i = t->nargs; i < t->buffers.n; i++) {
        const Buffer *b = &t->buffers.at[i];
        if (p->private[i] != private) continue;
        int64_t span = 1;
        for (int d = 0; d < b->rank; d++) {
            int64_t s = b->stride[d] < 0 ? -b->stride[d] : b->stride[d];
            if (b->size[d] > 0 && !checked_fma(b->size[d] - 1, s, &span))
                p->declined = "a buffer is too large";
        }
        int64_t bytes;
        if (!checked_mul(span, type_info[b->type].bytes * max_i64(p->lanes[i], 1), &bytes) ||
            bytes > INT64_MAX / 4)
            p->declined = "a buffer is too large";
        else
            p->offset[i] = at, at += (bytes + 63) & ~(int64_t)63;
    }
    return at;
}

static void place_buffers(Plan *p) {
    for (int i = 0; i < p->tree->nargs; i++) p->offset[i] = -1;
    int64_t shared = place(p, false, 0);
    // Threads share no cache lines.
    int64_t own = (place(p, true, shared) - shared + 127) & ~(int64_t)127;
    p->thread_scratch = own;
    p->scratch = shared + own;
}

Plan *code_plan(Arena *arena, const Tree *tree, const Machine *machine, Refusals *refused) {
    Plan *p = arena_new(arena, Plan);
    *p = (Plan){.arena = arena, .tree = tree, .machine = machine, .refused = refused};
    int nb = tree->buffers.n;
    p->loop = arena_new_n(arena, PNode *, tree->nindices + 1);
    p->loop_of_id = arena_new_n(arena, int, tree->nindices + 1);
    p->offset = arena_new_n(arena, int64_t, nb);
    p->alloc_depth = arena_new_n(arena, int, nb);
    p->alloc_loop = arena_new_n(arena, int, nb);
    p->lanes = arena_new_n(arena, int, nb);
    p->private = arena_new_n(arena, bool, nb);
    p->passed = arena_new_n(arena, const Affine *, tree->nindices + 1);
    p->least = arena_new_n(arena, int64_t, tree->nindices + 2);
    p->most = arena_new_n(arena, int64_t, tree->nindices + 2);
    p->first_leaf = arena_new_n(arena, int, nb);
    p->last_leaf = arena_new_n(arena, int, nb);
    memset(p->first_leaf, -1, (size_t)nb * sizeof(int));
    memset(p->last_leaf, -1, (size_t)nb * sizeof(int));
    memset(p->alloc_loop, -1, (size_t)nb * sizeof(int));
    Builder b = {.p = p};
    b.line_of = tree_lines(arena, tree);
    p->root = build_node(&b, &tree->root->node);
    if (!p->root) p->root = node_new(&b, P_GUARD);
    p->root = flagged(&b, p->root);
    plan_dots(p);
    plan_collapse(p);
    if (!plan_vectorise(p)) return code_plan(arena, tree, machine, refused);
    plan_places(p);
    int leaf = 0;
    plan_number(p, p->root, &leaf);
    plan_parallel(p);
    place_buffers(p);
    plan_regions(p, &p->root, 1);
    streams(p);
    plan_prefetches(p);
    return p;
}
