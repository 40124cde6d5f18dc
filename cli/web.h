// Pages of HTML that stand alone: styles and scripts of cli/web in one file, with their data.
#ifndef CLI_WEB_H
#define CLI_WEB_H

#include "cli.h"

// Begins a page: `title`, a sentence `lead`, its data to follow.
// False after saying why not.
bool web_begin(Cli *cli, const char *path, const char *title, const char *lead, Output *page);
// Text inside of the page's data, which no script element ends too early: < becomes \u003c.
void web_data(FILE *out, const char *text, size_t len);
// Ends the data, adds the script `name` ("report"), closes the file. EXIT_OK, or EXIT_FAILED after
// saying why.
int web_end(Cli *cli, Output *page, const char *name);

#endif
