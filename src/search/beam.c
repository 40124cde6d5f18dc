// greedy and beam: decision by decision, judging values by measuring completions.
//
// A node is a partial candidate with its fastest known completion. Every value of the next decision
// of every node is a child. A child is judged by completions: one that imitates the best completion
// of its node (free if the value agrees with that completion), and a random one; with a lookahead
// of two, one for each value of the following decision. The `width` best children are the next
// nodes; greedy keeps one. After the descent, the rest of the budget goes to further descents that
// start with the best so far.
#include "search/strategy.h"

typedef struct BeamNode {
    Cand *at, *like; // `like`: its best completion
    double time;     // of that; INFINITY: none
} BeamNode;

typedef struct Beam {
    Search *q;
    Batch *batch;
    VEC(BeamNode) node, child; // memory is reused: the first `nnodes` and `nchildren` are valid
    int nnodes, nchildren, width;
    Cand *c, *ahead;
} Beam;

enum { AHEAD = 8 }; // values of the second decision that are tried

static BeamNode *slot(Beam *b, bool child, int n) {
    if (n == (child ? b->child.n : b->node.n)) {
        BeamNode made = {search_cand(b->q), search_cand(b->q), INFINITY};
        if (child)
            vec_push(b->q->arena, &b->child, made);
        else
            vec_push(b->q->arena, &b->node, made);
    }
    return child ? &b->child.at[n] : &b->node.at[n];
}

static void note(Beam *b, int child, const Cand *full, const Trial *t) {
    BeamNode *n = &b->child.at[child];
    if (!(trial_time(t) < n->time)) return;
    n->time = trial_time(t);
    space_copy(b->q->s, n->like, full);
}

static void ask(Beam *b) {
    batch_measure(b->q, b->batch);
    for (int i = 0; i < b->batch->n; i++)
        note(b, b->batch->tag[i], b->batch->cand[i], &b->batch->trial[i]);
    b->batch->n = 0;
}

// Uses the complete candidate b->c to judge a child.
static void witness(Beam *b, int child) {
    const Trial *known = search_known(b->q, b->c);
    if (known) {
        note(b, child, b->c, known);
        b->q->stale++;
        return;
    }
    batch_offer(b->q, b->batch, b->c, child);
    if (batch_full(b->q, b->batch)) ask(b);
}

// Completes `from` as `like` does, or at random.
static void try_completion(Beam *b, int child, const Cand *from, const Cand *like) {
    space_copy(b->q->s, b->c, from);
    bool lives =
        like ? search_imitate(b->q, b->c, like, NULL) : search_rollout(b->q, b->c, ROLLOUT_MOST);
    if (lives) witness(b, child);
}

static void look_ahead(Beam *b, int child, const Cand *from, const Cand *like) {
    Search *q = b->q;
    int at = 0, var = search_open(q, from, &at);
    uint64_t left = var < 0 ? 0 : space_domain(q->s, from, var);
    for (int n = 0; left && n < AHEAD && !search_over(q); n++) {
        uint64_t bit = random_bit(&q->random, left);
        left &= ~bit;
        space_copy(q->s, b->ahead, from);
        if (space_keep(q->w, b->ahead, var, bit)) try_completion(b, child, b->ahead, like);
    }
}

static void judge(Beam *b, int child, const BeamNode *parent) {
    const Cand *like = isinf(parent->time) ? NULL : parent->like;
    const Cand *from = b->child.at[child].at;
    if (like) try_completion(b, child, from, like);
    if (b->q->o.lookahead > 1)
        look_ahead(b, child, from, like);
    else
        try_completion(b, child, from, NULL);
}

// Every value of the node's next decision; a full node is returned unchanged.
static void expand(Beam *b, const BeamNode *n) {
    Search *q = b->q;
    int at = 0, var = search_open(q, n->at, &at);
    uint64_t left = var < 0 ? 1 : space_domain(q->s, n->at, var);
    for (; left && !search_over(q); left &= left - 1) {
        BeamNode *child = slot(b, true, b->nchildren);
        space_copy(q->s, child->at, n->at);
        child->time = INFINITY;
        if (var >= 0 && !space_keep(q->w, child->at, var, left & -left)) continue;
        if (var >= 0 && search_hopeless(q, child->at)) continue;
        b->nchildren++;
        if (var < 0 && !isinf(n->time)) {
            space_copy(q->s, child->like, n->like);
            child->time = n->time;
        } else {
            judge(b, b->nchildren - 1, n);
        }
    }
}

// The fastest children become the nodes.
static void select_best(Beam *b) {
    b->nnodes = 0;
    for (; b->nnodes < b->width && b->nnodes < b->nchildren; b->nnodes++) {
        int best = b->nnodes;
        for (int i = best + 1; i < b->nchildren; i++)
            if (b->child.at[i].time < b->child.at[best].time) best = i;
        BeamNode *to = slot(b, false, b->nnodes), kept = *to;
        *to = b->child.at[best];
        b->child.at[best] = b->child.at[b->nnodes];
        b->child.at[b->nnodes] = kept;
    }
}

static bool all_full(const Beam *b) {
    for (int i = 0; i < b->nnodes; i++)
        if (!space_full(b->q->s, b->node.at[i].at)) return false;
    return true;
}

static void descend(Beam *b) {
    Search *q = b->q;
    BeamNode *root = slot(b, false, 0);
    space_copy(q->s, root->at, q->root);
    root->time = search_best(&q->state);
    if (q->state.ntop) space_copy(q->s, root->like, q->state.top[0].cand);
    b->nnodes = 1;
    do {
        b->nchildren = 0;
        for (int i = 0; i < b->nnodes; i++) expand(b, &b->node.at[i]);
        ask(b);
        select_best(b);
    } while (b->nnodes > 0 && !search_over(q) && !all_full(b));
    q->stale++; // ends passes that find nothing
}

static void search_beams(Search *q, int width) {
    Beam b = {.q = q, .batch = batch_new(q), .width = width};
    b.c = search_cand(q);
    b.ahead = search_cand(q);
    while (!search_over(q)) descend(&b);
}

void search_greedy(Search *q) { search_beams(q, 1); }
void search_beam(Search *q) { search_beams(q, q->o.width); }
