// Line plots as SVG, for --plot.
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct PlotLine {
    const char *name; // in the legend; NULL: name and colour of the previous line
    const double *x, *y;
    size_t n;
    bool dashed;
} PlotLine;

typedef struct PlotPanel {
    const char *x_label;
    const PlotLine *line;
    size_t nlines;
    bool steps; // a value holds until the next point
} PlotPanel;

typedef struct Plot {
    const char *title, *y_label;
    const PlotPanel *panel; // side by side with a common y scale; x and y are logarithmic
    size_t npanels;
} Plot;

void plot_write(FILE *to, const Plot *p);

#endif
