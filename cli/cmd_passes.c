// loopwright passes: the loops that the passes of a machine description make, step by step.
#include "cli.h"
#include "web.h"

#include <stdlib.h>
#include <string.h>

static lw_passes_options options_of(const Cli *cli, const lw_schedule_text *machine) {
    lw_passes_options o = {.struct_size = sizeof o, .machine = *machine, .until = cli->until};
    const char *stage = cli->stage ? cli->stage : "tree";
    o.stage = strcmp(stage, "stripe") == 0     ? LW_STAGE_STRIPE
              : strcmp(stage, "schedule") == 0 ? LW_STAGE_SCHEDULE
                                               : LW_STAGE_TREE;
    o.each = cli->each;
    o.explain = cli->explain;
    o.cost = cli->cost && !cli->html; // the page has footprints of its own
    o.json = cli->json || cli->html;
    return o;
}

// A page with a slider over the steps.
static int write_page(Cli *cli, const lw_bound *b, const char *json) {
    const lw_function *f = lw_bound_function(b);
    char *values = cli_values_text(b);
    char *lead = cli_printf("%s with %s on %s", lw_function_signature(f), values, cli->machine);
    Output page;
    int status = EXIT_FAILED;
    if (web_begin(cli, cli->output, lw_function_name(f), lead, &page)) {
        for (const char *c = json; *c; c++) // one line of data
            if (*c != '\n') web_data(page.file, c, 1);
        fputc('\n', page.file);
        status = web_end(cli, &page, "passes");
    }
    json_str(&cli->object, "page", cli->output);
    if (!status && !cli->json) printf("%s\n", cli->output);
    free(lead);
    free(values);
    return status;
}

static int show_passes(Cli *cli, const lw_function *f, const lw_schedule_text *machine) {
    lw_bound *b = NULL;
    const char *text = NULL;
    lw_passes_options o = options_of(cli, machine);
    int status = cli_bind(cli, f, &b);
    if (!status) status = cli_report(cli, lw_bound_passes(cli->ctx, b, &o, &text));
    if (!status && cli->html)
        status = write_page(cli, b, text);
    else if (!status && cli->json)
        json_raw(&cli->object, "passes", text);
    else if (!status)
        fputs(text, stdout);
    lw_bound_free(b);
    return status;
}

static int check_options(Cli *cli) {
    if (!cli->machine) return cli_misuse(cli, "which machine? --machine avx512, or a file");
    bool schedule = cli->stage && strcmp(cli->stage, "schedule") == 0;
    if (cli->stage && !schedule && strcmp(cli->stage, "tree") != 0 &&
        strcmp(cli->stage, "stripe") != 0)
        return cli_misuse(cli, "--stage takes tree, stripe or schedule here, not '%s'", cli->stage);
    if (schedule && (cli->each || cli->explain || cli->html || cli->json))
        return cli_misuse(cli, "--stage schedule prints the Schedule of the last loops only");
    if (cli->html != (cli->output != NULL))
        return cli_misuse(cli, cli->html ? "--html needs -o FILE" : "-o is for --html");
    return EXIT_OK;
}

int command_passes(Cli *cli) {
    lw_module *mod = NULL;
    lw_schedule_text machine = {0};
    char *memory = NULL;
    int status = check_options(cli);
    if (!status) status = cli_schedule(cli, &machine, &memory);
    if (!status) status = cli_open(cli, &mod);
    if (!status) {
        const lw_function *f = cli_function(cli, mod);
        status = f ? show_passes(cli, f, &machine) : EXIT_FAILED;
    }
    lw_module_free(mod);
    free(memory);
    return status;
}
