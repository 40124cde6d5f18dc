// loopwright bench --agree: compares two runs.
//
// A row agrees if its intervals in both runs overlap: that of its time, and that of its ratio to
// the best peer of the first run (suites without peers have only the time). Two 95 % intervals of
// the same quantity nearly always overlap, so at least nineteen rows in twenty must agree; fewer
// mean that the intervals miss a source of variation.
#include "command/bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Run {
    char *name;  // as in the history
    char **line; // its rows
    int n, cap;
} Run;

static void run_clear(Run *r) {
    for (int i = 0; i < r->n; i++) free(r->line[i]);
    free(r->line);
    free(r->name);
    *r = (Run){0};
}

static void run_add(Run *r, const char *line) {
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        char **more = cli_alloc((size_t)r->cap * sizeof *more);
        if (r->n) memcpy(more, r->line, (size_t)r->n * sizeof *more);
        free(r->line);
        r->line = more;
    }
    r->line[r->n++] = cli_printf("%s", line);
}

// The last two runs of a history, older first. Rows of concurrent runs are interleaved.
static int read_runs(Cli *cli, const char *path, Run run[2]) {
    FILE *f = fopen(path, "r");
    if (!f) return cli_fail(cli, "cannot read '%s': %s", path, strerror(errno));
    char *line = NULL;
    size_t size = 0;
    int number = 0, status = EXIT_OK;
    while (!status && getline(&line, &size, f) > 0) {
        number++;
        if (!json_valid(line)) {
            status = cli_fail(cli, "'%s', line %d: this is no JSON", path, number);
        } else if (json_is(line, "kind", "run")) {
            run_clear(&run[0]);
            run[0] = run[1];
            run[1] = (Run){.name = json_text(line, "run")};
        } else if (json_is(line, "kind", "row") && json_member(line, "us")) {
            for (int i = 0; i < 2; i++)
                if (run[i].name && json_is(line, "run", run[i].name)) run_add(&run[i], line);
        }
    }
    free(line);
    fclose(f);
    return status;
}

// --- Two rows ------------------------------------------------------------------------------------

static const char *const keys[] = {"suite", "group", "item"};

static const char *same_row(const Run *r, const char *row) {
    for (int i = 0; i < r->n; i++) {
        bool same = true;
        for (int k = 0; k < 3 && same; k++) {
            char *text = json_text(row, keys[k]);
            same = text && json_is(r->line[i], keys[k], text);
            free(text);
        }
        if (same) return r->line[i];
    }
    return NULL;
}

// The fastest peer that counts; or the one named `named`.
static const char *peer_of(const char *row, const char *named) {
    const char *peers = json_member(row, "peers"), *best = NULL, *p;
    for (int i = 0; peers && (p = json_element(peers, i)) != NULL; i++) {
        if (!json_is(p, "counts", "true") || isnan(json_number(p, "ratio", NAN))) continue;
        if (named ? json_is(p, "name", named)
                  : !best || json_number(p, "ratio", NAN) < json_number(best, "ratio", NAN))
            best = p;
    }
    return best;
}

typedef struct Span {
    double low, high;
} Span;

static Span span(const char *object, const char *low, const char *high) {
    return (Span){json_number(object, low, NAN), json_number(object, high, NAN)};
}

// Disjoint; false if one of them is missing.
static bool apart(Span a, Span b) { return a.high < b.low || b.high < a.low; }

typedef struct Count {
    int rows, agree, times, ratios, with_ratio;
} Count;

static void say(const Cli *cli, const char *row, const char *what, Span a, Span b) {
    char *text[3];
    for (int k = 0; k < 3; k++) text[k] = json_text(row, keys[k]);
    if (!cli->json)
        printf("  %s: %s, %s: %s [%.4g, %.4g] and [%.4g, %.4g]\n", text[0], text[1], text[2], what,
               a.low, a.high, b.low, b.high);
    for (int k = 0; k < 3; k++) free(text[k]);
}

static void compare(const Cli *cli, const char *a, const char *b, Count *c) {
    Span s = span(a, "low_us", "high_us"), t = span(b, "low_us", "high_us");
    const char *p = peer_of(a, NULL);
    char *name = p ? json_text(p, "name") : NULL;
    const char *q = name ? peer_of(b, name) : NULL;
    bool time = !apart(s, t), ratio = true;
    if (!time) say(cli, a, "us", s, t);
    if (q) {
        Span u = span(p, "low", "high"), v = span(q, "low", "high");
        ratio = !apart(u, v);
        char *what = cli_printf("ratio to %s", name);
        if (!ratio) say(cli, a, what, u, v);
        free(what);
        c->with_ratio++, c->ratios += ratio;
    }
    c->rows++, c->times += time, c->agree += time && ratio;
    free(name);
}

static double percent(int part, int all) { return all ? 100.0 * part / all : 100; }

static int conclude(Cli *cli, const Count *c) {
    json_int(&cli->object, "rows", c->rows);
    json_int(&cli->object, "agree", c->agree);
    json_int(&cli->object, "times_agree", c->times);
    json_int(&cli->object, "ratios_agree", c->ratios);
    json_int(&cli->object, "ratios", c->with_ratio);
    if (!cli->json)
        printf("%d of %d rows agree (%.1f %%): times %.1f %%, ratios to the best peer %.1f %%\n",
               c->agree, c->rows, percent(c->agree, c->rows), percent(c->times, c->rows),
               percent(c->ratios, c->with_ratio));
    return percent(c->agree, c->rows) < 95
               ? cli_fail(cli, "fewer than 95 %% of the rows agree: the machine changed by more "
                               "between the runs than it did in each")
               : EXIT_OK;
}

int bench_agree(Cli *cli) {
    Run run[2] = {{0}}, other[2] = {{0}};
    char *usual = cli_history_path();
    Count c = {0};
    if (cli->nwords > 2) return cli_misuse(cli, "two histories at most");
    if (!cli->nwords && !usual)
        return cli_fail(cli, "neither XDG_DATA_HOME nor HOME is set: name a history");
    int status = read_runs(cli, cli->nwords ? cli->words[0] : usual, run);
    if (!status && cli->nwords == 2) {
        status = read_runs(cli, cli->words[1], other);
        run_clear(&run[0]); // the last of each
        run[0] = run[1], run[1] = other[1], other[1] = (Run){0};
    }
    if (!status && (!run[0].name || !run[1].name))
        status = cli_fail(cli, "there are no two runs to compare: `loopwright bench` adds one");
    for (int i = 0; !status && i < run[0].n; i++) {
        const char *same = same_row(&run[1], run[0].line[i]);
        if (same) compare(cli, run[0].line[i], same, &c);
    }
    if (!status && !c.rows) status = cli_fail(cli, "the two runs have no row in common");
    if (!status) status = conclude(cli, &c);
    for (int i = 0; i < 2; i++) run_clear(&run[i]), run_clear(&other[i]);
    free(usual);
    return status;
}
