// `loopwright tune`: declarations shared by its files.
//
//   cmd_tune.c    selects functions and sizes, divides the budget, writes files
//   tune_show.c   progress while it runs, summaries, the log and the plot
//   tune_params.c the parameters of a TeML program
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli.h"

enum { TUNE_TOP = 5 };

// One completed exploration: a function at sizes, searched by a strategy with a seed.
typedef struct Explored {
    bool estimated; // by the emulator's counts, not timed
    lw_tune_state state;
    char *schedule, *found_by, *changes; // changes: of a machine description, or NULL
    char *unchecked;                     // results; NULL: none
    char *refuted, *reproducer;          // as in lw_tune_result
    bool stored, finished, near;
    double chosen;    // seconds of the schedule chosen without search; 0: unknown
    double described; // of the given machine description; 0: unknown, or there was none
    lw_tune_point *point;
    size_t npoints, nfound; // all points, of which the last is the result; points of the strategy
    double top[TUNE_TOP];   // the fastest measured times, ascending; 0: fewer
} Explored;

// A function at sizes.
typedef struct Tuned {
    const lw_function *f;
    lw_bound *b;
    double share;  // of the budget
    Explored *run; // per strategy, its repetitions
    size_t nruns;  // number of completed ones
} Tuned;

typedef struct Tuning {
    Cli *cli;
    Given given; // of the only function; n is 0 if nothing is given
    Tuned *at;
    size_t n;
    const char **strategy;
    size_t nstrategies, repeats;
    FILE *log;
    bool live;   // the progress line is rewritten in place
    bool served; // this process only measured for another
    // The running exploration:
    Tuned *now;
    Explored *into;
    const char *by;
    uint64_t seed;
    double seconds, shown; // its budget; time of the last progress line
    bool warned;           // the warning about a too small budget was given
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

// Parameters of a TeML program with several values each: tune searches these.
bool tune_has_holes(const lw_module *mod);
int tune_params(Cli *cli, const lw_module *mod, bool (*cancelled)(void *));

// Statistics of the explorations of one strategy.
typedef struct Spread {
    size_t n;
    double best, mean, deviation; // of the times of the winners
    double top;                   // mean of the five fastest, averaged over its explorations
    double trials;
} Spread;
Spread explored_spread(const Tuning *t, const Tuned *tuned, size_t strategy);

#endif
