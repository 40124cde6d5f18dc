// Loops and guards.
#include "code/gen/gen.h"

#include <string.h>

#include "base/bug.h"
#include "base/checked.h"

void gen_children(Gen *g, PNode *n) {
    if (!g->region.open) {
        int counts = gen_put_counts(g, n);
        gen_nodes(g, n->child, n->nchild);
        gen_drop_counts(g, counts);
        return;
    }
    if (n->form.real && gen_tails_inside(g, n)) return;
    for (int i = 0; i < n->nchild; i++) gen_walk(g, n->child[i]);
}

// A bound's rest has one value here.
static bool is_constant(const Gen *g, const LoopBound *b, int64_t *rest) {
    int64_t max;
    if (gen_lin_known(g, b->rest, rest)) return true;
    gen_lin_limits(g, b->rest, rest, &max);
    return *rest == max;
}

// Constant limits of an unrolled loop given the loops around it: [*lo, *hi). Conditions that still
// depend on real loops are returned in `open` (may be NULL) and tested for each copy.
int gen_limits(Gen *g, const PNode *n, int64_t *lo, int64_t *hi, const LoopBound **open) {
    int nopen = 0;
    *lo = 0;
    *hi = n->variant.limit >= 0 ? n->variant.limit : n->extent;
    for (int i = 0; i < n->nbounds && n->variant.limit < 0; i++) {
        const LoopBound *b = &n->bound[i];
        int64_t rest;
        if (!is_constant(g, b, &rest)) continue;
        if (b->k < 0)
            *hi = min_i64(*hi, floor_div(rest, -b->k) + 1);
        else
            *lo = max_i64(*lo, ceil_div(-rest, b->k));
    }
    for (int i = 0; i < n->nbounds && n->variant.limit < 0 && *lo < *hi; i++) {
        const LoopBound *b = &n->bound[i];
        int64_t rest, min, max;
        if (is_constant(g, b, &rest)) continue;
        gen_lin_limits(g, b->rest, &min, &max);
        if (min + b->k * (b->k < 0 ? *hi - 1 : *lo) >= 0) continue; // holds in all that is left
        if (open) open[nopen] = b;
        nopen++;
    }
    return nopen;
}

// Jumps to skip unless k·(value) + rest >= 0.
static void test_bound(Gen *g, const LoopBound *b, int64_t value, AsmLabel *skip) {
    gen_lin(g, b->rest);
    g->isa->op_branch(g, GEN_ADD, GEN_A, gen_const(b->k * value), GEN_NEGATIVE, skip);
}

// An unrolled loop: a copy of the body per index (or per vector of indices).
static void unrolled(Gen *g, PNode *n) {
    const LoopBound **open = arena_new_n(g->arena, const LoopBound *, n->nbounds);
    int64_t lo, hi;
    int nopen = gen_limits(g, n, &lo, &hi, open), step = n->simd.vector ? n->simd.lanes : 1;
    for (int64_t v = lo; v < hi; v += step) {
        if (n->simd.vector) g->here.active = (int)min_i64(hi - v, step);
        g->here.value[n->loop] = v;
        if (!nopen) {
            gen_children(g, n);
            continue;
        }
        if (n->simd.vector) {
            g->result.no_vector = n->loop;
            return;
        }
        AsmLabel skip = asm_label(&g->a);
        gen_boundary(g, NULL);
        Lanes before = gen_lanes_now(g);
        gen_line(g, n->line);
        for (int i = 0; i < nopen; i++) test_bound(g, open[i], v, &skip);
        gen_children(g, n);
        gen_boundary(g, &before);
        asm_bind(&g->a, &skip);
    }
    g->here.value[n->loop] = 0;
}

void gen_advance(Gen *g, int loop, int64_t by) {
    for (int i = 0; i < g->p->streams.n; i++) {
        const Stream *s = &g->p->streams.at[i];
        for (int t = 0; t < s->n; t++)
            if (s->t[t].loop == loop)
                gen_op(g, GEN_ADD, gen_at(g->stack.stream[i]), gen_const(s->t[t].k * by));
    }
}

static void record(void *gen, const Micro *m) {
    Gen *g = gen;
    vec_push(g->arena, &g->straight.recorded, *m);
    gen_emit(g, m);
}

static int64_t moved(const Ref *r, PNode *const *loop, const int64_t *at, int n) {
    int64_t by = 0;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < r->mem->off->n; t++)
            if (r->mem->off->t[t].loop == loop[i]->loop) by += r->mem->off->t[t].k * at[i];
    return by;
}

static void play(Gen *g, PNode *const *loop, const int64_t *at, int n) {
    g->isa->forget(g, true); // values have the same numbers, not the same lanes
    for (int i = 0; i < g->straight.recorded.n; i++) {
        Micro m = g->straight.recorded.at[i];
        Ref r;
        if (m.ref) {
            r = *m.ref;
            r.disp += moved(&r, loop, at, n);
            m.ref = &r;
            if (m.kind == MI_FETCH &&
                floor_div(r.disp, 64) == floor_div(g->straight.recorded.at[i].ref->disp, 64))
                continue; // the first copy did
        }
        gen_emit(g, &m);
    }
}

// Next combination of the indices, the last loop first; false after the last one.
static bool next_copy(int64_t *at, const int64_t *trips, int n) {
    for (int i = n - 1; i >= 0; i--) {
        if (++at[i] < trips[i]) return true;
        at[i] = 0;
    }
    return false;
}

enum { MAX_CHAIN = 8 };

static bool has_limits(const PNode *n) {
    bool has = n->kind == P_LOOP && n->nbounds;
    for (int i = 0; i < n->nchild && !has; i++) has = has_limits(n->child[i]);
    return has;
}

static bool is_straight(Gen *g, const PNode *n);

bool gen_is_straight(Gen *g, const PNode *n) {
    for (int i = 0; i < n->nchild; i++)
        if (!is_straight(g, n->child[i])) return false;
    return true;
}

// Whether everything below is known, so that a copy is one segment. Limits of inner loops may
// depend on their copy.
static bool is_straight(Gen *g, const PNode *n) {
    if (n->kind == P_GUARD || n->form.real) return false;
    if (n->kind != P_LOOP) return true;
    int64_t lo, hi;
    if (gen_limits(g, n, &lo, &hi, NULL)) return false;
    bool differ = false, straight = true;
    for (int i = 0; i < n->nchild; i++) differ |= has_limits(n->child[i]);
    for (int64_t v = lo; v < hi && straight; v = differ ? v + 1 : hi) {
        g->here.value[n->loop] = v;
        straight = gen_is_straight(g, n);
    }
    g->here.value[n->loop] = 0;
    return straight;
}

static bool can_replay(Gen *g, const PNode *n) {
    return g->region.open && n->form.replay && !g->straight.replaying && gen_is_straight(g, n);
}

static int most_parts(const Gen *g) {
    int most = 1;
    for (int i = 0; i < g->region.pins.n; i++)
        if (g->region.pins.at[i].parts.n > most) most = g->region.pins.at[i].parts.n;
    return most;
}

// Copies of a body that differ in addresses alone: generates one and repeats its operations with
// the same registers, also for loops nested directly inside. Where split accumulators alternate,
// the repeated unit has one copy per accumulator. Returns the number of copies generated.
static int64_t replay(Gen *g, PNode *n, int64_t copies) {
    PNode *loop[MAX_CHAIN] = {n};
    int64_t at[MAX_CHAIN] = {0}, trips[MAX_CHAIN] = {copies};
    int depth = 1, group = most_parts(g);
    while (group == 1 && depth < MAX_CHAIN && n->nchild == 1 && n->child[0]->form.replay) {
        int64_t lo, hi;
        gen_limits(g, n->child[0], &lo, &hi, NULL); // can_replay saw that they are known
        if (lo >= hi) return copies;
        if (lo) break;
        n = n->child[0];
        loop[depth] = n;
        trips[depth++] = hi;
    }
    if (copies < group) return 0;
    gen_boundary(g, NULL);
    Lanes start = gen_lanes_now(g);
    g->straight.recorded.n = 0;
    g->straight.replaying = true;
    for (int i = 0; i < group; i++) {
        if (group > 1) g->here.value[n->loop] = i;
        gen_children(g, n);
    }
    g->here.value[n->loop] = 0;
    g->straight.replaying = false;
    gen_close_to(g, record);
    Lanes end = gen_lanes_now(g);
    trips[0] = copies / group;
    bool steady = !memcmp(&start, &end, sizeof start);
    while (next_copy(at, trips, depth)) {
        if (!steady) gen_lanes_restore(g, &start);
        at[0] *= group;
        play(g, loop, at, depth);
        at[0] /= group;
        for (int i = 0; i < g->region.pins.n && !steady; i++) {
            g->region.pins.at[i].pending = end.pending[i];
            g->region.pins.at[i].parts.live = end.split[i];
        }
    }
    gen_open(g);
    return copies / group * group;
}

// Do bounds of the loop depend on several machine loops, as those of skewed loops? They are decided
// in front of the innermost one, or where it is cut (cut.c).
static bool is_wave(const Gen *g, const PNode *n) {
    for (int i = 0; i < n->nbounds; i++) {
        const Lin *rest = n->bound[i].rest;
        int counters = 0;
        for (int k = 0; k < rest->n; k++) counters += g->p->loop[rest->t[k].loop]->form.real;
        if (counters < 2) return false;
    }
    return true;
}

static bool is_outside(const Lin *sum, int loop) {
    for (int i = 0; i < sum->n; i++)
        if (sum->t[i].loop >= loop) return false;
    return true;
}

// Static truth of one of its conditions, of its flag, and of a guard: 1 always, 0 never, -1
// depends.
static int condition_truth(const Gen *g, const PNode *n, int i) {
    return gen_lanes_truth(g, n->cond[i], gen_in_lanes(n, i) ? n->simd.vloop : -1, n->simd.width);
}

static int flag_truth(const Gen *g, const PNode *n) {
    if (!(n->flag & ~g->here.flags_clear)) return 1;
    return g->here.flags_set && !(g->here.flags_set & ~n->flag) ? 0 : -1;
}

int gen_guard_truth(Gen *g, const PNode *n) {
    int truth = n->nhard ? -1 : 1, one = flag_truth(g, n);
    for (int i = 0; i < n->nconds && one; i++) {
        if (one < 0) truth = -1;
        one = condition_truth(g, n, i);
    }
    return one > 0 ? truth : one;
}

// The truth of a condition in all copies of the body of `loop`; -1 also where copies differ.
static int truth_in_copies(Gen *g, const PNode *n, int i, int loop) {
    const PNode *of = g->p->loop[loop];
    int truth = condition_truth(g, n, i);
    int64_t step = of->simd.vector ? of->simd.lanes : 1, first = g->here.value[loop];
    if (truth < 0 || of->form.unroll < 2 || !lin_coef(n->cond[i], loop)) return truth;
    g->here.value[loop] = first + (of->form.unroll - 1) * step; // conditions are monotonic
    int last = condition_truth(g, n, i);
    g->here.value[loop] = first;
    return last == truth ? truth : -1;
}

// A guard whose children do not run, as was decided in front of this part of `loop`.
static bool is_off(Gen *g, const PNode *n, int loop) {
    bool off = n->kind == P_GUARD && flag_truth(g, n) == 0;
    for (int i = 0; n->kind == P_GUARD && i < n->nconds && !off; i++)
        off = is_outside(n->cond[i], loop + 1) && truth_in_copies(g, n, i, loop) == 0;
    return off;
}

// A guard that branches nowhere inside `loop`: it leaves out lanes, or it is decided; or, with
// `front`, it will be, in front of the loop or where this is cut.
static bool is_still(Gen *g, const PNode *n, int loop, bool front) {
    bool still = n->kind == P_GUARD && !n->nhard && !n->form.deferred;
    still &= front || flag_truth(g, n) >= 0;
    for (int i = 0; i < n->nconds && still; i++)
        still = gen_in_lanes(n, i) || (is_outside(n->cond[i], loop + 1) &&
                                       (front || truth_in_copies(g, n, i, loop) >= 0));
    return still;
}

// Nothing inside is a machine loop, or tested at run time. `front`: apart from bounds of skewed
// loops, and from guards that are decided in front of `loop` or by it.
static bool straight(Gen *g, const PNode *n, int loop, bool front) {
    for (int i = 0; i < n->nchild; i++) {
        const PNode *c = n->child[i];
        bool copied = c->kind == P_LOOP && !c->form.real && !c->form.replay;
        copied &= !gen_has_bounds(g, c) || (front && is_wave(g, c));
        if (c->kind != P_LEAF && !is_off(g, c, loop) &&
            !((copied || is_still(g, c, loop, front)) && straight(g, c, loop, front)))
            return false;
    }
    return true;
}

// Straight-line part of a real loop: bodies `step` apart.
void gen_copies(Gen *g, PNode *n, int64_t total, int step) {
    int64_t v = total > 1 && can_replay(g, n) ? replay(g, n, total) : 0;
    for (; v < total; v += step) {
        g->here.value[n->loop] = v;
        if (n->simd.vector) g->here.active = (int)min_i64(total - v, step);
        gen_children(g, n);
    }
    g->here.value[n->loop] = 0;
}

// Nothing inside branches or has an end of its own, however it is decided.
static bool is_whole(const PNode *n) {
    for (int i = 0; i < n->nchild; i++) {
        const PNode *c = n->child[i];
        if (c->kind == P_GUARD || (c->kind == P_LOOP && (c->form.real || c->nbounds))) return false;
        if (c->form.replay || !is_whole(c)) return false;
    }
    return true;
}

// The loop will begin with its first segment, where its body is one.
static void open_body(Gen *g, PNode *n, int64_t iterations, int64_t stride, AsmLabel *top) {
    g->straight.top = top;
    g->straight.body = (LoopBody){.loop = n->loop,
                                  .n = iterations,
                                  .stride = stride,
                                  .whole = is_whole(n) && !n->form.replay};
    if (!g->region.open || !(straight(g, n, n->loop, false) || can_replay(g, n)) || iterations < 2)
        gen_begin_loop(g);
}

void gen_begin_loop(Gen *g) {
    if (!g->straight.top) return;
    g->isa->align(g);
    asm_bind(&g->a, g->straight.top);
    g->straight.top = NULL;
    g->isa->forget(g, false);
}

void gen_iteration(Gen *g, PNode *n, int64_t iterations, int64_t stride, const Lanes *lanes,
                   AsmLabel *top) {
    int pinned = g->region.pinned;
    uint64_t held = g->region.held;
    open_body(g, n, iterations, stride, top);
    gen_copies(g, n, stride, n->simd.vector ? n->simd.lanes : 1);
    gen_forget_temporaries(g, n);
    gen_boundary(g, lanes);
    gen_begin_loop(g);
    g->region.pinned = pinned;
    g->region.held = held;
    gen_line(g, n->line);
    gen_advance(g, n->loop, stride);
    gen_op(g, GEN_ADD, gen_at(gen_counter(g, n->loop)), gen_const(stride));
}

// Is there a loop in lanes below n that ends earlier in the last iterations of `loop`?
static bool cuts_lanes(const PNode *n, int loop) {
    for (int i = 0; n->kind == P_LOOP && n->simd.vector && i < n->nbounds; i++)
        for (int t = 0; t < n->bound[i].rest->n; t++)
            if (n->bound[i].rest->t[t].loop == loop) return true;
    for (int i = 0; i < n->nchild; i++)
        if (cuts_lanes(n->child[i], loop)) return true;
    return false;
}

// Here the counter of a machine loop is in this range.
static void know_counter(Gen *g, const PNode *n, int64_t min, int64_t max) {
    Lin *counter = arena_alloc(g->arena, sizeof(Lin) + sizeof(LinTerm));
    counter->n = 1;
    counter->t[0] = (LinTerm){.loop = n->loop, .k = 1};
    gen_know(g, counter, min, max);
}

// Behind a machine loop, where its counter is known: copies may differ in their ends.
static void last_copies(Gen *g, PNode *n, int64_t from, int64_t total) {
    know_counter(g, n, from, from);
    for (int64_t v = 0; v < total; v++) {
        g->here.value[n->loop] = v;
        gen_children(g, n);
    }
    g->here.value[n->loop] = 0;
    g->here.known.n--;
}

// A loop with constant limits: whole strides in a machine loop, the remainder straight behind it.
// So is the last stride where a loop in lanes ends early in it:
//
//     for k in 74                            for k in 73
//       for k.1 in 16 vector                   for k.1 in 16 vector
//         where 1177 - 16*k - k.1 >= 0       for k.1 in 10 vector         with k = 73
static void counted(Gen *g, PNode *n) {
    int step = n->simd.vector ? n->simd.lanes : 1;
    int64_t extent = n->variant.limit >= 0 ? n->variant.limit : n->extent;
    int64_t stride = (int64_t)step * n->form.unroll, main = extent / stride * stride;
    bool cut =
        g->region.open && !n->simd.vector && !gen_has_machine_loop(n) && cuts_lanes(n, n->loop);
    if (cut && main == extent) main -= stride;
    Item counter = gen_counter(g, n->loop);
    Lanes lanes = gen_lanes_wanted(g, n);
    gen_boundary(g, &lanes);
    gen_line(g, n->line);
    gen_move(g, gen_at(counter), gen_const(0));
    if (main) {
        AsmLabel top = asm_label(&g->a);
        if (cut) know_counter(g, n, 0, main - stride);
        gen_iteration(g, n, main / stride, stride, &lanes, &top);
        if (cut) g->here.known.n--;
        if (main > stride) gen_branch(g, GEN_LT, gen_at(counter), gen_const(main), &top);
    }
    if (cut)
        last_copies(g, n, main, extent - main);
    else
        gen_copies(g, n, extent - main, step);
    gen_boundary(g, NULL);
    gen_line(g, n->line);
    gen_advance(g, n->loop, -main);
}

// Pointers move by as many iterations as the counter says, forwards or back.
void gen_shift(Gen *g, int loop, GenOp way) {
    for (int i = 0; i < g->p->streams.n; i++) {
        const Stream *s = &g->p->streams.at[i];
        for (int t = 0; t < s->n; t++) {
            if (s->t[t].loop != loop) continue;
            gen_move(g, GEN_A, gen_at(gen_counter(g, loop)));
            gen_move(g, GEN_B, gen_const(s->t[t].k));
            gen_op(g, GEN_MUL, GEN_A, GEN_B);
            gen_op(g, way, gen_at(g->stack.stream[i]), GEN_A);
        }
    }
}

// The counter <- the first index of a loop whose limits depend on loops around it, and its end
// into a stack slot: the slot.
int gen_range(Gen *g, PNode *n) {
    GenArg counter = gen_at(gen_counter(g, n->loop));
    int slot = gen_end_slot(g, n);
    GenArg end = gen_at_slot(slot);
    gen_move(g, GEN_A, gen_const(n->extent));
    gen_move(g, end, GEN_A);
    gen_move(g, counter, gen_const(0));
    for (int i = 0; i < n->nbounds; i++) { // the least end, the greatest start
        const LoopBound *b = &n->bound[i];
        gen_lin(g, b->rest);
        if (b->k < 0) {
            g->isa->divide(g, -b->k, false);
            gen_op(g, GEN_ADD, GEN_A, gen_const(1));
            gen_move(g, GEN_B, end);
            g->isa->choose(g, false, GEN_A, GEN_B);
            gen_move(g, end, GEN_A);
        } else {
            g->isa->divide(g, b->k, false); // ceil(-rest / k) = -floor(rest / k)
            gen_op(g, GEN_NEG, GEN_A, GEN_NONE);
            gen_move(g, GEN_B, counter);
            g->isa->choose(g, true, GEN_A, GEN_B);
            gen_move(g, counter, GEN_A);
        }
    }
    return slot;
}

// A machine loop with `stride` indices per iteration, as long as that many are left.
static void iterations_within(Gen *g, PNode *n, const Lanes *lanes, int64_t stride, int end) {
    Asm *a = &g->a;
    Item counter = gen_counter(g, n->loop);
    AsmLabel top = asm_label(a), done = asm_label(a);
    for (int pass = 0; pass < 2; pass++) {
        gen_move(g, GEN_A, gen_at(counter));
        gen_op(g, GEN_ADD, GEN_A, gen_const(stride));
        gen_branch(g, pass ? GEN_LE : GEN_GT, GEN_A, gen_at_slot(end), pass ? &top : &done);
        if (!pass) gen_iteration(g, n, stride > 1 ? 2 : 1, stride, lanes, &top);
    }
    asm_bind(a, &done);
}

static bool starts_late(const PNode *n) {
    for (int i = 0; i < n->nbounds; i++)
        if (n->bound[i].k > 0) return true;
    return false;
}

// A loop whose limits depend on loops around it: whole iterations, then one index per iteration.
static void bounded(Gen *g, PNode *n) {
    Item counter = gen_counter(g, n->loop);
    Lanes lanes = gen_lanes_wanted(g, n);
    gen_boundary(g, &lanes);
    gen_line(g, n->line);
    int end = gen_range(g, n);
    if (starts_late(n)) gen_shift(g, n->loop, GEN_ADD); // pointers start at `counter`
    if (n->form.unroll > 1 && g->region.open) iterations_within(g, n, &lanes, n->form.unroll, end);
    iterations_within(g, n, &lanes, 1, end);
    gen_shift(g, n->loop, GEN_SUB);
    gen_move(g, gen_at(counter), gen_const(0));
}

// Bounds that can bite, given the loops around; the others are dropped for good.
bool gen_has_bounds(Gen *g, const PNode *n) {
    int live = 0;
    if (n->variant.limit >= 0) return false;
    for (int i = 0; i < n->nbounds; i++) {
        int64_t min, max;
        gen_lin_limits(g, n->bound[i].rest, &min, &max);
        int64_t worst = n->bound[i].k < 0 ? n->bound[i].k * (n->extent - 1) : 0;
        if (min + worst < 0) live++;
    }
    return live > 0;
}

// ---- Conditions in front of loops
//
// A condition inside a loop that does not change in it is decided in front of it, of a guard or of
// a value in lanes; so are the flags of a guard:
//
//     for ci { ... if (6*w - 1 >= 0) ... }    if (6*w - 1 >= 0) for ci { ... } else for ci { ... }
//
// Of unrolled copies that ask for the same sum and another constant the most demanding one is
// asked: where it holds, all do. Innermost loops alone, so that little code is made twice; beyond
// MAX_CHOSEN of them tests stay inside.

// sum + c >= 0; or, where there is no sum, a bit of `flag` is set
typedef struct Choice {
    const Lin *sum; // without a common factor; NULL: there is none
    int64_t c;
    uint32_t flag; // 0: there is none
} Choice;

// The condition cond + more >= 0.
static void consider(Gen *g, const Lin *cond, int64_t more, int loop, Choice *best) {
    int64_t c = cond->c + more, common;
    const Lin *sum = gen_unit_of(g, cond, &common);
    if (!sum || !is_outside(sum, loop) || (best->sum && best->sum != sum)) return;
    for (int i = 0; i < cond->n; i++) c += cond->t[i].k * g->here.value[cond->t[i].loop];
    c = floor_div(c, common);
    if (!best->sum || c < best->c) *best = (Choice){sum, c, best->flag};
}

// Conditions that a value in lanes chooses by.
static void find_in_value(Gen *g, const PNode *leaf, const Expr *e, int loop, Choice *best) {
    const Lin *cond = e->type == TYPE_BOOL ? code_condition(g->p, e) : NULL;
    if (cond && gen_lanes_truth(g, cond, leaf->simd.vloop, leaf->simd.width) < 0)
        consider(g, cond, 0, loop, best);
    for (int i = 0; !cond && e->kind == EXPR_OP && i < e->n; i++)
        find_in_value(g, leaf, e->arg[i], loop, best);
}

// Conditions below n that depend on loops around `loop` alone.
static void find_choice(Gen *g, const PNode *n, int loop, Choice *best) {
    int64_t lo = 0, hi = 1;
    if (n->kind == P_GUARD) {
        if (gen_guard_truth(g, n) == 0) return;
        for (int i = 0; i < n->nconds; i++)
            if (!gen_in_lanes(n, i) && condition_truth(g, n, i) < 0)
                consider(g, n->cond[i], 0, loop, best);
        if (!best->flag && !n->form.deferred && flag_truth(g, n) < 0) best->flag = n->flag;
    }
    if (n->kind == P_LEAF && n->simd.width > 1) find_in_value(g, n, n->leaf->value, loop, best);
    if (n->kind == P_LOOP && !n->form.real && !n->simd.vector) {
        const LoopBound **open = arena_new_n(g->arena, const LoopBound *, n->nbounds);
        int nopen = gen_limits(g, n, &lo, &hi, open);
        for (int i = 0; i < nopen; i++) {
            int64_t k = open[i]->k;
            consider(g, open[i]->rest, k * (k < 0 ? hi - 1 : lo), loop, best);
        }
    }
    for (int64_t v = lo; v < hi; v++) {
        if (n->kind == P_LOOP) g->here.value[n->loop] = v;
        for (int i = 0; i < n->nchild; i++) find_choice(g, n->child[i], loop, best);
    }
    if (n->kind == P_LOOP) g->here.value[n->loop] = 0;
}

static void machine_loop(Gen *g, PNode *n);

static void loop_where(Gen *g, PNode *n, const Lin *sum, int slot, int64_t min, int64_t max) {
    vec_push(g->arena, &g->here.known, ((Known){sum, min, max, slot}));
    machine_loop(g, n);
    g->here.known.n--;
}

static void flag_chosen(Gen *g, PNode *n, uint32_t flag) {
    AsmLabel other = asm_label(&g->a), done = asm_label(&g->a);
    uint32_t clear = g->here.flags_clear, set = g->here.flags_set;
    Lanes lanes = gen_lanes_wanted(g, n);
    gen_boundary(g, &lanes);
    gen_line(g, n->line);
    g->here.chosen++;
    g->isa->branch_flags(g, flag, &other);
    g->here.flags_clear |= flag;
    machine_loop(g, n);
    gen_boundary(g, &lanes);
    gen_jump(g, &done);
    asm_bind(&g->a, &other);
    g->here.flags_clear = clear;
    g->here.flags_set = flag;
    machine_loop(g, n);
    gen_boundary(g, &lanes);
    g->here.flags_set = set;
    g->here.chosen--;
    asm_bind(&g->a, &done);
}

static void chosen(Gen *g, PNode *n, const Choice *c) {
    AsmLabel other = asm_label(&g->a), done = asm_label(&g->a);
    Lanes lanes = gen_lanes_wanted(g, n);
    gen_boundary(g, &lanes);
    gen_line(g, n->line);
    gen_counters(g, c->sum);
    int slot = g->stack.chosen_slots + 8 * g->here.chosen++;
    gen_move(g, gen_at_slot(slot), GEN_A);
    gen_move(g, GEN_B, gen_const(-c->c));
    gen_branch(g, GEN_LT, GEN_A, GEN_B, &other);
    loop_where(g, n, c->sum, slot, -c->c, INT64_MAX);
    gen_boundary(g, &lanes);
    gen_jump(g, &done);
    asm_bind(&g->a, &other);
    loop_where(g, n, c->sum, slot, INT64_MIN, -c->c - 1);
    gen_boundary(g, &lanes);
    g->here.chosen--;
    asm_bind(&g->a, &done);
}

bool gen_has_machine_loop(const PNode *n) {
    bool has = false;
    for (int i = 0; i < n->nchild && !has; i++)
        has = n->child[i]->form.real || gen_has_machine_loop(n->child[i]);
    return has;
}

static void machine_loop(Gen *g, PNode *n) {
    Choice choice = {0};
    if (g->region.open && g->here.chosen < MAX_CHOSEN && !gen_has_machine_loop(n))
        find_choice(g, n, n->loop, &choice);
    const Cuts *cuts = NULL;
    if (g->region.open && !choice.sum && !choice.flag && !gen_has_machine_loop(n) &&
        !cuts_lanes(n, n->loop))
        cuts = gen_find_cuts(g, n);
    if (choice.sum)
        chosen(g, n, &choice);
    else if (choice.flag)
        flag_chosen(g, n, choice.flag);
    else if (cuts)
        gen_cut(g, n, cuts);
    else if (gen_has_bounds(g, n))
        bounded(g, n);
    else
        counted(g, n);
}

static bool has_tile(const PNode *n) {
    bool has = n->form.pinned;
    for (int i = 0; i < n->nchild && !has; i++) has = has_tile(n->child[i]);
    return has;
}

// A loop around straight-line code, which is one segment: its copies share constants, and
// loop-invariant operations are done once.
static void around_segment(Gen *g, PNode *n) {
    gen_masks(g, &n, 1);
    g->region.open = true;
    gen_open(g);
    gen_walk(g, n);
    gen_close(g);
    g->region.open = false;
    g->region.masks = 0;
}

// Whether the body is generated twice because of another loop. Then each iteration branches, and is
// not one segment. What the loop decides itself divides its iterations (cut.c).
static bool has_interior(const Gen *g, const PNode *n) {
    Interiors in;
    int first = g->p->nloops;
    for (int i = 0; i < n->nchild && first == g->p->nloops; i++)
        first = plan_first_loop(n->child[i], g->p->nloops);
    bool other = gen_find_interiors(g, n->child, n->nchild, first, &in);
    return other && !(in.n == 1 && in.at[0].loop == n);
}

// In the body of a machine loop its bounds hold: Σ k·counter >= -c. The sum is a multiple of all k.
static void know_bounds(Gen *g, const PNode *n) {
    for (int i = 0; n->variant.limit < 0 && i < n->nbounds; i++) {
        const Lin *rest = n->bound[i].rest;
        LinTerm t[TREE_MAX_DEPTH * 2];
        int64_t c = rest->c, common = gcd_i64(0, n->bound[i].k);
        int nt = 0;
        for (int k = 0; k < rest->n; k++) {
            c += rest->t[k].k * g->here.value[rest->t[k].loop];
            if (!g->p->loop[rest->t[k].loop]->form.real) continue;
            common = gcd_i64(common, rest->t[k].k);
            t[nt++] = rest->t[k];
        }
        t[nt++] = (LinTerm){.loop = n->loop, .k = n->bound[i].k};
        gen_know(g, code_lin(g->arena, 0, t, nt), ceil_div(-c, common) * common, INT64_MAX);
    }
}

static void loop(Gen *g, PNode *n) {
    if (n->form.real && !n->threads.parallel && !g->region.open && straight(g, n, n->loop, true) &&
        !has_tile(n) && !has_interior(g, n)) {
        around_segment(g, n);
        return;
    }
    if (!n->form.real && can_replay(g, n) && !gen_has_bounds(g, n)) {
        Lanes lanes = gen_lanes_wanted(g, n);
        gen_boundary(g, &lanes);
        gen_copies(g, n, n->variant.limit >= 0 ? n->variant.limit : n->extent, 1);
        return;
    }
    if (!n->form.real) {
        unrolled(g, n);
        return;
    }
    if (n->threads.parallel) {
        gen_parallel(g, n);
        return;
    }
    if (n->simd.vector && gen_has_bounds(g, n)) {
        g->result.no_vector = n->loop;
        return;
    }
    int known = g->here.known.n;
    know_bounds(g, n);
    machine_loop(g, n);
    g->here.known.n = known;
}

void gen_conditions(Gen *g, PNode *n, AsmLabel *skip) {
    gen_line(g, n->line);
    if (n->flag && flag_truth(g, n) < 0) g->isa->branch_flags(g, n->flag, skip);
    for (int i = 0; i < n->nconds; i++) {
        if (gen_in_lanes(n, i)) continue; // the leaves' business
        gen_lin(g, n->cond[i]);
        gen_branch(g, GEN_NEGATIVE, GEN_A, GEN_NONE, skip);
    }
    for (int i = 0; i < n->nhard; i++) {
        gen_affine(g, n->hard[i], g->here.value);
        gen_branch(g, GEN_NEGATIVE, GEN_A, GEN_NONE, skip);
    }
}

static void guard(Gen *g, PNode *n) {
    if (n->form.deferred) {
        gen_deferred(g, n);
        return;
    }
    int truth = gen_guard_truth(g, n);
    if (truth == 0) return;
    int around = g->here.lane_conds.n;
    bool tests = n->nhard || flag_truth(g, n) < 0;
    for (int i = 0; i < n->nconds; i++) {
        if (condition_truth(g, n, i) == 1) continue;
        if (gen_in_lanes(n, i))
            vec_push(g->arena, &g->here.lane_conds, n->cond[i]);
        else
            tests = true;
    }
    if (!tests) {
        gen_children(g, n);
        g->here.lane_conds.n = around;
        return;
    }
    AsmLabel skip = asm_label(&g->a);
    gen_begin_loop(g); // a body with tests is not one segment: every iteration makes them
    gen_boundary(g, NULL);
    Lanes before = gen_lanes_now(g);
    gen_conditions(g, n, &skip);
    gen_children(g, n);
    g->here.lane_conds.n = around;
    gen_boundary(g, &before);
    asm_bind(&g->a, &skip);
}

void gen_walk(Gen *g, PNode *n) {
    if (n->kind == P_LOOP)
        loop(g, n);
    else if (n->kind == P_GUARD)
        guard(g, n);
    else
        gen_leaf(g, n);
}
