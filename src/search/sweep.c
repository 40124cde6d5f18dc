// sweep: LoopStack's tuner in three steps: tile sizes, then the order of loops, then layouts. Each
// step redraws its own decisions and copies the others from the five fastest so far. A step takes a
// third of the remaining budget, or ends earlier when it finds nothing new; then the steps repeat.
#include "search/strategy.h"

// Consecutive duplicate proposals after which a step ends; a pure copy, with nothing to draw,
// counts as many.
enum { STEPS = 3, KEPT = 5, NOTHING_NEW = 200, COPY = NOTHING_NEW / (2 * KEPT) };

// The step of a choice: numbers that shape loops; loops; everything else.
static int step_of(const ChoiceDesc *c) {
    if (strcmp(c->name, "size") == 0) return 0;
    if (strcmp(c->name, "order") == 0 || strcmp(c->name, "kind") == 0) return 1;
    return 2;
}

typedef struct SweepShare {
    double seconds; // end of the step
    int64_t trials;
} SweepShare;

static SweepShare share(const Search *q, int step) {
    SweepShare s = {INFINITY, INT64_MAX};
    double left = q->o.seconds - q->state.seconds;
    if (q->o.seconds > 0) s.seconds = q->state.seconds + left / (STEPS - step);
    if (q->o.trials > 0)
        s.trials = q->state.trials + (q->o.trials - q->state.trials) / (STEPS - step);
    if (q->o.trials <= 0 && q->o.seconds <= 0) s.trials = q->state.trials + 1000;
    return s;
}

static void run_step(Search *q, Batch *b, Cand *c, const bool *anew, int step) {
    SweepShare until = share(q, step);
    for (int stuck = 0; stuck < NOTHING_NEW && !search_over(q);) {
        if (q->state.seconds >= until.seconds || q->state.trials >= until.trials) return;
        int base = q->state.ntop < KEPT ? q->state.ntop : KEPT;
        const Cand *like = base ? q->state.top[random_below(&q->random, base)].cand : NULL;
        space_copy(q->s, c, q->root);
        bool lives = like ? search_imitate(q, c, like, anew) : search_complete(q, c);
        bool copy = like && lives && !q->drawn;
        stuck = lives && batch_offer(q, b, c, 0) ? 0 : stuck + (copy ? COPY : 1);
        if (b->n == 0 || (stuck < NOTHING_NEW && !batch_full(q, b))) continue;
        batch_measure(q, b);
        b->n = 0;
    }
}

void search_sweep(Search *q) {
    Batch *b = batch_new(q);
    Cand *c = search_cand(q);
    bool *anew[STEPS];
    for (int i = 0; i < STEPS; i++) {
        anew[i] = arena_new_n(q->arena, bool, q->s->ndecisions);
        for (int v = 0; v < q->s->ndecisions; v++)
            anew[i][v] = step_of(&q->s->desc->choice[q->s->var[v].choice]) == i;
    }
    for (int step = 0; !search_over(q); step = (step + 1) % STEPS)
        run_step(q, b, c, anew[step], step);
}
