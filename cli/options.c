// The table of options, and parsing a command line with it.
//
// Every option is --name or --name VALUE, also written --name=VALUE. Options and words may be
// mixed; `--` ends the options. Those with a NAME=VALUE may be repeated, and --size takes several
// at once. Words and numbers are validated here, so that commands get valid values.
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind { FLAG, TEXT, WORD, NUMBER, REAL, PAIR, PAIRS } Kind;

typedef struct Option {
    const char *name, *value, *help;
    Kind kind;
    size_t at;                // offset in Cli
    const char *const *words; // of a WORD, terminated by NULL
    uint64_t least, most;     // of a NUMBER
} Option;

const char *const lang_words[] = {"tc", "lwp", "lwg", "stripe", "teml", NULL};
const char *const stage_words[] = {"program",     "schedule", "tree", "stripe",
                                   "asm",         "report",   "ptx",  "schedule-tree",
                                   "dependences", "teml",     NULL};
const char *const emit_words[] = {"c", "obj", "asm", "so", "ptx", "stripe", "cubin", NULL};
const char *const backend_words[] = {"interp", "tree", "c", "jit", NULL};
static const char *const isa_words[] = {"scalar", "avx2", "avx512", NULL};

#define AT(member) .at = offsetof(Cli, member)

static const Option options[] = {
    {"--size", "N=8,M=4", "values of sizes and of integer scalar arguments", PAIRS, AT(sizes)},
    {"--def", "NAME", "the function to use if the file has several", TEXT, AT(def)},
    {"--stage", "STAGE", "the text form to print: program, schedule, tree, stripe, asm ...", WORD,
     AT(stage), .words = stage_words},
    {"--schedule", "S.lws", "a Schedule file, or naive for the loops as written (default: chosen)",
     TEXT, AT(schedule)},
    {"--do", "ACTIONS", "actions on loops, such as 'split m 64; swap; vectorize n'", TEXT,
     AT(script)},
    {"--machine", "M", "run the passes of a machine description: avx512, ..., or a file M.lwm",
     TEXT, AT(machine)},
    {"--until", "PASS", "stop after the pass of this label", TEXT, AT(until)},
    {"--timeline", "FILE.svg", "draw the simulated tasks, a row per unit", TEXT, AT(timeline)},
    {"--each", NULL, "print the loops after every pass that changed them", FLAG, AT(each)},
    {"--html", NULL, "write a page with a slider over the passes to -o FILE", FLAG, AT(html)},
    {"--describe", NULL, "print a machine description: this machine's, or that of MACHINE", FLAG,
     AT(describe)},
    {"--cost", NULL, "add footprint, traffic and operations of each block", FLAG, AT(cost)},
    {"--set", "DECISIONS", "take decisions, such as 'kind(C.m.0) = VECTOR; ...'", TEXT, AT(set)},
    {"--mapping", "OPTIONS", "TC's mapping options, such as 'tile(32,32).unroll(4)', or a preset",
     TEXT, AT(mapping)},
    {"--explain", NULL,
     "give the reasons: the constraint that removed each value, what each pass did", FLAG,
     AT(explain)},
    {"--explain-bound", NULL, "break the lower bound down", FLAG, AT(explain_bound)},
    {"--complete", NULL, "print one random implementation as a Schedule", FLAG, AT(complete)},
    {"--samples", "N", "samples per estimate (1000)", NUMBER, AT(samples), .least = 1,
     .most = INT64_MAX},
    {"--in", "A=a.npy", "an input, or the initial content of an in-out result", PAIR, AT(in)},
    {"--arg", "a=2.5", "a scalar argument as a number", PAIR, AT(arg)},
    {"--out", "C=c.npy", "write a result to a .npy file", PAIR, AT(out)},
    {"--seed", "S", "random seed (0)", NUMBER, AT(seed), .most = UINT64_MAX},
    {"--backend", "B", "interp, tree, c or jit (default: the fastest available)", WORD, AT(backend),
     .words = backend_words},
    {"--threads", "N", "threads of parallel loops (default: LW_THREADS, else all processors)",
     NUMBER, AT(threads), .least = 1, .most = 1024},
    {"--target", "SM", "least GPU architecture of PTX: sm_80 (default), sm_90 ...", TEXT,
     AT(target)},
    {"--isa", "ISA", "highest instruction set to use: scalar, avx2 or avx512", WORD, AT(isa),
     .words = isa_words},
    {"--device", "NAME", "a GPU, cuda:0, cuda:1 ..., or emulate, which needs none", TEXT,
     AT(device)},
    {"--emit", "KIND", "output: c, obj, asm, so, ptx, cubin (with a C header) or stripe", WORD,
     AT(emit), .words = emit_words},
    {"--name", "NAME", "name of the generated function (default: its own name)", TEXT, AT(name)},
    {"-o", "FILE", "output file; compile -o - writes header and code to standard output", TEXT,
     AT(output)},
    {"--seconds", "S", "search time in total (5)", REAL, AT(seconds)},
    {"--gap", "3%", "stop when the best is this close to the lower bound", REAL, AT(gap)},
    {"--trials", "N", "measure at most N candidates", NUMBER, AT(trials), .least = 1,
     .most = INT64_MAX},
    {"--strategy", "NAMES", "search strategy; several are compared", TEXT, AT(strategy)},
    {"--order", "ORDER",
     "order of decisions: given, reversed, impact (largest effect on the bound first), "
     "or choices to take first, such as kind,size",
     TEXT, AT(order)},
    {"--repeat", "N", "repeat the search with N seeds; print mean and deviation", NUMBER,
     AT(repeat), .least = 1, .most = 1000},
    {"--cold", NULL, "evict the caches before each timed call", FLAG, AT(cold)},
    {"--db", "FILE", "the tuning database; none uses no database", TEXT, AT(db)},
    {"--all", NULL, "include every trial", FLAG, AT(all)},
    {"--keep", "N", "keep the N fastest schedules of each kernel", NUMBER, AT(keep), .least = 1,
     .most = 1000000},
    {"--days", "N", "delete entries older than N days", REAL, AT(days)},
    {"--bad", NULL, "delete schedules that do not apply", FLAG, AT(bad)},
    {"--pin", NULL, "use it even if a faster one is known", FLAG, AT(pin)},
    {"--again", NULL, "search again even if the database has a result", FLAG, AT(again)},
    {"--log", "T.jsonl", "log every trial as a line of JSON", TEXT, AT(log)},
    {"--plot", "B.svg", "plot the best time over time and trials", TEXT, AT(plot)},
    {"--quiet", NULL, "no progress display", FLAG, AT(quiet)},
    {"--lang", "LANG", "language, whatever the file name: tc, lwp, lwg, stripe or teml", WORD,
     AT(lang), .words = lang_words},
    {"--check", NULL, "compare with the interpreter on exactly representable data", FLAG,
     AT(check)},
    {"--time", NULL, "time many runs: median and spread", FLAG, AT(time)},
    {"--remeasure", NULL, "ignore the cached result", FLAG, AT(remeasure)},
    {"--quick", NULL, "every suite in under a minute: fewer rounds, small sizes", FLAG, AT(quick)},
    {"--only", "A,B", "only these groups or items", TEXT, AT(only)},
    {"--peers", "A,B", "only these peers; none disables all", TEXT, AT(peers)},
    {"--peers-dir", "DIR",
     "folder of peer programs (default: LW_PEERS_DIR, else next to the command)", TEXT,
     AT(peers_dir)},
    {"--csv", NULL, "print one line per item and peer", FLAG, AT(csv)},
    {"--markdown", NULL, "print tables as in docs/performance.md", FLAG, AT(markdown)},
    {"--agree", NULL, "compare the last two runs of a history, or of two histories; no measuring",
     FLAG, AT(agree)},
    {"--history", "FILE", "append results to this file; none disables it", TEXT, AT(history)},
    {"--from", "FILE", "the history to read (default: the one that bench writes)", TEXT, AT(from)},
    {"--strict", NULL, "treat warnings as errors", FLAG, AT(strict)},
    {"--as-written", NULL, "run the loops of a Stripe file as its text has them", FLAG,
     AT(as_written)},
    {"--no-path", NULL, "choose loops for the assignments of a TeML file, without its path", FLAG,
     AT(no_path)},
    {"--unproven", NULL, "run Stripe or TeML loops whose legality is not proven (unsafe)", FLAG,
     AT(unproven)},
    {"--unchecked-index", NULL, "skip run-time checks of indices from data (unsafe)", FLAG,
     AT(unchecked_index)},
    {"--unchecked", NULL, "--unproven, --unchecked-index, and illegal TeML steps (unsafe)", FLAG,
     AT(unchecked)},
    {"--trace", NULL, "print the time of each step to standard error", FLAG, AT(trace)},
    {"--json", NULL, "print one JSON object", FLAG, AT(json)},
    {"--help", NULL, "print this help", FLAG, AT(help)},
};
enum { COUNT = sizeof options / sizeof *options };

static bool takes(const Command *command, const char *name) {
    if (strcmp(name, "--json") == 0 || strcmp(name, "--help") == 0) return true;
    for (const char *const *o = command->options; *o; o++)
        if (strcmp(*o, name) == 0) return true;
    return false;
}

// --- Reading -------------------------------------------------------------------------------------

static int unknown_option(Cli *cli, const char *word) {
    const char *names[COUNT];
    size_t n = 0;
    for (int i = 0; i < COUNT; i++)
        if (strcmp(options[i].name, word) == 0)
            return cli_misuse(cli, "no option '%s' here%s", word,
                              strcmp(cli->command->name, "einsum") || strcmp(word, "--size")
                                  ? ", only after other commands"
                                  : ": the arrays tell the sizes");
    for (int i = 0; i < COUNT; i++) // ignores the dashes
        if (takes(cli->command, options[i].name) && options[i].name[1] == '-')
            names[n++] = options[i].name + 2;
    const char *near = lw_nearest(word + strspn(word, "-"), names, n);
    if (near) return cli_misuse(cli, "unknown option '%s'; did you mean '--%s'?", word, near);
    return cli_misuse(cli, "unknown option '%s'", word);
}

static void add_pair(Pairs *pairs, char *name, char *value) {
    Pair *at = cli_alloc((pairs->n + 1) * sizeof *at);
    if (pairs->n) memcpy(at, pairs->at, pairs->n * sizeof *at);
    free(pairs->at);
    at[pairs->n++] = (Pair){name, value};
    pairs->at = at;
}

static int read_pair(Cli *cli, const Option *o, const char *item, size_t len) {
    for (; len && *item == ' '; len--) item++; // accepts 'M=4, N=8'
    const char *equals = memchr(item, '=', len);
    size_t name = equals ? (size_t)(equals - item) : 0;
    if (name == 0 || name + 1 == len)
        return cli_misuse(cli, "%s takes NAME=VALUE, such as %s %s, not '%.*s'", o->name, o->name,
                          o->value, (int)len, item);
    add_pair((Pairs *)((char *)cli + o->at), cli_printf("%.*s", (int)name, item),
             cli_printf("%.*s", (int)(len - name - 1), equals + 1));
    return EXIT_OK;
}

// The one result of an einsum has no name: --out takes only a file.
static bool names_no_result(const Command *command) { return strcmp(command->name, "einsum") == 0; }

static int read_pairs(Cli *cli, const Option *o, const char *value) {
    if (names_no_result(cli->command)) {
        const char *equals = strchr(value, '=');
        if (equals && equals > value && !memchr(value, '/', (size_t)(equals - value)))
            return cli_misuse(cli, "the one result has no name here: %s %s", o->name, equals + 1);
        add_pair(&cli->out, cli_printf("out"), cli_printf("%s", value));
        return EXIT_OK;
    }
    if (o->kind == PAIR) return read_pair(cli, o, value, strlen(value));
    int status = EXIT_OK;
    for (size_t len; *value && !status; value += len + (value[len] == ',')) {
        len = strcspn(value, ",");
        status = read_pair(cli, o, value, len);
    }
    return status;
}

int cli_word(const char *const *words, const char *text) {
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    return -1;
}

// "c, obj, asm or so"
static char *list_words(const char *const *words) {
    char *text = cli_printf("%s", words[0]);
    for (int i = 1; words[i]; i++) {
        char *longer = cli_printf("%s%s%s", text, words[i + 1] ? ", " : " or ", words[i]);
        free(text);
        text = longer;
    }
    return text;
}

static int read_word(Cli *cli, const Option *o, const char *value) {
    size_t n = 0;
    if (cli_word(o->words, value) >= 0) return EXIT_OK;
    while (o->words[n]) n++;
    const char *near = lw_nearest(value, o->words, n);
    char *all = list_words(o->words);
    if (near)
        cli_misuse(cli, "%s takes %s, not '%s'; did you mean '%s'?", o->name, all, value, near);
    else
        cli_misuse(cli, "%s takes %s, not '%s'", o->name, all, value);
    free(all);
    return EXIT_MISUSED;
}

static int read_number(Cli *cli, const Option *o, const char *value, uint64_t *into) {
    char *end;
    errno = 0;
    *into = strtoull(value, &end, 10);
    bool digits = strspn(value, "0123456789") == strlen(value) && *value;
    if (digits && !errno && *into >= o->least && *into <= o->most) return EXIT_OK;
    if (o->most < INT64_MAX)
        return cli_misuse(cli, "%s takes a number from %llu to %llu, not '%s'", o->name,
                          (unsigned long long)o->least, (unsigned long long)o->most, value);
    return cli_misuse(cli, "%s takes a whole number%s, not '%s'", o->name,
                      o->least ? " above 0" : "", value);
}

// A positive number; "3%" is 0.03, and so is "3" for an option in percent.
static int read_real(Cli *cli, const Option *o, const char *value, double *into) {
    char *end;
    *into = strtod(value, &end);
    bool percent = end != value && *end == '%';
    if (percent || strchr(o->value, '%')) *into /= 100;
    if (end != value && !end[percent] && *into > 0 && *into < 1e9) return EXIT_OK;
    return cli_misuse(cli, "%s takes a number above 0, such as %s %s, not '%s'", o->name, o->name,
                      strcmp(o->value, "S") == 0   ? "2.5"
                      : strcmp(o->value, "N") == 0 ? "30"
                                                   : o->value,
                      value);
}

static int read_option(Cli *cli, char **argv, int argc, int *i) {
    const char *word = argv[*i], *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const Option *o = NULL;
    for (int k = 0; k < COUNT && !o; k++)
        if (strlen(options[k].name) == len && memcmp(options[k].name, word, len) == 0)
            o = &options[k];
    if (!o || !takes(cli->command, o->name)) {
        char *name = cli_printf("%.*s", (int)len, word);
        int status = unknown_option(cli, name);
        free(name);
        return status;
    }
    char *into = (char *)cli + o->at;
    if (o->kind == FLAG && equals) return cli_misuse(cli, "%s takes no value", o->name);
    if (o->kind == FLAG) {
        *(bool *)into = true;
        return EXIT_OK;
    }
    const char *value = equals ? equals + 1 : ++*i < argc ? argv[*i] : NULL;
    if (!value || (!equals && value[0] == '-' && value[1] == '-'))
        return cli_misuse(cli, "%s needs a value, such as %s %s", o->name, o->name, o->value);
    if (o->kind == PAIR || o->kind == PAIRS) return read_pairs(cli, o, value);
    if (o->kind == NUMBER) return read_number(cli, o, value, (uint64_t *)into);
    if (o->kind == REAL) return read_real(cli, o, value, (double *)into);
    *(const char **)into = value;
    return o->kind == WORD ? read_word(cli, o, value) : EXIT_OK;
}

static bool is_given(const Cli *cli, const Option *o) {
    const char *at = (const char *)cli + o->at;
    switch (o->kind) {
    case FLAG: return *(const bool *)at;
    case NUMBER: return *(const uint64_t *)at != 0;
    case REAL: return *(const double *)at > 0;
    case PAIR:
    case PAIRS: return ((const Pairs *)at)->n != 0;
    default: return *(const char *const *)at != NULL;
    }
}

int cli_idle(Cli *cli, const char *names, const char *why) {
    for (int i = 0; i < COUNT; i++) {
        const char *name = options[i].name, *at = strstr(names, name);
        size_t len = strlen(name);
        if (at && (at[len] == ' ' || !at[len]) && is_given(cli, &options[i]))
            return cli_misuse(cli, "%s has no effect %s", name, why);
    }
    return EXIT_OK;
}

int cli_read(Cli *cli, int argc, char **argv) {
    cli->words = cli_alloc(sizeof(char *) * ((size_t)argc + 1));
    bool ended = false;
    // --json first, since it decides where errors are reported.
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) cli->json = true;
    for (int i = 0; i < argc; i++) {
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && (strcmp(argv[i], "-h") == 0)) {
            cli->help = true;
        } else if (!ended && argv[i][0] == '-' && argv[i][1] &&
                   argv[i][1] != '>') { // '->' of einsum
            int status = read_option(cli, argv, argc, &i);
            if (status) return status;
        } else {
            cli->words[cli->nwords++] = argv[i];
        }
    }
    return EXIT_OK;
}

void cli_help_options(FILE *to, const Command *command) {
    for (int i = 0; i < COUNT; i++) {
        const Option *o = &options[i];
        if (!takes(command, o->name)) continue;
        const char *value = o->value ? o->value : "";
        if (names_no_result(command) && strcmp(o->name, "--out") == 0) value = "c.npy";
        char *head = cli_printf("%s %s", o->name, value);
        fprintf(to, "  %-18s %s\n", head, o->help);
        free(head);
    }
}
