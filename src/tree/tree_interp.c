// The tree interpreter: runs any Tree on Views, one leaf instance at a time. Slow, obvious,
// checked; the oracle for transformations and back-ends. It shares op_eval, the arithmetic, with
// the program's interpreter and nothing else.
#include "tree/tree_interp.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

typedef struct Memory {
    char *data; // element (0, 0, ...)
    const int64_t *stride;
    uint8_t *written; // allocations under trap_uninitialised: one flag per element; else NULL
    int64_t elements;
} Memory;

typedef struct Run {
    const Tree *t;
    Memory *mem;    // per buffer
    int64_t *value; // per index id
    InterpFlags flags;
    DiagList *diags;
    const Leaf *leaf; // that runs now, or NULL
    const TreeObserver *observer;
    const Block *path[2 * TREE_MAX_DEPTH]; // for the observer
    int child[2 * TREE_MAX_DEPTH], depth;
    bool quiet; // the old value of a reduction does not count as read
    bool failed;
} Run;

static Value eval(Run *r, const Expr *e);

// --- Accesses ----------------------------------------------------------------------------------

static Range leaf_range(const Run *r) {
    return r->leaf ? tree_range(r->t, &r->leaf->node) : (Range){0, 0};
}

static void outside(Run *r, const Access *a, int d, int64_t index) {
    const Buffer *b = &r->t->buffers.at[a->tensor];
    if (!r->failed)
        diag_report(r->diags, leaf_range(r), DIAG_TREE_INDEX_OUTSIDE, (long long)index, d, b->name,
                    (long long)b->size[d]);
    r->failed = true;
}

static bool read_index(void *user, const Access *a, int64_t *out);

// The offset of the element from the buffer's first, in elements; -1: outside (reported).
static int64_t locate(Run *r, const Access *a, int64_t *number) {
    const Buffer *b = &r->t->buffers.at[a->tensor];
    int64_t at = 0, index;
    *number = 0;
    for (int d = 0; d < a->rank && !r->failed; d++) {
        if (!affine_eval(a->sub[d], r->value, NULL, read_index, r, &index)) {
            if (!r->failed && a->sub[d]->has_read)
                outside(r, a, d, INT64_MAX); // the data made it overflow
            else if (!r->failed)
                bug("subscript %d of %s overflows", d, b->name);
            break;
        }
        if (index < 0 || index >= b->size[d]) {
            outside(r, a, d, index);
            break;
        }
        at += index * r->mem[a->tensor].stride[d];
        *number = *number * b->size[d] + index;
    }
    return at;
}

static void observe(Run *r, int buffer, int64_t number, bool write) {
    if (r->observer && !r->quiet)
        r->observer->access(r->observer->user, buffer, number, write, r->value);
}

static Value load(Run *r, const Access *a) {
    const Buffer *b = &r->t->buffers.at[a->tensor];
    int64_t number, at = locate(r, a, &number);
    if (r->failed) return (Value){0};
    observe(r, a->tensor, number, false);
    const Memory *m = &r->mem[a->tensor];
    if (m->written && !m->written[number]) {
        diag_report(r->diags, leaf_range(r), DIAG_TREE_READ_UNWRITTEN, b->name, (long long)number);
        r->failed = true;
        return (Value){0};
    }
    return type_load(b->type, m->data + at * type_info[b->type].bytes);
}

static bool read_index(void *user, const Access *a, int64_t *out) {
    Run *r = user;
    Type type = r->t->buffers.at[a->tensor].type;
    *out = type_convert(TYPE_I64, type, load(r, a)).i;
    return !r->failed;
}

// --- Values ------------------------------------------------------------------------------------

static Value eval_op(Run *r, const Expr *e) {
    Type type = e->arg[0]->type;
    Value v[4] = {eval(r, e->arg[0])};
    switch (e->op) {
    case OP_SELECT: return eval(r, e->arg[v[0].i ? 1 : 2]);
    case OP_AND: return v[0].i ? eval(r, e->arg[1]) : v[0];
    case OP_OR: return v[0].i ? v[0] : eval(r, e->arg[1]);
    case OP_CAST: return type_convert(e->type, type, v[0]);
    default: break;
    }
    for (int i = 1; i < e->n; i++) v[i] = eval(r, e->arg[i]);
    return op_eval(e->op, type, v);
}

static Value eval(Run *r, const Expr *e) {
    int64_t i = 0;
    switch (e->kind) {
    case EXPR_CONST: return e->value;
    case EXPR_READ: return load(r, e->access);
    case EXPR_OP: return eval_op(r, e);
    case EXPR_INDEX: break;
    }
    if (!affine_eval(e->index, r->value, NULL, read_index, r, &i) && !r->failed)
        bug("the value of an index overflows");
    return type_convert(e->type, TYPE_I64, (Value){.i = i});
}

// old op= value. A sum of products rounds once.
static Value combine(Run *r, const Leaf *leaf, Type type, Value old) {
    const Expr *e = leaf->value;
    if (leaf->op == REDUCE_ADD && e->kind == EXPR_OP && e->op == OP_MUL && type_is_float(type)) {
        Value v[3] = {eval(r, e->arg[0]), eval(r, e->arg[1]), old};
        return op_eval(OP_FMA, type, v);
    }
    Value v[2] = {old, eval(r, e)};
    return leaf->op == REDUCE_ASSIGN ? v[1] : op_eval(reduce_op[leaf->op], type, v);
}

static bool skipped(const Run *r, const Leaf *leaf) {
    const Program *p = r->t->program;
    bool post = leaf->role == LEAF_POST || (p && leaf->stmt >= 0 && p->stmts.at[leaf->stmt].post);
    if (post && r->flags.skip_post) return true;
    return leaf->role == LEAF_INIT && r->flags.accumulate && leaf->write->tensor < r->t->nargs;
}

static void run_leaf(Run *r, const Leaf *leaf) {
    if (skipped(r, leaf)) return;
    r->leaf = leaf;
    TreeMoment now = {r->depth, r->path, r->child, r->value};
    if (r->observer) r->observer->leaf(r->observer->user, leaf, &now);
    Type type = r->t->buffers.at[leaf->write->tensor].type;
    Memory *m = &r->mem[leaf->write->tensor];
    Value old = {0};
    r->quiet = true;
    if (leaf->op != REDUCE_ASSIGN) old = load(r, leaf->write);
    r->quiet = false;
    Value v = r->failed ? old : combine(r, leaf, type, old);
    int64_t number, at = locate(r, leaf->write, &number);
    if (r->failed) return;
    type_store(type, m->data + at * type_info[type].bytes, v);
    if (m->written) m->written[number] = 1;
    observe(r, leaf->write->tensor, number, true);
    r->leaf = NULL;
}

// --- Blocks ------------------------------------------------------------------------------------

static void run_node(Run *r, const Node *node);

static bool holds(Run *r, const Affine *a) {
    int64_t v;
    if (!affine_eval(a, r->value, NULL, read_index, r, &v)) {
        if (!r->failed) bug("a constraint overflows");
        return false;
    }
    return v >= 0;
}

static void run_body(Run *r, const Block *b) {
    for (int i = 0; i < b->nconstraints; i++)
        if (!holds(r, b->constraint[i])) return;
    for (int i = 0; i < b->nallocs; i++) {
        Memory *m = &r->mem[b->alloc[i]];
        if (m->written) memset(m->written, 0, (size_t)m->elements);
    }
    if (r->observer) r->observer->enter(r->observer->user, b);
    require(r->depth < 2 * TREE_MAX_DEPTH);
    r->path[r->depth++] = b;
    for (int i = 0; i < b->nchildren && !r->failed; i++) {
        r->child[r->depth - 1] = i;
        run_node(r, b->child[i]);
    }
    r->depth--;
}

static void run_indices(Run *r, const Block *b, int at) {
    if (at == b->nindex) {
        run_body(r, b);
        return;
    }
    const Index *x = &b->index[at];
    if (x->passed) {
        if (!affine_eval(x->passed, r->value, NULL, read_index, r, &r->value[x->id]))
            bug("a passed index overflows");
        run_indices(r, b, at + 1);
        return;
    }
    bool backwards = b->kind != KIND_SERIAL && b->kind != KIND_UNROLL;
    for (int64_t i = 0; i < x->extent && !r->failed; i++) {
        r->value[x->id] = backwards ? x->extent - 1 - i : i;
        run_indices(r, b, at + 1);
    }
}

static void run_node(Run *r, const Node *node) {
    const TreeObserver *o = r->observer;
    if (o && o->begin) o->begin(o->user, node, r->value);
    if (node->kind == NODE_BLOCK)
        run_indices(r, (const Block *)node, 0);
    else if (node->kind == NODE_LEAF)
        run_leaf(r, (const Leaf *)node);
    else
        bug("special '%s' has to be expanded before it runs", ((const Special *)node)->op);
    if (o && o->end) o->end(o->user, node);
}

static void allocate(Run *r, Arena *scratch, int number) {
    const Buffer *b = &r->t->buffers.at[number];
    Memory *m = &r->mem[number];
    int64_t span = 1;
    m->elements = 1;
    m->stride = b->stride;
    for (int d = 0; d < b->rank; d++) {
        m->elements *= b->size[d];
        span += max_i64(b->size[d] - 1, 0) * b->stride[d];
    }
    size_t bytes = (size_t)(span * type_info[b->type].bytes);
    m->data = arena_alloc(scratch, bytes);
    memset(m->data, 0x55, bytes); // programs must not rely on zeros
    if (r->flags.trap_uninitialised) m->written = arena_alloc(scratch, (size_t)m->elements);
}

bool tree_interpret(Arena *scratch, const Tree *t, const View *views, InterpFlags flags,
                    DiagList *diags) {
    return tree_interpret_observed(scratch, t, views, flags, NULL, diags);
}

bool tree_interpret_observed(Arena *scratch, const Tree *t, const View *views, InterpFlags flags,
                             const TreeObserver *observer, DiagList *diags) {
    Run r = {.t = t, .flags = flags, .diags = diags, .observer = observer};
    r.mem = arena_new_n(scratch, Memory, t->buffers.n);
    r.value = arena_new_n(scratch, int64_t, t->nindices);
    for (int i = 0; i < t->buffers.n; i++) {
        if (i < t->nargs)
            r.mem[i] = (Memory){.data = views[i].data,
                                .stride = buffer_strides(scratch, &t->buffers.at[i], &views[i])};
        else
            allocate(&r, scratch, i);
    }
    run_node(&r, &t->root->node);
    return !r.failed;
}
