// exhaustive: every implementation, by branch and bound: values of a decision are tried in the
// order of their bounds, and subtrees that cannot beat the best are pruned. When it completes, the
// best is optimal.
#include "search/strategy.h"

// The children of one node on the way down.
typedef struct Level {
    Cand *c;
    uint64_t value[SPACE_MAX_VALUES];
    double bound[SPACE_MAX_VALUES];
    int n;
} Level;

typedef struct ExhaustiveWalk {
    Search *q;
    Batch *batch;
    VEC(Level *) level; // created on demand
} ExhaustiveWalk;

static void ask(ExhaustiveWalk *w) {
    batch_measure(w->q, w->batch);
    w->batch->n = 0;
}

static Level *level_at(ExhaustiveWalk *w, int depth) {
    if (depth == w->level.n) {
        Level *l = arena_new(w->q->arena, Level);
        l->c = search_cand(w->q);
        vec_push(w->q->arena, &w->level, l);
    }
    return w->level.at[depth];
}

static void see_values(ExhaustiveWalk *w, Level *l, const Cand *c, int var) {
    l->n = 0;
    for (uint64_t left = space_domain(w->q->s, c, var); left; left &= left - 1) {
        space_copy(w->q->s, l->c, c);
        if (!space_keep(w->q->w, l->c, var, left & -left)) continue;
        double b = search_bound(w->q, l->c);
        int at = l->n++;
        for (; at > 0 && l->bound[at - 1] > b; at--) {
            l->bound[at] = l->bound[at - 1];
            l->value[at] = l->value[at - 1];
        }
        l->bound[at] = b;
        l->value[at] = left & -left;
    }
}

static void visit(ExhaustiveWalk *w, const Cand *c, int depth, int at) {
    Search *q = w->q;
    int var = search_open(q, c, &at);
    if (var < 0) {
        batch_offer(q, w->batch, c, 0);
        if (batch_full(q, w->batch)) ask(w);
        return;
    }
    Level *l = level_at(w, depth);
    see_values(w, l, c, var);
    for (int i = 0; i < l->n; i++) {
        if (search_over(q)) return;
        if (!q->state.refuted && l->bound[i] > 0 && l->bound[i] >= search_best(&q->state)) {
            q->state.cut += l->n - i;
            return;
        }
        space_copy(q->s, l->c, c);
        space_keep(q->w, l->c, var, l->value[i]);
        visit(w, l->c, depth + 1, at);
    }
}

void search_exhaustive(Search *q) {
    ExhaustiveWalk w = {.q = q, .batch = batch_new(q)};
    visit(&w, q->root, 0, 0);
    if (!search_over(q)) ask(&w);
    q->state.proved = q->state.end == SEARCH_RUNNING && !q->state.count[TRIAL_CANCELLED];
}
