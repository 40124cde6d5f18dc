// genetic: Tensor Comprehensions' tuner, over decisions instead of mapping options.
//
// A generation is bred from the previous one: the elites stay; the rest are children, most of them
// of three parents drawn by fitness (1 / time), each decision from one of the three; then a few of
// their decisions are redrawn. A child makes the decisions of its genes in order; if propagation
// has removed a value, another one is drawn, so every child is a valid candidate. If fewer than
// three candidates are valid, all except the best are redrawn.
//
// A candidate that was measured before keeps its time, so breeding it again costs nothing.
#include "search/strategy.h"

typedef struct Member {
    Cand *cand;
    double time;
} Member;

typedef struct Breed {
    Search *q;
    Batch *batch;
    Member *old, *young;
    int nold, nyoung;
    bool *anew; // per variable: mutated
} Breed;

static double known_time(Search *q, const Cand *c) {
    const Trial *t = search_known(q, c);
    return t ? trial_time(t) : (double)INFINITY;
}

// Adds `c` to the young; it is measured with the next batch unless it has been.
static void add(Breed *b, const Cand *c) {
    space_copy(b->q->s, b->young[b->nyoung++].cand, c);
    if (search_known(b->q, c))
        b->q->stale++;
    else
        batch_offer(b->q, b->batch, c, 0);
    if (batch_full(b->q, b->batch)) {
        batch_measure(b->q, b->batch);
        b->batch->n = 0;
    }
}

static void fill_random(Breed *b, Cand *c) {
    for (int tries = 0; b->nyoung < b->q->o.population && tries < 4 * b->q->o.population; tries++) {
        if (search_over(b->q)) return;
        space_copy(b->q->s, c, b->q->root);
        if (search_complete(b->q, c)) add(b, c);
    }
}

// Measures the young, drops those that failed, and sorts them, best first.
static void grow_up(Breed *b) {
    batch_measure(b->q, b->batch);
    b->batch->n = 0;
    Member *t = b->old;
    b->old = b->young;
    b->young = t;
    b->nold = 0;
    for (int i = 0; i < b->nyoung; i++) {
        Member m = {b->old[i].cand, known_time(b->q, b->old[i].cand)};
        int at = i;
        for (; at > 0 && b->old[at - 1].time > m.time; at--) b->old[at] = b->old[at - 1];
        b->old[at] = m;
        b->nold += !isinf(m.time);
    }
    b->nyoung = 0;
}

// Roulette on 1 / time.
static const Cand *parent(Breed *b) {
    double total = 0;
    for (int i = 0; i < b->nold; i++) total += 1 / b->old[i].time;
    double at = random_unit(&b->q->random) * total;
    for (int i = 0; i < b->nold; i++)
        if ((at -= 1 / b->old[i].time) < 0) return b->old[i].cand;
    return b->old[0].cand;
}

static bool breed(Breed *b, Cand *c) {
    Search *q = b->q;
    const Cand *p[3] = {parent(b), parent(b), parent(b)};
    bool cross = random_unit(&q->random) < q->o.crossover;
    for (int v = 0; v < q->s->ndecisions; v++) b->anew[v] = random_unit(&q->random) < q->o.mutation;
    space_copy(q->s, c, q->root);
    return cross ? search_cross(q, c, p, b->anew) : search_imitate(q, c, p[0], b->anew);
}

static void generation(Breed *b, Cand *c) {
    Search *q = b->q;
    for (int i = 0; i < q->o.elites && i < b->nold; i++) add(b, b->old[i].cand);
    for (int tries = 0; b->nyoung < q->o.population && tries < 4 * q->o.population; tries++) {
        if (search_over(q)) return;
        if (breed(b, c)) add(b, c);
    }
}

static Member *members(Search *q) {
    Member *m = arena_new_n(q->arena, Member, q->o.population);
    for (int i = 0; i < q->o.population; i++) m[i].cand = search_cand(q);
    return m;
}

void search_genetic(Search *q) {
    Breed b = {.q = q, .batch = batch_new(q), .old = members(q), .young = members(q)};
    Cand *c = search_cand(q);
    b.anew = arena_new_n(q->arena, bool, q->s->ndecisions);
    for (int i = 0; i < q->state.ntop && i < q->o.population; i++) add(&b, q->state.top[i].cand);
    for (int g = 0; !search_over(q) && (q->o.generations <= 0 || g < q->o.generations); g++) {
        if (b.nold >= 3) {
            generation(&b, c);
        } else {
            if (g > 0 && q->state.ntop) add(&b, q->state.top[0].cand);
            fill_random(&b, c);
        }
        grow_up(&b);
    }
}
