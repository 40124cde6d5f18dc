// The options, in one table, and reading a command line by it.
//
// Every option is --name or --name VALUE, also written --name=VALUE. Options and words may be
// mixed; `--` ends the options. Those with a NAME=VALUE may be given many times, and --size takes
// several at once.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef enum Kind { FLAG, TEXT, PAIR, PAIRS } Kind;

typedef struct Option {
    const char *name, *value, *help;
    Kind kind;
    size_t at; // offset in Cli
} Option;

#define AT(member) offsetof(Cli, member)

static const Option options[] = {
    {"--size", "N=8,M=4", "values of sizes and of integer scalar arguments", PAIRS, AT(sizes)},
    {"--def", "NAME", "the function to take, where the file has several", TEXT, AT(def)},
    {"--stage", "STAGE", "program (the default), schedule, tree, stripe, asm or report", TEXT,
     AT(stage)},
    {"--schedule", "S.lws",
     "how to run it: a Schedule, or naive: as written; otherwise one is chosen", TEXT,
     AT(schedule)},
    {"--cost", NULL, "what each block of a tree touches, moves and computes", FLAG, AT(cost)},
    {"--set", "DECISIONS", "decisions to take, such as 'kind(C.m.0) = VECTOR; ...'", TEXT, AT(set)},
    {"--mapping", "OPTIONS", "TC's mapping options, such as 'tile(32,32).unroll(4)', or a preset",
     TEXT, AT(mapping)},
    {"--explain", NULL, "which constraint removed which value", FLAG, AT(explain)},
    {"--complete", NULL, "one implementation at random, as a Schedule", FLAG, AT(complete)},
    {"--samples", "N", "of each estimate (1000)", TEXT, AT(samples)},
    {"--in", "A=a.npy", "an input, or the old content of an in-out result", PAIR, AT(in)},
    {"--arg", "a=2.5", "a scalar argument as a number", PAIR, AT(arg)},
    {"--out", "C=c.npy", "write a result to a .npy file", PAIR, AT(out)},
    {"--seed", "S", "seed of the random inputs (0)", TEXT, AT(seed)},
    {"--backend", "B", "interp, tree, c or jit; the default is the best there is", TEXT,
     AT(backend)},
    {"--threads", "N", "for parallel loops; the default is LW_THREADS or all processors (jit)",
     TEXT, AT(threads)},
    {"--isa", "ISA", "at most this instruction set: scalar, avx2 or avx512 (jit)", TEXT, AT(isa)},
    {"--emit", "KIND", "what to write: c, obj, asm or so, and its header", TEXT, AT(emit)},
    {"-o", "FILE", "the file to write; its header goes beside it", TEXT, AT(output)},
    {"--lang", "LANG", "its language, tc, lwp, lwg or stripe, whatever the file is called", TEXT,
     AT(lang)},
    {"--time", NULL, "measure: many runs, their median and spread (jit)", FLAG, AT(time)},
    {"--remeasure", NULL, "measure again, whatever is kept", FLAG, AT(remeasure)},
    {"--strict", NULL, "warnings are errors", FLAG, AT(strict)},
    {"--unchecked", NULL, "accept what is not proven; check no index from data", FLAG,
     AT(unchecked)},
    {"--trace", NULL, "time of each step, to standard error", FLAG, AT(trace)},
    {"--json", NULL, "one JSON object on standard output", FLAG, AT(json)},
    {"--help", NULL, "this text", FLAG, AT(help)},
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
    for (int i = 0; i < COUNT; i++) // dashes say nothing of what was meant
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
    const char *equals = memchr(item, '=', len);
    size_t name = equals ? (size_t)(equals - item) : 0;
    if (name == 0 || name + 1 == len)
        return cli_misuse(cli, "%s takes NAME=VALUE, such as %s %s, not '%.*s'", o->name, o->name,
                          o->value, (int)len, item);
    add_pair((Pairs *)((char *)cli + o->at), cli_printf("%.*s", (int)name, item),
             cli_printf("%.*s", (int)(len - name - 1), equals + 1));
    return EXIT_OK;
}

// The one result of an einsum has no name: --out takes just a file.
static bool names_no_result(const Command *command) { return strcmp(command->name, "einsum") == 0; }

static int read_pairs(Cli *cli, const Option *o, const char *value) {
    if (names_no_result(cli->command)) {
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
    if (o->kind != TEXT) return read_pairs(cli, o, value);
    *(const char **)into = value;
    return EXIT_OK;
}

int cli_read(Cli *cli, int argc, char **argv) {
    cli->words = cli_alloc(sizeof(char *) * ((size_t)argc + 1));
    bool ended = false;
    // --json first, since it decides where complaints about the rest go.
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) cli->json = true;
    for (int i = 0; i < argc; i++) {
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && (strcmp(argv[i], "-h") == 0)) {
            cli->help = true;
        } else if (!ended && argv[i][0] == '-' && argv[i][1]) {
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
