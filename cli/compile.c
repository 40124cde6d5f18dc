// loopwright compile: a function as a file that stands alone.
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int write_file(Cli *cli, const char *path, const char *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    int why = errno;
    if (f && fclose(f) != 0) {
        ok = false;
        why = errno;
    }
    return ok ? EXIT_OK : cli_fail(cli, "cannot write '%s': %s", path, strerror(why));
}

// "out/mv.c" gives "out/mv.h".
static char *header_path(const char *path) {
    size_t len = strlen(path);
    bool c = len > 2 && strcmp(path + len - 2, ".c") == 0;
    return cli_printf("%.*s.h", (int)(c ? len - 2 : len), path);
}

static int write_c(Cli *cli, const lw_bound *b, lw_emit_options *o) {
    char *header = header_path(cli->output);
    const char *slash = strrchr(header, '/');
    lw_emitted out;
    o->header = slash ? slash + 1 : header;
    int status = cli_report(cli, lw_bound_emit(cli->ctx, b, LW_EMIT_C, o, &out));
    if (!status) status = write_file(cli, cli->output, out.bytes, out.size);
    if (!status) status = write_file(cli, header, out.header, out.header_size);
    if (!status) {
        json_str(&cli->object, "function", out.function);
        json_str(&cli->object, "source", cli->output);
        json_str(&cli->object, "header", header);
    }
    free(header);
    return status;
}

static int compile_function(Cli *cli, const lw_function *f) {
    lw_emit_options o = {.struct_size = sizeof o};
    char *schedule = NULL;
    lw_size *sizes;
    size_t n = 0;
    lw_bound *b = NULL;
    int status = cli_sizes(cli, NULL, &sizes, &n);
    if (!status) status = cli_schedule(cli, &o.schedule, &schedule);
    if (!status) status = cli_report(cli, lw_bind(cli->ctx, f, sizes, n, &b));
    if (!status) json_values(&cli->object, b);
    if (!status) status = write_c(cli, b, &o);
    lw_bound_free(b);
    free(sizes);
    free(schedule);
    return status;
}

int command_compile(Cli *cli) {
    if (!cli->emit) return cli_misuse(cli, "what to write? --emit c");
    if (strcmp(cli->emit, "c") != 0)
        return cli_misuse(cli, "cannot write '%s'; there is c", cli->emit);
    if (!cli->output) return cli_misuse(cli, "where to? -o FILE.c");
    lw_module *mod;
    int status = cli_open(cli, &mod);
    const lw_function *f = status ? NULL : cli_function(cli, mod);
    if (!status) status = f ? compile_function(cli, f) : EXIT_FAILED;
    lw_module_free(mod);
    return status;
}
