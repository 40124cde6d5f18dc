// The operations of each statement, for the lower bound: how many there are, which pipes they use,
// and which of them code does once.
#include "space/bound_impl.h"

#include "base/checked.h"
#include "base/map.h"

enum {
    MANY_OPS = 256, // operations of an expression that are analysed
    MANY_SUBS = 64, // subscripts of an expression that are analysed
};

// Does the expression multiply by ones in all bytes? It may be the end of a sequence that counts
// bits, of which one instruction remains (code/micro/idiom.c).
static bool adds_bytes(const Expr *e) {
    uint64_t ones = UINT64_C(0x0101010101010101);
    if (e->kind == EXPR_CONST && type_is_integer(e->type))
        return (uint64_t)e->value.i == (e->type == TYPE_U32 ? (uint32_t)ones : ones);
    bool any = false;
    for (int i = 0; e->kind == EXPR_OP && i < e->n && !any; i++) any = adds_bytes(e->arg[i]);
    return any;
}

static bool may_count_bits(BoundBuild *x) {
    if (!x->m->has_popcount) return false;
    for (int i = 0; i < x->p->stmts.n && !x->bits_known; i++)
        x->counts_bits |= adds_bytes(x->p->stmts.at[i].value);
    x->bits_known = true;
    return x->counts_bits;
}

// Vector operations that one operation takes, at least; 0 if it may become part of another one, or
// a mask.
static double op_weight(BoundBuild *x, const Expr *e) {
    if (e->type == TYPE_BOOL || op_info[e->op].cost == COST_FREE) return 0;
    if ((e->type == TYPE_U32 || e->type == TYPE_U64) && may_count_bits(x)) return 0;
    return op_info[e->op].cost == COST_ONE ? 1 : x->b->cost->bound_math_ops;
}

// The pipes that an operation surely uses; DIVIDES: the divider.
enum { DIVIDES = WORK_COUNT };

static int op_work(ExprOp op, Type type, bool constant) {
    bool real = type_is_float(type);
    if (real && (op == OP_MUL || op == OP_FMA)) return WORK_MUL;
    if (real && (op == OP_ADD || op == OP_SUB)) return WORK_ADD;
    if (real && !constant && (op == OP_DIV || op == OP_SQRT)) return DIVIDES;
    return !real && !constant && op == OP_MUL ? WORK_IMUL : WORK_ANY;
}

void bound_add_work(BoundStmt *b, int work, double times) {
    if (work == DIVIDES) b->divides += times;
    if (work == WORK_MUL || work == WORK_ADD) b->work[WORK_FLOAT] += times;
    if (work < WORK_ANY) b->work[work] += times;
    b->work[WORK_ANY] += times;
}

// --- What is shared ------------------------------------------------------------------------------
//
// Code does an operation once for the same operands (code/micro/micro.h): in one expression, in
// statements that share a loop, for a temporary that is inlined into several reads, and in
// neighbouring iterations that are unrolled: one f for each iteration of `f(A[i]) + f(A[i + 1])`,
// one for each element of `f(A[i + k])`. So distinct tuples of subscripts count; and of all
// operations that differ in their subscripts only, the most frequent one.

static void count_op(BoundBuild *x, int stmt, uint64_t look, int work, double times) {
    for (int i = 0; i < x->shared.at.n; i++) {
        Shared *s = &x->shared.at.at[i];
        if (s->look != look) continue;
        if (times <= s->times) return;
        bound_add_work(&x->stmt[s->stmt], s->work, -s->times);
        *s = (Shared){look, times, stmt, work};
        return bound_add_work(&x->stmt[stmt], work, times);
    }
    vec_push(x->arena, &x->shared.at, ((Shared){look, times, stmt, work}));
    bound_add_work(&x->stmt[stmt], work, times);
}

// An expression: its subscripts (bits of Ops.sub), whether it depends on data, and its hash.
typedef struct Seen {
    const Expr *e;
    uint64_t subs, look;
    bool real;
} Seen;

typedef struct Ops {
    BoundBuild *x;
    BoundStmt *b;
    int stmt;
    int n, nsubs;
    Seen seen[MANY_OPS];
    const Affine *sub[MANY_SUBS];
    const Expr *fused; // part of the multiply-add that combines
} Ops;

// Distinct tuples of subscripts, at least: as in an access, no two subscripts own an iterator.
static double distinct_tuples(const Ops *o, uint64_t subs) {
    double all = 1;
    uint32_t owned = 0;
    for (int several = 0; several < 2; several++)
        for (uint64_t left = subs; left; left &= left - 1) {
            uint32_t own = bound_own_iters(o->sub[__builtin_ctzll(left)], o->b->niters);
            double values = 1;
            if (((own & (own - 1)) != 0) != several) continue;
            for (own &= ~owned, owned |= own; own; own &= own - 1)
                values += o->b->extent[__builtin_ctz(own)] - 1;
            all *= values;
        }
    return all;
}

static uint64_t sub_bits(Ops *o, const Access *a) {
    uint64_t bits = 0;
    for (int d = 0; d < a->rank; d++) {
        int i = 0;
        while (i < o->nsubs && o->sub[i] != a->sub[d]) i++;
        if (i == MANY_SUBS) continue;
        if (i == o->nsubs) o->sub[o->nsubs++] = a->sub[d];
        bits |= UINT64_C(1) << i;
    }
    return bits;
}

static Seen see_ops(Ops *o, const Expr *e);

static Seen see_op(Ops *o, const Expr *e) {
    Seen all = {.e = e, .look = hash_mix(e->op, (uint64_t)e->type)};
    int sure = op_info[e->op].trait == TRAIT_LAZY ? 1 : e->n;
    bool constant = false;
    for (int i = 0; i < sure; i++) {
        Seen arg = see_ops(o, e->arg[i]);
        all.subs |= arg.subs;
        all.real |= arg.real;
        constant |= !arg.real;
        all.look = hash_mix(all.look, arg.look);
    }
    for (int i = sure; i < e->n; i++) all.look = hash_mix(all.look, (uint64_t)(uintptr_t)e->arg[i]);
    double weight = op_weight(o->x, e);
    if (!all.real || e == o->fused || weight <= 0) return all;
    double times = weight * least_of(distinct_tuples(o, all.subs), o->b->count);
    count_op(o->x, o->stmt, all.look, op_work(e->op, e->type, constant), times);
    return all;
}

// Counts the operations that are surely done.
static Seen see_ops(Ops *o, const Expr *e) {
    if (e->kind == EXPR_READ) {
        int t = e->access->tensor;
        return (Seen){e, sub_bits(o, e->access), o->x->look[t], o->x->real[t]};
    }
    if (e->kind == EXPR_CONST) return (Seen){.e = e, .look = hash_mix(1, (uint64_t)e->value.i)};
    if (e->kind != EXPR_OP) return (Seen){.e = e};
    for (int i = 0; i < o->n; i++)
        if (o->seen[i].e == e) return o->seen[i];
    if (o->n >= MANY_OPS) return (Seen){.e = e};
    Seen s = see_op(o, e);
    if (o->n < MANY_OPS) o->seen[o->n++] = s;
    return s;
}

// Bytes of the widest lane; 0: the value depends on indices only, and any type may hold it.
static int widest(const Expr *e) {
    if (e->kind == EXPR_READ) return lane_bytes(e->type);
    int w = 0;
    for (int i = 0; e->kind == EXPR_OP && i < e->n; i++) w = (int)max_i64(w, widest(e->arg[i]));
    return w ? (int)max_i64(w, lane_bytes(e->type)) : 0;
}

// Reduction steps: the first value of a result needs none, except as a multiply-add. Overlapping
// windows may share the sums of parts.
static double combined(const Ops *o, const Stmt *s, const Seen *value) {
    double n = o->b->count, distinct = distinct_tuples(o, value->subs), results = 1;
    for (int i = 0; i < s->niters; i++)
        if (!s->iter[i].reduction) results *= o->b->extent[i];
    if (distinct < n) n = most_of(distinct, n / LIMIT_PARTS);
    return o->fused ? n : most_of(0, n - results);
}

void bound_arithmetic(BoundBuild *x, int stmt) {
    const Stmt *s = &x->p->stmts.at[stmt];
    BoundStmt *b = &x->stmt[stmt];
    int t = s->write->tensor;
    Type type = x->p->tensors.at[t].type;
    bool combines = s->op != REDUCE_ASSIGN;
    Ops *o = arena_new(x->arena, Ops);
    *o = (Ops){.x = x, .b = b, .stmt = stmt};
    if (s->op == REDUCE_ADD && s->value->kind == EXPR_OP && s->value->op == OP_MUL &&
        type_is_float(type))
        o->fused = s->value;
    Seen value = see_ops(o, s->value);
    uint64_t look = combines ? hash_mix(value.look, 2 + (uint64_t)s->op) : value.look;
    if (!bound_is_argument(x, t)) x->real[t] = value.real || combines;
    if (combines) {
        int work = o->fused ? WORK_MUL : op_work(reduce_op[s->op], type, false);
        count_op(x, stmt, look, work, combined(o, s, &value));
    }
    if (t >= x->p->ninputs) x->look[t] = x->writers[t] == 1 ? look : 0;
    b->fused = o->fused != NULL;
    int bytes = (int)max_i64(lane_bytes(type), widest(s->value));
    b->wide = bytes == 8;
    b->lanes = (int)max_i64(1, x->m->vector_bytes / bytes);
    b->lane = 1.0 / b->lanes;
}
