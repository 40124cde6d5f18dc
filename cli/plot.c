// A small writer of line plots: panels side by side, logarithmic scales, ticks at 1, 2 and 5 times
// powers of ten, one legend below. The colours are distinguishable for colour-blind readers.
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999933"};
enum { NCOLOURS = sizeof colours / sizeof *colours };
enum { WIDTH = 420, HEIGHT = 300, LEFT = 70, TOP = 40, BETWEEN = 40, BELOW = 45, ROW = 18 };
enum { COLUMNS = 4 };

typedef struct Range {
    double low, high;
} Range;

static void widen(Range *r, double v) {
    if (!(v > 0) || !isfinite(v)) return;
    if (r->low <= 0 || v < r->low) r->low = v;
    if (v > r->high) r->high = v;
}

// Widens a range to at least a tenth of its value, with a margin.
static Range scale(Range r) {
    if (r.low <= 0) r = (Range){1, 10};
    if (r.high < r.low * 1.1) r = (Range){r.low / 1.05, r.high * 1.05};
    double air = pow(r.high / r.low, 0.03);
    return (Range){r.low / air, r.high * air};
}

static double along(Range r, double v) {
    double at = log(fmax(v, r.low) / r.low) / log(r.high / r.low);
    return at > 1 ? 1 : at;
}

static void text(FILE *to, const char *s) {
    for (; *s; s++)
        if (*s == '<')
            fputs("&lt;", to);
        else if (*s == '>')
            fputs("&gt;", to);
        else if (*s == '&')
            fputs("&amp;", to);
        else
            fputc(*s, to);
}

static void label(FILE *to, double x, double y, const char *how, const char *s) {
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, how);
    text(to, s);
    fputs("</text>\n", to);
}

// The next tick; wide ranges have fewer ticks.
static double next_tick(Range r, double last) {
    double decades = log10(r.high / r.low), power = pow(10, floor(log10(last) + 1e-9));
    double lead = last / power;
    if (decades > 3) return power * 10;
    if (decades > 0.7) return lead < 1.5 ? 2 * power : lead < 3 ? 5 * power : 10 * power;
    double step = pow(10, floor(log10(r.high - r.low)));
    step *= (r.high - r.low) / step < 2 ? 0.2 : (r.high - r.low) / step < 5 ? 0.5 : 1;
    return (floor(last / step + 1e-6) + 1) * step;
}

static void axis(FILE *to, Range r, double x, double y, bool across) {
    char number[32];
    for (double t = next_tick(r, r.low / 1.0001); t <= r.high; t = next_tick(r, t)) {
        if (t < r.low) continue;
        double at = along(r, t);
        snprintf(number, sizeof number, "%.6g", t);
        double px = across ? x + at * WIDTH : x, py = across ? y + HEIGHT : y + (1 - at) * HEIGHT;
        fprintf(to, "<path class=\"g\" d=\"M%.1f %.1f %c %.1f\"/>\n", px, py, across ? 'V' : 'H',
                across ? y : x + WIDTH);
        if (across)
            label(to, px, py + 16, " text-anchor=\"middle\"", number);
        else
            label(to, px - 6, py + 4, " text-anchor=\"end\"", number);
    }
}

static void draw_line(FILE *to, const PlotLine *l, bool steps, Range rx, Range ry, double x,
                      double y, const char *colour) {
    double last = 0;
    if (l->n == 0) return;
    fprintf(to, "<path class=\"l\" stroke=\"%s\"%s d=\"", colour,
            l->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (size_t i = 0; i < l->n; i++) {
        double px = x + along(rx, l->x[i]) * WIDTH, py = y + (1 - along(ry, l->y[i])) * HEIGHT;
        if (steps && i) fprintf(to, "L%.1f %.1f", px, last);
        fprintf(to, "%c%.1f %.1f", i ? 'L' : 'M', px, py);
        last = py;
    }
    fputs("\"/>\n", to);
}

static void draw_panel(FILE *to, const PlotPanel *p, Range ry, double x) {
    Range rx = {0, 0};
    int colour = -1;
    for (size_t i = 0; i < p->nlines; i++)
        for (size_t k = 0; k < p->line[i].n; k++) widen(&rx, p->line[i].x[k]);
    rx = scale(rx);
    axis(to, rx, x, TOP, true);
    axis(to, ry, x, TOP, false);
    fprintf(to, "<rect class=\"f\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", x, TOP,
            WIDTH, HEIGHT);
    for (size_t i = 0; i < p->nlines; i++) {
        if (p->line[i].name || colour < 0) colour++;
        draw_line(to, &p->line[i], p->steps, rx, ry, x, TOP, colours[colour % NCOLOURS]);
    }
    label(to, x + WIDTH / 2.0, TOP + HEIGHT + 36, " text-anchor=\"middle\"", p->x_label);
}

// Names of the first panel's lines, in rows.
static int legend(FILE *to, const PlotPanel *p, double x, double y) {
    int n = 0, at = -1;
    for (size_t i = 0; i < p->nlines; i++) {
        if (!p->line[i].name) continue;
        double px = x + (++at % COLUMNS) * 220, py = y + at / COLUMNS * ROW;
        if (to)
            fprintf(to, "<path class=\"l\" stroke=\"%s\"%s d=\"M%.1f %.1fh24\"/>\n",
                    colours[at % NCOLOURS], p->line[i].dashed ? " stroke-dasharray=\"6 4\"" : "",
                    px, py - 4);
        if (to) label(to, px + 30, py, "", p->line[i].name);
        n = at / COLUMNS + 1;
    }
    return n;
}

void plot_write(FILE *to, const Plot *p) {
    Range ry = {0, 0};
    for (size_t i = 0; i < p->npanels; i++)
        for (size_t k = 0; k < p->panel[i].nlines; k++)
            for (size_t j = 0; j < p->panel[i].line[k].n; j++) widen(&ry, p->panel[i].line[k].y[j]);
    ry = scale(ry);
    int rows = p->npanels ? legend(NULL, p->panel, 0, 0) : 0;
    int width = LEFT + (int)p->npanels * (WIDTH + LEFT), bottom = TOP + HEIGHT + BELOW;
    int height = bottom + BETWEEN / 2 + rows * ROW;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n<style>text{font:12px sans-serif}.g{stroke:#ddd;fill:none}"
            ".l{fill:none;stroke-width:1.7}.f{fill:none;stroke:#888}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height, width, height);
    label(to, LEFT, 24, " style=\"font-size:14px\"", p->title);
    for (size_t i = 0; i < p->npanels; i++)
        draw_panel(to, &p->panel[i], ry, LEFT + (double)i * (WIDTH + LEFT));
    char turn[80];
    snprintf(turn, sizeof turn, " text-anchor=\"middle\" transform=\"rotate(-90 16 %d)\"",
             TOP + HEIGHT / 2);
    label(to, 16, TOP + HEIGHT / 2.0, turn, p->y_label);
    if (p->npanels) legend(to, p->panel, LEFT, bottom + BETWEEN / 2.0);
    fputs("</svg>\n", to);
}
