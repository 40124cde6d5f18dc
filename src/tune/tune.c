// Tuning: a bound function's Space searched by measuring.
//
// The call makes a Program and a Space of its own, starts a worker that computes the reference
// (search/measure.h), searches (search/search.h) and has the best checked and timed once more in a
// fresh process. Everything that may fail by a candidate's fault fails in the worker.
#include "tune/tune.h"

#include "api/database.h"
#include "api/device_machine.h"
#include "api/rates.h"
#include "base/checked.h"
#include "base/map.h"
#include "code/code.h"
#include "run/plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double default_seconds = 5;
// Shares of the time that the reference and the last measurement may take, and their limits.
static const double reference_share = 0.05, final_share = 0.1, final_seconds = 0.5,
                    least_final = 0.01;
// The tuning ends within this multiple of its seconds, unless the reference and a few calls take
// longer.
static const double punctual = 1.4;
// A trial makes at least these calls: one to check, two to time. A kernel takes about this multiple
// of its bound.
static const double trial_calls = 3, beyond_bound = 1.5;
// A candidate must take less than this share of the chosen Schedule's time to replace it.
static const double surely = 0.99;
// If the chosen Schedule takes less than this share of a stored one's time, a search follows.
static const double lost = 0.95;
static const double least_reference = 0.05, compile_seconds = 10;
// The reference may take this long, or half of the tuning's time.
static const double reference_limit = 10, reference_most = 0.5;
// A candidate that takes longer to compile is skipped: many others could be tried meanwhile.
static const double slow_compile_share = 0.04, slow_compile = 0.1;
static const double trial_share = 0.1; // of the time that a trial may take once it was checked

enum { STARTS = 32, FINALISTS = 4 };

const char *lw_trial_state_name(lw_trial_state state) {
    return state >= 0 && (int)state < TRIAL_STATES ? trial_state_name[state] : NULL;
}

// --- Options -------------------------------------------------------------------------------------

static bool read_options(Tune *t, SearchOptions *s) {
    const lw_tune_options *o = &t->o;
    if (!tune_options(t->call, o, s)) return false;
    if (o->seconds <= 0 && o->trials <= 0 && o->gap <= 0) t->o.seconds = default_seconds;
    return true;
}

// Where reproducers go; NULL: nowhere.
static const char *failures_folder(Tune *t) {
    Arena *arena = t->call->arena;
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME"), *asked = t->o.failures;
    if (asked) return strcmp(asked, "none") ? arena_strndup(arena, asked, strlen(asked)) : NULL;
    if (data && *data) return arena_printf(arena, "%s/loopwright/failures", data);
    return home && *home ? arena_printf(arena, "%s/.local/share/loopwright/failures", home) : NULL;
}

// LW_TUNE_PLANT, for tests: "wrong=7,crash=11" makes every seventh candidate wrong, ...
static void read_plants(Tune *t) {
    static const char *const name[PLANTS] = {"none", "wrong=", "crash=", "hang=", "stuck="};
    const char *text = getenv("LW_TUNE_PLANT");
    for (int i = 1; text && i < PLANTS; i++) {
        const char *at = strstr(text, name[i]);
        if (at) t->plant[i] = strtoll(at + strlen(name[i]), NULL, 10);
    }
}

static Plant plant(void *tune, int64_t n) {
    const Tune *t = tune;
    for (int i = 1; i < PLANTS; i++)
        if (t->plant[i] > 0 && n % t->plant[i] == t->plant[i] - 1) return (Plant)i;
    return PLANT_NONE;
}

// --- The host of a search ------------------------------------------------------------------------

static bool cancelled(void *user) {
    Tune *t = user;
    if (!t->measure) tune_progress(t); // the reference is being computed
    return !t->finishing && t->o.cancelled && t->o.cancelled(t->o.user);
}

static double bound(void *user, const Cand *c) { return tune_bound(user, c); }

static void keep_best(Tune *t, const Cand *c, const Trial *trial) {
    if (trial->state != TRIAL_TIMED || trial->seconds >= t->best_seconds) return;
    space_copy(t->ps.space, t->best, c);
    t->best_seconds = trial->seconds;
}

static void make_jobs(Tune *t, const Cand *const *batch, int n, Job *jobs) {
    for (int i = 0; i < n; i++) jobs[i] = tune_cand_job(t, batch[i]);
    t->begun = batch;
    t->nbegun = n;
}

static void take_trials(Tune *t, const Trial *out) {
    for (int i = 0; i < t->nbegun; i++) {
        const Cand *c = t->begun[i];
        Job job = tune_cand_job(t, c);
        keep_best(t, c, &out[i]);
        if (out[i].state == TRIAL_TIMED) tune_doubt(t, c, &job, out[i].measured);
        if (out[i].state != TRIAL_CANCELLED) tune_trial(t, &job, &out[i], bound(t, c));
    }
}

static void measure(void *user, const Cand *const *batch, int n, double best, Trial *out) {
    Tune *t = user;
    Job jobs[SEARCH_MAX_BATCH] = {0}, incumbent = tune_cand_job(t, t->best);
    bool known = t->best_seconds <= best && best < INFINITY;
    make_jobs(t, batch, n, jobs);
    if (t->remote)
        remote_batch(t->remote, jobs, n, known ? &incumbent : NULL, best, out, cancelled, t);
    else
        measure_batch(t->measure, jobs, n, best, out);
    take_trials(t, out);
}

static void measure_ahead(void *user, const Cand *const *batch, int n, double best) {
    Tune *t = user;
    Job jobs[SEARCH_MAX_BATCH] = {0};
    make_jobs(t, batch, n, jobs);
    measure_begin(t->measure, jobs, n, best);
}

static void measure_rest(void *user, Trial *out) {
    Tune *t = user;
    measure_end(t->measure, out);
    take_trials(t, out);
}

static double elapsed(const Tune *t) { return measure_clock() - t->began; }

static double now(void *user) {
    (void)user;
    return measure_clock();
}

static void progress(void *user, const SearchState *state) {
    Tune *t = user;
    t->state.bound = state->bound;
    tune_progress(t);
}

// --- From options to a result --------------------------------------------------------------------

// Whether the subscripts in a user's data stay inside. Timed kernels do not check them.
static bool subscripts_fit(Tune *t, int arg, const View *v) {
    const IndexRange *range = &t->bound->ranges[arg];
    int64_t at[PROGRAM_MAX_RANK] = {0}, offset = 0;
    bool more = range->used && v->data;
    for (int d = 0; d < v->rank; d++) more &= v->size[d] > 0;
    while (more) {
        const char *p = (const char *)v->data + offset * type_info[v->type].bytes;
        int64_t x = type_convert(TYPE_I64, v->type, type_load(v->type, p)).i;
        if (x < range->least || x > range->hi) {
            diag_report(t->call->diags, nowhere, DIAG_TUNE_DATA, t->p->tensors.at[arg].name,
                        (long long)x, (long long)range->lo, (long long)range->hi);
            return false;
        }
        int d = v->rank - 1;
        for (; d >= 0; d--) {
            offset += v->stride[d];
            if (++at[d] < v->size[d]) break;
            offset -= at[d] * v->stride[d];
            at[d] = 0;
        }
        more = d >= 0;
    }
    return true;
}

static const View *views_of(Tune *t) {
    int n = t->p->ninputs + t->p->noutputs;
    const DLTensor **args = arena_new_n(t->call->arena, const DLTensor *, n + 1);
    View *views = arena_new_n(t->call->arena, View, n + 1);
    for (int i = 0; t->o.args && i < n; i++) {
        args[i] = t->o.args[i];
        if (args[i] && !argument_fits(t->call, t->bound, i, args[i])) return NULL;
    }
    view_arguments(t->bound, args, views);
    for (int i = 0; i < n; i++) {
        if (!t->o.data) views[i].data = NULL;
        if (!subscripts_fit(t, i, &views[i])) return NULL;
    }
    return views;
}

static bool prepare(Tune *t) {
    Call *call = t->call;
    if (t->o.device && !device_machine(call, t->o.device, &t->machine)) return false;
    const Machine *m = t->o.device ? &t->machine : pick_machine(call, t->o.isa);
    if (!m) return false;
    t->machine = *m;
    if (!t->o.device) t->rated = machine_rated(call, &t->machine, false, NULL);
    t->began = measure_clock(); // measuring the machine is not the tuning's time
    t->p = program_fork(call->arena, t->bound->program);
    t->views = views_of(t);
    return t->views && tune_space(t);
}

static const char *fault_text(MeasureFault f) {
    switch (f) {
    case MEASURE_NO_MEMORY: return "there is no memory for operands";
    case MEASURE_NO_PROCESS: return "no process can be started";
    default:
        return "no reference could be computed: it takes too much memory or too long, or random "
               "indices are out of range (give data with --in)";
    }
}

// Ranks are assumed to have their own processors. One thread is timed on a dedicated processor;
// several threads are timed on all processors, while nothing else runs.
static int compilers(const Tune *t) {
    int n = pool_processors();
    return t->messenger || n < 2 ? 0 : t->threads > 1 ? n : n - 1;
}

// The largest job: a candidate, a Schedule of the database, or the given text.
static size_t most_bytes(const Tune *t) {
    size_t most = (size_t)max_i64(t->ps.space ? t->ps.space->size : 0, TUNE_MOST_TEXT);
    const char *text = t->described ? t->described : t->o.schedule.text;
    size_t given = text ? strlen(text) + 1 : 0;
    return given > most ? given : most;
}

// The time of the reference, of the first trial, and of the final comparison with the chosen
// Schedule.
static double expected_seconds(Tune *t) {
    double call = t->model ? beyond_bound * bound(t, t->root) : 0;
    return measure_reference_time(&t->setup) + 3 * trial_calls * call;
}

// Bytes from the lowest element of an argument to its highest.
static double image_bytes(const View *v) {
    double dense = 1, last = 0;
    for (int d = 0; d < v->rank; d++) {
        dense *= (double)v->size[d];
        if (v->stride) last += (double)(v->size[d] - 1) * fabs((double)v->stride[d]);
    }
    return (v->stride && dense > 0 ? last + 1 : dense) * type_info[v->type].bytes;
}

// Inputs are there twice, guarded and for timing, results a third time as expected.
static bool fits_memory(Tune *t) {
    double bytes = 0, most = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < t->p->ninputs + t->p->noutputs; i++)
        bytes += image_bytes(&t->views[i]) * (i < t->p->ninputs ? 2 : 3);
    if (most <= 0 || bytes <= most) return true;
    const char *why =
        arena_printf(t->call->arena,
                     "the arguments with their copies need %.3g GB, and this machine has %.3g "
                     "GB of memory",
                     bytes * 1e-9, most * 1e-9);
    diag_report(t->call->diags, nowhere, DIAG_TUNE_CANNOT, why);
    return false;
}

static bool start_measuring(Tune *t) {
    const lw_bound *b = t->bound;
    if (!fits_memory(t)) return false;
    int n = t->p->ninputs + t->p->noutputs;
    ValueRange *ranges = arena_new_n(t->call->arena, ValueRange, n + 1);
    for (int i = 0; i < n; i++)
        ranges[i] = (ValueRange){b->ranges[i].used, b->ranges[i].lo, b->ranges[i].hi};
    double seconds = t->o.seconds > 0 ? t->o.seconds : default_seconds;
    double share = reference_share * seconds;
    double slow = fmax(slow_compile_share * seconds, slow_compile);
    t->setup = (MeasureSetup){.device = t->o.device,
                              .program = t->p,
                              .views = t->views,
                              .ranges = ranges,
                              .instances = b->instances,
                              .compile = tune_compile,
                              .apply = code_apply,
                              .user = t,
                              .most_bytes = most_bytes(t),
                              .threads = t->threads,
                              .compilers = compilers(t),
                              .processor = t->rank,
                              .cold = t->o.cold,
                              .seed = t->o.seed,
                              .reference_seconds = fmax(share, least_reference),
                              .reference_limit = fmax(reference_most * seconds, reference_limit),
                              .compile_seconds = compile_seconds,
                              .trial_seconds = trial_share * t->o.seconds,
                              .slow_compile = t->check ? 0 : slow,
                              .cancelled = cancelled,
                              .plant = plant,
                              .cancel_user = t};
    MeasureFault fault;
    char why[MEASURE_TROUBLE] = "";
    t->state.expected = expected_seconds(t);
    t->measure = measure_open_device(t->call->arena, &t->setup, &fault, why);
    t->interrupted = fault == MEASURE_CANCELLED;
    if (fault == MEASURE_NO_DEVICE)
        diag_report(t->call->diags, nowhere, DIAG_DEVICE, t->o.device, why);
    else if (!t->measure && !t->interrupted)
        diag_report(t->call->diags, nowhere, DIAG_TUNE_CANNOT, fault_text(fault));
    return t->measure;
}

static void name_unchecked(Tune *t) {
    Text text = {.arena = t->call->arena};
    for (int i = t->p->ninputs; i < t->p->ninputs + t->p->noutputs; i++)
        if (measure_blank(t->measure, i))
            text_printf(&text, "%s%s", text.len ? ", " : "", t->p->tensors.at[i].name);
    if (text.len) t->result->unchecked = text_str(&text);
}

static const char *schedule_text(Tune *t, const Job *job) {
    Text text = {.arena = t->call->arena};
    DiagList quiet = {.arena = t->call->arena};
    const Schedule *s = tune_schedule(t, t->call->arena, job, &quiet);
    if (!s->nstmts) s = schedule_complete(t->call->arena, t->p, NULL);
    schedule_print(&text, s);
    return text_str(&text);
}

static void nothing_runs(Tune *t, const Trial *chosen) {
    const int64_t *n = t->state.count;
    Diag *d = diag_report(t->call->diags, nowhere, DIAG_TUNE_FAILED, (long long)t->state.trials);
    diag_note(t->call->diags, d, nowhere, DIAG_TUNE_FAILED_NOTE, (long long)n[TRIAL_DECLINED],
              (long long)n[TRIAL_WRONG], (long long)n[TRIAL_CRASHED], (long long)n[TRIAL_HUNG],
              trial_state_name[chosen->state]);
    if (chosen->state == TRIAL_DECLINED) tune_refused(t, &(Job){JOB_CHOSEN, "", 1});
}

// The finalists: the best candidates, the given Schedule if it is outside of the Space, and the one
// chosen without search.
typedef struct Final {
    Job jobs[FINALISTS + TUNE_OUTSIDE];
    Trial trials[FINALISTS + TUNE_OUTSIDE];
    int n;
    int best;
    int given; // -1: none
} Final;

// Measures the finalists again in a fresh process, interleaved with the Schedule chosen without
// search, because the search favours lucky times. False: none is right, and the chosen one is not
// either, or is excluded by `set`.
static bool decide(Tune *t, const SearchResult *found, Final *out) {
    Job *jobs = out->jobs;
    Trial *trials = out->trials;
    int n = 0, best = -1;
    double seconds = fmin(final_seconds, final_share * fmax(t->o.seconds, 1));
    double left = t->o.seconds > 0 ? punctual * t->o.seconds - elapsed(t) : INFINITY;
    double cost = found->ntop ? trial_calls * found->top[0].trial.seconds : 0; // the chosen one's
    for (; n < found->ntop && n < FINALISTS; n++) {
        cost += trial_calls * found->top[n].trial.seconds;
        if (n > 0 && cost > left) break;
        jobs[n] = tune_cand_job(t, found->top[n].cand);
        if (t->threads > 1) tune_shares(t, &jobs[n]);
    }
    out->given = t->noutside && t->outside[0].kind == JOB_TEXT ? n : -1;
    if (out->given >= 0) jobs[n++] = t->outside[0];
    int chosen = n;
    jobs[n] = (Job){JOB_CHOSEN, "", 1};
    const char *text = schedule_text(t, &jobs[n]);
    for (int i = n - 1; i >= 0; i--)
        if (strcmp(schedule_text(t, &jobs[i]), text) == 0) chosen = i;
    out->n = chosen == n ? n + 1 : n;
    seconds = fmin(seconds, fmax(left / 3, least_final));
    measure_again(t->measure, jobs, out->n, seconds, trials);
    for (int i = 0; i < n; i++)
        if (trials[i].state == TRIAL_TIMED &&
            (best < 0 || trials[i].seconds < trials[best].seconds))
            best = i;
    bool right = trials[chosen].state == TRIAL_TIMED, allowed = chosen < n || !t->o.set;
    if (right) t->result->chosen = trials[chosen].seconds;
    // Another Schedule must be surely faster than the chosen one.
    if (right && allowed && (best < 0 || trials[chosen].seconds * surely <= trials[best].seconds))
        best = chosen;
    if (best < 0) return nothing_runs(t, &trials[chosen]), false;
    jobs[chosen] = (Job){JOB_CHOSEN, "", 1};
    out->best = best;
    return true;
}

// Stores the finalists except those with less time than the winner, which were not surely faster.
static bool keep(Tune *t, const Final *final, const SearchOptions *options) {
    Job jobs[FINALISTS + TUNE_OUTSIDE];
    Trial trials[FINALISTS + TUNE_OUTSIDE];
    int n = 0;
    for (int i = 0; i < final->n; i++) {
        if (final->trials[i].seconds < final->trials[final->best].seconds) continue;
        jobs[n] = final->jobs[i];
        trials[n++] = final->trials[i];
    }
    return tune_keep(t, jobs, trials, n, options);
}

static bool finish(Tune *t, const Job *winner, const Trial *trial, const char *strategy) {
    Job job = *winner;
    t->used = t->threads > 1 && tune_shares(t, &job) ? t->threads : 1;
    tune_best(t, trial);
    tune_figures(t);
    t->result->schedule = schedule_text(t, winner);
    t->result->strategy = strategy;
    return true;
}

// Takes the database's Schedule instead of a search if it is still right and no slower than the
// chosen one.
static bool recall(Tune *t, const SearchOptions *options) {
    Job jobs[2] = {{0}, {JOB_CHOSEN, "", 1}};
    Trial trials[2];
    if (!tune_known(t, options, &jobs[0])) return false;
    measure_again(t->measure, jobs, 2, final_seconds, trials);
    if (trials[0].state != TRIAL_TIMED) return false;
    bool right = trials[1].state == TRIAL_TIMED;
    bool same = strcmp(jobs[0].bytes, schedule_text(t, &jobs[1])) == 0;
    if (right && !same && trials[1].seconds < lost * trials[0].seconds) return false;
    if (right) t->result->chosen = trials[1].seconds;
    t->result->stored = true;
    tune_certify(t, &jobs[0], trials[0].seconds, false);
    return finish(t, &jobs[0], &trials[0], "database");
}

// Starting Schedules outside of the Space are the first trials. The search does not compare with
// them, because it has no candidates near them to improve.
static void measure_outside(Tune *t, const SearchOptions *options) {
    Trial trials[TUNE_OUTSIDE];
    int n = options->scratch || t->o.set ? 0 : tune_outside(t, t->outside);
    if (options->trials > 0 && options->trials < n) n = (int)options->trials;
    measure_batch(t->measure, t->outside, n, INFINITY, trials);
    for (int i = 0; i < n; i++)
        if (trials[i].state != TRIAL_CANCELLED) tune_trial(t, &t->outside[i], &trials[i], 0);
    t->noutside = n;
    t->result->near = n && t->outside[0].kind == JOB_TEXT;
}

static SearchResult search(Tune *t, SearchOptions options) {
    const Cand *starts[STARTS];
    measure_outside(t, &options);
    if (options.trials > 0 && (options.trials -= t->noutside) == 0)
        return (SearchResult){.end = SEARCH_TRIALS};
    options.root = t->root;
    options.start = starts;
    options.nstarts = tune_starts(t, options.strategy == SEARCH_POLY, starts, STARTS);
    if (options.strategy == SEARCH_POLY && !options.nstarts)
        return (SearchResult){.end = SEARCH_EMPTY};
    double used = measure_clock() - t->began, last = final_share * t->o.seconds;
    if (t->o.seconds > 0) options.seconds = fmax(t->o.seconds - used - last, 1e-3);
    bool ahead = t->setup.compilers && t->threads <= 1;
    SearchHost host = {.user = t,
                       .space = t->ps.space,
                       .measure = measure,
                       .begin = ahead ? measure_ahead : NULL,
                       .end = ahead ? measure_rest : NULL,
                       .bound = t->model ? bound : NULL,
                       .now = now,
                       .cancelled = cancelled,
                       .progress = progress};
    return search_run(t->call->arena, &host, &options);
}

// How other processes are reached, where they are wanted. False: reported.
static bool find_others(Tune *t) {
    char message[256];
    int count;
    if (!t->o.plugin) return true;
    MessengerEntry *entry = NULL;
    void *found = plugin_find(t->o.plugin, "lw_messenger", message, sizeof message);
    memcpy(&entry, &found, sizeof entry); // ISO C has no cast from object to function
    if (entry) t->messenger = entry();
    if (t->messenger && t->messenger->version == MESSENGER_VERSION &&
        t->messenger->open(&t->rank, &count))
        return true;
    diag_report(t->call->diags, nowhere, DIAG_TUNE_PLUGIN, t->o.plugin,
                entry ? "it does not find other processes" : message);
    return false;
}

static void join_others(Tune *t) {
    const Space *s = t->ps.space;
    t->best = space_cand(t->call->arena, s);
    t->best_seconds = INFINITY;
    if (!t->messenger) return;
    uint64_t hash = hash_mix(s->desc->hash, space_hash(s, t->root));
    int64_t number = (int64_t)atomic_fetch_add(&t->call->ctx->tunings, 1);
    t->remote = remote_open(t->call->arena, t->messenger, t->measure, number, hash);
}

// A Schedule by hand.
static bool put(Tune *t) {
    Job jobs[2] = {{JOB_TEXT, t->put, strlen(t->put) + 1}, {JOB_CHOSEN, "", 1}};
    Trial trials[2] = {{.state = TRIAL_DECLINED}};
    if (jobs[0].size <= TUNE_MOST_TEXT) measure_again(t->measure, jobs, 2, final_seconds, trials);
    if (trials[1].state == TRIAL_TIMED) t->result->chosen = trials[1].seconds;
    if (trials[0].state == TRIAL_TIMED) tune_certify(t, &jobs[0], trials[0].seconds, false);
    if (trials[0].state != TRIAL_TIMED)
        diag_report(t->call->diags, nowhere, DIAG_DB_NOT_KEPT, trial_state_name[trials[0].state]);
    else if (!(t->result->stored = tune_keep(t, jobs, trials, 1, NULL)))
        diag_report(t->call->diags, nowhere, DIAG_DB_FAILED,
                    db_trouble(t->db) ? db_trouble(t->db) : "the schedule cannot be named there");
    return t->result->stored && finish(t, &jobs[0], &trials[0], "hand");
}

// Whether no result has an element: then there is nothing to measure.
static bool is_empty(const Tune *t) {
    const Program *p = t->p;
    for (int i = p->ninputs; i < p->ninputs + p->noutputs; i++) {
        bool empty = false;
        for (int d = 0; d < t->views[i].rank; d++) empty |= t->views[i].size[d] == 0;
        if (!empty) return false;
    }
    return true;
}

// The result is the Schedule chosen without search, not measured.
static bool nothing_measured(Tune *t, const char *why) {
    t->result->schedule = schedule_text(t, &(Job){JOB_CHOSEN, "", 1});
    t->result->strategy = why;
    tune_figures(t);
    return true;
}

// False: reported. A tuning keeps the text as it is, by which the database finds the result.
static bool read_description(Tune *t) {
    if (!is_description(&t->o.schedule)) return true;
    t->described = t->check ? description_in_full(t->call, &t->o.schedule) : t->o.schedule.text;
    t->o.schedule = (lw_schedule_text){0}; // no Schedule to start from
    return t->described;
}

static bool tune(Tune *t) {
    SearchOptions options;
    Final final;
    if (!read_description(t) || !read_options(t, &options) || !find_others(t)) return false;
    if (!prepare(t)) return false;
    if (t->check && is_empty(t)) return true;
    if (is_empty(t)) return t->result->finished = nothing_measured(t, "empty");
    if (!start_measuring(t)) return !t->check && t->interrupted && nothing_measured(t, "cancelled");
    name_unchecked(t);
    if (t->check) return tune_check(t);
    join_others(t);
    if (t->remote && t->rank) {
        t->finishing = true;
        t->result->finished = remote_serve(t->remote);
        return t->result->served = true;
    }
    tune_open_db(t);
    if (t->described) return tune_machine(t, t->described);
    if (t->put) return put(t);
    if (recall(t, &options)) return true;
    SearchResult found = search(t, options);
    bool whole = !cancelled(t);
    t->finishing = true;
    t->state.bound = found.bound;
    tune_keep_trials(t);
    if (!decide(t, &found, &final)) return false;
    const Job *winner = &final.jobs[final.best];
    const Trial *trial = &final.trials[final.best];
    tune_certify(t, winner, trial->seconds, found.proved);
    t->result->finished = found.proved && t->below.seconds <= 0;
    t->result->stored = keep(t, &final, whole ? &options : NULL);
    const char *by = search_strategy_name[options.strategy];
    if (final.best == final.given) by = "given";
    return finish(t, winner, trial, winner->kind == JOB_CHOSEN ? "chosen" : by);
}

// --- The call ------------------------------------------------------------------------------------

typedef struct TuneCall {
    const lw_bound *bound;
    lw_tune_options options;
    bool put, pin, check;
    const lw_tune_result *out;
    const lw_check_result *checked;
    Tune *t;
    bool ok;
} TuneCall;

static void tune_inside(void *arg) {
    TuneCall *c = arg;
    c->ok = tune(c->t);
    database_complain(c->t->call, c->t->db);
}

// A Schedule that is put into the database is taken as it is; no search starts from it.
static bool can_put(Tune *t) {
    bool none = t->o.db ? !*t->o.db || strcmp(t->o.db, "none") == 0 : !t->call->ctx->db;
    lw_schedule_text text = t->o.schedule;
    Compilation c = compilation_of(t->call, t->bound, &text);
    if (none) {
        Diag *d = diag_report(t->call->diags, nowhere, DIAG_DB_NONE);
        diag_note(t->call->diags, d, nowhere, DIAG_DB_NONE_NOTE);
    } else if (!text.text) {
        diag_report(t->call->diags, nowhere, DIAG_DB_PUT_NOTHING);
    } else if (!pipeline(&c, STEP_VERIFY)) {
        t->put = text.text;
        t->o.schedule = (lw_schedule_text){0};
    }
    return t->put;
}

// Frees workers and operands also when memory runs out.
static lw_status tune_body(Call *call, void *args) {
    TuneCall *c = args;
    bool described = is_description(&c->options.schedule), own = c->bound->function->tree;
    if (c->check && own && (described || !c->options.schedule.text))
        return tree_check(call, c->bound, &c->options, &c->checked);
    if (own) return function_is_tree(call, c->bound->function);
    Tune *t = c->t = arena_new(call->arena, Tune);
    *t = (Tune){.call = call,
                .bound = c->bound,
                .o = c->options,
                .threads = c->options.device ? 1 : threads_of(call, c->options.threads),
                .pin = c->pin,
                .check = c->check,
                .checked = arena_new(call->arena, lw_check_result),
                .result = arena_new(call->arena, lw_tune_result),
                .began = measure_clock()};
    if (c->put && !can_put(t)) return LW_ERROR;
    t->folder = failures_folder(t);
    read_plants(t);
    arena_init(&t->text, &call->ctx->allocator);
    bool memory = arena_try(call->arena, tune_inside, c);
    if (t->remote && !t->result->served) remote_end(t->remote);
    measure_close(t->measure);
    tune_close_db(t);
    arena_free(&t->text);
    if (!memory) arena_out_of_memory(call->arena);
    if (!c->ok) return LW_ERROR;
    t->result->state = &t->state;
    t->result->points = t->points;
    t->result->point_count = (size_t)t->npoints;
    c->out = t->result;
    c->checked = t->checked;
    return LW_OK;
}

static lw_status tune_call(lw_context *ctx, TuneCall *c, const lw_tune_options *options) {
    if (!c->bound) return call_null(ctx, "b");
    if (!options_copy(&c->options, sizeof c->options, options)) return call_unsized(ctx);
    if (c->options.threads < 0) return call_threads(ctx, c->options.threads);
    if (c->options.threads > POOL_MAX_THREADS)
        return call_misuse(ctx, "'threads' is %d; there are at most %d", c->options.threads,
                           POOL_MAX_THREADS);
    return call_run(ctx, tune_body, c);
}

lw_status lw_tune(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                  const lw_tune_result **out) {
    TuneCall c = {.bound = b};
    if (!out) return call_null(ctx, "out");
    lw_status status = tune_call(ctx, &c, options);
    *out = c.out;
    return status;
}

lw_status lw_db_put(lw_context *ctx, const lw_bound *b, const lw_tune_options *options, bool pin,
                    const lw_tune_result **out) {
    TuneCall c = {.bound = b, .put = true, .pin = pin};
    if (!out) return call_null(ctx, "out");
    lw_status status = tune_call(ctx, &c, options);
    *out = c.out;
    return status;
}

lw_status lw_check(lw_context *ctx, const lw_bound *b, const lw_tune_options *options,
                   const lw_check_result **out) {
    TuneCall c = {.bound = b, .check = true};
    if (!out) return call_null(ctx, "out");
    lw_status status = tune_call(ctx, &c, options);
    *out = c.checked;
    return status;
}
