// loopwright show: the compiler's own text forms.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int show_one(Cli *cli, const lw_function *f, bool more) {
    const char *text = NULL;
    lw_stage stage = (lw_stage)cli_word(stage_words, cli->stage);
    lw_show_options o = {.struct_size = sizeof o, .cost = cli->cost, .isa = cli->isa};
    o.json = cli->json;
    o.threads = (int)cli->threads;
    if (stage == LW_STAGE_PTX) o.isa = cli->target;
    char *schedule = NULL;
    lw_bound *b = NULL;
    int status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status && (cli->sizes.n || stage != LW_STAGE_PROGRAM)) {
        status = cli_bind(cli, f, &b);
        if (!status) status = cli_report(cli, lw_bound_show_with(cli->ctx, b, stage, &o, &text));
    } else if (!status) {
        status = cli_report(cli, lw_function_show(cli->ctx, f, LW_STAGE_PROGRAM, &text));
    }
    if (!status && cli->json) {
        json_open(&cli->object, NULL, '{');
        json_str(&cli->object, "def", lw_function_name(f));
        if (b) json_values(&cli->object, b);
        if (stage == LW_STAGE_REPORT)
            json_raw(&cli->object, "report", text);
        else
            json_str(&cli->object, "text", text);
        json_close(&cli->object, '}');
    } else if (!status) {
        printf("%s%s", text, more ? "\n" : "");
    }
    lw_bound_free(b);
    free(schedule);
    return status;
}

// With sizes there must be one function to bind; without, all are shown.
static int show_module(Cli *cli, const lw_module *mod) {
    bool bound = cli->sizes.n || strcmp(cli->stage, "program") != 0;
    if (cli->def || bound || lw_module_function_count(mod) == 0) {
        const lw_function *f = cli_function(cli, mod);
        return f ? show_one(cli, f, false) : EXIT_FAILED;
    }
    int status = EXIT_OK;
    size_t n = lw_module_function_count(mod);
    for (size_t i = 0; i < n && !status; i++)
        status = show_one(cli, lw_module_function(mod, i), i + 1 < n);
    return status;
}

static int check_effects(Cli *cli) {
    lw_stage stage = (lw_stage)cli_word(stage_words, cli->stage);
    int status = EXIT_OK;
    if (stage == LW_STAGE_PROGRAM)
        status = cli_idle(cli, "--schedule --mapping --threads --isa --cost",
                          "on a Program, which has no loops");
    if (!status && stage == LW_STAGE_PTX)
        status = cli_idle(cli, "--threads --isa", "on PTX; --target names the architecture");
    if (!status && stage != LW_STAGE_PTX)
        status = cli_idle(cli, "--target", "but with --stage ptx");
    if (!status && stage != LW_STAGE_TREE)
        status = cli_idle(cli, "--cost", "but with --stage tree");
    return status;
}

// The stage that the options imply: loops, otherwise the Program. Stripe and TeML files hold no
// Programs. With a Schedule, --threads and --isa have no effect, but are accepted so that a command
// line of `run` can be shown.
static const char *default_stage(const Cli *cli) {
    const char *dot = cli->nwords ? strrchr(cli->words[0], '.') : NULL;
    bool stripe = cli->lang ? strcmp(cli->lang, "stripe") == 0 : dot && !strcmp(dot, ".stripe");
    bool teml = cli->lang ? strcmp(cli->lang, "teml") == 0 : dot && !strcmp(dot, ".teml");
    bool loops = teml || cli->schedule || cli->mapping || cli->threads || cli->isa || cli->cost;
    return stripe && !cli->cost ? "stripe" : loops ? "tree" : "program";
}

int command_show(Cli *cli) {
    if (!cli->stage) cli->stage = default_stage(cli);
    lw_module *mod = NULL;
    int status = check_effects(cli);
    if (!status) status = cli_open(cli, &mod);
    if (!status) {
        json_str(&cli->object, "stage", cli->stage);
        json_open(&cli->object, "functions", '[');
        status = show_module(cli, mod);
        json_close(&cli->object, ']');
    }
    lw_module_free(mod);
    return status;
}
