// loopwright db: lists and maintains the tuning database.
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Verb {
    const char *name;
    int (*run)(Cli *cli);
    const char *idle; // options that have no effect on it
    bool reads;       // requires an existing file
} Verb;

static const char *word(const Cli *cli, size_t i) { return i < cli->nwords ? cli->words[i] : NULL; }

static int too_many(Cli *cli, size_t most) {
    if (cli->nwords <= most) return EXIT_OK;
    return cli_misuse(cli, "db %s does not take '%s'", cli->words[0], cli->words[most]);
}

// --- Listing -------------------------------------------------------------------------------------

static void print_time(double s) {
    if (s < 1e-3)
        printf("%.3g us", s * 1e6);
    else if (s < 1)
        printf("%.4g ms", s * 1e3);
    else
        printf("%.4g s", s);
}

static char *time_text(double s) {
    return s < 1e-3 ? cli_printf("%.3g us", s * 1e6) : cli_printf("%.4g ms", s * 1e3);
}

static void json_entry(Json *j, const lw_db_entry *e, bool whole) {
    json_open(j, NULL, '{');
    json_int(j, "kernel", e->kernel);
    json_int(j, "rank", e->rank);
    json_str(j, "name", e->name);
    json_str(j, "sizes", e->sizes);
    if (e->named_sizes) json_str(j, "named_sizes", e->named_sizes);
    json_str(j, "cpu", e->cpu);
    json_str(j, "isa", e->isa);
    json_int(j, "threads", e->threads);
    json_num(j, "seconds", e->seconds);
    if (e->bound > 0) json_num(j, "gap", round(e->gap * 1e4) / 1e4);
    json_str(j, "date", e->date);
    json_str(j, "origin", e->origin);
    json_bool(j, "pinned", e->pinned);
    json_int(j, "trials", e->trials);
    if (whole) {
        json_str(j, "target", e->target);
        json_str(j, "strides", e->strides);
        json_num(j, "low", e->low);
        json_num(j, "high", e->high);
        json_int(j, "samples", e->samples);
        json_num(j, "bound", e->bound);
        if (e->chosen > 0) json_num(j, "chosen", e->chosen);
        json_str(j, "version", e->version);
        json_str(j, "verified", e->verified);
        json_str(j, "program", e->program);
        json_str(j, "schedule", e->schedule);
    }
    if (e->wrong) json_str(j, "wrong", e->wrong);
    json_close(j, '}');
}

static size_t entries_of(const lw_db_entry *entry, size_t n, size_t from) {
    size_t k = from;
    while (k < n && entry[k].kernel == entry[from].kernel) k++;
    return k - from;
}

// Truncates a text to its column, with dots.
static char *shortened(const char *text, int most) {
    bool fits = strlen(text) <= (size_t)most;
    return fits ? cli_printf("%s", text) : cli_printf("%.*s...", most - 3, text);
}

// Tuned with cold caches.
static bool is_cold(const lw_db_entry *e) { return strstr(e->target, ", cold") != NULL; }

static const char *sizes_of(const lw_db_entry *e) {
    return e->named_sizes && *e->named_sizes ? e->named_sizes : e->sizes;
}

static const char *name_of(const lw_db_entry *e) { return e->name; }
static const char *cpu_of(const lw_db_entry *e) { return e->cpu; }

// The width of a column: that of its longest text, as shown.
static int width(const lw_db_entry *entry, size_t n, const char *title,
                 const char *(*of)(const lw_db_entry *e), int most) {
    size_t longest = strlen(title);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(of(&entry[i]));
        longest = len > longest ? len : longest;
    }
    return longest > (size_t)most ? most : (int)longest;
}

static bool has_several_cpus(const lw_db_entry *entry, size_t n) {
    size_t same = 0;
    while (same < n && strcmp(entry[same].cpu, entry[0].cpu) == 0) same++;
    return same < n;
}

static void print_list(const lw_db_entry *entry, size_t n) {
    enum { MOST_NAME = 24, MOST_SIZES = 36, MOST_CPU = 40 };
    int names = width(entry, n, "function", name_of, MOST_NAME);
    int sizes = width(entry, n, "sizes", sizes_of, MOST_SIZES);
    int cpus = has_several_cpus(entry, n) ? width(entry, n, "cpu", cpu_of, MOST_CPU) : 0;
    printf("%6s  %-*s  %-*s  ", "kernel", names, "function", sizes, "sizes");
    if (cpus) printf("%-*s  ", cpus, "cpu");
    printf("%-7s %7s %10s %6s %9s %7s  %s\n", "isa", "threads", "time", "gap", "schedules",
           "trials", "date");
    for (size_t i = 0, more; i < n; i += more) {
        const lw_db_entry *e = &entry[i];
        more = entries_of(entry, n, i);
        char *time = time_text(e->seconds);
        char *gap = e->bound > 0 ? cli_printf("%.0f %%", 100 * e->gap) : cli_printf("-");
        char *name = shortened(e->name, MOST_NAME), *size = shortened(sizes_of(e), MOST_SIZES);
        char *cpu = shortened(e->cpu, MOST_CPU);
        printf("%6lld  %-*s  %-*s  ", (long long)e->kernel, names, name, sizes, size);
        if (cpus) printf("%-*s  ", cpus, cpu);
        printf("%-7s %7d %10s %6s %9zu %7lld  %.10s%s%s\n", e->isa, e->threads, time, gap, more,
               (long long)e->trials, e->date, is_cold(e) ? " cold" : "",
               e->pinned ? " pinned" : "");
        free(name);
        free(size);
        free(cpu);
        free(time);
        free(gap);
    }
}

static int read_entries(Cli *cli, const lw_db_options *o, const lw_db_entry **entry, size_t *n) {
    int status = cli_report(cli, lw_db_list(cli->ctx, o, entry, n));
    if (!status) json_str(&cli->object, "database", lw_db_file(cli->ctx));
    return status;
}

static void json_entries(Cli *cli, const lw_db_entry *entry, size_t n, bool whole) {
    json_open(&cli->object, "entries", '[');
    for (size_t i = 0; i < n; i++) json_entry(&cli->object, &entry[i], whole);
    json_close(&cli->object, ']');
}

static int db_list(Cli *cli) {
    const lw_db_entry *entry;
    size_t n;
    int status = too_many(cli, 1);
    if (!status) status = read_entries(cli, NULL, &entry, &n);
    if (status) return status;
    json_entries(cli, entry, n, false);
    if (cli->json) return EXIT_OK;
    if (n)
        print_list(entry, n);
    else
        printf("nothing is tuned in '%s'\n", lw_db_file(cli->ctx));
    return EXIT_OK;
}

static void print_indented(const char *text) {
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        printf("    %.*s\n", (int)len, text);
    }
}

static void print_kernel(const lw_db_entry *e) {
    const char *sizes = e->named_sizes ? e->named_sizes : "";
    printf("kernel %lld: %s, %s%s%d thread%s, %s on %s%s\n  strides  %s\n  program\n",
           (long long)e->kernel, e->name, sizes, *sizes ? ", " : "", e->threads,
           e->threads == 1 ? "" : "s", e->isa, e->cpu, is_cold(e) ? ", cold caches" : "",
           *e->strides ? e->strides : "dense");
    print_indented(e->named_program ? e->named_program : e->program);
}

static void print_entry(const lw_db_entry *e) {
    printf("  schedule %d: ", e->rank + 1);
    print_time(e->seconds);
    if (e->high > 0) {
        printf(" (");
        print_time(e->low);
        printf(" to ");
        print_time(e->high);
        printf(")");
    }
    if (e->bound > 0) {
        printf(", bound ");
        print_time(e->bound);
        printf(", gap %.0f %%", 100 * e->gap);
    }
    if (e->chosen > 0) printf(", %.2f times as fast as chosen", e->chosen / e->seconds);
    printf("; %s on %.10s by %s%s", strcmp(e->origin, "hand") ? e->origin : "by hand", e->date,
           e->version, e->pinned ? ", pinned" : "");
    if (e->samples > 0) printf("; %lld samples", (long long)e->samples);
    if (*e->verified) printf("; verified %s", e->verified);
    printf("\n");
    print_indented(e->named_schedule ? e->named_schedule : e->schedule);
}

static int db_show(Cli *cli) {
    lw_db_options o = {.struct_size = sizeof o};
    const lw_db_entry *entry;
    size_t n;
    int status = too_many(cli, 2);
    const char *which = word(cli, 1);
    char *end = NULL;
    if (which) o.kernel = strtoll(which, &end, 10);
    if (!status && which && (*end || o.kernel < 1))
        status = cli_misuse(cli, "db show takes the number of a kernel, not '%s'", which);
    if (!status) status = read_entries(cli, &o, &entry, &n);
    if (status) return status;
    if (which && !n)
        return cli_fail(cli, "there is no kernel %s in '%s'", which, lw_db_file(cli->ctx));
    json_entries(cli, entry, n, true);
    for (size_t i = 0; i < n && !cli->json; i++) {
        if (!entry[i].rank) print_kernel(&entry[i]);
        print_entry(&entry[i]);
    }
    return EXIT_OK;
}

static int db_verify(Cli *cli) {
    lw_db_options o = {.struct_size = sizeof o, .check = true};
    const lw_db_entry *entry;
    size_t n, bad = 0;
    int status = too_many(cli, 1);
    if (!status) status = read_entries(cli, &o, &entry, &n);
    if (status) return status;
    json_entries(cli, entry, n, false);
    for (size_t i = 0; i < n; i++) {
        if (!entry[i].wrong) continue;
        bad++;
        if (cli->json) continue;
        printf("kernel %lld", (long long)entry[i].kernel);
        if (entry[i].rank >= 0) printf(", schedule %d", entry[i].rank + 1);
        printf(": %s\n", entry[i].wrong);
    }
    if (!cli->json) printf("%zu apply, %zu do not\n", n - bad, bad);
    return bad ? EXIT_FAILED : EXIT_OK;
}

// --- Files ---------------------------------------------------------------------------------------

static int db_export(Cli *cli) {
    lw_db_options o = {.struct_size = sizeof o, .trials = cli->all};
    const char *text = "";
    int status = too_many(cli, 1);
    if (!status && cli->json && !cli->output)
        return cli_misuse(cli, "--json prints a summary to standard output: name the file with -o");
    if (!status) status = cli_report(cli, lw_db_export(cli->ctx, &o, &text));
    if (status) return status;
    if (!cli->output || strcmp(cli->output, "-") == 0) {
        fputs(text, stdout);
        return EXIT_OK;
    }
    status = output_write(cli, cli->output, text, strlen(text));
    if (status) return status;
    json_str(&cli->object, "file", cli->output);
    return EXIT_OK;
}

static char *read_file(Cli *cli, const char *path, size_t *len) {
    enum { MOST = 256 << 20 };
    bool in = strcmp(path, "-") == 0;
    FILE *f = in ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, cap = 0;
    while (f && !feof(f) && !ferror(f) && n < MOST) {
        if (n == cap) {
            char *larger = cli_alloc(cap = 2 * cap + 65536);
            if (n) memcpy(larger, text, n);
            free(text);
            text = larger;
        }
        n += fread(text + n, 1, cap - n, f);
    }
    bool bad = !f || ferror(f) || n >= MOST;
    int why = errno;
    if (f && !in) fclose(f);
    *len = n;
    if (!bad) return text ? text : cli_alloc(1);
    free(text);
    cli_fail(cli, "cannot read '%s': %s", path, n >= MOST ? "it is too long" : strerror(why));
    return NULL;
}

static void add_counts(lw_db_counts *all, const lw_db_counts *one) {
    all->read += one->read;
    all->kept += one->kept;
    all->refused += one->refused;
    all->removed += one->removed;
}

static int tell_counts(Cli *cli, const lw_db_counts *c) {
    json_int(&cli->object, "read", (int64_t)c->read);
    json_int(&cli->object, "kept", (int64_t)c->kept);
    json_int(&cli->object, "refused", (int64_t)c->refused);
    if (!cli->json) printf("%zu read, %zu kept, %zu refused\n", c->read, c->kept, c->refused);
    return c->refused ? EXIT_FAILED : EXIT_OK;
}

// A file that is not JSON lines at all is refused as a whole, not line by line.
static int check_lines(Cli *cli, const char *path, const char *text, size_t len) {
    static const char sqlite[] = "SQLite format 3";
    if (len >= sizeof sqlite && !memcmp(text, sqlite, sizeof sqlite))
        return cli_fail(cli, "'%s' is a database: `loopwright db merge` takes it", path);
    bool any = !len, binary = memchr(text, 0, len) != NULL;
    for (const char *line = text; line && !any;
         line = memchr(line, '\n', len - (size_t)(line - text))) {
        line += *line == '\n';
        any = *line == '{';
    }
    return any && !binary
               ? EXIT_OK
               : cli_fail(cli, "no line of '%s' is an object: it is not what db export writes",
                          path);
}

static int db_import(Cli *cli) {
    lw_db_counts all = {0}, one;
    int status = EXIT_OK;
    if (cli->nwords < 2) return cli_misuse(cli, "which file? - is standard input");
    for (size_t i = 1; i < cli->nwords && !status; i++) {
        size_t len;
        char *text = read_file(cli, cli->words[i], &len);
        if (!text) return EXIT_FAILED;
        status = check_lines(cli, cli->words[i], text, len);
        if (!status)
            status = cli_report(cli, lw_db_import(cli->ctx, cli->words[i], text, len, &one));
        if (!status) add_counts(&all, &one);
        free(text);
    }
    return status ? status : tell_counts(cli, &all);
}

static int db_merge(Cli *cli) {
    lw_db_options o = {.struct_size = sizeof o, .trials = cli->all};
    lw_db_counts all = {0}, one;
    int status = EXIT_OK;
    if (cli->nwords < 2) return cli_misuse(cli, "which database?");
    for (size_t i = 1; i < cli->nwords && !status; i++) {
        status = cli_report(cli, lw_db_merge(cli->ctx, cli->words[i], &o, &one));
        add_counts(&all, &one);
    }
    return status ? status : tell_counts(cli, &all);
}

static int db_prune(Cli *cli) {
    lw_db_prune_options o = {.struct_size = sizeof o,
                             .keep = (int64_t)cli->keep,
                             .days = cli->days,
                             .trials = cli->all,
                             .bad = cli->bad};
    lw_db_counts c;
    int status = too_many(cli, 1);
    if (status) return status;
    if (!o.keep && o.days <= 0 && !o.trials && !o.bad)
        return cli_misuse(cli, "what should go? --keep N, --days N, --all, --bad");
    status = cli_report(cli, lw_db_prune(cli->ctx, &o, &c));
    if (status) return status;
    json_int(&cli->object, "removed", (int64_t)c.removed);
    if (!cli->json) printf("%zu removed\n", c.removed);
    return EXIT_OK;
}

// --- By hand -------------------------------------------------------------------------------------

static int put_function(Cli *cli, const lw_function *f) {
    lw_tune_options o = {.struct_size = sizeof o, .threads = (int)cli->threads, .isa = cli->isa};
    const lw_tune_result *r = NULL;
    char *schedule = NULL;
    lw_bound *b = NULL;
    int status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_bind(cli, f, &b);
    if (!status) status = cli_report(cli, lw_db_put(cli->ctx, b, &o, cli->pin, &r));
    if (!status) {
        json_values(&cli->object, b);
        json_num(&cli->object, "seconds", r->state->seconds);
        if (r->chosen > 0) json_num(&cli->object, "chosen", r->chosen);
        json_bool(&cli->object, "pinned", cli->pin);
    }
    if (!status && !cli->json) {
        printf("%s: kept, ", lw_function_name(f));
        print_time(r->state->seconds);
        printf("%s\n", cli->pin ? ", pinned" : "");
    }
    if (!status && !cli->json && !cli->pin && r->chosen > 0 && r->chosen < r->state->seconds) {
        printf("  the schedule chosen without search takes ");
        print_time(r->chosen);
        printf(", so that this one is not used; --pin prefers it\n");
    }
    lw_bound_free(b);
    free(schedule);
    return status;
}

static int db_put(Cli *cli) {
    lw_module *mod = NULL;
    if (cli->nwords < 2) return cli_misuse(cli, "which file?");
    if (!cli->schedule) return cli_misuse(cli, "which schedule? give one by --schedule FILE.lws");
    cli->words++; // the rest of the command line is like that of `run`
    cli->nwords--;
    int status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status) status = f ? put_function(cli, f) : EXIT_FAILED;
    cli->words--;
    cli->nwords++;
    lw_module_free(mod);
    return status;
}

// --- The command ---------------------------------------------------------------------------------

#define PUTTING                                                                                    \
    "--size --def --schedule --threads --isa --pin --strict --unproven --unchecked-index "         \
    "--unchecked --lang "

static const Verb verbs[] = {
    {"list", db_list, PUTTING "-o --all --keep --days --bad", true},
    {"show", db_show, PUTTING "-o --all --keep --days --bad", true},
    {"export", db_export, PUTTING "--keep --days --bad", true},
    {"import", db_import, PUTTING "-o --all --keep --days --bad", false},
    {"merge", db_merge, PUTTING "-o --keep --days --bad", false},
    {"prune", db_prune, PUTTING "-o", true},
    {"verify", db_verify, PUTTING "-o --all --keep --days --bad", true},
    {"put", db_put, "-o --all --keep --days --bad", false},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

// A named file must exist; the default file may be absent.
static int is_missing(Cli *cli) {
    const char *file = lw_db_file(cli->ctx), *variable = getenv("LW_DB");
    bool named = cli->db || (variable && *variable);
    return named && file && access(file, F_OK) != 0
               ? cli_fail(cli, "there is no database '%s'", file)
               : EXIT_OK;
}

int command_db(Cli *cli) {
    const char *names[VERBS];
    if (!cli->nwords)
        return cli_misuse(cli, "what with it? list, show, export, import, merge, prune, verify or "
                               "put");
    for (int i = 0; i < VERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(cli->words[0], verbs[i].name) != 0) continue;
        char *why = cli_printf("with db %s", verbs[i].name);
        int status = cli_idle(cli, verbs[i].idle, why);
        free(why);
        if (!status && verbs[i].reads) status = is_missing(cli);
        return status ? status : verbs[i].run(cli);
    }
    const char *near = lw_nearest(cli->words[0], names, VERBS);
    if (near) return cli_misuse(cli, "no db %s; did you mean db %s?", cli->words[0], near);
    return cli_misuse(cli,
                      "no db %s; there are list, show, export, import, merge, prune, verify "
                      "and put",
                      cli->words[0]);
}
