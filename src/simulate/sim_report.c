// Prints a simulation as text, as JSON, and as a drawing of its timeline.
#include "simulate/sim_impl.h"

#include <math.h>

#include "base/checked.h"

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// --- Text ----------------------------------------------------------------------------------------

static const char *bound_by(const Simulation *s) {
    return s->least_compute >= s->least_move ? "compute" : "transfers";
}

// Names the memory whose bandwidth makes most of the computing take twice as long or more.
static void note_bandwidth(Text *out, const Simulation *s) {
    int64_t busy = 0;
    for (int i = 0; i < s->row.n; i++)
        if (!s->row.at[i].engine) busy += s->row.at[i].busy;
    for (int i = 0; i < s->h->memory.n; i++) {
        const SimMemory *m = &s->memory[i];
        bool outermost = i == hardware_outermost(s->h) && s->outside;
        if (outermost || 2 * m->waited <= busy || m->waited < 2 * m->computed) continue;
        text_printf(
            out, "  note     the bandwidth of %s limits computing: %lld cycles instead of %lld\n",
            s->h->memory.at[i].name, (long long)m->waited, (long long)m->computed);
    }
}

void sim_report(Text *out, const Simulation *s) {
    const Hardware *h = s->h;
    text_printf(out, "  cycles   %lld", (long long)s->cycles);
    if (s->cycles)
        text_printf(out, "; at least %.0f, bound by %s: %.1f %% of what the machine allows",
                    ceil(sim_least(s)), bound_by(s), percent(sim_least(s), (double)s->cycles));
    text_char(out, '\n');
    if (s->products)
        text_printf(out, "  stencils %lld products in %lld starts, %.1f %% of the peak\n",
                    (long long)s->products, (long long)s->starts, 100 * sim_utilisation(s));
    text_printf(out, "  moved    %lld bytes; at least %lld\n", (long long)s->moved,
                (long long)s->least_moved);
    for (int i = 0; i < h->memory.n; i++) {
        const MemoryUnit *m = &h->memory.at[i];
        for (int k = 0; m->size && k < s->memory[i].ncopies; k++) {
            const SimCopy *c = &s->memory[i].copy[k];
            if (hardware_owner(h, i) < 0) {
                text_printf(out, "  memory   %s: %lld of %lld bytes in use\n", m->name,
                            (long long)c->used, (long long)(m->size * m->banks));
            } else if (c->accessed) {
                text_printf(out, "  memory   %s %d: %lld of %lld bytes in use, %lld accessed\n",
                            m->name, k, (long long)c->used, (long long)(m->size * m->banks),
                            (long long)c->accessed);
            }
        }
    }
    for (int i = 0; i < s->row.n; i++) {
        const SimRow *r = &s->row.at[i];
        text_printf(out, "  unit     %s: busy %.1f %%, %d task%s\n", r->name,
                    percent((double)r->busy, (double)s->cycles), r->tasks,
                    r->tasks == 1 ? "" : "s");
    }
    note_bandwidth(out, s);
    if (2 * s->outside > s->cycles)
        text_printf(out,
                    "  note     blocks without a place, which work on %s directly, take %.1f %% of "
                    "the cycles: `passes --explain` says why they stayed\n",
                    h->memory.at[hardware_outermost(h)].name,
                    percent((double)s->outside, (double)s->cycles));
}

// --- JSON ----------------------------------------------------------------------------------------

static void json_copies(Text *out, const SimMemory *m) {
    text_add(out, ", \"copies\": [");
    for (int k = 0; k < m->ncopies; k++)
        text_printf(out, "%s{\"used\": %lld, \"accessed\": %lld}", k ? ", " : "",
                    (long long)m->copy[k].used, (long long)m->copy[k].accessed);
    text_char(out, ']');
}

void sim_json(Text *out, const Simulation *s) {
    const Hardware *h = s->h;
    text_printf(out,
                "{\"cycles\": %lld, \"least\": %.0f, \"bound_by\": \"%s\", \"moved\": %lld, "
                "\"least_moved\": %lld, ",
                (long long)s->cycles, ceil(sim_least(s)), bound_by(s), (long long)s->moved,
                (long long)s->least_moved);
    text_printf(out, "\"starts\": %lld, \"products\": %lld, \"ops\": %lld, \"utilisation\": %.4f, ",
                (long long)s->starts, (long long)s->products, (long long)s->ops,
                sim_utilisation(s));
    text_printf(out, "\"of_least\": %.4f, \"memory\": [",
                s->cycles ? sim_least(s) / (double)s->cycles : 0);
    for (int i = 0; i < h->memory.n; i++) {
        text_printf(out, "%s{\"name\": \"%s\", \"size\": %lld, \"used\": %lld, \"accessed\": %lld",
                    i ? ", " : "", h->memory.at[i].name,
                    (long long)(h->memory.at[i].size * h->memory.at[i].banks),
                    (long long)s->memory[i].used, (long long)s->memory[i].accessed);
        if (hardware_owner(h, i) >= 0) json_copies(out, &s->memory[i]);
        text_char(out, '}');
    }
    text_add(out, "], \"units\": [");
    for (int i = 0; i < s->row.n; i++)
        text_printf(out, "%s{\"name\": \"%s\", \"busy\": %lld, \"tasks\": %d}", i ? ", " : "",
                    s->row.at[i].name, (long long)s->row.at[i].busy, s->row.at[i].tasks);
    text_add(out, "]}");
}

// --- The timeline --------------------------------------------------------------------------------

enum { WIDTH = 1000, LEFT = 90, ROW = 28, TOP = 44, MOST_ROWS = 64, MOST_TASKS = 4000 };

static double x_of(const Simulation *s, int64_t cycle) {
    return LEFT + (double)cycle * (WIDTH - LEFT - 10) / (double)max_i64(s->cycles, 1);
}

static void escaped(Text *out, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            text_add(out, "&lt;");
        else if (*text == '&')
            text_add(out, "&amp;");
        else if (*text == '"')
            text_add(out, "&quot;");
        else
            text_char(out, *text);
    }
}

// A round number of cycles, about a tenth of all.
static int64_t grid_of(int64_t cycles) {
    int64_t step = 1;
    while (step * 10 < cycles) {
        if (step * 20 >= cycles) return step * 2;
        if (step * 50 >= cycles) return step * 5;
        step *= 10;
    }
    return step;
}

static void draw_axis(Text *out, const Simulation *s, int rows) {
    int64_t step = grid_of(s->cycles);
    for (int64_t c = 0; c <= s->cycles; c += step) {
        double x = x_of(s, c);
        text_printf(out,
                    "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>"
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%lld</text>\n",
                    x, TOP, x, TOP + rows * ROW, x, TOP - 6, (long long)c);
    }
}

static const char *colour_of(const SimRow *row, const SimTask *t) {
    if (!row->engine) return "#4878a8";
    if (!t->bytes) return "#b8b8b8";
    return t->label[0] == 's' ? "#c86850" : "#68a060";
}

static void draw_task(Text *out, const Simulation *s, const SimTask *t) {
    double x = x_of(s, t->start), w = x_of(s, t->end) - x;
    text_printf(out,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
                "stroke=\"#fff\" stroke-width=\"0.3\"><title>",
                x, TOP + t->row * ROW + 4, fmax(w, 0.3), ROW - 8, colour_of(&s->row.at[t->row], t));
    escaped(out, t->label);
    text_printf(out, ": cycles %lld to %lld", (long long)t->start, (long long)t->end);
    if (t->bytes) text_printf(out, ", %lld bytes", (long long)t->bytes);
    text_add(out, "</title></rect>\n");
}

void sim_svg(Text *out, const Simulation *s, const char *title) {
    int rows = (int)min_i64(s->row.n, MOST_ROWS), tasks = (int)min_i64(s->task.n, MOST_TASKS);
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                "font-family=\"sans-serif\" font-size=\"11\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"10\" y=\"18\" "
                "font-size=\"13\">",
                WIDTH, TOP + rows * ROW + 24);
    escaped(out, title);
    text_printf(out, ": %lld cycles on %s</text>\n", (long long)s->cycles, s->h->name);
    draw_axis(out, s, rows);
    for (int i = 0; i < rows; i++)
        text_printf(out, "<text x=\"10\" y=\"%d\">%s</text>\n", TOP + i * ROW + ROW / 2 + 4,
                    s->row.at[i].name);
    for (int i = 0; i < tasks; i++)
        if (s->task.at[i].row < rows) draw_task(out, s, &s->task.at[i]);
    text_printf(out,
                "<text x=\"%d\" y=\"%d\" fill=\"#666\">blue: compute, green: load, red: store, "
                "grey: fill",
                LEFT, TOP + rows * ROW + 16);
    if (tasks < s->task.n)
        text_printf(out, "; the first %d of %d tasks are drawn", tasks, s->task.n);
    text_add(out, "</text>\n</svg>\n");
}
