// The pieces of cli/web, put in by the assembler, and how they make a page.
//
//     <head> page.css </head> title, lead, navigation
//     <script type="application/jsonl" id="data"> lines of JSON </script>
//     <script> page.js, then report.js or explain.js </script>
#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EMBED(NAME, FILE)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".globl " #NAME "\n" #NAME ":\n.incbin \"" FILE "\"\n.byte 0\n"                        \
            ".previous\n");                                                                        \
    extern const char NAME[]

EMBED(web_page_css, "cli/web/page.css");
EMBED(web_page_js, "cli/web/page.js");
EMBED(web_report_js, "cli/web/report.js");
EMBED(web_explain_js, "cli/web/explain.js");

static void escaped(FILE *out, const char *text) {
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
}

// A page is made beside the old one, which stays until the new one is whole.
static char *unfinished(const char *path) { return cli_printf("%s.part", path); }

FILE *web_begin(Cli *cli, const char *path, const char *title, const char *lead) {
    char *part = unfinished(path);
    FILE *out = fopen(part, "w");
    free(part);
    if (!out) {
        cli_fail(cli, "cannot write '%s': %s", path, strerror(errno));
        return NULL;
    }
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    escaped(out, title);
    fputs("</title>\n<style>\n", out);
    fputs(web_page_css, out);
    fputs("</style>\n</head>\n<body>\n<nav class=\"bar\"><div><span class=\"grow\"></span>"
          "<button class=\"theme\" type=\"button\">Dark</button></div></nav>\n"
          "<header class=\"top\"><h1>",
          out);
    escaped(out, title);
    fputs("</h1><p class=\"lead\">", out);
    escaped(out, lead);
    fputs("</p></header>\n<main></main>\n<script type=\"application/jsonl\" id=\"data\">\n", out);
    return out;
}

void web_data(FILE *out, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(text[i], out);
}

int web_end(Cli *cli, FILE *out, const char *path, const char *name) {
    fputs("</script>\n<script>\n", out);
    fputs(web_page_js, out);
    fputs(strcmp(name, "report") ? web_explain_js : web_report_js, out);
    fputs("</script>\n</body>\n</html>\n", out);
    char *part = unfinished(path);
    bool bad = ferror(out) != 0;
    bad = fclose(out) != 0 || bad || rename(part, path) != 0;
    int why = errno;
    if (bad) remove(part);
    free(part);
    return bad ? cli_fail(cli, "cannot write '%s': %s", path, strerror(why)) : EXIT_OK;
}

void web_drop(FILE *out, const char *path) {
    char *part = unfinished(path);
    fclose(out);
    remove(part);
    free(part);
}
