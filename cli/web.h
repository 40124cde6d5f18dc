// Self-contained HTML pages: styles and scripts of cli/web in one file, with their data.
#ifndef CLI_WEB_H
#define CLI_WEB_H

#include "cli.h"

// Begins a page with `title` and a sentence `lead`; its data follow. False after an error message.
bool web_begin(Cli *cli, const char *path, const char *title, const char *lead, Output *page);
// Text in the page's data, escaped so that it cannot end the script element: < becomes \u003c.
void web_data(FILE *out, const char *text, size_t len);
// Ends the data, adds the script `name` ("report"), closes the file. EXIT_OK, or EXIT_FAILED after
// an error message.
int web_end(Cli *cli, Output *page, const char *name);

#endif
