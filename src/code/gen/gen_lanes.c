// Conditions that differ from lane to lane, or that lanes are chosen by:
//
//     c + Σ k·index >= 0,   index of the vector loop: that of lane 0 + lane
//
// What is known when the code is made decides it, for all lanes or for none. What is left becomes a
// comparison in 4-byte lanes. Its one side are counters and the lane, which all copies of unrolled
// loops share, the other a constant.
#include "code/gen/gen.h"

#include "base/checked.h"

bool gen_in_lanes(const PNode *guard, int cond) {
    return guard->simd.width > 1 && lin_coef(guard->cond[cond], guard->simd.vloop) != 0;
}

// 1: it holds in all lanes; 0: in none; -1: that depends.
int gen_lanes_truth(const Gen *g, const Lin *l, int vloop, int width) {
    int64_t min, max, lanes = width;
    gen_lin_limits(g, l, &min, &max);
    if (vloop >= 0) {
        const PNode *loop = g->p->loop[vloop];
        if (!loop->form.real) lanes = min_i64(lanes, loop->extent - g->here.value[vloop]);
        int64_t span = loop->form.real ? 0 : lin_coef(l, vloop) * (lanes - 1);
        *(span < 0 ? &min : &max) += span;
    }
    return min >= 0 ? 1 : max < 0 ? 0 : -1;
}

// Once for all that have the same.
const Lin *gen_counters_of(Gen *g, const Lin *l) {
    LinTerm t[TREE_MAX_DEPTH * 2];
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (g->p->loop[l->t[i].loop]->form.real) t[n++] = l->t[i];
    if (!n) return NULL;
    for (int i = 0; i < g->counters.n; i++) {
        const Lin *known = g->counters.at[i];
        if (known->n == n && lin_same_terms(known->t, t, n)) return known;
    }
    vec_push(g->arena, &g->counters, code_lin(g->arena, 0, t, n));
    return vec_last(&g->counters);
}

const Lin *gen_unit_of(Gen *g, const Lin *l, int64_t *common) {
    const Lin *sum = gen_counters_of(g, l);
    LinTerm t[TREE_MAX_DEPTH * 2];
    *common = 0;
    for (int i = 0; sum && i < sum->n; i++) *common = gcd_i64(*common, sum->t[i].k);
    if (!sum || *common <= 1) return sum;
    for (int i = 0; i < sum->n; i++)
        t[i] = (LinTerm){.loop = sum->t[i].loop, .k = sum->t[i].k / *common};
    return gen_counters_of(g, code_lin(g->arena, 0, t, sum->n));
}

int gen_lanes_hold(Gen *g, const Lin *l, int vloop, int width) {
    Seg *s = g->seg;
    int truth = gen_lanes_truth(g, l, vloop, width);
    if (truth >= 0) return seg_const(s, TYPE_BOOL, width, (Value){.i = truth});
    int64_t c = l->c;
    for (int i = 0; i < l->n; i++) c += l->t[i].k * g->here.value[l->t[i].loop];
    int64_t step = vloop >= 0 ? lin_coef(l, vloop) : 0;
    int args[2] = {seg_counters(s, width, gen_counters_of(g, l), step),
                   seg_const(s, TYPE_I32, width, (Value){.i = -c})};
    g->result.tricks[TRICK_LANES]++;
    return seg_op(s, MI_OP, OP_GE, TYPE_BOOL, TYPE_I32, width, 2, args);
}
