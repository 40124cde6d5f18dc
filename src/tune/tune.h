// The state of a tuning, which all parts of lw_tune share.
//
//   tune.c         the call: from options to a result
//   tune_options.c the strategy, and the order of decisions
//   tune_space.c   the Space of a bound function, and jobs for the workers: candidates, Schedules
//   tune_db.c      reading from and writing to the tuning database
//   tune_bound.c   the lower bound, the certificate, and its withdrawal
//   tune_report.c  progress, trial by trial; reproducers of failures
//   tune_check.c   lw_check: one Schedule or machine description, compared as candidates are
//   tune_tree.c    lw_check of a function that is a Tree
//   tune_machine.c the parameters of a machine description instead of a Space
#ifndef LW_TUNE_TUNE_H
#define LW_TUNE_TUNE_H

#include "api/pipeline.h"
#include "search/db.h"
#include "search/measure.h"
#include "search/remote.h"
#include "search/search.h"
#include "space/bound.h"
#include "space/cpu.h"

enum { TUNE_OUTSIDE = 2 };

typedef struct Tune {
    Call *call;
    const lw_bound *bound;
    lw_tune_options o;
    int threads;
    // The problem
    Machine machine;
    const lw_machine *rated; // its rates, for people
    const Program *p;        // the call's own
    const View *views;
    ProgramSpace ps;
    SpaceWork *work;
    const Cand *root;        // decisions of `set` taken
    const Schedule *given;   // to start from, or NULL
    const char *described;   // a machine description whose passes make the loops, or NULL
    const Cand *chosen;      // nearest to the chosen Schedule; NULL: not computed yet
    const BoundModel *model; // NULL: there is no bound
    struct {                 // the time furthest below its bound
        double seconds;      // 0: none is
        double share;        // of the bound
        Cand *cand;
        const char *schedule;
    } below;
    // The tuning database
    Db *db;     // NULL: no database
    Db *own_db; // the same, where it is not the context's
    const Canon *canon;
    DbKey key;
    VEC(DbTrial) trials; // not written yet
    // Measurement
    MeasureSetup setup;
    Measure *measure;
    const Messenger *messenger; // NULL: this process is alone
    int rank;
    Remote *remote;
    Cand *best; // of all candidates,
    double best_seconds;
    // Starting Schedules outside of the Space, measured as they are
    Job outside[TUNE_OUTSIDE];
    int noutside;
    const Cand *const *begun; // candidates that are being measured
    int nbegun;
    Arena text;      // of one trial
    const char *put; // a Schedule by hand, to be kept: nothing is searched
    bool pin;
    bool check; // a Schedule is to be compared with the reference: nothing is searched
    lw_check_result *checked;
    int used; // threads that the result uses; 0: not known yet
    // Progress
    double began;
    double counted; // time of the best as the search counts it; 0: none
    lw_tune_state state;
    bool finishing;   // no longer to be cancelled
    bool interrupted; // before there was a reference
    lw_tune_result *result;
    lw_tune_point *points;
    int npoints, most_points;
    int64_t failures; // reproducers written
    bool unkept;      // a failure to write one was reported
    const char *folder;
    int64_t plant[PLANTS]; // LW_TUNE_PLANT: the period of each planted failure, in candidates
} Tune;

// --- tune_options.c ------------------------------------------------------------------------------
// False: reported. Budgets of time are not among them.
bool tune_options(Call *call, const lw_tune_options *options, SearchOptions *out);

// --- tune_space.c --------------------------------------------------------------------------------
// False: reported.
bool tune_space(Tune *t);
void tune_model(Tune *t); // the lower bound at the rates of `machine`
// Full candidates that are worth trying first, best guess first; at most `most`.
int tune_starts(Tune *t, bool poly, const Cand **out, int most);
// The given and the chosen Schedule, as far as the Space has no candidate for them; their number.
int tune_outside(Tune *t, Job *out);
// Compiles a job, in a worker.
bool tune_compile(void *tune, Arena *arena, const Job *job, JobCode *out);
// Compiles a job here, to report why it is declined. False: nothing was reported.
bool tune_refused(Tune *t, const Job *job);
Job tune_cand_job(const Tune *t, const Cand *c);
// Whether several threads share loops of a job. A candidate with parallel marks that have no effect
// becomes a text without them.
bool tune_shares(Tune *t, Job *job);
// The Schedule that a job stands for; NULL: it does not parse.
const Schedule *tune_schedule(Tune *t, Arena *arena, const Job *job, DiagList *diags);

// --- tune_db.c -----------------------------------------------------------------------------------
enum { TUNE_MOST_TEXT = 64 * 1024 }; // of a stored Schedule
void tune_open_db(Tune *t);
void tune_close_db(Tune *t);
// The stored Schedule, if another search with these options would not improve it: an earlier search
// went as far, or the gap is reached. False: a search is needed.
bool tune_known(Tune *t, const SearchOptions *options, Job *job);
// Schedules to start from: of this key, or of the nearest sizes. At most `most`.
int tune_known_schedules(Tune *t, const Schedule **out, int most);
void tune_keep_trial(Tune *t, const Schedule *s, const Trial *trial);
void tune_keep_trials(Tune *t); // to the file
// Stores the timed ones, and that a search with `options` (those of the user) is complete; NULL: no
// search is.
bool tune_keep(Tune *t, const Job *jobs, const Trial *trials, int n, const SearchOptions *options);

// --- tune_check.c --------------------------------------------------------------------------------
bool tune_check(Tune *t);           // false: reported
const char *tune_compared(Tune *t); // how results were compared

// --- tune_bound.c --------------------------------------------------------------------------------
// Seconds that nothing below a candidate can beat; 0: not known, or refuted.
double tune_bound(const Tune *t, const Cand *c);
// Notes a measured candidate (NULL: outside of the Space) that is faster than its bound allows.
void tune_doubt(Tune *t, const Cand *c, const Job *job, double seconds);
// Sets the bound of the result, or the reason for none. `proved`: everything else was tried or cut.
void tune_certify(Tune *t, const Job *winner, double seconds, bool proved);

// --- tune_report.c -------------------------------------------------------------------------------
void tune_figures(Tune *t); // derives the other figures from state.seconds
// The result: state.seconds is its time, and so is the last point.
void tune_best(Tune *t, const Trial *trial);
// Counts a trial and calls the user's callback.
void tune_trial(Tune *t, const Job *job, const Trial *trial, double bound);
void tune_progress(Tune *t);
// Files that show a schedule as `loopwright run` takes them, with `options`; the path of the
// schedule, NULL: nothing was written.
const char *tune_reproducer(Tune *t, const char *schedule, const char *what, const char *options);

// tune_tree.c: lw_check of a function that is a Tree.
lw_status tree_check(Call *call, const lw_bound *b, const lw_tune_options *options,
                     const lw_check_result **out);

// --- tune_machine.c ------------------------------------------------------------------------------
// Tunes the parameters of a machine description; false: reported.
bool tune_machine(Tune *t, const char *text);

#endif
