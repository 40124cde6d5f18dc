// Strategies on a mocked host: every candidate has a made-up time, a clock that the measurements
// move, and a bound that is exact about what is decided.
#include "unit/check.h"

#include "base/map.h"
#include "search/strategy.h"
#include "space/cpu.h"
#include "support/genprog.h"

#include <math.h>

// --- The mock ------------------------------------------------------------------------------------

// The time of a candidate is the sum, over the variables that exist, of a weight that a hash gives
// to the value; what comes first in the description weighs most. Its bound takes the least weight
// that is left. `knot` adds what no bound sees.
typedef struct Mock {
    Lab lab;
    const Space *s;
    SearchHost host;
    SpaceWork *w;
    Cand *root;
    double clock, each, knot;
    int64_t asked, asked_twice, not_full, most, cancel_at, fail_share;
    uint64_t log;  // of the trials, in order
    double *table; // of weights: SPACE_MAX_VALUES a variable
    Set seen;
    int64_t progressed;
    double last_best;
    bool worse; // the best went up
    const Cand *const *begun;
    int nbegun;
    double begun_best;
    Cand *noted; // by noting_bound
} Mock;

// Not hash_mix: the landscape stays as it is.
static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 29);
}

static double weight(uint64_t seed, int var, int bit) {
    uint64_t h = mix(mix(seed + 1, (uint64_t)var), (uint64_t)bit);
    h = mix(h, h >> 7);
    return (double)(h >> 11) * 0x1p-53 * 64 / (8 + var);
}

static bool there(const Space *s, const Cand *c, int v) {
    const SpaceVar *x = &s->var[v];
    return x->present && (x->a < 0 || space_exists(s, c, x->a)) &&
           (x->b < 0 || space_exists(s, c, x->b));
}

static double mock_bound(void *user, const Cand *c) {
    Mock *m = user;
    double sum = 1;
    for (int v = 0; v < m->s->ndecisions; v++) {
        double least = INFINITY;
        if (!there(m->s, c, v)) continue;
        for (uint64_t left = space_domain(m->s, c, v); left; left &= left - 1)
            least = fmin(least, m->table[v * SPACE_MAX_VALUES + __builtin_ctzll(left)]);
        sum += least;
    }
    return sum * 1e-6;
}

static double mock_time(Mock *m, const Cand *c) {
    return mock_bound(m, c) + m->knot * 1e-6 * weight(space_hash(m->s, c), 0, 0);
}

static bool same_number(const void *key, const void *item) {
    return *(const uint64_t *)key == *(const uint64_t *)item;
}

static void see(Mock *m, const Cand *c) {
    uint64_t hash = space_hash(m->s, c);
    void **slot = set_find(&m->lab.arena, &m->seen, hash, &hash, same_number);
    m->log = hash_mix(m->log, hash);
    m->asked++;
    m->asked_twice += *slot != NULL;
    m->not_full += space_dead(m->s, c) || !space_full(m->s, c);
    for (int v = 0; v < m->s->ndecisions; v++)
        m->not_full += (space_domain(m->s, c, v) & ~space_domain(m->s, m->root, v)) != 0;
    if (*slot) return;
    *slot = arena_copy(&m->lab.arena, &hash, sizeof hash);
    m->seen.n++;
}

static void mock_measure(void *user, const Cand *const *batch, int n, double best, Trial *out) {
    Mock *m = user;
    (void)best;
    m->most = n > m->most ? n : m->most;
    for (int i = 0; i < n; i++) {
        see(m, batch[i]);
        m->clock += m->each;
        double t = mock_time(m, batch[i]);
        bool fails = m->fail_share && (int64_t)(space_hash(m->s, batch[i]) % 100) < m->fail_share;
        TrialState bad = (TrialState)(TRIAL_DECLINED + space_hash(m->s, batch[i]) / 100 % 4);
        out[i] = (Trial){fails ? bad : TRIAL_TIMED, t, t, t, .measured = t};
    }
}

// The same in two steps.
static void mock_start(void *user, const Cand *const *batch, int n, double best) {
    Mock *m = user;
    CHECK_INT_EQ(m->nbegun, 0);
    m->begun = batch;
    m->nbegun = n;
    m->begun_best = best;
}
static void mock_finish(void *user, Trial *out) {
    Mock *m = user;
    CHECK(m->nbegun > 0);
    mock_measure(m, m->begun, m->nbegun, m->begun_best, out);
    m->nbegun = 0;
}

static double mock_now(void *user) { return ((Mock *)user)->clock; }
static bool mock_cancelled(void *user) {
    Mock *m = user;
    return m->cancel_at && m->asked >= m->cancel_at;
}
static void mock_progress(void *user, const SearchState *s) {
    Mock *m = user;
    m->progressed++;
    m->worse |= s->ntop && search_best(s) > m->last_best;
    if (s->ntop) m->last_best = search_best(s);
}

static bool mock_of(Mock *m, const Program *p) {
    CpuOptions o = {.threads = 2};
    machine_describe(&o.machine, ISA_AVX2);
    CpuSpace *cs = p ? cpu_space(&m->lab.arena, p, &o, &m->lab.diags) : NULL;
    if (!CHECK(cs)) return false;
    m->s = cs->space;
    m->host = (SearchHost){.user = m,
                           .space = cs->space,
                           .measure = mock_measure,
                           .bound = mock_bound,
                           .now = mock_now,
                           .cancelled = mock_cancelled,
                           .progress = mock_progress};
    m->w = space_work(&m->lab.arena, m->s);
    m->root = space_cand(&m->lab.arena, m->s);
    space_copy(m->s, m->root, m->s->root);
    m->table = arena_new_n(&m->lab.arena, double, m->s->ndecisions *SPACE_MAX_VALUES);
    for (int i = 0; i < m->s->ndecisions * SPACE_MAX_VALUES; i++)
        m->table[i] = weight(0, i / SPACE_MAX_VALUES, i % SPACE_MAX_VALUES);
    m->each = 0.001;
    m->knot = 2;
    m->last_best = INFINITY;
    return true;
}

static const char matmul[] =
    "program matmul(M, N, K) { input A: f32[M, K] input B: f32[K, N] output C: f32[M, N]\n"
    "C: for m in 0:M, n in 0:N, k in 0:K  C[m, n] +=! A[m, k]*B[k, n] }";

static bool mock_begin(Mock *m) {
    *m = (Mock){0};
    lab_begin(&m->lab);
    return mock_of(m, lab_program(&m->lab, matmul, (int64_t[]){16, 16, 16}));
}

// Takes random decisions until few implementations are left.
static void mock_shrink(Mock *m, double most, uint64_t seed) {
    Cand *c = space_cand(&m->lab.arena, m->s);
    while (space_knuth(m->w, &m->lab.arena, m->root, 200, 1).mean > most) {
        int var = space_open(m->s, m->root, 0);
        space_copy(m->s, c, m->root);
        if (var < 0) return;
        if (space_keep(m->w, c, var, random_bit(&seed, space_domain(m->s, m->root, var))))
            space_copy(m->s, m->root, c);
    }
}

static SearchResult mock_run(Mock *m, SearchOptions o) {
    o.root = m->root;
    return search_run(&m->lab.arena, &m->host, &o);
}

static void mock_end(Mock *m) {
    CHECK_INT_EQ(m->asked_twice, 0);
    CHECK_INT_EQ(m->not_full, 0);
    CHECK(!m->worse);
    lab_end(&m->lab);
}

// --- What holds of every strategy ----------------------------------------------------------------

TEST(search_is_deterministic) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        uint64_t log[3];
        for (int i = 0; i < 3; i++) {
            Mock m;
            if (!mock_begin(&m)) return;
            m.knot = 20; // nothing is cut
            SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k,
                                                          .seed = i == 2 ? 8 : 7,
                                                          .trials = 300});
            CHECK_INT_EQ(r.trials, 300);
            CHECK_INT_EQ(r.end, SEARCH_TRIALS);
            CHECK_INT_EQ(m.asked, 300);
            log[i] = m.log;
            mock_end(&m);
        }
        CHECK(log[0] == log[1]);
        if (k != SEARCH_EXHAUSTIVE && !CHECK(log[0] != log[2]))
            printf("  %s\n", search_strategy_name[k]);
    }
}

TEST(search_keeps_the_best_first) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        SearchResult r =
            mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .trials = 400});
        CHECK_INT_EQ(r.ntop, SEARCH_TOP);
        for (int i = 0; i < r.ntop; i++) {
            CHECK_F64_EQ(r.top[i].trial.seconds, mock_time(&m, r.top[i].cand));
            CHECK(i == 0 || r.top[i - 1].trial.seconds <= r.top[i].trial.seconds);
            CHECK(r.top[i].number >= 1 && r.top[i].number <= r.trials);
        }
        CHECK(r.npoints > 0 && r.curve[r.npoints - 1].best == search_best(&r));
        for (int i = 1; i < r.npoints; i++)
            CHECK(r.curve[i].best < r.curve[i - 1].best &&
                  r.curve[i].trials > r.curve[i - 1].trials &&
                  r.curve[i].seconds >= r.curve[i - 1].seconds);
        CHECK(r.bound > 0 && r.bound <= search_best(&r));
        CHECK(fabs(r.gap - (search_best(&r) / r.bound - 1)) < 1e-12);
        CHECK(m.progressed > 0);
        mock_end(&m);
    }
}

TEST(search_stops_when_its_budget_is_used_up) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        SearchResult r =
            mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .seconds = 0.25});
        CHECK_INT_EQ(r.end, SEARCH_SECONDS);
        CHECK(m.asked >= 250 && m.asked < 260);
        CHECK(r.seconds >= 0.25);
        mock_end(&m);
        if (!mock_begin(&m)) return;
        m.each = 0.1; // slow ones are asked about one at a time
        r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .seconds = 0.35});
        CHECK(m.asked <= 16 + 1);
        mock_end(&m);
        if (!mock_begin(&m)) return;
        r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .gap = 4, .trials = 5000});
        CHECK_INT_EQ(r.end, SEARCH_GAP);
        CHECK(r.gap <= 4);
        mock_end(&m);
    }
}

TEST(search_can_be_cancelled) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        m.cancel_at = 40;
        SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .batch = 5});
        CHECK_INT_EQ(r.end, SEARCH_CANCELLED);
        CHECK(m.asked >= 40 && m.asked <= 45 && r.ntop > 0 && m.most <= 5);
        CHECK(!r.proved);
        mock_end(&m);
    }
}

// A host that measures while the strategy thinks: nothing is lost, asked twice or overdrawn.
TEST(search_thinks_ahead) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        uint64_t log[2];
        for (int i = 0; i < 3; i++) {
            Mock m;
            if (!mock_begin(&m)) return;
            m.host.begin = mock_start;
            m.host.end = mock_finish;
            m.knot = 20;
            m.cancel_at = i == 2 ? 40 : 0;
            SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k,
                                                          .batch = 7,
                                                          .trials = i == 2 ? 0 : 300});
            CHECK_INT_EQ(m.nbegun, 0);
            CHECK_INT_EQ(r.trials, m.asked);
            CHECK_INT_EQ(r.end, i == 2 ? SEARCH_CANCELLED : SEARCH_TRIALS);
            if (i < 2) CHECK_INT_EQ(m.asked, 300);
            if (i == 2) CHECK(m.asked >= 40 && m.asked <= 40 + 2 * 7);
            if (i < 2) log[i] = m.log;
            mock_end(&m);
        }
        CHECK(log[0] == log[1]);
    }
}

TEST(search_survives_failures) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++)
        for (int share = 50; share <= 100; share += 50) {
            Mock m;
            if (!mock_begin(&m)) return;
            m.fail_share = share;
            SearchResult r =
                mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .trials = 300});
            CHECK(r.trials == 300 || (share < 100 && r.end == SEARCH_DONE));
            CHECK((r.ntop == 0) == (share == 100));
            CHECK(share < 100 || (isinf(search_best(&r)) && isinf(r.gap)));
            int64_t sum = 0;
            for (int i = 0; i < TRIAL_STATES; i++) sum += r.count[i];
            CHECK_INT_EQ(sum, r.trials);
            CHECK(r.count[TRIAL_DECLINED] > 0 && r.count[TRIAL_WRONG] > 0 &&
                  r.count[TRIAL_CRASHED] > 0 && r.count[TRIAL_HUNG] > 0);
            mock_end(&m);
        }
}

TEST(search_ends_in_small_spaces) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        mock_shrink(&m, 30, 3);
        SearchResult all =
            mock_run(&m, (SearchOptions){.strategy = SEARCH_EXHAUSTIVE, .blind = true});
        m.seen = (Set){0};
        m.last_best = INFINITY;
        SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k});
        CHECK_INT_EQ(r.end, SEARCH_DONE);
        CHECK(r.trials <= all.trials);
        if (!CHECK_F64_EQ(search_best(&r), search_best(&all)))
            printf("  %s\n", search_strategy_name[k]);
        mock_end(&m);
    }
}

TEST(search_of_nothing_is_empty) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        space_keep(m.w, m.root, space_open(m.s, m.root, 0), 0);
        SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k});
        CHECK_INT_EQ(r.end, SEARCH_EMPTY);
        CHECK(r.trials == 0 && r.ntop == 0 && isinf(r.gap));
        mock_end(&m);
        if (!mock_begin(&m)) return; // and one implementation is found
        uint64_t seed = 1;
        CHECK(space_complete(m.w, m.root, &seed));
        r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k});
        CHECK_INT_EQ(r.end, SEARCH_DONE);
        CHECK(r.trials == 1 && r.ntop == 1);
        mock_end(&m);
    }
}

TEST(search_begins_with_what_it_is_given) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        Cand *good = space_cand(&m.lab.arena, m.s), *other = space_cand(&m.lab.arena, m.s);
        SearchResult best = mock_run(&m, (SearchOptions){.strategy = SEARCH_MCTS, .trials = 200});
        space_copy(m.s, good, best.top[0].cand);
        space_copy(m.s, other, m.s->root); // not full: left out
        m.seen = (Set){0};
        const Cand *start[] = {other, good, good};
        SearchResult r = mock_run(
            &m, (SearchOptions){
                    .strategy = (SearchStrategy)k, .trials = 60, .start = start, .nstarts = 3});
        CHECK(r.curve[0].trials == 1 && r.curve[0].best == search_best(&best));
        mock_end(&m);
    }
}

TEST(search_keeps_pinned_decisions) {
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        Mock m;
        if (!mock_begin(&m)) return;
        m.knot = 20;
        int var = space_open(m.s, m.root, 5);
        CHECK(
            space_keep(m.w, m.root, var, 1ull << __builtin_ctzll(space_domain(m.s, m.root, var))));
        SearchResult r =
            mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k, .trials = 100});
        CHECK_INT_EQ(r.trials, 100); // mock_end sees that all of them obey
        mock_end(&m);
    }
}

// --- Each of them --------------------------------------------------------------------------------

TEST(search_exhaustive_finds_the_optimum) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Mock m;
        if (!mock_begin(&m)) return;
        mock_shrink(&m, 2000, seed);
        m.knot = 0.5;
        SearchResult blind =
            mock_run(&m, (SearchOptions){.strategy = SEARCH_EXHAUSTIVE, .blind = true});
        CHECK(blind.proved && blind.end == SEARCH_DONE && blind.gap == 0);
        m.seen = (Set){0};
        m.last_best = INFINITY;
        SearchResult r = mock_run(&m, (SearchOptions){.strategy = SEARCH_EXHAUSTIVE});
        CHECK(r.proved && r.gap == 0);
        CHECK_F64_EQ(search_best(&r), search_best(&blind));
        CHECK(r.trials < blind.trials || blind.trials < 20);
        m.seen = (Set){0};
        m.last_best = INFINITY;
        SearchResult tree = mock_run(&m, (SearchOptions){.strategy = SEARCH_MCTS});
        CHECK(tree.proved && tree.gap == 0);
        CHECK_F64_EQ(search_best(&tree), search_best(&blind));
        mock_end(&m);
    }
}

// Trials until the best is within a tenth of the least time there can be.
static double trials_to(SearchStrategy strategy, bool blind, uint64_t seed, double gap) {
    Mock m;
    if (!mock_begin(&m)) return 0;
    m.knot = 0.2;
    SearchResult r = mock_run(
        &m, (SearchOptions){
                .strategy = strategy, .seed = seed, .trials = 4000, .gap = gap, .blind = blind});
    mock_end(&m);
    return (double)r.trials;
}

TEST(search_bound_saves_mcts_trials) {
    double with = 0, without = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        with += trials_to(SEARCH_MCTS, false, seed, 0.3);
        without += trials_to(SEARCH_MCTS, true, seed, 0.3);
    }
    CHECK(with * 3 <= without);
    printf("  with the bound %.0f trials, without %.0f\n", with / 5, without / 5);
}

// Where the bound rules out nearly everything, the little that it leaves is measured all the same.
TEST(search_measures_what_little_is_left) {
    double first = 0;
    for (uint64_t seed = 0; seed < 6; seed++) {
        Mock m;
        if (!mock_begin(&m)) return;
        m.knot = 0; // the bound of a full candidate is its time
        SearchResult r = mock_run(&m, (SearchOptions){.seed = seed});
        if (seed == 0) first = search_best(&r);
        CHECK(r.end == SEARCH_DONE && search_best(&r) == first);
        mock_end(&m);
    }
}

TEST(search_bounds_rise_as_the_tree_is_seen) {
    Mock m;
    if (!mock_begin(&m)) return;
    mock_shrink(&m, 1e5, 2);
    m.knot = 3;
    double root = mock_bound(&m, m.root);
    SearchResult r = mock_run(&m, (SearchOptions){.strategy = SEARCH_MCTS, .trials = 1000});
    CHECK(r.bound >= root && r.bound <= search_best(&r));
    mock_end(&m);
}

TEST(search_tag_scores_are_those_of_the_paper) {
    CHECK(fabs(mcts_tag_score(3, 10, 20, 2) - 1.4127) < 1e-4);
    CHECK(fabs(mcts_tag_score(0, 10, 20, 2) - 0.8764) < 1e-4);
    CHECK(isinf(mcts_tag_score(0, 0, 20, 2)));
}

TEST(search_takes_decisions_in_any_order) {
    for (int order = 0; order < SEARCH_ORDERS; order++)
        for (int k = 0; k < SEARCH_STRATEGIES; k++) {
            Mock m;
            if (!mock_begin(&m)) return;
            m.knot = 20;
            SearchResult r = mock_run(&m, (SearchOptions){.strategy = (SearchStrategy)k,
                                                          .trials = 100,
                                                          .order = (SearchOrder)order});
            CHECK_INT_EQ(r.trials, 100);
            mock_end(&m);
        }
}

// The first decision that is looked at: what is open at the root and decided in the first candidate
// below it whose bound is asked for.
static double noting_bound(void *user, const Cand *c) {
    Mock *m = user;
    bool below = space_hash(m->s, c) != space_hash(m->s, m->root);
    if (below && !m->noted) space_copy(m->s, m->noted = space_cand(&m->lab.arena, m->s), c);
    return mock_bound(m, c);
}

static bool decided(const Mock *m, int choice) {
    for (int v = 0; v < m->s->ndecisions; v++)
        if (m->s->var[v].choice == choice && space_domain(m->s, m->noted, v) &&
            __builtin_popcountll(space_domain(m->s, m->noted, v)) == 1 &&
            __builtin_popcountll(space_domain(m->s, m->root, v)) > 1)
            return true;
    return false;
}

TEST(search_takes_named_choices_first) {
    static const char *const names[] = {"size", "kind", "order", "prefetch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Mock m;
        if (!mock_begin(&m)) return;
        int choice = 0;
        while (strcmp(m.s->desc->choice[choice].name, names[i]) != 0) choice++;
        m.host.bound = noting_bound;
        SearchResult r = mock_run(
            &m,
            (SearchOptions){.strategy = SEARCH_MCTS, .trials = 100, .first = &choice, .nfirst = 1});
        CHECK_INT_EQ(r.trials, 100);
        CHECK(m.noted && decided(&m, choice));
        mock_end(&m);
    }
}

TEST(search_strategies_beat_chance) {
    double time[SEARCH_STRATEGIES] = {0};
    for (int k = 0; k < SEARCH_STRATEGIES; k++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            Mock m;
            if (!mock_begin(&m)) return;
            m.knot = 0.3;
            SearchResult r = mock_run(
                &m, (SearchOptions){.strategy = (SearchStrategy)k, .seed = seed, .trials = 400});
            time[k] += search_best(&r) * 1e6 / 3;
            mock_end(&m);
        }
    for (int k = 0; k < SEARCH_STRATEGIES; k++) {
        printf("  %-10s %.3f us\n", search_strategy_name[k], time[k]);
        if (k != SEARCH_RANDOM) CHECK(time[k] < time[SEARCH_RANDOM]);
    }
}

TEST(search_names_read_back) {
    for (int i = 0; i < SEARCH_STRATEGIES; i++)
        CHECK_INT_EQ(search_strategy_by_name(search_strategy_name[i]), i);
    for (int i = 0; i < SEARCH_ORDERS; i++)
        CHECK_INT_EQ(search_order_by_name(search_order_name[i]), i);
    CHECK_INT_EQ(search_strategy_by_name("luck"), -1);
}

// --- Random programs -----------------------------------------------------------------------------

TEST(search_random_programs) {
    int64_t found = 0, rounds = check_long_rounds(80), first = (int64_t)check_first_seed();
    for (int64_t i = first; i < first + rounds; i++) {
        Mock m = {0};
        lab_begin(&m.lab);
        if (!mock_of(&m, genprog(&m.lab, (uint64_t)i))) return;
        m.fail_share = i % 3 == 0 ? 30 : 0;
        m.knot = 0.5;
        SearchStrategy k = (SearchStrategy)(i % SEARCH_STRATEGIES);
        SearchResult r = mock_run(&m, (SearchOptions){.strategy = k,
                                                      .seed = (uint64_t)i,
                                                      .trials = 40,
                                                      .lookahead = 1 + (int)(i / 8 % 2)});
        CHECK(r.trials <= 40 && r.end != SEARCH_RUNNING);
        for (int t = 0; t < r.ntop; t++) CHECK(r.top[t].trial.seconds >= r.bound * (1 - 1e-12));
        found += r.ntop > 0;
        mock_end(&m);
    }
    CHECK(found * 10 >= rounds * 9);
}
