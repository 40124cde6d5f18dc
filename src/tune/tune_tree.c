// lw_check of functions that are Trees: compiled code, also of the loops that passes make of them,
// against the tree interpreter, or the reference where there is one (of a TeML function the loops
// before transformations). Data are powers of two, so that sums, products and quotients by an
// argument are exact; only where something else is divided by do results round.
#include "tune/tune.h"

#include <math.h>

#include "base/checked.h"
#include "base/random.h"
#include "tree/tree.h"

typedef struct Checked {
    Call *call;
    const lw_bound *b;
    int n; // arguments
    DLTensor *given, *wanted;
} Checked;

static int64_t elements(const DLTensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->shape[d];
    return n;
}

static void fill(const Checked *c, int argument, uint64_t *state, DLTensor *t) {
    const IndexRange *range = &c->b->ranges[argument];
    Type type = type_of(t->dtype);
    for (int64_t i = 0; i < elements(t); i++) {
        uint64_t r = random_next(state);
        int64_t v = (int64_t)1 << (r % 3);
        if (r & 8 && !range->used && type_info[type].class != CLASS_UINT) v = -v;
        if (range->used)
            v = range->lo + (int64_t)(r % (uint64_t)max_i64(range->hi - range->lo + 1, 1));
        Value value = type_convert(type, TYPE_I64, (Value){.i = v});
        type_store(type, (char *)t->data + i * type_info[type].bytes, value);
    }
}

static DLTensor *make_arguments(const Checked *c, uint64_t seed) {
    DLTensor *t = arena_new_n(c->call->scratch, DLTensor, c->n + 1);
    for (int i = 0; i < c->n; i++) {
        uint64_t state = seed + (uint64_t)i * 977;
        t[i] = c->b->tensors[i];
        size_t size = (size_t)type_info[type_of(t[i].dtype)].bytes;
        t[i].data = arena_array(c->call->scratch, (size_t)elements(&t[i]) + 1, size);
        fill(c, i, &state, &t[i]);
    }
    return t;
}

static lw_status run(const Checked *c, DLTensor *t, const lw_run_options *o) {
    const DLTensor **args = arena_new_n(c->call->scratch, const DLTensor *, c->n + 1);
    for (int i = 0; i < c->n; i++) args[i] = &t[i];
    return run_bound(c->call, c->b, args, (size_t)c->n, o);
}

static double value_at(const DLTensor *t, int64_t i) {
    Type type = type_of(t->dtype);
    Value v = type_load(type, (const char *)t->data + i * type_info[type].bytes);
    return type_is_float(type) ? v.f : (double)v.i;
}

// The rounding of a Tree: whether there is any, and the number of errors of half a unit in the last
// place that a result may collect.
typedef struct Rounding {
    const Tree *tree;
    bool inexact;
    double steps;
} Rounding;

// Of a function; docs/arithmetic.md has the errors.
enum { MATH_STEPS = 16 };

static double allowed(const Rounding *r, const DLTensor *t) {
    Type computed = type_compute(type_of(t->dtype));
    double most = 0, eps = ldexp(1, -type_info[computed].precision);
    for (int64_t i = 0; i < elements(t); i++) most = fmax(most, fabs(value_at(t, i)));
    return type_is_float(computed) ? most * eps * r->steps : 0;
}

static void add_rounding(Rounding *r, const Expr *e) {
    bool math = e->kind == EXPR_OP && op_info[e->op].class == OP_MATH;
    if (e->kind != EXPR_OP) return;
    r->inexact |= math || (e->op == OP_DIV && e->arg[1]->kind != EXPR_READ);
    r->steps += math ? MATH_STEPS : 1;
    for (int i = 0; i < e->n; i++) add_rounding(r, e->arg[i]);
}

// A leaf that runs more often than its buffer has elements adds up that many terms for each.
static void leaf_rounding(Rounding *r, const Leaf *leaf, double runs) {
    const Buffer *b = &r->tree->buffers.at[leaf->write->tensor];
    double cells = 1;
    for (int d = 0; d < b->rank; d++) cells *= (double)b->size[d];
    r->steps += fmax(runs / fmax(cells, 1), 1);
    add_rounding(r, leaf->value);
}

static void find_rounding(Rounding *r, const Node *node, double runs) {
    const Block *b = as_block(node);
    if (as_leaf(node)) leaf_rounding(r, as_leaf(node), runs);
    for (int i = 0; b && i < b->nindex; i++) runs *= (double)b->index[i].extent;
    for (int i = 0; b && i < b->nchildren; i++) find_rounding(r, b->child[i], runs);
}

static const char *compare(const Checked *c, const Rounding *r) {
    for (int i = c->b->program->ninputs; i < c->n; i++) {
        const DLTensor *got = &c->given[i], *want = &c->wanted[i];
        double most = r->inexact ? allowed(r, want) : 0;
        int64_t first = -1, count = 0;
        for (int64_t k = 0; k < elements(got); k++) {
            double x = value_at(got, k), y = value_at(want, k);
            if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= most) continue;
            if (!count++) first = k;
        }
        if (!count) continue;
        return arena_printf(
            c->call->arena, "element %lld of %s is %.9g, not %.9g; %lld of %lld elements differ",
            (long long)first, c->b->program->tensors.at[i].name, value_at(got, first),
            value_at(want, first), (long long)count, (long long)elements(got));
    }
    return NULL;
}

lw_status tree_check(Call *call, const lw_bound *b, const lw_tune_options *options,
                     const lw_check_result **out) {
    Checked c = {.call = call, .b = b, .n = b->program->ninputs + b->program->noutputs};
    lw_run_options o = {.struct_size = sizeof o, .threads = options->threads, .isa = options->isa};
    lw_check_result *r = arena_new(call->arena, lw_check_result);
    Rounding rounding = {.tree = b->function->tree, .steps = 4};
    o.schedule = options->schedule;
    o.device = options->device;
    find_rounding(&rounding, &rounding.tree->root->node, 1);
    c.given = make_arguments(&c, options->seed);
    c.wanted = make_arguments(&c, options->seed);
    lw_status status = run(&c, c.given, &o);
    o = (lw_run_options){.struct_size = sizeof o, .backend = LW_BACKEND_INTERP};
    if (!b->function->reference) o.backend = LW_BACKEND_TREE;
    if (!status) status = run(&c, c.wanted, &o);
    if (status) return status;
    r->difference = compare(&c, &rounding);
    r->state = r->difference ? LW_TRIAL_WRONG : LW_TRIAL_TIMED;
    r->compared = rounding.inexact ? "up to rounding, against the interpreter"
                                   : "bit for bit, against the interpreter";
    *out = r;
    return LW_OK;
}
