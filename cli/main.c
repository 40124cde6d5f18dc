// loopwright: help, dispatch, and functions shared by commands.
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

// --- Ending --------------------------------------------------------------------------------------

void *cli_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (p) return p;
    fputs("loopwright: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

static char *format_text(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = cli_alloc((size_t)(len < 0 ? 0 : len) + 1);
    vsnprintf(text, (size_t)(len < 0 ? 0 : len) + 1, format, args);
    return text;
}

char *cli_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = format_text(format, args);
    va_end(args);
    return text;
}

const char *cli_time(char out[32], double us) {
    if (us < 1)
        snprintf(out, 32, "%.3f us", us);
    else if (us < 1e3)
        snprintf(out, 32, "%.1f us", us);
    else if (us < 1e6)
        snprintf(out, 32, "%.2f ms", us / 1e3);
    else
        snprintf(out, 32, "%.3f s", us / 1e6);
    return out;
}

// The usage line of the command; to be freed.
static char *usage(const Cli *cli) {
    const Command *c = cli->command;
    return c ? cli_printf("usage: loopwright %s%s%s [options]; --help explains them", c->name,
                          *c->args ? " " : "", c->args)
             : cli_printf("`loopwright --help` lists the commands");
}

static int say(Cli *cli, int status, const char *format, va_list args) {
    if (cli->rank > 0) return status;
    char *text = format_text(format, args), *line = usage(cli);
    if (cli->json)
        cli->error = cli->error ? cli->error : cli_printf("%s", text);
    else if (status == EXIT_FAILED)
        fprintf(stderr, "error: %s\n", text);
    else
        fprintf(stderr, "loopwright%s%s: %s\n%s\n", cli->command ? " " : "",
                cli->command ? cli->command->name : "", text, line);
    free(line);
    free(text);
    return status;
}

int cli_misuse(Cli *cli, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = say(cli, EXIT_MISUSED, format, args);
    va_end(args);
    return status;
}

int cli_fail(Cli *cli, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int status = say(cli, EXIT_FAILED, format, args);
    va_end(args);
    return status;
}

// All that the arguments take, before any of it is filled.
int cli_check_memory(Cli *cli, const lw_bound *b, size_t n) {
    double bytes = 0, most = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < n; i++) {
        const DLTensor *t = lw_bound_tensor(b, i);
        double one = t->dtype.bits / 8.0;
        for (int d = 0; d < t->ndim; d++) one *= (double)t->shape[d];
        bytes += one;
    }
    if (most <= 0 || bytes <= most) return EXIT_OK;
    static const char *const unit[] = {"GB", "TB", "PB", "EB"};
    double need = bytes * 1e-9;
    int u = 0;
    for (; u < 3 && need >= 1000; u++) need *= 1e-3;
    return cli_fail(cli, "the arguments need %.3g %s, and this machine has %.3g GB of memory", need,
                    unit[u], most * 1e-9);
}

static void json_diag(Json *j, const lw_diag *d) {
    static const char *const names[] = {"note", "warning", "error"};
    json_open(j, NULL, '{');
    json_str(j, "severity", names[d->severity]);
    if (d->file) {
        json_str(j, "file", d->file);
        json_int(j, "line", d->line);
        json_int(j, "column", d->column);
        json_int(j, "end_line", d->end_line);
        json_int(j, "end_column", d->end_column);
    }
    json_str(j, "text", d->text);
    json_open(j, "notes", '[');
    for (size_t i = 0; i < d->note_count; i++) json_diag(j, d->notes[i]);
    json_close(j, ']');
    json_close(j, '}');
}

// Out of memory and misuse have a text but no diagnostic.
static char *first_error(Cli *cli, lw_status status) {
    static const char head[] = "error: ";
    const char *text = lw_diag_text(cli->ctx);
    const lw_diag *d;
    for (size_t i = 0; (d = lw_diag_get(cli->ctx, i)); i++)
        if (d->severity == LW_SEVERITY_ERROR) return cli_printf("%s", d->text);
    if (strncmp(text, head, strlen(head))) return cli_printf("%s", lw_status_name(status));
    text += strlen(head);
    return cli_printf("%.*s", (int)strcspn(text, "\n"), text);
}

static bool has_warnings(const Cli *cli) {
    for (size_t i = 0; i < lw_diag_count(cli->ctx); i++)
        if (lw_diag_get(cli->ctx, i)->severity == LW_SEVERITY_WARNING) return true;
    return false;
}

int cli_report(Cli *cli, lw_status status) {
    const char *text = lw_diag_text(cli->ctx);
    bool strict = !status && cli->strict && has_warnings(cli);
    if (cli->rank > 0 || cli->silent) return status || strict ? EXIT_FAILED : EXIT_OK;
    if (cli->json)
        for (size_t i = 0; i < lw_diag_count(cli->ctx); i++)
            json_diag(&cli->diags, lw_diag_get(cli->ctx, i));
    else if (*text) {
        fflush(stdout);
        fputs(text, stderr);
    }
    char *error = first_error(cli, status);
    if (status && (cli->json || !*text)) cli_fail(cli, "%s", error);
    free(error);
    if (strict) cli_fail(cli, "--strict makes warnings errors");
    return status || strict ? EXIT_FAILED : EXIT_OK;
}

// --- What several commands do --------------------------------------------------------------------

// If one function is selected, errors in the others are ignored.
static int opened(Cli *cli, lw_status status, lw_module **mod) {
    bool right = status == LW_ERROR && cli->def && *mod && lw_module_find(*mod, cli->def);
    if (!right) {
        int failed = cli_report(cli, status);
        if (failed && cli->command->run != command_check) lw_module_free(*mod), *mod = NULL;
        return failed;
    }
    if (!cli->json)
        fprintf(stderr, "note: other functions of '%s' have errors: loopwright check shows them\n",
                cli->words[0]);
    return EXIT_OK;
}

// A text on standard input is TC unless --lang says otherwise.
static int open_stdin(Cli *cli, lw_parse_options *o, lw_module **mod) {
    size_t len = 0, room = 1 << 16, got;
    char *text = cli_alloc(room);
    while (len <= LW_MAX_SOURCE && (got = fread(text + len, 1, room - len, stdin)) > 0) {
        len += got;
        if (len < room) continue;
        char *more = cli_alloc(2 * room);
        memcpy(more, text, len);
        free(text);
        text = more;
        room *= 2;
    }
    if (!cli->lang) o->language = LW_LANG_TC;
    int status = ferror(stdin) ? cli_fail(cli, "cannot read standard input: %s", strerror(errno))
                               : opened(cli, lw_parse(cli->ctx, "<stdin>", text, len, o, mod), mod);
    free(text);
    return status;
}

static int read_sizes(Cli *cli, const Pairs *given, const lw_function *f, lw_size *out);

bool cli_is_teml(const Cli *cli) {
    const char *dot = strrchr(cli->words[0], '.');
    return cli->lang ? strcmp(cli->lang, "teml") == 0 : dot && strcmp(dot, ".teml") == 0;
}

// The sizes of a TeML program are parameters of its text, so they are needed to read it.
static int take_params(Cli *cli, lw_parse_options *o, lw_size **memory) {
    if (cli_is_teml(cli) && cli->sizes.n) {
        cli->params = cli->sizes;
        cli->sizes = (Pairs){0};
    }
    *memory = cli_alloc((cli->params.n + 1) * sizeof **memory);
    for (size_t i = 0; i < cli->params.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(cli->params.at[i].name, cli->params.at[k].name) == 0 && !cli->silent)
                return cli_misuse(cli, "--size: '%s' is given twice", cli->params.at[i].name);
    o->parameters = *memory;
    o->parameter_count = cli->params.n;
    return read_sizes(cli, &cli->params, NULL, *memory);
}

int cli_open(Cli *cli, lw_module **mod) {
    lw_parse_options o = {
        .struct_size = sizeof o, .strict = cli->strict, .unchecked = cli->unchecked};
    o.unproven = cli->unproven;
    o.as_written = cli->as_written;
    o.no_path = cli->no_path;
    o.unchecked_index = cli->unchecked_index;
    o.partial = cli->command->run == command_check || cli->def;
    *mod = NULL;
    if (cli->nwords == 0) return cli_misuse(cli, "which file?");
    if (cli->nwords > 1 && cli->sizes.n && strchr(cli->words[1], '='))
        return cli_misuse(cli, "'%s' is no file; sizes are joined by commas: --size %s=%s,%s",
                          cli->words[1], cli->sizes.at[0].name, cli->sizes.at[0].value,
                          cli->words[1]);
    if (cli->nwords > 1)
        return cli_misuse(cli, "one file at a time, not '%s' as well", cli->words[1]);
    o.language = (lw_language)(1 + cli_word(lang_words, cli->lang));
    if (!cli->named)
        json_str(&cli->object, "file", cli->words[0]); // once, even if it is read several times
    cli->named = true;
    lw_size *params;
    int status = take_params(cli, &o, &params);
    if (!status && strcmp(cli->words[0], "-") == 0)
        status = open_stdin(cli, &o, mod);
    else if (!status)
        status = opened(cli, lw_parse_file(cli->ctx, cli->words[0], &o, mod), mod);
    free(params);
    return status;
}

static char *function_names(const lw_module *mod) {
    char *text = cli_printf("%s", "");
    for (size_t i = 0; i < lw_module_function_count(mod); i++) {
        const char *name = lw_function_name(lw_module_function(mod, i));
        char *longer = cli_printf("%s%s%s", text, i ? ", " : "", name);
        free(text);
        text = longer;
    }
    return text;
}

static void no_such_function(Cli *cli, const lw_module *mod) {
    size_t n = lw_module_function_count(mod);
    const char **names = cli_alloc((n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) names[i] = lw_function_name(lw_module_function(mod, i));
    const char *near = lw_nearest(cli->def, names, n);
    char *all = function_names(mod);
    if (near)
        cli_fail(cli, "no function '%s' in '%s'; did you mean '%s'?", cli->def, cli->words[0],
                 near);
    else
        cli_fail(cli, "no function '%s' in '%s'; it has %s", cli->def, cli->words[0],
                 n ? all : "none");
    free(all);
    free(names);
}

const lw_function *cli_function(Cli *cli, const lw_module *mod) {
    const lw_function *f = NULL;
    size_t n = lw_module_function_count(mod);
    if (cli->def) {
        f = lw_module_find(mod, cli->def);
        if (!f) no_such_function(cli, mod);
    } else if (n == 1) {
        f = lw_module_function(mod, 0);
    } else if (n == 0) {
        cli_fail(cli, "'%s' has no function", cli->words[0]);
    } else {
        char *names = function_names(mod);
        cli_fail(cli, "'%s' has several functions: %s; choose one by --def NAME", cli->words[0],
                 names);
        free(names);
    }
    return f;
}

static bool whole_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !errno && end != text && !*end;
}

// --mapping is a Schedule text of one line.
static int mapping_text(Cli *cli, lw_schedule_text *out, char **memory) {
    size_t size = strlen(cli->mapping) + 16;
    const char *other = cli->schedule ? "--schedule" : "--machine";
    if (cli->schedule || cli->machine)
        return cli_misuse(cli, "--mapping and %s both make the loops: give one of them", other);
    *memory = cli_alloc(size);
    snprintf(*memory, size, "mapping %s\n", cli->mapping);
    *out = (lw_schedule_text){*memory, "--mapping"};
    return EXIT_OK;
}

int cli_schedule(Cli *cli, lw_schedule_text *out, char **memory) {
    if (cli->mapping) return mapping_text(cli, out, memory);
    if (cli->machine && cli->schedule)
        return cli_misuse(cli, "--schedule and --machine both make the loops: give one of them");
    if (cli->machine) {
        const char *text;
        int status = cli_report(cli, lw_machine_describe(cli->ctx, cli->machine, &text));
        if (status) return status;
        *memory = cli_printf("%s", text);
        *out = (lw_schedule_text){*memory, cli->machine};
        return EXIT_OK;
    }
    if (!cli->schedule) return EXIT_OK;
    if (strcmp(cli->schedule, "naive") == 0) {
        *out = (lw_schedule_text){"", cli->schedule};
        return EXIT_OK;
    }
    FILE *f = fopen(cli->schedule, "rb");
    const char *near = f ? NULL : lw_nearest(cli->schedule, (const char *const[]){"naive"}, 1);
    if (near)
        return cli_fail(cli, "cannot open '%s': %s; did you mean '%s'?", cli->schedule,
                        strerror(errno), near);
    if (!f && strpbrk(cli->schedule, ": "))
        return cli_fail(cli, "cannot open '%s': %s; --schedule takes the file of a Schedule",
                        cli->schedule, strerror(errno));
    if (!f) return cli_fail(cli, "cannot open '%s': %s", cli->schedule, strerror(errno));
    *memory = cli_alloc(LW_MAX_SOURCE + 1);
    size_t n = fread(*memory, 1, LW_MAX_SOURCE, f);
    int why = ferror(f) ? errno : 0;
    bool bad = !feof(f) || memchr(*memory, 0, n);
    fclose(f);
    if (why) return cli_fail(cli, "cannot read '%s': %s", cli->schedule, strerror(why));
    if (bad) return cli_fail(cli, "'%s' is not a text of at most 16 MiB", cli->schedule);
    (*memory)[n] = 0;
    *out = (lw_schedule_text){*memory, cli->schedule};
    return EXIT_OK;
}

// An integer that is not a parameter: 'int() pos'.
static bool is_run_time_scalar(const lw_function *f, const char *name) {
    int t = lw_function_find_param(f, name) < 0 ? lw_function_find_tensor(f, name) : -1;
    return t >= 0 && (size_t)t < lw_function_input_count(f) &&
           lw_function_tensor(f, (size_t)t)->ndim == 0;
}

static int read_sizes(Cli *cli, const Pairs *given, const lw_function *f, lw_size *out) {
    for (size_t i = 0; i < given->n; i++) {
        const Pair *size = &given->at[i];
        out[i].name = size->name;
        if (f && is_run_time_scalar(f, size->name))
            return cli_misuse(cli, "--size %s: '%s' is read at run time; give it with --arg %s=%s",
                              size->name, size->name, size->name, size->value);
        if (whole_number(size->value, &out[i].value)) continue;
        const char *space = strchr(size->value, ' ');
        if (space && strchr(space, '='))
            return cli_misuse(cli, "--size '%s=%s': commas separate the sizes, not spaces",
                              size->name, size->value);
        return cli_misuse(cli, "--size %s=%s: not a whole number of 64 bits", size->name,
                          size->value);
    }
    return EXIT_OK;
}

int cli_sizes(Cli *cli, const lw_function *f, lw_size **sizes, size_t *count) {
    lw_size *all = cli_alloc((cli->sizes.n + cli->arg.n + cli->in.n + 1) * sizeof *all);
    size_t n = cli->sizes.n;
    *sizes = all;
    int status = read_sizes(cli, &cli->sizes, f, all);
    if (status) return status;
    for (size_t i = 0; f && i < cli->arg.n; i++) {
        if (lw_function_find_param(f, cli->arg.at[i].name) < 0) continue;
        all[n].name = cli->arg.at[i].name;
        if (!whole_number(cli->arg.at[i].value, &all[n++].value))
            return cli_misuse(cli, "--arg %s=%s: '%s' is an integer", cli->arg.at[i].name,
                              cli->arg.at[i].value, cli->arg.at[i].name);
    }
    *count = n;
    return EXIT_OK;
}

int cli_bind(Cli *cli, const lw_function *f, lw_bound **out) {
    lw_size *sizes = NULL;
    size_t n = 0;
    int status = cli_sizes(cli, f, &sizes, &n);
    if (!status) status = cli_report(cli, lw_bind(cli->ctx, f, sizes, n, out));
    free(sizes);
    return status;
}

const char *cli_dtype_name(DLDataType t) {
    static const char *const ints[] = {"i8", "i16", "i32", "i64"};
    static const char *const uints[] = {"u8", "u16", "u32", "u64"};
    static const char *const floats[] = {"", "f16", "f32", "f64"};
    int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
    switch (t.code) {
    case kDLInt: return ints[log];
    case kDLUInt: return uints[log];
    case kDLFloat: return floats[log];
    case kDLBfloat: return "bf16";
    default: return "bool";
    }
}

bool cli_tuned(const char *origin) {
    return origin &&
           (!strcmp(origin, "tuned") || !strcmp(origin, "nearest") || !strcmp(origin, "hand"));
}

char *cli_values_text(const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    char *text = cli_printf("%s", lw_function_param_count(f) ? "" : "no sizes");
    for (size_t i = 0; i < lw_function_param_count(f); i++) {
        char *longer = cli_printf("%s%s%s = %lld", text, i ? ", " : "",
                                  lw_function_param(f, i)->name, (long long)lw_bound_value(b, i));
        free(text);
        text = longer;
    }
    return text;
}

char *cli_tensor_text(const lw_bound *b, size_t i) {
    const DLTensor *t = lw_bound_tensor(b, i);
    const int64_t *origin = lw_bound_origin(b, i);
    char *text = cli_printf("%s%s", cli_dtype_name(t->dtype), t->ndim ? "(" : "");
    for (int d = 0; d < t->ndim; d++) {
        char *longer = origin[d]
                           ? cli_printf("%s%s%lld:%lld", text, d ? ", " : "", (long long)origin[d],
                                        (long long)(origin[d] + t->shape[d]))
                           : cli_printf("%s%s%lld", text, d ? ", " : "", (long long)t->shape[d]);
        free(text);
        text = longer;
    }
    char *whole = cli_printf("%s%s %s", text, t->ndim ? ")" : "",
                             lw_function_tensor(lw_bound_function(b), i)->name);
    free(text);
    return whole;
}

void json_dims(Json *j, const char *key, int32_t n, const int64_t *at) {
    json_open(j, key, '[');
    for (int d = 0; d < n; d++) json_int(j, NULL, at[d]);
    json_close(j, ']');
}

void json_values(Json *j, const lw_bound *b) {
    const lw_function *f = lw_bound_function(b);
    json_open(j, "sizes", '{');
    for (size_t i = 0; i < lw_function_param_count(f); i++)
        json_int(j, lw_function_param(f, i)->name, lw_bound_value(b, i));
    json_close(j, '}');
}

void json_tensor(Json *j, const lw_bound *b, size_t i) {
    const lw_tensor *t = lw_function_tensor(lw_bound_function(b), i);
    const DLTensor *shape = lw_bound_tensor(b, i);
    bool shifted = false;
    for (int d = 0; d < shape->ndim; d++) shifted = shifted || lw_bound_origin(b, i)[d];
    json_str(j, "name", t->name);
    json_dims(j, "shape", shape->ndim, shape->shape);
    json_str(j, "dtype", cli_dtype_name(shape->dtype));
    if (shifted) json_dims(j, "origin", shape->ndim, lw_bound_origin(b, i));
}

// --- Help and dispatch ---------------------------------------------------------------------------

static void help_all(FILE *to) {
    fprintf(to,
            "loopwright %s: a tensor compiler\n"
            "\n"
            "usage: loopwright COMMAND FILE [options]\n\n",
            lw_version());
    for (const Command *c = commands; c->name; c++) fprintf(to, "  %-8s %s\n", c->name, c->summary);
    fputs("\n"
          "`loopwright COMMAND --help` explains a command with examples. A first program, mv.tc:\n"
          "\n"
          "  def mv(float(M,K) A, float(K) x) -> (C) {\n"
          "      C(m) +=! A(m,k) * x(k)\n"
          "  }\n"
          "\n"
          "  loopwright check mv.tc                      what are the ranges and types?\n"
          "  loopwright run mv.tc --size M=4,K=3         compute it on random data\n"
          "\n"
          "The extension of a file selects its language: .tc (tensor comprehensions),\n"
          ".teml (TeML), .lwp (Program text), .lwg (dataflow graph), .stripe (Stripe).\n"
          "Exit status: 0 success, 1 an error in the input, 2 an error in the command line.\n",
          to);
}

static void help_one(FILE *to, const Command *c) {
    fprintf(to, "usage: loopwright %s%s%s [options]\n\n%s: %s.\n\n%s\noptions:\n", c->name,
            *c->args ? " " : "", c->args, c->name, c->summary, c->help);
    cli_help_options(to, c);
}

static const Command *find_command(Cli *cli, const char *name) {
    const char *names[32] = {0};
    size_t n = 0;
    for (const Command *c = commands; c->name; c++) {
        if (strcmp(c->name, name) == 0) return c;
        if (n < 31) names[n++] = c->name;
    }
    const char *near = lw_nearest(name, names, n);
    if (near)
        cli_misuse(cli, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        cli_misuse(cli, "unknown command '%s'", name);
    return NULL;
}

static void trace(void *user, const char *step, double microseconds) {
    (void)user;
    fprintf(stderr, "trace: %-8s %10.1f us\n", step, microseconds);
}

static void dump(void *user, const char *step, const char *text) {
    (void)user;
    fprintf(stderr, "# %s\n%s", step, text);
}

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return a && b && stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Refuses to overwrite an input file.
static int keep_inputs(Cli *cli) {
    const char *in[] = {cli->schedule, cli->from, cli->db ? cli->db : getenv("LW_DB")};
    const char *out[] = {cli->output, cli->log, cli->plot};
    const char *const name[] = {"-o", "--log", "--plot"};
    for (int o = 0; o < 3; o++) {
        bool same = false;
        for (int i = 0; i < 3; i++) same |= same_file(out[o], in[i]);
        for (size_t i = 0; i < cli->nwords; i++) same |= same_file(out[o], cli->words[i]);
        if (same)
            return cli_misuse(cli, "%s would write over '%s', which is read", name[o], out[o]);
    }
    return EXIT_OK;
}

static int run_command(Cli *cli, int argc, char **argv) {
    json_str(&cli->object, "command", cli->command->name);
    if (cli->command->run == command_tune && !tune_rank(cli))
        return cli_fail(cli, "there is no /dev/null");
    int status = cli_read(cli, argc, argv);
    if (status) return status;
    if (cli->help) {
        help_one(stdout, cli->command);
        cli->json = false;
        return EXIT_OK;
    }
    lw_context_options o = {
        .struct_size = sizeof o, .trace = cli->trace ? trace : NULL, .dump = dump};
    o.database = cli->db;
    cli->ctx = lw_context_new(&o);
    if (!cli->ctx) return cli_fail(cli, "out of memory");
    status = keep_inputs(cli);
    if (!status) status = cli->command->run(cli);
    lw_context_free(cli->ctx);
    return status;
}

static void free_pairs(Pairs *pairs) {
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->at[i].name);
        free(pairs->at[i].value);
    }
    free(pairs->at);
}

static void free_cli(Cli *cli) {
    free_pairs(&cli->sizes);
    free_pairs(&cli->params);
    free_pairs(&cli->in);
    free_pairs(&cli->out);
    free_pairs(&cli->arg);
    free(cli->words);
    free(cli->object.text);
    free(cli->diags.text);
    free((char *)cli->error);
}

// A failure to write results is a failure of the command.
static int finish(int status) {
    bool lost = ferror(stdout) != 0; // includes errors of earlier flushes
    if ((fflush(stdout) == 0 && !lost) || status != EXIT_OK) return status;
    fprintf(stderr, "loopwright: cannot write: %s\n", strerror(errno));
    return EXIT_FAILED;
}

static int help(Cli *cli, const char *name) {
    const Command *c = name ? find_command(cli, name) : NULL;
    if (name && !c) return EXIT_MISUSED;
    if (c)
        help_one(stdout, c);
    else
        help_all(stdout);
    return finish(EXIT_OK);
}

int main(int argc, char **argv) {
    Cli cli = {0};
    if (argc < 2) {
        help_all(stderr);
        return EXIT_MISUSED;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(&cli, argc > 2 ? argv[2] : NULL);
    if (strcmp(argv[1], "--version") == 0) {
        printf("loopwright %s\n", lw_version());
        return finish(EXIT_OK);
    }
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) cli.json = true;
    json_open(&cli.object, NULL, '{');
    cli.self = strchr(argv[0], '/') ? argv[0] : "loopwright";
    cli.command = find_command(&cli, argv[1]);
    int status = cli.command ? run_command(&cli, argc - 2, argv + 2) : EXIT_MISUSED;
    if (cli.error) json_str(&cli.object, "error", cli.error);
    char *hint = status == EXIT_MISUSED ? usage(&cli) : NULL;
    if (hint) json_str(&cli.object, "hint", hint);
    free(hint);
    json_array(&cli.object, "diagnostics", &cli.diags);
    json_bool(&cli.object, "ok", status == EXIT_OK);
    json_close(&cli.object, '}');
    if (cli.json) puts(cli.object.text);
    status = finish(status);
    free_cli(&cli);
    return status;
}
