// The common part of all strategies: budgets, the record of measurements, drawing candidates.
#include "search/search.h"

#include "base/bug.h"
#include "search/model.h"
#include "search/strategy.h"

const char *const trial_state_name[TRIAL_STATES] = {"timed",   "slow", "declined", "wrong",
                                                    "crashed", "hung", "cancelled"};
const char *const search_strategy_name[SEARCH_STRATEGIES + 1] = {
    "auto", "random", "exhaustive", "greedy", "beam", "genetic", "mcts", "sweep", "poly"};
const char *const search_order_name[SEARCH_ORDERS] = {"given", "reversed", "impact"};

static int by_name(const char *const *names, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}
int search_strategy_by_name(const char *name) {
    return by_name(search_strategy_name, SEARCH_STRATEGIES, name);
}
int search_order_by_name(const char *name) {
    return by_name(search_order_name, SEARCH_ORDERS, name);
}

// STALE_LIMIT: consecutive duplicate proposals after which the space counts as exhausted.
enum { STALE_LIMIT = 3000, TRIES = 32, ROLLOUTS = 4 };

// --- Budgets -------------------------------------------------------------------------------------

double search_elapsed(const Search *q) { return q->host->now(q->host->user) - q->began; }

static void end(Search *q, SearchEnd why) {
    if (q->state.end == SEARCH_RUNNING) q->state.end = why;
}

bool search_over(Search *q) {
    const SearchOptions *o = &q->o;
    if (q->state.end != SEARCH_RUNNING) return true;
    if (q->host->cancelled && q->host->cancelled(q->host->user)) end(q, SEARCH_CANCELLED);
    if (o->trials > 0 && q->state.trials >= o->trials) end(q, SEARCH_TRIALS);
    if (o->gap > 0 && q->state.gap <= o->gap) end(q, SEARCH_GAP);
    if (o->seconds > 0 && search_elapsed(q) >= o->seconds) end(q, SEARCH_SECONDS);
    if (q->stale >= STALE_LIMIT) end(q, SEARCH_DONE);
    return q->state.end != SEARCH_RUNNING;
}

int batch_room(const Search *q) {
    int64_t n = q->o.batch, left_trials = q->o.trials - q->state.trials - q->begun;
    if (q->o.trials > 0 && left_trials <= 0) return 0; // the batch in measurement is the last
    if (q->o.trials > 0 && left_trials < n) n = left_trials;
    if (q->o.seconds > 0 && q->state.trials > 0) {
        double elapsed = search_elapsed(q), each = elapsed / (double)q->state.trials,
               left = q->o.seconds - elapsed;
        if (each * (double)n > left / 8) n = (int64_t)(left / 8 / each);
        if (n > q->state.trials) n = q->state.trials; // the first few are a poor estimate
    }
    return n > 1 ? (int)n : 1;
}

// --- Bounds --------------------------------------------------------------------------------------

static double bound_of(const Search *q, const Cand *c) {
    double b = q->host->bound ? q->host->bound(q->host->user, c) : 0;
    return b > 0 ? b : 0; // neither NaN nor negative
}

double search_bound(Search *q, const Cand *c) { return q->o.blind ? 0 : bound_of(q, c); }

// The best may have been measured too fast by chance, so the upper end of its interval is used.
bool search_hopeless(Search *q, const Cand *c) {
    if (q->o.blind || !q->host->bound || !q->state.ntop) return false;
    if (bound_of(q, c) < fmax(search_best(&q->state), q->state.top[0].trial.high)) return false;
    q->state.cut++;
    return true;
}

double search_aim(const Search *q) { return fmin(search_best(&q->state), q->aim); }

// The host has withdrawn its bound because a candidate was faster: proofs and pruning based on it
// become invalid.
static void see_bound(Search *q) {
    bool lost = q->root_bound > 0 && bound_of(q, q->root) <= 0;
    if (lost) q->state.refuted = true, q->root_bound = q->state.bound = 0;
}

// Pruning may prove a bound above the best; the best is then the bound.
void search_raise_bound(Search *q, double bound) {
    if (q->state.refuted) bound = q->state.bound = 0;
    if (bound > q->state.bound) q->state.bound = bound;
    if (q->state.bound > search_best(&q->state)) q->state.bound = search_best(&q->state);
    q->state.gap = q->state.ntop && q->state.bound > 0 ? search_best(&q->state) / q->state.bound - 1
                                                       : (double)INFINITY;
}

// --- The record ----------------------------------------------------------------------------------

typedef struct KnownCand {
    uint64_t hash;
    Trial trial;
} KnownCand;

static bool same_hash(const void *key, const void *item) {
    return *(const uint64_t *)key == ((const KnownCand *)item)->hash;
}

static KnownCand **find_known(Search *q, const Cand *c, uint64_t *hash) {
    *hash = space_hash(q->s, c);
    return (KnownCand **)(void *)set_find(q->arena, &q->seen, *hash, hash, same_hash);
}

const Trial *search_known(Search *q, const Cand *c) {
    uint64_t hash;
    KnownCand *k = *find_known(q, c, &hash);
    return k ? &k->trial : NULL;
}

static void enter_top(Search *q, const Cand *c, const Trial *t) {
    SearchState *s = &q->state;
    int at = s->ntop;
    while (at > 0 && t->seconds < s->top[at - 1].trial.seconds) at--;
    if (at == SEARCH_TOP) return;
    // Reuses the memory of the dropped candidate.
    Cand *memory =
        s->ntop == SEARCH_TOP ? (Cand *)(uintptr_t)s->top[SEARCH_TOP - 1].cand : search_cand(q);
    if (s->ntop < SEARCH_TOP) s->ntop++;
    memmove(&s->top[at + 1], &s->top[at], (size_t)(s->ntop - 1 - at) * sizeof s->top[0]);
    space_copy(q->s, memory, c);
    s->top[at] = (SearchFound){memory, *t, s->trials};
    if (at > 0) return;
    SearchPoint p = {s->trials, search_elapsed(q), t->seconds};
    vec_push(q->arena, &q->curve, p);
    s->curve = q->curve.at;
    s->npoints = q->curve.n;
}

// An invalid time counts as a failure.
static Trial sane(Trial t) {
    if (t.state <= TRIAL_SLOW && !(t.seconds > 0 && isfinite(t.seconds))) t.state = TRIAL_DECLINED;
    return t;
}

static void record(Search *q, const Cand *c, const Trial *t) {
    uint64_t hash;
    (*find_known(q, c, &hash))->trial = *t;
    q->state.count[t->state]++;
    if (t->state == TRIAL_CANCELLED) return;
    q->state.trials++;
    q->stale = 0;
    if (t->state == TRIAL_TIMED) enter_top(q, c, t);
}

// --- Batches -------------------------------------------------------------------------------------

Batch *batch_new(Search *q) {
    Batch *b = arena_new(q->arena, Batch);
    for (int i = 0; i < q->o.batch; i++) b->cand[i] = search_cand(q);
    return b;
}

bool batch_offer(Search *q, Batch *b, const Cand *c, int tag) {
    uint64_t hash;
    KnownCand **slot = find_known(q, c, &hash);
    require(b->n < q->o.batch);
    if (q->o.trials > 0 && q->state.trials + q->begun + b->n >= q->o.trials) return false;
    if (*slot) {
        q->state.duplicates++;
        q->stale++;
        return false;
    }
    if (search_hopeless(q, c)) {
        q->stale++;
        return false;
    }
    *slot = arena_new(q->arena, KnownCand);
    **slot = (KnownCand){hash, {.state = TRIAL_CANCELLED}};
    q->seen.n++;
    space_copy(q->s, b->cand[b->n], c);
    b->trial[b->n] = (Trial){.state = TRIAL_CANCELLED};
    b->tag[b->n++] = tag;
    return true;
}

void batch_begin(Search *q, Batch *b) {
    const SearchHost *h = q->host;
    const Cand *const *cands = (const Cand *const *)b->cand;
    if (b->n == 0) return;
    double start = h->now(h->user);
    if (h->begin)
        h->begin(h->user, cands, b->n, search_best(&q->state));
    else
        h->measure(h->user, cands, b->n, search_best(&q->state), b->trial);
    q->measuring += h->now(h->user) - start;
    q->begun = b->n;
}

void batch_end(Search *q, Batch *b) {
    const SearchHost *h = q->host;
    if (b->n == 0) return;
    double start = h->now(h->user);
    if (h->begin) h->end(h->user, b->trial);
    q->measuring += h->now(h->user) - start;
    q->begun = 0;
    for (int i = 0; i < b->n; i++) {
        b->trial[i] = sane(b->trial[i]);
        record(q, b->cand[i], &b->trial[i]);
    }
    see_bound(q);
    search_raise_bound(q, q->root_bound);
    q->state.seconds = search_elapsed(q);
    if (h->progress) h->progress(h->user, &q->state);
}

void batch_measure(Search *q, Batch *b) {
    batch_begin(q, b);
    batch_end(q, b);
}

// --- Drawing -------------------------------------------------------------------------------------

static bool is_open(const Space *s, const Cand *c, int var) {
    const SpaceVar *x = &s->var[var];
    uint64_t dom = space_domain(s, c, var);
    return (dom & (dom - 1)) && x->present && (x->a < 0 || space_exists(s, c, x->a)) &&
           (x->b < 0 || space_exists(s, c, x->b));
}

bool search_varies(const Search *q, const Cand *c, int var) {
    const SpaceVar *x = &q->s->var[var];
    uint64_t dom = space_domain(q->s, q->root, var);
    return (dom & (dom - 1)) && x->present && (x->a < 0 || space_exists(q->s, c, x->a)) &&
           (x->b < 0 || space_exists(q->s, c, x->b));
}

static int open_from(const Search *q, const Cand *c, int at) {
    if (!q->order) {
        int var = space_open(q->s, c, at);
        return var < 0 ? q->s->ndecisions : var;
    }
    while (at < q->s->ndecisions && !is_open(q->s, c, q->order[at])) at++;
    return at;
}

int search_open(const Search *q, const Cand *c, int *at) {
    int n = q->s->ndecisions, found = open_from(q, c, *at);
    if (found == n && *at > 0) found = open_from(q, c, 0);
    *at = found;
    return found == n ? -1 : q->order ? q->order[found] : found;
}

// Takes one of `wanted` if any of them is possible, otherwise one of the others.
static bool take(Search *q, Cand *c, int var, uint64_t wanted) {
    uint64_t left = space_domain(q->s, c, var);
    wanted &= left;
    while (left) {
        uint64_t bit = random_bit(&q->random, wanted ? wanted : left);
        space_copy(q->s, q->spare, c);
        if (space_keep(q->w, q->spare, var, bit)) {
            space_copy(q->s, c, q->spare);
            return true;
        }
        left &= ~bit;
        wanted &= ~bit;
    }
    return false;
}

// Makes each open decision as a random one of `like` does.
static bool follow(Search *q, Cand *c, const Cand *const *like, int n, const bool *skip) {
    q->drawn = 0;
    for (int at = 0, var; (var = search_open(q, c, &at)) >= 0;) {
        uint64_t wanted = 0;
        if (n > 0 && !(skip && skip[var]))
            wanted = space_domain(q->s, like[n > 1 ? random_below(&q->random, n) : 0], var);
        q->drawn += wanted == 0;
        if (take(q, c, var, wanted)) continue;
        q->stale++;
        return false;
    }
    return true;
}

bool search_imitate(Search *q, Cand *c, const Cand *like, const bool *skip) {
    return follow(q, c, &like, 1, skip);
}

bool search_cross(Search *q, Cand *c, const Cand *const parent[3], const bool *skip) {
    return follow(q, c, parent, 3, skip);
}

// Repeats random descents from the same candidate until one succeeds.
bool search_complete(Search *q, Cand *c) {
    space_copy(q->s, q->spare2, c);
    for (int i = 0; i < TRIES; i++) {
        if (follow(q, c, NULL, 0, NULL)) return true;
        space_copy(q->s, c, q->spare2);
    }
    return false;
}

double search_favour(const Search *q, int var, int bit) {
    static const double sharpness = 2;
    return q->model ? exp(-sharpness * model_value(q->model, var, bit)) : 1;
}

// Takes one of at most `most` values of `var` below the aim, with probability p ~ max(aim - bound,
// 0), or 1 / bound as long as there is no aim. False: none is below the aim.
static bool take_weighted(Search *q, Cand *c, int var, int most) {
    double aim = search_aim(q), total = 0;
    uint64_t left = space_domain(q->s, c, var), chosen = 0, bit = 0;
    for (int live = 0; left && live < most;) {
        bit = random_bit(&q->random, left);
        left &= ~bit;
        space_copy(q->s, q->spare, c);
        if (!space_keep(q->w, q->spare, var, bit)) continue;
        double b = search_bound(q, q->spare);
        double weight = isinf(aim) ? 1 / fmax(b, 1e-12) : fmax(aim - b, 0);
        weight *= search_favour(q, var, __builtin_ctzll(bit));
        if (b >= search_best(&q->state)) q->state.cut++;
        live += weight > 0;
        total += weight;
        if (weight > 0 && random_unit(&q->random) * total < weight) chosen = bit;
    }
    if (!chosen) return false;
    if (chosen != bit) return space_keep(q->w, c, var, chosen);
    space_copy(q->s, c, q->spare);
    return true;
}

bool search_rollout(Search *q, Cand *c, int most) {
    if (q->o.blind || !q->host->bound) return search_complete(q, c);
    space_copy(q->s, q->spare2, c);
    for (int i = 0; i < ROLLOUTS; i++) {
        int at = 0, var;
        while ((var = search_open(q, c, &at)) >= 0)
            if (search_over(q) || !take_weighted(q, c, var, most)) break;
        if (var < 0) return true;
        q->stale++;
        space_copy(q->s, c, q->spare2);
    }
    return false;
}

// --- The order of decisions ----------------------------------------------------------------------

// The spread of the bound over the values of a variable.
static double impact(Search *q, int var) {
    double low = INFINITY, high = 0;
    if (!is_open(q->s, q->root, var)) return 0;
    for (uint64_t left = space_domain(q->s, q->root, var); left; left &= left - 1) {
        space_copy(q->s, q->spare, q->root);
        if (!space_keep(q->w, q->spare, var, left & -left)) continue;
        double b = bound_of(q, q->spare);
        low = fmin(low, b);
        high = fmax(high, b);
    }
    return high > low ? high - low : 0;
}

// The position of a variable's choice among those that come first, or after all of them.
static int place_of(const Search *q, int var) {
    int i = 0;
    while (i < q->o.nfirst && q->o.first[i] != q->s->var[var].choice) i++;
    return i;
}

// The decisions of the named choices in their order; then the rest, in the order of the
// description.
static void choices_first(Search *q, int *order) {
    int n = 0;
    if (q->o.nfirst == 0) return;
    for (int i = 0; i <= q->o.nfirst; i++)
        for (int v = 0; v < q->s->ndecisions; v++)
            if (place_of(q, v) == i) order[n++] = v;
    q->order = order;
}

static void choose_order(Search *q) {
    int n = q->s->ndecisions, *order = arena_new_n(q->arena, int, n);
    double *weight = arena_new_n(q->arena, double, n);
    if (q->o.order == SEARCH_ORDER_GIVEN) {
        choices_first(q, order);
        return;
    }
    for (int i = 0; i < n; i++) {
        int var = q->o.order == SEARCH_ORDER_REVERSED ? n - 1 - i : i, at = i;
        double w = q->o.order == SEARCH_ORDER_IMPACT ? impact(q, var) : 0;
        for (; at > 0 && weight[at - 1] < w; at--) {
            weight[at] = weight[at - 1];
            order[at] = order[at - 1];
        }
        weight[at] = w;
        order[at] = var;
    }
    q->order = order;
}

// --- Beginning and ending ------------------------------------------------------------------------

static void fill(SearchOptions *o) {
    if (o->batch <= 0) o->batch = o->strategy == SEARCH_MCTS ? 4 : 16; // a tree learns by each
    if (o->batch > SEARCH_MAX_BATCH) o->batch = SEARCH_MAX_BATCH;
    if (o->lookahead <= 0) o->lookahead = 1;
    if (o->width <= 0) o->width = 8;
    if (o->population <= 0) {
        o->population = 100;
        // A small budget still sees some ten generations.
        if (o->trials > 0 && o->trials < 1000) o->population = (int)(o->trials / 10);
    }
    if (o->population < 4) o->population = 4;
    if (o->elites <= 0) o->elites = o->population / 10 > 0 ? o->population / 10 : 1;
    if (o->elites > o->population / 2) o->elites = o->population / 2;
    if (o->crossover <= 0) o->crossover = 0.8;
    if (o->mutation <= 0) o->mutation = 0.07;
}

// Whether it is one of the implementations of the root.
static bool belongs(const Search *q, const Cand *c) {
    if (space_dead(q->s, c) || !space_full(q->s, c)) return false;
    for (int v = 0; v < q->s->ndecisions; v++)
        if (space_domain(q->s, c, v) & ~space_domain(q->s, q->root, v)) return false;
    return true;
}

static void try_starts(Search *q) {
    Batch *b = batch_new(q);
    for (int i = 0; i < q->o.nstarts && !q->o.scratch && !search_over(q); i++) {
        if (belongs(q, q->o.start[i])) batch_offer(q, b, q->o.start[i], 0);
        if (b->n > 0 && (i + 1 == q->o.nstarts || batch_full(q, b))) {
            batch_measure(q, b);
            b->n = 0;
        }
    }
}

static Strategy *const strategy[SEARCH_STRATEGIES] = {
    [SEARCH_AUTO] = search_auto,
    [SEARCH_RANDOM] = search_random,
    [SEARCH_EXHAUSTIVE] = search_exhaustive,
    [SEARCH_GREEDY] = search_greedy,
    [SEARCH_BEAM] = search_beam,
    [SEARCH_GENETIC] = search_genetic,
    [SEARCH_MCTS] = search_mcts,
    [SEARCH_SWEEP] = search_sweep,
    [SEARCH_POLY] = search_genetic, // from other starting points
};

SearchResult search_run(Arena *arena, const SearchHost *host, const SearchOptions *options) {
    Search *q = arena_new(arena, Search);
    *q = (Search){.arena = arena, .host = host, .o = *options, .s = host->space};
    fill(&q->o);
    q->w = space_work(arena, q->s);
    q->root = q->o.root ? q->o.root : q->s->root;
    q->random = q->o.seed;
    q->spare = search_cand(q);
    q->spare2 = search_cand(q);
    q->began = host->now(host->user);
    q->state.gap = INFINITY;
    if (space_dead(q->s, q->root)) {
        q->state.end = SEARCH_EMPTY;
        return q->state;
    }
    q->root_bound = bound_of(q, q->root);
    q->aim = INFINITY;
    search_raise_bound(q, q->root_bound);
    choose_order(q);
    try_starts(q);
    if (!search_over(q)) strategy[q->o.strategy](q);
    end(q, q->state.trials ? SEARCH_DONE : SEARCH_EMPTY);
    q->state.proved &= !q->state.refuted;
    if (q->state.proved) search_raise_bound(q, search_best(&q->state));
    q->state.seconds = search_elapsed(q);
    return q->state;
}
