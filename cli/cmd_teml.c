// loopwright teml: the store of a TeML program.
#include "cli.h"

int command_teml(Cli *cli) {
    lw_module *mod = NULL;
    cli->lang = "teml";
    int status = cli_open(cli, &mod);
    const char *store = status ? NULL : lw_module_store(mod);
    if (store && cli->json)
        json_str(&cli->object, "store", store);
    else if (store)
        fputs(store, stdout);
    lw_module_free(mod);
    return status;
}
