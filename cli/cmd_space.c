// loopwright space: the open decisions about a function, and the consequences of a decision.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static int space_of(Cli *cli, const lw_function *f) {
    lw_space_options o = {.struct_size = sizeof o,
                          .explain = cli->explain,
                          .explain_bound = cli->explain_bound,
                          .complete = cli->complete,
                          .set = cli->set,
                          .mapping = cli->mapping,
                          .device = cli->device};
    const char *text = NULL;
    char *schedule = NULL;
    lw_bound *b = NULL;
    o.samples = (int64_t)cli->samples;
    o.seed = cli->seed;
    o.threads = (int)cli->threads;
    int status = cli->mapping ? EXIT_OK : cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_bind(cli, f, &b);
    if (!status) status = cli_report(cli, lw_bound_space(cli->ctx, b, &o, &text));
    if (!status && cli->json) {
        json_str(&cli->object, "def", lw_function_name(f));
        json_values(&cli->object, b);
        json_str(&cli->object, "text", text);
    } else if (!status) {
        fputs(text, stdout);
    }
    lw_bound_free(b);
    free(schedule);
    return status;
}

int command_space(Cli *cli) {
    lw_module *mod = NULL;
    int status = cli->complete
                     ? cli_idle(cli, "--samples --explain --explain-bound", "with --complete")
                     : EXIT_OK;
    if (!status && cli->device)
        status = cli_idle(cli, "--threads", "with --device: it is for the processor");
    if (!status) status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status) status = f ? space_of(cli, f) : EXIT_FAILED;
    lw_module_free(mod);
    return status;
}
