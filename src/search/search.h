// Search: the best implementation in a Space, found by measuring.
//
//     SearchHost host = {...};                      // compile, check and time these; bound those
//     SearchResult r = search_run(arena, &host, &(SearchOptions){.strategy = SEARCH_AUTO, ...});
//
// A strategy sees a Space, candidates and three questions: how long does this implementation take
// (`measure`), what can nothing below this candidate beat (`bound`), what time is it (`now`). How
// candidates are compiled, checked against the reference and timed, in which process or on which
// machine, is the host's business; with a mocked host every strategy is deterministic.
//
// Candidates are measured in batches, so that a host may compile them at once and spread them; a
// strategy that has one question at a time asks with a batch of one. The answer to a batch is
// complete when `measure` returns. Where a host can `begin` a batch and `end` it later, `auto`
// thinks of the next one meanwhile. No candidate is asked about twice.
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
//     auto        from the starting points: moves about the best, crossover and rollouts, each as
//                 often as it pays
#ifndef LW_SEARCH_SEARCH_H
#define LW_SEARCH_SEARCH_H

#include "space/space.h"

#include <math.h>

typedef enum TrialState {
    TRIAL_TIMED,    // right, and timed
    TRIAL_SLOW,     // right, and not worth timing well: `seconds` is a rough figure
    TRIAL_DECLINED, // does not lower or compile
    TRIAL_WRONG,    // its result is not the reference's
    TRIAL_CRASHED,
    TRIAL_HUNG,
    TRIAL_CANCELLED, // the search was ended first
    TRIAL_STATES
} TrialState;
extern const char *const trial_state_name[TRIAL_STATES];

typedef struct Trial {
    TrialState state;
    double seconds;   // of one call, as the search counts it: less than the best's, if it is better
    double low, high; // 95 % confidence interval of what was measured
    double measured;  // of one call: the median of the samples
    double ratio;     // likewise, to the best so far, sample by sample; 0: not compared
    int samples;
} Trial;

typedef struct SearchState SearchState; // below

typedef struct SearchHost {
    void *user;
    const Space *space;
    // Times `n` full candidates. `best` is the incumbent's time, INFINITY when there is none.
    void (*measure)(void *user, const Cand *const *batch, int n, double best, Trial *out);
    // Seconds; NULL: there is none. 0 of what had one: it turned out to be wrong.
    double (*bound)(void *user, const Cand *c);
    double (*now)(void *user);     // seconds, from any origin
    bool (*cancelled)(void *user); // NULL: never
    // After each batch; NULL: nobody looks.
    void (*progress)(void *user, const SearchState *state);
    // `measure` in two steps, one batch at a time: it stays where it is until `end`. NULL: neither.
    void (*begin)(void *user, const Cand *const *batch, int n, double best);
    void (*end)(void *user, Trial *out);
} SearchHost;

// --- What is asked for ---------------------------------------------------------------------------

typedef enum SearchStrategy {
    SEARCH_AUTO,
    SEARCH_RANDOM,
    SEARCH_EXHAUSTIVE,
    SEARCH_GREEDY,
    SEARCH_BEAM,
    SEARCH_GENETIC,
    SEARCH_MCTS,
    SEARCH_SWEEP,
    SEARCH_STRATEGIES
} SearchStrategy;
extern const char *const search_strategy_name[SEARCH_STRATEGIES + 1]; // ended by NULL
int search_strategy_by_name(const char *name);                        // -1: none such

// The order in which decisions are taken.
typedef enum SearchOrder {
    SEARCH_ORDER_GIVEN, // as described: what matters most first
    SEARCH_ORDER_REVERSED,
    SEARCH_ORDER_IMPACT, // those whose values move the bound most first; without one, as described
    SEARCH_ORDERS
} SearchOrder;
extern const char *const search_order_name[SEARCH_ORDERS];
int search_order_by_name(const char *name); // -1: none such

enum { SEARCH_TOP = 16, SEARCH_MAX_BATCH = 64 };

// Members that are zero mean the default, given behind them.
typedef struct SearchOptions {
    SearchStrategy strategy;
    uint64_t seed;
    // Budgets: the first that is used up ends the search. All zero: until the strategy has nothing
    // left to try.
    double seconds;
    int64_t trials;
    double gap; // (best - bound) / bound
    // Where it begins.
    const Cand *root;         // with decisions taken; NULL: all of the Space
    const Cand *const *start; // full candidates to try first, best guess first
    int nstarts;
    bool scratch; // leave them out
    // How it goes about it.
    SearchOrder order;
    const int *first; // with SEARCH_ORDER_GIVEN: choices whose decisions come before all others
    int nfirst;
    bool blind;      // the bound is for the certificate alone: nothing is cut or weighted by it
    int batch;       // most candidates of one question (16, of mcts 4)
    int lookahead;   // of greedy: 1 or 2 (1)
    int width;       // of beam (8)
    int population;  // of genetic (100, fewer for a small budget of trials)
    int generations; // until a budget ends it
    int elites;      // a tenth of the population
    double crossover, mutation; // rates: 0.8 of the children, 0.07 of their decisions
} SearchOptions;

// --- What is found -------------------------------------------------------------------------------

typedef enum SearchEnd {
    SEARCH_RUNNING,
    SEARCH_DONE,      // nothing is left to try; see `proved`
    SEARCH_EMPTY,     // there is no implementation
    SEARCH_SECONDS,   // a budget was used up
    SEARCH_TRIALS,    //
    SEARCH_GAP,       // the best is as near to the bound as was asked for
    SEARCH_CANCELLED, // by the host
} SearchEnd;

// A full candidate that was timed.
typedef struct SearchFound {
    const Cand *cand;
    Trial trial;
    int64_t number; // of the trial, from 1
} SearchFound;

// Where the best changed.
typedef struct SearchPoint {
    int64_t trials;
    double seconds; // since the search began
    double best;
} SearchPoint;

// What is known so far; the last state is the result.
struct SearchState {
    SearchEnd end;
    double seconds; // since the search began
    int64_t trials; // candidates measured
    int64_t count[TRIAL_STATES];
    int64_t duplicates; // proposals that had been measured
    int64_t cut;        // partial or full candidates that the bound ruled out
    int ntop;           // best first; top[0] is the incumbent
    SearchFound top[SEARCH_TOP];
    double
        bound;   // no implementation in the Space, decisions of `root` taken, is faster; 0: unknown
    double gap;  // (best - bound) / bound; INFINITY without a best or a bound
    bool proved; // everything was measured or cut: the best is the best there is
    bool refuted; // the host's bound became 0: it was wrong, and nothing is cut by it any more
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
