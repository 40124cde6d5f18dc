// Footprint, traffic and operations of every block, from affine ranges.
//
// Leaf executions. A block multiplies what is below by its extents and by the fraction of its
// points that its constraints admit: exact for one constraint over few indices, a product of
// fractions for several.
//
// Footprint. Seen from a block, an access touches a box: per dimension the range of the part of its
// subscript that is made of indices of the block and below. Accesses of a buffer whose other part
// is the same are neighbours and share a box (their hull); boxes of one buffer add up, at most to
// the whole buffer.
#include "tree/cost.h"

#include <string.h>

#include "base/checked.h"
#include "program/points.h"

typedef struct CostTouch { // an access of a leaf
    const Access *access;
    int64_t bytes;
} CostTouch;

typedef struct CostBox {
    int buffer;
    const Affine *outer[TREE_MAX_RANK];
    int64_t min[TREE_MAX_RANK], max[TREE_MAX_RANK];
} CostBox;

typedef struct Costs {
    const Tree *t;
    Arena *arena;
    VEC(BlockCost) out;
    VEC(CostTouch) touch;        // of the leaves walked so far
    int64_t *lo, *hi;            // per index; what is further out is fixed at 0
    bool *inside;                // per index: belongs to the block that is looked at, or below
    double flops, traffic, runs; // of the node just walked
} Costs;

static int64_t rounded(double d) { return d < 9e18 ? (int64_t)(d + 0.5) : INT64_MAX; }

// --- Leaf executions ---------------------------------------------------------------------------

static int64_t extent_of(const Costs *c, int id) { return c->hi[id] + 1; }

// Points of the box, of the constraint's own indices, where it holds; -1: too many to count.
static int64_t count(const Costs *c, const Affine *a, int from, int64_t sum) {
    if (from == a->n - 1) { // k·i + sum >= 0 for i in [0, e)
        int64_t k = a->term[from].coef, e = extent_of(c, a->term[from].atom->index);
        if (k > 0) return e - min_i64(e, max_i64(0, ceil_div(-sum, k)));
        return min_i64(e, max_i64(0, floor_div(sum, -k) + 1));
    }
    int64_t total = 0, e = extent_of(c, a->term[from].atom->index);
    for (int64_t i = 0; i < e; i++) total += count(c, a, from + 1, sum + a->term[from].coef * i);
    return total;
}

static double fraction(const Costs *c, const Affine *a) {
    if (a->n == 0) return a->constant >= 0 ? 1 : 0;
    double points = 1, walk = 1;
    if (!a->linear) return 0.5;
    for (int i = 0; i < a->n; i++) {
        double e = (double)extent_of(c, a->term[i].atom->index);
        points *= e;
        if (i < a->n - 1) walk *= e;
    }
    if (walk > 4096) return 0.5;
    return points > 0 ? (double)count(c, a, 0, a->constant) / points : 0;
}

static int64_t flops_of(const Expr *e) {
    int64_t n = 0;
    for (int i = 0; i < e->n; i++) n += flops_of(e->arg[i]);
    bool counts =
        e->kind == EXPR_OP && (op_info[e->op].class == OP_ARITH || op_info[e->op].class == OP_MATH);
    return n + counts;
}

// Iterations of a statement that are performed. The program is shared, its fork is not.
static double performed(Arena *scratch, const Program *p, int stmt) {
    bool exact;
    if (!stmt_skips(&p->stmts.at[stmt])) return stmt_points(&p->stmts.at[stmt], &exact);
    Program *own = program_fork(scratch, p);
    Stmt part = stmt_performed(scratch, own->exprs, &own->stmts.at[stmt]);
    return stmt_points(&part, &exact);
}

double program_flops(Arena *scratch, const Program *p) {
    double sum = 0;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        sum += performed(scratch, p, i) * (double)(flops_of(s->value) + (s->op != REDUCE_ASSIGN));
    }
    return sum;
}

static int64_t int_ops_of(const Expr *e) {
    int64_t n = 0;
    for (int i = 0; i < e->n; i++) n += int_ops_of(e->arg[i]);
    return n + (e->kind == EXPR_OP && op_info[e->op].class == OP_ARITH && !type_is_float(e->type));
}

double program_int_ops(Arena *scratch, const Program *p) {
    double sum = 0;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        bool adds = s->op != REDUCE_ASSIGN && !type_is_float(p->tensors.at[s->write->tensor].type);
        sum += performed(scratch, p, i) * (double)(int_ops_of(s->value) + adds);
    }
    return sum;
}

static int float_bits(Type t) { return type_is_float(t) ? type_info[type_compute(t)].bits : 0; }

static int float_bits_of(const Expr *e) {
    int most = e->kind == EXPR_OP ? float_bits(e->type) : 0;
    for (int i = 0; i < e->n; i++) most = (int)max_i64(most, float_bits_of(e->arg[i]));
    return most;
}

int program_float_bits(const Program *p) {
    int most = 0;
    for (int i = 0; i < p->ninputs + p->noutputs; i++)
        most = (int)max_i64(most, float_bits(p->tensors.at[i].type));
    for (int i = 0, given = most; !given && i < p->stmts.n; i++)
        most = (int)max_i64(most, float_bits_of(p->stmts.at[i].value));
    return most;
}

typedef struct Touched {
    double instances; // of the statement looked at
    double *sum;      // by tensor
} Touched;

static void touch_access(void *user, const Access *a, bool guarded) {
    Touched *t = user;
    (void)guarded;
    t->sum[a->tensor] += t->instances;
}

const double *program_touches(Arena *arena, const Program *p) {
    Touched t = {.sum = arena_new_n(arena, double, p->tensors.n)};
    bool exact;
    for (int i = 0; i < p->stmts.n; i++) {
        const Stmt *s = &p->stmts.at[i];
        t.instances = stmt_points(s, &exact);
        touch_access(&t, s->write, false);
        expr_visit_accesses(s->value, touch_access, &t);
        for (int d = 0; d < s->write->rank; d++)
            affine_visit_accesses(s->write->sub[d], touch_access, &t);
    }
    for (int i = 0; i < p->tensors.n; i++) {
        double all = (double)tensor_elements(&p->tensors.at[i]);
        if (t.sum[i] > all) t.sum[i] = all;
    }
    return t.sum;
}

// --- Footprint ---------------------------------------------------------------------------------

static bool all_outside(const Costs *c, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_READ) return false;
        if (atom->kind == ATOM_ITER ? c->inside[atom->index]
                                    : !all_outside(c, atom->a) || !all_outside(c, atom->b))
            return false;
    }
    return true;
}

static void box_dim(const Costs *c, CostBox *box, int d, const Affine *sub, int64_t size) {
    Term outer[AFFINE_MAX_TERMS], inner[AFFINE_MAX_TERMS];
    int no = 0, ni = 0;
    for (int i = 0; i < sub->n; i++) {
        const Affine *alone = affine_make(c->t->exprs, 0, &sub->term[i], 1);
        if (all_outside(c, alone))
            outer[no++] = sub->term[i];
        else
            inner[ni++] = sub->term[i];
    }
    box->outer[d] = affine_make(c->t->exprs, 0, outer, no);
    const Affine *rest = affine_make(c->t->exprs, sub->constant, inner, ni);
    if (!affine_bounds(rest, c->lo, c->hi, &box->min[d], &box->max[d]))
        box->min[d] = 0, box->max[d] = size - 1;
}

static bool join(CostBox *into, const CostBox *b, int rank) {
    if (into->buffer != b->buffer) return false;
    for (int d = 0; d < rank; d++)
        if (into->outer[d] != b->outer[d]) return false;
    for (int d = 0; d < rank; d++) {
        into->min[d] = min_i64(into->min[d], b->min[d]);
        into->max[d] = max_i64(into->max[d], b->max[d]);
    }
    return true;
}

static void footprint(Costs *c, BlockCost *cost, int from) {
    int n = 0, ntouch = c->touch.n - from;
    CostBox *box = arena_new_n(c->arena, CostBox, ntouch);
    for (int i = 0; i < ntouch; i++) {
        const Access *a = c->touch.at[from + i].access;
        const Buffer *b = &c->t->buffers.at[a->tensor];
        box[n].buffer = a->tensor;
        for (int d = 0; d < a->rank; d++) box_dim(c, &box[n], d, a->sub[d], b->size[d]);
        int k = 0;
        while (k < n && !join(&box[k], &box[n], a->rank)) k++;
        n += k == n;
    }
    int64_t *per = arena_new_n(c->arena, int64_t, c->t->buffers.n);
    for (int i = 0; i < n; i++) {
        const Buffer *b = &c->t->buffers.at[box[i].buffer];
        double bytes = type_info[b->type].bytes, whole = bytes;
        for (int d = 0; d < b->rank; d++) {
            int64_t e = min_i64(box[i].max[d] - box[i].min[d] + 1, b->size[d]);
            bytes *= (double)max_i64(e, 0);
            whole *= (double)b->size[d];
        }
        double sum = (double)per[box[i].buffer] + bytes;
        per[box[i].buffer] = rounded(sum < whole ? sum : whole);
    }
    double all = 0;
    for (int i = 0; i < c->t->buffers.n; i++) all += (double)per[i];
    cost->footprint = rounded(all);
    cost->buffer = per;
}

// --- The walk ----------------------------------------------------------------------------------

static void touch(void *user, const Access *a, bool guarded) {
    (void)guarded;
    Costs *c = user;
    int64_t bytes = type_info[c->t->buffers.at[a->tensor].type].bytes;
    c->traffic += (double)bytes;
    vec_push(c->arena, &c->touch, ((CostTouch){a, bytes}));
}

static void leaf_cost(Costs *c, const Leaf *leaf) {
    c->traffic = 0;
    expr_visit_accesses(leaf->value, touch, c);
    for (int d = 0; d < leaf->write->rank; d++)
        affine_visit_accesses(leaf->write->sub[d], touch, c);
    touch(c, leaf->write, false);
    if (leaf->op != REDUCE_ASSIGN)
        c->traffic += (double)type_info[c->t->buffers.at[leaf->write->tensor].type].bytes;
    c->flops = (double)(flops_of(leaf->value) + (leaf->op != REDUCE_ASSIGN));
    c->runs = 1;
}

static void node_cost(Costs *c, const Node *node) {
    int slot = c->out.n, from = c->touch.n;
    double flops = 0, traffic = 0, runs = 0, times = 1;
    vec_push(c->arena, &c->out, ((BlockCost){.node = node}));
    const Block *b = as_block(node);
    for (int i = 0; b && i < b->nindex; i++) {
        int id = b->index[i].id;
        c->hi[id] = b->index[i].passed ? 0 : b->index[i].extent - 1;
        times *= (double)extent_of(c, id);
    }
    for (int i = 0; b && i < b->nconstraints; i++) times *= fraction(c, b->constraint[i]);
    for (int i = 0; b && i < b->nchildren; i++) {
        node_cost(c, b->child[i]);
        flops += c->flops, traffic += c->traffic, runs += c->runs;
    }
    c->flops = flops, c->traffic = traffic, c->runs = runs;
    if (node->kind == NODE_LEAF) leaf_cost(c, (const Leaf *)node);
    for (int i = 0; b && i < b->nindex; i++) c->inside[b->index[i].id] = true;
    c->flops *= times, c->traffic *= times, c->runs *= times;
    BlockCost *cost = &c->out.at[slot];
    footprint(c, cost, from);
    cost->flops = rounded(c->flops);
    cost->traffic = rounded(c->traffic);
    cost->iterations = rounded(c->runs);
}

const TreeCost *tree_cost(Arena *arena, const Tree *t) {
    Costs c = {.t = t, .arena = arena};
    c.lo = arena_new_n(arena, int64_t, t->nindices);
    c.hi = arena_new_n(arena, int64_t, t->nindices);
    c.inside = arena_new_n(arena, bool, t->nindices);
    node_cost(&c, &t->root->node);
    TreeCost *out = arena_new(arena, TreeCost);
    *out = (TreeCost){c.out.n, c.out.at};
    return out;
}

const BlockCost *cost_of(const TreeCost *c, const Node *node) {
    for (int i = 0; i < c->n; i++)
        if (c->at[i].node == node) return &c->at[i];
    return NULL;
}

// --- Leaf executions, one by one where it has to be ----------------------------------------------

typedef struct ExecutionCount {
    bool *matters;  // per index: some constraint depends on it
    bool more;      // of these, found in this walk
    int64_t *value; // per index that matters
    int64_t budget; // points to look at
} ExecutionCount;

static void note_uses(ExecutionCount *c, const Affine *a) {
    for (int i = 0; i < a->n; i++) {
        const Atom *atom = a->term[i].atom;
        if (atom->kind == ATOM_ITER && !c->matters[atom->index])
            c->matters[atom->index] = c->more = true;
        else if (atom->kind != ATOM_ITER && atom->kind != ATOM_READ)
            note_uses(c, atom->a), note_uses(c, atom->b);
    }
}

static bool note_constraints(void *user, const Node *node, int depth, const Block *parent) {
    const Block *b = as_block(node);
    (void)depth, (void)parent;
    for (int i = 0; b && i < b->nconstraints; i++) note_uses(user, b->constraint[i]);
    const ExecutionCount *c = user;
    for (int i = 0; b && i < b->nindex; i++)
        if (b->index[i].passed && c->matters[b->index[i].id]) note_uses(user, b->index[i].passed);
    return true;
}

static int64_t add(int64_t a, int64_t b) { return checked_add(a, b, &a) ? a : INT64_MAX; }
static int64_t times(int64_t a, int64_t b) { return checked_mul(a, b, &a) ? a : INT64_MAX; }

static int64_t count_node(ExecutionCount *c, const Node *node);

static int64_t count_body(ExecutionCount *c, const Block *b) {
    int64_t v, sum = 0;
    c->budget--;
    for (int i = 0; i < b->nconstraints; i++)
        if (affine_eval(b->constraint[i], c->value, NULL, NULL, NULL, &v) && v < 0) return 0;
    for (int i = 0; i < b->nchildren; i++) sum = add(sum, count_node(c, b->child[i]));
    return sum;
}

static int64_t count_from(ExecutionCount *c, const Block *b, int at) {
    if (at == b->nindex) return count_body(c, b);
    const Index *x = &b->index[at];
    int64_t sum = 0;
    if (x->passed) {
        if (c->matters[x->id] &&
            !affine_eval(x->passed, c->value, NULL, NULL, NULL, &c->value[x->id]))
            c->budget = 0;
        return count_from(c, b, at + 1);
    }
    if (!c->matters[x->id]) return times(x->extent, count_from(c, b, at + 1));
    for (c->value[x->id] = 0; c->value[x->id] < x->extent && c->budget > 0; c->value[x->id]++)
        sum = add(sum, count_from(c, b, at + 1));
    return sum;
}

static int64_t count_node(ExecutionCount *c, const Node *node) {
    return as_block(node) ? count_from(c, (const Block *)node, 0) : 1;
}

int64_t tree_instances(Arena *scratch, const Tree *t) {
    ExecutionCount c = {.more = true, .budget = 4000000};
    c.matters = arena_new_n(scratch, bool, t->nindices);
    c.value = arena_new_n(scratch, int64_t, t->nindices);
    while (c.more) {
        c.more = false;
        tree_walk(t, note_constraints, &c);
    }
    int64_t n = count_node(&c, &t->root->node);
    return c.budget > 0 ? n : tree_cost(scratch, t)->at[0].iterations;
}
