// lw_check of functions that are Trees: compiled code, also of the loops that passes make of them,
// against the tree interpreter, or the reference where there is one (of a TeML function the loops
// before transformations). Data are powers of two, so that sums, products and quotients by an
// argument are exact; only where something else is divided by do results round.
#include "tune/tune.h"

#include <math.h>

#include "base/checked.h"
#include "base/random.h"
#include "tree/cost.h"

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

// How far a reordered sum may be off: an error of half a unit per operation, at the largest value.
static double allowed(const Checked *c, const DLTensor *t) {
    Type computed = type_compute(type_of(t->dtype));
    double most = 0, eps = ldexp(1, -type_info[computed].precision);
    for (int64_t i = 0; i < elements(t); i++) most = fmax(most, fabs(value_at(t, i)));
    double steps = (double)c->b->instances / (double)max_i64(elements(t), 1) + 4;
    return type_is_float(computed) ? most * eps * steps : 0;
}

static bool divides(const Expr *e) {
    if (e->kind != EXPR_OP) return false;
    if (e->op == OP_DIV && e->arg[1]->kind != EXPR_READ) return true;
    for (int i = 0; i < e->n; i++)
        if (divides(e->arg[i])) return true;
    return op_info[e->op].class == OP_MATH;
}

static bool find_rounding(void *user, const Node *node, int depth, const Block *parent) {
    const Leaf *leaf = as_leaf(node);
    (void)depth, (void)parent;
    if (leaf) *(bool *)user |= divides(leaf->value);
    return true;
}

static const char *compare(const Checked *c, bool rounds) {
    for (int i = c->b->program->ninputs; i < c->n; i++) {
        const DLTensor *got = &c->given[i], *want = &c->wanted[i];
        double most = rounds ? allowed(c, want) : 0;
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
    bool rounds = false;
    o.schedule = options->schedule;
    o.device = options->device;
    tree_walk(b->function->tree, find_rounding, &rounds);
    c.given = make_arguments(&c, options->seed);
    c.wanted = make_arguments(&c, options->seed);
    lw_status status = run(&c, c.given, &o);
    o = (lw_run_options){.struct_size = sizeof o, .backend = LW_BACKEND_INTERP};
    if (!b->function->reference) o.backend = LW_BACKEND_TREE;
    if (!status) status = run(&c, c.wanted, &o);
    if (status) return status;
    r->difference = compare(&c, rounds);
    r->state = r->difference ? LW_TRIAL_WRONG : LW_TRIAL_TIMED;
    r->compared =
        rounds ? "up to rounding, against the interpreter" : "bit for bit, against the interpreter";
    *out = r;
    return LW_OK;
}
