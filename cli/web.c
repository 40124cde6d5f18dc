// The files of cli/web, included by the assembler, and the structure of a page.
//
//     <head> page.css </head> title, lead, navigation
//     <script type="application/jsonl" id="data"> lines of JSON </script>
//     <script> page.js, then report.js, explain.js or passes.js </script>
#include "web.h"

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
EMBED(web_passes_js, "cli/web/passes.js");

static void escaped(FILE *out, const char *text) {
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
}

bool web_begin(Cli *cli, const char *path, const char *title, const char *lead, Output *page) {
    if (!output_open(cli, path, page)) return false;
    FILE *out = page->file;
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
    return true;
}

void web_data(FILE *out, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(text[i], out);
}

int web_end(Cli *cli, Output *page, const char *name) {
    FILE *out = page->file;
    fputs("</script>\n<script>\n", out);
    fputs(web_page_js, out);
    fputs(strcmp(name, "report") == 0   ? web_report_js
          : strcmp(name, "passes") == 0 ? web_passes_js
                                        : web_explain_js,
          out);
    fputs("</script>\n</body>\n</html>\n", out);
    return output_close(cli, page);
}
