// Variants of a description, for tuning: lines that each change one parameter of one pass.
//
//     set tile share=0.25        an eighth to eight times a number
//     set tile po2=yes           the other value of a flag
//     set stencil use=fma.1      one of the machine's stencils alone
//     drop pack                  without the pass
#include <math.h>
#include <string.h>

#include "passes/hardware.h"

typedef struct HardwareMoves {
    Arena *arena;
    VEC(const char *) line;
} HardwareMoves;

static void add(HardwareMoves *m, const char *line) { vec_push(m->arena, &m->line, line); }

static bool is_number(PassKind k) { return k == PASS_INT || k == PASS_BYTES || k == PASS_REAL; }

static void scale(HardwareMoves *m, const PassCall *c, const PassParam *p, double value) {
    static const double by[] = {0.125, 0.25, 0.5, 2, 4, 8};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        double to = fmin(fmax(value * by[i], p->least), p->most);
        if (p->kind != PASS_REAL) to = floor(to);
        if (to == value) continue;
        const char *format = p->kind == PASS_REAL ? "set %s %s=%.6g" : "set %s %s=%.0f";
        add(m, arena_printf(m->arena, format, c->label, p->name, to));
    }
}

static void change(HardwareMoves *m, const Hardware *h, const PassCall *c, int param) {
    const PassParam *p = &c->pass->param[param];
    const PassValue *v = &c->value[param];
    double value = v->given ? v->number : p->value;
    if (is_number(p->kind) && value != 0) scale(m, c, p, value);
    if (p->kind == PASS_FLAG)
        add(m,
            arena_printf(m->arena, "set %s %s=%s", c->label, p->name, value != 0 ? "no" : "yes"));
    for (int i = 0; p->kind == PASS_STENCIL && i < h->stencil.n; i++)
        if (!v->given || strcmp(v->text, h->stencil.at[i].name) != 0)
            add(m,
                arena_printf(m->arena, "set %s %s=%s", c->label, p->name, h->stencil.at[i].name));
}

int hardware_moves(Arena *arena, const Hardware *h, const char *const **out) {
    HardwareMoves m = {.arena = arena};
    for (int i = 0; i < h->pass.n; i++) {
        const PassCall *c = &h->pass.at[i];
        for (int k = 0; k < pass_params(c->pass); k++) change(&m, h, c, k);
        if (i) add(&m, arena_printf(arena, "drop %s", c->label));
    }
    *out = m.line.at;
    return m.line.n;
}
