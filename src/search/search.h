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
// complete when `measure` returns.
#ifndef LW_SEARCH_SEARCH_H
#define LW_SEARCH_SEARCH_H

#include "space/space.h"

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
    double seconds;   // of one call, median
    double low, high; // its 95 % confidence interval
} Trial;

typedef struct SearchHost {
    void *user;
    const Space *space;
    // Times `n` full candidates. `best` is the incumbent's time, INFINITY when there is none.
    void (*measure)(void *user, const Cand *const *batch, int n, double best, Trial *out);
    double (*bound)(void *user, const Cand *c); // seconds; NULL: there is none
    double (*now)(void *user);                  // seconds, from any origin
    bool (*cancelled)(void *user);              // NULL: never
    // After each batch; NULL: nobody looks.
    void (*progress)(void *user, const struct SearchState *state);
} SearchHost;

#endif
