// Hoists loop-invariant values out of a machine loop.
//
//     for d { Y[d] = X[d]*rsqrt(q + 1) }      r = rsqrt(q + 1); for d { Y[d] = X[d]*r }
//
// The body of an innermost loop is one segment. A value is invariant if it is computed from
// constants, from memory at a fixed address that the loop does not write, and from other invariant
// values. An invariant value that a varying one uses is a candidate. The most costly candidates are
// computed before the loop, in one register each, as long as enough registers remain for the body
// and a few loads. A check of an invariant index is made before the loop, which runs at least once.
#include "code/micro/micro.h"

#include "base/checked.h"

enum { MOST = 24, SPARE = 5, FEW = 8 };

typedef struct Hoist {
    Seg *s;
    const Plan *p;
    const LoopBody *body;
    bool *still; // per value: it is invariant
    bool checks; // some check is invariant
    int *cost;   // per value: cost of computing it in every iteration
    int n, val[MOST];
} Hoist;

static bool moves(const Stream *st, int loop) {
    for (int t = 0; t < st->n; t++)
        if (st->t[t].loop == loop) return true;
    return false;
}

// Replayed copies differ in their addresses, along the loop or one inside it.
static bool differs(const Ref *r, int loop) {
    for (int t = 0; t < r->mem->off->n; t++)
        if (r->mem->off->t[t].loop >= loop) return true;
    return false;
}

static bool stands_still(const Hoist *h, const Ref *r) {
    if (ref_is_hard(r) || r->guard >= 0 || r->row >= 0) return false;
    if (h->s->buffer[r->buffer].written) return false;
    if (moves(&h->p->streams.at[r->stream], h->body->loop)) return false;
    return !h->body->replayed || !differs(r, h->body->loop);
}

// The cost of the operation; 0: it must run in every iteration.
static int cost_of(const Hoist *h, const Micro *m) {
    switch (m->kind) {
    case MI_CONST:
    case MI_LANE_NUMBERS: return 1;
    case MI_LOAD: return m->nargs || !stands_still(h, m->ref) ? 0 : 1;
    case MI_OP: return m->op == OP_DIV || m->op == OP_SQRT ? 20 : 4;
    case MI_FMA:
    case MI_CHOOSE:
    case MI_CAST:
    case MI_WIDEN:
    case MI_NARROW:
    case MI_BROADCAST: return 4;
    default: return 0;
    }
}

// A check that is the same in every iteration, of which there is one at least.
static bool is_still_check(const Hoist *h, const Micro *m) {
    return m->kind == MI_CHECK && h->body->n > 0 && h->still[m->arg[0]];
}

static void find_still(Hoist *h) {
    for (int i = 0; i < h->s->micros.n; i++) {
        const Micro *m = &h->s->micros.at[i];
        h->checks |= is_still_check(h, m);
        int cost = m->dst < 0 ? 0 : cost_of(h, m);
        bool still = cost > 0;
        for (int k = 0; k < m->nargs && still; k++) {
            still = h->still[m->arg[k]];
            cost += h->cost[m->arg[k]];
        }
        if (!still) continue;
        h->still[m->dst] = true;
        h->cost[m->dst] = (int)min_i64(cost, 1 << 20);
    }
}

// The largest number of registers in use at a time besides the pinned ones, after hoisting. Loads
// with a single use are memory operands.
static int most_live(const Hoist *h) {
    const Seg *s = h->s;
    int *last = arena_new_n(s->arena, int, s->vals.n), live = 0, most = 0;
    int *ends = arena_new_n(s->arena, int, s->micros.n + 1);
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        int at = m->kind == MI_STORE ? m->after + 1 : i; // stores move up
        for (int k = 0; k < m->nargs; k++) last[m->arg[k]] = (int)max_i64(last[m->arg[k]], at);
    }
    for (int i = 0; i < s->micros.n; i++) {
        const Micro *m = &s->micros.at[i];
        const Val *v = m->dst < 0 ? NULL : &s->vals.at[m->dst];
        live -= ends[i];
        if (!v || h->still[m->dst] || v->pin >= 0 || !v->uses) continue;
        if (m->kind == MI_LOAD && v->uses == 1) continue;
        ends[last[m->dst]]++;
        if (++live > most) most = live;
    }
    return most;
}

// A value with one use costs less, because its load is a memory operand.
static int weight(const Hoist *h, int v) {
    return 4 * h->cost[v] + (int)min_i64(h->s->vals.at[v].uses, 3);
}

// Keeps the most costly candidates, in descending order.
static void consider(Hoist *h, int v, int room) {
    int least = h->body->n < FEW ? 4 : 1; // a single load is not worth it in a short loop
    if (!h->still[v] || h->s->vals.at[v].pin >= 0 || h->cost[v] < least) return;
    for (int i = 0; i < h->n; i++)
        if (h->val[i] == v) return;
    if (h->n == room && weight(h, h->val[room - 1]) >= weight(h, v)) return;
    int at = h->n < room ? h->n++ : room - 1;
    for (; at > 0 && weight(h, h->val[at - 1]) < weight(h, v); at--) h->val[at] = h->val[at - 1];
    h->val[at] = v;
}

static void choose(Hoist *h, int room) {
    for (int i = 0; i < h->s->micros.n; i++) {
        const Micro *m = &h->s->micros.at[i];
        if (m->dst >= 0 && (h->still[m->dst] || !h->s->vals.at[m->dst].uses)) continue;
        if (is_still_check(h, m)) continue;
        for (int k = 0; k < m->nargs; k++) consider(h, m->arg[k], room);
    }
}

// Marks the operations that compute the needed values, from the last micro backwards. `given` (or
// NULL): per value, whether it is available anyway.
static void close_over(const Seg *s, bool *needed, const bool *given, bool *micro) {
    for (int i = s->micros.n - 1; i >= 0; i--) {
        const Micro *m = &s->micros.at[i];
        micro[i] |= m->dst >= 0 && needed[m->dst] && !(given && given[m->dst]);
        for (int k = 0; k < m->nargs && micro[i]; k++) needed[m->arg[k]] = true;
    }
}

static const bool *front_of(const Hoist *h) {
    Seg *s = h->s;
    bool *needed = arena_new_n(s->arena, bool, s->vals.n),
         *front = arena_new_n(s->arena, bool, s->micros.n);
    for (int i = 0; i < h->n; i++) {
        front[s->micros.n - h->n + i] = true; // moves it to its register
        needed[h->val[i]] = true;
    }
    for (int i = 0; i < s->micros.n; i++) front[i] |= is_still_check(h, &s->micros.at[i]);
    close_over(s, needed, NULL, front);
    return front;
}

static const bool *body_of(const Hoist *h) {
    const Seg *s = h->s;
    bool *needed = arena_new_n(s->arena, bool, s->vals.n),
         *given = arena_new_n(s->arena, bool, s->vals.n),
         *body = arena_new_n(s->arena, bool, s->micros.n);
    for (int i = 0; i < s->micros.n - h->n; i++) {
        const Micro *m = &s->micros.at[i];
        body[i] = m->dst < 0 ? !is_still_check(h, m) : !h->still[m->dst];
    }
    for (int i = 0; i < h->n; i++) given[h->val[i]] = true;
    close_over(s, needed, given, body);
    return body;
}

int micro_hoist(Seg *s, const MicroIsa *isa, const Plan *p, const LoopBody *body, int npins,
                const bool **left) {
    Hoist h = {.s = s, .p = p, .body = body};
    *left = NULL;
    h.still = arena_new_n(s->arena, bool, s->vals.n + 1);
    h.cost = arena_new_n(s->arena, int, s->vals.n + 1);
    find_still(&h);
    int room = isa->registers - npins - SPARE - most_live(&h);
    if (room <= 0) return 0;
    choose(&h, (int)min_i64(room, MOST));
    for (int i = 0; i < h.n; i++) {
        Val *v = &s->vals.at[h.val[i]];
        Micro pin = {.kind = MI_PIN,
                     .type = v->type,
                     .width = v->width,
                     .dst = -1,
                     .nargs = 1,
                     .arg = {h.val[i]},
                     .dst_reg = (int8_t)(npins + i)};
        v->pin = (int16_t)(npins + i);
        vec_push(s->arena, &s->micros, pin);
    }
    if (!h.n && !h.checks) return 0;
    *left = body_of(&h);
    uint64_t held = s->held, tile = ((uint64_t)1 << npins) - 1;
    s->held = held | tile; // operations that stay in the loop use it
    micro_assign(s, isa, npins + h.n, front_of(&h));
    s->held = held | ((((uint64_t)1 << h.n) - 1) << npins);
    for (int i = 0; i < h.n; i++) s->vals.at[h.val[i]].def = -1;
    return h.n;
}
