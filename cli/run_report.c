// loopwright report: a history of benchmarks, and logs of tunings, as one self-contained page.
#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A line with the name of the file, then its lines. The page counts lines that are not JSON; a file
// without any JSON line is refused.
static int add_file(Cli *cli, FILE *out, const char *path) {
    FILE *in = fopen(path, "r");
    if (!in) return cli_fail(cli, "cannot read '%s': %s", path, strerror(errno));
    const char *base = strrchr(path, '/');
    Json head = {0};
    json_open(&head, NULL, '{');
    json_str(&head, "kind", "file");
    json_str(&head, "name", base ? base + 1 : path);
    json_close(&head, '}');
    web_data(out, head.text, head.len);
    fputc('\n', out);
    free(head.text);
    char *line = NULL;
    size_t size = 0;
    bool any = false;
    for (ssize_t n; (n = getline(&line, &size, in)) > 0;) {
        any = any || json_valid(line);
        web_data(out, line, (size_t)n);
    }
    bool bad = ferror(in) != 0;
    fputc('\n', out);
    free(line);
    fclose(in);
    if (bad) return cli_fail(cli, "cannot read '%s'", path);
    if (!any)
        return cli_fail(
            cli,
            "no line of '%s' is JSON: it is neither a history of `loopwright bench` nor "
            "a log of `loopwright tune`",
            path);
    return EXIT_OK;
}

int command_report(Cli *cli) {
    const char *path = cli->output ? cli->output : "report.html";
    char *usual = cli_history_path();
    Output page;
    bool begun = web_begin(cli, path, "Loopwright, measured", "", &page);
    int status = begun ? EXIT_OK : EXIT_FAILED;
    if (!status && cli->from) status = add_file(cli, page.file, cli->from);
    bool measured = usual && access(usual, R_OK) == 0;
    if (!status && !cli->from && !measured && !cli->nwords)
        status =
            usual ? cli_fail(cli, "there is no '%s' yet: `loopwright bench` makes it", usual)
                  : cli_fail(cli, "neither XDG_DATA_HOME nor HOME is set: --from names a history");
    if (!status && !cli->from && measured) status = add_file(cli, page.file, usual);
    for (size_t i = 0; i < cli->nwords && !status; i++)
        status = add_file(cli, page.file, cli->words[i]);
    if (begun && status)
        output_drop(&page);
    else if (begun)
        status = web_end(cli, &page, "report");
    json_str(&cli->object, "page", path);
    if (!status && !cli->json) printf("%s\n", path);
    free(usual);
    return status;
}
