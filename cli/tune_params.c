// loopwright tune on a TeML program: the fastest values of its parameters that list their values
// (`param T = 32 in [8, 16, 32]`), found by measuring.
//
// A combination of values is a number in mixed radix, parameter by parameter. The search starts
// from the values in the text, changes one parameter of the best combination after the other until
// no change helps, and then tries random combinations that are left. Values that make a step of
// the program illegal or malformed, or change its assignments, are refused and counted. All others
// are right by proof; the winner is compared with the reference all the same.
#include "cmd_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_COMBINATIONS = 1 << 20 };
static const double trial_seconds = 0.02, final_seconds = 0.2, better = 0.99;

typedef struct Candidate {
    int64_t number;
    lw_module *mod;
    lw_bound *b;
    double us;
} Candidate;

typedef struct Search {
    Cli *cli;
    bool (*cancelled)(void *);
    const lw_module *mod; // with the values of the text; holds the holes
    const lw_parameter **hole;
    size_t nholes;
    int64_t total, tried, refused;
    unsigned char *seen; // per combination
    Array *args;
    size_t nargs;
    char *refusal;     // the first one
    char *assignments; // with the values of the text
    Candidate best;
    double first_us, began;
    bool live;
} Search;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t digit(const Search *s, int64_t number, size_t hole) {
    for (size_t i = 0; i < hole; i++) number /= (int64_t)s->hole[i]->choice_count;
    return (size_t)(number % (int64_t)s->hole[hole]->choice_count);
}

static int64_t with_digit(const Search *s, int64_t number, size_t hole, size_t value) {
    int64_t weight = 1;
    for (size_t i = 0; i < hole; i++) weight *= (int64_t)s->hole[i]->choice_count;
    return number + ((int64_t)value - (int64_t)digit(s, number, hole)) * weight;
}

static int64_t hole_value(const Search *s, int64_t number, size_t hole) {
    return s->hole[hole]->choices[digit(s, number, hole)];
}

// "T=16,U=4", as --size takes it.
static char *combination(const Search *s, int64_t number, const char *equals, const char *comma) {
    char *text = cli_printf("%s", "");
    for (size_t i = 0; i < s->nholes; i++) {
        char *longer = cli_printf("%s%s%s%s%lld", text, i ? comma : "", s->hole[i]->name, equals,
                                  (long long)hole_value(s, number, i));
        free(text);
        text = longer;
    }
    return text;
}

// --- Holes ---------------------------------------------------------------------------------------

static bool is_given(const Cli *cli, const char *name) {
    for (size_t i = 0; i < cli->params.n; i++)
        if (strcmp(cli->params.at[i].name, name) == 0) return true;
    return false;
}

static int find_holes(Search *s) {
    const lw_parameter *p;
    size_t n = 0;
    while (lw_module_parameter(s->mod, n)) n++;
    s->hole = cli_alloc((n + 1) * sizeof *s->hole);
    s->total = 1;
    for (size_t i = 0; (p = lw_module_parameter(s->mod, i)); i++) {
        if (p->choice_count < 2 || is_given(s->cli, p->name)) continue;
        s->hole[s->nholes++] = p;
        s->total *= (int64_t)p->choice_count;
        if (s->total > MOST_COMBINATIONS)
            return cli_fail(s->cli, "more than %d combinations; fix some parameters by --size",
                            MOST_COMBINATIONS);
    }
    if (!s->nholes)
        return cli_fail(s->cli, "every parameter with a list of values is fixed by --size");
    s->seen = cli_alloc((size_t)s->total);
    return EXIT_OK;
}

static int64_t of_the_text(const Search *s) {
    int64_t number = 0;
    for (size_t i = 0; i < s->nholes; i++)
        for (size_t k = 0; k < s->hole[i]->choice_count; k++)
            if (s->hole[i]->choices[k] == s->hole[i]->value) number = with_digit(s, number, i, k);
    return number;
}

// --- One combination -----------------------------------------------------------------------------

static void drop(Candidate *c) {
    lw_bound_free(c->b);
    lw_module_free(c->mod);
    *c = (Candidate){.number = -1};
}

// Keeps the first line of the first refusal.
static void refused_because(Search *s, const char *text) {
    if (!s->refusal) s->refusal = cli_printf("%.*s", (int)strcspn(text, "\n"), text);
}

static void refused_values(Search *s, int64_t number, const char *why) {
    char *values = combination(s, number, " = ", ", "), *text = cli_printf("%s %s", values, why);
    refused_because(s, text);
    free(values);
    free(text);
}

// Reads the text with these values. False: refused.
static bool make(Search *s, int64_t number, Candidate *c) {
    Cli *cli = s->cli;
    Pairs fixed = cli->params, all = {cli_alloc((fixed.n + s->nholes) * sizeof *all.at), fixed.n};
    if (fixed.n) memcpy(all.at, fixed.at, fixed.n * sizeof *all.at);
    for (size_t i = 0; i < s->nholes; i++)
        all.at[all.n++] = (Pair){(char *)s->hole[i]->name,
                                 cli_printf("%lld", (long long)hole_value(s, number, i))};
    cli->params = all;
    *c = (Candidate){.number = number};
    cli->silent = true;
    bool ok = !cli_open(cli, &c->mod);
    if (!ok) refused_because(s, lw_diag_text(cli->ctx));
    const lw_function *f = ok ? cli_function(cli, c->mod) : NULL;
    ok = f && lw_bind(cli->ctx, f, NULL, 0, &c->b) == LW_OK;
    cli->silent = false;
    cli->params = fixed;
    for (size_t i = fixed.n; i < all.n; i++) free(all.at[i].value);
    free(all.at);
    if (!ok) drop(c);
    return ok;
}

static double timed(Search *s, const Candidate *c, double seconds) {
    const DLTensor **args = cli_alloc((s->nargs + 1) * sizeof *args);
    lw_timing timing = {.struct_size = sizeof timing};
    lw_run_options o = {.struct_size = sizeof o, .timing = &timing, .measure_seconds = seconds};
    o.threads = (int)s->cli->threads;
    o.isa = s->cli->isa;
    for (size_t i = 0; i < s->nargs; i++) args[i] = &s->args[i].t;
    lw_status status = lw_run(s->cli->ctx, c->b, args, s->nargs, &o);
    free(args);
    return status == LW_OK ? timing.median_us : INFINITY;
}

static int make_data(Search *s, const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    s->nargs = lw_function_input_count(f) + lw_function_output_count(f);
    s->args = cli_alloc((s->nargs + 1) * sizeof *s->args);
    for (size_t i = 0; i < s->nargs; i++) {
        if (!data_new(&s->args[i], lw_bound_tensor(b, i), i))
            return cli_fail(s->cli, "there is not enough memory for '%s'",
                            lw_function_tensor(f, i)->name);
        data_random(&s->args[i], s->cli->seed, lw_function_tensor(f, i)->name, false, 0, 0);
    }
    return EXIT_OK;
}

static size_t argument_count(const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    return lw_function_input_count(f) + lw_function_output_count(f);
}

// Parameters that change the shape of an argument are sizes, not choices.
static bool same_shapes(const Search *s, const lw_bound *b) {
    if (argument_count(b) != s->nargs) return false;
    for (size_t i = 0; i < s->nargs; i++) {
        const DLTensor *t = lw_bound_tensor(b, i), *had = &s->args[i].t;
        if (t->ndim != had->ndim) return false;
        for (int d = 0; d < t->ndim; d++)
            if (t->shape[d] != had->shape[d]) return false;
    }
    return true;
}

// Why these values are no choice: they change what the function computes. NULL: they do not.
static const char *other_meaning(const Search *s, const lw_bound *b) {
    if (!same_shapes(s, b))
        return "changes the shape of an argument; fix such a parameter by --size";
    const char *text = lw_function_assignments(lw_bound_function(b));
    if (strcmp(text, s->assignments) == 0) return NULL;
    return "changes the assignments, and so the result; fix such a parameter by --size";
}

static void show_progress(const Search *s) {
    char time[32];
    if (!s->live) return;
    fprintf(stderr, "\r%.1f s, %lld of %lld combinations, best %s ", seconds_now() - s->began,
            (long long)s->tried, (long long)s->total,
            s->best.b ? cli_time(time, s->best.us) : "none");
}

// The times of a candidate and of the best alternate before it replaces the best.
static void try_number(Search *s, int64_t number) {
    Candidate c;
    if (s->seen[number]) return;
    s->seen[number] = 1;
    s->tried++;
    bool made = make(s, number, &c);
    const char *other = made ? other_meaning(s, c.b) : NULL;
    if (!made || other) {
        s->refused++;
        if (other) refused_values(s, number, other);
        if (made) drop(&c);
        return;
    }
    c.us = timed(s, &c, trial_seconds);
    if (s->best.b && c.us < s->best.us / better) {
        double again = timed(s, &s->best, trial_seconds);
        s->best.us = fmin(s->best.us, again);
        c.us = fmin(c.us, timed(s, &c, trial_seconds));
    }
    if (!s->best.b || c.us < better * s->best.us) {
        drop(&s->best);
        s->best = c;
    } else {
        drop(&c);
    }
    show_progress(s);
}

// --- The search ----------------------------------------------------------------------------------

static bool is_over(const Search *s) {
    const Cli *cli = s->cli;
    double limit = cli->seconds > 0 ? cli->seconds : cli->trials ? INFINITY : 5;
    return s->cancelled(NULL) || s->tried == s->total || seconds_now() - s->began > limit ||
           (cli->trials && (uint64_t)s->tried >= cli->trials);
}

// Changes each parameter of the best in turn, as long as that helps.
static void climb(Search *s) {
    for (int64_t before = -1; before != s->best.number && s->best.b;) {
        before = s->best.number;
        for (size_t i = 0; i < s->nholes; i++)
            for (size_t k = 0; k < s->hole[i]->choice_count && !is_over(s); k++)
                try_number(s, with_digit(s, s->best.number, i, k));
        if (is_over(s)) return;
    }
}

static void scatter(Search *s) {
    uint64_t state = s->cli->seed + 0x9e3779b97f4a7c15u;
    while (!is_over(s)) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t number = (int64_t)((state >> 20) % (uint64_t)s->total);
        while (s->seen[number]) number = (number + 1) % s->total;
        int64_t best = s->best.number;
        try_number(s, number);
        if (s->best.number != best) climb(s);
    }
}

static int search(Search *s) {
    Candidate first;
    int64_t number = of_the_text(s);
    if (!make(s, number, &first))
        return cli_fail(s->cli, "%s", s->refusal ? s->refusal : "the values of the text fail");
    s->seen[number] = 1;
    s->tried = 1;
    s->assignments = cli_printf("%s", lw_function_assignments(lw_bound_function(first.b)));
    int status = make_data(s, first.b);
    if (!status) first.us = timed(s, &first, trial_seconds);
    s->best = first;
    s->first_us = first.us;
    if (!status && !isfinite(first.us)) status = cli_report(s->cli, LW_ERROR);
    if (!status) climb(s);
    if (!status) scatter(s);
    if (s->live) fputs("\n", stderr);
    return status;
}

// The text's own values and the winner's, once more and in turn.
static void last_word(Search *s) {
    Candidate first;
    double had = INFINITY, now = INFINITY;
    if (s->best.number == of_the_text(s) || !make(s, of_the_text(s), &first)) return;
    for (int round = 0; round < 3; round++) {
        had = fmin(had, timed(s, &first, final_seconds / 3));
        now = fmin(now, timed(s, &s->best, final_seconds / 3));
    }
    s->first_us = had;
    s->best.us = now;
    if (now > had) { // noise
        drop(&s->best);
        s->best = first;
        s->best.us = s->first_us;
    } else {
        drop(&first);
    }
}

static int check_winner(Search *s) {
    const lw_check_result *r;
    lw_tune_options o = {.struct_size = sizeof o, .threads = (int)s->cli->threads};
    o.isa = s->cli->isa;
    o.seed = s->cli->seed;
    int status = cli_report(s->cli, lw_check(s->cli->ctx, s->best.b, &o, &r));
    if (!status && r->difference)
        status = cli_fail(s->cli, "the winner is wrong; please report this: %s", r->difference);
    return status;
}

// --- Results -------------------------------------------------------------------------------------

static void print_result(const Search *s) {
    char best[32], first[32];
    char *values = combination(s, s->best.number, " = ", ", ");
    char *option = combination(s, s->best.number, "=", ",");
    printf("%s\n", lw_function_signature(lw_bound_function(s->best.b)));
    printf("  holes    ");
    for (size_t i = 0; i < s->nholes; i++) {
        printf("%s%s of ", i ? "; " : "", s->hole[i]->name);
        for (size_t k = 0; k < s->hole[i]->choice_count; k++)
            printf("%s%lld", k ? ", " : "", (long long)s->hole[i]->choices[k]);
    }
    printf("\n  tried    %lld of %lld combinations in %.1f s, %lld refused%s%s\n",
           (long long)s->tried, (long long)s->total, seconds_now() - s->began,
           (long long)s->refused, s->refusal ? ", first: " : "", s->refusal ? s->refusal : "");
    printf("  best     %s: %s", values, cli_time(best, s->best.us));
    if (s->best.number == of_the_text(s))
        printf(", the values of the text\n");
    else
        printf(", %.2f times as fast as the values of the text (%s)\n", s->first_us / s->best.us,
               cli_time(first, s->first_us));
    printf("  use      --size %s\n", option);
    free(values);
    free(option);
}

static void json_result(const Search *s) {
    Json *j = &s->cli->object;
    json_str(j, "function", lw_function_name(lw_bound_function(s->best.b)));
    json_int(j, "combinations", s->total);
    json_int(j, "tried", s->tried);
    json_int(j, "refused", s->refused);
    json_num(j, "seconds", s->best.us * 1e-6);
    json_num(j, "text_seconds", s->first_us * 1e-6);
    json_open(j, "best", '{');
    for (size_t i = 0; i < s->nholes; i++)
        json_int(j, s->hole[i]->name, hole_value(s, s->best.number, i));
    json_close(j, '}');
}

bool tune_has_holes(const lw_module *mod) {
    const lw_parameter *p;
    for (size_t i = 0; (p = lw_module_parameter(mod, i)); i++)
        if (p->choice_count > 1) return true;
    return false;
}

// Options of the search for Schedules.
static int check_options(Cli *cli) {
    const struct {
        const char *name;
        bool given;
    } option[] = {{"-o", cli->output},       {"--log", cli->log},
                  {"--plot", cli->plot},     {"--schedule", cli->schedule},
                  {"--set", cli->set},       {"--strategy", cli->strategy},
                  {"--order", cli->order},   {"--gap", cli->gap > 0},
                  {"--repeat", cli->repeat}, {"--cold", cli->cold}};
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        if (option[i].given)
            return cli_misuse(cli, "%s has no effect on the parameters of a TeML program",
                              option[i].name);
    return EXIT_OK;
}

int tune_params(Cli *cli, const lw_module *mod, bool (*cancelled)(void *)) {
    Search s = {.cli = cli, .mod = mod, .cancelled = cancelled, .began = seconds_now()};
    s.live = isatty(STDERR_FILENO) && !cli->quiet;
    s.best.number = -1;
    int status = check_options(cli);
    if (!status) status = find_holes(&s);
    if (!status) status = search(&s);
    if (!status) last_word(&s);
    if (!status) status = check_winner(&s);
    if (!status && cli->json)
        json_result(&s);
    else if (!status)
        print_result(&s);
    drop(&s.best);
    for (size_t i = 0; i < s.nargs; i++) data_free(&s.args[i]);
    free(s.args);
    free(s.hole);
    free(s.seen);
    free(s.refusal);
    free(s.assignments);
    return status;
}
