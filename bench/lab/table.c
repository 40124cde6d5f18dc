#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Row *table_row(Table *t, const char *list, const char *item, const char *unit) {
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->row = realloc(t->row, sizeof *t->row * (size_t)t->cap);
        if (!t->row) abort();
    }
    Row *r = &t->row[t->n++];
    *r = (Row){.list = list, .item = item, .unit = unit, .rate = NAN, .of_peak = NAN};
    return r;
}

void table_free(Table *t) {
    free(t->row);
    *t = (Table){0};
}

// --- Bars ----------------------------------------------------------------------------------------

// The peer of the bar: the named one, or the fastest.
static const RowPeer *rival(const Row *r) {
    const RowPeer *best = NULL;
    for (int i = 0; i < r->npeers; i++) {
        const RowPeer *p = &r->peer[i];
        if (p->differs || isnan(p->ratio.median)) continue;
        if (r->bar.against && strcmp(r->bar.against, p->name)) continue;
        if (!best || p->ratio.median < best->ratio.median) best = p;
    }
    return best;
}

double row_value(const Row *r) {
    const RowPeer *p = rival(r);
    switch (r->bar.kind) {
    case BAR_LIMIT: return r->of_peak;
    case BAR_PEER: return p ? p->ratio.low : NAN;
    case BAR_MOST: return r->rate;
    case BAR_NONE: break;
    }
    return NAN;
}

// "At least the peer" allows 2 % on a single item; the mean of the list must still reach it.
enum { SLACK_PERCENT = 2 };

bool row_met(const Row *r) {
    double value = row_value(r);
    switch (r->bar.kind) {
    case BAR_LIMIT: return value >= r->bar.need;
    case BAR_PEER:
        if (r->bar.limit > 0 && r->of_peak >= r->bar.limit) return true;
        return value >= (r->bar.need > 1 ? r->bar.need : (100 - SLACK_PERCENT) / 100.0);
    case BAR_MOST: return value <= r->bar.need;
    case BAR_NONE: break;
    }
    return true;
}

static void bar_text(const Row *r, char *out, size_t size) {
    const RowPeer *p = rival(r);
    double value = row_value(r);
    const char *met = isnan(value) ? "?" : row_met(r) ? "met" : "NOT MET";
    *out = 0;
    if (r->bar.kind == BAR_LIMIT)
        snprintf(out, size, ">= %2.0f %%        %5.1f %%       %s", r->bar.need * 100, value * 100,
                 met);
    else if (r->bar.kind == BAR_PEER && r->bar.limit > 0)
        snprintf(out, size, ">= %4.4g %-10.10s %.2f > %.2f, or %2.0f %%: %3.0f %% %s", r->bar.need,
                 p ? p->name : "(absent)", p ? p->ratio.median : NAN, value, r->bar.limit * 100,
                 r->of_peak * 100, met);
    else if (r->bar.kind == BAR_PEER)
        snprintf(out, size, ">= %4.4g %-10.10s %.2f > %.2f %s", r->bar.need,
                 p ? p->name : "(absent)", p ? p->ratio.median : NAN, value, met);
    else if (r->bar.kind == BAR_MOST)
        snprintf(out, size, "<= %g %s  %s", r->bar.need, r->unit, met);
}

// --- Table ---------------------------------------------------------------------------------------

static int column(const char **names, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

static int columns(const Table *t, const char *list, const char **names) {
    int n = 0;
    for (int i = 0; i < t->n; i++)
        for (int j = 0; j < t->row[i].npeers; j++)
            if (!strcmp(t->row[i].list, list) && n < TRIAL_ENTRIES &&
                column(names, n, t->row[i].peer[j].name) < 0)
                names[n++] = t->row[i].peer[j].name;
    return n;
}

static void print_row(FILE *out, const Row *r, const char **names, int n) {
    char bar[160];
    if (r->note) {
        fprintf(out, "  %-24s %s\n", r->item, r->note);
        return;
    }
    fprintf(out, "  %-24s %9.1f", r->item, r->rate);
    if (isnan(r->of_peak))
        fprintf(out, "        -");
    else
        fprintf(out, "  %5.1f %%", r->of_peak * 100);
    for (int i = 0; i < n; i++) {
        const RowPeer *p = NULL;
        for (int j = 0; j < r->npeers; j++)
            if (!strcmp(r->peer[j].name, names[i])) p = &r->peer[j];
        if (!p)
            fprintf(out, "         -");
        else
            fprintf(out, " %8.1f%c", p->rate, p->differs ? '!' : ' ');
    }
    bar_text(r, bar, sizeof bar);
    fprintf(out, "  %s\n", bar);
}

void table_print(FILE *out, const Table *t, const char *list) {
    const char *names[TRIAL_ENTRIES], *unit = "";
    int n = columns(t, list, names);
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].list, list)) unit = t->row[i].unit;
    fprintf(out, "\n  %-24s %9s  of peak", list, "ours");
    for (int i = 0; i < n; i++) fprintf(out, " %9.9s", names[i]);
    fprintf(out, "  %-15s    (%s)\n", "bar", unit);
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].list, list)) print_row(out, &t->row[i], names, n);
    fflush(out);
}

// The geometric mean over a list of the median ratios to each row's rival; NAN: no bar of peers.
static double list_mean(const Table *t, const char *list) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const Row *r = &t->row[i];
        const RowPeer *p = rival(r);
        if (strcmp(r->list, list) || r->bar.kind != BAR_PEER || !p) continue;
        sum += log(p->ratio.median / r->bar.need);
        n++;
    }
    return n ? exp(sum / n) : NAN;
}

void table_verdict(FILE *out, const Table *t) {
    int bars = 0, met = 0;
    fprintf(out, "\n");
    for (int i = 0; i < t->n; i++) {
        const Row *r = &t->row[i];
        bool first = true;
        for (int j = 0; j < i; j++) first = first && strcmp(t->row[j].list, r->list);
        double mean = first ? list_mean(t, r->list) : NAN;
        if (!isnan(mean))
            fprintf(out, "  %s: geometric mean against the bar %.3f, %s\n", r->list, mean,
                    mean >= 1 ? "met" : "NOT MET");
        if (r->bar.kind == BAR_NONE) continue;
        bars++;
        met += row_met(r);
        for (int j = 0; j < r->npeers; j++)
            if (r->peer[j].differs)
                fprintf(out, "  %s %s: the result of %s differs\n", r->list, r->item,
                        r->peer[j].name);
    }
    fprintf(out, "  %d of %d bars met\n", met, bars);
}

// --- JSON ----------------------------------------------------------------------------------------

static void number(FILE *out, const char *key, double x) {
    if (isfinite(x)) fprintf(out, ", \"%s\": %.6g", key, x);
}

static void json_row(FILE *out, const Row *r) {
    static const char *const kinds[] = {"none", "limit", "peer", "most"};
    fprintf(out, "    {\"list\": \"%s\", \"item\": \"%s\", \"unit\": \"%s\"", r->list, r->item,
            r->unit);
    number(out, "rate", r->rate);
    number(out, "of_peak", r->of_peak);
    fprintf(out, ", \"peers\": [");
    for (int i = 0; i < r->npeers; i++) {
        const RowPeer *p = &r->peer[i];
        fprintf(out, "%s{\"name\": \"%s\"", i ? ", " : "", p->name);
        number(out, "rate", p->rate);
        number(out, "ratio", p->ratio.median);
        number(out, "low", p->ratio.low);
        fprintf(out, ", \"same\": %s}", p->differs ? "false" : "true");
    }
    fprintf(out, "], \"bar\": {\"kind\": \"%s\"", kinds[r->bar.kind]);
    if (r->bar.kind != BAR_NONE) {
        number(out, "need", r->bar.need);
        number(out, "value", row_value(r));
        fprintf(out, ", \"met\": %s", row_met(r) ? "true" : "false");
    }
    fprintf(out, "}}");
}

void table_json(FILE *out, const Table *t, const char *machine) {
    fprintf(out, "{\"machine\": \"%s\", \"rows\": [\n", machine);
    for (int i = 0; i < t->n; i++) {
        json_row(out, &t->row[i]);
        fprintf(out, i + 1 < t->n ? ",\n" : "\n");
    }
    fprintf(out, "]}\n");
}
