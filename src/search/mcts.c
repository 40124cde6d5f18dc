// mcts: Telamon's Monte-Carlo tree search. A node of the tree is a partial candidate, its children
// are the values of its next decision.
//
// One iteration walks down from the root. If a node has unvisited children, one of them is taken
// and completed by a rollout, which is measured. If all have been visited, the
// child is chosen by threshold ascent (TAG): T is the k-th best time seen below any child of the
// node, s the number of times at most T below this child, n its visits, N those of all K children,
//
//     score = (s + a + sqrt(a (2 s + a))) / n      a = ln(2 N K / delta)
//
// Branch and bound: children whose bound is no better than the best time are dead, and so is a node
// whose children are all dead; if the root is dead, the best is proved optimal. Bounds of nodes
// rise as their children are visited: the bound of the root is the lower bound of the Space.
//
// The best time is high at first and hardly distinguishes two children. So there is an aim, a
// little above the bound of the root: children with a higher bound are deferred, rollouts take
// values with probability p ~ max(aim - bound, 0), and the aim is raised whenever a batch brings no
// improvement or walks find nothing below it. A node opens its children gradually: visiting all of
// them before any is visited twice would take most of the trials.
//
// The model learns the cost that the bound ignores: the logarithm of time divided by bound as a sum
// over decisions (model.h). Values that cost more than their bound are taken less often, and of
// several rollouts the one with the least corrected bound is measured.
//
// Nodes hold no candidates: a walk repeats the decisions that lead to them. A batch consists of
// several walks; visits are counted on the way down, so that walks diverge, and times on the way
// back.
#include "search/model.h"
#include "search/strategy.h"

enum { TAG_K = 10 };
static const double TAG_DELTA = 1;
enum { RIVALS = 16, RIVAL_MOST = 3 }; // rollouts per walk, and values that each compares
enum { FUTILE = 2 }; // initial rollouts without a new candidate, which end the walk
static const double THINKING =
    0.005;           // fraction of the time budget that rollouts of a walk may take
enum { SWEEPS = 2 }; // of the model after each batch
enum { TRIES = 8 };  // failed walks before the aim is raised
static const double AIM = 1.05, HIGHER = 1.1; // relative to the bound; factor when nothing improves

typedef struct SearchTree SearchTree;

typedef struct MctsChild {
    SearchTree *below; // NULL: visited at most once
    double bound;
    double time[TAG_K]; // the best, ascending
    int ntimes, visits;
    int8_t bit;
    bool dead;
} MctsChild;

struct SearchTree {
    int var; // -1: a full candidate
    int nchildren;
    MctsChild *child;
};

typedef struct MctsWalk {
    VEC(MctsChild *) path;
} MctsWalk;

typedef struct Mcts {
    Search *q;
    Batch *batch;
    MctsChild root;
    MctsWalk walk[SEARCH_MAX_BATCH];
    Cand *c, *from, *rival;
    Model *model; // NULL: there is no bound
} Mcts;

// --- The tree ------------------------------------------------------------------------------------

static SearchTree *expand(Mcts *m, const Cand *c) {
    Search *q = m->q;
    SearchTree *t = arena_new(q->arena, SearchTree);
    int at = 0;
    t->var = search_open(q, c, &at);
    if (t->var < 0) return t;
    uint64_t left = space_domain(q->s, c, t->var);
    t->child = arena_new_n(q->arena, MctsChild, __builtin_popcountll(left));
    for (; left; left &= left - 1) {
        space_copy(q->s, q->spare, c);
        if (!space_keep(q->w, q->spare, t->var, left & -left)) continue;
        MctsChild *k = &t->child[t->nchildren++];
        k->bit = (int8_t)__builtin_ctzll(left);
        k->bound = search_bound(q, q->spare);
    }
    return t;
}

static bool is_dead(Mcts *m, MctsChild *k) {
    if (!k->dead && k->bound > 0 && k->bound >= search_best(&m->q->state)) {
        k->dead = true;
        m->q->state.cut++;
    }
    return k->dead;
}

// Updates a child from its subtree: it is dead if the whole subtree is, and its bound is the least
// bound of its children.
static void settle(Mcts *m, MctsChild *k) {
    double bound = INFINITY;
    const SearchTree *t = k->below;
    if (!t || t->var < 0) return;
    for (int i = 0; i < t->nchildren; i++)
        if (!is_dead(m, &t->child[i])) bound = fmin(bound, t->child[i].bound);
    if (isinf(bound))
        k->dead = true;
    else
        k->bound = fmax(k->bound, bound);
}

// --- Choosing a child ----------------------------------------------------------------------------

// The k-th best time below any of them.
static double threshold(const SearchTree *t) {
    double best[TAG_K];
    int n = 0;
    for (int i = 0; i < t->nchildren; i++)
        for (int j = 0; j < t->child[i].ntimes; j++) {
            double x = t->child[i].time[j];
            int at = n < TAG_K ? n++ : TAG_K;
            for (; at > 0 && best[at - 1] > x; at--)
                if (at < TAG_K) best[at] = best[at - 1];
            if (at < TAG_K) best[at] = x;
        }
    return n ? best[n - 1] : (double)INFINITY;
}

double mcts_tag_score(int s, int n, int total, int children) {
    double a = fmax(0, log(2.0 * total * children / TAG_DELTA));
    return n ? (s + a + sqrt(a * (2 * s + a))) / n : (double)INFINITY;
}

// Deferred: its bound is above the aim.
static bool is_closed(const Mcts *m, const MctsChild *k) {
    return k->dead || (k->bound > 0 && k->bound >= search_aim(m->q));
}

static MctsChild *by_tag(Mcts *m, SearchTree *t) {
    double limit = threshold(t), best = -1;
    int total = 0, live = 0;
    MctsChild *chosen = NULL;
    for (int i = 0; i < t->nchildren; i++) total += t->child[i].visits;
    for (int i = 0; i < t->nchildren; i++)
        live += !is_dead(m, &t->child[i]) && t->child[i].visits > 0;
    for (int i = 0; i < t->nchildren; i++) {
        MctsChild *k = &t->child[i];
        int s = 0;
        if (is_closed(m, k) || !k->visits) continue;
        while (s < k->ntimes && k->time[s] <= limit) s++;
        double score = mcts_tag_score(s, k->visits, total, live);
        if (score <= best) continue;
        best = score;
        chosen = k;
    }
    return chosen;
}

// A node with a bound opens more children the more it is visited, so that those with the least
// bounds need not wait for the others.
static bool is_wide_enough(const Mcts *m, const SearchTree *t) {
    int open = 0, visits = 0;
    if (m->q->o.blind || !m->q->host->bound) return false;
    for (int i = 0; i < t->nchildren; i++) {
        visits += t->child[i].visits;
        open += t->child[i].visits > 0 && !is_closed(m, &t->child[i]);
    }
    return open > 0 && open * open > visits;
}

// An unvisited child, with probability p ~ max(aim - bound, 0); NULL: all are visited or closed.
static MctsChild *unvisited(Mcts *m, SearchTree *t) {
    double aim = search_aim(m->q), total = 0;
    MctsChild *chosen = NULL;
    for (int i = 0; i < t->nchildren; i++) {
        MctsChild *k = &t->child[i];
        if (k->visits || is_dead(m, k) || is_closed(m, k)) continue;
        double weight = k->bound <= 0 ? 1 : isinf(aim) ? 1 / k->bound : aim - k->bound;
        weight *= search_favour(m->q, t->var, k->bit);
        total += weight;
        if (random_unit(&m->q->random) * total < weight || !chosen) chosen = k;
    }
    return chosen;
}

static bool all_dead(const SearchTree *t) {
    for (int i = 0; i < t->nchildren; i++)
        if (!t->child[i].dead) return false;
    return true;
}

// --- Iterations ----------------------------------------------------------------------------------

// Completes m->c several times and keeps the predicted fastest, or in one of six cases any.
static bool roll_out(Mcts *m) {
    Search *q = m->q;
    double least = INFINITY;
    if (!m->model) return search_rollout(q, m->c, ROLLOUT_MOST);
    bool blindly = random_below(&q->random, 6) == 0;
    space_copy(q->s, m->from, m->c);
    double enough = search_elapsed(q) + (q->o.seconds > 0 ? THINKING * q->o.seconds : INFINITY);
    for (int i = 0; i < RIVALS; i++) {
        if (least < INFINITY ? blindly || search_elapsed(q) > enough : i >= FUTILE) break;
        space_copy(q->s, m->c, m->from);
        if (!search_rollout(q, m->c, RIVAL_MOST) || search_known(q, m->c)) continue;
        double guess = log(search_bound(q, m->c)) + model_guess(m->model, m->c);
        if (!(guess < least)) continue;
        least = guess;
        space_copy(q->s, m->rival, m->c);
    }
    space_copy(q->s, m->c, m->rival);
    return least < INFINITY;
}

// Walks to a candidate in m->c; false: no candidate (a node died, or a dead end).
static bool walk(Mcts *m, MctsWalk *w) {
    Search *q = m->q;
    MctsChild *at = &m->root;
    w->path.n = 0;
    space_copy(q->s, m->c, q->root);
    for (;;) {
        vec_push(q->arena, &w->path, at);
        if (at->visits++ == 0 && at != &m->root) return roll_out(m);
        if (!at->below) at->below = expand(m, m->c);
        SearchTree *t = at->below;
        if (t->var < 0) {
            at->dead = true; // its one implementation is about to be measured
            return true;
        }
        MctsChild *next = is_wide_enough(m, t) ? NULL : unvisited(m, t);
        if (!next) next = by_tag(m, t);
        if (!next) next = unvisited(m, t);
        if (!next) {
            at->dead = all_dead(t);
            return false;
        }
        space_keep(q->w, m->c, t->var, 1ull << next->bit);
        at = next;
    }
}

static void add_time(MctsChild *k, double time) {
    if (isinf(time)) return;
    int at = k->ntimes < TAG_K ? k->ntimes++ : TAG_K;
    for (; at > 0 && k->time[at - 1] > time; at--)
        if (at < TAG_K) k->time[at] = k->time[at - 1];
    if (at < TAG_K) k->time[at] = time;
}

static void back(Mcts *m, MctsWalk *w, double time) {
    for (int i = w->path.n - 1; i >= 0; i--) {
        add_time(w->path.at[i], time);
        settle(m, w->path.at[i]);
    }
}

static void learn(Mcts *m) {
    const Batch *b = m->batch;
    for (int i = 0; i < b->n; i++) {
        double time = trial_time(&b->trial[i]);
        back(m, &m->walk[i], time);
        if (m->model) model_add(m->model, b->cand[i], log(time / search_bound(m->q, b->cand[i])));
    }
    for (int i = 0; m->model && i < SWEEPS; i++) model_fit(m->model);
}

static void iterate(Mcts *m) {
    Search *q = m->q;
    double before = search_best(&q->state);
    int failed = 0;
    m->batch->n = 0;
    for (; !search_over(q) && !batch_full(q, m->batch) && !m->root.dead;) {
        MctsWalk *w = &m->walk[m->batch->n];
        const Trial *known = NULL;
        if (!walk(m, w)) {
            back(m, w, INFINITY);
            q->stale++;
            if (++failed >= TRIES) q->aim *= HIGHER, failed = 0;
        } else if ((known = search_known(q, m->c))) {
            back(m, w, trial_time(known));
            q->stale++;
        } else if (!batch_offer(q, m->batch, m->c, 0)) {
            back(m, w, INFINITY);
        }
    }
    batch_measure(q, m->batch);
    learn(m);
    if (search_best(&q->state) >= before) q->aim *= HIGHER;
    search_raise_bound(q, m->root.dead ? search_best(&q->state) : m->root.bound);
}

void search_mcts(Search *q) {
    Mcts m = {.q = q, .batch = batch_new(q), .c = search_cand(q)};
    m.root.bound = search_bound(q, q->root);
    if (m.root.bound > 0) {
        q->aim = AIM * m.root.bound;
        q->model = m.model = model_new(q);
        m.from = search_cand(q);
        m.rival = search_cand(q);
    }
    while (!search_over(q) && !m.root.dead) iterate(&m);
    q->model = NULL;
    q->state.proved = m.root.dead && !q->state.count[TRIAL_CANCELLED];
}
