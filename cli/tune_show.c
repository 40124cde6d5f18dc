// loopwright tune: progress, summaries, JSON, logs and plots.
#include "cmd_tune.h"

#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// --- While it runs -------------------------------------------------------------------------------

static const double often = 0.1, seldom = 1; // seconds between progress lines: in place, plain

static double part_done(const Tuning *t, const lw_tune_state *s) {
    double time = t->seconds > 0 ? s->elapsed / t->seconds : 0;
    double trials = t->trials > 0 ? (double)s->trials / (double)t->trials : 0;
    return fmin(fmax(time, trials), 1);
}

// A progress line consists of parts. If they do not fit, the least important are dropped first
// (`rank`); the bar takes the remaining columns.
typedef struct Part {
    char text[48];
    int rank;
} Part;
enum { PARTS = 8, BAR_LEAST = 10, BAR_MOST = 20, BAR_RANK = 4, BAR_FRAME = 3 };

static int collect(Part *p, const lw_tune_state *s) {
    char time[32];
    int n = 0;
#define PART(rank_, ...)                                                                           \
    (p[n].rank = (rank_), snprintf(p[n].text, sizeof p[n].text, __VA_ARGS__), n++)
    PART(9, "%.1f s", s->elapsed);
    if (s->trials > 0) PART(6, ", %lld trials", (long long)s->trials);
    if (s->trials == 0) PART(7, ", computing the reference");
    if (s->trials > 0) PART(1, " (%.0f/s)", (double)s->trials / s->elapsed);
    if (s->seconds > 0) PART(8, ", best %s", cli_time(time, s->seconds * 1e6));
    if (s->gflops > 0) PART(3, ", %.1f GFLOP/s", s->gflops);
    if (s->peak > 0) PART(5, ", %.0f %% of peak", 100 * s->peak);
    if (s->bound > 0) PART(2, ", bound %s", cli_time(time, s->bound * 1e6));
    if (s->bound > 0 && s->seconds > 0) PART(7, ", gap %.0f %%", 100 * fmax(s->gap, 0));
#undef PART
    return n;
}

// Removes parts until they take at most `room` columns; returns the length of the bar; 0: none.
static int fit(Part *p, int n, int room) {
    int used = BAR_LEAST + BAR_FRAME, bar = BAR_LEAST;
    for (int i = 0; i < n; i++) used += (int)strlen(p[i].text);
    for (int rank = 1; rank < p[0].rank && used > room; rank++) {
        for (int i = 0; i < n; i++)
            if (p[i].rank == rank) used -= (int)strlen(p[i].text), p[i].text[0] = 0;
        if (rank == BAR_RANK) used -= BAR_LEAST + BAR_FRAME, bar = 0;
    }
    if (!bar) return 0;
    return room - used < BAR_MOST - bar ? bar + room - used : BAR_MOST;
}

// Queried each time, because windows change. The last column stays empty, because some terminals
// wrap a full line.
static int columns(void) {
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return (known ? size.ws_col : 80) - 1;
}

// A budget that cannot be met is announced first.
static void warn_of_time(Tuning *t, const lw_tune_state *s) {
    static const double late = 1.5;
    if (t->warned || t->seconds <= 0 || s->expected <= late * t->seconds) return;
    t->warned = true;
    if (t->live) fputs("\r\033[K", stderr);
    fprintf(stderr,
            "note: %s takes about %.0f s to tune, not %.3g s: computing the reference and timing a "
            "few calls takes that long\n",
            lw_function_name(t->now->f), s->expected, t->seconds);
}

void explored_progress(void *tuning, const lw_tune_state *s) {
    Tuning *t = tuning;
    Part part[PARTS];
    warn_of_time(t, s);
    if (s->elapsed - t->shown < (t->live ? often : seldom)) return;
    t->shown = s->elapsed;
    int n = collect(part, s);
    if (t->live) {
        int bar = fit(part, n, columns()), full = (int)(part_done(t, s) * bar);
        fputs("\r\033[K", stderr);
        if (bar)
            fprintf(stderr, "[%.*s%.*s] ", full, "####################", bar - full,
                    "....................");
    } else {
        fprintf(stderr, "%s: ", lw_function_name(t->now->f));
    }
    for (int i = 0; i < n; i++) fputs(part[i].text, stderr);
    if (!t->live) fputc('\n', stderr);
    fflush(stderr);
}

void explored_progress_end(Tuning *t) {
    if (t->live && t->shown > 0) fputs("\r\033[K", stderr);
}

static void enter_top(Explored *e, double seconds) {
    for (int i = 0; i < TUNE_TOP; i++) {
        if (e->top[i] > 0 && e->top[i] <= seconds) continue;
        double last = e->top[i];
        e->top[i] = seconds;
        seconds = last;
        if (last <= 0) return;
    }
}

static void microseconds(Json *j, const char *key, double seconds) {
    json_num(j, key, round(seconds * 1e9) / 1e3);
}

static void log_trial(Tuning *t, const lw_trial *trial) {
    Json j = {0};
    json_open(&j, NULL, '{');
    json_str(&j, "def", lw_function_name(t->now->f));
    json_values(&j, t->now->b);
    json_str(&j, "strategy", t->by);
    json_int(&j, "seed", (int64_t)t->seed);
    json_int(&j, "trial", trial->number);
    json_num(&j, "at", round(trial->at * 1e6) / 1e6);
    json_str(&j, "state", lw_trial_state_name(trial->state));
    if (trial->state <= LW_TRIAL_SLOW) {
        json_num(&j, "seconds", round(trial->seconds * 1e12) / 1e12);
        json_num(&j, "low", round(trial->low * 1e12) / 1e12);
        json_num(&j, "high", round(trial->high * 1e12) / 1e12);
        json_int(&j, "samples", trial->samples);
        if (trial->ratio > 0) json_num(&j, "ratio", round(trial->ratio * 1e4) / 1e4);
    }
    if (trial->bound > 0) json_num(&j, "bound", round(trial->bound * 1e12) / 1e12);
    json_bool(&j, "best", trial->best);
    json_str(&j, "schedule", trial->schedule);
    if (trial->reproducer) json_str(&j, "reproducer", trial->reproducer);
    json_close(&j, '}');
    fprintf(t->log, "%s\n", j.text);
    free(j.text);
}

void explored_trial(void *tuning, const lw_trial *trial) {
    Tuning *t = tuning;
    if (trial->state == LW_TRIAL_TIMED) enter_top(t->into, trial->seconds);
    if (t->log) log_trial(t, trial);
}

// --- Figures -------------------------------------------------------------------------------------

const Explored *explored_best(const Tuning *t, const Tuned *tuned) {
    const Explored *best = &tuned->run[0];
    (void)t;
    for (size_t i = 1; i < tuned->nruns; i++)
        if (tuned->run[i].state.seconds > 0 && tuned->run[i].state.seconds < best->state.seconds)
            best = &tuned->run[i];
    return best;
}

// The strategy's own best, even if the schedule chosen without search is faster.
static double found(const Explored *e) {
    bool nothing = strcmp(e->found_by, "chosen") == 0 && e->top[0] > 0;
    return nothing ? fmax(e->top[0], e->state.seconds) : e->state.seconds;
}

// The mean of the five fastest. They were measured at different moments, the fastest once more at
// the end, so their ratios to the fastest are applied to its final time.
static double mean_top(const Explored *e) {
    double sum = 0;
    int n = 0;
    for (; n < TUNE_TOP && e->top[n] > 0; n++) sum += e->top[n] / e->top[0];
    return n ? found(e) * sum / n : e->state.seconds;
}

Spread explored_spread(const Tuning *t, const Tuned *tuned, size_t strategy) {
    Spread s = {0};
    double squares = 0;
    for (size_t i = strategy * t->repeats; i < (strategy + 1) * t->repeats; i++) {
        if (i >= tuned->nruns) break;
        const Explored *e = &tuned->run[i];
        double before = s.mean, seconds = found(e);
        s.n++;
        s.best = s.n == 1 ? seconds : fmin(s.best, seconds);
        s.mean += (seconds - before) / (double)s.n; // Welford
        squares += (seconds - before) * (seconds - s.mean);
        s.top += (mean_top(e) - s.top) / (double)s.n;
        s.trials += ((double)e->state.trials - s.trials) / (double)s.n;
    }
    s.deviation = s.n > 1 ? sqrt(squares / (double)(s.n - 1)) : 0;
    return s;
}

// --- Summaries -----------------------------------------------------------------------------------

static void print_time(const Explored *e) {
    char time[32], low[32], high[32], chosen[32];
    const lw_tune_state *s = &e->state;
    if (e->estimated)
        printf("  estimate     %s from what the emulator counted: no time of any machine",
               cli_time(time, s->seconds * 1e6));
    else
        printf("  time         %s (%s to %s)", cli_time(time, s->seconds * 1e6),
               cli_time(low, s->low * 1e6), cli_time(high, s->high * 1e6));
    if (s->gflops > 0 && !e->estimated) printf(", %.1f GFLOP/s", s->gflops);
    if (s->peak > 0) printf(", %.0f %% of peak", 100 * s->peak);
    putchar('\n');
    if (e->described > 0 && e->changes && *e->changes)
        printf("  before       %s by the given description: %.2f times as fast now\n",
               cli_time(chosen, e->described * 1e6), e->described / s->seconds);
    if (e->chosen > 0 && e->changes)
        printf("  chosen       %s by the schedule chosen without search\n",
               cli_time(chosen, e->chosen * 1e6));
    else if (e->chosen > 0)
        printf("  before       %s as chosen without search: %.2f times as fast now\n",
               cli_time(chosen, e->chosen * 1e6), e->chosen / s->seconds);
}

static void print_certificate(const Explored *e) {
    char time[32], bound[32];
    const lw_tune_state *s = &e->state;
    if (e->refuted)
        printf("  certificate  none: %s; please report%s%s\n", e->refuted, e->reproducer ? " " : "",
               e->reproducer ? e->reproducer : "");
    if (s->bound <= 0) return;
    printf("  certificate  %s; no implementation in this space can beat %s; gap %.0f %%\n",
           cli_time(time, s->seconds * 1e6), cli_time(bound, s->bound * 1e6),
           100 * fmax(s->gap, 0));
    if (e->finished) printf("               all of it was tried, or shown to be no better\n");
}

static void print_trials(const Explored *e) {
    const lw_tune_state *s = &e->state;
    printf("  trials       %lld in %.2f s (%.0f/s)", (long long)s->trials, s->elapsed,
           s->elapsed > 0 ? (double)s->trials / s->elapsed : 0);
    const char *before = ": ";
    for (int i = 0; i < 8 && lw_trial_state_name((lw_trial_state)i); i++) {
        if (s->count[i] == 0) continue;
        printf("%s%lld %s", before, (long long)s->count[i], lw_trial_state_name((lw_trial_state)i));
        before = ", ";
    }
    putchar('\n');
}

// One line per strategy: winners of its explorations, and the five fastest candidates of each.
static void print_strategies(const Tuning *t, const Tuned *tuned) {
    char best[32], mean[32], deviation[32], top[32];
    printf("  %-24s %12s %12s %12s %12s %9s\n", "strategy", "best", "mean", "deviation", "top five",
           "trials");
    for (size_t i = 0; i < t->nstrategies; i++) {
        Spread s = explored_spread(t, tuned, i);
        if (s.n == 0) continue;
        printf("  %-24s %12s %12s %12s %12s %9.0f\n", t->strategy[i], cli_time(best, s.best * 1e6),
               cli_time(mean, s.mean * 1e6), cli_time(deviation, s.deviation * 1e6),
               cli_time(top, s.top * 1e6), s.trials);
    }
}

static void print_schedule(const char *text) {
    printf("  schedule\n");
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        printf("    %.*s\n", (int)len, text);
    }
}

// Of a machine description only what tuning changed; -o writes all of it.
static void print_changes(const char *text) {
    if (!*text) printf("  changes      none: the description as it is was the fastest\n");
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        printf("  changes      %.*s\n", (int)len, text);
    }
}

void explored_summary(const Tuning *t, const Tuned *tuned) {
    const Explored *e = explored_best(t, tuned);
    char *sizes = cli_values_text(tuned->b);
    printf("%s, %s\n", lw_function_name(tuned->f), sizes);
    free(sizes);
    if (strcmp(e->found_by, "empty") == 0) {
        printf("  nothing to tune: its results have no elements\n");
        return;
    }
    if (strcmp(e->found_by, "cancelled") == 0) {
        printf("  cancelled    before anything was measured: this is chosen without search\n");
        print_schedule(e->schedule);
        return;
    }
    print_time(e);
    print_certificate(e);
    if (strcmp(e->found_by, "database") == 0)
        printf("  trials       none: the database knew it; --again searches\n");
    else
        print_trials(e);
    printf("  found by     %s%s\n", e->found_by, e->stored ? ", kept in the database" : "");
    if (e->near)
        printf("  given        not in this space: measured as it is; the search began near it\n");
    if (e->unchecked)
        printf("  unchecked    %s: all alike, infinite or no numbers on the data to compare on\n",
               e->unchecked);
    if (tuned->nruns > 1) print_strategies(t, tuned);
    if (e->changes)
        print_changes(e->changes);
    else
        print_schedule(e->schedule);
    fflush(stdout);
}

static void json_explored(Json *j, const Explored *e) {
    const lw_tune_state *s = &e->state;
    microseconds(j, "us", s->seconds);
    microseconds(j, "low_us", s->low);
    microseconds(j, "high_us", s->high);
    if (e->chosen > 0) microseconds(j, "chosen_us", e->chosen);
    if (e->described > 0) microseconds(j, "described_us", e->described);
    if (s->bound > 0) microseconds(j, "bound_us", s->bound);
    if (s->bound > 0) json_num(j, "gap", round(s->gap * 1e4) / 1e4);
    if (e->refuted) json_str(j, "refuted", e->refuted);
    if (e->reproducer) json_str(j, "reproducer", e->reproducer);
    json_num(j, "gflops", round(s->gflops * 1e3) / 1e3);
    if (s->peak > 0) json_num(j, "peak", round(s->peak * 1e4) / 1e4);
    json_int(j, "trials", s->trials);
    json_open(j, "count", '{');
    for (int i = 0; i < 8 && lw_trial_state_name((lw_trial_state)i); i++)
        json_int(j, lw_trial_state_name((lw_trial_state)i), s->count[i]);
    json_close(j, '}');
    json_num(j, "seconds", round(s->elapsed * 1e3) / 1e3);
    json_num(j, "kernel_seconds", round(s->kernel_time * 1e3) / 1e3);
    json_str(j, "found_by", e->found_by);
    json_bool(j, "stored", e->stored);
    json_bool(j, "finished", e->finished);
    if (e->near) json_bool(j, "near", true);
    if (e->unchecked) json_str(j, "unchecked", e->unchecked);
    json_str(j, "schedule", e->schedule);
    if (e->changes) json_str(j, "changes", e->changes);
    json_open(j, "curve", '[');
    for (size_t i = 0; i < e->npoints; i++) {
        json_open(j, NULL, '{');
        json_num(j, "at", round(e->point[i].at * 1e6) / 1e6);
        json_int(j, "trials", e->point[i].trials);
        microseconds(j, "us", e->point[i].seconds);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void explored_json(const Tuning *t, const Tuned *tuned) {
    Json *j = &t->cli->object;
    json_open(j, NULL, '{');
    json_str(j, "def", lw_function_name(tuned->f));
    json_values(j, tuned->b);
    json_explored(j, explored_best(t, tuned));
    if (tuned->nruns > 1) {
        json_open(j, "strategies", '[');
        for (size_t i = 0; i < t->nstrategies; i++) {
            Spread s = explored_spread(t, tuned, i);
            if (s.n == 0) continue;
            json_open(j, NULL, '{');
            json_str(j, "strategy", t->strategy[i]);
            json_int(j, "runs", (int64_t)s.n);
            microseconds(j, "best_us", s.best);
            microseconds(j, "mean_us", s.mean);
            json_num(j, "variance_us2", s.deviation * s.deviation * 1e12);
            microseconds(j, "top5_us", s.top);
            json_num(j, "trials", s.trials);
            json_close(j, '}');
        }
        json_close(j, ']');
    }
    json_close(j, '}');
}

// --- The plot ------------------------------------------------------------------------------------

// The x coordinate of a point of one exploration: time or trials.
static double place_of(const Explored *e, size_t i, bool trials) {
    return trials ? fmax((double)e->point[i].trials, 1) : fmax(e->point[i].at, 1e-3);
}

// The best so far at x; 0: there is none yet.
static double best_at(const Explored *e, double x, bool trials) {
    double best = 0;
    for (size_t i = 0; i < e->nfound && place_of(e, i, trials) <= x; i++)
        best = e->point[i].seconds;
    return best;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The repetitions of a strategy as one line: the geometric mean of their best so far, from the
// point where all have one to the end. For several functions, relative to `unit`.
static PlotLine mean_curve(const Explored *run, size_t runs, char *name, double unit, bool trials) {
    size_t n = runs, used = 0;
    for (size_t k = 0; k < runs; k++) n += run[k].nfound;
    double *x = cli_alloc(2 * n * sizeof *x), *y = x + n;
    n = 0;
    for (size_t k = 0; k < runs; k++) {
        for (size_t i = 0; i < run[k].nfound; i++) x[n++] = place_of(&run[k], i, trials);
        x[n++] = trials ? (double)run[k].state.trials : run[k].state.elapsed;
    }
    qsort(x, n, sizeof *x, by_value);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        bool all = true;
        for (size_t k = 0; k < runs; k++) {
            double best = best_at(&run[k], x[i], trials);
            all = all && best > 0;
            sum += all ? log(best / unit) : 0;
        }
        if (!all) continue;
        x[used] = x[i];
        y[used++] = exp(sum / (double)runs);
    }
    return (PlotLine){name, x, y, used, false};
}

static char *line_name(const Tuning *t, const Tuned *tuned, size_t strategy) {
    if (t->n == 1) return cli_printf("%s", t->strategy[strategy]);
    char *sizes = cli_values_text(tuned->b);
    char *name =
        cli_printf("%s %s%s%s", lw_function_name(tuned->f), sizes, t->nstrategies > 1 ? ", " : "",
                   t->nstrategies > 1 ? t->strategy[strategy] : "");
    free(sizes);
    return name;
}

// The bound as a horizontal line.
static PlotLine bound_line(const Explored *best, double end, bool trials) {
    double *xy = cli_alloc(4 * sizeof *xy);
    xy[0] = trials ? 1 : 1e-2;
    xy[1] = end;
    xy[2] = xy[3] = best->state.bound * 1e6;
    return (PlotLine){cli_printf("lower bound"), xy, xy + 2, 2, true};
}

static char *plot_title(const Tuning *t) {
    if (t->n > 1) return cli_printf("%s: best so far", t->cli->words[0]);
    char *sizes = cli_values_text(t->at[0].b);
    char *title = cli_printf("%s, %s: best so far", lw_function_name(t->at[0].f), sizes);
    free(sizes);
    return title;
}

// One line per strategy.
static size_t fill_lines(const Tuning *t, PlotLine *lines, bool trials) {
    size_t n = 0;
    double end = 0;
    for (size_t i = 0; i < t->n; i++) {
        const Tuned *tuned = &t->at[i];
        double unit = t->n > 1 && tuned->nruns ? explored_best(t, tuned)->state.seconds : 1e-6;
        for (size_t k = 0; k < tuned->nruns; k += t->repeats) {
            size_t runs = tuned->nruns - k < t->repeats ? tuned->nruns - k : t->repeats;
            lines[n++] =
                mean_curve(&tuned->run[k], runs, line_name(t, tuned, k / t->repeats), unit, trials);
        }
        for (size_t k = 0; k < tuned->nruns; k++) {
            const lw_tune_state *s = &tuned->run[k].state;
            end = fmax(end, trials ? (double)s->trials : s->elapsed);
        }
    }
    if (t->n == 1 && t->at[0].nruns && explored_best(t, &t->at[0])->state.bound > 0)
        lines[n++] = bound_line(explored_best(t, &t->at[0]), end, trials);
    return n;
}

static void free_lines(PlotLine *lines, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free((char *)lines[i].name);
        free((double *)lines[i].x); // y is in the same allocation
    }
    free(lines);
}

int explored_plot(Tuning *t) {
    size_t room = t->n * t->nstrategies + 1;
    PlotLine *time = cli_alloc(room * sizeof *time), *trials = cli_alloc(room * sizeof *trials);
    size_t n = fill_lines(t, time, false);
    fill_lines(t, trials, true);
    PlotPanel panels[] = {{"seconds of tuning", time, n, true}, {"trials", trials, n, true}};
    char *title = plot_title(t);
    Plot plot = {title, t->n > 1 ? "time, relative to the best" : "time of a call, microseconds",
                 panels, 2};
    Output o;
    int status = output_open(t->cli, t->cli->plot, &o) ? EXIT_OK : EXIT_FAILED;
    if (!status) plot_write(o.file, &plot);
    if (!status) status = output_close(t->cli, &o);
    free(title);
    free_lines(time, n);
    free_lines(trials, n);
    return status;
}
