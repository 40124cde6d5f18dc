// loopwright edit: actions on the loops of a function, from a script (--do) or by
// hand in a terminal.
#include "cmd_edit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_stage(const Cli *cli, const char *stage) {
    return cli->stage && strcmp(cli->stage, stage) == 0;
}

static int print_result(Cli *cli, const lw_schedule *s) {
    const char *text = lw_schedule_get(s).text;
    bool tree = is_stage(cli, "tree");
    if (cli->output && !tree) return output_write(cli, cli->output, text, strlen(text));
    if (tree) text = lw_schedule_tree(s);
    if (cli->output) return output_write(cli, cli->output, text, strlen(text));
    if (cli->json) {
        json_str(&cli->object, "def", lw_function_name(lw_bound_function(lw_schedule_bound(s))));
        json_values(&cli->object, lw_schedule_bound(s));
        json_str(&cli->object, "schedule", lw_schedule_get(s).text);
        json_str(&cli->object, "tree", lw_schedule_tree(s));
    } else {
        fputs(text, stdout);
    }
    return EXIT_OK;
}

static int edit_schedule(Cli *cli, const lw_bound *b, const lw_show_options *o) {
    lw_schedule *s = NULL, *now = NULL;
    int status = cli_report(cli, lw_schedule_new(cli->ctx, b, o, &s));
    if (!status && cli->script)
        status = cli_report(cli, lw_schedule_edit(cli->ctx, s, "--do", cli->script, &now));
    bool by_hand = !cli->script && !cli->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!status && by_hand) {
        status = edit_screen(cli, s, &now);
        s = NULL; // it took it over
    }
    if (!status) status = print_result(cli, now ? now : s);
    lw_schedule_free(now);
    lw_schedule_free(s);
    return status;
}

// --- Trees ---------------------------------------------------------------------------------------

static int print_tree(Cli *cli, const lw_tree *t, const lw_bound *b) {
    const char *text = is_stage(cli, "tree") ? lw_tree_show(t) : lw_tree_stripe(t);
    if (cli->output) return output_write(cli, cli->output, text, strlen(text));
    if (cli->json) {
        json_str(&cli->object, "def", lw_function_name(lw_bound_function(b)));
        json_values(&cli->object, b);
        json_str(&cli->object, "stripe", lw_tree_stripe(t));
        json_str(&cli->object, "tree", lw_tree_show(t));
    } else {
        fputs(text, stdout);
    }
    return EXIT_OK;
}

static int edit_tree(Cli *cli, const lw_bound *b, const lw_show_options *o) {
    lw_tree *t = NULL, *now = NULL;
    int status = cli_report(cli, lw_tree_new(cli->ctx, b, o, &t));
    if (!status && cli->script)
        status = cli_report(cli, lw_tree_edit(cli->ctx, t, "--do", cli->script, &now));
    if (!status) status = print_tree(cli, now ? now : t, b);
    lw_tree_free(now);
    lw_tree_free(t);
    return status;
}

// --- Both ----------------------------------------------------------------------------------------

// A function that is a Tree has no Schedule to edit; others are edited as Trees on request.
static int edit_function(Cli *cli, const lw_function *f) {
    lw_show_options o = {.struct_size = sizeof o, .isa = cli->isa, .threads = (int)cli->threads};
    char *schedule = NULL;
    lw_bound *b = NULL;
    int status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_bind(cli, f, &b);
    bool tree = lw_function_is_tree(f) || is_stage(cli, "stripe");
    if (!status) status = tree ? edit_tree(cli, b, &o) : edit_schedule(cli, b, &o);
    lw_bound_free(b);
    free(schedule);
    return status;
}

int command_edit(Cli *cli) {
    if (cli->stage && !is_stage(cli, "schedule") && !is_stage(cli, "tree") &&
        !is_stage(cli, "stripe"))
        return cli_misuse(cli, "edit has the stages schedule, tree and stripe");
    lw_module *mod = NULL;
    int status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status) status = f ? edit_function(cli, f) : EXIT_FAILED;
    lw_module_free(mod);
    return status;
}
