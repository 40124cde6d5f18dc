// Loops cut where conditions inside begin and cease to hold.
//
// A triangle, a band, a causal mask: conditions inside an innermost machine loop that depend on its
// counter and on those of loops around it. Which iterations they hold in is computed in front:
//
//     for k in 128                        for k in [0, first)      nothing, or the other value
//       if (i - k >= 0) ...               for k in [first, begin)  with tests
//                                         for k in [begin, end)    all hold: no test
//                                         for k in [end, last)     with tests
//                                         for k in [last, 128)     nothing, or the other value
//
// All limits are whole iterations (copies of the body and lanes). Outside of [first, last) no leaf
// has an effect: a guard around it fails, or it combines select(condition, ..., c) into the same
// elements in every iteration, and combining c a second time changes nothing. Such iterations are
// performed once, because signed zeros and NaN may change the first time. Leaves that assign values
// run in a loop without tests. Where loops around decide on begin and end of the loop itself, as
// those of time tiles do, these take the place of 0 and 128.
#include "code/gen/gen.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { MAX_CUTS = 4, LEAST_TURNS = 3 };

typedef enum Idle { IDLE_NOTHING, IDLE_ONCE, IDLE_ASSIGNS } Idle;

// Conditions sum + c >= 0 of one sum of counters, whose factors have no common divisor.
typedef struct Cut {
    const Lin *sum;
    int64_t k;     // of the loop's counter
    int64_t least; // all hold where sum + least >= 0
    int64_t most;  // no leaf does anything where sum + most < 0; INT64_MAX: some does
    Idle idle;     // the work in those iterations
} Cut;

struct Cuts {
    const PNode *loop;
    int64_t stride, main; // indices of an iteration, and of all whole ones
    int64_t extent, end;  // of all, and with a last iteration that were whole
    bool bounded;         // loops around it decide where it begins and ends
    int n;
    Cut at[MAX_CUTS];
};

// ---- Finding

// Range of what copies and loops inside add to the sum of counters in k·index of `own` + l.
static void constant_range(const Gen *g, const Cuts *c, const Lin *l, const PNode *own, int64_t k,
                           int64_t *lo, int64_t *hi) {
    *lo = *hi = l->c;
    for (int i = 0; i < l->n + (own != NULL); i++) {
        const PNode *loop = i < l->n ? g->p->loop[l->t[i].loop] : own;
        int64_t by = i < l->n ? l->t[i].k : k, last = loop->extent - 1;
        if (loop == c->loop) {
            last = c->stride - (loop->simd.vector ? loop->simd.lanes : 1);
        } else if (loop->loop < c->loop->loop) { // the copy of a machine loop's body, too
            *lo += by * g->here.value[loop->loop], *hi += by * g->here.value[loop->loop], last = 0;
        }
        *(by < 0 ? lo : hi) += by * last;
    }
}

// Limits of a sum of counters, without the copies of loop bodies.
static void counters_range(const Gen *g, const Lin *sum, int64_t *min, int64_t *max) {
    gen_lin_limits(g, sum, min, max);
    for (int i = 0; i < sum->n; i++) {
        int64_t copy = sum->t[i].k * g->here.value[sum->t[i].loop];
        *min -= copy, *max -= copy;
    }
}

// The cut for a condition that the loop decides; NULL: it is none, or decided already.
static Cut *cut_of(Gen *g, Cuts *c, const Lin *l, const PNode *own, int64_t k, int64_t *lo,
                   int64_t *hi) {
    int64_t step = lin_coef(l, c->loop->loop), min, max, common;
    const Lin *sum = step ? gen_unit_of(g, l, &common) : NULL;
    if (!sum) return NULL;
    constant_range(g, c, l, own, k, lo, hi);
    *lo = floor_div(*lo, common), *hi = floor_div(*hi, common), step /= common;
    counters_range(g, sum, &min, &max);
    if (min + *lo >= 0 || max + *hi < 0) return NULL;
    int i = 0;
    while (i < c->n && c->at[i].sum != sum) i++;
    if (i == MAX_CUTS) return NULL;
    if (i == c->n) c->at[c->n++] = (Cut){sum, step, INT64_MAX, INT64_MIN, IDLE_NOTHING};
    return &c->at[i];
}

// Where conditions of one path fail, by cut.
typedef struct Fails {
    int64_t at[MAX_CUTS];
} Fails;

static void see(Gen *g, Cuts *c, const Lin *l, const PNode *own, int64_t k, Fails *f) {
    int64_t lo, hi;
    Cut *cut = cut_of(g, c, l, own, k, &lo, &hi);
    if (!cut) return;
    cut->least = min_i64(cut->least, lo);
    int64_t *at = &f->at[cut - c->at];
    *at = min_i64(*at, hi);
}

// Whether the expression reads at an index from data, which must be checked in every iteration.
static bool may_fail(const Expr *e) {
    bool found = e->kind == EXPR_READ && e->access->has_read;
    for (int i = 0; i < e->n && !found; i++) found = may_fail(e->arg[i]);
    return found;
}

// Conditions that all have to hold for the value e to be true, as far as nothing in front of them
// may fail.
static void see_conjuncts(Gen *g, Cuts *c, const Expr *e, Fails *f) {
    const Lin *l = code_condition(g->p, e);
    if (l) see(g, c, l, NULL, 0, f);
    if (l || e->kind != EXPR_OP || e->op != OP_AND) return;
    see_conjuncts(g, c, e->arg[0], f);
    if (!may_fail(e->arg[0])) see_conjuncts(g, c, e->arg[1], f);
}

static void see_value(Gen *g, Cuts *c, const Expr *e) {
    Fails any;
    memset(&any, 0, sizeof any);
    const Lin *l = e->type == TYPE_BOOL ? code_condition(g->p, e) : NULL;
    if (l) see(g, c, l, NULL, 0, &any);
    for (int i = 0; !l && e->kind == EXPR_OP && i < e->n; i++) see_value(g, c, e->arg[i]);
}

// (x op v) op v is x op v, in every bit.
static bool is_idle(Reduce op, const Expr *v) {
    if (v->kind != EXPR_CONST) return false;
    bool whole = !type_is_float(v->type);
    if (op == REDUCE_ADD) return whole ? v->value.i == 0 : v->value.f == 0;
    if (op == REDUCE_MUL) return whole ? v->value.i == 1 : v->value.f == 1;
    return op == REDUCE_MIN || op == REDUCE_MAX;
}

static void see_leaf(Gen *g, Cuts *c, const PNode *n, const Fails *around) {
    const Expr *value = n->leaf->value;
    Fails own;
    for (int i = 0; i < MAX_CUTS; i++) own.at[i] = INT64_MAX;
    see_value(g, c, value);
    for (int r = 0; r < n->nreads; r++)
        for (int i = 0; n->read[r].piece && i < n->read[r].piece->nconds; i++)
            see(g, c, n->read[r].piece->cond[i], NULL, 0, &(Fails){{0}});
    bool selects = value->kind == EXPR_OP && value->op == OP_SELECT;
    if (selects) see_conjuncts(g, c, value->arg[0], &own);
    bool still = n->write.off && !lin_coef(n->write.off, c->loop->loop);
    bool again = selects && still && is_idle(n->leaf->op, value->arg[2]);
    Idle idle = again ? IDLE_ONCE : IDLE_ASSIGNS;
    for (int i = 0; i < c->n; i++) {
        bool guarded = around->at[i] != INT64_MAX;
        c->at[i].most = max_i64(c->at[i].most, guarded ? around->at[i] : own.at[i]);
        if (!guarded && idle > c->at[i].idle) c->at[i].idle = idle;
    }
}

static void look(Gen *g, Cuts *c, const PNode *n, Fails around) {
    for (int i = 0; n->kind == P_LOOP && n->variant.limit < 0 && i < n->nbounds; i++)
        see(g, c, n->bound[i].rest, n, n->bound[i].k, &around);
    for (int i = 0; n->kind == P_GUARD && i < n->nconds; i++)
        see(g, c, n->cond[i], NULL, 0, &around);
    if (n->kind == P_LEAF) see_leaf(g, c, n, &around);
    for (int i = 0; i < n->nchild; i++) look(g, c, n->child[i], around);
}

// Twice: the first time finds the cuts, the second what they do to every leaf.
static void look_at_all(Gen *g, Cuts *c) {
    Fails none;
    for (int i = 0; i < MAX_CUTS; i++) none.at[i] = INT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < c->n; i++)
            c->at[i] = (Cut){c->at[i].sum, c->at[i].k, INT64_MAX, INT64_MIN, IDLE_NOTHING};
        for (int i = 0; i < c->loop->nchild; i++) look(g, c, c->loop->child[i], none);
    }
}

const Cuts *gen_find_cuts(Gen *g, const PNode *n) {
    int64_t extent = n->variant.limit >= 0 ? n->variant.limit : n->extent;
    bool bounded = gen_has_bounds(g, n);
    int64_t copies = bounded ? 1 : n->form.unroll;
    int64_t stride = copies * (n->simd.vector ? n->simd.lanes : 1);
    Cuts c = {.loop = n, .stride = stride, .main = extent / stride * stride, .extent = extent};
    c.bounded = bounded;
    c.end = ceil_div(extent, stride) * stride;
    if (c.main < LEAST_TURNS * stride || c.main > INT32_MAX) return NULL;
    look_at_all(g, &c);
    bool small = c.n > 0;
    for (int i = 0; i < c.n; i++) {
        small &= llabs(c.at[i].k) <= INT32_MAX / stride;
        if (!code_is_small(g->p, c.at[i].sum) || llabs(c.at[i].least) > INT32_MAX) small = false;
        if (bounded && c.at[i].idle == IDLE_ONCE) small = false; // there may be no iteration at all
    }
    return small ? arena_copy(g->arena, &c, sizeof c) : NULL;
}

// ---- Making

// Places on the stack, in this order; `first` and `last` are those of iterations that do something.
enum { FIRST, BEGIN, END, LAST };

static GenArg limit_at(const Gen *g, int which) {
    return gen_at_slot(g->stack.cut_slots + 8 * which);
}

static void set_limit(Gen *g, int which, GenArg value) {
    gen_move(g, GEN_A, value);
    gen_move(g, limit_at(g, which), GEN_A);
}

// Where the loop begins; its counter is there.
static GenArg begin_of(const Gen *g, const Cuts *c) {
    return c->bounded ? gen_at(gen_counter(g, c->loop->loop)) : gen_const(0);
}

// Where it ends: at this iteration, or earlier.
static GenArg end_at(const Gen *g, const Cuts *c, int64_t iteration) {
    return c->bounded ? gen_at_slot(gen_end_slot(g, c->loop)) : gen_const(iteration);
}

// The limit <- the larger or smaller of A and its old value.
static void narrow(Gen *g, int which, bool larger) {
    gen_move(g, GEN_B, limit_at(g, which));
    g->isa->choose(g, larger, GEN_A, GEN_B);
    gen_move(g, limit_at(g, which), GEN_A);
}

// Raises the limit to `value` where it is below (`below`), or lowers it where it is above.
static void clip(Gen *g, int which, GenArg value, bool below) {
    gen_move(g, GEN_A, value);
    narrow(g, which, below);
}

// Moves a limit by a number of iterations; or narrows it to another one that was moved so.
static void move(Gen *g, const Cuts *c, int which, int from, int iterations) {
    gen_move(g, GEN_A, limit_at(g, from));
    gen_op(g, GEN_ADD, GEN_A, gen_const(iterations * c->stride));
    if (which == from)
        gen_move(g, limit_at(g, which), GEN_A);
    else
        narrow(g, which, iterations > 0);
}

// The limit <- A, but not above `value`.
static void set_limit_to(Gen *g, int which, GenArg value) {
    gen_move(g, GEN_B, value);
    g->isa->choose(g, false, GEN_A, GEN_B);
    gen_move(g, limit_at(g, which), GEN_A);
}

// A <- the first iteration with sum + constant >= 0 (k > 0), or the end of those (k < 0). `all`: in
// all lanes, else in any.
static void iteration_of(Gen *g, const Cuts *c, const Cut *cut, int64_t constant, bool all) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0, lanes = c->loop->simd.vector ? c->loop->simd.lanes : 1;
    int64_t step = llabs(cut->k) * c->stride;
    for (int i = 0; i < cut->sum->n; i++)
        if (cut->sum->t[i].loop != c->loop->loop) t[n++] = cut->sum->t[i];
    if ((cut->k < 0) == all) constant += cut->k * (lanes - 1);
    gen_counters(g, code_lin(g->arena, constant, t, n));
    g->isa->divide(g, step, false);
    if (cut->k > 0)
        gen_op(g, GEN_NEG, GEN_A, GEN_NONE);
    else
        gen_op(g, GEN_ADD, GEN_A, gen_const(1));
    gen_move(g, GEN_B, gen_const(c->stride));
    gen_op(g, GEN_MUL, GEN_A, GEN_B);
}

// The work at an end of the loop where no condition holds; and the cut that decides, or NULL.
typedef struct End {
    bool is;
    Idle idle;
    const Cut *by;
} End;

static End end_of(const Cuts *c, bool above) {
    End e = {0};
    for (int i = 0; i < c->n; i++) {
        const Cut *cut = &c->at[i];
        if ((cut->k < 0) != above || cut->most == INT64_MAX) continue;
        e.by = e.is ? NULL : cut;
        e.is = true;
        if (cut->idle > e.idle) e.idle = cut->idle;
    }
    return e;
}

static bool has_side(const Cuts *c, bool above) {
    for (int i = 0; i < c->n; i++)
        if ((c->at[i].k < 0) == above) return true;
    return false;
}

// Computes all limits that are needed. FIRST and LAST lie between begin and end, which includes a
// partial last iteration. If all iterations are idle, work that is done once gets one iteration.
static void set_limits(Gen *g, const Cuts *c, const End *below, const End *above) {
    bool first = below->is && below->idle == IDLE_ONCE;
    bool last = above->is && above->idle == IDLE_ONCE;
    GenArg end = end_at(g, c, c->end), main = end_at(g, c, c->main);
    set_limit(g, END, main);
    set_limit(g, LAST, end);
    if (has_side(c, false)) set_limit(g, BEGIN, begin_of(g, c));
    if (below->is) set_limit(g, FIRST, begin_of(g, c));
    for (int i = 0; i < c->n; i++) {
        const Cut *cut = &c->at[i];
        bool up = cut->k > 0;
        iteration_of(g, c, cut, cut->least, true);
        narrow(g, up ? BEGIN : END, up);
        if (cut->most == INT64_MAX) continue;
        iteration_of(g, c, cut, cut->most, false);
        narrow(g, up ? FIRST : LAST, up);
    }
    if (above->is) clip(g, LAST, gen_const(0), true);
    if (last) move(g, c, LAST, LAST, 1);
    if (last) clip(g, LAST, end, false);
    if (below->is) clip(g, FIRST, end, false);
    if (first) move(g, c, FIRST, FIRST, -1);
    if (first) move(g, c, FIRST, LAST, -1);
    if (last && !first && below->is) move(g, c, LAST, FIRST, 1);
    if (last && !first && below->is) clip(g, LAST, end, false);
    if (first) clip(g, FIRST, gen_const(0), true);
    if (below->is) clip(g, FIRST, main, false);
    if (above->is && has_side(c, false)) {
        gen_move(g, GEN_A, limit_at(g, LAST));
        narrow(g, BEGIN, false);
    }
    if (has_side(c, false)) clip(g, BEGIN, main, false);
}

// Iterations up to a limit; about `count` of them.
static void iterations_to(Gen *g, PNode *n, const Cuts *c, const Lanes *lanes, int64_t count,
                          int limit) {
    Asm *a = &g->a;
    Item counter = gen_counter(g, n->loop);
    AsmLabel top = asm_label(a), done = asm_label(a);
    gen_line(g, n->line);
    gen_move(g, GEN_A, gen_at(counter));
    gen_branch(g, GEN_GE, GEN_A, limit_at(g, limit), &done);
    gen_iteration(g, n, count, c->stride, lanes, &top);
    gen_move(g, GEN_A, gen_at(counter));
    gen_branch(g, GEN_LT, GEN_A, limit_at(g, limit), &top);
    asm_bind(a, &done);
}

// The counter lies in [from, to] in what follows; of a vector loop, lanes are behind it.
static void know_counter(Gen *g, const Cuts *c, int64_t from, int64_t to) {
    LinTerm counter = {.loop = c->loop->loop, .k = 1};
    int lanes = c->loop->simd.vector ? c->loop->simd.lanes : 1;
    gen_know(g, code_lin(g->arena, 0, &counter, 1), from, to + lanes - 1);
}

// BEGIN (`up`) or END as a number; where other loops decide, too, as far as it may be from its end.
static int64_t limit_known(const Cuts *c, bool up) {
    int lanes = c->loop->simd.vector ? c->loop->simd.lanes : 1;
    int64_t limit = up ? 0 : c->main;
    for (int i = 0; i < c->n; i++) {
        const Cut *cut = &c->at[i];
        if ((cut->k > 0) != up) continue;
        if (cut->sum->n != 1) return up ? c->main : 0;
        int64_t last = cut->least + (up ? 0 : cut->k * (lanes - 1));
        int64_t at = floor_div(last, llabs(cut->k) * c->stride);
        at = up ? -at * c->stride : (at + 1) * c->stride;
        limit = up ? max_i64(limit, at) : min_i64(limit, at);
    }
    return max_i64(0, min_i64(limit, c->main));
}

// ---- Ends of skewed loops
//
// Where the sum that decides on an end takes a few values, as at the ends of a row in a time tile,
// each gets an iteration of its own, without tests:
//
//     while (k < begin)                   if (k < begin && s == -2) body with s = -2
//       body with tests of s = k - t      if (k < begin && s == -1) body with s = -1

enum { MAX_PEELED = 4 };

typedef struct Peeled {
    const Cut *cut; // NULL: nothing is peeled
    int64_t from;   // the sum in the first iteration, and its change from value to value
    int64_t by;
    int n;
} Peeled;

static const Cut *only_cut(const Cuts *c, bool up) {
    const Cut *only = NULL;
    for (int i = 0; i < c->n; i++) {
        if ((c->at[i].k > 0) != up) continue;
        if (only) return NULL;
        only = &c->at[i];
    }
    return only;
}

// A number that divides all values of the sum.
static int64_t common_step(const Cuts *c, const Cut *cut) {
    int64_t common = 0;
    for (int i = 0; i < cut->sum->n; i++) {
        bool own = cut->sum->t[i].loop == c->loop->loop;
        common = gcd_i64(common, cut->sum->t[i].k * (own ? c->stride : 1));
    }
    return common;
}

// The sum has this value in lane 0.
static void know_sum(Gen *g, const Cuts *c, const Cut *cut, int64_t sum) {
    int64_t span = cut->k * ((c->loop->simd.vector ? c->loop->simd.lanes : 1) - 1);
    gen_know(g, cut->sum, sum + min_i64(span, 0), sum + max_i64(span, 0));
}

// Is the body one segment for each of these values?
static bool all_straight(Gen *g, const Cuts *c, const Peeled *p) {
    int known = g->here.known.n;
    bool straight = true;
    for (int i = 0; i < p->n && straight; i++) {
        know_sum(g, c, p->cut, p->from + i * p->by);
        straight = gen_is_straight(g, c->loop);
        g->here.known.n = known;
    }
    return straight;
}

// The iterations in which the only cut of this side does not hold, and something is done.
static Peeled find_peeled(Gen *g, const Cuts *c, bool up) {
    const Cut *cut = only_cut(c, up);
    Peeled none = {0}, p = {.cut = cut};
    if (!cut || cut->sum->n < 2 || cut->idle == IDLE_ONCE) return none;
    int lanes = c->loop->simd.vector ? c->loop->simd.lanes : 1;
    int64_t min, max, step = common_step(c, cut);
    counters_range(g, cut->sum, &min, &max);
    if (cut->most != INT64_MAX) min = max_i64(min, -cut->most - (up ? cut->k * (lanes - 1) : 0));
    max = min_i64(max, -cut->least - (up ? 0 : cut->k * (lanes - 1)) - 1);
    min = ceil_div(min, step) * step;
    max = floor_div(max, step) * step;
    if (max < min || (max - min) / step >= MAX_PEELED) return none;
    p.n = (int)((max - min) / step + 1);
    p.from = up ? min : max;
    p.by = up ? step : -step;
    return all_straight(g, c, &p) ? p : none;
}

// Iterations up to a limit, one for each value of the sum.
static void peel(Gen *g, PNode *n, const Cuts *c, const Lanes *lanes, const Peeled *p, int limit) {
    AsmLabel done = asm_label(&g->a);
    int known = g->here.known.n;
    for (int i = 0; i < p->n; i++) {
        AsmLabel top = asm_label(&g->a), next = asm_label(&g->a);
        int64_t sum = p->from + i * p->by;
        gen_line(g, n->line);
        gen_move(g, GEN_A, gen_at(gen_counter(g, n->loop)));
        gen_branch(g, GEN_GE, GEN_A, limit_at(g, limit), &done);
        gen_counters(g, p->cut->sum);
        gen_move(g, GEN_B, gen_const(sum));
        gen_branch(g, p->by > 0 ? GEN_GT : GEN_LT, GEN_A, GEN_B, &next);
        know_sum(g, c, p->cut, sum);
        gen_iteration(g, n, 1, c->stride, lanes, &top);
        g->here.known.n = known;
        asm_bind(&g->a, &next);
    }
    asm_bind(&g->a, &done);
}

static void iterations_that_assign(Gen *g, PNode *n, const Cuts *c, const Lanes *lanes,
                                   const End *e, int limit) {
    int known = g->here.known.n;
    if (e->by) gen_know(g, e->by->sum, INT64_MIN, -e->by->most - 1);
    iterations_to(g, n, c, lanes, 2, limit);
    g->here.known.n = known;
}

// A partial last iteration, if it is not idle; pointers and the counter are at its beginning.
static void left_over(Gen *g, PNode *n, const Cuts *c, const Lanes *lanes, const End *above) {
    AsmLabel done = asm_label(&g->a);
    bool skips = above->is && above->idle != IDLE_ASSIGNS;
    if (skips) {
        gen_move(g, GEN_A, limit_at(g, LAST));
        gen_branch(g, GEN_LE, GEN_A, gen_const(c->main), &done);
    }
    gen_advance(g, n->loop, c->main);
    know_counter(g, c, c->main, c->main);
    gen_copies(g, n, c->extent - c->main, n->simd.vector ? n->simd.lanes : 1);
    g->here.known.n--;
    gen_boundary(g, lanes);
    gen_line(g, n->line);
    gen_advance(g, n->loop, -c->main);
    asm_bind(&g->a, &done);
}

void gen_cut(Gen *g, PNode *n, const Cuts *c) {
    Item counter = gen_counter(g, n->loop);
    Lanes lanes = gen_lanes_wanted(g, n);
    End below = end_of(c, false), above = end_of(c, true);
    g->result.tricks[TRICK_CUT]++;
    gen_boundary(g, &lanes);
    gen_line(g, n->line);
    if (c->bounded) gen_range(g, n);
    set_limits(g, c, &below, &above);
    if (!c->bounded) gen_move(g, gen_at(counter), gen_const(0));
    bool skips = below.is && below.idle != IDLE_ASSIGNS;
    if (skips) {
        gen_move(g, GEN_A, limit_at(g, FIRST));
        gen_move(g, gen_at(counter), GEN_A);
    }
    if (skips || c->bounded) gen_shift(g, n->loop, GEN_ADD);
    if (below.is && !skips) iterations_that_assign(g, n, c, &lanes, &below, FIRST);
    int known = g->here.known.n;
    Peeled first = find_peeled(g, c, true), last = find_peeled(g, c, false);
    if (first.cut) {
        peel(g, n, c, &lanes, &first, BEGIN);
    } else if (has_side(c, false)) {
        know_counter(g, c, 0, max_i64(limit_known(c, true) - c->stride, 0));
        iterations_to(g, n, c, &lanes, 2, BEGIN);
        g->here.known.n = known;
    }
    for (int i = 0; i < c->n; i++) gen_know(g, c->at[i].sum, -c->at[i].least, INT64_MAX);
    iterations_to(g, n, c, &lanes, c->main / c->stride, END);
    g->here.known.n = known;
    if (has_side(c, true)) {
        gen_move(g, GEN_A, limit_at(g, LAST));
        set_limit_to(g, END, end_at(g, c, c->main));
        know_counter(g, c, limit_known(c, false), c->main);
        if (last.cut)
            peel(g, n, c, &lanes, &last, END);
        else
            iterations_to(g, n, c, &lanes, 2, END);
        g->here.known.n = known;
    }
    if (above.is && above.idle == IDLE_ASSIGNS) {
        set_limit(g, END, end_at(g, c, c->main));
        iterations_that_assign(g, n, c, &lanes, &above, END);
    }
    gen_shift(g, n->loop, GEN_SUB);
    gen_move(g, gen_at(counter), gen_const(c->bounded ? 0 : c->main));
    if (c->extent > c->main) left_over(g, n, c, &lanes, &above);
}
