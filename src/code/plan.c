// Tree -> Plan. See plan.h.
//
// 1. build: blocks become chains of loops and guards; constraints move to the innermost loop they
// mention (as a bound on
//    it) or become guards; subscripts become byte offsets.
// 2. vectorise: a loop marked `vector` gets lanes if every leaf inside can follow; otherwise it
// runs as a serial loop and
//    the report says why.
// 3. parallel loops: those whose iterations cannot meet (parallel.c).
// 4. regions: from the outside in, the largest runs of siblings whose tile fits in registers.
// 5. streams: one pointer per buffer and combination of real-loop strides.
#include "code/plan.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"
#include "code/math.h"
#include "base/kernel_abi.h"

// ---- Linear functions

static const Lin *lin_make(Arena *a, int64_t c, const LinTerm *t, int n) {
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

static int64_t lin_coef(const Lin *l, int loop) {
    for (int i = 0; i < l->n; i++)
        if (l->t[i].loop == loop) return l->t[i].k;
    return 0;
}

// Adds scale·a to (c, t[0..n)); false when `a` is not linear over loops. Passed indices are
// expanded.
typedef struct LinSum {
    int64_t c;
    int n;
    LinTerm t[TREE_MAX_DEPTH * 2];
    bool ok;
} LinSum;

typedef struct Builder {
    Plan *p;
    VEC(PNode *) open; // loops around the current place, outermost first
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
        s->t[j].k += k;
    }
}

static const Lin *lin_of(Builder *b, const Affine *a) {
    LinSum s = {.ok = true};
    sum_add(b, &s, a, 1);
    return s.ok ? lin_make(b->p->arena, s.c, s.t, s.n) : NULL;
}

// Range of a linear function over the full extents of its loops.
static void lin_range(const Plan *p, const Lin *l, int64_t *min, int64_t *max) {
    *min = *max = l->c;
    for (int i = 0; i < l->n; i++) {
        int64_t span = l->t[i].k * (p->loop[l->t[i].loop]->extent - 1);
        if (span < 0)
            *min += span;
        else
            *max += span;
    }
}

// ---- Building

static PNode *node_new(Builder *b, PKind kind) {
    PNode *n = arena_new(b->p->arena, PNode);
    n->kind = kind;
    n->depth = b->depth;
    n->line = b->line;
    n->vloop = -1;
    return n;
}

static bool has_inner_read(const Affine *a, const Access *access);

static bool access_has_inner(const Access *in, const Access *access) {
    for (int d = 0; d < in->rank; d++)
        if (has_inner_read(in->sub[d], access)) return true;
    return false;
}

// Is `access` read while `a` is evaluated?
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
    m->part = lin_make(b->p->arena, 0, NULL, 0);
    m->computed = (1u << m->access->rank) - 1;
}

static void mem_make(Builder *b, Mem *m, const Access *access) {
    const Buffer *buf = &b->p->tree->buffers.at[access->tensor];
    *m = (Mem){
        .access = access, .buffer = access->tensor, .type = buf->type, .safe = true, .stream = -1};
    LinSum s = {.ok = true}, part = {.ok = true};
    int64_t bytes = type_info[buf->type].bytes;
    for (int d = 0; d < access->rank; d++) {
        LinSum one = {.ok = true};
        sum_add(b, &one, access->sub[d], 1);
        if (one.ok) {
            const Lin *l = lin_make(b->p->arena, one.c, one.t, one.n);
            int64_t min, max;
            lin_range(b->p, l, &min, &max);
            if (min < 0 || max >= buf->size[d]) m->safe = false;
        } else {
            m->safe = false;
        }
        sum_add(b, &s, access->sub[d], buf->stride[d] * bytes);
        if (!one.ok) {
            s.ok = false;
            m->computed |= 1u << d;
        } else {
            sum_add(b, &part, access->sub[d], buf->stride[d] * bytes);
        }
    }
    if (s.ok) m->off = lin_make(b->p->arena, s.c, s.t, s.n);
    m->part = part.ok ? lin_make(b->p->arena, part.c, part.t, part.n) : NULL;
    if (!part.ok) compute_all(b, m);
}

typedef struct ReadList {
    VEC(const Access *) at;
    Arena *arena;
} ReadList;

static void collect_read(void *user, const Access *access, bool guarded) {
    (void)guarded;
    ReadList *list = user;
    for (int i = 0; i < list->at.n; i++)
        if (list->at.at[i] == access) return;
    vec_push(list->arena, &list->at, access);
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

static PNode *build_leaf(Builder *b, const Leaf *leaf) {
    Plan *p = b->p;
    PNode *n = node_new(b, P_LEAF);
    n->leaf = leaf;
    n->number = p->leaves.n;
    const Program *program = p->tree->program;
    bool unproven = leaf->stmt >= 0 && program && program->stmts.at[leaf->stmt].unproven;
    n->width = 1;
    ReadList reads = {.arena = p->arena};
    expr_visit_accesses(leaf->value, collect_read, &reads);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], collect_read, &reads);
    n->nreads = reads.at.n;
    n->read = arena_new_n(p->arena, Mem, reads.at.n);
    for (int i = 0; i < reads.at.n; i++) {
        mem_make(b, &n->read[i], reads.at.at[i]);
        if (unproven && !n->read[i].safe) compute_all(b, &n->read[i]); // like a gather
        n->read[i].inner = expr_has_inner(leaf->value, reads.at.at[i]) ||
                           access_has_inner(leaf->write, reads.at.at[i]);
        n->read[i].unchecked = leaf->unchecked;
        touch(p, n->read[i].buffer, n->number);
    }
    mem_make(b, &n->write, leaf->write);
    if (unproven && !n->write.safe) compute_all(b, &n->write);
    n->write.unchecked = leaf->unchecked;
    touch(p, n->write.buffer, n->number);
    vec_push(p->arena, &p->leaves, n);
    if (b->open.n && vec_last(&b->open)->mark == KIND_VECTOR) n->vloop = vec_last(&b->open)->loop;
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
    Bound *more = arena_new_n(b->p->arena, Bound, loop->nbounds + 1);
    if (loop->nbounds) memcpy(more, loop->bound, (size_t)loop->nbounds * sizeof *more);
    more[loop->nbounds++] = (Bound){k, rest};
    loop->bound = more;
}

// A constraint of a block whose own loops are `own` (outermost first): a bound on the innermost own
// loop it mentions when that is the last loop it mentions at all; otherwise a condition of `outer`
// (around the loops) or `inner` (inside them).
static void place_constraint(Builder *b, PNode **own, int nown, PNode *outer, PNode *inner,
                             const Affine *c) {
    const Lin *l = lin_of(b, c);
    if (!l) {
        guard_push_hard(b, inner, c);
        return;
    }
    int64_t min, max;
    lin_range(b->p, l, &min, &max);
    if (min >= 0) return;
    int last = l->n ? l->t[l->n - 1].loop : -1; // loops are numbered outside in
    for (int i = 0; i < nown; i++) {
        if (own[i]->loop != last) continue;
        bound_push(b, own[i], l->t[l->n - 1].k, lin_make(b->p->arena, l->c, l->t, l->n - 1));
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

// INIT and POST subtrees of arguments obey the run-time flags; the test goes around the largest
// such subtree.
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
    n->extent = index->extent;
    n->mark = block->kind;
    n->most = block->unroll_limit;
    n->grain = block->grain;
    n->unroll = 1;
    n->lanes = 1;
    n->limit = -1;
    p->loop[p->nloops] = n;
    p->loop_of_id[index->id] = p->nloops++;
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
            b->p->passed[block->index[i].id] = block->index[i].passed;
        else
            own[nown++] = open_loop(b, block, &block->index[i]);
    }
    for (int i = 0; i < nown; i++) empty |= own[i]->extent <= 0;
    PNode *inner = node_new(b, P_GUARD);
    for (int i = 0; i < block->nconstraints && !empty; i++)
        place_constraint(b, own, nown, outer, inner, block->constraint[i]);
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

// ---- Vectorising

static int lane_bytes(Type t) { return type_info[type_compute(t)].bits == 64 ? 8 : 4; }

static int widest(const Expr *e) {
    int w = lane_bytes(e->type);
    if (e->kind == EXPR_INDEX) return w;
    for (int i = 0; i < e->n; i++)
        if (widest(e->arg[i]) > w) w = widest(e->arg[i]);
    return w;
}

static bool affine_mentions(const Plan *p, const Affine *a, int loop) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_ITER) {
            if (p->loop_of_id[atom->index] == loop) return true;
        } else if (atom->kind == ATOM_READ) {
            for (int d = 0; d < atom->read->rank; d++)
                if (affine_mentions(p, atom->read->sub[d], loop)) return true;
        } else if ((atom->a && affine_mentions(p, atom->a, loop)) ||
                   (atom->b && affine_mentions(p, atom->b, loop))) {
            return true;
        }
    }
    return false;
}

bool code_computes_with(const Plan *p, const Mem *m, int loop) {
    for (int d = 0; d < m->access->rank; d++)
        if (m->computed >> d & 1 && affine_mentions(p, m->access->sub[d], loop)) return true;
    return false;
}

static bool small_type(Type t) { return type_info[t].bits < 32; }

// The linear part of a subscript, and the one element it reads (NULL: none); false: it has more.
static bool split_subscript(const Plan *p, const Affine *a, int64_t *reach, const Access **read) {
    *reach = a->constant < 0 ? -a->constant : a->constant;
    *read = NULL;
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        int64_t k = a->term[i].coef < 0 ? -a->term[i].coef : a->term[i].coef;
        if (atom->kind == ATOM_READ && k == 1 && a->term[i].coef == 1 && !*read)
            *read = atom->read;
        else if (atom->kind != ATOM_ITER || p->loop_of_id[atom->index] < 0 ||
                 !checked_fma(k, p->loop[p->loop_of_id[atom->index]]->extent, reach))
            return false;
    }
    return true;
}

// Can lanes along the loop be gathered? Indices are computed in 4 bytes where these hold
// everything: a sum that wraps must not end up inside, and the span in elements must fit.
static bool can_gather(const Plan *p, const PNode *leaf, Mem *m, int loop) {
    const Buffer *b = &p->tree->buffers.at[m->buffer];
    int64_t span = 0;
    m->index = TYPE_I32;
    if (small_type(m->type) || lin_coef(m->part, loop) || m->inner) return false;
    for (int d = 0; d < m->access->rank; d++) {
        int64_t reach, stride = b->stride[d] < 0 ? -b->stride[d] : b->stride[d];
        const Access *read;
        if (!(m->computed >> d & 1)) continue;
        if (!split_subscript(p, m->access->sub[d], &reach, &read)) return false;
        if (read && !leaf_mem(leaf, read)->off) return false;
        if (read && type_info[leaf_mem(leaf, read)->type].bits == 64) m->index = TYPE_I64;
        if (!checked_fma(b->size[d], stride, &span) || span > INT64_MAX / 4) return false;
        if (reach > INT32_MAX / 2 || b->size[d] > INT32_MAX / 2) m->index = TYPE_I64;
        if (reach > INT64_MAX / 4) return false;
    }
    if (span > INT32_MAX) m->index = TYPE_I64;
    m->gathers = true;
    m->lane = 0;
    return true;
}

// NULL when the access can follow `loop` with one vector instruction, else why not.
static const char *cannot_follow(const Plan *p, const PNode *leaf, Mem *m, int loop, bool reduces,
                                 bool guarded) {
    bool write = m == &leaf->write;
    m->gathers = false;
    if (!m->off) {
        if (guarded) return "a guarded read is computed";
        if (code_computes_with(p, m, loop))
            return !write && can_gather(p, leaf, m, loop) ? NULL
                                                          : "a subscript is not linear in it";
        if (write && !lin_coef(m->part, loop)) return "the written element is computed";
    }
    m->lane = lin_coef(m->off ? m->off : m->part, loop);
    int64_t size = type_info[m->type].bytes;
    if (guarded && !m->safe &&
        (m->lane != size || p->machine->isa != ISA_AVX512 || m->type == TYPE_BOOL ||
         m->type == TYPE_BF16))
        return "a guarded read is not contiguous";
    if (m->lane == 0 && write && reduces && m->type != type_compute(m->type))
        return "sums in a 16-bit float round at every step";
    if (m->lane == 0) return write && !reduces ? "every lane writes one element" : NULL;
    if (m->lane == size) return NULL;
    if (m->lane > INT32_MAX / 64 || m->lane < -INT32_MAX / 64) return "lanes are too far apart";
    return NULL;
}

static bool index_is_hard(const Plan *p, const Expr *e, int loop) {
    if (e->kind == EXPR_INDEX) return !e->index->linear && affine_mentions(p, e->index, loop);
    for (int i = 0; i < e->n; i++)
        if (index_is_hard(p, e->arg[i], loop)) return true;
    return false;
}

static bool has_guard(const Expr *e) {
    if (e->kind != EXPR_OP) return false;
    if (e->op == OP_SELECT || e->op == OP_AND || e->op == OP_OR) return true;
    for (int i = 0; i < e->n; i++)
        if (has_guard(e->arg[i])) return true;
    return false;
}

// Why a leaf cannot run in lanes along `loop`, or NULL; *bytes grows to the widest lane.
static const char *leaf_cannot(const Plan *p, PNode *n, int loop, int *bytes) {
    bool reduces = n->leaf->op != REDUCE_ASSIGN;
    bool guarded = has_guard(n->leaf->value);
    const char *why = cannot_follow(p, n, &n->write, loop, reduces, false);
    for (int i = 0; i < n->nreads && !why; i++)
        why = cannot_follow(p, n, &n->read[i], loop, false, guarded);
    if (!why && index_is_hard(p, n->leaf->value, loop)) why = "an index value is not linear in it";
    int w = widest(n->leaf->value);
    if (lane_bytes(n->write.type) > w) w = lane_bytes(n->write.type);
    for (int i = 0; i < n->nreads; i++)
        if (n->read[i].gathers) w = (int)max_i64(w, lane_bytes(n->read[i].index));
    if (p->machine->isa != ISA_AVX512) {
        bool small = small_type(n->write.type);
        for (int i = 0; i < n->nreads; i++) small |= small_type(n->read[i].type);
        for (int i = 0; i < n->nreads && !why; i++)
            if (n->read[i].gathers &&
                (lane_bytes(n->read[i].index) != w || lane_bytes(n->read[i].type) != w))
                why = "lanes of different widths meet in a gather";
        if (small && !why) why = "this ISA has no masked access to types under 32 bits";
    }
    if (w > *bytes) *bytes = w;
    return why;
}

static const char *subtree_cannot(const Plan *p, PNode *n, int loop, int *bytes) {
    if (n->kind == P_LEAF) return leaf_cannot(p, n, loop, bytes);
    if (n->kind == P_LOOP) return "it is not innermost";
    for (int i = 0; i < n->nconds; i++)
        if (lin_coef(n->cond[i], loop)) return "a guard depends on it";
    if (n->nhard) return "a guard is not linear";
    const char *why = NULL;
    for (int i = 0; i < n->nchild && !why; i++) why = subtree_cannot(p, n->child[i], loop, bytes);
    return why;
}

static void set_width(PNode *n, int loop, int width) {
    n->vloop = width > 1 ? loop : -1;
    n->width = width;
    if (width == 1) {
        n->write.lane = 0;
        for (int i = 0; i < n->nreads; i++) n->read[i].lane = 0, n->read[i].gathers = false;
    }
    for (int i = 0; i < n->nchild; i++) set_width(n->child[i], loop, width);
}

static void vectorise(Plan *p) {
    for (int i = 0; i < p->nloops; i++) {
        PNode *n = p->loop[i];
        if (n->mark != KIND_VECTOR || !n->nchild) continue;
        int bytes = 4;
        const char *why = p->machine->isa == ISA_SCALAR ? "the ISA is scalar" : NULL;
        if (p->refused->vector[i]) why = "its end is only known at run time";
        for (int c = 0; c < n->nchild && !why; c++)
            why = subtree_cannot(p, n->child[c], n->loop, &bytes);
        for (int k = 0; k < n->nbounds && !why; k++)
            if (n->bound[k].k > 0) why = "its first lane is not the first index";
        if (n->extent == 1) why = "it has one iteration";
        n->vector = !why;
        n->lanes = why ? 1 : p->machine->vector_bytes / bytes;
        for (int c = 0; c < n->nchild; c++) set_width(n->child[c], n->loop, n->lanes);
        if (why && n->extent > 1)
            text_printf(&p->report, "line %d: the vector loop runs as a serial one: %s\n", n->line,
                        why);
    }
}

// ---- Regions

// Vector operations of an expression: 1, more where functions are computed in place.
static int64_t expr_count(const Expr *e) {
    int64_t count = 1;
    if (e->kind != EXPR_OP) return count;
    if (e->n && math_has(e->op, e->arg[0]->type)) count += math_cost(e->op, e->arg[0]->type) / 8;
    for (int i = 0; i < e->n; i++) count += expr_count(e->arg[i]) - 1;
    return count;
}

static void number(Plan *p, PNode *n, int *leaf) {
    n->first = *leaf;
    if (n->kind == P_LEAF) {
        n->count = expr_count(n->leaf->value);
        (*leaf)++;
    }
    for (int i = 0; i < n->nchild; i++) {
        number(p, n->child[i], leaf);
        n->count += n->child[i]->count;
    }
    if (n->kind == P_LOOP) {
        int64_t trips = n->vector ? ceil_div(n->extent, n->lanes) : n->extent;
        if (__builtin_mul_overflow(n->count, trips, &n->count)) n->count = INT64_MAX / 4;
    }
    n->last = *leaf;
}

static int64_t unroll_limit(const Plan *p) { return p->machine->unroll_limit; }

// No leaf below writes along this loop.
static bool writes_skip(const Plan *p, const PNode *loop) {
    for (int i = loop->first; i < loop->last; i++) {
        const Mem *w = &p->leaves.at[i]->write;
        if (!w->off || lin_coef(w->off, loop->loop)) return false;
    }
    return true;
}

// Copies at different indices of `loop` touch different elements through this access, so that
// nothing would be gained by making them together.
static bool copies_differ(const Plan *p, const Mem *m, int loop) {
    if (!m->off || !lin_coef(m->off, loop)) return false;
    int64_t k = lin_coef(m->off, loop);
    for (int i = 0; i < m->off->n; i++) {
        const PNode *inner = p->loop[m->off->t[i].loop];
        int64_t step = m->off->t[i].k * inner->lanes, trips = ceil_div(inner->extent, inner->lanes);
        if (inner->loop > loop && !inner->real && k % step == 0 &&
            (k < 0 ? -k : k) / (step < 0 ? -step : step) < trips)
            return false; // a window that slides along
    }
    return true;
}

static bool has_index(const Expr *e) {
    if (e->kind == EXPR_INDEX) return true;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++)
        if (has_index(e->arg[i])) return true;
    return false;
}

static bool leaf_replays(const Plan *p, const PNode *leaf, int loop) {
    if (!leaf->write.off || lin_coef(leaf->write.off, loop)) return false;
    for (int i = 0; i < leaf->nreads; i++) {
        const Mem *m = &leaf->read[i];
        if (m->buffer != leaf->write.buffer && !copies_differ(p, m, loop)) return false;
    }
    return !has_index(leaf->leaf->value);
}

// Are the copies of a loop's body the same but for addresses?
static bool body_replays(const Plan *p, const PNode *n, int loop) {
    if (n->kind == P_GUARD) return false;
    if (n->kind == P_LEAF) return leaf_replays(p, n, loop);
    if (n->real) return false;
    for (int i = 0; i < n->nbounds; i++)
        if (lin_coef(n->bound[i].rest, loop)) return false;
    for (int i = 0; i < n->nchild; i++)
        if (!body_replays(p, n->child[i], loop)) return false;
    return true;
}

// Two reads of a buffer move alike, so that those which meet in one copy meet in all.
static bool reads_agree(const Plan *p, const PNode *n) {
    const Mem *first[8];
    int count = 0;
    for (int l = n->first; l < n->last; l++) {
        const PNode *leaf = p->leaves.at[l];
        for (int r = 0; r < leaf->nreads; r++) {
            const Mem *m = &leaf->read[r];
            int i = 0;
            while (i < count && first[i]->buffer != m->buffer) i++;
            if (i == 8) return false;
            if (i == count) first[count++] = m;
            if (lin_coef(first[i]->off, n->loop) != lin_coef(m->off, n->loop)) return false;
        }
    }
    return true;
}

static bool loop_replays(const Plan *p, const PNode *n) {
    if (n->kind != P_LOOP || n->vector) return false;
    for (int i = 0; i < n->nchild; i++)
        if (!body_replays(p, n->child[i], n->loop)) return false;
    return reads_agree(p, n);
}

// Everything is unrolled; the outermost loops that can be are copied by replaying.
static void unroll_all(PNode *n) {
    n->real = n->replay = false;
    n->unroll = 1;
    for (int i = 0; i < n->nchild; i++) unroll_all(n->child[i]);
}

static void choose_replay(const Plan *p, PNode *n) {
    bool head = loop_replays(p, n) && n->extent > 1;
    for (int i = 0; i < n->nchild && !head; i++) choose_replay(p, n->child[i]);
    while (head && loop_replays(p, n)) { // a chain of loops
        n->replay = true;
        if (n->nchild > 1) break;
        n = n->child[0];
    }
}

// Copies of an assignment share nothing, so that many of them gain nothing.
enum { MAX_COPIES = 32 };

static bool only_assigns(const Plan *p, const PNode *n) {
    for (int i = n->first; i < n->last; i++)
        if (p->leaves.at[i]->leaf->op != REDUCE_ASSIGN) return false;
    return true;
}

// Marks the loops of a candidate region real or unrolled; false when some loop can be neither.
// `pins`: it may have a tile.
static bool mark(Plan *p, PNode *n, bool pins) {
    int64_t limit = n->most                  ? n->most
                    : n->mark == KIND_UNROLL ? 16 * unroll_limit(p)
                                             : unroll_limit(p);
    if (!n->most && n->mark != KIND_UNROLL && only_assigns(p, n))
        limit = min_i64(limit, MAX_COPIES);
    if (n->kind == P_LEAF) return true;
    bool again = pins && n->mark != KIND_UNROLL && n->extent > 2 && loop_replays(p, n);
    if (n->count <= (again ? limit / 2 : limit)) {
        unroll_all(n);
        if (pins) choose_replay(p, n);
        return true;
    }
    if (n->kind == P_LOOP) {
        if (!writes_skip(p, n)) return false;
        n->real = n->extent > 1;
        n->replay = false;
        n->unroll = 1;
    }
    for (int i = 0; i < n->nchild; i++)
        if (!mark(p, n->child[i], pins)) return false;
    n->replay = n->real && loop_replays(p, n);
    for (int i = 0; i < n->nchild && n->replay; i++) unroll_all(n->child[i]);
    return true;
}

// The elements a region writes under its real loops, found by running through its copies.
typedef struct Tile {
    Plan *p;
    int first_loop; // loops from here on are inside the region
    int64_t *value; // by loop
    int n, limit;
    struct TileAt {
        int buffer;
        int64_t at;
        int64_t lane;
        int width;
        const Lin *off;
    } at[64];
    bool fits;
} Tile;

static int64_t lin_inside(const Tile *t, const Lin *l) {
    int64_t at = l->c;
    for (int i = 0; i < l->n; i++)
        if (l->t[i].loop >= t->first_loop) at += l->t[i].k * t->value[l->t[i].loop];
    return at;
}

// The parts of two offsets that vary outside the region are the same.
static bool same_outside(const Tile *t, const Lin *a, const Lin *b) {
    int i = 0;
    for (; i < a->n && a->t[i].loop < t->first_loop; i++)
        if (i >= b->n || b->t[i].loop != a->t[i].loop || b->t[i].k != a->t[i].k) return false;
    return i >= b->n || b->t[i].loop >= t->first_loop;
}

static void tile_add(Tile *t, const PNode *leaf) {
    const Mem *w = &leaf->write;
    int64_t at = lin_inside(t, w->off);
    for (int i = 0; i < t->n; i++)
        if (t->at[i].buffer == w->buffer && t->at[i].at == at) return;
    bool apart = leaf->width > 1 && w->lane && w->lane != type_info[w->type].bytes;
    if (t->n >= t->limit || apart) {
        t->fits = false;
        return;
    }
    t->at[t->n++] = (struct TileAt){w->buffer, at, w->lane, leaf->width, w->off};
}

bool plan_pins(const PNode *n) {
    if (n->kind == P_LOOP && (n->real || n->replay)) return true;
    for (int i = 0; i < n->nchild; i++)
        if (plan_pins(n->child[i])) return true;
    return false;
}

static void tile_walk(Tile *t, const PNode *n, bool under_real) {
    if (!t->fits || (!under_real && !plan_pins(n))) return;
    if (n->kind == P_LEAF) {
        tile_add(t, n);
        return;
    }
    int64_t trips = n->kind == P_LOOP && !n->real && !writes_skip(t->p, n) ? n->extent : 1;
    int64_t step = n->kind == P_LOOP && n->vector ? n->lanes : 1;
    for (int64_t v = 0; v < trips && t->fits; v += step) {
        if (n->kind == P_LOOP) t->value[n->loop] = v;
        for (int i = 0; i < n->nchild; i++)
            tile_walk(t, n->child[i], under_real || (n->kind == P_LOOP && (n->real || n->replay)));
    }
}

// Every access to a buffer of the tile hits exactly one element (or vector) of the tile.
static bool mem_agrees(const Tile *t, const Mem *m, int width) {
    for (int i = 0; i < t->n; i++) {
        if (t->at[i].buffer != m->buffer) continue;
        if (m->inner || !m->off || !same_outside(t, m->off, t->at[i].off)) return false;
        for (int j = 0; j < m->off->n; j++) {
            const PNode *l = t->p->loop[m->off->t[j].loop];
            if (l->loop >= t->first_loop && (l->real || l->replay)) return false;
        }
        bool vector_here = t->at[i].width > 1 && t->at[i].lane != 0;
        bool vector_there = width > 1 && m->lane != 0;
        if (vector_here != vector_there) return false;
        if (vector_here && (t->at[i].width != width || t->at[i].lane != m->lane)) return false;
    }
    return true;
}

// Loops are numbered outside in and left to right, so the first one met has the smallest number.
static int first_loop_of(const PNode *n, int none) {
    if (n->kind == P_LOOP) return n->loop;
    for (int i = 0; i < n->nchild; i++) {
        int first = first_loop_of(n->child[i], none);
        if (first != none) return first;
    }
    return none;
}

static int most_operands(const Expr *e) {
    int most = e->n;
    for (int i = 0; i < e->n; i++) {
        int inner = most_operands(e->arg[i]);
        if (inner > most) most = inner;
    }
    return most;
}

// Registers that a leaf needs beside the tile: two operands and a result; more for selections,
// guards and tails of reductions in lanes.
static int leaf_needs(const PNode *n) {
    bool lanes = n->width > 1 && n->write.lane == 0;
    bool plain = most_operands(n->leaf->value) <= 2 && !lanes;
    for (int i = 0; i < n->nreads; i++) plain &= n->read[i].off != NULL;
    return plain ? 3 : 6;
}

static int tile_limit(const Plan *p, PNode **nodes, int n) {
    int need = 3;
    for (int i = nodes[0]->first; i < nodes[n - 1]->last; i++)
        if (leaf_needs(p->leaves.at[i]) > need) need = leaf_needs(p->leaves.at[i]);
    return p->machine->vector_registers - 1 - need; // one is the back-end's own
}

// *tile <- the number of its elements.
static bool fits(Plan *p, PNode **nodes, int n, int *tile) {
    bool pins = true;
    for (int i = 0; i < n; i++)
        if (nodes[i]->has_parallel) return false;
    for (int i = nodes[0]->first; i < nodes[n - 1]->last; i++) pins &= !p->refused->tile[i];
    for (int i = 0; i < n; i++)
        if (!mark(p, nodes[i], pins)) return false;
    Tile t = {.p = p, .limit = tile_limit(p, nodes, n), .fits = true};
    t.first_loop = p->nloops;
    for (int i = 0; i < n && t.first_loop == p->nloops; i++)
        t.first_loop = first_loop_of(nodes[i], p->nloops);
    t.value = arena_new_n(p->arena, int64_t, p->nloops + 1);
    for (int i = 0; i < n; i++) tile_walk(&t, nodes[i], false);
    *tile = t.n;
    if (!t.fits) return false;
    if (t.n && !pins) return false;
    for (int i = nodes[0]->first; i < nodes[n - 1]->last; i++) {
        const PNode *leaf = p->leaves.at[i];
        if (!mem_agrees(&t, &leaf->write, leaf->width)) return false;
        for (int r = 0; r < leaf->nreads; r++)
            if (!mem_agrees(&t, &leaf->read[r], leaf->width)) return false;
    }
    return true;
}

// A real loop whose body is straight-line gets as many copies of it as the limit allows.
static void choose_unroll(Plan *p, PNode *n) {
    if (n->kind == P_LOOP && n->real) {
        bool straight = true;
        int64_t body = 0;
        for (int i = 0; i < n->nchild; i++) {
            straight &= n->child[i]->count <= unroll_limit(p);
            body += n->child[i]->count;
        }
        int64_t trips = n->vector ? n->extent / n->lanes : n->extent;
        // Enough to hide the loop's own instructions, and without a rest where that is near.
        int64_t most = min_i64(trips, min_i64(8, body ? unroll_limit(p) * 3 / 8 / body : 1)),
                u = most;
        while (u > (most + 1) / 2 && trips % u) u--;
        if (trips % max_i64(u, 1)) u = most;
        n->unroll = straight && u > 1 ? (int)u : 1;
    }
    for (int i = 0; i < n->nchild; i++) choose_unroll(p, n->child[i]);
}

// Splitting accumulators. A reduction's steps wait for each other; `chains` of them run side by
// side inside its outermost reduction loop. Where these are fewer than the machine has operations
// in flight, each chain is split over values that take turns, as far as registers go.
typedef struct Around {
    const PNode *loop[TREE_MAX_DEPTH * 2];
    int n;
} Around;

static int64_t trips_of(const PNode *loop) {
    return loop->vector ? ceil_div(loop->extent, loop->lanes) : loop->extent;
}

// `tile` values are kept anyway, `room` registers can be had.
static int split_of(const Plan *p, const PNode *leaf, const Around *around, int tile, int room) {
    const Mem *w = &leaf->write;
    int64_t chains = 1, steps = 1;
    if (leaf->leaf->op == REDUCE_ASSIGN || !w->off || w->type != type_compute(w->type) ||
        w->type == TYPE_BOOL)
        return 1;
    bool inside = false;
    for (int i = 0; i < around->n; i++) {
        const PNode *loop = around->loop[i];
        bool reduced = lin_coef(w->off, loop->loop) == 0;
        inside |= reduced;
        if (inside && trips_of(loop) < 1 << 20)
            *(reduced ? &steps : &chains) *= trips_of(loop);
        else if (reduced)
            steps = 1 << 20;
        steps = min_i64(steps, 1 << 20);
        chains = min_i64(chains, 1 << 20);
    }
    int64_t most = min_i64(MAX_PARTS, room / max_i64(chains, tile)),
            asked = leaf->leaf->accumulators;
    int64_t busy = p->machine->fma_latency * p->machine->fma_ports;
    // Only a schedule reorders a sum: one that asks for lanes, or for accumulators.
    if (!asked && leaf->width == 1 && type_is_float(w->type)) return 1;
    int64_t split = asked ? min_i64(asked, steps) : min_i64(ceil_div(busy, chains), steps / 4);
    return (int)max_i64(1, min_i64(split, most));
}

static void split_reductions(Plan *p, PNode *n, Around *around, int tile, int room) {
    if (n->kind == P_LEAF) n->split = split_of(p, n, around, tile, room);
    if (n->kind == P_LOOP) around->loop[around->n++] = n;
    for (int i = 0; i < n->nchild; i++) split_reductions(p, n->child[i], around, tile, room);
    if (n->kind == P_LOOP) around->n--;
}

static void regions(Plan *p, PNode **nodes, int n) {
    for (int i = 0; i < n;) {
        int span = n - i, tile = 0;
        while (span > 0 && !fits(p, nodes + i, span, &tile)) span = span > 4 ? span / 2 : span - 1;
        if (span > 0) {
            nodes[i]->region = span;
            for (int j = i; j < i + span; j++) {
                Around around = {.n = 0};
                choose_unroll(p, nodes[j]);
                split_reductions(p, nodes[j], &around, tile, tile_limit(p, nodes + i, span));
            }
            i += span;
            continue;
        }
        PNode *at = nodes[i++];
        if (at->kind == P_LOOP) {
            at->real = at->extent > 1;
            at->replay = false;
            at->unroll = 1;
            if (at->vector) { // a strip of several vectors per iteration
                int64_t body = 0;
                for (int c = 0; c < at->nchild; c++) body += at->child[c]->count;
                at->unroll = body <= 4 ? 4 : body <= 8 ? 2 : 1;
            }
        }
        regions(p, at->child, at->nchild);
    }
}

// ---- Streams

int code_stream(Plan *p, int buffer, const LinTerm *t, int n, int depth) {
    for (int i = 0; i < p->streams.n; i++) {
        Stream *s = &p->streams.at[i];
        if (s->buffer != buffer || s->n != n || (n && memcmp(s->t, t, (size_t)n * sizeof *t)))
            continue;
        if (depth > s->depth) s->depth = depth;
        return i;
    }
    LinTerm *copy = arena_new_n(p->arena, LinTerm, n);
    if (n) memcpy(copy, t, (size_t)n * sizeof *t);
    vec_push(p->arena, &p->streams, ((Stream){buffer, n, copy, depth}));
    return p->streams.n - 1;
}

static void stream_of(Plan *p, Mem *m, int depth) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    const Lin *l = m->off ? m->off : m->part;
    for (int i = 0; i < l->n; i++)
        if (p->loop[l->t[i].loop]->real) t[n++] = l->t[i];
    m->stream = code_stream(p, m->buffer, t, n, depth);
}

// A prefetch asked for at a loop concerns every access to its buffer that moves with that loop.
static void find_prefetch(const Plan *p, Mem *m) {
    for (int i = 0; i < p->tree->prefetches.n && m->off; i++) {
        const Prefetch *f = &p->tree->prefetches.at[i];
        for (int k = 0; k < f->at->nindex && f->buffer == m->buffer; k++) {
            if (f->at->index[k].passed) continue;
            int64_t step = lin_coef(m->off, p->loop_of_id[f->at->index[k].id]);
            if (!step || !checked_mul(step, f->distance, &m->ahead)) continue;
            if (m->ahead == (int32_t)m->ahead) m->fetch = f->level;
        }
    }
}

static void streams(Plan *p) {
    for (int i = 0; i < p->leaves.n; i++) {
        PNode *n = p->leaves.at[i];
        stream_of(p, &n->write, n->depth);
        find_prefetch(p, &n->write);
        for (int r = 0; r < n->nreads; r++) {
            stream_of(p, &n->read[r], n->depth);
            find_prefetch(p, &n->read[r]);
        }
    }
}

// Places the allocations that are private to threads, or the others, from `at` on; where they end.
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
        if (!checked_mul(span, type_info[b->type].bytes, &bytes) || bytes > INT64_MAX / 4)
            p->declined = "a buffer is too large";
        else
            p->offset[i] = at, at += (bytes + 63) & ~(int64_t)63;
    }
    return at;
}

static void place_buffers(Plan *p) {
    for (int i = 0; i < p->tree->nargs; i++) p->offset[i] = -1;
    int64_t shared = place(p, false, 0);
    int64_t own = (place(p, true, shared) - shared + 127) & ~(int64_t)127; // no lines in common
    p->thread_scratch = own;
    p->scratch = shared + own;
}

Plan *code_plan(Arena *arena, const Tree *tree, const Machine *machine, const Refusals *refused) {
    Plan *p = arena_new(arena, Plan);
    *p = (Plan){.arena = arena,
                .tree = tree,
                .machine = machine,
                .refused = refused,
                .report = {.arena = arena}};
    int nb = tree->buffers.n;
    p->loop = arena_new_n(arena, PNode *, tree->nindices + 1);
    p->loop_of_id = arena_new_n(arena, int, tree->nindices + 1);
    p->offset = arena_new_n(arena, int64_t, nb);
    p->alloc_depth = arena_new_n(arena, int, nb);
    p->alloc_loop = arena_new_n(arena, int, nb);
    p->private = arena_new_n(arena, bool, nb);
    p->passed = arena_new_n(arena, const Affine *, tree->nindices + 1);
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
    vectorise(p);
    int leaf = 0;
    number(p, p->root, &leaf);
    plan_parallel(p);
    place_buffers(p);
    regions(p, &p->root, 1);
    streams(p);
    return p;
}
