// Inside `loopwright tune`: what its two files share.
//
//   tune.c        what is tuned, how the budget is shared out, what is written
//   tune_show.c   progress while it runs, summaries, the log and the plot
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli.h"

enum { TUNE_TOP = 5 };

// One exploration that has ended: a function, at sizes, by a strategy, with a seed.
typedef struct Explored {
    lw_tune_state state;
    char *schedule, *found_by;
    char *unchecked;            // results; NULL: none
    char *refuted, *reproducer; // see lw_tune_result; NULL: it was not
    bool stored, finished, near;
    double chosen; // seconds of what is chosen without search; 0: not known
    lw_tune_point *point;
    size_t npoints, nfound; // the last is the result; those that the strategy found
    double top[TUNE_TOP];   // the fastest times that were measured, ascending; 0: fewer
} Explored;

// A function at sizes.
typedef struct Tuned {
    const lw_function *f;
    lw_bound *b;
    double share;  // of the budget
    Explored *run; // strategies, and for each of them its repetitions
    size_t nruns;  // that came to their end
} Tuned;

typedef struct Tuning {
    Cli *cli;
    Given given; // of the only function; n is 0 where nothing is given
    Tuned *at;
    size_t n;
    const char **strategy;
    size_t nstrategies, repeats;
    FILE *log;
    bool live;   // the progress line is rewritten in place
    bool served; // this process only measured for another one
    // Of the exploration that runs:
    Tuned *now;
    Explored *into;
    const char *by;
    uint64_t seed;
    double seconds, shown; // its budget; when it was last shown
    bool warned;           // that the budget is too small
    int64_t trials;
} Tuning;

// Callbacks of lw_tune.
void explored_progress(void *tuning, const lw_tune_state *state);
void explored_trial(void *tuning, const lw_trial *trial);
void explored_progress_end(Tuning *t);

const Explored *explored_best(const Tuning *t, const Tuned *tuned);
void explored_summary(const Tuning *t, const Tuned *tuned);
void explored_json(const Tuning *t, const Tuned *tuned);
int explored_plot(Tuning *t);

// The strategies: how many were tried on it, and what came of one of them.
typedef struct Spread {
    size_t n;
    double best, mean, deviation; // of the times of the winners
    double top;                   // mean over its explorations of the mean of their five fastest
    double trials;
} Spread;
Spread explored_spread(const Tuning *t, const Tuned *tuned, size_t strategy);

#endif
