// Search: the best implementation in a Space, found by measuring.
//
//     SearchHost host = {...};                      // compiles, checks, times, bounds
//     SearchResult r = search_run(arena, &host, &(SearchOptions){.strategy = SEARCH_AUTO, ...});
//
// A strategy sees a Space, candidates and three functions: the time of an implementation
// (`measure`), a lower bound of all implementations below a candidate (`bound`), and the clock
// (`now`). The host decides how, in which process and on which machine candidates are compiled,
// checked against the reference and timed; with a mocked host every strategy is deterministic.
//
// Candidates are measured in batches, so that a host may compile and distribute them in parallel; a
// strategy may use batches of one. The results are complete when `measure` returns. If a host can
// `begin` a batch and `end` it later, `auto` generates the next one meanwhile. No candidate is
// measured twice.
//
// One file holds each strategy (strategy.h is what they share):
//
//     random      independent descents: the baseline
//     exhaustive  every implementation, by branch and bound; ends with a proof
//     greedy      decision by decision, the value whose completions are best; looks 1 or 2 ahead
//     beam        the same with the `width` best at a time
//     genetic     generations bred from three parents by fitness (Tensor Comprehensions)
//     mcts        Monte-Carlo tree search: threshold ascent, rollouts weighted by the bound, branch
//                 and bound (Telamon)
//     sweep       tile sizes, then the order of loops, then layouts (LoopStack)
//     poly        genetic, from the Schedules of TC's scheduler as the host's starting points
//     auto        from the starting points: moves around the best, crossover and rollouts, each in
//                 proportion to its success
#ifndef LW_SEARCH_SEARCH_H
#define LW_SEARCH_SEARCH_H

#include "space/space.h"

#include <math.h>

typedef enum TrialState {
    TRIAL_TIMED,    // right, and timed
    TRIAL_SLOW,     // right, and clearly slower: `seconds` is approximate
    TRIAL_DECLINED, // does not lower or compile
    TRIAL_WRONG,    // its result differs from the reference
    TRIAL_CRASHED,
    TRIAL_HUNG,
    TRIAL_CANCELLED, // the search ended first
    TRIAL_STATES
} TrialState;
extern const char *const trial_state_name[TRIAL_STATES];

typedef struct Trial {
    TrialState state;
    double seconds;   // of one call, relative to the best: less than its time if it is better
    double low, high; // 95 % confidence interval of what was measured
    double measured;  // of one call: the median of the samples
    double ratio;     // median ratio of its samples to those of the best so far; 0: not compared
    int samples;
} Trial;

typedef struct SearchState SearchState; // below

typedef struct SearchHost {
    void *user;
    const Space *space;
    // Times `n` full candidates. `best` is the incumbent's time, INFINITY when there is none.
    void (*measure)(void *user, const Cand *const *batch, int n, double best, Trial *out);
    // The lower bound in seconds; NULL: no bounds. It becomes 0 once the bound is refuted.
    double (*bound)(void *user, const Cand *c);
    double (*now)(void *user);     // seconds, from any origin
    bool (*cancelled)(void *user); // NULL: never
    // Called after each batch; may be NULL.
    void (*progress)(void *user, const SearchState *state);
    // `measure` in two steps, one batch at a time, which must stay valid until `end`. Both may be
    // NULL.
    void (*begin)(void *user, const Cand *const *batch, int n, double best);
    void (*end)(void *user, Trial *out);
} SearchHost;

// --- Options -------------------------------------------------------------------------------------

typedef enum SearchStrategy {
    SEARCH_AUTO,
    SEARCH_RANDOM,
    SEARCH_EXHAUSTIVE,
    SEARCH_GREEDY,
    SEARCH_BEAM,
    SEARCH_GENETIC,
    SEARCH_MCTS,
    SEARCH_SWEEP,
    SEARCH_POLY,
    SEARCH_STRATEGIES
} SearchStrategy;
extern const char *const search_strategy_name[SEARCH_STRATEGIES + 1]; // terminated by NULL
int search_strategy_by_name(const char *name);                        // -1: none such

// The order in which decisions are made.
typedef enum SearchOrder {
    SEARCH_ORDER_GIVEN, // the order of the description: most important first
    SEARCH_ORDER_REVERSED,
    SEARCH_ORDER_IMPACT, // largest effect on the bound first; without a bound, as GIVEN
    SEARCH_ORDERS
} SearchOrder;
extern const char *const search_order_name[SEARCH_ORDERS];
int search_order_by_name(const char *name); // -1: none such

enum { SEARCH_TOP = 16, SEARCH_MAX_BATCH = 64 };

// Zero means the default, which the comments give in parentheses.
typedef struct SearchOptions {
    SearchStrategy strategy;
    uint64_t seed;
    // Budgets: the first that is exhausted ends the search. All zero: until the strategy has
    // nothing left to try.
    double seconds;
    int64_t trials;
    double gap; // (best - bound) / bound
    // The start.
    const Cand *root;         // candidate with fixed decisions; NULL: the whole Space
    const Cand *const *start; // full candidates to try first, best guess first
    int nstarts;
    bool scratch; // ignore `start`
    // The strategy's options.
    SearchOrder order;
    const int *first; // with SEARCH_ORDER_GIVEN: choices whose decisions are made first
    int nfirst;
    bool blind;      // use the bound only for the certificate, not for pruning or weights
    int batch;       // candidates per batch (16, mcts 4)
    int lookahead;   // of greedy: 1 or 2 (1)
    int width;       // of beam (8)
    int population;  // of genetic (100, fewer for a small budget of trials)
    int generations; // (until a budget is exhausted)
    int elites;      // (a tenth of the population)
    double crossover, mutation; // rates: (0.8) of the children, (0.07) of their decisions
} SearchOptions;

// --- Results -------------------------------------------------------------------------------------

typedef enum SearchEnd {
    SEARCH_RUNNING,
    SEARCH_DONE,      // nothing is left to try; see `proved`
    SEARCH_EMPTY,     // there is no implementation
    SEARCH_SECONDS,   // a budget was exhausted
    SEARCH_TRIALS,    //
    SEARCH_GAP,       // the requested gap was reached
    SEARCH_CANCELLED, // by the host
} SearchEnd;

// A full candidate that was timed.
typedef struct SearchFound {
    const Cand *cand;
    Trial trial;
    int64_t number; // of the trial, from 1
} SearchFound;

// An improvement of the best.
typedef struct SearchPoint {
    int64_t trials;
    double seconds; // since the search began
    double best;
} SearchPoint;

// The state of a search; the last state is the result.
struct SearchState {
    SearchEnd end;
    double seconds; // since the search began
    int64_t trials; // candidates measured
    int64_t count[TRIAL_STATES];
    int64_t duplicates; // proposals that had already been measured
    int64_t cut;        // partial or full candidates that the bound ruled out
    int ntop;           // best first; top[0] is the incumbent
    SearchFound top[SEARCH_TOP];
    double bound; // lower bound of the Space with the decisions of `root`; 0: unknown
    double gap;   // (best - bound) / bound; INFINITY without a best or a bound
    bool proved;  // everything was measured or pruned: the best is optimal
    bool refuted; // the host's bound became 0: it was wrong, and no longer prunes
    int npoints;
    const SearchPoint *curve;
};
typedef SearchState SearchResult;

static inline double search_best(const SearchState *s) {
    return s->ntop ? s->top[0].trial.seconds : (double)INFINITY;
}

// The candidates of the result live in `arena`.
SearchResult search_run(Arena *arena, const SearchHost *host, const SearchOptions *options);

#endif
