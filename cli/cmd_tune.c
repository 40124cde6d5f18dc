// loopwright tune: the fastest schedule of a function, found by measuring.
//
// The functions of the file (or those of --def) are tuned one after the other at each of the given
// sizes; the budget is divided in proportion to their work. Several strategies each get the whole
// budget and are compared. The first interrupt ends the search and keeps the best so far, and the
// command exits with 128 plus the signal's number; the second interrupt exits immediately.
#include "cmd_tune.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted; // the signal; 0: none

static void interrupt(int signal_number) {
    interrupted = signal_number;
    signal(signal_number, SIG_DFL);
}

static bool cancelled(void *tuning) {
    (void)tuning;
    return interrupted != 0;
}

// The rank of this process under mpirun, or the number of processes.
static long mpi_number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}
static long mpi_size(void) { return mpi_number("OMPI_COMM_WORLD_SIZE"); }

bool tune_rank(Cli *cli) {
    if (mpi_size() > 1) cli->rank = mpi_number("OMPI_COMM_WORLD_RANK");
    return cli->rank <= 0 || freopen("/dev/null", "w", stdout);
}

// --- Functions and sizes -------------------------------------------------------------------------

// One set of sizes.
typedef struct Binding {
    lw_size *size;
    bool *fresh; // named in this binding, not copied from the previous one
    size_t n;
} Binding;

typedef struct Bindings {
    Binding *at;
    size_t n;
} Bindings;

static Binding copy_binding(const Binding *from, size_t room) {
    Binding b = {cli_alloc(room * sizeof *b.size), cli_alloc(room), from ? from->n : 0};
    if (from) memcpy(b.size, from->size, from->n * sizeof *b.size);
    return b;
}

// A size that is given again begins another binding, which copies the sizes that it does not name.
static void add_size(Bindings *all, lw_size s, size_t room) {
    Binding *b = &all->at[all->n - 1];
    size_t i = 0;
    while (i < b->n && strcmp(b->size[i].name, s.name) != 0) i++;
    if (i < b->n && b->fresh[i]) {
        all->at[all->n] = copy_binding(b, room);
        b = &all->at[all->n++];
    }
    if (i == b->n) b->n++;
    b->size[i] = s;
    b->fresh[i] = true;
}

static int read_bindings(Cli *cli, Bindings *all) {
    lw_size *sizes;
    size_t n = 0;
    int status = cli_sizes(cli, NULL, &sizes, &n);
    all->at = cli_alloc((n + 1) * sizeof *all->at);
    all->at[all->n++] = copy_binding(NULL, n + 1);
    for (size_t i = 0; i < n && !status; i++) add_size(all, sizes[i], n + 1);
    free(sizes);
    return status;
}

// Data belong to the arguments of one function.
static int read_data(Tuning *t, const lw_function *const *f, size_t n) {
    const Cli *cli = t->cli;
    const char *option = cli->in.n ? "--in" : "--arg";
    if (!cli->in.n && !cli->arg.n) return EXIT_OK;
    if (n > 1)
        return cli_misuse(
            t->cli, "%s gives data to one function, and there are %zu; --def names one", option, n);
    return given_read(&t->given, t->cli, f[0]);
}

// If there are several functions, each takes the sizes that it has.
static int bind(Tuning *t, const lw_function *f, const Binding *b, bool only) {
    const Given *g = &t->given;
    lw_size *sizes = cli_alloc((b->n + g->nsizes + 1) * sizeof *sizes);
    const DLTensor **data = given_tensors(g);
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (only || lw_function_find_param(f, b->size[i].name) >= 0) sizes[n++] = b->size[i];
    for (size_t i = t->cli->sizes.n; i < g->nsizes; i++) sizes[n++] = g->sizes[i];
    Tuned *tuned = &t->at[t->n];
    lw_status bound = g->n ? lw_bind_tensors(t->cli->ctx, f, data, g->n, sizes, n, &tuned->b)
                           : lw_bind(t->cli->ctx, f, sizes, n, &tuned->b);
    int status = cli_report(t->cli, bound);
    free(data);
    free(sizes);
    if (status) return status;
    tuned->f = f;
    tuned->run = cli_alloc(t->nstrategies * t->repeats * sizeof *tuned->run);
    t->n++;
    return EXIT_OK;
}

// Work is the number of statement iterations; functions with very little work still get a minimum.
static void share_out(Tuning *t) {
    double total = 0, sum = 0;
    for (size_t i = 0; i < t->n; i++) total += (double)lw_bound_instances(t->at[i].b);
    for (size_t i = 0; i < t->n; i++) {
        double work = total > 0 ? (double)lw_bound_instances(t->at[i].b) / total : 0;
        sum += t->at[i].share = fmax(work, 0.25 / (double)t->n);
    }
    for (size_t i = 0; i < t->n; i++) t->at[i].share /= sum;
}

static const lw_function **functions(Cli *cli, const lw_module *mod, size_t *n) {
    size_t count = lw_module_function_count(mod);
    const lw_function **f = cli_alloc((count + 1) * sizeof *f);
    *n = 0;
    if (cli->def || count == 0) {
        f[0] = cli_function(cli, mod);
        *n = f[0] != NULL;
    } else {
        while (*n < count) {
            f[*n] = lw_module_function(mod, *n);
            ++*n;
        }
    }
    return f;
}

static int find_work(Tuning *t, const lw_module *mod) {
    size_t n;
    Bindings sizes = {0};
    const lw_function **f = functions(t->cli, mod, &n);
    int status = n ? read_bindings(t->cli, &sizes) : EXIT_FAILED;
    if (!status) status = read_data(t, f, n);
    t->at = cli_alloc((n * sizes.n + 1) * sizeof *t->at);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizes.n && !status; k++) {
            if (k > 0 && lw_function_param_count(f[i]) == 0) continue;
            status = bind(t, f[i], &sizes.at[k], n == 1);
        }
    for (size_t k = 0; k < sizes.n; k++) {
        free(sizes.at[k].size);
        free(sizes.at[k].fresh);
    }
    free(sizes.at);
    free(f);
    if (!status) share_out(t);
    return status;
}

// --- Strategies ----------------------------------------------------------------------------------

// Validates strategies, their options, and the order of decisions, before anything runs.
static int check_words(Tuning *t) {
    int status = EXIT_OK;
    for (size_t i = 0; i < t->nstrategies && !status; i++) {
        lw_tune_options o = {.struct_size = sizeof o, .strategy = t->strategy[i]};
        o.order = t->cli->order;
        o.device = t->cli->device;
        if (lw_tune_options_check(t->cli->ctx, &o) == LW_ERROR)
            status = cli_misuse(t->cli, "%s", lw_diag_get(t->cli->ctx, 0)->text);
    }
    return status;
}

// "auto,beam width=4,mcts"
static int read_strategies(Tuning *t) {
    const char *const *names = lw_tune_strategies();
    size_t count = 0;
    while (names[count]) count++;
    const char *given = t->cli->strategy ? t->cli->strategy : names[0];
    if (strcmp(given, "all") == 0) {
        t->strategy = cli_alloc((count + 1) * sizeof *t->strategy);
        for (; t->nstrategies < count; t->nstrategies++)
            t->strategy[t->nstrategies] = cli_printf("%s", names[t->nstrategies]);
        return EXIT_OK;
    }
    t->strategy = cli_alloc((strlen(given) + 2) * sizeof *t->strategy);
    for (size_t len; *given; given += len + (given[len] == ',')) {
        len = strcspn(given, ",");
        t->strategy[t->nstrategies++] = cli_printf("%.*s", (int)len, given);
    }
    return t->nstrategies ? EXIT_OK : cli_misuse(t->cli, "--strategy needs a name");
}

// --- Explorations --------------------------------------------------------------------------------

static void keep(Explored *e, const lw_tune_result *r) {
    e->state = *r->state;
    e->schedule = cli_printf("%s", r->schedule);
    e->found_by = cli_printf("%s", r->strategy);
    e->changes = r->changes ? cli_printf("%s", r->changes) : NULL;
    e->unchecked = r->unchecked ? cli_printf("%s", r->unchecked) : NULL;
    e->refuted = r->refuted ? cli_printf("%s", r->refuted) : NULL;
    e->reproducer = r->reproducer ? cli_printf("%s", r->reproducer) : NULL;
    e->stored = r->stored;
    e->near = r->near;
    e->finished = r->finished;
    e->chosen = r->chosen;
    e->described = r->described;
    e->npoints = r->point_count;
    // The last point is not the strategy's if it found nothing better.
    e->nfound = e->npoints - (e->npoints > 1 && strcmp(r->strategy, "chosen") == 0);
    e->point = cli_alloc((e->npoints + 1) * sizeof *e->point);
    if (e->npoints) memcpy(e->point, r->points, e->npoints * sizeof *e->point);
}

static lw_tune_options options_for(Tuning *t, const lw_schedule_text *schedule,
                                   const DLTensor *const *data) {
    const Cli *cli = t->cli;
    bool compared = t->repeats * t->nstrategies > 1;
    return (lw_tune_options){.struct_size = sizeof(lw_tune_options),
                             .seconds = t->seconds,
                             .trials = t->trials,
                             .gap = cli->gap,
                             .strategy = t->by,
                             .order = cli->order,
                             .seed = t->seed,
                             .threads = (int)cli->threads,
                             .isa = cli->isa,
                             .args = t->given.n ? data : NULL,
                             .data = true,
                             .device = cli->device,
                             .schedule = *schedule,
                             .set = cli->set,
                             .cold = cli->cold,
                             .db = cli->db,
                             .again = cli->again || compared,
                             .plugin = mpi_size() > 1 ? "mpi" : NULL,
                             .progress = cli->quiet ? NULL : explored_progress,
                             .trial = explored_trial,
                             .cancelled = cancelled,
                             .user = t};
}

static int explore(Tuning *t, Tuned *tuned, size_t which, const lw_schedule_text *schedule) {
    const Cli *cli = t->cli;
    const lw_tune_result *r = NULL;
    bool unbounded = cli->seconds <= 0 && cli->trials == 0 && cli->gap <= 0;
    t->now = tuned;
    t->into = &tuned->run[which];
    t->by = t->strategy[which / t->repeats];
    t->seed = cli->seed + which % t->repeats;
    t->seconds = (unbounded ? 5 : cli->seconds) * tuned->share;
    t->trials = cli->trials ? (int64_t)ceil((double)cli->trials * tuned->share) : 0;
    t->shown = 0;
    t->warned = false;
    const DLTensor **data = given_tensors(&t->given);
    lw_tune_options o = options_for(t, schedule, data);
    lw_status status = lw_tune(cli->ctx, tuned->b, &o, &r);
    free(data);
    explored_progress_end(t);
    t->served = !status && r->served;
    if (!status && !t->served) {
        keep(t->into, r);
        t->into->estimated = cli->device && strcmp(cli->device, "emulate") == 0;
        tuned->nruns++;
    }
    if (t->served && !r->finished) {
        fprintf(stderr,
                "error: rank 0 has been silent for seconds: it has died, so rank %ld ends\n",
                cli->rank);
        return EXIT_FAILED;
    }
    return cli_report(t->cli, status);
}

static int tune_all(Tuning *t) {
    lw_schedule_text schedule = {0};
    char *memory = NULL;
    int status = cli_schedule(t->cli, &schedule, &memory);
    json_open(&t->cli->object, "tunings", '[');
    for (size_t i = 0; i < t->n && !status && !interrupted; i++) {
        size_t n = t->nstrategies * t->repeats;
        for (size_t k = 0; k < n && !status && (k == 0 || !interrupted); k++)
            status = explore(t, &t->at[i], k, &schedule);
        if (status) break;
        if (t->served) continue;
        explored_json(t, &t->at[i]);
        if (!t->cli->json) explored_summary(t, &t->at[i]);
    }
    json_close(&t->cli->object, ']');
    json_bool(&t->cli->object, "interrupted", interrupted != 0);
    free(memory);
    return status;
}

// --- Files ---------------------------------------------------------------------------------------

static int write_winner(Tuning *t) {
    if (!t->cli->output || t->at[0].nruns == 0) return EXIT_OK;
    const char *text = explored_best(t, &t->at[0])->schedule;
    return output_write(t->cli, t->cli->output, text, strlen(text));
}

// The extension must be that of the format.
static int check_plot(Cli *cli) {
    const char *name = cli->plot ? strrchr(cli->plot, '/') : NULL;
    const char *kind = cli->plot ? strrchr(name ? name : cli->plot, '.') : NULL;
    if (!kind || strcasecmp(kind, ".svg") == 0) return EXIT_OK;
    return cli_misuse(cli, "--plot writes SVG, and no other format: NAME.svg, not '%s'", cli->plot);
}

static int open_log(Tuning *t) {
    if (!t->cli->log) return EXIT_OK;
    t->log = fopen(t->cli->log, "w");
    return t->log ? EXIT_OK
                  : cli_fail(t->cli, "cannot write '%s': %s", t->cli->log, strerror(errno));
}

static int close_log(Tuning *t, int status) {
    if (!t->log) return status;
    bool bad = ferror(t->log) != 0;
    bad = fclose(t->log) != 0 || bad;
    return bad && !status ? cli_fail(t->cli, "cannot write '%s'", t->cli->log) : status;
}

// The best so far was printed and stored.
static int say_interrupted(const Tuning *t) {
    size_t done = 0;
    while (done < t->n && t->at[done].nruns > 0) done++;
    fprintf(stderr, "interrupted: %s", done < t->n ? "" : "this is the best found so far\n");
    if (done < t->n) fprintf(stderr, "%zu of %zu functions were not tuned\n", t->n - done, t->n);
    return 128 + (int)interrupted;
}

static void clean_up(Tuning *t) {
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0; k < t->nstrategies * t->repeats; k++) {
            free(t->at[i].run[k].schedule);
            free(t->at[i].run[k].changes);
            free(t->at[i].run[k].found_by);
            free(t->at[i].run[k].unchecked);
            free(t->at[i].run[k].refuted);
            free(t->at[i].run[k].reproducer);
            free(t->at[i].run[k].point);
        }
        free(t->at[i].run);
        lw_bound_free(t->at[i].b);
    }
    for (size_t i = 0; i < t->nstrategies; i++) free((char *)t->strategy[i]);
    given_free(&t->given);
    free(t->strategy);
    free(t->at);
}

static int tune_holes(Cli *cli, const lw_module *mod) {
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    int status = tune_params(cli, mod, cancelled);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (status || !interrupted) return status;
    fputs("interrupted: this is the best found so far\n", stderr);
    return 128 + (int)interrupted;
}

// A description has passes, no decisions.
static int check_machine(Cli *cli) {
    const char *option = cli->strategy  ? "--strategy"
                         : cli->order   ? "--order"
                         : cli->set     ? "--set"
                         : cli->gap > 0 ? "--gap"
                                        : NULL;
    if (!cli->machine || !option) return EXIT_OK;
    return cli_misuse(cli, "%s is for Schedules; --machine tunes the parameters of passes", option);
}

int command_tune(Cli *cli) {
    if (cli->rank > 0) { // the first process has the result
        cli->quiet = true;
        cli->log = cli->plot = cli->output = NULL;
    }
    Tuning t = {.cli = cli, .repeats = cli->repeat ? cli->repeat : 1};
    lw_module *mod = NULL;
    t.live = isatty(STDERR_FILENO) && !cli->quiet;
    int status = check_machine(cli);
    if (!status && cli->device)
        status = cli_idle(cli, "--threads --isa --cold", "with --device: it is for the processor");
    if (!status) status = read_strategies(&t);
    if (!status) status = check_words(&t);
    if (!status) status = check_plot(cli);
    if (!status) status = cli_open(cli, &mod);
    if (!status && !cli->no_path && tune_has_holes(mod)) {
        status = tune_holes(cli, mod);
        clean_up(&t);
        lw_module_free(mod);
        return status;
    }
    if (!status && !cli->no_path && cli_is_teml(cli))
        status = cli_fail(cli,
                          "'%s' has nothing to tune: no 'param NAME = VALUE in [...]' lists "
                          "values; --no-path tunes its assignments without the path",
                          cli->words[0]);
    if (!status) status = find_work(&t, mod);
    if (!status && cli->output && t.n > 1)
        status = cli_misuse(cli, "-o names one file, and there are %zu winners", t.n);
    if (!status) status = output_try(cli, cli->output);
    if (!status) status = output_try(cli, cli->plot);
    if (!status) status = open_log(&t);
    if (!status) {
        signal(SIGINT, interrupt);
        signal(SIGTERM, interrupt);
        status = tune_all(&t);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
    }
    if (!status) status = write_winner(&t);
    if (!status && cli->plot) status = explored_plot(&t);
    status = close_log(&t, status);
    if (!status && interrupted) status = say_interrupted(&t);
    clean_up(&t);
    lw_module_free(mod);
    return status;
}
